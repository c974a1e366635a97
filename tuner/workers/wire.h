/* Wire: messages, each a kind and some bytes, between a tune and one of its worker processes. */
#pragma once

#include "base/text.h"

/* A message that claims to be longer is garbage. */
enum { RDT_WIRE_BYTES_MAX = 4 << 20 };

/* Two file descriptors, which may be one, and bytes on their way. Zeroed except in and out. */
typedef struct rdt_wire {
    int in, out;
    rdt_text incoming; /* received, from the message handed out on */
    size_t taken;      /* bytes of incoming that the message handed out takes */
    rdt_text outgoing; /* put together for the next message */
} rdt_wire;

typedef struct rdt_message {
    unsigned kind;
    const char *data; /* the wire's, until the next call of receive */
    size_t bytes;
} rdt_message;

typedef enum rdt_wire_state {
    RDT_WIRE_GOT,    /* a message */
    RDT_WIRE_EMPTY,  /* not a whole message in the time given */
    RDT_WIRE_ENDED,  /* the other end is closed; what it sent before has been handed out */
    RDT_WIRE_BROKEN, /* what came is no message, or memory ran out */
} rdt_wire_state;

/* Waits for a message for timeout_ms at most; -1: for as long as it takes. */
rdt_wire_state rdt_wire_receive(rdt_wire *wire, int timeout_ms, rdt_message *out);
/* Adds to the next message. */
void rdt_wire_put(rdt_wire *wire, const void *data, size_t bytes);
/* Sends what was put, as one message. false if the other end does not take it within timeout_ms;
 * no SIGPIPE where out is a socket. */
bool rdt_wire_send(rdt_wire *wire, unsigned kind, int timeout_ms);
/* Frees the buffers; the file descriptors stay. */
void rdt_wire_free(rdt_wire *wire);

/* Takes a message apart, piece by piece. failed: it was shorter than what was taken. */
typedef struct rdt_reader {
    const char *at;
    size_t left;
    bool failed;
} rdt_reader;

rdt_reader rdt_wire_reader_of(const rdt_message *message);
/* Copies the next bytes, or zeros once the message has failed. */
void rdt_wire_reader_take(rdt_reader *reader, void *out, size_t bytes);
/* Whether all of the message was taken, and no more. */
bool rdt_wire_reader_done(const rdt_reader *reader);
