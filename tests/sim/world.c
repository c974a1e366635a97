/* Owns the small kernels of the tests of the driver. */
#include "world.h"

static const char fill_ptx[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".global .align 8 .b8 table[16] = {1, 2, 3};\n"
    ".visible .entry fill(.param .u64 to, .param .u32 value)\n"
    "{\n.reg .b64 %d<3>; .reg .b32 %r<3>;\nld.param.u64 %d0, [to]; ld.param.u32 %r0, [value];\n"
    "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.s64 %d0, %d0, %d1;\n"
    "st.global.u32 [%d0], %r0; ret;\n}\n"
    ".visible .entry add_one(.param .u64 to)\n"
    "{\n.reg .b64 %d<2>; .reg .b32 %r<2>;\nld.param.u64 %d0, [to]; ld.global.u32 %r0, [%d0];\n"
    "add.u32 %r0, %r0, 1; st.global.u32 [%d0], %r0; ret;\n}\n"
    ".visible .entry fault()\n{\n.reg .b32 %r<2>; ld.global.u32 %r0, [16]; ret;\n}\n"
    ".visible .entry limited() .maxntid 64, 1, 1\n{\nret;\n}\n";

struct world world_start(const char *const *settings) {
    struct world world = {0};
    bench_start(settings);
    CHECK(cuModuleLoadData(&world.module, fill_ptx) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&world.fill, world.module, "fill") == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&world.add_one, world.module, "add_one") == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&world.fault, world.module, "fault") == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&world.limited, world.module, "limited") == CUDA_SUCCESS);
    world.at = bench_buffer(128, NULL);
    CHECK(cuMemsetD32_v2(world.at, 0, 32) == CUDA_SUCCESS);
    return world;
}

CUresult world_add_one(struct world *world, CUstream stream) {
    void *params[] = {&world->at};
    return cuLaunchKernel(world->add_one, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

unsigned int world_first_word(const struct world *world) {
    unsigned int word = 0;
    CHECK(cuMemcpyDtoH_v2(&word, world->at, sizeof word) == CUDA_SUCCESS);
    return word;
}
