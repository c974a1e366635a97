/* Open: opening and closing redtune on a CUDA context. */
#define _POSIX_C_SOURCE 200809L
#include "api/runtime/runtime.h"
#include "api/runtime/packer.h"
#include "api/runtime/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/records/convert.h"
#include "api/records/validate_row.h"
#include "base/clock.h"
#include "base/limit.h"
#include "base/reserved.h"
#include "base/trace.h"

static const double verify_usual_s = 0.5;

static void print_line(void *user, redtune_log_level level, const char *line) {
    rdt_limit limit;
    (void)user;
    (void)level;
    rdt_limit_enter(&limit);
    fprintf(stderr, "redtune: %s\n", line);
    rdt_limit_leave(&limit);
}

/* REDTUNE_LOG raises the level, and prints where nobody listens. */
static redtune_status open_log(const redtune_options *options, rdt_log *out, redtune_error *err) {
    static const char *const names[] = {"none", "warning", "info", "debug", NULL};
    rdt_log log = {options->log, options->log_user, options->log_level};
    int level = -1;
    if ((unsigned)log.level > REDTUNE_LOG_DEBUG)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot use log_level %d: it is unknown",
                        (int)log.level);
    redtune_status status =
        rdt_runtime_read_choice("REDTUNE_LOG", names, "none, warning, info or debug", &level, err);
    if (status) return status;
    if (level > (int)log.level) log.level = (redtune_log_level)level;
    if (level >= 0 && !log.write) log = (rdt_log){print_line, NULL, (redtune_log_level)level};
    *out = log;
    return REDTUNE_OK;
}

static redtune_status take_check(redtune *rt, redtune_error *err) {
    static const char *const names[] = {"0", "1", NULL};
    int check = 0;
    redtune_status status =
        rdt_runtime_read_choice("REDTUNE_CHECK", names, "0, or 1 to check pointers", &check, err);
    rt->check = check != 0;
    return status;
}

static redtune_status take_switched_order(redtune *rt, redtune_order chosen, redtune_error *err) {
    static const char *const names[] = {"free", "fixed", NULL};
    int order = (int)chosen;
    redtune_status status =
        rdt_runtime_read_choice("REDTUNE_ORDER", names, "free or fixed", &order, err);
    if (status) return status;
    if ((unsigned)order > REDTUNE_ORDER_FIXED)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot use options.order %d: give REDTUNE_ORDER_FREE or _FIXED", order);
    rt->order = (redtune_order)order;
    return REDTUNE_OK;
}

/* NULL stays NULL. */
static redtune_status copy_text(const char *text, char **out, redtune_error *err) {
    if (!text) return REDTUNE_OK;
    *out = strdup(text);
    return *out ? REDTUNE_OK : rdt_fail_memory(err, strlen(text) + 1);
}

static redtune_status take_machine(redtune *rt, const char *label, redtune_error *err) {
    if (!label) return REDTUNE_OK;
    if (strlen(label) >= sizeof rt->machine || !rdt_validate_row_is_label(label))
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot label the machine '%.80s': a label has at most 63 bytes of plain "
                        "text, without quotes, brackets or signs such as $ and *",
                        label);
    rdt_text_copy(rt->machine, sizeof rt->machine, label);
    return REDTUNE_OK;
}

/* A program that names a file means that one; what the environment names may be unfit for it. */
static redtune_status take_record(redtune *rt, const char *chosen, redtune_error *err) {
    const char *variable = getenv("REDTUNE_RECORD");
    redtune_error why;
    if (chosen) return rdt_recorder_open(chosen, &rt->recorder, err);
    if (variable && *variable && rdt_recorder_open(variable, &rt->recorder, &why))
        rdt_log_write(&rt->log, REDTUNE_LOG_WARNING, "nothing is recorded: %s", why.message);
    return REDTUNE_OK;
}

/* Whatever it names, the program goes on. */
static void take_call_log(redtune *rt) {
    const char *path = getenv("REDTUNE_TRACE");
    redtune_error why;
    if (path && rdt_call_log_open(path, &rt->log, &rt->calls, &why))
        rdt_log_write(&rt->log, REDTUNE_LOG_WARNING, "REDTUNE_TRACE is left out: %s", why.message);
}

static redtune_status take_verify_s(redtune *rt, double seconds, redtune_error *err) {
    redtune_status status = rdt_clock_check_s("open redtune", "options.verify_s", seconds, err);
    if (status) return status;
    rt->verify_s = seconds > 0 ? seconds : verify_usual_s;
    return REDTUNE_OK;
}

static redtune_status fill(redtune *rt, const redtune_options *options, redtune_error *err) {
    const char *pin = getenv("REDTUNE_CONFIG");
    bool entered = false;
    rt->background = options->background != 0;
    redtune_status status = take_verify_s(rt, options->verify_s, err);
    if (!status) status = open_log(options, &rt->log, err);
    if (!status) status = redtune_ops_read(options->ops, err);
    if (!status) status = copy_text(pin && *pin ? pin : NULL, &rt->pin, err);
    if (!status) status = take_check(rt, err);
    if (!status) status = take_switched_order(rt, options->order, err);
    if (!status) status = take_machine(rt, options->machine, err);
    if (!status) status = rdt_runtime_find_trust(options->trust, &rt->trust, err);
    if (!status) status = copy_text(options->worker, &rt->worker, err);
    if (!status) status = rdt_layers_list(options->database, &rt->layers, err);
    /* A program that names a database means that one; else it runs without, if it must. */
    rt->layers.lenient = !options->database;
    if (!status) status = rdt_layers_check(&rt->layers, &rt->log, err);
    if (!status) status = take_record(rt, options->record, err);
    if (!status) take_call_log(rt);
    if (!status) status = rdt_context_open(options->device, &rt->context, err);
    if (!status) status = rdt_builder_create(&rt->log, &rt->builder, err);
    if (!status) status = rdt_context_enter(rt->context, &entered, err);
    if (!status) status = rdt_workspace_create(rt->context, 0, NULL, &rt->workspace, err);
    if (rt->context) rdt_context_leave(rt->context, entered);
    return status;
}

redtune_status redtune_open(const redtune_options *options, redtune **out, redtune_error *err) {
    const redtune_options usual = {0};
    if (!options) options = &usual;
    if (!out) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot open redtune: out is NULL");
    redtune_status status = rdt_reserved_check(RDT_RESERVED(options), "redtune_options", err);
    if (status) return status;
    redtune *rt = calloc(1, sizeof *rt);
    if (!rt) return rdt_fail_memory(err, sizeof *rt);
    pthread_mutex_init(&rt->lock, NULL);
    rdt_trace_start();
    status = fill(rt, options, err);
    if (status) {
        redtune_close(rt);
        return status;
    }
    if (!*rt->layers.path[0])
        rdt_log_write(&rt->log, REDTUNE_LOG_WARNING,
                      "working without a database of the user's: neither XDG_DATA_HOME nor HOME "
                      "is an absolute path; set one of them, or REDTUNE_DB");
    rdt_log_write(&rt->log, REDTUNE_LOG_INFO, "opened on %s with the database %s",
                  rt->context->facts.name, rt->layers.path[0]);
    *out = rt;
    return REDTUNE_OK;
}

void redtune_close(redtune *rt) {
    if (!rt) return;
    bool entered = false;
    if (rt->context && rdt_context_enter(rt->context, &entered, NULL)) {
        /* The program destroyed it before. */
        rdt_plan_table_clear(&rt->plans);
        rdt_packer_destroy(rt, true);
        rdt_tables_destroy(rt, true);
        rdt_workspace_destroy(rt->workspace, true);
    } else if (rt->context) {
        CUstreamCaptureMode mode = rdt_context_relax(rt->context);
        rdt_plan_table_clear(&rt->plans);
        rdt_packer_destroy(rt, false);
        rdt_tables_destroy(rt, false);
        rdt_workspace_destroy(rt->workspace, false);
        rdt_context_restore(rt->context, mode);
        rdt_context_leave(rt->context, entered);
    }
    rdt_recorder_close(rt->recorder, &rt->log);
    rdt_call_log_close(rt->calls);
    rdt_builder_destroy(rt->builder);
    rdt_context_close(rt->context);
    rdt_winners_free(&rt->winners);
    rdt_winners_free(&rt->winners_here);
    rdt_rows_free(&rt->verified);
    pthread_mutex_destroy(&rt->lock);
    rdt_layers_free(&rt->layers);
    free(rt->pin);
    free(rt->worker);
    free(rt);
}

void redtune_device_get(const redtune *rt, redtune_device_info *info) {
    if (!info) return;
    *info = (redtune_device_info){.major = 0};
    if (rt) rdt_convert_gpu(&rt->context->facts, info);
}

redtune_status redtune_device_count(int *count, redtune_error *err) {
    rdt_driver *driver = NULL;
    int found = 0;
    if (!count) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot count the GPUs: count is NULL");
    redtune_status status = rdt_driver_open(false, &driver, err);
    if (!status)
        status = rdt_driver_check(driver, driver->device_get_count(&found), err, "count the GPUs");
    rdt_driver_close(driver);
    if (!status) *count = found;
    return status;
}

const char *redtune_database_path(const redtune *rt) { return rt ? rt->layers.path[0] : ""; }
