/* Recorder: which problems plans ran without a measurement of their own, for the recording that
 * redtune_options.record names. */
#pragma once

#include <stdatomic.h>
#include "api/records/recording.h"
#include "model/launch.h"
#include "model/problem.h"

enum { RDT_TALLY_EXTENTS = 16 };

/* The runs of one plan, by their extents: RDT_TALLY_EXTENTS different ones, and the others. Valid
 * when zeroed. */
typedef struct rdt_tally {
    struct {
        atomic_int state; /* 0: free; 1: extents are being written; 2: they stay as they are */
        rdt_extents extents;
        atomic_ullong calls;
    } seen[RDT_TALLY_EXTENTS];
    atomic_ullong others; /* calls with extents beyond those */
} rdt_tally;

/* Counts a run of these extents, which are complete: one relaxed addition, and no lock. */
void rdt_recorder_count(rdt_tally *tally, const rdt_extents *extents);

/* What served a plan. */
typedef struct rdt_served {
    const redtune_problem *problem;  /* the plan's */
    const redtune_problem *measured; /* at which its config won; dtype 0: none */
    redtune_match match;
    double tuned_ns; /* of a call there; 0: unknown */
} rdt_served;

typedef struct rdt_recorder rdt_recorder;

/* Makes one that will write to path, which it creates now; NULL, which records nothing, for "" and
 * /dev/null. REDTUNE_FILE, REDTUNE_INVALID where it could not. */
redtune_status rdt_recorder_open(const char *path, rdt_recorder **out, redtune_error *err);
/* Adds a tally's runs, but those of the very problem that was measured on this GPU, and frees it.
 */
void rdt_recorder_add(rdt_recorder *recorder, rdt_tally *tally, const rdt_served *served);
/* Writes what there is, and frees it. recorder may be NULL. */
void rdt_recorder_close(rdt_recorder *recorder, const rdt_log *log);
