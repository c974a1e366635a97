// Module: redtune._core, what Python needs of libredtune beyond Python itself.
#include "call.h"
#include "function.h"
#include "jax.h"
#include "keyed.h"
#include "list.h"
#include "plan.h"
#include "runtime.h"
#include "segments.h"
#include "team.h"
#include "torch_calls.h"

NB_MODULE(_core, module) {
    nb::set_leak_warnings(false); // plans may outlive the interpreter's last collection
    errors_add(module);
    runtime_add(module);
    call_add(module);
    function_add(module);
    plan_add(module);
    jax_add(module);
    segments_add(module);
    list_add(module);
    keyed_add(module);
    team_add(module);
    torch_calls_add(module);
    module.def("is_main_interpreter",
               [] { return !PyInterpreterState_GetID(PyInterpreterState_Get()); });
    module.def("close", [] {
        if (ending_is_inherited() || !ending_wait()) return;
        team_close_all();
        plan_close_all();
        list_close_all();
        runtime_close();
    });
    module.attr("__version__") = REDTUNE_VERSION;
}
