-- Limits: what the rules of the families share. As in block/family.lua, c is a config, p a problem
-- and d a device.
local operands = require "lib/operands"

local limits = {}

-- The loads of a thread, and the blocks where several share what they make (lib/splits.cu).
limits.load = { name = "load", labels = { "no_allocate", "plain" },
    doc = "the path of a load: past L1, or through it" }
limits.finish = { name = "finish", labels = { "single", "poll", "ticket" },
    doc = "how blocks that share results are combined: there are none, by the last, by any" }
limits.per_sm = { name = "per_sm", values = { 1, 2, 4, 8, 16 }, launch = true,
    doc = "blocks per multiprocessor at most, if they share results" }

-- Blocks of a cluster: as many as every GPU that has clusters runs side by side.
limits.cluster_blocks = 8

-- The first row whose `bytes` are at least the input's.
function limits.row_of(rows, bytes)
    for _, row in ipairs(rows) do
        if bytes <= row.bytes then return row end
    end
end

-- Whether the kernel waits for the one before it, as the templates say, so that it may be launched
-- earlier. An indexed op of a whole array of 4 MiB lost 0.3 us by it (docs/benchmarks.md).
local LOSES_ABOVE, LOSES_UP_TO = 1 << 20, 8 << 20

function limits.overlap(p, d)
    if d.major < 9 then return false end
    if not p.op.indexed or p.layout == "rows" or p.layout == "columns" then return true end
    local bytes = p.count * p.dtype.bytes
    return p.layout == "whole" and (bytes <= LOSES_ABOVE or bytes > LOSES_UP_TO)
end

-- The ops as made, by order, accuracy, op, dtype and result: rules ask for thousands of configs.
local known = { free = {}, fixed = {} }

local function made_of(p, d)
    local of_order = known[p.order]
    local of_accuracy = of_order[p.accuracy] or {}
    local of_op = of_accuracy[p.op] or {}
    local of_dtype = of_op[p.dtype] or {}
    of_order[p.accuracy], of_accuracy[p.op], of_op[p.dtype] = of_accuracy, of_op, of_dtype
    if not of_dtype[p.result] then
        of_dtype[p.result] = operands.make(p, 10 * d.major + d.minor)
    end
    return of_dtype[p.result]
end

function limits.accumulator_bytes(p, d)
    return made_of(p, d).acc.bytes
end

-- What blocks that share what they make keep in shared memory beside their values: the flag of
-- lib/splits.cu, and what aligns it.
function limits.shared_bytes_to_finish(c)
    return c.finish == "ticket" and 16 or 0
end

-- The bytes of the slot that a launch leaves its accumulator in, if it is asked to.
function limits.slot_bytes(p, d)
    return operands.slot_bytes(made_of(p, d))
end

-- Bytes of shared memory that a thread's part takes.
local function part_bytes(p, d)
    local part = made_of(p, d).part
    return part and part.shared_bytes or 0
end

-- What blocks take for such parts, beside values of their warps.
local function shared_bytes(c, p, d)
    local value_bytes = made_of(p, d).acc.bytes
    return c.block * part_bytes(p, d)
        + (c.tail == "shared" and c.block or 2 * (c.rows or 1) * (c.block // 32)) * value_bytes
end

-- The largest block up to that one that there is shared memory for.
function limits.block_most(c, p, d)
    local block = c.block
    while part_bytes(p, d) > 0 and block > 32
        and shared_bytes({ block = block, tail = c.tail, rows = c.rows }, p, d) > d.shared_bytes_per_block do
        block = block // 2
    end
    return block
end

-- Likewise what the blocks of a cluster take beside parts: words of each warp of all of them.
local function words_bytes(c, p, d)
    return limits.cluster_blocks * (c.block // 32) * 8 * made_of(p, d).acc.halves
end

-- Whether the device runs a cluster of such blocks; if not, why not.
function limits.has_cluster(c, p, d)
    if d.major < 9 then
        return false, "finish=cluster, and the device has no thread block clusters"
    end
    -- A thread may take so many registers that no more than 512 fit a multiprocessor.
    if d.sm_count * math.max(1, 512 // c.block) < limits.cluster_blocks then
        return false, "block=%d in a cluster of %d, more than the device runs side by side",
            c.block, limits.cluster_blocks
    end
    local bytes = c.block * part_bytes(p, d) + words_bytes(c, p, d)
    if bytes > d.shared_bytes_per_block then
        return false, "block=%d takes %d bytes of shared memory in a cluster, and a block has %d",
            c.block, bytes, d.shared_bytes_per_block
    end
    return true
end

-- Whether a value is so few words that each warp of a cluster may send its own.
function limits.is_short(p, d)
    return made_of(p, d).acc.halves <= 8
end

-- Whether the device can run such loads and blocks; if not, why not.
function limits.allowed(c, p, d)
    if c.vec * p.dtype.bytes > 16 then
        return false, "vec=%d of %s is %d bytes, and a load takes 16 at most",
            c.vec, p.dtype.name, c.vec * p.dtype.bytes
    end
    if c.block > d.threads_per_block then
        return false, "block=%d, and the device allows %d threads", c.block, d.threads_per_block
    end
    if part_bytes(p, d) > 0 and shared_bytes(c, p, d) > d.shared_bytes_per_block then
        return false, "block=%d takes %d bytes of shared memory for the sums of its threads, and a "
            .. "block has %d", c.block, shared_bytes(c, p, d), d.shared_bytes_per_block
    end
    if c.finish == "cluster" then
        if c.per_sm ~= 1 then
            return false, "finish=cluster has %d blocks: add per_sm=1", limits.cluster_blocks
        end
        return limits.has_cluster(c, p, d)
    end
    if c.finish == "single" and c.per_sm ~= 1 then
        return false, "finish=single has one block%s: add per_sm=1",
            p.layout == "whole" and "" or " for each result"
    end
    return true
end

-- How many values scratch has room for.
function limits.room(c, p, d)
    local acc = made_of(p, d).acc
    return c.finish == "poll" and d.words_bytes // (8 * acc.halves) or d.slots_bytes // acc.bytes
end

-- Bytes of an element of each input.
function limits.element_bytes(p)
    return (p.op.inputs or 1) * p.dtype.bytes
end

-- How many blocks a launch with splits has at most; each leaves `values` values in scratch.
local function blocks_max(c, p, d, values)
    if c.finish == "single" then return 1 end
    local room = limits.room(c, p, d) // values
    return math.max(1, math.min(c.per_sm * d.sm_count, d.blocks_max, room))
end

-- Blocks that wait for others at most: half of the multiprocessors, so that there is room for
-- those they wait for in whatever order blocks start.
local function waiting_max(c, d)
    return c.finish == "poll" and math.max(1, d.sm_count // 2) or nil
end

local function divide_up(a, b)
    return (a + b - 1) // b
end

-- How many blocks share a set of results, of `sets` sets of `tiles` tiles each: rdt_launch_splits.
-- A block leaves `values` values.
function limits.splits(c, p, d, sets, tiles, values)
    if c.finish == "single" or sets > (waiting_max(c, d) or sets) or tiles < 2 then return 1 end
    local most = blocks_max(c, p, d, values) // math.max(1, sets)
    if most < 2 then return 1 end
    local rounds = divide_up(tiles, most)
    return rounds > 2 and most or divide_up(tiles, rounds)
end

-- Whether blocks share sets of results in a way of their own; splits(c) says how many do.
function limits.distinct(c, splits)
    if c.finish == "single" then return true end
    local n = splits(c)
    if n < 2 or c.per_sm == 1 then return n > 1 end
    local per_sm = c.per_sm
    c.per_sm = per_sm // 2
    local fewer = splits(c)
    c.per_sm = per_sm
    return n > fewer
end

-- Whether a config may be the fastest for `sets` sets of results, by how blocks share them.
function limits.useful(c, p, d, sets)
    if c.finish == "single" then
        -- Few multiprocessors of all have to do, and much.
        local bytes = p.count * p.dtype.bytes
        return 8 * sets >= d.sm_count or sets * bytes <= 64 * 1024
            or p.layout == "rows" and bytes <= 128 * 1024
    end
    if sets >= 8 * d.sm_count then return false end -- enough blocks as it is
    -- A ticket costs two round trips to memory more than words.
    if c.finish == "ticket" and sets <= d.sm_count // 2 then return false end
    return c.per_sm * c.block <= d.threads_per_sm and 4 * c.per_sm * c.block >= d.threads_per_sm
end

-- The config, with a finish and per_sm added, for a default that has `sets` sets of results, of
-- `tiles` tiles each: enough threads that the loads in flight fill the memory's pipeline. What is
-- short is split only where multiprocessors would have nothing to do.
function limits.finished(c, d, sets, tiles, splits)
    c.finish = sets <= d.sm_count // 2 and "poll" or "ticket"
    c.per_sm = math.min(16, math.max(1, 1024 // c.block))
    local enough = tiles >= 32 and 4 * d.sm_count or 3 * d.sm_count // 2
    if sets < enough and splits(c) > 1 then return c end
    c.finish, c.per_sm = "single", 1
    return c
end

-- The launch of blocks that make `results` results at a time, of `tile` elements each, and leave
-- `results` values.
function limits.launch(c, p, d, results, tile)
    return {
        threads = c.block,
        results = results,
        columns = p.layout == "columns",
        tile = tile,
        blocks_max = blocks_max(c, p, d, results),
        waiting_max = waiting_max(c, d),
        final_threads = 0,
        overlap = limits.overlap(p, d),
    }
end

return limits
