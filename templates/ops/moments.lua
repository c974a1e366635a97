-- The ops of the mean and the variance. ops.lua says what an entry holds.
--
-- The accumulator holds how many elements there are, their mean and the sum of the squares of what
-- they are from it. The mean is kept as one of the elements and what it is off from that: so it has
-- more digits than the dtype, and differences of two means have all of theirs. Two accumulators are
-- combined by the formula of Chan, Golub and LeVeque (Updating formulae and a pairwise algorithm for
-- computing sample variances, 1979), which loses nothing where the mean is large beside the
-- deviation. That divides, so a thread adds its elements as distances from the first of them, and
-- makes an accumulator of the sums at the end.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"
local floats = require "lib/floats"

-- An infinity among the elements makes the mean that of a sum, and the rest NaN; so do elements so
-- far apart that their distance is infinite, where the mean is NaN, too.
local functions = [[
__device__ __forceinline__ record join_moments(record a, record b)
{
    if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
    const @{c} n = a.n + b.n, share = @{share};
    const @{c} apart = b.from - a.from, delta = apart + (b.off - a.off);
    const bool finite = delta - delta == 0;
    return record{a.from, finite ? a.off + delta * share : a.off + b.off + apart * 0,
                  a.m2 + b.m2 + delta * delta * (share * a.n), n};
}

// The lanes of a group of N, which all get the same, at once: first their mean, then their squares
// about that. Distances are from where one of them has its mean, so that they have all their digits.
template <u32 N>
__device__ __forceinline__ record join_lanes(record a)
{
    const u32 first = threadIdx.x % 32 / N * N;
    const u32 filled = __ballot_sync(0xffffffff, a.n > 0) >> first & (0xffffffff >> (32 - N));
    const @{c} from = __shfl_sync(0xffffffff, a.from, filled ? first + __ffs(filled) - 1 : first);
    const @{c} near = (a.from - from) + a.off;
    @{c} n = a.n, sum = a.n * near;
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2) {
        n += __shfl_xor_sync(0xffffffff, n, step);
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    }
    const @{c} off = @{mean}, apart = near - off;
    @{c} m2 = a.m2 + a.n * apart * apart;
#pragma unroll
    for (u32 step = N / 2; step > 0; step /= 2) m2 += __shfl_xor_sync(0xffffffff, m2, step);
    return record{from, off, m2, n};
}

__device__ __forceinline__ portion add_to_portion(portion p, @{c} x)
{
    if (!p.begun) p.from = x - x == 0 ? x : 0;
    const @{c} distance = x - p.from;
    return portion{p.from, p.sum + distance, p.squares + distance * distance, p.n + 1, true};
}

__device__ __forceinline__ record moments_of(portion p)
{
    const @{c} n = (@{c})p.n;
@{moments}
    return record{p.from, off, m2 < 0 ? 0 : m2, n};
}
]]

-- Of elements that may be absent, in f64: the same numbers without a branch, since a branch waits for those before it,
-- and half of all joins of leaves would take each way. A number of elements is a whole number, so that the quotient of
-- two is rounded as a division rounds it, from a reciprocal that is (Markstein, Computation of elementary functions on the
-- IBM RISC System/6000 processor, 1990).
local functions_of_some = [[
__device__ __forceinline__ double share_of(double part, double n)
{
    float near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"((float)n));
    double r = near;
    r = fma(r, fma(-n, r, 1.0), r);
    r = fma(r, fma(-n, r, 1.0), r);
    const double share = part * r;
    return fma(r, fma(-n, share, part), share);
}

__device__ __forceinline__ record join_some(record a, record b)
{
    const bool is_one = a.n == 0 || b.n == 0;
    const record whole = a.n == 0 ? b : a;
    const double n = a.n + b.n, share = share_of(b.n, n);
    const double apart = b.from - a.from, delta = apart + (b.off - a.off);
    const double more = delta * delta * (share * a.n);
    const double off = delta - delta == 0 ? a.off + delta * share : a.off + b.off + apart * 0;
    return record{whole.from, is_one ? whole.off : off, a.m2 + b.m2 + (is_one ? 0 : more), n};
}

]]

-- Of a load those elements that have a bit in `counted` (templates/strided/spans.cu).
local add_counted = [[
__device__ __forceinline__ portion add_counted(portion p, const @{c} (&x)[VEC], u32 counted)
{
    if (!p.begun && counted) {
#pragma unroll
        for (u32 k = VEC; k-- > 0;)
            if (counted >> k & 1) p.from = x[k];
        if (p.from - p.from != 0) p.from = 0;
        p.begun = true;
    }
#pragma unroll
    for (u32 k = 0; k < VEC; k++) {
        const @{c} distance = counted >> k & 1 ? x[k] - p.from : 0;
        p.sum += distance;
        p.squares += distance * distance;
    }
    p.n += __popc(counted);
    return p;
}
]]

-- Of the elements of a load at once, NaN left out: those are looked for where the sum is one.
local add_numbers = [[
template <u32 N>
__device__ __forceinline__ portion add_numbers(portion p, const float (&x)[N])
{
    if (!p.begun) {
#pragma unroll
        for (u32 k = N; k-- > 0;) {
            if (x[k] != x[k]) continue;
            p.from = x[k] - x[k] == 0 ? x[k] : 0;
            p.begun = true;
        }
    }
    float sum = 0, squares = 0;
    u32 many = N;
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        const float distance = x[k] - p.from;
        sum += distance;
        squares += distance * distance;
    }
    if (squares != squares) {
        sum = squares = 0;
        many = 0;
#pragma unroll
        for (u32 k = 0; k < N; k++) {
            const float distance = x[k] == x[k] ? x[k] - p.from : 0;
            sum += distance;
            squares += distance * distance;
            many += x[k] == x[k];
        }
    }
    return portion{p.from, p.sum + sum, p.squares + squares, p.n + many, p.begun};
}

]]

-- Of a number of elements, which is from 1 on and far from the limits of f32.
local reciprocal = [[
__device__ __forceinline__ float reciprocal(float n)
{
    float part;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(part) : "f"(n));
    return part;
}

]]

-- The mean of f32 may be off by three roundings: what it leaves of the sum counts for both results.
local values_of = {
    f64 = {
        c = "double", mean = "sum / fmax(n, 1.0)", share = "a.n == b.n ? 0.5 : b.n / n", moments = [[
    const double off = p.sum / fmax(n, 1.0), m2 = p.squares - p.sum * off;]],
    },
    f32 = {
        c = "float", mean = "sum * reciprocal(fmaxf(n, 1))", share = "b.n * reciprocal(n)", moments = [[
    const float share = reciprocal(fmaxf(n, 1));
    const float near = p.sum * share, left = fmaf(-near, n, p.sum);
    const float off = near + (left == left ? left * share : 0);  // NaN of infinities
    const float m2 = fmaf(-near, p.sum + left, p.squares);]],
    },
}

-- What is at most 32 bits wide, and has a result that is so, is added in f32. A thread has fewer
-- than 2^32 elements of these: f32 would not show so many.
local function dtype_of(t)
    local small = t.dtype.kind == "float" and t.dtype.bytes <= 4 and t.result.name ~= "f64"
    return small and not t.exact and dtypes.f32 or dtypes.f64
end

-- finalize(a, dtype, count) gives the results as texts of values of that dtype.
-- skips: NaN are left out, and count is how many others there are.
local function moments(t, finalize, skips)
    local dtype = dtype_of(t)
    local name, small = dtype.name, dtype.name == "f32"
    local function stored(result, value)
        return result and convert.store(result, convert.value(dtype, result, value))
    end
    local function added(p, x)
        local more = ("add_to_portion(%s, %s)"):format(p, convert.value(t.dtype, dtype, x))
        return skips and ("(%s == %s ? %s : %s)"):format(x, x, more, p) or more
    end
    return {
        acc = accumulator.struct { { name, "from" }, { name, "off" }, { name, "m2" }, { name, "n" } },
        slot_bytes = 32, identity = "record{0, 0, 0, 0}", costly = not small,
        map = function(x)
            return ("moments_of(%s)"):format(added("portion{0, 0, 0, 0, false}", x))
        end,
        combine = function(a, b) return ("join_moments(%s, %s)"):format(a, b) end,
        lanes = function(a, n) return ("join_lanes<%d>(%s)"):format(n, a) end,
        functions = (small and reciprocal or "") .. functions:gsub("@{(%w+)}", values_of[name]),
        of_some = not small and {
            functions = functions_of_some,
            map = function(x, there)
                if skips then there = ("(%s && %s == %s)"):format(there, x, x) end
                local finite = ("(%s && %s - %s == 0)"):format(there, x, x)
                local value = convert.value(t.dtype, dtype, ("(%s ? %s : 0)"):format(finite, x))
                local spoils = ("(%s && !%s)"):format(there, finite)
                return ("record{%s, %s ? (double)%s : 0.0, %s ? %s : 0.0, %s ? 1.0 : 0.0}"):format(
                    value, spoils, x, spoils, dtype.nan, there)
            end,
            combine = function(a, b) return ("join_some(%s, %s)"):format(a, b) end,
            elements = function(a) return a .. ".n" end,
        } or nil,
        finalize = function(a, count)
            local first, second = finalize(a, dtype, skips and a .. ".n" or count)
            return stored(t.result, first), stored(t.second, second)
        end,
        alone = small,
        part = {
            c = "portion", halves = small and 5 or 9,
            declare = ("struct portion {\n    %s from, sum, squares;\n    %s n;\n    bool begun;\n};")
                :format(dtype.value, small and "u32" or "u64"),
            zero = "portion{0, 0, 0, 0, false}",
            take = added,
            at_once = skips and small and {
                functions = add_numbers,
                take = function(p, x) return ("add_numbers(%s, %s)"):format(p, x) end,
            } or nil,
            counted = not skips and {
                c = dtype.value, value = function(x) return convert.value(t.dtype, dtype, x) end,
                functions = add_counted:gsub("@{c}", dtype.value), take = "add_counted",
            } or nil,
            widen = function(p) return ("moments_of(%s)"):format(p) end,
        },
    }
end

local function variance(a, dtype, count)
    local under = ("fmax((double)%s - given.ddof, 0.0)"):format(count)
    if dtype.name == "f64" then return ("(%s.m2 / %s)"):format(a, under) end
    return ("(%s.m2 * reciprocal((float)%s))"):format(a, under)
end

local function deviation(a, dtype, count)
    return ("%s(%s)"):format(dtype.name == "f64" and "sqrt" or "sqrtf", variance(a, dtype, count))
end

local function mean_and_variance(a, dtype, count)
    return ("(%s ? %s.from + %s.off : %s)"):format(count, a, a, dtype.nan),
        variance(a, dtype, count)
end

local ddof = { { name = "ddof", usual = 0 } }
return {
    {
        name = "var", number = 23,
        formula = "((x[0] - mean)^2 + ... + (x[n-1] - mean)^2) / (n - ddof)",
        result = "mean", combines = "sum", bools = true, power = 2, parameters = ddof, values = 4,
        tolerance = 16, lost_bits = 6,
        make = function(t) return moments(t, variance) end,
    },
    {
        name = "std", number = 24,
        formula = "sqrt(((x[0] - mean)^2 + ... + (x[n-1] - mean)^2) / (n - ddof))",
        result = "mean", combines = "sum", bools = true, power = 2, parameters = ddof, values = 4,
        tolerance = 16, lost_bits = 7,
        make = function(t) return moments(t, deviation) end,
    },
    {
        name = "nanvar", number = 46,
        formula = "the variance of x[0] ... x[n-1] without those that are NaN",
        result = "mean", combines = "sum", power = 2, parameters = ddof, values = 4,
        tolerance = 16, lost_bits = 6, ignores_nan = true, dtypes = floats,
        make = function(t) return moments(t, variance, true) end,
    },
    {
        name = "nanstd", number = 47,
        formula = "the standard deviation of x[0] ... x[n-1] without those that are NaN",
        result = "mean", combines = "sum", power = 2, parameters = ddof, values = 4,
        tolerance = 16, lost_bits = 6, ignores_nan = true, dtypes = floats,
        make = function(t) return moments(t, deviation, true) end,
    },
    {
        name = "mean_var", number = 31,
        formula = "(x[0] + ... + x[n-1]) / n and ((x[0] - mean)^2 + ...) / (n - ddof)",
        outputs = { { name = "mean", result = "mean" }, { name = "var", result = "mean" } },
        combines = "sum", bools = true, power = 2, parameters = ddof, values = 4,
        tolerance = 16, lost_bits = 6,
        make = function(t) return moments(t, mean_and_variance) end,
    },
}
