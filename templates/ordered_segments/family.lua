-- The family "ordered_segments": one result per segment, whatever their lengths, each in the fixed order
-- of docs/order.md, or one result of all. The work of all is dealt to warps in equal stretches, as in "ragged";
-- of a long segment, and of all together, warps take nodes, which are runs of chunks, so that no bit depends on how
-- many do.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = { order = "fixed" }

family.params = {
    params.middle_block,
    params.chunks,
    params.with(params.unroll, { values = { 2, 4, 8 } }),
    params.resident,
    params.load,
    params.dealt_per_sm,
}

local CHUNK_BYTES <const> = 4096

function family.serves(p)
    return not p.op.indexed and (p.layout == "ragged" or p.layout == "list" and limits.inputs(p) == 1)
end

-- Of one result of all each warp has a chunk in shared memory, and its mask.
local function has_chunks(c, p, d)
    if p.layout == "ragged" then return true end
    local mask_bytes = p.mask and CHUNK_BYTES // p.dtype.bytes or 0
    local bytes = c.block // 32 * (CHUNK_BYTES + mask_bytes + limits.accumulator_bytes(p, d)) + 32
    return limits.has_shared(d, bytes, "block=%d", c.block)
end

family.allowed = limits.all(limits.has_threads, limits.has_registers(64), has_chunks)

-- A long segment is divided into nodes: no segment would have two of them.
function family.distinct(c, p)
    return c.chunks == 1 or c.chunks * CHUNK_BYTES <= shapes.result_bytes(p)
end

function family.useful(c, p, d)
    return shapes.fills_multiprocessor(c, d)
end

-- Warps that meet nobody want blocks of their own. With masks a kernel is left fewer registers: by 150 of each thread a
-- multiprocessor has room for 12 warps, too few for loads of which each has a narrow one beside it. Accumulators of 32
-- bytes would be stored to memory.
function family.default(p, d)
    local narrow = p.mask and limits.accumulator_bytes(p, d) <= 16
    return {
        block = narrow and 128 or 64, chunks = 1, unroll = 4, resident = 4, load = "no_allocate",
        per_sm = narrow and 8 or 16,
    }
end

function family.launch(c, p, d)
    return shapes.launch(c, p, d, {
        segments = true, tile = c.block * 8 * 16 // p.dtype.bytes,
        blocks_max = math.max(1, math.min(c.per_sm * d.sm_count, d.blocks_max)),
    })
end

return family
