//@ -- Within a loop over the elements in front of the first load and behind the last: takes the one
//@ -- at `at`.
//@ takes op, given, indexed
//@ if indexed then
        edge = combine(edge, @{given.candidate("input + at", "origin + at")}@{given.argument});
//@ elseif op.part then
        part[0] = @{op.part.take("part[0]", given.each("input + at"))};
//@ else
        edge = combine(edge, map(@{given.read("input + at")}@{given.argument})@{given.argument});
//@ end
