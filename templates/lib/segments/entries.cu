//@ -- The entries of a kernel over segments: of each the name, how many blocks are to be resident,
//@ -- and of which reduce_all() it is.
//@ takes given, result, block, arch, kernels
//@ for i, kernel in ipairs(kernels) do
//@     if i > 1 then

//@     end
//@ include("lib/entry.cu", { entry = kernel.name, extents = "segments s", least = kernel.resident })
{
//@ include("lib/begin.cu", { count = "s.count" })
    reduce_all@{kernel.of}(input, s, output, scratch@{given.argument});
}
//@ end
