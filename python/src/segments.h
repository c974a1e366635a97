// Segments: many reductions of one array at once, by tables of offsets on the GPU.
#pragma once

#include "call.h"

void segments_add(nb::module_ &module);
