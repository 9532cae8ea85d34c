# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Models as lists of the sizes of their tensors, in the order in which they are registered."""


def resnet(blocks=((3, 64), (4, 128), (6, 256), (3, 512)), norms=True):
    sizes = [64 * 3 * 49] + ([64, 64] if norms else [])
    inputs = 64
    for depth, width in blocks:
        for block in range(depth):
            convolutions = [
                (inputs * width, width),
                (width * width * 9, width),
                (width * width * 4, 4 * width),
            ]
            if block == 0:
                convolutions.append((inputs * 4 * width, 4 * width))
            for size, channels in convolutions:
                sizes += [size] + ([channels, channels] if norms else [])
            inputs = 4 * width
    return sizes + [2048 * 1000, 1000]


def gpt(layers, d, vocabulary=50257):
    sizes = [vocabulary * d, 1024 * d]
    for _ in range(layers):
        sizes += [d, d, 3 * d * d, 3 * d, d * d, d, d, d, 4 * d * d, 4 * d, 4 * d * d, d]
    return sizes + [d, d]


def llama(layers=32, d=4096, hidden=11008, vocabulary=32000, keys=None, tied=False):
    sizes = [vocabulary * d]
    for _ in range(layers):
        sizes += [d * d] + [d * (keys or d)] * 2 + [d * d] + [d * hidden] * 3 + [d, d]
    return sizes + [d] + ([] if tied else [vocabulary * d])


def bert(layers=12, d=768, vocabulary=30522):
    sizes = [vocabulary * d, 512 * d, 2 * d, d, d]
    for _ in range(layers):
        sizes += [d * d, d] * 4 + [d, d, 4 * d * d, 4 * d, 4 * d * d, d, d, d]
    return sizes + [d * d, d]


def vit(layers=24, d=1024):
    sizes = [d, 197 * d, 3 * 256 * d, d]
    for _ in range(layers):
        sizes += [d, d, 3 * d * d, 3 * d, d * d, d, d, d, 4 * d * d, 4 * d, 4 * d * d, d]
    return sizes + [d, d, 1000 * d, 1000]


def vgg16():
    channels = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    sizes = []
    for inputs, outputs in zip(channels, channels[1:]):
        sizes += [inputs * outputs * 9, outputs]
    return sizes + [25088 * 4096, 4096, 4096 * 4096, 4096, 4096 * 1000, 1000]


def unet():
    channels = [64, 128, 256, 512, 1024]
    sizes = []
    inputs = 3
    for c in channels:
        sizes += [inputs * c * 9, c, c * c * 9, c]
        inputs = c
    for c in channels[-2::-1]:
        sizes += [2 * c * c * 4, c, 2 * c * c * 9, c, c * c * 9, c]
    return sizes + [64 * 2, 2]


def sdxl_residual(a, b):
    sizes = [a, a, a * b * 9, b, 1280 * b, b, b, b, b * b * 9, b]
    return sizes + ([a * b, b] if a != b else [])


def sdxl_transformer(d, layers):
    sizes = [d, d, d * d, d]
    for _ in range(layers):
        sizes += [d * d] * 3 + [d * d, d] + [d * d, 2048 * d, 2048 * d, d * d, d]
        sizes += [8 * d * d, 8 * d, 4 * d * d, d] + [d] * 6
    return sizes + [d * d, d]


def sdxl():
    """Irregular: residual blocks and runs of transformer layers, down and up again."""
    sizes = [320 * 4 * 9, 320, 320 * 1280, 1280, 1280 * 1280, 1280]
    sizes += [2816 * 1280, 1280, 1280 * 1280, 1280]
    sizes += sdxl_residual(320, 320) * 2 + [320 * 320 * 9, 320]
    for a, b, layers in ((320, 640, 2), (640, 1280, 10)):
        sizes += sdxl_residual(a, b) + sdxl_transformer(b, layers)
        sizes += sdxl_residual(b, b) + sdxl_transformer(b, layers)
        if b == 640:
            sizes += [b * b * 9, b]
    sizes += sdxl_residual(1280, 1280) + sdxl_transformer(1280, 10) + sdxl_residual(1280, 1280)
    for a in (2560, 2560, 1920):
        sizes += sdxl_residual(a, 1280) + sdxl_transformer(1280, 10)
    sizes += [1280 * 1280 * 9, 1280]
    for a in (1920, 1280, 960):
        sizes += sdxl_residual(a, 640) + sdxl_transformer(640, 2)
    sizes += [640 * 640 * 9, 640]
    for a in (960, 640, 640):
        sizes += sdxl_residual(a, 320)
    return sizes + [320, 320, 320 * 4 * 9, 4]


def densenet(growth=32, blocks=(6, 12, 48, 32)):
    sizes = [9408, 64, 64]
    c = 64
    for index, layers in enumerate(blocks):
        for _ in range(layers):
            sizes += [c, c, c * 128, 128, 128, 128 * growth * 9]
            c += growth
        if index < 3:
            sizes += [c, c, c * c // 2]
            c //= 2
    return sizes + [c, c, c * 1000, 1000]


def experts(layers=32, d=4096, hidden=14336, n=8, vocabulary=32000):
    sizes = [vocabulary * d]
    for _ in range(layers):
        sizes += [d * d, d * 1024, d * 1024, d * d, d * n] + [d * hidden] * 3 * n + [d, d]
    return sizes + [d, vocabulary * d]


def equal(layers=24, d=1024, bias=True):
    return ([d * d] + ([d] if bias else [])) * layers


def tiny():
    return [784 * 256, 256, 256 * 256, 256, 256 * 10 * 8, 80]


def many(n):
    """All different."""
    return [20000 + i for i in range(n)]
