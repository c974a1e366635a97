-- The family "ordered_rows": rows of elements that lie side by side, each in the fixed order of
-- docs/order.md. A group of threads takes a row: some lanes of a warp. No bit depends on how many do.
-- Rows of a few KiB and more are faster by the family "ordered", by several warps each.
local limits = require "lib/limits"
local params = require "lib/params"
local shapes = require "lib/shape"

local family = { order = "fixed" }

family.params = {
    params.block,
    params.with(params.row_lanes, { values = { 1, 2, 4, 8, 16, 32 } }),
    params.unroll,
    { name = "rows", values = { 1, 2, 4, 8 },
      doc = "rows that a group takes at once, if its loads in flight bring a row" },
    params.load,
}

local LOAD_BYTES <const>, CHUNK_BYTES <const> = 16, 4096

local shape = shapes.of {
    results = function(c) return c.block // c.lanes * c.rows end,
    tile = function(c, p) return c.lanes * c.unroll * LOAD_BYTES // p.dtype.bytes end,
}
local rows = shape.results

-- Whether the loads in flight of a row's threads, lanes of a warp, bring all of it.
local function is_one_step(c, p)
    return c.lanes * c.unroll * LOAD_BYTES >= shapes.result_bytes(p)
end

function family.serves(p)
    return p.layout == "rows" and not p.op.indexed
end

family.allowed = limits.has_threads

function family.distinct(c, p)
    -- Threads with loads of their own.
    if c.lanes > 1 and c.lanes * LOAD_BYTES >= 2 * shapes.result_bytes(p) then return false end
    -- No further row.
    if c.rows > 1 and not (is_one_step(c, p) and shape.fills_set(c, p)) then return false end
    -- Loads that a thread has at a time.
    local own = c.lanes < 32 and shapes.result_bytes(p) or math.min(shapes.result_bytes(p), CHUNK_BYTES)
    return c.unroll == 1 or c.unroll * c.lanes * LOAD_BYTES < 2 * own
end

function family.useful(c, p, d)
    -- A row of a thread lies apart from its neighbours', and of many loads it is a long way.
    if c.lanes < 32 and shapes.result_bytes(p) > 16 * c.lanes * LOAD_BYTES then return false end
    -- More loads than registers.
    if c.rows * c.unroll > 8 then return false end
    -- All multiprocessors have blocks, if there are rows.
    return rows(c) == 1 or p.outer >= rows(c) * d.sm_count
end

-- Short rows: two loads of a lane or more, and four in flight, of several rows where one has fewer.
local function default_of_short(p, d)
    local c = { lanes = 1, unroll = 1, rows = 1, load = "no_allocate" }
    local function brings_all() return is_one_step(c, p) end
    while c.lanes < 4 and not brings_all() do c.lanes = 2 * c.lanes end
    while not brings_all() do
        if c.unroll < 2 or c.lanes == 32 then c.unroll = 2 * c.unroll else c.lanes = 2 * c.lanes end
    end
    c.block = math.max(c.lanes, 128)
    while c.rows * c.unroll < 4 and p.outer >= 16 * rows(c) * d.sm_count do c.rows = 2 * c.rows end
    while c.block > 32 and rows(c) * d.sm_count > p.outer do c.block = c.block // 2 end
    return c
end

function family.default(p, d)
    if 2 * shapes.result_bytes(p) <= CHUNK_BYTES then return default_of_short(p, d) end
    local block = 128
    while block > 32 and block // 32 * d.sm_count > p.outer do block = block // 2 end
    return { block = block, lanes = 32, unroll = 8, rows = 1, load = "no_allocate" }
end

family.launch = shape.launch

return family
