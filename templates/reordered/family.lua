-- The family "reordered": reductions by key of any op, and in fixed order. The elements are brought into the order of
-- their keys, those of a key in their own order, and reduced as the segments that they are then, by the kernels of
-- segments. The kernel here does the former alone, by counting the keys' digits, the lowest first.
--
-- Elements that a mask leaves out come behind all keys, those of rows each by itself. Of two inputs both are brought into
-- that order.
--
-- p has, beside what all problems have, keys, how many there are, key, their dtype, and of_rows: elements come in rows
-- of p.inner, with a key each, whose columns are taken apart.
local limits = require "lib/limits"
local params = require "lib/params"

local family = {}

family.params = {
    params.with(params.block, { values = { 256 } }),
    params.with(params.per_sm, { values = { 1, 2, 4, 8 }, doc = "blocks per multiprocessor at most" }),
}

family.order = "any"

function family.serves(p)
    if p.layout ~= "keyed" then return false end
    if p.op.indexed and (p.resumes or p.begins) then
        return false, "an index of a reordered array cannot go on from one of another"
    end
    return true
end

function family.allowed() return true end

function family.distinct() return true end

function family.useful() return true end

-- Behind the tables of "keyed", where these have the problem.
function family.yields() return true end

function family.default() return { block = 256, per_sm = 4 } end

function family.launch(c, p, d)
    return {
        threads = c.block, tile = 16 * c.block, blocks_max = math.min(c.per_sm * d.sm_count, d.blocks_max),
        keyed = true, reorders = true, cell_bytes = limits.inputs(p) * p.dtype.bytes, pairs = limits.inputs(p) == 2,
        masked = p.mask and true,
    }
end

return family
