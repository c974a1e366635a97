/* Winner: which of the measurements of one problem wins, and on what evidence. */
#include "model/winner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double noise_least = 0.005; /* of the median: what two runs differ by */
static const double noise_errors = 2;    /* standard errors */
/* Standard error of a median of n normal samples, times sqrt(n), over half the distance between
 * their quartiles: sqrt(pi / 2) / 0.6745. */
static const double error_of_spread = 1.858;

static double variance(const rdt_trial *trial) {
    double error = error_of_spread * trial->spread_ns;
    return error * error / trial->samples;
}

double rdt_winner_noise_ns(const rdt_trial *a, const rdt_trial *b) {
    double least = noise_least * (a->median_ns < b->median_ns ? a->median_ns : b->median_ns);
    double noise = noise_errors * sqrt(variance(a) + variance(b));
    return noise > least ? noise : least;
}

static int compare_configs(const rdt_trial *a, const rdt_trial *b) {
    int family = strcmp(a->family, b->family);
    return family ? family : strcmp(a->config, b->config);
}

/* By config, then from fast to slow; the age of equals does not matter. */
static int compare(const void *a, const void *b) {
    const rdt_trial *x = *(const rdt_trial *const *)a, *y = *(const rdt_trial *const *)b;
    int config = compare_configs(x, y);
    return config ? config : (x->median_ns > y->median_ns) - (x->median_ns < y->median_ns);
}

/* Leaves the trials that count, sorted, one for each config. */
static size_t reduce(const rdt_trial **trials, size_t count) {
    int most = 0;
    size_t careful = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        if (trials[i]->outcome == RDT_OUTCOME_GOOD && trials[i]->samples > most)
            most = trials[i]->samples;
    for (size_t i = 0; i < count; i++)
        if (trials[i]->outcome == RDT_OUTCOME_GOOD && trials[i]->samples >= most - most / 2)
            trials[careful++] = trials[i];
    qsort(trials, careful, sizeof *trials, compare);
    for (size_t first = 0, end; first < careful; first = end) {
        end = first + 1;
        while (end < careful && !compare_configs(trials[first], trials[end])) end++;
        trials[kept++] = trials[first + (end - first) / 2];
    }
    return kept;
}

/* The latest trial says which config the default is. */
static const rdt_trial *find_standard(const rdt_trial *const *all, size_t all_count,
                                      const rdt_trial *const *kept, size_t kept_count) {
    const rdt_trial *latest = NULL;
    for (size_t i = 0; i < all_count; i++)
        if (all[i]->is_default) latest = all[i];
    for (size_t i = 0; latest && i < kept_count; i++)
        if (!compare_configs(kept[i], latest)) return kept[i];
    return NULL;
}

static bool is_simpler(const rdt_trial *a, const rdt_trial *b) {
    return a->order != b->order ? a->order < b->order : a->median_ns < b->median_ns;
}

static bool are_apart(const rdt_trial *fast, const rdt_trial *slow) {
    return slow->median_ns - fast->median_ns > rdt_winner_noise_ns(fast, slow);
}

static rdt_winner judge(const rdt_trial *const *kept, size_t count, const rdt_trial *standard) {
    rdt_winner found = {.standard = standard};
    for (size_t i = 0; i < count; i++)
        if (!found.fastest || kept[i]->median_ns < found.fastest->median_ns)
            found.fastest = kept[i];
    found.trial = found.fastest;
    if (standard && !are_apart(found.fastest, standard)) {
        found.trial = standard;
        return found;
    }
    for (size_t i = 0; i < count; i++)
        if (!are_apart(found.fastest, kept[i]) && is_simpler(kept[i], found.trial))
            found.trial = kept[i];
    return found;
}

redtune_status rdt_winner_choose(const rdt_trial *const *trials, size_t count, rdt_winner *out,
                                 redtune_error *err) {
    const rdt_trial **kept = malloc((count ? count : 1) * sizeof *kept);
    if (!kept) return rdt_fail_memory(err, count * sizeof *kept);
    if (count) memcpy(kept, trials, count * sizeof *kept);
    size_t kept_count = reduce(kept, count);
    *out = judge(kept, kept_count, find_standard(trials, count, kept, kept_count));
    free(kept);
    return REDTUNE_OK;
}
