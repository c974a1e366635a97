/* Facts about teams with masks: absent elements, or pairs, of any rank's part change nothing, and
 * results over a count divide by those that are there on all ranks. Elements are small whole
 * numbers, and in fixed order fractions whose sum every other order changes; what is absent would
 * show. */
#include <math.h>
#include "check.h"
#include "crew.h"
#include "draw.h"
#include "order_reference.h"
#include "model/problem.h"
#include "model/scalar.h"
#include "redtune/list.h"
#include "shaped.h"

enum { RANKS_MAX = 4, ELEMENTS = 12000, INPUT_BYTES = ELEMENTS * 8 };

static redtune_error err;
static crew all;

static void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* How elements are absent on the ranks. */
typedef enum absence { SOME, ALL_OF_RANK_1, ALL } absence;

typedef struct trial {
    redtune_op op;
    redtune_dtype dtype;
    redtune_mask mask;
    redtune_order order;
    absence absent;
    uint64_t rows, count; /* elements of a row, over all ranks */
    bool segmented;       /* rows are segments */
} trial;

static trial now;
static double number[ELEMENTS]; /* row r has those from r * count on */
static double beside[ELEMENTS]; /* the second elements, where there are two inputs */
static bool there[ELEMENTS];
static uint64_t border[CREW_MAX + 1]; /* rank r has the elements from border[r] on of each row */

static int rank_of(uint64_t e) {
    int r = 0;
    while (e >= border[r + 1]) r++;
    return r;
}

static void draw_rows(void) {
    for (uint64_t i = 0; i < now.rows * now.count; i++) {
        const int rank = rank_of(i % now.count);
        const bool whole = now.order != REDTUNE_ORDER_FIXED;
        number[i] = whole ? (double)draw(8) : (double)draw(1 << 24) / (1 << 20);
        beside[i] = whole ? (double)draw(8) : (double)draw(1 << 24) / (1 << 20);
        there[i] = now.absent != ALL && (now.absent == SOME || rank != 1) && draw(3);
    }
}

static bool has_pairs(void) { return now.op == REDTUNE_DOT || now.op == REDTUNE_MSE; }

static void cut(redtune_plan *const *plans) {
    uint64_t part;
    border[all.size] = now.count;
    for (int r = 1; r < all.size; r++) {
        if (now.order == REDTUNE_ORDER_FIXED)
            CHECK_OK(
                redtune_team_share(all.rank[r].team, plans[r], now.count, &border[r], &part, &err),
                err);
        else
            border[r] = border[r - 1] + draw(now.count - border[r - 1] + 1);
    }
}

/* Puts rank r's part on its GPU: elements, and where the second buffer begins a mask from byte or
 * bit `first` on, and offsets behind it. */
enum { FIRST = 5, OFFSETS_AT = ELEMENTS + 64 };

static void give(int r) {
    static unsigned char elements[INPUT_BYTES], second_elements[INPUT_BYTES],
        mask[ELEMENTS + FIRST];
    const size_t bytes = redtune_dtype_bytes(now.dtype);
    const uint64_t part = border[r + 1] - border[r];
    uint64_t offsets[64];
    memset(mask, 0, sizeof mask);
    for (uint64_t row = 0; row < now.rows; row++) {
        for (uint64_t e = 0; e < part; e++) {
            const uint64_t at = row * now.count + border[r] + e, to = row * part + e;
            const double spoils = rdt_scalar_is_float(now.dtype) && draw(2) ? (double)NAN : 99;
            const redtune_value value =
                rdt_scalar_from_real(now.dtype, there[at] ? number[at] : spoils);
            const redtune_value other =
                rdt_scalar_from_real(now.dtype, there[at] ? beside[at] : spoils);
            memcpy(elements + to * bytes, &value, bytes);
            memcpy(second_elements + to * bytes, &other, bytes);
            if (!there[at]) continue;
            if (rdt_problem_mask_bits(now.mask))
                mask[(FIRST + to) / 8] |= (unsigned char)(1 << (FIRST + to) % 8);
            else
                mask[FIRST + to] = (unsigned char)(1 + draw(255));
        }
        offsets[row] = row * part;
    }
    offsets[now.rows] = now.rows * part;
    const CUdeviceptr second = all.rank[r].input[1].address;
    CHECK_OK(
        crew_write(&all, r, all.rank[r].input[0].address, elements, now.rows * part * bytes, &err),
        err);
    CHECK_OK(crew_write(&all, r, all.rank[r].input[0].address + INPUT_BYTES, second_elements,
                        now.rows * part * bytes, &err),
             err);
    CHECK_OK(crew_write(&all, r, second, mask, sizeof mask, &err), err);
    CHECK_OK(crew_write(&all, r, second + OFFSETS_AT, offsets, (now.rows + 1) * 8, &err), err);
}

static double expected(uint64_t row) {
    double sum = 0, squares = 0, products = 0, distances = 0, greatest = -INFINITY;
    uint64_t present = 0, index = 0;
    for (uint64_t e = 0; e < now.count; e++) {
        const uint64_t at = row * now.count + e;
        if (!there[at]) continue;
        if (number[at] > greatest) index = e;
        greatest = fmax(greatest, number[at]);
        sum += number[at];
        squares += number[at] * number[at];
        products += number[at] * beside[at];
        distances += (number[at] - beside[at]) * (number[at] - beside[at]);
        present++;
    }
    const double n = (double)present;
    if (now.op == REDTUNE_ARGMAX) return present ? (double)index : -1;
    if (now.op == REDTUNE_MAX && present) return greatest;
    if (now.op == REDTUNE_MEAN) return sum / n;
    if (now.op == REDTUNE_DOT) return products;
    if (now.op == REDTUNE_MSE) return distances / n;
    if (now.op == REDTUNE_VAR) return squares / n - sum / n * (sum / n);
    return sum;
}

/* Of f32: the sum or dot in fixed order, with 0 in place of what is absent. */
static float ordered(uint64_t row) {
    static float elements[ELEMENTS], others[ELEMENTS];
    redtune_value results[2];
    redtune_problem resolved;
    const redtune_problem problem = PROBLEM(.op = now.op, .dtype = REDTUNE_F32,
                                            .order = REDTUNE_ORDER_FIXED, .count = now.count);
    for (uint64_t e = 0; e < now.count; e++) {
        const uint64_t at = row * now.count + e;
        elements[e] = there[at] ? (float)number[at] : 0;
        others[e] = there[at] ? (float)beside[at] : 0;
    }
    if (rdt_problem_resolve(&problem, &resolved, &err)) return NAN;
    rdt_order_reference_reduce(&resolved, elements, has_pairs() ? others : NULL, now.count,
                               results);
    return results[0].f32;
}

static void check_rank(int r, redtune_dtype result) {
    unsigned char got[CREW_RESULTS_MAX * 8];
    CHECK_OK(crew_read(&all, r, got, all.rank[r].output[0].address,
                       now.rows * redtune_dtype_bytes(result), &err),
             err);
    for (uint64_t row = 0; row < now.rows && !check_state.failed; row++) {
        const bool fixed = now.order == REDTUNE_ORDER_FIXED;
        const double wanted = fixed ? (double)ordered(row) : expected(row);
        const double value = rdt_scalar_real(result, got, row);
        check_that(fabs(value - wanted) <= (fixed ? 0 : 1e-5) * fabs(wanted) ||
                       (isnan(value) && isnan(wanted)),
                   __FILE__, __LINE__,
                   "%s of %s, mask %d, %d: row %d of %llu on rank %d: %g, not %g",
                   redtune_op_name(now.op), redtune_dtype_name(now.dtype), (int)now.mask,
                   (int)now.absent, (int)row, (unsigned long long)now.count, r, value, wanted);
    }
}

static void check_trial(trial what) {
    redtune_plan *plans[CREW_MAX] = {NULL};
    redtune_team_call calls[CREW_MAX] = {{0}};
    redtune_operands operands[CREW_MAX];
    redtune_segments segments[CREW_MAX];
    redtune_dtype result = REDTUNE_DTYPE_NONE;
    if (check_state.failed) return;
    now = what;
    redtune_problem problem =
        PROBLEM(.op = now.op, .dtype = now.dtype, .order = now.order,
                .count = now.count / (uint64_t)all.size + 1, .outer = now.rows,
                .segmented = now.segmented ? REDTUNE_SEGMENTED_EACH : REDTUNE_SEGMENTED_NOT);
    problem.mask = has_pairs() ? REDTUNE_MASK_NONE : now.mask;
    CHECK_OK(redtune_problem_result(&problem, &result, &err), err);
    for (int r = 0; r < all.size; r++)
        CHECK_OK(redtune_plan_create(all.rank[r].rt, &problem, &plans[r], &err), err);
    cut(plans);
    /* Those of pairs are of any axes, and of a rank's part alone. */
    problem.mask = now.mask;
    for (int r = 0; has_pairs() && r < all.size; r++) {
        redtune_plan_destroy(plans[r]);
        RESHAPE(&problem, count, border[r + 1] - border[r]);
        CHECK_OK(redtune_plan_create(all.rank[r].rt, &problem, &plans[r], &err), err);
    }
    draw_rows();
    for (int r = 0; r < all.size; r++) {
        const crew_rank *rank = &all.rank[r];
        const bool bits = rdt_problem_mask_bits(now.mask);
        const CUdeviceptr mask = rank->input[1].address;
        give(r);
        const CUdeviceptr y = has_pairs() ? rank->input[0].address + INPUT_BYTES : 0;
        operands[r] =
            (redtune_operands){.d_in = {pointer_to(rank->input[0].address), pointer_to(y)},
                               .d_out = {pointer_to(rank->output[0].address)},
                               .count = border[r + 1] - border[r],
                               .outer = now.rows,
                               .d_mask = pointer_to(bits ? mask : mask + FIRST),
                               .mask_first = bits ? FIRST : 0};
        if (has_pairs()) operands[r].count = operands[r].outer = 0;
        segments[r] = (redtune_segments){.d_in = operands[r].d_in[0],
                                         .d_out = {operands[r].d_out[0]},
                                         .count = now.rows,
                                         .d_begin = pointer_to(mask + OFFSETS_AT),
                                         .d_mask = operands[r].d_mask,
                                         .mask_first = operands[r].mask_first};
        calls[r] = (redtune_team_call){.plan = plans[r],
                                       .team = rank->team,
                                       .operands = now.segmented ? NULL : &operands[r],
                                       .segments = now.segmented ? &segments[r] : NULL,
                                       .first_index = border[r],
                                       .stream = rank->stream};
    }
    CHECK_OK(redtune_team_run_all(calls, (size_t)all.size, &err), err);
    for (int r = 0; r < all.size; r++)
        CHECK_OK(redtune_team_wait(all.rank[r].team, all.rank[r].stream, 20, &err), err);
    for (int r = 0; r < all.size && !check_state.failed; r++) check_rank(r, result);
    for (int r = 0; r < all.size; r++) redtune_plan_destroy(plans[r]);
}

/* Those without a mask of their own have one of bytes. */
static void check_trials(const trial *trials, size_t count) {
    for (size_t i = 0; i < count; i++) {
        trial each = trials[i];
        if (!each.mask) each.mask = REDTUNE_MASK_BYTES;
        draw_from(i);
        check_trial(each);
    }
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(absent_elements_of_parts_change_nothing) {
    static const trial trials[] = {
        {REDTUNE_SUM, REDTUNE_F32, .rows = 1, .count = 12000},
        {REDTUNE_MEAN, REDTUNE_F32, .rows = 1, .count = 5000, .mask = REDTUNE_MASK_BITS},
        {REDTUNE_MEAN, REDTUNE_F32, .rows = 1, .count = 900, .absent = ALL_OF_RANK_1},
        {REDTUNE_MEAN, REDTUNE_F32, .rows = 9, .count = 700},
        {REDTUNE_VAR, REDTUNE_F32, .rows = 1, .count = 5000, .absent = ALL_OF_RANK_1},
        {REDTUNE_ARGMAX, REDTUNE_I32, .rows = 1, .count = 5000, .absent = ALL_OF_RANK_1},
        {REDTUNE_ARGMAX, REDTUNE_F32, .rows = 9, .count = 700, .mask = REDTUNE_MASK_BITS},
        {REDTUNE_MAX, REDTUNE_I8, .rows = 9, .count = 700, .absent = ALL_OF_RANK_1},
        {REDTUNE_SUM, REDTUNE_U8, .rows = 9, .count = 700, .segmented = true},
        {REDTUNE_MEAN, REDTUNE_F32, .rows = 30, .count = 90, .segmented = true,
         .mask = REDTUNE_MASK_BITS, .absent = ALL_OF_RANK_1},
    };
    check_trials(trials, sizeof trials / sizeof *trials);
}

FACT(absent_pairs_of_parts_change_nothing) {
    static const trial trials[] = {
        {REDTUNE_DOT, REDTUNE_F32, .rows = 1, .count = 12000},
        {REDTUNE_MSE, REDTUNE_F32, .rows = 1, .count = 5000, .absent = ALL_OF_RANK_1},
        {REDTUNE_DOT, REDTUNE_F32, .order = REDTUNE_ORDER_FIXED, .rows = 3, .count = 3500,
         .mask = REDTUNE_MASK_BITS, .absent = ALL_OF_RANK_1},
        {REDTUNE_MSE, REDTUNE_F32, .rows = 1, .count = 500, .absent = ALL},
    };
    check_trials(trials, sizeof trials / sizeof *trials);
}

FACT(nothing_there_on_any_rank_is_the_result_of_no_elements) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MEAN, REDTUNE_ARGMAX};
    for (int i = 0; i < 3; i++)
        check_trial((trial){ops[i], REDTUNE_F32, REDTUNE_MASK_BYTES, .rows = 1, .count = 500,
                            .absent = ALL});
}

FACT(masked_parts_in_fixed_order_have_the_bits_of_one_gpu) {
    check_trial((trial){REDTUNE_SUM, REDTUNE_F32, REDTUNE_MASK_BYTES, REDTUNE_ORDER_FIXED,
                        .rows = 1, .count = 11111});
    check_trial((trial){REDTUNE_SUM, REDTUNE_F32, REDTUNE_MASK_BITS, REDTUNE_ORDER_FIXED, .rows = 3,
                        .count = 3500, .absent = ALL_OF_RANK_1});
}

int main(int argc, char **argv) { return crew_run(RANKS_MAX, 2 * INPUT_BYTES, &all, argc, argv); }
