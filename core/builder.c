/* SPDX-License-Identifier: Apache-2.0 */
/* The block builder: normalises expressions, binds them to fresh variables, collects blocks and
 * functions. */
#include "private.h"
#include <ctype.h>
#include <string.h>

#include "tenon/core/text.h"

/* A scope collects blocks: the body of a function, or of a branch of an If. */
struct scope {
    struct scope *outer;
    bool is_function;
    tn_list params;
    tn_node_vec blocks, bindings;
    bool open, dataflow; /* a block was begun explicitly */
    tnb_strmap names;    /* of a function: name -> times used, as a pointer */
};

/* A function of the module under construction, for reuse. */
struct known {
    struct known *next; /* of the same hash; of the same family */
    const char *name;
    const tn_node *func;
};

struct tn_builder {
    tn_ctx *ctx;
    tnb_arena *arena;
    const tn_module *module; /* without what is in `added` */
    tnb_strmap added; /* name -> function: put into the module together, when it is asked for */
    struct scope *scope;
    tnb_ptrmap values;     /* variable -> bound value */
    tnb_ptrmap functions;  /* hash, as a key -> struct known */
    tnb_strmap families;   /* a name without digits -> functions of the module, not hashed yet */
    bool indexed;          /* `families` was filled */
    tnb_ptrmap last_names; /* function -> the name that it was last given */
    tnb_strmap next_name;  /* hint -> next number to try, as a pointer */
    tnb_strmap texts;      /* text -> the function that was read from it */
};

tn_builder *
tn_builder_new(tn_ctx *ctx, const tn_module *base)
{
    tn_builder *b = TNB_NEW(tn_scratch(ctx), tn_builder);
    b->ctx = ctx;
    b->arena = tn_scratch(ctx);
    b->module = base ? base : tn_module_new(ctx);
    tnb_ptrmap_init(&b->values, b->arena);
    tnb_ptrmap_init(&b->functions, b->arena);
    tnb_ptrmap_init(&b->last_names, b->arena);
    tnb_strmap_init(&b->families, b->arena);
    tnb_strmap_init(&b->next_name, b->arena);
    tnb_strmap_init(&b->added, b->arena);
    tnb_strmap_init(&b->texts, b->arena);
    return b;
}

tn_ctx *
tn_builder_ctx(tn_builder *b)
{
    return b->ctx;
}

const tn_module *
tn_builder_module(tn_builder *b)
{
    uint32_t n = b->added.n;
    if (!n)
        return b->module;
    const char **names = TNB_NEW_N(b->arena, const char *, n);
    const tn_node **funcs = TNB_NEW_N(b->arena, const tn_node *, n);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = b->added.at[i].key;
        funcs[i] = b->added.at[i].value;
    }
    b->module = tn_module_set_all(b->ctx, b->module, names, funcs, n);
    tnb_strmap_init(&b->added, b->arena);
    return b->module;
}

const tn_node *
tn_builder_find_function(tn_builder *b, const char *name)
{
    const tn_node *f = tnb_strmap_get(&b->added, name);
    return f ? f : tn_module_get(b->module, name);
}

/* ---- scopes ---- */
static struct scope *
push_scope(tn_builder *b, bool is_function)
{
    struct scope *s = TNB_NEW(b->arena, struct scope);
    s->outer = b->scope;
    s->is_function = is_function;
    if (is_function)
        tnb_strmap_init(&s->names, b->arena);
    b->scope = s;
    return s;
}

static struct scope *
need_scope(tn_builder *b)
{
    if (!b->scope) /* emitting without a function: collected, for tests and partial use */
        push_scope(b, true);
    return b->scope;
}

static void
flush(tn_builder *b)
{
    struct scope *s = b->scope;
    if (s->bindings.n) {
        const tn_node *block = tn_binding_block_of(b->ctx, (tn_list){s->bindings.at, s->bindings.n},
                                                   s->open && s->dataflow);
        TNB_PUSH(b->arena, s->blocks, block);
    }
    s->bindings.n = 0;
}

void
tn_builder_begin_function(tn_builder *b, tn_list params)
{
    struct scope *s = push_scope(b, true);
    s->params = params;
    for (uint32_t i = 0; i < params.n; i++)
        tnb_strmap_set(&s->names, tn_var_name(params.at[i]), (void *)1);
}

void
tn_builder_begin_block(tn_builder *b, bool dataflow)
{
    struct scope *s = need_scope(b);
    flush(b);
    s->open = true;
    s->dataflow = dataflow;
}

void
tn_builder_end_block(tn_builder *b)
{
    struct scope *s = need_scope(b);
    flush(b);
    s->open = s->dataflow = false;
}

bool
tn_builder_in_dataflow(tn_builder *b)
{
    return b->scope && b->scope->open && b->scope->dataflow;
}

static const tn_expr *
pop_as_seq(tn_builder *b, const tn_expr *body)
{
    struct scope *s = b->scope;
    flush(b);
    b->scope = s->outer;
    return tn_seq_expr_of(b->ctx, (tn_list){s->blocks.at, s->blocks.n}, body);
}

/* ---- names ---- */
static const char *
fresh_name(tn_builder *b, const char *hint)
{
    struct scope *s = need_scope(b);
    while (!s->is_function && s->outer)
        s = s->outer;
    if (!hint || !*hint)
        hint = tn_builder_in_dataflow(b) ? "lv" : "gv";
    const char *name = hint;
    uintptr_t n = (uintptr_t)tnb_strmap_get(&s->names, hint);
    while (tnb_strmap_has(&s->names, name))
        name = tn_strf(b->ctx, "%s%llu", hint, (unsigned long long)n++);
    tnb_strmap_set(&s->names, name, (void *)1);
    if (name != hint)
        tnb_strmap_set(&s->names, hint, (void *)n);
    return name;
}

/* ---- normalisation ---- */
static bool
is_scalar_call(const tn_expr *e)
{
    const tn_call *c = tn_as_call(e);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    return op && (op->flags & TN_OP_SCALAR);
}

/* What may stand as an argument. Tuples are leaves when their fields are. */
static bool
is_leaf(const tn_expr *e)
{
    switch ((tn_kind)e->kind) {
    case TN_KIND_CALL:
        return is_scalar_call(e);
    case TN_KIND_TUPLE_GET:
    case TN_KIND_IF_EXPR:
    case TN_KIND_SEQ_EXPR:
    case TN_KIND_FUNCTION:
        return false;
    case TN_KIND_TUPLE: {
        tn_list l = ((const tn_tuple *)e)->fields;
        for (uint32_t i = 0; i < l.n; i++)
            if (!is_leaf(l.at[i]))
                return false;
        return true;
    }
    default:
        return true;
    }
}

static const tn_expr *
normalize(tn_builder *b, const tn_expr *e);

static const tn_expr *
to_leaf(tn_builder *b, const tn_expr *e)
{
    if (tn_is_error(e) || is_leaf(e))
        return e;
    if (e->kind == TN_KIND_TUPLE)
        return normalize(b, e);
    return tn_emit(b, e, NULL);
}

/* The list with every entry a leaf; the same list if all were. */
static tn_list
leaves(tn_builder *b, tn_list l)
{
    const tn_node **at = NULL;
    for (uint32_t i = 0; i < l.n; i++) {
        const tn_expr *now = to_leaf(b, l.at[i]);
        if (now == l.at[i])
            continue;
        if (!at)
            at = tnb_dup(b->arena, l.at, l.n * sizeof *at);
        at[i] = now;
    }
    return at ? (tn_list){at, l.n} : l;
}

static const tn_expr *
normalize_branch(tn_builder *b, const tn_expr *e)
{
    push_scope(b, false);
    const tn_expr *body = e;
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    for (uint32_t i = 0; seq && i < seq->blocks.n; i++) {
        tn_list l = ((const tn_bindings_block *)seq->blocks.at[i])->bindings;
        tn_builder_begin_block(b, seq->blocks.at[i]->kind == TN_KIND_DATAFLOW_BLOCK);
        for (uint32_t k = 0; k < l.n; k++)
            tn_emit_binding(b, l.at[k]);
        tn_builder_end_block(b);
    }
    if (seq)
        body = seq->body;
    return pop_as_seq(b, to_leaf(b, body));
}

static const tn_expr *
with_callee_type(tn_builder *b, const tn_expr *e)
{
    const tn_call *c = tn_as_call(e);
    if (!c || !tn_is(c->op, TN_KIND_GLOBAL_VAR) || c->ty_args.n || !tn_is(e->type, TN_KIND_TY_ANY))
        return e;
    const tn_node *f = tn_builder_find_function(b, ((const tn_global_var *)c->op)->name);
    if (!f)
        return e;
    tn_list params = tn_is(f, TN_KIND_FUNCTION)    ? ((const tn_function *)f)->params
                     : tn_is(f, TN_KIND_PRIM_FUNC) ? ((const tn_prim_func *)f)->params
                                                   : (tn_list){0};
    const tn_type *t = tn_call_result_type(b->ctx, tn_func_type(b->ctx, f), params, c->args);
    return tn_rebuild(b->ctx, TN_KIND_CALL, c, t);
}

static const tn_expr *
normalize(tn_builder *b, const tn_expr *e)
{
    switch ((tn_kind)e->kind) {
    case TN_KIND_CALL: {
        const tn_call *c = (const tn_call *)e;
        if (is_scalar_call(e))
            return e;
        const tn_expr *op = to_leaf(b, c->op);
        tn_list args = leaves(b, c->args);
        if (op != c->op || args.at != c->args.at)
            e = tn_rebuild(b->ctx, TN_KIND_CALL,
                           &(tn_call){.base.loc = e->loc,
                                      .op = op,
                                      .args = args,
                                      .attrs = c->attrs,
                                      .ty_args = c->ty_args},
                           e->type);
        return with_callee_type(b, e);
    }
    case TN_KIND_TUPLE: {
        tn_list old = ((const tn_tuple *)e)->fields, l = leaves(b, old);
        return l.at == old.at ? e : tn_tuple_of(b->ctx, l);
    }
    case TN_KIND_TUPLE_GET: {
        const tn_tuple_get *g = (const tn_tuple_get *)e;
        const tn_expr *t = to_leaf(b, g->tuple);
        return t == g->tuple ? e : tn_tuple_item(b->ctx, t, g->index);
    }
    case TN_KIND_IF_EXPR: {
        const tn_if_expr *i = (const tn_if_expr *)e;
        return tn_if_expr_of(b->ctx, to_leaf(b, i->cond), normalize_branch(b, i->then_branch),
                             normalize_branch(b, i->else_branch));
    }
    case TN_KIND_SEQ_EXPR: { /* its bindings come first, then its result */
        const tn_seq_expr *s = (const tn_seq_expr *)e;
        for (uint32_t i = 0; i < s->blocks.n; i++) {
            tn_list l = ((const tn_bindings_block *)s->blocks.at[i])->bindings;
            for (uint32_t k = 0; k < l.n; k++)
                tn_emit_binding(b, l.at[k]);
        }
        return normalize(b, s->body);
    }
    default:
        return e;
    }
}

/* ---- emitting ---- */
static const tn_expr *
bind_new(tn_builder *b, const tn_expr *e, const char *hint, bool output)
{
    const tn_type *t = e->type ? e->type : tn_ty_any(b->ctx);
    const char *name = fresh_name(b, hint);
    tn_loc old = e->loc ? tn_at(b->ctx, e->loc) : tn_at(b->ctx, b->ctx->at);
    const tn_expr *v = tn_builder_in_dataflow(b) && !output ? tn_dataflow_var_new(b->ctx, name, t)
                                                            : tn_var_new(b->ctx, name, t);
    tn_emit_binding(b, tn_var_binding_of(b->ctx, v, e));
    tn_at(b->ctx, old);
    return v;
}

const tn_expr *
tn_emit(tn_builder *b, const tn_expr *e, const char *hint)
{
    if (tn_bad(b->ctx, e))
        return tn_error_node(b->ctx);
    need_scope(b);
    e = normalize(b, e);
    if (tn_is_error(e) || tn_is_var(e))
        return e;
    return bind_new(b, e, hint, false);
}

const tn_expr *
tn_emit_output(tn_builder *b, const tn_expr *e, const char *hint)
{
    if (tn_bad(b->ctx, e))
        return tn_error_node(b->ctx);
    need_scope(b);
    e = normalize(b, e);
    if (tn_is_error(e) || e->kind == TN_KIND_VAR)
        return e;
    return bind_new(b, e, hint && *hint ? hint : "gv", true);
}

const tn_expr *
tn_emit_match_cast(tn_builder *b, const tn_expr *value, const tn_type *to, const char *hint)
{
    if (tn_bad(b->ctx, value) || tn_bad(b->ctx, to))
        return tn_error_node(b->ctx);
    need_scope(b);
    value = to_leaf(b, value);
    const char *name = fresh_name(b, hint);
    const tn_expr *v = tn_builder_in_dataflow(b) ? tn_dataflow_var_new(b->ctx, name, to)
                                                 : tn_var_new(b->ctx, name, to);
    const tn_node *m = tn_match_cast_of(b->ctx, v, value, to);
    if (tn_is_error(m))
        return m;
    tn_emit_binding(b, m);
    return v;
}

static void
remember(tn_builder *b, const tn_node *binding)
{
    const tn_var_binding *v = tn_as_var_binding(binding);
    const tn_match_cast *m = tn_as_match_cast(binding);
    if (v)
        tnb_ptrmap_set(&b->values, v->var, v->value);
    else if (m)
        tnb_ptrmap_set(&b->values, m->var, m->value);
}

void
tn_emit_binding(tn_builder *b, const tn_node *binding)
{
    if (tn_bad(b->ctx, binding))
        return;
    struct scope *s = need_scope(b);
    const tn_var_binding *v = tn_as_var_binding(binding);
    const tn_match_cast *m = tn_as_match_cast(binding);
    if (!v && !m)
        return;
    remember(b, binding);
    while (!s->is_function && s->outer)
        s = s->outer;
    const char *name = tn_var_name(v ? v->var : m->var);
    if (!tnb_strmap_has(&s->names, name))
        tnb_strmap_set(&s->names, name, (void *)1);
    TNB_PUSH(b->arena, b->scope->bindings, binding);
}

const tn_expr *
tn_builder_find_value(tn_builder *b, const tn_expr *var)
{
    return tnb_ptrmap_get(&b->values, var);
}

static tn_walk_step
know_binding(void *user, const tn_node *n)
{
    remember(user, n);
    return tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

void
tn_builder_know(tn_builder *b, const tn_expr *function)
{
    tn_walk(function, 0, know_binding, NULL, b);
}

const tn_expr *
tn_builder_end_function(tn_builder *b, const tn_expr *body, const tn_type *ret, bool pure,
                        const tn_node *attrs)
{
    struct scope *s = need_scope(b);
    if (tn_bad(b->ctx, body)) {
        b->scope = s->outer;
        return tn_error_node(b->ctx);
    }
    if (s->open)
        tn_builder_end_block(b);
    body = to_leaf(b, body);
    const tn_expr *seq = pop_as_seq(b, body);
    return tn_function_of(b->ctx, s->params, seq, ret, pure, attrs);
}

/* ---- functions of the module ---- */
static const void *
key_of(tn_builder *b, const tn_node *func)
{
    uint64_t h = tn_hash(b->ctx, func, false);
    return (const void *)(uintptr_t)(h ? h : 1);
}

static void
index_function(tn_builder *b, const char *name, const tn_node *func, const void *key)
{
    struct known *k = TNB_NEW(b->arena, struct known);
    *k = (struct known){tnb_ptrmap_get(&b->functions, key), name, func};
    tnb_ptrmap_set(&b->functions, key, k);
}

/* `name` is `hint` or `hint` with a number. */
static bool
same_family(const char *name, const char *hint)
{
    size_t n = strlen(hint);
    if (strncmp(name, hint, n) != 0)
        return false;
    for (name += n; *name; name++)
        if (!isdigit((unsigned char)*name))
            return false;
    return true;
}

/* A name without the digits at its end: all of a family have the same. */
static const char *
stem_of(tn_builder *b, const char *name)
{
    size_t n = strlen(name);
    while (n && isdigit((unsigned char)name[n - 1]))
        n--;
    return tn_strf(b->ctx, "%.*s", (int)n, name);
}

/* Hashes take time: those of the module's functions are taken when a function of their family comes. */
static void
index_family(tn_builder *b, const char *hint)
{
    for (uint32_t i = b->indexed ? 0 : b->module->names.n; i-- > 0;) { /* the last is found first */
        const char *stem = stem_of(b, tn_module_name(b->module, i));
        struct known *k = TNB_NEW(b->arena, struct known);
        *k = (struct known){tnb_strmap_get(&b->families, stem), tn_module_name(b->module, i),
                            b->module->funcs.at[i]};
        tnb_strmap_set(&b->families, stem, k);
    }
    b->indexed = true;
    const char *stem = stem_of(b, hint);
    struct known *k = tnb_strmap_get(&b->families, stem);
    if (k)
        tnb_strmap_set(&b->families, stem, NULL);
    for (; k; k = k->next)
        index_function(b, k->name, k->func, key_of(b, k->func));
}

static const char *
find_equal(tn_builder *b, const tn_node *func, const void *func_key, const char *hint)
{
    index_family(b, hint);
    for (const struct known *k = tnb_ptrmap_get(&b->functions, func_key); k; k = k->next)
        if (same_family(k->name, hint) && tn_equal(b->ctx, k->func, func, false, NULL))
            return k->name;
    return NULL;
}

const tn_expr *
tn_builder_add_function(tn_builder *b, const tn_node *func, const char *hint)
{
    if (tn_bad(b->ctx, func))
        return tn_error_node(b->ctx);
    if (!hint || !*hint)
        hint = "func";
    /* the same function, for each layer of a model, has no need of a hash */
    const char *name = tnb_ptrmap_get(&b->last_names, func);
    if (name && same_family(name, hint))
        return tn_global_var_of(b->ctx, name);
    const void *key = key_of(b, func);
    name = find_equal(b, func, key, hint);
    if (name) {
        tnb_ptrmap_set(&b->last_names, func, (void *)(uintptr_t)name);
        return tn_global_var_of(b->ctx, name);
    }
    uintptr_t n = (uintptr_t)tnb_strmap_get(&b->next_name, hint);
    do {
        name = n ? tn_strf(b->ctx, "%s%llu", hint, (unsigned long long)n) : tn_str(b->ctx, hint);
        n++;
    } while (tn_builder_find_function(b, name));
    tnb_strmap_set(&b->next_name, hint, (void *)n);
    if (!tn_is(func, TN_KIND_FUNCTION) && !tn_is(func, TN_KIND_PRIM_FUNC) &&
        !tn_is(func, TN_KIND_EXTERN_FUNC)) {
        /* reports it */
        const tn_module *m = tn_module_set(b->ctx, tn_builder_module(b), name, func);
        return m ? tn_global_var_of(b->ctx, name) : tn_error_node(b->ctx);
    }
    tnb_strmap_set(&b->added, name, func);
    tnb_ptrmap_set(&b->last_names, func, (void *)(uintptr_t)name);
    index_function(b, name, func, key);
    return tn_global_var_of(b->ctx, name);
}

const tn_node *
tn_builder_read_function(tn_builder *b, const char *file, const char *text)
{
    const tn_node *f = tnb_strmap_get(&b->texts, text);
    if (f)
        return f;
    const size_t n = strlen(text);
    const tn_module *m = tn_read_module(b->ctx, file, text, n);
    if (!m || m->funcs.n != 1)
        return NULL;
    char *kept = TNB_NEW_N(b->arena, char, n + 1);
    memcpy(kept, text, n + 1);
    tnb_strmap_set(&b->texts, kept, m->funcs.at[0]);
    return m->funcs.at[0];
}

const tn_expr *
tn_builder_call_tir(tn_builder *b, const tn_node *prim_func, const char *hint, tn_list args,
                    const tn_type *out)
{
    const tn_expr *gv = tn_builder_add_function(b, prim_func, hint);
    return tn_call_tir(b->ctx, gv, args, out);
}
