/* Facts about bench/summary.h, and tuner/summary.h, which sums up its samples. */
#include "tests/check.h"

#include <math.h>

#include "bench/summary.h"
#include "tuner/summary.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

FACT(summary_of_one_is_itself) {
    double values[] = {7};
    double median = 0, spread = 1;
    rdt_summary_of(values, 1, &median, &spread);
    CHECK(median == 7 && spread == 0);
}

FACT(summary_is_median_and_half_the_middle) {
    double values[] = {5, 1, 4, 2, 3};
    double median = 0, spread = 0;
    rdt_summary_of(values, 5, &median, &spread);
    CHECK(median == 3 && spread == 1);
}

FACT(summary_of_even_many_lies_between) {
    double values[] = {4, 1, 3, 2};
    double median = 0, spread = 0;
    rdt_summary_of(values, 4, &median, &spread);
    CHECK(median == 2.5 && spread == 0.75);
}

FACT(summary_is_not_moved_by_an_outlier) {
    double values[] = {3, 3, 3, 3, 3, 3, 3, 3, 1e9};
    double median = 0, spread = 1;
    rdt_summary_of(values, 9, &median, &spread);
    CHECK(median == 3 && spread == 0);
}

FACT(ratios_give_geometric_mean_and_ends) {
    bench_ratios ratios = {0};
    bench_ratios_add(&ratios, 2, 1);
    bench_ratios_add(&ratios, 1, 8);
    bench_ratios_add(&ratios, 4, 1);
    CHECK_INT(ratios.n, 3);
    CHECK(near(bench_ratios_mean(&ratios), 1));
    CHECK(ratios.min == 0.125 && ratios.max == 4);
}

FACT(ratios_leave_out_what_was_not_measured) {
    bench_ratios ratios = {0};
    bench_ratios_add(&ratios, 0, 1);
    bench_ratios_add(&ratios, 1, 0);
    bench_ratios_add(&ratios, NAN, 1);
    CHECK_INT(ratios.n, 0);
    CHECK(bench_ratios_mean(&ratios) == 0 && ratios.min == 0 && ratios.max == 0);
}

FACT(merge_is_adding_one_by_one) {
    bench_ratios one = {0}, other = {0}, both = {0}, none = {0};
    bench_ratios_add(&one, 3, 1);
    bench_ratios_add(&other, 5, 1);
    bench_ratios_add(&other, 7, 1);
    for (int i = 3; i <= 7; i += 2) bench_ratios_add(&both, i, 1);
    bench_ratios_merge(&one, &other);
    bench_ratios_merge(&one, &none);
    CHECK_INT(one.n, both.n);
    CHECK(near(bench_ratios_mean(&one), bench_ratios_mean(&both)));
    CHECK(one.min == both.min && one.max == both.max);
    bench_ratios_merge(&none, &both);
    CHECK(none.min == 3 && none.max == 7);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
