-- The family "ordered": whole arrays in the fixed order of docs/order.md. A warp takes chunks, a
-- block a node: an aligned run of as many chunks as its warps take. Each node's value goes to a
-- place of its own, and one block combines these by the tree above the nodes. So block, chunks,
-- loads and grid decide how many nodes there are, and no bit of the result.
--
-- The functions below are those of block/family.lua.
local limits = require "lib/limits"

local family = {
    name = "ordered",
    template = "ordered/kernel.cu",
    order = "fixed",
}

family.params = {
    { name = "block", values = { 32, 64, 128, 256, 512, 1024 }, doc = "threads per block" },
    { name = "chunks", values = { 1, 2, 4, 8 },
      doc = "chunks of 4 KiB that a warp takes one after the other, at least" },
    { name = "unroll", values = { 2, 4, 8 }, doc = "independent loads in flight per thread" },
    { name = "resident", values = { 512, 1024, 1536, 2048 },
      doc = "threads that a multiprocessor has registers for, at least" },
    { name = "load", labels = { "no_allocate", "plain", "streaming" },
      doc = "the path of a load: past L1, through it, or marked as used once" },
    { name = "finish", labels = { "single", "poll", "ticket" },
      doc = "how blocks are combined: there is one only, by the first, by the last" },
    { name = "per_sm", values = { 1, 2, 4, 8, 16, 32, 64 }, launch = true,
      doc = "blocks per multiprocessor at most" },
}

function family.serves(p)
    return p.layout == "whole" and not p.op.indexed
end

local CHUNK_BYTES <const>, BLOCKS <const> = 4096, 16

-- The elements of a node, where no more chunks are needed for each.
local function node(c, p)
    return c.block // 32 * c.chunks * (CHUNK_BYTES // p.dtype.bytes)
end

local function nodes(c, p)
    return (p.count + node(c, p) - 1) // node(c, p)
end

local function input_bytes(p)
    return p.count * limits.element_bytes(p)
end

function family.allowed(c, p, d)
    if c.block > d.threads_per_block then
        return false, "block=%d, and the device allows %d threads", c.block, d.threads_per_block
    end
    if c.resident > d.threads_per_sm then
        return false, "resident=%d, and the device has %d threads per multiprocessor", c.resident,
            d.threads_per_sm
    end
    if c.finish == "single" and c.per_sm ~= 1 then
        return false, "finish=single has one block: add per_sm=1"
    end
    return true
end

function family.distinct(c, p, d)
    -- No chunks for half of the warps, or of those that each takes.
    if c.block * c.chunks > 32 and node(c, p) >= 2 * p.count then return false end
    -- A multiprocessor has whole blocks, and BLOCKS of them at most are asked for.
    if c.resident % c.block > 0 or c.resident > BLOCKS * c.block then return false end
    if c.finish == "single" then return true end
    local wanted = nodes(c, p)
    if wanted < 2 then return false end -- one block: single
    return c.per_sm == 1 or wanted > c.per_sm // 2 * d.sm_count
end

function family.useful(c, p, d)
    -- Registers for the loads in flight, and for what is combined.
    if c.unroll * c.resident > 8 * 1024 then return false end
    if limits.accumulator_bytes(p, d) > 8 then
        if c.resident > 1024 then return false end
    elseif c.resident < math.min(1024, BLOCKS * c.block) then
        return false
    end
    if c.finish == "single" then return input_bytes(p) <= 256 * 1024 end
    -- One multiprocessor of all has few loads in flight, or blocks come and go.
    if nodes(c, p) > 64 * d.sm_count and c.block * c.unroll < 1024 then return false end
    return c.per_sm * c.block <= 16 * d.threads_per_sm
end

-- The default's grids for inputs of up to so many bytes, after what won on an H200.
local KiB, MiB = 1024, 1024 * 1024
local grids = {
    { bytes = 8 * KiB, block = 64, unroll = 8, per_sm = 1, finish = "single" },
    { bytes = 16 * KiB, block = 128, unroll = 8, per_sm = 1, finish = "single" },
    { bytes = 32 * KiB, block = 256, unroll = 8, per_sm = 1, finish = "single" },
    { bytes = 64 * KiB, block = 512, unroll = 8, per_sm = 1, finish = "single" },
    { bytes = 256 * KiB, block = 32, unroll = 8, per_sm = 1 },
    { bytes = 1 * MiB, block = 64, unroll = 8, per_sm = 2 },
    { bytes = 4 * MiB, block = 256, unroll = 8, per_sm = 1 },
    { bytes = 16 * MiB, block = 256, unroll = 4, per_sm = 4 },
    { bytes = 64 * MiB, block = 512, unroll = 4, resident = 1536, per_sm = 2 },
    { bytes = math.huge, block = 512, unroll = 2, resident = 1536, per_sm = 32 },
}

function family.default(p, d)
    local most = limits.accumulator_bytes(p, d) > 8 and 512 or math.min(d.threads_per_sm, 1536)
    local row = limits.row_of(grids, input_bytes(p))
    return {
        block = row.block, chunks = 1, unroll = row.unroll,
        resident = math.min(row.resident or 1024, most, BLOCKS * row.block),
        load = "no_allocate", finish = row.finish or "poll", per_sm = row.per_sm,
    }
end

function family.launch(c, p, d)
    return {
        threads = c.block,
        tile = node(c, p),
        blocks_max = c.finish == "single" and 1 or math.min(c.per_sm * d.sm_count, d.blocks_max),
        final_threads = 0,
        overlap = limits.overlap(p, d),
    }
end

return family
