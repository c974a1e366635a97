/* Facts about teams that make a communicator of their own: ranks on a thread each join by an id,
 * reduce, and leave; messages go one by one where NCCL's algorithm is set; a rank that was found
 * lost is aborted; what is wrong is refused. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <unistd.h>
#include "check.h"
#include "crew.h"

enum { COUNT = 700, RANKS_MAX = 3 };

static redtune_error err;
static crew all; /* its teams are not used */

static bool is_simulated(void) {
    return strstr(all.rank[0].context->facts.name, "simulated") != NULL;
}

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* ---- ranks on threads ------------------------------------------------------------------------ */

typedef struct member {
    int rank, ranks;
    redtune_team_id id;
    redtune_team *team;
    redtune_plan *plan;
    redtune_status status;
    redtune_error err;
} member;

static void *join(void *user) {
    member *self = user;
    self->status = redtune_team_join(all.rank[self->rank].rt, &self->id, self->ranks, self->rank,
                                     NULL, &self->team, &self->err);
    return NULL;
}

static void *reduce(void *user) {
    member *self = user;
    const crew_rank *rank = &all.rank[self->rank];
    const redtune_operands part = {.d_in = {pointer_to(rank->input[0].address)},
                                   .d_out = {pointer_to(rank->output[0].address)},
                                   .count = COUNT};
    self->status = redtune_team_run(self->plan, self->team, &part, (uint64_t)self->rank * COUNT,
                                    rank->stream, &self->err);
    if (!self->status) self->status = redtune_team_wait(self->team, rank->stream, 20, &self->err);
    return NULL;
}

static void on_threads(member *members, void *(*go)(void *)) {
    pthread_t threads[RANKS_MAX];
    for (int i = 0; i < all.size; i++) CHECK(!pthread_create(&threads[i], NULL, go, &members[i]));
    for (int i = 0; i < all.size; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < all.size; i++) CHECK_OK(members[i].status, members[i].err);
}

static void open_members(member *members) {
    const redtune_problem problem = redtune_problem_whole(REDTUNE_ARGMAX, REDTUNE_F32, COUNT);
    redtune_team_id id;
    CHECK_OK(redtune_team_make_id(&id, &err), err);
    for (int i = 0; i < all.size; i++) {
        float elements[COUNT] = {0};
        members[i] = (member){.rank = i, .ranks = all.size, .id = id};
        if (i == all.size - 1) elements[COUNT - 2] = 5;
        CHECK_OK(crew_write(&all, i, all.rank[i].input[0].address, elements, sizeof elements, &err),
                 err);
        CHECK_OK(redtune_plan_create(all.rank[i].rt, &problem, &members[i].plan, &err), err);
    }
    on_threads(members, join);
}

static void close_members(member *members) {
    for (int i = 0; i < all.size; i++) {
        redtune_team_destroy(members[i].team);
        redtune_plan_destroy(members[i].plan);
    }
}

static void check_places(const member *members) {
    for (int i = 0; i < all.size && !check_state.failed; i++) {
        redtune_team_info info;
        uint64_t got = 0;
        redtune_team_get(members[i].team, &info);
        CHECK_INT(info.ranks, all.size);
        CHECK_INT(info.rank, i);
        CHECK_OK(crew_read(&all, i, &got, all.rank[i].output[0].address, sizeof got, &err), err);
        CHECK_INT(got, (long long)all.size * COUNT - 2);
    }
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(ranks_join_by_an_id_and_reduce) {
    member members[RANKS_MAX] = {{0}};
    open_members(members);
    if (!check_state.failed) on_threads(members, reduce);
    check_places(members);
    close_members(members);
}

/* NCCL has no all-gather by trees. */
FACT(messages_go_one_by_one_where_an_algorithm_is_set) {
    member members[RANKS_MAX] = {{0}};
    setenv("NCCL_ALGO", "Tree", 1);
    setenv("RDT_TEST_NCCL_FAILS", "ncclAllGather", 1);
    open_members(members);
    if (!check_state.failed) on_threads(members, reduce);
    unsetenv("NCCL_ALGO");
    unsetenv("RDT_TEST_NCCL_FAILS");
    check_places(members);
    close_members(members);
}

FACT(messages_may_fail) {
    if (all.size < 2 || !is_simulated()) SKIP("there is no stand-in for NCCL");
    static const char *const entries[] = {"ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd"};
    member members[RANKS_MAX] = {{0}};
    setenv("NCCL_ALGO", "Tree", 1);
    open_members(members);
    unsetenv("NCCL_ALGO");
    for (size_t i = 0; i < sizeof entries / sizeof *entries && !check_state.failed; i++) {
        setenv("RDT_TEST_NCCL_FAILS", entries[i], 1);
        reduce(&members[0]);
        unsetenv("RDT_TEST_NCCL_FAILS");
        CHECK_INT(members[0].status, REDTUNE_TEAM);
        CHECK_CONTAINS(members[0].err.message, "a failure that the test asked for");
    }
    if (!check_state.failed) on_threads(members, reduce); /* nothing is left behind */
    check_places(members);
    close_members(members);
}

FACT(team_of_one_is_joined_without_an_id) {
    redtune_team *one = NULL;
    redtune_team_info info;
    CHECK_OK(redtune_team_join(all.rank[0].rt, NULL, 1, 0, NULL, &one, &err), err);
    redtune_team_get(one, &info);
    CHECK_INT(info.ranks, 1);
    CHECK_INT(info.nccl_version, 0);
    redtune_team_destroy(one);
}

FACT(places_that_cannot_be_are_refused) {
    static const int wrong[][2] = {{0, 0}, {2, 2}, {2, -1}, {-1, 0}};
    const redtune_team_id id = {{0}};
    redtune *rt = all.rank[0].rt;
    redtune_team *team = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(redtune_team_join(rt, &id, wrong[i][0], wrong[i][1], NULL, &team, &err),
                    REDTUNE_INVALID, err, "ranks count from 0");
    CHECK_FAILS(redtune_team_join(rt, NULL, 2, 0, NULL, &team, &err), REDTUNE_INVALID, err,
                "id is NULL");
    CHECK_FAILS(redtune_team_join(NULL, &id, 2, 0, NULL, &team, &err), REDTUNE_INVALID, err,
                "rt is NULL");
    CHECK_FAILS(redtune_team_make_id(NULL, &err), REDTUNE_INVALID, err, "out is NULL");
    CHECK(!team);
}

FACT(entries_of_a_communicator_may_fail) {
    if (!all.size || !is_simulated()) SKIP("there is no stand-in for NCCL");
    redtune_team_id id;
    redtune_team *team = NULL;
    setenv("RDT_TEST_NCCL_FAILS", "ncclGetUniqueId", 1);
    redtune_status status = redtune_team_make_id(&id, &err);
    CHECK_INT(status, REDTUNE_TEAM);
    CHECK_CONTAINS(err.message, "cannot make the id of a communicator: NCCL reports");
    unsetenv("RDT_TEST_NCCL_FAILS");
    CHECK_OK(redtune_team_make_id(&id, &err), err);
    setenv("RDT_TEST_NCCL_FAILS", "ncclCommInitRank", 1);
    status = redtune_team_join(all.rank[0].rt, &id, 2, 0, NULL, &team, &err);
    unsetenv("RDT_TEST_NCCL_FAILS");
    CHECK_INT(status, REDTUNE_TEAM);
    CHECK_CONTAINS(err.message, "cannot make a communicator: NCCL reports");
    CHECK(!team);
}

/* The others' communicators are destroyed, that of the rank that knows of the loss is aborted. */
FACT(lost_rank_has_the_communicator_aborted) {
    if (all.size < 2 || !is_simulated()) SKIP("there is no stand-in for NCCL");
    char note[] = "/tmp/redtune-test-XXXXXX";
    member members[RANKS_MAX] = {{0}};
    int file = mkstemp(note);
    CHECK(file >= 0 && !close(file) && !unlink(note));
    setenv("RDT_TEST_NCCL_ABORTED", note, 1);
    open_members(members);
    close_members(members);
    CHECK(access(note, F_OK));
    open_members(members);
    setenv("RDT_TEST_NCCL_STATE", "6", 1);
    redtune_status status = redtune_team_check(members[0].team, &err);
    unsetenv("RDT_TEST_NCCL_STATE");
    close_members(members);
    unsetenv("RDT_TEST_NCCL_ABORTED");
    CHECK_INT(status, REDTUNE_TEAM);
    CHECK(!unlink(note));
}

int main(int argc, char **argv) {
    return crew_run(RANKS_MAX, COUNT * sizeof(double), &all, argc, argv);
}
