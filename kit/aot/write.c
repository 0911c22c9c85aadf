/* SPDX-License-Identifier: Apache-2.0 */
/* PREFIX.c and PREFIX.h: tables of constants, functions, entries. */
#include "aot_private.h"

#include <inttypes.h>

#include "tenon/core/text.h"

/* Whether generated C, or the headers that it includes, uses the name or names that begin with it and '_'. */
static bool
is_reserved(const char *name)
{
    static const char *const own[] = {"tenon", "tnb", "tk"};
    size_t n = strcspn(name, "_");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (n == strlen(own[i]) && !memcmp(name, own[i], n))
            return true;
    return false;
}

/* Whether NAME.h would be found in place of a header of the C library: programs are compiled with -I of the folder. */
static bool
is_header(const char *name)
{
    static const char *const headers[] = {
        "aio",      "alloca",   "ar",          "assert",    "byteswap",  "complex",   "cpio",
        "ctype",    "dirent",   "dlfcn",       "elf",       "endian",    "errno",     "error",
        "execinfo", "fcntl",    "features",    "fenv",      "float",     "fmtmsg",    "fnmatch",
        "ftw",      "getopt",   "glob",        "grp",       "iconv",     "immintrin", "inttypes",
        "iso646",   "langinfo", "libgen",      "limits",    "link",      "locale",    "malloc",
        "math",     "memory",   "monetary",    "mqueue",    "netdb",     "poll",      "pthread",
        "pwd",      "regex",    "sched",       "search",    "semaphore", "setjmp",    "signal",
        "spawn",    "stdalign", "stdarg",      "stdatomic", "stdbool",   "stddef",    "stdint",
        "stdio",    "stdlib",   "stdnoreturn", "string",    "strings",   "stropts",   "syslog",
        "tar",      "termios",  "tgmath",      "threads",   "time",      "uchar",     "ucontext",
        "unistd",   "utime",    "utmpx",       "values",    "wchar",     "wctype",    "wordexp"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (strcmp(name, headers[i]) == 0)
            return true;
    return false;
}

const char *
tnk_aot_identifier(tn_ctx *ctx, const char *text)
{
    tnb_buf b = {0};
    if (is_reserved(text) || is_header(text))
        tnb_buf_puts(&b, "m");
    for (const char *c = text; *c; c++) {
        bool digit = *c >= '0' && *c <= '9';
        bool fine = digit || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (c == text && (digit || *c == '_' || !fine))
            tnb_buf_puts(&b, "m");
        tnb_buf_putc(&b, (char)(fine ? *c : '_'));
    }
    const char *s = tn_str(ctx, b.n ? b.s : "m");
    tnb_buf_free(&b);
    return s;
}

/* A string literal; trigraphs and line ends are none of what texts hold. */
static void
put_text(tnb_buf *b, const char *s)
{
    tnb_buf_putc(b, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c == '?')
            tnb_buf_printf(b, "\\%c", c);
        else if (c < 32 || c >= 127)
            tnb_buf_printf(b, "\\%03o", c);
        else
            tnb_buf_putc(b, (char)c);
    }
    tnb_buf_putc(b, '"');
}

/* The same within a comment. */
static void
put_comment(tnb_buf *b, const char *s)
{
    for (; *s; s++)
        tnb_buf_putc(b, (char)((unsigned char)*s < 32 || (s[0] == '*' && s[1] == '/') ? ' ' : *s));
}

/* ---- entries ---- */

static const tn_node *
item(const tn_node *dict, const char *key, uint32_t i)
{
    const tn_array *a = tn_as_array(tn_dict_get(dict, key));
    return a && i < a->items.n ? a->items.at[i] : NULL;
}

static uint32_t
items(const tn_node *dict, const char *key)
{
    const tn_array *a = tn_as_array(tn_dict_get(dict, key));
    return a ? a->items.n : 0;
}

static tnb_dtype
dtype_of(const tn_node *io)
{
    tnb_dtype d = TNB_VOID;
    const char *text = tn_dict_str(io, "dtype", "");
    return tnb_dtype_parse(text, strlen(text), &d) ? d : TNB_VOID;
}

/* What a C program can hand over or receive; false after recording an error. */
static bool
check_io(aot_program *g, const char *function, const tn_node *io, bool result, uint8_t *kind)
{
    const char *what = tn_dict_str(io, "kind", "object");
    if (!strcmp(what, "tensor"))
        *kind = AOT_KIND_TENSOR;
    else if (!strcmp(what, "scalar"))
        *kind = tnb_dtype_is_float(dtype_of(io)) ? AOT_KIND_FLOAT : AOT_KIND_INT;
    else if (!strcmp(what, "shape"))
        *kind = AOT_KIND_SHAPE;
    else {
        tn_error(g->ctx, 0, TNB_UNSUPPORTED,
                 "function '%s': %s '%s' is a value of kind %s, which has no form in C", function,
                 result ? "result" : "parameter", tn_dict_str(io, "name", "?"), what);
        return false;
    }
    if (items(io, "shape") <= 8)
        return true;
    tn_error(g->ctx, 0, TNB_UNSUPPORTED,
             "function '%s': '%s' has %u dimensions; functions in C take up to 8", function,
             tn_dict_str(io, "name", "?"), items(io, "shape"));
    return false;
}

/* Takes a name of C for what is described; false after recording an error when something else has it. */
static bool
take_symbol(aot_program *g, tnb_strmap *taken, const char *symbol, const char *what)
{
    const char *other = tnb_strmap_get(taken, symbol);
    tnb_strmap_set(taken, symbol, what);
    if (!other)
        return true;
    tn_error(g->ctx, 0, TNB_INVALID, "%s and %s are both called '%s' in C", other, what, symbol);
    tnb_diag_hint(tn_diags(g->ctx), "rename one of them in the module");
    return false;
}

/* All that other objects see: of functions, of the model, kernels. */
static bool
check_symbols(aot_program *g)
{
    static const char *const parts[] = {"inputs", "outputs", "workspace"};
    const char *prefix = g->in->prefix;
    tnb_strmap taken;
    tnb_strmap_init(&taken, g->arena);
    bool fine =
        take_symbol(g, &taken, tnb_printf(g->arena, "%s_message", prefix), "the texts of errors") &&
        take_symbol(g, &taken, tnb_printf(g->arena, "%s_constants", prefix), "constants");
    for (uint32_t i = 0; fine && i < g->n_entries; i++) {
        const char *symbol = g->entries[i].symbol,
                   *name = g->p.text + g->p.functions[g->entries[i].function].name;
        fine = take_symbol(g, &taken, symbol, tnb_printf(g->arena, "function '%s'", name));
        for (size_t k = 0; fine && k < sizeof parts / sizeof *parts; k++)
            fine = take_symbol(g, &taken, tnb_printf(g->arena, "%s_%s", symbol, parts[k]),
                               tnb_printf(g->arena, "the %s of function '%s'", parts[k], name));
    }
    for (uint32_t i = 0; fine && i < g->p.head.n_kernels; i++) {
        const char *symbol = g->p.text + g->p.kernels[i].name; /* a long one is cut */
        const bool whole =
            strncmp(symbol, prefix, strlen(prefix)) == 0 && symbol[strlen(prefix)] == '_';
        fine = take_symbol(g, &taken, symbol,
                           tnb_printf(g->arena, "kernel '%s'",
                                      whole ? symbol + strlen(prefix) + 1 : symbol));
    }
    return fine;
}

static bool
find_entries(aot_program *g)
{
    g->entries = TNB_NEW_N(g->arena, aot_entry, g->p.head.n_functions);
    for (uint32_t i = 0; i < g->p.head.n_functions; i++) {
        const tnb_tno_function *t = &g->p.functions[i];
        const char *name = g->p.text + t->name;
        const tn_node *sig = tn_dict_get(g->in->functions, name);
        if (!(t->flags & TNB_TNO_PUBLIC) || !sig)
            continue;
        aot_entry *e = &g->entries[g->n_entries++];
        *e = (aot_entry){.function = i,
                         .symbol = tnk_aot_identifier(g->ctx, tn_strf(g->ctx, "%s_%s",
                                                                      g->in->prefix, name)),
                         .signature = sig,
                         .kinds = TNB_NEW_N(g->arena, uint8_t, t->n_params + 1),
                         .n_inputs = t->n_params,
                         .n_outputs = items(sig, "results"),
                         .is_tuple = tn_dict_int(sig, "tuple_result", 0) != 0};
        uint8_t ignored;
        for (uint32_t k = 0; k < e->n_inputs; k++)
            if (!check_io(g, name, item(sig, "params", k), false, &e->kinds[k]))
                return false;
        for (uint32_t k = 0; k < e->n_outputs; k++)
            if (!check_io(g, name, item(sig, "results", k), true, &ignored))
                return false;
    }
    if (g->n_entries)
        return check_symbols(g);
    tn_error(g->ctx, 0, TNB_NOT_FOUND,
             "the module has no function that can be called from outside");
    return false;
}

static int
most(int a, uint32_t b)
{
    return (int)b > a ? (int)b : a;
}

/* Most dimensions that any value has. */
static int
dimensions(const aot_program *g)
{
    int n = 1;
    for (uint32_t i = 0; i < g->p.head.n_constants; i++)
        n = most(n, g->p.constants[i].n_dims);
    for (uint32_t i = 0; i < g->p.head.n_params; i++)
        n = most(n, g->p.params[i].ndim > 0 ? (uint32_t)g->p.params[i].ndim : 0);
    for (uint32_t i = 0; i < g->p.head.n_insns; i++) {
        const tnb_vm_insn *in = &g->p.insns[i];
        if (in->op == TNB_VM_SHAPE || in->op == TNB_VM_HOSTT)
            n = most(n, in->aux);
        if (in->op == TNB_VM_ALLOCT)
            n = most(n, in->aux - 2u);
        if (in->op == TNB_VM_CALLP && in->aux >= 2 &&
            !strcmp(g->p.text + g->p.packed[in->b], "vm.builtin.make_shape"))
            n = most(n, (in->aux - 2u) / 2);
        if (in->op == TNB_VM_CALLP && in->aux >= 3 &&
            !strcmp(g->p.text + g->p.packed[in->b], "vm.builtin.match_shape"))
            n = most(n, (in->aux - 3u) / 2);
    }
    for (uint32_t i = 0; i < g->n_entries; i++)
        for (uint32_t k = 0; k < g->entries[i].n_inputs; k++)
            n = most(n, items(item(g->entries[i].signature, "params", k), "shape"));
    return n;
}

/* ---- texts ---- */

static void
put_dims(tnb_buf *b, const int64_t *dims, uint32_t n)
{
    tnb_buf_puts(b, "{");
    for (uint32_t i = 0; i < n; i++)
        tnb_buf_printf(b, "%s%" PRId64, i ? ", " : "", dims[i]);
    tnb_buf_puts(b, n ? "}" : "0}");
}

static void
put_constant(const aot_program *g, const tnb_tno_constant *c, tnb_buf *b)
{
    const int64_t *dims = g->p.dims + c->first_dim;
    tnb_dtype d = c->dtype;
    uint64_t count = 0;
    int64_t value = (int64_t)c->data;
    switch (c->kind) {
    case TNB_TNO_TENSOR:
        if (!tnb_shape_count((int32_t)c->n_dims, dims, &count))
            count = 0;
        tnb_buf_printf(b,
                       "{.tag = TV_TENSOR, .ndim = %u, .read_only = 1, .dtype = {%u, %u, %u}, .u = "
                       "{.data = (char *)%s_constants + "
                       "%" PRIu64 "}, .elems = %" PRIu64 "u, .bytes = %" PRIu64 "u, .dims = ",
                       c->n_dims, d.code, d.bits, d.lanes, g->in->prefix, c->data, count, c->bytes);
        put_dims(b, dims, c->n_dims);
        tnb_buf_puts(b, "}");
        break;
    case TNB_TNO_STRING:
        tnb_buf_puts(b, "{.tag = TV_STRING}"); /* PREFIX_message has the text */
        break;
    case TNB_TNO_DTYPE:
        tnb_buf_printf(b, "{.tag = TV_DTYPE, .dtype = {%u, %u, %u}}", d.code, d.bits, d.lanes);
        break;
    case TNB_TNO_SHAPE:
        tnb_buf_printf(b, "{.tag = TV_SHAPE, .ndim = %u, .dims = ", c->n_dims);
        put_dims(b, dims, c->n_dims);
        tnb_buf_puts(b, "}");
        break;
    case TNB_TNO_INT:
    case TNB_TNO_FLOAT:
    case TNB_TNO_BOOL:
        tnb_buf_printf(b, "{.tag = TV_%s, .u = {.i = (int64_t)UINT64_C(%" PRIu64 ")}}",
                       c->kind == TNB_TNO_INT     ? "INT"
                       : c->kind == TNB_TNO_FLOAT ? "FLOAT"
                                                  : "BOOL",
                       (uint64_t)value);
        break;
    default:
        tnb_buf_puts(b, "{.tag = TV_NULL}");
    }
}

/* "image: float32[1, 1, 8, 8]" */
static void
put_io(tnb_buf *b, const tn_node *io)
{
    put_comment(b, tn_dict_str(io, "name", "?"));
    tnb_buf_printf(b, ": %s[", tn_dict_str(io, "dtype", tn_dict_str(io, "kind", "?")));
    for (uint32_t i = 0; i < items(io, "shape"); i++) {
        int64_t n;
        tnb_buf_puts(b, i ? ", " : "");
        if (tn_int_value(item(io, "shape", i), &n))
            tnb_buf_printf(b, "%" PRId64, n);
        else
            put_comment(b, tn_as_string_imm(item(io, "shape", i))
                               ? tn_as_string_imm(item(io, "shape", i))->value
                               : "?");
    }
    tnb_buf_puts(b, "]");
}

static void
put_descriptions(tnb_buf *b, const aot_entry *e, const char *key, const char *suffix, uint32_t n)
{
    tnb_buf_printf(b, "const tenon_tensor %s_%s[%u] = {\n", e->symbol, suffix, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) {
        const tn_node *io = item(e->signature, key, i);
        tnb_dtype d = dtype_of(io);
        const char *kind = tn_dict_str(io, "kind", "");
        uint32_t dims = items(io, "shape");
        if (!strcmp(kind, "shape"))
            d = TNB_I64;
        tnb_buf_puts(b, "    {.name = ");
        put_text(b, tn_dict_str(io, "name", "?"));
        tnb_buf_printf(b, ", .dtype = {%u, %u, %u}, .ndim = %d, .shape = {", d.code, d.bits,
                       d.lanes ? d.lanes : 1,
                       !strcmp(kind, "shape")                                        ? 1
                       : tn_dict_get(io, "shape") != NULL || !strcmp(kind, "scalar") ? (int)dims
                                                                                     : -1);
        for (uint32_t k = 0; k < dims; k++) {
            int64_t x = -1;
            if (!strcmp(kind, "shape") || !tn_int_value(item(io, "shape", k), &x))
                x = -1;
            tnb_buf_printf(b, "%s%" PRId64, k ? ", " : "", x);
        }
        tnb_buf_puts(b, !strcmp(kind, "shape") && !dims ? "-1}},\n" : dims ? "}},\n" : "0}},\n");
    }
    tnb_buf_puts(b, n ? "};\n" : "    {0},\n};\n");
}

static void
put_entry(tnb_buf *b, const aot_entry *e)
{
    static const char *const tags[] = {[AOT_KIND_TENSOR] = "TV_TENSOR",
                                       [AOT_KIND_INT] = "TV_INT",
                                       [AOT_KIND_FLOAT] = "TV_FLOAT",
                                       [AOT_KIND_SHAPE] = "TV_SHAPE"};
    const char *s = e->symbol;
    uint32_t room = e->n_inputs ? e->n_inputs : 1;
    put_descriptions(b, e, "params", "inputs", e->n_inputs);
    put_descriptions(b, e, "results", "outputs", e->n_outputs);
    tnb_buf_printf(b, "static const uint8_t kinds%u[] = {", e->function);
    for (uint32_t i = 0; i < e->n_inputs; i++)
        tnb_buf_printf(b, "%s%s", i ? ", " : "", tags[e->kinds[i]]);
    tnb_buf_printf(
        b, "%s};\nstatic const tenon_entry entry%u = {f%u, %s_inputs, kinds%u, %u, %u, %d};\n",
        e->n_inputs ? "" : "0", e->function, e->function, s, e->function, e->n_inputs, e->n_outputs,
        e->is_tuple);
    tnb_buf_printf(b,
                   "size_t\n%s_workspace(const tenon_tensor *inputs)\n{\n    tenon_run r;\n    "
                   "tenon_value a[%u];\n"
                   "    return tenon_query(&r, &entry%u, inputs, a);\n}\n",
                   s, room, e->function);
    tnb_buf_printf(
        b,
        "int\n%s(const tenon_tensor *inputs, tenon_tensor *outputs, void *workspace, size_t "
        "bytes)\n{\n"
        "    tenon_run r;\n    tenon_value a[%u];\n"
        "    return tenon_call(&r, &entry%u, inputs, outputs, workspace, bytes, a);\n}\n\n",
        s, room, e->function);
}

static void
put_header(const aot_program *g, tnb_buf *b)
{
    const char *p = g->in->prefix;
    tnb_buf_printf(
        b,
        "/* Made by tenon compile --emit. tenon_aot.h says how these functions are used. */\n"
        "#ifndef TENON_AOT_MODEL_%s_H\n#define TENON_AOT_MODEL_%s_H\n\n#include \"tenon_aot.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        p, p);
    for (uint32_t i = 0; i < g->n_entries; i++) {
        const aot_entry *e = &g->entries[i];
        tnb_buf_puts(b, "/* ");
        for (uint32_t k = 0; k < e->n_inputs; k++) {
            tnb_buf_puts(b, k ? ", " : "");
            put_io(b, item(e->signature, "params", k));
        }
        tnb_buf_puts(b, "\n * -> ");
        for (uint32_t k = 0; k < e->n_outputs; k++) {
            tnb_buf_puts(b, k ? ", " : "");
            put_io(b, item(e->signature, "results", k));
        }
        tnb_buf_printf(b, " */\nextern const tenon_tensor %s_inputs[%u], %s_outputs[%u];\n",
                       e->symbol, e->n_inputs ? e->n_inputs : 1, e->symbol,
                       e->n_outputs ? e->n_outputs : 1);
        tnb_buf_printf(b,
                       "/* Bytes that a call with such inputs needs, of which the shapes count; "
                       "NULL: those described, where all\n"
                       " * extents are known. 0: these shapes are refused. */\n"
                       "size_t\n%s_workspace(const tenon_tensor *inputs);\n"
                       "/* TENON_OK, or a code for %s_message. */\nint\n%s(const tenon_tensor "
                       "*inputs, tenon_tensor *outputs, "
                       "void *workspace, size_t bytes);\n\n",
                       e->symbol, p, e->symbol);
    }
    tnb_buf_printf(b,
                   "/* What was checked where a call failed; never NULL. */\nconst char "
                   "*\n%s_message(int code);\n\n"
                   "#ifdef __cplusplus\n}\n#endif\n#endif\n",
                   p);
}

static void
put_kernels(const aot_program *g, tnb_buf *b)
{
    for (uint32_t i = 0; i < g->p.head.n_kernels; i++)
        tnb_buf_printf(b,
                       "int32_t\n%s(void *const *, const tnb_kernel_scalar *, tnb_kernel_env *);\n",
                       g->p.text + g->p.kernels[i].name);
    tnb_buf_puts(b, "\n");
}

static void
put_messages(const aot_program *g, tnb_buf *b)
{
    tnb_buf_printf(
        b, "const char *\n%s_message(int code)\n{\n    static const char *const texts[] = {\n",
        g->in->prefix);
    for (uint32_t i = 0; i < g->places.n; i++) {
        tnb_buf_puts(b, "        ");
        put_text(b, g->places.at[i]);
        tnb_buf_puts(b, ",\n");
    }
    tnb_buf_puts(b, "    };\n    unsigned i = (unsigned)code >> 8;\n"
                    "    return i && i < sizeof texts / sizeof *texts ? texts[i] : "
                    "tenon_status_text(code);\n}\n");
}

static void
put_source(aot_program *g, tnb_buf *b)
{
    uint64_t blocks = 1, tuple_items = 1, cells = 64;
    for (uint32_t i = 0; i < g->n_entries; i++) {
        const aot_function *f = &g->functions[g->entries[i].function];
        uint64_t n =
            f->blocks + g->entries[i].n_inputs + 64; /* copies of inputs, temporaries of a launch */
        blocks = n > blocks ? n : blocks;
        tuple_items = f->items + 1 > tuple_items ? f->items + 1 : tuple_items;
        cells = f->cells > cells ? f->cells : cells;
    }
    tnb_buf_printf(
        b,
        "/* Made by tenon compile --emit. */\n#define TENON_DIMS %d\n#define TENON_BLOCKS %" PRIu64
        "\n#define TENON_ITEMS %" PRIu64 "\n#define TENON_CELLS %" PRIu64
        "\n#include \"tenon_aot_run.h\"\n"
        "#include \"%s.h\"\n\nextern const unsigned char %s_constants[] "
        "__attribute__((visibility(\"hidden\")));\n",
        g->dims, blocks, tuple_items, cells, g->in->prefix, g->in->prefix);
    put_kernels(g, b);
    tnb_buf_printf(b, "static const TENON_UNUSED tenon_value k[%u] = {\n",
                   g->p.head.n_constants ? g->p.head.n_constants : 1);
    for (uint32_t i = 0; i < g->p.head.n_constants; i++) {
        tnb_buf_puts(b, "    ");
        put_constant(g, &g->p.constants[i], b);
        tnb_buf_puts(b, ",\n");
    }
    tnb_buf_puts(b, g->p.head.n_constants ? "};\n\n" : "    {0},\n};\n\n");
    for (uint32_t i = 0; i < g->p.head.n_functions; i++)
        if (g->functions[i].reached)
            tnb_buf_printf(
                b, "static int\nf%u(tenon_run *r, const tenon_value *args, tenon_value *ret);\n",
                i);
    tnb_buf_puts(b, "\n");
    for (uint32_t i = 0; i < g->p.head.n_functions; i++)
        if (g->functions[i].reached)
            aot_write_function(g, i, b);
    for (uint32_t i = 0; i < g->n_entries; i++)
        put_entry(b, &g->entries[i]);
    put_messages(g, b);
}

tnb_status
tnk_aot_write(tn_ctx *ctx, const tnk_aot_input *in, tnb_buf *source, tnb_buf *header)
{
    aot_program g = {.ctx = ctx, .arena = tn_scratch(ctx), .in = in};
    tnb_err err = {0};
    tnb_status st = tnb_tno_verify(in->program, in->program_bytes, in->constant_bytes, &g.p, &err);
    if (st != TNB_OK) {
        tn_error(ctx, 0, st, "%s", err.message);
        return st;
    }
    tnb_strmap_init(&g.place_of, g.arena);
    TNB_PUSH(g.arena, g.places, "");
    if (!find_entries(&g))
        return TNB_UNSUPPORTED;
    g.dims = dimensions(&g);
    aot_analyze(&g);
    if (g.failed)
        return TNB_UNSUPPORTED;
    put_source(&g, source);
    put_header(&g, header);
    if (g.failed)
        return TNB_UNSUPPORTED;
    if (source->failed || header->failed) {
        tn_error(ctx, 0, TNB_NO_MEMORY, "no memory for the text of '%s.c'", in->prefix);
        return TNB_NO_MEMORY;
    }
    return TNB_OK;
}
