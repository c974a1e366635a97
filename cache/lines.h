/* Lines: measurements as JSON, from bytes that anybody may have made. */
#pragma once

#include "cache/untrusted.h"

/* Whether bytes that begin so may be JSON, by their first ones. */
bool rdt_lines_may_be(const char *data, size_t bytes);

/* Reads what rdt_exchange_write_json writes: an object that says the version, then one for each
 * row, each from a line of its own on. It may have gone through other programs: blanks, indentation
 * over several lines, a byte-order mark, ends of lines as of Windows, and a list around all of
 * them. The rest is as for rdt_untrusted_each. */
redtune_status rdt_lines_each(const char *name, const char *data, size_t bytes,
                              rdt_tuning_each_fn *each, rdt_refuse_fn *refuse, void *user,
                              redtune_error *err);
