/* Command: one subcommand of redtune, as its own file declares it. */
#pragma once

#include <stdbool.h>
#include "cli/options.h"

typedef struct rdt_command {
    const char *name;
    unsigned bit;          /* RDT_TUNE, ...: marks its rows in the option table */
    const char *argument;  /* what it takes beside options; NULL: nothing */
    size_t argument_least; /* at least this many; 0: exactly one */
    bool argument_optional;
    const char *summary;                    /* one line */
    const char *details;                    /* the rest of its help, lines that end with '\n' */
    int (*run)(const rdt_options *options); /* returns the exit code */
    bool hidden;                            /* from the general help: nobody needs to know it */
} rdt_command;

extern const rdt_command rdt_cmd_tune;
extern const rdt_command rdt_cmd_bake;
extern const rdt_command rdt_cmd_emit;
extern const rdt_command rdt_cmd_reduce;
extern const rdt_command rdt_cmd_ladder;
extern const rdt_command rdt_cmd_show;
extern const rdt_command rdt_cmd_report;
extern const rdt_command rdt_cmd_explain;
extern const rdt_command rdt_cmd_export;
extern const rdt_command rdt_cmd_import;
extern const rdt_command rdt_cmd_merge;
extern const rdt_command rdt_cmd_compare;
extern const rdt_command rdt_cmd_undo;
extern const rdt_command rdt_cmd_verify;
extern const rdt_command rdt_cmd_doctor;
extern const rdt_command rdt_cmd_worker;

/* redtune without any word. Returns the exit code. */
int rdt_cmd_overview(void);

/* redtune show ops. Returns the exit code. */
int rdt_cmd_show_ops(const rdt_options *options);

/* The database takes the files in, for import and for merge. Returns the exit code. */
int rdt_cmd_import_files(const rdt_options *options, const char *database, const char *const *files,
                         size_t file_count, bool merge);
