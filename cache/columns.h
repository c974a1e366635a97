/* Columns: those of a measurement, and of the GPU and the origin that it refers to, listed once:
 * the schema, the statements, JSON and the check of each value come from these lists.
 *
 * An entry is X(kind, column, least, most, field, note, before). The field is rdt_row's; least and
 * most bound a number, or the bytes of a text; the note stands behind the column in the schema.
 * before makes of SQL that gives the column that for a database of version 2, which has it (KEPT)
 * or whose rows all have one value of it.
 *
 * Kinds: OP, DTYPE, LAYOUT, ORDER, CACHE and OUTCOME are names, enumerators in C. TEXT, and
 * LABEL, which may be empty, are texts; CAUSE and KERNEL too, NULL where unknown. INTEGER, FLAG,
 * DATE and COUNT are integers, and EXTENT one whose least value is 0 in C; PLACE, CLOCK and
 * CONDITION are integers, NULL where unknown. TIME, SPREAD and SAMPLES are NULL unless the outcome
 * is good. */
#pragma once

#define RDT_GPU_FIGURE_LIST(X)                                                                     \
    X(INTEGER, major, 0, 999, gpu.major, " -- compute capability", RDT_KEPT)                       \
    X(INTEGER, minor, 0, 999, gpu.minor, "", RDT_KEPT)                                             \
    X(INTEGER, sm_count, 1, 1000000, gpu.sm_count, "", RDT_KEPT)                                   \
    X(INTEGER, l2_bytes, 0, 1099511627776, gpu.l2_bytes, "", RDT_KEPT)                             \
    X(INTEGER, bus_bits, 0, 1000000, gpu.bus_bits, " -- 0: unknown", RDT_KEPT)                     \
    X(INTEGER, memory_khz, 0, 1000000000, gpu.memory_khz, " -- 0: unknown", RDT_KEPT)

#define RDT_GPU_LIST(X)                                                                            \
    X(TEXT, name, 1, 95, gpu.name, "", RDT_KEPT)                                                   \
    RDT_GPU_FIGURE_LIST(X)

#define RDT_ORIGIN_LIST(X)                                                                         \
    X(LABEL, machine, 0, 63, origin.machine, " -- the user's label, '' by default", RDT_KEPT)      \
    X(INTEGER, driver_version, 0, 1000000000, origin.driver_version, "", RDT_KEPT)                 \
    X(INTEGER, nvrtc_version, 0, 1000000000, origin.nvrtc_version, "", RDT_KEPT)                   \
    X(LABEL, templates, 0, 39, origin.templates, " -- hash of their source", RDT_KEPT)

#define RDT_MEASUREMENT_LIST(X)                                                                    \
    X(OP, op, 1, 31, trial.problem.op, "", RDT_KEPT)                                               \
    X(DTYPE, dtype, 1, 31, trial.problem.dtype, "", RDT_KEPT)                                      \
    X(DTYPE, result, 1, 31, trial.problem.result, " -- dtype of the result", RDT_KEPT)             \
    X(LAYOUT, layout, 1, 31, layout, " -- where elements and results lie", RDT_WHOLE)              \
    X(ORDER, ordering, 1, 31, trial.problem.order, " -- how elements may be combined", RDT_FREE)   \
    X(COUNT, count, 0, 1152921504606846976, trial.problem.count, " -- elements", RDT_KEPT)         \
    X(EXTENT, outer, 1, 1152921504606846976, trial.problem.outer, " -- results are outer * inner", \
      RDT_ONE)                                                                                     \
    X(EXTENT, inner, 1, 1152921504606846976, trial.problem.inner, "", RDT_ONE)                     \
    X(EXTENT, outer_step, 0, 1152921504606846976, trial.problem.outer_step,                        \
      " -- elements; 0: packed", RDT_PACKED)                                                       \
    X(EXTENT, step, 0, 1152921504606846976, trial.problem.step, "", RDT_PACKED)                    \
    X(CACHE, cache_state, 4, 4, trial.cache, " -- L2 at the start", RDT_KEPT)                      \
    X(TEXT, family, 1, 31, trial.family, " -- template", RDT_KEPT)                                 \
    X(LABEL, config, 0, 255, trial.config, " -- its parameters", RDT_KEPT)                         \
    X(KERNEL, kernel, 16, 16, trial.kernel,                                                        \
      " -- hash of what was compiled and how it is launched", RDT_UNKNOWN)                         \
    X(FLAG, is_default, 0, 1, trial.is_default, " -- the built-in default then", RDT_KEPT)         \
    X(OUTCOME, outcome, 1, 31, trial.outcome, "", RDT_KEPT)                                        \
    X(TIME, median_ns, 0, 1000000000000000, trial.median_ns, " -- per call; NULL unless good",     \
      RDT_KEPT)                                                                                    \
    X(SPREAD, spread_ns, 0, 1000000000000000, trial.spread_ns, " -- half the interquartile range", \
      RDT_KEPT)                                                                                    \
    X(SAMPLES, samples, 1, 1000000000, trial.samples, " -- behind the median", RDT_KEPT)           \
    X(PLACE, place, 0, 2147483646, trial.rank, " -- in the template's space", RDT_KEPT)            \
    X(CAUSE, cause, 1, 159, trial.cause, " -- why it is not good", RDT_KEPT)                       \
    X(CLOCK, sm_mhz, 1, 1000000, trial.conditions.sm_mhz, " -- clocks while it was timed",         \
      RDT_KEPT)                                                                                    \
    X(CLOCK, memory_mhz, 1, 1000000, trial.conditions.memory_mhz, "", RDT_KEPT)                    \
    X(CLOCK, temperature_c, 1, 1000, trial.conditions.temperature_c, "", RDT_KEPT)                 \
    X(BITS, throttle, 0, INT64_MAX, trial.conditions.throttle,                                     \
      " -- NVML's reasons for lower clocks, or'ed", RDT_KEPT)                                      \
    X(CONDITION, others, 0, 1000000000, trial.conditions.others, " -- other processes on the GPU", \
      RDT_KEPT)                                                                                    \
    X(DATE, date, 0, INT64_MAX, date, " -- seconds since 1970, UTC", RDT_KEPT)

#define RDT_KEPT(sql)    sql
#define RDT_WHOLE(sql)   ", 'whole'"
#define RDT_FREE(sql)    ", 'free'"
#define RDT_ONE(sql)     ", 1"
#define RDT_PACKED(sql)  ", 0"
#define RDT_UNKNOWN(sql) ", NULL"

/* Of a list: ", op, dtype, ..., date"; the same of version 2; ", ?, ?, ..., ?". */
#define RDT_COLUMN_NAME(kind, column, least, most, field, note, before)   ", " #column
#define RDT_COLUMN_BEFORE(kind, column, least, most, field, note, before) before(", " #column)
#define RDT_COLUMN_VALUE(kind, column, least, most, field, note, before)  ", ?"
