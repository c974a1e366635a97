/* Plan table: the plans of redtune_reduce and redtune_run, a hash keyed by the problem's class and
 * uses, by the powers of two of its count, outer and inner, and by the alignment of its steps. */
#include "api/runtime/plan_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "model/strides.h"

/* What tells problems apart: their kind, and of two the bits of their extents. It is compared as
 * words, and so has no gaps. */
typedef struct key {
#define FIELD(field) __typeof__(((redtune_problem *)0)->field) field;
    RDT_PROBLEM_KIND_LIST(FIELD)
#undef FIELD
    redtune_dtype key_dtype;
    uint64_t shape; /* a byte each: numbers of bits, the alignment, columns or any axes, spread */
    uint64_t rest;  /* of any axes, the innermost ones; of problems by key, the rounded keys */
    uint64_t width; /* of rows by key */
} key;
#define BYTES(field) +sizeof(((redtune_problem *)0)->field)
_Static_assert(sizeof(key) == 4 + 3 * 8 RDT_PROBLEM_KIND_LIST(BYTES), "a gap in the key");
#undef BYTES

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

/* 1 of two and three. */
static uint64_t power_above_one(uint64_t extent) {
    return (unsigned)__builtin_clzll(extent | 1) ^ 63U;
}

/* Steps are as good as each other in one alignment, where there is one: rdt_problem_alignment, for
 * each call. */
static uint64_t alignment_of(const rdt_extents *extents, bool columns, redtune_dtype dtype) {
    if (!columns && extents->outer < 2) return 0;
    uint64_t steps = !columns ? 0 : rdt_problem_is_part(extents, dtype) ? 1 : extents->step;
    if (extents->outer > 1) steps |= extents->outer_step;
    return (uint64_t)__builtin_ctzll(steps * rdt_dtype_bytes(dtype) | RDT_ALIGNMENT_MAX);
}

static inline uint64_t shape_of(const redtune_problem *problem, const rdt_extents *extents) {
    const uint64_t shape = (uint64_t)power_of(extents->count) |
                           power_above_one(extents->outer) << 8 |
                           power_above_one(extents->inner) << 16 | (uint64_t)problem->spread << 56;
    if (__builtin_expect(rdt_problem_is_strided(problem), 0)) return shape | UINT64_C(2) << 48;
    if (problem->segmented)
        return shape | (uint64_t)power_of(problem->median) << 24 |
               (uint64_t)power_of(problem->greatest) << 32;
    const bool columns = extents->inner > 1 || extents->step > 1;
    return shape | alignment_of(extents, columns, problem->dtype) << 40 | (uint64_t)columns << 48;
}

static uint64_t lanes_of(const rdt_lanes *lanes) {
    enum { STEP_MAX = 32, BESIDE_MAX = 2 };
    const uint64_t step = lanes->step < STEP_MAX ? lanes->step : STEP_MAX;
    const uint64_t beside = lanes->beside < BESIDE_MAX ? lanes->beside : BESIDE_MAX;
    return lanes->vec | (uint64_t)power_of(lanes->run) << 8 | step << 16 |
           (uint64_t)(lanes->axes > 2) << 24 | beside << 25;
}

/* What most problems have not, and none has both of. */
static uint64_t rest_of(const redtune_problem *problem) {
    if (rdt_problem_is_keyed(problem)) return rdt_problem_keyed_round(problem->keys);
    const rdt_strides_lanes lanes = rdt_strides_lanes_of(problem);
    return lanes_of(&lanes.reduced) | lanes_of(&lanes.kept) << 32;
}

/* Of a problem that has no rest. */
static inline key plain_key_of(const redtune_problem *problem, const rdt_extents *extents) {
#define FIELD(field) .field = problem->field,
    return (key){RDT_PROBLEM_KIND_LIST(FIELD).key_dtype = problem->key_dtype,
                 .shape = shape_of(problem, extents)};
#undef FIELD
}

static key plan_key_of(const redtune_problem *problem) {
    const rdt_extents extents = rdt_problem_extents(problem);
    key key = plain_key_of(problem, &extents);
    if (rdt_problem_is_strided(problem) || rdt_problem_is_keyed(problem))
        key.rest = rest_of(problem);
    if (rdt_problem_is_keyed(problem)) key.width = extents.inner;
    return key;
}

static inline uint64_t word_of(const key *key, size_t i) {
    uint64_t word;
    memcpy(&word, (const char *)key + i * sizeof word, sizeof word);
    return word;
}

/* The upper bits of a product with an odd number depend on all lower ones. */
static _Atomic(plan_entry *) *bucket_of(rdt_plan_table *table, const key *key) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t kind = word_of(key, 0) + (word_of(key, 1) << 8) +
                          ((word_of(key, 2) + word_of(key, 3) + word_of(key, 4)) << 16);
    const uint64_t hash = (kind * odd ^ (key->shape + key->rest + key->width)) * odd;
    return &table->buckets[hash >> (64 - RDT_PLAN_BUCKET_BITS)];
}

static inline bool same_key(const key *a, const key *b) { return !memcmp(a, b, sizeof *a); }

static inline plan_entry *find_entry(plan_entry *entry, const key *key) {
    while (entry && !same_key(&entry->key, key)) entry = entry->next;
    return entry;
}

static inline const plan_entry *entry_of(rdt_plan_table *table, const key *key) {
    return find_entry(atomic_load_explicit(bucket_of(table, key), memory_order_acquire), key);
}

/* Of a problem that has no rest: what stands before that tells it from those that have one. */
static inline const plan_entry *plain_entry_of(rdt_plan_table *table, const key *key) {
    const plan_entry *entry = atomic_load_explicit(bucket_of(table, key), memory_order_acquire);
    while (entry && memcmp(&entry->key, key, offsetof(struct key, rest))) entry = entry->next;
    return entry;
}

redtune_plan *rdt_plan_table_find_key(rdt_plan_table *table, const redtune_problem *problem,
                                      rdt_plan_own **own) {
    const key key = plan_key_of(problem);
    const plan_entry *entry = entry_of(table, &key);
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

static redtune_plan *own_plan(const plan_entry *entry, const redtune_problem *problem) {
    _Atomic(redtune_plan *) *place = rdt_plan_table_place(entry->own, problem);
    return place ? atomic_load_explicit(place, memory_order_acquire) : entry->plan;
}

redtune_plan *rdt_plan_table_find(rdt_plan_table *table, const redtune_problem *problem) {
    const key key = plan_key_of(problem);
    const plan_entry *entry = entry_of(table, &key);
    return entry ? own_plan(entry, problem) : NULL;
}

redtune_plan *rdt_plan_table_find_plain(rdt_plan_table *table, const redtune_problem *problem,
                                        const rdt_extents *extents) {
    const key key = plain_key_of(problem, extents);
    const plan_entry *entry = plain_entry_of(table, &key);
    if (!entry || __builtin_expect(!entry->own, 1)) return entry ? entry->plan : NULL;
    return own_plan(entry, problem);
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

/* Of rows as wide: a block may have the cells of some columns only. */
static redtune_problem typical_keyed(const redtune_problem *resolved) {
    redtune_problem typical = *resolved;
    rdt_extents extents = rdt_problem_extents(resolved);
    extents.count = rdt_plan_table_count(extents.count);
    extents.outer_step = extents.step = 0;
    typical.keys = rdt_problem_keyed_round(resolved->keys);
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
