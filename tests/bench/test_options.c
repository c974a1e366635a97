/* Facts about bench/options.h. */
#include "tests/check.h"

#include "bench/options.h"

static bench_options options;
static redtune_error err;

/* Parses words that are separated by blanks. */
static redtune_status parse(const char *line) {
    static char copy[512];
    char *words[32];
    int n = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word && n < 32; word = strtok(NULL, " "))
        words[n++] = word;
    return bench_options_parse(words, n, &options, &err);
}

FACT(nothing_is_sums_of_all_in_all_modes) {
    CHECK_OK(parse(""), err);
    CHECK_INT(options.op_count, 1);
    CHECK_TEXT(options.ops[0], "sum");
    CHECK_INT(options.dtype_count, 12);
    CHECK_INT(options.size_count, 21);
    CHECK(options.sizes[0].bytes && options.sizes[20].value == 1 << 30);
    CHECK(options.modes[BENCH_COLD] && options.modes[BENCH_WARM] && options.modes[BENCH_STREAM]);
    CHECK(!options.modes[BENCH_APART]);
    CHECK(options.samples > 0 && !options.database && !options.floor && !options.dry);
}

FACT(lists_are_taken_in_order) {
    CHECK_OK(parse("--op argmax,sum --dtype=u8,f64"), err);
    CHECK_TEXT(options.ops[0], "argmax");
    CHECK_TEXT(options.ops[1], "sum");
    CHECK_INT(options.dtype_count, 2);
    CHECK_TEXT(options.dtypes[1]->name, "f64");
}

FACT(sizes_are_numbers_and_ranges) {
    CHECK_OK(parse("--size 1000,4K..16K --bytes 1G"), err);
    static const uint64_t wanted[] = {1000, 4096, 8192, 16384, UINT64_C(1) << 30};
    CHECK_INT(options.size_count, 5);
    for (int i = 0; i < 5; i++) CHECK_INT(options.sizes[i].value, wanted[i]);
    CHECK(!options.sizes[3].bytes && options.sizes[4].bytes);
}

FACT(a_size_in_bytes_is_of_whole_elements) {
    const bench_dtype *f64 = bench_dtype_find("f64");
    CHECK_INT(bench_size_count(&(bench_size){1027, true}, f64), 128);
    CHECK_INT(bench_size_count(&(bench_size){1027, false}, f64), 1027);
}

FACT(a_mode_that_is_given_is_the_only_one) {
    CHECK_OK(parse("--warm --floor --format json"), err);
    CHECK(options.modes[BENCH_WARM] && !options.modes[BENCH_COLD] && !options.modes[BENCH_STREAM]);
    CHECK(options.floor && options.format == BENCH_JSON);
}

FACT(the_order_is_free_unless_it_is_fixed) {
    CHECK_OK(parse("--cold"), err);
    CHECK(!options.fixed);
    CHECK_OK(parse("--cold --fixed"), err);
    CHECK(options.fixed);
}

FACT(wrong_words_are_refused) {
    CHECK_FAILS(parse("--speed"), REDTUNE_INVALID, err, "--speed");
    CHECK_FAILS(parse("sum"), REDTUNE_INVALID, err, "sum");
    CHECK_FAILS(parse("--op"), REDTUNE_INVALID, err, "needs a value");
    CHECK_FAILS(parse("--cold=1"), REDTUNE_INVALID, err, "takes no value");
    CHECK_FAILS(parse("--fixed=1"), REDTUNE_INVALID, err, "takes no value");
    CHECK_FAILS(parse("--op mode"), REDTUNE_INVALID, err, "mode");
    CHECK_FAILS(parse("--dtype f8"), REDTUNE_INVALID, err, "f8");
    CHECK_FAILS(parse("--format xml"), REDTUNE_INVALID, err, "xml");
    CHECK_FAILS(parse("--samples 0"), REDTUNE_INVALID, err, "0");
    CHECK_FAILS(parse("--device one"), REDTUNE_INVALID, err, "one");
}

FACT(wrong_sizes_are_refused) {
    static const char *const wrong[] = {"0",     "K",    "1T", "1KK",  "-1", "9999999999999",
                                        "4K..1", "1K..", "..", "1,,2", "1,"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[64];
        snprintf(line, sizeof line, "--size %s", wrong[i]);
        CHECK_FAILS(parse(line), REDTUNE_INVALID, err, "no size");
    }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
