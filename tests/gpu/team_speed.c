/* Team speed: what a run by a team takes beyond the local kernel, in graphs of CALLS calls on GPUs
 * of one host: a sum of f32 that are 1, whose result is checked, at several sizes of a part. Prints
 * for each size the local plan, a team of one, the team, and NCCL's all-gather of 32 bytes alone.
 *
 * Then it connects the ranks, and times the team that sends through their memory.
 *
 * usage: team_speed all | two | killed
 *   all     one process, one thread, all GPUs
 *   two     two processes with a GPU each
 *   killed  the same; the second process kills itself between runs, and the first says what it sees
 *
 * Exit 77: there are no two GPUs, or no NCCL. */
#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "api/team/team.h"
#include "base/clock.h"
#include "base/fail.h"
#include "crew.h"
#include "gpu/graph.h"
#include "gpu/timer.h"
#include "shaped.h"

enum { CALLS = 20, SAMPLES = 21, GATHER_BYTES = 32, PARTS_MAX = 4 };

/* Small ones on simulated devices: to see that all of it runs. */
static const size_t gpu_bytes[PARTS_MAX] = {4 << 10, 1 << 20, 64 << 20, 512 << 20};
static const size_t sim_bytes[PARTS_MAX] = {4 << 10, 4 << 10, 8 << 10, 8 << 10};
static const size_t *part_bytes = gpu_bytes;

static redtune_error err;
static crew all;
static int ranks;

typedef int gather_fn(const void *from, void *to, size_t count, int dtype, struct ncclComm *comm,
                      CUstream stream);
typedef int group_fn(void);
static struct {
    gather_fn *gather;
    group_fn *start, *end;
} nccl;

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static void enter(int i) {
    bool entered;
    rdt_context_enter(all.rank[i].context, &entered, NULL);
}

static void leave(int i) { rdt_context_leave(all.rank[i].context, true); }

/* ---- what is timed --------------------------------------------------------------------------- */

typedef struct timed {
    uint64_t count; /* of a part */
    redtune_plan *plan[CREW_MAX];
    redtune_team *one[CREW_MAX];
} timed;

static redtune_operands operands_of(const timed *self, int i) {
    const crew_rank *rank = &all.rank[i];
    return (redtune_operands){.d_in = {pointer_to(rank->input[0].address)},
                              .d_out = {pointer_to(rank->output[0].address)},
                              .count = self->count};
}

static redtune_status queue_local(const timed *self) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < all.size; i++) {
        const redtune_operands operands = operands_of(self, i);
        status = redtune_plan_run(self->plan[i], &operands, all.rank[i].stream, &err);
    }
    return status;
}

static redtune_status queue_teams(const timed *self, bool alone) {
    redtune_operands operands[CREW_MAX];
    redtune_team_call calls[CREW_MAX];
    for (int i = 0; i < all.size; i++) {
        operands[i] = operands_of(self, i);
        calls[i] = (redtune_team_call){self->plan[i], alone ? self->one[i] : all.rank[i].team,
                                       &operands[i], (uint64_t)i * self->count, all.rank[i].stream};
    }
    return redtune_team_run_all(calls, (size_t)all.size, &err);
}

static redtune_status queue_alone(const timed *self) { return queue_teams(self, true); }
static redtune_status queue_team(const timed *self) { return queue_teams(self, false); }

static redtune_status queue_gather(const timed *self) {
    (void)self;
    int rc = nccl.start();
    for (int i = 0; !rc && i < all.size; i++) {
        redtune_team_info info;
        redtune_team_get(all.rank[i].team, &info);
        const CUdeviceptr to = all.rank[i].input[1].address;
        enter(i);
        rc = nccl.gather(pointer_to(to + (CUdeviceptr)info.rank * GATHER_BYTES), pointer_to(to),
                         GATHER_BYTES, 0, all.rank[i].comm, all.rank[i].stream);
        leave(i);
    }
    if (!rc) rc = nccl.end();
    return rc ? rdt_fail(&err, REDTUNE_TEAM, rc, "all-gather alone: NCCL gives %d", rc)
              : REDTUNE_OK;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static redtune_status record(redtune_status (*queue)(const timed *), const timed *self,
                             rdt_graph *graphs[CREW_MAX]) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; i < all.size; i++) {
        enter(i);
        status = rdt_graph_begin(all.rank[i].driver, all.rank[i].stream, &err);
        leave(i);
        if (status) return status;
    }
    for (int k = 0; !status && k < CALLS; k++) status = queue(self);
    for (int i = 0; i < all.size && !status; i++) {
        /* The other streams of this thread may still be captured. */
        enter(i);
        CUstreamCaptureMode mode = rdt_context_relax(all.rank[i].context);
        status = rdt_graph_end(all.rank[i].driver, all.rank[i].stream, &graphs[i], &err);
        rdt_context_restore(all.rank[i].context, mode);
        leave(i);
    }
    return status;
}

/* Of one call, on the first rank of this process. */
static redtune_status time_calls(redtune_status (*queue)(const timed *), const timed *self,
                                 double *us) {
    rdt_graph *graphs[CREW_MAX] = {NULL};
    rdt_timer timer = {0};
    double samples[SAMPLES];
    redtune_status status = queue(self);
    if (!status) status = record(queue, self, graphs);
    enter(0);
    if (!status) status = rdt_timer_create(all.rank[0].driver, &timer, &err);
    leave(0);
    for (int s = -2; !status && s < SAMPLES; s++) {
        for (int i = 0; !status && i < all.size; i++) {
            enter(i);
            if (!i) status = rdt_timer_start(&timer, all.rank[i].stream, &err);
            if (!status) status = rdt_graph_replay(graphs[i], all.rank[i].stream, &err);
            if (!i && !status) status = rdt_timer_stop(&timer, all.rank[i].stream, &err);
            leave(i);
        }
        for (int i = 0; !status && i < all.size; i++)
            status = redtune_team_wait(all.rank[i].team, all.rank[i].stream, 20, &err);
        double ns = 0;
        enter(0);
        if (!status) status = rdt_timer_read(&timer, &ns, &err);
        leave(0);
        if (s >= 0) samples[s] = ns / CALLS / 1e3;
    }
    if (!status) {
        qsort(samples, SAMPLES, sizeof *samples, compare_times);
        *us = samples[SAMPLES / 2];
    }
    for (int i = 0; i < all.size; i++) {
        enter(i);
        rdt_graph_destroy(graphs[i]);
        if (!i) rdt_timer_destroy(&timer);
        leave(i);
    }
    return status;
}

/* ---- a size ---------------------------------------------------------------------------------- */

static redtune_status open_timed(timed *self, size_t bytes) {
    const redtune_problem problem =
        redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, bytes / sizeof(float));
    redtune_status status = REDTUNE_OK;
    *self = (timed){.count = shaped_of(&problem).count};
    for (int i = 0; !status && i < all.size; i++) {
        status = redtune_plan_create(all.rank[i].rt, &problem, &self->plan[i], &err);
        if (!status) status = redtune_team_create(all.rank[i].rt, NULL, NULL, &self->one[i], &err);
        if (!status) status = redtune_team_prepare(self->plan[i], &err);
    }
    return status;
}

static void close_timed(timed *self) {
    for (int i = 0; i < all.size; i++) {
        redtune_team_destroy(self->one[i]);
        redtune_plan_destroy(self->plan[i]);
    }
}

static redtune_status check_sum(const timed *self) {
    const double wanted = (double)self->count * ranks;
    for (int i = 0; i < all.size; i++) {
        float got = 0;
        redtune_status status =
            crew_read(&all, i, &got, all.rank[i].output[0].address, sizeof got, &err);
        if (status) return status;
        if ((double)got < wanted || (double)got > wanted)
            fprintf(stderr, "team_speed: rank %d has %g, not %g\n", i, (double)got, wanted);
        if ((double)got < wanted || (double)got > wanted) return REDTUNE_WRONG;
    }
    return REDTUNE_OK;
}

static redtune_status time_size(size_t bytes, bool says) {
    timed self;
    double local_us = 0, alone_us = 0, team_us = 0, gather_us = 0;
    redtune_status status = open_timed(&self, bytes);
    if (!status) status = time_calls(queue_local, &self, &local_us);
    if (!status) status = time_calls(queue_alone, &self, &alone_us);
    if (!status) status = time_calls(queue_gather, &self, &gather_us);
    if (!status) status = time_calls(queue_team, &self, &team_us);
    if (!status) status = check_sum(&self);
    if (!status && says)
        printf("%7zu KiB a part: local %8.2f us, team of one %8.2f, team of %d %8.2f: +%.2f; "
               "all-gather alone %.2f\n",
               bytes >> 10, local_us, alone_us, ranks, team_us, team_us - local_us, gather_us);
    fflush(stdout);
    close_timed(&self);
    return status;
}

/* Through peer memory, whatever was measured to be faster. */
static redtune_status time_connected(size_t bytes, bool says) {
    timed self;
    double local_us = 0, team_us = 0;
    redtune_status status = open_timed(&self, bytes);
    if (!status) status = time_calls(queue_local, &self, &local_us);
    if (!status) status = time_calls(queue_team, &self, &team_us);
    if (!status) status = check_sum(&self);
    if (!status && says)
        printf("%7zu KiB a part: local %8.2f us, connected team of %d %8.2f: +%.2f\n", bytes >> 10,
               local_us, ranks, team_us, team_us - local_us);
    fflush(stdout);
    close_timed(&self);
    return status;
}

static redtune_status connect_ranks(bool says) {
    redtune_team *teams[CREW_MAX];
    redtune_team_info info;
    for (int i = 0; i < all.size; i++) teams[i] = all.rank[i].team;
    redtune_status status = redtune_team_connect(teams, (size_t)all.size, &err);
    if (status) return status;
    redtune_team_get(teams[0], &info);
    if (says)
        printf("a run on a stream: %.2f us by NCCL, %.2f by peer memory\n", info.nccl_ns / 1e3,
               info.peers_ns / 1e3);
    for (int i = 0; i < all.size; i++) teams[i]->by_peers = teams[i]->peers != NULL;
    return teams[0]->peers ? REDTUNE_OK
                           : rdt_fail(&err, REDTUNE_UNSUPPORTED, 0,
                                      "the GPUs do not reach each other's memory");
}

static redtune_status fill_ones(void) {
    const size_t bytes = part_bytes[PARTS_MAX - 1], pattern = 4096;
    float ones[1024];
    redtune_status status = REDTUNE_OK;
    for (int i = 0; i < 1024; i++) ones[i] = 1;
    for (int i = 0; !status && i < all.size; i++) {
        const CUdeviceptr to = all.rank[i].input[0].address;
        status = crew_write(&all, i, to, ones, pattern, &err);
        enter(i);
        if (!status)
            status =
                rdt_buffer_repeat(all.rank[i].driver, to, pattern, bytes, all.rank[i].stream, &err);
        leave(i);
    }
    return status;
}

static int time_sizes(bool says) {
    *(void **)&nccl.gather = dlsym(all.nccl, "ncclAllGather");
    *(void **)&nccl.start = dlsym(all.nccl, "ncclGroupStart");
    *(void **)&nccl.end = dlsym(all.nccl, "ncclGroupEnd");
    redtune_status status = fill_ones();
    for (size_t i = 0; !status && i < PARTS_MAX; i++) status = time_size(part_bytes[i], says);
    if (!status && part_bytes == gpu_bytes) {
        status = connect_ranks(says);
        for (size_t i = 0; !status && i < PARTS_MAX; i++)
            status = time_connected(part_bytes[i], says);
    }
    if (status) fprintf(stderr, "team_speed: %s\n", err.message);
    return status != REDTUNE_OK;
}

/* ---- a rank that ends ------------------------------------------------------------------------ */

static redtune_status run_once(const timed *self, double limit_s) {
    redtune_status status = queue_team(self);
    return status ? status : redtune_team_wait(all.rank[0].team, all.rank[0].stream, limit_s, &err);
}

static int outlive(int rank) {
    timed self;
    redtune_status status = fill_ones();
    if (!status) status = open_timed(&self, part_bytes[1]);
    for (int k = 0; !status && k < 10; k++) status = run_once(&self, 20);
    if (status) {
        fprintf(stderr, "team_speed: %s\n", err.message);
        return 1;
    }
    if (rank) raise(SIGKILL);
    sleep(1);
    const double start_s = rdt_clock_s();
    status = run_once(&self, 3);
    printf("the other rank was killed; after %.1f s: %s: %s\n", rdt_clock_s() - start_s,
           redtune_status_name(status), err.message);
    fflush(stdout);
    _exit(status != REDTUNE_TEAM); /* nothing else ends what runs */
}

/* ---- processes ------------------------------------------------------------------------------- */

static int run_process(int rank, int wire, bool killed) {
    crew_id id;
    if (rank == 0 && (crew_make_id(&id, &err) || write(wire, &id, sizeof id) != sizeof id))
        return 77;
    if (rank > 0 && read(wire, &id, sizeof id) != sizeof id) return 77;
    if (crew_open_rank(2, rank, &id, part_bytes[PARTS_MAX - 1], &all, &err)) {
        fprintf(stderr, "no team: %s\n", err.message);
        return 77;
    }
    int rc = killed ? outlive(rank) : time_sizes(rank == 0);
    crew_close(&all);
    return rc;
}

static int run_two(bool killed) {
    int wire[2], state = 0;
    ranks = 2;
    if (pipe(wire)) return EXIT_FAILURE;
    pid_t other = fork();
    if (other < 0) return EXIT_FAILURE;
    if (!other) exit(run_process(1, wire[0], killed));
    int rc = run_process(0, wire[1], killed);
    waitpid(other, &state, 0);
    return rc || killed ? rc : WEXITSTATUS(state);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (getenv("REDTUNE_SIM_DEVICES")) part_bytes = sim_bytes;
    if (!strcmp(mode, "two") || !strcmp(mode, "killed")) return run_two(!strcmp(mode, "killed"));
    if (strcmp(mode, "all")) {
        fprintf(stderr, "usage: team_speed all | two | killed\n");
        return EXIT_FAILURE;
    }
    if (crew_open(CREW_MAX, part_bytes[PARTS_MAX - 1], &all, &err) || all.size < 2) {
        fprintf(stderr, "no team: %s\n", all.size ? "there is one GPU" : err.message);
        return 77;
    }
    ranks = all.size;
    int rc = time_sizes(true);
    crew_close(&all);
    return rc;
}
