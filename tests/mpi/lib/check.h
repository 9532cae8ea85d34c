/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* TAP from an MPI program: every rank takes part in every check, rank 0 prints. All traffic of
 * these functions goes through PMPI_ names and no float sums, so it never meets the library. */
#ifndef TESTS_MPI_LIB_CHECK_H
#define TESTS_MPI_LIB_CHECK_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In MPI_COMM_WORLD, set by check_begin. */
extern int check_rank, check_size;

/* MPI_Init, unless the program has called MPI_Init_thread. */
void check_begin(int *argc, char ***argv);

/* MPI_Finalize, then the plan; returns what main returns. */
int check_end(void);

/* Whether the variable NAME is VALUE. */
bool check_set(const char *name, const char *value);

/* Elements that share a scale in max-min quantisation. */
enum { CHECK_BUCKET = 128 };

/* One test: passes when HERE is true on every rank. Returns the verdict. */
bool check(bool here, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A diagnostic line of rank 0. */
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether HERE is true on every rank of COMM. */
bool check_everywhere(bool here, MPI_Comm comm);

/* The same of MPI_COMM_WORLD, for what a test cannot do without: if not, NAME is skipped for WHY.
 */
bool check_has(bool here, const char *name, const char *why);

/* Programs of several scenes: "PROGRAM SCENE [ARGUMENT ...]". */
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

/* A hash of the bytes. */
uint64_t check_digest(const void *data, size_t bytes);

/* Whether BYTES bytes at DATA are the same on all ranks of COMM. */
bool check_same(const void *data, size_t bytes, MPI_Comm comm);

/* malloc that gives up with "Bail out!". */
void *check_memory(size_t bytes);

/* Memory that this process alone uses, in KiB: anonymous pages, resident or swapped out. Pages of
 * files and of shared memory are not counted: the system takes them back and they return. */
long check_private_memory(void);

/* ---- communicators that the library has not seen, and what a program says of them ---- */

/* Of all ranks, in their order; errors are returned. */
MPI_Comm comms_new(void);

/* The value of MPI_Comm_set_info. */
int comms_hint(MPI_Comm comm, const char *key, const char *value);

/* N duplicates of MPI_COMM_WORLD. */
void comms_make(MPI_Comm *comms, int n);
void comms_free(MPI_Comm *comms, int n);

/* Of the even ranks and the odd ones. */
MPI_Comm comms_across(void);

#endif
