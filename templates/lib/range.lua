-- Range: sums of squares, and sums for means, that neither overflow nor underflow where the result is
-- representable.
--
-- bf16 and f32 go through f64, which holds the sum of 2^128 of their squares; f16 and less fit into f32.
-- Where the GPU computes in f64 at half the rate of f32, a thread that takes f32 of rows, columns or any axes adds
-- those of a tile in f32, and the sums, if none of them left the range in which nothing is lost, in f64; else
-- it takes that tile's elements anew, in f64 (lib/take_checked.cu). In a whole array it waits for nothing so, and
-- takes each in f64. On other GPUs, and of bf16, a
-- thread has a part of several sums of f32, each of all its elements at another scale, a power of two
-- (Blue, A portable Fortran program to find the Euclidean norm of a vector, 1978; Anderson, Algorithm 978,
-- 2017). Blue chooses one of them for each element; here all take every element, without a branch, and
-- the end of the part chooses the first sum that is finite. No square that counts underflows in it,
-- because the sum before overflowed. f64 has no wider type: its accumulators have sums at several scales,
-- and the result chooses.
--
-- At the first scale squares of the dtype's least number are at least that, so that squares, being
-- multiples of it, lose nothing; at the last one the squares of the greatest number do not overflow.
-- bf16 has so few bits that these two together reach.
local rates = require "lib/rates"

local range = {}

-- Whether sums of the dtype's squares may leave the range of its accumulator.
local function is_wide(dtype) return dtype.kind == "float" and dtype.exponent >= 8 end

-- Whether sums of these elements, bf16 or f32, go through f64 for their range.
function range.widens(t)
    return is_wide(t.dtype) and t.dtype.bytes <= 4 and t.result.name ~= "f64"
end

-- Whether they are of f64, whose accumulators have sums at several scales.
function range.scales(t)
    return is_wide(t.dtype) and t.dtype.bytes == 8 and t.accuracy ~= "compensated"
end

-- A thread has parts, which f64 follows: of f64 for f32 where a GPU computes in it, else of f32. Not in fixed
-- order, nor in the kernel that others are held against, nor where f32 is not accurate enough.
local function has_parts(t)
    return range.widens(t) and not t.exact and t.accuracy ~= "compensated"
end

-- bf16 is twice as many elements, and a part of f64 for each in flight takes more than it saves.
local function is_added_wide(t) return t.dtype.bytes == 4 and rates.adds_f64(t.arch) end

-- The tiles of a part that is `sum`, an expression of it: sums of f32 that are good if nothing in them was lost.
-- added(t, x, y) is one with an element more; add(part, t, n) takes n elements up.
local function tile_of(added, good, add)
    return { take = added, good = good, add = add }
end

local function is_finite(t) return ("%s - %s == 0"):format(t, t) end

-- Squares of which none overflowed, and those that underflowed are no part of the sum.
local function has_squares(t) return ("(%s >= 0x1p-90f && %s <= 0x1p90f)"):format(t, t) end

-- A part of f64, into which elements go by tiles of f32; value(x, y) in f32.
local function wide_part(added, value, good)
    return {
        c = "double", halves = 2, zero = "0.0", neutral = "0.0f",
        take = function(p, x, y) return ("%s + %s"):format(p, value(x, y)) end,
        widen = function(p) return p end, tiles_only = true,
        tile = tile_of(added, good, function(p, t) return ("%s + (double)%s"):format(p, t) end),
    }
end

-- The tiles of a part whose sum and number of elements add(part, t, n) takes up: a NaN is not good. `only`: of "rows" or "columns".
function range.finite_tile(add, only)
    local tile = tile_of(function(s, x) return ("%s + %s"):format(s, x) end, is_finite, add)
    tile.only = only
    return tile
end

-- ---- squares ---------------------------------------------------------------------------------------

local squares_of = {
    plain = [[
struct squares {
    @{c} small, large;  // large has the sum
};

__device__ __forceinline__ squares add_square(squares a, @{c} x)
{
    return squares{a.small, a.large + x * x};
}

__device__ __forceinline__ double scale_of(squares a) { return 1; }

__device__ __forceinline__ double sum_of(squares a) { return a.large; }

]],
    bf16 = [[
// Sums of squares at scales 2^118 and 2^-128.
struct squares {
    float small, large;
};

__device__ __forceinline__ squares add_square(squares a, float x)
{
    const float large = x * 0x1p-64f;
    return squares{a.small + x * (x * 0x1p118f), a.large + large * large};
}

__device__ __forceinline__ double scale_of(squares a) { return 1; }

__device__ __forceinline__ double sum_of(squares a)
{
    return a.small < __int_as_float(0x7f800000) ? a.small * 0x1p-118 : a.large * 0x1p128;
}

]],
    f32 = [[
// Sums of squares at scales 2^150, 1 and 2^-128.
struct squares {
    float small, middle, large;
};

__device__ __forceinline__ squares add_square(squares a, float x)
{
    const float small = x * 0x1p75f, large = x * 0x1p-64f;
    return squares{a.small + small * small, a.middle + x * x, a.large + large * large};
}

__device__ __forceinline__ double scale_of(squares a) { return 1; }

__device__ __forceinline__ double sum_of(squares a)
{
    const float infinity = __int_as_float(0x7f800000);
    return a.small < infinity ? a.small * 0x1p-150 : a.middle < infinity ? a.middle : a.large * 0x1p128;
}

]],
    f64 = [[
// Sums of squares at scales 2^1076, 1 and 2^-1024.
struct squares {
    double small, middle, large;
};

__device__ __forceinline__ squares add_square(squares a, double x)
{
    const double small = x * 0x1p538, large = x * 0x1p-512;
    return squares{a.small + small * small, a.middle + x * x, a.large + large * large};
}

// The sum of squares is scale_of(a)^2 * sum_of(a).
__device__ __forceinline__ double scale_of(squares a)
{
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    return a.small < infinity ? 0x1p-538 : a.middle < infinity ? 1 : 0x1p512;
}

__device__ __forceinline__ double sum_of(squares a)
{
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    return a.small < infinity ? a.small : a.middle < infinity ? a.middle : a.large;
}

]],
}

-- Of the elements of a load at once: their sum is scaled, where nothing was lost in it.
local squares_of_load = [[
template <u32 N>
__device__ __forceinline__ squares add_squares(squares a, const float (&x)[N])
{
    float sum = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) sum += x[i] * x[i];
    if (@{good}) return squares{a.small + sum * 0x1p118f, a.large + sum * 0x1p-128f};
#pragma unroll
    for (u32 i = 0; i < N; i++) a = add_square(a, x[i]);
    return a;
}

]]

-- Parts that take squares, of that name in squares_of and of that dtype: their functions, zero and halves.
function range.squares(name, dtype)
    local many = (name == "f32" or name == "f64") and 3 or 2
    return {
        functions = squares_of[name]:gsub("@{c}", dtype.value),
        zero = "squares{" .. ("0, "):rep(many - 1) .. "0}",
        halves = many * dtype.bytes // 4,
    }
end

-- For an op of the sum of squares of value(x, y) in f64, where range.widens: functions and part, or nil.
function range.square_part(t, value)
    if not has_parts(t) then return nil end
    if is_added_wide(t) then
        local function square(c)
            return function(x, y)
                return ("(%s)%s * (%s)%s"):format(c, value(x, y), c, value(x, y))
            end
        end
        local narrow = square "float"
        return nil, wide_part(function(s, x, y) return ("%s + %s"):format(s, narrow(x, y)) end,
                              square "double", has_squares)
    end
    local squares = range.squares(t.dtype.name, { value = "float", bytes = 4 })
    return squares.functions, {
        c = "squares", halves = squares.halves, zero = squares.zero,
        take = function(p, x, y) return ("add_square(%s, %s)"):format(p, value(x, y)) end,
        at_once = t.dtype.bytes == 2 and value("x", "y") == "x" and {
            functions = squares_of_load:gsub("@{good}", has_squares "sum"),
            take = function(p, x) return ("add_squares(%s, %s)"):format(p, x) end,
        } or nil,
        neutral = value("x", "y") == "x" and "0.0f" or nil,
        widen = function(p) return ("sum_of(%s)"):format(p) end,
    }
end

local root_text = [[
// Of sums of squares at scales 2^1076, 1 and 2^-1024.
__device__ __forceinline__ double root_of_squares(record a)
{
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    return a.small < infinity ? sqrt(a.small) * 0x1p-538
           : a.middle < infinity ? sqrt(a.middle) : sqrt(a.large) * 0x1p512;
}

__device__ __forceinline__ double mean_of_squares(record a, double n)
{
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    return a.small < infinity ? a.small / n * 0x1p-538 * 0x1p-538
           : a.middle < infinity ? a.middle / n : a.large / n * 0x1p512 * 0x1p512;
}

]]

-- The fields of the sum of squares of value(x, y) of f64 elements, where range.scales, and functions.
function range.square_fields(value)
    local function square(scale)
        return function(x, y)
            local scaled = ("(%s%s)"):format(value(x, y), scale)
            return scaled .. " * " .. scaled
        end
    end
    return {
        { "f64", "small", square " * 0x1p538" }, { "f64", "middle", square "" },
        { "f64", "large", square " * 0x1p-512" },
    }, root_text
end

-- ---- means -----------------------------------------------------------------------------------------

-- Sums for means, at scales 1 and 2^-32.
range.totals_type = [[
struct totals {
    float sum, scaled;
};

]]

range.totals = [[
__device__ __forceinline__ totals add_to_totals(totals a, float x)
{
    return totals{a.sum + x, a.scaled + x * 0x1p-32f};
}

__device__ __forceinline__ double total_of(totals a)
{
    return a.sum - a.sum == 0 ? a.sum : a.scaled * 0x1p32;
}

]]

-- Of the elements of a load at once.
local totals_of_load = [[
template <u32 N>
__device__ __forceinline__ totals add_load_to_totals(totals a, const float (&x)[N])
{
    float sum = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) sum += x[i];
    if (sum - sum == 0) return add_to_totals(a, sum);
#pragma unroll
    for (u32 i = 0; i < N; i++) a = add_to_totals(a, x[i]);
    return a;
}

]]

-- For an op of the sum of elements in f64, where range.widens: functions and part, or nil.
function range.sum_part(t)
    if not has_parts(t) then return nil end
    if is_added_wide(t) then
        return nil, wide_part(function(s, x) return ("%s + %s"):format(s, x) end,
                              function(x) return "(double)" .. x end, is_finite)
    end
    return range.totals, {
        c = "totals", halves = 2, zero = "totals{0, 0}", neutral = "0.0f", declare = range.totals_type,
        take = function(p, x) return ("add_to_totals(%s, %s)"):format(p, x) end,
        at_once = {
            functions = totals_of_load,
            take = function(p, x) return ("add_load_to_totals(%s, %s)"):format(p, x) end,
        },
        widen = function(p) return ("total_of(%s)"):format(p) end,
        tile = rates.adds_f64(t.arch) and range.finite_tile(function(p, s)
            return ("add_to_totals(%s, %s)"):format(p, s)
        end, "columns") or nil,
    }
end

local mean_text = [[
// Of sums at scales 1 and 2^-64.
__device__ __forceinline__ double mean_of_sums(double sum, double scaled, double n)
{
    return sum - sum == 0 ? sum / n : scaled / n * 0x1p64;
}

]]

-- The fields of the sum of value(x) of f64 elements, where range.scales, and functions.
function range.sum_fields(value)
    return {
        { "f64", "sum", value },
        { "f64", "scaled", function(x) return value(x) .. " * 0x1p-64" end },
    }, mean_text
end

return range
