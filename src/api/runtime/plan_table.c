/* Plan table: the plans of redtune_reduce and redtune_run, a hash keyed by the problem's class and
 * uses, by the powers of two of its count, outer and inner, and by the alignment of its steps. */
#include "api/runtime/plan_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "model/strides.h"

/* What tells problems apart: their kind, and of two the bits of their extents. alignment is in
 * bytes; 0: no steps. */
typedef struct key {
#define FIELD(field) __typeof__(((redtune_problem *)0)->field) field;
    RDT_PROBLEM_KIND_LIST(FIELD)
#undef FIELD
    int count, outer, inner, median, greatest, alignment;
    bool columns;
    int lanes[8]; /* of any axes, the innermost ones; else 0 */
    redtune_dtype key_dtype;
    redtune_spread spread;
    uint64_t keys; /* rounded */
} key;

typedef struct rdt_plan_entry {
    key key; /* of the problem as the caller wrote it */
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

/* Steps are as good as each other in one alignment, where there is one: rdt_problem_alignment, for
 * each call. */
static int alignment_of(const rdt_extents *extents, bool columns, redtune_dtype dtype) {
    if (!columns && extents->outer < 2) return 0;
    uint64_t steps = columns ? extents->step : 0;
    if (extents->outer > 1) steps |= extents->outer_step;
    return __builtin_ctzll(steps * redtune_dtype_bytes(dtype) | RDT_ALIGNMENT_MAX);
}

static void put_lanes(const rdt_lanes *lanes, int *out) {
    enum { STEP_MAX = 32 };
    out[0] = (int)lanes->vec;
    out[1] = power_of(lanes->run);
    out[2] = (int)(lanes->step < STEP_MAX ? lanes->step : STEP_MAX);
    out[3] = lanes->axes > 2;
}

static key strided_key_of(const redtune_problem *problem, key key) {
    const rdt_strides_lanes lanes = rdt_strides_lanes_of(problem);
    key.alignment = RDT_ALIGNMENT_MAX;
    put_lanes(&lanes.reduced, key.lanes);
    put_lanes(&lanes.kept, key.lanes + 4);
    return key;
}

static key plan_key_of(const redtune_problem *problem) {
    const bool segments = problem->segmented;
    const rdt_extents extents = rdt_problem_extents(problem);
    const bool columns = !segments && (extents.inner > 1 || extents.step > 1);
#define FIELD(field) .field = problem->field,
    const key key = {
        RDT_PROBLEM_KIND_LIST(FIELD).count = power_of(extents.count),
        .outer = power_of(above_one(extents.outer)),
        .inner = power_of(above_one(extents.inner)),
        .median = segments ? power_of(problem->median) : 0,
        .greatest = segments ? power_of(problem->greatest) : 0,
        .alignment = segments ? 0 : alignment_of(&extents, columns, problem->dtype),
        .columns = columns,
        .key_dtype = problem->key_dtype,
        .spread = problem->spread,
        .keys = rdt_problem_keyed_round(problem->keys * extents.inner),
    };
#undef FIELD
    return rdt_problem_is_strided(problem) ? strided_key_of(problem, key) : key;
}

/* Odd factors, so that neighbours in any part of the key lie apart. */
static _Atomic(plan_entry *) *bucket_of(rdt_plan_table *table, const key *key) {
    unsigned hash = (unsigned)key->op * 67 + (unsigned)key->uses * 5519 +
                    (unsigned)key->dtype * 1303 + (unsigned)key->result * 27191 +
                    (unsigned)key->count + (unsigned)key->outer * 71 + (unsigned)key->inner * 4583 +
                    (unsigned)key->alignment * 337 + (unsigned)key->segmented * 809 +
                    (unsigned)key->accuracy * 2027 + (unsigned)key->keys * 409;
    return &table->buckets[(hash ^ hash >> 10) % RDT_PLAN_BUCKETS];
}

static bool same_key(const key *a, const key *b) {
#define SAME(field) a->field == b->field &&
    return RDT_PROBLEM_KIND_LIST(SAME) a->count == b->count && a->outer == b->outer &&
           a->inner == b->inner && a->median == b->median && a->greatest == b->greatest &&
           a->alignment == b->alignment && a->columns == b->columns &&
           a->key_dtype == b->key_dtype && a->spread == b->spread && a->keys == b->keys &&
           !memcmp(a->lanes, b->lanes, sizeof a->lanes);
#undef SAME
}

static plan_entry *find_entry(plan_entry *entry, const key *key) {
    while (entry && !same_key(&entry->key, key)) entry = entry->next;
    return entry;
}

redtune_plan *rdt_plan_table_find_key(rdt_plan_table *table, const redtune_problem *problem,
                                      rdt_plan_own **own) {
    const key key = plan_key_of(problem);
    const _Atomic(plan_entry *) *bucket = bucket_of(table, &key);
    const plan_entry *entry = find_entry(atomic_load_explicit(bucket, memory_order_acquire), &key);
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
    key one = plan_key_of(a), other = plan_key_of(b);
    one.uses = other.uses;
    return same_key(&one, &other);
}

/* ---- the problem that a plan is made for ----------------------------------------------------- */

/* The least step from `least` on whose alignment is that of `unit` elements, a power of two; at the
 * greatest alignment any multiple of them will do. */
static uint64_t step_from(uint64_t least, uint64_t unit, bool any_multiple) {
    if (any_multiple) return (least + unit - 1) / unit * unit;
    const uint64_t odd = 2 * unit;
    return least > unit ? (least - unit + odd - 1) / odd * odd + unit : unit;
}

static void set_steps(rdt_extents *typical, bool columns, uint64_t unit, bool any_multiple,
                      bool packed) {
    const uint64_t inner = above_one(typical->inner), count = typical->count ? typical->count : 1;
    typical->step = typical->outer_step = 0;
    if (columns) typical->step = step_from(inner ? (packed ? inner : 1) : 2, unit, any_multiple);
    if (typical->outer < 2) return;
    if (packed)
        typical->outer_step = columns ? typical->step * count
                                      : step_from(typical->count ? count : 2, unit, any_multiple);
    else
        typical->outer_step = inner ? unit : step_from(2, unit, any_multiple);
    /* Else the two would be one axis. */
    if (inner && typical->outer_step == inner) typical->outer_step += 2 * unit;
}

/* Lengths that there may be beside the rounded extents. */
static void round_lengths(redtune_problem *typical) {
    const uint64_t count = rdt_problem_count(typical), all = rdt_problem_elements(typical);
    if (typical->median) {
        const uint64_t median = rdt_plan_table_count(typical->median);
        typical->median = median < 2 * count ? median : 2 * count;
    }
    if (typical->greatest) {
        const uint64_t greatest = rdt_plan_table_count(typical->greatest);
        typical->greatest = rdt_problem_segments_count(typical) && greatest > all ? all : greatest;
        if (typical->greatest < typical->median) typical->greatest = typical->median;
        if (typical->greatest < count) typical->greatest = count;
    }
}

/* Of as many cells, in rows of a power of two of columns, or of some more that are aligned as they
 * are. */
static redtune_problem typical_keyed(const redtune_problem *resolved) {
    redtune_problem typical = *resolved;
    rdt_extents extents = rdt_problem_extents(resolved);
    const uint64_t cells = rdt_problem_keyed_round(resolved->keys * extents.inner);
    const uint64_t unit = extents.inner & -extents.inner,
                   width = rdt_plan_table_count(extents.inner);
    extents.count = rdt_plan_table_count(extents.count);
    extents.inner = unit < 16 && unit < width ? width + unit : width;
    typical.keys = (cells + extents.inner - 1) / extents.inner;
    extents.outer_step = extents.step = 0;
    rdt_problem_axes_set(&typical, extents);
    return typical;
}

redtune_problem rdt_plan_table_typical(const redtune_problem *resolved) {
    const int alignment = rdt_problem_alignment(resolved);
    const uint64_t unit = (uint64_t)alignment / redtune_dtype_bytes(resolved->dtype);
    const uint64_t most = rdt_problem_count_max(resolved->dtype);
    const bool any_multiple = alignment == RDT_ALIGNMENT_MAX;
    const bool columns = rdt_problem_layout(resolved) == RDT_LAYOUT_COLUMNS;
    redtune_problem typical = *resolved;
    rdt_extents extents = rdt_problem_axes_written(resolved), complete;
    uint64_t elements = 0;
    if (rdt_problem_is_strided(resolved)) return typical;
    if (rdt_problem_is_keyed(resolved)) return typical_keyed(resolved);
    extents.count = rdt_plan_table_count(extents.count);
    extents.outer = rdt_plan_table_count(extents.outer);
    extents.inner = rdt_plan_table_count(extents.inner);
    if (!typical.segmented) {
        set_steps(&extents, columns, unit, any_multiple, true);
        complete = rdt_launch_complete(extents);
        /* Results that share elements may be more than fit side by side. */
        if (!rdt_problem_span(&complete, most, &elements))
            set_steps(&extents, columns, unit, any_multiple, false);
    }
    rdt_problem_axes_set(&typical, extents);
    if (typical.segmented) round_lengths(&typical);
    return typical;
}

/* ---- adding and clearing --------------------------------------------------------------------- */

redtune_status rdt_plan_table_add(rdt_plan_table *table, const redtune_problem *problem,
                                  redtune_plan *plan, rdt_plan_own *own, bool owns,
                                  redtune_plan **out, redtune_error *err) {
    const key key = plan_key_of(problem);
    _Atomic(plan_entry *) *bucket = bucket_of(table, &key);
    plan_entry *made = malloc(sizeof *made), *found = NULL;
    if (!made && owns) free(own);
    if (!made) return rdt_fail_memory(err, sizeof *made);
    *made = (plan_entry){.key = key,
                         .plan = plan,
                         .own = own,
                         .owns = owns,
                         .next = atomic_load_explicit(bucket, memory_order_acquire)};
    do {
        found = find_entry(made->next, &key);
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
