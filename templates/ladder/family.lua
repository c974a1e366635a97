-- The family "ladder": the sum, one classic optimisation after the other (steps.lua, docs/ladder.md).
-- It is there to be read and run, not to be tuned: the registry does not name it.
local steps = require "ladder/steps"

local family = {}

local names, index_of = {}, {}
for i, step in ipairs(steps) do
    names[i], index_of[step.name] = step.name, i
end

family.params = {
    { name = "step", labels = names, doc = "which of the steps" },
    { name = "block", values = { 32, 64, 101, 128, 256, 512, 1024 }, doc = "threads per block" },
    { name = "form", labels = { "many", "one", "program" },
      doc = "any count on many blocks; an array that one block takes; many with the host's code" },
}

-- Blocks that one launch may have.
local GRID_MAX <const> = (1 << 31) - 1

local function at_least(c, name)
    return index_of[c.step] >= index_of[name]
end

-- Elements that a block takes; from grid_stride on a block takes more in turns.
local function tile(c)
    return at_least(c, "grid_stride") and 8 * c.block or at_least(c, "first_add") and 2 * c.block
        or c.block
end

local function is_power_of_two(n)
    return n & (n - 1) == 0
end

-- A tree that halves the block, and one of warps, need a block that can be halved.
local function takes_block(c)
    return is_power_of_two(c.block) or not at_least(c, "sequential")
end

function family.allowed(c, p, d)
    local name = p.dtype.name
    if p.op.name ~= "sum" or p.result.name ~= p.acc.name
        or not (name == "i32" or name == "i64" or name == "f32" or name == "f64") then
        return false, "the ladder sums i32, i64, f32 and f64 into their usual results"
    end
    if c.block > d.threads_per_block then
        return false, "block=%d, and the device allows %d threads", c.block, d.threads_per_block
    end
    if not takes_block(c) then
        return false, "block=%d is no power of two, and step=%s halves the block", c.block, c.step
    end
    if c.form == "one" and at_least(c, "one_launch") then
        return false, "step=%s is about meeting other blocks, and form=one has none", c.step
    end
    if c.form == "one" and not at_least(c, "grid_stride") and p.count > tile(c) then
        return false, "form=one of step=%s and block=%d takes %d elements at most", c.step, c.block,
            tile(c)
    end
    return true
end

function family.default()
    return { step = "modulo", block = 256, form = "many" }
end

function family.launch(c, p, d)
    local resident = d.sm_count * math.max(1, d.threads_per_sm // c.block)
    return {
        threads = c.block,
        tile = tile(c),
        blocks_max = c.form == "one" and 1
            or not at_least(c, "grid_stride") and GRID_MAX
            or at_least(c, "one_launch") and math.min(resident, d.blocks_max) or resident,
        -- A sum for each block is left, to be summed in turn.
        partials = not at_least(c, "one_launch"),
    }
end

-- What a step is, for people.
function family.about(c)
    local step, place, variants = steps[index_of[c.step]], -1, 0
    for i = 1, index_of[c.step] do
        variants = steps[i].variant and variants + 1 or 0
        place = place + (steps[i].variant and 0 or 1)
    end
    local letter = step.variant and string.char(string.byte("a") + variants) or ""
    return {
        place = place .. letter, text = step.text, variant = step.variant or false,
        exists = takes_block(c) and not (c.form == "one" and at_least(c, "one_launch")),
        needs_work = c.step == "global",
    }
end

return family
