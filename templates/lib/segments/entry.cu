//@ -- The entry of a kernel over segments, of which `resident` blocks are to be resident.
//@ takes given, result, block, arch, resident
//@ include("lib/entry.cu", { extents = "segments s", least = resident })
{
//@ include("lib/begin.cu", { count = "s.count" })
    reduce_all(input, s, output, scratch@{given.argument});
}
