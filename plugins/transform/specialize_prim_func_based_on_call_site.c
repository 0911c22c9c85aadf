/* SPDX-License-Identifier: Apache-2.0 */
/* SpecializePrimFuncBasedOnCallSite: tensor programs get the shapes and memory scopes of the
 * tensors they are called with.
 *
 *     def f(a: T.handle, b: T.handle):               def f(A: T.Buffer((4, 8), "float32",
 *         n = T.int64()                                                scope="global.texture"), ...
 *         A = T.match_buffer(a, (n, 8))                  T.func_attr({"scoped": 1})
 *     R.call_tir(f, (x,), ...)  # x: (4, 8) in a texture
 *
 * For call_tir in functions that are not Primitive; the program gets attribute `scoped`. A program
 * called with different shapes or scopes, or by calls that stay as they are, gets copies under
 * names of their own. Calls with tensors of unknown shape stay; an extent that the program could not
 * determine, such as `n + 1` where no tensor has the extent n, stays the program's own. Keeps results bit by bit. Cases:
 * tests/pass/SpecializePrimFuncBasedOnCallSite.
 */
#include "transform.h"

#include "bind.h"

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"

/* A specialized program. */
typedef struct version {
    const char *source, *name;
    const tn_node *func;
} version;

typedef struct specializer {
    tn_ctx *ctx;
    const tn_module *m;
    TNB_VEC(version) made;
    tnb_ptrmap calls;  /* call -> its program, specialized */
    tnb_strmap others; /* programs that something else refers to as well: they stay */
} specializer;

/* The variables that the call's tensors determine: extents by themselves. */
static tn_list
defined_by(specializer *s, tn_list types)
{
    tn_list dims, out = {0};
    for (uint32_t i = 0; i < types.n; i++)
        for (uint32_t k = 0; tn_type_dims(types.at[i], &dims) && k < dims.n; k++)
            if (tn_is_var(dims.at[k]))
                out = tn_list_append(s->ctx, out, dims.at[k]);
    return out;
}

/* Whether the program can state the extent: with n in no place by itself, n + 1 says nothing. */
static bool
can_state(specializer *s, tn_list defined, const tn_expr *dim)
{
    tn_list used = tn_free_vars(s->ctx, dim, false);
    for (uint32_t i = 0; i < used.n; i++) {
        uint32_t k = 0;
        while (k < defined.n && defined.at[k] != used.at[i])
            k++;
        if (k == defined.n)
            return false;
    }
    return true;
}

/* Puts the variables of the buffer's shape into `map`, each with the tensor's extent, or with
 * itself where that cannot be stated. False: the tensor does not say enough, or does not fit. */
static bool
match_buffer(specializer *s, const tn_buffer *b, const tn_type *type, tn_list defined,
             tnb_ptrmap *map)
{
    tn_list dims;
    if (!b || !tn_is(type, TN_KIND_TY_TENSOR) || !tn_type_dims(type, &dims) || dims.n != b->shape.n)
        return false;
    for (uint32_t i = 0; i < dims.n; i++) {
        const tn_expr *own = b->shape.at[i], *known = tnb_ptrmap_get(map, own);
        int64_t x, y;
        if (tn_int_value(own, &x) && tn_int_value(dims.at[i], &y) && x != y)
            return false;
        if (!tn_is_var(own))
            continue;
        const tn_expr *dim = can_state(s, defined, dims.at[i])
                                 ? tn_cast_to(s->ctx, tn_dtype_of(own), dims.at[i])
                                 : own;
        if (known && !tn_prove_equal(s->ctx, known, dim))
            return false;
        tnb_ptrmap_set(map, own, known ? known : dim);
    }
    return true;
}

/* The buffer with the tensor's shape and scope, and with what `map` has for its variables where the
 * program cannot state the tensor's extent. */
static bool
specialize_buffer(specializer *s, const tn_node *buffer, const tn_type *type, tn_list defined,
                  tnb_ptrmap *map)
{
    const tn_buffer *b = (const tn_buffer *)buffer;
    const tn_vdevice *v = tn_as_vdevice(((const tn_ty_tensor *)type)->vdevice);
    tn_buffer now = *b;
    tn_list dims = {0};
    bool whole = tn_type_dims(type, &dims);
    for (uint32_t i = 0; whole && i < dims.n; i++)
        if (tn_int_value(b->shape.at[i], &(int64_t){0}) || !can_state(s, defined, dims.at[i]))
            dims = tn_list_with(s->ctx, dims, i, tn_subst(s->ctx, b->shape.at[i], map));
    now.shape = dims;
    now.scope = tn_str(s->ctx, v ? v->scope : "global");
    now.data = NULL;
    const tn_node *made = tn_buffer_of(s->ctx, &now);
    if (tn_is_error(made))
        return false;
    tnb_ptrmap_set(map, buffer, made);
    tnb_ptrmap_set(map, b->data, tn_as_buffer(made)->data);
    return true;
}

/* Types of the call's tensors, arguments first. False: not all are tensors. */
static bool
tensors(specializer *s, const tn_call *c, tn_list *out)
{
    const tn_tuple *args = c->args.n > 1 ? tn_as_tuple(c->args.at[1]) : NULL;
    const tn_type *result = c->ty_args.n ? c->ty_args.at[0] : c->base.type;
    const tn_ty_tuple *results = tn_as_ty_tuple(result);
    *out = (tn_list){0};
    for (uint32_t i = 0; args && i < args->fields.n; i++)
        *out = tn_list_append(s->ctx, *out, args->fields.at[i]->type);
    for (uint32_t i = 0; i < (results ? results->fields.n : 1); i++)
        *out = tn_list_append(s->ctx, *out, results ? results->fields.at[i] : result);
    return args != NULL;
}

static const tn_node *
specialized(specializer *s, const tn_prim_func *f, const tn_call *c)
{
    tnb_ptrmap map;
    tn_list types;
    tnb_ptrmap_init(&map, tn_scratch(s->ctx));
    if (!tensors(s, c, &types) || types.n != f->params.n)
        return NULL;
    tn_list defined = defined_by(s, types);
    for (uint32_t i = 0; i < types.n; i++)
        if (!match_buffer(s, tn_as_buffer(f->buffers.at[i]), types.at[i], defined, &map))
            return NULL;
    for (uint32_t i = 0; i < types.n; i++)
        if (!specialize_buffer(s, f->buffers.at[i], types.at[i], defined, &map))
            return NULL;
    const tn_node *out = bind_in(s->ctx, TN_NODE(f), &map);
    if (tn_is_error(out))
        return out;
    /* no variable is shared with the program it came from; a caller's symbolic variable becomes an
     * int64 that the program's buffers define */
    out = tn_fresh_copy(s->ctx, out, NULL);
    return tn_func_with_attr(s->ctx, out, "scoped", tn_i64(s->ctx, 1));
}

/* Finds the calls to specialize, and the programs that must stay as well. */
static tn_walk_step
find_calls(void *user, const tn_node *n)
{
    specializer *s = user;
    const tn_global_var *other = tn_as_global_var(n);
    const tn_call *c = tn_is_call_to(n, "relax.call_tir");
    const tn_global_var *gv = c ? tn_as_global_var(c->args.at[0]) : NULL;
    const tn_prim_func *f = gv ? tn_as_prim_func(tn_module_get(s->m, gv->name)) : NULL;
    const tn_node *now = f ? specialized(s, f, c) : NULL;
    if (other)
        tnb_strmap_set(&s->others, other->name, s);
    if (!now)
        return TN_WALK_ON;
    tnb_ptrmap_set(&s->calls, n, now);
    return tn_is_error(now) ? TN_WALK_STOP : TN_WALK_SKIP;
}

static tn_walk_step
find_others(void *user, const tn_node *n)
{
    specializer *s = user;
    const tn_global_var *other = tn_as_global_var(n);
    if (other)
        tnb_strmap_set(&s->others, other->name, s);
    return TN_WALK_ON;
}

static const char *
name_for(specializer *s, const char *source, const tn_node *func)
{
    bool taken = tnb_strmap_has(&s->others, source);
    for (uint32_t i = 0; i < s->made.n; i++) {
        if (strcmp(s->made.at[i].source, source) != 0)
            continue;
        taken = true;
        if (tn_equal(s->ctx, s->made.at[i].func, func, false, NULL))
            return s->made.at[i].name;
    }
    version v = {source, source, func};
    for (uint32_t k = 1; taken; k++) {
        v.name = tn_strf(s->ctx, "%s_%u", source, k);
        taken = tn_module_get(s->m, v.name) != NULL;
        for (uint32_t i = 0; i < s->made.n; i++)
            taken |= !strcmp(s->made.at[i].name, v.name);
    }
    TNB_PUSH(tn_scratch(s->ctx), s->made, v);
    return v.name;
}

static const tn_node *
each_call(tn_rewriter *r, const tn_node *n)
{
    specializer *s = r->user;
    const tn_node *now = tnb_ptrmap_get(&s->calls, n);
    if (!now || tn_is_error(now))
        return now;
    const tn_call *c = tn_as_call(n);
    const char *source = ((const tn_global_var *)c->args.at[0])->name;
    const char *name = name_for(s, source, now);
    if (!strcmp(name, source))
        return NULL;
    tn_list args = tn_list_with(s->ctx, c->args, 0, tn_global_var_of(s->ctx, name));
    return tn_call_of(s->ctx, c->op, args, c->attrs, c->ty_args, NULL);
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    tn_rewriter r = {.ctx = pc->ctx, .user = user, .pre = each_call};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    specializer s = {.ctx = pc->ctx, .m = m};
    tnb_ptrmap_init(&s.calls, tn_scratch(pc->ctx));
    tnb_strmap_init(&s.others, tn_scratch(pc->ctx));
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        bool open = f && !tn_dict_int(f->attrs, "Primitive", 0);
        tn_walk(m->funcs.at[i], 0, open ? find_calls : find_others, NULL, &s);
    }
    m = tn_map_functions(pc, m, TN_FUNCTIONS, each_function, &s);
    if (!m || !s.made.n)
        return m;
    tn_module_edit *edit = tn_module_edit_new(pc->ctx, m);
    for (uint32_t i = 0; i < s.made.n; i++) {
        const version *v = &s.made.at[i];
        const tn_node *f = v->func;
        if (strcmp(v->name, v->source) != 0 && tn_func_attr(f, "global_symbol"))
            f = tn_func_with_attr(pc->ctx, f, "global_symbol", tn_string(pc->ctx, v->name));
        tn_module_edit_set(edit, v->name, f);
    }
    return tn_module_edit_end(edit);
}

const tn_pass transform_specialize_prim_func_based_on_call_site = {
    .base.size = sizeof(tn_pass),
    .base.name = "SpecializePrimFuncBasedOnCallSite",
    .base.doc = "give tensor programs the shapes and memory scopes of their calls",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
