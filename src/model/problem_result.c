/* Problem result: the dtypes of a problem's results. */
#include "model/problem.h"

redtune_dtype rdt_problem_result_usual(const rdt_op_traits *op, int output,
                                       const rdt_dtype_traits *input) {
    bool is_float = input->kind == RDT_KIND_FLOAT;
    if (op->dtypes && !(op->dtypes & 1u << input->dtype)) return REDTUNE_DTYPE_NONE;
    switch (op->output[output].result) {
    case RDT_RESULT_SUM: return input->accumulator;
    case RDT_RESULT_MEAN: return is_float ? input->accumulator : RDT_DTYPE_WIDE;
    case RDT_RESULT_SAME: return input->dtype;
    case RDT_RESULT_ABS: return input->magnitude;
    case RDT_RESULT_INDEX: return REDTUNE_I64;
    case RDT_RESULT_TRUTH: return REDTUNE_U8;
    case RDT_RESULT_COUNT: return REDTUNE_U64;
    case RDT_RESULT_BITS: return is_float ? REDTUNE_DTYPE_NONE : input->dtype;
    case RDT_RESULT_DTYPE: return op->output[output].dtype;
    }
    return REDTUNE_DTYPE_NONE;
}

/* Beside the usual one, where the op computes: f64, the input's own dtype, and what the usual one
 * or f64 is converted to in one rounding. The second of two results stays as it is, and an exact
 * one is rounded as it is made. */
static bool may_result(const redtune_problem *problem, const rdt_op_traits *op,
                       const rdt_dtype_traits *input, redtune_dtype result) {
    const bool sum = op->result == RDT_RESULT_SUM, of_floats = input->kind == RDT_KIND_FLOAT;
    const rdt_dtype_traits *to = rdt_dtype_find(result);
    if (!to || (!sum && op->result != RDT_RESULT_MEAN)) return false;
    const bool is_float = to->kind == RDT_KIND_FLOAT;
    if (result == RDT_DTYPE_WIDE || result == input->dtype) return sum || is_float;
    if (op->outputs > 1 || problem->accuracy == REDTUNE_ACCURACY_EXACT) return false;
    if (is_float) return to->bytes >= 4 || (of_floats && input->bytes <= 4);
    return sum && !of_floats;
}

static redtune_status refuse_dtype(const rdt_op_traits *op, const rdt_dtype_traits *input,
                                   redtune_error *err) {
    rdt_text known = {0};
    for (const rdt_dtype_traits *each = rdt_dtype_table; each->name; each++)
        if (op->dtypes & 1u << each->dtype)
            rdt_text_addf(&known, "%s%s", known.length ? ", " : "", each->name);
    redtune_status status =
        rdt_fail(err, REDTUNE_INVALID, 0, "cannot have the %s of %s: it is for %s only", op->name,
                 input->name, known.data ? known.data : "integers");
    rdt_text_free(&known);
    return status;
}

static redtune_status refuse_result(const redtune_problem *problem, const rdt_op_traits *op,
                                    const rdt_dtype_traits *input, redtune_dtype usual,
                                    redtune_error *err) {
    const char *name = redtune_dtype_name(problem->result);
    const rdt_dtype_traits *wanted = rdt_dtype_find(problem->result);
    rdt_text others = {0};
    for (const rdt_dtype_traits *each = rdt_dtype_table; each->name; each++)
        if (each->dtype != usual && may_result(problem, op, input, each->dtype))
            rdt_text_addf(&others, " or %s", each->name);
    const bool is_narrow = wanted && wanted->kind == RDT_KIND_FLOAT && wanted->bytes < 4;
    const bool converts = is_narrow && may_result(problem, op, input, REDTUNE_F32);
    redtune_status status = rdt_fail(
        err, REDTUNE_INVALID, 0,
        "cannot have the %s of %s as %s: it is %s%s; set result to such a dtype or to 0%s",
        op->name, input->name, name ? name : "an unknown dtype", redtune_dtype_name(usual),
        others.data ? others.data : "", converts ? ", or to f32, and convert the result" : "");
    rdt_text_free(&others);
    return status;
}

redtune_status rdt_problem_result_resolve(const redtune_problem *problem, const rdt_op_traits *op,
                                          const rdt_dtype_traits *input, redtune_dtype *out,
                                          redtune_error *err) {
    redtune_dtype usual = op->absent ? problem->result : rdt_problem_result_usual(op, 0, input);
    if (!usual) return refuse_dtype(op, input, err);
    if (problem->result && problem->result != usual &&
        !may_result(problem, op, input, problem->result))
        return refuse_result(problem, op, input, usual, err);
    *out = problem->result ? problem->result : usual;
    return REDTUNE_OK;
}

redtune_status redtune_problem_result(const redtune_problem *problem, redtune_dtype *result,
                                      redtune_error *err) {
    redtune_problem resolved = {0};
    if (!result)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot give the result's dtype: result is NULL");
    redtune_status status = rdt_problem_resolve(problem, &resolved, err);
    if (!status) *result = resolved.result;
    return status;
}

redtune_status redtune_problem_results(const redtune_problem *problem, redtune_dtype results[2],
                                       redtune_error *err) {
    redtune_problem resolved = {0};
    if (!results)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot give the results' dtypes: results is NULL");
    redtune_status status = rdt_problem_resolve(problem, &resolved, err);
    if (status) return status;
    results[0] = resolved.result;
    results[1] = rdt_problem_second(&resolved);
    return REDTUNE_OK;
}
