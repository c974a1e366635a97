-- The family "tiled": one result per segment of a buffer. A warp takes 128 segments, a tile of their elements at a time,
-- so that it takes as long whatever the lengths. What is long for a warp is shared among blocks.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"
local grouped = require "grouped/family"
local ragged = require "ragged/family"

local family = {}

family.params = {
    params.with(params.block, { values = { 64, 128, 256 } }),
    params.vec,
    { name = "unroll", values = { 1, 2, 4 }, doc = "loads in flight per thread; an even number and one more" },
    params.with(params.resident, { values = { 2, 3, 4, 6, 8, 12, 16 } }),
    params.load,
}

function family.serves(p)
    return p.layout == "ragged" and not limits.has_beside(p)
end

-- The default of large inputs of short segments that differ in length, or may. Lengths not given, sums of f32 on an
-- H200, beside "grouped": equal lengths took 0.8 to 1.15 times as long, Zipf-distributed ones 0.2 times; on an H100,
-- beside "ragged": segments of 8 to 23 bytes, f32 and f64, 0.5 to 1.01 times, of one f32 each 1.03. Lengths given that
-- reach twice the average: 0.65 to 0.95 times. Small inputs took longer.
function family.yields(p)
    local bytes = shapes.result_bytes(p)
    local least = p.greatest == 0 and 8 or 24
    if p.dtype.bytes < 4 or bytes < least or bytes >= 512 or not ragged.is_large(p) then return true end
    return not (grouped.has_giants(p) or (bytes < 256 and p.greatest > 1.5 * p.count))
end

family.allowed = limits.all(limits.has_registers(32), ragged.has_room, limits.allowed)

function family.distinct(c, p, d)
    return true
end

function family.useful(c, p, d)
    -- Narrow loads, fewer threads than hide the memory's latency, or segments that groups take at once.
    return (c.vec * p.dtype.bytes == 16 or c.vec == 16) and c.block * c.resident >= 512 and shapes.result_bytes(p) < 4096
end

function family.default(p, d)
    local c = { block = 128, vec = 16 // p.dtype.bytes, unroll = 4, resident = 8, load = "no_allocate" }
    -- A thread of an op with large accumulators needs registers for these, too.
    if limits.accumulator_bytes(p, d) > 8 then c.resident = 4 end
    if not ragged.has_room(c, p, d) then c.block = 64 end
    return c
end

function family.launch(c, p, d)
    return shapes.launch(c, p, d, {
        results = c.block // 32 * 128,
        tile = 32 * c.vec * c.unroll,
        blocks_max = 1 + grouped.helpers(c, p, d),
        segments = true, packed = true,
    })
end

return family
