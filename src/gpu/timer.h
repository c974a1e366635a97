/* Timer: the time that the GPU takes between two points of a stream. */
#pragma once

#include "gpu/driver.h"

/* A pair of events. Valid when zeroed. */
typedef struct rdt_timer {
    const rdt_driver *driver;
    CUevent start, stop;
} rdt_timer;

redtune_status rdt_timer_create(const rdt_driver *driver, rdt_timer *out, redtune_error *err);
void rdt_timer_destroy(rdt_timer *timer);
redtune_status rdt_timer_start(const rdt_timer *timer, CUstream stream, redtune_error *err);
redtune_status rdt_timer_stop(const rdt_timer *timer, CUstream stream, redtune_error *err);
/* Waits for the stop. */
redtune_status rdt_timer_read(const rdt_timer *timer, double *elapsed_ns, redtune_error *err);
