/* Segment lengths: a table of offsets for a problem of segments.
 *
 * In the order of their lengths, the shorter half grows from 0 to the median by one power of the
 * rank, and the longer half from the median to the greatest by another. The two powers are sought
 * so that the lengths have the right sum: the second as long as that is enough, else the first.
 * Shuffled, they are the table. */
#include "model/segment_lengths.h"

#include <math.h>
#include <stdlib.h>
#include "base/random.h"

static int compare_lengths(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

rdt_extents rdt_segment_lengths_describe(const uint64_t *offsets, uint64_t count,
                                         uint64_t *lengths) {
    if (!count) return (rdt_extents){.count = 0};
    const uint64_t all = offsets[count] - offsets[0];
    for (uint64_t i = 0; i < count; i++) lengths[i] = offsets[i + 1] - offsets[i];
    qsort(lengths, count, sizeof *lengths, compare_lengths);
    const uint64_t median = lengths[count / 2];
    return (rdt_extents){.count = (all + count - 1) / count,
                         .outer = count,
                         .outer_step = lengths[count - 1],
                         .step = median ? median : 1};
}

/* ---- a table --------------------------------------------------------------------------------- */

/* The lengths in order. */
typedef struct curve {
    uint64_t count;
    double median, greatest;
    double low, high; /* powers */
} curve;

static double length_at(const curve *self, uint64_t rank) {
    const uint64_t half = self->count / 2, longer = self->count - half;
    if (rank + 1 == self->count) return self->greatest;
    if (rank < half) return self->median * pow(((double)rank + 0.5) / (double)half, self->low);
    const double share = ((double)(rank - half) + 0.5) / (double)longer;
    return self->median + (self->greatest - self->median) * pow(share, self->high);
}

/* Of the longest each; of the others one stands for its neighbours. */
static double sum_of(const curve *self) {
    enum { EACH = 2048, PARTS = 4096 };
    const uint64_t most = self->count > EACH ? self->count - EACH : 0;
    double sum = 0;
    for (uint64_t rank = most; rank < self->count; rank++) sum += length_at(self, rank);
    const uint64_t parts = most < PARTS ? most : PARTS;
    for (uint64_t part = 0; part < parts; part++) {
        const uint64_t first = most * part / parts, end = most * (part + 1) / parts;
        sum += (double)(end - first) * length_at(self, first + (end - first) / 2);
    }
    return sum;
}

/* The power within e^[from, to] that gives the sum, or the one that comes nearest: a greater power
 * gives a lesser sum. */
static void seek(curve *self, double *power, double from, double to, double wanted) {
    enum { HALVINGS = 48 };
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (from + to) / 2;
        *power = exp(middle);
        if (sum_of(self) > wanted)
            from = middle;
        else
            to = middle;
    }
    *power = exp(to);
}

uint64_t rdt_segment_lengths_count(const redtune_problem *problem) {
    const uint64_t count = rdt_problem_segments_count(problem);
    return count ? count : 1;
}

static curve make_curve(const redtune_problem *problem) {
    const rdt_lengths lengths = rdt_problem_segments_lengths(problem);
    const double all = (double)rdt_problem_elements(problem);
    curve curve = {rdt_segment_lengths_count(problem), (double)lengths.median,
                   (double)lengths.greatest, .low = 1, .high = 1};
    /* Powers from a tenth to one that leaves a single long segment among 10^9. */
    seek(&curve, &curve.high, log(0.1), log(1e10), all);
    if (fabs(sum_of(&curve) - all) > all / 100) seek(&curve, &curve.low, log(1e-9), log(1e3), all);
    return curve;
}

/* In order. What rounding gives too much is taken from the longest except the greatest. */
static void draw_lengths(const redtune_problem *problem, uint64_t *lengths, uint64_t count) {
    const uint64_t all = rdt_problem_elements(problem);
    const curve curve = make_curve(problem);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t length = (uint64_t)(length_at(&curve, i) + 0.5);
        lengths[i] = length < all ? length : all;
        sum += lengths[i];
    }
    for (uint64_t i = count - 1; i-- > 0 && sum > all;) {
        const uint64_t cut = sum - all < lengths[i] ? sum - all : lengths[i];
        lengths[i] -= cut;
        sum -= cut;
    }
}

static void shuffle_lengths(uint64_t *lengths, uint64_t count) {
    rdt_random random = {count};
    for (uint64_t i = count - 1; i > 0; i--) {
        const uint64_t k = rdt_random_below(&random, i + 1), kept = lengths[i];
        lengths[i] = lengths[k];
        lengths[k] = kept;
    }
}

redtune_status rdt_segment_lengths_fill(const redtune_problem *problem, uint64_t *offsets,
                                        redtune_error *err) {
    const uint64_t count = rdt_segment_lengths_count(problem);
    const rdt_lengths own = rdt_problem_segments_lengths(problem);
    const uint64_t each = rdt_problem_count(problem);
    const bool equal = own.median == each && own.greatest == each;
    offsets[0] = 0;
    for (uint64_t i = 0; i < count; i++) offsets[i + 1] = offsets[i] + each;
    if (equal) return REDTUNE_OK;
    uint64_t *lengths = malloc(count * sizeof *lengths);
    if (!lengths) return rdt_fail_memory(err, count * sizeof *lengths);
    draw_lengths(problem, lengths, count);
    shuffle_lengths(lengths, count);
    for (uint64_t i = 0; i < count; i++) offsets[i + 1] = offsets[i] + lengths[i];
    free(lengths);
    return REDTUNE_OK;
}
