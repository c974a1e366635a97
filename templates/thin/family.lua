-- The family "thin": columns of few elements, up to an array that is only converted. There is
-- nothing to share between threads, and a thread that has loads of one strip only has few in
-- flight: so it takes columns of several neighbouring strips at once. Rows need not be aligned
-- alike: loads of one element each are as fast here as wider ones that had to be shifted.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.with(params.block, { values = { 128, 256, 512 } }),
    params.with(params.vec, { doc = "columns per load" }),
    { name = "strips", values = { 1, 2, 4, 8 },
      doc = "strips that a block takes at once" },
    params.with(params.unroll, { doc = "elements of each column in flight per thread" }),
    params.load,
}

local shape = shapes.of {
    results = function(c) return c.block * c.vec * c.strips end,
    tile = function() return 1 end,
}
local columns = shape.results

-- Columns of up to 8 elements, where there are more of them than one block takes.
function family.serves(p)
    return not p.mask and p.layout == "columns" and p.count <= 8 and p.inner * p.dtype.bytes >= 64 * 1024
end

family.allowed = limits.allowed

function family.distinct(c, p, d)
    if c.unroll > 1 and c.unroll >= 2 * p.count then return false end -- no further element
    return c.strips == 1 or columns(c) < 2 * p.inner -- no further strip
end

-- Columns of which the wider of elements and results fills 16 bytes. With more of them a warp's
-- stores would leave halves of sectors for the next ones: one row of f16 into f32 took 1.7 times as
-- long on an H200.
local function widest(p)
    local second = p.second and p.second.bytes or 0
    local vec = math.max(1, 16 // math.max(p.dtype.bytes, p.result.bytes, second))
    return math.min(vec, shapes.aligned_vec(p, 0))
end

-- Registers of a thread's loads.
local function words(c, p)
    return math.max(1, c.vec * p.dtype.bytes // 4) * c.strips * c.unroll
end

function family.useful(c, p, d)
    if c.vec ~= widest(p) and (c.vec ~= shapes.aligned_vec(p, 0) or p.count == 1) then return false end
    if c.load == "plain" and c.vec * p.dtype.bytes >= 8 then return false end
    return c.strips * c.vec <= 32 and words(c, p) <= 32
end

-- Inputs up to which `columns`, which prefetches and has several threads for a column, is as fast or
-- faster: with rows aligned for its loads, and without.
local SMALL_BYTES, SMALL_ODD_BYTES = 1 << 22, 3 << 19

-- There the first is the default, too, since this kernel is four times as slow where only the start of
-- the input is not aligned.
function family.yields(p)
    if p.count < 2 then return false end
    local most = shapes.aligned_vec(p, 0) * p.dtype.bytes >= 8 and SMALL_BYTES or SMALL_ODD_BYTES
    return p.count * p.inner * p.outer * p.dtype.bytes <= most
end

-- Of columns of several elements these are what is in flight, and two strips of narrow loads. What is
-- only converted gains nothing by a second strip, and 16-byte loads lose 5 %.
function family.default(p, d)
    local c = { block = 256, vec = widest(p), strips = 1, unroll = 1, load = "no_allocate" }
    local bytes = c.vec * p.dtype.bytes
    local most = (bytes < 4 or bytes >= 8) and 8 or 4
    while c.unroll < math.min(p.count, most) do c.unroll = 2 * c.unroll end
    local few = words(c, p) <= (bytes < 4 and 8 or 4)
    if few and p.count > 1 and p.outer * p.inner >= 16 * d.sm_count * columns(c) then c.strips = 2 end
    return c
end

family.launch = shape.launch

return family
