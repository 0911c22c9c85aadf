/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier: modules, and what graph and tensor level share. */
#include "verify.h"
#include <stdio.h>

tn_loc
tn_verify_at(verifier *v, const tn_node *n)
{
    if (n && n->loc)
        return n->loc;
    if (!v->place)
        v->place =
            tn_loc_make(v->ctx, (tnb_place){.node = tn_strf(v->ctx, "function '%s'", v->func)});
    return v->place;
}

bool
tn_verify_error(verifier *v, const tn_node *n, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    v->errors++;
    tn_error(v->ctx, tn_verify_at(v, n), TNB_INVALID, "%s", text);
    if (n && n->loc)
        tnb_diag_note(tn_diags(v->ctx), "in function '%s'", v->func);
    return false;
}

/* ---- scalar expressions ---- */
static void
check_let(verifier *v, const tn_let *e)
{
    tn_verify_scalar(v, e->value);
    if (!tnb_dtype_eq(tn_dtype_of(e->var), tn_dtype_of(e->value)))
        tn_verify_error(v, &e->base, "variable '%s' is %s, its value %s", tn_var_name(e->var),
                        tnb_dtype_print(tn_dtype_of(e->var)).s,
                        tnb_dtype_print(tn_dtype_of(e->value)).s);
    tnb_ptrmap_set(&v->defined, e->var, e->var);
    tn_verify_scalar(v, e->body);
}

/* The dtype that the node says it has is the one its operands give. */
static void
check_dtype(verifier *v, const tn_node *e)
{
    if (e->kind < TN_KIND_FIRST_SCALAR || e->kind > TN_KIND_LAST_SCALAR)
        return;
    uint32_t errors = tnb_diags_errors(tn_diags(v->ctx));
    tn_loc old = tn_at(v->ctx, tn_verify_at(v, e));
    const tn_type *t = tn_infer(v->ctx, e);
    tn_at(v->ctx, old);
    if (tn_is_error(t))
        v->errors += tnb_diags_errors(tn_diags(v->ctx)) - errors;
    else if (t != e->type)
        tn_verify_error(v, e, "a %s is marked as %s, but its operands make it %s",
                        tn_kinds[e->kind].name, tn_brief(v->ctx, e->type), tn_brief(v->ctx, t));
}

void
tn_verify_scalar(verifier *v, const tn_node *e)
{
    if (!e || v->errors >= MAX_ERRORS_PER_FUNCTION)
        return;
    if (tn_is_var(e) || e->kind == TN_KIND_BUFFER) {
        const tn_node *as = tnb_ptrmap_get(&v->defined, e);
        if (as == e)
            return;
        if (as) {
            tn_verify_error(v, as, "block '%s' uses the loop variable '%s' directly",
                            ((const tn_block *)as)->name, tn_var_name(e));
            tnb_diag_hint(tn_diags(v->ctx), "bind it to an iteration variable of the block");
            tnb_ptrmap_set(&v->defined, e, e);
            return;
        }
        tn_verify_error(v, e, "%s '%s' is used, but not defined here",
                        tn_is_var(e) ? "variable" : "buffer",
                        tn_is_var(e) ? tn_var_name(e) : ((const tn_buffer *)e)->name);
        tnb_ptrmap_set(&v->defined, e, e); /* told once */
        return;
    }
    if (tn_is_error(e)) {
        tn_verify_error(v, e, "an error node is part of the module");
        return;
    }
    if (e->flags & TN_FLAG_INTERNED)
        return;
    const uint32_t seen = v->seen.n;
    tnb_ptrmap_set(&v->seen, e, e);
    if (v->seen.n == seen)
        return;
    if (e->kind == TN_KIND_LET) {
        check_let(v, (const tn_let *)e);
        return;
    }
    if (e->kind == TN_KIND_INDEX_MAP || e->kind == TN_KIND_COMM_REDUCER ||
        e->kind == TN_KIND_TY_FUNC || e->kind == TN_KIND_FUNCTION)
        return; /* closed by themselves, with variables of their own */
    for (const tn_field *f = tn_kinds[e->kind].fields; f->name; f++) {
        if (f->type == TN_FIELD_NODE) {
            tn_verify_scalar(v, tn_field_node(e, f));
        } else if (f->type == TN_FIELD_LIST) {
            tn_list l = tn_field_list(e, f);
            for (uint32_t i = 0; i < l.n; i++)
                tn_verify_scalar(v, l.at[i]);
        }
    }
    check_dtype(v, e);
}

/* ---- modules ---- */
static void
verify_one(verifier *v, const char *name, const tn_node *f)
{
    v->func = name;
    v->place = 0;
    v->errors = 0;
    tnb_ptrmap_init(&v->defined, v->arena);
    tnb_ptrmap_init(&v->seen, v->arena);
    if (tn_is(f, TN_KIND_FUNCTION)) {
        const tn_string_imm *s = tn_as_string_imm(tn_func_attr(f, "global_symbol"));
        if (s && strcmp(s->value, name) != 0)
            tn_verify_error(v, f, "global_symbol is '%s', but the module calls the function '%s'",
                            s->value, name);
        tn_verify_attrs(v, f, ((const tn_function *)f)->attrs);
        tn_verify_function(v, (const tn_function *)f);
    } else if (tn_is(f, TN_KIND_PRIM_FUNC)) {
        tn_verify_attrs(v, f, ((const tn_prim_func *)f)->attrs);
        tn_verify_prim_func(v, (const tn_prim_func *)f);
    }
}

/* Tensor programs stand for themselves: one that was found right stays right. */
static bool
is_verified(const tn_module *before, const char *name, const tn_node *f)
{
    return before && tn_is(f, TN_KIND_PRIM_FUNC) && tn_module_get(before, name) == f;
}

bool
tn_is_found_right(const tn_ctx *ctx, const tn_call *c, const tn_node *with)
{
    return with && tnb_ptrmap_get(&ctx->right.calls, c) == with;
}

void
tn_note_right(tn_ctx *ctx, const tn_call *c, const tn_node *with)
{
    tn_found_right *r = &ctx->right;
    if (!r->arena)
        tnb_ptrmap_init(&r->calls, r->arena = tnb_arena_new());
    if (r->arena && with)
        tnb_ptrmap_set(&r->calls, c, with);
}

void
tn_forget_right(tn_ctx *ctx)
{
    tnb_arena_free(ctx->right.arena);
    ctx->right = (tn_found_right){0};
}

uint32_t
tn_verify_since(tn_ctx *ctx, const tn_module *before, const tn_module *m)
{
    verifier v = {.ctx = ctx, .module = m, .arena = tn_borrow_arena(ctx)};
    if (!m || !v.arena) {
        tn_error(ctx, 0, m ? TNB_NO_MEMORY : TNB_INTERNAL,
                 m ? "no memory for verifying" : "no module");
        tn_return_arena(ctx, v.arena);
        return 1;
    }
    uint32_t total = 0;
    tnb_ptrmap_init(&v.owner, v.arena);
    for (uint32_t i = 0; i < m->names.n; i++) {
        if (is_verified(before, tn_module_name(m, i), m->funcs.at[i]))
            continue;
        verify_one(&v, tn_module_name(m, i), m->funcs.at[i]);
        total += v.errors;
    }
    tn_return_arena(ctx, v.arena);
    if (!total)
        ctx->right.module = m;
    return total;
}

uint32_t
tn_verify(tn_ctx *ctx, const tn_module *m)
{
    return tn_verify_since(ctx, NULL, m);
}
