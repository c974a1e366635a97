/* Admission: an op of the user's is checked, and imported measurements are verified, before a plan
 * is made. */
#include "api/choosing/admission.h"

#include "api/choosing/import_policy.h"
#include "tuner/measure/own_check.h"

/* So many hints are verified for one plan. */
enum { HINTS_MAX = 3 };

bool rdt_admission_serves(const redtune *rt, const rdt_row *row) {
    return !row || !row->trial.imported || rt->trust != REDTUNE_TRUST_VERIFIED;
}

static redtune_status make_kernel(void *user, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch,
                                  rdt_kernel **out, redtune_error *err) {
    const redtune *rt = user;
    return rdt_builder_make(rt->builder, rt->context, problem, point, launch, out, err);
}

/* What would serve, if that has to be verified; else a hint without a problem. */
static redtune_status find_hint(redtune *rt, rdt_codegen *codegen, const redtune_problem *problem,
                                rdt_hint *out, redtune_error *err) {
    rdt_choice choice;
    *out = (rdt_hint){.problem = NULL};
    pthread_mutex_lock(&rt->lock);
    redtune_status status = rdt_runtime_select(rt, codegen, problem, false, &choice, err);
    if (!status && !rdt_admission_serves(rt, choice.row))
        *out = (rdt_hint){problem, choice.match, choice.row->trial.problem, choice.point};
    pthread_mutex_unlock(&rt->lock);
    return status;
}

/* Whether the hint is verified or refuted afterwards: choosing again goes by that. */
static bool verify_hint(redtune *rt, rdt_codegen *codegen, const rdt_hint *hint, double *left_s,
                        bool *unverified) {
    redtune_error why;
    bool decided = false;
    redtune_status status = rdt_import_policy_verify(rt, codegen, hint, left_s, &decided, &why);
    if (!status && decided) return true;
    *unverified = status != REDTUNE_OK;
    if (status)
        rdt_log_write(&rt->log, REDTUNE_LOG_WARNING,
                      "an imported measurement is not used, since it could not be verified: %s",
                      why.message);
    return false;
}

static redtune_status verify_hints(redtune *rt, rdt_codegen *codegen,
                                   const redtune_problem *problem, bool at_once, rdt_admission *out,
                                   redtune_error *err) {
    double left_s = rt->verify_s;
    for (int hints = 0; out->grounds == RDT_GROUNDS_ALL; hints++) {
        rdt_hint hint;
        redtune_status status = find_hint(rt, codegen, problem, &hint, err);
        if (status || !hint.problem) return status;
        out->waits = at_once;
        if (hints == HINTS_MAX) out->unverified = true;
        if (at_once || hints == HINTS_MAX ||
            !verify_hint(rt, codegen, &hint, &left_s, &out->unverified))
            out->grounds = RDT_GROUNDS_MEASURED_HERE;
    }
    return REDTUNE_OK;
}

redtune_status rdt_admission_find(redtune *rt, const redtune_problem *problem, bool pinned,
                                  bool at_once, rdt_admission *out, redtune_error *err) {
    rdt_admission admission = {.grounds = RDT_GROUNDS_ALL};
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_builder_borrow(rt->builder, &codegen, err);
    if (status) return status;
    const rdt_maker maker = {codegen, make_kernel, rt};
    status = rdt_own_check(rt->context, problem, &maker, err);
    if (!status && !pinned) status = verify_hints(rt, codegen, problem, at_once, &admission, err);
    rdt_builder_give_back(rt->builder);
    if (!status) *out = admission;
    return status;
}
