-- The family "columns": one result per column, of elements that lie a step apart. A block takes a
-- strip of neighbouring columns: `width` threads side by side, and block / width along the reduced
-- axis, each with vec columns in registers. Where there are few strips, several blocks share one,
-- each of a split of the axis.
local estimate = require "lib/estimate"
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

-- MANY: further loads of a thread take no time of their own. MANY_BYTES: inputs up to this size may have more
-- than 16 loads of a thread, and narrow loads through L1.
local MANY, MANY_BYTES = 32, 1 << 24

-- Inputs up to this size find sectors of neighbouring strips in a cache: KEPT_BYTES for blocks with whole strips,
-- SHARED_BYTES for blocks that share strips, SMALL_BYTES for loads that pass L1.
local KEPT_BYTES, SHARED_BYTES, SMALL_BYTES = 1 << 23, 1 << 22, 1 << 19

local family = {}

family.params = {
    params.block,
    params.width,
    params.columns_vec,
    params.with(params.unroll, { values = { 1, 2, 4, 8, 16, 32, 64 } }),
    params.load,
    params.finish,
    params.per_sm,
}

family.shape = shapes.of_columns()
local shape = family.shape
local strip, depth, sets, tiles, bytes_of = shape.strip, shape.tile, shape.sets, shape.tiles, shapes.input_bytes

local function shared_bytes(c, p, d)
    return shape.shared_values(c) * limits.accumulator_bytes(p, d)
end

-- Loads of more columns are not aligned in each row: one element each takes their place.
local function aligned_vec(p)
    return shapes.aligned_vec(p, p.inner)
end

-- Whether the array is likely a part of another, which begins anywhere: its rows have gaps, and do not divide into
-- loads. One that is not aligned goes by loads of one column, of strips made for wide ones.
local function may_begin_anywhere(p)
    local bytes = aligned_vec(p) * p.dtype.bytes
    return bytes > p.dtype.bytes and bytes < 16 and p.count > 1 and p.step > p.inner
end

function family.serves(p)
    return p.layout == "columns"
end

local function has_narrow_loads(c, p)
    if c.unroll > 16 and c.vec * limits.element_bytes(p) > 4 then
        return false, "unroll=%d, and vec=%d of %s: above unroll=16 a load takes 4 bytes at most",
            c.unroll, c.vec, p.dtype.name
    end
    return true
end

family.allowed = limits.all(shapes.has_width, has_narrow_loads, shapes.has_depth_if_shared,
                            shapes.has_shared_columns(shared_bytes), limits.allowed)

function family.distinct(c, p, d)
    return shape.fills_strip(c, p, 1) and shape.distinct(c, p, d)
end

function family.useful(c, p, d)
    if c.vec ~= aligned_vec(p) and not (c.vec == 1 and may_begin_anywhere(p)) then return false end
    -- Wider strips than long columns gain by, unless accumulators are wide and each thread has columns of its own,
    -- so that none are combined.
    local own = c.width == c.block and limits.accumulator_bytes(p, d) > 4
    if c.width > 16 and strip(c) * p.dtype.bytes > 512 and tiles(c, p) > 1 and not own then return false end
    -- More than 16 loads, where they do not bring whole columns of a small input.
    if c.unroll > 16 and (tiles(c, p) > 1 or bytes_of(p) > MANY_BYTES) then return false end
    return shape.is_useful_strip(c, p, d)
end

-- In ns: results that a thread writes with gaps between them, as halves of sectors.
local APART = 1280

-- Whether sectors that several loads need come from memory once: through L1, where it still has them; of small
-- inputs from L2, whatever the loads.
local function is_cached(c, p)
    local most = c.finish == "single" and KEPT_BYTES or SHARED_BYTES
    return bytes_of(p) <= (c.load == "plain" and most or SMALL_BYTES)
end

-- Loads of a tile that take time. In small inputs, which wait for nothing else, loads that are left out take time,
-- too: all of up to 16, and of more than 16 those of the last four.
local function loads_of(c, p, deep)
    local loads = (p.count + deep - 1) // deep
    if bytes_of(p) > SMALL_BYTES then return math.min(c.unroll, MANY, loads) end
    return c.unroll <= 16 and c.unroll or math.min(c.unroll, MANY, (loads + 3) // 4 * 4)
end

-- The time, in ns, until a block's threads have combined their values.
function family.meet(c, p, d)
    return estimate.meet(shape.shared_values(c), strip(c), limits.accumulator_bytes(p, d))
end

-- About how long it takes, in ns. A thread has its loads in registers, as NVRTC 13 compiles sums.
function family.time(c, p, d)
    local side, deep = strip(c) * p.dtype.bytes, c.block // c.width
    local sets, tiles, values = sets(c, p), tiles(c, p), shape.shared_values(c)
    local splits = shape.splits(c, p, d, sets, tiles)
    local wide = limits.accumulator_bytes(p, d)
    local meet = family.meet(c, p, d)
    local is_apart = values == 0 and c.vec * p.result.bytes > 16 and wide == 4
    return estimate.time(c, p, d, {
        sets = sets, tiles = tiles, splits = splits, room = strip(c),
        loads = loads_of(c, p, deep * splits),
        side = side, row = p.inner * p.dtype.bytes,
        step = p.step * p.dtype.bytes, cached = is_cached(c, p),
        registers = c.vec * limits.element_bytes(p) * c.unroll // 4
            + (c.finish == "single" and 28 or 32),
        begin = 0, meet = meet + (is_apart and APART or 0),
        busy = meet, wide = wide > 4,
    })
end

-- After a prototype on an H200: 128 bytes side by side, and 8 loads in flight, or 16 narrow ones.
local STEPS = { within = "width", finishes = true, fills = true,
    { name = "block", by = { 0, 1, -1 } },
    { name = "width", by = { 0, -1, 1, -2, 2, 3 } }, { name = "unroll", by = { 0, 1, -1, -2, 2 } } }

-- Columns of a few dozen elements, for all multiprocessors and no more than a few for each of their
-- threads: all loads of a column are in flight at once, by one thread that has it alone, or two.
local function alone(p, d)
    local columns = p.outer * p.inner
    if p.count <= 16 or p.count > 64 or limits.element_bytes(p) > 4 or aligned_vec(p) > 1
        or columns < 128 * d.sm_count or columns > 512 * d.sm_count or bytes_of(p) > MANY_BYTES then
        return nil
    end
    local c = { block = 128, width = 128, vec = 1, unroll = 64, load = "plain",
                finish = "single", per_sm = 1 }
    if p.count <= 32 then
        c.unroll = 32
        if columns >= 256 * d.sm_count then c.block, c.width = 256, 256 end
    elseif p.op.indexed then
        c.width, c.unroll, c.load = 64, 32, "no_allocate"
    end
    return c
end

-- Large inputs with a mask, whose loads take registers, too: few in flight, and strips that blocks share. On an
-- H100 a sum of 8192 x 4096 of f32 took 1.32 times as long as reading with eight loads, and with four 1.04 times.
local function with_mask(p, d)
    if not p.mask or bytes_of(p) <= MANY_BYTES then return nil end
    if p.op.indexed and p.dtype.bytes < 4 then return nil end -- eight columns of a thread, each with its index
    local vec = aligned_vec(p)
    local c = { block = 256, width = math.max(8, 128 // (vec * p.dtype.bytes)), vec = vec,
                unroll = p.op.indexed and 2 or 4, load = "no_allocate", finish = "poll", per_sm = 4 }
    while sets(c, p) > d.sm_count // 2 and c.width < 32 do c.width = 2 * c.width end
    return sets(c, p) <= d.sm_count // 2 and c or nil
end

-- Rows of planes that are a part of wider ones, such as crops, as they won on an H200: threads for all columns of a
-- plane, and all loads of f32 in flight.
local function cropped(p, d)
    if not may_begin_anywhere(p) or p.mask or p.op.indexed or p.op.inputs == 2 or p.accuracy == "exact" then return nil end
    if p.inner < 32 or p.inner > 128 or p.count < 16 or p.outer < 8 * d.sm_count then return nil end
    local width = p.inner <= 64 and 64 or 128
    local wide = p.dtype.bytes == 4
    local c = { block = wide and 2 * width or width, width = width, vec = 1, unroll = wide and 32 or 16,
                load = "no_allocate", finish = "single", per_sm = 1 }
    shape.fit_unroll(c, p, 1)
    return c
end

function family.default(p, d)
    local known = alone(p, d) or with_mask(p, d) or cropped(p, d)
    if known and family.allowed(known, p, d) then return known end
    local bytes = p.dtype.bytes
    local c = {
        block = 256, width = 1, vec = may_begin_anywhere(p) and 1 or aligned_vec(p), unroll = 8, load = "no_allocate",
    }
    if c.vec * bytes < 16 then c.unroll = 16 end
    shape.widen(c, p, d)
    -- Short columns: more of them with as many loads in flight, if there are more than enough. Of rows with a step a
    -- strip has one.
    while p.inner > 1 and c.width < c.block and depth(c) >= 2 * p.count and sets(c, p) >= 4 * d.sm_count do
        c.width = 2 * c.width
    end
    shape.fit_unroll(c, p, 1)
    shape.fit_block(c, p, 1)
    while shared_bytes(c, p, d) > d.shared_bytes_per_block do c.width = c.width // 2 end
    shape.spread(c, p, d)
    shape.finished(c, p, d)
    -- Sectors that such loads share with those of other rows: L1 keeps them.
    if c.vec * bytes < 16 and bytes_of(p) <= MANY_BYTES then c.load = "plain" end
    return estimate.improve(family, c, p, d, STEPS)
end

family.launch = shape.launch

return family
