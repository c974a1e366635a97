/* One process and all its GPUs: each has a part of an array, and each gets the mean of all of it
 * and the place of its greatest element. One thread drives them, so it gives their calls together.
 *
 * usage: team [ELEMENTS] */
#include "example.h"

#include <nccl.h>
#include <redtune/team.h>
#include "example_nccl.h"

enum { GPUS_MAX = 8 };
static uint64_t all_count = 10000000;
static const double limit_s = 30;

typedef struct gpu {
    CUcontext context;
    CUstream stream;
    redtune *rt;
    redtune_team *team;
    redtune_plan *mean, *argmax;
    uint64_t first, count; /* of its part */
    const void *d_in;
    void *d_mean, *d_argmax;
} gpu;

static redtune_error err;

static int open_gpus(gpu *gpus) {
    int count;
    TRY_CUDA(cuInit(0));
    TRY_CUDA(cuDeviceGetCount(&count));
    if (count > GPUS_MAX) count = GPUS_MAX;
    for (int i = 0; i < count; i++) {
        CUdevice device;
        TRY_CUDA(cuDeviceGet(&device, i));
        TRY_CUDA(cuDevicePrimaryCtxRetain(&gpus[i].context, device));
        TRY_CUDA(cuCtxSetCurrent(gpus[i].context));
        gpus[i].stream = make_stream();
        TRY_REDTUNE(redtune_open(NULL, &gpus[i].rt, &err));
    }
    return count;
}

/* Joins the GPU to the team, and gives it its part of the elements. */
static void give_part(gpu *self, ncclComm_t comm, const float *elements) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_MEAN, REDTUNE_F32, all_count);
    TRY_CUDA(cuCtxSetCurrent(self->context));
    TRY_REDTUNE(redtune_team_create(self->rt, comm, NULL, &self->team, &err));
    TRY_REDTUNE(redtune_plan_create(self->rt, &problem, &self->mean, &err));
    problem.op = REDTUNE_ARGMAX;
    TRY_REDTUNE(redtune_plan_create(self->rt, &problem, &self->argmax, &err));
    TRY_REDTUNE(
        redtune_team_share(self->team, self->mean, all_count, &self->first, &self->count, &err));
    self->d_in = upload(elements + self->first, (self->count + 1) * sizeof *elements);
    self->d_mean = upload(NULL, sizeof(float));
    self->d_argmax = upload(NULL, sizeof(int64_t));
}

/* Runs one of their plans on all GPUs. */
static void run(gpu *gpus, int count, int argmax) {
    redtune_operands parts[GPUS_MAX];
    redtune_team_call calls[GPUS_MAX];
    for (int i = 0; i < count; i++) {
        gpu *self = &gpus[i];
        parts[i] = (redtune_operands){.d_in = {self->d_in},
                                      .d_out = {argmax ? self->d_argmax : self->d_mean},
                                      .count = self->count};
        calls[i] = (redtune_team_call){.plan = argmax ? self->argmax : self->mean,
                                       .team = self->team,
                                       .operands = &parts[i],
                                       .first_index = self->first,
                                       .stream = self->stream};
    }
    TRY_REDTUNE(redtune_team_run_all(calls, (size_t)count, &err));
}

static void check(gpu *self) {
    float mean;
    int64_t place;
    TRY_REDTUNE(redtune_team_wait(self->team, self->stream, limit_s, &err));
    TRY_CUDA(cuCtxSetCurrent(self->context));
    download(&mean, self->d_mean, sizeof mean, self->stream);
    download(&place, self->d_argmax, sizeof place, self->stream);
    expect(mean > 1.4F && mean < 2.3F, "the mean");
    expect(place == (int64_t)all_count - 2, "the place of the greatest");
    printf("%llu elements from %llu on: mean of all %.7g, greatest at %lld\n",
           (unsigned long long)self->count, (unsigned long long)self->first, (double)mean,
           (long long)place);
}

int main(int argc, char **argv) {
    gpu gpus[GPUS_MAX] = {{0}};
    ncclComm_t comms[GPUS_MAX];
    if (argc > 1) all_count = strtoull(argv[1], NULL, 10);
    expect(all_count > 3, "the number of elements");
    float *elements = calloc(all_count + 1, sizeof *elements);
    expect(elements != NULL, "the host's memory");
    const int count = open_gpus(gpus);
    for (uint64_t i = 0; i < all_count; i++) elements[i] = (float)(i % 4);
    elements[all_count - 2] = 5;
    TRY_NCCL(ncclCommInitAll(comms, count, NULL));
    for (int i = 0; i < count; i++) give_part(&gpus[i], comms[i], elements);
    run(gpus, count, 0);
    run(gpus, count, 1);
    for (int i = 0; i < count; i++) check(&gpus[i]);
    for (int i = 0; i < count; i++) {
        redtune_team_destroy(gpus[i].team);
        redtune_plan_destroy(gpus[i].mean);
        redtune_plan_destroy(gpus[i].argmax);
        redtune_close(gpus[i].rt);
        TRY_NCCL(ncclCommDestroy(comms[i]));
    }
    free(elements);
    return EXIT_SUCCESS;
}
