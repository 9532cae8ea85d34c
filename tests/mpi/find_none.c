/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program without an MPI library that calls the library's exports anyway. */

#include <dlfcn.h>
#include <stddef.h>

#include "lib/tap.h"

typedef int any_function(void *, void *, long, void *, void *, void *);

int main(void)
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
