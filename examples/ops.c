/* Several ops over elements of several dtypes, through redtune_reduce, which keeps a plan for each
 * op, dtype and size by itself. */
#include "example.h"

enum { COUNT = 100000 };

static redtune *rt;
static CUstream stream;
static void *d_out;

/* Reduces COUNT elements and gives the result, whose dtype redtune_problem_result tells. */
static redtune_value reduce(redtune_op op, redtune_dtype dtype, const void *d_in) {
    redtune_problem problem = redtune_problem_whole(op, dtype, COUNT);
    redtune_value value = {0};
    redtune_dtype result;
    redtune_error err;
    TRY_REDTUNE(redtune_problem_result(&problem, &result, &err));
    TRY_REDTUNE(redtune_reduce(rt, &problem, d_in, d_out, stream, &err));
    download(&value, d_out, redtune_dtype_bytes(result), stream);
    printf("%-8s of %-3s is a %s\n", redtune_op_name(op), redtune_dtype_name(dtype),
           redtune_dtype_name(result));
    return value;
}

int main(void) {
    static int32_t integers[COUNT];
    static double doubles[COUNT];
    static uint8_t flags[COUNT];
    redtune_error err;
    int64_t sum = 0;
    for (int i = 0; i < COUNT; i++) {
        integers[i] = i % 1000 - 250;
        doubles[i] = i % 2 ? 0.5 : -0.25;
        flags[i] = i == 77777;
        sum += integers[i];
    }
    start_cuda();
    stream = make_stream();
    d_out = upload(NULL, sizeof(redtune_value));
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));

    const void *d_integers = upload(integers, sizeof integers);
    const void *d_doubles = upload(doubles, sizeof doubles);
    const void *d_flags = upload(flags, sizeof flags);
    expect(reduce(REDTUNE_SUM, REDTUNE_I32, d_integers).i64 == sum, "the sum");
    expect(reduce(REDTUNE_MIN, REDTUNE_I32, d_integers).i32 == -250, "the minimum");
    expect(reduce(REDTUNE_MAX, REDTUNE_I32, d_integers).i32 == 749, "the maximum");
    expect(reduce(REDTUNE_MEAN, REDTUNE_F64, d_doubles).f64 == 0.125, "the mean");
    expect(reduce(REDTUNE_MAXABS, REDTUNE_F64, d_doubles).f64 == 0.5, "the largest magnitude");
    expect(reduce(REDTUNE_ANY, REDTUNE_U8, d_flags).u8 == 1, "any");
    expect(reduce(REDTUNE_NONZEROS, REDTUNE_U8, d_flags).u64 == 1, "the number of nonzeros");
    redtune_close(rt);
    return EXIT_SUCCESS;
}
