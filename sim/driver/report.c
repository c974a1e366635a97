/* Report: the log of findings: kept, written, and completed by leaks. */
#define _POSIX_C_SOURCE 200809L
#include "driver/state.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_line(const char *text) {
    const char *where = sim_state.config.report;
    if (!where[0]) return;
    bool to_stderr = strcmp(where, "stderr") == 0;
    FILE *file = stderr;
    if (!to_stderr) {
        /* A pipe that nobody reads is not waited for. */
        const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        int opened = open(where, flags, 0666);
        file = opened < 0 ? NULL : fdopen(opened, "a");
        if (!file && opened >= 0) close(opened);
    }
    if (!file) return;
    fprintf(file, "redtune-sim: %s\n", text);
    if (to_stderr)
        fflush(file);
    else
        fclose(file);
}

void sim_report(const struct redtune_sim_finding *finding) {
    if (sim_state.finding_count < SIM_FINDINGS_MAX) {
        sim_state.findings[sim_state.finding_count++] = *finding;
    }
    write_line(finding->text);
}

void sim_report_misuse(CUresult error, const char *format, ...) {
    struct redtune_sim_finding finding = {.kind = REDTUNE_SIM_MISUSE, .cuda_error = (int)error};
    va_list args;
    va_start(args, format);
    vsnprintf(finding.text, sizeof finding.text, format, args);
    va_end(args);
    sim_report(&finding);
}

static void report_leak(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void report_leak(const char *format, ...) {
    struct redtune_sim_finding finding = {.kind = REDTUNE_SIM_LEAK};
    va_list args;
    va_start(args, format);
    vsnprintf(finding.text, sizeof finding.text, format, args);
    va_end(args);
    sim_report(&finding);
}

size_t sim_report_leaks(const struct CUctx_st *context) {
    size_t count = 0;
    if (!(sim_state.config.settings.checks >> REDTUNE_SIM_LEAK & 1)) return 0;
    for (uint32_t i = 0; i < sim_state.memory.count; i++) {
        const sim_alloc *alloc = sim_state.memory.allocs[i];
        if (alloc->owner == SIM_OWNER_MODULE || (context && alloc->context != context)) continue;
        report_leak("leak: %llu bytes of %s memory at 0x%llx were never freed",
                    (unsigned long long)alloc->size_bytes,
                    alloc->owner == SIM_OWNER_HOST ? "pinned host" : "device",
                    (unsigned long long)alloc->address);
        count++;
    }
    for (const sim_handle *handle = sim_state.handles; handle; handle = handle->next) {
        if (handle->kind != SIM_HANDLE_MODULE || (context && handle->context != context)) continue;
        const struct CUmod_st *module = (const struct CUmod_st *)handle;
        const char *entry =
            module->function_count ? module->functions[0]->program.name : "no entry";
        if (module->is_unloaded) continue;
        report_leak("leak: the module of '%.200s' was never unloaded", entry);
        count++;
    }
    return count;
}

/* At exit, or when the library is closed. A launch that hangs may hold the lock for ever. */
__attribute__((destructor)) static void finish(void) {
    if (sim_state.is_forked || !sim_state.is_configured) return;
    if (pthread_mutex_trylock(&sim_state.lock)) return;
    sim_report_leaks(NULL);
    bool fails = sim_state.finding_count && sim_state.config.exit_code;
    int code = sim_state.config.exit_code;
    if (!fails) {
        sim_context_end_all();
        sim_memory_free_all(&sim_state.memory);
    }
    pthread_mutex_unlock(&sim_state.lock);
    if (fails) {
        fflush(NULL);
        _exit(code);
    }
}
