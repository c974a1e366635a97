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
    fprintf(file, "{\"redtune_tuning\":3}\n");
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
    {"a kernel of other characters", "\"kernel\":\"", "\"kernel\":\"0123456789abcdeg\",\"x\":\"",
     ""},
    {"another layout", "\"layout\":\"whole\"", "\"layout\":\"" FORGE_MARK "\"", ""},
    {"more than one result", "\"outer\":1", "\"outer\":2", ""},
    {"rows of one result", "\"layout\":\"whole\"", "\"layout\":\"rows\"", ""},
    {"columns of one result", "\"layout\":\"whole\"", "\"layout\":\"columns\"", ""},
    {"a step written out", "\"step\":0", "\"step\":1", ""},
    {"more results than there can be", "\"outer\":1,\"inner\":1",
     "\"outer\":1099511627776,\"inner\":1099511627776", ""},
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

#define FIRST "{\"redtune_tuning\":3}\n"
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
    {"two million empty lines", FIRST, "\n", "", "line", 2000000},
    {"no first line", "", "{}\n", "", "neither", 10},
    {"a first line without a version", "{\"redtune_tuning\":}\n", "", "", "neither", 0},
    {"a first line with a text", "{\"redtune_tuning\":\"2\"}\n", "", "", "neither", 0},
    {"a first line with more", "{\"redtune_tuning\":2,\"x\":1}\n", "", "", "neither", 0},
    {"a first line that never ends", "{\"redtune_tuning\":", "2", "}\n", "line 1", 1000000},
    {"a newer version", "{\"redtune_tuning\":4}\n", "", "", "version", 0},
    {"a version before all", "{\"redtune_tuning\":1}\n", "", "", "version", 0},
    {"a negative version", "{\"redtune_tuning\":-2}\n", "", "", "version", 0},
    {"a byte-order mark", "\357\273\277" FIRST, "", "", "neither", 0},
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

static void hostile_lines_are_refused(void) {
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

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(hostile_lines_are_refused),
    };
    int failed = run_facts(facts, sizeof facts / sizeof *facts, argc, argv);
    free(line);
    return failed;
}
