/* Facts about where a mask is: a single pair of two inputs that is there, or absent, decides the
 * result at every place, by bytes and by bits; and a mask may begin at any address while the
 * elements beside it begin at multiples of 16 bytes. Every pair's product is another than 0, so
 * that each one too many or too few shows. */
#include "strided_trials.h"

enum { COUNT = 200, RESULTS = 3, BITS_FIRST = 3, UNALIGNED_MAX = 18 };

static redtune_plan *plan;
static unsigned char bits[ROOM];

/* Rows of elements, row-major and without gaps, or their columns. */
static trial packed_trial(redtune_op op, redtune_mask mask, bool columns) {
    trial at = {{.op = op, .dtype = REDTUNE_F32, .mask = mask}, {0, 0, 0}, 0};
    redtune_problem *p = &at.problem;
    const int64_t kept = columns ? 1 : COUNT, reduced = columns ? 8 : 1;
    p->kept_axes = p->reduced_axes = 1;
    p->steps = 1u << X | 1u << MASK | (op == REDTUNE_DOT ? 1u << Y : 0);
    p->kept[0] = (redtune_axis){columns ? 8 : RESULTS, {kept, kept, kept}};
    p->reduced[0] = (redtune_axis){COUNT, {reduced, reduced, reduced}};
    return at;
}

static trial whole_trial(redtune_op op, redtune_mask mask) {
    trial at = packed_trial(op, mask, false);
    at.problem.kept_axes = 0;
    return at;
}

static void open_plan(const trial *at) {
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < ROOM; k++) numbers[i][k] = (float)(1 + draw(8));
    memset(there, 0, sizeof there);
    upload();
    CHECK_OK(redtune_plan_create(rt, &at->problem, &plan, &err), err);
}

static void close_plan(void) {
    redtune_plan_destroy(plan);
    plan = NULL;
}

/* Bytes lie from the trial's first one on, bits from bit `first` of the memory on. */
static void run_with_mask(const trial *at, uint64_t first) {
    const redtune_operands own = redtune_problem_operands(&at->problem);
    redtune_operands operands = operands_of(at);
    const void *from = there;
    operands.count = own.count;
    operands.outer = own.outer;
    operands.inner = own.inner;
    operands.outer_step = own.outer_step;
    operands.step = own.step;
    if (at->problem.mask == REDTUNE_MASK_BITS) {
        memset(bits, 0, sizeof bits);
        for (size_t i = 0; i + first < ROOM; i++)
            if (there[i]) bits[(i + first) / 8] |= (unsigned char)(1u << (i + first) % 8);
        operands.d_mask = (char *)(uintptr_t)memory[MASK].address;
        operands.mask_first = first + at->first[MASK];
        from = bits;
    }
    CHECK_OK(rdt_buffer_write(gpu.driver, memory[MASK].address, from, ROOM, gpu.stream, &err), err);
    for (int i = 0; i < 2; i++)
        gpu.driver->memset_d8_async(out[i].address, POISON, OUT_ROOM * 8, gpu.stream);
    CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
    check_outputs(at);
}

/* ---- one pair -------------------------------------------------------------------------------- */

/* The pair is another one of each result. */
static void walk(trial at, bool is_there) {
    if (check_state.failed) return;
    open_plan(&at);
    for (uint64_t e = 0; e < COUNT && !check_state.failed; e++) {
        memset(there, !is_there, sizeof there);
        for (uint64_t r = 0; r < results_of(&at); r++)
            there[element_of(&at, MASK, r, (e + 67 * r) % COUNT)] = is_there ? 77 : 0;
        run_with_mask(&at, BITS_FIRST);
    }
    close_plan();
}

static void walk_all(const char *config, redtune_order order) {
    begin();
    draw_from(1);
    for (int i = 0; i < 8; i++) {
        const redtune_mask mask = i & 1 ? REDTUNE_MASK_BITS : REDTUNE_MASK_BYTES;
        trial at = packed_trial(REDTUNE_DOT, mask, i & 2);
        if (i / 4) at = whole_trial(REDTUNE_DOT, mask);
        at.problem.config = config;
        at.problem.order = order;
        walk(at, !(i & 2) == !(i / 4));
    }
    end();
}

FACT(one_pair_decides_in_wide_loads) {
    walk_all("strided:block=64,lanes=reduced,width=2,vec=4,unroll=2,finish=single,per_sm=1",
             REDTUNE_ORDER_FREE);
}
FACT(one_pair_decides_in_loads_of_kept_elements) {
    walk_all("strided:block=64,lanes=kept,width=4,vec=2,unroll=2,finish=poll,per_sm=2",
             REDTUNE_ORDER_FREE);
}
FACT(one_pair_decides_in_single_loads) {
    walk_all("strided:block=32,lanes=reduced,width=1,vec=1,unroll=2,finish=single,per_sm=1",
             REDTUNE_ORDER_FREE);
}
FACT(one_pair_decides_in_fixed_order) { walk_all(NULL, REDTUNE_ORDER_FIXED); }

/* ---- only the mask is unaligned -------------------------------------------------------------- */

static void begin_mask_anywhere(trial at) {
    if (check_state.failed) return;
    open_plan(&at);
    for (uint64_t first = 0; first < UNALIGNED_MAX && !check_state.failed; first++) {
        const bool of_bits = at.problem.mask == REDTUNE_MASK_BITS;
        if (!of_bits) at.first[MASK] = first;
        for (size_t k = 0; k < ROOM; k++) there[k] = (unsigned char)(draw(3) ? 1 + draw(255) : 0);
        run_with_mask(&at, of_bits ? first : 0);
    }
    close_plan();
}

static void begin_masks_anywhere(redtune_order order) {
    begin();
    draw_from(2);
    for (int i = 0; i < 4; i++) {
        const redtune_op op = i & 1 ? REDTUNE_DOT : REDTUNE_SUM;
        const redtune_mask mask = i & 2 ? REDTUNE_MASK_BITS : REDTUNE_MASK_BYTES;
        trial trials[] = {whole_trial(op, mask), packed_trial(op, mask, false),
                          packed_trial(op, mask, true)};
        for (int k = 0; k < 3; k++) {
            trials[k].problem.order = order;
            begin_mask_anywhere(trials[k]);
        }
    }
    end();
}

FACT(a_mask_alone_may_be_unaligned) { begin_masks_anywhere(REDTUNE_ORDER_FREE); }
FACT(a_mask_alone_may_be_unaligned_in_fixed_order) { begin_masks_anywhere(REDTUNE_ORDER_FIXED); }

int main(int argc, char **argv) {
    if (device_open(&gpu, &err)) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    const int rc = check_run(argc, argv);
    device_close(&gpu);
    return rc;
}
