/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "bound.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

enum { UNIT = 4096 }; /* whole buckets of any size */

/* A part of the buffer: the inputs of all ranks and what is known of their sum. */
struct unit {
    const struct oracle *oracle;
    size_t count;
    double *inputs; /* of rank p: [p * UNIT, ...) */
    double *sum;
    double *magnitude; /* of all inputs to an element, together */
    double *result;
    double step; /* the largest of uniform quantisation */
};

bool oracle_is_flat(const struct oracle *oracle)
{
    return oracle->nodes == 1 || (oracle->nodes == oracle->ranks && !oracle->cross_grid);
}

/* What an element may be off that was rounded and not quantised. */
static double rounding(const struct unit *unit, size_t i, double error)
{
    const struct oracle *oracle = unit->oracle;
    enum element type = oracle->scheme.type;
    double magnitude = unit->magnitude[i] + error, allowed = oracle->ranks * 0x1p-23 * magnitude;

    /* Partial sums that are sent as they are, or that an op has formed, are of the type. */
    if (type != ELEMENT_FLOAT32)
        allowed += oracle->ranks * element_half_ulp(type, magnitude);
    return allowed + element_half_ulp(type, fabs(unit->sum[i]) + allowed + error);
}

/* Whether the library may take elements FIRST to END - 1 for a bucket that is not finite, with
 * quantised sums ERROR off at most. */
static bool is_fragile(const struct unit *unit, size_t first, size_t end, double error)
{
    const struct oracle *oracle = unit->oracle;
    double limit = oracle->scheme.type == ELEMENT_FLOAT16 ? 65520 : 0x1p125;
    bool flat = oracle_is_flat(oracle);

    for (size_t i = first; i < end; i++) {
        double reached = unit->magnitude[i];

        if (flat && !oracle->own_op) {
            reached = fabs(unit->sum[i]);
            for (int p = 0; p < oracle->ranks; p++)
                reached = fmax(reached, fabs(unit->inputs[(size_t)p * UNIT + i]));
        }
        if (!(unit->magnitude[i] < INFINITY) || !(reached + 4 * error < limit * (1 - 0x1p-7)))
            return true;
    }
    return false;
}

/* Whether the exact sum is beyond the type, by so much that no rounding and no ERROR make it
 * finite. */
static bool overflows(const struct unit *unit, size_t i, double error)
{
    double sum = unit->sum[i];

    if (!isfinite(sum))
        return true;
    sum = copysign(fmax(fabs(sum) - rounding(unit, i, 0) - error, 0), sum);
    return !isfinite(element_round(unit->oracle->scheme.type, sum));
}

/* Elements FIRST to END - 1 of the unit, whose sum was quantised with ERROR of each at most. */
static void judge_bucket(const struct unit *unit, size_t first, size_t end, double error,
                         struct oracle_verdict *verdict)
{
    bool fragile = is_fragile(unit, first, end, error);

    for (size_t i = first; i < end && verdict->right; i++) {
        double result = unit->result[i], exact = unit->sum[i];
        double allowed = rounding(unit, i, error) + error;

        if (isfinite(result) ? overflows(unit, i, error) || fabs(result - exact) > allowed
                             : !fragile)
            *verdict = (struct oracle_verdict){false, true, i, result, exact, allowed};
    }
}

/* Of a bucket's quantisations. A buffer of 16 bits with elements that are sent as they are may be
 * summed in one stage, for these would be rounded in each. */
static double error_of(const struct oracle *oracle, const struct scheme *scheme,
                       const double *inputs, size_t count)
{
    double error = quantisations_error(oracle, scheme, inputs, UNIT, count);
    struct oracle flat = *oracle;

    if (scheme->type == ELEMENT_FLOAT32 || !oracle->parts)
        return error;
    flat.nodes = flat.ranks;
    flat.cross_grid = false;
    for (int p = 0; p < flat.ranks; p++)
        flat.node[p] = p;
    return fmax(error, quantisations_error(&flat, scheme, inputs, UNIT, count));
}

/* Elements FIRST to END - 1, a bucket of uniform quantisation whose sum was quantised with ERROR.
 */
static void judge_blocks(const struct unit *unit, size_t first, size_t end, double error,
                         struct oracle_verdict *verdict)
{
    for (; first < end && verdict->right; first += 64) {
        size_t next = first + 64 < end ? first + 64 : end;
        double magnitude = 0;

        for (size_t i = first; i < next; i++)
            magnitude = fmax(magnitude, isnan(unit->magnitude[i]) ? INFINITY : unit->magnitude[i]);
        judge_bucket(unit, first, next, magnitude > 0 ? error : 0, verdict);
    }
}

/* Elements BEGIN to LAST - 1 of the unit, in buckets of one family. */
static struct oracle_verdict judge_family(const struct unit *unit, unsigned family, size_t begin,
                                          size_t last)
{
    const struct oracle *oracle = unit->oracle;
    struct scheme scheme = oracle->scheme;
    struct oracle_verdict verdict = {.right = true};
    size_t bucket = family == ORACLE_MAXMIN ? scheme.bucket : 1024;

    scheme.uniform = family == ORACLE_UNIFORM ? unit->step : 0;
    for (size_t first = begin; first < last && verdict.right; first += bucket) {
        size_t end = first + bucket < last ? first + bucket : last;
        double error = 0;

        if (scheme.bits < 32 && oracle->ranks > 1)
            error = error_of(oracle, &scheme, unit->inputs + first, end - first);
        if (family == ORACLE_UNIFORM)
            judge_blocks(unit, first, end, error, &verdict);
        else
            judge_bucket(unit, first, end, error, &verdict);
    }
    return verdict;
}

/* Elements FIRST to END - 1, which are all of one family. */
static struct oracle_verdict judge_span(const struct unit *unit, size_t first, size_t end)
{
    const struct oracle *oracle = unit->oracle;
    struct oracle_verdict verdict = {.right = false};

    if (oracle->maxmin)
        verdict = judge_family(unit, ORACLE_MAXMIN, first, end);
    if (oracle->uniform > 0 && !verdict.right)
        verdict = judge_family(unit, ORACLE_UNIFORM, first, end);
    return verdict;
}

/* Sums of a part of the ranks may be beyond the type where the sum of all is not. */
static bool is_exact(const struct unit *unit, size_t i)
{
    double off = fabs(unit->result[i] - unit->sum[i]);

    if (!isfinite(unit->result[i]))
        return !isfinite(
            element_round(unit->oracle->scheme.type, unit->magnitude[i] * (1 + 0x1p-20)));
    return !overflows(unit, i, 0) && off <= rounding(unit, i, 0);
}

static struct oracle_verdict judge_unit(const struct unit *unit)
{
    const struct oracle *oracle = unit->oracle;
    struct oracle_verdict verdict = {.right = true};
    /* Layers of several families may begin wherever whole buckets of all do. */
    size_t bucket = oracle->scheme.bucket > 1024 ? oracle->scheme.bucket : 1024;
    size_t span = oracle->uniform > 0 ? bucket : UNIT;
    bool exact = true;

    for (size_t i = 0; i < unit->count && exact; i++)
        exact = is_exact(unit, i);
    if (exact)
        return verdict;
    for (size_t first = 0; first < unit->count && verdict.right; first += span)
        verdict = judge_span(unit, first, first + span < unit->count ? first + span : unit->count);
    verdict.compressed = true;
    return verdict;
}

static void fill(struct unit *unit, const struct placed *sum, size_t first, const void *result)
{
    for (size_t i = 0; i < unit->count; i++) {
        unit->sum[i] = unit->magnitude[i] = 0;
        for (int p = 0; p < unit->oracle->ranks; p++) {
            double input = data_value(sum->kind, sum->type, sum->seed, p, first + i);

            unit->inputs[(size_t)p * UNIT + i] = input;
            unit->sum[i] += input;
            unit->magnitude[i] += fabs(input);
        }
        unit->result[i] = element_load(sum->type, result, first + i);
    }
}

struct oracle_verdict oracle_judge(const struct oracle *oracle, const struct placed *sum, int rank,
                                   double step, const void *result)
{
    struct oracle_verdict verdict = {.right = true};
    double *memory = check_memory((size_t)(oracle->ranks + 3) * UNIT * sizeof(double));
    struct unit unit = {.oracle = oracle,
                        .inputs = memory + (size_t)3 * UNIT,
                        .sum = memory,
                        .magnitude = memory + UNIT,
                        .result = memory + (size_t)2 * UNIT,
                        .step = step};

    for (size_t k = (size_t)rank; k * UNIT < sum->count && verdict.right;
         k += (size_t)oracle->ranks) {
        struct oracle_verdict here;

        unit.count = sum->count - k * UNIT < UNIT ? sum->count - k * UNIT : UNIT;
        fill(&unit, sum, k * UNIT, result);
        here = judge_unit(&unit);
        here.compressed |= verdict.compressed;
        here.element += k * UNIT;
        verdict = here;
    }
    free(memory);
    return verdict;
}

/* ---- settings ---- */

unsigned oracle_families(const char *codec)
{
    return codec && strcmp(codec, "maxmin") == 0 ? ORACLE_MAXMIN : ORACLE_UNIFORM;
}

void oracle_set(struct oracle *oracle, unsigned bits, unsigned families)
{
    static const double errors[] = {0.5708,  0.1331, 0.0358, 0.00963,
                                    0.00252, 6.5e-4, 1.6e-4, 3.5e-5};

    oracle->scheme.bits = bits;
    oracle->uniform = families & ORACLE_UNIFORM ? errors[bits - 1] : 0;
    oracle->maxmin = families & ORACLE_MAXMIN;
}

/* Nodes of COMM, by the ranks that its members have in the world: PER_NODE there; 0: one node. */
static void find_nodes(struct oracle *oracle, int per_node, MPI_Comm comm)
{
    int ranks[ORACLE_RANKS], world[ORACLE_RANKS];
    MPI_Group all, group;

    oracle->nodes = per_node == 0;
    if (per_node == 0) /* there may be no world */
        return;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Comm_group(comm, &group);
    for (int i = 0; i < oracle->ranks; i++)
        ranks[i] = i;
    PMPI_Group_translate_ranks(group, oracle->ranks, ranks, all, world);
    PMPI_Group_free(&group);
    PMPI_Group_free(&all);
    for (int i = 0; i < oracle->ranks; i++) {
        int like = 0;

        while (like < i && world[like] / per_node != world[i] / per_node)
            like++;
        oracle->node[i] = like < i ? oracle->node[like] : oracle->nodes++;
    }
}

struct oracle oracle_from_environment(enum element type, MPI_Comm comm)
{
    struct oracle oracle = {.scheme = scheme_from_environment(type),
                            .history = !check_set("CGX_HISTORY", "0"),
                            .cross_grid = check_set("CGX_CROSS_REDUCTION_TYPE", "GRID")};

    PMPI_Comm_size(comm, &oracle.ranks);
    find_nodes(&oracle, check_set("CGX_TOPOLOGY", "flat") ? 1 : oracle.scheme.per_node, comm);
    oracle_set(&oracle, oracle.scheme.bits, oracle_families(getenv("CGX_CODEC")));
    return oracle;
}

/* ---- max-min quantised sums ---- */

struct scheme scheme_from_environment(enum element type)
{
    const char *bits = getenv("CGX_COMPRESSION_QUANTIZATION_BITS");
    const char *nodes = getenv("CGX_TOPOLOGY");
    const char *per_node = nodes ? strchr(nodes, 'x') : NULL;
    struct scheme scheme = {
        .type = type,
        .bits = bits ? (unsigned)atoi(bits) : 4,
        .bucket = CHECK_BUCKET,
        .per_node = per_node ? atoi(per_node + 1) : 0,
    };

    return scheme;
}

/* The smallest number of 8 significant bits that is not below VALUE, which float32 arithmetic may
 * have rounded up a little. */
static double bf16_up(double value)
{
    int exponent;

    value *= 1 + 0x1p-22;
    frexp(value, &exponent);
    return ldexp(ceil(ldexp(value, 8 - exponent)), exponent - 8);
}

double bound_step(const struct scheme *scheme, double min, double max)
{
    double codes = exp2(scheme->bits) - 1;
    double magnitude = fmax(fabs(min), fabs(max));

    if (!(max > min))
        return 0;
    return bf16_up(fmax(fmax((max - min) / codes, magnitude * 0x1.02p-15), 0x1p-126));
}

/* Of all ranks' shares. */
static struct oracle_verdict judge(const struct scheme *scheme, enum data_kind kind, uint64_t seed,
                                   size_t count, const void *result, MPI_Comm comm)
{
    const struct placed sum = {.kind = kind, .type = scheme->type, .seed = seed, .count = count};
    struct oracle oracle = oracle_from_environment(scheme->type, comm);
    struct oracle_verdict verdict;
    int rank;

    PMPI_Comm_rank(comm, &rank);
    oracle_set(&oracle, scheme->bits, ORACLE_MAXMIN);
    verdict = oracle_judge(&oracle, &sum, rank, 0, result);
    if (!verdict.right)
        check_note("element %zu is %.9g, and the sum is %.9g: more than %.3g off", verdict.element,
                   verdict.result, verdict.exact, verdict.allowed);
    verdict.right = check_everywhere(verdict.right, comm);
    verdict.compressed = !check_everywhere(!verdict.compressed, comm);
    return verdict;
}

bool bound_holds(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                 const void *result, MPI_Comm comm)
{
    return judge(scheme, kind, seed, count, result, comm).right;
}

bool bound_compressed(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                      const void *result, MPI_Comm comm)
{
    struct oracle_verdict verdict = judge(scheme, kind, seed, count, result, comm);

    return verdict.right && verdict.compressed;
}

struct judged bound_judge(const struct sum *sum, MPI_Comm comm)
{
    const struct scheme scheme = scheme_from_environment(sum->type);
    size_t bytes = sum->count * element_size(sum->type);
    void *result = check_memory(bytes);
    struct judged judged = {.right = sum_reduce(sum, comm, result)};
    struct oracle_verdict verdict = judge(&scheme, sum->kind, sum->seed, sum->count, result, comm);

    judged.right = verdict.right && judged.right;
    judged.same = check_same(result, bytes, comm);
    judged.compressed = verdict.compressed;
    free(result);
    return judged;
}
