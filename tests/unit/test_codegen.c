/* Facts about codegen/codegen.h: families, their points, and rendering. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "codegen/codegen.h"
#include "faults.h"
#include "shaped.h"

static redtune_error err;

/* ---- families -------------------------------------------------------------------------------- */

/* The default of sum of f32 with some parameters changed, rendered; freed by the caller. */
static redtune_status render(rdt_codegen *codegen, redtune_dtype dtype, const char *config,
                             bool lines, char **source) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, dtype, 1 << 20);
    rdt_point point;
    redtune_status status = rdt_problem_resolve(&problem, &problem, &err);
    rdt_case at = {&problem, rdt_facts_typical()};
    if (!status) status = rdt_rules_find(codegen, at, NULL, config, &point, &err);
    if (!status) status = rdt_render_source(codegen, at, &point, lines, source, &err);
    return status;
}

/* Whether the source of the problem's kernel accumulates in what test data go by. */
static bool accumulates_as_told(rdt_codegen *codegen, const redtune_problem *problem) {
    static const char *const types[] = {[REDTUNE_I64] = "i64",
                                        [REDTUNE_U64] = "u64",
                                        [REDTUNE_F32] = "float",
                                        [REDTUNE_F64] = "double"};
    const rdt_facts *facts = rdt_facts_typical();
    const rdt_case at = {problem, facts};
    redtune_dtype accumulator = rdt_problem_accumulator(problem);
    /* Squares have no sign: their sum fills all 64 bits. */
    if (rdt_op_find(problem->op)->result == RDT_RESULT_MEAN &&
        rdt_op_find(problem->op)->power == 2 && accumulator == REDTUNE_I64)
        accumulator = REDTUNE_U64;
    char wanted[64], *source = NULL;
    rdt_point point;
    if (rdt_rules_default(codegen, at, &point, &err) ||
        rdt_render_source(codegen, at, &point, false, &source, &err))
        return false;
    snprintf(wanted, sizeof wanted, "typedef %s accumulator;", types[accumulator]);
    bool found = strstr(source, wanted) != NULL;
    free(source);
    return found;
}

FACT(sums_accumulate_in_the_problems_accumulator) {
    rdt_codegen *codegen = NULL;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry; op->name[0]; op++)
        for (int i = 0; i < 2 * (REDTUNE_DTYPE_END - 1); i++) {
            redtune_problem problem =
                PROBLEM(op->op, (redtune_dtype)(1 + i / 2),
                        i % 2 ? REDTUNE_F64 : REDTUNE_DTYPE_NONE, .count = 1000);
            if (op->combines != RDT_COMBINES_SUM && op->combines != RDT_COMBINES_PRODUCT) continue;
            if (op->values > 1 || op->accumulator_bytes || op->range_bytes) continue; /* others */
            if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
            CHECK(accumulates_as_told(codegen, &problem));
        }
    rdt_codegen_close(codegen);
}

FACT(render_is_the_same_in_every_state) {
    char *first = NULL, *second = NULL;
    for (int i = 0; i < 2; i++) {
        rdt_codegen *codegen = NULL;
        CHECK_OK(rdt_codegen_open(&codegen, &err), err);
        CHECK_OK(render(codegen, REDTUNE_F32, "", true, i ? &second : &first), err);
        rdt_codegen_close(codegen);
    }
    CHECK_TEXT(second, first);
    free(first);
    free(second);
}

FACT(source_does_not_depend_on_launch_parameters) {
    rdt_codegen *codegen = NULL;
    char *few = NULL, *many = NULL;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(render(codegen, REDTUNE_F32, "finish=poll,per_sm=1", false, &few), err);
    CHECK_OK(render(codegen, REDTUNE_F32, "finish=poll,per_sm=8", false, &many), err);
    CHECK_TEXT(many, few);
    free(few);
    free(many);
    rdt_codegen_close(codegen);
}

FACT(lines_lead_back_to_the_template) {
    rdt_codegen *codegen = NULL;
    char *source = NULL;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(render(codegen, REDTUNE_F32, "", true, &source), err);
    CHECK_CONTAINS(source, "\n#line ");
    CHECK_CONTAINS(source, "\"block/kernel.cu\"\n");
    free(source);
    CHECK_OK(render(codegen, REDTUNE_F32, "", false, &source), err);
    CHECK(!strstr(source, "#line"));
    free(source);
    rdt_codegen_close(codegen);
}

FACT(family_find_lists_the_known_names) {
    rdt_codegen *codegen = NULL;
    rdt_point point = {.family = -1};
    redtune_problem problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 20);
    rdt_case at = {&problem, rdt_facts_typical()};
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_FAILS(rdt_rules_find(codegen, at, "blok", NULL, &point, &err), REDTUNE_INVALID, err,
                "'blok'");
    CHECK_CONTAINS(err.message, "block");
    CHECK_FAILS(rdt_rules_find(codegen, at, NULL, "blok:vec=1", &point, &err), REDTUNE_INVALID, err,
                "'blok'");
    CHECK_INT(point.family, -1);
    CHECK_OK(rdt_rules_find(codegen, at, NULL, NULL, &point, &err), err);
    CHECK_INT(point.family, 0);
    rdt_codegen_close(codegen);
}

/* A family that the registry does not name is rendered by its own name only. */
FACT(the_ladder_is_no_family_that_is_tuned) {
    rdt_codegen *codegen = NULL;
    int family = -1;
    rdt_point point;
    redtune_problem problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 20);
    rdt_case at = {&problem, rdt_facts_typical()};
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_INT(rdt_codegen_spaces(codegen)->count,
              18); /* block, short, staged, rows, skewed, thin, columns, tiled, grouped, ragged,
                      ordered (5), strided, keyed, reordered */
    CHECK_FAILS(rdt_rules_find(codegen, at, "ladder", NULL, &point, &err), REDTUNE_INVALID, err,
                "'ladder'");
    CHECK_FAILS(rdt_codegen_find_aside(codegen, "block", &family, &err), REDTUNE_INVALID, err,
                "'block'");
    CHECK_INT(family, -1);
    CHECK_OK(rdt_codegen_find_aside(codegen, "ladder", &family, &err), err);
    CHECK_TEXT(rdt_codegen_spaces(codegen)->space[family].family, "ladder");
    rdt_codegen_close(codegen);
}

/* That a family yields, and its default still stands behind the other's. */
FACT(segments_have_the_default_of_their_lengths) {
    static const struct {
        redtune_dtype dtype;
        uint64_t outer, count, median, greatest;
        const char *family;
        const char *config; /* a part of it */
    } cases[] = {{REDTUNE_F32, 16384, 4096, 0, 4096, "grouped", ""},
                 {REDTUNE_F32, 16384, 4096, 0, 0, "grouped", ""},
                 {REDTUNE_F32, 1 << 20, 64, 0, 64, "grouped", "lanes=4,segments=1"},
                 {REDTUNE_F32, 1 << 20, 64, 0, 0, "tiled", "block=128,vec=4"},
                 {REDTUNE_F32, 1 << 15, 64, 0, 0, "grouped", ""},
                 {REDTUNE_F16, 1 << 20, 64, 0, 0, "grouped", "lanes=2"},
                 {REDTUNE_F32, 1 << 20, 103, 3, 100000000, "tiled", ""},
                 {REDTUNE_F32, 1 << 24, 1, 0, 0, "ragged", "unit=segments"},
                 {REDTUNE_F32, 1 << 24, 2, 0, 0, "tiled", ""},
                 {REDTUNE_F32, 1 << 24, 6, 0, 0, "tiled", ""},
                 {REDTUNE_F32, 1 << 20, 128, 0, 0, "ragged", "unit=tiles"},
                 {REDTUNE_F32, 1 << 20, 4, 0, 0, "grouped", "lanes=1,segments=2,vec=1"},
                 {REDTUNE_F32, 1 << 24, 4, 0, 4, "grouped", "lanes=1,segments=2,vec=1"},
                 {REDTUNE_F32, 300, 4, 4, 4, "grouped", "lanes=4,"},
                 {REDTUNE_F32, 0, 4096, 0, 0, "grouped", "block=128,lanes=128"}, /* of any number */
                 {REDTUNE_F32, 1024, 4096, 0, 0, "grouped", "block=256,lanes=128"},
                 {REDTUNE_F32, 4096, 1 << 14, 0, 0, "grouped", "block=128,lanes=128"},
                 {REDTUNE_F32, 4096, 1 << 14, 0, 1 << 14, "grouped", "block=256,lanes=256"},
                 {REDTUNE_F32, 1024, 1 << 16, 0, 0, "grouped", "block=256,lanes=256"},
                 {REDTUNE_F32, 0, 100, 0, 0, "tiled", ""},
                 {REDTUNE_F32, 0, 4, 0, 0, "tiled", ""},
                 {REDTUNE_F32, 0, 1 << 20, 0, 0, "ragged", "unit=long"},
                 {REDTUNE_F32, 0, 0, 0, 0, "ragged", "unit=segments"},
                 {REDTUNE_F32, 512, 1 << 17, 0, 1 << 17, "grouped", ""},
                 {REDTUNE_F32, 512, 1 << 17, 0, 0, "ragged", "unit=long"},
                 {REDTUNE_F32, 64, 1 << 20, 0, 1 << 21, "ragged", "unit=long"},
                 {REDTUNE_F32, 1 << 20, 30, 30, 40, "grouped", "lanes=2"},
                 {REDTUNE_F32, 1 << 20, 30, 30, 130, "tiled", ""},
                 {REDTUNE_F32, 1 << 20, 30, 30, 60, "tiled", ""},
                 {REDTUNE_F32, 1 << 14, 30, 30, 130, "ragged", "unit=tiles"},
                 {REDTUNE_F32, 1 << 20, 1, 1, 16, "grouped", "lanes=1,segments=2"},
                 {REDTUNE_F32, 1 << 20, 1, 1, 17, "ragged", "unit=segments"},
                 {REDTUNE_F32, 100, 30, 30, 33, "ragged", "unit=long"},
                 {REDTUNE_F32, 1 << 20, 100, 100, 300, "grouped", ""},
                 {REDTUNE_F32, 100000, 671, 110, 5000000, "ragged", "block=256,vec=4"},
                 {REDTUNE_F32, 100000, 671, 110, 5000000, "ragged", "unit=tiles"},
                 {REDTUNE_I8, 16384, 4096, 0, 4096, "ragged", "unit=segments"},
                 {REDTUNE_I8, 1 << 20, 16, 16, 20, "grouped", "lanes=1,segments=2,vec=4"},
                 {REDTUNE_I8, 1 << 20, 16, 16, 100, "ragged", "unit=tiles"},
                 {REDTUNE_I8, 16384, 4096, 100, 1 << 20, "ragged", "block=128,vec=16"},
                 {REDTUNE_I8, 16384, 4096, 100, 1 << 20, "ragged", "unit=tiles"}};
    rdt_codegen *codegen = NULL;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const redtune_problem problem =
            PROBLEM(.op = REDTUNE_MAX, .dtype = cases[i].dtype, .result = cases[i].dtype,
                    .count = cases[i].count, .outer = cases[i].outer,
                    .segmented = REDTUNE_SEGMENTED_EACH, .median = cases[i].median,
                    .greatest = cases[i].greatest);
        const rdt_case at = {&problem, rdt_facts_typical()};
        rdt_point all[RDT_FAMILY_MAX];
        size_t count = 0;
        CHECK_OK(rdt_rules_defaults(codegen, at, all, &count, &err), err);
        CHECK_INT(count, 3);
        char family[RDT_NAME_BYTES], config[RDT_CONFIG_TEXT_BYTES];
        rdt_point_write(rdt_codegen_spaces(codegen), &all[0], family, config);
        check_that(!strcmp(family, cases[i].family) && strstr(config, cases[i].config), __FILE__,
                   __LINE__, "case %zu: %s:%s", i, family, config);
    }
    rdt_codegen_close(codegen);
}

FACT(check_tells_why_a_config_is_not_allowed) {
    rdt_codegen *codegen = NULL;
    redtune_problem problem = PROBLEM(REDTUNE_SUM, REDTUNE_F64, REDTUNE_F64, .count = 1 << 20);
    rdt_case at = {&problem, rdt_facts_typical()};
    rdt_point point;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    CHECK_OK(rdt_rules_find(codegen, at, NULL, "vec=4", &point, &err), err);
    CHECK_FAILS(rdt_rules_check(codegen, at, &point, &err), REDTUNE_UNSUPPORTED, err,
                "vec=4 of f64 is 32 bytes, and a load takes 16 at most");
    rdt_codegen_close(codegen);
}

/* For every dtype and a wide choice of counts. */
FACT(default_is_allowed_and_among_the_points) {
    rdt_codegen *codegen = NULL;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++)
        for (uint64_t count = 0; count < UINT64_C(1) << 36; count = count * 8 + 1) {
            redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, traits->dtype, count);
            CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
            rdt_case at = {&problem, rdt_facts_typical()};
            rdt_point standard, *points = NULL;
            size_t point_count = 0, found = 0;
            rdt_launch launch;
            CHECK_OK(rdt_rules_default(codegen, at, &standard, &err), err);
            CHECK_OK(rdt_rules_launch(codegen, at, &standard, &launch, &err), err);
            CHECK(launch.threads % 32 == 0 && launch.blocks_max >= 1);
            CHECK_OK(rdt_points_list(codegen, at, RDT_SCOPE_USEFUL, &points, &point_count, &err),
                     err);
            for (size_t i = 0; i < point_count; i++) {
                CHECK_OK(rdt_rules_check(codegen, at, &points[i], &err), err);
                found += rdt_point_same(&points[i], &standard);
            }
            CHECK_INT(found, 1);
            free(points);
        }
    rdt_codegen_close(codegen);
}

/* The parameters of the template block, in its order. */
enum { BLOCK, VEC, UNROLL, LOAD, TAIL, FINISH, PER_SM, PARAMS };
enum { SHUFFLE = 0, SINGLE = 0, CLUSTER = 2, LABELS = 3 }; /* places of labels */
enum { CLUSTER_BLOCKS = 8 };

/* Takes a point to the simplest that does the same work: the same loads by the same threads,
 * combined in the same way by as many blocks. */
static rdt_point simplify(rdt_point point, uint64_t count, int sm_count) {
    int64_t *at = point.value;
    const int64_t blocks = at[FINISH] == CLUSTER ? CLUSTER_BLOCKS : 1; /* that load at once */
    if (at[FINISH] == CLUSTER) at[TAIL] = SHUFFLE; /* its warps hand over their values */
    if (at[BLOCK] == 32) at[TAIL] = SHUFFLE;       /* a warp needs no memory */
    while (at[UNROLL] > 1 && (uint64_t)(blocks * at[BLOCK] * at[VEC] * at[UNROLL] / 2) >= count)
        at[UNROLL] /= 2;
    while (at[BLOCK] > 32 && (uint64_t)(blocks * at[BLOCK] / 2 * at[VEC] * at[UNROLL]) >= count)
        at[BLOCK] /= 2;
    if (at[BLOCK] == 32) at[TAIL] = SHUFFLE;
    const uint64_t tile = (uint64_t)(at[BLOCK] * at[VEC] * at[UNROLL]);
    const uint64_t tiles = (count + tile - 1) / tile;
    while (at[PER_SM] > 1 && (uint64_t)(at[PER_SM] / 2 * sm_count) >= tiles) at[PER_SM] /= 2;
    if (tiles <= 1) at[FINISH] = SINGLE;
    if (at[FINISH] == SINGLE) at[PER_SM] = 1;
    return point;
}

static bool step(const rdt_space *space, rdt_point *point) {
    for (int i = space->param_count - 1; i >= 0; i--) {
        const rdt_param *param = &space->param[i];
        int place = rdt_space_param_find(param, point->value[i]) + 1;
        point->value[i] = param->value[place < param->value_count ? place : 0];
        if (place < param->value_count) return true;
    }
    return false;
}

/* In any order, as long as it is one. */
static int compare_points(const void *a, const void *b) {
    const rdt_point *first = a, *second = b;
    const int by_family = first->family - second->family;
    return by_family ? by_family : memcmp(first->value, second->value, sizeof first->value);
}

/* The space is gone through here by itself: each allowed point's simplest equal is listed, and
 * everything listed is its own. The default is listed in any case. */
static void check_distinct(rdt_codegen *codegen, rdt_case at) {
    const rdt_space *space = rdt_codegen_spaces(codegen)->space;
    rdt_point *points = NULL, point = {.family = 0}, baseline;
    size_t count = 0, simple = 0, lost = 0, own = 0, named[PARAMS][LABELS] = {{0}};
    for (int i = 0; i < space->param_count; i++) point.value[i] = space->param[i].value[0];
    CHECK_OK(rdt_rules_default(codegen, at, &baseline, &err), err);
    CHECK_OK(rdt_points_list(codegen, at, RDT_SCOPE_DISTINCT, &points, &count, &err), err);
    qsort(points, count, sizeof *points, compare_points);
    do {
        if (rdt_rules_check(codegen, at, &point, NULL)) continue;
        rdt_point equal = simplify(point, shaped_of(at.problem).count, at.facts->sm_count);
        bool is_simple = rdt_point_same(&equal, &point) || rdt_point_same(&baseline, &point);
        simple += is_simple;
        lost += is_simple && !bsearch(&point, points, count, sizeof *points, compare_points);
    } while (step(space, &point));
    for (size_t i = 0; i < count; i++) {
        rdt_point equal = simplify(points[i], shaped_of(at.problem).count, at.facts->sm_count);
        own += rdt_point_same(&equal, &points[i]) || rdt_point_same(&baseline, &points[i]);
        for (int k = LOAD; k <= FINISH; k++) named[k][points[i].value[k]]++;
    }
    CHECK_INT(lost, 0);
    CHECK_INT(count, simple);
    CHECK_INT(own, count);
    for (int k = LOAD; k <= FINISH; k++)
        for (int i = 0; i < space->param[k].value_count; i++)
            CHECK(named[k][i] || (k == FINISH && i == CLUSTER && at.facts->major < 9));
    printf("  %s of %llu: %zu points\n", redtune_dtype_name(at.problem->dtype),
           (unsigned long long)shaped_of(at.problem).count, count);
    free(points);
}

FACT(exhaustive_points_are_all_but_the_same_work) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I8, REDTUNE_F64};
    static const int sizes[] = {10, 16, 20, 30};
    rdt_codegen *codegen = NULL;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            redtune_problem problem =
                redtune_problem_whole(REDTUNE_SUM, dtypes[i], UINT64_C(1) << sizes[k]);
            CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
            check_distinct(codegen, (rdt_case){&problem, rdt_facts_typical()});
            rdt_facts with_clusters = *rdt_facts_typical();
            with_clusters.major = 9;
            if (i == 0 && k < 2) check_distinct(codegen, (rdt_case){&problem, &with_clusters});
        }
    rdt_codegen_close(codegen);
}

static void open_once(void) {
    rdt_codegen *codegen = NULL;
    faults_fork();
    redtune_status status = rdt_codegen_open(&codegen, &err);
    const bool hit = faults_end();
    CHECK(!status || (hit && status == REDTUNE_MEMORY));
    CHECK(status ? !codegen : codegen != NULL);
    rdt_codegen_close(codegen);
}

/* Each failed allocation takes a process of its own: fails every seventh, with --all every one. */
static long each = 7;

FACT(open_survives_every_failed_allocation) {
    CHECK(faults_in_copies(open_once, each, &check_state.failed) > 1000 / each);
}

/* The first rule, default or launch loads files, too; rendering translates one. */
static void render_once(void) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 1 << 20);
    const rdt_case at = {&problem, rdt_facts_typical()};
    rdt_codegen *codegen = NULL;
    rdt_point point;
    char *source = NULL;
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    faults_fork();
    redtune_status status = rdt_rules_default(codegen, at, &point, &err);
    if (!status) status = rdt_render_source(codegen, at, &point, true, &source, &err);
    const bool hit = faults_end();
    CHECK(!status || (hit && status == REDTUNE_MEMORY));
    free(source);
    rdt_codegen_close(codegen);
}

FACT(rules_and_rendering_survive_every_failed_allocation) {
    CHECK(faults_in_copies(render_once, each, &check_state.failed) > 100 / each);
}

int main(int argc, char **argv) {
    const bool all = argc > 1 && !strcmp(argv[1], "--all");
    each = all ? 1 : each;
    return check_run(argc - all, argv + all);
}
