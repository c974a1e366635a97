/* Columns: those of a measurement, and of the GPU and the origin that it refers to, listed once:
 * the schema, the statements, JSON and the check of each value come from these lists.
 *
 * An entry is X(kind, column, least, most, field, note, before). The field is rdt_row's; least and
 * most bound a number, or the bytes of a text; the note stands behind the column in the schema.
 * before says where the column is from in older
 * versions (below).
 *
 * Kinds: OP, DTYPE, LAYOUT, ORDER, MASK, KEYED, SPREAD_OF, CACHE and OUTCOME are names, enumerators
 * in C. TEXT, and LABEL, which may be empty, are texts; CAUSE and KERNEL too, NULL where unknown.
 * INTEGER, FLAG, DATE and COUNT are integers, as EXTENT is; AXES are texts of axes
 * (rdt_problem_axes_text_write); PLACE, CLOCK and
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
    X(MASK, mask, 1, 31, trial.problem.mask, " -- which elements count", RDT_NO_NAME)              \
    X(KEYED, key_dtype, 1, 31, trial.problem.key_dtype, " -- of keys; none: by no key",            \
      RDT_NO_NAME)                                                                                 \
    X(SPREAD_OF, spread, 1, 31, trial.problem.spread, " -- how often keys are equal", RDT_UNSAID)  \
    X(COUNT, count, 0, 1152921504606846976, count, " -- elements", RDT_KEPT)                       \
    X(AXES, kept, 0, 511, kept, " -- axes of the results, outermost first: size or size@step",     \
      RDT_KEPT_AXES)                                                                               \
    X(AXES, reduced, 0, 511, reduced, " -- axes of the elements of a result", RDT_REDUCED_AXES)    \
    X(EXTENT, greatest, 0, 1152921504606846976, trial.problem.greatest,                            \
      " -- of segments; 0: not known", RDT_GREATEST)                                               \
    X(EXTENT, median, 0, 1152921504606846976, trial.problem.median, " -- 0: the average",          \
      RDT_MEDIAN)                                                                                  \
    X(EXTENT, keys, 0, 1152921504606846976, trial.problem.keys, " -- keys are below it", RDT_ZERO) \
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

/* What a column is in older versions: `sql`, which is the column, or SQL of other columns, each by
 * OF(name). */
#define RDT_IN_3_RDT_KEPT(sql, OF)     sql
#define RDT_IN_3_RDT_WHOLE(sql, OF)    sql
#define RDT_IN_3_RDT_FREE(sql, OF)     sql
#define RDT_IN_3_RDT_UNKNOWN(sql, OF)  sql
#define RDT_IN_3_RDT_NO_NAME(sql, OF)  ", 'none'"
#define RDT_IN_3_RDT_UNSAID(sql, OF)   ", 'unknown'"
#define RDT_IN_3_RDT_ZERO(sql, OF)     ", 0"
#define RDT_IN_3_RDT_GREATEST(sql, OF) ", iif(" OF(layout) RDT_SEGMENTED "," OF(outer_step) ", 0)"
#define RDT_IN_3_RDT_MEDIAN(sql, OF)   ", iif(" OF(layout) RDT_SEGMENTED "," OF(step) ", 0)"
#define RDT_IN_3_RDT_KEPT_AXES(sql, OF)                                                                                                                                                                                                                                                                                                                \
    ", CASE WHEN " OF(                                                                                                                                                                                                                                                                                                                                 \
        layout) "IN ('ragged', 'list') OR (" OF(inner) "<= 1 AND " OF(step) "<= 1 AND " OF(outer_step) "IN (0, " OF(count) ")) THEN iif(" OF(outer) "> 1, " OF(outer) "|| '', '') ELSE iif(" OF(outer) "> 1, " OF(outer) "|| '@' || iif(" OF(outer_step) "> 0, " OF(outer_step) "," OF(count) "*" OF(inner) ") || iif(" OF(inner) "> 1, ' ', ''), '')" \
                                                                                                                                                                                                                                                                                                                                  " || iif(" OF(       \
                                                                                                                                                                                                                                                                                                                                      inner) "> 1, " OF(inner) "|| '@1', '') END"
#define RDT_IN_3_RDT_REDUCED_AXES(sql, OF)                                                                     \
    "," OF(count) "|| CASE WHEN " OF(layout) "IN ('ragged', 'list') OR (" OF(                                  \
        inner) "<= 1 AND " OF(step) "<= 1 AND " OF(outer_step) "IN (0, " OF(count) ")) THEN ''"                \
                                                                                   " ELSE '@' || "             \
                                                                                   "iif(" OF(step) "> 0, " OF( \
                                                                                       step) "," OF(inner) ") END"
#define RDT_SEGMENTED "IN ('ragged', 'list')"

#define RDT_IN_2_RDT_KEPT(sql, OF)         sql
#define RDT_IN_2_RDT_WHOLE(sql, OF)        ", 'whole'"
#define RDT_IN_2_RDT_FREE(sql, OF)         ", 'free'"
#define RDT_IN_2_RDT_UNKNOWN(sql, OF)      ", NULL"
#define RDT_IN_2_RDT_NO_NAME(sql, OF)      ", 'none'"
#define RDT_IN_2_RDT_UNSAID(sql, OF)       ", 'unknown'"
#define RDT_IN_2_RDT_ZERO(sql, OF)         ", 0"
#define RDT_IN_2_RDT_GREATEST(sql, OF)     ", 0"
#define RDT_IN_2_RDT_MEDIAN(sql, OF)       ", 0"
#define RDT_IN_2_RDT_KEPT_AXES(sql, OF)    ", ''"
#define RDT_IN_2_RDT_REDUCED_AXES(sql, OF) "," OF(count) "|| ''"

/* Whether there is the column in an older version: `sql`, or nothing. In version 3 the extents of a
 * problem stood where its kept axes do. */
#define RDT_HAS_3_RDT_KEPT(sql, extents)         sql
#define RDT_HAS_3_RDT_WHOLE(sql, extents)        sql
#define RDT_HAS_3_RDT_FREE(sql, extents)         sql
#define RDT_HAS_3_RDT_UNKNOWN(sql, extents)      sql
#define RDT_HAS_3_RDT_NO_NAME(sql, extents)      ""
#define RDT_HAS_3_RDT_UNSAID(sql, extents)       ""
#define RDT_HAS_3_RDT_ZERO(sql, extents)         ""
#define RDT_HAS_3_RDT_GREATEST(sql, extents)     ""
#define RDT_HAS_3_RDT_MEDIAN(sql, extents)       ""
#define RDT_HAS_3_RDT_KEPT_AXES(sql, extents)    extents
#define RDT_HAS_3_RDT_REDUCED_AXES(sql, extents) ""

#define RDT_HAS_2_RDT_KEPT(sql)         sql
#define RDT_HAS_2_RDT_WHOLE(sql)        ""
#define RDT_HAS_2_RDT_FREE(sql)         ""
#define RDT_HAS_2_RDT_UNKNOWN(sql)      ""
#define RDT_HAS_2_RDT_NO_NAME(sql)      ""
#define RDT_HAS_2_RDT_UNSAID(sql)       ""
#define RDT_HAS_2_RDT_ZERO(sql)         ""
#define RDT_HAS_2_RDT_GREATEST(sql)     ""
#define RDT_HAS_2_RDT_MEDIAN(sql)       ""
#define RDT_HAS_2_RDT_KEPT_AXES(sql)    ""
#define RDT_HAS_2_RDT_REDUCED_AXES(sql) ""

/* Of a list: ", op, dtype, ..., date"; the same from a table of version 3 or 2; the columns that
 * those had; ", ?, ?, ..., ?". */
#define RDT_COLUMN_NAME(kind, column, least, most, field, note, before) ", " #column
#define RDT_COLUMN_SELF(column)                                         " " #column " "
#define RDT_COLUMN_FROM_3(kind, column, least, most, field, note, before)                          \
    RDT_IN_3_##before(", " #column, RDT_COLUMN_SELF)
#define RDT_COLUMN_FROM_2(kind, column, least, most, field, note, before)                          \
    RDT_IN_2_##before(", " #column, RDT_COLUMN_SELF)
#define RDT_COLUMN_IN_3(kind, column, least, most, field, note, before)                            \
    RDT_HAS_3_##before(", " #column, ", outer, inner, outer_step, step")
#define RDT_COLUMN_IN_2(kind, column, least, most, field, note, before)                            \
    RDT_HAS_2_##before(", " #column)
#define RDT_COLUMN_VALUE(kind, column, least, most, field, note, before) ", ?"
