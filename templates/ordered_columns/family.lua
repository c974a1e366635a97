-- The family "ordered_columns": one result per column, of elements that lie a step apart, each in
-- the fixed order of docs/order.md. As in "columns" a block takes a strip, `width` threads side by
-- side and block / width along the reduced axis. These share each chunk of 256 vectors; blocks that
-- share a strip have a node of its columns' trees each.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = { order = "fixed" }

family.params = {
    params.block,
    params.width,
    params.columns_vec,
    params.with(params.unroll, { values = { 2, 4, 8, 16 } }),
    params.load,
    params.finish,
    params.per_sm,
}

local CHUNK_VECTORS <const> = 256

-- Elements of a column that are combined first, by one thread.
local function vector(p)
    return 16 // p.dtype.bytes
end

local shape = shapes.of_columns()
local strip, depth, sets, tiles = shape.strip, shape.tile, shape.sets, shape.tiles

-- Two sets of what a block's threads combine in shared memory.
local function shared_bytes(c, p, d)
    return 2 * shape.shared_values(c) * limits.accumulator_bytes(p, d)
end

-- The bytes of a thread's accumulators of all its columns, of which it has one set per level of its tree: beyond
-- 32 registers these fill local memory, and NVRTC takes a minute for sixteen variances.
local ACCUMULATORS_BYTES <const> = 128

-- Loads of more columns are not aligned in each row: one element each takes their place.
local function aligned_vec(p, d)
    local vec = shapes.aligned_vec(p, p.inner)
    while vec * limits.accumulator_bytes(p, d) > ACCUMULATORS_BYTES do vec = vec // 2 end
    return vec
end

function family.serves(p)
    return p.layout == "columns" and not p.op.indexed
end

-- Whether threads are shared out as the kernel needs; if not, why not.
local function is_dealt(c, p)
    if c.width > c.block then return shapes.has_width(c) end
    if c.unroll < vector(p) then
        return false, "unroll=%d, and a thread loads the %d elements of a vector at once", c.unroll,
            vector(p)
    end
    if depth(c) > CHUNK_VECTORS * vector(p) then
        return false, "block=%d, width=%d, unroll=%d take %d elements at a time, of a chunk's %d",
            c.block, c.width, c.unroll, depth(c), CHUNK_VECTORS * vector(p)
    end
    if c.width < c.block and strip(c) > c.block then
        return false, "width=%d, vec=%d are %d columns, and block=%d: a thread makes one result",
            c.width, c.vec, strip(c), c.block
    end
    return true
end

local function has_accumulators(c, p, d)
    local bytes = c.vec * limits.accumulator_bytes(p, d)
    if bytes <= ACCUMULATORS_BYTES then return true end
    return false, "vec=%d has accumulators of %d bytes, of %d", c.vec, bytes, ACCUMULATORS_BYTES
end

family.allowed = limits.all(is_dealt, shapes.has_depth_if_shared, has_accumulators,
                            shapes.has_shared_columns(shared_bytes), limits.allowed)

function family.distinct(c, p, d)
    return shape.fills_strip(c, p, vector(p)) and shape.distinct(c, p, d)
end

function family.useful(c, p, d)
    if c.vec ~= aligned_vec(p, d) then return false end
    -- More side by side than long columns gain by.
    if c.width > 16 and strip(c) * p.dtype.bytes > 512 and tiles(c, p) > 1 then return false end
    -- More loads than registers.
    if c.vec * limits.element_bytes(p) * c.unroll > 256 then return false end
    return shape.is_useful_strip(c, p, d)
end

-- Threads of a multiprocessor that have registers, as the kernel's launch bounds and compilers have it.
local function resident(c, p, d)
    local few = p.dtype.bytes == 4 and limits.accumulator_bytes(p, d) == 4
        and c.vec * c.unroll * limits.element_bytes(p) <= 128
    return few and 1024 or 512
end

local LARGE_BYTES <const> = 16 << 20

-- 128 bytes side by side, as in "columns", and the loads of a vector or 8 in flight.
function family.default(p, d)
    local bytes = p.dtype.bytes
    local c = {
        block = 256, width = 1, vec = aligned_vec(p, d), unroll = math.max(8, vector(p)),
        load = "no_allocate",
    }
    shape.widen(c, p, d)
    -- Short columns: more of them with as many loads in flight.
    shape.fit_unroll(c, p, vector(p))
    while c.width < c.block and c.block // c.width * vector(p) >= 2 * p.count
        and sets(c, p) >= 4 * d.sm_count do
        c.width = 2 * c.width
    end
    shape.fit_block(c, p, vector(p))
    -- Wider strips, where there are so few of these that their last blocks may wait for the others.
    if sets(c, p) > d.sm_count // 2 and sets(c, p) <= d.sm_count and tiles(c, p) >= 16 then
        c.width = 2 * c.width
    end
    while not is_dealt(c, p) or shared_bytes(c, p, d) > d.shared_bytes_per_block do
        if depth(c) > CHUNK_VECTORS * vector(p) then
            c.block = c.block // 2
        else
            c.width = c.width // 2
        end
    end
    shape.finished(c, p, d)
    local chunk, most = CHUNK_VECTORS * vector(p), resident(c, p, d)
    if sets(c, p) >= 3 * d.sm_count // 2 then
        c.finish, c.per_sm = "single", 1
    elseif c.finish ~= "single" then
        -- All blocks are resident: one that comes when others are done would be waited for.
        c.per_sm = math.min(c.per_sm, math.max(1, most // c.block))
        -- Half as many blocks, and larger ones, where each would have a chunk at most of a long column; of
        -- f32 only where as many values as that are slow to combine.
        local n = shape.splits(c, p, d)
        if c.per_sm > 1 and p.count >= 32 * chunk and n * chunk >= p.count and (most < 1024 or n > 128) then
            c.block, c.per_sm = 2 * c.block, c.per_sm // 2
            if not family.allowed(c, p, d) then c.block = c.block // 2 end
        end
    end
    -- All loads that registers have room for, of large inputs.
    if most == 1024 and c.block == 256 and c.unroll == 8 and p.count * p.inner * p.outer * bytes > LARGE_BYTES then
        c.unroll = 16
    end
    return c
end

family.launch = shape.launch

return family
