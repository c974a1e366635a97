-- Shape: which results and elements the blocks of a launch take, and what follows from that.
--
-- A block takes a set of results at a time, and of each of them a tile of elements. Where there are few sets, several
-- blocks share one, each of a split of its tiles (lib/splits.cu). A family says by `shape.of` what its sets and
-- tiles are; how many of them there are, how many blocks share a set, and the launch follow from it here.
--
-- As in block/family.lua, c is a config, p a problem and d a device. A config without a parameter `finish` shares
-- no set.
local limits = require "lib/limits"

local shape = {}

local function divide_up(a, b)
    return (a + b - 1) // b
end

local function is_shared(c)
    return c.finish and c.finish ~= "single"
end

-- How many blocks a launch with splits has at most; each leaves `values` values in scratch.
local function blocks_max(c, p, d, values)
    if not is_shared(c) then return 1 end
    local room = limits.room(p, d) // values
    return math.max(1, math.min(c.per_sm * d.sm_count, d.blocks_max, room))
end

-- Blocks that wait for others at most: half of the multiprocessors, so that there is room for
-- those they wait for in whatever order blocks start.
local function waiting_max(c, d)
    return c.finish == "poll" and d.sm_count // 2 or nil
end

-- Whether the blocks that a multiprocessor may have fit it, and are a fourth of its threads at least.
function shape.fills_multiprocessor(c, d)
    return c.per_sm * c.block <= d.threads_per_sm and 4 * c.per_sm * c.block >= d.threads_per_sm
end

-- The launch, with what is the same in all of them beside the fields that are given.
function shape.launch(c, p, d, fields)
    fields.threads = c.block
    fields.blocks_max = fields.blocks_max or 1
    fields.overlap = limits.overlap(p, d)
    return fields
end

-- choices has
--   results(c)     results of a set
--   tile(c, p)     elements of each in a tile
--   values(c)      values that a block leaves to others at a time; nil: as many as results
-- Gives these, and what follows from them.
function shape.of(choices)
    local results, tile, values = choices.results, choices.tile, choices.values or choices.results
    local self = { results = results, tile = tile }

    -- How many sets there are. Those of columns are of neighbours with one outer index.
    function self.sets(c, p)
        if p.layout == "columns" then return p.outer * divide_up(p.inner, results(c)) end
        return divide_up(p.outer, results(c))
    end

    function self.tiles(c, p)
        return divide_up(p.count, tile(c, p))
    end

    -- How many blocks share a set: rdt_launch_splits. sets and tiles, if given, are those of self.
    function self.splits(c, p, d, sets, tiles)
        if not is_shared(c) then return 1 end
        sets, tiles = sets or self.sets(c, p), tiles or self.tiles(c, p)
        if sets > (waiting_max(c, d) or sets) or tiles < 2 then return 1 end
        local most = blocks_max(c, p, d, values(c)) // math.max(1, sets)
        if most < 2 then return 1 end
        local rounds = divide_up(tiles, most)
        return rounds > 2 and most or divide_up(tiles, rounds)
    end

    -- Whether blocks share sets in a way of their own: half of the blocks per multiprocessor would be fewer.
    function self.distinct(c, p, d)
        if not is_shared(c) then return true end
        local n = self.splits(c, p, d)
        if n < 2 or c.per_sm == 1 then return n > 1 end
        local per_sm = c.per_sm
        c.per_sm = per_sm // 2
        local fewer = self.splits(c, p, d)
        c.per_sm = per_sm
        return n > fewer
    end

    -- Whether a config may be the fastest, by how blocks share sets.
    function self.useful(c, p, d)
        local sets = self.sets(c, p)
        if not is_shared(c) then
            -- Few multiprocessors of all have to do, and much.
            local bytes = p.count * p.dtype.bytes
            return 8 * sets >= d.sm_count or sets * bytes <= 64 * 1024
                or p.layout == "rows" and bytes <= 128 * 1024
        end
        if sets >= 8 * d.sm_count then return false end -- enough blocks as it is
        return shape.fills_multiprocessor(c, d)
    end

    -- The config, with a finish and per_sm added, for a default: enough threads that the loads in flight fill
    -- the memory's pipeline. What is short is split only where multiprocessors would have nothing to do.
    function self.finished(c, p, d)
        local sets = self.sets(c, p)
        c.finish, c.per_sm = "poll", math.min(16, math.max(1, 1024 // c.block))
        local enough = self.tiles(c, p) >= 32 and 4 * d.sm_count or 3 * d.sm_count // 2
        if sets < enough and self.splits(c, p, d) > 1 then return c end
        c.finish, c.per_sm = "single", 1
        return c
    end

    function self.launch(c, p, d)
        return shape.launch(c, p, d, {
            results = results(c), columns = p.layout == "columns", tile = tile(c, p),
            blocks_max = blocks_max(c, p, d, values(c)), waiting_max = waiting_max(c, d),
        })
    end

    -- Whether half of a block's threads and loads would not do for all rows.
    function self.fills_set(c, p)
        return results(c) < 2 * p.outer
    end

    -- Whether all loads in flight of a thread have elements, beyond the `least` that it has in any case.
    function self.fills_tile(c, p, least)
        return c.unroll <= least or tile(c, p) < 2 * p.count
    end

    -- The default with fewer of them, until that holds.
    function self.fit_unroll(c, p, least)
        while not self.fills_tile(c, p, least) do c.unroll = c.unroll // 2 end
    end

    return self
end

-- Columns: a strip of them has `width` threads side by side, of `vec` columns each, and block / width along the
-- reduced axis. made(c): how many of a strip's columns a block makes; nil: all.
function shape.of_columns(made)
    local function strip(c)
        return c.width * c.vec
    end
    local self = shape.of {
        results = made or strip, values = strip,
        tile = function(c) return c.block // c.width * c.unroll end,
    }
    self.strip = strip

    -- Values that a block's threads combine in shared memory; a warp combines those of its rows before.
    function self.shared_values(c)
        local rows = c.width < 32 and c.block // 32 or c.block // c.width
        return c.width == c.block and 0 or math.max(rows * strip(c), c.block)
    end

    -- Whether a strip may be the fastest: its loads side by side fill a sector of 32 bytes or take all columns, there
    -- are threads enough for what there is to do, and loads through L1 may find lines there.
    function self.is_useful_strip(c, p, d)
        local bytes = p.dtype.bytes
        return strip(c) * bytes >= math.min(32, p.inner * bytes)
            and (c.block >= 128 or p.count * p.inner * p.outer * bytes <= 1024 * 1024)
            and shape.gains_by_l1(c, p) and self.useful(c, p, d)
    end

    -- Small inputs: fewer loads for each of more blocks.
    function self.spread(c, p, d)
        while c.unroll > 4 and p.count > self.tile(c)
            and self.sets(c, p) * (p.count // self.tile(c)) < 2 * d.sm_count do
            c.unroll = c.unroll // 2
        end
    end

    -- 128 bytes side by side, and twice that where there are strips enough.
    function self.widen(c, p, d)
        while strip(c) * p.dtype.bytes < 128 and strip(c) < p.inner do c.width = 2 * c.width end
        if strip(c) < p.inner and self.sets(c, p) >= 3 * d.sm_count then c.width = 2 * c.width end
    end

    -- Whether all threads along the axis have vectors of so many elements of their own. A warp may have more
    -- than there are vectors for.
    local function fills_depth(c, p, elements)
        return c.block <= math.max(32, c.width) or c.block // c.width * elements < 2 * p.count
    end

    -- Whether, besides, all threads side by side have columns of their own, by loads that are not wider than the
    -- input, and all loads in flight have elements.
    function self.fills_strip(c, p, elements)
        return c.vec <= p.inner and (c.width == 1 or strip(c) < 2 * p.inner) and self.fills_tile(c, p, elements)
            and fills_depth(c, p, elements)
    end

    -- The default with fewer threads along the axis: none of them without a vector.
    function self.fit_block(c, p, elements)
        while not fills_depth(c, p, elements) do c.block = c.block // 2 end
    end

    return self
end

-- Any axes: whether lanes are to lie along the innermost kept one, where they read fewer sectors so.
function shape.is_along_kept(p)
    if p.kept.step ~= 1 then return p.reduced.step > p.kept.step and p.kept.step > 0 and p.kept.run > 1 end
    return p.reduced.step ~= 1 or p.reduced.run < math.min(8, p.kept.run)
end

-- Rules of columns, as those of lib/limits.lua.

function shape.has_width(c)
    if c.width <= c.block then return true end
    return false, "width=%d, and block=%d: threads side by side are of one block", c.width, c.block
end

function shape.has_depth_if_shared(c)
    if c.finish == "single" or c.width < c.block then return true end
    return false, "finish=%s has several threads along the axis: add width=%d", c.finish, c.block // 2
end

-- shared_bytes(c, p, d): what a block takes of shared memory.
function shape.has_shared_columns(shared_bytes)
    return function(c, p, d)
        return limits.has_shared(d, shared_bytes(c, p, d), "block=%d, width=%d, vec=%d", c.block, c.width, c.vec)
    end
end

-- Of the input: the bytes of the elements of one result, on average of several, and of all.
function shape.result_bytes(p)
    return p.count * p.dtype.bytes
end

-- That of the problem that was asked for last: an estimate asks again and again.
local last_p, last_bytes

function shape.input_bytes(p)
    if p ~= last_p then last_bytes, last_p = p.count * p.inner * p.outer * limits.element_bytes(p), p end
    return last_bytes
end

-- The widest load that is aligned in all rows of columns; alike: what it is to divide, too.
function shape.aligned_vec(p, alike)
    local steps = alike | (p.count > 1 and p.step or 0) | (p.outer > 1 and p.outer_step or 0)
    local vec = 16 // p.dtype.bytes
    while steps % vec > 0 do vec = vec // 2 end
    return vec
end

-- Whether one block takes the input in no more time than it takes several to meet.
function shape.fits_one_block(p)
    return shape.input_bytes(p) <= 256 * 1024
end

-- Whole arrays: whether a grid for so many tiles is a config's own: as wide as there are tiles at most, and wider than
-- with half of the blocks per multiprocessor.
function shape.has_grid(c, d, tiles)
    return c.finish == "single" or tiles > 1 and (c.per_sm == 1 or tiles > c.per_sm // 2 * d.sm_count)
end

-- Whether it may be the fastest: one multiprocessor of all takes no more than it holds, blocks go through no loops of
-- fewer loads than `least`, again and again, and come and go no more than sixteen times over.
function shape.is_useful_grid(c, p, d, tiles, least)
    if c.finish == "single" then return d.sm_count < 2 or shape.fits_one_block(p) end
    return (tiles <= 64 * d.sm_count or c.block * c.unroll >= least) and c.per_sm * c.block <= 16 * d.threads_per_sm
end

-- Whether a load has no more elements than a result, on average.
function shape.has_narrow_loads(c, p)
    return c.vec <= math.max(1, p.count)
end

-- Whether loads find lines in L1 that others needed, which those of 16 bytes do not.
function shape.gains_by_l1(c, p)
    return c.load ~= "plain" or c.vec * p.dtype.bytes < 16
end

return shape
