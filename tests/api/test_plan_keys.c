/* Facts about the keys that plans are found by: plans that differ in one field alone, made in turns
 * through one kernel cache by processes of their own, or through one table of plans, each give what
 * they give alone. On the simulated GPU.
 *
 * A plan's *answer* is its result's bytes, its words about itself, its launch and its kernel's key.
 */
#define _GNU_SOURCE
#include "../unit/database.h"
#include "adder.h"
#include "api/running/plan.h"
#include "api/choosing/plan_cache.h"
#include "cache/exchange.h"
#include "redtune/list.h"
#include "redtune/records.h"
#include "shaped.h"

enum { COUNT = 20000, OUT_BYTES = 64, SEGMENTS = 4 };

static redtune_error err;
static adder gpu;
static rdt_buffer tables; /* SEGMENTS + 1 offsets of 8 bytes, then a count on the GPU */

typedef struct answer {
    unsigned char out[OUT_BYTES];
    redtune_info info;
    rdt_launch launch;
    char kernel[RDT_HASH_TEXT_BYTES];
} answer;

/* ---- variants -------------------------------------------------------------------------------- */

/* A process that makes one plan. */
typedef struct variant {
    const char *field; /* in which it alone differs from the last variant that has none */
    shaped problem;
    redtune_trust trust;
    rdt_yield yield;
    const char *database, *ops, *op; /* op: of the file of ops */
    const char *before;              /* a command to run before */
    const char *variable, *value;    /* of the environment */
} variant;

#define SUM   .op = REDTUNE_SUM, .dtype = REDTUNE_F32
#define WHOLE SUM, .count = COUNT
/* Without clusters, which an old NVRTC does not compile. */
#define PINNED WHOLE, .config = "block:block=64,finish=poll"
#define TOTAL  .dtype = REDTUNE_F32, .count = COUNT
#define ROWS   SUM, .count = COUNT / SEGMENTS, .outer = SEGMENTS

static const variant variants[] = {
    {NULL, {WHOLE}},
    {"op", {.op = REDTUNE_MAX, .dtype = REDTUNE_F32, .count = COUNT}},
    {"result", {WHOLE, .result = REDTUNE_F64}},
    {"order", {WHOLE, .order = REDTUNE_ORDER_FIXED}},
    {"accuracy", {WHOLE, .accuracy = REDTUNE_ACCURACY_COMPENSATED}},
    {"accuracy", {WHOLE, .accuracy = REDTUNE_ACCURACY_EXACT}},
    {"uses", {WHOLE, .uses = REDTUNE_USE_ACCUMULATE}},
    {"uses", {WHOLE, .uses = REDTUNE_USE_DEVICE_COUNT}},
    {"count", {SUM, .count = 3}},
    {"outer", {WHOLE, .outer = 2}},
    {"inner", {WHOLE, .inner = 2}},
    {"step", {WHOLE, .step = 2}},
    {"config", {WHOLE, .config = "block:block=64"}},
    {"yield", {WHOLE}, .yield = RDT_YIELD_ACCUMULATOR},
    {"templates", {WHOLE}, .variable = "REDTUNE_TEMPLATES", .value = "templates"},
    {"databases", {WHOLE}, .database = "own.db"},
    {"the GPU", {WHOLE}, .variable = "REDTUNE_SIM_CAPABILITY", .value = "8.0"},
    {NULL, {WHOLE, .result = REDTUNE_F64}},
    {"dtype", {.op = REDTUNE_SUM, .dtype = REDTUNE_F64, .result = REDTUNE_F64, .count = COUNT}},
    {NULL, {WHOLE}, .database = "own.db"},
    {"the GPU's name",
     {WHOLE},
     .database = "own.db",
     .variable = "REDTUNE_TEST_DEVICE",
     .value = "1"},
    {NULL, {ROWS}},
    {"segmented", {ROWS, .segmented = REDTUNE_SEGMENTED_EACH}},
    {"segmented", {ROWS, .segmented = REDTUNE_SEGMENTED_ALL}},
    {"outer_step", {ROWS, .outer_step = 4}},
    {NULL, {ROWS, .segmented = REDTUNE_SEGMENTED_EACH}},
    {"greatest", {ROWS, .segmented = REDTUNE_SEGMENTED_EACH, .greatest = COUNT / SEGMENTS}},
    {"median", {ROWS, .segmented = REDTUNE_SEGMENTED_EACH, .median = 7}},
    {NULL, {WHOLE}, .database = "imported.db", .trust = REDTUNE_TRUST_ALL},
    {"trust", {WHOLE}, .database = "imported.db", .trust = REDTUNE_TRUST_NONE},
    {NULL, {TOTAL}, .ops = "a/total.lua", .op = "total"},
    {"the op's content", {TOTAL}, .ops = "b/total.lua", .op = "total"},
    {"the op's name", {TOTAL}, .ops = "c/other.lua", .op = "other"},
    {NULL,
     {PINNED},
     .before = "cp quick.so nvrtc.so",
     .variable = "REDTUNE_NVRTC",
     .value = "./nvrtc.so"},
    {"NVRTC's file", {PINNED}, .variable = "REDTUNE_NVRTC", .value = RDT_TEST_OLD_NVRTC},
    {"NVRTC's build", {PINNED}, .variable = "REDTUNE_NVRTC", .value = RDT_TEST_NVRTC},
    {"NVRTC's content",
     {PINNED},
     .before = "cp old.so nvrtc.so",
     .variable = "REDTUNE_NVRTC",
     .value = "./nvrtc.so"},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* ---- one plan -------------------------------------------------------------------------------- */

/* Elements whose sum depends on how it is made: 2^25, ones, and less 2^25. */
static bool fill_memory(void) {
    static float elements[2 * COUNT];
    uint64_t offsets[SEGMENTS + 2];
    for (int i = 0; i < 2 * COUNT; i++) elements[i] = 1;
    elements[0] = 33554432;
    elements[COUNT - 1] = -33554432;
    for (uint64_t i = 0; i <= SEGMENTS; i++) offsets[i] = i * (COUNT / SEGMENTS);
    offsets[SEGMENTS + 1] = COUNT / 2;
    return !adder_open(&gpu, 2 * COUNT, &err) &&
           !rdt_buffer_create(gpu.gpu.driver, sizeof offsets, &tables, &err) &&
           !rdt_buffer_write(gpu.gpu.driver, gpu.input.address, elements, sizeof elements,
                             gpu.gpu.stream, &err) &&
           !rdt_buffer_write(gpu.gpu.driver, tables.address, offsets, sizeof offsets,
                             gpu.gpu.stream, &err);
}

static void *on_gpu(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* By the plan, or by the table of rt; what runs accumulate on is 3 in f32. */
static redtune_status run(redtune *rt, redtune_plan *plan, const redtune_problem *problem,
                          unsigned char out[OUT_BYTES]) {
    float before[OUT_BYTES / sizeof(float)];
    for (size_t i = 0; i < OUT_BYTES / sizeof(float); i++) before[i] = 3;
    const redtune_operands operands = {
        .d_in = {on_gpu(gpu.input.address)},
        .d_out = {on_gpu(gpu.result.address)},
        .count = shaped_of(problem).count,
        .outer = shaped_of(problem).outer,
        .inner = shaped_of(problem).inner,
        .outer_step = shaped_of(problem).outer_step,
        .step = shaped_of(problem).step,
        .accumulate = problem->uses & REDTUNE_USE_ACCUMULATE,
        .d_count = problem->uses & REDTUNE_USE_DEVICE_COUNT
                       ? on_gpu(tables.address + (SEGMENTS + 1) * sizeof(uint64_t))
                       : NULL};
    const redtune_segments segments = {.d_in = on_gpu(gpu.input.address),
                                       .count = SEGMENTS,
                                       .d_begin = on_gpu(tables.address),
                                       .d_out = {on_gpu(gpu.result.address)}};
    CUstream stream = gpu.gpu.stream;
    redtune_status status =
        rdt_buffer_write(gpu.gpu.driver, gpu.result.address, before, sizeof before, stream, &err);
    if (!status && problem->segmented)
        status = plan ? redtune_plan_run_segments(plan, &segments, stream, &err)
                      : redtune_run_segments(rt, problem, &segments, stream, &err);
    else if (!status)
        status = plan ? redtune_plan_run(plan, &operands, stream, &err)
                      : redtune_run(rt, problem, &operands, stream, &err);
    if (!status)
        status = rdt_buffer_read(gpu.gpu.driver, out, gpu.result.address, OUT_BYTES, stream, &err);
    return status;
}

static redtune_status find_answer(const variant *of, answer *out) {
    const redtune_options options = {
        .database = of->database ? of->database : "nowhere.db", .trust = of->trust, .ops = of->ops};
    redtune_problem problem = shaped_problem(of->problem);
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status && of->op) status = redtune_op_find(of->op, &problem.op, &err);
    if (!status) status = rdt_plan_make(rt, &problem, of->yield, &plan, &err);
    if (!status && of->yield == RDT_YIELD_RESULT) status = run(rt, plan, &problem, out->out);
    if (!status) {
        redtune_plan_info(plan, &out->info);
        out->info.problem.op = REDTUNE_SUM; /* a number of this process */
        if (!of->op) out->info.problem.op = problem.op;
        const rdt_executable *executable = rdt_plan_executable(plan);
        out->launch = executable->launch;
        rdt_text_copy(out->kernel, sizeof out->kernel, executable->kernel->key);
    }
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return status;
}

/* The same by a process of its own, whose kernel cache is in the folder of that name. */
static bool ask(const variant *of, const char *cache, answer *out) {
    char file[256];
    snprintf(file, sizeof file, "%s", in_scratch("answer"));
    unlink(file);
    if (of->before && system(of->before)) return false;
    setenv("XDG_CACHE_HOME", in_scratch(cache), 1);
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        static answer made;
        if (of->variable) setenv(of->variable, of->value, 1);
        bool good = fill_memory() && !find_answer(of, &made);
        if (!good) fprintf(stderr, "%s: %s\n", of->field ? of->field : "-", err.message);
        _exit(!(good && write_bytes(file, &made, sizeof made)));
    }
    size_t bytes = 0;
    int ended = 0;
    char *data = waitpid(child, &ended, 0) == child && !ended ? read_bytes(file, &bytes) : NULL;
    const bool good = data && bytes == sizeof *out;
    if (good) memcpy(out, data, sizeof *out);
    free(data);
    return good;
}

/* By fields: what fills up the structs may be anything. */
static bool same(const answer *a, const answer *b) {
    const redtune_problem *one = &a->info.problem, *other = &b->info.problem;
#define SAME(field)        &&one->field == other->field
#define SAME_LAUNCH(field) &&a->launch.field == b->launch.field
    return !memcmp(a->out, b->out, sizeof a->out) && !strcmp(a->kernel, b->kernel) &&
           !strcmp(a->info.config, b->info.config) && !strcmp(a->info.family, b->info.family) &&
           a->info.match == b->info.match && a->info.imported == b->info.imported &&
           rdt_problem_same_extents(one, other) RDT_PROBLEM_KIND_LIST(SAME) SAME_LAUNCH(threads)
               SAME_LAUNCH(tile) SAME_LAUNCH(blocks_max) SAME_LAUNCH(yield);
#undef SAME
#undef SAME_LAUNCH
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool resolve_first(redtune_problem *out) {
    const redtune_problem first = shaped_problem(variants[0].problem);
    return !rdt_problem_resolve(&first, out, &err);
}

/* A database where the sum's winner is another than the default, and one that imported it. */
static bool make_databases(int index) {
    (void)index;
    static const char *const files[] = {"rows.jsonl"};
    const redtune_importing importing = {
        .database = "imported.db", .files = files, .file_count = 1};
    redtune_import_counts counts;
    rdt_row row = {.date = 1700000000};
    rdt_rows rows = {0};
    void *data = NULL;
    size_t bytes = 0;
    if (!fill_memory() || !resolve_first(&row.trial.problem) ||
        rdt_codegen_version(row.origin.templates, &err))
        return false;
    row.gpu = gpu.gpu.context->facts;
    row.trial.outcome = RDT_OUTCOME_GOOD;
    rdt_text_copy(row.trial.family, sizeof row.trial.family, "block");
    row.trial.median_ns = 5000;
    row.trial.spread_ns = 1;
    row.trial.samples = 31;
    row.trial.rank = INT32_MAX;
    row.origin.driver_version = row.origin.nvrtc_version = 12000;
    rdt_text_copy(row.trial.config, sizeof row.trial.config,
                  "block=128,vec=4,unroll=1,load=no_allocate,tail=shuffle,finish=poll,per_sm=2");
    return !rdt_rows_add(&rows, &row, &err) &&
           !rdt_exchange_write_json(&rows, &data, &bytes, &err) &&
           write_bytes(files[0], data, bytes) && !redtune_import(&importing, &counts, &err) &&
           counts.added == 1 && copy_file("imported.db", "own.db") &&
           run_sql("own.db", "UPDATE measurement SET import = NULL");
}

/* In the scratch folder, which is the working one. Databases that are new are not gone by. */
static bool make_files(void) {
    static const char op[] =
        "echo 'return { name = \"%s\", formula = \"x[0] + ... + x[n-1]\", dtypes = { \"f32\" }, "
        "accumulator = \"f64\", identity = \"0\", map = \"%s\", combine = \"a + b\", "
        "finish = \"a\", result = \"f64\", examples = { { x = { 1, 2, 4 }, result = %d } } }' >%s";
    char text[4][1024];
    snprintf(text[0], sizeof text[0],
             "cp '%s' quick.so && cp '%s' old.so && mkdir -p a b c templates/block && "
             "cp '%s/registry.lua' templates && "
             "sed '$a// changed' '%s/block/kernel.cu' >templates/block/kernel.cu",
             RDT_TEST_QUICK_NVRTC, RDT_TEST_OLD_NVRTC, RDT_TEST_TEMPLATES, RDT_TEST_TEMPLATES);
    snprintf(text[1], sizeof text[1], op, "total", "(double)x", 7, "a/total.lua");
    snprintf(text[2], sizeof text[2], op, "total", "2.0 * (double)x", 14, "b/total.lua");
    snprintf(text[3], sizeof text[3], op, "other", "(double)x", 7, "c/other.lua");
    for (int i = 0; i < 4; i++)
        if (system(text[i])) return false;
    return run_processes(1, make_databases) && !system("touch -d '1 hour ago' *.db");
}

/* ---- facts ----------------------------------------------------------------------------------- */

static answer alone[VARIANTS];

/* Each is made where the other has left its plan. */
FACT(plans_that_differ_in_a_field_do_not_meet_in_a_cache) {
    int base = 0, failed = 0;
    for (int i = 0; i < VARIANTS; i++) {
        char cache[32], copy[100];
        answer got;
        snprintf(cache, sizeof cache, "alone.%d", i);
        CHECK(ask(&variants[i], cache, &alone[i]));
        if (!variants[i].field) base = i;
        if (!variants[i].field) continue;
        snprintf(cache, sizeof cache, "shared.%d", i);
        snprintf(copy, sizeof copy, "cp -a alone.%d shared.%d", base, i);
        CHECK(!system(copy) && ask(&variants[i], cache, &got));
        bool good = same(&got, &alone[i]) && !same(&got, &alone[base]);
        CHECK(ask(&variants[base], cache, &got));
        good = good && same(&got, &alone[base]);
        if (!good) fprintf(stderr, "not told apart by %s\n", variants[i].field);
        failed += !good;
    }
    CHECK_INT(failed, 0);
}

/* What the problem alone says that the first result is. */
FACT(each_of_them_is_right) {
    for (int i = 0; i < VARIANTS; i++) {
        float value;
        memcpy(&value, alone[i].out, sizeof value);
        if (variants[i].problem.accuracy) CHECK(value == COUNT - 2);
        if (variants[i].problem.op == REDTUNE_MAX) CHECK(value == 33554432);
    }
}

static bool reduce_fresh(const redtune_problem *problems[2], int first, int turns,
                         unsigned char out[2][OUT_BYTES]) {
    const redtune_options options = {.database = "nowhere.db"};
    redtune *rt = NULL;
    bool good = !redtune_open(&options, &rt, &err);
    for (int turn = 0; turn < turns && good; turn++) {
        const int which = (first + turn) % 2;
        good = !run(rt, NULL, problems[which], out[which]);
    }
    redtune_close(rt);
    return good;
}

static bool reduce_in_turns(int index) {
    (void)index;
    int base = 0, failed = 0;
    if (!fill_memory()) return false;
    for (int i = 0; i < VARIANTS; i++) {
        const variant *of = &variants[i];
        unsigned char own[2][OUT_BYTES], got[2][OUT_BYTES];
        if (!of->field) base = i;
        if (!of->field || of->database || of->ops || of->variable || of->yield ||
            of->problem.config)
            continue;
        const redtune_problem two[2] = {shaped_problem(variants[base].problem),
                                        shaped_problem(of->problem)};
        const redtune_problem *problems[2] = {&two[0], &two[1]};
        bool good = reduce_fresh(problems, 0, 1, own) && reduce_fresh(problems, 1, 1, own);
        for (int first = 0; first < 2; first++)
            good = good && reduce_fresh(problems, first, 4, got) && !memcmp(own, got, sizeof own);
        if (!good) fprintf(stderr, "not told apart by %s: %s\n", of->field, err.message);
        failed += !good;
    }
    return !failed;
}

FACT(plans_that_differ_in_a_field_do_not_meet_in_a_table) {
    CHECK(run_processes(1, reduce_in_turns));
}

int main(int argc, char **argv) {
    setenv("REDTUNE_SIM_DEVICES", "2", 1);
    setenv("REDTUNE_SIM_MODELS", "2", 1);
    if (!scratch_begin() || chdir(scratch) || setenv("XDG_CACHE_HOME", in_scratch("table"), 1) ||
        !make_files())
        return 1;
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
