/* Wrong kernels: CUDA sources with a fault, which the tests of the evaluator put in a kernel's
 * place. */
#pragma once

/* Max, but for NaNs, which it passes over: a fault that numbers alone do not show. */
static const char forgetful[] =
    "extern \"C\" __global__ void redtune_reduce(const float *input, unsigned long long count,\n"
    "                                          float *output, void *scratch) {\n"
    "    float most = -__int_as_float(0x7f800000);\n"
    "    if (threadIdx.x || blockIdx.x) return;\n"
    "    for (unsigned long long i = 0; i < count; i++) most = fmaxf(most, input[i]);\n"
    "    *output = most;\n"
    "}\n";

/* Zero, also in place of what it was given. */
static const char destructive[] =
    "extern \"C\" __global__ void redtune_reduce(float *input, unsigned long long count,\n"
    "                                          float *output, void *scratch) {\n"
    "    if (threadIdx.x || blockIdx.x) return;\n"
    "    for (unsigned long long i = 0; i < count; i++) input[i] = 0;\n"
    "    *output = 0;\n"
    "}\n";

/* Max of its input and, where that is long, of what its macro OUTSIDE names: the element before it
 * (where there is one), or the one behind it. Among so many others one more hardly ever shows. */
#define PEEPING(outside)                                                                           \
    "extern \"C\" __global__ void redtune_reduce(const float *input, unsigned long long count,\n"  \
    "                                          float *output, void *scratch) {\n"                  \
    "    float most = -__int_as_float(0x7f800000);\n"                                              \
    "    if (threadIdx.x || blockIdx.x) return;\n"                                                 \
    "    for (unsigned long long i = 0; i < count; i++)\n"                                         \
    "        if (!(most >= input[i]) && most == most) most = input[i];\n"                          \
    "    if (count > 1000 && " outside " > most) most = " outside ";\n"                            \
    "    *output = most;\n"                                                                        \
    "}\n"
static const char peeping_before[] = PEEPING("input[(unsigned long long)input % 256 ? -1 : 0]");
static const char peeping_behind[] = PEEPING("input[count]");

/* Max, and a word behind it. */
static const char spilling[] =
    "extern \"C\" __global__ void redtune_reduce(const float *input, unsigned long long count,\n"
    "                                          float *output, void *scratch) {\n"
    "    float most = -__int_as_float(0x7f800000);\n"
    "    if (threadIdx.x || blockIdx.x) return;\n"
    "    for (unsigned long long i = 0; i < count; i++)\n"
    "        if (!(most >= input[i]) && most == most) most = input[i];\n"
    "    output[0] = most;\n"
    "    output[1] = 0;\n"
    "}\n";

/* Max; in calls that overlap the one before it destroys what it was given. */
static const char wrecking[] =
    "extern \"C\" __global__ void redtune_reduce(float *input, unsigned long long count,\n"
    "                              float *output, void *scratch, unsigned overlaps) {\n"
    "    float most = -__int_as_float(0x7f800000);\n"
    "    if (threadIdx.x || blockIdx.x) return;\n"
    "    for (unsigned long long i = 0; i < count; i++)\n"
    "        if (!(most >= input[i]) && most == most) most = input[i];\n"
    "    for (unsigned long long i = 0; overlaps && i < count; i++) input[i] = 1000;\n"
    "    *output = most;\n"
    "}\n";

/* The root of the sum of squares, but in calls that overlap the one before: nothing else shows it.
 * Where sums of floats are not exact any more it gives what it likes, each time the same. */
static const char hasty[] =
    "extern \"C\" __global__ void redtune_reduce(const float *input, unsigned long long count,\n"
    "                              float *output, void *scratch, unsigned overlaps) {\n"
    "    float sum = 0;\n"
    "    if (threadIdx.x || blockIdx.x) return;\n"
    "    for (unsigned long long i = 0; i < count && count < 200000; i++)\n"
    "        sum += input[i] * input[i];\n"
    "    *output = sqrtf(sum) + overlaps;\n"
    "}\n";
