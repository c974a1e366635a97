/* Op: finding ops among those compiled in and those of the user. */
#include "model/op.h"

#include <pthread.h>
#include <string.h>
#include "base/text.h"

/* Ops that only measurements name. The table only grows, as that of the user's ops does; it is one
 * of its own, so that names in a database take no place of ops, and no number. */
static rdt_op_table absent;
static pthread_mutex_t absent_lock = PTHREAD_MUTEX_INITIALIZER; /* of adding */

int rdt_op_table_count(const rdt_op_table *table) {
    return __atomic_load_n(&table->count, __ATOMIC_ACQUIRE);
}

static const rdt_op_traits *entry_at(const rdt_op_table *table, size_t at) {
    return at < (size_t)rdt_op_table_count(table) ? &table->entry[at] : NULL;
}

const rdt_op_traits *rdt_op_find(redtune_op op) {
    size_t at = (size_t)op, compiled_in = (size_t)rdt_op_compiled_in.count;
    if (at >= RDT_OPS_ABSENT) return entry_at(&absent, at - RDT_OPS_ABSENT);
    if (at < compiled_in) return &rdt_op_compiled_in.entry[at];
    return entry_at(rdt_user_ops_table(NULL), at - compiled_in);
}

static const rdt_op_traits *find_name(const rdt_op_table *table, const char *name) {
    for (int i = 0, count = rdt_op_table_count(table); i < count; i++)
        if (!strcmp(table->entry[i].name, name)) return &table->entry[i];
    return NULL;
}

static const rdt_op_traits *find_present(const char *name) {
    const rdt_op_traits *found = find_name(&rdt_op_compiled_in, name);
    return found ? found : find_name(rdt_user_ops_table(NULL), name);
}

/* The lock is held. */
static const rdt_op_traits *find_absent(const char *name) {
    const rdt_op_traits *found = find_name(&absent, name);
    if (found || absent.count == RDT_OPS_ABSENT_MAX) return found;
    rdt_op_traits *out = &absent.entry[absent.count];
    *out = (rdt_op_traits){.op = (redtune_op)(RDT_OPS_ABSENT + absent.count),
                           .combines = RDT_COMBINES_OWN,
                           .result = RDT_RESULT_DTYPE,
                           .power = 1,
                           .f64_from = 1,
                           .values = 1,
                           .inputs = 1,
                           .outputs = 1,
                           .absent = true};
    rdt_text_copy(out->name, sizeof out->name, name);
    out->output[0].result = RDT_RESULT_DTYPE;
    __atomic_store_n(&absent.count, absent.count + 1, __ATOMIC_RELEASE);
    return out;
}

const rdt_op_traits *rdt_op_meet(const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    const size_t length = strlen(name);
    const rdt_op_traits *found = find_present(name);
    if (found || !length || length >= RDT_OP_NAME_BYTES || strspn(name, letters) != length)
        return found;
    pthread_mutex_lock(&absent_lock);
    found = find_absent(name);
    pthread_mutex_unlock(&absent_lock);
    return found;
}

int rdt_op_compare(redtune_op a, redtune_op b) {
    const int compiled_in = rdt_op_compiled_in.count;
    if ((int)a < compiled_in || (int)b < compiled_in || a == b) return (int)a - (int)b;
    return strcmp(redtune_op_name(a), redtune_op_name(b));
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
        const rdt_op_table *user = rdt_user_ops_table(&why);
        found = find_name(user, name ? name : "");
        if (!found && why.status) {
            if (err) *err = why;
            return why.status;
        }
        if (!found) return no_such_op(name ? name : "", user, err);
    }
    *op = found->op;
    return REDTUNE_OK;
}

redtune_status rdt_op_check_parameters(const rdt_op_traits *op, const double *parameters,
                                       redtune_error *err) {
    for (int i = 0; parameters && i < op->parameters; i++)
        if (parameters[i] != parameters[i] && !strcmp(op->parameter[i].name, "ddof"))
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot compute the %s with ddof=nan: give a number", op->name);
    return REDTUNE_OK;
}

const char *redtune_op_name(redtune_op op) {
    const rdt_op_traits *traits = rdt_op_find(op);
    return traits ? traits->name : NULL;
}

redtune_status redtune_op_get(redtune_op op, redtune_op_info *out, redtune_error *err) {
    const rdt_op_traits *traits = rdt_op_find(op);
    if (!out) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot describe an op: out is NULL");
    if (!traits || traits->absent)
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
