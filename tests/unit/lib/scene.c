/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "coll/slice.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

static void *need(void *memory)
{
    if (!memory)
        bail_out("memory is short");
    return memory;
}

struct scene scene_of(const char *nodes, enum cgx_dtype dtype, size_t count)
{
    bool grid = nodes[0] == '+';
    const char *keys = nodes + grid;
    struct scene scene = {.ranks = (unsigned)strlen(keys),
                          .grid = grid,
                          .dtype = dtype,
                          .bits = 4,
                          .count = count,
                          .fragment = 16384,
                          .declined = -1,
                          .unrecoverable = -1,
                          .held = -1};

    for (unsigned r = 0; r < scene.ranks; r++)
        scene.keys[r] = keys[r];
    return scene;
}

bool scene_has_local_peers(const struct scene *scene)
{
    for (unsigned a = 0; a < scene->ranks; a++) {
        for (unsigned b = 0; b < a; b++) {
            if (scene->keys[a] == scene->keys[b])
                return true;
        }
    }
    return false;
}

static size_t buckets(const struct scene *scene)
{
    return cgx_bucket_count(scene->count, CGX_MAXMIN_BUCKET);
}

/* Layers of one more bit each, and 1 after the most that the family has. */
static struct cgx_layer_list *layers_of(const struct scene *scene)
{
    size_t count = (scene->count + SCENE_LAYER - 1) / SCENE_LAYER;
    struct cgx_layer_list *list = need(malloc(sizeof *list + count * sizeof list->layers[0]));

    *list = (struct cgx_layer_list){.total = scene->count, .nlayers = count};
    for (size_t i = 0; i < count; i++)
        list->layers[i] = (struct cgx_layer_size){
            i + 1 < count ? SCENE_LAYER : scene->count - i * SCENE_LAYER,
            1 + (unsigned)(scene->bits - 1 + i) % cgx_quantisers[scene->codec].widths};
    return list;
}

void scene_prepare(struct scene *scene)
{
    const struct cgx_settings settings = {.bits = scene->bits, .codec = scene->codec};
    struct cgx_override override = {.layers = NULL};
    struct cgx_plan plan;
    struct cgx_scheme scheme = {.leaders = scene->leaders,
                                .inter = scene->grid ? CGX_REDUCTION_GRID : CGX_REDUCTION_SRA,
                                .network = {.message_ns = 1}};

    scheme.nodes = scene->nodes = need(cgx_nodes_create(scene->keys, scene->ranks));
    scheme.flat = scene->flat = need(cgx_nodes_create(NULL, scene->ranks));
    override.layers = scene->layers = scene->layered ? layers_of(scene) : NULL;
    plan = cgx_plan_of(&settings, &override, scene->dtype, scene->count);
    scene->schedule = cgx_coll_schedule(&plan, &scheme, scene->staging ? scene->staging : SIZE_MAX);
    for (unsigned r = 0; r < scene->ranks; r++) {
        scene->inputs[r] = need(calloc(scene->count, cgx_dtype_size(scene->dtype)));
        scene->outputs[r] = need(calloc(scene->count, cgx_dtype_size(scene->dtype)));
        scene->scales[r] = need(calloc(buckets(scene), sizeof(float)));
    }
}

void scene_fill(struct scene *scene, uint64_t seed)
{
    scene_prepare(scene);
    for (unsigned r = 0; r < scene->ranks; r++) {
        for (size_t i = 0; i < scene->count; i++)
            scene_set_input(scene, r, i,
                            (float)(data_gaussian(&seed) * (double)(1 + (i / 64) % 7)));
    }
}

void scene_free(struct scene *scene)
{
    for (unsigned r = 0; r < scene->ranks; r++) {
        free(scene->inputs[r]);
        free(scene->outputs[r]);
        free(scene->scales[r]);
    }
    free(scene->layers);
    cgx_nodes_free(scene->nodes);
    cgx_nodes_free(scene->flat);
}

float scene_input(const struct scene *scene, unsigned rank, size_t index)
{
    return data_load(scene->dtype, scene->inputs[rank], index);
}

void scene_set_input(struct scene *scene, unsigned rank, size_t index, float value)
{
    data_store(scene->dtype, scene->inputs[rank], index, value);
}

float scene_output(const struct scene *scene, unsigned rank, size_t index)
{
    return data_load(scene->dtype, scene->outputs[rank], index);
}

/* ---- faults, and what goes where ---- */

static struct scene *scene_now;
static pthread_barrier_t barrier;
static struct cgx_shared_handle handles[SCENE_MOST_RANKS];
static _Thread_local unsigned rank_now, operations, messages;
static atomic_size_t sent_by_node[SCENE_MOST_RANKS];
static atomic_bool fault_came;

/* Whether the operation of kind WHAT that is about to be done fails. */
static bool fails(int what)
{
    const struct scene_fault *fault = &scene_now->fault;

    if ((int)fault->what != what || fault->rank != rank_now || operations++ != fault->nth)
        return false;
    atomic_store(&fault_came, true);
    return true;
}

/* Adds the scales of the payloads that WORK has written to those of this rank. */
static void add_scales(const struct cgx_work *work)
{
    for (size_t i = 0; i < work->npieces; i++) {
        const struct cgx_piece *piece = &work->pieces[i];
        unsigned bucket = cgx_encoding_quantiser(piece->bits)->bucket;
        size_t n = cgx_bucket_count(piece->count, bucket);

        for (size_t k = 0; k < n && !cgx_encoding_is_exact(piece->bits); k++)
            scene_now->scales[rank_now][(piece->first + k * bucket) / CGX_MAXMIN_BUCKET] +=
                data_scale(piece, (const unsigned char *)work->out + piece->offset, k);
    }
}

static enum cgx_status faulty_run(struct cgx_backend *backend, unsigned slot,
                                  const struct cgx_work *work)
{
    static const int faults[CGX_OPERATIONS] = {
        [CGX_ENCODE] = SCENE_ENCODE, [CGX_REDUCE] = SCENE_REDUCE, [CGX_DECODE] = SCENE_DECODE};
    enum cgx_status status = fails(faults[work->operation])
                                 ? CGX_ERR_DEVICE
                                 : cgx_backend_host()->ops->run(backend, slot, work);

    if (status == CGX_OK && (work->operation == CGX_ENCODE || work->operation == CGX_REDUCE))
        add_scales(work);
    return status;
}

static enum cgx_status faulty_wait(struct cgx_backend *backend, unsigned slot)
{
    return fails(SCENE_WAIT) ? CGX_ERR_DEVICE : cgx_backend_host()->ops->wait(backend, slot);
}

/* Whether what is about to be sent arrives with *BYTE of it garbled. */
static bool is_garbled(size_t *byte)
{
    const struct scene_fault *fault = &scene_now->fault;

    /* The step, or the hash of the plan. */
    *byte = fault->nth % 2 ? 2 : 4;
    return fault->what == SCENE_MESSAGE && fault->rank == rank_now && messages++ == fault->nth;
}

static int counted_send(const void *buffer, int count, cgx_mpi_datatype type, int to, int tag,
                        cgx_mpi_comm comm, void *request)
{
    const unsigned *node = scene_now->nodes->node;
    size_t byte;

    if (node[rank_now] != node[to])
        atomic_fetch_add(&sent_by_node[node[rank_now]], (size_t)count);
    if (is_garbled(&byte)) {
        unsigned char *garbled = need(malloc((size_t)count + 1));
        int code;

        memcpy(garbled, buffer, (size_t)count);
        garbled[byte] ^= 0xFF;
        garbled[13] ^= 0xFF; /* the number of elements, which is said then */
        code = loopback_mpi.Isend(garbled, count, type, to, tag, comm, request);
        free(garbled); /* it has been copied */
        atomic_store(&fault_came, true);
        return code;
    }
    return loopback_mpi.Isend(buffer, count, type, to, tag, comm, request);
}

/* ---- the call ---- */

/* Shares memory with all local peers. */
static struct cgx_shm *connect(const struct scene *scene, unsigned rank,
                               const struct cgx_scratch *scratch)
{
    struct cgx_shm *shm = need(cgx_shm_create(scene->nodes, rank));

    handles[rank] = cgx_shared_handle(&scratch->shared);
    pthread_barrier_wait(&barrier);
    if (cgx_shm_attach(shm, &scratch->shared, handles, sizeof *handles) != CGX_OK)
        abort();
    pthread_barrier_wait(&barrier);
    return shm;
}

/* An input of RANK is as large as those before it, or odd. */
static struct cgx_inputs inputs_of(const struct scene *scene, unsigned rank)
{
    struct cgx_inputs inputs = {.kept = NULL};

    if ((int)rank == scene->held)
        cgx_sizes_add(&inputs.sizes, 1e30);
    return inputs;
}

static void run_rank(void *context, unsigned rank)
{
    struct scene *scene = context;
    size_t bytes = scene->count * cgx_dtype_size(scene->dtype);
    struct cgx_schedule schedule = scene->schedule;
    struct cgx_backend_ops ops = *cgx_backend_host()->ops;
    struct cgx_backend backend = {.ops = &ops};
    struct cgx_scratch scratch = {0};
    void *history = scene->has_history ? need(calloc(1, cgx_history_bytes(scene->count))) : NULL;
    struct cgx_inputs inputs = inputs_of(scene, rank);
    struct cgx_mpi mpi = loopback_mpi;
    struct cgx_coll coll = {
        .transports = {.mpi = &mpi, .pace = {.fragment = scene->fragment}},
        .schedule = &schedule,
        .backend = &backend,
        .scratch = &scratch,
        .coding = {scene->dtype, SCENE_CALL, rank, scene->turn, .error = 0x1p-12f},
        .input = scene->in_place ? scene->outputs[rank] : scene->inputs[rank],
        .output = scene->outputs[rank],
        .vote = (int)rank == scene->unrecoverable ? CGX_UNRECOVERABLE
                : (int)rank == scene->declined    ? CGX_DECLINED
                                                  : CGX_ABLE,
        .has_history = scene->has_history,
        .looks = scene->looks,
        .inputs = scene->looks ? &inputs : NULL,
        .pull = scene->mirrored ? CGX_PULL_DEVICE : CGX_PULL_NONE};

    if (history)
        coll.history = cgx_history_in(history, scene->count, 0);
    schedule.program = cgx_program_of(&schedule.program.shape, rank);
    memcpy(coll.step_sizes, scene->steps, sizeof coll.step_sizes);
    rank_now = rank;
    operations = messages = 0;
    memset(scene->scales[rank], 0, buckets(scene) * sizeof(float));
    mpi.Isend = counted_send;
    ops.run = faulty_run;
    ops.wait = faulty_wait;
    if (scene->in_place)
        memcpy(scene->outputs[rank], scene->inputs[rank], bytes);
    else
        memset(scene->outputs[rank], 0xA5, bytes);
    scratch.local_peers = scene->shm ? scene->nodes->most : 0;
    if (cgx_scratch_reserve(&scratch, &scene->schedule.needs) != CGX_OK)
        abort();
    if (scene->mirrored)
        mirror_open(rank, scene->nodes, &scratch, &ops);
    if (scene->shm)
        coll.transports.shm = connect(scene, rank, &scratch);
    scene->outcomes[rank] = cgx_coll_run(&coll);
    scene->seen[rank] = coll.look;
    if (scene->mirrored) {
        pthread_barrier_wait(&barrier);
        mirror_close(rank);
    }
    cgx_scratch_release(&scratch);
    cgx_shm_free(coll.transports.shm);
    free(history);
}

void scene_run(struct scene *scene)
{
    scene_now = scene;
    atomic_store(&fault_came, false);
    for (unsigned n = 0; n < scene->nodes->nodes; n++)
        atomic_store(&sent_by_node[n], 0);
    pthread_barrier_init(&barrier, NULL, scene->ranks);
    loopback_run(scene->ranks, run_rank, scene);
    pthread_barrier_destroy(&barrier);
    scene->fault_came = atomic_load(&fault_came);
    scene->crossing = scene->busiest = 0;
    for (unsigned n = 0; n < scene->nodes->nodes; n++) {
        size_t sent = atomic_load(&sent_by_node[n]);

        scene->crossing += sent;
        scene->busiest = sent > scene->busiest ? sent : scene->busiest;
    }
}

/* ---- what came of it ---- */

bool scene_all_are(const struct scene *scene, enum cgx_outcome outcome)
{
    for (unsigned r = 0; r < scene->ranks; r++) {
        if (scene->outcomes[r] != outcome)
            return false;
    }
    return true;
}

bool scene_is_untouched(const struct scene *scene)
{
    size_t bytes = scene->count * cgx_dtype_size(scene->dtype);

    for (unsigned r = 0; r < scene->ranks; r++) {
        for (size_t i = 0; !scene->in_place && i < bytes; i++) {
            if (scene->outputs[r][i] != 0xA5)
                return false;
        }
        if (scene->in_place && memcmp(scene->outputs[r], scene->inputs[r], bytes) != 0)
            return false;
    }
    return true;
}

bool scene_agrees(const struct scene *scene)
{
    for (unsigned r = 1; r < scene->ranks; r++) {
        if (memcmp(scene->outputs[0], scene->outputs[r],
                   scene->count * cgx_dtype_size(scene->dtype)) != 0)
            return false;
    }
    return true;
}

double scene_exact(const struct scene *scene, size_t index)
{
    double sum = 0;

    for (unsigned r = 0; r < scene->ranks; r++)
        sum += (double)scene_input(scene, r, index);
    return sum;
}

double scene_scales(const struct scene *scene, size_t index)
{
    double sum = 0;

    for (unsigned r = 0; r < scene->ranks; r++)
        sum += (double)scene->scales[r][index / CGX_MAXMIN_BUCKET];
    return sum;
}
