/* Contenders: the rows that may have a say in who wins. */
#include "cache/contenders.h"

#include <stdlib.h>
#include <string.h>

static int compare_configs(const void *a, const void *b) {
    const rdt_row *x = a, *y = b;
    int diff = rdt_rows_compare_problem(&x->trial, &y->trial);
    if (!diff) diff = rdt_rows_compare_gpu(&x->gpu, &y->gpu);
    if (!diff) diff = strcmp(x->trial.family, y->trial.family);
    return diff ? diff : strcmp(x->trial.config, y->trial.config);
}

redtune_status rdt_contenders_claims(rdt_rows *rows, rdt_claims *out, redtune_error *err) {
    rdt_rows found = {0};
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < rows->count; i++)
        if (rows->row[i].trial.imported) status = rdt_rows_add(&found, &rows->row[i], err);
    if (status) {
        rdt_rows_free(&found);
        return status;
    }
    if (found.count) qsort(found.row, found.count, sizeof *found.row, compare_configs);
    *out = (rdt_claims){rows, found.row, found.count};
    return REDTUNE_OK;
}

void rdt_contenders_free(rdt_claims *claims) { free(claims->row); }

redtune_status rdt_contenders_answer(void *user, const rdt_row *row, redtune_error *err) {
    const rdt_claims *self = user;
    if (!bsearch(row, self->row, self->count, sizeof *row, compare_configs)) return REDTUNE_OK;
    return rdt_rows_add(self->rows, row, err);
}

redtune_status rdt_contenders_read(rdt_tuning *tuning, const redtune_problem *problem,
                                   rdt_cache_state cache, rdt_rows *rows, redtune_error *err) {
    rdt_claims claims = {0};
    redtune_status status =
        rdt_tuning_each_contender(tuning, problem, cache, rdt_rows_keep, rows, err);
    if (!status) status = rdt_contenders_claims(rows, &claims, err);
    if (!status && claims.count)
        status = rdt_tuning_each_quick(tuning, problem, cache, rdt_contenders_answer, &claims, err);
    rdt_contenders_free(&claims);
    return status;
}
