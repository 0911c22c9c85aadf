/* SPDX-License-Identifier: Apache-2.0 */
/* The machine that a target's mtriple names: whether it is one that C is emitted for, and whether its compiler takes the mcpu and has
 * the headers of a C library. Compilers themselves take nearly any triple and notice late, or never.
 *
 *     aarch64-linux-gnu   arm-none-eabi   x86_64-w64-mingw32   riscv64-unknown-linux-musl
 *     ARCHITECTURE[-VENDOR]-SYSTEM[-ENVIRONMENT], the last two with a version behind them where there is one
 */
#include "cpu.h"

#include "tenon/base/file.h"

enum { MAX_PARTS = 8, MAX_LISTED = 512 };

static const struct architecture {
    const char *name, *cpu_option;
} architectures[] = {
    {"x86_64", "-march="},   {"amd64", "-march="},       {"i386", "-march="},
    {"i486", "-march="},     {"i586", "-march="},        {"i686", "-march="},
    {"aarch64", "-mcpu="},   {"arm64", "-mcpu="},        {"arm", "-mcpu="},
    {"armv6", "-mcpu="},     {"armv6l", "-mcpu="},       {"armv7", "-mcpu="},
    {"armv7a", "-mcpu="},    {"armv7l", "-mcpu="},       {"armv7hl", "-mcpu="},
    {"armv8l", "-mcpu="},    {"thumbv7em", "-mcpu="},    {"thumbv7m", "-mcpu="},
    {"riscv32", "-mcpu="},   {"riscv64", "-mcpu="},      {"powerpc64le", "-mcpu="},
    {"ppc64le", "-mcpu="},   {"loongarch64", "-march="}, {"mipsel", "-march="},
    {"mips64el", "-march="},
};
static const char *const big_endian[] = {"s390x",      "powerpc", "powerpc64", "ppc",     "ppc64",
                                         "mips",       "mips64",  "sparc",     "sparc64", "sparcv9",
                                         "aarch64_be", "armeb",   "m68k",      "hppa"};
static const char *const systems[] = {"linux",      "none",   "elf",     "eabi",      "eabihf",
                                      "freebsd",    "netbsd", "openbsd", "dragonfly", "darwin",
                                      "macos",      "macosx", "ios",     "win",       "windows",
                                      "mingw",      "cygwin", "android", "fuchsia",   "haiku",
                                      "wasi",       "hurd",   "solaris", "nto",       "rtems",
                                      "androideabi"};
static const char *const environments[] = {"gnu",         "gnueabi",    "gnueabihf",    "gnux",
                                           "gnuabi",      "gnuabin",    "gnusf",        "gnuf",
                                           "musl",        "musleabi",   "musleabihf",   "muslx",
                                           "uclibc",      "uclibceabi", "uclibceabihf", "android",
                                           "androideabi", "eabi",       "eabihf",       "elf",
                                           "newlib",      "msvc",       "simulator",    "ohos",
                                           "spe",         "qnx",        "gnu_ilp"};
#define COUNT(a) (uint32_t)(sizeof(a) / sizeof *(a))

static bool
is_one_of(const char *name, const char *const *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* "linux" of "linux", "darwin" of "darwin23.1". */
static const char *
without_version(tn_ctx *ctx, const char *part)
{
    size_t n = strlen(part);
    while (n && strchr("0123456789.", part[n - 1]))
        n--;
    return tn_strn(ctx, part, n);
}

static const struct architecture *
architecture_of(tn_ctx *ctx, const char *triple)
{
    const char *name = tn_strn(ctx, triple, strcspn(triple, "-"));
    for (uint32_t i = 0; i < COUNT(architectures); i++)
        if (!strcmp(architectures[i].name, name))
            return &architectures[i];
    return NULL;
}

const char *
cpu_machine_option(tn_ctx *ctx, const char *triple)
{
    const struct architecture *a = architecture_of(ctx, triple);
    return a ? a->cpu_option : "-mcpu=";
}

/* ---- the name ---- */

static bool
wrong(tn_ctx *ctx, const char *triple, const char *part, const char *what, const char *const *names,
      uint32_t n)
{
    const char *near = n ? tnb_nearest(part, names, n) : NULL;
    tn_error(ctx, 0, TNB_INVALID, "target cpu: mtriple is '%s', and '%s' is no %s that is known",
             triple, part, what);
    tnb_diag_hint(tn_diags(ctx),
                  "%smachines are called as by compilers: aarch64-linux-gnu, arm-linux-gnueabihf, "
                  "riscv64-linux-gnu; with the machine's compiler in `cc` any name will do",
                  near ? tn_strf(ctx, "did you mean '%s'? ", near) : "");
    return false;
}

static bool
check_architecture(tn_ctx *ctx, const char *triple, const char *name)
{
    const char *names[COUNT(architectures)];
    if (is_one_of(name, big_endian, COUNT(big_endian))) {
        tn_error(ctx, 0, TNB_UNSUPPORTED,
                 "target cpu: mtriple is '%s', and constants are stored with the lowest byte "
                 "first, which '%s' reads otherwise",
                 triple, name);
        return false;
    }
    for (uint32_t i = 0; i < COUNT(architectures); i++)
        names[i] = architectures[i].name;
    return is_one_of(name, names, COUNT(names)) ||
           wrong(ctx, triple, name, "architecture", names, COUNT(names));
}

/* Of a triple that no compiler is named after. */
static bool
check_name(tn_ctx *ctx, const char *triple)
{
    const char *parts[MAX_PARTS];
    uint32_t n = 0, at = 1;
    for (const char *p = triple; n < MAX_PARTS; p++) {
        size_t k = strcspn(p, "-");
        parts[n++] = tn_strn(ctx, p, k);
        p += k;
        if (!*p)
            break;
    }
    if (!check_architecture(ctx, triple, parts[0]))
        return false;
    if (n == 1)
        return wrong(ctx, triple, "", "system", NULL, 0);
    if (n > 2 && !is_one_of(without_version(ctx, parts[1]), systems, COUNT(systems)))
        at++; /* a vendor, who has any name */
    if (!is_one_of(without_version(ctx, parts[at]), systems, COUNT(systems)))
        return wrong(ctx, triple, parts[at], "system", systems, COUNT(systems));
    for (at++; at < n; at++)
        if (!is_one_of(without_version(ctx, parts[at]), environments, COUNT(environments)))
            return wrong(ctx, triple, parts[at], "environment", environments, COUNT(environments));
    return true;
}

/* ---- the compiler ---- */

/* The compiler takes `options` and a file with `text`; what it says otherwise. */
static bool
compiles(tn_ctx *ctx, const cpu_toolchain *cc, const char *option, const char *header,
         const char **said)
{
    tnb_arena *a = tn_scratch(ctx);
    const char **argv = TNB_NEW_N(a, const char *, cc->n + 10);
    uint32_t n = 0;
    bool ok;
    for (uint32_t i = 0; i < cc->n; i++)
        argv[n++] = cc->command[i];
    if (option)
        argv[n++] = option;
    const char *const rest[] = {"-x",
                                "c",
                                "-fsyntax-only",
                                header ? "-include" : "/dev/null",
                                header,
                                header ? "/dev/null" : NULL};
    for (uint32_t i = 0; i < COUNT(rest) && rest[i]; i++)
        argv[n++] = rest[i];
    *said = cpu_output_of(ctx, argv, true, &ok);
    return ok;
}

static void
note_lines(tn_ctx *ctx, const char *text)
{
    for (int lines = 0; text && *text && lines < 6; lines++) {
        size_t n = strcspn(text, "\n");
        if (n)
            tnb_diag_note(tn_diags(ctx), "%.*s", (int)(n > 2000 ? 2000 : n), text);
        text += n + (text[n] != 0);
    }
}

/* clang prints the names of processors, a line each behind a tab. */
static const char *
nearest_cpu(tn_ctx *ctx, const cpu_toolchain *cc, const char *mcpu)
{
    const char **argv = TNB_NEW_N(tn_scratch(ctx), const char *, cc->n + 2), *names[MAX_LISTED];
    uint32_t n = 0;
    bool ok;
    memcpy(argv, cc->command, cc->n * sizeof *argv);
    argv[cc->n] = "--print-supported-cpus";
    const char *at = cc->is_clang ? cpu_output_of(ctx, argv, true, &ok) : "";
    for (at = at ? strstr(at, "\n\t") : NULL; at && n < MAX_LISTED; at = strstr(at, "\n\t")) {
        at += 2;
        names[n++] = tn_strn(ctx, at, strcspn(at, "\n"));
    }
    return n ? tnb_nearest(mcpu, names, n) : NULL;
}

const char *
cpu_words(tn_ctx *ctx, const cpu_toolchain *cc)
{
    const char *all = cc->command[0];
    for (uint32_t i = 1; i < cc->n; i++)
        all = tn_strf(ctx, "%s %s", all, cc->command[i]);
    return all;
}

static bool
check_cpu(tn_ctx *ctx, const cpu_toolchain *cc, const char *triple, const char *mcpu)
{
    const char *said, *option = tn_strf(ctx, "%s%s", cpu_machine_option(ctx, triple), mcpu);
    if (compiles(ctx, cc, option, NULL, &said))
        return true;
    tn_error(ctx, 0, TNB_INVALID,
             "target cpu: mcpu is '%s', which the compiler for %s does not take: %s", mcpu, triple,
             cpu_words(ctx, cc));
    note_lines(ctx, said);
    const char *near = nearest_cpu(ctx, cc, mcpu);
    if (near || cc->is_clang)
        tnb_diag_hint(tn_diags(ctx), "%s%s%s",
                      near ? tn_strf(ctx, "did you mean '%s'? ", near) : "",
                      cc->is_clang ? cpu_words(ctx, cc) : "",
                      cc->is_clang ? " --print-supported-cpus prints the names that it takes" : "");
    return false;
}

/* As cpu_toolchain_find, without an error. */
static bool
find_quietly(tn_ctx *ctx, const tn_node *attrs, cpu_toolchain *cc)
{
    uint32_t before = tnb_diags_count(tn_diags(ctx));
    bool found = cpu_toolchain_find(ctx, attrs, cc) == TNB_OK;
    tnb_diags_cut(tn_diags(ctx), before);
    return found;
}

/* Whether there is a compiler whose name or setting says that it is the machine's; clang serves many. */
static bool
has_own_compiler(tn_ctx *ctx, const tn_node *attrs, const char *triple)
{
    return *tn_dict_str(attrs, "cc", "") ||
           tnb_find_program(tn_scratch(ctx), tn_strf(ctx, "%s-gcc", triple));
}

bool
cpu_machine_check(tn_ctx *ctx, const tn_node *attrs, const char *cpu)
{
    const char *triple = tn_dict_str(attrs, "mtriple", ""), *said;
    const char *name = tn_strn(ctx, triple, strcspn(triple, "-"));
    cpu_toolchain cc;
    if (!*triple)
        return true;
    bool own = has_own_compiler(ctx, attrs, triple);
    if (!own || is_one_of(name, big_endian, COUNT(big_endian)))
        if (!check_name(ctx, triple))
            return false;
    if (!cpu || !find_quietly(ctx, attrs, &cc) || !compiles(ctx, &cc, NULL, NULL, &said))
        return true; /* nothing here could tell */
    return check_cpu(ctx, &cc, triple, cpu);
}

void
cpu_machine_unchecked(tn_ctx *ctx, const tn_node *attrs, const char *cpu)
{
    const char *triple = tn_dict_str(attrs, "mtriple", ""), *said;
    cpu_toolchain cc;
    if (*triple && cpu &&
        (!find_quietly(ctx, attrs, &cc) || !compiles(ctx, &cc, NULL, NULL, &said)))
        tn_warn(
            ctx, 0,
            "target cpu: no compiler for %s is here that could tell whether it takes the mcpu '%s'",
            triple, cpu);
}

const char *
cpu_machine_package(tn_ctx *ctx, const char *triple)
{
    const char *system = strchr(triple, '-'), *after = system ? strchr(system + 1, '-') : NULL;
    size_t n = strcspn(triple, "-");
    if (strstr(triple, "mingw"))
        return "gcc-mingw-w64";
    if (after && strchr(after + 1, '-'))
        system = after; /* a vendor stands between */
    char *name = tnb_printf(tn_arena(ctx), "gcc-%.*s%s", (int)n, triple, system ? system : "");
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return name;
}

tnb_status
cpu_machine_headers(tn_ctx *ctx, const tn_node *attrs, const cpu_toolchain *cc)
{
    const char *triple = tn_dict_str(attrs, "mtriple", ""), *said;
    if (!*triple || compiles(ctx, cc, NULL, "math.h", &said))
        return TNB_OK;
    bool serves = compiles(ctx, cc, NULL, NULL, &said);
    if (serves)
        (void)compiles(ctx, cc, NULL, "math.h", &said);
    tn_error(ctx, 0, TNB_NOT_FOUND,
             serves ? "%s compiles for %s, but there are no headers of its C library"
                    : "%s does not compile for %s",
             cpu_words(ctx, cc), triple);
    note_lines(ctx, said);
    tnb_diag_hint(tn_diags(ctx),
                  "install a cross compiler (Debian: apt-get install %s), or set another with `cc` "
                  "in the [target cpu] section (clang --target=%s --sysroot=FOLDER), or compile "
                  "elsewhere what --emit=c writes",
                  cpu_machine_package(ctx, triple), triple);
    return TNB_NOT_FOUND;
}
