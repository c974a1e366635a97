/* Problem: the statuses and errors of every call, and what is reduced: ops, dtypes, problems and
 * values. redtune.h, whose conventions hold here, includes this. */
#ifndef REDTUNE_PROBLEM_H
#define REDTUNE_PROBLEM_H

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

/* ---- status and errors ------------------------------------------------------------------- */

typedef enum redtune_status {
    REDTUNE_OK = 0,
    REDTUNE_INVALID,     /* an argument, an option or a variable is wrong */
    REDTUNE_UNSUPPORTED, /* valid, but not possible on this device or in this version */
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
    REDTUNE_TEAM,        /* NCCL refused, or a rank failed; code is the ncclResult_t */
} redtune_status;

typedef struct redtune_error {
    redtune_status status;
    long code;         /* the underlying library's own code, 0 if none */
    char message[768]; /* one line: cannot <verb> <object>: <reason>; <remedy> */
} redtune_error;

/* The name of a status, such as "invalid"; never NULL. */
REDTUNE_API const char *redtune_status_name(redtune_status status);

/* ---- what is reduced --------------------------------------------------------------------- */

/* docs/ops.md gives each op's value, result dtype and rules for NaN, infinity and zero. An op that
 * is only in templates/ops/, or in the folder of templates that REDTUNE_TEMPLATES names, or in one
 * of the user's files, has no enumerator here: redtune_op_find gives its number, which holds within
 * the process. */
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
    REDTUNE_NANS,      /* how many are NaN, of floats */
    REDTUNE_NONFINITE, /* 1 if a float is infinite or NaN, else 0 */
    REDTUNE_PTP,       /* the greatest less the least */
    REDTUNE_NORMP,     /* the p-th root of the sum of p-th powers; parameter p */
    REDTUNE_VAR,       /* the variance; parameter ddof, as of the next */
    REDTUNE_STD,       /* the standard deviation */
    REDTUNE_LOGSUMEXP,
    REDTUNE_SLOGPROD, /* two results: the product's sign, and the logarithm of its magnitude */
    REDTUNE_MIN_AT,   /* two results: the least and its first index */
    REDTUNE_MAX_AT,
    REDTUNE_MINMAX,        /* two results */
    REDTUNE_SUM_SUMSQ,     /* two results */
    REDTUNE_MEAN_VAR,      /* two results; parameter ddof */
    REDTUNE_SUM_NONFINITE, /* two results: the sum of all, and how many are infinite or NaN */
    REDTUNE_DOT,           /* from here to REDTUNE_MSE of two inputs, x and y */
    REDTUNE_SQEUCLIDEAN,   /* the sum of the squares of x - y */
    REDTUNE_EUCLIDEAN,     /* the square root of that */
    REDTUNE_CITYBLOCK,     /* the sum of |x - y| */
    REDTUNE_CHEBYSHEV,     /* the greatest of them */
    REDTUNE_COSINE,        /* the cosine similarity */
    REDTUNE_WMEAN,         /* the mean of x, weighted with y */
    REDTUNE_MISMATCHES,    /* how many |x - y| are more than a tolerance, or NaN */
    REDTUNE_MSE,           /* the mean of the squares of x - y */
    REDTUNE_ARGMAXABS,     /* the first index of the greatest |x| */
    REDTUNE_NANSUM, /* from here to REDTUNE_NANARGMAX of floats, without those that are NaN */
    REDTUNE_NANPROD,
    REDTUNE_NANMEAN,
    REDTUNE_NANVAR, /* parameter ddof, as of the next */
    REDTUNE_NANSTD,
    REDTUNE_NANARGMIN, /* -1 if all are NaN */
    REDTUNE_NANARGMAX,
    REDTUNE_MINABS, /* the least of the absolute values */
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
    REDTUNE_E4M3, /* OCP's float of 8 bits, E4M3FN: to 448; no infinities, 0x7f and 0xff are NaN */
    REDTUNE_E5M2, /* OCP's float of 8 bits, the upper half of an f16 */
} redtune_dtype;
/* Dtypes are numbered from 1 to below this one, without a gap. */
enum { REDTUNE_DTYPE_END = REDTUNE_E5M2 + 1 };

/* In which order elements may be combined. */
typedef enum redtune_order {
    /* Whichever is fastest, unless redtune_options.order or $REDTUNE_ORDER says otherwise. */
    REDTUNE_ORDER_FREE = 0,
    /* That of docs/order.md: the bits follow from op, dtypes, elements and count alone, not from
     * the configuration, the GPU model or the address. */
    REDTUNE_ORDER_FIXED,
    REDTUNE_ORDER_FREE_ALWAYS, /* whichever is fastest, whatever they say */
} redtune_order;

/* How near the result is to that without rounding: docs/accuracy.md has the bounds. */
typedef enum redtune_accuracy {
    REDTUNE_ACCURACY_PLAIN = 0, /* each addition rounds, as docs/ops.md says */
    /* The rounding errors of additions are added up beside the sum. For sums, means, dots and norms
     * of floats; others whose accumulators round are refused. */
    REDTUNE_ACCURACY_COMPENSATED,
    /* The result nearest to the exact one, for any order of elements. For sums of floats, but none
     * of segments. */
    REDTUNE_ACCURACY_EXACT
} redtune_accuracy;

/* What the runs of a plan may do in addition, or'ed: each needs a kernel of its own. */
typedef enum redtune_use {
    REDTUNE_USE_ACCUMULATE = 1, /* operands.accumulate; for ops that redtune_op_info says resume */
    REDTUNE_USE_DEVICE_COUNT = 2, /* operands.d_count */
    REDTUNE_USE_BOOLS = 8,        /* elements of u8 are bools: any that is not 0 is 1 */
    REDTUNE_USE_INITIAL = 4 /* operands.initial; for such ops of one result without parameters */
} redtune_use;

/* What is reduced where segments are (redtune/list.h), in place of one result of each kept index.
 */
typedef enum redtune_segmented {
    REDTUNE_SEGMENTED_NOT = 0,
    REDTUNE_SEGMENTED_EACH, /* each of the kept segments, which have the reduced run's elements on
                               average */
    REDTUNE_SEGMENTED_ALL,  /* all of them together: one result */
} redtune_segmented;

/* The arrays that a reduction reads and writes, by which a run has steps. */
typedef enum redtune_array {
    REDTUNE_ARRAY_X = 0,
    REDTUNE_ARRAY_Y, /* the second input, of ops that have two */
    REDTUNE_ARRAY_MASK,
    REDTUNE_ARRAY_RESULTS,
} redtune_array;
enum { REDTUNE_ARRAYS = 4, REDTUNE_AXES_MAX = 8 };

/* Which elements count: the others are absent (docs/masks.md). A run gives d_mask of its operands,
 * segments or keys. Of two inputs a pair is absent. Elements that are not on the GPU have masks of
 * bytes. */
typedef enum redtune_mask {
    REDTUNE_MASK_NONE = 0, /* all */
    REDTUNE_MASK_BYTES,    /* those whose byte is not 0 */
    REDTUNE_MASK_BITS,     /* those whose bit is 1, from the lowest bit of the first byte on */
    /* The same of segments in arrays of their own, of which each has a mask of its own. */
    REDTUNE_MASK_LISTED_BYTES,
    REDTUNE_MASK_LISTED_BITS,
} redtune_mask;

/* How often keys of a reduction by key are equal. */
typedef enum redtune_spread {
    REDTUNE_SPREAD_UNKNOWN = 0,
    REDTUNE_SPREAD_UNIFORM, /* all about as often */
    REDTUNE_SPREAD_SKEWED,  /* few of them most of the time */
    REDTUNE_SPREAD_ONE,     /* one of them most of the time */
} redtune_spread;

/* `size` places, each `step` elements behind the one before it in each array: a negative step goes
 * back, and 0 stays. */
typedef struct redtune_axis {
    uint64_t size;
    int64_t step[REDTUNE_ARRAYS]; /* by redtune_array */
} redtune_axis;

/* A reduction: the op over elements of dtype. The kept axes say which results there are, one of
 * each combination of their indices; the reduced ones say which elements a result is made of. Both
 * are listed from the outermost to the innermost, as the axes of an array are: with indices k and r
 * element (k, r) is x[sum of k[i] * kept[i].step + sum of r[i] * reduced[i].step]. No kept axis:
 * one result. Zero fields mean the default: elements that lie side by side in device memory.
 * redtune_problem_whole and the functions beside it make problems; redtune_problem_fold makes one
 * of any axes of an array. */
typedef struct redtune_problem {
    redtune_op op;
    redtune_dtype dtype;
    redtune_dtype result; /* REDTUNE_DTYPE_NONE: the usual one, such as i64 for sums of i32 */
    redtune_order order;
    redtune_accuracy accuracy;
    uint32_t segmented; /* redtune_segmented; 0: elements lie as the axes say. Else there is at most
                           one kept axis, of as many segments; none: any number */
    /* How many of the axes below count, at most REDTUNE_AXES_MAX. A plan serves any sizes of its
     * kind and is fastest near these; no reduced axis: the number of elements is not given. */
    uint32_t kept_axes, reduced_axes;
    /* 1 << redtune_array, or-ed: whose steps the axes give. An array without is packed in row-major
     * order: x, y and the mask over the kept axes and then the reduced ones, the results over the
     * kept ones. Results do not share memory. Any axes and steps are taken; where they are neither
     * rows nor columns (docs/api.md) not by teams into results with steps: REDTUNE_UNSUPPORTED. */
    uint32_t steps;
    redtune_mask mask;
    redtune_dtype key_dtype; /* of the keys of a reduction by key (redtune/keys.h); 0: it has none,
                                and the next two are 0 */
    redtune_spread spread;   /* of the keys */
    uint64_t keys;           /* keys are below this number; one result of each */
    uint64_t uses;           /* redtune_use; 0: none */
    /* Of segments: the elements of the greatest, 0: not known; and the elements that half of them
     * reach, at least 1, 0: those of the average. */
    uint64_t greatest, median;
    /* NULL: what was measured to be fastest. Else the configuration that a plan must have, as
     * redtune_plan_config gives it: with the same one, the same GPU model and sizes give the same
     * bits. "block:block=256,vec=4" and "block=256,vec=4" name some parameters; the others are the
     * default's. Read during the call only; for plans only. */
    const char *config;
    redtune_axis kept[REDTUNE_AXES_MAX], reduced[REDTUNE_AXES_MAX];
    uint64_t reserved[6];
} redtune_problem;

/* Names as the command line writes them ("sum", "f32"); NULL for an unknown value. */
REDTUNE_API const char *redtune_op_name(redtune_op op);
REDTUNE_API const char *redtune_dtype_name(redtune_dtype dtype);
/* The op or dtype of that name. REDTUNE_INVALID, with the known names, for an unknown one. */
REDTUNE_API redtune_status redtune_op_find(const char *name, redtune_op *op, redtune_error *err);
REDTUNE_API redtune_status redtune_dtype_find(const char *name, redtune_dtype *dtype,
                                              redtune_error *err);
/* What an op is. Its texts live as long as the process. */
typedef struct redtune_op_info {
    const char *name;
    const char *formula; /* such as "x[0] + ... + x[n-1]" */
    int indexed;         /* the result is the index of an element */
    int bools;           /* takes bools, stored as u8, for what they are */
    int inputs;          /* 1 or 2, of the same dtype and shape */
    int outputs;         /* 1 or 2 results, each with an array of its own */
    int parameters;      /* 0 to 2 scalars that a run gives */
    int resumes;         /* runs can go on from what d_out holds */
    const char *output_name[2];
    const char *parameter_name[2];
    double parameter_usual[2];
    const char *file; /* the user's file that has it; NULL for others */
    uint64_t reserved[3];
} redtune_op_info;

/* Ops are numbered from 0 on without a gap: those above, then others that the templates have, then
 * those of files. A file's op is checked on the GPU when a plan, or a tune, first needs it.
 * REDTUNE_INVALID for any other number. */
REDTUNE_API redtune_status redtune_op_get(redtune_op op, redtune_op_info *out, redtune_error *err);
/* Adds the ops of the user's files, one in each (docs/own-ops.md): paths with ':' between, as in
 * redtune_options.ops. redtune_op_find finds them from then on. Those that the variable REDTUNE_OPS
 * names need no call. A process reads a file once. NULL or "": none. REDTUNE_FILE or
 * REDTUNE_TEMPLATE, with the file, the line and the remedy. */
REDTUNE_API redtune_status redtune_ops_read(const char *files, redtune_error *err);
/* Bytes of one element; 0 for a value that is no dtype. */
REDTUNE_API size_t redtune_dtype_bytes(redtune_dtype dtype);
/* What a dtype is. Its texts live as long as the process. */
typedef struct redtune_dtype_info {
    const char *name;      /* "bf16" */
    const char *long_name; /* "bfloat16", as NumPy, PyTorch and JAX call it */
    int kind;              /* 'i', 'u' or 'f', as NumPy's dtype.kind */
    int exponent_bits;     /* of a float, behind its sign */
    int fraction_bits;     /* of a float, behind those */
    int dlpack;            /* its DLDataTypeCode */
    size_t bytes;
    redtune_dtype npy; /* as which .npy files hold it: f32 for what NumPy has not, such as bf16 */
    uint32_t finite;   /* 1: a float without infinities, whose NaN has all bits behind the sign */
    uint32_t reserved[4];
} redtune_dtype_info;

/* REDTUNE_INVALID for a value that is no dtype. */
REDTUNE_API redtune_status redtune_dtype_get(redtune_dtype dtype, redtune_dtype_info *out,
                                             redtune_error *err);
/* The dtype of the problem's result, which one element of d_out holds. REDTUNE_INVALID if the op
 * does not exist for the dtype or the result was asked for in a dtype it cannot have. */
REDTUNE_API redtune_status redtune_problem_result(const redtune_problem *problem,
                                                  redtune_dtype *result, redtune_error *err);
/* The same of both results; of an op with one the second is REDTUNE_DTYPE_NONE. */
REDTUNE_API redtune_status redtune_problem_results(const redtune_problem *problem,
                                                   redtune_dtype results[2], redtune_error *err);
/* A problem of a whole array of `count` elements; of the `rows` results of a packed matrix, each of
 * the `columns` elements of a row; of its `columns` results, each of the `rows` elements of a
 * column, as in NumPy's sum over axis 0; and of `segments` segments (0: any number) of about
 * `length` elements each (redtune/list.h). All other fields have their defaults; the caller may set
 * them. */
REDTUNE_API redtune_problem redtune_problem_whole(redtune_op op, redtune_dtype dtype,
                                                  uint64_t count);
REDTUNE_API redtune_problem redtune_problem_rows(redtune_op op, redtune_dtype dtype, uint64_t rows,
                                                 uint64_t columns);
REDTUNE_API redtune_problem redtune_problem_columns(redtune_op op, redtune_dtype dtype,
                                                    uint64_t rows, uint64_t columns);
REDTUNE_API redtune_problem redtune_problem_segments(redtune_op op, redtune_dtype dtype,
                                                     uint64_t segments, uint64_t length);
/* Folds a reduction over axes of an array, as in NumPy and PyTorch, into one problem: sets its axes
 * and steps, and no other field. shape has 0 to 64 sizes; strides as many
 * steps in elements (NumPy's are in bytes), NULL: packed, row-major; axes the axes to reduce, in
 * any order, negative ones from the end, none: all. Without entries they may be NULL. d_in of a run
 * is the address of the element whose indices are 0. The results are packed in row-major order of
 * the kept axes; argmin, argmax, d_count and fixed order, which problem.uses and problem.order say
 * before the call, count in
 * row-major order of the reduced ones, others in the order of memory. A reduced axis of
 * size 0 gives count 0. REDTUNE_UNSUPPORTED, with the axes and the remedy, for a kept axis of size
 * 0, and for more axes than a problem has. REDTUNE_INVALID for impossible arguments. */
REDTUNE_API redtune_status redtune_problem_fold(redtune_problem *problem, const int64_t *shape,
                                                const int64_t *strides, size_t dimensions,
                                                const int *axes, size_t axis_count,
                                                redtune_error *err);

/* The kept axes or, with kept 0, the reduced ones as exports write them (docs/database.md):
 * "64@1024,0". Of a problem without axes, of one with more than REDTUNE_AXES_MAX, and of NULL, the
 * text is empty. */
enum { REDTUNE_AXES_TEXT_BYTES = 1024 };
REDTUNE_API void redtune_problem_axes_text(const redtune_problem *problem, int kept,
                                           char out[REDTUNE_AXES_TEXT_BYTES]);

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
    uint8_t e4m3, e5m2; /* their bits */
    float f32;
    double f64;
    unsigned char bytes[16];
} redtune_value;

/* The value as the nearest double: exact except for integers beyond 2^53. */
REDTUNE_API double redtune_value_real(redtune_dtype dtype, const redtune_value *value);

#ifdef __cplusplus
}
#endif

#endif
