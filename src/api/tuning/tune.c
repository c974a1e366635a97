/* Tune: tuning a list of problems, and keeping what was measured. */
#include "api/tuning/session.h"
#include "base/clock.h"
#include "base/reserved.h"
#include "cache/tuning.h"
#include "tuner/search/strategy.h"
#include "tuner/workers/protocol.h"

enum { ALL_LAYOUTS = REDTUNE_LAYOUT_WHOLE | REDTUNE_LAYOUT_ROWS | REDTUNE_LAYOUT_COLUMNS };

static redtune_status check_tuning(const redtune *rt, const redtune_tuning *wanted,
                                   redtune_error *err) {
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: rt is NULL");
    const char *missing = wanted->op_count && !wanted->ops             ? "ops"
                          : wanted->dtype_count && !wanted->dtypes     ? "dtypes"
                          : wanted->count_count && !wanted->counts     ? "counts"
                          : wanted->problem_count && !wanted->problems ? "problems"
                                                                       : NULL;
    if (missing)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: %s is NULL, though it is counted",
                        missing);
    if (wanted->layouts & ~(unsigned)ALL_LAYOUTS)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot tune layouts 0x%x: give redtune_layouts, or'ed, or 0 for whole "
                        "arrays",
                        wanted->layouts);
    if (!rdt_strategy_find(wanted->effort, RDT_LAYOUT_WHOLE))
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot tune: unknown effort %d",
                        (int)wanted->effort);
    if (wanted->jobs > RDT_JOBS_MAX)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot tune with %u jobs on each GPU: give 1 to %d, or 0 for as many as "
                        "its cores allow",
                        wanted->jobs, RDT_JOBS_MAX);
    redtune_status status = rdt_clock_check_s("tune", "budget_s", wanted->budget_s, err);
    if (!status) status = rdt_clock_check_s("tune", "limit_s", wanted->limit_s, err);
    if (status) return status;
    if (wanted->devices && !wanted->worker)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot tune on devices '%.200s' without a worker; name one, or leave the "
                        "devices out to tune on the GPU that redtune was opened on",
                        wanted->devices);
    return REDTUNE_OK;
}

/* Whether redtune chooses counts or dtypes. */
static bool has_defaults(const redtune_tuning *wanted) {
    return !wanted->problem_count && !(wanted->count_count && wanted->dtype_count);
}

/* Opens the database before anything is measured, and so that it is one, and can be written. */
static redtune_status tune(redtune *rt, const redtune_tuning *wanted, rdt_codegen *codegen,
                           redtune_error *err) {
    const bool simulated = rdt_facts_is_simulated(&rt->context->facts);
    rdt_tuning *database = NULL;
    rdt_problems problems = {0};
    redtune_status status = rdt_problem_list_make(wanted, simulated, &rt->log, &problems, err);
    if (!status && simulated && has_defaults(wanted))
        rdt_log_write(
            &rt->log, REDTUNE_LOG_WARNING,
            "the GPU is simulated, and slow: where none are named, only 256, 512 and 1K "
            "elements of f32, f64 and i32 are tuned%s",
            wanted->layouts & ~(unsigned)REDTUNE_LAYOUT_WHOLE ? ", and three shapes of f32" : "");
    if (!status) rdt_layers_note(&rt->layers, &rt->log);
    if (!status) status = rdt_tuning_open(rt->layers.path[0], &database, err);
    if (!status && problems.count) status = rdt_session_tune(rt, wanted, codegen, &problems, err);
    /* A write tells that the file is gone; after the last one nothing else would. */
    if ((!status || status == REDTUNE_INTERRUPTED) && rdt_tuning_check_place(database, err))
        status = REDTUNE_DATABASE;
    rdt_problem_list_free(&problems);
    rdt_tuning_close(database);
    return status;
}

redtune_status redtune_tune(redtune *rt, const redtune_tuning *tuning, redtune_error *err) {
    const redtune_tuning usual = {0};
    const redtune_tuning *wanted = tuning ? tuning : &usual;
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(wanted), "redtune_tuning", err);
    if (!status) status = check_tuning(rt, wanted, err);
    if (!status) status = rdt_builder_borrow(rt->builder, &codegen, err);
    if (status) return status;
    status = tune(rt, wanted, codegen, err);
    rdt_builder_give_back(rt->builder);
    /* An interrupted tune's measurements count, too. */
    rdt_runtime_forget_winners(rt);
    return status;
}
