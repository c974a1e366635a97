/* Pattern: test data whose sum is known exactly, whatever the order of the additions. */
#include "tuner/pattern.h"

#include <stdlib.h>

enum { PERIOD = 1048573, MAGNITUDE_MAX = 4 };

/* SplitMix64 (Steele, Lea, Flood, 2014), as a function of the index. */
static uint64_t scramble(uint64_t index) {
    uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* -4 to -1 or 1 to 4; 0 for all but one in thin elements, on average. */
static int64_t element(uint64_t index, uint64_t thin) {
    uint64_t random = scramble(index);
    if ((random >> 8) % thin) return 0;
    int64_t magnitude = 1 + (int64_t)(random % MAGNITUDE_MAX);
    return random & 16 ? -magnitude : magnitude;
}

uint64_t rdt_pattern_dense_max(redtune_dtype dtype) {
    return (UINT64_C(1) << rdt_dtype_find(dtype)->exact_bits) / MAGNITUDE_MAX;
}

/* The least power of two that thins the pattern out enough. The magnitudes' mean is 2.5, so that
 * allowing for 4 leaves room for chance in which elements are zero. */
static uint64_t choose_thin(redtune_dtype dtype, uint64_t count) {
    uint64_t thin = 1;
    while (count / thin > rdt_pattern_dense_max(dtype)) thin *= 2;
    return thin;
}

redtune_status rdt_pattern_create(redtune_dtype dtype, uint64_t count, rdt_pattern **out,
                                  redtune_error *err) {
    rdt_pattern *pattern = calloc(1, sizeof *pattern);
    if (!pattern) return rdt_fail_memory(err, sizeof *pattern);
    pattern->dtype = dtype;
    pattern->period = count < PERIOD && count > 0 ? count : PERIOD;
    pattern->count_max = count;
    pattern->before = malloc((pattern->period + 1) * sizeof *pattern->before);
    pattern->elements = malloc(pattern->period * redtune_dtype_bytes(dtype));
    if (!pattern->before || !pattern->elements) {
        uint64_t bytes = pattern->period * 16;
        rdt_pattern_destroy(pattern);
        return rdt_fail_memory(err, bytes);
    }
    uint64_t thin = choose_thin(dtype, count);
    int64_t sum = 0;
    for (uint64_t i = 0; i < pattern->period; i++) {
        int64_t value = element(i, thin);
        rdt_value_store(dtype, pattern->elements, i, value);
        pattern->before[i] = sum;
        sum += value;
    }
    pattern->before[pattern->period] = sum;
    *out = pattern;
    return REDTUNE_OK;
}

void rdt_pattern_destroy(rdt_pattern *pattern) {
    if (!pattern) return;
    free(pattern->before);
    free(pattern->elements);
    free(pattern);
}

static int64_t sum_before(const rdt_pattern *pattern, uint64_t end) {
    return (int64_t)(end / pattern->period) * pattern->before[pattern->period] +
           pattern->before[end % pattern->period];
}

int64_t rdt_pattern_sum(const rdt_pattern *pattern, uint64_t first, uint64_t count) {
    return sum_before(pattern, first + count) - sum_before(pattern, first);
}
