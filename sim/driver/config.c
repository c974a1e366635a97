/* Config: the settings: the variables of the environment and the faults that they ask for. */
#include "driver/error.h"
#include "driver/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const uint64_t LIMIT_INSTRUCTIONS = 8000000000ull;
static const uint64_t LIMIT_IDLE = 4000000ull;

/* Checks that cannot be turned off: going on would make no sense. */
#define ALWAYS                                                                                     \
    (1u << REDTUNE_SIM_OUT_OF_BOUNDS | 1u << REDTUNE_SIM_MISALIGNED | 1u << REDTUNE_SIM_DEADLOCK | \
     1u << REDTUNE_SIM_HANG | 1u << REDTUNE_SIM_TRAP | 1u << REDTUNE_SIM_MISUSE)

static const struct {
    const char *name;
    uint32_t bits;
} checks[] = {
    {"initialised", 1u << REDTUNE_SIM_UNINITIALISED},
    {"shared-race", 1u << REDTUNE_SIM_SHARED_RACE},
    {"global-race", 1u << REDTUNE_SIM_GLOBAL_RACE},
    {"barrier", 1u << REDTUNE_SIM_DIVERGENT_BARRIER},
    {"mask", 1u << REDTUNE_SIM_BAD_MASK},
    {"leak", 1u << REDTUNE_SIM_LEAK},
};

enum { CHECKS = sizeof checks / sizeof *checks };

/* The next part of a list between commas; false: at its end. */
static bool next_part(const char **list, char *part, size_t part_bytes) {
    while (**list == ',' || **list == ' ') (*list)++;
    size_t length = strcspn(*list, ",");
    if (!length || length >= part_bytes) return false;
    memcpy(part, *list, length);
    part[length] = '\0';
    *list += length;
    return true;
}

static bool take_number(const char *text, uint64_t *out) {
    static const char suffixes[] = "KMGT";
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 0);
    if (end == text || text[0] == '-') return false;
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (suffix) {
        value <<= 10 * (suffix - suffixes + 1);
        end++;
    }
    *out = value;
    return *end == '\0';
}

static bool set_seed(sim_config *config, const char *value) {
    return take_number(value, &config->settings.seed);
}

/* "all", "none" or names, with "-" before one to take it out of all */
static bool set_checks(sim_config *config, const char *value) {
    char part[32];
    uint32_t all = 0, bits = ALWAYS;
    for (int i = 0; i < CHECKS; i++) all |= checks[i].bits;
    if (value[0] == '-') bits |= all;
    while (next_part(&value, part, sizeof part)) {
        bool without = part[0] == '-';
        const char *name = part + without;
        uint32_t named = strcmp(name, "all") == 0 ? all : 0;
        for (int i = 0; i < CHECKS; i++) {
            if (strcmp(name, checks[i].name) == 0) named = checks[i].bits;
        }
        if (!named && strcmp(name, "none") != 0) return false;
        bits = without ? bits & ~named : bits | named;
    }
    config->settings.checks = bits;
    return *value == '\0';
}

static bool set_report(sim_config *config, const char *value) {
    if (strlen(value) >= sizeof config->report) return false;
    strcpy(config->report, value);
    return true;
}

static bool set_limit(sim_config *config, const char *value) {
    return take_number(value, &config->settings.limit_instructions);
}

static bool set_idle(sim_config *config, const char *value) {
    return take_number(value, &config->settings.limit_idle);
}

static bool set_memory(sim_config *config, const char *value) {
    return take_number(value, &config->settings.machine.memory_bytes);
}

/* Programs flush it by reading twice as much. */
static bool set_cache(sim_config *config, const char *value) {
    uint64_t bytes = 0;
    if (!take_number(value, &bytes) || bytes < 4096 || bytes > 1u << 30) return false;
    config->settings.machine.cache_bytes = bytes;
    return true;
}

static bool set_alloc_max(sim_config *config, const char *value) {
    return take_number(value, &config->alloc_max_bytes);
}

/* 90, 9.0 and sm_90 */
static bool set_capability(sim_config *config, const char *value) {
    if (strncmp(value, "sm_", 3) == 0) value += 3;
    char *end = NULL;
    unsigned long number = strtoul(value, &end, 10);
    if (*end == '.' && end[1] >= '0' && end[1] <= '9' && !end[2]) {
        number = number * 10 + (unsigned long)(end[1] - '0');
        end += 2;
    }
    if (*end || number < 75 || number > 129) return false;
    config->settings.machine.capability = (uint32_t)number;
    return true;
}

static bool set_sms(sim_config *config, const char *value) {
    uint64_t count = 0;
    if (!take_number(value, &count) || count < 1 || count > 1024) return false;
    config->settings.machine.sm_count = (uint32_t)count;
    return true;
}

static bool set_devices(sim_config *config, const char *value) {
    uint64_t count = 0;
    if (!take_number(value, &count) || count > SIM_DEVICES_MAX) return false;
    config->device_count = (int)count;
    return true;
}

static bool set_models(sim_config *config, const char *value) {
    uint64_t count = 0;
    if (!take_number(value, &count) || count < 1 || count > SIM_DEVICES_MAX) return false;
    config->model_count = (int)count;
    return true;
}

static bool set_driver(sim_config *config, const char *value) {
    uint64_t version = 0;
    if (!take_number(value, &version) || version < 11000 || version > 13000) return false;
    config->driver_version = (int)version;
    return true;
}

static bool set_late(sim_config *config, const char *value) {
    uint64_t late = 0;
    if (!take_number(value, &late) || late > 1) return false;
    config->late = late;
    return true;
}

static bool set_exit_code(sim_config *config, const char *value) {
    uint64_t code = 0;
    if (!take_number(value, &code) || code > 255) return false;
    config->exit_code = (int)code;
    return true;
}

/* name:number:error[:once|on|sticky], … */
static bool set_fail(sim_config *config, const char *value) {
    static const char *const modes[] = {"once", "on", "sticky"};
    char part[128];
    config->fail_count = 0;
    while (next_part(&value, part, sizeof part)) {
        char error[64], mode[16] = "once";
        unsigned long long number = 0;
        if (config->fail_count == SIM_RULES_MAX) return false;
        sim_rule rule = {.mode = SIM_RULE_ONCE};
        int fields = sscanf(part, "%63[^:]:%llu:%63[^:]:%15s", rule.name, &number, error, mode);
        if (fields < 3 || number == 0 || !sim_error_parse(error, &rule.error)) return false;
        bool known = false;
        for (int i = 0; i < 3; i++) {
            if (strcmp(mode, modes[i]) != 0) continue;
            rule.mode = (sim_rule_mode)i;
            known = true;
        }
        size_t length = strlen(rule.name);
        if (length > 3 && rule.name[length - 3] == '_' && rule.name[length - 2] == 'v') {
            rule.name[length - 3] = '\0'; /* cuMemAlloc_v2 is counted as cuMemAlloc */
        }
        if (!known) return false;
        rule.number = number;
        config->fails[config->fail_count++] = rule;
    }
    return *value == '\0';
}

/* number:hang|trap|wrong|timeout, … */
static bool set_launch(sim_config *config, const char *value) {
    char part[64];
    config->launch_fault_count = 0;
    while (next_part(&value, part, sizeof part)) {
        sim_rule rule = {0};
        unsigned long long number = 0;
        if (config->launch_fault_count == SIM_RULES_MAX) return false;
        if (sscanf(part, "%llu:%15s", &number, rule.name) != 2 || number == 0) return false;
        bool known = strcmp(rule.name, "hang") == 0 || strcmp(rule.name, "trap") == 0 ||
                     strcmp(rule.name, "wrong") == 0 || strcmp(rule.name, "timeout") == 0;
        if (!known) return false;
        rule.number = number;
        config->launches[config->launch_fault_count++] = rule;
    }
    return *value == '\0';
}

static const struct {
    const char *name;
    bool (*set)(sim_config *config, const char *value);
    const char *initial, *takes;
} variables[] = {
    {"REDTUNE_SIM_SEED", set_seed, "0", "a number"},
    {"REDTUNE_SIM_CHECKS", set_checks, "all",
     "all, none or names, with - before one to leave it out"},
    {"REDTUNE_SIM_REPORT", set_report, "", "stderr or a path"},
    {"REDTUNE_SIM_EXIT_CODE", set_exit_code, "0", "0 to 255"},
    {"REDTUNE_SIM_LIMIT", set_limit, NULL, "a number of instructions"},
    {"REDTUNE_SIM_IDLE", set_idle, NULL, "a number of instructions"},
    {"REDTUNE_SIM_MEMORY", set_memory, NULL, "bytes, such as 4G"},
    {"REDTUNE_SIM_CACHE", set_cache, NULL, "4K to 1G"},
    {"REDTUNE_SIM_ALLOC_MAX", set_alloc_max, "0", "bytes, such as 4G"},
    {"REDTUNE_SIM_CAPABILITY", set_capability, "90", "9.0, 90 or sm_90, from 7.5 on"},
    {"REDTUNE_SIM_SMS", set_sms, NULL, "1 to 1024"},
    {"REDTUNE_SIM_DRIVER", set_driver, "13000", "11000 to 13000, such as 12020"},
    {"REDTUNE_SIM_DEVICES", set_devices, "1", "0 to 8"},
    {"REDTUNE_SIM_MODELS", set_models, "1", "1 to 8"},
    {"REDTUNE_SIM_FAIL", set_fail, "", "entry:n:error[:mode],..."},
    {"REDTUNE_SIM_LAUNCH", set_launch, "", "n:fault,..."},
    {"REDTUNE_SIM_LATE", set_late, "0", "0 or 1"},
};

static void set_initial(sim_config *config) {
    memset(config, 0, sizeof *config);
    config->settings.machine = sim_machine_default;
    config->settings.limit_instructions = LIMIT_INSTRUCTIONS;
    config->settings.limit_idle = LIMIT_IDLE;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (variables[i].initial) variables[i].set(config, variables[i].initial);
    }
}

bool sim_config_set(sim_config *config, const char *name, const char *value) {
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (strcmp(variables[i].name, name) != 0) continue;
        sim_config trial = *config, initial;
        if (!value) {
            set_initial(&initial);
            if (variables[i].initial) return variables[i].set(config, variables[i].initial);
            config->settings.limit_instructions = initial.settings.limit_instructions;
            config->settings.limit_idle = initial.settings.limit_idle;
            config->settings.machine.memory_bytes = initial.settings.machine.memory_bytes;
            config->settings.machine.cache_bytes = initial.settings.machine.cache_bytes;
            config->settings.machine.sm_count = initial.settings.machine.sm_count;
            return true;
        }
        if (!variables[i].set(&trial, value)) return false;
        *config = trial;
        return true;
    }
    return false;
}

/* A value that cannot be used makes cuInit fail, with words that name it: a run under other
 * settings than were asked for would answer another question. */
void sim_config_read(sim_config *config) {
    set_initial(config);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i].name);
        if (!value || sim_config_set(config, variables[i].name, value) || *config->refused)
            continue;
        snprintf(config->refused, sizeof config->refused, "%s='%.100s' cannot be used: it takes %s",
                 variables[i].name, value, variables[i].takes);
    }
}
