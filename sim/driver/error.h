/* Error: the errors of the driver as one table of code and words. */
#ifndef SIM_DRIVER_ERROR_H
#define SIM_DRIVER_ERROR_H

#include "driver/entry.h"

#include <stdbool.h>

/* By number ("700"), name ("CUDA_ERROR_ILLEGAL_ADDRESS") or its end ("ILLEGAL_ADDRESS"). */
bool sim_error_parse(const char *text, CUresult *out);

#endif
