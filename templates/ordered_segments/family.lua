-- The family "ordered_segments": one result per segment, whatever their lengths, each in the fixed order
-- of docs/order.md. The work of all is dealt to warps in equal stretches, as in "ragged"; of a long
-- segment warps take nodes, which are runs of chunks, so that no bit depends on how many do.
--
-- The functions below are those of block/family.lua. A problem's segments are p.outer, of p.count
-- elements each on average.
local limits = require "lib/limits"

local family = {
    name = "ordered_segments",
    template = "ordered_segments/kernel.cu",
    order = "fixed",
}

family.params = {
    { name = "block", values = { 64, 128, 256, 512 }, doc = "threads per block" },
    { name = "chunks", values = { 1, 2, 4, 8 },
      doc = "chunks of 4 KiB in a node of a long segment, at least" },
    { name = "unroll", values = { 2, 4, 8 }, doc = "independent loads in flight per thread" },
    { name = "resident", values = { 1, 2, 3, 4 },
      doc = "blocks that a multiprocessor has registers for, at least" },
    limits.load,
    { name = "per_sm", values = { 1, 2, 3, 4, 8, 16 }, launch = true,
      doc = "blocks per multiprocessor at most" },
}

local CHUNK_BYTES <const> = 4096

function family.serves(p)
    return p.layout == "ragged" and not p.op.indexed
end

function family.allowed(c, p, d)
    if c.block > d.threads_per_block then
        return false, "block=%d, and the device allows %d threads", c.block, d.threads_per_block
    end
    if c.block * c.resident > 1024 then
        return false, "block=%d and resident=%d leave a thread fewer than 64 registers", c.block,
            c.resident
    end
    return true
end

-- Nodes are what long segments are shared out by.
function family.distinct(c, p)
    return c.chunks == 1 or c.chunks * CHUNK_BYTES <= p.count * p.dtype.bytes
end

function family.useful(c, p, d)
    return c.per_sm * c.block <= d.threads_per_sm and 4 * c.per_sm * c.block >= d.threads_per_sm
end

-- Warps that meet nobody want blocks of their own.
function family.default()
    return {
        block = 64, chunks = 1, unroll = 4, resident = 4, load = "no_allocate", per_sm = 16,
    }
end

function family.launch(c, p, d)
    return {
        threads = c.block,
        tile = c.block * 8 * 16 // p.dtype.bytes,
        blocks_max = math.max(1, math.min(c.per_sm * d.sm_count, d.blocks_max)),
        final_threads = 0,
        segments = true,
        scattered = true,
        overlap = limits.overlap(p, d),
    }
end

return family
