/* Facts about the wire: whole messages come out as they went in, however they arrive, and nothing
 * else is taken for a message. */
#define _GNU_SOURCE
#include "check.h"
#include "tuner/workers/protocol.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* What stands before each message: a mark, the kind, the bytes that follow. */
enum {
    HEAD_WORDS = 3,
    HEAD_BYTES = 12,
    BYTES_WORD = 2,
    GARBAGE_CASES = 10000,
    MANY = 40,
    PATIENT_MS = 10000
};

/* The kinds, and what each carries at least. */
static const struct {
    unsigned kind;
    size_t bytes;
} kinds[] = {
    {RDT_FRAME_HELLO, sizeof(rdt_hello)},
    {RDT_FRAME_VERIFY, sizeof(rdt_request) + 3 * sizeof(rdt_candidate)},
    {RDT_FRAME_TIME, sizeof(rdt_request) + 3 * (sizeof(rdt_candidate) + sizeof(rdt_verdict))},
    {RDT_FRAME_MAKE, sizeof(rdt_compile_job)},
    {RDT_FRAME_READY, sizeof(rdt_ready)},
    {RDT_FRAME_AT, sizeof(uint64_t)},
    {RDT_FRAME_VERDICT, sizeof(uint64_t) + sizeof(rdt_verdict)},
    {RDT_FRAME_DONE, 3 * (sizeof(rdt_verdict) + sizeof(rdt_conditions) + 9 * sizeof(double))},
    {RDT_FRAME_FAULT, sizeof(uint64_t) + sizeof(redtune_error)},
    {RDT_FRAME_FAILED, sizeof(redtune_error)},
    {RDT_FRAME_MADE, sizeof(redtune_error)},
    {RDT_FRAME_LOG, sizeof(redtune_log_level)},
    {7777, 5}, /* of nobody's: the wire carries it, who gets it refuses */
};

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(char *data, size_t bytes, uint32_t seed) {
    for (size_t i = 0; i < bytes; i++) data[i] = (char)next(&seed);
}

/* Two ends of one line. */
typedef struct line {
    rdt_wire a, b;
} line;

static line open_line(void) {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) abort();
    return (line){{.in = ends[0], .out = ends[0]}, {.in = ends[1], .out = ends[1]}};
}

static void close_end(rdt_wire *wire) {
    if (wire->in >= 0) close(wire->in);
    rdt_wire_free(wire);
    *wire = (rdt_wire){.in = -1, .out = -1};
}

static void close_line(line *line) {
    close_end(&line->a);
    close_end(&line->b);
}

/* The bytes that a message is on the way; out has room for bytes and the head. */
static size_t write_raw(unsigned kind, const char *data, size_t bytes, char *out) {
    line line = open_line();
    rdt_wire_put(&line.a, data, bytes);
    size_t got = 0, want = bytes + HEAD_BYTES;
    if (!rdt_wire_send(&line.a, kind, PATIENT_MS)) abort();
    while (got < want) {
        ssize_t part = read(line.b.in, out + got, want - got);
        if (part <= 0) abort();
        got += (size_t)part;
    }
    close_line(&line);
    return got;
}

static bool is_message(const rdt_frame *message, unsigned kind, const char *data, size_t bytes) {
    return message->kind == kind && message->bytes == bytes && !memcmp(message->data, data, bytes);
}

/* ---- what goes through ----------------------------------------------------------------------- */

static bool goes_round(line *line, unsigned kind, const char *data, size_t bytes) {
    rdt_frame got;
    /* In two pieces, as senders put them together. */
    rdt_wire_put(&line->a, data, bytes / 3);
    rdt_wire_put(&line->a, data + bytes / 3, bytes - bytes / 3);
    return rdt_wire_send(&line->a, kind, PATIENT_MS) &&
           rdt_wire_receive(&line->b, PATIENT_MS, &got) == RDT_WIRE_GOT &&
           is_message(&got, kind, data, bytes);
}

FACT(every_kind_goes_round) {
    line line = open_line();
    bool good = true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char data[1 << 14];
        if (kinds[i].bytes > sizeof data) abort();
        fill(data, kinds[i].bytes, (uint32_t)i);
        good = good && goes_round(&line, kinds[i].kind, data, kinds[i].bytes);
    }
    good = good && goes_round(&line, RDT_FRAME_LOG, "", 0); /* none is a length, too */
    close_line(&line);
    CHECK(good);
}

FACT(many_that_came_at_once_are_handed_out_in_turn) {
    line line = open_line();
    rdt_frame got;
    bool good = true;
    for (unsigned i = 0; i < MANY; i++) {
        rdt_wire_put(&line.a, "0123456789", i % 11);
        good = good && rdt_wire_send(&line.a, i, PATIENT_MS);
    }
    close_end(&line.a); /* what was sent before is handed out all the same */
    for (unsigned i = 0; i < MANY && good; i++)
        good = rdt_wire_receive(&line.b, PATIENT_MS, &got) == RDT_WIRE_GOT &&
               is_message(&got, i, "0123456789", i % 11);
    good = good && rdt_wire_receive(&line.b, PATIENT_MS, &got) == RDT_WIRE_ENDED;
    close_line(&line);
    CHECK(good);
}

FACT(a_byte_at_a_time_makes_the_message) {
    char data[300], raw[sizeof data + HEAD_BYTES];
    fill(data, sizeof data, 1);
    size_t length = write_raw(RDT_FRAME_MADE, data, sizeof data, raw);
    line line = open_line();
    rdt_frame got;
    size_t early = 0;
    for (size_t i = 0; i + 1 < length; i++) {
        if (write(line.a.out, &raw[i], 1) != 1) abort();
        early += rdt_wire_receive(&line.b, 0, &got) != RDT_WIRE_EMPTY;
    }
    if (write(line.a.out, &raw[length - 1], 1) != 1) abort();
    bool good = rdt_wire_receive(&line.b, PATIENT_MS, &got) == RDT_WIRE_GOT &&
                is_message(&got, RDT_FRAME_MADE, data, sizeof data);
    close_line(&line);
    CHECK_INT(early, 0);
    CHECK(good);
}

FACT(a_message_cut_anywhere_is_none) {
    char data[60], raw[sizeof data + HEAD_BYTES];
    fill(data, sizeof data, 2);
    size_t length = write_raw(RDT_FRAME_MADE, data, sizeof data, raw), wrong = 0;
    for (size_t cut = 0; cut < length; cut++) {
        line line = open_line();
        rdt_frame got;
        if (write(line.a.out, raw, cut) != (ssize_t)cut) abort();
        close_end(&line.a);
        wrong += rdt_wire_receive(&line.b, PATIENT_MS, &got) != RDT_WIRE_ENDED;
        close_line(&line);
    }
    CHECK_INT(wrong, 0);
}

/* ---- what does not --------------------------------------------------------------------------- */

/* What comes of a head with that length, and whether memory for it was taken. */
static rdt_wire_state hear_length(uint32_t bytes, size_t *capacity) {
    uint32_t head[HEAD_WORDS];
    write_raw(RDT_FRAME_LOG, "", 0, (char *)head);
    head[BYTES_WORD] = bytes;
    line line = open_line();
    rdt_frame got;
    if (write(line.a.out, head, sizeof head) != sizeof head) abort();
    rdt_wire_state state = rdt_wire_receive(&line.b, 0, &got);
    *capacity = line.b.incoming.capacity;
    close_line(&line);
    return state;
}

FACT(a_length_beyond_the_bound_is_refused_at_once) {
    static const uint32_t lengths[] = {RDT_WIRE_BYTES_MAX + 1, INT32_MAX, (uint32_t)INT32_MIN,
                                       UINT32_MAX - HEAD_BYTES, UINT32_MAX};
    size_t capacity;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CHECK_INT(hear_length(lengths[i], &capacity), RDT_WIRE_BROKEN);
        CHECK(capacity < 4096);
    }
    /* The longest is waited for, and takes no room before it comes. */
    CHECK_INT(hear_length(RDT_WIRE_BYTES_MAX, &capacity), RDT_WIRE_EMPTY);
    CHECK(capacity < 4096);
    CHECK_INT(hear_length(0, &capacity), RDT_WIRE_GOT);
}

static void *send_longest(void *user) {
    return rdt_wire_send(user, RDT_FRAME_DONE, PATIENT_MS) ? user : NULL;
}

FACT(the_longest_goes_round_and_no_longer_one_is_sent) {
    char *data = malloc(RDT_WIRE_BYTES_MAX + 1);
    line line = open_line();
    rdt_frame got;
    pthread_t sender;
    void *sent = NULL;
    fill(data, RDT_WIRE_BYTES_MAX + 1, 3);
    rdt_wire_put(&line.a, data, RDT_WIRE_BYTES_MAX);
    if (pthread_create(&sender, NULL, send_longest, &line.a)) abort();
    bool good = rdt_wire_receive(&line.b, PATIENT_MS, &got) == RDT_WIRE_GOT &&
                is_message(&got, RDT_FRAME_DONE, data, RDT_WIRE_BYTES_MAX);
    pthread_join(sender, &sent);
    rdt_wire_put(&line.a, data, RDT_WIRE_BYTES_MAX + 1);
    bool refused = !rdt_wire_send(&line.a, RDT_FRAME_DONE, PATIENT_MS);
    /* Nothing of it is left to spoil the next. */
    bool goes_on = goes_round(&line, RDT_FRAME_MADE, data, 9);
    close_line(&line);
    free(data);
    CHECK(good && sent);
    CHECK(refused);
    CHECK(goes_on);
}

/* Random bytes, or a message of which one byte of the mark or one high bit of the length is other.
 * Returns how many. */
static size_t make_garbage(uint32_t *seed, char *out, size_t room) {
    if (next(seed) % 2) {
        size_t bytes = HEAD_BYTES + next(seed) % (room - HEAD_BYTES);
        fill(out, bytes, next(seed));
        return bytes;
    }
    uint32_t head[HEAD_WORDS];
    size_t bytes = write_raw(next(seed) % 110, "garbage", 7, out);
    memcpy(head, out, sizeof head);
    if (next(seed) % 2)
        head[0] ^= UINT32_C(1) << next(seed) % 32;
    else
        head[BYTES_WORD] ^= UINT32_C(1) << (23 + next(seed) % 9);
    memcpy(out, head, sizeof head);
    return bytes;
}

FACT(garbage_is_never_a_message) {
    uint32_t seed = 20;
    size_t taken = 0, much = 0;
    for (int i = 0; i < GARBAGE_CASES; i++) {
        char raw[512];
        size_t bytes = make_garbage(&seed, raw, sizeof raw);
        line line = open_line();
        rdt_frame got;
        if (write(line.a.out, raw, bytes) != (ssize_t)bytes) abort();
        taken += rdt_wire_receive(&line.b, 0, &got) != RDT_WIRE_BROKEN;
        taken += rdt_wire_receive(&line.b, 0, &got) != RDT_WIRE_BROKEN; /* and stays so */
        much += line.b.incoming.capacity > 4096;
        close_line(&line);
    }
    CHECK_INT(taken, 0);
    CHECK_INT(much, 0);
}

static volatile sig_atomic_t pipes_broken;

static void count_signal(int number) {
    (void)number;
    pipes_broken++;
}

FACT(a_reader_that_died_is_told_without_a_signal) {
    struct sigaction counted = {.sa_handler = count_signal}, before;
    sigaction(SIGPIPE, &counted, &before);
    line line = open_line();
    close_end(&line.b);
    rdt_wire_put(&line.a, "anyone?", 7);
    bool sent = rdt_wire_send(&line.a, RDT_FRAME_LOG, PATIENT_MS);
    close_line(&line);
    sigaction(SIGPIPE, &before, NULL);
    CHECK(!sent);
    CHECK_INT(pipes_broken, 0);
}

FACT(a_reader_that_does_not_read_is_not_waited_for_longer) {
    char *data = calloc(1, RDT_WIRE_BYTES_MAX);
    line line = open_line();
    rdt_wire_put(&line.a, data, RDT_WIRE_BYTES_MAX);
    bool sent = rdt_wire_send(&line.a, RDT_FRAME_LOG, 20);
    close_line(&line);
    free(data);
    CHECK(!sent);
}

/* ---- taking apart ---------------------------------------------------------------------------- */

FACT(a_reader_gives_zeros_beyond_the_end) {
    const rdt_frame message = {RDT_FRAME_AT, "abcdefgh", 8};
    char got[8];
    for (size_t bytes = 0; bytes <= 8; bytes++) {
        rdt_reader reader = rdt_wire_reader_of(&message);
        rdt_wire_reader_take(&reader, got, bytes);
        CHECK(!memcmp(got, "abcdefgh", bytes));
        CHECK_INT(rdt_wire_reader_done(&reader), bytes == 8);
        memset(got, 'x', sizeof got);
        rdt_wire_reader_take(&reader, got, 8);
        CHECK_INT(reader.failed, bytes > 0);
        CHECK(!bytes || !memcmp(got, "\0\0\0\0\0\0\0\0", 8));
        rdt_wire_reader_take(&reader, got, 0);
        CHECK_INT(rdt_wire_reader_done(&reader), bytes == 0); /* once failed, failed */
    }
}

FACT(a_greeting_of_another_build_is_refused) {
    redtune_error err;
    rdt_hello hello = rdt_protocol_hello(RDT_ROLE_GPU), got;
    rdt_frame message = {RDT_FRAME_HELLO, (const char *)&hello, sizeof hello};
    memset(hello.device, '9', sizeof hello.device); /* without an end */
    memset(hello.kernel_cache, '/', sizeof hello.kernel_cache);
    CHECK_OK(rdt_protocol_check_hello(&message, &got, &err), err);
    CHECK_INT(got.role, RDT_ROLE_GPU);
    CHECK_INT(got.parent, getpid());
    CHECK_INT(strlen(got.device), sizeof got.device - 1);
    CHECK_INT(strlen(got.kernel_cache), sizeof got.kernel_cache - 1);

    message.kind = RDT_FRAME_MAKE;
    CHECK_FAILS(rdt_protocol_check_hello(&message, &got, &err), REDTUNE_UNSUPPORTED, err,
                "another build");
    message.kind = RDT_FRAME_HELLO;
    for (message.bytes = 0; message.bytes < sizeof hello; message.bytes++)
        CHECK_INT(rdt_protocol_check_hello(&message, &got, &err), REDTUNE_UNSUPPORTED);
    message.bytes = sizeof hello;
    hello.bytes++;
    CHECK_FAILS(rdt_protocol_check_hello(&message, &got, &err), REDTUNE_UNSUPPORTED, err,
                "another build");
    hello.bytes--;
    hello.version[sizeof hello.version - 1] = '!';
    CHECK_FAILS(rdt_protocol_check_hello(&message, &got, &err), REDTUNE_UNSUPPORTED, err,
                "another build");
}

int main(int argc, char **argv) { return check_run(argc, argv); }
