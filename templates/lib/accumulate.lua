-- A problem whose result is the op's accumulator. A family's template that is given this one in
-- place of the problem leaves what is still to be combined and finished (combine.cu); no template
-- has a line for it. problem has op, dtype and result; arch is the GPU architecture.
return function(problem, arch)
    local op, dtype, result = problem.op, problem.dtype, problem.result
    local function make(t)
        local made = op.make { dtype = t.dtype, result = result, arch = t.arch }
        made.finalize = function(a) return a end
        return made
    end
    local acc = make { dtype = dtype, arch = arch }.acc
    return {
        op = {
            name = op.name, formula = "the accumulator of " .. op.formula, indexed = op.indexed,
            make = make,
        },
        dtype = dtype, acc = problem.acc, result = { name = "accumulator", c = acc.c },
    }
end
