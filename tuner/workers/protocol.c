/* Protocol: what a tune and its worker processes say to each other. */
#define _POSIX_C_SOURCE 200809L
#include "tuner/workers/protocol.h"

#include <string.h>
#include <unistd.h>
#include "codegen/user_ops.h"

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

bool rdt_protocol_greet(rdt_wire *wire, rdt_hello hello, int timeout_ms) {
    hello.op_files = rdt_user_ops_count();
    rdt_wire_put(wire, &hello, sizeof hello);
    bool taken = rdt_wire_send(wire, RDT_FRAME_HELLO, timeout_ms);
    for (int i = 0; taken && i < hello.op_files; i++) {
        const rdt_own_op *file = rdt_user_ops_get(i);
        rdt_wire_put(wire, file->name, strlen(file->name) + 1);
        rdt_wire_put(wire, file->text, file->bytes);
        taken = rdt_wire_send(wire, RDT_FRAME_OP_FILE, timeout_ms);
    }
    return taken;
}

redtune_status rdt_protocol_take_ops(rdt_wire *wire, const rdt_hello *hello, int timeout_ms,
                                     redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    rdt_user_ops_leave_environment();
    for (int i = 0; !status && i < hello->op_files; i++) {
        rdt_frame frame;
        const bool got = rdt_wire_receive(wire, timeout_ms, &frame) == RDT_WIRE_GOT &&
                         frame.kind == RDT_FRAME_OP_FILE;
        const char *end = got ? memchr(frame.data, '\0', frame.bytes) : NULL;
        if (!end) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot work: an op file did not come");
        const size_t name_bytes = (size_t)(end + 1 - frame.data);
        status = rdt_user_ops_add_text(frame.data, end + 1, frame.bytes - name_bytes, err);
    }
    return status;
}
