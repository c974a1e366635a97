/* Type: the table of PTX types. */
#include "ptx/type.h"

const sim_type_info sim_type_table[SIM_TYPE_COUNT] = {
#define X(id, name, bits, class) [SIM_##id] = {name, bits, class},
    SIM_TYPE_LIST(X)
#undef X
};
