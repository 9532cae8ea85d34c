/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/codec.h"
#include "cuda/memory.h"

#define NS_PER_US 1e3

static void print_heads(const struct cgx_settings *settings, const struct info_model *model,
                        const char *link, double copy)
{
    printf("host codec     %s kernels on one thread, float32, ", cgx_codec_name(cgx_codec_host()));
    if (settings->codec == CGX_FAMILY_UNIFORM)
        printf("uniform\n");
    else
        printf("max-min, buckets of %d\n", CGX_MAXMIN_BUCKET);
    printf("memcpy         %.2f GB/s\n", copy);
    printf("link           %s: %g Gbit/s, %g us of latency\n", link, model->bytes_per_ns * 8,
           model->latency_ns / NS_PER_US);
    printf("ranks          %d, one to a node\n\n", INFO_RANKS);
}

/* "Sum" decodes the payloads of the others, adds the own elements, and encodes; its bytes are those
 * of the elements that are summed. */
static void print_table(const struct info_model *model, const struct info_speed *speeds)
{
    double exact = info_exact_time(model);

    printf("      GB/s of elements, host    times as fast as exact, at the link's limit\n");
    printf("bits  encode  decode     sum    wire alone  host, overlapped  host, in turn\n");
    for (unsigned bits = 1; bits <= INFO_WIDTHS; bits++) {
        const struct info_speed *speed = &speeds[bits - 1];
        double wire = info_wire_time(model, bits), codec = info_codec_time(speed);

        printf("%4u %7.2f %7.2f %7.2f  %12.2f %17.2f %14.2f\n", bits, 4 / speed->encode,
               4 / speed->decode, INFO_RANKS * 4 / speed->reduce, exact / wire,
               exact / (wire > codec ? wire : codec), exact / (wire + codec));
    }
}

static void suggest_width(const struct info_model *model, const struct info_speed *speeds,
                          unsigned bits)
{
    if (speeds == NULL)
        printf("# 4 bits: accuracy as that of full precision, in training\n");
    else if (info_codec_time(&speeds[3]) <= info_wire_time(model, 4))
        printf("# 4 bits: the wire takes longer than the codec\n");
    else if (bits == 4)
        printf("# 4 bits: the codec takes longer than the wire, but more bits take longer still\n");
    else
        printf("# the codec takes longer than the wire: %u bits are as fast as 4, to a twentieth\n",
               bits);
    printf("export CGX_COMPRESSION_QUANTIZATION_BITS=%u\n", bits);
}

/* Predicts what times will decide. */
static void predict_size(const struct info_model *model, uint64_t elements)
{
    printf("# Sums of %" PRIu64
           " elements and more will be compressed: these save more time than two\n"
           "# more rounds of messages take, %g us each. Smaller ones will be exact\n"
           "# (CGX_COMPRESSION_MINIMAL_SIZE=auto, the default, where measured times decide).\n",
           elements, model->latency_ns / NS_PER_US);
}

/* SPEEDS: of the codec that serves the buffers; NULL: its time does not count. */
static void suggest(const struct info_model *model, const struct info_speed *speeds)
{
    unsigned bits = info_width(model, speeds);
    uint64_t elements;

    if (speeds == NULL)
        printf(
            "\n# Suggestions for buffers in GPU memory, whose kernels are not measured and count\n"
            "# as free; with CGX_BUFFERS=host they are for host memory.");
    else
        printf("\n# Suggestions for buffers in host memory (CGX_BUFFERS=host).");
    printf(" They must be the same on all ranks.\n");
    if (!info_minimal_size(model, bits, speeds == NULL ? NULL : &speeds[bits - 1], &elements)) {
        printf(
            "# compression does not pay: the codec takes longer than it saves on this link, and\n"
            "# sums will be exact once that is measured\n"
            "export CGX_BUFFERS=device\n");
        return;
    }
    suggest_width(model, speeds, bits);
    predict_size(model, elements);
}

bool info_measure(const struct cgx_settings *settings, const char *link, double bytes_per_second,
                  double latency_us)
{
    struct info_model model = {
        .bytes_per_ns = bytes_per_second * 1e-9,
        .latency_ns = latency_us * NS_PER_US,
        .header_bytes = settings->codec == CGX_FAMILY_UNIFORM ? 0 : 4.0 / CGX_MAXMIN_BUCKET};
    struct info_speed speeds[INFO_WIDTHS];
    bool device = settings->buffers == CGX_BUFFERS_DEVICE && strcmp(cgx_cuda_build(), "none") != 0;
    double copy;

    if (!info_time_codec(settings, &copy, speeds))
        return false;
    print_heads(settings, &model, link, copy);
    print_table(&model, speeds);
    suggest(&model, device ? NULL : speeds);
    return true;
}
