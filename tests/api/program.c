/* Program: what a program that uses redtune gets. */
#define _POSIX_C_SOURCE 200809L
#include "program.h"

#include <string.h>
#include <time.h>
#include "gpu/timer.h"

static void listen(void *user, redtune_log_level level, const char *line) {
    listener *self = user;
    (void)level;
    self->verified += strstr(line, "verified block=") != NULL;
    self->out += strstr(line, " is out, as an import had it") != NULL;
    self->hopeless += strstr(line, "not worth measuring") != NULL;
    self->unverified += strstr(line, "could not be verified") != NULL;
}

redtune_status program_start(program *self, const redtune_options *options, redtune_error *err) {
    self->heard = (listener){0};
    self->options = *options;
    if (!self->options.database) self->options.database = claims_database;
    /* The simulator is slow. */
    if (self->options.verify_s == 0 && claims_simulated()) self->options.verify_s = 60;
    self->options.log = listen;
    self->options.log_user = &self->heard;
    self->options.log_level = REDTUNE_LOG_INFO;
    return redtune_open(&self->options, &self->rt, err);
}

/* What a call takes, by the GPU's clock. */
static double time_ns(redtune_plan *plan, uint64_t count, redtune_error *err) {
    const device *gpu = &claims_adder.gpu;
    const int calls = claims_simulated() ? 4 : 400;
    rdt_timer timer;
    double elapsed_ns = -1;
    if (rdt_timer_create(gpu->driver, &timer, err)) return -1;
    adder_run(&claims_adder, plan, count, err);
    rdt_timer_start(&timer, gpu->stream, err);
    for (int i = 0; i < calls; i++) adder_run(&claims_adder, plan, count, err);
    rdt_timer_stop(&timer, gpu->stream, err);
    if (rdt_timer_read(&timer, &elapsed_ns, err)) elapsed_ns = -1;
    rdt_timer_destroy(&timer);
    return elapsed_ns / calls;
}

double program_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

redtune_status program_try(program *self, uint64_t count, outcome *out, redtune_error *err) {
    redtune_plan *plan = NULL;
    const redtune_problem problem = claims_sum_of(count);
    double before = program_now_ms();
    redtune_status status = redtune_plan_create(self->rt, &problem, &plan, err);
    if (status) return status;
    out->made_ms = program_now_ms() - before;
    out->sum = adder_sum(&claims_adder, plan, count, err);
    out->ns = time_ns(plan, count, err);
    redtune_plan_info(plan, &out->info);
    redtune_plan_destroy(plan);
    return REDTUNE_OK;
}

redtune_status program_try_all(const redtune_options *options, outcome out[CLAIMS_PROBLEMS],
                               listener *heard, redtune_error *err) {
    program program = {.rt = NULL};
    redtune_status status = program_start(&program, options, err);
    for (int i = 0; !status && i < CLAIMS_PROBLEMS; i++)
        status = program_try(&program, claims_count_of(i), &out[i], err);
    redtune_close(program.rt);
    *heard = program.heard;
    return status;
}

redtune_status program_try_one(const redtune_options *options, uint64_t count, outcome *out,
                               listener *heard, redtune_error *err) {
    program program = {.rt = NULL};
    redtune_status status = program_start(&program, options, err);
    if (!status) status = program_try(&program, count, out, err);
    redtune_close(program.rt);
    *heard = program.heard;
    return status;
}
