/* Wire: frames, each a kind and some bytes, between a tune and one of its worker processes.
 *
 * A frame is a header (magic, kind, length) and its bytes, over a stream socket. Incoming bytes
 * are collected in one buffer until a whole frame is there. The frame given out points into it
 * and stays valid until the next receive. A wrong magic or length breaks the wire for good: after
 * it no boundary can be trusted. */
#define _GNU_SOURCE
#include "tuner/workers/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"

/* Stands before each frame's bytes. */
typedef struct header {
    uint32_t magic, kind, bytes;
} header;

enum { MAGIC = 0x72647477 /* "rdtw" */, CHUNK_BYTES = 1 << 16 };

/* Waits until fd is ready. false: not in time; end_ms is a time of rdt_clock_ms, -1: never. */
static bool wait_ready(int fd, short events, int64_t end_ms) {
    for (;;) {
        int64_t left = end_ms < 0 ? -1 : end_ms - rdt_clock_ms();
        if (end_ms >= 0 && left < 0) left = 0;
        struct pollfd one = {.fd = fd, .events = events};
        int rc = poll(&one, 1, (int)left);
        if (rc > 0) return true; /* a fault of fd is found by using it */
        if (!rc || errno != EINTR) return false;
    }
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Hands out the first frame in the buffer, if it is whole. */
static rdt_wire_state take_frame(rdt_wire *wire, rdt_frame *out) {
    header head;
    if (wire->incoming.length < sizeof head) return RDT_WIRE_EMPTY;
    memcpy(&head, wire->incoming.data, sizeof head);
    if (head.magic != MAGIC || head.bytes > RDT_WIRE_BYTES_MAX) return RDT_WIRE_BROKEN;
    if (wire->incoming.length < sizeof head + head.bytes) return RDT_WIRE_EMPTY;
    *out = (rdt_frame){head.kind, wire->incoming.data + sizeof head, head.bytes};
    wire->taken = sizeof head + head.bytes;
    return RDT_WIRE_GOT;
}

static void drop_taken(rdt_wire *wire) {
    rdt_text *in = &wire->incoming;
    if (!wire->taken) return;
    in->length -= wire->taken;
    memmove(in->data, in->data + wire->taken, in->length);
    wire->taken = 0;
}

rdt_wire_state rdt_wire_receive(rdt_wire *wire, int timeout_ms, rdt_frame *out) {
    int64_t end_ms = timeout_ms < 0 ? -1 : rdt_clock_ms() + timeout_ms;
    drop_taken(wire);
    for (;;) {
        rdt_wire_state state = take_frame(wire, out);
        if (state != RDT_WIRE_EMPTY) return state;
        if (!wait_ready(wire->in, POLLIN, end_ms)) return RDT_WIRE_EMPTY;
        char chunk[CHUNK_BYTES];
        ssize_t got = read(wire->in, chunk, sizeof chunk);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) return RDT_WIRE_ENDED;
        rdt_text_add_bytes(&wire->incoming, chunk, (size_t)got);
        if (wire->incoming.failed) return RDT_WIRE_BROKEN;
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

void rdt_wire_put(rdt_wire *wire, const void *data, size_t bytes) {
    const header none = {0};
    /* Room for the header, which knows the length only at the end. */
    if (!wire->outgoing.length)
        rdt_text_add_bytes(&wire->outgoing, (const char *)&none, sizeof none);
    rdt_text_add_bytes(&wire->outgoing, data, bytes);
}

/* A socket takes what it can without waiting and without a signal; a pipe is written to. */
static ssize_t send_some(int fd, const char *data, size_t bytes) {
    ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 && errno == ENOTSOCK ? write(fd, data, bytes) : sent;
}

bool rdt_wire_send(rdt_wire *wire, unsigned kind, int timeout_ms) {
    int64_t end_ms = timeout_ms < 0 ? -1 : rdt_clock_ms() + timeout_ms;
    rdt_text *out = &wire->outgoing;
    rdt_wire_put(wire, "", 0);
    bool good = !out->failed && out->length - sizeof(header) <= RDT_WIRE_BYTES_MAX;
    if (good) {
        header head = {MAGIC, kind, (uint32_t)(out->length - sizeof head)};
        memcpy(out->data, &head, sizeof head);
    }
    for (size_t done = 0; good && done < out->length;) {
        good = wait_ready(wire->out, POLLOUT, end_ms);
        if (!good) break;
        ssize_t sent = send_some(wire->out, out->data + done, out->length - done);
        if (sent > 0) done += (size_t)sent;
        good = sent >= 0 || errno == EINTR || errno == EAGAIN;
    }
    rdt_text_clear(out);
    return good;
}

void rdt_wire_free(rdt_wire *wire) {
    rdt_text_free(&wire->incoming);
    rdt_text_free(&wire->outgoing);
    wire->taken = 0;
}

/* ---- taking apart ---------------------------------------------------------------------------- */

rdt_reader rdt_wire_reader_of(const rdt_frame *frame) {
    return (rdt_reader){frame->data, frame->bytes, false};
}

void rdt_wire_reader_take(rdt_reader *reader, void *out, size_t bytes) {
    if (bytes > reader->left) reader->failed = true;
    if (reader->failed) {
        memset(out, 0, bytes);
        return;
    }
    memcpy(out, reader->at, bytes);
    reader->at += bytes;
    reader->left -= bytes;
}

bool rdt_wire_reader_done(const rdt_reader *reader) { return !reader->failed && !reader->left; }
