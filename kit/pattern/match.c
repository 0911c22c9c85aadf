/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher.
 *
 * Alternatives are tried by repetition: a run takes a fixed choice at each alternative that it
 * meets; when it fails, the last choice that can be advanced is, and the next run begins. The
 * number of runs is bounded.
 */
#include "pattern_private.h"

#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/pattern.h"

enum { MAX_CHOICES = 64, MAX_RUNS = 4096 };

typedef struct matcher {
    tnk_match *m;
    const tnk_graph *g;
    tn_ctx *ctx;
    uint32_t choice[MAX_CHOICES], of[MAX_CHOICES]; /* taken, and how many there are */
    uint32_t n_choices, n_given;                   /* met in this run; fixed beforehand */
    /* Where a reason is wanted: the one of the deepest place that did not fit, and how deep the place at hand is. */
    bool explain;
    const char *why;
    uint32_t depth, deepest;
} matcher;

static void
note(matcher *s, const char *text)
{
    if (s->explain && s->depth >= s->deepest) {
        s->why = text;
        s->deepest = s->depth;
    }
}

/* What a pattern wants, and what is there, in a few words. */
static const char *
wanted(const tnk_pat *p)
{
    switch (p->kind) {
    case PATTERN_CONST:
        return "a constant";
    case PATTERN_OP:
    case PATTERN_CALL_TIR:
    case PATTERN_EXTERN:
        return p->callee;
    case PATTERN_TUPLE:
        return "a tuple";
    case PATTERN_ITEM:
        return "an item of a tuple";
    default:
        return "anything";
    }
}

static const char *
found(const tn_expr *v)
{
    const tn_call *c = tn_as_call(v);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    return op                           ? op->base.name
           : c                          ? "another call"
           : tn_is(v, TN_KIND_CONSTANT) ? "a constant"
           : tn_is(v, TN_KIND_TUPLE)    ? "a tuple"
           : tn_is_var(v)               ? "a parameter"
                                        : "something else";
}

/* Of the place at hand, in front of what is wrong there: its name in the pattern, or the variable's. */
static const char *
place(matcher *s, const tnk_pat *p, const tn_expr *e)
{
    const char *name = p->name ? p->name : tn_is_var(e) ? tn_var_name(e) : NULL;
    return name ? tn_strf(s->ctx, "%s: ", name) : "";
}

static bool
match(matcher *s, const tnk_pat *p, const tn_expr *e);

/* ---- constraints ---- */

static bool
type_fits(const tnk_pat *p, const tn_type *t)
{
    if (p->has_dtype && !tnb_dtype_eq(tn_type_dtype(t), p->dtype))
        return false;
    if (p->ndim >= 0 && tn_type_ndim(t) != p->ndim)
        return false;
    if (!p->has_shape)
        return true;
    tn_list dims;
    bool known = tn_type_dims(t, &dims);
    for (int64_t i = 0; i < p->ndim; i++)
        if (p->dims[i] >= 0 && (!known || !tn_is_int_const(dims.at[i], p->dims[i])))
            return false;
    return true;
}

/* An attribute as written in a pattern, against the complete one: numbers by value, a lone number
 * for a list of equal ones, text for data types. */
static bool
attr_equals(tn_ctx *ctx, const tn_node *have, const tn_node *want)
{
    int64_t a = 0, b = 0;
    const tn_array *list = tn_as_array(have), *wanted = tn_as_array(want);
    if (tn_int_value(have, &a) && tn_int_value(want, &b))
        return a == b;
    if (tn_is(have, TN_KIND_FLOAT_IMM) &&
        (tn_int_value(want, &b) || tn_is(want, TN_KIND_FLOAT_IMM)))
        return tn_as_float_imm(have)->value ==
               (tn_is(want, TN_KIND_FLOAT_IMM) ? tn_as_float_imm(want)->value : (double)b);
    if (tn_is(have, TN_KIND_DTYPE_IMM) && tn_is(want, TN_KIND_STRING_IMM)) {
        tnb_dtype d;
        const char *text = tn_as_string_imm(want)->value;
        return tnb_dtype_parse(text, strlen(text), &d) &&
               tnb_dtype_eq(d, tn_as_dtype_imm(have)->value);
    }
    if (list && (wanted || tn_int_value(want, &b))) {
        if (wanted && wanted->items.n != list->items.n)
            return false;
        for (uint32_t i = 0; i < list->items.n; i++)
            if (!attr_equals(ctx, list->items.at[i], wanted ? wanted->items.at[i] : want))
                return false;
        return true;
    }
    return have && want && tn_equal(ctx, have, want, false, NULL);
}

static bool
attrs_fit(const matcher *s, const tnk_pat *p, const tn_expr *value)
{
    const tn_call *c = tn_as_call(value);
    for (uint32_t i = 0; i < p->attrs.n; i++)
        if (!c ||
            !attr_equals(s->ctx, tn_dict_get(c->attrs, p->attrs.at[i].key), p->attrs.at[i].value))
            return false;
    return true;
}

/* ---- kinds ---- */

static bool
name_fits(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);
    if (n && pattern[n - 1] == '*')
        return strncmp(pattern, name, n - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static bool
match_args(matcher *s, const tnk_pat *p, tn_list args)
{
    if (args.n < p->n || (args.n > p->n && !p->open)) {
        if (s->explain)
            note(s, tn_strf(s->ctx, "%u operands, not %u", args.n, p->n));
        return false;
    }
    for (uint32_t i = 0; i < p->n; i++)
        if (!match(s, p->sub[i], args.at[i]))
            return false;
    return true;
}

/* The arguments of a call whose second operand is a tuple, or one value that stands for it. */
static tn_list
tuple_args(const tn_call *c)
{
    const tn_tuple *t = c->args.n > 1 ? tn_as_tuple(c->args.at[1]) : NULL;
    if (t)
        return t->fields;
    return (tn_list){c->args.at + 1, c->args.n > 1 ? 1 : 0};
}

static bool
match_call_tir(matcher *s, const tnk_pat *p, const tn_expr *v)
{
    const tn_call *c = tn_is_call_to(v, "relax.call_tir");
    if (!c)
        c = tn_is_call_to(v, "relax.call_tir_inplace");
    const tn_global_var *gv = c ? tn_as_global_var(c->args.at[0]) : NULL;
    return gv && name_fits(p->callee, gv->name) && match_args(s, p, tuple_args(c));
}

static bool
match_extern(matcher *s, const tnk_pat *p, const tn_expr *v)
{
    const tn_call *c = tn_as_call(v);
    if (!c)
        return false;
    const tn_extern_func *f = tn_as_extern_func(c->op);
    if (f)
        return name_fits(p->callee, f->name) && match_args(s, p, c->args);
    bool dps = tn_is_call_to(v, "relax.call_dps_packed") != NULL;
    if (!dps && !tn_is_call_to(v, "relax.call_pure_packed") &&
        !tn_is_call_to(v, "relax.call_inplace_packed"))
        return false;
    f = c->args.n ? tn_as_extern_func(c->args.at[0]) : NULL;
    tn_list rest = {c->args.at + 1, c->args.n - 1};
    return f && name_fits(p->callee, f->name) && match_args(s, p, dps ? tuple_args(c) : rest);
}

static bool
match_value(matcher *s, const tnk_pat *p, const tn_expr *v)
{
    const tn_call *c = tn_as_call(v);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    switch (p->kind) {
    case PATTERN_ANY:
        return true;
    case PATTERN_CONST:
        return tn_is(v, TN_KIND_CONSTANT);
    case PATTERN_OP:
        return op && strcmp(op->base.name, p->callee) == 0 && match_args(s, p, c->args);
    case PATTERN_CALL_TIR:
        return match_call_tir(s, p, v);
    case PATTERN_EXTERN:
        return match_extern(s, p, v);
    case PATTERN_TUPLE:
        return tn_is(v, TN_KIND_TUPLE) && match_args(s, p, tn_as_tuple(v)->fields);
    case PATTERN_ITEM: {
        const tn_tuple_get *get = tn_as_tuple_get(v);
        return get && (p->index < 0 || get->index == p->index) && match(s, p->sub[0], get->tuple);
    }
    case PATTERN_EITHER:
        break;
    }
    return false;
}

static bool
match_either(matcher *s, const tnk_pat *p, const tn_expr *e)
{
    if (!p->n)
        return false;
    uint32_t k = s->n_choices;
    if (k == MAX_CHOICES)
        return match(s, p->sub[0], e);
    if (k >= s->n_given)
        s->choice[k] = 0;
    s->of[k] = p->n;
    s->n_choices++;
    return match(s, p->sub[s->choice[k]], e);
}

/* Constraints on the value itself. */
static bool
fits(matcher *s, const tnk_pat *p, const tn_expr *e, const tnk_match_item *item)
{
    if (!type_fits(p, e->type)) {
        if (s->explain)
            note(s, tn_strf(s->ctx, "%sits dtype, rank or shape is another", place(s, p, e)));
        return false;
    }
    if (!attrs_fit(s, p, item->value)) {
        if (s->explain)
            note(s, tn_strf(s->ctx, "%san attribute has another value", place(s, p, e)));
        return false;
    }
    uint32_t uses = tn_is_var(e) ? tnk_graph_uses(s->g, item->var ? item->var : e) : 0;
    if (p->uses < 0 || (tn_is_var(e) && (int64_t)uses == p->uses))
        return true;
    if (s->explain)
        note(s, tn_strf(s->ctx, "%sit is used %u times, not %lld", place(s, p, e), uses,
                        (long long)p->uses));
    return false;
}

static bool
match_place(matcher *s, const tnk_pat *p, const tn_expr *e)
{
    tnk_match_item item = {.pat = p, .name = p->name, .leaf = e};
    item.value = tnk_graph_follow(s->g, e, &item.var);
    for (uint32_t i = 0; i < s->m->n; i++)
        if (s->m->at[i].pat == p) {
            if (s->m->at[i].value != item.value && s->explain)
                note(s, tn_strf(s->ctx, "%sit is not the same value", place(s, p, e)));
            return s->m->at[i].value == item.value;
        }
    item.inner = p->kind != PATTERN_ANY && p->kind != PATTERN_CONST && p->kind != PATTERN_EITHER;
    if (!fits(s, p, e, &item))
        return false;
    if (p->kind == PATTERN_EITHER ? !match_either(s, p, e) : !match_value(s, p, item.value)) {
        if (s->explain && s->depth == 1 && !s->deepest)
            note(s, "");
        else if (s->explain && s->depth > 1 && p->kind != PATTERN_EITHER)
            note(s, tn_strf(s->ctx, "%sthere is %s, not %s", place(s, p, e), found(item.value),
                            wanted(p)));
        return false;
    }
    if (p->fn && !p->fn(s->m, &item, p->user)) {
        if (s->explain)
            note(s, tn_strf(s->ctx, "%sa condition of the pattern does not hold", place(s, p, e)));
        return false;
    }
    if (s->m->n == s->m->cap)
        s->m->at =
            tnb_vec_grow(tn_scratch(s->ctx), s->m->at, s->m->n, &s->m->cap, sizeof *s->m->at);
    s->m->at[s->m->n++] = item;
    return true;
}

static bool
match(matcher *s, const tnk_pat *p, const tn_expr *e)
{
    s->depth++;
    bool yes = match_place(s, p, e);
    s->depth--;
    return yes;
}

static bool
match_all(matcher *s, const tnk_pat *p, const tn_expr *e)
{
    s->m->graph = s->g;
    for (int run = 0; run < MAX_RUNS; run++) {
        s->m->n = s->n_choices = 0;
        if (match(s, p, e))
            return true;
        uint32_t k = s->n_choices;
        while (k > 0 && s->choice[k - 1] + 1 >= s->of[k - 1])
            k--;
        if (k == 0)
            return false;
        s->choice[k - 1]++;
        s->n_given = k;
    }
    return false;
}

bool
tnk_pat_match(const tnk_pat *p, const tnk_graph *g, const tn_expr *e, tnk_match *out)
{
    matcher s = {.m = out, .g = g, .ctx = pattern_graph_ctx(g)};
    return match_all(&s, p, e);
}

const char *
tnk_pat_why(const tnk_pat *p, const tnk_graph *g, const tn_expr *e)
{
    tnk_match m = {0};
    matcher s = {.m = &m, .g = g, .ctx = pattern_graph_ctx(g), .explain = true};
    return match_all(&s, p, e) ? NULL : s.why ? s.why : "";
}

/* ---- entries of plugins ---- */

/* Every attribute that a pattern speaks of is one of the operator's. */
static bool
check_attrs(tn_ctx *ctx, const tnk_pat *p)
{
    const tn_op *op = p->kind == PATTERN_OP && p->attrs.n
                          ? tn_find_op(tn_ctx_registry(ctx), p->callee, NULL)
                          : NULL;
    for (uint32_t i = 0; op && i < p->attrs.n; i++) {
        const char *names[64];
        uint32_t n = 0, k = 0;
        for (const tn_attr_schema *a = op->attrs; a && a->name && n < 64; a++)
            names[n++] = a->name;
        while (k < n && strcmp(names[k], p->attrs.at[i].key) != 0)
            k++;
        if (k < n)
            continue;
        tn_error(ctx, 0, TNB_NOT_FOUND, "the operator '%s' has no attribute '%s'", op->base.name,
                 p->attrs.at[i].key);
        const char *near = tnb_nearest(p->attrs.at[i].key, names, n);
        if (near)
            tnb_diag_hint(tn_diags(ctx), "did you mean '%s'?", near);
        else
            tnb_diag_hint(tn_diags(ctx), "tenon show op %s names them", op->base.name);
        return false;
    }
    for (uint32_t i = 0; i < p->n; i++)
        if (!check_attrs(ctx, p->sub[i]))
            return false;
    return true;
}

const tnk_pat *
tnk_pattern_make(tn_ctx *ctx, const tnk_fusion_pattern *e)
{
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    const tnk_pat *p = e->pattern ? tnk_pat_parse(ctx, e->pattern)
                                  : TN_WITHIN(ctx, "pattern", e, "build", e->build(ctx, e->self));
    if (!p)
        (void)tn_need_reason(ctx, errors, TNB_INVALID, "pattern", e->base.name, "build");
    return p && check_attrs(ctx, p) ? p : NULL;
}

/* ---- what was found ---- */

static const tnk_match_item *
find(const tnk_match *m, const char *name)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->at[i].name && strcmp(m->at[i].name, name) == 0)
            return &m->at[i];
    return NULL;
}

const tn_expr *
tnk_match_get(const tnk_match *m, const char *name)
{
    const tnk_match_item *i = find(m, name);
    return i ? i->leaf : NULL;
}

const tn_expr *
tnk_match_value(const tnk_match *m, const char *name)
{
    const tnk_match_item *i = find(m, name);
    return i ? i->value : NULL;
}

static bool
is_inside(const tnk_match *m, const tn_expr *var)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->at[i].inner && m->at[i].var == var)
            return true;
    return false;
}

bool
tnk_match_leaks(const tnk_match *m)
{
    const tn_expr *root = m->n ? m->at[m->n - 1].var : NULL; /* matched last: outside in */
    for (uint32_t i = 0; i < m->n; i++) {
        const tnk_match_item *it = &m->at[i];
        if (!it->inner || !it->var || it->var == root)
            continue;
        if (!tn_is(it->var, TN_KIND_DATAFLOW_VAR))
            return true;
        for (uint32_t k = 0; k < tnk_graph_uses(m->graph, it->var); k++) {
            const tn_expr *user = tnk_graph_user(m->graph, it->var, k);
            if (!user || !is_inside(m, user))
                return true;
        }
    }
    return false;
}

const tn_prim_func *
tnk_match_program(const tnk_match *m, const tn_expr *call_tir)
{
    const tn_module *module = m->graph ? tnk_graph_module(m->graph) : NULL;
    const tn_call *c = tn_is_call_to(call_tir, "relax.call_tir");
    const tn_global_var *gv = c ? tn_as_global_var(c->args.at[0]) : NULL;
    return module && gv ? tn_as_prim_func(tn_module_get(module, gv->name)) : NULL;
}
