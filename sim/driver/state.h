/* State: everything that the driver remembers between calls. libcuda's interface passes no handle
 * for it, so it is the one mutable global, and state.c is the one file that holds it. */
#pragma once

#include "driver/cuda_api.h"
#include "exec/run.h"

#include <pthread.h>

enum { SIM_DEVICES_MAX = 8, SIM_FINDINGS_MAX = 256, SIM_RULES_MAX = 32, SIM_STACK_MAX = 64 };

typedef enum sim_handle_kind {
    SIM_HANDLE_CONTEXT = 1,
    SIM_HANDLE_MODULE,
    SIM_HANDLE_FUNCTION,
    SIM_HANDLE_STREAM,
    SIM_HANDLE_EVENT,
    SIM_HANDLE_GRAPH,
    SIM_HANDLE_NODE,
    SIM_HANDLE_EXEC,
    SIM_HANDLE_USER_OBJECT
} sim_handle_kind;

/* First member of all that a caller holds a handle to. */
typedef struct sim_handle {
    struct sim_handle *next; /* of those of its kind */
    sim_handle_kind kind;
    struct CUctx_st *context;
} sim_handle;

struct CUctx_st {
    sim_handle handle;
    int device;
    bool is_primary;
    uint32_t retained; /* of a primary context */
    unsigned long long id;
    CUresult pending;                /* of a launch, not yet seen by a call that waits for it */
    CUresult sticky;                 /* seen: every call fails with it from now on */
    struct CUstream_st *null_stream; /* made with the context, as the next */
    struct CUstream_st *thread_stream;
};

struct CUmod_st {
    sim_handle handle;
    sim_ast ast;
    uint64_t *addresses;          /* of the ast's variables */
    struct CUfunc_st **functions; /* one per entry */
    uint32_t function_count;
    uint32_t references; /* the owner's, and one per graph node that names a function */
    bool is_unloaded;
};

struct CUfunc_st {
    sim_handle handle;
    struct CUmod_st *module;
    sim_program program;
    uint32_t dynamic_bytes_max;
};

typedef struct sim_capture sim_capture;
typedef struct sim_late sim_late;

struct CUstream_st {
    sim_handle handle;
    unsigned int flags;
    int priority;
    unsigned long long id;
    sim_capture *capture;         /* NULL: not capturing */
    struct CUgraphNode_st **tips; /* of the capture: what the next node comes behind */
    size_t tip_count;
};

struct CUevent_st {
    sim_handle handle;
    unsigned int flags;
    bool is_recorded;
    double time_ns;
    sim_capture *capture; /* recorded into this one, behind tips */
    struct CUgraphNode_st **tips;
    size_t tip_count;
};

typedef enum sim_rule_mode { SIM_RULE_ONCE, SIM_RULE_ON, SIM_RULE_STICKY } sim_rule_mode;

/* REDTUNE_SIM_FAIL's and REDTUNE_SIM_LAUNCH's parts. */
typedef struct sim_rule {
    char name[64];   /* of an entry point without _v2, "*" for all; of a launch: the fault */
    uint64_t number; /* of the call, from 1 */
    CUresult error;
    sim_rule_mode mode;
} sim_rule;

typedef struct sim_config {
    sim_settings settings;
    int device_count;
    int driver_version;       /* 13000 is CUDA 13.0 */
    int model_count;          /* the devices take turns in having their names */
    uint64_t alloc_max_bytes; /* 0: none */
    char report[512];         /* "", "stderr" or a path */
    bool late;                /* work waits, and streams take turns */
    int exit_code;            /* at exit, when there were findings; 0: as it is */
    sim_rule fails[SIM_RULES_MAX];
    uint32_t fail_count;
    sim_rule launches[SIM_RULES_MAX];
    uint32_t launch_fault_count;
    char refused[256]; /* the first setting of the environment that cannot be used, and why */
} sim_config;

typedef struct sim_driver {
    pthread_mutex_t lock;
    bool is_initialised;
    bool is_configured;
    bool is_hung;   /* a launch never ends */
    bool is_forked; /* a child of a process that started it */
    sim_config config;
    sim_memory memory;
    sim_handle *handles; /* all of them */
    size_t captures;     /* that have not ended */
    sim_handle *spare_streams;
    sim_late *late; /* the work that waits; NULL: none does */
    struct CUctx_st *primary[SIM_DEVICES_MAX];
    unsigned long long next_id;
    uint64_t launches; /* attempted */
    double now_ns;     /* the device's clock */
    uint64_t calls;
    uint64_t calls_by_entry[128];
    uint32_t safe_captures; /* streams that capture in mode global */
    bool any_launch;
    struct redtune_sim_counters last, total;
    struct redtune_sim_finding findings[SIM_FINDINGS_MAX];
    size_t finding_count;
} sim_driver;

/* A thread's state: contexts pushed, and how it takes others' captures. */
typedef struct sim_caller {
    struct CUctx_st *stack[SIM_STACK_MAX];
    uint32_t depth;
    CUstreamCaptureMode mode;
    uint32_t captures; /* begun here in mode thread-local */
    bool in_callback;  /* a host function runs: no call may reach the driver */
} sim_caller;

extern sim_driver sim_state;
extern _Thread_local sim_caller sim_thread;

/* Handles. put links a new one; find says whether it is one, of that kind. */
void sim_state_handle_put(sim_handle *handle, sim_handle_kind kind);
bool sim_state_handle_is(const void *handle, sim_handle_kind kind);
void sim_state_handle_drop(sim_handle *handle);

struct CUctx_st *sim_context_current(void);
void sim_context_end_all(void);
CUresult sim_context_fail(struct CUctx_st *context, CUresult error);

/* Configuration. */
bool sim_config_set(sim_config *config, const char *name, const char *value);
void sim_config_read(sim_config *config);

/* Findings. */
void sim_report(const struct redtune_sim_finding *finding);
void sim_report_misuse(CUresult error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
size_t sim_report_leaks(const struct CUctx_st *context);

/* One piece of work for the device, as a stream takes it and a graph keeps it. */
typedef enum sim_work_kind {
    SIM_WORK_EMPTY,
    SIM_WORK_KERNEL,
    SIM_WORK_COPY,
    SIM_WORK_MEMSET,
    SIM_WORK_HOST
} sim_work_kind;

typedef struct sim_work {
    sim_work_kind kind;
    struct CUfunc_st *function; /* of a kernel */
    uint32_t grid[3], block[3];
    uint32_t dynamic_bytes;
    unsigned char *params; /* a copy that the work owns */
    CUdeviceptr to, from;  /* of a copy or memset; 0: the host's side */
    const void *from_host;
    void *to_host;
    size_t bytes;
    uint32_t value; /* of a memset, of element_bytes */
    uint32_t element_bytes;
    CUhostFn host;
    void *user;
} sim_work;

/* Gives the work to the stream: it runs at once, or becomes a node of the stream's capture.
 * The stream takes over what the work owns. */
CUresult sim_work_submit(struct CUstream_st *stream, sim_work *work);
/* Lets the device's clock go on by ns. */
void sim_work_advance_clock(double ns);
/* Runs it; costs start_ns besides. An error that hardware would only find later is the
 * context's, not the caller's. */
CUresult sim_work_run(struct CUctx_st *context, const sim_work *work, double start_ns);
CUresult sim_work_check(const sim_work *work);
CUresult sim_work_copy(sim_work *to, const sim_work *from);
void sim_work_drop(sim_work *work);
CUresult sim_launch_run(struct CUctx_st *context, const sim_work *work);

/* Work that is run late. takes: whether the stream's work waits now; add: takes over what the work
 * owns; run: all that waits. */
bool sim_late_takes(const struct CUstream_st *stream, const sim_work *work);
CUresult sim_late_add(const struct CUstream_st *stream, sim_work *work, double start_ns);
void sim_late_run(void);

void sim_module_retain(struct CUmod_st *module);
void sim_module_release(struct CUmod_st *module);
void sim_module_unload(struct CUmod_st *module);

/* Streams: the handle as given, with the null stream's three names resolved; NULL: invalid. */
struct CUstream_st *sim_stream_find(CUstream stream);
struct CUstream_st *sim_stream_make(struct CUctx_st *context, unsigned int flags);
void sim_stream_destroy(struct CUstream_st *stream);
void sim_stream_free_spares(void);
CUresult sim_stream_hang(void);

/* Capture. unsafe: what a call that no capture allows returns, having spoilt the captures that
 * it met. stream: likewise for a stream that waits or is asked while it captures. add: the work
 * becomes a node behind the stream's tips. */
CUresult sim_capture_check_unsafe(void);
CUresult sim_capture_check_stream(struct CUstream_st *stream);
CUresult sim_capture_add(struct CUstream_st *stream, sim_work *work);
CUresult sim_capture_record(struct CUstream_st *stream, struct CUevent_st *event);
CUresult sim_capture_wait(struct CUstream_st *stream, struct CUevent_st *event);
void sim_capture_drop_stream(struct CUstream_st *stream);
void sim_capture_drop_event(struct CUevent_st *event);

struct CUgraph_st *sim_graph_make(struct CUctx_st *context);
CUresult sim_graph_add(struct CUgraph_st *graph, struct CUgraphNode_st *const *behind,
                       size_t behind_count, sim_work *work, struct CUgraphNode_st **out);
void sim_graph_destroy(struct CUgraph_st *graph);
void sim_graph_exec_destroy(struct CUgraphExec_st *exec);
void sim_event_destroy(struct CUevent_st *event);
void sim_object_destroy_all(void);
