-- Accumulators: the types in which partial results are kept, passed between threads and published.
--   c               the CUDA type
--   declare         CUDA text that defines it; nil for a built-in one
--   shuffle(a, n)   the value of the lane n further on
--   reload(p)       the value at pointer p, past L1
--   halves          how many 32-bit pieces make one
--   half(a, i)      piece i of value a
--   join(h)         the value of the pieces h .. "0", h .. "1", ...
--   moved(a, first) value a with `first` elements before its own; of those with an index
local dtypes = require "dtypes"

local accumulator = {}

local function shuffle_scalar(a, n)
    return ("__shfl_down_sync(0xffffffff, %s, %s)"):format(a, n)
end

local function reload_scalar(p)
    return ("__ldcg(%s)"):format(p)
end

local function scalar(name, fields)
    fields.name = name
    fields.c = dtypes[name].value
    fields.dtype = dtypes[name]
    fields.shuffle, fields.reload = shuffle_scalar, reload_scalar
    accumulator[name] = fields
end

local function half64(a, i)
    return i == 0 and ("(u32)%s"):format(a) or ("(u32)((u64)%s >> 32)"):format(a)
end

scalar("i32", { halves = 1, half = function(a) return "(u32)" .. a end,
                join = function(h) return ("(int)%s0"):format(h) end })
scalar("u32", { halves = 1, half = function(a) return a end,
                join = function(h) return h .. "0" end })
scalar("f32", { halves = 1, half = function(a) return ("__float_as_uint(%s)"):format(a) end,
                join = function(h) return ("__uint_as_float(%s0)"):format(h) end })
scalar("i64", { halves = 2, half = half64,
                join = function(h) return ("(i64)((u64)%s1 << 32 | %s0)"):format(h, h) end })
scalar("u64", { halves = 2, half = half64,
                join = function(h) return ("((u64)%s1 << 32 | %s0)"):format(h, h) end })
scalar("f64", { halves = 2,
                half = function(a, i)
                    return (i == 0 and "(u32)__double2loint(%s)" or "(u32)__double2hiint(%s)")
                        :format(a)
                end,
                join = function(h)
                    return ("__hiloint2double((int)%s1, (int)%s0)"):format(h, h)
                end })

-- A key and the index of the element that has it; key is "u32" or "u64".
local function arg(key)
    local pieces = key == "u32" and 1 or 2
    return {
        name = "arg" .. key, c = "arg", key = key,
        declare = ("struct arg {\n    %s key;  // the least wins\n    u64 index;\n};"):format(key),
        shuffle = function(a, n)
            return ("arg{%s, %s}"):format(shuffle_scalar(a .. ".key", n),
                                          shuffle_scalar(a .. ".index", n))
        end,
        reload = function(p)
            return ("arg{__ldcg(&(%s)->key), __ldcg(&(%s)->index)}"):format(p, p)
        end,
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

return accumulator
