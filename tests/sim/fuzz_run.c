/* The fuzz target of the interpreter: what decodes is run for a short while, on little memory. */
#include "exec/run.h"

#include <stdlib.h>

enum { ROWS_MAX = 2048, PARAM_BYTES_MAX = 32768, INSTRUCTIONS_MAX = 20000, IDLE_MAX = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void run(const sim_program *program, sim_memory *memory, uint64_t address) {
    static unsigned char params[PARAM_BYTES_MAX];
    sim_settings settings = {.machine = sim_machine_default,
                             .seed = 1,
                             .checks = UINT32_MAX,
                             .limit_instructions = INSTRUCTIONS_MAX,
                             .limit_idle = IDLE_MAX};
    sim_launch launch = {.program = program,
                         .grid = {2, 1, 1},
                         .block = {48, 1, 1},
                         .dynamic_bytes = 64,
                         .params = params};
    sim_grid grid = {.launch = &launch, .settings = &settings, .memory = memory};
    settings.machine.sm_count = 1;
    for (uint32_t i = 0; i + 8 <= program->param_bytes; i += 8) {
        for (int byte = 0; byte < 8; byte++) params[i + byte] = address >> 8 * byte & 0xff;
    }
    sim_grid_run(&grid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    sim_ast ast;
    sim_problem problem;
    sim_memory memory = {0};
    sim_alloc *alloc = sim_memory_get(&memory, 1000, SIM_OWNER_DEVICE);
    bool good = alloc && sim_parse((const char *)data, bytes, &ast, &problem);
    if (!alloc) return 0;
    sim_shadow_put(alloc, 0, 500);
    uint64_t *addresses = calloc(ast.variables.count + 1u, sizeof *addresses);
    for (uint32_t i = 0; good && addresses && i < ast.functions.count; i++) {
        sim_program program;
        good = sim_decode(&ast, i, addresses, &program, &problem);
        bool is_small = good && program.row_count <= ROWS_MAX && program.local_bytes <= 1024 &&
                        program.predicate_count <= ROWS_MAX && program.shared_bytes <= 65536;
        if (is_small) run(&program, &memory, alloc->address);
    }
    free(addresses);
    sim_parse_free(&ast);
    sim_memory_free_all(&memory);
    return 0;
}
