/* Emit: which configuration an emission names. */
#pragma once

#include "codegen/codegen.h"
#include "redtune/tools.h"

/* The emission's family, and its config: the named parameters and, of the others, the default's on
 * a typical GPU. at has the resolved problem and the GPU that it must be allowed on. */
redtune_status rdt_emit_choose(rdt_codegen *codegen, const redtune_emission *emission, rdt_case at,
                               rdt_point *out, redtune_error *err);
