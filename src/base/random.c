/* Random: a small generator whose numbers are the same everywhere. */
#include "base/random.h"

uint64_t rdt_random_next(rdt_random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t rdt_random_below(rdt_random *random, uint64_t bound) {
    return rdt_random_next(random) % bound;
}

void rdt_random_mix(rdt_random *random, uint64_t number) {
    random->state = rdt_random_next(random) ^ number;
}
