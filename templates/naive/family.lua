-- The naive kernel: the op as its entry says, one element after the other, one thread per result.
-- What other families give is held against it. In the fixed order it follows docs/order.md step by
-- step. It is not tuned, and no plan runs it.
local family = {
    order = "any",
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
