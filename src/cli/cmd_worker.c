/* redtune worker: what redtune starts for itself while it tunes; of no use to anyone else. */
#include "cli/command.h"
#include "cli/message.h"
#include "redtune/tune.h"

/* The library gives a worker this file descriptor. */
enum { WIRE_FD = 3 };

static int run_worker(const rdt_options *options) {
    redtune_error err;
    (void)options;
    return redtune_worker_run(WIRE_FD, WIRE_FD, &err) ? rdt_message_fail(&err) : RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_worker = {
    .name = "worker",
    .bit = RDT_WORKER,
    .summary = "works for a tune that is under way, which starts it by itself",
    .hidden = true,
    .run = run_worker,
};
