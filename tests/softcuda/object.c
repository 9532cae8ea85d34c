/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Handles: a mark, the type and a place in a table that only grows. No processor takes such a
 * number for an address, so a program that looks behind a handle crashes there. */

#include <stdlib.h>

#include "driver.h"

#define MARK ((uintptr_t)0x5C << 56)
#define TYPE_SHIFT 48
#define INDEX_MASK (((uintptr_t)1 << TYPE_SHIFT) - 1)

static struct {
    struct softcuda_object **objects; /* NULL: destroyed */
    size_t count, room;
} table;

static uintptr_t mark(enum softcuda_type type)
{
    return MARK | (uintptr_t)type << TYPE_SHIFT;
}

void *softcuda_object_create(enum softcuda_type type, size_t bytes,
                             struct softcuda_context *context)
{
    struct softcuda_object *object = calloc(1, bytes);

    if (object == NULL)
        return NULL;
    if (table.count == table.room) {
        size_t room = table.room == 0 ? 64 : 2 * table.room;
        struct softcuda_object **objects = realloc(table.objects, room * sizeof *objects);

        if (objects == NULL) {
            free(object);
            return NULL;
        }
        table.objects = objects;
        table.room = room;
    }
    table.objects[table.count++] = object;
    object->type = type;
    object->handle = (void *)(mark(type) | table.count);
    object->context = context;
    return object;
}

void softcuda_object_free(struct softcuda_object *object)
{
    if (object == NULL)
        return;
    table.objects[((uintptr_t)object->handle & INDEX_MASK) - 1] = NULL;
    free(object);
}

void *softcuda_object_find(enum softcuda_type type, const void *handle)
{
    uintptr_t index = ((uintptr_t)handle & INDEX_MASK) - 1;

    if (((uintptr_t)handle & ~INDEX_MASK) != mark(type) || index >= table.count)
        return NULL;
    return table.objects[index];
}

void *softcuda_object_next(enum softcuda_type type, const void *handle)
{
    for (size_t i = (uintptr_t)handle & INDEX_MASK; i < table.count; i++) {
        if (table.objects[i] && table.objects[i]->type == type)
            return table.objects[i];
    }
    return NULL;
}

/* Contexts themselves stay, as what they were. */
void softcuda_objects_free(const struct softcuda_context *context)
{
    for (size_t i = 0; i < table.count; i++) {
        struct softcuda_object *object = table.objects[i];

        if (object == NULL || object->context != context || object->type == SOFTCUDA_CONTEXT)
            continue;
        if (object->type == SOFTCUDA_STREAM) {
            struct softcuda_stream *stream = (struct softcuda_stream *)object;

            softcuda_stream_abandon(stream);
            if (!stream->destroyed && stream != context->legacy)
                softcuda_counts.live--;
        } else if (object->type == SOFTCUDA_EVENT) {
            softcuda_counts.live--;
        }
        softcuda_object_free(object);
    }
}
