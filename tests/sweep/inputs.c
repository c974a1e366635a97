/* Inputs: elements that the sweep reduces, such that the result is exact whatever the order. */
#include "inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/scalar.h"
#include "tuner/measure/test_data.h"

static void put(const redtune_problem *problem, input *data, uint64_t at, redtune_value value) {
    size_t bytes = redtune_dtype_bytes(problem->dtype);
    memcpy((char *)data->elements + at * bytes, &value, bytes);
}

static bool fill_numbers(const redtune_problem *problem, input *data) {
    rdt_test_data *pattern = NULL;
    size_t bytes = redtune_dtype_bytes(problem->dtype);
    if (!data->count) return true;
    if (rdt_test_data_create(problem, data->count, &pattern, NULL)) return false;
    for (uint64_t at = 0; at < data->count; at += pattern->period) {
        uint64_t left = data->count - at;
        memcpy((char *)data->elements + at * bytes, pattern->elements,
               (left < pattern->period ? left : pattern->period) * bytes);
    }
    rdt_test_data_destroy(pattern);
    return true;
}

/* Whether any order of combining gives the same bits for any elements. */
static bool is_exact(const redtune_problem *problem) {
    rdt_result_class class = rdt_op_find(problem->op)->result;
    bool sums = class == RDT_RESULT_SUM || class == RDT_RESULT_MEAN;
    bool rounds = rdt_scalar_is_float(problem->dtype) || rdt_scalar_is_float(problem->result);
    return !sums || !rounds;
}

/* Element i of a sequence without end (xorshift, Marsaglia 2003). */
static void fill_special(const redtune_problem *problem, input *data, bool nan) {
    const double reals[] = {INFINITY, -INFINITY, 0.0, -0.0,    1.0, -1.0,
                            0x1p-24,  -0x1p-24,  2.5, -4096.0, 0.0, -0.0};
    const size_t count = sizeof reals / sizeof *reals;
    redtune_dtype dtype = problem->dtype;
    /* One NaN or two, or many in the reach of every thread. */
    uint64_t spread = data->offset % 2 ? 1 + data->count / 2 : 4;
    uint64_t state = 88172645463325252u + data->count;
    for (uint64_t i = 0; i < data->count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint64_t draw = state >> 20;
        if (!rdt_scalar_is_float(dtype)) {
            const uint64_t edges[] = {UINT64_MAX, 0, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1};
            unsigned narrow = 64 - 8 * (unsigned)redtune_dtype_bytes(dtype);
            uint64_t bits = draw % 3 ? state : edges[draw / 3 % 5] >> narrow;
            put(problem, data, i, rdt_scalar_from_bits(dtype, bits));
        } else if (nan && draw % spread == 0) {
            put(problem, data, i, rdt_scalar_from_real(dtype, (double)NAN));
        } else {
            put(problem, data, i, rdt_scalar_from_real(dtype, reals[draw % count]));
        }
    }
}

static void fill_zeros(const redtune_problem *problem, input *data) {
    bool is_float = rdt_scalar_is_float(problem->dtype);
    for (uint64_t i = 0; i < data->count; i++)
        put(problem, data, i,
            is_float ? rdt_scalar_from_real(problem->dtype, i % 3 ? 0.0 : -0.0)
                     : rdt_scalar_from_bits(problem->dtype, 0));
}

/* The sum is 1 above the greatest number that stands beside all lesser ones. */
static bool fill_tie(const redtune_problem *problem, input *data) {
    fill_zeros(problem, data);
    if (data->count < 2 || !rdt_scalar_is_float(problem->dtype)) return false;
    double greatest = problem->dtype == REDTUNE_BF16 ? 0x1p8 : 0x1p11;
    put(problem, data, 0, rdt_scalar_from_real(problem->dtype, greatest));
    put(problem, data, data->count - 1, rdt_scalar_from_real(problem->dtype, 1));
    return true;
}

static bool fill_one_hot(const redtune_problem *problem, input *data, uint64_t at) {
    if (at >= data->count || !rdt_test_data_hides(problem)) return false;
    for (uint64_t i = 0; i < data->count; i++)
        put(problem, data, i,
            i == at ? rdt_test_data_decider(problem) : rdt_test_data_neutral(problem));
    return true;
}

static bool fill(const redtune_problem *problem, input_kind kind, input *data) {
    switch (kind) {
    case INPUT_SPECIAL: fill_special(problem, data, false); return data->count && is_exact(problem);
    case INPUT_NAN:
        fill_special(problem, data, true);
        return data->count && is_exact(problem) && rdt_scalar_is_float(problem->dtype);
    case INPUT_ZEROS: fill_zeros(problem, data); return data->count > 0;
    case INPUT_TIE: return fill_tie(problem, data);
    case INPUT_FIRST: return fill_one_hot(problem, data, 0);
    case INPUT_LAST: return fill_one_hot(problem, data, data->count - 1);
    case INPUT_TILE_END: return fill_one_hot(problem, data, data->tile - 1);
    case INPUT_TILE: return fill_one_hot(problem, data, data->tile);
    default: return fill_numbers(problem, data);
    }
}

bool input_make(const redtune_problem *problem, input_kind kind, input *data) {
    static const char *const names[INPUT_KINDS] = {
        "numbers",
        "special values",
        "special values and NaN",
        "zeros",
        "a tie",
        "the first decides",
        "the last decides",
        "the last of a tile decides",
        "the first behind a tile decides",
    };
    data->name = names[kind];
    data->elements = malloc(data->count ? data->count * redtune_dtype_bytes(problem->dtype) : 1);
    bool made = data->elements && fill(problem, kind, data);
    if (!made) input_free(data);
    return made;
}

void input_free(input *data) {
    free(data->elements);
    data->elements = NULL;
}
