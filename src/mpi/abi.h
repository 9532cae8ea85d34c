/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The known ABIs. Each function fills a table, whose raw, name and version are set, from the
 * LIBRARY that dlopen returned. Returns the name of what is missing, or NULL. */
#ifndef CGX_MPI_ABI_H
#define CGX_MPI_ABI_H

struct cgx_mpi;

/* MPI-3 functions with the same name in the table. */
/* clang-format off */
#define CGX_ABI_FUNCTIONS(X)                                                              \
    X(Initialized) X(Finalized) X(Query_thread) X(Allreduce)                              \
    X(Allgather) X(Isend) X(Irecv) X(Testsome)                                            \
    X(Get_count) X(Iprobe) X(Comm_rank) X(Comm_size) X(Comm_test_inter) X(Comm_get_name)  \
    X(Comm_split) X(Comm_free) X(Comm_group) X(Group_translate_ranks)                    \
    X(Group_free) X(Comm_create_keyval) X(Comm_free_keyval) X(Comm_get_attr)              \
    X(Comm_set_attr) X(Comm_delete_attr) X(Info_get) X(Comm_get_errhandler)               \
    X(Comm_set_errhandler) X(Comm_call_errhandler) X(Errhandler_free) X(Add_error_code) X(Add_error_string)      \
    X(Error_class) X(Error_string) X(Type_size) X(Type_get_extent) X(Type_get_true_extent)
/* clang-format on */

typedef const char *cgx_abi(struct cgx_mpi *table, void *library);

cgx_abi cgx_abi_mpich;    /* MPICH and its family: handles are integers */
cgx_abi cgx_abi_openmpi;  /* Open MPI 4.1 and 5: handles are addresses of its data */
cgx_abi cgx_abi_standard; /* MPI 5.0, chapter 20: handles are pointers, or small integers in them */

#endif
