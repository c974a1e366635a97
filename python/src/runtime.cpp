// Runtime: the libraries that are open, one for each GPU, and the settings that they open with.
//
// A library stays open until the program ends, since plans and captured graphs need it. New
// settings, and a tune, begin a new generation: those open so far serve what was made with them.
#include "runtime.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>

#include "torch_calls.h"

namespace {

enum { NO_DEVICE = 100 }; // CUDA_ERROR_NO_DEVICE

using text = std::optional<std::string>;

struct settings {
    std::string host = "0"; // the device of arrays of the host
    text database, machine, record, ops, worker;
    bool background = false;
    int trust = REDTUNE_TRUST_VERIFIED;
    double verify_s = 0;
    int order = REDTUNE_ORDER_FREE;
};

settings chosen;
std::vector<redtune *> open_now; // by device, from HOST_DEVICE on; NULL: not open
std::vector<redtune *> retired;  // of earlier generations

const char *pointer(const text &value) { return value ? value->c_str() : nullptr; }

redtune *open_device(int device, bool background) {
    const std::string name = device == HOST_DEVICE ? chosen.host : std::to_string(device);
    redtune_options options = {};
    options.device = name.c_str();
    options.database = pointer(chosen.database);
    options.machine = pointer(chosen.machine);
    options.background = background;
    options.trust = static_cast<redtune_trust>(chosen.trust);
    options.verify_s = chosen.verify_s;
    options.worker = pointer(chosen.worker);
    options.record = pointer(chosen.record);
    options.ops = pointer(chosen.ops);
    options.order = static_cast<redtune_order>(chosen.order);
    redtune *rt = nullptr;
    redtune_error err;
    const redtune_status status = redtune_open(&options, &rt, &err);
    if ((status == REDTUNE_LIBRARY || (status == REDTUNE_DEVICE && err.code == NO_DEVICE)) &&
        name != "sim") {
        const size_t length = strlen(err.message);
        snprintf(err.message + length, sizeof err.message - length,
                 "; or use the simulated GPU: redtune.configure(device=\"sim\")");
    }
    check(status, err);
    return rt;
}

void begin_generation() {
    for (redtune *rt : open_now)
        if (rt) retired.push_back(rt);
    open_now.clear();
}

void configure(const std::string &device, text database, text machine, text record, text ops,
               text worker, bool background, int trust, double verify_s, int order) {
    begin_generation();
    chosen = {device, database, machine, record, ops, worker, background, trust, verify_s, order};
    torch_calls_reopen();
}

void note_fork() { ending_note_fork(!open_now.empty() || !retired.empty()); }

} // namespace

// Arrays of the host share the library of a GPU that they go to.
static size_t place_of(int device) {
    if (device == HOST_DEVICE && chosen.host.find_first_not_of("0123456789") == std::string::npos)
        device = std::stoi(chosen.host);
    return static_cast<size_t>(device - HOST_DEVICE);
}

redtune *runtime_get(int device) {
    size_t place = place_of(device);
    if (place < open_now.size() && open_now[place]) return open_now[place];
    nb::module_::import_("redtune._bundle").attr("find_nvrtc")();
    place = place_of(device); // another thread may have come first
    if (place < open_now.size() && open_now[place]) return open_now[place];
    redtune *rt = open_device(device, chosen.background);
    if (place >= open_now.size()) open_now.resize(place + 1);
    open_now[place] = rt;
    return rt;
}

redtune *runtime_open_own(int device) {
    nb::module_::import_("redtune._bundle").attr("find_nvrtc")();
    redtune *rt = open_device(device, false);
    retired.push_back(rt);
    return rt;
}

bool runtime_fixes(int device, const redtune_problem &problem) {
    return redtune_order_get(runtime_get(device), &problem) == REDTUNE_ORDER_FIXED;
}

void runtime_close() {
    begin_generation();
    if (!torch_calls_end()) return;
    for (redtune *rt : retired) redtune_close(rt);
    retired.clear();
}

void runtime_add(nb::module_ &module) {
    module.def("configure", &configure, nb::arg("device"), nb::arg("database").none(),
               nb::arg("machine").none(), nb::arg("record").none(), nb::arg("ops").none(),
               nb::arg("worker").none(), nb::arg("background"), nb::arg("trust"),
               nb::arg("verify_s"), nb::arg("order"));
    module.def("reload", [] {
        begin_generation();
        torch_calls_reopen();
    });
    module.def("note_fork", &note_fork);
}
