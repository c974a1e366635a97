/* Plan table: redtune_reduce's plans, a hash keyed by the problem's class, by the powers of two of
 * its count, outer and inner, and by the alignment of its steps.
 *
 * A bucket is the head of a chain of entries. An entry is filled in before it is published, never
 * changes afterwards, and is freed with the table only. So readers take no lock: finding a plan
 * loads the bucket, and the entry, where key and plan lie side by side. Only keys that share a
 * bucket cost more. Writers publish by compare and exchange of the head, and look the chain through
 * again where another was faster, so that a key is there at most once.
 *
 * The key is the problem as the caller wrote it. One that leaves its result to redtune has an entry
 * of its own, with the plan that another entry owns. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "redtune/redtune.h"

enum { RDT_PLAN_BUCKETS = 1024 }; /* a power of two */

/* Zeroed: empty. */
typedef struct rdt_plan_table {
    _Atomic(struct rdt_plan_entry *) buckets[RDT_PLAN_BUCKETS];
} rdt_plan_table;

/* The plan of the problem's key; NULL: not there. */
redtune_plan *rdt_plan_table_find(rdt_plan_table *table, const redtune_problem *problem);
/* Publishes the plan for the problem's key, unless that has one: *out is the one that it has. */
redtune_status rdt_plan_table_add(rdt_plan_table *table, const redtune_problem *problem,
                                  redtune_plan *plan, bool owns, redtune_plan **out,
                                  redtune_error *err);
/* Destroys the plans and empties the table, which nobody else uses. */
void rdt_plan_table_clear(rdt_plan_table *table);
/* The problem that the plan is made for, so that it does not depend on which of its key came first:
 * the key's powers of two, packed as closely as its alignment allows. The problem is resolved. */
redtune_problem rdt_plan_table_typical(const redtune_problem *resolved);
/* The count of it. */
uint64_t rdt_plan_table_count(uint64_t count);
