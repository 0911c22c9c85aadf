/* SPDX-License-Identifier: Apache-2.0 */
/* Value numbers of scalar integer expressions.
 *
 * Sums and products of 64 bits are put in an order: what can be had furthest out first, the literal
 * last. So (x + i) + y, with x and y from outside the loop over i, has x + y as a part that moves out
 * of it, and accesses that differ by a constant share all but that. (Integers wrap: the order does
 * not matter. Narrower ones stay as they are, since what narrowed them saw to it that each step
 * fits.)
 */
#include "values.h"

enum { MAX_TERMS = 24, BIG = 1 << 20 };

void
tnk_values_init(tnk_values *s, tn_ctx *ctx, tn_arith *arith, tnk_scope *top)
{
    *s = (tnk_values){.ctx = ctx, .arith = arith, .top = top, .n_slots = 256};
    tnk_value none = {0};
    TNB_PUSH(tn_scratch(ctx), s->v, none);
    s->slots = TNB_NEW_N(tn_scratch(ctx), uint32_t, s->n_slots);
    tnb_ptrmap_init(&s->known, tn_scratch(ctx));
}

uint32_t
tnk_values_find(const tnk_values *s, const tn_node *e)
{
    uintptr_t n = (uintptr_t)tnb_ptrmap_get(&s->known, e);
    return n ? (uint32_t)n - 1 : 0;
}

static void
remember(tnk_values *s, const tn_expr *e, uint32_t n)
{
    tnb_ptrmap_set(&s->known, e, (void *)(uintptr_t)(n + 1));
}

static uint64_t
hash(const tnk_value *v)
{
    uint64_t h = v->kind * 0x9E3779B97F4A7C15u;
    h = (h ^ (uintptr_t)v->type) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (uintptr_t)v->id ^ (uint64_t)v->number) * 0x94D049BB133111EBu;
    h ^= h >> 29;
    h = (h ^ v->part[0]) * 0x9E3779B97F4A7C15u;
    h = (h ^ v->part[1]) * 0xBF58476D1CE4E5B9u;
    h = (h ^ v->part[2]) * 0x94D049BB133111EBu;
    return h ^ h >> 31;
}

static void
grow(tnk_values *s)
{
    s->n_slots *= 2;
    s->slots = TNB_NEW_N(tn_scratch(s->ctx), uint32_t, s->n_slots);
    for (uint32_t i = 1; i < s->v.n; i++) {
        uint32_t at = (uint32_t)hash(&s->v.at[i]) & (s->n_slots - 1);
        while (s->slots[at])
            at = (at + 1) & (s->n_slots - 1);
        s->slots[at] = i;
    }
}

bool
tnk_scope_holds(const tnk_scope *outer, const tnk_scope *s)
{
    while (s->depth > outer->depth)
        s = s->up;
    return s == outer;
}

static tnk_scope *
inner(tnk_scope *a, tnk_scope *b)
{
    return !a || (b && b->depth > a->depth) ? b : a;
}

static bool
is_division(unsigned kind)
{
    return kind == TN_KIND_DIV || kind == TN_KIND_MOD || kind == TN_KIND_FLOOR_DIV ||
           kind == TN_KIND_FLOOR_MOD;
}

/* The scope within which the value is not 0, NULL: none is known. */
static tnk_scope *
not_zero(tnk_values *s, uint32_t n, const tn_expr *e)
{
    tnk_value *v = &s->v.at[n];
    if (v->kind == TN_KIND_INT_IMM)
        return v->number ? s->top : NULL;
    if (v->nonzero)
        return v->nonzero;
    if (v->kind == TN_KIND_MUL) {
        tnk_scope *a = not_zero(s, v->part[0], NULL), *b = not_zero(s, v->part[1], NULL);
        if (a && b)
            return inner(a, b);
    }
    int64_t lo, hi;
    if (!e || v->asked)
        return NULL;
    tn_bounds(s->arith, e, &lo, &hi);
    v = &s->v.at[n];
    v->asked = true;
    if (lo > 0 || hi < 0)
        v->nonzero = s->top;
    return v->nonzero;
}

/* The number of a value whose kind, type, id, number and parts are set; `divisor`: the node of part[1],
 * may be NULL. */
static uint32_t
intern(tnk_values *s, tnk_value *v, const tn_expr *divisor)
{
    uint32_t at = (uint32_t)hash(v) & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        const tnk_value *o = &s->v.at[s->slots[at]];
        if (o->kind == v->kind && o->type == v->type && o->id == v->id && o->number == v->number &&
            !memcmp(o->part, v->part, sizeof v->part))
            return s->slots[at];
    }
    uint64_t size = v->part[0] ? 1 : 0;
    v->at = s->top;
    for (int i = 0; i < 3 && v->part[i]; i++) {
        const tnk_value *p = &s->v.at[v->part[i]];
        tnk_scope *both = inner(v->at, p->at);
        /* a part that divides by what only another loop shows not to be 0 */
        v->faults |= p->faults || !tnk_scope_holds(v->at, both) || !tnk_scope_holds(p->at, both);
        v->at = both;
        size += p->size;
    }
    if (is_division(v->kind)) {
        tnk_scope *from = not_zero(s, v->part[1], divisor);
        size += s->v.at[v->part[1]].kind == TN_KIND_INT_IMM ? 2 : 4;
        v->at = inner(v->at, from);
        v->faults |= !from;
    }
    v->size = size < BIG ? (uint32_t)size : BIG;
    s->slots[at] = s->v.n;
    TNB_PUSH(tn_scratch(s->ctx), s->v, *v);
    if (s->v.n * 2 > s->n_slots)
        grow(s);
    return s->v.n - 1;
}

static uint32_t
literal(tnk_values *s, const tn_type *type, int64_t value)
{
    tnk_value v = {.kind = TN_KIND_INT_IMM, .type = type, .number = value};
    return intern(s, &v, NULL);
}

static uint32_t
operation(tnk_values *s, unsigned kind, const tn_type *type, uint32_t a, uint32_t b)
{
    tnk_value v = {.kind = kind, .type = type, .part = {a, b}};
    return intern(s, &v, NULL);
}

bool
tnk_values_define(tnk_values *s, const tn_expr *var, tnk_scope *at)
{
    if (tnb_ptrmap_has(&s->known, var))
        return false;
    tnk_value v = {.kind = TN_KIND_VAR, .type = var->type, .id = var, .expr = var};
    uint32_t n = intern(s, &v, NULL);
    s->v.at[n].at = at;
    remember(s, var, n);
    return true;
}

void
tnk_values_turns(tnk_values *s, uint32_t extent, tnk_scope *from, tnk_scope *to)
{
    tnk_value *v = &s->v.at[extent];
    if (v->nonzero == from && v->kind != TN_KIND_INT_IMM)
        v->nonzero = to;
    if (v->kind != TN_KIND_MUL)
        return;
    uint32_t b = v->part[1];
    tnk_values_turns(s, v->part[0], from, to);
    tnk_values_turns(s, b, from, to);
}

/* ---- sums and products ---- */

typedef struct term {
    uint32_t n;
    bool minus;
} term;

typedef struct terms {
    term at[MAX_TERMS];
    uint32_t n;
    int64_t literal; /* wraps */
    bool failed;
} terms;

static void
collect(tnk_values *s, const tn_expr *e, unsigned kind, bool minus, terms *t)
{
    const tn_binary *b = tn_as_binary(e);
    bool sum = kind == TN_KIND_ADD;
    int64_t c;
    if (t->n + 2 < MAX_TERMS && (e->kind == kind || (sum && e->kind == TN_KIND_SUB))) {
        collect(s, b->a, kind, minus, t);
        collect(s, b->b, kind, minus != (e->kind == TN_KIND_SUB), t);
    } else if (tn_int_value(e, &c)) {
        t->literal = (int64_t)(!sum    ? (uint64_t)t->literal * (uint64_t)c
                               : minus ? (uint64_t)t->literal - (uint64_t)c
                                       : (uint64_t)t->literal + (uint64_t)c);
    } else {
        uint32_t n = tnk_values_number(s, e);
        t->failed |= !n;
        if (t->n < MAX_TERMS)
            t->at[t->n++] = (term){n, minus};
        else
            t->failed = true;
    }
}

/* Outer ones first; among those of a scope the order in which they were met. */
static void
sort(const tnk_values *s, terms *t)
{
    for (uint32_t i = 1; i < t->n; i++) {
        term x = t->at[i];
        uint32_t depth = s->v.at[x.n].at->depth, j = i;
        for (; j > 0; j--) {
            const term *o = &t->at[j - 1];
            uint32_t od = s->v.at[o->n].at->depth;
            if (od < depth || (od == depth && o->n <= x.n))
                break;
            t->at[j] = *o;
        }
        t->at[j] = x;
    }
    for (uint32_t i = 0; i < t->n; i++) /* begins with what is added */
        if (!t->at[i].minus) {
            term x = t->at[i];
            memmove(t->at + 1, t->at, i * sizeof *t->at);
            t->at[0] = x;
            return;
        }
}

static uint32_t
ordered(tnk_values *s, const tn_expr *e, unsigned kind)
{
    terms t = {.literal = kind == TN_KIND_MUL};
    collect(s, e, kind, false, &t);
    if (t.failed)
        return 0;
    sort(s, &t);
    if (kind == TN_KIND_MUL) {
        if (t.literal == 0)
            t.n = 0;
        uint32_t n = t.n ? t.at[0].n : literal(s, e->type, t.literal);
        for (uint32_t i = 1; i < t.n; i++)
            n = operation(s, kind, e->type, n, t.at[i].n);
        return t.n && t.literal != 1
                   ? operation(s, kind, e->type, n, literal(s, e->type, t.literal))
                   : n;
    }
    bool led = t.n && !t.at[0].minus;
    uint32_t n = led ? t.at[0].n : literal(s, e->type, t.literal);
    for (uint32_t i = led; i < t.n; i++)
        n = operation(s, t.at[i].minus ? TN_KIND_SUB : TN_KIND_ADD, e->type, n, t.at[i].n);
    if (!led || t.literal == 0)
        return n;
    bool minus = t.literal < 0 && t.literal != INT64_MIN;
    return operation(s, minus ? TN_KIND_SUB : TN_KIND_ADD, e->type, n,
                     literal(s, e->type, minus ? -t.literal : t.literal));
}

/* ---- expressions ---- */

static bool
is_index(tnb_dtype d)
{
    return d.lanes == 1 && tnb_dtype_is_int(d) && (d.bits == 32 || d.bits == 64);
}

static bool
is_truth(tnb_dtype d)
{
    return d.lanes == 1 && d.code == TNB_BOOL;
}

/* Calls whose value depends on their arguments only. */
static bool
is_pure(const tn_expr *e)
{
    switch ((int)tn_intrin_of(e)) {
    case TN_INTRIN_if_then_else:
    case TN_INTRIN_shift_left:
    case TN_INTRIN_shift_right:
    case TN_INTRIN_bitwise_and:
    case TN_INTRIN_bitwise_or:
    case TN_INTRIN_bitwise_xor:
    case TN_INTRIN_likely:
        return true;
    default:
        return false;
    }
}

static bool
faults(const tnk_values *s, uint32_t n)
{
    return n && s->v.at[n].faults;
}

static uint32_t
number_parts(tnk_values *s, const tn_expr *e, const tn_expr *const *parts, uint32_t n,
             const void *id)
{
    tnk_value v = {.kind = e->kind, .type = e->type, .id = id};
    for (uint32_t i = 0; i < n; i++) {
        v.part[i] = tnk_values_number(s, parts[i]);
        if (!v.part[i])
            return 0;
    }
    /* what guards an operand that may fault stays where it is */
    bool guards = e->kind == TN_KIND_AND || e->kind == TN_KIND_OR || e->kind == TN_KIND_CALL;
    if (guards && (faults(s, v.part[0]) || faults(s, v.part[1]) || faults(s, v.part[2])))
        return 0;
    return intern(s, &v, n == 2 ? parts[1] : NULL);
}

static uint32_t
number(tnk_values *s, const tn_expr *e, tnb_dtype d)
{
    if (e->kind == TN_KIND_INT_IMM)
        return literal(s, e->type, ((const tn_int_imm *)e)->value);
    if ((e->kind == TN_KIND_ADD || e->kind == TN_KIND_SUB) && d.bits == 64)
        return ordered(s, e, TN_KIND_ADD);
    if (e->kind == TN_KIND_MUL && d.bits == 64)
        return ordered(s, e, TN_KIND_MUL);
    if (tn_is_binary(e)) {
        const tn_binary *b = (const tn_binary *)e;
        const tn_expr *parts[] = {b->a, b->b};
        bool truths = e->kind == TN_KIND_AND || e->kind == TN_KIND_OR;
        return truths == is_truth(tn_dtype_of(b->a)) ? number_parts(s, e, parts, 2, NULL) : 0;
    }
    switch (e->kind) {
    case TN_KIND_CAST:
        return is_index(d) && is_index(tn_dtype_of(((const tn_cast *)e)->value))
                   ? number_parts(s, e, &((const tn_cast *)e)->value, 1, NULL)
                   : 0;
    case TN_KIND_NOT:
        return number_parts(s, e, &((const tn_unary *)e)->a, 1, NULL);
    case TN_KIND_SELECT: {
        const tn_select *x = (const tn_select *)e;
        const tn_expr *parts[] = {x->cond, x->a, x->b};
        return number_parts(s, e, parts, 3, NULL);
    }
    case TN_KIND_CALL: {
        const tn_call *c = (const tn_call *)e;
        return c->args.n && c->args.n <= 3 && is_pure(e)
                   ? number_parts(s, e, c->args.at, c->args.n, tn_as_op_ref(c->op)->op)
                   : 0;
    }
    default:
        return 0;
    }
}

uint32_t
tnk_values_number(tnk_values *s, const tn_expr *e)
{
    tnb_dtype d = tn_dtype_of(e);
    if ((!is_index(d) && !is_truth(d)) || e->kind == TN_KIND_BUFFER_LOAD)
        return 0;
    uintptr_t known = (uintptr_t)tnb_ptrmap_get(&s->known, e);
    if (known || e->kind == TN_KIND_VAR)
        return known ? (uint32_t)known - 1 : 0;
    uint32_t n = number(s, e, d);
    remember(s, e, n);
    return n;
}
