/* Facts: a GPU as plain data, so that layers without a driver can reason about it. */
#pragma once

#include "base/text.h"

/* The numbers that rules, and the comparison with other GPUs, see: what a config depends on beside
 * the name. facts.c says which are in no list. */
#define RDT_FACTS_LIST(X)                                                                          \
    X(major)                                                                                       \
    X(minor)                                                                                       \
    X(sm_count)                                                                                    \
    X(threads_per_sm)                                                                              \
    X(threads_per_block)                                                                           \
    X(shared_bytes_per_block)                                                                      \
    X(l2_bytes)                                                                                    \
    X(bus_bits)                                                                                    \
    X(memory_khz)

typedef struct rdt_facts {
    char name[96];
    int major, minor; /* compute capability */
    int sm_count;
    int threads_per_sm, threads_per_block;
    int shared_bytes_per_block; /* static shared memory */
    uint64_t memory_bytes, l2_bytes;
    int bus_bits, memory_khz; /* 0: unknown */
    int driver_version;       /* 13000 is CUDA 13.0 */
} rdt_facts;

/* 10^9 bytes per second of the memory bus, two transfers a clock; 0 if unknown. */
double rdt_facts_peak_gbps(const rdt_facts *facts);
/* The bytes that L2 keeps from one call to the next, wherever they lie: half of it, since each of
 * two partitions may hold a copy of what all multiprocessors read. */
uint64_t rdt_facts_warm_bytes(const rdt_facts *facts);
/* Whether both are the same GPU model, by everything but the serial number. */
bool rdt_facts_same_model(const rdt_facts *a, const rdt_facts *b);
/* Whether all of it is the same. */
bool rdt_facts_same(const rdt_facts *a, const rdt_facts *b);
/* Whether it is the one of libredtune-sim.so, which says nothing about a real one. */
bool rdt_facts_is_simulated(const rdt_facts *facts);
/* A middling GPU to render for where there is no other: compute capability 8.0, 108 SMs. */
const rdt_facts *rdt_facts_typical(void);
/* The largest GPU of an architecture, 90 for compute capability 9.0, or of the nearest earlier one
 * that is known; its name is "". */
rdt_facts rdt_facts_of_arch(int arch);
