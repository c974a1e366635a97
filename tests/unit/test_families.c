/* Facts about several template families. The family "solo" (fixtures/solo) stands beside redtune's
 * own, "block", in a folder of templates, before it or behind it. The GPU is a model of time. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "tune.h"

#include <stdlib.h>
#include "api/records/select.h"
#include "shaped.h"
#include "tuner/search/values.h"

static char folder[64];
static redtune_error err;

/* ---- the folder ------------------------------------------------------------------------------ */

static bool shell(const char *format, const char *argument) {
    char command[512];
    snprintf(command, sizeof command, format, argument, folder);
    return !system(command);
}

/* Loads the templates with this registry in the place of redtune's. */
static bool load(const char *registry) {
    tune_close();
    tune_codegen = NULL;
    return shell("echo 'return { %s }' >%s/registry.lua", registry) && tune_open();
}

static bool make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/redtune-families-XXXXXX");
    if (!mkdtemp(folder) || !shell("cp -r %s %s/solo", RDT_TEST_SOLO)) return false;
    return !setenv("REDTUNE_TEMPLATES", folder, 1);
}

static void remove_folder(void) { shell("rm -r %.0s%s", ""); }

static const char *const either_first[] = {"\"block\", \"solo\"", "\"solo\", \"block\""};
enum { ORDERS = 2 };

/* ---- names ----------------------------------------------------------------------------------- */

static redtune_problem sum, greatest; /* resolved, by main */

static const char *family_of(const rdt_point *point) {
    return rdt_point_space(rdt_codegen_spaces(tune_codegen), point)->family;
}

/* The text of the point that a pin names; the message where it names none. */
static const char *pinned(const redtune_problem *problem, const char *pin) {
    static char text[RDT_POINT_TEXT_BYTES];
    const rdt_case at = {problem, &oracle_h200};
    rdt_point point;
    redtune_status status = rdt_rules_find(tune_codegen, at, NULL, pin, &point, &err);
    if (!status) status = rdt_rules_check(tune_codegen, at, &point, &err);
    if (status) return err.message;
    rdt_point_format(rdt_codegen_spaces(tune_codegen), &point, text);
    return text;
}

FACT(a_pin_names_either_family) {
    for (int i = 0; i < ORDERS; i++) {
        CHECK(load(either_first[i]));
        CHECK_TEXT(pinned(&sum, "solo:block=32"), "solo:block=32,walk=strided");
        CHECK_TEXT(pinned(&sum, "solo:"), "solo:block=64,walk=strided");
        CHECK_CONTAINS(pinned(&sum, "block:block=32"), "block:block=32,vec=4");
    }
}

FACT(a_pin_without_a_family_is_of_the_first_that_serves) {
    CHECK(load(either_first[0]));
    CHECK_CONTAINS(pinned(&sum, "block=128"), "block:block=128");
    CHECK(load(either_first[1]));
    CHECK_CONTAINS(pinned(&sum, "block=128"), "solo:block=128");
    CHECK_CONTAINS(pinned(&greatest, "block=128"), "block:block=128");
}

FACT(a_pin_of_a_family_that_does_not_serve_is_refused) {
    CHECK(load(either_first[0]));
    CHECK_CONTAINS(pinned(&greatest, "solo:block=32"), "'solo': it does not serve max");
    CHECK_INT(err.status, REDTUNE_UNSUPPORTED);
    CHECK_CONTAINS(pinned(&sum, "alone:block=32"), "'alone'");
    CHECK_CONTAINS(err.message, "block, solo");
}

/* The same parameters are two points, and the first family's is the simpler. */
FACT(points_have_one_order_over_all_families) {
    const rdt_case at = {&sum, &oracle_h200};
    const rdt_spaces *spaces;
    rdt_point *points = NULL;
    size_t count = 0, of[2] = {0};
    CHECK(load(either_first[0]));
    CHECK_OK(rdt_points_list(tune_codegen, at, RDT_SCOPE_DISTINCT, &points, &count, &err), err);
    spaces = rdt_codegen_spaces(tune_codegen);
    for (size_t i = 0; i < count; i++) {
        of[points[i].family]++;
        if (i) CHECK(rdt_point_rank(spaces, &points[i - 1]) < rdt_point_rank(spaces, &points[i]));
        if (i) CHECK(!rdt_point_same(&points[i - 1], &points[i]));
    }
    CHECK(of[0] > 100);
    CHECK_INT(of[1], 6);
    CHECK_INT(rdt_point_rank(spaces, &points[of[0]]), rdt_space_size(&spaces->space[0]));
    free(points);
}

/* ---- who serves ------------------------------------------------------------------------------ */

FACT(the_default_is_that_of_the_first_family_that_serves) {
    const rdt_case sums = {&sum, &oracle_h200}, maxima = {&greatest, &oracle_h200};
    for (int i = 0; i < ORDERS; i++) {
        rdt_point standard, all[RDT_FAMILY_MAX];
        size_t count = 0;
        CHECK(load(either_first[i]));
        CHECK_OK(rdt_rules_default(tune_codegen, sums, &standard, &err), err);
        CHECK_TEXT(family_of(&standard), i ? "solo" : "block");
        CHECK_OK(rdt_rules_defaults(tune_codegen, sums, all, &count, &err), err);
        CHECK_INT(count, 2);
        CHECK(rdt_point_same(&all[0], &standard));
        CHECK_OK(rdt_rules_default(tune_codegen, maxima, &standard, &err), err);
        CHECK_TEXT(family_of(&standard), "block");
        CHECK_OK(rdt_rules_defaults(tune_codegen, maxima, all, &count, &err), err);
        CHECK_INT(count, 1);
    }
}

FACT(what_no_family_serves_is_named) {
    const rdt_case at = {&greatest, &oracle_h200};
    rdt_point standard;
    CHECK(load("\"solo\""));
    CHECK_FAILS(rdt_rules_default(tune_codegen, at, &standard, &err), REDTUNE_UNSUPPORTED, err,
                "no template serves it");
    CHECK_CONTAINS(err.message, "max");
}

/* Whether the row of this point is what serves the sum. */
static bool serves(const char *family, const char *config) {
    rdt_row row = {.gpu = oracle_h200, .trial = {.problem = sum, .median_ns = 5000, .samples = 31}};
    const rdt_winners winners = {.rows = {&row, 1, 1}};
    rdt_choice choice;
    rdt_text_copy(row.trial.family, sizeof row.trial.family, family);
    rdt_text_copy(row.trial.config, sizeof row.trial.config, config);
    if (rdt_select(&winners, tune_codegen, (rdt_case){&sum, &oracle_h200}, &choice, &err))
        return false;
    return choice.row == &row && !strcmp(family_of(&choice.point), family);
}

FACT(a_row_of_either_family_serves) {
    for (int i = 0; i < ORDERS; i++) {
        CHECK(load(either_first[i]));
        CHECK(serves("solo", "block=32,walk=split"));
        CHECK(serves("block", "block=256,vec=4,unroll=4,load=plain,tail=shuffle,finish=poll,"
                              "per_sm=2"));
        CHECK(!serves("block", "block=32,walk=split"));
        CHECK(!serves("ladder", "step=modulo,block=256,form=many"));
    }
}

/* ---- searching ------------------------------------------------------------------------------- */

/* Trials of the family with the text in their config. */
static size_t count_tried(const tune *self, const char *family, const char *part) {
    const rdt_trials *known = &self->sweep.known[RDT_CACHE_COLD];
    size_t count = 0;
    for (size_t i = 0; i < known->count; i++)
        count += !strcmp(known->trial[i].family, family) && strstr(known->trial[i].config, part);
    return count;
}

/* Tunes sums of 2^12 to 2^14 elements, where solo's walks take so many times as long as the model
 * says. */
static void run(tune *self, redtune_effort effort, double strided, double split) {
    oracle oracle = oracle_model(tune_codegen, &oracle_h200);
    oracle.name[0] = (oracle_name){"strided", strided};
    oracle.name[1] = (oracle_name){"split", split};
    tune_begin(self, oracle, REDTUNE_F32, 12, 14);
    self->effort = effort;
    CHECK_OK(tune_run(self), self->err);
    for (size_t i = 0; i < self->count; i++) CHECK(self->cold[i].found);
}

static const redtune_effort efforts[] = {REDTUNE_EFFORT_QUICK, REDTUNE_EFFORT_STANDARD,
                                         REDTUNE_EFFORT_EXHAUSTIVE};
enum { EFFORTS = sizeof efforts / sizeof *efforts };

FACT(both_families_are_searched_and_each_can_win) {
    for (int i = 0; i < ORDERS * EFFORTS; i++) {
        tune self;
        CHECK(load(either_first[i % ORDERS]));
        run(&self, efforts[i / ORDERS], 0.01, 0.01);
        for (size_t k = 0; k < self.count; k++) CHECK_TEXT(self.cold[k].winner.family, "solo");
        CHECK(count_tried(&self, "block", "") >= self.count);
        CHECK(count_tried(&self, "solo", "block=32") && count_tried(&self, "solo", "block=128"));
        tune_end(&self);
        run(&self, efforts[i / ORDERS], 4, 4);
        for (size_t k = 0; k < self.count; k++) CHECK_TEXT(self.cold[k].winner.family, "block");
        CHECK(count_tried(&self, "solo", "block=64,walk=strided") >= self.count);
        tune_end(&self);
    }
}

/* What the default of solo takes at the problem, by its trials of the most samples. */
static double default_of(const tune *self, const char *family, uint64_t count) {
    const rdt_trials *known = &self->sweep.known[RDT_CACHE_COLD];
    double median_ns = 0;
    int samples = 0;
    for (size_t i = 0; i < known->count; i++) {
        const rdt_trial *each = &known->trial[i];
        if (!each->is_default || strcmp(each->family, family) ||
            shaped_of(&each->problem).count != count || each->samples < samples)
            continue;
        median_ns = each->median_ns;
        samples = each->samples;
    }
    return median_ns;
}

FACT(the_gain_is_over_the_best_of_the_defaults) {
    for (int i = 0; i < ORDERS; i++)
        for (int fast = 0; fast < 2; fast++) {
            tune self;
            CHECK(load(either_first[i]));
            run(&self, REDTUNE_EFFORT_STANDARD, fast ? 0.01 : 4, 4);
            for (size_t k = 0; k < self.count; k++) {
                const uint64_t count = shaped_of(&self.problems[k]).count;
                const double block_ns = default_of(&self, "block", count);
                const double solo_ns = default_of(&self, "solo", count);
                CHECK(block_ns > 0 && solo_ns > 0 && (solo_ns < block_ns) == fast);
                CHECK(self.cold[k].default_ns == (fast ? solo_ns : block_ns));
            }
            tune_end(&self);
        }
}

static rdt_trial trial_of(const char *family, const char *config, double median_ns) {
    rdt_trial trial = {
        .problem = sum, .median_ns = median_ns, .spread_ns = median_ns / 1000, .samples = 31};
    RESHAPE(&trial.problem, count, shaped_of(&trial.problem).count / 2);
    rdt_text_copy(trial.family, sizeof trial.family, family);
    rdt_text_copy(trial.config, sizeof trial.config, config);
    return trial;
}

/* Solo's walk is judged by solo's other points, however fast block is. */
FACT(a_familys_values_are_judged_among_its_own) {
    rdt_trial known[] = {
        trial_of("solo", "block=64,walk=split", 9000),
        trial_of("solo", "block=64,walk=strided", 9900),
        trial_of("block",
                 "block=256,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=2",
                 1000),
    };
    const rdt_trials trials = {.trial = known, .count = 3};
    rdt_values values = {{{{0}}}};
    CHECK(load(either_first[0]));
    const rdt_search search = {
        .codegen = tune_codegen, .facts = &oracle_h200, .problem = &sum, .sizes = &trials};
    CHECK_OK(rdt_values_classify(&search, &values, &err), err);
    CHECK_INT(values.of[1][1][0], RDT_USE_BASE); /* strided */
    CHECK_INT(values.of[1][1][1], RDT_USE_IN);
    known[0].median_ns = 9990;
    values = (rdt_values){{{{0}}}};
    CHECK_OK(rdt_values_classify(&search, &values, &err), err);
    CHECK_INT(values.of[1][1][1], RDT_USE_OUT);
    CHECK_INT(values.of[0][3][1], RDT_USE_UNKNOWN); /* block's load=plain */
}

/* What the default of solo lacks is probed among its own, unless solo is far behind. */
FACT(a_familys_values_are_probed_beside_its_own) {
    tune self;
    CHECK(load(either_first[0]));
    run(&self, REDTUNE_EFFORT_STANDARD, 0.01, 0.005);
    CHECK_CONTAINS(self.cold[self.count - 1].winner.config, "walk=split");
    tune_end(&self);
    run(&self, REDTUNE_EFFORT_STANDARD, 4, 4);
    CHECK_INT(count_tried(&self, "solo", "walk=split"), 0);
    tune_end(&self);
}

FACT(what_is_known_of_either_is_not_measured_again) {
    for (int i = 0; i < EFFORTS; i++) {
        tune self;
        CHECK(load(either_first[0]));
        run(&self, efforts[i], 0.01, 0.01);
        const size_t timed = self.oracle.timed;
        CHECK_OK(tune_run(&self), self.err);
        CHECK_INT(self.oracle.timed, timed);
        tune_end(&self);
    }
}

int main(int argc, char **argv) {
    sum = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 16);
    greatest = PROBLEM(REDTUNE_MAX, REDTUNE_F32, REDTUNE_F32, .count = 1 << 16);
    if (!make_folder()) return 1;
    int code = check_run(argc, argv);
    tune_close();
    remove_folder();
    return code;
}
