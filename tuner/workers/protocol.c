/* Protocol: what a tune and its worker processes say to each other. */
#define _POSIX_C_SOURCE 200809L
#include "tuner/workers/protocol.h"

#include <string.h>
#include <unistd.h>

rdt_hello rdt_protocol_hello(rdt_role role) {
    rdt_hello hello;
    memset(&hello, 0, sizeof hello); /* what travels has no bytes that were never set */
    rdt_text_copy(hello.version, sizeof hello.version, REDTUNE_VERSION);
    hello.bytes = sizeof(rdt_hello) + sizeof(rdt_ready) + sizeof(rdt_request) +
                  sizeof(rdt_compile_job) + sizeof(rdt_candidate) + sizeof(rdt_verdict) +
                  sizeof(rdt_conditions) + sizeof(redtune_error);
    hello.role = role;
    hello.parent = (int)getpid();
    return hello;
}

redtune_status rdt_protocol_check_hello(const rdt_frame *frame, rdt_hello *out,
                                        redtune_error *err) {
    rdt_hello said, own = rdt_protocol_hello(RDT_ROLE_COMPILE);
    rdt_reader reader = rdt_wire_reader_of(frame);
    rdt_wire_reader_take(&reader, &said, sizeof said);
    bool same = frame->kind == RDT_FRAME_HELLO && rdt_wire_reader_done(&reader) &&
                !memcmp(said.version, own.version, sizeof said.version) && said.bytes == own.bytes;
    if (!same)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot work: this is redtune %s, and who started it is another build; "
                        "name the command of the same build",
                        own.version);
    said.device[sizeof said.device - 1] = said.kernel_cache[sizeof said.kernel_cache - 1] = '\0';
    *out = said;
    return REDTUNE_OK;
}
