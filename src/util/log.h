/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Lines to stderr, each prefixed "cgx[RANK]: LEVEL: " and written with one write(2), so that ranks
 * do not interleave. Levels are defined by how often a line may appear:
 *   error  something the user must see: results are exact or the call failed, and why
 *   warn   once per process: a setting cannot be followed, or a name looks mistyped
 *   info   a few lines per process or communicator: what was found, chosen and, at the end, saved
 *   debug  once per signature: why it is exact or compressed */
#ifndef CGX_UTIL_LOG_H
#define CGX_UTIL_LOG_H

enum cgx_log_level { CGX_LOG_ERROR, CGX_LOG_WARN, CGX_LOG_INFO, CGX_LOG_DEBUG };

/* The level in force; CGX_LOG_WARN until cgx_log_set_level. */
enum cgx_log_level cgx_log_level(void);
void cgx_log_set_level(enum cgx_log_level level);

/* Sets the rank in the prefix, that in MPI_COMM_WORLD. Until then it is "?". */
void cgx_log_set_rank(int rank);

/* Prints if LEVEL is in force; no newline at the end of FORMAT. */
void cgx_log(enum cgx_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
