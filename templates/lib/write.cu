//@ -- The results of an accumulator, where they are more than one value to write.
//@ takes op, given, result, second
//@ if given.second then
// Where the second result goes whose first goes there.
__device__ __forceinline__ @{second.c} *second_result(@{result.c} *output, const values &given)
{
    return given.second_output + (output - given.first_output);
}

//@ end
//@ if given.second or given.resumes then
__device__ __forceinline__ void write(@{result.c} *output, accumulator a, u64 count,
                                      const values &given)
{
//@     if given.second then
    @{second.c} *other = second_result(output, given);
//@     end
//@     if given.resumes then
    if (given.goes_on) {
//@         if given.begins then
        const @{result.word.c} initial = *(const @{result.word.c} *)&given.initial;
        const @{result.word.c} word = given.goes_on == 1 ? (@{result.word.c})*output : initial;
//@         else
        const @{result.word.c} word = (@{result.word.c})*output;
//@         end
        const @{result.value} held = @{result.unpack("word", 0)};
//@         if given.second then
        const @{second.word.c} other_word = (@{second.word.c})*other;
        const @{second.value} other_held = @{second.unpack("other_word", 0)};
//@         end
        a = combine(@{op.resume("held", given.second and "other_held")}, a, given);
    }
//@     end
//@     local first_value, other_value = op.finalize("a", "count")
    *output = @{first_value};
//@     if given.second then
    *other = @{other_value};
//@     end
}

//@ end
