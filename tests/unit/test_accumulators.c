/* Facts about accumulators: those that the model counts with are those of the templates. */
#include "check.h"
#include "shaped.h"
#include "codegen/codegen.h"
#include "model/problem.h"

static rdt_codegen *codegen;
static redtune_error err;

/* Of a type in a kernel; 0: unknown. */
static int bytes_of_type(const char *type) {
    static const struct {
        const char *type;
        int bytes;
    } types[] = {{"int", 4}, {"u32", 4},    {"float", 4}, {"i64", 8},
                 {"u64", 8}, {"double", 8}, {"arg", 16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].type, type)) return types[i].bytes;
    return 0;
}

/* Of the source's struct of several fields, a line each, as C lays it out. */
static int bytes_of_record(const char *source) {
    const char *line = strstr(source, "struct record {\n");
    int bytes = 0, widest = 1;
    char type[24];
    for (line = line ? strchr(line, '\n') + 1 : "}"; *line != '}'; line = strchr(line, '\n') + 1) {
        const int each = sscanf(line, " %20s", type) == 1 ? bytes_of_type(type) : 0;
        if (!each) return 0;
        bytes = (bytes + each - 1) / each * each + each;
        if (widest < each) widest = each;
    }
    return (bytes + widest - 1) / widest * widest;
}

/* Of an exact sum: words of the integer, and one more. */
static int bytes_of_words(const char *source) {
    const char *found = strstr(source, "WORDS_OF_SUM = ");
    int words = 0;
    return found && sscanf(found, "WORDS_OF_SUM = %d", &words) == 1 ? 4 * (words + 1) : 0;
}

static int bytes_in_template(const redtune_problem *problem) {
    const rdt_case at = {problem, rdt_facts_typical()};
    rdt_point point;
    char *source = NULL, type[24] = "";
    if (rdt_rules_default(codegen, at, &point, &err) ||
        rdt_render_source(codegen, at, &point, false, &source, &err))
        return -1;
    const char *found = strstr(source, " accumulator;");
    while (found && found > source && found[-1] != '\n') found--;
    const bool there = found && sscanf(found, "typedef %20s accumulator;", type) == 1;
    const int bytes = !there                                        ? -1
                      : problem->accuracy == REDTUNE_ACCURACY_EXACT ? bytes_of_words(source)
                      : strcmp(type, "record")                      ? bytes_of_type(type)
                                                                    : bytes_of_record(source);
    free(source);
    return bytes;
}

/* What rdt_problem_accumulator_bytes says is what the templates do. */
FACT(accumulators_are_those_of_the_templates) {
    enum { DTYPES = REDTUNE_DTYPE_END - 1 };
    int tried = 0, accurate = 0;
    CHECK_OK(rdt_codegen_open(&codegen, &err), err);
    for (int op = 0; op < rdt_op_compiled_in.count; op++)
        for (int i = 0; i < DTYPES * (REDTUNE_ACCURACY_EXACT + 1); i++) {
            const redtune_accuracy accuracy = (redtune_accuracy)(i / DTYPES);
            redtune_problem problem =
                PROBLEM(.op = (redtune_op)op, .dtype = (redtune_dtype)(REDTUNE_I8 + i % DTYPES),
                        .count = 1 << 20, .accuracy = accuracy);
            if (rdt_problem_resolve(&problem, &problem, &err)) continue;
            if (problem.accuracy != accuracy) continue; /* as the plain one */
            const int bytes = bytes_in_template(&problem);
            if (!check_that(rdt_problem_accumulator_bytes(&problem) == bytes, __FILE__, __LINE__,
                            "%s of %s, accuracy %d, has accumulators of %d bytes",
                            redtune_op_name(problem.op), redtune_dtype_name(problem.dtype),
                            (int)accuracy, bytes))
                return;
            tried++;
            accurate += accuracy != REDTUNE_ACCURACY_PLAIN;
        }
    CHECK(tried > 200 && accurate == (7 + 1) * 6 /* floats */);
}

int main(int argc, char **argv) {
    int failed = check_run(argc, argv);
    rdt_codegen_close(codegen);
    return failed;
}
