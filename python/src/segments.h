// Segments: many reductions at once, of parts of one array or of the arrays of a list.
#pragma once

#include "call.h"

// Destroys the C lists of all that are left, which cannot be reduced any more.
void segments_close_lists();

void segments_add(nb::module_ &module);
