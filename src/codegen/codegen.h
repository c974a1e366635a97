/* Codegen: the template families, what they allow, and their rendered CUDA source. */
#pragma once

#include "base/hash.h"
#include "model/facts.h"
#include "model/launch.h"
#include "model/point.h"
#include "model/problem.h"

enum { RDT_FAMILY_MAX = 24 };

/* One Lua state with all families loaded. Used by one thread at a time. */
typedef struct rdt_codegen rdt_codegen;

redtune_status rdt_codegen_open(rdt_codegen **out, redtune_error *err);
void rdt_codegen_close(rdt_codegen *codegen);
/* Hash of every template file, as text: the version of the templates. */
const char *rdt_codegen_hash(const rdt_codegen *codegen);
/* The same, read without starting Lua. */
redtune_status rdt_codegen_version(char out[RDT_HASH_TEXT_BYTES], redtune_error *err);
/* Hash of the C sources that redtune was built from. */
const char *rdt_codegen_build(void);
/* The user's template folder, or NULL for the templates compiled in. */
const char *rdt_codegen_folder(const rdt_codegen *codegen);

/* Why a family of the user's folder does not load, which is left out then; "": all do. */
const char *rdt_codegen_left_out(const rdt_codegen *codegen);

/* The spaces of the families in the registry's order, which is that of a point's family. They live
 * as long as the codegen. */
const rdt_spaces *rdt_codegen_spaces(const rdt_codegen *codegen);

/* A family that the registry does not name, loaded when it is asked for: its points are written,
 * rendered and launched like any other, and nothing below finds it that is not given a point or a
 * family. REDTUNE_INVALID for one that the registry names, REDTUNE_TEMPLATE where there is no such
 * folder. */
redtune_status rdt_codegen_find_aside(rdt_codegen *codegen, const char *name, int *family,
                                      redtune_error *err);

/* A problem on a device, as the families' rules see it. The problem is resolved. */
typedef struct rdt_case {
    const redtune_problem *problem;
    const rdt_facts *facts;
} rdt_case;

/* The built-in default: that of the first family that serves the case, by the registry's order, or
 * that of another one which is faster by the estimate. REDTUNE_UNSUPPORTED where none does. */
redtune_status rdt_rules_default(rdt_codegen *codegen, rdt_case at, rdt_point *out,
                                 redtune_error *err);
/* The default of that family, which may be one kept aside. REDTUNE_UNSUPPORTED where it does not
 * serve the case. */
redtune_status rdt_rules_default_of(rdt_codegen *codegen, rdt_case at, int family, rdt_point *out,
                                    redtune_error *err);
/* The default of every family that serves the case: the built-in default, then the others in that
 * order; at least one. */
redtune_status rdt_rules_defaults(rdt_codegen *codegen, rdt_case at, rdt_point out[RDT_FAMILY_MAX],
                                  size_t *count, redtune_error *err);
/* The default of kernels for segments that lie anywhere. */
redtune_status rdt_rules_scattered(rdt_codegen *codegen, rdt_case at, rdt_point *out,
                                   redtune_error *err);
/* The point that people name. family: NULL for the one that the config begins with
 * ("block:vec=4"), or, where there is none, the built-in default's. config: NULL for
 * nothing; parameters that it does not name are the family's default's. The point is not checked.
 */
redtune_status rdt_rules_find(rdt_codegen *codegen, rdt_case at, const char *family,
                              const char *config, rdt_point *out, redtune_error *err);
/* The point that a row says, if the current templates have it and it would be right there; *out is
 * written in any case. err may be NULL, which takes less time. */
redtune_status rdt_rules_read(rdt_codegen *codegen, rdt_case at, const char *family,
                              const char *config, rdt_point *out, redtune_error *err);
/* REDTUNE_UNSUPPORTED, with the family's reason, for a point that would not be right there. */
redtune_status rdt_rules_check(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                               redtune_error *err);
/* Which of the allowed points a search looks at. */
typedef enum rdt_scope {
    RDT_SCOPE_USEFUL,   /* distinct ones that are not a plain waste */
    RDT_SCOPE_DISTINCT, /* all that are not the same work as a simpler one */
} rdt_scope;

/* Whether an allowed point is one of those below. */
redtune_status rdt_rules_is_point(rdt_codegen *codegen, rdt_case at, rdt_scope scope,
                                  const rdt_point *point, bool *out, redtune_error *err);
/* The points of all families that serve the case, in their order; the defaults are among them.
 * *points is freed by the caller. */
redtune_status rdt_points_list(rdt_codegen *codegen, rdt_case at, rdt_scope scope,
                               rdt_point **points, size_t *count, redtune_error *err);
redtune_status rdt_rules_launch(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                rdt_launch *out, redtune_error *err);
/* About how long a call takes with a cold L2, in ns, by the family's function "time"; 0: the family
 * has none. It compares points of one problem and says little of the time itself. */
redtune_status rdt_estimate_time(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                 double *time_ns, redtune_error *err);
/* The same; 0 where the function fails, too. */
double rdt_estimate_time_or_none(rdt_codegen *codegen, rdt_case at, const rdt_point *point);
/* Puts the point that serves first, of one for each family: the first one, or where that has an
 * estimate, one whose estimate is less by a few percent. */
redtune_status rdt_estimate_order(rdt_codegen *codegen, rdt_case at, rdt_point *points,
                                  size_t count, redtune_error *err);
/* A family's description of a point: its function "about". */
typedef struct rdt_about {
    char place[16];  /* "3", or "3b" for a variant */
    char text[320];  /* a sentence or two */
    bool variant;    /* stands beside the step before it, and nothing goes on from it */
    bool exists;     /* in its form and with its block */
    bool needs_work; /* its fourth argument is room for a sum of every thread */
} rdt_about;
redtune_status rdt_rules_about(rdt_codegen *codegen, const rdt_point *point, rdt_about *out,
                               redtune_error *err);
/* Renders the source, freed by the caller. It depends on the class, compute capability,
 * family and compile-time parameters only. lines: with #line directives that lead back to the
 * template. */
redtune_status rdt_render_source(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                 bool lines, char **source, redtune_error *err);
/* Likewise, of a launch that leaves something else than a result (model/launch.h): the same kernel,
 * and redtune_combine or redtune_join. With #line directives. */
redtune_status rdt_render_part(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                               rdt_yield yield, char **source, redtune_error *err);
/* Likewise, of a template file that depends on no problem, such as "pack.cu". */
redtune_status rdt_render_plain(rdt_codegen *codegen, const char *template, char **source,
                                redtune_error *err);
/* What tells the kernel of one point from that of another, launch and all, as text: the same as
 * long as nothing in the templates changes it. */
redtune_status rdt_kernel_hash_find(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                    char out[RDT_KERNEL_BYTES], redtune_error *err);
