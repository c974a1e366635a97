-- The family "short": one result per row of a few elements, where rows follow each other without
-- gaps and a load brings one row or several. There is nothing to share between threads: a thread
-- has loads of several rows in flight, and writes the results of a load together.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.middle_block,
    { name = "row", values = { 1, 2, 4, 8, 16 },
      doc = "elements of a row; of others, a thread loads a row element by element" },
    params.vec,
    params.unroll,
    { name = "load", labels = { "no_allocate", "plain", "evict_first" },
      doc = "the path of a load: past L1, through it, or past it with a hint for L2 not to keep it" },
}

local shape = shapes.of {
    results = function(c) return c.block * c.unroll * (c.vec // c.row) end,
    tile = function(c) return c.row end,
}
local rows = shape.results

function family.serves(p)
    return not p.mask and p.layout == "rows" and p.outer_step == p.count and p.count & p.count - 1 == 0
        and p.count > 0 and shapes.result_bytes(p) <= 16 and p.accuracy ~= "exact"
end

function family.allowed(c, p, d)
    if c.row > c.vec then
        return false, "row=%d, and vec=%d: a load brings whole rows", c.row, c.vec
    end
    return limits.allowed(c, p, d)
end

function family.distinct(c, p, d)
    if c.row ~= p.count then return false end -- a row is loaded element by element
    if c.load == "evict_first" and d.major < 8 then return false end -- no hints
    return c.unroll == 1 and c.block == 64 or shape.fills_set(c, p)
end

function family.useful(c, p, d)
    return c.vec * p.dtype.bytes >= 8 and c.unroll * c.vec <= 64
end

-- Above this size L2 keeps more of the results if it evicts loads first: on an H200 sums of 4 elements take 5 to
-- 7 % less. Places, whose results have twice the bytes, gain nothing.
local HINT_BYTES = 1 << 24

-- Loads of 8 bytes, or of one longer row: four in flight per thread, where that leaves enough blocks. Loads
-- through L1 were faster beside many writes.
function family.default(p, d)
    local row = 1
    while row < p.count and row * p.dtype.bytes < 16 do row = 2 * row end
    local c = { block = 256, row = row, vec = math.max(row, 8 // p.dtype.bytes), unroll = 4,
                load = "plain" }
    while c.unroll > 1 and p.outer < 8 * d.sm_count * rows(c) do c.unroll = c.unroll // 2 end
    -- Few rows: a thread's second load costs less than more threads do.
    if p.outer <= 64 * d.sm_count then c.block, c.unroll = 128, 2 end
    if p.outer <= 16 * d.sm_count then c.block = 64 end
    local bytes = shapes.result_bytes(p)
    if d.major >= 8 and not p.op.indexed and 2 * p.result.bytes <= bytes and p.outer * bytes > HINT_BYTES then
        c.load = "evict_first"
    end
    return c
end

family.launch = shape.launch

return family
