/* Calls of device functions that the compiler did not inline: values go in and come back, lanes may
 * leave a body at different places, functions call others, and a fault in a body is found where it
 * stands. */
#include "bench.h"

enum { THREADS = 32 };

/* twice(x) is 2 x, below 10 at once; steps(x, n) calls it n times, and has a label and names that
 * its caller has, too. The prototype in front is as compilers write it. */
#define HEAD                                                                                       \
    ".version 8.3\n.target sm_90\n.address_size 64\n"                                              \
    ".func (.param .b32 result) twice\n(.param .b32 twice_x)\n;\n"
#define BODIES                                                                                     \
    ".func (.param .b32 result) twice(.param .b32 twice_x)\n{\n.reg .b32 %r<4>; .reg .pred %p<2>;" \
    "ld.param.u32 %r1, [twice_x]; setp.lt.u32 %p1, %r1, 10; @%p1 bra $L;"                          \
    "shl.b32 %r2, %r1, 1; st.param.b32 [result+0], %r2; ret;\n"                                    \
    "$L: add.u32 %r2, %r1, %r1; st.param.b32 [result+0], %r2; ret;\n}\n"                           \
    ".func (.param .align 8 .b8 out[16]) steps(.param .align 8 .b8 in[16], .param .b64 place)\n"   \
    "{\n.reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<3>;"                                       \
    "ld.param.u32 %r1, [in]; ld.param.u32 %r2, [in+8]; ld.param.u64 %d1, [place];\n"               \
    "$L: setp.eq.u32 %p1, %r2, 0; @%p1 bra $M;"                                                    \
    "{ .param .b32 a0; st.param.b32 [a0+0], %r1; .param .b32 b0; call.uni (b0), twice, (a0);"      \
    "ld.param.b32 %r1, [b0+0]; } sub.u32 %r2, %r2, 1; bra $L;\n"                                   \
    "$M: st.global.u32 [%d1], %r1;\n"                                                              \
    "st.param.b32 [out+0], %r1; st.param.b32 [out+8], %r2; ret;\n}\n"

#define FUNCTIONS HEAD BODIES
#define ENTRY                                                                                      \
    ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n"                                       \
    ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;"                                          \
    "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;"                       \
    "add.s64 %d1, %d1, %d2; and.b32 %r2, %r1, 3;"                                                  \
    "{ .reg .b32 temp_param_reg; .param .align 8 .b8 param0[16]; st.param.b32 [param0+0], %r1;"    \
    "st.param.b32 [param0+8], %r2; .param .b64 param1; st.param.b64 [param1+0], %d1;"              \
    ".param .align 8 .b8 retval0[16]; call.uni (retval0), steps, (param0, param1);"                \
    "ld.param.b32 %r3, [retval0+0]; }\n"                                                           \
    "bra $L; $L: add.u32 %r3, %r3, 1; st.global.u32 [%d1], %r3; ret;\n}\n"

static CUresult run(const char *text, size_t bytes, CUdeviceptr *out) {
    CUdeviceptr none = 0;
    bench_start(NULL);
    *out = bench_buffer(bytes, NULL);
    void *params[] = {out, &none};
    return bench_launch(bench_function(text, "k"), 1, THREADS, params);
}

FACT(values_go_in_and_come_back) {
    static const char *const texts[] = {FUNCTIONS ENTRY, HEAD ENTRY BODIES};
    for (size_t k = 0; k < 2; k++) {
        uint32_t got[THREADS];
        CUdeviceptr out;
        CHECK(run(texts[k], sizeof got, &out) == CUDA_SUCCESS);
        CHECK_EQUAL(redtune_sim_findings(), 0);
        CHECK(cuMemcpyDtoH_v2(got, out, sizeof got) == CUDA_SUCCESS);
        for (uint32_t i = 0; i < THREADS; i++) CHECK_EQUAL(got[i], (i << (i & 3)) + 1);
    }
}

/* A scope's local memory is free again behind it, and apart from that of the scopes around it: each
 * fills its own with the thread's number and its own, then all are added up. */
FACT(scopes_that_follow_each_other_share_local_memory) {
    static const char text[] =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n.reg .b32 %r<9>; .reg .b64 %d<3>;"
        ".local .align 4 .b8 outer[4]; ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x;"
        "st.local.u32 [outer], %r1; mov.u32 %r5, 0;\n"
        "{ .local .align 16 .b8 first[64]; .local .align 4 .b8 beside[4];"
        "add.u32 %r2, %r1, 100; add.u32 %r3, %r1, 200; st.local.u32 [first], %r2;"
        "st.local.u32 [beside], %r3; st.local.u32 [first+60], %r2; ld.local.u32 %r4, [first];"
        "add.u32 %r5, %r5, %r4; ld.local.u32 %r4, [beside]; add.u32 %r5, %r5, %r4;\n"
        "{ .local .align 8 .b8 inner[8]; st.local.u32 [inner], %r5; ld.local.u32 %r4, [beside];"
        "add.u32 %r5, %r5, %r4; } ld.local.u32 %r4, [first+60]; add.u32 %r5, %r5, %r4; }\n"
        "{ .local .align 16 .b8 second[64]; st.local.u32 [second], %r1; ld.local.u32 %r4, [second];"
        "add.u32 %r5, %r5, %r4; }\n"
        "ld.local.u32 %r4, [outer]; add.u32 %r5, %r5, %r4; mul.wide.u32 %d2, %r1, 4;"
        "add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r5; ret;\n}\n";
    uint32_t got[THREADS];
    int local_bytes = 0;
    CUdeviceptr out, none = 0;
    bench_start(NULL);
    out = bench_buffer(sizeof got, NULL);
    void *params[] = {&out, &none};
    CUfunction function = bench_function(text, "k");
    CHECK(cuFuncGetAttribute(&local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) ==
          CUDA_SUCCESS);
    CHECK_EQUAL(local_bytes, 96); /* 4, to 16, 64 and 4, to 8, 8 */
    CHECK(bench_launch(function, 1, THREADS, params) == CUDA_SUCCESS);
    CHECK_EQUAL(redtune_sim_findings(), 0);
    CHECK(cuMemcpyDtoH_v2(got, out, sizeof got) == CUDA_SUCCESS);
    for (uint32_t i = 0; i < THREADS; i++) CHECK_EQUAL(got[i], 600 + 6 * i);
}

FACT(fault_in_a_body_has_its_line) {
    struct redtune_sim_finding finding = {0};
    CUdeviceptr out;
    CHECK(run(FUNCTIONS ENTRY, 4 * THREADS - 4, &out) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(bench_finding(&finding), REDTUNE_SIM_OUT_OF_BOUNDS);
    CHECK_EQUAL(finding.thread[0], THREADS - 1);
    CHECK_CONTAINS(finding.text, "line 16");
}

static void expect_refused(const char *text, const char *why) {
    CUmodule module;
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    bench_start(NULL);
    CHECK(cuModuleLoadDataEx(&module, text, 2, options, values) == CUDA_ERROR_INVALID_PTX);
    CHECK_CONTAINS(log, why);
}

FACT(call_has_to_fit) {
    expect_refused(FUNCTIONS ".visible .entry k()\n{ call.uni nothing; ret; }", "'call.uni'");
    expect_refused(FUNCTIONS ".visible .entry k()\n{ call.uni twice; ret; }", "as many");
    expect_refused(FUNCTIONS
                   ".visible .entry k()\n{ .reg .b32 %r<2>; call.uni (%r0), twice, (%r1); ret; }",
                   "no variable");
    expect_refused(
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".func again()\n{ call.uni again; ret; }\n.visible .entry k()\n{ call.uni again; ret; }",
        "too deep");
}

int main(int argc, char **argv) {
    int rc = fact_run(argc, argv);
    redtune_sim_reset();
    return rc;
}
