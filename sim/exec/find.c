/* Find: a check's finding, with its place in the grid, the PTX and the template. */
#include "exec/run.h"

#include <cuda.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The error that hardware would report; where it would notice nothing, that of a failed launch. */
static const int errors[] = {
    [REDTUNE_SIM_NONE] = CUDA_SUCCESS,
    [REDTUNE_SIM_OUT_OF_BOUNDS] = CUDA_ERROR_ILLEGAL_ADDRESS,
    [REDTUNE_SIM_MISALIGNED] = CUDA_ERROR_MISALIGNED_ADDRESS,
    [REDTUNE_SIM_UNINITIALISED] = CUDA_ERROR_LAUNCH_FAILED,
    [REDTUNE_SIM_SHARED_RACE] = CUDA_ERROR_LAUNCH_FAILED,
    [REDTUNE_SIM_GLOBAL_RACE] = CUDA_ERROR_LAUNCH_FAILED,
    [REDTUNE_SIM_DIVERGENT_BARRIER] = CUDA_ERROR_LAUNCH_FAILED,
    [REDTUNE_SIM_DEADLOCK] = CUDA_ERROR_LAUNCH_TIMEOUT,
    [REDTUNE_SIM_BAD_MASK] = CUDA_ERROR_LAUNCH_FAILED,
    [REDTUNE_SIM_HANG] = CUDA_ERROR_LAUNCH_TIMEOUT,
    [REDTUNE_SIM_TRAP] = CUDA_ERROR_LAUNCH_FAILED,
    [REDTUNE_SIM_LEAK] = CUDA_SUCCESS,
    [REDTUNE_SIM_MISUSE] = CUDA_ERROR_INVALID_VALUE,
};

enum { SOURCE_SHOWN = 60 }; /* of a long path, its end */

int sim_find_error(int kind) { return errors[kind]; }

static const char *file_name(const sim_program *program, uint32_t number) {
    for (uint32_t i = 0; i < program->file_count; i++) {
        if (program->files[i].number == number) return program->files[i].name;
    }
    return "";
}

static void place(struct redtune_sim_finding *finding, const sim_run *x, const sim_inst *in,
                  uint32_t lane) {
    const uint32_t *shape = x->grid->launch->block;
    uint32_t thread = x->warp->index * SIM_LANES + lane;
    snprintf(finding->kernel, sizeof finding->kernel, "%s", x->grid->program->name);
    for (int i = 0; i < 3; i++) finding->block[i] = x->block->at[i];
    finding->thread[0] = thread % shape[0];
    finding->thread[1] = thread / shape[0] % shape[1];
    finding->thread[2] = thread / shape[0] / shape[1];
    finding->ptx_line = in->line;
    finding->source_line = in->source_line;
    snprintf(finding->source, sizeof finding->source, "%s",
             file_name(x->grid->program, in->source_file));
}

bool sim_find(sim_run *x, const sim_inst *in, uint32_t lane, int kind, const char *format, ...) {
    if (!sim_find_checks(x->grid, kind)) return false;
    x->stops = true;
    struct redtune_sim_finding *finding = &x->grid->finding;
    if (finding->kind) return true; /* the first one counts */
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    finding->kind = kind;
    finding->cuda_error = errors[kind];
    place(finding, x, in, lane);
    size_t length = strlen(finding->source);
    const char *tail = finding->source + (length > SOURCE_SHOWN ? length - SOURCE_SHOWN : 0);
    snprintf(finding->text, sizeof finding->text,
             "%.100s: block (%u,%u,%u) thread (%u,%u,%u) %s; PTX line %u, %.60s:%u",
             finding->kernel, finding->block[0], finding->block[1], finding->block[2],
             finding->thread[0], finding->thread[1], finding->thread[2], what, in->line,
             length ? tail : "unknown source", in->source_line);
    return true;
}
