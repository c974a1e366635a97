-- The family "ordered": whole arrays and rows of half a chunk or more, each in the fixed order of
-- docs/order.md. A warp takes chunks, a block a node: an aligned run of as many chunks as its warps
-- take. Where blocks share a result, each node's value goes to a place of its own, and one block
-- combines these by the tree above the nodes. So block, chunks, loads and grid decide how many nodes
-- there are, and no bit of the result.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = { order = "fixed" }

family.params = {
    params.block,
    { name = "lanes", values = { 32, 64, 128, 256 },
      doc = "threads that share a chunk of 4 KiB: a group" },
    params.with(params.chunks, { doc = "chunks that a group takes one after the other, at least" }),
    params.unroll,
    { name = "resident", values = { 512, 1024, 1536, 2048 },
      doc = "threads that a multiprocessor has registers for, at least" },
    params.load,
    { name = "rows", values = { 1, 2, 4, 8 }, doc = "rows that a block makes one after the other" },
    params.finish,
    params.many_per_sm,
}

local CHUNK_BYTES <const>, CHUNK_LOADS <const>, BLOCKS <const> = 4096, 256, 16

function family.serves(p)
    if p.op.indexed then return false end
    return p.layout == "whole"
        or p.layout == "rows" and 2 * p.count * p.dtype.bytes >= CHUNK_BYTES
end

-- A tile is a node, of the elements that it has where no more chunks are needed for each.
local shape = shapes.of {
    results = function(c) return c.rows end,
    tile = function(c, p) return c.block // c.lanes * c.chunks * (CHUNK_BYTES // p.dtype.bytes) end,
}
local node, nodes, sets, input_bytes = shape.tile, shape.tiles, shape.sets, shapes.input_bytes

-- Two sets of the values of threads that share chunks, and of groups and warps.
local function shared_bytes(c, p, d)
    local values = (c.lanes > 32 and c.block or 0) + c.block // c.lanes + c.block // 32
    return 2 * values * limits.accumulator_bytes(p, d) + 16
end

local function has_room(c, p, d)
    return shared_bytes(c, p, d) <= d.shared_bytes_per_block
end

local function fits(c, p, d)
    if c.resident > d.threads_per_sm then
        return false, "resident=%d, and the device has %d threads per multiprocessor", c.resident,
            d.threads_per_sm
    end
    if c.lanes > c.block then
        return false, "lanes=%d, and block=%d: a chunk's threads are of one block", c.lanes, c.block
    end
    if c.lanes > 32 and c.lanes * c.unroll ~= CHUNK_LOADS then
        return false, "lanes=%d have %d loads of a chunk each: add unroll=%d", c.lanes,
            CHUNK_LOADS // c.lanes, CHUNK_LOADS // c.lanes
    end
    if c.lanes == 32 and c.unroll == 1 then
        return false, "unroll=1, and a warp has 8 loads of a chunk: add unroll=2"
    end
    if not has_room(c, p, d) then
        return false, "block=%d and lanes=%d take %d bytes of shared memory, and a block has %d", c.block,
            c.lanes, shared_bytes(c, p, d), d.shared_bytes_per_block
    end
    if c.rows > 1 and (p.layout == "whole" or c.finish ~= "single") then
        return false, "rows=%d, and blocks make one result only: add rows=1", c.rows
    end
    return true
end

family.allowed = limits.all(limits.has_threads, fits, limits.has_per_sm)

function family.distinct(c, p, d)
    -- Half of the groups, or half of the chunks that each takes, would do.
    if c.block * c.chunks > c.lanes and node(c, p) >= 2 * p.count then return false end
    -- A multiprocessor has whole blocks, and BLOCKS of them at most are asked for.
    if c.resident % c.block > 0 or c.resident > BLOCKS * c.block then return false end
    if p.layout == "rows" then
        if c.finish == "single" then return c.chunks == 1 and (c.rows == 1 or c.rows < 2 * p.outer) end
        return shape.distinct(c, p, d)
    end
    return shapes.has_grid(c, d, nodes(c, p))
end

-- How many threads of a multiprocessor have registers for their loads in flight and for what they combine.
-- Elements that need no conversion are combined late, when the next step's loads are already in flight.
local function resident_max(c, p, d)
    local wide = limits.accumulator_bytes(p, d) > 8
    if c.unroll == 8 then return p.dtype.bytes < 4 and not wide and 1024 or 512 end
    if c.unroll == 4 or wide then return 1024 end
    return 1536
end

local function is_useful_for_rows(c, p, d)
    if c.rows > 1 and sets(c, p) < 8 * d.sm_count then return false end
    -- A warp takes many chunks one after the other that several warps could share.
    if c.block < 256 and 32 * p.count > c.block * 16 * node({ block = 32, lanes = 32, chunks = 1 }, p) then
        return false
    end
    return shape.useful(c, p, d)
end

function family.useful(c, p, d)
    local most = resident_max(c, p, d)
    if c.resident > most then return false end
    if c.lanes > 32 then
        -- Each chunk takes a barrier.
        if input_bytes(p) > 8 * 1024 * 1024 or c.chunks > 1 then return false end
        if c.resident ~= math.min(1024, BLOCKS * c.block) then return false end
    elseif limits.accumulator_bytes(p, d) <= 8 and c.resident < math.min(1024, most, BLOCKS * c.block) then
        return false
    end
    if p.layout == "rows" then return is_useful_for_rows(c, p, d) end
    return shapes.is_useful_grid(c, p, d, nodes(c, p), 1024)
end

-- The default's grids for inputs of up to `bytes` bytes: those of the winners on an H200.
local KiB, MiB = 1024, 1024 * 1024
local grids = {
    { bytes = 4 * KiB, block = 128, lanes = 128, unroll = 2, per_sm = 1, finish = "single" },
    { bytes = 8 * KiB, block = 256, lanes = 128, unroll = 2, per_sm = 1, finish = "single" },
    { bytes = 16 * KiB, block = 512, lanes = 128, unroll = 2, per_sm = 1, finish = "single" },
    { bytes = 32 * KiB, block = 512, lanes = 64, unroll = 4, per_sm = 1, finish = "single" },
    { bytes = 64 * KiB, block = 1024, lanes = 64, unroll = 4, per_sm = 1, finish = "single" },
    { bytes = 96 * KiB, block = 1024, unroll = 4, per_sm = 1, finish = "single" },
    { bytes = 512 * KiB, block = 256, lanes = 256, unroll = 1, per_sm = 1 },
    { bytes = 1 * MiB, block = 128, lanes = 128, unroll = 2, per_sm = 2 },
    { bytes = 2 * MiB, block = 256, lanes = 64, unroll = 4, per_sm = 1 },
    { bytes = 4 * MiB, block = 256, lanes = 64, unroll = 4, per_sm = 2 },
    { bytes = 16 * MiB, block = 256, unroll = 4, per_sm = 4 },
    { bytes = 128 * MiB, block = 512, unroll = 2, narrow_unroll = 4, resident = 1024, per_sm = 2 },
    { bytes = 384 * MiB, block = 1024, unroll = 2, resident = 1024, per_sm = 4 },
    { bytes = math.huge, block = 512, chunks = 4, unroll = 4, resident = 1024, per_sm = 4 },
}

local function resident_of(c, p, d)
    local most = limits.accumulator_bytes(p, d) > 8 and 512 or resident_max(c, p, d)
    if c.lanes > 32 then most = 1024 end
    return math.min(most, d.threads_per_sm, BLOCKS * c.block)
end

-- Rows: a warp for each chunk, up to 16, or 32 where blocks neither share rows nor fill multiprocessors, and two
-- chunks or more for each of several.
local function default_of_rows(p, d)
    local c = { block = 32, lanes = 32, chunks = 1, unroll = p.dtype.bytes < 4 and 8 or 4, rows = 1,
                load = "no_allocate" }
    local most = 2 * p.outer > d.sm_count and p.outer < d.sm_count and 1024 or 512
    while c.block < most and 4 * node(c, p) <= p.count do c.block = 2 * c.block end
    shape.finished(c, p, d)
    while c.finish == "single" and c.rows < 4 and c.block < 128 and sets(c, p) >= 64 * d.sm_count do
        c.rows = 2 * c.rows
    end
    c.resident = resident_of(c, p, d)
    return c
end

function family.default(p, d)
    if p.layout == "rows" then return default_of_rows(p, d) end
    local row = limits.row_of(grids, d.sm_count > 1 and input_bytes(p) or math.min(input_bytes(p), 64 * KiB))
    local c = {
        block = row.block, lanes = row.lanes or 32, chunks = row.chunks or 1, load = "no_allocate",
        finish = row.finish or "poll",
        unroll = p.dtype.bytes < 4 and row.narrow_unroll or row.unroll, rows = 1,
        per_sm = row.per_sm,
    }
    if not has_room(c, p, d) then c.lanes, c.unroll = 32, 4 end
    c.resident = math.min(row.resident or d.threads_per_sm, resident_of(c, p, d))
    return c
end

function family.launch(c, p, d)
    if p.layout == "rows" then return shape.launch(c, p, d) end
    return shapes.launch(c, p, d, {
        tile = node(c, p),
        blocks_max = c.finish == "single" and 1 or math.min(c.per_sm * d.sm_count, d.blocks_max),
    })
end

return family
