/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Launches the kernels for tests, on the device that the loaded driver has. */
#ifndef CGX_TESTS_KERNELS_RUN_H
#define CGX_TESTS_KERNELS_RUN_H

#include "codec/backend.h"
#include "cuda/module.h"

/* One of the device's operations. */
struct kernels_job {
    enum cgx_operation operation;
    const struct cgx_coding *coding;
    const struct cgx_piece *pieces;
    size_t npieces;
    const struct cgx_shown *ranges; /* of SHOW, in the place of pieces */
    size_t nranges;
    const unsigned char *const *sources;
    size_t nsources;
    struct cgx_residuals residuals; /* of ENCODE and REDUCE */
    struct cgx_history history;     /* in place of residuals */
    unsigned char *buffer;
    unsigned char *payload; /* of MEASURE: the samples */
};

/* False: there is no device, which is a skip. */
bool kernels_open(void);

/* Copies the BYTES at MEMORY, aligned to 256, to the device, launches, and copies all of them back.
 * The addresses in JOB are within MEMORY and are moved to where that is on the device. CGX_OK or
 * CGX_ERR_FORMAT; what the driver refuses ends the program. */
enum cgx_status kernels_run(const struct kernels_job *job, unsigned char *memory, size_t bytes);

#endif
