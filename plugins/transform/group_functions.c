/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of bindings become private functions; see group_functions.h. */
#include "group_functions.h"

#include "tenon/core/walk.h"
#include "transform.h"

enum { MAX_NAME = 200 };

typedef TNB_VEC(const tn_node *) node_list;

/* What building the function of one group needs. */
typedef struct maker {
    grouping *g;
    tn_ctx *ctx;
    tnb_arena *arena;
    group *cur;
    tnb_ptrmap inner;   /* outer value -> inner expression */
    tnb_ptrmap partial; /* outer tuple used by fields only -> itself */
    node_list params, args;
    uint32_t n_consts;
} maker;

void
grouping_init(grouping *g, tn_ctx *ctx, const tn_module *m, tn_builder *b, bool bind_constants)
{
    *g = (grouping){.ctx = ctx, .m = m, .b = b, .bind_constants = bind_constants};
    tnb_ptrmap_init(&g->of, tn_scratch(ctx));
    tnb_ptrmap_init(&g->symbols, tn_scratch(ctx));
}

void
grouping_add(grouping *g, group *to, const tn_var_binding *member)
{
    TNB_PUSH(tn_scratch(g->ctx), to->members, member);
    tnb_ptrmap_set(&g->of, member->var, to);
}

group *
grouping_find(const grouping *g, const tn_node *var)
{
    return tnb_ptrmap_get(&g->of, var);
}

const char *
group_codegen_name(tn_ctx *ctx, const char *composite)
{
    const char *dot = strchr(composite, '.');
    if (dot && dot != composite)
        return tn_strn(ctx, composite, (size_t)(dot - composite));
    tn_error(ctx, 0, TNB_INVALID,
             "the composite name '%s' does not begin with the name of a codegen and '.'",
             composite);
    return NULL;
}

const tn_node *
group_without_attr(tn_ctx *ctx, const tn_node *func, const char *key)
{
    const tn_function *fn = tn_as_function(func);
    const tn_node *attrs = tn_dict_set(ctx, fn->attrs, key, NULL);
    const tn_dict *d = tn_as_dict(attrs);
    return tn_function_of(ctx, fn->params, fn->body, fn->ret, fn->pure != 0,
                          d && d->items.n ? attrs : NULL);
}

/* ---- what comes from outside ---- */

static const tn_expr *
add_param(maker *k, const tn_expr *outer, const char *name, const tn_type *type)
{
    const tn_expr *p = tn_var_new(k->ctx, name, type);
    TNB_PUSH(k->arena, k->params, p);
    TNB_PUSH(k->arena, k->args, outer);
    return p;
}

/* What a variable of the caller is bound to, if that is a shape. */
static const tn_expr *
bound_shape(maker *k, const tn_expr *var)
{
    for (int hops = 0; tn_is_var(var) && hops < 64; hops++)
        var = tn_builder_find_value(k->g->b, var);
    return tn_is(var, TN_KIND_SHAPE_EXPR) ? var : NULL;
}

/* The inner expression for a leaf that a member uses. */
static const tn_expr *
import_leaf(maker *k, const tn_expr *e)
{
    const tn_tuple *t = tn_as_tuple(e);
    if (t) {
        const tn_node **fields = TNB_NEW_N(k->arena, const tn_node *, t->fields.n);
        for (uint32_t i = 0; i < t->fields.n; i++)
            fields[i] = import_leaf(k, t->fields.at[i]);
        return tn_tuple_of(k->ctx, tn_list_of(k->ctx, fields, t->fields.n));
    }
    bool constant = tn_is(e, TN_KIND_CONSTANT) && !k->g->bind_constants;
    if (!(tn_is_var(e) && !tn_is_scalar(e)) && !constant)
        return e; /* scalars and shapes: their symbolic variables are passed separately */
    const tn_expr *known = tnb_ptrmap_get(&k->inner, e);
    if (known)
        return known;
    const tn_expr *shape = bound_shape(k, e);
    if (shape)
        return shape;
    const char *name = tn_is_var(e) ? tn_var_name(e) : tn_strf(k->ctx, "param_%u", k->n_consts++);
    const tn_expr *p = add_param(k, e, name, e->type);
    tnb_ptrmap_set(&k->inner, e, p);
    return p;
}

/* t[i] of a tuple from outside: the field alone becomes a parameter unless the whole tuple is used
 * too. */
static const tn_expr *
import_field(maker *k, const tn_tuple_get *get)
{
    if (!tnb_ptrmap_has(&k->partial, get->tuple))
        return tn_tuple_item(k->ctx, import_leaf(k, get->tuple), get->index);
    for (uint32_t i = 0; i < k->args.n; i++) {
        const tn_tuple_get *seen = tn_as_tuple_get(k->args.at[i]);
        if (seen && seen->tuple == get->tuple && seen->index == get->index)
            return k->params.at[i];
    }
    return add_param(k, TN_NODE(get),
                     tn_strf(k->ctx, "%s_%d", tn_var_name(get->tuple), (int)get->index),
                     get->base.type);
}

static void
find_partial_tuples(maker *k)
{
    tnb_ptrmap whole;
    tnb_ptrmap_init(&whole, k->arena);
    for (uint32_t i = 0; i < k->cur->members.n; i++) {
        const tn_node *v = k->cur->members.at[i]->value;
        const tn_tuple_get *get = tn_as_tuple_get(v);
        if (get) {
            if (grouping_find(k->g, get->tuple) != k->cur)
                tnb_ptrmap_set(&k->partial, get->tuple, get->tuple);
            continue;
        }
        tn_list used = tn_free_vars(k->ctx, v, false);
        for (uint32_t n = 0; n < used.n; n++)
            tnb_ptrmap_set(&whole, used.at[n], used.at[n]);
    }
    for (uint32_t i = 0; i < whole.n; i++)
        if (whole.at[i].key)
            tnb_ptrmap_remove(&k->partial, whole.at[i].key);
}

static const tn_expr *
import_value(maker *k, const tn_expr *v)
{
    const tn_call *c = tn_as_call(v);
    if (c) {
        tn_list args = c->args;
        for (uint32_t i = 0; i < args.n; i++) {
            const tn_expr *inner = import_leaf(k, args.at[i]);
            if (inner != args.at[i])
                tn_list_change(k->ctx, &args, c->args, i, inner);
        }
        const tn_expr *op = tn_is_var(c->op) ? import_leaf(k, c->op) : c->op;
        return tn_call_of(k->ctx, op, args, c->attrs, c->ty_args, c->base.type);
    }
    const tn_tuple_get *get = tn_as_tuple_get(v);
    return get ? import_field(k, get) : import_leaf(k, v);
}

/* ---- the function ---- */

static void
put_callee(tnb_buf *b, const tn_expr *value)
{
    const tn_call *c = tn_is_call_to(value, "relax.call_tir");
    if (!c)
        c = tn_is_call_to(value, "relax.call_tir_inplace");
    const tn_global_var *gv = c && c->args.n ? tn_as_global_var(c->args.at[0]) : NULL;
    c = tn_as_call(value);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    if (gv) {
        tnb_buf_printf(b, "_%s", gv->name);
    } else if (op) {
        tnb_buf_putc(b, '_');
        for (const char *s = op->base.name; *s; s++)
            tnb_buf_putc(b, *s == '.' ? '_' : *s);
    } else if (c && (gv = tn_as_global_var(c->op))) {
        tnb_buf_printf(b, "_%s", strncmp(gv->name, "fused_", 6) == 0 ? gv->name + 6 : gv->name);
    }
}

static const char *
group_name(maker *k)
{
    tnb_buf b = {0};
    tnb_buf_puts(&b, "fused");
    for (uint32_t i = 0; i < k->cur->members.n; i++)
        put_callee(&b, k->cur->members.at[i]->value);
    const char *name = tn_strn(k->ctx, b.s, b.n < MAX_NAME ? b.n : MAX_NAME);
    tnb_buf_free(&b);
    return name;
}

static const tn_expr *
inner_value(maker *k, const tn_node *output)
{
    return tnb_ptrmap_get(&k->inner, output);
}

/* The body: one dataflow block of the members, and the outputs. */
static const tn_expr *
make_body(maker *k)
{
    group *g = k->cur;
    node_list bindings = {0};
    for (uint32_t i = 0; i < g->members.n; i++) {
        const tn_var_binding *vb = g->members.at[i];
        bool out = false;
        for (uint32_t n = 0; n < g->outputs.n; n++)
            out |= g->outputs.at[n] == vb->var;
        const tn_expr *value = import_value(k, vb->value);
        if (tn_is_var(value) && tn_is(vb->value, TN_KIND_TUPLE_GET)) {
            tnb_ptrmap_set(&k->inner, vb->var, value); /* the field is a parameter itself */
            continue;
        }
        const char *name = tn_var_name(vb->var);
        const tn_expr *var = out ? tn_var_new(k->ctx, name, vb->var->type)
                                 : tn_dataflow_var_new(k->ctx, name, vb->var->type);
        tnb_ptrmap_set(&k->inner, vb->var, var);
        TNB_PUSH(k->arena, bindings, tn_var_binding_of(k->ctx, var, value));
    }
    const tn_node **fields = TNB_NEW_N(k->arena, const tn_node *, g->outputs.n);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        fields[i] = inner_value(k, g->outputs.at[i]);
    const tn_expr *result = g->outputs.n == 1
                                ? fields[0]
                                : tn_tuple_of(k->ctx, tn_list_of(k->ctx, fields, g->outputs.n));
    const tn_node *block =
        tn_binding_block_of(k->ctx, tn_list_of(k->ctx, bindings.at, bindings.n), true);
    return tn_seq_expr_of(k->ctx, tn_listv(k->ctx, block, NULL), result);
}

static const tn_expr *
make_function_of(maker *k, const tn_expr *body)
{
    const tn_node *attrs = tn_dict_set(k->ctx, k->cur->attrs, "Primitive", tn_bool(k->ctx, true));
    return tn_function_of(k->ctx, tn_list_of(k->ctx, k->params.at, k->params.n), body,
                          tn_as_seq_expr(body)->body->type, true, attrs);
}

/* Symbolic variables that the function uses and no parameter's shape defines go into one trailing
 * Shape parameter. */
static void
pass_symbols(maker *k, const tn_expr *function)
{
    tn_list free_vars = tn_free_vars(k->ctx, function, false);
    node_list symbols = {0};
    for (uint32_t i = 0; i < free_vars.n; i++)
        if (tn_is_scalar(free_vars.at[i]))
            TNB_PUSH(k->arena, symbols, free_vars.at[i]);
    if (!symbols.n)
        return;
    const tn_expr *shape = tn_shape_expr_of(k->ctx, tn_list_of(k->ctx, symbols.at, symbols.n));
    add_param(k, shape, "tir_vars", shape->type);
}

static void
make_function(grouping *g, group *cur)
{
    maker k = {.g = g, .ctx = g->ctx, .arena = tn_scratch(g->ctx), .cur = cur};
    tnb_ptrmap_init(&k.inner, k.arena);
    tnb_ptrmap_init(&k.partial, k.arena);
    find_partial_tuples(&k);
    const tn_expr *body = make_body(&k), *fn = make_function_of(&k, body);
    uint32_t before = k.params.n;
    pass_symbols(&k, fn);
    if (k.params.n != before)
        fn = make_function_of(&k, body);
    cur->gv = tn_builder_add_function(g->b, tn_fresh_copy(g->ctx, fn, NULL), group_name(&k));
    cur->args = tn_list_of(g->ctx, k.args.at, k.args.n);
}

/* ---- what a group gives ---- */

typedef struct use_scan {
    grouping *g;
    const group *user; /* of the binding being scanned */
} use_scan;

static void
add_output(grouping *g, group *of, const tn_node *var)
{
    for (uint32_t i = 0; i < of->outputs.n; i++)
        if (of->outputs.at[i] == var)
            return;
    TNB_PUSH(tn_scratch(g->ctx), of->outputs, var);
}

/* Uses from other groups, in order; nested blocks are entered. */
static tn_walk_step
note_use(void *user, const tn_node *n)
{
    use_scan *s = user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    if (vb) {
        const group *outer = s->user;
        s->user = grouping_find(s->g, vb->var);
        tn_walk(vb->value, 0, note_use, NULL, s);
        s->user = outer;
        return TN_WALK_SKIP;
    }
    group *of = tn_is_var(n) ? grouping_find(s->g, n) : NULL;
    if (of && of != s->user)
        add_output(s->g, of, n);
    return TN_WALK_ON;
}

static void
find_outputs(grouping *g, const tn_function *fn)
{
    for (uint32_t i = 0; i < g->of.n; i++)
        if (g->of.at[i].key && tn_is(g->of.at[i].key, TN_KIND_VAR))
            add_output(g, g->of.at[i].value, g->of.at[i].key);
    use_scan s = {.g = g};
    tn_walk(fn->body, 0, note_use, NULL, &s);
}

/* ---- in-place calls ---- */

typedef struct reader_search {
    grouping *g;
    tnb_ptrmap overwritten, readers; /* variable -> how many bindings use it */
} reader_search;

static tn_walk_step
count_readers(void *user, const tn_node *n)
{
    reader_search *s = user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_match_cast *mc = tn_as_match_cast(n);
    if (!vb && !mc)
        return TN_WALK_ON;
    tn_list used = tn_free_vars(s->g->ctx, vb ? vb->value : mc->value, false);
    for (uint32_t i = 0; i < used.n; i++)
        if (tnb_ptrmap_has(&s->overwritten, used.at[i]))
            tnb_ptrmap_set(&s->readers, used.at[i],
                           (void *)((uintptr_t)tnb_ptrmap_get(&s->readers, used.at[i]) + 1));
    return TN_WALK_ON;
}

/* Whether the binding overwrites what another one reads, under this or another name. */
static bool
overtakes(const reader_search *s, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    tn_list args = vb ? transform_in_place_args(s->g->ctx, s->g->m, vb->value) : (tn_list){0};
    for (uint32_t i = 0; i < args.n; i++)
        if ((uintptr_t)tnb_ptrmap_get(&s->readers, args.at[i]) > 1 ||
            tn_is_var(tn_builder_find_value(s->g->b, args.at[i])))
            return true;
    return false;
}

static void
dissolve(grouping *g, group *it)
{
    for (uint32_t i = 0; i < it->members.n; i++)
        tnb_ptrmap_remove(&g->of, it->members.at[i]->var);
}

/* A group moves its members together. None may hold, or lie on both sides of, a call that
 * overwrites what others read: these could come to stand behind it. */
static tn_walk_step
dissolve_in_block(void *user, const tn_node *n)
{
    reader_search *s = user;
    const tn_bindings_block *b = tn_as_bindings_block(n);
    tnb_ptrmap before; /* groups that have a member before the binding */
    if (!b)
        return TN_WALK_ON;
    for (uint32_t i = 0; i < b->bindings.n; i++) {
        if (!overtakes(s, b->bindings.at[i]))
            continue;
        tnb_ptrmap_init(&before, tn_scratch(s->g->ctx));
        for (uint32_t k = 0; k < b->bindings.n; k++) {
            const tn_var_binding *vb = tn_as_var_binding(b->bindings.at[k]);
            group *of = vb ? grouping_find(s->g, vb->var) : NULL;
            if (of && k < i)
                tnb_ptrmap_set(&before, of, of);
            else if (of && (k == i || tnb_ptrmap_has(&before, of)))
                dissolve(s->g, of);
        }
    }
    return TN_WALK_ON;
}

static void
respect_in_place(grouping *g, const tn_function *fn)
{
    reader_search s = {.g = g};
    transform_find_overwritten(g->ctx, g->m, TN_NODE(fn), &s.overwritten);
    tnb_ptrmap_init(&s.readers, tn_scratch(g->ctx));
    if (!s.overwritten.n)
        return;
    tn_walk(fn->body, 0, count_readers, NULL, &s);
    tn_walk(fn->body, 0, dissolve_in_block, NULL, &s);
}

/* ---- rewriting ---- */

/* A unit that has to wait for others. */
typedef struct pending {
    const tn_node *binding;
    group *group; /* NULL: the binding alone */
    node_list needs;
    uint32_t next; /* of `needs`: those before are done */
} pending;

/* Units (groups and single bindings) of one block are emitted in the order of their first binding;
 * a unit that needs one not yet emitted pulls it forward. */
typedef struct orderer {
    grouping *g;
    tnb_arena *arena;
    node_list out;
    TNB_VEC(pending) open; /* each is needed by the one below */
    tnb_ptrmap done;       /* binding or group -> itself */
    tnb_ptrmap binding;    /* variable of the block -> its binding */
} orderer;

static const tn_expr *
rewrite_value(grouping *g, const tn_expr *value);

/* The call of a group, and the outer variables bound to its results. */
static void
emit_call(orderer *o, group *g)
{
    tn_ctx *ctx = o->g->ctx;
    make_function(o->g, g);
    const tn_list was = g->args;
    for (uint32_t i = 0; i < g->args.n; i++)
        if (tn_is(g->args.at[i], TN_KIND_TUPLE_GET)) { /* an argument has to be a leaf */
            const tn_expr *leaf = tn_dataflow_var_new(ctx, "lv", g->args.at[i]->type);
            TNB_PUSH(o->arena, o->out, tn_var_binding_of(ctx, leaf, g->args.at[i]));
            tn_list_change(ctx, &g->args, was, i, leaf);
        }
    if (g->outputs.n == 1) {
        /* the result keeps its variable, and that its (equal) type */
        const tn_expr *call =
            tn_call_of(ctx, g->gv, g->args, NULL, (tn_list){0}, g->outputs.at[0]->type);
        TNB_PUSH(o->arena, o->out, tn_var_binding_of(ctx, g->outputs.at[0], call));
        return;
    }
    const tn_node **types = TNB_NEW_N(o->arena, const tn_node *, g->outputs.n);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        types[i] = g->outputs.at[i]->type;
    const tn_type *tuple = tn_ty_tuple_of(ctx, tn_list_of(ctx, types, g->outputs.n));
    const tn_expr *call = tn_call_of(ctx, g->gv, g->args, NULL, (tn_list){0}, tuple);
    const tn_expr *lv = tn_dataflow_var_new(ctx, "lv", tuple);
    TNB_PUSH(o->arena, o->out, tn_var_binding_of(ctx, lv, call));
    for (uint32_t i = 0; i < g->outputs.n; i++)
        TNB_PUSH(o->arena, o->out,
                 tn_var_binding_of(ctx, g->outputs.at[i], tn_tuple_item(ctx, lv, i)));
}

static void
emit(orderer *o, const tn_node *binding, group *g)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    if (g && g->outputs.n) {
        emit_call(o, g);
    } else if (g) {
        tn_warn(o->g->ctx, binding->loc, "a group of %u operators has no use and is dropped",
                g->members.n);
    } else {
        const tn_expr *value = vb ? rewrite_value(o->g, vb->value) : NULL;
        if (vb && value != vb->value)
            binding = tn_var_binding_of(o->g->ctx, vb->var, value);
        TNB_PUSH(o->arena, o->out, binding);
    }
}

static void
add_needs(orderer *o, pending *p, const tn_expr *value)
{
    tn_list used = tn_free_vars(o->g->ctx, value, false);
    for (uint32_t i = 0; i < used.n; i++) {
        const tn_node *b = tnb_ptrmap_get(&o->binding, used.at[i]);
        if (b && (!p->group || grouping_find(o->g, used.at[i]) != p->group))
            TNB_PUSH(o->arena, p->needs, b);
    }
}

/* Begins with the unit of the binding, unless that has been begun or done. */
static void
begin_unit(orderer *o, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    pending p = {.binding = binding, .group = vb ? grouping_find(o->g, vb->var) : NULL};
    const void *key = p.group ? (const void *)p.group : (const void *)binding;
    if (tnb_ptrmap_has(&o->done, key))
        return;
    tnb_ptrmap_set(&o->done, key, o);
    for (uint32_t i = 0; p.group && i < p.group->members.n; i++)
        add_needs(o, &p, p.group->members.at[i]->value);
    if (!p.group)
        add_needs(o, &p, vb ? vb->value : tn_as_match_cast(binding)->value);
    if (!vb)
        add_needs(o, &p, tn_as_match_cast(binding)->to);
    TNB_PUSH(o->arena, o->open, p);
}

/* A stack of its own: what a unit needs may reach back over all of a long block. */
static void
emit_unit(orderer *o, const tn_node *binding)
{
    begin_unit(o, binding);
    while (o->open.n) {
        pending *p = &o->open.at[o->open.n - 1];
        if (p->next < p->needs.n) {
            begin_unit(o, p->needs.at[p->next++]);
        } else {
            o->open.n--;
            emit(o, p->binding, p->group);
        }
    }
}

static const tn_node *
rewrite_block(grouping *g, const tn_node *node)
{
    tn_list at = tn_as_bindings_block(node)->bindings;
    bool dataflow = tn_is(node, TN_KIND_DATAFLOW_BLOCK), any = false;
    orderer o = {.g = g, .arena = tn_scratch(g->ctx)};
    tnb_ptrmap_init(&o.done, o.arena);
    tnb_ptrmap_init(&o.binding, o.arena);
    for (uint32_t i = 0; i < at.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(at.at[i]);
        const tn_match_cast *mc = tn_as_match_cast(at.at[i]);
        const tn_node *var = vb ? vb->var : mc->var;
        tnb_ptrmap_set(&o.binding, var, at.at[i]);
        any |= grouping_find(g, var) != NULL;
        /* symbolic variables that it is the first to define */
        tn_list symbols = mc ? tn_free_vars(g->ctx, mc->to, false) : (tn_list){0};
        for (uint32_t k = 0; k < symbols.n; k++)
            if (!tnb_ptrmap_has(&g->symbols, symbols.at[k])) {
                tnb_ptrmap_set(&g->symbols, symbols.at[k], g);
                tnb_ptrmap_set(&o.binding, symbols.at[k], at.at[i]);
            }
    }
    for (uint32_t i = 0; i < at.n; i++)
        emit_unit(&o, at.at[i]);
    for (uint32_t i = 0; i < at.n && !any; i++)
        any = o.out.at[i] != at.at[i];
    return any ? tn_binding_block_of(g->ctx, tn_list_of(g->ctx, o.out.at, o.out.n), dataflow)
               : node;
}

static const tn_expr *
rewrite_seq(grouping *g, const tn_expr *e)
{
    const tn_seq_expr *seq = tn_as_seq_expr(e);
    if (!seq)
        return e;
    tn_list blocks = seq->blocks;
    for (uint32_t i = 0; i < seq->blocks.n; i++) {
        const tn_node *block = rewrite_block(g, seq->blocks.at[i]);
        if (block != seq->blocks.at[i])
            tn_list_change(g->ctx, &blocks, seq->blocks, i, block);
    }
    return blocks.at == seq->blocks.at ? e : tn_seq_expr_of(g->ctx, blocks, seq->body);
}

static const tn_expr *
rewrite_value(grouping *g, const tn_expr *value)
{
    const tn_if_expr *c = tn_as_if_expr(value);
    if (!c)
        return value;
    const tn_expr *a = rewrite_seq(g, c->then_branch), *b = rewrite_seq(g, c->else_branch);
    return a == c->then_branch && b == c->else_branch ? value
                                                      : tn_if_expr_of(g->ctx, c->cond, a, b);
}

const tn_node *
grouping_rewrite(grouping *g, const tn_function *fn)
{
    if (!g->of.n)
        return TN_NODE(fn);
    tn_builder_know(g->b, TN_NODE(fn));
    respect_in_place(g, fn);
    find_outputs(g, fn);
    tn_list symbols = tn_defined_symbols(g->ctx, TN_NODE(fn));
    for (uint32_t i = 0; i < symbols.n; i++)
        tnb_ptrmap_set(&g->symbols, symbols.at[i], g);
    for (uint32_t i = 0; i < fn->params.n; i++)
        tnb_ptrmap_set(&g->symbols, fn->params.at[i], g);
    const tn_expr *body = rewrite_seq(g, fn->body);
    return body == fn->body
               ? TN_NODE(fn)
               : tn_function_of(g->ctx, fn->params, body, fn->ret, fn->pure != 0, fn->attrs);
}
