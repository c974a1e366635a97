/* Facts about src/model/problem_axes_text.c: the texts of docs/database.md, and that a problem of
 * any axes and steps comes back from its texts as it was. */
#include "base/random.h"
#include "check.h"
#include "model/problem.h"

enum { X = REDTUNE_ARRAY_X, Y = REDTUNE_ARRAY_Y, RESULTS = REDTUNE_ARRAY_RESULTS, PROBLEMS = 4000 };
enum { ALL = (1 << REDTUNE_ARRAYS) - 1 };

static redtune_error err;

static redtune_problem dot_of(redtune_axis kept, redtune_axis reduced) {
    return (redtune_problem){.op = REDTUNE_DOT,
                             .dtype = REDTUNE_F32,
                             .steps = 1u << X | 1u << Y,
                             .kept_axes = 1,
                             .reduced_axes = 1,
                             .kept = {kept},
                             .reduced = {reduced}};
}

FACT(each_array_has_its_steps_behind_a_comma) {
    const struct {
        uint32_t steps;
        redtune_mask mask;
        redtune_op op;
        redtune_axis kept, reduced;
        const char *kept_text, *reduced_text;
    } cases[] = {
        {1 << X | 1 << Y, 0, REDTUNE_DOT, {64, {128, 0}}, {128, {1, 1}}, "64@128,0", "128@1"},
        {1 << X | 1 << Y, 0, REDTUNE_DOT, {64, {128, 1}}, {128, {1, 0}}, "64@128,1", "128@1,0"},
        {1 << X, 0, REDTUNE_SUM, {64, {-130}}, {128, {-1}}, "64@-130", "128@-1"},
        {1 << X | 1 << RESULTS,
         0,
         REDTUNE_SUM,
         {64, {200, 0, 0, 2}},
         {128, {1}},
         "64@200,,,2",
         "128@1"},
        {7,
         REDTUNE_MASK_BYTES,
         REDTUNE_SUM,
         {64, {128, 0, 0}},
         {128, {1, 0, 1}},
         "64@128,,0",
         "128@1"},
        {ALL,
         REDTUNE_MASK_BYTES,
         REDTUNE_DOT,
         {64, {128, 0, 9, 3}},
         {128, {1, 1, 0}},
         "64@128,0,9,3",
         "128@1,,0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char kept[RDT_AXES_TEXT_BYTES], reduced[RDT_AXES_TEXT_BYTES];
        redtune_problem problem = dot_of(cases[i].kept, cases[i].reduced);
        problem.steps = cases[i].steps;
        problem.mask = cases[i].mask;
        problem.op = cases[i].op;
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        rdt_problem_axes_text_write(&problem, true, kept);
        rdt_problem_axes_text_write(&problem, false, reduced);
        CHECK_TEXT(kept, cases[i].kept_text);
        CHECK_TEXT(reduced, cases[i].reduced_text);
    }
}

static redtune_axis random_axis(rdt_random *random, int64_t span) {
    static const int64_t steps[] = {0, 1, -1, 2, 7, -64, 100, 4096};
    redtune_axis axis = {.size = 1 + rdt_random_below(random, 9)};
    for (int k = 0; k < RESULTS; k++) axis.step[k] = steps[rdt_random_below(random, 8)];
    axis.step[RESULTS] = span;
    return axis;
}

/* Results lie in any order, with gaps or without; most axes have the same steps in all inputs. */
static redtune_problem random_problem(rdt_random *random) {
    redtune_problem problem = {.op = rdt_random_below(random, 2) ? REDTUNE_DOT : REDTUNE_SUM,
                               .dtype = REDTUNE_F32,
                               .mask = (redtune_mask)rdt_random_below(random, 3),
                               .kept_axes = (uint32_t)rdt_random_below(random, 4),
                               .reduced_axes = 1 + (uint32_t)rdt_random_below(random, 3)};
    int64_t span = 1 + (int64_t)rdt_random_below(random, 2);
    problem.steps = ALL;
    for (uint32_t i = problem.kept_axes; i-- > 0;) {
        problem.kept[i] = random_axis(random, span);
        span *= (int64_t)problem.kept[i].size + (int64_t)rdt_random_below(random, 2);
    }
    for (uint32_t i = 0; i < problem.reduced_axes; i++) problem.reduced[i] = random_axis(random, 0);
    return problem;
}

FACT(random_problems_come_back) {
    static char kept[RDT_AXES_TEXT_BYTES], reduced[RDT_AXES_TEXT_BYTES];
    rdt_random random = {46};
    int strided = 0, own_steps = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        redtune_problem problem = random_problem(&random);
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        rdt_problem_axes_text_write(&problem, true, kept);
        rdt_problem_axes_text_write(&problem, false, reduced);
        redtune_problem read = {.op = problem.op,
                                .dtype = problem.dtype,
                                .result = problem.result,
                                .mask = problem.mask};
        CHECK(rdt_problem_axes_text_read(kept, reduced, &read));
        CHECK_OK(rdt_problem_resolve(&read, &read, &err), err);
        CHECK(rdt_problem_same(&problem, &read));
        strided += rdt_problem_is_strided(&problem);
        own_steps += strchr(kept, ',') || strchr(reduced, ',');
    }
    CHECK(strided > PROBLEMS / 2 && own_steps > PROBLEMS / 4);
}

/* As the caller wrote it, too; steps of results that alone say how elements are read are there. */
FACT(the_public_text_is_that_of_databases) {
    char text[REDTUNE_AXES_TEXT_BYTES], own[RDT_AXES_TEXT_BYTES];
    static const int64_t shape[] = {16384, 8192, 1}, strides[] = {8192, 2, 1};
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_BF16};
    const int axis = 0;
    CHECK_OK(redtune_problem_fold(&problem, shape, strides, 2, &axis, 1, &err), err);
    redtune_problem_axes_text(&problem, true, text);
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    rdt_problem_axes_text_write(&problem, true, own);
    CHECK(!strcmp(text, own) && !strcmp(text, "8192@2,,,1"));
    redtune_problem_axes_text(&problem, false, text);
    CHECK(!strcmp(text, "16384@8192"));
    problem = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 3, 4);
    redtune_problem_axes_text(&problem, true, text);
    CHECK(!strcmp(text, "3"));
    redtune_problem_axes_text(NULL, true, text);
    CHECK(!*text);
    strcpy(text, "before");
    problem.kept_axes = 2000000;
    redtune_problem_axes_text(&problem, true, text);
    CHECK(!*text);
}

/* Eight axes with long steps in all arrays. */
FACT(a_text_without_room_is_said_and_not_tuned) {
    char text[RDT_AXES_TEXT_BYTES], whole[REDTUNE_AXES_TEXT_BYTES];
    redtune_problem problem = {
        .op = REDTUNE_DOT, .dtype = REDTUNE_F32, .steps = ALL, .mask = REDTUNE_MASK_BITS};
    const int64_t far = INT64_C(1) << 53;
    problem.kept_axes = REDTUNE_AXES_MAX;
    problem.reduced_axes = 1;
    problem.reduced[0].size = 1;
    for (int i = 0; i < REDTUNE_AXES_MAX; i++)
        problem.kept[i] = (redtune_axis){2, {-far + i, far + 3 * i, -far + 7 * i, far + i}};
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK(!rdt_problem_axes_text_write(&problem, true, text));
    CHECK_INT(strlen(text), RDT_AXES_TEXT_BYTES - 1);
    redtune_problem_axes_text(&problem, true, whole);
    CHECK(strlen(whole) > strlen(text) && !strncmp(whole, text, strlen(text)));
    CHECK(strstr(whole, " 2@-9007199254740985,")); /* the last axis */
    CHECK_FAILS(rdt_problem_strided_refuse_tuning(&problem, &err), REDTUNE_UNSUPPORTED, err,
                "tune for an array of fewer axes");
    problem.kept_axes = 5;
    CHECK(rdt_problem_axes_text_write(&problem, true, text));
}

FACT(what_is_no_text_of_axes_is_refused) {
    static const char *const bad[] = {"64@",
                                      "64@,1",
                                      "64@1,2,3,4,5",
                                      "64@1,",
                                      "64@--1",
                                      "64@1 ",
                                      " 64@1",
                                      "64@1,,,",
                                      "64@ 1",
                                      "-64@1",
                                      "64@1;2",
                                      "64@0x10",
                                      "64@9223372036854775808",
                                      "64@1,-",
                                      "1 1 1 1 1 1 1 1 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        redtune_problem problem = {.op = REDTUNE_DOT, .dtype = REDTUNE_F32};
        if (!check_that(!rdt_problem_axes_text_read(bad[i], "1", &problem), __FILE__, __LINE__,
                        "'%s' is taken", bad[i]))
            return;
    }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
