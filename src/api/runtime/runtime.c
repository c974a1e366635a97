/* Runtime: what one opened redtune holds, shared by the files of the API. */
#define _POSIX_C_SOURCE 200809L
#include "api/runtime/runtime.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/locale.h"

redtune_status rdt_runtime_read_choice(const char *variable, const char *const *names,
                                       const char *known, int *out, redtune_error *err) {
    const char *wanted = getenv(variable);
    if (!wanted || !*wanted) return REDTUNE_OK;
    for (int i = 0; names[i]; i++)
        if (!strcmp(wanted, names[i])) {
            *out = i;
            return REDTUNE_OK;
        }
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot use %s=%.40s: it may be %s", variable, wanted,
                    known);
}

redtune_status rdt_runtime_find_trust(redtune_trust chosen, redtune_trust *out,
                                      redtune_error *err) {
    static const char *const names[] = {"verified", "all", "none", NULL};
    int trust = (int)chosen;
    redtune_status status =
        rdt_runtime_read_choice("REDTUNE_TRUST", names, "verified, all or none", &trust, err);
    if (status) return status;
    if ((unsigned)trust > REDTUNE_TRUST_NONE)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot use options.trust %d: it is unknown",
                        trust);
    *out = (redtune_trust)trust;
    return REDTUNE_OK;
}

/* ---- the order ------------------------------------------------------------------------------- */

static redtune_order order_of(const redtune *rt, redtune_order said) {
    if (said == REDTUNE_ORDER_FREE) return rt->order;
    return said == REDTUNE_ORDER_FREE_ALWAYS ? REDTUNE_ORDER_FREE : said;
}

redtune_order redtune_order_get(const redtune *rt, const redtune_problem *problem) {
    redtune_problem resolved;
    const redtune_order order = rt && problem ? order_of(rt, problem->order) : REDTUNE_ORDER_FREE;
    if (order != REDTUNE_ORDER_FIXED) return REDTUNE_ORDER_FREE;
    rdt_problem_copy(&resolved, problem);
    resolved.order = order;
    return rdt_problem_resolve(&resolved, &resolved, NULL) ? order : resolved.order;
}

const redtune_problem *rdt_runtime_set_order(const redtune *rt, const redtune_problem *problem,
                                             redtune_problem *room) {
    if (!problem) return problem;
    rdt_problem_copy(room, problem);
    room->order = order_of(rt, problem->order);
    return room;
}

redtune_status rdt_runtime_name_order(const redtune *rt, const redtune_problem *problem,
                                      redtune_status status, redtune_error *err) {
    if (status != REDTUNE_UNSUPPORTED || !err || rt->order == REDTUNE_ORDER_FREE ||
        problem->order != REDTUNE_ORDER_FIXED)
        return status;
    const size_t length = strlen(err->message);
    snprintf(err->message + length, sizeof err->message - length,
             "; options.order or REDTUNE_ORDER makes the order of all fixed: ask for a free one "
             "here (REDTUNE_ORDER_FREE_ALWAYS, order=\"free\" or --order free)");
    return status;
}

redtune_status rdt_runtime_resolve(const redtune *rt, const redtune_problem *problem,
                                   redtune_problem *out, redtune_error *err) {
    redtune_problem free_one;
    redtune_status status = rdt_problem_resolve(problem, out, err);
    if (status != REDTUNE_UNSUPPORTED) return status;
    rdt_problem_copy(&free_one, problem);
    free_one.order = REDTUNE_ORDER_FREE;
    if (rdt_problem_resolve(&free_one, &free_one, NULL)) return status;
    return rdt_runtime_name_order(rt, problem, status, err);
}

/* ---- winners --------------------------------------------------------------------------------- */

/* What is read while it is being written is of neither one nor the other. */
redtune_status rdt_runtime_select(redtune *rt, rdt_codegen *codegen, const redtune_problem *problem,
                                  bool here_only, rdt_choice *out, redtune_error *err) {
    rdt_identity before, after;
    rdt_winners *winners = here_only ? &rt->winners_here : &rt->winners;
    const rdt_winners_source source = {&rt->layers, codegen, &rt->verified,
                                       here_only || rt->trust == REDTUNE_TRUST_NONE, &rt->log};
    const size_t known = winners->reads;
    rdt_identity_of(rt->layers.path, rt->layers.count, before);
    redtune_status status =
        rdt_select_from(winners, &source, (rdt_case){problem, &rt->context->facts}, out, err);
    if (status || here_only || winners->reads == known) return status;
    rdt_identity_of(rt->layers.path, rt->layers.count, after);
    bool same = !rt->winners.incomplete && !strcmp(before, after) &&
                (!known || !strcmp(rt->winners_of, after));
    rdt_text_copy(rt->winners_of, sizeof rt->winners_of, same ? after : "");
    rdt_log_write(&rt->log, REDTUNE_LOG_DEBUG, "read %zu winners of %s", rt->winners.rows.count,
                  rt->layers.path[0]);
    return REDTUNE_OK;
}

void rdt_runtime_forget_winners(redtune *rt) {
    pthread_mutex_lock(&rt->lock);
    rdt_winners_free(&rt->winners);
    rdt_winners_free(&rt->winners_here);
    pthread_mutex_unlock(&rt->lock);
}

redtune_status rdt_runtime_start_thread(void *(*run)(void *), void *argument, pthread_t *out,
                                        redtune_error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_MEMORY, rc, "cannot start a thread: %s", rdt_locale_reason(rc));
}
