/* Facts about base/text.h: texts that grow, and numbers in them. */
#include "base/text.h"
#include "check.h"
#include "faults.h"

static redtune_error err;

FACT(text_starts_zeroed_and_grows) {
    rdt_text text = {0};
    for (int i = 0; i < 1000; i++) rdt_text_addf(&text, "%d,", i % 10);
    rdt_text_add(&text, "end");
    size_t length = text.length;
    bool terminated = text.data && strlen(text.data) == length;
    bool right = !strncmp(text.data, "0,1,2,", 6) && !strcmp(text.data + length - 3, "end");
    rdt_text_free(&text);
    CHECK_INT(length, 2003);
    CHECK(terminated && right);
    CHECK(!text.data && !text.length && !text.capacity);
}

FACT(text_keeps_nul_bytes) {
    rdt_text text = {0};
    rdt_text_add_bytes(&text, "a\0b", 3);
    bool right = text.length == 3 && !memcmp(text.data, "a\0b", 4);
    rdt_text_free(&text);
    CHECK(right);
}

FACT(text_clear_keeps_the_memory) {
    rdt_text text = {0};
    rdt_text_clear(&text);
    CHECK(!text.data);
    rdt_text_add(&text, "something");
    size_t capacity = text.capacity;
    rdt_text_clear(&text);
    bool right = text.length == 0 && text.capacity == capacity && !*text.data;
    rdt_text_free(&text);
    CHECK(right);
}

FACT(text_take_of_nothing_is_an_empty_string) {
    rdt_text text = {0};
    char *taken = NULL;
    CHECK_OK(rdt_text_take(&text, &taken, &err), err);
    bool empty = taken && !*taken;
    free(taken);
    CHECK(empty && !text.data);
}

FACT(text_remembers_a_failed_allocation) {
    for (long n = 1; faults_begin(n); n++) {
        rdt_text text = {0};
        char *taken = NULL;
        for (int i = 0; i < 200; i++) rdt_text_addf(&text, "%d-%s;", i, "abc");
        redtune_status status = rdt_text_take(&text, &taken, &err);
        bool failed = faults_end();
        size_t length = taken ? strlen(taken) : 0;
        free(taken);
        CHECK_INT(status, failed ? REDTUNE_MEMORY : REDTUNE_OK);
        CHECK(!text.data);
        CHECK_INT(length, failed ? 0 : 1490);
    }
}

FACT(text_copy_cuts) {
    char out[4] = "xyz";
    rdt_text_copy(out, sizeof out, "abcdef");
    CHECK_TEXT(out, "abc");
    rdt_text_copy(out, sizeof out, "a");
    CHECK_TEXT(out, "a");
}

/* What may be shown: printable characters of UTF-8 that neither steer a terminal nor turn the
 * writing round. */
FACT(text_is_plain_where_it_may_be_shown) {
    static const char *const plain[] = {"", "NVIDIA H200", "B\u00fcro 7", "\u00a0\u20ac\U0001f600",
                                        "~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}"};
    static const char *const strange[] = {"\n",           "\t",           "\x1b[2J",
                                          "a\x7f",        "\xc2\x9b",     "\x9b",
                                          "\xc0\xaf",     "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                          "\xe2\x82",     "\xe2\x80\xae", "\xe2\x80\xa8",
                                          "\xe2\x81\xa6", "\xef\xbb\xbf", "\xff"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) CHECK(rdt_text_is_plain(plain[i]));
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        char out[8];
        CHECK(!rdt_text_is_plain(strange[i]));
        rdt_text_copy_plain(out, sizeof out, strange[i]);
        CHECK(rdt_text_is_plain(out));
    }
}

FACT(text_copy_plain_cuts_between_characters) {
    char out[6];
    rdt_text_copy_plain(out, sizeof out, "abc\u00fc\u00fc");
    CHECK_TEXT(out, "abc\u00fc");
    rdt_text_copy_plain(out, sizeof out, "abcd\u00fc");
    CHECK_TEXT(out, "abcd");
    rdt_text_copy_plain(out, sizeof out,
                        "a\x1b\x9b"
                        "b\n");
    CHECK_TEXT(out, "a??b?");
}

FACT(text_reads_whole_numbers) {
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"-1", -1},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t value = 99;
        CHECK(rdt_text_to_int64(good[i].text, strlen(good[i].text), &value));
        CHECK_INT(value, good[i].value);
    }
}

FACT(text_refuses_what_is_no_whole_number) {
    static const char *const bad[] = {
        "",
        "-",
        "+1",
        " 1",
        "1 ",
        "1.0",
        "0x10",
        "1e3",
        "--1",
        "1-",
        "9223372036854775808",
        "-9223372036854775809",
        "100000000000000000000000000",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t value = 99;
        bool read = rdt_text_to_int64(bad[i], strlen(bad[i]), &value);
        if (read) fprintf(stderr, "read \"%s\"\n", bad[i]);
        CHECK(!read);
        CHECK_INT(value, 99);
    }
}

FACT(text_reads_no_further_than_length) {
    int64_t value = 0;
    CHECK(rdt_text_to_int64("1234", 2, &value));
    CHECK_INT(value, 12);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
