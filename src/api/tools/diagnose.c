/* Diagnose: what redtune finds of the machine it needs, and what to do about what is missing. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/build/system_kernels.h"
#include "api/records/layers.h"
#include "base/file.h"
#include "base/reserved.h"
#include "base/text.h"
#include "cache/kernels.h"
#include "codegen/codegen.h"
#include "compiler/compiler.h"
#include "gpu/context.h"
#include "redtune/tools.h"

typedef struct audience {
    void (*found)(void *user, const redtune_finding *finding);
    void *user;
    int missing;
} audience;

static void tell_finding(audience *to, redtune_health health, const char *subject,
                         const char *detail, const char *remedy) {
    const redtune_finding finding = {health, subject, detail, remedy};
    if (health == REDTUNE_HEALTH_MISSING) to->missing++;
    to->found(to->user, &finding);
}

/* A message reads "cannot <verb> <object>: <reason>; <remedy>": what stands behind its last
 * semicolon is the remedy, unless there is a better one. */
static void tell_failure(audience *to, const char *subject, const redtune_error *failure,
                         const char *remedy) {
    char detail[sizeof failure->message];
    rdt_text_copy(detail, sizeof detail, failure->message);
    char *semicolon = strrchr(detail, ';');
    if (!remedy && semicolon) {
        *semicolon = '\0';
        remedy = semicolon + 1 + (semicolon[1] == ' ');
    }
    tell_finding(to, REDTUNE_HEALTH_MISSING, subject, detail, remedy ? remedy : "");
}

static void tell_library(audience *to, const char *subject, int version, const char *path) {
    char detail[512];
    snprintf(detail, sizeof detail, "CUDA %d.%d, %.400s", version / 1000, version % 1000 / 10,
             path);
    tell_finding(to, REDTUNE_HEALTH_GOOD, subject, detail, "");
}

static void look_at_gpu(audience *to, const rdt_driver *driver, int index) {
    char subject[24];
    snprintf(subject, sizeof subject, "GPU %d", index);
    rdt_facts facts;
    redtune_error failure;
    CUdevice device;
    redtune_status status = rdt_driver_check(driver, driver->device_get(&device, index), &failure,
                                             "find GPU %d", index);
    if (!status) status = rdt_context_device_facts(driver, device, &facts, &failure);
    if (status) {
        tell_failure(to, subject, &failure, "check nvidia-smi");
        return;
    }
    rdt_text text = {0};
    rdt_text_addf(&text,
                  "%s: compute capability %d.%d, %d SMs, %.0f GiB, L2 %.0f MiB, bus %.0f GB/s",
                  facts.name, facts.major, facts.minor, facts.sm_count,
                  (double)facts.memory_bytes / (1 << 30), (double)facts.l2_bytes / (1 << 20),
                  rdt_facts_peak_gbps(&facts));
    bool supported = facts.major * 10 + facts.minor >= 75;
    tell_finding(to, supported ? REDTUNE_HEALTH_GOOD : REDTUNE_HEALTH_MISSING, subject,
                 text.data ? text.data : "",
                 supported ? "" : "use a GPU of compute capability 7.5 or newer");
    rdt_text_free(&text);
}

static void look_at_driver(audience *to, bool simulated) {
    rdt_driver *driver = NULL;
    redtune_error failure;
    if (rdt_driver_open(simulated, &driver, &failure)) {
        tell_failure(to, failure.status == REDTUNE_LIBRARY ? "driver" : "GPU", &failure, NULL);
        return;
    }
    tell_library(to, "driver", driver->version, rdt_driver_path(driver));
    int count = 0;
    if (driver->device_get_count(&count) || !count)
        tell_finding(to, REDTUNE_HEALTH_MISSING, "GPU", "the driver sees none",
                     "check nvidia-smi and CUDA_VISIBLE_DEVICES");
    for (int i = 0; i < count; i++) look_at_gpu(to, driver, i);
    rdt_driver_close(driver);
}

/* Compiling shows what opening cannot: NVRTC without its builtins opens, too. */
static void look_at_compiler(audience *to) {
    rdt_compiler *compiler = NULL;
    redtune_error failure;
    rdt_image image = {0};
    redtune_status status = rdt_compiler_open(&compiler, &failure);
    if (!status)
        status = rdt_compiler_compile(compiler, "extern \"C\" __global__ void probe() {}",
                                      "probe.cu", 7, 5, false, &image, &failure);
    if (status)
        tell_failure(to, "NVRTC", &failure, NULL);
    else
        tell_library(to, "NVRTC", rdt_compiler_version(compiler), rdt_compiler_path(compiler));
    free(image.data);
    rdt_compiler_close(compiler);
}

static void look_at_templates(audience *to) {
    rdt_codegen *codegen = NULL;
    redtune_error failure;
    if (rdt_codegen_open(&codegen, &failure)) {
        tell_failure(to, "templates", &failure, NULL);
        return;
    }
    rdt_text text = {0};
    const char *folder = rdt_codegen_folder(codegen);
    rdt_text_addf(&text, "%s%s:", folder ? "compiled in, and " : "compiled in",
                  folder ? folder : "");
    const rdt_spaces *spaces = rdt_codegen_spaces(codegen);
    for (int i = 0; i < spaces->count; i++) rdt_text_addf(&text, " %s", spaces->space[i].family);
    rdt_text_addf(&text, " (version %.12s)", rdt_codegen_hash(codegen));
    tell_finding(to, REDTUNE_HEALTH_GOOD, "templates", text.data ? text.data : "", "");
    rdt_text_free(&text);
    rdt_codegen_close(codegen);
}

static void look_at_database(audience *to, const char *path, bool own) {
    rdt_tuning *tuning = NULL;
    int64_t measurements = 0, gpus = 0;
    redtune_error failure;
    char detail[512];
    if (rdt_file_is_absent(path)) {
        snprintf(detail, sizeof detail, "none yet at %.400s",
                 *path ? path : "any place: neither XDG_DATA_HOME nor HOME names one");
        if (own)
            tell_finding(to, REDTUNE_HEALTH_NOTE, "database", detail,
                         "run redtune --device 0; until then every reduction uses the default");
        return;
    }
    redtune_status status = rdt_tuning_open_read(path, &tuning, &failure);
    if (!status) status = rdt_tuning_check(tuning, &failure);
    if (!status) status = rdt_tuning_census(tuning, &measurements, &gpus, &failure);
    snprintf(detail, sizeof detail, "%lld measurements on %lld GPU model%s, %.400s",
             (long long)measurements, (long long)gpus, gpus == 1 ? "" : "s", path);
    if (status)
        tell_failure(to, "database", &failure, NULL);
    else
        tell_finding(to, REDTUNE_HEALTH_GOOD, "database", detail, "");
    rdt_tuning_close(tuning);
}

static void look_at_databases(audience *to, const redtune_options *options) {
    rdt_layers layers = {.count = 0};
    redtune_error failure;
    if (rdt_layers_list(options ? options->database : NULL, &layers, &failure))
        tell_failure(to, "database", &failure, NULL);
    for (int i = 0; i < layers.count; i++) look_at_database(to, layers.path[i], i < layers.own);
    rdt_layers_free(&layers);
}

/* ---- what was measured, and what is baked ---------------------------------------------------- */

static redtune_status add_measured(void *user, const rdt_facts *gpu, int64_t latest,
                                   redtune_error *err) {
    rdt_text *text = user;
    (void)latest, (void)err;
    if (rdt_facts_is_simulated(gpu) || (text->data && strstr(text->data, gpu->name)))
        return REDTUNE_OK;
    rdt_text_addf(text, "%ssm_%d%d %s", text->length ? ", " : "", gpu->major, gpu->minor,
                  gpu->name);
    return REDTUNE_OK;
}

static void look_at_models(audience *to, const redtune_options *options) {
    rdt_layers layers = {.count = 0};
    rdt_text models = {0};
    redtune_error ignored;
    char detail[512];
    if (!rdt_layers_list(options ? options->database : NULL, &layers, &ignored))
        rdt_layers_each_gpu(&layers, 0, layers.count, add_measured, &models, NULL, &ignored);
    rdt_text_print(detail, sizeof detail,
                   "%.380s; other GPUs run what is estimated from them, or the default",
                   models.data ? models.data : "no GPU");
    tell_finding(to, REDTUNE_HEALTH_GOOD, "measured", detail, "");
    rdt_text_free(&models);
    rdt_layers_free(&layers);
}

static void hear_of_kernel_file(void *user, redtune_log_level level, const char *line) {
    (void)level;
    tell_finding(user, REDTUNE_HEALTH_NOTE, "kernel file", line, "");
}

static void look_at_kernel_files(audience *to) {
    const rdt_log log = {hear_of_kernel_file, to, REDTUNE_LOG_WARNING};
    rdt_system_kernels *files = NULL;
    redtune_error ignored;
    if (rdt_system_kernels_open(&log, &files, &ignored)) return;
    for (int i = 0; i < rdt_system_kernels_count(files); i++) {
        const rdt_system_label *label = rdt_system_kernels_label(files, i);
        rdt_text text = {0};
        rdt_text_addf(&text, "%d kernels of %d classes for", (int)label->kernels,
                      (int)label->classes);
        for (int k = 0; k < RDT_SYSTEM_ARCH_MAX && label->arch[k]; k++)
            rdt_text_addf(&text, "%s sm_%d", k ? "," : "", (int)label->arch[k]);
        rdt_text_addf(&text, "%s%s%s, %s", label->ptx ? " as PTX" : "",
                      label->gpus[0] ? ", with winners of " : "", label->gpus,
                      rdt_system_kernels_path(files, i));
        tell_finding(to, REDTUNE_HEALTH_GOOD, "kernel file", text.data ? text.data : "", "");
        rdt_text_free(&text);
    }
    rdt_system_kernels_close(files);
}

static void hear_of_kernel_cache(void *user, redtune_log_level level, const char *line) {
    (void)level;
    tell_finding(user, REDTUNE_HEALTH_NOTE, "kernel cache", line, "");
}

static void look_at_kernel_cache(audience *to) {
    const rdt_log log = {hear_of_kernel_cache, to, REDTUNE_LOG_WARNING};
    char *path = NULL;
    rdt_kernels *kernels = NULL;
    int64_t count = 0, bytes = 0;
    redtune_error failure;
    redtune_status status = rdt_file_kernels_path(&path, &failure);
    if (!status) status = rdt_kernels_open(path, &log, &kernels, &failure);
    if (!status) status = rdt_kernels_census(kernels, &count, &bytes, &failure);
    if (status) {
        tell_finding(to, REDTUNE_HEALTH_NOTE, "kernel cache", failure.message,
                     "redtune works without it; kernels are compiled anew in each process");
    } else {
        char detail[512];
        rdt_text_print(detail, sizeof detail, "%lld kernels, %.1f MiB, %.400s", (long long)count,
                       (double)bytes / (1 << 20), path);
        tell_finding(to, REDTUNE_HEALTH_GOOD, "kernel cache", detail, "");
    }
    rdt_kernels_close(kernels);
    free(path);
}

redtune_status redtune_diagnose(const redtune_options *options,
                                void (*found)(void *user, const redtune_finding *finding),
                                void *user, int *missing, redtune_error *err) {
    if (!found) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot diagnose: found is NULL");
    redtune_status status =
        options ? rdt_reserved_check(RDT_RESERVED(options), "redtune_options", err) : REDTUNE_OK;
    if (status) return status;
    audience to = {.found = found, .user = user};
    look_at_driver(&to, rdt_driver_is_simulated(options ? options->device : NULL));
    look_at_compiler(&to);
    look_at_templates(&to);
    look_at_databases(&to, options);
    look_at_models(&to, options);
    look_at_kernel_files(&to);
    look_at_kernel_cache(&to);
    if (missing) *missing = to.missing;
    return REDTUNE_OK;
}
