/* Space: the parameters of a template family and the values each may take. */
#include "model/space.h"

#include <string.h>
#include "base/text.h"

redtune_status rdt_space_find_family(const rdt_spaces *spaces, const char *family, int *out,
                                     redtune_error *err) {
    rdt_text known = {0};
    for (int i = 0; i < spaces->count; i++) {
        if (!strcmp(family, spaces->space[i].family)) {
            *out = i;
            rdt_text_free(&known);
            return REDTUNE_OK;
        }
        rdt_text_addf(&known, "%s%s", i ? ", " : "", spaces->space[i].family);
    }
    redtune_status status =
        rdt_fail(err, REDTUNE_INVALID, 0, "cannot use template '%.40s': no such template; use %s",
                 family, known.data ? known.data : "another");
    rdt_text_free(&known);
    return status;
}

int64_t rdt_space_size(const rdt_space *space) {
    int64_t size = 1;
    for (int i = 0; i < space->param_count; i++) size *= space->param[i].value_count;
    return size;
}

int rdt_space_find(const rdt_space *space, const char *name, int length) {
    for (int i = 0; i < space->param_count; i++) {
        const char *candidate = space->param[i].name;
        if (strlen(candidate) == (size_t)length && !memcmp(candidate, name, (size_t)length))
            return i;
    }
    return -1;
}

bool rdt_space_param_is_named(const rdt_param *param) { return param->label[0][0] != '\0'; }

int rdt_space_param_find(const rdt_param *param, int64_t value) {
    for (int i = 0; i < param->value_count; i++)
        if (param->value[i] == value) return i;
    return -1;
}
