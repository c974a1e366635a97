/* Template: runs template text, and the pieces that it includes.
 *
 * A template sees an environment. A piece, which is a file that a template or another piece
 * includes, sees the base that all Lua of the templates has, and the names that its own lines
 * "takes NAME, NAME" declare. Each of these is looked up where the including line stands: among
 * what that line gives (include's second argument), then among the local variables there, then in
 * the environment there. "takes NAME?" declares what the including line may give, and else is nil:
 * it is looked up nowhere else. A missing name is an error that names both files; so is one that
 * the piece uses and does not take. */
#pragma once

#include "codegen/marshal.h"

/* What templates put out. It outlives the Lua call, since an error leaves by way of that one. */
typedef struct rdt_output {
    rdt_text text;
    bool lines;            /* with #line directives that lead back to the template */
    const char *template;  /* the file that runs: a template, or a piece that it includes */
    lua_Integer next_line; /* of it, that the next line would come from */
    rdt_text chunk;        /* its translation */
} rdt_output;

/* Pushes the environment that a template runs in. */
typedef void rdt_push_environment_fn(lua_State *state, void *user);
/* Inside rdt_lua_call: runs a template file, adds its text to the output, and pushes nothing. A
 * line of it that says include "FILE" stands for the text of that piece. */
void rdt_template_run(lua_State *state, const char *name, rdt_output *output,
                      rdt_push_environment_fn *push_environment, void *user);
/* Outside rdt_lua_call: does it, and hands over the text that was put out. */
redtune_status rdt_template_render(rdt_codegen *codegen, const char *what, lua_CFunction function,
                                   void *data, rdt_output *output, char **text, redtune_error *err);
