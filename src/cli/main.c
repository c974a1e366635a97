/* The redtune command: a table of subcommands, each in its own file, over the public library. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "cli/command.h"
#include "cli/message.h"
#include "cli/nearest.h"
#include "cli/screen.h"
#include "cli/table.h"

static const rdt_command *const commands[] = {
    &rdt_cmd_tune,   &rdt_cmd_reduce,  &rdt_cmd_emit,   &rdt_cmd_show,
    &rdt_cmd_ladder, &rdt_cmd_explain, &rdt_cmd_report, &rdt_cmd_export,
    &rdt_cmd_import, &rdt_cmd_merge,   &rdt_cmd_undo,   &rdt_cmd_compare,
    &rdt_cmd_verify, &rdt_cmd_bake,    &rdt_cmd_doctor, &rdt_cmd_worker,
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands, HEAD_BYTES = 512 };

static const rdt_command *find_command(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

static int unknown_command(const char *word) {
    rdt_nearest near = {.word = word};
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!commands[i]->hidden) rdt_nearest_try(&near, commands[i]->name);
    rdt_message_print("'%.200s' is no command; %s%s%sredtune --help lists them", word,
                      near.name ? "did you mean " : "", near.name ? near.name : "",
                      near.name ? "? " : "");
    return RDT_EXIT_MISUSED;
}

static void print_command_help(const rdt_command *command) {
    char head[HEAD_BYTES];
    snprintf(head, sizeof head, "redtune %s: %s.\n\nUsage: redtune %s%s%s [OPTION...]\n\n",
             command->name, command->summary, command->name, command->argument ? " " : "",
             command->argument ? command->argument : "");
    rdt_screen_print_prose(head, stdout);
    if (command->details) {
        rdt_screen_print_prose(command->details, stdout);
        putchar('\n');
    }
    puts("Options:");
    rdt_options_print(command->bit, stdout);
}

static void print_help(void) {
    rdt_table lines = {.column_count = 2, .right = "ll"};
    rdt_screen_print_prose(
        "redtune finds the fastest reduction kernel for a GPU, remembers it, and runs it.\n\n"
        "Usage: redtune [OPTION...] [COMMAND] [OPTION...]\n\n"
        "Commands:\n",
        stdout);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (commands[i]->hidden) continue;
        rdt_table_add(&lines, "  %s%s%s", commands[i]->name, commands[i]->argument ? " " : "",
                      commands[i]->argument ? commands[i]->argument : "");
        rdt_table_add(&lines, "%s", commands[i]->summary);
    }
    rdt_table_print(&lines, stdout);
    rdt_screen_print_prose(
        "\nredtune alone prints what is there. With options and no command it tunes:\n", stdout);
    rdt_options_print(RDT_TUNE | RDT_BARE, stdout);
    rdt_screen_print_prose(
        "\nThe options of another command: redtune help COMMAND.\n"
        "Results go to stdout, progress and messages to stderr. Exit status: 0 done, 1 failed,\n"
        "2 wrong usage, 130 interrupted.\n",
        stdout);
}

int main(int argc, char **argv) {
    const rdt_command *command = commands[0];
    bool bare = true, help = argc > 1 && !strcmp(argv[1], "help");
    const int first = 1 + help;
    char **words = argv + first;
    int word_count = argc > first ? argc - first : 0;
    signal(SIGXFSZ, SIG_IGN); /* ulimit -f: an error of the write, which is told */
    if (argc <= 1) return rdt_message_finish(rdt_cmd_overview());
    const int at = rdt_options_find_command(words, word_count);
    if (at < word_count) {
        command = find_command(words[at]);
        if (!command) return unknown_command(words[at]);
        bare = false;
        memmove(words + 1, words, (size_t)at * sizeof *words);
        words++;
        word_count--;
    }

    rdt_options options;
    redtune_error err;
    if (rdt_options_parse(command, bare ? command->bit | RDT_BARE : command->bit, words, word_count,
                          help, &options, &err))
        return rdt_message_fail(&err);
    int code = RDT_EXIT_DONE;
    if (options.help && bare)
        print_help();
    else if (options.help)
        print_command_help(command);
    else if (options.version)
        puts("redtune " REDTUNE_VERSION);
    else
        code = command->run(&options);
    return rdt_message_finish(code);
}
