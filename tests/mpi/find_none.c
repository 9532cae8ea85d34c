/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program without an MPI library. By itself it calls the library's exports anyway; or it loads an
 * MPI for a plugin alone, as Python does:
 *     find_none plugin PLUGIN [OTHER]   the plugin sums
 *     find_none itself PLUGIN [OTHER]   the program sums; or it says that the MPI has made itself
 *                                       global
 * OTHER is a shared object that is loaded first. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/tap.h"

typedef int any_function(void *, void *, long, void *, void *, void *);

static int call_exports(void)
{
    static const char *const names[] = {"MPI_Allreduce", "MPI_Allreduce_c", "MPI_Comm_free",
                                        "mpi_comm_free_", "libcgxpmpi_devices"};
    int comm = 0, error = 0;

    for (int i = 0; i < 5; i++) {
        any_function *function = (any_function *)dlsym(RTLD_DEFAULT, names[i]);
        int code;

        if (function == NULL)
            bail_out("%s is not exported; is the library preloaded?", names[i]);
        code = function(&comm, &error, 0, NULL, NULL, NULL);
        if (i < 4)
            ok(i < 3 ? code != 0 : error != 0, "%s fails", names[i]);
        else
            ok(code == 0 || code == 1, "%s says whether the library knows devices", names[i]);
    }
    return done_testing();
}

typedef int allreduce_words(const void *send, void *receive, int count, uintptr_t datatype,
                            uintptr_t op, uintptr_t comm);

static void *plugin;

static void *in_plugin(const char *name)
{
    return dlsym(plugin, name);
}

static int sum_itself(const uintptr_t words[3])
{
    allreduce_words *allreduce = (allreduce_words *)dlsym(RTLD_DEFAULT, "MPI_Allreduce");
    float in = 3, out = 0;

    return allreduce != NULL && allreduce(&in, &out, 1, words[0], words[1], words[2]) == 0 &&
           out == 3;
}

int main(int argc, char **argv)
{
    uintptr_t words[3];
    int good;

    if (argc == 1)
        return call_exports();
    if (argc < 3 || (argc > 3 && dlopen(argv[3], RTLD_NOW | RTLD_LOCAL) == NULL))
        return 2;
    plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    ((int (*)(uintptr_t *))in_plugin("find_begin"))(words);
    if (strcmp(argv[1], "itself") == 0 && dlsym(RTLD_DEFAULT, "PMPI_Allreduce"))
        puts("global");
    if (strcmp(argv[1], "plugin") == 0)
        good = ((int (*)(void))in_plugin("find_sum"))();
    else
        good = sum_itself(words);
    ((void (*)(void))in_plugin("find_end"))();
    puts(good ? "sum is right" : "sum is wrong");
    return !good;
}
