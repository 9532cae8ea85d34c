#!/usr/bin/env python3
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""usage: held_out.py [SEED]

Writes streams of models that the rules were not worked out on, as zoo.py writes its own."""

import random
import sys

import models
from programs import append, buckets, ddp, horovod, metric, one_off, step, write

STEPS = 200
STAGES = (
    (1, 16, 1, 3), (6, 24, 2, 3), (6, 40, 2, 5), (6, 80, 3, 3),
    (6, 112, 3, 5), (6, 192, 4, 5), (6, 320, 1, 3),
)  # fmt: skip

NAMED = {
    "t5 small": models.t5(6, 512, 2048),
    "t5 3b": models.t5(24, 1024, 16384),
    "convnext tiny": models.convnext((3, 3, 9, 3), (96, 192, 384, 768)),
    "convnext large": models.convnext((3, 3, 27, 3), (192, 384, 768, 1536)),
    "efficientnet b0": models.efficientnet(STAGES),
    "efficientnet b4": models.efficientnet([(e, c * 3 // 2, n * 2, k) for e, c, n, k in STAGES]),
    "mamba 130m": models.mamba(24, 768),
    "mamba 2.8b": models.mamba(64, 2560),
    "lora 8b": models.lora(32, 4096, 16, 14336),
    "lora 70b": models.lora(80, 8192, 8, 28672),
    "deepseek": models.experts(12, 2048, 1408, 32, 102400),
    "mixtral": models.experts(6, 4096, 14336, 8),
    "phi": models.gpt(24, 2048, 51200),
    "roberta": models.bert(24, 1024, 50265),
    "llama 3b": models.llama(28, 3072, 8192, 128256, 1024, True),
    "wide resnet": models.resnet(((3, 128), (4, 256), (6, 512), (3, 1024))),
    "resnext": models.resnet(((3, 64), (4, 128), (23, 256), (3, 512))),
}


def random_model(rng):
    """Blocks of up to eight tensors, repeated, with a stem and a head or without, and biases or
    norms or none."""
    width = rng.choice((256, 384, 512, 768, 1024))
    small = rng.choice((0, 1, 2))
    sizes = [rng.randrange(1000, 50000) * width] if rng.random() < 0.7 else []
    for _ in range(rng.randint(1, 4)):
        block = []
        for _ in range(rng.randint(1, 8)):
            block += [width * width * rng.randint(1, 8) // rng.choice((1, 2))] + [width] * small
        sizes += block * rng.randint(2, 36)
        width = width * rng.choice((1, 1, 2)) // rng.choice((1, 1, 2))
    return sizes + ([rng.randrange(10, 50000) * width] if rng.random() < 0.7 else [])


def alternate(rng, sizes):
    """Two optimisers: parts of the model in turn, as in a GAN, at random places cut in two."""
    cut = rng.randrange(1, len(sizes))
    whole = step(sizes[::-1])
    return [whole[:cut] if i % 2 else whole[cut:] for i in range(2 * STEPS)]


def evaluate(rng, steps):
    every, count = rng.choice((5, 20, 50)), rng.randrange(20000, 300000)
    return append(
        steps, lambda i: [metric(count)] * rng.randint(1, 40) if i % every == every - 1 else []
    )


def of_model(rng, name, sizes):
    unfused = [step(sizes[::-1])] * STEPS
    fused = ddp(sizes, STEPS, seed=rng.random())
    yield "P", "unfused " + name, unfused
    yield "P", "ddp " + name, fused
    yield "S", "unfused with evaluation " + name, evaluate(rng, unfused)
    yield "S", "ddp with evaluation " + name, evaluate(rng, fused)
    yield "S", "broadcast, then unfused " + name, [one_off(sizes)] + unfused
    yield "S", "broadcast, then ddp " + name, [one_off(sizes)] + fused
    yield "P", "two optimisers " + name, alternate(rng, sizes)
    yield "V", "horovod " + name, horovod(sizes, STEPS, 100, 0.05, 3, rng.random())
    yield "O", "one pass " + name, [one_off(sizes)]
    yield "O", "two passes " + name, [one_off(sizes)] * 2
    yield "O", "two reversed passes " + name, [one_off(sizes[::-1])] * 2
    yield "O", "one pass in buckets " + name, [one_off(buckets(sizes))]
    yield "O", "two passes in buckets " + name, [one_off(buckets(sizes))] * 2


def held_out(seed):
    rng = random.Random(seed)
    for name, sizes in NAMED.items():
        yield from of_model(rng, name, sizes)
    for i in range(30):
        yield from of_model(rng, f"random {i}", random_model(rng))


if __name__ == "__main__":
    for stream in held_out(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        write(sys.stdout, *stream)
