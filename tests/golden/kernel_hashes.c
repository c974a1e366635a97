/* Kernel hashes: of drawn kernels of all families that a search knows, with ops and dtypes
 * drawn too, one line for each set of extents: the family, how many kernels, and a hash of their
 * hashes. A change that leaves the lines as they are changes no kernel, and keeps every measurement
 * that is stored (src/codegen/kernel_hash.c). Comments and blanks do not count.
 *
 * usage: kernel_hashes [--all] [KERNELS]; --all prints a line for each kernel, to be compared with
 * another build's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"
#include "codegen/codegen.h"
#include "shaped.h"

/* Extents that the families named here serve, whatever the dtype. */
static const struct {
    const char *family;
    shaped like;
    bool pairs;    /* of segments and by key: ops of two inputs, and no others */
    uint64_t keys; /* by as many of key_dtype; 0: not by key */
    redtune_dtype key_dtype;
    redtune_mask mask;
} sets[] = {
    {"block", {.count = 1 << 20}},
    {"block", {.count = 1 << 20, .accuracy = REDTUNE_ACCURACY_COMPENSATED}},
    {"block", {.count = 1 << 20, .accuracy = REDTUNE_ACCURACY_EXACT}},
    {"block", {.count = 1 << 20, .uses = REDTUNE_USE_ACCUMULATE}},
    {"block", {.count = 1 << 20, .uses = REDTUNE_USE_DEVICE_COUNT}},
    {"rows", {.count = 1000, .outer = 1000}},
    {"rows", {.count = 1000, .outer = 1000, .accuracy = REDTUNE_ACCURACY_EXACT}},
    {"short", {.count = 2, .outer = 1 << 20}},
    {"staged", {.count = 3, .outer = 1000003}},
    {"columns", {.count = 1000, .inner = 1000}},
    {"columns", {.count = 1000, .inner = 1000, .uses = REDTUNE_USE_ACCUMULATE}},
    {"skewed", {.count = 1000, .inner = 50257}},
    {"thin", {.count = 4, .inner = 1 << 20}},
    {"grouped", {.count = 100, .outer = 100000, .segmented = REDTUNE_SEGMENTED_EACH}},
    {"tiled", {.count = 100, .outer = 100000, .segmented = REDTUNE_SEGMENTED_EACH}},
    {"ragged", {.count = 100, .outer = 100000, .segmented = REDTUNE_SEGMENTED_EACH}},
    {"ragged", {.count = 100, .outer = 100000, .segmented = REDTUNE_SEGMENTED_ALL}},
    {"ordered", {.count = 1 << 20, .order = REDTUNE_ORDER_FIXED}},
    {"ordered", {.count = 1 << 16, .outer = 512, .order = REDTUNE_ORDER_FIXED}},
    {"ordered_rows", {.count = 1000, .outer = 1000, .order = REDTUNE_ORDER_FIXED}},
    {"ordered_columns", {.count = 1000, .inner = 1000, .order = REDTUNE_ORDER_FIXED}},
    {"ordered_segments",
     {.count = 100,
      .outer = 100000,
      .segmented = REDTUNE_SEGMENTED_EACH,
      .order = REDTUNE_ORDER_FIXED}},
    {"grouped", {.count = 100, .outer = 100000, .segmented = REDTUNE_SEGMENTED_EACH}, true},
    {"ordered_segments",
     {.count = 100,
      .outer = 100000,
      .segmented = REDTUNE_SEGMENTED_EACH,
      .order = REDTUNE_ORDER_FIXED},
     true},
    {"keyed", {.count = 1 << 20}, .keys = 300, .key_dtype = REDTUNE_I32},
    {"keyed", {.count = 1 << 20}, .keys = 9, .key_dtype = REDTUNE_I64},
    {"keyed", {.count = 1 << 14, .inner = 64}, .keys = 300, .key_dtype = REDTUNE_I64},
    {"keyed",
     {.count = 1 << 20, .uses = REDTUNE_USE_ACCUMULATE},
     .keys = 300,
     .key_dtype = REDTUNE_U8},
    {"reordered", {.count = 1 << 20}, .keys = 300, .key_dtype = REDTUNE_I32},
    {"keyed", {.count = 1 << 20}, .pairs = true, .keys = 300, .key_dtype = REDTUNE_I32},
    {"keyed",
     {.count = 1 << 20},
     .keys = 300,
     .key_dtype = REDTUNE_I32,
     .mask = REDTUNE_MASK_BYTES},
    {"keyed", {.count = 1 << 20}, .keys = 9, .key_dtype = REDTUNE_U16, .mask = REDTUNE_MASK_BITS},
    {"reordered",
     {.count = 1 << 20},
     .keys = 300,
     .key_dtype = REDTUNE_I32,
     .mask = REDTUNE_MASK_BYTES},
    {"keyed",
     {.count = 1 << 20},
     .pairs = true,
     .keys = 300,
     .key_dtype = REDTUNE_I32,
     .mask = REDTUNE_MASK_BYTES},
    {"reordered",
     {.count = 1 << 20},
     .pairs = true,
     .keys = 300,
     .key_dtype = REDTUNE_I32,
     .mask = REDTUNE_MASK_BITS},
    {"grouped",
     {.count = 1000, .outer = 100000, .segmented = REDTUNE_SEGMENTED_EACH},
     .pairs = true,
     .mask = REDTUNE_MASK_BITS},
    {"ordered_segments",
     {.count = 1000,
      .outer = 100000,
      .segmented = REDTUNE_SEGMENTED_EACH,
      .order = REDTUNE_ORDER_FIXED},
     .pairs = true,
     .mask = REDTUNE_MASK_BYTES},
};
enum { SETS = sizeof sets / sizeof *sets, KERNELS = 48 };

static const int architectures[][2] = {{9, 0}, {8, 0}, {7, 5}, {10, 0}, {12, 0}};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

static redtune_error err;

/* Ops and dtypes that came later are not drawn, so that they change no line. */
enum { OPS = REDTUNE_ARGMAXABS + 1, DTYPES = REDTUNE_F64 };

/* A problem like that one, of a drawn op and dtype, on a drawn architecture, and a drawn config
 * that it may have. */
static void draw(rdt_codegen *codegen, const redtune_problem *like, bool pairs, int family,
                 rdt_random *random, redtune_problem *problem, rdt_facts *facts, rdt_point *point) {
    const rdt_space *space = &rdt_codegen_spaces(codegen)->space[family];
    for (;;) {
        const uint64_t turn = rdt_random_below(random, ARCHITECTURES);
        *facts = *rdt_facts_typical();
        facts->major = architectures[turn][0];
        facts->minor = architectures[turn][1];
        redtune_problem drawn = *like;
        drawn.op = (redtune_op)rdt_random_below(random, OPS);
        drawn.dtype = (redtune_dtype)(REDTUNE_I8 + rdt_random_below(random, DTYPES));
        *point = (rdt_point){.family = family};
        for (int i = 0; i < space->param_count; i++)
            point->value[i] =
                space->param[i]
                    .value[rdt_random_below(random, (uint64_t)space->param[i].value_count)];
        const bool is_meant =
            (!like->segmented && !like->keys) || (rdt_op_find(drawn.op)->inputs > 1) == pairs;
        if (is_meant && !rdt_problem_resolve(&drawn, problem, NULL) &&
            !rdt_rules_check(codegen, (rdt_case){problem, facts}, point, NULL))
            return;
    }
}

static redtune_status print_set(rdt_codegen *codegen, int index, int kernels, bool all) {
    rdt_random random = {.state = (uint64_t)index};
    redtune_problem like = shaped_problem(sets[index].like);
    like.keys = sets[index].keys;
    like.key_dtype = sets[index].key_dtype;
    like.mask = sets[index].mask;
    rdt_hash hash = rdt_hash_begin();
    int family = 0;
    redtune_status status =
        rdt_space_find_family(rdt_codegen_spaces(codegen), sets[index].family, &family, &err);
    for (int i = 0; !status && i < kernels; i++) {
        redtune_problem problem;
        rdt_facts facts;
        rdt_point point;
        char kernel[RDT_KERNEL_BYTES], of[RDT_PROBLEM_TEXT_BYTES], text[RDT_POINT_TEXT_BYTES];
        draw(codegen, &like, sets[index].pairs, family, &random, &problem, &facts, &point);
        status = rdt_kernel_hash_find(codegen, (rdt_case){&problem, &facts}, &point, kernel, &err);
        if (status) break;
        rdt_hash_add_string(&hash, kernel);
        rdt_problem_describe(&problem, of);
        rdt_point_format(rdt_codegen_spaces(codegen), &point, text);
        if (all) printf("%s sm_%d%d %s, %s\n", kernel, facts.major, facts.minor, of, text);
    }
    char text[RDT_HASH_TEXT_BYTES];
    rdt_hash_text(&hash, text);
    if (!status && !all) printf("%s %d %.16s\n", sets[index].family, kernels, text);
    return status;
}

int main(int argc, char **argv) {
    const bool all = argc > 1 && !strcmp(argv[1], "--all");
    const int kernels = argc > 1 + all ? atoi(argv[1 + all]) : KERNELS;
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_codegen_open(&codegen, &err);
    for (int i = 0; !status && i < SETS; i++) status = print_set(codegen, i, kernels, all);
    rdt_codegen_close(codegen);
    if (status) fprintf(stderr, "%s\n", err.message);
    return status ? 1 : 0;
}
