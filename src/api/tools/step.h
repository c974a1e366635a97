/* Step: which steps the ladder has, and their sources. */
#pragma once

#include "codegen/codegen.h"
#include "redtune/tools.h"

/* Threads per block where a climb names none. */
enum { RDT_STEP_BLOCK = 256 };

typedef struct rdt_step {
    redtune_step told; /* name, place, text, problem, family and config */
    rdt_point point;
    rdt_about about;
} rdt_step;

/* The sum that climb asks for, resolved. usual_count: where it names none. */
redtune_status rdt_step_problem(const redtune_climb *climb, uint64_t usual_count,
                                redtune_problem *out, redtune_error *err);
/* The step of that index, as climb asks for it; about.exists: whether there is one. */
redtune_status rdt_step_describe(rdt_codegen *codegen, int family, const redtune_climb *climb,
                                 const redtune_problem *problem, int index, rdt_step *out,
                                 redtune_error *err);
/* REDTUNE_INVALID, with the reason, for a step that there is not as it was asked for. */
redtune_status rdt_step_check(rdt_codegen *codegen, rdt_case at, const rdt_step *step,
                              redtune_error *err);
/* The step behind them: the kernel that an application gets. before: the last of them. */
void rdt_step_describe_tuned(const redtune_problem *problem, const rdt_step *before,
                             redtune_step *out);
