/* Where the largest element is: the index of the first one, as a 64-bit integer. */
#include "example.h"

enum { COUNT = 1 << 20, PEAK = 123456 };

int main(void) {
    float *numbers = malloc(COUNT * sizeof *numbers);
    expect(numbers != NULL, "host memory");
    for (int i = 0; i < COUNT; i++) numbers[i] = (float)(i % 4096);
    numbers[PEAK] = numbers[PEAK + 100] = 5000;
    start_cuda();
    CUstream stream = make_stream();
    void *d_in = upload(numbers, COUNT * sizeof *numbers);
    void *d_out = upload(NULL, sizeof(int64_t));

    redtune_problem problem = redtune_problem_whole(REDTUNE_ARGMAX, REDTUNE_F32, COUNT);
    redtune_error err;
    redtune *rt;
    redtune_plan *plan;
    int64_t at;
    TRY_REDTUNE(redtune_open(NULL, &rt, &err));
    TRY_REDTUNE(redtune_plan_create(rt, &problem, &plan, &err));
    TRY_REDTUNE(redtune_plan_reduce(plan, d_in, COUNT, d_out, stream, &err));
    download(&at, d_out, sizeof at, stream);
    printf("the largest of %d is element %lld, %g\n", COUNT, (long long)at, numbers[at]);
    expect(at == PEAK, "the index");
    redtune_plan_destroy(plan);
    redtune_close(rt);
    free(numbers);
    return EXIT_SUCCESS;
}
