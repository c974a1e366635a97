-- Own op: the op that a file of the user's has, in plain strings, made into an entry as those of
-- ops.lua are. docs/own-ops.md has the fields.
--
-- Each expression becomes a CUDA function of its own, behind a #line directive that names the file
-- and the line where it stands: so NVRTC's messages lead there. `word` and `narrow` are for entries
-- with a make of their own, which are passed on as they are.
local accumulator = require "lib/accumulator"
local convert = require "lib/convert"
local dtypes = require "dtypes"

local FIELDS <const> = {
    "accumulator", "accumulator_bytes", "combine", "combines", "commutative", "dtypes", "elements",
    "examples", "f64_from", "finish", "formula", "functions", "identity", "ignores_nan", "indexed",
    "inputs", "lost_bits", "make", "map", "name", "outputs", "parameters", "power", "result",
    "resume", "resumes", "tolerance", "values",
}
local ACCUMULATOR_BYTES_MAX <const> = 32
local TOLERANCE <const> = 64 -- units in the last place, of accumulators that round

-- ---- the file ----------------------------------------------------------------------------------

-- The line at a place in the text.
local function line_at(text, place)
    local _, ends = text:sub(1, place - 1):gsub("\n", "")
    return ends + 1
end

-- Where the word stands as one, from that place on, with this behind it; or nil.
local function find_word(text, word, place, behind)
    repeat
        local first, last = text:find(word, place, true)
        if not first then return nil end
        local alone = first == 1 or not text:sub(first - 1, first - 1):find "[%w_]"
        if alone and text:sub(last + 1, last + 80):find(behind) then return first end
        place = last + 1
    until false
end

-- Where the field begins, the last of the keys within those before it; or nil.
local function find_field(text, ...)
    local place = 1
    for _, key in ipairs { ... } do
        place = find_word(text, key, place, "^%s*=")
        if not place then return nil end
    end
    return place
end

local file = {}

-- An error about the field of these keys; where it is not there, about the table.
function file:fail(message, ...)
    local place = select("#", ...) > 0 and find_field(self.text, ...)
        or find_word(self.text, "return", 1, "^[^%w_]") or 1
    error(("%s:%d: %s"):format(self.name, line_at(self.text, place), message), 0)
end

-- CUDA text of the field of these keys is text, and reads nothing of the machine.
function file:check_text(text, ...)
    local found = refused_text(text)
    if found then self:fail(("%s has %s"):format(..., found), ...) end
end

-- The directive that says where the expression of that field stands.
function file:directive(expression, ...)
    local field = find_field(self.text, ...) or 1
    local place = self.text:find(expression:sub(1, 64), field, true) or field
    return ('#line %d "%s"\n'):format(line_at(self.text, place),
                                      (self.name:gsub('["\\%c]', "_")))
end

-- ---- fields ------------------------------------------------------------------------------------

local function is_name(text)
    return type(text) == "string" and #text <= 23 and text:find "^[a-z][a-z0-9_]*$"
end

local function contains(list, wanted)
    for _, each in ipairs(list) do
        if each == wanted then return true end
    end
    return false
end

local function check_fields(from, entry)
    for _, key in ipairs(sorted_keys(entry)) do
        if not contains(FIELDS, key) then
            from:fail(("unknown field '%s'; docs/own-ops.md lists the fields"):format(key), key)
        end
    end
    if not is_name(entry.name) then
        from:fail("name must be 1 to 23 letters a-z, digits and _, the first a letter", "name")
    end
    local formula = entry.formula
    if formula ~= nil and (type(formula) ~= "string" or #formula > 119 or formula:find "%c") then
        from:fail("formula must be one line of text of at most 119 bytes", "formula")
    end
    if entry.commutative == false then
        from:fail("commutative must be true: kernels combine in any order", "commutative")
    end
end

local function check_dtypes(from, list)
    if list == nil then return end
    if type(list) ~= "table" or #list == 0 then
        from:fail('dtypes must be a list, such as { "f32", "f64" }', "dtypes")
    end
    for _, name in ipairs(list) do
        if type(name) ~= "string" or not contains(sorted_keys(dtypes), name) then
            from:fail(("unknown dtype '%s'; use %s"):format(tostring(name),
                      table.concat(sorted_keys(dtypes), ", ")), "dtypes")
        end
    end
end

local TYPES <const> = { "f32", "f64", "i32", "i64", "u32", "u64" }

-- The accumulator's fields by name, as { type, name }; one without a name is the value itself.
local function read_accumulator(from, declared)
    if type(declared) == "string" then declared = { [""] = declared } end
    if type(declared) ~= "table" or #sorted_keys(declared) == 0 then
        from:fail('accumulator must be a type, such as "f64", or a table of named ones',
                  "accumulator")
    end
    local fields, bytes, align = {}, 0, 4
    for _, name in ipairs(sorted_keys(declared)) do
        local kind = declared[name]
        if name ~= "" and not is_name(name) then
            from:fail(("accumulator: '%s' is no name of a field"):format(name), "accumulator")
        end
        if not contains(TYPES, kind) then
            from:fail(("accumulator: '%s' is no type; use %s"):format(tostring(kind),
                      table.concat(TYPES, ", ")), "accumulator")
        end
        local size = dtypes[kind].bytes
        bytes, align = (bytes + size - 1) // size * size + size, math.max(align, size)
        fields[#fields + 1] = { kind, name }
    end
    bytes = (bytes + align - 1) // align * align
    if bytes > ACCUMULATOR_BYTES_MAX then
        from:fail(("accumulator has %d bytes, and at most %d are possible; take smaller types or "
                  .. "fewer fields"):format(bytes, ACCUMULATOR_BYTES_MAX), "accumulator")
    end
    return fields, bytes
end

-- The expressions of a field: one for each of the accumulator's, by name.
local function read_expressions(from, entry, key, fields)
    local given = entry[key]
    if given == nil then
        from:fail(("%s is missing; add %s = %s"):format(key, key,
                  fields[1][2] == "" and '"..."' or "{ " .. fields[1][2] .. ' = "...", ... }'))
    end
    if fields[1][2] == "" then
        if type(given) ~= "string" then
            from:fail(key .. " must be a text: the accumulator is one value", key)
        end
        from:check_text(given, key)
        return { [""] = given }
    end
    if type(given) ~= "table" then
        from:fail(key .. " must be a table with a text for each field of the accumulator", key)
    end
    for _, field in ipairs(fields) do
        if type(given[field[2]]) ~= "string" then
            from:fail(("%s has no text for the accumulator's field %s"):format(key, field[2]), key)
        end
        from:check_text(given[field[2]], key, field[2])
    end
    for _, name in ipairs(sorted_keys(given)) do
        local known = false
        for _, field in ipairs(fields) do known = known or field[2] == name end
        if not known then
            from:fail(("%s: the accumulator has no field '%s'"):format(key, name), key, name)
        end
    end
    return given
end

-- The results: a list of { name, result, expression, keys of the expression }.
local function read_results(from, entry, fields)
    local finish, result = entry.finish, entry.result
    if finish == nil and fields[1][2] == "" then finish = "a" end
    if finish == nil then from:fail 'finish is missing; add finish = "..."' end
    if type(finish) == "string" then
        if result == nil and #fields == 1 and fields[1][2] == "" then result = fields[1][1] end
        if type(result) ~= "string" then
            from:fail('result must be the dtype of the result, such as "f64"', "result")
        end
        from:check_text(finish, "finish")
        return { { name = "result", result = result, text = finish, keys = { "finish" } } }
    end
    if type(finish) ~= "table" then
        from:fail("finish must be a text, or a table of two named ones", "finish")
    end
    local names = sorted_keys(finish)
    if #names ~= 2 then from:fail("finish must have two results: name each of them", "finish") end
    local results = {}
    for i, name in ipairs(names) do
        local kind = type(result) == "table" and result[name] or result
        if not is_name(name) or type(finish[name]) ~= "string" then
            from:fail(("finish: '%s' must be a name with a text"):format(name), "finish")
        end
        from:check_text(finish[name], "finish", name)
        if type(kind) ~= "string" then
            from:fail(("result has no dtype for %s; add result = { %s = \"f64\", ... }")
                      :format(name, name), "result")
        end
        results[i] = { name = name, result = kind, text = finish[name], keys = { "finish", name } }
    end
    return results
end

local function check_functions(from, functions)
    if functions ~= nil and type(functions) ~= "string" then
        from:fail("functions must be CUDA text", "functions")
    end
    if functions then from:check_text(functions, "functions") end
end

local function check_parameters(from, parameters)
    for _, each in ipairs(type(parameters) == "table" and parameters or {}) do
        if type(each) ~= "table" or not is_name(each.name) then
            from:fail("each of the parameters must have a name of 1 to 23 letters a-z, digits and _",
                      "parameters")
        end
    end
end

-- The range of the numbers that kernels are tried with.
local function read_elements(from, elements)
    if elements == nil then return 1, 4 end
    local low, high = type(elements) == "table" and elements[1], type(elements) == "table"
        and elements[2]
    if type(low) ~= "number" or type(high) ~= "number" or not (low < high)
        or low < -1000 or high > 1000 then
        from:fail("elements must be { least, greatest }, two numbers from -1000 to 1000, in order",
                  "elements")
    end
    return low, high
end

-- ---- CUDA --------------------------------------------------------------------------------------

-- A function that returns the accumulator of the expressions.
local function function_of(from, acc, fields, head, key, expressions)
    local out = { ("__device__ __forceinline__ %s %s\n{\n"):format(acc.c, head) }
    local single = fields[1][2] == ""
    if not single then out[2] = ("    %s own;\n"):format(acc.c) end
    for _, field in ipairs(fields) do
        local text = expressions[field[2]]
        if single then
            out[#out + 1] = from:directive(text, key)
            out[#out + 1] = ("    return %s;\n"):format(text)
        else
            out[#out + 1] = from:directive(text, key, field[2])
            out[#out + 1] = ("    own.%s = %s;\n"):format(field[2], text)
        end
    end
    if not single then out[#out + 1] = "    return own;\n" end
    out[#out + 1] = "}\n"
    return table.concat(out)
end

local function result_function(from, acc, index, result, dtype, parameters)
    return ("__device__ __forceinline__ %s own_finish%d(%s a, u64 count%s)\n{\n%s    return %s;\n}\n")
        :format(dtype.value, index, acc.c, parameters,
                from:directive(result.text, table.unpack(result.keys)), result.text)
end

local function make_of(from, entry, fields, results)
    local identity = read_expressions(from, entry, "identity", fields)
    local map = read_expressions(from, entry, "map", fields)
    local combine = read_expressions(from, entry, "combine", fields)
    local two = entry.inputs == 2
    local more = entry.parameters and ", const values &given" or ""
    local passed = entry.parameters and ", given" or ""
    return function(t)
        local acc = fields[1][2] == "" and accumulator[fields[1][1]] or accumulator.struct(fields)
        local x = t.dtype.value
        local text = {}
        if entry.functions then
            text[1] = from:directive(entry.functions, "functions") .. entry.functions .. "\n"
        end
        text[#text + 1] = function_of(from, acc, fields, "own_identity()", "identity", identity)
        text[#text + 1] = function_of(from, acc, fields,
            ("own_map(%s x%s%s)"):format(x, two and ", " .. x .. " y" or "", more), "map", map)
        text[#text + 1] = function_of(from, acc, fields,
            ("own_combine(%s a, %s b%s)"):format(acc.c, acc.c, more), "combine", combine)
        local outputs = { t.result, t.second }
        for i, result in ipairs(results) do
            text[#text + 1] = result_function(from, acc, i, result, outputs[i] or t.result, more)
        end
        return {
            acc = acc,
            identity = "own_identity()",
            functions = table.concat(text, "\n"),
            map = function(a, b)
                return ("own_map(%s%s%s)"):format(a, two and ", " .. b or "", passed)
            end,
            combine = function(a, b) return ("own_combine(%s, %s%s)"):format(a, b, passed) end,
            finalize = function(a, count)
                local one = convert.store(t.result,
                                          ("own_finish1(%s, %s%s)"):format(a, count, passed))
                if #results == 1 then return one end
                return one, convert.store(t.second,
                                          ("own_finish2(%s, %s%s)"):format(a, count, passed))
            end,
        }
    end
end

-- ---- the entry ---------------------------------------------------------------------------------

local function has_rounding(fields)
    for _, field in ipairs(fields) do
        if field[1]:sub(1, 1) == "f" then return true end
    end
    return false
end

local PASSED_ON <const> = { "dtypes", "inputs", "parameters", "ignores_nan" }

-- given: what the file returns. name, text: the file's.
return function(given, name, text)
    local from = { name = name, text = text, fail = file.fail, directive = file.directive,
                   check_text = file.check_text }
    if type(given) ~= "table" then
        from:fail "it returns no table; end it with return { name = ..., ... }"
    end
    check_fields(from, given)
    check_dtypes(from, given.dtypes)
    check_parameters(from, given.parameters)
    local least, greatest = read_elements(from, given.elements)
    local entry = {
        name = given.name, formula = given.formula or given.name, least = least,
        greatest = greatest, examples = given.examples, rounds = true,
        lines = {},
    }
    for _, key in ipairs { "name", "functions", "map", "identity", "combine", "examples" } do
        entry.lines[key] = line_at(text, find_field(text, key) or find_field(text, "make") or 1)
    end
    if given.make then
        for _, key in ipairs(FIELDS) do entry[key] = entry[key] or given[key] end
        entry.combines = given.combines or "own"
        return entry
    end
    check_functions(from, given.functions)
    local fields, bytes = read_accumulator(from, given.accumulator)
    local results = read_results(from, given, fields)
    for _, key in ipairs(PASSED_ON) do entry[key] = given[key] end
    entry.combines = "own"
    entry.accumulator_bytes = bytes
    entry.rounds = has_rounding(fields)
    entry.tolerance = given.tolerance or (entry.rounds and TOLERANCE or 0)
    if #results == 1 then
        entry.result = results[1].result
    else
        entry.outputs = results
    end
    entry.make = make_of(from, given, fields, results)
    return entry
end
