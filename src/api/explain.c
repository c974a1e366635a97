/* Explain: what the runtime would choose for a problem on a GPU, and on what grounds. */
#include <stdlib.h>
#include <string.h>
#include "api/select.h"
#include "api/tell.h"
#include "api/trust.h"
#include "compiler/compiler.h"
#include "gpu/context.h"

typedef struct inquiry {
    const redtune_question *question;
    redtune_problem problem; /* resolved */
    rdt_layers layers;
    rdt_winners winners;
    rdt_codegen *codegen;
    rdt_facts facts;
    int driver_version; /* 0: no driver was asked */
} inquiry;

/* ---- the GPU ------------------------------------------------------------------------------- */

static redtune_status ask_device(inquiry *self, redtune_error *err) {
    const char *name = self->question->device;
    rdt_driver *driver = NULL;
    CUdevice device;
    bool simulated = rdt_driver_is_simulated(name);
    int number = simulated ? 0 : atoi(name);
    redtune_status status = rdt_driver_open(simulated, &driver, err);
    if (!status)
        status =
            rdt_driver_check(driver, driver->device_get(&device, number), err, "find GPU %s", name);
    if (!status) status = rdt_device_facts(driver, device, &self->facts, err);
    if (!status) self->driver_version = self->facts.driver_version;
    rdt_driver_close(driver);
    return status;
}

typedef struct sighting {
    const char *wanted;
    rdt_facts first;
    int models; /* that differ */
    rdt_text names;
} sighting;

static redtune_status see_gpu(void *user, const rdt_facts *gpu, redtune_error *err) {
    (void)err;
    sighting *seen = user;
    if (seen->wanted && !rdt_tell_has_part(gpu->name, seen->wanted)) return REDTUNE_OK;
    if (seen->models && rdt_facts_same_model(gpu, &seen->first)) return REDTUNE_OK;
    if (!seen->models++) seen->first = *gpu;
    if (seen->models <= 8)
        rdt_text_addf(&seen->names, "%s'%s' with %d SMs", seen->models > 1 ? ", " : "", gpu->name,
                      gpu->sm_count);
    return REDTUNE_OK;
}

/* An exact name goes before those that it is a part of. */
static redtune_status find_gpu(inquiry *self, redtune_error *err) {
    const char *wanted = self->question->gpu;
    sighting seen = {.wanted = wanted};
    redtune_status status = rdt_layers_each_gpu(&self->layers, see_gpu, &seen, err);
    if (!status && !seen.models)
        status = rdt_fail(err, REDTUNE_INVALID, 0,
                          "cannot explain for %s%.60s: the databases have no %sGPU; name one that "
                          "redtune show lists, or a device",
                          wanted ? "GPU " : "any GPU", wanted ? wanted : "", wanted ? "such " : "");
    if (!status && seen.models > 1)
        status = rdt_fail(err, REDTUNE_INVALID, 0,
                          "cannot explain for %s: it may be %s; give more of the name",
                          wanted ? wanted : "a GPU", seen.names.data ? seen.names.data : "several");
    if (!status) self->facts = rdt_tell_complete(&seen.first);
    rdt_text_free(&seen.names);
    return status;
}

/* ---- telling ------------------------------------------------------------------------------- */

/* 0 where there is none: then nothing can differ. */
static int find_nvrtc_version(void) {
    rdt_compiler *compiler = NULL;
    redtune_error ignored;
    int version = 0;
    if (!rdt_compiler_open(&compiler, &ignored)) version = rdt_compiler_version(compiler);
    rdt_compiler_close(compiler);
    return version;
}

static void tell(const inquiry *self, const rdt_choice *choice, redtune_explanation *out) {
    const rdt_space *space = rdt_codegen_space(self->codegen, choice->family);
    const rdt_row *row = choice->row;
    redtune_info *info = &out->info;
    *out = (redtune_explanation){
        .driver_version = self->driver_version,
        .nvrtc_version = find_nvrtc_version(),
        .info = {.problem = self->problem, .match = choice->match},
    };
    rdt_tell_gpu(&self->facts, &out->gpu);
    out->gpu.memory_bytes = self->facts.memory_bytes;
    out->gpu.driver_version = self->driver_version;
    rdt_text_copy(info->family, sizeof info->family, space->family);
    rdt_config_format(space, &choice->config, info->config);
    if (!row) return;
    rdt_tell_origin(row, info);
    out->default_ns = row->standard_ns;
    out->received = row->trial.received;
    rdt_text_copy(out->database, sizeof out->database, self->layers.path[row->layer]);
    out->templates_differ = strcmp(row->origin.templates, rdt_codegen_hash(self->codegen)) != 0;
    out->driver_differs =
        out->driver_version && info->driver_version && out->driver_version != info->driver_version;
    out->nvrtc_differs =
        out->nvrtc_version && info->nvrtc_version && out->nvrtc_version != info->nvrtc_version;
}

redtune_status redtune_explain(const redtune_question *question, redtune_explanation *out,
                               redtune_error *err) {
    if (!question || !out)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot explain: %s is NULL",
                        question ? "out" : "question");
    inquiry self = {.question = question};
    rdt_choice choice;
    redtune_trust trust = REDTUNE_TRUST_VERIFIED;
    redtune_status status = rdt_problem_resolve(&question->problem, &self.problem, err);
    if (!status) status = rdt_layers_list(question->database, &self.layers, err);
    if (!status) status = question->device ? ask_device(&self, err) : find_gpu(&self, err);
    if (!status) status = rdt_codegen_open(&self.codegen, err);
    if (!status) status = rdt_trust_find(REDTUNE_TRUST_VERIFIED, &trust, err);
    const rdt_winners_source source = {.layers = &self.layers, .own = trust == REDTUNE_TRUST_NONE};
    if (!status) status = rdt_winners_need(&self.winners, &source, &self.problem, err);
    if (!status)
        status = rdt_select(&self.winners, self.codegen, (rdt_case){&self.problem, &self.facts},
                            &choice, err);
    if (!status) {
        tell(&self, &choice, out);
        out->to_verify = out->received && trust == REDTUNE_TRUST_VERIFIED;
    }
    rdt_codegen_close(self.codegen);
    rdt_winners_free(&self.winners);
    rdt_layers_free(&self.layers);
    return status;
}
