/* Owns the running of facts. */
#include "fact.h"

int fact_failures;

static struct fact *facts;

void fact_add(struct fact *fact) {
    struct fact **at = &facts;
    while (*at && (*at)->line < fact->line) at = &(*at)->next;
    fact->next = *at;
    *at = fact;
}

int fact_run(int argc, char **argv) {
    int failed = 0, ran = 0;
    for (const struct fact *each = facts; each; each = each->next) {
        if (argc > 1 && !strstr(each->name, argv[1])) continue;
        int before = fact_failures;
        each->run();
        ran++;
        if (fact_failures == before) continue;
        failed++;
        fprintf(stderr, "FAILED %s\n", each->name);
    }
    printf("%d of %d facts hold\n", ran - failed, ran);
    return failed ? 1 : 0;
}
