/* Facts about model/space.h and model/point.h: parameters, their values, and how a config is
 * written. */
#include "check.h"
#include "model/point.h"
#include "model/space.h"

static redtune_error err;

static const rdt_space space = {
    .family = "toy",
    .param_count = 3,
    .param =
        {
            {.name = "block", .value_count = 3, .value = {64, 128, 256}},
            {.name = "tail", .value_count = 2, .value = {0, 1}, .label = {"shuffle", "shared"}},
            {.name = "grid", .launch = true, .value_count = 2, .value = {-1, 8}},
        },
};

FACT(space_finds_parameters_by_name) {
    CHECK_INT(rdt_space_find(&space, "block", 5), 0);
    CHECK_INT(rdt_space_find(&space, "grid=8", 4), 2);
    CHECK_INT(rdt_space_find(&space, "blocks", 6), -1);
    CHECK_INT(rdt_space_find(&space, "bloc", 4), -1);
    CHECK_INT(rdt_space_find(&space, "", 0), -1);
    CHECK_INT(rdt_space_find(&(rdt_space){0}, "block", 5), -1);
}

FACT(space_finds_values) {
    CHECK_INT(rdt_space_param_find(&space.param[0], 256), 2);
    CHECK_INT(rdt_space_param_find(&space.param[0], 257), -1);
    CHECK_INT(rdt_space_param_find(&space.param[2], -1), 0);
}

static const rdt_spaces spaces = {&space, 1};

FACT(config_is_written_in_the_spaces_order) {
    char text[RDT_POINT_TEXT_BYTES];
    rdt_point_format(&spaces, &(rdt_point){0, {128, 1, -1}}, text);
    CHECK_TEXT(text, "toy:block=128,tail=shared,grid=-1");
    const rdt_space empty = {.param_count = 0};
    rdt_point_format(&(rdt_spaces){&empty, 1}, &(rdt_point){.family = 0}, text);
    CHECK_TEXT(text, ":");
}

FACT(config_format_stays_within_its_buffer) {
    rdt_space wide = {.param_count = RDT_PARAM_MAX};
    rdt_point point = {0};
    char family[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES + 1];
    for (int i = 0; i < RDT_PARAM_MAX; i++) {
        memset(wide.param[i].name, 'a' + i, RDT_NAME_BYTES - 1);
        point.value[i] = INT64_MIN;
    }
    text[RDT_CONFIG_TEXT_BYTES] = 'x';
    rdt_point_write(&(rdt_spaces){&wide, 1}, &point, family, text);
    CHECK(memchr(text, '\0', RDT_CONFIG_TEXT_BYTES));
    CHECK_INT(text[RDT_CONFIG_TEXT_BYTES], 'x');
}

FACT(config_reads_back_what_it_writes) {
    for (int i = 0; i < 3 * 2 * 2; i++) {
        rdt_point point = {0,
                           {space.param[0].value[i % 3], space.param[1].value[i / 3 % 2],
                            space.param[2].value[i / 6]}};
        rdt_point parsed = {0};
        char family[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES];
        rdt_point_write(&spaces, &point, family, text);
        CHECK_TEXT(family, "toy");
        CHECK_OK(rdt_point_parse(&spaces, text, &parsed, &err), err);
        CHECK(rdt_point_same(&parsed, &point));
    }
}

FACT(config_parse_keeps_what_is_not_named) {
    rdt_point point = {0, {128, 0, 8}};
    CHECK_OK(rdt_point_parse(&spaces, "tail=shared", &point, &err), err);
    CHECK_INT(point.value[0], 128);
    CHECK_INT(point.value[1], 1);
    CHECK_INT(point.value[2], 8);
    CHECK_OK(rdt_point_parse(&spaces, "", &point, &err), err);
    CHECK_INT(point.value[0], 128);
}

FACT(point_read_needs_every_parameter) {
    char family[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES];
    rdt_point whole = {0}, parsed, before = {3, {7, 7, 7}};
    for (int i = 0; i < space.param_count; i++) whole.value[i] = space.param[i].value[0];
    rdt_point_write(&spaces, &whole, family, text);
    CHECK_OK(rdt_point_read(&spaces, "toy", text, &parsed, &err), err);
    CHECK(rdt_point_same(&parsed, &whole));
    parsed = before;
    *strrchr(text, ',') = '\0';
    CHECK_FAILS(rdt_point_read(&spaces, "toy", text, &parsed, &err), REDTUNE_INVALID, err,
                "parameters");
    strcat(text, ",");
    CHECK_FAILS(rdt_point_read(&spaces, "toy", text, &parsed, &err), REDTUNE_INVALID, err,
                "parameters");
    CHECK_FAILS(rdt_point_read(&spaces, "toy", "", &parsed, &err), REDTUNE_INVALID, err,
                "names 0 of the");
    CHECK(rdt_point_same(&parsed, &before));
}

/* What is stored of a parameter that went holds where all kernels are of its value. */
FACT(parameters_that_went_are_passed_over) {
    static const rdt_space skewed = {
        .family = "skewed",
        .param_count = 1,
        .param = {{.name = "unroll", .value_count = 2, .value = {1, 2}}},
    };
    const rdt_spaces known = {&skewed, 1};
    rdt_point point;
    CHECK_OK(rdt_point_read(&known, "skewed", "unroll=2,strips=1", &point, &err), err);
    CHECK_INT(point.value[0], 2);
    CHECK_FAILS(rdt_point_read(&known, "skewed", "unroll=2,strips=2", &point, &err),
                REDTUNE_INVALID, err, "strips");
    CHECK_FAILS(rdt_point_read(&known, "skewed", "strips=1", &point, &err), REDTUNE_INVALID, err,
                "names 0 of the");
    static const char *const written[][2] = {{"unroll=2,strips=1", "unroll=2"},
                                             {"strips=1,unroll=2", "unroll=2"},
                                             {"strips=1", ""},
                                             {"unroll=2,strips=2", "unroll=2,strips=2"}};
    for (int i = 0; i < 4; i++) {
        char config[40];
        strcpy(config, written[i][0]);
        rdt_point_renew(&known, &point, config);
        CHECK_TEXT(config, written[i][1]);
    }
}

FACT(config_parse_takes_any_order) {
    rdt_point point = {0, {64, 0, 8}};
    CHECK_OK(rdt_point_parse(&spaces, "grid=-1,block=256", &point, &err), err);
    CHECK_INT(point.value[0], 256);
    CHECK_INT(point.value[2], -1);
}

/* The text is refused with a message that has part in it, and the config left as it was. */
static bool refuses(const char *text, const char *part) {
    rdt_point point = {0, {128, 0, 8}};
    err = (redtune_error){0};
    redtune_status status = rdt_point_parse(&spaces, text, &point, &err);
    bool untouched = point.value[0] == 128 && point.value[1] == 0 && point.value[2] == 8;
    bool told = strstr(err.message, part) && !strchr(err.message, '\n');
    if (!told) fprintf(stderr, "'%s': %s\n", text, err.message);
    return status == REDTUNE_INVALID && untouched && told;
}

FACT(config_parse_refuses_unknown_name) {
    CHECK(refuses("block=64,blocks=64", "'blocks'"));
    CHECK(refuses("blocks=64", "block, tail, grid"));
    CHECK(refuses("blocks=64", "'toy'"));
    CHECK(refuses("=64", "''"));
}

FACT(config_parse_refuses_unknown_value) {
    CHECK(refuses("block=65", "block=65: it may be 64, 128, 256"));
    CHECK(refuses("tail=both", "tail=both: it may be shuffle, shared"));
    CHECK(refuses("block=", "block="));
    CHECK(refuses("block=64x", "block=64x"));
    CHECK(refuses("block=99999999999999999999999", "block=999"));
}

/* A value that has a label is written by it alone, so that there is one text per config. */
FACT(config_parse_refuses_the_number_of_a_label) { CHECK(refuses("tail=1", "tail=1")); }

FACT(config_parse_refuses_a_name_given_twice) {
    CHECK(refuses("block=64,block=128", "block is given twice"));
}

FACT(config_parse_refuses_what_is_no_pair) {
    CHECK(refuses("block", "name=value"));
    CHECK(refuses("block,tail=shared", "name=value"));
    CHECK(refuses(",", "name=value"));
    CHECK(refuses("block=64,,tail=shared", "name=value"));
}

FACT(config_parse_cuts_a_long_name_in_its_message) {
    char text[2000];
    memset(text, 'n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[1000] = '=';
    CHECK(refuses(text, "block, tail, grid"));
}

FACT(point_same_kernel_ignores_launch_parameters) {
    rdt_point a = {0, {128, 1, 8}}, b = {0, {128, 1, -1}}, c = {0, {64, 1, 8}};
    CHECK(rdt_point_same_kernel(&spaces, &a, &a));
    CHECK(rdt_point_same_kernel(&spaces, &a, &b));
    CHECK(!rdt_point_same_kernel(&spaces, &a, &c));
}

int main(int argc, char **argv) { return check_run(argc, argv); }
