/* Fail: recording an error of the bench or of the CUDA runtime in a redtune_error. */
#ifndef BENCH_FAIL_H
#define BENCH_FAIL_H

#include "redtune/redtune.h"

/* Records the error and returns its status. err may be NULL. */
redtune_status bench_fail(redtune_error *err, redtune_status status, long code, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));

#endif
