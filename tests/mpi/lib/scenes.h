/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Programs of several scenes: "PROGRAM SCENE [ARGUMENT ...]". */
#ifndef TESTS_MPI_LIB_SCENES_H
#define TESTS_MPI_LIB_SCENES_H

#include <stdbool.h>
#include <stddef.h>

struct scene {
    const char *name;
    void (*play)(void);
    bool (*begin)(const char *name); /* false: skipped; may be NULL */
    bool threaded;                   /* needs MPI_THREAD_MULTIPLE */
};

/* The scene's argument NUMBER, from 1 on. NULL: there is none. */
const char *scene_argument(int number);

/* All of main. A first argument that is no scene is the first argument of the first scene. */
int scenes_main(int argc, char **argv, const struct scene *scenes, size_t n);

#endif
