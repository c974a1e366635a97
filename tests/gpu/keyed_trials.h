/* Keyed trials: reductions by key as the tests of redtune/keys.h run them. Elements are small whole
 * numbers, so that sums are exact; what is right is computed by tests/reference.h and
 * tests/results.h of each key's elements. What lies around the results is poison and stays. */
#pragma once

#include "redtune/keys.h"
#include <inttypes.h>
#include <math.h>
#include "check.h"
#include "device.h"
#include "draw.h"
#include "model/scalar.h"
#include "reference.h"
#include "results.h"

enum { ROOM = 24000, OUT_ROOM = 70000, MARGIN = 16, POISON = 0xa5 };
/* How keys are drawn; of GONE, stretches of equal ones are out of range. */
typedef enum pattern { UNIFORM, ONE, SORTED, HOT, OUTSIDE, GONE, PATTERNS } pattern;

static redtune_error err;
static device gpu;
static redtune *rt;
static unsigned char values[ROOM * 8 + 16], keys[ROOM * 8 + 16]; /* as they are in memory */
static unsigned char seconds[ROOM * 8 + 16], mask[ROOM * 8 + 16];
static int64_t key_of[ROOM]; /* -1: out of range */
enum { SECONDS = 2, MASK, ARRAYS };
static rdt_buffer memory[ARRAYS], out[2], skipped; /* elements, keys, what is beside; the results */
static int times = 1;                              /* that each element counts in the results */

/* A problem, and by how many elements x and the keys lie off. */
typedef struct trial {
    redtune_problem p;
    uint64_t count;                         /* of keys */
    uint64_t width;                         /* of the rows that have one each; 1: elements have */
    size_t x_off, key_off, y_off, mask_off; /* the latter of bytes, or bits */
    pattern pattern;
} trial;

/* Without a database, so that the built-in default runs. */
static inline void begin(void) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    for (int i = 0; i < ARRAYS; i++)
        CHECK_OK(rdt_buffer_create(gpu.driver, sizeof values, &memory[i], &err), err);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rdt_buffer_create(gpu.driver, OUT_ROOM * 8 + 2 * MARGIN, &out[i], &err), err);
    }
    CHECK_OK(rdt_buffer_create(gpu.driver, 8, &skipped, &err), err);
}

static inline void end(void) {
    redtune_close(rt);
    rt = NULL;
    for (int i = 0; i < ARRAYS; i++) rdt_buffer_destroy(&memory[i]);
    for (int i = 0; i < 2; i++) {
        rdt_buffer_destroy(&out[i]);
    }
    rdt_buffer_destroy(&skipped);
}

/* ---- problems -------------------------------------------------------------------------------- */

static inline trial trial_of(redtune_op op, redtune_dtype dtype, redtune_dtype key, uint64_t k,
                             uint64_t count) {
    return (trial){
        .p = redtune_problem_by_key(op, dtype, key, k, count), .count = count, .width = 1};
}

static inline trial trial_of_rows(redtune_op op, redtune_dtype dtype, redtune_dtype key, uint64_t k,
                                  uint64_t rows, uint64_t width) {
    return (trial){.p = redtune_problem_rows_by_key(op, dtype, key, k, rows, width),
                   .count = rows,
                   .width = width};
}

/* A key that the dtype has and that is not below K, or -1 where there is none: its least, its
 * greatest, and the one that is just too large. */
static inline int64_t draw_outside(redtune_dtype dtype, uint64_t k, uint64_t choice,
                                   bool *is_there) {
    const int bits = 8 * (int)redtune_dtype_bytes(dtype);
    const bool has_sign = rdt_scalar_is_signed(dtype);
    const uint64_t greatest = UINT64_MAX >> (64 - bits + has_sign);
    *is_there = true;
    if (choice == 0 && has_sign) return -(int64_t)(greatest >> draw((uint64_t)bits - 1)) - 1;
    *is_there = greatest >= k;
    return (int64_t)(choice == 1 ? greatest : k);
}

static inline int64_t draw_key(const trial *at, uint64_t i) {
    uint64_t k = at->p.keys;
    const int bits = 8 * (int)redtune_dtype_bytes(at->p.key_dtype);
    const uint64_t most = UINT64_MAX >> (64 - bits + rdt_scalar_is_signed(at->p.key_dtype));
    if (k - 1 > most) k = most + 1;
    switch (at->pattern) {
    case ONE: return (int64_t)(k - 1);
    case SORTED: return (int64_t)(i * k / at->count);
    case HOT: return (int64_t)(draw(10) ? k / 2 : draw(k));
    case UNIFORM:
    case GONE:
    case OUTSIDE:
    case PATTERNS: break;
    }
    return (int64_t)draw(k);
}

static inline bool is_there(const trial *at, uint64_t element) {
    const uint64_t i = at->mask_off + element;
    if (at->p.mask == REDTUNE_MASK_BITS) return mask[i / 8] >> i % 8 & 1;
    return !at->p.mask || mask[i];
}

/* A byte or bit beside each element, in stretches, and second inputs. */
static inline void fill_beside(const trial *at) {
    const bool has_sign = rdt_scalar_is_float(at->p.dtype) || rdt_scalar_is_signed(at->p.dtype);
    memset(seconds, POISON, sizeof seconds);
    memset(mask, POISON, sizeof mask);
    for (uint64_t i = 0; i < at->count * at->width; i++) {
        const uint64_t bit = at->mask_off + i;
        const bool there = i / 500 % 4 == 1 ? i / 500 % 8 == 1 : draw(3) > 0;
        rdt_scalar_store(at->p.dtype, seconds, at->y_off + i,
                         (int64_t)draw(7) - (has_sign ? 3 : 0));
        if (at->p.mask == REDTUNE_MASK_BITS)
            mask[bit / 8] =
                (unsigned char)((mask[bit / 8] & ~(1u << bit % 8)) | (unsigned)there << bit % 8);
        else
            mask[bit] = there ? (unsigned char)(1u << draw(8)) : 0;
    }
}

static inline void fill(const trial *at) {
    const redtune_dtype dtype = at->p.dtype, key = at->p.key_dtype;
    const bool has_sign = rdt_scalar_is_float(dtype) || rdt_scalar_is_signed(dtype);
    memset(values, POISON, sizeof values);
    memset(keys, POISON, sizeof keys);
    for (uint64_t i = 0; i < at->count; i++) {
        bool is_there = false;
        int64_t k = 0;
        if (at->pattern == OUTSIDE && draw(3) == 0)
            k = draw_outside(key, at->p.keys, draw(3), &is_there);
        if (at->pattern == GONE && i / 300 % 2) k = draw_outside(key, at->p.keys, 1, &is_there);
        key_of[i] = -1;
        if (!is_there) key_of[i] = k = draw_key(at, i);
        const redtune_value stored = rdt_scalar_from_bits(key, (uint64_t)k);
        const size_t bytes = redtune_dtype_bytes(key);
        memcpy(keys + (at->key_off + i) * bytes, &stored, bytes);
    }
    for (uint64_t i = 0; i < at->count * at->width; i++) {
        const int64_t x = at->p.op == REDTUNE_PROD || at->p.op == REDTUNE_NANPROD
                              ? (int64_t)draw(40) / 39 + 1
                              : (int64_t)draw(9) - (has_sign ? 4 : 0);
        rdt_scalar_store(dtype, values, at->x_off + i, x);
    }
    if (at->p.mask || rdt_op_find(at->p.op)->inputs > 1) fill_beside(at);
}

static inline void upload(void) {
    const unsigned char *from[ARRAYS] = {values, keys, seconds, mask};
    for (int i = 0; i < ARRAYS; i++)
        CHECK_OK(rdt_buffer_write(gpu.driver, memory[i].address, from[i], sizeof values, gpu.stream,
                                  &err),
                 err);
    for (int i = 0; i < 2; i++) {
        gpu.driver->memset_d8_async(out[i].address, POISON, OUT_ROOM * 8 + 2 * MARGIN, gpu.stream);
    }
    gpu.driver->memset_d8_async(skipped.address, 0, 8, gpu.stream);
}

static inline redtune_keyed keyed_of(const trial *at) {
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
    const bool bits = at->p.mask == REDTUNE_MASK_BITS;
    if (at->p.mask)
        keyed.d_mask = (char *)(uintptr_t)memory[MASK].address + (bits ? 0 : at->mask_off);
    if (bits) keyed.mask_first = at->mask_off;
    if (rdt_op_find(at->p.op)->inputs > 1)
        keyed.d_second = (char *)(uintptr_t)memory[SECONDS].address +
                         at->y_off * redtune_dtype_bytes(at->p.dtype);
    if (results[1]) keyed.d_out[1] = (char *)(uintptr_t)out[1].address + MARGIN;
    return keyed;
}

/* ---- what is right --------------------------------------------------------------------------- */

static inline void describe(const trial *at, char *text, size_t bytes) {
    snprintf(
        text, bytes,
        "%s of %" PRIu64 " x %" PRIu64 " %s by %" PRIu64
        " %s, pattern %d, off %zu %zu %zu %zu, mask %d, %s, as %s, order %d, accuracy %d, times %d",
        redtune_op_name(at->p.op), at->count, at->width, redtune_dtype_name(at->p.dtype),
        at->p.keys, redtune_dtype_name(at->p.key_dtype), at->pattern, at->x_off, at->key_off,
        at->y_off, at->mask_off, (int)at->p.mask, at->p.config ? at->p.config : "by default",
        at->p.result ? redtune_dtype_name(at->p.result) : "usual", (int)at->p.order,
        (int)at->p.accuracy, times);
}

/* Whether result i of a key, whose elements are these, is right. Indices count through all. */
static inline bool is_right(const redtune_problem *plain, int i, redtune_value got,
                            const void *elements, const void *others, const int64_t *places,
                            uint64_t count) {
    const results_input input = {.x = elements, .y = others, .count = count};
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

static inline void check_result(const trial *at, const redtune_problem *plain, int i, uint64_t cell,
                                const unsigned char *got, size_t bytes) {
    static unsigned char own[ROOM * 8], others[ROOM * 8];
    static int64_t places[ROOM];
    const size_t each = redtune_dtype_bytes(at->p.dtype);
    char text[400];
    const uint64_t k = cell / at->width, column = cell % at->width;
    uint64_t count = 0;
    for (uint64_t e = 0; e < at->count; e++) {
        const uint64_t place = e * at->width + column;
        if (key_of[e] != (int64_t)k || !is_there(at, place)) continue;
        memcpy(own + count * each, values + (at->x_off + place) * each, each);
        memcpy(others + count * each, seconds + (at->y_off + place) * each, each);
        places[count++] = (int64_t)e;
    }
    if (times == 2) {
        memcpy(own + count * each, own, count * each);
        memcpy(others + count * each, others, count * each);
        count *= 2;
    }
    redtune_value value = {.u64 = 0};
    memcpy(&value, got + MARGIN + cell * bytes, bytes);
    describe(at, text, sizeof text);
    check_that(is_right(plain, i, value, own, others, places, count), __FILE__, __LINE__,
               "result %d of key %" PRIu64 ", of %" PRIu64 " elements, is %g: %s", i, k, count,
               redtune_value_real(i ? REDTUNE_F64 : plain->result, &value), text);
}

static inline void check_poison(const trial *at, int i, const unsigned char *got, size_t bytes) {
    const size_t begin = MARGIN, end = begin + at->p.keys * at->width * bytes;
    size_t k = 0;
    char text[400];
    describe(at, text, sizeof text);
    while (k < OUT_ROOM * 8 + 2 * MARGIN && (got[k] == POISON || (k >= begin && k < end))) k++;
    check_that(k == OUT_ROOM * 8 + 2 * MARGIN, __FILE__, __LINE__,
               "byte %zu of output %d is written: %s", k, i, text);
}

/* Of many keys some. */
static inline void check_outputs(const trial *at) {
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
        const uint64_t cells = at->p.keys * at->width, step = cells / LOOKED_AT + 1;
        for (uint64_t k = 0; k < cells && !check_state.failed; k += step)
            check_result(at, &plain, i, k, got, bytes);
        check_result(at, &plain, i, cells - 1, got, bytes);
        check_poison(at, i, got, bytes);
    }
    uint64_t outside = 0, counted = 0;
    for (uint64_t e = 0; e < at->count; e++)
        outside += key_of[e] < 0 && (at->width > 1 || is_there(at, e));
    CHECK_OK(rdt_buffer_read(gpu.driver, &counted, skipped.address, 8, gpu.stream, &err), err);
    CHECK_INT(counted, outside);
}

static inline void run(const trial *at) {
    const redtune_keyed keyed = keyed_of(at);
    fill(at);
    upload();
    CHECK_OK(redtune_run_keyed(rt, &at->p, &keyed, gpu.stream, &err), err);
    check_outputs(at);
}

static inline void run_plan(const trial *at) {
    const redtune_keyed keyed = keyed_of(at);
    redtune_plan *plan = NULL;
    fill(at);
    upload();
    CHECK_OK(redtune_plan_create(rt, &at->p, &plan, &err), err);
    CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
    check_outputs(at);
    redtune_plan_destroy(plan);
}

__attribute__((unused)) static const redtune_dtype key_dtypes[] = {
    REDTUNE_I32, REDTUNE_I64, REDTUNE_U8,  REDTUNE_U32,
    REDTUNE_I8,  REDTUNE_U64, REDTUNE_I16, REDTUNE_U16};

static inline void draw_the_rest(trial *at) {
    at->x_off = draw(3) ? 0 : draw(8);
    at->key_off = draw(2) ? at->x_off : draw(8);
    at->pattern = (pattern)draw(PATTERNS);
    at->y_off = draw(2) ? at->x_off : draw(8);
    at->mask_off = draw(2) ? at->x_off : draw(17);
}

/* What main returns. */
static inline int run_facts(int argc, char **argv) {
    if (device_open(&gpu, &err)) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    const int rc = check_run(argc, argv);
    device_close(&gpu);
    return rc;
}
