/* redtune alone: what is there, and the next steps. */
#include <stdio.h>
#include <string.h>
#include "cli/command.h"
#include "cli/message.h"
#include "cli/table.h"
#include "redtune/records.h"
#include "redtune/tools.h"

typedef struct overview {
    rdt_table lines;
    bool has_gpu;
    redtune_device_info gpu; /* whose winners are counted */
    size_t winners, database_count;
} overview;

static void add_finding(void *user, const redtune_finding *finding) {
    overview *self = user;
    const bool gpu = !strncmp(finding->subject, "GPU ", 4);
    if (!gpu && strcmp(finding->subject, "database") != 0) return;
    self->has_gpu |= gpu && finding->health == REDTUNE_HEALTH_GOOD;
    /* GPUs come first. */
    if (!gpu && !self->has_gpu && !self->database_count++) {
        rdt_table_add(&self->lines, "GPU");
        rdt_table_add(&self->lines, "none that redtune can use; redtune doctor says why");
    }
    rdt_table_add(&self->lines, "%s", finding->subject);
    rdt_table_add(&self->lines, "%s", finding->detail);
}

static void add_tuned(overview *self) {
    if (!self->winners) return;
    rdt_table_add(&self->lines, "tuned");
    rdt_table_add(&self->lines, "%s: %zu winner%s", self->gpu.name, self->winners,
                  self->winners == 1 ? "" : "s");
    self->winners = 0;
}

static redtune_status count_winner(void *user, const redtune_row *row, redtune_error *err) {
    overview *self = user;
    (void)err;
    if (!rdt_table_is_same_gpu(&self->gpu, &row->gpu)) add_tuned(self);
    self->gpu = row->gpu;
    self->winners++;
    return REDTUNE_OK;
}

/* Of the first two each machine has one. */
static void print_steps(bool has_gpu, bool tuned) {
    rdt_table steps = {.column_count = 2, .right = "ll"};
    const char *const rows[][2] = {
        {"  redtune tune", tuned ? "measures what is not measured yet"
                                 : "finds the fastest kernels for this GPU, and keeps them"},
        {"  redtune --device sim", "tunes on the simulated GPU, which takes one to two minutes"},
        {tuned ? "  redtune show" : "  redtune show --shipped",
         tuned ? "prints the winners" : "prints what redtune comes with"},
        {"  redtune reduce FILE", "reduces an array of a file"},
        {"  redtune doctor", "says what is missing, and what to do about it"},
        {"  redtune --help", "lists the commands and options"},
    };
    puts("\nNext:");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (i != has_gpu) rdt_table_add_row(&steps, rows[i]);
    rdt_table_print(&steps, stdout);
}

int rdt_cmd_overview(void) {
    const redtune_options open = {.device = NULL};
    const redtune_rows_query query = {.gpu = "all", .winners = 1, .own = 1};
    overview self = {.lines = {.column_count = 2, .right = "ll"}};
    redtune_error err;
    int missing = 0;
    puts("redtune " REDTUNE_VERSION "\n");
    if (redtune_diagnose(&open, add_finding, &self, &missing, &err)) return rdt_message_fail(&err);
    /* A database that cannot be read is among the findings. */
    redtune_rows_each(&query, count_winner, &self, &err);
    const bool tuned = self.winners > 0;
    add_tuned(&self);
    rdt_table_print(&self.lines, stdout);
    print_steps(self.has_gpu, tuned);
    return RDT_EXIT_DONE;
}
