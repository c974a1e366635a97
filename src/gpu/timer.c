/* Timer: the time that the GPU takes between two points of a stream. */
#include "gpu/timer.h"

redtune_status rdt_timer_create(const rdt_driver *driver, rdt_timer *out, redtune_error *err) {
    rdt_timer timer = {.driver = driver};
    CUresult rc = driver->event_create(&timer.start, CU_EVENT_DEFAULT);
    if (!rc) rc = driver->event_create(&timer.stop, CU_EVENT_DEFAULT);
    redtune_status status = rdt_driver_check(driver, rc, err, "create an event");
    if (status)
        rdt_timer_destroy(&timer);
    else
        *out = timer;
    return status;
}

void rdt_timer_destroy(rdt_timer *timer) {
    if (timer->start) timer->driver->event_destroy(timer->start);
    if (timer->stop) timer->driver->event_destroy(timer->stop);
    *timer = (rdt_timer){0};
}

redtune_status rdt_timer_start(const rdt_timer *timer, CUstream stream, redtune_error *err) {
    return rdt_driver_check(timer->driver, timer->driver->event_record(timer->start, stream), err,
                            "record an event");
}

redtune_status rdt_timer_stop(const rdt_timer *timer, CUstream stream, redtune_error *err) {
    return rdt_driver_check(timer->driver, timer->driver->event_record(timer->stop, stream), err,
                            "record an event");
}

redtune_status rdt_timer_read(const rdt_timer *timer, double *elapsed_ns, redtune_error *err) {
    float milliseconds = 0;
    CUresult rc = timer->driver->event_synchronize(timer->stop);
    if (!rc) rc = timer->driver->event_elapsed(&milliseconds, timer->start, timer->stop);
    redtune_status status = rdt_driver_check(timer->driver, rc, err, "time work on the GPU");
    if (!status) *elapsed_ns = (double)milliseconds * 1e6;
    return status;
}
