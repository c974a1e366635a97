// Jax: the function that XLA calls for a reduction within a program of JAX's.
#pragma once

#include "call.h"

void jax_add(nb::module_ &module);
