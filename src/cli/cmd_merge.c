/* redtune merge: makes one database of several of the user's own. */
#include <string.h>
#include "cli/command.h"
#include "cli/message.h"

static int run_merge(const rdt_options *options) {
    const char *out = options->arguments[0];
    redtune_error err;
    if (strchr(out, ':') || !strcmp(out, "-")) {
        rdt_message_set(
            &err, REDTUNE_INVALID, 0, "cannot merge into '%.300s': %s; name a file", out,
            *out == '-' ? "a database is not a stream" : "':' stands between databases");
        return rdt_message_fail(&err);
    }
    return rdt_cmd_import_files(options, out, options->arguments + 1, options->argument_count - 1,
                                true);
}

const rdt_command rdt_cmd_merge = {
    .name = "merge",
    .bit = RDT_MERGE,
    .argument = "OUT IN...",
    .argument_least = 2,
    .summary = "adds the measurements of databases of yours, such as shards, to one",
    .details =
        "Needs no GPU. OUT is created if it is not there; each IN is as for redtune import. The\n"
        "order of the files and how often one comes make no difference. Rows count as measured\n"
        "into OUT, except those that came into IN by an import: they stay imported.\n"
        "\n"
        "For example: redtune merge all.db shard0.db shard1.db\n",
    .run = run_merge,
};
