/* Facts about in which order, and how accurately, a problem says that elements are combined. */
#include "check.h"
#include "model/problem.h"
#include "shaped.h"

static redtune_error err;

FACT(a_fixed_order_is_kept_where_it_shows) {
    static const struct {
        redtune_op op;
        redtune_dtype dtype, result;
        bool shows;
    } cases[] = {
        {REDTUNE_SUM, REDTUNE_F32, 0, true},           {REDTUNE_SUM, REDTUNE_I32, 0, false},
        {REDTUNE_SUM, REDTUNE_I32, REDTUNE_F64, true}, {REDTUNE_PROD, REDTUNE_BF16, 0, true},
        {REDTUNE_MEAN, REDTUNE_I32, 0, false},         {REDTUNE_MEAN, REDTUNE_I64, 0, true},
        {REDTUNE_NORM2, REDTUNE_I8, 0, false},         {REDTUNE_VAR, REDTUNE_I8, 0, true},
        {REDTUNE_LOGSUMEXP, REDTUNE_I8, 0, true},      {REDTUNE_MAX, REDTUNE_F32, 0, false},
        {REDTUNE_ARGMIN, REDTUNE_F32, 0, false},       {REDTUNE_NANS, REDTUNE_F16, 0, false},
        {REDTUNE_DOT, REDTUNE_I8, 0, false},           {REDTUNE_COSINE, REDTUNE_I8, 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const redtune_problem problem = {.op = cases[i].op,
                                         .dtype = cases[i].dtype,
                                         .result = cases[i].result,
                                         .order = REDTUNE_ORDER_FIXED};
        redtune_problem resolved;
        CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
        check_that((resolved.order == REDTUNE_ORDER_FIXED) == cases[i].shows, __FILE__, __LINE__,
                   "%s of %s", redtune_op_name(cases[i].op), redtune_dtype_name(cases[i].dtype));
    }
}

FACT(segments_keep_the_fixed_order_where_it_shows) {
    redtune_problem problem =
        PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 100,
                .segmented = REDTUNE_SEGMENTED_EACH, .order = REDTUNE_ORDER_FIXED);
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_INT(problem.order, REDTUNE_ORDER_FIXED);
    problem.segmented = REDTUNE_SEGMENTED_ALL;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_INT(problem.order, REDTUNE_ORDER_FIXED);
    problem.op = REDTUNE_MAX;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_INT(problem.order, REDTUNE_ORDER_FREE); /* no order changes it */
}

FACT(an_accuracy_is_kept_where_it_shows) {
    static const struct {
        redtune_op op;
        redtune_dtype dtype, result;
        const char *refused; /* NULL: it is kept; "": every accuracy is the same */
    } cases[] = {
        {REDTUNE_SUM, REDTUNE_F32, 0, NULL},
        {REDTUNE_DOT, REDTUNE_BF16, 0, NULL},
        {REDTUNE_NORM2, REDTUNE_F16, REDTUNE_F64, NULL},
        {REDTUNE_SUM, REDTUNE_I32, 0, ""},
        {REDTUNE_MEAN, REDTUNE_U8, 0, ""},
        {REDTUNE_MAX, REDTUNE_F32, 0, ""},
        {REDTUNE_ARGMAX, REDTUNE_F64, 0, ""},
        {REDTUNE_PROD, REDTUNE_F32, 0, "that is for sum, sumsq, norm2, sumabs, mean, dot, nansum;"},
        {REDTUNE_VAR, REDTUNE_I8, 0, "cannot have the var compensated"},
        {REDTUNE_SUM, REDTUNE_I32, REDTUNE_F64, "of i32 compensated: its elements are rounded"},
        {REDTUNE_MEAN, REDTUNE_I64, 0, "of i64 compensated"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const redtune_problem problem = {.op = cases[i].op,
                                         .dtype = cases[i].dtype,
                                         .result = cases[i].result,
                                         .accuracy = REDTUNE_ACCURACY_COMPENSATED};
        redtune_problem resolved = {.op = REDTUNE_SUM};
        if (cases[i].refused && *cases[i].refused) {
            CHECK_FAILS(rdt_problem_resolve(&problem, &resolved, &err), REDTUNE_UNSUPPORTED, err,
                        cases[i].refused);
            continue;
        }
        CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
        check_that((resolved.accuracy == REDTUNE_ACCURACY_COMPENSATED) == !cases[i].refused,
                   __FILE__, __LINE__, "%s of %s", redtune_op_name(cases[i].op),
                   redtune_dtype_name(cases[i].dtype));
    }
    redtune_problem exact = {.op = REDTUNE_SUM,
                             .dtype = REDTUNE_F16,
                             .order = REDTUNE_ORDER_FIXED,
                             .accuracy = REDTUNE_ACCURACY_EXACT};
    CHECK_OK(rdt_problem_resolve(&exact, &exact, &err), err);
    CHECK_INT(exact.accuracy, REDTUNE_ACCURACY_EXACT);
    CHECK_INT(exact.order, REDTUNE_ORDER_FREE); /* no order changes it */
    exact.op = REDTUNE_MEAN;
    CHECK_FAILS(rdt_problem_resolve(&exact, &exact, &err), REDTUNE_UNSUPPORTED, err,
                "cannot have the mean exact: that is for sum;");
    exact.op = REDTUNE_SUM;
    RESHAPE(&exact, count, 4);
    RESHAPE(&exact, inner, 8);
    redtune_problem columns;
    CHECK_OK(rdt_problem_resolve(&exact, &columns, &err), err);
    CHECK_INT(rdt_problem_layout(&columns), RDT_LAYOUT_STRIDED); /* by a kernel of any axes */
    RESHAPE(&exact, inner, 0);
    RESHAPE(&exact, outer, 8);
    exact.segmented = REDTUNE_SEGMENTED_EACH;
    CHECK_FAILS(rdt_problem_resolve(&exact, &exact, &err), REDTUNE_UNSUPPORTED, err,
                "cannot have the sum of segments exact");
    const redtune_problem both = {.op = REDTUNE_SUM,
                                  .dtype = REDTUNE_F32,
                                  .order = REDTUNE_ORDER_FIXED,
                                  .accuracy = REDTUNE_ACCURACY_COMPENSATED};
    redtune_problem resolved;
    CHECK_OK(rdt_problem_resolve(&both, &resolved, &err), err);
    CHECK_INT(resolved.order, REDTUNE_ORDER_FIXED);
    CHECK_INT(resolved.accuracy, REDTUNE_ACCURACY_COMPENSATED);
}

/* Orders and accuracies that go together have one name. */
FACT(orderings_have_names) {
    static const struct {
        redtune_order order;
        redtune_accuracy accuracy;
        const char *name;
    } cases[] = {
        {REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_PLAIN, "free"},
        {REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_PLAIN, "fixed"},
        {REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_COMPENSATED, "compensated"},
        {REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_COMPENSATED, "fixed_compensated"},
        {REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_EXACT, "exact"},
    };
    redtune_problem problem = {.op = REDTUNE_SUM};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(rdt_problem_ordering_find(cases[i].name, &problem));
        CHECK(problem.order == cases[i].order && problem.accuracy == cases[i].accuracy);
        CHECK_TEXT(rdt_problem_ordering_name(&problem), cases[i].name);
    }
    problem.order = REDTUNE_ORDER_FIXED;
    CHECK(!rdt_problem_ordering_name(&problem));
    CHECK(!rdt_problem_ordering_find("strange", &problem));
}

int main(int argc, char **argv) { return check_run(argc, argv); }
