// Runtime: the libraries that are open, one for each GPU, and the settings that they open with.
#pragma once

#include "errors.h"

// The number of the device that arrays of the host are reduced on, as settings say.
enum { HOST_DEVICE = -1 };

// The open library of that GPU, which is opened if it is not: of the CUDA device of that number, or
// of HOST_DEVICE.
redtune *runtime_get(int device);

// Another one of the same settings, but none that runs a kernel until another is ready. It stays
// open until the program ends.
redtune *runtime_open_own(int device);

// Whether the problem is reduced there in fixed order, and that shows.
bool runtime_fixes(int device, const redtune_problem &problem);

// At the end of the program: recordings are written then. No plan may be left.
void runtime_close();

void runtime_add(nb::module_ &module);
