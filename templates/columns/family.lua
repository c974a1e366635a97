-- The family "columns": one result per column, of elements that lie a step apart. A block takes a
-- strip of neighbouring columns: `width` threads side by side, and block / width along the reduced
-- axis, each with vec columns in registers. Where there are few strips, several blocks share one,
-- each of a split of the axis.
--
-- The functions below are those of block/family.lua. A problem has p.outer times p.inner columns,
-- of p.count elements each, p.step apart.
local estimate = require "lib/estimate"
local limits = require "lib/limits"

-- Loads of a thread, beyond which further ones take no time of their own, and the bytes of the inputs
-- that more than 16 are for, and narrow ones through L1.
local MANY, MANY_BYTES = 32, 1 << 24

-- Bytes of an input of which caches keep what blocks need of the sectors of others' strips: blocks that
-- make whole strips, and such that share them; by loads that pass L1.
local KEPT_BYTES, SHARED_BYTES, SMALL_BYTES = 1 << 23, 1 << 22, 1 << 19

local family = {
    name = "columns",
    template = "columns/kernel.cu",
}

family.params = {
    { name = "block", values = { 32, 64, 128, 256, 512, 1024 }, doc = "threads per block" },
    { name = "width", values = { 1, 2, 4, 8, 16, 32, 64, 128, 256 },
      doc = "threads side by side, over neighbouring columns" },
    { name = "vec", values = { 1, 2, 4, 8, 16 }, doc = "columns per thread, and per load" },
    { name = "unroll", values = { 1, 2, 4, 8, 16, 32, 64 },
      doc = "independent loads in flight per thread" },
    limits.load,
    limits.finish,
    limits.per_sm,
}

-- Columns that a block takes at a time.
local function strip(c)
    return c.width * c.vec
end

-- Elements of a column that a block takes at a time.
local function depth(c)
    return c.block // c.width * c.unroll
end

-- How many sets of results blocks make.
function family.sets(c, p)
    return p.outer * ((p.inner + strip(c) - 1) // strip(c))
end

local function tiles(c, p)
    return (p.count + depth(c) - 1) // depth(c)
end

local function splits(c, p, d)
    return limits.splits(c, p, d, family.sets(c, p), tiles(c, p), strip(c))
end

-- Values that a block's threads combine in shared memory.
local function shared_values(c)
    local rows = c.width < 32 and c.block // 32 or c.block // c.width
    return c.width == c.block and 0 or math.max(rows * strip(c), c.block)
end

local function shared_bytes(c, p, d)
    return shared_values(c) * limits.accumulator_bytes(p, d)
        + limits.shared_bytes_to_finish(c)
end

local function bytes_of(p)
    return p.count * p.inner * p.outer * limits.element_bytes(p)
end

-- Loads of more columns are not aligned in each row: one element each takes their place.
local function aligned_vec(p)
    local steps = p.inner | (p.count > 1 and p.step or 0) | (p.outer > 1 and p.outer_step or 0)
    local vec = 16 // p.dtype.bytes
    while steps % vec > 0 do vec = vec // 2 end
    return vec
end

function family.serves(p)
    return p.layout == "columns"
end

function family.allowed(c, p, d)
    if c.width > c.block then
        return false, "width=%d, and block=%d: threads side by side are of one block", c.width,
            c.block
    end
    if c.unroll > 16 and c.vec * limits.element_bytes(p) > 4 then
        return false, "unroll=%d, and vec=%d of %s: above unroll=16 a load takes 4 bytes at most",
            c.unroll, c.vec, p.dtype.name
    end
    if c.finish ~= "single" and c.width == c.block then
        return false, "finish=%s has several threads along the axis: add width=%d", c.finish,
            c.block // 2
    end
    local bytes = shared_bytes(c, p, d)
    if bytes > d.shared_bytes_per_block then
        return false, "block=%d, width=%d, vec=%d take %d bytes of shared memory, of %d", c.block,
            c.width, c.vec, bytes, d.shared_bytes_per_block
    end
    return limits.allowed(c, p, d)
end

function family.distinct(c, p, d)
    if c.vec > p.inner then return false end -- a load has more columns than there are
    if c.width > 1 and strip(c) >= 2 * p.inner then return false end -- no further column
    if c.unroll > 1 and depth(c) >= 2 * p.count then return false end -- no further load
    -- No further thread along the axis. A warp may have more than there are elements for.
    if c.block > math.max(32, c.width) and c.block // c.width >= 2 * p.count then return false end
    return limits.distinct(c, function(at) return splits(at, p, d) end)
end

function family.useful(c, p, d)
    -- The loads of threads side by side fill no sector of 32 bytes, and do not take all columns.
    local bytes = p.dtype.bytes
    if strip(c) * bytes < math.min(32, p.inner * bytes) then return false end
    if c.vec ~= aligned_vec(p) then return false end
    -- More side by side than long columns gain by, unless accumulators are wide and threads that have
    -- columns of their own need not combine them; or few threads where there is much to do.
    local own = c.width == c.block and limits.accumulator_bytes(p, d) > 4
    if c.width > 16 and strip(c) * bytes > 512 and tiles(c, p) > 1 and not own then return false end
    -- More loads than usual where they bring all of a column, of not too many.
    if c.unroll > 16 and (tiles(c, p) > 1 or bytes_of(p) > MANY_BYTES) then return false end
    if c.block < 128 and p.count * p.inner * p.outer * bytes > 1024 * 1024 then return false end
    -- Lines that another load needs, too, may be worth a place in L1.
    if c.load == "plain" and c.vec * bytes >= 16 then return false end
    return limits.useful(c, p, d, family.sets(c, p))
end

-- Results that a thread writes with gaps between them: halves of sectors.
local APART = 1280

-- Whether sectors that several loads need are brought from memory once: through L1, and not so long
-- ago; of small inputs L2 has them, whatever the loads.
local function is_cached(c, p)
    local most = c.finish == "single" and KEPT_BYTES or SHARED_BYTES
    return bytes_of(p) <= (c.load == "plain" and most or SMALL_BYTES)
end

-- Loads of a tile that take time. Of small inputs, which wait for nothing else, those left out do, too:
-- of up to 16 all, of more only by fours.
local function loads_of(c, p, deep)
    local loads = (p.count + deep - 1) // deep
    if bytes_of(p) > SMALL_BYTES then return math.min(c.unroll, MANY, loads) end
    return c.unroll <= 16 and c.unroll or math.min(c.unroll, MANY, (loads + 3) // 4 * 4)
end

-- About how long it takes, in ns. A thread has its loads in registers, as NVRTC 13 compiles sums.
function family.time(c, p, d)
    local side, deep = strip(c) * p.dtype.bytes, c.block // c.width
    local splits, values = splits(c, p, d), shared_values(c)
    local wide = limits.accumulator_bytes(p, d)
    local meet = estimate.meet(values, strip(c), wide)
    local is_apart = values == 0 and c.vec * p.result.bytes > 16 and wide == 4
    return estimate.time(c, p, d, {
        sets = family.sets(c, p), tiles = tiles(c, p), splits = splits, room = strip(c),
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

function family.default(p, d)
    local known = alone(p, d)
    if known and family.allowed(known, p, d) then return known end
    local bytes = p.dtype.bytes
    local c = {
        block = 256, width = 1, vec = aligned_vec(p), unroll = 8, load = "no_allocate",
    }
    if c.vec * bytes < 16 then c.unroll = 16 end
    while strip(c) * bytes < 128 and strip(c) < p.inner do c.width = 2 * c.width end
    -- Twice that where there are strips enough.
    if strip(c) < p.inner and family.sets(c, p) >= 3 * d.sm_count then c.width = 2 * c.width end
    -- Short columns: more of them with as many loads in flight, if there are more than enough.
    while c.width < c.block and depth(c) >= 2 * p.count and family.sets(c, p) >= 4 * d.sm_count do
        c.width = 2 * c.width
    end
    while c.unroll > 1 and depth(c) >= 2 * p.count do c.unroll = c.unroll // 2 end
    while c.block > math.max(32, c.width) and c.block // c.width >= 2 * p.count do
        c.block = c.block // 2
    end
    while shared_bytes(c, p, d) > d.shared_bytes_per_block do c.width = c.width // 2 end
    -- Small inputs: fewer loads for each of more blocks.
    local least = 2 * d.sm_count
    while c.unroll > 4 and p.count > depth(c) and family.sets(c, p) * (p.count // depth(c)) < least do
        c.unroll = c.unroll // 2
    end
    limits.finished(c, d, family.sets(c, p), tiles(c, p), function(at) return splits(at, p, d) end)
    -- Sectors that such loads share with those of other rows: L1 keeps them.
    if c.vec * bytes < 16 and bytes_of(p) <= MANY_BYTES then c.load = "plain" end
    return estimate.improve(family, c, p, d, STEPS)
end

function family.launch(c, p, d)
    return limits.launch(c, p, d, strip(c), depth(c))
end

return family
