/* Facts about what the command says of hostile databases on a terminal: text, and nothing that
 * steers the terminal. */
#define _GNU_SOURCE
#include "forge.h"

#include <pty.h>

static const char *command; /* the file of redtune */

/* What the command printed on a terminal, stdout and stderr together; freed by the caller. */
static char *run_on_terminal(const char *const arguments[]) {
    rdt_text out = {0};
    char chunk[4096];
    char *printed = NULL;
    int terminal, ended = 0;
    ssize_t got;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    if (child < 0) return NULL;
    if (!child) {
        alarm(20); /* kills what hangs */
        execv(command, (char *const *)arguments);
        _exit(99);
    }
    while ((got = read(terminal, chunk, sizeof chunk)) > 0)
        rdt_text_add_bytes(&out, chunk, (size_t)got);
    close(terminal);
    if (waitpid(child, &ended, 0) < 0 || !WIFEXITED(ended) || WEXITSTATUS(ended) == 99)
        fprintf(stderr, "%s did not end by itself\n", arguments[1]);
    else
        rdt_text_take(&out, &printed, NULL);
    rdt_text_free(&out);
    return printed;
}

static bool is_text(const char *printed) {
    for (size_t bytes; *printed; printed += bytes) {
        bytes = *printed == '\n' || *printed == '\r' ? 1 : rdt_text_character(printed);
        if (!bytes) return false;
    }
    return true;
}

/* Every command that reads a database, on this one. The last says whether it was read. */
static bool says_text(const char *what, const char *path) {
    const char *const lines[][12] = {
        {command, "show", "--db", path, NULL},
        {command, "show", "--all", "--db", path, NULL},
        {command, "show", "--all", "--json", "--db", path, NULL},
        {command, "explain", "--gpu", "NVIDIA", "--count", "1M", "--db", path, NULL},
        {command, "explain", "--count", "1M", "--json", "--db", path, NULL},
        {command, "report", "--format", "csv", "--db", path, "-o", "-", NULL},
        {command, "report", "--format", "html", "--db", path, "-o", "-", NULL},
        {command, "report", "--format", "json", "--db", path, "-o", "-", NULL},
        {command, "doctor", "--db", path, NULL},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *printed = run_on_terminal(lines[i]);
        bool good = printed && *printed && is_text(printed);
        if (!good)
            fprintf(stderr, "%s: %s %s says '%s'\n", what, lines[i][1], lines[i][2],
                    printed ? printed : "");
        free(printed);
        if (!good) return false;
    }
    return true;
}

#define ESCAPE(more) "char(27) || ']0;" FORGE_MARK "' || char(7)" more

static const char *const changes[] = {
    "SELECT 1",
    "UPDATE gpu SET name = 'NVIDIA ' || " ESCAPE(""),
    "UPDATE gpu SET name = 'NVIDIA ' || char(155) || '31m'",
    "UPDATE gpu SET name = 'NVIDIA ' || CAST(x'9b33316d' AS TEXT)",
    "UPDATE gpu SET name = 'NVIDIA ' || char(8238) || 'x'",
    "UPDATE origin SET machine = " ESCAPE(""),
    "UPDATE origin SET machine = char(155) || '2J'",
    "UPDATE origin SET templates = " ESCAPE(""),
    "UPDATE measurement SET config = " ESCAPE(" || config"),
    "UPDATE measurement SET config = char(155) || '2J' || config",
    "UPDATE measurement SET family = char(155) || '2J'",
    "UPDATE measurement SET op = " ESCAPE(""),
    "UPDATE measurement SET cause = " ESCAPE(""),
    "UPDATE measurement SET cause = CAST(x'c29b9b' AS TEXT)",
    "UPDATE measurement SET cause = 'x' || char(13) || char(10) || 'redtune: all is well'",
    "UPDATE measurement SET outcome = " ESCAPE(""),
    "INSERT INTO import VALUES(1, " ESCAPE("") ", 0)",
};

FACT(values_steer_no_terminal) {
    char path[300];
    rdt_text_copy(path, sizeof path, in_scratch("theirs.db"));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        CHECK(forge_database(path, 0) && forge_unchecked(path, changes[i]));
        CHECK(says_text(changes[i], path));
    }
}

FACT(names_and_schemas_steer_no_terminal) {
    static const char *const names[] = {"a\033]0;x\a.db", "a\2332J.db", "a\302\2332J.db",
                                        "a\342\200\256x.db"};
    char path[300];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rdt_text_copy(path, sizeof path, in_scratch(names[i]));
        CHECK(write_bytes(path, "no database", 11));
        CHECK(says_text("a name", path));
    }
    rdt_text_copy(path, sizeof path, in_scratch("theirs.db"));
    CHECK(forge_database(path, 0));
    CHECK(run_sql(path,
                  "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES('table', " ESCAPE(
                      "") ", 'x', 2, 'CREATE TABLE ' || char(155) || " ESCAPE("") ")"));
    CHECK(says_text("a schema", path));
}

/* A schema whose pages lead round and round: each command ends by itself. */
FACT(a_schema_without_end_is_given_up) {
    char path[300];
    rdt_text_copy(path, sizeof path, in_scratch("theirs.db"));
    CHECK(forge_database(path, 512) && forge_schema_maze(path));
    CHECK(says_text("a maze", path));
}

int main(int argc, char **argv) {
    if (argc < 2 || !scratch_begin() || !forge_begin()) return 1;
    command = argv[1];
    int failed = check_run(argc - 1, argv + 1);
    forge_end();
    scratch_end();
    return failed;
}
