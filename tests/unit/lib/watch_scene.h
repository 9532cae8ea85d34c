/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums for tests of the look within compressed calls: by nodes, kinds of data and ways, and what
 * came of them. */
#ifndef TESTS_UNIT_WATCH_SCENE_H
#define TESTS_UNIT_WATCH_SCENE_H

#include "unit/lib/scene.h"

/* The node of each rank, behind a + in a grid. */
#define WATCH_NODES 18
extern const char *const watch_nodes[];

/* What they have in common, and what each has of its own. */
enum watch_kind {
    WATCH_NORMAL,     /* both normal */
    WATCH_HEAVY,      /* both as large as an element's scale is, which has heavy tails */
    WATCH_HEAVY_OWN,  /* the own part has heavy tails, each rank's others */
    WATCH_SPARSE,     /* nine of ten elements are zero, the same on all ranks */
    WATCH_SPARSE_OWN, /* nine of ten elements of the own part are */
    WATCH_SIGNS,      /* the common part is 1 or -1, and so is the own part */
    WATCH_SCALES,     /* normal, buckets differ by 64 in scale */
    WATCH_KINDS
};
extern const char *const watch_kinds[];

/* Ranks on NODES, in the way that the bits of WAY say. */
struct scene watch_scene(const char *nodes, unsigned way, unsigned bits);

/* Contributions whose mean |x_r - s/P|^2 / |s/P|^2 is about DISTANCE, below P - 1. */
void watch_fill(struct scene *scene, enum watch_kind kind, double distance, uint64_t seed);

/* All ranks have seen the same, to the bit, and have the same outcome. */
bool watch_is_unanimous(const struct scene *scene);

/* Held back for WHY, on all ranks, with nothing written. */
bool watch_is_held(const struct scene *scene, enum cgx_consensus why);

/* Compressed on all ranks. With less than 3 bits nothing is seen. */
bool watch_is_compressed(const struct scene *scene);

/* Prints what was seen of SCENE, which is not as it should be. */
void watch_say(const struct scene *scene, const char *nodes, unsigned way, double distance);

#endif
