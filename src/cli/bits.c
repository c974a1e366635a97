/* Bits: those of standard problems in fixed order, which two machines compare.
 *
 * A line has op, dtype, count and the results' bits in hexadecimal. The elements follow from their
 * index alone: all digits, several magnitudes, both signs. */
#define _POSIX_C_SOURCE 200809L
#include "cli/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/command.h"
#include "cli/device.h"
#include "cli/message.h"
#include "cli/open_file.h"
#include "cli/output.h"

enum { LINE_BYTES = 160 };

static const struct {
    redtune_op op;
    redtune_dtype dtype;
    uint64_t count;
} problems[] = {
    {REDTUNE_SUM, REDTUNE_F16, 1000},     {REDTUNE_SUM, REDTUNE_F16, 100003},
    {REDTUNE_SUM, REDTUNE_BF16, 1000},    {REDTUNE_SUM, REDTUNE_BF16, 100003},
    {REDTUNE_SUM, REDTUNE_F32, 1000},     {REDTUNE_SUM, REDTUNE_F32, 100003},
    {REDTUNE_SUM, REDTUNE_F64, 1000},     {REDTUNE_SUM, REDTUNE_F64, 100003},
    {REDTUNE_SUMSQ, REDTUNE_F32, 100003}, {REDTUNE_MEAN, REDTUNE_BF16, 100003},
    {REDTUNE_NORM2, REDTUNE_F32, 100003}, {REDTUNE_SUM_SUMSQ, REDTUNE_F32, 100003},
    {REDTUNE_VAR, REDTUNE_F32, 100003},   {REDTUNE_MEAN_VAR, REDTUNE_F64, 100003},
    {REDTUNE_DOT, REDTUNE_F16, 100003},   {REDTUNE_DOT, REDTUNE_F64, 100003},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* ---- elements -------------------------------------------------------------------------------- */

typedef struct supply {
    redtune_dtype dtype;
    uint64_t seed, served, count;
} supply;

/* SplitMix64 (Steele, Lea, Flood, 2014), as a function of the index. */
static uint64_t scramble(uint64_t index) {
    uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Of a float: a sign, an exponent from 2^-8 to 2^3 and a fraction, all of them random. */
static uint64_t standard_element(const redtune_dtype_info *dtype, uint64_t random) {
    const int fraction_bits = dtype->fraction_bits, top = fraction_bits + dtype->exponent_bits;
    const uint64_t bias = (UINT64_C(1) << (dtype->exponent_bits - 1)) - 1;
    const uint64_t exponent = bias - 8 + (random >> 56) % 12;
    const uint64_t fraction = random & ((UINT64_C(1) << fraction_bits) - 1);
    return (random >> 55 & 1) << top | exponent << fraction_bits | fraction;
}

static redtune_status serve_standard(void *user, void *buffer, size_t capacity, size_t *bytes,
                                     redtune_error *err) {
    supply *self = user;
    redtune_dtype_info dtype;
    redtune_status status = redtune_dtype_get(self->dtype, &dtype, err);
    if (status) return status;
    const size_t each = dtype.bytes;
    uint64_t count = capacity / each;
    if (count > self->count - self->served) count = self->count - self->served;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t bits = standard_element(&dtype, scramble(self->seed + self->served + i));
        memcpy((char *)buffer + i * each, &bits, each); /* little-endian, as the GPU is */
    }
    self->served += count;
    *bytes = count * each;
    return REDTUNE_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_result_bits(char line[LINE_BYTES], redtune_dtype dtype,
                            const redtune_value *value) {
    const size_t length = strlen(line), bytes = redtune_dtype_bytes(dtype);
    uint64_t bits = 0;
    memcpy(&bits, value, bytes);
    snprintf(line + length, LINE_BYTES - length, " %0*" PRIx64, (int)(2 * bytes), bits);
}

static redtune_status compute_bits(redtune *rt, int i, char line[LINE_BYTES], redtune_error *err) {
    const uint64_t count = problems[i].count;
    redtune_problem problem = redtune_problem_whole(problems[i].op, problems[i].dtype, count);
    problem.order = REDTUNE_ORDER_FIXED;
    supply from[2] = {{problem.dtype, 0, 0, count}, {problem.dtype, UINT64_C(1) << 32, 0, count}};
    redtune_op_info info;
    redtune_reading reading;
    redtune_input second = {.read = serve_standard, .user = &from[1]};
    redtune_input first = {.read = serve_standard, .user = &from[0]};
    redtune_status status = redtune_op_get(problem.op, &info, err);
    if (!status && info.inputs > 1) first.second = &second;
    if (!status) status = redtune_reduce_input(rt, &problem, &first, &reading, err);
    if (status) return status;
    snprintf(line, LINE_BYTES, "%s %s %" PRIu64, redtune_op_name(problem.op),
             redtune_dtype_name(problem.dtype), count);
    add_result_bits(line, reading.dtype, &reading.value);
    if (reading.second_dtype) add_result_bits(line, reading.second_dtype, &reading.second);
    return REDTUNE_OK;
}

static redtune_status compute_standard(const rdt_options *options, char lines[PROBLEMS][LINE_BYTES],
                                       redtune_error *err) {
    redtune *rt = NULL;
    redtune_status status =
        rdt_device_open(options, options->device, rdt_message_log, NULL, &rt, err);
    for (int i = 0; !status && i < PROBLEMS; i++) status = compute_bits(rt, i, lines[i], err);
    redtune_close(rt);
    return status;
}

/* How many bytes of a line name its problem. */
static size_t name_bytes(const char *line) {
    const char *end = line;
    for (int words = 0; words < 3; words++) end = strchr(end, ' ') + 1;
    return (size_t)(end - line);
}

/* How many lines differ from those of the file; each is printed. */
static redtune_status compare_with_file(const char *path, FILE *file,
                                        char lines[PROBLEMS][LINE_BYTES], int *differ,
                                        redtune_error *err) {
    char there[PROBLEMS][LINE_BYTES];
    for (int i = 0; i < PROBLEMS; i++) {
        const size_t name = name_bytes(lines[i]);
        if (!fgets(there[i], LINE_BYTES, file) || strncmp(there[i], lines[i], name))
            return rdt_message_set(err, REDTUNE_FILE, 0,
                                   "cannot compare with %.300s: its line %d has no bits of '%.*s'; "
                                   "name a file that redtune verify --bits wrote, or a new one",
                                   path, i + 1, (int)name - 1, lines[i]);
        there[i][strcspn(there[i], "\n")] = '\0';
    }
    *differ = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        if (!strcmp(there[i], lines[i])) continue;
        printf("here  %s\nthere %s\n", lines[i], there[i]);
        ++*differ;
    }
    return REDTUNE_OK;
}

static redtune_status write_bits(const char *path, char lines[PROBLEMS][LINE_BYTES],
                                 redtune_error *err) {
    char text[PROBLEMS * LINE_BYTES];
    size_t length = 0;
    for (int i = 0; i < PROBLEMS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s\n", lines[i]);
    return rdt_output_put(path, text, length, err);
}

int rdt_bits_run(const rdt_options *options) {
    static char lines[PROBLEMS][LINE_BYTES];
    const char *path = options->bits;
    redtune_error err;
    int opened = -1, differ = 0;
    redtune_status status = rdt_open_file_regular(path, &opened, &err);
    if (status) rdt_message_within(&err, "cannot compare with %.300s", path);
    FILE *file = opened < 0 ? NULL : fdopen(opened, "r");
    if (!status) status = compute_standard(options, lines, &err);
    if (!status)
        status = file ? compare_with_file(path, file, lines, &differ, &err)
                      : write_bits(path, lines, &err);
    if (file) fclose(file);
    if (status) return rdt_message_fail(&err);
    if (!file) return RDT_EXIT_DONE;
    if (!options->quiet)
        rdt_message_print("%d of %d results have the bits of %.300s", PROBLEMS - differ, PROBLEMS,
                          path);
    return differ ? RDT_EXIT_FAILED : RDT_EXIT_DONE;
}
