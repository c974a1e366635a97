/* Facts about importing files that somebody made to do harm: each is refused, quickly, with a
 * reason in plain text, and the local database stays as it was, bit for bit. Here: files whose
 * bytes are wrong, or that are no files. */
#define _GNU_SOURCE
#include "refusal.h"

#include <sys/socket.h>
#include <sys/un.h>
#include "redtune/records.h"

/* ---- honest files ---------------------------------------------------------------------------- */

FACT(honest_files_are_taken) {
    static const int pages[] = {0, 512, 1024, 65536};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        CHECK(forge_database(in_scratch("theirs.db"), pages[i]));
        CHECK(is_taken(in_scratch("theirs.db")));
    }
    CHECK(forge_lines(in_scratch("theirs.jsonl")));
    CHECK(is_taken(in_scratch("theirs.jsonl")));
}

/* ---- hostile bytes --------------------------------------------------------------------------- */

/* Where the header's fields lie. */
enum {
    PAGE_BYTES_AT = 16,
    FORMAT_AT = 18,
    RESERVED_AT = 20,
    FRACTION_AT = 21,
    PAGE_COUNT_AT = 28,
    FREE_FIRST_AT = 32,
    FREE_COUNT_AT = 36,
    ENCODING_AT = 56,
};

static uint32_t root_of(const char *path, const char *name) {
    char text[128];
    snprintf(text, sizeof text, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
    return (uint32_t)ask_sql(path, text);
}

static bool cut(const char *path, size_t bytes) { return !truncate(path, (off_t)bytes); }

static bool cut_to_no_byte(const char *path) { return cut(path, 0); }
static bool cut_within_the_header(const char *path) { return cut(path, 50); }
static bool cut_after_the_header(const char *path) { return cut(path, 100); }
static bool cut_after_a_page(const char *path) { return cut(path, 4096); }
static bool cut_within_a_page(const char *path) { return cut(path, 3 * 4096 + 1000); }
static bool give_it_a_page_of_zeros(const char *path) {
    struct stat info;
    return !stat(path, &info) && cut(path, (size_t)info.st_size + 4096);
}
static bool zero_its_second_half(const char *path) {
    static const char zeros[1 << 20];
    struct stat info;
    if (stat(path, &info)) return false;
    size_t half = (size_t)info.st_size / 2;
    return half <= sizeof zeros && forge_patch(path, half, zeros, (size_t)info.st_size - half);
}
static bool zero_its_last_page(const char *path) {
    static const char zeros[4096];
    struct stat info;
    return !stat(path, &info) && forge_patch(path, (size_t)info.st_size - 4096, zeros, 4096);
}
static bool make_it_a_hole(const char *path) { return cut(path, 0) && cut(path, 16u << 20); }
/* A header that agrees with 16 MB of nothing. */
static bool make_it_hollow(const char *path) {
    return cut(path, 4096) && cut(path, 16u << 20) &&
           forge_patch_u32(path, PAGE_COUNT_AT, (16u << 20) / 4096);
}
static bool make_it_huge(const char *path) { return !truncate(path, (off_t)1 << 40); }
static bool claim_wal_for_writing(const char *path) {
    return forge_patch(path, FORMAT_AT, "\2", 1);
}
static bool claim_wal_for_reading(const char *path) {
    return forge_patch(path, FORMAT_AT + 1, "\2", 1);
}
static bool claim_a_future_format(const char *path) {
    return forge_patch(path, FORMAT_AT, "\3\3", 2);
}
static bool claim_four_thousand_million_pages(const char *path) {
    return forge_patch_u32(path, PAGE_COUNT_AT, UINT32_MAX);
}
static bool claim_no_pages(const char *path) { return forge_patch_u32(path, PAGE_COUNT_AT, 0); }
static bool claim_pages_of_64k(const char *path) {
    return forge_patch(path, PAGE_BYTES_AT, "\0\1", 2);
}
static bool claim_pages_of_512(const char *path) {
    return forge_patch(path, PAGE_BYTES_AT, "\2\0", 2);
}
static bool claim_pages_of_0(const char *path) {
    return forge_patch(path, PAGE_BYTES_AT, "\0\0", 2);
}
static bool claim_pages_of_3(const char *path) {
    return forge_patch(path, PAGE_BYTES_AT, "\0\3", 2);
}
static bool reserve_all_of_a_page(const char *path) {
    return forge_patch(path, RESERVED_AT, "\377", 1);
}
static bool claim_another_fraction(const char *path) {
    return forge_patch(path, FRACTION_AT, "\0\0\0", 3);
}
static bool claim_no_such_encoding(const char *path) {
    return forge_patch_u32(path, ENCODING_AT, 7);
}
static bool claim_utf16(const char *path) { return forge_patch_u32(path, ENCODING_AT, 2); }
static bool loop_its_free_pages(const char *path) {
    struct stat info;
    if (!run_sql(path, "CREATE TABLE t AS SELECT * FROM measurement, gpu; DROP TABLE t") ||
        stat(path, &info))
        return false;
    uint32_t trunk = (uint32_t)ask_sql(path, "PRAGMA page_count"); /* the last page, likely free */
    return forge_patch_u32(path, FREE_FIRST_AT, trunk) &&
           forge_patch_u32(path, FREE_COUNT_AT, 1000000) &&
           forge_patch_u32(path, (trunk - 1) * (size_t)4096, trunk) &&
           forge_patch_u32(path, (trunk - 1) * (size_t)4096 + 4, UINT32_MAX);
}
static bool free_a_page_in_use(const char *path) {
    uint32_t page = root_of(path, "measurement");
    return forge_patch_u32(path, FREE_FIRST_AT, page) && forge_patch_u32(path, FREE_COUNT_AT, 1);
}
static bool make_a_child_its_own(const char *path) {
    uint32_t page = root_of(path, "measurement");
    return forge_patch_u32(path, (page - 1) * (size_t)4096 + 8, page);
}
static bool make_the_first_page_a_child(const char *path) {
    uint32_t page = root_of(path, "measurement");
    return forge_patch_u32(path, (page - 1) * (size_t)4096 + 8, 1);
}
static bool point_a_cell_past_its_page(const char *path) {
    return forge_patch(path, (root_of(path, "gpu") - 1) * (size_t)4096 + 8, "\377\377", 2);
}
static bool point_a_cell_at_its_header(const char *path) {
    return forge_patch(path, (root_of(path, "gpu") - 1) * (size_t)4096 + 8, "\0\0", 2);
}
static bool count_cells_that_are_not(const char *path) {
    return forge_patch(path, (root_of(path, "gpu") - 1) * (size_t)4096 + 3, "\377\377", 2);
}
static bool change_a_page_into_an_index(const char *path) {
    return forge_patch(path, (root_of(path, "gpu") - 1) * (size_t)4096, "\12", 1);
}

static size_t offset_of(const char *path, const char *what, size_t bytes) {
    size_t length = 0;
    char *whole = read_bytes(path, &length);
    char *found = whole ? memmem(whole, length, what, bytes) : NULL;
    size_t at = found ? (size_t)(found - whole) : 0;
    free(whole);
    return at;
}

/* The cell of the GPU's row begins with its length, in a byte; the name follows its header. */
static bool claim_a_row_of_two_gigabytes(const char *path) {
    size_t at = offset_of(path, "NVIDIA H200", 11);
    return at && forge_patch(path, at - 11, "\207\377\377\377\177", 5);
}
static bool claim_a_text_of_two_gigabytes(const char *path) {
    size_t at = offset_of(path, "NVIDIA H200", 11);
    return at && forge_patch(path, at - 9, "\217\377\377\377\177", 5);
}

/* With pages of 512 bytes, the text of the schema goes on on other pages, each of which begins with
 * the number of the next. */
static bool loop_an_overflow(const char *path) {
    if (!forge_database(path, 512)) return false;
    size_t at = offset_of(path, "  nvrtc_version INTEGER NOT NULL", 20);
    size_t page = at / 512 + 1;
    return at > 512 && forge_patch_u32(path, (page - 1) * 512, (uint32_t)page);
}
static bool share_an_overflow(const char *path) {
    if (!forge_database(path, 512)) return false;
    size_t from = offset_of(path, "  memory_mhz INTEGER CHECK", 20) / 512 * 512;
    size_t to = offset_of(path, "  nvrtc_version INTEGER NOT NULL", 20) / 512 * 512;
    return from > 0 && to > 0 && from != to &&
           forge_patch_u32(path, from, (uint32_t)(to / 512 + 1));
}

static bool make_a_maze_of_the_schema(const char *path) {
    return forge_database(path, 512) && forge_schema_maze(path);
}
/* The same of measurements; the cell is none of theirs, which only who reads it would see. */
static bool make_a_maze_of_the_rows(const char *path) {
    static const unsigned char cell[] = {3, 1, 2, 1, 0};
    return forge_database(path, 512) &&
           forge_maze(path, root_of(path, "measurement"), cell, sizeof cell);
}

static bool put_beside(const char *path, const char *suffix) {
    char name[300];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return write_bytes(name, "\331\325\005\371 " FORGE_MARK, 10);
}
static bool put_a_journal_beside(const char *path) { return put_beside(path, "-journal"); }
static bool put_a_log_beside(const char *path) { return put_beside(path, "-wal"); }
static bool put_a_log_index_beside(const char *path) { return put_beside(path, "-shm"); }
static bool put_a_dangling_link_beside(const char *path) {
    char name[300];
    snprintf(name, sizeof name, "%s-journal", path);
    return !symlink("/nowhere/at/all", name);
}
static bool make_it_a_pipe(const char *path) { return !unlink(path) && !mkfifo(path, 0666); }
static bool make_it_a_folder(const char *path) { return !unlink(path) && !mkdir(path, 0777); }
static bool make_it_a_socket(const char *path) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    bool good = !unlink(path) && !bind(end, (const struct sockaddr *)&name, sizeof name);
    close(end);
    return good;
}
static bool link_it(const char *path, const char *to) {
    return !unlink(path) && !symlink(to, path);
}
static bool link_it_to_itself(const char *path) { return link_it(path, path); }
static bool link_it_to_zeros(const char *path) { return link_it(path, "/dev/zero"); }
static bool link_it_to_randomness(const char *path) { return link_it(path, "/dev/urandom"); }
static bool link_it_to_nothing(const char *path) { return link_it(path, "/nowhere/" FORGE_MARK); }
static bool link_it_to_memory(const char *path) { return link_it(path, "/proc/self/mem"); }
static bool remove_it(const char *path) { return !unlink(path); }
static bool gzip_it(const char *path) { return forge_patch(path, 0, "\037\213\010\0", 4); }
static bool make_it_text(const char *path) { return write_bytes(path, "block=256,vec=4\n", 16); }

#define LENGTH "its length"
static const struct {
    const char *name, *reason;
    bool (*make)(const char *path);
} files[] = {
#define FILE_OF(make, reason)                                                                      \
    { #make, reason, make }
    FILE_OF(cut_to_no_byte, "not an SQLite file"),
    FILE_OF(cut_within_the_header, "not an SQLite file"),
    FILE_OF(cut_after_the_header, LENGTH),
    FILE_OF(cut_after_a_page, LENGTH),
    FILE_OF(cut_within_a_page, LENGTH),
    FILE_OF(give_it_a_page_of_zeros, LENGTH),
    FILE_OF(zero_its_second_half, ""),
    FILE_OF(zero_its_last_page, "damaged"),
    FILE_OF(make_it_a_hole, "neither an SQLite file"),
    FILE_OF(make_it_hollow, ""),
    FILE_OF(make_it_huge, "larger than"),
    FILE_OF(claim_wal_for_writing, "WAL"),
    FILE_OF(claim_wal_for_reading, "WAL"),
    FILE_OF(claim_a_future_format, "WAL"),
    FILE_OF(claim_four_thousand_million_pages, LENGTH),
    FILE_OF(claim_no_pages, LENGTH),
    FILE_OF(claim_pages_of_64k, LENGTH),
    FILE_OF(claim_pages_of_512, LENGTH),
    FILE_OF(claim_pages_of_0, LENGTH),
    FILE_OF(claim_pages_of_3, LENGTH),
    FILE_OF(reserve_all_of_a_page, ""),
    FILE_OF(claim_another_fraction, ""),
    FILE_OF(claim_no_such_encoding, "UTF-8"),
    FILE_OF(claim_utf16, "UTF-8"),
    FILE_OF(loop_its_free_pages, "damaged"),
    FILE_OF(free_a_page_in_use, "damaged"),
    FILE_OF(make_a_child_its_own, "damaged"),
    FILE_OF(make_the_first_page_a_child, "damaged"),
    FILE_OF(point_a_cell_past_its_page, "damaged"),
    FILE_OF(point_a_cell_at_its_header, "damaged"),
    FILE_OF(count_cells_that_are_not, "damaged"),
    FILE_OF(change_a_page_into_an_index, "damaged"),
    FILE_OF(claim_a_row_of_two_gigabytes, "damaged"),
    FILE_OF(claim_a_text_of_two_gigabytes, "damaged"),
    FILE_OF(loop_an_overflow, ""),
    FILE_OF(share_an_overflow, ""),
    FILE_OF(make_a_maze_of_the_schema, "takes too long"),
    FILE_OF(make_a_maze_of_the_rows, "damaged"),
    FILE_OF(put_a_journal_beside, "-journal"),
    FILE_OF(put_a_log_beside, "-wal"),
    FILE_OF(put_a_log_index_beside, "-shm"),
    FILE_OF(put_a_dangling_link_beside, "-journal"),
    FILE_OF(make_it_a_pipe, "not a regular file"),
    FILE_OF(make_it_a_folder, "not a regular file"),
    FILE_OF(make_it_a_socket, "not a regular file"),
    FILE_OF(link_it_to_itself, "symbolic links"),
    FILE_OF(link_it_to_zeros, "not a regular file"),
    FILE_OF(link_it_to_randomness, "not a regular file"),
    FILE_OF(link_it_to_nothing, "No such file"),
    FILE_OF(link_it_to_memory, ""),
    FILE_OF(remove_it, "No such file"),
    FILE_OF(gzip_it, "gunzip"),
    FILE_OF(make_it_text, "neither"),
#undef FILE_OF
};

FACT(hostile_files_are_refused) {
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    CHECK(begin_local());
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = theirs;
        CHECK(forge_database(path, 0));
        if (!files[i].make(path)) fprintf(stderr, "cannot %s\n", files[i].name);
        CHECK(files[i].make == remove_it || !access(path, F_OK) || files[i].reason[0] == 'N' ||
              files[i].make == link_it_to_itself);
        CHECK(is_refused(files[i].name, path, files[i].reason, 0));
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            char beside[300];
            snprintf(beside, sizeof beside, "%s%s", path, suffixes[k]);
            remove(beside);
        }
    }
}

/* ---- hostile names --------------------------------------------------------------------------- */

FACT(names_of_files_are_kept_as_plain_text) {
    char source[256], path[300];
    uint64_t removed = 0;
    redtune_import_counts report;
    rdt_text_copy(path, sizeof path, in_scratch("\033]0;" FORGE_MARK "\a\2332J\n.db"));
    unlink(in_scratch("other.db"));
    CHECK(forge_database(path, 0));
    CHECK_OK(forge_import(in_scratch("other.db"), path, &report, &err), err);
    CHECK_INT(ask_sql(in_scratch("other.db"),
                      "SELECT count(*) FROM import WHERE source = '?]0;" FORGE_MARK "??2J?.db'"),
              1);
    CHECK(run_sql(in_scratch("other.db"), "UPDATE import SET source = " ESCAPE));
    CHECK_OK(redtune_undo(in_scratch("other.db"), source, &removed, &err), err);
    CHECK(rdt_text_is_plain(source) && strstr(source, FORGE_MARK));
    CHECK_INT(removed, report.added);
}

int main(int argc, char **argv) { return run_facts(argc, argv); }
