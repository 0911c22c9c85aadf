/* SPDX-License-Identifier: Apache-2.0 */
/* Random calls of every operator: tensors whose shape or rank is unknown, symbolic and empty extents, attributes and dtypes
 * right and wrong. Type inference gives a type, or an error that is not Tenon's own; a call that has a type is
 * legalized to a module that the verifier accepts, or refused likewise. TENON_CALLS: how many of each operator (100);
 * TENON_SEED: the generator's start; TENON_OP: that operator only.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon/core/text.h"
#include "tests/fuzz/random_graph.h"
#include "tops.h"

typedef struct draws {
    tops t;
    random_source rnd;
    const tn_expr *symbols[2];
    uint32_t calls, typed, legalized;
} draws;

static uint32_t
below(draws *d, uint32_t n)
{
    return random_below(&d->rnd, n);
}

static bool
chance(draws *d, uint32_t percent)
{
    return random_chance(&d->rnd, percent);
}

static tnb_dtype
any_dtype(draws *d)
{
    static const tnb_dtype all[] = {TNB_F32, TNB_F16, TNB_F64, TNB_I32,
                                    TNB_I64, TNB_I8,  TNB_U8,  TNB_B8};
    return chance(d, 5) ? TNB_VOID : all[below(d, sizeof all / sizeof *all)];
}

/* One of those that `words`, what an argument accepts, name. */
static tnb_dtype
fitting_dtype(draws *d, const char *words)
{
    if (chance(d, 5))
        return any_dtype(d);
    if (strstr(words, "float"))
        return TNB_F32;
    if (strstr(words, "int"))
        return chance(d, 50) ? TNB_I64 : TNB_I32;
    if (strstr(words, "bool"))
        return TNB_B8;
    return chance(d, 80) ? TNB_F32 : TNB_I32;
}

static const tn_expr *
extent(draws *d)
{
    tn_ctx *ctx = d->t.ctx;
    const tn_expr *s = d->symbols[below(d, 2)];
    switch (below(d, 10)) {
    case 0:
        return s;
    case 1:
        return tn_mul(ctx, s, tn_i64(ctx, 1 + below(d, 3)));
    case 2:
        return tn_sub(ctx, s, tn_i64(ctx, below(d, 3)));
    default:
        return tn_i64(ctx, below(d, 6));
    }
}

static tn_list
extents(draws *d, uint32_t n)
{
    tn_list dims = {0};
    for (uint32_t i = 0; i < n; i++)
        dims = tn_list_append(d->t.ctx, dims, extent(d));
    return dims;
}

/* The rank that the words want, most times. */
static uint32_t
fitting_rank(draws *d, const char *words)
{
    const char *rank = strstr(words, "of rank ");
    uint32_t n = below(d, 5);
    if (rank && chance(d, 90))
        n = (uint32_t)(rank[strlen("of rank ")] - '0') +
            (strstr(rank, "or more") ? below(d, 3) : 0);
    return n;
}

static const tn_expr *
tensor(draws *d, const char *words, uint32_t *rank)
{
    tn_ctx *ctx = d->t.ctx;
    tnb_dtype dtype = fitting_dtype(d, words);
    uint32_t n = chance(d, 70) && *rank != UINT32_MAX && !strstr(words, "of rank ")
                     ? *rank
                     : fitting_rank(d, words);
    const tn_type *type = chance(d, 12)   ? tn_ty_tensor_of(ctx, NULL, dtype, -1, NULL)
                          : chance(d, 12) ? tn_ty_tensor_of(ctx, NULL, dtype, n, NULL)
                                          : tn_ty_tensor_dims(ctx, extents(d, n), dtype);
    *rank = n;
    return tn_var_new(ctx, "x", type);
}

static const tn_expr *
scalar(draws *d, const char *words)
{
    tn_ctx *ctx = d->t.ctx;
    tnb_dtype dtype = strstr(words, "float") ? TNB_F32 : strstr(words, "bool") ? TNB_B8 : TNB_I64;
    if (chance(d, 20))
        return tn_var_new(ctx, "s", tn_ty_prim_of(ctx, chance(d, 10) ? any_dtype(d) : dtype));
    return tnb_dtype_is_float(dtype)
               ? tn_float_imm_of(ctx, dtype, below(d, 7) - 3.0)
               : tn_int_imm_of(ctx, dtype,
                               tnb_dtype_is_bool(dtype) ? below(d, 2) : below(d, 7) - 3);
}

static const tn_expr *
argument(draws *d, const char *words, uint32_t *rank)
{
    tn_ctx *ctx = d->t.ctx;
    if (!words || chance(d, 3))
        words = ((const char *[]){"tensor", "int tensor", "scalar", "shape",
                                  "tuple of tensor"})[below(d, 5)];
    if (strstr(words, "tuple of")) {
        tn_list fields = {0};
        for (uint32_t n = below(d, 5), i = 0; i < n; i++)
            fields =
                tn_list_append(ctx, fields,
                               strstr(words, "tensor") ? tensor(d, words, rank) : scalar(d, words));
        return tn_tuple_of(ctx, fields);
    }
    if (strstr(words, "shape")) {
        uint32_t n = chance(d, 60) && *rank < 9 ? *rank : below(d, 5);
        return chance(d, 15)   ? tn_var_new(ctx, "shape",
                                            tn_ty_shape_rank(ctx, chance(d, 50) ? -1 : (int64_t)n))
               : chance(d, 10) ? tn_var_new(ctx, "shape", tn_ty_shape_of(ctx, extents(d, n)))
                               : tn_shape_expr_of(ctx, extents(d, n));
    }
    if (strstr(words, "scalar") && (!strstr(words, "tensor") || chance(d, 25)))
        return scalar(d, words);
    return tensor(d, words, rank);
}

static const tn_node *
ints(draws *d)
{
    int64_t v[6];
    uint32_t n = below(d, 6);
    for (uint32_t i = 0; i < n; i++)
        v[i] = chance(d, 5) ? INT64_MAX - below(d, 2) : (int64_t)below(d, 6) - 2;
    return tn_int_array(d->t.ctx, v, n);
}

static const tn_node *
text(draws *d, const char *allowed)
{
    char word[64];
    uint32_t n = 0, k = 0;
    for (const char *s = allowed; s && *s; s++)
        n += *s == '|';
    if (!allowed || chance(d, 10))
        return tn_string(d->t.ctx, chance(d, 50) ? "NHWC" : "");
    k = below(d, n + 1);
    while (k) {
        k -= *allowed == '|';
        allowed++;
    }
    snprintf(word, sizeof word, "%.*s", (int)strcspn(allowed, "|"), allowed);
    return tn_string(d->t.ctx, word);
}

/* A value for an attribute; NULL: none of its type is made here. */
static const tn_node *
value(draws *d, const tn_attr_schema *a)
{
    static const double floats[] = {0, 1, -1, 0.5, 1e30, 3};
    tn_ctx *ctx = d->t.ctx;
    if ((a->flags & TN_ATTR_OPTIONAL) && chance(d, 10))
        return tn_none_value(ctx);
    switch (a->type) {
    case TN_ATTR_INT:
        return tn_i64(ctx, chance(d, 5) ? INT64_MIN + below(d, 2) : (int64_t)below(d, 7) - 2);
    case TN_ATTR_BOOL:
        return tn_bool(ctx, below(d, 2));
    case TN_ATTR_FLOAT:
        return tn_float_imm_of(ctx, TNB_F64, floats[below(d, 6)]);
    case TN_ATTR_STR:
        return text(d, a->allowed);
    case TN_ATTR_DTYPE:
        return tn_dtype_imm_of(ctx, any_dtype(d));
    case TN_ATTR_INTS:
        return ints(d);
    case TN_ATTR_EXPRS:
        return tn_array_of(ctx, extents(d, below(d, 5)));
    default:
        return NULL;
    }
}

static const tn_node *
attributes(draws *d, const tn_op *op)
{
    const tn_node *attrs = NULL;
    for (const tn_attr_schema *a = op->attrs; a && a->name; a++) {
        bool required = !a->fallback && !(a->flags & TN_ATTR_OPTIONAL);
        const tn_node *v = required || chance(d, 25) ? value(d, a) : NULL;
        if (v)
            attrs = tn_dict_set(d->t.ctx, attrs, a->name, v);
    }
    return attrs;
}

static void
check_errors(draws *d, const tn_op *op, const tn_expr *call)
{
    const tnb_diags *diags = tn_diags(d->t.ctx);
    for (uint32_t i = 0; i < tnb_diags_count(diags); i++)
        if (tnb_diags_get(diags, i)->status == TNB_INTERNAL) {
            tops_print_errors(&d->t);
            fail_msg("%s: an error of Tenon's own%s%s", op->base.name, call ? " of " : "",
                     call ? tn_text(d->t.ctx, call) : "");
        }
}

static void
draw(draws *d, const tn_op *op)
{
    tn_ctx *ctx = d->t.ctx;
    const tn_expr *args[16];
    uint32_t n = 0, rank = UINT32_MAX, least = 0;
    for (const tn_arg_schema *a = op->args; a && a->name && n < 16; a++)
        args[n++] = argument(d, a->accepts, &rank);
    least = op->min_args < 0 ? n : (uint32_t)op->min_args;
    if (n > least && chance(d, 40))
        n = least + below(d, n - least + 1);
    const tn_node *attrs = attributes(d, op);
    const tn_expr *call =
        tn_call_op(ctx, op->base.name + strlen("relax."), tn_list_of(ctx, args, n), attrs);
    d->calls++;
    if (tn_is_error(call)) {
        if (!tnb_diags_errors(tn_diags(ctx)))
            fail_msg("%s: refused without an error", op->base.name);
        check_errors(d, op, NULL);
        tnb_diags_clear(tn_diags(ctx));
        return;
    }
    d->typed++;
    tn_assumptions found = {0};
    const tn_module *m = NULL;
    if (tn_call_assumptions(ctx, tn_as_call(call), &found))
        m = tops_module(&d->t, op->base.name + strlen("relax."), attrs, args, n);
    m = m ? tops_legalize(&d->t, m) : NULL;
    if (!m && !tnb_diags_errors(tn_diags(ctx)))
        fail_msg("%s: %s refused without an error", op->base.name, tn_text(ctx, call));
    d->legalized += m != NULL;
    check_errors(d, op, call);
    tnb_diags_clear(tn_diags(ctx));
}

static void
fresh_context(draws *d)
{
    tn_ctx_free(d->t.ctx);
    d->t.ctx = tn_ctx_new(d->t.reg);
    d->symbols[0] = tn_var_dtype(d->t.ctx, "n", TNB_I64);
    d->symbols[1] = tn_var_dtype(d->t.ctx, "m", TNB_I64);
}

static void
calls_of_every_operator(void **state)
{
    draws d = {.t = {0}};
    const char *calls = getenv("TENON_CALLS"), *seed = getenv("TENON_SEED"),
               *only = getenv("TENON_OP");
    uint32_t n = calls ? (uint32_t)atoi(calls) : 100, i = 0;
    (void)state;
    assert_true(tops_open(&d.t));
    tn_registry_load_all(d.t.reg, "op");
    for (const tn_op *op; (op = tn_registry_entry(d.t.reg, "op", i)); i++) {
        if (op->flags & TN_OP_SCALAR || !op->legalize || strncmp(op->base.name, "relax.", 6))
            continue;
        if (only && strcmp(only, op->base.name + strlen("relax.")))
            continue;
        fresh_context(&d);
        d.rnd.state = (seed ? (uint64_t)atoll(seed) : 1) * 1000 + i;
        for (uint32_t k = 0; k < n; k++)
            draw(&d, op);
    }
    print_message("%u calls, %u have a type, %u were legalized\n", d.calls, d.typed, d.legalized);
    assert_true(only || d.legalized * 5 > d.calls);
    tops_close(&d.t);
}

int
main(void)
{
    /* what was never written is no pointer */
    mallopt(M_PERTURB, 0x41);
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_of_every_operator)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
