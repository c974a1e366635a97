// Team: reductions over the parts of arrays that the ranks of several processes hold.
#pragma once

#include "call.h"

// Destroys the C teams of all that are left, which cannot be used any more.
void team_close_all();

void team_add(nb::module_ &module);
