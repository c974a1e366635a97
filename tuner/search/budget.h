/* Budget: how a time limit is shared out among the searches of a tune. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Valid when zeroed: no limit. */
typedef struct rdt_budget {
    double end_ns;  /* when the tune should be over, by rdt_clock_ns; 0: no limit */
    double late_ns; /* when the current search should explore no further */
} rdt_budget;

/* Lasts that long from now on; 0 or less: no limit. */
void rdt_budget_start(rdt_budget *budget, double seconds);
/* Gives the beginning search its share of the remaining time; searches: how many remain, with this
 * one. Exploring may take 60 % of the share. */
void rdt_budget_share(rdt_budget *budget, size_t searches);
/* Whether there is a limit at all. NULL: none. */
bool rdt_budget_is_limited(const rdt_budget *budget);
/* Whether no more should be explored, since time is short. NULL: no limit. */
bool rdt_budget_is_late(const rdt_budget *budget);
