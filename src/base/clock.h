/* Clock: the time that has gone by, by a clock that nobody sets. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include "base/fail.h"

/* Since a fixed moment. */
double rdt_clock_ns(void);
double rdt_clock_s(void);
int64_t rdt_clock_ms(void);
/* The processor's time that this thread has had: others who are busy do not count. */
int64_t rdt_clock_thread_ns(void);

/* Whether a caller's seconds are 0, which stands for the usual, or more, and at most 1e9, so that
 * all are a number of ns; REDTUNE_INVALID: "cannot <action>: <name> is ...". */
redtune_status rdt_clock_check_s(const char *action, const char *name, double seconds,
                                 redtune_error *err);

/* A condition whose waits end by this clock. */
void rdt_clock_init_condition(pthread_cond_t *condition);
/* A moment so long from now, for pthread_cond_timedwait on such a condition. */
struct timespec rdt_clock_after_ms(int ms);
