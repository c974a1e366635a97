/* Facts about src/api/select.c: which measurements serve which GPU. */
#include "api/select.h"
#include "check.h"

static redtune_error err;

/* What is chosen on the GPU `here` where the default was measured on the GPU `there`. */
static redtune_match match_with(rdt_codegen *codegen, const rdt_facts *here,
                                const rdt_facts *there) {
    const redtune_problem problem = {REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, UINT64_C(1) << 26};
    rdt_row row = {.gpu = *there};
    rdt_winners winners = {.row = &row, .count = 1};
    rdt_choice choice = {.match = (redtune_match)-1};
    rdt_config config;
    row.trial = (rdt_trial){
        .problem = problem,
        .family = "block",
        .outcome = RDT_OUTCOME_GOOD,
        .median_ns = 5000,
        .samples = 31,
    };
    if (!rdt_codegen_default(codegen, 0, (rdt_case){&problem, there}, &config, &err)) {
        rdt_config_format(rdt_codegen_space(codegen, 0), &config, row.trial.config);
        rdt_select(&winners, codegen, (rdt_case){&problem, here}, &choice, &err);
    }
    return choice.match;
}

static redtune_match match_of(const rdt_facts *here, const rdt_facts *there) {
    rdt_codegen *codegen = NULL;
    redtune_match match = (redtune_match)-1;
    if (!rdt_codegen_open(&codegen, &err)) match = match_with(codegen, here, there);
    rdt_codegen_close(codegen);
    return match;
}

/* A row says what was measured, and a family that is not tuned cannot have been. */
static void a_row_of_the_ladder_is_no_winner(void) {
    const redtune_problem problem = {REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, UINT64_C(1) << 26};
    const rdt_facts *here = rdt_facts_typical();
    rdt_row row = {.gpu = *here,
                   .trial = {.problem = problem,
                             .family = "ladder",
                             .config = "step=poll,block=256,form=many",
                             .outcome = RDT_OUTCOME_GOOD,
                             .median_ns = 1,
                             .samples = 31}};
    rdt_winners winners = {.row = &row, .count = 1};
    rdt_codegen *codegen = NULL;
    rdt_choice choice;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(rdt_select(&winners, codegen, (rdt_case){&problem, here}, &choice, &err), err);
    CHECK_INT(choice.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(choice.family, 0);
    rdt_codegen_close(codegen);
}

static rdt_facts gpu_named(const char *name) {
    rdt_facts facts = *rdt_facts_typical();
    rdt_text_copy(facts.name, sizeof facts.name, name);
    return facts;
}

static void a_gpu_serves_its_model_and_others(void) {
    rdt_facts one = gpu_named("NVIDIA One"), other = gpu_named("NVIDIA Other");
    CHECK_INT(match_of(&one, &one), REDTUNE_MATCH_EXACT);
    CHECK_INT(match_of(&one, &other), REDTUNE_MATCH_GPU);
}

static void a_simulated_gpu_serves_no_real_one(void) {
    rdt_facts real = gpu_named("NVIDIA One"), simulated = gpu_named("redtune simulated GPU");
    CHECK_INT(match_of(&real, &simulated), REDTUNE_MATCH_DEFAULT);
    CHECK_INT(match_of(&simulated, &real), REDTUNE_MATCH_DEFAULT);
    CHECK_INT(match_of(&simulated, &simulated), REDTUNE_MATCH_EXACT);
}

static void simulated_gpus_that_differ_do_not_serve_each_other(void) {
    rdt_facts one = gpu_named("redtune simulated GPU"), other = one;
    other.sm_count = 8;
    CHECK_INT(match_of(&one, &other), REDTUNE_MATCH_DEFAULT);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(a_row_of_the_ladder_is_no_winner),
        FACT(a_gpu_serves_its_model_and_others),
        FACT(a_simulated_gpu_serves_no_real_one),
        FACT(simulated_gpus_that_differ_do_not_serve_each_other),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
