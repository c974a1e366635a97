/* Team bits: whether ranks have the same bits, run after run and replay after replay, whatever way
 * NCCL goes. It reduces the same random elements in every run of the program by kernels that differ
 * from rank to rank, replays each run from a graph, and prints a hash of each rank's results: the
 * ranks' must be equal, and those of other runs, such as with other NCCL_ALGO and NCCL_PROTO.
 *
 * usage: team_bits all | two [peers]
 *   all     one process, one thread, all GPUs
 *   two     two processes with a GPU each
 *   peers   through peer memory, not NCCL
 *
 * Exit 77: there are no two GPUs, or no NCCL. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "api/team/team.h"
#include "base/fail.h"
#include "crew.h"
#include "gpu/graph.h"
#include "model/dtype.h"
#include "model/scalar.h"
#include "shaped.h"
#include "subject.h"

enum { ROWS = 100, PATTERN_BYTES = CREW_RESULTS_MAX * 8, BATCHES = 10 };

static redtune_error err;
static crew all;
static uint64_t part_count; /* elements of each rank, but of rank 0 a few less */
static int replays;         /* of each batch */

static const shaped problems[] = {
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32},
    {.op = REDTUNE_MEAN, .dtype = REDTUNE_F16},
    {.op = REDTUNE_MEAN_VAR, .dtype = REDTUNE_F32},
    {.op = REDTUNE_ARGMAX, .dtype = REDTUNE_F32},
    {.op = REDTUNE_DOT, .dtype = REDTUNE_F64},
    {.op = REDTUNE_NORM2, .dtype = REDTUNE_F32},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .order = REDTUNE_ORDER_FIXED},
    {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .outer = ROWS},
};

typedef struct operation {
    const redtune_problem *problem;
    redtune_plan *plan[CREW_MAX];
    redtune_operands operands[CREW_MAX];
    redtune_team_call calls[CREW_MAX];
    rdt_graph *graphs[CREW_MAX];
} operation;

typedef struct bits {
    char of[CREW_MAX][2][PATTERN_BYTES]; /* of each rank's two outputs */
} bits;

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static void enter(int i) {
    bool entered;
    rdt_context_enter(all.rank[i].context, &entered, NULL);
}

static void leave(int i) { rdt_context_leave(all.rank[i].context, true); }

static int number_of(int i) {
    redtune_team_info info;
    redtune_team_get(all.rank[i].team, &info);
    return info.rank;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* The same in every run, and other ones on each rank. */
static double draw(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 40) / (1 << 22) - 2;
}

static redtune_status fill(int i, redtune_dtype dtype) {
    const size_t bytes = redtune_dtype_bytes(dtype), count = part_count;
    char *elements = malloc(count * bytes);
    redtune_status status = elements ? REDTUNE_OK : rdt_fail_memory(&err, count * bytes);
    for (int k = 0; !status && k < 2; k++) {
        uint64_t state = (uint64_t)(2 * number_of(i) + k + 1);
        for (size_t at = 0; at < count; at++) {
            const redtune_value value = rdt_scalar_from_real(dtype, draw(&state));
            memcpy(elements + at * bytes, value.bytes, bytes);
        }
        const CUdeviceptr to = all.rank[i].input[k].address;
        status = crew_write(&all, i, to, elements, count * bytes, &err);
    }
    free(elements);
    return status;
}

/* ---- an operation ---------------------------------------------------------------------------- */

static redtune_status open_rank(operation *self, int i) {
    static const char *const configs[] = {"block:block=64,unroll=2", "block:block=256"};
    const crew_rank *rank = &all.rank[i];
    const int number = number_of(i);
    const bool one = !shaped_of(self->problem).outer,
               fixed = self->problem->order != REDTUNE_ORDER_FREE;
    redtune_problem problem = *self->problem;
    RESHAPE(&problem, count, one ? part_count : part_count / ROWS);
    problem.config = one && !fixed ? configs[number % 2] : NULL;
    /* In fixed order a part has a power of two of whole chunks. */
    const uint64_t whole = shaped_of(&problem).count;
    redtune_operands *operands = &self->operands[i];
    *operands = (redtune_operands){
        .d_in = {pointer_to(rank->input[0].address), pointer_to(rank->input[1].address)},
        .d_out = {pointer_to(rank->output[0].address), pointer_to(rank->output[1].address)},
        .count = whole - (!fixed && !number ? 7 : 0),
        .outer = shaped_of(self->problem).outer,
        .outer_step = one ? 0 : shaped_of(&problem).count};
    redtune_op_info info;
    redtune_status status = redtune_op_get(problem.op, &info, &err);
    if (!status && info.inputs == 1) operands->d_in[1] = NULL;
    if (!status && info.outputs == 1) operands->d_out[1] = NULL;
    self->calls[i] =
        (redtune_team_call){NULL, rank->team, operands, (uint64_t)number * whole, rank->stream};
    if (!status) status = redtune_plan_create(rank->rt, &problem, &self->plan[i], &err);
    if (!status) status = redtune_team_prepare(self->plan[i], &err);
    self->calls[i].plan = self->plan[i];
    return status ? status : fill(i, problem.dtype);
}

static void close_operation(operation *self) {
    for (int i = 0; i < all.size; i++) {
        enter(i);
        rdt_graph_destroy(self->graphs[i]);
        leave(i);
        redtune_plan_destroy(self->plan[i]);
    }
}

static redtune_status queue(operation *self) {
    return redtune_team_run_all(self->calls, (size_t)all.size, &err);
}

static redtune_status record(operation *self) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < all.size; i++) {
        enter(i);
        status = rdt_graph_begin(all.rank[i].driver, all.rank[i].stream, &err);
        leave(i);
    }
    if (!status) status = queue(self);
    for (int i = 0; !status && i < all.size; i++) {
        /* The other streams of this thread may still be captured. */
        enter(i);
        CUstreamCaptureMode mode = rdt_context_relax(all.rank[i].context);
        status = rdt_graph_end(all.rank[i].driver, all.rank[i].stream, &self->graphs[i], &err);
        rdt_context_restore(all.rank[i].context, mode);
        leave(i);
    }
    return status;
}

static redtune_status replay(operation *self) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < all.size; i++) {
        enter(i);
        status = rdt_graph_replay(self->graphs[i], all.rank[i].stream, &err);
        leave(i);
    }
    return status;
}

/* ---- bits ------------------------------------------------------------------------------------ */

static redtune_status clear_outputs(void) {
    static const char nothing[PATTERN_BYTES];
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < all.size; i++)
        for (int k = 0; !status && k < 2; k++)
            status =
                crew_write(&all, i, all.rank[i].output[k].address, nothing, sizeof nothing, &err);
    return status;
}

static redtune_status read_bits(bits *out) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < all.size; i++) {
        status = redtune_team_wait(all.rank[i].team, all.rank[i].stream, 20, &err);
        for (int k = 0; !status && k < 2; k++)
            status = crew_read(&all, i, out->of[i][k], all.rank[i].output[k].address,
                               sizeof out->of[i][k], &err);
    }
    return status;
}

static uint64_t hash_of(uint64_t hash, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

static redtune_status compare(const bits *first, const bits *got, const char *what) {
    if (!memcmp(first, got, sizeof *got)) return REDTUNE_OK;
    return rdt_fail(&err, REDTUNE_WRONG, 0, "%s has other bits than the first run", what);
}

static redtune_status hash_operation(const redtune_problem *problem, uint64_t hashes[CREW_MAX]) {
    static bits first, got;
    operation self = {.problem = problem};
    redtune_status status = clear_outputs();
    for (int i = 0; !status && i < all.size; i++) status = open_rank(&self, i);
    if (!status) status = queue(&self);
    if (!status) status = read_bits(&first);
    if (!status) status = record(&self);
    for (int batch = 0; !status && batch < BATCHES; batch++) {
        status = clear_outputs();
        for (int k = 0; !status && k < replays; k++) status = replay(&self);
        if (!status) status = read_bits(&got);
        if (!status) status = compare(&first, &got, "a replay");
    }
    for (int i = 0; !status && i < all.size; i++) {
        hashes[i] = hash_of(hashes[i], first.of[i], sizeof first.of[i]);
        if (memcmp(first.of[i], first.of[0], sizeof first.of[i]))
            status = rdt_fail(&err, REDTUNE_WRONG, 0, "rank %d has other bits than rank 0", i);
    }
    close_operation(&self);
    return status;
}

/* ---- processes ------------------------------------------------------------------------------- */

static redtune_status connect_ranks(void) {
    redtune_team *teams[CREW_MAX];
    for (int i = 0; i < all.size; i++) teams[i] = all.rank[i].team;
    redtune_status status = redtune_team_connect(teams, (size_t)all.size, &err);
    for (int i = 0; !status && i < all.size; i++) teams[i]->by_peers = teams[i]->peers != NULL;
    if (status || teams[0]->peers) return status;
    return rdt_fail(&err, REDTUNE_UNSUPPORTED, 0, "the GPUs do not reach each other's memory");
}

/* The stand-in's copies bring what the others had before: a second replay has all of this one. */
static void choose_sizes(void) {
    const bool simulated = rdt_facts_is_simulated(&all.rank[0].context->facts);
    part_count = simulated ? 2048 : 65536;
    replays = simulated ? 2 : 1000 / BATCHES;
}

static size_t input_bytes(void) { return 65536 * sizeof(double); }

static int hash_all(bool by_peers) {
    uint64_t hashes[CREW_MAX];
    redtune_status status = by_peers ? connect_ranks() : REDTUNE_OK;
    choose_sizes();
    for (int i = 0; i < CREW_MAX; i++) hashes[i] = UINT64_C(14695981039346656037);
    for (size_t i = 0; !status && i < sizeof problems / sizeof *problems; i++) {
        const redtune_problem problem = shaped_problem(problems[i]);
        status = hash_operation(&problem, hashes);
    }
    for (int i = 0; !status && i < all.size; i++)
        printf("rank %d: %016llx of %zu problems, each replayed %d times\n", number_of(i),
               (unsigned long long)hashes[i], sizeof problems / sizeof *problems,
               BATCHES * replays);
    fflush(stdout);
    if (status) fprintf(stderr, "team_bits: %s\n", err.message);
    return status != REDTUNE_OK;
}

static int run_process(int rank, int wire, bool by_peers) {
    crew_id id;
    if (rank == 0 && (crew_make_id(&id, &err) || write(wire, &id, sizeof id) != sizeof id))
        return 77;
    if (rank > 0 && read(wire, &id, sizeof id) != sizeof id) return 77;
    if (crew_open_rank(2, rank, &id, input_bytes(), &all, &err)) {
        fprintf(stderr, "no team: %s\n", err.message);
        return 77;
    }
    int rc = hash_all(by_peers);
    crew_close(&all);
    return rc;
}

static int run_two(bool by_peers) {
    int wire[2], state = 0;
    if (pipe(wire)) return EXIT_FAILURE;
    pid_t other = fork();
    if (other < 0) return EXIT_FAILURE;
    if (!other) exit(run_process(1, wire[0], by_peers));
    int rc = run_process(0, wire[1], by_peers);
    waitpid(other, &state, 0);
    return rc ? rc : WEXITSTATUS(state);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    const bool by_peers = argc > 2 && !strcmp(argv[2], "peers");
    if (!strcmp(mode, "two")) return run_two(by_peers);
    if (strcmp(mode, "all")) {
        fprintf(stderr, "usage: team_bits all | two [peers]\n");
        return EXIT_FAILURE;
    }
    if (crew_open(CREW_MAX, input_bytes(), &all, &err) || all.size < 2) {
        fprintf(stderr, "no team: %s\n", all.size ? "there is one GPU" : err.message);
        return 77;
    }
    int rc = hash_all(by_peers);
    crew_close(&all);
    return rc;
}
