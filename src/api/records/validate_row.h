/* Validate row: whether a row from elsewhere is one that a tune with these templates could
 * give. */
#pragma once

#include "cache/tuning.h"
#include "codegen/codegen.h"

typedef char rdt_validate_row_value[64];

/* NULL, or what is wrong with the row, and in value, plain and maybe cut, the value that is. latest
 * is the latest date it may have, in seconds since 1970. The place of a config in the space of
 * other templates becomes that in the space of these. */
const char *rdt_validate_row_check(rdt_row *row, rdt_codegen *codegen, int64_t latest,
                                   rdt_validate_row_value value);

/* Whether a text may label a machine. */
bool rdt_validate_row_is_label(const char *text);
