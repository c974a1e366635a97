/* Results: the array that a reduction along axes gives, printed or written as an .npy file. */
#include "cli/results.h"

#include <stdlib.h>
#include <string.h>
#include "cli/message.h"
#include "cli/number.h"
#include "cli/output.h"

/* ---- printing ------------------------------------------------------------------------------ */

/* Where in memory the value is that comes `at`-th with the last axis fastest. */
static uint64_t place_of(const rdt_results *results, uint64_t at) {
    uint64_t place = 0, step = results->count;
    if (!results->fortran_order) return at;
    for (size_t axis = results->rank; axis-- > 0;) {
        const uint64_t size = results->shape[axis];
        step /= size;
        place += at % size * step;
        at /= size;
    }
    return place;
}

static redtune_status print_result(const rdt_results *results, uint64_t at,
                                   char out[RDT_NUMBER_BYTES], redtune_error *err) {
    const size_t bytes = redtune_dtype_bytes(results->dtype);
    redtune_value value = {.u64 = 0};
    memcpy(value.bytes, (const char *)results->values + place_of(results, at) * bytes, bytes);
    return rdt_number_print_value(out, results->dtype, &value, err);
}

redtune_status rdt_results_each(const rdt_results *results,
                                void (*each)(void *user, const char *digits), void *user,
                                redtune_error *err) {
    for (uint64_t at = 0; at < results->count; at++) {
        char digits[RDT_NUMBER_BYTES];
        redtune_status status = print_result(results, at, digits, err);
        if (status) return status;
        each(user, digits);
    }
    return REDTUNE_OK;
}

redtune_status rdt_results_print(const rdt_results *results, FILE *out, redtune_error *err) {
    const size_t rank = results->rank;
    const uint64_t line = rank > 1 ? results->shape[rank - 1] : 1;
    const uint64_t page = rank > 2 ? line * results->shape[rank - 2] : results->count;
    for (uint64_t at = 0; at < results->count; at++) {
        char digits[RDT_NUMBER_BYTES];
        redtune_status status = print_result(results, at, digits, err);
        if (status) return status;
        if (at && at % page == 0) fputc('\n', out);
        fprintf(out, "%s%c", digits, (at + 1) % line ? ' ' : '\n');
    }
    return REDTUNE_OK;
}

/* ---- dtypes -------------------------------------------------------------------------------- */

redtune_status rdt_results_take_dtypes(const redtune_problem *problem, bool of_bools,
                                       rdt_results results[RDT_RESULTS_ARRAYS_MAX],
                                       redtune_error *err) {
    redtune_dtype dtypes[RDT_RESULTS_ARRAYS_MAX] = {0}, of_floats[RDT_RESULTS_ARRAYS_MAX] = {0};
    const redtune_problem floats = {.op = problem->op, .dtype = REDTUNE_F32};
    redtune_status status = redtune_problem_results(problem, dtypes, err);
    redtune_problem_results(&floats, of_floats, NULL); /* ops of integers have none */
    for (int i = 0; i < RDT_RESULTS_ARRAYS_MAX; i++) {
        results[i].dtype = dtypes[i];
        results[i].is_bool = dtypes[i] == REDTUNE_U8 && (of_bools || of_floats[i] == REDTUNE_U8);
    }
    return status;
}

/* ---- writing ------------------------------------------------------------------------------- */

/* The values as .npy files hold them: as they are, or as f32. */
static void put_values(const rdt_results *results, const redtune_dtype_info *dtype,
                       unsigned char *out) {
    if (dtype->npy == results->dtype) {
        memcpy(out, results->values, results->count * dtype->bytes);
        return;
    }
    for (uint64_t i = 0; i < results->count; i++) {
        redtune_value value = {.u64 = 0};
        memcpy(&value, (const char *)results->values + i * dtype->bytes, dtype->bytes);
        const float wide = (float)redtune_value_real(results->dtype, &value);
        memcpy(out + i * sizeof wide, &wide, sizeof wide);
    }
}

redtune_status rdt_results_write(const rdt_results *results, const char *path, redtune_error *err) {
    redtune_dtype_info dtype;
    redtune_status status = redtune_dtype_get(results->dtype, &dtype, err);
    if (status) return status;
    const uint64_t bytes = results->count * redtune_dtype_bytes(dtype.npy);
    char header[RDT_NPY_WRITTEN_BYTES];
    const size_t header_bytes = rdt_npy_write(dtype.npy, results->is_bool, results->shape,
                                              results->rank, results->fortran_order, header);
    unsigned char *file = malloc(header_bytes + bytes);
    if (!file)
        return rdt_message_set(err, REDTUNE_MEMORY, 0,
                               "cannot write %.300s: cannot allocate %llu bytes of host memory",
                               path, (unsigned long long)(header_bytes + bytes));
    memcpy(file, header, header_bytes);
    put_values(results, &dtype, file + header_bytes);
    status = rdt_output_put(path, file, header_bytes + bytes, err);
    free(file);
    return status;
}
