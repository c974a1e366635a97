-- Compensated sums: an accumulator of two terms, the sum as it was rounded and, beside it, the sum of
-- what each addition lost. What an addition loses is a number of the same dtype, and six operations
-- find it without knowing which of the two is larger (Knuth, The Art of Computer Programming, volume
-- 2, section 4.2.2, theorem B; Moller 1965); what a product loses takes one fused multiplication and
-- addition. Sum2 and Dot2 of Ogita, Rump and Oishi (Accurate sum and dot product, 2005) are these;
-- here every combination of two accumulators is one more such addition. docs/accuracy.md has the
-- bounds. Each operation is an intrinsic of its own, which the compiler neither contracts nor
-- reorders.
--
-- What would have two terms of f32 is one number of f64, which has more digits: of f16 and bf16 from
-- the elements on, one addition in place of seven. Of f32 threads add so where the GPU has many units
-- for f64, and two terms elsewhere. Not so in fixed order, whose bits are defined by two terms, nor in
-- the kernel that others are held against.
--
-- Infinities leave NaN in `lost`, and so may numbers next to the largest: the sum alone counts then.
local accumulator = require "lib/accumulator"
local rates = require "lib/rates"

local functions = [[
// a and the number x.
__device__ __forceinline__ record add_term(record a, @{c} x)
{
    const @{c} sum = __@{d}add_rn(a.sum, x), part = __@{d}sub_rn(sum, a.sum);
    const @{c} lost = __@{d}add_rn(__@{d}sub_rn(a.sum, __@{d}sub_rn(sum, part)), __@{d}sub_rn(x, part));
    return record{sum, __@{d}add_rn(a.lost, lost)};
}

// a and the product of x and y.
__device__ __forceinline__ record add_product(record a, @{c} x, @{c} y)
{
    const @{c} product = __@{d}mul_rn(x, y), lost = __@{fma}_rn(x, y, -product);
    a = add_term(a, product);
    return record{a.sum, __@{d}add_rn(a.lost, lost)};
}

__device__ __forceinline__ record add_terms(record a, record b)
{
    a = add_term(a, b.sum);
    return record{a.sum, __@{d}add_rn(a.lost, b.lost)};
}

__device__ __forceinline__ @{c} total_of(record a)
{
    const @{c} total = __@{d}add_rn(a.sum, a.lost);
    return total == total ? total : a.sum;
}
]]

local letters = { f32 = { c = "float", d = "f", fma = "fmaf" }, f64 = { c = "double", d = "d", fma = "fma" } }

local part_functions = [[
__device__ __forceinline__ double widened(terms a)
{
    const double total = __dadd_rn((double)a.sum, (double)a.lost);
    return total == total ? total : (double)a.sum;
}
]]

-- The op that adds in f64 what it would add in f32, and rounds once at the end. A thread's elements are
-- two terms first, if `terms` says so: what takes an element into these.
local function in_f64(op, wide_term, terms)
    local finalize, resume = op.finalize, op.resume
    op.acc = accumulator.f64
    op.identity = op.acc.dtype.zero
    op.map = wide_term
    op.combine = function(a, b) return ("__dadd_rn(%s, %s)"):format(a, b) end
    op.finalize = function(a, count) return finalize(("(float)(%s)"):format(a), count) end
    if resume then
        op.resume = function(r) return ("(double)(%s)"):format(resume(r)) end
    end
    if terms then
        op.functions = "struct terms {\n    float sum, lost;\n};\n\n" .. terms.functions .. part_functions
        op.part = {
            c = "terms", halves = 2, zero = "terms{0, 0}", take = terms.take,
            widen = function(p) return ("widened(%s)"):format(p) end,
        }
    end
    return op
end

-- The op with such an accumulator, or f64, in place of its own, f32 or f64. Products of elements that are
-- narrower than the accumulator are exact.
return function(t, op)
    local name = op.acc.name
    local letter = letters[name]
    if not letter then error("a compensated sum of " .. name, 2) end
    local term, factors, finalize, resume = op.map, op.factors, op.finalize, op.resume
    local rounds = factors and op.acc.bytes == t.dtype.bytes
    local function take(a, x, y)
        if rounds then return ("add_product(%s, %s, %s)"):format(a, factors(x, y)) end
        return ("add_term(%s, %s)"):format(a, term(x, y))
    end
    if name == "f32" and not t.exact then
        local function wide_term(x, y)
            if not rounds then return ("(double)(%s)"):format(term(x, y)) end
            return ("__dmul_rn((double)(%s), (double)(%s))"):format(factors(x, y))
        end
        local adds_wide = t.dtype.bytes < 4 or rates.adds_f64(t.arch)
        local text = functions:gsub("@{(%w+)}", letter):gsub("record", "terms")
        return in_f64(op, wide_term, not adds_wide and { functions = text, take = take } or nil)
    end
    local zero = "record{0, 0}"
    op.acc = accumulator.struct { { name, "sum" }, { name, "lost" } }
    op.functions = (functions:gsub("@{(%w+)}", letter))
    op.identity = zero
    op.map = function(x, y) return take(zero, x, y) end
    op.combine = function(a, b) return ("add_terms(%s, %s)"):format(a, b) end
    op.part = {
        c = "record", halves = op.acc.halves, zero = zero, take = take,
        widen = function(p) return p end,
    }
    op.finalize = function(a, count) return finalize(("total_of(%s)"):format(a), count) end
    if resume then
        op.resume = function(r) return ("record{%s, 0}"):format(resume(r)) end
    end
    return op
end
