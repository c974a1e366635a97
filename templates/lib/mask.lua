-- Masks: the op over elements that may be absent. The kernel has a byte beside each element; 0: the
-- element is absent.
--
-- An absent element is the identity, at its own number. What finalize makes of the number of elements
-- it makes of those that are there: accumulators that do not know theirs are counted.
local accumulator = require "lib/accumulator"

-- Whether the results are made of the number of elements, too.
local function counts(made)
    local first, second = made.finalize("a", "@count")
    return (first .. (second or "")):find("@count", 1, true) ~= nil
end

-- Replaces the accumulator by one that has the number of elements beside it.
local function count(made)
    local map, combine, finalize = made.map, made.combine, made.finalize
    made.identity = ("counted{%s, 0}"):format(made.identity)
    made.map = function(x) return ("counted{%s, 1}"):format(map(x)) end
    made.combine = function(a, b)
        return ("counted{%s, %s.present + %s.present}"):format(combine(a .. ".of", b .. ".of"), a, b)
    end
    made.finalize = function(a) return finalize(a .. ".of", a .. ".present") end
    made.acc = accumulator.counted(made.acc)
    if made.part and made.part.declare then -- its functions stay, and name its type
        made.functions = made.part.declare .. "\n" .. (made.functions or "")
    end
    made.lanes, made.part, made.slot_bytes, made.several = nil, nil, nil, nil
end

local function choose(y, x, otherwise)
    return ("(%s ? %s : %s)"):format(y, x, otherwise)
end

-- The op, as its entry makes it of elements that are all there, once for all: what is given again stays.
return function(made)
    if made.masked then return made end
    made.masked, made.narrow, made.word, made.fold, made.several = true, nil, nil, nil, nil
    if made.before then return made end -- of an index: the pieces leave absent elements out
    local elements = made.elements
    if elements then
        local finalize = made.finalize
        made.finalize = function(a) return finalize(a, elements(a)) end
    elseif counts(made) then
        count(made)
    end
    local map, identity, part = made.map, made.identity, made.part
    made.map = function(x, y) return choose(y, map(x), identity) end
    if part then
        local take = part.take
        part.take = function(p, x, y) return choose(y, take(p, x), p) end
    end
    return made
end
