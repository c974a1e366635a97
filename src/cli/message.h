/* Message: what the command says on stderr, and the exit code it ends with. */
#pragma once

#include "redtune/redtune.h"

enum {
    RDT_EXIT_DONE = 0,
    RDT_EXIT_FAILED = 1,        /* could not */
    RDT_EXIT_MISUSED = 2,       /* wrong usage */
    RDT_EXIT_INTERRUPTED = 130, /* Ctrl-C: 128 + SIGINT */
};

/* Puts '?' for what would control a terminal: a file's name or a database's text must not. */
void rdt_message_make_plain(char *text);

/* Prints "redtune: " and one line; control characters in it become '?'. */
void rdt_message_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, broken between words where the terminal is narrower. */
void rdt_message_print_prose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the error and returns the exit code that its status stands for. */
int rdt_message_fail(const redtune_error *err);

/* strerror; of a limit of the process also how to raise it. */
const char *rdt_message_reason(int code);

/* Fills err and returns its status. */
redtune_status rdt_message_set(redtune_error *err, redtune_status status, long code,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts a context before the message that err holds: "<context>: <message>". */
redtune_status rdt_message_within(redtune_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How much the library is to log: warnings; nothing if quiet; more if verbose, all if twice so. */
redtune_log_level rdt_message_log_level(int quiet, int verbose);
/* A redtune_log_fn. */
void rdt_message_log(void *user, redtune_log_level level, const char *line);

/* Flushes stdout. A result that could not be written, because of a full disk say, turns
 * RDT_EXIT_DONE into RDT_EXIT_FAILED, with a message. A closed pipe, where SIGPIPE is ignored,
 * turns it into that signal's status, without one. */
int rdt_message_finish(int code);
