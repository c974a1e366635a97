-- The algebra of an op of the user's: whether its identity changes nothing, and whether the order of
-- combining does. It is not tuned, and no plan runs it.
local family = {
    params = { { name = "block", values = { 32 } } }, -- threads per block
}

function family.default()
    return { block = 32 }
end

function family.allowed()
    return true
end

-- An element of its input is a question (kernel.cu).
function family.launch(c, p, d)
    return { threads = c.block, tile = c.block, blocks_max = d.blocks_max }
end

return family
