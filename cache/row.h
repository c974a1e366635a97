/* Row: a measurement between C and SQL: its columns, and what a row may hold. */
#ifndef RDT_CACHE_ROW_H
#define RDT_CACHE_ROW_H

#include <sqlite3.h>
#include "cache/tuning.h"

/* What rdt_row_read reads, from the tables measurement m, gpu g and origin o. */
#define RDT_ROW_COLUMNS                                                                            \
    "m.op, m.dtype, m.result, m.count, m.cache_state, m.family, m.config, m.is_default,"           \
    " m.outcome, m.median_ns, m.spread_ns, m.samples, m.place, m.cause, m.sm_mhz,"                 \
    " m.memory_mhz, m.temperature_c, m.throttle, m.others, m.date, m.import,"                      \
    " g.name, g.major, g.minor, g.sm_count, g.l2_bytes, g.bus_bits, g.memory_khz,"                 \
    " o.machine, o.driver_version, o.nvrtc_version, o.templates, m.gpu"

/* What rdt_row_bind_measurement binds, in order. */
#define RDT_ROW_MEASUREMENT                                                                        \
    "gpu, origin, op, dtype, result, count, cache_state, family, config, is_default, outcome,"     \
    " median_ns, spread_ns, samples, place, cause, sm_mhz, memory_mhz, temperature_c, throttle,"   \
    " others, date, import"

/* NULL if the row is one that may be stored, else what is wrong: "its count is out of range". */
const char *rdt_row_check(const rdt_row *row);

/* false, and *row and *gpu (the id of its GPU) undefined, where a column is not of its type, or its
 * value is none of the model's. */
bool rdt_row_read(sqlite3_stmt *statement, rdt_row *row, int64_t *gpu);

/* The same of a row that has the columns of gpu but its id. */
bool rdt_row_read_gpu(sqlite3_stmt *statement, rdt_facts *gpu);

/* Each returns SQLite's code. The row must outlive the step. */
int rdt_row_bind_gpu(sqlite3_stmt *statement, const rdt_facts *gpu);
int rdt_row_bind_origin(sqlite3_stmt *statement, const rdt_origin *origin);
int rdt_row_bind_measurement(sqlite3_stmt *statement, const rdt_row *row, int64_t gpu,
                             int64_t origin);
/* op, dtype, result and cache state. */
int rdt_row_bind_problem(sqlite3_stmt *statement, const redtune_problem *problem,
                         rdt_cache_state cache);

#endif
