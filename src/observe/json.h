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
    bool more; /* something is in this object or array already */
    bool line; /* what comes next begins a line */
};

/* An object or array, whose bracket this is. */
void cgx_json_open(struct cgx_json *json, const char *name, char bracket);
void cgx_json_close(struct cgx_json *json, char bracket);

void cgx_json_count(struct cgx_json *json, const char *name, uint64_t value);
void cgx_json_bytes(struct cgx_json *json, const char *name, double value);
void cgx_json_bool(struct cgx_json *json, const char *name, bool value);

/* JSON has no NaN and no infinity: they are null. */
void cgx_json_number(struct cgx_json *json, const char *name, double value);

/* Bytes that are no UTF-8 are taken for Latin-1; VALUE may be NULL. */
void cgx_json_string(struct cgx_json *json, const char *name, const char *value);

#endif
