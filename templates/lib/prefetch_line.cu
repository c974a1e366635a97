//@ -- Asks for the line at the address `place` to be brought into L2, and for that of a second
//@ -- input: `first` is the address that `second` is for. `each` stands before each.
//@ takes given, each?, first, place
        @{each or ""}asm volatile("prefetch.global.L2 [%0];" : : "l"(@{place}));
//@ if given.masked then
        @{each or ""}asm volatile("prefetch.global.L2 [%0];" : : "l"(@{given.bits and "(" or ""}second + (@{place} - @{first}) / sizeof(element)@{given.bits and ") / 8" or ""}));
//@ elseif given.inputs > 1 then
        @{each or ""}asm volatile("prefetch.global.L2 [%0];" : : "l"(@{place} + second - @{first}));
//@ end
