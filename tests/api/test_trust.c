/* Facts about measurements that were imported: they serve once they have been verified on the GPU.
 * The templates are a copy in which some kernels go wrong. On the simulated GPU, or on GPU 0.
 *
 * usage: test_trust REDTUNE [FACT...]: the command, for verifying in a process of its own. */
#define _GNU_SOURCE
#include <ftw.h>
#include <time.h>
#include <unistd.h>
#include "api/plan.h"
#include "cache/exchange.h"
#include "check.h"
#include "gpu/buffer.h"
#include "gpu/graph.h"
#include "gpu/simulator.h"
#include "tuner/rig.h"

/* The problems are sums of STEP elements, of twice STEP, and so on. */
enum { PROBLEMS = 20, STEP = 512, COUNT_MAX = STEP * PROBLEMS };

static const char *command;
static char folder[64], database[96], file[96], templates[RDT_HASH_TEXT_BYTES];
static redtune_error err;
static rdt_context *context;
static CUstream stream;
static rdt_buffer ones, result;

/* ---- the world ------------------------------------------------------------------------------- */

static const char planted[] = "//@ if block == 32 and vec == 2 then\n"
                              "    if (count > 300) count--;\n"
                              "//@ elseif block == 32 and vec == 4 and unroll == 1 then\n"
                              "    *(volatile u32 *)64 = 1;\n"
                              "//@ end\n";

static bool is_simulated(void) {
    return strstr(context->facts.name, "simulated") != NULL;
}

/* Copies the templates and plants the faults. */
static bool plant(void) {
    char text[512], line[1024];
    const char *source = getenv("REDTUNE_TEST_TEMPLATES");
    if (!source) source = RDT_TEST_TEMPLATES;
    snprintf(text, sizeof text, "cp -r '%s' '%s/templates'", source, folder);
    if (system(text)) return false;
    snprintf(text, sizeof text, "%s/block/kernel.cu", source);
    FILE *in = fopen(text, "r");
    snprintf(text, sizeof text, "%s/templates/block/kernel.cu", folder);
    FILE *out = fopen(text, "w");
    bool inside = false, done = false;
    while (in && out && fgets(line, sizeof line, in)) {
        inside |= !strncmp(line, "redtune_reduce(const element", 28);
        if (inside && !done && strstr(line, "accumulator a = ")) {
            fputs(planted, out);
            done = true;
        }
        fputs(line, out);
    }
    if (in) fclose(in);
    if (out) fclose(out);
    snprintf(text, sizeof text, "%s/templates", folder);
    setenv("REDTUNE_TEMPLATES", text, 1);
    return done && !rdt_codegen_version(templates, &err);
}

static redtune_status open_device(void) {
    static float host[COUNT_MAX];
    bool entered;
    for (int i = 0; i < COUNT_MAX; i++) host[i] = 1;
    redtune_status status = rdt_context_open("0", &context, &err);
    if (!status) status = rdt_context_enter(context, &entered, &err);
    if (!status) status = rdt_stream_create(context->driver, &stream, &err);
    if (!status) status = rdt_buffer_create(context->driver, sizeof host, &ones, &err);
    if (!status) status = rdt_buffer_create(context->driver, 256, &result, &err);
    if (!status)
        status = rdt_buffer_write(context->driver, ones.address, host, sizeof host, stream, &err);
    return status;
}

static void close_device(void) {
    rdt_buffer_destroy(&ones);
    rdt_buffer_destroy(&result);
    rdt_stream_destroy(context->driver, stream);
    rdt_context_leave(context, true);
    rdt_context_close(context);
}

/* ---- files ----------------------------------------------------------------------------------- */

static redtune_problem sum_of(uint64_t count) {
    return (redtune_problem){.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = count};
}

/* A claim that this config was so fast on the GPU at hand. */
static rdt_row claim(uint64_t count, const char *config, double median_ns, bool is_default) {
    rdt_row row = {.gpu = context->facts, .date = 1700000000};
    const redtune_problem problem = sum_of(count);
    row.trial = (rdt_trial){.outcome = RDT_OUTCOME_GOOD,
                            .family = "block",
                            .median_ns = median_ns,
                            .spread_ns = 1,
                            .samples = 31,
                            .order = INT32_MAX,
                            .is_default = is_default};
    rdt_problem_resolve(&problem, &row.trial.problem, &err);
    rdt_text_copy(row.trial.config, sizeof row.trial.config, config);
    rdt_text_copy(row.origin.templates, sizeof row.origin.templates, templates);
    row.origin.driver_version = 12000;
    row.origin.nvrtc_version = 12000;
    return row;
}

/* Claims of one config for each problem. */
typedef void name_fn(int i, char config[RDT_CONFIG_TEXT_BYTES]);

static void name_wrong(int i, char config[RDT_CONFIG_TEXT_BYTES]) {
    static const int unrolls[] = {1, 2, 4, 8}, grids[] = {1, 2, 4, 8, 16};
    snprintf(config, RDT_CONFIG_TEXT_BYTES,
             "block=32,vec=2,unroll=%d,load=no_allocate,tail=shuffle,finish=poll,per_sm=%d",
             unrolls[i % 4], grids[i % 5]);
}

static void name_slow(int i, char config[RDT_CONFIG_TEXT_BYTES]) {
    static const char *const loads[] = {"no_allocate", "plain", "streaming"};
    static const int unrolls[] = {1, 2};
    snprintf(config, RDT_CONFIG_TEXT_BYTES,
             "block=32,vec=1,unroll=%d,load=%s,tail=%s,finish=single,per_sm=1", unrolls[i % 2],
             loads[i / 2 % 3], i / 6 % 2 ? "shared" : "shuffle");
}

static void name_fault(int i, char config[RDT_CONFIG_TEXT_BYTES]) {
    (void)i;
    snprintf(config, RDT_CONFIG_TEXT_BYTES,
             "block=32,vec=4,unroll=1,load=no_allocate,tail=shuffle,finish=single,per_sm=1");
}

static uint64_t count_of(int i) {
    return (uint64_t)STEP * (uint64_t)(i + 1);
}

static redtune_status write_file(name_fn *name, int first, int count) {
    rdt_rows rows = {0};
    void *data = NULL;
    size_t bytes = 0;
    redtune_status status = REDTUNE_OK;
    for (int i = first; !status && i < first + count; i++) {
        char config[RDT_CONFIG_TEXT_BYTES];
        name(i, config);
        /* No less than a slow bus takes: more is claimed of nothing. */
        double least_ns = (double)count_of(i) * sizeof(float) / 140;
        rdt_row row = claim(count_of(i), config, least_ns > 700 ? least_ns : 700, false);
        status = rdt_rows_add(&rows, &row, &err);
    }
    if (!status) status = rdt_exchange_write_json(&rows, &data, &bytes, &err);
    FILE *out = status ? NULL : fopen(file, "w");
    if (out) fwrite(data, 1, bytes, out);
    if (out) fclose(out);
    free(data);
    rdt_rows_free(&rows);
    return status;
}

/* A new database with claims of the configs for count problems from the first on, imported. */
static redtune_status import_claims(name_fn *name, int first, int count) {
    const char *const files[] = {file};
    const redtune_importing importing = {.database = database, .files = files, .file_count = 1};
    redtune_import_report report = {.added = 0};
    unlink(database);
    redtune_status status = write_file(name, first, count);
    if (!status) status = redtune_import(&importing, &report, &err);
    if (!status && report.added != (uint64_t)count)
        status = rdt_fail(&err, REDTUNE_WRONG, 0, "%d of %d rows were imported", (int)report.added,
                          count);
    return status;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* What redtune tells while it verifies. */
typedef struct listener {
    int verified, out, unverified;
} listener;

static void listen(void *user, redtune_log_level level, const char *line) {
    listener *self = user;
    (void)level;
    self->verified += strstr(line, "verified block=") != NULL;
    self->out += strstr(line, " is out, as an import had it") != NULL;
    self->unverified += strstr(line, "could not be verified") != NULL;
}

typedef struct program {
    redtune *rt;
    redtune_options options;
    listener heard;
} program;

static redtune_status start(program *self, const redtune_options *options) {
    self->heard = (listener){0};
    self->options = *options;
    if (!self->options.database) self->options.database = database;
    /* The simulator is slow. */
    if (self->options.verify_s == 0 && is_simulated()) self->options.verify_s = 60;
    self->options.log = listen;
    self->options.log_user = &self->heard;
    self->options.log_level = REDTUNE_LOG_INFO;
    return redtune_open(&self->options, &self->rt, &err);
}

static float run(redtune_plan *plan, uint64_t count) {
    float value = -1;
    if (redtune_plan_run(plan, (void *)(uintptr_t)ones.address, count,
                         (void *)(uintptr_t)result.address, stream, &err) ||
        rdt_buffer_read(context->driver, &value, result.address, sizeof value, stream, &err))
        return -2;
    return value;
}

/* What a call takes, by the GPU's clock. */
static double time_ns(redtune_plan *plan, uint64_t count) {
    const int calls = is_simulated() ? 4 : 400;
    rdt_timer timer;
    double elapsed_ns = -1;
    if (rdt_timer_create(context->driver, &timer, &err)) return -1;
    run(plan, count);
    rdt_timer_start(&timer, stream, &err);
    for (int i = 0; i < calls; i++)
        redtune_plan_run(plan, (void *)(uintptr_t)ones.address, count,
                         (void *)(uintptr_t)result.address, stream, &err);
    rdt_timer_stop(&timer, stream, &err);
    if (rdt_timer_read(&timer, &elapsed_ns, &err)) elapsed_ns = -1;
    rdt_timer_destroy(&timer);
    return elapsed_ns / calls;
}

/* What one plan does. */
typedef struct outcome {
    float sum;
    double ns;
    double made_ms; /* how long the plan took to be made */
    redtune_info info;
} outcome;

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static redtune_status try_plan(program *self, uint64_t count, outcome *out) {
    redtune_plan *plan = NULL;
    const redtune_problem problem = sum_of(count);
    double before = now_ms();
    redtune_status status = redtune_plan_create(self->rt, &problem, &plan, &err);
    if (status) return status;
    out->made_ms = now_ms() - before;
    out->sum = run(plan, count);
    out->ns = time_ns(plan, count);
    redtune_plan_info(plan, &out->info);
    redtune_plan_destroy(plan);
    return REDTUNE_OK;
}

/* The same for each problem from a program with these options. */
static redtune_status try_all(const redtune_options *options, outcome out[PROBLEMS],
                              listener *heard) {
    program program = {.rt = NULL};
    redtune_status status = start(&program, options);
    for (int i = 0; !status && i < PROBLEMS; i++) status = try_plan(&program, count_of(i), &out[i]);
    redtune_close(program.rt);
    *heard = program.heard;
    return status;
}

static redtune_status try_one(const redtune_options *options, uint64_t count, outcome *out,
                              listener *heard) {
    program program = {.rt = NULL};
    redtune_status status = start(&program, options);
    if (!status) status = try_plan(&program, count, out);
    redtune_close(program.rt);
    *heard = program.heard;
    return status;
}

static const redtune_options usual = {.database = NULL}, trusting = {.trust = REDTUNE_TRUST_ALL},
                             alone = {.trust = REDTUNE_TRUST_NONE};

typedef struct tally {
    const char *outcome;
    int received, own;
} tally;

static redtune_status count_row(void *user, const redtune_row *row, redtune_error *ignored) {
    tally *self = user;
    (void)ignored;
    if (strcmp(row->outcome, self->outcome)) return REDTUNE_OK;
    self->received += row->received;
    self->own += !row->received && !row->is_default;
    return REDTUNE_OK;
}

/* Rows of the database that ended so. */
static tally rows_that(const char *ended) {
    const redtune_rows_query query = {.database = database};
    tally found = {.outcome = ended};
    redtune_rows_each(&query, count_row, &found, &err);
    return found;
}

/* ---- wrong and slow winners ------------------------------------------------------------------ */

static void wrong_winners_are_out_at_first_use(void) {
    outcome believed[PROBLEMS], verified[PROBLEMS], again[PROBLEMS];
    listener heard;
    CHECK_OK(import_claims(name_wrong, 0, PROBLEMS), err);
    CHECK_OK(try_all(&trusting, believed, &heard), err);
    for (int i = 0; i < PROBLEMS; i++) {
        CHECK(believed[i].sum != (float)count_of(i));
        CHECK(believed[i].info.match == REDTUNE_MATCH_EXACT && believed[i].info.received);
    }
    CHECK_INT(heard.verified + heard.out, 0);
    CHECK_OK(try_all(&usual, verified, &heard), err);
    for (int i = 0; i < PROBLEMS; i++) {
        CHECK(verified[i].sum == (float)count_of(i));
        CHECK(!strstr(verified[i].info.config, "block=32,vec=2") && !verified[i].info.received);
    }
    CHECK_INT(heard.out, PROBLEMS);
    CHECK_INT(rows_that("wrong").own, PROBLEMS);
    CHECK_INT(rows_that("good").received, PROBLEMS); /* nothing is deleted */
    CHECK_OK(try_all(&usual, again, &heard), err);
    CHECK_INT(heard.out + heard.verified + heard.unverified, 0);
    for (int i = 0; i < PROBLEMS; i++) CHECK_TEXT(again[i].info.config, verified[i].info.config);
}

static void slow_winners_cost_nothing_once_verified(void) {
    outcome believed[PROBLEMS], verified[PROBLEMS], standard[PROBLEMS];
    listener heard;
    double worst = 0, least = 1e9, slowest_ms = 0;
    CHECK_OK(import_claims(name_slow, 0, PROBLEMS), err);
    CHECK_OK(try_all(&trusting, believed, &heard), err);
    CHECK_OK(try_all(&alone, standard, &heard), err);
    CHECK_OK(try_all(&usual, verified, &heard), err);
    CHECK_INT(heard.out, 0);
    for (int i = 0; i < PROBLEMS; i++) {
        CHECK_INT(standard[i].info.match, REDTUNE_MATCH_DEFAULT);
        double before = believed[i].ns / standard[i].ns, now = verified[i].ns / standard[i].ns;
        /* The clock of a real GPU's is not that good. */
        if (!is_simulated() && !strcmp(verified[i].info.config, standard[i].info.config)) now = 1;
        if (before < least) least = before;
        if (now > worst) worst = now;
        if (verified[i].made_ms > slowest_ms) slowest_ms = verified[i].made_ms;
        CHECK(verified[i].sum == (float)count_of(i));
    }
    printf("believed at least %.2f times the default's time, verified %.3f at most; the slowest "
           "plan took %.0f ms\n",
           least, worst, slowest_ms);
    CHECK(least > 1.05);
    CHECK(worst <= 1.05);
    CHECK(rows_that("good").own + rows_that("hung").own >= PROBLEMS);
}

/* ---- what else must hold --------------------------------------------------------------------- */

static void trusting_none_leaves_them_aside(void) {
    outcome one;
    listener heard;
    CHECK_OK(import_claims(name_wrong, 0, 1), err);
    CHECK_OK(try_one(&alone, STEP, &one, &heard), err);
    CHECK_INT(one.info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(heard.out + heard.verified, 0);
    setenv("REDTUNE_TRUST", "none", 1);
    redtune_status status = try_one(&trusting, STEP, &one, &heard);
    setenv("REDTUNE_TRUST", "some", 1);
    program program = {.rt = NULL};
    redtune_error refused;
    redtune_status other = start(&program, &usual);
    refused = err;
    unsetenv("REDTUNE_TRUST");
    CHECK_OK(status, err);
    CHECK_INT(one.info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(other, REDTUNE_INVALID);
    CHECK_CONTAINS(refused.message, "REDTUNE_TRUST=some");
}

/* The claim is of another count: it is verified there. */
static void the_nearest_size_is_verified_at_its_own(void) {
    outcome one;
    listener heard;
    CHECK_OK(import_claims(name_wrong, 0, 1), err);
    CHECK_OK(try_one(&usual, STEP - 100, &one, &heard), err);
    CHECK_INT(heard.out, 1);
    CHECK(one.sum == STEP - 100);
    CHECK_INT(one.info.match, REDTUNE_MATCH_SIZE);
    CHECK_INT(one.info.tuned_count, STEP);
}

static void a_database_that_takes_nothing_is_no_obstacle(void) {
    outcome one[2];
    char list[256];
    program program = {.rt = NULL};
    CHECK_OK(import_claims(name_wrong, 0, 1), err);
    snprintf(list, sizeof list, "/proc/nowhere/tuning.db:%s", database);
    const redtune_options options = {.database = list};
    redtune_status status = start(&program, &options);
    for (int i = 0; !status && i < 2; i++) status = try_plan(&program, STEP, &one[i]);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK_INT(program.heard.out, 1);
    CHECK(one[0].sum == STEP && one[1].sum == STEP);
    CHECK_INT(rows_that("wrong").own, 0);
}

static void without_time_the_default_serves(void) {
    outcome one;
    listener heard;
    const redtune_options hasty = {.verify_s = 1e-6};
    CHECK_OK(import_claims(name_slow, 7, 1), err);
    CHECK_OK(try_one(&hasty, count_of(7), &one, &heard), err);
    CHECK_INT(heard.unverified, 1);
    CHECK_INT(one.info.match, REDTUNE_MATCH_DEFAULT);
    CHECK(one.sum == (float)count_of(7));
    /* It is only put off. */
    CHECK_OK(try_one(&usual, count_of(7), &one, &heard), err);
    CHECK_INT(one.info.match, REDTUNE_MATCH_EXACT);
    CHECK(heard.verified > 0);
}

/* One warp for 32 MiB would take forever; no plan waits for that. */
static void what_is_hopeless_is_not_tried(void) {
    const uint64_t count = UINT64_C(1) << 23;
    redtune_plan *plan = NULL;
    redtune_info info = {.match = REDTUNE_MATCH_EXACT};
    program program = {.rt = NULL};
    const redtune_problem problem = sum_of(count);
    CHECK_OK(import_claims(name_slow, (int)(count / STEP) - 1, 1), err);
    redtune_status status = start(&program, &trusting);
    if (!status) status = redtune_plan_create(program.rt, &problem, &plan, &err);
    if (!status) redtune_plan_info(plan, &info);
    redtune_plan_destroy(plan);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK(info.received && strstr(info.config, "finish=single"));
    plan = NULL;
    program.rt = NULL;
    status = start(&program, &usual);
    double before = now_ms();
    if (!status) status = redtune_plan_create(program.rt, &problem, &plan, &err);
    double took_ms = now_ms() - before;
    if (!status) redtune_plan_info(plan, &info);
    redtune_plan_destroy(plan);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK_INT(info.match, REDTUNE_MATCH_DEFAULT);
    CHECK_INT(program.heard.verified + program.heard.out + program.heard.unverified, 0);
    CHECK(took_ms < 5000);
}

/* Takes so much memory that verifying sums of more than so many elements does not fit. */
static redtune_status leave_room_for(uint64_t count, rdt_buffer *taken) {
    const redtune_problem problem = {REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, count};
    uint64_t quarter = 1 << 20, free_bytes = 0;
    while (rdt_rig_count_within(&context->facts, quarter, &problem) < count) quarter += 1 << 12;
    redtune_status status = rdt_rig_free_bytes(context, &free_bytes, &err);
    return status ? status
                  : rdt_buffer_create(context->driver, free_bytes - 4 * quarter, taken, &err);
}

/* Verified at the largest power of two that fits, and chosen from there; once. */
static void what_does_not_fit_is_verified_at_less(void) {
    if (!is_simulated()) SKIP("the driver takes memory as it likes");
    outcome one[2];
    listener heard[2];
    rdt_buffer taken = {NULL};
    char config[RDT_CONFIG_TEXT_BYTES];
    program program = {.rt = NULL};
    name_wrong(0, config);
    CHECK_OK(import_claims(name_wrong, 15, 1), err); /* of 8192 */
    redtune_status status = start(&program, &usual);
    /* What plans and streams share is there from then on. */
    for (int i = 0; !status && i < 3; i++) status = try_plan(&program, 64, &one[0]);
    if (!status) status = leave_room_for(6000, &taken);
    if (!status) status = try_plan(&program, 8192, &one[0]);
    heard[0] = program.heard;
    if (!status) status = try_plan(&program, 8192, &one[1]);
    rdt_buffer_destroy(&taken);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK_INT(heard[0].out, 1);
    CHECK_INT(program.heard.out, 1);
    CHECK_INT(program.heard.unverified, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(one[i].sum == 8192);
        CHECK_INT(one[i].info.match, REDTUNE_MATCH_SIZE);
        CHECK_INT(one[i].info.tuned_count, 4096);
    }
}

static void in_the_background_the_default_serves_meanwhile(void) {
    program program = {.rt = NULL};
    redtune_plan *plan = NULL;
    redtune_info info;
    const redtune_options options = {.background = 1};
    const redtune_problem problem = sum_of(STEP);
    CHECK_OK(import_claims(name_wrong, 0, 1), err);
    CHECK_OK(start(&program, &options), err);
    redtune_status status = redtune_plan_create(program.rt, &problem, &plan, &err);
    redtune_plan_info(plan, &info);
    bool pending = info.pending != 0, right = run(plan, STEP) == STEP;
    for (int waited = 0; info.pending && waited < 600; waited++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        redtune_plan_info(plan, &info);
    }
    right &= run(plan, STEP) == STEP;
    redtune_plan_destroy(plan);
    redtune_close(program.rt);
    CHECK_OK(status, err);
    CHECK(pending && right);
    CHECK_INT(info.pending, 0);
    CHECK_INT(program.heard.out, 1);
    CHECK_INT(info.match, REDTUNE_MATCH_EXACT);
}

static void explain_says_what_will_be_verified(void) {
    redtune_explanation found;
    outcome one;
    listener heard;
    const redtune_question question = {
        .database = database, .device = "0", .problem = sum_of(STEP)};
    CHECK_OK(import_claims(name_wrong, 0, 1), err);
    CHECK_OK(redtune_explain(&question, &found, &err), err);
    CHECK(found.received && found.to_verify);
    CHECK_CONTAINS(found.info.config, "block=32,vec=2");
    CHECK(found.driver_differs);
    CHECK_OK(try_one(&usual, STEP, &one, &heard), err);
    CHECK_OK(redtune_explain(&question, &found, &err), err);
    CHECK(!found.received && !found.to_verify);
    CHECK_TEXT(found.info.config, one.info.config);
    CHECK(!found.driver_differs);
}

/* Whatever call of the driver fails while a claim is verified: what serves is right, nothing is
 * left behind, and the next program verifies it. */
static void a_failing_driver_lets_nothing_wrong_serve(void) {
    static const char *const entries[] = {
        "cuMemAlloc_v2",
        "cuStreamCreate",
        "cuEventCreate",
        "cuGraphLaunch",
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync_v2",
        "cuEventRecord",
        "cuModuleLoadData",
        "cuMemsetD8Async",
        "cuStreamBeginCapture_v2",
        "cuGraphInstantiateWithFlags",
    };
    simulator sim;
    int made = 0, failed = 0, unverified = 0;
    if (!simulator_find(&sim)) SKIP("there is no simulated GPU");
    for (size_t i = 0; i < 2 * (sizeof entries / sizeof *entries); i++) {
        const char *entry = entries[i / 2];
        program program = {.rt = NULL};
        redtune_plan *plan = NULL;
        const redtune_problem problem = sum_of(STEP);
        char rule[128];
        uint64_t before = 0, after = 0;
        CHECK_OK(import_claims(name_wrong, 0, 1), err);
        rdt_rig_free_bytes(context, &before, &err);
        CHECK_OK(start(&program, &usual), err);
        snprintf(rule, sizeof rule, "%s:%llu:CUDA_ERROR_OUT_OF_MEMORY", entry,
                 (unsigned long long)(sim.calls(entry) + (i % 2 ? 4 : 1)));
        sim.set("REDTUNE_SIM_FAIL", rule);
        redtune_status status = redtune_plan_create(program.rt, &problem, &plan, &err);
        sim.set("REDTUNE_SIM_FAIL", NULL);
        bool right = status || run(plan, STEP) == STEP;
        made += !status;
        failed += status != 0;
        unverified += program.heard.unverified;
        redtune_plan_destroy(plan);
        redtune_close(program.rt);
        rdt_rig_free_bytes(context, &after, &err);
        if (!right || before != after) fprintf(stderr, "with %s\n", rule);
        CHECK(right);
        CHECK_INT(after, before);
    }
    printf("%d plans were made and %d not; %d did without verifying\n", made, failed, unverified);
    CHECK(made > failed && unverified > 0);
    outcome one;
    listener heard;
    CHECK_OK(import_claims(name_wrong, 0, 1), err);
    CHECK_OK(try_one(&usual, STEP, &one, &heard), err);
    CHECK_INT(heard.out, 1);
}

static void a_fault_in_a_worker_costs_only_the_worker(void) {
    outcome one;
    listener heard;
    const redtune_options apart = {.worker = command};
    CHECK_OK(import_claims(name_fault, 1, 1), err);
    CHECK_OK(try_one(&apart, count_of(1), &one, &heard), err);
    CHECK(one.sum == (float)count_of(1));
    CHECK_INT(heard.out, 1);
    CHECK_INT(rows_that("faulted").own, 1);
}

/* The last fact: the context is of no use afterwards. */
static void a_fault_here_is_not_met_again(void) {
    outcome one;
    listener heard;
    CHECK_OK(import_claims(name_fault, 1, 1), err);
    CHECK_INT(try_one(&usual, count_of(1), &one, &heard), REDTUNE_DEVICE);
    CHECK_INT(rows_that("faulted").own, 1);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(path);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(wrong_winners_are_out_at_first_use),
        FACT(slow_winners_cost_nothing_once_verified),
        FACT(trusting_none_leaves_them_aside),
        FACT(the_nearest_size_is_verified_at_its_own),
        FACT(a_database_that_takes_nothing_is_no_obstacle),
        FACT(without_time_the_default_serves),
        FACT(what_is_hopeless_is_not_tried),
        FACT(what_does_not_fit_is_verified_at_less),
        FACT(in_the_background_the_default_serves_meanwhile),
        FACT(explain_says_what_will_be_verified),
        FACT(a_failing_driver_lets_nothing_wrong_serve),
        FACT(a_fault_in_a_worker_costs_only_the_worker),
        FACT(a_fault_here_is_not_met_again),
    };
    snprintf(folder, sizeof folder, "/tmp/redtune-test-XXXXXX");
    if (argc < 2 || !mkdtemp(folder)) return EXIT_FAILURE;
    command = argv[1];
    snprintf(database, sizeof database, "%s/tuning.db", folder);
    snprintf(file, sizeof file, "%s/claims.jsonl", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    if (!plant() || open_device()) {
        fprintf(stderr, "cannot prepare: %s\n", err.message);
        return EXIT_FAILURE;
    }
    int rc = check_run(facts, sizeof facts / sizeof *facts, argc - 1, argv + 1);
    close_device();
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return rc;
}
