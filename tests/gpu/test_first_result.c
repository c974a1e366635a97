/* The first result of a new process, which has a context already: with a cold kernel cache, and
 * with a warm one. The process starts itself, once cold and some times warm; each prints what its
 * steps took. On a GPU, fails where a warm start takes longer than promised; everywhere, where a
 * warm one loads NVRTC or starts Lua. */
#define _XOPEN_SOURCE 700
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "folder.h"
#include "ones.h"

enum { WARM_STARTS = 7, SETTLED_SECONDS = 4 };
static const double warm_ms_max = 3, cold_ms_max = 400;

/* What one process tells. */
typedef struct start {
    double open_ms, plan_ms, run_ms;
    int lua, nvrtc; /* started, mapped */
    int right;
} start;

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- the child ------------------------------------------------------------------------------- */

static void listen(void *user, redtune_log_level level, const char *line) {
    start *told = user;
    (void)level;
    if (strstr(line, "Lua")) told->lua = 1;
}

/* Whether a file of that name is mapped into the process. */
static int is_mapped(const char *name) {
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, name) != NULL;
    if (maps) fclose(maps);
    return found;
}

static redtune_status time_steps(start *told) {
    const redtune_options options = {
        .log = listen, .log_user = told, .log_level = REDTUNE_LOG_DEBUG};
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(COUNT);
    double begin = now_ms();
    redtune_status status = redtune_open(&options, &rt, &err);
    double opened = now_ms();
    if (!status) status = redtune_plan_create(rt, &problem, &plan, &err);
    double planned = now_ms();
    if (!status) status = redtune_plan_reduce(plan, input(), COUNT, output(0), gpu.stream, &err);
    told->right = result(0) == COUNT;
    told->open_ms = opened - begin;
    told->plan_ms = planned - opened;
    told->run_ms = now_ms() - planned;
    told->nvrtc = is_mapped("libnvrtc");
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return status;
}

static int be_child(void) {
    start told = {.right = 0};
    ones_open();
    if (!gpu.context) return 77;
    redtune_status status = time_steps(&told);
    if (status) fprintf(stderr, "%s\n", err.message);
    printf("%.3f %.3f %.3f %d %d %d\n", told.open_ms, told.plan_ms, told.run_ms, told.lua,
           told.nvrtc, told.right);
    ones_close();
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static char program[4096];

/* Starts this program as a child; its exit code. */
static int run_child(start *told) {
    char command[sizeof program + 16];
    snprintf(command, sizeof command, "'%s' --child", program);
    FILE *pipe = popen(command, "r");
    if (!pipe) return EXIT_FAILURE;
    int read = fscanf(pipe, "%lf %lf %lf %d %d %d", &told->open_ms, &told->plan_ms, &told->run_ms,
                      &told->lua, &told->nvrtc, &told->right);
    int rc = pclose(pipe);
    if (rc == -1 || !WIFEXITED(rc)) return EXIT_FAILURE;
    return WEXITSTATUS(rc) || read == 6 ? WEXITSTATUS(rc) : EXIT_FAILURE;
}

static double total_ms(const start *told) { return told->open_ms + told->plan_ms + told->run_ms; }

static void print(const char *name, const start *told) {
    printf("%s: %.2f ms (open %.2f, plan %.2f, run and result %.2f)\n", name, total_ms(told),
           told->open_ms, told->plan_ms, told->run_ms);
}

static int by_total(const void *a, const void *b) {
    double x = total_ms(a), y = total_ms(b);
    return (x > y) - (x < y);
}

FACT(a_warm_start_compiles_nothing) {
    start cold, warm[WARM_STARTS];
    const char *device = getenv("REDTUNE_CUDA_DRIVER");
    bool simulated = device && strstr(device, "redtune-sim");
    /* A database that was written a moment ago is always read: it may be written again unseen. */
    if (simulated)
        setenv("REDTUNE_DB", "/nowhere/at/all.db", 1);
    else
        sleep(SETTLED_SECONDS);
    int rc = run_child(&cold);
    if (rc == 77) SKIP("there is no GPU");
    CHECK_INT(rc, 0);
    print("cold", &cold);
    CHECK(cold.right && cold.lua && cold.nvrtc);
    for (int i = 0; i < WARM_STARTS; i++) {
        CHECK_INT(run_child(&warm[i]), 0);
        CHECK(warm[i].right);
        CHECK(!warm[i].lua && !warm[i].nvrtc);
    }
    qsort(warm, WARM_STARTS, sizeof *warm, by_total);
    print("warm", &warm[WARM_STARTS / 2]);
    if (simulated) return;
    CHECK(total_ms(&warm[WARM_STARTS / 2]) <= warm_ms_max);
    CHECK(total_ms(&cold) <= cold_ms_max);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--child")) return be_child();
    char folder[] = "/tmp/redtune-test-XXXXXX";
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0 || !mkdtemp(folder)) return EXIT_FAILURE;
    setenv("XDG_CACHE_HOME", folder, 1);
    int rc = check_run(argc, argv);
    folder_remove(folder);
    return rc;
}
