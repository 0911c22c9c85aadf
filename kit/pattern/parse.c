/* SPDX-License-Identifier: Apache-2.0 */
/* The notation of patterns; tenon/kit/pattern.h shows it. Recursive descent over the text. */
#include "pattern_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon/core/registry.h"
#include "tenon/core/text.h"

enum { MAX_DEPTH = 64, MAX_LIST = 64 };

typedef struct parser {
    tn_ctx *ctx;
    const char *text, *at;
    tnb_strmap names; /* name -> tnk_pat */
    int depth;
    bool failed;
} parser;

static tnk_pat *
parse_choice(parser *p);

static void *
wrong(parser *p, const char *wanted)
{
    if (p->failed)
        return NULL;
    p->failed = true;
    char found[24] = "the end";
    if (*p->at)
        snprintf(found, sizeof found, "'%.16s'", p->at);
    tn_error(p->ctx, 0, TNB_INVALID, "pattern '%s', column %d: %s expected, found %s", p->text,
             (int)(p->at - p->text) + 1, wanted, found);
    return NULL;
}

static void
skip_space(parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool
take(parser *p, char c)
{
    skip_space(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static bool
need(parser *p, char c)
{
    char text[] = {'\'', c, '\'', 0};
    return take(p, c) || wrong(p, text);
}

static bool
take_dots(parser *p)
{
    skip_space(p);
    if (strncmp(p->at, "...", 3) != 0)
        return false;
    p->at += 3;
    return true;
}

/* letters, digits, '_' and '.', not ending with '.'; NULL: none here */
static const char *
take_word(parser *p)
{
    skip_space(p);
    const char *s = p->at;
    if (!isalpha((unsigned char)*s) && *s != '_')
        return NULL;
    while (isalnum((unsigned char)*s) || *s == '_' || (*s == '.' && isalpha((unsigned char)s[1])))
        s++;
    const char *w = tn_strn(p->ctx, p->at, (size_t)(s - p->at));
    p->at = s;
    return w;
}

static bool
take_int(parser *p, int64_t *v)
{
    skip_space(p);
    char *end;
    long long n = strtoll(p->at, &end, 10);
    if (end == p->at)
        return wrong(p, "a number");
    p->at = end;
    *v = n;
    return true;
}

/* "text" */
static const char *
need_string(parser *p)
{
    if (!take(p, '"'))
        return wrong(p, "a name in quotes");
    const char *end = strchr(p->at, '"');
    if (!end)
        return wrong(p, "a closing quote");
    const char *s = tn_strn(p->ctx, p->at, (size_t)(end - p->at));
    p->at = end + 1;
    return s;
}

/* Patterns up to ')', which is taken. False after an error. */
static bool
parse_list(parser *p, const tnk_pat **at, uint32_t *n, bool *open, bool *comma)
{
    *n = 0;
    *open = *comma = false;
    while (!take(p, ')')) {
        if (*n && !take(p, ','))
            return wrong(p, "',' or ')'");
        *comma |= *n > 0;
        if (take(p, ')'))
            return true;
        if (take_dots(p)) {
            *open = true;
            return need(p, ')');
        }
        if (*n == MAX_LIST)
            return wrong(p, "fewer than 64 patterns");
        if (!(at[*n] = parse_choice(p)))
            return false;
        ++*n;
    }
    return true;
}

/* ---- constraints ---- */

static bool
parse_dims(parser *p, tnk_pat *pat)
{
    int64_t dims[16];
    uint32_t n = 0;
    if (!need(p, '['))
        return false;
    while (!take(p, ']')) {
        if (n && !need(p, ','))
            return false;
        if (n == 16)
            return wrong(p, "at most 16 extents");
        if (take(p, '_'))
            dims[n++] = -1;
        else if (!take_int(p, &dims[n++]))
            return false;
    }
    tnk_pat_shape(p->ctx, pat, dims, n);
    return true;
}

static const tn_node *
parse_value(parser *p)
{
    size_t used = 0;
    skip_space(p);
    const tn_node *v = tn_read_value(p->ctx, p->at, strlen(p->at), &used);
    p->at += used;
    return v ? v : wrong(p, "a value");
}

static bool
parse_constraint(parser *p, tnk_pat *pat)
{
    const char *key = take_word(p);
    if (!key)
        return wrong(p, "dtype, ndim, shape, uses or an attribute");
    if (!need(p, '='))
        return false;
    int64_t v;
    if (strcmp(key, "dtype") == 0) {
        tnb_dtype d;
        const char *w = take_word(p);
        if (!w || !tnb_dtype_parse(w, strlen(w), &d))
            return wrong(p, "a data type");
        tnk_pat_dtype(pat, d);
    } else if (strcmp(key, "ndim") == 0) {
        if (!take_int(p, &v))
            return false;
        tnk_pat_ndim(pat, v);
    } else if (strcmp(key, "uses") == 0) {
        if (!take_int(p, &v))
            return false;
        if (v < 0 || v > UINT32_MAX)
            return wrong(p, "a count");
        tnk_pat_uses(pat, (uint32_t)v);
    } else if (strcmp(key, "shape") == 0) {
        return parse_dims(p, pat);
    } else {
        const tn_node *value = parse_value(p);
        if (!value)
            return false;
        if (pat->kind != PATTERN_OP)
            return wrong(p, "an operator call before the attribute");
        tnk_pat_attr(p->ctx, pat, key, value);
    }
    return true;
}

static bool
parse_constraints(parser *p, tnk_pat *pat)
{
    do {
        if (!parse_constraint(p, pat))
            return false;
    } while (take(p, ','));
    return need(p, '}');
}

/* ---- patterns ---- */

static void
check_op(parser *p, const char *start, const tnk_pat *pat)
{
    tn_registry *r = tn_ctx_registry(p->ctx);
    if (!r || tn_find_op(r, pat->callee, NULL))
        return;
    const char *near = tn_nearest_name(r, "op", pat->callee);
    bool first = !p->failed;
    p->at = start;
    wrong(p, near ? tn_strf(p->ctx, "an operator (such as %s)", near) : "an operator");
    if (first)
        (void)tn_note_unusable(p->ctx, "op", pat->callee);
}

static tnk_pat *
parse_call(parser *p, const char *word, const char *start)
{
    const tnk_pat *args[MAX_LIST];
    uint32_t n;
    bool open, comma;
    bool tir = strcmp(word, "call_tir") == 0, packed = strcmp(word, "extern") == 0;
    const char *callee = word;
    if (tir || packed) {
        callee = need_string(p);
        if (!callee)
            return NULL;
        skip_space(p);
        if (*p->at != ')' && !need(p, ','))
            return NULL;
    }
    if (!parse_list(p, args, &n, &open, &comma))
        return NULL;
    if (tir)
        return tnk_pat_call_tir(p->ctx, callee, args, n, open);
    if (packed)
        return tnk_pat_extern(p->ctx, callee, args, n, open);
    tnk_pat *pat = tnk_pat_op(p->ctx, callee, args, n, open);
    check_op(p, start, pat);
    return p->failed ? NULL : pat;
}

static tnk_pat *
named(parser *p, const char *name, tnk_pat *pat)
{
    if (!pat)
        return NULL;
    if (tnb_strmap_has(&p->names, name))
        return wrong(p, tn_strf(p->ctx, "a name other than %s, which is taken,", name));
    tnb_strmap_set(&p->names, name, pat);
    return tnk_pat_called(p->ctx, pat, name);
}

static tnk_pat *
parse_item(parser *p);

static tnk_pat *
parse_primary(parser *p)
{
    const tnk_pat *at[MAX_LIST];
    uint32_t n;
    bool open, comma;
    skip_space(p);
    const char *start = p->at;
    if (take(p, '*'))
        return tnk_pat_any(p->ctx);
    if (take(p, '(')) {
        if (!parse_list(p, at, &n, &open, &comma))
            return NULL;
        if (open)
            return wrong(p, "a tuple without '...'");
        if (n == 1 && !comma)
            return tnk_pat_either(p->ctx, at, 1);
        return tnk_pat_tuple(p->ctx, at, n);
    }
    const char *word = take_word(p);
    if (!word)
        return wrong(p, "a pattern");
    if (take(p, '('))
        return parse_call(p, word, start);
    if (strcmp(word, "const") == 0)
        return tnk_pat_const(p->ctx);
    if (take(p, ':'))
        return named(p, word, parse_item(p));
    tnk_pat *seen = tnb_strmap_get(&p->names, word);
    return seen ? seen : named(p, word, tnk_pat_any(p->ctx));
}

/* a primary with its items and constraints */
static tnk_pat *
parse_item(parser *p)
{
    if (p->depth >= MAX_DEPTH)
        return wrong(p, "a pattern of at most 64 levels");
    p->depth++;
    tnk_pat *pat = parse_primary(p);
    while (pat) {
        if (take(p, '[')) {
            int64_t index = -1;
            if ((!take(p, '*') && !take_int(p, &index)) || !need(p, ']'))
                return NULL;
            pat = tnk_pat_item(p->ctx, pat, index);
        } else if (take(p, '{')) {
            if (!parse_constraints(p, pat))
                return NULL;
        } else {
            break;
        }
    }
    p->depth--;
    return pat;
}

static tnk_pat *
parse_choice(parser *p)
{
    const tnk_pat *choices[MAX_LIST];
    uint32_t n = 0;
    do {
        tnk_pat *c = n < MAX_LIST ? parse_item(p) : wrong(p, "fewer than 64 choices");
        if (!c)
            return NULL;
        choices[n++] = c;
        if (n == 1) {
            skip_space(p);
            if (*p->at != '|')
                return c;
        }
    } while (take(p, '|'));
    return tnk_pat_either(p->ctx, choices, n);
}

const tnk_pat *
tnk_pat_parse(tn_ctx *ctx, const char *text)
{
    parser p = {.ctx = ctx, .text = text, .at = text};
    tnb_strmap_init(&p.names, tn_scratch(ctx));
    tnk_pat *pat = parse_choice(&p);
    skip_space(&p);
    if (pat && *p.at)
        return wrong(&p, "the end");
    return p.failed ? NULL : pat;
}
