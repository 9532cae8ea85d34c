/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A call's way through this folder, and the library's work at the program's end. */
#ifndef CGX_PMPI_CALL_H
#define CGX_PMPI_CALL_H

#include <stdbool.h>

#include "comm/state.h"
#include "observe/record.h"

/* ---- any call (allreduce.c) ---- */

/* Compresses the call of REQUEST, or passes it to the MPI library. Returns the value for
 * MPI_Allreduce. */
int cgx_allreduce(const struct cgx_request *request);

/* ---- calls that ranks have agreed to compress (compress.c) ---- */

/* Serves the call of RECORD, which is of SITE; exactly if the call finds that it must not be
 * compressed. Returns what MPI_Allreduce must return; if this rank or MPI cannot serve the call,
 * RECORD has been observed. */
int cgx_compress(struct cgx_record *record, struct cgx_comm *state, struct cgx_callsite *site);

/* ---- CGX_ENABLE=observe (trial.c) ----
 *
 * Forms a sum as it would be compressed, in memory of the library, and then exactly, in the
 * caller's buffer, and compares both for the statistics. */

/* Before COLL, complete but for the input and the history, is run: redirects its result. A rank
 * that has no REFUSAL, and no memory for that, sets one. Ranks begin the sum together, in a ballot,
 * so that its time contains no wait for a late rank. Returns its code. */
int cgx_trial_begin(struct cgx_comm *state, struct cgx_coll *coll, enum cgx_reason *refusal);

/* After COLL was run: serves the call exactly, and compares both sums if there are statistics.
 * Returns the exact call's code. */
int cgx_trial_end(struct cgx_record *record, const struct cgx_comm *state,
                  const struct cgx_coll *coll);

/* ---- looks at the data of calls (look.c, policy/look.h) ---- */

/* Serves a call of SITE exactly, for REASON, and takes a look at its sum for the site's window: one
 * that shows nothing if this rank cannot serve the call otherwise (CAN), its elements cannot be
 * read, or memory is short. Returns the exact call's code. */
int cgx_look_exact(struct cgx_record *record, struct cgx_comm *state, enum cgx_reason reason,
                   struct cgx_callsite *site, bool can);

/* Samples the result of the latest large sum, an exact one of SITE, as long as that may reveal the
 * step (policy/step/evidence.h). */
void cgx_look_result(const struct cgx_request *request, struct cgx_comm *state,
                     const struct cgx_callsite *site);

/* Sets what COLL needs to look at REQUEST's input, of the kind that SITE has had so far. */
void cgx_look_prepare(const struct cgx_request *request, struct cgx_comm *state,
                      struct cgx_callsite *site, struct cgx_coll *coll);

/* COLL has compressed a call of SITE: its input counts for the looks at later ones. */
void cgx_look_ran(const struct cgx_coll *coll, struct cgx_comm *state, struct cgx_callsite *site);

/* ---- calls that are not compressed (exact.c) ---- */

/* One PMPI_Allreduce with the arguments of RECORD's request; returns its code. (Device buffers that
 * the MPI library cannot read are copied; half-precision sums on which it would abort go through
 * float32.) Sets what RECORD says of exact calls. */
int cgx_exact(struct cgx_record *record, enum cgx_reason reason);

/* PMPI_Allreduce with REQUEST's arguments; returns its code. */
int cgx_exact_reduce(const struct cgx_request *request);

/* ---- exact calls on device buffers with an MPI that cannot read device memory (bounce.c) ----
 *
 * The MPI gets host copies of whole buffers, in one call. */

/* Whether REQUEST has a buffer in device memory that must not reach the MPI: the MPI is not
 * CUDA-aware or, if ON_HOST, the processor does the call itself. Managed memory is passed on. False
 * for calls in which the MPI touches no buffer, and for those it refuses. Decided per rank: others
 * may have host buffers. Less than 0.05 us without a CUDA driver. */
bool cgx_bounce_needed(const struct cgx_request *request, bool on_host);

/* Lets REDUCE do REQUEST on host memory and copies the result to device memory. Gaps in a derived
 * datatype keep their values. Returns REDUCE's code, or an error raised on the communicator; if
 * REDUCE was not called, other ranks wait for this one, as after any refused call. MPI_ERR_BUFFER:
 * bytes of the call are missing, or are named by absolute addresses (MPI_BOTTOM). MPI_ERR_NO_MEM:
 * no host memory. */
int cgx_bounce(const struct cgx_request *request, int (*reduce)(const struct cgx_request *request));

/* ---- the program's end (finalize.c) ----
 *
 * MPI_Finalize logs and writes what was done. If the process exits without it, this rank's
 * statistics are written. */

/* Called in every intercepted all-reduce: the first one after MPI_Init reads the settings, logs
 * their mistakes, and registers with MPI_Finalize. */
void cgx_finalize_prepare(void);

/* Called before MPI_Abort: writes this rank's statistics. */
void cgx_finalize_abort(void);

#endif
