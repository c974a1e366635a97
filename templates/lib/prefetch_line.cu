//@ -- Asks for the line at the address `place` to be brought into L2, and for that of a second
//@ -- input: `first` is the address that `second` is for. `each` stands before each.
//@ takes given, each?, first, place
        @{each or ""}asm volatile("prefetch.global.L2 [%0];" : : "l"(@{place}));
//@ if given.masked then
        @{each or ""}asm volatile("prefetch.global.L2 [%0];" : : "l"(second + (@{place} - @{first}) / sizeof(element)));
//@ elseif given.inputs > 1 then
        @{each or ""}asm volatile("prefetch.global.L2 [%0];" : : "l"(@{place} + second - @{first}));
//@ end
