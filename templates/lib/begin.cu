//@ -- What an entry begins with, before it reads or writes. `count` is the number of elements of a
//@ -- result, where the kernel has it. `prefetch`: of a kernel that prefetches, the number of
//@ -- elements of its input, and the call without its last argument, after a blank or a new line.
//@ -- The kernel's hash, by which its measurements are found, includes which of these two it is.
//@ takes given, arch, count, prefetch?
//@ if arch >= 90 then
    // The next kernel may be launched from now on, and this one may have been launched before the
    // one before it ended: nothing is read or written until that one is over.
    asm volatile("griddepcontrol.launch_dependents;");
//@     if prefetch then
    // A larger input gains nothing, or loses by competing with the one still being read.
    if (overlaps && @{prefetch[1]} <= AHEAD_BYTES / sizeof(element))@{prefetch[2]}@{given.inputs > 1 and ", rest.input" or ""});
//@     end
    asm volatile("griddepcontrol.wait;" : : : "memory");
//@ end
//@ for _, line in ipairs(given.begin("input", count, "output")) do
    @{line}
//@ end
