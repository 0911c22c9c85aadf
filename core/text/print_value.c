/* SPDX-License-Identifier: Apache-2.0 */
/* Types and attribute values. */
#include "printer.h"

/* ---- dimensions ---- */
void
pr_dim(printer *p, const tn_expr *d)
{
    bool tensor = p->tensor;
    p->tensor = false; /* extents are int64 */
    if (!p->quote || d->kind == TN_KIND_INT_IMM) {
        pr_expr(p, d, PREC_TEST);
    } else {
        pr_puts(p, "\"");
        pr_expr(p, d, PREC_TEST);
        pr_puts(p, "\"");
    }
    p->tensor = tensor;
}

static void
dims(printer *p, tn_list l, const char *open, const char *close)
{
    pr_puts(p, open);
    for (uint32_t i = 0; i < l.n; i++) {
        if (i)
            pr_puts(p, ", ");
        pr_dim(p, l.at[i]);
    }
    if (l.n == 1 && *open == '(')
        pr_puts(p, ",");
    pr_puts(p, close);
}

/* ---- targets and devices ---- */
static bool
plain_kind(const char *kind)
{
    return *kind && *kind != '{' && !strchr(kind, ' ');
}

static void
target_body(printer *p, const tn_target *t)
{
    if (!pr_dict_count(t->attrs, NULL) && plain_kind(t->kind)) {
        pr_string(p, t->kind);
        return;
    }
    pr_puts(p, "{\"kind\": ");
    pr_string(p, t->kind);
    tn_list items = t->attrs ? tn_as_dict(t->attrs)->items : (tn_list){0};
    for (uint32_t i = 0; i < items.n; i++) {
        const tn_pair *kv = tn_as_pair(items.at[i]);
        pr_puts(p, ", ");
        pr_string(p, kv->key);
        pr_puts(p, ": ");
        pr_attr(p, kv->value);
    }
    pr_puts(p, "}");
}

void
pr_target(printer *p, const tn_node *t)
{
    pr_puts(p, "T.target(");
    target_body(p, tn_as_target(t));
    pr_puts(p, ")");
}

void
pr_vdevice(printer *p, const tn_node *n, bool quoted)
{
    const tn_vdevice *v = tn_as_vdevice(n);
    const char *kind = tn_as_target(v->target)->kind;
    const tn_array *all = p->module ? tn_as_array(tn_dict_get(p->module->infos, "vdevice")) : NULL;
    uint32_t index = 0;
    for (uint32_t i = 0; quoted && all && i < all->items.n; i++) {
        const tn_vdevice *o = tn_as_vdevice(all->items.at[i]);
        if (!o || strcmp(tn_as_target(o->target)->kind, kind) != 0)
            continue;
        if (all->items.at[i] == n || tn_equal(p->child, all->items.at[i], n, false, NULL)) {
            pr_printf(p, "\"%s:%u:%s\"", kind, index, v->scope);
            return;
        }
        index++;
    }
    pr_puts(p, "I.vdevice(");
    target_body(p, tn_as_target(v->target));
    pr_printf(p, ", %lld, ", (long long)v->id);
    pr_string(p, v->scope);
    pr_puts(p, ")");
}

/* A device mesh; quoted: by its place among the module's. */
static void
mesh(printer *p, const tn_node *n, bool quoted)
{
    const tn_array *all = p->module ? tn_as_array(tn_dict_get(p->module->infos, "mesh")) : NULL;
    for (uint32_t i = 0; quoted && all && i < all->items.n; i++)
        if (all->items.at[i] == n || tn_equal(p->child, all->items.at[i], n, false, NULL)) {
            pr_printf(p, "\"mesh[%u]\"", i);
            return;
        }
    const tn_node *d = tn_as_global_info(n)->value;
    const tn_array *ids = tn_as_array(tn_dict_get(d, "devices"));
    int64_t first = 0, v;
    bool run = ids->items.n > 0 && tn_int_value(ids->items.at[0], &first);
    for (uint32_t i = 0; run && i < ids->items.n; i++)
        run = tn_int_value(ids->items.at[i], &v) && v == first + i;
    pr_puts(p, "R.dist.device_mesh(");
    pr_attr(p, tn_dict_get(d, "shape"));
    if (run) {
        pr_printf(p, ", I.Range(%lld, %lld))", (long long)first, (long long)(first + ids->items.n));
        return;
    }
    pr_puts(p, ", ");
    pr_attr(p, TN_NODE(ids));
    pr_puts(p, ")");
}

/* ---- types ---- */
static void
tensor_type(printer *p, const tn_ty_tensor *t)
{
    const char *comma = "";
    const char *placement = tn_placement_spec(t->vdevice);
    pr_puts(p, placement ? "R.DTensor" : "R.Tensor");
    if (!t->shape && tnb_dtype_is_void(t->dtype) && t->ndim < 0 && !t->vdevice)
        return;
    pr_puts(p, "(");
    const tn_shape_expr *s = tn_as_shape_expr(t->shape);
    if (s)
        dims(p, s->values, "(", ")");
    else if (t->shape)
        pr_puts(p, pr_name(p, t->shape));
    if (t->shape)
        comma = ", ";
    if (!tnb_dtype_is_void(t->dtype)) {
        pr_printf(p, "%sdtype=\"%s\"", comma, tnb_dtype_print(t->dtype).s);
        comma = ", ";
    }
    if (!t->shape && t->ndim >= 0) {
        pr_printf(p, "%sndim=%lld", comma, (long long)t->ndim);
        comma = ", ";
    }
    if (placement) {
        pr_printf(p, "%sdevice_mesh=", comma);
        mesh(p, tn_placement_mesh(t->vdevice), true);
        pr_puts(p, ", placement=");
        pr_string(p, placement);
    } else if (t->vdevice) {
        pr_printf(p, "%svdevice=", comma);
        pr_vdevice(p, t->vdevice, true);
    }
    pr_puts(p, ")");
}

static void
types(printer *p, tn_list l)
{
    for (uint32_t i = 0; i < l.n; i++) {
        if (i)
            pr_puts(p, ", ");
        pr_type(p, l.at[i]);
    }
}

static void
func_type(printer *p, const tn_ty_func *f)
{
    if (f->opaque) {
        const char *comma = "";
        bool any = !f->ret || tn_is(f->ret, TN_KIND_TY_ANY);
        pr_puts(p, "R.Callable");
        if (any && !f->pure && !f->derive)
            return;
        pr_puts(p, "(");
        if (!any) {
            pr_puts(p, "ret=");
            pr_type(p, f->ret);
            comma = ", ";
        }
        if (f->pure) {
            pr_printf(p, "%spurity=True", comma);
            comma = ", ";
        }
        if (f->derive) {
            pr_printf(p, "%sderive_func=", comma);
            pr_string(p, f->derive);
        }
        pr_puts(p, ")");
        return;
    }
    pr_puts(p, "R.Callable((");
    types(p, f->params);
    pr_puts(p, f->params.n == 1 ? ",), " : "), ");
    pr_type(p, f->ret);
    pr_printf(p, ", %s)", f->pure ? "True" : "False");
}

void
pr_type(printer *p, const tn_type *t)
{
    if (!t) {
        pr_puts(p, "R.Any");
        return;
    }
    switch ((tn_kind)t->kind) {
    case TN_KIND_TY_ANY:
        pr_puts(p, "R.Any");
        break;
    case TN_KIND_TY_PRIM: {
        tnb_dtype d = ((const tn_ty_prim *)t)->dtype;
        if (p->tensor)
            pr_dtype(p, d);
        else
            pr_printf(p, "R.Prim(\"%s\")", tnb_dtype_print(d).s);
        break;
    }
    case TN_KIND_TY_PTR: {
        const tn_ty_ptr *q = (const tn_ty_ptr *)t;
        pr_printf(p, "T.handle(\"%s\", ", tnb_dtype_print(q->elem).s);
        pr_string(p, q->scope && *q->scope ? q->scope : "global");
        pr_puts(p, ")");
        break;
    }
    case TN_KIND_TY_SHAPE: {
        const tn_ty_shape *s = (const tn_ty_shape *)t;
        if (s->known)
            dims(p, s->values, "R.Shape([", "])");
        else if (s->ndim >= 0)
            pr_printf(p, "R.Shape(ndim=%lld)", (long long)s->ndim);
        else
            pr_puts(p, "R.Shape");
        break;
    }
    case TN_KIND_TY_TENSOR:
        tensor_type(p, (const tn_ty_tensor *)t);
        break;
    case TN_KIND_TY_TUPLE:
        pr_puts(p, "R.Tuple");
        if (((const tn_ty_tuple *)t)->fields.n) {
            pr_puts(p, "(");
            types(p, ((const tn_ty_tuple *)t)->fields);
            pr_puts(p, ")");
        }
        break;
    case TN_KIND_TY_FUNC:
        func_type(p, (const tn_ty_func *)t);
        break;
    default:
        pr_printf(p, "<%s>", tn_kinds[t->kind].name);
    }
}

/* ---- attribute values ---- */
static bool
skipped(const char *skip, const char *key)
{
    size_t n = strlen(key);
    for (const char *s = skip; s && *s;) {
        size_t k = strcspn(s, " ");
        if (k && k == n && !memcmp(s, key, n))
            return true;
        s += k + (s[k] == ' ');
    }
    return false;
}

uint32_t
pr_dict_count(const tn_node *dict, const char *skip)
{
    const tn_dict *d = tn_as_dict(dict);
    uint32_t n = 0;
    for (uint32_t i = 0; d && i < d->items.n; i++)
        n += !skipped(skip, tn_as_pair(d->items.at[i])->key);
    return n;
}

void
pr_dict(printer *p, const tn_node *dict, const char *skip)
{
    const tn_dict *d = tn_as_dict(dict);
    const char *comma = "";
    pr_puts(p, "{");
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *kv = tn_as_pair(d->items.at[i]);
        if (skipped(skip, kv->key))
            continue;
        pr_puts(p, comma);
        pr_string(p, kv->key);
        pr_puts(p, ": ");
        pr_attr(p, kv->value);
        comma = ", ";
    }
    pr_puts(p, "}");
}

/* lambda i, j: (i // 4, j); separators stand between the results */
static void
lambda(printer *p, const tn_index_map *m)
{
    pr_puts(p, "lambda ");
    for (uint32_t i = 0; i < m->vars.n; i++)
        pr_printf(p, "%s%s", i ? ", " : "",
                  pr_define(p, m->vars.at[i], tn_var_name(m->vars.at[i])));
    pr_puts(p, ": (");
    bool tensor = p->tensor;
    p->tensor = m->vars.n && tnb_dtype_eq(tn_dtype_of(m->vars.at[0]), TNB_I32);
    uint32_t s = 0, printed = 0;
    for (uint32_t i = 0; i <= m->result.n; i++) {
        int64_t at;
        while (s < m->separators.n && tn_int_value(m->separators.at[s], &at) && at <= i) {
            pr_printf(p, "%sT.IndexMap.AXIS_SEPARATOR", printed++ ? ", " : "");
            s++;
        }
        if (i == m->result.n)
            break;
        pr_puts(p, printed++ ? ", " : "");
        pr_expr(p, m->result.at[i], PREC_TEST);
    }
    p->tensor = tensor;
    pr_puts(p, printed == 1 ? ",)" : ")");
}

static void
index_map(printer *p, const tn_index_map *m)
{
    pr_puts(p, "T.index_map(");
    lambda(p, m);
    if (m->inverse) {
        const tn_index_map *inverse = tn_as_index_map(m->inverse);
        pr_puts(p, ", inverse_index_map=");
        if (inverse && !inverse->inverse)
            lambda(p, inverse);
        else
            pr_attr(p, m->inverse);
    }
    tnb_dtype d = m->vars.n ? tn_dtype_of(m->vars.at[0]) : TNB_I64;
    if (!tnb_dtype_eq(d, TNB_I64))
        pr_printf(p, ", index_dtype=\"%s\"", tnb_dtype_print(d).s);
    pr_puts(p, ")");
}

static void
comm_reducer(printer *p, const tn_comm_reducer *c)
{
    pr_puts(p, "T.comm_reducer(lambda ");
    for (uint32_t i = 0; i < c->lhs.n; i++)
        pr_printf(p, "%s%s", i ? ", " : "", pr_define(p, c->lhs.at[i], tn_var_name(c->lhs.at[i])));
    for (uint32_t i = 0; i < c->rhs.n; i++)
        pr_printf(p, ", %s", pr_define(p, c->rhs.at[i], tn_var_name(c->rhs.at[i])));
    pr_puts(p, ": ");
    pr_index_tuple(p, c->result);
    pr_puts(p, ", [");
    pr_exprs(p, c->identity);
    pr_puts(p, "])");
}

static void
iter_var(printer *p, const tn_iter_var *v)
{
    /* ORDER ITER_KIND */
    static const char *const kinds[] = {"DataPar", "CommReduce", "Ordered", "Opaque",
                                        "ThreadIndex"};
    if (!pr_known(p, v->var))
        pr_name(p, v->var);
    pr_printf(p, "T.iter_var(%s, ", pr_name(p, v->var));
    if (v->dom)
        pr_range_node(p, v->dom);
    else
        pr_puts(p, "None");
    pr_printf(p, ", \"%s\", ", kinds[v->iter_kind]);
    pr_string(p, v->thread_tag ? v->thread_tag : "");
    pr_puts(p, ")");
}

void
pr_attr(printer *p, const tn_node *v)
{
    if (!v) {
        pr_puts(p, "None");
        return;
    }
    if (tn_is_type(v)) {
        pr_type(p, v);
        return;
    }
    switch ((tn_kind)v->kind) {
    case TN_KIND_NONE:
        pr_puts(p, "None");
        break;
    case TN_KIND_INT_IMM:
        pr_int(p, v, TNB_I64);
        break;
    case TN_KIND_FLOAT_IMM:
        pr_float(p, v, true);
        break;
    case TN_KIND_STRING_IMM:
        pr_string(p, ((const tn_string_imm *)v)->value);
        break;
    case TN_KIND_DTYPE_IMM: {
        tnb_dtype d = ((const tn_dtype_imm *)v)->value;
        pr_printf(p, "R.dtype(\"%s\")", tnb_dtype_is_void(d) ? "void" : tnb_dtype_print(d).s);
        break;
    }
    case TN_KIND_ARRAY: {
        tn_list l = ((const tn_array *)v)->items;
        pr_puts(p, "[");
        for (uint32_t i = 0; i < l.n; i++) {
            if (i)
                pr_puts(p, ", ");
            pr_attr(p, l.at[i]);
        }
        pr_puts(p, "]");
        break;
    }
    case TN_KIND_DICT:
        pr_dict(p, v, NULL);
        break;
    case TN_KIND_TARGET:
        pr_target(p, v);
        break;
    case TN_KIND_VDEVICE:
        pr_vdevice(p, v, false);
        break;
    case TN_KIND_GLOBAL_INFO: {
        const tn_global_info *g = (const tn_global_info *)v;
        if (!strcmp(g->kind, "dummy") && !g->value) {
            pr_puts(p, "I.dummy_global_info()");
            break;
        }
        if (!strcmp(g->kind, "mesh") && tn_dict_get(g->value, "devices")) {
            mesh(p, v, false);
            break;
        }
        pr_puts(p, "I.global_info(");
        pr_string(p, g->kind);
        if (g->value) {
            pr_puts(p, ", ");
            pr_attr(p, g->value);
        }
        pr_puts(p, ")");
        break;
    }
    case TN_KIND_INDEX_MAP:
        index_map(p, (const tn_index_map *)v);
        break;
    case TN_KIND_COMM_REDUCER:
        comm_reducer(p, (const tn_comm_reducer *)v);
        break;
    case TN_KIND_RANGE:
        pr_range_node(p, v);
        break;
    case TN_KIND_ITER_VAR:
        iter_var(p, (const tn_iter_var *)v);
        break;
    case TN_KIND_BUFFER:
        pr_puts(p, pr_name(p, v));
        break;
    case TN_KIND_BUFFER_REGION:
        pr_region(p, v);
        break;
    default:
        if (tn_is_scalar(v))
            pr_expr(p, v, PREC_TEST);
        else
            pr_value(p, v);
    }
}
