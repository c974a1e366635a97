/* Facts about lists of arrays of which each has a mask of its own: bytes or bits, which begin
 * anywhere, of arrays that do. Absent elements are NaN, or would decide. Elements are small whole
 * numbers, so that sums are exact, or sevenths of these, whose sums show their order. */
#include <math.h>
#include "draw.h"
#include "model/problem.h"
#include "model/scalar.h"
#include "ones.h"
#include "order_reference.h"
#include "redtune/list.h"
#include "shaped.h"

enum {
    ARRAYS = 150,
    ROOM = 400000, /* elements, and bytes of masks */
    LONG = 150000  /* more elements than a block has to itself */
};

static redtune *rt;
static rdt_buffer elements, masks, tables;
static double number[ROOM]; /* of elements */
static unsigned char there[ROOM], memory[ROOM * 8];

/* Zeros: f32, the sum, bytes, free order, and no array of more elements than others. */
typedef struct trial {
    redtune_dtype dtype;
    redtune_op op;
    redtune_mask mask;
    redtune_order order;
    uint64_t longest;
    const char *config; /* NULL: the default's */
    bool by_tables;     /* else by a list, of which every seventh array has no mask */
    bool together;      /* one result of all arrays */
    bool sevenths;      /* elements whose sums are rounded */
} trial;

static trial now;
/* Where arrays and their masks begin: numbers of elements, and of bytes or bits. */
static uint64_t from[ARRAYS], length[ARRAYS], mask_from[ARRAYS];
static uint64_t ahead_of_all; /* bytes of a mask that all segments of a buffer share */

static bool has_mask(int i) { return now.by_tables || i % 7 != 3; }

static bool is_there(int i, uint64_t e) {
    const uint64_t at = mask_from[i] + e;
    if (!has_mask(i)) return true;
    return rdt_problem_mask_bits(now.mask) ? there[at / 8] >> at % 8 & 1 : there[at] != 0;
}

/* The odd ones are absent where they may be, since elements of several arrays are the same memory:
 * those are NaN, or the greatest. */
static redtune_status draw_arrays(void) {
    const size_t bytes = redtune_dtype_bytes(now.dtype);
    for (uint64_t i = 0; i < ROOM; i++) {
        number[i] = (double)draw(8) / (now.sevenths ? 7 : 1);
        const redtune_value value = rdt_scalar_from_real(now.dtype, number[i]);
        memcpy(memory + i * bytes, &value, bytes);
        there[i] = draw(3) ? (unsigned char)draw(256) : 0;
    }
    uint64_t next = 0;
    ahead_of_all = now.mask == REDTUNE_MASK_BYTES ? draw(8) : 0;
    for (int i = 0; i < ARRAYS; i++) {
        static const uint64_t usual[] = {0, 1, 7, 33, 64, 255, 1025, 3000};
        length[i] = i == 77 ? now.longest : i == 30 ? now.longest * 3 / 4 : usual[draw(8)];
        from[i] = next + draw(17);
        next = from[i] + length[i];
        mask_from[i] =
            rdt_problem_mask_listed(now.mask) ? draw(ROOM - LONG) : from[i] + ahead_of_all;
        /* What is absent of an array, to itself here, spoils sums or would decide. */
        const double spoils = rdt_scalar_is_float(now.dtype) && draw(2) ? (double)NAN : 99;
        const redtune_value poison = rdt_scalar_from_real(now.dtype, spoils);
        for (uint64_t e = 0; e < length[i]; e++)
            if (!is_there(i, e)) memcpy(memory + (from[i] + e) * bytes, &poison, bytes);
    }
    redtune_status status =
        rdt_buffer_write(gpu.driver, elements.address, memory, next * bytes, gpu.stream, &err);
    if (!status)
        status = rdt_buffer_write(gpu.driver, masks.address, there, ROOM, gpu.stream, &err);
    return status;
}

/* The result of arrays [i, end), one behind the other. */
static double expected(int i, int end) {
    double sum = 0, greatest = -INFINITY;
    uint64_t present = 0, index = 0, before = 0;
    for (; i < end; before += length[i++])
        for (uint64_t e = 0; e < length[i]; e++) {
            if (!is_there(i, e)) continue;
            const double x = number[from[i] + e];
            if (x > greatest) index = before + e;
            greatest = fmax(greatest, x);
            sum += x;
            present++;
        }
    if (now.op == REDTUNE_MEAN) return present ? sum / (double)present : (double)NAN;
    if (now.op == REDTUNE_ARGMAX) return present ? (double)index : -1;
    if (now.op == REDTUNE_MAX && present) return greatest;
    return sum;
}

/* It is the result in fixed order of one array in which absent elements are 0. */
static void check_bits_of_one_array(const redtune_problem *problem, const void *got) {
    const size_t bytes = redtune_dtype_bytes(now.dtype);
    static unsigned char packed[ROOM * 8];
    redtune_problem resolved = *problem;
    redtune_value wanted[2];
    uint64_t count = 0;
    resolved.segmented = REDTUNE_SEGMENTED_NOT;
    resolved.mask = REDTUNE_MASK_NONE;
    resolved.config = NULL;
    CHECK_OK(rdt_problem_resolve(&resolved, &resolved, &err), err);
    for (int i = 0; i < ARRAYS; i++)
        for (uint64_t e = 0; e < length[i]; e++, count++)
            if (is_there(i, e))
                memcpy(packed + count * bytes, memory + (from[i] + e) * bytes, bytes);
            else
                memset(packed + count * bytes, 0, bytes);
    rdt_order_reference_reduce(&resolved, packed, NULL, count, wanted);
    check_that(!memcmp(got, wanted[0].bytes, redtune_dtype_bytes(resolved.result)), __FILE__,
               __LINE__, "%s of all %s, mask %d, %s", redtune_op_name(now.op),
               redtune_dtype_name(now.dtype), (int)now.mask, now.config ? now.config : "default");
}

/* 64-bit tables: addresses, ends and masks. Arrays begin a few elements ahead, as d_begin says. */
static redtune_status run_tables(const redtune_problem *problem, redtune_segments *run) {
    uint64_t host[4][ARRAYS];
    const bool bits = rdt_problem_mask_bits(now.mask);
    const size_t bytes = redtune_dtype_bytes(now.dtype);
    const char *const at = (const char *)(uintptr_t)tables.address;
    for (int i = 0; i < ARRAYS; i++) {
        const uint64_t ahead = draw(from[i] + 1 < 5 ? from[i] + 1 : 5);
        host[0][i] = elements.address + (from[i] - ahead) * bytes;
        host[1][i] = ahead;
        host[2][i] = ahead + length[i];
        host[3][i] = (bits ? masks.address * 8 : masks.address) + mask_from[i] - ahead;
    }
    run->count = ARRAYS;
    run->d_arrays = (const void *const *)(const void *)at;
    run->d_begin = at + sizeof host[0];
    run->d_end = at + 2 * sizeof host[0];
    run->d_mask = at + 3 * sizeof host[0];
    /* Or segments of one buffer beside one mask, by ends. */
    for (int i = 0; !rdt_problem_mask_listed(now.mask) && i < ARRAYS; i++) {
        host[1][i] = from[i];
        host[2][i] = from[i] + length[i];
        run->d_arrays = NULL;
        run->d_in = (const void *)(uintptr_t)elements.address;
        run->d_mask = (const void *)(uintptr_t)(masks.address + ahead_of_all);
    }
    redtune_status status =
        rdt_buffer_write(gpu.driver, tables.address, host, sizeof host, gpu.stream, &err);
    if (!status) status = redtune_run_segments(rt, problem, run, gpu.stream, &err);
    return status;
}

static redtune_status make_list(redtune_list **out) {
    const void *places[ARRAYS], *beside[ARRAYS];
    uint64_t first[ARRAYS];
    redtune_list *plain = NULL;
    const bool bits = rdt_problem_mask_bits(now.mask);
    const size_t bytes = redtune_dtype_bytes(now.dtype);
    for (int i = 0; i < ARRAYS; i++) {
        const char *const mask = (const char *)(uintptr_t)masks.address;
        places[i] = (const char *)(uintptr_t)elements.address + from[i] * bytes;
        first[i] = mask_from[i] % 8 + 8; /* more than a byte ahead */
        beside[i] = !has_mask(i) ? NULL : bits ? mask + mask_from[i] / 8 - 1 : mask + mask_from[i];
    }
    redtune_status status =
        redtune_list_create(rt, now.dtype, places, length, ARRAYS, &plain, &err);
    if (!status) status = redtune_list_create_masked(plain, beside, bits ? first : NULL, out, &err);
    redtune_list_destroy(plain);
    return status;
}

static void check_trial(trial what) {
    unsigned char got[ARRAYS * 8];
    redtune_list *list = NULL;
    now = what;
    if (!now.dtype) now.dtype = REDTUNE_F32;
    if (!now.op) now.op = REDTUNE_SUM;
    if (!now.mask) now.mask = REDTUNE_MASK_LISTED_BYTES;
    if (!now.longest) now.longest = 3000;
    CHECK_OK(draw_arrays(), err);
    redtune_problem problem =
        PROBLEM(.op = now.op, .dtype = now.dtype, .count = 500, .segmented = REDTUNE_SEGMENTED_EACH,
                .order = now.order, .config = now.config);
    const int many = now.together ? 1 : ARRAYS;
    problem.mask = now.mask;
    if (now.together) problem.segmented = REDTUNE_SEGMENTED_ALL;
    redtune_segments run = {.d_out = {output(0)}};
    redtune_plan *plan = NULL; /* for a config is asked of a plan alone */
    if (now.by_tables) {
        CHECK_OK(run_tables(&problem, &run), err);
    } else {
        CHECK_OK(make_list(&list), err);
        run.list = list;
        CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
        CHECK_OK(redtune_plan_run_segments(plan, &run, gpu.stream, &err), err);
    }
    redtune_dtype result = REDTUNE_DTYPE_NONE;
    CHECK_OK(redtune_problem_result(&problem, &result, &err), err);
    CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address,
                             (size_t)many * redtune_dtype_bytes(result), gpu.stream, &err),
             err);
    if (now.sevenths) check_bits_of_one_array(&problem, got);
    for (int i = 0; i < many && !now.sevenths && !check_state.failed; i++) {
        const double wanted = expected(i, now.together ? ARRAYS : i + 1),
                     value = rdt_scalar_real(result, got, (uint64_t)i);
        if (now.op == REDTUNE_MAX && !(wanted > 0) && value <= 0) continue; /* none there, or 0 */
        check_that(fabs(value - wanted) <= 1e-6 * fabs(wanted) || (isnan(value) && isnan(wanted)),
                   __FILE__, __LINE__,
                   "%s of %s, mask %d, %s: array %d of %llu, %d results: %g, not %g",
                   redtune_op_name(now.op), redtune_dtype_name(now.dtype), (int)now.mask,
                   now.config ? now.config : "default", i, (unsigned long long)length[i], many,
                   value, wanted);
    }
    redtune_plan_destroy(plan);
    redtune_list_destroy(list);
}

#define OF(...) check_trial((trial){__VA_ARGS__})

static void open_all(void) {
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof memory, &elements, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, ROOM, &masks, &err), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, 4 * ARRAYS * 8, &tables, &err), err);
    draw_from(0);
}

static void close_all(void) {
    rdt_buffer_destroy(&elements);
    rdt_buffer_destroy(&masks);
    rdt_buffer_destroy(&tables);
    redtune_close(rt);
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(absent_elements_of_lists_change_nothing) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MEAN, REDTUNE_MAX, REDTUNE_ARGMAX};
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_U8, REDTUNE_F64, REDTUNE_F16};
    open_all();
    for (int i = 0; i < 4 && !check_state.failed; i++) {
        OF(.op = ops[i], .mask = REDTUNE_MASK_LISTED_BYTES);
        OF(.op = ops[i], .mask = REDTUNE_MASK_LISTED_BITS);
        OF(.op = REDTUNE_MAX, .dtype = dtypes[i], .mask = REDTUNE_MASK_LISTED_BYTES + i % 2);
        OF(.op = ops[i], .by_tables = true, .mask = REDTUNE_MASK_LISTED_BYTES + i % 2);
        OF(.op = ops[i], .by_tables = true, .mask = REDTUNE_MASK_BYTES);
    }
    close_all();
}

/* A thread, a warp, several warps and a block for each array, and two arrays at once. */
FACT(every_group_finds_the_masks) {
    static const char *const configs[] = {"grouped:lanes=1,segments=2,vec=1",
                                          "grouped:lanes=8,vec=4",
                                          "grouped:lanes=32,segments=2",
                                          "grouped:block=256,lanes=64",
                                          "grouped:block=128,lanes=128,unroll=8",
                                          "ragged:unit=anywhere",
                                          "ragged:unit=anywhere,block=64,vec=1,unroll=1",
                                          "ragged:unit=anywhere,vec=2,unroll=4,load=plain"};
    open_all();
    for (size_t i = 0; i < sizeof configs / sizeof *configs && !check_state.failed; i++)
        OF(.config = configs[i], .mask = REDTUNE_MASK_LISTED_BYTES + (int)i % 2);
    close_all();
}

/* Other blocks help with it, or warps take stretches of it. */
FACT(a_very_long_array_has_its_mask) {
    open_all();
    OF(.longest = LONG);
    OF(.longest = LONG, .op = REDTUNE_ARGMAX, .mask = REDTUNE_MASK_LISTED_BITS);
    OF(.longest = LONG, .by_tables = true);
    OF(.longest = LONG, .by_tables = true, .mask = REDTUNE_MASK_BYTES);
    OF(.longest = LONG, .config = "grouped:block=128,lanes=128");
    OF(.longest = LONG, .op = REDTUNE_ARGMAX, .config = "grouped:block=128,lanes=8");
    OF(.longest = LONG, .config = "ragged:unit=anywhere");
    OF(.longest = LONG, .op = REDTUNE_ARGMAX, .config = "ragged:unit=anywhere",
       .mask = REDTUNE_MASK_LISTED_BITS);
    close_all();
}

/* The op of all arrays as if they stood one behind the other, whose tables have ends or not. */
FACT(one_result_of_all_leaves_absent_elements_out) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MEAN, REDTUNE_MAX, REDTUNE_ARGMAX};
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I32, REDTUNE_F64, REDTUNE_F16};
    open_all();
    for (int i = 0; i < 4 && !check_state.failed; i++) {
        OF(.op = ops[i], .together = true, .mask = REDTUNE_MASK_LISTED_BYTES);
        OF(.op = ops[i], .together = true, .mask = REDTUNE_MASK_LISTED_BITS, .longest = LONG);
        OF(.op = REDTUNE_MAX, .dtype = dtypes[i], .together = true);
        OF(.op = ops[i], .together = true, .by_tables = true,
           .mask = REDTUNE_MASK_LISTED_BYTES + i % 2);
        OF(.op = ops[i], .together = true, .by_tables = true, .mask = REDTUNE_MASK_BYTES + i % 2);
    }
    OF(.together = true, .config = "ragged:unit=anywhere,vec=1", .longest = LONG);
    OF(.together = true, .config = "ragged:block=64,unroll=2", .op = REDTUNE_ARGMAX);
    close_all();
}

FACT(absent_elements_of_lists_in_fixed_order_change_nothing) {
    open_all();
    OF(.order = REDTUNE_ORDER_FIXED);
    OF(.order = REDTUNE_ORDER_FIXED, .op = REDTUNE_MEAN, .mask = REDTUNE_MASK_LISTED_BITS);
    OF(.order = REDTUNE_ORDER_FIXED, .longest = LONG, .by_tables = true);
    OF(.order = REDTUNE_ORDER_FIXED, .longest = LONG, .op = REDTUNE_MAX, .dtype = REDTUNE_U8);
    close_all();
}

/* A masked element is the identity at its own number, whatever tells where arrays and masks are. */
FACT(one_result_of_all_in_fixed_order_has_the_bits_of_one_array) {
#define SEVENTHS .order = REDTUNE_ORDER_FIXED, .together = true, .sevenths = true
    open_all();
    for (int i = 0; i < 2 && !check_state.failed; i++) {
        OF(SEVENTHS, .mask = REDTUNE_MASK_LISTED_BYTES + i);
        OF(SEVENTHS, .mask = REDTUNE_MASK_LISTED_BYTES + i, .by_tables = true);
        OF(SEVENTHS, .mask = REDTUNE_MASK_BYTES + i, .by_tables = true);
        OF(SEVENTHS, .mask = REDTUNE_MASK_LISTED_BYTES + i, .dtype = REDTUNE_F16);
        OF(SEVENTHS, .mask = REDTUNE_MASK_BYTES + i, .dtype = REDTUNE_F64, .by_tables = true);
    }
    OF(SEVENTHS, .longest = LONG, .op = REDTUNE_SUMSQ);
    OF(SEVENTHS, .longest = LONG, .mask = REDTUNE_MASK_LISTED_BITS,
       .config = "ordered_segments:block=256,chunks=1,unroll=2,per_sm=1");
    OF(SEVENTHS, .config = "ordered_segments:block=64,chunks=8,unroll=8,load=plain");
    OF(SEVENTHS, .config = "ordered_segments:block=64,chunks=1,per_sm=16", .dtype = REDTUNE_F64);
    close_all();
}

#define REFUSES(change, why)                                                                       \
    do {                                                                                           \
        redtune_segments run = {.list = list, .d_out = {output(0)}};                               \
        change;                                                                                    \
        CHECK_FAILS(redtune_run_segments(rt, &problem, &run, gpu.stream, &err), REDTUNE_INVALID,   \
                    err, why);                                                                     \
    } while (0)

FACT(masks_that_make_no_sense_are_refused) {
    open_all();
    now = (trial){.dtype = REDTUNE_F32, .mask = REDTUNE_MASK_LISTED_BYTES, .longest = 10};
    CHECK_OK(draw_arrays(), err);
    redtune_list *list = NULL;
    CHECK_OK(make_list(&list), err);
    redtune_problem problem = PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 500,
                                      .segmented = REDTUNE_SEGMENTED_EACH);
    REFUSES(, "set problem.mask to REDTUNE_MASK_LISTED_BYTES");
    problem.mask = REDTUNE_MASK_LISTED_BITS;
    REFUSES(, "set problem.mask to REDTUNE_MASK_LISTED_BYTES");
    problem.mask = REDTUNE_MASK_BYTES;
    REFUSES(, "set problem.mask to REDTUNE_MASK_LISTED_BYTES");
    problem.mask = REDTUNE_MASK_LISTED_BYTES;
    REFUSES(run.d_mask = input(), "cannot reduce a list with tables beside it");
    int at = 0; /* of an array that has a mask, of more than a few bytes */
    while (!has_mask(at) || length[at] < 64) at++;
    REFUSES(run.d_out[0] = (void *)(uintptr_t)((masks.address + mask_from[at] + 3) / 4 * 4),
            "d_out lies within a mask of the list");
    REFUSES((run.list = NULL, run.count = 3, run.d_in = input(), run.d_begin = input(),
             run.d_mask = input()),
            "give d_arrays or a list");
    REFUSES((run.list = NULL, run.count = 3, run.d_arrays = input(), run.d_end = input()),
            "d_mask is NULL");
    REFUSES((run.list = NULL, run.count = 3, run.d_arrays = input(), run.d_end = input(),
             run.d_mask = (char *)input() + 4),
            "must be aligned to 8 bytes");
    REFUSES((run.list = NULL, run.count = 3, run.d_arrays = input(), run.d_end = input(),
             run.d_mask = (char *)input() + 4096, run.d_out[0] = (char *)input() + 4104),
            "24 bytes from");
    problem.segmented = REDTUNE_SEGMENTED_NOT;
    CHECK_FAILS(redtune_prepare(rt, &problem, 1, &err), REDTUNE_INVALID, err,
                "set problem.mask to REDTUNE_MASK_BYTES or _BITS");
    redtune_list_destroy(list);
    CHECK_FAILS(redtune_list_create_masked(NULL, NULL, NULL, &list, &err), REDTUNE_INVALID, err,
                "the list is NULL");
    close_all();
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
