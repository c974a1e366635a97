/* Segment draws: random segments, their tables and elements, as redtune/list.h describes them, for
 * tests that run them by its functions. Each is drawn from a seed of its own, so that one can be
 * drawn again without those before it.
 *
 * Elements that belong to no segment are poison: a result that depends on one is wrong. Elements of
 * segments are of one of three styles: small whole numbers, whose sums are exact in any order; real
 * numbers of all magnitudes that an op can take; and these with infinities, NaN, zeros and the ends
 * of the dtype's range among them. A file that includes this has it to itself. */
#pragma once

#include <math.h>
#include "base/random.h"
#include "model/scalar.h"

enum { DRAWS_ELEMENTS = 1 << 17, DRAWS_SEGMENTS = 20000, DRAWS_WORK = 1 << 18 };

#define DRAWS_KINDS(X)                                                                             \
    X(EQUAL)      /* one after the other, of one length */                                         \
    X(ZIPF)       /* lengths that differ widely, half of them 0 */                                 \
    X(GIANT)      /* one of most elements among tiny ones */                                       \
    X(EDGES)      /* lengths at and beside powers of two */                                        \
    X(TINY)       /* of 0 to 9 elements */                                                         \
    X(EMPTY)      /* all of them are */                                                            \
    X(FALLING)    /* one after the other, but a few offsets are anything */                        \
    X(ANYTHING)   /* every offset is: segments overlap, and half end before they begin */          \
    X(DESCENDING) /* each begins before the one before it */                                       \
    X(SHUFFLED)   /* disjoint, with gaps, in any order; by two tables only, as are the next */     \
    X(NESTED)     /* each around the next */                                                       \
    X(WILD)       /* empty ones have the greatest and least offsets */

typedef enum draws_kind {
#define ENTRY(name) DRAWS_##name,
    DRAWS_KINDS(ENTRY)
#undef ENTRY
        DRAWS_KIND_COUNT
} draws_kind;

typedef enum draws_style { DRAWS_WHOLE, DRAWS_REAL, DRAWS_SPECIAL, DRAWS_STYLES } draws_style;

static struct {
    rdt_random random;
    draws_kind kind;
    draws_style style;
    bool one;                                               /* table */
    uint64_t wide;                                          /* bytes of an offset */
    uint64_t count;                                         /* of segments */
    uint64_t elements;                                      /* of the buffer */
    uint64_t shift;                                         /* the offset of its first one */
    int64_t begin[DRAWS_SEGMENTS + 1], end[DRAWS_SEGMENTS]; /* without the shift */
    unsigned char element[DRAWS_ELEMENTS * 8];
    bool covered[DRAWS_ELEMENTS + 1]; /* by a segment */
} drawn;

static void draws_begin(uint64_t seed) {
    drawn.random.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static uint64_t draw_bits(void) { return rdt_random_next(&drawn.random); }

static uint64_t draw(uint64_t below) { return rdt_random_below(&drawn.random, below); }

static const char *draws_kind_name(void) {
    static const char *const names[] = {
#define ENTRY(name) #name,
        DRAWS_KINDS(ENTRY)
#undef ENTRY
    };
    return names[drawn.kind];
}

/* Elements of segment i. */
static uint64_t draws_length(uint64_t i) {
    const int64_t end = drawn.one ? drawn.begin[i + 1] : drawn.end[i];
    return end > drawn.begin[i] ? (uint64_t)(end - drawn.begin[i]) : 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t draw_length(void) {
    static const uint64_t edges[] = {0, 1, 8, 16, 32, 64, 128, 256, 512, 1024};
    const uint64_t mean = drawn.elements / drawn.count;
    switch ((int)drawn.kind) {
    case DRAWS_EQUAL: return mean;
    case DRAWS_EMPTY: return 0;
    case DRAWS_ZIPF: return draw(2) ? 0 : draw(1 + (draw(16) ? mean : 40 * mean + 100));
    case DRAWS_EDGES: {
        const uint64_t edge = edges[draw(sizeof edges / sizeof *edges)] + draw(3);
        return edge ? edge - 1 : 0;
    }
    case DRAWS_GIANT:
    case DRAWS_TINY: return draw(10);
    default: return draw(2 * mean + 3);
    }
}

/* One after the other; whoever comes when no elements are left is empty. */
static void chain_segments(void) {
    const uint64_t giant = drawn.kind == DRAWS_GIANT ? draw(drawn.count) : drawn.count;
    uint64_t at = draw(3) ? 0 : draw(1 + drawn.elements / 8);
    for (uint64_t i = 0; i < drawn.count; i++) {
        const uint64_t left = drawn.elements - at, later = drawn.elements / 2;
        uint64_t length = i == giant ? drawn.elements * 7 / 8 : draw_length();
        if (giant < drawn.count && i < giant && at + length > drawn.elements - later) length = 0;
        if (length > left) length = left;
        drawn.begin[i] = (int64_t)at;
        at += length;
        drawn.end[i] = (int64_t)at;
        if (drawn.kind == DRAWS_SHUFFLED) at += draw(1 + (drawn.elements - at) / 16);
    }
    drawn.begin[drawn.count] = (int64_t)at;
}

static void swap_segments(uint64_t a, uint64_t b) {
    const int64_t begin = drawn.begin[a], end = drawn.end[a];
    drawn.begin[a] = drawn.begin[b];
    drawn.end[a] = drawn.end[b];
    drawn.begin[b] = begin;
    drawn.end[b] = end;
}

/* The offsets of empty segments lead nowhere: nothing is read there. */
static void make_wild(void) {
    const int64_t most = (drawn.wide == 4 ? (int64_t)INT32_MAX : INT64_MAX) - (int64_t)drawn.shift;
    const int64_t wild[][2] = {{most, most},
                               {most, 0},
                               {most, -(int64_t)drawn.shift},
                               {0, -(int64_t)drawn.shift},
                               {most, most / 2}};
    for (uint64_t i = 0; i < drawn.count; i++) {
        if (draws_length(i) && draw(4)) continue;
        const int64_t *to = wild[draw(sizeof wild / sizeof *wild)];
        drawn.begin[i] = to[0];
        drawn.end[i] = to[1];
    }
}

static void disturb_segments(void) {
    const uint64_t offsets = drawn.count + drawn.one;
    switch ((int)drawn.kind) {
    case DRAWS_FALLING:
        for (int k = 0; k < 3; k++) drawn.begin[draw(offsets)] = (int64_t)draw(drawn.elements + 1);
        return;
    case DRAWS_ANYTHING:
        for (uint64_t i = 0; i < offsets; i++) drawn.begin[i] = (int64_t)draw(drawn.elements + 1);
        for (uint64_t i = 0; i < drawn.count; i++) drawn.end[i] = (int64_t)draw(drawn.elements + 1);
        return;
    case DRAWS_DESCENDING:
        for (uint64_t i = 0; i < offsets / 2; i++) {
            const int64_t begin = drawn.begin[i];
            drawn.begin[i] = drawn.begin[offsets - 1 - i];
            drawn.begin[offsets - 1 - i] = begin;
        }
        if (!drawn.one)
            for (uint64_t i = 0; i < drawn.count; i++) drawn.end[i] = drawn.begin[i ? i - 1 : 0];
        return;
    case DRAWS_SHUFFLED:
        for (uint64_t i = drawn.count; i > 1; i--) swap_segments(i - 1, draw(i));
        return;
    case DRAWS_NESTED:
        for (uint64_t i = 0; i < drawn.count; i++) {
            const uint64_t inset = i * drawn.elements / 2 / drawn.count;
            drawn.begin[i] = (int64_t)inset;
            drawn.end[i] = (int64_t)(drawn.elements - inset);
        }
        return;
    case DRAWS_WILD: make_wild(); return;
    default: return;
    }
}

static uint64_t draws_work(void) {
    uint64_t work = 0;
    for (uint64_t i = 0; i < drawn.count; i++) work += draws_length(i);
    return work;
}

static void cover_elements(void) {
    memset(drawn.covered, 0, sizeof drawn.covered);
    for (uint64_t i = 0; i < drawn.count; i++)
        memset(drawn.covered + (draws_length(i) ? drawn.begin[i] : 0), true, draws_length(i));
}

/* The form of the tables, how many segments and elements there are, and what offsets begin at: up
 * to the greatest that 32 bits hold, and beyond that. Few where each element costs. */
static void draw_sizes(bool simulated) {
    static const uint64_t counts[] = {0, 1, 2, 3, 31, 32, 33, 64, 100, 1000, 4096, 4097, 20000};
    const uint64_t most = simulated ? 2000 : draw(20) ? 20000 : DRAWS_ELEMENTS;
    drawn.one = draw(2);
    drawn.wide = draw(2) ? 4 : 8;
    drawn.count = draw(3) ? 1 + draw(300) : counts[draw(simulated ? 10 : 13)];
    drawn.elements = draw(16) ? draw(draw(2) ? most : most / 16) : draw(3);
    drawn.style = (draws_style)draw(DRAWS_STYLES);
    drawn.shift = 0;
    if (!draw(4)) drawn.shift = draw(100);
    if (!draw(4))
        drawn.shift =
            drawn.wide == 4 ? INT32_MAX - drawn.elements : (UINT64_C(1) << 32) - draw(3000);
}

/* For the form, the count of segments and the elements that are set. What would take the host too
 * long is drawn again. */
static void draw_tables(void) {
    if (!drawn.count) return;
    do {
        drawn.kind = (draws_kind)draw(drawn.one ? DRAWS_SHUFFLED : DRAWS_KIND_COUNT);
        chain_segments();
        disturb_segments();
    } while (draws_work() > DRAWS_WORK);
    cover_elements();
}

/* Writes the table into memory as it lies on the GPU, and gives its bytes. */
static size_t draws_store(const int64_t *offsets, uint64_t count, void *to) {
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t offset = (uint64_t)offsets[i] + drawn.shift;
        const uint32_t narrow = (uint32_t)offset;
        memcpy((char *)to + i * drawn.wide, drawn.wide == 4 ? (const void *)&narrow : &offset,
               drawn.wide);
    }
    return count * drawn.wide;
}

/* ---- elements -------------------------------------------------------------------------------- */

static void put_real(redtune_dtype dtype, uint64_t i, double real) {
    const size_t bytes = redtune_dtype_bytes(dtype);
    const redtune_value value = rdt_scalar_from_real(dtype, real);
    memcpy(drawn.element + i * bytes, value.bytes, bytes);
}

static void put_bits(redtune_dtype dtype, uint64_t i, uint64_t bits) {
    memcpy(drawn.element + i * redtune_dtype_bytes(dtype), &bits, redtune_dtype_bytes(dtype));
}

/* How far an op bears what is special. */
static bool takes_all_floats(redtune_op op) {
    switch ((int)op) {
    case REDTUNE_MIN:
    case REDTUNE_MAX:
    case REDTUNE_FMIN:
    case REDTUNE_FMAX:
    case REDTUNE_ARGMIN:
    case REDTUNE_ARGMAX:
    case REDTUNE_MAXABS:
    case REDTUNE_ANY:
    case REDTUNE_ALL:
    case REDTUNE_NONZEROS:
    case REDTUNE_NANS:
    case REDTUNE_NONFINITE:
    case REDTUNE_MIN_AT:
    case REDTUNE_MAX_AT:
    case REDTUNE_MINMAX: return true;
    default: return false;
    }
}

static double greatest_of(redtune_dtype dtype) {
    const rdt_dtype_traits *its = rdt_dtype_find(dtype);
    if (dtype == REDTUNE_E4M3) return 448;
    return ldexp(2 - ldexp(1, -its->fraction_bits), (1 << (its->exponent_bits - 1)) - 1);
}

static double draw_special(const redtune_problem *problem) {
    const rdt_dtype_traits *its = rdt_dtype_find(problem->dtype);
    const double least = ldexp(1, 2 - (1 << (its->exponent_bits - 1)) - its->fraction_bits);
    const double greatest = greatest_of(problem->dtype);
    const double reals[] = {(double)NAN, (double)INFINITY, (double)-INFINITY, -0.0,     0.0,
                            least,       -least,           greatest,          -greatest};
    return reals[draw(takes_all_floats(problem->op) ? 9 : 5)];
}

/* So many in a row neither overflow nor underflow. */
static double draw_factor(void) {
    const double sign = draw(2) ? 1 : -1;
    if (draw(64)) return sign;
    return sign * (draw(2) ? 1 + 0x1p-5 : 1 - 0x1p-5);
}

static double draw_real(void) {
    const double fraction = 1 + (double)draw(1 << 20) / (1 << 20);
    return ldexp(draw(2) ? fraction : -fraction, (int)draw(13) - 6);
}

static bool is_product(const redtune_problem *problem) {
    return problem->op == REDTUNE_PROD || problem->op == REDTUNE_NANPROD;
}

static void draw_float(const redtune_problem *problem, uint64_t i, uint64_t rare) {
    const redtune_dtype dtype = problem->dtype;
    if (!drawn.covered[i])
        put_real(dtype, i, draw(4) ? (double)NAN : draw_special(problem));
    else if (drawn.style == DRAWS_SPECIAL && !draw(rare))
        put_real(dtype, i, draw_special(problem));
    else if (is_product(problem))
        put_real(dtype, i, draw_factor());
    else if (drawn.style == DRAWS_REAL)
        put_real(dtype, i, draw_real());
    else
        put_real(dtype, i, (double)draw(9) - 4);
}

static void draw_integer(const redtune_problem *problem, uint64_t i, uint64_t rare) {
    const redtune_dtype dtype = problem->dtype;
    const uint64_t top = UINT64_C(1) << (8 * redtune_dtype_bytes(dtype) - 1);
    const uint64_t ends[] = {0, 1, top, top - 1, UINT64_MAX};
    const bool overflows = is_product(problem) && rdt_scalar_is_float(problem->result);
    if (!drawn.covered[i])
        put_bits(dtype, i, draw(2) ? draw_bits() : ends[draw(5)]);
    else if (overflows)
        put_bits(dtype, i, draw(1024) ? 1 : draw(3));
    else if (drawn.style == DRAWS_SPECIAL && !draw(rare))
        put_bits(dtype, i, ends[draw(5)]);
    else if (drawn.style == DRAWS_REAL)
        put_bits(dtype, i, draw_bits());
    else
        put_bits(dtype, i, draw(9) - (rdt_scalar_is_signed(dtype) ? 4 : 0));
}

/* Of the style that is set. */
static void draw_elements(const redtune_problem *problem) {
    const uint64_t rare = 1 + draw(400);
    for (uint64_t i = 0; i < drawn.elements; i++)
        if (rdt_scalar_is_float(problem->dtype))
            draw_float(problem, i, rare);
        else
            draw_integer(problem, i, rare);
}
