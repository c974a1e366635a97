/* Wire: frames, each a kind and some bytes, between a tune and one of its worker processes. */
#pragma once

#include "base/text.h"

/* A frame that claims to be longer is garbage. */
enum { RDT_WIRE_BYTES_MAX = 4 << 20 };

/* Two file descriptors, which may be one, and bytes on their way. Zeroed except in and out. */
typedef struct rdt_wire {
    int in, out;
    rdt_text incoming; /* received, from the frame handed out on */
    size_t taken;      /* bytes of incoming that the frame handed out takes */
    rdt_text outgoing; /* put together for the next frame */
} rdt_wire;

typedef struct rdt_frame {
    unsigned kind;
    const char *data; /* the wire's, until the next call of receive */
    size_t bytes;
} rdt_frame;

typedef enum rdt_wire_state {
    RDT_WIRE_GOT,    /* a frame */
    RDT_WIRE_EMPTY,  /* not a whole frame in the time given */
    RDT_WIRE_ENDED,  /* the other end is closed; what it sent before has been handed out */
    RDT_WIRE_BROKEN, /* what came is no frame, or memory ran out */
} rdt_wire_state;

/* Waits for a frame for timeout_ms at most; -1: for as long as it takes. */
rdt_wire_state rdt_wire_receive(rdt_wire *wire, int timeout_ms, rdt_frame *out);
/* Adds to the next frame. */
void rdt_wire_put(rdt_wire *wire, const void *data, size_t bytes);
/* Sends what was put, as one frame. false if the other end does not take it within timeout_ms;
 * no SIGPIPE where out is a socket. */
bool rdt_wire_send(rdt_wire *wire, unsigned kind, int timeout_ms);
/* Frees the buffers; the file descriptors stay. */
void rdt_wire_free(rdt_wire *wire);

/* Takes a frame apart, piece by piece. failed: it was shorter than what was taken. */
typedef struct rdt_reader {
    const char *at;
    size_t left;
    bool failed;
} rdt_reader;

rdt_reader rdt_wire_reader_of(const rdt_frame *frame);
/* Copies the next bytes, or zeros once the frame has failed. */
void rdt_wire_reader_take(rdt_reader *reader, void *out, size_t bytes);
/* Whether all of the frame was taken, and no more. */
bool rdt_wire_reader_done(const rdt_reader *reader);
