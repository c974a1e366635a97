/* The log: lines for whoever opened redtune, made only at the level asked for. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void rdt_log_write(const rdt_log *log, redtune_log_level level, const char *format, ...) {
    if (!log || !log->write || level > log->level) return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log->write(log->user, level, line);
}
