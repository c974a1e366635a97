//@ -- Of the kernel of any axes, with lanes=spans: wide loads where elements do not fill them, because the innermost
//@ -- reduced axis has a small step, or begins and ends anywhere.
//@ takes op, given, indexed, dtype, layout, load, load_beside, parts, single
//@ local loads = require "lib/load"
//@ -- Words of a second input, which lies anywhere: those that its elements are in, of elements that share words.
//@ local two, beside = given.inputs > 1, loads.layout(dtype, math.max(1, 4 // dtype.bytes))
//@ local shares, words = dtype.bytes < 4, layout.words
// A span is what the innermost reduced axis takes in memory; it is loaded from the multiple of LOAD_BYTES before its
// first element on. Of each load a mask has the elements that count.
struct spans {
    u64 low, high;  // all elements of the array are between these addresses
    u32 loads;      // of a span, at most
    u32 count;
    u32 reach;      // elements from a span's first to its last
    u32 step, pattern;
};

constexpr u32 ALL = (u32)((1ull << VEC) - 1);

__device__ __forceinline__ u32 count_of_spans(const strides &s)
{
    u32 count = 1;
    for (u32 i = 1; i < s.reduced_axes; i++) count *= (u32)s.reduced[i].size;
    return count;
}

// Of the elements from `from` on. Spans begin at as many places within a load as the axes' steps have it.
__device__ __forceinline__ spans spans_of(const strides &s, const element *from, const element *input)
{
    spans all;
    all.low = (u64)(input + s.reach_first);
    all.high = all.low + s.reach * sizeof(element);
    all.step = (u32)s.reduced[0].x;
    all.reach = (u32)(s.reduced[0].size - 1) * all.step;
    all.count = count_of_spans(s);
    all.pattern = 0;
#pragma unroll
    for (u32 k = 0; k < VEC; k++)
        if (k % all.step == 0) all.pattern |= 1u << k;
    const u32 apart = s.spans_apart < VEC ? (u32)s.spans_apart : VEC;
    const u32 most = (u32)((u64)from % LOAD_BYTES / sizeof(element)) % apart + VEC - apart;
    all.loads = (most + all.reach) / VEC + 1;
    return all;
}

//@ for _, x in ipairs(two and { "x", "y" } or { "x" }) do
// Where a span's first element is@{x == "y" and " in the second input" or ""}.
__device__ __forceinline__ u64 @{x == "y" and "second_" or ""}span_at(const strides &s, const element *from, u32 span)
{
    u32 i = 1;
#pragma unroll 1
    for (; i + 1 < s.reduced_axes; i++) {
        const u32 further = (u32)__umul64hi(s.reduced[i].reciprocal, span);
        from += (i64)(span - further * (u32)s.reduced[i].size) * s.reduced[i].@{x};
        span = further;
    }
    return (u64)(from + (i64)span * (s.reduced_axes > 1 ? s.reduced[i].@{x} : 0));
}

//@ end
// The elements that count of the load of number j, of a span whose first element is there.
__device__ __forceinline__ u32 counted_of(const spans &all, u64 start, u32 j)
{
    const u32 off = (u32)(start % LOAD_BYTES / sizeof(element));
    const int left = (int)(off + all.reach - j * VEC);
    u32 counted = all.pattern << off % all.step & ALL;
    if (j == 0) counted = counted >> off << off;
    return left < 0 ? 0 : left < (int)VEC - 1 ? counted & (2u << left) - 1 : counted;
}

//@ local together = not two and parts == 1 and op.part and op.part.counted or nil
//@ if together then
@{together.functions}
//@ end
__device__ __forceinline__ void take_counted(@{given.part} (&part)[LANES], const vector &v, u32 counted@{given.parameter})
{
//@ local x = {}
//@ for j = 0, layout.words * layout.per_word - 1 do
//@     local lane = "part[" .. j % parts .. "]"
//@     x[j] = dtype.unpack("v.word[" .. j // layout.per_word .. "]", j % layout.per_word)
//@     if together then
//@         x[j] = together.value(x[j])
//@     else
    if (counted >> @{j} & 1) @{lane} = take_element(@{lane}, @{x[j]}@{two and ", " .. dtype.unpack("v.other[" .. j // layout.per_word .. "]", j % layout.per_word) or ""}, 0@{given.argument});
//@     end
//@ end
//@ if together then
    const @{together.c} x[VEC] = {@{table.concat(x, ", ", 0, #x)}};
    part[0] = @{together.take}(part[0], x, counted);
//@ end
}

//@ if two then
// The second input's elements of a load, from `at` on. Those that share words: all of these, of which `off` bits stand
// before the first element; realign() puts them in their places.
struct second_words {
    @{beside.word.c} word[@{words + (shares and 1 or 0)}];
    u32 off;
};

__device__ __forceinline__ second_words load_second(u64 at, u32 counted)
{
    second_words b = {};
//@     if shares then
    b.off = (u32)at % 4 * 8;
    at = at / 4 * 4;
//@     end
//@     for k = 0, words - 1 do
    @{loads.guarded(beside, load_beside, "(b.word + " .. k .. ")", "at + " .. k * 4 * math.max(1, dtype.bytes // 4), shares and "counted" or "counted >> " .. k .. " & 1")}
//@     end
//@     if shares then
    @{loads.guarded(beside, load_beside, "(b.word + " .. words .. ")", "at + " .. 4 * words, "counted && b.off")}
//@     end
    return b;
}

__device__ __forceinline__ void realign(vector &v, const second_words &b)
{
#pragma unroll
    for (u32 k = 0; k < @{words}; k++) v.other[k] = @{shares and "__funnelshift_r(b.word[k], b.word[k + 1], b.off)" or "b.word[k]"};
}

// The elements of a load one by one, all before the first use.
__device__ __forceinline__ void take_apart(@{given.part} (&part)[LANES], u64 at, u64 second, u32 counted@{given.parameter})
{
    @{single.word.c} x[VEC][1] = {}, y[VEC][1] = {};
#pragma unroll
    for (u32 k = 0; k < VEC; k++) {
        @{loads.guarded(single, load, "x[k]", "at + k * sizeof(element)", "counted >> k & 1")}
        @{loads.guarded(single, load_beside, "y[k]", "second + k * sizeof(element)", "counted >> k & 1")}
    }
#pragma unroll
    for (u32 k = 0; k < VEC; k++)
        if (counted >> k & 1) part[0] = take_element(part[0], @{dtype.unpack("x[k][0]", 0)}, @{dtype.unpack("y[k][0]", 0)}, 0@{given.argument});
}

//@ else
// Those of a load that would read beside the array, one by one.
__device__ __forceinline__ void take_apart(@{given.part} (&part)[LANES], u64 at, u32 counted@{given.parameter})
{
#pragma unroll 1
    for (u32 k = 0; k < VEC; k++) {
        if (!(counted >> k & 1)) continue;
        @{single.word.c} x[1];
        @{loads.statement(single, "plain", "x", "at + k * sizeof(element)")}
        part[0] = take_element(part[0], @{dtype.unpack("x[0]", 0)}, 0@{given.argument});
    }
}

//@ end
__device__ __forceinline__ void go_to_next(u32 &span, u32 &j, u32 spans_by, u32 loads_by, u32 loads)
{
    span += spans_by;
    j += loads_by;
    if (j >= loads) {
        j -= loads;
        span++;
    }
}

// Whether loads and spans are numbered in 32 bits, and the step has a pattern.
__device__ __forceinline__ bool has_spans(const strides &s)
{
    const i64 step = s.reduced[0].x;
//@ if two then
    if (step != 1 || s.reduced[0].y != 1) return false;
//@ end
    return step > 0 && step < VEC && (step & step - 1) == 0 && s.count >> 31 == 0 && s.reduced[0].size * step + VEC >> 31 == 0;
}

//@ if two then
// A tile of one span's loads, UNROLL of this thread's from that address on, and those of the second input.
template <bool WHOLE>
__device__ __forceinline__ void take_tile_of_run(@{given.part} (&part)[LANES], u64 at, u64 second, u32 left@{given.parameter})
{
    vector v[UNROLL];
    second_words other[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        const u32 there = WHOLE || i * DEPTH < left ? ALL : 0;
        v[i] = {};
        @{loads.guarded(layout, load, "v[i].word", "at + i * (DEPTH * LOAD_BYTES)", "there")}
        other[i] = load_second(second + i * (DEPTH * LOAD_BYTES), there);
    }
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
        realign(v[i], other[i]);
        take_counted(part, v[i], WHOLE || i * DEPTH < left ? ALL : 0@{given.argument});
    }
}

// One span of `reach` elements behind its first: its whole loads have elements before and behind them, and the first
// two threads take what is left at its ends.
__device__ __forceinline__ void take_run(@{given.part} (&part)[LANES], u64 start, u64 second, u32 reach, const share &mine@{given.parameter})
{
    constexpr u32 TILE = UNROLL * DEPTH;
    const u64 body = start / LOAD_BYTES * LOAD_BYTES + LOAD_BYTES;
    const u32 before = (u32)(body - start) / sizeof(element), loads = reach > before ? (reach - before) / VEC : 0;
    const u32 behind = before + loads * VEC;
    const u64 opposite = second + (body - start);
    u32 n = mine.split * TILE + along();
    for (; n - along() + TILE <= loads; n += mine.splits * TILE)
        take_tile_of_run<true>(part, body + (u64)n * LOAD_BYTES, opposite + (u64)n * LOAD_BYTES, 0@{given.argument});
    if (n < loads)
        take_tile_of_run<false>(part, body + (u64)n * LOAD_BYTES, opposite + (u64)n * LOAD_BYTES, loads - n@{given.argument});
    if (mine.split > 0) return;
    for (u32 k = along(); k < 2; k += DEPTH) {
        const u32 first = k ? behind : 0, end = k ? reach + 1 : before < reach + 1 ? before : reach + 1;
        const u32 many = end > first ? end - first : 0;
        take_apart(part, start + first * sizeof(element), second + first * sizeof(element), (1u << many) - 1@{given.argument});
    }
}

//@ end
// This thread's share of its result. Loads are dealt as reduce_vectors deals vectors.
__device__ __forceinline__ void reduce_spans(accumulator (&a)[OWN], const origin &inputs, const strides &s,
                                             u64 first, const share &mine, const element *input@{given.parameter})
{
    constexpr u32 TILE = UNROLL * DEPTH;
    const bool is_there = first < s.results;
    const @{two and "origin both" or "element *from"} = moved(inputs, place_of_result(s, is_there ? first : 0))@{two and "" or ".x"};
//@ if two then
    const element *from = both.x;
//@ end
    const spans all = spans_of(s, from, input);
    const u32 end = is_there && s.count ? all.count : 0, begin = mine.split * TILE + along();
    const u32 spans_by = DEPTH / all.loads, loads_by = DEPTH % all.loads, skipped = (mine.splits - 1) * TILE;
    const u32 spans_skipped = skipped / all.loads, loads_skipped = skipped % all.loads;
    u32 span = begin / all.loads, j = begin % all.loads;
//@ include "lib/begin_parts.cu"
//@ if two then
    if (end == 1) {
        take_run(part, (u64)from, (u64)both.y, all.reach, mine@{given.argument});
        span = end;
    }
//@ end
    while (span < end) {
        vector v[UNROLL];
//@ if two then
        second_words other[UNROLL];
//@ end
        u32 counted[UNROLL], beside = 0;
        const u32 tile_span = span, tile_j = j;
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) {
            const u64 start = span_at(s, from, span), at = start / LOAD_BYTES * LOAD_BYTES + (u64)j * LOAD_BYTES;
            counted[i] = span < end ? counted_of(all, start, j) : 0;
            if (at < all.low || at + LOAD_BYTES > all.high) {
                if (counted[i]) beside |= 1u << i;
                counted[i] = 0;
            }
            v[i] = {};
//@ if two then
            const u64 second = second_span_at(s, both.y, span) + (at - start);
//@     if shares then
            // Words have elements before and behind their own.
            const i64 e = (i64)(at - start) / (i64)sizeof(element);
            if (counted[i] && (e < 1 || e + VEC > all.reach)) {
                beside |= 1u << i;
                counted[i] = 0;
            }
//@     end
//@ end
            @{loads.guarded(layout, load, "v[i].word", "at", "counted[i]")}
//@ if two then
            other[i] = load_second(second, counted[i]);
//@ end
            go_to_next(span, j, spans_by, loads_by, all.loads);
        }
        for (; beside; beside &= beside - 1) {
            u32 n = tile_j + DEPTH * (u32)(__ffs((int)beside) - 1);
            const u64 start = span_at(s, from, tile_span + n / all.loads);
//@ if two then
            const u64 second = second_span_at(s, both.y, tile_span + n / all.loads);
//@ end
            n %= all.loads;
//@ if two then
            const u64 at = start / LOAD_BYTES * LOAD_BYTES + (u64)n * LOAD_BYTES;
            take_apart(part, at, second + (at - start), counted_of(all, start, n)@{given.argument});
//@ else
            take_apart(part, start / LOAD_BYTES * LOAD_BYTES + (u64)n * LOAD_BYTES, counted_of(all, start, n)@{given.argument});
//@ end
        }
//@ if two then
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) realign(v[i], other[i]);
//@ end
#pragma unroll
        for (u32 i = 0; i < UNROLL; i++) take_counted(part, v[i], counted[i]@{given.argument});
        go_to_next(span, j, spans_skipped, loads_skipped, all.loads);
    }
#pragma unroll
    for (u32 j = 0; j < OWN; j++) a[j] = @{op.identity};
#pragma unroll
    for (u32 j = 0; j < LANES; j++) a[0] = combine(a[0], @{given.widen("part[j]")}@{given.argument});
}

