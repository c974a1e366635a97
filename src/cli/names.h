/* Names: ops and dtypes as people write them. */
#pragma once

#include "redtune/redtune.h"

/* redtune_op_find, whose message has the nearest name in place of a list, where one is near. */
redtune_status rdt_names_find_op(const char *name, redtune_op *out, redtune_error *err);
/* redtune_dtype_find, which takes NumPy's names, too ("float32", "half"), and "fp32". A name that
 * NumPy and PyTorch read differently is refused. */
redtune_status rdt_names_find_dtype(const char *name, redtune_dtype *out, redtune_error *err);
