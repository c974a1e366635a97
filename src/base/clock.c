/* Clock: the time that has gone by, by a clock that nobody sets. */
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <time.h>

double rdt_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

double rdt_clock_s(void) { return 1e-9 * rdt_clock_ns(); }

int64_t rdt_clock_ms(void) { return (int64_t)(1e-6 * rdt_clock_ns()); }

redtune_status rdt_clock_check_s(const char *action, const char *name, double seconds,
                                 redtune_error *err) {
    static const double most_s = 1e9;
    if (seconds >= 0 && seconds <= most_s) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0, "cannot %s: %s is %g; give seconds from 0 to %g",
                    action, name, seconds, most_s);
}

int64_t rdt_clock_thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1000000000LL * now.tv_sec + now.tv_nsec;
}

void rdt_clock_init_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct timespec rdt_clock_after_ms(int ms) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += ms % 1000 * 1000000L;
    end.tv_sec += ms / 1000 + end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    return end;
}
