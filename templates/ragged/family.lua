-- The family "ragged": one result per segment of a buffer or array of a list, whatever their lengths,
-- or one result of all. It shares out equal work: each warp takes a stretch of the work of all, finds
-- its first segment by search, and goes on from there.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.middle_block,
    params.with(params.vec, { doc = "elements per load of a long segment" }),
    params.unroll,
    { name = "cost", values = { 16, 32, 64, 128, 256 },
      doc = "bytes that a segment counts for, beside its elements" },
    params.resident,
    params.load,
    { name = "unit", labels = { "segments", "long", "tiles", "anywhere" },
      doc = "what a warp takes at a time where one table gives segments: those of like lengths, or one long one, or a tile of elements; or it is for segments that lie anywhere" },
    params.dealt_per_sm,
}

-- Bytes of the table of work in front of the slots (kernel.cu).
local TABLE_BYTES <const> = 33024

-- Blocks that a multiprocessor has registers for, at least. Where segments may be anywhere and each has a result, it
-- takes warps to hide the memory's latency with few loads in flight.
function family.resident(c, p)
    if c.unit ~= "anywhere" or p.layout == "list" or c.unroll > 4 then return c.resident end
    return math.max(c.resident, 768 // c.block)
end

-- Whether each array of a list has a mask.
local function is_listed(p)
    return p.mask == "listed_bytes" or p.mask == "listed_bits"
end

-- Segments of one buffer with masks are left to "grouped", which finds very long ones without a search.
function family.serves(p)
    if p.layout == "list" then return limits.inputs(p) == 1 end
    return p.layout == "ragged" and (not limits.has_beside(p) or limits.inputs(p) == 1 and is_listed(p))
end

-- Bytes of shared memory of a block, beside those that the warps have (tiles.cu).
local OTHER_SHARED_BYTES <const> = 3584

-- Whether warps have room for their tiles (tile.cu); if not, why not.
function family.has_room(c, p, d)
    local loads = c.unroll < 4 and c.unroll | 1 or 5
    local bytes = OTHER_SHARED_BYTES + c.block // 32 * (32 * loads * (math.max(4, c.vec * p.dtype.bytes) + c.vec)
        + 130 * (8 + limits.accumulator_bytes(p, d)) + 256)
    if bytes <= d.shared_bytes_per_block then return true end
    return false, "block=%d, vec=%d and unroll=%d take %d bytes of shared memory for tiles, and a block has %d",
        c.block, c.vec, c.unroll, bytes, d.shared_bytes_per_block
end

local function has_unit(c, p, d)
    if p.layout == "list" and (c.unit == "tiles" or c.unit == "long") then
        return false, "unit=%s is for segments with a result each", c.unit
    end
    if p.layout == "ragged" and p.mask and c.unit ~= "anywhere" then
        return false, "unit=%s is for segments without masks", c.unit
    end
    if c.unit ~= "tiles" then return true end
    return family.has_room(c, p, d)
end

family.allowed = limits.all(has_unit, limits.has_registers(64), limits.allowed)

-- A tune measures one table of segments in one buffer, for which unit=anywhere is not made.
function family.distinct(c, p, d)
    if c.unit == "anywhere" then return false end
    if c.unit == "tiles" and c.unroll == 8 then return false end -- tiles are those of unroll=4
    return shapes.has_narrow_loads(c, p)
end

function family.useful(c, p, d)
    -- Narrow loads, or fewer threads than hide the memory's latency.
    if c.vec * p.dtype.bytes < 16 and 2 * c.vec <= p.count then return false end
    return shapes.fills_multiprocessor(c, d)
end

-- Whether the input is large. A problem of one segment does not say how many there are.
function family.is_large(p)
    return p.outer == 1 or p.outer * p.count * p.dtype.bytes > 1 << 25
end

-- Whether equal work is the default where the problem gives no lengths. Sums of f32 on an H200, beside "grouped":
-- segments of about one length took 1.0 to 1.4 times as long, a million Zipf-distributed lengths 0.3 times, and short
-- segments with one long one among them 0.5 times. Narrow elements and small inputs took twice as long.
function family.takes_any_lengths(p)
    local bytes = shapes.result_bytes(p)
    return p.layout == "ragged" and p.dtype.bytes >= 4 and bytes > 0 and bytes < 1024 and family.is_large(p)
end

-- Whether the problem's lengths differ so much that tiles are faster than segments sorted by kinds. Segments of a few
-- elements gain nothing, nor do long ones of about one length. The limits are those of sums of f32 on an H200.
local function differ(p)
    local bytes = shapes.result_bytes(p)
    if p.greatest == 0 then return bytes >= 24 and family.takes_any_lengths(p) end
    return p.layout == "ragged" and p.count > 4 and p.greatest > (bytes >= 2048 and 2 or 1.125) * p.count
end

-- Tiles need many warps: as many as shared memory has room for.
local function default_of_tiles(p, d)
    local c = { block = 256, vec = math.max(1, 16 // p.dtype.bytes), unroll = 4, cost = 128, resident = 3,
                load = "no_allocate", unit = "tiles", per_sm = 3 }
    if not family.has_room(c, p, d) then c.block, c.resident, c.per_sm = 128, 4, 4 end
    return family.has_room(c, p, d) and c or nil
end

-- Whether segments are few, or long on average. NVRTC makes the kernel for these in half of the time.
local function are_long(p)
    return p.layout == "ragged" and (p.outer > 1 and p.outer < 256 or shapes.result_bytes(p) > 1 << 18)
end

local function unit_of(p)
    if p.layout == "ragged" and p.mask then return "anywhere" end
    return are_long(p) and "long" or "segments"
end

-- Long segments want loads in flight, short ones registers for several at once: on an H200 the first are
-- those of 1 KiB and more.
function family.default(p, d)
    local tiles = not p.mask and differ(p) and default_of_tiles(p, d)
    if tiles then return tiles end
    local list = p.layout == "list"
    local long = list or shapes.result_bytes(p) >= 1024
    return {
        block = list and 256 or 128, vec = math.max(1, 16 // p.dtype.bytes), unroll = long and 8 or 4,
        cost = 128, resident = list and 2 or 4, load = "no_allocate", unit = unit_of(p), per_sm = list and 2 or 4,
    }
end

-- A block leaves at most two values: of the segments that it shares with the blocks before and behind it.
function family.launch(c, p, d)
    local room = (d.slots_bytes - TABLE_BYTES) // (2 * limits.accumulator_bytes(p, d))
    local per_sm = c.unit == "anywhere" and math.max(c.per_sm, family.resident(c, p)) or c.per_sm
    return shapes.launch(c, p, d, {
        tile = c.block * c.vec * c.unroll,
        blocks_max = math.max(1, math.min(per_sm * d.sm_count, d.blocks_max, room)),
        segments = true, packed = c.unit ~= "anywhere",
    })
end

return family
