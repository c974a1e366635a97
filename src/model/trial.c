/* Trial: how one candidate ended, as it is stored. */
#include "model/trial.h"

#include <string.h>

static const char *const names[] = {
#define ENTRY(id, name, text) [RDT_OUTCOME_##id] = name,
    RDT_OUTCOME_LIST(ENTRY)
#undef ENTRY
};

const char *rdt_trial_outcome_name(rdt_outcome outcome) {
    return outcome >= 0 && outcome < RDT_OUTCOME_COUNT ? names[outcome] : "unknown";
}

int rdt_trial_outcome_find(const char *name) {
    for (int i = 0; i < RDT_OUTCOME_COUNT; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}

/* NVML's bits: a cap on power, slowdown by hardware, heat as software sees it and as hardware does,
 * the power brake. */
enum { POWER_CAP = 0x4, SLOWDOWN = 0x8, SOFTWARE_HEAT = 0x20, HARDWARE_HEAT = 0x40, BRAKE = 0x80 };

bool rdt_trial_held_down(const rdt_conditions *conditions) {
    return conditions->throttle & (POWER_CAP | SLOWDOWN | SOFTWARE_HEAT | HARDWARE_HEAT | BRAKE);
}
