/* Target: which GPU model show, explain, report and export are about. */
#include "api/records/target.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "api/records/convert.h"
#include "base/array.h"
#include "gpu/context.h"

enum { NAMES_MAX = 5 }; /* in a message */

/* ---- the models of the databases ------------------------------------------------------------- */

typedef struct gathering {
    rdt_target *target;
    bool system; /* whose layers are gone through */
} gathering;

static redtune_status add_model(void *user, const rdt_facts *gpu, int64_t latest,
                                redtune_error *err) {
    const gathering *self = user;
    rdt_target *target = self->target;
    size_t i = 0;
    while (i < target->count && !rdt_facts_same_model(&target->model[i].facts, gpu)) i++;
    redtune_status status = RDT_ARRAY_RESERVE(target->model, target->capacity, i + 1, err);
    if (status) return status;
    rdt_target_model *model = &target->model[i];
    if (i == target->count) {
        *model = (rdt_target_model){.facts = *gpu, .latest = latest};
        target->count++;
    }
    if (latest > model->latest) model->latest = latest;
    model->system |= self->system;
    return REDTUNE_OK;
}

static bool is_named(const rdt_target_query *query) {
    return query->gpu && strcmp(query->gpu, "all") != 0;
}

/* The system's databases need not be opened where nobody asks for them. */
static redtune_status gather_models(const rdt_target_query *query, const rdt_layers *layers,
                                    rdt_target *target, redtune_error *err) {
    gathering self = {target, false};
    target->layers = layers->own;
    redtune_error left_out = {.status = REDTUNE_OK};
    redtune_status status =
        rdt_layers_each_gpu(layers, 0, layers->own, add_model, &self, NULL, err);
    if (status || query->own || !(is_named(query) || query->shipped)) return status;
    self.system = true;
    target->layers = layers->count;
    status =
        rdt_layers_each_gpu(layers, layers->own, layers->count, add_model, &self, &left_out, err);
    if (status || target->count || !left_out.status) return status;
    /* What was asked for may be in the one that cannot be read. */
    if (err) *err = left_out;
    return left_out.status;
}

/* ---- what is named --------------------------------------------------------------------------- */

/* Each name once; of those that are meant, or of all. */
static void list_names(const rdt_target *target, bool meant, rdt_text *out) {
    size_t names = 0;
    for (size_t i = 0; i < target->count; i++) {
        const rdt_target_model *model = &target->model[i];
        bool known = meant && !model->meant;
        for (size_t k = 0; !known && k < i; k++)
            known = (!meant || target->model[k].meant) &&
                    !strcmp(target->model[k].facts.name, model->facts.name);
        if (known) continue;
        if (names < NAMES_MAX) rdt_text_addf(out, "%s%s", names ? ", " : "", model->facts.name);
        if (names++ == NAMES_MAX) rdt_text_add(out, " and more");
    }
}

static redtune_status refuse_name(const rdt_target_query *query, const rdt_target *target,
                                  bool meant, redtune_error *err) {
    rdt_text names = {0};
    list_names(target, meant, &names);
    const char *list = names.data ? names.data : "none";
    redtune_status status =
        meant ? rdt_fail(err, REDTUNE_INVALID, 0,
                         "cannot %s: '%.60s' may be %s; give the whole name of one", query->verb,
                         query->gpu, list)
              : rdt_fail(err, REDTUNE_INVALID, 0,
                         "cannot %s: no GPU has '%.60s' in its name; the databases have %s",
                         query->verb, query->gpu, list);
    rdt_text_free(&names);
    return status;
}

/* In any locale. */
static char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* In any case. */
static bool has_part(const char *name, const char *part) {
    for (; *name; name++) {
        size_t i = 0;
        while (part[i] && lower(name[i]) == lower(part[i])) i++;
        if (!part[i]) return true;
    }
    return !*part;
}

/* Marks the models that the query means; several only where they have one name, or none was given.
 */
static redtune_status mark(const rdt_target_query *query, rdt_target *target, redtune_error *err) {
    const rdt_target_model *first = NULL;
    bool whole = false, named = is_named(query), several = false;
    for (size_t i = 0; named && i < target->count; i++)
        whole |= !strcasecmp(target->model[i].facts.name, query->gpu);
    for (size_t i = 0; i < target->count; i++) {
        rdt_target_model *model = &target->model[i];
        const char *name = model->facts.name;
        model->meant = !named  ? model->system || !query->shipped
                       : whole ? !strcasecmp(name, query->gpu)
                               : has_part(name, query->gpu);
        if (!model->meant) continue;
        several |= first && strcasecmp(first->facts.name, name);
        if (!first) first = model;
    }
    if (named && (several || !first)) return refuse_name(query, target, several, err);
    return REDTUNE_OK;
}

/* ---- what this machine has ------------------------------------------------------------------- */

static redtune_status take_named_device(const char *name, rdt_target *target, redtune_error *err) {
    rdt_driver *driver = NULL;
    CUdevice device;
    redtune_status status = rdt_driver_open(rdt_driver_is_simulated(name), &driver, err);
    if (!status) status = rdt_context_find_device(driver, name, &device, err);
    if (!status) status = rdt_context_device_facts(driver, device, &target->facts, err);
    target->found = target->here = !status;
    rdt_driver_close(driver);
    return status;
}

static bool is_meant(const rdt_target *target, const rdt_facts *facts) {
    for (size_t i = 0; i < target->count; i++)
        if (target->model[i].meant && rdt_facts_same_model(&target->model[i].facts, facts))
            return true;
    return false;
}

/* The first device that is meant; any: the first one. A machine without one is no failure. */
static void look_at_machine(rdt_target *target, bool any) {
    rdt_driver *driver = NULL;
    redtune_error ignored;
    int count = 0;
    if (!rdt_driver_open(false, &driver, &ignored)) driver->device_get_count(&count);
    for (int i = 0; i < count && !target->found; i++) {
        CUdevice device;
        rdt_facts facts;
        if (driver->device_get(&device, i) ||
            rdt_context_device_facts(driver, device, &facts, &ignored) ||
            !(any || is_meant(target, &facts)))
            continue;
        target->facts = facts;
        target->found = target->here = true;
    }
    rdt_driver_close(driver);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static void take_latest(rdt_target *target) {
    const rdt_target_model *latest = NULL;
    for (size_t i = 0; i < target->count; i++) {
        const rdt_target_model *model = &target->model[i];
        if (model->meant && (!latest || model->latest > latest->latest)) latest = model;
    }
    if (latest) target->facts = rdt_convert_complete(&latest->facts);
    target->found = latest != NULL;
}

static void choose_models(const rdt_target_query *query, rdt_target *target) {
    bool runs = query->runs && !query->shipped && !is_named(query);
    size_t meant = 0;
    for (size_t i = 0; i < target->count; i++) meant += target->model[i].meant;
    if (runs || meant > 1) look_at_machine(target, runs);
    if (!target->found) take_latest(target);
}

redtune_status rdt_target_find(const rdt_target_query *query, const rdt_layers *layers,
                               rdt_target *out, redtune_error *err) {
    rdt_target target = {.all = false};
    redtune_status status = gather_models(query, layers, &target, err);
    if (!status && query->gpu && !is_named(query) && query->single)
        status = rdt_fail(err, REDTUNE_INVALID, 0, "cannot %s for all GPUs at once: name one",
                          query->verb);
    if (!status) status = mark(query, &target, err);
    if (!status && query->device)
        status = take_named_device(query->device, &target, err);
    else if (!status && query->gpu && !is_named(query))
        target.all = target.found = target.count > 0;
    else if (!status)
        choose_models(query, &target);
    if (status)
        rdt_target_free(&target);
    else
        *out = target;
    return status;
}

void rdt_target_free(rdt_target *target) {
    free(target->model);
    *target = (rdt_target){.all = false};
}

bool rdt_target_has(const rdt_target *target, const rdt_facts *gpu) {
    return target->found && (target->all || rdt_facts_same_model(&target->facts, gpu));
}

redtune_status rdt_target_fail(const char *verb, const rdt_layers *layers, redtune_error *err) {
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "cannot %s: nothing is measured in %.300s yet; run redtune --device 0 first, "
                    "or give --shipped for what redtune comes with",
                    verb, layers->path[0]);
}
