/* Plan table: the plans of redtune_reduce and redtune_run, a hash keyed by the problem's class and
 * uses, by the powers of two of its count, outer and inner, and by the alignment of its steps.
 *
 * A bucket is the head of a chain of entries. An entry is filled in before it is published, never
 * changes afterwards, and is freed with the table only. So readers take no lock: finding a plan
 * loads the bucket, and the entry, where key and plan lie side by side. Only keys that share a
 * bucket cost more. Writers publish by compare and exchange of the head, and look the chain through
 * again where another was faster, so that a key is there at most once.
 *
 * A key may have problems with measurements of their own, which have plans of their own: they are
 * listed when its entry is made, and looked for behind it. Most keys have none.
 *
 * The key is the problem as the caller wrote it. One that leaves its result to redtune has an entry
 * of its own, with the plan that another entry owns. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "model/launch.h"
#include "redtune/redtune.h"

enum { RDT_PLAN_BUCKET_BITS = 10, RDT_PLAN_BUCKETS = 1 << RDT_PLAN_BUCKET_BITS };

/* Problems of one key that have plans of their own, since their extents were measured: at most
 * RDT_PLAN_OWN_MAX. */
enum { RDT_PLAN_OWN_MAX = 16 };
typedef struct rdt_plan_own {
    rdt_extents extents[RDT_PLAN_OWN_MAX]; /* complete */
    size_t count;
    _Atomic(redtune_plan *) plan[RDT_PLAN_OWN_MAX]; /* NULL: not made yet */
} rdt_plan_own;

/* Zeroed: empty. */
typedef struct rdt_plan_table {
    _Atomic(struct rdt_plan_entry *) buckets[RDT_PLAN_BUCKETS];
} rdt_plan_table;

/* The plan of the problem: its own, or that of its key. NULL: not there, or not made yet. */
redtune_plan *rdt_plan_table_find(rdt_plan_table *table, const redtune_problem *problem);
/* The same for each call: of a settled problem, whose extents are known. */
redtune_plan *rdt_plan_table_find_plain(rdt_plan_table *table, const redtune_problem *problem,
                                        const rdt_extents *extents);
/* The plan of its key, and the problems of that key with plans of their own (NULL: none). NULL: not
 * there. */
redtune_plan *rdt_plan_table_find_key(rdt_plan_table *table, const redtune_problem *problem,
                                      rdt_plan_own **own);
/* The place of the problem's own plan; NULL: it has none. own may be NULL. */
_Atomic(redtune_plan *) *rdt_plan_table_place(rdt_plan_own *own, const redtune_problem *problem);
/* Publishes the plan for the problem's key, unless that has one: *out is the one that it has. own
 * may be NULL. With owns, both belong to the table, own in any case. */
redtune_status rdt_plan_table_add(rdt_plan_table *table, const redtune_problem *problem,
                                  redtune_plan *plan, rdt_plan_own *own, bool owns,
                                  redtune_plan **out, redtune_error *err);
/* Whether both problems, which are resolved, have one key, whatever their uses. */
bool rdt_plan_table_same_key(const redtune_problem *a, const redtune_problem *b);
/* Destroys the plans and empties the table, which nobody else uses. */
void rdt_plan_table_clear(rdt_plan_table *table);
/* The problem that the plan is made for, so that it does not depend on which of its key came first:
 * the key's powers of two, packed as closely as its alignment allows. The problem is resolved. */
redtune_problem rdt_plan_table_typical(const redtune_problem *resolved);
/* The count of it. */
uint64_t rdt_plan_table_count(uint64_t count);
