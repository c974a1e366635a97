//@ local op, given, acc, indexed, layout, parts = require("lib/kernel").of_several(_ENV, vec, "columns")
//@ -- The paths of loads of x and of what is beside it.
//@ local load, load_beside = load == "beside" and "no_allocate" or load, load == "beside" and "plain" or load
//@ local two, kept, by_spans = given.inputs > 1, lanes == "kept", lanes == "spans"
//@ parts = (kept or indexed) and vec or given.parts(layout, vec)
//@ local depth, own = block // width, kept and vec or 1
//@ local rows = kept and (width < 32 and block // 32 or depth) or math.max(1, depth // 32)
//@ local shared, strip = finish ~= "single", width * own
//@ -- Whether a warp has all of a result's threads: no memory that a block shares, and no barrier.
//@ local alone = not shared and depth <= (kept and 1 or 32)
//@ local loads = require "lib/load"
//@ local single = loads.layout(dtype, 1)
//@ include("lib/title.cu", { by = "strided", of = "axes", many = true, shares = shared and "sets of " .. strip .. " results" })

//@ include "lib/head.cu"
//@ include("lib/constants.cu", { names = "WIDTH, DEPTH, VEC", width = width })
constexpr u32 OWN = @{own};  // results of a thread
constexpr u32 STRIP = WIDTH * OWN;  // results that a block makes at a time
//@ include("lib/constants.cu", { names = "UNROLL, LANES, LOAD_BYTES", unroll = unroll, parts = parts })
constexpr u32 ROWS = @{rows}, SHARED = ROWS * STRIP > BLOCK ? ROWS * STRIP : BLOCK;  // values in shared memory

//@ include("lib/asserts.cu", { accumulator = "== " .. acc.bytes, that = { "LOAD_BYTES <= 16 && BLOCK % 32 == 0 && BLOCK % WIDTH == 0", "SHARED * sizeof(accumulator) <= 49152" } })

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

//@ include "lib/strides.cu"
//@ include "lib/walk_elements.cu"
//@ if not by_spans then
// Loads a vector that is there. Of one that is not, nothing is read, and nothing is to be taken.
__device__ __forceinline__ vector load_at(bool there, const origin &from)
{
    vector v = {};
    @{loads.guarded(layout, load, "v.word", "from.x", "there")}
//@ if two then
    @{given.load_other_if(vec, load_beside, "v.other", "from.y", "there", "from.mask")}
//@ end
    return v;
}

//@ end
//@ if vec > 1 then
//@     local byte = given.other_layout(1)
//@     local beside = two and ", y" or ""
//@     local function combined(a)
//@         if op.part then return op.part.take(a, "x", "y") end
//@         return ("combine(%s, map(x%s%s)%s)"):format(a, beside, given.argument, given.argument)
//@     end
// Combines a part with the element of that index.
__device__ __forceinline__ @{given.part} take_element(@{given.part} a, value x@{two and ", " .. given.other_value .. " y" or ""}, u64 index@{given.parameter})
{
//@     if indexed then
    return @{given.masked and "y == 0 ? a : " or ""}combine(a, candidate(x, index)@{given.argument});
//@     else
    return @{combined("a")};
//@     end
}

// Combines a part with loads of one element each, those of a tile from where the thread is on.
template <u32 LOADS>
__device__ __forceinline__ @{given.part} take_singles(@{given.part} b, walk &w, u64 e, const origin &from, const strides &s, const step &by@{given.parameter})
{
    @{single.word.c} x[LOADS][1] = {};
//@     if two then
    @{byte.word.c} y[LOADS][1]@{given.pairs and "" or " = {}"};
//@     end
#pragma unroll
    for (u32 i = 0; i < LOADS; i++) {
        const bool there = e + i * DEPTH < s.count;
        @{loads.guarded(single, load, "x[i]", "w.at.x", "there")}
//@     if two then
        @{given.load_other_if(1, load_beside, "y[i]", "w.at.y", "there", "w.at.mask")}
//@     end
        go_on<LOADS == 1 ? ALL_ENDS : TWO_ENDS>(w, by, from, s, e + DEPTH);
    }
#pragma unroll
    for (u32 i = 0; i < LOADS; i++)
        if (e + i * DEPTH < s.count)
            b = take_element(b, @{dtype.unpack("x[i][0]", 0)}@{two and ", " .. given.other.unpack("y[i][0]", 0) or ""}, e + i * DEPTH@{given.argument});
    return b;
}

// This thread's share of its results, by loads of one element each: the steps, or the addresses, are not multiples
// of a wide load.
__device__ __forceinline__ void reduce_singly(accumulator (&a)[OWN], const origin &inputs, const strides &s,
                                              u64 first, const share &mine@{given.parameter})
{
    constexpr u32 LOADS = 8;
    constexpr u64 TILE = (u64)LOADS * DEPTH;
    const step by = step_of(s, DEPTH);
#pragma unroll
    for (u32 j = 0; j < OWN; j++) a[j] = @{op.identity};
#pragma unroll 1
    for (u32 j = 0; j < OWN; j++) {
        if (first + j >= s.results) break;
        const origin from = moved(inputs, place_of_result(s, first + j));
        @{given.part} b = @{op.part and op.part.zero or op.identity};
#pragma unroll 1
        for (u64 tile = mine.split * TILE + along(); tile < s.count; tile += mine.splits * TILE) {
            walk w = walk_from(from, s, tile);
            if (by.ends_after == NEVER) {
                b = take_singles<LOADS>(b, w, tile, from, s, by@{given.argument});
            } else {
#pragma unroll 1
                for (u32 i = 0; i < LOADS; i++) b = take_singles<1>(b, w, tile + i * DEPTH, from, s, by@{given.argument});
            }
        }
#pragma unroll
        for (u32 k = 0; k < OWN; k++)
            if (k == j) a[k] = @{given.widen("b")};
    }
}

//@ end
//@ if by_spans then
//@     include("strided/spans.cu", { single = single, load_beside = load_beside })
//@ else
// This thread's part of a tile, from where it is, the element of number n: `many` loads are there. It goes on to
// where the next tile begins that is not another split's. WHOLE: all are there. ANEW: places may be found anew.
template <bool WHOLE, bool ANEW>
__device__ __forceinline__ void take_tile(@{indexed and "best" or given.part} (&part)[LANES], walk &w, u32 many, u64 n, const origin &from,
                                          const strides &s, const step &by@{indexed and ", u32 load" or ""}@{given.parameter})
{
    constexpr u64 APART = DEPTH * (VEC / OWN);
    // All loads before the first use; and where places may be found anew, all places before the first load, in a loop
    // that is not unrolled: finding one is much code.
    vector v[UNROLL];
    if (ANEW) {
        origin at[UNROLL];
#pragma unroll 1
        for (u32 i = 0; i < UNROLL; i++) {
            at[i] = w.at;
            go_on<ALL_ENDS>(w, by, from, s, n + (i + 1) * APART);
        }
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) v[i] = load_at(i < many, at[i]);
    } else {
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            v[i] = load_at(WHOLE || i < many, w.at);
            go_on<ONE_END>(w, by, from, s, 0);
        }
    }
//@ if op.part and op.part.tile then
//@     include("lib/take_checked.cu", { vectors = "v", many = "UNROLL", there = "WHOLE || i < many" })
//@ else
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++)
        if (WHOLE || i < many) take(part, v[i]@{indexed and ", load + i" or ""}@{given.argument});
//@ end
}

// The same by loads of VEC elements. Of the vectors, or elements, of a result tiles are dealt round-robin to the
// splits; a thread takes those DEPTH apart.
__device__ __forceinline__ void reduce_vectors(accumulator (&a)[OWN], const origin &inputs, const strides &s,
                                               u64 first, const share &mine@{given.parameter})
{
    constexpr u64 TILE = (u64)UNROLL * DEPTH, STEP = VEC / OWN;
    const u64 vectors = first < s.results ? s.count / STEP : 0, next = mine.splits * TILE;
    const origin from = moved(inputs, place_of_result(s, first < s.results ? first : 0));
    const step by = step_of(s, DEPTH * STEP);
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
        walk w = walk_from(from, s, begin * STEP);
        for (u64 u = begin; u < end; u += next) {
            const u32 many = end - u < TILE ? ((u32)(end - u) + DEPTH - 1) / DEPTH : UNROLL;
            if (mine.splits > 1) w = walk_from(from, s, u * STEP);
            if (s.reduced_axes > 2 || by.ends_after == 0)
                take_tile<false, true>(part, w, many, u * STEP, from, s, by@{indexed and ", load" or ""}@{given.argument});
            else if (many == UNROLL)
                take_tile<true, false>(part, w, UNROLL, u * STEP, from, s, by@{indexed and ", load" or ""}@{given.argument});
            else
                take_tile<false, false>(part, w, many, u * STEP, from, s, by@{indexed and ", load" or ""}@{given.argument});
//@ if indexed then
            load += UNROLL;
//@ end
        }
#pragma unroll
        for (u32 j = 0; j < LANES; j++) {
//@ if indexed then
            // A thread that had no element names one behind all that there are.
            const u64 tiles = part[j].load / UNROLL, i = part[j].load % UNROLL;
            const u64 index = (begin + tiles * next + i * DEPTH) * STEP + @{kept and "0" or "j"};
            a[j % OWN] = combine(a[j % OWN], @{given.found("part[j]", "index")}@{given.argument});
//@ else
            a[j % OWN] = combine(a[j % OWN], @{given.widen("part[j]")}@{given.argument});
//@ end
        }
    }
}

//@ end
//@ if not alone then
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

//@     include "lib/load_column.cu"
//@     include("lib/finish_strip.cu", { vec = own, skew_type = ", const strides &s, u64 set", place = "output[place_of_result(s, set + c).result]" })
//@ end
//@ include("lib/entry.cu", { extents = given.counts and "strides s" or "const __grid_constant__ strides s" })
{
    // What the arguments alone say is made before the kernel waits for the one before it.
    share mine = share_of((s.results + STRIP - 1) / STRIP);
//@ if not alone then
    __shared__ alignas(16) accumulator shared[SHARED];
//@ end
//@ include("lib/begin.cu", { count = "s.count" })
    const origin inputs = {input + s.x@{two and ", second_of(input, given) + s.y" or ""}@{given.pairs and ", given.mask + s.mask" or ""}};
//@ if by_spans then
    const bool wide = has_spans(s);
//@ elseif vec > 1 then
    const bool wide = s.@{lanes}_vec >= VEC && (u64)inputs.x % LOAD_BYTES == 0@{two and " && (u64)inputs.y % " .. vec * given.other.bytes .. " == 0" or ""}@{given.pairs and " && inputs.mask % VEC == 0" or ""}@{given.counts and not kept and " && s.count % VEC == 0" or ""};
//@ end
    for (; mine.set < mine.sets; mine.set += gridDim.x) {
        const u64 set = mine.set * STRIP, first = set + across() * OWN;
//@ if not alone then
        const u32 columns = s.results - set < STRIP ? (u32)(s.results - set) : STRIP;
//@ end
        accumulator a[OWN];
//@ if vec > 1 then
        if (!wide)
            reduce_singly(a, inputs, s, first, mine@{given.argument});
        else
//@ end
            @{by_spans and "reduce_spans(a, inputs, s, first, mine, input" or "reduce_vectors(a, inputs, s, first, mine"}@{given.argument});
//@ if alone then
//@     if not kept then
//@         include("lib/fold_lanes.cu", { lanes = depth, value = "a[0]" })
//@     end
        if (along() == 0)
#pragma unroll
            for (u32 j = 0; j < OWN; j++)
                if (first + j < s.results) @{given.write("output[s.result + place_of_result(s, first + j).result]", "a[j]", "s.count")}
//@ else
        store_values(shared, a@{given.argument});
        __syncthreads();
        finish_strip(shared, mine, scratch, output + s.result, s.count, columns, s, set@{given.argument});
        __syncthreads();
//@ end
    }
}
