/* One codegen: what opens the templates gets those that are open. Reading them anew takes most of
 * the time where hundreds of databases are opened, and no database has a say in what they are. The
 * linker puts these functions in the place of codegen's own (--wrap). */
#include "codegen/codegen.h"

static rdt_codegen *shared;
static int users;

redtune_status __real_rdt_codegen_open(rdt_codegen **out, redtune_error *err);
void __real_rdt_codegen_close(rdt_codegen *codegen);
redtune_status __wrap_rdt_codegen_open(rdt_codegen **out, redtune_error *err);
void __wrap_rdt_codegen_close(rdt_codegen *codegen);

redtune_status __wrap_rdt_codegen_open(rdt_codegen **out, redtune_error *err) {
    const redtune_status status = users ? REDTUNE_OK : __real_rdt_codegen_open(&shared, err);
    if (status) return status;
    users++;
    *out = shared;
    return REDTUNE_OK;
}

void __wrap_rdt_codegen_close(rdt_codegen *codegen) {
    if (codegen && !--users) __real_rdt_codegen_close(codegen);
}
