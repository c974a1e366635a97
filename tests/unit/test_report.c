/* Facts about src/api/tools/report.c and src/codegen/page.c: what a report says, and that no text
 * of a database comes through as anything but text. */
#include "trials.h"

#include "faults.h"
#include "markup.h"
#include "redtune/tools.h"
#include "shaped.h"

static markup checked;
static char *text;

/* Reports on the open database; the last report is freed. */
static redtune_status report(redtune_reporting wanted) {
    redtune_free(text);
    text = NULL;
    wanted.database = in_scratch("tuning.db");
    return redtune_report(&wanted, &text, &err);
}

static const redtune_reporting page = {.format = REDTUNE_FORMAT_HTML};
static const redtune_reporting table = {.format = REDTUNE_FORMAT_CSV};
static const redtune_reporting document = {.format = REDTUNE_FORMAT_JSON};

#define CHECK_PAGE()                                                                               \
    do {                                                                                           \
        if (!check_that(markup_check(&checked, text), __FILE__, __LINE__, "%s", checked.wrong))    \
            return;                                                                                \
    } while (0)

/* ---- what a report says ---------------------------------------------------------------------- */

static bool put_curve(redtune_dtype dtype, double floor_ns, double bytes_per_ns) {
    for (int power = 10; power <= 24; power += 2) {
        uint64_t count = UINT64_C(1) << power;
        rdt_trial trials[3];
        double ns = floor_ns + (double)count * 4 / bytes_per_ns;
        trials[0] = trials_make(count, "block=256,vec=4,finish=poll,per_sm=8", 1.2 * ns, 31);
        trials[0].is_default = true;
        trials[1] = trials_make(count,
                                power < 16 ? "block=64,vec=4,finish=single,per_sm=1"
                                           : "block=512,vec=4,finish=poll,per_sm=4",
                                ns, 31);
        trials[2] = trials_make(count, "block=32,vec=1,finish=poll,per_sm=2", 3 * ns, 31);
        for (int i = 0; i < 3; i++) {
            trials[i].problem.dtype = dtype;
            trials[i].problem.result = dtype == REDTUNE_F64 ? REDTUNE_F64 : REDTUNE_F32;
            trials[i].conditions = (rdt_conditions){.sm_mhz = 1980, .temperature_c = 41};
        }
        trials[2].conditions.throttle = 0x20;
        if (put(trials, 3)) return false;
    }
    return true;
}

FACT(an_empty_database_is_refused) {
    CHECK(begin());
    CHECK_FAILS(report(page), REDTUNE_INVALID, err, "nothing is measured in");
    CHECK(!text);
    CHECK_FAILS(report(table), REDTUNE_INVALID, err, "nothing is measured in");
}

FACT(a_page_has_every_section) {
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000) && put_curve(REDTUNE_F64, 1600, 4100));
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    CHECK_CONTAINS(text, "<h1>NVIDIA Test GPU</h1>");
    CHECK_CONTAINS(text, "<b>sum of f32</b>");
    CHECK_CONTAINS(text, "<b>sum of f64</b>");
    CHECK_CONTAINS(text, "1.20×");
    CHECK_CONTAINS(text, "What matters: sum of f32");
    CHECK_CONTAINS(text, "<b>block</b> matters: up to 3.00×");
    CHECK_CONTAINS(text, "At every size: <code>vec=4</code>");
    CHECK_CONTAINS(text, "<td class=\"n new turn\">poll</td>");
    CHECK_CONTAINS(text, "block=512,<wbr/>vec=4,<wbr/>finish=poll,<wbr/>per_sm=4</code>");
    CHECK_CONTAINS(text, "per_sm=1</code> (the winner)");
    CHECK_CONTAINS(text, "per_sm=8</code> (the default)");
    CHECK_CONTAINS(text, "bench 7");
    CHECK_CONTAINS(text, "12.9");
    CHECK_CONTAINS(text, "during 16 of 48 measurements");
    CHECK_CONTAINS(text, "41 °C");
    CHECK_CONTAINS(text, "of the memory bus, ");
    CHECK_CONTAINS(text, "class=\"note\">GB/s</text>");
    CHECK_CONTAINS(text, "class=\"end\">10</text>"); /* a scale of decades */
    CHECK(!strstr(text, "url(") && !strstr(text, "@import"));
}

FACT(the_same_database_gives_the_same_bytes) {
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000));
    CHECK_OK(report(page), err);
    char *first = strdup(text);
    CHECK_OK(report(page), err);
    bool same = first && !strcmp(first, text);
    free(first);
    CHECK(same);
}

/* 8 problems of the curve, one of them warm, too, and one between two sizes. */
FACT(problems_are_counted_alike) {
    rdt_trial warm = trials_make(1024, "block=256,vec=4,finish=poll,per_sm=8", 1000, 31);
    rdt_trial between = trials_make(2048, "block=64,vec=4,finish=single,per_sm=1", 1700, 31);
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000));
    warm.cache = RDT_CACHE_WARM;
    warm.is_default = true;
    CHECK_OK(put(&warm, 1), err);
    CHECK_OK(report(page), err);
    CHECK_CONTAINS(
        text, "<b>9</b><span>problems, each an op, a dtype and a size or shape, with a cold or");
    CHECK_CONTAINS(text,
                   "<b>1.20×</b><span>over the built-in default where tuning gains 1 % or more");
    CHECK_CONTAINS(text, "geometric mean of 8 of 9 problems</span>");
    CHECK(!strstr(text, "Sizes in italics"));
    RESHAPE(&between.problem, count, 1448);
    CHECK_OK(put(&between, 1), err);
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    CHECK_CONTAINS(text, "<b>10</b><span>problems, each");
    CHECK_CONTAINS(text, "geometric mean of 8 of the 9 problems whose default is known</span>");
    CHECK_CONTAINS(text, "Sizes in italics are no powers of two");
    CHECK_CONTAINS(text, "<th class=\"n uneven between\">1448</th>");
    CHECK(!strstr(text, "uneven\">1K"));
}

FACT(a_chart_of_gains_has_three_lines_at_most) {
    CHECK(begin() && put_curve(REDTUNE_F16, 1500, 4000) && put_curve(REDTUNE_BF16, 1500, 4000) &&
          put_curve(REDTUNE_F32, 1500, 4000) && put_curve(REDTUNE_F64, 1600, 4100));
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    CHECK_CONTAINS(text, "\"gain over the default, sum of f32, f16, bf16\"");
    CHECK_CONTAINS(text, "\"gain over the default, sum of f64\"");
}

/* Its mark, too, is about the column that is printed before. */
FACT(sizes_between_powers_of_two_stay_out_of_gains_and_prints) {
    rdt_trial trials[2] = {trials_make(1448, "block=256,vec=4,finish=poll,per_sm=8", 1100, 31),
                           trials_make(1448, "block=128,vec=4,finish=single,per_sm=1", 1000, 31)};
    trials[0].is_default = true;
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000));
    CHECK_OK(put(trials, 2), err);
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    CHECK_CONTAINS(text, "f32, 1K elements: 1.20×");
    CHECK(!strstr(text, "f32, 1448 elements"));
    CHECK_CONTAINS(text, "<td class=\"n new between\">128</td>\n<td class=\"n new\">64</td>");
}

/* A warm input comes from L2, faster than the bus could bring it: no share of the bus is claimed.
 */
FACT(only_cold_figures_are_set_against_the_bus) {
    rdt_trial warm = trials_make(1 << 20, "block=256,vec=4,finish=poll,per_sm=8", 10, 31);
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000));
    warm.cache = RDT_CACHE_WARM;
    CHECK_OK(put(&warm, 1), err);
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    CHECK_CONTAINS(text, "% of the bus)");
    for (const char *at = text; (at = strstr(at, " %")) != NULL; at++) {
        const char *digits = at;
        while (digits > text && strchr("0123456789.", digits[-1])) digits--;
        CHECK(strtod(digits, NULL) <= 100);
    }
}

/* Results that stay in L2 make a matrix faster than the bus: it is not the page's first figure. */
FACT(what_beats_the_bus_is_not_the_fastest) {
    static const char tile[] = "<div class=\"tile\"><b>";
    rdt_trial fast = trials_make(1 << 20, "block=512,vec=2,finish=poll,per_sm=8", 10, 31);
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000));
    CHECK_OK(put(&fast, 1), err);
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    const char *at = strstr(text, tile);
    CHECK(at && strtod(at + strlen(tile), NULL) > 10 && strtod(at + strlen(tile), NULL) <= 100);
}

FACT(failures_are_told) {
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000));
    rdt_trial wrong = trials_make(1024, "block=32,vec=2,finish=poll,per_sm=2", 0, 0);
    wrong.spread_ns = 0;
    wrong.outcome = RDT_OUTCOME_WRONG;
    CHECK_OK(put(&wrong, 1), err);
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    CHECK_CONTAINS(text, "sum of f32, 1K: 1 gave a wrong result, 0 did not compile");
}

FACT(the_ladder_is_shown_when_it_is_given) {
    static const char *const names[] = {"modulo", "strided", "sequential", "tuned"};
    redtune_step steps[4] = {{.name = ""}};
    for (int i = 0; i < 4; i++) {
        steps[i] = (redtune_step){
            .problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1 << 24),
            .text = "It <pays>.",
            .launches = 3,
            .right = i != 2,
            .median_ns = 400000.0 / (1 + i),
            .gbps = 168.0 * (1 + i),
            .gain = i ? (1.0 + i) / i : 0};
        snprintf(steps[i].name, sizeof steps[i].name, "%s", names[i]);
        snprintf(steps[i].place, sizeof steps[i].place, "%d", i + 1);
    }
    redtune_reporting wanted = page;
    wanted.steps = steps;
    wanted.step_count = 4;
    CHECK(begin());
    CHECK_OK(report(wanted), err);
    CHECK_PAGE();
    CHECK_CONTAINS(text, "Nothing measured yet");
    CHECK_CONTAINS(text, ">strided</text>");
    CHECK_CONTAINS(text, "336 GB/s, 2.00×");
    CHECK_CONTAINS(text, "It &lt;pays&gt;.");
    CHECK_CONTAINS(text, "<b>WRONG</b>");
}

FACT(one_gpu_is_told_of_and_the_others_named) {
    rdt_facts other = trials_gpu;
    rdt_trial trial = trials_make(4096, "block=64,vec=4", 2000, 31);
    rdt_text_copy(other.name, sizeof other.name, "NVIDIA Other");
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000));
    CHECK_OK(rdt_tuning_put(tuning, &other, &trials_origin, &trial, 1, &err), err);
    redtune_reporting wanted = page;
    wanted.gpu = "test";
    CHECK_OK(report(wanted), err);
    CHECK_PAGE();
    CHECK_CONTAINS(text, "<h1>NVIDIA Test GPU</h1>");
    CHECK_CONTAINS(text, "The databases also have NVIDIA Other");
    wanted.gpu = "NVIDIA Other";
    CHECK_OK(report(wanted), err);
    CHECK_CONTAINS(text, "<h1>NVIDIA Other</h1>");
    wanted.gpu = "a oth"; /* a part of a name does */
    CHECK_OK(report(wanted), err);
    CHECK_CONTAINS(text, "<h1>NVIDIA Other</h1>");
    wanted.gpu = "NVIDIA None";
    CHECK_FAILS(report(wanted), REDTUNE_INVALID, err, "'NVIDIA None'");
    CHECK(!text);
}

FACT(a_problem_is_chosen_by_its_count) {
    redtune_reporting wanted = page;
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000) && put_curve(REDTUNE_F64, 1500, 4000));
    wanted.problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F64, 1 << 12);
    CHECK_OK(report(wanted), err);
    CHECK_CONTAINS(text, "What matters: sum of f64, 4K elements");
    RESHAPE(&wanted.problem, count, 4097);
    CHECK_FAILS(report(wanted), REDTUNE_INVALID, err, "4097 elements");
}

/* What other templates gave does not compete with what today's give. */
FACT(old_templates_do_not_compete) {
    rdt_origin old = trials_origin;
    rdt_trial fast = trials_make(4096, "block=1024,vec=4", 1, 31);
    rdt_text_copy(old.templates, sizeof old.templates, "an older hash");
    CHECK(begin());
    CHECK_OK(rdt_tuning_put(tuning, &trials_gpu, &old, &fast, 1, &err), err);
    CHECK(put_one(4096, "block=64,vec=4", 2000, 31));
    CHECK_OK(report(table), err);
    CHECK_CONTAINS(text, "block=64,vec=4");
    CHECK(!strstr(text, "block=1024"));
    CHECK_OK(report(document), err);
    CHECK_CONTAINS(text, "\"configs_tried\": 1,");
    CHECK(!strstr(text, "block=1024"));
}

FACT(a_database_that_is_none_is_refused) {
    redtune_reporting wanted = {.database = "/nowhere/tuning.db"};
    char *untouched = NULL;
    CHECK_FAILS(redtune_report(&wanted, &untouched, &err), REDTUNE_INVALID, err,
                "/nowhere/tuning.db");
    CHECK(!untouched);
    wanted.format = (redtune_format)7;
    CHECK_FAILS(redtune_report(&wanted, &untouched, &err), REDTUNE_INVALID, err, "format 7");
    CHECK_FAILS(redtune_report(NULL, NULL, &err), REDTUNE_INVALID, err, "text is NULL");
}

/* ---- hostile databases ----------------------------------------------------------------------- */

static const char *const hostile[] = {
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'><svg onload=alert(1)>",
    "</title><script>x</script>",
    "]]><x>&nbsp;&#60;",
    "<!-- --><b>",
    "</style><style>*{display:none}",
    "@{error()} //@ error()",
    "javascript:alert(1)",
    "=cmd|' /C calc'!A0",
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static void quoted(const char *string, char out[256]) {
    char *to = out;
    *to++ = '\'';
    for (; *string; string++) {
        if (*string == '\'') *to++ = '\'';
        *to++ = *string;
    }
    *to++ = '\'';
    *to = '\0';
}

/* Puts the text everywhere where a database has one, past redtune's own checks. */
static bool spoil(const char *string) {
    char name[256], script[2048];
    quoted(string, name);
    snprintf(script, sizeof script,
             "UPDATE gpu SET name = %s; UPDATE origin SET machine = %s, templates = substr(%s, 1, "
             "39); UPDATE measurement SET config = %s WHERE config LIKE 'block=32%%'; UPDATE "
             "measurement SET config = config || ',' || %s WHERE config LIKE 'block=512%%'; UPDATE "
             "measurement SET family = substr(%s, 1, 31) WHERE count = 4096",
             name, name, name, name, name, name);
    return sql(script);
}

FACT(no_text_of_a_database_becomes_markup) {
    for (int i = 0; i < HOSTILE; i++) {
        CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000) && spoil(hostile[i]));
        CHECK_OK(report(page), err);
        CHECK_PAGE();
        CHECK(!strstr(text, "<img") && !strstr(text, "<svg onload"));
        CHECK_OK(report(document), err);
        CHECK_OK(report(table), err);
        CHECK(!strstr(text, "\"=cmd"));
    }
}

/* What controls a terminal, turns the writing round or is no text makes a row none: it is left out,
 * and nothing of it reaches the page. */
FACT(terminal_escapes_do_not_come_through) {
    static const char *const strange[] = {"char(27) || '[2J' || char(7)", "char(155) || '2J'",
                                          "CAST(x'9b324a' AS TEXT)", "CAST(x'fffe' AS TEXT)",
                                          "char(8238) || 'gnp.exe'"};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        char change[128];
        snprintf(change, sizeof change, "UPDATE measurement SET config = %s WHERE dtype = 'f32'",
                 strange[i]);
        CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000) && put_curve(REDTUNE_F64, 1500, 4000));
        CHECK(sql(change));
        CHECK_OK(report(page), err);
        CHECK_PAGE();
        CHECK(!strchr(text, '\x1b') && !strchr(text, '\a') && !strstr(text, "\xe2\x80\xae"));
        CHECK(!strstr(text, "sum of f32"));
    }
}

FACT(absurd_figures_make_a_page) {
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000) && put_curve(REDTUNE_F64, 1500, 4000));
    CHECK(sql("UPDATE measurement SET median_ns = 5e-324, spread_ns = 1e15 WHERE id % 3 = 0;"
              "UPDATE measurement SET median_ns = 1e15 WHERE id % 3 = 1;"
              "UPDATE measurement SET count = 1152921504606846976, reduced = '1152921504606846976'"
              " WHERE count = 1024;"
              "UPDATE measurement SET count = 0, reduced = '0' WHERE count = 4096;"
              "UPDATE measurement SET date = 9223372036854775807 WHERE id % 2 = 0;"
              "UPDATE gpu SET bus_bits = 1000000, memory_khz = 1000000000"));
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    CHECK(!strstr(text, "nan") || !strstr(text, "\"nan\""));
    CHECK(!strstr(text, "\"inf\"") && !strstr(text, "\"-nan\""));
    CHECK_OK(report(document), err);
    CHECK_OK(report(table), err);
}

/* Many problems, sizes and parameters: still a page that a phone can open. */
FACT(a_large_database_makes_a_page_below_a_megabyte) {
    static rdt_trial many[4000];
    redtune_problem problem;
    size_t n = 0;
    CHECK(begin());
    for (int op = 0; op < 19; op++)
        for (int dtype = REDTUNE_I8; dtype < REDTUNE_DTYPE_END; dtype++) {
            problem = (redtune_problem){(redtune_op)op, (redtune_dtype)dtype};
            if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
            for (uint64_t i = 0; i < 18 && n < 4000; i++, n++) {
                char config[128];
                snprintf(config, sizeof config, "block=%d,vec=%d,p%d=%d,q%d=z%d,finish=poll", 32,
                         (int)i, (int)i, (int)n, (int)(n % 7), (int)n);
                many[n] = trials_make(1000 + 997 * i, config, 1000 + (double)n, 31);
                many[n].problem.op = problem.op;
                many[n].problem.dtype = problem.dtype;
                many[n].problem.result = problem.result;
            }
        }
    CHECK(n > 3000);
    CHECK_OK(put(many, n), err);
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    CHECK(strlen(text) < 1000000);
    CHECK_CONTAINS(text, "has them all");
}

FACT(a_curve_of_many_sizes_is_thinned) {
    static rdt_trial many[600];
    CHECK(begin());
    for (uint64_t i = 0; i < 600; i++)
        many[i] = trials_make(1000 + 97 * i, "block=64,vec=4", 1000 + (double)i, 31);
    CHECK_OK(put(many, 600), err);
    CHECK_OK(report(page), err);
    CHECK_PAGE();
    int dots = 0;
    for (const char *at = text; (at = strstr(at, "<circle")) != NULL; at++) dots++;
    CHECK(dots >= 64 && dots < 200);
}

/* Every hundredth: Lua makes thousands of them. */
FACT(a_report_survives_failed_allocations) {
    CHECK(begin() && put_curve(REDTUNE_F32, 1500, 4000));
    for (long n = 1; faults_begin(n); n += n < 40 ? 1 : 149) {
        redtune_status status = report(page);
        if (faults_end()) {
            CHECK(status == REDTUNE_MEMORY || status == REDTUNE_DATABASE || !status);
            CHECK(status ? !text : text != NULL);
        }
    }
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int rc = check_run(argc, argv);
    rdt_tuning_close(tuning);
    redtune_free(text);
    scratch_end();
    return rc;
}
