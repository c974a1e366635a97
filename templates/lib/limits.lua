-- Limits: what a device has room for, and what of it a config takes. As in block/family.lua, c is a config, p a
-- problem and d a device.
local operands = require "lib/operands"

local limits = {}

-- Blocks of a cluster: as many as every GPU that has clusters runs side by side.
limits.cluster_blocks = 8

-- The first row whose `bytes` are at least the input's.
function limits.row_of(rows, bytes)
    for _, row in ipairs(rows) do
        if bytes <= row.bytes then return row end
    end
end

-- Whether the kernel waits for the one before it, as the templates say, so that it may be launched
-- earlier. An indexed op of a whole array of 4 MiB lost 0.3 us by it (docs/notebook/ideas.md).
local LOSES_ABOVE, LOSES_UP_TO = 1 << 20, 8 << 20

function limits.overlap(p, d)
    if d.major < 9 then return false end
    if not p.op.indexed or p.layout == "rows" or p.layout == "columns" then return true end
    local bytes = p.count * p.dtype.bytes
    return p.layout == "whole" and (bytes <= LOSES_ABOVE or bytes > LOSES_UP_TO)
end

-- The ops as made, by order, mask, accuracy, op, dtype and result: rules ask for thousands of configs.
local known = { free = {}, fixed = {} }

local function find_made(p, d)
    local of_mask = known[p.order]
    local of_order = of_mask[p.mask or false] or {}
    local of_accuracy = of_order[p.accuracy] or {}
    local of_op = of_accuracy[p.op] or {}
    local of_dtype = of_op[p.dtype] or {}
    of_mask[p.mask or false] = of_order
    of_order[p.accuracy], of_accuracy[p.op], of_op[p.dtype] = of_accuracy, of_op, of_dtype
    if not of_dtype[p.result] then
        of_dtype[p.result] = operands.make(p, 10 * d.major + d.minor)
    end
    return of_dtype[p.result]
end

-- That of the problem that was asked for last: no rule changes p or d.
local last_p, last_d, last_made

local function made_of(p, d)
    if p ~= last_p or d ~= last_d then last_made, last_p, last_d = find_made(p, d), p, d end
    return last_made
end

function limits.accumulator_bytes(p, d)
    return made_of(p, d).acc.bytes
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
limits.part_bytes = part_bytes

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

-- A rule that holds where all of these do, asked in their order: it refuses as the first of them that does.
function limits.all(rule, next_rule, ...)
    if not next_rule then return rule end
    local others = limits.all(next_rule, ...)
    return function(c, p, d)
        local yes, text, v1, v2, v3, v4, v5 = rule(c, p, d)
        if not yes then return false, text, v1, v2, v3, v4, v5 end
        return others(c, p, d)
    end
end

-- Rules: as the rule `allowed` of a family, which says why not.

function limits.has_threads(c, p, d)
    if c.block <= d.threads_per_block then return true end
    return false, "block=%d, and the device allows %d threads", c.block, d.threads_per_block
end

-- Blocks that share no result are as many as there are sets of these. One that waits for others leaves them a
-- multiprocessor.
function limits.has_per_sm(c, p, d)
    if c.finish == "poll" and d.sm_count < 2 then
        return false, "finish=poll, and the device has one multiprocessor: add finish=single,per_sm=1"
    end
    if c.finish ~= "single" or c.per_sm == 1 then return true end
    return false, "finish=single has one block%s: add per_sm=1", p.layout == "whole" and "" or " for each result"
end

-- That threads have so many registers.
function limits.has_registers(least)
    local most = 65536 // least
    return function(c)
        if c.block * c.resident <= most then return true end
        return false, "block=%d and resident=%d leave a thread fewer than %d registers", c.block, c.resident, least
    end
end

-- That the threads of a group are of one block; whose: what a group takes.
function limits.has_lanes(whose)
    return function(c)
        if c.lanes <= c.block then return true end
        return false, "lanes=%d, and block=%d: a %s's threads are of one block", c.lanes, c.block, whose
    end
end

-- That a block has that much shared memory; `text` has the parameters that it follows from, whose values are behind it.
function limits.has_shared(d, bytes, text, v1, v2, v3)
    if bytes <= d.shared_bytes_per_block then return true end
    return false, text .. " take %d bytes of shared memory, of %d", v1, v2, v3, bytes, d.shared_bytes_per_block
end

-- Whether the device can run such loads and blocks.
function limits.allowed(c, p, d)
    if c.vec * p.dtype.bytes > 16 then
        return false, "vec=%d of %s is %d bytes, and a load takes 16 at most",
            c.vec, p.dtype.name, c.vec * p.dtype.bytes
    end
    if c.block > d.threads_per_block then return limits.has_threads(c, p, d) end
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
    return limits.has_per_sm(c, p, d)
end

-- How many values that blocks wait for scratch has room for.
function limits.room(p, d)
    return d.words_bytes // (8 * made_of(p, d).acc.halves)
end

-- Whether something lies beside each element: a second input's, or whether it counts.
function limits.has_beside(p)
    return p.op.inputs == 2 or p.mask and true or false
end

-- How many inputs the op has, without a mask.
function limits.inputs(p)
    return p.op.inputs or 1
end

-- Bytes of an element of each input.
function limits.element_bytes(p)
    return limits.inputs(p) * p.dtype.bytes + (p.mask and 1 or 0)
end

return limits
