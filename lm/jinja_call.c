/* SPDX-License-Identifier: Apache-2.0 */
/* Filters, tests, methods and global functions of templates, each in one table. */
#include "config.h"
#include "jinja.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <utf8proc.h>

#include "tenon/base/num.h"
#include "tokenizer.h"

/* ---- arguments ---- */
bool
jinja_arg(const jinja_args *a, uint32_t place, const char *keyword, jinja_value *out)
{
    for (uint32_t i = 0, at = 0; i < a->n; i++) {
        if (a->keyword[i] ? keyword && strcmp(a->keyword[i], keyword) == 0 : at == place) {
            *out = a->at[i];
            return true;
        }
        at += !a->keyword[i];
    }
    return false;
}

static jinja_value
arg_or(const jinja_args *a, uint32_t place, const char *keyword, jinja_value otherwise)
{
    jinja_value v;
    return jinja_arg(a, place, keyword, &v) ? v : otherwise;
}

static const jinja_value none = {.kind = JINJA_NONE};

/* The argument as a text; fails where it is none. */
static jinja_value
text_arg(jinja_run *r, const jinja_args *a, uint32_t place, const char *keyword)
{
    jinja_value v = arg_or(a, place, keyword, none);
    if (v.kind != JINJA_STRING)
        return jinja_fail(r, TNB_INVALID, "argument %u is no text", place + 1), jinja_text("");
    return v;
}

/* ---- texts ---- */
static bool
is_in(tnl_char c, jinja_value set)
{
    for (size_t i = 0; i < set.n;) {
        tnl_char k = tnl_char_at(set.s + i, set.n - i);
        if (k.n && k.code == c.code)
            return true;
        i += k.n ? k.n : 1;
    }
    return false;
}

/* As Python's str.strip: of white space, or of the characters of a text. */
static jinja_value
strip(jinja_run *r, jinja_value s, jinja_value set, bool left, bool right)
{
    size_t from = s.n, to = 0;
    bool white = set.kind != JINJA_STRING;
    for (size_t i = 0; i < s.n;) {
        tnl_char c = tnl_char_at(s.s + i, s.n - i);
        size_t n = c.n ? c.n : 1;
        if (!(white ? c.n && (tnl_is_space(c.code) || (c.code >= 0x1c && c.code <= 0x1f))
                    : is_in(c, set))) {
            from = from < i ? from : i;
            to = i + n;
        }
        i += n;
    }
    jinja_step(r, s.n / 16);
    from = left ? from : 0;
    to = right ? to : s.n;
    return to > from ? jinja_string(r, s.s + from, to - from) : jinja_text("");
}

enum { LOWER, UPPER, TITLE, CAPITAL };

static jinja_value
change_case(jinja_run *r, jinja_value s, int to)
{
    tnb_buf b = {0};
    bool inside = false;
    for (size_t i = 0; i < s.n;) {
        tnl_char c = tnl_char_at(s.s + i, s.n - i);
        size_t n = c.n ? c.n : 1;
        bool up = to == UPPER || (to == TITLE && !inside) || (to == CAPITAL && i == 0);
        if (c.code == 0xdf && up)
            tnb_buf_puts(&b, to == UPPER ? "SS" : "Ss");
        else
            tnl_put_char(&b, (uint32_t)(up ? utf8proc_toupper((utf8proc_int32_t)c.code)
                                           : utf8proc_tolower((utf8proc_int32_t)c.code)));
        utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c.code);
        inside = k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LT;
        i += n;
    }
    jinja_value v = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return v;
}

static jinja_value
replaced(jinja_run *r, jinja_value s, jinja_value from, jinja_value to, int64_t count)
{
    tnb_buf b = {0};
    size_t at = 0;
    if (!from.n) /* between all characters */
        for (; at < s.n && count != 0; count--) {
            tnl_char c = tnl_char_at(s.s + at, s.n - at);
            size_t n = c.n ? c.n : 1;
            tnb_buf_put(&b, to.s, to.n);
            tnb_buf_put(&b, s.s + at, n);
            at += n;
            if (b.n > JINJA_MEMORY)
                break;
        }
    else
        for (const char *p; count != 0 && (p = memmem(s.s + at, s.n - at, from.s, from.n));
             count--) {
            tnb_buf_put(&b, s.s + at, (size_t)(p - s.s) - at);
            tnb_buf_put(&b, to.s, to.n);
            at = (size_t)(p - s.s) + from.n;
            if (b.n > JINJA_MEMORY)
                break;
        }
    if (!from.n && count != 0)
        tnb_buf_put(&b, to.s, to.n);
    tnb_buf_put(&b, s.s + at, s.n - at);
    jinja_step(r, s.n / 16);
    jinja_value v = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return v;
}

/* As Python's str.split and rsplit. */
static jinja_value
split(jinja_run *r, jinja_value s, jinja_value by, int64_t most, bool from_right)
{
    jinja_value l = jinja_new_list(r, JINJA_LIST);
    bool white = by.kind == JINJA_NONE;
    if (!white && !by.n)
        return jinja_fail(r, TNB_INVALID, "split by an empty text");
    jinja_step(r, s.n / 16);
    size_t at = 0, end = s.n;
    while (r->status == TNB_OK) {
        size_t from = at, to = end;
        bool found = false;
        if (white) { /* runs of white space, none at the ends */
            jinja_value rest =
                strip(r, (jinja_value){.kind = JINJA_STRING, .s = s.s + at, .n = end - at}, none,
                      true, true);
            if (!rest.n)
                break;
            for (size_t i = at; i < end;) {
                tnl_char c = tnl_char_at(s.s + i, end - i);
                size_t n = c.n ? c.n : 1;
                if (!tnl_is_space(c.code)) {
                    at = i;
                    break;
                }
                i += n;
            }
            for (size_t i = end; from_right && i > at;) {
                size_t k = i - 1;
                while (k > at && ((uint8_t)s.s[k] & 0xc0) == 0x80)
                    k--;
                if (!tnl_is_space(tnl_char_at(s.s + k, i - k).code)) {
                    end = i;
                    break;
                }
                i = k;
            }
            from = end;
            to = at;
            for (size_t i = at; i < end && !(found && !from_right);) {
                tnl_char c = tnl_char_at(s.s + i, end - i);
                size_t n = c.n ? c.n : 1;
                if (tnl_is_space(c.code)) {
                    from = i;
                    to = i + n;
                    found = true;
                }
                i += n;
            }
        } else if (from_right) {
            for (size_t i = end - at; i >= by.n && !found; i--)
                if (memcmp(s.s + at + i - by.n, by.s, by.n) == 0) {
                    from = at + i - by.n;
                    to = at + i;
                    found = true;
                }
        } else {
            const char *p = memmem(s.s + at, end - at, by.s, by.n);
            found = p;
            from = p ? (size_t)(p - s.s) : end;
            to = from + by.n;
        }
        if (!found || most == 0) {
            /* what is left, of white space without that at its own end */
            jinja_append(r, l, jinja_string(r, s.s + at, end - at));
            break;
        }
        if (from_right) {
            jinja_append(r, l, jinja_string(r, s.s + to, end - to));
            end = from;
        } else {
            jinja_append(r, l, jinja_string(r, s.s + at, from - at));
            at = to;
        }
        most--;
    }
    if (white && !from_right && most != 0 &&
        l.list->n) { /* the last word may have had spaces behind it */
        jinja_value *last = &l.list->at[l.list->n - 1];
        *last = strip(r, *last, none, true, true);
    }
    for (size_t i = 0; from_right && i < l.list->n / 2; i++) {
        jinja_value v = l.list->at[i];
        l.list->at[i] = l.list->at[l.list->n - 1 - i];
        l.list->at[l.list->n - 1 - i] = v;
    }
    return l;
}

static jinja_value
split_lines(jinja_run *r, jinja_value s)
{
    jinja_value l = jinja_new_list(r, JINJA_LIST);
    for (size_t i = 0; i < s.n && r->status == TNB_OK;) {
        size_t k = i;
        while (k < s.n && s.s[k] != '\n' && s.s[k] != '\r')
            k++;
        jinja_append(r, l, jinja_string(r, s.s + i, k - i));
        i = k + 1 + (k + 1 < s.n && s.s[k] == '\r' && s.s[k + 1] == '\n');
    }
    return l;
}

static jinja_value
joined(jinja_run *r, jinja_value by, jinja_value items)
{
    tnb_buf b = {0};
    for (size_t i = 0; i < items.list->n && r->status == TNB_OK; i++) {
        if (i)
            tnb_buf_put(&b, by.s, by.n);
        jinja_print(r, &b, items.list->at[i]);
    }
    jinja_value v = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return v;
}

static bool
fixed(jinja_value s, jinja_value with, bool end)
{
    return with.kind == JINJA_STRING && s.n >= with.n &&
           memcmp(end ? s.s + s.n - with.n : s.s, with.s, with.n) == 0;
}

static jinja_value
affix(jinja_run *r, jinja_value s, const jinja_args *a, bool end)
{
    jinja_value with = arg_or(a, 0, NULL, none);
    if (with.kind == JINJA_STRING)
        return jinja_bool(fixed(s, with, end));
    if (with.kind != JINJA_LIST)
        return jinja_fail(r, TNB_INVALID, "startswith and endswith need a text");
    for (size_t i = 0; i < with.list->n; i++)
        if (fixed(s, with.list->at[i], end))
            return jinja_bool(true);
    return jinja_bool(false);
}

static jinja_value
position(jinja_run *r, jinja_value s, jinja_value of, bool last)
{
    int64_t found = -1;
    for (size_t i = 0, k = 0; i + of.n <= s.n; k++) {
        if (memcmp(s.s + i, of.s, of.n) == 0) {
            found = (int64_t)k;
            if (!last)
                break;
        }
        tnl_char c = i < s.n ? tnl_char_at(s.s + i, s.n - i) : (tnl_char){.n = 1};
        i += c.n ? c.n : 1;
    }
    jinja_step(r, s.n / 16);
    return jinja_int(found);
}

/* ---- methods ---- */
static const char *const string_methods[] = {
    "strip",   "lstrip",       "rstrip",       "split",      "rsplit",     "splitlines",
    "upper",   "lower",        "title",        "capitalize", "startswith", "endswith",
    "replace", "join",         "find",         "rfind",      "count",      "isdigit",
    "isspace", "removeprefix", "removesuffix", "format",     NULL};
static const char *const dict_methods[] = {"items", "keys", "values", "get", NULL};
static const char *const list_methods[] = {"index", "count", NULL};
static const char *const loop_methods[] = {"cycle", NULL};

static bool
listed(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool
jinja_has_method(jinja_kind kind, const char *name)
{
    return kind == JINJA_STRING ? listed(string_methods, name)
           : kind == JINJA_DICT ? listed(dict_methods, name)
           : kind == JINJA_LIST ? listed(list_methods, name)
                                : kind == JINJA_NAMESPACE && listed(loop_methods, name);
}

/* "{} {1} {name} {{": fields without conversions and formats. */
static jinja_value
format(jinja_run *r, jinja_value s, const jinja_args *a)
{
    tnb_buf b = {0};
    uint32_t next = 0;
    bool numbered = false;
    for (size_t i = 0; i < s.n && b.n <= JINJA_MEMORY && r->status == TNB_OK; i++) {
        const char c = s.s[i];
        if (c != '{' && c != '}') {
            tnb_buf_putc(&b, c);
            continue;
        }
        if (i + 1 < s.n && s.s[i + 1] == c) {
            tnb_buf_putc(&b, s.s[i++]);
            continue;
        }
        const char *end = c == '{' ? memchr(s.s + i, '}', s.n - i) : NULL;
        if (!end) {
            jinja_fail(r, TNB_INVALID, "format: a single '%c'", c);
            break;
        }
        jinja_value field = jinja_string(r, s.s + i + 1, (size_t)(end - s.s) - i - 1), v = none;
        int64_t at = next;
        bool there;
        if (r->status != TNB_OK)
            break;
        if (strpbrk(field.s, "!:.[{"))
            jinja_fail(r, TNB_UNSUPPORTED,
                       "format: the field '{%.40s}' is not among those that Tenon's templates have",
                       field.s);
        if (!field.n || tnb_read_i64(field.s, field.n, &at)) {
            next += !field.n;
            numbered |= field.n > 0;
            if (numbered && next)
                jinja_fail(r, TNB_INVALID, "format: fields with and without numbers");
            there = at >= 0 && at < JINJA_ARGS && jinja_arg(a, (uint32_t)at, NULL, &v);
        } else {
            there = jinja_arg(a, JINJA_ARGS, field.s, &v);
        }
        if (!there)
            jinja_fail(r, TNB_INVALID, "format: the field '{%.40s}' has no value", field.s);
        v = jinja_str(r, v);
        if (r->status == TNB_OK)
            tnb_buf_put(&b, v.s, v.n);
        i = (size_t)(end - s.s);
    }
    jinja_value v = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return v;
}

static jinja_value
call_string(jinja_run *r, jinja_value s, const char *name, const jinja_args *a)
{
    jinja_value first = arg_or(a, 0, NULL, none), v;
    if (strcmp(name, "strip") == 0 || strcmp(name, "lstrip") == 0 || strcmp(name, "rstrip") == 0)
        return strip(r, s, first, name[0] != 'r', name[0] != 'l');
    if (strcmp(name, "split") == 0 || strcmp(name, "rsplit") == 0) {
        first = arg_or(a, 0, "sep", none);
        v = arg_or(a, 1, "maxsplit", jinja_int(-1));
        if (first.kind != JINJA_NONE && first.kind != JINJA_STRING)
            return jinja_fail(r, TNB_INVALID, "split by what is no text");
        return split(r, s, first, v.i, name[0] == 'r');
    }
    if (strcmp(name, "splitlines") == 0)
        return split_lines(r, s);
    if (strcmp(name, "format") == 0)
        return format(r, s, a);
    if (strcmp(name, "upper") == 0)
        return change_case(r, s, UPPER);
    if (strcmp(name, "lower") == 0)
        return change_case(r, s, LOWER);
    if (strcmp(name, "title") == 0)
        return change_case(r, s, TITLE);
    if (strcmp(name, "capitalize") == 0)
        return change_case(r, s, CAPITAL);
    if (strcmp(name, "startswith") == 0 || strcmp(name, "endswith") == 0)
        return affix(r, s, a, name[0] == 'e');
    if (strcmp(name, "join") == 0)
        return joined(r, s, jinja_items(r, first));
    if (strcmp(name, "isdigit") == 0 || strcmp(name, "isspace") == 0) {
        bool all = s.n > 0;
        for (size_t i = 0; i < s.n && all;) {
            tnl_char c = tnl_char_at(s.s + i, s.n - i);
            all = name[2] == 'd'
                      ? utf8proc_category((utf8proc_int32_t)c.code) == UTF8PROC_CATEGORY_ND
                      : tnl_is_space(c.code);
            i += c.n ? c.n : 1;
        }
        return jinja_bool(all);
    }
    first = text_arg(r, a, 0, NULL);
    if (strcmp(name, "replace") == 0)
        return replaced(r, s, first, text_arg(r, a, 1, NULL),
                        arg_or(a, 2, "count", jinja_int(-1)).i);
    if (strcmp(name, "removeprefix") == 0 || strcmp(name, "removesuffix") == 0) {
        bool end = name[6] == 's';
        if (!fixed(s, first, end))
            return s;
        return jinja_string(r, end ? s.s : s.s + first.n, s.n - first.n);
    }
    if (strcmp(name, "count") == 0) {
        int64_t n = 0;
        for (size_t i = 0; first.n && i + first.n <= s.n;) {
            bool here = memcmp(s.s + i, first.s, first.n) == 0;
            n += here;
            i += here ? first.n : 1;
        }
        return jinja_int(first.n ? n : (int64_t)jinja_length(r, s) + 1);
    }
    return position(r, s, first, name[0] == 'r');
}

static jinja_value
pair(jinja_run *r, jinja_value a, jinja_value b)
{
    jinja_value l = jinja_new_list(r, JINJA_LIST);
    l.tuple = true;
    jinja_append(r, l, a);
    jinja_append(r, l, b);
    return l;
}

static jinja_value
dict_items(jinja_run *r, jinja_value d)
{
    jinja_value l = jinja_new_list(r, JINJA_LIST);
    for (size_t i = 0; i + 1 < d.list->n && r->status == TNB_OK; i += 2)
        jinja_append(r, l, pair(r, d.list->at[i], d.list->at[i + 1]));
    return l;
}

static jinja_value
call_method(jinja_run *r, const jinja_method *m, const jinja_args *a)
{
    jinja_value s = m->self, v;
    if (s.kind == JINJA_STRING)
        return call_string(r, s, m->name, a);
    if (s.kind == JINJA_NAMESPACE) { /* loop.cycle */
        if (!a->n || !jinja_get(r, s, jinja_text("index0"), &v))
            return jinja_fail(r, TNB_INVALID, "cycle without values");
        return a->at[v.i % a->n];
    }
    if (s.kind == JINJA_LIST) {
        int64_t n = 0;
        for (size_t i = 0; i < s.list->n && r->status == TNB_OK; i++) {
            bool same = jinja_equal(r, s.list->at[i], arg_or(a, 0, NULL, none));
            if (same && m->name[0] == 'i')
                return jinja_int((int64_t)i);
            n += same;
        }
        return m->name[0] == 'i'
                   ? jinja_fail(r, TNB_INVALID, "index: the list does not have the value")
                   : jinja_int(n);
    }
    if (strcmp(m->name, "items") == 0)
        return dict_items(r, s);
    if (strcmp(m->name, "keys") == 0)
        return jinja_items(r, s);
    if (strcmp(m->name, "get") == 0)
        return jinja_get(r, s, arg_or(a, 0, NULL, none), &v) ? v : arg_or(a, 1, NULL, none);
    jinja_value l = jinja_new_list(r, JINJA_LIST);
    for (size_t i = 1; i < s.list->n; i += 2)
        jinja_append(r, l, s.list->at[i]);
    return l;
}

/* ---- global functions ---- */
static const char *const functions[] = {"range",           "dict",         "namespace",
                                        "raise_exception", "strftime_now", NULL};

bool
jinja_has_function(const char *name)
{
    return listed(functions, name);
}

static jinja_value
range(jinja_run *r, const jinja_args *a)
{
    jinja_value l = jinja_new_list(r, JINJA_LIST);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].kind != JINJA_INT && a->at[i].kind != JINJA_BOOL)
            return jinja_fail(r, TNB_INVALID, "range needs integers");
    if (!a->n || a->n > 3 || (a->n == 3 && a->at[2].i == 0))
        return jinja_fail(r, TNB_INVALID, "range needs one to three integers, the third not 0");
    int64_t from = a->n > 1 ? a->at[0].i : 0, to = a->at[a->n > 1].i,
            by = a->n > 2 ? a->at[2].i : 1;
    for (int64_t i = from; r->status == TNB_OK && (by > 0 ? i < to : i > to);) {
        jinja_append(r, l, jinja_int(i));
        if (!tnb_add_i64(i, by, &i))
            break;
    }
    return l;
}

/* The format is the template's: strftime writes within the bounds that it is given, whatever it holds. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static jinja_value
date(jinja_run *r, jinja_value format)
{
    char text[512];
    time_t now = r->now < 0 ? time(NULL) : (time_t)r->now;
    struct tm t;
    size_t n = r->status == TNB_OK && format.n && localtime_r(&now, &t)
                   ? strftime(text, sizeof text, format.s, &t)
                   : 0;
    return jinja_string(r, text, n);
}
#pragma GCC diagnostic pop

static jinja_value
call_function(jinja_run *r, const char *name, const jinja_args *a)
{
    if (strcmp(name, "range") == 0)
        return range(r, a);
    if (strcmp(name, "raise_exception") == 0) {
        jinja_value v = jinja_str(r, arg_or(a, 0, "message", none));
        return jinja_fail(r, TNB_INVALID, "the template refuses: %.*s", v.n > 400 ? 400 : (int)v.n,
                          v.s);
    }
    if (strcmp(name, "strftime_now") == 0)
        return date(r, text_arg(r, a, 0, "format"));
    /* dict and namespace: a dictionary first, then keywords */
    jinja_value d = jinja_new_list(r, name[0] == 'd' ? JINJA_DICT : JINJA_NAMESPACE), first;
    if (jinja_arg(a, 0, NULL, &first) && first.kind == JINJA_DICT)
        for (size_t i = 0; i + 1 < first.list->n; i += 2)
            jinja_set(r, d, first.list->at[i], first.list->at[i + 1]);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->keyword[i])
            jinja_set(r, d, jinja_text(a->keyword[i]), a->at[i]);
    return d;
}

jinja_value
jinja_call(jinja_run *r, jinja_value f, const jinja_args *a)
{
    if (f.kind == JINJA_FUNCTION)
        return call_function(r, f.s, a);
    if (f.kind == JINJA_METHOD)
        return call_method(r, f.method, a);
    if (f.kind == JINJA_MACRO)
        return jinja_call_macro(r, f, a, NULL);
    return jinja_fail(r, TNB_INVALID, "a value that is no function is called");
}

/* ---- tests ---- */
static const char *const tests[] = {"defined", "undefined",   "none",        "string",   "number",
                                    "integer", "float",       "boolean",     "true",     "false",
                                    "mapping", "iterable",    "sequence",    "callable", "odd",
                                    "even",    "divisibleby", "equalto",     "eq",       "==",
                                    "sameas",  "ne",          "!=",          "lt",       "lessthan",
                                    "le",      "gt",          "greaterthan", "ge",       "in",
                                    "lower",   "upper",       "filter",      "test",     NULL};

bool
jinja_has_test(const char *name)
{
    return listed(tests, name);
}

static bool
of_kind(const char *name, jinja_value v)
{
    static const struct {
        const char *name;
        uint32_t kinds;
    } table[] = {
        {"none", 1 << JINJA_NONE},
        {"string", 1 << JINJA_STRING},
        {"number", 1 << JINJA_INT | 1 << JINJA_FLOAT | 1 << JINJA_BOOL},
        {"integer", 1 << JINJA_INT},
        {"float", 1 << JINJA_FLOAT},
        {"boolean", 1 << JINJA_BOOL},
        {"mapping", 1 << JINJA_DICT},
        {"iterable", 1 << JINJA_STRING | 1 << JINJA_LIST | 1 << JINJA_DICT | 1 << JINJA_UNDEFINED},
        {"sequence", 1 << JINJA_STRING | 1 << JINJA_LIST | 1 << JINJA_DICT | 1 << JINJA_UNDEFINED},
        {"callable", 1 << JINJA_MACRO | 1 << JINJA_FUNCTION | 1 << JINJA_METHOD},
        {"undefined", 1 << JINJA_UNDEFINED},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].kinds >> v.kind & 1;
    return false;
}

bool
jinja_test(jinja_run *r, const char *name, jinja_value v, const jinja_args *a)
{
    jinja_value x = arg_or(a, 0, NULL, none);
    if (strcmp(name, "defined") == 0)
        return v.kind != JINJA_UNDEFINED;
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
        return v.kind == JINJA_BOOL && (v.i != 0) == (name[0] == 't');
    if (strcmp(name, "odd") == 0 || strcmp(name, "even") == 0 || strcmp(name, "divisibleby") == 0) {
        int64_t by = name[0] == 'd' ? x.i : 2;
        if (!jinja_is_number(v) || v.kind == JINJA_FLOAT || by == 0 || by == -1)
            return jinja_fail(r, TNB_INVALID, "the test '%s' is for integers", name), false;
        return (v.i % by != 0) == (name[0] == 'o');
    }
    if (strcmp(name, "equalto") == 0 || strcmp(name, "eq") == 0 || strcmp(name, "==") == 0)
        return jinja_equal(r, v, x);
    if (strcmp(name, "sameas") == 0)
        return v.kind == x.kind && jinja_equal(r, v, x);
    if (strcmp(name, "ne") == 0 || strcmp(name, "!=") == 0)
        return !jinja_equal(r, v, x);
    if (name[0] == 'l' && (name[1] == 't' || strcmp(name, "lessthan") == 0))
        return jinja_order(r, v, x) < 0;
    if (strcmp(name, "le") == 0)
        return jinja_order(r, v, x) <= 0;
    if (strcmp(name, "gt") == 0 || strcmp(name, "greaterthan") == 0)
        return jinja_order(r, v, x) > 0;
    if (strcmp(name, "ge") == 0)
        return jinja_order(r, v, x) >= 0;
    if (strcmp(name, "in") == 0) {
        if (x.kind == JINJA_STRING)
            return v.kind == JINJA_STRING && (!v.n || memmem(x.s, x.n, v.s, v.n));
        x = jinja_items(r, x);
        for (size_t i = 0; i < x.list->n && r->status == TNB_OK; i++)
            if (jinja_equal(r, x.list->at[i], v))
                return true;
        return false;
    }
    if (strcmp(name, "lower") == 0 || strcmp(name, "upper") == 0) {
        v = jinja_str(r, v);
        return jinja_equal(r, v, change_case(r, v, name[0] == 'u' ? UPPER : LOWER));
    }
    if (strcmp(name, "filter") == 0 || strcmp(name, "test") == 0)
        return v.kind == JINJA_STRING &&
               (name[0] == 'f' ? jinja_has_filter(v.s) : jinja_has_test(v.s));
    return of_kind(name, v);
}

/* ---- filters ---- */
static const char *const filters[] = {
    "tojson", "trim",   "upper",      "lower",      "title",     "capitalize", "length",
    "count",  "first",  "last",       "join",       "replace",   "default",    "d",
    "list",   "string", "int",        "float",      "items",     "dictsort",   "map",
    "select", "reject", "selectattr", "rejectattr", "unique",    "sort",       "reverse",
    "indent", "safe",   "abs",        "round",      "sum",       "min",        "max",
    "attr",   "escape", "e",          "batch",      "wordcount", NULL};

bool
jinja_has_filter(const char *name)
{
    return listed(filters, name);
}

/* "a.b.0": an attribute of an attribute, as map and sort take it. */
static jinja_value
path(jinja_run *r, jinja_value v, jinja_value names)
{
    if (names.kind != JINJA_STRING)
        return jinja_item(r, v, names);
    for (size_t at = 0; at <= names.n && r->status == TNB_OK;) {
        const char *dot = memchr(names.s + at, '.', names.n - at);
        size_t n = dot ? (size_t)(dot - names.s) - at : names.n - at;
        jinja_value key = jinja_string(r, names.s + at, n);
        int64_t i;
        v = jinja_item(r, v, tnb_read_i64(key.s, key.n, &i) ? jinja_int(i) : key);
        at += n + 1;
    }
    return v;
}

static jinja_args
shifted(const jinja_args *a, uint32_t by)
{
    jinja_args out = {0};
    for (uint32_t i = 0; i < a->n; i++)
        if (a->keyword[i] || i >= by) {
            out.at[out.n] = a->at[i];
            out.keyword[out.n++] = a->keyword[i];
        }
    return out;
}

static jinja_value
map_items(jinja_run *r, jinja_value items, const jinja_args *a)
{
    jinja_value l = jinja_new_list(r, JINJA_LIST), attribute, otherwise, name;
    bool has = jinja_arg(a, JINJA_ARGS, "attribute", &attribute),
         filled = jinja_arg(a, JINJA_ARGS, "default", &otherwise);
    if (!has &&
        (!jinja_arg(a, 0, NULL, &name) || name.kind != JINJA_STRING || !jinja_has_filter(name.s)))
        return jinja_fail(r, TNB_UNSUPPORTED,
                          "map needs an attribute or a filter that Tenon's templates have");
    jinja_args rest = shifted(a, 1);
    for (size_t i = 0; i < items.list->n && r->status == TNB_OK; i++) {
        jinja_value v = has ? path(r, items.list->at[i], attribute)
                            : jinja_filter(r, name.s, items.list->at[i], &rest);
        jinja_append(r, l, v.kind == JINJA_UNDEFINED && filled ? otherwise : v);
    }
    return l;
}

/* select, reject, selectattr, rejectattr */
static jinja_value
chosen(jinja_run *r, const char *name, jinja_value items, const jinja_args *a)
{
    bool attr = strstr(name, "attr"), keep = name[0] == 's';
    jinja_value l = jinja_new_list(r, JINJA_LIST), attribute = none, test = none;
    if (attr && !jinja_arg(a, 0, NULL, &attribute))
        return jinja_fail(r, TNB_INVALID, "%s needs an attribute", name);
    bool has = jinja_arg(a, attr, NULL, &test);
    if (has && (test.kind != JINJA_STRING || !jinja_has_test(test.s)))
        return jinja_fail(r, TNB_UNSUPPORTED, "%s needs a test that Tenon's templates have", name);
    jinja_args rest = shifted(a, 1 + attr);
    for (size_t i = 0; i < items.list->n && r->status == TNB_OK; i++) {
        jinja_value v = attr ? path(r, items.list->at[i], attribute) : items.list->at[i];
        if (r->status == TNB_OK && (has ? jinja_test(r, test.s, v, &rest) : jinja_truth(v)) == keep)
            jinja_append(r, l, items.list->at[i]);
    }
    return l;
}

/* Texts are compared without regard to case, as Jinja does unless told otherwise. */
static jinja_value
sort_key(jinja_run *r, jinja_value v, jinja_value attribute, bool fold)
{
    if (attribute.kind != JINJA_NONE)
        v = path(r, v, attribute);
    return fold && v.kind == JINJA_STRING ? change_case(r, v, LOWER) : v;
}

/* Merge sort: equal items keep their order. */
static void
merge_sort(jinja_run *r, jinja_value *items, jinja_value *keys, jinja_value *spare, size_t n,
           bool reverse)
{
    if (n < 2 || r->status != TNB_OK)
        return;
    size_t half = n / 2, i = 0, k = half, at = 0;
    merge_sort(r, items, keys, spare, half, reverse);
    merge_sort(r, items + half, keys + half, spare, n - half, reverse);
    while (at < n && jinja_step(r, 1)) {
        bool right = i == half || (k < n && (reverse ? jinja_order(r, keys[k], keys[i]) > 0
                                                     : jinja_order(r, keys[k], keys[i]) < 0));
        spare[2 * at] = items[right ? k : i];
        spare[2 * at++ + 1] = keys[right ? k : i];
        i += !right;
        k += right;
    }
    for (i = 0; i < at; i++) {
        items[i] = spare[2 * i];
        keys[i] = spare[2 * i + 1];
    }
}

static jinja_value
sorted(jinja_run *r, jinja_value items, jinja_value attribute, bool fold, bool reverse)
{
    size_t n = items.list->n;
    jinja_value l = jinja_new_list(r, JINJA_LIST), keys = jinja_new_list(r, JINJA_LIST);
    for (size_t i = 0; i < n && r->status == TNB_OK; i++) {
        jinja_append(r, l, items.list->at[i]);
        jinja_append(r, keys, sort_key(r, items.list->at[i], attribute, fold));
    }
    jinja_value *spare = jinja_alloc(r, 2 * n, sizeof *spare);
    if (r->status == TNB_OK && spare)
        merge_sort(r, l.list->at, keys.list->at, spare, n, reverse);
    return l;
}

static jinja_value
unique(jinja_run *r, jinja_value items, jinja_value attribute, bool fold)
{
    jinja_value l = jinja_new_list(r, JINJA_LIST), keys = jinja_new_list(r, JINJA_LIST);
    for (size_t i = 0; i < items.list->n && r->status == TNB_OK; i++) {
        jinja_value key = sort_key(r, items.list->at[i], attribute, fold);
        bool seen = false;
        for (size_t k = 0; k < keys.list->n && !seen && r->status == TNB_OK; k++)
            seen = jinja_equal(r, keys.list->at[k], key);
        if (seen)
            continue;
        jinja_append(r, keys, key);
        jinja_append(r, l, items.list->at[i]);
    }
    return l;
}

static jinja_value
extreme(jinja_run *r, jinja_value items, bool most, jinja_value attribute)
{
    jinja_value best = {0};
    for (size_t i = 0; i < items.list->n && r->status == TNB_OK; i++) {
        int c = i ? jinja_order(r, sort_key(r, items.list->at[i], attribute, true),
                                sort_key(r, best, attribute, true))
                  : 0;
        if (!i || (most ? c > 0 : c < 0))
            best = items.list->at[i];
    }
    return best;
}

static jinja_value
summed(jinja_run *r, jinja_value items, jinja_value attribute, jinja_value sum)
{
    for (size_t i = 0; i < items.list->n && r->status == TNB_OK; i++) {
        jinja_value v = attribute.kind == JINJA_NONE ? items.list->at[i]
                                                     : path(r, items.list->at[i], attribute);
        if (!jinja_is_number(v) || !jinja_is_number(sum))
            return jinja_fail(r, TNB_INVALID, "sum is for numbers");
        if (v.kind == JINJA_FLOAT || sum.kind == JINJA_FLOAT)
            sum = jinja_float(jinja_number(sum) + jinja_number(v));
        else if (!tnb_add_i64(sum.i, v.i, &sum.i))
            return jinja_fail(r, TNB_INVALID, "a sum beyond 64 bits");
        else
            sum.kind = JINJA_INT;
    }
    return sum;
}

static jinja_value
indented(jinja_run *r, jinja_value s, const jinja_args *a)
{
    tnb_buf b = {0};
    jinja_value width = arg_or(a, 0, "width", jinja_int(4));
    bool first = jinja_truth(arg_or(a, 1, "first", jinja_bool(false))),
         blank = jinja_truth(arg_or(a, 2, "blank", jinja_bool(false)));
    if (width.kind == JINJA_INT && (width.i < 0 || width.i > 1000))
        return jinja_fail(r, TNB_INVALID, "indent by %lld", (long long)width.i);
    for (size_t i = 0; i < s.n && b.n < JINJA_MEMORY;) {
        const char *end = memchr(s.s + i, '\n', s.n - i);
        size_t n = end ? (size_t)(end - s.s) - i : s.n - i;
        if ((i || first) && (n || blank)) {
            if (width.kind == JINJA_STRING)
                tnb_buf_put(&b, width.s, width.n);
            else
                tnb_buf_printf(&b, "%*s", (int)width.i, "");
        }
        tnb_buf_put(&b, s.s + i, n);
        if (end)
            tnb_buf_putc(&b, '\n');
        i += n + (end != NULL);
    }
    jinja_value v = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return v;
}

jinja_value
jinja_escape(jinja_run *r, jinja_value s)
{
    tnb_buf b = {0};
    if (s.markup)
        return s;
    for (size_t i = 0; i < s.n && b.n <= JINJA_MEMORY; i++) {
        static const char letters[] = "&<>'\"";
        static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
        const char *k = strchr(letters, s.s[i]);
        if (s.s[i] && k)
            tnb_buf_puts(&b, names[k - letters]);
        else
            tnb_buf_putc(&b, s.s[i]);
    }
    jinja_value v = jinja_string(r, b.s ? b.s : "", b.n);
    v.markup = true;
    tnb_buf_free(&b);
    return v;
}

static jinja_value
to_number(jinja_run *r, const char *name, jinja_value v, const jinja_args *a)
{
    bool whole = name[0] == 'i';
    jinja_value otherwise = arg_or(a, 0, "default", whole ? jinja_int(0) : jinja_float(0));
    double f;
    int64_t i;
    if (v.kind == JINJA_STRING) {
        v = strip(r, v, none, true, true);
        if (whole && tnb_read_i64(v.s, v.n, &i))
            return jinja_int(i);
        if (!tnb_read_f64(v.s, v.n, &f))
            return otherwise;
    } else if (jinja_is_number(v)) {
        if (whole && v.kind != JINJA_FLOAT)
            return jinja_int(v.i);
        f = jinja_number(v);
    } else {
        return otherwise;
    }
    if (whole && !(fabs(f) < 9.2e18))
        return otherwise;
    return whole ? jinja_int((int64_t)f) : jinja_float(f);
}

static jinja_value
rounded(jinja_run *r, jinja_value v, const jinja_args *a)
{
    jinja_value places = arg_or(a, 0, "precision", jinja_int(0)),
                method = arg_or(a, 1, "method", jinja_text("common"));
    if (!jinja_is_number(v) || places.kind != JINJA_INT || places.i < -300 || places.i > 300)
        return jinja_fail(r, TNB_INVALID, "round is for numbers");
    double scale = pow(10, (double)places.i), x = jinja_number(v);
    if (method.kind == JINJA_STRING && method.s[0] != 'c')
        return jinja_float((method.s[0] == 'f' ? floor(x * scale) : ceil(x * scale)) / scale);
    if (method.kind == JINJA_STRING && strcmp(method.s, "ceil") == 0)
        return jinja_float(ceil(x * scale) / scale);
    /* the decimal digits of the number itself are rounded, as Python does */
    char text[400];
    snprintf(text, sizeof text, "%.*f", places.i > 0 ? (int)places.i : 0, x);
    if (places.i < 0 || !tnb_read_f64(text, strlen(text), &x))
        return jinja_float(nearbyint(jinja_number(v) * scale) / scale);
    return jinja_float(x);
}

static jinja_value
json_filter(jinja_run *r, jinja_value v, const jinja_args *a)
{
    jinja_value indent = arg_or(a, 1, "indent", none),
                separators = arg_or(a, 2, "separators", none);
    bool ascii = jinja_truth(arg_or(a, 0, "ensure_ascii", jinja_bool(false))),
         sort = jinja_truth(arg_or(a, 3, "sort_keys", jinja_bool(false)));
    if (indent.kind == JINJA_NONE && a->n && !a->keyword[0] && a->at[0].kind == JINJA_INT)
        indent = none;
    if ((indent.kind != JINJA_NONE && indent.kind != JINJA_INT) ||
        (indent.kind == JINJA_INT && (indent.i < 0 || indent.i > 64)))
        return jinja_fail(r, TNB_UNSUPPORTED, "tojson: indent is no number from 0 to 64");
    const char *item = NULL, *colon = NULL;
    if (separators.kind == JINJA_LIST && separators.list->n == 2 &&
        separators.list->at[0].kind == JINJA_STRING &&
        separators.list->at[1].kind == JINJA_STRING) {
        item = separators.list->at[0].s;
        colon = separators.list->at[1].s;
    }
    return jinja_tojson(r, v, indent.kind == JINJA_INT ? (int)indent.i : -1, item, colon, sort,
                        ascii);
}

static jinja_value
list_filter(jinja_run *r, const char *name, jinja_value v, const jinja_args *a)
{
    static const char *const of_nothing[] = {"map",        "select",     "reject",
                                             "selectattr", "rejectattr", NULL};
    if (!jinja_truth(v) && listed(of_nothing, name)) /* none and 0, too */
        return jinja_new_list(r, JINJA_LIST);
    jinja_value items = jinja_items(r, v), attribute = arg_or(a, JINJA_ARGS, "attribute", none), l;
    size_t n = items.list->n;
    if (r->status != TNB_OK)
        return v;
    if (strcmp(name, "first") == 0 || strcmp(name, "last") == 0)
        return n ? items.list->at[name[0] == 'f' ? 0 : n - 1] : (jinja_value){0};
    if (strcmp(name, "join") == 0) {
        attribute = arg_or(a, 1, "attribute", none);
        if (attribute.kind != JINJA_NONE) {
            l = jinja_new_list(r, JINJA_LIST);
            for (size_t i = 0; i < n; i++)
                jinja_append(r, l, path(r, items.list->at[i], attribute));
            items = l;
        }
        return joined(r, jinja_str(r, arg_or(a, 0, "d", jinja_text(""))), items);
    }
    if (strcmp(name, "map") == 0)
        return map_items(r, items, a);
    if (strncmp(name, "select", 6) == 0 || strncmp(name, "reject", 6) == 0)
        return chosen(r, name, items, a);
    if (strcmp(name, "sort") == 0)
        return sorted(r, items, arg_or(a, 2, "attribute", none),
                      !jinja_truth(arg_or(a, 1, "case_sensitive", jinja_bool(false))),
                      jinja_truth(arg_or(a, 0, "reverse", jinja_bool(false))));
    if (strcmp(name, "unique") == 0)
        return unique(r, items, arg_or(a, 1, "attribute", none),
                      !jinja_truth(arg_or(a, 0, "case_sensitive", jinja_bool(false))));
    if (strcmp(name, "sum") == 0)
        return summed(r, items, arg_or(a, 0, "attribute", none),
                      arg_or(a, 1, "start", jinja_int(0)));
    if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
        return extreme(r, items, name[1] == 'a', attribute);
    l = jinja_new_list(r, JINJA_LIST);
    if (strcmp(name, "batch") == 0) {
        int64_t each = arg_or(a, 0, "linecount", jinja_int(1)).i;
        for (size_t i = 0; i < n && each > 0 && r->status == TNB_OK; i++) {
            if (i % (size_t)each == 0)
                jinja_append(r, l, jinja_new_list(r, JINJA_LIST));
            if (r->status == TNB_OK)
                jinja_append(r, l.list->at[l.list->n - 1], items.list->at[i]);
        }
        return l;
    }
    for (size_t i = 0; i < n; i++) /* list, reverse */
        jinja_append(r, l, items.list->at[name[0] == 'l' ? i : n - 1 - i]);
    return v.kind == JINJA_STRING && name[0] == 'r' ? joined(r, jinja_text(""), l) : l;
}

jinja_value
jinja_filter(jinja_run *r, const char *name, jinja_value v, const jinja_args *a)
{
    static const char *const of_texts[] = {"trim",       "upper",     "lower",  "title",
                                           "capitalize", "replace",   "indent", "escape",
                                           "e",          "wordcount", NULL};
    if (strcmp(name, "tojson") == 0)
        return json_filter(r, v, a);
    if (strcmp(name, "default") == 0 || strcmp(name, "d") == 0) {
        bool missing = v.kind == JINJA_UNDEFINED ||
                       (jinja_truth(arg_or(a, 1, "boolean", jinja_bool(false))) && !jinja_truth(v));
        return missing ? arg_or(a, 0, "default_value", jinja_text("")) : v;
    }
    if (listed(of_texts, name)) {
        jinja_value s = jinja_str(r, v);
        if (r->status != TNB_OK)
            return s;
        if (strcmp(name, "trim") == 0) {
            v = strip(r, s, arg_or(a, 0, "chars", none), true, true);
            v.markup = s.markup;
            return v;
        }
        if (strcmp(name, "replace") == 0)
            return replaced(r, s, text_arg(r, a, 0, "old"), text_arg(r, a, 1, "new"),
                            arg_or(a, 2, "count", jinja_int(-1)).i);
        if (strcmp(name, "indent") == 0)
            return indented(r, s, a);
        if (name[0] == 'e')
            return jinja_escape(r, s);
        if (name[0] == 'w')
            return jinja_int((int64_t)split(r, s, none, -1, false).list->n);
        return change_case(r, s,
                           name[0] == 'u'   ? UPPER
                           : name[0] == 'l' ? LOWER
                           : name[0] == 't' ? TITLE
                                            : CAPITAL);
    }
    if (strcmp(name, "length") == 0 || strcmp(name, "count") == 0)
        return jinja_int((int64_t)jinja_length(r, v));
    if (strcmp(name, "string") == 0 || strcmp(name, "safe") == 0) {
        v = jinja_str(r, v);
        v.markup |= name[1] == 'a';
        return v;
    }
    if (strcmp(name, "int") == 0 || strcmp(name, "float") == 0)
        return to_number(r, name, v, a);
    if (strcmp(name, "abs") == 0) {
        if (!jinja_is_number(v) || (v.kind != JINJA_FLOAT && v.i == INT64_MIN))
            return jinja_fail(r, TNB_INVALID, "abs is for numbers");
        return v.kind == JINJA_FLOAT ? jinja_float(fabs(v.f)) : jinja_int(v.i < 0 ? -v.i : v.i);
    }
    if (strcmp(name, "round") == 0)
        return rounded(r, v, a);
    if (strcmp(name, "attr") == 0)
        return jinja_attribute(r, v, text_arg(r, a, 0, "name").s);
    if (strcmp(name, "items") == 0 || strcmp(name, "dictsort") == 0) {
        if (v.kind == JINJA_UNDEFINED)
            return jinja_new_list(r, JINJA_LIST);
        if (v.kind != JINJA_DICT)
            return jinja_fail(r, TNB_INVALID, "%s is for dictionaries", name);
        jinja_value l = dict_items(r, v);
        return name[0] == 'i' ? l
                              : sorted(r, l, jinja_int(0), true,
                                       jinja_truth(arg_or(a, 2, "reverse", jinja_bool(false))));
    }
    return list_filter(r, name, v, a);
}
