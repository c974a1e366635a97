-- A problem whose result is the op's accumulator. A family's template that is given this one in
-- place of the problem leaves what is still to be combined and finished (combine.cu); no template
-- has a line for it. problem has op, dtype, result and second; arch is the GPU architecture. message:
-- the accumulator comes with what other parts need to know of it (join.cu).
local operands = require "lib/operands"

return function(problem, arch, message)
    local op = problem.op
    local whole = operands.make(problem, arch)
    local acc, bytes = whole.acc, 2 * operands.slot_bytes(whole)
    return {
        op = {
            name = op.name, formula = "the accumulator of " .. op.formula, indexed = op.indexed,
            inputs = op.inputs, parameters = op.parameters,
            make = function(t)
                local made = operands.make(problem, t.arch)
                made.finalize = function(a) return a end
                if message then
                    made.message = operands.message(acc, bytes)
                    made.finalize = function(a, count)
                        return ("message{%s, %s, given.first}"):format(a, count)
                    end
                end
                made.found = function(x, index, count)
                    return made.finalize(("arg{key_of(%s), %s}"):format(x, index), count)
                end
                return made
            end,
        },
        dtype = problem.dtype, acc = problem.acc, layout = problem.layout,
        order = problem.order, accuracy = problem.accuracy, mask = problem.mask,
        result = message and { name = "message", c = "message", bytes = bytes }
            or { name = "accumulator", c = acc.c, bytes = acc.bytes },
        second = false, resumes = false, begins = false, counts = false, placed = message,
    }
end
