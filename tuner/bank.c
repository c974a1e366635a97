/* Bank: the kernels of one problem class, compiled, loaded and checked at their edges once. */
#include "tuner/bank.h"

#include <stdlib.h>
#include "tuner/verify.h"

struct rdt_bank {
    const rdt_rig *rig;
    const rdt_space *space;
    int family;
    rdt_make_kernel_fn *make;
    void *user;
    rdt_bank_entry *first;
    rdt_kernel *flush_kernel;
    rdt_launch flush_launch;
};

/* Makes the kernel that flushes: the default for a problem as large as the flush buffer. */
static redtune_status make_flush(rdt_bank *bank, rdt_codegen *codegen,
                                 const redtune_problem *problem, redtune_error *err) {
    redtune_problem flush = *problem;
    flush.count = bank->rig->flush.bytes / redtune_dtype_bytes(problem->dtype);
    rdt_case at = {&flush, &bank->rig->context->facts};
    rdt_config config;
    redtune_status status = rdt_codegen_default(codegen, bank->family, at, &config, err);
    if (!status)
        status = rdt_codegen_launch(codegen, bank->family, at, &config, &bank->flush_launch, err);
    if (!status)
        status = bank->make(bank->user, bank->family, &flush, &config, &bank->flush_launch,
                            &bank->flush_kernel, err);
    return status;
}

redtune_status rdt_bank_create(const rdt_rig *rig, rdt_codegen *codegen, int family,
                               const redtune_problem *problem, rdt_make_kernel_fn *make, void *user,
                               rdt_bank **out, redtune_error *err) {
    rdt_bank *bank = calloc(1, sizeof *bank);
    if (!bank) return rdt_fail_memory(err, sizeof *bank);
    bank->rig = rig;
    bank->space = rdt_codegen_space(codegen, family);
    bank->family = family;
    bank->make = make;
    bank->user = user;
    redtune_status status = make_flush(bank, codegen, problem, err);
    if (status)
        rdt_bank_destroy(bank);
    else
        *out = bank;
    return status;
}

redtune_status rdt_bank_flush(const rdt_bank *bank, redtune_error *err) {
    const rdt_rig *rig = bank->rig;
    rdt_operands operands = {
        .input = rig->flush.address,
        .count = rig->flush.bytes / redtune_dtype_bytes(rig->dtype),
        .output = rig->output.address,
        .scratch = rig->scratch.address,
    };
    return rdt_kernel_launch(bank->flush_kernel, &bank->flush_launch, operands, rig->stream, err);
}

void rdt_bank_destroy(rdt_bank *bank) {
    if (!bank) return;
    for (rdt_bank_entry *entry = bank->first, *next; entry; entry = next) {
        next = entry->next;
        rdt_kernel_unload(entry->kernel);
        for (int i = 0; i + 1 < RDT_BANK_COPIES; i++) rdt_kernel_unload(entry->copy[i]);
        free(entry);
    }
    rdt_kernel_unload(bank->flush_kernel);
    free(bank);
}

/* Whether the failure is the candidate's, and not one that every later candidate would meet: a
 * launch that needs too much leaves the context as it was. */
static bool survivable(const redtune_error *error) {
    return error->status == REDTUNE_COMPILER || error->status == REDTUNE_WRONG ||
           (error->status == REDTUNE_DEVICE && error->code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

/* Compiles, loads and checks. A failure that is the candidate's own ends up in the entry. */
static redtune_status fill_entry(rdt_bank *bank, const redtune_problem *problem,
                                 const rdt_launch *launch, rdt_bank_entry *entry,
                                 redtune_error *err) {
    entry->outcome = RDT_OUTCOME_UNCOMPILED;
    redtune_status status = bank->make(bank->user, bank->family, problem, &entry->config, launch,
                                       &entry->kernel, &entry->error);
    if (!status) {
        status = rdt_verify_edges(bank->rig, problem, entry->kernel, launch, &entry->error);
        entry->outcome = status == REDTUNE_WRONG ? RDT_OUTCOME_WRONG
                         : status                ? RDT_OUTCOME_FAULTED
                                                 : RDT_OUTCOME_GOOD;
    }
    if (!status || survivable(&entry->error)) return REDTUNE_OK;
    if (err) *err = entry->error;
    return status;
}

static rdt_bank_entry *find_entry(const rdt_bank *bank, const rdt_config *config) {
    rdt_bank_entry *entry = bank->first;
    while (entry && !rdt_config_same_kernel(bank->space, &entry->config, config))
        entry = entry->next;
    return entry;
}

redtune_status rdt_bank_get(rdt_bank *bank, const redtune_problem *problem,
                            const rdt_config *config, const rdt_launch *launch,
                            const rdt_bank_entry **out, redtune_error *err) {
    rdt_bank_entry *entry = find_entry(bank, config);
    *out = entry;
    if (entry) return REDTUNE_OK;
    entry = calloc(1, sizeof *entry);
    if (!entry) return rdt_fail_memory(err, sizeof *entry);
    entry->config = *config;
    entry->next = bank->first;
    bank->first = entry;
    redtune_status status = fill_entry(bank, problem, launch, entry, err);
    if (!status) *out = entry;
    return status;
}

int rdt_bank_copies(rdt_bank *bank, const redtune_problem *problem, const rdt_config *config,
                    const rdt_launch *launch, const rdt_kernel *out[RDT_BANK_COPIES]) {
    rdt_bank_entry *entry = find_entry(bank, config);
    int count = 0;
    out[count++] = entry->kernel;
    for (int i = 0; i + 1 < RDT_BANK_COPIES; i++) {
        redtune_error why;
        if (!entry->copy[i] &&
            bank->make(bank->user, bank->family, problem, config, launch, &entry->copy[i], &why))
            break;
        out[count++] = entry->copy[i];
    }
    return count;
}
