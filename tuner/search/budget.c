/* Budget: how a time limit is shared out among the searches of a tune. */
#include "tuner/search/budget.h"

#include "base/clock.h"

static const double explore_share = 0.6; /* of a search's time, for exploring */

void rdt_budget_start(rdt_budget *budget, double seconds) {
    budget->end_ns = seconds > 0 ? rdt_clock_ns() + 1e9 * seconds : 0;
    budget->late_ns = budget->end_ns;
}

void rdt_budget_share(rdt_budget *budget, size_t searches) {
    if (budget->end_ns <= 0 || !searches) return;
    double now = rdt_clock_ns(), left = budget->end_ns - now;
    budget->late_ns = now + (left > 0 ? explore_share * left / (double)searches : 0);
}

bool rdt_budget_is_limited(const rdt_budget *budget) { return budget && budget->end_ns > 0; }

bool rdt_budget_is_late(const rdt_budget *budget) {
    return rdt_budget_is_limited(budget) && rdt_clock_ns() >= budget->late_ns;
}
