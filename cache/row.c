/* Row: a measurement between C and SQL: its columns, and what a row may hold. */
#include "cache/row.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"

/* The same bounds as the CHECKs of the schema. */
#define CAPABILITY_MAX 999
#define SM_COUNT_MAX   1000000
#define L2_BYTES_MAX   (INT64_C(1) << 40)
#define BUS_BITS_MAX   1000000
#define MEMORY_KHZ_MAX 1000000000
#define VERSION_MAX    1000000000
#define SAMPLES_MAX    1000000000
#define TIME_NS_MAX    1e15
#define MHZ_MAX        1000000
#define CELSIUS_MAX    1000
#define OTHERS_MAX     1000000000

static const char *const cache_names[] = {
    [RDT_CACHE_COLD] = "cold",
    [RDT_CACHE_WARM] = "warm",
};

/* Ends within its buffer and may be shown: a text of a database may reach a terminal. */
static bool is_plain(const char *text, size_t bytes) {
    return memchr(text, '\0', bytes) && rdt_text_is_plain(text);
}

static bool within(int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high;
}

static const char *check_gpu(const rdt_facts *gpu) {
    if (!is_plain(gpu->name, sizeof gpu->name) || !gpu->name[0]) return "its GPU has no valid name";
    bool fits = within(gpu->major, 0, CAPABILITY_MAX) && within(gpu->minor, 0, CAPABILITY_MAX) &&
                within(gpu->sm_count, 1, SM_COUNT_MAX) && gpu->l2_bytes <= L2_BYTES_MAX &&
                within(gpu->bus_bits, 0, BUS_BITS_MAX) &&
                within(gpu->memory_khz, 0, MEMORY_KHZ_MAX);
    return fits ? NULL : "a figure of its GPU is out of range";
}

static const char *check_origin(const rdt_origin *origin) {
    if (!is_plain(origin->machine, sizeof origin->machine) ||
        !is_plain(origin->templates, sizeof origin->templates) ||
        !is_plain(origin->build, sizeof origin->build))
        return "its machine, template hash or build is no valid text";
    bool fits = within(origin->driver_version, 0, VERSION_MAX) &&
                within(origin->nvrtc_version, 0, VERSION_MAX);
    return fits ? NULL : "its driver or NVRTC version is out of range";
}

static bool times_fit(const rdt_trial *trial) {
    if (trial->outcome != RDT_OUTCOME_GOOD)
        return trial->median_ns == 0 && trial->spread_ns == 0 && trial->samples == 0;
    /* Written so that NaN fits nothing. */
    return trial->median_ns > 0 && trial->median_ns <= TIME_NS_MAX && trial->spread_ns >= 0 &&
           trial->spread_ns <= TIME_NS_MAX && within(trial->samples, 1, SAMPLES_MAX);
}

static bool conditions_fit(const rdt_conditions *conditions) {
    return within(conditions->sm_mhz, 0, MHZ_MAX) && within(conditions->memory_mhz, 0, MHZ_MAX) &&
           within(conditions->temperature_c, 0, CELSIUS_MAX) && conditions->throttle <= INT64_MAX &&
           within(conditions->others, 0, OTHERS_MAX);
}

static const char *check_trial(const rdt_trial *trial) {
    redtune_problem resolved;
    if (!trial->problem.result || rdt_problem_resolve(&trial->problem, &resolved, NULL))
        return "its op, dtype, result and count are no problem";
    if (trial->cache != RDT_CACHE_COLD && trial->cache != RDT_CACHE_WARM)
        return "it has no such cache state";
    if (!is_plain(trial->family, sizeof trial->family) || !trial->family[0])
        return "its family has no valid name";
    if (!is_plain(trial->config, sizeof trial->config)) return "its config is no valid text";
    if (trial->outcome < 0 || trial->outcome >= RDT_OUTCOME_COUNT) return "it has no such outcome";
    if (!is_plain(trial->cause, sizeof trial->cause)) return "its cause is no valid text";
    if (!conditions_fit(&trial->conditions) || trial->rank < 0)
        return "its rank or a condition it was timed under is out of range";
    return times_fit(trial) ? NULL : "its times do not fit its outcome or are out of range";
}

const char *rdt_row_check(const rdt_row *row) {
    const char *wrong = check_trial(&row->trial);
    if (!wrong) wrong = check_gpu(&row->gpu);
    if (!wrong) wrong = check_origin(&row->origin);
    if (!wrong && row->date < 0) wrong = "its date is before 1970";
    return wrong;
}

/* Takes the columns of a row one after another; good turns false at the first that does not fit. */
typedef struct reader {
    sqlite3_stmt *statement;
    int column;
    bool good;
} reader;

static void take_text(reader *from, char *out, size_t bytes) {
    int column = from->column++;
    out[0] = '\0';
    if (sqlite3_column_type(from->statement, column) != SQLITE_TEXT) {
        from->good = false;
        return;
    }
    const unsigned char *text = sqlite3_column_text(from->statement, column);
    size_t length = (size_t)sqlite3_column_bytes(from->statement, column);
    if (!text || length >= bytes || memchr(text, '\0', length)) {
        from->good = false;
        return;
    }
    memcpy(out, text, length);
    out[length] = '\0';
}

static int64_t take_integer(reader *from, int64_t low, int64_t high) {
    int column = from->column++;
    int64_t value = sqlite3_column_int64(from->statement, column);
    if (sqlite3_column_type(from->statement, column) == SQLITE_INTEGER && within(value, low, high))
        return value;
    from->good = false;
    return low;
}

static double take_time(reader *from) {
    int column = from->column++;
    if (sqlite3_column_type(from->statement, column) != SQLITE_FLOAT) from->good = false;
    return sqlite3_column_double(from->statement, column);
}

static void take_null(reader *from) {
    if (sqlite3_column_type(from->statement, from->column++) != SQLITE_NULL) from->good = false;
}

/* missing stands for NULL. */
static int64_t take_optional(reader *from, int64_t low, int64_t high, int64_t missing) {
    if (sqlite3_column_type(from->statement, from->column) != SQLITE_NULL)
        return take_integer(from, low, high);
    from->column++;
    return missing;
}

static void take_optional_text(reader *from, char *out, size_t bytes) {
    if (sqlite3_column_type(from->statement, from->column) != SQLITE_NULL) {
        take_text(from, out, bytes);
    } else {
        from->column++;
        out[0] = '\0';
    }
}

static void take_problem(reader *from, redtune_problem *problem) {
    char op[RDT_NAME_BYTES], dtype[RDT_NAME_BYTES], result[RDT_NAME_BYTES];
    take_text(from, op, sizeof op);
    take_text(from, dtype, sizeof dtype);
    take_text(from, result, sizeof result);
    problem->count = (uint64_t)take_integer(from, 0, INT64_MAX);
    if (!from->good) return;
    from->good = !redtune_op_find(op, &problem->op, NULL) &&
                 !redtune_dtype_find(dtype, &problem->dtype, NULL) &&
                 !redtune_dtype_find(result, &problem->result, NULL);
}

static rdt_cache_state take_cache_state(reader *from) {
    char name[RDT_NAME_BYTES];
    take_text(from, name, sizeof name);
    if (!strcmp(name, cache_names[RDT_CACHE_WARM])) return RDT_CACHE_WARM;
    if (strcmp(name, cache_names[RDT_CACHE_COLD])) from->good = false;
    return RDT_CACHE_COLD;
}

static rdt_outcome take_outcome(reader *from) {
    char name[RDT_NAME_BYTES];
    take_text(from, name, sizeof name);
    int outcome = rdt_outcome_find(name);
    if (outcome < 0) from->good = false;
    return outcome < 0 ? RDT_OUTCOME_GOOD : (rdt_outcome)outcome;
}

static void take_trial(reader *from, rdt_trial *trial) {
    take_problem(from, &trial->problem);
    trial->cache = take_cache_state(from);
    take_text(from, trial->family, sizeof trial->family);
    take_text(from, trial->config, sizeof trial->config);
    trial->is_default = take_integer(from, 0, 1);
    trial->outcome = take_outcome(from);
    if (trial->outcome == RDT_OUTCOME_GOOD) {
        trial->median_ns = take_time(from);
        trial->spread_ns = take_time(from);
        trial->samples = (int)take_integer(from, 1, SAMPLES_MAX);
    } else {
        for (int i = 0; i < 3; i++) take_null(from);
    }
    trial->rank = (int)take_optional(from, 0, INT_MAX, INT_MAX);
    take_optional_text(from, trial->cause, sizeof trial->cause);
    rdt_conditions *conditions = &trial->conditions;
    conditions->sm_mhz = (int)take_optional(from, 1, MHZ_MAX, 0);
    conditions->memory_mhz = (int)take_optional(from, 1, MHZ_MAX, 0);
    conditions->temperature_c = (int)take_optional(from, 1, CELSIUS_MAX, 0);
    conditions->throttle = (uint64_t)take_optional(from, 0, INT64_MAX, 0);
    conditions->others = (int)take_optional(from, 0, OTHERS_MAX, 0);
}

/* What is not good has the build of redtune that found it so, behind its cause: the column keeps
 * its name and place, and whoever reads the file sees it. */
static const char build_head[] = " (build ";

static void take_build(rdt_row *row) {
    char *cause = row->trial.cause, *at = NULL;
    for (char *next = strstr(cause, build_head); next; next = strstr(next + 1, build_head))
        at = next;
    if (row->trial.outcome == RDT_OUTCOME_GOOD || !at) return;
    const char *text = at + sizeof build_head - 1;
    size_t length = strspn(text, "0123456789abcdef");
    if (!length || length >= sizeof row->origin.build || strcmp(text + length, ")")) return;
    memcpy(row->origin.build, text, length);
    *at = '\0';
}

static void write_cause(const rdt_row *row, char out[sizeof row->trial.cause]) {
    const rdt_trial *trial = &row->trial;
    char build[sizeof row->origin.build + sizeof build_head + 1] = "";
    if (trial->outcome != RDT_OUTCOME_GOOD && row->origin.build[0])
        snprintf(build, sizeof build, "%s%s)", build_head, row->origin.build);
    rdt_text_copy_plain(out, sizeof trial->cause - strlen(build), trial->cause);
    strcat(out, build);
}

static void take_gpu(reader *from, rdt_facts *gpu) {
    take_text(from, gpu->name, sizeof gpu->name);
    gpu->major = (int)take_integer(from, 0, CAPABILITY_MAX);
    gpu->minor = (int)take_integer(from, 0, CAPABILITY_MAX);
    gpu->sm_count = (int)take_integer(from, 1, SM_COUNT_MAX);
    gpu->l2_bytes = (uint64_t)take_integer(from, 0, L2_BYTES_MAX);
    gpu->bus_bits = (int)take_integer(from, 0, BUS_BITS_MAX);
    gpu->memory_khz = (int)take_integer(from, 0, MEMORY_KHZ_MAX);
}

static void take_origin(reader *from, rdt_origin *origin) {
    take_text(from, origin->machine, sizeof origin->machine);
    origin->driver_version = (int)take_integer(from, 0, VERSION_MAX);
    origin->nvrtc_version = (int)take_integer(from, 0, VERSION_MAX);
    take_text(from, origin->templates, sizeof origin->templates);
}

bool rdt_row_read(sqlite3_stmt *statement, rdt_row *row, int64_t *gpu) {
    reader from = {.statement = statement, .good = true};
    *row = (rdt_row){0};
    take_trial(&from, &row->trial);
    row->date = take_integer(&from, 0, INT64_MAX);
    row->import = take_optional(&from, INT64_MIN, INT64_MAX, 0);
    row->trial.imported = row->import != 0;
    take_gpu(&from, &row->gpu);
    take_origin(&from, &row->origin);
    take_build(row);
    *gpu = take_integer(&from, INT64_MIN, INT64_MAX);
    return from.good && !rdt_row_check(row);
}

bool rdt_row_read_gpu(sqlite3_stmt *statement, rdt_facts *gpu) {
    reader from = {.statement = statement, .good = true};
    *gpu = (rdt_facts){.major = 0};
    take_gpu(&from, gpu);
    return from.good && !check_gpu(gpu);
}

/* Binds the parameters of a statement one after another, and remembers the first failure. */
typedef struct binder {
    sqlite3_stmt *statement;
    int parameter, rc;
} binder;

static void give_text(binder *to, const char *text) {
    int rc = sqlite3_bind_text(to->statement, ++to->parameter, text, -1, SQLITE_STATIC);
    if (!to->rc) to->rc = rc;
}

static void give_integer(binder *to, int64_t value) {
    int rc = sqlite3_bind_int64(to->statement, ++to->parameter, value);
    if (!to->rc) to->rc = rc;
}

static void give_time(binder *to, double value) {
    int rc = sqlite3_bind_double(to->statement, ++to->parameter, value);
    if (!to->rc) to->rc = rc;
}

static void give_null(binder *to) {
    int rc = sqlite3_bind_null(to->statement, ++to->parameter);
    if (!to->rc) to->rc = rc;
}

static void give_optional(binder *to, int64_t value, bool known) {
    if (known)
        give_integer(to, value);
    else
        give_null(to);
}

static void give_cause(binder *to, const rdt_row *row) {
    char text[sizeof row->trial.cause];
    write_cause(row, text);
    int rc = text[0] ? sqlite3_bind_text(to->statement, ++to->parameter, text, -1, SQLITE_TRANSIENT)
                     : sqlite3_bind_null(to->statement, ++to->parameter);
    if (!to->rc) to->rc = rc;
}

static void give_conditions(binder *to, const rdt_conditions *conditions) {
    bool any = conditions->sm_mhz || conditions->memory_mhz || conditions->temperature_c ||
               conditions->throttle || conditions->others;
    give_optional(to, conditions->sm_mhz, conditions->sm_mhz);
    give_optional(to, conditions->memory_mhz, conditions->memory_mhz);
    give_optional(to, conditions->temperature_c, conditions->temperature_c);
    give_optional(to, (int64_t)conditions->throttle, any);
    give_optional(to, conditions->others, any);
}

int rdt_row_bind_gpu(sqlite3_stmt *statement, const rdt_facts *gpu) {
    binder to = {.statement = statement};
    give_text(&to, gpu->name);
    give_integer(&to, gpu->major);
    give_integer(&to, gpu->minor);
    give_integer(&to, gpu->sm_count);
    give_integer(&to, (int64_t)gpu->l2_bytes);
    give_integer(&to, gpu->bus_bits);
    give_integer(&to, gpu->memory_khz);
    return to.rc;
}

int rdt_row_bind_origin(sqlite3_stmt *statement, const rdt_origin *origin) {
    binder to = {.statement = statement};
    give_text(&to, origin->machine);
    give_integer(&to, origin->driver_version);
    give_integer(&to, origin->nvrtc_version);
    give_text(&to, origin->templates);
    return to.rc;
}

int rdt_row_bind_measurement(sqlite3_stmt *statement, const rdt_row *row, int64_t gpu,
                             int64_t origin) {
    const rdt_trial *trial = &row->trial;
    binder to = {.statement = statement};
    give_integer(&to, gpu);
    give_integer(&to, origin);
    give_text(&to, redtune_op_name(trial->problem.op));
    give_text(&to, redtune_dtype_name(trial->problem.dtype));
    give_text(&to, redtune_dtype_name(trial->problem.result));
    give_integer(&to, (int64_t)trial->problem.count);
    give_text(&to, cache_names[trial->cache]);
    give_text(&to, trial->family);
    give_text(&to, trial->config);
    give_integer(&to, trial->is_default);
    give_text(&to, rdt_outcome_name(trial->outcome));
    if (trial->outcome == RDT_OUTCOME_GOOD) {
        give_time(&to, trial->median_ns);
        give_time(&to, trial->spread_ns);
        give_integer(&to, trial->samples);
    } else {
        for (int i = 0; i < 3; i++) give_null(&to);
    }
    give_optional(&to, trial->rank, trial->rank != INT_MAX);
    give_cause(&to, row);
    give_conditions(&to, &trial->conditions);
    give_integer(&to, row->date);
    give_optional(&to, row->import, row->import);
    return to.rc;
}

int rdt_row_bind_problem(sqlite3_stmt *statement, const redtune_problem *problem,
                         rdt_cache_state cache) {
    binder to = {.statement = statement};
    give_text(&to, redtune_op_name(problem->op));
    give_text(&to, redtune_dtype_name(problem->dtype));
    give_text(&to, redtune_dtype_name(problem->result));
    give_text(&to, cache_names[cache]);
    return to.rc;
}
