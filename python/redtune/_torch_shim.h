/* Torch shim: one call of PyTorch's between the shim, which is compiled where PyTorch is, and
 * redtune._core, which decides and runs it.
 *
 * The shim fills in the first part. `choose` fills in the second and says whether redtune serves
 * the call; then the shim makes the results, and `run` computes them. What is not served goes to
 * the kernel that PyTorch had before. */
#ifndef REDTUNE_TORCH_SHIM_H
#define REDTUNE_TORCH_SHIM_H

#include <stdint.h>

/* X(name, PyTorch's op and overload, redtune's op) */
#define REDTUNE_TORCH_LIST(X)                                                                      \
    X(SUM, "sum.dim_IntList", "sum")                                                               \
    X(MEAN, "mean.dim", "mean")                                                                    \
    X(NANSUM, "nansum", "nansum")                                                                  \
    X(AMAX, "amax", "max")                                                                         \
    X(AMIN, "amin", "min")                                                                         \
    X(MAX, "max", "max")                                                                           \
    X(MIN, "min", "min")                                                                           \
    X(MAX_DIM, "max.dim", "max_at")                                                                \
    X(MIN_DIM, "min.dim", "min_at")                                                                \
    X(ARGMAX, "argmax", "argmax")                                                                  \
    X(ARGMIN, "argmin", "argmin")                                                                  \
    X(VAR, "var.correction", "var")                                                                \
    X(STD, "std.correction", "std")                                                                \
    X(VAR_MEAN, "var_mean.correction", "mean_var")                                                 \
    X(NORM, "linalg_vector_norm", "norm2")                                                         \
    X(LOGSUMEXP, "logsumexp", "logsumexp")                                                         \
    X(ANY, "any", "any")                                                                           \
    X(ANY_DIM, "any.dim", "any")                                                                   \
    X(ANY_DIMS, "any.dims", "any")                                                                 \
    X(ALL, "all", "all")                                                                           \
    X(ALL_DIM, "all.dim", "all")                                                                   \
    X(ALL_DIMS, "all.dims", "all")                                                                 \
    X(COUNT_NONZERO, "count_nonzero.dim_IntList", "nonzeros")

/* Those by key. */
#define REDTUNE_TORCH_KEYED_LIST(X)                                                                \
    X(INDEX_ADD, "index_add", "sum")                                                               \
    X(INDEX_ADD_IN_PLACE, "index_add_", "sum")                                                     \
    X(SCATTER_ADD, "scatter_add", "sum")                                                           \
    X(SCATTER_ADD_IN_PLACE, "scatter_add_", "sum")                                                 \
    X(SCATTER_REDUCE, "scatter_reduce.two", "sum, max or min")                                     \
    X(SCATTER_REDUCE_IN_PLACE, "scatter_reduce_.two", "sum, max or min")

#define REDTUNE_TORCH_NAME(name, torch, redtune) REDTUNE_TORCH_##name,
enum {
    REDTUNE_TORCH_LIST(REDTUNE_TORCH_NAME) REDTUNE_TORCH_OPS,
    REDTUNE_TORCH_BEFORE_KEYED = REDTUNE_TORCH_OPS - 1,
    REDTUNE_TORCH_KEYED_LIST(REDTUNE_TORCH_NAME) REDTUNE_TORCH_ALL_OPS
};
#undef REDTUNE_TORCH_NAME

enum { REDTUNE_TORCH_AXES = 64, REDTUNE_TORCH_MESSAGE = 1024 };

typedef struct redtune_torch_call {
    int32_t op;
    int32_t dtype, wanted;                     /* c10::ScalarType; wanted -1: none was asked for */
    int32_t device;                            /* CUDA's number; -1: the host */
    int32_t dimensions;                        /* at most REDTUNE_TORCH_AXES */
    int32_t dim_count;                         /* -1: all are reduced */
    int32_t keeps, is_deterministic, is_plain; /* is_plain: neither negated nor conjugated */
    const int64_t *sizes, *strides, *dims;
    int64_t elements;
    double parameter; /* the correction, or the norm's order */
    /* What out= gives takes the result if it has this dtype, -1: nothing is given, and this shape.
     */
    int32_t out_dtype, out_dimensions;
    const int64_t *out_sizes;
    const void *data;
    void *stream;

    int32_t results, result_dtype[2], result_dimensions;
    int64_t result_sizes[REDTUNE_TORCH_AXES];
    void *result[2];
    uint64_t problem[128]; /* a redtune_problem */
    const void *chosen;    /* of redtune._core's table */
    char *message;         /* why run failed; REDTUNE_TORCH_MESSAGE bytes, set by the shim */
} redtune_torch_call;

/* A call that combines rows of x, or elements as rows of one, with those of out that keys name. */
typedef struct redtune_torch_keyed {
    int32_t op, dtype, key_dtype;
    int32_t device;                     /* CUDA's number; -1: the host */
    int32_t is_deterministic, is_plain; /* is_plain: one key for each row, the rows side by side */
    char reduce;                        /* '+', '/' (a mean), '>' or '<' (extremes); 0: another */
    int64_t rows, width, keys;
    const void *data, *key_data;
    void *out, *stream;
    uint64_t problem[128];
    char *message; /* why run failed; REDTUNE_TORCH_MESSAGE bytes, set by the shim */
} redtune_torch_keyed;

/* What `run` returns. */
enum { REDTUNE_TORCH_SERVED, REDTUNE_TORCH_LEFT, REDTUNE_TORCH_FAILED };

typedef struct redtune_torch_hooks {
    int (*choose)(redtune_torch_call *call); /* nonzero: redtune serves it */
    int (*run)(redtune_torch_call *call);
    int (*choose_keyed)(redtune_torch_keyed *call);
    int (*run_keyed)(redtune_torch_keyed *call);
} redtune_torch_hooks;

#endif
