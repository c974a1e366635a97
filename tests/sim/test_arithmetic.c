/* Instructions against host arithmetic: computed here a second way, on random and chosen values. */
#include "bench.h"
#include "driver.h"

#include <dlfcn.h>
#include <math.h>

enum { ROWS = 512 };

typedef uint64_t host_function(uint64_t a, uint64_t b, uint64_t c);

#define INTEGER_LIST(X)                                                                            \
    X(add_u32, "add.u32", "iii", (uint32_t)(a + b))                                                \
    X(sub_u64, "sub.u64", "lll", a - b)                                                            \
    X(mul_lo_s32, "mul.lo.s32", "iii", (uint32_t)((int64_t)(int32_t)a * (int32_t)b))               \
    X(mul_hi_u64, "mul.hi.u64", "lll", long_high(a, b))                                            \
    X(mul_wide_s32, "mul.wide.s32", "lii", (uint64_t)((int64_t)(int32_t)a * (int32_t)b))           \
    X(mul_wide_u16, "mul.wide.u16", "ihh", (a & 0xffff) * (b & 0xffff))                            \
    X(mad_lo_u32, "mad.lo.u32", "iiii", (uint32_t)(a * b + c))                                     \
    X(mad_wide_u32, "mad.wide.u32", "liil", (uint64_t)(uint32_t)a *(uint32_t)b + c)                \
    X(min_s64, "min.s64", "lll", (int64_t)a < (int64_t)b ? a : b)                                  \
    X(max_u32, "max.u32", "iii", (uint32_t)a > (uint32_t)b ? (uint32_t)a : (uint32_t)b)            \
    X(min_s16, "min.s16", "hhh", (uint16_t)((int16_t)a < (int16_t)b ? a : b))                      \
    X(div_u64, "div.u64", "lll", b ? a / b : UINT64_MAX)                                           \
    X(rem_u32, "rem.u32", "iii", (uint32_t)b ? (uint32_t)a % (uint32_t)b : UINT32_MAX)             \
    X(neg_s64, "neg.s64", "ll", ~a + 1)                                                            \
    X(abs_s32, "abs.s32", "ii", (uint32_t)((int32_t)a < 0 ? ~a + 1 : a))                           \
    X(and_b32, "and.b32", "iii", (uint32_t)(a & b))                                                \
    X(or_b64, "or.b64", "lll", a | b)                                                              \
    X(xor_b16, "xor.b16", "hhh", (a ^ b) & 0xffff)                                                 \
    X(not_b32, "not.b32", "ii", (uint32_t)~a)                                                      \
    X(shl_b32, "shl.b32", "iis", b > 31 ? 0 : (uint32_t)(a << b))                                  \
    X(shr_u64, "shr.u64", "lls", b > 63 ? 0 : a >> b)                                              \
    X(shr_s32, "shr.s32", "iis", (uint32_t)floor_shift((int32_t)a, b > 31 ? 31 : b))               \
    X(popc_b64, "popc.b64", "il", count_bits(a))                                                   \
    X(clz_b32, "clz.b32", "ii", 32 - bit_length((uint32_t)a))                                      \
    X(bfind_u64, "bfind.u64", "il", (uint32_t)(bit_length(a) - 1))                                 \
    X(brev_b32, "brev.b32", "ii", mirror((uint32_t)a))                                             \
    X(shf_l_wrap, "shf.l.wrap.b32", "iiis",                                                        \
      (uint32_t)(((b << 32 | (uint32_t)a) << (c & 31)) >> 32))                                     \
    X(prmt_b32, "prmt.b32", "iiii", permute((uint32_t)a, (uint32_t)b, (uint32_t)c))                \
    X(dp4a_u32, "dp4a.u32.u32", "iiii", dot((uint32_t)a, (uint32_t)b, (uint32_t)c))                \
    X(bfe_u32, "bfe.u32", "iiss", field((uint32_t)a, b & 255, c & 255))                            \
    X(cvt_u16, "cvt.u16.u64", "hl", a & 0xffff)                                                    \
    X(cvt_s64, "cvt.s64.s32", "li", (uint64_t)(int64_t)(int32_t)a)                                 \
    X(cvt_s8, "cvt.s32.s8", "ih", (uint32_t)(int32_t)(int8_t)a)                                    \
    X(cvt_f64_u32, "cvt.rn.f64.u32", "ei", bits_of_double((double)(uint32_t)a))                    \
    X(cvt_f32_s64, "cvt.rn.f32.s64", "fl", bits_of_float((float)(int64_t)a))

#define FLOAT_LIST(X)                                                                              \
    X(add_f32, "add.f32", "fff", bits_of_float(as_float(a) + as_float(b)))                         \
    X(mul_f32, "mul.f32", "fff", bits_of_float(as_float(a) * as_float(b)))                         \
    X(fma_f32, "fma.rn.f32", "ffff", bits_of_float(fmaf(as_float(a), as_float(b), as_float(c))))   \
    X(div_f32, "div.rn.f32", "fff", bits_of_float((float)((double)as_float(a) / as_float(b))))     \
    X(sqrt_f32, "sqrt.rn.f32", "ff", bits_of_float((float)sqrt((double)as_float(a))))              \
    X(min_f32, "min.f32", "fff", bits_of_float(fminf(as_float(a), as_float(b))))                   \
    X(max_f32, "max.f32", "fff", bits_of_float(fmaxf(as_float(a), as_float(b))))                   \
    X(add_f64, "add.f64", "eee", bits_of_double(as_double(a) + as_double(b)))                      \
    X(mul_f64, "mul.f64", "eee", bits_of_double(as_double(a) * as_double(b)))                      \
    X(fma_f64, "fma.rn.f64", "eeee",                                                               \
      bits_of_double(fma(as_double(a), as_double(b), as_double(c))))                               \
    X(neg_f64, "neg.f64", "ee", bits_of_double(-as_double(a)))                                     \
    X(cvt_f64_f32, "cvt.f64.f32", "ef", bits_of_double((double)as_float(a)))                       \
    X(cvt_s32_f32, "cvt.rzi.s32.f32", "if",                                                        \
      (uint32_t)(int32_t)fmaxf(fminf(as_float(a), 2e9f), -2e9f))                                   \
    X(setp_f32, "setp.lt.f32", "Pff", as_float(a) < as_float(b))                                   \
    X(setp_f64, "setp.geu.f64", "Pee", !(as_double(a) < as_double(b)))

static uint64_t long_high(uint64_t a, uint64_t b) {
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t middle = ah * bl + (al * bl >> 32);
    uint64_t other = al * bh + (uint32_t)middle;
    return ah * bh + (middle >> 32) + (other >> 32);
}

static int64_t floor_shift(int64_t value, uint64_t by) {
    return (int64_t)floor((double)value / (double)(1ull << by));
}

static uint64_t count_bits(uint64_t value) {
    uint64_t count = 0;
    for (; value; value >>= 1) count += value & 1;
    return count;
}

static uint64_t bit_length(uint64_t value) {
    uint64_t length = 0;
    for (; value; value >>= 1) length++;
    return length;
}

static uint64_t mirror(uint32_t value) {
    uint32_t result = 0;
    for (int i = 0; i < 32; i++) result = result << 1 | (value >> i & 1);
    return result;
}

static uint64_t permute(uint32_t a, uint32_t b, uint32_t selector) {
    unsigned char bytes[8], out[4];
    uint32_t result;
    memcpy(bytes, &a, 4);
    memcpy(bytes + 4, &b, 4);
    for (int i = 0; i < 4; i++) {
        unsigned int nibble = selector >> 4 * i & 15;
        out[i] = nibble & 8 ? (unsigned char)-(bytes[nibble & 7] >> 7) : bytes[nibble];
    }
    memcpy(&result, out, 4);
    return result;
}

static uint64_t dot(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
    return c;
}

static uint64_t field(uint32_t value, uint64_t at, uint64_t length) {
    uint64_t shifted = at > 31 ? 0 : value >> at;
    return length > 31 ? shifted : shifted & ((1u << length) - 1);
}

static float as_float(uint64_t bits) {
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return value;
}

static double as_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define X(id, name, pattern, expression)                                                           \
    static uint64_t host_##id(uint64_t a, uint64_t b, uint64_t c) {                                \
        (void)a, (void)b, (void)c;                                                                 \
        return (uint64_t)(expression);                                                             \
    }
INTEGER_LIST(X)
FLOAT_LIST(X)
#undef X

static const struct {
    struct snippet snippet;
    host_function *host;
} cases[] = {
#define X(id, name, pattern, expression) {{#id, pattern, name}, host_##id},
    INTEGER_LIST(X) FLOAT_LIST(X)
#undef X
};

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state ^ *state >> 29;
}

/* Floats stay numbers of a moderate size here: the corners are hardware.txt's business. */
static uint64_t value_for(char letter, uint64_t random) {
    static const uint64_t corners[] = {
        0,         1, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000,
        UINT64_MAX};
    float f = ((float)(random >> 40) - 8388608.0f) / 1024.0f + 0.25f;
    double d = (double)(int64_t)random / 1e12 + 0.125;
    if (letter == 's') return random >> 33 & 127;
    if (letter == 'f') return bits_of_float(random >> 20 & 7 ? f : fabsf(f));
    if (letter == 'e') return bits_of_double(d);
    return random >> 60 == 0 ? corners[random >> 8 & 7] : random;
}

static void run_case(const struct driver *driver, size_t index) {
    static uint64_t values[SNIPPET_SOURCES][ROWS], results[ROWS];
    const uint64_t *sources[] = {values[0], values[1], values[2]};
    const char *pattern = cases[index].snippet.pattern, *why = "";
    static const char *const operands[] = {"", "$d;", "$d, $a;", "$d, $a, $b;", "$d, $a, $b, $c;"};
    char text[128];
    uint64_t state = index + 1;
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t i = 0; i + 1 < strlen(pattern); i++) {
            uint64_t value = value_for(pattern[i + 1], next_random(&state));
            if (strchr("if", pattern[i + 1])) value &= UINT32_MAX;
            values[i][row] = pattern[i + 1] == 'h' ? value & 0xffff : value;
            bool roots = strncmp(cases[index].snippet.text, "sqrt", 4) == 0;
            if (roots) values[i][row] &= 0x7fffffff;
        }
    }
    snprintf(text, sizeof text, "%s %s", cases[index].snippet.text, operands[strlen(pattern)]);
    struct snippet snippet = {cases[index].snippet.name, pattern, text};
    bool ran = snippet_run(driver, &snippet, ROWS, sources, results, &why);
    if (!ran) fprintf(stderr, "%s: %s\n", text, why);
    CHECK(ran);
    for (size_t row = 0; ran && row < ROWS; row++) {
        uint64_t want = cases[index].host(values[0][row], values[1][row], values[2][row]);
        if (results[row] == want) continue;
        fprintf(stderr, "%s of %llx %llx %llx gives %llx and not %llx\n", text,
                (unsigned long long)values[0][row], (unsigned long long)values[1][row],
                (unsigned long long)values[2][row], (unsigned long long)results[row],
                (unsigned long long)want);
        CHECK(results[row] == want);
        return;
    }
}

FACT(instructions_agree_with_the_host) {
    struct driver driver;
    const char *why = "";
    Dl_info here;
    redtune_sim_reset();
    CHECK(dladdr((void *)(uintptr_t)redtune_sim_reset, &here));
    CHECK(driver_open(&driver, here.dli_fname, &why));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&driver, i);
}

/* An atomic by 64 threads of two blocks on one word, which starts as before; *after and the sum of
   what the threads were given say enough. */
static void atomic(const char *instruction, const char *type, uint64_t before, uint64_t want) {
    char body[512];
    uint64_t after = 0;
    bool is_wide = strstr(type, "64") != NULL;
    bench_start((const char *const[]){"SEED=11", NULL});
    CUdeviceptr at = bench_buffer(8, &before);
    snprintf(body, sizeof body,
             "mov.u32 %%r1, %%ctaid.x; mad.lo.s32 %%r2, %%r1, 32, %%r0; cvt.u64.u32 %%d2, %%r2;"
             "atom.global.%s.%s %s, [%%d0], %s;",
             instruction, type, is_wide ? "%d3" : "%r3", is_wide ? "%d2" : "%r2");
    CHECK(bench_body(body, 2, 32, at, 0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(&after, at, 8) == CUDA_SUCCESS);
    CHECK_EQUAL(after, want);
}

FACT(atomics_add_up) {
    atomic("add", "u32", 5, 5 + 2016);
    atomic("add", "u64", 5, 5 + 2016);
    atomic("min", "u32", 40, 0);
    atomic("max", "s32", 0xfffffff0u, 63);
    atomic("max", "u64", 7, 63);
    atomic("or", "b32", 0, 63);
    atomic("xor", "b64", 1, 1);
    atomic("and", "b32", 0xff, 0);
}

FACT(increment_wraps_at_its_limit) {
    unsigned int count = 0;
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(4, &count);
    CHECK(bench_body("atom.global.inc.u32 %r1, [%d0], 6;", 1, 64, at, 0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(&count, at, 4) == CUDA_SUCCESS);
    CHECK_EQUAL(count, 64 % 7);
    CHECK(bench_body("atom.global.dec.u32 %r1, [%d0], 6;", 1, 65, at, 0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(&count, at, 4) == CUDA_SUCCESS);
    CHECK_EQUAL(count, 6);
}

FACT(compare_and_swap_takes_turns) {
    unsigned int total = 0;
    bench_start((const char *const[]){"SEED=2", NULL});
    CUdeviceptr at = bench_buffer(4, &total);
    const char *body = "again: ld.volatile.global.u32 %r1, [%d0]; add.u32 %r2, %r1, 3;"
                       "atom.global.cas.b32 %r3, [%d0], %r1, %r2; setp.ne.u32 %p0, %r3, %r1;"
                       "@%p0 bra again;";
    CHECK(bench_body(body, 5, 64, at, 0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(&total, at, 4) == CUDA_SUCCESS);
    CHECK_EQUAL(total, 3 * 5 * 64);
}

FACT(float_atomics_add) {
    float f = 0.5f;
    double d = 0.25;
    bench_start(NULL);
    CUdeviceptr narrow = bench_buffer(4, &f), wide = bench_buffer(8, &d);
    CHECK(bench_body("mov.f32 %f0, 0f3F800000; red.global.add.f32 [%d0], %f0;"
                     "{ .reg .f64 x; mov.f64 x, 0d4000000000000000;"
                     "atom.global.add.f64 x, [%d1], x; }",
                     2, 32, narrow, wide) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(&f, narrow, 4) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(&d, wide, 8) == CUDA_SUCCESS);
    CHECK(f == 64.5f);
    CHECK(d == 128.25);
}

/* Every width and sign of load and store, by the bytes that it leaves. */
FACT(loads_widen_and_stores_cut) {
    const unsigned char bytes[16] = {0x81, 0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8};
    uint64_t got[8] = {0};
    bench_start(NULL);
    CUdeviceptr from = bench_buffer(sizeof bytes, bytes), to = bench_buffer(sizeof got, NULL);
    CHECK(bench_body(
              "ld.global.s8 %d2, [%d0]; st.global.u64 [%d1], %d2;"
              "ld.global.u8 %d2, [%d0]; st.global.u64 [%d1+8], %d2;"
              "ld.global.s16 %r1, [%d0]; cvt.u64.u32 %d2, %r1; st.global.u64 [%d1+16], %d2;"
              "ld.global.u32 %d2, [%d0]; st.global.u64 [%d1+24], %d2;"
              "ld.global.s32 %d2, [%d0]; st.global.u64 [%d1+32], %d2;"
              "ld.global.v2.u16 {%h0,%h1}, [%d0+4]; mov.u64 %d2, 0;"
              "st.global.u64 [%d1+40], %d2; st.global.v2.u16 [%d1+40], {%h1,%h0};"
              "ld.global.u64 %d2, [%d0]; st.global.u64 [%d1+48], 0; st.global.u8 [%d1+48], %d2;"
              "ld.const.u64 %d2, [%d0]; st.global.u64 [%d1+56], %d2;",
              1, 1, from, to) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(got, to, sizeof got) == CUDA_SUCCESS);
    CHECK(got[0] == 0xffffffffffffff81ull);
    CHECK(got[1] == 0x81);
    CHECK(got[2] == 0xffff9281u);
    CHECK(got[3] == 0xb4a39281u);
    CHECK(got[4] == 0xffffffffb4a39281ull);
    CHECK(got[5] == 0xd6c5f8e7u);
    CHECK(got[6] == 0x81);
    CHECK(got[7] == 0xf8e7d6c5b4a39281ull);
}

FACT(words_of_128_bits_move_whole) {
    const uint64_t words[4] = {1, 2, 3, 4};
    uint64_t got[4] = {0};
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(sizeof words, words), to = bench_buffer(sizeof got, got);
    CHECK(bench_body("{ .reg .b128 q; ld.relaxed.gpu.global.b128 q, [%d0+16];"
                     "mov.b128 {%d2,%d3}, q; mov.b128 q, {%d3,%d2};"
                     "st.relaxed.gpu.global.b128 [%d1], q;"
                     "atom.global.exch.b128 q, [%d0], q; st.global.b128 [%d1+16], q; }",
                     1, 1, at, to) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(got, to, sizeof got) == CUDA_SUCCESS);
    CHECK(got[0] == 4 && got[1] == 3 && got[2] == 1 && got[3] == 2);
}

FACT(generic_addresses_reach_every_space) {
    unsigned int got = 0;
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(4, &got);
    CHECK(bench_body("{ .local .align 4 .b8 mine[8]; mov.u64 %d2, mine; cvta.local.u64 %d3, %d2;"
                     "st.u32 [%d3+4], 30; ld.local.u32 %r1, [%d2+4];"
                     "mov.u64 %d2, s; cvta.shared.u64 %d4, %d2; st.u32 [%d4], 12;"
                     "ld.shared.u32 %r2, [s]; add.u32 %r1, %r1, %r2; cvta.to.shared.u64 %d5, %d4;"
                     "ld.shared.u32 %r2, [%d5]; sub.u32 %r2, %r2, 12; add.u32 %r1, %r1, %r2;"
                     "isspacep.shared %p0, %d4; isspacep.global %p1, %d0; and.pred %p0, %p0, %p1;"
                     "selp.b32 %r1, %r1, 0, %p0; st.u32 [%d0], %r1; }",
                     1, 1, at, 0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(&got, at, 4) == CUDA_SUCCESS);
    CHECK_EQUAL(got, 42);
}

/* Each of 40 threads fills 80 bytes of its own, at an offset that goes with the thread or at one
 * that all share, by words and by vectors, and adds up what it finds there. */
FACT(local_memory_is_each_thread_s_own) {
    enum { THREADS = 40, WORDS = 20 };
    unsigned int got[THREADS] = {0};
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(sizeof got, got);
    CHECK(bench_body("{ .local .align 16 .b8 mine[80]; mov.u64 %d2, mine; mov.u32 %r1, 0;"
                     "$F: mad.lo.u32 %r2, %r0, 100, %r1; mul.wide.u32 %d3, %r1, 4;"
                     "add.s64 %d3, %d2, %d3; st.local.u32 [%d3], %r2; add.u32 %r1, %r1, 1;"
                     "setp.lt.u32 %p1, %r1, 20; @%p1 bra $F; bar.sync 0;"
                     "ld.local.v4.u32 {%r3,%r4,%r5,%r6}, [%d2+16]; add.u32 %r3, %r3, %r6;"
                     "ld.local.u64 %d4, [%d2+72]; cvt.u32.u64 %r5, %d4; add.u32 %r3, %r3, %r5;"
                     "rem.u32 %r4, %r0, 20; mul.wide.u32 %d3, %r4, 4; add.s64 %d3, %d2, %d3;"
                     "cvta.local.u64 %d3, %d3; ld.u32 %r4, [%d3]; add.u32 %r3, %r3, %r4;"
                     "mul.wide.u32 %d3, %r0, 4; add.s64 %d3, %d0, %d3; st.global.u32 [%d3], %r3; }",
                     1, THREADS, at, 0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(got, at, sizeof got) == CUDA_SUCCESS);
    for (unsigned int i = 0; i < THREADS; i++)
        CHECK_EQUAL(got[i], 400 * i + 4 + 7 + 18 + i % WORDS);
    CHECK_EQUAL(redtune_sim_findings(), 0);
}

/* Of what is passed, a generic address made by cvta.param reads, and no access writes. */
FACT(generic_addresses_read_parameters) {
    uint64_t got[2] = {0};
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(sizeof got, got);
    CHECK(
        bench_body("mov.u64 %d2, p1; cvta.param.u64 %d3, %d2; ld.u64 %d4, [%d3];"
                   "st.global.u64 [%d0], %d4; cvta.to.param.u64 %d5, %d3; ld.param.u64 %d4, [%d5];"
                   "isspacep.param %p0, %d3; isspacep.param %p1, %d0; not.pred %p1, %p1;"
                   "and.pred %p0, %p0, %p1; @%p0 st.global.u64 [%d0+8], %d4;",
                   1, 1, at, 0x123456789abcdef) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(got, at, sizeof got) == CUDA_SUCCESS);
    CHECK(got[0] == 0x123456789abcdef && got[1] == got[0]);
    CHECK(bench_body("mov.u64 %d2, p1; cvta.param.u64 %d3, %d2; st.u64 [%d3], %d0;", 1, 1, at, 0) ==
          CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(bench_finding(NULL), REDTUNE_SIM_OUT_OF_BOUNDS);
    bench_start(NULL);
    CHECK(bench_body("mov.u64 %d2, p1; cvta.param.u64 %d3, %d2; ld.u64 %d4, [%d3+8];", 1, 1, at,
                     0) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQUAL(bench_finding(NULL), REDTUNE_SIM_OUT_OF_BOUNDS);
}

FACT(lanes_part_and_meet_again) {
    unsigned int got[32] = {0};
    struct redtune_sim_counters counters;
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(sizeof got, NULL);
    CHECK(bench_body("and.b32 %r1, %r0, 3; mov.u32 %r2, 0;"
                     "loop: add.u32 %r2, %r2, %r0; setp.eq.u32 %p0, %r1, 0; @%p0 bra out;"
                     "sub.u32 %r1, %r1, 1; bra loop; out:"
                     "activemask.b32 %r3; setp.ne.u32 %p1, %r3, 0xffffffff; @%p1 trap;"
                     "mul.wide.u32 %d2, %r0, 4; add.s64 %d2, %d2, %d0; st.global.u32 [%d2], %r2;",
                     1, 32, at, 0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(got, at, sizeof got) == CUDA_SUCCESS);
    for (unsigned int i = 0; i < 32; i++) CHECK_EQUAL(got[i], i * (i % 4 + 1));
    CHECK(redtune_sim_counters(&counters));
    CHECK(counters.divergent_branches == 3);
}

FACT(table_of_branches_is_followed) {
    unsigned int got[32] = {0};
    bench_start(NULL);
    CUdeviceptr at = bench_buffer(sizeof got, NULL);
    CHECK(
        bench_body("and.b32 %r1, %r0, 3; table: .branchtargets L0, L1, L2, L1;"
                   "brx.idx %r1, table; L0: mov.u32 %r2, 10; bra out; L1: mov.u32 %r2, 20; bra out;"
                   "L2: mov.u32 %r2, 30; out:"
                   "mul.wide.u32 %d2, %r0, 4; add.s64 %d2, %d2, %d0; st.global.u32 [%d2], %r2;",
                   1, 32, at, 0) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(got, at, sizeof got) == CUDA_SUCCESS);
    for (unsigned int i = 0; i < 32; i++) {
        CHECK_EQUAL(got[i], i % 4 == 0 ? 10 : i % 4 == 2 ? 30 : 20);
    }
}

int main(int argc, char **argv) {
    int rc = fact_run(argc, argv);
    redtune_sim_reset();
    return rc;
}
