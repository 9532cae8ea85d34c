/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "data.h"
#include <mpi.h>
#include <stdio.h>

enum { MOST_CHARACTERS = 1 << 20, PIECE = 2048, TEST_EVERY = 8 };

static struct {
    int count; /* of the characters; 0: the text could not be read */
    int stride;
    unsigned char symbols[MOST_CHARACTERS];
    int order[MOST_CHARACTERS];
} text;

/* Prints what is wrong and returns 0; or the number of characters. */
static int read_text(const char *name)
{
    FILE *file = fopen(name, "r");
    int count;

    if (file == NULL) {
        perror(name);
        return 0;
    }
    count = (int)fread(text.symbols, 1, MOST_CHARACTERS, file);
    fclose(file);
    for (int i = 0; i < count; i++) {
        int c = text.symbols[i];

        text.symbols[i] = (unsigned char)(c == '\n'            ? SYMBOLS - 1
                                          : c < ' ' || c > '~' ? 0
                                                               : c - ' ');
    }
    return count;
}

/* The samples to train with, then those to test with. */
static void order_samples(int count, struct samples *all)
{
    *all = (struct samples){.order = text.order};
    for (int i = 0; i < count; i++)
        if (i * text.stride / PIECE % TEST_EVERY != TEST_EVERY - 1)
            text.order[all->train++] = i;
    for (int i = 0; i < count; i++)
        if (i * text.stride / PIECE % TEST_EVERY == TEST_EVERY - 1)
            text.order[all->train + all->test++] = i;
}

bool text_load(const char *file, int length, int stride, int batch, struct samples *all)
{
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    text.stride = stride;
    if (rank == 0)
        text.count = read_text(file);
    MPI_Bcast(&text.count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(text.symbols, text.count, MPI_BYTE, 0, MPI_COMM_WORLD);
    order_samples(text.count < length ? 0 : (text.count - length) / stride + 1, all);
    if (all->train >= batch && all->test > 0)
        return true;
    if (rank == 0 && text.count > 0)
        fprintf(stderr, "%s: %d characters are too few\n", file, text.count);
    return false;
}

const unsigned char *text_window(int sample)
{
    return text.symbols + sample * text.stride;
}
