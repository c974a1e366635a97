/* Facts about src/api/records/history.c and current.c: which measurements of the database a search
 * takes as they are. */
#include "trials.h"
#include <limits.h>
#include "api/records/current.h"
#include "api/records/history.h"
#include "shaped.h"

static rdt_codegen *codegen;

/* The build of these tests, as origins have it, with the templates at hand. */
static rdt_origin origin_of(const char *build) {
    rdt_origin origin = trials_origin;
    rdt_text_copy(origin.templates, sizeof origin.templates, rdt_codegen_hash(codegen));
    rdt_text_copy(origin.build, sizeof origin.build, build);
    return origin;
}

static bool put_from(const char *build, rdt_outcome outcome, const char *cause) {
    rdt_origin origin = origin_of(build);
    rdt_trial trial = trials_make(1024, "block=32", 1000, 9);
    trial.outcome = outcome;
    if (outcome != RDT_OUTCOME_GOOD) trial.median_ns = trial.spread_ns = 0, trial.samples = 0;
    rdt_text_copy(trial.cause, sizeof trial.cause, cause);
    return !rdt_tuning_put(tuning, &trials_gpu, &origin, &trial, 1, &err);
}

/* How many trials a search would be told of; first is the first of them. */
static int known(rdt_trial *first) {
    rdt_trials found = {0};
    if (rdt_history_read(tuning, codegen, &trials_gpu, &sum_f32, RDT_CACHE_COLD, &found, &err))
        return -1;
    int count = (int)found.count;
    if (count) *first = found.trial[0];
    rdt_trials_free(&found);
    return count;
}

FACT(a_measurement_of_another_build_counts) {
    rdt_trial first = {0};
    CHECK(begin() && put_from("0123456789ab", RDT_OUTCOME_GOOD, "") &&
          put_from("", RDT_OUTCOME_GOOD, ""));
    CHECK_INT(known(&first), 2);
}

FACT(a_failure_counts_for_the_build_that_found_it) {
    rdt_trial first = {0};
    CHECK(begin() && put_from(rdt_codegen_build(), RDT_OUTCOME_WRONG, "it is 3 (of 4)"));
    CHECK_INT(known(&first), 1);
    CHECK_INT(first.outcome, RDT_OUTCOME_WRONG);
    CHECK_TEXT(first.cause, "it is 3 (of 4)");
    CHECK(put_from(rdt_codegen_build(), RDT_OUTCOME_HUNG, ""));
    CHECK_INT(known(&first), 2);
}

/* redtune's own fault may have been the cause, and another build may be without it. */
FACT(a_failure_of_another_build_does_not_count) {
    rdt_trial first = {0};
    static const rdt_outcome outcomes[] = {RDT_OUTCOME_WRONG, RDT_OUTCOME_UNCOMPILED,
                                           RDT_OUTCOME_FAULTED, RDT_OUTCOME_HUNG};
    CHECK(begin());
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        CHECK(put_from("0123456789ab", outcomes[i], "it is 3"));
        CHECK(put_from("", outcomes[i], "it is 3"));
        CHECK(put_from("", outcomes[i], ""));
    }
    CHECK_INT(known(&first), 0);
}

/* Also where its words leave no room for it. */
FACT(the_build_is_stored_behind_any_cause) {
    char longest[160];
    memset(longest, 'w', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK(begin() && put_from("0123456789ab", RDT_OUTCOME_WRONG, longest));
    CHECK_INT(take_all(&sum_f32), 1);
    CHECK_TEXT(taken.row[0].origin.build, "0123456789ab");
    CHECK(strspn(taken.row[0].trial.cause, "w") == strlen(taken.row[0].trial.cause));
    CHECK(strlen(taken.row[0].trial.cause) > 100);
    CHECK_INT(ask("SELECT count(*) FROM measurement WHERE cause LIKE '%ww (build 0123456789ab)'"),
              1);
}

/* ---- other templates ------------------------------------------------------------------------- */

static const char config[] =
    "block=256,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4";

/* A row of templates that are not at hand. */
static bool put_older(const char *kernel, rdt_outcome outcome) {
    rdt_origin origin = trials_origin;
    rdt_trial trial = trials_make(1024, config, 1000, 9);
    rdt_text_copy(origin.build, sizeof origin.build, rdt_codegen_build());
    rdt_text_copy(trial.kernel, sizeof trial.kernel, kernel);
    trial.is_default = true;
    trial.outcome = outcome;
    if (outcome != RDT_OUTCOME_GOOD) trial.median_ns = trial.spread_ns = 0, trial.samples = 0;
    return !rdt_tuning_put(tuning, &trials_gpu, &origin, &trial, 1, &err);
}

/* The kernel of the config on the tests' GPU. */
static const char *kernel_now(void) {
    static char kernel[RDT_KERNEL_BYTES];
    const redtune_problem problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1024);
    rdt_point point;
    if (rdt_point_read(rdt_codegen_spaces(codegen), "block", config, &point, &err) ||
        rdt_kernel_hash_find(codegen, (rdt_case){&problem, &trials_gpu}, &point, kernel, &err))
        return "";
    return kernel;
}

FACT(a_row_of_other_templates_counts_as_long_as_its_kernel_is_the_same) {
    rdt_trial first = {0};
    CHECK_INT(strlen(kernel_now()), RDT_KERNEL_BYTES - 1);
    CHECK(begin() && put_older(kernel_now(), RDT_OUTCOME_GOOD));
    CHECK_INT(known(&first), 1);
    /* What the default was then is none of today's. */
    CHECK(!first.is_default);
    CHECK(first.rank != INT_MAX);
    CHECK(put_older("0123456789abcdef", RDT_OUTCOME_GOOD) && put_older("", RDT_OUTCOME_GOOD));
    CHECK_INT(known(&first), 1);
}

FACT(a_verdict_counts_like_a_time) {
    rdt_trial first = {0};
    CHECK(begin() && put_older(kernel_now(), RDT_OUTCOME_WRONG));
    CHECK_INT(known(&first), 1);
    CHECK_INT(first.outcome, RDT_OUTCOME_WRONG);
    CHECK(begin() && put_older("0123456789abcdef", RDT_OUTCOME_WRONG));
    CHECK_INT(known(&first), 0);
}

FACT(what_is_stored_now_has_its_kernel) {
    rdt_trial first = {0};
    rdt_origin origin = origin_of("");
    rdt_trial trial = trials_make(1024, config, 1000, 9);
    CHECK(begin());
    CHECK_OK(rdt_current_put(tuning, codegen, &trials_gpu, &origin, &trial, 1, &err), err);
    CHECK_INT(known(&first), 1);
    CHECK_TEXT(first.kernel, kernel_now());
}

FACT(kernels_are_filled_in_where_the_templates_are_todays) {
    rdt_trial first = {0}, trial = trials_make(1024, config, 1000, 9);
    rdt_origin origin = origin_of("");
    CHECK(begin() && put_older("", RDT_OUTCOME_GOOD));
    CHECK_OK(rdt_tuning_put(tuning, &trials_gpu, &origin, &trial, 1, &err), err);
    /* One that no template has. */
    rdt_text_copy(trial.config, sizeof trial.config, "block=33");
    CHECK_OK(rdt_tuning_put(tuning, &trials_gpu, &origin, &trial, 1, &err), err);
    CHECK_OK(rdt_current_complete(tuning, codegen, &err), err);
    CHECK_INT(ask("SELECT count(*) FROM measurement WHERE kernel IS NOT NULL"), 1);
    CHECK_INT(known(&first), 2);
    CHECK_TEXT(first.kernel, kernel_now());
}

int main(int argc, char **argv) {
    if (!scratch_begin() || rdt_codegen_open(&codegen, &err)) return 1;
    int failed = check_run(argc, argv);
    rdt_tuning_close(tuning);
    rdt_codegen_close(codegen);
    scratch_end();
    return failed;
}
