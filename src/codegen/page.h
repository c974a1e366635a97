/* Page: a report rendered by the templates in report/. */
#pragma once

#include "codegen/codegen.h"
#include "model/report.h"
#include "redtune/tools.h"

/* Renders the report; *text is freed by the caller. Every text in it reaches the template escaped
 * for the format already. */
redtune_status rdt_page_render(rdt_codegen *codegen, const rdt_report *report,
                               redtune_format format, char **text, redtune_error *err);
