-- Accumulators: the types in which partial results are kept, passed between threads and published.
--   c               the CUDA type
--   bytes           of one in memory; at most 32
--   declare         CUDA text that defines it; nil for a built-in one
--   shuffle(a, n)   the value of the lane n further on
--   fetch(a, n)     the value of lane n
--   reload(p)       the value at pointer p, past L1
--   copy(a)         the value a by its fields: a copy of all its bytes would read those between
--                   fields, which nobody wrote
--   halves          how many 32-bit pieces make one
--   half(a, i)      piece i of value a
--   join(h, first)  the value of the pieces h .. first, h .. first + 1, ...; first is 0 if nil
--   moved(a, first) value a with `first` elements before its own; of those with an index
--   each(of)        the value whose fields are of(name, dtype), expressions; of those with fields
--   inner           of a counted one: the accumulator that it has the number of elements beside
local dtypes = require "dtypes"

local accumulator = {}

local function shuffle_scalar(a, n)
    return ("__shfl_down_sync(0xffffffff, %s, %s)"):format(a, n)
end

local function fetch_scalar(a, n)
    return ("__shfl_sync(0xffffffff, %s, %s)"):format(a, n)
end

local function reload_scalar(p)
    return ("__ldcg(%s)"):format(p)
end

local function copy_scalar(a)
    return a
end

local function scalar(name, fields)
    fields.name = name
    fields.c = dtypes[name].value
    fields.dtype = dtypes[name]
    fields.bytes = 4 * fields.halves
    fields.shuffle, fields.fetch = shuffle_scalar, fetch_scalar
    fields.reload, fields.copy = reload_scalar, copy_scalar
    accumulator[name] = fields
end

local function half64(a, i)
    return i == 0 and ("(u32)%s"):format(a) or ("(u32)((u64)%s >> 32)"):format(a)
end

-- A join by a format that names the pieces from the last one on.
local function joined(text, halves)
    return function(h, first)
        first = first or 0
        local last = h .. first + halves - 1
        return halves == 1 and text:format(last) or text:format(last, h .. first)
    end
end

scalar("i32", { halves = 1, half = function(a) return "(u32)" .. a end,
                join = joined("(int)%s", 1) })
scalar("u32", { halves = 1, half = function(a) return a end,
                join = joined("%s", 1) })
scalar("f32", { halves = 1, half = function(a) return ("__float_as_uint(%s)"):format(a) end,
                join = joined("__uint_as_float(%s)", 1) })
scalar("i64", { halves = 2, half = half64,
                join = joined("(i64)((u64)%s << 32 | %s)", 2) })
scalar("u64", { halves = 2, half = half64,
                join = joined("((u64)%s << 32 | %s)", 2) })
scalar("f64", { halves = 2,
                half = function(a, i)
                    return (i == 0 and "(u32)__double2loint(%s)" or "(u32)__double2hiint(%s)")
                        :format(a)
                end,
                join = joined("__hiloint2double((int)%s, (int)%s)", 2) })

-- A key and the index of the element that has it; key is "u32" or "u64".
local function arg(key)
    local pieces = key == "u32" and 1 or 2
    return {
        name = "arg" .. key, c = "arg", key = key, bytes = 16,
        declare = ("struct arg {\n    %s key;  // the least wins\n    u64 index;\n};"):format(key),
        shuffle = function(a, n)
            return ("arg{%s, %s}"):format(shuffle_scalar(a .. ".key", n),
                                          shuffle_scalar(a .. ".index", n))
        end,
        reload = function(p)
            return ("arg{__ldcg(&(%s)->key), __ldcg(&(%s)->index)}"):format(p, p)
        end,
        copy = function(a) return ("arg{%s.key, %s.index}"):format(a, a) end,
        moved = function(a, first)
            return ("arg{%s.key, %s.index + (~%s.index ? %s : 0)}"):format(a, a, a, first)
        end,
        halves = pieces + 2,
        half = function(a, i)
            if i >= pieces then return half64(a .. ".index", i - pieces) end
            return accumulator[key].half(a .. ".key", i)
        end,
        join = function(h)
            local low, high = h .. pieces, h .. pieces + 1
            return ("arg{%s, (u64)%s << 32 | %s}"):format(accumulator[key].join(h), high, low)
        end,
    }
end

accumulator.arg32 = arg "u32"
accumulator.arg64 = arg "u64"

local BYTES_MAX <const> = 32

-- The bytes of such fields in memory, and their pieces: { kind, name, half } each.
local function lay_out(fields)
    local bytes, widest, pieces = 0, 4, {}
    for _, field in ipairs(fields) do
        local kind = accumulator[field[1]]
        bytes = (bytes + kind.bytes - 1) // kind.bytes * kind.bytes + kind.bytes
        widest = math.max(widest, kind.bytes)
        for i = 0, kind.halves - 1 do
            pieces[#pieces + 1] = { kind = kind, name = field[2], half = i }
        end
    end
    return (bytes + widest - 1) // widest * widest, pieces
end

-- Several fields, each { dtype, name } with the dtype i32, u32, i64, u64, f32 or f64. Its type is
-- `record`, and record{x, y} the value of the fields x and y.
function accumulator.struct(fields)
    local bytes, pieces = lay_out(fields)
    if bytes > BYTES_MAX then
        error(("an accumulator has %d bytes, and %d at most"):format(bytes, BYTES_MAX), 2)
    end
    local function each(of)
        local values = {}
        for i, field in ipairs(fields) do values[i] = of(field[2], dtypes[field[1]]) end
        return "record{" .. table.concat(values, ", ") .. "}"
    end
    local members = {}
    for i, field in ipairs(fields) do
        members[i] = ("    %s %s;\n"):format(dtypes[field[1]].value, field[2])
    end
    return {
        name = "struct", c = "record", bytes = bytes, each = each, fields = fields,
        declare = "struct record {\n" .. table.concat(members) .. "};",
        shuffle = function(a, n)
            return each(function(name) return shuffle_scalar(a .. "." .. name, n) end)
        end,
        fetch = function(a, n)
            return each(function(name) return fetch_scalar(a .. "." .. name, n) end)
        end,
        copy = function(a) return each(function(name) return a .. "." .. name end) end,
        reload = function(p)
            return each(function(name) return ("__ldcg(&(%s)->%s)"):format(p, name) end)
        end,
        halves = #pieces,
        half = function(a, i)
            local piece = pieces[i + 1]
            return piece.kind.half(a .. "." .. piece.name, piece.half)
        end,
        join = function(h, first)
            first = first or 0
            return each(function(_, dtype)
                local kind, at = accumulator[dtype.name], first
                first = first + kind.halves
                return kind.join(h, at)
            end)
        end,
    }
end

-- An accumulator, a scalar or a struct, and how many elements it is made of.
function accumulator.counted(inner)
    local number = accumulator.u64
    local function of(part)
        return function(a, n)
            return ("counted{%s, %s}"):format(inner[part](a .. ".of", n), number[part](a .. ".present", n))
        end
    end
    return {
        name = "counted", c = "counted", inner = inner, bytes = (inner.bytes + 7) // 8 * 8 + 8, fields = inner.fields or {},
        declare = (inner.declare and inner.declare .. "\n" or "")
            .. ("struct counted {\n    %s of;\n    u64 present;\n};"):format(inner.c),
        shuffle = of "shuffle", fetch = of "fetch", copy = of "copy",
        reload = function(p)
            return ("counted{%s, __ldcg(&(%s)->present)}"):format(inner.reload(("&(%s)->of"):format(p)), p)
        end,
        halves = inner.halves + number.halves,
        half = function(a, i)
            if i >= inner.halves then return number.half(a .. ".present", i - inner.halves) end
            return inner.half(a .. ".of", i)
        end,
        join = function(h, first)
            first = first or 0
            return ("counted{%s, %s}"):format(inner.join(h, first), number.join(h, first + inner.halves))
        end,
    }
end

return accumulator
