/* Facts: a GPU as plain data, so that layers without a driver can reason about it. */
#include "model/facts.h"

#include <string.h>

double rdt_facts_peak_gbps(const rdt_facts *facts) {
    return 2.0 * facts->memory_khz * 1e3 * (facts->bus_bits / 8.0) / 1e9;
}

static const rdt_facts typical = {
    .name = "typical GPU",
    .major = 8,
    .minor = 0,
    .sm_count = 108,
    .threads_per_sm = 2048,
    .threads_per_block = 1024,
    .shared_bytes_per_block = 49152,
    .memory_bytes = UINT64_C(40) << 30,
    .l2_bytes = UINT64_C(40) << 20,
    .bus_bits = 5120,
    .memory_khz = 1215000,
};

const rdt_facts *rdt_facts_typical(void) { return &typical; }

rdt_facts rdt_facts_of_arch(int arch) {
    static const struct {
        int arch, sm_count, threads_per_sm, l2_mib, bus_bits, memory_khz;
    } largest[] = {
        {75, 72, 1024, 6, 384, 7001000},      /* TU102 */
        {80, 108, 2048, 40, 5120, 1215000},   /* A100 */
        {86, 84, 1536, 6, 384, 7251000},      /* GA102 */
        {89, 142, 1536, 96, 384, 9001000},    /* AD102 */
        {90, 132, 2048, 60, 6144, 3201000},   /* H200 */
        {100, 148, 2048, 126, 8192, 3996000}, /* B200 */
        {120, 188, 1536, 128, 512, 14001000}, /* GB202 */
    };
    int i = (int)(sizeof largest / sizeof *largest) - 1;
    while (i && largest[i].arch > arch) i--;
    rdt_facts facts = typical;
    facts.name[0] = '\0';
    facts.major = arch / 10;
    facts.minor = arch % 10;
    facts.sm_count = largest[i].sm_count;
    facts.threads_per_sm = largest[i].threads_per_sm;
    facts.l2_bytes = (uint64_t)largest[i].l2_mib << 20;
    facts.bus_bits = largest[i].bus_bits;
    facts.memory_khz = largest[i].memory_khz;
    facts.memory_bytes = 0;
    return facts;
}

uint64_t rdt_facts_warm_bytes(const rdt_facts *facts) { return facts->l2_bytes / 2; }

bool rdt_facts_same_model(const rdt_facts *a, const rdt_facts *b) {
    return !strcmp(a->name, b->name) && a->major == b->major && a->minor == b->minor &&
           a->sm_count == b->sm_count && a->l2_bytes == b->l2_bytes && a->bus_bits == b->bus_bits;
}

#define BYTES(field) +sizeof(((rdt_facts *)0)->field)
enum { FILLING = 4 }; /* behind the last member */
_Static_assert(RDT_FACTS_LIST(BYTES) BYTES(name) BYTES(memory_bytes) BYTES(driver_version) +
                       FILLING ==
                   sizeof(rdt_facts),
               "a new member of rdt_facts belongs into RDT_FACTS_LIST, or here");
#undef BYTES

/* By members: what fills up the struct behind them may be anything. */
bool rdt_facts_same(const rdt_facts *a, const rdt_facts *b) {
#define SAME(field) &&a->field == b->field
    return !strcmp(a->name, b->name) RDT_FACTS_LIST(SAME) SAME(memory_bytes) SAME(driver_version);
#undef SAME
}

bool rdt_facts_is_simulated(const rdt_facts *facts) {
    return strstr(facts->name, "simulated") != NULL;
}
