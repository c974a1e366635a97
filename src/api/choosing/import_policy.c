/* Import policy: imported measurements are hints, verified on this GPU before they serve.
 *
 * An attempt measures the hint's config and the default. Both trials are stored as measured here,
 * and the winners are forgotten. So there is no second rule for trust: the config is selected
 * again, now among measurements of this machine. */
#define _POSIX_C_SOURCE 200809L
#include "api/choosing/import_policy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "api/records/current.h"
#include "api/records/history.h"
#include "api/choosing/recheck_session.h"

/* Up to here any config ends soon, however badly it suits the input. */
enum { ANY_BYTES_MAX = 16 << 20 };
/* Of the free memory that the application may be about to take. */
enum { MEMORY_SHARE = 4 };
/* For one step of a config in a worker: a check, or a sample. */
static const double step_limit_s = 2;

/* To verify a hint. */
typedef struct attempt {
    rdt_recheck_session session;
    redtune_problem problem; /* as it is measured */
    bool is_less;            /* of less elements than it should be */
} attempt;

/* ---- what is tried --------------------------------------------------------------------------- */

/* The largest power of two up to count. */
static uint64_t round_down(uint64_t count) {
    uint64_t power = 1;
    while (power <= count / 2) power *= 2;
    return power;
}

static void take_extents(redtune_problem *problem, const redtune_problem *from) {
    if (rdt_problem_is_strided(from)) {
        memcpy(problem->kept, from->kept, sizeof problem->kept);
        memcpy(problem->reduced, from->reduced, sizeof problem->reduced);
        problem->kept_axes = from->kept_axes;
        problem->reduced_axes = from->reduced_axes;
        problem->steps = from->steps;
        return;
    }
    rdt_problem_segments_set_shape(problem, rdt_problem_segments_shape(from));
}

/* The largest power of two below. */
static uint64_t less_than(uint64_t extent) { return round_down(extent - 1); }

/* Takes elements from the problem until the memory has room for it, of the same layout: results
 * side by side first, since as many as a GPU has threads tell as much as more. false: it has none,
 * or the problem is of any axes, whose steps would become others. */
static bool shrink(redtune_problem *problem, const rdt_facts *facts, uint64_t bytes) {
    const uint64_t outer_least = rdt_problem_layout(problem) == RDT_LAYOUT_ROWS ? 2 : 1;
    if (rdt_problem_is_strided(problem)) return false;
    if (rdt_problem_layout(problem) == RDT_LAYOUT_WHOLE) {
        const uint64_t within = rdt_test_buffers_count_within(facts, bytes, problem);
        rdt_problem_axes_set_count(problem, within ? round_down(within) : 0);
        return within > 0;
    }
    rdt_extents extents = rdt_problem_axes_written(problem);
    while (rdt_test_buffers_bytes(facts, problem) > bytes) {
        if (extents.outer > outer_least)
            extents.outer = less_than(extents.outer);
        else if (extents.count > 1)
            extents.count = less_than(extents.count);
        else
            return false;
        rdt_problem_axes_set(problem, extents);
    }
    return true;
}

/* Whether the memory has room for all of it. */
static bool has_room(const redtune_problem *problem, const rdt_facts *facts, uint64_t bytes) {
    if (rdt_problem_layout(problem) == RDT_LAYOUT_WHOLE)
        return rdt_problem_count(problem) <= rdt_test_buffers_count_within(facts, bytes, problem);
    return rdt_test_buffers_bytes(facts, problem) <= bytes;
}

/* Chooses the extents. */
static redtune_status set_out(attempt *self, const rdt_hint *hint, redtune_error *err) {
    const rdt_context *context = self->session.rt->context;
    uint64_t free_bytes = 0;
    redtune_status status = rdt_context_free_bytes(context, &free_bytes, err);
    if (status) return status;
    self->problem = *hint->problem;
    self->problem.config = NULL;
    if (hint->match != REDTUNE_MATCH_GPU) take_extents(&self->problem, &hint->measured);
    const uint64_t bytes = self->session.memory_bytes = free_bytes / MEMORY_SHARE;
    if (has_room(&self->problem, &context->facts, bytes)) return REDTUNE_OK;
    if (!shrink(&self->problem, &context->facts, bytes))
        return rdt_fail(err, REDTUNE_MEMORY, 0,
                        "%" PRIu64 " bytes of GPU memory are free, and a quarter is too little",
                        free_bytes);
    self->is_less = true;
    return rdt_problem_resolve(&self->problem, &self->problem, err);
}

/* Whether a call may take thousands of times what the default takes: one block for a gigabyte. */
static bool is_hopeless(const attempt *self, const rdt_hint *hint) {
    const uint64_t element = rdt_problem_input_bytes(&self->problem);
    rdt_case at = {&self->problem, &self->session.rt->context->facts};
    bool useful = false;
    return rdt_problem_elements(&self->problem) > ANY_BYTES_MAX / element &&
           (rdt_rules_is_point(self->session.codegen, at, RDT_SCOPE_USEFUL, &hint->point, &useful,
                               NULL) ||
            !useful);
}

/* Whether a config that is tried with less elements has been before. */
static bool is_known(const attempt *self, const rdt_hint *hint) {
    rdt_tuning *database = NULL;
    rdt_trials known = {0};
    char family[RDT_NAME_BYTES], config[RDT_CONFIG_TEXT_BYTES];
    bool found = false;
    rdt_point_write(rdt_codegen_spaces(self->session.codegen), &hint->point, family, config);
    if (!rdt_tuning_open_read(self->session.rt->layers.path[0], &database, NULL) &&
        !rdt_history_read(database, self->session.codegen, &self->session.rt->context->facts,
                          &self->problem, RDT_CACHE_COLD, &known, NULL))
        for (size_t i = 0; i < known.count; i++)
            found |= !rdt_problem_compare_extents(&known.trial[i].problem, &self->problem) &&
                     !strcmp(known.trial[i].family, family) &&
                     !strcmp(known.trial[i].config, config);
    rdt_trials_free(&known);
    rdt_tuning_close(database);
    return found;
}

/* ---- keeping what came of it ----------------------------------------------------------------- */

static redtune_status put_found(const attempt *self, const rdt_origin *origin,
                                const rdt_rechecked *found, redtune_error *err) {
    rdt_tuning *database = NULL;
    redtune_status status =
        rdt_tuning_open_briefly(self->session.rt->layers.path[0], &database, err);
    if (!status)
        status = rdt_current_put(database, self->session.codegen, &self->session.rt->context->facts,
                                 origin, found->trials, found->count, err);
    rdt_tuning_close(database);
    return status;
}

/* In the database, or, where that takes nothing, in memory. */
static redtune_status keep_found(const attempt *self, const rdt_rechecked *found,
                                 redtune_error *err) {
    redtune *rt = self->session.rt;
    rdt_row row = {.gpu = rt->context->facts, .date = (int64_t)time(NULL)};
    redtune_error why;
    if (!found->count) return REDTUNE_OK;
    redtune_status status = rdt_recheck_session_origin(&self->session, &row.origin, err);
    if (status) return status;
    if (put_found(self, &row.origin, found, &why)) {
        rdt_log_write(&rt->log, REDTUNE_LOG_INFO,
                      "what was verified is not kept for other processes: %s", why.message);
        pthread_mutex_lock(&rt->lock);
        for (size_t i = 0; !status && i < found->count; i++) {
            row.trial = found->trials[i];
            status = rdt_rows_add(&rt->verified, &row, err);
        }
        pthread_mutex_unlock(&rt->lock);
    }
    rdt_runtime_forget_winners(rt);
    return status;
}

static void report_found(const attempt *self, const rdt_rechecked *found) {
    const rdt_log *log = &self->session.rt->log;
    for (size_t i = 0; i < found->count; i++) {
        const rdt_trial *trial = &found->trials[i];
        if (trial->outcome == RDT_OUTCOME_GOOD)
            rdt_log_write(log, REDTUNE_LOG_INFO, "verified %s: %.2f us at %" PRIu64 " elements%s",
                          trial->config, trial->median_ns / 1e3,
                          rdt_problem_elements(&trial->problem),
                          trial->is_default ? ", the default" : "");
        else
            rdt_log_write(log, REDTUNE_LOG_WARNING, "%s is out, as an import had it: %s: %s",
                          trial->config, rdt_trial_outcome_name(trial->outcome), trial->cause);
    }
}

/* ---- verifying ------------------------------------------------------------------------------- */

static redtune_status recheck(attempt *self, const rdt_hint *hint, double *left_s,
                              rdt_rechecked *found, redtune_error *err) {
    rdt_recheck_session *session = &self->session;
    const rdt_domain domain = rdt_problem_domain(&self->problem, 1);
    redtune_status status = rdt_recheck_session_open(session, err);
    if (!status) status = rdt_recheck_session_furnish(session, &domain, err);
    if (status) return status;
    double before = rdt_recheck_session_clock_s(session);
    status = rdt_recheck_session_recheck(session, &self->problem, RDT_CACHE_COLD, &hint->point,
                                         *left_s, found, err);
    *left_s -= rdt_recheck_session_clock_s(session) - before;
    if (status || found->count) return status;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "it takes longer than %.3g s",
                    session->rt->verify_s);
}

static redtune_status try_out(attempt *self, const rdt_hint *hint, double *left_s,
                              redtune_error *err) {
    rdt_rechecked found = {.count = 0};
    redtune_status status = recheck(self, hint, left_s, &found, err);
    rdt_recheck_session_close(&self->session);
    report_found(self, &found);
    /* A fault that spoils everything else here is kept, too, so that nobody meets it again. */
    redtune_status kept = keep_found(self, &found, status ? NULL : err);
    return status ? status : kept;
}

redtune_status rdt_import_policy_verify(redtune *rt, rdt_codegen *codegen, const rdt_hint *hint,
                                        double *left_s, bool *decided, redtune_error *err) {
    attempt self = {
        .session = {.rt = rt, .codegen = codegen, .worker = rt->worker, .step_s = step_limit_s}};
    if (*left_s <= 0)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "the time for it, %.3g s, is over",
                        rt->verify_s);
    redtune_status status = set_out(&self, hint, err);
    if (status) return status;
    bool hopeless = is_hopeless(&self, hint);
    if (hopeless)
        rdt_log_write(&rt->log, REDTUNE_LOG_INFO,
                      "an imported config is not worth measuring at %" PRIu64 " elements",
                      rdt_problem_elements(&self.problem));
    else if (!(self.is_less && is_known(&self, hint)))
        status = try_out(&self, hint, left_s, err);
    if (!status) *decided = !self.is_less && !hopeless;
    return status;
}
