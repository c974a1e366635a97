/* Fold: combining the results of the pieces of an input on the host. */
#pragma once

#include "model/problem.h"

/* Integers wrap as on the GPU. Floats are added with a running compensation (Neumaier, 1974), so
 * that the number of pieces adds nothing to the error that counts. */
typedef struct rdt_fold {
    redtune_problem problem, piece;
    uint64_t count;           /* elements so far */
    uint64_t integer;         /* sums, products and bits of integers; any, all, nonzeros */
    double sum, compensation; /* of floats */
    long double product;
    bool found;         /* best is the value of an element */
    redtune_value best; /* of min, max and their kin: the result so far; of argmin, argmax: the
                         * element at best_index */
    int64_t best_index;
} rdt_fold;

/* The problem to run on each piece: what a result of problem, which is resolved, can be put
 * together from. It is problem itself for most ops. */
redtune_problem rdt_fold_piece(const redtune_problem *problem);

rdt_fold rdt_fold_begin(const redtune_problem *problem);
/* Takes the result of the piece that follows the ones before: count elements, which are looked at
 * for argmin and argmax only. */
void rdt_fold_add(rdt_fold *fold, const redtune_value *result, const void *elements,
                  uint64_t count);
redtune_value rdt_fold_value(const rdt_fold *fold);
