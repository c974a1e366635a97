-- Keyed: the ops as reductions by key make them, and how an accumulator is brought into a cell of a table that
-- several threads share.
--
-- Sums and means of floats are made in f64: a hot key's cell takes up millions of elements one by one, and f32 stops
-- counting at 2^24. The results are narrowed at the end.
local convert = require "lib/convert"
local counted = require "lib/counted"
local dtypes = require "dtypes"
local kernel = require "lib/kernel"
local mask = require "lib/mask"

local keyed = {}

local is_sum = { sum = true, mean = true }

-- The result's dtype while it is made.
local function widened(problem, class, dtype)
    return problem.dtype.kind == "float" and is_sum[class] and dtypes.f64 or dtype
end

local function narrowed(from, to, x)
    if from == to or not x then return x end
    return convert.store(to, convert.value(from, to, ("(%s)"):format(x)))
end

-- The op of the problem (op, dtype, result, second), with accumulators that know how many elements they are of where
-- the results ask for it.
function keyed.make(problem, arch)
    local op, outputs = problem.op, problem.op.outputs
    local result = widened(problem, outputs and outputs[1].result or op.result, problem.result)
    local second = problem.second and widened(problem, outputs[2].result, problem.second)
    local made = op.make {
        dtype = problem.dtype, result = result, second = second, arch = arch, exact = false, accuracy = "plain",
    }
    local finalize, resume = made.finalize, made.resume
    if result ~= problem.result or second ~= problem.second then
        made.finalize = function(a, count)
            local one, other = finalize(a, count)
            return narrowed(result, problem.result, one), other and narrowed(second, problem.second, other)
        end
    end
    if resume then
        made.resume = function(r, s)
            return resume(convert.value(problem.result, result, r), s and convert.value(problem.second, second, s))
        end
    end
    if problem.mask then mask(made, problem.dtype, problem.op.inputs == 2) end
    counted(made)
    if made.acc.name == "counted" and resume then
        local inner = made.resume
        made.resume = function(r, s) return ("counted{%s, 0}"):format(inner(r, s)) end
    end
    return made
end

-- As kernel.of_several, of a template's environment.
function keyed.of(env, vec)
    local of = env.op
    local op = {
        name = of.name, formula = of.formula, indexed = of.indexed, parameters = of.parameters, inputs = of.inputs,
        make = function() return keyed.make(env, env.arch) end,
    }
    return kernel.of_several({
        op = op, dtype = env.dtype, result = env.result, second = env.second, arch = env.arch, order = env.order,
        accuracy = env.accuracy, resumes = env.resumes, begins = env.begins, counts = false, placed = false,
        mask = env.mask, layout = env.layout,
    }, vec)
end

-- Of scalars: the word of their bits, that of a value %s, and the value of a word %s.
local words = {
    f32 = { "u32", "__float_as_uint(%s)", "__uint_as_float(%s)" },
    f64 = { "u64", "(u64)__double_as_longlong(%s)", "__longlong_as_double((i64)%s)" },
    i32 = { "u32", "(u32)%s", "(int)%s" }, u32 = { "u32", "%s", "%s" },
    i64 = { "u64", "(u64)%s", "(i64)%s" }, u64 = { "u64", "%s", "%s" },
}

-- The scalars that an accumulator is made of, { path, dtype's name } each, and the text of its combination with
-- another where each is added to its like.
local function added(acc, a, b)
    if acc.name == "counted" then
        local parts, text = added(acc.inner, a .. ".of", b .. ".of")
        if not parts then return nil end
        for _, part in ipairs(parts) do part[1] = ".of" .. part[1] end
        parts[#parts + 1] = { ".present", "u64" }
        return parts, ("counted{%s, %s.present + %s.present}"):format(text, a, b)
    end
    if acc.name == "struct" then
        local parts = {}
        for _, field in ipairs(acc.fields) do parts[#parts + 1] = { "." .. field[2], field[1] } end
        return parts, acc.each(function(name) return ("%s.%s + %s.%s"):format(a, name, b, name) end)
    end
    if not words[acc.name] then return nil end
    return { { "", acc.name } }, a .. " + " .. b
end

-- How threads bring accumulators into a cell that they share:
--   parts   of what is added by an atomic for each: { path, type in CUDA that atomicAdd takes }
--   word    of what fits one word, by compare-and-swap: { its type, the word of %s, the accumulator of word %s }
-- Neither: there is no such way.
function keyed.cell(made)
    local parts, text = added(made.acc, "a", "b")
    if parts and made.combine("a", "b") == text then
        for _, part in ipairs(parts) do
            local name = part[2]
            part[2] = name == "i64" and "u64" or dtypes[name].value
        end
        return { parts = parts }
    end
    return { word = words[made.acc.name] }
end

local function is_f64(dtype)
    return dtype and dtype.kind == "float" and dtype.bytes == 8
end

-- The cells of a block in shared memory by atomics of 32 bits, or nil: their parts, { path, kind, word, back } each,
-- of which word is the first of its words of a cell, and back its number among those of floats; and how many of both
-- there are, and how many spare words stand behind all cells:
--   float   an f64 of elements that an f32 holds, in a fixed point of two words; split: of one, carries going on
--   count   a u64 of at most 1 of an element, as redtune's own ops have: a block has fewer than 2^32
--   halves  another 64-bit integer: its two words
-- Of split cells the floats come first.
function keyed.narrow(p, cell, split)
    if not cell.parts then return nil end
    local counts = p.dtype.kind == "float" and p.op.number
    local narrow = { parts = {}, words = 0, backs = 0, spare = 0, power = split and 24 or 28 }
    for i, part in ipairs(cell.parts) do
        local kind = part[2] == "double" and "float" or counts and "count" or "halves"
        if part[2] ~= "double" and part[2] ~= "u64" then return nil end
        if kind == "float" and (p.dtype.bytes > 4 or is_f64(p.result) or is_f64(p.second)) then return nil end
        narrow.parts[i] = {
            path = part[1], kind = kind, word = narrow.words, back = kind == "float" and narrow.backs or nil,
        }
        if split and (kind == "halves" or i == 1 and kind ~= "float") then return nil end
        narrow.words = narrow.words + ((kind == "count" or split) and 1 or 2)
        narrow.backs = narrow.backs + (kind == "float" and 1 or 0)
    end
    narrow.spare = narrow.backs > 0 and 32 or 0
    return narrow
end

-- Bytes of shared memory that a block may have if its kernel asks for them; arch as 10 * major + minor.
function keyed.block_bytes_max(arch)
    local of_100 = arch >= 120 or arch == 86 or arch == 89
    local kib = arch < 80 and 64 or of_100 and 99 or arch < 90 and 163 or 227
    return kib * 1024
end

-- The same of a rule's problem and device: the cell, and the accumulator's bytes.
local last_p, last_cell, last_bytes

function keyed.cell_of(p, d)
    if p ~= last_p then
        local made = keyed.make(p, 10 * d.major + d.minor)
        last_p, last_cell, last_bytes = p, keyed.cell(made), made.acc.bytes
    end
    return last_cell, last_bytes
end

return keyed
