/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: If, Loop, Scan.
 *
 * A condition known at compile time picks its branch; otherwise a private function holds both (see
 * subgraph.h). Short loops whose count is known are written out, so that their turns fuse; all
 * others become private functions that call themselves (loop.c).
 */
#include <inttypes.h>
#include "dynamic.h"
#include "loop.h"
#include "subgraph.h"
#include "tenon/core/walk.h"

enum { MAX_UNROLLED = 16, MAX_UNROLLED_NODES = 256, MAX_BATCH = 4096 /* of opset 8's Scan */ };

/* ---- If ---- */

/* The type of an output, in the function, from its type in both branches, which has one rank; NULL
 * after an error. */
static const tn_type *
joined_type(onnx_node *n, onnx_function *f, const tn_expr *a, const tn_expr *b, tn_list *dims)
{
    tn_list da, db;
    if (!onnx_dims(n, a, &da) || !onnx_dims(n, b, &db))
        return NULL;
    *dims = (tn_list){0};
    for (uint32_t k = 0; k < da.n; k++) {
        bool same = tn_prove_equal(n->ctx, da.at[k], db.at[k]) && onnx_to_outside(f, da.at[k]);
        *dims = tn_list_append(n->ctx, *dims, same ? da.at[k] : NULL);
    }
    return onnx_type_of_dims(n->ctx, *dims, onnx_dtype(a));
}

/* Elements that both branches give, as the caller's; NULL: they differ or are not known. */
static const tn_expr **
joined_elems(onnx_node *n, onnx_function *f, onnx_value *a, onnx_value *b)
{
    if (!onnx_value_known(n, a) || !onnx_value_known(n, b) || a->n_elems != b->n_elems ||
        a->ndim != b->ndim || !tnb_dtype_eq(a->dtype, b->dtype) || tnb_dtype_is_float(a->dtype))
        return NULL;
    const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, a->n_elems + 1);
    for (uint32_t i = 0; i < a->n_elems; i++)
        if (!tn_prove_equal(n->ctx, a->elems[i], b->elems[i]) ||
            !(e[i] = onnx_to_outside(f, a->elems[i])))
            return NULL;
    return e;
}

/* One branch: its sequence; `v` gets the values, `out` the results. */
static const tn_expr *
import_branch(onnx_node *n, onnx_function *f, const Onnx__GraphProto *g, onnx_value **v,
              const tn_expr **out)
{
    onnx_region r;
    tn_list fields = {0};
    onnx_region_begin(&r, f);
    bool ok = onnx_inline_graph(n, g, NULL, 0, v, n->n_out);
    for (uint32_t i = 0; i < n->n_out && ok; i++) {
        out[i] = onnx_region_output(&r, v[i]);
        fields = tn_list_append(n->ctx, fields, out[i]);
        ok = !n->failed;
    }
    const tn_expr *seq = onnx_region_end(&r, tn_tuple_of(n->ctx, ok ? fields : (tn_list){0}));
    n->failed |= !ok;
    return seq;
}

/* A private function that holds both branches of an If, or one and an assertion. */
typedef struct open_if {
    onnx_node *n;
    onnx_function f;
    const Onnx__GraphProto *const *g;
    onnx_value **v[2];
    const tn_expr **out[2], *seq[2], *cond;
    tn_list params, args, types, *dims;
} open_if;

static const char *const branch_names[] = {"then", "else"};

/* The condition, in the function. */
static bool
read_condition(open_if *o)
{
    onnx_node *n = o->n;
    tn_ctx *ctx = n->ctx;
    if (onnx_known(n, 0) && n->in[0]->n_elems == 1) {
        o->cond = onnx_to_inside(&o->f, n->in[0]->elems[0]);
        if (!tnb_dtype_is_bool(tn_dtype_of(o->cond)))
            o->cond = tn_ne_of(ctx, o->cond, tn_i64(ctx, 0));
        return true;
    }
    const tn_expr *given = onnx_reshape(n, onnx_in(n, 0), NULL, 0);
    if (!n->failed && !tnb_dtype_is_bool(onnx_dtype(given)))
        return onnx_fail(n, TNB_TYPE, "the condition has the type %s, expected bool",
                         onnx_type_text(n->imp, given->type));
    o->cond = tn_var_new(ctx, "condition", tn_ty_tensor_dims(ctx, (tn_list){0}, TNB_B8));
    o->params = tn_listv(ctx, o->cond, NULL);
    o->args = tn_listv(ctx, given, NULL);
    return !n->failed;
}

/* Branch k stops the program. */
static void
refuse_branch(open_if *o, int k, const char *why)
{
    o->seq[k] = onnx_refused_branch(&o->f, o->out[!k], o->n->n_out, why);
    o->v[k] = o->v[!k];
    o->out[k] = o->out[!k];
}

/* Both branches. One that cannot be imported stops the program if it is taken. */
static bool
import_branches(open_if *o)
{
    onnx_node *n = o->n;
    tnb_diags *d = tn_diags(n->ctx);
    const char *why[2] = {NULL, NULL};
    tnb_status status[2] = {TNB_OK, TNB_OK};
    for (int k = 0; k < 2; k++) {
        onnx_part part = onnx_part_begin(n->imp);
        o->v[k] = TNB_NEW_N(n->imp->arena, onnx_value *, n->n_out + 1);
        o->out[k] = TNB_NEW_N(n->imp->arena, const tn_expr *, n->n_out + 1);
        o->seq[k] = import_branch(n, &o->f, o->g[k], o->v[k], o->out[k]);
        if (!n->failed)
            continue;
        why[k] = onnx_part_error(n->imp, &part, &status[k]);
        if (!why[k] || (k == 1 && why[0])) /* nothing recorded, or neither is left */
            return false;
        tnb_diags_cut(d, part.diags);
        n->failed = false;
    }
    for (int k = 0; k < 2; k++)
        if (why[k]) {
            tnb_report(d, TNB_WARNING, status[k],
                       (tnb_place){.file = n->imp->model->file, .node = n->text},
                       "the %s branch cannot be compiled; the program stops where it is taken",
                       branch_names[k]);
            tnb_diag_note(d, "%s", why[k]);
            refuse_branch(o, k,
                          tn_strf(n->ctx, "%s: the %s branch could not be compiled (%s)", n->text,
                                  branch_names[k], why[k]));
        }
    return !n->failed;
}

/* Which branch was taken for the same condition: 0 or 1; -1: there was none. */
static int
decided_before(const onnx_import *imp, const tn_expr *cond)
{
    for (uint32_t i = 0; i < imp->n_decided && cond; i++)
        if (tn_equal(imp->ctx, imp->decided[i].cond, cond, false, NULL))
            return imp->decided[i].taken;
    return -1;
}

static void
decide_so(onnx_import *imp, const tn_expr *cond, int taken)
{
    if (cond && imp->n_decided < ONNX_MAX_DECIDED)
        imp->decided[imp->n_decided++] = (onnx_decision){cond, taken};
}

/* Where a result has other ranks or element types, the rest of the model is made for one branch. */
static bool
choose_branch(open_if *o)
{
    onnx_node *n = o->n;
    onnx_import *imp = n->imp;
    for (uint32_t i = 0; i < n->n_out; i++) {
        tn_list a, b;
        const tn_expr *x = o->out[0][i], *y = o->out[1][i];
        if (!onnx_dims(n, x, &a) || !onnx_dims(n, y, &b))
            return false;
        if (a.n == b.n && tnb_dtype_eq(onnx_dtype(x), onnx_dtype(y)))
            continue;
        const char *types = tn_strf(n->ctx, "the branches give output %u the types %s and %s", i,
                                    onnx_type_text(imp, x->type), onnx_type_text(imp, y->type));
        bool known = onnx_known(n, 0) && n->in[0]->n_elems == 1;
        const tn_expr *cond = known ? n->in[0]->elems[0] : NULL;
        int taken = decided_before(imp, cond);
        if (taken < 0 && !imp->choices[imp->n_choices]) {
            imp->at_fork = true;
            imp->fork_cond = cond;
            imp->fork_text = n->text;
            imp->fork_inputs = onnx_has(n, 0) ? onnx_run_time_inputs(imp, n->in[0]) : NULL;
            onnx_fail(n, TNB_UNSUPPORTED, "%s", types);
            onnx_hint(n, "make the condition known at compile time");
            return false;
        }
        if (taken < 0) {
            taken = imp->choices[imp->n_choices++] == 'e';
            decide_so(imp, cond, taken);
        }
        refuse_branch(o, !taken,
                      tn_strf(n->ctx, "%s: %s, and the program was compiled for the %s branch",
                              n->text, types, branch_names[taken]));
        return !n->failed;
    }
    return true;
}

/* The call's results as the node's. */
static bool
return_joined(open_if *o, const tn_expr *all)
{
    onnx_node *n = o->n;
    for (uint32_t i = 0; i < n->n_out && !n->failed; i++) {
        if (!n->out[i])
            continue;
        onnx_value *a = o->v[0][i];
        const tn_expr **e = joined_elems(n, &o->f, a, o->v[1][i]), *y = onnx_tuple_get(n, all, i);
        tn_list known, outside = {0};
        if (e && !onnx_ret_elems(n, i, a->dtype, a->ndim, a->dims, e))
            return false;
        if (e)
            continue;
        for (uint32_t k = 0; k < o->dims[i].n; k++)
            outside = tn_list_append(n->ctx, outside, onnx_to_outside(&o->f, o->dims[i].at[k]));
        if (!n->failed && !tn_type_dims(y->type, &known))
            y = onnx_name_extents(n, y, outside);
        if (!onnx_ret_at(n, i, y))
            return false;
    }
    return !n->failed;
}

static tn_list
joined_lists(tn_ctx *ctx, tn_list a, tn_list b)
{
    for (uint32_t i = 0; i < b.n; i++)
        a = tn_list_append(ctx, a, b.at[i]);
    return a;
}

static bool
import_open_if(onnx_node *n, const Onnx__GraphProto *const *g)
{
    tn_ctx *ctx = n->ctx;
    open_if of = {.n = n, .g = g}, *o = &of;
    o->dims = TNB_NEW_N(n->imp->arena, tn_list, n->n_out + 1);
    onnx_function_begin(&o->f, n, "branch");
    if (!read_condition(o) || !import_branches(o) || !choose_branch(o))
        return false;
    for (uint32_t i = 0; i < n->n_out && !n->failed; i++)
        o->types = tn_list_append(ctx, o->types,
                                  joined_type(n, &o->f, o->out[0][i], o->out[1][i], &o->dims[i]));
    if (n->failed)
        return false;
    o->params = joined_lists(ctx, joined_lists(ctx, o->params, o->f.symbols), o->f.params);
    o->args = joined_lists(ctx, joined_lists(ctx, o->args, o->f.symbol_args), o->f.args);
    return return_joined(o,
                         onnx_function_end(&o->f, o->params,
                                           onnx_if_sequence(&o->f, o->cond, o->seq[0], o->seq[1]),
                                           tn_ty_tuple_of(ctx, o->types), o->args));
}

static bool
import_if(onnx_node *n)
{
    const Onnx__GraphProto *g[2] = {onnx_attr_graph(n, "then_branch"),
                                    onnx_attr_graph(n, "else_branch")};
    onnx_value **v = TNB_NEW_N(n->imp->arena, onnx_value *, n->n_out + 1);
    int64_t cond;
    if (!g[0] || !g[1])
        return false;
    for (int k = 0; k < 2; k++)
        if (g[k]->n_output < n->n_out || g[k]->n_input)
            return onnx_fail(n, TNB_INVALID,
                             "the %s branch has %zu inputs and %zu outputs, expected none and %u",
                             k ? "else" : "then", g[k]->n_input, g[k]->n_output, n->n_out);
    if (!onnx_known(n, 0) || n->in[0]->n_elems != 1 || !tn_int_value(n->in[0]->elems[0], &cond))
        return import_open_if(n, g);
    if (!onnx_inline_graph(n, cond ? g[0] : g[1], NULL, 0, v, n->n_out))
        return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        onnx_ret_value(n, i, v[i]);
    return true;
}

/* ---- optional inputs of functions ---- */

/* Every value is a tensor that is there; what a call left out is not. */
static bool
import_has_element(onnx_node *n)
{
    return onnx_ret(n, onnx_scalar_int(n, TNB_B8, onnx_has(n, 0)));
}

static bool
import_get_element(onnx_node *n)
{
    if (n->n_out)
        onnx_ret_value(n, 0, n->in[0]);
    return true;
}

/* ---- what loops share ---- */

static onnx_value *
known_int(onnx_node *n, tnb_dtype d, int64_t v)
{
    onnx_value *r = onnx_value_new(n->imp, "");
    const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, 1);
    e[0] = tn_i64(n->ctx, v);
    r->elems = e;
    r->n_elems = 1;
    r->has_elems = true;
    r->dtype = d;
    return r;
}

static onnx_value *
tensor_value(onnx_node *n, const tn_expr *e)
{
    onnx_value *r = onnx_value_new(n->imp, "");
    r->expr = e;
    return r;
}

/* Results of all turns joined along a new axis, in reverse order if wanted. */
static const tn_expr *
stacked(onnx_node *n, const tn_expr **parts, uint32_t count, int64_t axis, bool reverse)
{
    const tn_expr **x = TNB_NEW_N(n->imp->arena, const tn_expr *, count + 1);
    int64_t rank = onnx_rank(n, parts[0]);
    if (rank < 0 || !onnx_axis(n, rank + 1, &axis))
        return tn_error_node(n->ctx);
    for (uint32_t i = 0; i < count; i++)
        x[i] = onnx_unsqueeze(n, parts[reverse ? count - 1 - i : i], &axis, 1);
    return onnx_concat(n, x, count, axis);
}

static onnx_value *
scalar_value(onnx_node *n, const tn_expr *e)
{
    onnx_value *r = known_int(n, TNB_I64, 0);
    const tn_expr **elems = TNB_NEW_N(n->imp->arena, const tn_expr *, 1);
    elems[0] = e;
    r->elems = elems;
    return r;
}

/* Nodes with sub-graphs and what functions hold, up to `most`. */
static uint64_t
count_nodes(onnx_import *imp, Onnx__NodeProto *const *nodes, size_t n, int depth, uint64_t most)
{
    uint64_t count = n;
    for (size_t i = 0; i < n && count < most; i++) {
        const Onnx__NodeProto *p = nodes[i];
        const Onnx__FunctionProto *f = onnx_find_function(imp, p);
        if (f && depth < ONNX_MAX_FUNCTION_DEPTH)
            count += count_nodes(imp, f->node, f->n_node, depth + 1, most - count);
        for (size_t k = 0; k < p->n_attribute && count < most; k++) {
            const Onnx__GraphProto *g = p->attribute[k]->g;
            if (g)
                count += count_nodes(imp, g->node, g->n_node, depth, most - count);
        }
    }
    return count < most ? count : most;
}

/* Whether all turns are written out; in loops that are themselves, so many times. */
static bool
is_short(onnx_node *n, const Onnx__GraphProto *body, int64_t turns)
{
    if (turns < 1 || turns > MAX_UNROLLED)
        return false;
    uint64_t copies = (uint64_t)turns * (n->imp->copies ? n->imp->copies : 1),
             most = MAX_UNROLLED_NODES / copies;
    return most && count_nodes(n->imp, body->node, body->n_node, 0, most + 1) <= most;
}

/* From here to the end nodes are imported `turns` times for each of the loops around. Gives what to end with. */
static uint32_t
begin_copies(onnx_node *n, int64_t turns)
{
    uint32_t before = n->imp->copies;
    uint64_t copies = (uint64_t)turns * (before ? before : 1);
    n->imp->copies = (uint32_t)(copies <= MAX_UNROLLED_NODES ? copies : MAX_UNROLLED_NODES + 1);
    return before;
}

/* ---- Loop ---- */

typedef struct general {
    onnx_node *n;
    const Onnx__GraphProto *body;
    uint32_t carried, rows;
    uint32_t *output; /* of the body, for each collected result that is used */
    int64_t before;   /* turns that were made before the loop */
} general;

/* Whether the value of input i decides a shape. */
static bool
decides_shape(const char *op, size_t i)
{
    static const struct {
        const char *op;
        unsigned inputs; /* bits */
    } table[] = {{"Loop", 1},
                 {"Reshape", 2},
                 {"Expand", 2},
                 {"Slice", 30},
                 {"Range", 7},
                 {"Tile", 2},
                 {"Pad", 2},
                 {"TopK", 2},
                 {"Split", 2},
                 {"OneHot", 2},
                 {"ConstantOfShape", 1},
                 {"CenterCropPad", 2},
                 {"Resize", 12},
                 {"AffineGrid", 2}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(op, table[k].op) == 0)
            return i < 8 && table[k].inputs & 1u << i;
    return false;
}

/* Names of a graph that decide shapes there or in graphs within, directly or through operators on
 * known elements. */
static void
find_deciding(onnx_node *n, const Onnx__GraphProto *g, tnb_strmap *names)
{
    for (size_t i = g->n_node; i-- > 0;) { /* from the last, so that users come before makers */
        const Onnx__NodeProto *p = g->node[i];
        bool other = false, wanted = false;
        const char *op = p->op_type ? p->op_type : "";
        const onnx_op *row = onnx_find_op(p->domain, op, n->imp->opset, &other);
        for (size_t k = 0; k < p->n_attribute; k++)
            if (p->attribute[k]->g)
                find_deciding(n, p->attribute[k]->g, names);
        for (size_t k = 0; k < p->n_output && row && row->fold; k++)
            wanted |= p->output[k] && tnb_strmap_has(names, p->output[k]);
        uint32_t folded = wanted ? onnx_folded_inputs(row, (uint32_t)p->n_input) : 0;
        for (size_t k = 0; k < p->n_input; k++)
            if (p->input[k] && p->input[k][0] && (k < folded || decides_shape(op, k)))
                tnb_strmap_set(names, p->input[k], names);
    }
}

/* Numbers of outer graphs that decide shapes in a loop's body are read out here: once, and the same
 * in every turn. */
static void
read_for_body(onnx_node *n, const Onnx__GraphProto *g)
{
    tnb_strmap names;
    tnb_strmap_init(&names, n->imp->arena);
    find_deciding(n, g, &names);
    for (uint32_t i = 0; i < names.n && !n->failed; i++) {
        onnx_value *v = onnx_find_value(n->imp, names.at[i].key);
        if (v && v != &n->imp->absent && !v->init)
            (void)onnx_value_read(n, v);
    }
}

/* The number of turns as a scalar: known, or read from the tensor. NULL: no limit (or an error). */
static const tn_expr *
turns_of(onnx_node *n)
{
    tn_ctx *ctx = n->ctx;
    if (!onnx_has(n, 0))
        return NULL;
    if (!onnx_known(n, 0) && !onnx_read(n, 0)) {
        if (!n->failed)
            onnx_fail(n, TNB_TYPE,
                      "the number of iterations has the type %s, expected int64 without axes",
                      onnx_type_text(n->imp, onnx_in(n, 0)->type));
        return NULL;
    }
    if (n->in[0]->n_elems == 1 && !tnb_dtype_is_float(n->in[0]->dtype))
        return onnx_simplify(n, tn_max(ctx, tn_cast_to(ctx, TNB_I64, n->in[0]->elems[0]),
                                       tn_i64(ctx, 0)));
    onnx_fail(n, TNB_SHAPE,
              "the number of iterations has %u entries of dtype %s, expected one int64",
              n->in[0]->n_elems, tnb_dtype_print(n->in[0]->dtype).s);
    return NULL;
}

static const tn_expr *
first_condition(onnx_node *n, bool tensor)
{
    if (!onnx_has(n, 1))
        return tensor ? onnx_scalar_int(n, TNB_B8, 1) : tn_i64(n->ctx, 1);
    if (!tensor && onnx_known(n, 1) && n->in[1]->n_elems == 1)
        return tn_cast_to(n->ctx, TNB_I64, n->in[1]->elems[0]);
    return onnx_reshape(n, onnx_in(n, 1), NULL, 0);
}

static bool
loop_turn(void *user, onnx_region *r, const tn_expr *i, const tn_expr *count,
          onnx_value *const *carried, onnx_value **next, onnx_value **cond, onnx_value **y)
{
    const general *g = user;
    onnx_node *n = g->n;
    uint32_t total = (uint32_t)g->body->n_output;
    onnx_value **args = TNB_NEW_N(n->imp->arena, onnx_value *, g->carried + 2),
               **outs = TNB_NEW_N(n->imp->arena, onnx_value *, total + 1);
    (void)r;
    (void)count;
    args[0] = scalar_value(n, g->before ? tn_add(n->ctx, i, tn_i64(n->ctx, g->before)) : i);
    args[1] = known_int(n, TNB_B8, 1);
    memcpy(args + 2, carried, g->carried * sizeof *args);
    if (!onnx_inline_graph(n, g->body, args, g->carried + 2, outs, total))
        return false;
    *cond = outs[0];
    memcpy(next, outs + 1, g->carried * sizeof *next);
    for (uint32_t k = 0; k < g->rows; k++)
        y[k] = outs[g->output[k]];
    return true;
}

/* The program stops where the loop makes no turn. *count (NULL: no limit) becomes one that is 1 or more. */
static bool
demand_turn(onnx_node *n, const tn_expr **count)
{
    tn_ctx *ctx = n->ctx;
    int64_t v;
    const tn_expr *ok = NULL, *cond = NULL;
    if (*count && (!tn_int_value(*count, &v) || v < 1))
        ok = tn_ge_of(ctx, *count, tn_i64(ctx, 1));
    if (onnx_has(n, 1)) {
        if (!onnx_read(n, 1) || n->in[1]->n_elems != 1)
            return n->failed ? false
                             : onnx_fail(n, TNB_TYPE, "the condition is no bool without axes");
        cond = onnx_simplify(n, n->in[1]->elems[0]);
        ok = tn_int_value(cond, &v) && v ? ok : tn_and(ctx, ok, onnx_truth(n, cond));
    }
    if (!ok)
        return true;
    onnx_demand d = {
        ok, NULL, 0,
        "the loop has no iteration, and the program was compiled for what an iteration makes "
        "of its carried values"};
    tnb_report(tn_diags(ctx), TNB_WARNING, TNB_UNSUPPORTED,
               (tnb_place){.file = n->imp->model->file, .node = n->text},
               "the program stops where the loop has no iteration: the first one gives its carried "
               "values other ranks");
    const tn_expr **bound = *count && !tn_int_value(*count, &v) ? count : &cond;
    if (!*bound) /* a number below 1 */
        return onnx_fail(n, TNB_UNSUPPORTED, "%s", d.text);
    return onnx_bind(n, bound, 1, &d);
}

/* The first turn gives carried values the ranks that they keep from then on: it is written out, the rest is a loop. */
static bool
first_turn_apart(general *g, const onnx_loop *l, const tn_expr **v, const tn_expr **y)
{
    onnx_node *n = g->n, rest_node = *n;
    tn_ctx *ctx = n->ctx;
    uint32_t total = (uint32_t)g->body->n_output;
    int64_t number, cond = 1;
    onnx_value **args = TNB_NEW_N(n->imp->arena, onnx_value *, g->carried + 2),
               **outs = TNB_NEW_N(n->imp->arena, onnx_value *, total + 1);
    onnx_loop rest = *l;
    if (!demand_turn(n, &rest.count))
        return false;
    args[0] = known_int(n, TNB_I64, 0);
    args[1] = known_int(n, TNB_B8, 1);
    memcpy(args + 2, n->in + 2, g->carried * sizeof *args);
    if (!onnx_inline_graph(n, g->body, args, g->carried + 2, outs, total))
        return false;
    bool known = onnx_value_known(n, outs[0]) && outs[0]->n_elems == 1 &&
                 tn_int_value(onnx_simplify(n, outs[0]->elems[0]), &cond);
    if (rest.count)
        rest.count = tn_int_value(rest.count, &number)
                         ? tn_i64(ctx, number - 1)
                         : onnx_simplify(n, tn_sub(ctx, rest.count, tn_i64(ctx, 1)));
    if (known && !cond)
        rest.count = tn_i64(ctx, 0);
    rest_node.in = TNB_NEW_N(n->imp->arena, onnx_value *, g->carried + 3);
    memcpy(rest_node.in + 1, outs, (g->carried + 1) * sizeof *outs);
    rest_node.n_in = g->carried + 2;
    rest.cond_known = known;
    rest.start = outs + 1;
    rest.changes_rank = NULL;
    g->n = &rest_node;
    g->before = 1;
    bool made = onnx_make_loop(&rest_node, &rest, v, y);
    g->n = n;
    n->failed |= rest_node.failed;
    for (uint32_t k = 0; k < g->rows && made && !n->failed; k++) {
        const int64_t zero = 0;
        const tn_expr *both[2] = {onnx_unsqueeze(n, onnx_value_expr(n, outs[g->output[k]]), &zero,
                                                 1),
                                  y[k]};
        y[k] = onnx_concat(n, both, 2, 0);
    }
    return made && !n->failed;
}

static bool
general_loop(onnx_node *n, const Onnx__GraphProto *body, uint32_t carried)
{
    bool changes_rank = false;
    general g = {.n = n, .body = body, .carried = carried};
    int64_t cond = 1, number;
    read_for_body(n, body);
    g.output = TNB_NEW_N(n->imp->arena, uint32_t, n->n_out + 1);
    uint32_t *place = TNB_NEW_N(n->imp->arena, uint32_t, n->n_out + 1);
    const Onnx__ValueInfoProto **types =
        TNB_NEW_N(n->imp->arena, const Onnx__ValueInfoProto *, n->n_out + 1);
    for (uint32_t i = carried; i < n->n_out; i++)
        if (n->out[i]) {
            place[g.rows] = i;
            types[g.rows] = body->output[1 + i];
            g.output[g.rows++] = 1 + i;
        }
    onnx_loop l = {.count = turns_of(n),
                   .cond_start = first_condition,
                   .n_carries = carried,
                   .n_rows = g.rows,
                   .start = n->in + 2,
                   .rows = TNB_NEW_N(n->imp->arena, onnx_loop_rows, g.rows + 1),
                   .row_types = types,
                   .body = loop_turn,
                   .user = &g,
                   .changes_rank = &changes_rank};
    l.cond_known = !onnx_has(n, 1) || (onnx_known(n, 1) && n->in[1]->n_elems == 1 &&
                                       tn_int_value(n->in[1]->elems[0], &cond));
    if (l.cond_known && !cond)
        l.count = tn_i64(n->ctx, 0);
    if (n->failed || (l.count && tn_int_value(l.count, &number) && number <= 0 && !g.rows))
        for (uint32_t i = 0; i < carried && !n->failed; i++)
            onnx_ret_value(n, i, n->in[2 + i]);
    if (n->failed || (l.count && tn_int_value(l.count, &number) && number <= 0 && !g.rows))
        return !n->failed;
    const tn_expr **v = TNB_NEW_N(n->imp->arena, const tn_expr *, carried + 1),
                  **y = TNB_NEW_N(n->imp->arena, const tn_expr *, g.rows + 1);
    uint32_t before = tnb_diags_count(tn_diags(n->ctx));
    bool made = onnx_make_loop(n, &l, v, y);
    if (!made && changes_rank) {
        tnb_diags_cut(tn_diags(n->ctx), before);
        n->failed = false;
        made = first_turn_apart(&g, &l, v, y);
    }
    if (!made) { /* as a loop written out it may work */
        (void)onnx_blame_inputs(n, 0);
        (void)onnx_blame_inputs(n, 1);
        return false;
    }
    for (uint32_t i = 0; i < carried && i < n->n_out; i++)
        if (n->out[i] && !onnx_ret_at(n, i, v[i]))
            return false;
    for (uint32_t k = 0; k < g.rows; k++)
        if (!onnx_ret_at(n, place[k], y[k]))
            return false;
    return true;
}

/* Written out. False, and nothing recorded, when the condition turns out not to be known. */
static bool
unrolled_loop(onnx_node *n, const Onnx__GraphProto *body, uint32_t carried, int64_t count)
{
    uint32_t total = (uint32_t)body->n_output, scans = total - 1 - carried;
    int64_t cond = 1, turn = 0;
    onnx_value **args = TNB_NEW_N(n->imp->arena, onnx_value *, carried + 2);
    const tn_expr ***parts = TNB_NEW_N(n->imp->arena, const tn_expr **, scans + 1);
    for (uint32_t i = 0; i < carried; i++)
        args[2 + i] = n->in[2 + i];
    for (uint32_t i = 0; i < scans; i++)
        parts[i] = TNB_NEW_N(n->imp->arena, const tn_expr *, (size_t)count);
    for (; turn < count && cond; turn++) {
        onnx_value **outs = TNB_NEW_N(n->imp->arena, onnx_value *, total + 1);
        args[0] = known_int(n, TNB_I64, turn);
        args[1] = known_int(n, TNB_B8, 1);
        if (!onnx_inline_graph(n, body, args, carried + 2, outs, total) ||
            !onnx_value_known(n, outs[0]) || outs[0]->n_elems != 1 ||
            !tn_int_value(outs[0]->elems[0], &cond))
            return false;
        for (uint32_t i = 0; i < carried; i++)
            args[2 + i] = outs[1 + i];
        for (uint32_t i = 0; i < scans; i++)
            if (carried + i < n->n_out && n->out[carried + i])
                parts[i][turn] = onnx_value_expr(n, outs[1 + carried + i]);
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (i < carried)
            onnx_ret_value(n, i, args[2 + i]);
        else if (n->out[i] &&
                 !onnx_ret_at(n, i, stacked(n, parts[i - carried], (uint32_t)turn, 0, false)))
            return false;
    }
    return true;
}

static bool
import_loop(onnx_node *n)
{
    const Onnx__GraphProto *body = onnx_attr_graph(n, "body");
    int64_t count = 0, cond = 1;
    if (!body)
        return false;
    uint32_t carried = n->n_in > 2 ? n->n_in - 2 : 0, total = (uint32_t)body->n_output;
    if (body->n_input != 2 + (size_t)carried || total < 1 + carried || n->n_out > total - 1)
        return onnx_fail(n, TNB_INVALID,
                         "the body has %zu inputs and %u outputs, which does not fit %u carried "
                         "values and %u outputs",
                         body->n_input, total, carried, n->n_out);
    for (uint32_t i = 0; i < carried; i++)
        if (!n->in[2 + i])
            return onnx_fail(n, TNB_INVALID, "input %u is left out, but the body needs it", 2 + i);
    bool counted =
        onnx_known(n, 0) && n->in[0]->n_elems == 1 && tn_int_value(n->in[0]->elems[0], &count);
    bool starts = !onnx_has(n, 1) || (onnx_known(n, 1) && n->in[1]->n_elems == 1 &&
                                      tn_int_value(n->in[1]->elems[0], &cond) && cond);
    if (counted && starts && is_short(n, body, count) &&
        !tnb_ptrmap_has(&n->imp->rolled, onnx_loop_key(n))) {
        uint32_t before = begin_copies(n, count);
        bool done = unrolled_loop(n, body, carried, count);
        n->imp->copies = before;
        if (done)
            return true;
        if (n->failed)
            return false;
        tnb_ptrmap_set(&n->imp->rolled, onnx_loop_key(n), n->imp);
    }
    return general_loop(n, body, carried);
}

/* ---- Scan ---- */

typedef struct scan {
    const Onnx__GraphProto *body;
    uint32_t states, inputs, outputs;
    int64_t in_axes[64], in_dirs[64], out_axes[64], out_dirs[64], steps; /* -1: not a number */
    const tn_expr *count;
    /* of a general loop */
    onnx_node *n;
    onnx_value *x[64];
} scan;

/* A turn of a general loop. */
static bool
scan_turn(void *user, onnx_region *r, const tn_expr *i, const tn_expr *count,
          onnx_value *const *carried, onnx_value **next, onnx_value **cond, onnx_value **y)
{
    const scan *s = user;
    onnx_node *n = s->n;
    tn_ctx *ctx = n->ctx;
    uint32_t total = s->states + s->outputs;
    onnx_value **args = TNB_NEW_N(n->imp->arena, onnx_value *, s->states + s->inputs + 1),
               **outs = TNB_NEW_N(n->imp->arena, onnx_value *, total + 1);
    (void)cond;
    memcpy(args, carried, s->states * sizeof *args);
    for (uint32_t k = 0; k < s->inputs; k++) {
        const tn_expr *x = onnx_value_inside(r, s->x[k])->expr,
                      *at = s->in_dirs[k] ? tn_sub(ctx, tn_sub(ctx, count, tn_i64(ctx, 1)), i) : i;
        args[s->states + k] =
            tensor_value(n, onnx_emit(n, "take",
                                      tn_dictv(ctx, "axis", tn_i64(ctx, s->in_axes[k]), NULL), x,
                                      at, NULL));
    }
    if (n->failed || !onnx_inline_graph(n, s->body, args, s->states + s->inputs, outs, total))
        return false;
    memcpy(next, outs, s->states * sizeof *next);
    memcpy(y, outs + s->states, s->outputs * sizeof *y);
    return true;
}

/* The first axis becomes axis `to`. */
static const tn_expr *
first_axis_to(onnx_node *n, const tn_expr *x, int64_t to)
{
    int64_t perm[ONNX_MAX_DIMS], rank = onnx_rank(n, x), at = 1;
    if (rank < 0 || !onnx_axis(n, rank, &to))
        return tn_error_node(n->ctx);
    for (int64_t i = 0; i < rank; i++)
        perm[i] = i == to ? 0 : at++;
    return to == 0 ? x : onnx_permute(n, x, perm, (uint32_t)rank);
}

static bool
general_scan(onnx_node *n, scan *s, onnx_value **state, const tn_expr *const *x,
             const tn_expr **outs)
{
    const tn_expr **last = TNB_NEW_N(n->imp->arena, const tn_expr *, s->states + 1);
    onnx_loop_rows *rows = TNB_NEW_N(n->imp->arena, onnx_loop_rows, s->outputs + 1);
    for (uint32_t i = 0; i < s->outputs; i++)
        rows[i].reverse = s->out_dirs[i] != 0;
    s->n = n;
    read_for_body(n, s->body);
    for (uint32_t i = 0; i < s->inputs; i++)
        s->x[i] = tensor_value(n, x[i]);
    onnx_loop l = {.count = s->count,
                   .cond_known = true,
                   .cond_start = first_condition,
                   .n_carries = s->states,
                   .n_rows = s->outputs,
                   .start = state,
                   .rows = rows,
                   .row_types = (const Onnx__ValueInfoProto *const *)s->body->output + s->states,
                   .body = scan_turn,
                   .user = s};
    if (!onnx_make_loop(n, &l, last, outs))
        return false;
    for (uint32_t i = 0; i < s->states; i++)
        state[i] = tensor_value(n, last[i]);
    for (uint32_t i = 0; i < s->outputs; i++)
        outs[i] = first_axis_to(n, outs[i], s->out_axes[i]);
    return !n->failed;
}

/* What a turn makes of a state: it keeps the extents that it had. */
static onnx_value *
kept_state(onnx_node *n, onnx_value *was, onnx_value *now, uint32_t index)
{
    if (onnx_value_known(n, was) && onnx_value_known(n, now) && was->ndim == now->ndim &&
        !memcmp(was->dims, now->dims, (size_t)was->ndim * sizeof *was->dims))
        return now;
    tn_list dims;
    const tn_expr *from = onnx_value_expr(n, was), *to = onnx_value_expr(n, now);
    if (n->failed || !from->type || !tn_type_dims(from->type, &dims) ||
        !tn_type_dims(to->type, &(tn_list){0}))
        return now;
    const tn_expr *kept = onnx_fix_extents(
        n, to, dims,
        tn_strf(n->ctx, "state %u after an iteration, which has to keep its extents,", index));
    return kept == to || n->failed ? now : tensor_value(n, kept);
}

static bool
unrolled_scan(onnx_node *n, scan *s, onnx_value **state, const tn_expr *const *x,
              const tn_expr **outs)
{
    uint32_t total = s->states + s->outputs;
    const tn_expr ***parts = TNB_NEW_N(n->imp->arena, const tn_expr **, s->outputs + 1);
    onnx_value **args = TNB_NEW_N(n->imp->arena, onnx_value *, s->states + s->inputs + 1);
    for (uint32_t i = 0; i < s->outputs; i++)
        parts[i] = TNB_NEW_N(n->imp->arena, const tn_expr *, (size_t)s->steps + 1);
    for (int64_t t = 0; t < s->steps; t++) {
        onnx_value **got = TNB_NEW_N(n->imp->arena, onnx_value *, total + 1);
        for (uint32_t i = 0; i < s->states; i++)
            args[i] = state[i];
        for (uint32_t i = 0; i < s->inputs; i++) {
            int64_t at = s->in_dirs[i] ? s->steps - 1 - t : t, axis = s->in_axes[i];
            const tn_expr *slice = onnx_slice_ints(n, x[i], axis, at, at + 1);
            args[s->states + i] = tensor_value(n, onnx_squeeze(n, slice, &axis, 1));
        }
        if (n->failed || !onnx_inline_graph(n, s->body, args, s->states + s->inputs, got, total))
            return false;
        for (uint32_t i = 0; i < s->states && !n->failed; i++)
            state[i] = kept_state(n, state[i], got[i], i);
        for (uint32_t i = 0; i < s->outputs; i++)
            parts[i][t] = onnx_value_expr(n, got[s->states + i]);
    }
    for (uint32_t i = 0; i < s->outputs; i++)
        outs[i] = stacked(n, parts[i], (uint32_t)s->steps, s->out_axes[i], s->out_dirs[i] != 0);
    return !n->failed;
}

/* All turns over x[0..inputs): states are updated in place, outs gets the collected results. */
static bool
run_scan(onnx_node *n, scan *s, onnx_value **state, const tn_expr *const *x, const tn_expr **outs)
{
    if (s->steps < 0 || !is_short(n, s->body, s->steps))
        return general_scan(n, s, state, x, outs);
    uint32_t before = begin_copies(n, s->steps);
    bool done = unrolled_scan(n, s, state, x, outs);
    n->imp->copies = before;
    return done;
}

static bool
scan_list(onnx_node *n, const char *name, int64_t *out, uint32_t want)
{
    int have = onnx_attr_ints(n, name, out, 64);
    if (have >= 0 && (uint32_t)have != want)
        return onnx_fail(n, TNB_INVALID, "attribute '%s' has %d entries, expected %u", name, have,
                         want);
    return !n->failed;
}

static bool
read_scan(onnx_node *n, scan *s, uint32_t first)
{
    s->body = onnx_attr_graph(n, "body");
    int64_t inputs = onnx_attr_int(n, "num_scan_inputs", 0),
            available = (int64_t)n->n_in - (int64_t)first;
    if (!s->body)
        return false;
    if (inputs < 1 || inputs > 64 || inputs > available)
        return onnx_fail(n, TNB_INVALID,
                         "attribute 'num_scan_inputs' is %" PRId64 ", but the node has %" PRId64
                         " inputs",
                         inputs, available);
    s->inputs = (uint32_t)inputs;
    s->states = (uint32_t)available - s->inputs;
    if (s->body->n_output < s->states || s->body->n_output - s->states > 64 ||
        s->body->n_input != s->states + s->inputs)
        return onnx_fail(
            n, TNB_INVALID,
            "the body has %zu inputs and %zu outputs, expected %u inputs and at least %u outputs",
            s->body->n_input, s->body->n_output, s->states + s->inputs, s->states);
    s->outputs = (uint32_t)s->body->n_output - s->states;
    return scan_list(n, n->version < 9 ? "directions" : "scan_input_directions", s->in_dirs,
                     s->inputs) &&
           scan_list(n, "scan_input_axes", s->in_axes, s->inputs) &&
           scan_list(n, "scan_output_axes", s->out_axes, s->outputs) &&
           scan_list(n, "scan_output_directions", s->out_dirs, s->outputs);
}

/* The number of turns, the same along all inputs. */
static bool
scan_steps(onnx_node *n, scan *s, const tn_expr **x)
{
    for (uint32_t i = 0; i < s->inputs; i++) {
        tn_list dims;
        int64_t a, b;
        if (!onnx_dims(n, x[i], &dims))
            return false;
        if (s->in_axes[i] >= (int64_t)dims.n)
            return onnx_fail(n, TNB_SHAPE, "scan input %u has rank %u, expected an axis %" PRId64,
                             i, dims.n, s->in_axes[i]);
        const tn_expr *d = dims.at[s->in_axes[i]];
        if (i == 0 || !tn_is(s->count, TN_KIND_INT_IMM))
            s->count = i == 0 || tn_is(d, TN_KIND_INT_IMM) ? d : s->count;
        else if (tn_int_value(d, &a) && tn_int_value(s->count, &b) && a != b)
            return onnx_fail(n, TNB_SHAPE, "scan input 0 has %" PRId64 " steps, input %u %" PRId64,
                             b, i, a);
    }
    for (uint32_t i = 0; i < s->inputs; i++)
        x[i] = onnx_fix_extent(n, x[i], s->in_axes[i], s->count, "a scan input");
    if (!tn_int_value(s->count, &s->steps))
        s->steps = -1;
    return !n->failed;
}

static bool
import_scan(onnx_node *n)
{
    scan s = {0};
    const tn_expr *x[64], *outs[64];
    if (!read_scan(n, &s, 0))
        return false;
    onnx_value **state = TNB_NEW_N(n->imp->arena, onnx_value *, s.states + 1);
    for (uint32_t i = 0; i < s.states; i++)
        if (!(state[i] = n->in[i]))
            return onnx_fail(n, TNB_INVALID, "input %u is left out, but the body needs it", i);
    for (uint32_t i = 0; i < s.inputs; i++) {
        x[i] = onnx_in(n, s.states + i);
        if (!onnx_axis(n, onnx_rank(n, x[i]), &s.in_axes[i]))
            return false;
    }
    if (!scan_steps(n, &s, x) || !run_scan(n, &s, state, x, outs))
        return false;
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (i < s.states)
            onnx_ret_value(n, i, state[i]);
        else if (i - s.states < s.outputs && n->out[i] && !onnx_ret_at(n, i, outs[i - s.states]))
            return false;
    }
    return true;
}

/* Opset 8: a batch axis in front of everything, and optional lengths. */
static bool
import_scan_8(onnx_node *n)
{
    scan s = {0};
    const tn_expr *x[64], *outs[64];
    int64_t zero = 0;
    if (!read_scan(n, &s, 1))
        return false;
    if (onnx_has(n, 0))
        return onnx_fail(n, TNB_UNSUPPORTED, "sequence lengths of Scan are not supported");
    int64_t batch = onnx_dim(onnx_in(n, 1), 0);
    if (!n->failed && batch < 0)
        return onnx_unknown(n, "the batch has");
    if (n->failed || batch < 1 || batch > MAX_BATCH)
        return n->failed
                   ? false
                   : onnx_fail(n, TNB_UNSUPPORTED, "the batch is not a number up to %d", MAX_BATCH);
    const tn_expr ***all = TNB_NEW_N(n->imp->arena, const tn_expr **, s.states + s.outputs + 1);
    for (uint32_t i = 0; i < s.states + s.outputs; i++)
        all[i] = TNB_NEW_N(n->imp->arena, const tn_expr *, (size_t)batch);
    uint32_t before = begin_copies(n, batch);
    for (int64_t b = 0; b < batch; b++) {
        onnx_value **state = TNB_NEW_N(n->imp->arena, onnx_value *, s.states + 1);
        for (uint32_t i = 0; i < s.states + s.inputs; i++) {
            const tn_expr *one =
                onnx_squeeze(n, onnx_slice_ints(n, onnx_in(n, 1 + i), 0, b, b + 1), &zero, 1);
            if (i < s.states)
                state[i] = tensor_value(n, one);
            else
                x[i - s.states] = one;
        }
        if (n->failed || !scan_steps(n, &s, x) || !run_scan(n, &s, state, x, outs)) {
            n->imp->copies = before;
            return false;
        }
        for (uint32_t i = 0; i < s.states; i++)
            all[i][b] = onnx_value_expr(n, state[i]);
        for (uint32_t i = 0; i < s.outputs; i++)
            all[s.states + i][b] = outs[i];
    }
    n->imp->copies = before;
    for (uint32_t i = 0; i < n->n_out && i < s.states + s.outputs; i++)
        if (n->out[i] && !onnx_ret_at(n, i, stacked(n, all[i], (uint32_t)batch, 0, false)))
            return false;
    return true;
}

const onnx_op onnx_control_ops[] = {
    {"If", 1, 0, 1, 1, 1, -1, import_if, NULL, 0, NULL},
    {"Loop", 1, 0, 0, -1, 1, -1, import_loop, NULL, 0, NULL},
    {"OptionalGetElement", 15, 0, 1, 1, 1, 1, import_get_element, NULL, 0, NULL},
    {"OptionalHasElement", 15, 0, 0, 1, 1, 1, import_has_element, NULL, 0, NULL},
    {"Scan", 8, 8, 0, -1, 1, -1, import_scan_8, NULL, 0, NULL},
    {"Scan", 9, 0, 1, -1, 1, -1, import_scan, NULL, 0, NULL},
    {0},
};
