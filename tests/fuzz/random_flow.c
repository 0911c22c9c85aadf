/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs: branches, loops, calls of private and local functions, match_casts, calls that
 * compute in place. */
#include "random_graph.h"

#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

enum { MAX_FUNCTIONS = 12, MAX_NESTING = 2 };

static bool
is_float(const tn_expr *x)
{
    return tn_is(x->type, TN_KIND_TY_TENSOR) && tnb_dtype_is_float(tn_type_dtype(x->type));
}

static const tn_expr *
moderate(random_generator *g, const tn_expr *x)
{
    static const char *const ops[] = {"tanh", "sigmoid", "cos", "negative"};
    return tn_emit(g->b,
                   tn_call_opv(g->ctx, is_float(x) ? ops[random_below(&g->rnd, 4)] : "negative",
                               NULL, x, NULL),
                   "lv");
}

/* A value of the type of `like`: one that there is, or one made of it. */
static const tn_expr *
value_like(random_generator *g, const tn_expr *like)
{
    for (uint32_t i = g->n; i-- > 0 && random_chance(&g->rnd, 90);)
        if (g->values[i] != like && tn_type_equal(g->ctx, g->values[i]->type, like->type))
            return g->values[i];
    return moderate(g, like);
}

static const char *
add_function(random_generator *g, const char *hint, const tn_node *func)
{
    random_module *m = g->m;
    if (tn_is_error(func) || m->n == MAX_FUNCTIONS)
        return NULL;
    m->names[m->n] = tn_strf(g->ctx, "%s%u", hint, m->n);
    m->funcs[m->n] = func;
    return m->names[m->n++];
}

/* ---- private functions ---- */

void
random_call(random_generator *g)
{
    if (g->depth == MAX_NESTING || g->m->n == MAX_FUNCTIONS || g->n + 1 >= RANDOM_VALUES)
        return;
    random_generator f = *g;
    const tn_expr *args[3] = {g->first};
    uint32_t n = 1 + random_below(&g->rnd, 2);
    tn_list params = {0}, given = {0};
    f.b = tn_builder_new(g->ctx, NULL);
    f.n = 0;
    f.depth++;
    for (uint32_t i = 0; i < n; i++) {
        args[i] = i ? random_value(g) : g->first; /* the first defines the symbols */
        if (!random_is_plain(g, args[i]))
            args[i] = g->first;
        const tn_expr *p = tn_var_new(g->ctx, tn_strf(g->ctx, "p%u", i), args[i]->type);
        f.values[f.n++] = p;
        params = tn_list_append(g->ctx, params, p);
        given = tn_list_append(g->ctx, given, args[i]);
    }
    f.first = params.at[0];
    tn_builder_begin_function(f.b, params);
    tn_builder_begin_block(f.b, true);
    random_steps(&f, 1 + random_below(&f.rnd, 4));
    const tn_expr *last = f.values[f.n - 1];
    if (!tn_is(last, TN_KIND_DATAFLOW_VAR))
        last = moderate(&f, last);
    const tn_expr *out = tn_var_new(g->ctx, "gv", last->type);
    tn_emit_binding(f.b, tn_var_binding_of(g->ctx, out, last));
    tn_builder_end_block(f.b);
    const tn_expr *func = tn_builder_end_function(f.b, out, NULL, true, NULL);
    const tn_type *ret = tn_is_error(func) ? NULL : tn_as_function(func)->ret;
    const char *name = ret ? add_function(g, "called", tn_fresh_copy(g->ctx, func, NULL)) : NULL;
    g->rnd = f.rnd;
    if (name)
        random_keep(g, tn_call_of(g->ctx, tn_global_var_of(g->ctx, name), given, NULL, (tn_list){0},
                                  ret));
    tnb_diags_clear(tn_diags(g->ctx));
}

/* ---- in place ---- */

/* A program that adds one to all of a tensor of static extents; NULL: not of these. */
static const tn_node *
make_bump(random_generator *g, const tn_expr *x)
{
    tn_list dims;
    tnb_buf shape = {0}, at = {0}, text = {0};
    bool ok = is_float(x) && tn_type_dims(x->type, &dims) && dims.n > 0;
    for (uint32_t i = 0; ok && i < dims.n; i++) {
        int64_t v = 0;
        ok = tn_int_value(dims.at[i], &v);
        tnb_buf_printf(&shape, "T.int64(%lld), ", (long long)v);
        tnb_buf_printf(&at, "%si%u", i ? ", " : "", i);
    }
    if (ok) {
        const char *d = tnb_dtype_print(tn_type_dtype(x->type)).s;
        tnb_buf_printf(&text,
                       "@T.prim_func(private=True, s_tir=True)\n"
                       "def bump(x: T.Buffer((%s), \"%s\")):\n"
                       "    for %s in T.grid(%s):\n"
                       "        with T.sblock(\"bump\"):\n",
                       shape.s, d, at.s, shape.s);
        for (uint32_t i = 0; i < dims.n; i++)
            tnb_buf_printf(&text, "            v%u = T.axis.spatial(%s, i%u)\n", i,
                           tn_text(g->ctx, dims.at[i]), i);
        tnb_buf_puts(&text, "            x[");
        for (uint32_t i = 0; i < dims.n; i++)
            tnb_buf_printf(&text, "%sv%u", i ? ", " : "", i);
        tnb_buf_puts(&text, "] = x[");
        for (uint32_t i = 0; i < dims.n; i++)
            tnb_buf_printf(&text, "%sv%u", i ? ", " : "", i);
        tnb_buf_printf(&text, "] + T.%s(1)\n", d);
    }
    const tn_module *m =
        ok && text.s && !text.failed ? tn_read_module(g->ctx, "bump", text.s, text.n) : NULL;
    tnb_buf_free(&shape);
    tnb_buf_free(&at);
    tnb_buf_free(&text);
    return m ? tn_module_get(m, "bump") : NULL;
}

void
random_in_place(random_generator *g)
{
    const tn_expr *x = random_value(g);
    const tn_node *func = g->m->n < MAX_FUNCTIONS ? make_bump(g, x) : NULL;
    const char *name = func ? add_function(g, "bump", func) : NULL;
    if (!name || g->n + 2 >= RANDOM_VALUES)
        return;
    /* the memory that is overwritten is nobody else's, but may be read before */
    const tn_expr *own = moderate(g, x);
    if (random_chance(&g->rnd, 50))
        random_keep(g, tn_call_opv(g->ctx, "sigmoid", NULL, own, NULL));
    const tn_op *op = tn_find_op(tn_ctx_registry(g->ctx), "relax.call_tir_inplace", NULL);
    const tn_node *attrs =
        tn_dictv(g->ctx, "inplace_indices", tn_int_array(g->ctx, (int64_t[]){0}, 1), NULL);
    const tn_expr *args = tn_tuple_of(g->ctx, tn_listv(g->ctx, own, NULL));
    random_keep(g, tn_call_of(g->ctx, tn_op_ref_of(g->ctx, op),
                              tn_listv(g->ctx, tn_global_var_of(g->ctx, name), args, NULL), attrs,
                              tn_listv(g->ctx, own->type, NULL), NULL));
}

/* ---- match_casts ---- */

bool
random_is_plain(const random_generator *g, const tn_expr *value)
{
    tn_list used = tn_free_vars(g->ctx, value->type, false);
    for (uint32_t i = 0; i < used.n; i++)
        if (used.at[i] != g->symbols[0] && used.at[i] != g->symbols[1])
            return false;
    return true;
}

/* The value with one of its extents under a new name; its shape if `as_shape`. */
static void
rename_extent(random_generator *g, const tn_expr *x, tn_list dims, uint32_t axis, bool as_shape)
{
    const tn_expr *name = tn_var_dtype(g->ctx, "k", TNB_I64);
    dims = tn_list_with(g->ctx, dims, axis, name);
    if (as_shape) {
        const tn_expr *shape = tn_emit(g->b, tn_call_opv(g->ctx, "shape_of", NULL, x, NULL), "sh");
        const tn_expr *cast = tn_emit_match_cast(g->b, shape, tn_ty_shape_of(g->ctx, dims), "sh");
        if (!tn_is_error(cast))
            x = tn_call_opv(g->ctx, "reshape", NULL, x, cast, NULL);
        random_keep(g, x);
        return;
    }
    const tn_type *t = tn_ty_tensor_dims(g->ctx, dims, tn_type_dtype(x->type));
    x = tn_emit_match_cast(g->b, x, t, "lv");
    if (tn_is_error(x))
        tnb_diags_clear(tn_diags(g->ctx));
    else
        g->values[g->n++] = x;
}

void
random_match_cast(random_generator *g)
{
    const tn_expr *x = random_value(g);
    tn_list dims;
    int64_t v, count = 1;
    if (!tn_type_dims(x->type, &dims) || !dims.n || g->n + 3 >= RANDOM_VALUES)
        return;
    for (uint32_t i = 0; i < dims.n; i++)
        count = tn_int_value(dims.at[i], &v) && count <= 8 ? count * v : 9;
    if (count > 8 || random_chance(&g->rnd, 60)) {
        rename_extent(g, x, dims, random_below(&g->rnd, dims.n), random_chance(&g->rnd, 30));
        return;
    }
    /* indices of what is not zero: as many as there are */
    const tn_expr *found = tn_emit(g->b, tn_call_opv(g->ctx, "nonzero", NULL, x, NULL), "found");
    const tn_expr *two[2] = {tn_i64(g->ctx, dims.n), tn_i64(g->ctx, 0)};
    rename_extent(g, found, tn_list_of(g->ctx, two, 2), 1, false);
}

/* ---- branches ---- */

static const tn_expr *
truth(random_generator *g)
{
    const tn_expr *x = random_value(g);
    if (!is_float(x))
        return NULL;
    const tn_expr *sum = tn_emit(g->b, tn_call_opv(g->ctx, "sum", NULL, x, NULL), "sum");
    const tn_expr *zero = tn_scalar_constant(g->ctx, tn_type_dtype(x->type), 0);
    return tn_emit(g->b, tn_call_opv(g->ctx, "greater", NULL, sum, zero, NULL), "cond");
}

/* The body of a branch that gives something like `like`. */
static const tn_expr *
branch_body(random_generator *g, const tn_expr *like)
{
    uint32_t n = g->n;
    bool dataflow = random_chance(&g->rnd, 60);
    tn_builder_begin_function(g->b, (tn_list){0});
    tn_builder_begin_block(g->b, dataflow);
    g->depth++;
    random_steps(g, 1 + random_below(&g->rnd, 5));
    const tn_expr *out = value_like(g, like);
    if (tn_is(out, TN_KIND_DATAFLOW_VAR)) {
        const tn_expr *gv = tn_var_new(g->ctx, "gv", out->type);
        tn_emit_binding(g->b, tn_var_binding_of(g->ctx, gv, out));
        out = gv;
    }
    g->depth--;
    g->n = n;
    tn_builder_end_block(g->b);
    const tn_expr *f = tn_builder_end_function(g->b, out, NULL, true, NULL);
    return tn_is_error(f) ? f : tn_as_function(f)->body;
}

void
random_branch(random_generator *g)
{
    const tn_expr *like = random_value(g), *cond = truth(g);
    if (!cond)
        return;
    const tn_expr *a = branch_body(g, like), *b = branch_body(g, like);
    random_keep(g, tn_if_expr_of(g->ctx, cond, a, b));
}

/* ---- loops ---- */

void
random_loop(random_generator *g)
{
    tn_ctx *ctx = g->ctx;
    const tn_expr *x = random_value(g);
    if (g->symbols[0] || g->m->n == MAX_FUNCTIONS || !is_float(x) || !random_is_plain(g, x))
        return;
    random_generator f = *g;
    const tn_expr *i = tn_var_new(ctx, "i", tn_ty_tensor_dims(ctx, (tn_list){0}, TNB_I64));
    const tn_expr *p = tn_var_new(ctx, "x", x->type);
    uint32_t at = g->m->n; /* its place: steps inside may add functions */
    const char *name = add_function(g, "loop", p);
    f.b = tn_builder_new(ctx, NULL);
    f.n = 0;
    f.values[f.n++] = f.first = p;
    f.depth = MAX_NESTING;
    tn_builder_begin_function(f.b, tn_listv(ctx, i, p, NULL));
    tn_builder_begin_block(f.b, false);
    const tn_expr *end = tn_scalar_constant(ctx, TNB_I64, 1 + random_below(&f.rnd, 4));
    const tn_expr *more = tn_emit(f.b, tn_call_opv(ctx, "less", NULL, i, end, NULL), "more");
    tn_builder_begin_function(f.b, (tn_list){0});
    tn_builder_begin_block(f.b, false);
    random_steps(&f, 1 + random_below(&f.rnd, 4));
    const tn_expr *y = value_like(&f, p);
    const tn_expr *one = tn_scalar_constant(ctx, TNB_I64, 1);
    const tn_expr *next = tn_emit(f.b, tn_call_opv(ctx, "add", NULL, i, one, NULL), "next");
    const tn_expr *again =
        tn_emit(f.b,
                tn_call_of(ctx, tn_global_var_of(ctx, name), tn_listv(ctx, next, y, NULL), NULL,
                           (tn_list){0}, x->type),
                "again");
    tn_builder_end_block(f.b);
    const tn_expr *yes = tn_builder_end_function(f.b, again, NULL, true, NULL);
    const tn_expr *no = tn_seq_expr_of(ctx, (tn_list){0}, p);
    const tn_expr *r =
        tn_is_error(yes)
            ? yes
            : tn_emit(f.b, tn_if_expr_of(ctx, more, tn_as_function(yes)->body, no), "r");
    tn_builder_end_block(f.b);
    const tn_expr *func = tn_builder_end_function(f.b, r, x->type, true, NULL);
    g->rnd = f.rnd;
    if (tn_is_error(func)) { /* a step that did not fit: a loop that ends at once */
        tnb_diags_clear(tn_diags(ctx));
        func = tn_function_of(ctx, tn_listv(ctx, i, p, NULL), p, x->type, true, NULL);
    }
    g->m->funcs[at] = func;
    random_keep(g, tn_call_of(ctx, tn_global_var_of(ctx, name),
                              tn_listv(ctx, tn_scalar_constant(ctx, TNB_I64, 0), x, NULL), NULL,
                              (tn_list){0}, x->type));
}

/* ---- local functions ---- */

void
random_local_function(random_generator *g)
{
    const tn_expr *x = random_value(g);
    uint32_t n = g->n;
    if (g->symbols[0] || n + 1 >= RANDOM_VALUES || !random_is_plain(g, x))
        return;
    const tn_expr *p = tn_var_new(g->ctx, "p", x->type);
    tn_builder_begin_function(g->b, tn_listv(g->ctx, p, NULL));
    tn_builder_begin_block(g->b, false);
    g->depth++;
    g->values[g->n++] = p; /* and what is outside, which it captures */
    random_steps(g, 1 + random_below(&g->rnd, 4));
    const tn_expr *out = g->values[g->n - 1];
    g->depth--;
    g->n = n;
    tn_builder_end_block(g->b);
    const tn_expr *f = tn_builder_end_function(g->b, out, NULL, true, NULL);
    if (tn_is_error(f))
        return;
    const tn_expr *local = tn_var_new(g->ctx, "local", f->type);
    tn_emit_binding(g->b, tn_var_binding_of(g->ctx, local, f));
    random_keep(g, tn_call_of(g->ctx, local, tn_listv(g->ctx, x, NULL), NULL, (tn_list){0}, NULL));
}
