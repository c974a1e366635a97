-- Bools: the dtype of elements of u8 of which any that is not 0 is 1 (REDTUNE_USE_BOOLS).
local dtypes = require "dtypes"

local bools = {}
for _, key in ipairs(sorted_keys(dtypes.u8)) do bools[key] = dtypes.u8[key] end
bools.truth = true

function bools.unpack(w, k)
    return ("(%s != 0 ? 1u : 0u)"):format(dtypes.u8.unpack(w, k))
end

return bools
