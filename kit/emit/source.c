/* SPDX-License-Identifier: Apache-2.0 */
/* A source text in the making: kernels and the helpers they need. */
#include "emit_private.h"
#include "tenon/base/hash.h"

#include <stdio.h>

static void
release(void *p)
{
    tnk_source *s = p;
    tnb_buf_free(&s->helpers);
    tnb_buf_free(&s->kernels);
    tnb_buf_free(&s->last);
}

/* A dialect with what its table leaves to C. */
static const tnk_dialect *
whole(tn_ctx *ctx, const tnk_dialect *d)
{
    tnk_dialect *own = tnb_dup(tn_arena(ctx), d, sizeof *d);
    const struct {
        const char **name, *in_c;
    } words[] = {
        {&own->int64, "int64_t"},   {&own->uint64, "uint64_t"}, {&own->int32, "int32_t"},
        {&own->uint32, "uint32_t"}, {&own->int16, "int16_t"},   {&own->uint16, "uint16_t"},
        {&own->int8, "int8_t"},     {&own->uint8, "uint8_t"},   {&own->inline_, "static inline"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!*words[i].name)
            *words[i].name = words[i].in_c;
    return own;
}

tnk_source *
tnk_source_new(tn_ctx *ctx, const tnk_dialect *d)
{
    if (!d)
        return NULL;
    tnk_source *s = TNB_NEW(tn_arena(ctx), tnk_source);
    s->ctx = ctx;
    s->d = whole(ctx, d);
    s->plugin = tn_registry_plugin_of(tn_ctx_registry(ctx), &d->base);
    tnb_strmap_init(&s->have, tn_arena(ctx));
    tnb_strmap_init(&s->used, tn_arena(ctx));
    tnb_strmap_init(&s->imported, tn_arena(ctx));
    tn_ctx_own(ctx, s, release);
    return s;
}

void
tnk_source_allow(tnk_source *s, const char *const *features)
{
    s->allowed = features;
}

bool
tnk_source_uses(const tnk_source *s, const char *feature)
{
    return tnb_strmap_has(&s->used, feature);
}

static tn_walk_step
find_place(void *user, const tn_node *n)
{
    tn_loc *at = user;
    *at = n->loc;
    return n->loc ? TN_WALK_STOP : TN_WALK_ON;
}

void
tnk_emit_fail(tnk_emitter *e, tn_loc loc, const char *fmt, ...)
{
    if (e->failed)
        return;
    e->failed = true;
    if (!loc) /* anywhere in the kernel */
        tn_walk(tn_as_prim_func(e->kernel->func)->body, 0, find_place, NULL, &loc);
    va_list ap;
    va_start(ap, fmt);
    char message[512];
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    tn_error(e->ctx, loc, TNB_UNSUPPORTED, "kernel '%s': %s", e->kernel->name, message);
}

/* Keywords and library functions of C, and what hosts' systems and emission itself have. */
static const char *const reserved[] = {
    "auto",    "break",     "case",      "char",      "const",    "continue", "default",
    "do",      "double",    "else",      "enum",      "extern",   "float",    "for",
    "goto",    "if",        "inline",    "int",       "long",     "register", "restrict",
    "return",  "short",     "signed",    "sizeof",    "static",   "struct",   "switch",
    "typedef", "union",     "unsigned",  "void",      "volatile", "while",    "env",
    "buffers", "scalars",   "exp",       "log",       "pow",      "sin",      "cos",
    "tan",     "sqrt",      "floor",     "ceil",      "round",    "y0",       "y1",
    "yn",      "j0",        "j1",        "jn",        "gamma",    "signgam",  "half",
    "kernel",  "global",    "local",     "constant",  "unix",     "linux",    "main",
    "abs",     "asm",       "typeof",    "erf",       "tanh",     "index",    "I",
    "acos",    "asin",      "atan",      "atan2",     "acosh",    "asinh",    "atanh",
    "cosh",    "sinh",      "exp2",      "exp10",     "log2",     "log10",    "log1p",
    "expm1",   "erfc",      "fmod",      "fmax",      "fmin",     "fdim",     "fabs",
    "fma",     "hypot",     "cbrt",      "ldexp",     "frexp",    "modf",     "scalb",
    "logb",    "ilogb",     "trunc",     "rint",      "lrint",    "lround",   "llrint",
    "llround", "nearbyint", "nextafter", "remainder", "remquo",   "copysign", "isnan",
    "isinf",   "isfinite",  "signbit",   "lgamma",    "tgamma",   "drem",     "significand",
    "nan",     "pow10",     "finite",
};

/* Words of languages for devices: names of types may have a number of lanes behind them ("float4"), names of functions that end in
 * '_' begin those of a family ("atomic_add"). */
static const char *const reserved_on_devices[] = {
    "HUGE_VAL",  "HUGE_VALF",  "INFINITY",  "MAXFLOAT",    "NAN",         "NULL",
    "add_sat",   "all",        "and",       "any",         "as_",         "atom_",
    "atomic",    "atomic_",    "barrier",   "bitselect",   "blockDim",    "blockIdx",
    "bool",      "char",       "clamp",     "class",       "clz",         "complex",
    "convert_",  "cospi",      "cross",     "ctz",         "degrees",     "delete",
    "distance",  "dot",        "double",    "event_t",     "explicit",    "export",
    "false",     "fast_",      "float",     "fract",       "friend",      "generic",
    "get_",      "gridDim",    "hadd",      "half",        "image1d",     "image2d",
    "image3d",   "imaginary",  "int",       "isequal",     "isgreater",   "isless",
    "isnormal",  "isnotequal", "isordered", "isunordered", "length",      "long",
    "mad",       "mad24",      "mad_",      "max",         "maxmag",      "mem_fence",
    "min",       "minmag",     "mix",       "mul24",       "mul_hi",      "mutable",
    "namespace", "native_",    "new",       "normalize",   "not",         "operator",
    "or",        "pipe",       "popcount",  "pown",        "powr",        "prefetch",
    "printf",    "private",    "protected", "ptrdiff_t",   "public",      "quad",
    "queue_t",   "radians",    "read_",     "read_only",   "read_write",  "reserve_id",
    "rhadd",     "rootn",      "rotate",    "rsqrt",       "sampler_t",   "select",
    "short",     "shuffle",    "shuffle2",  "sign",        "sincos",      "sinpi",
    "size_t",    "smoothstep", "step",      "sub_group",   "sub_group_",  "sub_sat",
    "tanpi",     "template",   "this",      "threadIdx",   "throw",       "true",
    "try",       "typeid",     "typename",  "uchar",       "uint",        "ulong",
    "uniform",   "upsample",   "ushort",    "using",       "vec_step",    "virtual",
    "vload",     "vload_",     "vstore",    "vstore_",     "wait_group_", "work_group",
    "write_",    "write_only", "xor",
};

bool
tnk_is_reserved_name(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (reserved[i][0] != name[0])
            continue; /* most of them */
        size_t n = strlen(reserved[i]);
        /* the library has each function for float and long double too */
        if (!strncmp(reserved[i], name, n) &&
            (name[n] == 0 || ((name[n] == 'f' || name[n] == 'l') && name[n + 1] == 0)))
            return true;
    }
    for (size_t i = 0; i < sizeof reserved_on_devices / sizeof reserved_on_devices[0]; i++) {
        if (reserved_on_devices[i][0] != name[0])
            continue;
        size_t n = strlen(reserved_on_devices[i]);
        if (strncmp(reserved_on_devices[i], name, n))
            continue;
        /* families of functions end in '_'; types have a number of lanes behind them */
        if (reserved_on_devices[i][n - 1] == '_' || !name[n + strspn(name + n, "0123456789")])
            return true;
    }
    return !strncmp(name, "tk_", 3) || !strncmp(name, "omp_", 4);
}

static bool
is_word(const tnk_dialect *d, const char *name)
{
    for (const char *const *r = d->reserved; r && *r; r++)
        if (!strcmp(*r, name))
            return true;
    return false;
}

static bool
is_reserved(const tnk_emitter *e, const char *name)
{
    return is_word(e->d, name) || tnk_is_reserved_name(name);
}

const char *
tnk_new_name(tnk_emitter *e, const char *wanted)
{
    char clean[64];
    size_t n = 0;
    for (const char *c = wanted ? wanted : "v"; *c && n + 1 < sizeof clean; c++)
        clean[n++] =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ? *c
                                                                                             : '_';
    clean[n] = 0;
    const char *name = tn_strf(e->ctx, "%s%s",
                               n == 0 || (clean[0] >= '0' && clean[0] <= '9') || clean[0] == '_' ||
                                       !strncmp(clean, "tk_", 3)
                                   ? "v"
                                   : "",
                               clean);
    bool taken = tnb_strmap_has(&e->used, name) || is_reserved(e, name);
    const char *stem = name;
    uintptr_t i = (uintptr_t)tnb_strmap_get(&e->used, stem); /* the number to try next */
    for (i = i ? i : 1; taken; i++) {
        name = tn_strf(e->ctx, "%s_v%llu", stem, (unsigned long long)i);
        taken = tnb_strmap_has(&e->used, name);
    }
    tnb_strmap_set(&e->used, stem, (void *)i);
    tnb_strmap_set(&e->used, name, (void *)(uintptr_t)1);
    return name;
}

tnb_buf *
tnk_helpers(tnk_emitter *e)
{
    return &e->src->helpers;
}

void
tnk_emit_line(tnk_emitter *e)
{
    for (int i = 0; i < e->indent; i++)
        tnb_buf_puts(e->out, "    ");
}

const char *
tnk_name_of(tnk_emitter *e, const tn_expr *var)
{
    const char *n = tnb_ptrmap_get(&e->names, var);
    if (!n) {
        n = tnk_new_name(e, tn_var_name(var));
        tnb_ptrmap_set(&e->names, var, n);
    }
    return n;
}

bool
tnk_source_add(tnk_source *s, tnk_kernel *k)
{
    if (is_word(
            s->d,
            k->name)) /* kernels of one program may be of several sources: the hash keeps the name unique */
        k->name =
            tn_strf(s->ctx, "%s_%08x", k->name, (uint32_t)tnb_hash64(k->name, strlen(k->name), 0));
    tnb_buf_free(&s->last);
    s->last = (tnb_buf){0};
    s->workspaces = 0;
    tnk_emitter e = {.ctx = s->ctx, .src = s, .d = s->d, .kernel = k, .out = &s->last};
    tnb_arena *a = tn_scratch(s->ctx);
    tnb_ptrmap_init(&e.names, a);
    tnb_ptrmap_init(&e.bound, a);
    tnb_ptrmap_init(&e.memory, a);
    tnb_ptrmap_init(&e.data, a);
    tnb_strmap_init(&e.used, a);
    tnk_emit_kernel(&e);
    if (e.failed) {
        s->failed = true;
        return false;
    }
    tnb_buf_put(&s->kernels, s->last.s, s->last.n);
    tnb_buf_puts(&s->kernels, "\n");
    return true;
}

const char *
tnk_source_last(const tnk_source *s)
{
    return s->last.s ? s->last.s : "";
}

uint32_t
tnk_source_workspaces(const tnk_source *s)
{
    return s->workspaces;
}

void
tnk_source_header(tnk_source *s, tnb_buf *out)
{
    if (s->d->header)
        (void)TNK_HOOK(s, "header", (s->d->header(s, out), 0));
    tnb_buf_puts(out, tnk_or_none(s->d->prologue));
    tnb_buf_puts(out, "\n");
    if (s->helpers.n)
        tnb_buf_put(out, s->helpers.s, s->helpers.n);
    tnb_buf_puts(out, "\n");
}

void
tnk_source_text(tnk_source *s, tnb_buf *out)
{
    tnk_source_header(s, out);
    if (s->kernels.n)
        tnb_buf_put(out, s->kernels.s, s->kernels.n);
}
