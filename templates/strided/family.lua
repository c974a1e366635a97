-- The family "strided": any kept and reduced axes, each with a step of its own in x, y and the results, that
-- are neither rows nor columns. A block takes a set of `width` threads' results, and block / width threads share
-- the elements of each. The lanes of a warp, and the elements of a load, lie along the innermost reduced axis or
-- along the innermost kept one. Where there are few sets, several blocks share one, each of a split of its elements.
--
-- p has, beside what all problems have, how the innermost axes lie: p.reduced and p.kept with
--   vec    elements that one load may take along it
--   run    its size
--   step   of x
--   beside that of a second input or a mask
--   axes   how many such axes there are, this one included
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.block,
    { name = "lanes", labels = { "reduced", "kept", "spans" },
      doc = "the axis that neighbouring threads, and the elements of a load, lie along; spans: the reduced one, by loads "
          .. "that elements do not fill" },
    params.with(params.width, { doc = "threads over neighbouring results" }),
    params.vec,
    params.with(params.unroll, { values = { 1, 2, 4, 8, 16 } }),
    params.with(params.load, { labels = { "no_allocate", "plain", "beside" },
      doc = params.load.doc .. "; beside: past it, but for a second input or a mask" }),
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

-- Whether a second input, or a mask, is beside the first.
local function is_paired(p)
    return p.op.inputs == 2 or p.mask
end

-- Ops that take the elements of a load one by one, of an array that has them near each other.
local function has_spans(c, p)
    if c.lanes ~= "spans" then return true end
    if p.op.indexed or p.mask or p.accuracy == "exact" or p.counts then
        return false, "lanes=spans serves values, without masks and counts on the GPU: add lanes=reduced"
    end
    if c.vec > 1 then return true end
    return false, "lanes=spans is of wide loads: add vec=2"
end

local function has_path(c, p)
    if c.load ~= "beside" or is_paired(p) then return true end
    return false, "load=beside is of a second input or a mask: add load=no_allocate"
end

-- A thread has bins of one result (lib/superaccumulator.lua).
local function has_bins(c, p)
    if p.accuracy ~= "exact" or c.lanes ~= "kept" or c.vec == 1 then return true end
    return false, "lanes=kept and vec=%d have several exact sums in a thread: add vec=1", c.vec
end

function family.serves(p)
    return p.layout == "strided"
end

family.allowed = limits.all(shapes.has_width, has_spans, has_path, has_bins, shapes.has_shared_columns(bytes_of_values), limits.allowed)

-- The axis that lanes lie along.
local function lane(c, p)
    return c.lanes == "kept" and p.kept or p.reduced
end

function family.distinct(c, p, d)
    local fills = (c.width == 1 or results(c) < 2 * p.outer) and shape.fills_tile(c, p, 1)
    return fills and shape.distinct(c, p, d)
end

-- Elements that a load of 16 bytes has, of steps and sizes that leave gaps in it; 1 where it has none beside the first,
-- or where loads of 8 bytes fit, unless more axes make it likely that the array is a part of another, and begins
-- anywhere. Two inputs have them side by side, in runs whose ends take no time.
local function span_vec(p)
    local vec, step = 16 // p.dtype.bytes, p.reduced.step
    if is_paired(p) then
        local long = step == 1 and p.reduced.beside == 1 and p.reduced.run >= 64 * vec
        return long and 2 * p.reduced.vec < vec and vec or 1
    end
    local near = step > 0 and step & step - 1 == 0 and 2 * step <= vec
    return near and p.reduced.run * step >= 2 * vec and (2 * p.reduced.vec < vec or p.reduced.axes > 2) and vec or 1
end

function family.useful(c, p, d)
    local most = c.lanes == "spans" and span_vec(p) or lane(c, p).vec
    return c.vec <= most and shape.useful(c, p, d)
end

-- Whether the array is likely a part of another, whose loads along the kept axis are not aligned.
local function may_begin_anywhere(c, p)
    return p.kept.axes > 1 and c.vec * p.dtype.bytes < 16
end

-- Along the kept axis, by loads of less than 16 bytes, as it won on an H200: sixteen in flight. A thread has a short
-- result alone; blocks of many threads have long ones, where too many sets wait for each other and too few fill the
-- multiprocessors.
local function widen_narrow_kept(c, p, d)
    c.unroll = 16
    if p.count <= 128 and p.outer >= 1024 * d.sm_count then
        c.block, c.width = 128, 128
    elseif p.count >= 4096 and p.outer >= 16 * d.sm_count and p.outer < 128 * d.sm_count then
        c.block, c.width = 512, 16
    else
        return false
    end
    return true
end

-- Along the kept axis: loads side by side of 256 bytes, and no thread without an element.
local function widen_kept(c, p, d)
    if c.vec * p.dtype.bytes < 16 and widen_narrow_kept(c, p, d) then return end
    while c.width < 32 and results(c) * p.dtype.bytes < 256 and results(c) < p.kept.run do c.width = 2 * c.width end
    while c.block // c.width >= 2 * p.count and results(c) < p.outer do c.width = 2 * c.width end
end

-- Rows against what stays in L1, as it won on an H100: of short ones a thread has all loads in flight, or half of them
-- if they are of four bytes or more, and a warp has several rows; of others few are in flight, and as many threads
-- take a row as leave enough blocks.
local function widen_rows(c, p, d, loads)
    local wide = p.dtype.bytes >= 4
    if p.kept.beside > 0 or c.vec * p.dtype.bytes < 16 then return false end
    if loads <= 32 then
        local depth = 1
        while 4 * depth < loads do depth = 2 * depth end
        c.width, c.unroll = c.block // depth, wide and 2 or 4
        return true
    end
    local several = p.outer >= 64 * d.sm_count
    if not wide then
        c.width = several and 16 or 1
        return several
    end
    c.unroll = 2
    while c.width < 8 and p.outer // (2 * c.width) >= 8 * d.sm_count do c.width = 2 * c.width end
    if c.width == 8 and several then c.width = 16 end
    return true
end

-- Batches of planes, as they won on an H200: of long planes 16 loads of 16 bytes in flight, and few results in sets
-- that blocks share; of planes by loads of 8 bytes two results of a block.
local function widen_planes(c, p, d)
    local bytes = c.vec * p.dtype.bytes
    if p.reduced.axes ~= 2 or limits.accumulator_bytes(p, d) > 8 then return false end
    if bytes == 16 and p.reduced.run * p.dtype.bytes >= 12 * 1024 and p.outer < 4 * d.sm_count then
        c.block, c.width, c.unroll = 128, 4, 16
        while c.width < 16 and p.outer // c.width > d.sm_count // 2 do c.width = 2 * c.width end
        return true
    elseif bytes == 8 and p.outer >= 3 * d.sm_count and p.count >= 2048 * c.vec then
        c.block, c.width, c.unroll = 512, 2, 4
        return true
    end
    return false
end

-- Along the reduced axis: of short results a block makes several, each by fewer threads of several loads. Where there
-- are many results, smaller blocks leave less of the last tile empty. All results of one row (step 0) find it in L1.
local function widen_reduced(c, p, d)
    if not is_paired(p) and widen_planes(c, p, d) then return end
    local many = p.outer >= 3 * d.sm_count
    if many then c.block = 128 end
    if not is_paired(p) and many and p.reduced.axes == 1 and c.vec * p.dtype.bytes == 16 then
        if p.kept.step == 0 then
            c.block, c.width, c.unroll, c.load = 256, 8, 16, "plain"
        elseif p.dtype.bytes == 2 and p.count <= 2048 then
            c.vec, c.unroll = 4, 16
        end
    end
    local loads = (p.count + c.vec - 1) // c.vec
    if is_paired(p) and many and p.reduced.axes == 1 and widen_rows(c, p, d, loads) then return end
    if is_paired(p) and loads >= 32 * c.block then c.unroll = 2 end
    while c.block // c.width * c.unroll >= 2 * loads and c.block // c.width > 4 and c.width < p.outer do
        c.width = 2 * c.width
    end
end

-- Neighbouring spans share sectors: a block takes several where there are enough.
local function widen_spans(c, p, d)
    if is_paired(p) then
        c.unroll = 1
    elseif p.outer >= 12 * d.sm_count then
        c.block, c.width, c.unroll = 512, 8, 4
    else
        c.block = 512
        if p.outer >= 3 * d.sm_count // 2 then c.width, c.unroll = 2, p.dtype.bytes >= 4 and 16 or 8 end
    end
end

-- Wide loads, eight of them in flight, or 16 narrow ones, and enough blocks to keep all multiprocessors busy. What is
-- beside an input may be the same for all results of a block, and is to stay in L1 then.
function family.default(p, d)
    local c = { block = 256, lanes = "reduced", width = 1, vec = 1, unroll = 8, load = "no_allocate" }
    if shapes.is_along_kept(p) then c.lanes = "kept" end
    c.vec = math.min(lane(c, p).vec, 16 // p.dtype.bytes)
    local spans = { lanes = "spans", vec = span_vec(p) }
    if c.lanes == "reduced" and has_spans(spans, p) then c.lanes, c.vec = "spans", spans.vec end
    if c.lanes == "kept" and (p.accuracy == "exact" or may_begin_anywhere(c, p)) then c.vec = 1 end
    if c.vec * p.dtype.bytes < 8 and c.lanes ~= "kept" then c.load = "plain" end
    if p.reduced.step == 0 and not is_paired(p) then c.unroll, c.load = 16, "plain" end
    local widen = { kept = widen_kept, reduced = widen_reduced, spans = widen_spans }
    widen[c.lanes](c, p, d)
    if is_paired(p) then
        if c.lanes == "spans" or p.kept.beside == 0 then c.load = "beside" elseif c.width > 1 then c.load = "plain" end
    end
    shape.fit_unroll(c, p, 2)
    while not family.allowed({ block = c.block, lanes = c.lanes, width = c.width, vec = c.vec, unroll = c.unroll,
                               load = c.load, finish = "single", per_sm = 1 }, p, d) and c.block > 32 do
        c.block, c.width = c.block // 2, math.min(c.width, c.block // 2)
    end
    return shape.finished(c, p, d)
end

family.launch = shape.launch

return family
