/* Translate: template text with marked Lua into the Lua function that puts it out.
 *
 * A line whose first non-blank characters are //@ is Lua. Any other line is text, in which @{expr}
 * stands for the value of a Lua expression (a string or an integer). //@ takes NAME, NAME? becomes
 * Lua that declares these names, by a call of takes() (template.h). Line n of the result comes from
 * line n of the template, so that Lua's own messages name the template's line. */
#pragma once

#include "base/text.h"

/* The result calls put(line, ...) once for each text line, with its pieces. REDTUNE_TEMPLATE for an
 * @{ without its }, and for what is no list of names. */
redtune_status rdt_translate(const char *name, const char *text, size_t length, rdt_text *out,
                             redtune_error *err);
