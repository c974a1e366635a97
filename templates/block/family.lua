-- The family "block": every block combines its share of the input, and the blocks' partial results
-- are combined in one of several ways.
--
-- In the functions of this and all other families, c is a config (parameters with labels hold their
-- label), p a problem (op, dtype, count, bytes) and d a device (sm_count, threads_per_block,
-- threads_per_sm, ...). There are p.outer rows of p.count elements each; p.outer times p.inner columns
-- of p.count elements each, p.step apart; p.outer segments of p.count elements each on average.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.block,
    params.vec,
    params.unroll,
    params.with(params.load, { labels = { "no_allocate", "plain", "streaming" },
        doc = "the path of a load: past L1, through it, or marked as used once" }),
    { name = "tail", labels = { "shuffle", "shared" },
      doc = "how a block combines its threads: warp shuffles, or shared memory down to one warp" },
    params.with(params.finish, { labels = { "single", "poll", "cluster" },
        doc = "how blocks are combined: there is one only, by the first, or by the first of a thread block cluster" }),
    params.with(params.many_per_sm, { doc = params.dealt_per_sm.doc }),
}

-- A family may have yields(p, d), too: whether the defaults of other families go before its own.
function family.serves(p)
    return p.layout == "whole"
end

local shape = shapes.of {
    results = function() return 1 end,
    tile = function(c) return c.block * c.vec * c.unroll end,
}
local tile, tiles, input_bytes = shape.tile, shape.tiles, shapes.input_bytes

-- Blocks of a grid whatever the count; nil: as many as there are tiles.
local function blocks_always(c)
    return c.finish == "single" and 1 or c.finish == "cluster" and limits.cluster_blocks or nil
end

-- As many blocks as scratch has room for.
local function blocks_max(c, p, d)
    return math.min(d.blocks_max, limits.room(p, d))
end

-- Whether a config is right for a class of problems, whatever their extents, and this device; if not,
-- why not: a text, or a format and its values, since a search asks of thousands of configs and wants
-- no reason. Asked for all of the space, p has no extents.
family.allowed = limits.allowed

-- Whether an allowed config does work of its own here: no simpler one, with one value a step down,
-- does the same loads with as many blocks. Every tune leaves out what does not.
function family.distinct(c, p, d)
    if c.block == 32 and c.tail == "shared" then return false end -- one warp: nothing to share
    local first = c.finish == "cluster" and limits.cluster_blocks or 1
    if c.unroll > 1 and first * tile(c) >= 2 * p.count then return false end -- no further load
    if c.block > 32 and first * c.block * c.vec >= 2 * p.count then return false end -- nor warp
    local wanted = tiles(c, p)
    if c.finish == "cluster" then return wanted > 1 and c.tail == "shuffle" end -- warps hand over their values
    return shapes.has_grid(c, d, c.finish == "poll" and math.min(wanted, blocks_max(c, p, d)) or wanted)
end

-- Whether a distinct config may be the fastest, by arithmetic that holds on any GPU. What is left
-- out here is timed by an exhaustive tune only.
function family.useful(c, p, d)
    -- Too many loads: a warp's load fills less than a line of 128 bytes, or of narrow elements less than two.
    local bytes = c.vec * p.dtype.bytes
    if bytes < 4 or (p.dtype.bytes < 4 and bytes < 8) then return false end
    -- A cluster's multiprocessors hold no more; and less is as fast in one block.
    if c.finish == "cluster" then
        return input_bytes(p) > 16 * 1024 and input_bytes(p) <= 256 * 1024
            and tiles(c, p) <= 2 * limits.cluster_blocks and limits.is_short(p, d)
    end
    return shapes.is_useful_grid(c, p, d, tiles(c, p), 256)
end

-- The default's grids for inputs of up to `bytes` bytes: those of the winners on an H200.
local KiB, MiB = 1024, 1024 * 1024
local grids = {
    { bytes = 2 * KiB, block = 32, unroll = 4, per_sm = 1, finish = "single" },
    { bytes = 4 * KiB, block = 128, unroll = 4, per_sm = 1, finish = "single" },
    { bytes = 16 * KiB, block = 256, unroll = 4, per_sm = 1, finish = "single" },
    { bytes = 32 * KiB, block = 512, unroll = 4, per_sm = 1, finish = "single" },
    { bytes = 64 * KiB, block = 1024, unroll = 4, per_sm = 1, finish = "single" },
    { bytes = 256 * KiB, block = 64, unroll = 4, per_sm = 2 },
    { bytes = 512 * KiB, block = 128, unroll = 2, per_sm = 2 },
    { bytes = 1 * MiB, block = 128, unroll = 4, per_sm = 2 },
    { bytes = 2 * MiB, block = 512, unroll = 1, per_sm = 2 },
    { bytes = 4 * MiB, block = 256, unroll = 4, per_sm = 4 },
    { bytes = 8 * MiB, block = 512, unroll = 2, per_sm = 2 },
    { bytes = 64 * MiB, block = 512, unroll = 4, per_sm = 4 },
    { bytes = 256 * MiB, block = 512, unroll = 4, per_sm = 32 },
    { bytes = math.huge, block = 512, unroll = 8, per_sm = 32 },
}

-- Likewise of one cluster, where there are such.
local clusters = {
    { bytes = 16 * KiB },
    { bytes = 32 * KiB, block = 128, unroll = 2, per_sm = 1, finish = "cluster" },
    { bytes = 64 * KiB, block = 128, unroll = 4, per_sm = 1, finish = "cluster" },
    { bytes = 128 * KiB, block = 128, unroll = 8, per_sm = 1, finish = "cluster" },
    { bytes = 256 * KiB, block = 256, unroll = 8, per_sm = 1, finish = "cluster" },
    { bytes = math.huge },
}

-- Large inputs of narrow floats that are added in f64 (lib/compensated.lua). A GPU converts these slowly: in
-- small blocks that come and go, of which some load while others convert, 64 MiB took an H200 0.86 times
-- as long.
local converted = { block = 256, unroll = 4, per_sm = 64 }

local function is_converted(p, d)
    return p.accuracy == "compensated" and p.dtype.bytes == 2 and limits.accumulator_bytes(p, d) == 8
        and input_bytes(p) > 8 * MiB
end

-- Where there is one multiprocessor, its one block is as large as that.
local function grid_of(p, d)
    if d.sm_count < 2 then return limits.row_of(grids, math.min(input_bytes(p), 64 * KiB)) end
    return is_converted(p, d) and converted or limits.row_of(grids, input_bytes(p))
end

-- The built-in default: good on any GPU, known to be best on none. Of two large inputs four loads of
-- each are in flight, not eight.
function family.default(p, d)
    local row = limits.row_of(clusters, input_bytes(p))
    if not row.block or not limits.is_short(p, d) or not limits.has_cluster(row, p, d) then
        row = grid_of(p, d)
    end
    local together = row.finish == "cluster"
    local fewer = p.op.inputs == 2 and (together or row.unroll > 4) and 2 or 1
    local c = {
        block = row.block, vec = 16 // p.dtype.bytes, unroll = row.unroll // fewer,
        load = "no_allocate", tail = "shuffle", finish = row.finish or "poll",
        per_sm = together and 1 or row.per_sm * fewer,
    }
    c.block = limits.block_most(c, p, d)
    return c
end

-- How the kernel is launched.
function family.launch(c, p, d)
    return shapes.launch(c, p, d, {
        tile = tile(c),
        blocks_max = blocks_always(c) or math.min(c.per_sm * d.sm_count, blocks_max(c, p, d)),
        cluster = c.finish == "cluster" and limits.cluster_blocks or nil,
    })
end

return family
