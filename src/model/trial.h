/* Trial: how one candidate ended, as it is stored. */
#pragma once

#include "model/launch.h"
#include "model/point.h"
#include "model/problem.h"

/* enumerator, name in the database, what people read */
#define RDT_OUTCOME_LIST(X)                                                                        \
    X(GOOD, "good", "measured")                                                                    \
    X(WRONG, "wrong", "gave a wrong result")                                                       \
    X(UNCOMPILED, "uncompiled", "did not compile")                                                 \
    X(FAULTED, "faulted", "failed to run")                                                         \
    X(HUNG, "hung", "did not end in time")

typedef enum rdt_outcome {
#define ENTRY(id, name, text) RDT_OUTCOME_##id,
    RDT_OUTCOME_LIST(ENTRY)
#undef ENTRY
        RDT_OUTCOME_COUNT
} rdt_outcome;

const char *rdt_trial_outcome_name(rdt_outcome outcome);
/* -1 for no such name. */
int rdt_trial_outcome_find(const char *name);

/* State of the L2 cache when a timed call starts. */
typedef enum rdt_cache_state { RDT_CACHE_COLD = 0, RDT_CACHE_WARM = 1 } rdt_cache_state;

/* The GPU's state while it was timed; zeros: unknown. */
typedef struct rdt_conditions {
    int sm_mhz, memory_mhz; /* clocks */
    int temperature_c;
    uint64_t throttle; /* why clocks were held down: NVML's clocks event reasons, or'ed */
    int others;        /* other processes on the GPU */
} rdt_conditions;

/* Whether heat, power or a fault held the clocks down, so that times are not the GPU's own: neither
 * being idle does, nor clocks that someone has set. */
bool rdt_trial_held_down(const rdt_conditions *conditions);

typedef struct rdt_trial {
    redtune_problem problem; /* resolved */
    rdt_cache_state cache;
    char family[RDT_NAME_BYTES];
    char config[RDT_CONFIG_TEXT_BYTES];
    char kernel[RDT_KERNEL_BYTES]; /* what was compiled and launched; "": unknown */
    bool is_default;               /* the built-in default when it was measured */
    rdt_outcome outcome;
    double median_ns; /* per call; 0 unless good */
    double spread_ns; /* half the distance between the quartiles; 0 unless good */
    int samples;      /* timed intervals behind the median; 0 unless good */
    int rank;         /* place of the point among all points: simpler ones come first;
                       * INT_MAX: unknown */
    char cause[160];  /* why it is not good, as far as a line tells; "" if it is */
    rdt_conditions conditions;
    bool imported; /* from another file, not measured into this one */
    /* Seconds since 1970: the latest measurement of the config that was known when this one was
     * made, in whatever file; 0: none. Not stored. */
    int64_t after;
} rdt_trial;
