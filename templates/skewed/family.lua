-- The family "skewed": columns whose rows are not aligned alike, because the step between them is
-- no multiple of a load's bytes, as in a matrix of an odd width. Loads are aligned all the same:
-- in each row they begin in front of the strip's first column, by what that row is behind a
-- multiple of a load's bytes (its skew). The skew comes back every `vec` rows, and a thread's rows
-- are a multiple of that apart: so it has the same columns in all of them. A strip has `vec`
-- columns less than loads bring, so that these reach over it whatever the skew.
local estimate = require "lib/estimate"
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.with(params.block, { values = { 128, 256, 512, 1024 } }),
    params.with(params.width, { values = { 8, 16, 32, 64, 128 } }),
    params.with(params.columns_vec, { values = { 2, 4, 8, 16 } }),
    { name = "unroll", values = { 1, 2, 4, 8, 16 },
      doc = "independent loads of a strip in flight per thread" },
    params.load,
    params.finish,
    params.per_sm,
}

-- Columns that a block makes of a strip: of those that loads bring of a row, all but vec.
local function strip(c)
    return c.width * c.vec - c.vec
end

family.shape = shapes.of_columns(strip)
local shape = family.shape
local room, sets, tiles = shape.strip, shape.sets, shape.tiles

local function shared_bytes(c, p, d)
    return c.block * c.vec * limits.accumulator_bytes(p, d)
end

-- Rows that are aligned alike need no skew, and few columns are not worth a strip. Of a few strips of
-- narrow elements narrower loads are faster, where these are aligned: of 8 bytes, or 4 of 16-bit ones.
function family.serves(p)
    local bytes = p.dtype.bytes
    local aligned = bytes == 2 and 4 or 8
    if bytes <= 2 and p.step * bytes % aligned == 0 and p.outer * p.inner * bytes < 64 * 1024 then
        return false
    end
    return not p.mask and p.layout == "columns" and p.count > 1 and p.step * bytes % 16 > 0
        and p.inner * bytes >= 256
end

local function has_skews(c)
    if c.block // c.width >= c.vec then return true end
    return false, "block=%d, width=%d are %d rows of threads, and vec=%d takes as many",
        c.block, c.width, c.block // c.width, c.vec
end

family.allowed = limits.all(has_skews, shapes.has_shared_columns(shared_bytes), limits.allowed)

function family.distinct(c, p, d)
    if strip(c) >= 2 * p.inner and c.width > 8 then return false end -- no further column
    if not shape.fills_tile(c, p, 1) then return false end
    -- No further thread along the axis. There are as many as a load has columns.
    local deep = c.block // c.width
    if c.block > 128 and deep > c.vec and deep >= 2 * p.count then return false end
    return shape.distinct(c, p, d)
end

-- The widest load whose values fit shared memory.
local function widest(c, p, d)
    local vec, wider = c.vec, 2 * c.vec
    if wider * p.dtype.bytes > 16 then return true end
    c.vec = wider
    local fits = family.allowed(c, p, d)
    c.vec = vec
    return not fits
end

function family.useful(c, p, d)
    local bytes = p.dtype.bytes
    if not widest(c, p, d) or c.load == "plain" then return false end
    -- Loads of less than 16 bytes where a narrower strip has wider ones.
    if c.vec * bytes < 8 then return false end
    if c.block < 256 and p.count * p.inner * p.outer * bytes > 1024 * 1024 then return false end
    return shape.useful(c, p, d)
end

-- The time, in ns, until a block's threads have combined their values.
function family.meet(c, p, d)
    local wide = limits.accumulator_bytes(p, d)
    return estimate.meet(c.block * c.vec, room(c), wide) * (wide > 4 and 2 or 1)
end

-- What a block of several rows a thread takes besides, where its first loads are in L2 already.
local SMALL, SMALL_BYTES = 800, 1 << 23

-- About how long it takes, in ns. A thread has its loads in registers, and more of them the more
-- columns it has, as NVRTC 13 compiles sums.
function family.time(c, p, d)
    local words, deep = c.vec * limits.element_bytes(p) * c.unroll // 4, c.block // c.width
    local sets, tiles = sets(c, p), tiles(c, p)
    local splits = shape.splits(c, p, d, sets, tiles)
    local wide = limits.accumulator_bytes(p, d)
    local meet = family.meet(c, p, d)
    return estimate.time(c, p, d, {
        sets = sets, tiles = tiles, splits = splits, room = room(c),
        loads = math.min(c.unroll, (p.count + deep * splits - 1) // (deep * splits)),
        side = room(c) * p.dtype.bytes, row = p.inner * p.dtype.bytes,
        step = p.step * p.dtype.bytes, apart = p.step ~= p.inner or p.inner < c.vec,
        registers = 40 + words * (6 + c.vec) // 8,
        begin = p.count > 16 and shapes.input_bytes(p) <= SMALL_BYTES and SMALL or 0,
        meet = meet, busy = meet, wide = wide > 4,
    })
end

-- 512 bytes side by side, of which an overlap takes the 32nd part, and 8 loads in flight.
local STEPS = { within = "width", finishes = true,
    { name = "block", by = { 0, 1, -1 } },
    { name = "width", by = { 0, -1, 1, -2, 2 } }, { name = "unroll", by = { 0, 1, -1, -2, 2 } } }

function family.default(p, d)
    local c = { block = 256, width = 32, vec = 16 // p.dtype.bytes, unroll = 8, load = "no_allocate" }
    while c.width > 8 and (c.block // c.width < c.vec or strip(c) >= 2 * p.inner) do
        c.width = c.width // 2
    end
    while c.vec > 2 and not family.allowed({ block = c.block, width = c.width, vec = c.vec,
                                             finish = "single", per_sm = 1 }, p, d) do
        c.vec = c.vec // 2
    end
    shape.fit_unroll(c, p, 1)
    shape.spread(c, p, d)
    shape.finished(c, p, d)
    return estimate.improve(family, c, p, d, STEPS)
end

family.launch = shape.launch

return family
