/* Problem: what is reduced. */
#include "model/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/reserved.h"
#include "base/text.h"

#define BYTES(field) +sizeof(((redtune_problem *)0)->field)
_Static_assert(RDT_PROBLEM_KIND_LIST(BYTES) RDT_PROBLEM_EXTENT_LIST(BYTES)
                       RDT_PROBLEM_KEYS_LIST(BYTES) BYTES(config)
                           BYTES(reserved) == sizeof(redtune_problem),
               "a new field of redtune_problem belongs into one of its lists");
#undef BYTES

#define ENTRY(id, name) name,
static const char *const layout_names[] = {RDT_LAYOUT_LIST(ENTRY) NULL};
static const char *const order_names[] = {RDT_ORDER_LIST(ENTRY) NULL};
static const char *const mask_names[] = {RDT_MASK_LIST(ENTRY) NULL};
static const char *const spread_names[] = {RDT_SPREAD_LIST(ENTRY) NULL};
#undef ENTRY

/* The list ends with NULL. */
static const char *name_at(const char *const *list, int index) {
    for (int i = 0; list[i]; i++)
        if (i == index) return list[i];
    return NULL;
}

static int index_of(const char *const *list, const char *name) {
    for (int i = 0; list[i]; i++)
        if (!strcmp(list[i], name)) return i;
    return -1;
}

const char *rdt_problem_layout_name(int layout) { return name_at(layout_names, layout); }

int rdt_problem_find_layout(const char *name) { return index_of(layout_names, name); }

const char *rdt_problem_order_name(int order) { return name_at(order_names, order); }

int rdt_problem_find_order(const char *name) { return index_of(order_names, name); }

const char *rdt_problem_mask_name(int mask) { return name_at(mask_names, mask); }

int rdt_problem_find_mask(const char *name) { return index_of(mask_names, name); }

const char *rdt_problem_spread_name(int spread) { return name_at(spread_names, spread); }

int rdt_problem_find_spread(const char *name) { return index_of(spread_names, name); }

/* Of which the results of any op take no more than 2^62 bytes. */
static const uint64_t results_max = UINT64_C(1) << 58;

bool rdt_problem_span(const rdt_extents *extents, uint64_t most, uint64_t *elements) {
    /* No product of two leaves 64 bits or exceeds results_max, and no span half of it. */
    enum { SHORT_BITS = 28 };
    const uint64_t count = extents->count, outer = extents->outer, inner = extents->inner;
    uint64_t along, across, all, results, packed;
    if (most >= results_max / 2 &&
        !((count | outer | inner | extents->step | extents->outer_step) >> SHORT_BITS)) {
        all = (count - 1) * extents->step + (outer - 1) * extents->outer_step + inner;
        *elements = count ? all : 0;
        return true;
    }
    /* A usual outer_step is `packed`, and must be in range, too, where there are several. */
    if (__builtin_mul_overflow(outer, inner, &results) || results > most || results > results_max ||
        ((__builtin_mul_overflow(count, inner, &packed) || packed > most) && outer > 1) ||
        __builtin_mul_overflow(count ? count - 1 : 0, extents->step, &along) ||
        __builtin_mul_overflow(outer - 1, extents->outer_step, &across) ||
        __builtin_add_overflow(along, across, &all) || all > most || inner > most - all)
        return false;
    *elements = count ? all + inner : 0;
    return true;
}

redtune_status rdt_problem_check_extents(const redtune_problem *problem, redtune_error *err) {
    const rdt_extents extents = rdt_problem_extents(problem);
    /* No dtype is any: a filter's. */
    const uint64_t most = rdt_problem_count_max(problem->dtype ? problem->dtype : REDTUNE_I8);
    const char *dtype = redtune_dtype_name(problem->dtype);
    uint64_t elements = 0;
    if (!rdt_problem_order_name((int)problem->order))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: problem.order is %d, which this redtune does not know",
                        (int)problem->order);
    if (!rdt_problem_ordering_accuracy((int)problem->accuracy))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: problem.accuracy is %d, which this redtune does not know",
                        (int)problem->accuracy);
    if (rdt_problem_span(&extents, most, &elements)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot reduce to %" PRIu64 " x %" PRIu64 " results, outer_step %" PRIu64
                    " and step %" PRIu64 " elements of %s: they span at most %" PRIu64
                    ", and there are at most %" PRIu64 " results",
                    extents.outer, extents.inner, extents.outer_step, extents.step,
                    dtype ? dtype : "any dtype", most, results_max);
}

static redtune_status check_uses(const redtune_problem *problem, const rdt_op_traits *op,
                                 redtune_error *err) {
    const uint64_t resumes = REDTUNE_USE_ACCUMULATE | REDTUNE_USE_INITIAL;
    const uint64_t known = resumes | REDTUNE_USE_DEVICE_COUNT | REDTUNE_USE_BOOLS;
    if (problem->uses & ~known)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: problem.uses is %#" PRIx64
                        ", of which this redtune knows %#" PRIx64,
                        problem->uses, known);
    if (problem->uses & REDTUNE_USE_BOOLS && (!op->bools || problem->dtype != REDTUNE_U8))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s of %s as bools: %s; leave out REDTUNE_USE_BOOLS",
                        op->name, redtune_dtype_name(problem->dtype),
                        op->bools ? "bools are u8" : "it takes none");
    if (problem->uses & REDTUNE_USE_INITIAL && (op->outputs > 1 || op->parameters))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compute the %s from an initial value: it has %s; leave "
                        "out REDTUNE_USE_INITIAL",
                        op->name, op->outputs > 1 ? "two results" : "parameters");
    if (!(problem->uses & resumes) || op->resumes) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot accumulate the %s: its result does not say what it was made of; leave "
                    "out REDTUNE_USE_ACCUMULATE and REDTUNE_USE_INITIAL",
                    op->name);
}

redtune_status rdt_problem_resolve(const redtune_problem *problem, redtune_problem *out,
                                   redtune_error *err) {
    const rdt_op_traits *op = problem ? rdt_op_find(problem->op) : NULL;
    if (op && op->absent)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot reduce: there are measurements of op %s, and it is not here; name "
                        "its file to redtune_open or in REDTUNE_OPS",
                        op->name);
    return rdt_problem_resolve_stored(problem, out, err);
}

redtune_status rdt_problem_resolve_stored(const redtune_problem *problem, redtune_problem *out,
                                          redtune_error *err) {
    if (!problem) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: problem is NULL");
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const rdt_dtype_traits *input = rdt_dtype_find(problem->dtype);
    if (!op)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot reduce: there is no op %d",
                        (int)problem->op);
    if (!input)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce: problem.dtype is %d, which is no dtype; set it to "
                        "REDTUNE_F32 or another",
                        (int)problem->dtype);
    redtune_dtype result = REDTUNE_DTYPE_NONE;
    redtune_status status = rdt_problem_result_resolve(problem, op, input, &result, err);
    if (status) return status;
    redtune_problem resolved;
    rdt_problem_copy(&resolved, problem);
    resolved.result = result;
    if (resolved.order == REDTUNE_ORDER_FREE_ALWAYS) resolved.order = REDTUNE_ORDER_FREE;
    status = rdt_reserved_check(RDT_RESERVED(problem), "redtune_problem", err);
    /* Before the axes, which join further in free order. */
    if (resolved.order == REDTUNE_ORDER_FIXED &&
        (!rdt_problem_shows_order(&resolved) || resolved.accuracy == REDTUNE_ACCURACY_EXACT))
        resolved.order = REDTUNE_ORDER_FREE;
    if (!status) status = rdt_problem_axes_resolve(&resolved, err);
    if (status) return status;
    const uint64_t count = rdt_problem_count(&resolved), most = rdt_problem_count_max(input->dtype);
    if (count > most)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce %" PRIu64 " elements of %s: at most %" PRIu64, count,
                        input->name, most);
    status = rdt_problem_check_extents(&resolved, err);
    if (!status) status = check_uses(&resolved, op, err);
    if (!status) status = rdt_problem_segments_check(&resolved, err);
    if (!status) status = rdt_problem_ordering_resolve(&resolved, err);
    if (!status) status = rdt_problem_mask_check(&resolved, err);
    if (!status) status = rdt_problem_keyed_check(&resolved, err);
    if (status) return status;
    if (resolved.median == count) resolved.median = 0;
    if (!resolved.segmented) resolved.greatest = resolved.median = 0;
    rdt_problem_copy(out, &resolved);
    return REDTUNE_OK;
}

redtune_status rdt_problem_check_filter(const redtune_op *op, const redtune_dtype *dtype,
                                        redtune_error *err) {
    if (op && !rdt_op_find(*op))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot look for op %d: it is unknown", (int)*op);
    if (dtype && !rdt_dtype_find(*dtype))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot look for dtype %d: it is unknown",
                        (int)*dtype);
    return REDTUNE_OK;
}

/* Sums and means are asked for in the wide dtype together. */
redtune_dtype rdt_problem_second(const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    if (op->outputs < 2) return REDTUNE_DTYPE_NONE;
    const rdt_result_class class = op->output[1].result;
    if ((class == RDT_RESULT_SUM || class == RDT_RESULT_MEAN) && problem->result == RDT_DTYPE_WIDE)
        return RDT_DTYPE_WIDE;
    return rdt_problem_result_usual(op, 1, rdt_dtype_find(problem->dtype));
}

redtune_dtype rdt_problem_accumulator(const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const rdt_dtype_traits *input = rdt_dtype_find(problem->dtype);
    const rdt_dtype_traits *result = rdt_dtype_find(problem->result);
    if (input->kind == RDT_KIND_FLOAT)
        return problem->result == RDT_DTYPE_WIDE ? RDT_DTYPE_WIDE : input->accumulator;
    if (op->result != RDT_RESULT_MEAN)
        return result && result->kind == RDT_KIND_FLOAT ? RDT_DTYPE_WIDE : input->accumulator;
    return input->bytes >= (size_t)op->f64_from ? RDT_DTYPE_WIDE : input->accumulator;
}

bool rdt_problem_shows_order(const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const bool computes = op->result == RDT_RESULT_SUM || op->result == RDT_RESULT_MEAN;
    const redtune_dtype accumulator = rdt_problem_accumulator(problem);
    switch (op->combines) {
    case RDT_COMBINES_SUM:
    case RDT_COMBINES_PRODUCT:
    case RDT_COMBINES_NONFINITE:
        return computes && rdt_dtype_find(accumulator)->kind == RDT_KIND_FLOAT;
    case RDT_COMBINES_EXPONENTIALS:
    case RDT_COMBINES_OWN: return true;
    case RDT_COMBINES_LEAST:
    case RDT_COMBINES_GREATEST:
    case RDT_COMBINES_EXTREMES:
    case RDT_COMBINES_MAGNITUDE:
    case RDT_COMBINES_LEAST_MAGNITUDE:
    case RDT_COMBINES_ANY:
    case RDT_COMBINES_ALL:
    case RDT_COMBINES_COUNT:
    case RDT_COMBINES_AND:
    case RDT_COMBINES_OR:
    case RDT_COMBINES_XOR:
    case RDT_COMBINES_ANY_NONFINITE: break;
    }
    return false;
}

rdt_layout rdt_problem_layout(const redtune_problem *problem) {
    if (problem->segmented)
        return problem->segmented == REDTUNE_SEGMENTED_ALL ? RDT_LAYOUT_LIST : RDT_LAYOUT_RAGGED;
    if (rdt_problem_is_strided(problem)) return RDT_LAYOUT_STRIDED;
    if (rdt_problem_is_keyed(problem)) return RDT_LAYOUT_KEYED;
    const rdt_extents extents = rdt_problem_extents(problem);
    return rdt_problem_layout_of(&extents);
}

void rdt_problem_copy(redtune_problem *to, const redtune_problem *from) {
    const size_t most = REDTUNE_AXES_MAX;
    const size_t kept = from->kept_axes < most ? from->kept_axes : most;
    const size_t reduced = from->reduced_axes < most ? from->reduced_axes : most;
    if (to == from) return;
    memcpy(to, from, offsetof(redtune_problem, kept));
    memcpy(to->kept, from->kept, kept * sizeof *to->kept);
    memcpy(to->reduced, from->reduced, reduced * sizeof *to->reduced);
    memcpy(to->reserved, from->reserved, sizeof to->reserved);
}

uint64_t rdt_problem_count(const redtune_problem *problem) {
    return rdt_problem_extents(problem).count;
}

uint64_t rdt_problem_results(const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_extents(problem);
    if (problem->segmented == REDTUNE_SEGMENTED_ALL) return 1;
    if (rdt_problem_is_keyed(problem)) return problem->keys * extents.inner;
    return extents.outer * extents.inner;
}

uint64_t rdt_problem_elements(const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_extents(problem);
    uint64_t elements = 0;
    return __builtin_mul_overflow(extents.count, extents.outer * extents.inner, &elements)
               ? UINT64_MAX
               : elements;
}

uint64_t rdt_problem_array_bytes(const redtune_problem *problem, int array) {
    const int inputs = rdt_op_find(problem->op)->inputs;
    if (array < inputs) return redtune_dtype_bytes(problem->dtype);
    return array == inputs && problem->mask ? 1 : 0;
}

uint64_t rdt_problem_input_bytes(const redtune_problem *problem) {
    uint64_t bytes = redtune_dtype_bytes(problem->key_dtype);
    for (int i = 0; i < RDT_ARRAYS_READ_MAX; i++) bytes += rdt_problem_array_bytes(problem, i);
    return bytes;
}

/* Of one result of each output. */
static uint64_t output_bytes(const redtune_problem *problem) {
    return redtune_dtype_bytes(problem->result) + redtune_dtype_bytes(rdt_problem_second(problem));
}

double rdt_problem_bytes(const redtune_problem *problem) {
    return (double)rdt_problem_elements(problem) * (double)rdt_problem_input_bytes(problem) +
           (double)rdt_problem_results(problem) * (double)output_bytes(problem);
}

uint64_t rdt_problem_reach(const redtune_problem *problem) {
    if (rdt_problem_is_strided(problem)) return rdt_problem_strided_reach(problem);
    const rdt_extents extents = rdt_problem_extents(problem);
    uint64_t elements = 0;
    rdt_problem_span(&extents, UINT64_MAX, &elements);
    return elements;
}

static void keep_most(uint64_t *most, uint64_t value) {
    if (*most < value) *most = value;
}

void rdt_problem_widen(rdt_domain *domain, const redtune_problem *problem) {
    keep_most(&domain->count, rdt_problem_segments_longest(problem));
    keep_most(&domain->results, rdt_problem_strided_results_reach(problem));
    keep_most(&domain->reach, rdt_problem_reach(problem));
}

rdt_domain rdt_problem_domain(const redtune_problem *problems, size_t count) {
    rdt_domain domain = {.problem = *problems};
    for (size_t i = 0; i < count; i++) rdt_problem_widen(&domain, &problems[i]);
    return domain;
}

bool rdt_problem_is_within(const redtune_problem *problem, const rdt_domain *domain) {
    return rdt_problem_same_class(problem, &domain->problem) &&
           rdt_problem_segments_longest(problem) <= domain->count &&
           rdt_problem_strided_results_reach(problem) <= domain->results &&
           rdt_problem_reach(problem) <= domain->reach;
}

/* Values of accurate and plain sums: templates/lib/compensated.lua and superaccumulator.lua. */
static int sum_bytes(const redtune_problem *problem, int values) {
    const bool wide = rdt_problem_accumulator(problem) == RDT_DTYPE_WIDE;
    if (problem->accuracy == REDTUNE_ACCURACY_EXACT) return wide ? 276 : 48;
    if (problem->accuracy == REDTUNE_ACCURACY_COMPENSATED) values *= 2;
    return values * (int)redtune_dtype_bytes(rdt_problem_accumulator(problem));
}

/* Sums over the whole range: templates/lib/range.lua. Values of bf16 and f32 become f64, and those
 * of f64, more of them. */
static int range_bytes(const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const rdt_dtype_traits *input = rdt_dtype_find(problem->dtype);
    if (!op->range_bytes || input->kind != RDT_KIND_FLOAT || input->exponent_bits < 8) return 0;
    if (input->bytes == 8) return problem->accuracy == REDTUNE_ACCURACY_PLAIN ? op->range_bytes : 0;
    return problem->result == RDT_DTYPE_WIDE || op->accumulator_bytes ? 0 : 8 * op->values;
}

/* Those of an accumulator without regard to its range. Values are compared, and bits combined, in
 * 32 bits at least. */
static int plain_bytes(const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const size_t bytes = redtune_dtype_bytes(problem->dtype);
    const int compared = bytes > 4 ? (int)bytes : 4;
    if (op->accumulator_bytes) return op->accumulator_bytes;
    if (op->indexed) return 16; /* a key and an index of 8, aligned to that */
    switch (op->result) {
    case RDT_RESULT_SUM:
    case RDT_RESULT_MEAN: return sum_bytes(problem, op->values);
    case RDT_RESULT_INDEX: return 16;
    case RDT_RESULT_TRUTH: return 4;
    case RDT_RESULT_COUNT: return 8;
    case RDT_RESULT_SAME:
    case RDT_RESULT_ABS:
    case RDT_RESULT_BITS:
    case RDT_RESULT_DTYPE: return op->values * compared;
    }
    return op->values * compared;
}

int rdt_problem_accumulator_bytes(const redtune_problem *problem) {
    const int ranged = range_bytes(problem);
    return ranged ? ranged : plain_bytes(problem);
}

bool rdt_problem_same_traffic(const redtune_problem *a, const redtune_problem *b) {
    if (rdt_problem_is_keyed(a)) return rdt_problem_same_class(a, b); /* its cells decide */
    const rdt_op_traits *of_a = rdt_op_find(a->op), *of_b = rdt_op_find(b->op);
    return of_a->indexed == of_b->indexed && of_a->inputs == of_b->inputs && a->mask == b->mask &&
           of_a->outputs == of_b->outputs && a->order == b->order &&
           rdt_problem_layout(a) == rdt_problem_layout(b) &&
           redtune_dtype_bytes(a->dtype) == redtune_dtype_bytes(b->dtype) &&
           plain_bytes(a) == plain_bytes(b);
}

int rdt_problem_alignment(const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_extents(problem);
    uint64_t steps = extents.outer > 1 ? extents.outer_step : 0;
    if (problem->segmented || rdt_problem_is_strided(problem))
        return RDT_ALIGNMENT_MAX; /* wherever the segments are */
    if (rdt_problem_layout_of(&extents) == RDT_LAYOUT_COLUMNS)
        steps |= rdt_problem_is_part(&extents, problem->dtype) ? 1 : extents.step;
    const uint64_t bytes = steps * redtune_dtype_bytes(problem->dtype) | RDT_ALIGNMENT_MAX;
    return (int)(bytes & -bytes);
}

bool rdt_problem_same_extents(const redtune_problem *a, const redtune_problem *b) {
    return !rdt_problem_compare_extents(a, b);
}

bool rdt_problem_same_class(const redtune_problem *a, const redtune_problem *b) {
    return !rdt_problem_compare_class(a, b);
}

bool rdt_problem_same(const redtune_problem *a, const redtune_problem *b) {
    return rdt_problem_same_class(a, b) && rdt_problem_same_extents(a, b);
}

void rdt_problem_describe(const redtune_problem *problem, char out[RDT_PROBLEM_TEXT_BYTES]) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    bool is_usual =
        problem->result == rdt_problem_result_usual(op, 0, rdt_dtype_find(problem->dtype));
    const rdt_extents extents = rdt_problem_axes_written(problem);
    const bool several = extents.outer > 1, columns = extents.inner > 1;
    const bool plain = problem->accuracy == REDTUNE_ACCURACY_PLAIN;
    char before[64] = "", inner[40] = "", behind[RDT_PROBLEM_TEXT_BYTES] = "";
    if (problem->segmented)
        rdt_problem_segments_describe(problem, before, behind);
    else if (several)
        snprintf(before, sizeof before, "%" PRIu64 "%s", extents.outer,
                 columns ? " x " : " rows of ");
    if (columns) {
        snprintf(inner, sizeof inner, " x %" PRIu64, extents.inner);
        snprintf(behind, sizeof behind, " along axis %d", several);
    } else if (rdt_problem_is_strided(problem)) {
        rdt_problem_strided_describe(problem, behind);
    } else if (rdt_problem_is_keyed(problem)) {
        snprintf(behind, sizeof behind, " by %" PRIu64 " keys of %s", problem->keys,
                 redtune_dtype_name(problem->key_dtype));
    } else if (extents.step > 1) {
        snprintf(behind, sizeof behind, ", %" PRIu64 " apart", extents.step);
    }
    /* Of the most axes it may be cut. */
    rdt_text_print(out, RDT_PROBLEM_TEXT_BYTES, "%s%s%s of %s%" PRIu64 "%s %s%s%s%s%s%s",
                   plain ? "" : rdt_problem_ordering_accuracy((int)problem->accuracy),
                   plain ? "" : " ", op->name, before, extents.count, inner,
                   redtune_dtype_name(problem->dtype), is_usual ? "" : " as ",
                   is_usual ? "" : redtune_dtype_name(problem->result), behind,
                   problem->mask ? " with a mask" : "",
                   problem->order == REDTUNE_ORDER_FIXED ? " in fixed order" : "");
}

uint64_t rdt_problem_count_max(redtune_dtype dtype) {
    size_t bytes = redtune_dtype_bytes(dtype);
    return bytes ? (UINT64_C(1) << 60) / bytes : 0;
}
