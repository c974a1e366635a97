-- The family "strided": any kept and reduced axes, each with a step of its own in x, y and the results, that
-- are neither rows nor columns. A block takes a set of `width` threads' results, and block / width threads share
-- the elements of each. The lanes of a warp, and the elements of a load, lie along the innermost reduced axis or
-- along the innermost kept one. Where there are few sets, several blocks share one, each of a split of its elements.
--
-- p has, beside what all problems have, how the innermost axes lie: p.reduced and p.kept with
--   vec    elements that one load may take along it
--   run    its size
--   step   of x
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.block,
    { name = "lanes", labels = { "reduced", "kept" },
      doc = "the axis that neighbouring threads, and the elements of a load, lie along" },
    params.with(params.width, { doc = "threads over neighbouring results" }),
    params.vec,
    params.unroll,
    params.load,
    params.finish,
    params.per_sm,
}

-- Of a load along the kept axis the elements are of as many results.
local function results(c)
    return c.lanes == "kept" and c.width * c.vec or c.width
end

local shape = shapes.of {
    results = results,
    tile = function(c) return c.block // c.width * c.unroll * (c.lanes == "kept" and 1 or c.vec) end,
}

-- Values that a block's threads have in shared memory, after those of a warp are combined.
function family.shared_values(c)
    local depth = c.block // c.width
    local rows = c.lanes == "kept" and (c.width < 32 and c.block // 32 or depth) or math.max(1, depth // 32)
    return math.max(rows * results(c), c.block)
end

local function bytes_of_values(c, p, d)
    return family.shared_values(c) * limits.accumulator_bytes(p, d) + c.block * limits.part_bytes(p, d)
end

-- A thread has bins of one result (lib/superaccumulator.lua).
local function has_bins(c, p)
    if p.accuracy ~= "exact" or c.lanes == "reduced" or c.vec == 1 then return true end
    return false, "lanes=kept and vec=%d have several exact sums in a thread: add vec=1", c.vec
end

function family.serves(p)
    return p.layout == "strided"
end

family.allowed = limits.all(shapes.has_width, has_bins, shapes.has_shared_columns(bytes_of_values), limits.allowed)

-- The axis that lanes lie along.
local function lane(c, p)
    return c.lanes == "kept" and p.kept or p.reduced
end

function family.distinct(c, p, d)
    local fills = (c.width == 1 or results(c) < 2 * p.outer) and shape.fills_tile(c, p, 1)
    return fills and shape.distinct(c, p, d)
end

function family.useful(c, p, d)
    return c.vec <= lane(c, p).vec and shape.useful(c, p, d)
end

-- Wide loads, eight of them in flight, or 16 narrow ones, and enough blocks to keep all multiprocessors busy.
function family.default(p, d)
    local c = { block = 256, lanes = "reduced", width = 1, vec = 1, unroll = 8, load = "no_allocate" }
    if shapes.is_along_kept(p) then c.lanes = "kept" end
    c.vec = math.min(lane(c, p).vec, 16 // p.dtype.bytes)
    if c.lanes == "kept" and p.accuracy == "exact" then c.vec = 1 end
    if c.vec * p.dtype.bytes < 16 then c.load = "plain" end
    if c.lanes == "kept" then
        while c.width < 32 and results(c) * p.dtype.bytes < 256 and results(c) < p.kept.run do c.width = 2 * c.width end
    end
    -- Short results: no thread without an element, and blocks of more results.
    local function threads_needed() return c.lanes == "kept" and p.count or (p.count + c.vec - 1) // c.vec end
    local threads = math.max(1, threads_needed())
    while c.block // c.width >= 2 * threads and results(c) < p.outer do c.width = 2 * c.width end
    shape.fit_unroll(c, p, 2)
    while not family.allowed({ block = c.block, lanes = c.lanes, width = c.width, vec = c.vec, unroll = c.unroll,
                               load = c.load, finish = "single", per_sm = 1 }, p, d) and c.block > 32 do
        c.block, c.width = c.block // 2, math.min(c.width, c.block // 2)
    end
    return shape.finished(c, p, d)
end

family.launch = shape.launch

return family
