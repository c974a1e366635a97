/* Plan table: redtune_reduce's plans, a hash keyed by the problem's class and by the powers of two
 * of its count, outer and inner. */
#include "api/runtime/plan_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include "base/fail.h"

/* Of two: the bits of these. */
typedef struct powers {
    int count, outer, inner;
} powers;

typedef struct rdt_plan_entry {
    redtune_problem key; /* as the caller wrote it */
    powers powers;
    redtune_plan *plan;
    bool owns; /* the plan */
    struct rdt_plan_entry *next;
} plan_entry;

static int power_of(uint64_t count) { return count ? 64 - __builtin_clzll(count) : 0; }

uint64_t rdt_plan_table_count(uint64_t count) {
    return count ? UINT64_C(1) << (power_of(count) - 1) : 0;
}

/* Zero and one mean the same. */
static uint64_t above_one(uint64_t extent) { return extent > 1 ? extent : 0; }

static powers powers_of(const redtune_problem *problem) {
    return (powers){power_of(problem->count), power_of(above_one(problem->outer)),
                    power_of(above_one(problem->inner))};
}

/* Steps are as good as each other, where there is one. */
static bool is_of_columns(const redtune_problem *problem) {
    return problem->inner > 1 || problem->step > 1;
}

/* Odd factors, so that neighbours in any part of the key lie apart. */
static _Atomic(plan_entry *) *bucket_of(rdt_plan_table *table, const redtune_problem *problem) {
    const powers powers = powers_of(problem);
    unsigned hash = (unsigned)problem->op * 67 + (unsigned)problem->dtype * 1303 +
                    (unsigned)problem->result * 27191 + (unsigned)powers.count +
                    (unsigned)powers.outer * 71 + (unsigned)powers.inner * 4583;
    return &table->buckets[(hash ^ hash >> 10) % RDT_PLAN_BUCKETS];
}

static bool has_key(const plan_entry *entry, const redtune_problem *problem, powers powers) {
    const redtune_problem *key = &entry->key;
    return key->op == problem->op && key->dtype == problem->dtype &&
           key->result == problem->result && key->order == problem->order &&
           entry->powers.count == powers.count && entry->powers.outer == powers.outer &&
           entry->powers.inner == powers.inner && is_of_columns(key) == is_of_columns(problem);
}

static plan_entry *find_entry(plan_entry *entry, const redtune_problem *problem) {
    const powers powers = powers_of(problem);
    while (entry && !has_key(entry, problem, powers)) entry = entry->next;
    return entry;
}

redtune_plan *rdt_plan_table_find(rdt_plan_table *table, const redtune_problem *problem) {
    const plan_entry *entry =
        find_entry(atomic_load_explicit(bucket_of(table, problem), memory_order_acquire), problem);
    return entry ? entry->plan : NULL;
}

redtune_status rdt_plan_table_add(rdt_plan_table *table, const redtune_problem *problem,
                                  redtune_plan *plan, bool owns, redtune_plan **out,
                                  redtune_error *err) {
    _Atomic(plan_entry *) *bucket = bucket_of(table, problem);
    plan_entry *made = malloc(sizeof *made), *found = NULL;
    if (!made) return rdt_fail_memory(err, sizeof *made);
    *made = (plan_entry){*problem, powers_of(problem), plan, owns,
                         atomic_load_explicit(bucket, memory_order_acquire)};
    do {
        found = find_entry(made->next, problem);
    } while (!found && !atomic_compare_exchange_weak(bucket, &made->next, made));
    *out = found ? found->plan : plan;
    if (found) free(made);
    return REDTUNE_OK;
}

void rdt_plan_table_clear(rdt_plan_table *table) {
    for (int i = 0; i < RDT_PLAN_BUCKETS; i++) {
        for (plan_entry *entry = table->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            if (entry->owns) redtune_plan_destroy(entry->plan);
            free(entry);
        }
        table->buckets[i] = NULL;
    }
}
