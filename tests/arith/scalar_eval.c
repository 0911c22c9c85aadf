/* SPDX-License-Identifier: Apache-2.0 */
#include "scalar_eval.h"
#include "tenon/base/scalar.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t
next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int
env_find(const env *e, const char *name)
{
    for (int i = 0; i < e->n; i++)
        if (strcmp(e->name[i], name) == 0)
            return i;
    return -1;
}

const tn_expr *
env_var(env *e, const char *name, tnb_dtype d)
{
    int i = env_find(e, name);
    if (i >= 0)
        return e->var[i];
    if (e->n == MAX_VARS)
        abort();
    e->name[e->n] = tn_str(e->ctx, name);
    e->var[e->n] = tn_var_dtype(e->ctx, name, d);
    return e->var[e->n++];
}

static const struct {
    const char *name;
    tn_kind kind;
} kinds[] = {
    {"+", TN_KIND_ADD},          {"-", TN_KIND_SUB},          {"*", TN_KIND_MUL},
    {"fdiv", TN_KIND_FLOOR_DIV}, {"fmod", TN_KIND_FLOOR_MOD}, {"tdiv", TN_KIND_DIV},
    {"tmod", TN_KIND_MOD},       {"min", TN_KIND_MIN},        {"max", TN_KIND_MAX},
    {"<", TN_KIND_LT},           {"<=", TN_KIND_LE},          {">", TN_KIND_GT},
    {">=", TN_KIND_GE},          {"==", TN_KIND_EQ},          {"!=", TN_KIND_NE},
    {"and", TN_KIND_AND},        {"or", TN_KIND_OR},
};

static const tn_expr *
read_one(env *e, const char **s)
{
    char word[32];
    int n = 0;
    while (**s == ' ')
        ++*s;
    bool open = **s == '(';
    if (open)
        ++*s;
    while (**s && **s != ' ' && **s != '(' && **s != ')' && n < 31)
        word[n++] = *(*s)++;
    word[n] = 0;
    if (!open) {
        if (isdigit((unsigned char)word[0]) || (word[0] == '-' && word[1]))
            return tn_i64(e->ctx, strtoll(word, NULL, 10));
        bool is_bool = n == 1 && word[0] >= 'p' && word[0] <= 'r';
        return env_var(e, word, is_bool ? TNB_B8 : TNB_I64);
    }
    const tn_expr *a[3] = {NULL, NULL, NULL}, *r = NULL;
    int k = 0;
    for (; k < 3; k++) {
        while (**s == ' ')
            ++*s;
        if (**s == ')')
            break;
        a[k] = read_one(e, s);
    }
    while (**s == ' ')
        ++*s;
    if (**s != ')') {
        fprintf(stderr, "bad test expression near '%s'\n", *s);
        abort();
    }
    ++*s;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(word, kinds[i].name) == 0)
            r = tn_raw_binary(e->ctx, kinds[i].kind, a[0], a[1]);
    if (strcmp(word, "not") == 0)
        r = tn_raw_not(e->ctx, a[0]);
    if (strcmp(word, "select") == 0)
        r = tn_select_of(e->ctx, a[0], a[1], a[2]);
    if (strcmp(word, "i32") == 0)
        r = tn_raw_cast(e->ctx, TNB_I32, a[0]);
    if (strcmp(word, "i64") == 0)
        r = tn_raw_cast(e->ctx, TNB_I64, a[0]);
    if (!r || tn_is_error(r)) {
        fprintf(stderr, "bad test operator '%s'\n", word);
        abort();
    }
    return r;
}

const tn_expr *
read_expr(env *e, const char *text)
{
    return read_one(e, &text);
}

static int64_t
floor_div(int64_t x, int64_t y)
{
    int64_t q = x / y;
    return q * y != x && ((x < 0) != (y < 0)) ? q - 1 : q;
}

static bool
eval_binary(tn_kind k, int64_t x, int64_t y, int64_t *out)
{
    bool divides =
        k == TN_KIND_DIV || k == TN_KIND_MOD || k == TN_KIND_FLOOR_DIV || k == TN_KIND_FLOOR_MOD;
    if (divides && y == 0)
        return false;
    switch (k) {
    case TN_KIND_ADD:
        *out = x + y;
        return true;
    case TN_KIND_SUB:
        *out = x - y;
        return true;
    case TN_KIND_MUL:
        *out = x * y;
        return true;
    case TN_KIND_DIV:
        *out = x / y;
        return true;
    case TN_KIND_MOD:
        *out = x % y;
        return true;
    case TN_KIND_FLOOR_DIV:
        *out = floor_div(x, y);
        return true;
    case TN_KIND_FLOOR_MOD:
        *out = x - floor_div(x, y) * y;
        return true;
    case TN_KIND_MIN:
        *out = x < y ? x : y;
        return true;
    case TN_KIND_MAX:
        *out = x > y ? x : y;
        return true;
    case TN_KIND_EQ:
        *out = x == y;
        return true;
    case TN_KIND_NE:
        *out = x != y;
        return true;
    case TN_KIND_LT:
        *out = x < y;
        return true;
    case TN_KIND_LE:
        *out = x <= y;
        return true;
    case TN_KIND_GT:
        *out = x > y;
        return true;
    case TN_KIND_GE:
        *out = x >= y;
        return true;
    case TN_KIND_AND:
        *out = x && y;
        return true;
    case TN_KIND_OR:
        *out = x || y;
        return true;
    default:
        return false;
    }
}

bool
eval_expr(const env *e, const tn_expr *x, int64_t *out)
{
    int64_t a, b, c;
    if (tn_int_value(x, out))
        return true;
    for (int i = 0; i < e->n; i++) {
        if (e->var[i] == x) {
            *out = e->value[i];
            return true;
        }
    }
    const tn_binary *bin = tn_as_binary(x);
    if (bin) {
        if (!eval_expr(e, bin->a, &a) || !eval_expr(e, bin->b, &b) ||
            !eval_binary(x->kind, a, b, out))
            return false;
        *out = tnb_wrap_i64(tn_dtype_of(x), *out);
        return true;
    }
    const tn_select *s = tn_as_select(x);
    if (s) { /* both sides are evaluated */
        if (!eval_expr(e, s->cond, &c) || !eval_expr(e, s->a, &a) || !eval_expr(e, s->b, &b))
            return false;
        *out = c ? a : b;
        return true;
    }
    const tn_cast *cast = tn_as_cast(x);
    if (cast)
        return eval_expr(e, cast->value, out);
    const tn_unary *u = tn_as_unary(x);
    if (u && eval_expr(e, u->a, &a)) {
        *out = !a;
        return true;
    }
    const tn_call *call = tn_as_call(x);
    if (call && call->args.n == 3 && eval_expr(e, call->args.at[0], &c))
        return eval_expr(e, call->args.at[c ? 1 : 2], out);
    return false;
}
