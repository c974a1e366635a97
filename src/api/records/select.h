/* Select: which config serves a problem, from the winners of the tuning database. */
#pragma once

#include "api/records/layers.h"
#include "codegen/codegen.h"

/* Winners in memory, of the classes (op, dtype, result) that were asked for. Valid when zeroed:
 * none. */
typedef struct rdt_winners {
    rdt_rows rows;
    redtune_problem *classes; /* those that were read */
    size_t class_count;
    bool incomplete; /* a database was left out */
} rdt_winners;

/* Where winners come from. */
typedef struct rdt_winners_source {
    const rdt_layers *layers;
    rdt_codegen *codegen;
    const rdt_rows *verified; /* beside those of the layers; NULL: none */
    bool own;                 /* imported rows do not count */
    const rdt_log *log;       /* may be NULL */
} rdt_winners_source;

/* Reads the winners of the problem's class, with a cold L2, unless they are there already. */
redtune_status rdt_select_read_winners(rdt_winners *winners, const rdt_winners_source *source,
                                       const redtune_problem *problem, redtune_error *err);
void rdt_select_free_winners(rdt_winners *winners);

typedef struct rdt_choice {
    rdt_point point;
    redtune_match match;
    const rdt_row *row; /* NULL for the default; the winners' */
} rdt_choice;

/* The row of this GPU model whose count is nearest on a log scale; else that of the nearest GPU
 * model (architecture, then bandwidth and SMs), with counts compared per SM; else the built-in
 * default. Of rows equally near, one whose kernel is current, and then the
 * latest. The counts between powers of two at which a tune saw the winner change are rows like any
 * other, so that the nearest row changes where the winner did. A row does not count whose family or
 * config the templates do not have or do not allow there, whose count is more than 16 times away,
 * or whose config would not be worth measuring at this count. */
redtune_status rdt_select(const rdt_winners *winners, rdt_codegen *codegen, rdt_case at,
                          rdt_choice *out, redtune_error *err);
