#!/usr/bin/env python3
# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""usage: zoo.py [SEED]

Writes streams of sums as programs make them, for replay. Kinds: P periodic, S periodic with strays,
V varying (no step of fixed calls), O only one-off passes over weights, X none of these."""

import random
import sys

import models
from models import bert, densenet, equal, experts, gpt, llama, many, resnet, sdxl, tiny
from programs import append, buckets, ddp, horovod, insert, interleave, metric, one_off, step, write

STEPS = 400
R50 = resnet()
GPT2S = gpt(12, 768)
GPT2M = gpt(24, 1024)

TRAINED = {
    "gpt2s": GPT2S,
    "gpt2m": GPT2M,
    "gpt2l": gpt(36, 1280),
    "bertb": bert(),
    "bertl": bert(24, 1024),
    "llama1b": llama(16, 2048, 8192, 128256, 512, True),
    "llama7b": llama(),
    "resnet50": R50,
    "resnet50_nobn": resnet(norms=False),
    "vgg16": models.vgg16(),
    "vitl": models.vit(),
    "unet": models.unet(),
    "sdxl": sdxl(),
}
PASSED = {
    **TRAINED,
    "densenet201": densenet(),
    "mixtral": experts(8),
    "moe64": experts(28, 2048, 1408, 64, 102400),
    "llama70b": llama(80, 8192, 28672, 32000, 1024),
    "resnet152": resnet(((3, 64), (8, 128), (36, 256), (3, 512))),
    "equal24": equal(),
    "equal24_nobias": equal(bias=False),
    "tiny": tiny(),
    "c4000": many(4000),
}


def unfused(sizes, steps=STEPS):
    return [step(sizes[::-1])] * steps


def random_metric(rng):
    return [metric(rng.randrange(20000, 200000))]


def periodic(seed):
    for name, sizes in TRAINED.items():
        yield "P", "unfused " + name, unfused(sizes)
        yield "P", "ddp " + name, ddp(sizes, STEPS, seed=seed)
    yield "P", "ddp no rebuild resnet50", ddp(R50, STEPS, False)
    yield "P", "unfused fwd order gpt2m", [step(GPT2M)] * STEPS
    yield "P", "equal MLP 24 + biases", [step(equal())] * STEPS
    yield "P", "equal MLP 24, no bias", [step(equal(bias=False))] * STEPS
    yield "P", "tiny MLP unfused", [step(tiny())] * STEPS
    yield "P", "flat buffer", [step([sum(R50)])] * STEPS
    yield "P", "two buffers", [step([1 << 20, 3 << 20])] * STEPS
    yield "P", "flat + loss scalar", [step([sum(R50)]) + [metric(1)]] * STEPS
    yield "P", "4000 calls a step (60)", [step(many(4000))] * 60
    yield "P", "6000 calls a step (40)", [step(many(6000))] * 40


def fused_by_time(seed):
    fused = {
        "resnet50": (R50, 60, 0.05),
        "bert": (bert(), 120, 0.05),
        "gpt350m": (GPT2M, 150, 0.02),
    }
    for name, (sizes, backward, jitter) in fused.items():
        for cycle in (1, 5):
            yield "V", f"horovod {name} {cycle} ms", horovod(
                sizes, STEPS, backward, jitter, cycle, seed
            )
    rng = random.Random(seed)
    steps = horovod(R50, STEPS, 60, 0.05, 5, seed)
    yield "V", "horovod resnet50 5 ms + 1 varying", append(steps, lambda i: random_metric(rng))
    yield "V", "horovod resnet50 5 ms + loss", append(steps, lambda i: [metric(1)])


def strays(seed):
    def varying(rng):
        return lambda i: random_metric(rng)

    def evaluation(each, calls):
        return lambda i: [metric(100000)] * calls() if i % each == each - 1 else []

    def stray(name, steps, change):
        return "S", name, change(random.Random(seed), steps)

    r50, gpt2s = ddp(R50, STEPS), ddp(GPT2S, STEPS)
    yield stray("ddp r50 + 1 varying", r50, lambda r, s: append(s, varying(r)))
    yield stray("ddp r50 + 1 varying, anywhere", r50, lambda r, s: insert(s, r, varying(r)))
    yield stray("ddp gpt2s + 1 varying", gpt2s, lambda r, s: append(s, varying(r)))
    yield stray("ddp r50 + 1 of 8 lengths", r50,
                lambda r, s: append(s, lambda i: [metric(20000 * r.randrange(1, 9))]))  # fmt: skip
    yield stray("unfused gpt2s + 1 varying", unfused(GPT2S), lambda r, s: append(s, varying(r)))
    yield stray("unfused gpt2s + 1 varying, anywhere", unfused(GPT2S),
                lambda r, s: insert(s, r, varying(r)))  # fmt: skip
    yield stray("ddp r50 + 3-5 small", r50,
                lambda r, s: [[metric(4096)] * r.randint(3, 5) + x for x in s])  # fmt: skip
    yield stray("ddp r50 + 3-5 of 20000", r50,
                lambda r, s: [[metric(20000)] * r.randint(3, 5) + x for x in s])  # fmt: skip
    yield stray("ddp r50 + eval 20-40 each 10", r50,
                lambda r, s: append(s, evaluation(10, lambda: r.randint(20, 40))))  # fmt: skip
    yield stray("ddp r50 + eval 30 each 10", r50,
                lambda r, s: append(s, evaluation(10, lambda: 30)))  # fmt: skip
    yield stray("unfused gpt2s + eval 20-40 each 10", unfused(GPT2S),
                lambda r, s: append(s, evaluation(10, lambda: r.randint(20, 40))))  # fmt: skip
    yield stray("ddp r50 + eval 2000 each 100", r50,
                lambda r, s: append(s, evaluation(100, lambda: 2000)))  # fmt: skip


def other_training(seed):
    critic = step([40000, 80000, 160000, 320000])
    generator = [(count, kind, label, 4 + i) for count, kind, label, i in
                 step([50000, 90000, 170000, 330000])]  # fmt: skip
    yield "P", "GAN n_critic 5", [critic * 5 + generator] * STEPS
    rng = random.Random(seed)
    yield "V", "GAN n_critic 1..5", [critic * rng.randint(1, 5) + generator for _ in range(STEPS)]
    yield "P", "grad accumulation, scalar each micro-step", [
        [metric(1)] * 4 + each for each in ddp(R50, STEPS)
    ]
    rng = random.Random(seed)
    yield "P", "AMP: skipped steps (no sums)", [
        [metric(1)] + each if rng.random() > 0.05 else [metric(1)] for each in ddp(GPT2S, STEPS)
    ]
    rng = random.Random(seed)
    whole = step(GPT2S[::-1])
    yield "S", "GPT unfused, step cut short 3 %", [
        whole[: rng.randrange(20, 140)] if rng.random() < 0.03 else whole for _ in range(STEPS)
    ]
    for name in ("gpt2s", "llama7b", "resnet50"):
        sizes = TRAINED[name]
        yield "S", "init pass, then ddp " + name, [one_off(sizes)] + ddp(sizes, STEPS, seed=seed)
        yield "S", "init pass, then unfused " + name, [one_off(sizes)] + unfused(sizes)
    yield "S", "other init (vocab, opt. state), then ddp gpt2s", [
        one_off([5000000, 5000000, 777777, 123456] + GPT2S + GPT2S)
    ] + ddp(GPT2S, STEPS)
    yield "S", "init pass, then flat r50", [one_off(R50)] + [step([sum(R50)])] * STEPS


def one_off_passes():
    for name, sizes in PASSED.items():
        yield "O", "one pass " + name, [one_off(sizes)]
        yield "O", "two passes " + name, [one_off(sizes), one_off(sizes)]
    for name in ("gpt2s", "gpt2m", "llama7b", "llama1b", "bertl", "sdxl", "equal24"):
        reverse = one_off(PASSED[name][::-1])
        yield "O", "one reversed pass " + name, [reverse]
        yield "O", "two reversed passes " + name, [reverse, reverse]
    for name in ("gpt2m", "llama7b", "sdxl", "llama70b"):
        fused = one_off(buckets(PASSED[name]))
        yield "O", "one pass in buckets " + name, [fused]
        yield "O", "two passes in buckets " + name, [fused, fused]
    yield "O", "one reversed pass in buckets gpt2l", [one_off(buckets(PASSED["gpt2l"][::-1]))]
    for name, sizes in (("resnet50_nobn", resnet(norms=False)), ("densenet_nobn", densenet())):
        large = one_off([size for size in sizes if size >= 4096])
        yield "O", "two passes, large only " + name, [large, large]
    states = [size for size in GPT2M for _ in range(3)]
    yield "O", "weights by 3 states interleaved gpt2m", [one_off(states)]


def changes(seed):
    yield "X", "ten passes of local SGD gpt2s", [one_off(GPT2S, "w")] * 10
    rng = random.Random(seed)
    first = step([1 << 20, 2 << 20, 3 << 20])
    second = step([100000, 200000, 300000, 400000, 500000])
    second = [(count, kind, label, 3 + i) for count, kind, label, i in second]
    yield "V", "two libraries interleaved", [interleave(rng, first, second) for _ in range(STEPS)]

    def average(sizes):
        return lambda i: one_off(sizes, "w") if i % 100 == 99 else []

    yield "S", "ddp gpt2s + EMA pass each 100", append(ddp(GPT2S, STEPS), average(GPT2S))
    yield "S", "unfused r50 + EMA pass each 100", append(unfused(R50), average(R50))
    for name, part in (("gpt2s", 74), ("llama7b", 146)):
        whole = step(TRAINED[name][::-1])
        yield "P", "freeze half at 200, unfused " + name, [whole] * 200 + [whole[:part]] * 200
    whole = step(R50[::-1])
    yield "P", "unfreeze at 100 and 200, unfused r50", (
        [whole[:20]] * 100 + [whole[:80]] * 100 + [whole] * 200
    )
    rebuilt = [(count, kind, label, 100 + i) for count, kind, label, i in step(buckets(R50[5:]))]
    yield "P", "ddp r50, other buckets from 200", ddp(R50, 200) + [rebuilt] * 200


def zoo(seed):
    yield from periodic(seed)
    yield from fused_by_time(seed)
    yield from strays(seed)
    yield from other_training(seed)
    yield from one_off_passes()
    yield from changes(seed)


if __name__ == "__main__":
    for stream in zoo(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        write(sys.stdout, *stream)
