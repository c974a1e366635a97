/* Tuning: measuring candidates on a GPU so that programs get the fastest, and verifying stored
 * measurements. */
#ifndef REDTUNE_TUNE_H
#define REDTUNE_TUNE_H

#include "redtune/redtune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tuning ------------------------------------------------------------------------------ */

/* How thoroughly a problem's candidates are searched (docs/tuning.md). */
typedef enum redtune_effort {
    REDTUNE_EFFORT_STANDARD = 0, /* finds configs as fast as the best, as measured */
    REDTUNE_EFFORT_QUICK,        /* half of that, and fewer samples */
    REDTUNE_EFFORT_EXHAUSTIVE,   /* all candidates that docs/tuning.md counts */
} redtune_effort;

/* "standard", "quick", "exhaustive"; "unknown" for any other value. */
REDTUNE_API const char *redtune_effort_name(redtune_effort effort);
REDTUNE_API redtune_status redtune_effort_find(const char *name, redtune_effort *effort,
                                               redtune_error *err);

/* One problem's tuning result. */
typedef struct redtune_tuned {
    redtune_problem problem; /* result is filled in */
    char family[32];
    char config[256];
    double median_ns;  /* the winner, cold L2, per call in a replayed graph */
    double spread_ns;  /* half the distance between the quartiles of its samples */
    double default_ns; /* the best built-in default, likewise; 0 if none could be measured */
    int is_default;    /* nonzero: nothing beat the default by more than the noise */
    double gbps;       /* bytes of all inputs and results per ns: in GB/s */
    double peak_gbps;  /* of the memory bus; 0 if unknown */
    uint64_t measured; /* candidates measured now; 0: the database had the answer */
    uint64_t failed;   /* candidates that did not compile, run or end, or gave a wrong result */
    /* The winner with the input in L2; "" and 0 where it does not fit in there. */
    char warm_config[256];
    double warm_ns;
    char gpu[96]; /* the model it was measured on, and what else tells it apart */
    int major, minor, sm_count;
    uint64_t l2_bytes;
    char device[16]; /* the GPU, as redtune_tuning.devices or redtune_options.device names it */
    unsigned device_count, model_count; /* GPUs that the tune is on, and models of GPU */
    /* The result's place among all: by model in the order of the devices, then layout, op, dtype
     * and extents; of redtune_tuning.problems by op, dtype, layout and extents. Several GPUs finish
     * their problems in any order. */
    uint64_t index;
    /* Nonzero: the second pass measured more; this replaces the problem's result from before. */
    int again;
    /* With REDTUNE_EFFORT_EXHAUSTIVE, the number of candidates, with the input in L2 and without,
     * and of those for which the budget left no time; else 0. */
    uint64_t points, untried;
} redtune_tuned;

typedef struct redtune_progress {
    /* The problem being measured; at a crossover one of the two problems, or one between. */
    const redtune_problem *problem;
    uint64_t problem_index, problem_count;     /* problem i of n: i are finished */
    uint64_t candidate_index, candidate_count; /* of those about to be measured */
    const char *stage;                         /* "start", "known", "cold", "warm", "crossover" */
    double best_gbps;                          /* so far, of this problem; 0: none yet */
    /* The GPU, as in redtune_tuned; "" and 0 before any has begun. */
    const char *device;
    unsigned device_count;
} redtune_progress;

/* Where elements and results lie, or'ed (redtune_problem has the extents). */
typedef enum redtune_layouts {
    REDTUNE_LAYOUT_WHOLE = 1,   /* one result */
    REDTUNE_LAYOUT_ROWS = 2,    /* outer results, each of elements side by side */
    REDTUNE_LAYOUT_COLUMNS = 4, /* outer * inner results, each of elements a step apart */
    REDTUNE_LAYOUT_RAGGED = 8,  /* a result of each segment (redtune/list.h) */
    REDTUNE_LAYOUT_LIST = 16,   /* one result of all segments */
} redtune_layouts;

/* A tune's problems and limits. Zero fields: sum; f16, bf16, f32, f64, i8, i32 and i64; counts
 * 2^10, 2^11, ..., 2^30, as far as the GPU's memory has room for them; on the simulated GPU f32,
 * f64 and i32, counts 2^8, 2^9 and 2^10, which take about a minute. */
typedef struct redtune_tuning {
    const redtune_op *ops;
    size_t op_count;
    const redtune_dtype *dtypes;
    size_t dtype_count;
    const uint64_t *counts;
    size_t count_count;
    int again; /* nonzero: measure again what the database has, too */
    redtune_effort effort;
    /* Seconds that the tune should take; 0: no limit. A search that runs late measures fewer
     * candidates, but always some, so the tune may take longer. */
    double budget_s;
    uint64_t seed; /* with one job, the same seed, database and GPU give the same candidates in the
                      same order */
    /* The redtune command, or a program that has redtune_worker_run do what its "worker" command
     * does; "/proc/self/exe" for such a program itself. Kernels are then compiled in processes of
     * their own, as many as there are cores, and tried in one per GPU: one that faults or does not
     * end is recorded as such, and the tune goes on. NULL: everything happens in this process, and
     * ends with the first kernel that breaks its CUDA context. */
    const char *worker;
    /* With a worker: the GPUs to tune on, such as "0", "0,1" or "all", or "sim". Equal models share
     * the work; different ones are tuned side by side. NULL: rt's. */
    const char *devices;
    /* With a worker: seconds that a candidate may take for one step, such as a check or a sample,
     * before it is abandoned; 0: 10. */
    double limit_s;
    /* Of the problems, by op, dtype and then count, the shard_index-th of shard_count equal parts,
     * from 0; so that several machines share a tune, each with a database of its own, which
     * redtune_import merges. A part that ends between two counts of one op and dtype takes the next
     * one as well, so that sizes between any two neighbours are measured by one part, and no part
     * has more than one whole array beyond its share rounded up. Rows of one op and dtype stay
     * together in one part, and so do columns. shard_count 0: all. */
    unsigned shard_index, shard_count;
    /* With a worker: how many classes (op, dtype and layout), or parts of a class of shapes, are
     * tuned side by side on each GPU, at most 8. Their kernels never run at the same time: one has
     * the GPU while another waits for kernels. 0: one for every 2 CPU cores per GPU, from 1 to 6;
     * on the simulated GPU, 1. It is 1 if the inputs of all do not fit in the GPU's memory. */
    unsigned jobs;
    /* Called often, from the calling thread; nonzero stops with REDTUNE_INTERRUPTED. */
    int (*progress)(void *user, const redtune_progress *progress);
    /* Called once per finished problem, as they finish, from the calling thread. */
    void (*tuned)(void *user, const redtune_tuned *result);
    void *user;
    /* The problems to tune, as they are, in place of those from ops, dtypes, counts and layouts:
     * shapes, or what a program has recorded. Their config is not read. */
    const redtune_problem *problems;
    size_t problem_count;
    /* Without counts and problems: these redtune_layouts, whole arrays of the default counts, rows
     * and columns of powers of four elements and results, of 4 KiB to 1 GiB together, with a few
     * odd ones; rows and columns of f16, bf16 and f32 unless dtypes are given. All three without
     * ops and dtypes: a few batches of planes and sums by key, too. 0: whole arrays. */
    unsigned layouts;
    redtune_order order; /* of problems that are not given */
    uint64_t accuracy;   /* redtune_accuracy; likewise */
    uint64_t reserved[3];
} redtune_tuning;

/* Tunes on rt's GPU: for each problem renders, compiles, verifies and times candidates, and
 * commits each measurement to the database that rt was opened with (created if it is not there).
 * Problems too large for the GPU's memory are left out. rt uses the new winners for plans created
 * afterwards; creating one on another thread waits until the tune is over. Fails with
 * REDTUNE_DATABASE or REDTUNE_FILE before anything is measured if the database cannot be written.
 */
REDTUNE_API redtune_status redtune_tune(redtune *rt, const redtune_tuning *tuning,
                                        redtune_error *err);

/* Makes this process a worker of the tune that started it, which reads from one file descriptor and
 * writes to the other (they may be one; redtune gives its workers 3): what redtune_tuning.worker
 * does when it is run with the word "worker". Ignores termination signals. Returns when the tune no
 * longer needs it, or ends the process if a GPU that it used must not be closed any more. */
REDTUNE_API redtune_status redtune_worker_run(int input_fd, int output_fd, redtune_error *err);

/* ---- verifying measurements -------------------------------------------------------------- */

/* A config with good measurements at one problem, and the result of verifying it. */
typedef struct redtune_verified {
    redtune_problem problem; /* result is filled in */
    int warm;                /* nonzero: with the input in L2 */
    char family[32];
    char config[256];
    int imported;        /* nonzero: only imports measured it */
    double was_ns;       /* its time in the databases */
    double now_ns;       /* its time now; 0 unless outcome is "good" */
    const char *outcome; /* as in redtune_row */
    const char *cause;   /* why it is not good; else "" */
    int holds;           /* nonzero: by redtune_verify's rule */
    /* Nonzero: it does not hold, and its measurements from before no longer count. */
    int retired;
    /* The same for the config it was timed beside: the built-in default, or for that the fastest
     * other config; 0: unknown. */
    double beside_was_ns, beside_now_ns;
} redtune_verified;

typedef struct redtune_verify_counts {
    /* Configs at problems that the query names, on this GPU model; of a sample, the winners. */
    uint64_t standing;
    uint64_t verified; /* of them, now */
    uint64_t held;
    uint64_t retired;
    uint64_t skipped;     /* too large for the GPU's memory, or not of the templates' any more */
    uint64_t held_beside; /* of those held: slower now, as what they were timed beside is */
    uint64_t reserved[3];
} redtune_verify_counts;

/* The measurements to verify. Zero fields: all of rt's GPU model. */
typedef struct redtune_verifying {
    const redtune_op *op;       /* NULL: any */
    const redtune_dtype *dtype; /* NULL: any */
    uint64_t count;             /* elements of a result; 0: any */
    uint64_t sample;    /* how many of the problems' winners, drawn at random; 0: every config */
    uint64_t seed;      /* the same seed and databases draw the same */
    const char *worker; /* as in redtune_tuning, and so is limit_s */
    double limit_s;
    /* Called once for each; nonzero stops with REDTUNE_INTERRUPTED. The struct lives during the
     * call. */
    int (*each)(void *user, const redtune_verified *verified);
    void *user;
    uint64_t outer, inner; /* as in redtune_problem, whatever the steps; 0: any */
    unsigned layouts;      /* redtune_layouts, or'ed; 0: any */
    uint64_t reserved[5];
} redtune_verifying;

/* Measures configs again, on rt's GPU, that have good measurements in the databases: verifies them
 * and times them beside the built-in default, as a tune does, and the default beside the fastest
 * other config. A config holds if it is right and
 *
 *  - takes no longer than it did, or
 *  - is as fast as what it is timed beside or faster, and that takes longer than it did as well, or
 *    the ratio of the two has not grown, or
 *  - is slower than what it is timed beside, as it was before, and their ratio has not grown.
 *
 * Longer and grown mean by more than the noise, 15 % and 0.3 us. So a GPU that is slower than on
 * the day of the tune does not make configs fail.
 *
 * Measurements go into rt's first database at once. So imported configs need no further verifying,
 * a wrong one is excluded, and a slower one has its current time: it is measured as often as it
 * takes to outvote its older rows, up to eight times. Times of a GPU that has become slower are
 * stored only for a config that does not hold, or that was imported: older times of other configs
 * would win over them. Fails with REDTUNE_DATABASE or REDTUNE_FILE, before anything is measured, if
 * that database cannot be written. A config that does not hold is no failure. */
REDTUNE_API redtune_status redtune_verify(redtune *rt, const redtune_verifying *verifying,
                                          redtune_verify_counts *counts, redtune_error *err);

/* ---- what programs run ------------------------------------------------------------------- */

/* A problem that programs ran without a measurement of its own (redtune_options.record). */
typedef struct redtune_recorded {
    redtune_problem problem; /* result is filled in; its steps are those of the calls */
    redtune_match match;     /* how near what served it was, when it was last recorded */
    uint64_t calls;
    double ns; /* their total time, estimated from measurements; 0: unknown */
    uint64_t reserved[4];
} redtune_recorded;

/* Reads a recording, whose lines docs/tuning.md explains: *problems, an array of *count that is
 * freed with redtune_free, has each problem once, by the time that its calls took and then by their
 * number, the most first. Anybody may have made the file. REDTUNE_FILE for one that cannot be read,
 * that is not a regular file, or that is larger than 16 MiB; REDTUNE_INVALID, with the number of
 * the line, for one that is not as redtune writes it. */
REDTUNE_API redtune_status redtune_recording_read(const char *path, redtune_recorded **problems,
                                                  size_t *count, redtune_error *err);

#ifdef __cplusplus
}
#endif

#endif
