-- Masks: the op over elements that may be absent. The kernel has a byte beside each element; 0: the
-- element is absent.
--
-- An absent element is the identity, at its own number. What finalize makes of the number of elements
-- it makes of those that are there: accumulators that do not know theirs are counted.
local counted = require "lib/counted"

local function choose(y, x, otherwise)
    return ("(%s ? %s : %s)"):format(y, x, otherwise)
end

-- The part of an op that is counted: that of the op, and how many elements are there.
local function counted_part(made, part, dtype)
    local number = dtype.bytes <= 4 and "u32" or "u64" -- a thread has fewer elements
    local its = part or {
        c = made.acc.inner.c, halves = made.acc.inner.halves, zero = made.uncounted.identity,
        take = function(p, x) return made.uncounted.combine(p, made.uncounted.map(x)) end,
        widen = function(p) return p end,
    }
    made.functions = (made.functions or "")
        .. ("struct counted_part {\n    %s of;\n    %s present;\n};\n\n"):format(its.c, number)
    return {
        c = "counted_part", halves = its.halves + dtype.bytes // 8 + 1, zero = ("counted_part{%s, 0}"):format(its.zero),
        take = function(p, x, y)
            local of = p .. ".of"
            local taken = its.neutral and its.take(of, choose(y, x, its.neutral))
                or choose(y, its.take(of, x), of)
            return ("counted_part{%s, %s.present + (%s != 0)}"):format(taken, p, y)
        end,
        widen = function(p) return ("counted{%s, %s.present}"):format(its.widen(p .. ".of"), p) end,
    }
end

-- The op, as its entry makes it of elements that are all there, once for all: what is given again stays.
return function(made, dtype)
    if made.masked then return made end
    made.masked, made.narrow, made.word, made.fold, made.several = true, nil, nil, nil, nil
    if made.before then return made end -- of an index: the pieces leave absent elements out
    local whole = made.part
    counted(made)
    local map, identity, part = made.map, made.identity, made.part
    if made.uncounted then made.part = counted_part(made, whole, dtype) end
    made.map = function(x, y) return choose(y, map(x), identity) end
    if part then
        local take = part.take
        part.tile, part.at_once = nil, nil
        part.take = function(p, x, y) return choose(y, take(p, x), p) end
    end
    return made
end
