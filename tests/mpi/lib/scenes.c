/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "scenes.h"

#include <mpi.h>
#include <string.h>

#include "check.h"

static char **arguments; /* behind the scene's name, with a NULL */

const char *scene_argument(int number)
{
    for (int i = 1; i < number; i++)
        if (!arguments[i - 1])
            return NULL;
    return arguments[number - 1];
}

int scenes_main(int argc, char **argv, const struct scene *scenes, size_t n)
{
    const struct scene *scene = scenes;
    int level = MPI_THREAD_MULTIPLE;

    for (size_t i = 0; i < n && argc > 1; i++)
        if (strcmp(argv[1], scenes[i].name) == 0) {
            scene = &scenes[i];
            argc--;
            argv++;
            break;
        }
    if (scene->threaded)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    check_begin(&argc, &argv);
    arguments = argv + 1;
    if (check_has(level == MPI_THREAD_MULTIPLE, scene->name, "no MPI_THREAD_MULTIPLE") &&
        (!scene->begin || scene->begin(scene->name)))
        scene->play();
    return check_end();
}
