/* Results: what the ops give, by the host. */
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/scalar.h"
#include "reference.h"

/* One call: what is reduced, and into what. */
typedef struct job {
    const redtune_problem *problem;
    results_input in;
    double parameter[RDT_OP_PARAMETERS_MAX];
    redtune_dtype accumulator;
    results *out;
} job;

/* ---- elements -------------------------------------------------------------------------------- */

static bool is_float(const job *self) { return rdt_scalar_is_float(self->problem->dtype); }

/* Exact: long double has 64 bits. */
static long double number(const job *self, const void *array, uint64_t i) {
    const redtune_dtype dtype = self->problem->dtype;
    const uint64_t bits = rdt_scalar_bits(dtype, array, i);
    if (is_float(self)) return rdt_scalar_real(dtype, array, i);
    return rdt_scalar_is_signed(dtype) ? (long double)(int64_t)bits : (long double)bits;
}

static long double x_of(const job *self, uint64_t i) { return number(self, self->in.x, i); }
static long double y_of(const job *self, uint64_t i) { return number(self, self->in.y, i); }

/* |x - y|, exact. */
static long double gap(const job *self, uint64_t i) {
    const long double apart = x_of(self, i) - y_of(self, i);
    return fabsl(apart);
}

/* The same as a float's kernel has it: rounded to f32, or of f64 to that. */
static double rounded_gap(const job *self, uint64_t i) {
    const long double apart = gap(self, i);
    if (!is_float(self)) return (double)apart;
    return self->problem->dtype == REDTUNE_F64 ? (double)apart : (double)(float)apart;
}

static uint64_t bits_of(const job *self, const void *array, uint64_t i) {
    return rdt_scalar_bits(self->problem->dtype, array, i);
}

/* ---- results --------------------------------------------------------------------------------- */

static redtune_dtype dtype_at(const redtune_problem *problem, int output) {
    return output ? rdt_problem_second(problem) : problem->result;
}

static void give_bits(job *self, int output, uint64_t bits) {
    const redtune_dtype dtype = dtype_at(self->problem, output);
    self->out->value[output] = rdt_scalar_from_bits(dtype, bits);
    self->out->exact[output] = rdt_scalar_real(dtype, &self->out->value[output], 0);
}

static void give_real(job *self, int output, long double exact, long double magnitude) {
    const redtune_dtype dtype = dtype_at(self->problem, output);
    self->out->value[output] = rdt_scalar_from_real(dtype, (double)exact);
    self->out->exact[output] = exact;
    self->out->magnitude[output] = magnitude;
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef long double term_fn(const job *self, uint64_t i);
typedef uint64_t bits_fn(const job *self, uint64_t i);

/* Neumaier's sum; infinities, which would make NaN of it, apart. */
typedef struct sum {
    long double finite, lost, infinite, magnitude;
} sum;

static void add(sum *self, long double x) {
    self->magnitude += fabsl(x);
    if (!isfinite(x)) {
        self->infinite += x;
        return;
    }
    const long double next = self->finite + x;
    self->lost +=
        fabsl(self->finite) >= fabsl(x) ? (self->finite - next) + x : (x - next) + self->finite;
    self->finite = next;
}

static long double total(const sum *self) {
    return self->infinite == 0 ? self->finite + self->lost : self->infinite;
}

static sum sum_of(const job *self, term_fn *term) {
    sum out = {0};
    for (uint64_t i = 0; i < self->in.count; i++) add(&out, term(self, i));
    return out;
}

/* A result of the class of sums: modulo 2^64 where integers are added. */
static void give_sum(job *self, int output, term_fn *term, bits_fn *bits) {
    if (rdt_scalar_is_float(self->accumulator)) {
        const sum sum = sum_of(self, term);
        give_real(self, output, total(&sum), sum.magnitude);
        return;
    }
    uint64_t sum = 0;
    for (uint64_t i = 0; i < self->in.count; i++) sum += bits(self, i);
    give_bits(self, output, sum);
}

static long double product(const job *self, uint64_t i) { return x_of(self, i) * y_of(self, i); }
static long double square_of_x(const job *self, uint64_t i) {
    return x_of(self, i) * x_of(self, i);
}
static long double square_of_y(const job *self, uint64_t i) {
    return y_of(self, i) * y_of(self, i);
}
static long double square_of_gap(const job *self, uint64_t i) {
    return gap(self, i) * gap(self, i);
}
static long double power_of_x(const job *self, uint64_t i) {
    return powl(fabsl(x_of(self, i)), self->parameter[0]);
}

static uint64_t bits_of_x(const job *self, uint64_t i) { return bits_of(self, self->in.x, i); }
static uint64_t bits_of_gap(const job *self, uint64_t i) {
    const uint64_t apart = bits_of(self, self->in.x, i) - bits_of(self, self->in.y, i);
    return x_of(self, i) < y_of(self, i) ? 0 - apart : apart;
}
static uint64_t bits_of_square(const job *self, uint64_t i) {
    return bits_of_x(self, i) * bits_of_x(self, i);
}
static uint64_t bits_of_square_of_gap(const job *self, uint64_t i) {
    return bits_of_gap(self, i) * bits_of_gap(self, i);
}
static uint64_t bits_of_product(const job *self, uint64_t i) {
    return bits_of_x(self, i) * bits_of(self, self->in.y, i);
}

/* In f64, as the kernels do: a root in long double that is rounded to f64 is rounded twice. The sum
 * is scaled, since it may leave the range of f64. */
static double root_of(long double sum) {
    if (!(sum > 0 && isfinite(sum))) return (double)sqrtl(sum);
    const int half = ilogbl(sum) >> 1;
    return ldexp(sqrt((double)ldexpl(sum, -2 * half)), half);
}

static void give_euclidean(job *self) {
    const sum sum = sum_of(self, square_of_gap);
    give_real(self, 0, root_of(total(&sum)), sqrtl(sum.magnitude));
    self->out->exact[0] = sqrtl(total(&sum));
}

/* Of what is divided, in f64 as the kernels do that. */
static void give_mse(job *self) {
    const sum sum = sum_of(self, square_of_gap);
    const long double count = (long double)self->in.count;
    give_real(self, 0, (double)total(&sum) / (double)self->in.count, sum.magnitude / count);
    self->out->exact[0] = total(&sum) / count;
}

static void give_cosine(job *self) {
    const sum xy = sum_of(self, product), xx = sum_of(self, square_of_x),
              yy = sum_of(self, square_of_y);
    const double lengths = sqrt((double)total(&xx)) * sqrt((double)total(&yy));
    give_real(self, 0, (double)total(&xy) / lengths, 2);
    self->out->exact[0] = total(&xy) / (sqrtl(total(&xx)) * sqrtl(total(&yy)));
}

static void give_wmean(job *self) {
    const sum weighted = sum_of(self, product), weights = sum_of(self, y_of);
    const long double mean = total(&weighted) / total(&weights);
    give_real(self, 0, (double)total(&weighted) / (double)total(&weights),
              (weighted.magnitude + fabsl(mean) * weights.magnitude) / fabsl(total(&weights)));
    self->out->exact[0] = mean;
}

static void give_norm(job *self) {
    const sum sum = sum_of(self, power_of_x);
    const long double norm = powl(total(&sum), 1 / (long double)self->parameter[0]);
    give_real(self, 0, norm, norm);
}

/* ---- the mean and the variance --------------------------------------------------------------- */

static long double variance(const job *self, long double mean) {
    sum squares = {0};
    for (uint64_t i = 0; i < self->in.count; i++) {
        const long double apart = x_of(self, i) - mean;
        add(&squares, apart * apart);
    }
    const long double under = (long double)self->in.count - self->parameter[0];
    return total(&squares) / (under > 0 ? under : 0);
}

static void give_moments(job *self) {
    const sum sum = sum_of(self, x_of);
    const long double count = (long double)self->in.count, mean = total(&sum) / count;
    const long double var = variance(self, self->in.count ? mean : 0);
    const bool both = self->problem->op == REDTUNE_MEAN_VAR;
    if (both) give_real(self, 0, mean, sum.magnitude / count);
    const long double given = self->problem->op == REDTUNE_STD ? sqrtl(var) : var;
    give_real(self, both, given, given);
}

/* ---- logarithms ------------------------------------------------------------------------------ */

static void give_logsumexp(job *self) {
    long double greatest = -INFINITY;
    bool nan = false;
    for (uint64_t i = 0; i < self->in.count; i++) {
        nan = nan || isnan(x_of(self, i));
        greatest = fmaxl(greatest, x_of(self, i));
    }
    sum sum = {0};
    for (uint64_t i = 0; i < self->in.count; i++) add(&sum, expl(x_of(self, i) - greatest));
    long double value = isfinite(greatest) ? greatest + logl(total(&sum)) : greatest;
    if (nan) value = NAN;
    give_real(self, 0, value, fabsl(value) > 1 ? fabsl(value) : 1);
}

static void give_slogprod(job *self) {
    sum logs = {0};
    long double sign = 1;
    for (uint64_t i = 0; i < self->in.count; i++) {
        const long double x = x_of(self, i);
        sign *= isnan(x) ? x : (long double)((x > 0) - (x < 0));
        add(&logs, logl(fabsl(x)));
    }
    /* Zero times infinity. */
    if (isnan(total(&logs))) sign = NAN;
    give_real(self, 0, sign == 0 ? 0 : sign, 0);
    const long double log = total(&logs);
    give_real(self, 1, log, fabsl(log) + (long double)self->in.count);
}

/* ---- extremes -------------------------------------------------------------------------------- */

/* The first of the least, or the greatest, or of NaN; -1 of none. Zeros are equal for a place. */
static int64_t find(const job *self, bool least, bool place) {
    const redtune_dtype dtype = self->problem->dtype;
    int64_t best = -1;
    for (uint64_t i = 0; i < self->in.count; i++) {
        if (rdt_scalar_is_nan(dtype, self->in.x, i)) return (int64_t)i;
        if (best >= 0) {
            const uint64_t at = (uint64_t)best;
            const uint64_t a = rdt_scalar_key(dtype, self->in.x, i),
                           b = rdt_scalar_key(dtype, self->in.x, at);
            const bool same = a == b || (place && x_of(self, i) == x_of(self, at));
            if (same || (least ? a > b : a < b)) continue;
        }
        best = (int64_t)i;
    }
    return best;
}

/* The greatest that the dtype has, or the least. */
static redtune_value edge(redtune_dtype dtype, bool greatest) {
    const size_t bits = 8 * redtune_dtype_bytes(dtype);
    const uint64_t top = UINT64_C(1) << (bits - 1), all = UINT64_MAX >> (64 - bits);
    const double most = dtype == REDTUNE_E4M3 ? 448 : (double)INFINITY;
    if (rdt_scalar_is_float(dtype)) return rdt_scalar_from_real(dtype, greatest ? most : -most);
    if (rdt_scalar_is_signed(dtype)) return rdt_scalar_from_bits(dtype, greatest ? top - 1 : top);
    return rdt_scalar_from_bits(dtype, greatest ? all : 0);
}

static void give_element(job *self, int output, int64_t at, bool least) {
    const redtune_dtype dtype = self->problem->dtype;
    const redtune_value of_none = edge(dtype, least);
    const void *from = at < 0 ? &of_none : self->in.x;
    const uint64_t index = at < 0 ? 0 : (uint64_t)at;
    self->out->value[output] = rdt_scalar_from_bits(dtype, rdt_scalar_bits(dtype, from, index));
    self->out->exact[output] = rdt_scalar_real(dtype, from, index);
}

static void give_minmax(job *self) {
    for (int output = 0; output < 2; output++)
        give_element(self, output, find(self, !output, false), !output);
}

static void give_place(job *self, bool least) {
    const int64_t at = find(self, least, true);
    give_element(self, 0, at, least);
    if (self->out->exact[0] == 0) give_bits(self, 0, 0); /* +0 */
    give_bits(self, 1, (uint64_t)at);
}

/* Of the first greatest magnitude, or the first NaN. */
static void give_argmaxabs(job *self) {
    long double most = -1;
    int64_t best = -1;
    for (uint64_t i = 0; i < self->in.count && !isnan(most); i++) {
        if (fabsl(x_of(self, i)) <= most) continue;
        most = fabsl(x_of(self, i));
        best = (int64_t)i;
    }
    give_bits(self, 0, (uint64_t)best);
}

/* Of none the greatest that the result's dtype has. */
static void give_minabs(job *self) {
    int64_t best = -1;
    for (uint64_t i = 0; i < self->in.count; i++) {
        const bool is_nan = isnan(x_of(self, i));
        if (best < 0 || is_nan || fabsl(x_of(self, i)) < fabsl(x_of(self, (uint64_t)best)))
            best = (int64_t)i;
        if (is_nan) break;
    }
    const uint64_t at = (uint64_t)best, bits = best < 0 ? 0 : bits_of_x(self, at);
    const redtune_value none = edge(self->problem->result, true);
    if (best < 0)
        give_bits(self, 0, rdt_scalar_bits(self->problem->result, &none, 0));
    else if (is_float(self))
        give_real(self, 0, fabsl(x_of(self, at)), 0);
    else
        give_bits(self, 0, x_of(self, at) < 0 ? 0 - bits : bits);
}

static void give_ptp(job *self) {
    const int64_t low = find(self, true, false), high = find(self, false, false);
    if (low < 0) {
        give_real(self, 0, 0, 0);
    } else if (is_float(self)) {
        const long double apart = x_of(self, (uint64_t)high) - x_of(self, (uint64_t)low);
        const bool wide = self->problem->dtype == REDTUNE_F64;
        give_real(self, 0, wide ? (double)apart : (double)(float)apart, 0);
    } else {
        give_bits(self, 0, bits_of_x(self, (uint64_t)high) - bits_of_x(self, (uint64_t)low));
    }
}

static void give_chebyshev(job *self) {
    double greatest = 0;
    uint64_t bits = 0;
    for (uint64_t i = 0; i < self->in.count; i++) {
        const double apart = rounded_gap(self, i);
        if (isnan(apart) || apart > greatest) greatest = apart;
        if (isnan(greatest)) break;
        if (!is_float(self) && bits_of_gap(self, i) > bits) bits = bits_of_gap(self, i);
    }
    if (is_float(self))
        give_real(self, 0, greatest, 0);
    else
        give_bits(self, 0, bits);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static uint64_t is_nan(const job *self, uint64_t i) { return isnan(x_of(self, i)); }
static uint64_t is_strange(const job *self, uint64_t i) { return !isfinite(x_of(self, i)); }

static uint64_t differs(const job *self, uint64_t i) {
    const long double x = x_of(self, i), y = y_of(self, i);
    return x == y ? 0 : !(rounded_gap(self, i) <= self->parameter[0]);
}

static uint64_t count_of(const job *self, bits_fn *is) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < self->in.count; i++) count += is(self, i);
    return count;
}

static void give_reference(job *self) {
    rdt_reference right;
    rdt_reference_reduce(self->problem, self->in.x, self->in.count, &right);
    self->out->value[0] = right.value;
    self->out->exact[0] = right.exact;
    self->out->magnitude[0] = right.magnitude;
}

/* What the op of that number gives of the elements that are not NaN. */
static void give_numbers(job *self, redtune_op op) {
    const redtune_dtype dtype = self->problem->dtype;
    const size_t bytes = redtune_dtype_bytes(dtype);
    char *numbers = malloc(self->in.count * bytes + 1);
    uint64_t *from = calloc(self->in.count + 1, sizeof *from), count = 0;
    for (uint64_t i = 0; i < self->in.count; i++) {
        if (rdt_scalar_is_nan(dtype, self->in.x, i)) continue;
        memcpy(numbers + count * bytes, (const char *)self->in.x + i * bytes, bytes);
        from[count++] = i;
    }
    redtune_problem problem = *self->problem;
    const results_input in = {.x = numbers, .count = count, .parameters = self->parameter};
    problem.op = op;
    results_reduce(&problem, &in, self->out);
    if (op == REDTUNE_PROD) self->out->magnitude[0] = fabsl(self->out->exact[0]);
    if (rdt_op_find(op)->indexed && count) give_bits(self, 0, from[self->out->value[0].i64]);
    free(numbers);
    free(from);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void give(job *self) {
    switch ((int)self->problem->op) {
    case REDTUNE_NANS: give_bits(self, 0, count_of(self, is_nan)); return;
    case REDTUNE_NONFINITE: give_bits(self, 0, count_of(self, is_strange) > 0); return;
    case REDTUNE_PTP: give_ptp(self); return;
    case REDTUNE_NORMP: give_norm(self); return;
    case REDTUNE_VAR:
    case REDTUNE_STD:
    case REDTUNE_MEAN_VAR: give_moments(self); return;
    case REDTUNE_LOGSUMEXP: give_logsumexp(self); return;
    case REDTUNE_SLOGPROD: give_slogprod(self); return;
    case REDTUNE_MIN_AT:
    case REDTUNE_MAX_AT: give_place(self, self->problem->op == REDTUNE_MIN_AT); return;
    case REDTUNE_MINMAX: give_minmax(self); return;
    case REDTUNE_SUM_SUMSQ:
        give_sum(self, 0, x_of, bits_of_x);
        give_sum(self, 1, square_of_x, bits_of_square);
        return;
    case REDTUNE_SUM_NONFINITE:
        give_sum(self, 0, x_of, bits_of_x);
        give_bits(self, 1, count_of(self, is_strange));
        return;
    case REDTUNE_DOT: give_sum(self, 0, product, bits_of_product); return;
    case REDTUNE_SQEUCLIDEAN: give_sum(self, 0, square_of_gap, bits_of_square_of_gap); return;
    case REDTUNE_EUCLIDEAN: give_euclidean(self); return;
    case REDTUNE_CITYBLOCK: give_sum(self, 0, gap, bits_of_gap); return;
    case REDTUNE_CHEBYSHEV: give_chebyshev(self); return;
    case REDTUNE_COSINE: give_cosine(self); return;
    case REDTUNE_WMEAN: give_wmean(self); return;
    case REDTUNE_MISMATCHES: give_bits(self, 0, count_of(self, differs)); return;
    case REDTUNE_MSE: give_mse(self); return;
    case REDTUNE_ARGMAXABS: give_argmaxabs(self); return;
    case REDTUNE_MINABS: give_minabs(self); return;
    case REDTUNE_NANSUM: give_numbers(self, REDTUNE_SUM); return;
    case REDTUNE_NANPROD: give_numbers(self, REDTUNE_PROD); return;
    case REDTUNE_NANMEAN: give_numbers(self, REDTUNE_MEAN); return;
    case REDTUNE_NANVAR: give_numbers(self, REDTUNE_VAR); return;
    case REDTUNE_NANSTD: give_numbers(self, REDTUNE_STD); return;
    case REDTUNE_NANARGMIN: give_numbers(self, REDTUNE_ARGMIN); return;
    case REDTUNE_NANARGMAX: give_numbers(self, REDTUNE_ARGMAX); return;
    default: give_reference(self); return;
    }
}

void results_reduce(const redtune_problem *problem, const results_input *input, results *out) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    job self = {
        .problem = problem,
        .in = *input,
        .accumulator = rdt_problem_accumulator(problem),
        .out = out,
    };
    for (int i = 0; i < op->parameters; i++)
        self.parameter[i] = input->parameters ? input->parameters[i] : op->parameter[i].usual;
    *out = (results){0};
    give(&self);
}
