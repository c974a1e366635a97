/* The .npy header's reader: what it takes, what it refuses, and that no bytes make it stumble. */
#include "check.h"
#include "cli/npy.h"

/* Parses a copy in memory of its own, so that a sanitizer sees a read past the end. */
static redtune_status parse_bytes(const char *header, size_t length, rdt_npy *npy,
                                  redtune_error *err) {
    char *copy = malloc(length ? length : 1);
    if (!copy) return REDTUNE_MEMORY;
    memcpy(copy, header, length);
    redtune_status status = rdt_npy_parse(copy, length, npy, err);
    free(copy);
    return status;
}

static redtune_status parse(const char *header, rdt_npy *npy, redtune_error *err) {
    return parse_bytes(header, strlen(header), npy, err);
}

FACT(parse_reads_what_numpy_writes) {
    rdt_npy npy;
    redtune_error err;
    CHECK_OK(
        parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n", &npy, &err),
        err);
    CHECK_INT(npy.kind, 'f');
    CHECK_INT(npy.item_bytes, 4);
    CHECK_INT(npy.count, 12);
    CHECK(!npy.fortran_order);
    CHECK_OK(parse("{'descr': '|i1', 'fortran_order': True, 'shape': (), }\n", &npy, &err), err);
    CHECK_INT(npy.item_bytes, 1);
    CHECK_INT(npy.count, 1);
    CHECK(npy.fortran_order);
}

FACT(parse_notes_the_byte_order) {
    static const char *const descrs[] = {"<f4", ">f4", ">i8", "|b1", ">u1"};
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        char header[128];
        rdt_npy npy;
        redtune_error err;
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }",
                 descrs[i]);
        CHECK_OK(parse(header, &npy, &err), err);
        CHECK_INT(npy.kind, descrs[i][1]);
        CHECK_INT(npy.big_endian, descrs[i][0] == '>');
    }
}

/* numpy.load takes whatever numpy.dtype does. Of each row the first is what numpy.save writes. */
FACT(parse_reads_every_name_of_a_dtype) {
    static const char *const rows[][12] = {
        {"b1", "?", "bool", "bool_"},
        {"i1", "b", "int8", "byte"},
        {"i2", "h", "int16", "short"},
        {"i4", "i", "int32", "intc"},
        {"i8", "l", "q", "n", "p", "int64", "int", "int_", "intp", "long", "longlong"},
        {"u1", "B", "uint8", "ubyte"},
        {"u2", "H", "uint16", "ushort"},
        {"u4", "I", "uint32", "uintc"},
        {"u8", "L", "Q", "N", "P", "uint64", "uint", "uintp", "ulong", "ulonglong"},
        {"f2", "e", "float16", "half"},
        {"f4", "f", "float32", "single"},
        {"f8", "d", "float64", "float", "double"},
        {"c8", "F", "complex64", "csingle"},
        {"c16", "D", "complex128", "complex", "cdouble"},
    };
    static const char orders[] = "<>=|";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 12 && rows[i][k]; k++)
            for (int order = 0; order < 5; order++) {
                char header[128];
                rdt_npy npy;
                redtune_error err;
                const bool is_name = rows[i][k][1] >= 'a';
                if (is_name && order < 4) continue;
                snprintf(header, sizeof header,
                         "{'descr': '%.1s%s', 'fortran_order': False, 'shape': (3,), }",
                         orders + order, rows[i][k]);
                CHECK_OK(parse(header, &npy, &err), err);
                CHECK_INT(npy.kind, rows[i][0][0]);
                CHECK_INT(npy.item_bytes, atoi(rows[i][0] + 1));
                CHECK_INT(npy.big_endian, orders[order] == '>');
            }
}

FACT(parse_reads_any_python_spelling) {
    rdt_npy npy;
    redtune_error err;
    CHECK_OK(parse("{\"shape\":(3L,),\n\"descr\":\"<i8\",'fortran_order':False}", &npy, &err), err);
    CHECK_INT(npy.kind, 'i');
    CHECK_INT(npy.count, 3);
    CHECK_OK(
        parse("{'descr':'<f8','fortran_order':False,'shape':(0,18446744073709551)}", &npy, &err),
        err);
    CHECK_INT(npy.count, 0);
}

FACT(parse_refuses_what_is_no_plain_number) {
    static const char *const rows[][2] = {
        {"'<f16'", "longdouble"},         {"'|O'", "Python objects"},
        {"'>f16'", "longdouble"},         {"'<f12'", "longdouble"},
        {"[('a', '<f4')]", "structured"}, {"('<f4', (3,))", "structured"},
        {"'<U5'", "no numbers"},          {"'|S5'", "no numbers"},
        {"'<M8[ns]'", "no numbers"},      {"'|V16'", "no numbers"},
        {"'<f3'", "unknown dtype"},       {"'<f32'", "unknown dtype"},
        {"'<f4x'", "unknown dtype"},      {"'<float32'", "unknown dtype"},
        {"'f4 f'", "unknown dtype"},      {"''", "unknown dtype"},
        {"'<'", "unknown dtype"},         {"'=='", "unknown dtype"},
        {"' '", "unknown dtype"},         {"'longdouble'", "longdouble"},
        {"'=g'", "longdouble"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char header[128];
        rdt_npy npy;
        redtune_error err;
        snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': (3,), }",
                 rows[i][0]);
        CHECK_FAILS(parse(header, &npy, &err), REDTUNE_UNSUPPORTED, err, rows[i][1]);
    }
}

FACT(parse_refuses_damage) {
    static const char *const headers[] = {
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [3]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order' False, 'shape': (3,)}",
        "{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<\\x664', 'fortran_order': False, 'shape': (3,)}",
        "{'descr: '<f4', 'fortran_order': False, 'shape': (3,)}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        rdt_npy npy;
        redtune_error err;
        CHECK_FAILS(parse(headers[i], &npy, &err), REDTUNE_FILE, err, "damaged");
    }
}

FACT(prefix_tells_the_versions) {
    unsigned char prefix[RDT_NPY_PREFIX_BYTES] = "\x93NUMPY\x01\x00\x76\x00";
    size_t prefix_bytes, header_bytes;
    redtune_error err;
    CHECK(rdt_npy_match(prefix, 6));
    CHECK(!rdt_npy_match(prefix, 5));
    CHECK_OK(rdt_npy_prefix(prefix, &prefix_bytes, &err), err);
    CHECK_INT(prefix_bytes, 10);
    CHECK_OK(rdt_npy_length(prefix, prefix_bytes, &header_bytes, &err), err);
    CHECK_INT(header_bytes, 0x76);
    prefix[6] = 3;
    prefix[10] = 1;
    CHECK_OK(rdt_npy_prefix(prefix, &prefix_bytes, &err), err);
    CHECK_INT(prefix_bytes, 12);
    CHECK_OK(rdt_npy_length(prefix, prefix_bytes, &header_bytes, &err), err);
    CHECK_INT(header_bytes, 0x10076);
    prefix[11] = 0xff;
    CHECK_FAILS(rdt_npy_length(prefix, prefix_bytes, &header_bytes, &err), REDTUNE_FILE, err,
                "4278255734");
    prefix[6] = 4;
    CHECK_FAILS(rdt_npy_prefix(prefix, &prefix_bytes, &err), REDTUNE_UNSUPPORTED, err, "4.0");
    prefix[6] = 1;
    prefix[7] = 2;
    CHECK_FAILS(rdt_npy_prefix(prefix, &prefix_bytes, &err), REDTUNE_UNSUPPORTED, err, "1.2");
}

static const char *const seeds[] = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n",
    "{\"shape\":(3L,),\n\"descr\":\"<i8\",'fortran_order':True}",
    "{'descr': [('a', '<f4'), ('b', '|O')], 'fortran_order': False, 'shape': (10,), }\n",
};
enum { SEED_COUNT = sizeof seeds / sizeof *seeds };

FACT(every_truncation_is_refused) {
    for (size_t i = 0; i < SEED_COUNT; i++) {
        size_t whole = (size_t)(strrchr(seeds[i], '}') - seeds[i]);
        for (size_t length = 0; length <= whole; length++) {
            rdt_npy npy;
            redtune_error err;
            CHECK(parse_bytes(seeds[i], length, &npy, &err) != REDTUNE_OK);
        }
    }
}

static uint64_t next_random(uint64_t *state) {
    /* xorshift64, Marsaglia 2003 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* What is read from a damaged header is refused, or is still a header. */
FACT(random_damage_is_survived) {
    static const char alphabet[] = "{}()[]':\",<>|=0123456789LfiuOVTrueFals \n\\";
    uint64_t state = 20240229;
    for (int round = 0; round < 100000; round++) {
        char header[128];
        size_t length = strlen(seeds[round % SEED_COUNT]);
        memcpy(header, seeds[round % SEED_COUNT], length);
        for (uint64_t edits = 1 + next_random(&state) % 4; edits; edits--) {
            uint64_t pick = next_random(&state);
            char byte = pick % 3 ? alphabet[pick / 3 % (sizeof alphabet - 1)] : (char)(pick >> 9);
            header[next_random(&state) % length] = byte;
        }
        rdt_npy npy;
        redtune_error err;
        if (parse_bytes(header, length, &npy, &err)) continue;
        CHECK(npy.item_bytes >= 1 && npy.item_bytes <= 16);
        CHECK(npy.count <= INT64_MAX / npy.item_bytes);
        CHECK(strchr("iufbcV", npy.kind));
    }
}

FACT(what_is_written_is_read) {
    static const struct {
        redtune_dtype dtype;
        uint64_t shape[3];
        size_t rank;
        bool fortran_order;
        const char *header;
    } rows[] = {
        {REDTUNE_F32,
         {3, 4},
         2,
         false,
         "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"},
        {REDTUNE_I64, {7}, 1, false, "{'descr': '<i8', 'fortran_order': False, 'shape': (7,), }"},
        {REDTUNE_U8, {0}, 0, false, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }"},
        {REDTUNE_F16,
         {1, 2, 3},
         3,
         true,
         "{'descr': '<f2', 'fortran_order': True, 'shape': (1, 2, 3), }"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[RDT_NPY_WRITTEN_BYTES];
        rdt_npy npy;
        redtune_error err;
        size_t prefix_bytes = 0, header_bytes = 0;
        const size_t bytes = rdt_npy_write(rows[i].dtype, false, rows[i].shape, rows[i].rank,
                                           rows[i].fortran_order, out);
        const unsigned char *file = (const unsigned char *)out;
        CHECK_INT(bytes % 64, 0);
        CHECK(rdt_npy_match(file, bytes));
        CHECK_OK(rdt_npy_prefix(file, &prefix_bytes, &err), err);
        CHECK_OK(rdt_npy_length(file, prefix_bytes, &header_bytes, &err), err);
        CHECK_INT(prefix_bytes + header_bytes, bytes);
        CHECK(!memcmp(out + prefix_bytes, rows[i].header, strlen(rows[i].header)));
        CHECK_OK(parse_bytes(out + prefix_bytes, header_bytes, &npy, &err), err);
        CHECK_INT(npy.item_bytes, redtune_dtype_bytes(rows[i].dtype));
        CHECK_INT(npy.fortran_order, rows[i].fortran_order);
        CHECK_INT(npy.rank, rows[i].rank);
        for (size_t k = 0; k < npy.rank; k++) CHECK_INT(npy.shape[k], rows[i].shape[k]);
    }
}

/* The longest header there may be. */
FACT(sixty_four_dimensions_fit) {
    uint64_t shape[RDT_NPY_RANK_MAX];
    char out[RDT_NPY_WRITTEN_BYTES];
    for (size_t i = 0; i < RDT_NPY_RANK_MAX; i++) shape[i] = UINT64_MAX;
    const size_t bytes = rdt_npy_write(REDTUNE_F32, false, shape, RDT_NPY_RANK_MAX, false, out);
    CHECK(bytes <= sizeof out);
    CHECK_INT(out[bytes - 1], '\n');
    CHECK(strstr(out + 10, "18446744073709551615), }"));
}

int main(int argc, char **argv) { return check_run(argc, argv); }
