/* Share: how the ranks of a team share an array.
 *
 * In fixed order (docs/order.md) a part must be a node of the tree, and all parts of one level, so
 * that joining them in rank order goes on up the tree: each has a power of two of chunks, the same
 * one, and begins at its rank times as many. What is missing at the end is missing from the last
 * parts. A rank sees its own part only. Parts that fit so, each by itself, and leave no element out
 * and have none twice, are such nodes. */
#include "api/team/share.h"

#include <inttypes.h>

enum { CHUNK_BYTES = 4096 };

static uint64_t chunk_of(const redtune_problem *problem) {
    return CHUNK_BYTES / redtune_dtype_bytes(problem->dtype);
}

static bool is_node(uint64_t elements, uint64_t chunk) {
    const uint64_t chunks = elements / chunk;
    return elements % chunk == 0 && chunks && !(chunks & (chunks - 1));
}

redtune_status rdt_share_check(const redtune_team *team, const redtune_problem *problem,
                               uint64_t first, uint64_t count, redtune_error *err) {
    const uint64_t rank = (uint64_t)team->place.rank, chunk = chunk_of(problem);
    if (first > INT64_MAX || count > INT64_MAX - first)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot reduce a part of %" PRIu64 " elements from %" PRIu64
                        " on: an index is at most %" PRId64,
                        count, first, INT64_MAX);
    if (problem->order != REDTUNE_ORDER_FIXED || !count) return REDTUNE_OK;
    const uint64_t each = rank ? first / rank : 0;
    if (!rank && !first) return REDTUNE_OK;
    if (rank && first % rank == 0 && is_node(each, chunk) && count <= each) return REDTUNE_OK;
    rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
             "cannot reduce the part of rank %d, %" PRIu64 " elements from %" PRIu64
             " on, in fixed order: it must begin at its rank times a power of two of chunks of "
             "%" PRIu64 " elements, and have at most as many, as redtune_team_share has it",
             team->place.rank, count, first, chunk);
    return rdt_runtime_name_order(team->rt, problem, REDTUNE_UNSUPPORTED, err);
}

redtune_status rdt_share_check_parts(const redtune_problem *problem, const uint64_t *counts,
                                     size_t parts, redtune_error *err) {
    size_t last = parts - 1;
    while (last > 0 && !counts[last]) last--;
    if (problem->order != REDTUNE_ORDER_FIXED || !last) return REDTUNE_OK;
    bool fits = is_node(counts[0], chunk_of(problem)) && counts[last] <= counts[0];
    for (size_t i = 1; i < last; i++) fits = fits && counts[i] == counts[0];
    if (fits) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot reduce parts in fixed order: each but the last must have the same "
                    "power of two of chunks of %" PRIu64 " elements",
                    chunk_of(problem));
}

/* The elements of each part but the last: the even share in whole chunks. */
static uint64_t part_of(const redtune_problem *problem, uint64_t count, uint64_t ranks) {
    const uint64_t chunk = chunk_of(problem);
    const uint64_t chunks = count / chunk + (count % chunk != 0);
    const uint64_t share = chunks / ranks + (chunks % ranks != 0);
    uint64_t node = 1;
    if (problem->order != REDTUNE_ORDER_FIXED) return share * chunk;
    while (node < share) node *= 2;
    return node * chunk;
}

redtune_status redtune_team_share(const redtune_team *team, const redtune_plan *plan,
                                  uint64_t count, uint64_t *first_index, uint64_t *part_count,
                                  redtune_error *err) {
    if (!team || !plan || !first_index || !part_count)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot share an array: team, plan, first_index or part_count is NULL");
    if (count > plan->signature.count_max)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot share %" PRIu64 " elements: an array has at most %" PRIu64, count,
                        plan->signature.count_max);
    const uint64_t part = part_of(&plan->problem, count, (uint64_t)team->place.ranks);
    const uint64_t rank = (uint64_t)team->place.rank;
    const uint64_t first = !rank || part <= count / rank ? part * rank : count;
    const uint64_t left = count - first;
    *first_index = first;
    *part_count = left < part ? left : part;
    return REDTUNE_OK;
}
