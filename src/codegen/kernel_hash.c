/* Kernel hash: what tells the kernel of one point from that of another, so that a measurement is
 * known to be of a kernel that is still the same whatever else changed in the templates.
 *
 * The identity is a hash of the rendered source without #line directives, comments and blanks, for
 * the GPU's own compute capability, whatever NVRTC can make code for; and of how it is launched on
 * a typical GPU of that capability. Points that differ in their launch
 * share a source, and problems of a class do; rendered ones are kept in a table of a fixed size. */
#include "codegen/marshal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_of(const rdt_hash *hash) { return (uint64_t)hash->state; }

/* ---- the source ------------------------------------------------------------------------------ */

static bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\n'; }

/* Behind the comment that begins at text; text itself where none does. */
static const char *skip_comment(const char *text) {
    if (text[0] != '/' || (text[1] != '/' && text[1] != '*')) return text;
    const char *end = text[1] == '/' ? strchr(text, '\n') : strstr(text + 2, "*/");
    if (!end) return text + strlen(text);
    return text[1] == '/' ? end : end + 2;
}

/* Behind the string or character that begins at text; the next letter where none does. */
static const char *skip_quoted(const char *text) {
    char quote = *text++;
    if (quote != '"' && quote != '\'') return text;
    while (*text && *text != quote) text += text[0] == '\\' && text[1] ? 2 : 1;
    return *text ? text + 1 : text;
}

/* Blanks count as one, or as the end of a line, which directives need. */
static uint64_t hash_source(const char *text) {
    rdt_hash hash = rdt_hash_begin();
    char between = '\n';
    while (*text) {
        const char *next = skip_comment(text);
        if (next > text || is_blank(*text)) {
            if (between != '\n') between = *text == '\n' ? '\n' : ' ';
            text = next > text ? next : text + 1;
            continue;
        }
        next = skip_quoted(text);
        if (between) rdt_hash_add(&hash, &between, 1);
        rdt_hash_add(&hash, text, (size_t)(next - text));
        between = '\0';
        text = next;
    }
    return number_of(&hash);
}

/* ---- sources that were rendered -------------------------------------------------------------- */

/* All that rdt_render_source goes by. */
static uint64_t key_of(const rdt_codegen *codegen, rdt_case at, const rdt_point *point) {
    const rdt_space *space = &codegen->space[point->family];
    const int fields[] = {point->family,
                          (int)at.problem->op,
                          (int)at.problem->dtype,
                          (int)at.problem->result,
                          (int)rdt_problem_layout(at.problem),
                          (int)at.problem->order,
                          (int)at.problem->accuracy,
                          (int)at.problem->uses,
                          (int)at.problem->mask,
                          (int)at.problem->key_dtype,
                          rdt_problem_is_keyed(at.problem) &&
                              rdt_problem_keyed_width(at.problem) > 1,
                          at.facts->major,
                          at.facts->minor};
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add(&hash, fields, sizeof fields);
    for (int i = 0; i < space->param_count; i++)
        if (!space->param[i].launch) rdt_hash_add(&hash, &point->value[i], sizeof point->value[i]);
    return number_of(&hash) | 1; /* not 0, which is a free place */
}

/* Where the key is, or goes: to the first free place of a few, or over another key, whose source is
 * then rendered again when it is asked for. */
static rdt_rendered *find_place(rdt_codegen *codegen, uint64_t key) {
    enum { TRIES_MAX = 16 };
    size_t at = key >> 1;
    for (int i = 0; i < TRIES_MAX; i++, at++) {
        uint64_t here = codegen->rendered[at % RDT_RENDERED_KEPT].key;
        if (!here || here == key) break;
    }
    return &codegen->rendered[at % RDT_RENDERED_KEPT];
}

static redtune_status find_source(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                  uint64_t *out, redtune_error *err) {
    uint64_t key = key_of(codegen, at, point);
    char *source = NULL;
    rdt_rendered *place = find_place(codegen, key);
    if (place->key != key) {
        redtune_status status = rdt_render_source(codegen, at, point, false, &source, err);
        if (status) return status;
        *place = (rdt_rendered){key, hash_source(source)};
        free(source);
    }
    *out = place->source;
    return REDTUNE_OK;
}

redtune_status rdt_kernel_hash_find(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                    char out[RDT_KERNEL_BYTES], redtune_error *err) {
    uint64_t source = 0;
    rdt_launch launch;
    rdt_facts facts = *rdt_facts_typical();
    facts.major = at.facts->major;
    facts.minor = at.facts->minor;
    redtune_status status = find_source(codegen, at, point, &source, err);
    if (!status)
        status = rdt_rules_launch(codegen, (rdt_case){at.problem, &facts}, point, &launch, err);
    if (status) return status;
    /* The 0 is where the threads of a second launch were, of a finish that went: hashes are stored.
     */
    const uint32_t fields[] = {launch.threads,  launch.tile,   launch.blocks_max, 0,
                               launch.partials, launch.overlap};
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add(&hash, &source, sizeof source);
    rdt_hash_add(&hash, fields, sizeof fields);
    if (launch.results) {
        const uint32_t sets[] = {launch.results, launch.waiting_max, launch.columns};
        rdt_hash_add(&hash, sets, sizeof sets);
    }
    snprintf(out, RDT_KERNEL_BYTES, "%016llx", (unsigned long long)number_of(&hash));
    return REDTUNE_OK;
}
