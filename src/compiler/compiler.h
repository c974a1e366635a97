/* Compiler: NVRTC, loaded at run time. CUDA text and an architecture in, cubin or PTX out. */
#pragma once

#include <stdbool.h>
#include "base/text.h"

typedef struct rdt_compiler rdt_compiler;

/* A compiled kernel. data is a cubin, or PTX text with its NUL; freed by the caller with free. */
typedef struct rdt_image {
    void *data;
    size_t bytes;
    bool ptx;
} rdt_image;

/* REDTUNE_LIBRARY if NVRTC is missing. */
redtune_status rdt_compiler_open(rdt_compiler **out, redtune_error *err);
void rdt_compiler_close(rdt_compiler *compiler);
const char *rdt_compiler_path(const rdt_compiler *compiler);
/* 13000 is 13.0, as the driver counts. */
int rdt_compiler_version(const rdt_compiler *compiler);
/* What tells NVRTCs of one version apart, such as 13.0.48 and 13.0.88; "" where nothing does. */
const char *rdt_compiler_build(const rdt_compiler *compiler);

/* A source with this line is compiled so that no product and sum become one operation. */
#define RDT_COMPILER_NO_FMA "// compile with --fmad=false\n"

/* Compiles source for compute capability major.minor. name is what messages call the source. Makes
 * a cubin; makes PTX for the newest architecture NVRTC knows where the GPU is newer than that, or
 * where ptx asks for it. REDTUNE_COMPILER with NVRTC's log (its first lines) if it refuses;
 * REDTUNE_LIBRARY if half of NVRTC, its builtins, is missing: then no source can be compiled. */
redtune_status rdt_compiler_compile(rdt_compiler *compiler, const char *source, const char *name,
                                    int major, int minor, bool ptx, rdt_image *out,
                                    redtune_error *err);
/* Likewise, a source with text that is not redtune's: in a process of its own, which has 30 s of
 * the processor and opens no file (apart.h). */
redtune_status rdt_compiler_compile_apart(rdt_compiler *compiler, const char *source,
                                          const char *name, int major, int minor, bool ptx,
                                          rdt_image *out, redtune_error *err);
/* The architecture that kernels for that GPU are compiled for, 10 * major + minor: the GPU's own,
 * or the newest before it that NVRTC knows. */
redtune_status rdt_compiler_arch(const rdt_compiler *compiler, int major, int minor, int *arch,
                                 redtune_error *err);
/* The options such a compile is given, as one text: a part of the kernel cache's key. */
redtune_status rdt_compiler_options(const rdt_compiler *compiler, int major, int minor, bool ptx,
                                    rdt_text *out, redtune_error *err);
