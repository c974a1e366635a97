/* Tools: looking inside: sources, counters, the ladder, the report, the environment. */
#ifndef REDTUNE_TOOLS_H
#define REDTUNE_TOOLS_H

#include "redtune/redtune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources and counters ---------------------------------------------------------------- */

typedef struct redtune_emission {
    redtune_problem problem;
    const char *family; /* NULL: the first that has the problem */
    /* "block=256,vec=4": the named parameters; the others are the default's. NULL: the default. */
    const char *config;
    /* Nonzero: with the #line directives that the compiler is given. */
    int lines;
    /* The GPU to render for, as in redtune_question: without a family and a config, the
     * configuration that it would run by the databases. NULL: a typical one of compute capability
     * 8.0. Ignored by redtune_count. */
    const char *gpu;
    const char *database; /* where gpu is looked up, as in redtune_question */
    uint64_t reserved[8];
} redtune_emission;

/* Renders the CUDA source of one configuration. Needs neither GPU nor driver. *source is
 * NUL-terminated and freed by the caller with redtune_free. */
REDTUNE_API redtune_status redtune_emit(const redtune_emission *emission, char **source,
                                        redtune_error *err);
REDTUNE_API void redtune_free(void *pointer);

/* Counts of one call of a kernel on the simulated GPU, summed over its launches. */
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
    uint64_t reserved[8];
} redtune_counters;

/* Compiles one configuration and calls it once, with the problem's extents, on the simulated GPU of
 * libredtune-sim.so, which counts what it does, with a cold L2. emission is as for redtune_emit.
 * Needs NVRTC, and no GPU. Fails with REDTUNE_LIBRARY where one of the libraries is missing, and
 * with REDTUNE_DEVICE if the kernel makes an error, or the elements do not fit. */
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
    uint64_t reserved[4];
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
    uint64_t reserved[8];
} redtune_climb;

/* Runs the steps of the ladder in order on rt's GPU, checks each sum, and times it, or counts what
 * it does where the GPU is simulated. docs/ladder.md describes the steps. Fails with REDTUNE_WRONG,
 * after the last step, if a sum was not right. */
REDTUNE_API redtune_status redtune_ladder(redtune *rt, const redtune_climb *climb,
                                          redtune_error *err);
/* Calls climb->step for every step that climb selects, with its name, place, text, family and
 * config, and runs nothing. Needs neither GPU nor driver. */
REDTUNE_API redtune_status redtune_ladder_steps(const redtune_climb *climb, redtune_error *err);
/* Renders the CUDA source of a step by its name or place, as climb says; redtune_emit does so for
 * the last, "tuned". Needs neither GPU nor driver. *source is freed by the caller with
 * redtune_free. */
REDTUNE_API redtune_status redtune_ladder_source(const redtune_climb *climb, const char *name,
                                                 char **source, redtune_error *err);

/* ---- two databases ----------------------------------------------------------------------- */

/* A database or an export that is compared. Its lists are names with ", " between them. */
typedef struct redtune_compared {
    const char *file;
    char gpus[256], driver_versions[256], nvrtc_versions[256], templates[256];
    int64_t first_date, last_date; /* of its winners: seconds since 1970, UTC */
    uint64_t winners;
    uint64_t reserved[4];
} redtune_compared;

/* A problem with a winner in both: it took a_ns before, and takes b_ns now. */
typedef struct redtune_difference {
    redtune_problem problem;
    const char *gpu; /* model, of b */
    int warm;        /* as in redtune_row (records.h) */
    int direction;   /* 1: b takes longer, -1: shorter, 0: within noise */
    double a_ns, b_ns;
    double noise_ns; /* how much longer or shorter counts as the same */
    const char *a_family, *a_config, *b_family, *b_config;
    uint64_t reserved[4];
} redtune_difference;

typedef struct redtune_comparison {
    redtune_compared a, b;
    const redtune_difference *differences; /* in the order in which they are shown */
    size_t difference_count;
    uint64_t reserved[4];
} redtune_comparison;

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
    /* Whose candidates are shown: op, count, outer and inner, and dtype if it is not zero. A count
     * of 0: the problem with the greatest gain, of those that most candidates were tried for. */
    redtune_problem problem;
    const redtune_step *steps; /* of the ladder, as redtune_ladder gives them; may be NULL */
    size_t step_count;
    redtune_format format;
    const redtune_comparison *comparison; /* shown on the page, as `redtune compare`; may be NULL */
    uint64_t reserved[7];
} redtune_reporting;

/* Writes what the databases know of one GPU model as a document, from the templates in report/.
 * Works without GPU and driver, unless a device is named. Every text of the database is escaped.
 * *text is NUL-terminated UTF-8 and freed by the caller with redtune_free. The same database,
 * steps and comparison give the same bytes. reporting may be NULL. */
REDTUNE_API redtune_status redtune_report(const redtune_reporting *reporting, char **text,
                                          redtune_error *err);

/* ---- kernels ahead ------------------------------------------------------------------------ */

/* A kernel that was baked. Its strings live during the call. */
typedef struct redtune_baked {
    redtune_problem problem; /* that it was chosen for */
    int arch;                /* 90: of compute capability 9.0 */
    int usual;               /* nonzero: the default of the problem's class, for any extents */
    const char *gpu;         /* the model that it was chosen for; "": any of the architecture */
    const char *family, *config;
    uint64_t bytes;
} redtune_baked;

typedef struct redtune_baking {
    const redtune_problem *problems; /* their classes get a default of each architecture, too */
    size_t problem_count;
    int shipped; /* nonzero: also what the system's databases have winners for */
    /* Models of the databases by their names or a part of them, with ',' between: the kernels that
     * a program would run there are baked. NULL: none. */
    const char *gpus;
    /* 90 for compute capability 9.0: the defaults are baked. None, and no gpus: 80, 86, 89, 90, 100
     * and 120. */
    const int *archs;
    size_t arch_count;
    int ptx;              /* nonzero: PTX, which later GPUs' drivers compile, in place of cubins */
    const char *database; /* as in redtune_options */
    /* Called for each kernel; nonzero stops with REDTUNE_INTERRUPTED. May be NULL. */
    int (*baked)(void *user, const redtune_baked *baked);
    void *user;
    uint64_t reserved[8];
} redtune_baking;

/* Compiles what programs will run into the bytes of a kernel file (docs/deploy.md). Needs NVRTC,
 * and no GPU. *data is freed by the caller with redtune_free. Fails with REDTUNE_UNSUPPORTED for an
 * architecture that NVRTC does not know, for an op of a user's file, and by key. */
REDTUNE_API redtune_status redtune_bake(const redtune_baking *baking, void **data, size_t *bytes,
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

/* Checks the environment: driver, NVRTC, GPUs, database, kernel cache, templates. Calls found once
 * per finding; its strings live during the call. options as for redtune_open. *missing is the
 * number of REDTUNE_HEALTH_MISSING findings. */
REDTUNE_API redtune_status redtune_diagnose(const redtune_options *options,
                                            void (*found)(void *user,
                                                          const redtune_finding *finding),
                                            void *user, int *missing, redtune_error *err);

#ifdef __cplusplus
}
#endif

#endif
