/* Facts about imported measurements of rows and columns: each is verified at its own extents before
 * it serves, and for the class that it serves. On the simulated GPU. */
#define _GNU_SOURCE
#include "adder.h"
#include "check.h"
#include "folder.h"
#include "api/running/plan.h"
#include "cache/tuning.h"
#include "model/problem.h"
#include "redtune/records.h"
#include "shaped.h"

enum { CLAIM_NS = 100000 };

static redtune_error err;
static adder with;
static redtune *rt;
static char folder[64], database[96], elsewhere[96];

static redtune_problem of(redtune_op op, uint64_t outer, uint64_t count, uint64_t inner) {
    redtune_problem problem =
        PROBLEM(.op = op, .dtype = REDTUNE_F32, .count = count, .outer = outer, .inner = inner);
    rdt_problem_resolve(&problem, &problem, &err);
    return problem;
}

/* Imports the claim that the default's config with this in it is best there. */
static redtune_status import_claim(const redtune_problem *problem, const char *config) {
    const char *const files[] = {elsewhere};
    const redtune_importing importing = {.database = database, .files = files, .file_count = 1};
    rdt_tuning *tuning = NULL;
    rdt_codegen *codegen = NULL;
    rdt_point point;
    redtune_import_counts counts = {.added = 0};
    rdt_trial trial = {
        .problem = *problem, .median_ns = CLAIM_NS, .samples = 31, .rank = INT32_MAX};
    rdt_origin origin = {.driver_version = 13000, .nvrtc_version = 13000};
    remove(elsewhere);
    remove(database);
    redtune_status status = rdt_codegen_open(&codegen, &err);
    const rdt_facts *facts = &with.gpu.context->facts;
    if (!status)
        status = rdt_rules_find(codegen, (rdt_case){problem, facts}, NULL, config, &point, &err);
    if (!status) rdt_point_write(rdt_codegen_spaces(codegen), &point, trial.family, trial.config);
    if (!status) status = rdt_codegen_version(origin.templates, &err);
    if (!status) status = rdt_tuning_open(elsewhere, &tuning, &err);
    if (!status) status = rdt_tuning_put(tuning, facts, &origin, &trial, 1, &err);
    rdt_tuning_close(tuning);
    rdt_codegen_close(codegen);
    if (!status) status = redtune_import(&importing, &counts, &err);
    return status || counts.added == 1 ? status : REDTUNE_WRONG;
}

static redtune_status plan_for(const redtune_problem *problem, redtune_info *info) {
    const redtune_options options = {.database = database, .verify_s = 60};
    redtune_plan *plan = NULL;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_plan_create(rt, problem, &plan, &err);
    redtune_plan_info(plan, info);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    rt = NULL;
    return status;
}

/* Rows that were measured here, in all, of the problem, and good. */
typedef struct tally {
    const redtune_problem *problem;
    int own, there, good;
} tally;

static redtune_status count_row(void *user, const redtune_row *row, redtune_error *error) {
    tally *self = user;
    const bool there = !row->imported && rdt_problem_same(&row->problem, self->problem);
    (void)error;
    self->own += !row->imported;
    self->there += there;
    self->good += there && !strcmp(row->outcome, "good");
    return REDTUNE_OK;
}

static tally rows_of(const redtune_problem *problem) {
    tally found = {.problem = problem};
    const redtune_rows_query query = {.database = database, .gpu = "all", .own = 1};
    redtune_rows_each(&query, count_row, &found, &err);
    return found;
}

/* The config is verified beside the default, at the extents of the claim and for the class that is
 * asked for, and serves as measured here. So many rows come of it. */
static void check_verified(const redtune_problem *claim, const char *config,
                           const redtune_problem *asked, redtune_match match, int good) {
    redtune_problem verified = *claim;
    redtune_info info;
    verified.op = asked->op;
    verified.result = asked->result;
    CHECK_OK(import_claim(claim, config), err);
    CHECK_OK(plan_for(asked, &info), err);
    const tally found = rows_of(&verified);
    CHECK_INT(found.own, found.there);
    CHECK_INT(found.good, good);
    CHECK_INT(info.match, match);
    CHECK_INT(info.imported, 0);
    CHECK(info.tuned_ns > 0 && info.tuned_ns != CLAIM_NS);
    CHECK_INT(info.tuned_op, asked->op);
    CHECK(info.tuned_count == shaped_of(&verified).count);
    CHECK(info.tuned_outer == (shaped_of(&verified).outer ? shaped_of(&verified).outer : 1));
    CHECK(info.tuned_inner == (shaped_of(&verified).inner ? shaped_of(&verified).inner : 1));
}

FACT(rows_are_verified_at_their_own_extents) {
    const redtune_problem claim = of(REDTUNE_SUM, 16, 200, 1);
    const redtune_problem near = of(REDTUNE_SUM, 20, 220, 1);
    check_verified(&claim, "unroll=1", &claim, REDTUNE_MATCH_EXACT, 2);
    /* About as fast as the default by the estimate, which serves in place of anything slower. */
    check_verified(&claim, "block=256", &near, REDTUNE_MATCH_SIZE, 2);
}

FACT(pitched_rows_are_verified_with_their_pitch) {
    redtune_problem claim = of(REDTUNE_SUM, 16, 200, 1);
    RESHAPE(&claim, outer_step, 204);
    check_verified(&claim, "unroll=1", &claim, REDTUNE_MATCH_EXACT, 2);
}

FACT(columns_are_verified_at_their_own_extents) {
    const redtune_problem claim = of(REDTUNE_SUM, 16, 20, 64), near = of(REDTUNE_SUM, 16, 19, 64);
    check_verified(&claim, "unroll=2", &claim, REDTUNE_MATCH_EXACT, 2);
    check_verified(&claim, "unroll=4", &near, REDTUNE_MATCH_SIZE, 1); /* the default's own */
}

/* What is known of a sum is verified for the op that it would serve. */
FACT(a_claim_alike_is_verified_for_the_class_that_asks) {
    const redtune_problem claim = of(REDTUNE_SUM, 16, 200, 1), asked = of(REDTUNE_MAX, 16, 200, 1);
    const redtune_problem near = of(REDTUNE_MAX, 18, 220, 1);
    /* The default's own, as it is no claim of the very class. */
    check_verified(&claim, "unroll=2", &asked, REDTUNE_MATCH_EXACT, 1);
    check_verified(&claim, "unroll=2", &near, REDTUNE_MATCH_SIZE, 1);
}

int main(int argc, char **argv) {
    snprintf(folder, sizeof folder, "/tmp/redtune-test-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(database, sizeof database, "%s/tuning.db", folder);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere.db", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    int failed = 1;
    if (adder_open(&with, 1000, &err))
        fprintf(stderr, "%s\n", err.message);
    else
        failed = check_run(argc, argv);
    adder_close(&with);
    folder_remove(folder);
    return failed;
}
