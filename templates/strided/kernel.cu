//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of_several(_ENV, vec)
//@ local two, kept = given.inputs > 1, lanes == "kept"
//@ local depth, own = block // width, kept and vec or 1
//@ local rows = kept and (width < 32 and block // 32 or depth) or math.max(1, depth // 32)
//@ local shared, strip = finish ~= "single", width * own
//@ local loads = require "lib/load"
//@ local single = loads.layout(dtype, 1)
//@ include("lib/title.cu", { by = "strided", of = "axes", many = true, shares = shared and "sets of " .. strip .. " results" })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WIDTH, DEPTH, VEC", width = width })
constexpr u32 OWN = @{own};  // results of a thread
constexpr u32 STRIP = WIDTH * OWN;  // results that a block makes at a time
//@ include("lib/constants.cu", { names = "UNROLL, LANES = VEC, LOAD_BYTES", unroll = unroll })
constexpr u32 ROWS = @{rows}, SHARED = ROWS * STRIP > BLOCK ? ROWS * STRIP : BLOCK;  // values in shared memory
constexpr u32 AXES = 8;

//@ include("lib/asserts.cu", { accumulator = "== " .. acc.bytes, that = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0", "SHARED * sizeof(accumulator) <= 49152" } })

// As model/launch.h has it: axes are listed from the innermost on.
struct axis {
    u64 size, reciprocal;
    i64 x, y, result;  // steps
};

struct strides {
    u64 count, results;
    i64 x, y, result;  // where the first elements are
    u32 reduced_vec, kept_vec, reduced_axes, kept_axes;
    axis reduced[AXES], kept[AXES];
};

static_assert(sizeof(strides) == 56 + 2 * AXES * sizeof(axis), "");

//@ include "lib/vector.cu"
//@ include "lib/combine.cu"
//@ include "lib/take.cu"
//@ include "lib/splits.cu"
// This thread's place among those of other results, and among those that share its results.
__device__ __forceinline__ u32 across()
{
    return @{kept and "threadIdx.x % WIDTH" or "threadIdx.x / DEPTH"};
}

__device__ __forceinline__ u32 along()
{
    return @{kept and "threadIdx.x / WIDTH" or "threadIdx.x % DEPTH"};
}

// Where elements or results are, relative to others.
struct place {
    i64 x@{two and ", y" or ""}, result;
};

__device__ __forceinline__ void add_steps(place &p, const axis &a, u64 n)
{
    p.x += n * a.x;
//@ if two then
    p.y += n * a.y;
//@ end
    p.result += n * a.result;
}

// n / a.size, whose remainder n becomes.
__device__ __forceinline__ u64 divide(u64 &n, const axis &a)
{
    u64 quotient;
    if (n >> 32 == 0) {
        const u64 low = n * (u32)a.reciprocal >> 32;
        quotient = n * (u32)(a.reciprocal >> 32) + low >> 32;
    } else {
        quotient = n / a.size;
    }
    n -= quotient * a.size;
    return quotient;
}

// The place of the element or result of number n. The two innermost axes are those of most arrays.
__device__ __forceinline__ place place_of(const axis (&axes)[AXES], u32 count, u64 n)
{
    place p = {};
    u32 i = 0;
    if (count > 1) {
        const u64 outer = divide(n, axes[0]);
        add_steps(p, axes[0], n);
        n = outer;
        i = 1;
#pragma unroll 1
        for (; i + 1 < count; i++) {
            const u64 further = divide(n, axes[i]);
            add_steps(p, axes[i], n);
            n = further;
        }
    }
    add_steps(p, axes[i], n);
    return p;
}

__device__ __forceinline__ place place_of_result(const strides &s, u64 k)
{
    return place_of(s.kept, s.kept_axes, k);
}

__device__ __forceinline__ place place_of_element(const strides &s, u64 e)
{
    return place_of(s.reduced, s.reduced_axes, e);
}

// Element 0 of each input of a result.
struct origin {
    const element *x@{two and ", *y" or ""};
};

__device__ __forceinline__ origin moved(origin o, const place &p)
{
    o.x += p.x;
//@ if two then
    o.y += p.y;
//@ end
    return o;
}

// Loads a vector that is there. Of one that is not, nothing is read, and nothing is to be taken.
__device__ __forceinline__ vector load_at(bool there, const origin &from)
{
    vector v = {};
    @{loads.guarded(layout, load, "v.word", "from.x", "there")}
//@ if two then
    @{loads.guarded(layout, load, "v.other", "from.y", "there")}
//@ end
    return v;
}

//@ if vec > 1 then
// Elements of results and of numbers that no wide load brings.
__device__ __forceinline__ value load_element(const element *from)
{
    @{single.word.c} word[1];
    @{loads.statement(single, load, "word", "from")}
    return @{dtype.unpack("word[0]", 0)};
}

__device__ __forceinline__ accumulator of_element(const origin &from, u64 index@{given.parameter})
{
    const value x = load_element(from.x)@{two and ", y = load_element(from.y)" or ""};
//@ if indexed then
    return candidate(x, index);
//@ elseif op.part then
    const @{given.part} none = @{op.part.zero};
    const @{given.part} one = @{op.part.take("none", "x", "y")};
    return @{given.widen("one")};
//@ else
    return map(x@{two and ", y" or ""}@{given.argument});
//@ end
}

// This thread's share of its results, by loads of one element each: the steps, or the addresses, are not multiples
// of a wide load.
__device__ __forceinline__ void reduce_singly(accumulator (&a)[OWN], const origin &inputs, const strides &s,
                                              u64 first, const share &mine@{given.parameter})
{
#pragma unroll
    for (u32 j = 0; j < OWN; j++) a[j] = @{op.identity};
#pragma unroll 1
    for (u32 j = 0; j < OWN; j++) {
        if (first + j >= s.results) break;
        const origin from = moved(inputs, place_of_result(s, first + j));
        accumulator b = @{op.identity};
#pragma unroll 1
        for (u64 e = (u64)mine.split * DEPTH + along(); e < s.count; e += (u64)mine.splits * DEPTH)
            b = combine(b, of_element(moved(from, place_of_element(s, e)), e@{given.argument})@{given.argument});
#pragma unroll
        for (u32 k = 0; k < OWN; k++)
            if (k == j) a[k] = b;
    }
}

//@ end
// The same by loads of VEC elements. Of the vectors, or elements, of a result tiles are dealt round-robin to the
// splits; a thread takes those DEPTH apart.
__device__ __forceinline__ void reduce_vectors(accumulator (&a)[OWN], const origin &inputs, const strides &s,
                                               u64 first, const share &mine@{given.parameter})
{
    constexpr u64 TILE = (u64)UNROLL * DEPTH, STEP = VEC / OWN;
    const u64 vectors = first < s.results ? s.count / STEP : 0, next = mine.splits * TILE;
    const origin from = moved(inputs, place_of_result(s, first < s.results ? first : 0));
#pragma unroll
    for (u32 j = 0; j < OWN; j++) a[j] = @{op.identity};
//@ if indexed then
    // A thread counts its loads in 32 bits: stretches keep it from running over.
    constexpr u64 STRETCH = (1ull << 31) / UNROLL * TILE;
    const u64 stretch = mine.splits * STRETCH;
    for (u64 at = 0; at < vectors; at += stretch) {
        const u64 end = at + stretch < vectors ? at + stretch : vectors;
//@ else
    {
        const u64 at = 0, end = vectors;
//@ end
        const u64 begin = at + mine.split * TILE + along();
//@ include "lib/begin_parts.cu"
        for (u64 u = begin; u < end; u += next) {
            // All loads before the first use.
            vector v[UNROLL];
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++) {
                const u64 n = u + i * DEPTH;
                v[i] = load_at(n < end, moved(from, place_of_element(s, n * STEP)));
            }
#pragma unroll
            for (u32 i = 0; i < UNROLL; i++)
                if (u + i * DEPTH < end) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});
//@ if indexed then
            load += UNROLL;
//@ end
        }
#pragma unroll
        for (u32 j = 0; j < VEC; j++) {
//@ if indexed then
            // A thread that had no element names one behind all that there are.
            const u64 tiles = part[j].load / UNROLL, i = part[j].load % UNROLL;
            const u64 index = (begin + tiles * next + i * DEPTH) * STEP + @{kept and "0" or "j"};
            a[j % OWN] = combine(a[j % OWN], candidate(part[j].x, index)@{given.argument});
//@ else
            a[j % OWN] = combine(a[j % OWN], @{given.widen("part[j]")}@{given.argument});
//@ end
        }
    }
}

// Leaves in shared memory what this thread has of its results, once the lanes of its warp that have the same are
// combined.
__device__ __forceinline__ void store_values(accumulator *shared, accumulator (&a)[OWN]@{given.parameter})
{
//@ if kept then
//@     include("lib/fold_lanes.cu", { lanes = 32, least = width, value = "a[j]", over = "u32 j = 0; j < OWN; j++" })
    const u32 row = @{width >= 32 and "along()" or "threadIdx.x / 32"};
    if (threadIdx.x % 32 < WIDTH)
#pragma unroll
        for (u32 j = 0; j < OWN; j++) shared[row * STRIP + across() * OWN + j] = a[j];
//@ else
//@     include("lib/fold_lanes.cu", { lanes = math.min(32, depth), value = "a[0]" })
    if (along() % 32 == 0) shared[along() / 32 * STRIP + across()] = a[0];
//@ end
}

//@ include "lib/load_column.cu"
//@ include("lib/finish_strip.cu", { vec = own, skew_type = ", const strides &s, u64 set", place = "output[place_of_result(s, set + c).result]" })
//@ include("lib/entry.cu", { extents = "const __grid_constant__ strides s" })
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    share mine = share_of((s.results + STRIP - 1) / STRIP);
    __shared__ alignas(16) accumulator shared[SHARED];
//@ include("lib/begin.cu", { count = "s.count" })
    const origin inputs = {input + s.x@{two and ", second_of(input, given) + s.y" or ""}};
//@ if vec > 1 then
    const bool aligned = s.@{lanes}_vec >= VEC && (u64)inputs.x % LOAD_BYTES == 0@{two and " && (u64)inputs.y % LOAD_BYTES == 0" or ""};
//@ end
    for (; mine.set < mine.sets; mine.set += gridDim.x) {
        const u64 set = mine.set * STRIP, first = set + across() * OWN;
        const u32 columns = s.results - set < STRIP ? (u32)(s.results - set) : STRIP;
        accumulator a[OWN];
//@ if vec > 1 then
        if (!aligned)
            reduce_singly(a, inputs, s, first, mine@{given.argument});
        else
//@ end
            reduce_vectors(a, inputs, s, first, mine@{given.argument});
        store_values(shared, a@{given.argument});
        __syncthreads();
        finish_strip(shared, mine, scratch, output + s.result, s.count, columns, s, set@{given.argument});
        __syncthreads();
    }
}
