/* Hold: whether what a point once took still holds, by what it takes now. */
#include "model/hold.h"

#include <math.h>
#include "model/winner.h"

static const double tolerance = 0.15;
/* Where a kernel's code and its data lie differs from process to process, and with it the time of a
 * call: kernels of 1 us took up to 0.25 us more on an H200 that was otherwise as it had been. */
static const double placement_ns = 300;

static bool exceeds(double now_ns, double then_ns, double noise_ns) {
    double longer_ns = now_ns - then_ns;
    return longer_ns > tolerance * then_ns && longer_ns > placement_ns && longer_ns > noise_ns;
}

double rdt_hold_noise_ns(rdt_then_now point) {
    return fmax(rdt_winner_noise_ns(point.then, point.now), placement_ns);
}

bool rdt_hold_takes_longer(rdt_then_now point) {
    return exceeds(point.now->median_ns, point.then->median_ns,
                   rdt_winner_noise_ns(point.then, point.now));
}

/* A trial as it would have been on a GPU that takes `times` as long. */
static rdt_trial stretch(const rdt_trial *trial, double times) {
    rdt_trial stretched = *trial;
    stretched.median_ns *= times;
    stretched.spread_ns *= times;
    return stretched;
}

/* Whether the point's time over its partner's is what it was: its time of then, on the GPU that the
 * partner shows, against its time of now. The partner's two times have a noise, too. */
static bool keeps_ratio(rdt_then_now point, rdt_then_now partner) {
    const double times = partner.now->median_ns / partner.then->median_ns;
    const rdt_trial expected = stretch(point.then, times);
    const rdt_trial shown = stretch(partner.then, times);
    double partner_noise = rdt_winner_noise_ns(&shown, partner.now) / partner.now->median_ns;
    double noise_ns =
        hypot(rdt_winner_noise_ns(&expected, point.now), partner_noise * expected.median_ns);
    return !exceeds(point.now->median_ns, expected.median_ns, noise_ns);
}

static bool beats(const rdt_trial *a, const rdt_trial *b) {
    return b->median_ns - a->median_ns > rdt_winner_noise_ns(a, b);
}

static bool holds_beside(rdt_then_now point, rdt_then_now partner) {
    if (!beats(partner.now, point.now))
        return rdt_hold_takes_longer(partner) || keeps_ratio(point, partner);
    return !beats(point.then, partner.then) && keeps_ratio(point, partner);
}

rdt_hold rdt_hold_judge(rdt_then_now point, rdt_then_now partner) {
    if (point.now->outcome != RDT_OUTCOME_GOOD) return RDT_HOLD_FAILED;
    if (!rdt_hold_takes_longer(point)) return RDT_HOLD_TIME;
    if (!partner.then || !partner.now || partner.now->outcome != RDT_OUTCOME_GOOD)
        return RDT_HOLD_SLOWER;
    return holds_beside(point, partner) ? RDT_HOLD_BESIDE : RDT_HOLD_SLOWER;
}
