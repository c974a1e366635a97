// Function: what redtune.sum and its like are.
#pragma once

#include "errors.h"

void function_add(nb::module_ &module);
