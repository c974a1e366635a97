//@ -- How a kernel begins: the types of what it reads, computes and combines, and what it is given.
//@ takes op, acc, given, result, second, dtype, block
//@ include "lib/types.cu"
typedef @{dtype.c} element;  // in memory
typedef @{dtype.value} value;  // in registers
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
constexpr u32 BLOCK = @{block};  // threads per block
