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

/* ---- writing ------------------------------------------------------------------------------- */

/* Every bf16 is the upper half of an f32. The values have room for it. */
static void widen(unsigned char *values, uint64_t count) {
    for (uint64_t i = count; i-- > 0;) {
        uint16_t half;
        memcpy(&half, values + 2 * i, sizeof half);
        const uint32_t wide = (uint32_t)half << 16;
        memcpy(values + 4 * i, &wide, sizeof wide);
    }
}

redtune_status rdt_results_write(const rdt_results *results, const char *path, redtune_error *err) {
    const bool widens = results->dtype == REDTUNE_BF16;
    const redtune_dtype dtype = widens ? REDTUNE_F32 : results->dtype;
    const uint64_t bytes = results->count * redtune_dtype_bytes(dtype);
    char header[RDT_NPY_WRITTEN_BYTES];
    const size_t header_bytes =
        rdt_npy_write(dtype, results->shape, results->rank, results->fortran_order, header);
    unsigned char *file = malloc(header_bytes + bytes);
    if (!file)
        return rdt_message_set(err, REDTUNE_MEMORY, 0,
                               "cannot write %.300s: cannot allocate %llu bytes of host memory",
                               path, (unsigned long long)(header_bytes + bytes));
    memcpy(file, header, header_bytes);
    memcpy(file + header_bytes, results->values,
           results->count * redtune_dtype_bytes(results->dtype));
    if (widens) widen(file + header_bytes, results->count);
    redtune_status status = rdt_output_put(path, file, header_bytes + bytes, err);
    free(file);
    return status;
}
