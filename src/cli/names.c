/* Names: ops and dtypes as people write them. */
#include "cli/names.h"

#include <string.h>
#include "cli/message.h"
#include "cli/nearest.h"

redtune_status rdt_names_find_op(const char *name, redtune_op *out, redtune_error *err) {
    const redtune_status status = redtune_op_find(name, out, err);
    rdt_nearest near = {.word = name};
    redtune_op_info op;
    for (int i = 0; status == REDTUNE_INVALID && !redtune_op_get((redtune_op)i, &op, NULL); i++)
        rdt_nearest_try(&near, op.name);
    if (!near.name) return status;
    return rdt_message_set(err, status, 0,
                           "cannot use op '%s': no such op; did you mean %s? redtune show ops "
                           "lists them",
                           name, near.name);
}

/* Beside the long names of the library's table. other: what PyTorch or C reads; NULL: the same. */
static const struct {
    const char *alias, *name, *other;
} aliases[] = {
    {"half", "f16", NULL}, {"fp16", "f16", NULL},   {"single", "f32", NULL}, {"fp32", "f32", NULL},
    {"fp64", "f64", NULL}, {"double", "f64", NULL}, {"float", "f64", "f32"}, {"int", "i64", "i32"},
};

redtune_status rdt_names_find_dtype(const char *name, redtune_dtype *out, redtune_error *err) {
    redtune_dtype_info each;
    for (int i = 1; !redtune_dtype_get((redtune_dtype)i, &each, NULL); i++)
        if (!strcmp(name, each.long_name)) name = each.name;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(name, aliases[i].alias) != 0) continue;
        if (aliases[i].other)
            return rdt_message_set(err, REDTUNE_INVALID, 0,
                                   "cannot use dtype '%s': NumPy reads it as %s, PyTorch as %s; "
                                   "give one of the two",
                                   name, aliases[i].name, aliases[i].other);
        name = aliases[i].name;
    }
    return redtune_dtype_find(name, out, err);
}
