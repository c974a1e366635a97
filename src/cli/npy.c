/* Npy: the header of a NumPy .npy file, versions 1.0, 2.0 and 3.0. */
#include "cli/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/message.h"

enum { DESCR_BYTES = 24, ALIGNMENT = 64 };

static const uint64_t data_bytes_max = INT64_MAX;

/* The header and how far it has been read. */
typedef struct cursor {
    const char *begin, *at, *end;
    redtune_error *err;
} cursor;

bool rdt_npy_match(const unsigned char *bytes, size_t length) {
    return length >= RDT_NPY_MAGIC_BYTES && !memcmp(bytes, "\x93NUMPY", RDT_NPY_MAGIC_BYTES);
}

redtune_status rdt_npy_prefix(const unsigned char bytes[8], size_t *prefix_bytes,
                              redtune_error *err) {
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7])
        return rdt_message_set(err, REDTUNE_UNSUPPORTED, 0,
                               "its .npy version is %d.%d; redtune reads 1.0, 2.0 and 3.0",
                               bytes[6], bytes[7]);
    *prefix_bytes = bytes[6] == 1 ? 10 : 12;
    return REDTUNE_OK;
}

redtune_status rdt_npy_length(const unsigned char *prefix, size_t prefix_bytes,
                              size_t *header_bytes, redtune_error *err) {
    size_t length = 0;
    for (size_t i = prefix_bytes; i > 8; i--) length = length << 8 | prefix[i - 1];
    if (length > RDT_NPY_HEADER_BYTES_MAX)
        return rdt_message_set(err, REDTUNE_FILE, 0,
                               "its .npy header has %zu bytes; redtune reads at most %d", length,
                               RDT_NPY_HEADER_BYTES_MAX);
    *header_bytes = length;
    return REDTUNE_OK;
}

/* ---- reading the dictionary ---------------------------------------------------------------- */

static redtune_status damaged(const cursor *in, const char *expected) {
    return rdt_message_set(in->err, REDTUNE_FILE, 0,
                           "its .npy header is damaged: expected %s at byte %zu of the header",
                           expected, (size_t)(in->at - in->begin));
}

static void skip_blanks(cursor *in) {
    while (in->at < in->end && *in->at && strchr(" \t\r\n\f", *in->at)) in->at++;
}

/* Takes one character, after blanks, if it is the next. */
static bool take_character(cursor *in, char wanted) {
    skip_blanks(in);
    if (in->at == in->end || *in->at != wanted) return false;
    in->at++;
    return true;
}

static bool take_word(cursor *in, const char *word) {
    size_t length = strlen(word);
    skip_blanks(in);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length)) return false;
    in->at += length;
    return true;
}

/* A quoted string without escapes, cut to what fits out: nothing known here is longer. */
static redtune_status take_string(cursor *in, char out[DESCR_BYTES]) {
    skip_blanks(in);
    char quote = in->at < in->end ? *in->at : '\0';
    if (quote != '\'' && quote != '"') return damaged(in, "a quoted string");
    size_t length = 0;
    for (in->at++; in->at < in->end && *in->at != quote; in->at++) {
        if (*in->at < ' ' || *in->at == '\\') return damaged(in, "a plain character");
        if (length < DESCR_BYTES - 1) out[length++] = *in->at;
    }
    if (in->at == in->end) return damaged(in, "the end of a quoted string");
    in->at++;
    out[length] = '\0';
    return REDTUNE_OK;
}

static redtune_status take_dimension(cursor *in, uint64_t *size) {
    uint64_t value = 0;
    skip_blanks(in);
    const char *first = in->at;
    for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
        if (value > (data_bytes_max - 9) / 10) return damaged(in, "a smaller number");
        value = value * 10 + (uint64_t)(*in->at - '0');
    }
    if (in->at == first) return damaged(in, "a whole number");
    /* NumPy under Python 2 wrote 3L. */
    if (in->at < in->end && *in->at == 'L') in->at++;
    *size = value;
    return REDTUNE_OK;
}

/* A tuple: (), (3,), (3, 4), (3, 4,). A lone (3) is a number to Python, and refused. */
static redtune_status take_shape(cursor *in, uint64_t shape[RDT_NPY_RANK_MAX], size_t *rank) {
    bool comma = false;
    if (!take_character(in, '(')) return damaged(in, "'(', the shape");
    for (*rank = 0; !take_character(in, ')'); (*rank)++) {
        if (*rank && !comma) return damaged(in, "','");
        if (*rank == RDT_NPY_RANK_MAX) return damaged(in, "at most 64 dimensions");
        redtune_status status = take_dimension(in, &shape[*rank]);
        if (status) return status;
        comma = take_character(in, ',');
    }
    if (*rank == 1 && !comma) return damaged(in, "',' in the shape of one dimension");
    return REDTUNE_OK;
}

/* ---- what the values mean ------------------------------------------------------------------ */

static redtune_status refuse_elements(redtune_error *err, const char *descr, const char *what) {
    return rdt_message_set(err, REDTUNE_UNSUPPORTED, 0, "its elements ('%s') are %s", descr, what);
}

/* What numpy.dtype takes for numbers, on machines whose long has 64 bits: the codes, of one letter
 * or with a size, which may have a byte order in front, and the names. */
static const struct {
    char kind;
    unsigned char bytes;
    const char *names; /* each between blanks */
} types[] = {
    {'b', 1, " b1 ? bool bool_ "},
    {'i', 1, " i1 b int8 byte "},
    {'i', 2, " i2 h int16 short "},
    {'i', 4, " i4 i int32 intc "},
    {'i', 8, " i8 l q n p int64 int int_ intp long longlong "},
    {'u', 1, " u1 B uint8 ubyte "},
    {'u', 2, " u2 H uint16 ushort "},
    {'u', 4, " u4 I uint32 uintc "},
    {'u', 8, " u8 L Q N P uint64 uint uintp ulong ulonglong "},
    {'f', 2, " f2 e float16 half "},
    {'f', 4, " f4 f float32 single "},
    {'f', 8, " f8 d float64 float float_ double "},
    {'c', 8, " c8 F complex64 csingle "},
    {'c', 16, " c16 D complex128 complex complex_ cdouble "},
    {'V', 1, " V1 f1 "},
    {'V', 2, " V2 "},
};

static const char *const long_doubles = " f12 f16 g float96 float128 longdouble ";

static bool names_have(const char *word, const char *names) {
    const size_t length = strlen(word);
    const char *at = !length || strchr(word, ' ') ? NULL : strstr(names, word);
    while (at && (at[-1] != ' ' || at[length] != ' ')) at = strstr(at + 1, word);
    return at != NULL;
}

/* A code may have an order in front, of which "=" and "|" are this machine's: "<f4", "=f4", "f4",
 * "float32". */
static redtune_status read_descr(const char *descr, rdt_npy *npy, redtune_error *err) {
    const char order = *descr && strchr("<>=|", *descr) ? *descr : '\0';
    const char *word = descr + (order != '\0');
    const bool is_code = strlen(word) < 2 || strchr("123468", word[1]);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((is_code || !order) && names_have(word, types[i].names)) {
            npy->kind = types[i].kind;
            npy->item_bytes = types[i].bytes;
            npy->big_endian = order == '>';
            return REDTUNE_OK;
        }
    if (names_have(word, long_doubles))
        return refuse_elements(
            err, descr,
            "NumPy's longdouble, for which GPUs have no arithmetic; save a.astype('f8')");
    if (*word == 'O')
        return refuse_elements(err, descr, "Python objects; redtune reads plain numbers");
    if (*word && strchr("SUaVMm", *word))
        return refuse_elements(err, descr, "no numbers; redtune reads plain numbers such as '<f4'");
    return refuse_elements(err, descr, "of an unknown dtype; redtune reads '<f4' and the like");
}

static redtune_status multiply_shape(const uint64_t *shape, size_t rank, rdt_npy *npy,
                                     redtune_error *err) {
    uint64_t count = 1;
    for (size_t i = 0; i < rank; i++)
        if (!shape[i]) count = 0;
    for (size_t i = 0; count && i < rank; i++) {
        if (count > data_bytes_max / npy->item_bytes / shape[i])
            return rdt_message_set(err, REDTUNE_FILE, 0,
                                   "its .npy header is damaged: a shape of more than 2^63 bytes");
        count *= shape[i];
    }
    npy->count = count;
    npy->rank = rank;
    memcpy(npy->shape, shape, rank * sizeof *shape);
    return REDTUNE_OK;
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

typedef struct fields {
    unsigned has;
    char descr[DESCR_BYTES];
    bool fortran_order;
    uint64_t shape[RDT_NPY_RANK_MAX];
    size_t rank;
} fields;

static redtune_status take_field(cursor *in, fields *found) {
    char key[DESCR_BYTES] = "";
    redtune_status status = take_string(in, key);
    if (status) return status;
    unsigned bit = !strcmp(key, "descr")           ? HAS_DESCR
                   : !strcmp(key, "fortran_order") ? HAS_ORDER
                   : !strcmp(key, "shape")         ? HAS_SHAPE
                                                   : 0;
    if (!bit || found->has & bit)
        return damaged(in, "each of descr, fortran_order and shape once, and nothing else");
    found->has |= bit;
    if (!take_character(in, ':')) return damaged(in, "':'");
    if (bit == HAS_SHAPE) return take_shape(in, found->shape, &found->rank);
    if (bit == HAS_ORDER) {
        found->fortran_order = take_word(in, "True");
        return found->fortran_order || take_word(in, "False") ? REDTUNE_OK
                                                              : damaged(in, "True or False");
    }
    if (take_character(in, '[') || take_character(in, '('))
        return rdt_message_set(
            in->err, REDTUNE_UNSUPPORTED, 0,
            "its elements are structured; redtune reads arrays of plain numbers, "
            "so save one field alone");
    return take_string(in, found->descr);
}

redtune_status rdt_npy_parse(const char *header, size_t length, rdt_npy *out, redtune_error *err) {
    cursor in = {.begin = header, .at = header, .end = header + length, .err = err};
    fields found = {0};
    rdt_npy npy = {0};
    redtune_status status;
    if (!take_character(&in, '{')) return damaged(&in, "'{'");
    for (bool comma = true; !take_character(&in, '}'); comma = take_character(&in, ',')) {
        if (!comma) return damaged(&in, "','");
        if ((status = take_field(&in, &found))) return status;
    }
    skip_blanks(&in);
    if (in.at != in.end) return damaged(&in, "the end of the header");
    if (found.has != HAS_ALL) return damaged(&in, "descr, fortran_order and shape before the end");
    npy.fortran_order = found.fortran_order;
    if ((status = read_descr(found.descr, &npy, err))) return status;
    if ((status = multiply_shape(found.shape, found.rank, &npy, err))) return status;
    *out = npy;
    return REDTUNE_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

size_t rdt_npy_write(redtune_dtype dtype, bool is_bool, const uint64_t *shape, size_t rank,
                     bool fortran_order, char out[RDT_NPY_WRITTEN_BYTES]) {
    enum { BEFORE = 10 }; /* magic, version and the header's length */
    const size_t bytes = redtune_dtype_bytes(dtype);
    char *header = out + BEFORE;
    const size_t room = RDT_NPY_WRITTEN_BYTES - BEFORE;
    size_t length =
        (size_t)snprintf(header, room, "{'descr': '%c%c%zu', 'fortran_order': %s, 'shape': (",
                         bytes == 1 ? '|' : '<', is_bool ? 'b' : redtune_dtype_name(dtype)[0],
                         bytes, fortran_order ? "True" : "False");
    for (size_t i = 0; i < rank; i++)
        length +=
            (size_t)snprintf(header + length, room - length, "%s%" PRIu64, i ? ", " : "", shape[i]);
    length += (size_t)snprintf(header + length, room - length, "%s), }", rank == 1 ? "," : "");
    while ((BEFORE + length + 1) % ALIGNMENT) header[length++] = ' ';
    header[length++] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)(length & 255);
    out[9] = (char)(length >> 8);
    return BEFORE + length;
}
