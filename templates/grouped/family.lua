-- The family "grouped": one result per segment of a buffer or array of a list. A group of threads, one at
-- least, takes a segment or a few at once, whatever the others' lengths, and a block those that are too
-- long for a group.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"
local ragged = require "ragged/family"

local family = {}

family.params = {
    params.middle_block,
    { name = "lanes", values = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512 }, doc = "threads per segment" },
    { name = "segments", values = { 1, 2, 4 }, doc = "segments that a group takes at once" },
    params.vec,
    params.unroll,
    params.with(params.resident, { values = { 2, 4, 6, 8, 12, 16 } }),
    params.load,
}

local function tile_bytes(c, p)
    return c.lanes * c.vec * c.unroll * p.dtype.bytes
end

function family.serves(p)
    return p.layout == "ragged"
end

-- Whether a segment may be too long for one block, as far as the problem says.
function family.has_giants(p)
    return p.greatest == 0 or p.greatest > math.max(16, 4 * p.count)
end

-- The default of tables of many segments, unless the problem says that their lengths differ widely. Where it says
-- nothing, the default is "ragged" for large inputs of short segments and for segments of more than 256 KiB, or 128 KiB
-- where large accumulators leave a thread fewer loads. It is also "ragged" for one-byte elements from 384 bytes on. A tune
-- finds out about others. A problem of one segment does not say how many there are, and one of no elements not how long
-- they are.
function family.yields(p, d)
    local bytes = shapes.result_bytes(p)
    if limits.has_beside(p) then -- the others take one array, or are slower, except where blocks would be too few
        return p.mask and p.op.inputs ~= 2 and p.outer > 1 and p.outer < 512 and bytes >= 1 << 17
    end
    if p.outer > 1 and p.outer < 256 or bytes == 0 and p.greatest == 0 then return true end
    if p.dtype.bytes == 1 and bytes >= 384 then return true end
    local most = limits.accumulator_bytes(p, d) > 8 and 1 << 17 or 1 << 18
    if p.greatest == 0 then return bytes > most or ragged.takes_any_lengths(p) end
    return family.has_giants(p)
end

local function takes_one_by_several_warps(c)
    if c.segments == 1 or c.lanes <= 32 then return true end
    return false, "segments=%d and lanes=%d: groups of more than a warp take one at a time", c.segments, c.lanes
end

family.allowed = limits.all(limits.has_lanes("segment"), takes_one_by_several_warps, limits.has_registers(32),
                            limits.allowed)

family.distinct = shapes.has_narrow_loads

function family.useful(c, p, d)
    local bytes, tile = shapes.result_bytes(p), tile_bytes(c, p)
    local load = c.vec * p.dtype.bytes
    -- Short segments are seldom aligned: of narrow loads fewer elements have to be taken one by one.
    local may_be_narrow = load >= 4 and bytes < 96 or load >= 8 and p.dtype.bytes == 1 and bytes < 192
    local all_load = c.lanes == 1 or c.lanes * load <= bytes
    if load < 16 and 2 * c.vec <= p.count and not (may_be_narrow and all_load) then return false end
    -- Fewer threads than hide the memory's latency, or fewer registers than loads need.
    local words = c.segments * c.unroll * math.max(4, load) // 4
    if c.block * c.resident < 512 or words > 16 and c.block * c.resident > 1024 then return false end
    if c.segments > 1 and (bytes >= 384 or words > 32) then return false end
    -- Half of the loads would bring nothing, or a group goes through many tiles.
    if c.unroll * c.lanes > (c.lanes < 8 and 1 or 8) and tile >= 4 * math.max(16, bytes) then return false end
    return bytes <= 8 * tile or c.lanes >= 256
end

local long = { bytes = 49151, block = 128, lanes = 128, load = 16, unroll = 8, resident = 8 }

-- Each is for segments of at most `bytes` bytes on average, by loads of at most `load` bytes: what was fastest on an H200.
local defaults = {
    { bytes = 47, block = 128, lanes = 1, segments = 2, load = 4, unroll = 4, resident = 16 },
    { bytes = 95, block = 128, lanes = 1, segments = 2, load = 16, unroll = 4, resident = 8 },
    { bytes = 159, block = 128, lanes = 2, load = 16, unroll = 2, resident = 16 },
    { bytes = 383, block = 128, lanes = 4, load = 16, unroll = 2, resident = 16 },
    { bytes = 767, block = 128, lanes = 8, load = 16, unroll = 2, resident = 16 },
    { bytes = 3071, block = 128, lanes = 8, load = 16, unroll = 8, resident = 8 },
    { bytes = 6143, block = 256, lanes = 16, load = 16, unroll = 4, resident = 6 },
    { bytes = 12287, block = 128, lanes = 128, load = 16, unroll = 4, resident = 12 },
    long,
    { bytes = math.huge, block = 256, lanes = 256, load = 16, unroll = 8, resident = 4 },
}

-- A mask's words stand in registers beside a thread's loads. As it was fastest on an H200: of 64 registers four loads
-- leave room, and of 128 eight, which bring a long segment sooner where others do not keep the multiprocessors busy.
local function fit_mask(c, p, bytes)
    c.block, c.segments, c.unroll, c.resident = 256, 1, 4, 4
    c.lanes = bytes <= 1024 and 8 or bytes <= 4096 and 16 or bytes < 1 << 16 and 32 or 256
    if c.lanes == 256 and family.has_giants(p) then c.unroll, c.resident = 8, 2 end
end

function family.default(p, d)
    local bytes = shapes.result_bytes(p)
    local row = limits.row_of(defaults, bytes)
    -- Where lengths may differ widely, an average may come from long and empty segments, or from short and very long ones.
    if row.lanes >= 128 and family.has_giants(p) and bytes <= 1 << 17 then row = long end
    -- Elements of one byte: more than half of a short segment would stand before its first wide load and behind its last.
    local load = p.dtype.bytes == 1 and bytes < 192 and math.min(8, row.load) or row.load
    local c = { block = row.block, lanes = row.lanes, segments = row.segments or 1, vec = math.max(1, load // p.dtype.bytes),
                unroll = row.unroll, resident = row.resident }
    local masked = p.mask and bytes > 383
    if masked then fit_mask(c, p, bytes) end
    -- Half of the threads that multiprocessors have room for, each with a load at least, or more of the loads of each.
    while c.lanes < c.block and p.outer > 1 and p.outer * c.lanes < d.sm_count * d.threads_per_sm // 2
        and 2 * c.lanes * load <= bytes do
        c.lanes = 2 * c.lanes
    end
    if c.lanes > 4 then c.segments = 1 end
    -- Few segments: a launch of half as many blocks takes less time.
    if row == long and not masked and p.outer > 1 and p.outer < 16 * d.sm_count then c.block, c.resident = 256, 4 end
    -- Neighbouring segments share lines: L1 keeps them for the next load.
    c.load = c.lanes < 4 and "plain" or "no_allocate"
    -- One of an op with large accumulators needs registers for these, too.
    if limits.accumulator_bytes(p, d) > (masked and 16 or 8) then
        c.segments, c.unroll, c.resident = 1, math.min(c.unroll, 4), math.min(c.resident, 4)
    end
    return c
end

-- Independent loads in flight of an assist block's thread, and whether twice as many leave it half of its registers.
function family.help_loads(c, dtype)
    local registers = 65536 // (c.block * c.resident)
    local loads = registers >= 64 and math.max(c.unroll, 4) or c.unroll
    return loads, 2 * loads * c.vec * dtype.bytes <= 4 * registers // 2
end

-- Assist blocks, for segments that are too long for one block.
function family.helpers(c, p, d)
    return family.has_giants(p) and d.sm_count * math.max(1, 512 // c.block) or 0
end

function family.launch(c, p, d)
    return shapes.launch(c, p, d, {
        results = c.block // c.lanes * c.segments,
        tile = math.max(1, tile_bytes(c, p) // p.dtype.bytes),
        blocks_max = 1 + family.helpers(c, p, d),
        segments = true,
    })
end

return family
