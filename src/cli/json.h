/* Json: results for machines, written as one indented JSON document. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "redtune/redtune.h"

/* Starts with out set and the rest zero. */
typedef struct rdt_json {
    FILE *out;
    int depth;
    bool filled; /* the open object or array has a member already */
} rdt_json;

/* Begins with '{' or '[', and ends with '}' or ']'. name is NULL at the top and in arrays. */
void rdt_json_begin(rdt_json *json, const char *name, char bracket);
void rdt_json_end(rdt_json *json, char bracket);

/* The document's own object, which begins with redtune's version. */
rdt_json rdt_json_open(FILE *out);
/* The members that say which problem something is about. */
void rdt_json_problem(rdt_json *json, const redtune_problem *problem);

/* Members. Text that is no UTF-8, as a file's name may be, has U+FFFD for each wrong byte. */
void rdt_json_text(rdt_json *json, const char *name, const char *text);
void rdt_json_count(rdt_json *json, const char *name, uint64_t count);
void rdt_json_truth(rdt_json *json, const char *name, bool truth);
/* JSON has no nan and no infinity: those are written as null. */
void rdt_json_real(rdt_json *json, const char *name, double value);
/* A number that is printed already; "nan", "inf" and "-inf" become strings. */
void rdt_json_number(rdt_json *json, const char *name, const char *digits);

/* Bytes of the UTF-8 sequence at text, 0 if it is invalid. */
size_t rdt_json_utf8_bytes(const unsigned char *text);
