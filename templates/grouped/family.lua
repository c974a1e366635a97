-- The family "grouped": one result per segment of a buffer or array of a list. A group of threads takes
-- a segment, whatever the others' lengths, and a block those that are too long for a group.
--
-- The functions below are those of block/family.lua. A problem's segments are p.outer, of p.count
-- elements each on average.
local limits = require "lib/limits"

local family = {
    name = "grouped",
    template = "grouped/kernel.cu",
}

family.params = {
    { name = "block", values = { 64, 128, 256, 512 }, doc = "threads per block" },
    { name = "lanes", values = { 8, 16, 32, 64, 128, 256, 512 }, doc = "threads per segment" },
    { name = "vec", values = { 1, 2, 4, 8, 16 }, doc = "elements per load" },
    { name = "unroll", values = { 1, 2, 4, 8 }, doc = "independent loads in flight per thread" },
    { name = "resident", values = { 2, 4, 6, 8, 12, 16 },
      doc = "blocks that a multiprocessor has registers for, at least" },
    limits.load,
}

local function tile_bytes(c, p)
    return c.lanes * c.vec * c.unroll * p.dtype.bytes
end

function family.serves(p)
    return p.layout == "ragged"
end

-- Whether a segment may be too long for one block, as far as the problem says.
local function has_giants(p)
    return p.greatest == 0 or p.greatest > 4 * p.count
end

-- The default of tables of many segments, not short ones, whose elements are not of one byte, with which "ragged" was
-- faster. Where nobody says how long the longest is, "ragged" was faster with shorter ones, too, and with the longest. A
-- tune finds out about others.
function family.yields(p)
    local bytes = p.count * p.dtype.bytes
    if p.outer < 256 or p.dtype.bytes == 1 or p.greatest > 4 * p.count then return true end
    if p.greatest == 0 then return bytes < 390 or bytes > 1 << 17 end
    return bytes < 256
end

function family.allowed(c, p, d)
    if c.lanes > c.block then
        return false, "lanes=%d, and block=%d: a segment's threads are of one block", c.lanes, c.block
    end
    if c.block * c.resident > 2048 then
        return false, "block=%d and resident=%d leave a thread fewer than 32 registers", c.block, c.resident
    end
    return limits.allowed(c, p, d)
end

function family.distinct(c, p, d)
    return c.vec <= math.max(1, p.count)
end

function family.useful(c, p, d)
    local bytes, tile = p.count * p.dtype.bytes, tile_bytes(c, p)
    if bytes < 128 then return false end
    if c.vec * p.dtype.bytes < 16 and 2 * c.vec <= p.count then return false end
    -- Fewer threads than hide the memory's latency, or fewer registers than loads need.
    if c.block * c.resident < 512 or c.unroll > 4 and c.block * c.resident > 1024 then return false end
    -- Half of the loads would bring nothing, or a group goes through many tiles.
    if c.unroll * c.lanes > 8 and tile >= 4 * bytes then return false end
    return bytes <= 8 * tile or c.lanes >= 256
end

-- Each is for segments of at most `bytes` bytes on average: what was fastest on an H200.
local defaults = {
    { bytes = 319, block = 256, lanes = 8, unroll = 2, resident = 8 },
    { bytes = 767, block = 128, lanes = 8, unroll = 2, resident = 16 },
    { bytes = 3071, block = 128, lanes = 8, unroll = 8, resident = 8 },
    { bytes = 6143, block = 256, lanes = 16, unroll = 4, resident = 6 },
    { bytes = 49151, block = 128, lanes = 128, unroll = 4, resident = 12 },
    { bytes = math.huge, block = 128, lanes = 128, unroll = 8, resident = 8 },
}

function family.default(p, d)
    local row = limits.row_of(defaults, p.count * p.dtype.bytes)
    local c = { block = row.block, lanes = row.lanes, vec = math.max(1, 16 // p.dtype.bytes), unroll = row.unroll,
                resident = row.resident, load = "no_allocate" }
    -- Half of the threads that multiprocessors have room for, or more of the loads of each.
    while c.lanes < c.block and p.outer > 1 and p.outer * c.lanes < d.sm_count * d.threads_per_sm // 2 do c.lanes = 2 * c.lanes end
    if c.lanes == 128 and p.outer < 16 * d.sm_count then c.unroll, c.resident = 8, 8 end
    -- A thread of an op with large accumulators needs registers for these, too.
    if limits.accumulator_bytes(p, d) > 8 then
        c.unroll, c.resident = math.min(c.unroll, 4), math.min(c.resident, 4)
    end
    return c
end

function family.launch(c, p, d)
    return {
        threads = c.block,
        results = c.block // c.lanes,
        tile = math.max(1, tile_bytes(c, p) // p.dtype.bytes),
        blocks_max = 1 + (has_giants(p) and d.sm_count * math.max(1, 512 // c.block) or 0), -- all but one help
        final_threads = 0,
        segments = true,
        overlap = limits.overlap(p, d),
    }
end

return family
