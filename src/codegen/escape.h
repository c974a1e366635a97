/* Escape: texts from a database as they may stand in a page, a table or a document: no tag, quote,
 * control character or broken UTF-8 of theirs comes through. */
#pragma once

#include "base/text.h"

/* HTML and XML, as text or in a quoted attribute. */
void rdt_escape_html(const char *string, rdt_text *out);
/* A whole cell of CSV, with its quotes (RFC 4180). One that a spreadsheet would take for a formula
 * gets an apostrophe. */
void rdt_escape_csv(const char *string, rdt_text *out);
/* A whole string of JSON, with its quotes. */
void rdt_escape_json(const char *string, rdt_text *out);
