/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

static bool read_words(FILE *file, uint32_t *words, size_t count)
{
    if (fread(words, sizeof *words, count, file) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        words[i] = le32toh(words[i]);
    return true;
}

const char *policy_tape_open(struct policy_tape *tape, const char *path)
{
    unsigned char magic[4];
    uint32_t words[4];

    tape->file = fopen(path, "rb");
    if (!tape->file)
        return "cannot be opened";
    if (fread(magic, 1, 4, tape->file) != 4 || memcmp(magic, "CGXG", 4) != 0 ||
        !read_words(tape->file, words, 4) || words[0] != 1)
        return "is no recording of version 1";
    tape->ranks = words[1];
    tape->steps = words[2];
    tape->tensors = words[3];
    if (tape->ranks < 2 || tape->ranks > 1024 || tape->steps < 1 || tape->tensors < 1 ||
        tape->tensors > 1u << 20)
        return "has a number of ranks, steps or tensors that cannot be";
    tape->sizes = calloc(tape->tensors, sizeof *tape->sizes);
    if (!tape->sizes)
        return "is too large for the memory";
    if (fread(tape->sizes, sizeof *tape->sizes, tape->tensors, tape->file) != tape->tensors)
        return "is truncated";
    for (uint32_t t = 0; t < tape->tensors; t++) {
        tape->sizes[t] = le64toh(tape->sizes[t]);
        if (tape->sizes[t] < 1 || tape->sizes[t] > UINT32_MAX - tape->elements)
            return "has tensors of no or too many elements";
        tape->elements += tape->sizes[t];
    }
    tape->values = calloc(tape->elements, tape->ranks * sizeof(float));
    return tape->values ? NULL : "is too large for the memory";
}

bool policy_tape_read(struct policy_tape *tape)
{
    return read_words(tape->file, (uint32_t *)tape->values, tape->elements * tape->ranks);
}

void policy_tape_close(struct policy_tape *tape)
{
    free(tape->values);
    free(tape->sizes);
    if (tape->file)
        fclose(tape->file);
}
