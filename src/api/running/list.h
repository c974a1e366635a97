/* List: arrays with tables on the GPU that are made once. */
#pragma once

#include "api/running/operands.h"
#include "redtune/list.h"

/* How many segments a run may have at most, by list or by other tables. */
uint64_t rdt_list_count_max(void);
uint64_t rdt_list_count(const redtune_list *list);
/* What its arrays' lengths are like: those of a problem of all of them, with steps for the greatest
 * and the median. */
rdt_extents rdt_list_shape(const redtune_list *list);
/* Its tables, for a run of a plan of rt for the problem. */
redtune_status rdt_list_take(const redtune_list *list, const redtune *rt,
                             const redtune_problem *problem, rdt_segments *out, redtune_error *err);
/* Copies its arrays with gaps to where a run that the stream comes to next reads them. */
redtune_status rdt_list_pack(const redtune_list *list, CUstream stream, redtune_error *err);
/* The table of its masks on the GPU; NULL: it has none. */
const void *rdt_list_masks(const redtune_list *list);
/* rdt_operands_check_apart, for its arrays. */
redtune_status rdt_list_check_apart(const redtune_list *list, const rdt_traffic *traffic,
                                    CUdeviceptr scratch, redtune_error *err);
