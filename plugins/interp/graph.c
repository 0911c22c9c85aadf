/* SPDX-License-Identifier: Apache-2.0 */
/* Graph functions: bindings, symbolic variables, branches, calls. A call in tail position does not
 * grow the stack: loops are written as recursion.
 */
#include "interp.h"

#include <stdlib.h>

/* ---- environments ---- */

static void
env_clear(interp *vm, interp_env *env)
{
    for (uint32_t i = 0; i < env->map.n; i++)
        if (env->map.at[i].key)
            interp_val_unref(vm, (interp_val *)(uintptr_t)env->map.at[i].value);
    tnb_arena_reset(env->arena);
    tnb_ptrmap_init(&env->map, env->arena);
}

static bool
env_open(interp *vm, interp_env *env, const tn_module *m, const char *name)
{
    *env = (interp_env){.arena = tnb_arena_new(), .func = name ? name : "function", .m = m};
    if (!env->arena) {
        tn_error(vm->ctx, 0, TNB_NO_MEMORY, "no memory for a call");
        return false;
    }
    tnb_ptrmap_init(&env->map, env->arena);
    return true;
}

static void
env_close(interp *vm, interp_env *env)
{
    env_clear(vm, env);
    tnb_arena_free(env->arena);
}

/* Takes the reference over. */
static void
env_set(interp *vm, interp_env *env, const tn_node *var, interp_val *v)
{
    interp_val *old = (interp_val *)tnb_ptrmap_get(&env->map, var);
    tnb_ptrmap_set(&env->map, var, v);
    interp_val_unref(vm, old);
}

static interp_val *
env_get(const interp_env *env, const tn_node *var)
{
    return (interp_val *)tnb_ptrmap_get(&env->map, var);
}

/* ---- scalars ---- */

typedef struct scalar_code {
    interp_code *code;
    tn_list vars;
} scalar_code;

static bool
eval_scalar(interp *vm, interp_env *env, const tn_expr *e, interp_reg *out)
{
    const scalar_code *s = tnb_ptrmap_get(&vm->scalars, e);
    if (!s) {
        scalar_code fresh = {.vars = tn_free_vars(vm->ctx, e, false)};
        fresh.code = interp_compile_scalar(vm, &e, 1, fresh.vars.at, fresh.vars.n);
        if (!fresh.code)
            return false;
        s = tnb_dup(vm->arena, &fresh, sizeof fresh);
        tnb_ptrmap_set(&vm->scalars, e, s);
    }
    interp_frame f;
    if (!interp_frame_open(vm, &f, s->code))
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->vars.n; i++) {
        const interp_val *v = env_get(env, s->vars.at[i]);
        ok = v && v->kind == INTERP_V_SCALAR;
        if (ok)
            f.r[s->code->params[i]] = v->scalar;
        else
            tn_error(vm->ctx, e->loc, TNB_INVALID, "%s: variable '%s' has no value here", env->func,
                     tn_var_name(s->vars.at[i]));
    }
    ok = ok && interp_exec(vm, &f);
    if (ok)
        *out = f.r[s->code->results];
    interp_frame_close(vm, &f);
    return ok;
}

bool
interp_eval_dim(interp *vm, interp_env *env, const tn_expr *e, int64_t *out)
{
    if (tn_int_value(e, out))
        return true;
    const interp_val *v = tn_is_var(e) ? env_get(env, e) : NULL;
    if (v && v->kind == INTERP_V_SCALAR) {
        *out = v->scalar.i;
        return true;
    }
    interp_reg r;
    if (!eval_scalar(vm, env, e, &r))
        return false;
    *out = r.i;
    return true;
}

static bool
eval_dims(interp *vm, interp_env *env, tn_list l, int64_t *dims)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (!interp_eval_dim(vm, env, l.at[i], &dims[i]))
            return false;
    return true;
}

/* ---- matching values with types ---- */

static bool
mismatch(interp *vm, interp_env *env, const char *what, const interp_val *v, tn_loc loc,
         const char *wanted)
{
    tn_error(vm->ctx, loc, TNB_TYPE, "%s: '%s' is %s, expected %s", env->func, what,
             interp_describe(vm, v), wanted);
    return false;
}

/* Pass 0 binds variables, pass 1 compares extents. */
static bool
match_dims(interp *vm, interp_env *env, tn_list want, const interp_val *v, const char *what,
           tn_loc loc, int pass)
{
    if ((int64_t)want.n != v->ndim)
        return mismatch(vm, env, what, v, loc, tnb_printf(tn_scratch(vm->ctx), "rank %u", want.n));
    for (uint32_t i = 0; i < want.n; i++) {
        int64_t d;
        if (pass == 0) {
            if (tn_is_var(want.at[i]) && !env_get(env, want.at[i])) {
                interp_val *s = interp_int_val(vm, v->shape[i]);
                if (!s)
                    return false;
                env_set(vm, env, want.at[i], s);
            }
            continue;
        }
        if (!interp_eval_dim(vm, env, want.at[i], &d))
            return false;
        if (d != v->shape[i]) {
            tn_error(vm->ctx, loc, TNB_SHAPE,
                     "%s: '%s' has extent %lld in dimension %u, expected %lld", env->func, what,
                     (long long)v->shape[i], i, (long long)d);
            return false;
        }
    }
    return true;
}

static bool
match_pass(interp *vm, interp_env *env, const tn_type *t, const interp_val *v, const char *what,
           tn_loc loc, int pass)
{
    switch (t->kind) {
    case TN_KIND_TY_TENSOR: {
        const tn_ty_tensor *w = tn_as_ty_tensor(t);
        if (v->kind != INTERP_V_TENSOR)
            return mismatch(vm, env, what, v, loc, "a tensor");
        if (!tnb_dtype_is_void(w->dtype) && !tnb_dtype_eq(w->dtype, v->dtype))
            return mismatch(vm, env, what, v, loc,
                            tnb_printf(tn_scratch(vm->ctx), "dtype %s",
                                       tnb_dtype_print(w->dtype).s));
        const tn_shape_expr *s = tn_as_shape_expr(w->shape);
        if (s)
            return match_dims(vm, env, s->values, v, what, loc, pass);
        if (w->ndim >= 0 && w->ndim != v->ndim)
            return mismatch(vm, env, what, v, loc,
                            tnb_printf(tn_scratch(vm->ctx), "rank %lld", (long long)w->ndim));
        return true;
    }
    case TN_KIND_TY_SHAPE: {
        const tn_ty_shape *w = tn_as_ty_shape(t);
        if (v->kind != INTERP_V_SHAPE)
            return mismatch(vm, env, what, v, loc, "a shape");
        if (w->known)
            return match_dims(vm, env, w->values, v, what, loc, pass);
        return w->ndim < 0 || w->ndim == v->ndim || mismatch(vm, env, what, v, loc, "another rank");
    }
    case TN_KIND_TY_PRIM:
        return v->kind == INTERP_V_SCALAR || mismatch(vm, env, what, v, loc, "a scalar");
    case TN_KIND_TY_TUPLE: {
        tn_list f = tn_as_ty_tuple(t)->fields;
        if (v->kind != INTERP_V_TUPLE || v->n != f.n)
            return mismatch(vm, env, what, v, loc,
                            tnb_printf(tn_scratch(vm->ctx), "a tuple of %u", f.n));
        for (uint32_t i = 0; i < f.n; i++)
            if (!match_pass(vm, env, f.at[i], v->items[i], what, loc, pass))
                return false;
        return true;
    }
    default:
        return true;
    }
}

bool
interp_match_type(interp *vm, interp_env *env, const tn_type *t, const interp_val *v,
                  const char *what, tn_loc loc)
{
    return match_pass(vm, env, t, v, what, loc, 0) && match_pass(vm, env, t, v, what, loc, 1);
}

interp_val *
interp_alloc_of_type(interp *vm, interp_env *env, const tn_type *t, tn_loc loc)
{
    tn_list dims, fields;
    if (tn_is(t, TN_KIND_TY_TUPLE)) {
        fields = tn_as_ty_tuple(t)->fields;
        interp_val **items = TNB_NEW_N(env->arena, interp_val *, fields.n + 1);
        for (uint32_t i = 0; i < fields.n; i++) {
            if (!(items[i] = interp_alloc_of_type(vm, env, fields.at[i], loc))) {
                while (i--)
                    interp_val_unref(vm, items[i]);
                return NULL;
            }
        }
        return interp_tuple_val(vm, items, fields.n);
    }
    const tn_ty_tensor *w = tn_as_ty_tensor(t);
    int64_t shape[64];
    if (w && tn_is_var(w->shape)) {
        const interp_val *s = env_get(env, w->shape);
        if (s && s->kind == INTERP_V_SHAPE && !tnb_dtype_is_void(w->dtype))
            return interp_tensor_new(vm, w->dtype, s->ndim, s->shape, loc);
    }
    if (!w || tnb_dtype_is_void(w->dtype) || !tn_type_dims(t, &dims) || dims.n > 64) {
        tn_error(vm->ctx, loc, TNB_SHAPE, "%s: an output's shape or dtype is not known", env->func);
        return NULL;
    }
    if (!eval_dims(vm, env, dims, shape))
        return NULL;
    return interp_tensor_new(vm, w->dtype, (int32_t)dims.n, shape, loc);
}

/* ---- calls of tensor programs ---- */

bool
interp_call_prim(interp *vm, const char *name, const tn_prim_func *f, interp_val *const *args,
                 uint32_t n, interp_val **ret, tn_loc loc)
{
    uint32_t total = 0, at = 0;
    for (uint32_t i = 0; i < n; i++)
        total += args[i]->kind == INTERP_V_SHAPE ? (uint32_t)args[i]->ndim : 1;
    interp_arg *a = calloc(total + 1, sizeof *a);
    bool ok = a != NULL;
    if (!ok)
        tn_error(vm->ctx, loc, TNB_NO_MEMORY, "no memory for arguments");
    for (uint32_t i = 0; ok && i < n; i++) {
        const interp_val *v = args[i];
        if (v->kind == INTERP_V_TENSOR) {
            bool by_value = at < f->params.n && tn_dtype_of(f->params.at[at]).code != TNB_HANDLE;
            if (by_value && v->ndim == 0) { /* a scalar tensor for a scalar parameter */
                double d = 0;
                a[at].dtype = v->dtype;
                if (interp_class_of(v->dtype) == INTERP_INT)
                    tnb_load_i64(v->mem->bytes + v->offset, v->dtype, 0, &a[at].scalar.i);
                else if (tnb_load_f64(v->mem->bytes + v->offset, v->dtype, 0, &d))
                    a[at].scalar = interp_reg_of_double(v->dtype, d);
            } else {
                a[at] = (interp_arg){v->mem, v->offset, v->dtype, v->ndim, v->shape, {.i = 0}};
            }
            at++;
        } else if (v->kind == INTERP_V_SCALAR) {
            a[at].dtype = v->dtype;
            a[at++].scalar = v->scalar;
        } else if (v->kind == INTERP_V_SHAPE) {
            for (int32_t k = 0; k < v->ndim; k++) {
                a[at].dtype = TNB_I64;
                a[at++].scalar.i = v->shape[k];
            }
        } else {
            tn_error(vm->ctx, loc, TNB_TYPE, "%s: argument %u is %s, expected a tensor or scalar",
                     name ? name : "tensor program", i, interp_describe(vm, v));
            ok = false;
        }
    }
    interp_reg r = {.i = 0};
    ok = ok && interp_run_prim(vm, name, f, a, total, &r, loc);
    free(a);
    if (ok && ret) {
        bool scalar = f->ret && tn_is(f->ret, TN_KIND_TY_PRIM);
        *ret = scalar ? interp_val_new(vm, INTERP_V_SCALAR) : interp_tuple_val(vm, NULL, 0);
        ok = *ret != NULL;
        if (ok && scalar) {
            (*ret)->dtype = ((const tn_ty_prim *)f->ret)->dtype;
            (*ret)->scalar = r;
        }
    }
    return ok;
}

/* ---- expressions ---- */

/* A call in tail position, left to the caller's loop. */
typedef struct tail {
    bool wanted, made;
    interp_val *callee;
    interp_val **args;
    uint32_t n;
    tn_loc loc;
} tail;

static interp_val *
eval(interp *vm, interp_env *env, const tn_expr *e, tail *t);

static interp_val *
function_val(interp *vm, interp_env *env, const tn_expr *f)
{
    interp_val *v = interp_val_new(vm, INTERP_V_FUNC);
    if (!v)
        return NULL;
    tn_list vars = tn_free_vars(vm->ctx, f, false);
    v->node = f;
    v->m = env->m;
    if (!(v->items = interp_room(vm, vars.n, f->loc))) {
        interp_val_unref(vm, v);
        return NULL;
    }
    v->vars = tnb_dup(vm->arena, vars.at, vars.n * sizeof *vars.at);
    for (uint32_t i = 0; i < vars.n; i++) {
        interp_val *x = env_get(env, vars.at[i]);
        v->items[i] = x ? interp_val_ref(x) : interp_val_new(vm, INTERP_V_NULL);
        v->n_captured++;
    }
    return v;
}

static interp_val *
global_val(interp *vm, interp_env *env, const tn_expr *g)
{
    const char *name = tn_as_global_var(g)->name;
    const tn_node *f = tn_module_get(env->m, name);
    if (!f) {
        tn_error(vm->ctx, g->loc, TNB_NOT_FOUND, "%s: the module has no function '%s'", env->func,
                 name);
        return NULL;
    }
    if (tn_is(f, TN_KIND_EXTERN_FUNC))
        return interp_val_of_expr(vm, f, false);
    interp_val *v = interp_val_new(vm, INTERP_V_FUNC);
    if (v) {
        v->node = f;
        v->name = name;
        v->m = env->m;
    }
    return v;
}

static bool
truth(interp *vm, interp_env *env, const interp_val *v, tn_loc loc, bool *out)
{
    int64_t i = 0;
    if (v->kind == INTERP_V_SCALAR) {
        *out = v->scalar.i != 0;
        return true;
    }
    bool one = v->kind == INTERP_V_TENSOR;
    for (int32_t k = 0; one && k < v->ndim; k++)
        one = v->shape[k] == 1;
    if (one && tnb_load_i64(v->mem->bytes + v->offset, v->dtype, 0, &i)) {
        *out = i != 0;
        return true;
    }
    return mismatch(vm, env, "condition", v, loc, "a scalar bool");
}

static interp_val **
eval_list(interp *vm, interp_env *env, tn_list l)
{
    interp_val **v = interp_room(vm, l.n, 0);
    for (uint32_t i = 0; v && i < l.n; i++) {
        if (!(v[i] = eval(vm, env, l.at[i], NULL))) {
            while (i--)
                interp_val_unref(vm, v[i]);
            free(v);
            return NULL;
        }
    }
    return v;
}

static void
free_list(interp *vm, interp_val **v, uint32_t n)
{
    for (uint32_t i = 0; v && i < n; i++)
        interp_val_unref(vm, v[i]);
    free(v);
}

static interp_val *
eval_call(interp *vm, interp_env *env, const tn_expr *e, tail *t)
{
    const tn_call *c = tn_as_call(e);
    const tn_op *op = tn_call_op_of(c);
    interp_val *r = NULL;
    if (op) {
        bool handled = true;
        r = interp_structural(vm, env, c, op, &handled);
        return handled ? r : interp_legalized(vm, env, c, op);
    }
    interp_val **args = eval_list(vm, env, c->args);
    if (!args)
        return NULL;
    const tn_extern_func *x = tn_as_extern_func(c->op);
    if (x) {
        r = interp_builtin(vm, env, x->name, args, c->args.n, c);
    } else {
        interp_val *f = eval(vm, env, c->op, NULL);
        if (f && t && t->wanted && f->kind == INTERP_V_FUNC && tn_is(f->node, TN_KIND_FUNCTION)) {
            *t = (tail){true, true, f, args, c->args.n, e->loc};
            return NULL;
        }
        if (f && f->kind == INTERP_V_EXTERN)
            r = interp_builtin(vm, env, f->name, args, c->args.n, c);
        else
            r = f ? interp_call_val(vm, f, args, c->args.n, e->loc) : NULL;
        interp_val_unref(vm, f);
    }
    free_list(vm, args, c->args.n);
    return r;
}

static interp_val *
eval_seq(interp *vm, interp_env *env, const tn_seq_expr *s, tail *t)
{
    for (uint32_t i = 0; i < s->blocks.n; i++) {
        tn_list l = tn_as_bindings_block(s->blocks.at[i])->bindings;
        for (uint32_t k = 0; k < l.n; k++) {
            const tn_var_binding *b = tn_as_var_binding(l.at[k]);
            const tn_match_cast *mc = tn_as_match_cast(l.at[k]);
            const tn_node *var = b ? b->var : mc->var;
            bool last = b && i + 1 == s->blocks.n && k + 1 == l.n && s->body == var;
            interp_val *v = eval(vm, env, b ? b->value : mc->value, last ? t : NULL);
            if (!v)
                return NULL; /* an error, or a tail call */
            if (!b && !interp_match_type(vm, env, mc->to, v, var ? tn_var_name(var) : "match_cast",
                                         l.at[k]->loc)) {
                interp_val_unref(vm, v);
                return NULL;
            }
            if (var)
                env_set(vm, env, var, v);
            else
                interp_val_unref(vm, v);
        }
    }
    return eval(vm, env, s->body, t);
}

static interp_val *
eval(interp *vm, interp_env *env, const tn_expr *e, tail *t)
{
    interp_val *v, *r = NULL;
    const tn_op *op;
    switch (e->kind) {
    case TN_KIND_VAR:
    case TN_KIND_DATAFLOW_VAR:
        v = env_get(env, e);
        if (v)
            return interp_val_ref(v);
        tn_error(vm->ctx, e->loc, TNB_INVALID, "%s: variable '%s' has no value here", env->func,
                 tn_var_name(e));
        return NULL;
    case TN_KIND_SHAPE_EXPR: {
        tn_list l = tn_as_shape_expr(e)->values;
        int64_t few[16], *dims = l.n <= 16 ? few : TNB_NEW_N(env->arena, int64_t, l.n);
        return eval_dims(vm, env, l, dims) ? interp_shape_val(vm, (int32_t)l.n, dims) : NULL;
    }
    case TN_KIND_TUPLE: {
        tn_list l = tn_as_tuple(e)->fields;
        interp_val **items = eval_list(vm, env, l);
        if (items)
            r = interp_tuple_val(vm, items, l.n);
        free(items);
        return r;
    }
    case TN_KIND_TUPLE_GET: {
        const tn_tuple_get *g = tn_as_tuple_get(e);
        v = eval(vm, env, g->tuple, NULL);
        if (v && (v->kind != INTERP_V_TUPLE || g->index < 0 || g->index >= (int64_t)v->n))
            mismatch(vm, env, "operand of an index", v, e->loc, "a longer tuple");
        else if (v)
            r = interp_val_ref(v->items[g->index]);
        interp_val_unref(vm, v);
        return r;
    }
    case TN_KIND_GLOBAL_VAR:
        return global_val(vm, env, e);
    case TN_KIND_FUNCTION:
        return function_val(vm, env, e);
    case TN_KIND_IF_EXPR: {
        const tn_if_expr *i = tn_as_if_expr(e);
        bool yes = false;
        v = eval(vm, env, i->cond, NULL);
        bool ok = v && truth(vm, env, v, e->loc, &yes);
        interp_val_unref(vm, v);
        return ok ? eval(vm, env, yes ? i->then_branch : i->else_branch, t) : NULL;
    }
    case TN_KIND_SEQ_EXPR:
        return eval_seq(vm, env, tn_as_seq_expr(e), t);
    case TN_KIND_CALL:
        op = tn_call_op_of(tn_as_call(e));
        if (!(op && (op->flags & TN_OP_SCALAR)))
            return eval_call(vm, env, e, t);
        break;
    default:
        break;
    }
    bool leaf = e->kind == TN_KIND_INT_IMM || e->kind == TN_KIND_FLOAT_IMM;
    if (!tn_is_scalar(e) || leaf)
        return interp_val_of_expr(vm, e, false);
    interp_reg value;
    if (!eval_scalar(vm, env, e, &value) || !(r = interp_val_new(vm, INTERP_V_SCALAR)))
        return NULL;
    r->dtype = tn_dtype_of(e);
    r->scalar = value;
    return r;
}

interp_val *
interp_eval_expr(interp *vm, interp_env *env, const tn_expr *e)
{
    return eval(vm, env, e, NULL);
}

/* ---- calls of functions ---- */

static bool
bind_params(interp *vm, interp_env *env, const tn_function *f, interp_val *const *args, uint32_t n,
            const interp_val *closure, tn_loc loc)
{
    if (n != f->params.n) {
        tn_error(vm->ctx, loc, TNB_INVALID, "%s: takes %u arguments, %u are given", env->func,
                 f->params.n, n);
        return false;
    }
    for (uint32_t i = 0; closure && i < closure->n_captured; i++)
        env_set(vm, env, closure->vars[i], interp_val_ref(closure->items[closure->n + i]));
    for (uint32_t i = 0; i < n; i++)
        env_set(vm, env, f->params.at[i], interp_val_ref(args[i]));
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < n; i++)
            if (f->params.at[i]->type && !match_pass(vm, env, f->params.at[i]->type, args[i],
                                                     tn_var_name(f->params.at[i]), loc, pass))
                return false;
    return true;
}

interp_val *
interp_call_func(interp *vm, const tn_module *m, const char *name, const tn_node *func,
                 interp_val *const *args, uint32_t n, const interp_val *closure, tn_loc loc)
{
    enum { MAX_DEPTH = 400, TURN = 5000 /* scalar operations that take as long as a call */ };
    interp_val *r = NULL;
    const tn_prim_func *p = tn_as_prim_func(func);
    if (p)
        return interp_call_prim(vm, name, p, args, n, &r, loc) ? r : NULL;
    const tn_function *f = tn_as_function(func);
    interp_env env;
    if (!f) {
        tn_error(vm->ctx, loc, TNB_TYPE, "'%s' is no function", name ? name : "?");
        return NULL;
    }
    if (vm->depth >= MAX_DEPTH) {
        tn_error(vm->ctx, loc, TNB_UNSUPPORTED, "%s: calls are nested too deeply",
                 name ? name : "function");
        return NULL;
    }
    if (!env_open(vm, &env, m, name))
        return NULL;
    vm->depth++;
    tail t = {.wanted = true};
    interp_val *held = NULL, **held_args = NULL, **joined = NULL;
    uint32_t n_held = 0;
    bool ok = bind_params(vm, &env, f, args, n, closure, loc);
    while (ok) {
        t.made = false;
        r = eval(vm, &env, f->body, &t);
        if (!t.made)
            break;
        /* the same frame for the function called last */
        interp_val *g = t.callee;
        env_clear(vm, &env);
        free_list(vm, held_args, n_held);
        interp_val_unref(vm, held);
        held = g;
        held_args = t.args;
        n_held = t.n;
        f = tn_as_function(g->node);
        env.m = g->m;
        env.func = g->name ? g->name : "function";
        free(joined);
        joined = interp_room(vm, (size_t)g->n + t.n, t.loc);
        ok = joined != NULL;
        for (uint32_t i = 0; ok && i < g->n; i++)
            joined[i] = g->items[i];
        for (uint32_t i = 0; ok && i < t.n; i++)
            joined[g->n + i] = t.args[i];
        vm->spent += TURN;
        if (vm->spent > vm->budget) {
            vm->opt->out_of_budget = true;
            tn_error(vm->ctx, t.loc, TNB_CANCELLED, "%s: the budget of operations is used up",
                     env.func);
            ok = false;
        }
        ok = ok && bind_params(vm, &env, f, joined, g->n + t.n, g, t.loc);
    }
    if (!ok)
        r = NULL;
    vm->depth--;
    env_close(vm, &env);
    free_list(vm, held_args, n_held);
    interp_val_unref(vm, held);
    free(joined);
    return r;
}

interp_val *
interp_call_val(interp *vm, interp_val *f, interp_val *const *args, uint32_t n, tn_loc loc)
{
    if (f->kind != INTERP_V_FUNC) {
        tn_error(vm->ctx, loc, TNB_TYPE, "%s is called as a function", interp_describe(vm, f));
        return NULL;
    }
    if (f->n == 0)
        return interp_call_func(vm, f->m, f->name, f->node, args, n, f, loc);
    interp_val **all = interp_room(vm, (size_t)f->n + n, loc);
    if (!all)
        return NULL;
    for (uint32_t i = 0; i < f->n; i++)
        all[i] = f->items[i];
    for (uint32_t i = 0; i < n; i++)
        all[f->n + i] = args[i];
    interp_val *r = interp_call_func(vm, f->m, f->name, f->node, all, f->n + n, f, loc);
    free(all);
    return r;
}
