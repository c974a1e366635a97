-- The CUDA text of superaccumulators (lib/superaccumulator.lua), whose @{name} are values of a kind.
local text = {}

text.declaration = [[
constexpr u32 WORDS_OF_SUM = @{words};

// An integer of WORDS_OF_SUM * 32 bits, in two's complement, the lowest word first.
struct record {
    u32 word[WORDS_OF_SUM];
    u32 strange;  // 1: there is an infinity, 2: a negative one, 3: both, or a NaN
};

__device__ __forceinline__ record shuffled_down(record a, u32 n)
{
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++) a.word[i] = __shfl_down_sync(0xffffffff, a.word[i], n);
    a.strange = __shfl_down_sync(0xffffffff, a.strange, n);
    return a;
}

__device__ __forceinline__ record fetched(record a, u32 lane)
{
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++) a.word[i] = __shfl_sync(0xffffffff, a.word[i], lane);
    a.strange = __shfl_sync(0xffffffff, a.strange, lane);
    return a;
}

__device__ __forceinline__ record reloaded(const record *from)
{
    record a;
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++) a.word[i] = __ldcg(from->word + i);
    a.strange = __ldcg(&from->strange);
    return a;
}]]

text.functions = [[
// A number's place among the bits of a sum, and what it is there; 0 of a number that is none.
struct digits {
    u32 bin, shift, strange;
    u64 integer;
    bool negative;
};

__device__ __forceinline__ digits digits_of(@{c} x)
{
    const @{word} bits = @{bits};
    const u32 exponent = (u32)(bits >> @{fraction}) & @{exponents};
    const @{word} low = bits & (((@{word})1 << @{fraction}) - 1);
    const u32 place = exponent - (exponent > 0);
    digits d;
    d.negative = (bits >> @{sign}) > 0;
    d.integer = low | (@{word})(exponent > 0) << @{fraction};
    d.bin = place / 32;
    d.shift = place % 32;
    d.strange = exponent < @{exponents} ? 0 : low > 0 ? 3 : 1 + d.negative;
    return d;
}

__device__ __forceinline__ record no_sum()
{
    record a;
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++) a.word[i] = 0;
    a.strange = 0;
    return a;
}

__device__ __forceinline__ record add_sums(record a, record b)
{
    u64 carry = 0;
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++) {
        carry += (u64)a.word[i] + b.word[i];
        a.word[i] = (u32)carry;
        carry >>= 32;
    }
    a.strange |= b.strange;
    return a;
}

__device__ __forceinline__ record negated(record a)
{
    u64 carry = 1;
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++) {
        carry += (u32)~a.word[i];
        a.word[i] = (u32)carry;
        carry >>= 32;
    }
    return a;
}

__device__ __forceinline__ record sum_of(@{c} x)
{
    const digits d = digits_of(x);
    const u64 low = d.integer << d.shift, high = d.shift > 0 ? d.integer >> (64 - d.shift) : 0;
    record a;
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++)
        a.word[i] = i == d.bin ? (u32)low : i == d.bin + 1 ? (u32)(low >> 32) : i == d.bin + 2 ? (u32)high : 0;
    if (d.negative) a = negated(a);
    a.strange = d.strange;
    return a;
}

// One number after the other, where a thread has no bins: only words that change are touched.
__device__ __forceinline__ void append(record &a, @{c} x)
{
    const digits d = digits_of(x);
    const u64 low = d.integer << d.shift, high = d.shift > 0 ? d.integer >> (64 - d.shift) : 0;
    i64 carry = 0;
#pragma unroll 1
    for (u32 i = 0; d.bin + i < WORDS_OF_SUM && (i < 3 || carry != 0); i++) {
        const i64 piece = i == 0 ? (u32)low : i == 1 ? low >> 32 : i == 2 ? high : 0;
        carry += a.word[d.bin + i] + (d.negative ? -piece : piece);
        a.word[d.bin + i] = (u32)carry;
        carry >>= 32;
    }
    a.strange |= d.strange;
}

// The bits of the float that is nearest to the sum, of two the even one: with so many digits, and
// the least number above zero at that bit of the sum.
__device__ __forceinline__ u64 rounded(record a, int digits, int lowest, u64 infinity, u32 sign)
{
    const bool negative = (int)a.word[WORDS_OF_SUM - 1] < 0;
    if (a.strange) {
        if (a.strange == 3) return infinity | 1ull << (digits - 2);
        return (u64)(a.strange == 2) << sign | infinity;
    }
    if (negative) a = negated(a);
    // The highest word that is not zero, the two behind it, and whether there is more.
    u32 word[3] = {0, 0, 0}, at = 0;
    bool rest = false;
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++)
        if (a.word[i] > 0) at = i;
#pragma unroll
    for (u32 i = 0; i < WORDS_OF_SUM; i++) {
        if (i == at) word[0] = a.word[i];
        if (i + 1 == at) word[1] = a.word[i];
        if (i + 2 == at) word[2] = a.word[i];
        rest |= i + 2 < at && a.word[i] > 0;
    }
    if (word[0] == 0) return 0;
    const u32 lead = __clz(word[0]);
    const u64 top = ((u64)word[0] << 32 | word[1]) << lead | (lead > 0 ? word[2] >> (32 - lead) : 0);
    rest |= word[2] << lead > 0;
    // The bit of the sum that is the last one kept, and how many are, from the highest on.
    const int highest = 32 * at + 31 - lead, last = max(highest - digits + 1, lowest);
    const int kept = highest - last + 1;
    u64 integer = kept > 0 ? top >> (64 - kept) : 0;
    const u64 left = kept > 0 ? top << kept : kept < 0 ? 1 : top;
    integer += left >> 63 && (rest || left << 1 > 0 || integer % 2 > 0);
    const u64 bits = integer + ((u64)(last - lowest) << (digits - 1));
    return (u64)negative << sign | (bits < infinity ? bits : infinity);
}
]]

text.bins = [[
__shared__ i64 bins[@{bins}][BLOCK];  // a column of them to each thread

// What a thread has of a sum beside its bins: what is above them, and the elements since carries
// were brought there.
struct portion {
    i64 above;
    u32 taken, strange;
@{fields}};

__device__ __forceinline__ portion begin_portion()
{
#pragma unroll 8
    for (u32 i = 0; i < @{bins}; i++) bins[i][threadIdx.x] = 0;
    return portion{@{begin}};
}

__device__ __forceinline__ void bring_carries(portion &p)
{
    i64 carry = 0;
#pragma unroll 8
    for (u32 i = 0; i < @{bins}; i++) {
        carry += bins[i][threadIdx.x];
        bins[i][threadIdx.x] = (u32)carry;
        carry >>= 32;
    }
    p.above += carry;
    p.taken = 0;
}

__device__ __forceinline__ void add_number(portion &p, @{c} x)
{
    const digits d = digits_of(x);
    i64 *const bin = &bins[d.bin][threadIdx.x];
    const u64 low = d.integer << d.shift;
@{add}
    if (d.strange) p.strange |= d.strange;
}

@{several}__device__ __forceinline__ record sum_of_portion(portion p)
{
    record a;
    i64 carry = 0;
@{settle}#pragma unroll
    for (u32 i = 0; i < @{bins}; i++) {
        carry += bins[i][threadIdx.x];
        a.word[i] = (u32)carry;
        carry >>= 32;
    }
    carry += p.above;
    a.word[@{bins}] = (u32)carry;
    a.word[@{bins} + 1] = (u32)(carry >> 32);
    a.word[@{bins} + 2] = (u32)(carry >> 63);
    a.strange = p.strange;
    return a;
}
]]

-- How a thread takes elements, one or several at once.
text.straight = [[
__device__ __forceinline__ portion add_to_portion(portion p, @{c} x)
{
    add_number(p, x);
    if (++p.taken >= @{most}) bring_carries(p);
    return p;
}

template <typename T, u32 N>
__device__ __forceinline__ portion add_all(portion p, const T (&x)[N])
{
    static_assert(N <= 16, "");
#pragma unroll
    for (u32 i = 0; i < N; i++) add_number(p, x[i]);
    p.taken += N;
    if (p.taken >= @{most}) bring_carries(p);
    return p;
}

]]

-- The least of a group is kept as twice its magnitude less 1: a zero is never the least then, and a
-- power of two counts as the exponent below.
text.waiting = [[
constexpr u32 TOGETHER = 512;  // elements whose sum waits at most
constexpr int WITHIN = 20;     // 53 bits, less 24 of an element and 9 of their number

// Whether sums of TOGETHER such elements, and of those between them, lose nothing in f64.
__device__ __forceinline__ bool loses_nothing(float largest, u32 least)
{
    return largest < 0x1p72f && (int)(__float_as_uint(largest) >> 23) - (int)(least >> 24) <= WITHIN;
}

// Adds what waits to two bins, of which it takes 53 bits: it is an integer, in units of the least
// number above zero. A NaN waits like any number.
__device__ __forceinline__ void add_waiting(portion &p)
{
    const u64 bits = (u64)__double_as_longlong(p.sum), digits = bits & ((1ull << 52) - 1);
    const int exponent = (int)(bits >> 52) & 2047, place = exponent - 926;
    const bool negative = bits >> 63;
    if (exponent == 2047) p.strange |= 3;
    u64 integer = exponent == 0 || exponent == 2047 ? 0 : digits | 1ull << 52;
    if (place < 0) integer = place > -64 ? integer >> -place : 0;
    const u32 at = place < 0 || exponent == 2047 ? 0 : place, shift = at % 32;
    const u64 low = integer << shift;
    const i64 behind = (u32)low, before = low >> 32 | (shift > 0 ? integer >> (64 - shift) << 32 : 0);
    i64 *const bin = &bins[at / 32][threadIdx.x];
    bin[0] += negative ? -behind : behind;
    bin[BLOCK] += negative ? -before : before;
    p.sum = 0;
    p.largest = 0;
    p.least = 0xffffffff;
    p.waiting = 0;
}

// Elements taken at once, and between which magnitudes they are.
template <u32 N> struct group {
    float x[N], largest;
    u32 least;
    double sum;
};

// A group that what waits has no room for. It is a function that is called: it comes hardly ever, and
// would stand at each load.
template <u32 N>
__device__ __noinline__ portion add_apart(portion p, group<N> g)
{
    if (p.waiting > 0) {
        add_waiting(p);
        p.taken++;
    }
    if (loses_nothing(g.largest, g.least)) {
        p.sum = g.sum;
        p.largest = g.largest;
        p.least = g.least;
        p.waiting = N;
    } else {
#pragma unroll 1
        for (u32 i = 0; i < N; i++) {
            float each = g.x[0];
#pragma unroll
            for (u32 k = 1; k < N; k++)
                if (k == i) each = g.x[k];
            add_number(p, each);
        }
        p.taken += N;
    }
    if (p.taken >= @{most}) bring_carries(p);
    return p;
}

template <u32 N>
__device__ __forceinline__ portion add_all(portion p, const float (&x)[N])
{
    static_assert(N <= 16, "");
    float largest = 0;
    u32 least = 0xffffffff;
    double sum[N];
#pragma unroll
    for (u32 i = 0; i < N; i++) {
        largest = fmaxf(largest, fabsf(x[i]));
        const u32 magnitude = 2 * __float_as_uint(x[i]) - 1;
        least = magnitude < least ? magnitude : least;
        sum[i] = x[i];
    }
#pragma unroll
    for (u32 n = N; n > 1; n -= n / 2)
#pragma unroll
        for (u32 i = 0; i < n / 2; i++) sum[i] += sum[n - n / 2 + i];
    const float largest_of_all = fmaxf(p.largest, largest);
    const u32 least_of_all = p.least < least ? p.least : least;
    if (p.waiting + N <= TOGETHER && loses_nothing(largest_of_all, least_of_all)) {
        p.sum += sum[0];
        p.largest = largest_of_all;
        p.least = least_of_all;
        p.waiting += N;
        return p;
    }
    group<N> g = {{}, largest, least, sum[0]};
#pragma unroll
    for (u32 i = 0; i < N; i++) g.x[i] = x[i];
    return add_apart(p, g);
}

__device__ __forceinline__ portion add_to_portion(portion p, float x)
{
    const float one[1] = {x};
    return add_all(p, one);
}

]]

return text
