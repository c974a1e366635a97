/* Option table: every option of every command, its help, and how its value is read. */
#pragma once

#include <stddef.h>
#include "cli/options.h"

typedef struct rdt_option {
    const char *name;
    char letter;          /* the short form; 0: none */
    const char *argument; /* NULL: a flag */
    unsigned commands;
    /* Reads the value into the options. REDTUNE_INVALID names the option and the value. */
    redtune_status (*take)(rdt_options *options, const struct rdt_option *row, const char *value,
                           redtune_error *err);
    size_t offset; /* of the member that take fills */
    const char *help;
} rdt_option;

/* Ends with an option whose name is NULL. */
extern const rdt_option rdt_option_table[];
