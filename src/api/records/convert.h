/* Convert: what the public structs say of GPUs and rows. */
#pragma once

#include "cache/tuning.h"

void rdt_convert_gpu(const rdt_facts *facts, redtune_device_info *out);
/* The GPU of a row as rules want it; what a database does not say of it is as on most. */
rdt_facts rdt_convert_complete(const rdt_facts *stored);
/* The problem, GPU and software that a row was measured with. */
void rdt_convert_origin(const rdt_row *row, redtune_info *info);
