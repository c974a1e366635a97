/* The log: lines for whoever opened redtune, made only at the level asked for. */
#pragma once

#include "redtune/redtune.h"

typedef struct rdt_log {
    redtune_log_fn *write; /* NULL: no log */
    void *user;
    redtune_log_level level;
} rdt_log;

/* log may be NULL. */
void rdt_log_write(const rdt_log *log, redtune_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
