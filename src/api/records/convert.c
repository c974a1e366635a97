/* Convert: what the public structs say of GPUs and rows. */
#include "api/records/convert.h"

void rdt_convert_gpu(const rdt_facts *facts, redtune_device_info *out) {
    *out = (redtune_device_info){
        .major = facts->major,
        .minor = facts->minor,
        .sm_count = facts->sm_count,
        .memory_bytes = facts->memory_bytes,
        .l2_bytes = facts->l2_bytes,
        .peak_gbps = rdt_facts_peak_gbps(facts),
        .driver_version = facts->driver_version,
    };
    rdt_text_copy(out->name, sizeof out->name, facts->name);
}

void rdt_convert_origin(const rdt_row *row, redtune_info *info) {
    const redtune_problem *problem = &row->trial.problem;
    const rdt_extents extents = rdt_problem_extents(problem);
    info->tuned_op = problem->op;
    info->tuned_dtype = problem->dtype;
    info->tuned_count = extents.count;
    info->tuned_outer = extents.outer;
    info->tuned_inner = extents.inner;
    info->tuned_alignment = rdt_problem_alignment(problem);
    info->tuned_ns = row->trial.median_ns;
    info->driver_version = row->origin.driver_version;
    info->nvrtc_version = row->origin.nvrtc_version;
    info->date = row->date;
    info->imported = row->trial.imported;
    rdt_text_copy(info->gpu, sizeof info->gpu, row->gpu.name);
    rdt_text_copy(info->machine, sizeof info->machine, row->origin.machine);
    rdt_text_copy(info->templates, sizeof info->templates, row->origin.templates);
}

rdt_facts rdt_convert_complete(const rdt_facts *stored) {
    rdt_facts facts = *stored;
    const rdt_facts *typical = rdt_facts_typical();
    facts.threads_per_sm = typical->threads_per_sm;
    facts.threads_per_block = typical->threads_per_block;
    facts.shared_bytes_per_block = typical->shared_bytes_per_block;
    facts.memory_bytes = 0;
    return facts;
}
