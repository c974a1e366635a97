/* Marshal: what the files of codegen share: the Lua state, the loaded families, and how problems,
 * devices and configs look from Lua. */
#pragma once

#include "codegen/codegen.h"
#include "codegen/lua.h"
#include "model/strides.h"

/* An exhaustive search renders three thousand sources. */
enum { RDT_POINTS_KEPT = 4, RDT_RENDERED_KEPT = 1 << 14 };

/* Behind its space. */
typedef struct rdt_family {
    int table;          /* the family's Lua table, a reference into the registry */
    char template[128]; /* the file with its CUDA text */
    int order;          /* the redtune_order that it combines elements in; -1: either */
} rdt_family;

/* A case that rules were asked about, kept beside their answer. */
typedef struct rdt_asked {
    redtune_problem problem;
    rdt_facts facts;
} rdt_asked;

/* The points of a case, kept since a tune asks for them more than once: with a cold cache, with a
 * warm one, and to look ahead. */
typedef struct rdt_points {
    rdt_scope scope;
    rdt_asked asked;
    rdt_point *point; /* NULL: nothing is kept here */
    size_t count, capacity;
} rdt_points;

/* The configs of a family that are right for a class on a device. They are a small part of the
 * space, and the same for all problems of the class, one after the other in a tune. */
typedef struct rdt_allowed {
    rdt_asked asked;                 /* one of the class */
    uint8_t (*index)[RDT_PARAM_MAX]; /* of each parameter's value; NULL: none were asked for */
    size_t count, capacity;
} rdt_allowed;

/* A family's default for a case, kept since choosing asks for it again and again. */
typedef enum rdt_serving { RDT_SERVES_NOT, RDT_SERVES, RDT_YIELDS } rdt_serving;
typedef struct rdt_kept_default {
    bool is_known;
    rdt_asked asked;
    rdt_serving serving;
    rdt_point point; /* if it serves */
} rdt_kept_default;

/* A source that was rendered, told by all that it depends on. */
typedef struct rdt_rendered {
    uint64_t key; /* 0: a free place */
    uint64_t source;
} rdt_rendered;

/* What rules were asked about last: most are asked about the same again. */
typedef struct rdt_pushed {
    bool is_whole; /* its tables are in the registry */
    rdt_asked asked;
} rdt_pushed;

struct rdt_codegen {
    rdt_lua lua;
    redtune_op own;        /* the op of a file whose state this is; or 0 */
    rdt_codegen *next_own; /* the first, and behind each the next, of the states of such ops */
    rdt_spaces spaces;     /* of the families that are tuned; they come first */
    int family_count;      /* with those kept aside, which stand behind them */
    rdt_space space[RDT_FAMILY_MAX];
    rdt_family family[RDT_FAMILY_MAX];
    char hash[RDT_HASH_TEXT_BYTES];
    char left_out[sizeof((redtune_error){0}.message)]; /* why the last one is that does not load */
    rdt_allowed allowed[RDT_FAMILY_MAX];               /* of the class that was last asked for */
    rdt_points kept[RDT_POINTS_KEPT];
    int kept_next; /* the place that is taken next */
    rdt_pushed pushed;
    rdt_kept_default kept_default[RDT_FAMILY_MAX];
    rdt_rendered rendered[RDT_RENDERED_KEPT]; /* a hash table, of kernel_hash.c */
};

/* Turns *codegen into the one that renders for that op. An op of a file has a state of its own, and
 * templates of its own in it: nothing that the file does is seen elsewhere. */
redtune_status rdt_codegen_turn(rdt_codegen **codegen, redtune_op op, redtune_error *err);

/* Frees what points.c has kept. */
void rdt_points_forget(rdt_codegen *codegen);

/* Whether rules see the same, so that their answer is still right: all of it, or all but the
 * extents. An op's entry stays as it is for as long as the process lives, a user's one, too. */
bool rdt_marshal_is_case(const rdt_asked *asked, rdt_case at);
bool rdt_marshal_is_class(const rdt_asked *asked, rdt_case at);

/* The following run inside rdt_lua_call; each pushes one value. */

/* The family's function of that name. */
void rdt_marshal_push_rule(lua_State *state, const rdt_codegen *codegen, int family,
                           const char *name);
/* Gives the table on top a value of the parameter's, a label as a string. */
void rdt_marshal_set_param(lua_State *state, const rdt_param *param, int64_t value);
/* A point's parameters by name, labels as strings; without launch parameters where compiled_only.
 */
void rdt_marshal_push_config(lua_State *state, const rdt_space *space, const rdt_point *point,
                             bool compiled_only);
/* Reads such a table over *out, checking every value against the space. */
void rdt_marshal_read_config(lua_State *state, int table, const rdt_space *space, rdt_point *out);
/* A family's order: "fixed", "any", or "free", which it may leave out; -1: any. */
int rdt_marshal_family_order(lua_State *state, int table);
/* {op, dtype, result, second, acc, layout, order, accuracy, resumes, counts, placed} */
void rdt_marshal_push_class(lua_State *state, const redtune_problem *problem);
void rdt_marshal_push_facts(lua_State *state, const rdt_facts *facts);
/* The problem and the facts, in tables that no rule changes. */
void rdt_marshal_push_case(lua_State *state, rdt_codegen *codegen, rdt_case at);
/* Bytes of a slot for the accumulator that the op has there: rdt_launch.slot_bytes. */
uint32_t rdt_marshal_slot_bytes(lua_State *state, rdt_codegen *codegen, rdt_case at);
/* Whether a field of the table at index is set, to anything but false. */
bool rdt_marshal_flag(lua_State *state, int table, const char *field);
/* An integer field of the table at index, between low and high; raises an error else. */
int64_t rdt_marshal_integer(lua_State *state, int table, const char *field, int64_t low,
                            int64_t high);

/* Sets a field of the environment at index from the value on top. The environment's metatable
 * refuses assignments, which are for the template's author. */
void rdt_marshal_define(lua_State *state, int environment, const char *name);
