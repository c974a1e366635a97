/* The whole public interface of redtune: tuned GPU reductions, and the tuning itself.
 *
 * Conventions.
 * - Everything that can fail returns a redtune_status and fills the caller's redtune_error, if one
 *   is given (err may be NULL). Outputs are untouched on failure. Nothing here prints or exits.
 * - Every text is the same in every locale, and a message is one line of UTF-8 without control
 *   characters.
 * - Public structs are valid when zeroed: a zero field means "the usual".
 * - Device pointers and streams are the CUDA driver's (CUdeviceptr as a pointer, CUstream). The
 *   CUDA runtime's are the same types, so callers of cudart pass theirs. No CUDA header is needed.
 */
#ifndef REDTUNE_REDTUNE_H
#define REDTUNE_REDTUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define REDTUNE_API __attribute__((visibility("default")))
#else
#define REDTUNE_API
#endif

#define REDTUNE_VERSION "0.1.0"

/* A CUDA stream: CUstream and cudaStream_t are pointers to this. */
struct CUstream_st;

/* ---- status and errors ------------------------------------------------------------------- */

typedef enum redtune_status {
    REDTUNE_OK = 0,
    REDTUNE_INVALID,     /* the caller asked for something that makes no sense */
    REDTUNE_UNSUPPORTED, /* it makes sense, but not on this device or in this version */
    REDTUNE_MEMORY,      /* host memory ran out */
    REDTUNE_LIBRARY,     /* the CUDA driver or NVRTC is missing, incomplete or too old */
    REDTUNE_DEVICE,      /* the CUDA driver refused or the GPU failed; code is the CUresult */
    REDTUNE_COMPILER,    /* NVRTC refused; code is the nvrtcResult */
    REDTUNE_TEMPLATE,    /* a template failed to load or render */
    REDTUNE_DATABASE,    /* a database cannot be used; code is SQLite's */
    REDTUNE_FILE,        /* a file cannot be read or written; code is errno */
    REDTUNE_WRONG,       /* a kernel gave a wrong result */
    REDTUNE_INTERRUPTED, /* the caller's callback asked to stop */
    REDTUNE_UNPREPARED,  /* within a capture: redtune_prepare must be called before it */
} redtune_status;

typedef struct redtune_error {
    redtune_status status;
    long code;         /* the underlying library's own code, 0 if none */
    char message[768]; /* one line: cannot <verb> <object>: <reason>; <remedy> */
} redtune_error;

/* The name of a status, such as "invalid"; never NULL. */
REDTUNE_API const char *redtune_status_name(redtune_status status);

/* ---- what is reduced --------------------------------------------------------------------- */

/* docs/ops.md gives each op's value, result dtype and rules for NaN, infinity and zero. */
typedef enum redtune_op {
    REDTUNE_SUM = 0,
    REDTUNE_PROD,
    REDTUNE_MIN, /* NaN if an element is */
    REDTUNE_MAX,
    REDTUNE_FMIN, /* NaN ignored */
    REDTUNE_FMAX,
    REDTUNE_ARGMIN, /* the first index of the least; of the first NaN, if there is one */
    REDTUNE_ARGMAX,
    REDTUNE_SUMSQ,  /* of the squares */
    REDTUNE_NORM2,  /* the square root of that */
    REDTUNE_SUMABS, /* of the absolute values */
    REDTUNE_MAXABS,
    REDTUNE_MEAN,
    REDTUNE_ANY, /* 1 if an element is not zero, else 0 */
    REDTUNE_ALL,
    REDTUNE_NONZEROS, /* how many elements are not zero */
    REDTUNE_AND,      /* bitwise, of integers */
    REDTUNE_OR,
    REDTUNE_XOR,
} redtune_op;

typedef enum redtune_dtype {
    REDTUNE_DTYPE_NONE = 0, /* as problem.result: the usual one for the op and dtype */
    REDTUNE_I8,
    REDTUNE_U8,
    REDTUNE_I16,
    REDTUNE_U16,
    REDTUNE_I32,
    REDTUNE_U32,
    REDTUNE_I64,
    REDTUNE_U64,
    REDTUNE_F16,  /* IEEE 754 binary16 */
    REDTUNE_BF16, /* the upper half of an f32 */
    REDTUNE_F32,
    REDTUNE_F64,
} redtune_dtype;

/* A reduction: the op over count elements of dtype, which lie side by side in device memory. */
typedef struct redtune_problem {
    redtune_op op;
    redtune_dtype dtype;
    redtune_dtype result; /* REDTUNE_DTYPE_NONE: the usual one, such as i64 for sums of i32 */
    uint64_t count;       /* elements; a plan serves any count and is fastest near this one */
    /* NULL: what was measured to be fastest. Else the configuration that a plan must have, as
     * redtune_plan_config gives it: with the same one, the same GPU model and count give the same
     * bits. "block:block=256,vec=4" and "block=256,vec=4" name some parameters; the others are the
     * default's. Read during the call only; for plans only. */
    const char *config;
} redtune_problem;

/* Names as the command line writes them ("sum", "f32"); NULL for a value that is none. */
REDTUNE_API const char *redtune_op_name(redtune_op op);
REDTUNE_API const char *redtune_dtype_name(redtune_dtype dtype);
/* The op or dtype of that name. REDTUNE_INVALID, with the known names, if there is none. */
REDTUNE_API redtune_status redtune_op_find(const char *name, redtune_op *op, redtune_error *err);
REDTUNE_API redtune_status redtune_dtype_find(const char *name, redtune_dtype *dtype,
                                              redtune_error *err);
/* Bytes of one element; 0 for a value that is no dtype. */
REDTUNE_API size_t redtune_dtype_bytes(redtune_dtype dtype);
/* The dtype of the problem's result, which one element of d_out holds. REDTUNE_INVALID if the op
 * does not exist for the dtype or the result was asked for in a dtype it cannot have. */
REDTUNE_API redtune_status redtune_problem_result(const redtune_problem *problem,
                                                  redtune_dtype *result, redtune_error *err);

/* One value of any dtype: the member named after the dtype holds it. */
typedef union redtune_value {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    uint16_t f16, bf16; /* their bits */
    float f32;
    double f64;
    unsigned char bytes[16];
} redtune_value;

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

/* What becomes of measurements that redtune_import received. Those of the system's databases and
 * those that were merged are as good as measured here. */
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
     * where the environment has none of these, as that of a service, none is used. Below them are
     * read: the system's, /etc/redtune/tuning.db and /usr/share/redtune/tuning.db, and the rows
     * that redtune comes with; or those of $REDTUNE_SYSTEM_DB instead. */
    const char *database;
    redtune_log_fn *log; /* NULL: no log, unless REDTUNE_LOG is set */
    void *log_user;
    redtune_log_level log_level; /* lines above it are not made */
    /* The label of this machine or GPU that what is measured is stored with, for databases that
     * several share; at most 63 bytes without signs that a shell or a page reads. NULL: "". */
    const char *machine;
    /* Nonzero: a plan whose kernel must be compiled first runs the default's meanwhile, if that
     * one's is at hand; a thread compiles, and the plan's next runs use the new kernel. Results may
     * differ in their last bits before and after, as they do between configurations. */
    int background;
    redtune_trust trust;
    /* Seconds that the verifying for one plan may take, beside compiling; 0: 0.5. */
    double verify_s;
    /* NULL: verifying happens in this process. Else in one of its own, so that a kernel that faults
     * or does not end cannot spoil this context: the redtune command, or what redtune_tuning.worker
     * may be. A worker takes about half a second to start. */
    const char *worker;
} redtune_options;

/* Opens redtune on a CUDA context. The tuning database is read into memory when a plan first needs
 * it, and closed again at once. A database that does not exist is an empty one. One that cannot be
 * reached, or that another process has locked for 5 seconds, is an error if options.database names
 * it; else it is left out, and the log has a warning. options may be NULL. Fails with
 * REDTUNE_LIBRARY without a driver, REDTUNE_INVALID for a device that does not exist or where no
 * context is current, REDTUNE_DATABASE for a file that is no tuning database or is locked,
 * REDTUNE_FILE for one that cannot be reached. The caller's current context is left as it was.
 *
 * The environment is read here: REDTUNE_CONFIG is a configuration that every plan of rt must have,
 * as problem.config, which it overrules (for debugging; plans that it does not fit fail).
 * REDTUNE_TRUST (verified, all or none) overrules options.trust.
 * REDTUNE_CHECK (0 or 1) has every call of rt ask the driver whether kernels reach d_in and d_out.
 * REDTUNE_LOG (warning, info or debug) raises log_level, and without a log function prints the
 * lines to stderr. A child of fork() opens its own, and CUDA must not have been used before the
 * fork. */
REDTUNE_API redtune_status redtune_open(const redtune_options *options, redtune **out,
                                        redtune_error *err);
/* Frees everything rt holds, plans made by redtune_reduce included; plans made by
 * redtune_plan_create must be destroyed before. rt may be NULL. No reduction may still run, nor any
 * graph that captured one run again. The CUDA context may be destroyed before: what
 * lay on the GPU is gone with it then. */
REDTUNE_API void redtune_close(redtune *rt);

/* ---- reducing ---------------------------------------------------------------------------- */

typedef struct redtune_plan redtune_plan;

/* Chooses the configuration for a problem, gets its kernel (from the kernel cache, or rendered and
 * compiled: tens of milliseconds) and loads it. The plan belongs to rt's context.
 *
 * A measurement that was received (redtune_import) is a hint. Where it would decide, its
 * configuration is first verified as a tune would (exact results at every boundary) and timed
 * beside the default's on this GPU, on a stream and in memory of redtune's own, a quarter of what
 * is free at most; what came of it goes into the first database as any other measurement, or stays
 * with rt where that takes none, and decides from then on: a wrong configuration is out, a slow one
 * stands with its true time. Three are looked at for one plan, within options.verify_s; beyond that
 * serves what was measured here, or the default. This never happens again for the same measurement,
 * nor in redtune_plan_run. It waits for the GPU; other threads' work there makes it less sure, not
 * wrong. Not during stream capture. Fails with what redtune_open and NVRTC fail with. */
REDTUNE_API redtune_status redtune_plan_create(redtune *rt, const redtune_problem *problem,
                                               redtune_plan **out, redtune_error *err);
/* plan may be NULL. None of its reductions may still run, nor any graph that captured one run
 * again. */
REDTUNE_API void redtune_plan_destroy(redtune_plan *plan);

/* The plan's whole configuration as text, "block:block=256,vec=4,...", which problem.config takes
 * in another process or on another machine. Lives as long as the plan. */
REDTUNE_API const char *redtune_plan_config(const redtune_plan *plan);

/* Launches the reduction of count elements at d_in into the one element at d_out, asynchronously,
 * on a stream of rt's context (NULL: the default stream). d_in needs only its element's alignment
 * and is not read outside [d_in, d_in + count); d_in may be NULL where count is 0, which gives the
 * op's identity. d_out may not lie within the input: that is REDTUNE_INVALID. Any thread may run a
 * plan, on any stream, at any time; rt's context need not be current. The first call on a stream
 * allocates its scratch; later ones only launch.
 *
 * Scratch belongs to the stream: with a driver of CUDA 12.0 or newer to the stream itself, with
 * older ones to its handle, so that a stream must then be idle when it is destroyed. Calls may be
 * captured into graphs, the first one, too: each capture has scratch of its own, which is given
 * back when the graph and all its instances are gone. Within a capture a call shares scratch only
 * with calls that it follows in the graph. So graphs captured apart may run side by side, and so
 * may the branches of one. Copies of one captured graph share its scratch and must run one after
 * the other: two instances, a clone, a child graph that is added twice. Nor may a dependency
 * between captured calls be taken out of the graph. */
REDTUNE_API redtune_status redtune_plan_run(redtune_plan *plan, const void *d_in, uint64_t count,
                                            void *d_out, struct CUstream_st *stream,
                                            redtune_error *err);

/* The same through a table of plans inside rt, one per op, dtype, result and power of two of
 * problem->count. The first call for one creates its plan, unless redtune_prepare has; within a
 * capture that is REDTUNE_UNPREPARED, and the capture goes on. problem->config must be NULL. */
REDTUNE_API redtune_status redtune_reduce(redtune *rt, const redtune_problem *problem,
                                          const void *d_in, void *d_out, struct CUstream_st *stream,
                                          redtune_error *err);

/* Creates the plans that redtune_reduce will look for, several at a time. All that can be are, and
 * the first failure is returned. Not during stream capture on this thread. */
REDTUNE_API redtune_status redtune_prepare(redtune *rt, const redtune_problem *problems,
                                           size_t count, redtune_error *err);

/* Scratch of the caller's own, for those who manage their memory, or who run one plan on several
 * graphs and streams in ways that redtune cannot see. */
typedef struct redtune_workspace redtune_workspace;

/* Bytes that a workspace takes, for any plan. */
REDTUNE_API size_t redtune_workspace_bytes(void);
/* Makes a workspace of the caller's device memory, aligned to 256 bytes, which must live as long
 * as the workspace and is the caller's again afterwards; d_memory NULL: of memory that redtune
 * allocates. The memory is cleared on the stream; runs on other streams must come after that.
 * Not while the stream is captured. */
REDTUNE_API redtune_status redtune_workspace_create(redtune *rt, void *d_memory, size_t bytes,
                                                    struct CUstream_st *stream,
                                                    redtune_workspace **out, redtune_error *err);
/* workspace may be NULL. As for redtune_plan_destroy; before rt is closed. */
REDTUNE_API void redtune_workspace_destroy(redtune_workspace *workspace);
/* redtune_plan_run with scratch of the caller's: no two runs in one workspace may overlap in time,
 * be they called or replayed, on whatever stream, and only one thread at a time may call it. */
REDTUNE_API redtune_status redtune_plan_run_in(redtune_plan *plan, redtune_workspace *workspace,
                                               const void *d_in, uint64_t count, void *d_out,
                                               struct CUstream_st *stream, redtune_error *err);

/* Where a plan's configuration came from, best first. */
typedef enum redtune_match {
    REDTUNE_MATCH_EXACT,   /* measured on this GPU model at this count */
    REDTUNE_MATCH_SIZE,    /* measured on this GPU model at the nearest count */
    REDTUNE_MATCH_GPU,     /* measured on the nearest GPU model */
    REDTUNE_MATCH_DEFAULT, /* the template's built-in default */
    REDTUNE_MATCH_PINNED,  /* asked for by problem.config or REDTUNE_CONFIG */
} redtune_match;

typedef struct redtune_info {
    redtune_problem problem; /* result is filled in */
    char family[32];         /* the template */
    char config[256];        /* its parameters, "block=256,vec=4,..." */
    redtune_match match;
    uint64_t tuned_count; /* the measured count the configuration won at; 0 for the default */
    double tuned_ns;      /* median time there, cold L2; 0 for the default */
    char gpu[96];         /* the model it was measured on; "" for the default */
    /* What it was measured with; 0 and "" for the default and a pinned one. */
    char machine[64];                  /* the label that was chosen for the machine */
    char templates[40];                /* version of the templates */
    int driver_version, nvrtc_version; /* 13000 is CUDA 13.0 */
    int64_t date;                      /* seconds since 1970, UTC */
    /* Nonzero: the default's kernel, or what was measured here, until another is compiled, or a
     * received measurement verified, in the background. */
    int pending;
    int received; /* nonzero: the measurement was imported, and was not verified here */
} redtune_info;

REDTUNE_API void redtune_plan_info(const redtune_plan *plan, redtune_info *info);
/* "exact", "nearest size", "nearest GPU", "default", "pinned". */
REDTUNE_API const char *redtune_match_name(redtune_match match);

/* Gives the next bytes of an input: fills at most capacity bytes and says how many; a whole number
 * of elements each time, 0 at the end. A status other than REDTUNE_OK ends the reduction with it
 * (fill err with the reason). */
typedef redtune_status redtune_read_fn(void *user, void *buffer, size_t capacity, size_t *bytes,
                                       redtune_error *err);

typedef struct redtune_input {
    redtune_read_fn *read;
    void *user;
} redtune_input;
typedef struct redtune_reading {
    redtune_value value;
    redtune_dtype dtype; /* of value */
    uint64_t count;      /* elements read */
    uint64_t pieces;
    double kernel_ns;  /* time on the GPU, the copies left out */
    redtune_info info; /* the plan that ran */
} redtune_reading;
/* Reduces elements that are not on the GPU: reads them piece by piece, copies each to the GPU and
 * reduces it there, and combines the pieces' results on the host. problem->count is the number of
 * elements expected, 0 if unknown. */
REDTUNE_API redtune_status redtune_reduce_input(redtune *rt, const redtune_problem *problem,
                                                const redtune_input *input, redtune_reading *out,
                                                redtune_error *err);

/* ---- tuning ------------------------------------------------------------------------------ */

/* How thoroughly a problem's candidates are searched (docs/tuning.md). */
typedef enum redtune_effort {
    REDTUNE_EFFORT_STANDARD = 0, /* a search that was seen to find the best, or one as good */
    REDTUNE_EFFORT_QUICK,        /* half of that, and fewer samples */
    REDTUNE_EFFORT_EXHAUSTIVE,   /* all candidates that docs/tuning.md counts */
} redtune_effort;

/* "standard", "quick", "exhaustive"; "unknown" for what is none. */
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
    double default_ns; /* the built-in default, likewise; 0 if it could not be measured */
    int is_default;    /* nonzero: nothing beat the default by more than the noise */
    double gbps;       /* input bytes over median_ns, in 10^9 bytes per second */
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
    /* The place of the result among all: by model in the order of the devices, then op, dtype and
     * count. Several GPUs finish their problems in any order. */
    uint64_t place;
    /* Nonzero: a second look at the problem measured more; replaces what was told of it before. */
    int again;
} redtune_tuned;

typedef struct redtune_progress {
    /* What is measured; at the border between two sizes one of them, or one between. */
    const redtune_problem *problem;
    uint64_t problem_index, problem_count;     /* problem i of n, from 0: so many are finished */
    uint64_t candidate_index, candidate_count; /* of those about to be measured */
    const char *stage;                         /* "start", "known", "cold", "warm", "border" */
    double best_gbps;                          /* so far, of this problem; 0: none yet */
    /* The GPU, as in redtune_tuned; "" and 0 before any has begun. */
    const char *device;
    unsigned device_count;
} redtune_progress;

/* What to tune. Zero fields: sum; f16, bf16, f32, f64, i8, i32 and i64; counts 2^10, 2^11, ...,
 * 2^30, as far as the GPU's memory has room for them; on the simulated GPU f32, f64 and i32, counts
 * 2^8, 2^9 and 2^10, which take about a minute. */
typedef struct redtune_tuning {
    const redtune_op *ops;
    size_t op_count;
    const redtune_dtype *dtypes;
    size_t dtype_count;
    const uint64_t *counts;
    size_t count_count;
    int again; /* nonzero: measure also what the database has already */
    redtune_effort effort;
    /* Seconds that the tune should take; 0: as long as it does. A search that runs late looks at
     * fewer candidates; each looks at a few in any case, so it may take longer. */
    double budget_s;
    uint64_t seed; /* the same seed, database and GPU give the same candidates in the same order */
    /* The redtune command, or a program that has redtune_worker_run do what its "worker" command
     * does; "/proc/self/exe" for such a program itself. Kernels are then compiled in processes of
     * their own, as many as there are cores, and tried in one per GPU: one that faults or does not
     * end is recorded as such, and the tune goes on. NULL: everything happens in this process, and
     * ends with the first kernel that spoils its CUDA context. */
    const char *worker;
    /* With a worker: the GPUs to tune on, such as "0", "0,1" or "all", or "sim". Equal models share
     * the work; different ones are tuned side by side. NULL: rt's. */
    const char *devices;
    /* With a worker: seconds that a candidate may take for one step, such as a check or a sample,
     * before it is given up; 0: 10. */
    double limit_s;
    /* Of the problems, by op, dtype and then count, the shard_index-th of shard_count equal parts,
     * from 0; so that several machines share a tune, each with a database of its own, which
     * redtune_import merges. A part that ends between two counts of one op and dtype takes the next
     * one as well, so that what lies between any two neighbours is measured by one part, and no
     * part has more than one problem beyond its share rounded up. shard_count 0: all. */
    unsigned shard_index, shard_count;
    /* Called often, from the calling thread; nonzero stops with REDTUNE_INTERRUPTED. */
    int (*progress)(void *user, const redtune_progress *progress);
    /* Called once per finished problem, as they finish, from the calling thread. */
    void (*tuned)(void *user, const redtune_tuned *result);
    void *user;
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
 * does when it is run with the word "worker". Ignores the signals that end programs, and returns
 * when the tune has no more use for it, or ends the process if a GPU it used must not be closed any
 * more. */
REDTUNE_API redtune_status redtune_worker_run(int input_fd, int output_fd, redtune_error *err);

/* ---- looking inside ---------------------------------------------------------------------- */

typedef struct redtune_device_info {
    char name[96];
    int major, minor; /* compute capability */
    int sm_count;
    uint64_t memory_bytes, l2_bytes;
    double peak_gbps;   /* of the memory bus, from its width and clock; 0 if unknown */
    int driver_version; /* CUDA version of the driver: 13000 is 13.0 */
} redtune_device_info;

REDTUNE_API void redtune_device_get(const redtune *rt, redtune_device_info *info);
/* Counts the GPUs that this process sees: those that redtune_options.device may name, from "0" on.
 * Fails with REDTUNE_LIBRARY without a driver. */
REDTUNE_API redtune_status redtune_device_count(int *count, redtune_error *err);
/* The database that rt was opened with, "" for none; lives as long as rt. */
REDTUNE_API const char *redtune_database_path(const redtune *rt);

/* ---- what was measured ------------------------------------------------------------------- */

/* Which GPU model redtune_rows_each, redtune_explain, redtune_report and redtune_export are about:
 *
 * 1. the one that is named: gpu is the name of a model in the databases or a part of it in any
 *    case, and the whole name goes before a longer one. REDTUNE_INVALID, with the names there are,
 *    where no model has it or models of several names do. (device names a GPU of this machine.)
 * 2. Else this machine's GPU: its first device of which the databases have measurements. For
 *    redtune_explain device 0 in any case, since programs run there. The CUDA driver is asked only
 *    where that makes a difference; without one there is no such GPU.
 * 3. Else the model that was measured last.
 *
 * The databases are the user's. Those of the system, among them the rows that redtune comes with,
 * count where gpu names a model; with shipped they count, too, and the model is one of theirs.
 * redtune_explain says what a program would get, to which they always count. */

/* Which measurements to give. Zero fields: all that the user's databases have of the GPU above. */
typedef struct redtune_rows_query {
    const char *database;       /* as in redtune_options */
    const char *gpu;            /* as above; "all": every model */
    const redtune_op *op;       /* NULL: any */
    const redtune_dtype *dtype; /* NULL: any */
    uint64_t count;             /* 0: any */
    int winners;                /* nonzero: the winners only */
    int shipped;                /* nonzero: those of the system's databases, too */
    int own;                    /* nonzero: without these, even where gpu names a model */
} redtune_rows_query;

/* One measurement. Its strings live during the call. */
typedef struct redtune_row {
    redtune_device_info gpu; /* memory_bytes and driver_version are 0: unknown */
    redtune_problem problem; /* result is filled in */
    int warm;                /* nonzero: the input was in L2, as far as it fits; 0: L2 was cold */
    char family[32];
    char config[256];
    int order; /* the config's place in its template's space, simpler ones first; -1: unknown */
    const char *outcome; /* "good", "wrong", "uncompiled", "faulted", "hung" */
    const char *cause;   /* why it is not good, if that is known; else "" */
    double median_ns;    /* of one call; this and the next three are 0 unless good */
    double spread_ns;    /* half the distance between the quartiles of the samples */
    double gbps;         /* input bytes over median_ns, in 10^9 bytes per second */
    int samples;
    /* What the winner of the same problem on the same GPU and the built-in default take; 0: there
     * is none, or it was not measured. */
    double winner_ns, default_ns;
    int is_winner;  /* it stands for the config that wins there */
    int is_default; /* it was the built-in default when it was measured */
    /* The GPU while it was timed; -1: unknown. */
    int sm_mhz, memory_mhz, temperature_c, others;
    int64_t throttle; /* NVML's reasons for lower clocks, or'ed */
    /* What it was measured with. */
    const char *machine;               /* the label that was chosen for the machine */
    const char *templates;             /* version of the templates */
    int templates_differ;              /* nonzero: from those of this redtune */
    int driver_version, nvrtc_version; /* 13000 is CUDA 13.0; 0: unknown */
    int64_t date;                      /* seconds since 1970, UTC */
    int received;                      /* nonzero: imported, not measured into this database */
    int shipped;                       /* nonzero: of the system's databases */
    const char *database;              /* where it lies */
} redtune_row;

/* Another status than REDTUNE_OK ends the enumeration with it. */
typedef redtune_status redtune_row_fn(void *user, const redtune_row *row, redtune_error *err);

/* Calls each with measurements of the databases, by GPU, op, dtype, result, cache state and count,
 * and then the good ones first, from fast to slow. Works without GPU and driver. A problem's winner
 * is that among measurements with this redtune's templates; where there are none, with those of
 * the latest winner. Databases that do not exist are empty ones. REDTUNE_DATABASE for a file that
 * is no tuning database or stays locked for 5 seconds, REDTUNE_FILE for one that cannot be
 * reached. */
REDTUNE_API redtune_status redtune_rows_each(const redtune_rows_query *query, redtune_row_fn *each,
                                             void *user, redtune_error *err);

/* What to explain. */
typedef struct redtune_question {
    /* As redtune_options.database. */
    const char *database;
    const char *device; /* "0", "1", ... or "sim", for which the driver is needed; or NULL */
    const char *gpu;    /* else a model's name, as above */
    int shipped;        /* nonzero: a model of the system's databases */
    redtune_problem problem;
} redtune_question;

/* What a plan for the problem would run there, and on what grounds. */
typedef struct redtune_explanation {
    redtune_device_info gpu; /* the one asked about */
    /* The configuration, how near the row is that it comes from, and what it was measured with. */
    redtune_info info;
    double default_ns;  /* what the built-in default took where the row was measured; 0: unknown */
    int received;       /* nonzero: the row was imported, not measured into its database */
    int to_verify;      /* nonzero: so it is verified on the GPU before it serves */
    char database[256]; /* where the row lies; "" for the default, as the rest */
    int templates_differ; /* nonzero: the row was measured with others than this redtune's */
    /* Versions of today; 0: there is none here, so that nothing differs. */
    int driver_version, nvrtc_version;
    int driver_differs, nvrtc_differs; /* nonzero: the row's are others */
} redtune_explanation;

/* Finds what redtune_plan_create would choose. Needs no GPU unless the question names a device, and
 * never CUDA's context. REDTUNE_INVALID where there is nothing to be about. */
REDTUNE_API redtune_status redtune_explain(const redtune_question *question,
                                           redtune_explanation *out, redtune_error *err);

/* ---- moving measurements ----------------------------------------------------------------- */

typedef enum redtune_export_format {
    REDTUNE_EXPORT_SQLITE, /* a tuning database */
    REDTUNE_EXPORT_JSON,   /* one JSON object per line */
} redtune_export_format;

/* Writes the measurements that the query names (its winners: with the default's beside them) into
 * memory, none marked as received: *data is freed with redtune_free. Equal sets of measurements
 * give equal bytes. A query of NULL: all in the user's databases. */
REDTUNE_API redtune_status redtune_export(const redtune_rows_query *query,
                                          redtune_export_format format, void **data, size_t *bytes,
                                          redtune_error *err);

/* A problem whose winner an import changes. */
typedef struct redtune_change {
    char gpu[96];
    redtune_problem problem;
    int warm;
    char before[256], after[256]; /* the winning configs; before is "" where there was none */
    double before_ns, after_ns;
} redtune_change;

typedef struct redtune_import_report {
    uint64_t rows;    /* in the files */
    uint64_t added;   /* of them */
    uint64_t same;    /* that were there before, or came twice */
    uint64_t refused; /* that no tune could have given */
    uint64_t winners; /* that changed */
} redtune_import_report;

typedef struct redtune_importing {
    const char *database;     /* as redtune_options.database: the first of them takes the rows */
    const char *const *files; /* "-" is standard input */
    size_t file_count;
    /* Nonzero: nothing is written. */
    int dry_run;
    /* Nonzero: the files are the caller's own, shards of one tune say, and their rows count as
     * measured here. Else they count as received: undone by redtune_undo, outweighed by what was
     * measured here, and checked on the GPU before they serve. */
    int merge;
    /* Each is called for what it is named after; NULL: not. */
    void (*changed)(void *user, const redtune_change *change);
    void (*refused)(void *user, const char *file, const char *reason, uint64_t count);
    void *user;
} redtune_importing;

/* Takes measurements in from files that anybody may have made: nothing in them is run, every value
 * is checked against the templates and against what hardware can do, and what fails is refused row
 * by row, or a file as a whole (REDTUNE_DATABASE, REDTUNE_FILE). The database gets the rows of all
 * files, each once, or, on failure, none. */
REDTUNE_API redtune_status redtune_import(const redtune_importing *importing,
                                          redtune_import_report *report, redtune_error *err);
/* Takes the last import back: *removed measurements of the file named source, which is "" if there
 * was no import. */
REDTUNE_API redtune_status redtune_undo(const char *database, char source[256], uint64_t *removed,
                                        redtune_error *err);

/* ---- verifying measurements -------------------------------------------------------------- */

/* A config that stood for itself at one problem, and what came of it now. */
typedef struct redtune_verified {
    redtune_problem problem; /* result is filled in */
    int warm;                /* nonzero: with the input in L2 */
    char family[32];
    char config[256];
    int received;        /* nonzero: only an import spoke for it */
    double was_ns;       /* what it took by the databases */
    double now_ns;       /* what it took now; 0 unless outcome is "good" */
    const char *outcome; /* as in redtune_row */
    const char *cause;   /* why it is not good; else "" */
    /* Nonzero: it is right, and not slower than it was by more than the noise and a tenth. */
    int holds;
    /* Nonzero: it does not hold, and what stood for it before does so no more. */
    int retired;
} redtune_verified;

typedef struct redtune_verify_report {
    uint64_t standing; /* configs at problems that the query names, on this GPU model */
    uint64_t verified; /* of them, now */
    uint64_t held;
    uint64_t retired;
    uint64_t skipped; /* too large for the GPU's memory, or not of the templates' any more */
} redtune_verify_report;

/* What to verify. Zero fields: everything that is known of rt's GPU model. */
typedef struct redtune_verifying {
    const redtune_op *op;       /* NULL: any */
    const redtune_dtype *dtype; /* NULL: any */
    uint64_t count;             /* 0: any */
    uint64_t sample;            /* so many of them, drawn at random; 0: all */
    uint64_t seed;              /* the same seed and databases draw the same */
    const char *worker;         /* as in redtune_tuning, and so is limit_s */
    double limit_s;
    /* Called once for each; nonzero stops with REDTUNE_INTERRUPTED. The struct lives during the
     * call. */
    int (*each)(void *user, const redtune_verified *verified);
    void *user;
} redtune_verifying;

/* Tries configs again, on rt's GPU, that the databases have good measurements of: checks their
 * answers and times them beside the built-in default, as a tune does. What is measured goes into
 * rt's first database at once, like all measurements, so that received ones need no verifying
 * any more, and those that do not hold are out or stand with the time that they take now: a slower
 * one is measured as often as it takes to outvote what is there, up to eight times. Fails with
 * REDTUNE_DATABASE or REDTUNE_FILE before anything is measured if that cannot be written. That some
 * do not hold is no failure. */
REDTUNE_API redtune_status redtune_verify(redtune *rt, const redtune_verifying *verifying,
                                          redtune_verify_report *report, redtune_error *err);

/* ---- sources and counters ---------------------------------------------------------------- */

typedef struct redtune_emission {
    redtune_problem problem;
    const char *family; /* NULL: the first that has the problem */
    /* "block=256,vec=4": the named parameters; the others are the default's. NULL: the default. */
    const char *config;
    /* Nonzero: with the #line directives that the compiler is given. */
    int lines;
    /* The GPU to render for, as in redtune_question: without a family and a config, what it would
     * run by the databases. NULL: a typical one of compute capability 8.0. Ignored by
     * redtune_count. */
    const char *gpu;
    const char *database; /* where gpu is looked up, as in redtune_question */
} redtune_emission;

/* Renders the CUDA source of one configuration. Needs neither GPU nor driver. *source is
 * NUL-terminated and freed by the caller with redtune_free. */
REDTUNE_API redtune_status redtune_emit(const redtune_emission *emission, char **source,
                                        redtune_error *err);
REDTUNE_API void redtune_free(void *pointer);

/* What one call of a kernel did on the simulated GPU; sums over its launches. */
typedef struct redtune_counters {
    char config[256]; /* every parameter, "block=256,vec=4,..." */
    char gpu[96];     /* the simulated GPU's name */
    uint64_t launches, blocks, warps;
    uint64_t warp_instructions;  /* a warp's instruction counts once, however few lanes it has */
    uint64_t lane_instructions;  /* over warp_instructions: active lanes, 32 at best */
    uint64_t branches;           /* by warps */
    uint64_t divergent_branches; /* that lanes of one warp took differently */
    uint64_t global_loads;       /* requests of a warp */
    uint64_t global_stores;
    uint64_t global_transactions; /* of 32 bytes, as few as the requests' addresses allow */
    uint64_t global_bytes;        /* that lanes asked for; at best 32 per transaction */
    uint64_t memory_transactions; /* those of them that the L2 cache did not hold */
    uint64_t shared_requests;
    uint64_t shared_wavefronts; /* passes over the banks; more than requests: conflicts */
    uint64_t barriers;          /* of blocks, counted once for each warp */
    uint64_t shuffles;
    uint64_t atomics; /* by lanes */
    uint64_t fences;
    double time_ns; /* modelled; says nothing about a real GPU */
} redtune_counters;

/* Compiles one configuration and calls it once, on problem.count elements, on the simulated GPU of
 * libredtune-sim.so, which counts what it does, with a cold L2. emission is as for redtune_emit.
 * Needs NVRTC, and no GPU. Fails with REDTUNE_LIBRARY where one of the libraries is missing, and
 * with REDTUNE_DEVICE where the kernel does what it must not, or the elements do not fit. */
REDTUNE_API redtune_status redtune_count(const redtune_emission *emission, redtune_counters *out,
                                         redtune_error *err);

/* ---- the ladder -------------------------------------------------------------------------- */

/* A step of the ladder: the sum by one classic optimisation more than the step before. */
typedef struct redtune_step {
    char name[32];           /* "modulo"; the last is "tuned" */
    char place[16];          /* "0"; "3b" is a variant of 3, and the next step goes on from 3 */
    char text[320];          /* what changed and why it pays */
    redtune_problem problem; /* result is filled in */
    char family[32];
    char config[256];
    uint64_t launches; /* of kernels, for one sum */
    uint64_t blocks;   /* of the first of them */
    redtune_value value, exact;
    int right;        /* nonzero: value is the exact sum */
    double median_ns; /* cold L2, per sum in a replayed graph; 0 on a simulated GPU */
    double spread_ns; /* half the distance between the quartiles */
    double gbps;      /* input bytes over median_ns, in 10^9 bytes per second */
    double gain;      /* times faster than the step before; 0 for the first, or where not timed */
    int counted;      /* nonzero: counters are filled in, on a simulated GPU */
    redtune_counters counters;
} redtune_step;

/* Zero fields: f32; 2^24 elements, on a simulated GPU 2^20; 256 threads per block. */
typedef struct redtune_climb {
    redtune_dtype dtype; /* i32, i64, f32 or f64 */
    uint64_t count;
    /* Threads per block: 32, 64, ..., 1024, or 101 for the steps that need no power of two. */
    int block;
    int one_block; /* nonzero: the steps that have it in the form for an array of one block */
    /* Nonzero, for redtune_ladder_source: a whole program, with the host's code, for nvcc. */
    int program;
    /* Called once per step, in order; nonzero stops with REDTUNE_INTERRUPTED. */
    int (*step)(void *user, const redtune_step *step);
    void *user;
} redtune_climb;

/* Runs the steps of the ladder in order on rt's GPU, checks each sum, and times it, or counts what
 * it does where the GPU is simulated. docs/ladder.md tells what the steps are. Fails with
 * REDTUNE_WRONG, after the last step, if a sum was not right. */
REDTUNE_API redtune_status redtune_ladder(redtune *rt, const redtune_climb *climb,
                                          redtune_error *err);
/* Calls climb->step for every step that there is as climb says, with its name, place, text, family
 * and config, and runs nothing. Needs neither GPU nor driver. */
REDTUNE_API redtune_status redtune_ladder_steps(const redtune_climb *climb, redtune_error *err);
/* Renders the CUDA source of a step by its name or place, as climb says; redtune_emit does so for
 * the last, "tuned". Needs neither GPU nor driver. *source is freed by the caller with
 * redtune_free. */
REDTUNE_API redtune_status redtune_ladder_source(const redtune_climb *climb, const char *name,
                                                 char **source, redtune_error *err);

/* ---- the report -------------------------------------------------------------------------- */

typedef enum redtune_format {
    REDTUNE_FORMAT_HTML = 0, /* one page that needs no other file and no script; well-formed XML */
    REDTUNE_FORMAT_CSV,      /* the winners, one a line */
    REDTUNE_FORMAT_JSON,
} redtune_format;

typedef struct redtune_reporting {
    const char *database; /* as in redtune_options */
    const char *device;   /* "0", "1", ... or "sim": it is about this GPU, measured or not */
    const char *gpu;      /* else a model's name, as for redtune_rows_each */
    int shipped;          /* nonzero: a model of the system's databases */
    /* Whose candidates are shown: op, count, and dtype if it is not zero. A count of 0: the problem
     * with the greatest gain, of those that most candidates were tried for. */
    redtune_problem problem;
    const redtune_step *steps; /* of the ladder, as redtune_ladder gives them; may be NULL */
    size_t step_count;
    redtune_format format;
} redtune_reporting;

/* Writes what the databases know of one GPU model as a document, from the templates in report/.
 * Works without GPU and driver, unless a device is named. Every text of the database is escaped.
 * *text is NUL-terminated UTF-8 and freed by the caller with redtune_free. The same database and
 * steps give the same bytes. reporting may be NULL. */
REDTUNE_API redtune_status redtune_report(const redtune_reporting *reporting, char **text,
                                          redtune_error *err);

/* ---- the environment ----------------------------------------------------------------------- */

typedef enum redtune_health {
    REDTUNE_HEALTH_GOOD,
    REDTUNE_HEALTH_NOTE,    /* works, but worth knowing */
    REDTUNE_HEALTH_MISSING, /* something does not work without it */
} redtune_health;

typedef struct redtune_finding {
    redtune_health health;
    const char *subject; /* "driver", "NVRTC", "GPU 0", "database", "kernel cache", "templates" */
    const char *detail;  /* what was found, and where */
    const char *remedy;  /* what to do; "" if nothing */
} redtune_finding;

/* Looks at the environment: driver, NVRTC, GPUs, database, kernel cache, templates. Calls found
 * once per finding; its strings live during the call. options as for redtune_open. *missing is the
 * number of REDTUNE_HEALTH_MISSING findings. */
REDTUNE_API redtune_status redtune_diagnose(const redtune_options *options,
                                            void (*found)(void *user,
                                                          const redtune_finding *finding),
                                            void *user, int *missing, redtune_error *err);

#ifdef __cplusplus
}
#endif

#endif
