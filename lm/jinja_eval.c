/* SPDX-License-Identifier: Apache-2.0 */
/* Running a template: values, expressions, statements. Memory comes from an arena of the run and is bounded, steps are counted. */
#include "config.h"
#include "jinja.h"

#include <math.h>
#include <stdlib.h>

#include "tokenizer.h"

/* ---- the run ---- */
jinja_value
jinja_fail(jinja_run *r, tnb_status st, const char *fmt, ...)
{
    if (r->status == TNB_OK) {
        va_list ap;
        va_start(ap, fmt);
        r->status = tnb_failv(r->err, st, fmt, ap);
        va_end(ap);
        tnb_err_prefix(r->err, "%s:%u", r->t->name, r->line);
    }
    return (jinja_value){0};
}

bool
jinja_step(jinja_run *r, size_t n)
{
    r->steps += n;
    if (r->steps > JINJA_STEPS)
        jinja_fail(r, TNB_BOUNDS, "the template takes more than %d steps", JINJA_STEPS);
    return r->status == TNB_OK;
}

void *
jinja_alloc(jinja_run *r, size_t n, size_t size)
{
    uint64_t bytes;
    void *p = NULL;
    if (!tnb_mul_u64(n, size, &bytes) || bytes > JINJA_MEMORY ||
        tnb_arena_used(r->arena) + bytes > JINJA_MEMORY)
        jinja_fail(r, TNB_BOUNDS, "the template takes more than %d bytes of memory", JINJA_MEMORY);
    else if (!(p = tnb_try_alloc_n(r->arena, n ? n : 1, size)))
        jinja_fail(r, TNB_NO_MEMORY, "no memory for the template's values");
    return p;
}

/* ---- values ---- */
jinja_value
jinja_bool(bool b)
{
    return (jinja_value){.kind = JINJA_BOOL, .i = b};
}

jinja_value
jinja_int(int64_t i)
{
    return (jinja_value){.kind = JINJA_INT, .i = i};
}

jinja_value
jinja_float(double f)
{
    return (jinja_value){.kind = JINJA_FLOAT, .f = f};
}

jinja_value
jinja_text(const char *s)
{
    return (jinja_value){.kind = JINJA_STRING, .s = s, .n = strlen(s)};
}

jinja_value
jinja_string(jinja_run *r, const char *s, size_t n)
{
    char *copy = jinja_alloc(r, n + 1, 1);
    jinja_step(r, n / 64);
    if (!copy)
        return jinja_text("");
    memcpy(copy, s, n);
    copy[n] = 0;
    return (jinja_value){.kind = JINJA_STRING, .s = copy, .n = n};
}

jinja_value
jinja_new_list(jinja_run *r, jinja_kind kind)
{
    static jinja_list none; /* of a run that has ended; nothing is appended to it */
    jinja_list *l = jinja_alloc(r, 1, sizeof *l);
    return (jinja_value){.kind = kind, .list = l ? l : &none};
}

void
jinja_append(jinja_run *r, jinja_value list, jinja_value v)
{
    jinja_list *l = list.list;
    if (!jinja_step(r, 1))
        return;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 4;
        jinja_value *more = jinja_alloc(r, cap, sizeof *more);
        if (!more)
            return;
        if (l->n)
            memcpy(more, l->at, l->n * sizeof *more);
        l->at = more;
        l->cap = cap;
    }
    l->at[l->n++] = v;
}

bool
jinja_is_number(jinja_value v)
{
    return v.kind == JINJA_BOOL || v.kind == JINJA_INT || v.kind == JINJA_FLOAT;
}

double
jinja_number(jinja_value v)
{
    return v.kind == JINJA_FLOAT ? v.f : (double)v.i;
}

bool
jinja_equal(jinja_run *r, jinja_value a, jinja_value b)
{
    if (!jinja_step(r, 1))
        return false;
    if (jinja_is_number(a) && jinja_is_number(b))
        return a.kind == JINJA_FLOAT || b.kind == JINJA_FLOAT ? jinja_number(a) == jinja_number(b)
                                                              : a.i == b.i;
    if (a.kind != b.kind)
        return false;
    bool same = true;
    jinja_value v;
    switch (a.kind) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return true;
    case JINJA_STRING:
        jinja_step(r, a.n / 64);
        return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
    case JINJA_LIST:
        same = a.list->n == b.list->n && a.tuple == b.tuple;
        r->depth++;
        if (r->depth > JINJA_DEPTH)
            jinja_fail(r, TNB_BOUNDS, "values are nested deeper than %d", JINJA_DEPTH);
        for (size_t i = 0; same && r->status == TNB_OK && i < a.list->n; i++)
            same = jinja_equal(r, a.list->at[i], b.list->at[i]);
        r->depth--;
        return same;
    case JINJA_DICT:
        same = a.list->n == b.list->n;
        r->depth++;
        if (r->depth > JINJA_DEPTH)
            jinja_fail(r, TNB_BOUNDS, "values are nested deeper than %d", JINJA_DEPTH);
        for (size_t i = 0; same && r->status == TNB_OK && i + 1 < a.list->n; i += 2)
            same = jinja_get(r, b, a.list->at[i], &v) && jinja_equal(r, v, a.list->at[i + 1]);
        r->depth--;
        return same;
    default:
        return a.list == b.list;
    }
}

bool
jinja_get(jinja_run *r, jinja_value dict, jinja_value key, jinja_value *out)
{
    for (size_t i = 0; i + 1 < dict.list->n && r->status == TNB_OK; i += 2)
        if (jinja_equal(r, dict.list->at[i], key)) {
            *out = dict.list->at[i + 1];
            return true;
        }
    return false;
}

void
jinja_set(jinja_run *r, jinja_value dict, jinja_value key, jinja_value v)
{
    for (size_t i = 0; i + 1 < dict.list->n && r->status == TNB_OK; i += 2)
        if (jinja_equal(r, dict.list->at[i], key)) {
            dict.list->at[i + 1] = v;
            return;
        }
    jinja_append(r, dict, key);
    jinja_append(r, dict, v);
}

int
jinja_order(jinja_run *r, jinja_value a, jinja_value b)
{
    if (jinja_is_number(a) && jinja_is_number(b)) {
        double x = jinja_number(a), y = jinja_number(b);
        return a.kind != JINJA_FLOAT && b.kind != JINJA_FLOAT ? (a.i > b.i) - (a.i < b.i)
                                                              : (x > y) - (x < y);
    }
    if (a.kind == JINJA_STRING && b.kind == JINJA_STRING) {
        int c = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
        return c ? c : (a.n > b.n) - (a.n < b.n);
    }
    if (a.kind == JINJA_LIST && b.kind == JINJA_LIST) {
        for (size_t i = 0; i < a.list->n && i < b.list->n && r->status == TNB_OK; i++)
            if (!jinja_equal(r, a.list->at[i], b.list->at[i]))
                return jinja_order(r, a.list->at[i], b.list->at[i]);
        return (a.list->n > b.list->n) - (a.list->n < b.list->n);
    }
    jinja_fail(r, TNB_INVALID, "values of different kinds have no order");
    return 0;
}

bool
jinja_truth(jinja_value v)
{
    switch (v.kind) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return false;
    case JINJA_BOOL:
    case JINJA_INT:
        return v.i != 0;
    case JINJA_FLOAT:
        return v.f != 0;
    case JINJA_STRING:
        return v.n != 0;
    case JINJA_LIST:
    case JINJA_DICT:
        return v.list->n != 0;
    default:
        return true;
    }
}

size_t
jinja_char_offset(jinja_value s, size_t i)
{
    size_t at = 0;
    for (; i && at < s.n; i--) {
        tnl_char c = tnl_char_at(s.s + at, s.n - at);
        at += c.n ? c.n : 1;
    }
    return at;
}

size_t
jinja_length(jinja_run *r, jinja_value v)
{
    size_t n = 0;
    switch (v.kind) {
    case JINJA_STRING:
        for (size_t i = 0; i < v.n; i++)
            n += ((uint8_t)v.s[i] & 0xc0) != 0x80;
        jinja_step(r, v.n / 64);
        return n;
    case JINJA_LIST:
        return v.list->n;
    case JINJA_DICT:
        return v.list->n / 2;
    case JINJA_UNDEFINED:
        return 0;
    default:
        jinja_fail(r, TNB_INVALID, "a value that is neither a text nor a list has no length");
        return 0;
    }
}

jinja_value
jinja_items(jinja_run *r, jinja_value v)
{
    jinja_value l;
    switch (v.kind) {
    case JINJA_LIST:
        return v;
    case JINJA_UNDEFINED:
        return jinja_new_list(r, JINJA_LIST);
    case JINJA_DICT:
        l = jinja_new_list(r, JINJA_LIST);
        for (size_t i = 0; i + 1 < v.list->n; i += 2)
            jinja_append(r, l, v.list->at[i]);
        return l;
    case JINJA_STRING:
        l = jinja_new_list(r, JINJA_LIST);
        for (size_t i = 0; i < v.n && r->status == TNB_OK;) {
            tnl_char c = tnl_char_at(v.s + i, v.n - i);
            size_t n = c.n ? c.n : 1;
            jinja_append(r, l, (jinja_value){.kind = JINJA_STRING, .s = v.s + i, .n = n});
            i += n;
        }
        return l;
    default:
        jinja_fail(r, TNB_INVALID,
                   "a value that is neither a text, a list nor a dictionary has no items");
        return jinja_new_list(r, JINJA_LIST);
    }
}

static jinja_value
undefined(const char *name)
{
    return (jinja_value){.kind = JINJA_UNDEFINED, .s = name, .n = name ? strlen(name) : 0};
}

static void
refuse_undefined(jinja_run *r, jinja_value v, const char *what)
{
    jinja_fail(r, TNB_INVALID, "'%.*s' is undefined%s%s", v.s ? (int)(v.n > 60 ? 60 : v.n) : 5,
               v.s ? v.s : "value", *what ? " and has no " : "", what);
}

jinja_value
jinja_attribute(jinja_run *r, jinja_value v, const char *name)
{
    jinja_value out;
    if (v.kind == JINJA_UNDEFINED) {
        refuse_undefined(r, v, name);
        return v;
    }
    if (v.kind == JINJA_NAMESPACE && jinja_get(r, v, jinja_text(name), &out))
        return out;
    if (jinja_has_method(v.kind, name)) {
        jinja_method *m = jinja_alloc(r, 1, sizeof *m);
        if (m)
            *m = (jinja_method){.self = v, .name = name};
        return m ? (jinja_value){.kind = JINJA_METHOD, .method = m} : v;
    }
    if (v.kind == JINJA_DICT && jinja_get(r, v, jinja_text(name), &out))
        return out;
    return undefined(name);
}

jinja_value
jinja_item(jinja_run *r, jinja_value v, jinja_value key)
{
    jinja_value out;
    if (v.kind == JINJA_UNDEFINED) {
        refuse_undefined(r, v, "items");
        return v;
    }
    if (v.kind == JINJA_DICT || v.kind == JINJA_NAMESPACE) {
        if (jinja_get(r, v, key, &out))
            return out;
        return key.kind == JINJA_STRING && v.kind == JINJA_DICT && jinja_has_method(v.kind, key.s)
                   ? jinja_attribute(r, v, key.s)
                   : undefined(key.kind == JINJA_STRING ? key.s : NULL);
    }
    if ((v.kind == JINJA_LIST || v.kind == JINJA_STRING) &&
        (key.kind == JINJA_INT || key.kind == JINJA_BOOL)) {
        size_t n = jinja_length(r, v);
        int64_t i = key.i < 0 ? key.i + (int64_t)n : key.i;
        if (i < 0 || (uint64_t)i >= n)
            return undefined(NULL);
        if (v.kind == JINJA_LIST)
            return v.list->at[i];
        size_t at = jinja_char_offset(v, (size_t)i);
        tnl_char c = tnl_char_at(v.s + at, v.n - at);
        jinja_step(r, at / 16);
        return jinja_string(r, v.s + at, c.n ? c.n : 1);
    }
    return key.kind == JINJA_STRING ? jinja_attribute(r, v, key.s) : undefined(NULL);
}

/* ---- names ---- */
void
jinja_bind(jinja_run *r, jinja_scope *s, const char *name, jinja_value v)
{
    for (struct jinja_binding *b = s->first; b; b = b->next)
        if (strcmp(b->name, name) == 0) {
            b->value = v;
            return;
        }
    struct jinja_binding *b = jinja_alloc(r, 1, sizeof *b);
    if (!b)
        return;
    *b = (struct jinja_binding){.name = name, .value = v, .next = s->first};
    s->first = b;
}

static jinja_value
find(jinja_run *r, const jinja_scope *s, const char *name)
{
    for (; s; s = s->up)
        for (const struct jinja_binding *b = s->first; b; b = b->next)
            if (jinja_step(r, 1) && strcmp(b->name, name) == 0)
                return b->value;
    if (jinja_has_function(name))
        return (jinja_value){.kind = JINJA_FUNCTION, .s = name, .n = strlen(name)};
    return undefined(name);
}

static jinja_scope *
scope_in(jinja_run *r, jinja_scope *up)
{
    static jinja_scope none;
    jinja_scope *s = jinja_alloc(r, 1, sizeof *s);
    if (!s)
        return &none;
    s->up = up;
    return s;
}

/* ---- expressions ---- */
static jinja_value
join_texts(jinja_run *r, jinja_value a, jinja_value b)
{
    char *s = jinja_alloc(r, a.n + b.n + 1, 1);
    if (!s || !jinja_step(r, (a.n + b.n) / 64))
        return jinja_text("");
    memcpy(s, a.s, a.n);
    memcpy(s + a.n, b.s, b.n);
    s[a.n + b.n] = 0;
    return (jinja_value){.kind = JINJA_STRING, .s = s, .n = a.n + b.n};
}

static jinja_value
repeat(jinja_run *r, jinja_value v, int64_t n)
{
    n = n < 0 ? 0 : n;
    if (v.kind == JINJA_STRING) {
        char *s = (uint64_t)n * (v.n + 1) > JINJA_MEMORY || n > JINJA_MEMORY
                      ? NULL
                      : jinja_alloc(r, v.n * (size_t)n + 1, 1);
        if (!s)
            return jinja_fail(r, TNB_BOUNDS, "a text of more than %d bytes", JINJA_MEMORY);
        for (int64_t i = 0; i < n && v.n; i++)
            memcpy(s + (size_t)i * v.n, v.s, v.n);
        s[v.n * (size_t)n] = 0;
        jinja_step(r, (size_t)n);
        return (jinja_value){.kind = JINJA_STRING, .s = s, .n = v.n * (size_t)n};
    }
    jinja_value l = jinja_new_list(r, JINJA_LIST);
    l.tuple = v.tuple;
    for (int64_t i = 0; i < n && v.list->n && r->status == TNB_OK; i++)
        for (size_t k = 0; k < v.list->n; k++)
            jinja_append(r, l, v.list->at[k]);
    return l;
}

static jinja_value
integers(jinja_run *r, char op, int64_t a, int64_t b)
{
    int64_t out;
    bool fits = true;
    switch (op) {
    case '+':
        fits = tnb_add_i64(a, b, &out);
        break;
    case '-':
        fits = tnb_sub_i64(a, b, &out);
        break;
    case '*':
        fits = tnb_mul_i64(a, b, &out);
        break;
    default: /* floor division and its remainder */
        if (b == 0 || (a == INT64_MIN && b == -1))
            return jinja_fail(r, TNB_INVALID, b ? "a number beyond 64 bits" : "division by zero");
        out = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
        if (op == '%')
            out = a - out * b;
    }
    return fits ? jinja_int(out) : jinja_fail(r, TNB_INVALID, "a number beyond 64 bits");
}

static jinja_value
power(jinja_run *r, jinja_value a, jinja_value b)
{
    if (a.kind == JINJA_FLOAT || b.kind == JINJA_FLOAT || b.i < 0)
        return jinja_float(pow(jinja_number(a), jinja_number(b)));
    jinja_value out = jinja_int(1);
    for (int64_t i = 0; i < b.i && r->status == TNB_OK && jinja_step(r, 1); i++) {
        out = integers(r, '*', out.i, a.i);
        if (a.i >= -1 && a.i <= 1 && i > 1)
            return jinja_int(a.i == -1 && b.i % 2 == 0 ? 1 : a.i);
    }
    return out;
}

static jinja_value
arithmetic(jinja_run *r, const char *op, jinja_value a, jinja_value b)
{
    char c = op[0] == '/' && op[1] == '/' ? 'd' : op[0] == '*' && op[1] == '*' ? '^' : op[0];
    if (c == '~') {
        a = jinja_str(r, a);
        b = jinja_str(r, b);
        return r->status == TNB_OK ? join_texts(r, a, b) : a;
    }
    if (a.kind == JINJA_UNDEFINED || b.kind == JINJA_UNDEFINED) {
        refuse_undefined(r, a.kind == JINJA_UNDEFINED ? a : b, "");
        return a;
    }
    if (jinja_is_number(a) && jinja_is_number(b)) {
        if (c == '^')
            return power(r, a, b);
        double x = jinja_number(a), y = jinja_number(b);
        if (c != '/' && a.kind != JINJA_FLOAT && b.kind != JINJA_FLOAT)
            return integers(r, c, a.i, b.i);
        if ((c == '/' || c == 'd' || c == '%') && y == 0)
            return jinja_fail(r, TNB_INVALID, "division by zero");
        return jinja_float(c == '+'   ? x + y
                           : c == '-' ? x - y
                           : c == '*' ? x * y
                           : c == '/' ? x / y
                           : c == 'd' ? floor(x / y)
                                      : x - floor(x / y) * y);
    }
    if (c == '+' && a.kind == JINJA_STRING && b.kind == JINJA_STRING) {
        const bool markup = a.markup || b.markup;
        jinja_value v =
            join_texts(r, markup ? jinja_escape(r, a) : a, markup ? jinja_escape(r, b) : b);
        v.markup = markup;
        return v;
    }
    if (c == '+' && a.kind == JINJA_LIST && b.kind == JINJA_LIST && a.tuple == b.tuple) {
        jinja_value l = jinja_new_list(r, JINJA_LIST);
        l.tuple = a.tuple;
        for (size_t i = 0; i < a.list->n; i++)
            jinja_append(r, l, a.list->at[i]);
        for (size_t i = 0; i < b.list->n; i++)
            jinja_append(r, l, b.list->at[i]);
        return l;
    }
    if (c == '*' && (a.kind == JINJA_STRING || a.kind == JINJA_LIST) &&
        (b.kind == JINJA_INT || b.kind == JINJA_BOOL))
        return repeat(r, a, b.i);
    if (c == '*' && (b.kind == JINJA_STRING || b.kind == JINJA_LIST) &&
        (a.kind == JINJA_INT || a.kind == JINJA_BOOL))
        return repeat(r, b, a.i);
    return jinja_fail(r, TNB_INVALID, "'%s' is not for values of these kinds", op);
}

static bool
contains(jinja_run *r, jinja_value in, jinja_value v)
{
    jinja_value found;
    switch (in.kind) {
    case JINJA_STRING:
        if (v.kind != JINJA_STRING) {
            jinja_fail(r, TNB_INVALID, "'in' a text needs a text on its left");
            return false;
        }
        jinja_step(r, in.n / 64);
        return !v.n || memmem(in.s, in.n, v.s, v.n);
    case JINJA_LIST:
        for (size_t i = 0; i < in.list->n && r->status == TNB_OK; i++)
            if (jinja_equal(r, in.list->at[i], v))
                return true;
        return false;
    case JINJA_DICT:
        return jinja_get(r, in, v, &found);
    case JINJA_UNDEFINED:
        return false;
    default:
        jinja_fail(r, TNB_INVALID, "'in' needs a text, a list or a dictionary on its right");
        return false;
    }
}

static bool
compares(jinja_run *r, const char *op, jinja_value a, jinja_value b)
{
    if (strcmp(op, "==") == 0)
        return jinja_equal(r, a, b);
    if (strcmp(op, "!=") == 0)
        return !jinja_equal(r, a, b);
    if (strcmp(op, "in") == 0)
        return contains(r, b, a);
    if (strcmp(op, "not in") == 0)
        return !contains(r, b, a);
    if (a.kind == JINJA_UNDEFINED || b.kind == JINJA_UNDEFINED) {
        refuse_undefined(r, a.kind == JINJA_UNDEFINED ? a : b, "");
        return false;
    }
    int c = jinja_order(r, a, b);
    return op[0] == '<' ? c < 0 || (op[1] && !c) : c > 0 || (op[1] && !c);
}

static jinja_value
comparison(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_value a = jinja_eval(r, s, n->items[0]);
    for (uint32_t i = 1; i < n->n_items && r->status == TNB_OK; i++) {
        jinja_value b = jinja_eval(r, s, n->items[i]);
        if (r->status != TNB_OK || !compares(r, n->names[i], a, b))
            return jinja_bool(false);
        a = b;
    }
    return jinja_bool(true);
}

static jinja_value
slice(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_value v = jinja_eval(r, s, n->a);
    int64_t part[3];
    bool given[3];
    for (int i = 0; i < 3; i++) {
        jinja_value p =
            n->items[i] ? jinja_eval(r, s, n->items[i]) : (jinja_value){.kind = JINJA_NONE};
        given[i] = p.kind != JINJA_NONE;
        part[i] = p.i;
        if (given[i] && p.kind != JINJA_INT && p.kind != JINJA_BOOL)
            return jinja_fail(r, TNB_INVALID, "the parts of a slice are integers");
    }
    if (v.kind == JINJA_UNDEFINED)
        refuse_undefined(r, v, "items");
    if (v.kind != JINJA_STRING && v.kind != JINJA_LIST)
        return jinja_fail(r, TNB_INVALID, "only texts and lists have slices");
    jinja_value items = jinja_items(r, v), out = jinja_new_list(r, JINJA_LIST);
    if (r->status != TNB_OK)
        return v;
    int64_t length = (int64_t)items.list->n, by = given[2] ? part[2] : 1;
    if (by == 0)
        return jinja_fail(r, TNB_INVALID, "the step of a slice is 0");
    int64_t low = by > 0 ? 0 : -1, high = by > 0 ? length : length - 1, at[2];
    for (int i = 0; i < 2; i++) {
        int64_t x = given[i] ? part[i] : 0;
        x = x < 0 ? (x < -length ? low : x + length) : x;
        x = x < low ? low : x > high ? high : x;
        at[i] = given[i] ? x : (i == 0) == (by > 0) ? low : high;
    }
    for (int64_t i = at[0]; by > 0 ? i < at[1] : i > at[1]; i += by) {
        jinja_append(r, out, items.list->at[i]);
        if (r->status != TNB_OK || (by > 0 ? i > INT64_MAX - by : i < INT64_MIN - by))
            break;
    }
    out.tuple = v.tuple;
    if (v.kind == JINJA_LIST)
        return out;
    tnb_buf b = {0};
    for (size_t i = 0; i < out.list->n; i++)
        tnb_buf_put(&b, out.list->at[i].s, out.list->at[i].n);
    v = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return v;
}

static void
take_args(jinja_run *r, jinja_scope *s, const jinja_node *n, jinja_args *a)
{
    a->n = 0;
    for (uint32_t i = 0; i < n->n_items && r->status == TNB_OK; i++) {
        a->at[a->n] = jinja_eval(r, s, n->items[i]);
        a->keyword[a->n++] = n->names[i];
    }
}

/* Calls and filters, whose arguments take room on the stack. */
static jinja_value
applied(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_args a;
    jinja_value v = jinja_eval(r, s, n->a);
    take_args(r, s, n, &a);
    if (r->status != TNB_OK)
        return v;
    r->line = n->line;
    if (n->kind == N_CALL) {
        if (v.kind == JINJA_UNDEFINED)
            refuse_undefined(r, v, "");
        return r->status == TNB_OK ? jinja_call(r, v, &a) : v;
    }
    if (n->kind == N_FILTER && !jinja_has_filter(n->name))
        return jinja_fail(r, TNB_UNSUPPORTED, JINJA_LACKS, "filter", n->name);
    if (n->kind == N_FILTER)
        return jinja_filter(r, n->name, v, &a);
    if (!jinja_has_test(n->name))
        return jinja_fail(r, TNB_UNSUPPORTED, JINJA_LACKS, "test", n->name);
    return jinja_bool(jinja_test(r, n->name, v, &a) != n->flag);
}

static jinja_value
collection(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_value l = jinja_new_list(r, n->kind == N_DICT ? JINJA_DICT : JINJA_LIST);
    l.tuple = n->kind == N_TUPLE;
    for (uint32_t i = 0; i < n->n_items && r->status == TNB_OK; i++) {
        jinja_value v = jinja_eval(r, s, n->items[i]);
        if (n->kind == N_DICT)
            jinja_set(r, l, v, jinja_eval(r, s, n->items[++i]));
        else
            jinja_append(r, l, v);
    }
    return l;
}

static jinja_value
evaluate(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_value a;
    switch (n->kind) {
    case N_CONST:
        return n->value;
    case N_NAME:
        return find(r, s, n->name);
    case N_LIST:
    case N_TUPLE:
    case N_DICT:
        return collection(r, s, n);
    case N_ATTR:
        a = jinja_eval(r, s, n->a);
        r->line = n->line;
        return r->status == TNB_OK ? jinja_attribute(r, a, n->name) : a;
    case N_ITEM: {
        a = jinja_eval(r, s, n->a);
        jinja_value key = jinja_eval(r, s, n->b);
        r->line = n->line;
        return r->status == TNB_OK ? jinja_item(r, a, key) : a;
    }
    case N_SLICE:
        return slice(r, s, n);
    case N_CALL:
    case N_FILTER:
    case N_TEST:
        return applied(r, s, n);
    case N_NOT:
        return jinja_bool(!jinja_truth(jinja_eval(r, s, n->a)));
    case N_NEG:
    case N_POS:
        a = jinja_eval(r, s, n->a);
        if (r->status == TNB_OK && !jinja_is_number(a))
            return jinja_fail(r, TNB_INVALID, "a sign before a value that is no number");
        if (n->kind == N_POS)
            return a;
        return a.kind == JINJA_FLOAT ? jinja_float(-a.f) : integers(r, '-', 0, a.i);
    case N_BINARY:
        a = jinja_eval(r, s, n->a);
        if (n->name[0] == 'a' || n->name[0] == 'o') /* and, or */
            return jinja_truth(a) == (n->name[0] == 'a') && r->status == TNB_OK
                       ? jinja_eval(r, s, n->b)
                       : a;
        {
            jinja_value b = jinja_eval(r, s, n->b);
            r->line = n->line;
            return r->status == TNB_OK ? arithmetic(r, n->name, a, b) : a;
        }
    case N_COMPARE:
        return comparison(r, s, n);
    case N_IF_ELSE:
        if (jinja_truth(jinja_eval(r, s, n->a)))
            return jinja_eval(r, s, n->b);
        return n->c ? jinja_eval(r, s, n->c) : undefined(NULL);
    default:
        return jinja_fail(r, TNB_INTERNAL, "a statement in an expression");
    }
}

jinja_value
jinja_eval(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    enum { EVAL_DEPTH = 2 * JINJA_DEPTH };
    if (!jinja_step(r, 1))
        return (jinja_value){0};
    r->line = n->line;
    if (r->depth >= EVAL_DEPTH)
        return jinja_fail(r, TNB_BOUNDS, "nested deeper than %d", EVAL_DEPTH);
    r->depth++;
    jinja_value v = evaluate(r, s, n);
    r->depth--;
    return v;
}

/* ---- statements ---- */
static void
execute(jinja_run *r, jinja_scope *s, const jinja_node *n);

static void
assign(jinja_run *r, jinja_scope *s, const jinja_node *to, jinja_value v)
{
    r->line = to->line;
    if (to->kind == N_NAME) {
        jinja_bind(r, s, to->name, v);
    } else if (to->kind == N_ATTR) {
        jinja_value space = jinja_eval(r, s, to->a);
        if (r->status == TNB_OK && space.kind != JINJA_NAMESPACE)
            jinja_fail(r, TNB_INVALID, "only attributes of a namespace can be set");
        if (r->status == TNB_OK)
            jinja_set(r, space, jinja_text(to->name), v);
    } else {
        jinja_value items = jinja_items(r, v);
        if (r->status == TNB_OK && items.list->n != to->n_items)
            jinja_fail(r, TNB_INVALID, "%zu values for %u names", items.list->n, to->n_items);
        for (uint32_t i = 0; i < to->n_items && r->status == TNB_OK; i++)
            assign(r, s, to->items[i], items.list->at[i]);
    }
}

/* What a body writes, as a text. */
static jinja_value
captured(jinja_run *r, jinja_scope *s, const jinja_node *body)
{
    tnb_buf b = {0}, *out = r->out;
    r->out = &b;
    execute(r, s, body);
    r->out = out;
    if (b.failed)
        jinja_fail(r, TNB_NO_MEMORY, "no memory for text");
    jinja_value v = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return v;
}

/* Filters over a value: the innermost stands over a hole, a name without letters. */
static jinja_value
filtered(jinja_run *r, jinja_scope *s, const jinja_node *filters, jinja_value v)
{
    jinja_scope *hole = scope_in(r, s);
    if (r->status == TNB_OK)
        jinja_bind(r, hole, "", v);
    return r->status == TNB_OK ? jinja_eval(r, hole, filters) : v;
}

static void
loop_variable(jinja_run *r, jinja_scope *s, jinja_value items, size_t i)
{
    size_t n = items.list->n;
    jinja_value loop = jinja_new_list(r, JINJA_DICT);
    const struct {
        const char *name;
        jinja_value value;
    } all[] = {{"index", jinja_int((int64_t)i + 1)},
               {"index0", jinja_int((int64_t)i)},
               {"revindex", jinja_int((int64_t)(n - i))},
               {"revindex0", jinja_int((int64_t)(n - i) - 1)},
               {"first", jinja_bool(i == 0)},
               {"last", jinja_bool(i + 1 == n)},
               {"length", jinja_int((int64_t)n)},
               {"previtem", i ? items.list->at[i - 1] : undefined("previtem")},
               {"nextitem", i + 1 < n ? items.list->at[i + 1] : undefined("nextitem")},
               {"depth", jinja_int(1)},
               {"depth0", jinja_int(0)}};
    for (size_t k = 0; k < sizeof all / sizeof *all && r->status == TNB_OK; k++) {
        jinja_append(r, loop, jinja_text(all[k].name));
        jinja_append(r, loop, all[k].value);
    }
    loop.kind = JINJA_NAMESPACE; /* items are attributes, methods are those of loops */
    if (r->status == TNB_OK)
        jinja_bind(r, s, "loop", loop);
}

static void
run_for(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_value of = jinja_eval(r, s, n->b);
    if (r->status != TNB_OK)
        return;
    r->line = n->line;
    jinja_value items = jinja_items(r, of), chosen = items;
    if (n->c) {
        chosen = jinja_new_list(r, JINJA_LIST);
        for (size_t i = 0; i < items.list->n && r->status == TNB_OK; i++) {
            jinja_scope *own = scope_in(r, s);
            assign(r, own, n->a, items.list->at[i]);
            if (r->status == TNB_OK && jinja_truth(jinja_eval(r, own, n->c)))
                jinja_append(r, chosen, items.list->at[i]);
        }
    }
    for (size_t i = 0; i < chosen.list->n && r->status == TNB_OK; i++) {
        jinja_scope *own = scope_in(r, s);
        if (r->status != TNB_OK)
            return;
        loop_variable(r, own, chosen, i);
        assign(r, own, n->a, chosen.list->at[i]);
        execute(r, own, n->body);
        bool leave = r->flow == JINJA_BREAK;
        r->flow = JINJA_ON;
        if (leave)
            break;
    }
    if (!chosen.list->n && n->other)
        execute(r, s, n->other);
}

jinja_value
jinja_call_macro(jinja_run *r, jinja_value f, const jinja_args *a, const jinja_value *caller)
{
    const jinja_node *n = f.macro->node;
    jinja_scope *own = scope_in(r, f.macro->scope);
    uint32_t by_place = 0;
    if (r->status != TNB_OK || r->depth >= JINJA_DEPTH)
        return jinja_fail(r, TNB_BOUNDS, "macros call each other deeper than %d", JINJA_DEPTH);
    while (by_place < a->n && !a->keyword[by_place])
        by_place++;
    if (by_place > n->n_items)
        return jinja_fail(r, TNB_INVALID, "the macro '%s' takes %u arguments, not %u", n->name,
                          n->n_items, by_place);
    for (uint32_t i = 0; i < a->n; i++) {
        bool known = !a->keyword[i];
        for (uint32_t k = 0; k < n->n_items && !known; k++)
            known = strcmp(n->names[k], a->keyword[i]) == 0;
        if (!known)
            return jinja_fail(r, TNB_INVALID, "the macro '%s' has no argument '%s'", n->name,
                              a->keyword[i]);
    }
    for (uint32_t i = 0; i < n->n_items && r->status == TNB_OK; i++) {
        jinja_value v;
        if (!jinja_arg(a, i, n->names[i], &v))
            v = n->items[i] ? jinja_eval(r, own, n->items[i]) : undefined(n->names[i]);
        jinja_bind(r, own, n->names[i], v);
    }
    if (caller && r->status == TNB_OK)
        jinja_bind(r, own, "caller", *caller);
    r->depth += 4; /* a macro's frames are several */
    jinja_value v = captured(r, own, n->body);
    r->depth -= 4;
    r->flow = JINJA_ON;
    return v;
}

static void
run_call(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_args a;
    jinja_value f = jinja_eval(r, s, n->a->a);
    jinja_macro *m = jinja_alloc(r, 1, sizeof *m);
    take_args(r, s, n->a, &a);
    if (r->status != TNB_OK)
        return;
    *m = (jinja_macro){.node = n, .scope = s};
    jinja_value caller = {.kind = JINJA_MACRO, .macro = m};
    if (f.kind != JINJA_MACRO)
        jinja_fail(r, TNB_INVALID, "'call' is for macros");
    else
        jinja_print(r, r->out, jinja_call_macro(r, f, &a, &caller));
}

static void
run_set(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_value v;
    if (n->body) {
        jinja_scope *own = scope_in(r, s);
        v = r->status == TNB_OK ? captured(r, own, n->body) : (jinja_value){0};
        if (n->c && n->c->kind != N_NAME)
            v = filtered(r, s, n->c, v);
    } else {
        v = jinja_eval(r, s, n->b);
    }
    if (r->status == TNB_OK)
        assign(r, s, n->a, v);
}

static void
execute_one(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    jinja_scope *own;
    jinja_macro *m;
    switch (n->kind) {
    case N_TEXT:
        tnb_buf_put(r->out, n->value.s, n->value.n);
        if (r->out->n > JINJA_MEMORY)
            jinja_fail(r, TNB_BOUNDS, "the text is longer than %d bytes", JINJA_MEMORY);
        break;
    case N_PRINT: {
        jinja_value v = jinja_eval(r, s, n->a);
        r->line = n->line;
        if (r->status == TNB_OK)
            jinja_print(r, r->out, v);
        break;
    }
    case N_BODY:
        for (uint32_t i = 0; i < n->n_items && r->status == TNB_OK && r->flow == JINJA_ON; i++)
            execute(r, s, n->items[i]);
        break;
    case N_FOR:
        run_for(r, s, n);
        break;
    case N_IF:
        while (n && n->kind == N_IF && !jinja_truth(jinja_eval(r, s, n->a)) && r->status == TNB_OK)
            n = n->other;
        if (n && r->status == TNB_OK)
            execute(r, s, n->kind == N_IF ? n->body : n);
        break;
    case N_SET:
        run_set(r, s, n);
        break;
    case N_MACRO:
        m = jinja_alloc(r, 1, sizeof *m);
        if (!m)
            break;
        *m = (jinja_macro){.node = n, .scope = s};
        jinja_bind(r, s, n->name, (jinja_value){.kind = JINJA_MACRO, .macro = m});
        break;
    case N_CALL_BLOCK:
        run_call(r, s, n);
        break;
    case N_FILTER_BLOCK: {
        own = scope_in(r, s);
        jinja_value v = r->status == TNB_OK ? filtered(r, s, n->a, captured(r, own, n->body))
                                            : (jinja_value){0};
        if (r->status == TNB_OK)
            jinja_print(r, r->out, v);
        break;
    }
    case N_WITH:
        own = scope_in(r, s);
        for (uint32_t i = 0; i + 1 < n->n_items && r->status == TNB_OK; i += 2)
            assign(r, own, n->items[i], jinja_eval(r, s, n->items[i + 1]));
        if (r->status == TNB_OK)
            execute(r, own, n->body);
        break;
    case N_BREAK:
        r->flow = JINJA_BREAK;
        break;
    case N_CONTINUE:
        r->flow = JINJA_CONTINUE;
        break;
    default:
        jinja_fail(r, TNB_INTERNAL, "an expression among statements");
    }
    if (r->out->failed)
        jinja_fail(r, TNB_NO_MEMORY, "no memory for text");
}

static void
execute(jinja_run *r, jinja_scope *s, const jinja_node *n)
{
    if (!jinja_step(r, 1))
        return;
    r->line = n->line;
    if (r->depth >= 2 * JINJA_DEPTH) {
        jinja_fail(r, TNB_BOUNDS, "nested deeper than %d", 2 * JINJA_DEPTH);
        return;
    }
    r->depth++;
    execute_one(r, s, n);
    r->depth--;
}

void
jinja_run_all(jinja_run *r)
{
    execute(r, r->globals, r->t->root);
}
