/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completion from the tables of options: bash, zsh, fish. Subcommands, options, and values: files, words, and names
 * that `tenon list` and `tenon new-plugin --list` print. */
#include "tool.h"

/* What an option takes. "@KIND": names that `tenon list KIND` prints, with options if there are some; "@backends": of `tenon new-plugin --list`;
 * "+KIND": such names with commas between them; "+debug": words of --debug; else words. Those that are not here take a file where
 * their metavar names one, behind NAME= where it says so, else anything. */
static const struct {
    const char *option, *values;
} known[] = {
    {"target", "+targets"},
    {"passes", "+passes"},
    {"dump-only", "+passes"},
    {"profile", "@profiles"},
    {"from", "@backends"},
    {"log", "error warn info debug"},
    {"debug", "+debug"},
    {"mcpu", "native x86-64 x86-64-v2 x86-64-v3 x86-64-v4 generic"},
    {"completion", "bash zsh fish"},
    {"emit", "tno c obj static-lib"},
};

#define DEBUG_WORDS "verify-each no-verify roundtrip compact"
#define DEBUG_PASSES "skip= stop-after= print="

/* The first operand of a command, by which names follow; "@files": a file. */
static const struct {
    const char *command, *what, *values;
} shown[] = {{"show", "plugin", "@plugins --why"},
             {"show", "pass", "@passes"},
             {"show", "rule", "@rules"},
             {"show", "op", "@ops"},
             {"show", "target", "@targets"},
             {"show", "pipeline", "@targets"},
             {"show", "model", "@files"},
             {"show", "kernel", "@files"},
             {"show", "placement", "@files"},
             {"list", "legalizers", "@targets"},
             {"plugin", "enable", "@plugins --why"},
             {"plugin", "disable", "@plugins"}};

enum { N_KNOWN = sizeof known / sizeof *known, N_SHOWN = sizeof shown / sizeof *shown };

/* NULL: anything. */
static const char *
values_of(const tnt_option *o)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].option, o->name) == 0)
            return known[i].values;
    if (o->metavar && strcmp(o->metavar, "NAME=FILE") == 0)
        return "@named_files";
    return o->metavar && (strstr(o->metavar, "FILE") || strstr(o->metavar, "DIR")) ? "@files"
                                                                                   : NULL;
}

/* The words of "a|b|c [NAME]"; NULL where the operands are none of a list. */
static const char *
operand_words(const tnt_command *c, char *text, size_t size)
{
    if (!strchr(c->operands, '|') || strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ[", *c->operands))
        return NULL;
    snprintf(text, size, "%.*s", (int)strcspn(c->operands, " "), c->operands);
    for (char *p = text; *p; p++)
        *p = *p == '|' ? ' ' : *p;
    return text;
}

/* Text between single quotes: `quote` stands for one, and a backslash before each of `special`. */
static void
put_quoted(FILE *out, const char *s, const char *quote, const char *special)
{
    for (; *s; s++)
        if (*s == '\'')
            fputs(quote, out);
        else
            fprintf(out, "%s%c", strchr(special, *s) ? "\\" : "", *s);
}

/* ---- bash ---- */

/* `-x|--xx` of the options that take `values`, over all commands, as a pattern of case; false: there are none. */
static bool
bash_pattern(FILE *out, const char *values)
{
    const char *done[256];
    uint32_t n = 0;
    for (int i = -1; i < 0 || tnt_commands[i]; i++) {
        const tnt_option *o = i < 0 ? tnt_common_options : tnt_commands[i]->options;
        for (; o && o->name && n < 256; o++) {
            const char *v = o->kind == TNT_FLAG ? NULL : values_of(o);
            bool new = v &&strcmp(v, values) == 0;
            for (uint32_t k = 0; new &&k < n; k++)
                new = strcmp(done[k], o->name) != 0;
            if (!new)
                continue;
            fprintf(out, n++ ? "|--%s" : "    --%s", o->name);
            done[n - 1] = o->name;
            if (o->letter)
                fprintf(out, "|-%c", o->letter);
        }
    }
    return n > 0;
}

static void
bash_values(FILE *out, const char *values)
{
    if (strcmp(values, "@files") == 0)
        fputs("compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); return",
              out);
    else if (strcmp(values, "+debug") == 0)
        fputs("items=1 words=\"" DEBUG_WORDS " " DEBUG_PASSES "\"", out);
    else if (*values == '@' || *values == '+')
        fprintf(out, "%swords=$(_tenon_names %s)", *values == '+' ? "items=1 " : "", values + 1);
    else
        fprintf(out, "words=\"%s\"", values);
}

/* A line of a case: the options of a command that have an effect beside the operand (NULL: any). */
static void
bash_options(FILE *out, const tnt_command *c, const char *operand)
{
    fprintf(out, "        %s/%s) words=\"", c->name, operand ? operand : "*");
    for (int common = 0; common < 2; common++)
        for (const tnt_option *o = common ? tnt_common_options : c->options; o && o->name; o++)
            if (tnt_has_effect(c, o, operand))
                fprintf(out, " --%s", o->name);
    fputs("\" ;;\n", out);
}

static void
print_bash(FILE *out)
{
    char text[256];
    fputs("# bash completion for tenon\n"
          "_tenon_names()\n{\n"
          "    if [ \"$1\" = backends ]; then \"${COMP_WORDS[0]}\" new-plugin --list\n"
          "    else \"${COMP_WORDS[0]}\" list \"$@\"; fi 2>/dev/null | sed -n 's/^\\([^ "
          "]\\{1,\\}\\).*/\\1/p'\n"
          "}\n"
          "_tenon()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= items= "
          "before=\n"
          "    if [ \"$cur\" = = ]; then cur=\n"
          "    elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    case $prev in\n",
          out);
    for (int i = 0; i < N_KNOWN + 1; i++) {
        const char *values = i < N_KNOWN ? known[i].values : "@files";
        bool had = false; /* options with the same values are in one pattern */
        for (int k = 0; k < i; k++)
            had |= k < N_KNOWN && strcmp(known[k].values, values) == 0;
        if (had || !bash_pattern(out, values))
            continue;
        fputs(") ", out);
        bash_values(out, values);
        fputs(" ;;\n", out);
    }
    /* '=' parts words, so that "skip=FuseOps" are three */
    fputs(
        "    skip|stop-after|print|*,skip|*,stop-after|*,print) words=$(_tenon_names passes) ;;\n"
        "    esac\n    if [ -n \"$words\" ]; then :\n"
        "    elif [ \"$COMP_CWORD\" -eq 1 ] && [[ $cur == -* ]]; then words=\"--help --version\"\n"
        "    elif [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"",
        out);
    for (int i = 0; tnt_commands[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", tnt_commands[i]->name);
    fputs(
        "\"\n    elif [[ $cur == -* ]]; then\n        case ${COMP_WORDS[1]}/${COMP_WORDS[2]} in\n",
        out);
    for (int i = 0; tnt_commands[i]; i++) {
        const char *of =
            tnt_commands[i]->effects ? operand_words(tnt_commands[i], text, sizeof text) : NULL;
        char word[64];
        for (size_t n; of && *of; of += n + (of[n] == ' ')) {
            n = strcspn(of, " ");
            snprintf(word, sizeof word, "%.*s", (int)n, of);
            bash_options(out, tnt_commands[i], word);
        }
        bash_options(out, tnt_commands[i], NULL);
    }
    fputs("        esac\n    elif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
          "        case ${COMP_WORDS[1]} in\n        help) words=\"",
          out);
    for (int i = 0; tnt_commands[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", tnt_commands[i]->name);
    fputs("\" ;;\n", out);
    for (int i = 0; tnt_commands[i]; i++)
        if (operand_words(tnt_commands[i], text, sizeof text))
            fprintf(out, "        %s) words=\"%s\" ;;\n", tnt_commands[i]->name, text);
    fputs("        esac\n    elif [ \"$COMP_CWORD\" -eq 3 ]; then\n"
          "        case ${COMP_WORDS[1]}-${COMP_WORDS[2]} in\n",
          out);
    for (int i = 0; i < N_SHOWN; i++) {
        fprintf(out, "        %s-%s) ", shown[i].command, shown[i].what);
        bash_values(out, shown[i].values);
        fputs(" ;;\n", out);
    }
    fputs("        esac\n    fi\n"
          "    if [ -n \"$items\" ] && [[ $cur == *,* ]]; then before=${cur%,*},; fi\n"
          "    if [ -n \"$words\" ]; then\n"
          "        COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"${cur#\"$before\"}\"))\n"
          "        if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi\n"
          "    else compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
          "}\ncomplete -F _tenon tenon\n",
          out);
}

/* ---- zsh ---- */

/* What ends a description or a message of _arguments is escaped. */
static void
zsh_text(FILE *out, const char *s)
{
    put_quoted(out, s, "'\\''", "[]:\\");
}

static void
zsh_values(FILE *out, const char *values)
{
    if (!values)
        fputs(" ", out);
    else if (strcmp(values, "@files") == 0)
        fputs("_files", out);
    else if (strcmp(values, "@named_files") == 0)
        fputs("{compset -P \"*=\" && _files}", out);
    else if (*values == '@' || *values == '+')
        fprintf(out, "{_tenon_%s %s}", *values == '@' ? "names" : "items", values + 1);
    else
        fprintf(out, "(%s)", values);
}

static void
zsh_options(FILE *out, const tnt_option *o, const tnt_command *c, const char *operand)
{
    for (; o && o->name; o++) {
        if (!tnt_has_effect(c, o, operand))
            continue;
        const char *many = o->kind == TNT_LIST ? "*" : "";
        for (int form = o->letter ? 0 : 1; form < 2; form++) {
            fputs(" \\\n            '", out);
            if (form == 0)
                fprintf(out, "%s-%c[", many, o->letter);
            else
                fprintf(out, "%s--%s%s[", many, o->name, o->kind == TNT_FLAG ? "" : "=");
            zsh_text(out, o->doc);
            fputc(']', out);
            if (o->kind != TNT_FLAG) {
                fputc(':', out);
                zsh_text(out, o->metavar);
                fputc(':', out);
                zsh_values(out, values_of(o));
            }
            fputc('\'', out);
        }
    }
}

/* The call that completes options and operands of a command beside its first operand (NULL: any). */
static void
zsh_arguments(FILE *out, const tnt_command *c, const char *operand)
{
    char text[256];
    fputs(" _arguments", out);
    zsh_options(out, c->options, c, operand);
    zsh_options(out, tnt_common_options, c, operand);
    if (strcmp(c->name, "help") == 0)
        fputs(" \\\n            '1:subcommand:{_describe subcommand commands}'", out);
    else if (operand_words(c, text, sizeof text))
        fprintf(out, " \\\n            '1:what:(%s)'", text);
    bool named = false;
    for (int k = 0; k < N_SHOWN; k++)
        named |= strcmp(shown[k].command, c->name) == 0;
    if (named)
        fputs(" \\\n            '2:name:_tenon_shown' '3:name: '", out);
    else if (*c->operands && !operand_words(c, text, sizeof text) && strcmp(c->name, "help"))
        fputs(" \\\n            '*:file:_files'", out);
    fputs(" ;;\n", out);
}

static void
print_zsh(FILE *out)
{
    char text[256];
    fputs("#compdef tenon\n# zsh completion for tenon\n"
          "_tenon_names()\n{\n    local -a names\n"
          "    if [[ $1 == backends ]]; then names=(${${(f)\"$(_call_program names tenon "
          "new-plugin --list 2>/dev/null)\"}%% *})\n"
          "    else names=(${${(f)\"$(_call_program names tenon list $@ 2>/dev/null)\"}%% *}); fi\n"
          "    compadd -a names\n}\n"
          "_tenon_items()\n{\n"
          "    compset -P '*, #'\n"
          "    if [[ $1 != debug ]]; then _tenon_names $1\n"
          "    elif compset -P '(skip|stop-after|print)='; then _tenon_names passes\n"
          "    else compadd " DEBUG_WORDS "; compadd -S '' " DEBUG_PASSES "; fi\n}\n"
          "_tenon()\n{\n    local -a commands\n    commands=(\n",
          out);
    for (int i = 0; tnt_commands[i]; i++) {
        fprintf(out, "        '%s:", tnt_commands[i]->name);
        zsh_text(out, tnt_commands[i]->summary);
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )) && [[ $PREFIX == -* ]]; then compadd -- --help "
          "--version; return; fi\n"
          "    if (( CURRENT == 2 )); then _describe subcommand commands; return; fi\n"
          "    local command=$words[2]\n    shift words; (( CURRENT-- ))\n    case $command in\n",
          out);
    for (int i = 0; tnt_commands[i]; i++) {
        const tnt_command *c = tnt_commands[i];
        const char *of = c->effects ? operand_words(c, text, sizeof text) : NULL;
        char word[64];
        fprintf(out, "        %s)%s", c->name, of ? "\n        case $words[2] in\n" : "");
        for (size_t n; of && *of; of += n + (of[n] == ' ')) {
            n = strcspn(of, " ");
            snprintf(word, sizeof word, "%.*s", (int)n, of);
            fprintf(out, "        %s)", word);
            zsh_arguments(out, c, word);
        }
        if (c->effects)
            fputs("        *)", out);
        zsh_arguments(out, c, NULL);
        if (c->effects)
            fputs("        esac ;;\n", out);
    }
    fputs("    esac\n}\n_tenon_shown()\n{\n    case $command-$line[1] in\n", out);
    for (int i = 0; i < N_SHOWN; i++)
        fprintf(out,
                strcmp(shown[i].values, "@files") == 0 ? "        %s-%s) _files ;;\n"
                                                       : "        %s-%s) _tenon_names %s ;;\n",
                shown[i].command, shown[i].what, shown[i].values + 1);
    fputs("    esac\n}\n_tenon \"$@\"\n", out);
}

/* ---- fish ---- */

static void
fish_text(FILE *out, const char *s)
{
    put_quoted(out, s, "\\'", "\\");
}

static void
fish_values(FILE *out, const char *values)
{
    if (!values)
        fputs(" -x", out);
    else if (strcmp(values, "@files") == 0 || strcmp(values, "@named_files") == 0)
        fputs(" -r -F", out); /* fish completes behind '=' by itself */
    else if (*values == '@' || *values == '+')
        fprintf(out, " -x -a '(__tenon_%s %s)'", *values == '@' ? "names" : "items", values + 1);
    else
        fprintf(out, " -x -a '%s'", values);
}

/* The option of each command that it has an effect on, beside the operands where it has. */
static void
fish_option(FILE *out, const tnt_option *o, const tnt_command *c)
{
    char text[256], word[64];
    const char *of = c->effects ? operand_words(c, text, sizeof text) : NULL;
    bool all = true;
    tnb_buf beside = {0};
    for (size_t n; of && *of; of += n + (of[n] == ' ')) {
        n = strcspn(of, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, of);
        bool has = tnt_has_effect(c, o, word);
        all &= has;
        if (has)
            tnb_buf_printf(&beside, " %s", word);
    }
    if (!tnt_has_effect(c, o, NULL)) {
        tnb_buf_free(&beside);
        return;
    }
    fprintf(out, "complete -c tenon -n '__tenon_is %s%s'", c->name,
            all || !beside.s ? "" : beside.s);
    tnb_buf_free(&beside);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    fprintf(out, " -l %s", o->name);
    if (o->kind != TNT_FLAG)
        fish_values(out, values_of(o));
    fputs(" -d '", out);
    fish_text(out, o->doc);
    fputs("'\n", out);
}

static void
print_fish(FILE *out)
{
    char text[256];
    fputs(
        "# fish completion for tenon\n"
        "function __tenon_names\n"
        "    if test $argv[1] = backends\n        tenon new-plugin --list 2>/dev/null\n"
        "    else\n        tenon list $argv 2>/dev/null\n"
        "    end | string match -r '^[^ ]+'\nend\n"
        "function __tenon_items\n"
        "    set -l word (commandline -ct | string replace -r '^--[a-z-]+=' '' | string trim -l -c "
        "'\"\\'')\n"
        "    set -l before (string match -r '^.*, *' -- $word)\n"
        "    set -l item (string replace -r '^.*, *' '' -- $word)\n"
        "    set -l key (string match -r '^(?:skip|stop-after|print)=' -- $item)\n"
        "    for name in (if test $argv[1] != debug; __tenon_names $argv; else if test -n "
        "\"$key\"; "
        "__tenon_names passes; else; string split ' ' '" DEBUG_WORDS " " DEBUG_PASSES "'; end)\n"
        "        echo -- \"$before$key$name\"\n    end\nend\n"
        "# the command, and beside it one of the operands\n"
        "function __tenon_is\n"
        "    set -l words (commandline -opc)\n"
        "    test \"$words[2]\" = $argv[1]; or return 1\n"
        "    test (count $argv) -eq 1; and return 0\n"
        "    for word in $words[3..]\n"
        "        contains -- $word $argv[2..]; and return 0\n    end\n    return 1\nend\n"
        "complete -c tenon -n __fish_use_subcommand -l help -d 'list the commands'\n"
        "complete -c tenon -n __fish_use_subcommand -l version -d 'print the version'\n",
        out);
    for (int i = 0; tnt_commands[i]; i++) {
        fprintf(out, "complete -c tenon -n __fish_use_subcommand -f -a %s -d '",
                tnt_commands[i]->name);
        fish_text(out, tnt_commands[i]->summary);
        fputs("'\n", out);
    }
    fputs("complete -c tenon -n '__tenon_is help' -f -a '", out);
    for (int i = 0; tnt_commands[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", tnt_commands[i]->name);
    fputs("'\n", out);
    for (int i = 0; tnt_commands[i]; i++) {
        const tnt_command *c = tnt_commands[i];
        for (int common = 0; common < 2; common++)
            for (const tnt_option *o = common ? tnt_common_options : c->options; o && o->name; o++)
                fish_option(out, o, c);
        if (operand_words(c, text, sizeof text))
            fprintf(out,
                    "complete -c tenon -n '__tenon_is %s; and not __tenon_is %s %s' -f -a '%s'\n",
                    c->name, c->name, text, text);
        if (!*c->operands || operand_words(c, text, sizeof text))
            fprintf(out, "complete -c tenon -n '__tenon_is %s' -f\n", c->name);
    }
    for (int i = 0; i < N_SHOWN; i++) {
        fprintf(out, "complete -c tenon -n '__tenon_is %s %s'", shown[i].command, shown[i].what);
        fish_values(out, shown[i].values);
        fputs("\n", out);
    }
}

bool
tnt_print_completion(FILE *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(out);
    else if (strcmp(shell, "fish") == 0)
        print_fish(out);
    else
        return false;
    return true;
}
