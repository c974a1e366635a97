/* Facts about what lies beside an array: it is not read. Each array begins with its allocation, or
 * a few elements behind, which nobody writes, and ends where the allocation ends: the simulated GPU
 * reports a read of either. Gaps have poison. */
#include "strided_draws.h"
#include "strided_trials.h"

enum { LEADS = 5, ORDERS = 3 };

static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_DOT, REDTUNE_MAX_AT, REDTUNE_DOT};
enum { OPS = sizeof ops / sizeof *ops };

static const char *const configs[] = {
    "strided:block=64,lanes=spans,width=8,vec=4,unroll=1,finish=poll,per_sm=8",
    "strided:block=256,lanes=reduced,width=1,vec=4,unroll=4,finish=poll,per_sm=4",
    "strided:block=128,lanes=kept,width=16,vec=2,unroll=4,finish=poll,per_sm=2",
};
enum { CONFIGS = sizeof configs / sizeof *configs };

/* The least and the greatest place of an element. */
typedef struct reach {
    size_t low, high;
} reach;

static reach reach_of(const trial *at, int array) {
    reach its = {at->first[array], at->first[array]};
    redtune_problem p = at->problem;
    for (uint32_t i = 0; i < axis_count(&p); i++) {
        const int64_t way = axis_of(&p, i)->step[array] * (int64_t)(axis_of(&p, i)->size - 1);
        *(way < 0 ? &its.low : &its.high) += (size_t)way;
    }
    return its;
}

/* x or y. */
static void place_elements(const trial *at, int array, rdt_buffer *own,
                           redtune_operands *operands) {
    const reach its = reach_of(at, array);
    const size_t element = sizeof(float), lead = draw(LEADS) * element;
    const size_t bytes = (its.high - its.low + 1) * element;
    CHECK_OK(rdt_buffer_create(gpu.driver, lead + bytes, own, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, own->address + lead, &numbers[array == Y][its.low], bytes,
                              gpu.stream, &err),
             err);
    operands->d_in[array == Y] =
        (char *)(uintptr_t)own->address + lead + (at->first[array] - its.low) * element;
}

static void place_mask(const trial *at, rdt_buffer *own, redtune_operands *operands) {
    const reach its = reach_of(at, MASK);
    const bool bits = at->problem.mask == REDTUNE_MASK_BITS;
    const size_t low = bits ? its.low / 8 * 8 : its.low;
    const size_t bytes = bits ? its.high / 8 - its.low / 8 + 1 : its.high - its.low + 1;
    static unsigned char packed[ROOM];
    memcpy(packed, there + low, bytes);
    if (bits) memset(packed, 0, bytes);
    for (size_t k = low; bits && k <= its.high; k++)
        packed[(k - low) / 8] |= (unsigned char)(!!there[k] << (k - low) % 8);
    CHECK_OK(rdt_buffer_create(gpu.driver, bytes, own, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, own->address, packed, bytes, gpu.stream, &err), err);
    operands->d_mask = (char *)(uintptr_t)own->address + (bits ? 0 : at->first[MASK] - low);
    operands->mask_first = bits ? at->first[MASK] - low : 0;
}

static void run_within(const trial *at) {
    rdt_buffer own[INPUTS] = {{0}, {0}, {0}};
    redtune_operands operands = operands_of(at);
    redtune_plan *plan = NULL;
    upload();
    place_elements(at, X, &own[0], &operands);
    if (at->problem.op == REDTUNE_DOT) place_elements(at, Y, &own[1], &operands);
    if (at->problem.mask) place_mask(at, &own[2], &operands);
    if (!at->problem.config) {
        CHECK_OK(redtune_run(rt, &at->problem, &operands, gpu.stream, &err), err);
    } else {
        CHECK_OK(redtune_plan_create(rt, &at->problem, &plan, &err), err);
        CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
    }
    check_outputs(at);
    redtune_plan_destroy(plan);
    for (int i = 0; i < INPUTS; i++) rdt_buffer_destroy(&own[i]);
}

/* Of one config, or by default in free or in fixed order; false: it has none of the config's. */
static bool set_way(trial *at, int turn) {
    const bool values = at->problem.op == REDTUNE_SUM || at->problem.op == REDTUNE_DOT;
    const int way = turn % (CONFIGS + ORDERS);
    if (turn % 2) at->problem.mask = REDTUNE_MASK_NONE;
    if (at->problem.mask && turn % 4) at->problem.mask = REDTUNE_MASK_BITS;
    if (way >= CONFIGS) at->problem.order = way == CONFIGS && values ? REDTUNE_ORDER_FIXED : 0;
    if (way >= CONFIGS) return true;
    at->problem.config = configs[way];
    return is_strided(at) && (way || (values && !at->problem.mask));
}

FACT(nothing_beside_random_arrays_is_read) {
    begin();
    draw_from(46);
    for (int i = 0; i < 150 && !check_state.failed; i++) {
        trial at;
        draw_trial(ops[i % OPS], i % 2 ? 40 : 2000, &at);
        if (!set_way(&at, i / OPS)) at.problem.config = NULL;
        fill(&at);
        run_within(&at);
    }
    end();
}

/* Planes whose rows do not fill loads, and crops of them: the last load of the last row would read
 * behind the array, and the first before it where the rows are turned round. */
FACT(nothing_beside_planes_is_read) {
    begin();
    draw_from(47);
    for (int i = 0; i < 48 && !check_state.failed; i++) {
        const int64_t size = 5 + i % 12, pitch = size + i / 12, step = i % 5 == 4 ? -1 : 1;
        trial at = {{.op = i % 3 ? REDTUNE_SUM : REDTUNE_DOT, .dtype = REDTUNE_F32}, {0, 0, 0}, 0};
        redtune_problem *p = &at.problem;
        p->kept_axes = 1;
        p->reduced_axes = 3;
        p->steps = 1u << X | 1u << Y;
        p->kept[0] = (redtune_axis){5, {pitch * size, pitch * size}};
        p->reduced[0] = (redtune_axis){3, {5 * pitch * size, 5 * pitch * size}};
        p->reduced[1] = (redtune_axis){(uint64_t)size, {pitch, pitch}};
        p->reduced[2] = (redtune_axis){(uint64_t)size, {step, 1}};
        at.first[X] = step < 0 ? (size_t)size - 1 : 0;
        p->config = i % 2 ? configs[0] : NULL;
        if (!is_strided(&at)) p->config = NULL;
        fill(&at);
        run_within(&at);
    }
    end();
}

int main(int argc, char **argv) {
    redtune_status status = device_open(&gpu, &err);
    if (status) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    const int rc = check_run(argc, argv);
    device_close(&gpu);
    return rc;
}
