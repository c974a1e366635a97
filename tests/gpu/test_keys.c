/* Facts about reductions by key, by redtune/keys.h: kernels by their configs, every op, random
 * problems, hot keys, keys at the limits of their dtypes, captures, streams side by side, and what
 * is refused. Elements are small whole numbers, so that sums are exact; what is right is computed
 * by tests/reference.h and tests/results.h of each key's elements. What lies around the results is
 * poison and stays. */
#include "redtune/keys.h"
#include <inttypes.h>
#include <math.h>
#include "check.h"
#include "device.h"
#include "draw.h"
#include "gpu/graph.h"
#include "model/scalar.h"
#include "reference.h"
#include "results.h"

enum { ROOM = 24000, OUT_ROOM = 70000, MARGIN = 16, POISON = 0xa5 };
/* How keys are drawn. */
typedef enum pattern { UNIFORM, ONE, SORTED, HOT, OUTSIDE, PATTERNS } pattern;

static redtune_error err;
static device gpu;
static redtune *rt;
static unsigned char values[ROOM * 8 + 16], keys[ROOM * 8 + 16]; /* as they are in memory */
static int64_t key_of[ROOM];                                     /* -1: out of range */
static rdt_buffer memory[2], out[2], skipped; /* elements and keys; the results */

/* A problem, and by how many elements x and the keys lie off. */
typedef struct trial {
    redtune_problem p;
    uint64_t count;
    size_t x_off, key_off;
    pattern pattern;
} trial;

#define NEED_GPU()                                                                                 \
    do {                                                                                           \
        if (!gpu.context) SKIP("there is no GPU");                                                 \
    } while (0)

/* Without a database, so that the built-in default runs. */
static void begin(void) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rdt_buffer_create(gpu.driver, sizeof values, &memory[i], &err), err);
        CHECK_OK(rdt_buffer_create(gpu.driver, OUT_ROOM * 8 + 2 * MARGIN, &out[i], &err), err);
    }
    CHECK_OK(rdt_buffer_create(gpu.driver, 8, &skipped, &err), err);
}

static void end(void) {
    redtune_close(rt);
    rt = NULL;
    for (int i = 0; i < 2; i++) {
        rdt_buffer_destroy(&memory[i]);
        rdt_buffer_destroy(&out[i]);
    }
    rdt_buffer_destroy(&skipped);
}

/* ---- problems -------------------------------------------------------------------------------- */

static trial trial_of(redtune_op op, redtune_dtype dtype, redtune_dtype key, uint64_t k,
                      uint64_t count) {
    return (trial){.p = redtune_problem_by_key(op, dtype, key, k, count), .count = count};
}

/* A key that the dtype has and that is not below K, or -1 where there is none: its least, its
 * greatest, and the one that is just too large. */
static int64_t draw_outside(redtune_dtype dtype, uint64_t k, bool *is_there) {
    const int bits = 8 * (int)redtune_dtype_bytes(dtype);
    const bool has_sign = rdt_scalar_is_signed(dtype);
    const uint64_t greatest = UINT64_MAX >> (64 - bits + has_sign);
    const uint64_t choice = draw(3);
    *is_there = true;
    if (choice == 0 && has_sign) return -(int64_t)(greatest >> draw((uint64_t)bits - 1)) - 1;
    *is_there = greatest >= k;
    return (int64_t)(choice == 1 ? greatest : k);
}

static int64_t draw_key(const trial *at, uint64_t i) {
    uint64_t k = at->p.keys;
    const int bits = 8 * (int)redtune_dtype_bytes(at->p.key_dtype);
    const uint64_t most = UINT64_MAX >> (64 - bits + rdt_scalar_is_signed(at->p.key_dtype));
    if (k - 1 > most) k = most + 1;
    switch (at->pattern) {
    case ONE: return (int64_t)(k - 1);
    case SORTED: return (int64_t)(i * k / at->count);
    case HOT: return (int64_t)(draw(10) ? k / 2 : draw(k));
    case UNIFORM:
    case OUTSIDE:
    case PATTERNS: break;
    }
    return (int64_t)draw(k);
}

static void fill(const trial *at) {
    const redtune_dtype dtype = at->p.dtype, key = at->p.key_dtype;
    const bool has_sign = rdt_scalar_is_float(dtype) || rdt_scalar_is_signed(dtype);
    memset(values, POISON, sizeof values);
    memset(keys, POISON, sizeof keys);
    for (uint64_t i = 0; i < at->count; i++) {
        bool is_there = false;
        int64_t k =
            at->pattern == OUTSIDE && draw(3) == 0 ? draw_outside(key, at->p.keys, &is_there) : 0;
        key_of[i] = -1;
        if (!is_there) key_of[i] = k = draw_key(at, i);
        const redtune_value stored = rdt_scalar_from_bits(key, (uint64_t)k);
        const size_t bytes = redtune_dtype_bytes(key);
        memcpy(keys + (at->key_off + i) * bytes, &stored, bytes);
        const int64_t x = at->p.op == REDTUNE_PROD || at->p.op == REDTUNE_NANPROD
                              ? (int64_t)draw(40) / 39 + 1
                              : (int64_t)draw(9) - (has_sign ? 4 : 0);
        rdt_scalar_store(dtype, values, at->x_off + i, x);
    }
}

static void upload(void) {
    const unsigned char *from[] = {values, keys};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rdt_buffer_write(gpu.driver, memory[i].address, from[i], sizeof values, gpu.stream,
                                  &err),
                 err);
        gpu.driver->memset_d8_async(out[i].address, POISON, OUT_ROOM * 8 + 2 * MARGIN, gpu.stream);
    }
    gpu.driver->memset_d8_async(skipped.address, 0, 8, gpu.stream);
}

static redtune_keyed keyed_of(const trial *at) {
    redtune_dtype results[2] = {REDTUNE_DTYPE_NONE, REDTUNE_DTYPE_NONE};
    redtune_problem_results(&at->p, results, NULL);
    redtune_keyed keyed = {
        .d_in = (char *)(uintptr_t)memory[0].address + at->x_off * redtune_dtype_bytes(at->p.dtype),
        .d_keys = (char *)(uintptr_t)memory[1].address +
                  at->key_off * redtune_dtype_bytes(at->p.key_dtype),
        .count = at->count,
        .d_out = {(char *)(uintptr_t)out[0].address + MARGIN},
        .d_skipped = (void *)(uintptr_t)skipped.address,
    };
    if (results[1]) keyed.d_out[1] = (char *)(uintptr_t)out[1].address + MARGIN;
    return keyed;
}

/* ---- what is right --------------------------------------------------------------------------- */

static void describe(const trial *at, char *text, size_t bytes) {
    snprintf(text, bytes, "%s of %" PRIu64 " %s by %" PRIu64 " %s, pattern %d, off %zu %zu, %s",
             redtune_op_name(at->p.op), at->count, redtune_dtype_name(at->p.dtype), at->p.keys,
             redtune_dtype_name(at->p.key_dtype), at->pattern, at->x_off, at->key_off,
             at->p.config ? at->p.config : "by default");
}

/* Whether result i of a key, whose elements are these, is right. Indices count through all. */
static bool is_right(const redtune_problem *plain, int i, redtune_value got, const void *elements,
                     const int64_t *places, uint64_t count) {
    const results_input input = {.x = elements, .count = count};
    redtune_dtype dtypes[2];
    results right = {.exact = {0}};
    redtune_problem_results(plain, dtypes, NULL);
    if ((int)plain->op < RDT_REFERENCE_OPS) {
        rdt_reference first;
        rdt_reference_reduce(plain, elements, count, &first);
        right.value[0] = first.value;
        right.exact[0] = first.exact;
        right.magnitude[0] = first.magnitude;
    } else {
        results_reduce(plain, &input, &right);
    }
    redtune_value want = right.value[i];
    const bool index =
        rdt_op_find(plain->op)->indexed && dtypes[i] == REDTUNE_I64 && (i == 1 || !dtypes[1]);
    if (index && want.i64 >= 0) want.i64 = places[want.i64];
    if (index) return got.i64 == want.i64;
    return rdt_scalar_same(dtypes[i], &got, &want) ||
           results_agree(plain, i, &got, &right, count, (double)count + 8);
}

static void check_result(const trial *at, const redtune_problem *plain, int i, uint64_t k,
                         const unsigned char *got, size_t bytes) {
    static unsigned char own[ROOM * 8];
    static int64_t places[ROOM];
    const size_t each = redtune_dtype_bytes(at->p.dtype);
    char text[400];
    uint64_t count = 0;
    for (uint64_t e = 0; e < at->count; e++) {
        if (key_of[e] != (int64_t)k) continue;
        memcpy(own + count * each, values + (at->x_off + e) * each, each);
        places[count++] = (int64_t)e;
    }
    redtune_value value = {.u64 = 0};
    memcpy(&value, got + MARGIN + k * bytes, bytes);
    describe(at, text, sizeof text);
    check_that(is_right(plain, i, value, own, places, count), __FILE__, __LINE__,
               "result %d of key %" PRIu64 ", of %" PRIu64 " elements, is %g: %s", i, k, count,
               redtune_value_real(i ? REDTUNE_F64 : plain->result, &value), text);
}

static void check_poison(const trial *at, int i, const unsigned char *got, size_t bytes) {
    const size_t begin = MARGIN, end = begin + at->p.keys * bytes;
    size_t k = 0;
    char text[400];
    describe(at, text, sizeof text);
    while (k < OUT_ROOM * 8 + 2 * MARGIN && (got[k] == POISON || (k >= begin && k < end))) k++;
    check_that(k == OUT_ROOM * 8 + 2 * MARGIN, __FILE__, __LINE__,
               "byte %zu of output %d is written: %s", k, i, text);
}

/* Of many keys some. */
static void check_outputs(const trial *at) {
    static unsigned char got[OUT_ROOM * 8 + 2 * MARGIN];
    enum { LOOKED_AT = 24 };
    redtune_dtype results[2];
    redtune_problem plain = redtune_problem_whole(at->p.op, at->p.dtype, at->count);
    plain.result = at->p.result;
    CHECK_OK(rdt_problem_resolve(&plain, &plain, &err), err);
    CHECK_OK(redtune_problem_results(&at->p, results, &err), err);
    for (int i = 0; i < 2 && results[i]; i++) {
        const size_t bytes = redtune_dtype_bytes(results[i]);
        CHECK_OK(rdt_buffer_read(gpu.driver, got, out[i].address, sizeof got, gpu.stream, &err),
                 err);
        const uint64_t step = at->p.keys / LOOKED_AT + 1;
        for (uint64_t k = 0; k < at->p.keys && !check_state.failed; k += step)
            check_result(at, &plain, i, k, got, bytes);
        check_result(at, &plain, i, at->p.keys - 1, got, bytes);
        check_poison(at, i, got, bytes);
    }
    uint64_t outside = 0, counted = 0;
    for (uint64_t e = 0; e < at->count; e++) outside += key_of[e] < 0;
    CHECK_OK(rdt_buffer_read(gpu.driver, &counted, skipped.address, 8, gpu.stream, &err), err);
    CHECK_INT(counted, outside);
}

static void run(const trial *at) {
    const redtune_keyed keyed = keyed_of(at);
    fill(at);
    upload();
    CHECK_OK(redtune_run_keyed(rt, &at->p, &keyed, gpu.stream, &err), err);
    check_outputs(at);
}

static void run_plan(const trial *at) {
    const redtune_keyed keyed = keyed_of(at);
    redtune_plan *plan = NULL;
    fill(at);
    upload();
    CHECK_OK(redtune_plan_create(rt, &at->p, &plan, &err), err);
    CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
    check_outputs(at);
    redtune_plan_destroy(plan);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static const redtune_dtype key_dtypes[] = {REDTUNE_I32, REDTUNE_I64, REDTUNE_U8,  REDTUNE_U32,
                                           REDTUNE_I8,  REDTUNE_U64, REDTUNE_I16, REDTUNE_U16};

static void draw_the_rest(trial *at) {
    at->x_off = draw(3) ? 0 : draw(8);
    at->key_off = draw(2) ? at->x_off : draw(8);
    at->pattern = (pattern)draw(PATTERNS);
}

static void kernels_are_right_whatever_the_problem(void) {
    NEED_GPU();
    static const struct {
        const char *config;
        redtune_op op;
        redtune_dtype dtype;
    } kernels[] = {
        {"keyed:block=256,tables=shared,copies=4,vec=4,unroll=2,agree=yes", REDTUNE_SUM,
         REDTUNE_F32},
        {"keyed:block=64,tables=shared,copies=16,vec=1,unroll=4,agree=no", REDTUNE_SUM,
         REDTUNE_I32},
        {"keyed:block=128,tables=shared,copies=1,vec=8,unroll=1,agree=yes", REDTUNE_MEAN,
         REDTUNE_F16},
        {"keyed:block=512,tables=shared,copies=2,vec=2,unroll=1,agree=yes", REDTUNE_MAX,
         REDTUNE_F64},
        {"keyed:block=32,tables=shared,copies=8,vec=4,unroll=2,agree=no", REDTUNE_PROD,
         REDTUNE_I16},
        {"keyed:block=256,tables=global,copies=1,vec=4,unroll=1,agree=yes", REDTUNE_SUM,
         REDTUNE_BF16},
        {"keyed:block=128,tables=global,copies=1,vec=1,unroll=2,agree=no", REDTUNE_MIN, REDTUNE_I8},
        {"keyed:block=64,tables=global,copies=1,vec=2,unroll=4,agree=yes", REDTUNE_SUM_SUMSQ,
         REDTUNE_F32},
        {"keyed:block=128,tables=private,copies=1,vec=4,unroll=2,agree=no", REDTUNE_SUM,
         REDTUNE_F32},
        {"keyed:block=32,tables=private,copies=1,vec=1,unroll=1,agree=no", REDTUNE_MAX_AT,
         REDTUNE_F32},
        {"keyed:block=128,tables=private,copies=1,vec=8,unroll=1,agree=no", REDTUNE_MEAN_VAR,
         REDTUNE_F16},
        {"keyed:block=128,tables=warps,copies=1,vec=4,unroll=2,agree=yes", REDTUNE_MAX_AT,
         REDTUNE_F32},
        {"keyed:block=64,tables=warps,copies=1,vec=2,unroll=1,agree=no", REDTUNE_MEAN_VAR,
         REDTUNE_F64},
    };
    begin();
    for (size_t c = 0; c < sizeof kernels / sizeof *kernels; c++) {
        draw_from(c);
        for (int i = 0; i < 6 && !check_state.failed; i++) {
            /* mean_var's columns of more keys do not fit the least GPU. */
            const uint64_t most = i % 2 && kernels[c].op != REDTUNE_MEAN_VAR ? 60 : 7;
            const uint64_t k = i == 3 ? 1 : 1 + draw(most), n = i ? 1 + draw(9000) : 0;
            trial at = trial_of(kernels[c].op, kernels[c].dtype, key_dtypes[(c + i / 3) % 8], k, n);
            draw_the_rest(&at);
            at.p.config = kernels[c].config;
            run_plan(&at);
        }
    }
    end();
}

/* Each as its default makes it, by few keys, by more of them than columns fit, and by more than a
 * warp's table, where there is a way; what is refused says why. */
static void every_op_is_right(void) {
    NEED_GPU();
    static const redtune_dtype dtypes[] = {REDTUNE_F32,  REDTUNE_I32, REDTUNE_F64, REDTUNE_U8,
                                           REDTUNE_BF16, REDTUNE_I64, REDTUNE_E5M2};
    begin();
    int many = 0, refused = 0;
    for (int op = 0; op < rdt_op_compiled_in.count && !check_state.failed; op++) {
        const rdt_op_traits *traits = &rdt_op_compiled_in.entry[op];
        redtune_plan *plan = NULL;
        redtune_dtype result;
        draw_from((uint64_t)op);
        trial at = trial_of((redtune_op)op, dtypes[op % 7], key_dtypes[op % 2], 5, 700);
        if (traits->inputs > 1) {
            CHECK_FAILS(redtune_plan_create(rt, &at.p, &plan, &err), REDTUNE_UNSUPPORTED, err,
                        "two inputs");
            continue;
        }
        for (int i = op; redtune_problem_result(&at.p, &result, NULL); i++)
            at.p.dtype = dtypes[i % 7];
        at.pattern = (pattern)(op % PATTERNS);
        run(&at);
        at.p.keys = 1500; /* a table of 40 bytes each fits the 64 KiB of sm_75 */
        run(&at);
        at.p.keys = 30000;
        const redtune_status status = redtune_prepare(rt, &at.p, 1, &err);
        many += !status;
        refused += status == REDTUNE_UNSUPPORTED;
        if (status)
            CHECK_CONTAINS(err.message, "no atomic operation combines accumulators of");
        else
            run(&at);
    }
    CHECK(many >= 24 && refused >= 8);
    printf("    %d ops by 30000 keys, %d by fewer only\n", many, refused);
    end();
}

static void random_problems_are_right(void) {
    NEED_GPU();
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MAX, REDTUNE_MEAN};
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I32};
    begin();
    draw_from(1);
    for (int i = 0; i < 90 && !check_state.failed; i++) {
        const uint64_t k = (uint64_t)1 << draw(i % 3 ? 8 : 17);
        trial at =
            trial_of(ops[i % 3], dtypes[i / 3 % 2], key_dtypes[i % 2],
                     1 + draw(k < OUT_ROOM ? k : OUT_ROOM), 1 + draw(i % 8 ? 4000 : ROOM - 8));
        draw_the_rest(&at);
        run(&at);
    }
    end();
}

/* Where f32 had stopped counting; 2^24 + 20000 is an f32. */
static void a_hot_key_counts_beyond_2_to_the_24(void) {
    NEED_GPU();
    static const char *const tables[] = {"shared", "global", "private"};
    begin();
    for (int i = 0; i < 3; i++) {
        char config[64];
        float sum = 0;
        redtune_plan *plan = NULL;
        trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 3, 20001);
        snprintf(config, sizeof config, "keyed:tables=%s,copies=1,agree=no", tables[i]);
        at.p.config = config;
        at.pattern = ONE;
        fill(&at);
        for (uint64_t e = 0; e < at.count; e++) rdt_scalar_store(REDTUNE_F32, values, e, 1);
        rdt_scalar_store(REDTUNE_F32, values, 0, 1 << 24);
        upload();
        const redtune_keyed keyed = keyed_of(&at);
        CHECK_OK(redtune_plan_create(rt, &at.p, &plan, &err), err);
        CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
        CHECK_OK(
            rdt_buffer_read(gpu.driver, &sum, out[0].address + MARGIN + 8, 4, gpu.stream, &err),
            err);
        CHECK(sum == 16797216.0f);
        redtune_plan_destroy(plan);
    }
    end();
}

static void results_go_on_from_what_there_is(void) {
    NEED_GPU();
    begin();
    for (int i = 0; i < 4 && !check_state.failed; i++) {
        const bool begins = i % 2;
        const redtune_value initial = {.f32 = 100};
        const uint64_t k = i < 2 ? 4 : 3000;
        float got[4], before[4];
        trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, k, 500);
        redtune_keyed keyed = keyed_of(&at);
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

static void what_is_captured_runs_again(void) {
    NEED_GPU();
    begin();
    for (int i = 0; i < 3 && !check_state.failed; i++) {
        static const uint64_t key_counts[] = {4, 2000, 60000};
        trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, key_counts[i], 3000);
        const redtune_keyed keyed = keyed_of(&at);
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
static void streams_run_side_by_side(void) {
    NEED_GPU();
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

static void a_workspace_has_room_for_the_table(void) {
    NEED_GPU();
    begin();
    redtune_plan *plan = NULL;
    redtune_workspace *small = NULL, *large = NULL;
    trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 60000, 3000);
    redtune_keyed keyed = keyed_of(&at);
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
    end();
}

static void what_makes_no_sense_is_refused(void) {
    NEED_GPU();
    begin();
    const trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 10, 100);
    redtune_keyed keyed = keyed_of(&at);
    redtune_problem p = at.p;
#define REFUSED(status, part)                                                                      \
    CHECK_FAILS(redtune_run_keyed(rt, &p, &keyed, gpu.stream, &err), status, err, part);           \
    keyed = keyed_of(&at);                                                                         \
    p = at.p
    p.order = REDTUNE_ORDER_FIXED;
    REFUSED(REDTUNE_UNSUPPORTED, "in fixed order");
    p.accuracy = REDTUNE_ACCURACY_COMPENSATED;
    REFUSED(REDTUNE_UNSUPPORTED, "accuracy");
    p.mask = REDTUNE_MASK_BYTES;
    REFUSED(REDTUNE_UNSUPPORTED, "with a mask");
    p.kept_axes = 1;
    p.kept[0].size = 3;
    REFUSED(REDTUNE_UNSUPPORTED, "in one axis");
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
    static const check_fact facts[] = {
        FACT(kernels_are_right_whatever_the_problem),
        FACT(every_op_is_right),
        FACT(random_problems_are_right),
        FACT(a_hot_key_counts_beyond_2_to_the_24),
        FACT(results_go_on_from_what_there_is),
        FACT(what_is_captured_runs_again),
        FACT(streams_run_side_by_side),
        FACT(a_workspace_has_room_for_the_table),
        FACT(what_makes_no_sense_is_refused),
    };
    if (device_open(&gpu, &err)) fprintf(stderr, "no GPU: %s\n", err.message);
    const int rc = check_run(facts, sizeof facts / sizeof *facts, argc, argv);
    device_close(&gpu);
    return rc;
}
