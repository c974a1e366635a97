/* Error: the errors of the driver as one table of code and words. */
#pragma once

#include "driver/cuda_api.h"

#include <stdbool.h>

/* By number ("700"), name ("CUDA_ERROR_ILLEGAL_ADDRESS") or its end ("ILLEGAL_ADDRESS"). */
bool sim_error_parse(const char *text, CUresult *out);
