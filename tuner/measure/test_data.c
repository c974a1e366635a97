/* Test data: elements for which an op gives the same bits in any order of combining; of problems in
 * fixed order, elements for which another order gives other bits.
 *
 * Element i is a function of i alone, repeated after a prime period, so a part of the input can be
 * evaluated anywhere. Floats are chosen such that every partial sum fits the accumulator; thin says
 * how many of them are zero for that. */
#include "tuner/measure/test_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/scalar.h"

enum {
    PERIOD = 1048573,
    SUM_MAX = 4,  /* what an element adds to a sum */
    BASE_MAX = 2, /* of an element whose power is added: squared it is SUM_MAX */
    PAIR_MAX = 2, /* of each of two inputs' elements */
    PAIR_MAX_UNSIGNED = 3,
    VALUE_MAX = 100,
    DECIDER = 120,        /* beyond VALUE_MAX */
    PAIR_VALUE_MAX = 15,  /* of two inputs: two are at most 30 apart, */
    PAIR_DECIDER = 60,    /* this and another at least 45, and at most what a byte has room for */
    UNSIGNED_SHIFT = 128, /* so that values around 0 have no sign */
    POWERS_MAX = 60,      /* of two, in a float product: any part of it is far from overflow */
    RARE = 64,
    CANCEL_POWERS = 100,
    CANCEL_GROUP = 1 << 16, /* elements of exact sums of which two cancel */
};

/* SplitMix64 (Steele, Lea, Flood, 2014), as a function of the index. */
static uint64_t scramble(uint64_t index) {
    uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- elements -------------------------------------------------------------------------------- */

static const rdt_op_traits *op_of(const redtune_problem *problem) {
    return rdt_op_find(problem->op);
}

static redtune_value number(const redtune_problem *problem, int64_t value) {
    redtune_value out = {.u64 = 0};
    rdt_scalar_store(problem->dtype, &out, 0, value);
    return out;
}

static bool is_unsigned(redtune_dtype dtype) {
    return rdt_dtype_find(dtype)->kind == RDT_KIND_UNSIGNED;
}

static bool is_paired(const redtune_problem *problem) { return op_of(problem)->inputs > 1; }

/* Where results may differ by rounding, sums of both signs would be small against their errors. */
static bool has_signs(const redtune_problem *problem) {
    return !is_unsigned(problem->dtype) && !op_of(problem)->tolerance;
}

/* -most to -1 or 1 to most; or only the latter. */
static int64_t small_number(const redtune_problem *problem, uint64_t random, int64_t most) {
    int64_t magnitude = 1 + (int64_t)(random % (uint64_t)most);
    return random & 16 && has_signs(problem) ? -magnitude : magnitude;
}

static redtune_value factor(const redtune_problem *problem, uint64_t random, bool rare) {
    redtune_dtype dtype = problem->dtype;
    if (!rdt_scalar_is_float(rdt_problem_accumulator(problem))) {
        /* Modulo a power of two the odd numbers have inverses: nothing is lost in the product. */
        redtune_value odd = rdt_scalar_from_bits(dtype, random | 1);
        return rdt_scalar_bits(dtype, &odd, 0) == 1 ? number(problem, 3) : odd;
    }
    int64_t sign = random & 3 && !is_unsigned(dtype) ? -1 : 1;
    if (!rare) return number(problem, sign);
    const bool halves = rdt_scalar_is_float(dtype) && !op_of(problem)->tolerance;
    return halves && random & 4 ? rdt_scalar_from_real(dtype, (double)sign / 2)
                                : number(problem, 2 * sign);
}

/* A number around 0 for what is about order; of an integer it is the highest byte, so that all
 * others count only where that is the same, and one without a sign has the order of those with one.
 */
static redtune_value ordered(const redtune_problem *problem, int64_t value, uint64_t rest) {
    redtune_dtype dtype = problem->dtype;
    if (rdt_scalar_is_float(dtype)) return number(problem, value);
    uint64_t highest = (uint64_t)value + (is_unsigned(dtype) ? UNSIGNED_SHIFT : 0);
    size_t bytes = redtune_dtype_bytes(dtype);
    return rdt_scalar_from_bits(dtype, (highest << 8 * (bytes - 1)) + (bytes > 1 ? rest : 0));
}

/* Around 0, with many that are equal. */
static redtune_value value(const redtune_problem *problem, uint64_t random) {
    const int64_t most = is_paired(problem) ? PAIR_VALUE_MAX : VALUE_MAX;
    int64_t around_zero = (int64_t)((random >> 8) % (uint64_t)(2 * most + 1)) - most;
    return ordered(problem, around_zero, random >> 4 & 3);
}

/* -0, where there is one, is as much zero as 0. */
static redtune_value zero(const redtune_problem *problem, uint64_t random) {
    bool minus = random & 64 && rdt_scalar_is_float(problem->dtype);
    return minus ? rdt_scalar_from_real(problem->dtype, -0.0) : number(problem, 0);
}

/* Any bits that make no zero. */
static redtune_value nonzero(const redtune_problem *problem, uint64_t random) {
    redtune_value any = rdt_scalar_from_bits(problem->dtype, random);
    return rdt_scalar_real(problem->dtype, &any, 0) != 0 ? any : number(problem, 1);
}

/* One bit, but never the lowest, which is the decider's. */
static uint64_t one_bit(const redtune_problem *problem, uint64_t random) {
    uint64_t bits = 8 * redtune_dtype_bytes(problem->dtype);
    return UINT64_C(1) << (1 + random % (bits - 1));
}

/* NaN, where there is no infinity. */
static redtune_value infinity(const redtune_problem *problem, int sign) {
    return rdt_scalar_from_real(problem->dtype, sign * (double)INFINITY);
}

/* Every other one is NaN or infinite, if the dtype has such; the others add up. */
static redtune_value finite_or_not(const redtune_problem *problem, uint64_t random, bool counts) {
    if (!rdt_scalar_is_float(problem->dtype) || random & 32)
        return number(problem, counts ? small_number(problem, random, SUM_MAX) : 0);
    if (random & 64) return rdt_scalar_from_real(problem->dtype, (double)NAN);
    return infinity(problem, random & 128 ? 1 : -1);
}

/* e^0 is exact, and e^-inf adds nothing; nor does a number that is so much less than another. */
static redtune_value exponent(const redtune_problem *problem, bool adds) {
    const rdt_dtype_traits *its = rdt_dtype_find(problem->dtype);
    if (its->kind == RDT_KIND_FLOAT)
        return adds ? number(problem, 0)
                    : rdt_scalar_from_real(problem->dtype, -rdt_dtype_greatest(its));
    const int64_t least = is_unsigned(problem->dtype) ? 0 : -VALUE_MAX;
    return number(problem, adds ? least + VALUE_MAX : least);
}

/* What is added, itself or a power of it: any integer where the sum wraps and is exact all the
 * same, a small one in a float. */
static redtune_value summand(const redtune_problem *problem, uint64_t random, bool counts) {
    int64_t most = op_of(problem)->power > 1 ? BASE_MAX : SUM_MAX;
    if (rdt_scalar_is_float(rdt_problem_accumulator(problem)))
        return number(problem, counts ? small_number(problem, random, most) : 0);
    return nonzero(problem, random);
}

/* The number at that part of the range that the op's entry gives, from 0 to 1. */
static redtune_value of_range(const redtune_problem *problem, double part) {
    const rdt_op_traits *op = op_of(problem);
    return rdt_scalar_nearest(problem->dtype, op->least + part * (op->greatest - op->least));
}

/* ---- elements in fixed order ----------------------------------------------------------------- */

/* From -1 to 1. */
static double real_of(uint64_t random) { return ldexp((double)(int64_t)random, -63); }

/* Near 1 or -1; every second one is about the inverse of the one before it, so that no product
 * leaves its range. */
static double uneven_factor(uint64_t index) {
    const uint64_t random = scramble(index / 2);
    const double factor = (random & 1 ? -1 : 1) * (1 + real_of(random) / 8);
    return index % 2 ? 1 / factor : factor;
}

/* Element index of what rounds whenever two are combined: floats of all digits and several
 * magnitudes, integers of all bits. */
static redtune_value uneven(const redtune_problem *problem, uint64_t index) {
    const uint64_t random = scramble(index);
    const rdt_combines combines = op_of(problem)->combines;
    if (combines == RDT_COMBINES_OWN) return of_range(problem, (1 + real_of(random)) / 2);
    if (!rdt_scalar_is_float(problem->dtype))
        return combines == RDT_COMBINES_EXPONENTIALS ? number(problem, (int64_t)(random % RARE))
                                                     : nonzero(problem, random);
    if (combines == RDT_COMBINES_PRODUCT)
        return rdt_scalar_from_real(problem->dtype, uneven_factor(index));
    return rdt_scalar_from_real(problem->dtype, ldexp(real_of(random), (int)(random % 8)));
}

/* ---- elements of exact sums ------------------------------------------------------------------ */

/* The first two of each group are of any magnitude and digits, and cancel: a sum that rounds on the
 * way loses what the others add up to. */
static bool cancels(const redtune_problem *problem, uint64_t index) {
    return problem->accuracy == REDTUNE_ACCURACY_EXACT && index % CANCEL_GROUP < 2;
}

static redtune_value canceling(const redtune_problem *problem, uint64_t index) {
    const uint64_t random = scramble(index / CANCEL_GROUP);
    const int bias = (1 << (rdt_dtype_find(problem->dtype)->exponent_bits - 1)) - 1;
    const int powers = bias < CANCEL_POWERS ? bias : CANCEL_POWERS;
    const double real = ldexp(1 + fabs(real_of(random)), (int)(random % (uint64_t)powers));
    return rdt_scalar_from_real(problem->dtype, index % 2 ? -real : real);
}

/* ---- elements, of either order --------------------------------------------------------------- */

static bool is_ignored(const redtune_problem *problem, uint64_t random) {
    return op_of(problem)->ignores_nan && rdt_scalar_is_float(problem->dtype) && random % 16 == 0;
}

/* Element index, where one in `thin` elements counts. Some are NaN where that is ignored. */
static redtune_value element(const redtune_problem *problem, uint64_t index, uint64_t thin) {
    uint64_t random = scramble(index), other = random >> 8;
    redtune_dtype dtype = problem->dtype;
    if (is_ignored(problem, random)) return rdt_scalar_from_real(dtype, (double)NAN);
    if (problem->order == REDTUNE_ORDER_FIXED) return uneven(problem, index);
    if (cancels(problem, index)) return canceling(problem, index);
    switch (op_of(problem)->combines) {
    case RDT_COMBINES_SUM: return summand(problem, random, other % thin == 0);
    case RDT_COMBINES_PRODUCT: return factor(problem, random, other % thin == 0);
    case RDT_COMBINES_LEAST:
    case RDT_COMBINES_GREATEST:
    case RDT_COMBINES_EXTREMES:
    case RDT_COMBINES_MAGNITUDE: return value(problem, random);
    case RDT_COMBINES_LEAST_MAGNITUDE:
        return number(problem, small_number(problem, random, VALUE_MAX / 2) * 2);
    case RDT_COMBINES_EXPONENTIALS: return exponent(problem, other % thin == 0 && random & 3);
    case RDT_COMBINES_NONFINITE: return finite_or_not(problem, random, other % thin == 0);
    case RDT_COMBINES_ANY_NONFINITE: return number(problem, small_number(problem, random, SUM_MAX));
    case RDT_COMBINES_ANY: return zero(problem, random);
    case RDT_COMBINES_ALL: return nonzero(problem, random);
    case RDT_COMBINES_COUNT: return random & 32 ? nonzero(problem, other) : zero(problem, random);
    case RDT_COMBINES_AND:
        return rdt_scalar_from_bits(dtype, ~(other % RARE ? 0 : one_bit(problem, random)));
    case RDT_COMBINES_OR:
        return rdt_scalar_from_bits(dtype, other % RARE ? 0 : one_bit(problem, random));
    case RDT_COMBINES_XOR: return rdt_scalar_from_bits(dtype, random | 1);
    case RDT_COMBINES_OWN: return of_range(problem, (double)(other & 255) / 255);
    }
    return number(problem, 0);
}

/* ---- elements of two inputs ------------------------------------------------------------------ */

/* Number `which` of those that small_number gives. */
static redtune_value small_choice(const redtune_problem *problem, uint64_t which) {
    const int64_t magnitude = 1 + (int64_t)(which / 2);
    if (!has_signs(problem)) return number(problem, 1 + (int64_t)which);
    return number(problem, which % 2 ? -magnitude : magnitude);
}

/* Two that differ, so that their product is not zero, nor their difference. */
static void put_summands(const redtune_problem *problem, uint64_t random, bool counts,
                         redtune_value pair[2]) {
    const uint64_t choices = has_signs(problem) ? 2 * PAIR_MAX : PAIR_MAX_UNSIGNED;
    const uint64_t first = random % choices, apart = 1 + (random >> 32) % (choices - 1);
    pair[0] = pair[1] = number(problem, 0);
    if (!rdt_scalar_is_float(rdt_problem_accumulator(problem))) {
        pair[0] = nonzero(problem, random);
        pair[1] = nonzero(problem, scramble(random));
        const bool same = rdt_scalar_same(problem->dtype, &pair[0], &pair[1]);
        if (same) pair[0] = number(problem, 1), pair[1] = number(problem, 3);
    } else if (counts) {
        pair[0] = small_choice(problem, first);
        pair[1] = small_choice(problem, (first + apart) % choices);
    }
}

/* Elements index of both inputs. What compares them finds every other pair the same where it
 * counts, and all the same where it asks for one that is not. */
static void put_pair(const redtune_problem *problem, uint64_t index, uint64_t thin,
                     redtune_value pair[2]) {
    const uint64_t random = scramble(index), other = random >> 8;
    if (problem->order == REDTUNE_ORDER_FIXED) {
        pair[0] = uneven(problem, index);
        pair[1] = uneven(problem, ~index);
        return;
    }
    const rdt_combines combines = op_of(problem)->combines;
    if (combines == RDT_COMBINES_SUM) {
        put_summands(problem, random, other % thin == 0, pair);
    } else if (combines == RDT_COMBINES_COUNT) {
        pair[0] = value(problem, random);
        pair[1] = random & 32 ? value(problem, scramble(random)) : pair[0];
    } else if (combines == RDT_COMBINES_ALL) {
        pair[0] = pair[1] = number(problem, 1 + (int64_t)(random % VALUE_MAX));
    } else {
        pair[0] = element(problem, index, thin);
        pair[1] = element(problem, ~index, thin);
    }
}

/* ---- how many are exact ---------------------------------------------------------------------- */

/* The largest that an element adds to a sum. */
static uint64_t largest_summand(const redtune_problem *problem) {
    const rdt_op_traits *op = op_of(problem);
    const uint64_t pair = has_signs(problem) ? 2 * PAIR_MAX : 2 * PAIR_MAX_UNSIGNED;
    uint64_t largest = 1;
    if (op->combines == RDT_COMBINES_EXPONENTIALS) return 1;
    if (!is_paired(problem)) return op->power > 2 ? UINT64_C(1) << op->power : SUM_MAX;
    for (int i = 0; i < op->power; i++) largest *= pair;
    return largest;
}

static bool adds_up(const redtune_problem *problem) {
    const rdt_combines combines = op_of(problem)->combines;
    return combines == RDT_COMBINES_SUM || combines == RDT_COMBINES_EXPONENTIALS ||
           combines == RDT_COMBINES_NONFINITE;
}

/* The bits that a root, or a quotient, loses are left free: relative to the sum one element is then
 * at least two roundings of what is made of it. */
uint64_t rdt_test_data_dense_max(const redtune_problem *problem) {
    const rdt_op_traits *op = op_of(problem);
    const rdt_dtype_traits *accumulator = rdt_dtype_find(rdt_problem_accumulator(problem));
    int bits = rdt_dtype_exact_bits(accumulator) - op->lost_bits;
    if (!adds_up(problem) || problem->order == REDTUNE_ORDER_FIXED)
        return rdt_problem_count_max(problem->dtype);
    return (UINT64_C(1) << bits) / largest_summand(problem);
}

/* The least power of two that thins the pattern out enough. A summand is 2.5 on average, so
 * that allowing for 4 leaves room for chance in which elements are zero. */
static uint64_t choose_thin(const redtune_problem *problem, uint64_t count) {
    uint64_t thin = 1;
    uint64_t most = op_of(problem)->combines == RDT_COMBINES_PRODUCT
                        ? POWERS_MAX
                        : rdt_test_data_dense_max(problem);
    while (count / thin > most) thin *= 2;
    return thin;
}

/* ---- deciders -------------------------------------------------------------------------------- */

bool rdt_test_data_hides(const redtune_problem *problem) {
    rdt_combines combines = op_of(problem)->combines;
    if (combines == RDT_COMBINES_PRODUCT)
        return rdt_scalar_is_float(rdt_problem_accumulator(problem));
    return !adds_up(problem) && combines != RDT_COMBINES_COUNT && combines != RDT_COMBINES_XOR &&
           combines != RDT_COMBINES_OWN;
}

static int64_t decider_value(const redtune_problem *problem) {
    return is_paired(problem) ? PAIR_DECIDER : DECIDER;
}

redtune_value rdt_test_data_decider(const redtune_problem *problem) {
    const int64_t most = decider_value(problem);
    switch (op_of(problem)->combines) {
    case RDT_COMBINES_EXTREMES:
    case RDT_COMBINES_LEAST: return ordered(problem, -most, 0);
    case RDT_COMBINES_GREATEST: return ordered(problem, most, 0);
    case RDT_COMBINES_MAGNITUDE:
        return ordered(problem, is_unsigned(problem->dtype) ? most : -most, 0);
    case RDT_COMBINES_EXPONENTIALS: return exponent(problem, true);
    case RDT_COMBINES_ALL: return number(problem, 0);
    case RDT_COMBINES_LEAST_MAGNITUDE:
    case RDT_COMBINES_ANY:
    case RDT_COMBINES_COUNT:
    case RDT_COMBINES_OR: return number(problem, 1);
    case RDT_COMBINES_AND: return rdt_scalar_from_bits(problem->dtype, ~UINT64_C(1));
    case RDT_COMBINES_NONFINITE:
    case RDT_COMBINES_ANY_NONFINITE:
        return rdt_scalar_is_float(problem->dtype) ? infinity(problem, 1) : number(problem, 3);
    case RDT_COMBINES_OWN: return of_range(problem, 1);
    case RDT_COMBINES_SUM:
    case RDT_COMBINES_PRODUCT:
    case RDT_COMBINES_XOR: break;
    }
    return number(problem, 3);
}

redtune_value rdt_test_data_other_decider(const redtune_problem *problem) {
    const rdt_combines combines = op_of(problem)->combines;
    if (combines == RDT_COMBINES_EXTREMES) return ordered(problem, decider_value(problem), 0);
    if (combines == RDT_COMBINES_ANY_NONFINITE && rdt_scalar_is_float(problem->dtype))
        return infinity(problem, -1);
    return rdt_test_data_decider(problem);
}

redtune_value rdt_test_data_neutral(const redtune_problem *problem) {
    switch (op_of(problem)->combines) {
    case RDT_COMBINES_PRODUCT:
    case RDT_COMBINES_ALL: return number(problem, 1);
    case RDT_COMBINES_AND: return rdt_scalar_from_bits(problem->dtype, UINT64_MAX);
    case RDT_COMBINES_LEAST:
    case RDT_COMBINES_GREATEST:
    case RDT_COMBINES_EXTREMES:
    case RDT_COMBINES_MAGNITUDE:
        return ordered(problem, 0, 0); /* the test data lie around this value */
    case RDT_COMBINES_LEAST_MAGNITUDE: return number(problem, VALUE_MAX);
    case RDT_COMBINES_EXPONENTIALS: return exponent(problem, false);
    case RDT_COMBINES_OWN: return of_range(problem, 0);
    case RDT_COMBINES_SUM:
    case RDT_COMBINES_ANY:
    case RDT_COMBINES_COUNT:
    case RDT_COMBINES_OR:
    case RDT_COMBINES_XOR:
    case RDT_COMBINES_NONFINITE:
    case RDT_COMBINES_ANY_NONFINITE: break;
    }
    return number(problem, 0);
}

redtune_value rdt_test_data_opposite(const redtune_problem *problem) {
    if (op_of(problem)->combines == RDT_COMBINES_SUM) return number(problem, 1);
    return rdt_test_data_neutral(problem);
}

/* ---- making ---------------------------------------------------------------------------------- */

redtune_status rdt_test_data_create(const redtune_problem *problem, uint64_t count,
                                    rdt_test_data **out, redtune_error *err) {
    rdt_test_data *data = calloc(1, sizeof *data);
    if (!data) return rdt_fail_memory(err, sizeof *data);
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    data->problem = *problem;
    data->period = count < PERIOD && count > 0 ? count : PERIOD;
    data->count_max = count;
    data->elements = malloc(data->period * bytes);
    if (is_paired(problem)) data->second = malloc(data->period * bytes);
    if (!data->elements || (is_paired(problem) && !data->second)) {
        const size_t all = data->period * bytes;
        rdt_test_data_destroy(data);
        return rdt_fail_memory(err, all);
    }
    uint64_t thin = choose_thin(problem, count);
    for (uint64_t i = 0; i < data->period; i++) {
        redtune_value each[2];
        if (is_paired(problem))
            put_pair(problem, i, thin, each);
        else
            each[0] = element(problem, i, thin);
        memcpy((char *)data->elements + i * bytes, &each[0], bytes);
        if (data->second) memcpy((char *)data->second + i * bytes, &each[1], bytes);
    }
    *out = data;
    return REDTUNE_OK;
}

void rdt_test_data_destroy(rdt_test_data *data) {
    if (!data) return;
    free(data->elements);
    free(data->second);
    free(data);
}
