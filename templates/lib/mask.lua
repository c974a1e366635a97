-- Masks: the op over elements that may be absent. The kernel has a byte beside each element; 0: the
-- element is absent. Beside an element of two inputs it has a `beside`: y, and that byte.
--
-- An absent element is the identity, at its own number. What finalize makes of the number of elements
-- it makes of those that are there: accumulators that do not know theirs are counted.
local counted = require "lib/counted"

local function choose(y, x, otherwise)
    return ("(%s ? %s : %s)"):format(y, x, otherwise)
end

-- Of what is beside an element: whether it is there, and its value of the second input.
local function there_of(y, two) return two and y .. ".there" or y end
local function second_of(y, two) return two and y .. ".y" or nil end

-- The part of an op that is counted: that of the op, and how many elements are there.
local function counted_part(made, part, dtype, two)
    local number = dtype.bytes <= 4 and "u32" or "u64" -- a thread has fewer elements
    local its = part or {
        c = made.acc.inner.c, halves = made.acc.inner.halves, zero = made.uncounted.identity,
        take = function(p, x, y) return made.uncounted.combine(p, made.uncounted.map(x, y)) end,
        widen = function(p) return p end,
    }
    made.functions = (made.functions or "")
        .. ("struct counted_part {\n    %s of;\n    %s present;\n};\n\n"):format(its.c, number)
    return {
        c = "counted_part", halves = its.halves + dtype.bytes // 8 + 1, zero = ("counted_part{%s, 0}"):format(its.zero),
        take = function(p, x, y)
            local of, there = p .. ".of", there_of(y, two)
            local taken = its.neutral and not two and its.take(of, choose(y, x, its.neutral))
                or choose(there, its.take(of, x, second_of(y, two)), of)
            return ("counted_part{%s, %s.present + (%s != 0)}"):format(taken, p, there)
        end,
        widen = function(p) return ("counted{%s, %s.present}"):format(its.widen(p .. ".of"), p) end,
    }
end

-- The op, as its entry makes it of elements that are all there, once for all: what is given again stays. two: of two
-- inputs.
return function(made, dtype, two)
    if made.masked then return made end
    made.masked, made.narrow, made.word, made.fold, made.several = true, nil, nil, nil, nil
    if made.before then return made end -- of an index: the pieces leave absent elements out
    local whole, some = made.part, made.of_some
    if some then
        made.functions = made.functions .. some.functions
        made.combine, made.elements = some.combine, some.elements
    end
    counted(made)
    local map, identity, part = made.map, made.identity, made.part
    if made.uncounted then made.part = counted_part(made, whole, dtype, two) end
    made.map = some and some.map or function(x, y)
        return choose(there_of(y, two), map(x, second_of(y, two)), identity)
    end
    if part then
        local take = part.take
        part.tile, part.at_once = nil, nil
        part.take = function(p, x, y) return choose(there_of(y, two), take(p, x, second_of(y, two)), p) end
    end
    return made
end
