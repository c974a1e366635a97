/* Protocol: what a tune and its worker processes say to each other, as plain data. Both are of one
 * build, which the greeting makes sure of, so structs travel as they lie in memory. */
#pragma once

#include "model/facts.h"
#include "tuner/evaluator.h"
#include "tuner/workers/wire.h"

/* To the worker. */
enum {
    RDT_FRAME_HELLO = 1, /* rdt_hello; as many frames as it has op files follow */
    RDT_FRAME_VERIFY,    /* rdt_request, candidates */
    RDT_FRAME_TIME,    /* rdt_request, candidates, verdicts: those that are not good are left out */
    RDT_FRAME_MAKE,    /* rdt_compile_job */
    RDT_FRAME_OP_FILE, /* its name with a NUL, its text */
};

/* From the worker. */
enum {
    RDT_FRAME_READY = 101, /* rdt_ready */
    RDT_FRAME_AT,          /* uint64_t: the current candidate's index in the request */
    RDT_FRAME_VERDICT,     /* uint64_t, rdt_verdict */
    RDT_FRAME_DONE,        /* to TIME: verdicts, conditions, then samples of each in ns */
    RDT_FRAME_FAULT,       /* uint64_t, redtune_error: this candidate has spoilt the GPU's state */
    RDT_FRAME_FAILED,      /* redtune_error: nothing more can be done here */
    RDT_FRAME_MADE,        /* to MAKE: redtune_error, whose status may be REDTUNE_OK */
    RDT_FRAME_LOG,         /* redtune_log_level, text without a NUL */
};

typedef enum rdt_role { RDT_ROLE_COMPILE, RDT_ROLE_GPU } rdt_role;

typedef struct rdt_hello {
    char version[16]; /* REDTUNE_VERSION */
    size_t bytes;     /* of the structs here: another build has others */
    rdt_role role;
    int parent;              /* process id of the tune */
    int log_level;           /* lines above it are not made */
    int op_files;            /* of the user's: the worker reads none by itself */
    char device[16];         /* of the GPU's worker, as in redtune_options */
    char kernel_cache[4096]; /* path */
} rdt_hello;

typedef struct rdt_ready {
    redtune_error error; /* status not REDTUNE_OK: the worker cannot work, and ends */
    int nvrtc_version;
    char templates[40]; /* their hash */
    /* Of the GPU's worker: */
    rdt_facts facts;
    uint64_t free_bytes; /* device memory */
    bool ptx;            /* the driver takes no cubin of NVRTC's */
} rdt_ready;

/* Tunes of classes that share one worker: each has an evaluator of its own in it. */
enum { RDT_JOBS_MAX = 8 };

typedef struct rdt_request {
    unsigned job; /* whose it is, below RDT_JOBS_MAX */
    redtune_problem problem;
    rdt_domain domain; /* of the problems of this class that are to come */
    rdt_cache_state cache;
    int samples;
    uint64_t count; /* candidates that follow */
} rdt_request;

/* A kernel for the kernel cache. */
typedef struct rdt_compile_job {
    rdt_facts facts;
    bool ptx;
    redtune_problem problem;
    rdt_point point;
} rdt_compile_job;

/* Sends a greeting with the user's op files, in the order of their numbers. false if the other end
 * does not take it. */
bool rdt_protocol_greet(rdt_wire *wire, rdt_hello hello, int timeout_ms);
/* Takes the op files in that follow a greeting. Before any op is asked for. */
redtune_status rdt_protocol_take_ops(rdt_wire *wire, const rdt_hello *hello, int timeout_ms,
                                     redtune_error *err);
/* A greeting of this build, for the rest to be filled in. */
rdt_hello rdt_protocol_hello(rdt_role role);
/* The greeting that a frame is; REDTUNE_UNSUPPORTED for one of another build, or for none. */
redtune_status rdt_protocol_check_hello(const rdt_frame *frame, rdt_hello *out, redtune_error *err);
