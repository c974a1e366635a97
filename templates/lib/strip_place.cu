//@ -- Within a loop over strips: how many columns the strip `at` has, where its elements are, and
//@ -- where its results go.
//@ takes result
        const u32 columns = at.columns;
        const element *from = input + at.outer * e.outer_step + at.first;
        @{result.c} *to = output + at.outer * e.inner + at.first;
