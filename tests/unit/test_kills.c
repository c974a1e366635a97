/* Facts about being killed: whoever imports, merges or undoes and is killed at any moment leaves
 * the database as it was before the step at hand or as it is after it.
 *
 * usage: test_kills [--kills N] [FACT...]; 50 by default. */
#define _GNU_SOURCE
#include "state.h"
#include "base/random.h"

#include <signal.h>
#include <time.h>

enum { BATCHES = 4, BATCH_ROWS = 60, STEPS = 3 * BATCHES };

static int kills = 50;
static rdt_rows batches[BATCHES];
static char path[256], *states[STEPS + 1];

/* ---- the steps ------------------------------------------------------------------------------- */

static redtune_status add(rdt_tuning *to, const char *source, const rdt_rows *rows) {
    uint64_t added = 0;
    redtune_status status = rdt_exchange_begin(to, &err);
    if (status) return status;
    status = rdt_exchange_add(to, source, rows, &added, &err);
    return rdt_exchange_end(to, status, &err);
}

/* Each batch is imported, taken back, and merged. */
static redtune_status take_step(rdt_tuning *to, int step) {
    uint64_t removed = 0;
    char source[256];
    const rdt_rows *batch = &batches[step / 3];
    if (step % 3 == 0) return add(to, "elsewhere.db", batch);
    if (step % 3 == 2) return add(to, NULL, batch);
    return rdt_exchange_undo(to, source, &removed, &err);
}

static bool take_steps(int count) {
    rdt_tuning *own = NULL;
    redtune_status status = rdt_tuning_open(path, &own, &err);
    for (int step = 0; step < count && !status; step++) status = take_step(own, step);
    rdt_tuning_close(own);
    if (status) fprintf(stderr, "%s\n", err.message);
    return !status;
}

/* ---- the states between them ----------------------------------------------------------------- */

static bool make_batches(void) {
    for (int i = 0; i < BATCHES * BATCH_ROWS; i++) {
        char config[32];
        snprintf(config, sizeof config, "block=%d", i);
        rdt_row row = {.gpu = trials_gpu, .origin = trials_origin, .date = 1700000000 + i};
        row.trial = trials_make(1024u << i % 5, config, 100 + i, 9);
        row.gpu.sm_count = 1 + i / BATCH_ROWS;
        if (rdt_rows_add(&batches[i / BATCH_ROWS], &row, &err)) return false;
    }
    return true;
}

static bool start(void) {
    char journal[300];
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(path), unlink(journal);
    return copy_file(in_scratch("tuning.db"), path);
}

/* Everything that the steps come by, from one row on. */
static bool find_states(void) {
    bool good = begin() && put_one(1 << 20, "block=64", 10, 9);
    rdt_tuning_close(tuning);
    tuning = NULL;
    for (int i = 0; i <= STEPS && good; i++)
        good = start() && take_steps(i) && (states[i] = state_of(path));
    return good;
}

/* -1: it is none of them. */
static int find_state(const char *state) {
    for (int i = 0; i <= STEPS; i++)
        if (!strcmp(state, states[i])) return i;
    return -1;
}

/* ---- killing --------------------------------------------------------------------------------- */

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* Runs the steps in a process that is killed after a while. *killed: before it came to its end. */
static bool run_and_kill(double after_us, bool *killed) {
    int ended = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return false;
    if (!child) _exit(!take_steps(STEPS));
    usleep((useconds_t)after_us);
    kill(child, SIGKILL);
    if (waitpid(child, &ended, 0) != child) return false;
    *killed = WIFSIGNALED(ended);
    return *killed || !WEXITSTATUS(ended);
}

FACT(a_killed_process_leaves_the_old_state_or_the_new) {
    rdt_random random = {20};
    int done = 0, within = 0, seen[STEPS + 1] = {0};
    CHECK(start());
    double begun = now_us();
    CHECK(take_steps(STEPS));
    double whole_us = now_us() - begun;
    for (int round = 0; done < kills && round < 4 * kills; round++) {
        bool killed = false;
        CHECK(start());
        CHECK(run_and_kill((double)rdt_random_below(&random, 1 << 20) * whole_us * 1.2 / (1 << 20),
                           &killed));
        within += has_beside(path, "-journal");
        char *state = state_after_repair(path);
        CHECK(state);
        int at = find_state(state);
        free(state);
        CHECK(at >= 0 && (killed || at == STEPS));
        seen[at] = 1;
        done += killed;
    }
    int different = 0;
    for (int i = 0; i <= STEPS; i++) different += seen[i];
    printf("%d kills, %d with a journal left, %d different states\n", done, within, different);
    CHECK_INT(done, kills);
    CHECK(different > 3 && within);
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "--kills")) {
        kills = atoi(argv[2]);
        argc -= 2, argv += 2;
    }
    if (!scratch_begin()) return 1;
    snprintf(path, sizeof path, "%s", in_scratch("killed.db"));
    bool good = make_batches() && find_states();
    if (!good) fprintf(stderr, "%s\n", err.message);
    int failed = good ? check_run(argc, argv) : 1;
    for (int i = 0; i < BATCHES; i++) rdt_rows_free(&batches[i]);
    for (int i = 0; i <= STEPS; i++) free(states[i]);
    scratch_end();
    return failed;
}
