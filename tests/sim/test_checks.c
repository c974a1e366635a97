/* What a debugger would find: planted faults, each of which must be reported as what it is. */
#include "bench.h"

static void expect(int kind, CUresult error, CUresult got) {
    struct redtune_sim_finding finding = {0};
    int found = bench_finding(&finding);
    CHECK_EQUAL(found, kind);
    CHECK_EQUAL(got, error);
    if (found != kind && found >= 0) fprintf(stderr, "found: %s\n", finding.text);
    CHECK_EQUAL(finding.cuda_error, error);
}

static void expect_clean(CUresult got) {
    struct redtune_sim_finding finding;
    CHECK_EQUAL(got, CUDA_SUCCESS);
    CHECK_EQUAL(redtune_sim_findings(), 0);
    if (redtune_sim_finding(0, &finding)) fprintf(stderr, "found: %s\n", finding.text);
}

FACT(read_past_the_end_by_one_byte_is_found) {
    unsigned char bytes[127] = {0};
    const char *body = "cvt.u64.u32 %d2, %r0; add.s64 %d2, %d2, %d0; ld.global.u8 %h0, [%d2];";
    bench_start(NULL);
    expect_clean(bench_body(body, 1, 127, bench_buffer(sizeof bytes, bytes), 0));
    bench_start(NULL);
    CUresult rc = bench_body(body, 1, 128, bench_buffer(sizeof bytes, bytes), 0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, CUDA_ERROR_ILLEGAL_ADDRESS, rc);
    struct redtune_sim_finding finding;
    bench_finding(&finding);
    CHECK_EQUAL(finding.thread[0], 127);
}

FACT(vector_that_crosses_the_end_is_found) {
    unsigned char bytes[16 * 32 - 1] = {0};
    const char *body = "mul.wide.u32 %d2, %r0, 16; add.s64 %d2, %d2, %d0;"
                       "ld.global.nc.L1::no_allocate.v4.u32 {%r1,%r2,%r3,%r4}, [%d2];";
    bench_start(NULL);
    CUresult rc = bench_body(body, 1, 32, bench_buffer(sizeof bytes, bytes), 0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, CUDA_ERROR_ILLEGAL_ADDRESS, rc);
}

FACT(write_before_the_start_is_found) {
    bench_start(NULL);
    CUresult rc = bench_body("st.global.u32 [%d0+-4], %r0;", 1, 1, bench_buffer(64, NULL), 0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, CUDA_ERROR_ILLEGAL_ADDRESS, rc);
}

FACT(use_after_free_is_found) {
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(64, NULL);
    CHECK(cuMemFree_v2(at) == CUDA_SUCCESS);
    CUresult rc = bench_body("st.global.u32 [%d0], %r0;", 1, 1, at, 0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, CUDA_ERROR_ILLEGAL_ADDRESS, rc);
    struct redtune_sim_finding finding;
    bench_finding(&finding);
    CHECK_CONTAINS(finding.text, "freed");
}

FACT(misaligned_vector_is_found) {
    unsigned char bytes[64] = {0};
    bench_start(NULL);
    CUresult rc = bench_body("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d0+8];", 1, 1,
                             bench_buffer(sizeof bytes, bytes), 0);
    expect(REDTUNE_SIM_MISALIGNED, CUDA_ERROR_MISALIGNED_ADDRESS, rc);
}

FACT(read_of_unwritten_global_memory_is_found) {
    unsigned char bytes[64] = {0};
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(64, NULL);
    CHECK(cuMemcpyHtoD_v2(at, bytes, 63) == CUDA_SUCCESS);
    expect_clean(bench_body("ld.global.u8 %h0, [%d0+62];", 1, 1, at, 0));
    CUresult rc = bench_body("ld.global.u32 %r1, [%d0+60];", 1, 1, at, 0);
    expect(REDTUNE_SIM_UNINITIALISED, CUDA_ERROR_LAUNCH_FAILED, rc);
}

FACT(read_of_unwritten_shared_memory_is_found) {
    bench_start(NULL);
    CUresult rc = bench_body("@%p0 bra L; L: setp.eq.u32 %p1, %r0, 0; mov.u32 %r1, s;"
                             "@%p1 st.shared.u32 [%r1], %r0; bar.sync 0;"
                             "ld.shared.v2.u32 {%r2,%r3}, [%r1];",
                             1, 32, 0, 0);
    expect(REDTUNE_SIM_UNINITIALISED, CUDA_ERROR_LAUNCH_FAILED, rc);
}

FACT(shared_memory_is_unwritten_again_for_the_next_block) {
    bench_start((const char *const[]){"SMS=1", NULL});
    CUresult rc = bench_body("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p0, %r1, 0;"
                             "@%p0 st.shared.u32 [s], %r0; ld.shared.u32 %r2, [s];",
                             200, 1, 0, 0);
    expect(REDTUNE_SIM_UNINITIALISED, CUDA_ERROR_LAUNCH_FAILED, rc);
    struct redtune_sim_finding finding;
    bench_finding(&finding);
    CHECK(finding.block[0] > 0);
}

FACT(shared_access_past_a_variable_is_found) {
    bench_start(NULL);
    CUresult rc = bench_body("st.shared.u8 [s+256], %r0;", 1, 1, 0, 0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, CUDA_ERROR_ILLEGAL_ADDRESS, rc);
}

/* Threads exchange values through shared memory, which all have written before; the barrier
   between is left out or not. */
static const char exchange[] = "shl.b32 %%r1, %%r0, 2; mov.u32 %%r2, s; add.u32 %%r1, %%r1, %%r2;"
                               "st.shared.u32 [%%r1], %%r1; bar.sync 0;"
                               "st.shared.u32 [%%r1], %%r0; %s xor.b32 %%r3, %%r1, %d;"
                               "ld.shared.u32 %%r4, [%%r3];";

static CUresult run_exchange(const char *between, int distance) {
    char body[512];
    snprintf(body, sizeof body, exchange, between, distance);
    return bench_body(body, 1, 64, 0, 0);
}

FACT(missing_barrier_is_a_race) {
    bench_start(NULL);
    expect_clean(run_exchange("bar.sync 0;", 128));
    expect(REDTUNE_SIM_SHARED_RACE, CUDA_ERROR_LAUNCH_FAILED, run_exchange("", 128));
}

FACT(sync_of_a_warp_orders_only_that_warp) {
    bench_start(NULL);
    expect_clean(run_exchange("bar.warp.sync 0xffffffff;", 4));
    expect(REDTUNE_SIM_SHARED_RACE, CUDA_ERROR_LAUNCH_FAILED,
           run_exchange("bar.warp.sync 0xffffffff;", 128));
    bench_start(NULL);
    expect(REDTUNE_SIM_SHARED_RACE, CUDA_ERROR_LAUNCH_FAILED, run_exchange("", 4));
}

FACT(sync_of_half_a_warp_orders_only_that_half) {
    const char *halves = "and.b32 %r5, %r0, 16; shl.b32 %r6, 0xffff, %r5; bar.warp.sync %r6;";
    bench_start(NULL);
    expect_clean(run_exchange(halves, 4));
    expect(REDTUNE_SIM_SHARED_RACE, CUDA_ERROR_LAUNCH_FAILED, run_exchange(halves, 64));
}

FACT(write_behind_a_read_is_a_race) {
    const char *body = "setp.eq.u32 %%p0, %%r0, 0; @%%p0 st.shared.u32 [s], 7; bar.sync 0;"
                       "ld.shared.u32 %%r1, [s]; %s @%%p0 st.shared.u32 [s], 8;";
    char text[256];
    bench_start(NULL);
    snprintf(text, sizeof text, body, "bar.sync 0;");
    expect_clean(bench_body(text, 1, 64, 0, 0));
    snprintf(text, sizeof text, body, "");
    expect(REDTUNE_SIM_SHARED_RACE, CUDA_ERROR_LAUNCH_FAILED, bench_body(text, 1, 64, 0, 0));
}

FACT(two_writers_of_one_byte_are_a_race) {
    bench_start(NULL);
    expect_clean(bench_body("setp.eq.u32 %p0, %r0, 3; @%p0 st.shared.u32 [s], %r0;", 1, 32, 0, 0));
    CUresult rc = bench_body("st.shared.u32 [s], %r0;", 1, 32, 0, 0);
    expect(REDTUNE_SIM_SHARED_RACE, CUDA_ERROR_LAUNCH_FAILED, rc);
}

FACT(shared_atomics_do_not_race) {
    bench_start(NULL);
    expect_clean(bench_body("setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [s], 0; bar.sync 0;"
                            "atom.shared.add.u32 %r1, [s], 1; bar.sync 0; ld.shared.u32 %r2, [s];"
                            "setp.eq.u32 %p1, %r2, 64; @%p1 bra done; trap; done:",
                            1, 64, 0, 0));
}

/* Block 0 waits for block 1 to raise a flag, and reads what that wrote before. */
static const char publish[] =
    "mov.u32 %%r1, %%ctaid.x; setp.eq.u32 %%p0, %%r1, 0; @%%p0 bra wait;"
    "st.global.u32 [%%d0], 42; %s st.relaxed.gpu.global.u32 [%%d1], 1; bra done;"
    "wait: ld.relaxed.gpu.global.u32 %%r2, [%%d1]; setp.eq.u32 %%p1, %%r2, 0; @%%p1 bra wait;"
    "%s ld.global.u32 %%r3, [%%d0]; setp.eq.u32 %%p2, %%r3, 42; @%%p2 bra done; trap; done:";

static CUresult run_publish(const char *write_fence, const char *read_fence) {
    char body[1024];
    unsigned int zero = 0;
    snprintf(body, sizeof body, publish, write_fence, read_fence);
    return bench_body(body, 2, 1, bench_buffer(4, &zero), bench_buffer(4, &zero));
}

FACT(blocks_that_wait_for_each_other_progress) {
    bench_start(NULL);
    expect_clean(run_publish("membar.gl;", "membar.gl;"));
    bench_start((const char *const[]){"SEED=5", NULL});
    expect_clean(run_publish("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"));
}

FACT(missing_fence_of_the_writer_is_a_race) {
    bench_start(NULL);
    expect(REDTUNE_SIM_GLOBAL_RACE, CUDA_ERROR_LAUNCH_FAILED, run_publish("", "membar.gl;"));
    bench_start(NULL);
    expect(REDTUNE_SIM_GLOBAL_RACE, CUDA_ERROR_LAUNCH_FAILED,
           run_publish("membar.cta;", "membar.gl;"));
}

FACT(missing_fence_of_the_reader_is_a_race) {
    bench_start(NULL);
    expect(REDTUNE_SIM_GLOBAL_RACE, CUDA_ERROR_LAUNCH_FAILED, run_publish("membar.gl;", ""));
}

FACT(acquire_and_release_are_fences) {
    bench_start(NULL);
    char body[1024];
    unsigned int zero = 0;
    snprintf(body, sizeof body, publish, "", "");
    char *store = strstr(body, "st.relaxed"), *load = strstr(body, "ld.relaxed");
    memcpy(store, "st.release", 10);
    memcpy(load, "ld.acquire", 10);
    expect_clean(bench_body(body, 2, 1, bench_buffer(4, &zero), bench_buffer(4, &zero)));
}

FACT(blocks_that_write_one_place_race) {
    bench_start(NULL);
    CUresult rc = bench_body("st.global.u32 [%d0], %r0;", 2, 1, bench_buffer(4, NULL), 0);
    expect(REDTUNE_SIM_GLOBAL_RACE, CUDA_ERROR_LAUNCH_FAILED, rc);
}

/* Whatever was written before in the same page: by other blocks, or by this launch elsewhere. */
FACT(writes_of_one_launch_race_in_any_part_of_a_page) {
    const char *apart = "mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 256; add.s64 %d2, %d2, %d0;"
                        "st.global.u32 [%d2], %r1;";
    const char *before = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p0, %r1, 0;"
                         "@%p0 st.global.u32 [%d0], 1; @%p0 ld.global.u32 %r2, [%d0+256];";
    char body[512];
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(4096, NULL);
    expect_clean(bench_body(apart, 4, 1, at, 0));
    expect_clean(bench_body(before, 4, 1, at, 0));
    for (int offset = 64; offset <= 2048; offset *= 2) {
        bench_start(NULL);
        snprintf(body, sizeof body, "%s st.global.u32 [%%d0+%d], %%r1;", apart, offset + 16);
        expect(REDTUNE_SIM_GLOBAL_RACE, CUDA_ERROR_LAUNCH_FAILED,
               bench_body(body, 2, 1, bench_buffer(4096, NULL), 0));
    }
}

FACT(each_lane_has_masks_of_its_own) {
#define IS(special, row) "mov.u32 %r9, %" special "; setp.ne.u32 %p0, %r9, " row "; @%p0 trap;"
    bench_start(NULL);
    expect_clean(bench_body("and.b32 %r1, %r0, 31; mov.u32 %r2, 1; shl.b32 %r2, %r2, %r1;"
                            "sub.u32 %r3, %r2, 1; or.b32 %r4, %r2, %r3; not.b32 %r5, %r3;"
                            "not.b32 %r6, %r4;" IS("laneid", "%r1") IS("lanemask_eq", "%r2")
                                IS("lanemask_lt", "%r3") IS("lanemask_le", "%r4")
                                    IS("lanemask_ge", "%r5") IS("lanemask_gt", "%r6"),
                            1, 64, 0, 0));
#undef IS
}

FACT(lanes_of_a_generic_access_may_mean_different_memory) {
    const char *body = "mov.u64 %d2, s; cvta.shared.u64 %d2, %d2; mul.wide.u32 %d3, %r0, 4;"
                       "add.s64 %d2, %d2, %d3; add.s64 %d3, %d3, %d0; and.b32 %r1, %r0, 1;"
                       "setp.eq.u32 %p0, %r1, 0; selp.b64 %d4, %d2, %d3, %p0; st.u32 [%d4], %r0;"
                       "ld.u32 %r2, [%d4]; setp.ne.u32 %p1, %r2, %r0; @%p1 trap;";
    uint32_t words[64] = {0};
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(sizeof words, words);
    expect_clean(bench_body(body, 1, 64, at, 0));
    CHECK(cuMemcpyDtoH_v2(words, at, sizeof words) == CUDA_SUCCESS);
    for (uint32_t i = 0; i < 64; i++) CHECK_EQUAL(words[i], i % 2 * i);
}

FACT(barrier_in_half_a_warp_is_divergent) {
    bench_start(NULL);
    CUresult rc = bench_body("setp.lt.u32 %p0, %r0, 16; @%p0 bra low; bar.sync 0; bra done;"
                             "low: bar.sync 0; done:",
                             1, 32, 0, 0);
    expect(REDTUNE_SIM_DIVERGENT_BARRIER, CUDA_ERROR_LAUNCH_FAILED, rc);
}

FACT(warps_at_different_barriers_are_divergent) {
    bench_start(NULL);
    CUresult rc = bench_body("setp.lt.u32 %p0, %r0, 32; @%p0 bra low; bar.sync 0; bra done;"
                             "low: bar.sync 0; done:",
                             1, 64, 0, 0);
    expect(REDTUNE_SIM_DIVERGENT_BARRIER, CUDA_ERROR_LAUNCH_FAILED, rc);
}

FACT(exited_threads_are_not_waited_for) {
    bench_start(NULL);
    expect_clean(bench_body("setp.gt.u32 %p0, %r0, 40; @%p0 exit; bar.sync 0;", 1, 96, 0, 0));
}

FACT(barrier_that_cannot_be_met_is_a_deadlock) {
    bench_start(NULL);
    CUresult rc = bench_body("bar.sync 1, 64;", 1, 32, 0, 0);
    expect(REDTUNE_SIM_DEADLOCK, CUDA_ERROR_LAUNCH_TIMEOUT, rc);
}

FACT(shuffle_that_lanes_never_reach_is_a_deadlock) {
    bench_start(NULL);
    CUresult rc = bench_body("setp.eq.u32 %p0, %r0, 5; @%p0 bra other;"
                             "shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffffffff; bra done;"
                             "other: shfl.sync.idx.b32 %r1, %r0, 1, 31, 0xffffffff; done:",
                             1, 32, 0, 0);
    expect(REDTUNE_SIM_DEADLOCK, CUDA_ERROR_LAUNCH_TIMEOUT, rc);
}

FACT(endless_loop_is_a_hang) {
    unsigned int zero = 0;
    bench_start((const char *const[]){"IDLE=100000", NULL});
    expect(REDTUNE_SIM_HANG, CUDA_ERROR_LAUNCH_TIMEOUT, bench_body("L: bra L;", 1, 32, 0, 0));
    bench_start((const char *const[]){"IDLE=100000", NULL});
    CUresult rc = bench_body("L: ld.volatile.global.u32 %r1, [%d0]; setp.eq.u32 %p0, %r1, 0;"
                             "@%p0 bra L;",
                             2, 32, bench_buffer(4, &zero), 0);
    expect(REDTUNE_SIM_HANG, CUDA_ERROR_LAUNCH_TIMEOUT, rc);
    bench_start((const char *const[]){"LIMIT=1M", NULL});
    rc = bench_body("L: ld.global.u32 %r1, [%d0]; setp.eq.u32 %p0, %r1, 0; @%p0 bra L;", 1, 32,
                    bench_buffer(4, &zero), 0);
    expect(REDTUNE_SIM_HANG, CUDA_ERROR_LAUNCH_TIMEOUT, rc);
}

FACT(lane_may_wait_for_another_of_its_warp) {
    unsigned int zero = 0;
    for (int seed = 0; seed < 4; seed++) {
        char setting[16];
        snprintf(setting, sizeof setting, "SEED=%d", seed);
        bench_start((const char *const[]){setting, NULL});
        expect_clean(bench_body("setp.eq.u32 %p0, %r0, 3; @%p0 bra give;"
                                "wait: ld.volatile.global.u32 %r1, [%d0]; setp.eq.u32 %p1, %r1, 0;"
                                "@%p1 bra wait; bra done;"
                                "give: mov.u32 %r2, 1; st.volatile.global.u32 [%d0], %r2; done:",
                                1, 32, bench_buffer(4, &zero), 0));
    }
}

FACT(lane_outside_of_its_mask_is_found) {
    bench_start(NULL);
    CUresult rc = bench_body("shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0x0000ffff;", 1, 32, 0, 0);
    expect(REDTUNE_SIM_BAD_MASK, CUDA_ERROR_LAUNCH_FAILED, rc);
}

FACT(shuffle_from_an_absent_lane_is_found) {
    bench_start(NULL);
    CUresult rc = bench_body("setp.gt.u32 %p0, %r0, 15; @%p0 exit;"
                             "shfl.sync.bfly.b32 %r1, %r0, 16, 31, 0xffffffff;",
                             1, 32, 0, 0);
    expect(REDTUNE_SIM_BAD_MASK, CUDA_ERROR_LAUNCH_FAILED, rc);
}

FACT(trap_is_reported) {
    bench_start(NULL);
    expect(REDTUNE_SIM_TRAP, CUDA_ERROR_LAUNCH_FAILED, bench_body("trap;", 1, 1, 0, 0));
}

FACT(finding_says_where) {
    struct redtune_sim_finding finding = {0};
    bench_start(NULL);
    bench_body("mov.u32 %r1, %ctaid.x; mad.lo.s32 %r2, %r1, 64, %r0; setp.ne.u32 %p0, %r2, 101;\n"
               ".loc 1 123 4\n@%p0 bra done; st.global.u32 [%d0], %r0; done:",
               3, 64, 0x1000, 0);
    bench_finding(&finding);
    CHECK(strcmp(finding.kernel, "k") == 0);
    CHECK(strcmp(finding.source, "body.cu") == 0);
    CHECK_EQUAL(finding.source_line, 123);
    CHECK_EQUAL(finding.block[0], 1);
    CHECK_EQUAL(finding.thread[0], 37);
    CHECK_EQUAL(finding.ptx_line, 13);
    CHECK_CONTAINS(finding.text, "body.cu:123");
}

FACT(checks_can_be_turned_off) {
    bench_start((const char *const[]){"CHECKS=-shared-race,-initialised", NULL});
    expect_clean(run_exchange("", 128));
    expect_clean(bench_body("ld.global.u32 %r1, [%d0];", 1, 1, bench_buffer(4, NULL), 0));
}

FACT(leaks_are_found) {
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(100, NULL);
    CHECK_EQUAL(redtune_sim_check_leaks(), 1);
    CHECK_EQUAL(bench_finding(NULL), REDTUNE_SIM_LEAK);
    CHECK(cuMemFree_v2(at) == CUDA_SUCCESS);
    redtune_sim_clear_findings();
    CHECK_EQUAL(redtune_sim_check_leaks(), 0);
    CHECK(bench_body("", 1, 1, 0, 0) == CUDA_SUCCESS);
    CHECK_EQUAL(redtune_sim_check_leaks(), 1); /* the module */
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS);
    CHECK_EQUAL(redtune_sim_findings(), 2);
}

int main(int argc, char **argv) {
    int rc = fact_run(argc, argv);
    redtune_sim_reset();
    return rc;
}
