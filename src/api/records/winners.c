/* Winners: those of the tuning databases, read as far as choices ask for them, and kept. */
#include "api/records/winners.h"

#include <stdlib.h>
#include "api/records/current.h"
#include "base/array.h"

/* An op of the user's is not lent to others: the number by which a plan would remember it is of
 * this process alone. */
bool rdt_winners_alike(const redtune_problem *measured, const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(measured->op);
    return !op->file && !op->absent && rdt_problem_same_traffic(measured, problem);
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* A part of the rows to read, for a case. */
typedef struct reading {
    rdt_winners_part part;
    rdt_case at;
    uint64_t least, most; /* counts */
} reading;

/* The rows whose count alone does not take them farther than a choice looks. */
static void set_near(reading *self) {
    const uint64_t count = rdt_problem_count(self->at.problem) + 1;
    const uint64_t least = count >> RDT_WINNERS_DISTANCE_MAX;
    self->least = least ? least - 1 : 0;
    if (count < INT64_MAX >> RDT_WINNERS_DISTANCE_MAX)
        self->most = count << RDT_WINNERS_DISTANCE_MAX;
}

static bool is_of_part(const reading *self, const redtune_problem *problem, const rdt_facts *gpu) {
    const bool here = rdt_facts_same_model(self->at.facts, gpu);
    if (self->part == RDT_WINNERS_ALIKE)
        return here && rdt_winners_alike(problem, self->at.problem);
    return here == (self->part == RDT_WINNERS_OWN) &&
           rdt_problem_same_class(problem, self->at.problem);
}

static bool is_of_reading(const reading *self, const rdt_row *row) {
    const redtune_problem *problem = &row->trial.problem;
    const uint64_t count = rdt_problem_count(problem);
    return row->trial.cache == RDT_CACHE_COLD && is_of_part(self, problem, &row->gpu) &&
           count >= self->least && count <= self->most;
}

static void keep_of_reading(rdt_rows *rows, const reading *what, bool own) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (is_of_reading(what, &rows->row[i]) && !(own && rows->row[i].trial.imported))
            rows->row[kept++] = rows->row[i];
    rows->count = kept;
}

static void drop_part(rdt_rows *rows, const reading *what) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (!is_of_part(what, &rows->row[i].trial.problem, &rows->row[i].gpu))
            rows->row[kept++] = rows->row[i];
    rows->count = kept;
}

/* ---- reading --------------------------------------------------------------------------------- */

static redtune_status keep_winner(void *user, const rdt_standing *standing, redtune_error *err) {
    rdt_rows *winners = user;
    redtune_status status = rdt_rows_add(winners, standing->winner, err);
    if (!status && standing->baseline)
        winners->row[winners->count - 1].baseline_ns = standing->baseline->trial.median_ns;
    return status;
}

static redtune_status add_verified(rdt_rows *rows, const rdt_rows *verified, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; verified && !status && i < verified->count; i++)
        status = rdt_rows_add(rows, &verified->row[i], err);
    return status;
}

static redtune_status rank(const rdt_winners_source *source, const reading *what, bool *incomplete,
                           rdt_rows *winners, redtune_error *err) {
    const rdt_tuning_near near = {what->at.facts->name, what->least, what->most};
    const rdt_layers_wanted wanted = {
        .problem = what->at.problem,
        .alike = what->part == RDT_WINNERS_ALIKE ? rdt_winners_alike : NULL,
        .near = what->part == RDT_WINNERS_ELSEWHERE ? NULL : &near,
        .cache = RDT_CACHE_COLD,
        .contenders = true,
        .log = source->log,
        .left_out = incomplete,
    };
    rdt_rows rows = {0};
    const size_t before = winners->count;
    redtune_status status = rdt_layers_read(source->layers, &wanted, &rows, err);
    if (!status) status = add_verified(&rows, source->verified, err);
    if (!status) keep_of_reading(&rows, what, source->own);
    if (!status) status = rdt_current_mark(source->codegen, &rows, err);
    if (!status) status = rdt_rows_rank(&rows, keep_winner, winners, err);
    rdt_rows_free(&rows);
    if (status) winners->count = before;
    return status;
}

/* What was read of the part; NULL: nothing. */
static rdt_winners_read *find_read(const rdt_winners *winners, const reading *what) {
    for (size_t i = 0; i < winners->read_count; i++) {
        rdt_winners_read *each = &winners->read[i];
        if (each->part == what->part &&
            (what->part == RDT_WINNERS_ALIKE
                 ? rdt_problem_same_traffic(&each->problem, what->at.problem)
                 : rdt_problem_same_class(&each->problem, what->at.problem)))
            return each;
    }
    return NULL;
}

redtune_status rdt_winners_need(rdt_winners *winners, const rdt_winners_source *source,
                                rdt_winners_part part, rdt_case at, redtune_error *err) {
    reading what = {.part = part, .at = at, .most = INT64_MAX};
    rdt_rows *rows = part == RDT_WINNERS_ALIKE ? &winners->alike : &winners->rows;
    rdt_winners_read *read = find_read(winners, &what);
    if (part != RDT_WINNERS_ELSEWHERE) set_near(&what);
    if (read && read->least <= what.least && read->most >= what.most) return REDTUNE_OK;
    if (read) {
        what.least = 0;
        what.most = INT64_MAX;
    }
    /* Rows that are read anew take the place of those that are there. */
    rdt_rows fresh = {0};
    redtune_status status =
        RDT_ARRAY_RESERVE(winners->read, winners->read_capacity, winners->read_count + 1, err);
    if (!status) status = rank(source, &what, &winners->incomplete, &fresh, err);
    if (!status)
        status = RDT_ARRAY_RESERVE(rows->row, rows->capacity, rows->count + fresh.count, err);
    if (!status) {
        read = find_read(winners, &what);
        if (read) drop_part(rows, &what);
        if (!read) read = &winners->read[winners->read_count++];
        winners->reads++;
        *read = (rdt_winners_read){part, *at.problem, what.least, what.most};
        for (size_t i = 0; i < fresh.count; i++) rows->row[rows->count++] = fresh.row[i];
    }
    rdt_rows_free(&fresh);
    return status;
}

void rdt_winners_free(rdt_winners *winners) {
    rdt_rows_free(&winners->rows);
    rdt_rows_free(&winners->alike);
    free(winners->read);
    *winners = (rdt_winners){0};
}
