/* Rows: measurements in memory, from one database or several, and what wins among them. */
#pragma once

#include "model/facts.h"
#include "model/trial.h"

/* The software behind a measurement. Texts are copied. */
typedef struct rdt_origin {
    char machine[64];                  /* a label of the user's choice, "" by default */
    int driver_version, nvrtc_version; /* 13000 is CUDA 13.0; 0: unknown */
    char templates[40];                /* hash of the template source */
    char build[13]; /* of redtune, kept with what is not good only; "": unknown, or not kept */
} rdt_origin;

/* A stored measurement with what it was made on and with. */
typedef struct rdt_row {
    rdt_trial trial;
    rdt_facts gpu; /* the fingerprint's fields only: name, capability, SMs, L2, bus, memory clock */
    rdt_origin origin;
    int64_t date;      /* seconds since 1970, UTC */
    int64_t import;    /* the import that brought it; 0: measured into this file */
    rdt_layout layout; /* for who reads it: its problem's, as the file says */
    int64_t count;     /* the same of its elements and its axes */
    char kept[RDT_AXES_TEXT_BYTES], reduced[RDT_AXES_TEXT_BYTES];
    bool current;       /* for who has judged it: its kernel is what the templates give today */
    int64_t line;       /* for who reads JSON: where it begins there; 0: it is of a database */
    int layer;          /* for who reads several databases: which one it is of */
    double baseline_ns; /* for who keeps winners: the default's time there; 0: unknown */
} rdt_row;

/* Valid when zeroed: empty. */
typedef struct rdt_rows {
    rdt_row *row;
    size_t count, capacity;
} rdt_rows;

redtune_status rdt_rows_add(rdt_rows *rows, const rdt_row *row, redtune_error *err);
/* An rdt_tuning_each_fn that adds; user is the rdt_rows. */
redtune_status rdt_rows_keep(void *user, const rdt_row *row, redtune_error *err);
void rdt_rows_free(rdt_rows *rows);

/* Sorts by the columns that are compared for competing, and then by age and content; equal sets of
 * rows come to lie alike. */
void rdt_rows_sort(rdt_rows *rows);

/* Their order, 0 where they are equal: of problem and cache state, and of the GPU model. */
int rdt_rows_compare_problem(const rdt_trial *a, const rdt_trial *b);
int rdt_rows_compare_gpu(const rdt_facts *a, const rdt_facts *b);

/* Of what rows have in common that compete: both, and that their kernels are current or, if not,
 * the version of the templates. */
int rdt_rows_compare_group(const rdt_row *a, const rdt_row *b);

/* How one problem stands on one GPU model in one cache state, with the kernels of today or with
 * those of one older version of the templates; measurements of different ones do not compete. */
typedef struct rdt_standing {
    const rdt_row *winner;   /* by model/winner.h */
    const rdt_row *fastest;  /* by the median alone */
    const rdt_row *baseline; /* the built-in default; NULL: not measured so carefully */
    size_t count;            /* rows looked at */
} rdt_standing;

typedef redtune_status rdt_rows_rank_fn(void *user, const rdt_standing *standing,
                                        redtune_error *err);
/* Calls each for every problem that has a winner, by op, dtype, result, cache state, count, GPU and
 * templates. The result does not depend on the order of the rows. A status other than OK ends it
 * with that. */
redtune_status rdt_rows_rank(const rdt_rows *rows, rdt_rows_rank_fn *each, void *user,
                             redtune_error *err);
