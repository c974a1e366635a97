-- Estimate: about how long a launch of blocks that make sets of results takes, of rows or of columns.
-- It tells configs apart where nothing is measured, or only at other shapes: there the last strip of one
-- may be nearly empty, or its blocks may need a second round on the multiprocessors.
--
-- Blocks run in waves, as many at a time as there are registers for. A wave takes the longer of two:
-- memory's time for its bytes, and a block's: rounds of loads one after another, each as long as memory
-- needs to answer, its bytes at the rate that one multiprocessor has, and what its threads need before
-- and behind. Blocks that share a set add the time in which one combines what the others leave. The
-- constants are fitted to 10,500 sums of f16 and f32 at 836 shapes, rows and columns, measured on an
-- H200. docs/database.md says how good the choices are.
--
-- As in block/family.lua, c is a config, p a problem and d a device. Times are in ns.
local limits = require "lib/limits"
local bytes_of = require("lib/shape").input_bytes

local estimate = {}

local CALL = 900 -- a launch, up to its first loads and from its last one
local BLOCK = 760 -- the same of a block that starts where another ended
local WARP = 13 -- of that for each warp of a block
local ROUND = 505 -- from a thread's loads, which are in flight at once, to their values
local LOAD, WORD = 21, 7 -- of a round for each load, and for each 4 bytes of it
local SPILL = 63 -- of a round for each register that a thread has not
local AHEAD_BYTES = 1 << 23 -- of an input whose first round is in L2 already (lib/prefetch_strip.cu)
local VALUE, ROW = 0.26, 11 -- of values that meet, each of 4 bytes, and each of a column's
local REQUEST = 2 -- of a multiprocessor for each load of a warp that is far from 16 bytes wide
local WIDE = 0.4 -- of the time in which values of several words meet: nothing is loaded meanwhile
local SLOT = 220 -- of a multiprocessor for each block, whatever it does
local POLL = 510 -- until one block has seen that all others are done
local COLLECT = 690 -- eight values that a thread collects
local AT_ONCE = 8
-- Over a multiprocessor's part of the memory's rate: the rate of one block's loads, and that of all.
local SHARE, LIMIT = 2.7, 1.32
local RATE = 0.89 -- of the memory bus, that is read at
local USUAL_RATE = 25 -- bytes per ns and multiprocessor, where the bus is not known
local MISALIGNED = 16 -- bytes that come with a row's of a strip
local CACHED = 8 -- the same where caches have them for the next row or strip
local ELEMENT = 32 -- of a round for each element that is loaded alone
local REGISTERS = 65536 -- of a multiprocessor
local ALONE = 0.97 -- blocks that each make whole sets need not wait for each other

-- Bytes per ns of the memory, for each multiprocessor.
local function rate_of(d)
    return d.peak_mbps > 0 and RATE * d.peak_mbps / 1000 / d.sm_count or USUAL_RATE
end

-- Blocks that a multiprocessor has at a time, of threads with so many registers.
local function resident(c, d, registers)
    local at_most = REGISTERS // c.block
    registers = math.min(255, at_most, (registers + 7) // 8 * 8)
    return math.max(1, math.min(d.threads_per_sm // c.block, REGISTERS // (c.block * registers)))
end

-- Whether the first round's values are in L2 when it begins.
function estimate.is_ahead(p)
    return bytes_of(p) <= AHEAD_BYTES and not p.op.indexed
end

-- How many bytes memory brings for each that is asked for, where loads side by side are of so many
-- bytes of a row, and rows are a step apart: it brings 64 at a time, unless they are cached.
local function waste_of(side, row, step, cached)
    if side >= row then return 1 end
    if cached then return 1 + CACHED / side end
    local waste = step % 64 > 0 and 1 + MISALIGNED / side or 1
    if side > 64 then return waste end
    return waste * (1 + (side > 32 and 13 or 64) / side)
end

-- What combines the splits of a set: each of the first block's groups of threads, one for each
-- result, collects its part of them.
local function finish_of(c, s)
    if s.splits < 2 then return 0 end
    local groups = math.max(1, c.block // s.room)
    local times = math.ceil(s.splits / (groups * AT_ONCE)) * math.ceil(s.room / c.block)
    return POLL + COLLECT * times
end

-- How long a block's threads take to combine `values` accumulators in shared memory, of `columns` columns.
function estimate.meet(values, columns, bytes)
    return (VALUE * values + ROW * values / columns) * bytes / 4
end

-- s says what the launch is: `sets` sets of results, of `tiles` tiles and shared by `splits` blocks
-- each; `room` results that a block may leave to others at a time; `loads` that a thread has in flight,
-- `side` bytes of them side by side, where a row has `row` and the next is `step` bytes on; `cached` if
-- other loads of the same sectors find them in caches; `apart` if loads at the ends of a row are of one
-- element each; `registers` of a thread; `begin` and `meet` ns of a block before its loads, and until its
-- threads' values are combined, of which `busy` is work; `wide`: of several words each.
function estimate.time(c, p, d, s)
    local rate = rate_of(d)
    local blocks, total = 1.0 * s.sets * s.splits, bytes_of(p)
    local bytes = waste_of(s.side, s.row, s.step, s.cached) * total / blocks
    local at_once = resident(c, d, s.registers) * d.sm_count
    local lacking = math.max(0, s.registers - REGISTERS // c.block)
    local round = s.loads * (LOAD + WORD * c.vec * p.dtype.bytes / 4) + SPILL * lacking
    local tiles = (s.tiles + s.splits - 1) // s.splits
    local block = s.begin + WARP * c.block / 32 + tiles * (ROUND + round) + bytes / (SHARE * rate) + s.meet
    if total <= AHEAD_BYTES and not p.op.indexed then block = block - ROUND end
    -- A wave of all blocks at a time, further ones, and the rest.
    local whole, each = blocks // at_once, bytes / (rate * d.sm_count)
    local left, later = blocks - whole * at_once, BLOCK + block
    local fullest = bytes / (LIMIT * rate) -- of a multiprocessor, for each of its blocks
    local time = 0
    if whole > 0 then
        time = math.max(at_once * each, block) + (whole - 1) * math.max(at_once * each, later)
    end
    if left > 0 then
        time = time + math.max(left * each, math.ceil(left / d.sm_count) * fullest,
                               whole > 0 and later or block)
    end
    if s.apart then
        -- The first and the last strip of a row take as long as their loads.
        local loads = s.loads * c.vec * ELEMENT
        time = math.max(time, s.begin + WARP * c.block / 32 + tiles * (ROUND + loads) + s.meet)
    end
    local busy = blocks / d.sm_count * s.busy
    time = math.max(time, blocks / d.sm_count * SLOT + busy) + (s.wide and WIDE * busy or 0)
    local load = c.vec * p.dtype.bytes
    local requests = math.max(0, 1 - load / 16) * total / (32 * load * d.sm_count)
    return CALL + (s.splits < 2 and ALONE or 1) * time + REQUEST * requests + finish_of(c, s)
end

-- A default that is not this much faster by the estimate is not worth another one.
local WORTH = 0.95

local function has_value(family, name, value)
    for _, param in ipairs(family.params) do
        for _, each in ipairs(param.name == name and param.values or {}) do
            if each == value then return true end
        end
    end
    return false
end

local function copy(family, c)
    local other = {}
    for _, param in ipairs(family.params) do other[param.name] = c[param.name] end
    return other
end

-- Of blocks that share sets, a multiprocessor's threads and the bytes that they have in flight: no winner
-- of a tune on an H200 has more. With more registers in use the next launch has no room to begin.
local THREADS_MOST, IN_FLIGHT_MOST = 1024, 128 * 1024

-- Bytes that a multiprocessor has in flight of blocks that share sets by words; 0: they share none.
local function shared_in_flight(c, p)
    if c.finish ~= "poll" then return 0 end
    return c.per_sm * c.block * c.unroll * c.vec * limits.element_bytes(p)
end

-- Blocks of a multiprocessor that may share sets, in the order in which they are tried.
local SHARING <const> = { 4, 2, 1, 8 }

-- Calls try with each way in which blocks may share sets, where few wait: as many as may be resident, of threads
-- that fill a fourth of a multiprocessor at least.
local function each_sharing(c, p, d, sets, try)
    if sets > d.sm_count // 2 then return end
    local block, most = c.block, math.min(d.threads_per_sm, THREADS_MOST)
    local in_flight = block * c.unroll * c.vec * limits.element_bytes(p)
    c.finish = "poll"
    for i = 1, #SHARING do
        local per_sm = SHARING[i]
        if per_sm * block <= most and per_sm * in_flight <= IN_FLIGHT_MOST and 4 * per_sm * block >= d.threads_per_sm then
            c.per_sm = per_sm
            try()
        end
    end
end

-- What rounding may make of a bound.
local EXACT <const> = 0.999

-- Times that estimate.time is not below: of blocks that each make whole sets, and of such that share them,
-- whatever their number. Most neighbours need no further look.
local function bounds_of(c, p, d, sets, tiles, meet)
    local bytes = bytes_of(p) / rate_of(d)
    local all, each = bytes / d.sm_count, WARP * c.block / 32 + meet - (estimate.is_ahead(p) and ROUND or 0)
    local blocks = THREADS_MOST // c.block * d.sm_count -- that share sets, at most
    local rounds = math.max(1, tiles * sets / blocks)
    return EXACT * (CALL + ALONE * math.max(all, each + ROUND * tiles + bytes / (SHARE * sets))),
        EXACT * (CALL + math.max(all, each + ROUND * rounds + bytes / (SHARE * blocks)) + POLL + COLLECT)
end

-- The default c, or the one among its neighbours that takes less time by the estimate: by WORTH at
-- least. Neighbours differ in the parameters of `steps`, each by a power of two whose exponent is of its
-- list, and, where steps.finishes says so, in how blocks share sets. There are no more threads of the
-- parameter steps.within than a block has. A family with steps.finishes has a function meet beside time. Of those that take as long it is the first, or, where
-- steps.fills says so, the first of those with the most bytes in flight. What it must be besides, the
-- family's rules say.
function estimate.improve(family, c, p, d, steps)
    local best, least, most = c, WORTH * family.time(c, p, d), 0
    -- As long as reading takes.
    if least < CALL + bytes_of(p) / rate_of(d) / d.sm_count then return c end
    local other = copy(family, c)
    local function try()
        local time = family.time(other, p, d)
        if time > least then return end
        local bytes = steps.fills and shared_in_flight(other, p) or 0
        if (time < least or bytes > most) and family.allowed(other, p, d)
            and family.distinct(other, p, d) and family.useful(other, p, d) then
            best, least, most = copy(family, other), time, bytes
        end
    end
    local function try_finishes()
        local sets, tiles = family.shape.sets(other, p), family.shape.tiles(other, p)
        local alone, shared = bounds_of(other, p, d, sets, tiles, family.meet(other, p, d))
        if alone <= least then
            other.finish, other.per_sm = "single", 1
            try()
        end
        if shared <= least then each_sharing(other, p, d, sets, try) end
    end
    local function go(i)
        local step = steps[i]
        if not step then
            if other[steps.within] > other.block then return end
            if steps.finishes then try_finishes() else try() end
            return
        end
        for _, by in ipairs(step.by) do
            other[step.name] = math.floor(c[step.name] * 2.0 ^ by)
            if has_value(family, step.name, other[step.name]) then go(i + 1) end
        end
    end
    go(1)
    return best
end

return estimate
