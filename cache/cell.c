/* Cell: the value of one column of a row: its kind, its names, and what it may be. */
#include "cache/cell.h"

#include <limits.h>
#include <string.h>
#include "base/text.h"

int64_t rdt_cell_integer(const rdt_row *row, const rdt_cell *cell) {
    const char *at = (const char *)row + cell->offset;
    if (cell->kind == RDT_CELL_COUNT) return (int64_t)rdt_problem_count(&row->trial.problem);
    if (cell->bytes == sizeof(bool)) return *(const bool *)at;
    return cell->bytes == sizeof(int) ? *(const int *)at : *(const int64_t *)at;
}

void rdt_cell_set_integer(rdt_row *row, const rdt_cell *cell, int64_t value) {
    char *at = (char *)row + cell->offset;
    if (cell->bytes == sizeof(bool))
        *(bool *)at = value != 0;
    else if (cell->bytes == sizeof(int))
        *(int *)at = (int)value;
    else
        *(int64_t *)at = value;
}

bool rdt_cell_is_name(const rdt_cell *cell) { return cell->kind <= RDT_CELL_OUTCOME; }

bool rdt_cell_is_text(const rdt_cell *cell) {
    return cell->kind > RDT_CELL_OUTCOME && cell->kind <= RDT_CELL_KERNEL;
}

bool rdt_cell_may_be_unknown(const rdt_cell *cell) {
    return cell->kind == RDT_CELL_CAUSE || cell->kind == RDT_CELL_KERNEL ||
           (cell->kind >= RDT_CELL_PLACE && cell->kind <= RDT_CELL_CONDITION);
}

bool rdt_cell_is_of_good(const rdt_cell *cell) { return cell->kind >= RDT_CELL_SAMPLES; }

/* What the field of an optional column has where the column is NULL. */
int64_t rdt_cell_missing(const rdt_cell *cell) {
    return cell->kind == RDT_CELL_PLACE ? INT_MAX : 0;
}

static const char *const cache_names[] = {
    [RDT_CACHE_COLD] = "cold",
    [RDT_CACHE_WARM] = "warm",
};

const char *rdt_cell_name(rdt_cell_kind kind, int value) {
    switch ((int)kind) { /* those of other kinds have no names */
    case RDT_CELL_OP: return redtune_op_name((redtune_op)value);
    case RDT_CELL_DTYPE: return redtune_dtype_name((redtune_dtype)value);
    case RDT_CELL_LAYOUT: return rdt_problem_layout_name(value);
    case RDT_CELL_ORDER: return rdt_problem_order_name(value); /* beside the accuracy */
    case RDT_CELL_MASK: return rdt_problem_mask_name(value);
    case RDT_CELL_SPREAD_OF: return rdt_problem_spread_name(value);
    case RDT_CELL_KEYED: return value ? redtune_dtype_name((redtune_dtype)value) : "none";
    case RDT_CELL_CACHE:
        return value == RDT_CACHE_COLD || value == RDT_CACHE_WARM ? cache_names[value] : NULL;
    default:
        return value >= 0 && value < RDT_OUTCOME_COUNT ? rdt_trial_outcome_name((rdt_outcome)value)
                                                       : NULL;
    }
}

/* -1 for no such name. */
int rdt_cell_find_name(rdt_cell_kind kind, const char *name) {
    const rdt_op_traits *op;
    redtune_dtype dtype;
    switch ((int)kind) {
    case RDT_CELL_OP: op = rdt_op_meet(name); return op ? (int)op->op : -1;
    case RDT_CELL_DTYPE: return redtune_dtype_find(name, &dtype, NULL) ? -1 : (int)dtype;
    case RDT_CELL_LAYOUT: return rdt_problem_find_layout(name);
    case RDT_CELL_MASK: return rdt_problem_find_mask(name);
    case RDT_CELL_SPREAD_OF: return rdt_problem_find_spread(name);
    case RDT_CELL_KEYED:
        return !strcmp(name, "none") ? 0 : redtune_dtype_find(name, &dtype, NULL) ? -1 : (int)dtype;
    case RDT_CELL_CACHE:
        return !strcmp(name, cache_names[RDT_CACHE_COLD])   ? RDT_CACHE_COLD
               : !strcmp(name, cache_names[RDT_CACHE_WARM]) ? RDT_CACHE_WARM
                                                            : -1;
    default: return rdt_trial_outcome_find(name);
    }
}

bool rdt_cell_within(int64_t value, const rdt_cell *cell) {
    return value >= cell->least && value <= cell->most;
}

/* Ends within its buffer and may be shown: a text of a database may reach a terminal. */
static bool text_fits(const rdt_row *row, const rdt_cell *cell) {
    const char *text = (const char *)row + cell->offset;
    if (!memchr(text, '\0', cell->bytes) || !rdt_text_is_plain(text)) return false;
    bool may_be_empty = cell->kind != RDT_CELL_TEXT;
    return (!*text && may_be_empty) || rdt_cell_within((int64_t)strlen(text), cell);
}

bool rdt_cell_fits(const rdt_row *row, const rdt_cell *cell) {
    if (rdt_cell_is_text(cell)) return text_fits(row, cell);
    if (rdt_cell_is_of_good(cell)) return true; /* times_fit looks at all three */
    if (cell->kind == RDT_CELL_AXES) return true;
    int64_t value = rdt_cell_integer(row, cell);
    if (rdt_cell_is_name(cell)) return rdt_cell_name(cell->kind, (int)value) != NULL;
    if (rdt_cell_may_be_unknown(cell) && value == rdt_cell_missing(cell)) return true;
    return rdt_cell_within(value, cell);
}
