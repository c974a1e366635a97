/* Element file: the elements of a file or of standard input, as redtune_reduce_input reads them. */
#define _POSIX_C_SOURCE 200809L
#include "cli/element_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/message.h"
#include "cli/open_file.h"

static const char *shown_name(const rdt_element_file *input) {
    if (!*input->path) return "''";
    return strcmp(input->path, "-") ? input->path : "standard input";
}

/* The static functions below record a bare reason; the public ones name the file. */
static redtune_status refuse_input(const rdt_element_file *input, redtune_error *err) {
    return rdt_message_within(err, "cannot reduce %s", shown_name(input));
}

static redtune_status cannot_read_input(int reason, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_FILE, reason, "%s", rdt_message_reason(reason));
}

/* ---- bytes --------------------------------------------------------------------------------- */

/* Fills buffer as far as the file goes: *bytes is less than capacity at its end only. */
static redtune_status read_fully(rdt_element_file *input, void *buffer, size_t capacity,
                                 size_t *bytes, redtune_error *err) {
    unsigned char *out = buffer;
    size_t length = 0;
    while (length < capacity && input->ahead_begin < input->ahead_end)
        out[length++] = input->ahead[input->ahead_begin++];
    while (length < capacity) {
        ssize_t more = read(input->file, out + length, capacity - length);
        if (more == 0) break;
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return cannot_read_input(errno, err);
        length += (size_t)more;
    }
    *bytes = length;
    return REDTUNE_OK;
}

/* How many bytes of a regular file are still to be read; false for pipes and devices. */
static bool bytes_ahead(const rdt_element_file *input, uint64_t *bytes) {
    struct stat facts;
    off_t at = lseek(input->file, 0, SEEK_CUR);
    if (at < 0 || fstat(input->file, &facts) || !S_ISREG(facts.st_mode)) return false;
    uint64_t rest = facts.st_size > at ? (uint64_t)(facts.st_size - at) : 0;
    *bytes = rest + (input->ahead_end - input->ahead_begin);
    return true;
}

/* ---- an .npy file -------------------------------------------------------------------------- */

static redtune_status ends_early(const char *where, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_FILE, 0, "it is truncated: it ends within %s", where);
}

static redtune_status read_npy_header(rdt_element_file *input, rdt_npy *npy, redtune_error *err) {
    unsigned char prefix[RDT_NPY_PREFIX_BYTES];
    size_t bytes = 0, prefix_bytes = 0, header_bytes = 0;
    redtune_status status = read_fully(input, prefix, 8, &bytes, err);
    if (status) return status;
    if (bytes < 8) return ends_early("the .npy version", err);
    if ((status = rdt_npy_prefix(prefix, &prefix_bytes, err))) return status;
    if ((status = read_fully(input, prefix + 8, prefix_bytes - 8, &bytes, err))) return status;
    if (bytes < prefix_bytes - 8) return ends_early("the .npy header's length", err);
    if ((status = rdt_npy_length(prefix, prefix_bytes, &header_bytes, err))) return status;

    char *header = malloc(header_bytes + 1);
    if (!header)
        return rdt_message_set(err, REDTUNE_MEMORY, 0, "cannot allocate %zu bytes of host memory",
                               header_bytes);
    status = read_fully(input, header, header_bytes, &bytes, err);
    if (!status && bytes < header_bytes) status = ends_early("the .npy header", err);
    if (!status) status = rdt_npy_parse(header, header_bytes, npy, err);
    free(header);
    return status;
}

/* Bytes without a dtype, or an 'f1', as which NumPy saves those of ml_dtypes: the caller says what
 * they are, where it is asked for a dtype. */
static redtune_status take_bytes(const rdt_npy *npy, redtune_dtype raw_dtype, bool is_asked,
                                 redtune_dtype *dtype, redtune_error *err) {
    const bool halves = npy->item_bytes == 2;
    const bool fits =
        halves ? raw_dtype == REDTUNE_BF16 : raw_dtype == REDTUNE_E4M3 || raw_dtype == REDTUNE_E5M2;
    const char *its = halves ? "'V2'" : "'V1' or 'f1'";
    *dtype = raw_dtype;
    if (fits) return REDTUNE_OK;
    if (!is_asked)
        return rdt_message_set(err, REDTUNE_UNSUPPORTED, 0,
                               "its elements are NumPy's %s: no integers, and no bools", its);
    return rdt_message_set(err, REDTUNE_FILE, 0,
                           "its elements are NumPy's %s, as which it saves those of ml_dtypes; "
                           "give --dtype %s",
                           its, halves ? "bf16" : "e4m3 or e5m2");
}

/* NumPy's "<f4" is redtune's "f32": the names follow one rule, so the library's list decides.
 * NumPy's bool is a byte, and true where it is not 0. */
static redtune_status find_dtype(const rdt_npy *npy, redtune_dtype raw_dtype, bool is_asked,
                                 redtune_dtype *dtype, redtune_error *err) {
    char name[16], known[128] = "";
    if (npy->kind == 'V') return take_bytes(npy, raw_dtype, is_asked, dtype, err);
    snprintf(name, sizeof name, "%c%zu", npy->kind == 'b' ? 'u' : npy->kind, npy->item_bytes * 8);
    if (redtune_dtype_find(name, dtype, NULL) == REDTUNE_OK) return REDTUNE_OK;
    redtune_dtype_info each;
    for (int i = 1; redtune_dtype_get((redtune_dtype)i, &each, NULL) == REDTUNE_OK; i++)
        if (each.npy == (redtune_dtype)i)
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
                     *known ? ", " : "", each.name);
    return rdt_message_set(err, REDTUNE_UNSUPPORTED, 0,
                           "its elements are NumPy's '%c%zu'; redtune reduces %s", npy->kind,
                           npy->item_bytes, known);
}

static redtune_status goes_on(redtune_error *err) {
    return rdt_message_set(err, REDTUNE_FILE, 0,
                           "it goes on after the array that its .npy header describes; redtune "
                           "reduces files of one array");
}

static redtune_status open_npy(rdt_element_file *input, redtune_dtype raw_dtype, bool is_asked,
                               redtune_error *err) {
    rdt_npy npy;
    uint64_t held = 0;
    redtune_status status = read_npy_header(input, &npy, err);
    if (status) return status;
    if ((status = find_dtype(&npy, raw_dtype, is_asked, &input->dtype, err))) return status;
    if (raw_dtype && raw_dtype != input->dtype)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "its .npy header says %s, not %s; leave --dtype out",
                               redtune_dtype_name(input->dtype), redtune_dtype_name(raw_dtype));
    input->is_npy = true;
    input->fortran_order = npy.fortran_order;
    input->big_endian = npy.big_endian;
    input->is_bool = npy.kind == 'b';
    input->count = npy.count;
    input->rank = npy.rank;
    memcpy(input->shape, npy.shape, sizeof input->shape);
    input->left_bytes = npy.count * npy.item_bytes;
    if (!bytes_ahead(input, &held)) return REDTUNE_OK;
    if (held > input->left_bytes) return goes_on(err);
    if (held < input->left_bytes)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "it is truncated: %" PRIu64 " bytes of elements, where its .npy "
                               "header promises %" PRIu64,
                               held, input->left_bytes);
    return REDTUNE_OK;
}

/* ---- raw elements -------------------------------------------------------------------------- */

static redtune_status over(redtune_dtype dtype, uint64_t bytes, redtune_error *err) {
    size_t element_bytes = redtune_dtype_bytes(dtype);
    uint64_t rest = bytes % element_bytes;
    return rdt_message_set(
        err, REDTUNE_FILE, 0,
        "its %" PRIu64 " bytes are %" PRIu64 " elements of %s and %" PRIu64 " byte%s over", bytes,
        bytes / element_bytes, redtune_dtype_name(dtype), rest, rest == 1 ? "" : "s");
}

static redtune_status open_raw(rdt_element_file *input, redtune_dtype raw_dtype, size_t first_bytes,
                               redtune_error *err) {
    uint64_t held = 0;
    if (!raw_dtype)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "it is %s; for raw elements give --dtype, such as --dtype f32",
                               first_bytes ? "no .npy file" : "empty");
    input->dtype = raw_dtype;
    if (!bytes_ahead(input, &held)) return REDTUNE_OK;
    if (held % redtune_dtype_bytes(raw_dtype)) return over(raw_dtype, held, err);
    input->count = held / redtune_dtype_bytes(raw_dtype);
    return REDTUNE_OK;
}

/* ---- the input ----------------------------------------------------------------------------- */

static redtune_status open_file(const char *path, rdt_element_file *input, redtune_error *err) {
    struct stat facts;
    *input = (rdt_element_file){.path = path, .file = STDIN_FILENO};
    if (strcmp(path, "-")) {
        input->file = -1;
        return rdt_open_file_read(path, &input->file, err);
    }
    if (fstat(input->file, &facts)) return cannot_read_input(errno, err);
    return S_ISDIR(facts.st_mode) ? cannot_read_input(EISDIR, err) : REDTUNE_OK;
}

/* is_asked: whether the file's dtype is asked for, where it does not say it. */
static redtune_status open_any(const char *path, redtune_dtype raw_dtype, bool is_asked,
                               rdt_element_file *input, redtune_error *err) {
    size_t bytes = 0;
    redtune_status status = open_file(path, input, err);
    if (!status) status = read_fully(input, input->ahead, RDT_NPY_MAGIC_BYTES, &bytes, err);
    if (!status) {
        input->ahead_end = bytes;
        status = rdt_npy_match(input->ahead, bytes) ? open_npy(input, raw_dtype, is_asked, err)
                                                    : open_raw(input, raw_dtype, bytes, err);
    }
    return status ? refuse_input(input, err) : REDTUNE_OK;
}

redtune_status rdt_element_file_open(const char *path, redtune_dtype raw_dtype,
                                     rdt_element_file *input, redtune_error *err) {
    return open_any(path, raw_dtype, true, input, err);
}

redtune_status rdt_element_file_open_npy(const char *what, const char *path,
                                         rdt_element_file *input, redtune_error *err) {
    redtune_status status = open_any(path, REDTUNE_DTYPE_NONE, false, input, err);
    if (status && input->file >= 0 && input->ahead_end && !input->is_npy &&
        !rdt_npy_match(input->ahead, input->ahead_end))
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "cannot read %s from %.300s: it is no .npy file", what, path);
    return status;
}

void rdt_element_file_close(rdt_element_file *input) {
    if (input->file > STDIN_FILENO) close(input->file);
    input->file = -1;
}

redtune_status rdt_element_file_skip(rdt_element_file *input, uint64_t count, redtune_error *err) {
    const uint64_t bytes = count * redtune_dtype_bytes(input->dtype);
    const uint64_t held = input->ahead_end - input->ahead_begin;
    const uint64_t passed = bytes < held ? bytes : held;
    uint64_t ahead = 0;
    redtune_status status = REDTUNE_OK;
    if (!bytes_ahead(input, &ahead) || ahead < bytes)
        status = rdt_message_set(err, REDTUNE_FILE, 0,
                                 "it is no file whose parts may be read by themselves");
    else if (lseek(input->file, (off_t)(bytes - passed), SEEK_CUR) < 0)
        status = cannot_read_input(errno, err);
    if (status) return refuse_input(input, err);
    input->ahead_begin += (size_t)passed;
    if (input->is_npy) input->left_bytes -= bytes;
    return REDTUNE_OK;
}

static redtune_status promised_more(const rdt_element_file *input, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_FILE, 0,
                           "it is truncated: it ends %" PRIu64 " bytes before the end of its array",
                           input->left_bytes);
}

/* Reverses the bytes of each element. */
static void swap_bytes(unsigned char *bytes, size_t length, size_t element_bytes) {
    for (size_t begin = 0; begin < length; begin += element_bytes)
        for (size_t i = 0; i < element_bytes / 2; i++) {
            unsigned char *low = &bytes[begin + i], *high = &bytes[begin + element_bytes - 1 - i];
            unsigned char kept = *low;
            *low = *high;
            *high = kept;
        }
}

redtune_status rdt_element_file_read(void *user, void *buffer, size_t capacity, size_t *bytes,
                                     redtune_error *err) {
    rdt_element_file *input = user;
    size_t element_bytes = redtune_dtype_bytes(input->dtype);
    size_t wanted = capacity - capacity % element_bytes, length;
    if (input->is_npy && wanted > input->left_bytes) wanted = (size_t)input->left_bytes;
    redtune_status status = read_fully(input, buffer, wanted, &length, err);
    if (!status && input->is_npy) input->left_bytes -= length;
    if (!status && input->is_npy && length < wanted) status = promised_more(input, err);
    if (!status && length % element_bytes)
        status = rdt_message_set(
            err, REDTUNE_FILE, 0, "its last element of %s has only %zu of %zu bytes",
            redtune_dtype_name(input->dtype), length % element_bytes, element_bytes);
    if (status) return refuse_input(input, err);
    if (input->big_endian) swap_bytes(buffer, length, element_bytes);
    for (size_t i = 0; input->is_bool && i < length; i++)
        ((bool *)buffer)[i] = ((unsigned char *)buffer)[i] != 0;
    *bytes = length;
    return REDTUNE_OK;
}

redtune_status rdt_element_file_finish(rdt_element_file *input, redtune_error *err) {
    unsigned char next;
    size_t length = 0;
    redtune_status status = REDTUNE_OK;
    if (input->is_npy && input->left_bytes) status = promised_more(input, err);
    if (!status) status = read_fully(input, &next, 1, &length, err);
    if (!status && length && input->is_npy) status = goes_on(err);
    if (!status && length)
        status = rdt_message_set(err, REDTUNE_FILE, 0, "it grew while it was read");
    return status ? refuse_input(input, err) : REDTUNE_OK;
}
