/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* All-reduces of tables of which most rows are zeros, as the gradients of embeddings are: messages
 * are packed, results are the same to the bit as without, and garbled ones are refused. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "codec/packing.h"
#include "coll/slice.h"
#include "lib/tap.h"
#include "lib/wrap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/scene.h"

/* ---- what is sent ---- */

static atomic_bool packs;
static atomic_size_t scattered, gathered; /* bytes of messages, by phase */
static atomic_uint packed;                /* messages */

WRAPPED(bool, cgx_packing_pays, const struct cgx_extent *extent, const unsigned char *payload)
{
    return atomic_load(&packs) && __real_cgx_packing_pays(extent, payload);
}

WRAPPED(size_t, cgx_pack, const struct cgx_extent *extent, const unsigned char *payload,
        unsigned char *message)
{
    size_t bytes = __real_cgx_pack(extent, payload, message);

    atomic_fetch_add(&packed, bytes > 0);
    return bytes;
}

WRAPPED(enum cgx_status, cgx_slice_post, struct cgx_slice *slice)
{
    size_t before = slice->sent;
    enum cgx_status status = __real_cgx_slice_post(slice);

    atomic_fetch_add(cgx_slice_is_early(slice) ? &scattered : &gathered, slice->sent - before);
    return status;
}

static void run(struct scene *scene, bool packing)
{
    atomic_store(&packs, packing);
    atomic_store(&scattered, 0);
    atomic_store(&gathered, 0);
    atomic_store(&packed, 0);
    scene_run(scene);
}

/* Of the rows of ROW elements, one in ten is not zero, another one on each rank or, if they share
 * them, the same. */
static void fill_rows(struct scene *scene, size_t row, bool share)
{
    scene_prepare(scene);
    for (unsigned r = 0; r < scene->ranks; r++) {
        uint64_t values = 100 + r, rows = share ? 7 : 7 + r;

        for (size_t first = 0; first < scene->count; first += row) {
            if (data_random(&rows) % 10 != 0)
                continue;
            for (size_t i = first; i < first + row && i < scene->count; i++)
                scene_set_input(scene, r, i, (float)data_gaussian(&values));
        }
    }
}

/* ---- bytes ---- */

static void test_bytes(const char *nodes, unsigned bits, size_t row)
{
    struct scene scene = scene_of(nodes, CGX_FLOAT32, (size_t)1 << 20);
    size_t plain_scattered, plain_gathered;
    double scatter, gather;
    bool done;

    scene.bits = bits;
    scene.bucket_size = 512;
    fill_rows(&scene, row, true);
    run(&scene, false);
    done = scene_all_are(&scene, CGX_OUTCOME_DONE);
    plain_scattered = scattered;
    plain_gathered = gathered;
    run(&scene, true);
    scatter = (double)plain_scattered / (double)scattered;
    gather = (double)plain_gathered / (double)gathered;
    ok(done && scene_all_are(&scene, CGX_OUTCOME_DONE) && scatter >= 5 && gather >= 5,
       "nodes %s, %u bits, nine of ten rows of %zu zeros: %.2f times fewer bytes in the "
       "reduce-scatter, %.2f in the allgather",
       nodes, bits, row, scatter, gather);
    scene_free(&scene);
}

/* ---- results ---- */

static const char *const topologies[] = {"0123", "0011", "000112", "0000", "00112233", "+01234"};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

/* Whether SCENE, which it frees, has the same results with packing as without, and fewer bytes. */
static bool is_same(struct scene *scene, unsigned *messages)
{
    size_t bytes = scene->count * cgx_dtype_size(scene->dtype), all;
    unsigned char *plain = malloc(bytes + 1);
    bool same;

    if (!plain)
        bail_out("memory is short");
    run(scene, false);
    same = scene_all_are(scene, CGX_OUTCOME_DONE) && packed == 0;
    memcpy(plain, scene->outputs[0], bytes);
    all = scattered + gathered;
    run(scene, true);
    *messages += packed;
    same = same && scene_all_are(scene, CGX_OUTCOME_DONE) && scene_agrees(scene) &&
           memcmp(plain, scene->outputs[0], bytes) == 0 &&
           (packed == 0 || scattered + gathered < all);
    free(plain);
    scene_free(scene);
    return same;
}

static void test_results(void)
{
    static const size_t rows[] = {64, 300, 1024};

    for (size_t t = 0; t < TOPOLOGIES; t++) {
        unsigned messages = 0;
        bool same = true;

        for (unsigned way = 0; way < 96; way++) {
            struct scene scene =
                scene_of(topologies[t], (enum cgx_dtype)(way / 8 % 3), 30000 + way % 5 * 777);

            scene.leaders = (way & 4) != 0;
            scene.bits = 1 + way % 8;
            scene.bucket_size = 64u << way % 4;
            scene.shm = way % 7 < 3 && scene_has_local_peers(&scene);
            scene.layered = way % 6 == 2;
            scene.staging = way % 2 ? 20000 : 0;
            scene.fragment = way % 4 < 2 ? 16384 : 500;
            fill_rows(&scene, rows[way % 3], way % 5 != 0);
            if (!is_same(&scene, &messages)) {
                diag("way %u", way);
                same = false;
            }
        }
        ok(same && messages > 100, "nodes %s: %u packed messages, and the same results as without",
           topologies[t], messages);
    }
}

/* ---- garbled messages ---- */

/* Whether no rank has a result that is not WANTED without knowing it. */
static bool is_known(const struct scene *scene, const float *wanted)
{
    if (scene_all_are(scene, CGX_OUTCOME_DECLINED))
        return scene_is_untouched(scene);
    for (unsigned r = 0; r < scene->ranks; r++) {
        if (scene->outcomes[r] == CGX_OUTCOME_DONE &&
            memcmp(scene->outputs[r], wanted, scene->count * sizeof(float)) != 0)
            return false;
        if (scene->outcomes[r] != CGX_OUTCOME_DONE && scene->outcomes[r] != CGX_OUTCOME_LOST)
            return false;
    }
    return true;
}

static void test_garbled(void)
{
    for (size_t t = 0; t < TOPOLOGIES; t++) {
        struct scene scene = scene_of(topologies[t], CGX_FLOAT32, 30000);
        float *wanted = malloc(scene.count * sizeof(float));
        unsigned cases = 0;
        bool known = true, told = true;

        if (!wanted)
            bail_out("memory is short");
        fill_rows(&scene, 1024, true);
        run(&scene, true);
        memcpy(wanted, scene.outputs[0], scene.count * sizeof(float));
        for (unsigned r = 0; r < scene.ranks; r++) {
            for (unsigned nth = 0;; nth++) {
                scene.fault = (struct scene_fault){SCENE_MAP, r, nth};
                run(&scene, true);
                if (!scene.fault_came)
                    break;
                cases++;
                known = known && is_known(&scene, wanted);
                told = told && !scene_all_are(&scene, CGX_OUTCOME_DONE);
            }
        }
        ok(known && told && cases > 0,
           "nodes %s: %u packed messages with another map, all refused: no rank has a wrong result "
           "unknowing",
           topologies[t], cases);
        free(wanted);
        scene_free(&scene);
    }
}

int main(void)
{
    test_bytes("0123", 4, 64);
    test_bytes("0123", 1, 64);
    test_bytes("0123", 8, 1024);
    test_bytes("0011", 4, 64);
    test_results();
    test_garbled();
    return done_testing();
}
