/* Facts about base/library.h: where a library is looked for, and what is said if it is nowhere. */
#include "unit/database.h"

#include <dlfcn.h>
#include "base/library.h"
#include "base/text.h"
#include "faults.h"

#define REMEDY "put the answer somewhere"

typedef struct answer_table {
    int (*answer)(void);
    void (*other)(void);
} answer_table;

static const char *const names[] = {"librdt-answer.so.2", "librdt-answer.so.1", NULL};
static const rdt_library_search search = {"the answer", "RDT_TEST_ANSWER", names, true, REMEDY};

static const char *const variables[] = {
    "RDT_TEST_ANSWER", "CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "PATH",
};

/* The tree under which a fact builds its folders, and what its last call gave. */
static char root[4096];
static redtune_error err;

/* ---- building folders ------------------------------------------------------------------------ */

static void in_root(const char *path, char out[8192]) { snprintf(out, 8192, "%s/%s", root, path); }

static bool copy_library(const char *from, const char *to, int elf_class) {
    char *data = NULL;
    size_t length = 0;
    if (rdt_file_make_folder_of(to, 0777, &err) ||
        rdt_file_read(from, 1 << 24, &data, &length, &err))
        return false;
    if (elf_class) data[4] = (char)elf_class; /* EI_CLASS */
    FILE *file = fopen(to, "wb");
    bool good = file && fwrite(data, 1, length, file) == length;
    if (file) good = !fclose(file) && good;
    free(data);
    return good;
}

/* Puts the library at a path below the root. */
static bool put(const char *path) {
    char to[8192];
    in_root(path, to);
    return copy_library(RDT_TEST_ANSWER_FILE, to, 0);
}

static void point(const char *variable, const char *path) {
    char to[8192];
    in_root(path, to);
    setenv(variable, to, 1);
}

/* An empty tree and no variable that leads anywhere. The tree has a path of its own each time,
 * since the loader knows what it loaded by its path and never forgets. */
static bool start(void) {
    static int trees;
    snprintf(root, sizeof root, "%s/%d", scratch, trees++);
    if (mkdir(root, 0777)) return false;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    err = (redtune_error){0};
    return true;
}

/* Whether the search finds the file at that path below the root. */
static bool finds(const char *path) {
    rdt_library *library = NULL;
    char want[8192];
    in_root(path, want);
    if (rdt_library_open(&search, &library, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    bool good = !strcmp(rdt_library_path(library), want);
    if (!good) fprintf(stderr, "found %s\n", rdt_library_path(library));
    rdt_library_close(library);
    return good;
}

/* ---- where it is looked for ------------------------------------------------------------------ */

FACT(library_opens_what_the_variable_names) {
    CHECK(start() && put("chosen/any-name.so") && put("cuda/lib64/librdt-answer.so.2"));
    point("RDT_TEST_ANSWER", "chosen/any-name.so");
    point("CUDA_PATH", "cuda");
    CHECK(finds("chosen/any-name.so"));
}

FACT(library_variable_is_final_when_it_fails) {
    rdt_library *library = NULL;
    CHECK(start() && put("cuda/lib64/librdt-answer.so.2"));
    point("RDT_TEST_ANSWER", "nowhere.so");
    point("CUDA_PATH", "cuda");
    CHECK_FAILS(rdt_library_open(&search, &library, &err), REDTUNE_LIBRARY, err,
                "cannot load the answer from RDT_TEST_ANSWER=");
    CHECK_CONTAINS(err.message, "nowhere.so: cannot open shared object file");
    CHECK(!library);
}

FACT(library_empty_variable_counts_as_unset) {
    CHECK(start() && put("cuda/lib64/librdt-answer.so.2"));
    setenv("RDT_TEST_ANSWER", "", 1);
    point("CUDA_PATH", "cuda");
    CHECK(finds("cuda/lib64/librdt-answer.so.2"));
}

/* While that one is not loaded. */
FACT(library_tells_which_library_it_needs_itself) {
    rdt_library *library = NULL;
    char path[8192];
    CHECK(start());
    in_root("cuda/lib/librdt-answer.so.2", path);
    CHECK(copy_library(RDT_TEST_NEEDY_FILE, path, 0));
    point("CUDA_PATH", "cuda");
    CHECK_FAILS(rdt_library_open(&search, &library, &err), REDTUNE_LIBRARY, err,
                "librdt-named.so: cannot open shared object file");
}

FACT(library_prefers_the_one_already_loaded) {
    static const char *const loaded_names[] = {"librdt-answer.so.2", "librdt-named.so", NULL};
    rdt_library_search loaded_search = search;
    loaded_search.names = loaded_names;
    rdt_library *library = NULL;
    CHECK(start() && put("cuda/lib64/librdt-answer.so.2"));
    point("CUDA_PATH", "cuda");
    CHECK(dlopen(RDT_TEST_NAMED_FILE, RTLD_NOW | RTLD_LOCAL));
    CHECK_OK(rdt_library_open(&loaded_search, &library, &err), err);
    bool good = !strcmp(rdt_library_path(library), RDT_TEST_NAMED_FILE);
    rdt_library_close(library);
    CHECK(good);
}

FACT(library_looks_on_the_loaders_path) {
    static const char *const system_names[] = {"librdt-none.so", "libBrokenLocale.so.1", NULL};
    rdt_library_search system_search = search;
    system_search.names = system_names;
    rdt_library *library = NULL;
    CHECK(start());
    if (rdt_library_open(&system_search, &library, &err)) SKIP("no libBrokenLocale.so.1 here");
    bool good = strstr(rdt_library_path(library), "/libBrokenLocale.so.1") != NULL;
    rdt_library_close(library);
    CHECK(good);
}

FACT(library_looks_in_the_toolkit) {
    static const char *const folders[] = {"lib64", "lib", "targets/x86_64-linux/lib"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[256];
        snprintf(path, sizeof path, "cuda/%s/librdt-answer.so.1", folders[i]);
        CHECK(start() && put(path));
        point("CUDA_PATH", "cuda");
        CHECK(finds(path));
        unsetenv("CUDA_PATH");
        point("CUDA_HOME", "cuda");
        CHECK(finds(path));
    }
}

FACT(library_outside_the_toolkit_is_not_looked_for_there) {
    rdt_library_search plain = search;
    plain.toolkit = false;
    rdt_library *library = NULL;
    CHECK(start() && put("cuda/lib64/librdt-answer.so.2"));
    point("CUDA_PATH", "cuda");
    CHECK_FAILS(rdt_library_open(&plain, &library, &err), REDTUNE_LIBRARY, err,
                "cannot find the answer (librdt-answer.so.2, librdt-answer.so.1): looked in the "
                "loader's path; " REMEDY);
}

FACT(library_looks_in_python_wheels) {
    static const char *const file =
        "env/lib/python3.12/site-packages/nvidia/cu13/lib/librdt-answer.so.1";
    static const char *const variable[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    for (size_t i = 0; i < sizeof variable / sizeof *variable; i++) {
        CHECK(start() && put(file));
        point(variable[i], "env");
        CHECK(finds(file));
    }
}

FACT(library_looks_in_the_python_on_the_path) {
    static const char *const file =
        "env/lib/python3.9/dist-packages/nvidia/cuda_nvrtc/lib/librdt-answer.so.1";
    CHECK(start() && put(file) && put("env/bin/python3"));
    char path[8192 + 32];
    snprintf(path, sizeof path, "/nowhere:%s/env/bin:/usr/bin", root);
    setenv("PATH", path, 1);
    CHECK(finds(file));
}

FACT(library_looks_in_pyenvs_pythons) {
    static const char *const file =
        "pyenv/versions/3.11.7/lib/python3.11/site-packages/nvidia/cu13/lib/librdt-answer.so.1";
    CHECK(start() && put(file) && put("pyenv/shims/python3"));
    point("PATH", "pyenv/shims");
    CHECK(finds(file));
}

FACT(library_looks_in_the_users_python) {
    static const char *const file =
        "home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/librdt-answer.so.2";
    CHECK(start() && put(file));
    point("HOME", "home");
    CHECK(finds(file));
}

FACT(library_takes_the_toolkit_before_python) {
    CHECK(start() && put("cuda/lib/librdt-answer.so.1"));
    CHECK(put("env/lib/python3.12/site-packages/nvidia/cu13/lib/librdt-answer.so.2"));
    point("CUDA_HOME", "cuda");
    point("VIRTUAL_ENV", "env");
    CHECK(finds("cuda/lib/librdt-answer.so.1"));
}

FACT(library_takes_the_preferred_name_of_a_folder) {
    CHECK(start() && put("cuda/lib/librdt-answer.so.1") && put("cuda/lib/librdt-answer.so.2"));
    point("CUDA_HOME", "cuda");
    CHECK(finds("cuda/lib/librdt-answer.so.2"));
}

/* ---- what is said ---------------------------------------------------------------------------- */

FACT(library_message_names_file_places_and_remedy) {
    rdt_library *library = NULL;
    CHECK(start());
    point("CUDA_PATH", "cuda");
    point("VIRTUAL_ENV", "env");
    CHECK_FAILS(rdt_library_open(&search, &library, &err), REDTUNE_LIBRARY, err,
                "cannot find the answer (librdt-answer.so.2, librdt-answer.so.1): looked in the "
                "loader's path, ");
    char place[8192 + 64];
    snprintf(place, sizeof place, "%s/cuda, /usr/local/cuda, ", root);
    CHECK_CONTAINS(err.message, place);
    snprintf(place, sizeof place, "Python's nvidia/*/lib in %s/env, ", root);
    CHECK_CONTAINS(err.message, place);
    CHECK_CONTAINS(err.message, "/usr; " REMEDY);
    CHECK(!library);
}

FACT(library_message_keeps_the_remedy_when_places_are_long) {
    rdt_library *library = NULL;
    char place[1000];
    memset(place, 'x', sizeof place - 1);
    place[0] = '/';
    place[sizeof place - 1] = '\0';
    CHECK(start());
    setenv("CUDA_PATH", place, 1);
    CHECK_FAILS(rdt_library_open(&search, &library, &err), REDTUNE_LIBRARY, err, "xxx...; " REMEDY);
    CHECK_INT(strlen(err.message), sizeof err.message - 1);
}

FACT(library_that_does_not_load_is_told_and_passed_over) {
    rdt_library *library = NULL;
    char path[8192];
    CHECK(start());
    in_root("cuda/lib/librdt-answer.so.2", path);
    CHECK(copy_library(RDT_TEST_ANSWER_FILE, path, 1));
    point("CUDA_PATH", "cuda");
    CHECK_FAILS(rdt_library_open(&search, &library, &err), REDTUNE_LIBRARY, err,
                "librdt-answer.so.2: wrong ELF class: ELFCLASS32; looked in ");
    CHECK_CONTAINS(err.message, "cannot load the answer");
    CHECK_CONTAINS(err.message, REMEDY);
    CHECK(put("home/lib/librdt-answer.so.1"));
    point("CUDA_HOME", "home");
    CHECK(finds("home/lib/librdt-answer.so.1"));
}

static redtune_status open_file(const char *path, rdt_library **out) {
    setenv("RDT_TEST_ANSWER", path, 1);
    redtune_status status = rdt_library_open(&search, out, &err);
    unsetenv("RDT_TEST_ANSWER");
    return status;
}

/* The loader maps what the headers name: beyond the end of the file that kills the process. */
FACT(files_cut_short_are_refused) {
    rdt_library *library = NULL;
    char path[8192];
    in_root("short/librdt-answer.so.1", path);
    CHECK(put("short/librdt-answer.so.1"));
    char *data = NULL;
    size_t whole = 0;
    CHECK_OK(rdt_file_read(path, 1 << 24, &data, &whole, &err), err);
    free(data);
    for (size_t length = 64; length < whole / 2; length = length * 3 / 2) {
        CHECK(!truncate(path, (off_t)length));
        CHECK_FAILS(open_file(path, &library), REDTUNE_LIBRARY, err, "cut short");
        CHECK_CONTAINS(err.message, path);
        CHECK(put("short/librdt-answer.so.1"));
    }
    CHECK_OK(open_file(path, &library), err);
    rdt_library_close(library);
}

/* ---- binding --------------------------------------------------------------------------------- */

static bool open_answer(rdt_library **out) { return !open_file(RDT_TEST_ANSWER_FILE, out); }

FACT(library_bind_fills_the_table) {
    static const rdt_library_symbol symbols[] = {
        {"answer", offsetof(answer_table, answer), false},
        {"no_such_function", offsetof(answer_table, other), true},
    };
    rdt_library *library = NULL;
    answer_table table;
    memset(&table, 0xff, sizeof table);
    CHECK(open_answer(&library));
    redtune_status status = rdt_library_bind(library, symbols, 2, &table, &err);
    int answer = status ? 0 : table.answer();
    rdt_library_close(library);
    CHECK_INT(answer, 42);
    CHECK(!table.other);
}

FACT(library_bind_names_what_is_lacking) {
    static const rdt_library_symbol symbols[] = {
        {"answer", offsetof(answer_table, answer), false},
        {"no_such_function", offsetof(answer_table, other), false},
    };
    rdt_library *library = NULL;
    answer_table table = {0};
    CHECK(open_answer(&library));
    redtune_status status = rdt_library_bind(library, symbols, 2, &table, &err);
    rdt_library_close(library);
    CHECK_INT(status, REDTUNE_LIBRARY);
    CHECK_CONTAINS(err.message, "the answer");
    CHECK_CONTAINS(err.message, "has no no_such_function");
    CHECK(!table.answer);
}

/* ---- running out ----------------------------------------------------------------------------- */

FACT(library_survives_each_failed_allocation) {
    static const char *const file =
        "env/lib/python3.12/site-packages/nvidia/cu13/lib/librdt-answer.so.1";
    CHECK(start() && put(file));
    point("VIRTUAL_ENV", "env");
    for (long n = 1; faults_begin(n); n++) {
        rdt_library *library = NULL;
        redtune_status status = rdt_library_open(&search, &library, &err);
        bool failed = faults_end();
        rdt_library_close(library);
        CHECK_INT(status, failed ? REDTUNE_MEMORY : REDTUNE_OK);
        CHECK(!library == failed);
    }
    CHECK(start());
    for (long n = 1; faults_begin(n); n++) {
        rdt_library *library = NULL;
        redtune_status status = rdt_library_open(&search, &library, &err);
        CHECK_INT(status, faults_end() ? REDTUNE_MEMORY : REDTUNE_LIBRARY);
    }
}

FACT(library_close_takes_null) { rdt_library_close(NULL); }

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int rc = check_run(argc, argv);
    scratch_end();
    return rc;
}
