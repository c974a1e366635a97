/* Json: results for machines, written as one indented JSON document. */
#include "cli/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "cli/number.h"
#include "cli/shape.h"

size_t rdt_json_utf8_bytes(const unsigned char *text) {
    static const struct {
        unsigned char first, last, low, high; /* of the lead byte and of the byte after it */
        size_t bytes;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (text[0] < forms[i].first || text[0] > forms[i].last) continue;
        if (forms[i].bytes > 1 && (text[1] < forms[i].low || text[1] > forms[i].high)) return 0;
        for (size_t k = 2; k < forms[i].bytes; k++)
            if ((text[k] & 0xc0) != 0x80) return 0;
        return forms[i].bytes;
    }
    return 0;
}

static void write_string(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t bytes = rdt_json_utf8_bytes(at);
        if (!bytes)
            fputs("\\ufffd", out);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < ' ' || *at == 0x7f)
            fprintf(out, "\\u%04x", *at);
        else if (*at == 0xc2 && at[1] < 0xa0) /* a terminal's control, if it is written out */
            fprintf(out, "\\u%04x", at[1]);
        else
            fwrite(at, 1, bytes, out);
        at += bytes ? bytes : 1;
    }
    fputc('"', out);
}

static void begin_member(rdt_json *json, const char *name) {
    if (json->filled) fputc(',', json->out);
    if (json->depth) fprintf(json->out, "\n%*s", 2 * json->depth, "");
    if (name) {
        write_string(json->out, name);
        fputs(": ", json->out);
    }
    json->filled = true;
}

void rdt_json_begin(rdt_json *json, const char *name, char bracket) {
    begin_member(json, name);
    fputc(bracket, json->out);
    json->depth++;
    json->filled = false;
}

void rdt_json_end(rdt_json *json, char bracket) {
    json->depth--;
    if (json->filled) fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    if (!json->depth) fputc('\n', json->out);
    json->filled = true;
}

rdt_json rdt_json_open(FILE *out) {
    rdt_json json = {.out = out};
    rdt_json_begin(&json, NULL, '{');
    rdt_json_text(&json, "redtune", REDTUNE_VERSION);
    return json;
}

void rdt_json_problem(rdt_json *json, const redtune_problem *problem) {
    rdt_json_text(json, "op", redtune_op_name(problem->op));
    rdt_json_text(json, "dtype", redtune_dtype_name(problem->dtype));
    char size[RDT_SHAPE_BYTES];
    rdt_shape_print(size, problem);
    rdt_json_text(json, "size", size);
    rdt_json_text(json, "value_dtype", redtune_dtype_name(problem->result));
    const rdt_shape_extents complete = rdt_shape_complete(problem);
    rdt_json_count(json, "count", complete.count);
    rdt_json_text(json, "layout", rdt_shape_layout_name(problem));
    if (problem->order == REDTUNE_ORDER_FIXED) rdt_json_text(json, "order", "fixed");
    if (problem->accuracy != REDTUNE_ACCURACY_PLAIN)
        rdt_json_text(json, "accuracy", rdt_shape_accuracy_name(problem));
    char kept[REDTUNE_AXES_TEXT_BYTES], reduced[REDTUNE_AXES_TEXT_BYTES];
    redtune_problem_axes_text(problem, true, kept);
    redtune_problem_axes_text(problem, false, reduced);
    rdt_json_text(json, "kept", kept);
    rdt_json_text(json, "reduced", reduced);
    rdt_json_count(json, "outer", complete.outer);
    rdt_json_count(json, "inner", complete.inner);
    if (problem->mask)
        rdt_json_text(json, "mask", problem->mask == REDTUNE_MASK_BITS ? "bits" : "bytes");
    if (problem->key_dtype) {
        rdt_json_count(json, "keys", problem->keys);
        rdt_json_text(json, "key_dtype", redtune_dtype_name(problem->key_dtype));
        rdt_json_text(json, "spread", rdt_shape_spread_name(problem->spread));
    }
    const bool segments = problem->segmented;
    rdt_json_count(json, segments ? "greatest" : "outer_step",
                   segments ? complete.greatest : complete.outer_step);
    rdt_json_count(json, segments ? "median" : "step", segments ? complete.median : complete.step);
}

void rdt_json_text(rdt_json *json, const char *name, const char *text) {
    begin_member(json, name);
    write_string(json->out, text);
}

void rdt_json_count(rdt_json *json, const char *name, uint64_t count) {
    begin_member(json, name);
    fprintf(json->out, "%" PRIu64, count);
}

void rdt_json_truth(rdt_json *json, const char *name, bool truth) {
    begin_member(json, name);
    fputs(truth ? "true" : "false", json->out);
}

void rdt_json_real(rdt_json *json, const char *name, double value) {
    char digits[RDT_NUMBER_BYTES];
    rdt_number_print_double(digits, value);
    begin_member(json, name);
    fputs(isfinite(value) ? digits : "null", json->out);
}

void rdt_json_number(rdt_json *json, const char *name, const char *digits) {
    begin_member(json, name);
    if (strpbrk(digits, "in"))
        write_string(json->out, digits);
    else
        fputs(digits, json->out);
}
