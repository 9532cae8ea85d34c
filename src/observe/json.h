/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Writes JSON (RFC 8259) to a stream, value by value. NAME is NULL in an array. */
#ifndef CGX_OBSERVE_JSON_H
#define CGX_OBSERVE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cgx_json {
    FILE *out;
    int depth;
    bool more; /* the object or array is not empty */
    bool line; /* the next value begins a line */
};

/* Opens or closes an object or array; BRACKET is its bracket. begin opens it on a new line. */
void cgx_json_open(struct cgx_json *json, const char *name, char bracket);
void cgx_json_begin(struct cgx_json *json, const char *name, char bracket);
void cgx_json_close(struct cgx_json *json, char bracket);

void cgx_json_count(struct cgx_json *json, const char *name, uint64_t value);
void cgx_json_bool(struct cgx_json *json, const char *name, bool value);

/* NaN and infinity become null, since JSON has neither. */
void cgx_json_number(struct cgx_json *json, const char *name, double value);

/* Bytes that are not UTF-8 are taken as Latin-1. VALUE may be NULL. */
void cgx_json_string(struct cgx_json *json, const char *name, const char *value);

#endif
