/* Select rows: rows of measurements to choose from, and which of them serves. A file that includes
 * it has them to itself, and defines _GNU_SOURCE first. */
#pragma once

#include "trials.h"
#include "api/records/select.h"
#include "shaped.h"

/* Configs for middle sizes, told apart by their block. */
#define MIDDLE(block)                                                                              \
    "block=" #block ",vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=1"

static struct {
    rdt_row row[8];
    size_t count;
    rdt_codegen *codegen;
    rdt_choice choice; /* the last one */
} among;

static rdt_facts gpu_named(const char *name) {
    rdt_facts facts = *rdt_facts_typical();
    rdt_text_copy(facts.name, sizeof facts.name, name);
    return facts;
}

static bool begin_rows(void) {
    rdt_codegen_close(among.codegen);
    among.codegen = NULL;
    among.count = 0;
    return !rdt_codegen_open(&among.codegen, &err);
}

/* A row made with the templates at hand; it may be changed. */
static rdt_row *add_row(const rdt_facts *gpu, uint64_t count, const char *config) {
    rdt_row *row = &among.row[among.count++];
    *row = (rdt_row){
        .gpu = *gpu, .trial = trials_make(count, config, 5000, 31), .date = 1000, .current = true};
    rdt_text_copy(row->origin.templates, sizeof row->origin.templates,
                  rdt_codegen_hash(among.codegen));
    return row;
}

/* The number of the row that serves there; -1: the default does; -2: an error. */
static int choose(const rdt_facts *here, uint64_t count) {
    const redtune_problem problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = count);
    const rdt_winners winners = {.rows = {among.row, among.count, among.count}};
    if (rdt_select(&winners, among.codegen, (rdt_case){&problem, here}, &among.choice, &err))
        return -2;
    if (!among.choice.row) return among.choice.match == REDTUNE_MATCH_DEFAULT ? -1 : -2;
    char family[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES];
    rdt_point_write(rdt_codegen_spaces(among.codegen), &among.choice.point, family, text);
    /* What it says and what it gives are the same. */
    return strcmp(text, among.choice.row->trial.config) ? -2 : (int)(among.choice.row - among.row);
}

static int match(void) { return (int)among.choice.match; }
