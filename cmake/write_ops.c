/* write_ops FOLDER OUT: a C file with the table of the ops that FOLDER/ops.lua has. Run by the
 * build. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>
#include "codegen/op_reader.h"

static void write_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++)
        if (*text < ' ' || strchr("\"\\?\177", *text))
            fprintf(file, "\\%03o", (unsigned)(unsigned char)*text);
        else
            fputc(*text, file);
    fputs("\", ", file);
}

static void write_table(FILE *file, const rdt_op_table *table) {
    fputs("/* The ops of templates/ops.lua. Made by cmake/write_ops.c: changes here are lost. */\n"
          "#include \"model/op.h\"\n\nconst rdt_op_table rdt_op_compiled_in = {",
          file);
    fprintf(file, "%d, {\n", table->count);
    for (int i = 0; i < table->count; i++) {
        const rdt_op_traits *op = &table->entry[i];
        fprintf(file, "    {(redtune_op)%d, ", i);
        write_text(file, op->name);
        write_text(file, op->formula);
        fprintf(file, "(rdt_result_class)%d, (rdt_combines)%d, %d, %d, %d, %d, %d, %d, ",
                (int)op->result, (int)op->combines, op->power, op->f64_from, op->lost_bits,
                op->tolerance, op->values, op->range_bytes);
        fprintf(file, "%d, %d, %d, %d, %d, %d, %d, %d, %d, {", op->inputs, op->outputs,
                op->parameters, op->indexed, op->ignores_nan, op->bools, op->resumes,
                op->compensated, op->exact);
        for (int j = 0; j < op->outputs; j++) {
            fputc('{', file);
            write_text(file, op->output[j].name);
            fprintf(file, "(rdt_result_class)%d, (redtune_dtype)%d}, ", (int)op->output[j].result,
                    (int)op->output[j].dtype);
        }
        fputs("}, {", file);
        if (!op->parameters) fputs("{\"\", 0}", file);
        for (int j = 0; j < op->parameters; j++) {
            fputc('{', file);
            write_text(file, op->parameter[j].name);
            fprintf(file, "%.17g}, ", op->parameter[j].usual);
        }
        fprintf(file, "}, %u, %d, 0, 0, NULL, 0},\n", op->dtypes, op->accumulator_bytes);
    }
    fputs("}};\n", file);
}

/* read(FOLDER, table) */
static int read_table(lua_State *state) {
    rdt_op_table *table = lua_touserdata(state, 2);
    luaL_openlibs(state);
    lua_getglobal(state, "package");
    lua_pushfstring(state, "%s/?.lua", lua_tostring(state, 1));
    lua_setfield(state, -2, "path");
    lua_getglobal(state, "require");
    lua_pushliteral(state, "ops");
    lua_call(state, 1, 1);
    rdt_op_reader_read(state, table);
    for (int i = 0; i < table->count; i++)
        if ((int)table->entry[i].op < RDT_OPS_MAX && (int)table->entry[i].op != i)
            return luaL_error(state, "ops.lua: the numbers have a gap, or two ops have one, at %s",
                              table->entry[i].name);
    return 0;
}

int main(int argc, char **argv) {
    static rdt_op_table table;
    lua_State *state = luaL_newstate();
    if (argc != 3 || !state) return 2;
    lua_pushcfunction(state, read_table);
    lua_pushstring(state, argv[1]);
    lua_pushlightuserdata(state, &table);
    if (lua_pcall(state, 2, 0, 0)) {
        fprintf(stderr, "%s\n", lua_tostring(state, -1));
        return 1;
    }
    FILE *file = fopen(argv[2], "w");
    if (!file) return 1;
    write_table(file, &table);
    lua_close(state);
    return fclose(file) ? 1 : 0;
}
