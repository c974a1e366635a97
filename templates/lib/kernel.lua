-- Kernel: what the kernels of all families begin with, as their pieces take it.
local loads, operands = require "lib/load", require "lib/operands"

local kernel = {}

-- tiles: as for operands.of.

-- Of a template's environment, of loads of vec elements: the op as its entry makes it, with the
-- entry's name and formula; what the kernel is given (lib/operands.lua); the accumulator; whether the
-- op finds an index; how a load's elements lie in registers; and how many parts a thread takes them into.
function kernel.of(problem, vec, tiles)
    local given, layout = operands.of(problem, nil, tiles), loads.layout(problem.dtype, vec)
    local op = given.made
    op.name, op.formula = problem.op.name, problem.op.formula
    return op, given, op.acc, problem.op.indexed or false, layout, given.parts(layout, vec)
end

-- The same of a kernel in which a load's elements are of different results, so that none of them are combined
-- before they are taken: there are as many parts as elements.
function kernel.of_several(problem, vec, tiles)
    local op, given, acc, indexed, layout = kernel.of(problem, vec, tiles)
    op.narrow, op.word = nil, nil
    return op, given, acc, indexed, layout, vec
end

-- The same of a kernel of the fixed order, whose loads are of 16 bytes: the last one is how many elements these are.
function kernel.of_order(problem)
    local vec = 16 // problem.dtype.bytes
    local op, given, acc, _, layout = kernel.of(problem, vec)
    return op, given, acc, layout, vec
end

-- Of a power of two.
function kernel.log2(n)
    return math.floor(math.log(n, 2) + 0.5)
end

return kernel
