// Keyed: reductions by key.
#pragma once

#include "call.h"

void keyed_add(nb::module_ &module);
