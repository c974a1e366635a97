// redtune: the sum_sumsq of f16 into f32, by the template "ordered_segments" with
// block=256,chunks=2,unroll=4,resident=2,load=no_allocate
// compile with --fmad=false
//
// output[i] = x[0] + ... + x[n-1] and x[0]^2 + ... + x[n-1]^2
// for each segment i, n = its elements, wherever they are, combined in the order of docs/order.md.
// Start it with 256 threads per block, on any number of blocks.
//
// The work of all segments is dealt to the warps in equal stretches (ragged/search.cu). A node is an
// aligned run of 2^k chunks of a segment, the same k for all. A warp takes the nodes that begin in its
// stretch. A segment that has one node only, which may be short, is its warp's alone. Those of the
// others are left in scratch, where the warp that leaves the last one combines all.
//
// If a warp finds that offsets decrease, the last block makes all results anew, slowly.

typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
struct record {
    float sum;
    float other;
};
typedef unsigned short element;  // in memory
typedef float value;  // in registers
typedef record accumulator;

// As model/launch.h has it.
struct arguments {
    u64 input, output;
    double scalar[2];
    u64 scalars, count, resumes;
};

static_assert(sizeof(arguments) == 56, "");

struct values {
    float *first_output;
    float *second_output;
};

__device__ __forceinline__ values values_of(const arguments &rest, const void *input,
                                            float *output)
{
    values given;
    given.first_output = output;
    given.second_output = (float *)rest.output;
    return given;
}

constexpr u32 BLOCK = 256;  // threads per block
constexpr u32 WARPS = BLOCK / 32;
constexpr u32 VEC = 8;  // elements per load
constexpr u32 LOADS = 8;  // loads of a lane in a chunk
constexpr u32 UNROLL = 4;  // independent loads in flight per thread
constexpr u32 STEPS = LOADS / UNROLL;
constexpr u64 COST = 64;  // elements that a segment counts for
constexpr u64 LEAST = 1024;  // work of a stretch

constexpr u64 LOAD_BYTES = 16;
constexpr u64 CHUNK_BYTES = 32 * LOADS * LOAD_BYTES;
constexpr u64 CHUNK = CHUNK_BYTES / sizeof(element);
constexpr u64 NODES = 4096;  // there is work for fewer

// The table of chunks of the work, in front of the slots.
constexpr u64 CHUNKS = 4096;
constexpr u64 TABLE_BYTES = 33024;
constexpr u32 PREFIX_BLOCK = 256;

constexpr u32 ALL = 0xffffffff;  // lanes of a warp

static_assert(sizeof(element) == 2 && BLOCK % 32 == 0 && LOADS % UNROLL == 0, "");
static_assert((CHUNKS + 1) * 8 <= TABLE_BYTES && CHUNKS % PREFIX_BLOCK == 0, "");
static_assert(TABLE_BYTES + 2 * NODES * sizeof(accumulator) <= 262144, "");
static_assert(NODES * sizeof(u32) <= 524288, "");

// As model/launch.h has it.
struct segments {
    u64 begin, end;  // tables; end is 0 where a segment ends at the next one's begin; begin, at 0
    u64 count, wide;
    u64 arrays;  // table of where segments are, each in an array of its own; 0: in the input
};

static_assert(sizeof(segments) == 40, "");


struct segment {
    u64 offset, count;  // of its first element; of elements
    bool backwards;  // it ends before it begins, and has none
};

__device__ __forceinline__ i64 offset_at(const segments &s, u64 table, u64 i)
{
    return s.wide ? ((const i64 *)table)[i] : ((const int *)table)[i];
}

__device__ __forceinline__ segment segment_of(const segments &s, u64 i)
{
    const i64 begin = s.begin ? offset_at(s, s.begin, i) : 0;
    const i64 end = s.end ? offset_at(s, s.end, i) : offset_at(s, s.begin, i + 1);
    return segment{(u64)begin, end > begin ? (u64)(end - begin) : 0, end < begin};
}

// Whether the offsets must be looked at: those of arrays are made with them.
__device__ __forceinline__ bool are_doubtful(const segments &s)
{
    return !s.end && !s.arrays;
}

__device__ __forceinline__ const element *elements_of(const segments &s, const element *input, u64 i,
                                                      const segment &one)
{
    // Arrays without ends have offsets that say how many elements come before them.
    if (!s.arrays) return input + one.offset;
    return ((const element *const *)s.arrays)[i] + (s.end ? one.offset : 0);
}

// The work before chunk c of segments that are given with two tables; behind the last one, of all.
__device__ __forceinline__ u64 *chunk_table(void *scratch)
{
    return (u64 *)((char *)scratch + 524544);
}

// Segments of a chunk.
__device__ __forceinline__ u64 chunk_of(const segments &s)
{
    const u64 chunk = (s.count + CHUNKS - 1) / CHUNKS;
    return chunk < 32 ? 32 : chunk;
}

__device__ __forceinline__ u64 scan_warp(u64 x)
{
    const u32 lane = threadIdx.x % 32;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(ALL, x, step);
        if (lane >= step) x += other;
    }
    return x;
}

// The first launch, where there are two: leaves the table of chunks. The last block to come makes
// sums of what the others leave.
extern "C" __global__ void __launch_bounds__(256)
redtune_prefix(segments s, void *scratch)
{
    u64 *const table = chunk_table(scratch);
    const u64 chunk = chunk_of(s), chunks = (s.count + chunk - 1) / chunk;
    const u32 thread = threadIdx.x, lane = thread % 32;
    for (u64 c = blockIdx.x * (PREFIX_BLOCK / 32) + thread / 32; c < chunks;
         c += gridDim.x * (PREFIX_BLOCK / 32)) {
        const u64 end = (c + 1) * chunk < s.count ? (c + 1) * chunk : s.count;
        u64 work = 0;
        for (u64 i = c * chunk + lane; i < end; i += 32) work += COST + segment_of(s, i).count;
        work = scan_warp(work);
        if (lane == 31) table[c] = work;
    }
    __shared__ bool last;
    __shared__ u64 warp_sum[PREFIX_BLOCK / 32];
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        last = atomicInc((u32 *)scratch + 1, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    constexpr u32 EACH = CHUNKS / PREFIX_BLOCK;
    u64 work[EACH], sum = 0;
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const u64 c = thread * EACH + k;
        work[k] = c < chunks ? __ldcg(table + c) : 0;
    }
#pragma unroll
    for (u32 k = 0; k < EACH; k++) sum += work[k];
    const u64 through = scan_warp(sum);
    if (lane == 31) warp_sum[thread / 32] = through;
    __syncthreads();
    u64 before = through - sum;
    for (u32 w = 0; w < thread / 32; w++) before += warp_sum[w];
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        const u64 c = thread * EACH + k;
        if (c <= chunks) table[c] = before;
        before += work[k];
    }
    // Behind the last chunk there may be no thread's.
    if (chunks == CHUNKS && thread == PREFIX_BLOCK - 1) table[CHUNKS] = before;
}

// How the work is dealt.
struct deal {
    u64 total;  // work of all segments
    u64 origin;  // where offsets that have the work in them begin
    u64 stretch;  // work of a warp
    bool backwards;  // these end before they begin
};

__device__ __forceinline__ deal deal_of(const segments &s, void *scratch)
{
    deal d = {0, 0, 0, false};
    if (s.end) {
        const u64 chunk = chunk_of(s);
        d.total = chunk_table(scratch)[(s.count + chunk - 1) / chunk];
    } else {
        const i64 begin = offset_at(s, s.begin, 0), end = offset_at(s, s.begin, s.count);
        d.origin = begin;
        d.backwards = end < begin;
        d.total = s.count * COST + (d.backwards ? 0 : end - begin);
    }
    const u64 warps = (u64)gridDim.x * WARPS;
    d.stretch = (d.total + warps - 1) / warps;
    if (d.stretch < LEAST) d.stretch = LEAST;
    return d;
}

// The work before a segment, where offsets have it in them.
__device__ __forceinline__ u64 work_before(const segments &s, const deal &d, u64 i)
{
    return offset_at(s, s.begin, i) - d.origin + i * COST;
}

// A segment, and the work before it.
struct place {
    u64 segment, before;
};

// The last of [0, n) before which there is no more than the target: by 16 probes at a time. Each half
// of a warp has a target of its own. before(i) must not decrease; if it does, it is any of them.
template <typename BEFORE>
__device__ __forceinline__ u64 search(u64 n, u64 target, BEFORE before)
{
    const u32 lane = threadIdx.x % 16, shift = threadIdx.x % 32 - lane;
    u64 low = 0, high = n;
    while (__any_sync(ALL, high - low > 1)) {
        const u64 step = (high - low + 16) / 17, at = low + (lane + 1) * step;
        const u32 held = __ballot_sync(ALL, at < high && before(at) <= target);
        const u32 found = __popc(held >> shift & 0xffff);
        if (high - low > 1) {
            const u64 stop = low + (found + 1) * step;
            low += found * step;
            if (stop < high) high = stop;
        }
    }
    return low;
}

// The segment of a chunk in which the target lies: lanes of half a warp count parts of what is left.
__device__ __forceinline__ place search_chunk(const segments &s, u64 from, u64 to, u64 before,
                                              u64 target)
{
    const u32 lane = threadIdx.x % 16;
    while (__any_sync(ALL, to - from > 1)) {
        const u64 part = (to - from + 15) / 16, begin = from + lane * part;
        const u64 end = begin + part < to ? begin + part : to;
        u64 work = 0;
        for (u64 i = begin; i < end; i++) work += COST + segment_of(s, i).count;
        u64 through = work;
#pragma unroll
        for (u32 step = 1; step < 16; step *= 2) {
            const u64 other = __shfl_up_sync(ALL, through, step, 16);
            if (lane >= step) through += other;
        }
        // Lanes before whose end the target does not lie; the last part has it at the latest.
        const u32 shift = threadIdx.x % 32 - lane;
        const u32 passed = __ballot_sync(ALL, end < to && begin < to && before + through <= target);
        const u32 found = __popc(passed >> shift & 0xffff);
        before += __shfl_sync(ALL, through - work, found, 16);
        from += found * part;
        if (from + part < to) to = from + part;
    }
    return place{from, before};
}

__device__ __forceinline__ place find(const segments &s, const deal &d, void *scratch, u64 target)
{
    if (!s.end) {
        const u64 i = search(s.count, target, [&](u64 at) { return work_before(s, d, at); });
        return place{i, work_before(s, d, i)};
    }
    const u64 *const table = chunk_table(scratch);
    const u64 chunk = chunk_of(s);
    const u64 c = search((s.count + chunk - 1) / chunk, target, [&](u64 at) { return table[at]; });
    const u64 end = (c + 1) * chunk < s.count ? (c + 1) * chunk : s.count;
    return search_chunk(s, c * chunk, end, table[c], target);
}

// What a warp goes over: the work [from, to), in the segments [first, last].
struct stretch {
    u64 from, to, first, last, before;
};

// The stretch of this warp. Whether the offsets are seen to decrease: then there is none.
__device__ __forceinline__ bool begin_stretch(stretch &mine, const segments &s, const deal &d,
                                              void *scratch)
{
    const u64 number = (u64)blockIdx.x * WARPS + threadIdx.x / 32;
    mine.from = number * d.stretch;
    mine.to = mine.from + d.stretch < d.total ? mine.from + d.stretch : d.total;
    if (mine.from >= d.total || d.backwards) {
        mine.first = 1;
        mine.last = 0;
        return d.backwards;
    }
    // Half of the warp looks for one end, half for the other.
    const place found = find(s, d, scratch, threadIdx.x % 32 < 16 ? mine.from : mine.to);
    mine.first = __shfl_sync(ALL, found.segment, 0);
    mine.last = __shfl_sync(ALL, found.segment, 16);
    mine.before = __shfl_sync(ALL, found.before, 0);
    if (!are_doubtful(s)) return false;
    const bool is_right = mine.first <= mine.last && mine.before <= mine.from &&
                          mine.from < work_before(s, d, mine.first + 1) &&
                          (mine.from > 0 || mine.first == 0) &&
                          (mine.to < d.total || mine.last == s.count - 1);
    if (!is_right) mine.first = mine.last + 1;
    return !is_right;
}

struct vector {
    u32 word[4];
};

__device__ __forceinline__ float half_to_float(u32 bits)
{
    float x;
    asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(bits));
    return x;
}

__device__ __forceinline__ vector load_vector(u64 from, const values &given)
{
    vector v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(from));
    return v;
}

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b, const values &given)
{
    return record{a.sum + b.sum, a.other + b.other};
}

// Where the second result goes whose first goes there.
__device__ __forceinline__ float *second_result(float *output, const values &given)
{
    return given.second_output + (output - given.first_output);
}

__device__ __forceinline__ void write(float *output, accumulator a, u64 count,
                                      const values &given)
{
    float *other = second_result(output, given);
    *output = a.sum;
    *other = a.other;
}

__device__ __forceinline__ accumulator map(value x, const values &given)
{
    return record{x, x * x};
}

__device__ __forceinline__ u32 load_element_word(u64 from)
{
    u32 word[1];
    asm volatile("ld.global.u16 %0, [%1];"
                 : "=r"(word[0])
                 : "l"(from));
    return word[0];
}

// What load_vector() brings, element by element: from where it stands at no multiple of 16 bytes.
__device__ __forceinline__ vector gather_vector(u64 from, const values &given)
{
    vector v;
    v.word[0] = load_element_word(from + 0) | load_element_word(from + 2) << 16;
    v.word[1] = load_element_word(from + 4) | load_element_word(from + 6) << 16;
    v.word[2] = load_element_word(from + 8) | load_element_word(from + 10) << 16;
    v.word[3] = load_element_word(from + 12) | load_element_word(from + 14) << 16;
    return v;
}

template <bool ALIGNED>
__device__ __forceinline__ vector bring_vector(u64 from, const values &given)
{
    return ALIGNED ? load_vector(from, given) : gather_vector(from, given);
}

// The elements of a vector, the upper half combined into the lower until one is left.
__device__ __forceinline__ accumulator fold(accumulator (&a)[VEC], const values &given)
{
    a[0] = combine(a[0], a[4], given);
    a[1] = combine(a[1], a[5], given);
    a[2] = combine(a[2], a[6], given);
    a[3] = combine(a[3], a[7], given);
    a[0] = combine(a[0], a[2], given);
    a[1] = combine(a[1], a[3], given);
    a[0] = combine(a[0], a[1], given);
    return a[0];
}

__device__ __forceinline__ accumulator fold_vector(vector v, const values &given)
{
    accumulator a[VEC];
    a[0] = map(half_to_float(v.word[0]), given);
    a[1] = map(half_to_float(v.word[0] >> 16), given);
    a[2] = map(half_to_float(v.word[1]), given);
    a[3] = map(half_to_float(v.word[1] >> 16), given);
    a[4] = map(half_to_float(v.word[2]), given);
    a[5] = map(half_to_float(v.word[2] >> 16), given);
    a[6] = map(half_to_float(v.word[3]), given);
    a[7] = map(half_to_float(v.word[3] >> 16), given);
    return fold(a, given);
}

// The value of the vector that begins there, of which there is a part only: up to `end`.
__device__ __forceinline__ accumulator take_edge(u64 from, u64 end, const values &given)
{
    // All loads before the first use. Those of missing elements bring the first one.
    const u64 at0 = from;
    const u32 x0 = load_element_word(at0);
    const u64 at1 = from + 2 < end ? from + 2 : from;
    const u32 x1 = load_element_word(at1);
    const u64 at2 = from + 4 < end ? from + 4 : from;
    const u32 x2 = load_element_word(at2);
    const u64 at3 = from + 6 < end ? from + 6 : from;
    const u32 x3 = load_element_word(at3);
    const u64 at4 = from + 8 < end ? from + 8 : from;
    const u32 x4 = load_element_word(at4);
    const u64 at5 = from + 10 < end ? from + 10 : from;
    const u32 x5 = load_element_word(at5);
    const u64 at6 = from + 12 < end ? from + 12 : from;
    const u32 x6 = load_element_word(at6);
    const u64 at7 = from + 14 < end ? from + 14 : from;
    const u32 x7 = load_element_word(at7);
    accumulator a[VEC];
    a[0] = map(half_to_float(x0), given);
    a[1] = map(half_to_float(x1), given);
    if (from + 2 >= end) a[1] = record{0.0f, 0.0f};
    a[2] = map(half_to_float(x2), given);
    if (from + 4 >= end) a[2] = record{0.0f, 0.0f};
    a[3] = map(half_to_float(x3), given);
    if (from + 6 >= end) a[3] = record{0.0f, 0.0f};
    a[4] = map(half_to_float(x4), given);
    if (from + 8 >= end) a[4] = record{0.0f, 0.0f};
    a[5] = map(half_to_float(x5), given);
    if (from + 10 >= end) a[5] = record{0.0f, 0.0f};
    a[6] = map(half_to_float(x6), given);
    if (from + 12 >= end) a[6] = record{0.0f, 0.0f};
    a[7] = map(half_to_float(x7), given);
    if (from + 14 >= end) a[7] = record{0.0f, 0.0f};
    return fold(a, given);
}

// Where a lane's load i of a step is. A step brings UNROLL loads of a lane's eight, which are taken with
// the bits of their numbers reversed: 0, 4, 2, 6, 1, 5, 3, 7. So neighbours are those that halving
// combines.
__device__ __forceinline__ u64 place_of(u64 chunk, u32 step, u32 i)
{
    const u32 k = step * UNROLL + i, load = k % 2 * 4 + k / 2 % 2 * 2 + k / 4;
    return chunk + (threadIdx.x % 32 + load * 32) * LOAD_BYTES;
}

// PART: of the chunk there is a part only, up to `end`. What is missing of it is not loaded.
template <bool ALIGNED, bool PART>
__device__ __forceinline__ void load_step(vector (&v)[UNROLL], u64 chunk, u64 end,
                                          u32 step, const values &given)
{
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 at = place_of(chunk, step, i);
        if (!PART || at + LOAD_BYTES <= end) v[i] = bring_vector<ALIGNED>(at, given);
    }
}

// A step's loads, neighbours first. `edge` is the value of the vector of which there is a part.
template <bool PART>
__device__ __forceinline__ accumulator fold_step(const vector (&v)[UNROLL], u64 chunk, u64 end,
                                                u32 step, accumulator edge, const values &given)
{
    accumulator a[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u64 at = place_of(chunk, step, i);
        a[i] = fold_vector(v[i], given);
        if (PART && at + LOAD_BYTES > end) a[i] = at < end ? edge : record{0.0f, 0.0f};
    }
    a[0] = combine(a[0], a[1], given);
    a[2] = combine(a[2], a[3], given);
    a[0] = combine(a[0], a[2], given);
    return a[0];
}

// Lane 0 returns the combination of the lanes' values, the upper half combined into the lower.
__device__ __forceinline__ accumulator reduce_lanes(accumulator a, const values &given)
{
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 16), __shfl_down_sync(0xffffffff, a.other, 16)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 8), __shfl_down_sync(0xffffffff, a.other, 8)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 4), __shfl_down_sync(0xffffffff, a.other, 4)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 2), __shfl_down_sync(0xffffffff, a.other, 2)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 1), __shfl_down_sync(0xffffffff, a.other, 1)}, given);
    return a;
}

// A run of chunks of a warp from that address on: whole ones, and behind them a part of one, if the row ends
// there.
struct run {
    u64 at;
    u32 whole, part_bytes;
};

// At most so many chunks of those between the two addresses.
__device__ __forceinline__ run run_between(u64 at, u64 end, u32 most)
{
    const u64 left = at < end ? end - at : 0;
    if (left >= most * CHUNK_BYTES) return run{at, most, 0};
    return run{at, (u32)left / (u32)CHUNK_BYTES, (u32)left % (u32)CHUNK_BYTES};
}

// Asks for the first step of a run, if it has any.
template <bool ALIGNED>
__device__ __forceinline__ void load_first(vector (&v)[UNROLL], const run &r, const values &given)
{
    if (r.whole > 0)
        load_step<ALIGNED, false>(v, r.at, 0, 0, given);
    else if (r.part_bytes > 0)
        load_step<ALIGNED, true>(v, r.at, r.at + r.part_bytes, 0, given);
}

// Lane 0 returns the value of the first chunk of a run, whose first step is on its way. The first step
// of `next` is asked for before the last one of the chunk is done with.
template <bool ALIGNED, bool PART>
__device__ __forceinline__ accumulator take_chunk(vector (&v)[UNROLL], const run &own, accumulator edge,
                                                  const run &next, const values &given)
{
    const u64 end = own.at + own.part_bytes;  // of a part
    accumulator part[STEPS];
#pragma unroll
    for (u32 i = 0; i < STEPS; i++) {
        part[i] = fold_step<PART>(v, own.at, end, i, edge, given);
        if (i + 1 < STEPS)
            load_step<ALIGNED, PART>(v, own.at, end, i + 1, given);
        else
            load_first<ALIGNED>(v, next, given);
    }
    part[0] = combine(part[0], part[1], given);
    return reduce_lanes(part[0], given);
}

// Adds the value of chunk number c of a run, which lane 0 has, to those that wait: neighbours are
// combined.
__device__ __forceinline__ accumulator carry(accumulator waiting, accumulator a, u32 c, const values &given)
{
    u32 level = 0;
    if (c & 1) a = record{__shfl_sync(0xffffffff, a.sum, 0), __shfl_sync(0xffffffff, a.other, 0)};
    for (; c >> level & 1; level++) a = combine(record{__shfl_sync(0xffffffff, waiting.sum, level), __shfl_sync(0xffffffff, waiting.other, level)}, a, given);
    return threadIdx.x % 32 == level ? a : waiting;
}

// Lane 0 returns the value of a run of n chunks, which wait: behind them is nothing.
__device__ __forceinline__ accumulator settle(accumulator waiting, u32 n, const values &given)
{
    if (n <= 1) return waiting; // lane 0 has the only one, or nothing waits
    accumulator a = record{0.0f, 0.0f};
    for (u32 level = 0; n >> level; level++)
        if (n >> level & 1) a = combine(record{__shfl_sync(0xffffffff, waiting.sum, level), __shfl_sync(0xffffffff, waiting.other, level)}, a, given);
    return a;
}

// Lane 0 returns the value of a run whose first step is on its way. The first step of the run `next` is
// asked for before the last one is done with: a warp that has no chunks of a run has none of the next.
template <bool ALIGNED>
__device__ __forceinline__ accumulator take_run(vector (&v)[UNROLL], run own, const run &next, const values &given)
{
    // Lane i of `waiting` has the value of 2^i chunks that waits for its neighbour.
    accumulator waiting = record{0.0f, 0.0f};
    u32 taken = 0;
    const u32 behind = own.part_bytes % (u32)LOAD_BYTES;
    accumulator edge = record{0.0f, 0.0f};
    if (behind > 0) {
        // Its loads are asked for while those of the first step are on their way.
        const u64 end = own.at + own.whole * CHUNK_BYTES + own.part_bytes;
        edge = take_edge(end - behind, end, given);
    }
    while (own.whole > 0) {
        const run rest = {own.at + CHUNK_BYTES, own.whole - 1, own.part_bytes};
        const bool is_last = rest.whole + rest.part_bytes == 0;
        const run further = {is_last ? next.at : rest.at, is_last ? next.whole : rest.whole,
                             is_last ? next.part_bytes : rest.part_bytes};
        waiting = carry(waiting, take_chunk<ALIGNED, false>(v, own, edge, further, given), taken++, given);
        own = rest;
    }
    if (own.part_bytes > 0)
        waiting = carry(waiting, take_chunk<ALIGNED, true>(v, own, edge, next, given), taken++, given);
    return settle(waiting, taken, given);
}

__device__ __forceinline__ void finish(float *output, u64 segment, accumulator a, u64 count, const values &given)
{
    a = combine(record{0.0f, 0.0f}, a, given);
    write(&output[segment], a, count, given);
}

// The first lane returns the value of `bytes` bytes of elements side by side, by a warp. A call of it costs sums a
// fifth of their time; what takes long to combine would take NVRTC a minute in five places.
__device__ __forceinline__ accumulator reduce_run(u64 begin, u64 bytes, const values &given)
{
    const run own = {begin, (u32)(bytes / CHUNK_BYTES), (u32)(bytes % CHUNK_BYTES)}, none = {0, 0, 0};
    vector v[UNROLL];
    if (begin % LOAD_BYTES == 0) {
        load_first<true>(v, own, given);
        return take_run<true>(v, own, none, given);
    }
    load_first<false>(v, own, given);
    return take_run<false>(v, own, none, given);
}

// Lists the lanes of the mask: how many they are. All lanes of the warp call it.
__device__ __forceinline__ u32 list_lanes(u32 mask, unsigned char *order)
{
    const u32 lane = threadIdx.x % 32;
    __syncwarp();
    if (mask >> lane & 1) order[__popc(mask & ((1u << lane) - 1))] = lane;
    __syncwarp();
    return __popc(mask);
}

constexpr u32 PARTS = 4;  // vectors of a lane
constexpr u64 SHORT_BYTES = PARTS * LOAD_BYTES;  // that a lane takes at once

// The value of `bytes` bytes of elements, of which this lane has every WIDE-th vector from number
// `rank` on.
template <u32 WIDE, bool ALIGNED>
__device__ __forceinline__ accumulator take_vectors(u64 begin, u32 bytes, u32 rank, const values &given)
{
    const u32 behind = bytes % LOAD_BYTES;
    // All loads before the first use, with the bits of their numbers reversed: neighbours are those that
    // halving combines.
    vector v[PARTS];
    u32 at[PARTS];
#pragma unroll
    for (u32 i = 0; i < PARTS; i++) {
        at[i] = (rank + (i % 2 * 2 + i / 2) * WIDE) * LOAD_BYTES;
        if (at[i] + LOAD_BYTES <= bytes) v[i] = bring_vector<ALIGNED>(begin + at[i], given);
    }
    accumulator a[PARTS], edge = record{0.0f, 0.0f};
    if (behind > 0) edge = take_edge(begin + bytes - behind, begin + bytes, given);
#pragma unroll
    for (u32 i = 0; i < PARTS; i++) {
        a[i] = fold_vector(v[i], given);
        if (at[i] + LOAD_BYTES > bytes) a[i] = at[i] < bytes ? edge : record{0.0f, 0.0f};
    }
    return combine(combine(a[0], a[1], given), combine(a[2], a[3], given), given);
}

// The lanes in the mask have segments of at most WIDE * SHORT_BYTES bytes; WIDE lanes take one.
template <u32 WIDE>
__device__ __forceinline__ void reduce_short(u32 mask, u64 begin, u64 bytes, unsigned char *order, u64 base,
                                             float *output, const values &given)
{
    if (mask == 0) return;
    const u32 lane = threadIdx.x % 32, n = list_lanes(mask, order);
    for (u32 next = lane / WIDE; __any_sync(ALL, next < n); next += 32 / WIDE) {
        const bool is_there = next < n;
        const u32 whose = order[is_there ? next : 0];
        const u64 from = __shfl_sync(ALL, begin, whose);
        const u32 its = __shfl_sync(ALL, (u32)bytes, whose), rank = lane % WIDE;
        accumulator a;
        if (__all_sync(ALL, from % LOAD_BYTES == 0))
            a = take_vectors<WIDE, true>(from, is_there ? its : 0, rank, given);
        else
            a = take_vectors<WIDE, false>(from, is_there ? its : 0, rank, given);
        if (WIDE > 4) a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 4), __shfl_down_sync(0xffffffff, a.other, 4)}, given);
        if (WIDE > 2) a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 2), __shfl_down_sync(0xffffffff, a.other, 2)}, given);
        if (WIDE > 1) a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 1), __shfl_down_sync(0xffffffff, a.other, 1)}, given);
        if (is_there && rank == 0) finish(output, base + whose, a, its / sizeof(element), given);
    }
}

// The partial results of the blocks, in the order of their indices.
__device__ __forceinline__ accumulator *partials(void *scratch)
{
    return (accumulator *)((char *)scratch + 524544);
}

constexpr u32 AT_ONCE = 4;  // values that a thread asks for at a time

// The elements of a node: a power of two of chunks, so that there is work for fewer than NODES.
__device__ __forceinline__ u64 span_of(u64 total)
{
    u64 span = 2 * CHUNK;
    while (total / span >= NODES) span *= 2;
    return span;
}

// A node's place, by the multiples of `span` that lie before it: those before its segment, and the node's
// number. The last node of a long segment and the first one of the next may have as many before them.
__device__ __forceinline__ u32 place_of(u32 before, u32 node)
{
    return 4128 + 2 * (before + node) + (node > 0);
}

static_assert(4128 * sizeof(accumulator) == TABLE_BYTES, "");

__device__ __forceinline__ u32 *counter_of(void *scratch, u32 before)
{
    return (u32 *)((char *)scratch + 256) + before;
}

// Leaves the value of a node, for another warp, perhaps of the same block: every access of it is strong.
__device__ __forceinline__ void leave(void *scratch, u32 place, accumulator a)
{
    u32 *to = (u32 *)(partials(scratch) + place);
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(to + 0), "r"((u32)__float_as_uint(a.sum)) : "memory");
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(to + 1), "r"((u32)__float_as_uint(a.other)) : "memory");
}

__device__ __forceinline__ accumulator node_at(void *scratch, u32 place)
{
    const u32 *from = (const u32 *)(partials(scratch) + place);
    u32 half0;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(half0) : "l"(from + 0) : "memory");
    u32 half1;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(half1) : "l"(from + 1) : "memory");
    return record{__uint_as_float(half0), __uint_as_float(half1)};
}

// The first lane returns the combination of all nodes of a segment, neighbours first.
__device__ __forceinline__ accumulator reduce_nodes(void *scratch, u32 before, u32 nodes, const values &given)
{
    // A lane takes an aligned run of nodes.
    u32 each = 1;
    while (each * 32 < nodes) each *= 2;
    const u32 first = threadIdx.x % 32 * each;
    accumulator level[6], a = record{0.0f, 0.0f};
    u32 taken = 0;
    for (u32 next = 0; next < each; next += AT_ONCE, taken++) {
        accumulator value[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            const u32 node = first + next + i;
            value[i] = record{0.0f, 0.0f};
            if (next + i < each && node < nodes) value[i] = node_at(scratch, place_of(before, node));
        }
        value[0] = combine(value[0], value[1], given);
        value[2] = combine(value[2], value[3], given);
        value[0] = combine(value[0], value[2], given);
            do {
                if ((taken >> 0 & 1) == 0) {
                    level[0] = value[0];
                    break;
                }
                value[0] = combine(level[0], value[0], given);
                if ((taken >> 1 & 1) == 0) {
                    level[1] = value[0];
                    break;
                }
                value[0] = combine(level[1], value[0], given);
                if ((taken >> 2 & 1) == 0) {
                    level[2] = value[0];
                    break;
                }
                value[0] = combine(level[2], value[0], given);
                if ((taken >> 3 & 1) == 0) {
                    level[3] = value[0];
                    break;
                }
                value[0] = combine(level[3], value[0], given);
                if ((taken >> 4 & 1) == 0) {
                    level[4] = value[0];
                    break;
                }
                value[0] = combine(level[4], value[0], given);
                level[5] = value[0];
            } while (false);
    }
    // A power of two of runs were taken.
#pragma unroll
    for (u32 k = 0; k <= 5; k++)
        if (taken == 1u << k) a = level[k];
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 1), __shfl_down_sync(0xffffffff, a.other, 1)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 2), __shfl_down_sync(0xffffffff, a.other, 2)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 4), __shfl_down_sync(0xffffffff, a.other, 4)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 8), __shfl_down_sync(0xffffffff, a.other, 8)}, given);
    a = combine(a, record{__shfl_down_sync(0xffffffff, a.sum, 16), __shfl_down_sync(0xffffffff, a.other, 16)}, given);
    return a;
}

// Takes the nodes of a segment that begin in a warp's stretch. `at` is the work before the segment, and
// its count elements, more than one node's, are from `from` on.
__device__ __forceinline__ void reduce_long(const stretch &mine, u64 segment, u64 at, u64 from, u64 count,
                                            u64 span, float *output, void *scratch, const values &given)
{
    const u32 lane = threadIdx.x % 32;
    const u64 nodes = (count + span - 1) / span;
    const u64 first = at >= mine.from ? 0 : (mine.from - at + span - 1) / span;
    const u64 end = (mine.to - at + span - 1) / span, stop = end < nodes ? end : nodes;
    if (first >= stop) return;
    const u32 before = at / span;
    for (u64 node = first; node < stop; node++) {
        const u64 left = count - node * span, n = left < span ? left : span;
        const accumulator a = reduce_run(from + node * span * sizeof(element), n * sizeof(element), given);
        if (lane == 0) leave(scratch, place_of(before, node), a);
    }
    // The warp that leaves the last node has seen all.
    bool is_last = false;
    if (lane == 0) {
        const u32 own = stop - first;
        __threadfence();
        is_last = atomicAdd(counter_of(scratch, before), own) + own == nodes;
        if (is_last) *counter_of(scratch, before) = 0;
        __threadfence();
    }
    if (!__any_sync(ALL, is_last)) return;
    const accumulator a = reduce_nodes(scratch, before, nodes, given);
    if (lane == 0) finish(output, segment, a, count, given);
}

// Makes results of every step-th of the segments from i on, by a warp: offsets decrease, and what was
// dealt does not hold.
__device__ __forceinline__ void reduce_slowly(const element *input, const segments &s, u64 i, u64 step,
                                              float *output, const values &given)
{
#pragma unroll 1
    for (; i < s.count; i += step) {
        const segment one = segment_of(s, i);
        const u64 begin = (u64)(input + one.offset);
        const accumulator a = reduce_run(begin, one.count * sizeof(element), given);
        if (threadIdx.x % 32 == 0) finish(output, i, a, one.count, given);
    }
}

// Makes what begins in a warp's stretch. Whether the offsets are seen to decrease.
__device__ __forceinline__ bool reduce_stretch(const stretch &mine, const segments &s, const deal &d,
                                               u64 span, unsigned char *order, const element *input,
                                               float *output, void *scratch, const values &given)
{
    const u32 lane = threadIdx.x % 32;
    const segment nothing = {0, 0, false};
    u64 before = mine.before;
    segment next = mine.first + lane <= mine.last ? segment_of(s, mine.first + lane) : nothing;
    for (u64 base = mine.first; base <= mine.last; base += 32) {
        const segment one = next;
        const u64 i = base + lane;
        const bool is_there = i <= mine.last;
        next = i + 32 <= mine.last ? segment_of(s, i + 32) : nothing;
        u64 at;
        if (s.end) {
            const u64 work = is_there ? COST + one.count : 0, through = scan_warp(work);
            at = before + through - work;
            before += __shfl_sync(ALL, through, 31);
        } else {
            if (are_doubtful(s) && __any_sync(ALL, one.backwards)) return true;
            at = one.offset - d.origin + i * COST;
        }
        const u64 begin = (u64)(is_there ? elements_of(s, input, i, one) : input);
        const u64 bytes = one.count * sizeof(element);
        const bool is_own = is_there && at >= mine.from && at < mine.to && one.count <= span;
        const u32 own = __ballot_sync(ALL, is_own);
        const u32 tiny = __ballot_sync(ALL, bytes <= SHORT_BYTES);
        const u32 small = __ballot_sync(ALL, bytes <= 8 * SHORT_BYTES);
        reduce_short<1>(own & tiny, begin, bytes, order, base, output, given);
        reduce_short<8>(own & small & ~tiny, begin, bytes, order, base, output, given);
        // Segments of one node, and those that have a node that begins here.
        const bool is_long = is_there && one.count > span && at < mine.to && at + one.count > mine.from;
        u32 rest = __ballot_sync(ALL, is_long) | (own & ~small);
        while (rest) {
            const u32 whose = __ffs(rest) - 1;
            rest &= rest - 1;
            const u64 from = __shfl_sync(ALL, begin, whose), n = __shfl_sync(ALL, one.count, whose);
            const u64 place = __shfl_sync(ALL, at, whose);
            if (n > span) {
                reduce_long(mine, base + whose, place, from, n, span, output, scratch, given);
            } else {
                const accumulator a = reduce_run(from, n * sizeof(element), given);
                if (lane == 0) finish(output, base + whose, a, n, given);
            }
        }
    }
    return false;
}

// A block's part of the work. DOUBTFUL: offsets may decrease.
template <bool DOUBTFUL>
__device__ __forceinline__ void reduce_all(const element *input, const segments &s, float *output,
                                           void *scratch, const values &given)
{
    if (s.count == 0) return;
    const deal d = deal_of(s, scratch);
    const u64 blocks = (d.total + d.stretch * WARPS - 1) / (d.stretch * WARPS);
    if (blockIdx.x >= blocks) return;
    __shared__ unsigned char order[WARPS][32];
    const u32 warp = threadIdx.x / 32;
    stretch mine;
    bool falls = begin_stretch(mine, s, d, scratch);
    if (!falls)
        falls = reduce_stretch(mine, s, d, span_of(d.total), order[warp], input, output, scratch, given);
    if (!DOUBTFUL) return;
    // Blocks count themselves, and in the upper half those that saw offsets decrease.
    const u32 decrease = __syncthreads_or(falls);
    __shared__ bool redoes;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const u32 one = decrease ? 0x10001 : 1, sum = atomicAdd((u32 *)scratch, one) + one;
        const bool all = (sum & 0xffff) == blocks;
        if (all) *(u32 *)scratch = 0;
        redoes = all && sum > 0xffff;
        __threadfence();
    }
    __syncthreads();
    if (!redoes) return;
    // Segments whose nodes did not all come have left counters.
    for (u32 i = threadIdx.x; i < NODES; i += BLOCK) *counter_of(scratch, i) = 0;
    reduce_slowly(input, s, warp, WARPS, output, given);
}

extern "C" __global__ void __launch_bounds__(256, 2)
redtune_reduce(const element *input, segments s, float *output, void *scratch, u32 overlaps, arguments rest)
{
    const values given = values_of(rest, input, output);
    reduce_all<true>(input, s, output, scratch, given);
}

extern "C" __global__ void __launch_bounds__(256, 2)
redtune_scattered(const element *input, segments s, float *output, void *scratch, u32 overlaps, arguments rest)
{
    const values given = values_of(rest, input, output);
    reduce_all<false>(input, s, output, scratch, given);
}

