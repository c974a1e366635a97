-- Counted: the op over elements of which nobody knows the number. What finalize makes of the number of elements it
-- makes of those that were taken: accumulators that do not know theirs get it beside them.
local accumulator = require "lib/accumulator"

-- Whether the results are made of the number of elements, too.
local function counts(made)
    local first, second = made.finalize("a", "@count")
    return (first .. (second or "")):find("@count", 1, true) ~= nil
end

-- Replaces the accumulator by one that has the number of elements beside it.
local function count(made)
    local map, combine, finalize = made.map, made.combine, made.finalize
    made.uncounted = { map = map, combine = combine, identity = made.identity }
    made.identity = ("counted{%s, 0}"):format(made.identity)
    made.map = function(x, y) return ("counted{%s, 1}"):format(map(x, y)) end
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

return function(made)
    local elements = made.elements
    if elements then
        local finalize = made.finalize
        made.finalize = function(a) return finalize(a, elements(a)) end
    elseif counts(made) then
        count(made)
    end
end
