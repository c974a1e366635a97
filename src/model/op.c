/* Op: finding ops among those compiled in and those of the user. */
#include "model/op.h"

#include <string.h>
#include "base/text.h"

const rdt_op_traits *rdt_op_find(redtune_op op) {
    size_t at = (size_t)op, compiled_in = (size_t)rdt_op_compiled_in.count;
    if (at < compiled_in) return &rdt_op_compiled_in.entry[at];
    const rdt_op_table *user;
    rdt_user_ops_table(&user, NULL);
    at -= compiled_in;
    return at < (size_t)rdt_op_table_count(user) ? &user->entry[at] : NULL;
}

int rdt_op_table_count(const rdt_op_table *table) {
    return __atomic_load_n(&table->count, __ATOMIC_ACQUIRE);
}

static const rdt_op_traits *find_name(const rdt_op_table *table, const char *name) {
    for (int i = 0, count = rdt_op_table_count(table); i < count; i++)
        if (!strcmp(table->entry[i].name, name)) return &table->entry[i];
    return NULL;
}

static redtune_status no_such_op(const char *name, const rdt_op_table *user, redtune_error *err) {
    rdt_text known = {0};
    const rdt_op_table *const tables[] = {&rdt_op_compiled_in, user};
    for (int i = 0; i < 2; i++)
        for (int j = 0, count = rdt_op_table_count(tables[i]); j < count; j++)
            rdt_text_addf(&known, "%s %s", known.length ? "," : "", tables[i]->entry[j].name);
    redtune_status status =
        rdt_fail(err, REDTUNE_INVALID, 0, "cannot use op '%.40s': no such op; use%s", name,
                 known.data ? known.data : "");
    rdt_text_free(&known);
    return status;
}

redtune_status redtune_op_find(const char *name, redtune_op *op, redtune_error *err) {
    if (!op) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot find an op: op is NULL");
    const rdt_op_traits *found = find_name(&rdt_op_compiled_in, name ? name : "");
    if (!found) {
        redtune_error why;
        const rdt_op_table *user;
        const redtune_status status = rdt_user_ops_table(&user, &why);
        found = find_name(user, name ? name : "");
        if (!found && status) {
            if (err) *err = why;
            return status;
        }
        if (!found) return no_such_op(name ? name : "", user, err);
    }
    *op = found->op;
    return REDTUNE_OK;
}

const char *redtune_op_name(redtune_op op) {
    const rdt_op_traits *traits = rdt_op_find(op);
    return traits ? traits->name : NULL;
}

redtune_status redtune_op_get(redtune_op op, redtune_op_info *out, redtune_error *err) {
    const rdt_op_traits *traits = rdt_op_find(op);
    if (!out) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot describe an op: out is NULL");
    if (!traits)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot describe op %d: no such op", (int)op);
    *out = (redtune_op_info){
        .name = traits->name,
        .formula = traits->formula,
        .indexed = traits->indexed,
        .bools = traits->bools,
        .inputs = traits->inputs,
        .outputs = traits->outputs,
        .parameters = traits->parameters,
        .resumes = traits->resumes,
        .file = traits->file,
    };
    for (int i = 0; i < traits->outputs; i++) out->output_name[i] = traits->output[i].name;
    for (int i = 0; i < traits->parameters; i++) {
        out->parameter_name[i] = traits->parameter[i].name;
        out->parameter_usual[i] = traits->parameter[i].usual;
    }
    return REDTUNE_OK;
}
