//@ -- Within a run of lib/segments/elements.cu: the function `name`, which finds out once whether a mask is loaded as a
//@ -- whole, in front of the one that is told.
//@ takes given, name
    __device__ __forceinline__ void @{name}(SIZE tile, vector (&v)[N]@{given.parameter}) const
    {
        if (is_together(body@{given.argument}))
            @{name}_as<true>(tile, v@{given.argument});
        else
            @{name}_as<false>(tile, v@{given.argument});
    }
    template <bool TOGETHER>
