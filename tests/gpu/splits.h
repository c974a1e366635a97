/* Splits: results that several blocks share, of the families of rows and columns. */
#pragma once

#include "layouts.h"
#include "shaped.h"

enum { OFFSETS = 5 /* of a first element */ };

/* Some blocks' shares of a set of results, and extents that they go through in whole and in broken
 * rounds. */
typedef struct split_test {
    const char *config;
    rdt_extents extents[4];
} split_test;

/* Holds results that blocks share, each kernel in the scratch that the one before it left: `splits`
 * end with NULL for a config. */
static void check_splits_of(const layout_test *test, const redtune_problem *problem,
                            const split_test *splits) {
    rdt_buffer scratch = {0};
    rdt_test_data *data = NULL;
    CHECK_OK(rdt_test_data_create(problem, test->count_max, &data, &err), err);
    for (; splits->config && !check_state.failed; splits++) {
        const rdt_case at = {problem, &gpu.context->facts};
        rdt_point point;
        subject self;
        CHECK_OK(rdt_rules_find(shop.codegen, at, test->family, splits->config, &point, &err), err);
        CHECK_OK(rdt_rules_check(shop.codegen, at, &point, &err), err);
        CHECK_OK(subject_open(&shop, problem, &point, &self, &err), err);
        if (scratch.driver) {
            rdt_buffer_destroy(&self.scratch);
            self.scratch = scratch;
        }
        for (int i = 0; i < 4 && splits->extents[i].outer && !check_state.failed; i++) {
            const shape shape = {
                .extents = splits->extents[i], .offset = draw(OFFSETS), .turns = 1};
            CHECK(rdt_launch_splits(&self.launch, &shape.extents) > 1);
            for (int k = 0; k < 3 && !check_state.failed; k++) check_shape(&self, data, &shape);
        }
        CHECK_OK(subject_check_scratch(&self, &err), err);
        scratch = self.scratch;
        self.scratch = (rdt_buffer){0};
        subject_close(&self);
    }
    rdt_buffer_destroy(&scratch);
    rdt_test_data_destroy(data);
}

/* By a few ops, with accumulators of all sizes. */
static void check_splits(const layout_test *test, const split_test *splits) {
    static const redtune_problem problems[] = {
        {REDTUNE_SUM, REDTUNE_I32},  {REDTUNE_ARGMAX, REDTUNE_F32}, {REDTUNE_ARGMIN, REDTUNE_I8},
        {REDTUNE_MEAN, REDTUNE_F16}, {REDTUNE_ANY, REDTUNE_U8},     {REDTUNE_PROD, REDTUNE_F64},
        {REDTUNE_DOT, REDTUNE_F16},  {REDTUNE_COSINE, REDTUNE_F64}, {REDTUNE_MIN_AT, REDTUNE_I8},
    };
    for (size_t i = 0; i < sizeof problems / sizeof *problems && !check_state.failed; i++) {
        redtune_problem problem = problems[i];
        RESHAPE(&problem, count, test->count);
        RESHAPE(&problem, outer, test->outer);
        RESHAPE(&problem, inner, test->inner);
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        check_splits_of(test, &problem, splits);
    }
}
