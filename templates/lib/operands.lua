-- Operands: what a kernel has beside an input, its extents, an output and scratch, where its op or
-- its use needs that: a second input, a second output, parameters, results that it goes on from, a
-- count on the GPU. All of these come with its last argument (rdt_given of model/launch.h), which
-- kernels without such needs do not have: their text has none of the strings below, which are "".
--
-- The second input has the extents and steps of the first, so that its elements lie at one distance
-- from those of the first. A kernel's addresses are those of the first input, and a load, which has
-- its bounds by these, brings what lies at the same place of either (lib/vector.cu).
--
-- A mask is such an input, too, of an op of one: of bytes, each as far from the first one as its
-- element is from the first element; or of bits, whose numbers stand where bytes have addresses, and
-- which loads make bytes of (lib/mask_bits.cu).
--
-- Masks of a list are one for each array, anywhere: a table has where each begins, and a kernel of segments makes the
-- distance anew for each (lib/segments/masks.cu).
--
-- A mask of an op of two inputs is a third array, of kernels of any axes, of segments and by key only. What such a
-- kernel has beside x is one value, a `beside`, of the second input and of the mask.
local convert = require "lib/convert"
local dtypes = require "dtypes"
local loads = require "lib/load"
local mask = require "lib/mask"

local operands = {}

-- What an entry makes of a problem (op, dtype, result, second, order, accuracy). exact: without what only
-- makes kernels fast, as in fixed order, whose bits no GPU's approximations may have a part in.
function operands.make(problem, arch, exact)
    local made = problem.op.make {
        dtype = problem.dtype, result = problem.result, second = problem.second, arch = arch,
        exact = exact or problem.order == "fixed", accuracy = problem.accuracy,
    }
    return problem.mask and mask(made, problem.dtype, problem.op.inputs == 2) or made
end

-- The bytes of a slot that a launch leaves its accumulator in: that of an array of them.
function operands.slot_bytes(made)
    return made.slot_bytes or made.acc.bytes <= 16 and 16 or 32
end

-- CUDA text that defines a part's message, of `bytes` bytes: its accumulator, the number of its
-- elements, and the index of the first of them in the whole.
function operands.message(acc, bytes)
    return ("struct alignas(%d) message {\n    %s a;\n    u64 count, first;\n};"):format(bytes, acc.c)
end

-- Parts that a thread takes elements into. Where elements have words of them, or wide
-- accumulators, elements share parts, lest these fill the registers.
local function count_parts(made, layout, vec)
    if made.narrow or made.word then return layout.words end
    if made.alone or made.part and made.part.at_once then return 1 end
    if not (made.acc.fields or made.part) then return vec end
    local parts, halves = 1, made.part and made.part.halves or made.acc.halves
    while 2 * parts <= vec and 2 * parts * halves <= 16 do parts = 2 * parts end
    return parts
end

-- What is compared of a value, where an indexed op does not say it: the value itself. A NaN stays one.
local function measured_of(made, dtype)
    local keeps = dtype.kind == "float" and "    if (a != a || b != b) return a + b;\n" or ""
    return {
        c = dtype.value, of = function(x) return x end, before = made.before,
        combine = function(a, b) return ("first_of_two(%s, %s)"):format(a, b) end,
        functions = ("__device__ __forceinline__ %s first_of_two(%s a, %s b)\n{\n%s    return %s ? b : a;\n}\n")
            :format(dtype.value, dtype.value, dtype.value, keeps, made.before("b", "a")),
    }
end

-- Where nothing is made of tiles of that kind. A part that is there for them alone goes, too.
local function leave_out_tiles(made, kind)
    local tile = made.part and made.part.tile
    if not tile or kind and (tile.only or kind) == kind then return end
    if made.part.tiles_only then made.part = nil else made.part.tile = nil end
end

-- Sets what such an op may leave out.
local function complete(made, problem)
    if problem.op.indexed and not made.measured then
        made.measured = measured_of(made, problem.dtype)
    end
    if problem.op.indexed and not made.found then
        made.found = function(_, index) return ("(%s)%s"):format(problem.result.c, index) end
    end
end

-- What lies beside an element of x where there are a second input and a mask: values, not words of memory.
local function beside_of(dtype)
    return {
        name = "beside", bytes = dtype.bytes, kind = dtype.kind, value = "beside", word = { c = "beside" },
        unpack = function(word) return word end,
    }
end

-- The statement that brings vec such values: `load_y` and `load_mask` load their words.
local function bring_beside(dtype, vec, into, load_y, load_mask)
    local of_y, of_mask = loads.layout(dtype, vec), loads.layout(dtypes.u8, vec)
    local lines = {
        "{", ("    %s of_y[%d] = {};"):format(of_y.word.c, of_y.words),
        ("    %s of_mask[%d] = {};"):format(of_mask.word.c, of_mask.words), "    " .. load_y, "    " .. load_mask,
    }
    for j = 0, vec - 1 do
        local y = dtype.unpack(("of_y[%d]"):format(j // of_y.per_word), j % of_y.per_word)
        local there = dtypes.u8.unpack(("of_mask[%d]"):format(j // of_mask.per_word), j % of_mask.per_word)
        lines[#lines + 1] = ("    %s[%d] = beside{%s, %s};"):format(into, j, y, there)
    end
    lines[#lines + 1] = "}"
    return table.concat(lines, "\n    ")
end

-- problem has op, dtype, result, second, resumes, begins, counts, placed and arch, as a template's environment.
-- Gives
--   made            the op
--   inputs          1 or 2, with the mask
--   masked, bits    whether there is a mask of one input, and whether it is, or that of pairs, of bits
--   listed          whether each array of a list has such a mask of its own
--   pairs           whether there is a mask of two inputs; `other` is then a beside
--   flat            whether these lie as the elements of x do, so that x's address says where they are
--   mask_layout(vec)    how VEC of the mask's bytes lie in registers
--   other           the dtype of the second input, or of the mask
--   other_value     the type of its values
--   other_layout(vec)   how VEC of them lie in registers
--   other_at(from)  the address of the one that belongs to the element at that address
--   paired          whether a vector has the elements of two; a template that loads each by itself
--                   sets it to false
--   names           of the parameters
--   part            the type of a thread's parts
--   conversions     CUDA text that reading elements and writing results needs
--   has_values      whether functions of the kernel are given values beside their own
--   parameter       of those functions, behind the others
--   output          the parameter `output`, and that one behind it
--   ahead           whether a kernel may prefetch while the one before it runs
--   argument        in calls of them, likewise
--   argument_of(values)   in calls about a segment
--   kernel          the parameter of a kernel, behind the others
--   begin(input, count, output)   lines of text before a kernel reads or writes; output is its first
--   write(place, a, count)        the statement that makes the results of the accumulator a: the
--                                 first at that place, an lvalue; one statement in every case
--   each(from)      the element at pointer `from`, of two inputs both
--   read(from)      the same as arguments of map
--   candidate(from, index)   of an indexed op: the element at `from` as an accumulator
--   found(best, index)       the best of a thread's elements, likewise
--   first_load      that of a thread which has none yet
--   parts(layout, vec), widen(part)   how many parts a thread takes vectors of that layout into;
--                                     the accumulator that a part stands for
-- tiles: "rows" or "columns", where elements go into parts by tiles that an op has for these (op.part.tile).
function operands.of(problem, exact, tiles)
    local op, second = problem.op, problem.second
    local made, pairs = operands.make(problem, problem.arch, exact), problem.mask and op.inputs == 2
    local masked = problem.mask and not pairs
    leave_out_tiles(made, tiles)
    local inputs = masked and 2 or op.inputs or 1
    local names = {}
    for i, parameter in ipairs(op.parameters or {}) do names[i] = parameter.name end
    if op.indexed and inputs > 1 and not masked then error(op.name .. " is indexed, and has two inputs", 2) end
    complete(made, problem)
    local results = second or problem.resumes
    local has_values = inputs > 1 or #names > 0 or results or problem.placed
    local given = {
        made = made, inputs = inputs, masked = masked or false, pairs = pairs or false,
        other = masked and dtypes.u8 or pairs and beside_of(problem.dtype) or problem.dtype,
        other_value = masked and "u32" or pairs and "beside" or "value", first_load = masked and "~0u" or "0", paired = inputs > 1, names = names,
        has_values = has_values and true, part = made.part and made.part.c or "accumulator",
        second = second, resumes = problem.resumes, begins = problem.begins, counts = problem.counts,
        placed = problem.placed,
        parameter = has_values and ", const values &given" or "",
        output = problem.result.c .. " *output" .. (has_values and ", const values &given" or ""),
        ahead = problem.arch >= 90 and not problem.counts,
        argument = has_values and ", given" or "",
        kernel = (has_values or problem.counts) and ", arguments rest" or "",
    }
    given.flat = given.pairs and (problem.layout == "keyed" or problem.layout == "ragged")
    given.listed = problem.mask == "listed_bytes" or problem.mask == "listed_bits"
    given.bits = problem.mask == "bits" or problem.mask == "listed_bits"
    -- In calls about one segment, whose values these are where each array has a mask of its own.
    function given.argument_of(values) return given.listed and ", " .. values or given.argument end
    local function writes(name)
        return problem.result.name == name or second and second.name == name
    end
    given.conversions = convert.functions(function(name)
        return problem.dtype.name == name or problem.resumes and writes(name)
    end, writes)
    function given.begin(input, count, output)
        local lines = {}
        if problem.counts then
            lines[1] = ("%s = least_count(rest, %s);"):format(count, count)
        end
        if has_values then
            lines[#lines + 1] = ("const values given = values_of(rest, %s, %s);"):format(input, output)
        end
        return lines
    end
    function given.write(place, a, count)
        if results then return ("write(&%s, %s, %s, given);"):format(place, a, count) end
        return ("%s = %s;"):format(place, (made.finalize(a, count)))
    end
    function given.each(from)
        local first = ("load_element(%s)"):format(from)
        if inputs == 1 then return first end
        if given.flat then return first, ("load_beside((u64)(%s), given)"):format(from) end
        return first, ("%s(second_of(%s, given))"):format(masked and "load_other" or "load_element", from)
    end
    function given.read(from) return table.concat({ given.each(from) }, ", ") end
    function given.candidate(from, index)
        local x, y = given.each(from)
        local text = ("candidate(%s, %s)"):format(x, index)
        return masked and ("(%s ? %s : %s)"):format(y, text, made.identity) or text
    end
    function given.found(best, index)
        local text = ("candidate(%s.x, %s)"):format(best, index)
        return masked and ("(%s.load == ~0u ? %s : %s)"):format(best, made.identity, text) or text
    end
    local function load_mask(vec, load, into, from)
        if given.bits then return ("load_bits<%d>(%s, (u64)(%s));"):format(vec, into, from) end
        return loads.statement(given.mask_layout(vec), load, into, from)
    end
    local function load_mask_if(vec, load, into, from, there)
        if given.bits then return ("load_bits<%d>(%s, (u64)(%s), %s);"):format(vec, into, from, there) end
        return loads.guarded(given.mask_layout(vec), load, into, from, there)
    end
    -- The statement that loads vec elements of the second input, or bytes of the mask, or of pairs both, these from
    -- `mask`; and the same where `there` is not 0.
    function given.load_other(vec, load, into, from, mask)
        if masked then return load_mask(vec, load, into, from) end
        if not pairs then return loads.statement(given.other_layout(vec), load, into, from) end
        return bring_beside(problem.dtype, vec, into, loads.statement(loads.layout(problem.dtype, vec), load, "of_y", from),
            load_mask(vec, load, "of_mask", mask))
    end
    function given.load_other_if(vec, load, into, from, there, mask)
        if masked then return load_mask_if(vec, load, into, from, there) end
        if not pairs then return loads.guarded(given.other_layout(vec), load, into, from, there) end
        return bring_beside(problem.dtype, vec, into,
            loads.guarded(loads.layout(problem.dtype, vec), load, "of_y", from, there),
            load_mask_if(vec, load, "of_mask", mask, there))
    end
    function given.mask_layout(vec) return loads.layout(dtypes.u8, vec) end
    function given.other_layout(vec)
        if pairs then return { word = given.other.word, words = vec, per_word = 1 } end
        return loads.layout(given.other, vec)
    end
    function given.other_at(from)
        return masked and ("given.to_second + %s / sizeof(element)"):format(from)
            or ("%s + given.to_second"):format(from)
    end
    -- Of flat pairs: the mask of the element at that address; nil where there is none.
    function given.mask_at(from)
        return given.flat and ("given.mask + %s / sizeof(element)"):format(from) or nil
    end
    function given.parts(layout, vec) return count_parts(made, layout, vec) end
    function given.widen(part) return made.part and made.part.widen(part) or part end
    return given
end

return operands
