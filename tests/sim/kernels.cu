// Reductions of the shapes that redtune's templates have, for the simulator's tests: block tails by
// shuffles and by shared memory, finishes by ticket and by polling, every accumulator width.
#line 1 "kernels.cu"
typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

struct f16 {
    u16 bits;
};
struct bf16 {
    u16 bits;
};

template <class A, class T> __device__ A widen(T v) { return (A)v; }

template <> __device__ float widen<float, f16>(f16 v)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
    return f;
}

template <> __device__ float widen<float, bf16>(bf16 v)
{
    return __uint_as_float((u32)v.bits << 16);
}

template <class A> struct Sum {
    static __device__ A identity() { return A(0); }
    static __device__ A combine(A a, A b) { return a + b; }
};

template <class A> struct Product {
    static __device__ A identity() { return A(1); }
    static __device__ A combine(A a, A b) { return a * b; }
};

// NaN wins.
template <class A> struct Max {
    static __device__ A identity() { return A(0); }
    static __device__ A combine(A a, A b) { return a != a || a > b ? a : b; }
};

template <class A> struct Min {
    static __device__ A identity() { return ~A(0); }
    static __device__ A combine(A a, A b) { return a < b ? a : b; }
};

template <class A, class Op> __device__ A reduce_warp(A v)
{
#pragma unroll
    for (int step = 16; step; step >>= 1) {
        v = Op::combine(v, __shfl_down_sync(0xffffffffu, v, step));
    }
    return v;
}

template <class A, class Op, int BLOCK> struct ByShuffles {
    static __device__ A run(A v)
    {
        __shared__ A parts[32];
        v = reduce_warp<A, Op>(v);
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
        __syncthreads();
        if (threadIdx.x < 32) {
            v = threadIdx.x < BLOCK / 32 ? parts[threadIdx.x] : Op::identity();
            v = reduce_warp<A, Op>(v);
        }
        __syncthreads();
        return v;
    }
};

template <class A, class Op, int BLOCK> struct BySharedMemory {
    static __device__ A run(A v)
    {
        __shared__ A parts[BLOCK];
        parts[threadIdx.x] = v;
        __syncthreads();
#pragma unroll
        for (int step = BLOCK / 2; step >= 32; step >>= 1) {
            if (threadIdx.x < step) {
                v = Op::combine(v, parts[threadIdx.x + step]);
                parts[threadIdx.x] = v;
            }
            __syncthreads();
        }
        return threadIdx.x < 32 ? reduce_warp<A, Op>(v) : v;
    }
};

// One thread's share: tiles of UNROLL vectors of 16 bytes, dealt round-robin over the blocks, and
// what lies before the first and behind the last whole tile, element by element.
template <class T, class A, class Op, int BLOCK, int UNROLL>
__device__ A read_share(const T *input, u64 count)
{
    const int LANES = 16 / sizeof(T);
    A acc[UNROLL];
#pragma unroll
    for (int i = 0; i < UNROLL; i++) acc[i] = Op::identity();
    u64 behind = (u64)input % 16 / sizeof(T);
    u64 head = behind ? LANES - behind : 0;
    if (head > count) head = count;
    if (blockIdx.x == 0 && threadIdx.x < head) {
        acc[0] = Op::combine(acc[0], widen<A, T>(input[threadIdx.x]));
    }
    input += head;
    count -= head;
    const u64 tile = (u64)BLOCK * UNROLL * LANES;
    u64 tiles = count / tile;
    for (u64 t = blockIdx.x; t < tiles; t += gridDim.x) {
        T values[UNROLL][LANES];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            u32 w[4];
            asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                         : "l"(input + t * tile + (i * BLOCK + threadIdx.x) * LANES));
            memcpy(values[i], w, 16);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
#pragma unroll
            for (int e = 0; e < LANES; e++) {
                acc[i] = Op::combine(acc[i], widen<A, T>(values[i][e]));
            }
        }
    }
    if (blockIdx.x == gridDim.x - 1) {
        for (u64 i = tiles * tile + threadIdx.x; i < count; i += BLOCK) {
            acc[0] = Op::combine(acc[0], widen<A, T>(input[i]));
        }
    }
#pragma unroll
    for (int i = 1; i < UNROLL; i++) acc[0] = Op::combine(acc[0], acc[i]);
    return acc[0];
}

// The last block to arrive reduces the partials, in their order.
template <class A, class Op, int BLOCK> __device__ void finish_ticket(A v, A *out, char *scratch)
{
    A *partials = (A *)(scratch + 16);
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = v;
        __threadfence();
        is_last = atomicInc((u32 *)scratch, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    A sum = Op::identity();
    for (u32 i = threadIdx.x; i < gridDim.x; i += BLOCK) sum = Op::combine(sum, partials[i]);
    sum = ByShuffles<A, Op, BLOCK>::run(sum);
    if (threadIdx.x == 0) *out = sum;
}

// The other blocks publish their partial and a flag as one word; block 0 waits for all of them.
template <class A, class Op, int BLOCK> __device__ void finish_poll(A v, A *out, char *scratch)
{
    const int WORD = sizeof(A) == 8 ? 16 : 8;
    char *word = scratch + WORD * (u64)blockIdx.x;
    if (blockIdx.x) {
        if (threadIdx.x) return;
        u64 bits = 0;
        memcpy(&bits, &v, sizeof v);
        if (WORD == 16) {
            asm volatile("{ .reg .b128 q; mov.b128 q, {%1, %2};"
                         "st.relaxed.gpu.global.b128 [%0], q; }"
                         :: "l"(word), "l"(bits), "l"(1ull) : "memory");
        } else {
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
                         :: "l"(word), "l"(bits | 1ull << 32) : "memory");
        }
        return;
    }
    A sum = threadIdx.x == 0 ? v : Op::identity();
    for (u32 i = threadIdx.x + 1; i < gridDim.x; i += BLOCK) {
        u64 low, flag;
        word = scratch + WORD * (u64)i;
        do {
            if (WORD == 16) {
                asm volatile("{ .reg .b128 q; ld.relaxed.gpu.global.b128 q, [%2];"
                             "mov.b128 {%0, %1}, q; }"
                             : "=l"(low), "=l"(flag) : "l"(word) : "memory");
            } else {
                asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                             : "=l"(low) : "l"(word) : "memory");
                flag = low >> 32;
            }
        } while (!flag);
        if (WORD == 16) {
            asm volatile("{ .reg .b128 q; mov.b128 q, {%1, %1};"
                         "st.relaxed.gpu.global.b128 [%0], q; }"
                         :: "l"(word), "l"(0ull) : "memory");
        } else {
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(word), "l"(0ull) : "memory");
        }
        A part;
        memcpy(&part, &low, sizeof part);
        sum = Op::combine(sum, part);
    }
    sum = ByShuffles<A, Op, BLOCK>::run(sum);
    if (threadIdx.x == 0) *out = sum;
}

#define KERNEL(name, T, A, OP, TAIL, FINISH, BLOCK, UNROLL)                                        \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                            \
        name(const T *input, u64 count, A *out, void *scratch)                                     \
    {                                                                                              \
        A v = read_share<T, A, OP<A>, BLOCK, UNROLL>(input, count);                                \
        v = TAIL<A, OP<A>, BLOCK>::run(v);                                                         \
        FINISH<A, OP<A>, BLOCK>(v, out, (char *)scratch);                                          \
    }

KERNEL(sum_i8, i8, i64, Sum, ByShuffles, finish_ticket, 256, 2)
KERNEL(sum_u16, u16, u64, Sum, BySharedMemory, finish_poll, 128, 1)
KERNEL(sum_i32, int, i64, Sum, ByShuffles, finish_poll, 64, 4)
KERNEL(sum_f16, f16, float, Sum, ByShuffles, finish_poll, 128, 2)
KERNEL(sum_bf16, bf16, float, Sum, BySharedMemory, finish_ticket, 1024, 1)
KERNEL(sum_f32, float, float, Sum, ByShuffles, finish_poll, 256, 4)
KERNEL(sum_f64, double, double, Sum, BySharedMemory, finish_poll, 256, 2)
KERNEL(product_i32, int, i64, Product, ByShuffles, finish_ticket, 32, 2)
KERNEL(max_u8, u8, u8, Max, ByShuffles, finish_ticket, 512, 1)
KERNEL(max_f32, float, float, Max, ByShuffles, finish_poll, 256, 1)
KERNEL(min_u64, u64, u64, Min, BySharedMemory, finish_poll, 128, 2)
