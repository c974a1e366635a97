-- Estimate: about how long a launch of blocks that make sets of columns takes. It tells configs
-- apart that are equally good where they were measured: at another shape the last strip of one may
-- be nearly empty, or its blocks may need a second round on the multiprocessors.
--
-- Blocks run in waves, as many at a time as there are registers for. A wave takes the longest of
-- three: memory's time for its bytes, a block's rounds of loads one after another, and the fullest
-- multiprocessor's time for its bytes. Blocks that share a set add the time in which one combines
-- what the others leave. The constants are fitted to 5,200 sums measured on an H200: of those of
-- 8 MiB and more half are within 7 % of the estimate, nine of ten within 27 %.
--
-- As in block/family.lua, c is a config, p a problem and d a device. Times are in ns.
local limits = require "lib/limits"

local estimate = {}

local CALL = 1300 -- a launch, up to its first loads and from its last one
local BLOCK = 600 -- the same of a block that starts where another ended
local ROUND = 500 -- a thread's loads in flight at once, until they are combined
local SLOT = 160 -- of a multiprocessor for each block, whatever it does
local VALUE = 0.1 -- for each value that a block's threads combine in shared memory
local POLL, TICKET = 500, 2000 -- until one block has seen that all others are done
local COLLECT = 430 -- eight values that a thread collects
local AT_ONCE = 8
local SHARE = 1.35 -- a multiprocessor has at most that over its part of the memory's rate
local RATE = 0.9 -- of the memory bus, that is read at
local USUAL_RATE = 25 -- bytes per ns and multiprocessor, where the bus is not known
local REGISTERS = 65536 -- of a multiprocessor
local LINE = 64 -- bytes that memory brings at a time
local ALONE = 1.05 -- blocks that each make whole columns end further apart than those that share

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

local function bytes_of(p)
    return 1.0 * p.count * p.inner * p.outer * limits.element_bytes(p)
end

-- How many bytes memory brings for each that is asked for: strips whose rows do not begin at whole
-- lines bring more, and so do rows of strips that are shorter than two lines.
local function waste_of(c, p, room)
    local row, strip = p.inner * p.dtype.bytes, room * p.dtype.bytes
    local waste = 1
    if strip >= row then return waste end
    if p.step * p.dtype.bytes % LINE > 0 then waste = waste + 24 / strip end
    if strip < LINE then return waste * (1 + 22 / strip) end
    return strip < 2 * LINE and waste * (1 + 13 / strip) or waste
end

-- What combines the splits of a set: each of the first block's groups of threads, one for each
-- column, collects its part of them.
local function finish_of(c, s)
    if s.splits < 2 then return 0 end
    local groups = math.max(1, c.block // s.room)
    local times = math.ceil(s.splits / (groups * AT_ONCE)) * math.ceil(s.room / c.block)
    return (c.finish == "poll" and POLL or TICKET) + COLLECT * times
end

-- s says what the launch is: `sets` sets of columns, of `tiles` tiles and shared by `splits` blocks
-- each; `room` columns that a block's loads have side by side; `values` that its threads combine in
-- shared memory; `registers` of a thread.
function estimate.time(c, p, d, s)
    local rate = rate_of(d)
    local blocks = 1.0 * s.sets * s.splits
    -- Compilers unroll a loop of one load, and have at least two in flight.
    local tiles = (s.tiles + s.splits - 1) // s.splits
    local rounds = c.unroll == 1 and (tiles + 1) // 2 or tiles
    local bytes = waste_of(c, p, s.room) * bytes_of(p) / blocks
    local at_once = resident(c, d, s.registers) * d.sm_count
    local combine = VALUE * s.values
    local function wave(n, begin)
        local alone = bytes / (SHARE * rate)
        return math.max(n * bytes / (rate * d.sm_count), begin + rounds * ROUND + alone + combine,
                        math.ceil(n / d.sm_count) * alone)
    end
    local whole = blocks // at_once
    local left = blocks - whole * at_once
    local time = whole > 0 and wave(at_once, 0) + (whole - 1) * wave(at_once, BLOCK) or 0
    if left > 0 then time = time + wave(left, whole > 0 and BLOCK or 0) end
    time = math.max(time, blocks / d.sm_count * (SLOT + combine))
    return CALL + (s.splits < 2 and ALONE or 1) * time + finish_of(c, s)
end

-- A default that is not this much faster by the estimate is not worth another one.
local WORTH = 0.95

-- Whether the family's parameters have these values, and threads are not shared out to nobody.
local function is_known(family, c)
    for _, param in ipairs(family.params) do
        local found = param.labels ~= nil
        for _, value in ipairs(param.values or {}) do found = found or value == c[param.name] end
        if not found then return false end
    end
    return c.width <= c.block
end

-- How blocks may share sets: as many as may be resident, of threads that fill a multiprocessor.
local function finishes_of(c, d)
    local all = { { finish = "single", per_sm = 1 } }
    for _, finish in ipairs { "poll", "ticket" } do
        for _, per_sm in ipairs { 4, 2, 1, 8 } do
            if per_sm * c.block <= d.threads_per_sm and 4 * per_sm * c.block >= d.threads_per_sm then
                all[#all + 1] = { finish = finish, per_sm = per_sm }
            end
        end
    end
    return all
end

-- The default c, or the one among its neighbours in block, width, unroll and finish that takes less
-- time by the estimate: by a twentieth at least, where there is a MiB to read. Of those that take as
-- long it is the one with as many loads in flight as the default. What it must be besides the family's
-- rules say.
function estimate.improve(family, c, p, d)
    local best, time = c, family.time(c, p, d)
    local bytes = bytes_of(p)
    if bytes < 1024 * 1024 or WORTH * time < CALL + bytes / rate_of(d) / d.sm_count then return c end
    local least = WORTH * time
    for _, block in ipairs { c.block, 2 * c.block } do
        local finishes = finishes_of({ block = block }, d)
        for width = -2, 2 do
            for _, unroll in ipairs { 0, 1, -1 } do
                for _, as in ipairs(finishes) do
                    local other = { block = block, width = math.floor(c.width * 2.0 ^ width),
                                    vec = c.vec, unroll = math.floor(c.unroll * 2.0 ^ unroll),
                                    strips = c.strips, load = c.load, finish = as.finish,
                                    per_sm = as.per_sm }
                    if is_known(family, other) then
                        time = family.time(other, p, d)
                        if time < least and family.allowed(other, p, d)
                            and family.distinct(other, p, d) and family.useful(other, p, d) then
                            best, least = other, time
                        end
                    end
                end
            end
        end
    end
    return best
end

return estimate
