/* Driver: the CUDA driver, loaded at run time, as a table of its functions. */
#define _GNU_SOURCE
#include "gpu/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/library.h"

static const char *const driver_names[] = {"libcuda.so.1", NULL};
static const rdt_library_search driver_search = {
    .subject = "the CUDA driver",
    .variable = "REDTUNE_CUDA_DRIVER",
    .names = driver_names,
    .toolkit = true,
    .remedy = "install NVIDIA's driver, or name its file in REDTUNE_CUDA_DRIVER",
};

static const char *const sim_names[] = {"libredtune-sim.so", NULL};
static const rdt_library_search sim_search = {
    .subject = "the simulated GPU",
    .variable = "REDTUNE_SIM",
    .names = sim_names,
    .remedy = "build redtune with its sim folder, or name the file in REDTUNE_SIM",
};

static const rdt_library_symbol symbols[] = {
#define ENTRY(field, symbol, type) {#symbol, offsetof(rdt_driver, field), false},
    RDT_DRIVER_LIST(ENTRY)
#undef ENTRY
#define ENTRY(field, symbol, type) {#symbol, offsetof(rdt_driver, field), true},
        RDT_DRIVER_OPTIONAL_LIST(ENTRY)
#undef ENTRY
};

/* The macros of cuda.h must not have renamed what the table asks for. */
_Static_assert(sizeof symbols / sizeof *symbols > 40, "the driver table is complete");

bool rdt_driver_is_simulated(const char *device) { return device && !strcmp(device, "sim"); }

/* Whether the program is linked with the simulated GPU in libcuda's place, so that its contexts are
 * of that one. A simulated GPU that was loaded, not linked, offers its functions to nobody else. */
static bool is_linked_with_simulator(void) {
    return dlsym(RTLD_DEFAULT, "redtune_sim_calls") != NULL && !getenv(driver_search.variable);
}

redtune_status rdt_driver_open(bool simulated, rdt_driver **out, redtune_error *err) {
    rdt_driver *driver = calloc(1, sizeof *driver);
    if (!driver) return rdt_fail_memory(err, sizeof *driver);
    const rdt_library_search *search =
        simulated || is_linked_with_simulator() ? &sim_search : &driver_search;
    redtune_status status = rdt_library_open(search, &driver->library, err);
    if (!status)
        status = rdt_library_bind(driver->library, symbols, sizeof symbols / sizeof *symbols,
                                  driver, err);
    if (!status) {
        CUresult rc = driver->init(0);
        if (rc == CUDA_ERROR_NOT_INITIALIZED)
            status = rdt_fail(err, REDTUNE_DEVICE, rc,
                              "cannot start the CUDA driver %s: the process was forked after CUDA "
                              "was started; start CUDA after fork() only, or exec() a new program",
                              rdt_driver_path(driver));
        else if (rc == CUDA_ERROR_NO_DEVICE)
            status =
                rdt_fail(err, REDTUNE_DEVICE, rc,
                         "cannot find a GPU: the CUDA driver %s sees none; check nvidia-smi and "
                         "CUDA_VISIBLE_DEVICES",
                         rdt_driver_path(driver));
        else
            status = rdt_driver_check(driver, rc, err, "start the CUDA driver %s",
                                      rdt_driver_path(driver));
    }
    if (!status)
        status = rdt_driver_check(driver, driver->driver_get_version(&driver->version), err,
                                  "ask for the driver's version");
    if (status) {
        rdt_driver_close(driver);
        return status;
    }
    *out = driver;
    return REDTUNE_OK;
}

void rdt_driver_close(rdt_driver *driver) {
    if (!driver) return;
    rdt_library_close(driver->library);
    free(driver);
}

const char *rdt_driver_path(const rdt_driver *driver) { return rdt_library_path(driver->library); }

redtune_status rdt_driver_check(const rdt_driver *driver, CUresult rc, redtune_error *err,
                                const char *what, ...) {
    if (rc == CUDA_SUCCESS) return REDTUNE_OK;
    const char *name = NULL, *words = NULL;
    driver->get_error_name(rc, &name);
    driver->get_error_string(rc, &words);
    char action[512];
    va_list args;
    va_start(args, what);
    vsnprintf(action, sizeof action, what, args);
    va_end(args);
    return rdt_fail(err, REDTUNE_DEVICE, (long)rc, "cannot %s: %s (%s)", action,
                    words ? words : "an unknown error", name ? name : "no name");
}
