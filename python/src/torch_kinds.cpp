// Torch kinds: how many calls of a kind were served, for redtune.torch.report(saved=True).
//
// A kind is an op, a dtype, a layout, and the powers of two below the bytes and the results. Kinds
// are the keys of an open table that calls add to without a lock; one that finds no place is lost.
#include "torch_calls.h"

namespace {

enum { SLOTS = 4096, PROBES = 16, USED = 1 << 30 };

struct slot {
    std::atomic<uint32_t> kind;
    std::atomic<uint64_t> count;
} slots[SLOTS];

thread_local bool is_quiet = false;

uint32_t log2_of(int64_t number) {
    return number > 0 ? 63 - static_cast<uint32_t>(__builtin_clzll(static_cast<uint64_t>(number)))
                      : 0;
}

// The kinds as tuples: op, dtype, layout, log2 of bytes, log2 of results, count.
nb::list kinds() {
    nb::list all;
    for (const slot &each : slots) {
        const uint32_t kind = each.kind;
        if (!kind || !each.count) continue;
        all.append(nb::make_tuple(kind >> 20 & 63, kind >> 16 & 15, kind >> 12 & 15, kind >> 6 & 63,
                                  kind & 63, each.count.load()));
    }
    return all;
}

} // namespace

void torch_kinds_count(int op, int dtype, int layout, int64_t bytes, int64_t results) {
    if (is_quiet) return;
    const uint32_t kind = USED | static_cast<uint32_t>(op) << 20 |
                          static_cast<uint32_t>(dtype) << 16 | static_cast<uint32_t>(layout) << 12 |
                          log2_of(bytes) << 6 | log2_of(results);
    for (uint32_t i = 0, at = kind * 2654435761u >> 20; i < PROBES; i++, at++) {
        slot &its = slots[at % SLOTS];
        uint32_t found = its.kind.load(std::memory_order_relaxed);
        if (!found && its.kind.compare_exchange_strong(found, kind)) found = kind;
        if (found != kind) continue;
        its.count.fetch_add(1, std::memory_order_relaxed);
        return;
    }
}

bool torch_kinds_are_quiet() { return is_quiet; }

void torch_kinds_forget() {
    for (slot &each : slots) each.count = 0;
}

void torch_kinds_add(nb::module_ &module) {
    module.def("torch_kinds", &kinds);
    // This thread's calls are counted, or not.
    module.def("torch_quiet", [](bool quiet) { is_quiet = quiet; });
}
