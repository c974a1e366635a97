/* Inputs: elements that the sweep reduces, such that results are exact whatever the order, or, of
 * ops with a tolerance, within their bounds. */
#include "inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "reference.h"
#include "results.h"
#include "model/scalar.h"
#include "tuner/measure/test_data.h"

static void put(const redtune_problem *problem, void *elements, uint64_t at, redtune_value value) {
    size_t bytes = redtune_dtype_bytes(problem->dtype);
    memcpy((char *)elements + at * bytes, &value, bytes);
}

static bool fill_numbers(const redtune_problem *problem, input *data) {
    rdt_test_data *pattern = NULL;
    size_t bytes = redtune_dtype_bytes(problem->dtype);
    if (!data->count) return true;
    if (rdt_test_data_create(problem, data->count, &pattern, NULL)) return false;
    const char *from[] = {pattern->elements, pattern->second};
    for (int k = 0; k < RDT_OP_INPUTS_MAX && from[k]; k++)
        for (uint64_t at = 0; at < data->count; at += pattern->period) {
            uint64_t left = data->count - at;
            memcpy((char *)data->elements[k] + at * bytes, from[k],
                   (left < pattern->period ? left : pattern->period) * bytes);
        }
    rdt_test_data_destroy(pattern);
    return true;
}

/* Whether no result has a bound. */
static bool has_no_bound(const redtune_problem *problem) {
    const results right = {.exact = {1, 1}, .magnitude = {1, 1}};
    for (int k = 0; k < rdt_op_find(problem->op)->outputs; k++)
        if (results_bound(problem, k, &right, 1, 1) > 0) return false;
    return true;
}

/* Whether any order of combining gives the same bits for any elements. */
static bool is_exact(const redtune_problem *problem) {
    rdt_result_class class = rdt_op_find(problem->op)->result;
    if ((int)problem->op >= RDT_REFERENCE_OPS) return has_no_bound(problem);
    bool sums = class == RDT_RESULT_SUM || class == RDT_RESULT_MEAN;
    bool rounds = rdt_scalar_is_float(problem->dtype) || rdt_scalar_is_float(problem->result);
    return !sums || !rounds;
}

/* An element from random bits. */
static redtune_value special(redtune_dtype dtype, uint64_t random) {
    const double reals[] = {INFINITY, -INFINITY, 0.0, -0.0,    1.0, -1.0,
                            0x1p-24,  -0x1p-24,  2.5, -4096.0, 0.0, -0.0};
    const uint64_t edges[] = {UINT64_MAX, 0, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1};
    const uint64_t draw = random >> 20;
    if (rdt_scalar_is_float(dtype))
        return rdt_scalar_from_real(dtype, reals[draw % (sizeof reals / sizeof *reals)]);
    const unsigned narrow = 64 - 8 * (unsigned)redtune_dtype_bytes(dtype);
    return rdt_scalar_from_bits(dtype, draw % 3 ? random : edges[draw / 3 % 5] >> narrow);
}

/* Element i of a sequence without end (xorshift, Marsaglia 2003); of each input another. */
static void fill_special(const redtune_problem *problem, input *data, bool nan) {
    const redtune_dtype dtype = problem->dtype;
    const redtune_value none = rdt_scalar_from_real(dtype, (double)NAN);
    for (uint64_t k = 0; k < RDT_OP_INPUTS_MAX && data->elements[k]; k++) {
        /* One NaN or two, or many in the reach of every thread. */
        const uint64_t spread = data->offset[k] % 2 ? 1 + data->count / 2 : 4;
        uint64_t state = 88172645463325252u + data->count + k;
        for (uint64_t i = 0; i < data->count; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            const bool is_nan = nan && rdt_scalar_is_float(dtype) && (state >> 20) % spread == 0;
            put(problem, data->elements[k], i, is_nan ? none : special(dtype, state));
        }
    }
}

static void fill_zeros(const redtune_problem *problem, input *data) {
    const bool is_float = rdt_scalar_is_float(problem->dtype);
    for (int k = 0; k < RDT_OP_INPUTS_MAX && data->elements[k]; k++)
        for (uint64_t i = 0; i < data->count; i++)
            put(problem, data->elements[k], i,
                is_float ? rdt_scalar_from_real(problem->dtype, i % 3 ? 0.0 : -0.0)
                         : rdt_scalar_from_bits(problem->dtype, 0));
}

/* The sum is 1 above the greatest number that stands beside all lesser ones. */
static bool fill_tie(const redtune_problem *problem, input *data) {
    if ((int)problem->op >= RDT_REFERENCE_OPS) return false;
    fill_zeros(problem, data);
    if (data->count < 2 || !rdt_scalar_is_float(problem->dtype)) return false;
    double greatest = problem->dtype == REDTUNE_BF16 ? 0x1p8 : 0x1p11;
    put(problem, data->elements[0], 0, rdt_scalar_from_real(problem->dtype, greatest));
    put(problem, data->elements[0], data->count - 1, rdt_scalar_from_real(problem->dtype, 1));
    return true;
}

/* Of two inputs, one or the other has the element. */
static bool fill_one_hot(const redtune_problem *problem, input *data, uint64_t at) {
    if (at >= data->count || !rdt_test_data_hides(problem)) return false;
    const uint64_t hot = data->elements[1] ? data->offset[0] % 2 : 0;
    for (uint64_t i = 0; i < data->count; i++) {
        put(problem, data->elements[hot], i,
            i == at ? rdt_test_data_decider(problem) : rdt_test_data_neutral(problem));
        if (data->elements[1])
            put(problem, data->elements[1 - hot], i, rdt_test_data_opposite(problem));
    }
    return true;
}

static bool fill(const redtune_problem *problem, input_kind kind, input *data) {
    switch ((int)kind) {
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
    bool made = true;
    for (int k = 0; k < rdt_op_find(problem->op)->inputs; k++) {
        data->elements[k] =
            malloc(data->count ? data->count * redtune_dtype_bytes(problem->dtype) : 1);
        made = made && data->elements[k];
    }
    made = made && fill(problem, kind, data);
    if (!made) input_free(data);
    return made;
}

void input_free(input *data) {
    for (int k = 0; k < RDT_OP_INPUTS_MAX; k++) {
        free(data->elements[k]);
        data->elements[k] = NULL;
    }
}
