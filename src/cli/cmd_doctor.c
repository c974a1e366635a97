/* redtune doctor: prints what redtune finds around it, and what is missing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/command.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"
#include "redtune/records.h"
#include "redtune/tools.h"

typedef struct health_words {
    const char *mark, *name; /* in the list, in JSON */
} health_words;

static const health_words words[] = {
    [REDTUNE_HEALTH_GOOD] = {"ok", "good"},
    [REDTUNE_HEALTH_NOTE] = {"note", "note"},
    [REDTUNE_HEALTH_MISSING] = {"MISSING", "missing"},
};

static void list_finding(void *user, const redtune_finding *finding) {
    rdt_table *table = user;
    const char *const cells[] = {words[finding->health].mark, finding->subject, finding->detail};
    rdt_table_add_row(table, cells);
    if (!*finding->remedy) return;
    rdt_table_add(table, "%s", "");
    rdt_table_add(table, "%s", "");
    rdt_table_add(table, "to do: %s", finding->remedy);
}

static void write_finding(void *user, const redtune_finding *finding) {
    rdt_json *json = user;
    rdt_json_begin(json, NULL, '{');
    rdt_json_text(json, "health", words[finding->health].name);
    rdt_json_text(json, "subject", finding->subject);
    rdt_json_text(json, "detail", finding->detail);
    rdt_json_text(json, "remedy", finding->remedy);
    rdt_json_end(json, '}');
}

static redtune_status diagnose_as_list(const redtune_options *open, int *missing,
                                       redtune_error *err) {
    rdt_table table = {.column_count = 3, .right = "lll"};
    redtune_status status = redtune_diagnose(open, list_finding, &table, missing, err);
    rdt_table_print(&table, stdout);
    if (status) return status;
    if (*missing)
        printf("\n%d missing: the lines marked MISSING say what to do.\n", *missing);
    else
        puts("\nEverything that redtune needs is there.");
    return REDTUNE_OK;
}

static redtune_status diagnose_as_json(const redtune_options *open, int *missing,
                                       redtune_error *err) {
    rdt_json json = rdt_json_open(stdout);
    rdt_json_begin(&json, "findings", '[');
    redtune_status status = redtune_diagnose(open, write_finding, &json, missing, err);
    rdt_json_end(&json, ']');
    rdt_json_count(&json, "missing", (uint64_t)*missing);
    rdt_json_end(&json, '}');
    return status;
}

/* ---- repairing ------------------------------------------------------------------------------- */

typedef struct repairs {
    rdt_json *json; /* NULL: a line for each is printed */
    int count;
} repairs;

static void tell_repaired(void *user, const redtune_repaired *repaired) {
    repairs *self = user;
    self->count++;
    if (self->json) {
        rdt_json_begin(self->json, NULL, '{');
        rdt_json_text(self->json, "database", repaired->database);
        rdt_json_text(self->json, "reason", repaired->reason);
        rdt_json_text(self->json, "kept", repaired->kept);
        rdt_json_count(self->json, "saved", repaired->saved);
        rdt_json_count(self->json, "lost", repaired->lost);
        rdt_json_end(self->json, '}');
    } else if (!*repaired->kept) {
        printf("%s: whole, with %" PRIu64 " measurement%s\n", repaired->database, repaired->saved,
               repaired->saved == 1 ? "" : "s");
    } else {
        printf("%s: %" PRIu64 " measurement%s saved, %" PRIu64
               " known to be lost; the old file is now %s\n",
               repaired->database, repaired->saved, repaired->saved == 1 ? "" : "s", repaired->lost,
               repaired->kept);
    }
}

static int repair_databases(const rdt_options *options) {
    rdt_json json;
    repairs self = {.count = 0};
    redtune_error err;
    if (options->json) {
        json = rdt_json_open(stdout);
        self.json = &json;
        rdt_json_begin(&json, "databases", '[');
    }
    redtune_status status = redtune_repair(options->database, tell_repaired, &self, &err);
    if (options->json) {
        rdt_json_end(&json, ']');
        rdt_json_end(&json, '}');
    } else if (!status && !self.count) {
        puts("There is no database.");
    }
    return status ? rdt_message_fail(&err) : RDT_EXIT_DONE;
}

static int run_doctor(const rdt_options *options) {
    redtune_options open = {.database = options->database};
    redtune_error err;
    int missing = 0;
    if (options->repair) return repair_databases(options);
    redtune_status status = options->json ? diagnose_as_json(&open, &missing, &err)
                                          : diagnose_as_list(&open, &missing, &err);
    if (status) return rdt_message_fail(&err);
    return missing ? RDT_EXIT_FAILED : RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_doctor = {
    .name = "doctor",
    .bit = RDT_DOCTOR,
    .summary = "lists what redtune needs on this machine, and what is missing",
    .details =
        "It looks for the driver, NVRTC, GPUs, the database, the kernel cache and the templates.\n"
        "Exit status 1 if something is missing.\n"
        "\n"
        "--repair checks your databases instead. A file that is damaged, or no database, is kept\n"
        "under another name, and a new one with all that can be read takes its place.\n",
    .run = run_doctor,
};
