/* SPDX-License-Identifier: Apache-2.0 */
/* The printer: lines, names, modules, and the entry points. */
#include <stdio.h>

#include "printer.h"

/* ---- text ---- */
void
pr_puts(printer *p, const char *s)
{
    tnb_buf_puts(&p->line, s);
}

void
pr_printf(printer *p, const char *fmt, ...)
{
    char small[256];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof small) {
        tnb_buf_put(&p->line, small, (size_t)n);
    } else if (n >= 0) {
        char *large = tnb_alloc(p->arena, (size_t)n + 1);
        vsnprintf(large, (size_t)n + 1, fmt, again);
        tnb_buf_put(&p->line, large, (size_t)n);
    }
    va_end(again);
}

static void
indentation(printer *p)
{
    for (int i = 0; i < p->indent; i++)
        tnb_buf_puts(&p->out, "    ");
}

void
pr_end_line(printer *p)
{
    indentation(p);
    if (p->line.s)
        tnb_buf_put(&p->out, p->line.s, p->line.n);
    tnb_buf_putc(&p->out, '\n');
    p->line.n = 0;
}

void
pr_line(printer *p, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    indentation(p);
    tnb_buf_puts(&p->out, text);
    tnb_buf_putc(&p->out, '\n');
}

void
pr_string(printer *p, const char *s)
{
    tnb_buf_putc(&p->line, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            tnb_buf_printf(&p->line, "\\%c", c);
        else if (c == '\n')
            tnb_buf_puts(&p->line, "\\n");
        else if (c == '\t')
            tnb_buf_puts(&p->line, "\\t");
        else if (c == '\r')
            tnb_buf_puts(&p->line, "\\r");
        else if (c < 0x20 || c == 0x7f)
            tnb_buf_printf(&p->line, "\\x%02x", c);
        else
            tnb_buf_putc(&p->line, (char)c);
    }
    tnb_buf_putc(&p->line, '"');
}

/* ---- names ---- */
static const char *const reserved[] = {
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    /* names the reader gives a meaning */
    "I",
    "R",
    "T",
    "TypeVar",
    "cls",
    "float",
    "metadata",
    "range",
    "tvm",
    "typing",
};

static bool
is_reserved(const char *s)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(s, reserved[i]))
            return true;
    return false;
}

static bool
name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool
pr_is_identifier(const char *s)
{
    if (!*s || (*s >= '0' && *s <= '9') || is_reserved(s))
        return false;
    for (; *s; s++)
        if (!name_char(*s))
            return false;
    return true;
}

const char *
pr_clean(printer *p, const char *hint)
{
    if (!hint || !*hint)
        return "v";
    if (pr_is_identifier(hint))
        return hint;
    bool digit = *hint >= '0' && *hint <= '9';
    char *s = tnb_printf(p->arena, "%s%s%s", digit ? "_" : "", hint, is_reserved(hint) ? "_" : "");
    for (char *c = s; *c; c++)
        if (!name_char(*c))
            *c = '_';
    return s;
}

const char *
pr_define(printer *p, const tn_node *n, const char *hint)
{
    const char *known = tnb_ptrmap_get(&p->names, n);
    if (known)
        return known;
    const char *base = pr_clean(p, hint), *name = base;
    uintptr_t next = (uintptr_t)tnb_strmap_get(&p->taken, base);
    if (next) {
        do
            name = tnb_printf(p->arena, "%s_%u", base, (unsigned)next++);
        while (tnb_strmap_has(&p->taken, name));
        tnb_strmap_set(&p->taken, base, (void *)next);
    }
    tnb_strmap_set(&p->taken, name, (void *)1);
    tnb_ptrmap_set(&p->names, n, (void *)(uintptr_t)name);
    return name;
}

void
pr_alias(printer *p, const tn_node *n, const char *text)
{
    tnb_ptrmap_set(&p->names, n, (void *)(uintptr_t)text);
}

bool
pr_known(printer *p, const tn_node *n)
{
    return tnb_ptrmap_has(&p->names, n);
}

const char *
pr_name(printer *p, const tn_node *n)
{
    const char *known = tnb_ptrmap_get(&p->names, n);
    if (known)
        return known;
    const tn_buffer *b = tn_as_buffer(n);
    if (b) {
        /* a buffer from outside: declared, so that the line can be read */
        const char *name = pr_define(p, n, b->name);
        if (p->in_function && !p->one_line) {
            tnb_buf line = p->line;
            p->line = (tnb_buf){0};
            bool data = pr_known(p, b->data);
            pr_printf(p, "%s = T.Buffer(", name);
            pr_buffer_type(p, n);
            if (data)
                pr_printf(p, ", data=%s", pr_name(p, b->data));
            pr_puts(p, ")");
            pr_end_line(p);
            tnb_buf_free(&p->line);
            p->line = line;
        }
        if (!pr_known(p, b->data))
            pr_alias(p, b->data, tnb_printf(p->arena, "%s.data", name));
        return name;
    }
    const char *name = pr_define(p, n, tn_is_var(n) ? tn_var_name(n) : "v");
    if (p->in_function && !p->one_line && !p->quote && tn_is_scalar(n)) {
        const tn_ty_ptr *q = tn_as_ty_ptr(n->type);
        if (q)
            pr_line(p, "%s = T.handle(\"%s\", \"%s\")", name, tnb_dtype_print(q->elem).s,
                    q->scope && *q->scope ? q->scope : "global");
        else
            pr_line(p, "%s = T.%s()", name, tnb_dtype_print(tn_dtype_of(n)).s);
    }
    return name;
}

static tn_walk_step
note_use(void *user, const tn_node *n)
{
    printer *p = user;
    if (tn_is_var(n))
        tnb_ptrmap_set(&p->uses, n, n);
    return TN_WALK_ON;
}

/* Uses, that is, not definitions: what appears where an operand stands. */
static tn_walk_step
note_operands(void *user, const tn_node *n)
{
    printer *p = user;
    const tn_kind_info *k = &tn_kinds[n->kind];
    for (uint16_t i = 0; i < k->n_fields; i++) {
        const tn_field *f = &k->fields[i];
        const char *at = (const char *)n + f->offset;
        if (f->type == TN_FIELD_NODE) {
            note_use(p, *(const tn_node *const *)at ? *(const tn_node *const *)at : n);
        } else if (f->type == TN_FIELD_LIST) {
            const tn_list *l = (const tn_list *)at;
            for (uint32_t j = 0; j < l->n; j++)
                if (l->at[j])
                    note_use(p, l->at[j]);
        }
    }
    return TN_WALK_ON;
}

void
pr_begin_function(printer *p, const tn_node *func)
{
    tnb_ptrmap_init(&p->names, p->arena);
    tnb_strmap_init(&p->taken, p->arena);
    tnb_ptrmap_init(&p->uses, p->arena);
    tnb_ptrmap_init(&p->loops, p->arena);
    if (p->module_name)
        tnb_strmap_set(&p->taken, p->module_name, (void *)1);
    const tn_function *f = tn_as_function(func);
    const tn_prim_func *t = tn_as_prim_func(func);
    if (f)
        tn_walk(f->body, TN_WALK_TYPES, note_operands, NULL, p);
    else if (t)
        tn_walk(t->body, 0, note_operands, NULL, p);
}

const char *
pr_function_name(printer *p, const char *name)
{
    const char *known = tnb_ptrmap_get(&p->func_names, name);
    return known ? known : pr_clean(p, name);
}

/* ---- modules ---- */
static void
name_functions(printer *p)
{
    tnb_strmap taken;
    tnb_strmap_init(&taken, p->arena);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < p->module->names.n; i++) {
            const char *name = tn_module_name(p->module, i), *text = name;
            if (pr_is_identifier(name) != (pass == 0))
                continue;
            if (pass) {
                const char *base = pr_clean(p, name);
                text = base;
                for (unsigned k = 1; tnb_strmap_has(&taken, text); k++)
                    text = tnb_printf(p->arena, "%s_%u", base, k);
            }
            tnb_strmap_set(&taken, text, (void *)1);
            tnb_ptrmap_set(&p->func_names, name, (void *)(uintptr_t)text);
        }
}

static void
blank_line(printer *p)
{
    tnb_buf_putc(&p->out, '\n');
}

static void
function(printer *p, const tn_node *f, const char *name)
{
    const char *text = pr_function_name(p, name);
    const char *given = strcmp(text, name) != 0 ? name : NULL;
    pr_begin_function(p, f);
    if (f->kind == TN_KIND_PRIM_FUNC) {
        p->module_ref = p->module_name ? p->module_name : "cls";
        pr_prim_func(p, tn_as_prim_func(f), text, given);
    } else {
        p->module_ref = "cls";
        pr_graph_function(p, tn_as_function(f), text, given, false);
    }
}

static void
external(printer *p, const tn_node *f, const char *name)
{
    const char *text = pr_function_name(p, name);
    pr_printf(p, "%s = ", text);
    pr_value(p, f);
    if (strcmp(text, name) != 0 && !p->line.failed) {
        p->line.n--;
        pr_puts(p, ", name=");
        pr_string(p, name);
        pr_puts(p, ")");
    }
    pr_end_line(p);
}

/* PrimFuncs, external functions, graph functions; each group by name, `main` last. */
static int
group_of(const tn_node *f)
{
    return f->kind == TN_KIND_PRIM_FUNC ? 0 : f->kind == TN_KIND_EXTERN_FUNC ? 1 : 2;
}

static void
module_lines(printer *p, const tn_module *m)
{
    pr_begin_function(p, NULL);
    pr_puts(p, "@I.ir_module");
    pr_end_line(p);
    pr_printf(p, "class %s:", p->module_name);
    pr_end_line(p);
    p->indent++;
    bool any = false, externals = false;
    if (pr_dict_count(m->attrs, NULL)) {
        pr_puts(p, "I.module_attrs(");
        pr_dict(p, m->attrs, NULL);
        pr_puts(p, ")");
        pr_end_line(p);
        any = true;
    }
    if (pr_dict_count(m->infos, NULL)) {
        pr_puts(p, "I.module_global_infos(");
        pr_dict(p, m->infos, NULL);
        pr_puts(p, ")");
        pr_end_line(p);
        any = true;
    }
    for (int group = 0; group < 3; group++)
        for (int last = 0; last < 2; last++)
            for (uint32_t i = 0; i < m->funcs.n; i++) {
                const tn_node *f = m->funcs.at[i];
                const char *name = tn_module_name(m, i);
                if (group_of(f) != group || (!strcmp(name, "main")) != (last == 1))
                    continue;
                if (any && !(group == 1 && externals))
                    blank_line(p);
                any = true;
                externals = group == 1;
                if (group == 1)
                    external(p, f, name);
                else
                    function(p, f, name);
            }
    if (!any) {
        pr_puts(p, "pass");
        pr_end_line(p);
    }
    p->indent--;
}

/* Which dialects the text uses. */
static void
imports(printer *p, tnb_buf *out, const char *text, bool module)
{
    (void)p;
    if (module || strstr(text, "I."))
        tnb_buf_puts(out, "# from tvm.script import ir as I\n");
    if (strstr(text, "T."))
        tnb_buf_puts(out, "# from tvm.script import tirx as T\n");
    if (strstr(text, "R."))
        tnb_buf_puts(out, "# from tvm.script import relax as R\n");
    tnb_buf_puts(out, "\n");
}

static bool
printer_init(printer *p, tn_ctx *ctx, const tn_print_options *opt)
{
    *p = (printer){.ctx = ctx, .opt = opt, .arena = tnb_arena_new(), .child = tn_ctx_child(ctx)};
    if (!p->arena || !p->child) {
        tnb_arena_free(p->arena);
        if (p->child)
            tn_ctx_free(p->child);
        return false;
    }
    p->module_name = opt && opt->name ? pr_clean(p, opt->name) : "Module";
    p->module_ref = "cls";
    tnb_ptrmap_init(&p->func_names, p->arena);
    tnb_strmap_init(&p->constant_index, p->arena);
    pr_begin_function(p, NULL);
    return true;
}

static void
printer_free(printer *p)
{
    tn_ctx_free(p->child);
    tnb_arena_free(p->arena);
    tnb_buf_free(&p->out);
    tnb_buf_free(&p->line);
}

static void
any_node(printer *p, const tn_node *n)
{
    if (n->kind == TN_KIND_FUNCTION || n->kind == TN_KIND_PRIM_FUNC) {
        const tn_node *attrs = n->kind == TN_KIND_FUNCTION ? ((const tn_function *)n)->attrs
                                                           : ((const tn_prim_func *)n)->attrs;
        const char *name = tn_dict_str(attrs, "global_symbol", "main");
        function(p, n, name);
    } else if (tn_is_stmt(n)) {
        p->tensor = true;
        pr_stmt(p, n);
    } else if (tn_is(n, TN_KIND_VAR_BINDING) || tn_is(n, TN_KIND_MATCH_CAST)) {
        pr_binding(p, n);
    } else if (tn_as_bindings_block(n)) {
        const tn_bindings_block *b = tn_as_bindings_block(n);
        for (uint32_t i = 0; i < b->bindings.n; i++)
            pr_binding(p, b->bindings.at[i]);
    } else if (tn_is_type(n)) {
        pr_type(p, n);
    } else if (n->kind == TN_KIND_ITER_VAR) {
        pr_puts(p, pr_name(p, ((const tn_iter_var *)n)->var));
    } else if (n->kind >= TN_KIND_FIRST_EXPR && n->kind <= TN_KIND_LAST_EXPR && !tn_is_scalar(n)) {
        if (n->kind == TN_KIND_STRING_IMM)
            pr_expr(p, n, PREC_TEST);
        else
            pr_value(p, n);
    } else if (n->kind >= TN_KIND_FIRST_EXPR && n->kind <= TN_KIND_LAST_EXPR) {
        pr_expr(p, n, PREC_TEST);
    } else {
        pr_attr(p, n);
    }
}

tnb_status
tn_print(tn_ctx *ctx, const tn_node *n, const tn_print_options *opt, tnb_buf *out)
{
    printer p;
    if (!n)
        return TNB_INVALID;
    if (!printer_init(&p, ctx, opt))
        return TNB_NO_MEMORY;
    p.module = tn_as_module(n);
    if (p.module) {
        name_functions(&p);
        module_lines(&p, p.module);
    } else {
        any_node(&p, n);
    }
    bool whole = p.module || n->kind == TN_KIND_FUNCTION || n->kind == TN_KIND_PRIM_FUNC;
    if (p.line.n && p.line.s) {
        tnb_buf_put(&p.out, p.line.s, p.line.n);
        p.line.n = 0;
    }
    if (whole) {
        pr_metadata(&p, out);
        imports(&p, out, p.out.s ? p.out.s : "", p.module != NULL);
    }
    if (p.out.s)
        tnb_buf_put(out, p.out.s, p.out.n);
    if (p.out.failed || p.line.failed || out->failed || tnb_arena_failed(p.arena))
        p.status = TNB_NO_MEMORY;
    tnb_status status = p.status;
    printer_free(&p);
    return status;
}

const char *
tn_text(tn_ctx *ctx, const tn_node *n)
{
    printer p;
    if (!n)
        return "nothing";
    if (!printer_init(&p, ctx, NULL))
        return "?";
    p.one_line = true;
    if (n->kind == TN_KIND_MODULE)
        pr_puts(&p, "the module");
    else
        any_node(&p, n);
    if (p.out.s && p.out.n) { /* statements: the first line */
        size_t end = strcspn(p.out.s, "\n");
        p.line.n = 0;
        tnb_buf_put(&p.line, p.out.s, end);
    }
    size_t limit = 200, len = p.line.s ? p.line.n : 0;
    char *text = tnb_strndup(tn_scratch(ctx), p.line.s ? p.line.s : "", len < limit ? len : limit);
    if (len > limit)
        memcpy(text + limit - 3, "...", 3);
    printer_free(&p);
    return text;
}
