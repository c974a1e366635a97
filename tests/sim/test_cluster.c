/* Clusters: blocks that run side by side, reach each other's shared memory and meet at a barrier;
 * and planted faults, each of which must be reported as what it is. */
#include "bench.h"

#include <string.h>

enum { BLOCKS = 8, THREADS = 64 };

static const char cluster[] = ".explicitcluster .reqnctapercluster 8, 1, 1";

static CUresult run(const char *body, unsigned int clusters, CUdeviceptr out) {
    return bench_limited_body(cluster, body, clusters * BLOCKS, THREADS, out, 0);
}

static void expect(int kind, const char *text, CUresult got) {
    struct redtune_sim_finding finding = {0};
    int found = bench_finding(&finding);
    CHECK_EQUAL(found, kind);
    if (found != kind && found >= 0) fprintf(stderr, "found: %s\n", finding.text);
    CHECK_CONTAINS(finding.text, text);
    CHECK_EQUAL(got, finding.cuda_error);
}

static void expect_clean(CUresult got) {
    struct redtune_sim_finding finding;
    CHECK_EQUAL(got, CUDA_SUCCESS);
    CHECK_EQUAL(redtune_sim_findings(), 0);
    if (redtune_sim_finding(0, &finding)) fprintf(stderr, "found: %s\n", finding.text);
}

/* Starts anew with the n-th of several schedules. */
static void start(int n) {
    char seed[16];
    snprintf(seed, sizeof seed, "SEED=%d", n);
    bench_start((const char *const[]){n % 2 ? "SMS=1" : "SMS=4", seed, NULL});
}

#define MEET "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
/* %r1: the block's rank; %p0: of block 0; %p1: of thread 0. */
#define WHO "mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r0, 0;"
/* %r2: block 0's word for this block. */
#define PLACE                                                                                      \
    "mov.u32 %r3, s; shl.b32 %r4, %r1, 3; add.u32 %r3, %r3, %r4;"                                  \
    "mapa.shared::cluster.u32 %r2, %r3, 0;"

FACT(blocks_find_their_place) {
    enum { CLUSTERS = 3, FIELDS = 8 };
    uint32_t got[CLUSTERS * BLOCKS][FIELDS];
    for (int n = 0; n < 4; n++) {
        start(n);
        CUdeviceptr out = bench_buffer(sizeof got, NULL);
        expect_clean(run("mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 32; add.s64 %d2, %d2, %d0;"
                         "setp.eq.u32 %p1, %r0, 0; @!%p1 bra E;"
                         "mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank;"
                         "mov.u32 %r3, %cluster_ctaid.x; mov.u32 %r4, %cluster_nctaid.x;"
                         "st.global.v4.u32 [%d2], {%r1,%r2,%r3,%r4};"
                         "mov.u32 %r1, %clusterid.x; mov.u32 %r2, %nclusterid.x;"
                         "st.global.v2.u32 [%d2+16], {%r1,%r2}; E:",
                         CLUSTERS, out));
        CHECK(cuMemcpyDtoH_v2(got, out, sizeof got) == CUDA_SUCCESS);
        for (uint32_t i = 0; i < CLUSTERS * BLOCKS; i++) {
            const uint32_t wanted[] = {i % BLOCKS, BLOCKS,     i % BLOCKS,
                                       BLOCKS,     i / BLOCKS, CLUSTERS};
            CHECK(memcmp(got[i], wanted, sizeof wanted) == 0);
        }
    }
}

/* Every block leaves a flagged word in block 0's shared memory, and block 0 looks until it is
 * there. What stands between: nothing, or a planted fault. */
#define WORDS                                                                                      \
    WHO PLACE "@!%p0 bra A; setp.lt.u32 %p2, %r0, 8; mul.wide.u32 %d2, %r0, 8; mov.u64 %d3, s;"    \
              "add.s64 %d3, %d3, %d2; @%p2 st.shared.u64 [%d3], 0; A:" MEET                        \
              "cvt.u64.u32 %d4, %r1; or.b64 %d4, %d4, 0x100000000;"                                \
              "@%p1 st.relaxed.cluster.shared::cluster.u64 [%r2], %d4;"                            \
              "@!%p0 bra E; @!%p2 bra E;"                                                          \
              "B: ld.relaxed.cluster.shared::cta.u64 %d5, [%d3]; shr.u64 %d6, %d5, 32;"            \
              "setp.eq.s64 %p3, %d6, 0; @%p3 bra B; add.s64 %d2, %d2, %d0;"                        \
              "st.global.u64 [%d2], %d5; E:"

FACT(words_reach_the_first_block) {
    for (int n = 0; n < 12; n++) {
        uint64_t got[BLOCKS];
        start(n);
        CUdeviceptr out = bench_buffer(sizeof got, NULL);
        expect_clean(run(WORDS, 1, out));
        CHECK(cuMemcpyDtoH_v2(got, out, sizeof got) == CUDA_SUCCESS);
        for (uint64_t i = 0; i < BLOCKS; i++) CHECK_EQUAL(got[i], 1ull << 32 | i);
    }
}

/* A word that nobody sends is waited for in vain. */
FACT(word_that_does_not_come_is_a_hang) {
    bench_start((const char *const[]){"IDLE=100000", NULL});
    CUresult rc = run(WHO "@!%p0 bra A; @%p1 st.shared.u64 [s], 0; A:" MEET "@!%p0 bra E;"
                          "B: ld.relaxed.cluster.shared::cta.u64 %d5, [s];"
                          "setp.eq.s64 %p3, %d5, 0; @%p3 bra B; E:",
                      1, 0);
    expect(REDTUNE_SIM_HANG, "nothing else goes on", rc);
}

/* Every block stores its rank in block 0's shared memory; block 0 reads the sum of all. */
static CUresult run_stores(const char *second_barrier, CUdeviceptr out) {
    char body[1024];
    snprintf(body, sizeof body,
             "%s @%%p1 st.shared::cluster.u32 [%%r2], %%r1; %s @!%%p0 bra E; @!%%p1 bra E;"
             "ld.shared.u32 %%r5, [s+56]; st.global.u32 [%%d0], %%r5; E:",
             WHO PLACE MEET, second_barrier);
    return run(body, 1, out);
}

FACT(barrier_of_the_cluster_orders_shared_memory) {
    for (int n = 0; n < 6; n++) {
        uint32_t got = 0;
        start(n);
        CUdeviceptr out = bench_buffer(sizeof got, NULL);
        expect_clean(run_stores(MEET, out));
        CHECK(cuMemcpyDtoH_v2(&got, out, sizeof got) == CUDA_SUCCESS);
        CHECK_EQUAL(got, 7);
    }
}

FACT(relaxed_barrier_orders_nothing) {
    static const char *const relaxed[] = {
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait; bar.sync 0;" /* nor the block's */
    };
    for (int i = 0; i < 2; i++) {
        start(0);
        expect(REDTUNE_SIM_SHARED_RACE, "of the block of rank 7 wrote with no barrier",
               run_stores(relaxed[i], bench_buffer(4, NULL)));
    }
}

/* Block 7 writes its own memory before or after it arrives; block 0 reads it behind the wait. */
#define READ_OF_SEVEN                                                                              \
    "barrier.cluster.wait; mov.u32 %r6, s; mapa.shared::cluster.u32 %r6, %r6, 7;"                  \
    "@%p0 ld.shared::cluster.u32 %r7, [%r6];" MEET

FACT(write_behind_the_arrival_is_a_race) {
    start(0);
    expect_clean(
        run(WHO MEET "@%p1 st.shared.u32 [s], %r1; barrier.cluster.arrive;" READ_OF_SEVEN, 1, 0));
    CUresult rc =
        run(WHO MEET "barrier.cluster.arrive; @%p1 st.shared.u32 [s], %r1;" READ_OF_SEVEN, 1, 0);
    expect(REDTUNE_SIM_SHARED_RACE, "thread 0 of the block of rank 7 wrote", rc);
}

/* A block that has nothing to release may arrive relaxed; those that do are ordered. */
FACT(blocks_release_each_for_itself) {
    static const char body[] =
        WHO "setp.eq.u32 %p2, %r1, 7; @%p2 bra S; barrier.cluster.arrive.relaxed; bra W;"
            "S: @%p1 st.shared.u32 [s], %r1; barrier.cluster.arrive.release; W:" READ_OF_SEVEN;
    start(0);
    expect_clean(run(body, 1, 0));
}

FACT(barrier_of_the_cluster_orders_global_memory) {
    start(0);
    expect_clean(run(WHO "setp.eq.u32 %p2, %r1, 3; and.pred %p2, %p2, %p1;"
                         "@%p2 st.global.u32 [%d0], 7;" MEET "@%p0 ld.global.u32 %r5, [%d0];",
                     1, bench_buffer(4, NULL)));
    CUresult rc = run(WHO "setp.eq.u32 %p2, %r1, 3; and.pred %p2, %p2, %p1;"
                          "@%p2 st.global.u32 [%d0], 7; barrier.cluster.arrive.relaxed;"
                          "barrier.cluster.wait; @%p0 ld.global.u32 %r5, [%d0];",
                      1, bench_buffer(4, NULL));
    expect(REDTUNE_SIM_GLOBAL_RACE, "that thread 0 of block 3 wrote", rc);
}

FACT(atomics_and_generic_addresses_reach_other_blocks) {
    for (int n = 0; n < 6; n++) {
        uint32_t got[2] = {0, 0};
        start(n);
        CUdeviceptr out = bench_buffer(sizeof got, NULL);
        expect_clean(run(WHO PLACE "@!%p0 bra A; @%p1 st.shared.v2.u32 [s], {0,0}; A:" MEET
                                   "mov.u32 %r3, s; mapa.shared::cluster.u32 %r3, %r3, 0;"
                                   "red.shared::cluster.add.u32 [%r3], 1;"
                                   "mov.u64 %d2, s; cvta.shared.u64 %d2, %d2; mapa.u64 %d2, %d2, 0;"
                                   "atom.add.u32 %r5, [%d2+4], %r1;" MEET "@!%p0 bra E;"
                                   "@!%p1 bra E; ld.shared.v2.u32 {%r5,%r6}, [s];"
                                   "st.global.v2.u32 [%d0], {%r5,%r6}; E:",
                         1, out));
        CHECK(cuMemcpyDtoH_v2(got, out, sizeof got) == CUDA_SUCCESS);
        CHECK_EQUAL(got[0], BLOCKS * THREADS);
        CHECK_EQUAL(got[1], 28 * THREADS);
    }
}

FACT(block_that_may_not_have_started_is_found) {
    start(0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, "rank 0, which may not have started",
           run(WHO PLACE "@!%p0 st.shared::cluster.u32 [%r2], %r1;", 1, 0));
}

FACT(block_that_has_ended_is_found) {
    start(0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, "rank 0, which has ended",
           run(WHO PLACE MEET "@%p0 bra E; @%p1 st.shared::cluster.u32 [%r2], %r1; E:", 1, 0));
}

FACT(wrong_places_in_the_cluster_are_found) {
    start(0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, "rank 8, which its cluster has not",
           run(WHO PLACE MEET "mapa.shared::cluster.u32 %r2, %r3, 8;"
                              "st.shared::cluster.u32 [%r2], %r1;" MEET,
               1, 0));
    start(0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, "outside of every variable",
           run(WHO PLACE MEET "st.shared::cluster.u32 [%r2+256], %r1;" MEET, 1, 0));
    start(0);
    expect(REDTUNE_SIM_OUT_OF_BOUNDS, "outside of every variable",
           run(WHO PLACE MEET "st.shared::cta.u32 [%r2], %r1;" MEET, 1, 0));
}

FACT(misuse_of_the_barrier_is_found) {
    start(0);
    expect(REDTUNE_SIM_DIVERGENT_BARRIER, "has not waited",
           run("barrier.cluster.arrive; barrier.cluster.arrive;", 1, 0));
    start(0);
    expect(REDTUNE_SIM_DIVERGENT_BARRIER, "has not arrived", run("barrier.cluster.wait;", 1, 0));
}

FACT(exited_threads_are_not_waited_for) {
    for (int n = 0; n < 4; n++) {
        start(n);
        expect_clean(run(WHO "setp.eq.u32 %p2, %r1, 3; @%p2 exit; setp.gt.u32 %p2, %r0, 40;"
                             "@%p2 exit;" MEET MEET,
                         2, 0));
    }
}

FACT(block_that_never_comes_is_a_deadlock) {
    start(0);
    expect(
        REDTUNE_SIM_DEADLOCK, "threads that cannot come",
        run(WHO "setp.eq.u32 %p2, %r1, 3; @%p2 bra B;" MEET "bra E; B: bar.sync 0, 96; E:", 1, 0));
}

FACT(a_block_alone_is_a_cluster) {
    bench_start(NULL);
    expect_clean(bench_body("st.shared.u32 [s], 1;"
                            "barrier.cluster.arrive; barrier.cluster.wait;"
                            "mov.u32 %r1, s; mapa.shared::cluster.u32 %r1, %r1, 0;"
                            "ld.shared::cluster.u32 %r2, [%r1];",
                            3, 1, 0, 0));
}

FACT(grid_that_is_no_whole_clusters_is_refused) {
    bench_start(NULL);
    CHECK_EQUAL(bench_limited_body(cluster, "", 9, 32, 0, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    bench_start((const char *const[]){"SMS=1", NULL});
    CHECK_EQUAL(bench_limited_body(cluster, "", 8, 1024, 0, 0), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

FACT(other_clusters_are_refused) {
    static const char ptx[] = ".version 8.3\n.target sm_90\n.address_size 64\n"
                              ".visible .entry k().reqnctapercluster 16, 1, 1 { ret; }";
    CUmodule module = NULL;
    bench_start(NULL);
    CHECK(cuModuleLoadData(&module, ptx) == CUDA_ERROR_INVALID_PTX);
}

int main(int argc, char **argv) {
    int rc = fact_run(argc, argv);
    redtune_sim_reset();
    return rc;
}
