/* Step: which steps the ladder has, and their sources. */
#include "api/tools/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/reserved.h"

redtune_status rdt_step_problem(const redtune_climb *climb, uint64_t usual_count,
                                redtune_problem *out, redtune_error *err) {
    redtune_dtype dtype = climb->dtype ? climb->dtype : REDTUNE_F32;
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    if (!traits || traits->bytes < 4 || traits->kind == RDT_KIND_UNSIGNED) {
        const char *name = redtune_dtype_name(dtype);
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot climb the ladder with dtype %s: use i32, i64, f32 or f64",
                        name ? name : "unknown");
    }
    const redtune_problem problem =
        redtune_problem_whole(REDTUNE_SUM, dtype, climb->count ? climb->count : usual_count);
    redtune_status status = rdt_reserved_check(RDT_RESERVED(climb), "redtune_climb", err);
    return status ? status : rdt_problem_resolve(&problem, out, err);
}

/* A block that the family has not is named with those that it has. */
static redtune_status check_block(const rdt_space *space, int block, redtune_error *err) {
    const rdt_param *blocks = &space->param[1];
    rdt_text known = {0};
    if (rdt_space_param_find(blocks, block) >= 0) return REDTUNE_OK;
    for (int i = 0; i < blocks->value_count; i++)
        rdt_text_addf(&known, "%s%d", i ? ", " : "", (int)blocks->value[i]);
    redtune_status status = rdt_fail(err, REDTUNE_INVALID, 0,
                                     "cannot climb the ladder with blocks of %d threads: use %s",
                                     block, known.data ? known.data : "another");
    rdt_text_free(&known);
    return status;
}

redtune_status rdt_step_describe(rdt_codegen *codegen, int family, const redtune_climb *climb,
                                 const redtune_problem *problem, int index, rdt_step *out,
                                 redtune_error *err) {
    const rdt_spaces *spaces = rdt_codegen_spaces(codegen);
    const rdt_space *space = &spaces->space[family];
    const int block = climb->block ? climb->block : RDT_STEP_BLOCK;
    char text[96];
    rdt_step step = {.told = {.problem = *problem}, .point = {.family = family}};
    if (climb->program && climb->one_block)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot make a program of the form for one block; give one of the two");
    redtune_status status = check_block(space, block, err);
    if (status) return status;
    snprintf(text, sizeof text, "step=%s,block=%d,form=%s", space->param[0].label[index], block,
             climb->one_block ? "one"
             : climb->program ? "program"
                              : "many");
    status = rdt_point_parse(spaces, text, &step.point, err);
    if (!status) status = rdt_rules_about(codegen, &step.point, &step.about, err);
    if (status) return status;
    rdt_text_copy(step.told.name, sizeof step.told.name, space->param[0].label[index]);
    rdt_text_copy(step.told.place, sizeof step.told.place, step.about.place);
    rdt_text_copy(step.told.text, sizeof step.told.text, step.about.text);
    rdt_point_write(spaces, &step.point, step.told.family, step.told.config);
    *out = step;
    return REDTUNE_OK;
}

/* One that there is not as asked for was asked for wrongly. */
redtune_status rdt_step_check(rdt_codegen *codegen, rdt_case at, const rdt_step *step,
                              redtune_error *err) {
    redtune_status status = rdt_rules_check(codegen, at, &step->point, err);
    if (status != REDTUNE_UNSUPPORTED) return status;
    if (err) err->status = REDTUNE_INVALID;
    return REDTUNE_INVALID;
}

void rdt_step_describe_tuned(const redtune_problem *problem, const rdt_step *before,
                             redtune_step *out) {
    *out = (redtune_step){.name = "tuned", .problem = *problem};
    snprintf(out->place, sizeof out->place, "%d", atoi(before->told.place) + 1);
    rdt_text_copy(out->text, sizeof out->text, "What redtune runs for this problem.");
}

/* ---- without a GPU --------------------------------------------------------------------------- */

typedef struct library {
    rdt_codegen *codegen;
    int family, step_count;
    redtune_problem problem;
} library;

static redtune_status open_library(const redtune_climb *climb, library *out, redtune_error *err) {
    library self = {NULL};
    /* One element fits the form for one block, too. */
    redtune_status status = rdt_step_problem(climb, 1, &self.problem, err);
    if (!status) status = rdt_codegen_open(&self.codegen, err);
    if (!status) status = rdt_codegen_find_aside(self.codegen, "ladder", &self.family, err);
    if (status) {
        rdt_codegen_close(self.codegen);
        return status;
    }
    self.step_count = rdt_codegen_spaces(self.codegen)->space[self.family].param[0].value_count;
    *out = self;
    return REDTUNE_OK;
}

static redtune_status tell_step(const redtune_climb *climb, const redtune_step *step,
                                redtune_error *err) {
    if (!climb->step(climb->user, step)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INTERRUPTED, 0, "the list of the steps was interrupted");
}

redtune_status redtune_ladder_steps(const redtune_climb *climb, redtune_error *err) {
    library self;
    rdt_step step;
    redtune_step tuned;
    if (!climb || !climb->step)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot list the steps: %s is NULL",
                        climb ? "climb->step" : "climb");
    redtune_status status = open_library(climb, &self, err);
    if (status) return status;
    for (int i = 0; !status && i < self.step_count; i++) {
        status = rdt_step_describe(self.codegen, self.family, climb, &self.problem, i, &step, err);
        if (!status && step.about.exists) status = tell_step(climb, &step.told, err);
    }
    if (!status && !climb->one_block) {
        rdt_step_describe_tuned(&self.problem, &step, &tuned);
        status = tell_step(climb, &tuned, err);
    }
    rdt_codegen_close(self.codegen);
    return status;
}

/* By its name or its place. */
static redtune_status find_step(const library *self, const redtune_climb *climb, const char *name,
                                rdt_step *out, redtune_error *err) {
    rdt_text known = {0};
    redtune_status status = REDTUNE_OK;
    bool found = false;
    for (int i = 0; !status && !found && i < self->step_count; i++) {
        rdt_step step;
        status =
            rdt_step_describe(self->codegen, self->family, climb, &self->problem, i, &step, err);
        found = !status && (!strcmp(step.told.name, name) || !strcmp(step.told.place, name));
        if (found) *out = step;
        rdt_text_addf(&known, "%s%s", i ? ", " : "", step.told.name);
    }
    if (!status && !found)
        status =
            rdt_fail(err, REDTUNE_INVALID, 0,
                     "cannot show step '%.40s': the ladder has no step of that name or number; "
                     "use %s",
                     name, known.data ? known.data : "another");
    rdt_text_free(&known);
    return status;
}

redtune_status redtune_ladder_source(const redtune_climb *climb, const char *name, char **source,
                                     redtune_error *err) {
    const redtune_climb usual = {0};
    library self;
    rdt_step step;
    if (!name || !source)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot show a step: %s is NULL",
                        name ? "source" : "name");
    if (!climb) climb = &usual;
    redtune_status status = open_library(climb, &self, err);
    if (status) return status;
    const rdt_case at = {&self.problem, rdt_facts_typical()};
    status = find_step(&self, climb, name, &step, err);
    if (!status) status = rdt_step_check(self.codegen, at, &step, err);
    if (!status) status = rdt_render_source(self.codegen, at, &step.point, false, source, err);
    rdt_codegen_close(self.codegen);
    return status;
}
