/* Verify: whether what the databases say of this GPU model still holds on this GPU.
 *
 * Each config is measured beside a partner: the built-in default, or beside that the fastest other
 * config of the problem. So a GPU that is slower than on the day of the tune is told from a config
 * that is (model/hold.h). What the former takes is not stored: times of such a state would stand
 * beside those of configs that were not measured in it, and the best would lose to them. */
#include <stdlib.h>
#include <string.h>
#include "api/records/current.h"
#include "api/choosing/recheck_session.h"
#include "base/random.h"
#include "base/clock.h"
#include "base/reserved.h"
#include "model/hold.h"
#include "model/problem_filter.h"
#include "model/winner.h"
#include "redtune/tune.h"

static const double usual_step_s = 10;
/* A slower config is measured so often at most to outvote what is there. */
enum { VOTES_MAX = 8 };

/* A config at a problem, what stands for it, and the same of its partner. */
typedef struct entry {
    rdt_trial trial, partner; /* the partner's family is "" where nothing can be beside it */
    rdt_point point;
    rdt_point rechecked; /* point, or, where that is the default, its partner */
    int votes;           /* measurements that it takes to outvote it */
    int64_t date;        /* of the latest row */
} entry;

typedef struct work {
    redtune *rt;
    const redtune_verifying *wanted;
    rdt_codegen *codegen;
    rdt_tuning *database;
    rdt_origin origin;
    rdt_recheck_session session;
    uint64_t free_bytes;
    rdt_rows rows; /* of this GPU model that are wanted */
    entry *entries;
    size_t count;
    redtune_verify_counts counts;
} work;

/* Rows that lie together. */
typedef struct rows_part {
    const rdt_row *row;
    size_t count;
} rows_part;

/* ---- what stands ----------------------------------------------------------------------------- */

static bool is_to_verify(const work *self, const rdt_row *row) {
    const redtune_verifying *wanted = self->wanted;
    const rdt_problem_filter filter = {wanted->op,    wanted->dtype, wanted->layouts,
                                       wanted->count, wanted->outer, wanted->inner};
    return !rdt_op_find(row->trial.problem.op)->absent &&
           rdt_facts_same_model(&row->gpu, &self->rt->context->facts) &&
           rdt_problem_filter_takes(&filter, &row->trial.problem);
}

static redtune_status read_rows(work *self, redtune_error *err) {
    const rdt_layers_wanted wanted = {.log = &self->rt->log};
    redtune_status status = rdt_layers_read(&self->rt->layers, &wanted, &self->rows, err);
    size_t kept = 0;
    for (size_t i = 0; i < self->rows.count; i++)
        if (is_to_verify(self, &self->rows.row[i])) self->rows.row[kept++] = self->rows.row[i];
    self->rows.count = kept;
    return status;
}

static int compare_subject(const rdt_row *a, const rdt_row *b) {
    int diff = rdt_rows_compare_problem(&a->trial, &b->trial);
    if (!diff) diff = strcmp(a->trial.family, b->trial.family);
    return diff ? diff : strcmp(a->trial.config, b->trial.config);
}

/* By problem and config, and then from old to new; what is bad is the newest of its second. */
static int compare_age(const void *a, const void *b) {
    const rdt_row *x = a, *y = b;
    int diff = compare_subject(x, y);
    if (!diff) diff = (x->date > y->date) - (x->date < y->date);
    return diff ? diff : (int)x->trial.outcome - (int)y->trial.outcome;
}

/* The point of a trial, if it can be tried here at all. */
static bool find_point(const work *self, const rdt_trial *trial, rdt_point *out) {
    const rdt_context *context = self->rt->context;
    return rdt_test_buffers_fit(&context->facts, self->free_bytes, &trial->problem) &&
           !rdt_rules_read(self->codegen, (rdt_case){&trial->problem, &context->facts},
                           trial->family, trial->config, out, NULL);
}

/* The trial that stands for these rows: of one config, or of a problem's winner; NULL: none can. */
static redtune_status find_standing(rows_part rows, const rdt_trial **out, redtune_error *err) {
    const rdt_trial **trials = malloc(rows.count * sizeof *trials);
    rdt_winner found;
    if (!trials) return rdt_fail_memory(err, rows.count * sizeof *trials);
    for (size_t i = 0; i < rows.count; i++) trials[i] = &rows.row[i].trial;
    redtune_status status = rdt_winner_choose(trials, rows.count, &found, err);
    free(trials);
    if (!status) *out = found.trial;
    return status;
}

static bool is_of_config(const rdt_trial *trial, const rdt_trial *other) {
    return !strcmp(trial->family, other->family) && !strcmp(trial->config, other->config);
}

/* The default at the entry's problem. */
static redtune_status find_default(const work *self, const entry *each, rdt_trial *out,
                                   redtune_error *err) {
    rdt_point point;
    const rdt_case at = {&each->trial.problem, &self->rt->context->facts};
    redtune_status status = rdt_rules_default(self->codegen, at, &point, err);
    if (!status)
        rdt_point_write(rdt_codegen_spaces(self->codegen), &point, out->family, out->config);
    return status;
}

/* Finds the entry's partner among the rows of its problem: of those measured here, or, for a config
 * that was imported, of those that were too, since times of other GPUs do not compare. */
static redtune_status find_partner(work *self, rows_part all, entry *each, redtune_error *err) {
    rdt_trial baseline;
    rdt_winner found = {NULL, NULL, NULL};
    redtune_status status = find_default(self, each, &baseline, err);
    if (status) return status;
    const rdt_trial **trials = malloc(all.count * sizeof *trials);
    if (!trials) return rdt_fail_memory(err, all.count * sizeof *trials);
    const bool is_default = is_of_config(&each->trial, &baseline);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++)
        if (all.row[i].trial.imported == each->trial.imported &&
            is_of_config(&all.row[i].trial, &baseline) != is_default)
            trials[kept++] = &all.row[i].trial;
    status = rdt_winner_choose(trials, kept, &found, err);
    free(trials);
    rdt_point point;
    each->rechecked = each->point;
    if (status || !found.fastest || !find_point(self, found.fastest, &point)) return status;
    each->partner = *found.fastest;
    if (is_default) each->rechecked = point;
    return REDTUNE_OK;
}

/* Adds what stands for a config, if anything does: own are the rows of that config among all of the
 * problem. */
static redtune_status add_standing(work *self, rows_part own, rows_part all, redtune_error *err) {
    const rdt_trial *standing = NULL;
    redtune_status status = find_standing(own, &standing, err);
    if (status || !standing) return status;
    entry each = {.trial = *standing, .date = own.row[own.count - 1].date};
    self->counts.standing++;
    if (!find_point(self, &each.trial, &each.point)) {
        self->counts.skipped++;
        return REDTUNE_OK;
    }
    status = find_partner(self, all, &each, err);
    if (status) return status;
    for (size_t i = 0; i < own.count; i++)
        each.votes +=
            !own.row[i].trial.imported && own.row[i].trial.samples >= RDT_RECHECK_SAMPLES_MIN;
    if (each.votes < 1) each.votes = 1;
    if (each.votes > VOTES_MAX) each.votes = VOTES_MAX;
    self->entries[self->count++] = each;
    return REDTUNE_OK;
}

/* The configs of a problem, whose rows these are; of a sample the winner alone. */
static redtune_status list_problem(work *self, rows_part rows, redtune_error *err) {
    const rdt_row *row = rows.row;
    const rdt_trial *winner = NULL;
    const bool sampled = self->wanted->sample;
    redtune_status status = sampled ? find_standing(rows, &winner, err) : REDTUNE_OK;
    for (size_t first = 0, end; !status && first < rows.count; first = end) {
        end = first + 1;
        while (end < rows.count && !compare_subject(&row[first], &row[end])) end++;
        if (!sampled || (winner && is_of_config(&row[first].trial, winner)))
            status = add_standing(self, (rows_part){&row[first], end - first}, rows, err);
    }
    return status;
}

static redtune_status list_entries(work *self, redtune_error *err) {
    const rdt_row *row = self->rows.row;
    const size_t count = self->rows.count;
    redtune_status status = REDTUNE_OK;
    self->entries = calloc(count + 1, sizeof *self->entries);
    if (!self->entries) return rdt_fail_memory(err, (count + 1) * sizeof *self->entries);
    if (count) qsort(self->rows.row, count, sizeof *self->rows.row, compare_age);
    for (size_t first = 0, end; !status && first < count; first = end) {
        end = first + 1;
        while (end < count && !rdt_rows_compare_problem(&row[first].trial, &row[end].trial)) end++;
        status = list_problem(self, (rows_part){&row[first], end - first}, err);
    }
    return status;
}

/* Draws a sample in the rows' order, in which classes lie together. */
static void draw(work *self) {
    rdt_random random = {self->wanted->seed};
    uint64_t wanted = self->wanted->sample, left = self->count;
    size_t kept = 0;
    if (!wanted || wanted >= self->count) return;
    for (size_t i = 0; i < self->count; i++, left--)
        if (rdt_random_below(&random, left) < wanted - kept)
            self->entries[kept++] = self->entries[i];
    self->count = kept;
}

/* ---- trying it ------------------------------------------------------------------------------- */

/* What an entry takes now. */
typedef struct measured {
    rdt_trial config;
    rdt_trial partner; /* not good: its time is unknown */
    rdt_hold hold;
} measured;

static bool has_slower_partner(const entry *each, const measured *now) {
    return *each->partner.family && now->partner.outcome == RDT_OUTCOME_GOOD &&
           rdt_hold_takes_longer((rdt_then_now){&each->partner, &now->partner});
}

/* Leaves the trials to store. On a GPU that is slower than it was only the time of a config that
 * does not hold is stored. Of an imported config there is no time of here so far: all are stored.
 */
static size_t keep_to_store(const entry *each, const measured *now, rdt_trial *trials,
                            size_t count) {
    size_t kept = 0;
    if (each->trial.imported || now->hold == RDT_HOLD_TIME || now->hold == RDT_HOLD_FAILED)
        return count;
    if (now->hold == RDT_HOLD_BESIDE) return 0;
    for (size_t i = 0; i < count; i++)
        if (is_of_config(&trials[i], &each->trial) || !has_slower_partner(each, now))
            trials[kept++] = trials[i];
    return kept;
}

static rdt_hold judge(const entry *each, const measured *now) {
    const rdt_then_now partner = {*each->partner.family ? &each->partner : NULL, &now->partner};
    return rdt_hold_judge((rdt_then_now){&each->trial, &now->config}, partner);
}

static redtune_status measure_entry(work *self, const entry *each, measured *out,
                                    redtune_error *err) {
    redtune_error why;
    rdt_rechecked found = {.count = 0};
    redtune_status kept = REDTUNE_OK;
    redtune_status status = rdt_recheck_session_recheck(
        &self->session, &each->trial.problem, each->trial.cache, &each->rechecked, 0, &found, err);
    *out = (measured){.config.outcome = RDT_OUTCOME_HUNG, .partner.outcome = RDT_OUTCOME_HUNG};
    for (size_t i = 0; i < found.count; i++) {
        const bool is_own = is_of_config(&found.trials[i], &each->trial);
        if (is_own) found.trials[i].after = each->date;
        *(is_own ? &out->config : &out->partner) = found.trials[i];
    }
    out->hold = judge(each, out);
    found.count = keep_to_store(each, out, found.trials, found.count);
    if (found.count)
        kept = rdt_current_put(self->database, self->codegen, &self->rt->context->facts,
                               &self->origin, found.trials, found.count, &why);
    if (!status && kept && err) *err = why;
    return status ? status : kept;
}

static redtune_verified describe_verified(const entry *each, const measured *now) {
    const bool is_beside = *each->partner.family && now->partner.outcome == RDT_OUTCOME_GOOD;
    redtune_verified told = {
        .problem = each->trial.problem,
        .warm = each->trial.cache == RDT_CACHE_WARM,
        .imported = each->trial.imported,
        .was_ns = each->trial.median_ns,
        .now_ns = now->config.median_ns,
        .outcome = rdt_trial_outcome_name(now->config.outcome),
        .cause = now->config.cause,
        .holds = now->hold == RDT_HOLD_TIME || now->hold == RDT_HOLD_BESIDE,
        .beside_was_ns = is_beside ? each->partner.median_ns : 0,
        .beside_now_ns = is_beside ? now->partner.median_ns : 0,
    };
    rdt_text_copy(told.family, sizeof told.family, each->trial.family);
    rdt_text_copy(told.config, sizeof told.config, each->trial.config);
    return told;
}

static redtune_status verify_entry(work *self, const entry *each, redtune_error *err) {
    measured now;
    redtune_status status = measure_entry(self, each, &now, err);
    if (status) return status;
    const measured first = now;
    redtune_verified told = describe_verified(each, &first);
    bool is_slower = first.hold == RDT_HOLD_SLOWER;
    int against = 1;
    for (int i = 1; !status && is_slower && i < each->votes; i++) {
        status = measure_entry(self, each, &now, err);
        against += !status && (now.hold == RDT_HOLD_SLOWER || now.hold == RDT_HOLD_FAILED);
    }
    told.retired = !told.holds && (!is_slower || against == each->votes);
    self->counts.verified++;
    self->counts.held += told.holds != 0;
    self->counts.held_beside += first.hold == RDT_HOLD_BESIDE;
    self->counts.retired += told.retired != 0;
    if (!status && self->wanted->each && self->wanted->each(self->wanted->user, &told))
        status = rdt_fail_interrupted(err, "verifying");
    return status;
}

/* Those of one class share the test data. */
static redtune_status verify_class(work *self, size_t first, size_t count, redtune_error *err) {
    rdt_domain domain = rdt_problem_domain(&self->entries[first].trial.problem, 1);
    for (size_t i = first; i < first + count; i++)
        rdt_problem_widen(&domain, &self->entries[i].trial.problem);
    redtune_status status = rdt_recheck_session_furnish(&self->session, &domain, err);
    for (size_t i = first; !status && i < first + count; i++)
        status = verify_entry(self, &self->entries[i], err);
    return status;
}

static redtune_status verify_all(work *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t first = 0, end; !status && first < self->count; first = end) {
        end = first + 1;
        while (end < self->count && rdt_problem_same_class(&self->entries[first].trial.problem,
                                                           &self->entries[end].trial.problem))
            end++;
        status = verify_class(self, first, end - first, err);
    }
    return status;
}

static redtune_status verify_database(work *self, redtune_error *err) {
    redtune *rt = self->rt;
    redtune_status status = rdt_tuning_open(rt->layers.path[0], &self->database, err);
    if (!status) status = rdt_current_complete(self->database, self->codegen, err);
    if (!status) status = rdt_context_free_bytes(rt->context, &self->free_bytes, err);
    if (!status) status = read_rows(self, err);
    if (!status) status = list_entries(self, err);
    if (status) return status;
    draw(self);
    if (!self->count) return REDTUNE_OK;
    self->session = (rdt_recheck_session){
        .rt = rt,
        .codegen = self->codegen,
        .worker = self->wanted->worker,
        .step_s = self->wanted->limit_s > 0 ? self->wanted->limit_s : usual_step_s,
    };
    status = rdt_recheck_session_origin(&self->session, &self->origin, err);
    if (!status) status = rdt_recheck_session_open(&self->session, err);
    if (!status) status = verify_all(self, err);
    rdt_recheck_session_close(&self->session);
    return status;
}

redtune_status redtune_verify(redtune *rt, const redtune_verifying *verifying,
                              redtune_verify_counts *counts, redtune_error *err) {
    const redtune_verifying usual = {0};
    work self = {.rt = rt, .wanted = verifying ? verifying : &usual};
    bool entered = false;
    if (!rt) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot verify: rt is NULL");
    redtune_status status = rdt_reserved_check(RDT_RESERVED(self.wanted), "redtune_verifying", err);
    if (!status) status = rdt_clock_check_s("verify", "limit_s", self.wanted->limit_s, err);
    if (!status) status = rdt_problem_check_filter(self.wanted->op, self.wanted->dtype, err);
    if (!status) status = rdt_builder_borrow(rt->builder, &self.codegen, err);
    if (status) return status;
    status = rdt_context_enter(rt->context, &entered, err);
    if (!status) {
        status = verify_database(&self, err);
        rdt_context_leave(rt->context, entered);
    }
    rdt_builder_give_back(rt->builder);
    rdt_tuning_close(self.database);
    rdt_runtime_forget_winners(rt);
    rdt_rows_free(&self.rows);
    free(self.entries);
    if (!status && counts) *counts = self.counts;
    return status;
}
