-- The family "staged": one result per row of a few elements, where rows follow each other without
-- gaps, as those of 3 floats. Such rows are not aligned, and a thread's loads would lie apart. A
-- block brings its rows, which are one stretch of memory, into shared memory by aligned loads, and
-- then a thread takes a row.
local estimate = require "lib/estimate"
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = {}

family.params = {
    params.middle_block,
    { name = "rows", values = { 1, 2, 4, 8 }, doc = "rows per thread, one after the other" },
    { name = "room", values = { 8, 16, 32, 64 }, doc = "bytes of shared memory per row" },
    params.load,
}

-- Its rows' elements are all one tile.
local shape = shapes.of {
    results = function(c) return c.block * c.rows end,
    tile = function(c) return c.block end,
}
local rows = shape.results

-- Bytes of shared memory.
local function shared_bytes(c, p)
    return (p.op.inputs or 1) * (rows(c) * c.room + 16)
end

-- Longer rows, and aligned ones, are as fast without shared memory.
function family.serves(p)
    return not p.mask and p.layout == "rows" and p.outer_step == p.count and shapes.result_bytes(p) <= 64
        and shapes.result_bytes(p) % 16 > 0 and p.accuracy ~= "exact"
end

function family.allowed(c, p, d)
    return limits.has_shared(d, shared_bytes(c, p), "block=%d, rows=%d, room=%d", c.block, c.rows, c.room)
end

function family.distinct(c, p, d)
    if shapes.result_bytes(p) > c.room then return false end -- not brought into shared memory
    if c.room > 8 and 2 * shapes.result_bytes(p) <= c.room then return false end -- room for nothing
    if c.rows > 1 and not shape.fills_set(c, p) then return false end
    return c.block == 64 or c.block < 2 * p.outer -- no further thread
end

function family.useful(c, p, d)
    return true
end

-- In ns: loads into shared memory and a barrier; each element of a thread's rows from there.
local STAGE, ELEMENT = 463, 11

-- About how long it takes, in ns.
function family.time(c, p, d)
    local meet = ELEMENT * c.rows * p.count
    return estimate.time({ block = c.block, vec = 16 // p.dtype.bytes, finish = "single" }, p, d, {
        sets = shape.sets(c, p), tiles = 1, splits = 1, room = 1,
        loads = (shapes.result_bytes(p) * c.rows + 15) // 16, side = 64, row = 64, step = 0, registers = 32,
        begin = STAGE, meet = meet, busy = 0,
    })
end

function family.default(p, d)
    local c = { block = 256, rows = 4, room = 8, load = "no_allocate" }
    while c.room < shapes.result_bytes(p) do c.room = 2 * c.room end
    while c.rows > 1 and p.outer < 4 * d.sm_count * rows(c) do c.rows = c.rows // 2 end
    while c.block > 64 and p.outer < 2 * d.sm_count * c.block do c.block = c.block // 2 end
    while shared_bytes(c, p) > d.shared_bytes_per_block do c.rows = c.rows // 2 end
    return c
end

family.launch = shape.launch

return family
