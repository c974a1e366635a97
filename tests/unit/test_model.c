/* Facts about model/: problem.h, space.h, config.h, launch.h, facts.h and trial.h. */
#include "check.h"
#include "model/point.h"
#include "model/facts.h"
#include "model/launch.h"
#include "model/problem.h"
#include "model/scalar.h"
#include "model/space.h"
#include "model/trial.h"
#include "shaped.h"

static redtune_error err;

/* ---- problem --------------------------------------------------------------------------------- */

FACT(dtypes_go_by_their_names) {
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++) {
        redtune_dtype found = REDTUNE_DTYPE_NONE;
        CHECK_OK(redtune_dtype_find(traits->name, &found, &err), err);
        CHECK_INT(found, traits->dtype);
        CHECK_TEXT(redtune_dtype_name(traits->dtype), traits->name);
        CHECK_INT(redtune_dtype_bytes(traits->dtype), traits->bytes);
        CHECK(rdt_dtype_find(traits->dtype) == traits);
    }
}

FACT(dtype_find_lists_the_known_names) {
    redtune_dtype found = REDTUNE_F64;
    CHECK_FAILS(redtune_dtype_find("f33", &found, &err), REDTUNE_INVALID, err, "'f33'");
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++)
        CHECK_CONTAINS(err.message, traits->name);
    CHECK_FAILS(redtune_dtype_find("", &found, &err), REDTUNE_INVALID, err, "f32");
    CHECK_FAILS(redtune_dtype_find(NULL, &found, &err), REDTUNE_INVALID, err, "f32");
    CHECK_INT(found, REDTUNE_F64);
}

FACT(op_find_lists_the_known_names) {
    redtune_op op = (redtune_op)77;
    CHECK_FAILS(redtune_op_find("total", &op, &err), REDTUNE_INVALID, err, "'total'");
    CHECK_CONTAINS(err.message, "sum");
    CHECK_INT(op, 77);
    CHECK_OK(redtune_op_find("sum", &op, &err), err);
    CHECK_INT(op, REDTUNE_SUM);
    CHECK_TEXT(redtune_op_name(REDTUNE_SUM), "sum");
}

FACT(no_dtype_has_no_name_and_no_bytes) {
    CHECK(!redtune_dtype_name(REDTUNE_DTYPE_NONE));
    CHECK(!redtune_dtype_name((redtune_dtype)-1));
    CHECK(!redtune_op_name((redtune_op)-1));
    CHECK_INT(redtune_dtype_bytes(REDTUNE_DTYPE_NONE), 0);
    CHECK_INT(redtune_dtype_bytes((redtune_dtype)1000), 0);
    CHECK(!rdt_dtype_find(REDTUNE_DTYPE_NONE));
}

FACT(problem_sums_integers_into_64_bits) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_I32, 5);
    redtune_problem resolved = {0};
    CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
    CHECK_INT(resolved.result, REDTUNE_I64);
    CHECK_INT(shaped_of(&resolved).count, 5);
    CHECK_INT(problem.result, REDTUNE_DTYPE_NONE);
}

FACT(problem_sums_floats_into_themselves) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F64};
    for (int i = 0; i < 2; i++) {
        redtune_problem problem = {.op = REDTUNE_SUM, .dtype = dtypes[i]};
        redtune_dtype result = REDTUNE_DTYPE_NONE;
        CHECK_OK(redtune_problem_result(&problem, &result, &err), err);
        CHECK_INT(result, dtypes[i]);
    }
}

FACT(problem_takes_its_own_result_back) {
    redtune_problem resolved = {0}, again = {0};
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_I32, 1);
    CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
    CHECK_OK(rdt_problem_resolve(&resolved, &again, &err), err);
    CHECK_INT(again.result, resolved.result);
}

FACT(problem_refuses_what_makes_no_sense) {
    redtune_problem out = PROBLEM(.count = 99);
    redtune_problem no_dtype = {.op = REDTUNE_SUM};
    redtune_problem no_op = {.op = (redtune_op)120, .dtype = REDTUNE_F32};
    redtune_problem bad_result = {.dtype = REDTUNE_F32, .result = REDTUNE_I32};
    redtune_problem unknown_result = {.dtype = REDTUNE_F32, .result = (redtune_dtype)50};
    redtune_problem too_large = PROBLEM(.dtype = REDTUNE_F64, .count = UINT64_MAX);
    CHECK_FAILS(rdt_problem_resolve(NULL, &out, &err), REDTUNE_INVALID, err, "problem is NULL");
    CHECK_FAILS(rdt_problem_resolve(&no_dtype, &out, &err), REDTUNE_INVALID, err, "problem.dtype");
    CHECK_FAILS(rdt_problem_resolve(&no_op, &out, &err), REDTUNE_INVALID, err, "no op 120");
    CHECK_FAILS(rdt_problem_resolve(&bad_result, &out, &err), REDTUNE_INVALID, err, "as i32");
    CHECK_FAILS(rdt_problem_resolve(&unknown_result, &out, &err), REDTUNE_INVALID, err,
                "an unknown dtype");
    CHECK_FAILS(rdt_problem_resolve(&too_large, &out, &err), REDTUNE_INVALID, err,
                "18446744073709551615");
    CHECK_INT(shaped_of(&out).count, 99);
}

FACT(problem_extents_of_a_whole_array_have_one_form) {
    const redtune_problem written[] = {
        redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 1000),
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, .count = 1000, .outer = 1, .inner = 1),
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, .count = 1000, .step = 1, .outer_step = 1024),
    };
    for (size_t i = 0; i < 3; i++) {
        redtune_problem first, resolved;
        CHECK_OK(rdt_problem_resolve(&written[0], &first, &err), err);
        CHECK_OK(rdt_problem_resolve(&written[i], &resolved, &err), err);
        CHECK(rdt_problem_same(&resolved, &first));
        CHECK_INT(rdt_problem_layout(&resolved), RDT_LAYOUT_WHOLE);
    }
}

FACT(problem_refuses_other_orders) {
    const redtune_problem usual = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 1000);
    redtune_problem resolved, wanted;
#define REFUSES(change, text)                                                                      \
    do {                                                                                           \
        wanted = usual;                                                                            \
        wanted.change;                                                                             \
        CHECK_FAILS(rdt_problem_resolve(&wanted, &resolved, &err), REDTUNE_UNSUPPORTED, err,       \
                    text);                                                                         \
    } while (0)
    REFUSES(order = (redtune_order)9, "problem.order is 9");
    REFUSES(accuracy = (redtune_accuracy)9, "problem.accuracy is 9");
    REFUSES(reserved[0] = 1, "reserved");
#undef REFUSES
}

/* Each field counts, those of the class before those of the extents. */
FACT(problems_are_compared_by_class_and_extents) {
    const redtune_problem one = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .result = REDTUNE_F32};
    redtune_problem other[10];
    for (size_t i = 0; i < 10; i++) other[i] = one;
    other[0].op = REDTUNE_MEAN;
    other[1].dtype = REDTUNE_F64;
    other[2].result = REDTUNE_F64;
    other[3].order = (redtune_order)1;
    other[4].accuracy = REDTUNE_ACCURACY_COMPENSATED;
    RESHAPE(&other[5], count, 1);
    RESHAPE(&other[6], count, 2);
    other[7].greatest = other[8].median = 1;
    RESHAPE(&other[9], count, 3);
    for (size_t i = 0; i < 10; i++) {
        CHECK(!rdt_problem_same(&one, &other[i]));
        CHECK_INT(rdt_problem_same_class(&one, &other[i]), i >= 5);
        const bool after = i < 5 ? rdt_problem_compare_class(&one, &other[i]) < 0 &&
                                       rdt_problem_compare_class(&other[i], &one) > 0
                                 : rdt_problem_compare_extents(&one, &other[i]) < 0 &&
                                       rdt_problem_compare_extents(&other[i], &one) > 0;
        CHECK(after);
    }
}

FACT(problem_count_max_keeps_offsets_below_2_63) {
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++) {
        uint64_t count = rdt_problem_count_max(traits->dtype);
        CHECK(count > UINT64_C(1) << 40);
        CHECK(count < (UINT64_C(1) << 63) / traits->bytes);
    }
    CHECK_INT(rdt_problem_count_max(REDTUNE_DTYPE_NONE), 0);
}

FACT(problem_is_described_in_words) {
    static const struct {
        shaped problem;
        const char *text;
    } cases[] = {
        {{REDTUNE_SUM, REDTUNE_F32, .count = 1048576}, "sum of 1048576 f32"},
        {{REDTUNE_SUM, REDTUNE_F32, REDTUNE_F64, .count = 7}, "sum of 7 f32 as f64"},
        {{REDTUNE_SUM, REDTUNE_I8, .count = 7}, "sum of 7 i8"},
        {{REDTUNE_SUM, REDTUNE_I8, REDTUNE_I8, .count = 7}, "sum of 7 i8 as i8"},
        {{REDTUNE_ARGMAX, REDTUNE_BF16, REDTUNE_I64}, "argmax of 0 bf16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        redtune_problem problem = shaped_problem(cases[i].problem);
        redtune_error err;
        char text[RDT_PROBLEM_TEXT_BYTES];
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        rdt_problem_describe(&problem, text);
        CHECK_TEXT(text, cases[i].text);
    }
}

FACT(enumerators_are_the_numbers_of_their_entries) {
    static const struct {
        redtune_op op;
        const char *name;
    } enumerators[] = {
        {REDTUNE_SUM, "sum"},
        {REDTUNE_PROD, "prod"},
        {REDTUNE_MIN, "min"},
        {REDTUNE_MAX, "max"},
        {REDTUNE_FMIN, "fmin"},
        {REDTUNE_FMAX, "fmax"},
        {REDTUNE_ARGMIN, "argmin"},
        {REDTUNE_ARGMAX, "argmax"},
        {REDTUNE_SUMSQ, "sumsq"},
        {REDTUNE_NORM2, "norm2"},
        {REDTUNE_SUMABS, "sumabs"},
        {REDTUNE_MAXABS, "maxabs"},
        {REDTUNE_MEAN, "mean"},
        {REDTUNE_ANY, "any"},
        {REDTUNE_ALL, "all"},
        {REDTUNE_NONZEROS, "nonzeros"},
        {REDTUNE_AND, "and"},
        {REDTUNE_OR, "or"},
        {REDTUNE_XOR, "xor"},
        {REDTUNE_NANS, "nans"},
        {REDTUNE_NONFINITE, "nonfinite"},
        {REDTUNE_PTP, "ptp"},
        {REDTUNE_NORMP, "normp"},
        {REDTUNE_VAR, "var"},
        {REDTUNE_STD, "std"},
        {REDTUNE_LOGSUMEXP, "logsumexp"},
        {REDTUNE_SLOGPROD, "slogprod"},
        {REDTUNE_MIN_AT, "min_at"},
        {REDTUNE_MAX_AT, "max_at"},
        {REDTUNE_MINMAX, "minmax"},
        {REDTUNE_SUM_SUMSQ, "sum_sumsq"},
        {REDTUNE_MEAN_VAR, "mean_var"},
        {REDTUNE_SUM_NONFINITE, "sum_nonfinite"},
        {REDTUNE_DOT, "dot"},
        {REDTUNE_SQEUCLIDEAN, "sqeuclidean"},
        {REDTUNE_EUCLIDEAN, "euclidean"},
        {REDTUNE_CITYBLOCK, "cityblock"},
        {REDTUNE_CHEBYSHEV, "chebyshev"},
        {REDTUNE_COSINE, "cosine"},
        {REDTUNE_WMEAN, "wmean"},
        {REDTUNE_MISMATCHES, "mismatches"},
        {REDTUNE_MSE, "mse"},
        {REDTUNE_ARGMAXABS, "argmaxabs"},
        {REDTUNE_NANSUM, "nansum"},
        {REDTUNE_NANPROD, "nanprod"},
        {REDTUNE_NANMEAN, "nanmean"},
        {REDTUNE_NANVAR, "nanvar"},
        {REDTUNE_NANSTD, "nanstd"},
        {REDTUNE_NANARGMIN, "nanargmin"},
        {REDTUNE_NANARGMAX, "nanargmax"},
        {REDTUNE_MINABS, "minabs"},
    };
    enum { COUNT = sizeof enumerators / sizeof *enumerators };
    CHECK(rdt_op_compiled_in.count >= COUNT && COUNT == REDTUNE_MINABS + 1);
    for (int i = 0; i < COUNT; i++) {
        redtune_op_info info;
        redtune_error err;
        CHECK_INT(enumerators[i].op, i);
        CHECK_TEXT(redtune_op_name(enumerators[i].op), enumerators[i].name);
        CHECK_OK(redtune_op_get(enumerators[i].op, &info, &err), err);
        CHECK_TEXT(info.name, enumerators[i].name);
        CHECK_INT(info.indexed, i == REDTUNE_ARGMIN || i == REDTUNE_ARGMAX || i == REDTUNE_MIN_AT ||
                                    i == REDTUNE_MAX_AT || i == REDTUNE_ARGMAXABS ||
                                    i == REDTUNE_NANARGMIN || i == REDTUNE_NANARGMAX);
        CHECK_INT(info.inputs, i >= REDTUNE_DOT && i <= REDTUNE_MSE ? 2 : 1);
        CHECK_INT(info.outputs, i >= REDTUNE_SLOGPROD && i <= REDTUNE_SUM_NONFINITE ? 2 : 1);
    }
}

FACT(no_op_is_behind_the_last) {
    redtune_op_info info;
    redtune_op none = (redtune_op)rdt_op_compiled_in.count;
    CHECK(!redtune_op_name(none) && !redtune_op_name((redtune_op)-1));
    CHECK_INT(redtune_op_get(none, &info, NULL), REDTUNE_INVALID);
}

/* templates/lib/floats.lua has all of them. */
FACT(ops_of_floats_are_for_every_float) {
    for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
        const redtune_problem nans = PROBLEM(REDTUNE_NANS, dtype->dtype, .count = 9);
        redtune_problem resolved;
        CHECK(!rdt_problem_resolve(&nans, &resolved, NULL) == (dtype->kind == RDT_KIND_FLOAT));
    }
}

FACT(no_description_of_a_problem_is_cut) {
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry; op->name[0]; op++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
            redtune_problem problem =
                PROBLEM(op->op, dtype->dtype, REDTUNE_F64, .count = UINT64_MAX);
            char text[RDT_PROBLEM_TEXT_BYTES];
            rdt_problem_describe(&problem, text);
            CHECK(strlen(text) < sizeof text - 1);
        }
}

FACT(values_are_stored_and_printed) {
    static const struct {
        redtune_dtype dtype;
        int64_t number;
        const char *printed;
    } cases[] = {
        {REDTUNE_I32, -7, "-7"},
        {REDTUNE_I64, INT64_MIN, "-9223372036854775808"},
        {REDTUNE_F32, 16777216, "16777216"},
        {REDTUNE_F64, -3, "-3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        redtune_value values[3];
        memset(values, 0, sizeof values);
        rdt_scalar_store(cases[i].dtype, values, 1, cases[i].number);
        redtune_value value = {0};
        size_t bytes = redtune_dtype_bytes(cases[i].dtype);
        memcpy(value.bytes, (char *)values + bytes, bytes);
        rdt_text text = {0};
        rdt_scalar_print(cases[i].dtype, &value, &text);
        bool right = text.data && !strcmp(text.data, cases[i].printed);
        rdt_text_free(&text);
        CHECK(right);
    }
}

FACT(floats_are_printed_so_that_they_read_back) {
    redtune_value value = {.f32 = 0.1f};
    rdt_text text = {0};
    rdt_scalar_print(REDTUNE_F32, &value, &text);
    bool single = text.data && strtof(text.data, NULL) == 0.1f;
    rdt_text_clear(&text);
    value.f64 = 1.0 / 3;
    rdt_scalar_print(REDTUNE_F64, &value, &text);
    bool twice = text.data && strtod(text.data, NULL) == 1.0 / 3;
    rdt_text_free(&text);
    CHECK(single && twice);
}

/* ---- launch, facts and trial ----------------------------------------------------------------- */

FACT(launch_has_a_block_per_tile_up_to_the_maximum) {
    rdt_launch launch = {.threads = 256, .tile = 1000, .blocks_max = 64};
    CHECK_INT(rdt_launch_blocks(&launch, 0), 1);
    CHECK_INT(rdt_launch_blocks(&launch, 1), 1);
    CHECK_INT(rdt_launch_blocks(&launch, 1000), 1);
    CHECK_INT(rdt_launch_blocks(&launch, 1001), 2);
    CHECK_INT(rdt_launch_blocks(&launch, 63999), 64);
    CHECK_INT(rdt_launch_blocks(&launch, 64000), 64);
    CHECK_INT(rdt_launch_blocks(&launch, UINT64_MAX), 64);
}

FACT(launch_counts_do_not_overflow) {
    rdt_launch launch = {.threads = 32, .tile = 1, .blocks_max = RDT_BLOCKS_MAX};
    CHECK_INT(rdt_launch_blocks(&launch, UINT64_MAX), RDT_BLOCKS_MAX);
    CHECK_INT(rdt_launch_blocks(&launch, UINT64_C(1) << 32), RDT_BLOCKS_MAX);
}

FACT(scratch_serves_any_launch) {
    CHECK((size_t)RDT_SCRATCH_BYTES >=
          RDT_SCRATCH_COUNTERS_BYTES + (size_t)RDT_BLOCKS_MAX * RDT_SCRATCH_SLOT_BYTES);
}

FACT(facts_peak_is_two_transfers_a_clock) {
    rdt_facts facts = {.bus_bits = 6144, .memory_khz = 3201000};
    double gbps = rdt_facts_peak_gbps(&facts);
    CHECK(gbps > 4916 && gbps < 4917);
    CHECK(rdt_facts_peak_gbps(&(rdt_facts){0}) == 0);
}

FACT(facts_typical_is_an_ampere) {
    const rdt_facts *facts = rdt_facts_typical();
    CHECK_INT(facts->major, 8);
    CHECK_INT(facts->minor, 0);
    CHECK_INT(facts->sm_count, 108);
}

FACT(outcomes_go_by_their_names) {
    for (int i = 0; i < RDT_OUTCOME_COUNT; i++)
        CHECK_INT(rdt_trial_outcome_find(rdt_trial_outcome_name((rdt_outcome)i)), i);
    CHECK_INT(rdt_trial_outcome_find("splendid"), -1);
    CHECK_TEXT(rdt_trial_outcome_name(RDT_OUTCOME_COUNT), "unknown");
}

int main(int argc, char **argv) { return check_run(argc, argv); }
