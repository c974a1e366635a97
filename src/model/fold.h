/* Fold: combining the results of several reductions on the host. */
#ifndef RDT_MODEL_FOLD_H
#define RDT_MODEL_FOLD_H

#include "model/problem.h"

/* Integers wrap as on the GPU. Floats are added with a running compensation (Neumaier, 1974), so
 * that the number of pieces adds nothing to the error that counts. */
typedef struct rdt_fold {
    redtune_op op;
    redtune_dtype dtype; /* of the results */
    uint64_t integer;
    double sum, compensation;
} rdt_fold;

/* problem is resolved. */
rdt_fold rdt_fold_begin(const redtune_problem *problem);
void rdt_fold_add(rdt_fold *fold, const redtune_value *result);
redtune_value rdt_fold_value(const rdt_fold *fold);

#endif
