/* Lines: measurements as JSON, from bytes that anybody may have made. */
#pragma once

#include "cache/tuning.h"

/* The most rows that such bytes may hold. */
enum { RDT_LINES_ROWS_MAX = 1000000 };

/* Rows that are left out, for one reason. */
typedef struct rdt_refusal {
    const char *reason; /* constant: "its samples is not valid" */
    const char *value;  /* the value that is wrong; "": not told */
    int64_t line;       /* where it begins; 0: a database has no lines */
    int64_t count;
} rdt_refusal;
typedef void rdt_refuse_fn(void *user, const rdt_refusal *refusal);

/* Whether bytes that begin so may be JSON, by their first ones. */
bool rdt_lines_may_be(const char *data, size_t bytes);

/* Reads what rdt_exchange_write_json writes: an object that says the version, then one for each
 * row, each from a line of its own on. It may have gone through other programs: blanks, indentation
 * over several lines, a byte-order mark, ends of lines as of Windows, and a list around all of
 * them. name is what messages call the bytes, each gets the rows, refuse those that do
 * not fit the model; what reading them takes is bounded. */
redtune_status rdt_lines_each(const char *name, const char *data, size_t bytes,
                              rdt_tuning_each_fn *each, rdt_refuse_fn *refuse, void *user,
                              redtune_error *err);
