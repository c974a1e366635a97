/* The interface for applications: plans, and running them. It includes redtune/problem.h, which
 * describes what is reduced, and redtune/input.h, which reduces files and arrays; tune.h, records.h
 * and tools.h declare the rest.
 *
 * Conventions.
 * - Everything that can fail returns a redtune_status and fills the caller's redtune_error, if one
 *   is given (err may be NULL). Outputs are untouched on failure. Nothing here prints or exits.
 * - Every text is the same in every locale, and a message is one line of UTF-8 without control
 *   characters.
 * - Public structs are valid when zeroed: a zero field means its default.
 * - Within one major version (one soname) a program works with a later library as it was compiled.
 *   Structs that a program makes or has filled keep their size: a later version names the first of
 *   their reserved fields, which are zero until then, and zero keeps the earlier behaviour. A
 *   struct whose reserved fields are not zero is refused with REDTUNE_UNSUPPORTED: it was not
 *   zeroed, or the program asks for what a later version knows. Structs that only redtune makes,
 *   for a callback, grow at their end. New enumerators have new numbers.
 * - Durations that a program gives, in fields and arguments that end in _s, are from 0 to 1e9; NaN
 *   and other values are refused with REDTUNE_INVALID.
 * - Device pointers and streams are the CUDA driver's (CUdeviceptr as a pointer, CUstream). The
 *   CUDA runtime's are the same types, so callers of cudart pass theirs. No CUDA header is needed.
 */
#ifndef REDTUNE_REDTUNE_H
#define REDTUNE_REDTUNE_H

#include "redtune/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REDTUNE_VERSION "0.1.0"

#define REDTUNE_VERSION_MAJOR 0
#define REDTUNE_VERSION_MINOR 1
#define REDTUNE_VERSION_PATCH 0
/* One number for comparisons: 10203 is 1.2.3. */
#define REDTUNE_VERSION_NUMBER                                                                     \
    (REDTUNE_VERSION_MAJOR * 10000 + REDTUNE_VERSION_MINOR * 100 + REDTUNE_VERSION_PATCH)

/* REDTUNE_VERSION_NUMBER of the library that the program runs with. */
REDTUNE_API int redtune_version(void);

/* A CUDA stream: CUstream and cudaStream_t are pointers to this. */
struct CUstream_st;

/* ---- opening ----------------------------------------------------------------------------- */

typedef struct redtune redtune;

typedef enum redtune_log_level {
    REDTUNE_LOG_NONE = 0,
    REDTUNE_LOG_WARNING,
    REDTUNE_LOG_INFO,
    REDTUNE_LOG_DEBUG,
} redtune_log_level;

/* Receives one line, without its newline. May be called from any thread that calls redtune. */
typedef void redtune_log_fn(void *user, redtune_log_level level, const char *line);

/* How imported measurements (redtune_import) serve. Those of the system's databases and merged ones
 * count as measured here. */
typedef enum redtune_trust {
    REDTUNE_TRUST_VERIFIED = 0, /* they serve once they have been verified on this GPU */
    REDTUNE_TRUST_ALL,          /* they serve as they are */
    REDTUNE_TRUST_NONE,         /* they do not serve */
} redtune_trust;

typedef struct redtune_options {
    /* NULL: the CUDA context that is current on the calling thread. "0", "1", ...: that device's
     * primary context. "sim": the simulated device of libredtune-sim.so. */
    const char *device;
    /* The tuning database, or several with ':' between, of which the first is written. NULL:
     * $REDTUNE_DB, else $XDG_DATA_HOME/redtune/tuning.db, else ~/.local/share/redtune/tuning.db;
     * where the environment has none of these, as that of a service, none is used. Beside them are
     * read the system's, /etc/redtune/tuning.db and /usr/share/redtune/tuning.db, and the rows that
     * redtune comes with; or those of $REDTUNE_SYSTEM_DB instead. */
    const char *database;
    redtune_log_fn *log; /* NULL: no log, unless REDTUNE_LOG is set */
    void *log_user;
    redtune_log_level log_level; /* lines above it are not made */
    /* A label of this machine or GPU, stored with each measurement, for databases that several
     * share; at most 63 bytes without characters that are special in a shell or a page. NULL: "".
     */
    const char *machine;
    /* Nonzero: a plan whose kernel must be compiled first runs another meanwhile, if the cache has
     * one: the default's, else any of its class (op, dtypes, order, accuracy and layout) that a
     * plan had there. A thread compiles, and the plan's next runs use the new kernel. In free order
     * results may differ in their last bits before and after, as they do between configurations.
     * Ops of the user's files are compiled at once, unless it is the default's that is there. */
    int background;
    redtune_trust trust;
    /* Seconds that verifying may take for one plan, not counting compiling; 0: 0.5. */
    double verify_s;
    /* NULL: imports are verified in this process. Else the redtune command, or a program as for
     * redtune_tuning.worker, which verifies in a process of its own, so that a kernel that faults
     * or does not end cannot break this context. A worker takes about half a second to start. */
    const char *worker;
    /* A file that records which problems plans ran without a measurement of their own, and how
     * often, for redtune_recording_read (redtune/tune.h). redtune_close writes it: a program that
     * ends without it records nothing. NULL: $REDTUNE_RECORD, and without that none; "" or
     * /dev/null: none. Anything else that is not a regular file is refused and left as it is. */
    const char *record;
    const char *ops; /* the user's files of ops, as for redtune_ops_read; or NULL */
    /* REDTUNE_ORDER_FIXED: problems whose order is REDTUNE_ORDER_FREE, the default, are reduced in
     * fixed order, too (docs/order.md). One that has none is REDTUNE_UNSUPPORTED; it may ask for
     * REDTUNE_ORDER_FREE_ALWAYS. Tunes, explain, emit and bake go by the problem alone. */
    redtune_order order;
    uint64_t reserved[5];
} redtune_options;

/* Opens redtune on a CUDA context. The tuning database is read into memory when a plan first needs
 * it, and closed again at once. A database that does not exist is an empty one. One that cannot be
 * reached, that another process has locked for 5 seconds, or that is damaged or no tuning database,
 * is an error if options.database names it; else, also if $REDTUNE_DB does, it is left out, and the
 * log has one warning with the remedy. options may be NULL. Fails with REDTUNE_LIBRARY without a
 * driver, REDTUNE_INVALID for a device that does not exist or where no context is current,
 * REDTUNE_DATABASE for a file that is no tuning database or is locked, REDTUNE_FILE for one that
 * cannot be reached; for options.ops as redtune_ops_read. The caller's current context is left as
 * it was.
 *
 * The environment is read here. REDTUNE_CONFIG is a configuration that every plan of rt must have
 * in place of problem.config (for debugging; plans that it does not fit fail). REDTUNE_TRUST
 * (verified, all or none) overrides options.trust, and REDTUNE_ORDER (free or fixed) options.order.
 * REDTUNE_CHECK (0 or 1) has every call ask the
 * driver whether kernels reach its device pointers. REDTUNE_LOG (warning, info or debug) raises
 * log_level, and without a log function prints the lines to stderr. REDTUNE_TRACE names a file to
 * which each call that launches appends a line (docs/api.md). A child of fork() opens its
 * own, and CUDA must not have been used before the fork. */
REDTUNE_API redtune_status redtune_open(const redtune_options *options, redtune **out,
                                        redtune_error *err);
/* Frees everything rt holds, plans made by redtune_reduce included; plans made by
 * redtune_plan_create must be destroyed before. rt may be NULL. No reduction may still be running,
 * and no graph that captured one may run again. The CUDA context may be destroyed before, together
 * with its memory. */
REDTUNE_API void redtune_close(redtune *rt);

/* ---- reducing ---------------------------------------------------------------------------- */

typedef struct redtune_plan redtune_plan;

/* Chooses the configuration for a problem, gets its kernel (from the kernel cache, or rendered and
 * compiled: 0.2 to 5 seconds) and loads it. The plan belongs to rt's context.
 *
 * An imported measurement is a hint. Before its configuration serves, it is verified once, as in a
 * tune, and timed beside the default, on a stream and in at most a quarter of the free memory, both
 * redtune's own. The two measurements go into the first database, or stay with rt if it takes none,
 * and decide from then on: a wrong configuration is excluded, a slow one has its true time. One
 * plan verifies at most three, within options.verify_s; after that the best configuration measured
 * here serves, or the default. Verifying waits for the GPU, and never happens in redtune_plan_run.
 * Other threads' work on the GPU makes its times less reliable, but no result wrong. Not during
 * stream capture. Fails with what redtune_open and NVRTC fail with. */
REDTUNE_API redtune_status redtune_plan_create(redtune *rt, const redtune_problem *problem,
                                               redtune_plan **out, redtune_error *err);
/* plan may be NULL. None of its reductions may still be running, nor a graph that captured one. */
REDTUNE_API void redtune_plan_destroy(redtune_plan *plan);

/* The plan's configuration, "block:block=256,vec=4,...", which problem.config takes in another
 * process or on another machine. Lives as long as the plan. */
REDTUNE_API const char *redtune_plan_config(const redtune_plan *plan);

/* Scratch of the caller's own: see redtune_workspace_create. */
typedef struct redtune_workspace redtune_workspace;

/* The operands of one run. */
typedef struct redtune_operands {
    /* Aligned to its elements; only the elements are read. May be NULL where count is 0, which
     * gives the op's identity. The second is for ops of two inputs, else NULL. Both have the same
     * extents, and each an alignment of its own. */
    const void *d_in[2];
    /* Take the results, the second those of ops of two, else NULL. REDTUNE_INVALID where one
     * overlaps the other, the workspace or anything that is read, from its first element to its
     * last: steps' gaps count. They may touch. */
    void *d_out[2];
    uint64_t count; /* elements of a result */
    /* NULL: scratch of redtune's own, which belongs to the stream. Else no two runs in it may
     * overlap in time, whether called or replayed, on any streams, and only one thread at a time
     * may call one. */
    redtune_workspace *workspace;
    /* Results are outer * inner: element e of result (o, i) is d_in[o * outer_step + e * step + i],
     * and the result is d_out[o * inner + i]. 0: one of each, packed: inner for step, and count *
     * inner for outer_step. redtune_problem_operands gives those of a problem. */
    uint64_t outer;
    uint64_t inner; /* above 1, or step above 1: columns; else, outer above 1: rows */
    uint64_t outer_step;
    uint64_t step;
    /* The op's parameters, in the order of redtune_op_info; NULL: the defaults. A capture keeps
     * their values for all replays of its graph. */
    const double *parameters;
    /* The same on the GPU, read when the kernel runs, and so anew by each replay; or NULL. Not with
     * parameters. */
    const double *d_parameters;
    /* How many elements a result has, on the GPU, likewise: the smaller of it and count is used,
     * of the first ones in row-major order of the reduced axes; steps of 0 are computed from count.
     * NULL: count. For plans with REDTUNE_USE_DEVICE_COUNT.
     */
    const uint64_t *d_count;
    /* Nonzero: results are combined with what d_out holds, as if that came before the elements. For
     * plans with REDTUNE_USE_ACCUMULATE. */
    uint64_t accumulate;
    /* For plans of problems with a mask, else NULL: a byte or a bit for each element of d_in[0],
     * with its extents. Elements whose byte or bit is 0 are absent; any other byte counts one. */
    const void *d_mask;
    /* Not NULL: results are combined with this value, of the result's dtype, as if it came before
     * the elements. For plans with REDTUNE_USE_INITIAL; not with accumulate. Read during the call
     * only. */
    const redtune_value *initial;
    /* Of a mask of bits: which bit is that of the element at d_in[0], counted from the lowest of
     * d_mask's byte on, as the offset of an array of Arrow's; else 0. */
    uint64_t mask_first;
    uint64_t reserved[1];
} redtune_operands;

/* The operands of a run over the problem's elements: its count, outer, inner, outer_step and step.
 * All other fields are 0; the caller may set them. */
REDTUNE_API redtune_operands redtune_problem_operands(const redtune_problem *problem);

/* Launches the plan's reduction, asynchronously, on a stream of rt's context (NULL: the default
 * stream). operands is read during the call only. Any thread may run a plan, on any stream, at any
 * time; rt's context need not be current. The first call on a stream allocates its scratch. A plan
 * of columns takes any extents, one of rows no columns, and one of a whole array one result.
 * REDTUNE_INVALID for others, and for invalid operands. Scratch belongs to the stream; with drivers
 * before CUDA 12.0 to its handle, so that a stream must be idle when it is destroyed. Calls may be
 * captured into graphs, the first one, too: each capture has scratch of its own, which is freed
 * when the graph and all its instances are destroyed. Graphs captured separately may run at once,
 * and so may the branches of one. Copies of one captured graph share its scratch and must run one
 * after the other: two instances, a clone, a child graph added twice. A dependency between captured
 * calls must not be removed from the graph. */
REDTUNE_API redtune_status redtune_plan_run(redtune_plan *plan, const redtune_operands *operands,
                                            struct CUstream_st *stream, redtune_error *err);

/* The same for a whole array: count elements at d_in, and the result at d_out. */
REDTUNE_API redtune_status redtune_plan_reduce(redtune_plan *plan, const void *d_in, uint64_t count,
                                               void *d_out, struct CUstream_st *stream,
                                               redtune_error *err);

/* The same, through a table of plans inside rt, one per class, powers of two of the sizes
 * of its axes, and alignment of the steps. The first call for one creates its plan, unless
 * redtune_prepare has; within a capture that is REDTUNE_UNPREPARED, and the capture goes on.
 * problem->config must be NULL. REDTUNE_INVALID for ops of two inputs or two results. */
REDTUNE_API redtune_status redtune_reduce(redtune *rt, const redtune_problem *problem,
                                          const void *d_in, void *d_out, struct CUstream_st *stream,
                                          redtune_error *err);

/* The same for any op, with operands as redtune_plan_run takes them: those of two inputs or results
 * and with parameters, runs that accumulate, counts on the GPU. The extents are the problem's;
 * those of the operands are 0, or the same. Plans with problem->uses are plans of their own. */
REDTUNE_API redtune_status redtune_run(redtune *rt, const redtune_problem *problem,
                                       const redtune_operands *operands, struct CUstream_st *stream,
                                       redtune_error *err);

/* Creates the plans that redtune_reduce and redtune_run will look for, several at a time. It
 * creates all that it can, and returns the first failure. Not during stream capture on this thread.
 */
REDTUNE_API redtune_status redtune_prepare(redtune *rt, const redtune_problem *problems,
                                           size_t count, redtune_error *err);
/* Nonzero: redtune_reduce and redtune_run find the problem's plan, so that a call with it makes
 * none. 0: they do not, or the problem is not valid. It waits for nothing. */
REDTUNE_API int redtune_is_prepared(redtune *rt, const redtune_problem *problem);

/* A workspace is scratch for programs that manage their memory, or that run one plan on several
 * graphs and streams in ways that redtune cannot see: a member of redtune_operands. */

/* Bytes that a workspace takes, for any plan. */
REDTUNE_API size_t redtune_workspace_bytes(void);
/* Makes a workspace in the caller's device memory, aligned to 256 bytes, which must live as long as
 * the workspace; d_memory NULL: in memory that redtune allocates, of so many bytes if those are
 * more than a workspace takes (redtune/keys.h). The memory is cleared on the
 * stream; runs on other streams must come after that. Not while the stream is captured. */
REDTUNE_API redtune_status redtune_workspace_create(redtune *rt, void *d_memory, size_t bytes,
                                                    struct CUstream_st *stream,
                                                    redtune_workspace **out, redtune_error *err);
/* workspace may be NULL. Conditions as for redtune_plan_destroy; call it before rt is closed. */
REDTUNE_API void redtune_workspace_destroy(redtune_workspace *workspace);

/* Where a plan's configuration came from, the best first, except that LIKE is better than GPU. */
typedef enum redtune_match {
    REDTUNE_MATCH_EXACT,   /* measured on this GPU model with exactly these extents */
    REDTUNE_MATCH_SIZE,    /* measured on this GPU model with the nearest extents */
    REDTUNE_MATCH_GPU,     /* measured on the nearest GPU model */
    REDTUNE_MATCH_DEFAULT, /* the template's built-in default */
    REDTUNE_MATCH_PINNED,  /* asked for by problem.config or REDTUNE_CONFIG */
    REDTUNE_MATCH_LIKE,    /* measured on this GPU model for another op or dtype, which moves as
                              many bytes; nothing near was measured there for this one */
} redtune_match;

typedef struct redtune_info {
    redtune_problem problem; /* result is filled in */
    char family[32];         /* the template */
    char config[256];        /* its parameters, "block=256,vec=4,..." */
    redtune_match match;
    redtune_op tuned_op;  /* what the configuration won at, here and in the other tuned fields; */
    uint64_t tuned_count; /* 0 for the default and a pinned one, except tuned_op */
    double tuned_ns;      /* median time there, cold L2 */
    char gpu[96];         /* the model it was measured on; "" for the default */
    /* The software it was measured with; 0 and "" for the default and a pinned one. */
    char machine[64];                  /* the label that was chosen for the machine */
    char templates[40];                /* version of the templates */
    int driver_version, nvrtc_version; /* 13000 is CUDA 13.0 */
    int64_t date;                      /* seconds since 1970, UTC */
    /* Nonzero: the default's kernel, another of the class, or what was measured here, until the
     * plan's own is compiled, or an imported measurement verified, in the background. match is that
     * of the default then. */
    int pending;
    int imported; /* nonzero: the measurement was imported, and was not verified here */
    uint64_t tuned_outer, tuned_inner; /* at least 1 */
    redtune_dtype tuned_dtype;
    int tuned_alignment; /* bytes, a power of two up to 16 that its steps are multiples of */
    uint64_t reserved[1];
} redtune_info;

REDTUNE_API void redtune_plan_info(const redtune_plan *plan, redtune_info *info);
/* "exact", "nearest size", "nearest GPU", "default", "pinned", "like". */
REDTUNE_API const char *redtune_match_name(redtune_match match);

/* ---- looking inside ---------------------------------------------------------------------- */

typedef struct redtune_device_info {
    char name[96];
    int major, minor; /* compute capability */
    int sm_count;
    uint64_t memory_bytes, l2_bytes;
    double peak_gbps;   /* of the memory bus, from its width and clock; 0 if unknown */
    int driver_version; /* CUDA version of the driver: 13000 is 13.0 */
    uint64_t reserved[4];
} redtune_device_info;

REDTUNE_API void redtune_device_get(const redtune *rt, redtune_device_info *info);
/* Counts the GPUs that this process sees: those that redtune_options.device may name, from "0" on.
 * Fails with REDTUNE_LIBRARY without a driver. */
REDTUNE_API redtune_status redtune_device_count(int *count, redtune_error *err);
/* In which order rt reduces the problem, as that and options.order say: REDTUNE_ORDER_FIXED, or
 * REDTUNE_ORDER_FREE, also for results that no order changes. */
REDTUNE_API redtune_order redtune_order_get(const redtune *rt, const redtune_problem *problem);
/* The database that rt was opened with, "" for none; lives as long as rt. */
REDTUNE_API const char *redtune_database_path(const redtune *rt);

#ifdef __cplusplus
}
#endif

#include "redtune/input.h"

#endif
