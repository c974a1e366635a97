/* Compiler: NVRTC, loaded at run time. CUDA text and an architecture in, cubin or PTX out. */
#define _POSIX_C_SOURCE 200809L
#include "compiler/compiler.h"
#include "base/library.h"
#include "compiler/apart.h"

#include <nvrtc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVRTC_LIST(X)                                                                              \
    X(nvrtcVersion)                                                                                \
    X(nvrtcGetErrorString)                                                                         \
    X(nvrtcGetNumSupportedArchs)                                                                   \
    X(nvrtcGetSupportedArchs)                                                                      \
    X(nvrtcCreateProgram)                                                                          \
    X(nvrtcDestroyProgram)                                                                         \
    X(nvrtcCompileProgram)                                                                         \
    X(nvrtcGetProgramLogSize)                                                                      \
    X(nvrtcGetProgramLog)                                                                          \
    X(nvrtcGetCUBINSize)                                                                           \
    X(nvrtcGetCUBIN)                                                                               \
    X(nvrtcGetPTXSize)                                                                             \
    X(nvrtcGetPTX)

/* The entry points, under NVRTC's own names. */
typedef struct nvrtc_table {
#define ENTRY(name) __typeof__(name) *name;
    NVRTC_LIST(ENTRY)
#undef ENTRY
} nvrtc_table;

enum { ARCHS_MAX = 64 };

struct rdt_compiler {
    rdt_library *library;
    nvrtc_table nvrtc;
    int major, minor; /* NVRTC's version */
    char build[64];
    int arch_count;
    int arch[ARCHS_MAX]; /* 10 * major + minor, as NVRTC lists them */
};

/* A request to NVRTC. */
typedef struct target {
    int arch;
    bool ptx;
    bool minimal; /* leave what no kernel has, such as textures, out of each program */
} target;

/* An option's text, "--gpu-architecture=compute_103" the longest. */
enum { OPTION_COUNT = 6, OPTION_BYTES = 40 };
typedef char option_text[OPTION_BYTES];

static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                            NULL};

static const rdt_library_search library_search = {
    .subject = "NVRTC, CUDA's run-time compiler",
    .variable = "REDTUNE_NVRTC",
    .names = library_names,
    .toolkit = true,
    .remedy = "install the CUDA Toolkit, or run 'pip install nvidia-cuda-nvrtc', or set "
              "REDTUNE_NVRTC to the file",
};

static const rdt_library_symbol symbols[] = {
#define ENTRY(name) {#name, offsetof(nvrtc_table, name), false},
    NVRTC_LIST(ENTRY)
#undef ENTRY
};

/* Held for writing while the process forks, so that the copy meets no lock of NVRTC's, of which
 * there is one in the process. */
static pthread_rwlock_t nvrtc_lock = PTHREAD_RWLOCK_INITIALIZER;

/* ---- opening ----------------------------------------------------------------------------- */

/* Asks NVRTC for its version and the architectures it knows. */
static redtune_status read_facts(rdt_compiler *compiler, redtune_error *err) {
    const nvrtc_table *nvrtc = &compiler->nvrtc;
    int count = 0;
    nvrtcResult rc = nvrtc->nvrtcVersion(&compiler->major, &compiler->minor);
    if (!rc) rc = nvrtc->nvrtcGetNumSupportedArchs(&count);
    if (!rc && (count < 1 || count > ARCHS_MAX)) rc = NVRTC_ERROR_INTERNAL_ERROR;
    if (!rc) rc = nvrtc->nvrtcGetSupportedArchs(compiler->arch);
    compiler->arch_count = count;
    rdt_library_build(compiler->library, compiler->build, sizeof compiler->build);
    if (!rc) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_COMPILER, rc,
                    "cannot use NVRTC %s: it does not tell what it supports: %s; reinstall it",
                    rdt_library_path(compiler->library), nvrtc->nvrtcGetErrorString(rc));
}

redtune_status rdt_compiler_open(rdt_compiler **out, redtune_error *err) {
    rdt_compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler) return rdt_fail_memory(err, sizeof *compiler);
    redtune_status status = rdt_library_open(&library_search, &compiler->library, err);
    if (status) goto done;
    status = rdt_library_bind(compiler->library, symbols, sizeof symbols / sizeof *symbols,
                              &compiler->nvrtc, err);
    if (status) goto done;
    status = read_facts(compiler, err);
    if (status) goto done;
    *out = compiler;
    compiler = NULL;
done:
    rdt_compiler_close(compiler);
    return status;
}

void rdt_compiler_close(rdt_compiler *compiler) {
    if (!compiler) return;
    rdt_library_close(compiler->library);
    free(compiler);
}

const char *rdt_compiler_path(const rdt_compiler *compiler) {
    return rdt_library_path(compiler->library);
}

int rdt_compiler_version(const rdt_compiler *compiler) {
    return 1000 * compiler->major + 10 * compiler->minor;
}

const char *rdt_compiler_build(const rdt_compiler *compiler) { return compiler->build; }

/* ---- what to make ------------------------------------------------------------------------ */

/* A cubin only for the very architecture; PTX of an older one serves any newer GPU. */
static redtune_status choose_target(const rdt_compiler *compiler, int major, int minor, bool ptx,
                                    target *out, redtune_error *err) {
    int wanted = 10 * major + minor, best = 0, oldest = compiler->arch[0];
    for (int i = 0; i < compiler->arch_count; i++) {
        int arch = compiler->arch[i];
        if (arch < oldest) oldest = arch;
        if (arch <= wanted && arch > best) best = arch;
    }
    if (!best)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot compile for compute capability %d.%d: NVRTC %d.%d (%s) starts at "
                        "%d.%d; install the NVRTC of an older CUDA Toolkit and set REDTUNE_NVRTC "
                        "to its libnvrtc.so",
                        major, minor, compiler->major, compiler->minor, rdt_compiler_path(compiler),
                        oldest / 10, oldest % 10);
    *out = (target){best, ptx || best != wanted, rdt_compiler_version(compiler) >= 12040};
    return REDTUNE_OK;
}

redtune_status rdt_compiler_arch(const rdt_compiler *compiler, int major, int minor, int *arch,
                                 redtune_error *err) {
    target target = {0};
    redtune_status status = choose_target(compiler, major, minor, false, &target, err);
    if (!status) *arch = target.arch;
    return status;
}

/* Fills the options' texts and gives their number. No fast-math: results must not depend on it. */
static int make_options(target target, option_text options[OPTION_COUNT]) {
    int count = 0;
    snprintf(options[count++], OPTION_BYTES, "--gpu-architecture=%s_%d",
             target.ptx ? "compute" : "sm", target.arch);
    snprintf(options[count++], OPTION_BYTES, "--std=c++17");
    snprintf(options[count++], OPTION_BYTES, "--device-as-default-execution-space");
    if (target.minimal) snprintf(options[count++], OPTION_BYTES, "--minimal");
    /* In PTX the lines are comments to the driver; a cubin would grow by two thirds. */
    if (target.ptx) snprintf(options[count++], OPTION_BYTES, "--generate-line-info");
    return count;
}

redtune_status rdt_compiler_options(const rdt_compiler *compiler, int major, int minor, bool ptx,
                                    rdt_text *out, redtune_error *err) {
    target target = {0};
    redtune_status status = choose_target(compiler, major, minor, ptx, &target, err);
    if (status) return status;
    option_text options[OPTION_COUNT];
    int count = make_options(target, options);
    for (int i = 0; i < count; i++) rdt_text_addf(out, "%s%s", i ? " " : "", options[i]);
    return REDTUNE_OK;
}

/* ---- compiling --------------------------------------------------------------------------- */

/* NVRTC's log from its first error on (else from its start), on one line. */
static void summarise_log(const rdt_compiler *compiler, nvrtcProgram program, rdt_text *out) {
    size_t bytes = 0;
    if (compiler->nvrtc.nvrtcGetProgramLogSize(program, &bytes) || bytes < 2) return;
    char *log = calloc(bytes + 1, 1);
    if (log && !compiler->nvrtc.nvrtcGetProgramLog(program, log)) {
        const char *at = strstr(log, "error");
        while (at && at > log && at[-1] != '\n') at--;
        for (at = at ? at : log; *at;) {
            at += strspn(at, " \t");
            size_t length = strcspn(at, "\r\n");
            if (length) rdt_text_add(out, out->length ? " | " : "");
            rdt_text_add_bytes(out, at, length);
            at += length + strspn(at + length, "\r\n");
        }
    }
    free(log);
}

/* Users' most frequent failure. */
static redtune_status builtins_missing(const rdt_compiler *compiler, const char *name,
                                       nvrtcResult rc, const char *log, redtune_error *err) {
    const char *path = rdt_compiler_path(compiler);
    const char *slash = strrchr(path, '/');
    return rdt_fail(
        err, REDTUNE_LIBRARY, rc,
        "cannot compile %.100s: NVRTC found no libnvrtc-builtins.so.%d.%d, expected in "
        "%.*s beside %s; reinstall the CUDA Toolkit or 'pip install --force-reinstall "
        "nvidia-cuda-nvrtc', or set REDTUNE_NVRTC to a complete one; NVRTC says: %.200s",
        name, compiler->major, compiler->minor, slash ? (int)(slash - path) : 1, slash ? path : ".",
        slash ? slash + 1 : path, log);
}

static redtune_status refused(const rdt_compiler *compiler, nvrtcProgram program, const char *name,
                              nvrtcResult rc, redtune_error *err) {
    rdt_text log = {0};
    redtune_status status;
    if (program) summarise_log(compiler, program, &log);
    const char *said = log.data ? log.data : "(its log is empty)";
    if (rc == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE || strstr(said, "libnvrtc-builtins"))
        status = builtins_missing(compiler, name, rc, said, err);
    else
        status = rdt_fail(err, REDTUNE_COMPILER, rc, "cannot compile %.100s: NVRTC %d.%d: %s: %s",
                          name, compiler->major, compiler->minor,
                          compiler->nvrtc.nvrtcGetErrorString(rc), said);
    rdt_text_free(&log);
    return status;
}

/* Copies the program's cubin or PTX out. */
static redtune_status take_image(const rdt_compiler *compiler, nvrtcProgram program, bool ptx,
                                 const char *name, rdt_image *out, redtune_error *err) {
    const nvrtc_table *nvrtc = &compiler->nvrtc;
    size_t bytes = 0;
    nvrtcResult rc =
        ptx ? nvrtc->nvrtcGetPTXSize(program, &bytes) : nvrtc->nvrtcGetCUBINSize(program, &bytes);
    if (rc) return refused(compiler, program, name, rc, err);
    char *data = calloc(bytes + 1, 1);
    if (!data) return rdt_fail_memory(err, bytes + 1);
    rc = ptx ? nvrtc->nvrtcGetPTX(program, data) : nvrtc->nvrtcGetCUBIN(program, data);
    if (rc) {
        free(data);
        return refused(compiler, program, name, rc, err);
    }
    *out = (rdt_image){data, bytes, ptx};
    return REDTUNE_OK;
}

/* Half of NVRTC is a second library, which NVRTC asks the loader for by name. Some builds (the
 * wheel of 13.0.88) do not say that it lies in their own folder. */
static void load_builtins(const rdt_compiler *compiler) {
    char name[64];
    snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", compiler->major, compiler->minor);
    rdt_library_load_beside(compiler->library, name);
}

/* A compile that is asked for. */
typedef struct job {
    const rdt_compiler *compiler;
    const char *source, *name;
    target target;
} job;

static redtune_status compile_now(const void *user, rdt_image *out, redtune_error *err) {
    const job *job = user;
    const nvrtc_table *nvrtc = &job->compiler->nvrtc;
    option_text texts[OPTION_COUNT];
    const char *options[OPTION_COUNT];
    int count = make_options(job->target, texts);
    if (strstr(job->source, RDT_COMPILER_NO_FMA))
        rdt_text_copy(texts[count++], OPTION_BYTES, "--fmad=false");
    for (int i = 0; i < count; i++) options[i] = texts[i];

    nvrtcProgram program = NULL;
    nvrtcResult rc = nvrtc->nvrtcCreateProgram(&program, job->source, job->name, 0, NULL, NULL);
    if (!rc) rc = nvrtc->nvrtcCompileProgram(program, count, options);
    redtune_status status =
        rc ? refused(job->compiler, program, job->name, rc, err)
           : take_image(job->compiler, program, job->target.ptx, job->name, out, err);
    if (program) nvrtc->nvrtcDestroyProgram(&program);
    return status;
}

redtune_status rdt_compiler_compile(rdt_compiler *compiler, const char *source, const char *name,
                                    int major, int minor, bool ptx, rdt_image *out,
                                    redtune_error *err) {
    job job = {compiler, source, name, {0}};
    redtune_status status = choose_target(compiler, major, minor, ptx, &job.target, err);
    if (status) return status;
    load_builtins(compiler);
    pthread_rwlock_rdlock(&nvrtc_lock);
    status = compile_now(&job, out, err);
    pthread_rwlock_unlock(&nvrtc_lock);
    return status;
}

redtune_status rdt_compiler_compile_apart(rdt_compiler *compiler, const char *source,
                                          const char *name, int major, int minor, bool ptx,
                                          rdt_image *out, redtune_error *err) {
    rdt_apart apart;
    job job = {compiler, source, name, {0}};
    redtune_status status = choose_target(compiler, major, minor, ptx, &job.target, err);
    if (status) return status;
    load_builtins(compiler);
    pthread_rwlock_wrlock(&nvrtc_lock);
    status = rdt_apart_start(compile_now, &job, &apart, err);
    pthread_rwlock_unlock(&nvrtc_lock);
    return status ? status : rdt_apart_finish(&apart, name, out, err);
}
