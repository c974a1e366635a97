-- Masks: the op over elements that may be absent. The kernel has a byte beside each element; 0: the
-- element is absent.
--
-- An absent element is the identity, at its own number. What finalize makes of the number of elements
-- it makes of those that are there: accumulators that do not know theirs are counted.
local counted = require "lib/counted"

local function choose(y, x, otherwise)
    return ("(%s ? %s : %s)"):format(y, x, otherwise)
end

-- The op, as its entry makes it of elements that are all there, once for all: what is given again stays.
return function(made)
    if made.masked then return made end
    made.masked, made.narrow, made.word, made.fold, made.several = true, nil, nil, nil, nil
    if made.before then return made end -- of an index: the pieces leave absent elements out
    counted(made)
    local map, identity, part = made.map, made.identity, made.part
    made.map = function(x, y) return choose(y, map(x), identity) end
    if part then
        local take = part.take
        part.tile = nil
        part.take = function(p, x, y) return choose(y, take(p, x), p) end
    end
    return made
end
