/* Verify: whether a kernel gives the exact result, before it may be timed. */
#include "tuner/verify.h"

#include <inttypes.h>
#include <string.h>

enum { CHECKS_MAX = 128, OUTPUT_BYTES = 16, POISON = 0xa5 };
_Static_assert((int)CHECKS_MAX <= (int)RDT_RIG_OUTPUTS, "every check has an output");

/* One call: count elements from first on. */
typedef struct check {
    uint64_t first, count;
} check;

typedef struct check_list {
    check at[CHECKS_MAX];
    size_t count;
} check_list;

static void add_check(check_list *list, const rdt_pool *pool, uint64_t first, uint64_t count) {
    if (first + count > pool->count || first + count > pool->pattern->count_max) return;
    if (list->count < CHECKS_MAX) list->at[list->count++] = (check){first, count};
}

static redtune_status launch_checks(const rdt_rig *rig, const rdt_pool *pool,
                                    const check_list *list, const rdt_kernel *kernel,
                                    const rdt_launch *launch, redtune_error *err) {
    CUresult rc = rig->driver->memset_d8_async(rig->output.address, POISON,
                                               list->count * OUTPUT_BYTES, rig->stream);
    redtune_status status = rdt_driver_check(rig->driver, rc, err, "clear the results");
    for (size_t i = 0; !status && i < list->count; i++) {
        rdt_operands operands = {
            .input = pool->buffer.address + list->at[i].first * redtune_dtype_bytes(rig->dtype),
            .count = list->at[i].count,
            .output = rig->output.address + i * OUTPUT_BYTES,
            .scratch = rig->scratch.address,
        };
        status = rdt_kernel_launch(kernel, launch, operands, rig->stream, err);
    }
    return status;
}

/* Compares the result's bytes, and that nothing behind them was written. */
static redtune_status compare(const rdt_pool *pool, const redtune_problem *problem, check at,
                              const unsigned char *output, redtune_error *err) {
    unsigned char expected[OUTPUT_BYTES];
    memset(expected, POISON, sizeof expected);
    _Alignas(16) unsigned char value[OUTPUT_BYTES] = {0};
    size_t bytes = redtune_dtype_bytes(problem->result);
    rdt_value_store(problem->result, value, 0, rdt_pattern_sum(pool->pattern, at.first, at.count));
    memcpy(expected, value, bytes);
    if (!memcmp(expected, output, sizeof expected)) return REDTUNE_OK;
    redtune_value got, wanted;
    memcpy(&got, output, sizeof got);
    memcpy(&wanted, expected, sizeof wanted);
    rdt_text text = {0};
    rdt_text_addf(&text, "%s of %" PRIu64 " %s at offset %" PRIu64 " is ",
                  redtune_op_name(problem->op), at.count, redtune_dtype_name(problem->dtype),
                  at.first);
    rdt_value_print(problem->result, &got, &text);
    rdt_text_add(&text, " and should be ");
    rdt_value_print(problem->result, &wanted, &text);
    redtune_status status =
        rdt_fail(err, REDTUNE_WRONG, 0, "wrong result: %s", text.data ? text.data : "");
    rdt_text_free(&text);
    return status;
}

static redtune_status run_checks(const rdt_rig *rig, const rdt_pool *pool, const check_list *list,
                                 const redtune_problem *problem, const rdt_kernel *kernel,
                                 const rdt_launch *launch, redtune_error *err) {
    unsigned char output[CHECKS_MAX * OUTPUT_BYTES], counters[RDT_SCRATCH_HEADER_BYTES];
    redtune_status status = launch_checks(rig, pool, list, kernel, launch, err);
    if (!status)
        status = rdt_buffer_read(rig->driver, output, rig->output.address,
                                 list->count * OUTPUT_BYTES, rig->stream, err);
    if (!status)
        status = rdt_buffer_read(rig->driver, counters, rig->scratch.address, sizeof counters,
                                 rig->stream, err);
    for (size_t i = 0; !status && i < list->count; i++)
        status = compare(pool, problem, list->at[i], output + i * OUTPUT_BYTES, err);
    for (size_t i = 0; !status && i < sizeof counters; i++)
        if (counters[i])
            status = rdt_fail(err, REDTUNE_WRONG, 0, "wrong result: scratch byte %zu is left at %d",
                              i, counters[i]);
    return status;
}

redtune_status rdt_verify_edges(const rdt_rig *rig, const redtune_problem *problem,
                                const rdt_kernel *kernel, const rdt_launch *launch,
                                redtune_error *err) {
    const uint64_t tile = launch->tile, grid = (uint64_t)launch->blocks_max * tile;
    const uint64_t counts[] = {
        0,        1,        2,           31,       32,           33,
        tile - 1, tile,     tile + 1,    2 * tile, 2 * tile + 1, 5 * tile + 7,
        grid - 1, grid + 1, 2 * grid + 3};
    const uint64_t firsts[] = {0, 1, 2, 3, 7};
    check_list list = {.count = 0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t j = 0; j < sizeof firsts / sizeof *firsts; j++)
            add_check(&list, &rig->dense, firsts[j], counts[i]);
    return run_checks(rig, &rig->dense, &list, problem, kernel, launch, err);
}

redtune_status rdt_verify_count(const rdt_rig *rig, const redtune_problem *problem,
                                const rdt_kernel *kernel, const rdt_launch *launch,
                                redtune_error *err) {
    const uint64_t count = problem->count;
    bool exact = count <= rig->dense.pattern->count_max;
    const rdt_pool *pool = exact ? &rig->dense : &rig->sparse;
    check_list list = {.count = 0};
    add_check(&list, pool, 0, count);
    if (count > 2) {
        add_check(&list, pool, 1, count - 1);
        add_check(&list, pool, 3, count - 2);
    }
    return run_checks(rig, pool, &list, problem, kernel, launch, err);
}
