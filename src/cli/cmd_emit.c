/* redtune emit: prints the CUDA source of one configuration. */
#include <stdio.h>
#include "cli/command.h"
#include "cli/message.h"

static int run(const rdt_options *options) {
    redtune_emission emission = {
        .problem =
            {
                .op = options->op_count ? options->ops[0] : REDTUNE_SUM,
                .dtype = options->dtype_count ? options->dtypes[0] : REDTUNE_F32,
                .count = options->count_count ? options->counts[0] : UINT64_C(1) << 20,
            },
        .family = options->family,
        .config = options->config,
        .lines = options->lines,
    };
    char *source = NULL;
    redtune_error err;
    if (redtune_emit(&emission, &source, &err)) return rdt_message_fail(&err);
    fputs(source, stdout);
    redtune_free(source);
    return RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_emit = {
    .name = "emit",
    .bit = RDT_EMIT,
    .summary = "prints the CUDA source of one kernel; needs no GPU",
    .details =
        "Parameters that --config does not name are the built-in default's. A wrong name or\n"
        "value is answered with those that there are.\n",
    .run = run,
};
