/* Row: a measurement between C and SQL, by the lists of columns, and what a row may hold. */
#include "cache/row.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"

/* ---- columns ----------------------------------------------------------------------------------
 */

/* Names, texts, integers, integers that may be unknown, and what is NULL unless the outcome is
 * good. */
typedef enum kind {
    KIND_OP,
    KIND_DTYPE,
    KIND_LAYOUT,
    KIND_ORDER,
    KIND_MASK,
    KIND_KEYED,
    KIND_SPREAD_OF,
    KIND_CACHE,
    KIND_OUTCOME,
    KIND_TEXT,
    KIND_LABEL,
    KIND_CAUSE,
    KIND_KERNEL,
    KIND_INTEGER,
    KIND_FLAG,
    KIND_DATE,
    KIND_COUNT,
    KIND_AXES,
    KIND_EXTENT,
    KIND_PLACE,
    KIND_CLOCK,
    KIND_BITS,
    KIND_CONDITION,
    KIND_SAMPLES,
    KIND_TIME,
    KIND_SPREAD,
} kind;

typedef struct column {
    kind kind;
    int64_t least, most;
    size_t offset, bytes; /* of the field in rdt_row */
    const char *wrong;
} column;

#define COLUMN(kind, column, least, most, field, note, before)                                     \
    {KIND_##kind,                                                                                  \
     least,                                                                                        \
     most,                                                                                         \
     offsetof(rdt_row, field),                                                                     \
     sizeof((rdt_row *)0)->field,                                                                  \
     "its " #column " is not valid"},

static const column gpu_columns[] = {RDT_GPU_LIST(COLUMN)};
static const column origin_columns[] = {RDT_ORIGIN_LIST(COLUMN)};
static const column measurement_columns[] = {RDT_MEASUREMENT_LIST(COLUMN)};

#define COUNT_OF(columns) (sizeof(columns) / sizeof *(columns))

static int64_t get_integer(const rdt_row *row, const column *column) {
    const char *at = (const char *)row + column->offset;
    if (column->kind == KIND_COUNT) return (int64_t)rdt_problem_count(&row->trial.problem);
    if (column->bytes == sizeof(bool)) return *(const bool *)at;
    return column->bytes == sizeof(int) ? *(const int *)at : *(const int64_t *)at;
}

static void set_integer(rdt_row *row, const column *column, int64_t value) {
    char *at = (char *)row + column->offset;
    if (column->bytes == sizeof(bool))
        *(bool *)at = value != 0;
    else if (column->bytes == sizeof(int))
        *(int *)at = (int)value;
    else
        *(int64_t *)at = value;
}

static bool is_name(const column *column) { return column->kind <= KIND_OUTCOME; }

static bool is_text(const column *column) {
    return column->kind > KIND_OUTCOME && column->kind <= KIND_KERNEL;
}

static bool may_be_unknown(const column *column) {
    return column->kind == KIND_CAUSE || column->kind == KIND_KERNEL ||
           (column->kind >= KIND_PLACE && column->kind <= KIND_CONDITION);
}

static bool is_of_good(const column *column) { return column->kind >= KIND_SAMPLES; }

/* What the field of an optional column has where the column is NULL. */
static int64_t missing_value(const column *column) {
    return column->kind == KIND_PLACE ? INT_MAX : 0;
}

/* ---- names ------------------------------------------------------------------------------------
 */

static const char *const cache_names[] = {
    [RDT_CACHE_COLD] = "cold",
    [RDT_CACHE_WARM] = "warm",
};

static const char *name_of(kind kind, int value) {
    switch ((int)kind) { /* those of other kinds have no names */
    case KIND_OP: return redtune_op_name((redtune_op)value);
    case KIND_DTYPE: return redtune_dtype_name((redtune_dtype)value);
    case KIND_LAYOUT: return rdt_problem_layout_name(value);
    case KIND_ORDER: return rdt_problem_order_name(value); /* beside the accuracy */
    case KIND_MASK: return rdt_problem_mask_name(value);
    case KIND_SPREAD_OF: return rdt_problem_spread_name(value);
    case KIND_KEYED: return value ? redtune_dtype_name((redtune_dtype)value) : "none";
    case KIND_CACHE:
        return value == RDT_CACHE_COLD || value == RDT_CACHE_WARM ? cache_names[value] : NULL;
    default:
        return value >= 0 && value < RDT_OUTCOME_COUNT ? rdt_trial_outcome_name((rdt_outcome)value)
                                                       : NULL;
    }
}

/* -1 for no such name. */
static int find_name(kind kind, const char *name) {
    const rdt_op_traits *op;
    redtune_dtype dtype;
    switch ((int)kind) {
    case KIND_OP: op = rdt_op_meet(name); return op ? (int)op->op : -1;
    case KIND_DTYPE: return redtune_dtype_find(name, &dtype, NULL) ? -1 : (int)dtype;
    case KIND_LAYOUT: return rdt_problem_find_layout(name);
    case KIND_MASK: return rdt_problem_find_mask(name);
    case KIND_SPREAD_OF: return rdt_problem_find_spread(name);
    case KIND_KEYED:
        return !strcmp(name, "none") ? 0 : redtune_dtype_find(name, &dtype, NULL) ? -1 : (int)dtype;
    case KIND_CACHE:
        return !strcmp(name, cache_names[RDT_CACHE_COLD])   ? RDT_CACHE_COLD
               : !strcmp(name, cache_names[RDT_CACHE_WARM]) ? RDT_CACHE_WARM
                                                            : -1;
    default: return rdt_trial_outcome_find(name);
    }
}

/* ---- what a row may hold ----------------------------------------------------------------------
 */

static bool within(int64_t value, const column *column) {
    return value >= column->least && value <= column->most;
}

/* Ends within its buffer and may be shown: a text of a database may reach a terminal. */
static bool text_fits(const rdt_row *row, const column *column) {
    const char *text = (const char *)row + column->offset;
    if (!memchr(text, '\0', column->bytes) || !rdt_text_is_plain(text)) return false;
    bool may_be_empty = column->kind != KIND_TEXT;
    return (!*text && may_be_empty) || within((int64_t)strlen(text), column);
}

static bool value_fits(const rdt_row *row, const column *column) {
    if (is_text(column)) return text_fits(row, column);
    if (is_of_good(column)) return true; /* times_fit looks at all three */
    if (column->kind == KIND_AXES) return true;
    int64_t value = get_integer(row, column);
    if (is_name(column)) return name_of(column->kind, (int)value) != NULL;
    if (may_be_unknown(column) && value == missing_value(column)) return true;
    return within(value, column);
}

static const char *check_columns(const rdt_row *row, const column *columns, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!value_fits(row, &columns[i])) return columns[i].wrong;
    return NULL;
}

static bool times_fit(const rdt_trial *trial) {
    static const double time_most_ns = 1e15;
    if (trial->outcome != RDT_OUTCOME_GOOD)
        return trial->median_ns == 0 && trial->spread_ns == 0 && trial->samples == 0;
    /* Written so that NaN fits nothing. */
    return trial->median_ns > 0 && trial->median_ns <= time_most_ns && trial->spread_ns >= 0 &&
           trial->spread_ns <= time_most_ns && trial->samples >= 1 && trial->samples <= 1000000000;
}

const char *rdt_row_check(const rdt_row *row) {
    redtune_problem resolved;
    const rdt_origin *origin = &row->origin;
    if (!row->trial.problem.result ||
        rdt_problem_resolve_stored(&row->trial.problem, &resolved, NULL))
        return "its op, dtype, result and extents are no problem";
    /* Else two rows of one problem would be taken for rows of two. */
    if (!rdt_problem_same_extents(&row->trial.problem, &resolved))
        return "its extents are not written as they would be here";
    const char *wrong = check_columns(row, measurement_columns, COUNT_OF(measurement_columns));
    if (!wrong && !times_fit(&row->trial))
        wrong = "its times do not fit its outcome or are out of range";
    if (!wrong) wrong = check_columns(row, gpu_columns, COUNT_OF(gpu_columns));
    if (!wrong) wrong = check_columns(row, origin_columns, COUNT_OF(origin_columns));
    if (!wrong &&
        (!memchr(origin->build, '\0', sizeof origin->build) || !rdt_text_is_plain(origin->build)))
        wrong = "its build is not valid";
    return wrong;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static bool read_text(sqlite3_stmt *statement, int i, char *out, size_t bytes) {
    if (sqlite3_column_type(statement, i) != SQLITE_TEXT) return false;
    const unsigned char *text = sqlite3_column_text(statement, i);
    size_t length = (size_t)sqlite3_column_bytes(statement, i);
    if (!text || length >= bytes || memchr(text, '\0', length)) return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

static bool read_name(sqlite3_stmt *statement, int i, const column *column, rdt_row *row) {
    char name[RDT_NAME_BYTES];
    if (!read_text(statement, i, name, sizeof name)) return false;
    if (column->kind == KIND_ORDER) return rdt_problem_ordering_find(name, &row->trial.problem);
    int value = find_name(column->kind, name);
    set_integer(row, column, value);
    return value >= 0;
}

static bool read_integer(sqlite3_stmt *statement, int i, const column *column, rdt_row *row) {
    int64_t value = sqlite3_column_int64(statement, i);
    if (sqlite3_column_type(statement, i) != SQLITE_INTEGER || !within(value, column)) return false;
    set_integer(row, column, value);
    return true;
}

/* JSON may write a time without a point. */
static bool read_time(sqlite3_stmt *statement, int i, double *out) {
    int type = sqlite3_column_type(statement, i);
    *out = sqlite3_column_double(statement, i);
    return type == SQLITE_FLOAT || type == SQLITE_INTEGER;
}

/* The row holds the columns before this one, and zeros. */
static bool read_value(sqlite3_stmt *statement, int i, const column *column, rdt_row *row) {
    char *at = (char *)row + column->offset;
    bool is_null = sqlite3_column_type(statement, i) == SQLITE_NULL;
    if (is_of_good(column) && row->trial.outcome != RDT_OUTCOME_GOOD) return is_null;
    if (is_null && may_be_unknown(column)) {
        if (!is_text(column)) set_integer(row, column, missing_value(column));
        return true;
    }
    if (is_name(column)) return read_name(statement, i, column, row);
    if (is_text(column) || column->kind == KIND_AXES)
        return read_text(statement, i, at, column->bytes) && (*at || column->kind != KIND_KERNEL);
    if (column->kind >= KIND_TIME) return read_time(statement, i, (double *)at);
    return read_integer(statement, i, column, row);
}

/* Reads from column *at on, and moves it behind them. NULL, or what is wrong. */
static const char *read_columns(sqlite3_stmt *statement, const column *columns, size_t count,
                                int *at, rdt_row *row) {
    for (size_t i = 0; i < count; i++)
        if (!read_value(statement, (*at)++, &columns[i], row)) return columns[i].wrong;
    return NULL;
}

/* A bad row has the build of redtune that found it so behind its cause: the column keeps
 * its name and place, and whoever reads the file sees it. */
static const char build_head[] = " (build ";

static void take_build(rdt_row *row) {
    char *cause = row->trial.cause, *at = NULL;
    for (char *next = strstr(cause, build_head); next; next = strstr(next + 1, build_head))
        at = next;
    if (row->trial.outcome == RDT_OUTCOME_GOOD || !at) return;
    const char *text = at + sizeof build_head - 1;
    size_t length = strspn(text, "0123456789abcdef");
    if (!length || length >= sizeof row->origin.build || strcmp(text + length, ")")) return;
    memcpy(row->origin.build, text, length);
    *at = '\0';
}

/* By the texts of the axes. Else than as they are written here, two rows of one problem would be
 * taken for rows of two. */
static const char *read_axes(rdt_row *row) {
    redtune_problem *problem = &row->trial.problem;
    char kept[RDT_AXES_TEXT_BYTES], reduced[RDT_AXES_TEXT_BYTES];
    problem->segmented = (uint32_t)rdt_problem_segments_of(row->layout);
    if (!rdt_problem_axes_text_read(row->kept, row->reduced, problem) ||
        rdt_problem_axes_resolve(problem, NULL))
        return "its axes are not valid";
    rdt_problem_axes_text_write(problem, true, kept);
    rdt_problem_axes_text_write(problem, false, reduced);
    if (strcmp(kept, row->kept) != 0 || strcmp(reduced, row->reduced) != 0)
        return "its axes are not written as they would be here";
    return row->count == (int64_t)rdt_problem_count(problem) ? NULL
                                                             : "its count is not that of its axes";
}

const char *rdt_row_read_or_why(sqlite3_stmt *statement, rdt_row *row, int64_t *gpu) {
    int import = sqlite3_column_type(statement, 1), at = 2;
    *row = (rdt_row){.import = sqlite3_column_int64(statement, 1)};
    row->trial.imported = row->import != 0;
    *gpu = sqlite3_column_int64(statement, 0);
    if (sqlite3_column_type(statement, 0) != SQLITE_INTEGER ||
        (import != SQLITE_NULL && import != SQLITE_INTEGER))
        return "its gpu or import is no id";
    const char *wrong =
        read_columns(statement, measurement_columns, COUNT_OF(measurement_columns), &at, row);
    if (!wrong) wrong = read_columns(statement, gpu_columns, COUNT_OF(gpu_columns), &at, row);
    if (!wrong) wrong = read_columns(statement, origin_columns, COUNT_OF(origin_columns), &at, row);
    if (wrong) return wrong;
    const char *axes = read_axes(row);
    if (axes) return axes;
    if (row->layout != rdt_problem_layout(&row->trial.problem))
        return "its layout is not that of its extents";
    take_build(row);
    return rdt_row_check(row);
}

bool rdt_row_read(sqlite3_stmt *statement, rdt_row *row, int64_t *gpu) {
    return !rdt_row_read_or_why(statement, row, gpu);
}

int rdt_row_column_of(const char *wrong) {
    static const struct {
        const column *columns;
        size_t count;
    } tables[] = {{measurement_columns, COUNT_OF(measurement_columns)},
                  {gpu_columns, COUNT_OF(gpu_columns)},
                  {origin_columns, COUNT_OF(origin_columns)}};
    int at = 2;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (size_t k = 0; k < tables[i].count; k++, at++)
            if (tables[i].columns[k].wrong == wrong) return at;
    return -1;
}

bool rdt_row_read_class(sqlite3_stmt *statement, redtune_problem *problem) {
    rdt_row row = {.trial = {.problem = *problem}};
    size_t count = 0;
    int at = 0;
    while (measurement_columns[count].kind <= KIND_ORDER) count++;
    if (read_columns(statement, measurement_columns, count, &at, &row) ||
        row.layout != rdt_problem_layout(problem))
        return false;
    *problem = row.trial.problem;
    return true;
}

bool rdt_row_read_gpu(sqlite3_stmt *statement, rdt_facts *gpu) {
    rdt_row row = {0};
    int at = 0;
    if (read_columns(statement, gpu_columns, COUNT_OF(gpu_columns), &at, &row) ||
        check_columns(&row, gpu_columns, COUNT_OF(gpu_columns)))
        return false;
    *gpu = row.gpu;
    return true;
}

/* ---- binding ----------------------------------------------------------------------------------
 */

static void write_cause(const rdt_row *row, char out[sizeof row->trial.cause]) {
    const rdt_trial *trial = &row->trial;
    char build[sizeof row->origin.build + sizeof build_head + 1] = "";
    if (trial->outcome != RDT_OUTCOME_GOOD && row->origin.build[0])
        snprintf(build, sizeof build, "%s%s)", build_head, row->origin.build);
    rdt_text_copy_plain(out, sizeof trial->cause - strlen(build), trial->cause);
    strcat(out, build);
}

static int bind_cause(sqlite3_stmt *statement, int i, const rdt_row *row) {
    char text[sizeof row->trial.cause];
    write_cause(row, text);
    if (!text[0]) return sqlite3_bind_null(statement, i);
    return sqlite3_bind_text(statement, i, text, -1, SQLITE_TRANSIENT);
}

/* Whether the column is NULL in this row. */
static bool is_unknown(const rdt_row *row, const column *column) {
    const rdt_conditions *of = &row->trial.conditions;
    if (is_of_good(column)) return row->trial.outcome != RDT_OUTCOME_GOOD;
    if (column->kind == KIND_KERNEL) return !row->trial.kernel[0];
    if (column->kind == KIND_BITS || column->kind == KIND_CONDITION)
        return !(of->sm_mhz || of->memory_mhz || of->temperature_c || of->throttle || of->others);
    return may_be_unknown(column) && column->kind != KIND_CAUSE &&
           get_integer(row, column) == missing_value(column);
}

static int bind_value(sqlite3_stmt *statement, int i, const column *column, const rdt_row *row) {
    const char *at = (const char *)row + column->offset;
    if (is_unknown(row, column)) return sqlite3_bind_null(statement, i);
    if (column->kind == KIND_CAUSE) return bind_cause(statement, i, row);
    if (column->kind >= KIND_TIME)
        return sqlite3_bind_double(statement, i, *(const double *)(const void *)at);
    if (column->kind == KIND_LAYOUT)
        at = rdt_problem_layout_name(rdt_problem_layout(&row->trial.problem));
    else if (column->kind == KIND_ORDER)
        at = rdt_problem_ordering_name(&row->trial.problem);
    else if (is_name(column))
        at = name_of(column->kind, (int)get_integer(row, column));
    if (is_name(column) || is_text(column))
        return sqlite3_bind_text(statement, i, at, -1, SQLITE_STATIC);
    if (column->kind == KIND_AXES) {
        char axes[RDT_AXES_TEXT_BYTES];
        const bool kept = column->offset == offsetof(rdt_row, kept);
        rdt_problem_axes_text_write(&row->trial.problem, kept, axes);
        return sqlite3_bind_text(statement, i, axes, -1, SQLITE_TRANSIENT);
    }
    int64_t value = get_integer(row, column);
    return sqlite3_bind_int64(statement, i, value);
}

/* Binds the columns to the parameters from before + 1 on. */
static int bind_columns(sqlite3_stmt *statement, int before, const column *columns, size_t count,
                        const rdt_row *row) {
    int rc = SQLITE_OK;
    for (size_t i = 0; !rc && i < count; i++)
        rc = bind_value(statement, before + (int)i + 1, &columns[i], row);
    return rc;
}

int rdt_row_bind_gpu(sqlite3_stmt *statement, const rdt_row *row) {
    return bind_columns(statement, 0, gpu_columns, COUNT_OF(gpu_columns), row);
}

int rdt_row_bind_origin(sqlite3_stmt *statement, const rdt_row *row) {
    return bind_columns(statement, 0, origin_columns, COUNT_OF(origin_columns), row);
}

int rdt_row_bind_measurement(sqlite3_stmt *statement, const rdt_row *row, int64_t gpu,
                             int64_t origin) {
    const int last = 2 + (int)COUNT_OF(measurement_columns) + 1;
    int rc = sqlite3_bind_int64(statement, 1, gpu);
    if (!rc) rc = sqlite3_bind_int64(statement, 2, origin);
    if (!rc)
        rc = bind_columns(statement, 2, measurement_columns, COUNT_OF(measurement_columns), row);
    if (rc) return rc;
    return row->import ? sqlite3_bind_int64(statement, last, row->import)
                       : sqlite3_bind_null(statement, last);
}

/* Binds the columns of the kinds from first to last, to the parameters from before + 1 on. */
static int bind_kinds(sqlite3_stmt *statement, int before, kind first, kind last,
                      const rdt_trial *trial) {
    const rdt_row row = {.trial = *trial};
    int rc = SQLITE_OK;
    for (size_t i = 0; !rc && i < COUNT_OF(measurement_columns); i++) {
        const column *each = &measurement_columns[i];
        if (each->kind >= first && each->kind <= last)
            rc = bind_value(statement, ++before, each, &row);
    }
    return rc;
}

int rdt_row_bind_class(sqlite3_stmt *statement, const rdt_trial *trial) {
    return bind_kinds(statement, 0, KIND_OP, KIND_CACHE, trial);
}

int rdt_row_bind_subject(sqlite3_stmt *statement, const rdt_trial *trial, int64_t gpu) {
    int rc = rdt_row_bind_class(statement, trial);
    if (!rc) rc = sqlite3_bind_int64(statement, 10, gpu);
    return rc ? rc : bind_kinds(statement, 10, KIND_COUNT, KIND_EXTENT, trial);
}
