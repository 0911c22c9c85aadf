/* SPDX-License-Identifier: Apache-2.0 */
/* Files and modules: imports, module attributes, global infos, functions in three steps (names,
 * then signatures, then bodies), so that references forward are fine.
 */
#include <ctype.h>
#include <stdlib.h>

#include "tenon/base/file.h"
#include "reader.h"

/* ---- the file's own names ---- */
static void
bind_path(reader *r, const char *name, const char *path)
{
    rd_bind(r, tn_str(r->ctx, name), (value){.kind = V_PATH, .s = tn_str(r->ctx, path)});
}

static void
import(reader *r, const ast *e)
{
    static const char *const dialects[][2] = {
        {"ir", "I"}, {"tir", "T"}, {"tirx", "T"}, {"relax", "R"}, {"TypeVar", "TypeVar"}};
    for (; e; e = e->b)
        for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
            if (!strcmp(e->text, dialects[i][0]))
                bind_path(r, e->a->text, dialects[i][1]);
}

/* The path of a decorator ("R.function"), NULL if it is none. */
static const char *
decorator_path(reader *r, const ast *d)
{
    const ast *f = d->kind == AST_CALL ? d->a : d;
    const ast *root = f;
    while (root->kind == AST_ATTR)
        root = root->a;
    if (root->kind != AST_NAME || !rd_find(r, root->text))
        return NULL;
    value v = rd_eval(r, f);
    return v.kind == V_PATH ? v.s : NULL;
}

static const ast *
keyword(const ast *call, const char *name)
{
    for (uint32_t i = 0; call->kind == AST_CALL && i < call->more.n; i++)
        if (!strcmp(call->more.at[i]->text, name))
            return call->more.at[i]->a;
    return NULL;
}

/* ---- one module ---- */
typedef struct module_read {
    TNB_VEC(global *) funcs;
    const tn_node *attrs, *infos;
} module_read;

static global *
add_global(reader *r, module_read *m, const ast *e, const char *text_name, const char *name)
{
    if (tnb_strmap_has(&r->globals, text_name)) {
        rd_error(r, e, TNB_INVALID, "the module has two functions '%s'", text_name);
        return NULL;
    }
    for (uint32_t i = 0; text_name != name && i < m->funcs.n; i++)
        if (m->funcs.at[i]->name == name) {
            rd_error(r, e, TNB_INVALID, "the module has two functions '%s'", name);
            return NULL;
        }
    global *g = TNB_NEW(r->arena, global);
    g->name = name;
    rd_at(r, e);
    g->var = tn_global_var_of(r->ctx, name);
    tnb_strmap_set(&r->globals, text_name, g);
    tnb_ptrmap_set(&r->by_var, g->var, g);
    rd_bind(r, text_name, rd_node(g->var));
    TNB_PUSH(r->arena, m->funcs, g);
    return g;
}

static void
module_call(reader *r, module_read *m, const ast *e)
{
    const char *path = e->kind == AST_CALL ? decorator_path(r, e) : NULL;
    bool attrs = path && !strcmp(path, "I.module_attrs");
    bool infos = path && !strcmp(path, "I.module_global_infos");
    if (e->kind == AST_STR)
        return;
    if (!attrs && !infos) {
        rd_error(r, e, TNB_FORMAT, "this has no meaning in a module");
        rd_hint(r, "functions need a decorator, @R.function or @T.prim_func");
        return;
    }
    call_args a = rd_args(e, path);
    value v;
    const ast *where = e;
    if (!rd_need(r, &a, attrs ? "attrs" : "infos", &v, &where) || !rd_args_end(r, &a))
        return;
    const tn_node *d = rd_dict(r, where, v);
    if (attrs)
        m->attrs = d;
    else
        m->infos = r->infos = d;
}

/* ext = R.ExternFunc("symbol"), cls = Module, n = TypeVar("n") */
static void
module_assignment(reader *r, module_read *m, const ast *s)
{
    const ast *e = s->kind == AST_ASSIGN ? s->b : s->c;
    if (s->a->kind != AST_NAME || !e || (s->kind == AST_ASSIGN && s->c)) {
        rd_error(r, s, TNB_FORMAT, "expected 'name = value' in a module");
        return;
    }
    value v = rd_eval(r, e);
    if (!rd_is_node(v, TN_KIND_EXTERN_FUNC)) {
        rd_bind(r, s->a->text, v);
        return;
    }
    const ast *other = keyword(e, "name");
    const char *name = other && other->kind == AST_STR ? other->text : s->a->text;
    global *g = add_global(r, m, s, s->a->text, name);
    if (g) {
        g->external = true;
        g->func = v.node;
        g->type = tn_is(v.node->type, TN_KIND_TY_FUNC) ? v.node->type : NULL;
    }
}

static void
module_function(reader *r, module_read *m, const ast *def)
{
    const char *path = NULL;
    const ast *name = NULL;
    for (uint32_t i = 0; i < def->b->list.n; i++) {
        const char *p = decorator_path(r, def->b->list.at[i]);
        if (p && (!strcmp(p, "R.function") || !strcmp(p, "T.prim_func"))) {
            path = p;
            name = keyword(def->b->list.at[i], "name");
        } else {
            rd_error(r, def->b->list.at[i], TNB_FORMAT, "expected @R.function or @T.prim_func");
            return;
        }
    }
    if (!path) {
        rd_error(r, def, TNB_FORMAT, "function '%s' has no decorator", def->text);
        rd_hint(r, "write @R.function or @T.prim_func above it");
        return;
    }
    global *g =
        add_global(r, m, def, def->text, name && name->kind == AST_STR ? name->text : def->text);
    if (g) {
        g->def = def;
        g->tensor = path[0] == 'T';
    }
}

static void
read_function(reader *r, global *g, int depth);

/* Reads first what e calls, so that calls have the type that the function has, not the one that is
 * written: that may be missing, weaker or wrong. */
static void
read_callees(reader *r, const ast *e, int depth)
{
    if (!e)
        return;
    if (e->kind == AST_ATTR || e->kind == AST_NAME) {
        global *g = tnb_strmap_get(&r->globals, e->text);
        if (g && g->def && !g->tensor && !g->started)
            read_function(r, g, depth + 1);
    }
    read_callees(r, e->a, depth);
    read_callees(r, e->b, depth);
    read_callees(r, e->c, depth);
    for (uint32_t i = 0; i < e->list.n; i++)
        read_callees(r, e->list.at[i], depth);
    for (uint32_t i = 0; i < e->more.n; i++)
        read_callees(r, e->more.at[i], depth);
}

static void
read_function(reader *r, global *g, int depth)
{
    if (g->started || !g->def || g->failed)
        return;
    g->started = true;
    if (g->tensor) {
        g->func = rd_prim_func(r, g->def, g->name);
        return;
    }
    for (uint32_t i = 0; depth < AST_MAX_INDENT / 4 && i < g->def->more.n; i++)
        read_callees(r, g->def->more.at[i], depth);
    g->func = rd_graph_function(r, g->def, g->name, g);
    if (g->func)
        g->type = NULL; /* the function's own is known now */
}

static const tn_module *
read_module(reader *r, const char *class_name, ast_list body)
{
    module_read m = {0};
    uint32_t before = tnb_diags_errors(tn_diags(r->ctx));
    tnb_strmap_init(&r->globals, r->arena);
    tnb_ptrmap_init(&r->by_var, r->arena);
    tnb_ptrmap_init(&r->gone, r->arena);
    r->infos = NULL;
    r->level = LEVEL_MODULE;
    rd_push(r);
    if (class_name)
        rd_bind(r, class_name, (value){.kind = V_MODULE});
    for (uint32_t i = 0; i < body.n; i++) {
        const ast *s = body.at[i];
        if (s->kind == AST_EXPR)
            module_call(r, &m, s->a);
        else if (s->kind == AST_ASSIGN || s->kind == AST_ANNOTATED)
            module_assignment(r, &m, s);
        else if (s->kind != AST_DEF && s->kind != AST_PASS)
            rd_error(r, s, TNB_FORMAT, "this has no meaning in a module");
    }
    for (uint32_t i = 0; i < body.n; i++)
        if (body.at[i]->kind == AST_DEF)
            module_function(r, &m, body.at[i]);
    for (uint32_t i = 0; i < m.funcs.n; i++)
        if (m.funcs.at[i]->def && m.funcs.at[i]->tensor)
            rd_declare_tensor(r, m.funcs.at[i]);
        else if (m.funcs.at[i]->def)
            rd_declare_graph(r, m.funcs.at[i]);
    const char **names = TNB_NEW_N(r->arena, const char *, m.funcs.n);
    const tn_node **funcs = TNB_NEW_N(r->arena, const tn_node *, m.funcs.n);
    for (uint32_t i = 0; i < m.funcs.n; i++) {
        global *g = m.funcs.at[i];
        read_function(r, g, 0);
        names[i] = g->name;
        funcs[i] = g->func;
    }
    rd_pop(r);
    if (tnb_diags_errors(tn_diags(r->ctx)) != before)
        return NULL;
    tn_at(r->ctx, 0);
    const tn_module *made =
        tn_module_set_all(r->ctx, tn_module_new(r->ctx), names, funcs, m.funcs.n);
    if (made && m.attrs)
        made = tn_module_with_attrs(r->ctx, made, m.attrs);
    if (made && m.infos)
        made = tn_module_with_infos(r->ctx, made, m.infos);
    return made;
}

/* ---- files ---- */
/* The value that stands in place of the file's own; V_ERROR without a message: there is none. */
static value
given_value(reader *r, const char *name)
{
    const tn_node *v = r->given ? tn_dict_get(&r->given->base, name) : NULL;
    if (!v)
        return (value){.kind = V_ERROR};
    tnb_ptrmap_set(&r->taken, tn_str(r->ctx, name), v);
    if (tn_as_int_imm(v))
        return (value){.kind = tnb_dtype_is_bool(tn_dtype_of(v)) ? V_BOOL : V_INT,
                       .i = tn_as_int_imm(v)->value};
    if (tn_as_float_imm(v))
        return (value){.kind = V_FLOAT, .f = tn_as_float_imm(v)->value};
    if (tn_as_string_imm(v))
        return (value){.kind = V_STR, .s = tn_as_string_imm(v)->value};
    tn_error(r->ctx, 0, TNB_TYPE, "'%s' is given as %s, expected a number, a truth or a text", name,
             tn_text(r->ctx, v));
    return (value){.kind = V_NONE};
}

static void
file_assignment(reader *r, const ast *s)
{
    const ast *e = s->b;
    if (s->a->kind != AST_NAME || s->c) {
        rd_error(r, s, TNB_FORMAT, "expected 'name = value'");
        return;
    }
    /* metadata = tvm.ir.load_json("...") */
    if (!strcmp(s->a->text, "metadata") && e->kind == AST_CALL && e->list.n == 1 &&
        e->list.at[0]->kind == AST_STR) {
        r->constants = rd_constants(r, e, e->list.at[0]->text);
        return;
    }
    value given = given_value(r, s->a->text);
    rd_bind(r, s->a->text, given.kind == V_ERROR ? rd_eval(r, e) : given);
}

/* Every value that was given has its place. */
static void
check_given(reader *r)
{
    for (uint32_t i = 0; r->given && i < r->given->items.n; i++) {
        const tn_pair *p = tn_as_pair(r->given->items.at[i]);
        if (!tnb_ptrmap_has(&r->taken, tn_str(r->ctx, p->key)))
            tn_error(r->ctx,
                     tn_loc_make(r->ctx, (tnb_place){.file = r->src.file, .line = 1, .column = 1}),
                     TNB_NOT_FOUND, "a value is given for '%s', which the file does not assign",
                     p->key);
    }
}

static bool
is_module_class(reader *r, const ast *s)
{
    for (uint32_t i = 0; i < s->more.n; i++) {
        const char *p = decorator_path(r, s->more.at[i]);
        if (p && (!strcmp(p, "I.ir_module") || !strcmp(p, "tvm.script.ir_module") ||
                  !strcmp(p, "tvm.script.ir.ir_module")))
            return true;
    }
    return false;
}

typedef TNB_VEC(tn_named_module) module_vec;

static void
read_file(reader *r, ast_list body, module_vec *out)
{
    TNB_VEC(ast *) bare = {0};
    for (uint32_t i = 0; i < body.n; i++) {
        const ast *s = body.at[i];
        if (s->kind == AST_IMPORT) {
            import(r, s);
        } else if (s->kind == AST_ASSIGN) {
            file_assignment(r, s);
        } else if (s->kind == AST_CLASS) {
            if (!is_module_class(r, s)) {
                rd_error(r, s, TNB_FORMAT, "class '%s' is not a module", s->text);
                rd_hint(r, "write @I.ir_module above it");
                continue;
            }
            tn_named_module m = {.name = s->text, .module = read_module(r, s->text, s->list)};
            TNB_PUSH(r->arena, *out, m);
        } else if (s->kind == AST_DEF) {
            TNB_PUSH(r->arena, bare, body.at[i]);
        } else if (s->kind != AST_PASS && !(s->kind == AST_EXPR && s->a->kind == AST_STR)) {
            rd_error(r, s, TNB_FORMAT, "expected a module or function here");
        }
    }
    if (bare.n) {
        tn_named_module m = {.name = "",
                             .module = read_module(r, NULL, (ast_list){bare.at, bare.n})};
        TNB_PUSH(r->arena, *out, m);
    }
}

static tn_named_module *
read_modules(tn_ctx *ctx, const char *file, const char *text, size_t n, const tn_node *given,
             uint32_t *count)
{
    *count = 0;
    tnb_arena *arena = tnb_arena_new();
    if (!arena) {
        tn_error(ctx, 0, TNB_NO_MEMORY, "no memory to read '%s'", file ? file : "the text");
        return NULL;
    }
    reader r = {.ctx = ctx, .arena = arena, .given = tn_as_dict(given)};
    /* messages may want lines of the text long after the caller has freed it */
    const char *own = tnb_strndup(tn_arena(ctx), text ? text : "", n);
    file = tn_str(ctx, file ? file : "<text>");
    tn_ctx_source(ctx, file, own, n);
    r.src = (source){.ctx = ctx, .arena = arena, .file = file, .text = own, .n = n};
    tn_loc before = tn_at(ctx, 0);
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    r.errors_at_start = errors;
    tnb_ptrmap_init(&r.names, arena);
    tnb_ptrmap_init(&r.gone, arena);
    tnb_strmap_init(&r.globals, arena);
    tnb_ptrmap_init(&r.by_var, arena);
    tnb_ptrmap_init(&r.taken, arena);
    static const char *const names[] = {"I",     "T",        "R",       "tvm",   "float",
                                        "range", "metadata", "TypeVar", "typing"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        bind_path(&r, names[i], names[i]);
    ast_list body = text_parse(&r.src);
    module_vec modules = {0};
    if (!tnb_arena_failed(arena))
        read_file(&r, body, &modules);
    check_given(&r);
    if (tnb_arena_failed(arena))
        tn_error(ctx, 0, TNB_NO_MEMORY, "no memory to read '%s'", file);
    else if (!modules.n && tnb_diags_errors(tn_diags(ctx)) == errors)
        tn_error(ctx, tn_loc_make(ctx, (tnb_place){.file = file, .line = 1, .column = 1}),
                 TNB_FORMAT, "no module or function in this file");
    bool failed = r.src.errors || tnb_arena_failed(arena);
    tn_named_module *out = TNB_NEW_N(tn_arena(ctx), tn_named_module, modules.n);
    for (uint32_t i = 0; i < modules.n; i++) {
        out[i] = modules.at[i];
        if (failed)
            out[i].module = NULL;
    }
    *count = modules.n;
    tn_at(ctx, before);
    tnb_arena_free(arena);
    return out;
}

tn_named_module *
tn_read_modules(tn_ctx *ctx, const char *file, const char *text, size_t n, uint32_t *count)
{
    return read_modules(ctx, file, text, n, NULL, count);
}

static const tn_module *
read_one(tn_ctx *ctx, const char *file, const char *text, size_t n, const tn_node *given)
{
    uint32_t count, errors = tnb_diags_errors(tn_diags(ctx));
    const tn_named_module *m = read_modules(ctx, file, text, n, given, &count);
    if (!m || !count || tnb_diags_errors(tn_diags(ctx)) != errors)
        return NULL;
    if (count > 1) {
        tn_error(ctx, tn_loc_make(ctx, (tnb_place){.file = file}), TNB_INVALID,
                 "the file holds %u modules ('%s', '%s', ...), expected one", count, m[0].name,
                 m[1].name);
        return NULL;
    }
    return m[0].module;
}

const tn_module *
tn_read_module(tn_ctx *ctx, const char *file, const char *text, size_t n)
{
    return read_one(ctx, file, text, n, NULL);
}

/* A file that begins like no text would give an error a byte. */
static bool
is_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n && i < 16; i++)
        if ((unsigned char)text[i] < ' ' && !isspace((unsigned char)text[i]))
            return false;
    return true;
}

const tn_module *
tn_read_module_file(tn_ctx *ctx, const char *path)
{
    return tn_read_module_file_with(ctx, path, NULL);
}

const tn_module *
tn_read_module_file_with(tn_ctx *ctx, const char *path, const tn_node *given)
{
    char *text;
    size_t n;
    tnb_err err = {0};
    if (tnb_read_file(path, 0, &text, &n, &err) != TNB_OK) {
        tn_error(ctx, 0, err.status, "%s", err.message);
        return NULL;
    }
    const tn_module *m = NULL;
    if (is_text(text, n)) {
        m = read_one(ctx, path, text, n, given);
    } else {
        tn_error(ctx, tn_loc_make(ctx, (tnb_place){.file = path}), TNB_FORMAT,
                 "no text: TVMScript was expected");
        tnb_diag_hint(tn_diags(ctx),
                      "models are for tenon compile, run, bench and show model; tenon opt MODEL "
                      "-p '' writes what a model is in TVMScript");
    }
    free(text);
    return m;
}
