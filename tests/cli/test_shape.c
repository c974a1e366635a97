/* Arrays as the command reads and prints them: 64x512x512 along axis 1 and the like. */
#include "check.h"
#include "cli/shape.h"
#include "shaped.h"

static redtune_status read(const char *text, rdt_shape_array *out, redtune_error *err) {
    return rdt_shape_read(text, strlen(text), out, err);
}

FACT(arrays_are_sizes_with_x_between) {
    rdt_shape_array shape;
    redtune_error err;
    CHECK_OK(read("64x512x1000", &shape, &err), err);
    CHECK_INT(shape.dimensions, 3);
    CHECK_INT(shape.sizes[0], 64);
    CHECK_INT(shape.sizes[1], 512);
    CHECK_INT(shape.sizes[2], 1000);
    CHECK_OK(read("4Kx1M", &shape, &err), err);
    CHECK_INT(shape.dimensions, 2);
    CHECK_INT(shape.sizes[0], 4096);
    CHECK_INT(shape.sizes[1], 1 << 20);
    CHECK_OK(read("7", &shape, &err), err);
    CHECK_INT(shape.dimensions, 1);
}

FACT(what_is_no_array_is_named) {
    static const char *const wrong[] = {"",      "x",   "64x",  "x64",  "64xx64",
                                        "64*64", "0x4", "-1x4", "4x4,4"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rdt_shape_array shape;
        redtune_error err;
        CHECK_FAILS(read(wrong[i], &shape, &err), REDTUNE_INVALID, err, "is no array");
    }
}

FACT(arrays_have_at_most_64_dimensions) {
    char many[2 * RDT_SHAPE_DIMENSIONS_MAX + 2] = "";
    rdt_shape_array shape;
    redtune_error err;
    for (int i = 0; i < RDT_SHAPE_DIMENSIONS_MAX; i++) strcat(many, i ? "x2" : "2");
    CHECK_OK(read(many, &shape, &err), err);
    CHECK_INT(shape.dimensions, RDT_SHAPE_DIMENSIONS_MAX);
    strcat(many, "x2");
    CHECK_FAILS(read(many, &shape, &err), REDTUNE_INVALID, err, "is no array");
}

FACT(lists_of_arrays_end) {
    const char *list = "2x3,4,5x6x7";
    static const size_t dimensions[] = {2, 1, 3};
    rdt_shape_array shape;
    redtune_error err;
    bool more = false;
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(rdt_shape_read_next(&list, &shape, &more, &err), err);
        CHECK(more);
        CHECK_INT(shape.dimensions, dimensions[i]);
    }
    CHECK_OK(rdt_shape_read_next(&list, &shape, &more, &err), err);
    CHECK(!more);
    list = "2x3,";
    CHECK_OK(rdt_shape_read_next(&list, &shape, &more, &err), err);
    CHECK_FAILS(rdt_shape_read_next(&list, &shape, &more, &err), REDTUNE_INVALID, err, "''");
}

FACT(axes_count_from_either_end) {
    rdt_axes axes;
    redtune_error err;
    CHECK_OK(rdt_shape_read_axes("0,-1,2", &axes, &err), err);
    CHECK_INT(axes.count, 3);
    CHECK_INT(axes.axis[0], 0);
    CHECK_INT(axes.axis[1], -1);
    CHECK_INT(axes.axis[2], 2);
    static const char *const wrong[] = {"", ",", "0,", "--1", "x", "1x", "1 2", "10000", "-"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(rdt_shape_read_axes(wrong[i], &axes, &err), REDTUNE_INVALID, err,
                    "names no axes");
}

/* The problem of an array along one axis; without extents for what is none. */
static redtune_problem fold(const char *text, size_t length, int axis) {
    redtune_problem problem = {.dtype = REDTUNE_F32};
    const rdt_axes axes = {{axis}, 1};
    rdt_shape_array shape;
    redtune_error err;
    if (rdt_shape_read(text, length, &shape, &err)) return problem;
    if (rdt_shape_fold(&shape, NULL, &axes, &problem, &err)) return problem;
    return problem;
}

/* What a table prints, typed again, is the same problem. */
FACT(printed_shapes_are_read_back) {
    static const struct {
        const char *shape;
        int axis;
        const char *text, *layout;
    } rows[] = {
        {"1024x4096", 1, "1Kx4K axis 1", "rows"},
        {"1024x4096", 0, "1Kx4K axis 0", "columns"},
        {"64x512x512", 1, "64x512x512 axis 1", "columns"},
        {"8x1000x77", -2, "8x1000x77 axis 1", "columns"},
        {"1Gx3", 1, "1Gx3 axis 1", "rows"},
        {"1x4096", 1, "4K", "whole"},
        {"4096x1", 0, "4K", "whole"},
        {"1x5", 0, "1x5 axis 0", "columns"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[RDT_SHAPE_BYTES];
        const redtune_problem problem = fold(rows[i].shape, strlen(rows[i].shape), rows[i].axis);
        rdt_shape_print(text, &problem);
        CHECK_TEXT(text, rows[i].text);
        CHECK_TEXT(rdt_shape_layout_name(&problem), rows[i].layout);
        const char *axis = strstr(text, " axis ");
        const redtune_problem again =
            fold(text, axis ? (size_t)(axis - text) : strlen(text), axis ? atoi(axis + 6) : 0);
        CHECK_INT(shaped_of(&again).count, shaped_of(&problem).count);
        CHECK_INT(shaped_of(&again).outer, shaped_of(&problem).outer);
        CHECK_INT(shaped_of(&again).inner, shaped_of(&problem).inner);
    }
}

FACT(other_steps_are_pitches) {
    static const struct {
        shaped extents;
        const char *text;
    } rows[] = {
        {{.count = 1000, .outer = 64, .outer_step = 1024}, "64x1000 axis 1 pitch 1K"},
        {{.count = 1000, .outer = 64, .outer_step = 1000}, "64x1000 axis 1"},
        {{.count = 1000, .outer_step = 7}, "1000"},
        {{.count = 1000, .inner = 64, .step = 100}, "1000x64 axis 0 pitch 100"},
        {{.count = 1000, .step = 3}, "1000x1 axis 0 pitch 3"},
        {{.count = 10, .outer = 2, .inner = 5, .outer_step = 99, .step = 8},
         "2x10x5 axis 1 pitch 99,8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const redtune_problem problem = shaped_problem(rows[i].extents);
        char text[RDT_SHAPE_BYTES];
        rdt_shape_print(text, &problem);
        CHECK_TEXT(text, rows[i].text);
    }
}

FACT(problems_are_described_in_words) {
    const redtune_problem rows = PROBLEM(.dtype = REDTUNE_F16, .count = 4096, .outer = 1024);
    const redtune_problem whole = redtune_problem_whole(REDTUNE_MAX, REDTUNE_I8, 4096);
    char text[RDT_SHAPE_BYTES];
    rdt_shape_describe(text, &rows, false);
    CHECK_TEXT(text, "sum of 1Kx4K f16 along axis 1");
    rdt_shape_describe(text, &rows, true);
    CHECK_TEXT(text, "sum of 1024x4096 f16 along axis 1");
    rdt_shape_describe(text, &whole, false);
    CHECK_TEXT(text, "max of 4K i8");
}

/* The longest numbers there may be. */
FACT(every_problem_fits) {
    const redtune_problem longest =
        PROBLEM(.op = REDTUNE_NONZEROS, .dtype = REDTUNE_BF16, .count = UINT64_MAX,
                .outer = UINT64_MAX, .inner = UINT64_MAX, .outer_step = INT64_MAX - 2,
                .step = INT64_MAX - 1);
    char text[RDT_SHAPE_BYTES];
    rdt_shape_print(text, &longest);
    CHECK(strstr(text, "9223372036854775805,9223372036854775806"));
    rdt_shape_describe(text, &longest, true);
    CHECK(strstr(text, "9223372036854775805,9223372036854775806"));
}

int main(int argc, char **argv) { return check_run(argc, argv); }
