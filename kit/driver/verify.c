/* SPDX-License-Identifier: Apache-2.0 */
/* --verify: every pass is executed before and after, on the reference interpreter with seeded
 * random inputs.
 *
 * A module's results are kept while it is the state that the next pass starts from, so each state
 * runs once. A function is run again only if it, or something it can reach, changed. Where a pass
 * changes signatures it makes functions to compare with (tn_pass.adapt), which have to call the ones that are there. Of a
 * module without public graph functions the public tensor programs are run. What could not be compared
 * is remembered with its reason.
 */
#include "driver_private.h"

#include <math.h>

#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/workers.h"

enum { FIRST_BUDGET = 1000000000 };

/* Absolute and relative: what sums of float16 products leave of values around 1. */
static const double HALF_TOLERANCE = 0.03;
/* Of the largest magnitude: what is left of sums of products with numbers that are rounded to a 127th of the largest one beside them. */
static const double INT8_TOLERANCE = 0.03;
/* How often a value around 1 is rounded when a pass takes an operator apart (layer_norm: the mean,
 * the variance, and six steps) or puts some together: within the tolerance for float32, not for
 * narrower dtypes. */
static const double ROUNDINGS = 16;

struct outcome {
    const char *function;
    const tn_node *func;     /* in the module that gave it */
    const tn_expr *value;    /* NULL: not run */
    const char *why;         /* then the reason */
    const tn_function *like; /* whose parameters the arguments were made for; NULL: func's own */
    int64_t int_max;         /* integers of the arguments lie between 0 and this */
    const tn_node *dims;     /* extents of the arguments by symbol; NULL: drawn */
    bool beyond;             /* the reason is an index beyond an extent */
    bool unchecked; /* which compiled code would not refuse: it is one of a tensor program */
    bool broken; /* the reason is an error of the module: neither the budget nor something that the
                    evaluator does not know */
};

struct tnk_verify {
    tn_ctx *ctx;
    tn_pass_check check;
    uint64_t budget, seed;
    double rtol, atol;
    const tn_module *state; /* whose outcomes these are */
    TNB_VEC(struct outcome) outcomes;
    uint32_t verified;
    uint64_t longest;       /* scalar operations of one run */
    const tn_node *extents; /* of arguments by symbol, where the function takes them; or NULL */
    const char
        *covered; /* a function that, as the pass says, comparing others covers; NULL: none */
    TNB_VEC(const char *) unverified;
    bool out_of_budget;
};

/* ---- what can be run ---- */

/* Whether seeded values can be made up for a type. Extents that it does not tell are all the same
 * number, a rank is 1: whether the function takes these shows when it is run. */
static bool
can_make(const tn_type *t)
{
    switch ((int)t->kind) {
    case TN_KIND_TY_TENSOR:
    case TN_KIND_TY_SHAPE:
    case TN_KIND_TY_PRIM:
    case TN_KIND_TY_ANY: /* an object that is only handed on */
        return true;
    case TN_KIND_TY_TUPLE:
        for (uint32_t i = 0; i < tn_as_ty_tuple(t)->fields.n; i++)
            if (!can_make(tn_as_ty_tuple(t)->fields.at[i]))
                return false;
        return true;
    default:
        return false;
    }
}

static const tn_expr *
run(tnk_verify *v, const tn_module *m, const char *name, const tn_function *f, struct outcome *o)
{
    tnb_err err = {0};
    const tn_evaluator *ev = tn_find_evaluator(tn_ctx_registry(v->ctx), "interp", &err);
    if (!ev) {
        o->why = tn_strf(v->ctx, "%s", err.message);
        return NULL;
    }
    if (o->like)
        f = o->like;
    for (uint32_t i = 0; i < f->params.n; i++)
        if (!can_make(f->params.at[i]->type)) {
            o->why = tn_strf(v->ctx, "no values can be made up for parameter '%s'",
                             tn_var_name(f->params.at[i]));
            return NULL;
        }
    tn_list args;
    tn_eval_options opt = {.size = sizeof opt, .budget = v->budget};
    tn_ctx *child = tn_ctx_child(v->ctx); /* errors of a run are reasons here, not failures */
    if (!child)
        return NULL;
    const tn_expr *r = NULL;
    if (tn_random_args_within(child, &f->base, v->seed, o->dims, 0, o->int_max, &args))
        r = tnk_needs_workers(m)
                ? tnk_run_workers(child, ev, m, name, args.at, args.n, &opt, NULL)
                : TN_WITHIN(v->ctx, "evaluator", ev, NULL,
                            ev->run(ev->self, child, m, name, args.at, args.n, &opt));
    if (opt.spent > v->longest)
        v->longest = opt.spent;
    v->out_of_budget |= opt.out_of_budget;
    if (!r || tn_is_error(r)) {
        tnb_diags_first(tn_diags(child), &err);
        o->beyond = !opt.out_of_budget && err.status == TNB_BOUNDS;
        o->unchecked = o->beyond && opt.out_of_bounds;
        o->broken = !opt.out_of_budget && err.status != TNB_UNSUPPORTED &&
                    err.status != TNB_NOT_FOUND && err.status != TNB_NO_MEMORY;
        o->why = opt.out_of_budget ? tn_strf(v->ctx, "the budget of %llu operations is used up",
                                             (unsigned long long)v->budget)
                                   : tn_strf(v->ctx, "it could not be run: %s", err.message);
        r = NULL;
    } else {
        r = tn_ctx_splice(v->ctx, child, r);
    }
    tn_ctx_free(child);
    return r;
}

/* Extents that the function's assertions and calls take, near to those that are drawn; NULL: it has no
 * symbols, or none were found. */
static const tn_node *
fitting_extents(tnk_verify *v, const tn_node *func)
{
    tn_ctx *child = tn_defined_symbols(v->ctx, func).n ? tn_ctx_child(v->ctx) : NULL;
    if (!child)
        return NULL;
    const tn_node *dims = tn_find_extents(child, func, v->extents, NULL);
    dims = dims ? tn_ctx_splice(v->ctx, child, dims) : NULL;
    tn_ctx_free(child);
    return dims;
}

static const tn_expr *
run_with(tnk_verify *v, const tn_module *m, const char *name, const tn_function *f,
         struct outcome *o)
{
    static const int64_t limits[] = {3, 1, 0};
    const struct outcome asked = *o;
    const tn_expr *r = NULL;
    for (size_t i = 0; i < sizeof limits / sizeof *limits && (i == 0 || o->beyond); i++) {
        *o = asked;
        o->int_max = limits[i];
        r = run(v, m, name, f, o);
    }
    return r;
}

/* The first run of a function, which decides on the arguments: each symbol's extent as it was asked for
 * or drawn on its own, or
 * where the function refuses those, extents that it takes; integers up to 3, or what smaller ones
 * serve as indices of its tables. */
static const tn_expr *
run_first(tnk_verify *v, const tn_module *m, const char *name, const tn_function *f,
          struct outcome *o)
{
    const struct outcome asked = *o;
    o->dims = v->extents;
    const tn_expr *r = run_with(v, m, name, f, o);
    const tn_node *dims =
        r || !o->broken ? NULL : fitting_extents(v, &(o->like ? o->like : f)->base);
    if (!dims)
        return r;
    struct outcome again = asked;
    again.dims = dims;
    r = run_with(v, m, name, f, &again);
    if (r)
        *o = again;
    return r;
}

/* ---- what changed ---- */

struct reach {
    const tn_module *before, *after;
    tnb_strmap seen;
    bool changed;
};

static void
compare_reach(struct reach *r, const char *name);

static tn_walk_step
follow(void *user, const tn_node *n)
{
    const tn_global_var *g = tn_as_global_var(n);
    if (g)
        compare_reach(user, g->name);
    return ((struct reach *)user)->changed ? TN_WALK_STOP : TN_WALK_ON;
}

static void
compare_reach(struct reach *r, const char *name)
{
    if (r->changed || tnb_strmap_has(&r->seen, name))
        return;
    tnb_strmap_set(&r->seen, name, r);
    const tn_node *a = tn_module_get(r->before, name), *b = tn_module_get(r->after, name);
    if (a != b)
        r->changed = true;
    else if (b)
        tn_walk(b, 0, follow, NULL, r);
}

static bool
differs(tnk_verify *v, const tn_module *before, const tn_module *after, const char *name)
{
    struct reach r = {.before = before, .after = after};
    tnb_strmap_init(&r.seen, tn_scratch(v->ctx));
    compare_reach(&r, name);
    return r.changed;
}

/* Whether `b` can be called with the arguments of `a`: parameters of equal types, or of any type.
 */
static bool
takes_arguments_of(tn_ctx *ctx, const tn_function *b, const tn_function *a)
{
    if (a->params.n != b->params.n)
        return false;
    for (uint32_t i = 0; i < a->params.n; i++) {
        const tn_type *x = a->params.at[i]->type, *y = b->params.at[i]->type;
        if (!tn_is(y, TN_KIND_TY_ANY) && !tn_equal(ctx, x, y, true, NULL))
            return false;
    }
    return true;
}

/* ---- comparing ---- */

static struct outcome *
outcome_of(tnk_verify *v, const char *name)
{
    for (uint32_t i = 0; i < v->outcomes.n; i++)
        if (strcmp(v->outcomes.at[i].function, name) == 0)
            return &v->outcomes.at[i];
    struct outcome o = {.function = tn_str(v->ctx, name)};
    TNB_PUSH(tn_arena(v->ctx), v->outcomes, o);
    return &v->outcomes.at[v->outcomes.n - 1];
}

static void
leave_unverified(tnk_verify *v, const tn_pass_item *item, const char *name, const char *why)
{
    const char *line = tn_strf(v->ctx, "%s: %s: %s", item->name, name, why);
    for (uint32_t i = 0; i < v->unverified.n; i++)
        if (v->unverified.at[i] == line)
            return;
    TNB_PUSH(tn_arena(v->ctx), v->unverified, line);
}

static void
broken_by(tnk_verify *v, const tn_pass_item *item, const char *name, const struct outcome *o)
{
    tn_error(v->ctx, o->func->loc, TNB_DIFFERS,
             "pass %s breaks '%s': it ran before and does not after", item->name, name);
    tnb_diag_note(tn_diags(v->ctx), "%s", o->why);
    tnb_diag_note(tn_diags(v->ctx), "inputs: random, seed %llu", (unsigned long long)v->seed);
}

/* The module as it is given goes beyond a buffer, whatever the pass does: a kernel would use foreign memory. */
static void
beyond_buffer(tnk_verify *v, const char *name, const struct outcome *o)
{
    tn_error(v->ctx, o->func->loc, TNB_BOUNDS,
             "'%s' runs a tensor program that goes beyond a buffer, which a kernel does not check",
             name);
    tnb_diag_note(tn_diags(v->ctx), "%s", o->why);
    tnb_diag_note(tn_diags(v->ctx), "inputs: random, seed %llu", (unsigned long long)v->seed);
    tnb_diag_hint(tn_diags(v->ctx),
                  "correct the program's index, or guard the access with T.if_then_else");
}

static tn_walk_step
note_roundoff(void *user, const tn_node *n)
{
    const tn_buffer *b = tn_as_buffer(n);
    bool type = tn_is(n, TN_KIND_TY_TENSOR) || tn_is(n, TN_KIND_TY_PRIM);
    tnb_dtype d = b ? b->dtype : type ? tn_type_dtype(n) : TNB_VOID;
    double *unit = user, own = 0;
    d.lanes = 1;
    if (tnb_dtype_eq(d, TNB_F16))
        own = 0x1p-11;
    else if (tnb_dtype_eq(d, TNB_BF16))
        own = 0x1p-8;
    if (own > *unit)
        *unit = own;
    return TN_WALK_ON;
}

/* What a rounding of a value around 1 loses in the narrowest dtype that the module computes in; 0:
 * none is narrower than float32. */
static double
roundoff(const tn_module *m)
{
    double unit = 0;
    for (uint32_t i = 0; i < m->funcs.n; i++)
        tn_walk(m->funcs.at[i], TN_WALK_TYPES | TN_WALK_ONCE, note_roundoff, NULL, &unit);
    return unit;
}

/* The largest finite magnitude of a value's elements of float32; 0: there is none. */
static double
largest_of(tn_ctx *ctx, const tn_expr *value)
{
    const tn_tuple *t = tn_as_tuple(value);
    const tn_constant *c = t ? NULL : tn_as_constant(value);
    double most = 0;
    for (uint32_t i = 0; t && i < t->fields.n; i++)
        most = fmax(most, largest_of(ctx, t->fields.at[i]));
    const float *x = c && tnb_dtype_eq(c->data->dtype, TNB_F32) ? tn_data_get(ctx, c->data) : NULL;
    for (uint64_t i = 0; x && i < c->data->n_elems; i++)
        if (isfinite(x[i]))
            most = fmax(most, fabs((double)x[i]));
    return most;
}

static bool
values_agree(tnk_verify *v, tn_keeps keeps, const tn_module *before, const struct outcome *a,
             const struct outcome *b, tnb_buf *why)
{
    if (keeps == TN_KEEPS_BITS || keeps == TN_KEEPS_SIGNATURES)
        return tn_values_close(v->ctx, a->value, b->value, 0, 0, why);
    if (keeps == TN_KEEPS_HALF)
        return tn_values_close(v->ctx, a->value, b->value, HALF_TOLERANCE, HALF_TOLERANCE, why);
    if (keeps == TN_KEEPS_INT8)
        return tn_values_close(v->ctx, a->value, b->value, v->rtol,
                               INT8_TOLERANCE * largest_of(v->ctx, b->value), why);
    if (tn_values_close(v->ctx, a->value, b->value, v->rtol, v->atol, NULL))
        return true;
    double most = ROUNDINGS * roundoff(before);
    return tn_values_close(v->ctx, a->value, b->value, v->rtol > most ? v->rtol : most,
                           v->atol > most ? v->atol : most, why);
}

/* Whether what the function gave before and gives after agree as the pass promises. Where one of
 * them could not be run, that is told, and they count as equal. */
static bool
outcomes_agree(tnk_verify *v, const tn_pass_item *item, tn_keeps keeps, const tn_module *before,
               const char *name, const struct outcome *a, const struct outcome *b)
{
    if (!b->value && a->value && b->broken) {
        broken_by(v, item, name, b);
        return false;
    }
    if (!a->value && a->unchecked) {
        beyond_buffer(v, name, a);
        return false;
    }
    if (!a->value || !b->value) {
        const char *why = a->value ? b->why : a->why;
        leave_unverified(v, item, name, why ? why : "it could not be run");
        return true;
    }
    bool exact = keeps == TN_KEEPS_BITS || keeps == TN_KEEPS_SIGNATURES;
    tnb_buf why = {0};
    bool equal = values_agree(v, keeps, before, a, b, &why);
    if (equal) {
        v->verified++;
    } else {
        tn_error(v->ctx, b->func->loc, TNB_DIFFERS, "pass %s changes what '%s' computes",
                 item->name, name);
        tnb_diag_note(tn_diags(v->ctx), "%s", why.s ? why.s : "the results differ");
        tnb_diag_note(tn_diags(v->ctx), "inputs: random, seed %llu; %s",
                      (unsigned long long)v->seed,
                      exact ? "the pass promises equal bits" : "compared within the tolerance");
    }
    tnb_buf_free(&why);
    return equal;
}

/* Compares two functions that the pass made for the purpose; no result is kept. */
static bool
compare_adapted(tnk_verify *v, const tn_pass_item *item, tn_keeps keeps, const char *name,
                const tn_pass_side *before, const tn_pass_side *after)
{
    const tn_function *a = tn_as_function(tn_module_get(before->m, before->name)),
                      *b = tn_as_function(tn_module_get(after->m, after->name));
    struct outcome x = {.function = name, .func = TN_NODE(a), .like = a}, y = x;
    y.func = TN_NODE(b);
    if (!a || !b || !takes_arguments_of(v->ctx, b, a)) {
        leave_unverified(v, item, name, "its signature changed");
        return true;
    }
    x.value = run_first(v, before->m, before->name, a, &x);
    y.int_max = x.int_max;
    y.dims = x.dims;
    if (x.value)
        y.value = run(v, after->m, after->name, b, &y);
    return outcomes_agree(v, item, keeps, before->m, name, &x, &y);
}

/* ---- what a pass may adapt ---- */

struct caller {
    const char *name;      /* of the original */
    const tn_expr *result; /* what the caller gives; then what that is made of */
    bool calls;
};

static tn_walk_step
find_call(void *user, const tn_node *n)
{
    struct caller *c = user;
    const tn_call *call = tn_as_call(n);
    const tn_global_var *g = call ? tn_as_global_var(call->op) : NULL;
    c->calls |= g && strcmp(g->name, c->name) == 0;
    return c->calls ? TN_WALK_STOP : TN_WALK_ON;
}

/* Follows what a caller gives back to the call of the original: through names, fields and tuples, and what converts extents. */
static bool
gives_call(const tn_function *f, const char *name)
{
    const tn_seq_expr *s = tn_as_seq_expr(f->body);
    struct caller c = {.name = name, .result = s ? s->body : f->body};
    for (uint32_t b = s ? s->blocks.n : 0; b-- > 0;) {
        const tn_list all = tn_as_bindings_block(s->blocks.at[b])->bindings;
        for (uint32_t i = all.n; i-- > 0;) {
            const tn_var_binding *vb = tn_as_var_binding(all.at[i]);
            if (!vb || !tn_uses(c.result, vb->var))
                continue;
            const tn_call *call = tn_as_call(vb->value);
            if (call && tn_walk(vb->value, 0, find_call, NULL, &c))
                return false; /* another call's result */
            if (call)
                return c.calls;
            c.result = vb->value;
        }
    }
    tn_walk(c.result, 0, find_call, NULL, &c);
    return c.calls;
}

/* Whether an adapted side still is what it was made of: the module has all its functions as they were, and the one to compare
 * is the function itself, or one added that gives what a call of it gives and uses all of its own parameters. NULL, or what is wrong. */
static const char *
adapted_beyond(tnk_verify *v, const tn_module *m, const char *name, const tn_pass_side *side)
{
    for (uint32_t i = 0; i < m->names.n && side->m != m; i++)
        if (tn_module_get(side->m, tn_module_name(m, i)) != m->funcs.at[i])
            return tn_strf(v->ctx, "it changed '%s' for the comparison", tn_module_name(m, i));
    if (!side->name || strcmp(side->name, name) == 0)
        return NULL;
    const tn_function *f = tn_as_function(tn_module_get(side->m, side->name));
    if (!f || tn_module_get(m, side->name))
        return tn_strf(v->ctx, "it compared '%s' in place of '%s'", side->name, name);
    if (!gives_call(f, name))
        return tn_strf(v->ctx, "the function '%s' that it compared gives something else than '%s'",
                       side->name, name);
    for (uint32_t i = 0; i < f->params.n; i++)
        if (!tn_uses(f->body, f->params.at[i]))
            return tn_strf(v->ctx,
                           "the function '%s' that it compared does not use its parameter '%s'",
                           side->name, tn_var_name(f->params.at[i]));
    return NULL;
}

static bool
refuse_adapted(tnk_verify *v, const tn_pass_item *item, const tn_node *func, const char *name,
               const char *wrong)
{
    tn_error(v->ctx, func->loc, TNB_DIFFERS, "pass %s adapts what it is compared with for '%s'",
             item->name, name);
    tnb_diag_note(tn_diags(v->ctx), "%s", wrong);
    tnb_diag_hint(tn_diags(v->ctx),
                  "adapt may add functions that call the ones as they are; where a "
                  "pass changes on purpose what a function computes, it has to "
                  "say that they cannot be compared");
    return false;
}

/* What the pass makes of the function to be compared. False: it was compared, or cannot be; then
 * *equal tells. */
static bool
as_it_is(tnk_verify *v, const tn_pass_item *item, tn_keeps keeps, const tn_module *before,
         const tn_module *after, const char *name, bool *equal)
{
    const tn_pass *pass = tn_find_pass(tn_ctx_registry(v->ctx), item->name, NULL);
    *equal = true;
    if (!pass || !pass->adapt || !tn_as_function(tn_module_get(after, name)))
        return true;
    const tn_node *options = tn_pass_options(v->ctx, pass, item, before);
    tn_pass_ctx pc = {
        .ctx = v->ctx, .options = options, .opt_level = 2, .self = pass->self, .dir = item->dir};
    tn_pass_side a = {before, name}, b = {after, name};
    const char *why = NULL;
    uint32_t errors = tnb_diags_errors(tn_diags(v->ctx));
    if (tn_is_error(options) || !pass->adapt(&pc, &a, &b, &why)) {
        leave_unverified(v, item, name, why ? why : "nothing to compare it with could be made");
        outcome_of(v, name)->func = NULL; /* what is known of it is of an earlier state */
        *equal = tnb_diags_errors(tn_diags(v->ctx)) == errors;
        return false;
    }
    const char *wrong = adapted_beyond(v, before, name, &a);
    wrong = wrong ? wrong : adapted_beyond(v, after, name, &b);
    if (wrong) {
        *equal = refuse_adapted(v, item, tn_module_get(after, name), name, wrong);
        return false;
    }
    if (a.name && b.name && strcmp(a.name, name) == 0 && strcmp(b.name, name) == 0)
        return true;
    if (a.name && b.name)
        *equal = compare_adapted(v, item, keeps, name, &a, &b);
    else
        v->covered = name;
    outcome_of(v, name)->func = NULL; /* what is known of it is of an earlier state */
    return false;
}

static bool
compare_function(tnk_verify *v, const tn_pass_item *item, tn_keeps keeps, const tn_module *before,
                 const tn_module *after, const char *name)
{
    bool equal;
    if (!as_it_is(v, item, keeps, before, after, name, &equal))
        return equal;
    const tn_function *a = tn_as_function(tn_module_get(before, name)),
                      *b = tn_as_function(tn_module_get(after, name));
    if (!b || !takes_arguments_of(v->ctx, b, a)) {
        if (keeps != TN_KEEPS_SIGNATURES)
            leave_unverified(v, item, name, b ? "its signature changed" : "it is gone");
        return true;
    }
    struct outcome *o = outcome_of(v, name);
    if (v->state != before || o->func != &a->base) {
        const tn_function *like = o->like && takes_arguments_of(v->ctx, a, o->like) ? o->like : a;
        *o = (struct outcome){.function = o->function, .func = &a->base, .like = like};
        o->value = run_first(v, before, name, a, o);
    }
    if (!differs(v, before, after, name)) {
        o->func = &b->base;
        return true;
    }
    struct outcome next = {.function = o->function,
                           .func = &b->base,
                           .like = o->like,
                           .int_max = o->int_max,
                           .dims = o->dims};
    if (o->value)
        next.value = run(v, after, name, b, &next);
    else
        next.why = o->why;
    equal = outcomes_agree(v, item, keeps, before, name, o, &next);
    *outcome_of(v, name) = next;
    return equal;
}

/* ---- tensor programs without a graph ---- */

/* Whether made-up arguments may be indices that the program's user would not give it. */
static bool
takes_integers(const tn_node *program)
{
    const tn_prim_func *f = tn_as_prim_func(program);
    for (uint32_t i = 0; i < f->params.n; i++)
        if (!f->buffers.at[i] || !tnb_dtype_is_float(tn_as_buffer(f->buffers.at[i])->dtype))
            return true;
    return false;
}

/* What a tensor program leaves in arguments that are the same for equal seeds. */
static struct outcome
run_program(tnk_verify *v, const tn_module *m, const char *name, const tn_node *like,
            const tn_node *dims)
{
    struct outcome o = {.function = name, .func = tn_module_get(m, name)};
    tnb_err err = {0};
    const tn_evaluator *ev = tn_find_evaluator(tn_ctx_registry(v->ctx), "interp", &err);
    tn_ctx *child = ev ? tn_ctx_child(v->ctx) : NULL;
    tn_eval_options opt = {.size = sizeof opt, .budget = v->budget};
    tn_list args;
    if (!child) {
        o.why = tn_strf(v->ctx, "%s", err.message);
        return o;
    }
    if (tn_random_args(child, like, v->seed, dims, &args) &&
        TN_WITHIN(v->ctx, "evaluator", ev, NULL,
                  ev->run(ev->self, child, m, name, args.at, args.n, &opt))) {
        o.value = tn_ctx_splice(v->ctx, child, tn_tuple_of(child, args));
    } else {
        tnb_diags_first(tn_diags(child), &err);
        o.unchecked = opt.out_of_bounds && !takes_integers(like);
        o.broken = !opt.out_of_budget && err.status != TNB_UNSUPPORTED &&
                   err.status != TNB_NOT_FOUND && err.status != TNB_NO_MEMORY;
        o.why = tn_strf(v->ctx, "it could not be run: %s", err.message);
    }
    v->longest = opt.spent > v->longest ? opt.spent : v->longest;
    tn_ctx_free(child);
    return o;
}

static bool
compare_program(tnk_verify *v, const tn_pass_item *item, tn_keeps keeps, const tn_module *before,
                const tn_module *after, const char *name)
{
    const tn_prim_func *a = tn_as_prim_func(tn_module_get(before, name)),
                       *b = tn_as_prim_func(tn_module_get(after, name));
    bool same = a && b && a->params.n == b->params.n && a->buffers.n == b->buffers.n;
    for (uint32_t i = 0; same && i < a->buffers.n; i++)
        same = !a->buffers.at[i] == !b->buffers.at[i] &&
               (!a->buffers.at[i] || tnb_dtype_eq(tn_as_buffer(a->buffers.at[i])->dtype,
                                                  tn_as_buffer(b->buffers.at[i])->dtype));
    if (!same) {
        if (keeps != TN_KEEPS_SIGNATURES)
            leave_unverified(v, item, name, b ? "its signature changed" : "it is gone");
        return true;
    }
    if (!differs(v, before, after, name))
        return true;
    struct outcome x = run_program(v, before, name, TN_NODE(a), NULL);
    const tn_node *dims = x.broken ? fitting_extents(v, TN_NODE(a)) : NULL;
    if (dims)
        x = run_program(v, before, name, TN_NODE(a), dims);
    struct outcome y = run_program(v, after, name, TN_NODE(a), dims);
    return outcomes_agree(v, item, keeps, before, name, &x, &y);
}

static bool
is_public(const tn_node *f)
{
    return tn_func_attr(f, "global_symbol") != NULL;
}

/* Graph functions that can be called from outside; where there are none, tensor programs. */
static bool
compare(void *user, tn_ctx *ctx, const tn_pass_item *item, tn_keeps keeps, const tn_module *before,
        const tn_module *after)
{
    tnk_verify *v = user;
    bool equal = true, graph = false, any = false;
    uint32_t verified = v->verified, told = v->unverified.n;
    (void)ctx;
    v->covered = NULL;
    for (uint32_t i = 0; i < before->names.n; i++) {
        const tn_node *f = before->funcs.at[i];
        graph |= tn_as_function(f) && is_public(f);
    }
    for (uint32_t i = 0; i < before->names.n; i++) {
        const tn_node *f = before->funcs.at[i];
        const char *name = tn_module_name(before, i);
        if (!is_public(f) || !(graph ? tn_is(f, TN_KIND_FUNCTION) : tn_is(f, TN_KIND_PRIM_FUNC)))
            continue;
        any = true;
        equal &= graph ? compare_function(v, item, keeps, before, after, name)
                       : compare_program(v, item, keeps, before, after, name);
    }
    if (v->covered && v->verified == verified && v->unverified.n == told)
        leave_unverified(v, item, v->covered,
                         "the pass says that others cover it, but none was compared");
    if (!any && before != after)
        leave_unverified(v, item, "the module", "it has no public function to run");
    v->state = after;
    return equal;
}

tnk_verify *
tnk_verify_new(tn_ctx *ctx, uint64_t budget, double rtol, double atol, uint64_t seed)
{
    tnk_verify *v = TNB_NEW(tn_arena(ctx), tnk_verify);
    v->ctx = ctx;
    v->check = (tn_pass_check){.user = v, .compare = compare};
    v->budget = budget ? budget : FIRST_BUDGET;
    v->rtol = rtol > 0 ? rtol : 1e-3;
    v->atol = atol > 0 ? atol : 1e-5;
    v->seed = seed;
    return v;
}

void
tnk_verify_extents(tnk_verify *v, const tn_node *extents)
{
    v->extents = extents;
}

const tn_pass_check *
tnk_verify_check(tnk_verify *v)
{
    return &v->check;
}

tnk_verify_report
tnk_verify_result(const tnk_verify *v)
{
    return (tnk_verify_report){.verified = v->verified,
                               .longest = v->longest,
                               .unverified = v->unverified.at,
                               .n_unverified = v->unverified.n,
                               .out_of_budget = v->out_of_budget};
}
