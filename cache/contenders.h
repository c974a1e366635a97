/* Contenders: the rows that may have a say in who wins, of one database or of several over another.
 *
 * rdt_tuning_each_contender leaves quick looks out: they win nothing. But a config that was
 * measured here, be it by a quick look, counts by what was measured here, and no imported row of it
 * does. So where there are imported rows, or claims, the quick looks at their configs are read as
 * well: from each database by rdt_tuning_each_quick. */
#pragma once

#include "cache/tuning.h"

/* The imported ones among rows. Valid when zeroed: none. */
typedef struct rdt_claims {
    rdt_rows *rows;
    rdt_row *row; /* sorted */
    size_t count;
} rdt_claims;

redtune_status rdt_contenders_claims(rdt_rows *rows, rdt_claims *out, redtune_error *err);
void rdt_contenders_free(rdt_claims *claims);
/* An rdt_tuning_each_fn; user is the rdt_claims. Adds the row to claims->rows if it is of the
 * config of one of them. */
redtune_status rdt_contenders_answer(void *user, const rdt_row *row, redtune_error *err);

/* Adds the contenders of one database, and those quick looks. */
redtune_status rdt_contenders_read(rdt_tuning *tuning, const redtune_problem *problem,
                                   rdt_cache_state cache, rdt_rows *rows, redtune_error *err);
