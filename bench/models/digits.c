/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "data.h"
#include <mpi.h>
#include <stdio.h>

enum { BRIGHTEST = 16, MOST_SAMPLES = 10000, SPLIT_SEED = 1 };

static struct {
    int count;
    int order[MOST_SAMPLES];
    int labels[MOST_SAMPLES];
    float pixels[MOST_SAMPLES][PIXELS];
} samples;

/* Each line is PIXELS numbers and the label. Prints what is wrong and returns false. */
static bool read_samples(const char *name)
{
    FILE *file = fopen(name, "r");
    int fields = 0, value;
    bool whole;

    if (file == NULL) {
        perror(name);
        return false;
    }
    while (samples.count < MOST_SAMPLES && fscanf(file, "%d%*[,\r\n]", &value) == 1) {
        if (value < 0 || value > (fields < PIXELS ? BRIGHTEST : CLASSES - 1))
            break;
        if (fields < PIXELS) {
            samples.pixels[samples.count][fields++] = (float)value / 8.0f - 0.6f;
        } else {
            samples.labels[samples.count++] = value;
            fields = 0;
        }
    }
    whole = (feof(file) || samples.count == MOST_SAMPLES) && fields == 0;
    if (!whole)
        fprintf(stderr, "%s: sample %d is not %d pixels and a label\n", name, samples.count + 1,
                PIXELS);
    fclose(file);
    return whole;
}

static int label_of(int sample)
{
    return samples.labels[sample];
}

bool digits_load(const char *file, int batch, struct samples *all)
{
    uint64_t random = SPLIT_SEED;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !read_samples(file)) {
        samples.count = 0;
    } else if (rank == 0 && samples.count < TEST_SAMPLES + batch) {
        fprintf(stderr, "%s: %d samples are too few to test on %d and train in batches of %d\n",
                file, samples.count, TEST_SAMPLES, batch);
        samples.count = 0;
    }
    MPI_Bcast(&samples, (int)sizeof samples, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < samples.count; i++)
        samples.order[i] = i;
    samples_shuffle(samples.order, samples.count, &random);
    *all = (struct samples){.train = samples.count - TEST_SAMPLES,
                            .test = TEST_SAMPLES,
                            .order = samples.order,
                            .label = label_of};
    return samples.count > 0;
}

void digits_fill(struct model *model, const int *chosen, int count)
{
    int columns = model->columns;

    for (int j = 0; j < columns; j++) {
        model->labels[j] = j < count ? samples.labels[chosen[j]] : -1;
        for (int i = 0; i < PIXELS; i++)
            model->input[i * columns + j] = j < count ? samples.pixels[chosen[j]][i] : 0.0f;
    }
}
