/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Launches the kernels for tests, on the device that the loaded driver has. */
#ifndef CGX_TESTS_KERNELS_H
#define CGX_TESTS_KERNELS_H

#include <string.h>

#include "codec/backend.h"
#include "codec/encoding.h"
#include "codec/uniform/uniform.h"
#include "cuda/module.h"

/* One of the device's operations. */
struct kernels_job {
    enum cgx_operation operation;
    const struct cgx_coding *coding;
    const struct cgx_piece *pieces;
    size_t npieces;
    const unsigned char *const *sources;
    size_t nsources;
    struct cgx_history history;
    unsigned char *buffer;
    unsigned char *payload;
    /* Where all of pieces that vary goes too; NULL: nowhere. */
    unsigned char *shown;
};

/* Whether elements are quantised, alone or as a source of a sum. */
static inline bool kernels_has_elements(const struct kernels_job *job)
{
    bool has = job->operation == CGX_ENCODE;

    for (size_t i = 0; job->operation == CGX_REDUCE && i < job->nsources; i++)
        has = has || job->sources[i] == NULL;
    return has;
}

/* False: there is no device, which is a skip. */
bool kernels_open(void);

/* Copies the BYTES at MEMORY, aligned to 256, to the device, launches, and copies all of them back.
 * The addresses in JOB are within MEMORY and are moved to where that is on the device. CGX_OK or
 * CGX_ERR_FORMAT; what the driver refuses ends the program. */
enum cgx_status kernels_run(const struct kernels_job *job, unsigned char *memory, size_t bytes);

/* Makes equal what encoders leave undefined: what uniform ones of PIECES do not use of PAYLOAD. */
static inline void kernels_clear_unused(const struct cgx_piece *pieces, size_t npieces,
                                        unsigned char *payload)
{
    for (size_t i = 0; i < npieces; i++) {
        unsigned char *data = payload + pieces[i].offset;
        size_t used;

        if (cgx_encoding_family(pieces[i].bits) != CGX_FAMILY_UNIFORM)
            continue;
        used = cgx_uniform_used(data, pieces[i].count);
        memset(data + used, 0xAA, cgx_uniform_bytes(pieces[i].count) - used);
    }
}

/* ---- kernels_scene.c ---- */

/* Operations that a kernel and the host codec carry out on equal memory, which must then be equal,
 * down to the last byte that neither should touch. */

#define SCENE_PIECES 16
#define SCENE_SOURCES 9
#define SCENE_NO_SOURCE SCENE_SOURCES

/* To be filled in before scene_make. */
struct scene_plan {
    struct cgx_coding coding;
    size_t npieces;
    size_t counts[SCENE_PIECES]; /* elements */
    unsigned bits[SCENE_PIECES];
    size_t misalignment; /* of the buffer */
    size_t nsources;
    size_t buffer_source; /* which of the sources is the buffer, or SCENE_NO_SOURCE */
    size_t own_source;    /* which of them is overwritten with the sum */
    uint64_t seed;        /* of the data */
};

struct scene {
    struct scene_plan plan;
    struct cgx_piece pieces[SCENE_PIECES];
    size_t elements;      /* of the buffer */
    size_t payload_bytes; /* of each payload */
};

/* Makes PLAN's pieces be of all widths, of one to three buckets each; I says which
 * comes first. */
void scene_all_widths(struct scene_plan *plan, unsigned i);

/* Data of many kinds, which change within buckets; some not finite. The payloads, one for each
 * source, are what the host codec encodes. */
void scene_make(struct scene *scene, const struct scene_plan *plan);

/* Payload SOURCE of the scene, to be changed by hand. */
unsigned char *scene_payload(const struct scene *scene, size_t source);

/* Carries out OPERATION with its kernel and by the host codec, on the scene as it is. True if
 * status and all memory are equal; if both found a bad header, all memory but the destination. The
 * difference is told by diag. */
bool scene_is_same(const struct scene *scene, enum cgx_operation operation);

/* What the last comparison's status was. */
enum cgx_status scene_status(void);

#endif
