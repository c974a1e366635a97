/* Executable: a configuration chosen for a problem, its kernel loaded: what a plan runs. */
#include "api/runtime/executable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/runtime/plan_cache.h"
#include "api/records/convert.h"
#include "api/runtime/import_policy.h"
#include "tuner/measure/own_check.h"

/* An executable being made, and its problem. */
typedef struct making {
    redtune *rt;
    const redtune_problem *problem;
    rdt_yield yield;
    const char *pin; /* the configuration asked for; NULL: none */
    rdt_choice choice;
    rdt_hint hint;   /* what was chosen, if that was imported and has to be verified */
    bool waits;      /* verifying is left for later */
    bool unverified; /* not every hint could be verified: the next process may find more */
    rdt_executable *executable;
} making;

/* So many hints are verified for one plan. */
enum { HINTS_MAX = 3 };

/* The measurements that a choice goes by. */
typedef enum grounds {
    GROUNDS_ALL,
    GROUNDS_MEASURED_HERE,
    GROUNDS_NONE, /* the default, whatever is known */
} grounds;

/* ---- choosing -------------------------------------------------------------------------------- */

static redtune_status take_pin(const making *self, rdt_codegen *codegen, rdt_case at,
                               rdt_choice *out, redtune_error *err) {
    rdt_choice choice = {.match = REDTUNE_MATCH_PINNED};
    redtune_status status = rdt_rules_find(codegen, at, NULL, self->pin, &choice.point, err);
    if (!status) status = rdt_rules_check(codegen, at, &choice.point, err);
    if (!status) *out = choice;
    if (!status || !self->rt->pin) return status;
    return rdt_fail_within(err, status, "REDTUNE_CONFIG=%.100s", self->pin);
}

static void tell(const making *self, const rdt_spaces *spaces) {
    redtune_info *info = &self->executable->info;
    *info = (redtune_info){.problem = *self->problem, .match = self->choice.match};
    info->problem.config = NULL;
    rdt_point_write(spaces, &self->choice.point, info->family, info->config);
    self->executable->measured = (redtune_problem){.count = 0};
    if (self->choice.row) {
        rdt_convert_origin(self->choice.row, info);
        self->executable->measured = self->choice.row->trial.problem;
    }
    rdt_point_format(spaces, &self->choice.point, self->executable->text);
}

static void add_own(rdt_executable *executable, const rdt_extents *extents) {
    for (size_t i = 0; i < executable->own_count; i++)
        if (!memcmp(&executable->own[i], extents, sizeof *extents)) return;
    if (executable->own_count < RDT_PLAN_OWN_MAX)
        executable->own[executable->own_count++] = *extents;
}

/* Notes the problems of the same key in the plan table that were measured on this GPU: each may
 * have another winner. Those of whole arrays differ by less than a doubling. What is still to be
 * verified waits for the plan of such a problem. */
static void list_own(const making *self, const rdt_winners *winners) {
    const redtune_problem *problem = self->problem;
    for (size_t i = 0; rdt_problem_layout(problem) != RDT_LAYOUT_WHOLE && i < winners->rows.count;
         i++) {
        const rdt_row *row = &winners->rows.row[i];
        const rdt_extents extents = rdt_problem_segments_shape(&row->trial.problem);
        if (rdt_facts_same_model(&self->rt->context->facts, &row->gpu) &&
            rdt_plan_table_same_key(&row->trial.problem, problem) &&
            rdt_problem_compare_extents(&row->trial.problem, problem) != 0)
            add_own(self->executable, &extents);
    }
}

/* Chooses by what is known; the lock is held. Says in hint what has to be verified. */
static redtune_status choose_by(making *self, rdt_codegen *codegen, grounds by,
                                redtune_error *err) {
    redtune *rt = self->rt;
    static const rdt_winners none = {.class_count = 0};
    rdt_case at = {self->problem, &rt->context->facts};
    redtune_status status = REDTUNE_OK;
    self->hint = (rdt_hint){.problem = NULL};
    if (self->pin) {
        status = take_pin(self, codegen, at, &self->choice, err);
    } else if (by == GROUNDS_NONE) {
        status = rdt_select(&none, codegen, at, &self->choice, err);
    } else {
        const bool here_only = by == GROUNDS_MEASURED_HERE;
        status = rdt_runtime_select(rt, codegen, self->problem, here_only, &self->choice, err);
        self->executable->own_count = 0;
        if (!status) list_own(self, here_only ? &rt->winners_here : &rt->winners);
    }
    if (status) return status;
    tell(self, rdt_codegen_spaces(codegen));
    const rdt_row *row = self->choice.row;
    if (row && row->trial.imported && rt->trust == REDTUNE_TRUST_VERIFIED)
        self->hint =
            (rdt_hint){self->problem, self->choice.match, row->trial.problem, self->choice.point};
    self->choice.row = NULL; /* the winners may be read anew once the lock is gone */
    return REDTUNE_OK;
}

/* Whether the hint is verified or refuted afterwards: choosing again goes by that. */
static bool verify_hint(making *self, rdt_codegen *codegen, double *left_s) {
    redtune_error why;
    bool decided = false;
    redtune_status status =
        rdt_import_policy_verify(self->rt, codegen, &self->hint, left_s, &decided, &why);
    if (!status && decided) return true;
    self->unverified = status != REDTUNE_OK;
    if (status)
        rdt_log_write(&self->rt->log, REDTUNE_LOG_WARNING,
                      "an imported measurement is not used, since it could not be verified: %s",
                      why.message);
    return false;
}

static redtune_status make_kernel(void *user, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch,
                                  rdt_kernel **out, redtune_error *err) {
    const redtune *rt = user;
    return rdt_builder_make(rt->builder, rt->context, problem, point, launch, out, err);
}

/* Chooses, verifying imported measurements on the way, and describes the choice. An op of the
 * user's is checked before the first plan of it in this process. */
static redtune_status choose(making *self, grounds by, bool at_once, redtune_error *err) {
    redtune *rt = self->rt;
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_builder_borrow(rt->builder, &codegen, err);
    if (status) return status;
    const rdt_maker maker = {codegen, make_kernel, rt};
    status = rdt_own_check(rt->context, self->problem, &maker, err);
    double left_s = rt->verify_s;
    for (int hints = 0; !status; hints++) {
        pthread_mutex_lock(&rt->lock);
        status = choose_by(self, codegen, by, err);
        pthread_mutex_unlock(&rt->lock);
        if (status || !self->hint.problem) break;
        self->waits = at_once;
        if (hints == HINTS_MAX) self->unverified = true;
        if (at_once || hints == HINTS_MAX || !verify_hint(self, codegen, &left_s))
            by = GROUNDS_MEASURED_HERE;
    }
    if (!status)
        status = rdt_rules_launch(codegen, (rdt_case){self->problem, &rt->context->facts},
                                  &self->choice.point, &self->executable->launch, err);
    self->executable->launch.yield = self->yield;
    rdt_builder_give_back(rt->builder);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

static redtune_status load(const making *self, bool cached_only, redtune_error *err) {
    return rdt_builder_get(self->rt->builder, self->rt->context, self->problem, &self->choice.point,
                           &self->executable->launch, cached_only, &self->executable->kernel, err);
}

/* Where compiling can wait: the default's kernel, if the cache has that one and not the other. */
static redtune_status load_something(making *self, redtune_error *err) {
    redtune_status status = load(self, true, err);
    if (status || self->executable->kernel || self->executable->info.match == REDTUNE_MATCH_DEFAULT)
        return status;
    const rdt_choice chosen = self->choice;
    const rdt_executable told = *self->executable;
    status = choose(self, GROUNDS_NONE, false, err);
    if (!status) status = load(self, true, err);
    self->executable->info.pending = self->executable->kernel != NULL;
    if (!self->executable->kernel) {
        self->choice = chosen;
        *self->executable = told;
    }
    return status;
}

/* Whether the choice was made from these databases. */
static bool chosen_from(const making *self, const rdt_identity databases) {
    redtune *rt = self->rt;
    pthread_mutex_lock(&rt->lock);
    bool same = self->pin || (rt->winners.class_count && !strcmp(rt->winners_of, databases));
    pthread_mutex_unlock(&rt->lock);
    return same;
}

static redtune_status make(making *self, bool at_once, redtune_error *err) {
    rdt_plan_cache_key key;
    rdt_identity databases;
    char templates[RDT_HASH_TEXT_BYTES];
    redtune_status status = rdt_builder_templates(self->rt->builder, templates, err);
    if (status) return status;
    rdt_identity_of(self->rt->layers.path, self->rt->layers.count, databases);
    const rdt_plan_cache_question question = {self->problem, self->yield, self->pin, databases,
                                              templates};
    rdt_plan_cache_name(self->rt, &question, key);
    if (databases[0] && rdt_plan_cache_follow(self->rt, key, self->executable)) return REDTUNE_OK;
    status = choose(self, GROUNDS_ALL, at_once, err);
    if (!status && at_once && !self->pin) status = load_something(self, err);
    if (!status && !self->executable->kernel) status = load(self, false, err);
    if (self->waits) self->executable->info.pending = true;
    if (!status && !self->executable->info.pending && !self->unverified && databases[0] &&
        chosen_from(self, databases) && rdt_builder_rendered_from(self->rt->builder, templates))
        rdt_plan_cache_write(self->rt, key, self->executable);
    return status;
}

redtune_status rdt_executable_create(redtune *rt, const redtune_problem *problem, rdt_yield yield,
                                     bool at_once, rdt_executable **out, redtune_error *err) {
    rdt_executable *executable = calloc(1, sizeof *executable);
    if (!executable) return rdt_fail_memory(err, sizeof *executable);
    making self = {.rt = rt, .problem = problem, .yield = yield, .executable = executable};
    self.pin = rt->pin ? rt->pin : problem->config;
    bool entered = false;
    redtune_status status = rdt_context_enter(rt->context, &entered, err);
    if (!status) {
        /* Other threads may be capturing: loading touches none of their streams. */
        CUstreamCaptureMode mode = rdt_context_relax(rt->context);
        status = make(&self, at_once, err);
        if (!status) status = rdt_workspace_reserve(rt->workspace, err);
        rdt_context_restore(rt->context, mode);
        rdt_context_leave(rt->context, entered);
    }
    if (status) {
        rdt_executable_destroy(rt, executable);
        return status;
    }
    char what[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(problem, what);
    rdt_log_write(&rt->log, REDTUNE_LOG_INFO, "plan for %s: %s (%s)%s", what, executable->text,
                  redtune_match_name(executable->info.match),
                  executable->info.pending ? " until another is ready" : "");
    *out = executable;
    return REDTUNE_OK;
}

void rdt_executable_destroy(redtune *rt, rdt_executable *executable) {
    if (!executable) return;
    bool entered = false;
    if (executable->kernel && rdt_context_enter(rt->context, &entered, NULL)) {
        rdt_kernel_forget(executable->kernel);
    } else if (executable->kernel) {
        CUstreamCaptureMode mode = rdt_context_relax(rt->context);
        rdt_kernel_unload(executable->kernel);
        rdt_context_restore(rt->context, mode);
        rdt_context_leave(rt->context, entered);
    }
    free(executable);
}
