/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a template: its text is cut at tags with the rules of trim_blocks and lstrip_blocks, what stands in tags is read by recursive
 * descent, with Jinja's precedences. */
#include "config.h"
#include "jinja.h"

#include <stdio.h>
#include <stdlib.h>

#include "tenon/base/num.h"
#include "tokenizer.h"

typedef enum token_kind {
    T_END,
    T_NAME,
    T_INT,
    T_FLOAT,
    T_STRING,
    T_OPERATOR,
    T_TEXT,
    T_BLOCK_BEGIN,
    T_BLOCK_END,
    T_PRINT_BEGIN,
    T_PRINT_END
} token_kind;
typedef struct token {
    token_kind kind;
    uint32_t line;
    const char *s; /* in the arena: names and texts terminated */
    size_t n;
} token;

typedef struct parser {
    tnl_template *t;
    tnb_arena *arena;
    tnb_err *err;
    tnb_status status;
    TNB_VEC(token) tokens;
    uint32_t at, depth, loops;
    bool soft; /* directly in an if: what is not there fails when it runs */
    const struct jinja_node
        *lacking; /* the first filter or test that is not there, and runs for sure */
} parser;

static void *
fail(parser *p, tnb_status st, uint32_t line, const char *fmt, ...) TNB_PRINTF(4, 5);
static void *
fail(parser *p, tnb_status st, uint32_t line, const char *fmt, ...)
{
    if (p->status != TNB_OK)
        return NULL;
    va_list ap;
    va_start(ap, fmt);
    p->status = tnb_failv(p->err, st, fmt, ap);
    va_end(ap);
    tnb_err_prefix(p->err, "%s:%u", p->t->name, line);
    return NULL;
}

/* ---- cutting ---- */
static void
push(parser *p, token_kind kind, uint32_t line, const char *s, size_t n)
{
    token k = {.kind = kind, .line = line, .s = tnb_strndup(p->arena, s, n), .n = n};
    TNB_PUSH(p->arena, p->tokens, k);
}

static uint32_t
lines(const char *s, size_t n)
{
    uint32_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += s[i] == '\n';
    return k;
}

static bool
is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A text in quotes at s; gives its length with the quotes, 0: it has no end. */
static size_t
cut_string(parser *p, const char *s, size_t n, uint32_t line)
{
    tnb_buf b = {0};
    size_t i = 1;
    for (; i < n && s[i] != s[0]; i++) {
        if (s[i] != '\\' || i + 1 == n) {
            tnb_buf_putc(&b, s[i]);
            continue;
        }
        static const char letters[] = "nrtabfv0", codes[] = "\n\r\t\a\b\f\v";
        char c = s[++i];
        const char *k = strchr(letters, c);
        uint32_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        char hex[12] = "0x";
        uint64_t v;
        if (digits && n - i > digits) {
            memcpy(hex + 2, s + i + 1, digits);
            if (!tnb_read_u64(hex, digits + 2, &v) || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
                fail(p, TNB_FORMAT, line, "'\\%c' without the number of a character behind it", c);
            else
                tnl_put_char(&b, (uint32_t)v);
            i += digits;
        } else if (c == '\\' || c == '\'' || c == '"') {
            tnb_buf_putc(&b, c);
        } else if (k && c && c != '0') {
            tnb_buf_putc(&b, codes[k - letters]);
        } else if (c != '\n') {
            tnb_buf_putc(&b, '\\');
            tnb_buf_putc(&b, c);
        }
    }
    if (b.failed)
        fail(p, TNB_NO_MEMORY, line, "no memory");
    push(p, T_STRING, line, b.s ? b.s : "", b.n);
    tnb_buf_free(&b);
    return i < n ? i + 1 : 0;
}

static size_t
cut_number(parser *p, const char *s, size_t n, uint32_t line)
{
    size_t i = 0;
    bool real = false;
    while (i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] == '_' && i)))
        i++;
    if (i + 1 < n && s[i] == '.' && s[i + 1] >= '0' && s[i + 1] <= '9') {
        real = true;
        for (i++; i < n && s[i] >= '0' && s[i] <= '9';)
            i++;
    }
    if (i + 1 < n && (s[i] | 32) == 'e') {
        size_t k = i + 1 + (s[i + 1] == '-' || s[i + 1] == '+');
        if (k < n && s[k] >= '0' && s[k] <= '9') {
            real = true;
            for (i = k; i < n && s[i] >= '0' && s[i] <= '9';)
                i++;
        }
    }
    push(p, real ? T_FLOAT : T_INT, line, s, i);
    return i;
}

/* Cuts what stands in a tag up to its end `close`; gives where that begins, n if there is none. */
static size_t
cut_tag(parser *p, const char *s, size_t n, const char *close, uint32_t *line)
{
    size_t i = 0;
    int depth = 0;
    while (i < n && p->status == TNB_OK) {
        if (!depth && n - i >= 2 &&
            (memcmp(s + i, close, 2) == 0 ||
             (n - i >= 3 && (s[i] == '-' || s[i] == '+') && memcmp(s + i + 1, close, 2) == 0)))
            return i;
        char c = s[i];
        if (is_white(c)) {
            *line += c == '\n';
            i++;
        } else if (c == '"' || c == '\'') {
            size_t k = cut_string(p, s + i, n - i, *line);
            *line += lines(s + i, k);
            if (!k)
                break;
            i += k;
        } else if (c >= '0' && c <= '9') {
            i += cut_number(p, s + i, n - i, *line);
        } else if (c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z')) {
            size_t k = i;
            while (k < n && (s[k] == '_' || ((s[k] | 32) >= 'a' && (s[k] | 32) <= 'z') ||
                             (s[k] >= '0' && s[k] <= '9')))
                k++;
            push(p, T_NAME, *line, s + i, k - i);
            i = k;
        } else {
            static const char *const pairs[] = {"**", "//", "==", "!=", ">=", "<="};
            size_t k = 1;
            for (int j = 0; j < 6; j++)
                k = n - i >= 2 && memcmp(s + i, pairs[j], 2) == 0 ? 2 : k;
            if (!strchr("+-*/%~<>=!()[]{},.:|", c) || (c == '!' && k == 1)) {
                fail(p, TNB_FORMAT, *line, "unexpected character '%c'", c);
                break;
            }
            depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
            push(p, T_OPERATOR, *line, s + i, k);
            i += k;
        }
    }
    return n;
}

/* Text before a tag, by the tag's kind and sign. */
static void
put_text(parser *p, const char *s, size_t n, uint32_t line, bool at_line, bool block, char sign)
{
    if (sign == '-') {
        while (n && is_white(s[n - 1]))
            n--;
    } else if (block && sign != '+') {
        size_t k = n;
        while (k && s[k - 1] != '\n' && is_white(s[k - 1]))
            k--;
        if (k ? s[k - 1] == '\n' : at_line)
            n = k;
    }
    if (n)
        push(p, T_TEXT, line, s, n);
}

/* Where the text behind a tag begins: `sign` before its end. */
static size_t
behind(const char *s, size_t n, size_t i, bool block, char sign)
{
    if (sign == '-')
        while (i < n && is_white(s[i]))
            i++;
    else if (block && sign != '+' && i < n && s[i] == '\n')
        i++;
    return i;
}

/* {% raw %}: where the text that is meant begins, and the tag that ends it. */
static bool
is_raw(const char *s, size_t n, size_t *end, const char *word, char *sign)
{
    size_t i = 2 + (n > 2 && (s[2] == '-' || s[2] == '+')), k = strlen(word);
    while (i < n && is_white(s[i]))
        i++;
    if (n - i < k || memcmp(s + i, word, k) != 0)
        return false;
    for (i += k; i < n && is_white(s[i]);)
        i++;
    *sign = i < n ? s[i] : 0;
    i += *sign == '-' || *sign == '+';
    if (n - i < 2 || memcmp(s + i, "%}", 2) != 0)
        return false;
    *end = i + 2;
    return true;
}

static void
cut(parser *p, const char *s, size_t n)
{
    uint32_t line = 1;
    bool at_line = true;
    for (size_t at = 0; p->status == TNB_OK;) {
        size_t i = at;
        while (i < n && !(s[i] == '{' && i + 1 < n && strchr("{%#", s[i + 1])))
            i++;
        uint32_t text_line = line;
        line += lines(s + at, i - at);
        if (i == n) {
            put_text(p, s + at, n - at, text_line, false, false, 0);
            break;
        }
        char kind = s[i + 1], sign = i + 2 < n ? s[i + 2] : 0, end_sign = 0;
        put_text(p, s + at, i - at, text_line, at_line, kind != '{', sign);
        size_t begin = i, end = 0;
        if (kind == '#') {
            const char *e = memmem(s + i + 2, n - i - 2, "#}", 2);
            if (!e) {
                fail(p, TNB_FORMAT, line, "a comment without its end '#}'");
                break;
            }
            end = (size_t)(e - s) + 2;
            end_sign = e[-1];
            line += lines(s + i, end - i);
        } else if (kind == '%' && is_raw(s + i, n - i, &end, "raw", &end_sign)) {
            size_t from = behind(s, n, i + end, true, end_sign), to = from, length;
            char last = 0;
            while (to < n && !(s[to] == '{' && is_raw(s + to, n - to, &length, "endraw", &last)))
                to++;
            if (to >= n) {
                fail(p, TNB_FORMAT, line, "'raw' without 'endraw'");
                break;
            }
            put_text(p, s + from, to - from, line, false, true, s[to + 2]);
            end = to + length;
            end_sign = last;
            line += lines(s + i, end - i);
        } else {
            i += 2 + (sign == '-' || sign == '+');
            push(p, kind == '%' ? T_BLOCK_BEGIN : T_PRINT_BEGIN, line, "", 0);
            uint32_t first = line;
            size_t k = i + cut_tag(p, s + i, n - i, kind == '%' ? "%}" : "}}", &line);
            if (p->status != TNB_OK)
                break;
            if (k >= n) {
                fail(p, TNB_FORMAT, first, "a tag without its end '%s'", kind == '%' ? "%}" : "}}");
                break;
            }
            end_sign = s[k];
            end = k + 2 + (end_sign == '-' || end_sign == '+');
            push(p, kind == '%' ? T_BLOCK_END : T_PRINT_END, line, "", 0);
        }
        if (end_sign != '-' && end_sign != '+')
            end_sign = 0;
        at = behind(s, n, end, kind != '{', end_sign);
        line += lines(s + end, at - end);
        at_line = at > begin && s[at - 1] == '\n';
    }
    push(p, T_END, line, "", 0);
}

/* ---- reading ---- */
static const token *
now(parser *p)
{
    return &p->tokens.at[p->at];
}

static const token *
take(parser *p)
{
    const token *k = now(p);
    p->at += k->kind != T_END;
    return k;
}

static const char *
shown(const token *k)
{
    return k->kind == T_END           ? "the end"
           : k->kind == T_BLOCK_END   ? "%}"
           : k->kind == T_PRINT_END   ? "}}"
           : k->kind == T_TEXT        ? "text"
           : k->kind == T_BLOCK_BEGIN ? "{%"
           : k->kind == T_PRINT_BEGIN ? "{{"
                                      : k->s;
}

static bool
is(parser *p, token_kind kind, const char *s)
{
    return now(p)->kind == kind && (!s || strcmp(now(p)->s, s) == 0);
}

static bool
accept(parser *p, token_kind kind, const char *s)
{
    bool yes = is(p, kind, s);
    if (yes)
        p->at++;
    return yes;
}

static bool
expect(parser *p, token_kind kind, const char *s)
{
    if (accept(p, kind, s))
        return true;
    fail(p, TNB_FORMAT, now(p)->line, "expected '%s', found '%.40s'",
         s                     ? s
         : kind == T_NAME      ? "a name"
         : kind == T_BLOCK_END ? "%}"
                               : "}}",
         shown(now(p)));
    return false;
}

static jinja_node *
node(parser *p, jinja_node_kind kind)
{
    jinja_node *n = TNB_NEW(p->arena, jinja_node);
    n->kind = kind;
    n->line = now(p)->line;
    return n;
}

static void
add_item(parser *p, jinja_node *n, const jinja_node *item, const char *name)
{
    uint32_t cap = n->n_items < 8 ? 8 : 2 * n->n_items;
    if (!n->n_items || (n->n_items >= 8 && !(n->n_items & (n->n_items - 1)))) {
        const jinja_node **more = TNB_NEW_N(p->arena, const jinja_node *, cap);
        const char **names = TNB_NEW_N(p->arena, const char *, cap);
        if (n->n_items) {
            memcpy(more, n->items, n->n_items * sizeof *more);
            memcpy(names, n->names, n->n_items * sizeof *names);
        }
        n->items = more;
        n->names = names;
    }
    n->names[n->n_items] = name;
    n->items[n->n_items++] = item;
}

static const jinja_node *
expression(parser *p);
static const jinja_node *
unary(parser *p);

static bool
enter(parser *p)
{
    if (p->depth++ < JINJA_DEPTH && p->status == TNB_OK)
        return true;
    fail(p, TNB_BOUNDS, now(p)->line, "nested deeper than %d", JINJA_DEPTH);
    return false;
}

/* (a, b=c) behind the parenthesis */
static void
arguments(parser *p, jinja_node *n)
{
    while (p->status == TNB_OK && !accept(p, T_OPERATOR, ")")) {
        const char *name = NULL;
        if (now(p)->kind == T_NAME && p->tokens.at[p->at + 1].kind == T_OPERATOR &&
            strcmp(p->tokens.at[p->at + 1].s, "=") == 0) {
            name = take(p)->s;
            p->at++;
        } else if (is(p, T_OPERATOR, "*") || is(p, T_OPERATOR, "**")) {
            fail(p, TNB_UNSUPPORTED, now(p)->line,
                 "lists of arguments ('%s') are not among what Tenon's templates have", now(p)->s);
        }
        add_item(p, n, expression(p), name);
        if (n->n_items > JINJA_ARGS)
            fail(p, TNB_BOUNDS, now(p)->line, "more than %d arguments", JINJA_ARGS);
        if (!is(p, T_OPERATOR, ")"))
            expect(p, T_OPERATOR, ",");
    }
}

static const jinja_node *
list_of(parser *p, jinja_node_kind kind, const char *close)
{
    jinja_node *n = node(p, kind);
    while (p->status == TNB_OK && !accept(p, T_OPERATOR, close)) {
        add_item(p, n, expression(p), NULL);
        if (kind == N_DICT) {
            expect(p, T_OPERATOR, ":");
            add_item(p, n, expression(p), NULL);
        }
        if (!is(p, T_OPERATOR, close))
            expect(p, T_OPERATOR, ",");
    }
    return n;
}

static const jinja_node *
primary(parser *p)
{
    jinja_node *n = node(p, N_CONST);
    const token *k = take(p);
    tnb_buf b = {0};
    switch (k->kind) {
    case T_INT:
    case T_FLOAT:
        for (size_t i = 0; i < k->n; i++)
            if (k->s[i] != '_')
                tnb_buf_putc(&b, k->s[i]);
        n->value.kind = k->kind == T_INT ? JINJA_INT : JINJA_FLOAT;
        if (!b.s || (k->kind == T_INT ? !tnb_read_i64(b.s, b.n, &n->value.i)
                                      : !tnb_read_f64(b.s, b.n, &n->value.f)))
            fail(p, TNB_FORMAT, k->line, "'%.40s' is no number in range", k->s);
        tnb_buf_free(&b);
        return n;
    case T_STRING:
        n->value = (jinja_value){.kind = JINJA_STRING, .s = k->s, .n = k->n};
        for (; is(p, T_STRING, NULL); p->at++) {
            n->value.s = tnb_printf(p->arena, "%s%s", n->value.s, now(p)->s);
            n->value.n = strlen(n->value.s);
        }
        return n;
    case T_NAME:
        if (strcmp(k->s, "true") == 0 || strcmp(k->s, "True") == 0 || strcmp(k->s, "false") == 0 ||
            strcmp(k->s, "False") == 0) {
            n->value = jinja_bool((k->s[0] | 32) == 't');
            return n;
        }
        if (strcmp(k->s, "none") == 0 || strcmp(k->s, "None") == 0) {
            n->value.kind = JINJA_NONE;
            return n;
        }
        n->kind = N_NAME;
        n->name = k->s;
        return n;
    case T_OPERATOR:
        if (strcmp(k->s, "[") == 0)
            return list_of(p, N_LIST, "]");
        if (strcmp(k->s, "{") == 0)
            return list_of(p, N_DICT, "}");
        if (strcmp(k->s, "(") == 0) {
            if (accept(p, T_OPERATOR, ")")) {
                n->kind = N_TUPLE;
                return n;
            }
            const jinja_node *e = expression(p);
            if (p->status == TNB_OK && is(p, T_OPERATOR, ",")) {
                n->kind = N_TUPLE;
                add_item(p, n, e, NULL);
                while (p->status == TNB_OK && accept(p, T_OPERATOR, ",") && !is(p, T_OPERATOR, ")"))
                    add_item(p, n, expression(p), NULL);
                e = n;
            }
            expect(p, T_OPERATOR, ")");
            return e;
        }
        break;
    default:
        break;
    }
    fail(p, TNB_FORMAT, k->line, "expected an expression, found '%.40s'", shown(k));
    return n;
}

static const jinja_node *
subscript(parser *p, const jinja_node *e)
{
    jinja_node *n = node(p, N_ITEM);
    n->a = e;
    const jinja_node *parts[3] = {0};
    int at = 0;
    bool slice = false;
    while (p->status == TNB_OK && !accept(p, T_OPERATOR, "]")) {
        if (accept(p, T_OPERATOR, ":")) {
            slice = true;
            if (++at > 2)
                fail(p, TNB_FORMAT, now(p)->line, "a slice of more than three parts");
        } else if (!parts[at < 2 ? at : 2]) {
            parts[at < 2 ? at : 2] = expression(p);
        } else {
            expect(p, T_OPERATOR, "]");
        }
    }
    n->kind = slice ? N_SLICE : N_ITEM;
    n->b = parts[0];
    for (int i = 0; i < 3 && slice; i++)
        add_item(p, n, parts[i], NULL);
    if (!slice && !n->b)
        fail(p, TNB_FORMAT, n->line, "'[]' without an index");
    return n;
}

/* A filter or test that is not there is an error before the run, but where a condition stands before it: of the run then. */
static void
note_lacking(parser *p, const jinja_node *n, bool there)
{
    if (!there && !p->soft && !p->lacking)
        p->lacking = n;
}

/* Attributes, items, calls; then, where `all`, filters and tests. */
static const jinja_node *
postfix(parser *p, const jinja_node *e, bool all)
{
    while (p->status == TNB_OK) {
        jinja_node *n = node(p, N_ATTR);
        n->a = e;
        if (accept(p, T_OPERATOR, ".")) {
            if (is(p, T_INT, NULL)) {
                jinja_node *i = node(p, N_CONST);
                i->value.kind = JINJA_INT;
                if (!tnb_read_i64(now(p)->s, now(p)->n, &i->value.i))
                    fail(p, TNB_FORMAT, n->line, "'%.40s' is no index", now(p)->s);
                p->at++;
                n->kind = N_ITEM;
                n->b = i;
            } else {
                n->name = now(p)->s;
                expect(p, T_NAME, NULL);
            }
            e = n;
        } else if (accept(p, T_OPERATOR, "[")) {
            e = subscript(p, e);
        } else if (accept(p, T_OPERATOR, "(")) {
            n->kind = N_CALL;
            arguments(p, n);
            e = n;
        } else if (all && accept(p, T_OPERATOR, "|")) {
            n->kind = N_FILTER;
            n->name = now(p)->s;
            if (!expect(p, T_NAME, NULL))
                break;
            note_lacking(p, n, jinja_has_filter(n->name));
            if (accept(p, T_OPERATOR, "("))
                arguments(p, n);
            e = n;
        } else if (all && is(p, T_NAME, "is")) {
            p->at++;
            n->kind = N_TEST;
            n->flag = accept(p, T_NAME, "not");
            n->name = now(p)->s;
            if (now(p)->kind == T_OPERATOR &&
                (strcmp(n->name, "==") == 0 || strcmp(n->name, "!=") == 0))
                p->at++;
            else if (!expect(p, T_NAME, NULL))
                break;
            note_lacking(p, n, jinja_has_test(n->name));
            const token *k = now(p);
            if (accept(p, T_OPERATOR, "("))
                arguments(p, n);
            else if (k->kind == T_STRING || k->kind == T_INT || k->kind == T_FLOAT ||
                     (k->kind == T_NAME && strcmp(k->s, "else") && strcmp(k->s, "or") &&
                      strcmp(k->s, "and") && strcmp(k->s, "is") && strcmp(k->s, "if") &&
                      strcmp(k->s, "in") && strcmp(k->s, "not")) ||
                     (k->kind == T_OPERATOR && (*k->s == '[' || *k->s == '{')))
                add_item(p, n, postfix(p, primary(p), false), NULL);
            e = n;
        } else {
            break;
        }
    }
    return e;
}

static const jinja_node *
binary(parser *p, const char *name, const jinja_node *a, const jinja_node *b, uint32_t line)
{
    jinja_node *n = node(p, N_BINARY);
    n->line = line;
    n->name = name;
    n->a = a;
    n->b = b;
    return n;
}

static const jinja_node *
unary_only(parser *p, bool filters)
{
    const jinja_node *e;
    if (!enter(p))
        return NULL;
    if (is(p, T_OPERATOR, "-") || is(p, T_OPERATOR, "+")) {
        jinja_node *n = node(p, *take(p)->s == '-' ? N_NEG : N_POS);
        n->a = unary_only(p, false);
        e = n;
    } else {
        e = postfix(p, primary(p), false);
    }
    if (filters)
        e = postfix(p, e, true);
    p->depth--;
    return e;
}

static const jinja_node *
unary(parser *p)
{
    const jinja_node *e = unary_only(p, true);
    while (p->status == TNB_OK && is(p, T_OPERATOR, "**")) {
        uint32_t line = take(p)->line;
        e = binary(p, "**", e, unary_only(p, true), line);
    }
    return e;
}

/* Left to right: operators of one precedence. */
static const jinja_node *
level(parser *p, const char *const *operators, const jinja_node *(*next)(parser *))
{
    const jinja_node *e = next(p);
    for (int i = 0; p->status == TNB_OK && operators[i];) {
        if (!is(p, T_OPERATOR, operators[i])) {
            i++;
            continue;
        }
        uint32_t line = take(p)->line;
        e = binary(p, operators[i], e, next(p), line);
        i = 0;
    }
    return e;
}

static const jinja_node *
product(parser *p)
{
    static const char *const operators[] = {"*", "/", "//", "%", NULL};
    return level(p, operators, unary);
}

static const jinja_node *
concat(parser *p)
{
    static const char *const operators[] = {"~", NULL};
    return level(p, operators, product);
}

static const jinja_node *
sum(parser *p)
{
    static const char *const operators[] = {"+", "-", NULL};
    return level(p, operators, concat);
}

static const char *
comparison(parser *p)
{
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">=", NULL};
    for (int i = 0; operators[i]; i++)
        if (accept(p, T_OPERATOR, operators[i]))
            return operators[i];
    if (accept(p, T_NAME, "in"))
        return "in";
    if (is(p, T_NAME, "not") && p->tokens.at[p->at + 1].kind == T_NAME &&
        strcmp(p->tokens.at[p->at + 1].s, "in") == 0) {
        p->at += 2;
        return "not in";
    }
    return NULL;
}

static const jinja_node *
compare(parser *p)
{
    const jinja_node *e = sum(p);
    const char *name = p->status == TNB_OK ? comparison(p) : NULL;
    if (!name)
        return e;
    jinja_node *n = node(p, N_COMPARE);
    add_item(p, n, e, NULL);
    for (; name && p->status == TNB_OK; name = comparison(p))
        add_item(p, n, sum(p), name);
    return n;
}

static const jinja_node *
negation(parser *p)
{
    if (!is(p, T_NAME, "not") || !enter(p))
        return compare(p);
    jinja_node *n = node(p, N_NOT);
    p->at++;
    n->a = negation(p);
    p->depth--;
    return n;
}

static const jinja_node *
words(parser *p, const char *word, const jinja_node *(*next)(parser *))
{
    const jinja_node *e = next(p);
    while (p->status == TNB_OK && is(p, T_NAME, word)) {
        uint32_t line = take(p)->line;
        e = binary(p, word, e, next(p), line);
    }
    return e;
}

static const jinja_node *
conjunction(parser *p)
{
    return words(p, "and", negation);
}

static const jinja_node *
disjunction(parser *p)
{
    return words(p, "or", conjunction);
}

static const jinja_node *
expression(parser *p)
{
    if (!enter(p))
        return NULL;
    const jinja_node *lacking = p->lacking, *e = disjunction(p);
    while (p->status == TNB_OK && is(p, T_NAME, "if")) {
        jinja_node *n = node(p, N_IF_ELSE);
        p->at++;
        n->b = e;
        n->a = disjunction(p);
        if (accept(p, T_NAME, "else"))
            n->c = expression(p);
        p->lacking = lacking; /* whether it runs is the condition's affair */
        e = n;
    }
    p->depth--;
    return e;
}

/* Without parentheses: a, b */
static const jinja_node *
tuple_of(parser *p, const jinja_node *(*next)(parser *))
{
    const jinja_node *e = next(p);
    if (p->status != TNB_OK || !is(p, T_OPERATOR, ","))
        return e;
    jinja_node *n = node(p, N_TUPLE);
    add_item(p, n, e, NULL);
    while (p->status == TNB_OK && accept(p, T_OPERATOR, ",") && !is(p, T_BLOCK_END, NULL) &&
           !is(p, T_PRINT_END, NULL) && !is(p, T_OPERATOR, "="))
        add_item(p, n, next(p), NULL);
    return n;
}

/* ---- statements ---- */
static const jinja_node *
body(parser *p, const char *const *ends, bool soft);

/* Names, or namespace.attribute. */
static const jinja_node *
target(parser *p)
{
    if (is(p, T_OPERATOR, "(")) {
        p->at++;
        const jinja_node *e = tuple_of(p, target);
        expect(p, T_OPERATOR, ")");
        return e;
    }
    jinja_node *n = node(p, N_NAME);
    n->name = now(p)->s;
    if (!expect(p, T_NAME, NULL))
        return n;
    if (accept(p, T_OPERATOR, ".")) {
        jinja_node *attribute = node(p, N_ATTR);
        attribute->a = n;
        attribute->name = now(p)->s;
        expect(p, T_NAME, NULL);
        return attribute;
    }
    return n;
}

static void
end_tag(parser *p, const char *word)
{
    if (expect(p, T_NAME, word))
        expect(p, T_BLOCK_END, NULL);
}

static const jinja_node *
read_for(parser *p)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    jinja_node *n = node(p, N_FOR);
    n->a = tuple_of(p, target);
    if (p->status == TNB_OK && expect(p, T_NAME, "in"))
        n->b = tuple_of(p, disjunction);
    if (p->status == TNB_OK && accept(p, T_NAME, "if"))
        n->c = expression(p);
    if (p->status == TNB_OK && is(p, T_NAME, "recursive"))
        return fail(p, TNB_UNSUPPORTED, now(p)->line,
                    "recursive loops are not among what Tenon's templates have");
    expect(p, T_BLOCK_END, NULL);
    p->loops++;
    n->body = body(p, ends, false);
    p->loops--;
    if (accept(p, T_NAME, "else")) {
        expect(p, T_BLOCK_END, NULL);
        n->other = body(p, ends + 1, false);
    }
    end_tag(p, "endfor");
    return n;
}

static const jinja_node *
read_if(parser *p)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    jinja_node *first = node(p, N_IF), *n = first;
    for (;;) {
        const bool around = p->soft;
        p->soft = true;
        n->a = expression(p);
        p->soft = around;
        expect(p, T_BLOCK_END, NULL);
        n->body = body(p, ends, true);
        if (p->status != TNB_OK || !accept(p, T_NAME, "elif"))
            break;
        jinja_node *next = node(p, N_IF);
        n->other = next;
        n = next;
    }
    if (accept(p, T_NAME, "else")) {
        expect(p, T_BLOCK_END, NULL);
        n->other = body(p, ends + 2, true);
    }
    end_tag(p, "endif");
    return first;
}

/* |name(...)|name, over a hole */
static const jinja_node *
filters(parser *p)
{
    jinja_node *hole = node(p, N_NAME);
    hole->name = "";
    return postfix(p, hole, true);
}

static const jinja_node *
read_set(parser *p)
{
    static const char *const ends[] = {"endset", NULL};
    jinja_node *n = node(p, N_SET);
    n->a = tuple_of(p, target);
    if (p->status == TNB_OK && accept(p, T_OPERATOR, "=")) {
        n->b = tuple_of(p, expression);
        expect(p, T_BLOCK_END, NULL);
        return n;
    }
    n->c = p->status == TNB_OK ? filters(p) : NULL;
    expect(p, T_BLOCK_END, NULL);
    n->body = body(p, ends, false);
    end_tag(p, "endset");
    return n;
}

static void
parameters(parser *p, jinja_node *n)
{
    while (p->status == TNB_OK && !accept(p, T_OPERATOR, ")")) {
        const char *name = now(p)->s;
        expect(p, T_NAME, NULL);
        add_item(p, n, accept(p, T_OPERATOR, "=") ? expression(p) : NULL, name);
        if (n->n_items > JINJA_ARGS)
            fail(p, TNB_BOUNDS, now(p)->line, "more than %d parameters", JINJA_ARGS);
        if (!is(p, T_OPERATOR, ")"))
            expect(p, T_OPERATOR, ",");
    }
}

static const jinja_node *
read_macro(parser *p)
{
    static const char *const ends[] = {"endmacro", NULL};
    jinja_node *n = node(p, N_MACRO);
    uint32_t loops = p->loops;
    n->name = now(p)->s;
    if (expect(p, T_NAME, NULL) && expect(p, T_OPERATOR, "("))
        parameters(p, n);
    expect(p, T_BLOCK_END, NULL);
    p->loops = 0;
    n->body = body(p, ends, false);
    p->loops = loops;
    end_tag(p, "endmacro");
    return n;
}

static const jinja_node *
read_call(parser *p)
{
    static const char *const ends[] = {"endcall", NULL};
    jinja_node *n = node(p, N_CALL_BLOCK);
    uint32_t loops = p->loops;
    n->name = "caller";
    if (accept(p, T_OPERATOR, "("))
        parameters(p, n);
    n->a = expression(p);
    if (p->status == TNB_OK && n->a->kind != N_CALL)
        fail(p, TNB_FORMAT, n->line, "'call' without a call");
    expect(p, T_BLOCK_END, NULL);
    p->loops = 0;
    n->body = body(p, ends, false);
    p->loops = loops;
    end_tag(p, "endcall");
    return n;
}

static const jinja_node *
read_filter(parser *p)
{
    static const char *const ends[] = {"endfilter", NULL};
    jinja_node *n = node(p, N_FILTER_BLOCK), *f = node(p, N_FILTER), *hole = node(p, N_NAME);
    hole->name = "";
    f->a = hole;
    f->name = now(p)->s;
    if (expect(p, T_NAME, NULL))
        note_lacking(p, f, jinja_has_filter(f->name));
    if (accept(p, T_OPERATOR, "("))
        arguments(p, f);
    n->a = postfix(p, f, true);
    expect(p, T_BLOCK_END, NULL);
    n->body = body(p, ends, false);
    end_tag(p, "endfilter");
    return n;
}

static const jinja_node *
read_with(parser *p)
{
    static const char *const ends[] = {"endwith", NULL};
    jinja_node *n = node(p, N_WITH);
    while (p->status == TNB_OK && !is(p, T_BLOCK_END, NULL)) {
        add_item(p, n, target(p), NULL);
        expect(p, T_OPERATOR, "=");
        add_item(p, n, expression(p), NULL);
        if (!is(p, T_BLOCK_END, NULL))
            expect(p, T_OPERATOR, ",");
    }
    expect(p, T_BLOCK_END, NULL);
    n->body = body(p, ends, false);
    end_tag(p, "endwith");
    return n;
}

static const jinja_node *
read_leap(parser *p, jinja_node_kind kind, const char *word)
{
    jinja_node *n = node(p, kind);
    if (!p->loops)
        fail(p, TNB_FORMAT, n->line, "'%s' outside of a loop", word);
    expect(p, T_BLOCK_END, NULL);
    return n;
}

static const jinja_node *
statement(parser *p)
{
    static const char *const generation[] = {"endgeneration", NULL};
    const token *k = take(p);
    if (k->kind != T_NAME)
        return fail(p, TNB_FORMAT, k->line, "expected a statement, found '%.40s'", shown(k));
    if (strcmp(k->s, "for") == 0)
        return read_for(p);
    if (strcmp(k->s, "if") == 0)
        return read_if(p);
    if (strcmp(k->s, "set") == 0)
        return read_set(p);
    if (strcmp(k->s, "macro") == 0)
        return read_macro(p);
    if (strcmp(k->s, "call") == 0)
        return read_call(p);
    if (strcmp(k->s, "filter") == 0)
        return read_filter(p);
    if (strcmp(k->s, "with") == 0)
        return read_with(p);
    if (strcmp(k->s, "break") == 0)
        return read_leap(p, N_BREAK, k->s);
    if (strcmp(k->s, "continue") == 0)
        return read_leap(p, N_CONTINUE, k->s);
    if (strcmp(k->s, "generation") == 0) {
        expect(p, T_BLOCK_END, NULL);
        const jinja_node *n = body(p, generation, false);
        end_tag(p, "endgeneration");
        return n;
    }
    return fail(p, TNB_UNSUPPORTED, k->line,
                "the statement '%.40s' is not among those that Tenon's templates have", k->s);
}

/* Up to a tag that begins with one of the words (its name is the next token), or to the end (ends NULL). */
static const jinja_node *
body(parser *p, const char *const *ends, bool soft)
{
    const bool around = p->soft;
    jinja_node *n = node(p, N_BODY);
    if (!enter(p))
        return NULL;
    p->soft = soft;
    while (p->status == TNB_OK) {
        const token *k = take(p);
        if (k->kind == T_END) {
            if (ends)
                fail(p, TNB_FORMAT, n->line, "the block that begins here has no '%s'",
                     ends[1] ? ends[ends[2] ? 2 : 1] : ends[0]);
            break;
        }
        if (k->kind == T_TEXT) {
            jinja_node *t = node(p, N_TEXT);
            t->line = k->line;
            t->value = (jinja_value){.kind = JINJA_STRING, .s = k->s, .n = k->n};
            add_item(p, n, t, NULL);
        } else if (k->kind == T_PRINT_BEGIN) {
            jinja_node *t = node(p, N_PRINT);
            t->a = tuple_of(p, expression);
            expect(p, T_PRINT_END, NULL);
            add_item(p, n, t, NULL);
        } else {
            bool end = false;
            for (int i = 0; ends && ends[i] && !end; i++)
                end = is(p, T_NAME, ends[i]);
            if (end)
                break;
            add_item(p, n, statement(p), NULL);
        }
    }
    p->soft = around;
    p->depth--;
    return n;
}

tnb_status
jinja_parse(tnl_template *t, const char *text, size_t n, tnb_err *err)
{
    parser p = {.t = t, .arena = t->arena, .err = err};
    char *copy = TNB_NEW_N(t->arena, char, n + 1);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) /* line ends as Jinja reads them */
        if (text[i] != '\r')
            copy[k++] = text[i];
        else if (i + 1 == n || text[i + 1] != '\n')
            copy[k++] = '\n';
    k -= k && copy[k - 1] == '\n';
    cut(&p, copy, k);
    if (p.status == TNB_OK)
        t->root = body(&p, NULL, false);
    if (p.lacking)
        fail(&p, TNB_UNSUPPORTED, p.lacking->line, JINJA_LACKS,
             p.lacking->kind == N_FILTER ? "filter" : "test", p.lacking->name);
    if (p.status == TNB_OK && tnb_arena_failed(t->arena))
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a template");
    return p.status;
}
