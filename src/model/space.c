/* Space: the parameters of a template and the values each may take. */
#include "model/space.h"

#include <string.h>

int rdt_space_find(const rdt_space *space, const char *name, int length) {
    for (int i = 0; i < space->param_count; i++) {
        const char *candidate = space->param[i].name;
        if (strlen(candidate) == (size_t)length && !memcmp(candidate, name, (size_t)length))
            return i;
    }
    return -1;
}

bool rdt_param_is_named(const rdt_param *param) {
    return param->label[0][0] != '\0';
}

int rdt_param_find(const rdt_param *param, int64_t value) {
    for (int i = 0; i < param->value_count; i++)
        if (param->value[i] == value) return i;
    return -1;
}
