-- The family "columns": one result per column, of elements that lie a step apart. A block takes a
-- strip of neighbouring columns: `width` threads side by side, and block / width along the reduced
-- axis, each with vec columns in registers. Several blocks never share a column: there are no
-- splits along the reduced axis yet, so that few and narrow columns keep few blocks busy.
--
-- The functions below are those of block/family.lua. A problem has p.outer times p.inner columns,
-- of p.count elements each, p.step apart.
local family = {
    name = "columns",
    template = "columns/kernel.cu",
}

family.params = {
    { name = "block", values = { 32, 64, 128, 256, 512, 1024 }, doc = "threads per block" },
    { name = "width", values = { 1, 2, 4, 8, 16, 32, 64, 128, 256 },
      doc = "threads side by side, over neighbouring columns" },
    { name = "vec", values = { 1, 2, 4, 8, 16 }, doc = "columns per thread, and per load" },
    { name = "unroll", values = { 1, 2, 4, 8 }, doc = "independent loads in flight per thread" },
    { name = "load", labels = { "no_allocate", "plain", "streaming" },
      doc = "the path of a load: past L1, through it, or marked as used once" },
}

-- Columns that a block takes at a time.
local function strip(c)
    return c.width * c.vec
end

-- Elements of a column that a block takes at a time.
local function depth(c)
    return c.block // c.width * c.unroll
end

function family.serves(p)
    return p.layout == "columns"
end

function family.allowed(c, p, d)
    if c.vec * p.dtype.bytes > 16 then
        return false, "vec=%d of %s is %d bytes, and a load takes 16 at most",
            c.vec, p.dtype.name, c.vec * p.dtype.bytes
    end
    if c.block > d.threads_per_block then
        return false, "block=%d, and the device allows %d threads", c.block, d.threads_per_block
    end
    if c.width > c.block then
        return false, "width=%d, and block=%d: threads side by side are of one block", c.width,
            c.block
    end
    return true
end

function family.distinct(c, p, d)
    if c.vec > p.inner then return false end -- no load of so many columns
    if c.width > 1 and strip(c) >= 2 * p.inner then return false end -- no further column
    if c.unroll > 1 and depth(c) >= 2 * p.count then return false end -- no further load
    -- No further thread along the axis. A warp may have more than there are elements for.
    return c.block == math.max(32, c.width) or c.block // c.width < 2 * p.count
end

function family.useful(c, p, d)
    -- The loads of threads side by side fill no sector of 32 bytes, and do not take all columns.
    local bytes = p.dtype.bytes
    return strip(c) * bytes >= math.min(32, p.inner * bytes)
end

-- After a prototype on an H200: 128 bytes side by side, and 8 loads in flight.
function family.default(p, d)
    local bytes = p.dtype.bytes
    local c = { block = 256, width = 1, vec = 16 // bytes, unroll = 8, load = "no_allocate" }
    -- Loads of what is aligned in each row; others fall back to one element each.
    local steps = p.inner | (p.count > 1 and p.step or 0) | (p.outer > 1 and p.outer_step or 0)
    while steps % c.vec > 0 do c.vec = c.vec // 2 end
    while strip(c) * bytes < 128 and strip(c) < p.inner do c.width = 2 * c.width end
    -- Short columns: more of them.
    while c.block // c.width >= 2 * p.count and c.width < 256 and strip(c) < p.inner do
        c.width = 2 * c.width
    end
    while c.unroll > 1 and depth(c) >= 2 * p.count do c.unroll = c.unroll // 2 end
    while c.block > math.max(32, c.width) and c.block // c.width >= 2 * p.count do
        c.block = c.block // 2
    end
    return c
end

function family.launch(c, p, d)
    return {
        threads = c.block,
        results = strip(c),
        tile = depth(c),
        blocks_max = d.blocks_max,
        final_threads = 0,
        -- As the template says. An indexed op lost 1 us of 5 by it (docs/benchmarks.md).
        overlap = d.major >= 9 and not p.op.indexed,
    }
end

return family
