/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which sums are taken for gradients, by samples of what programs sum. */
#include "policy/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

enum { VALUES = CGX_LOOK_PLACES * CGX_LOOK_SUM_RUN, GROUP = VALUES / 32 };

/* A sum is drawn as SIZE * (COMMON * what all sums share + OWN * what is its own + OFFSET). STILL:
 * the first so many of 32 groups are equal in all sums of one PHASE. */
struct kind {
    double size, common, own, offset;
    unsigned still, phase;
};

static void draw(const struct kind *kind, unsigned number, struct cgx_sample *sample)
{
    uint64_t shared = 1000 + kind->phase, own = 7 + number;

    sample->run = CGX_LOOK_SUM_RUN;
    for (size_t i = 0; i < VALUES; i++) {
        double alike = data_gaussian(&shared), alone = data_gaussian(&own);
        bool is_still = i / GROUP < kind->still;

        sample->values[i] =
            (float)(kind->size * ((is_still ? 1 : kind->common) * alike +
                                  (is_still ? 0 : kind->own) * alone + kind->offset));
    }
}

static const struct kind gradient = {.size = 1, .own = 1};

static struct cgx_window new_window(void)
{
    return (struct cgx_window){.kept = cgx_kept_create(VALUES)};
}

static enum cgx_look look(struct cgx_window *window, const struct kind *kind, unsigned number)
{
    struct cgx_sample sample;

    draw(kind, number, &sample);
    return cgx_window_look(window, &sample, &(struct cgx_sum_traits){.placed = true});
}

/* What all ranks say that have the votes of WINDOWS, COUNT of them. */
static enum cgx_look joint(const struct cgx_window *windows, size_t count)
{
    uint32_t words[CGX_LOOK_WORDS], least[CGX_LOOK_WORDS];

    memset(least, 0xFF, sizeof least);
    for (size_t i = 0; i < count; i++) {
        cgx_window_vote(&windows[i], words);
        for (size_t k = 0; k < CGX_LOOK_WORDS; k++)
            least[k] = words[k] < least[k] ? words[k] : least[k];
    }
    return cgx_window_judge(&windows[0], least);
}

/* The verdict on a window of sums of KINDS, COUNT of them in turn; of three looks if TOLD. */
static enum cgx_look verdict(const struct kind *kinds, unsigned count, bool told)
{
    struct cgx_window window = new_window();
    enum cgx_look found;

    window.told = told;
    for (unsigned i = 0; !cgx_window_ends(&window); i++)
        look(&window, &kinds[i % count], i);
    found = joint(&window, 1);
    cgx_window_clear(&window);
    return found;
}

static void expect(enum cgx_look expected, const char *what, const struct kind *kinds,
                   unsigned count)
{
    enum cgx_look found = verdict(kinds, count, false);

    ok(found == expected, "%s: %s", what, cgx_looks[found].name);
}

static void test_verdicts(void)
{
    const struct kind jumps[] = {{.size = 1, .own = 1}, {.size = 1.2, .own = 1}};
    const struct kind slow = {.size = 1, .common = 1, .own = 0.25};
    const struct kind forces[] = {{.size = 1, .common = 1, .own = 0.2, .phase = 0},
                                  {.size = 2, .common = 1, .own = 0.2, .phase = 1},
                                  {.size = 3, .common = 1, .own = 0.2, .phase = 2}};
    const struct kind half[] = {{.size = 1, .own = 1, .still = 20},
                                {.size = 1, .own = 1.3, .still = 20}};
    const struct kind most[] = {{.size = 1, .own = 0.3, .common = .8, .still = 26},
                                {.size = 1.2, .own = 0.3, .common = .8, .still = 26}};
    const struct kind density = {.size = 1, .common = 1, .own = 0.7};
    const struct kind among[] = {jumps[0], jumps[1], jumps[0],
                                 jumps[1], jumps[1], {.size = 1000, .common = 1}};
    struct kind twice[CGX_LOOK_WINDOW], near[CGX_LOOK_WINDOW], far[CGX_LOOK_WINDOW];

    for (unsigned i = 0; i < CGX_LOOK_WINDOW; i++) {
        twice[i] = (struct kind){.size = i / 2 % 2 ? 1.2 : 1, .common = 1, .phase = i / 2};
        near[i] = (struct kind){.size = i < 9 ? 1 : 1.1, .common = 1, .own = 0.7};
        far[i] = (struct kind){.size = i < 9 ? 1 : 1.1, .common = 0.45, .own = 0.9};
    }
    expect(CGX_LOOK_GRADIENT, "each of which comes twice", twice, CGX_LOOK_WINDOW);
    expect(CGX_LOOK_GRADIENT, "sums that change wholly", jumps, 2);
    expect(CGX_LOOK_GRADIENT, "of one size too", &gradient, 1);
    expect(CGX_LOOK_STILL, "sums that hardly change", &slow, 1);
    expect(CGX_LOOK_STILL, "three in turn", forces, 3);
    expect(CGX_LOOK_GRADIENT, "half of which hardly changes", half, 2);
    expect(CGX_LOOK_STILL, "three quarters of which", most, 2);
    expect(CGX_LOOK_STEADY, "of one size that change, but not wholly", &density, 1);
    expect(CGX_LOOK_STEADY, "nine of which are near each other", near, CGX_LOOK_WINDOW);
    expect(CGX_LOOK_GRADIENT, "nine of which are not so near", far, CGX_LOOK_WINDOW);
    expect(CGX_LOOK_GRADIENT, "one in six is another thing", among, 6);
}

/* Sums whose sizes grow by FACTOR from one to the next. */
static enum cgx_look growing(double factor)
{
    struct kind kinds[CGX_LOOK_WINDOW];

    for (unsigned i = 0; i < CGX_LOOK_WINDOW; i++)
        kinds[i] = (struct kind){.size = pow(factor, i / 2.0), .own = 1};
    return verdict(kinds, CGX_LOOK_WINDOW, false);
}

static void test_sizes(void)
{
    ok(growing(2) == CGX_LOOK_GRADIENT, "sizes may fall by 2^10 in a window");
    ok(growing(0.4) == CGX_LOOK_WILD, "sizes that fall by 2.5 in each sum are wild");
    expect(CGX_LOOK_GRADIENT, "two kinds of sums of very different size",
           (const struct kind[]){gradient, gradient, gradient, {.size = 1e-9, .own = 1}, gradient},
           5);
}

static void test_told(void)
{
    const struct kind slow = {.size = 1, .common = 1, .own = 0.25};

    ok(verdict(&gradient, 1, true) == CGX_LOOK_GRADIENT &&
           verdict(&slow, 1, true) == CGX_LOOK_STILL,
       "where the step is told, three sums show gradients and what hardly changes");
}

/* ---- what is not kept ---- */

static void test_nothing(double value, const char *what)
{
    struct cgx_window window = new_window();
    struct cgx_sample sample = {.run = CGX_LOOK_SUM_RUN};
    const struct cgx_sum_traits traits = {.placed = true};
    bool nothing = true;

    for (size_t i = 0; i < VALUES; i++)
        sample.values[i] = (float)value;
    for (int i = 0; i < CGX_LOOK_WINDOW; i++)
        nothing = nothing && cgx_window_look(&window, &sample, &traits) == CGX_LOOK_UNKNOWN;
    ok(nothing && cgx_window_ends(&window) && window.kept->sizes.count == 0 &&
           joint(&window, 1) == CGX_LOOK_UNKNOWN,
       "%s fill a window and show nothing", what);
    cgx_window_clear(&window);
}

static void test_no_memory(void)
{
    struct cgx_window windows[2] = {{.kept = NULL}, new_window()};

    for (unsigned i = 0; i < 2 * CGX_LOOK_WINDOW; i++)
        look(&windows[i % 2], &gradient, i / 2);
    ok(joint(windows, 2) == CGX_LOOK_UNKNOWN, "without memory on one rank nothing is known");
    cgx_window_clear(&windows[1]);
}

static void test_magnitudes(void)
{
    const double sizes[] = {1e-38, 1e-30, 1, 1e30};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct kind slow = {.size = sizes[i], .common = 1, .own = 0.2};
        const struct kind other = {.size = sizes[i], .own = 1};

        ok(verdict(&slow, 1, false) == CGX_LOOK_STILL &&
               verdict(&other, 1, false) == CGX_LOOK_GRADIENT,
           "elements of %g are compared as others are", sizes[i]);
    }
}

/* ---- odd sums ---- */

static void test_odd(void)
{
    struct cgx_window window = new_window();
    const struct kind loud = {.size = 10, .common = 1};
    struct cgx_sample sample;
    enum cgx_look found[4];

    for (unsigned i = 0; i < 4; i++)
        look(&window, &gradient, i);
    found[0] = look(&window, &loud, 5);
    found[1] = look(&window, &gradient, 6);
    ok(found[0] == CGX_LOOK_ODD && found[1] == CGX_LOOK_GRADIENT && window.kept->sizes.count == 5,
       "a sum of 100 times the size is odd, and not kept");
    draw(&loud, 7, &sample);
    found[0] = cgx_window_look(&window, &sample, &(struct cgx_sum_traits){.placed = false});
    ok(found[0] == CGX_LOOK_GRADIENT, "without a position it is none");
    cgx_window_clear(&window);
    window = new_window();
    for (unsigned i = 0; i < 4; i++)
        look(&window, &gradient, i);
    for (unsigned i = 0; i < 4; i++)
        found[i] = look(&window, &loud, 4 + i);
    ok(found[1] == CGX_LOOK_ODD && found[2] == CGX_LOOK_UNKNOWN && window.kept->sizes.count == 2,
       "the third in a row begins anew");
    cgx_window_clear(&window);
}

/* ---- what is found apart from the sample, and by several ranks ---- */

/* Inputs are ALIKE, or else alone, in so many looks of two ranks. */
static enum cgx_look with_traits(unsigned symmetric, bool alike, unsigned here, unsigned there)
{
    struct cgx_window windows[2] = {new_window(), new_window()};
    const unsigned looks[2] = {here, there};
    struct cgx_sample sample;
    enum cgx_look found;

    for (unsigned i = 0; i < CGX_LOOK_WINDOW; i++) {
        draw(&gradient, i, &sample);
        for (int r = 0; r < 2; r++)
            cgx_window_look(&windows[r], &sample,
                            &(struct cgx_sum_traits){.placed = true,
                                                     .shows = r == 0 && i < symmetric
                                                                  ? CGX_LOOK_SYMMETRIC
                                                                  : CGX_LOOK_UNKNOWN,
                                                     .alike = alike && i < looks[r],
                                                     .alone = !alike && i < looks[r]});
    }
    found = joint(windows, 2);
    cgx_window_clear(&windows[0]);
    cgx_window_clear(&windows[1]);
    return found;
}

static void test_traits(void)
{
    ok(with_traits(2, true, 0, 0) == CGX_LOOK_GRADIENT,
       "two symmetric sums in a window are too few");
    ok(with_traits(3, true, 0, 0) == CGX_LOOK_SYMMETRIC, "three are enough, on one rank");
    ok(with_traits(0, true, 11, 2) == CGX_LOOK_GRADIENT,
       "inputs that one rank finds alike are not");
    ok(with_traits(0, true, 11, 3) == CGX_LOOK_ALIKE, "they are if all find it, three times");
    ok(with_traits(11, true, 11, 11) == CGX_LOOK_ALIKE, "whatever else is found");
    ok(with_traits(0, false, 11, 2) == CGX_LOOK_GRADIENT &&
           with_traits(0, false, 11, 3) == CGX_LOOK_EMPTY,
       "so are inputs of which each is alone");
}

/* ---- inputs ---- */

static enum cgx_look look_at_input(struct cgx_inputs *inputs, const struct kind *kind,
                                   unsigned number, const struct cgx_range *range)
{
    const struct cgx_input_traits traits = {.range = range};
    struct cgx_sample sample;
    enum cgx_look found;

    draw(kind, number, &sample);
    sample.run = CGX_LOOK_INPUT_RUN;
    found = cgx_inputs_look(inputs, &sample, cgx_sample_size(&sample), &traits);
    if (!cgx_look_is_state(found))
        cgx_sizes_add(&inputs->sizes, cgx_sample_size(&sample));
    return found;
}

/* What the last of COUNT inputs in turn of TWO kinds shows. */
static enum cgx_look last_of(const struct kind two[2], unsigned count)
{
    struct cgx_inputs inputs = {.kept =
                                    cgx_kept_create((size_t)CGX_LOOK_PLACES * CGX_LOOK_INPUT_RUN)};
    enum cgx_look found = CGX_LOOK_UNKNOWN;

    for (unsigned i = 0; i < count; i++)
        found = look_at_input(&inputs, &two[i % 2], i, NULL);
    free(inputs.kept);
    return found;
}

/* A gradient of which the first so many of 32 GROUPS are zeros. */
static enum cgx_look partly_empty(size_t groups, bool unseen)
{
    const struct cgx_input_traits traits = {.unseen = unseen};
    struct cgx_inputs inputs = {.kept = NULL};
    struct cgx_sample sample;

    draw(&gradient, 0, &sample);
    sample.run = CGX_LOOK_INPUT_RUN;
    memset(sample.values, 0,
           groups * CGX_LOOK_PLACES * CGX_LOOK_INPUT_RUN / 32 * sizeof sample.values[0]);
    return cgx_inputs_look(&inputs, &sample, cgx_sample_size(&sample), &traits);
}

static enum cgx_look look_at_counts(void)
{
    struct cgx_inputs inputs = {.kept = NULL};
    struct cgx_sample sample = {.run = CGX_LOOK_INPUT_RUN};

    for (size_t i = 0; i < CGX_LOOK_PLACES * CGX_LOOK_INPUT_RUN; i++)
        sample.values[i] = (float)(i % 5);
    return cgx_inputs_look(&inputs, &sample, 6, &(struct cgx_input_traits){.range = NULL});
}

static void test_inputs(void)
{
    const struct kind jumps[2] = {{.size = 1, .own = 1}, {.size = 1.3, .own = 1}};
    const struct kind slow[2] = {{.size = 1, .common = 1, .own = 0.08},
                                 {.size = 1.1, .common = 1, .own = 0.08}};
    const struct kind slower[2] = {{.size = 1, .common = 1, .own = 0.3},
                                   {.size = 1.3, .common = 1, .own = 0.3}};
    const struct kind density[2] = {{.size = 1, .common = 1, .own = 0.7},
                                    {.size = 1.02, .common = 1, .own = 0.7}};
    const struct kind loud = {.size = 10, .own = 1};
    const struct cgx_range range = {0.5, 10}, none = {0, 0};
    struct cgx_inputs inputs = {.kept = NULL};

    ok(last_of(jumps, 20) == CGX_LOOK_GRADIENT, "inputs that change are gradients");
    ok(last_of(slow, 3) == CGX_LOOK_STILL, "inputs that hardly change are not");
    ok(last_of(slower, 20) == CGX_LOOK_GRADIENT, "inputs may change less than sums");
    ok(last_of(density, 8) == CGX_LOOK_GRADIENT && last_of(density, 9) == CGX_LOOK_STEADY,
       "inputs of one size are steady from the ninth on");
    ok(partly_empty(15, true) == CGX_LOOK_GRADIENT && partly_empty(16, true) == CGX_LOOK_EMPTY &&
           partly_empty(16, false) == CGX_LOOK_GRADIENT,
       "half of an input that has not been looked at before may not be empty");
    ok(look_at_counts() == CGX_LOOK_WHOLE, "counts are not");
    ok(look_at_input(&inputs, &loud, 0, NULL) == CGX_LOOK_GRADIENT,
       "the first input has no size to be compared with");
    ok(look_at_input(&inputs, &gradient, 1, NULL) == CGX_LOOK_ODD && inputs.sizes.count == 1,
       "the next one is odd, also without memory");
    ok(look_at_input(&inputs, &gradient, 2, &range) == CGX_LOOK_GRADIENT &&
           look_at_input(&inputs, &gradient, 3, &none) == CGX_LOOK_GRADIENT,
       "without a position those of all calls count");
}

int main(void)
{
    test_verdicts();
    test_sizes();
    test_told();
    test_nothing(0, "zeros");
    test_nothing(NAN, "NaN");
    test_nothing(INFINITY, "infinities");
    test_no_memory();
    test_magnitudes();
    test_odd();
    test_traits();
    test_inputs();
    return done_testing();
}
