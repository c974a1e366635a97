/* Facts about the host program's locale: every text is the same in every one. The locales are made
 * from their sources (Debian's package locales), so that none need be installed. */
#include "trials.h"

#include <locale.h>
#include <stdlib.h>
#include "base/log.h"
#include "redtune/records.h"
#include "redtune/tools.h"
#include "model/scalar.h"

/* A decimal comma; and a small I that has no capital I, in a charset that has both. */
static const char *const names[] = {"de_DE.UTF-8", "tr_TR.ISO-8859-9"};
enum { LOCALES = sizeof names / sizeof *names };

static bool make_locales(void) {
    for (int i = 0; i < LOCALES; i++) {
        char line[512];
        snprintf(line, sizeof line, "localedef -i %.5s -f %s %s >/dev/null", names[i], names[i] + 6,
                 in_scratch(names[i]));
        if (system(line)) {
            fprintf(stderr, "localedef cannot make %s; install the package locales\n", names[i]);
            return false;
        }
    }
    return !setenv("LOCPATH", scratch, 1);
}

static void say(void *user, const redtune_finding *finding) {
    rdt_text_addf(user, "%s: %s; %s\n", finding->subject, finding->detail, finding->remedy);
}

static void say_log(void *user, redtune_log_level level, const char *line) {
    (void)level;
    rdt_text_addf(user, "%s\n", line);
}

static redtune_status say_row(void *user, const redtune_row *row, redtune_error *error) {
    (void)error;
    rdt_text_add(user, row->config);
    return REDTUNE_OK;
}

/* What redtune says of one database, and of what it is asked wrongly. */
static char *say_all(void) {
    rdt_text out = {0};
    const char *database = in_scratch("tuning.db");
    char *text = NULL;
    void *data = NULL;
    size_t bytes = 0;
    int missing = 0;
    for (int format = REDTUNE_FORMAT_HTML; format <= REDTUNE_FORMAT_JSON; format++) {
        const redtune_reporting wanted = {.database = database, .format = (redtune_format)format};
        if (!redtune_report(&wanted, &text, &err)) rdt_text_add(&out, text);
        redtune_free(text), text = NULL;
    }
    /* The name has an I. */
    const redtune_rows_query query = {.database = database, .gpu = "nvidia"};
    if (!redtune_rows_each(&query, say_row, &out, &err)) rdt_text_add(&out, "\n");
    if (!redtune_export(&query, REDTUNE_EXPORT_JSON, &data, &bytes, &err))
        rdt_text_add_bytes(&out, data, bytes);
    redtune_free(data);
    const redtune_emission emission = {.problem = {.op = REDTUNE_MEAN, .dtype = REDTUNE_F32}};
    if (!redtune_emit(&emission, &text, &err)) rdt_text_add(&out, text);
    redtune_free(text);
    redtune_diagnose(&(redtune_options){.database = database}, say, &out, &missing, &err);
    rdt_scalar_print(REDTUNE_F32, &(redtune_value){.f32 = 1.5f}, &out);
    rdt_fail(&err, REDTUNE_INVALID, 0, "\n%.1f s", 0.5);
    rdt_text_add(&out, err.message);
    rdt_file_read("/nowhere/at/all", 1, &text, &bytes, &err);
    rdt_text_add(&out, err.message);
    rdt_log_write(&(rdt_log){say_log, &out, REDTUNE_LOG_INFO}, REDTUNE_LOG_INFO, "%.2f us", 2.25);
    return rdt_text_take(&out, &text, &err) ? NULL : text;
}

static bool fill(void) {
    rdt_trial trials[2] = {trials_make(1024, "block=256,vec=4", 2345.625, 31),
                           trials_make(1024, "block=128,vec=4", 1234.5, 31)};
    trials[0].is_default = true;
    return begin() && !put(trials, 2);
}

FACT(every_text_is_the_same_in_every_locale) {
    setenv("XDG_CACHE_HOME", in_scratch("cache"), 1); /* other tests fill theirs meanwhile */
    CHECK(make_locales());
    CHECK(fill());
    char *plain = say_all();
    CHECK(plain && strstr(plain, "1.2") && strstr(plain, "block=128") && strstr(plain, "?0.5 s"));
    for (int i = 0; i < LOCALES; i++) {
        CHECK(setlocale(LC_ALL, names[i]));
        char point[8];
        snprintf(point, sizeof point, "%.1f", 0.5);
        CHECK_TEXT(point, "0,5");
        char *here = say_all();
        snprintf(point, sizeof point, "%.1f", 0.5);
        CHECK(setlocale(LC_ALL, "C"));
        CHECK_TEXT(point, "0,5"); /* it is the program's own afterwards */
        CHECK(here);
        size_t same = 0;
        while (here[same] && here[same] == plain[same]) same++;
        char shown[2][64];
        rdt_text_copy(shown[0], sizeof shown[0], here + (same < 20 ? 0 : same - 20));
        rdt_text_copy(shown[1], sizeof shown[1], plain + (same < 20 ? 0 : same - 20));
        free(here);
        CHECK_TEXT(shown[0], shown[1]); /* around the first difference, if there is one */
    }
    free(plain);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_tuning_close(tuning);
    scratch_end();
    return failed;
}
