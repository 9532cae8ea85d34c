/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Data-parallel training in plain MPI: the next character of a text is told from the last four.
 *
 * The last two, three and four characters each choose a row of a large table by their hash, and a
 * small perceptron reads the three rows. In a step few rows of the table are touched, some never
 * are: there the gradient is zero, and a row should stay what it was. In the end the program says
 * whether it did. */
#include "data.h"
#include "dense.h"
#include "matrix.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    CONTEXT = 4, /* characters */
    GRAMS = 3,   /* of 2, 3 and 4 characters */
    ROWS = 20000,
    WIDTH = 32, /* of a row */
    HIDDEN = 64,
    ROW_SCALE = 200, /* rows start as weights of a layer of so many inputs */
    STRIDE = 2
};

struct embedding {
    struct model model;
    struct dense output, hidden;
    float *table, *table_gradients, *first_table; /* first: what the rows were at the start */
    float *rows, *row_errors;                     /* of each sample, above each other */
    float *units, *unit_errors;                   /* of the hidden layer */
    float *scratch;
    int *chosen; /* GRAMS x columns: numbers of rows */
};

/* The row of the last LENGTH characters of CONTEXT ones. */
static int row_of(const unsigned char *context, int length)
{
    uint32_t hash = 2166136261u + (uint32_t)length;

    for (int i = CONTEXT - length; i < CONTEXT; i++)
        hash = (hash ^ context[i]) * 16777619u;
    return (int)((hash ^ hash >> 15) % ROWS);
}

static void fill(struct model *model, const int *samples, int count)
{
    struct embedding *network = (struct embedding *)model;
    int columns = model->columns;

    for (int j = 0; j < columns; j++) {
        const unsigned char *window = text_window(j < count ? samples[j] : 0);

        model->labels[j] = j < count ? window[CONTEXT] : -1;
        for (int g = 0; g < GRAMS; g++)
            network->chosen[g * columns + j] = row_of(window, CONTEXT - GRAMS + 1 + g);
    }
}

static void forward(struct model *model)
{
    struct embedding *network = (struct embedding *)model;
    int columns = model->columns;

    for (int g = 0; g < GRAMS; g++)
        for (int j = 0; j < columns; j++)
            for (int i = 0; i < WIDTH; i++)
                network->rows[(g * WIDTH + i) * columns + j] =
                    network->table[network->chosen[g * columns + j] * WIDTH + i];
    dense_forward(&network->hidden, columns, network->rows, network->units);
    rectify(network->units, HIDDEN * columns);
    dense_forward(&network->output, columns, network->units, model->output);
}

static void backward(struct model *model, void (*ready)(float *gradient, int count))
{
    struct embedding *network = (struct embedding *)model;
    int columns = model->columns;

    dense_backward(&network->output, columns, network->units, model->output_errors,
                   network->scratch, network->unit_errors);
    rectify_backward(network->units, network->unit_errors, HIDDEN * columns);
    dense_ready(&network->output, ready);
    dense_backward(&network->hidden, columns, network->rows, network->unit_errors, network->scratch,
                   network->row_errors);
    dense_ready(&network->hidden, ready);
    memset(network->table_gradients, 0, sizeof(float) * ROWS * WIDTH);
    for (int g = 0; g < GRAMS; g++)
        for (int j = 0; j < columns; j++)
            for (int i = 0; i < WIDTH; i++)
                network->table_gradients[network->chosen[g * columns + j] * WIDTH + i] +=
                    network->row_errors[(g * WIDTH + i) * columns + j];
    ready(network->table_gradients, ROWS * WIDTH);
}

/* ---- what became of the rows that no sample touches ---- */

static struct samples all;

static void find_touched(bool *touched)
{
    for (int i = 0; i < all.train; i++)
        for (int g = 0; g < GRAMS; g++)
            touched[row_of(text_window(all.order[i]), CONTEXT - GRAMS + 1 + g)] = true;
}

static void report(const struct model *model)
{
    const struct embedding *network = (const struct embedding *)model;
    static bool touched[ROWS];
    double drift = 0.0;
    int untouched = 0, moved = 0;

    find_touched(touched);
    for (int r = 0; r < ROWS; r++) {
        const float *row = network->table + r * WIDTH, *first = network->first_table + r * WIDTH;
        double way = 0.0, length = 0.0;

        if (touched[r])
            continue;
        for (int i = 0; i < WIDTH; i++) {
            double step = (double)row[i] - (double)first[i];

            way += step * step;
            length += (double)first[i] * (double)first[i];
        }
        untouched++;
        moved += memcmp(row, first, WIDTH * sizeof *row) != 0;
        drift += sqrt(way / length);
    }
    printf("rows that no sample touches: %d of %d, of which moved: %d; mean way by length: %.9f\n",
           untouched, ROWS, moved, untouched ? drift / untouched : 0.0);
}

/* ---- the network ---- */

static bool load(const char *file, int batch, struct samples *samples)
{
    bool good = text_load(file, CONTEXT + 1, STRIDE, batch, samples);

    all = *samples;
    return good;
}

static void share_memory(struct embedding *network, float *memory)
{
    struct model *model = &network->model;
    size_t columns = (size_t)model->columns, table = (size_t)ROWS * WIDTH;
    float *parameter, *gradient;

    parameter = model->parameter = carve(&memory, model->parameters);
    gradient = model->gradient = carve(&memory, model->parameters);
    network->first_table = carve(&memory, table);
    model->output = carve(&memory, SYMBOLS * columns);
    model->output_errors = carve(&memory, SYMBOLS * columns);
    network->units = carve(&memory, HIDDEN * columns);
    network->unit_errors = carve(&memory, HIDDEN * columns);
    network->rows = carve(&memory, GRAMS * WIDTH * columns);
    network->row_errors = carve(&memory, GRAMS * WIDTH * columns);
    network->scratch = carve(&memory, GRAMS * WIDTH * columns);
    model->labels = (int *)carve(&memory, columns);
    network->chosen = (int *)memory;
    network->output = dense_carve(HIDDEN, SYMBOLS, true, &parameter, &gradient);
    network->hidden = dense_carve(GRAMS * WIDTH, HIDDEN, true, &parameter, &gradient);
    network->table = carve(&parameter, table);
    network->table_gradients = carve(&gradient, table);
}

static struct model *create(struct size size, int samples, uint64_t *random)
{
    size_t columns = (size_t)(samples + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    size_t table = (size_t)ROWS * WIDTH;
    size_t parameters =
        dense_size(HIDDEN, SYMBOLS, true) + dense_size(GRAMS * WIDTH, HIDDEN, true) + table;
    size_t values = columns * (2 * SYMBOLS + 2 * HIDDEN + 3 * GRAMS * WIDTH + 1 + GRAMS);
    struct embedding *network;

    (void)size; /* there is one size */
    network = calloc(1, sizeof *network + (2 * parameters + table + values) * sizeof(float));
    if (network == NULL)
        return NULL;
    network->model = (struct model){.samples = (int)columns,
                                    .places = 1,
                                    .columns = (int)columns,
                                    .classes = SYMBOLS,
                                    .parameters = parameters,
                                    .fill = fill,
                                    .forward = forward,
                                    .backward = backward,
                                    .report = report};
    snprintf(network->model.description, sizeof network->model.description,
             "%d x %d table, %d-%d-%d network", ROWS, WIDTH, GRAMS * WIDTH, HIDDEN, SYMBOLS);
    share_memory(network, (float *)(network + 1));
    random_weights(network->output.weights, (size_t)HIDDEN * SYMBOLS, 2 * HIDDEN, random);
    random_weights(network->hidden.weights, (size_t)GRAMS * WIDTH * HIDDEN, GRAMS * WIDTH, random);
    random_weights(network->table, table, ROW_SCALE, random);
    memcpy(network->first_table, network->table, table * sizeof(float));
    return &network->model;
}

int main(int argc, char **argv)
{
    static const struct example example = {.name = "train_embedding",
                                           .data = "../README.md",
                                           .batch = 128,
                                           .epochs = 1,
                                           .quick_epochs = 1,
                                           .rate = {[SGD] = 1.0f, [ADAM] = 1e-2f, [ADAMW] = 1e-2f},
                                           .momentum = 0.9f,
                                           .load = load,
                                           .create = create};

    return training_main(argc, argv, &example);
}
