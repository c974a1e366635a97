/* What a user's program may be: opens redtune on the simulated GPU, plans, and renders. Compiles as
 * C and as C++. */
#include <redtune/redtune.h>
#include <redtune/tools.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    redtune_options options;
    redtune_problem problem;
    redtune_emission emission;
    redtune_error err;
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    char *source = NULL;
    memset(&options, 0, sizeof options);
    memset(&emission, 0, sizeof emission);
    options.device = "sim";
    problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 1000);
    emission.problem = problem;
    if (redtune_open(&options, &rt, &err) || redtune_plan_create(rt, &problem, &plan, &err) ||
        redtune_emit(&emission, &source, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("%s, %zu bytes\n", redtune_plan_config(plan), strlen(source));
    redtune_free(source);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return 0;
}
