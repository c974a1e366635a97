/* Owns the loading of a driver for tests, and the running of snippets on it. */
#include "driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PTX_BYTES = 16384, LOG_BYTES = 1024, SNIPPET_TARGET = 90 };

static char log_text[LOG_BYTES];

bool driver_open(struct driver *driver, const char *file, const char **why) {
    CUdevice device = 0;
    CUcontext context = NULL;
    memset(driver, 0, sizeof *driver);
    driver->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    *why = "no such library";
    if (!driver->library) return false;
#define X(name)                                                                                    \
    *(void **)&driver->name = dlsym(driver->library, #name);                                       \
    *why = "no " #name;                                                                            \
    if (!driver->name) return false;
    DRIVER_LIST(X)
#undef X
    *why = "no device";
    return driver->cuInit(0) == CUDA_SUCCESS && driver->cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
           driver->cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
           driver->cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
}

struct text {
    char *at;
    size_t used;
};

static void add(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at + text->used, PTX_BYTES - text->used, format, args);
    va_end(args);
    if (length > 0) text->used += (size_t)length;
}

static int bits_of(char letter) {
    if (strchr("hgk", letter)) return 16;
    return strchr("leLE", letter) ? 64 : 32;
}

static const char *type_of(char letter) {
    return letter == 'f'           ? "f32"
           : letter == 'e'         ? "f64"
           : bits_of(letter) == 16 ? "b16"
           : bits_of(letter) == 64 ? "b64"
                                   : "b32";
}

/* The snippet's text with registers in place of $d, $a, $b and $c. */
static void add_body(struct text *text, const struct snippet *snippet) {
    for (const char *c = snippet->text; *c; c++) {
        if (*c == '$' && c[1]) {
            add(text, "%%v%c", *++c);
        } else {
            add(text, "%c", *c);
        }
    }
    add(text, "\n");
}

char *snippet_ptx(const struct snippet *snippet, unsigned int target) {
    struct text text = {calloc(1, PTX_BYTES), 0};
    const char *pattern = snippet->pattern;
    char result = pattern[0];
    size_t sources = strlen(pattern) - 1;
    if (!text.at) return NULL;
    add(&text, ".version %s\n.target sm_%u\n.address_size 64\n", target >= 100 ? "8.6" : "8.3",
        target);
    add(&text, ".visible .entry snippet(.param .u64 p0, .param .u64 p1, .param .u64 p2, "
               ".param .u64 p3)\n{\n");
    add(&text, ".reg .b64 %%w, %%at, %%base, %%offset;\n.reg .b32 %%t, %%n;\n.reg .b16 %%h;\n");
    if (result == 'P')
        add(&text, ".reg .pred %%vd;\n");
    else
        add(&text, ".reg .%s %%vd;\n", type_of(result));
    for (size_t i = 0; i < sources; i++) {
        add(&text, ".reg .%s %%v%c;\n", type_of(pattern[1 + i]), 'a' + (int)i);
    }
    add(&text, "mov.u32 %%t, %%tid.x;\nmov.u32 %%n, %%ctaid.x;\n"
               "mad.lo.s32 %%t, %%n, 32, %%t;\nmul.wide.u32 %%offset, %%t, 8;\n");
    for (size_t i = 0; i < sources; i++) {
        char name = (char)('a' + i);
        int bits = bits_of(pattern[1 + i]);
        add(&text, "ld.param.u64 %%base, [p%zu];\nadd.s64 %%at, %%base, %%offset;\n", i + 1);
        add(&text, "ld.global.u64 %%w, [%%at];\n");
        if (bits == 64)
            add(&text, "mov.b64 %%v%c, %%w;\n", name);
        else
            add(&text, "cvt.u32.u64 %%n, %%w;\n");
        if (bits == 32) add(&text, "mov.b32 %%v%c, %%n;\n", name);
        if (bits == 16) add(&text, "cvt.u16.u32 %%v%c, %%n;\n", name);
    }
    add_body(&text, snippet);
    if (result == 'P')
        add(&text, "selp.b64 %%w, 1, 0, %%vd;\n");
    else if (bits_of(result) == 64)
        add(&text, "mov.b64 %%w, %%vd;\n");
    else if (bits_of(result) == 32)
        add(&text, "mov.b32 %%n, %%vd;\ncvt.u64.u32 %%w, %%n;\n");
    else
        add(&text, "cvt.u64.u16 %%w, %%vd;\n");
    add(&text, "ld.param.u64 %%base, [p0];\nadd.s64 %%at, %%base, %%offset;\n"
               "st.global.u64 [%%at], %%w;\nret;\n}\n");
    return text.at;
}

static bool load(const struct driver *driver, const char *ptx, CUmodule *module, const char **why) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log_text, (void *)(uintptr_t)LOG_BYTES};
    log_text[0] = '\0';
    CUresult rc = driver->cuModuleLoadDataEx(module, ptx, 2, options, values);
    if (rc == CUDA_SUCCESS) return true;
    *why = log_text;
    if (!log_text[0]) driver->cuGetErrorName(rc, why);
    return false;
}

bool snippet_run(const struct driver *driver, const struct snippet *snippet, size_t count,
                 const uint64_t *const sources[SNIPPET_SOURCES], uint64_t *results,
                 const char **why) {
    size_t bytes = count * sizeof *results, given = strlen(snippet->pattern) - 1;
    CUdeviceptr buffers[1 + SNIPPET_SOURCES] = {0};
    void *params[] = {&buffers[0], &buffers[1], &buffers[2], &buffers[3]};
    CUmodule module = NULL;
    CUfunction function = NULL;
    char *ptx = snippet_ptx(snippet, SNIPPET_TARGET);
    bool good = ptx && load(driver, ptx, &module, why) &&
                driver->cuModuleGetFunction(&function, module, "snippet") == CUDA_SUCCESS;
    free(ptx);
    for (size_t i = 0; good && i <= given; i++) {
        good = driver->cuMemAlloc_v2(&buffers[i], bytes) == CUDA_SUCCESS;
        if (good && i) {
            good = driver->cuMemcpyHtoD_v2(buffers[i], sources[i - 1], bytes) == CUDA_SUCCESS;
        }
    }
    if (good) {
        CUresult rc = driver->cuLaunchKernel(function, (unsigned int)(count / 32), 1, 1, 32, 1, 1,
                                             0, NULL, params, NULL);
        if (rc == CUDA_SUCCESS) rc = driver->cuCtxSynchronize();
        if (rc == CUDA_SUCCESS) rc = driver->cuMemcpyDtoH_v2(results, buffers[0], bytes);
        if (rc != CUDA_SUCCESS) driver->cuGetErrorName(rc, why);
        good = rc == CUDA_SUCCESS;
    }
    for (size_t i = 0; i <= given; i++) driver->cuMemFree_v2(buffers[i]);
    if (module) driver->cuModuleUnload(module);
    return good;
}
