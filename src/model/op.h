/* Op: what redtune knows of an op beside the CUDA text that computes it.
 *
 * templates/ops.lua gathers an entry for each op, and the build makes a constant table of those
 * compiled in. The ops of the user come behind it: those of the template folder, in the order of
 * their names, and of the files that REDTUNE_OPS names, read once, when an op is asked for that is
 * not in that table; and then those of other files, in the order in which a program names them. So
 * an op's number holds within a process, and its name everywhere. */
#pragma once

#include <stdbool.h>
#include "base/fail.h"

/* Which dtype the results of an op have; docs/ops.md has the table. */
#define RDT_RESULT_LIST(X)                                                                         \
    X(RDT_RESULT_SUM, "sum")     /* 64 bits of the same signedness; f32 for narrower floats */     \
    X(RDT_RESULT_MEAN, "mean")   /* f64 for integers, else as sums */                              \
    X(RDT_RESULT_SAME, "same")   /* the dtype itself */                                            \
    X(RDT_RESULT_ABS, "abs")     /* unsigned, of the same width, for signed integers */            \
    X(RDT_RESULT_INDEX, "index") /* i64 */                                                         \
    X(RDT_RESULT_TRUTH, "truth") /* u8 */                                                          \
    X(RDT_RESULT_COUNT, "count") /* u64 */                                                         \
    X(RDT_RESULT_BITS, "bits")   /* the dtype itself, which must be an integer */                  \
    X(RDT_RESULT_DTYPE, "dtype") /* a dtype that the entry names in place of this */

/* How elements make the result: which test data show every one of them. */
#define RDT_COMBINES_LIST(X)                                                                       \
    X(RDT_COMBINES_SUM, "sum")                                                                     \
    X(RDT_COMBINES_PRODUCT, "product")                                                             \
    X(RDT_COMBINES_LEAST, "least")                                                                 \
    X(RDT_COMBINES_GREATEST, "greatest")                                                           \
    X(RDT_COMBINES_MAGNITUDE, "magnitude")                                                         \
    X(RDT_COMBINES_LEAST_MAGNITUDE, "least_magnitude")                                             \
    X(RDT_COMBINES_ANY, "any")                                                                     \
    X(RDT_COMBINES_ALL, "all")                                                                     \
    X(RDT_COMBINES_COUNT, "count")                                                                 \
    X(RDT_COMBINES_AND, "and")                                                                     \
    X(RDT_COMBINES_OR, "or")                                                                       \
    X(RDT_COMBINES_XOR, "xor")                                                                     \
    X(RDT_COMBINES_EXTREMES, "extremes")           /* the least and the greatest, both */          \
    X(RDT_COMBINES_EXPONENTIALS, "exponentials")   /* the sum of e^x */                            \
    X(RDT_COMBINES_NONFINITE, "nonfinite")         /* how many are NaN or infinite */              \
    X(RDT_COMBINES_ANY_NONFINITE, "any_nonfinite") /* whether one is */                            \
    X(RDT_COMBINES_OWN, "own")                     /* by no rule that is known here */

#define ENTRY(value, name) value,
typedef enum rdt_result_class { RDT_RESULT_LIST(ENTRY) } rdt_result_class;
typedef enum rdt_combines { RDT_COMBINES_LIST(ENTRY) } rdt_combines;
#undef ENTRY

enum {
    RDT_OPS_MAX = 128,
    RDT_OPS_ABSENT = 1024, /* the number of the first absent op */
    RDT_OPS_ABSENT_MAX = 64,
    RDT_OP_NAME_BYTES = 24,
    RDT_OP_FORMULA_BYTES = 120,
    RDT_OP_INPUTS_MAX = 2,
    RDT_OP_OUTPUTS_MAX = 2,
    RDT_OP_PARAMETERS_MAX = 2,
};

/* One of an op's results. */
typedef struct rdt_op_output {
    char name[RDT_OP_NAME_BYTES];
    rdt_result_class result;
    redtune_dtype dtype; /* of RDT_RESULT_DTYPE */
} rdt_op_output;

/* A scalar that the caller of a run gives. */
typedef struct rdt_op_parameter {
    char name[RDT_OP_NAME_BYTES];
    double usual;
} rdt_op_parameter;

/* An entry, as the head of templates/ops.lua explains it. */
typedef struct rdt_op_traits {
    redtune_op op;
    char name[RDT_OP_NAME_BYTES];
    char formula[RDT_OP_FORMULA_BYTES];
    rdt_result_class result; /* of the first output */
    rdt_combines combines;
    int power;
    int f64_from;
    int lost_bits;
    int tolerance;
    int values;
    int range_bytes;
    int inputs, outputs, parameters; /* how many; at least 1 input and 1 output */
    bool indexed, ignores_nan, bools, resumes, compensated, exact;
    rdt_op_output output[RDT_OP_OUTPUTS_MAX];
    rdt_op_parameter parameter[RDT_OP_PARAMETERS_MAX];
    unsigned dtypes;        /* those that the op is for: 1 << dtype, or'ed; 0: all */
    int accumulator_bytes;  /* 0: as the class of the result and values say */
    double least, greatest; /* of RDT_COMBINES_OWN: of the elements that kernels are tried with */
    /* Of an op that a file of the user's has: its name, which lives as long as the process, and its
     * content's hash. NULL and 0 for others. */
    const char *file;
    uint64_t content;
    bool absent; /* only its name is known: rdt_op_meet */
} rdt_op_traits;

/* Valid when zeroed. */
typedef struct rdt_op_table {
    int count;
    rdt_op_traits entry[RDT_OPS_MAX];
} rdt_op_table;

/* The ops that are compiled in, each at the index that is its number. */
extern const rdt_op_table rdt_op_compiled_in;
/* The user's ops that are not compiled in; their numbers follow. Never NULL, and never freed. Where
 * the template folder or a file that REDTUNE_OPS names cannot be read, *err (may be NULL) is the
 * reason, and the table has the ops there are; else its status is REDTUNE_OK. Any thread may add to
 * it: rdt_op_table_count says how many can be read. codegen defines it, since it is Lua that reads
 * them. */
const rdt_op_table *rdt_user_ops_table(redtune_error *err);
int rdt_op_table_count(const rdt_op_table *table);

/* NULL for a value that is no op. */
const rdt_op_traits *rdt_op_find(redtune_op op);

/* Refuses values of the op's parameters that have no meaning: a ddof that is NaN. parameters may be
 * NULL. */
redtune_status rdt_op_check_parameters(const rdt_op_traits *op, const double *parameters,
                                       redtune_error *err);
/* The op of that name, of which a measurement is; where there is none, the traits of an absent op:
 * its measurements can be shown, stored and moved, and nothing can be computed. An absent op keeps
 * its number, beyond those of ops, while the process lives. NULL for what cannot be an op's name,
 * and where more than RDT_OPS_ABSENT_MAX names have been met. */
const rdt_op_traits *rdt_op_meet(const char *name);
/* Below, at or above 0 as op a comes before, is or comes behind op b: those that are compiled in by
 * their numbers, the others, whose numbers are of this process, behind them by their names. */
int rdt_op_compare(redtune_op a, redtune_op b);
