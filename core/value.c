/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values as short text: defaults in schemas and options in pass lists.
 *
 *     value := number | "text" | True | False | None | [value, ...] | {"key": value, ...} | bareword
 *
 * A superset of JSON: Python's spellings of true, false and null, and barewords, which are text.
 */
#include "value.h"
#include <ctype.h>
#include "tenon/base/num.h"
#include "tenon/core/text.h"

enum { MAX_NESTING = 64 };

void
tn_value_skip_blank(tn_value_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

static const tn_node *
fail(tn_value_reader *r, const char *why)
{
    if (!r->error) {
        r->error = why;
        r->error_at = r->p;
    }
    return NULL;
}

static bool
take(tn_value_reader *r, char c)
{
    tn_value_skip_blank(r);
    if (r->p < r->end && *r->p == c) {
        r->p++;
        return true;
    }
    return false;
}

bool
tn_value_bareword_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+' || c == ':' ||
           c == '/' || c == '*';
}

/* ---- texts ---- */
static bool
read_hex4(tn_value_reader *r, uint32_t *out)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++, r->p++) {
        if (r->p == r->end || !isxdigit((unsigned char)*r->p))
            return false;
        char c = *r->p;
        v = v * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    *out = v;
    return true;
}

static void
put_utf8(tnb_buf *b, uint32_t c)
{
    if (c < 0x80) {
        tnb_buf_putc(b, (char)c);
    } else if (c < 0x800) {
        tnb_buf_putc(b, (char)(0xC0 | c >> 6));
        tnb_buf_putc(b, (char)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        tnb_buf_putc(b, (char)(0xE0 | c >> 12));
        tnb_buf_putc(b, (char)(0x80 | (c >> 6 & 63)));
        tnb_buf_putc(b, (char)(0x80 | (c & 63)));
    } else {
        tnb_buf_putc(b, (char)(0xF0 | c >> 18));
        tnb_buf_putc(b, (char)(0x80 | (c >> 12 & 63)));
        tnb_buf_putc(b, (char)(0x80 | (c >> 6 & 63)));
        tnb_buf_putc(b, (char)(0x80 | (c & 63)));
    }
}

static const char *
read_escape(tn_value_reader *r, tnb_buf *b)
{
    static const char from[] = "\"\\/bfnrt'", to[] = "\"\\/\b\f\n\r\t'";
    if (r->p == r->end)
        return "text that does not end";
    char c = *r->p++;
    const char *k = c ? strchr(from, c) : NULL;
    if (k) {
        tnb_buf_putc(b, to[k - from]);
        return NULL;
    }
    uint32_t u, low;
    if (c != 'u' || !read_hex4(r, &u))
        return "an unknown escape in a text";
    if (u >= 0xD800 && u < 0xDC00) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
            return "half of a surrogate pair in a text";
        r->p += 2;
        if (!read_hex4(r, &low) || low < 0xDC00 || low > 0xDFFF)
            return "half of a surrogate pair in a text";
        u = 0x10000 + ((u - 0xD800) << 10) + (low - 0xDC00);
    } else if (u >= 0xDC00 && u < 0xE000) {
        return "half of a surrogate pair in a text";
    }
    if (u == 0)
        return "a zero byte in a text";
    put_utf8(b, u);
    return NULL;
}

static const char *
read_text(tn_value_reader *r, char quote)
{
    tnb_buf b = {0};
    r->p++;
    const char *why = NULL;
    while (!why) {
        if (r->p == r->end) {
            why = "text that does not end";
        } else if (*r->p == quote) {
            r->p++;
            break;
        } else if (*r->p == '\\') {
            r->p++;
            why = read_escape(r, &b);
        } else if ((unsigned char)*r->p < 32) {
            why = "a control character in a text";
        } else {
            tnb_buf_putc(&b, *r->p++);
        }
    }
    const char *s = why ? NULL : tn_strn(r->ctx, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    if (why)
        fail(r, why);
    return s;
}

/* ---- values ---- */
static const tn_node *
read_word(tn_value_reader *r)
{
    const char *s = r->p;
    while (r->p < r->end && tn_value_bareword_char(*r->p))
        r->p++;
    size_t n = (size_t)(r->p - s);
    if (!n)
        return fail(r, "a value is missing");
    static const struct {
        const char *word;
        int value; /* 2: None */
    } words[] = {{"True", 1}, {"true", 1}, {"False", 0}, {"false", 0}, {"None", 2}, {"null", 2}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == n && memcmp(words[i].word, s, n) == 0)
            return words[i].value == 2 ? tn_none_value(r->ctx) : tn_bool(r->ctx, words[i].value);
    int64_t i;
    double f;
    if (tnb_read_i64(s, n, &i))
        return tn_i64(r->ctx, i);
    if ((isdigit((unsigned char)*s) || *s == '-' || *s == '+' || *s == '.') &&
        tnb_read_f64(s, n, &f))
        return tn_float_imm_of(r->ctx, TNB_F64, f);
    return tn_string(r->ctx, tn_strn(r->ctx, s, n));
}

static const tn_node *
read_list(tn_value_reader *r)
{
    TNB_VEC(const tn_node *) v = {0};
    r->p++;
    if (!take(r, ']'))
        do {
            const tn_node *e = tn_value_read(r);
            if (!e)
                return NULL;
            TNB_PUSH(tn_scratch(r->ctx), v, e);
        } while (take(r, ','));
    else
        return tn_array_of(r->ctx, (tn_list){0});
    if (!take(r, ']'))
        return fail(r, "',' or ']' is missing in a list");
    return tn_array_of(r->ctx, (tn_list){v.at, v.n});
}

static const tn_node *
read_dict(tn_value_reader *r)
{
    TNB_VEC(const char *) keys = {0};
    TNB_VEC(const tn_node *) values = {0};
    r->p++;
    if (!take(r, '}')) {
        do {
            tn_value_skip_blank(r);
            if (r->p == r->end || (*r->p != '"' && *r->p != '\''))
                return fail(r, "a key of a dictionary must be a quoted text");
            const char *key = read_text(r, *r->p);
            if (!key)
                return NULL;
            if (!take(r, ':'))
                return fail(r, "':' is missing after a key");
            const tn_node *e = tn_value_read(r);
            if (!e)
                return NULL;
            for (uint32_t i = 0; i < keys.n; i++)
                if (keys.at[i] == key)
                    return fail(r, "a key stands twice in a dictionary");
            TNB_PUSH(tn_scratch(r->ctx), keys, key);
            TNB_PUSH(tn_scratch(r->ctx), values, e);
        } while (keys.n < 4096 && take(r, ','));
        if (!take(r, '}'))
            return fail(r, "',' or '}' is missing in a dictionary");
    }
    return tn_dict_of(r->ctx, keys.at, values.at, keys.n);
}

const tn_node *
tn_value_read(tn_value_reader *r)
{
    tn_value_skip_blank(r);
    if (r->p == r->end)
        return fail(r, "a value is missing");
    if (r->depth >= MAX_NESTING)
        return fail(r, "values are nested too deeply");
    r->depth++;
    const tn_node *v;
    if (*r->p == '"' || *r->p == '\'') {
        const char *s = read_text(r, *r->p);
        v = s ? tn_string(r->ctx, s) : NULL;
    } else if (*r->p == '[') {
        v = read_list(r);
    } else if (*r->p == '{') {
        v = read_dict(r);
    } else {
        v = read_word(r);
    }
    r->depth--;
    return v && tn_is_error(v) ? fail(r, "the value is not possible") : v;
}

const tn_node *
tn_value_of_text(tn_ctx *ctx, const char *text)
{
    tn_value_reader r = {.ctx = ctx, .p = text, .end = text + strlen(text)};
    const tn_node *v = tn_value_read(&r);
    tn_value_skip_blank(&r);
    if (v && r.p == r.end)
        return v;
    return tn_error(ctx, 0, TNB_FORMAT, "'%s' is not a value: %s", text,
                    r.error ? r.error : "something follows it");
}

const tn_node *
tn_read_value(tn_ctx *ctx, const char *text, size_t n, size_t *used)
{
    tn_value_reader r = {.ctx = ctx, .p = text, .end = text + n};
    const tn_node *v = tn_value_read(&r);
    *used = (size_t)((v ? r.p : r.error_at ? r.error_at : r.p) - text);
    return v;
}

/* ---- writing ---- */
static void
put_text(tnb_buf *out, const char *s)
{
    tnb_buf_putc(out, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            tnb_buf_printf(out, "\\%c", c);
        else if (c < 32)
            tnb_buf_printf(out, "\\u%04x", c);
        else
            tnb_buf_putc(out, (char)c);
    }
    tnb_buf_putc(out, '"');
}

static bool
plain_word(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    static const char *const taken[] = {"True", "true", "False", "false", "None", "null"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(s, taken[i]) == 0)
            return false;
    while (*s && tn_value_bareword_char(*s))
        s++;
    return *s == 0;
}

void
tn_write_value(const tn_node *v, tnb_buf *out)
{
    switch ((tn_kind)v->kind) {
    case TN_KIND_INT_IMM:
        if (tnb_dtype_is_bool(tn_dtype_of(v)))
            tnb_buf_puts(out, ((const tn_int_imm *)v)->value ? "true" : "false");
        else
            tnb_buf_printf(out, "%lld", (long long)((const tn_int_imm *)v)->value);
        break;
    case TN_KIND_FLOAT_IMM:
        tnb_buf_puts(out, tnb_print_f64(((const tn_float_imm *)v)->value).s);
        break;
    case TN_KIND_STRING_IMM:
        if (plain_word(((const tn_string_imm *)v)->value))
            tnb_buf_puts(out, ((const tn_string_imm *)v)->value);
        else
            put_text(out, ((const tn_string_imm *)v)->value);
        break;
    case TN_KIND_DTYPE_IMM:
        tnb_buf_puts(out, tnb_dtype_print(((const tn_dtype_imm *)v)->value).s);
        break;
    case TN_KIND_NONE:
        tnb_buf_puts(out, "null");
        break;
    case TN_KIND_ARRAY: {
        tn_list l = ((const tn_array *)v)->items;
        tnb_buf_putc(out, '[');
        for (uint32_t i = 0; i < l.n; i++) {
            if (i)
                tnb_buf_putc(out, ',');
            tn_write_value(l.at[i], out);
        }
        tnb_buf_putc(out, ']');
        break;
    }
    case TN_KIND_DICT: {
        tn_list l = ((const tn_dict *)v)->items;
        tnb_buf_putc(out, '{');
        for (uint32_t i = 0; i < l.n; i++) {
            const tn_pair *p = (const tn_pair *)l.at[i];
            if (i)
                tnb_buf_putc(out, ',');
            put_text(out, p->key);
            tnb_buf_putc(out, ':');
            tn_write_value(p->value, out);
        }
        tnb_buf_putc(out, '}');
        break;
    }
    default:
        tnb_buf_printf(out, "<%s>", tn_kinds[v->kind].name);
    }
}
