-- The family "rows": one result per row of elements that lie side by side. A group of threads
-- takes a row, or several at once; a block has several groups. Where there are few rows, a group
-- is a block, and several blocks share a row, each of a split of it.
local estimate = require "lib/estimate"
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.block,
    params.row_lanes,
    { name = "rows", values = { 1, 2, 4 }, doc = "rows that the same threads take at once" },
    params.vec,
    params.with(params.unroll, { doc = "independent loads in flight per thread and row" }),
    params.load,
    params.finish,
    params.per_sm,
}

family.shape = shapes.of {
    results = function(c) return c.block // c.lanes * c.rows end,
    tile = function(c) return c.lanes * c.vec * c.unroll end,
}
local shape = family.shape
local rows, tile, sets, tiles = shape.results, shape.tile, shape.sets, shape.tiles

function family.serves(p)
    return p.layout == "rows"
end

local function takes_one_if_shared(c)
    if c.finish == "single" or rows(c) == 1 then return true end
    return false, "finish=%s takes one row of a block: add lanes=%d,rows=1", c.finish, c.block
end

family.allowed = limits.all(limits.has_lanes("row"), takes_one_if_shared, limits.allowed)

function family.distinct(c, p, d)
    if c.vec > math.max(1, p.count) then return false end -- a load has more elements than a row
    if not shape.fills_tile(c, p, 1) then return false end
    if c.lanes > 1 and c.lanes * c.vec >= 2 * p.count then return false end -- no further lane loads
    -- No further row. A warp may have more lanes than there are rows for.
    local is_least = c.rows == 1 and c.block <= math.max(32, c.lanes)
    if not (is_least or shape.fills_set(c, p)) then return false end
    return shape.distinct(c, p, d)
end

function family.useful(c, p, d)
    -- A group's load fills no sector of 32 bytes and does not bring the row, and its loads together do not either.
    local bytes = p.dtype.bytes
    if c.lanes * c.vec * bytes < math.min(32, p.count * bytes)
        and (c.vec * bytes < 16 or tile(c) < p.count) then
        return false
    end
    -- Narrow loads, where wider ones take no more of a row.
    if c.vec * bytes < 16 and 2 * c.vec * c.lanes <= p.count then return false end
    -- Rows that are long enough to keep loads in flight, or more loads than registers.
    if c.rows > 1 and (p.count > tile(c) or c.rows * c.unroll > 8) then return false end
    -- Loads through L1, where no other load needs the same lines.
    if not shapes.gains_by_l1(c, p) then return false end
    -- Many rounds of a loop with few loads.
    if p.count > 64 * tile(c) and c.lanes < 256 then return false end
    return shape.useful(c, p, d)
end

-- In ns: a row's ends that are no whole loads; a partial tile; each further row of the same threads; a
-- barrier, where these are of several warps.
local ENDS, PART, FURTHER, BARRIER = 268, 83, 310, 184
-- In ns: loads from memory after those that the launch before brought into L2 (prefetch_rows: one tile).
local LATE = 300
-- In ns: a multiprocessor's work for a warp's row with such ends, and without.
local WORK_ENDS, WORK = 45, 10

-- About how long it takes, in ns. A thread has its loads in registers, as NVRTC 13 compiles sums.
function family.time(c, p, d)
    local bytes, splits, tiles = p.dtype.bytes, shape.splits(c, p, d), tiles(c, p)
    local ends = ((p.outer > 1 and p.outer_step or 0) | p.count) % c.vec > 0
    local merges = c.unroll > 1 and c.rows == 1 and c.finish == "single"
    local left, over = p.count % tile(c), merges and c.unroll // 2 or 0
    -- What is left of the last tile comes with the loads of the one before, which may be in L2 already.
    local late = 0
    if left > 0 and left < p.count and left <= over * c.lanes * c.vec then
        tiles, left = tiles - 1, 0
        if tiles == 1 and estimate.is_ahead(p) then late = LATE end
    end
    local side = c.lanes * c.vec
    local most = math.max(1, (p.count + side - 1) // side / splits)
    local meet = c.lanes > 32 and BARRIER or 0
    return estimate.time(c, p, d, {
        sets = sets(c, p), tiles = tiles, splits = splits, room = 1,
        loads = c.rows * math.min(c.unroll, most),
        side = p.count * bytes <= 32 and 32 or math.min(c.lanes, 32) * c.vec * bytes,
        row = p.count * bytes, step = 0,
        registers = 20 + 8 * c.rows
            + 27 * c.vec * limits.element_bytes(p) // 4 * (c.unroll + over) * c.rows // 20,
        begin = (ends and ENDS or 0) + (left > 0 and PART or 0) + FURTHER * (c.rows - 1) + late,
        meet = meet, busy = 0.3 * meet + c.rows * c.block / 32 * (ends and WORK_ENDS or WORK),
    })
end

-- The default's threads for rows of up to `bytes` bytes, those of the winners on an H200. `if_full`: only for
-- rows that leave hardly any load without elements.
local KiB = 1024
local groups = {
    { bytes = 16, lanes = 1, rows = 4, unroll = 1 },
    { bytes = 32, lanes = 1, rows = 2, unroll = 2 },
    { bytes = 64, lanes = 2, rows = 2, unroll = 2 },
    { bytes = 128, lanes = 4, rows = 2, unroll = 2 },
    { bytes = 256, lanes = 8, rows = 2, unroll = 2 },
    { bytes = 1 * KiB, lanes = 8, unroll = 4 },
    { bytes = 2 * KiB, lanes = 32, rows = 2, unroll = 4 },
    { bytes = 4 * KiB, lanes = 32, unroll = 8 },
    { bytes = 8 * KiB, lanes = 128, unroll = 4 },
    { bytes = 16 * KiB, lanes = 128, unroll = 8, if_full = true },
    { bytes = 128 * KiB, lanes = 256, unroll = 4 },
    { bytes = math.huge, lanes = 512, unroll = 4 },
}

-- Whether nine of ten of the threads' loads bring what is there, or what is behind whole tiles comes
-- with the loads of the last one.
local function is_full(c, p)
    if tiles(c, p) * tile(c) <= p.count * 10 // 9 then return true end
    return p.count > tile(c) and p.count % tile(c) <= c.unroll // 2 * c.lanes * c.vec
end

-- The same where each row may have a multiprocessor: all of its loads are in flight at once, up to
-- 64 KiB of them.
local blocks = {
    { bytes = 8 * KiB, lanes = 256, unroll = 2 },
    { bytes = 24 * KiB, lanes = 256, unroll = 4 },
    { bytes = 40 * KiB, lanes = 512, unroll = 4 },
    { bytes = 96 * KiB, lanes = 512, unroll = 8 },
    { bytes = math.huge, lanes = 1024, unroll = 4 },
}

-- A block for each row is faster than several that meet, where a few of its rounds of loads are
-- enough, or enough multiprocessors have a row.
local function is_alone(p, d)
    local bytes = shapes.result_bytes(p)
    return bytes <= 72 * KiB or bytes <= 128 * KiB and 12 * p.outer >= d.sm_count
        or 4 * p.outer >= d.sm_count
end

-- Makes c the default for few rows.
local function few(c, p, d)
    local alone, row = is_alone(p, d), limits.row_of(blocks, shapes.result_bytes(p))
    c.block, c.rows, c.unroll = row.lanes, 1, row.unroll
    if not alone then c.block, c.unroll = 512, 4 end
    c.block = limits.block_most(c, p, d)
    c.lanes = c.block
    if alone then
        c.finish, c.per_sm = "single", 1
        return c
    end
    return shape.finished(c, p, d)
end

-- Rows that do not begin at multiples of a load take whole loads of a tile alone without conditions:
-- fewer loads in flight, as many as a row has, or shorter steps for more rows.
local function fit_unaligned(c, p)
    c.rows = 1
    if shapes.result_bytes(p) <= 288 then
        c.lanes, c.unroll = math.min(c.lanes, 4), 1
        return
    end
    while c.unroll > 4 and tile(c) > p.count do c.unroll = c.unroll // 2 end
    while c.lanes > 16 and tile(c) > p.count do c.lanes = c.lanes // 2 end
    while c.unroll > 1 and tile(c) > p.count do c.unroll = c.unroll // 2 end
end

local function usual(p, d)
    local bytes = p.dtype.bytes
    local c = { block = 128, vec = 16 // bytes, load = "no_allocate" }
    while c.vec > math.max(1, p.count) do c.vec = c.vec // 2 end
    for _, row in ipairs(groups) do
        c.lanes, c.rows, c.unroll = row.lanes, row.rows or 1, row.unroll
        if p.count * bytes <= row.bytes and (not row.if_full or is_full(c, p)) then break end
    end
    while c.lanes > 64 and p.count * bytes <= 64 * KiB and not is_full(c, p) do
        c.lanes = c.lanes // 2
    end
    shape.fit_unroll(c, p, 1)
    if p.outer > d.sm_count and p.outer_step * bytes % 16 > 0 and p.count * bytes > 128 then
        fit_unaligned(c, p)
    end
    c.block = math.max(c.block, c.lanes)
    c.block = limits.block_most(c, p, d)
    c.lanes = math.min(c.lanes, c.block)
    -- Few rows: as many as no multiprocessor waits for.
    while c.rows > 1 and sets(c, p) < 4 * d.sm_count do c.rows = c.rows // 2 end
    if p.outer <= d.sm_count and p.count * bytes > 4 * KiB then return few(c, p, d) end
    c.finish, c.per_sm = "single", 1
    return c
end

local STEPS = { within = "lanes",
    { name = "lanes", by = { 0, 1, -1, 2, -2 } },
    { name = "rows", by = { 0, -1 } }, { name = "unroll", by = { 0, 1, -1, 2, -2 } } }

-- A few short rows that are not aligned: narrower loads, which are, by more threads.
local FEW_BYTES = 512 * KiB
local FEW = { within = "lanes",
    { name = "rows", by = { 0, -1, -2 } }, { name = "vec", by = { 0, -1, -2, -3 } },
    { name = "lanes", by = { 0, 1, 2, 3, 4, 5 } }, { name = "unroll", by = { 0, 1, -1 } } }

-- Lanes of a row, for rows of at most `bytes` bytes, where there are many rows and a mask: each load of elements has one
-- of the mask beside it, and fewer loads by more threads were fastest on an H200.
local masked = { { bytes = 512, lanes = 8 }, { bytes = 2 * KiB, lanes = 16 }, { bytes = 16 * KiB, lanes = 32 } }

-- Changes c, where p's rows are such.
local function fit_mask(c, p, d)
    local bytes = p.count * p.dtype.bytes
    if not p.mask or c.vec * p.dtype.bytes < 16 or p.outer < 16 * d.sm_count then return false end
    if bytes < 512 or bytes > 16 * KiB or limits.block_most({ block = 256, rows = 1 }, p, d) < 256 then
        return false
    end
    c.block, c.rows, c.unroll, c.lanes = 256, 1, 4, limits.row_of(masked, bytes).lanes
    return true
end

-- Of many such rows the estimate knows little.
function family.default(p, d)
    local c, bytes = usual(p, d), p.dtype.bytes
    if p.outer_step * bytes % 16 == 0 and fit_mask(c, p, d) then return c end
    if p.outer_step * bytes % 16 == 0 or p.count * bytes > 288 then
        return estimate.improve(family, c, p, d, STEPS)
    end
    return p.outer * p.count * bytes <= FEW_BYTES and estimate.improve(family, c, p, d, FEW) or c
end

family.launch = shape.launch

return family
