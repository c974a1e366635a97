/* Executable: a configuration chosen for a problem, its kernel loaded: what a plan runs. */
#include "api/choosing/executable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/choosing/baked_kernel.h"
#include "api/choosing/meanwhile.h"
#include "api/choosing/plan_cache.h"
#include "api/records/convert.h"
#include "codegen/user_ops.h"

/* An executable being made, and its problem. */
typedef struct making {
    redtune *rt;
    const redtune_problem *problem;
    rdt_yield yield;
    bool scattered;
    const char *pin; /* the configuration asked for; NULL: none */
    rdt_choice choice;
    rdt_executable *executable;
} making;

/* ---- choosing -------------------------------------------------------------------------------- */

static redtune_status take_pin(const making *self, rdt_codegen *codegen, rdt_case at,
                               rdt_choice *out, redtune_error *err) {
    rdt_choice choice = {.match = REDTUNE_MATCH_PINNED};
    if (self->scattered) {
        redtune_status found = rdt_rules_scattered(codegen, at, &choice.point, err);
        if (!found) *out = choice;
        return found;
    }
    redtune_status status = rdt_rules_find(codegen, at, NULL, self->pin, &choice.point, err);
    if (!status) status = rdt_rules_check(codegen, at, &choice.point, err);
    if (!status) *out = choice;
    if (!status || !self->rt->pin) return status;
    return rdt_fail_within(err, status, "REDTUNE_CONFIG=%.100s", self->pin);
}

void rdt_executable_describe(rdt_executable *executable, const rdt_spaces *spaces,
                             const redtune_problem *problem, const rdt_choice *choice) {
    redtune_info *info = &executable->info;
    *info = (redtune_info){.problem = *problem, .match = choice->match};
    info->problem.config = NULL;
    rdt_point_write(spaces, &choice->point, info->family, info->config);
    executable->measured = (redtune_problem){.dtype = REDTUNE_DTYPE_NONE};
    if (choice->row) {
        rdt_convert_origin(choice->row, info);
        executable->measured = choice->row->trial.problem;
    }
    rdt_point_format(spaces, &choice->point, executable->text);
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

/* Among the winners; the lock is held. What was imported since the admission, and is not verified,
 * does not serve. */
static redtune_status choose_winner(making *self, rdt_codegen *codegen, bool here_only,
                                    redtune_error *err) {
    redtune *rt = self->rt;
    redtune_status status =
        rdt_runtime_select(rt, codegen, self->problem, here_only, &self->choice, err);
    if (!status && !rdt_admission_serves(rt, self->choice.row)) {
        here_only = true;
        status = rdt_runtime_select(rt, codegen, self->problem, here_only, &self->choice, err);
    }
    self->executable->own_count = 0;
    if (!status) list_own(self, here_only ? &rt->winners_here : &rt->winners);
    return status;
}

/* Chooses by what is known; the lock is held. */
static redtune_status choose_by(making *self, rdt_codegen *codegen, rdt_grounds by,
                                redtune_error *err) {
    static const rdt_winners none = {.reads = 0};
    rdt_case at = {self->problem, &self->rt->context->facts};
    redtune_status status = REDTUNE_OK;
    if (self->pin)
        status = take_pin(self, codegen, at, &self->choice, err);
    else if (by == RDT_GROUNDS_NONE)
        status = rdt_select(&none, codegen, at, &self->choice, err);
    else
        status = choose_winner(self, codegen, by == RDT_GROUNDS_MEASURED_HERE, err);
    if (status) return status;
    rdt_executable_describe(self->executable, rdt_codegen_spaces(codegen), self->problem,
                            &self->choice);
    self->choice.row = NULL; /* the winners may be read anew once the lock is gone */
    return REDTUNE_OK;
}

static redtune_status check_op(const redtune_problem *problem, redtune_error *err) {
    if (!rdt_user_ops_find(problem->op) ||
        rdt_user_ops_is_checked(problem->op, problem->dtype, problem->result))
        return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_TEMPLATE, 0, "cannot use op %s: nobody has checked it",
                    redtune_op_name(problem->op));
}

/* Chooses, and describes the choice. */
static redtune_status choose(making *self, rdt_grounds by, redtune_error *err) {
    redtune *rt = self->rt;
    rdt_codegen *codegen = NULL;
    redtune_status status = check_op(self->problem, err);
    if (!status) status = rdt_builder_borrow(rt->builder, &codegen, err);
    if (status) return status;
    pthread_mutex_lock(&rt->lock);
    status = choose_by(self, codegen, by, err);
    pthread_mutex_unlock(&rt->lock);
    if (!status)
        status = rdt_rules_launch(codegen, (rdt_case){self->problem, &rt->context->facts},
                                  &self->choice.point, &self->executable->launch, err);
    self->executable->launch.yield = self->yield;
    rdt_builder_give_back(rt->builder);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

static redtune_status load(const making *self, bool cached_only, redtune_error *err) {
    self->executable->kernel = rdt_baked_kernel_load(self->rt, self->problem, &self->choice.point,
                                                     &self->executable->launch);
    if (self->executable->kernel) return REDTUNE_OK;
    return rdt_builder_get(self->rt->builder, self->rt->context, self->problem, &self->choice.point,
                           &self->executable->launch, cached_only, &self->executable->kernel, err);
}

/* Takes the config, which is as good as any: it counts as the default. */
static redtune_status choose_config(making *self, const char *config, redtune_error *err) {
    self->pin = config;
    redtune_status status = choose(self, RDT_GROUNDS_NONE, err);
    self->pin = NULL;
    self->choice.match = self->executable->info.match = REDTUNE_MATCH_DEFAULT;
    return status;
}

/* Whether a tune would look at the choice. */
static bool is_useful(const making *self) {
    const rdt_case at = {self->problem, &self->rt->context->facts};
    rdt_codegen *codegen = NULL;
    bool useful = false;
    if (rdt_builder_borrow(self->rt->builder, &codegen, NULL)) return false;
    if (rdt_rules_is_point(codegen, at, RDT_SCOPE_USEFUL, &self->choice.point, &useful, NULL))
        useful = false;
    rdt_builder_give_back(self->rt->builder);
    return useful;
}

/* Any kernel of the class that the cache has and that serves here: rather one that is not plainly
 * wrong for the extents. */
static void load_any(making *self) {
    rdt_meanwhile known;
    rdt_meanwhile_find(self->rt, self->problem, self->yield, &known);
    for (int i = 0; i < 2 * known.count && !self->executable->kernel; i++) {
        const bool all = i >= known.count;
        if (choose_config(self, known.config[i % known.count], NULL)) continue;
        if (is_useful(self) != all) load(self, true, NULL);
    }
}

/* Where compiling can wait: the default's kernel, or another one of the class, if the cache has
 * that and not the chosen one. */
static redtune_status load_something(making *self, redtune_error *err) {
    redtune_status status = load(self, true, err);
    if (status || self->executable->kernel) return status;
    const rdt_choice chosen = self->choice;
    const rdt_executable told = *self->executable;
    if (told.info.match != REDTUNE_MATCH_DEFAULT) {
        status = choose(self, RDT_GROUNDS_NONE, err);
        if (!status) status = load(self, true, err);
    }
    if (!status && !self->executable->kernel) load_any(self);
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
    bool same = self->pin || (rt->winners.reads && !strcmp(rt->winners_of, databases));
    pthread_mutex_unlock(&rt->lock);
    return same;
}

/* ---- the cached plan ------------------------------------------------------------------------- */

/* What the cached plan of the problem is kept under. */
typedef struct cached_name {
    rdt_plan_cache_key key;
    rdt_identity databases; /* "": unknown, and no plan is kept */
    char templates[RDT_HASH_TEXT_BYTES];
} cached_name;

static redtune_status name_cached(const making *self, cached_name *out, redtune_error *err) {
    const redtune *rt = self->rt;
    redtune_status status = rdt_builder_templates(rt->builder, out->templates, err);
    if (status) return status;
    rdt_identity_of(rt->layers.path, rt->layers.count, out->databases);
    const rdt_plan_cache_question question = {self->problem, self->yield, self->pin, out->databases,
                                              out->templates};
    rdt_plan_cache_name(rt, &question, out->key);
    return REDTUNE_OK;
}

static bool may_keep(const making *self, const cached_name *name) {
    return !self->executable->info.pending && name->databases[0] &&
           chosen_from(self, name->databases) &&
           rdt_builder_rendered_from(self->rt->builder, name->templates);
}

/* ---- making ---------------------------------------------------------------------------------- */

static redtune_status begin(making *self, redtune *rt, const rdt_need *need, redtune_error *err) {
    *self = (making){rt, need->problem, need->yield, need->scattered};
    self->pin = rt->pin ? rt->pin : self->problem->config;
    if (self->scattered) self->pin = "scattered"; /* no configuration reads so */
    self->executable = calloc(1, sizeof *self->executable);
    return self->executable ? REDTUNE_OK : rdt_fail_memory(err, sizeof *self->executable);
}

redtune_status rdt_executable_find(redtune *rt, const rdt_need *need, bool any_nvrtc,
                                   rdt_executable **out, redtune_error *err) {
    making self;
    cached_name name;
    redtune_status status = begin(&self, rt, need, err);
    if (!status) status = name_cached(&self, &name, err);
    const bool found = !status && name.databases[0] &&
                       rdt_plan_cache_follow(rt, name.key, any_nvrtc, self.executable);
    if (found)
        *out = self.executable;
    else
        rdt_executable_destroy(rt, self.executable);
    return status;
}

redtune_status rdt_executable_create(redtune *rt, const rdt_need *need,
                                     const rdt_admission *admission, bool at_once,
                                     rdt_executable **out, redtune_error *err) {
    making self;
    cached_name name;
    redtune_status status = begin(&self, rt, need, err);
    if (!status) status = name_cached(&self, &name, err);
    if (!status) status = choose(&self, admission->grounds, err);
    if (!status && at_once && !self.pin) status = load_something(&self, err);
    if (!status && !self.executable->kernel) status = load(&self, false, err);
    if (status) {
        rdt_executable_destroy(rt, self.executable);
        return status;
    }
    if (self.executable->kernel->key[0] && !self.executable->info.imported && !self.scattered)
        rdt_meanwhile_add(rt, self.problem, self.yield, self.executable->text);
    if (admission->waits) self.executable->info.pending = true;
    if (!admission->unverified && may_keep(&self, &name))
        rdt_plan_cache_write(rt, name.key, self.executable);
    *out = self.executable;
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
