//@ -- The integer types of kernels, and what the accumulator, a message and the part declare.
//@ takes op, acc
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
//@ if acc.declare then
@{acc.declare}
//@ end
//@ if op.message then
@{op.message}
//@ end
//@ if op.part and op.part.declare then
@{op.part.declare}
//@ end
