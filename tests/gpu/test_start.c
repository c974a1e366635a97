/* Facts about how a program starts, as redtune's log tells them: what a warm start does without,
 * that it never passes over a change, and compiling in the background. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cache/tuning.h"
#include "folder.h"
#include "ones.h"
#include "shaped.h"

static const char nowhere[] = "/nowhere/at/all.db";
static char folder[64]; /* of this run: databases and kernel caches */

/* ---- the log --------------------------------------------------------------------------------- */

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

FACT(variable_raises_the_level_of_the_log) {
    redtune *rt = NULL;
    listener quiet = {.text = ""}, loud = {.text = ""};
    redtune_options options = {.database = nowhere, .log = listen, .log_user = &quiet};
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

/* ---- cold and warm --------------------------------------------------------------------------- */

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
    return plan_with(nowhere, heard, problem, config);
}

FACT(warm_start_needs_neither_lua_nor_nvrtc) {
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

FACT(changed_templates_are_never_passed_over) {
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

/* An instance that was opened without a folder, and made a plan while there was one, is given no
 * plan of that folder once it is gone. */
FACT(templates_of_a_folder_end_with_it) {
    char templates[128], config[320];
    listener without = {.text = ""}, within = {.text = ""};
    redtune *rt = NULL;
    redtune_plan *plan[3] = {NULL};
    redtune_problem problem = sum_of(COUNT), other = sum_of(COUNT);
    other.config = "block=64";
    snprintf(templates, sizeof templates, "%s/left", folder);
    CHECK(!copy_templates(templates));
    use_cache("left");
    const redtune_options options = {
        .database = nowhere, .log = listen, .log_user = &without, .log_level = REDTUNE_LOG_DEBUG};
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_plan_create(rt, &problem, &plan[0], &err);
    setenv("REDTUNE_TEMPLATES", templates, 1);
    if (!status) status = plan_heard(&within, &other, config);
    if (!status) status = redtune_plan_create(rt, &problem, &plan[1], &err);
    unsetenv("REDTUNE_TEMPLATES");
    without.text[0] = '\0';
    if (!status) status = redtune_plan_create(rt, &other, &plan[2], &err);
    for (int i = 0; i < 3; i++) redtune_plan_destroy(plan[i]);
    redtune_close(rt);
    CHECK_OK(status, err);
    CHECK_CONTAINS(within.text, "making the kernel");
    CHECK_CONTAINS(without.text, "making the kernel");
}

/* What was rendered while the templates changed is remembered for neither. */
FACT(templates_changed_meanwhile_leave_no_trace) {
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
    redtune_status status = redtune_open(&(redtune_options){.database = nowhere}, &rt, &err);
    if (!status) status = redtune_plan_create(rt, &problem, &plan, &err);
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

/* ---- in the background ----------------------------------------------------------------------- */

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
FACT(changed_databases_are_never_passed_over) {
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

FACT(plan_runs_the_default_while_another_is_compiled) {
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
    CHECK_OK(redtune_plan_reduce(plan, input(), COUNT, output(0), gpu.stream, &err), err);
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
    CHECK_OK(redtune_plan_reduce(plan, input(), COUNT - 1, output(0), gpu.stream, &err), err);
    CHECK(result(0) == COUNT - 1);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

/* Waits until the plan runs a kernel of its own; how it ended is for the caller to see. */
static void await_own(const redtune_plan *plan, redtune_info *info) {
    redtune_plan_info(plan, info);
    for (int waited = 0; info->pending && waited < 6000; waited++) {
        pause_ms(10);
        redtune_plan_info(plan, info);
    }
}

/* Numbers whose sum has other bits in another order. */
static redtune_status make_noise(rdt_buffer *out) {
    enum { BYTES = COUNT * sizeof(float) };
    float *host = malloc(BYTES);
    if (!host) return rdt_fail_memory(&err, BYTES);
    for (uint32_t i = 0; i < COUNT; i++) host[i] = 1 / (float)(1 + i * 2654435761u % 65521);
    redtune_status status = rdt_buffer_create(gpu.driver, BYTES, out, &err);
    if (!status) status = rdt_buffer_write(gpu.driver, out->address, host, BYTES, gpu.stream, &err);
    free(host);
    return status;
}

/* A plan's results and info while another kernel serves, and then by its own. */
typedef struct served_by {
    redtune_info info;
    float first, last; /* results */
} served_by;

static redtune_status run_twice(const redtune_problem *problem, const void *from, served_by by[2]) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    const redtune_options options = {.database = nowhere, .background = 1};
    redtune_operands operands = redtune_problem_operands(problem);
    operands.d_in[0] = from;
    operands.d_out[0] = output(0);
    const size_t last = rdt_problem_results(problem) - 1;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_plan_create(rt, problem, &plan, &err);
    for (int i = 0; !status && i < 2; i++) {
        if (i) await_own(plan, &by[i].info);
        /* What serves now may change until it is asked, but not what served before that. */
        if (!i) redtune_plan_info(plan, &by[i].info);
        status = redtune_plan_run(plan, &operands, gpu.stream, &err);
        by[i].first = result(0);
        by[i].last = result(last);
    }
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return status;
}

FACT(plan_runs_any_kernel_of_its_class_meanwhile) {
    static const struct {
        shaped cached, wanted; /* of one class */
        const char *part;      /* of the cached kernel's config alone */
    } cases[] = {
        {{.count = 1000, .config = "block:block=64,finish=single,per_sm=1"},
         {.count = COUNT},
         "block=64,"},
        {{.count = 100, .outer = 30, .config = "rows:block=64,lanes=8,unroll=1"},
         {.count = 1000, .outer = 300},
         "block=64,lanes=8,"},
        {{.count = 100, .inner = 30, .config = "columns:block=64,width=4,unroll=2"},
         {.count = 70, .inner = 4096},
         "block=64,width=4,"},
        {{.count = 1000,
          .config = "ordered:block=64,lanes=64,unroll=4",
          .order = REDTUNE_ORDER_FIXED},
         {.count = COUNT, .order = REDTUNE_ORDER_FIXED},
         "block=64,lanes=64,"},
    };
    rdt_buffer noise = {0};
    CHECK_OK(make_noise(&noise), err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        listener heard = {.text = ""};
        char config[320], cache[16];
        redtune_problem cached = shaped_problem(cases[i].cached);
        redtune_problem wanted = shaped_problem(cases[i].wanted);
        const bool fixed = wanted.order == REDTUNE_ORDER_FIXED;
        served_by by[2] = {{.first = -1}};
        cached.op = wanted.op = REDTUNE_SUM;
        cached.dtype = wanted.dtype = REDTUNE_F32;
        snprintf(cache, sizeof cache, "class%zu", i);
        use_cache(cache);
        CHECK_OK(plan_heard(&heard, &cached, config), err);
        CHECK_CONTAINS(config, cases[i].part);
        const void *from = fixed ? (void *)(uintptr_t)noise.address : input();
        CHECK_OK(run_twice(&wanted, from, by), err);
        CHECK_INT(by[0].info.pending, 1);
        CHECK_CONTAINS(by[0].info.config, cases[i].part);
        CHECK_INT(by[1].info.pending, 0);
        CHECK(!strstr(by[1].info.config, cases[i].part));
        CHECK(by[0].first == by[1].first && by[0].last == by[1].last);
        CHECK(fixed ||
              (by[0].first == (float)rdt_problem_count(&wanted) && by[0].last == by[0].first));
    }
    rdt_buffer_destroy(&noise);
}

FACT(plan_compiles_at_once_where_no_kernel_of_its_class_is) {
    listener heard = {.text = ""};
    char config[320];
    redtune_problem other = sum_of(1000), wanted = sum_of(COUNT);
    other.op = REDTUNE_MAX;
    served_by by[2] = {{.first = -1}};
    use_cache("another class");
    CHECK_OK(plan_heard(&heard, &other, config), err);
    CHECK_OK(run_twice(&wanted, input(), by), err);
    CHECK_INT(by[0].info.pending, 0);
    CHECK(by[0].first == COUNT && by[1].first == COUNT);
}

int main(int argc, char **argv) {
    snprintf(folder, sizeof folder, "/tmp/redtune-test-XXXXXX");
    if (!mkdtemp(folder)) return EXIT_FAILURE;
    ones_open();
    int rc = check_run(argc, argv);
    ones_close();
    folder_remove(folder);
    return rc;
}
