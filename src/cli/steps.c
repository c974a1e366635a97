/* Steps: the ladder's sources on stdout, and as programs in a folder. */
#define _POSIX_C_SOURCE 200809L
#include "cli/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/message.h"
#include "cli/output.h"
#include "redtune/records.h"
#include "redtune/tools.h"

static const char tuned_name[] = "tuned";

/* ---- showing ------------------------------------------------------------------------------- */

typedef struct search {
    const char *wanted;
    bool is_tuned;
} search;

static int compare_tuned(void *user, const redtune_step *step) {
    search *self = user;
    self->is_tuned = !strcmp(step->name, tuned_name) &&
                     (!strcmp(self->wanted, tuned_name) || !strcmp(self->wanted, step->place));
    return 0;
}

static int print_source(redtune_status status, char *source, const redtune_error *err) {
    if (status) return rdt_message_fail(err);
    fputs(source, stdout);
    redtune_free(source);
    return RDT_EXIT_DONE;
}

/* The config that a program would get for this sum; the built-in default where no GPU is known. */
static int show_tuned(const rdt_options *options, const redtune_climb *climb) {
    const redtune_problem problem = {
        .op = REDTUNE_SUM,
        .dtype = climb->dtype ? climb->dtype : REDTUNE_F32,
        .count = climb->count ? climb->count : 1 << 24,
    };
    const redtune_question question = {
        .database = options->database, .device = options->device, .problem = problem};
    redtune_emission emission = {.problem = problem};
    redtune_explanation found;
    redtune_error err;
    char *source = NULL;
    const redtune_status unknown = redtune_explain(&question, &found, &err);
    if (unknown && options->device) return rdt_message_fail(&err);
    if (!unknown) {
        emission.family = found.info.family;
        emission.config = found.info.config;
    }
    if ((unknown || found.info.match == REDTUNE_MATCH_DEFAULT) && !options->quiet)
        rdt_message_print("this is the built-in default: nothing near this sum is known to be "
                          "tuned on the GPU");
    redtune_status status = redtune_emit(&emission, &source, &err);
    return print_source(status, source, &err);
}

int rdt_steps_show(const rdt_options *options, const redtune_climb *climb) {
    search tuned = {.wanted = options->show};
    redtune_climb listed = *climb;
    redtune_error err;
    char *source = NULL;
    listed.step = compare_tuned;
    listed.user = &tuned;
    redtune_status status = redtune_ladder_steps(&listed, &err);
    if (!status && tuned.is_tuned) return show_tuned(options, climb);
    if (!status) status = redtune_ladder_source(climb, options->show, &source, &err);
    return print_source(status, source, &err);
}

/* ---- exporting ----------------------------------------------------------------------------- */

typedef struct exporting {
    const char *folder;
    const redtune_climb *climb;
    unsigned count;
    char last[4096]; /* the path of the last that was written */
    redtune_status status;
    redtune_error *err;
} exporting;

/* Names sort as the steps do: "03b_neighbours.cu". */
static int write_program(void *user, const redtune_step *step) {
    exporting *self = user;
    char *source = NULL, *letter = NULL;
    if (!strcmp(step->name, tuned_name)) return 0;
    const long place = strtol(step->place, &letter, 10);
    int length = snprintf(self->last, sizeof self->last, "%s/%02ld%s_%s.cu", self->folder, place,
                          letter, step->name);
    if (length < 0 || (size_t)length >= sizeof self->last)
        self->status =
            rdt_message_set(self->err, REDTUNE_INVALID, 0,
                            "cannot write to %.200s: the path is too long", self->folder);
    if (!self->status)
        self->status = redtune_ladder_source(self->climb, step->name, &source, self->err);
    if (!self->status) self->status = rdt_output_put(self->last, source, strlen(source), self->err);
    redtune_free(source);
    if (self->status) return 1;
    puts(self->last);
    self->count++;
    return 0;
}

int rdt_steps_export(const rdt_options *options, const redtune_climb *climb) {
    redtune_climb wanted = *climb, listed;
    redtune_error err;
    exporting self = {.folder = options->export, .climb = &wanted, .err = &err};
    wanted.program = 1;
    listed = wanted;
    listed.step = write_program;
    listed.user = &self;
    if (mkdir(options->export, 0777) && errno != EEXIST) {
        rdt_message_set(&err, REDTUNE_FILE, errno, "cannot make the folder %.300s: %s",
                        options->export, strerror(errno));
        return rdt_message_fail(&err);
    }
    redtune_error stopped;
    redtune_status status = redtune_ladder_steps(&listed, &stopped);
    if (self.status) return rdt_message_fail(&err);
    if (status) return rdt_message_fail(&stopped);
    fflush(stdout);
    if (!options->quiet)
        rdt_message_print("%u programs; try one: nvcc -O3 %s -o sum && ./sum", self.count,
                          self.last);
    return RDT_EXIT_DONE;
}
