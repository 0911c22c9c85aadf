/* SPDX-License-Identifier: Apache-2.0 */
/* Values as texts: as Python's str() and repr() write them, and as JSON. */
#include "config.h"
#include "jinja.h"

#include <math.h>
#include <stdlib.h>

#include "tenon/base/num.h"
#include "tokenizer.h"

static void
repr_string(tnb_buf *b, jinja_value v)
{
    char quote = memchr(v.s, '\'', v.n) && !memchr(v.s, '"', v.n) ? '"' : '\'';
    tnb_buf_putc(b, quote);
    for (size_t i = 0; i < v.n; i++) {
        char c = v.s[i];
        if (c == quote || c == '\\')
            tnb_buf_printf(b, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            tnb_buf_puts(b, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        else if ((unsigned char)c < ' ' || c == 0x7f)
            tnb_buf_printf(b, "\\x%02x", (unsigned)(unsigned char)c);
        else
            tnb_buf_putc(b, c);
    }
    tnb_buf_putc(b, quote);
}

static void
print(jinja_run *r, tnb_buf *b, jinja_value v, bool repr)
{
    if (!jinja_step(r, 1))
        return;
    if (r->depth > JINJA_DEPTH) {
        jinja_fail(r, TNB_BOUNDS, "a value is nested deeper than %d", JINJA_DEPTH);
        return;
    }
    r->depth++;
    switch (v.kind) {
    case JINJA_UNDEFINED:
        if (repr)
            tnb_buf_puts(b, "Undefined");
        break;
    case JINJA_NONE:
        tnb_buf_puts(b, "None");
        break;
    case JINJA_BOOL:
        tnb_buf_puts(b, v.i ? "True" : "False");
        break;
    case JINJA_INT:
        tnb_buf_printf(b, "%lld", (long long)v.i);
        break;
    case JINJA_FLOAT:
        tnb_buf_puts(b, tnb_print_f64(v.f).s);
        break;
    case JINJA_STRING:
        if (repr)
            repr_string(b, v);
        else
            tnb_buf_put(b, v.s, v.n);
        jinja_step(r, v.n / 16);
        break;
    case JINJA_LIST:
        tnb_buf_putc(b, v.tuple ? '(' : '[');
        for (size_t i = 0; i < v.list->n; i++) {
            tnb_buf_puts(b, i ? ", " : "");
            print(r, b, v.list->at[i], true);
        }
        tnb_buf_puts(b, v.tuple ? (v.list->n == 1 ? ",)" : ")") : "]");
        break;
    case JINJA_NAMESPACE:
    case JINJA_DICT:
        tnb_buf_puts(b, v.kind == JINJA_DICT ? "{" : "<Namespace {");
        for (size_t i = 0; i + 1 < v.list->n; i += 2) {
            tnb_buf_puts(b, i ? ", " : "");
            print(r, b, v.list->at[i], true);
            tnb_buf_puts(b, ": ");
            print(r, b, v.list->at[i + 1], true);
        }
        tnb_buf_puts(b, v.kind == JINJA_DICT ? "}" : "}>");
        break;
    default:
        jinja_fail(r, TNB_INVALID, "a function or macro cannot be written as text");
    }
    r->depth--;
    if (b->n > JINJA_MEMORY)
        jinja_fail(r, TNB_BOUNDS, "the text is longer than %d bytes", JINJA_MEMORY);
    if (b->failed)
        jinja_fail(r, TNB_NO_MEMORY, "no memory for text");
}

void
jinja_print(jinja_run *r, tnb_buf *b, jinja_value v)
{
    print(r, b, v, false);
}

jinja_value
jinja_str(jinja_run *r, jinja_value v)
{
    tnb_buf b = {0};
    if (v.kind == JINJA_STRING)
        return v;
    print(r, &b, v, false);
    jinja_value s = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return s;
}

/* ---- JSON ---- */
typedef struct json_style {
    int indent; /* below 0: one line */
    const char *item, *colon;
    bool sorted, ascii;
} json_style;

static void
json_text(tnb_buf *b, jinja_value v, bool ascii)
{
    tnb_buf_putc(b, '"');
    for (size_t i = 0; i < v.n;) {
        tnl_char c = tnl_char_at(v.s + i, v.n - i);
        size_t n = c.n ? c.n : 1;
        static const char letters[] = "\"\\\n\r\t\b\f", names[] = "\"\\nrtbf";
        const char *k = n == 1 && v.s[i] ? strchr(letters, v.s[i]) : NULL;
        if (k)
            tnb_buf_printf(b, "\\%c", names[k - letters]);
        else if (c.n &&
                 (c.code < ' ' || (ascii && c.code >= 0x7f && c.code != 0x7f && c.code < 0x10000)))
            tnb_buf_printf(b, "\\u%04x", (unsigned)c.code);
        else if (ascii && c.code >= 0x10000)
            tnb_buf_printf(b, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c.code >> 10)),
                           (unsigned)(0xdc00 + (c.code & 0x3ff)));
        else
            tnb_buf_put(b, v.s + i, n);
        i += n;
    }
    tnb_buf_putc(b, '"');
}

static void
new_line(tnb_buf *b, const json_style *s, uint32_t level)
{
    if (s->indent < 0)
        return;
    tnb_buf_putc(b, '\n');
    for (uint32_t i = 0; i < level * (uint32_t)s->indent; i++)
        tnb_buf_putc(b, ' ');
}

static int
by_text(const void *a, const void *b)
{
    const jinja_value *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int c = memcmp(x->s, y->s, n);
    return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

static void
json(jinja_run *r, tnb_buf *b, jinja_value v, const json_style *s, uint32_t level)
{
    if (!jinja_step(r, 1))
        return;
    if (level > JINJA_DEPTH) {
        jinja_fail(r, TNB_BOUNDS, "a value is nested deeper than %d", JINJA_DEPTH);
        return;
    }
    switch (v.kind) {
    case JINJA_NONE:
        tnb_buf_puts(b, "null");
        break;
    case JINJA_BOOL:
        tnb_buf_puts(b, v.i ? "true" : "false");
        break;
    case JINJA_FLOAT:
        tnb_buf_puts(b, isnan(v.f)   ? "NaN"
                        : isinf(v.f) ? (v.f > 0 ? "Infinity" : "-Infinity")
                                     : tnb_print_f64(v.f).s);
        break;
    case JINJA_STRING:
        json_text(b, v, s->ascii);
        jinja_step(r, v.n / 16);
        break;
    case JINJA_LIST:
    case JINJA_DICT: {
        bool dict = v.kind == JINJA_DICT;
        size_t each = dict ? 2 : 1;
        jinja_value *at = v.list->at;
        if (dict && s->sorted && v.list->n > 2) {
            at = jinja_alloc(r, v.list->n, sizeof *at);
            for (size_t i = 0; at && i < v.list->n; i++)
                at[i] = v.list->at[i];
            for (size_t i = 0; at && i < v.list->n; i += 2)
                if (at[i].kind != JINJA_STRING)
                    at = NULL;
            if (at)
                qsort(at, v.list->n / 2, 2 * sizeof *at, by_text);
            else
                at = v.list->at;
        }
        tnb_buf_putc(b, dict ? '{' : '[');
        for (size_t i = 0; i + each <= v.list->n; i += each) {
            tnb_buf_puts(b, i ? s->item : "");
            new_line(b, s, level + 1);
            if (dict && at[i].kind == JINJA_STRING) {
                json_text(b, at[i], s->ascii);
                tnb_buf_puts(b, s->colon);
            } else if (dict) {
                tnb_buf_putc(b, '"');
                json(r, b, at[i], s, level + 1);
                tnb_buf_printf(b, "\"%s", s->colon);
            }
            json(r, b, at[i + each - 1], s, level + 1);
        }
        if (v.list->n)
            new_line(b, s, level);
        tnb_buf_putc(b, dict ? '}' : ']');
        break;
    }
    case JINJA_INT:
        tnb_buf_printf(b, "%lld", (long long)v.i);
        break;
    default:
        jinja_fail(r, TNB_INVALID,
                   "tojson: an undefined value, function or namespace cannot be written as JSON");
    }
    if (b->n > JINJA_MEMORY || b->failed)
        jinja_fail(r, b->failed ? TNB_NO_MEMORY : TNB_BOUNDS,
                   "the JSON is longer than memory allows");
}

jinja_value
jinja_tojson(jinja_run *r, jinja_value v, int indent, const char *item, const char *colon,
             bool sorted, bool ascii)
{
    const json_style s = {.indent = indent,
                          .item = item         ? item
                                  : indent < 0 ? ", "
                                               : ",",
                          .colon = colon ? colon : ": ",
                          .sorted = sorted,
                          .ascii = ascii};
    tnb_buf b = {0};
    json(r, &b, v, &s, 0);
    v = jinja_string(r, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return v;
}
