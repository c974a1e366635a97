// Plan: a reduction that is prepared once and run often.
#pragma once

#include "call.h"

// Destroys the C plans of all that are left, which do not run any more.
void plan_close_all();

void plan_add(nb::module_ &module);
