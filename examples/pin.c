/* The same bits on every rank and in every run: the configuration that one plan has is asked for by
 * the others, whatever their tuning databases say.
 *
 * Usage: pin [CONFIG]
 *
 * Prints the configuration and the sum's bits. Given what it printed, it prints the same again. */
#include "example.h"

#include <string.h>

enum { COUNT = 1000000 };

/* Sums with that configuration, or with the one that is fastest here for NULL, and says which. */
static uint32_t sum(redtune *rt, const char *config, const void *d_in, char used[512]) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, COUNT);
    problem.config = config;
    CUstream stream = make_stream();
    void *d_out = upload(NULL, sizeof(uint32_t));
    redtune_error err;
    redtune_plan *plan;
    uint32_t bits;
    TRY_REDTUNE(redtune_plan_create(rt, &problem, &plan, &err));
    TRY_REDTUNE(redtune_plan_reduce(plan, d_in, COUNT, d_out, stream, &err));
    download(&bits, d_out, sizeof bits, stream);
    snprintf(used, 512, "%s", redtune_plan_config(plan));
    redtune_plan_destroy(plan);
    return bits;
}

int main(int argc, char **argv) {
    float *numbers = malloc(COUNT * sizeof *numbers);
    char used[512], again[512];
    redtune_error err;
    redtune *rt;
    expect(numbers != NULL, "host memory");
    for (int i = 0; i < COUNT; i++) numbers[i] = 1.0f / (float)(i + 1);
    start_cuda();
    const void *d_in = upload(numbers, COUNT * sizeof *numbers);
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));
    uint32_t bits = sum(rt, argc > 1 ? argv[1] : NULL, d_in, used);
    printf("%s\n%08x\n", used, bits);

    /* What another rank would do with the text. */
    expect(sum(rt, used, d_in, again) == bits && !strcmp(again, used), "the pinned sum");
    redtune_close(rt);
    free(numbers);
    return EXIT_SUCCESS;
}
