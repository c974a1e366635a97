/* Module: modules: PTX text to programs, and the variables that belong to it. */
#include "driver/entry.h"
#include "driver/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PTX_VERSION_MAX = 99, BINARY_VERSION = 90, DYNAMIC_BYTES_DEFAULT = 48 * 1024 };

/* Gives the module's variables in global memory their addresses and initial values. Constants
 * live there too. */
static CUresult place_variables(struct CUmod_st *module) {
    uint32_t count = module->ast.variables.count;
    module->addresses = calloc(count + 1, sizeof *module->addresses);
    if (!module->addresses) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const sim_variable *variable = SIM_ITEM(&module->ast.variables, sim_variable, i);
        bool is_placed = variable->space == SIM_SPACE_GLOBAL || variable->space == SIM_SPACE_CONST;
        if (!is_placed) continue;
        sim_alloc *alloc =
            sim_memory_get(&sim_state.memory, variable->size_bytes, SIM_OWNER_MODULE);
        if (!alloc) return CUDA_ERROR_OUT_OF_MEMORY;
        alloc->context = module->handle.context;
        module->addresses[i] = alloc->address;
        if (variable->initial) memcpy(alloc->host, variable->initial, variable->size_bytes);
        /* A variable without a value starts at zero, so all of it counts as written. */
        if (!sim_shadow_put(alloc, 0, variable->size_bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static CUresult decode_functions(struct CUmod_st *module, sim_problem *problem) {
    uint32_t count = module->ast.functions.count;
    module->functions = calloc(count + 1, sizeof *module->functions);
    if (!module->functions) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const sim_function *parsed = SIM_ITEM(&module->ast.functions, sim_function, i);
        if (!parsed->statements.count) continue; /* only declared */
        struct CUfunc_st *function = calloc(1, sizeof *function);
        if (!function) return CUDA_ERROR_OUT_OF_MEMORY;
        module->functions[module->function_count++] = function;
        function->module = module;
        function->dynamic_bytes_max = DYNAMIC_BYTES_DEFAULT;
        function->handle.context = module->handle.context;
        sim_state_handle_put(&function->handle, SIM_HANDLE_FUNCTION);
        if (!sim_decode(&module->ast, i, module->addresses, &function->program, problem)) {
            return CUDA_ERROR_INVALID_PTX;
        }
    }
    return CUDA_SUCCESS;
}

void sim_module_retain(struct CUmod_st *module) { module->references++; }

void sim_module_release(struct CUmod_st *module) {
    if (--module->references) return;
    for (uint32_t i = 0; i < module->function_count; i++) {
        sim_state_handle_drop(&module->functions[i]->handle);
        free(module->functions[i]);
    }
    for (uint32_t i = 0; module->addresses && i < module->ast.variables.count; i++) {
        sim_alloc *alloc =
            module->addresses[i] ? sim_memory_at(&sim_state.memory, module->addresses[i]) : NULL;
        if (alloc) sim_memory_free(&sim_state.memory, alloc);
    }
    sim_state_handle_drop(&module->handle);
    free(module->functions);
    free(module->addresses);
    sim_parse_free(&module->ast);
    free(module);
}

void sim_module_unload(struct CUmod_st *module) {
    sim_state_handle_drop(&module->handle); /* its handle ends now; graphs may keep the rest */
    module->is_unloaded = true;
    sim_module_release(module);
}

static void note(char *log, size_t log_bytes, const sim_problem *problem) {
    if (!log || !log_bytes) return;
    if (problem->line) {
        snprintf(log, log_bytes, "ptx, line %u; error   : %s", problem->line, problem->text);
    } else {
        snprintf(log, log_bytes, "ptx; error   : %s", problem->text);
    }
}

/* Machine code and archives of it begin with these; the simulator runs neither. */
static bool is_binary(const unsigned char *image) {
    static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'};
    static const unsigned char fat[4] = {0x50, 0xed, 0x55, 0xba};
    bool is_elf = image[0] == elf[0] && image[1] == elf[1] && image[2] == elf[2];
    return is_elf || (image[0] == fat[0] && image[1] == fat[1] && image[2] == fat[2]);
}

static CUresult build(struct CUmod_st *module, const char *text, sim_problem *problem) {
    uint32_t capability = sim_state.config.settings.machine.capability;
    if (!sim_parse(text, strlen(text), &module->ast, problem)) return CUDA_ERROR_INVALID_PTX;
    if (module->ast.version > PTX_VERSION_MAX) {
        snprintf(problem->text, sizeof problem->text, "unsupported PTX version %u.%u",
                 module->ast.version / 10, module->ast.version % 10);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (module->ast.target > capability) {
        snprintf(problem->text, sizeof problem->text, "made for sm_%u, and the device is sm_%u",
                 module->ast.target, capability);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    CUresult rc = place_variables(module);
    return rc == CUDA_SUCCESS ? decode_functions(module, problem) : rc;
}

static CUresult load(CUmodule *out, const void *image, char *log, size_t log_bytes) {
    sim_problem problem = {0};
    if (!out || !image) return CUDA_ERROR_INVALID_VALUE;
    if (is_binary(image)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    struct CUmod_st *module = calloc(1, sizeof *module);
    if (!module) return CUDA_ERROR_OUT_OF_MEMORY;
    module->references = 1;
    module->handle.context = sim_context_current();
    sim_state_handle_put(&module->handle, SIM_HANDLE_MODULE);
    CUresult rc = build(module, image, &problem);
    if (rc == CUDA_SUCCESS) {
        *out = module;
        return rc;
    }
    note(log, log_bytes, &problem);
    if (problem.text[0]) {
        sim_report_misuse(rc, "cannot load a module: PTX line %u: %s", problem.line, problem.text);
    }
    sim_module_release(module);
    return rc;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image) {
    SIM_ENTRY(load(out, image, NULL, 0));
}

static CUresult load_with_options(CUmodule *out, const void *image, unsigned int count,
                                  CUjit_option *options, void **values) {
    char *log = NULL;
    size_t log_bytes = 0;
    if (count && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) log_bytes = (size_t)values[i];
        if (options[i] == CU_JIT_INFO_LOG_BUFFER && values[i]) *(char *)values[i] = '\0';
    }
    if (log && log_bytes) *log = '\0';
    return load(out, image, log, log_bytes);
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int count,
                            CUjit_option *options, void **values) {
    SIM_ENTRY(load_with_options(out, image, count, options, values));
}

static CUresult unload(CUmodule module) {
    if (!sim_state_handle_is(module, SIM_HANDLE_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    sim_late_run();
    sim_module_unload(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) { SIM_ENTRY(unload(module)); }

static CUresult get_function(CUfunction *out, CUmodule module, const char *name) {
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_state_handle_is(module, SIM_HANDLE_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (strcmp(module->functions[i]->program.name, name) != 0) continue;
        *out = module->functions[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
    SIM_ENTRY(get_function(out, module, name));
}

static CUresult get_global(CUdeviceptr *out, size_t *bytes, CUmodule module, const char *name) {
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_state_handle_is(module, SIM_HANDLE_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    for (uint32_t i = 0; i < module->ast.variables.count; i++) {
        const sim_variable *variable = SIM_ITEM(&module->ast.variables, sim_variable, i);
        if (!module->addresses[i] || strcmp(variable->name, name) != 0) continue;
        if (out) *out = module->addresses[i];
        if (bytes) *bytes = variable->size_bytes;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule module, const char *name) {
    SIM_ENTRY(get_global(out, bytes, module, name));
}

static CUresult get_attribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (!sim_state_handle_is(function, SIM_HANDLE_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    const sim_program *program = &function->program;
    switch ((int)attribute) { /* CUDA has others */
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)program->max_threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)program->shared_named_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)program->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = program->register_count > 255 ? 255 : (int)program->register_count;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = (int)function->module->ast.target; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = BINARY_VERSION; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)function->dynamic_bytes_max;
        break;
    default: *value = 0; break;
    }
    return attribute < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    SIM_ENTRY(get_attribute(value, attribute, function));
}

static CUresult set_attribute(CUfunction function, CUfunction_attribute attribute, int value) {
    const sim_machine *machine = &sim_state.config.settings.machine;
    if (!sim_state_handle_is(function, SIM_HANDLE_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return CUDA_SUCCESS;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint32_t most = machine->sm_shared_bytes - 1024 - function->program.shared_named_bytes;
    if (value < 0 || (uint32_t)value > most) return CUDA_ERROR_INVALID_VALUE;
    function->dynamic_bytes_max = (uint32_t)value;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    SIM_ENTRY(set_attribute(function, attribute, value));
}
