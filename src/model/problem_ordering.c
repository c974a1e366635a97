/* Problem ordering: in which order, and how accurately, elements are combined. */
#include "model/problem.h"

#include <string.h>

#define ENTRY(id, name) [id] = name,
static const char *const accuracies[] = {RDT_ACCURACY_LIST(ENTRY)};
#undef ENTRY

enum { ACCURACIES = sizeof accuracies / sizeof *accuracies };

const char *rdt_problem_ordering_accuracy(int accuracy) {
    return accuracy >= 0 && accuracy < ACCURACIES ? accuracies[accuracy] : NULL;
}

int rdt_problem_ordering_find_accuracy(const char *name) {
    for (int i = 0; i < ACCURACIES; i++)
        if (!strcmp(accuracies[i], name)) return i;
    return -1;
}

typedef struct ordering {
    redtune_order order;
    redtune_accuracy accuracy;
    const char *name;
} ordering;

static const ordering orderings[] = {
#define ENTRY(order, accuracy, name) {order, accuracy, name},
    RDT_ORDERING_LIST(ENTRY)
#undef ENTRY
};

enum { ORDERINGS = sizeof orderings / sizeof *orderings };

const char *rdt_problem_ordering_name(const redtune_problem *problem) {
    for (int i = 0; i < ORDERINGS; i++)
        if (orderings[i].order == problem->order && orderings[i].accuracy == problem->accuracy)
            return orderings[i].name;
    return NULL;
}

bool rdt_problem_ordering_find(const char *name, redtune_problem *out) {
    for (int i = 0; i < ORDERINGS; i++)
        if (!strcmp(orderings[i].name, name)) {
            out->order = orderings[i].order;
            out->accuracy = orderings[i].accuracy;
            return true;
        }
    return false;
}

static bool has_accuracy(const rdt_op_traits *op, redtune_accuracy accuracy) {
    return accuracy == REDTUNE_ACCURACY_EXACT ? op->exact : op->compensated;
}

static redtune_status refuse_accuracy(const rdt_op_traits *op, redtune_accuracy accuracy,
                                      redtune_error *err) {
    const rdt_op_table *table = &rdt_op_compiled_in;
    rdt_text known = {0};
    for (int i = 0; i < table->count; i++)
        if (has_accuracy(&table->entry[i], accuracy))
            rdt_text_addf(&known, "%s%s", known.length ? ", " : "", table->entry[i].name);
    redtune_status status =
        rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                 "cannot have the %s %s: that is for %s; leave out the accuracy", op->name,
                 rdt_problem_ordering_accuracy((int)accuracy), known.data ? known.data : "no op");
    rdt_text_free(&known);
    return status;
}

/* Of a problem whose accumulators round. */
static redtune_status check_accuracy(const redtune_problem *problem, redtune_error *err) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const char *name = rdt_problem_ordering_accuracy((int)problem->accuracy);
    if (problem->accuracy == REDTUNE_ACCURACY_PLAIN) return REDTUNE_OK;
    if (!has_accuracy(op, problem->accuracy)) return refuse_accuracy(op, problem->accuracy, err);
    if (rdt_dtype_find(problem->dtype)->kind != RDT_KIND_FLOAT)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot have the %s of %s %s: its elements are rounded to f64 before they "
                        "are added; leave out the accuracy",
                        op->name, redtune_dtype_name(problem->dtype), name);
    if (problem->accuracy == REDTUNE_ACCURACY_EXACT && problem->segmented)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot have the %s of segments %s: there are no kernels of it; leave out "
                        "the accuracy",
                        op->name, name);
    return REDTUNE_OK;
}

bool rdt_problem_ordering_has_places(const redtune_problem *problem) {
    const rdt_op_traits *op = rdt_op_find(problem->op);
    return (op && op->indexed) || problem->order != REDTUNE_ORDER_FREE ||
           problem->uses & REDTUNE_USE_DEVICE_COUNT;
}

redtune_status rdt_problem_ordering_resolve(redtune_problem *problem, redtune_error *err) {
    const bool shows = rdt_problem_shows_order(problem);
    if (!shows) problem->accuracy = REDTUNE_ACCURACY_PLAIN;
    if (!shows || problem->accuracy == REDTUNE_ACCURACY_EXACT) problem->order = REDTUNE_ORDER_FREE;
    return check_accuracy(problem, err);
}
