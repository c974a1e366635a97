/* Wanted: the problems that a tune's options ask for. */
#include "cli/wanted.h"

#include <stdlib.h>
#include <string.h>
#include "cli/beside.h"
#include "cli/lengths.h"
#include "cli/message.h"
#include "redtune/tools.h"

/* Of shapes for which no dtype is named: those in which models compute. */
static const redtune_op usual_ops[] = {REDTUNE_SUM};
static const redtune_dtype usual_dtypes[] = {REDTUNE_F16, REDTUNE_BF16, REDTUNE_F32};

static bool takes(const rdt_options *options, redtune_op op, redtune_dtype dtype) {
    redtune_problem problem = redtune_problem_whole(op, dtype, 1);
    redtune_dtype result;
    redtune_error ignored;
    problem.order = options->order;
    problem.accuracy = options->accuracy;
    return !redtune_problem_result(&problem, &result, &ignored);
}

bool rdt_wanted_leaves_out(const rdt_options *options, redtune_op op, const redtune_dtype *dtypes,
                           size_t dtype_count, size_t i) {
    bool others = false;
    if (takes(options, op, dtypes[i])) return false;
    for (size_t k = 0; k < dtype_count && !others; k++) others = takes(options, op, dtypes[k]);
    if (others && !options->quiet)
        rdt_message_print("warning: %s of %s is left out: it does not take that",
                          redtune_op_name(op), redtune_dtype_name(dtypes[i]));
    return others;
}

typedef struct listing {
    const rdt_options *options;
    redtune_op op; /* of what is added now */
    redtune_dtype dtype;
    redtune_problem *problems;
    size_t count, capacity;
} listing;

/* ---- which options go together ------------------------------------------------------------- */

static redtune_status refuse_pair(const char *a, const char *b, const char *reason,
                                  redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --%s with --%s: %s", a, b, reason);
}

static redtune_status check_keys(const rdt_options *options, redtune_error *err) {
    redtune_problem ignored = {.op = REDTUNE_SUM};
    const bool keys = options->keys.count_count;
    if (!keys) return rdt_options_take_keys(options, 0, &ignored, err);
    if (options->segments || options->list || options->rows.count_count)
        return refuse_pair("keys",
                           options->segments ? "segments"
                           : options->list   ? "list"
                                             : "rows",
                           "keys say which elements belong together; give --size or --shape", err);
    if (options->shape || options->sizes.count_count) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --keys alone: give the elements, such as --size 16M");
}

static redtune_status check_together(const rdt_options *options, redtune_error *err) {
    const bool rows = options->rows.count_count, cols = options->cols.count_count;
    const bool axis = options->axes.count, sizes = options->sizes.count_count;
    static const char whole[] = "--size is for whole arrays; name arrays with --shape";
    static const char two[] = "a matrix is one kind of array; give one of the two";
    if (sizes && options->shape) return refuse_pair("size", "shape", whole, err);
    if (sizes && (rows || cols)) return refuse_pair("size", rows ? "rows" : "cols", whole, err);
    if (sizes && axis) return refuse_pair("size", "axis", whole, err);
    redtune_status status = rdt_options_check_segments(options, err);
    if (!status) status = rdt_beside_check(options, err);
    if (!status) status = check_keys(options, err);
    if (status) return status;
    if (options->shape && (rows || cols))
        return refuse_pair("shape", rows ? "rows" : "cols", two, err);
    if (rows != cols)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --%s without --%s: a matrix has both",
                               rows ? "rows" : "cols", rows ? "cols" : "rows");
    const unsigned layouts = rdt_options_matrix_layouts(options);
    if (rows && layouts != REDTUNE_LAYOUT_ROWS && layouts != REDTUNE_LAYOUT_COLUMNS)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --rows and --cols with%s --axis%s: give --axis 1 to "
                               "reduce each row, --axis 0 to reduce each column",
                               axis ? "" : "out", axis ? " of other axes" : "");
    if (axis && !rows && !options->shape && !layouts)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --axis alone for other axes than 0, the default shapes "
                               "of columns, and 1, those of rows; name arrays with --shape");
    return REDTUNE_OK;
}

/* ---- the shapes ---------------------------------------------------------------------------- */

static redtune_status keep_problem(listing *self, const redtune_problem *problem,
                                   redtune_error *err) {
    if (self->count == self->capacity) {
        const size_t capacity = self->capacity ? 2 * self->capacity : 64;
        redtune_problem *problems = realloc(self->problems, capacity * sizeof *problems);
        if (!problems)
            return rdt_message_set(err, REDTUNE_MEMORY, 0,
                                   "cannot list the problems: out of host memory");
        self->problems = problems;
        self->capacity = capacity;
    }
    self->problems[self->count++] = *problem;
    return REDTUNE_OK;
}

/* By each number of keys, where there are any. */
static redtune_status keep_by_keys(listing *self, redtune_problem problem, redtune_error *err) {
    const rdt_sizes *keys = &self->options->keys;
    redtune_status status = REDTUNE_OK;
    if (!keys->count_count) return keep_problem(self, &problem, err);
    for (size_t i = 0; !status && i < keys->count_count; i++) {
        status = rdt_options_take_keys(self->options, keys->counts[i], &problem, err);
        if (!status) status = keep_problem(self, &problem, err);
    }
    return status;
}

static redtune_problem begin_problem(const listing *self) {
    return (redtune_problem){.op = self->op,
                             .dtype = self->dtype,
                             .order = self->options->order,
                             .accuracy = self->options->accuracy};
}

static redtune_status add_shape(listing *self, const rdt_shape_array *shape, redtune_error *err) {
    redtune_problem problem = begin_problem(self);
    redtune_status status = rdt_beside_fold(self->options, shape, &problem, err);
    return status ? status : keep_by_keys(self, problem, err);
}

/* By key. */
static redtune_status add_sizes_by_key(listing *self, redtune_error *err) {
    const rdt_sizes *sizes = &self->options->sizes;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < sizes->count_count; i++) {
        redtune_problem problem = begin_problem(self);
        rdt_shape_set(&problem, 0, sizes->counts[i]);
        status = keep_by_keys(self, problem, err);
    }
    return status;
}

static redtune_status add_segments(listing *self, const char *list, redtune_segmented segmented,
                                   redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (bool more = true; !status && more;) {
        redtune_problem problem = begin_problem(self);
        problem.segmented = segmented;
        status = rdt_lengths_read_next(&list, &problem, &more, err);
        if (!status && more) status = keep_problem(self, &problem, err);
    }
    return status;
}

static redtune_status add_arrays(listing *self, redtune_error *err) {
    const char *list = self->options->shape;
    rdt_shape_array shape;
    bool more;
    redtune_status status = rdt_shape_read_next(&list, &shape, &more, err);
    while (!status && more) {
        status = add_shape(self, &shape, err);
        if (!status) status = rdt_shape_read_next(&list, &shape, &more, err);
    }
    return status;
}

static redtune_status add_matrices(listing *self, redtune_error *err) {
    const rdt_sizes *rows = &self->options->rows, *cols = &self->options->cols;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < rows->count_count * cols->count_count; i++) {
        const rdt_shape_array shape = {{(int64_t)rows->counts[i / cols->count_count],
                                        (int64_t)cols->counts[i % cols->count_count]},
                                       2};
        status = add_shape(self, &shape, err);
    }
    return status;
}

/* Every shape with every op and dtype that it takes. */
static redtune_status cross_shapes(listing *self, redtune_error *err) {
    const rdt_options *options = self->options;
    const redtune_op *ops = options->op_count ? options->ops : usual_ops;
    const redtune_dtype *dtypes = options->dtype_count ? options->dtypes : usual_dtypes;
    const size_t op_count = options->op_count ? options->op_count : 1;
    const size_t dtype_count =
        options->dtype_count ? options->dtype_count : sizeof usual_dtypes / sizeof *usual_dtypes;
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < op_count * dtype_count; i++) {
        self->op = ops[i / dtype_count];
        self->dtype = dtypes[i % dtype_count];
        if (rdt_wanted_leaves_out(options, self->op, dtypes, dtype_count, i % dtype_count))
            continue;
        if (options->shape)
            status = add_arrays(self, err);
        else if (options->rows.count_count)
            status = add_matrices(self, err);
        else if (options->keys.count_count)
            status = add_sizes_by_key(self, err);
        if (!status && options->segments)
            status = add_segments(self, options->segments, REDTUNE_SEGMENTED_EACH, err);
        if (!status && options->list)
            status = add_segments(self, options->list, REDTUNE_SEGMENTED_ALL, err);
    }
    return status;
}

/* ---- what programs ran --------------------------------------------------------------------- */

static redtune_status refuse_beside_recorded(const rdt_options *options, redtune_error *err) {
    const struct {
        const char *name;
        bool given;
    } others[] = {{"op", options->op_count},
                  {"dtype", options->dtype_count},
                  {"size", options->sizes.count_count},
                  {"rows", options->rows.count_count},
                  {"cols", options->cols.count_count},
                  {"shape", options->shape},
                  {"strides", options->steps.count},
                  {"second-shape", options->second_shape},
                  {"where-shape", options->where_shape},
                  {"segments", options->segments},
                  {"list", options->list},
                  {"axis", options->axes.count},
                  {"keys", options->keys.count_count},
                  {"key-dtype", options->key_dtype},
                  {"spread", options->spread},
                  {"order", options->order == REDTUNE_ORDER_FIXED},
                  {"accuracy", options->accuracy != REDTUNE_ACCURACY_PLAIN}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return refuse_pair(others[i].name, "recorded", "the recording names the problems", err);
    return REDTUNE_OK;
}

static redtune_status list_recorded(const rdt_options *options, rdt_wanted *out,
                                    redtune_error *err) {
    rdt_wanted wanted = {.layouts = 0};
    redtune_status status = refuse_beside_recorded(options, err);
    if (!status)
        status =
            redtune_recording_read(options->recorded, &wanted.recorded, &wanted.problem_count, err);
    if (status) return status;
    if (!wanted.problem_count) {
        redtune_free(wanted.recorded);
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot take what %.300s recorded: it names no problem: the "
                               "programs ran measured ones only, or have not ended yet",
                               options->recorded);
    }
    wanted.problems = malloc(wanted.problem_count * sizeof *wanted.problems);
    if (!wanted.problems) {
        redtune_free(wanted.recorded);
        return rdt_message_set(err, REDTUNE_MEMORY, 0,
                               "cannot list the problems: out of host memory");
    }
    for (size_t i = 0; i < wanted.problem_count; i++)
        wanted.problems[i] = wanted.recorded[i].problem;
    *out = wanted;
    return REDTUNE_OK;
}

/* With their steps, where these are none of rows and columns. */
static bool has_same_axes(const redtune_problem *x, const redtune_problem *y) {
    if (!rdt_shape_has_any_axes(x) && !rdt_shape_has_any_axes(y)) return true;
    return x->kept_axes == y->kept_axes && x->reduced_axes == y->reduced_axes &&
           !memcmp(x->kept, y->kept, x->kept_axes * sizeof *x->kept) &&
           !memcmp(x->reduced, y->reduced, x->reduced_axes * sizeof *x->reduced);
}

static bool is_same(const redtune_problem *x, const redtune_problem *y) {
    const rdt_shape_extents a = rdt_shape_complete(x), b = rdt_shape_complete(y);
    return x->op == y->op && x->dtype == y->dtype && x->result == y->result &&
           x->order == y->order && x->accuracy == y->accuracy && x->segmented == y->segmented &&
           a.count == b.count && a.outer == b.outer && a.inner == b.inner && a.step == b.step &&
           (a.outer == 1 || a.outer_step == b.outer_step) && a.median == b.median &&
           a.greatest == b.greatest && x->key_dtype == y->key_dtype && x->keys == y->keys &&
           x->spread == y->spread && x->mask == y->mask && has_same_axes(x, y);
}

/* The time of one call before; that of the built-in default the tune has just measured. 0: unknown.
 */
static double time_before(const redtune_recorded *recorded, const redtune_tuned *now) {
    if (recorded->match == REDTUNE_MATCH_DEFAULT && now->default_ns > 0) return now->default_ns;
    return recorded->calls ? recorded->ns / (double)recorded->calls : 0;
}

rdt_wanted_gain rdt_wanted_compare(const rdt_wanted *wanted, const redtune_tuned *results,
                                   size_t result_count) {
    rdt_wanted_gain gain = {.known = 0};
    for (size_t i = 0; wanted->recorded && i < wanted->problem_count; i++) {
        const redtune_recorded *recorded = &wanted->recorded[i];
        size_t at = 0;
        while (at < result_count && !is_same(&results[at].problem, &recorded->problem)) at++;
        if (at == result_count) continue;
        const double before_ns = time_before(recorded, &results[at]);
        if (!(before_ns > 0)) gain.unknown++;
        if (!(before_ns > 0)) continue;
        gain.known++;
        gain.calls += recorded->calls;
        gain.before_ns += before_ns * (double)recorded->calls;
        gain.now_ns += results[at].median_ns * (double)recorded->calls;
    }
    return gain;
}

/* ---- all of them --------------------------------------------------------------------------- */

redtune_status rdt_wanted_list(const rdt_options *options, rdt_wanted *out, redtune_error *err) {
    const bool shapes = options->shape || options->rows.count_count || options->segments ||
                        options->list || options->keys.count_count;
    const bool sizes = options->op_count || options->dtype_count || options->sizes.count_count;
    listing self = {.options = options};
    if (options->recorded) return list_recorded(options, out, err);
    redtune_status status = check_together(options, err);
    if (!status && shapes) status = cross_shapes(&self, err);
    if (status) {
        free(self.problems);
        return status;
    }
    *out = (rdt_wanted){self.problems, self.count, REDTUNE_LAYOUT_WHOLE, NULL};
    if (!shapes && options->axes.count)
        out->layouts = rdt_options_matrix_layouts(options);
    else if (!shapes && !sizes)
        out->layouts = REDTUNE_LAYOUT_WHOLE | REDTUNE_LAYOUT_ROWS | REDTUNE_LAYOUT_COLUMNS;
    return REDTUNE_OK;
}

void rdt_wanted_free(rdt_wanted *wanted) {
    free(wanted->problems);
    redtune_free(wanted->recorded);
}
