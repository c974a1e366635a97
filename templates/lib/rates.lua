-- Rates: how fast GPUs compute, by their architecture.
local rates = {}

local F64_AT_HALF <const> = { [60] = true, [70] = true, [80] = true, [90] = true, [100] = true }

-- Whether a GPU adds numbers of f64 at half the rate of f32; others do at a 32nd of it, or less.
function rates.adds_f64(arch) return F64_AT_HALF[arch] or false end

return rates
