/* Facts about compiler/compiler.h: what NVRTC makes of a source, and what is said if it refuses.
 * They need NVRTC but no GPU; the failures come from a stand-in for NVRTC. */
#define _POSIX_C_SOURCE 200809L
#include "compiler/compiler.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "compiler/apart.h"
#include "faults.h"

static const char source[] = "extern \"C\" __global__ void twice(float *x) {\n"
                             "    x[threadIdx.x] *= 2.0f;\n"
                             "}\n";
static const char broken[] = "#line 7 \"block/kernel.cu\"\n"
                             "extern \"C\" __global__ void twice(float *x) {\n"
                             "    int unused;\n"
                             "    *x = y;\n"
                             "}\n";

static redtune_error err;

static void use_real(void) {
    unsetenv("RDT_TEST_NVRTC_FAILS");
    unsetenv("RDT_TEST_NVRTC_LOG");
    if (getenv("RDT_TEST_NVRTC_CHOSEN"))
        setenv("REDTUNE_NVRTC", getenv("RDT_TEST_NVRTC_CHOSEN"), 1);
    else
        unsetenv("REDTUNE_NVRTC");
    err = (redtune_error){0};
}

/* The stand-in, which fails in that function with that log. */
static void use_failing(const char *function, const char *log) {
    setenv("REDTUNE_NVRTC", RDT_TEST_NVRTC_FILE, 1);
    setenv("RDT_TEST_NVRTC_FAILS", function, 1);
    setenv("RDT_TEST_NVRTC_LOG", log, 1);
    err = (redtune_error){0};
}

static redtune_status compile(const char *text, int major, int minor, bool ptx, rdt_image *image) {
    rdt_compiler *compiler = NULL;
    redtune_status status = rdt_compiler_open(&compiler, &err);
    if (!status)
        status = rdt_compiler_compile(compiler, text, "kernel.cu", major, minor, ptx, image, &err);
    rdt_compiler_close(compiler);
    return status;
}

/* ---- NVRTC itself ---------------------------------------------------------------------------- */

/* The first, since what was loaded stays. The stand-in's folder is not where the loader looks. */
FACT(compiler_finds_the_builtins_beside_nvrtc) {
    rdt_image image = {0};
    use_failing("nothing", "");
    setenv("RDT_TEST_NVRTC_BUILTINS", "libnvrtc-builtins.so.12.4", 1);
    setenv("RDT_TEST_NVRTC_MINOR", "3", 1); /* whose builtins are not there */
    CHECK_FAILS(compile(source, 9, 0, false, &image), REDTUNE_LIBRARY, err,
                "NVRTC found no libnvrtc-builtins.so.12.3");
    unsetenv("RDT_TEST_NVRTC_MINOR");
    CHECK_OK(compile(source, 9, 0, false, &image), err);
    unsetenv("RDT_TEST_NVRTC_BUILTINS");
    free(image.data);
}

FACT(compiler_tells_its_version_and_path) {
    rdt_compiler *compiler = NULL;
    use_real();
    CHECK_OK(rdt_compiler_open(&compiler, &err), err);
    int version = rdt_compiler_version(compiler);
    bool named = strstr(rdt_compiler_path(compiler), "nvrtc") != NULL;
    rdt_compiler_close(compiler);
    CHECK(version >= 12000 && version < 100000 && version % 10 == 0);
    CHECK(named);
}

FACT(compiler_makes_a_cubin) {
    rdt_image image = {0};
    use_real();
    CHECK_OK(compile(source, 8, 0, false, &image), err);
    bool elf = image.bytes > 64 && !memcmp(image.data, "\177ELF", 4);
    free(image.data);
    CHECK(elf && !image.ptx);
}

FACT(compiler_makes_ptx_where_asked) {
    rdt_image image = {0};
    use_real();
    CHECK_OK(compile(source, 8, 0, true, &image), err);
    bool terminated = image.bytes && strlen(image.data) + 1 == image.bytes;
    bool right = strstr(image.data, ".target sm_80") && strstr(image.data, ".entry twice");
    bool lines = strstr(image.data, ".loc") != NULL;
    free(image.data);
    CHECK(image.ptx && terminated && right && lines);
}

FACT(compiler_contracts_nothing_where_the_source_says_so) {
    static const char text[] = "// of three\n%s"
                               "extern \"C\" __global__ void next(float *x) {\n"
                               "    x[0] = x[1] * x[2] + x[3];\n"
                               "}\n";
    bool contracts[2];
    use_real();
    for (int i = 0; i < 2; i++) {
        rdt_image image = {0};
        char of_three[256];
        snprintf(of_three, sizeof of_three, text, i ? RDT_COMPILER_NO_FMA : "");
        CHECK_OK(compile(of_three, 8, 0, true, &image), err);
        contracts[i] = strstr(image.data, "fma.rn.f32") != NULL;
        free(image.data);
    }
    CHECK(contracts[0] && !contracts[1]);
}

FACT(compiler_makes_ptx_for_a_gpu_newer_than_itself) {
    rdt_image image = {0};
    use_real();
    CHECK_OK(compile(source, 99, 0, false, &image), err);
    free(image.data);
    CHECK(image.ptx);
}

/* ---- a source of the user's ------------------------------------------------------------------ */

static redtune_status compile_apart(const char *text, rdt_image *image) {
    rdt_compiler *compiler = NULL;
    redtune_status status = rdt_compiler_open(&compiler, &err);
    if (!status)
        status = rdt_compiler_compile_apart(compiler, text, "own.cu", 8, 0, false, image, &err);
    rdt_compiler_close(compiler);
    return status;
}

FACT(compiling_apart_makes_the_same) {
    rdt_image here = {0}, apart = {0};
    use_real();
    CHECK_OK(compile(source, 8, 0, false, &here), err);
    CHECK_OK(compile_apart(source, &apart), err);
    bool same = here.bytes == apart.bytes && !memcmp(here.data, apart.data, here.bytes);
    free(here.data);
    free(apart.data);
    CHECK(same && !apart.ptx);
    CHECK(compile_apart(broken, &apart) == REDTUNE_COMPILER);
    CHECK_CONTAINS(err.message, "block/kernel.cu(9): error: identifier \"y\" is undefined");
}

/* However the source asks for it. */
FACT(compiling_apart_opens_no_file) {
    rdt_image image = {0};
    use_real();
    CHECK_FAILS(compile_apart("#include \"/proc/self/environ\"\n", &image), REDTUNE_COMPILER, err,
                "cannot open source file");
    CHECK_OK(compile_apart("#define PASTE(a, b) a##b\n"
                           "#if PASTE(__has_, include)(\"/proc/self/environ\")\n#error it is\n"
                           "#endif\nextern \"C\" __global__ void empty() {}\n",
                           &image),
             err);
    free(image.data);
}

/* Ten to the eighth additions. In a copy of this process, whose limit the compile keeps to. */
FACT(compiling_apart_ends) {
    static char bomb[2048] = "#define A0 +1\n";
    rdt_image image = {0};
    int state = -1;
    char *at = bomb + strlen(bomb);
    for (int i = 1; i <= 8; i++) {
        at += sprintf(at, "#define A%d", i);
        for (int k = 0; k < 10; k++) at += sprintf(at, " A%d", i - 1);
        at += sprintf(at, "\n");
    }
    sprintf(at, "__global__ void bomb(int *x) { *x = 0 A8; }\n");
    use_real();
    const pid_t copy = fork();
    if (!copy) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){2, RLIM_INFINITY});
        const bool ended = compile_apart(bomb, &image) == REDTUNE_COMPILER;
        _exit(ended && strstr(err.message, "s of the processor for it") ? 0 : 1);
    }
    CHECK(waitpid(copy, &state, 0) == copy);
    CHECK_INT(state, 0);
}

static redtune_status fault(const void *user, rdt_image *out, redtune_error *error) {
    (void)out, (void)error;
    raise(*(const int *)user);
    return REDTUNE_OK;
}

FACT(compiling_apart_survives_a_fault) {
    static const struct {
        int signal;
        redtune_status status;
    } cases[] = {{SIGSEGV, REDTUNE_COMPILER}, {SIGINT, REDTUNE_INTERRUPTED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rdt_image image = {0};
        rdt_apart apart;
        CHECK_OK(rdt_apart_start(fault, &cases[i].signal, &apart, &err), err);
        CHECK_FAILS(rdt_apart_finish(&apart, "own.cu", &image, &err), cases[i].status, err,
                    "cannot compile own.cu: ");
        CHECK(!image.data);
    }
}

/* ---- the target ------------------------------------------------------------------------------ */

FACT(compiler_refuses_a_gpu_older_than_it_knows) {
    rdt_image image = {0};
    use_real();
    CHECK_FAILS(compile(source, 2, 0, false, &image), REDTUNE_UNSUPPORTED, err,
                "cannot compile for compute capability 2.0: NVRTC ");
    CHECK_CONTAINS(err.message, "REDTUNE_NVRTC");
    CHECK(!image.data);
}

FACT(compiler_gives_the_same_bytes_for_the_same_source) {
    rdt_image first = {0}, second = {0};
    use_real();
    CHECK_OK(compile(source, 9, 0, false, &first), err);
    redtune_status status = compile(source, 9, 0, false, &second);
    bool same =
        !status && first.bytes == second.bytes && !memcmp(first.data, second.data, first.bytes);
    free(first.data);
    free(second.data);
    CHECK(same);
}

FACT(compiler_message_starts_at_the_first_error) {
    rdt_image image = {0};
    use_real();
    CHECK_FAILS(compile(broken, 8, 0, false, &image), REDTUNE_COMPILER, err,
                "cannot compile kernel.cu: NVRTC ");
    CHECK_CONTAINS(err.message, ": NVRTC_ERROR_COMPILATION: block/kernel.cu(9): error");
    CHECK_CONTAINS(err.message, "\"y\" is undefined");
    CHECK_INT(err.code, 6);
    CHECK(!image.data);
}

FACT(compiler_options_name_architecture_and_kind) {
    rdt_compiler *compiler = NULL;
    rdt_text cubin = {0}, ptx = {0}, newer = {0};
    use_real();
    CHECK_OK(rdt_compiler_open(&compiler, &err), err);
    redtune_status status = rdt_compiler_options(compiler, 9, 0, false, &cubin, &err);
    if (!status) status = rdt_compiler_options(compiler, 9, 0, true, &ptx, &err);
    if (!status) status = rdt_compiler_options(compiler, 99, 0, false, &newer, &err);
    rdt_compiler_close(compiler);
    bool right = !status && strstr(cubin.data, "--gpu-architecture=sm_90 ") &&
                 strstr(ptx.data, "--gpu-architecture=compute_90 ") &&
                 strstr(newer.data, "--gpu-architecture=compute_");
    rdt_text_free(&cubin);
    rdt_text_free(&ptx);
    rdt_text_free(&newer);
    CHECK(right);
}

/* NVRTC 12.4 was the first to know the option. */
FACT(compiler_asks_for_little_of_cuda_where_it_can) {
    static const char *const minors[] = {"3", "4"};
    use_failing("nothing", "");
    for (int i = 0; i < 2; i++) {
        rdt_compiler *compiler = NULL;
        rdt_text options = {0};
        setenv("RDT_TEST_NVRTC_MINOR", minors[i], 1);
        CHECK_OK(rdt_compiler_open(&compiler, &err), err);
        redtune_status status = rdt_compiler_options(compiler, 9, 0, false, &options, &err);
        const bool asked = !status && strstr(options.data, " --minimal");
        rdt_text_free(&options);
        rdt_compiler_close(compiler);
        unsetenv("RDT_TEST_NVRTC_MINOR");
        CHECK_INT(status, REDTUNE_OK);
        CHECK_INT(asked, i);
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

FACT(compiler_that_is_missing_is_told) {
    rdt_compiler *compiler = NULL;
    setenv("REDTUNE_NVRTC", "/nowhere/libnvrtc.so.13", 1);
    CHECK_FAILS(rdt_compiler_open(&compiler, &err), REDTUNE_LIBRARY, err,
                "REDTUNE_NVRTC=/nowhere/libnvrtc.so.13: cannot open shared object file");
    CHECK(!compiler);
}

FACT(compiler_without_builtins_says_where_they_belong) {
    rdt_image image = {0};
    use_failing("nvrtcCompileProgram",
                "nvrtc: error: failed to open libnvrtc-builtins.so.12.4.\n"
                "  Make sure that libnvrtc-builtins.so.12.4 is installed correctly.\n");
    CHECK_FAILS(
        compile(source, 9, 0, false, &image), REDTUNE_LIBRARY, err,
        "cannot compile kernel.cu: NVRTC found no libnvrtc-builtins.so.12.4, expected in /");
    CHECK_CONTAINS(err.message, "/fixtures beside librdt-nvrtc.so");
    CHECK_CONTAINS(err.message, "reinstall");
    CHECK_CONTAINS(err.message, "failed to open libnvrtc-builtins.so.12.4. | Make sure");
}

FACT(compiler_cuts_a_long_log) {
    char log[5000];
    rdt_image image = {0};
    memset(log, 'x', sizeof log - 1);
    memcpy(log, "a note\nk.cu(1): error: ", 23);
    log[sizeof log - 1] = '\0';
    use_failing("nvrtcCompileProgram", log);
    CHECK_FAILS(compile(source, 9, 0, false, &image), REDTUNE_COMPILER, err,
                "NVRTC_ERROR_COMPILATION: k.cu(1): error: xxx");
}

FACT(compiler_without_a_log_still_tells_the_status) {
    rdt_image image = {0};
    use_failing("nvrtcCompileProgram", "");
    CHECK_FAILS(compile(source, 9, 0, false, &image), REDTUNE_COMPILER, err,
                "NVRTC_ERROR_COMPILATION: (its log is empty)");
}

FACT(compiler_reports_each_call_that_fails) {
    static const char *const calls[] = {
        "nvrtcVersion",       "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs",
        "nvrtcCreateProgram", "nvrtcCompileProgram",       "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN",
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int ptx = 0; ptx < 2; ptx++) {
            rdt_image image = {0};
            use_failing(calls[i], "k.cu(1): error: what it says");
            CHECK_FAILS(compile(source, 9, 0, ptx, &image), REDTUNE_COMPILER, err, "cannot ");
            CHECK(err.code);
            CHECK(!image.data && !image.bytes);
        }
    }
}

FACT(compiler_survives_each_failed_allocation) {
    use_failing("nothing", "");
    for (long n = 1; faults_begin(n); n++) {
        rdt_image image = {0};
        redtune_status status = compile(source, 9, 0, false, &image);
        bool failed = faults_end();
        free(image.data);
        CHECK_INT(status, failed ? REDTUNE_MEMORY : REDTUNE_OK);
        CHECK(!image.data == failed);
    }
    use_failing("nvrtcCompileProgram", "k.cu(1): error: what it says");
    for (long n = 1; faults_begin(n); n++) {
        rdt_image image = {0};
        redtune_status status = compile(source, 9, 0, false, &image);
        CHECK(faults_end() ? status == REDTUNE_MEMORY || status == REDTUNE_COMPILER
                           : status == REDTUNE_COMPILER);
        CHECK(!image.data);
    }
}

FACT(compiler_close_takes_null) { rdt_compiler_close(NULL); }

int main(int argc, char **argv) {
    const char *chosen = getenv("REDTUNE_NVRTC");
    if (chosen) setenv("RDT_TEST_NVRTC_CHOSEN", chosen, 1);
    return check_run(argc, argv);
}
