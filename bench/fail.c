/* Fail: recording an error of the bench or of the CUDA runtime in a redtune_error. */
#include "bench/fail.h"

#include <stdarg.h>
#include <stdio.h>

redtune_status bench_fail(redtune_error *err, redtune_status status, long code, const char *format,
                          ...) {
    if (!err) return status;
    err->status = status;
    err->code = code;
    va_list values;
    va_start(values, format);
    vsnprintf(err->message, sizeof err->message, format, values);
    va_end(values);
    return status;
}
