/* Squadron: the problems that GPUs of one model share, and which of them each does next. */
#ifndef RDT_API_SQUADRON_H
#define RDT_API_SQUADRON_H

#include "api/lane.h"

typedef struct rdt_squadron_part rdt_squadron_part;

typedef struct rdt_squadron {
    rdt_facts facts;
    rdt_origin origin;
    uint64_t free_bytes; /* the least of its GPUs' */
    size_t gpu_count;
    size_t problems_before; /* of other squadrons' */
    rdt_problems problems;
    rdt_logbook logbook;
    rdt_squadron_part *part;
    size_t part_count, next;
} rdt_squadron;

/* Takes of the problems what fits, and parts it: a class is one part where there are enough of them
 * for all GPUs to be busy to the end, else several. facts, free_bytes and gpu_count are set. */
redtune_status rdt_squadron_begin(rdt_squadron *squadron, const rdt_problems *problems,
                                  const rdt_log *log, redtune_error *err);
void rdt_squadron_end(rdt_squadron *squadron);

/* Gives a GPU what it does next in place of what it has done, which is none at first; false: there
 * is nothing left for it. Whoever has done the last part of a class joins the parts, so that what
 * lies between two of them is measured as if one GPU had done all. One thread at a time. */
bool rdt_squadron_next(rdt_squadron *squadron, rdt_portion *portion);

#endif
