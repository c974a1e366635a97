/* Facts about the family "ragged": one result per segment, whatever the tables say: segments that
 * are empty, overlap, lie in any order, end before they begin, or are one giant among tiny ones;
 * whatever the grid, with nothing read but their elements, and with scratch left as it was found.
 */
#include "segment_tables.h"

/* By the family's default. */
static void check_default(redtune_problem problem, int tables) {
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    const rdt_point point = find_point(&problem, "ragged", "");
    check_kernel(&problem, &point, tables, ELEMENTS_MAX);
}

/* Few that blocks or warps take together, and many that warps take in runs, with an offset that
 * decreases between those that blocks look at. */
FACT(segments_of_one_length_are_right) {
    enum { TURNS = 10 };
    static const struct {
        const char *config;
        uint64_t count, length;
        uint32_t blocks; /* 0: as many as a launch has */
    } tables[] = {{"", 4, 3000, 0},         {"", 7, 1600, 0},          {"", 14, 801, 0},
                  {"", 28, 400, 0},         {"", 56, 211, 0},          {"", 900, 13, 0},
                  {"", 3000, 4, 0},         {"block=64", 1, 11000, 4}, {"block=64", 3, 4000, 6},
                  {"block=64", 500, 24, 2}, {"", 61, 193, 4},          {"", 115, 101, 2}};
    redtune_problem problem = segments_of(REDTUNE_SUM, REDTUNE_I32, REDTUNE_DTYPE_NONE, false);
    rdt_test_data *data = NULL;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_test_data_create(&problem, GATHERED_MAX, &data, &err), err);
    for (size_t k = 0; k < sizeof tables / sizeof *tables && !check_state.failed; k++) {
        subject self;
        const rdt_point point = find_point(&problem, "ragged", tables[k].config);
        CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
        if (tables[k].blocks) self.launch.blocks_max = tables[k].blocks;
        for (int i = 0; i < TURNS && !check_state.failed; i++) {
            set_equal(tables[k].count, tables[k].length, i >= TURNS / 2);
            check_tables(&self, data);
        }
        subject_close(&self);
    }
    rdt_test_data_destroy(data);
}

/* One after the other: every `step`-th is some tiles of that many elements long, others are short
 * or empty. */
static void set_tiles(uint64_t count, uint64_t step, uint64_t tile) {
    now.kind = ZIPF;
    now.form = OFFSETS;
    now.wide = draw(2);
    now.count = count;
    uint64_t at = 0;
    for (uint64_t i = 0; i <= count; i++) {
        const uint64_t length = i % step ? draw(2) * 16 : draw(4) * tile;
        now.begin[i] = at;
        if (at + length <= ELEMENTS_MAX) at += length;
    }
    now.elements = now.begin[count];
    for (uint64_t i = 0; i < count; i++) now.end[i] = now.begin[i + 1];
}

/* A warp goes over elements a tile at a time: 32 lanes have 5 loads of 4 elements. */
FACT(segments_that_end_with_tiles_are_right) {
    enum { TURNS = 24, TILE = 32 * 5 * 4 };
    redtune_problem problem = segments_of(REDTUNE_SUM, REDTUNE_I32, REDTUNE_DTYPE_NONE, false);
    rdt_test_data *data = NULL;
    subject self;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_test_data_create(&problem, GATHERED_MAX, &data, &err), err);
    const rdt_point point = find_point(&problem, "ragged", "block=64,vec=4,unroll=4,unit=tiles");
    CHECK_OK(subject_open(&shop, &problem, &point, &self, &err), err);
    self.launch.blocks_max = 1;
    for (int i = 0; i < TURNS && !check_state.failed; i++) {
        set_tiles(i % 2 ? 12 : 400, i % 2 ? 2 : 32, TILE);
        check_tables(&self, data);
    }
    subject_close(&self);
    rdt_test_data_destroy(data);
}

FACT(tables_of_every_kind_are_right) {
    const int tables = device_is_simulated(&gpu) ? 25 : 1000;
    for (int all = 0; all < 2; all++) {
        check_default(segments_of(REDTUNE_SUM, REDTUNE_I32, REDTUNE_DTYPE_NONE, all), tables);
        check_default(segments_of(REDTUNE_ARGMIN, REDTUNE_F16, REDTUNE_DTYPE_NONE, all), tables);
        redtune_problem mean = segments_of(REDTUNE_MEAN, REDTUNE_F32, REDTUNE_DTYPE_NONE, all);
        mean.accuracy = REDTUNE_ACCURACY_COMPENSATED;
        check_default(mean, tables);
    }
}

/* Every pair of the parameters' values, and each op with each dtype, by a few tables: little enough
 * for a tool that checks every access. On a simulated device, one kernel of 64. */
FACT(few_tables_of_the_covering_set_are_right) {
    enum { FEW = 2, FEW_ELEMENTS = 3000, SIMULATED = 64 };
    const bool simulated = device_is_simulated(&gpu);
    size_t done = 0, of = 0;
    static const struct {
        const char *family;
        bool all;
    } sets[] = {{"ragged", false}, {"ragged", true}, {"grouped", false}, {"tiled", false}};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        const redtune_problem like =
            segments_of(REDTUNE_SUM, REDTUNE_I32, REDTUNE_DTYPE_NONE, sets[k].all);
        redtune_problem resolved;
        CHECK_OK(rdt_problem_resolve(&like, &resolved, &err), err);
        const rdt_point point = find_point(&resolved, sets[k].family, "");
        const cover_set set = {.like = like,
                               .family = point.family,
                               .scope = simulated ? COVER_KERNELS : COVER_PROBLEMS};
        cover_point *points = NULL;
        size_t count = 0;
        CHECK_OK(cover_pairs(shop.codegen, &gpu.context->facts, &set, &points, &count, &err), err);
        const size_t wanted = simulated ? count / SIMULATED + 1 : count;
        for (size_t i = 0; i < wanted && !check_state.failed && !subject_is_late(); i++) {
            const cover_point *kernel = &points[subject_turn(i, count)];
            if (!subject_is_of_part(i)) continue;
            check_kernel(&kernel->problem, &kernel->point, FEW, FEW_ELEMENTS);
            done++;
        }
        of += count;
        free(points);
    }
    printf("%s: %zu of %zu kernels\n", check_state.fact, done, of);
}

FACT(every_op_of_every_dtype_is_right) {
    const bool simulated = device_is_simulated(&gpu);
    size_t kernels = 0;
    for (int k = 0; k < rdt_op_compiled_in.count && !check_state.failed; k++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = REDTUNE_DTYPE_NONE; result < REDTUNE_DTYPE_END; result++) {
                redtune_problem problem = segments_of(rdt_op_compiled_in.entry[k].op, dtype->dtype,
                                                      (redtune_dtype)result, kernels % 3 == 0);
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                if (kernels++ % (simulated ? 43 : 1) || !subject_is_of_part(kernels)) continue;
                draw_from(kernels);
                const bool pairs = rdt_op_find(problem.op)->inputs > 1;
                const rdt_point point = draw_point(&problem, pairs ? "grouped" : "ragged");
                check_kernel(&problem, &point, TABLES_PER_KERNEL, simulated ? 3000 : ELEMENTS_MAX);
                if (check_state.failed || subject_is_late()) return;
            }
}

int main(int argc, char **argv) { return subject_run(&gpu, &shop, argc, argv); }
