/* Judge: the naive kernel (templates/naive/), which says what a reduction should give.
 *
 * A question is about elements on the GPU that repeat with a period, one of which may be thought
 * replaced. One thread answers it, element after element in their order. So that long questions do
 * not take long, the partial results of 64 elements of a period are kept as nodes, and those of 64
 * nodes, up to a single one: answers of the same kernel, taken in place of the elements.
 *
 * Of problems in fixed order the kernel follows docs/order.md. Its nodes are the values of the
 * chunks of a window: of all questions whose elements begin at the same place. */
#pragma once

#include "codegen/codegen.h"
#include "gpu/buffer.h"
#include "gpu/context.h"
#include "gpu/kernel.h"
#include "tuner/measure/compare.h"

/* Makes a point's kernel, loaded into the current context. Once made it is the caller's. */
typedef redtune_status rdt_make_kernel_fn(void *user, const redtune_problem *problem,
                                          const rdt_point *point, const rdt_launch *launch,
                                          rdt_kernel **out, redtune_error *err);

/* All of it outlives what is made with it. */
typedef struct rdt_maker {
    rdt_codegen *codegen;
    rdt_make_kernel_fn *make;
    void *user; /* for make */
} rdt_maker;

/* Makes the kernel of a family that no tune chooses, such as the naive one. */
redtune_status rdt_judge_make_aside(const rdt_maker *maker, const char *family, rdt_case at,
                                    rdt_launch *launch, rdt_kernel **out, redtune_error *err);

/* A period of elements on the GPU, of each input, with its nodes. Valid when zeroed: no elements.
 */
typedef struct rdt_judged {
    CUdeviceptr elements[RDT_OP_INPUTS_MAX]; /* the second 0 where the op has one input */
    uint64_t period, levels;
    rdt_buffer nodes; /* level after level */
} rdt_judged;

/* As templates/naive/kernel.cu has it. An answer is one result, or two, in 16 bytes each. */
typedef struct rdt_question {
    uint64_t elements[2]; /* of each input */
    uint64_t nodes, period, levels;
    uint64_t first, count;
    uint64_t planted_at[2], planted[2]; /* likewise */
    uint64_t node;
} rdt_question;

/* The nodes of a window of elements, in fixed order. */
typedef struct rdt_judge_window {
    uint64_t elements[RDT_OP_INPUTS_MAX], first, period;
    uint64_t chunks;
    rdt_buffer nodes;
} rdt_judge_window;

enum { RDT_JUDGE_WINDOWS = 64, RDT_JUDGE_WINDOWS_BYTES = 64 << 20 };

typedef struct rdt_judge {
    const rdt_driver *driver;
    CUstream stream;
    rdt_kernel *kernel;
    rdt_launch launch; /* nodes take its slot_bytes each */
    rdt_given given;   /* the op's parameters */
    rdt_buffer questions, answers;
    size_t answer_bytes; /* of one: 16 for each of the op's results */
    uint64_t chunk;      /* elements of a chunk; 0: in free order */
    size_t window_count;
    rdt_judge_window window[RDT_JUDGE_WINDOWS];
} rdt_judge;

enum {
    RDT_JUDGE_QUESTIONS = 2048, /* at a time */
    RDT_JUDGE_PERIOD_MAX = 1 << 20,
};

/* For problems like this one, of any count; it is resolved. The context is current. */
redtune_status rdt_judge_open(const rdt_context *context, const redtune_problem *problem,
                              const rdt_maker *maker, CUstream stream, rdt_judge **out,
                              redtune_error *err);
/* judge may be NULL. */
void rdt_judge_close(rdt_judge *judge);

/* Bytes of the GPU that a judge of such problems takes at most, with the nodes of three periods. */
size_t rdt_judge_bytes(const redtune_problem *problem);

/* Makes the nodes of a period that lies on the GPU and stays as it is; in fixed order there are
 * none until they are needed. second: the elements of the second input, whose number i stands
 * opposite to the first's; 0 where the op has one. */
redtune_status rdt_judge_prepare(rdt_judge *judge, CUdeviceptr elements, CUdeviceptr second,
                                 uint64_t period, rdt_judged *out, redtune_error *err);
void rdt_judge_forget(rdt_judged *judged);

/* What is the result over count elements from first on? */
rdt_question rdt_judge_question(const rdt_judged *judged, uint64_t first, uint64_t count);
/* The same with this element in the place of number `at` of an input's: 0 or 1. */
void rdt_judge_plant(rdt_question *question, int input, uint64_t at, const redtune_value *element);
/* Answers them, RDT_JUDGE_QUESTIONS at a time. Waits. */
redtune_status rdt_judge_answer(rdt_judge *judge, const rdt_question *questions, size_t count,
                                rdt_answer *answers, redtune_error *err);
