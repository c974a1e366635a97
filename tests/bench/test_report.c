/* Facts about bench/report.h and bench/summary.h, seen on made-up times. */
#include "tests/check.h"

#include "bench/dry.h"
#include "bench/summary.h"

/* What a dry run with these options prints. The caller frees it. */
static char *print(bench_format format, const char *dtypes, bool floor) {
    char list[64];
    snprintf(list, sizeof list, "%s", dtypes);
    char *words[] = {"--op", "sum,min", "--bytes", "2K,64K", "--dtype", list};
    bench_options options;
    redtune_error err;
    FILE *file = tmpfile();
    if (!file || bench_options_parse(words, 6, &options, &err)) return NULL;
    options.format = format;
    options.floor = floor;
    char *text = calloc(1, 1 << 20);
    if (text && !bench_dry_run(&options, file, &err)) {
        rewind(file);
        text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
    }
    fclose(file);
    return text;
}

static size_t count_parts(const char *text, const char *part) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

static size_t count_commas(const char *line, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) n += line[i] == ',';
    return n;
}

FACT(text_has_rows_and_a_summary) {
    char *text = print(BENCH_TEXT, "f32,i8", false);
    CHECK(text);
    CHECK_INT(count_parts(text, "\n"), 2 + 1 + 2 * 2 * 2 * 3 + 2 + 2 * 3 * 3);
    CHECK_CONTAINS(text, "64 KiB  stream");
    CHECK(!strstr(text, "floor"));
    CHECK_INT(count_parts(text, "  all "), 2 * 3);
    free(text);
}

FACT(text_has_the_floor_if_asked) {
    char *text = print(BENCH_TEXT, "f32", true);
    CHECK(text);
    CHECK_INT(count_parts(text, "tuned/floor"), 2);
    free(text);
}

FACT(text_is_aligned) {
    char *text = print(BENCH_TEXT, "f32,bf16", true);
    CHECK(text);
    const char *header = strstr(text, "\nop") + 1;
    const char *column = strstr(header, "launches");
    size_t end = (size_t)(column - header) + strlen("launches");
    int rows = 0;
    for (const char *line = strchr(header, '\n') + 1; *line != '\n';
         line = strchr(line, '\n') + 1) {
        CHECK(!strncmp(line + end - 5, "2 1 1  exact\n", 13));
        rows++;
    }
    CHECK_INT(rows, 2 * 2 * 2 * 3);
    free(text);
}

FACT(csv_has_equally_many_fields_in_every_line) {
    char *text = print(BENCH_CSV, "f32", true);
    CHECK(text);
    size_t fields = count_commas(text, strcspn(text, "\n")), lines = 0;
    CHECK_INT(fields, 5 + BENCH_CONTESTANTS * 6);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++)
        CHECK_INT(count_commas(line, strcspn(line, "\n")), fields);
    CHECK_INT(lines, 1 + 2 * 2 * 3);
    free(text);
}

FACT(json_is_balanced) {
    char *text = print(BENCH_JSON, "f32,u8", true);
    CHECK(text);
    CHECK_INT(count_parts(text, "{"), count_parts(text, "}"));
    CHECK_INT(count_parts(text, "["), count_parts(text, "]"));
    CHECK_INT(count_parts(text, "\"mode\": \"cold\", \"agree\": true"), 2 * 2 * 2);
    CHECK_INT(count_parts(text, "\"tuned_over_floor\""), 2 * 2 * 3);
    CHECK(!strstr(text, ",]") && !strstr(text, ",\n]") && !strstr(text, "}\n{"));
    free(text);
}

FACT(summary_leaves_sizes_out_of_the_floor_range) {
    bench_summaries summaries = {0};
    bench_row row = {.op = "sum", .dtype = bench_dtype_find("u8"), .mode = BENCH_COLD};
    row.times[BENCH_CUB].median_ns = 6;
    row.times[BENCH_TUNED].median_ns = 3;
    row.times[BENCH_FLOOR].median_ns = 2;
    static const uint64_t counts[] = {4095, 4096, UINT64_C(1) << 30, (UINT64_C(1) << 30) + 1};
    for (int i = 0; i < 4; i++) {
        row.count = counts[i];
        bench_summaries_add(&summaries, &row);
    }
    bench_summaries_total(&summaries);
    CHECK_INT(summaries.count, 2);
    CHECK_TEXT(summaries.list[1].dtype, "all");
    for (int i = 0; i < 2; i++) {
        CHECK_INT(summaries.list[i].tuned.n, 4);
        CHECK_INT(summaries.list[i].untuned.n, 0);
        CHECK_INT(summaries.list[i].above_floor.n, 2);
        CHECK(summaries.list[i].above_floor.max == 1.5);
    }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
