/* SPDX-License-Identifier: Apache-2.0 */
/* Reading integers at run time and naming extents: see dynamic.h. */
#include <inttypes.h>
#include "dynamic.h"

#include "fold.h"
#include "tenon/core/op.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/te.h"
#include "terms.h"

enum {
    MAX_READ = 16,  /* elements of a tensor that is read */
    MAX_DEPTH = 48, /* of operators between a value and what is read for it */
    MAX_BOUND = 24, /* terms bound at once */
    MAX_SHOWN = 36
};

/* ---- reading ---- */

/* The number of elements if they are integers and few, else 0. */
static uint32_t
readable(onnx_value *v)
{
    tn_list dims;
    int64_t count = 1, d;
    if (!v->expr || !v->expr->type || v->expr->type->kind != TN_KIND_TY_TENSOR ||
        !tn_type_dims(v->expr->type, &dims) || dims.n > ONNX_MAX_RANK ||
        !(tnb_dtype_is_int(onnx_dtype(v->expr)) || tnb_dtype_is_bool(onnx_dtype(v->expr))))
        return 0;
    for (uint32_t i = 0; i < dims.n; i++) {
        if (!tn_int_value(dims.at[i], &d) || d < 1 || d > MAX_READ)
            return 0;
        count *= d;
    }
    return count <= MAX_READ ? (uint32_t)count : 0;
}

/* The parts (onnx_term_split) of `count` integers: a vector of 2 * count, first all that are 0 or more. */
static const tn_expr *
parts_of(onnx_node *n, const tn_expr *x, uint32_t count)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *extent = tn_i64(ctx, 2 * (int64_t)count), *size = tn_i64(ctx, count), *part[2];
    x = onnx_astype(n, onnx_reshape(n, x, &size, 1), TNB_I64);
    if (n->failed || tn_is_error(x))
        return tn_error_node(ctx);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "x", x->type);
    tnk_stage *s = tnk_te_stage(te, "parts", &extent, 1, TNB_I64);
    const tn_expr *i = s->axes[0], *at = count == 1 ? tn_i64(ctx, 0) : tn_floormod(ctx, i, size);
    onnx_term_split(ctx, tnk_te_read(te, in, at, NULL), part);
    const tn_node *out =
        tnk_te_define(s, tn_select_of(ctx, tn_lt_of(ctx, i, size), part[0], part[1]));
    return onnx_emit_call(n, tnk_te_call(te, n->imp->b, "parts", &x, 1, &out, 1));
}

struct onnx_fit {
    uint32_t region;
    const tn_expr *term;
    tnb_dtype dtype;
};

static void
keep_fit(onnx_import *imp, const tn_expr *term, tnb_dtype d)
{
    struct onnx_fit *fit = TNB_NEW(imp->arena, struct onnx_fit);
    *fit = (struct onnx_fit){imp->region, term, d};
    TNB_PUSH(imp->arena, imp->fits, fit);
}

static bool
read_tensor(onnx_node *n, onnx_value *v, uint32_t count)
{
    tn_ctx *ctx = n->ctx;
    const tn_node *vars[2 * MAX_READ];
    tn_list dims;
    const tn_expr *parts = parts_of(n, v->expr, count),
                  *shape = onnx_emit(n, "tensor_to_shape", NULL, parts, NULL);
    if (n->failed)
        return false;
    for (uint32_t i = 0; i < 2 * count; i++)
        vars[i] = tn_var_dtype(ctx, i < count ? "value" : "negative", TNB_I64);
    const tn_type *t = tn_ty_shape_of(ctx, tn_list_of(ctx, vars, 2 * count));
    if (tn_is_error(tn_emit_match_cast(n->imp->b, shape, t, "read")))
        return n->failed = true, false;
    const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, count + 1);
    tnb_dtype d = onnx_dtype(v->expr);
    bool may_be_negative = d.code == TNB_INT;
    for (uint32_t i = 0; i < count; i++) {
        e[i] = may_be_negative ? onnx_term_join(ctx, vars[i], vars[count + i]) : vars[i];
        keep_fit(n->imp, e[i], d);
        onnx_note_signed(n->imp, vars[i]);
        onnx_note_signed(n->imp, vars[count + i]);
    }
    tn_type_dims(v->expr->type, &dims);
    for (uint32_t i = 0; i < dims.n; i++)
        tn_int_value(dims.at[i], &v->dims[i]);
    v->ndim = (int32_t)dims.n;
    v->dtype = d;
    v->elems = e;
    v->n_elems = count;
    v->has_elems = true;
    return true;
}

/* How the elements of a value come: they are known, an operator computes them from elements, they
 * are read; or not at all. */
enum { NOT_AT_ALL, KNOWN, COMPUTED, READ };

typedef struct plan {
    onnx_node *n;
    tnb_ptrmap how; /* value -> its plan, and what it costs to read */
} plan;

typedef struct way {
    int how;
    uint32_t cost; /* elements read */
} way;

static way
plan_value(plan *p, onnx_value *v, int depth);

/* The operator's inputs, all of which must come somehow. */
static way
plan_node(plan *p, const onnx_node *maker, int depth)
{
    way w = {COMPUTED, 0};
    for (uint32_t i = 0; i < onnx_folded_inputs(maker->row, maker->n_in) && w.how; i++) {
        way in = maker->in[i] ? plan_value(p, maker->in[i], depth + 1) : (way){KNOWN, 0};
        w.cost += in.cost;
        if (in.how == NOT_AT_ALL)
            w.how = NOT_AT_ALL;
    }
    return w;
}

static way
plan_value(plan *p, onnx_value *v, int depth)
{
    way *old = tnb_ptrmap_get(&p->how, v), w = {NOT_AT_ALL, 0};
    if (old)
        return *old;
    const onnx_node *maker = v->maker;
    uint32_t count = readable(v);
    if (onnx_value_known(p->n, v))
        w.how = KNOWN;
    else if (v->same_as)
        w = plan_value(p, v->same_as, depth + 1);
    else if (maker && maker->row && maker->row->fold && depth < MAX_DEPTH &&
             !(maker->row->flags & ONNX_OP_FOLD_SHAPE))
        w = plan_node(p, maker, depth);
    /* what comes from more elements than it has is read itself */
    if (count && (w.how == NOT_AT_ALL || w.cost > count))
        w = (way){READ, count};
    way *mine = TNB_NEW(p->n->imp->arena, way);
    *mine = w;
    tnb_ptrmap_set(&p->how, v, mine);
    return w;
}

static void
take_elements(onnx_value *v, const onnx_value *from)
{
    v->elems = from->elems;
    v->n_elems = from->n_elems;
    v->dtype = from->dtype;
    v->ndim = from->ndim;
    memcpy(v->dims, from->dims, sizeof v->dims);
    v->has_elems = true;
}

static bool
carry_out(plan *p, onnx_value *v);

/* Computes the elements of everything that the maker of `v` makes. */
static bool
fold_again(plan *p, onnx_value *v)
{
    onnx_node again = *v->maker;
    onnx_import *imp = p->n->imp;
    for (uint32_t i = 0; i < onnx_folded_inputs(again.row, again.n_in); i++)
        if (again.in[i] && !carry_out(p, again.in[i]))
            return false;
    again.failed = false;
    again.out = TNB_NEW_N(imp->arena, onnx_value *, again.n_out + 1);
    for (uint32_t i = 0; i < again.n_out; i++)
        again.out[i] = v->maker->out[i] ? onnx_value_new(imp, v->maker->out[i]->name) : NULL;
    onnx_scope *here = imp->scope;
    imp->scope = again.scope; /* where its attributes have their meaning */
    bool folded = again.row->fold(&again) && !again.failed;
    imp->scope = here;
    p->n->failed |= again.failed;
    if (!folded)
        return false;
    for (uint32_t i = 0; i < again.n_out; i++)
        if (again.out[i] && again.out[i]->has_elems && !v->maker->out[i]->has_elems)
            take_elements(v->maker->out[i], again.out[i]);
    return v->has_elems;
}

static bool
carry_out(plan *p, onnx_value *v)
{
    if (v->has_elems)
        return true;
    way *w = tnb_ptrmap_get(&p->how, v);
    if (!w || w->how == NOT_AT_ALL || p->n->failed)
        return false;
    if (w->how == COMPUTED && v->same_as) {
        if (!carry_out(p, v->same_as))
            return false;
        take_elements(v, v->same_as);
        return true;
    }
    if (w->how == COMPUTED && fold_again(p, v))
        return true;
    uint32_t count = readable(v);
    return count && !p->n->failed && read_tensor(p->n, v, count);
}

bool
onnx_value_read(onnx_node *n, onnx_value *v)
{
    plan p = {.n = n};
    if (!v || n->failed)
        return false;
    if (onnx_value_known(n, v))
        return true;
    tnb_ptrmap_init(&p.how, n->imp->arena);
    (void)plan_value(&p, v, 0);
    return carry_out(&p, v);
}

bool
onnx_read(onnx_node *n, uint32_t i)
{
    return onnx_has(n, i) && onnx_value_read(n, n->in[i]);
}

bool
onnx_are_numbers(onnx_node *n, uint32_t i)
{
    int64_t v;
    if (!onnx_known(n, i))
        return false;
    for (uint32_t k = 0; k < n->in[i]->n_elems; k++)
        if (!tn_int_value(onnx_simplify(n, n->in[i]->elems[k]), &v))
            return false;
    return true;
}

/* ---- terms ---- */

const tn_expr *
onnx_truth(onnx_node *n, const tn_expr *e)
{
    return onnx_term_truth(n->ctx, e);
}

const tn_expr *
onnx_t(onnx_node *n, onnx_arith op, const tn_expr *a, const tn_expr *b)
{
    return onnx_term_binary(n->ctx, op, TNB_I64, false, a, b);
}

const tn_expr *
onnx_t_where(onnx_node *n, const tn_expr *cond, const tn_expr *a, const tn_expr *b)
{
    return onnx_term_where(n->ctx, TNB_I64, cond, a, b);
}

const tn_expr *
onnx_step_width(tn_ctx *ctx, const tn_expr *step)
{
    const tn_expr *one = tn_i64(ctx, 1), *most = tn_i64(ctx, INT64_C(1) << 40);
    step = tn_max(ctx, step, tn_sub(ctx, tn_i64(ctx, 0), step));
    return tn_max(ctx, tn_min(ctx, step, most), one);
}

const tn_expr *
onnx_steps(tn_ctx *ctx, const tn_expr *span, const tn_expr *width)
{
    const tn_expr *more = tn_sub(ctx, width, tn_i64(ctx, 1));
    return tn_max(ctx, tn_floordiv(ctx, tn_add(ctx, span, more), width), tn_i64(ctx, 0));
}

void
onnx_note_signed(onnx_import *imp, const tn_expr *var)
{
    if (!imp->has_signed)
        tnb_ptrmap_init(&imp->signed_vars, imp->arena);
    imp->has_signed = true;
    tnb_ptrmap_set(&imp->signed_vars, var, (void *)(uintptr_t)var);
}

static bool
has_plain_kinds(const tn_expr *e, int *left)
{
    const tn_binary *b = tn_as_binary(e);
    if (--*left < 0 || !tnb_dtype_eq(tn_dtype_of(e), TNB_I64))
        return false;
    if (tn_is_var(e) || tn_is(e, TN_KIND_INT_IMM) || onnx_term_is_joined(e))
        return true;
    switch ((int)e->kind) {
    case TN_KIND_ADD:
    case TN_KIND_SUB:
    case TN_KIND_MUL:
    case TN_KIND_FLOOR_DIV:
    case TN_KIND_FLOOR_MOD:
    case TN_KIND_MIN:
    case TN_KIND_MAX:
        return has_plain_kinds(b->a, left) && has_plain_kinds(b->b, left);
    default:
        return false;
    }
}

static bool
uses_signed(onnx_node *n, const tn_expr *e)
{
    if (!n->imp->has_signed)
        return false;
    tn_list vars = tn_free_vars(n->ctx, e, false);
    for (uint32_t i = 0; i < vars.n; i++)
        if (tnb_ptrmap_has(&n->imp->signed_vars, vars.at[i]))
            return true;
    return false;
}

bool
onnx_is_plain(onnx_node *n, const tn_expr *e)
{
    int left = 32;
    return tn_is(e, TN_KIND_INT_IMM) || (has_plain_kinds(e, &left) && !uses_signed(n, e));
}

/* ---- names ---- */

struct onnx_name {
    uint32_t region;
    const tn_expr *term, *var;
};

/* The name that a term got in this function. */
static const tn_expr *
find_name(onnx_import *imp, const tn_expr *e)
{
    uint32_t from = imp->names.n > 256 ? imp->names.n - 256 : 0;
    for (uint32_t i = imp->names.n; i-- > from;)
        if (imp->names.at[i]->region == imp->region &&
            (imp->names.at[i]->term == e ||
             tn_equal(imp->ctx, imp->names.at[i]->term, e, false, NULL)))
            return imp->names.at[i]->var;
    return NULL;
}

static void
keep_name(onnx_import *imp, const tn_expr *term, const tn_expr *var)
{
    struct onnx_name *name = TNB_NEW(imp->arena, struct onnx_name);
    *name = (struct onnx_name){imp->region, term, var};
    TNB_PUSH(imp->arena, imp->names, name);
}

static const tn_expr *
at_least_zero(tn_ctx *ctx, const tn_expr *e)
{
    return onnx_term_nonneg(ctx, e) ? NULL : tn_ge_of(ctx, e, tn_i64(ctx, 0));
}

/* The text for extents of which one is negative: they are shown. */
static const char *
sign_text(tn_ctx *ctx, uint32_t count)
{
    const char *text = count > 1 ? "the extents" : "the extent";
    for (uint32_t i = 0; i < count; i++)
        text = tn_strf(ctx, "%s%s {%u}", text, i ? "," : "", i + 1);
    return tn_strf(ctx, "%s cannot be: wanted 0 or more", text);
}

/* shape = [ok, shown..., e...] -> names for e, or the text as an error. */
static bool
emit_names(onnx_node *n, const tn_expr *ok, const tn_expr *const *e, const tn_node **vars,
           uint32_t count, const onnx_demand *d)
{
    tn_ctx *ctx = n->ctx;
    tn_list own = tn_list_of(ctx, (const tn_node *const *)e, count), values = own;
    bool told = d && d->text;
    if (ok) {
        values = tn_listv(ctx, tn_cast_to(ctx, TNB_I64, ok), NULL);
        for (uint32_t i = 0; told && i < d->n_shown && values.n < MAX_SHOWN; i++)
            values = tn_list_append(ctx, values, d->shown[i]);
        for (uint32_t i = 0; i < count; i++)
            values = tn_list_append(ctx, values, e[i]);
    }
    const tn_expr *shape = tn_emit(n->imp->b, tn_shape_expr_of(ctx, values), "extents");
    if (ok) {
        const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_pure_packed", NULL);
        const tn_expr *callee = tn_extern_func_of(ctx, "vm.builtin.checked_shape");
        const char *text = tn_strf(ctx, "%s: %s", n->text ? n->text : "node",
                                   told ? d->text : sign_text(ctx, count));
        tn_list args = tn_listv(ctx, callee, shape, tn_i64(ctx, count), tn_string(ctx, text), NULL);
        shape = tn_emit(n->imp->b,
                        tn_call_of(ctx, tn_op_ref_of(ctx, op), args, NULL,
                                   tn_listv(ctx, tn_ty_shape_rank(ctx, count), NULL), NULL),
                        "checked");
    }
    const tn_type *t = tn_ty_shape_of(ctx, tn_list_of(ctx, vars, count));
    if (tn_is_error(shape) || tn_is_error(tn_emit_match_cast(n->imp->b, shape, t, "named")))
        n->failed = true;
    return !n->failed;
}

bool
onnx_bind(onnx_node *n, const tn_expr **e, uint32_t count, const onnx_demand *d)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *todo[MAX_BOUND], *ok = d ? d->ok : NULL;
    const tn_node *vars[MAX_BOUND];
    uint32_t place[MAX_BOUND], left = 0;
    int64_t v;
    for (uint32_t i = 0; i < count && !n->failed; i++) {
        if (!e[i] || tn_is_error(e[i]))
            return onnx_fail(n, TNB_UNSUPPORTED, "an extent cannot be computed");
        e[i] = onnx_simplify(n, e[i]);
        if (tn_int_value(e[i], &v) && v < 0)
            return onnx_fail(n, TNB_SHAPE, "an extent would be %lld", (long long)v);
        if (onnx_is_plain(n, e[i]) && onnx_term_nonneg(ctx, e[i]))
            continue;
        if (left == MAX_BOUND)
            return onnx_fail(n, TNB_BOUNDS, "more than %d extents come at run time", MAX_BOUND);
        place[left] = i;
        todo[left++] = e[i];
    }
    bool demanded = d && d->ok && !tn_is_int_const(d->ok, 1);
    for (uint32_t i = 0; i < count && demanded && !left; i++)
        if (!tn_is(e[i], TN_KIND_INT_IMM) || i + 1 == count) { /* the demand is for this one */
            place[0] = i;
            todo[left++] = e[i];
        }
    for (uint32_t i = 0; i < left && !demanded; i++) { /* nothing new is asked for: names do */
        const tn_expr *known = find_name(n->imp, todo[i]);
        if (!known)
            continue;
        e[place[i]] = known;
        place[i] = place[--left];
        todo[i--] = todo[left];
    }
    if (!left || n->failed)
        return !n->failed;
    ok = demanded ? d->ok : NULL;
    for (uint32_t i = 0; i < left; i++) {
        ok = tn_and(ctx, ok, at_least_zero(ctx, todo[i]));
        vars[i] = tn_var_dtype(ctx, "extent", TNB_I64);
    }
    if (!emit_names(n, ok, todo, vars, left, d))
        return false;
    for (uint32_t i = 0; i < left; i++) {
        keep_name(n->imp, todo[i], vars[i]);
        e[place[i]] = vars[i];
    }
    return true;
}

/* ---- dtypes ---- */

static bool
is_kept_fit(const onnx_import *imp, const tn_expr *e, tnb_dtype d)
{
    uint32_t from = imp->fits.n > 256 ? imp->fits.n - 256 : 0;
    for (uint32_t i = imp->fits.n; i-- > from;) {
        const struct onnx_fit *f = imp->fits.at[i];
        if (f->region == imp->region && tnb_dtype_eq(f->dtype, d) &&
            (f->term == e || tn_equal(imp->ctx, f->term, e, false, NULL)))
            return true;
    }
    return false;
}

static bool
is_between(tn_ctx *ctx, const tn_expr *e, int64_t least, int64_t most)
{
    int64_t lo, hi;
    onnx_term_bounds(ctx, e, &lo, &hi);
    return lo >= least && hi <= most;
}

bool
onnx_demand_fit(onnx_node *n, onnx_value *v)
{
    tn_ctx *ctx = n->ctx;
    tnb_dtype d = v->dtype;
    bool is_signed = d.code == TNB_INT;
    if ((!is_signed && d.code != TNB_UINT) || d.bits > 32)
        return true;
    int64_t most = (INT64_C(1) << (is_signed ? d.bits - 1 : d.bits)) - 1,
            least = is_signed ? -most - 1 : 0;
    for (uint32_t k = 0; k < v->n_elems && !n->failed; k++) {
        const tn_expr *e = v->elems[k];
        if (tn_is(e, TN_KIND_INT_IMM) || is_kept_fit(n->imp, e, d))
            continue;
        const tn_expr *simple = onnx_simplify(n, e);
        if (is_between(ctx, simple, least, most) || is_kept_fit(n->imp, simple, d))
            continue;
        onnx_demand demand = {NULL, &simple, 1,
                              tn_strf(ctx, "'%s' would be {1}, which %s cannot hold",
                                      v->name ? v->name : "an input", tnb_dtype_print(d).s)};
        const tn_expr *ok = tn_and(ctx, tn_ge_of(ctx, simple, tn_i64(ctx, least)),
                                   tn_le_of(ctx, simple, tn_i64(ctx, most)));
        if (!emit_names(n, ok, NULL, NULL, 0, &demand))
            return false;
        keep_fit(n->imp, simple, d);
    }
    return !n->failed;
}

bool
onnx_demand_near(onnx_node *n, onnx_arith op, const tn_expr *a, const tn_expr *b)
{
    tn_ctx *ctx = n->ctx;
    int64_t c, most, least;
    const tn_expr *e = tn_int_value(b, &c) ? a : tn_int_value(a, &c) ? b : NULL;
    bool product = op == ONNX_MUL, from = op == ONNX_SUB && e == b;
    if (!e || c == INT64_MIN || c == 0)
        return false;
    most = INT64_MAX;
    least = INT64_MIN;
    if (product) { /* towards 0; -1 * -2^63 is beyond int64 */
        most = c > 0 ? INT64_MAX / c : c == -1 ? INT64_MAX : INT64_MIN / c;
        least = c > 0 ? INT64_MIN / c : INT64_MAX / c;
    } else if (from) { /* c - e */
        most = c < 0 ? c - INT64_MIN : INT64_MAX;
        least = c >= 0 ? c - INT64_MAX : INT64_MIN;
    } else if ((c > 0) == (op == ONNX_SUB)) { /* down */
        least = op == ONNX_SUB ? INT64_MIN + c : INT64_MIN - c;
    } else {
        most = op == ONNX_SUB ? INT64_MAX + c : INT64_MAX - c;
    }
    onnx_demand d = {NULL, &e, 1,
                     tn_strf(ctx, "{1} %s %" PRId64 " is beyond int64",
                             product          ? "times"
                             : from           ? "from"
                             : op == ONNX_SUB ? "less"
                                              : "and",
                             c)};
    const tn_expr *ok =
        tn_and(ctx, tn_ge_of(ctx, e, tn_i64(ctx, least)), tn_le_of(ctx, e, tn_i64(ctx, most)));
    return emit_names(n, ok, NULL, NULL, 0, &d);
}

const tn_expr *
onnx_bind_signed(onnx_node *n, const tn_expr *e)
{
    tn_ctx *ctx = n->ctx;
    int left = 4;
    e = onnx_simplify(n, e);
    if (has_plain_kinds(e, &left))
        return e;
    const tn_expr *parts[2];
    onnx_term_split(ctx, e, parts);
    return onnx_bind(n, parts, 2, NULL) ? onnx_term_join(ctx, parts[0], parts[1])
                                        : tn_error_node(ctx);
}
