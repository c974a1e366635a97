//@ -- What a kernel is given beside the usual operands (lib/operands.lua); nothing in most kernels.
//@ takes given, result, second
//@ if given.kernel ~= "" then
// As model/launch.h has it.
struct arguments {
    u64 input, output;
    double scalar[2];
    u64 scalars, count, resumes@{given.pairs and ", first, mask" or given.placed and ", first" or ""};
};

static_assert(sizeof(arguments) == @{given.pairs and 72 or given.placed and 64 or 56}, "");

//@ end
//@ if given.counts then
__device__ __forceinline__ u64 least_count(const arguments &rest, u64 count)
{
    if (rest.count == 0) return count;
    const u64 least = *(const u64 *)rest.count;
    return least < count ? least : count;
}

//@ end
//@ if given.has_values then
struct values {
//@     for _, name in ipairs(given.names) do
    double @{name};  // a parameter of the op
//@     end
//@     if given.inputs > 1 then
    u64 to_second;  // from an element of the first input to that of the second, in bytes
//@     end
//@     if given.listed then
    u64 masks;  // a table: of where each array's mask begins
//@     end
//@     if given.pairs then
    u64 mask;  // @{given.flat and "from an element's address over its size to the mask's byte or bit" or "of the first elements: the address of its byte, or the number of its bit"}
//@     end
//@     if given.second then
    @{result.c} *first_output;
    @{second.c} *second_output;
//@     end
//@     if given.resumes then
//@         if given.begins then
    u64 goes_on;  // 1: from what the output holds, 2: from the value of these bits
    u64 initial;
//@         else
    bool goes_on;  // from what the output holds
//@         end
//@     end
//@     if given.placed then
    u64 first;  // the index of the part's first element
//@     end
};

//@     if given.inputs > 1 then
//@         if given.masked then
// The byte of an element.
__device__ __forceinline__ const unsigned char *second_of(const element *first, const values &given)
{
    return (const unsigned char *)(@{given.other_at("(u64)first")});
}
//@         else
// Where the second input's element is that lies as that one of the first.
template <typename T>
__device__ __forceinline__ const T *second_of(const T *first, const values &given)
{
    return (const T *)((u64)first + given.to_second);
}
//@         end

//@     end
__device__ __forceinline__ values values_of(const arguments &rest, const void *input,
                                            @{result.c} *output)
{
    values given;
//@     for i, name in ipairs(given.names) do
    given.@{name} = rest.scalars ? ((const double *)rest.scalars)[@{i - 1}] : rest.scalar[@{i - 1}];
//@     end
//@     if given.inputs > 1 then
    given.to_second = rest.input - (u64)input@{given.masked and " / sizeof(element)" or ""};
//@     end
//@     if given.listed then
    given.masks = rest.input;
//@     end
//@     if given.pairs then
    given.mask = rest.mask@{given.flat and " - (u64)input / sizeof(element)" or ""};
//@     end
//@     if given.second then
    given.first_output = output;
    given.second_output = (@{second.c} *)rest.output;
//@     end
//@     if given.resumes then
//@         if given.begins then
    given.goes_on = rest.resumes;
    given.initial = (u64)__double_as_longlong(rest.scalar[0]);
//@         else
    given.goes_on = rest.resumes != 0;
//@         end
//@     end
//@     if given.placed then
    given.first = rest.first;
//@     end
    return given;
}

//@ end
