/* Explain: what the runtime would choose for a problem on a GPU, and why. */
#include <string.h>
#include "api/records/select.h"
#include "api/records/target.h"
#include "api/records/convert.h"
#include "api/choosing/import_policy.h"
#include "base/reserved.h"
#include "compiler/compiler.h"
#include "redtune/records.h"

typedef struct inquiry {
    redtune_problem problem; /* resolved */
    rdt_layers layers;
    rdt_winners winners;
    rdt_codegen *codegen;
    rdt_target target;
} inquiry;

/* 0 where it is not installed: then nothing differs. */
static int find_nvrtc_version(void) {
    rdt_compiler *compiler = NULL;
    redtune_error ignored;
    int version = 0;
    if (!rdt_compiler_open(&compiler, &ignored)) version = rdt_compiler_version(compiler);
    rdt_compiler_close(compiler);
    return version;
}

static void describe_choice(const inquiry *self, const rdt_choice *choice,
                            redtune_explanation *out) {
    const rdt_row *row = choice->row;
    redtune_info *info = &out->info;
    *out = (redtune_explanation){
        .driver_version = self->target.facts.driver_version,
        .nvrtc_version = find_nvrtc_version(),
        .info = {.problem = self->problem, .match = choice->match},
    };
    rdt_convert_gpu(&self->target.facts, &out->gpu);
    rdt_point_write(rdt_codegen_spaces(self->codegen), &choice->point, info->family, info->config);
    if (!row) return;
    rdt_convert_origin(row, info);
    out->default_ns = row->baseline_ns;
    out->imported = row->trial.imported;
    rdt_text_copy(out->database, sizeof out->database, self->layers.path[row->layer]);
    out->templates_differ = !row->current;
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
    const rdt_target_query about = {
        .verb = "explain",
        .device = question->device,
        .gpu = question->gpu,
        .shipped = question->shipped != 0,
        .single = true,
        .runs = true,
    };
    inquiry self = {.codegen = NULL};
    rdt_choice choice;
    redtune_trust trust = REDTUNE_TRUST_VERIFIED;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(question), "redtune_question", err);
    if (!status) status = rdt_problem_resolve(&question->problem, &self.problem, err);
    if (!status) status = rdt_layers_list(question->database, &self.layers, err);
    if (!status) status = rdt_target_find(&about, &self.layers, &self.target, err);
    if (!status && !self.target.found) status = rdt_target_fail("explain", &self.layers, err);
    if (!status) status = rdt_codegen_open(&self.codegen, err);
    if (!status) status = rdt_runtime_find_trust(REDTUNE_TRUST_VERIFIED, &trust, err);
    const rdt_winners_source source = {
        .layers = &self.layers, .codegen = self.codegen, .own = trust == REDTUNE_TRUST_NONE};
    if (!status)
        status = rdt_select_from(&self.winners, &source,
                                 (rdt_case){&self.problem, &self.target.facts}, &choice, err);
    if (!status) {
        describe_choice(&self, &choice, out);
        out->to_verify = out->imported && trust == REDTUNE_TRUST_VERIFIED;
    }
    rdt_codegen_close(self.codegen);
    rdt_winners_free(&self.winners);
    rdt_target_free(&self.target);
    rdt_layers_free(&self.layers);
    return status;
}
