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

/* What a column is in version 3, and in version 2: `sql`, which is the column, or SQL of other
 * columns, each by OF(name); and behind these, whether there is the column in them: `sql`, or
 * nothing. In version 3 the extents of a problem stood where its kept axes do. */
#define RDT_BEFORE_RDT_KEPT(pick, sql, extents, OF)    pick(sql, sql, sql, sql)
#define RDT_BEFORE_RDT_WHOLE(pick, sql, extents, OF)   pick(sql, ", 'whole'", sql, "")
#define RDT_BEFORE_RDT_FREE(pick, sql, extents, OF)    pick(sql, ", 'free'", sql, "")
#define RDT_BEFORE_RDT_UNKNOWN(pick, sql, extents, OF) pick(sql, ", NULL", sql, "")
#define RDT_BEFORE_RDT_NO_NAME(pick, sql, extents, OF) pick(", 'none'", ", 'none'", "", "")
#define RDT_BEFORE_RDT_UNSAID(pick, sql, extents, OF)  pick(", 'unknown'", ", 'unknown'", "", "")
#define RDT_BEFORE_RDT_ZERO(pick, sql, extents, OF)    pick(", 0", ", 0", "", "")
#define RDT_BEFORE_RDT_GREATEST(pick, sql, extents, OF)                                            \
    pick(RDT_LENGTH_3(OF, outer_step), ", 0", "", "")
#define RDT_BEFORE_RDT_MEDIAN(pick, sql, extents, OF) pick(RDT_LENGTH_3(OF, step), ", 0", "", "")
#define RDT_BEFORE_RDT_KEPT_AXES(pick, sql, extents, OF)                                           \
    pick(RDT_KEPT_AXES_3(OF), ", ''", extents, "")
#define RDT_BEFORE_RDT_REDUCED_AXES(pick, sql, extents, OF)                                        \
    pick(RDT_REDUCED_AXES_3(OF), "," OF(count) "|| ''", "", "")

#define RDT_PICK_IN_3(in_3, in_2, has_3, has_2)  in_3
#define RDT_PICK_IN_2(in_3, in_2, has_3, has_2)  in_2
#define RDT_PICK_HAS_3(in_3, in_2, has_3, has_2) has_3
#define RDT_PICK_HAS_2(in_3, in_2, has_3, has_2) has_2

/* Of version 3, where segments and lists had lengths in place of steps. */
#define RDT_SEGMENTED            "IN ('ragged', 'list')"
#define RDT_LENGTH_3(OF, extent) ", iif(" OF(layout) RDT_SEGMENTED "," OF(extent) ", 0)"
#define RDT_NO_STEPS_3(OF)       OF(inner) "<= 1 AND " OF(step) "<= 1 AND " OF(outer_step)
#define RDT_IS_PACKED_3(OF)      RDT_SEGMENTED " OR (" RDT_NO_STEPS_3(OF) "IN (0, " OF(count) "))"
#define RDT_OUTER_STEP_3(OF)                                                                       \
    "iif(" OF(outer_step) "> 0, " OF(outer_step) "," OF(count) "*" OF(inner) ")"
#define RDT_OUTER_3(OF, more)  "iif(" OF(outer) "> 1, " OF(outer) "|| '" more ", '')"
#define RDT_OUTER_AXIS_3(OF)   "@' || " RDT_OUTER_STEP_3(OF) " || iif(" OF(inner) "> 1, ' ', '')"
#define RDT_INNER_AXIS_3(OF)   "iif(" OF(inner) "> 1, " OF(inner) "|| '@1', '')"
#define RDT_BOTH_AXES_3(OF)    RDT_OUTER_3(OF, RDT_OUTER_AXIS_3(OF)) " || " RDT_INNER_AXIS_3(OF)
#define RDT_STEP_3(OF)         "'@' || iif(" OF(step) "> 0, " OF(step) "," OF(inner) ")"
#define RDT_WHERE_PACKED_3(OF) "CASE WHEN " OF(layout) RDT_IS_PACKED_3(OF) " THEN "
#define RDT_KEPT_AXES_3(OF)                                                                        \
    ", " RDT_WHERE_PACKED_3(OF) RDT_OUTER_3(OF, "'") " ELSE " RDT_BOTH_AXES_3(OF) " END"
#define RDT_REDUCED_AXES_3(OF)                                                                     \
    "," OF(count) "|| " RDT_WHERE_PACKED_3(OF) "'' ELSE " RDT_STEP_3(OF) " END"

/* Of a list: ", op, dtype, ..., date"; the same from a table of version 3 or 2; the columns that
 * those had; ", ?, ?, ..., ?". */
#define RDT_COLUMN_NAME(kind, column, least, most, field, note, before) ", " #column
#define RDT_COLUMN_SELF(column)                                         " " #column " "
#define RDT_COLUMN_FROM_3(kind, column, least, most, field, note, before)                          \
    RDT_BEFORE_##before(RDT_PICK_IN_3, ", " #column, "", RDT_COLUMN_SELF)
#define RDT_COLUMN_FROM_2(kind, column, least, most, field, note, before)                          \
    RDT_BEFORE_##before(RDT_PICK_IN_2, ", " #column, "", RDT_COLUMN_SELF)
#define RDT_COLUMN_IN_3(kind, column, least, most, field, note, before)                            \
    RDT_BEFORE_##before(RDT_PICK_HAS_3, ", " #column, ", outer, inner, outer_step, step",          \
                        RDT_COLUMN_SELF)
#define RDT_COLUMN_IN_2(kind, column, least, most, field, note, before)                            \
    RDT_BEFORE_##before(RDT_PICK_HAS_2, ", " #column, "", RDT_COLUMN_SELF)
#define RDT_COLUMN_VALUE(kind, column, least, most, field, note, before) ", ?"
