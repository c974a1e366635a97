-- The family "thin": columns of few elements, up to an array that is only converted. There is
-- nothing to share between threads, and a thread that has loads of one strip only has few in
-- flight: so it takes columns of several neighbouring strips at once.
--
-- The functions below are those of block/family.lua. A problem has p.outer times p.inner columns,
-- of p.count elements each, p.step apart.
local limits = require "lib/limits"

local family = {
    name = "thin",
    template = "thin/kernel.cu",
}

family.params = {
    { name = "block", values = { 128, 256, 512 }, doc = "threads per block" },
    { name = "vec", values = { 1, 2, 4, 8, 16 }, doc = "columns per load" },
    { name = "strips", values = { 1, 2, 4, 8 },
      doc = "strips that a block takes at once: independent loads in flight per thread" },
    limits.load,
}

local function columns(c)
    return c.block * c.vec * c.strips
end

-- Loads of 16 bytes are aligned in all rows, and there are more than a block's.
function family.serves(p)
    local steps = (p.count > 1 and p.step or 0) | (p.outer > 1 and p.outer_step or 0)
    return p.layout == "columns" and p.count <= 4 and steps * p.dtype.bytes % 16 == 0
        and p.inner * p.dtype.bytes >= 64 * 1024
end

function family.allowed(c, p, d)
    return limits.allowed(c, p, d)
end

function family.distinct(c, p, d)
    return c.strips == 1 or columns(c) < 2 * p.inner -- no further strip
end

-- Columns of which the wider of elements and results fills 16 bytes. With more of them a warp's
-- stores would leave halves of sectors for the next ones: one row of f16 into f32 took 1.7 times as
-- long on an H200.
local function widest(p)
    local second = p.second and p.second.bytes or 0
    return math.max(1, 16 // math.max(p.dtype.bytes, p.result.bytes, second))
end

function family.useful(c, p, d)
    return (c.vec == widest(p) or c.vec * p.dtype.bytes == 16 and p.count > 1)
        and c.load ~= "plain" and c.strips * c.vec <= 32
end

function family.default(p, d)
    local c = { block = 256, vec = widest(p), strips = 2, load = "no_allocate" }
    if p.outer * p.inner < 8 * d.sm_count * columns(c) then c.strips = 1 end
    return c
end

function family.launch(c, p, d)
    return {
        threads = c.block,
        results = columns(c),
        columns = true,
        tile = 1,
        blocks_max = 1,
        final_threads = 0,
        overlap = limits.overlap(p, d),
    }
end

return family
