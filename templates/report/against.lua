-- A comparison with an earlier database: its differences beyond noise by direction, the greatest
-- first (the list begins with the slowest), and the lines that describe both sides.
local number = require "report/number"

local function dates(side)
    local first, last = number.day(side.first_date), number.day(side.last_date)
    return first == last and first or first .. " to " .. last
end

-- What was measured with what: a title, the text of the earlier side, and that of the later.
local function lines(a, b)
    return {
        { "measured", dates(a), dates(b) },
        { "GPU", a.gpus, b.gpus },
        { "driver's CUDA", a.driver_versions, b.driver_versions },
        { "NVRTC", a.nvrtc_versions, b.nvrtc_versions },
        { "redtune's templates", a.templates, b.templates },
        { "winners", number.grouped(a.winners), number.grouped(b.winners) },
    }
end

return function(comparison)
    local a, b, differences = comparison.a, comparison.b, comparison.differences
    local slower, faster, several = {}, {}, false
    for i, difference in ipairs(differences) do
        local last = differences[#differences + 1 - i]
        if difference.direction > 0 then slower[#slower + 1] = difference end
        if last.direction < 0 then faster[#faster + 1] = last end
        several = several or difference.gpu ~= differences[1].gpu
    end
    return {
        a = a, b = b, differences = differences, slower = slower, faster = faster,
        several = several, -- GPU models
        lines = lines(a, b),
    }
end
