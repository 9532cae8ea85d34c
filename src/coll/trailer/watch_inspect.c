/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What is inspected of a sum (codec/inspect.h), and by whom. Payloads that go from device to device
 * are inspected by the kernels, so the host reads neither their headers nor their codes. */
#include "codec/encoding.h"
#include "coll/scratch.h"
#include "coll/trailer/watch.h"
#include "util/float_state.h"
#include "util/hash.h"
#include "util/integers.h"

/* The payloads that are inspected. */
struct sources {
    const unsigned char *at[CGX_INSPECT_MEMBERS + CGX_INSPECT_CONTRIBUTORS + 1];
    size_t count;
};

/* ---- buckets ---- */

/* The sums of PART's samples that the call site has kept. */
struct cgx_taking cgx_watch_taking(const struct cgx_slice *slice, const struct cgx_block *part,
                                   size_t samples)
{
    const uint32_t words[] = {slice->coll->schedule->hash, (uint32_t)part->first_bucket,
                              cgx_watch_places(slice)};

    return cgx_recent_begin(slice->coll->watching.recent,
                            cgx_hash(CGX_HASH_START, words, sizeof words), samples);
}

static struct cgx_inspected_bucket bucket_of(const struct cgx_slice *slice,
                                             const struct cgx_block *part,
                                             const struct cgx_piece *piece, size_t index)
{
    return (struct cgx_inspected_bucket){.piece = (uint32_t)(piece - cgx_slice_pieces(slice, part)),
                                         .index = (uint32_t)index};
}

/* Lists the sampled buckets, and of the LAST sum the elements to be kept. */
static void list_sampled(const struct cgx_slice *slice, const struct cgx_block *part, bool last,
                         struct cgx_inspection *inspection)
{
    struct cgx_watch_samples samples = cgx_watch_samples_in(slice, part);
    struct cgx_taking taking = {0};
    const struct cgx_piece *piece;
    size_t index;

    if (last)
        taking = cgx_watch_taking(slice, part, samples.count);
    while ((piece = cgx_watch_next(&samples, &index)) != NULL) {
        struct cgx_inspected_bucket *bucket = &inspection->sampled[inspection->nsampled++];
        size_t count = cgx_bucket_elements(piece, slice->coding.bucket_size, index);

        *bucket = bucket_of(slice, part, piece, index);
        bucket->at = inspection->kept;
        if (last && cgx_recent_wants(&taking)) {
            const struct cgx_run run = cgx_recent_run(&taking, count);

            bucket->first = (uint32_t)run.first;
            bucket->run = (uint32_t)run.count;
            inspection->kept += bucket->run;
        }
    }
}

/* Lists the buckets whose contributors are counted. */
static void list_asked(const struct cgx_slice *slice, const struct cgx_block *part,
                       const struct cgx_watch_members *members, struct cgx_inspection *inspection)
{
    size_t most =
        cgx_smaller(cgx_larger(CGX_INSPECT_CONTRIBUTORS / members->count, 1), CGX_INSPECT_ASKED);
    struct cgx_watch_samples samples = cgx_watch_samples_of(slice, part, most);
    const struct cgx_piece *piece;
    size_t index;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL)
        inspection->asked[inspection->nasked++] = bucket_of(slice, part, piece, index);
}

/* ---- members ---- */

static void add_source(const struct cgx_payloads *from, const struct cgx_watch_members *members,
                       unsigned member, struct sources *sources)
{
    sources->at[sources->count++] =
        member == members->self ? NULL : cgx_watch_payload_of(from, members, member);
}

/* Lists the sampled members, without this rank's own. If there are more than CGX_INSPECT_MEMBERS,
 * it is one in so many, others in each rank and in each call: all of thousands of ranks would take
 * longer than the sum. */
static void list_members(const struct cgx_slice *slice, const struct cgx_payloads *from,
                         const struct cgx_watch_members *members, struct cgx_inspection *inspection,
                         struct sources *sources)
{
    const unsigned stride = (unsigned)cgx_divide_up(members->count, CGX_INSPECT_MEMBERS);
    uint64_t hop = (uint64_t)slice->coll->rank + slice->coll->call;
    unsigned first = (stride - (unsigned)(hop % stride)) % stride;

    for (unsigned member = first; member < members->count; member += stride) {
        if (member == members->self)
            continue;
        inspection->shares[inspection->nmembers++] =
            cgx_watch_ranks_of(slice, members, member) / members->ranks;
        add_source(from, members, member, sources);
    }
}

unsigned cgx_watch_stride(const struct cgx_watch_members *members)
{
    return (unsigned)cgx_divide_up(members->count, CGX_INSPECT_CONTRIBUTORS);
}

/* ---- what is inspected of a part ---- */

/* Sets INSPECTION and SOURCES for the present sum of PART from FROM, the LAST or not. False: there
 * is nothing to inspect. */
static bool list(const struct cgx_slice *slice, const struct cgx_block *part,
                 const struct cgx_payloads *from, bool last, struct cgx_inspection *inspection,
                 struct sources *sources)
{
    const bool samples = cgx_watch_is_sampled(slice, part, last);
    struct cgx_watch_members members;

    if (!samples && !last)
        return false;
    members = cgx_watch_members_of(slice);
    *inspection = (struct cgx_inspection){
        .is_last = last,
        .sees_input = cgx_slice_stays(slice, part) ||
                      (slice->coll->watching.sees_input && slice->coll->vote == CGX_ABLE),
        .dtype = slice->coding.dtype};
    sources->count = 0;
    if (samples || last)
        list_sampled(slice, part, last, inspection);
    if (samples)
        list_members(slice, from, &members, inspection, sources);
    list_asked(slice, part, &members, inspection);
    for (unsigned member = 0; samples && member < members.count;
         member += cgx_watch_stride(&members))
        add_source(from, &members, member, sources);
    sources->at[sources->count++] = slice->slot->staging + from->origin;
    return true;
}

/* Inspects the sum by BACKEND. */
static enum cgx_status inspect(struct cgx_slice *slice, const struct cgx_block *part,
                               const struct cgx_payloads *from, bool last,
                               struct cgx_backend *backend)
{
    struct cgx_inspection *inspection = slice->coll->scratch->inspection;
    struct sources sources;

    slice->inspected = NULL;
    if (!list(slice, part, from, last, inspection, &sources))
        return CGX_OK;
    slice->inspected = part;
    return backend->ops->run(
        backend, slice->slot_number,
        &(struct cgx_work){CGX_INSPECT, &slice->coding, cgx_slice_list(slice, part, from->origin),
                           part->npieces, sources.at, sources.count, .in = slice->coll->input,
                           .out = slice->slot->staging + slice->inspections,
                           .inspection = inspection});
}

enum cgx_status cgx_watch_queue(struct cgx_slice *slice, const struct cgx_block *part,
                                const struct cgx_payloads *from, bool last)
{
    union cgx_float_state caller;
    enum cgx_status status;

    if (!(slice->coll->watching.threshold > 0) || !cgx_slice_stays(slice, part))
        return CGX_OK;
    cgx_float_enter(&caller);
    status = inspect(slice, part, from, last, slice->coll->encoder);
    cgx_float_leave(&caller);
    return status;
}

bool cgx_watch_inspected(struct cgx_slice *slice, const struct cgx_block *part,
                         const struct cgx_payloads *from, bool last,
                         struct cgx_watch_results *results)
{
    void *at = slice->slot->staging + slice->inspections;

    if (!cgx_slice_stays(slice, part))
        inspect(slice, part, from, last, cgx_backend_host());
    if (!slice->inspected || slice->inspected != part)
        return false;
    results->inspection = slice->coll->scratch->inspection;
    results->pieces = cgx_slice_pieces(slice, slice->inspected);
    results->fixed = at;
    results->sums = cgx_inspected_sums(at);
    results->members = cgx_inspected_members(results->inspection, at);
    results->kept = cgx_inspected_kept(results->inspection, at);
    return true;
}

size_t cgx_watch_room(const struct cgx_schedule *schedule)
{
    size_t chunks = cgx_schedule_chunks(schedule);
    size_t sampled = cgx_larger(CGX_INSPECT_SAMPLED / chunks, CGX_WATCH_LEAST);

    return cgx_inspected_bytes(sampled, cgx_smaller(schedule->ranks - 1, CGX_INSPECT_MEMBERS),
                               CGX_RECENT_COMPRESSED);
}
