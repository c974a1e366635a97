/* Op text: CUDA text of a user's file may have no directives but those that define and choose, so
 * that it reads nothing of the machine: #include would, and so would __has_include and pragmas.
 *
 * It is looked at as a preprocessor sees it, with its line splices gone. Comments and literals
 * count like the rest: who takes them out has to agree with NVRTC on where each of them ends. (What
 * a macro pastes together is not seen here; NVRTC can open no file, see compiler/apart.h.) */
#pragma once

#include "base/text.h"

enum { RDT_OP_TEXT_FOUND_BYTES = 32 };
#define RDT_OP_TEXT_RULE "of directives only #define, #undef, #error and those of #if may be there"

/* Puts what the text must not have into found, or "". rendered: it is a whole source, in which
 * redtune's own lines have #line and #pragma unroll, too. */
redtune_status rdt_op_text_check(const char *text, size_t bytes, bool rendered,
                                 char found[RDT_OP_TEXT_FOUND_BYTES], redtune_error *err);
