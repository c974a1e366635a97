/* How the results of many matrices look as one table. */
#include "check.h"
#include "cli/plane.h"
#include "shaped.h"

enum { SIDE = 4 };
static redtune_tuned results[SIDE * SIDE + 2];

/* Sums of the rows of matrices of 4^i rows and 16 * 4^k columns, but for the largest. */
static size_t fill(void) {
    size_t count = 0;
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            if (i == SIDE - 1 && k == SIDE - 1) continue;
            results[count] = (redtune_tuned){
                .problem = PROBLEM(.dtype = REDTUNE_F32, .result = REDTUNE_F32,
                                   .count = UINT64_C(16) << 2 * k, .outer = UINT64_C(64) << 2 * i),
                .family = "rows",
                .config = "lanes=1",
                .median_ns = 1000,
                .default_ns = 1000 * (1 + i),
                .gbps = i + k ? 10 * (i + k) : 0.04,
                .peak_gbps = 100,
            };
            if (k == 3) strcpy(results[count].family, "block");
            if (k > 1) strcpy(results[count].config, "lanes=32");
            count++;
        }
    return count;
}

static void printed(size_t count, char out[2048]) {
    FILE *file = tmpfile();
    CHECK(file);
    if (!file) return;
    rdt_plane_print(results, count, file);
    rewind(file);
    out[fread(out, 1, 2047, file)] = '\0';
    fclose(file);
}

FACT(matrices_are_a_table) {
    char text[2048];
    const size_t count = fill();
    CHECK_INT(rdt_plane_class(results, count), count);
    CHECK(rdt_plane_is_worth(results, count));
    printed(count, text);
    /* The gains are 1, 2, 3 and 4, the last of them three times. */
    CHECK_TEXT(text,
               "sum of f32 along axis 1, 15 matrices: percent of the bus's peak\n"
               "\n"
               "rows x  16  64  256  1K\n"
               "    64  <1  10   20  30\n"
               "   256  10  20   30  40\n"
               "    1K  20  30   40  50\n"
               "    4K  30  40   50   .\n"
               "\n"
               "  gain over the default: 2.13x, the geometric mean; at most 4.00x, 4Kx16 axis 1\n"
               "  winners: rows 12, block 3; 3 configs\n");
}

FACT(columns_are_by_rows_and_columns_too) {
    char text[2048];
    const size_t count = fill();
    for (size_t i = 0; i < count; i++) {
        redtune_problem *problem = &results[i].problem;
        RESHAPE(problem, inner, shaped_of(problem).outer);
        RESHAPE(problem, outer, 0);
        results[i].peak_gbps = 0;
    }
    printed(count, text);
    CHECK_CONTAINS(text, "sum of f32 along axis 0, 15 matrices: GB/s\n\n"
                         "rows x  64  256  1K  4K\n"
                         "    16  <1   10  20  30\n");
}

/* 14 of 16 numbers of columns fit a line. In either part one of the three rows has no entry. */
FACT(parts_fit_a_line_and_have_entries) {
    enum { COLS = 16, FIT = 14 };
    static redtune_tuned many[2 * COLS + 1];
    char text[2048];
    size_t count = 0;
    for (uint64_t rows = 4; rows <= 16; rows *= 2)
        for (uint64_t cols = 1; cols <= COLS; cols++) {
            if (rows == 4 ? cols > FIT : rows == 16 && cols <= FIT) continue;
            many[count++] =
                (redtune_tuned){.problem = PROBLEM(.dtype = REDTUNE_F32, .result = REDTUNE_F32,
                                                   .count = 1000 * cols, .outer = rows),
                                .family = "rows",
                                .median_ns = 1000,
                                .gbps = 7};
        }
    FILE *file = tmpfile();
    CHECK(file);
    if (!file) return;
    rdt_plane_print(many, count, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    CHECK_CONTAINS(text, "10000  11000  12000  13000  14000\n     4     7 ");
    CHECK_CONTAINS(text, "\n\nrows x  15000  16000\n"
                         "     8      7      7\n"
                         "    16      7      7\n"
                         "\n  winners");
    CHECK(!strstr(text, "    16     ."));
}

FACT(what_is_no_grid_stays_lines) {
    size_t count = fill();
    CHECK(!rdt_plane_is_worth(results, 8));
    for (size_t i = 0; i < count; i++)
        RESHAPE(&results[i].problem, outer, shaped_of(&results[i].problem).outer + i);
    CHECK(!rdt_plane_is_worth(results, count)); /* every number of rows another one */
    count = fill();
    for (size_t i = 0; i < count; i++) RESHAPE(&results[i].problem, outer_step, 5000);
    CHECK(!rdt_plane_takes(&results[0]));
    CHECK(!rdt_plane_is_worth(results, count));
    results[0].problem = PROBLEM(.count = 8, .outer = 2, .inner = 3);
    CHECK(!rdt_plane_takes(&results[0]));
    results[0].problem = PROBLEM(.count = 8);
    CHECK(!rdt_plane_takes(&results[0]));
}

FACT(a_class_ends_where_another_begins) {
    const size_t count = fill();
    results[5].problem.dtype = REDTUNE_F16;
    CHECK_INT(rdt_plane_class(results, count), 5);
    fill();
    strcpy(results[7].gpu, "another");
    CHECK_INT(rdt_plane_class(results, count), 7);
    fill();
    RESHAPE(&results[3].problem, inner, 2);
    CHECK_INT(rdt_plane_class(results, count), 3);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
