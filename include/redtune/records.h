/* Records: what the tuning databases hold, what follows from it, and moving it between machines. */
#ifndef REDTUNE_RECORDS_H
#define REDTUNE_RECORDS_H

#include "redtune/redtune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what was measured ------------------------------------------------------------------- */

/* Which GPU model redtune_rows_each, redtune_explain, redtune_report and redtune_export are about:
 *
 * 1. the one that is named: gpu is the name of a model in the databases or a part of it in any
 *    case, and a whole name goes before a longer one. REDTUNE_INVALID, with the known names, if no
 *    model has it or models of several names do. (device names a GPU of this machine.)
 * 2. Else this machine's GPU: its first device of which the databases have measurements. For
 *    redtune_explain it is always device 0, because programs run there. The CUDA driver is used
 *    only if that makes a difference; without one there is no such GPU.
 * 3. Else the model that was measured last.
 *
 * The databases are the user's. Those of the system, among them the rows that redtune comes with,
 * count where gpu names a model; with shipped they count, too, and the model is one of theirs. For
 * redtune_explain, which says what a program would get, they always count. */

/* Which measurements to give. Zero fields: all of the user's databases for the GPU above. */
typedef struct redtune_rows_query {
    const char *database;       /* as in redtune_options */
    const char *gpu;            /* as above; "all": every model */
    const redtune_op *op;       /* NULL: any */
    const redtune_dtype *dtype; /* NULL: any */
    uint64_t count;             /* elements of a result; 0: any */
    int winners;                /* nonzero: the winners only */
    int shipped;                /* nonzero: those of the system's databases, too */
    int own;                    /* nonzero: without these, even where gpu names a model */
    uint64_t outer, inner;      /* as in redtune_problem, whatever the steps; 0: any */
    unsigned layouts;           /* redtune_layouts (tune.h), or'ed; 0: any */
    uint64_t reserved[5];
} redtune_rows_query;

/* One measurement. Its strings live during the call. */
typedef struct redtune_row {
    redtune_device_info gpu; /* memory_bytes and driver_version are 0: unknown */
    redtune_problem problem; /* result is filled in */
    int warm;                /* nonzero: the input was in L2, as far as it fits; 0: L2 was cold */
    char family[32];
    char config[256];
    int rank;            /* among the points of all templates, simpler ones first; -1: unknown */
    const char *outcome; /* "good", "wrong", "uncompiled", "faulted", "hung" */
    const char *cause;   /* why it is not good, if that is known; else "" */
    double median_ns;    /* of one call; this and the next three are 0 unless good */
    double spread_ns;    /* half the distance between the quartiles of the samples */
    double gbps;         /* bytes of all inputs and results per ns: in GB/s */
    int samples;
    /* Times of the problem's winner on this GPU and of the built-in default; 0: there
     * is no winner, or the default was not measured. */
    double winner_ns, default_ns;
    int is_winner;  /* it stands for the config that wins there */
    int is_default; /* it was the built-in default when it was measured */
    /* The GPU while it was timed; -1: unknown. */
    int sm_mhz, memory_mhz, temperature_c, others;
    int64_t throttle; /* NVML's reasons for lower clocks, or'ed */
    /* The software it was measured with. */
    const char *machine;               /* the label that was chosen for the machine */
    const char *templates;             /* version of the templates */
    int templates_differ;              /* nonzero: those of this redtune give another kernel */
    int driver_version, nvrtc_version; /* 13000 is CUDA 13.0; 0: unknown */
    int64_t date;                      /* seconds since 1970, UTC */
    int imported;                      /* nonzero: by an import, not measured into this database */
    int shipped;                       /* nonzero: of the system's databases */
    const char *database;              /* where it lies */
    int op_absent; /* nonzero: its op is in a file that is not named here: it has its name, and
                    * nothing can be computed with it */
} redtune_row;

/* Another status than REDTUNE_OK ends the enumeration with it. */
typedef redtune_status redtune_row_fn(void *user, const redtune_row *row, redtune_error *err);

/* Calls each with measurements of the databases, by GPU, op, dtype (f32 first), result, layout,
 * cache state and extents (count, outer, inner, steps), and then the good ones first, from fast to
 * slow. Works without GPU and driver. A problem's winner is that among measurements whose kernels
 * this redtune's templates still give; where there are none, among those with the templates of the
 * latest winner. Databases that do not exist are empty ones. REDTUNE_DATABASE for a file that is no
 * tuning database or stays locked for 5 seconds, REDTUNE_FILE for one that cannot be reached. */
REDTUNE_API redtune_status redtune_rows_each(const redtune_rows_query *query, redtune_row_fn *each,
                                             void *user, redtune_error *err);

/* By how many ns the times of two good measurements may differ although nothing has changed: twice
 * the standard error of the difference of their medians, at least 0.5 % of the lower one, and
 * 300 ns, which the addresses of code and data may cost. Members of two redtune_row. */
REDTUNE_API double redtune_noise_ns(const double median_ns[2], const double spread_ns[2],
                                    const int samples[2]);

/* A question to redtune_explain. */
typedef struct redtune_question {
    /* As redtune_options.database. */
    const char *database;
    const char *device; /* "0", "1", ... or "sim", for which the driver is needed; or NULL */
    const char *gpu;    /* else a model's name, as above */
    int shipped;        /* nonzero: a model of the system's databases */
    redtune_problem problem;
    uint64_t reserved[8];
} redtune_question;

/* The config that a plan for the problem would run there, and why. */
typedef struct redtune_explanation {
    redtune_device_info gpu; /* the one asked about */
    /* The configuration, how near the row is that it comes from, and what it was measured with. */
    redtune_info info;
    double default_ns;  /* what the built-in default took where the row was measured; 0: unknown */
    int imported;       /* nonzero: by an import, not measured into its database */
    int to_verify;      /* nonzero: so it is verified on the GPU before it serves */
    char database[256]; /* where the row lies; "" for the default, as the rest */
    int templates_differ; /* nonzero: this redtune's give another kernel than was measured */
    /* The current versions; 0: not installed here, so that nothing differs. */
    int driver_version, nvrtc_version;
    int driver_differs, nvrtc_differs; /* nonzero: the row's are others */
    uint64_t reserved[4];
} redtune_explanation;

/* Finds what redtune_plan_create would choose. Needs no GPU unless the question names a device, and
 * never CUDA's context. REDTUNE_INVALID if there is no GPU model to answer for. */
REDTUNE_API redtune_status redtune_explain(const redtune_question *question,
                                           redtune_explanation *out, redtune_error *err);

/* ---- moving measurements ----------------------------------------------------------------- */

typedef enum redtune_export_format {
    REDTUNE_EXPORT_SQLITE, /* a tuning database */
    REDTUNE_EXPORT_JSON,   /* one JSON object per line */
} redtune_export_format;

/* Writes the measurements that the query names (its winners: with the default's beside them) into
 * memory, none marked as imported: *data is freed with redtune_free. Equal sets of measurements
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

typedef struct redtune_import_counts {
    uint64_t rows;    /* in the files */
    uint64_t added;   /* of them */
    uint64_t same;    /* that were there before, or came twice */
    uint64_t refused; /* that no tune could have given */
    uint64_t winners; /* that changed */
    uint64_t reserved[4];
} redtune_import_counts;

typedef struct redtune_importing {
    const char *database;     /* as redtune_options.database: the first of them takes the rows */
    const char *const *files; /* "-" is standard input */
    size_t file_count;
    /* Nonzero: nothing is written. */
    int dry_run;
    /* Nonzero: the files are the caller's own, shards of one tune say, and their rows count as
     * measured here. Else they count as imported: undone by redtune_undo, outweighed by what was
     * measured here, and checked on the GPU before they serve. */
    int merge;
    /* Each is called for what it is named after; NULL: not. */
    void (*changed)(void *user, const redtune_change *change);
    void (*refused)(void *user, const char *file, const char *reason, uint64_t count);
    void *user;
    uint64_t reserved[8];
} redtune_importing;

/* Adds measurements from files that anybody may have made: nothing in them is run, every value is
 * checked against the templates and against what hardware can do, and what fails is refused row by
 * row, or a file as a whole (REDTUNE_DATABASE, REDTUNE_FILE). The database gets the rows of all
 * files, each once, or, on failure, none. */
REDTUNE_API redtune_status redtune_import(const redtune_importing *importing,
                                          redtune_import_counts *counts, redtune_error *err);
/* Removes the last import: *removed measurements of the file named source, which is "" if there was
 * no import. */
REDTUNE_API redtune_status redtune_undo(const char *database, char source[256], uint64_t *removed,
                                        redtune_error *err);

/* ---- damaged databases ------------------------------------------------------------------- */

/* What redtune_repair found of one file. Its strings live during the call. */
typedef struct redtune_repaired {
    const char *database;
    const char *kept;   /* the damaged file's name now; "": it is undamaged, and untouched */
    const char *reason; /* what was wrong with it; "" */
    uint64_t saved;     /* measurements that the database has now */
    uint64_t lost;      /* others that the damaged file had */
    uint64_t reserved[4];
} redtune_repaired;

/* Checks each of the user's databases that is there (database as in redtune_options), and repairs
 * one that is damaged or no tuning database: what can be read of it goes into a new file in its
 * place, and the damaged file is kept under an unused name. Each measurement must be one that a
 * tune with the templates here could have given, as for redtune_import. They count as measured
 * here, unless they came by an import, or the file is of another user or program. An older database
 * is migrated. Fails as redtune_import does, and for a file of a newer redtune; then nothing has
 * changed. */
REDTUNE_API redtune_status redtune_repair(const char *database,
                                          void (*repaired)(void *user,
                                                           const redtune_repaired *repaired),
                                          void *user, redtune_error *err);

#ifdef __cplusplus
}
#endif

#endif
