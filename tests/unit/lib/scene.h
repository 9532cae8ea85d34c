/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks that are threads of this process, and one all-reduce by cgx_coll_run on them, on any nodes,
 * with faults on demand. */
#ifndef CGX_TESTS_SCENE_H
#define CGX_TESTS_SCENE_H

#include "coll/coll.h"
#include "coll/exchange.h"
#include "coll/slice.h"

/* ---- ranks: loopback.c ---- */

/* As much of MPI between them as src/coll needs: Isend, Irecv, Testsome (which waits), Get_count
 * and an Iprobe that finds nothing, of bytes. Communicators and tags are ignored: messages between
 * two ranks are taken in the order in which they were sent. */
extern const struct cgx_mpi loopback_mpi;

/* Calls BODY as each of RANKS ranks and returns when all have returned. Aborts if memory or threads
 * are short, or if messages are left over. */
void loopback_run(unsigned ranks, void (*body)(void *context, unsigned rank), void *context);

/* Begins an exchange and polls until it is complete. */
enum cgx_status loopback_exchange(struct cgx_exchange *exchange,
                                  const struct cgx_transports *transports,
                                  struct cgx_transfer *transfers, size_t ntransfers);

/* ---- a device backend in software for them: mirror.c ---- */

/* The host codec, in a mirror of the staging memory. What no operation brings to the staging memory
 * is not there, but NaNs. */

/* Makes OPS those of a mirror of SCRATCH's shared staging memory, for the calling thread, which is
 * RANK. Local peers may pull when all of them have called it. */
void mirror_open(unsigned rank, const struct cgx_nodes *nodes, const struct cgx_scratch *scratch,
                 struct cgx_backend_ops *ops);

/* Frees RANK's mirror; no local peer pulls any more. */
void mirror_close(unsigned rank);

/* ---- an all-reduce: scene.c ---- */

#define SCENE_MOST_RANKS 16

#define SCENE_LAYER 65536

/* The number of its call. */
#define SCENE_CALL 3

/* Which operation of which rank's backend fails, or which of its messages
 * arrives garbled: the NTHth, from 0. */
struct scene_fault {
    enum { SCENE_NONE, SCENE_ENCODE, SCENE_REDUCE, SCENE_WAIT, SCENE_DECODE, SCENE_MESSAGE } what;
    unsigned rank;
    unsigned nth;
};

struct scene {
    /* What is set. */
    unsigned ranks;
    int keys[SCENE_MOST_RANKS]; /* ranks with equal ones share a node */
    bool leaders;
    bool shm;      /* ranks of a node share memory */
    bool mirrored; /* and their payloads go from mirror to mirror */
    bool grid;     /* nodes stand in one */
    enum cgx_dtype dtype;
    unsigned bits;
    enum cgx_family codec;
    size_t count;
    bool in_place;
    bool layered;     /* layers of SCENE_LAYER elements and different widths, the first with BITS */
    bool has_history; /* all ranks have one, of no sum yet */
    bool looks;       /* ranks compare sketches of their inputs */
    int held;         /* the rank that holds the call for its input; -1: none */
    float steps[CGX_STEP_STAGES]; /* of uniform quantisation; 0: each piece's own */
    uint32_t turn;                /* of its call */
    size_t staging;               /* bytes; 0: all in one slice */
    size_t fragment;              /* bytes */
    int declined, unrecoverable;  /* the rank that is; -1: none */
    struct scene_fault fault;

    /* What comes of it. */
    struct cgx_nodes *nodes, *flat;
    struct cgx_layer_list *layers; /* NULL: none */
    struct cgx_schedule schedule;  /* of rank 0 */
    unsigned char *inputs[SCENE_MOST_RANKS], *outputs[SCENE_MOST_RANKS];
    float *scales[SCENE_MOST_RANKS];
    enum cgx_outcome outcomes[SCENE_MOST_RANKS];
    enum cgx_look seen[SCENE_MOST_RANKS]; /* of its input, or of all */
    size_t crossing;                      /* bytes of messages between ranks of different nodes */
    size_t busiest;                       /* bytes of them that one node has sent */
    bool fault_came; /* there was an operation or a message to which the fault applied */
};

/* A scene of ranks whose keys are the digits of NODES, at 4 bits. With + before
 * these the nodes stand in a grid. */
struct scene scene_of(const char *nodes, enum cgx_dtype dtype, size_t count);

/* Whether some node has two ranks. */
bool scene_has_local_peers(const struct scene *scene);

/* Gets memory for what was set, with zeros as inputs. */
void scene_prepare(struct scene *scene);
void scene_free(struct scene *scene);

/* That, and Gaussian inputs of seven scales. */
void scene_fill(struct scene *scene, uint64_t seed);

float scene_input(const struct scene *scene, unsigned rank, size_t index);
void scene_set_input(struct scene *scene, unsigned rank, size_t index, float value);
float scene_output(const struct scene *scene, unsigned rank, size_t index);

/* Runs it; outputs are inputs if it is in place, and 0xA5 before. */
void scene_run(struct scene *scene);

/* All ranks have this outcome. */
bool scene_all_are(const struct scene *scene, enum cgx_outcome outcome);

/* No output was written. */
bool scene_is_untouched(const struct scene *scene);

/* All ranks have the same bytes. */
bool scene_agrees(const struct scene *scene);

double scene_exact(const struct scene *scene, size_t index);

/* the sum of the scales of all quantisations of the bucket that holds INDEX. */
double scene_scales(const struct scene *scene, size_t index);

#endif
