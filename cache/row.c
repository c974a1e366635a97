/* Row: a measurement between C and SQL, by the lists of columns, and what a row may hold. */
#include "cache/row.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "cache/cell.h"

#define COLUMN(kind, column, least, most, field, note, before)                                     \
    {RDT_CELL_##kind,                                                                              \
     least,                                                                                        \
     most,                                                                                         \
     offsetof(rdt_row, field),                                                                     \
     sizeof((rdt_row *)0)->field,                                                                  \
     "its " #column " is not valid"},

static const rdt_cell gpu_columns[] = {RDT_GPU_LIST(COLUMN)};
static const rdt_cell origin_columns[] = {RDT_ORIGIN_LIST(COLUMN)};
static const rdt_cell measurement_columns[] = {RDT_MEASUREMENT_LIST(COLUMN)};

#define COUNT_OF(columns) (sizeof(columns) / sizeof *(columns))

/* ---- what a row may hold --------------------------------------------------------------------- */

static const char *check_columns(const rdt_row *row, const rdt_cell *columns, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!rdt_cell_fits(row, &columns[i])) return columns[i].wrong;
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

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_text(sqlite3_stmt *statement, int i, char *out, size_t bytes) {
    if (sqlite3_column_type(statement, i) != SQLITE_TEXT) return false;
    const unsigned char *text = sqlite3_column_text(statement, i);
    size_t length = (size_t)sqlite3_column_bytes(statement, i);
    if (!text || length >= bytes || memchr(text, '\0', length)) return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

static bool read_name(sqlite3_stmt *statement, int i, const rdt_cell *cell, rdt_row *row) {
    char name[RDT_NAME_BYTES];
    if (!read_text(statement, i, name, sizeof name)) return false;
    if (cell->kind == RDT_CELL_ORDER) return rdt_problem_ordering_find(name, &row->trial.problem);
    int value = rdt_cell_find_name(cell->kind, name);
    rdt_cell_set_integer(row, cell, value);
    return value >= 0;
}

static bool read_integer(sqlite3_stmt *statement, int i, const rdt_cell *cell, rdt_row *row) {
    int64_t value = sqlite3_column_int64(statement, i);
    if (sqlite3_column_type(statement, i) != SQLITE_INTEGER || !rdt_cell_within(value, cell))
        return false;
    rdt_cell_set_integer(row, cell, value);
    return true;
}

/* JSON may write a time without a point. */
static bool read_time(sqlite3_stmt *statement, int i, double *out) {
    int type = sqlite3_column_type(statement, i);
    *out = sqlite3_column_double(statement, i);
    return type == SQLITE_FLOAT || type == SQLITE_INTEGER;
}

/* The row holds the columns before this one, and zeros. */
static bool read_value(sqlite3_stmt *statement, int i, const rdt_cell *cell, rdt_row *row) {
    char *at = (char *)row + cell->offset;
    bool is_null = sqlite3_column_type(statement, i) == SQLITE_NULL;
    if (rdt_cell_is_of_good(cell) && row->trial.outcome != RDT_OUTCOME_GOOD) return is_null;
    if (is_null && rdt_cell_may_be_unknown(cell)) {
        if (!rdt_cell_is_text(cell)) rdt_cell_set_integer(row, cell, rdt_cell_missing(cell));
        return true;
    }
    if (rdt_cell_is_name(cell)) return read_name(statement, i, cell, row);
    if (rdt_cell_is_text(cell) || cell->kind == RDT_CELL_AXES)
        return read_text(statement, i, at, cell->bytes) && (*at || cell->kind != RDT_CELL_KERNEL);
    if (cell->kind >= RDT_CELL_TIME) return read_time(statement, i, (double *)at);
    return read_integer(statement, i, cell, row);
}

/* Reads from column *at on, and moves it behind them. NULL, or what is wrong. */
static const char *read_columns(sqlite3_stmt *statement, const rdt_cell *columns, size_t count,
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
        const rdt_cell *columns;
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
    while (measurement_columns[count].kind <= RDT_CELL_ORDER) count++;
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

/* ---- binding --------------------------------------------------------------------------------- */

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
static bool is_unknown(const rdt_row *row, const rdt_cell *cell) {
    const rdt_conditions *of = &row->trial.conditions;
    if (rdt_cell_is_of_good(cell)) return row->trial.outcome != RDT_OUTCOME_GOOD;
    if (cell->kind == RDT_CELL_KERNEL) return !row->trial.kernel[0];
    if (cell->kind == RDT_CELL_BITS || cell->kind == RDT_CELL_CONDITION)
        return !(of->sm_mhz || of->memory_mhz || of->temperature_c || of->throttle || of->others);
    return rdt_cell_may_be_unknown(cell) && cell->kind != RDT_CELL_CAUSE &&
           rdt_cell_integer(row, cell) == rdt_cell_missing(cell);
}

static int bind_value(sqlite3_stmt *statement, int i, const rdt_cell *cell, const rdt_row *row) {
    const char *at = (const char *)row + cell->offset;
    if (is_unknown(row, cell)) return sqlite3_bind_null(statement, i);
    if (cell->kind == RDT_CELL_CAUSE) return bind_cause(statement, i, row);
    if (cell->kind >= RDT_CELL_TIME)
        return sqlite3_bind_double(statement, i, *(const double *)(const void *)at);
    if (cell->kind == RDT_CELL_LAYOUT)
        at = rdt_problem_layout_name(rdt_problem_layout(&row->trial.problem));
    else if (cell->kind == RDT_CELL_ORDER)
        at = rdt_problem_ordering_name(&row->trial.problem);
    else if (rdt_cell_is_name(cell))
        at = rdt_cell_name(cell->kind, (int)rdt_cell_integer(row, cell));
    if (rdt_cell_is_name(cell) || rdt_cell_is_text(cell))
        return sqlite3_bind_text(statement, i, at, -1, SQLITE_STATIC);
    if (cell->kind == RDT_CELL_AXES) {
        char axes[RDT_AXES_TEXT_BYTES];
        const bool kept = cell->offset == offsetof(rdt_row, kept);
        rdt_problem_axes_text_write(&row->trial.problem, kept, axes);
        return sqlite3_bind_text(statement, i, axes, -1, SQLITE_TRANSIENT);
    }
    int64_t value = rdt_cell_integer(row, cell);
    return sqlite3_bind_int64(statement, i, value);
}

/* Binds the columns to the parameters from before + 1 on. */
static int bind_columns(sqlite3_stmt *statement, int before, const rdt_cell *columns, size_t count,
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
static int bind_kinds(sqlite3_stmt *statement, int before, rdt_cell_kind first, rdt_cell_kind last,
                      const rdt_trial *trial) {
    const rdt_row row = {.trial = *trial};
    int rc = SQLITE_OK;
    for (size_t i = 0; !rc && i < COUNT_OF(measurement_columns); i++) {
        const rdt_cell *each = &measurement_columns[i];
        if (each->kind >= first && each->kind <= last)
            rc = bind_value(statement, ++before, each, &row);
    }
    return rc;
}

int rdt_row_bind_class(sqlite3_stmt *statement, const rdt_trial *trial) {
    return bind_kinds(statement, 0, RDT_CELL_OP, RDT_CELL_CACHE, trial);
}

int rdt_row_bind_subject(sqlite3_stmt *statement, const rdt_trial *trial, int64_t gpu) {
    int rc = rdt_row_bind_class(statement, trial);
    if (!rc) rc = sqlite3_bind_int64(statement, 10, gpu);
    return rc ? rc : bind_kinds(statement, 10, RDT_CELL_COUNT, RDT_CELL_EXTENT, trial);
}
