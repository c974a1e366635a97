/* Facts about base/: array.h, clock.h, hash.h, file.h, fail.h and log.h. */
#define _GNU_SOURCE
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "check.h"
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>
#include "folder.h"

static redtune_error err;

/* ---- array ----------------------------------------------------------------------------------- */

FACT(array_keeps_what_it_holds_while_it_grows) {
    int *numbers = NULL;
    size_t capacity = 0;
    bool right = true;
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(RDT_ARRAY_RESERVE(numbers, capacity, (size_t)i + 1, &err), err);
        numbers[i] = i;
    }
    for (int i = 0; i < 1000; i++) right = right && numbers[i] == i;
    free(numbers);
    CHECK(right && capacity >= 1000);
}

FACT(array_stays_as_it_is_where_memory_runs_out) {
    int *numbers = NULL;
    size_t capacity = 0;
    faults_begin(1);
    redtune_status status = RDT_ARRAY_RESERVE(numbers, capacity, 1, &err);
    faults_end();
    CHECK(status == REDTUNE_MEMORY && !numbers && !capacity);
}

/* ---- clock ----------------------------------------------------------------------------------- */

FACT(clock_goes_on_in_each_of_its_units) {
    double begin_ns = rdt_clock_ns();
    int64_t begin_ms = rdt_clock_ms();
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    CHECK(rdt_clock_ns() - begin_ns >= 2e6 && rdt_clock_ms() > begin_ms);
    CHECK(rdt_clock_s() * 1e9 - begin_ns < 60e9);
}

FACT(clock_ends_a_wait_in_time) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    rdt_clock_init_condition(&never);
    double begin_ns = rdt_clock_ns();
    const struct timespec end = rdt_clock_after_ms(5);
    pthread_mutex_lock(&lock);
    int rc = pthread_cond_timedwait(&never, &lock, &end);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
    CHECK(rc == ETIMEDOUT && rdt_clock_ns() - begin_ns >= 5e6);
}

/* ---- hash ------------------------------------------------------------------------------------ */

static void hash_text_of(const char *data, size_t bytes, char out[RDT_HASH_TEXT_BYTES]) {
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add(&hash, data, bytes);
    rdt_hash_text(&hash, out);
}

/* The values are the test vectors of the FNV Internet-Draft's authors. */
FACT(hash_is_fnv1a_of_128_bits) {
    char text[RDT_HASH_TEXT_BYTES];
    hash_text_of("", 0, text);
    CHECK_TEXT(text, "6c62272e07bb014262b821756295c58d");
    hash_text_of("a", 1, text);
    CHECK_TEXT(text, "d228cb696f1a8caf78912b704e4a8964");
    hash_text_of("foobar", 6, text);
    CHECK_TEXT(text, "343e1662793c64bf6f0d3597ba446f18");
}

FACT(hash_may_be_fed_in_pieces) {
    char whole[RDT_HASH_TEXT_BYTES], pieces[RDT_HASH_TEXT_BYTES];
    hash_text_of("foobar", 6, whole);
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add(&hash, "foo", 3);
    rdt_hash_add(&hash, "", 0);
    rdt_hash_add(&hash, "bar", 3);
    rdt_hash_text(&hash, pieces);
    CHECK_TEXT(pieces, whole);
}

FACT(hash_tells_strings_apart_from_their_joint) {
    char first[RDT_HASH_TEXT_BYTES], second[RDT_HASH_TEXT_BYTES];
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, "ab");
    rdt_hash_add_string(&hash, "c");
    rdt_hash_text(&hash, first);
    hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, "a");
    rdt_hash_add_string(&hash, "bc");
    rdt_hash_text(&hash, second);
    CHECK(strcmp(first, second));
}

/* ---- file ------------------------------------------------------------------------------------ */

static bool write_file(const char *path, const char *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data, 1, bytes, file) == bytes;
    return file && !fclose(file) && good;
}

FACT(file_read_gives_every_byte_and_a_nul) {
    char *data = NULL;
    size_t length = 0;
    CHECK(write_file("base-file", "a\0b\n", 4));
    CHECK_OK(rdt_file_read("base-file", 4, &data, &length, &err), err);
    bool right = length == 4 && !memcmp(data, "a\0b\n", 5);
    free(data);
    CHECK(right);
}

FACT(file_read_refuses_more_than_the_limit) {
    char *data = NULL;
    size_t length = 0;
    CHECK(write_file("base-file", "12345", 5));
    CHECK_FAILS(rdt_file_read("base-file", 4, &data, &length, &err), REDTUNE_FILE, err,
                "cannot read base-file: it is larger than 4 bytes");
    CHECK(!data && !length);
}

FACT(file_read_tells_what_the_system_said) {
    char *data = NULL;
    size_t length = 0;
    CHECK_FAILS(rdt_file_read("no/such/file", 4, &data, &length, &err), REDTUNE_FILE, err,
                "cannot read no/such/file: No such file or directory");
    CHECK_INT(err.code, ENOENT);
    CHECK_FAILS(rdt_file_read(".", 4, &data, &length, &err), REDTUNE_FILE, err, "cannot read .: ");
}

/* A read of a pipe that nobody writes to would not return. */
FACT(file_read_refuses_pipes) {
    char *data = NULL;
    size_t length = 0;
    unlink("base-pipe");
    CHECK(!mkfifo("base-pipe", 0600));
    CHECK_FAILS(rdt_file_read("base-pipe", 4, &data, &length, &err), REDTUNE_FILE, err,
                "cannot read base-pipe: it is a named pipe, not a regular file");
    unlink("base-pipe");
}

FACT(file_read_of_an_empty_file_is_an_empty_string) {
    char *data = NULL;
    size_t length = 99;
    CHECK(write_file("base-file", "", 0));
    CHECK_OK(rdt_file_read("base-file", 4, &data, &length, &err), err);
    bool right = length == 0 && data && !*data;
    free(data);
    CHECK(right);
}

/* Nothing of it is waited for, opened for good, or replaced. */
FACT(file_open_takes_regular_files_only) {
    static const struct {
        const char *name, *why;
    } odd[] = {
        {"odd/folder", "it is a directory, not a regular file"},
        {"odd/pipe", "it is a named pipe, not a regular file"},
        {"odd/socket", "it is a socket, not a regular file"},
        {"odd/link", "it is a named pipe, not a regular file"},
        {"odd/loop", "Too many levels of symbolic links"},
        {"odd/device", "it is a device, not a regular file"},
        {"odd/file/x", "Not a directory"},
        {"odd/none/x", "No such file or directory"},
        {"", "No such file or directory"},
    };
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "odd/socket"};
    int file = -1, socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
    char *data = NULL;
    size_t length = 0;
    mkdir("odd", 0777);
    CHECK(!mkdir("odd/folder", 0777) && !mkfifo("odd/pipe", 0666) && !symlink("pipe", "odd/link"));
    CHECK(!symlink("loop", "odd/loop") && write_file("odd/file", "", 0));
    CHECK(!bind(socket_file, (struct sockaddr *)&address, sizeof address) && !close(socket_file));
    const bool has_device = !mknod("odd/device", S_IFCHR | 0666, makedev(1, 3));
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct stat before, after;
        if (!has_device && strstr(odd[i].name, "device")) continue;
        const bool there = !stat(odd[i].name, &before);
        CHECK_TEXT(rdt_file_open(odd[i].name, O_RDWR | O_CREAT, &file), odd[i].why);
        CHECK_CONTAINS(rdt_file_replace(odd[i].name, "x", 1), odd[i].why);
        CHECK(there == !stat(odd[i].name, &after) && (!there || before.st_ino == after.st_ino));
        if (strstr(odd[i].name, "device")) continue; /* empty */
        CHECK_FAILS(rdt_file_read(odd[i].name, 9, &data, &length, &err), REDTUNE_FILE, err,
                    odd[i].why);
    }
    CHECK_CONTAINS(rdt_file_open("/dev/fd/1x", O_RDWR | O_CREAT, &file), "what this program has");
    CHECK(!rdt_file_open("odd/file", O_RDWR, &file) && !close(file));
    folder_remove("odd");
}

/* What <(...) makes. */
FACT(file_read_takes_a_pipe_without_a_name) {
    int ends[2];
    char path[32], *data = NULL;
    size_t length = 0;
    CHECK(!pipe(ends) && write(ends[1], "12", 2) == 2 && !close(ends[1]));
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    CHECK_OK(rdt_file_read(path, 4, &data, &length, &err), err);
    close(ends[0]);
    CHECK_INT(length, 2);
    free(data);
}

static volatile sig_atomic_t signals;

static void count_signal(int signal) {
    (void)signal;
    signals++;
}

/* The program's own handling is left as it is, and its own signals come to it. */
FACT(file_beyond_the_limit_is_an_error) {
    struct rlimit usual;
    char *data = NULL;
    size_t length = 0;
    getrlimit(RLIMIT_FSIZE, &usual);
    const struct rlimit low = {.rlim_cur = 4, .rlim_max = usual.rlim_max};
    CHECK(write_file("base-file", "old", 3) && signal(SIGXFSZ, count_signal) != SIG_ERR);
    setrlimit(RLIMIT_FSIZE, &low);
    const char *why = rdt_file_replace("base-file", "12345", 5);
    setrlimit(RLIMIT_FSIZE, &usual);
    CHECK_TEXT(why, "the file would be too large; raise ulimit -f");
    CHECK_INT(signals, 0);
    CHECK(!raise(SIGXFSZ) && signals == 1 && signal(SIGXFSZ, SIG_DFL) == count_signal);
    CHECK_OK(rdt_file_read("base-file", 4, &data, &length, &err), err);
    CHECK_TEXT(data, "old");
    free(data);
}

FACT(file_exists_where_it_does) {
    CHECK(write_file("base-file", "", 0));
    CHECK(rdt_file_exists("base-file"));
    CHECK(rdt_file_exists("."));
    CHECK(!rdt_file_exists("base-file-not"));
}

FACT(file_makes_the_folders_above_a_path) {
    rmdir("base-a/b");
    rmdir("base-a");
    CHECK_OK(rdt_file_make_folder_of("base-a/b/file", 0777, &err), err);
    CHECK(rdt_file_exists("base-a/b") && !rdt_file_exists("base-a/b/file"));
    CHECK_OK(rdt_file_make_folder_of("base-a/b/file", 0777, &err), err);
    CHECK_OK(rdt_file_make_folder_of("file", 0777, &err), err);
}

FACT(file_names_the_folder_it_cannot_make) {
    CHECK(write_file("base-file", "", 0));
    CHECK_FAILS(rdt_file_make_folder_of("base-file/b/file", 0777, &err), REDTUNE_FILE, err,
                "cannot create folder base-file/b: Not a directory");
}

static bool tuning_path_is(const char *want) {
    char *path = NULL;
    if (rdt_file_tuning_path(NULL, &path, &err)) return false;
    bool same = !strcmp(path, want);
    if (!same) fprintf(stderr, "the path is %s\n", path);
    free(path);
    return same;
}

FACT(file_tuning_path_follows_the_variables) {
    setenv("HOME", "/home/ada", 1);
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("REDTUNE_DB", "here.db", 1);
    CHECK(tuning_path_is("here.db"));
    setenv("REDTUNE_DB", "", 1);
    CHECK(tuning_path_is("/data/redtune/tuning.db"));
    unsetenv("REDTUNE_DB");
    setenv("XDG_DATA_HOME", "relative", 1);
    CHECK(tuning_path_is("/home/ada/.local/share/redtune/tuning.db"));
    unsetenv("XDG_DATA_HOME");
    CHECK(tuning_path_is("/home/ada/.local/share/redtune/tuning.db"));
}

FACT(file_kernels_path_follows_the_variables) {
    char *path = NULL;
    setenv("HOME", "/home/ada", 1);
    setenv("XDG_CACHE_HOME", "/cache", 1);
    CHECK_OK(rdt_file_kernels_path(&path, &err), err);
    bool chosen = !strcmp(path, "/cache/redtune/kernels.db");
    free(path);
    unsetenv("XDG_CACHE_HOME");
    CHECK_OK(rdt_file_kernels_path(&path, &err), err);
    bool usual = !strcmp(path, "/home/ada/.cache/redtune/kernels.db");
    free(path);
    CHECK(chosen && usual);
}

FACT(file_without_a_home_says_what_to_set) {
    char *path = NULL;
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    CHECK_FAILS(rdt_file_kernels_path(&path, &err), REDTUNE_FILE, err,
                "neither XDG_CACHE_HOME nor HOME");
    CHECK(!path);
}

/* ---- fail and log ---------------------------------------------------------------------------- */

FACT(fail_records_and_returns) {
    redtune_error error = {0};
    CHECK_INT(rdt_fail(&error, REDTUNE_DEVICE, 700, "cannot launch %s", "it"), REDTUNE_DEVICE);
    CHECK_INT(error.status, REDTUNE_DEVICE);
    CHECK_INT(error.code, 700);
    CHECK_TEXT(error.message, "cannot launch it");
}

FACT(fail_takes_no_error) {
    CHECK_INT(rdt_fail(NULL, REDTUNE_FILE, 1, "%d", 1), REDTUNE_FILE);
    CHECK_INT(rdt_fail_within(NULL, REDTUNE_FILE, "%d", 1), REDTUNE_FILE);
    CHECK_INT(rdt_fail_memory(NULL, 1), REDTUNE_MEMORY);
}

FACT(fail_within_puts_the_context_in_front) {
    redtune_error error = {0};
    rdt_fail(&error, REDTUNE_COMPILER, 6, "cannot compile");
    CHECK_INT(rdt_fail_within(&error, REDTUNE_COMPILER, "sum of %d f32", 7), REDTUNE_COMPILER);
    CHECK_TEXT(error.message, "sum of 7 f32: cannot compile");
    CHECK_INT(error.code, 6);
}

FACT(status_names_are_never_null) {
    for (int status = 0; status <= REDTUNE_TEAM + 1; status++)
        CHECK(redtune_status_name((redtune_status)status));
    CHECK_TEXT(redtune_status_name(REDTUNE_INVALID), "invalid");
    CHECK_TEXT(redtune_status_name((redtune_status)-1), "unknown");
}

FACT(versions_are_the_projects) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", REDTUNE_VERSION_MAJOR, REDTUNE_VERSION_MINOR,
             REDTUNE_VERSION_PATCH);
    CHECK_TEXT(text, RDT_TEST_VERSION);
    CHECK_TEXT(REDTUNE_VERSION, RDT_TEST_VERSION);
    CHECK_INT(redtune_version(), REDTUNE_VERSION_NUMBER);
    CHECK_INT(REDTUNE_VERSION_NUMBER,
              REDTUNE_VERSION_MAJOR * 10000 + REDTUNE_VERSION_MINOR * 100 + REDTUNE_VERSION_PATCH);
}

static void write_line(void *user, redtune_log_level level, const char *line) {
    rdt_text_addf(user, "%d:%s;", (int)level, line);
}

FACT(log_makes_only_the_lines_asked_for) {
    rdt_text lines = {0};
    rdt_log log = {write_line, &lines, REDTUNE_LOG_INFO};
    rdt_log_write(&log, REDTUNE_LOG_WARNING, "a%d", 1);
    rdt_log_write(&log, REDTUNE_LOG_INFO, "b");
    rdt_log_write(&log, REDTUNE_LOG_DEBUG, "c");
    rdt_log_write(NULL, REDTUNE_LOG_WARNING, "d");
    rdt_log_write(&(rdt_log){0}, REDTUNE_LOG_WARNING, "e");
    bool right = lines.data && !strcmp(lines.data, "1:a1;2:b;");
    rdt_text_free(&lines);
    CHECK(right);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
