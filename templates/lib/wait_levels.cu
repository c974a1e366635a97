//@ -- Value number `turn` of a run meets those that wait: one of 2^k values waits for its neighbour
//@ -- in `level[k]`, up to k = `top`, which holds the whole run. Straight on, so that levels are
//@ -- registers: compilers put an array into memory that a loop with a break goes through.
//@ takes given, each?, top, turn, value
            do {
//@ for k = 0, top - 1 do
                if ((@{turn} >> @{k} & 1) == 0) {
                    level[@{k}]@{each or ""} = @{value};
                    break;
                }
                @{value} = combine(level[@{k}]@{each or ""}, @{value}@{given.argument});
//@ end
                level[@{top}]@{each or ""} = @{value};
            } while (false);
