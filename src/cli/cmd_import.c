/* redtune import: takes in what others measured. */
#include "cli/command.h"
#include "cli/intake.h"

static int run_import(const rdt_options *options) {
    return rdt_intake_run(options, options->database, options->arguments, options->argument_count,
                          false);
}

const rdt_command rdt_cmd_import = {
    .name = "import",
    .bit = RDT_IMPORT,
    .argument = "FILE...",
    .argument_least = 1,
    .summary = "takes in measurements that others exported",
    .details =
        "Needs no GPU. FILE is a tuning database or JSON lines, - is standard input. Nothing in a\n"
        "file is run; a measurement that no tune could have given is refused and the others are\n"
        "taken. All files come in, or, if one cannot be read, none. What was measured here counts\n"
        "more than what came by an import, and redtune undo takes the last one back.\n"
        "\n"
        "For example: redtune import --dry-run h200.db\n",
    .run = run_import,
};
