/* Key table: the keys beside the test data of a problem by key, and the tables that its runs take.
 */
#include "tuner/measure/key_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"

enum { PERIOD = 1000003, STRAY_EVERY = 37, HOT_EVERY = 1024, RUN = 1 << 12, CHUNK = 1 << 16 };

/* A key of K, by how they are spread: all as often; with logarithms as often, so that of K keys a
 * few are half of all; one of them, but for one in HOT_EVERY. Keys of an unknown spread are each of
 * these for RUN elements: what is slow for one of them is slow then. */
static uint64_t draw_key(redtune_spread spread, uint64_t keys, rdt_random *random) {
    const uint64_t any = rdt_random_below(random, keys);
    const double part = (double)rdt_random_below(random, UINT64_C(1) << 30) / (1 << 30);
    uint64_t key = any;
    switch (spread) {
    case REDTUNE_SPREAD_SKEWED: key = (uint64_t)exp(part * log((double)keys + 1)) - 1; break;
    case REDTUNE_SPREAD_ONE: key = part * HOT_EVERY < 1 ? any : keys / 2; break;
    case REDTUNE_SPREAD_UNKNOWN: /* which is each of the others */
    case REDTUNE_SPREAD_UNIFORM: break;
    }
    return key < keys ? key : keys - 1;
}

static redtune_spread spread_at(const redtune_problem *problem, uint64_t i) {
    static const redtune_spread each[] = {REDTUNE_SPREAD_UNIFORM, REDTUNE_SPREAD_SKEWED,
                                          REDTUNE_SPREAD_ONE};
    return problem->spread ? problem->spread : each[i / RUN % 3];
}

static uint64_t greatest_of(redtune_dtype dtype) {
    const bool is_signed = rdt_dtype_find(dtype)->kind == RDT_KIND_SIGNED;
    return UINT64_MAX >> (64 - 8 * redtune_dtype_bytes(dtype) + is_signed);
}

static redtune_status draw_period(const redtune_problem *problem, uint64_t rows, bool strays,
                                  rdt_key_table *table, redtune_error *err) {
    const uint64_t greatest = greatest_of(problem->key_dtype);
    const uint64_t keys = problem->keys - 1 < greatest ? problem->keys : greatest + 1;
    rdt_random random = {problem->keys};
    table->period = rows < PERIOD ? rows : PERIOD;
    table->keys = malloc(table->period * sizeof *table->keys);
    if (!table->keys) return rdt_fail_memory(err, table->period * sizeof *table->keys);
    for (uint64_t i = 0; i < table->period; i++) {
        const bool stray = strays && i % STRAY_EVERY == 5 && keys - 1 < greatest;
        table->keys[i] = stray ? UINT64_MAX : draw_key(spread_at(problem, i), keys, &random);
    }
    return REDTUNE_OK;
}

/* Rows of the pool that may be a problem's, and one that begins within them. */
static redtune_status upload_keys(const rdt_test_buffers *buffers, redtune_dtype dtype,
                                  uint64_t rows, rdt_key_table *table, redtune_error *err) {
    const size_t bytes = redtune_dtype_bytes(dtype);
    unsigned char *some = malloc(CHUNK * bytes);
    redtune_status status =
        some ? rdt_buffer_create(buffers->driver, rows * bytes, &table->buffer, err)
             : rdt_fail_memory(err, CHUNK * bytes);
    for (uint64_t at = 0, count; !status && at < rows; at += count) {
        count = rows - at < CHUNK ? rows - at : CHUNK;
        for (uint64_t i = 0; i < count; i++)
            memcpy(some + i * bytes, &table->keys[(at + i) % table->period], bytes);
        status = rdt_buffer_write(buffers->driver, table->buffer.address + at * bytes, some,
                                  count * bytes, buffers->stream, err);
    }
    free(some);
    return status;
}

redtune_status rdt_key_table_open(const rdt_test_buffers *buffers, const redtune_problem *problem,
                                  uint64_t elements, bool strays, rdt_key_table *out,
                                  redtune_error *err) {
    rdt_key_table table = {.width = rdt_problem_keyed_width(problem)};
    const uint64_t rows = elements / table.width + 1;
    redtune_status status = draw_period(problem, rows, strays, &table, err);
    if (!status) status = upload_keys(buffers, problem->key_dtype, rows, &table, err);
    if (status)
        rdt_key_table_close(&table);
    else
        *out = table;
    return status;
}

void rdt_key_table_close(rdt_key_table *table) {
    for (int i = 0; i < RDT_KEY_TABLE_SIZES; i++) rdt_buffer_destroy(&table->room[i]);
    rdt_buffer_destroy(&table->buffer);
    free(table->keys);
    *table = (rdt_key_table){.keys = NULL};
}

uint64_t rdt_key_table_key(const rdt_key_table *table, uint64_t i) {
    return table->keys[i % table->period];
}

rdt_keyed rdt_key_table_launch(const rdt_key_table *table, const redtune_problem *problem,
                               uint64_t first) {
    const uint64_t bytes = redtune_dtype_bytes(problem->key_dtype);
    return (rdt_keyed){.count = rdt_problem_count(problem),
                       .keys = rdt_problem_results(problem),
                       .width = table->width,
                       .key = table->buffer.address + rdt_key_table_row(table, first) * bytes};
}

redtune_status rdt_key_table_scratch(rdt_key_table *table, const rdt_test_buffers *buffers,
                                     const redtune_problem *problem, const rdt_launch *launch,
                                     CUdeviceptr *out, redtune_error *err) {
    const rdt_keyed sizes = rdt_key_table_launch(table, problem, 0);
    const uint64_t bytes = rdt_launch_keyed_bytes(launch, &sizes);
    const int bits = 64 - __builtin_clzll(bytes - 1);
    rdt_buffer *room = &table->room[bits];
    redtune_status status = REDTUNE_OK;
    if (!room->address) {
        status = rdt_buffer_create(buffers->driver, UINT64_C(1) << bits, room, err);
        if (!status)
            status = rdt_driver_check(
                buffers->driver,
                buffers->driver->memset_d8_async(room->address, 0, room->bytes, buffers->stream),
                err, "clear a table of keys");
    }
    *out = room->address;
    return status;
}
