/* Sizes as people write them, and numbers that read back the same. */
#include <float.h>
#include <math.h>

#include "check.h"
#include "cli/number.h"

FACT(count_reads_suffixes) {
    static const struct {
        const char *text;
        uint64_t count;
    } rows[] = {{"1", 1},
                {"1000", 1000},
                {"1K", 1024},
                {"3M", 3u << 20},
                {"4G", 4ull << 30},
                {"2T", 2ull << 40},
                {"007", 7},
                {"1k", 1024},
                {"16Mi", 16u << 20},
                {"1e6", 1000000},
                {"1.5K", 1536},
                {"1.0", 1},
                {"1e18", 1000000000000000000},
                {"1048576T", 1ull << 60},
                {"1152921504606846976", 1ull << 60}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t count = 0;
        CHECK(rdt_number_read_count(rows[i].text, strlen(rows[i].text), &count));
        CHECK_INT(count, rows[i].count);
    }
}

FACT(count_refuses_others) {
    static const char *const rows[] = {"",
                                       "0",
                                       "K",
                                       "1e",
                                       "1e19",
                                       "1e-3",
                                       "1.e3",
                                       ".5K",
                                       "1.0001K",
                                       "0.0",
                                       "1Kb",
                                       "1KB",
                                       "-1",
                                       "1.5",
                                       " 1",
                                       "1 ",
                                       "1048577T",
                                       "0x10",
                                       "1152921504606846977",
                                       "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t count;
        CHECK(!rdt_number_read_count(rows[i], strlen(rows[i]), &count));
    }
}

FACT(counts_are_lists_of_ranges) {
    uint64_t counts[RDT_NUMBER_COUNT_MAX];
    size_t n = 0;
    redtune_error err;
    CHECK_OK(rdt_number_read_counts("1K..8K,100,2K,5..9", counts, &n, &err), err);
    CHECK_INT(n, 6);
    CHECK_INT(counts[0], 1024);
    CHECK_INT(counts[3], 8192);
    CHECK_INT(counts[4], 100);
    CHECK_INT(counts[5], 8);
    CHECK_OK(rdt_number_read_counts("1..1048576T", counts, &n, &err), err);
    CHECK_INT(n, 61);
}

FACT(counts_name_what_is_wrong) {
    static const char *const rows[][2] = {
        {"8K..1K", "'8K..1K' runs backwards"},
        {"5..6", "no power of two lies in '5..6'"},
        {"1K,,2K", "'' is no size"},
        {"1K,2X", "'2X' is no size"},
        {"1K..", "'1K..' is no size"},
        {"..1K", "'..1K' is no size"},
        {"1K...4K", "'1K...4K' is no size"},
        {"", "'' is no size"},
        {"1K,", "'' is no size"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t counts[RDT_NUMBER_COUNT_MAX];
        size_t n = 7;
        redtune_error err;
        CHECK_FAILS(rdt_number_read_counts(rows[i][0], counts, &n, &err), REDTUNE_INVALID, err,
                    rows[i][1]);
        CHECK_INT(n, 7);
    }
}

FACT(too_many_counts_are_refused) {
    char list[RDT_NUMBER_COUNT_MAX * 8] = "1";
    uint64_t counts[RDT_NUMBER_COUNT_MAX];
    size_t n;
    redtune_error err;
    for (int i = 2; i <= RDT_NUMBER_COUNT_MAX; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ",%d", i);
    CHECK_OK(rdt_number_read_counts(list, counts, &n, &err), err);
    CHECK_INT(n, RDT_NUMBER_COUNT_MAX);
    strcat(list, ",999");
    CHECK_FAILS(rdt_number_read_counts(list, counts, &n, &err), REDTUNE_INVALID, err, "more than");
}

FACT(counts_print_exactly) {
    static const struct {
        uint64_t count;
        const char *text;
    } rows[] = {{0, "0"},       {1, "1"},        {1000, "1000"},      {1024, "1K"},
                {1536, "1536"}, {1 << 20, "1M"}, {3u << 29, "1536M"}, {1ull << 60, "1048576T"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[RDT_NUMBER_BYTES];
        rdt_number_print_count(text, rows[i].count);
        CHECK_TEXT(text, rows[i].text);
    }
}

static void print_float(char text[RDT_NUMBER_BYTES], float number) {
    const redtune_value value = {.f32 = number};
    rdt_number_print_value(text, REDTUNE_F32, &value, NULL);
}

FACT(reals_print_shortly) {
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0.1, "0.1"},
                {499500, "499500"},
                {-0.0, "-0"},
                {1e15, "1e+15"},
                {1.0 / 3, "0.3333333333333333"},
                {NAN, "nan"},
                {-NAN, "nan"},
                {INFINITY, "inf"},
                {-INFINITY, "-inf"},
                {DBL_MAX, "1.7976931348623157e+308"}};
    char text[RDT_NUMBER_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rdt_number_print_double(text, rows[i].value);
        CHECK_TEXT(text, rows[i].text);
    }
    print_float(text, 0.1f);
    CHECK_TEXT(text, "0.1");
    print_float(text, 16777216.0f);
    CHECK_TEXT(text, "16777216");
    print_float(text, FLT_MAX);
    CHECK_TEXT(text, "3.4028235e+38");
}

FACT(reals_read_back) {
    uint64_t state = 88172645463325252;
    for (int round = 0; round < 20000; round++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        char text[RDT_NUMBER_BYTES];
        double wide;
        float narrow;
        memcpy(&wide, &state, sizeof wide);
        memcpy(&narrow, &state, sizeof narrow);
        rdt_number_print_double(text, wide);
        CHECK(isnan(wide) || strtod(text, NULL) == wide);
        print_float(text, narrow);
        CHECK(isnan(narrow) || strtof(text, NULL) == narrow);
    }
}

/* By the formats' definitions: what is printed lies nearer to the value than to its neighbours. */
FACT(halves_read_back) {
    static const struct {
        redtune_dtype dtype;
        int fraction_bits, exponent_min, infinity;
    } formats[] = {{REDTUNE_F16, 10, -14, 0x7c00},
                   {REDTUNE_BF16, 7, -126, 0x7f80},
                   {REDTUNE_E4M3, 3, -6, 0x7f},
                   {REDTUNE_E5M2, 2, -14, 0x7c}};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int bits = 0; bits < formats[f].infinity; bits++) {
            int fraction = bits & ((1 << formats[f].fraction_bits) - 1);
            int exponent = bits >> formats[f].fraction_bits;
            int least = formats[f].exponent_min - formats[f].fraction_bits;
            double value =
                exponent ? ldexp(fraction + (1 << formats[f].fraction_bits), exponent - 1 + least)
                         : ldexp(fraction, least);
            double above = ldexp(1, (exponent ? exponent - 1 : 0) + least);
            double below = fraction || exponent < 2 ? above : above / 2;
            char text[RDT_NUMBER_BYTES];
            redtune_error err;
            redtune_value from = {.u16 = (uint16_t)bits};
            CHECK_OK(rdt_number_print_value(text, formats[f].dtype, &from, &err), err);
            double back = strtod(text, NULL);
            CHECK(back <= value + above / 2 && back >= value - below / 2);
            CHECK(strlen(text) <= 15);
        }
}

FACT(halves_print_shortly) {
    static const struct {
        redtune_dtype dtype;
        int bits;
        const char *text;
    } rows[] = {{REDTUNE_F16, 0x2e66, "0.1"},       {REDTUNE_F16, 0x7bff, "65504"},
                {REDTUNE_F16, 0x8000, "-0"},        {REDTUNE_F16, 0x0001, "6e-08"},
                {REDTUNE_F16, 0xfc00, "-inf"},      {REDTUNE_F16, 0x7e00, "nan"},
                {REDTUNE_BF16, 0x3dcd, "0.1"},      {REDTUNE_BF16, 0x4049, "3.14"},
                {REDTUNE_BF16, 0x7f7f, "3.39e+38"}, {REDTUNE_BF16, 0xffc0, "nan"},
                {REDTUNE_BF16, 0x7f80, "inf"},      {REDTUNE_BF16, 0x0001, "9e-41"},
                {REDTUNE_E4M3, 0x7e, "448"},        {REDTUNE_E4M3, 0xff, "nan"},
                {REDTUNE_E4M3, 0x3f, "1.9"},        {REDTUNE_E5M2, 0xfb, "-57344"},
                {REDTUNE_E5M2, 0xfc, "-inf"},       {REDTUNE_E5M2, 0x01, "2e-05"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[RDT_NUMBER_BYTES];
        redtune_error err;
        redtune_value value = {.u16 = (uint16_t)rows[i].bits};
        CHECK_OK(rdt_number_print_value(text, rows[i].dtype, &value, &err), err);
        CHECK_TEXT(text, rows[i].text);
    }
}

FACT(integers_print_in_full) {
    redtune_value value = {.u64 = UINT64_MAX};
    static const char *const wanted[] = {"-1", "255",        "-1", "65535",
                                         "-1", "4294967295", "-1", "18446744073709551615"};
    for (int dtype = REDTUNE_I8; dtype <= REDTUNE_U64; dtype++) {
        char text[RDT_NUMBER_BYTES];
        redtune_error err;
        CHECK_OK(rdt_number_print_value(text, (redtune_dtype)dtype, &value, &err), err);
        CHECK_TEXT(text, wanted[dtype - REDTUNE_I8]);
    }
}

FACT(values_print_by_dtype) {
    char text[RDT_NUMBER_BYTES];
    redtune_error err;
    redtune_value value = {.i64 = INT64_MIN};
    CHECK_OK(rdt_number_print_value(text, REDTUNE_I64, &value, &err), err);
    CHECK_TEXT(text, "-9223372036854775808");
    value.i32 = -7;
    CHECK_OK(rdt_number_print_value(text, REDTUNE_I32, &value, &err), err);
    CHECK_TEXT(text, "-7");
    value.f32 = 0.5f;
    CHECK_OK(rdt_number_print_value(text, REDTUNE_F32, &value, &err), err);
    CHECK_TEXT(text, "0.5");
    CHECK_FAILS(rdt_number_print_value(text, REDTUNE_DTYPE_NONE, &value, &err), REDTUNE_UNSUPPORTED,
                err, "dtype 0");
}

int main(int argc, char **argv) { return check_run(argc, argv); }
