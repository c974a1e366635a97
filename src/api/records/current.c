/* Current: which measurements count. */
#include "api/records/current.h"

#include <string.h>
#include "api/records/convert.h"
#include "model/trials.h"

/* A row's point, read with the current templates. */
typedef struct reading {
    rdt_point point;
    rdt_facts facts;
} reading;

/* Why the templates do not have the row's config there, if they do not. */
static redtune_status find_kernel(rdt_codegen *codegen, const rdt_trial *trial,
                                  const rdt_facts *gpu, reading *read, char out[RDT_KERNEL_BYTES],
                                  redtune_error *err) {
    read->facts = rdt_convert_complete(gpu);
    const rdt_case at = {&trial->problem, &read->facts};
    redtune_status status =
        rdt_rules_read(codegen, at, trial->family, trial->config, &read->point, err);
    return status ? status : rdt_kernel_hash_find(codegen, at, &read->point, out, err);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* What the templates do not have, or cannot render, is not current. */
static redtune_status mark_row(rdt_codegen *codegen, rdt_row *row, redtune_error *err) {
    rdt_trial *trial = &row->trial;
    redtune_error why;
    reading read;
    rdt_point baseline;
    char kernel[RDT_KERNEL_BYTES];
    if (rdt_op_find(trial->problem.op)->absent) return REDTUNE_OK;
    redtune_status status = find_kernel(codegen, trial, &row->gpu, &read, kernel, &why);
    row->current = !status && !strcmp(kernel, trial->kernel);
    if (row->current) {
        const rdt_case at = {&trial->problem, &read.facts};
        trial->rank = rdt_point_rank(rdt_codegen_spaces(codegen), &read.point);
        status = rdt_rules_default_of(codegen, at, read.point.family, &baseline, &why);
        trial->is_default = !status && rdt_point_same(&baseline, &read.point);
    }
    if (status == REDTUNE_MEMORY && err) *err = why;
    return status == REDTUNE_MEMORY ? status : REDTUNE_OK;
}

/* The templates' version says nothing of what is in the user's files. */
static bool is_of_file(const rdt_row *row) {
    const rdt_op_traits *op = rdt_op_find(row->trial.problem.op);
    return op->file || op->absent;
}

/* How many rows only a look at their kernels can tell. */
static size_t mark_plain(const char *templates, rdt_rows *rows) {
    size_t left = 0;
    for (size_t i = 0; i < rows->count; i++) {
        rdt_row *row = &rows->row[i];
        row->current = !strcmp(row->origin.templates, templates) && !is_of_file(row);
        left += !row->current && *row->trial.kernel;
    }
    return left;
}

redtune_status rdt_current_mark(rdt_codegen *codegen, rdt_rows *rows, redtune_error *err) {
    size_t left = mark_plain(rdt_codegen_hash(codegen), rows);
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; left && !status && i < rows->count; i++)
        if (!rows->row[i].current && *rows->row[i].trial.kernel)
            status = mark_row(codegen, &rows->row[i], err);
    return status;
}

redtune_status rdt_current_mark_by(const char *templates, rdt_rows *rows, redtune_error *err) {
    rdt_codegen *codegen = NULL;
    if (!mark_plain(templates, rows)) return REDTUNE_OK;
    redtune_status status = rdt_codegen_open(&codegen, err);
    if (!status) status = rdt_current_mark(codegen, rows, err);
    rdt_codegen_close(codegen);
    return status;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* A kernel that cannot be told stays unknown: the measurement counts with these templates only. */
static redtune_status set_kernel(rdt_codegen *codegen, const rdt_facts *gpu, rdt_trial *trial,
                                 redtune_error *err) {
    redtune_error why;
    reading read;
    redtune_status status = find_kernel(codegen, trial, gpu, &read, trial->kernel, &why);
    if (status != REDTUNE_MEMORY) return REDTUNE_OK;
    if (err) *err = why;
    return status;
}

redtune_status rdt_current_put(rdt_tuning *tuning, rdt_codegen *codegen, const rdt_facts *gpu,
                               const rdt_origin *origin, const rdt_trial *trials, size_t count,
                               redtune_error *err) {
    rdt_trials copy = {0};
    redtune_status status = rdt_trials_add(&copy, trials, count, err);
    for (size_t i = 0; !status && i < count; i++)
        status = set_kernel(codegen, gpu, &copy.trial[i], err);
    if (!status) status = rdt_tuning_put(tuning, gpu, origin, copy.trial, count, err);
    rdt_trials_free(&copy);
    return status;
}

redtune_status rdt_current_complete_row(rdt_codegen *codegen, rdt_row *row, redtune_error *err) {
    if (*row->trial.kernel || is_of_file(row) ||
        strcmp(row->origin.templates, rdt_codegen_hash(codegen)))
        return REDTUNE_OK;
    return set_kernel(codegen, &row->gpu, &row->trial, err);
}

static redtune_status complete(void *user, rdt_row *row, redtune_error *err) {
    return rdt_current_complete_row(user, row, err);
}

redtune_status rdt_current_complete(rdt_tuning *tuning, rdt_codegen *codegen, redtune_error *err) {
    return rdt_tuning_fill_kernels(tuning, rdt_codegen_hash(codegen), complete, codegen, err);
}
