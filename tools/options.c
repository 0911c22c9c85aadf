/* SPDX-License-Identifier: Apache-2.0 */
/* Options of subcommands from declared tables: parsing, help, manual pages, shell completion. */
#include "config.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>

#include "tenon/base/file.h"
#include "tenon/base/num.h"

const tnt_option tnt_common_options[] = {
    {"config", 0, TNT_LIST, "FILE", "read this INI file after the others; may be repeated"},
    {"set", 0, TNT_LIST, "SECTION.NAME.KEY=VALUE",
     "set one configuration value; keys of [tenon] are written tenon.KEY"},
    {"tuning-db", 0, TNT_VALUE, "FILE",
     "tuning database, replaces [tenon] tuning_db; `none` for none"},
    {"plugin-path", 0, TNT_VALUE, "DIRS", "look for plugins here first; colon-separated"},
    {"debug", 0, TNT_VALUE, "LIST",
     "verify-each (the default), no-verify, roundtrip, compact, skip=PASS, stop-after=PASS, "
     "print=PASS"},
    {"log", 0, TNT_VALUE, "LEVEL", "error, warn, info or debug"},
    {"quiet", 'q', TNT_FLAG, NULL, "print only results, warnings and errors"},
    {"help", 'h', TNT_FLAG, NULL, "show this help"},
    {0}};

/* ---- parsing ---- */

static const tnt_option *
find_in(const tnt_option *table, const char *name, size_t n, char letter)
{
    for (; table && table->name; table++)
        if (name ? (strlen(table->name) == n && memcmp(table->name, name, n) == 0)
                 : table->letter == letter)
            return table;
    return NULL;
}

static const tnt_option *
find_option(const tnt_command *c, const char *name, size_t n, char letter)
{
    const tnt_option *o = find_in(c->options, name, n, letter);
    return o ? o : find_in(tnt_common_options, name, n, letter);
}

static bool misused;

int
tnt_failure(void)
{
    return misused ? TNT_USAGE : TNT_FAILED;
}

int
tnt_usage(const tnt_command *c, const char *fmt, ...)
{
    va_list ap;
    misused = true;
    va_start(ap, fmt);
    fprintf(stderr, "tenon %s: ", c->name);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n  hint: usage: tenon %s [options]%s%s; tenon %s --help\n", c->name,
            *c->operands ? " " : "", c->operands, c->name);
    return TNT_USAGE;
}

int
tnt_unknown(const tnt_command *c, const char *what, const char *word, const char *const *names,
            uint32_t n)
{
    const char *near = tnb_nearest(word, names, n);
    return tnt_usage(c, "%s '%s'%s%s%s", what, word, near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

void
tnt_remark(const tnt_args *a, const char *fmt, ...)
{
    va_list ap;
    if (tnt_has(a, "quiet"))
        return;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}

static int
unknown_option(const tnt_command *c, const char *text, size_t n)
{
    const char *names[96];
    uint32_t k = 0;
    for (const tnt_option *o = c->options; o && o->name && k < 64; o++)
        names[k++] = o->name;
    for (const tnt_option *o = tnt_common_options; o->name && k < 96; o++)
        names[k++] = o->name;
    char name[64] = "";
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), text);
    const char *near = tnb_nearest(name, names, k);
    return near ? tnt_usage(c, "unknown option '--%s' (did you mean '--%s'?)", name, near)
                : tnt_usage(c, "unknown option '--%s'", name);
}

/* No value at all is most likely a variable of the shell that is not set: it must not mean what is the default. */
static bool
is_blank(const tnt_option *o, const char *value)
{
    const char *skipped = strcmp(o->name, "target") == 0 ? " \t," : " \t";
    return !o->blank && value[strspn(value, skipped)] == '\0';
}

static void
give(tnt_args *a, const tnt_option *o, const char *value)
{
    a->given[a->n_given].option = o;
    a->given[a->n_given++].value = value;
}

/* -abc, -ofile, -o file */
static int
parse_short(const tnt_command *c, int argc, char **argv, int *i, tnt_args *out)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        const tnt_option *o = find_option(c, NULL, 0, *p);
        if (!o)
            return tnt_usage(c, "unknown option '-%c'", *p);
        if (o->kind == TNT_FLAG) {
            give(out, o, NULL);
            continue;
        }
        const char *v = p[1] ? p + 1 : *i + 1 < argc ? argv[++*i] : NULL;
        if (!v || is_blank(o, v))
            return tnt_usage(c, "option '-%c' needs a value (%s)%s", *p, o->metavar,
                             v ? ", but the given one is empty" : "");
        give(out, o, v);
        return TNT_OK;
    }
    return TNT_OK;
}

static int
parse_long(const tnt_command *c, int argc, char **argv, int *i, tnt_args *out)
{
    const char *text = argv[*i] + 2, *eq = strchr(text, '=');
    size_t n = eq ? (size_t)(eq - text) : strlen(text);
    const tnt_option *o = find_option(c, text, n, 0);
    if (!o)
        return unknown_option(c, text, n);
    if (o->kind == TNT_FLAG) {
        if (eq)
            return tnt_usage(c, "option '--%s' takes no value", o->name);
        give(out, o, NULL);
        return TNT_OK;
    }
    const char *v = eq ? eq + 1 : *i + 1 < argc ? argv[++*i] : NULL;
    if (!v || is_blank(o, v))
        return tnt_usage(c, "option '--%s' needs a value (%s)%s", o->name, o->metavar,
                         v ? ", but the given one is empty" : "");
    give(out, o, v);
    return TNT_OK;
}

/* The first of the names in "a|b|c" of which `is` is true, or NULL. */
static const char *
first_of(const char *names, bool (*is)(const tnt_args *a, const char *name), const tnt_args *a,
         char out[64])
{
    for (const char *p = names; p && *p;) {
        const size_t n = strcspn(p, "|");
        snprintf(out, 64, "%.*s", (int)n, p);
        if (is(a, out))
            return out;
        p += n + (p[n] == '|');
    }
    return NULL;
}

static bool
is_named(const char *names, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = names; n && p && (p = strstr(p, name)); p += n)
        if ((p == names || p[-1] == '|') && (p[n] == '|' || !p[n]))
            return true;
    return false;
}

bool
tnt_has_effect(const tnt_command *c, const tnt_option *o, const char *operand)
{
    const size_t n = strlen(o->name);
    const bool common = find_in(tnt_common_options, o->name, n, 0) == o;
    if (common && (find_in(c->options, o->name, n, 0) || is_named(c->ignores, o->name)))
        return false;
    for (const char *const *e = c->effects; operand && e && *e; e++)
        if (strncmp(*e, o->name, n) == 0 && (*e)[n] == ' ')
            return is_named(*e + n + 1, operand);
    return true;
}

/* Files and folders that are written, but for what `tenon opt` prints. */
static bool
is_written(const tnt_command *c, const tnt_option *o)
{
    static const char *const names[] = {"output",  "output-dir", "reproducer",
                                        "dump-ir", "trace",      "tuning-db"};
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is |= strcmp(o->name, names[i]) == 0;
    return is && !(strcmp(c->name, "opt") == 0 && strcmp(o->name, "output") == 0);
}

/* An option without effect is a mistake, and so is one whose value cannot be meant. */
static int
check_effects(const tnt_command *c, const tnt_args *a)
{
    char name[64], words[512];
    for (int i = 0; i < a->n_given; i++) {
        const tnt_option *o = a->given[i].option;
        const char *value = a->given[i].value;
        if (value && strcmp(value, "-") == 0 && is_written(c, o))
            return tnt_usage(c, "option '--%s' needs a name: nothing is written to standard output",
                             o->name);
        if (value && o->metavar && strcmp(o->metavar, "NAME=FILE") == 0 && !strchr(value, '='))
            return tnt_usage(c,
                             "option '--%s': expected NAME=FILE or #INDEX=FILE, found '%s'; tenon "
                             "show model prints the names",
                             o->name, value);
        if (o->needs && !first_of(o->needs, tnt_has, a, name)) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(o->needs, "|"), o->needs);
            return tnt_usage(c, "option '--%s' has no effect without '--%s'", o->name, name);
        }
        if (first_of(o->without, tnt_has, a, name))
            return tnt_usage(c, "option '--%s' has no effect beside '--%s'", o->name, name);
        if (!tnt_has_effect(c, o, NULL))
            return tnt_usage(c, "option '--%s' has no effect on 'tenon %s'", o->name, c->name);
        snprintf(words, sizeof words, "%.*s", (int)strcspn(c->operands, " "), c->operands);
        if (a->n_operands && is_named(words, a->operands[0]) &&
            !tnt_has_effect(c, o, a->operands[0]))
            return tnt_usage(c, "option '--%s' has no effect on '%s %s'%s", o->name, c->name,
                             a->operands[0],
                             strcmp(o->name, "json") == 0
                                 ? ", a page of text: 'tenon list' and 'show' of one thing have it"
                                 : "");
    }
    return TNT_OK;
}

int
tnt_parse(const tnt_command *c, int argc, char **argv, tnt_args *out)
{
    memset(out, 0, sizeof *out);
    out->command = c;
    /* each word gives at most as many options as it has letters */
    size_t room = 1;
    for (int i = 0; i < argc; i++)
        room += strlen(argv[i]) + 1;
    out->operands = calloc((size_t)argc + 1, sizeof *out->operands);
    out->given = calloc(room, sizeof *out->given);
    if (!out->operands || !out->given) {
        tnt_args_free(out);
        fputs("tenon: out of memory\n", stderr);
        return TNT_FAILED;
    }
    int status = TNT_OK;
    for (int i = 0, only = 0; i < argc && status == TNT_OK; i++) {
        const char *w = argv[i];
        if (!only && strcmp(w, "--") == 0)
            only = 1;
        else if (!only && w[0] == '-' && w[1] == '-')
            status = parse_long(c, argc, argv, &i, out);
        else if (!only && w[0] == '-' && w[1])
            status = parse_short(c, argc, argv, &i, out);
        else
            out->operands[out->n_operands++] = w;
    }
    if (status == TNT_OK && out->n_operands < c->min_operands)
        status = tnt_usage(c, "an operand is missing");
    if (status == TNT_OK && c->max_operands >= 0 && out->n_operands > c->max_operands)
        status = tnt_usage(c, "unexpected operand '%s'", out->operands[c->max_operands]);
    if (status == TNT_OK && !tnt_has(out, "help"))
        status = check_effects(c, out);
    if (status != TNT_OK)
        tnt_args_free(out);
    return status;
}

void
tnt_args_free(tnt_args *a)
{
    free(a->operands);
    free(a->given);
    memset(a, 0, sizeof *a);
}

/* ---- values ---- */

bool
tnt_is_misnamed(const tnt_args *a, const char *written, const char *out, const char *const *others,
                const char *more)
{
    for (; *others; others++)
        if (tnb_ends_with(out, *others)) {
            tnt_usage(a->command, "%s, and '%s' would say it is something else (%s)", written, out,
                      more);
            return true;
        }
    return false;
}

bool
tnt_has(const tnt_args *a, const char *name)
{
    for (int i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0)
            return true;
    return false;
}

const char *
tnt_value(const tnt_args *a, const char *name, const char *otherwise)
{
    for (int i = a->n_given; i-- > 0;)
        if (strcmp(a->given[i].option->name, name) == 0)
            return a->given[i].value;
    return otherwise;
}

const char **
tnt_values(const tnt_args *a, const char *name, uint32_t *n)
{
    const char **out = calloc((size_t)a->n_given + 1, sizeof *out);
    *n = 0;
    if (!out)
        fputs("tenon: out of memory\n", stderr);
    for (int i = 0; out && i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0)
            out[(*n)++] = a->given[i].value;
    return out;
}

/* "64", and as large ones are written: "1e9", "2.5e6". */
static bool
read_whole(const char *text, int64_t *out)
{
    double f;
    size_t n = strlen(text);
    if (tnb_read_i64(text, n, out))
        return true;
    if (!strpbrk(text, "eE") || !tnb_read_f64(text, n, &f) || !(fabs(f) <= 0x1p53) || f != floor(f))
        return false;
    *out = (int64_t)f;
    return true;
}

bool
tnt_int(const tnt_args *a, const char *name, int64_t otherwise, int64_t lo, int64_t hi,
        int64_t *out)
{
    const char *v = tnt_value(a, name, NULL);
    *out = otherwise;
    if (!v)
        return true;
    if (read_whole(v, out) && *out >= lo && *out <= hi)
        return true;
    tnt_usage(a->command, "option '--%s': expected an integer from %lld to %lld, found '%s'", name,
              (long long)lo, (long long)hi, v);
    return false;
}

bool
tnt_float(const tnt_args *a, const char *name, double otherwise, double lo, double hi, double *out)
{
    const char *v = tnt_value(a, name, NULL);
    *out = otherwise;
    if (!v || (tnb_read_f64(v, strlen(v), out) && *out >= lo && *out <= hi))
        return true;
    char least[32], most[32] = "";
    snprintf(least, sizeof least, lo == TNT_ABOVE_0 ? "above 0" : "of at least %.0f", lo);
    if (hi < TNT_FINITE)
        snprintf(most, sizeof most, " and at most %.0f", hi);
    tnt_usage(a->command, "option '--%s': expected a number %s%s, found '%s'", name, least, most,
              v);
    return false;
}

/* ---- help ---- */

/* Those that `c` has itself are left out; NULL: all. */
static void
print_options(const tnt_option *o, const tnt_command *c)
{
    for (; o && o->name; o++) {
        if (c && !tnt_has_effect(c, o, NULL))
            continue;
        char left[64];
        char letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->metavar ? " " : "",
                 o->metavar ? o->metavar : "");
        printf(strlen(left) > 30 ? "  %s\n%34s%s\n" : "  %-30s  %s%s\n", left,
               strlen(left) > 30 ? "" : o->doc, strlen(left) > 30 ? o->doc : "");
    }
}

void
tnt_print_help(const tnt_command *c)
{
    if (!c) {
        puts("Usage: tenon SUBCOMMAND [options] ...\n\nCompiles machine-learning models and runs "
             "them.\n\nSubcommands:");
        for (int i = 0; tnt_commands[i]; i++)
            printf("  %-12s  %s\n", tnt_commands[i]->name, tnt_commands[i]->summary);
        puts("\nSee `tenon SUBCOMMAND --help`; `tenon --version` prints the version.");
        return;
    }
    printf("Usage: tenon %s [options]%s%s\n\n%s.\n", c->name, *c->operands ? " " : "", c->operands,
           c->summary);
    if (c->details)
        printf("\n%s\n", c->details);
    if (c->options && c->options->name) {
        puts("\nOptions:");
        print_options(c->options, NULL);
    }
    puts("\nCommon options:");
    print_options(tnt_common_options, c);
    if (c->examples)
        puts("\nExamples:");
    for (const char *const *e = c->examples; e && e[0]; e += 2)
        printf("  %s\n      %s\n", e[0], e[1]);
}

/* ---- manual pages ---- */

static void
roff(FILE *out, const char *s)
{
    for (bool start = true; *s; s++) {
        if (start && (*s == '.' || *s == '\''))
            fputs("\\&", out);
        if (*s == '-')
            fputs("\\-", out);
        else if (*s == '\\')
            fputs("\\e", out);
        else if (*s == '\n' && s[1] == '\n') {
            fputs("\n.PP\n", out);
            s++;
        } else
            fputc(*s, out);
        start = *s == '\n';
    }
}

static void
roff_options(FILE *out, const tnt_option *o, const tnt_command *c)
{
    for (; o && o->name; o++) {
        if (c && !tnt_has_effect(c, o, NULL))
            continue;
        fputs(".TP\n", out);
        if (o->letter)
            fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
        fputs("\\fB\\-\\-", out);
        roff(out, o->name);
        fputs("\\fR", out);
        if (o->metavar) {
            fputs(" \\fI", out);
            roff(out, o->metavar);
            fputs("\\fR", out);
        }
        fputs("\n", out);
        roff(out, o->doc);
        fputs("\n", out);
    }
}

/* Of the page tenon(1): name, what it is, ..., NULL. */
static const char *const files[] = {
    "$XDG_CONFIG_HOME/tenon/tenon.ini",
    "The user's settings (without the variable: ~/.config).",
    "$XDG_CACHE_HOME/tenon",
    "Compiled kernels; may be emptied at any time (without the variable: ~/.cache).",
    "$XDG_DATA_HOME/tenon/tuning.jsonl",
    "Schedules that tenon tune measured (without the variable: ~/.local/share).",
    NULL};
static const char *const environment[] = {
    "TENON_CONFIG",
    "Further INI files, separated by colons, read after the user's.",
    "TENON_PLUGIN_PATH",
    "Folders that are searched for plugins before the configured and installed ones, separated by "
    "colons.",
    "TENON_SYSCONFDIR, TENON_DATADIR",
    "Replace the installed folders of the site's and the packages' INI files.",
    "CC",
    "The C compiler of the target cpu (default: cc, gcc or clang on PATH).",
    "PATH",
    "Where the C compiler is searched for; a privileged process searches the system's folders "
    "only.",
    "TERM",
    "No progress bar is shown if it is unset or `dumb`.",
    "TMPDIR",
    "Folder for temporary files while kernels are compiled.",
    "XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_DATA_HOME, HOME",
    "See FILES.",
    NULL};

static void
roff_term(FILE *out, const char *term, const char *what)
{
    fputs(".TP\n", out);
    roff(out, term);
    fputs("\n", out);
    roff(out, what);
    fputs("\n", out);
}

static void
roff_terms(FILE *out, const char *title, const char *const *t)
{
    if (title)
        fprintf(out, ".SH %s\n", title);
    for (; t[0]; t += 2)
        roff_term(out, t[0], t[1]);
    fputs(".PP\n", out);
}

/* The site's folders are where this program finds them. */
static void
roff_files(FILE *out)
{
    const tnb_places *p = tnb_places_get();
    char term[4096], what[4096];
    snprintf(term, sizeof term, "%s/tenon.ini, targets/*.ini, profiles/*.ini, conf.d/*.ini",
             p ? p->conf : "?");
    snprintf(what, sizeof what,
             "The site's settings; %s holds those of packages. `tenon show config` names every "
             "file that counts.",
             p ? p->data : "?");
    fputs(".SH FILES\n", out);
    roff_term(out, term, what);
    roff_terms(out, NULL, files);
}

void
tnt_print_manual(const tnt_command *c, FILE *out)
{
    if (!c) {
        fprintf(out,
                ".TH TENON 1 \"\" \"tenon %s\"\n.SH NAME\ntenon \\- compile machine\\-learning "
                "models and run them\n"
                ".SH SYNOPSIS\n\\fBtenon\\fR \\fISUBCOMMAND\\fR [options] ...\n.SH SUBCOMMANDS\n",
                PACKAGE_VERSION);
        for (int i = 0; tnt_commands[i]; i++) {
            fprintf(out, ".TP\n\\fBtenon\\-%s\\fR(1)\n", tnt_commands[i]->name);
            roff(out, tnt_commands[i]->summary);
            fputs("\n", out);
        }
        roff_files(out);
        roff_terms(out, "ENVIRONMENT", environment);
        fputs("A process with more rights than its user (set\\-user\\-ID) ignores all of "
              "them.\n.SH EXIT STATUS\n0: success (with a comparison: equal); 1: failure or "
              "difference; 2: wrong usage.\n",
              out);
        return;
    }
    fprintf(out, ".TH TENON\\-%s 1 \"\" \"tenon %s\"\n.SH NAME\ntenon\\-%s \\- ", c->name,
            PACKAGE_VERSION, c->name);
    roff(out, c->summary);
    fprintf(out, "\n.SH SYNOPSIS\n\\fBtenon %s\\fR [options]", c->name);
    if (*c->operands) {
        fputs(" \\fI", out);
        roff(out, c->operands);
        fputs("\\fR", out);
    }
    fputs("\n", out);
    fputs(".SH DESCRIPTION\n", out);
    roff(out, c->details ? c->details : c->summary);
    fputs(c->details ? "\n" : ".\n", out);
    if (c->options && c->options->name) {
        fputs(".SH OPTIONS\n", out);
        roff_options(out, c->options, NULL);
    }
    fputs(".SH COMMON OPTIONS\n", out);
    roff_options(out, tnt_common_options, c);
    if (c->examples)
        fputs(".SH EXAMPLES\n", out);
    for (const char *const *e = c->examples; e && e[0]; e += 2) {
        fputs(".TP\n\\fB", out);
        roff(out, e[0]);
        fputs("\\fR\n", out);
        roff(out, e[1]);
        fputs("\n", out);
    }
    fputs(".SH EXIT STATUS\n0: success (with a comparison: equal); 1: failure or difference; 2: "
          "wrong usage.\n"
          ".SH SEE ALSO\n\\fBtenon\\fR(1)\n",
          out);
}
