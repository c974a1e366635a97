/* Facts about calls of redtune/keys.h: results that go on, captures, streams side by side,
 * workspaces, and what is refused. */
#define _GNU_SOURCE
#include <time.h>
#include "folder.h"
#include "gpu/graph.h"
#include "keyed_trials.h"

FACT(results_go_on_from_what_there_is) {
    begin();
    for (int i = 0; i < 6 && !check_state.failed; i++) {
        const bool begins = i % 2;
        const redtune_value initial = {.f32 = 100};
        const uint64_t k = i < 2 ? 4 : 3000;
        float got[4], before[4];
        trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, k, 500);
        redtune_keyed keyed = keyed_of(&at);
        at.p.order = i < 4 ? REDTUNE_ORDER_FREE : REDTUNE_ORDER_FIXED;
        run(&at);
        CHECK_OK(rdt_buffer_read(gpu.driver, before, out[0].address + MARGIN, 16, gpu.stream, &err),
                 err);
        at.p.uses = begins ? REDTUNE_USE_INITIAL : REDTUNE_USE_ACCUMULATE;
        keyed.accumulate = !begins;
        if (begins) keyed.initial = &initial;
        CHECK_OK(redtune_run_keyed(rt, &at.p, &keyed, gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_read(gpu.driver, got, out[0].address + MARGIN, 16, gpu.stream, &err),
                 err);
        for (int j = 0; j < 4; j++) CHECK(got[j] == before[j] + (begins ? 100 : before[j]));
    }
    end();
}

FACT(what_is_captured_runs_again) {
    begin();
    for (int i = 0; i < 4 && !check_state.failed; i++) {
        static const uint64_t key_counts[] = {4, 2000, 60000, 300};
        trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, key_counts[i], 3000);
        const redtune_keyed keyed = keyed_of(&at);
        at.p.order = i < 3 ? REDTUNE_ORDER_FREE : REDTUNE_ORDER_FIXED;
        rdt_graph *graph = NULL;
        CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
        CHECK_INT(redtune_run_keyed(rt, &at.p, &keyed, gpu.stream, &err), REDTUNE_UNPREPARED);
        CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
        rdt_graph_destroy(graph);
        CHECK_OK(redtune_prepare(rt, &at.p, 1, &err), err);
        CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
        CHECK_OK(redtune_run_keyed(rt, &at.p, &keyed, gpu.stream, &err), err);
        CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
        for (int k = 0; k < 2; k++) {
            fill(&at);
            upload();
            CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
            check_outputs(&at);
        }
        rdt_graph_destroy(graph);
    }
    end();
}

/* Each has tables of its own. */
FACT(streams_run_side_by_side) {
    begin();
    CUstream streams[2];
    float got[2][8], want[8];
    trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 60000, 3000);
    redtune_keyed keyed = keyed_of(&at);
    fill(&at);
    upload();
    CHECK_OK(redtune_run_keyed(rt, &at.p, &keyed, gpu.stream, &err), err);
    CHECK_OK(
        rdt_buffer_read(gpu.driver, want, out[0].address + MARGIN, sizeof want, gpu.stream, &err),
        err);
    for (int i = 0; i < 2; i++) CHECK_OK(rdt_stream_create(gpu.driver, &streams[i], &err), err);
    for (int i = 0; i < 6; i++) {
        keyed.d_out[0] = (char *)(uintptr_t)out[i % 2].address + MARGIN;
        keyed.d_skipped = NULL;
        CHECK_OK(redtune_run_keyed(rt, &at.p, &keyed, streams[i % 2], &err), err);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rdt_buffer_read(gpu.driver, got[i], out[i].address + MARGIN, sizeof want,
                                 streams[i], &err),
                 err);
        CHECK(!memcmp(got[i], want, sizeof want));
        rdt_stream_destroy(gpu.driver, streams[i]);
    }
    end();
}

static void try_workspaces(redtune_order order) {
    redtune_plan *plan = NULL;
    redtune_workspace *small = NULL, *large = NULL;
    trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 60000, 3000);
    redtune_keyed keyed = keyed_of(&at);
    at.p.order = order;
    fill(&at);
    upload();
    CHECK_OK(redtune_plan_create(rt, &at.p, &plan, &err), err);
    const size_t bytes = redtune_keyed_workspace_bytes(plan);
    CHECK(bytes > redtune_workspace_bytes());
    CHECK_OK(redtune_workspace_create(rt, NULL, 0, gpu.stream, &small, &err), err);
    CHECK_OK(redtune_workspace_create(rt, NULL, bytes, gpu.stream, &large, &err), err);
    keyed.workspace = small;
    CHECK_FAILS(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), REDTUNE_INVALID, err,
                "in a workspace of");
    /* In memory of the caller's, with the results in what only tables take. */
    redtune_workspace *over = NULL;
    rdt_buffer room;
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes, &room, &err), err);
    void *const place = (void *)(uintptr_t)room.address;
    CHECK_OK(redtune_workspace_create(rt, place, bytes, gpu.stream, &over, &err), err);
    redtune_keyed within = keyed_of(&at);
    within.workspace = over;
    within.d_out[0] = (char *)place + redtune_workspace_bytes() + 16;
    CHECK_FAILS(redtune_plan_run_keyed(plan, &within, gpu.stream, &err), REDTUNE_INVALID, err,
                "within the workspace");
    redtune_workspace_destroy(over);
    rdt_buffer_destroy(&room);
    keyed.workspace = large;
    CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
    check_outputs(&at);
    redtune_plan_destroy(plan);
    redtune_workspace_destroy(small);
    redtune_workspace_destroy(large);
}

/* Of atomics, and of elements that are reordered. */
FACT(a_workspace_has_room_for_the_table) {
    begin();
    try_workspaces(REDTUNE_ORDER_FREE);
    try_workspaces(REDTUNE_ORDER_FIXED);
    end();
}

static redtune_status open_with(const redtune_options *options, const redtune_problem *problem,
                                redtune **opened, redtune_plan **plan) {
    redtune_status status = redtune_open(options, opened, &err);
    return status ? status : redtune_plan_create(*opened, problem, plan, &err);
}

static const char *config_now(const redtune_plan *plan, redtune_info *info) {
    redtune_plan_info(plan, info);
    return info->config;
}

/* Blocks with tables of their own take more memory than those that share one. */
FACT(a_workspace_of_a_pending_plan_serves_it_ever_after) {
    char cache[] = "/tmp/redtune-test-XXXXXX";
    const redtune_options options = {.database = "/nowhere/at/all.db", .background = 1};
    redtune *opened = NULL;
    redtune_plan *plan = NULL;
    redtune_workspace *workspace = NULL;
    redtune_info info;
    trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 50, 20000);
    begin();
    CHECK(mkdtemp(cache) != NULL);
    setenv("XDG_CACHE_HOME", cache, 1);
    at.p.config = "keyed:tables=shared";
    CHECK_OK(open_with(&options, &at.p, &opened, &plan), err);
    redtune_plan_destroy(plan);
    redtune_close(opened);
    at.p.config = NULL;
    CHECK_OK(open_with(&options, &at.p, &opened, &plan), err);
    CHECK_CONTAINS(config_now(plan, &info), "tables=shared");
    CHECK_INT(info.pending, 1);
    const size_t bytes = redtune_keyed_workspace_bytes(plan);
    CHECK_OK(redtune_workspace_create(opened, NULL, bytes, gpu.stream, &workspace, &err), err);
    for (int i = 0; i < 2; i++) {
        redtune_keyed keyed = keyed_of(&at);
        keyed.workspace = workspace;
        fill(&at);
        upload();
        CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
        check_outputs(&at);
        for (int waited = 0; info.pending && waited < 6000; waited++) {
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
            redtune_plan_info(plan, &info);
        }
    }
    CHECK_CONTAINS(info.config, "tables=private");
    CHECK(redtune_keyed_workspace_bytes(plan) == bytes);
    redtune_workspace_destroy(workspace);
    redtune_plan_destroy(plan);
    redtune_close(opened);
    folder_remove(cache);
    end();
}

typedef struct bytes {
    const unsigned char *next;
    size_t left;
} bytes;

static redtune_status read_bytes(void *user, void *buffer, size_t capacity, size_t *given,
                                 redtune_error *e) {
    bytes *self = user;
    (void)e;
    *given = self->left < capacity ? self->left : capacity;
    memcpy(buffer, self->next, *given);
    self->next += *given;
    self->left -= *given;
    return REDTUNE_OK;
}

static redtune_status reduce_on_host(const trial *at, size_t keys_less, void *results, size_t room,
                                     redtune_reading *reading) {
    bytes from[] = {{values, at->count * at->width * redtune_dtype_bytes(at->p.dtype)},
                    {keys, (at->count - keys_less) * redtune_dtype_bytes(at->p.key_dtype)}};
    const uint64_t elements = at->count * at->width;
    const bool two = rdt_op_find(at->p.op)->inputs > 1;
    bytes y = {seconds, elements * redtune_dtype_bytes(at->p.dtype)}, there = {mask, elements};
    const redtune_input of_mask = {.read = read_bytes, .user = &there},
                        *beside = at->p.mask ? &of_mask : NULL,
                        of_y = {.read = read_bytes, .user = &y, .second = beside};
    const redtune_input second = {
        .read = read_bytes, .user = &from[1], .second = two ? &of_y : beside};
    const redtune_input input = {.read = read_bytes, .user = &from[0], .second = &second};
    return redtune_reduce_array(rt, &at->p, &input, results, room, reading, &err);
}

/* They are what those of the GPU are. */
FACT(arrays_of_the_host_are_reduced_too) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MAX_AT, REDTUNE_MEAN, REDTUNE_WMEAN};
    static unsigned char got[OUT_ROOM];
    begin();
    for (int i = 0; i < 8 && !check_state.failed; i++) {
        trial at = i % 2 ? trial_of_rows(ops[i / 2], REDTUNE_F32, REDTUNE_I64, 9, 1000, 7)
                         : trial_of(ops[i / 2], REDTUNE_F32, REDTUNE_U8, 90, 3000);
        redtune_reading reading;
        redtune_dtype dtypes[2];
        at.pattern = OUTSIDE;
        at.p.mask = i == 2 || i > 4 ? REDTUNE_MASK_BYTES : REDTUNE_MASK_NONE;
        run(&at);
        memset(got, POISON, sizeof got);
        CHECK_OK(redtune_problem_results(&at.p, dtypes, &err), err);
        CHECK_OK(reduce_on_host(&at, 0, got, sizeof got, &reading), err);
        size_t begin_at = 0;
        for (int k = 0; k < 2 && dtypes[k]; k++) {
            static unsigned char want[OUT_ROOM];
            const size_t size = at.p.keys * at.width * redtune_dtype_bytes(dtypes[k]);
            CHECK_OK(
                rdt_buffer_read(gpu.driver, want, out[k].address + MARGIN, size, gpu.stream, &err),
                err);
            CHECK(!memcmp(got + begin_at, want, size));
            begin_at = (begin_at + size + 15) / 16 * 16;
        }
        CHECK(got[begin_at] == POISON && reading.count == at.count * at.width);
        CHECK_FAILS(reduce_on_host(&at, 0, got, 8, &reading), REDTUNE_INVALID, err, "into 8 bytes");
        CHECK_FAILS(reduce_on_host(&at, 1, got, sizeof got, &reading), REDTUNE_INVALID, err,
                    "fewer keys than the problem");
    }
    end();
}

FACT(what_makes_no_sense_is_refused) {
    begin();
    const trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 10, 100);
    redtune_keyed keyed = keyed_of(&at);
    redtune_problem p = at.p;
#define REFUSED(status, part)                                                                      \
    CHECK_FAILS(redtune_run_keyed(rt, &p, &keyed, gpu.stream, &err), status, err, part);           \
    keyed = keyed_of(&at);                                                                         \
    p = at.p
    p.mask = REDTUNE_MASK_BYTES;
    REFUSED(REDTUNE_INVALID, "d_mask is NULL");
    p.op = REDTUNE_DOT;
    REFUSED(REDTUNE_INVALID, "d_second is NULL, and it has two inputs");
    p.op = REDTUNE_DOT;
    p.mask = REDTUNE_MASK_BYTES;
    keyed.d_second = keyed.d_in;
    REFUSED(REDTUNE_INVALID, "d_mask is NULL");
    p.op = REDTUNE_DOT;
    p.mask = REDTUNE_MASK_BYTES;
    keyed.d_second = keyed.d_in;
    keyed.d_mask = keyed.d_out[0];
    REFUSED(REDTUNE_INVALID, "within the mask");
    keyed.d_second = keyed.d_in;
    REFUSED(REDTUNE_INVALID, "d_second is not NULL, and it has one input");
    keyed.d_mask = keyed.d_in;
    REFUSED(REDTUNE_INVALID, "d_mask is not NULL");
    p.mask = REDTUNE_MASK_BYTES;
    keyed.d_mask = keyed.d_out[0];
    REFUSED(REDTUNE_INVALID, "within the mask");
    p.op = REDTUNE_DOT;
    keyed.d_second = (const char *)keyed.d_in + 2;
    REFUSED(REDTUNE_INVALID, "d_second must be aligned to 4 bytes");
    p.op = REDTUNE_DOT;
    keyed.d_second = keyed.d_out[0];
    REFUSED(REDTUNE_INVALID, "within the second input");
    p.kept_axes = 1;
    p.kept[0].size = 3;
    REFUSED(REDTUNE_UNSUPPORTED, "whose columns");
    p.uses = REDTUNE_USE_DEVICE_COUNT;
    REFUSED(REDTUNE_UNSUPPORTED, "d_count");
    p.keys = 0;
    REFUSED(REDTUNE_INVALID, "by 0 keys");
    p.key_dtype = REDTUNE_F32;
    REFUSED(REDTUNE_INVALID, "keys are integers");
    p.key_dtype = REDTUNE_DTYPE_NONE;
    REFUSED(REDTUNE_INVALID, "key_dtype is 0");
    keyed.keys = 9;
    REFUSED(REDTUNE_INVALID, "keyed->keys is 9");
    keyed.d_keys = (const char *)keyed.d_keys + 1;
    REFUSED(REDTUNE_INVALID, "d_keys must be aligned to 4 bytes");
    keyed.d_out[0] = NULL;
    REFUSED(REDTUNE_INVALID, "d_out must be");
    keyed.d_out[0] = (void *)(uintptr_t)memory[1].address;
    REFUSED(REDTUNE_INVALID, "within the keys");
    keyed.d_skipped = keyed.d_out[0];
    REFUSED(REDTUNE_INVALID, "within d_skipped");
#undef REFUSED
    redtune_plan *plan = NULL;
    const redtune_operands operands = {
        .d_in = {keyed.d_in}, .d_out = {keyed.d_out[0]}, .count = 100};
    CHECK_FAILS(redtune_run(rt, &p, &operands, gpu.stream, &err), REDTUNE_UNSUPPORTED, err,
                "redtune_run_keyed");
    CHECK_OK(redtune_plan_create(rt, &p, &plan, &err), err);
    CHECK_FAILS(redtune_plan_run(plan, &operands, gpu.stream, &err), REDTUNE_INVALID, err,
                "without their keys");
    keyed.keys = 11;
    CHECK_FAILS(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), REDTUNE_INVALID, err,
                "by 11 keys with a plan of 10");
    redtune_plan_destroy(plan);
    end();
}

int main(int argc, char **argv) {
    /* So that blocks' own tables of 50 keys take more than every workspace has room for. */
    setenv("REDTUNE_SIM_SMS", "512", 0);
    return run_facts(argc, argv);
}
