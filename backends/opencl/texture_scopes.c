/* SPDX-License-Identifier: Apache-2.0 */
/* TextureScopes: tensors that one tensor program makes for others to read lie in images, where the target
 * has the key `texture`.
 *
 *     lv: R.Tensor((1, 8, 16, 16, 4), "float32") = R.call_tir(cls.conv, (x, w), ...)
 *     gv = R.call_tir(cls.layout_transform, (lv,), ...)
 *  -> lv: R.Tensor((1, 8, 16, 16, 4), "float32", "opencl:0:global.texture-weight:2048x1:float32") = R.call_tir(cls.conv1, ...)
 *     gv = R.call_tir(cls.layout_transform1, (lv,), ...)      conv1 and layout_transform1: with buffers of that scope
 *
 * Float tensors of five constant extents, the last of 4, qualify if the program that makes them can store
 * four neighbours at once (the rule opencl.Texture), only arguments of call_tir use them, and they are
 * within the target's texture_spatial_limit and texture_depth_limit: the first of texture-weight,
 * texture-nhwc and texture whose image is (emit_image.c says what lies where). So do constants
 * (weights, biases, folded vectors) that only programs read which that rule takes: such a program has
 * the scope on its buffer, which is what places the constant. What does not qualify stays in buffers.
 * Cases: tests/pass/TextureScopes.
 */
#include "texture.h"

#include <string.h>

#include "tenon/core/walk.h"

typedef struct scoping {
    const tn_pass_ctx *pc;
    tn_ctx *ctx;
    const tn_module *m; /* with the programs made so far */
    const tn_node *device_target;
    tnb_ptrmap made;      /* variable -> its scope, until a use disqualifies it */
    tnb_ptrmap vars;      /* variable -> the one that lies in an image */
    tnb_ptrmap constants; /* data of a constant -> its scope, or `in_buffer` */
    tnb_ptrmap storable;  /* program -> itself if the rule takes it, else the context */
    tnb_strmap programs;  /* name and scopes -> name of the program with these */
    TNB_VEC(const tn_node *) devices;
} scoping;

static const char in_buffer[] = "";

/* ---- which tensors ---- */

/* "global.texture-nhwc:64x32x2:float16" for a tensor; NULL: it fits no image. */
static const char *
scope_for(scoping *s, const tn_type *type)
{
    static const char *const kinds[] = {"global.texture-weight", "global.texture-nhwc",
                                        "global.texture"};
    const tn_node *attrs = s->pc->target->attrs;
    int64_t spatial = tn_dict_int(attrs, "texture_spatial_limit", 16384),
            depth = tn_dict_int(attrs, "texture_depth_limit", 2048), at[5];
    tnb_dtype d = tn_type_dtype(type);
    tn_list dims;
    if (!tn_is(type, TN_KIND_TY_TENSOR) || ((const tn_ty_tensor *)type)->vdevice ||
        !tn_type_dims(type, &dims) || dims.n != 5 || d.code != TNB_FLOAT || d.lanes != 1 ||
        (d.bits != 16 && d.bits != 32))
        return NULL;
    for (uint32_t i = 0; i < 5; i++)
        if (!tn_int_value(dims.at[i], &at[i]) || at[i] < 1 || at[i] > INT32_MAX)
            return NULL;
    for (size_t k = 0; at[4] == 4 && k < sizeof kinds / sizeof *kinds; k++) {
        uint32_t split[2];
        int64_t size[3] = {1, 1, 1}; /* layers, rows, columns */
        if (!texture_split(kinds[k], 5, split))
            continue;
        for (uint32_t i = 0; i < 4; i++) {
            int part = i < split[0] ? 0 : i < split[1] ? 1 : 2;
            size[part] = size[part] > INT32_MAX ? size[part] : size[part] * at[i];
        }
        if (size[0] > depth || size[1] > spatial || size[2] > spatial)
            continue;
        const char *layers = split[0] ? tn_strf(s->ctx, "x%lld", (long long)size[0]) : "";
        return tn_strf(s->ctx, "%s:%lldx%lld%s:%s", kinds[k], (long long)size[2],
                       (long long)size[1], layers, tnb_dtype_print(d).s);
    }
    return NULL;
}

static const tn_prim_func *
program_of(const scoping *s, const tn_call *c)
{
    const tn_global_var *gv = c && c->args.n == 2 ? tn_as_global_var(c->args.at[0]) : NULL;
    const tn_prim_func *f = gv ? tn_as_prim_func(tn_module_get(s->m, gv->name)) : NULL;
    const tn_tuple *args = f ? tn_as_tuple(c->args.at[1]) : NULL;
    return args && c->ty_args.n == 1 && f->params.n == args->fields.n + 1 ? f : NULL;
}

static bool
can_store(scoping *s, const tn_prim_func *f)
{
    const void *known = tnb_ptrmap_get(&s->storable, f);
    if (!known) {
        const tn_node *scheduled = texture_schedule(s->ctx, TN_NODE(f), s->pc->target);
        known = scheduled ? (const void *)f : s->ctx;
        tnb_ptrmap_set(&s->storable, f, known);
    }
    return known == f;
}

static tn_walk_step
find_made(void *user, const tn_node *n)
{
    scoping *s = user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *c = vb ? tn_is_call_to(vb->value, "relax.call_tir") : NULL;
    const tn_prim_func *f = program_of(s, c);
    const char *scope = f ? scope_for(s, c->ty_args.at[0]) : NULL;
    if (scope && can_store(s, f))
        tnb_ptrmap_set(&s->made, vb->var, scope);
    return TN_WALK_ON;
}

typedef struct plain_reads {
    const tn_node *buffer;
    bool ok;
} plain_reads;

static tn_walk_step
check_reads(void *user, const tn_node *n)
{
    plain_reads *p = user;
    const tn_match_buffer *match = tn_as_match_buffer(n);
    const tn_call *address = tn_is_intrin(n, TN_INTRIN_address_of) ? tn_as_call(n) : NULL;
    const tn_buffer_load *l = address ? tn_as_buffer_load(address->args.at[0]) : NULL;
    if (n == tn_as_buffer(p->buffer)->data || (l && l->buffer == p->buffer) || match)
        p->ok = false;
    return p->ok ? TN_WALK_ON : TN_WALK_STOP;
}

/* Whether the program takes elements of its i-th tensor by their indices alone: an image has no
 * addresses. */
static bool
reads_plainly(const tn_prim_func *f, uint32_t i)
{
    plain_reads p = {.buffer = f->buffers.at[i], .ok = f->buffers.at[i] != NULL};
    if (p.ok)
        tn_walk(f->body, TN_WALK_ONCE, check_reads, NULL, &p);
    return p.ok;
}

static void
find_constant(scoping *s, const tn_constant *k, const tn_prim_func *reader, uint32_t i)
{
    const char *known = tnb_ptrmap_get(&s->constants, k->data), *scope = in_buffer;
    if (known == in_buffer)
        return;
    if (reader && reads_plainly(reader, i) && can_store(s, reader))
        scope = scope_for(s, k->base.type);
    tnb_ptrmap_set(&s->constants, k->data, scope ? scope : in_buffer);
}

/* The scope of the image that a constant lies in; NULL: it lies in a buffer, or is none. */
static const char *
scope_of_constant(const scoping *s, const tn_node *n)
{
    const tn_constant *k = tn_as_constant(n);
    const char *scope = k ? tnb_ptrmap_get(&s->constants, k->data) : NULL;
    return scope == in_buffer ? NULL : scope;
}

/* A use that is no argument of a tensor program keeps the tensor in a buffer. */
static tn_walk_step
find_uses(void *user, const tn_node *n)
{
    scoping *s = user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    if (vb) {
        const tn_call *c = tn_is_call_to(vb->value, "relax.call_tir");
        const tn_prim_func *f = program_of(s, c);
        const tn_tuple *args = f ? tn_as_tuple(c->args.at[1]) : NULL;
        for (uint32_t i = 0; args && i < args->fields.n; i++) {
            const tn_constant *k = tn_as_constant(args->fields.at[i]);
            if (k)
                find_constant(s, k, f, i);
            else if (!tn_is_var(args->fields.at[i]) || !reads_plainly(f, i))
                tn_walk(args->fields.at[i], 0, find_uses, NULL, s);
        }
        if (!args)
            tn_walk(vb->value, 0, find_uses, NULL, s);
        return TN_WALK_SKIP;
    }
    if (tn_is_var(n))
        tnb_ptrmap_remove(&s->made, n);
    if (tn_as_constant(n))
        find_constant(s, tn_as_constant(n), NULL, 0);
    return TN_WALK_ON;
}

/* ---- programs whose buffers have the scopes of a call's tensors ---- */

static const char *
scope_of(const tn_type *t)
{
    const tn_ty_tensor *x = tn_as_ty_tensor(t);
    const tn_vdevice *v = x ? tn_as_vdevice(x->vdevice) : NULL;
    return v && strncmp(v->scope, "global.texture", 14) == 0 ? v->scope : NULL;
}

static const tn_node *
with_scopes(scoping *s, const tn_prim_func *f, const char *const *scopes)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(s->ctx));
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (!b || !scopes[i])
            continue;
        tn_buffer copy = *b;
        copy.scope = tn_str(s->ctx, scopes[i]);
        copy.data = NULL;
        const tn_node *now = tn_buffer_of(s->ctx, &copy);
        if (tn_is_error(now))
            return now;
        tnb_ptrmap_set(&map, b, now);
        tnb_ptrmap_set(&map, b->data, tn_as_buffer(now)->data);
    }
    const tn_node *out = tn_subst(s->ctx, TN_NODE(f), &map);
    return tn_is_error(out) ? out : tn_fresh_copy(s->ctx, out, NULL);
}

/* The name of the program `name` with those scopes, made when first asked for. */
static const char *
program_with(scoping *s, const char *name, const tn_prim_func *f, const char *const *scopes)
{
    const char *key = name;
    for (uint32_t i = 0; i < f->params.n; i++)
        key = tn_strf(s->ctx, "%s %s", key, scopes[i] ? scopes[i] : "-");
    const char *known = tnb_strmap_get(&s->programs, key);
    if (known)
        return known;
    const tn_node *func = with_scopes(s, f, scopes);
    if (tn_is_error(func))
        return NULL;
    const char *own = tn_strf(s->ctx, "%s_texture", name);
    for (uint32_t i = 1; tn_module_get(s->m, own); i++)
        own = tn_strf(s->ctx, "%s_texture%u", name, i);
    if (tn_func_attr(func, "global_symbol"))
        func = tn_func_with_attr(s->ctx, func, "global_symbol", tn_string(s->ctx, own));
    s->m = tn_module_set(s->ctx, s->m, own, func);
    tnb_strmap_set(&s->programs, key, own);
    return own;
}

/* ---- rewriting ---- */

static const tn_node *
device_for(scoping *s, const char *scope)
{
    for (uint32_t i = 0; i < s->devices.n; i++)
        if (strcmp(tn_as_vdevice(s->devices.at[i])->scope, scope) == 0)
            return s->devices.at[i];
    const tn_node *v = tn_vdevice_of(s->ctx, s->device_target, 0, scope);
    TNB_PUSH(tn_scratch(s->ctx), s->devices, v);
    return v;
}

static const tn_node *
each_binding(tn_rewriter *r, const tn_node *n)
{
    scoping *s = r->user;
    const tn_var_binding *vb = tn_as_var_binding(n);
    const tn_call *c = vb ? tn_is_call_to(vb->value, "relax.call_tir") : NULL;
    const tn_prim_func *f = program_of(s, c);
    if (!f)
        return NULL;
    const tn_expr *var = tnb_ptrmap_get(&s->vars, vb->var);
    const tn_tuple *args = tn_as_tuple(c->args.at[1]);
    const char **scopes = TNB_NEW_N(tn_scratch(s->ctx), const char *, f->params.n);
    tn_list fields = args->fields;
    bool any = var != NULL;
    for (uint32_t i = 0; i < fields.n; i++) {
        const tn_expr *now = tnb_ptrmap_get(&s->vars, fields.at[i]);
        scopes[i] = scope_of_constant(s, fields.at[i]);
        any |= now || scopes[i];
        if (!now)
            continue;
        scopes[i] = scope_of(now->type);
        tn_list_change(s->ctx, &fields, args->fields, i, now);
    }
    if (!any)
        return NULL;
    if (var)
        scopes[fields.n] = scope_of(var->type);
    const char *name = program_with(s, tn_as_global_var(c->args.at[0])->name, f, scopes);
    if (!name)
        return tn_error_node(s->ctx);
    tn_loc old = tn_at(s->ctx, n->loc);
    tn_list call =
        tn_listv(s->ctx, tn_global_var_of(s->ctx, name), tn_tuple_of(s->ctx, fields), NULL);
    tn_list types = var ? tn_listv(s->ctx, var->type, NULL) : c->ty_args;
    const tn_expr *value = tn_call_of(s->ctx, c->op, call, c->attrs, types, NULL);
    const tn_node *out =
        tn_is_error(value) ? value : tn_var_binding_of(s->ctx, var ? var : vb->var, value);
    tn_at(s->ctx, old);
    return out;
}

static void
renew_var(scoping *s, const tn_expr *var, const char *scope)
{
    const tn_ty_tensor *t = tn_as_ty_tensor(var->type);
    const tn_type *type =
        tn_ty_tensor_of(s->ctx, t->shape, t->dtype, t->ndim, device_for(s, scope));
    const tn_expr *now = tn_is(var, TN_KIND_DATAFLOW_VAR)
                             ? tn_dataflow_var_new(s->ctx, tn_var_name(var), type)
                             : tn_var_new(s->ctx, tn_var_name(var), type);
    tnb_ptrmap_set(&s->vars, var, now);
}

static bool
one_function(scoping *s, const char *name, const tn_function *f)
{
    tnb_ptrmap_init(&s->made, tn_scratch(s->ctx));
    tnb_ptrmap_init(&s->vars, tn_scratch(s->ctx));
    tnb_ptrmap_init(&s->constants, tn_scratch(s->ctx));
    tn_walk(TN_NODE(f), 0, find_made, NULL, s);
    tn_walk(f->body, 0, find_uses, NULL, s);
    for (uint32_t i = 0; i < s->made.n; i++)
        if (s->made.at[i].key)
            renew_var(s, s->made.at[i].key, s->made.at[i].value);
    bool any = s->vars.n > 0;
    for (uint32_t i = 0; !any && i < s->constants.n; i++)
        any = s->constants.at[i].value != in_buffer;
    if (!any)
        return true;
    tn_rewriter r = {.ctx = s->ctx, .user = s, .pre = each_binding};
    const tn_node *out = tn_rewrite(&r, TN_NODE(f));
    if (tn_is_error(out))
        return false;
    s->m = tn_module_set(s->ctx, s->m, name, out);
    return true;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    if (!texture_wanted(pc->target))
        return m;
    scoping s = {.pc = pc,
                 .ctx = pc->ctx,
                 .m = m,
                 .device_target = tn_target_of(pc->ctx, pc->target->kind, NULL)};
    tnb_ptrmap_init(&s.storable, tn_scratch(pc->ctx));
    tnb_strmap_init(&s.programs, tn_scratch(pc->ctx));
    const tn_array *given = tn_as_array(tn_dict_get(m->infos, "vdevice"));
    for (uint32_t i = 0; given && i < given->items.n; i++)
        TNB_PUSH(tn_scratch(pc->ctx), s.devices, given->items.at[i]);
    uint32_t before = s.devices.n;
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        if (f && !tn_dict_int(f->attrs, "Primitive", 0) &&
            !one_function(&s, tn_module_name(m, i), f))
            return NULL;
    }
    if (s.devices.n == before)
        return s.m;
    const tn_node *all = tn_array_of(pc->ctx, tn_list_of(pc->ctx, s.devices.at, s.devices.n));
    return tn_module_with_infos(pc->ctx, s.m, tn_dict_set(pc->ctx, m->infos, "vdevice", all));
}

const tn_pass texture_scopes = {
    .base.size = sizeof(tn_pass),
    .base.name = "TextureScopes",
    .base.doc =
        "tensors that tensor programs hand to each other lie in images, for targets with the key "
        "texture",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
