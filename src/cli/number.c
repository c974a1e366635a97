/* Number: sizes as people write them, and values printed so that they read back the same. */
#include "cli/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/message.h"

static const uint64_t count_max = UINT64_C(1) << 60;
static const char suffixes[] = "KMGT";

/* The digits of text[0..length), and how many of them stand behind the point; the bytes read. */
static size_t read_digits(const char *text, size_t length, uint64_t *value, int *fraction) {
    bool point = false;
    size_t i = 0;
    for (*value = 0, *fraction = 0; i < length && *value <= count_max; i++) {
        if (text[i] == '.' && !point && i) {
            point = true;
        } else if (text[i] >= '0' && text[i] <= '9') {
            *value = *value * 10 + (uint64_t)(text[i] - '0');
            *fraction += point;
        } else {
            break;
        }
    }
    return i && text[i - 1] == '.' ? 0 : i;
}

/* The shift of "K", "k", "Ki", ...; -1: another text. */
static int read_suffix(const char *text, size_t length) {
    if (!length) return 0;
    const char letter = *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text;
    const char *suffix = letter ? strchr(suffixes, letter) : NULL;
    if (!suffix || length > 2 || (length == 2 && text[1] != 'i')) return -1;
    return 10 * (int)(suffix - suffixes + 1);
}

/* value * 10^power * 2^shift, where that is a whole number of at most count_max. */
static bool scale(uint64_t value, int power, int shift, uint64_t *count) {
    for (; power < 0; power++) {
        if (value % 10 == 0)
            value /= 10;
        else if (value % 5 == 0 && shift)
            value /= 5, shift--;
        else
            return false;
    }
    for (; power > 0 && value <= count_max; power--) value *= 10;
    if (!value || value > count_max >> shift) return false;
    *count = value << shift;
    return true;
}

bool rdt_number_read_count(const char *text, size_t length, uint64_t *count) {
    uint64_t value, power = 0;
    int fraction, none, shift;
    size_t at = read_digits(text, length, &value, &fraction);
    if (!at || value > count_max) return false;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        const size_t digits = read_digits(text + at + 1, length - at - 1, &power, &none);
        if (!digits || none || power > 18) return false;
        at += 1 + digits;
    }
    shift = read_suffix(text + at, length - at);
    return shift >= 0 && scale(value, (int)power - fraction, shift, count);
}

static redtune_status no_size(const char *text, size_t length, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "'%.*s' is no size; give a whole number of elements from 1 to 2^60, "
                           "such as 1000, 1e6, 4K or 256M, or a range such as 1K..256M",
                           (int)(length < 60 ? length : 60), text);
}

static redtune_status add_count(uint64_t *counts, size_t *count_count, uint64_t count,
                                redtune_error *err) {
    for (size_t i = 0; i < *count_count; i++)
        if (counts[i] == count) return REDTUNE_OK;
    if (*count_count == RDT_NUMBER_COUNT_MAX)
        return rdt_message_set(err, REDTUNE_INVALID, 0, "more than %d sizes; give fewer",
                               RDT_NUMBER_COUNT_MAX);
    counts[(*count_count)++] = count;
    return REDTUNE_OK;
}

static redtune_status add_range(const char *text, size_t length, const char *dots, uint64_t *counts,
                                size_t *count_count, redtune_error *err) {
    uint64_t first, last;
    size_t first_length = (size_t)(dots - text);
    if (!rdt_number_read_count(text, first_length, &first) ||
        !rdt_number_read_count(dots + 2, length - first_length - 2, &last))
        return no_size(text, length, err);
    if (first > last)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "the range '%.*s' runs backwards; give the smaller size first",
                               (int)length, text);
    uint64_t count = 1;
    while (count < first) count *= 2;
    if (count > last)
        return rdt_message_set(err, REDTUNE_INVALID, 0, "no power of two lies in '%.*s'",
                               (int)length, text);
    for (; count <= last; count *= 2) {
        redtune_status status = add_count(counts, count_count, count, err);
        if (status) return status;
    }
    return REDTUNE_OK;
}

redtune_status rdt_number_read_counts(const char *list, uint64_t counts[RDT_NUMBER_COUNT_MAX],
                                      size_t *count_count, redtune_error *err) {
    size_t found = 0;
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        const char *dots = strstr(at, "..");
        uint64_t count;
        redtune_status status = REDTUNE_OK;
        if (dots && dots < at + length)
            status = add_range(at, length, dots, counts, &found, err);
        else if (rdt_number_read_count(at, length, &count))
            status = add_count(counts, &found, count, err);
        else
            status = no_size(at, length, err);
        if (status) return status;
        at += length;
        if (!*at) break;
    }
    *count_count = found;
    return REDTUNE_OK;
}

void rdt_number_print_count(char out[RDT_NUMBER_BYTES], uint64_t count) {
    int shifts = 0;
    while (count && count % 1024 == 0 && shifts < 4) {
        count /= 1024;
        shifts++;
    }
    char suffix[2] = {shifts ? suffixes[shifts - 1] : '\0', '\0'};
    snprintf(out, RDT_NUMBER_BYTES, "%" PRIu64 "%s", count, suffix);
}

/* ---- values that read back the same ---------------------------------------------------------- */

/* The nearest number of the dtype, in a format of unlimited range above. */
static double read_as(const redtune_dtype_info *dtype, const char *text) {
    if (dtype->bytes == sizeof(float)) return (double)strtof(text, NULL); /* rounds once */
    const double value = strtod(text, NULL);
    if (value == 0 || isinf(value)) return value;
    const int exponent_min = 2 - (1 << (dtype->exponent_bits - 1));
    const int exponent = ilogb(value) > exponent_min ? ilogb(value) : exponent_min;
    const int shift = dtype->fraction_bits - exponent;
    return ldexp(nearbyint(ldexp(value, shift)), -shift);
}

/* The fewest digits that read gives the value for. Apart from them stand NaN, whose sign the C
 * library would print, and whole numbers, which %g would write as 4.995e+05: below 10^15 all their
 * digits are exact. Every double reads back at 17 digits, and narrower floats at fewer. */
static void print_shortest(char out[RDT_NUMBER_BYTES], double value,
                           const redtune_dtype_info *dtype) {
    if (isnan(value)) {
        snprintf(out, RDT_NUMBER_BYTES, "nan");
    } else if (fabs(value) < 1e15 && value == (double)(int64_t)value) {
        snprintf(out, RDT_NUMBER_BYTES, "%.0f", value);
    } else {
        int digits = 1;
        do snprintf(out, RDT_NUMBER_BYTES, "%.*g", digits++, value);
        while (read_as(dtype, out) != value && digits <= 17);
    }
}

redtune_status rdt_number_print_value(char out[RDT_NUMBER_BYTES], redtune_dtype dtype,
                                      const redtune_value *value, redtune_error *err) {
    redtune_dtype_info info;
    uint64_t bits = 0;
    if (redtune_dtype_get(dtype, &info, NULL))
        return rdt_message_set(err, REDTUNE_UNSUPPORTED, 0, "cannot print a value of dtype %d",
                               (int)dtype);
    memcpy(&bits, value, info.bytes);
    const size_t unused = 64 - 8 * info.bytes;
    if (info.kind == 'f')
        print_shortest(out, redtune_value_real(dtype, value), &info);
    else if (info.kind == 'u')
        snprintf(out, RDT_NUMBER_BYTES, "%" PRIu64, bits);
    else
        snprintf(out, RDT_NUMBER_BYTES, "%" PRId64, (int64_t)(bits << unused) >> unused);
    return REDTUNE_OK;
}

void rdt_number_print_double(char out[RDT_NUMBER_BYTES], double value) {
    const redtune_value wide = {.f64 = value};
    rdt_number_print_value(out, REDTUNE_F64, &wide, NULL);
}

bool rdt_number_read_seconds(const char *text, double *seconds) {
    static const double longest_s = 7 * 24 * 3600;
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
    char *end;
    size_t length = strspn(text, "0123456789.");
    double value = strtod(text, &end);
    if (!length || end != text + length) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit)) continue;
        double found = value * units[i].seconds;
        if (!(found > 0) || found > longest_s) return false;
        *seconds = found;
        return true;
    }
    return false;
}
