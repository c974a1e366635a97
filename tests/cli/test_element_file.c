/* Files and standard input as redtune reduce reads them: whole, or refused. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "cli/element_file.h"

static const char path[] = "test_element_file.data";

static const char array_of_ten[] = "\x93NUMPY\x01\x00\x3c\x00"
                                   "{'descr': '<f4', 'fortran_order': False, 'shape': (10,), } \n"
                                   "0123456789012345678901234567890123456789";
enum { WHOLE = sizeof array_of_ten - 1, HEADER = WHOLE - 40 };

static bool write_file(const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool written = fwrite(bytes, 1, length, file) == length;
    return !fclose(file) && written;
}

/* Lets these bytes, few enough for a pipe, be standard input. */
static bool write_stdin(const void *bytes, size_t length) {
    int ends[2];
    if (pipe(ends)) return false;
    bool written = write(ends[1], bytes, length) == (ssize_t)length;
    close(ends[1]);
    written = dup2(ends[0], STDIN_FILENO) == STDIN_FILENO && written;
    close(ends[0]);
    return written;
}

/* Reads all elements in pieces of capacity bytes, as the library would. */
static redtune_status read_all(const char *name, redtune_dtype raw_dtype, size_t capacity,
                               size_t *total, redtune_error *err) {
    rdt_element_file input;
    char piece[64];
    size_t bytes = 1;
    *total = 0;
    redtune_status status = rdt_element_file_open(name, raw_dtype, &input, err);
    while (!status && bytes) {
        status = rdt_element_file_read(&input, piece, capacity, &bytes, err);
        if (!status) *total += bytes;
    }
    if (!status) status = rdt_element_file_finish(&input, err);
    rdt_element_file_close(&input);
    return status;
}

FACT(a_file_is_read_to_its_end) {
    size_t total;
    redtune_error err;
    CHECK(write_file(array_of_ten, WHOLE));
    for (size_t capacity = 4; capacity <= 64; capacity++) {
        CHECK_OK(read_all(path, REDTUNE_DTYPE_NONE, capacity, &total, &err), err);
        CHECK_INT(total, 40);
    }
    CHECK_OK(read_all(path, REDTUNE_F32, 64, &total, &err), err);
    CHECK_FAILS(read_all(path, REDTUNE_F64, 64, &total, &err), REDTUNE_FILE, err, "f32, not f64");
}

FACT(raw_elements_need_their_dtype) {
    size_t total;
    redtune_error err;
    CHECK(write_file("0123456789abcdef!", 16));
    CHECK_OK(read_all(path, REDTUNE_F64, 17, &total, &err), err);
    CHECK_INT(total, 16);
    CHECK_FAILS(read_all(path, REDTUNE_DTYPE_NONE, 64, &total, &err), REDTUNE_FILE, err, "--dtype");
    CHECK(write_file("0123456789abcdef!", 17));
    CHECK_FAILS(read_all(path, REDTUNE_F64, 64, &total, &err), REDTUNE_FILE, err,
                "its 17 bytes are 2 elements of f64 and 1 byte over");
    CHECK(write_file("", 0));
    CHECK_OK(read_all(path, REDTUNE_I32, 64, &total, &err), err);
    CHECK_INT(total, 0);
}

FACT(big_endian_elements_are_turned_round) {
    char bytes[WHOLE], piece[64];
    size_t total = 0;
    rdt_element_file input;
    redtune_error err;
    memcpy(bytes, array_of_ten, WHOLE);
    *strchr(bytes + 10, '<') = '>';
    CHECK(write_file(bytes, WHOLE));
    CHECK_OK(rdt_element_file_open(path, REDTUNE_F32, &input, &err), err);
    CHECK_OK(rdt_element_file_read(&input, piece, 10, &total, &err), err);
    rdt_element_file_close(&input);
    CHECK_INT(total, 8);
    CHECK(!memcmp(piece, "32107654", 8));
}

FACT(every_truncation_is_refused) {
    size_t total;
    redtune_error err;
    for (size_t length = 0; length < WHOLE; length++) {
        CHECK(write_file(array_of_ten, length));
        CHECK_FAILS(read_all(path, REDTUNE_DTYPE_NONE, 64, &total, &err), REDTUNE_FILE, err,
                    "cannot reduce test_element_file.data: ");
        CHECK(write_stdin(array_of_ten, length));
        CHECK_FAILS(read_all("-", REDTUNE_DTYPE_NONE, 64, &total, &err), REDTUNE_FILE, err,
                    "cannot reduce standard input: ");
    }
}

FACT(what_follows_the_array_is_refused) {
    size_t total;
    redtune_error err;
    char longer[WHOLE + 1];
    memcpy(longer, array_of_ten, WHOLE);
    longer[WHOLE] = 'x';
    CHECK(write_file(longer, sizeof longer));
    CHECK_FAILS(read_all(path, REDTUNE_DTYPE_NONE, 64, &total, &err), REDTUNE_FILE, err, "goes on");
    CHECK_INT(total, 0);
    CHECK(write_stdin(longer, sizeof longer));
    CHECK_FAILS(read_all("-", REDTUNE_DTYPE_NONE, 64, &total, &err), REDTUNE_FILE, err, "goes on");
}

FACT(standard_input_is_either) {
    size_t total;
    redtune_error err;
    CHECK(write_stdin(array_of_ten, WHOLE));
    CHECK_OK(read_all("-", REDTUNE_DTYPE_NONE, 12, &total, &err), err);
    CHECK_INT(total, 40);
    CHECK(write_stdin("0123", 4));
    CHECK_OK(read_all("-", REDTUNE_I32, 12, &total, &err), err);
    CHECK_INT(total, 4);
    CHECK(write_stdin("012345678", 9));
    CHECK_FAILS(read_all("-", REDTUNE_I32, 64, &total, &err), REDTUNE_FILE, err, "only 1 of 4");
}

/* A redirected file may have been read in part before. */
FACT(standard_input_begins_where_it_stands) {
    size_t total;
    redtune_error err;
    CHECK(write_file("skip0123", 8));
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    CHECK(lseek(file, 4, SEEK_SET) == 4 && dup2(file, STDIN_FILENO) == STDIN_FILENO);
    close(file);
    CHECK_OK(read_all("-", REDTUNE_I32, 64, &total, &err), err);
    CHECK_INT(total, 4);
}

FACT(what_is_no_file_is_named) {
    size_t total;
    redtune_error err;
    CHECK_FAILS(read_all("no/such/file", REDTUNE_I32, 64, &total, &err), REDTUNE_FILE, err,
                "cannot reduce no/such/file: No such file or directory");
    CHECK_FAILS(read_all(".", REDTUNE_I32, 64, &total, &err), REDTUNE_FILE, err, "directory");
}

/* Whatever the bytes are, no more than the file's come out. */
FACT(random_damage_is_survived) {
    uint64_t state = 20240229;
    for (int round = 0; round < 3000; round++) {
        char bytes[WHOLE];
        size_t total;
        redtune_error err;
        memcpy(bytes, array_of_ten, WHOLE);
        for (int edit = 0; edit < 2; edit++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            bytes[state % HEADER] = (char)(state >> 32);
        }
        CHECK(write_file(bytes, WHOLE));
        if (!read_all(path, REDTUNE_DTYPE_NONE, 64, &total, &err)) CHECK(total <= WHOLE);
    }
}

int main(int argc, char **argv) {
    int code = check_run(argc, argv);
    remove(path);
    return code;
}
