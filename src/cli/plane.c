/* Plane: the results of a tune over rows and columns of matrices, as one small table. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "cli/number.h"
#include "cli/plane.h"
#include "cli/shape.h"
#include "cli/table.h"

enum {
    LEAST = 9,             /* results: fewer are read as well as lines */
    SPARSE = 3,            /* a table of which less than a third is filled is no table */
    SIZES_MAX = 256,       /* of either side */
    LINE_CHARACTERS = 100, /* further columns stand below */
    COLUMNS_AT_ONCE = 15,
    CELL_CHARACTERS = 4, /* of bandwidth in GB/s, at most */
};

typedef struct sides {
    uint64_t row[SIZES_MAX], col[SIZES_MAX];
    size_t row_count, col_count, taken;
    bool failed; /* more sizes than there is room for */
} sides;

/* ---- the plane ----------------------------------------------------------------------------- */

static bool is_rows(const redtune_problem *problem) {
    return rdt_shape_layout(problem) == REDTUNE_LAYOUT_ROWS;
}

static uint64_t rows_of(const redtune_problem *problem) {
    const rdt_shape_extents of = rdt_shape_complete(problem);
    return is_rows(problem) ? of.outer : of.count;
}

static uint64_t cols_of(const redtune_problem *problem) {
    const rdt_shape_extents of = rdt_shape_complete(problem);
    return is_rows(problem) ? of.count : of.inner;
}

bool rdt_plane_takes(const redtune_tuned *result) {
    const rdt_shape_extents at = rdt_shape_complete(&result->problem);
    const redtune_layouts layout = rdt_shape_layout(&result->problem);
    if (rdt_shape_has_any_axes(&result->problem)) return false;
    if (layout != REDTUNE_LAYOUT_ROWS && layout != REDTUNE_LAYOUT_COLUMNS) return false;
    if (at.step != at.inner) return false;
    return at.outer == 1 || (layout == REDTUNE_LAYOUT_ROWS && at.outer_step == at.count);
}

size_t rdt_plane_class(const redtune_tuned *results, size_t count) {
    const redtune_problem *first = &results[0].problem;
    size_t end = 1;
    for (; end < count; end++) {
        const redtune_problem *each = &results[end].problem;
        if (each->op != first->op || each->dtype != first->dtype || each->result != first->result ||
            each->order != first->order || each->accuracy != first->accuracy ||
            strcmp(results[end].gpu, results[0].gpu) != 0 ||
            rdt_shape_has_any_axes(each) != rdt_shape_has_any_axes(first) ||
            rdt_shape_layout(each) != rdt_shape_layout(first))
            break;
    }
    return end;
}

/* Puts a size where it belongs in an ascending list. */
static bool insert_size(uint64_t *sizes, size_t *count, uint64_t size) {
    size_t at = *count;
    while (at && sizes[at - 1] > size) at--;
    if (at && sizes[at - 1] == size) return true;
    if (*count == SIZES_MAX) return false;
    memmove(&sizes[at + 1], &sizes[at], (*count - at) * sizeof *sizes);
    sizes[at] = size;
    ++*count;
    return true;
}

static sides find_sides(const redtune_tuned *results, size_t count) {
    sides found = {.taken = 0};
    for (size_t i = 0; i < count; i++) {
        if (!rdt_plane_takes(&results[i])) continue;
        const redtune_problem *at = &results[i].problem;
        found.taken++;
        if (!insert_size(found.row, &found.row_count, rows_of(at)) ||
            !insert_size(found.col, &found.col_count, cols_of(at)))
            found.failed = true;
    }
    return found;
}

bool rdt_plane_is_worth(const redtune_tuned *results, size_t count) {
    const sides found = find_sides(results, count);
    return !found.failed && found.taken >= LEAST &&
           found.row_count * found.col_count <= SPARSE * found.taken;
}

/* ---- printing ------------------------------------------------------------------------------ */

static const redtune_tuned *find_result(const redtune_tuned *results, size_t count, uint64_t row,
                                        uint64_t col) {
    for (size_t i = 0; i < count; i++) {
        const redtune_problem *at = &results[i].problem;
        if (rdt_plane_takes(&results[i]) && rows_of(at) == row && cols_of(at) == col)
            return &results[i];
    }
    return NULL;
}

/* Few bytes are below 1, since a launch takes most of the time: a 0 would look like a failure. */
static void add_cell(rdt_table *table, const redtune_tuned *result) {
    if (!result) {
        rdt_table_add(table, ".");
        return;
    }
    double value = result->gbps;
    if (result->peak_gbps > 0) value = 100 * result->gbps / result->peak_gbps;
    if (value < 1)
        rdt_table_add(table, "<1");
    else
        rdt_table_add(table, "%.0f", value);
}

/* Whether a number of rows has a result at any of these numbers of columns. */
static bool has_entry(const redtune_tuned *results, size_t count, uint64_t row,
                      const uint64_t *cols, size_t col_count) {
    for (size_t i = 0; i < col_count; i++)
        if (find_result(results, count, row, cols[i])) return true;
    return false;
}

static size_t characters_of(uint64_t size) {
    char text[RDT_NUMBER_BYTES];
    rdt_number_print_count(text, size);
    return strlen(text);
}

/* The end of the columns from the first on that fit a line; at least one does. */
static size_t end_of_line(const sides *of, size_t first) {
    size_t used = strlen("rows x"), end = first;
    for (size_t k = 0; k < of->row_count; k++)
        if (characters_of(of->row[k]) > used) used = characters_of(of->row[k]);
    for (; end < of->col_count && end < first + COLUMNS_AT_ONCE; end++) {
        const size_t size = characters_of(of->col[end]);
        used += 2 + (size > CELL_CHARACTERS ? size : CELL_CHARACTERS);
        if (end > first && used > LINE_CHARACTERS) break;
    }
    return end;
}

static void print_grid(const redtune_tuned *results, size_t count, const sides *of, FILE *out) {
    static const char right[] = "rrrrrrrrrrrrrrrr";
    for (size_t first = 0, end; first < of->col_count; first = end) {
        end = end_of_line(of, first);
        rdt_table table = {.column_count = end - first + 1, .right = right};
        char size[RDT_NUMBER_BYTES];
        rdt_table_add(&table, "rows x");
        for (size_t i = first; i < end; i++) {
            rdt_number_print_count(size, of->col[i]);
            rdt_table_add(&table, "%s", size);
        }
        for (size_t k = 0; k < of->row_count; k++) {
            if (!has_entry(results, count, of->row[k], of->col + first, end - first)) continue;
            rdt_number_print_count(size, of->row[k]);
            rdt_table_add(&table, "%s", size);
            for (size_t i = first; i < end; i++)
                add_cell(&table, find_result(results, count, of->row[k], of->col[i]));
        }
        fputc('\n', out);
        rdt_table_print(&table, out);
    }
}

/* "  gain over the default: 1.24x, the geometric mean; at most 2.31x, 64Kx16 axis 1" */
static void print_gain(const redtune_tuned *results, size_t count, FILE *out) {
    double sum = 0, most = 0;
    size_t known = 0, best = 0;
    for (size_t i = 0; i < count; i++) {
        const double gain = results[i].default_ns / results[i].median_ns;
        if (!rdt_plane_takes(&results[i]) || !(gain > 0)) continue;
        known++;
        sum += log(gain);
        if (gain > most) best = i;
        if (gain > most) most = gain;
    }
    if (!known) return;
    char shape[RDT_SHAPE_BYTES];
    rdt_shape_print(shape, &results[best].problem);
    fprintf(out, "  gain over the default: %.2fx, the geometric mean; at most %.2fx, %s\n",
            exp(sum / (double)known), most, shape);
}

static bool is_first(const redtune_tuned *results, size_t at, bool config) {
    for (size_t i = 0; i < at; i++)
        if (rdt_plane_takes(&results[i]) && !strcmp(results[i].family, results[at].family) &&
            (!config || !strcmp(results[i].config, results[at].config)))
            return false;
    return rdt_plane_takes(&results[at]);
}

/* "  winners: rows 120, columns 3; 14 configs" */
static void print_winners(const redtune_tuned *results, size_t count, FILE *out) {
    size_t configs = 0, families = 0;
    fputs("  winners:", out);
    for (size_t i = 0; i < count; i++) {
        size_t wins = 0;
        configs += is_first(results, i, true);
        if (!is_first(results, i, false)) continue;
        for (size_t k = i; k < count; k++)
            wins += rdt_plane_takes(&results[k]) && !strcmp(results[k].family, results[i].family);
        fprintf(out, "%s %s %zu", families++ ? "," : "", results[i].family, wins);
    }
    fprintf(out, "; %zu config%s\n", configs, configs == 1 ? "" : "s");
}

void rdt_plane_print(const redtune_tuned *results, size_t count, FILE *out) {
    const sides found = find_sides(results, count);
    const redtune_problem *problem = &results[0].problem;
    fprintf(out, "%s of %s along axis %d, %zu matrices: %s\n", redtune_op_name(problem->op),
            redtune_dtype_name(problem->dtype), is_rows(problem), found.taken,
            results[0].peak_gbps > 0 ? "percent of the bus's peak" : "GB/s");
    print_grid(results, count, &found, out);
    fputc('\n', out);
    print_gain(results, count, out);
    print_winners(results, count, out);
}
