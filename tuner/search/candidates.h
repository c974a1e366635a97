/* Candidates: the points that a search of one problem may choose from, and what is known of each:
 * the part of a search that every strategy shares. */
#pragma once

#include "tuner/search/neighbours.h"
#include "tuner/search/values.h"

typedef struct rdt_entry {
    rdt_candidate candidate; /* its launch is found when it is asked for */
    bool is_default;
    bool lent; /* it has won at a similar problem; a shape's only (tuner/search/lent.h), as below */
    bool lost; /* it was tried at similar problems, and was far behind at all of them */
    bool verified; /* its outcome is known */
    bool tried;    /* it has been measured, or failed, or is not worth it: it was wrong before */
    rdt_outcome outcome;
    double median_ns, spread_ns; /* of the most samples so far; 0 unless good */
    int samples;
    int rank;      /* of all points: the simpler come first */
    uint64_t kind; /* rdt_neighbours_kind */
    /* The explorer's, here and below: what to do with the least of the point's values. */
    rdt_use use;
    bool proposed, probed;
    bool estimated;                    /* estimate_ns is known */
    double estimate_ns;                /* rdt_estimate_time; 0: the family has none */
    bool expanded[RDT_NEIGHBOURHOODS]; /* these neighbours were proposed */
} rdt_entry;

/* Trial `trial` of the search's known is of entry `entry`. */
typedef struct rdt_known {
    size_t trial, entry;
} rdt_known;

typedef struct rdt_candidates {
    const rdt_search *search;
    const rdt_spaces *spaces;
    rdt_entry *entry; /* by rank */
    size_t count;
    size_t baseline;  /* the built-in default's index */
    rdt_known *known; /* the trials of this problem that the search knows */
    size_t known_count;
    size_t tried;   /* entries */
    size_t asked;   /* of rdt_candidates_measure, in all its calls */
    size_t planned; /* what will be asked, for the progress; 0: each call counts by itself */
    double best_ns;
    rdt_search_count now; /* since they were opened */
    bool keeps_gpu;
    char first_cause[160]; /* why the first that is not good is not, as in rdt_trial; "" if none */
} rdt_candidates;

/* Fills them with what the search knows and the problem's points, or, where points is not NULL,
 * with those only that are allowed and worth it; the defaults are always among them. */
redtune_status rdt_candidates_open(const rdt_search *search, const rdt_point *points, size_t count,
                                   rdt_candidates *out, redtune_error *err);
void rdt_candidates_close(rdt_candidates *self);

/* The points that the search has explored at its problem, and room for `spare` more; the caller
 * frees them. What only a crossover measured does not count: a tune that goes on after a stop has
 * it, another not yet. */
redtune_status rdt_candidates_list_explored(const rdt_search *search, size_t spare, rdt_point **out,
                                            size_t *count, redtune_error *err);

/* The entry's index, or -1 for what is no point here. */
long rdt_candidates_find(const rdt_candidates *self, const rdt_point *point);

/* Says which entries may be asked for next, so that their kernels can be made meanwhile: soon, or
 * if there is nothing better to do. */
void rdt_candidates_prepare(const rdt_candidates *self, const size_t *indices, size_t count,
                            bool soon);

/* Measures the entries whose indices are given (NULL: the first ones) so that each has at least so
 * many samples, or is known not to be good; a few at a time, each batch stored at once.
 * REDTUNE_INTERRUPTED if the progress hook says so. */
redtune_status rdt_candidates_measure(rdt_candidates *self, const size_t *indices, size_t count,
                                      int samples, redtune_error *err);

/* The good entries, the fast before the slow and among equals the simpler; indices has room for
 * all. Returns how many. */
size_t rdt_candidates_rank(const rdt_candidates *self, size_t *indices);
