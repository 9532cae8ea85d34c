// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// A call of the one-kernel sum for fused.cpp: ranks with their memory, pieces of all widths,
// elements, and what the host codec makes of them. Include codec/encoding.h and cuda/fused.cuh
// first.
#ifndef SOFTCUDA_FUSED_SCENE_H
#define SOFTCUDA_FUSED_SCENE_H

enum { MOST_PIECES = 3, MOST_BLOCKS = 3, MOST_ELEMENTS = 8 * 3 * 20480, GUARD = 64 };

struct rank {
    unsigned char *input, *output; // with a guard before and behind
    unsigned char *mirror, *expected;
    unsigned char *history; // if elements have one
    uint64_t *flags;
    uint32_t stop, stopped, status;
};

static struct scene {
    uint32_t ranks, blocks;
    cgx_coding coding;
    bool in_place;
    size_t misalignment, elements, size; // of an element
    cgx_piece pieces[CGX_FUSED_RANKS][MOST_PIECES];
    uint32_t npieces[CGX_FUSED_RANKS];
    cgx_kernel_piece table[CGX_FUSED_RANKS * MOST_PIECES];
    cgx_fused_part parts[CGX_FUSED_RANKS];
    size_t message[CGX_FUSED_RANKS + 1]; // where in a mirror each part is, and the end
    rank all[CGX_FUSED_RANKS];
    unsigned char *decoded;
    bool has_history;
    uint32_t age;
    unsigned char *history; // after the call
} scene;

// Of a buffer, with its guards.
static size_t buffer_bytes(void)
{
    return 2 * GUARD + scene.misalignment + scene.elements * scene.size;
}

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 32) * below >> 32);
}

static cgx_history history_in(unsigned char *memory)
{
    return scene.has_history ? cgx_history_in(memory, scene.elements, scene.age) : cgx_history{};
}

static size_t history_bytes(void)
{
    return scene.has_history ? cgx_history_bytes(scene.elements, scene.coding.bucket_size) : 0;
}

enum { PAST = MOST_ELEMENTS + MOST_ELEMENTS / 16 + 64 };
enum { BUFFER = 2 * GUARD + MOST_ELEMENTS * 4, MIRROR = MOST_ELEMENTS * 5 };

static unsigned char *memory(size_t bytes)
{
    void *made = aligned_alloc(256, (bytes + 255) / 256 * 256);

    if (made == nullptr)
        bail_out("no memory");
    return static_cast<unsigned char *>(memset(made, 0, bytes));
}

static void make_ranks(void)
{
    scene.decoded = memory(BUFFER);
    scene.history = memory(PAST);
    for (rank &r : scene.all) {
        r.input = memory(BUFFER);
        r.output = memory(BUFFER);
        r.mirror = memory(MIRROR);
        r.expected = memory(MIRROR);
        r.history = memory(PAST);
        r.flags = (uint64_t *)memory(CGX_FUSED_FLAGS * sizeof(uint64_t));
    }
}

static unsigned draw_bits(void)
{
    uint32_t kind = draw(16);

    if (kind == 0)
        return CGX_BITS_EXACT;
    return kind < 9 ? 1 + draw(CGX_WIDTHS) : CGX_ROTATED + 1 + draw(CGX_ROTATED_WIDTHS);
}

// The pieces of OWNER's part, one after the other in the buffer and in the message.
static void draw_part(uint32_t owner)
{
    const uint32_t unit = scene.coding.bucket_size < CGX_ROTATED_BUCKET ? CGX_ROTATED_BUCKET
                                                                        : scene.coding.bucket_size;
    size_t offset = 0;

    scene.npieces[owner] = owner > 0 && draw(8) == 0 ? 0 : 1 + draw(MOST_PIECES);
    for (uint32_t i = 0; i < scene.npieces[owner]; i++) {
        size_t count = (1 + draw((draw(4) == 0 ? 9000 : 3000) / unit + 1)) * unit;
        unsigned bits = draw_bits();

        if (owner + 1 == scene.ranks && i + 1 == scene.npieces[owner])
            count -= draw(unit); // the buffer's end
        scene.pieces[owner][i] = {scene.elements, count, bits, offset, 0, 0};
        offset += cgx_piece_layout(count, bits, scene.coding.bucket_size, scene.coding.dtype).bytes;
        scene.elements += count;
    }
    scene.message[owner + 1] = scene.message[owner] + offset + 16 * draw(3);
}

// The kernel's tables of OWNER's part, from ENTRY on. Returns the next entry.
static uint32_t list_part(uint32_t owner, uint32_t entry)
{
    for (int rotated = 0; rotated < 2; rotated++) {
        cgx_fused_table *table = &scene.parts[owner].tables[rotated];

        *table = {entry, 0, 0};
        for (uint32_t i = 0; i < scene.npieces[owner]; i++) {
            const cgx_piece &piece = scene.pieces[owner][i];

            if ((cgx_encoding_family(piece.bits) == CGX_FAMILY_ROTATED) != rotated)
                continue;
            scene.table[entry++] = {piece.first,  piece.count, piece.offset, piece.raw,
                                    piece.energy, piece.bits,  table->tiles};
            table->count++;
            table->tiles += (uint32_t)cgx_kernel_tiles(&piece);
        }
    }
    return entry;
}

static void draw_element(unsigned char *to, uint32_t size_of_kind)
{
    float x = (float)((int32_t)draw(1u << 24) - (1 << 23)) / (1 << 23);

    if (draw(400) == 0)
        x *= size_of_kind;
    if (scene.coding.dtype == CGX_FLOAT32) {
        memcpy(to, &x, sizeof x);
    } else {
        uint16_t half = scene.coding.dtype == CGX_FLOAT16 ? cgx_to_float16(x) : cgx_to_bfloat16(x);

        memcpy(to, &half, sizeof half);
    }
}

static void fill(void)
{
    for (uint32_t r = 0; r < scene.ranks; r++) {
        unsigned char *input = scene.all[r].input + GUARD + scene.misalignment;

        if (scene.in_place)
            memset(scene.all[r].input, 0x5A, buffer_bytes());
        for (size_t i = 0; i < scene.elements; i++)
            draw_element(input + i * scene.size, draw(50) == 0 ? 60000 : 20);
        memset(scene.all[r].mirror, 0xA5, scene.message[scene.ranks] + GUARD);
        memset(scene.all[r].expected, 0xA5, scene.message[scene.ranks] + GUARD);
        memset(scene.all[r].output, 0x5A, buffer_bytes());
        scene.all[r].stop = scene.all[r].stopped = scene.all[r].status = 0;
    }
}

// The same on all ranks; some blocks have none yet.
static void fill_history(void)
{
    const cgx_history history = history_in(scene.history);
    const size_t block = cgx_history_block(scene.coding.bucket_size);

    memset(scene.history, 0, history_bytes());
    for (size_t i = 0; scene.has_history && i < scene.elements; i++) {
        float *fit = &history.fits[i / block];

        if (i % block == 0)
            *fit = draw(4) == 0 ? 0 : (float)(1 + draw(1000)) / 1000;
        history.scales[i] = *fit > 0 ? (uint8_t)draw(128) : 0;
    }
    for (rank &r : scene.all)
        memcpy(r.history, scene.history, history_bytes());
}

static void run_on_host(const cgx_work &work)
{
    if (work.npieces > 0 && cgx_codec_run(cgx_codec_host(), &work) != CGX_OK)
        bail_out("the host codec fails");
}

static cgx_work host_work(cgx_operation operation, uint32_t part)
{
    cgx_work work = {};

    work.operation = operation;
    work.coding = &scene.coding;
    work.pieces = scene.pieces[part];
    work.npieces = scene.npieces[part];
    work.history = history_in(scene.history);
    return work;
}

static void expect(void)
{
    memset(scene.decoded, 0x5A, buffer_bytes());
    for (uint32_t part = 0; part < scene.ranks; part++) {
        const unsigned char *sources[CGX_FUSED_RANKS];
        cgx_work work = host_work(CGX_ENCODE, part);

        for (uint32_t r = 0; r < scene.ranks; r++) {
            unsigned char *payload = scene.all[r].expected + scene.message[part];

            sources[r] = r == part ? nullptr : payload;
            work.in = scene.all[r].input + GUARD + scene.misalignment;
            work.out = payload;
            if (r != part)
                run_on_host(work);
        }
        work = host_work(CGX_REDUCE, part);
        work.sources = sources;
        work.nsources = scene.ranks;
        work.in = scene.all[part].input + GUARD + scene.misalignment;
        work.out = scene.all[part].expected + scene.message[part];
        run_on_host(work);
        work = host_work(CGX_DECODE, part);
        work.in = scene.all[part].expected + scene.message[part];
        work.out = scene.decoded + GUARD + scene.misalignment;
        run_on_host(work);
    }
}

// MOST ranks at most.
static void draw_scene(uint32_t most)
{
    uint32_t entry = 0;

    scene.ranks = 2 + draw(most - 1);
    scene.blocks = 1 + draw(MOST_BLOCKS);
    scene.coding = {};
    scene.coding.dtype = (cgx_dtype)draw(3);
    scene.coding.bucket_size = 64u << draw(7);
    scene.coding.seed = draw(1000);
    scene.coding.call = draw(1000);
    scene.in_place = draw(2);
    scene.has_history = draw(2);
    scene.age = draw(2 * CGX_HISTORY_YOUNG);
    scene.size = cgx_dtype_size(scene.coding.dtype);
    scene.misalignment = draw(3) == 0 ? draw(16) : 0;
    scene.elements = 0;
    for (uint32_t r = 0; r < scene.ranks; r++) {
        draw_part(r);
        entry = list_part(r, entry);
    }
    fill();
    fill_history();
    expect();
}

// What rank R launches; SOURCES is memory for a table.
static void list_args(uint32_t r, uint64_t epoch, int64_t *sources, cgx_fused_args *args)
{
    rank &mine = scene.all[r];

    *args = {};
    args->work.pieces = scene.table;
    args->work.sources = sources;
    args->work.scales = history_in(mine.history).scales;
    args->work.fits = history_in(mine.history).fits;
    args->work.age = scene.age;
    args->work.buffer = mine.input + GUARD + scene.misalignment;
    args->work.status = &mine.status;
    args->work.seed = scene.coding.seed;
    args->work.call = scene.coding.call;
    args->work.nsources = scene.ranks;
    args->work.bucket_size = scene.coding.bucket_size;
    args->work.key = cgx_call_key(scene.coding.seed, scene.coding.call);
    args->output = (scene.in_place ? mine.input : mine.output) + GUARD + scene.misalignment;
    args->self = r;
    args->ranks = scene.ranks;
    args->epoch = epoch;
    args->stop = &mine.stop;
    args->stopped = &mine.stopped;
    for (uint32_t p = 0; p < scene.ranks; p++) {
        sources[p] = p == r ? 0 : (int64_t)(scene.all[p].mirror + scene.message[r]);
        args->parts[p] = scene.parts[p];
        args->encoded[p] = mine.mirror + scene.message[p];
        args->sums[p] = scene.all[p].mirror + scene.message[p];
        args->flags[p] = scene.all[p].flags;
    }
}

#endif
