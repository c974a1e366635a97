/* Problem keyed: reductions by key, out[k] = op of all x[i] whose key is k.
 *
 * Resolved, such a problem has one reduced axis, and of rows a kept one, their columns: the keys
 * say which results there are. */
#include <inttypes.h>
#include "redtune/keys.h"
#include "model/problem.h"

/* Their tables take at most 2^62 bytes, and a key is a signed index. */
static const uint64_t keys_max = UINT64_C(1) << 56;

redtune_problem redtune_problem_by_key(redtune_op op, redtune_dtype dtype, redtune_dtype key_dtype,
                                       uint64_t keys, uint64_t count) {
    redtune_problem problem = redtune_problem_whole(op, dtype, count);
    problem.key_dtype = key_dtype;
    problem.keys = keys;
    return problem;
}

redtune_problem redtune_problem_rows_by_key(redtune_op op, redtune_dtype dtype,
                                            redtune_dtype key_dtype, uint64_t keys, uint64_t rows,
                                            uint64_t width) {
    redtune_problem problem = redtune_problem_columns(op, dtype, rows, width);
    problem.key_dtype = key_dtype;
    problem.keys = keys;
    return problem;
}

uint64_t rdt_problem_keyed_width(const redtune_problem *problem) {
    return rdt_problem_extents(problem).inner;
}

redtune_status rdt_problem_keyed_refuse(const redtune_problem *problem, const char *verb,
                                        redtune_error *err) {
    if (!rdt_problem_is_keyed(problem)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot %s keys: this version runs reductions by key by "
                    "redtune_plan_run_keyed and redtune_run_keyed only",
                    verb);
}

/* Whether elements must be brought into the order of their keys. */
static bool has_only_reordered(const redtune_problem *problem) {
    return problem->order != REDTUNE_ORDER_FREE || problem->accuracy != REDTUNE_ACCURACY_PLAIN;
}

/* A tune holds the elements of all keys, and what they are of, in the host's memory. */
enum { TUNED_MAX = 1 << 28 };

redtune_status rdt_problem_keyed_refuse_tuning(const redtune_problem *problem, redtune_error *err) {
    const uint64_t elements = rdt_problem_elements(problem);
    if (!rdt_problem_is_keyed(problem)) return REDTUNE_OK;
    if (problem->mask || rdt_op_find(problem->op)->inputs > 1)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot tune for the %s by key%s: only kernels of one input without a mask "
                        "are timed",
                        redtune_op_name(problem->op), problem->mask ? " with a mask" : "");
    if (has_only_reordered(problem))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot tune for keys in fixed order or with another accuracy than plain: "
                        "elements are brought into the order of their keys, which has one kernel");
    if (elements <= TUNED_MAX) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot tune for %" PRIu64 " elements by key: at most %d; what is measured of "
                    "fewer serves up to 16 times as many",
                    elements, (int)TUNED_MAX);
}

/* The next number on of three bits and zeros: a plan for each K would be too many. In steps of 128
 * where a table just fits shared memory, which an eighth more may not. */
uint64_t rdt_problem_keyed_round(uint64_t keys) {
    const int bits = keys ? 64 - __builtin_clzll(keys) : 0;
    const uint64_t wide = bits > 4 ? UINT64_C(1) << (bits - 4) : 1;
    const uint64_t unit = bits > 12 && bits <= 16 ? 128 : wide;
    return (keys + unit - 1) / unit * unit;
}

/* Why there are no kernels of it; NULL: there are. */
static const char *lacking(const redtune_problem *problem) {
    if (problem->segmented) return "segments have keys of their own: their offsets";
    if (problem->accuracy == REDTUNE_ACCURACY_EXACT)
        return "there are no exact kernels; take compensated sums, or plain ones";
    const rdt_extents extents = rdt_problem_extents(problem);
    if (!extents.inner) return "its rows have no elements";
    if (extents.outer > 1 || extents.step > extents.inner || rdt_problem_is_strided(problem))
        return "values lie side by side, alone or in rows, whose columns are reduced; copy them to "
               "such an array";
    if (problem->uses & REDTUNE_USE_DEVICE_COUNT) return "there are no kernels with d_count";
    return NULL;
}

redtune_status rdt_problem_keyed_check(const redtune_problem *problem, redtune_error *err) {
    const rdt_dtype_traits *key = rdt_dtype_find(problem->key_dtype);
    if (!rdt_problem_is_keyed(problem)) {
        if (!problem->keys && !problem->spread) return REDTUNE_OK;
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: problem.keys is %" PRIu64 " and problem.spread %d, and "
                        "problem.key_dtype is 0; set it to the dtype of the keys, or leave all 0",
                        problem->keys, (int)problem->spread);
    }
    if (!key || key->kind == RDT_KIND_FLOAT)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by keys of dtype %d (%s): keys are integers of 8 to 64 bits",
                        (int)problem->key_dtype, key ? key->name : "unknown");
    const uint64_t width = rdt_problem_keyed_width(problem), most = keys_max / (width ? width : 1);
    if (!problem->keys || problem->keys > most)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce by %" PRIu64 " keys: problem.keys is 1 to %" PRIu64,
                        problem->keys, most);
    if (!rdt_problem_spread_name((int)problem->spread))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: problem.spread is %d, which this redtune does not know",
                        (int)problem->spread);
    const char *reason = lacking(problem);
    if (!reason) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "cannot compute the %s by key: %s",
                    redtune_op_name(problem->op), reason);
}
