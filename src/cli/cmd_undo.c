/* redtune undo: takes the last import back. */
#include <inttypes.h>
#include <stdio.h>
#include "cli/command.h"
#include "cli/json.h"
#include "cli/message.h"
#include "redtune/records.h"

static int run_undo(const rdt_options *options) {
    char source[256];
    uint64_t removed = 0;
    redtune_error err;
    if (redtune_undo(options->database, source, &removed, &err)) return rdt_message_fail(&err);
    if (!source[0]) {
        rdt_message_print(
            "cannot undo: nothing was imported into this database%s%.300s; --db names another",
            options->database ? ", " : "", options->database ? options->database : "");
        return RDT_EXIT_FAILED;
    }
    if (options->json) {
        rdt_json json = rdt_json_open(stdout);
        rdt_json_text(&json, "source", source);
        rdt_json_count(&json, "removed", removed);
        rdt_json_end(&json, '}');
    } else {
        printf("%" PRIu64 " measurement%s taken back that came from %s\n", removed,
               removed == 1 ? "" : "s", source);
    }
    return RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_undo = {
    .name = "undo",
    .bit = RDT_UNDO,
    .summary = "takes the last import back",
    .details = "The measurements that it brought are removed, and the database is what it was "
               "before. Again,\nit takes back the one before that.\n",
    .run = run_undo,
};
