//@ -- Combines the variable `value`, or a, with those of other lanes of the warp: of `lanes` lanes
//@ -- side by side, or, where that is given, of each of the lanes `least` apart. The nearest ones
//@ -- come last, or, by `neighbours`, first. `over` are loops' bounds, of many such variables;
//@ -- `when` is a condition, in which %d stands for how far the other lane is. `looped`: of variables that are
//@ -- many, a step at a time.
//@ takes acc, given, lanes, least?, looped?, neighbours?, over?, value?, when?
//@ local a = value or "a"
//@ if acc.name == "superaccumulator" and not (neighbours or over or when) then
//@     if lanes > (least or 1) then
    // Its words are many: a step at a time is less code.
#pragma unroll 1
    for (u32 step = @{lanes // 2}; step >= @{least or 1}; step /= 2) @{a} = combine(@{a}, @{acc.shuffle(a, "step")}@{given.argument});
//@     end
//@     return
//@ end
//@ if looped then
#pragma unroll 1
    for (u32 step = @{lanes // 2}; step >= @{least or 1}; step /= 2)
//@     if over then
#pragma unroll
        for (@{over}) @{a} = combine(@{a}, @{acc.shuffle(a, "step")}@{given.argument});
//@     else
        @{a} = combine(@{a}, @{acc.shuffle(a, "step")}@{given.argument});
//@     end
//@     return
//@ end
//@ for _, step in ipairs(neighbours and { 1, 2, 4, 8, 16 } or { 16, 8, 4, 2, 1 }) do
//@     if step < lanes and step >= (least or 1) then
//@         local guard = when and ("if (%s) "):format(when:format(step)) or over and ("for (%s) "):format(over) or ""
//@         if over then
#pragma unroll
//@         end
    @{guard}@{a} = combine(@{a}, @{acc.shuffle(a, step)}@{given.argument});
//@     end
//@ end
