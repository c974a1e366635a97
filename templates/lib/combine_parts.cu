//@ -- The end of a function: what a thread has in its parts becomes one accumulator, with what it
//@ -- has in its edge, unless parts took that up, too. Of an indexed op the family knows where its
//@ -- loads were.
//@ takes op, given, layout, parts
//@ if op.fold then
//@     for j = 0, parts - 1 do
//@         local lane = "part[" .. j .. "]"
    @{lane} = @{op.fold(lane, layout.per_word)};
//@     end
//@ end
//@ local name = op.part and "whole" or "part"
//@ if op.part then
    accumulator whole[LANES];
#pragma unroll
    for (u32 j = 0; j < LANES; j++) whole[j] = @{given.widen("part[j]")};
//@ end
//@ include("lib/fold_halves.cu", { array = name, many = parts })
//@ if op.part then
    return whole[0];
//@ else
    return combine(part[0], edge@{given.argument});
//@ end
