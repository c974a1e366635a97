/* redtune show ops: the ops there are, redtune's and the user's. */
#include <stdio.h>
#include <string.h>
#include "cli/command.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/table.h"

/* The names with commas between them; a dash for none. */
static const char *list_names(const char *const *names, int count, char out[96]) {
    size_t length = 0;
    snprintf(out, 96, "-");
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(out + length, 96 - length, "%s%s", i ? ", " : "", names[i]);
    return out;
}

static void add_op(rdt_table *table, const redtune_op_info *op) {
    char names[96];
    rdt_table_add(table, "%s", op->name);
    rdt_table_add(table, "%d", op->inputs);
    rdt_table_add(table, "%s", list_names(op->output_name, op->outputs, names));
    rdt_table_add(table, "%s", list_names(op->parameter_name, op->parameters, names));
    rdt_table_add(table, "%s%s%s%s", op->formula, op->file ? " (" : "", op->file ? op->file : "",
                  op->file ? ")" : "");
}

static void write_op(rdt_json *json, const redtune_op_info *op) {
    rdt_json_begin(json, NULL, '{');
    rdt_json_text(json, "op", op->name);
    rdt_json_count(json, "inputs", (uint64_t)op->inputs);
    rdt_json_begin(json, "results", '[');
    for (int i = 0; i < op->outputs; i++) rdt_json_text(json, NULL, op->output_name[i]);
    rdt_json_end(json, ']');
    rdt_json_begin(json, "parameters", '[');
    for (int i = 0; i < op->parameters; i++) {
        rdt_json_begin(json, NULL, '{');
        rdt_json_text(json, "name", op->parameter_name[i]);
        rdt_json_real(json, "usual", op->parameter_usual[i]);
        rdt_json_end(json, '}');
    }
    rdt_json_end(json, ']');
    rdt_json_text(json, "formula", op->formula);
    rdt_json_truth(json, "resumes", op->resumes);
    rdt_json_text(json, "file", op->file ? op->file : "");
    rdt_json_end(json, '}');
}

int rdt_cmd_show_ops(const rdt_options *options) {
    static const char *const titles[] = {"op", "inputs", "results", "parameters", "formula"};
    rdt_table table = {.column_count = 5, .right = "lrlll"};
    rdt_json json = {0};
    redtune_op_info op;
    redtune_error err;
    redtune_op none;
    /* Asking for what no op is called reads the files that REDTUNE_OPS names, too. */
    if (redtune_op_find("", &none, &err) && err.status != REDTUNE_INVALID)
        return rdt_message_fail(&err);
    if (options->json) {
        json = rdt_json_open(stdout);
        rdt_json_begin(&json, "ops", '[');
    }
    rdt_table_add_row(&table, titles);
    for (int i = 0; !redtune_op_get((redtune_op)i, &op, &err); i++)
        if (options->json)
            write_op(&json, &op);
        else
            add_op(&table, &op);
    if (options->json) {
        rdt_json_end(&json, ']');
        rdt_json_end(&json, '}');
    }
    if (!options->json) (options->csv ? rdt_table_print_csv : rdt_table_print)(&table, stdout);
    return RDT_EXIT_DONE;
}
