/* Facts about the family "ordered_segments": each segment has the bits that docs/order.md defines,
 * whatever the tables, the other segments and the grid. */
#include "segment_tables.h"
#include "simulator.h"

/* Long ones, whose nodes lie close together in scratch, with offsets that decrease, too; and ones
 * that fill a lane's, a warp's and a chunk's loads, whose sum is +0 where all elements are -0. */
FACT(long_segments_in_fixed_order_have_its_bits) {
    static const struct {
        uint64_t count, length;
        bool zeros;
    } tables[] = {{4, 3000, false}, {7, 1600, false}, {5, 1025, false}, {2, 6000, false},
                  {9, 1300, false}, {40, 16, true},   {9, 128, true},   {3, 1024, true}};
    enum { TABLES = sizeof tables / sizeof *tables };
    redtune_problem problem = segments_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_DTYPE_NONE, false);
    rdt_test_data *data = NULL;
    subject self;
    problem.order = REDTUNE_ORDER_FIXED;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_test_data_create(&problem, GATHERED_MAX, &data, &err), err);
    CHECK_OK(subject_open(&shop, &problem, NULL, &self, &err), err);
    simulator simulated = {.set = NULL};
    simulator_find(&simulated);
    for (size_t i = 0; i < 4 * (size_t)TABLES && !check_state.failed; i++) {
        /* Warps that come in turn never find a later one's node in a place that they share. */
        const char seed[] = {(char)('0' + i / TABLES), 0};
        if (simulated.set) simulated.set("REDTUNE_SIM_SEED", seed);
        set_equal(tables[i % TABLES].count, tables[i % TABLES].length, i >= 2 * (size_t)TABLES);
        now.zeros = tables[i % TABLES].zeros;
        check_tables(&self, data);
        now.zeros = false;
    }
    if (simulated.set) simulated.set("REDTUNE_SIM_SEED", "0");
    subject_close(&self);
    rdt_test_data_destroy(data);
}

typedef struct class {
    redtune_op op;
    redtune_dtype dtype, result;
    redtune_accuracy accuracy;
} class;

/* Kernels of drawn configs on drawn tables: of each segment, or of all. */
static void check_classes(const class *classes, size_t count, bool all, size_t on_device) {
    const bool simulated = device_is_simulated(&gpu);
    for (size_t i = 0; i < (simulated ? count : on_device) && !check_state.failed; i++) {
        const class *its = &classes[i % count];
        redtune_problem problem = segments_of(its->op, its->dtype, its->result, all);
        problem.order = REDTUNE_ORDER_FIXED;
        problem.accuracy = its->accuracy;
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        CHECK_INT(problem.order, REDTUNE_ORDER_FIXED);
        const rdt_point point = draw_point(&problem, "ordered_segments");
        if (!subject_is_of_part(i)) continue;
        check_kernel(&problem, &point, simulated ? 5 : 40, ELEMENTS_MAX);
        if (subject_is_late()) return;
    }
}

/* Of any config, to the bit. */
FACT(segments_in_fixed_order_have_its_bits) {
    static const class classes[] = {
        {REDTUNE_SUM, REDTUNE_F32, 0, REDTUNE_ACCURACY_COMPENSATED},
        {REDTUNE_SUM, REDTUNE_F32, REDTUNE_DTYPE_NONE},
        {REDTUNE_SUM, REDTUNE_F16, REDTUNE_F16},
        {REDTUNE_VAR, REDTUNE_F64, REDTUNE_DTYPE_NONE},
        {REDTUNE_SUM_SUMSQ, REDTUNE_F32, 0},
        {REDTUNE_NORM2, REDTUNE_BF16, 0},
        {REDTUNE_SUM, REDTUNE_F64, 0},
        {REDTUNE_VAR, REDTUNE_I8, REDTUNE_DTYPE_NONE},
        {REDTUNE_MEAN, REDTUNE_I64, 0},
        {REDTUNE_PROD, REDTUNE_F32, REDTUNE_DTYPE_NONE},
        {REDTUNE_SUM, REDTUNE_F32, REDTUNE_F64},
        {REDTUNE_DOT, REDTUNE_F32, 0},
        {REDTUNE_DOT, REDTUNE_F16, REDTUNE_F16},
        {REDTUNE_DOT, REDTUNE_BF16, 0, REDTUNE_ACCURACY_COMPENSATED},
    };
    check_classes(classes, sizeof classes / sizeof *classes, false, 238);
}

/* As if they lay one behind the other. */
FACT(all_segments_in_fixed_order_have_the_bits_of_one_array) {
    static const class classes[] = {
        {REDTUNE_SUM, REDTUNE_F32, 0},
        {REDTUNE_SUM, REDTUNE_F16, REDTUNE_F16},
        {REDTUNE_VAR, REDTUNE_F64, 0},
        {REDTUNE_SUM_SUMSQ, REDTUNE_F32, 0},
        {REDTUNE_NORM2, REDTUNE_BF16, 0},
        {REDTUNE_SUM, REDTUNE_F32, 0, REDTUNE_ACCURACY_COMPENSATED},
        {REDTUNE_SUM, REDTUNE_E4M3, REDTUNE_F32},
        {REDTUNE_VAR, REDTUNE_I8, 0},
        {REDTUNE_SUM, REDTUNE_F32, REDTUNE_F64},
    };
    check_classes(classes, sizeof classes / sizeof *classes, true, 90);
}

int main(int argc, char **argv) { return subject_run(&gpu, &shop, argc, argv); }
