/* Problem: what is reduced. The table of ops and dtypes that every layer goes by. */
#include "model/problem.h"

#include <inttypes.h>
#include <string.h>

typedef struct op_traits {
    redtune_op op;
    const char *name;
} op_traits;

static const op_traits op_table[] = {
#define ENTRY(op, name) {op, name},
    RDT_OP_LIST(ENTRY)
#undef ENTRY
        {0, NULL},
};

const rdt_dtype_traits rdt_dtype_table[] = {
#define ENTRY(dtype, name, bytes, kind, exact_bits) {dtype, name, bytes, kind, exact_bits},
    RDT_DTYPE_LIST(ENTRY)
#undef ENTRY
        {REDTUNE_DTYPE_NONE, NULL, 0, RDT_KIND_NONE, 0},
};

const rdt_dtype_traits *rdt_dtype_find(redtune_dtype dtype) {
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++)
        if (traits->dtype == dtype) return traits;
    return NULL;
}

const char *redtune_op_name(redtune_op op) {
    for (const op_traits *traits = op_table; traits->name; traits++)
        if (traits->op == op) return traits->name;
    return NULL;
}

const char *redtune_dtype_name(redtune_dtype dtype) {
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    return traits ? traits->name : NULL;
}

size_t redtune_dtype_bytes(redtune_dtype dtype) {
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    return traits ? traits->bytes : 0;
}

static redtune_status no_such(const char *what, const char *name, const rdt_text *known,
                              redtune_error *err) {
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot use %s '%.40s': there is none of that name; use%s", what, name,
                    known->data ? known->data : "");
}

redtune_status redtune_op_find(const char *name, redtune_op *op, redtune_error *err) {
    rdt_text known = {0};
    for (const op_traits *traits = op_table; traits->name; traits++) {
        if (name && !strcmp(traits->name, name)) {
            *op = traits->op;
            rdt_text_free(&known);
            return REDTUNE_OK;
        }
        rdt_text_addf(&known, "%s %s", traits == op_table ? "" : ",", traits->name);
    }
    redtune_status status = no_such("op", name ? name : "", &known, err);
    rdt_text_free(&known);
    return status;
}

redtune_status redtune_dtype_find(const char *name, redtune_dtype *dtype, redtune_error *err) {
    rdt_text known = {0};
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++) {
        if (name && !strcmp(traits->name, name)) {
            *dtype = traits->dtype;
            rdt_text_free(&known);
            return REDTUNE_OK;
        }
        rdt_text_addf(&known, "%s %s", traits == rdt_dtype_table ? "" : ",", traits->name);
    }
    redtune_status status = no_such("dtype", name ? name : "", &known, err);
    rdt_text_free(&known);
    return status;
}

static redtune_dtype usual_result(const rdt_dtype_traits *input) {
    return input->kind == RDT_KIND_INTEGER ? REDTUNE_I64 : input->dtype;
}

redtune_status rdt_problem_resolve(const redtune_problem *problem, redtune_problem *out,
                                   redtune_error *err) {
    if (!problem) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: no problem was given");
    const rdt_dtype_traits *input = rdt_dtype_find(problem->dtype);
    if (!redtune_op_name(problem->op))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: there is no op %d",
                        (int)problem->op);
    if (!input)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: problem.dtype is %d, which is no dtype; set it to "
                        "REDTUNE_F32 or another",
                        (int)problem->dtype);
    redtune_dtype result = problem->result ? problem->result : usual_result(input);
    if (result != usual_result(input))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot have the %s of %s as %s: it is %s; set result to that or to 0",
                        redtune_op_name(problem->op), input->name,
                        rdt_dtype_find(result) ? redtune_dtype_name(result) : "an unknown dtype",
                        redtune_dtype_name(usual_result(input)));
    if (problem->count > rdt_problem_count_max(problem->dtype))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " elements of %s: at most %" PRIu64,
                        problem->count, input->name, rdt_problem_count_max(problem->dtype));
    *out = *problem;
    out->result = result;
    return REDTUNE_OK;
}

redtune_status redtune_problem_result(const redtune_problem *problem, redtune_dtype *result,
                                      redtune_error *err) {
    redtune_problem resolved;
    redtune_status status = rdt_problem_resolve(problem, &resolved, err);
    if (!status) *result = resolved.result;
    return status;
}

void rdt_problem_describe(const redtune_problem *problem, rdt_text *out) {
    rdt_text_addf(out, "%s of %" PRIu64 " %s", redtune_op_name(problem->op), problem->count,
                  redtune_dtype_name(problem->dtype));
}

uint64_t rdt_problem_count_max(redtune_dtype dtype) {
    size_t bytes = redtune_dtype_bytes(dtype);
    return bytes ? (UINT64_C(1) << 60) / bytes : 0;
}

void rdt_value_store(redtune_dtype dtype, void *array, uint64_t index, int64_t number) {
    switch (dtype) {
    case REDTUNE_I32:
        ((int32_t *)array)[index] = (int32_t)number;
        break;
    case REDTUNE_I64:
        ((int64_t *)array)[index] = number;
        break;
    case REDTUNE_F32:
        ((float *)array)[index] = (float)number;
        break;
    case REDTUNE_F64:
        ((double *)array)[index] = (double)number;
        break;
    case REDTUNE_DTYPE_NONE:
        break;
    }
}

void rdt_value_print(redtune_dtype dtype, const redtune_value *value, rdt_text *out) {
    switch (dtype) {
    case REDTUNE_I32:
        rdt_text_addf(out, "%" PRId32, value->i32);
        break;
    case REDTUNE_I64:
        rdt_text_addf(out, "%" PRId64, value->i64);
        break;
    case REDTUNE_F32:
        rdt_text_addf(out, "%.9g", (double)value->f32);
        break;
    case REDTUNE_F64:
        rdt_text_addf(out, "%.17g", value->f64);
        break;
    case REDTUNE_DTYPE_NONE:
        break;
    }
}
