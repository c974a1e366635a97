/* Whether what a point once took still holds: alone, and beside a partner. */
#include "check.h"
#include "model/hold.h"

static rdt_trial good(double median_ns, double spread_ns) {
    return (rdt_trial){
        .outcome = RDT_OUTCOME_GOOD, .median_ns = median_ns, .spread_ns = spread_ns, .samples = 31};
}

/* A point and its partner that took then and take now so many ns, all with this spread. */
static rdt_hold judge_noisy(const double point_ns[2], const double partner_ns[2],
                            double spread_ns) {
    const rdt_trial point[2] = {good(point_ns[0], spread_ns), good(point_ns[1], spread_ns)};
    const rdt_trial partner[2] = {good(partner_ns[0], spread_ns), good(partner_ns[1], spread_ns)};
    return rdt_hold_judge((rdt_then_now){&point[0], &point[1]},
                          (rdt_then_now){&partner[0], &partner[1]});
}

/* In units of 10 ns: 0.3 us are little. */
#define JUDGE(then, now, partner_then, partner_now)                                                \
    judge_noisy((const double[]){10 * (then), 10 * (now)},                                         \
                (const double[]){10 * (partner_then), 10 * (partner_now)}, 1)

static rdt_hold judge_alone(const rdt_trial *then, const rdt_trial *now) {
    return rdt_hold_judge((rdt_then_now){then, now}, (rdt_then_now){NULL, NULL});
}

FACT(judge_holds_what_takes_no_longer) {
    CHECK(JUDGE(1000, 1000, 2000, 2000) == RDT_HOLD_TIME);
    CHECK(JUDGE(1000, 1149, 2000, 2000) == RDT_HOLD_TIME);
    CHECK(JUDGE(1000, 500, 2000, 2000) == RDT_HOLD_TIME);
    /* Whatever its partner does. */
    CHECK(JUDGE(1000, 1000, 2000, 900) == RDT_HOLD_TIME);
    CHECK(JUDGE(1000, 1000, 2000, 9000) == RDT_HOLD_TIME);
}

FACT(judge_lets_noise_excuse_more) {
    const double point[] = {10000, 11700}, partner[] = {15000, 15000};
    CHECK(judge_noisy(point, partner, 1) == RDT_HOLD_SLOWER);
    CHECK(judge_noisy(point, partner, 2000) == RDT_HOLD_TIME);
}

FACT(judge_lets_the_place_of_code_excuse_small_times) {
    CHECK(judge_noisy((const double[]){1010, 1260}, (const double[]){1220, 1250}, 1) ==
          RDT_HOLD_TIME);
    CHECK(judge_noisy((const double[]){1010, 1320}, (const double[]){1220, 1250}, 1) ==
          RDT_HOLD_SLOWER);
}

FACT(judge_finds_what_alone_became_slower) {
    CHECK(JUDGE(1000, 1200, 2000, 2000) == RDT_HOLD_SLOWER);
    CHECK(JUDGE(1000, 1200, 1200, 1200) == RDT_HOLD_SLOWER);
    CHECK(JUDGE(1000, 1200, 1200, 1100) == RDT_HOLD_SLOWER);
    CHECK(JUDGE(1000, 3000, 2000, 2000) == RDT_HOLD_SLOWER);
}

FACT(judge_holds_all_on_a_slower_gpu) {
    CHECK(JUDGE(1000, 1300, 2000, 2600) == RDT_HOLD_BESIDE);
    CHECK(JUDGE(1000, 1300, 1000, 1300) == RDT_HOLD_BESIDE);
    CHECK(JUDGE(3000, 3900, 2000, 2600) == RDT_HOLD_BESIDE);
}

/* 18 % behind a partner that is 8 % behind keeps its place. */
FACT(judge_holds_what_keeps_its_ratio) {
    CHECK(JUDGE(1000, 1180, 1300, 1404) == RDT_HOLD_BESIDE);
    CHECK(JUDGE(1000, 1280, 1300, 1404) == RDT_HOLD_SLOWER);
}

/* The GPU is in another state, in which the ratio of then means little. */
FACT(judge_holds_what_is_as_fast_as_a_slower_partner) {
    CHECK(JUDGE(1740, 2300, 2000, 2320) == RDT_HOLD_BESIDE);
    CHECK(JUDGE(1740, 2600, 2000, 2320) == RDT_HOLD_SLOWER);
}

FACT(judge_finds_what_fell_behind_its_partner_on_a_slower_gpu) {
    /* It is 7 % behind what the partner shows, but it beat the partner then. */
    CHECK(JUDGE(980, 1365, 1000, 1300) == RDT_HOLD_SLOWER);
    /* It never did. */
    CHECK(JUDGE(1020, 1400, 1000, 1300) == RDT_HOLD_BESIDE);
    CHECK(JUDGE(1020, 1600, 1000, 1300) == RDT_HOLD_SLOWER);
}

FACT(judge_of_a_ratio_minds_the_noise_of_all_four) {
    const double point[] = {20000, 28000}, partner[] = {10000, 11800};
    CHECK(judge_noisy(point, partner, 1) == RDT_HOLD_SLOWER);
    CHECK(judge_noisy(point, partner, 2000) == RDT_HOLD_BESIDE);
}

FACT(judge_goes_by_time_without_a_partner) {
    const rdt_trial then = good(10000, 1), same = good(10500, 1), slower = good(13000, 1);
    rdt_trial wrong = good(13000, 1);
    wrong.outcome = RDT_OUTCOME_WRONG;
    CHECK(judge_alone(&then, &same) == RDT_HOLD_TIME);
    CHECK(judge_alone(&then, &slower) == RDT_HOLD_SLOWER);
    CHECK(rdt_hold_judge((rdt_then_now){&then, &slower}, (rdt_then_now){&then, &wrong}) ==
          RDT_HOLD_SLOWER);
    CHECK(rdt_hold_judge((rdt_then_now){&then, &slower}, (rdt_then_now){NULL, &slower}) ==
          RDT_HOLD_SLOWER);
}

FACT(judge_fails_what_is_not_good) {
    const rdt_trial then = good(1000, 1), slower = good(1300, 1);
    for (int outcome = RDT_OUTCOME_GOOD + 1; outcome < RDT_OUTCOME_COUNT; outcome++) {
        const rdt_trial now = {.outcome = (rdt_outcome)outcome};
        CHECK(judge_alone(&then, &now) == RDT_HOLD_FAILED);
        CHECK(rdt_hold_judge((rdt_then_now){&then, &now}, (rdt_then_now){&then, &slower}) ==
              RDT_HOLD_FAILED);
    }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
