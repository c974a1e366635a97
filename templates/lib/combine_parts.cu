//@ -- The end of a function: what a thread has in its parts and in its edge becomes one accumulator.
//@ -- Of an indexed op the family knows where its loads were.
//@ if op.fold then
//@     for j = 0, parts - 1 do
//@         local lane = "part[" .. j .. "]"
    @{lane} = @{op.fold(lane, layout.per_word)};
//@     end
//@ end
//@ local width = parts
//@ while width > 1 do
//@     width = width // 2
//@     for j = 0, width - 1 do
    part[@{j}] = combine(part[@{j}], part[@{j + width}]);
//@     end
//@ end
    return combine(part[0], edge);
