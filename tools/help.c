/* SPDX-License-Identifier: Apache-2.0 */
/* tenon help: help on a subcommand; and the manual pages and shell completion that are installed.
 */
#include "tool.h"

static const tnt_option options[] = {{"man", 0, TNT_FLAG, NULL, "print a manual page (roff)",
                                      .without = "completion"},
                                     {"completion", 0, TNT_VALUE, "SHELL",
                                      "print the completion script for bash, zsh or fish"},
                                     {0}};

static int
run(tnt_session *s, const tnt_args *a)
{
    (void)s;
    const tnt_command *c = NULL;
    for (int i = 0; a->n_operands && tnt_commands[i]; i++)
        if (strcmp(tnt_commands[i]->name, a->operands[0]) == 0)
            c = tnt_commands[i];
    const char *names[64];
    uint32_t n = 0;
    while (tnt_commands[n] && n < 64) {
        names[n] = tnt_commands[n]->name;
        n++;
    }
    if (a->n_operands && !c)
        return tnt_unknown(a->command, "unknown subcommand", a->operands[0], names, n);
    const char *shell = tnt_value(a, "completion", NULL);
    if (shell && c)
        return tnt_usage(a->command, "option '--completion' is for all subcommands: leave '%s' out",
                         c->name);
    if (shell && !tnt_print_completion(stdout, shell))
        return tnt_usage(a->command, "no completion for '%s'; there is one for bash, zsh and fish",
                         shell);
    if (shell)
        return TNT_OK;
    if (tnt_has(a, "man"))
        tnt_print_manual(c, stdout);
    else
        tnt_print_help(c);
    return TNT_OK;
}

const tnt_command tnt_command_help = {
    .name = "help",
    .operands = "[SUBCOMMAND]",
    .summary = "show help, manual pages, shell completion",
    .options = options,
    .max_operands = 1,
    .bare = true,
    .ignores = "config|set|tuning-db|plugin-path|debug|log|quiet",
    .run = run,
};
