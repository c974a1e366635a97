/* Meanwhile: configs of a class whose kernels were put into the kernel cache. */
#include "api/choosing/meanwhile.h"

#include <stdlib.h>
#include <string.h>

/* false: nothing is kept of the class. */
static bool name_record(const redtune *rt, const redtune_problem *problem, rdt_yield yield,
                        char out[RDT_HASH_TEXT_BYTES]) {
    const rdt_facts *gpu = &rt->context->facts;
    char templates[RDT_HASH_TEXT_BYTES];
    if (rdt_op_find(problem->op)->file || rdt_builder_templates(rt->builder, templates, NULL))
        return false;
#define OF_PROBLEM(field) (int64_t) problem->field,
    const int64_t values[] = {RDT_PROBLEM_KIND_LIST(OF_PROBLEM) rdt_problem_layout(problem), yield,
                              gpu->major, gpu->minor, rdt_facts_is_simulated(gpu)};
#undef OF_PROBLEM
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, "kernels of a class");
    rdt_hash_add_string(&hash, rdt_codegen_build());
    rdt_hash_add_string(&hash, templates);
    rdt_hash_add(&hash, values, sizeof values);
    if (rdt_problem_is_keyed(problem)) {
        const int64_t keyed[] = {problem->key_dtype, rdt_problem_keyed_width(problem) > 1};
        rdt_hash_add(&hash, keyed, sizeof keyed);
    }
    rdt_hash_text(&hash, out);
    return true;
}

static bool is_whole_record(const rdt_meanwhile *stored, size_t bytes) {
    if (bytes != sizeof *stored || stored->count < 0 || stored->count > RDT_MEANWHILE_MAX)
        return false;
    for (int i = 0; i < stored->count; i++)
        if (!memchr(stored->config[i], '\0', sizeof stored->config[i])) return false;
    return true;
}

static void read_kept(redtune *rt, const char *name, rdt_meanwhile *out) {
    void *data = NULL;
    size_t bytes = 0;
    redtune_error ignored;
    *out = (rdt_meanwhile){.count = 0};
    if (rdt_builder_find(rt->builder, name, &data, &bytes, &ignored) || !data) return;
    if (is_whole_record(data, bytes)) memcpy(out, data, sizeof *out);
    free(data);
}

void rdt_meanwhile_find(redtune *rt, const redtune_problem *problem, rdt_yield yield,
                        rdt_meanwhile *out) {
    char name[RDT_HASH_TEXT_BYTES];
    *out = (rdt_meanwhile){.count = 0};
    if (name_record(rt, problem, yield, name)) read_kept(rt, name, out);
}

/* Two processes that add at a time may lose one of the two, which costs time only. */
void rdt_meanwhile_add(redtune *rt, const redtune_problem *problem, rdt_yield yield,
                       const char *config) {
    char name[RDT_HASH_TEXT_BYTES];
    rdt_meanwhile kept;
    if (!name_record(rt, problem, yield, name)) return;
    read_kept(rt, name, &kept);
    for (int i = 0; i < kept.count; i++)
        if (!strcmp(kept.config[i], config)) return;
    if (kept.count < RDT_MEANWHILE_MAX) kept.count++;
    memmove(kept.config[1], kept.config[0], (size_t)(kept.count - 1) * sizeof kept.config[0]);
    memset(kept.config[0], 0, sizeof kept.config[0]);
    rdt_text_copy(kept.config[0], sizeof kept.config[0], config);
    rdt_builder_put(rt->builder, name, &kept, sizeof kept);
}
