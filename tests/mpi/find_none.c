/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program without an MPI library that calls the library's exports anyway. */

#include <dlfcn.h>
#include <stddef.h>

#include "lib/tap.h"

typedef int any_function(void *, void *, long, void *, void *, void *);

int main(void)
{
    static const char *const names[] = {"MPI_Allreduce", "MPI_Allreduce_c", "mpi_comm_free_"};
    int comm = 0, error = 0;

    for (int i = 0; i < 3; i++) {
        any_function *function = (any_function *)dlsym(RTLD_DEFAULT, names[i]);
        int code;

        if (function == NULL)
            bail_out("%s is not exported; is the library preloaded?", names[i]);
        code = function(&comm, &error, 0, NULL, NULL, NULL);
        ok(i < 2 ? code != 0 : error != 0, "%s fails", names[i]);
    }
    return done_testing();
}
