/* Plan table: the plans of redtune_reduce and redtune_run, a hash keyed by the problem's class and
 * uses, by the powers of two of its count, outer and inner, and by the alignment of its steps. */
#include "api/runtime/plan_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include "base/fail.h"
#include "model/problem.h"

/* Of two: the bits of these. alignment is in bytes; 0: no steps. */
typedef struct powers {
    int count, outer, inner, median, greatest, alignment;
} powers;

typedef struct rdt_plan_entry {
    redtune_problem key; /* as the caller wrote it */
    powers powers;
    redtune_plan *plan;
    rdt_plan_own *own; /* NULL: none */
    bool owns;         /* both */
    struct rdt_plan_entry *next;
} plan_entry;

static int power_of(uint64_t count) { return count ? 64 - __builtin_clzll(count) : 0; }

uint64_t rdt_plan_table_count(uint64_t count) {
    return count ? UINT64_C(1) << (power_of(count) - 1) : 0;
}

/* Zero and one mean the same. */
static uint64_t above_one(uint64_t extent) { return extent > 1 ? extent : 0; }

/* Steps are as good as each other in one alignment, where there is one. */
static bool is_of_columns(const redtune_problem *problem) {
    return !problem->segmented && (problem->inner > 1 || problem->step > 1);
}

/* rdt_problem_alignment of what the caller wrote, for each call. */
static int alignment_of(const redtune_problem *problem) {
    const bool columns = is_of_columns(problem);
    if ((!columns && problem->outer < 2) || problem->segmented) return 0;
    const uint64_t inner = above_one(problem->inner) ? problem->inner : 1;
    uint64_t steps = columns ? (problem->step ? problem->step : inner) : 0;
    if (problem->outer > 1)
        steps |= problem->outer_step ? problem->outer_step : problem->count * inner;
    return __builtin_ctzll(steps * redtune_dtype_bytes(problem->dtype) | RDT_ALIGNMENT_MAX);
}

static powers powers_of(const redtune_problem *problem) {
    const bool segments = problem->segmented;
    return (powers){power_of(problem->count),
                    power_of(above_one(problem->outer)),
                    power_of(above_one(problem->inner)),
                    segments ? power_of(problem->median) : 0,
                    segments ? power_of(problem->greatest) : 0,
                    alignment_of(problem)};
}

/* Odd factors, so that neighbours in any part of the key lie apart. */
static _Atomic(plan_entry *) *bucket_of(rdt_plan_table *table, const redtune_problem *problem,
                                        powers powers) {
    unsigned hash = (unsigned)problem->op * 67 + (unsigned)problem->uses * 5519 +
                    (unsigned)problem->dtype * 1303 + (unsigned)problem->result * 27191 +
                    (unsigned)powers.count + (unsigned)powers.outer * 71 +
                    (unsigned)powers.inner * 4583 + (unsigned)powers.alignment * 337 +
                    (unsigned)problem->segmented * 809 + (unsigned)problem->accuracy * 2027;
    return &table->buckets[(hash ^ hash >> 10) % RDT_PLAN_BUCKETS];
}

static bool has_key(const plan_entry *entry, const redtune_problem *problem, powers powers) {
    const redtune_problem *key = &entry->key;
#define SAME(field) key->field == problem->field &&
    return RDT_PROBLEM_KIND_LIST(SAME) entry->powers.count == powers.count &&
           entry->powers.outer == powers.outer && entry->powers.inner == powers.inner &&
           entry->powers.median == powers.median && entry->powers.greatest == powers.greatest &&
           entry->powers.alignment == powers.alignment &&
           is_of_columns(key) == is_of_columns(problem);
#undef SAME
}

static plan_entry *find_entry(plan_entry *entry, const redtune_problem *problem, powers powers) {
    while (entry && !has_key(entry, problem, powers)) entry = entry->next;
    return entry;
}

redtune_plan *rdt_plan_table_find_key(rdt_plan_table *table, const redtune_problem *problem,
                                      rdt_plan_own **own) {
    const powers powers = powers_of(problem);
    const _Atomic(plan_entry *) *bucket = bucket_of(table, problem, powers);
    const plan_entry *entry =
        find_entry(atomic_load_explicit(bucket, memory_order_acquire), problem, powers);
    *own = entry ? entry->own : NULL;
    return entry ? entry->plan : NULL;
}

_Atomic(redtune_plan *) *rdt_plan_table_place(rdt_plan_own *own, const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_segments_shape(problem);
    for (size_t i = 0; own && i < own->count; i++) {
        const rdt_extents *each = &own->extents[i];
        if (each->count == extents.count && each->outer == extents.outer &&
            each->inner == extents.inner && each->step == extents.step &&
            (each->outer_step == extents.outer_step || extents.outer < 2))
            return &own->plan[i];
    }
    return NULL;
}

redtune_plan *rdt_plan_table_find(rdt_plan_table *table, const redtune_problem *problem) {
    rdt_plan_own *own = NULL;
    redtune_plan *plan = rdt_plan_table_find_key(table, problem, &own);
    if (!own) return plan;
    _Atomic(redtune_plan *) *place = rdt_plan_table_place(own, problem);
    return place ? atomic_load_explicit(place, memory_order_acquire) : plan;
}

bool rdt_plan_table_same_key(const redtune_problem *a, const redtune_problem *b) {
    plan_entry entry = {.key = *a, .powers = powers_of(a)};
    entry.key.uses = b->uses;
    return has_key(&entry, b, powers_of(b));
}

/* ---- the problem that a plan is made for ----------------------------------------------------- */

/* The least step from `least` on whose alignment is that of `unit` elements, a power of two; at the
 * greatest alignment any multiple of them will do. */
static uint64_t step_from(uint64_t least, uint64_t unit, bool any_multiple) {
    if (any_multiple) return (least + unit - 1) / unit * unit;
    const uint64_t odd = 2 * unit;
    return least > unit ? (least - unit + odd - 1) / odd * odd + unit : unit;
}

static void set_steps(redtune_problem *typical, uint64_t unit, bool any_multiple, bool packed) {
    const bool columns = is_of_columns(typical);
    const uint64_t inner = above_one(typical->inner), count = typical->count ? typical->count : 1;
    typical->step = typical->outer_step = 0;
    if (columns) typical->step = step_from(inner ? (packed ? inner : 1) : 2, unit, any_multiple);
    if (typical->outer > 1 && !packed)
        typical->outer_step = columns ? unit : step_from(1, unit, any_multiple);
    else if (typical->outer > 1)
        typical->outer_step =
            columns ? typical->step * count : step_from(count, unit, any_multiple);
}

/* Lengths that there may be beside the rounded extents. */
static void round_lengths(redtune_problem *typical) {
    const uint64_t count = typical->count, all = rdt_problem_elements(typical);
    if (typical->median) {
        const uint64_t median = rdt_plan_table_count(typical->median);
        typical->median = median < 2 * count ? median : 2 * count;
    }
    if (typical->greatest) {
        const uint64_t greatest = rdt_plan_table_count(typical->greatest);
        typical->greatest = typical->outer && greatest > all ? all : greatest;
        if (typical->greatest < typical->median) typical->greatest = typical->median;
        if (typical->greatest < count) typical->greatest = count;
    }
}

redtune_problem rdt_plan_table_typical(const redtune_problem *resolved) {
    const int alignment = rdt_problem_alignment(resolved);
    const uint64_t unit = (uint64_t)alignment / redtune_dtype_bytes(resolved->dtype);
    const uint64_t most = rdt_problem_count_max(resolved->dtype);
    const bool any_multiple = alignment == RDT_ALIGNMENT_MAX;
    redtune_problem typical = *resolved;
    uint64_t elements = 0;
    typical.count = rdt_plan_table_count(resolved->count);
    typical.outer = rdt_plan_table_count(resolved->outer);
    typical.inner = rdt_plan_table_count(resolved->inner);
    if (typical.segmented) {
        round_lengths(&typical);
        return typical;
    }
    set_steps(&typical, unit, any_multiple, true);
    const rdt_extents extents = rdt_problem_extents(&typical);
    /* Results that share elements may be more than fit side by side. */
    if (!rdt_problem_span(&extents, most, &elements))
        set_steps(&typical, unit, any_multiple, false);
    return typical;
}

/* ---- adding and clearing --------------------------------------------------------------------- */

redtune_status rdt_plan_table_add(rdt_plan_table *table, const redtune_problem *problem,
                                  redtune_plan *plan, rdt_plan_own *own, bool owns,
                                  redtune_plan **out, redtune_error *err) {
    const powers powers = powers_of(problem);
    _Atomic(plan_entry *) *bucket = bucket_of(table, problem, powers);
    plan_entry *made = malloc(sizeof *made), *found = NULL;
    if (!made && owns) free(own);
    if (!made) return rdt_fail_memory(err, sizeof *made);
    *made = (plan_entry){.key = *problem,
                         .powers = powers,
                         .plan = plan,
                         .own = own,
                         .owns = owns,
                         .next = atomic_load_explicit(bucket, memory_order_acquire)};
    do {
        found = find_entry(made->next, problem, powers);
    } while (!found && !atomic_compare_exchange_weak(bucket, &made->next, made));
    *out = found ? found->plan : plan;
    if (found && owns) free(own);
    if (found) free(made);
    return REDTUNE_OK;
}

static void free_entry(plan_entry *entry) {
    for (size_t i = 0; entry->owns && entry->own && i < entry->own->count; i++)
        redtune_plan_destroy(entry->own->plan[i]);
    if (entry->owns) {
        redtune_plan_destroy(entry->plan);
        free(entry->own);
    }
    free(entry);
}

void rdt_plan_table_clear(rdt_plan_table *table) {
    for (int i = 0; i < RDT_PLAN_BUCKETS; i++) {
        for (plan_entry *entry = table->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            free_entry(entry);
        }
        table->buckets[i] = NULL;
    }
}
