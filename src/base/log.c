/* The log: lines for whoever opened redtune, made only at the level asked for. */
#include "base/log.h"

#include <stdarg.h>
#include "base/text.h"

void rdt_log_write(const rdt_log *log, redtune_log_level level, const char *format, ...) {
    if (!log || !log->write || level > log->level) return;
    char line[1024];
    va_list args;
    va_start(args, format);
    rdt_text_vprint(line, sizeof line, format, args);
    va_end(args);
    rdt_text_make_plain(line);
    log->write(log->user, level, line);
}
