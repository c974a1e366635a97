/* Page: a report rendered by the templates in report/. */
#include "codegen/page.h"

#include <string.h>
#include "codegen/escape.h"
#include "codegen/template.h"
#include "redtune/tools.h"

static const struct {
    const char *template;
    void (*escape)(const char *string, rdt_text *out);
} formats[] = {
    [REDTUNE_FORMAT_HTML] = {"report/page.html", rdt_escape_html},
    [REDTUNE_FORMAT_CSV] = {"report/table.csv", rdt_escape_csv},
    [REDTUNE_FORMAT_JSON] = {"report/data.json", rdt_escape_json},
};

typedef struct page_call {
    const rdt_report *report;
    redtune_format format;
    rdt_output output;
    rdt_text text; /* at hand, escaped; here, so that it is freed after a Lua error too */
} page_call;

/* ---- the report as Lua tables --------------------------------------------------------------- */

/* The table being filled is on top of the stack. */

static void set_text(lua_State *state, page_call *call, const char *name, const char *string) {
    rdt_text_clear(&call->text);
    rdt_text_add(&call->text, ""); /* so that there is data */
    formats[call->format].escape(string, &call->text);
    if (call->text.failed) rdt_lua_raise(state, REDTUNE_MEMORY, "out of memory for a text");
    lua_pushlstring(state, call->text.data, call->text.length);
    lua_setfield(state, -2, name);
}

static void push_gpu(lua_State *state, page_call *call, const redtune_device_info *gpu) {
    lua_newtable(state);
    set_text(state, call, "name", gpu->name);
    rdt_lua_set_integer(state, "major", gpu->major);
    rdt_lua_set_integer(state, "minor", gpu->minor);
    rdt_lua_set_integer(state, "sm_count", gpu->sm_count);
    rdt_lua_set_integer(state, "l2_bytes", (int64_t)gpu->l2_bytes);
    rdt_lua_set_real(state, "peak_gbps", gpu->peak_gbps);
}

static void set_problem(lua_State *state, const redtune_problem *problem) {
    redtune_problem usual = *problem;
    usual.result = REDTUNE_DTYPE_NONE;
    if (rdt_problem_resolve(&usual, &usual, NULL)) usual.result = REDTUNE_DTYPE_NONE;
    rdt_lua_set_truth(state, "usual_result", usual.result == problem->result);
    rdt_lua_set_text(state, "op", redtune_op_name(problem->op));
    rdt_lua_set_text(state, "dtype", redtune_dtype_name(problem->dtype));
    rdt_lua_set_text(state, "result", redtune_dtype_name(problem->result));
    const rdt_extents extents = rdt_problem_extents(problem);
    rdt_lua_set_text(state, "layout", rdt_problem_layout_name(rdt_problem_layout(problem)));
    rdt_lua_set_text(state, "order", rdt_problem_order_name((int)problem->order));
    rdt_lua_set_text(state, "accuracy", rdt_problem_ordering_accuracy((int)problem->accuracy));
    rdt_lua_set_integer(state, "count", (int64_t)extents.count);
    rdt_lua_set_integer(state, "outer", (int64_t)extents.outer);
    rdt_lua_set_integer(state, "inner", (int64_t)extents.inner);
    rdt_lua_set_integer(state, "outer_step", (int64_t)extents.outer_step);
    rdt_lua_set_integer(state, "step", (int64_t)extents.step);
    rdt_lua_set_real(state, "bytes", rdt_problem_bytes(problem));
}

/* A config is text, and its parameters, of which only those that read as such are listed. */
static void set_config(lua_State *state, page_call *call, const char *config) {
    set_text(state, call, "config", config);
    lua_newtable(state);
    static const char word[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    for (lua_Integer n = 1; *config; n++) {
        size_t name = strspn(config, word);
        size_t value = config[name] == '=' ? strspn(config + name + 1, word) : 0;
        const char *end = config + name + 1 + value;
        if (!name || !value || (*end && *end != ',')) break;
        lua_newtable(state);
        lua_pushlstring(state, config, name);
        lua_setfield(state, -2, "name");
        lua_pushlstring(state, config + name + 1, value);
        lua_setfield(state, -2, "value");
        lua_seti(state, -2, n);
        config = *end ? end + 1 : end;
    }
    lua_setfield(state, -2, "params");
}

static void set_trial(lua_State *state, page_call *call, const rdt_trial *trial) {
    set_text(state, call, "family", trial->family);
    set_config(state, call, trial->config);
    rdt_lua_set_real(state, "median_ns", trial->median_ns);
    rdt_lua_set_real(state, "spread_ns", trial->spread_ns);
    rdt_lua_set_integer(state, "samples", trial->samples);
    rdt_lua_set_truth(state, "is_default", trial->is_default);
    rdt_lua_set_integer(state, "sm_mhz", trial->conditions.sm_mhz);
    rdt_lua_set_integer(state, "temperature_c", trial->conditions.temperature_c);
}

static void push_point(lua_State *state, page_call *call, const rdt_report_point *point) {
    lua_newtable(state);
    set_problem(state, &point->winner.problem);
    rdt_lua_set_truth(state, "warm", point->winner.cache == RDT_CACHE_WARM);
    set_trial(state, call, &point->winner);
    rdt_lua_set_real(state, "default_ns", point->default_ns);
    rdt_lua_set_integer(state, "origin", (int64_t)point->origin + 1);
    rdt_lua_set_integer(state, "date", point->date);
    rdt_lua_set_integer(state, "configs", (int64_t)point->configs);
    rdt_lua_set_integer(state, "throttled", (int64_t)point->throttled);
    rdt_lua_set_integer(state, "disturbed", (int64_t)point->disturbed);
    rdt_lua_set_integer(state, "hottest_c", point->hottest_c);
    lua_newtable(state);
    for (int i = 0; i < RDT_OUTCOME_COUNT; i++)
        rdt_lua_set_integer(state, rdt_trial_outcome_name((rdt_outcome)i),
                            (int64_t)point->outcomes[i]);
    lua_setfield(state, -2, "outcomes");
}

static void push_origin(lua_State *state, page_call *call, const rdt_report_origin *origin) {
    lua_newtable(state);
    set_text(state, call, "machine", origin->machine);
    set_text(state, call, "templates", origin->templates);
    rdt_lua_set_integer(state, "driver_version", origin->driver_version);
    rdt_lua_set_integer(state, "nvrtc_version", origin->nvrtc_version);
}

static void push_step(lua_State *state, page_call *call, const redtune_step *step) {
    const redtune_counters *counters = &step->counters;
    lua_newtable(state);
    set_text(state, call, "name", step->name);
    set_text(state, call, "place", step->place);
    set_text(state, call, "text", step->text);
    set_text(state, call, "config", step->config);
    set_problem(state, &step->problem);
    rdt_lua_set_integer(state, "launches", (int64_t)step->launches);
    rdt_lua_set_truth(state, "right", step->right != 0);
    rdt_lua_set_real(state, "median_ns", step->median_ns);
    rdt_lua_set_real(state, "spread_ns", step->spread_ns);
    rdt_lua_set_real(state, "gbps", step->gbps);
    rdt_lua_set_real(state, "gain", step->gain);
    rdt_lua_set_truth(state, "counted", step->counted != 0);
    rdt_lua_set_integer(state, "warp_instructions", (int64_t)counters->warp_instructions);
    rdt_lua_set_integer(state, "lane_instructions", (int64_t)counters->lane_instructions);
    rdt_lua_set_integer(state, "divergent_branches", (int64_t)counters->divergent_branches);
    rdt_lua_set_integer(state, "global_loads", (int64_t)counters->global_loads);
    rdt_lua_set_integer(state, "bank_conflicts",
                        (int64_t)(counters->shared_wavefronts - counters->shared_requests));
    rdt_lua_set_integer(state, "barriers", (int64_t)counters->barriers);
}

/* Calls push for i = 0 ... count - 1 and makes a list of what it pushes. */
#define SET_LIST(state, name, count, push)                                                         \
    do {                                                                                           \
        lua_createtable((state), (int)(count), 0);                                                 \
        for (size_t i = 0; i < (count); i++) {                                                     \
            push;                                                                                  \
            lua_seti((state), -2, (lua_Integer)i + 1);                                             \
        }                                                                                          \
        lua_setfield((state), -2, (name));                                                         \
    } while (0)

static void push_candidate(lua_State *state, page_call *call, const rdt_trial *trial) {
    lua_newtable(state);
    set_trial(state, call, trial);
}

static void push_compared(lua_State *state, page_call *call, const redtune_compared *side) {
    lua_newtable(state);
    set_text(state, call, "file", side->file ? side->file : "");
    set_text(state, call, "gpus", side->gpus);
    set_text(state, call, "driver_versions", side->driver_versions);
    set_text(state, call, "nvrtc_versions", side->nvrtc_versions);
    set_text(state, call, "templates", side->templates);
    rdt_lua_set_integer(state, "first_date", side->first_date);
    rdt_lua_set_integer(state, "last_date", side->last_date);
    rdt_lua_set_integer(state, "winners", (int64_t)side->winners);
}

static void set_side(lua_State *state, page_call *call, const char *name, const char *family,
                     const char *config, double median_ns) {
    lua_newtable(state);
    set_text(state, call, "family", family);
    set_text(state, call, "config", config);
    rdt_lua_set_real(state, "median_ns", median_ns);
    lua_setfield(state, -2, name);
}

static void push_difference(lua_State *state, page_call *call, const redtune_difference *of) {
    lua_newtable(state);
    set_problem(state, &of->problem);
    set_text(state, call, "gpu", of->gpu);
    rdt_lua_set_truth(state, "warm", of->warm != 0);
    set_side(state, call, "a", of->a_family, of->a_config, of->a_ns);
    set_side(state, call, "b", of->b_family, of->b_config, of->b_ns);
    rdt_lua_set_real(state, "noise_ns", of->noise_ns);
    rdt_lua_set_integer(state, "direction", of->direction);
}

static void push_comparison(lua_State *state, page_call *call,
                            const redtune_comparison *comparison) {
    lua_newtable(state);
    push_compared(state, call, &comparison->a);
    lua_setfield(state, -2, "a");
    push_compared(state, call, &comparison->b);
    lua_setfield(state, -2, "b");
    SET_LIST(state, "differences", comparison->difference_count,
             push_difference(state, call, &comparison->differences[i]));
}

static void push_report(lua_State *state, page_call *call) {
    const rdt_report *report = call->report;
    lua_newtable(state);
    set_text(state, call, "version", REDTUNE_VERSION);
    push_gpu(state, call, &report->gpu);
    lua_setfield(state, -2, "gpu");
    rdt_lua_set_integer(state, "shown", report->point_count ? (int64_t)report->shown + 1 : 0);
    SET_LIST(state, "others", report->other_count, push_gpu(state, call, &report->other[i]));
    SET_LIST(state, "points", report->point_count, push_point(state, call, &report->point[i]));
    SET_LIST(state, "origins", report->origin_count, push_origin(state, call, &report->origin[i]));
    SET_LIST(state, "candidates", report->candidate_count,
             push_candidate(state, call, &report->candidate[i]));
    SET_LIST(state, "steps", report->step_count, push_step(state, call, &report->step[i]));
    if (report->comparison) {
        push_comparison(state, call, report->comparison);
        lua_setfield(state, -2, "comparison");
    }
}

/* ---- rendering ------------------------------------------------------------------------------ */

static void push_page_environment(lua_State *state, void *user) {
    rdt_lua_push_environment(state);
    push_report(state, user);
    rdt_marshal_define(state, lua_gettop(state) - 1, "report");
}

static int run_page(lua_State *state) {
    page_call *call = lua_touserdata(state, 1);
    rdt_template_run(state, formats[call->format].template, &call->output, push_page_environment,
                     call);
    return 0;
}

redtune_status rdt_page_render(rdt_codegen *codegen, const rdt_report *report,
                               redtune_format format, char **text, redtune_error *err) {
    page_call call = {.report = report, .format = format};
    redtune_status status =
        rdt_template_render(codegen, "render the report", run_page, &call, &call.output, text, err);
    rdt_text_free(&call.text);
    return status;
}
