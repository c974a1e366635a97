-- The family "ordered_strided": any axes, as in "strided", each result in the fixed order of docs/order.md: its elements
-- have the numbers of a packed array's, row-major over the reduced axes. A group of threads, some lanes of a warp, takes
-- a node of a result's tree, and `shares` groups of a block take a result. Where elements do not lie side by side in
-- vectors they are gathered one by one.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = { order = "fixed" }

family.params = {
    params.block,
    params.with(params.row_lanes, { values = { 1, 2, 4, 8, 16, 32 } }),
    { name = "shares", values = { 1, 2, 4, 8, 16, 32 }, doc = "groups of a block that share a result" },
    params.unroll,
    params.load,
}

local LOAD_BYTES <const>, CHUNK_BYTES <const> = 16, 4096

local shape = shapes.of {
    results = function(c) return c.block // c.lanes // c.shares end,
    tile = function(c, p) return c.lanes * c.unroll * LOAD_BYTES // p.dtype.bytes end,
}

function family.serves(p)
    return p.layout == "strided"
end

local function has_shares(c, p, d)
    if c.lanes * c.shares > c.block then
        return false, "lanes=%d and shares=%d, and block=%d: a result's threads are of one block", c.lanes, c.shares,
            c.block
    end
    local bytes = c.shares > 1 and c.block // c.lanes * limits.accumulator_bytes(p, d) or 0
    return limits.has_shared(d, bytes, "block=%d, lanes=%d, shares=%d", c.block, c.lanes, c.shares)
end

family.allowed = limits.all(limits.has_threads, has_shares)

function family.distinct(c, p)
    return (c.lanes == 1 or c.lanes * LOAD_BYTES < 2 * shapes.result_bytes(p))
        and (c.shares == 1 or c.shares * CHUNK_BYTES < 2 * shapes.result_bytes(p))
end

function family.useful(c)
    return c.unroll <= 8
end

-- Lanes over the elements of a result, or one for each of neighbouring ones; and groups enough that loads are in flight
-- on all multiprocessors.
function family.default(p, d)
    local wide = p.reduced.vec * p.dtype.bytes >= LOAD_BYTES
    local c = { block = 256, lanes = 1, shares = 1, unroll = wide and 4 or 1, load = "no_allocate" }
    if not shapes.is_along_kept(p) or p.outer < 8 then
        while c.lanes < 32 and c.lanes * LOAD_BYTES < shapes.result_bytes(p) do c.lanes = 2 * c.lanes end
    end
    local function may_share()
        local more = { block = c.block, lanes = c.lanes, shares = 2 * c.shares, unroll = c.unroll, load = c.load }
        return c.shares < 32 and c.shares * CHUNK_BYTES < shapes.result_bytes(p) and family.allowed(more, p, d)
    end
    while may_share() and p.outer * c.lanes * c.shares < 1024 * d.sm_count do c.shares = 2 * c.shares end
    while c.block > 32 and c.block > c.lanes * c.shares and shape.sets(c, p) < d.sm_count do c.block = c.block // 2 end
    return c
end

family.launch = shape.launch

return family
