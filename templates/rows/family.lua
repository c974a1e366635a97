-- The family "rows": one result per row of elements that lie side by side. A group of threads takes
-- a row, by itself; a block takes several rows at a time.
--
-- The functions below are those of block/family.lua. A problem's rows are p.outer, of p.count
-- elements each.
local family = {
    name = "rows",
    template = "rows/kernel.cu",
}

family.params = {
    { name = "block", values = { 32, 64, 128, 256, 512, 1024 }, doc = "threads per block" },
    { name = "lanes", values = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 },
      doc = "threads per row" },
    { name = "vec", values = { 1, 2, 4, 8, 16 }, doc = "elements per load" },
    { name = "unroll", values = { 1, 2, 4, 8 }, doc = "independent loads in flight per thread" },
    { name = "load", labels = { "no_allocate", "plain", "streaming" },
      doc = "the path of a load: past L1, through it, or marked as used once" },
}

-- Elements of a row that its group takes at a time.
local function tile(c)
    return c.lanes * c.vec * c.unroll
end

-- Rows that a block takes at a time.
local function rows(c)
    return c.block // c.lanes
end

function family.serves(p)
    return p.layout == "rows"
end

function family.allowed(c, p, d)
    if c.vec * p.dtype.bytes > 16 then
        return false, "vec=%d of %s is %d bytes, and a load takes 16 at most",
            c.vec, p.dtype.name, c.vec * p.dtype.bytes
    end
    if c.block > d.threads_per_block then
        return false, "block=%d, and the device allows %d threads", c.block, d.threads_per_block
    end
    if c.lanes > c.block then
        return false, "lanes=%d, and block=%d: a row's threads are of one block", c.lanes, c.block
    end
    return true
end

function family.distinct(c, p, d)
    if c.vec > math.max(1, p.count) then return false end -- no load of so many elements
    if c.unroll > 1 and tile(c) >= 2 * p.count then return false end -- no further load
    if c.lanes > 1 and c.lanes * c.vec >= 2 * p.count then return false end -- no further lane loads
    -- No further row. A warp may have more lanes than there are rows for.
    return c.block == math.max(32, c.lanes) or rows(c) < 2 * p.outer
end

function family.useful(c, p, d)
    -- A group's load fills no sector of 32 bytes, and does not take the row either.
    local bytes = p.dtype.bytes
    if c.lanes * c.vec * bytes < math.min(32, p.count * bytes) then return false end
    -- Loops of few loads, gone through again and again.
    return p.count <= 64 * tile(c) or c.lanes >= 256
end

-- The default's threads for rows of up to so many bytes, after a prototype on an H200.
local KiB = 1024
local groups = {
    { bytes = 16, lanes = 1 },
    { bytes = 32, lanes = 2 },
    { bytes = 64, lanes = 4 },
    { bytes = 1 * KiB, lanes = 8 },
    { bytes = 2 * KiB, lanes = 32 },
    { bytes = 8 * KiB, lanes = 128 },
    { bytes = 32 * KiB, lanes = 256 },
    { bytes = math.huge, lanes = 512 },
}

function family.default(p, d)
    local bytes = p.dtype.bytes
    local c = { block = 128, lanes = 1, vec = 16 // bytes, unroll = 4, load = "no_allocate" }
    while c.vec > math.max(1, p.count) do c.vec = c.vec // 2 end
    for _, row in ipairs(groups) do
        if p.count * bytes <= row.bytes then
            c.lanes = row.lanes
            break
        end
    end
    while c.unroll > 1 and tile(c) >= 2 * p.count do c.unroll = c.unroll // 2 end
    c.block = math.max(c.block, c.lanes)
    return c
end

function family.launch(c, p, d)
    return {
        threads = c.block,
        results = rows(c),
        tile = tile(c),
        blocks_max = d.blocks_max,
        final_threads = 0,
        -- As the template says. An indexed op lost 1 us of 5 by it (docs/benchmarks.md).
        overlap = d.major >= 9 and not p.op.indexed,
    }
end

return family
