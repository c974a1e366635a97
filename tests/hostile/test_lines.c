/* Facts about importing JSON lines that somebody made to do harm: each file or row is refused,
 * quickly, with a reason in plain text, and the local database stays as it was, bit for bit. */
#define _GNU_SOURCE
#include "refusal.h"
#include "redtune/tune.h"

static char *line; /* an honest one, of a row */

/* The first line, and the honest one with its only match of a part replaced, times so often. */
static bool write_lines(const char *path, const char *part, const char *other, int times) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    const char *at = strstr(line, part);
    fprintf(file, "{\"redtune_tuning\":4}\n");
    for (int i = 0; at && i < times; i++)
        fprintf(file, "%.*s%s%s\n", (int)(at - line), line, other, at + strlen(part));
    return !fclose(file) && at;
}

static const struct {
    const char *name, *part, *other;
    const char *reason; /* "": the row is refused, not the file */
} lines[] = {
    {"a row that is an array", "{", "[{", "line 2"},
    {"a row with more behind it", "}", "} {}", "line 2"},
    {"a row that does not end", "}", "", "line 2"},
    {"a row that is text", "{", "\"{\"", "line 2"},
    {"an unknown member", "\"op\"", "\"" FORGE_MARK "\":1,\"op\"", ""},
    {"a member twice", "\"op\":\"", "\"op\":\"sum\",\"op\":\"", ""},
    {"a member in place of another", "\"cause\":", "\"op\":", ""},
    {"a member less", "\"place\":", "\"no_place\":", ""},
    {"a member within another", "\"op\":\"sum\"", "\"op\":{\"op\":\"sum\"}", ""},
    {"a list for a text", "\"op\":\"sum\"", "\"op\":[\"sum\"]", ""},
    {"a list for no text", "\"cause\":null", "\"cause\":[]", ""},
    {"an object for no text", "\"cause\":null", "\"cause\":{}", ""},
    {"a number for no text", "\"cause\":null", "\"cause\":7", ""},
    {"a truth for a number", "\"is_default\":0", "\"is_default\":false", ""},
    {"a text for a number", "\"samples\":31", "\"samples\":\"31\"", ""},
    {"a text for a time", "\"median_ns\":", "\"median_ns\":\"1\",\"x\":", ""},
    {"a list for a time", "\"median_ns\":", "\"median_ns\":[1],\"x\":", ""},
    {"a real for a number", "\"samples\":31", "\"samples\":31.0", ""},
    {"a real number of SMs", "\"sm_count\":132", "\"sm_count\":1.32e2", ""},
    {"more than 63 bits", "\"samples\":31", "\"samples\":9223372036854775808", ""},
    {"infinity", "\"median_ns\":", "\"median_ns\":1e999,\"x\":", ""},
    {"no escape's end", "\"op\":\"sum\"", "\"op\":\"sum\\\"", "line 2"},
    {"a kernel that is none", "\"kernel\":\"", "\"kernel\":\"x", ""},
    {"another layout", "\"layout\":\"whole\"", "\"layout\":\"" FORGE_MARK "\"", ""},
    {"more than one result", "\"kept\":\"\"", "\"kept\":\"2\"", ""},
    {"rows of one result", "\"layout\":\"whole\"", "\"layout\":\"rows\"", ""},
    {"columns of one result", "\"layout\":\"whole\"", "\"layout\":\"columns\"", ""},
    {"a step written out", "\"kept\":\"\"", "\"kept\":\"1@1\"", ""},
    {"more results than there can be", "\"kept\":\"\"", "\"kept\":\"1099511627776 1099511627776\"",
     ""},
    {"half a surrogate", "\"machine\":\"bench 7\"", "\"machine\":\"\\ud800\"", ""},
    {"a NUL in an escape", "\"machine\":\"bench 7\"", "\"machine\":\"a\\u0000b\"", "NUL"},
    {"an escape code", "\"machine\":\"bench 7\"", "\"machine\":\"\\u001b]0;x\\u0007\"", ""},
    {"a raw escape code", "\"machine\":\"bench 7\"", "\"machine\":\"\033]0;x\a\"", "*"},
    {"a C1 escape code", "\"machine\":\"bench 7\"", "\"machine\":\"\\u009b2J\"", ""},
    {"no UTF-8", "\"machine\":\"bench 7\"", "\"machine\":\"\377\376\200\"", ""},
    {"an overlong form", "\"machine\":\"bench 7\"", "\"machine\":\"\300\257\"", ""},
    {"text that turns round", "\"machine\":\"bench 7\"", "\"machine\":\"\342\200\256x\"", ""},
};

/* A file of bytes again and again behind the first line. */
static bool write_run(const char *path, const char *first, const char *unit, size_t times,
                      const char *last) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    fputs(first, file);
    for (size_t i = 0; i < times; i++) fputs(unit, file);
    fputs(last, file);
    return !fclose(file);
}

#define FIRST "{\"redtune_tuning\":4}\n"
static const struct {
    const char *name, *first, *unit, *last;
    const char *reason; /* "": all rows are refused, not the file */
    size_t times;
} runs[] = {
    {"ten megabytes in a line", FIRST "{\"op\":\"", "x", "\"}\n", "line 2", 10000000},
    {"a deep list", FIRST, "[", "\n", "line 2", 60000},
    {"a deep list of a megabyte", FIRST, "[", "\n", "line 2", 1000000},
    {"a deep object", FIRST, "{\"a\":", "\n", "line 2", 12000},
    {"a deep list that ends", FIRST "{\"op\":", "[1,", "\n", "line 2", 20000},
    {"a line of numbers", FIRST "[1", ",1", "]\n", "line 2", 30000},
    {"two hundred thousand empty rows", FIRST, "{}\n", "", "", 200000},
    {"two hundred thousand empty rows after a space", FIRST, " {}\t\r\n", "", "", 200000},
    {"two hundred thousand rows of a member", FIRST, "{\"op\":0}\n", "", "", 200000},
    {"more than a million rows", FIRST, "{}\n", "", "line 1000002", 1000001},
    {"no first line", "", "{}\n", "", "neither", 10},
    {"a first line without a version", "{\"redtune_tuning\":}\n", "", "", "neither", 0},
    {"a first line with a text", "{\"redtune_tuning\":\"2\"}\n", "", "", "neither", 0},
    {"a first line with more", "{\"redtune_tuning\":2,\"x\":1}\n", "", "", "neither", 0},
    {"a first line that never ends", "{\"redtune_tuning\":", "2", "}\n", "line 1", 1000000},
    {"a newer version", "{\"redtune_tuning\":5}\n", "", "", "version", 0},
    {"a version before all", "{\"redtune_tuning\":1}\n", "", "", "version", 0},
    {"a negative version", "{\"redtune_tuning\":-2}\n", "", "", "version", 0},
    {"a byte-order mark alone", "\357\273\277", "", "", "neither", 0},
    {"two byte-order marks", "\357\273\277\357\273\277" FIRST, "", "", "neither", 0},
    {"blanks alone", "", " \t\r\n", "", "neither", 100000},
    {"a list that does not end", "[" FIRST, "", "", "line 2", 0},
    {"a list with more behind it", "[{\"redtune_tuning\":4}]", "", " {}", "line 1", 0},
    {"a list without commas", "[" FIRST "{}{}]", "", "", "line 2", 0},
    {"a list that ends with a comma", "[{\"redtune_tuning\":4},]", "", "", "line 1", 0},
    {"a list in a list", "[[{\"redtune_tuning\":4}]]", "", "", "neither", 0},
    {"an empty list", "[]", "", "", "neither", 0},
    {"two rows on a line", FIRST, "{}{}\n", "", "line 2", 1},
    {"a version that is a truth", "{\"redtune_tuning\":true}\n", "", "", "neither", 0},
    {"a version twice", "{\"redtune_tuning\":4,\"redtune_tuning\":4}\n", "", "", "neither", 0},
    {"gzip", "\037\213\010", "", "", "gunzip", 0},
    {"UTF-16", "\377\376{", "", "", "UTF-8", 0},
    {"a brace", "{", "", "", "neither", 0},
    {"a row that is a number", FIRST "7\n", "", "", "line 2", 0},
    {"a row that is null", FIRST "null\n", "", "", "line 2", 0},
    {"a row that is none", FIRST FORGE_MARK "\n", "", "", "line 2", 0},
};

static bool read_line(void) {
    size_t bytes = 0;
    if (!forge_lines(in_scratch("theirs.jsonl"))) return false;
    char *whole = read_bytes(in_scratch("theirs.jsonl"), &bytes), *begin = strchr(whole, '\n') + 1;
    /* One that is good, and no default. */
    while (*begin) {
        *strchr(begin, '\n') = '\0';
        if (strstr(begin, "\"good\"") && strstr(begin, "\"is_default\":0") &&
            strstr(begin, "\"op\":\"sum\""))
            break;
        begin += strlen(begin) + 1;
    }
    free(line);
    line = strdup(begin);
    free(whole);
    return line && *line;
}

FACT(hostile_lines_are_refused) {
    const char *path = theirs;
    CHECK(begin_local() && read_line());
    CHECK(write_lines(path, "\"op\"", "\"op\"", 1) && is_taken(path));
    /* A backslash and the rest, which is no NUL. */
    CHECK(write_lines(path, "\"cause\":null", "\"cause\":\"\\\\u0000\"", 1) && is_taken(path));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!write_lines(path, lines[i].part, lines[i].other, 1))
            fprintf(stderr, "cannot write %s\n", lines[i].name);
        CHECK(is_refused(lines[i].name, path, lines[i].reason, !lines[i].reason[0]));
    }
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        CHECK(write_run(path, runs[i].first, runs[i].unit, runs[i].times, runs[i].last));
        CHECK(
            is_refused(runs[i].name, path, runs[i].reason, runs[i].reason[0] ? 0 : runs[i].times));
    }
    CHECK(write_bytes(path, FIRST "{\"op\0\":1}\n", sizeof FIRST + 10));
    CHECK(is_refused("a NUL", path, "NUL", 0));
}

/* ---- what other programs make of honest ones ------------------------------------------------- */

enum { BLANKS = 1, INDENTED = 2, WINDOWS = 4, MARKED = 8, LISTED = 16, WAYS = 32 };

static void put_char(FILE *file, char letter, int ways) {
    if (letter == '\n' && ways & WINDOWS) fputc('\r', file);
    fputc(letter, file);
}

/* As Python's json.dumps, an editor or jq may write it. */
static bool rewrite(const char *path, const char *text, int ways) {
    FILE *file = fopen(path, "wb");
    bool in_text = false;
    if (!file) return false;
    if (ways & MARKED) fputs("\357\273\277", file);
    if (ways & LISTED) fputs("[\n", file);
    for (const char *at = text; *at; at++) {
        if (*at == '"' && (at == text || at[-1] != '\\')) in_text = !in_text;
        if (!in_text && *at == '}' && ways & INDENTED) put_char(file, '\n', ways);
        if (*at == '\n' && at[1] && ways & LISTED) fputc(',', file);
        put_char(file, *at, ways);
        if (in_text || !strchr("{,:", *at)) continue;
        if (*at != ':' && ways & INDENTED) put_char(file, '\n', ways), fputs("  \t", file);
        if (ways & BLANKS) fputc(' ', file);
    }
    if (ways & LISTED) fputs("]\n\n", file);
    return !fclose(file);
}

FACT(what_other_programs_write_is_taken) {
    size_t bytes = 0;
    CHECK(begin_local() && forge_lines(theirs));
    char *text = read_bytes(theirs, &bytes);
    for (int ways = 0; ways < WAYS; ways++) {
        CHECK(rewrite(theirs, text, ways));
        bool good = is_taken(theirs);
        if (!good) fprintf(stderr, "ways %d\n", ways);
        CHECK(good);
    }
    free(text);
}

/* ---- what is said of a row ------------------------------------------------------------------- */

static char said[512];

static void note_refused(void *user, const char *file, const char *reason, uint64_t count) {
    (void)user, (void)file, (void)count;
    snprintf(said, sizeof said, "%s", reason);
}

static const struct {
    const char *part, *other, *said;
} sayings[] = {
    {"\"samples\":31", "\"samples\":31.5", "its samples is not valid: 31.5 in line 3"},
    {"\"samples\":31", "\"samples\":\"31\"", "its samples is not valid: '31' in line 3"},
    {"\"samples\":31", "\"samples\":[3]",
     "its samples is not valid: missing, or no text, number or null in line 3"},
    {"\"dtype\":\"f32\"", "\"dtype\":\"f33\"", "its dtype is not valid: 'f33' in line 3"},
    {"\"op\":\"sum\"", "\"op\":\"sam\"", "import again: sam in line 3"},
    {"\"sm_count\":132", "\"sm_count\":0", "its sm_count is not valid: 0 in line 3"},
    {"\"machine\":\"bench 7\"", "\"machine\":null", "its machine is not valid: null in line 3"},
    {"\"op\":", "\"more\":1,\"op\":", "it has a member that is no column: more in line 3"},
    {"\"place\":", "\"op\":",
     "its place is not valid: missing, or no text, number or null in line 3"},
    {"\"machine\":\"bench 7\"", "\"machine\":\"$(x)\"",
     "its machine's label has odd characters: $(x) in line 3"},
    {"\"templates\":\"", "\"templates\":\"x", "its version of the templates is invalid: x"},
    {"\"kernel\":\"KERNEL", "\"kernel\":\"ABCDEF", "the hash of its kernel is invalid: ABCDEF"},
};

/* A row's line, its column and the value. */
FACT(what_is_wrong_with_a_row_is_said) {
    CHECK(begin_local() && read_line());
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        const char *const files[] = {theirs};
        const redtune_importing wanted = {.database = in_scratch("local.db"),
                                          .files = files,
                                          .file_count = 1,
                                          .refused = note_refused};
        redtune_import_counts report;
        char part[64];
        snprintf(part, sizeof part, "%s", sayings[i].part);
        /* Whatever the kernel is. */
        char *kernel = strstr(part, "KERNEL"), *is = strstr(line, "\"kernel\":\"");
        if (kernel) snprintf(kernel, 7, "%.6s", is + 10);
        CHECK(write_lines(theirs, part, sayings[i].other, 1));
        size_t bytes = 0;
        char *text = read_bytes(theirs, &bytes);
        CHECK(write_bytes(theirs, text, strlen(FIRST)) &&
              forge_patch(theirs, strlen(FIRST), "\n", 1) &&
              forge_patch(theirs, strlen(FIRST) + 1, text + strlen(FIRST), bytes - strlen(FIRST)));
        free(text);
        CHECK_OK(redtune_import(&wanted, &report, &err), err);
        CHECK_INT(report.refused, 1);
        CHECK_INT(report.rows, 1);
        CHECK_CONTAINS(said, sayings[i].said);
        CHECK_CONTAINS(said, "in line 3");
    }
}

int main(int argc, char **argv) {
    int failed = run_facts(argc, argv);
    free(line);
    return failed;
}
