/* Owns the running of facts. */
#include "fact.h"

int fact_failures;

int fact_run(const struct fact *facts, size_t count, int argc, char **argv) {
    int failed = 0, ran = 0;
    for (size_t i = 0; i < count; i++) {
        if (argc > 1 && !strstr(facts[i].name, argv[1])) continue;
        int before = fact_failures;
        facts[i].run();
        ran++;
        if (fact_failures == before) continue;
        failed++;
        fprintf(stderr, "FAILED %s\n", facts[i].name);
    }
    printf("%d of %d facts hold\n", ran - failed, ran);
    return failed ? 1 : 0;
}
