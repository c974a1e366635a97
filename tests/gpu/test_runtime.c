/* Facts about redtune.h on a GPU: scratch of streams and of the caller's, preparing, pinning,
 * compiling in the background, and what is left behind. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cache/tuning.h"
#include "gpu/graph.h"
#include "ones.h"
#include "simulator.h"

static char folder[64]; /* of this run: databases and kernel caches */

static redtune_status open_usual(redtune **rt) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    return redtune_open(&options, rt, &err);
}

static redtune_status open_and_plan(redtune **rt, const redtune_problem *problem,
                                    redtune_plan **plan) {
    redtune_status status = open_usual(rt);
    return status ? status : redtune_plan_create(*rt, problem, plan, &err);
}

/* ---- scratch ------------------------------------------------------------------------------- */

static size_t free_bytes(void) {
    size_t free = 0, total = 0;
    gpu.driver->mem_get_info(&free, &total);
    return free;
}

static size_t count_distinct(const CUstream *handles, size_t count) {
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < i && handles[k] != handles[i]) k++;
        distinct += k == i;
    }
    return distinct;
}

/* A new stream may have the handle of one that was destroyed with work in it. Scratch is for so
 * many streams as there are handles, and for those that wait to be freed. */
static void streams_come_and_go(void) {
    NEED_GPU();
    enum { STREAMS = 200, WAITING_MAX = 20 };
    CUstream handles[STREAMS];
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(COUNT);
    CHECK_OK(open_and_plan(&rt, &problem, &plan), err);
    size_t before = free_bytes();
    for (size_t i = 0; i < STREAMS; i++) {
        CUstream stream = NULL;
        CHECK_OK(rdt_stream_create(gpu.driver, &stream, &err), err);
        for (size_t k = 0; k < 3; k++)
            CHECK_OK(redtune_plan_run(plan, input(), COUNT - i, output(i), stream, &err), err);
        handles[i] = stream;
        rdt_stream_destroy(gpu.driver, stream);
    }
    size_t slabs_max = count_distinct(handles, STREAMS) + WAITING_MAX;
    /* A GPU's driver takes memory for new streams, too. */
    size_t slack = device_is_simulated(&gpu) ? 0 : (size_t)64 << 20;
    CHECK(before <= free_bytes() + slabs_max * redtune_workspace_bytes() + slack);
    for (size_t i = 0; i < STREAMS; i++) CHECK(result(i) == (float)(COUNT - i));
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

static void workspace_of_the_callers_serves_any_plan(void) {
    NEED_GPU();
    redtune *rt = NULL;
    redtune_plan *plans[2] = {NULL};
    redtune_problem problems[2] = {sum_of(COUNT), sum_of(900)};
    rdt_buffer memory = {NULL};
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, redtune_workspace_bytes(), &memory, &err), err);
    CHECK(!gpu.driver->memset_d8_async(memory.address, 0xff, memory.bytes, gpu.stream));
    for (int own = 0; own < 2; own++) {
        redtune_workspace *workspace = NULL;
        void *at = own ? NULL : (void *)(uintptr_t)memory.address;
        CHECK_OK(redtune_workspace_create(rt, at, memory.bytes, gpu.stream, &workspace, &err), err);
        for (int i = 0; i < 2; i++)
            CHECK_OK(redtune_plan_create(rt, &problems[i], &plans[i], &err), err);
        for (int i = 0; i < 20; i++) {
            uint64_t count = i % 2 ? 900 : COUNT - (uint64_t)i;
            CHECK_OK(redtune_plan_run_in(plans[i % 2], workspace, input(), count, output(0),
                                         gpu.stream, &err),
                     err);
            CHECK(result(0) == (float)count);
        }
        for (int i = 0; i < 2; i++) redtune_plan_destroy(plans[i]);
        redtune_workspace_destroy(workspace);
    }
    rdt_buffer_destroy(&memory);
    redtune_close(rt);
}

static void workspace_is_refused_where_it_cannot_serve(void) {
    NEED_GPU();
    redtune *rt = NULL, *other = NULL;
    redtune_plan *plan = NULL;
    redtune_workspace *workspace = NULL, *none = NULL;
    redtune_problem problem = sum_of(900);
    size_t bytes = redtune_workspace_bytes();
    char *memory = input();
    CHECK_OK(open_and_plan(&rt, &problem, &plan), err);
    CHECK_OK(open_usual(&other), err);
    CHECK_FAILS(redtune_workspace_create(rt, memory, bytes - 1, NULL, &none, &err), REDTUNE_INVALID,
                err, "redtune_workspace_bytes");
    CHECK_FAILS(redtune_workspace_create(rt, memory + 4, bytes, NULL, &none, &err), REDTUNE_INVALID,
                err, "aligned to 256");
    CHECK_FAILS(redtune_workspace_create(NULL, memory, bytes, NULL, &none, &err), REDTUNE_INVALID,
                err, "rt is NULL");
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_FAILS(redtune_workspace_create(rt, NULL, 0, gpu.stream, &none, &err), REDTUNE_INVALID,
                err, "while its stream is captured");
    rdt_graph_abandon(gpu.driver, gpu.stream);
    CHECK(!none);
    CHECK_OK(redtune_workspace_create(other, NULL, 0, gpu.stream, &workspace, &err), err);
    CHECK_FAILS(redtune_plan_run_in(plan, workspace, input(), 9, output(0), NULL, &err),
                REDTUNE_INVALID, err, "another redtune");
    CHECK_FAILS(redtune_plan_run_in(plan, NULL, input(), 9, output(0), NULL, &err), REDTUNE_INVALID,
                err, "NULL");
    redtune_workspace_destroy(workspace);
    redtune_plan_destroy(plan);
    redtune_close(other);
    redtune_close(rt);
}

/* ---- the table of plans -------------------------------------------------------------------- */

static void prepared_problems_are_reduced_within_a_capture(void) {
    NEED_GPU();
    enum { PROBLEMS = 9 };
    redtune *rt = NULL;
    rdt_graph *graph = NULL;
    redtune_problem problems[PROBLEMS];
    for (size_t i = 0; i < PROBLEMS; i++) problems[i] = sum_of(UINT64_C(3) << (2 * i));
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_prepare(rt, problems, PROBLEMS, &err), err);
    CHECK_OK(redtune_prepare(rt, NULL, 0, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    for (size_t i = 0; i < PROBLEMS; i++) {
        redtune_problem problem = problems[i];
        if (i % 2) problem.result = REDTUNE_F32; /* the usual one, by its name */
        CHECK_OK(redtune_reduce(rt, &problem, input(), output(i), gpu.stream, &err), err);
    }
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
    for (size_t i = 0; i < PROBLEMS; i++) CHECK(result(i) == (float)problems[i].count);
    rdt_graph_destroy(graph);
    redtune_close(rt);
}

static void preparing_does_what_it_can_and_tells_the_first_failure(void) {
    NEED_GPU();
    redtune *rt = NULL;
    redtune_problem problems[] = {sum_of(100), sum_of(70000), sum_of(1), sum_of(2)};
    problems[1].dtype = (redtune_dtype)77;
    problems[2].op = (redtune_op)66;
    CHECK_OK(open_usual(&rt), err);
    CHECK_FAILS(redtune_prepare(rt, problems, 4, &err), REDTUNE_INVALID, err, "77");
    CHECK_FAILS(redtune_prepare(NULL, problems, 4, &err), REDTUNE_INVALID, err, "rt is NULL");
    CHECK_FAILS(redtune_prepare(rt, NULL, 1, &err), REDTUNE_INVALID, err, "problems is NULL");
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_reduce(rt, &problems[3], input(), output(0), gpu.stream, &err), err);
    rdt_graph_abandon(gpu.driver, gpu.stream);
    redtune_close(rt);
}

static void reduce_keeps_results_of_different_dtypes_apart(void) {
    NEED_GPU();
    redtune *rt = NULL;
    redtune_problem narrow = sum_of(1000), wide = sum_of(1000);
    double sum = 0;
    wide.result = REDTUNE_F64;
    CHECK_OK(open_usual(&rt), err);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(redtune_reduce(rt, &narrow, input(), output(0), gpu.stream, &err), err);
        CHECK(result(0) == 1000);
        CHECK_OK(redtune_reduce(rt, &wide, input(), output(2), gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_read(gpu.driver, &sum, results.address + 2 * sizeof(float), sizeof sum,
                                 gpu.stream, &err),
                 err);
        CHECK(sum == 1000);
    }
    redtune_close(rt);
}

/* ---- pinning ------------------------------------------------------------------------------- */

static void config_of_a_plan_can_be_asked_for_again(void) {
    NEED_GPU();
    redtune *rt = NULL;
    redtune_plan *plan = NULL, *again = NULL;
    redtune_info info;
    char text[320];
    redtune_problem problem = sum_of(COUNT);
    problem.config = "block=128,finish=ticket";
    CHECK_OK(open_and_plan(&rt, &problem, &plan), err);
    snprintf(text, sizeof text, "%s", redtune_plan_config(plan));
    CHECK_CONTAINS(text, "block:block=128,");
    CHECK_CONTAINS(text, "finish=ticket");
    redtune_plan_info(plan, &info);
    CHECK_INT(info.match, REDTUNE_MATCH_PINNED);
    CHECK(!info.problem.config);
    problem.config = text;
    CHECK_OK(redtune_plan_create(rt, &problem, &again, &err), err);
    CHECK_TEXT(redtune_plan_config(again), redtune_plan_config(plan));
    CHECK_OK(redtune_plan_run(again, input(), COUNT, output(0), gpu.stream, &err), err);
    CHECK(result(0) == COUNT);
    redtune_plan_destroy(plan);
    redtune_plan_destroy(again);
    redtune_close(rt);
}

static void config_that_does_not_apply_is_refused(void) {
    NEED_GPU();
    static const struct {
        const char *config, *told;
        redtune_status status;
    } wrong[] = {
        {"block=77", "block=77", REDTUNE_INVALID},        {"nothing=1", "nothing", REDTUNE_INVALID},
        {"nowhere:block=64", "nowhere", REDTUNE_INVALID}, {"block", "name=value", REDTUNE_INVALID},
        {"vec=16", "16 at most", REDTUNE_UNSUPPORTED}, /* elements of 4 bytes */
    };
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(COUNT);
    CHECK_OK(open_usual(&rt), err);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        problem.config = wrong[i].config;
        CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), wrong[i].status, err,
                    wrong[i].told);
    }
    CHECK(!plan);
    problem.config = "block=128";
    CHECK_FAILS(redtune_reduce(rt, &problem, input(), output(0), gpu.stream, &err), REDTUNE_INVALID,
                err, "create a plan");
    redtune_close(rt);
}

static void variable_pins_every_plan(void) {
    NEED_GPU();
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(COUNT);
    problem.config = "block=512";
    setenv("REDTUNE_CONFIG", "block=64,finish=two_pass", 1);
    redtune_status status = open_and_plan(&rt, &problem, &plan);
    unsetenv("REDTUNE_CONFIG");
    CHECK_OK(status, err);
    CHECK_CONTAINS(redtune_plan_config(plan), "block=64,");
    CHECK_CONTAINS(redtune_plan_config(plan), "two_pass");
    redtune_plan_destroy(plan);
    redtune_close(rt);
    setenv("REDTUNE_CONFIG", "vec=16", 1);
    status = open_usual(&rt);
    unsetenv("REDTUNE_CONFIG");
    CHECK_OK(status, err);
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_UNSUPPORTED, err,
                "REDTUNE_CONFIG=vec=16");
    redtune_close(rt);
}

/* ---- the log ------------------------------------------------------------------------------- */

typedef struct listener {
    char text[8192];
    redtune_log_level highest;
} listener;

static void listen(void *user, redtune_log_level level, const char *line) {
    listener *self = user;
    size_t used = strlen(self->text);
    snprintf(self->text + used, sizeof self->text - used, "%s\n", line);
    if (level > self->highest) self->highest = level;
}

static void variable_raises_the_level_of_the_log(void) {
    NEED_GPU();
    redtune *rt = NULL;
    listener quiet = {.text = ""}, loud = {.text = ""};
    redtune_options options = {.database = "/nowhere/at/all.db", .log = listen, .log_user = &quiet};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    redtune_close(rt);
    CHECK_TEXT(quiet.text, "");
    options.log_user = &loud;
    setenv("REDTUNE_LOG", "debug", 1);
    redtune_status status = redtune_open(&options, &rt, &err);
    setenv("REDTUNE_LOG", "loudly", 1);
    redtune *none = NULL;
    redtune_status refused = redtune_open(&options, &none, &err);
    unsetenv("REDTUNE_LOG");
    CHECK_OK(status, err);
    redtune_close(rt);
    CHECK_CONTAINS(loud.text, "opened on");
    CHECK_INT(refused, REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, "REDTUNE_LOG=loudly");
    CHECK(!none);
}

/* ---- cold and warm ------------------------------------------------------------------------- */

/* Gives the kernel cache a folder of its own. */
static void use_cache(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    setenv("XDG_CACHE_HOME", path, 1);
}

static redtune_status plan_with(const char *database, listener *heard,
                                const redtune_problem *problem, char config[320]) {
    const redtune_options options = {
        .database = database, .log = listen, .log_user = heard, .log_level = REDTUNE_LOG_DEBUG};
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_plan_create(rt, problem, &plan, &err);
    if (!status) snprintf(config, 320, "%s", redtune_plan_config(plan));
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return status;
}

static redtune_status plan_heard(listener *heard, const redtune_problem *problem,
                                 char config[320]) {
    return plan_with("/nowhere/at/all.db", heard, problem, config);
}

static void warm_start_needs_neither_lua_nor_nvrtc(void) {
    NEED_GPU();
    listener cold = {.text = ""}, warm = {.text = ""}, other = {.text = ""};
    char first[320], second[320];
    redtune_problem problem = sum_of(COUNT), changed = sum_of(COUNT);
    changed.config = "block=64";
    use_cache("warm");
    CHECK_OK(plan_heard(&cold, &problem, first), err);
    CHECK_OK(plan_heard(&warm, &problem, second), err);
    CHECK_CONTAINS(cold.text, "starting Lua");
    CHECK_CONTAINS(cold.text, "loading NVRTC");
    CHECK_CONTAINS(warm.text, "plan for sum");
    CHECK(!strstr(warm.text, "Lua") && !strstr(warm.text, "NVRTC"));
    CHECK_TEXT(second, first);
    CHECK_OK(plan_heard(&other, &changed, second), err);
    CHECK_CONTAINS(other.text, "starting Lua");
}

/* Copies the templates with another comment in the kernel. */
static int copy_templates(const char *to) {
    char command[8192];
    const char *from = getenv("REDTUNE_TEST_TEMPLATES");
    snprintf(command, sizeof command,
             "cp -r '%s' '%s' && echo '// changed' >> '%s/block/kernel.cu'",
             from ? from : RDT_TEST_TEMPLATES, to, to);
    return system(command);
}

static void changed_templates_are_never_passed_over(void) {
    NEED_GPU();
    listener before = {.text = ""}, copied = {.text = ""}, again = {.text = ""},
             changed = {.text = ""};
    char config[320], templates[128], file[160];
    redtune_problem problem = sum_of(COUNT);
    snprintf(templates, sizeof templates, "%s/templates", folder);
    snprintf(file, sizeof file, "%s/block/kernel.cu", templates);
    CHECK(!copy_templates(templates));
    use_cache("templates");
    CHECK_OK(plan_heard(&before, &problem, config), err);
    setenv("REDTUNE_TEMPLATES", templates, 1);
    redtune_status status = plan_heard(&copied, &problem, config);
    if (!status) status = plan_heard(&again, &problem, config);
    FILE *kernel = fopen(file, "a");
    if (kernel) fputs("// once more\n", kernel);
    if (kernel) fclose(kernel);
    if (!status) status = plan_heard(&changed, &problem, config);
    unsetenv("REDTUNE_TEMPLATES");
    CHECK_OK(status, err);
    CHECK_CONTAINS(copied.text, "making the kernel");
    CHECK(!strstr(again.text, "making the kernel"));
    CHECK_CONTAINS(changed.text, "making the kernel");
}

/* What was rendered while the templates changed is remembered for neither. */
static void templates_changed_meanwhile_leave_no_trace(void) {
    NEED_GPU();
    char templates[128], file[160], command[1024], config[320];
    listener then = {.text = ""}, after = {.text = ""};
    redtune *rt = NULL;
    redtune_plan *plan = NULL, *other = NULL;
    redtune_problem problem = sum_of(COUNT), later = sum_of(COUNT);
    later.config = "block=64";
    snprintf(templates, sizeof templates, "%s/edited", folder);
    snprintf(file, sizeof file, "%s/block/kernel.cu", templates);
    CHECK(!copy_templates(templates));
    use_cache("edited");
    setenv("REDTUNE_TEMPLATES", templates, 1);
    redtune_status status = open_and_plan(&rt, &problem, &plan);
    snprintf(command, sizeof command, "cp '%s' '%s.old' && echo '// edited' >> '%s'", file, file,
             file);
    bool edited = !system(command);
    if (!status) status = redtune_plan_create(rt, &later, &other, &err);
    if (!status) status = plan_heard(&then, &later, config);
    snprintf(command, sizeof command, "mv '%s.old' '%s'", file, file);
    edited = !system(command) && edited;
    redtune_plan_destroy(plan);
    redtune_plan_destroy(other);
    redtune_close(rt);
    if (!status) status = plan_heard(&after, &later, config);
    unsetenv("REDTUNE_TEMPLATES");
    CHECK_OK(status, err);
    CHECK(edited);
    CHECK_CONTAINS(then.text, "making the kernel");
    CHECK_CONTAINS(after.text, "making the kernel");
}

/* ---- in the background --------------------------------------------------------------------- */

/* A database whose winner for the problem is another config than the default. */
static redtune_status store_winner(const char *path, const redtune_problem *problem,
                                   double median_ns, int block) {
    rdt_tuning *tuning = NULL;
    rdt_trial trial = {.problem = *problem,
                       .family = "block",
                       .outcome = RDT_OUTCOME_GOOD,
                       .median_ns = median_ns,
                       .samples = 31};
    const rdt_origin origin = {.machine = "bench 7", .driver_version = 12345};
    snprintf(trial.config, sizeof trial.config,
             "block=%d,vec=2,unroll=2,load=no_allocate,tail=shuffle,finish=poll,per_sm=2", block);
    trial.problem.result = REDTUNE_F32;
    redtune_status status = rdt_tuning_open(path, &tuning, &err);
    if (!status) status = rdt_tuning_put(tuning, &gpu.context->facts, &origin, &trial, 1, &err);
    rdt_tuning_close(tuning);
    return status;
}

/* As if it had been written long ago: what was written a moment ago may change unseen. */
static void make_old(const char *path) {
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    utimensat(AT_FDCWD, path, times, 0);
}

/* A database that has not changed since need not be read; one that has is. */
static void changed_databases_are_never_passed_over(void) {
    NEED_GPU();
    char path[128], config[320];
    listener heard[4] = {{.text = ""}};
    redtune_problem problem = sum_of(COUNT);
    snprintf(path, sizeof path, "%s/changing.db", folder);
    use_cache("databases");
    CHECK_OK(store_winner(path, &problem, 1000, 128), err);
    CHECK_OK(plan_with(path, &heard[0], &problem, config), err);
    CHECK_CONTAINS(config, "block=128");
    make_old(path);
    for (int i = 1; i < 3; i++) CHECK_OK(plan_with(path, &heard[i], &problem, config), err);
    CHECK_CONTAINS(heard[1].text, "read 1 winners");
    CHECK(!strstr(heard[2].text, "winners") && !strstr(heard[2].text, "Lua"));
    CHECK_CONTAINS(config, "block=128");
    CHECK_OK(store_winner(path, &problem, 500, 64), err);
    make_old(path); /* the same time as before; what changed is another */
    CHECK_OK(plan_with(path, &heard[3], &problem, config), err);
    CHECK_CONTAINS(config, "block=64");
}

static void pause_ms(long ms) {
    const struct timespec pause = {.tv_nsec = ms * 1000000};
    nanosleep(&pause, NULL);
}

static void plan_runs_the_default_while_another_is_compiled(void) {
    NEED_GPU();
    enum { WAIT_MS = 60000, STEP_MS = 10 };
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_info info;
    char path[128], config[320];
    listener unheard = {.text = ""};
    redtune_problem problem = sum_of(COUNT);
    snprintf(path, sizeof path, "%s/winner.db", folder);
    use_cache("background");
    CHECK_OK(plan_heard(&unheard, &problem, config), err);
    CHECK_OK(store_winner(path, &problem, 1234, 128), err);
    const redtune_options options = {.database = path, .background = 1};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_OK(redtune_plan_run(plan, input(), COUNT, output(0), gpu.stream, &err), err);
    CHECK(result(0) == COUNT);
    redtune_plan_info(plan, &info);
    for (int waited = 0; info.pending && waited < WAIT_MS; waited += STEP_MS) {
        CHECK_INT(info.match, REDTUNE_MATCH_DEFAULT);
        pause_ms(STEP_MS);
        redtune_plan_info(plan, &info);
    }
    CHECK_INT(info.pending, 0);
    CHECK_INT(info.match, REDTUNE_MATCH_EXACT);
    CHECK_CONTAINS(info.config, "block=128,vec=2,");
    CHECK_TEXT(info.machine, "bench 7");
    CHECK_INT(info.driver_version, 12345);
    CHECK(info.tuned_ns == 1234 && info.date > 0);
    CHECK_OK(redtune_plan_run(plan, input(), COUNT - 1, output(0), gpu.stream, &err), err);
    CHECK(result(0) == COUNT - 1);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

/* ---- what is left -------------------------------------------------------------------------- */

/* Live objects that redtune makes: device memory and modules, streams, contexts held. */
typedef struct census {
    size_t memory_and_modules;
    uint64_t streams, contexts;
} census;

static census count_objects(const simulator *sim) {
    census now = {sim->check_leaks(), sim->calls("cuStreamCreate") - sim->calls("cuStreamDestroy"),
                  sim->calls("cuDevicePrimaryCtxRetain") - sim->calls("cuDevicePrimaryCtxRelease")};
    sim->clear_findings();
    return now;
}

static void use_and_close(const char *device) {
    redtune_problem problems[] = {sum_of(10), sum_of(5000), sum_of(COUNT)};
    const redtune_options options = {.database = "/nowhere/at/all.db", .device = device};
    redtune *rt = NULL;
    redtune_workspace *workspace = NULL;
    CUstream streams[4];
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    CHECK_OK(redtune_prepare(rt, problems, 3, &err), err);
    CHECK_OK(redtune_workspace_create(rt, NULL, 0, gpu.stream, &workspace, &err), err);
    for (int i = 0; i < 4; i++) {
        CHECK_OK(rdt_stream_create(gpu.driver, &streams[i], &err), err);
        CHECK_OK(redtune_reduce(rt, &problems[i % 3], input(), output(0), streams[i], &err), err);
        CHECK_OK(rdt_stream_wait(gpu.driver, streams[i], &err), err);
        rdt_stream_destroy(gpu.driver, streams[i]);
    }
    redtune_workspace_destroy(workspace);
    redtune_close(rt);
}

static void close_leaves_nothing(void) {
    NEED_GPU();
    simulator sim = {NULL};
    bool simulated = simulator_find(&sim);
    use_and_close(NULL); /* fills the driver's own pools, on a GPU */
    size_t before_bytes = free_bytes();
    census before = simulated ? count_objects(&sim) : (census){0}, after = before;
    for (int i = 0; i < 4; i++) {
        CUcontext current = NULL, left = NULL;
        gpu.driver->ctx_get_current(&current);
        use_and_close(i % 2 ? "0" : NULL);
        gpu.driver->ctx_get_current(&left);
        CHECK(left == current);
    }
    if (simulated) after = count_objects(&sim);
    CHECK_INT(after.memory_and_modules, before.memory_and_modules);
    CHECK_INT(after.streams, before.streams);
    CHECK_INT(after.contexts, before.contexts);
    CHECK(free_bytes() >= before_bytes);
}

/* ---- the run ------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(streams_come_and_go),
        FACT(workspace_of_the_callers_serves_any_plan),
        FACT(workspace_is_refused_where_it_cannot_serve),
        FACT(prepared_problems_are_reduced_within_a_capture),
        FACT(preparing_does_what_it_can_and_tells_the_first_failure),
        FACT(reduce_keeps_results_of_different_dtypes_apart),
        FACT(config_of_a_plan_can_be_asked_for_again),
        FACT(config_that_does_not_apply_is_refused),
        FACT(variable_pins_every_plan),
        FACT(variable_raises_the_level_of_the_log),
        FACT(warm_start_needs_neither_lua_nor_nvrtc),
        FACT(changed_templates_are_never_passed_over),
        FACT(templates_changed_meanwhile_leave_no_trace),
        FACT(changed_databases_are_never_passed_over),
        FACT(plan_runs_the_default_while_another_is_compiled),
        FACT(close_leaves_nothing),
    };
    snprintf(folder, sizeof folder, "/tmp/redtune-test-XXXXXX");
    if (!mkdtemp(folder)) return EXIT_FAILURE;
    ones_open();
    int rc = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    ones_close();
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return rc;
}
