/* The fuzz target of the front end: any bytes are parsed and decoded, or refused. */
#include "exec/program.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    sim_ast ast;
    sim_problem problem;
    bool good = sim_parse((const char *)data, bytes, &ast, &problem);
    uint64_t *addresses = calloc(ast.variables.count + 1u, sizeof *addresses);
    for (uint32_t i = 0; good && addresses && i < ast.functions.count; i++) {
        sim_program program;
        good = sim_decode(&ast, i, addresses, &program, &problem);
    }
    free(addresses);
    sim_parse_free(&ast);
    return 0;
}
