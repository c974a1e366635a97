/* Fold: combining the results of several reductions on the host. */
#include "model/fold.h"

#include <math.h>

rdt_fold rdt_fold_begin(const redtune_problem *problem) {
    return (rdt_fold){.op = problem->op, .dtype = problem->result};
}

static void add_float(rdt_fold *fold, double x) {
    double sum = fold->sum + x;
    /* An infinity would turn the compensation into NaN. */
    if (isfinite(sum))
        fold->compensation +=
            fabs(fold->sum) >= fabs(x) ? (fold->sum - sum) + x : (x - sum) + fold->sum;
    fold->sum = sum;
}

void rdt_fold_add(rdt_fold *fold, const redtune_value *result) {
    switch (fold->dtype) {
    case REDTUNE_I32:
        fold->integer += (uint64_t)result->i32;
        break;
    case REDTUNE_I64:
        fold->integer += (uint64_t)result->i64;
        break;
    case REDTUNE_F32:
        add_float(fold, (double)result->f32);
        break;
    case REDTUNE_F64:
        add_float(fold, result->f64);
        break;
    case REDTUNE_DTYPE_NONE:
        break;
    }
}

redtune_value rdt_fold_value(const rdt_fold *fold) {
    redtune_value value = {.i64 = 0};
    double sum = isfinite(fold->sum) ? fold->sum + fold->compensation : fold->sum;
    switch (fold->dtype) {
    case REDTUNE_I32:
        value.i32 = (int32_t)(uint32_t)fold->integer;
        break;
    case REDTUNE_I64:
        value.i64 = (int64_t)fold->integer;
        break;
    case REDTUNE_F32:
        value.f32 = (float)sum;
        break;
    case REDTUNE_F64:
        value.f64 = sum;
        break;
    case REDTUNE_DTYPE_NONE:
        break;
    }
    return value;
}
