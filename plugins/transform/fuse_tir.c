/* SPDX-License-Identifier: Apache-2.0 */
/* FuseTIR: turns each Primitive function (made by FuseOps) into one PrimFunc that holds the bodies
 * of its callees.
 *
 *     @R.function(private=True)
 *     def fused_add_relu(x, y):                      # Primitive
 *         lv = R.call_tir(cls.add, (x, y))
 *         gv = R.call_tir(cls.relu, (lv,))
 *  -> @T.prim_func(private=True)
 *     def fused_add_relu(x, y, p_output0):
 *         T_add_intermediate = T.sblock_alloc_buffer(...)
 *         ... block of add ... block of relu ...
 *
 * and its call sites to R.call_tir. Needs Primitive functions of call_tir bindings, tuples and
 * tuple-gets only; one with a tensor of unknown extents stays as it is; functions that are no longer reachable from a public one are removed, and so are
 * tensor parameters of private functions that nothing reads. Keeps the meaning bit by bit. Cases: tests/pass/FuseTIR.
 */
#include "transform.h"

#include "tenon/base/num.h"
#include "tenon/core/arith.h"
#include "tenon/core/builder.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

/* A value inside a Primitive function: a buffer, a scalar, a shape, or a tuple of these. */
typedef struct value {
    const tn_node *buffer; /* tensor */
    const tn_expr *scalar; /* scalar or ShapeExpr */
    struct value *fields;  /* tuple */
    uint32_t n;
} value;

typedef struct fusion {
    tn_ctx *ctx;
    tnb_arena *arena;
    const tn_module *m;
    const char *name;
    tnb_ptrmap values; /* Relax variable -> value */
    TNB_VEC(const tn_node *) params;
    TNB_VEC(const tn_node *) buffers;
    TNB_VEC(const tn_node *) allocs;
    TNB_VEC(const tn_node *) stmts;
    TNB_VEC(const tn_node *) written; /* buffers that a call in place writes */
    tnb_strmap buffer_names, block_names;
    tnb_ptrmap bound;   /* Relax variable -> what it is bound to */
    tnb_ptrmap outputs; /* Relax variable -> value made for an output beforehand */
    tnb_ptrmap places;  /* buffer or scalar of a parameter -> its number + 1 */
    bool failed;
} fusion;

static void
fail(fusion *f, tn_loc loc, const char *what)
{
    if (!f->failed)
        tn_error(f->ctx, loc, TNB_UNSUPPORTED, "FuseTIR: function '%s': %s", f->name, what);
    f->failed = true;
}

/* `used` has, beside each name, the last number that was taken for it plus 1, so that a name that
 * comes often does not count from the start each time. */
static const char *
unique_name(fusion *f, tnb_strmap *used, const char *name)
{
    int64_t taken = (int64_t)(uintptr_t)tnb_strmap_get(used, name) - 1;
    if (taken < 0) {
        tnb_strmap_set(used, name, (const void *)(uintptr_t)1);
        return name;
    }
    /* a name that ends in a number counts on from there */
    size_t base = strlen(name);
    while (base && name[base - 1] >= '0' && name[base - 1] <= '9')
        base--;
    int64_t k = 0;
    if (!tnb_read_i64(name + base, strlen(name + base), &k) || k < 0 || k > INT32_MAX)
        base = strlen(name), k = 0;
    k = taken > k ? taken : k;
    while (true) {
        const char *s = tn_strf(f->ctx, "%.*s%lld", (int)base, name, (long long)++k);
        if (!tnb_strmap_has(used, s)) {
            tnb_strmap_set(used, s, (const void *)(uintptr_t)1);
            tnb_strmap_set(used, name, (const void *)(uintptr_t)(k + 1));
            return s;
        }
    }
}

/* ---- parameters ---- */

static const tn_node *
new_buffer(fusion *f, const char *name, const tn_type *type, tn_loc loc)
{
    tn_list dims;
    if (!tn_is(type, TN_KIND_TY_TENSOR) || !tn_type_dims(type, &dims)) {
        fail(f, loc, "a tensor whose shape is not known cannot be fused");
        return NULL;
    }
    return tn_buffer_new(f->ctx, unique_name(f, &f->buffer_names, name), dims, tn_type_dtype(type),
                         NULL);
}

static void
add_buffer_param(fusion *f, const tn_node *buffer)
{
    const char *name = buffer ? ((const tn_buffer *)buffer)->name : "p";
    TNB_PUSH(f->arena, f->params, tn_var_dtype(f->ctx, name, TNB_DTYPE(TNB_HANDLE, 64)));
    TNB_PUSH(f->arena, f->buffers, buffer);
    if (buffer && !tnb_ptrmap_has(&f->places, buffer))
        tnb_ptrmap_set(&f->places, buffer, (const void *)(uintptr_t)f->params.n);
}

static bool
has_param(const fusion *f, const tn_expr *var)
{
    return tnb_ptrmap_has(&f->places, var);
}

static void
add_scalar_param(fusion *f, const tn_expr *var)
{
    TNB_PUSH(f->arena, f->params, var);
    tnb_ptrmap_set(&f->places, var, (const void *)(uintptr_t)f->params.n);
    TNB_PUSH(f->arena, f->buffers, NULL);
}

/* Tensors come first, as upstream orders them after sorting scalars to the end: two rounds,
 * `scalars` says which. */
static value
declare_param(fusion *f, const char *name, const tn_expr *var, const tn_type *type, bool scalars,
              tn_loc loc)
{
    value v = {0};
    const tn_ty_tuple *tuple = tn_as_ty_tuple(type);
    if (tuple) {
        v.n = tuple->fields.n;
        v.fields = TNB_NEW_N(f->arena, value, v.n);
        for (uint32_t i = 0; i < v.n; i++)
            v.fields[i] = declare_param(f, tn_strf(f->ctx, "%s_%u", name, i), NULL,
                                        tuple->fields.at[i], scalars, loc);
        return v;
    }
    if (tn_is(type, TN_KIND_TY_TENSOR)) {
        if (!scalars) {
            v.buffer = new_buffer(f, name, type, loc);
            add_buffer_param(f, v.buffer);
        }
    } else if (tn_is(type, TN_KIND_TY_PRIM)) {
        v.scalar = var ? var : tn_var_new(f->ctx, name, type);
        if (scalars)
            add_scalar_param(f, v.scalar);
    } else if (tn_is(type, TN_KIND_TY_SHAPE)) {
        tn_list dims;
        if (!tn_type_dims(type, &dims)) {
            fail(f, loc, "a shape parameter whose extents are not known cannot be fused");
            return v;
        }
        v.scalar = tn_shape_expr_of(f->ctx, dims);
        /* One parameter an extent, as calls bring them; what is known already is not read. */
        for (uint32_t i = 0; scalars && i < dims.n; i++) {
            const tn_expr *dim = dims.at[i];
            if (!tn_is_var(dim) || has_param(f, dim))
                dim = tn_var_new(f->ctx, tn_strf(f->ctx, "%s_%u", name, i), dim->type);
            add_scalar_param(f, dim);
        }
    } else {
        fail(f, loc, "a parameter that is neither tensor, scalar nor shape cannot be fused");
    }
    return v;
}

/* ---- values ---- */

static value
eval_leaf(fusion *f, const tn_expr *e)
{
    value v = {0};
    const tn_tuple *t = tn_as_tuple(e);
    if (t) {
        v.n = t->fields.n;
        v.fields = TNB_NEW_N(f->arena, value, v.n);
        for (uint32_t i = 0; i < v.n; i++)
            v.fields[i] = eval_leaf(f, t->fields.at[i]);
        return v;
    }
    const value *known = tnb_ptrmap_get(&f->values, e);
    if (known)
        return *known;
    if (tn_is_scalar(e) || tn_is(e, TN_KIND_SHAPE_EXPR))
        v.scalar = e;
    else if (tn_is(e, TN_KIND_CONSTANT))
        fail(f, e->loc, "a constant inside a Primitive function cannot be fused");
    else
        fail(f, e->loc, "a value that is no tensor program's result cannot be fused");
    return v;
}

static void
flatten(fusion *f, value v, value **out, uint32_t *n, uint32_t *cap)
{
    if (v.fields) {
        for (uint32_t i = 0; i < v.n; i++)
            flatten(f, v.fields[i], out, n, cap);
        return;
    }
    if (*n == *cap)
        *out = tnb_vec_grow(f->arena, *out, *n, cap, sizeof **out);
    (*out)[(*n)++] = v;
}

/* ---- one callee ---- */

/* Learns the callee's shape variables from the extents of the actual buffer. */
static void
match_shape(fusion *f, tnb_ptrmap *map, const tn_buffer *formal, const tn_buffer *actual,
            tn_loc loc)
{
    if (formal->shape.n != actual->shape.n) {
        fail(f, loc, "a tensor's rank differs from its callee's buffer");
        return;
    }
    for (uint32_t i = 0; i < formal->shape.n; i++) {
        const tn_expr *dim = formal->shape.at[i];
        if (!tn_is_var(dim))
            continue;
        const tn_expr *have = tn_cast_to(f->ctx, tn_dtype_of(dim), actual->shape.at[i]);
        const tn_expr *known = tnb_ptrmap_get(map, dim);
        if (!known)
            tnb_ptrmap_set(map, dim, have);
        else if (!tn_prove_equal(f->ctx, known, have) && tn_is(known, TN_KIND_INT_IMM) &&
                 tn_is(have, TN_KIND_INT_IMM))
            fail(f, loc, "a symbolic extent of a callee would need two values");
    }
}

/* Gives blocks names that are unique in the fused function. */
static const tn_node *
rename_block(tn_rewriter *r, const tn_node *n)
{
    fusion *f = r->user;
    const tn_block *b = tn_as_block(n);
    if (!b)
        return NULL;
    const char *name = unique_name(f, &f->block_names, b->name);
    if (name == b->name)
        return NULL;
    tn_block nb = *b;
    nb.name = name;
    return tn_block_of(f->ctx, &nb);
}

static void
append_body(fusion *f, const tn_prim_func *callee, tnb_ptrmap *map)
{
    const tn_block_realize *root = tn_as_block_realize(callee->body);
    const tn_block *block = root ? tn_as_block(root->block) : NULL;
    if (!block || block->iters.n) {
        /* no root block: the body alone (nothing was allocated) */
        block = NULL;
    }
    const tn_node *body = tn_subst(f->ctx, block ? TN_NODE(block) : callee->body, map);
    if (block) {
        tn_rewriter names = {.ctx = f->ctx, .user = f, .post = rename_block};
        const tn_block *nb = tn_as_block(body);
        for (uint32_t i = 0; i < nb->allocs.n; i++)
            TNB_PUSH(f->arena, f->allocs, nb->allocs.at[i]);
        TNB_PUSH(f->arena, f->stmts, tn_rewrite(&names, nb->body));
    } else {
        tn_rewriter names = {.ctx = f->ctx, .user = f, .post = rename_block};
        TNB_PUSH(f->arena, f->stmts, tn_rewrite(&names, body));
    }
}

static void
bind_formal(fusion *f, tnb_ptrmap *map, const tn_node *formal, const tn_node *actual, tn_loc loc)
{
    const tn_buffer *fb = (const tn_buffer *)formal, *ab = (const tn_buffer *)actual;
    tnb_ptrmap_set(map, formal, actual);
    tnb_ptrmap_set(map, fb->data, ab->data);
    match_shape(f, map, fb, ab, loc);
}

/* The buffer that holds the k-th output of a call: an argument (in place), an output of the fused
 * function, or an intermediate. */
static const tn_node *
output_buffer(fusion *f, const value *made, const tn_type *type, const tn_node *formal, tn_loc loc)
{
    if (made && made->buffer)
        return made->buffer;
    const char *name = tn_strf(f->ctx, "%s_intermediate", ((const tn_buffer *)formal)->name);
    return new_buffer(f, name, type, loc);
}

static value
inline_call(fusion *f, const tn_call *c, const tn_node *var)
{
    value result = {0};
    tn_loc loc = c->base.loc;
    const tn_prim_func *callee =
        tn_is(c->args.at[0], TN_KIND_GLOBAL_VAR)
            ? tn_as_prim_func(tn_module_get(f->m, ((const tn_global_var *)c->args.at[0])->name))
            : NULL;
    if (!callee) {
        fail(f, loc, "it calls something that is not a tensor program of the module");
        return result;
    }
    callee = (const tn_prim_func *)tn_fresh_copy(f->ctx, TN_NODE(callee), NULL);
    value *args = NULL;
    uint32_t n_args = 0, cap = 0;
    flatten(f, eval_leaf(f, c->args.at[1]), &args, &n_args, &cap);
    if (f->failed)
        return result;

    tnb_ptrmap map;
    tnb_ptrmap_init(&map, f->arena);
    const tn_type *out_type = c->ty_args.n ? c->ty_args.at[0] : c->base.type;
    const tn_ty_tuple *outs = tn_as_ty_tuple(out_type);
    uint32_t n_outs = outs ? outs->fields.n : 1;
    bool in_place = tn_is_call_to(TN_NODE(c), "relax.call_tir_inplace") != NULL;
    const tn_array *which = in_place ? tn_as_array(tn_call_attr(c, "inplace_indices")) : NULL;
    uint32_t fresh_outs = n_outs;
    for (uint32_t k = 0; which && k < n_outs && k < which->items.n; k++)
        fresh_outs -= !tn_is_int_const(which->items.at[k], -1);
    if (n_args + fresh_outs != callee->params.n) {
        fail(f, loc, "a call's argument count differs from its callee's parameters");
        return result;
    }
    uint32_t p = 0;
    for (uint32_t i = 0; i < n_args; i++, p++) {
        const tn_node *formal = callee->buffers.at[p];
        if (formal && args[i].buffer)
            bind_formal(f, &map, formal, args[i].buffer, loc);
        else if (!formal && args[i].scalar)
            tnb_ptrmap_set(&map, callee->params.at[p],
                           tn_cast_to(f->ctx, tn_dtype_of(callee->params.at[p]), args[i].scalar));
        else
            fail(f, loc, "a tensor stands where the callee wants a scalar, or the other way round");
    }
    const value *pre = tnb_ptrmap_get(&f->outputs, var);
    result.n = n_outs;
    result.fields = TNB_NEW_N(f->arena, value, n_outs);
    bool *intermediate = TNB_NEW_N(f->arena, bool, n_outs);
    for (uint32_t k = 0; k < n_outs && !f->failed; k++) {
        const value *made = NULL;
        int64_t index = -1;
        if (which && k < which->items.n && tn_int_value(which->items.at[k], &index) && index >= 0) {
            if ((uint64_t)index >= n_args) {
                fail(f, loc, "an in-place index is out of range");
                break;
            }
            result.fields[k].buffer = args[index].buffer;
            TNB_PUSH(f->arena, f->written, args[index].buffer);
            continue;
        }
        if (pre)
            made = pre->fields ? &pre->fields[k] : pre;
        const tn_node *formal = callee->buffers.at[p++];
        result.fields[k].buffer =
            output_buffer(f, made, outs ? outs->fields.at[k] : out_type, formal, loc);
        intermediate[k] = !made || !made->buffer;
        if (!f->failed)
            bind_formal(f, &map, formal, result.fields[k].buffer, loc);
    }
    if (f->failed)
        return result;
    append_body(f, callee, &map);
    /* behind what the callee allocates itself, as upstream has them */
    for (uint32_t k = 0; k < n_outs; k++)
        if (result.fields[k].buffer && intermediate[k])
            TNB_PUSH(f->arena, f->allocs, result.fields[k].buffer);
    return outs ? result : result.fields[0];
}

/* ---- the whole function ---- */

static void
note_bindings(fusion *f, const tn_seq_expr *seq)
{
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
            if (vb)
                tnb_ptrmap_set(&f->bound, vb->var, vb->value);
        }
    }
}

static bool
find_binding(const fusion *f, const tn_node *var, const tn_expr **bound)
{
    *bound = tnb_ptrmap_get(&f->bound, var);
    return *bound != NULL;
}

/* Buffers for what the function returns, in the order of the (flattened) result. Variables bound to
 * a call whose result is returned whole or by field write straight into them. */
static void
plan_output(fusion *f, const tn_expr *e, uint32_t *count)
{
    const tn_expr *bound;
    const tn_tuple *t = tn_as_tuple(e);
    for (int hops = 0; !t && tn_is_var(e) && find_binding(f, e, &bound) && hops < 1000; hops++) {
        t = tn_as_tuple(bound);
        if (!t && !tn_is_var(bound))
            break;
        e = t ? e : bound;
    }
    if (t) {
        for (uint32_t i = 0; i < t->fields.n; i++)
            plan_output(f, t->fields.at[i], count);
        return;
    }
    int64_t field = -1;
    if (tn_is_var(e) && find_binding(f, e, &bound) && tn_is(bound, TN_KIND_TUPLE_GET)) {
        field = ((const tn_tuple_get *)bound)->index;
        e = ((const tn_tuple_get *)bound)->tuple;
    }
    if (!tn_is_var(e) || !find_binding(f, e, &bound) || !tn_is(bound, TN_KIND_CALL))
        return; /* a parameter handed through: recorded when the result is read */
    bool in_place = tn_is_call_to(bound, "relax.call_tir_inplace") != NULL;
    const tn_ty_tuple *tuple = tn_as_ty_tuple(e->type);
    value *v = tnb_ptrmap_get(&f->outputs, e);
    if (!v) {
        v = TNB_NEW(f->arena, value);
        if (tuple) {
            v->n = tuple->fields.n;
            v->fields = TNB_NEW_N(f->arena, value, v->n);
        }
        tnb_ptrmap_set(&f->outputs, e, v);
    }
    for (uint32_t k = 0; k < (tuple ? v->n : 1); k++) {
        value *slot = tuple ? &v->fields[k] : v;
        if ((tuple && field >= 0 && (int64_t)k != field) || slot->buffer)
            continue;
        if (in_place) {
            int64_t index = -1;
            const tn_array *which =
                tn_as_array(tn_call_attr((const tn_call *)bound, "inplace_indices"));
            if (which && k < which->items.n && tn_int_value(which->items.at[k], &index) &&
                index >= 0)
                continue;
        }
        slot->buffer = new_buffer(f, tn_strf(f->ctx, "p_output%u", (*count)++),
                                  tuple ? tuple->fields.at[k] : e->type, e->loc);
    }
}

typedef struct fused {
    const tn_node *func;
    const tn_node *in_place; /* Array of indices for call_tir_inplace; NULL: plain call_tir */
    const bool *dropped;     /* by tensor argument: nothing reads it; NULL: all stay */
} fused;

static bool
is_param_buffer(const fusion *f, const tn_node *buffer, uint32_t *index)
{
    *index = (uint32_t)(uintptr_t)tnb_ptrmap_get(&f->places, buffer) - 1;
    return *index != UINT32_MAX;
}

/* Appends the output parameters; an output that is an input buffer is recorded as in place. So is, behind the outputs, an input that
 * is written and not returned. */
static bool
add_outputs(fusion *f, value result, fused *out)
{
    value *flat = NULL;
    uint32_t n = 0, cap = 0, n_inputs = f->params.n;
    flatten(f, result, &flat, &n, &cap);
    bool any = false;
    const tn_node **indices = TNB_NEW_N(f->arena, const tn_node *, n + f->written.n + 1);
    bool *returned = TNB_NEW_N(f->arena, bool, n_inputs + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at;
        if (!flat[i].buffer) {
            fail(f, 0, "it returns something that is not a tensor");
            return false;
        }
        bool seen = is_param_buffer(f, flat[i].buffer, &at);
        if (seen && at >= n_inputs) {
            fail(f, 0, "it returns the same tensor twice");
            return false;
        }
        any |= seen;
        indices[i] = tn_i64(f->ctx, seen ? (int64_t)at : -1);
        if (seen && returned[at]) {
            fail(f, 0, "it returns the same input twice");
            return false;
        }
        if (seen)
            returned[at] = true;
        else
            add_buffer_param(f, flat[i].buffer);
    }
    uint32_t kept = 0, at;
    for (uint32_t k = 0; k < f->written.n; k++)
        if (is_param_buffer(f, f->written.at[k], &at) && at < n_inputs && !returned[at]) {
            returned[at] = any = true;
            indices[n++] = tn_i64(f->ctx, at);
        }
    /* an intermediate that is returned has become a parameter */
    for (uint32_t k = 0; k < f->allocs.n; k++)
        if (!is_param_buffer(f, f->allocs.at[k], &at))
            f->allocs.at[kept++] = f->allocs.at[k];
    f->allocs.n = kept;
    /* call_tir_inplace leaves the in-place buffers where they are among the inputs */
    out->in_place = any ? tn_array_of(f->ctx, tn_list_of(f->ctx, indices, n)) : NULL;
    return true;
}

/* A symbol that extents of parameters define. */
typedef struct symbol {
    uint32_t definers; /* parameters that are left and have it as an extent */
    uint32_t user;     /* the parameter in whose extents it is used; ELSEWHERE: more, or the body */
} symbol;

enum { NO_USER = 0, ELSEWHERE = UINT32_MAX };

typedef struct uses {
    fusion *f;
    tnb_ptrmap touched; /* buffers, and variables, that the body has */
    tnb_ptrmap symbols; /* variable -> symbol */
    uint32_t user;      /* what is being looked at */
} uses;

static tn_walk_step
note_use(void *user, const tn_node *n)
{
    uses *u = user;
    const tn_buffer_load *load = tn_as_buffer_load(n);
    const tn_buffer_store *store = tn_as_buffer_store(n);
    const tn_buffer_region *region = tn_as_buffer_region(n);
    n = load ? load->buffer : store ? store->buffer : region ? region->buffer : n;
    bool var = tn_is_var(n);
    if (u->user == ELSEWHERE && (var || n->kind == TN_KIND_BUFFER))
        tnb_ptrmap_set(&u->touched, n, u);
    symbol *s = var ? tnb_ptrmap_get(&u->symbols, n) : NULL;
    if (s && s->user != u->user)
        s->user = s->user == NO_USER ? u->user : ELSEWHERE;
    return TN_WALK_ON;
}

/* Extents, strides and offset; NULL behind the last. */
static const tn_expr *
extent_of(const tn_buffer *b, uint32_t i)
{
    uint32_t n = b->shape.n, m = n + b->strides.n;
    return i < n ? b->shape.at[i] : i < m ? b->strides.at[i - n] : i == m ? b->elem_offset : NULL;
}

static void
note_definitions(uses *u, const tn_buffer *b)
{
    const tn_expr *e;
    for (uint32_t i = 0; (e = extent_of(b, i)); i++) {
        symbol *s = tn_is_var(e) ? tnb_ptrmap_get(&u->symbols, e) : NULL;
        if (tn_is_var(e) && !s)
            tnb_ptrmap_set(&u->symbols, e, s = TNB_NEW(u->f->arena, symbol));
        if (s)
            s->definers++;
    }
}

/* Whether a parameter that the body does not touch can go: what it defines is a parameter of its own,
 * defined by another one, or not used. */
static bool
can_go(const uses *u, const tn_buffer *b, uint32_t user)
{
    const tn_expr *e;
    for (uint32_t i = 0; (e = extent_of(b, i)); i++) {
        const symbol *s = tn_is_var(e) ? tnb_ptrmap_get(&u->symbols, e) : NULL;
        uint32_t own = 0;
        for (uint32_t k = 0; s && extent_of(b, k); k++)
            own += extent_of(b, k) == e;
        if (s && s->definers == own && !has_param(u->f, e) && s->user != NO_USER && s->user != user)
            return false;
    }
    return true;
}

static void
forget_definitions(uses *u, const tn_buffer *b)
{
    const tn_expr *e;
    for (uint32_t i = 0; (e = extent_of(b, i)); i++)
        if (tn_is_var(e))
            ((symbol *)tnb_ptrmap_get(&u->symbols, e))->definers--;
}

/* Takes out tensor parameters that the body does not touch, as far as no symbolic variable is
 * defined by them alone. */
static void
drop_unused(fusion *f, fused *out, uint32_t n_inputs)
{
    const tn_prim_func *p = (const tn_prim_func *)out->func;
    uses u = {.f = f, .user = ELSEWHERE};
    tnb_ptrmap_init(&u.touched, f->arena);
    tnb_ptrmap_init(&u.symbols, f->arena);
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (tn_as_buffer(p->buffers.at[i]))
            note_definitions(&u, tn_as_buffer(p->buffers.at[i]));
    tn_walk(p->body, TN_WALK_ONCE, note_use, NULL, &u);
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(p->buffers.at[i]);
        const tn_expr *e;
        u.user = i + 1;
        for (uint32_t k = 0; b && (e = extent_of(b, k)); k++)
            if (!tn_is_var(e))
                tn_walk(e, 0, note_use, NULL, &u);
    }
    bool *dropped = TNB_NEW_N(f->arena, bool, n_inputs + 1);
    uint32_t tensor = 0, kept = 0;
    const tn_node **params = TNB_NEW_N(f->arena, const tn_node *, p->params.n + 1);
    const tn_node **buffers = TNB_NEW_N(f->arena, const tn_node *, p->params.n + 1);
    for (uint32_t i = 0; i < p->params.n; i++) {
        const tn_buffer *b = i < n_inputs ? tn_as_buffer(p->buffers.at[i]) : NULL;
        bool used = !b || tnb_ptrmap_has(&u.touched, TN_NODE(b)) ||
                    tnb_ptrmap_has(&u.touched, b->data) || !can_go(&u, b, i + 1);
        if (used) {
            params[kept] = p->params.at[i];
            buffers[kept++] = p->buffers.at[i];
        } else {
            forget_definitions(&u, b);
            dropped[tensor] = true;
            out->dropped = dropped;
        }
        tensor += b != NULL;
    }
    if (out->dropped)
        out->func = tn_prim_func_of(f->ctx, tn_list_of(f->ctx, params, kept),
                                    tn_list_of(f->ctx, buffers, kept), p->body, p->ret, p->attrs);
}

static fused
fuse_one(tn_ctx *ctx, const tn_module *m, const char *name, const tn_function *fn)
{
    fusion f = {.ctx = ctx, .arena = tn_scratch(ctx), .m = m, .name = name};
    fused out = {0};
    tnb_ptrmap_init(&f.values, f.arena);
    tnb_ptrmap_init(&f.outputs, f.arena);
    tnb_ptrmap_init(&f.bound, f.arena);
    tnb_ptrmap_init(&f.places, f.arena);
    tnb_strmap_init(&f.buffer_names, f.arena);
    tnb_strmap_init(&f.block_names, f.arena);
    tnb_strmap_set(&f.block_names, "root", (const void *)(uintptr_t)1);
    const tn_seq_expr *seq = tn_as_seq_expr(fn->body);
    for (uint32_t i = 0; i < fn->params.n; i++) {
        const tn_expr *p = fn->params.at[i];
        value *v = TNB_NEW(f.arena, value);
        *v = declare_param(&f, tn_var_name(p), p, p->type, false, p->loc);
        tnb_ptrmap_set(&f.values, p, v);
    }
    for (uint32_t i = 0; i < fn->params.n; i++)
        declare_param(&f, tn_var_name(fn->params.at[i]), fn->params.at[i], fn->params.at[i]->type,
                      true, 0);
    uint32_t n_out = 0;
    note_bindings(&f, seq);
    plan_output(&f, seq->body, &n_out);
    for (uint32_t b = 0; b < seq->blocks.n && !f.failed; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        for (uint32_t i = 0; i < block->bindings.n && !f.failed; i++) {
            const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
            if (!vb) {
                fail(&f, block->bindings.at[i]->loc, "a match_cast cannot be fused");
                break;
            }
            value *v = TNB_NEW(f.arena, value);
            const tn_tuple_get *get = tn_as_tuple_get(vb->value);
            if (tn_is_call_to(vb->value, "relax.call_tir") ||
                tn_is_call_to(vb->value, "relax.call_tir_inplace")) {
                *v = inline_call(&f, (const tn_call *)vb->value, vb->var);
            } else if (get) {
                value t = eval_leaf(&f, get->tuple);
                if (!f.failed && get->index >= 0 && (uint64_t)get->index < t.n)
                    *v = t.fields[get->index];
                else
                    fail(&f, vb->base.loc, "a field is taken from something that is no tuple");
            } else {
                *v = eval_leaf(&f, vb->value);
            }
            tnb_ptrmap_set(&f.values, vb->var, v);
        }
    }
    if (f.failed)
        return out;
    value result = eval_leaf(&f, seq->body);
    uint32_t n_inputs = f.params.n;
    if (f.failed || !add_outputs(&f, result, &out))
        return (fused){0};

    tn_block root = {.name = tn_str(ctx, "root"),
                     .allocs = tn_list_of(ctx, f.allocs.at, f.allocs.n),
                     .body = tn_seq_of(ctx, tn_list_of(ctx, f.stmts.at, f.stmts.n))};
    const tn_stmt *body =
        tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &root));
    const tn_node *attrs = tn_dict_set(ctx, fn->attrs, "Primitive", NULL);
    attrs = tn_dict_set(ctx, attrs, "tirx.noalias", tn_bool(ctx, true));
    attrs = tn_dict_set(ctx, attrs, "s_tir", tn_bool(ctx, true));
    attrs = tn_dict_set(ctx, attrs, "global_symbol", NULL);
    out.func = tn_prim_func_of(ctx, tn_list_of(ctx, f.params.at, f.params.n),
                               tn_list_of(ctx, f.buffers.at, f.buffers.n), body, NULL, attrs);
    if (!out.in_place && !tn_dict_get(fn->attrs, "global_symbol"))
        drop_unused(&f, &out, n_inputs);
    out.func = tn_fresh_copy(ctx, out.func, NULL);
    return out;
}

/* Whether every tensor and shape of the type has extents to make buffers and parameters of. */
static bool
has_extents(const tn_type *type)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(type);
    tn_list dims;
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        if (!has_extents(tuple->fields.at[i]))
            return false;
    return (!tn_is(type, TN_KIND_TY_TENSOR) && !tn_is(type, TN_KIND_TY_SHAPE)) ||
           tn_type_dims(type, &dims);
}

/* A group with a tensor of unknown extents stays a function of calls. */
static bool
can_fuse(const tn_function *fn)
{
    const tn_seq_expr *seq = tn_as_seq_expr(fn->body);
    for (uint32_t i = 0; i < fn->params.n; i++)
        if (!has_extents(fn->params.at[i]->type))
            return false;
    for (uint32_t b = 0; b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
            if (vb && !has_extents(vb->var->type))
                return false;
        }
    }
    return true;
}

/* ---- call sites ---- */

typedef struct sites {
    tn_ctx *ctx;
    const tn_module *old;
    tnb_strmap in_place; /* fused function -> Array */
    tnb_strmap dropped;  /* fused function -> bool by tensor argument */
    tnb_strmap fused;    /* name -> non-NULL */
} sites;

static void
flatten_args(tn_ctx *ctx, const tn_expr *e, tn_list *tensors, tn_list *scalars)
{
    const tn_tuple *t = tn_as_tuple(e);
    const tn_ty_tuple *ty = tn_as_ty_tuple(e->type);
    const tn_shape_expr *shape = tn_as_shape_expr(e);
    if (t || ty) {
        uint32_t n = t ? t->fields.n : ty->fields.n;
        for (uint32_t i = 0; i < n; i++)
            flatten_args(ctx, t ? t->fields.at[i] : tn_tuple_item(ctx, e, i), tensors, scalars);
    } else if (shape) {
        for (uint32_t i = 0; i < shape->values.n; i++)
            *scalars = tn_list_append(ctx, *scalars, shape->values.at[i]);
    } else if (tn_is_scalar(e)) {
        *scalars = tn_list_append(ctx, *scalars, e);
    } else {
        *tensors = tn_list_append(ctx, *tensors, e);
    }
}

static void
flatten_types(tn_ctx *ctx, const tn_type *t, tn_list *out)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    if (!tuple) {
        *out = tn_list_append(ctx, *out, t);
        return;
    }
    for (uint32_t i = 0; i < tuple->fields.n; i++)
        flatten_types(ctx, tuple->fields.at[i], out);
}

static bool
is_nested(const tn_type *t)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        if (tn_is(tuple->fields.at[i], TN_KIND_TY_TUPLE))
            return true;
    return false;
}

static const tn_expr *
regroup(tn_ctx *ctx, const tn_expr *flat, const tn_type *type, uint32_t *next)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(type);
    if (!tuple)
        return tn_tuple_item(ctx, flat, (*next)++);
    const tn_node **fields = TNB_NEW_N(tn_scratch(ctx), const tn_node *, tuple->fields.n);
    for (uint32_t i = 0; i < tuple->fields.n; i++)
        fields[i] = regroup(ctx, flat, tuple->fields.at[i], next);
    return tn_tuple_of(ctx, tn_list_of(ctx, fields, tuple->fields.n));
}

typedef TNB_VEC(const tn_node *) binding_list;

/* A field of a tuple, of a tuple's field, ... becomes a variable: an argument has to be a leaf. */
static const tn_expr *
bind_field(tn_ctx *ctx, const tn_expr *e, bool dataflow, binding_list *out)
{
    const tn_tuple_get *get = tn_as_tuple_get(e);
    if (!get)
        return e;
    const tn_expr *tuple = bind_field(ctx, get->tuple, dataflow, out);
    const tn_expr *leaf =
        dataflow ? tn_dataflow_var_new(ctx, "lv", e->type) : tn_var_new(ctx, "gv", e->type);
    TNB_PUSH(tn_scratch(ctx), *out,
             tn_var_binding_of(ctx, leaf, tn_tuple_item(ctx, tuple, get->index)));
    return leaf;
}

/* Rewrites the bindings of one block: a site may need bindings before (tuple-gets as leaves) and
 * after (nested results). */
static const tn_node *
rewrite_sites(tn_rewriter *r, const tn_node *n)
{
    sites *s = r->user;
    tn_ctx *ctx = s->ctx;
    const tn_bindings_block *block = tn_as_bindings_block(n);
    if (!block)
        return NULL;
    bool dataflow = tn_is(n, TN_KIND_DATAFLOW_BLOCK), any = false;
    binding_list out = {0};
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_node *binding = block->bindings.at[i];
        const tn_var_binding *vb = tn_as_var_binding(binding);
        const tn_call *c = vb ? tn_as_call(vb->value) : NULL;
        const tn_global_var *gv = c ? tn_as_global_var(c->op) : NULL;
        if (!gv || !tnb_strmap_has(&s->fused, gv->name)) {
            TNB_PUSH(tn_scratch(ctx), out, binding);
            continue;
        }
        any = true;
        tn_list args = {0}, scalars = {0}, types = {0};
        for (uint32_t k = 0; k < c->args.n; k++)
            flatten_args(ctx, c->args.at[k], &args, &scalars);
        const bool *dropped = tnb_strmap_get(&s->dropped, gv->name);
        tn_list given = args;
        args = (tn_list){0};
        for (uint32_t k = 0; k < given.n; k++)
            if (!dropped || !dropped[k])
                args = tn_list_append(ctx, args, bind_field(ctx, given.at[k], dataflow, &out));
        for (uint32_t k = 0; k < scalars.n; k++)
            args = tn_list_append(ctx, args, scalars.at[k]);
        flatten_types(ctx, c->base.type, &types);
        const tn_array *in_place = tn_as_array(tnb_strmap_get(&s->in_place, gv->name));
        uint32_t results = types.n;
        for (uint32_t k = results; in_place && k < in_place->items.n; k++) {
            int64_t at = 0;
            (void)tn_int_value(in_place->items.at[k], &at);
            types = tn_list_append(ctx, types, ((const tn_expr *)args.at[at])->type);
        }
        const tn_type *type = types.n > results || tn_is(c->base.type, TN_KIND_TY_TUPLE)
                                  ? tn_ty_tuple_of(ctx, types)
                                  : types.at[0];
        const tn_expr *call = tn_call_tir(ctx, c->op, args, type);
        if (in_place) {
            const tn_call *plain = (const tn_call *)call;
            const tn_node *attrs = tn_dictv(ctx, "inplace_indices", TN_NODE(in_place), NULL);
            const tn_expr *tuple = tn_tuple_of(ctx, args);
            call = tn_call_of(ctx,
                              tn_op_ref_of(ctx, tn_find_op(tn_ctx_registry(ctx),
                                                           "relax.call_tir_inplace", NULL)),
                              tn_listv(ctx, plain->args.at[0], tuple, NULL), attrs,
                              tn_listv(ctx, type, NULL), type);
        }
        if (types.n == results && !is_nested(c->base.type)) {
            TNB_PUSH(tn_scratch(ctx), out, tn_var_binding_of(ctx, vb->var, call));
            continue;
        }
        const tn_expr *flat =
            dataflow ? tn_dataflow_var_new(ctx, "lv", type) : tn_var_new(ctx, "gv", type);
        TNB_PUSH(tn_scratch(ctx), out, tn_var_binding_of(ctx, flat, call));
        tn_list leaves = {0};
        for (uint32_t k = 0; k < results; k++) {
            const tn_expr *leaf = dataflow ? tn_dataflow_var_new(ctx, "lv", types.at[k])
                                           : tn_var_new(ctx, "gv", types.at[k]);
            TNB_PUSH(tn_scratch(ctx), out,
                     tn_var_binding_of(ctx, leaf, tn_tuple_item(ctx, flat, k)));
            leaves = tn_list_append(ctx, leaves, leaf);
        }
        uint32_t next = 0;
        TNB_PUSH(tn_scratch(ctx), out,
                 tn_var_binding_of(ctx, vb->var,
                                   regroup(ctx, tn_tuple_of(ctx, leaves), c->base.type, &next)));
    }
    return any ? tn_binding_block_of(ctx, tn_list_of(ctx, out.at, out.n), dataflow) : NULL;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    sites s = {.ctx = ctx, .old = m};
    tnb_strmap_init(&s.in_place, tn_scratch(ctx));
    tnb_strmap_init(&s.dropped, tn_scratch(ctx));
    tnb_strmap_init(&s.fused, tn_scratch(ctx));
    TNB_VEC(const char *) names = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        if (!fn || !tn_dict_get(fn->attrs, "Primitive") || tn_dict_get(fn->attrs, "Codegen") ||
            !can_fuse(fn))
            continue;
        const char *name = tn_module_name(m, i);
        fused one = fuse_one(ctx, m, name, fn);
        if (!one.func)
            continue;
        TNB_PUSH(tn_scratch(ctx), names, name);
        TNB_PUSH(tn_scratch(ctx), funcs, one.func);
        tnb_strmap_set(&s.fused, name, &s);
        if (one.in_place)
            tnb_strmap_set(&s.in_place, name, one.in_place);
        if (one.dropped)
            tnb_strmap_set(&s.dropped, name, one.dropped);
    }
    if (tnb_diags_errors(tn_diags(ctx)) != errors)
        return NULL;
    if (!names.n)
        return m;
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_node *f = m->funcs.at[i];
        if (!tn_is(f, TN_KIND_FUNCTION) || tnb_strmap_has(&s.fused, tn_module_name(m, i)))
            continue;
        tn_rewriter r = {.ctx = ctx, .user = &s, .post = rewrite_sites};
        const tn_node *nf = tn_rewrite(&r, f);
        if (tn_is_error(nf))
            return NULL;
        if (nf != f) {
            TNB_PUSH(tn_scratch(ctx), names, tn_module_name(m, i));
            TNB_PUSH(tn_scratch(ctx), funcs, nf);
        }
    }
    m = tn_module_set_all(ctx, m, names.at, funcs.at, names.n);
    return transform_drop_unreachable(ctx, m);
}

const tn_pass transform_fuse_tir = {
    .base.size = sizeof(tn_pass),
    .base.name = "FuseTIR",
    .base.doc = "turn Primitive functions into one tensor program each",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
