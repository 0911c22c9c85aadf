/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a text module into tokens by the rules of Python: indentation becomes INDENT and DEDENT,
 * line ends inside brackets do not count, comments vanish. Bytes that fit nowhere are reported and
 * skipped.
 */
#include <stdio.h>

#include "ast.h"

typedef struct lexer {
    source *s;
    const char *p, *end, *line_start;
    uint32_t line, first_line, first_column;
    uint32_t brackets;
    uint32_t indents[AST_MAX_INDENT + 1], n_indents;
    tokens out;
} lexer;

void
text_syntax_error(source *s, uint32_t line, uint32_t column, const char *fmt, ...)
{
    if (s->errors++ >= 20)
        return;
    char message[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    tn_loc loc = tn_loc_make(s->ctx, (tnb_place){.file = s->file, .line = line, .column = column});
    tn_error(s->ctx, loc, TNB_FORMAT, "%s", message);
}

static uint32_t
column_of(const lexer *x, const char *p)
{
    uint32_t column = (uint32_t)(p - x->line_start) + 1;
    return x->line == x->first_line ? column + x->first_column - 1 : column;
}

static void
push(lexer *x, tok_kind kind, uint8_t op, const char *at, size_t n)
{
    token t = {kind, op, x->line, column_of(x, at), at, n};
    TNB_PUSH(x->s->arena, x->out, t);
}

static bool
is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_name_char(char c)
{
    return is_name_start(c) || is_digit(c);
}

int
tn_utf8_length(const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;
    int n = c < 0x80                ? 1
            : c >= 0xc2 && c < 0xe0 ? 2
            : c >= 0xe0 && c < 0xf0 ? 3
            : c >= 0xf0 && c < 0xf5 ? 4
                                    : 0;
    if (n == 0 || end - p < n)
        return 0;
    for (int i = 1; i < n; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 0;
    unsigned char d = n > 2 ? (unsigned char)p[1] : 0;
    if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) ||
        (c == 0xf4 && d > 0x8f))
        return 0;
    return n;
}

static void
newline(lexer *x)
{
    x->p++;
    x->line++;
    x->line_start = x->p;
}

/* Emits INDENT or DEDENTs for a line that starts `width` columns in. */
static void
indentation(lexer *x, uint32_t width)
{
    uint32_t now = x->indents[x->n_indents - 1];
    if (width > now) {
        if (x->n_indents > AST_MAX_INDENT) {
            text_syntax_error(x->s, x->line, 1, "blocks are nested too deeply (at most %d)",
                              AST_MAX_INDENT);
            x->p = x->end;
            return;
        }
        x->indents[x->n_indents++] = width;
        push(x, TOK_INDENT, 0, x->p, 0);
        return;
    }
    while (x->n_indents > 1 && x->indents[x->n_indents - 1] > width) {
        x->n_indents--;
        push(x, TOK_DEDENT, 0, x->p, 0);
    }
    if (x->indents[x->n_indents - 1] != width)
        text_syntax_error(x->s, x->line, column_of(x, x->p),
                          "this indentation matches no enclosing block");
}

/* At the start of a line outside brackets: measures it, skips empty ones. */
static void
line_begin(lexer *x)
{
    while (x->p < x->end) {
        uint32_t width = 0;
        while (x->p < x->end && (*x->p == ' ' || *x->p == '\t' || *x->p == '\f')) {
            width = *x->p == '\t' ? (width / 8 + 1) * 8 : width + 1;
            x->p++;
        }
        if (x->p < x->end && *x->p == '#')
            while (x->p < x->end && *x->p != '\n')
                x->p++;
        if (x->p < x->end && *x->p == '\r')
            x->p++;
        if (x->p == x->end)
            return;
        if (*x->p == '\n') {
            newline(x);
            continue;
        }
        indentation(x, width);
        return;
    }
}

static void
lex_number(lexer *x)
{
    const char *start = x->p;
    tok_kind kind = TOK_INT;
    if (*x->p == '0' && x->end - x->p > 1 && strchr("xXoObB", x->p[1])) {
        x->p += 2;
        while (x->p < x->end && (is_name_char(*x->p)))
            x->p++;
        push(x, kind, 0, start, (size_t)(x->p - start));
        return;
    }
    while (x->p < x->end && (is_digit(*x->p) || *x->p == '_'))
        x->p++;
    if (x->p < x->end && *x->p == '.') {
        kind = TOK_FLOAT;
        x->p++;
        while (x->p < x->end && (is_digit(*x->p) || *x->p == '_'))
            x->p++;
    }
    if (x->p < x->end && (*x->p == 'e' || *x->p == 'E')) {
        const char *q = x->p + 1;
        if (q < x->end && (*q == '+' || *q == '-'))
            q++;
        if (q < x->end && is_digit(*q)) {
            kind = TOK_FLOAT;
            while (q < x->end && is_digit(*q))
                q++;
            x->p = q;
        }
    }
    if (x->p < x->end && is_name_char(*x->p)) {
        text_syntax_error(x->s, x->line, column_of(x, start), "malformed number");
        while (x->p < x->end && is_name_char(*x->p))
            x->p++;
    }
    push(x, kind, 0, start, (size_t)(x->p - start));
}

/* Checks the bytes of a string up to its end and leaves the decoding to the parser. */
static void
lex_string(lexer *x, const char *start)
{
    char quote = *x->p;
    bool triple = x->end - x->p >= 3 && x->p[1] == quote && x->p[2] == quote;
    uint32_t line = x->line, column = column_of(x, start);
    x->p += triple ? 3 : 1;
    for (;;) {
        if (x->p >= x->end || (*x->p == '\n' && !triple)) {
            text_syntax_error(x->s, line, column, "this string is not closed");
            break;
        }
        if (*x->p == quote &&
            (!triple || (x->end - x->p >= 3 && x->p[1] == quote && x->p[2] == quote))) {
            x->p += triple ? 3 : 1;
            break;
        }
        if (*x->p == '\n') {
            newline(x);
            continue;
        }
        if (*x->p == '\\' && x->end - x->p >= 2 && x->p[1] != '\n') {
            x->p++;
            if ((unsigned char)*x->p >= 0x80)
                continue;
            x->p++;
            continue;
        }
        if (*x->p == '\\' && x->end - x->p >= 2) {
            x->p++;
            newline(x);
            continue;
        }
        int n = tn_utf8_length(x->p, x->end);
        if (n == 0 || *x->p == 0) {
            text_syntax_error(x->s, x->line, column_of(x, x->p),
                              "byte 0x%02x in a string is not valid UTF-8 text",
                              (unsigned)(unsigned char)*x->p);
            n = 1;
        }
        x->p += n;
    }
    token t = {TOK_STR, 0, line, column, start, (size_t)(x->p - start)};
    TNB_PUSH(x->s->arena, x->out, t);
}

static const struct {
    char text[4];
    uint8_t kind, op;
} punctuation[] = {
    /* longest first */
    {"**=", TOK_AUG, TOK_POWER},
    {"//=", TOK_AUG, TOK_FLOOR},
    {"<<=", TOK_AUG, TOK_SHL},
    {">>=", TOK_AUG, TOK_SHR},
    {"**", TOK_POWER, 0},
    {"//", TOK_FLOOR, 0},
    {"<<", TOK_SHL, 0},
    {">>", TOK_SHR, 0},
    {"<=", TOK_LE, 0},
    {">=", TOK_GE, 0},
    {"==", TOK_EQ, 0},
    {"!=", TOK_NE, 0},
    {"->", TOK_ARROW, 0},
    {"+=", TOK_AUG, TOK_PLUS},
    {"-=", TOK_AUG, TOK_MINUS},
    {"*=", TOK_AUG, TOK_STAR},
    {"/=", TOK_AUG, TOK_SLASH},
    {"%=", TOK_AUG, TOK_PERCENT},
    {"&=", TOK_AUG, TOK_AMP},
    {"|=", TOK_AUG, TOK_BAR},
    {"^=", TOK_AUG, TOK_CARET},
    {"+", TOK_PLUS, 0},
    {"-", TOK_MINUS, 0},
    {"*", TOK_STAR, 0},
    {"/", TOK_SLASH, 0},
    {"%", TOK_PERCENT, 0},
    {"@", TOK_AT, 0},
    {"&", TOK_AMP, 0},
    {"|", TOK_BAR, 0},
    {"^", TOK_CARET, 0},
    {"~", TOK_TILDE, 0},
    {"<", TOK_LT, 0},
    {">", TOK_GT, 0},
    {"=", TOK_ASSIGN, 0},
    {"(", TOK_LPAREN, 0},
    {")", TOK_RPAREN, 0},
    {"[", TOK_LBRACKET, 0},
    {"]", TOK_RBRACKET, 0},
    {"{", TOK_LBRACE, 0},
    {"}", TOK_RBRACE, 0},
    {",", TOK_COMMA, 0},
    {":", TOK_COLON, 0},
    {".", TOK_DOT, 0},
    {";", TOK_SEMICOLON, 0},
};

static bool
lex_punctuation(lexer *x)
{
    const char first = *x->p;
    for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++) {
        if (punctuation[i].text[0] != first)
            continue;
        size_t n = strlen(punctuation[i].text);
        if ((size_t)(x->end - x->p) < n || memcmp(x->p, punctuation[i].text, n) != 0)
            continue;
        uint8_t kind = punctuation[i].kind;
        if (kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE)
            x->brackets++;
        else if ((kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE) && x->brackets)
            x->brackets--;
        push(x, kind, punctuation[i].op, x->p, n);
        x->p += n;
        return true;
    }
    return false;
}

static void
lex_name(lexer *x)
{
    const char *start = x->p;
    while (x->p < x->end && is_name_char(*x->p))
        x->p++;
    size_t n = (size_t)(x->p - start);
    if (x->p < x->end && (*x->p == '"' || *x->p == '\'')) {
        if (n == 1 && (*start == 'r' || *start == 'R' || *start == 'u')) {
            lex_string(x, start);
            return;
        }
        text_syntax_error(x->s, x->line, column_of(x, start), "string prefix '%.*s' is not known",
                          (int)(n < 20 ? n : 20), start);
        lex_string(x, x->p);
        return;
    }
    uint8_t kind = n == 3 && !memcmp(start, "and", 3)   ? TOK_AND
                   : n == 2 && !memcmp(start, "or", 2)  ? TOK_OR
                   : n == 3 && !memcmp(start, "not", 3) ? TOK_NOT
                                                        : TOK_NAME;
    push(x, kind, 0, start, n);
}

static void
line_end(lexer *x)
{
    if (x->brackets == 0 && x->out.n && x->out.at[x->out.n - 1].kind != TOK_NEWLINE)
        push(x, TOK_NEWLINE, 0, x->p, 0);
    newline(x);
    if (x->brackets == 0)
        line_begin(x);
}

static void
lex_one(lexer *x)
{
    char c = *x->p;
    if (c == '\n') {
        line_end(x);
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
        x->p++;
    } else if (c == '#') {
        while (x->p < x->end && *x->p != '\n')
            x->p++;
    } else if (c == '\\' && x->end - x->p >= 2 && x->p[1] == '\n') {
        x->p++;
        newline(x);
    } else if (is_name_start(c)) {
        lex_name(x);
    } else if (is_digit(c) || (c == '.' && x->end - x->p >= 2 && is_digit(x->p[1]))) {
        lex_number(x);
    } else if (c == '"' || c == '\'') {
        lex_string(x, x->p);
    } else if (!lex_punctuation(x)) {
        if ((unsigned char)c >= 0x20 && (unsigned char)c < 0x7f)
            text_syntax_error(x->s, x->line, column_of(x, x->p), "unexpected character '%c'", c);
        else
            text_syntax_error(x->s, x->line, column_of(x, x->p), "unexpected byte 0x%02x",
                              (unsigned)(unsigned char)c);
        /* a run of such bytes is one mistake */
        x->p++;
        while (x->p < x->end && ((unsigned char)*x->p >= 0x80 || *x->p == 0))
            x->p++;
    }
}

static tokens
lex(source *s, const char *text, size_t n, uint32_t line, uint32_t column, bool lines)
{
    lexer x = {.s = s, .p = text, .end = text + n, .line_start = text};
    x.line = x.first_line = line;
    x.first_column = column;
    x.n_indents = 1;
    if (lines)
        line_begin(&x);
    else
        x.brackets = 1; /* line ends mean nothing in a lone expression */
    while (x.p < x.end)
        lex_one(&x);
    if (lines && x.out.n && x.out.at[x.out.n - 1].kind != TOK_NEWLINE)
        push(&x, TOK_NEWLINE, 0, x.p, 0);
    while (x.n_indents-- > 1)
        push(&x, TOK_DEDENT, 0, x.p, 0);
    push(&x, TOK_END, 0, x.p, 0);
    return x.out;
}

tokens
text_lex(source *s)
{
    const char *text = s->text;
    size_t n = s->n;
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        text += 3;
        n -= 3;
    }
    return lex(s, text, n, 1, 1, true);
}

tokens
text_lex_part(source *s, const char *text, size_t n, uint32_t line, uint32_t column)
{
    return lex(s, text, n, line, column, false);
}

/* Appends code point c as UTF-8. */
static char *
put_utf8(char *q, uint32_t c)
{
    if (c < 0x80) {
        *q++ = (char)c;
    } else if (c < 0x800) {
        *q++ = (char)(0xc0 | c >> 6);
        *q++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *q++ = (char)(0xe0 | c >> 12);
        *q++ = (char)(0x80 | (c >> 6 & 0x3f));
        *q++ = (char)(0x80 | (c & 0x3f));
    } else {
        *q++ = (char)(0xf0 | c >> 18);
        *q++ = (char)(0x80 | (c >> 12 & 0x3f));
        *q++ = (char)(0x80 | (c >> 6 & 0x3f));
        *q++ = (char)(0x80 | (c & 0x3f));
    }
    return q;
}

static bool
hex(const char *p, const char *end, int digits, uint32_t *out)
{
    uint32_t v = 0;
    if (end - p < digits)
        return false;
    for (int i = 0; i < digits; i++) {
        char c = p[i];
        uint32_t d;
        if (is_digit(c))
            d = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            d = (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            d = (uint32_t)(c - 'A' + 10);
        else
            return false;
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

/* One escape after the backslash; advances *p past it. False if it is malformed. */
static bool
decode_escape(const char **p, const char *end, char **q)
{
    static const char letters[] = "abfnrtv\\'\"", values[] = "\a\b\f\n\r\t\v\\'\"";
    char c = *(*p)++;
    uint32_t v;
    const char *known = c ? strchr(letters, c) : NULL;
    if (known) {
        *(*q)++ = values[known - letters];
        return true;
    }
    if (c == '\n')
        return true;
    if (c >= '0' && c <= '7') {
        v = (uint32_t)(c - '0');
        for (int i = 0; i < 2 && *p < end && **p >= '0' && **p <= '7'; i++)
            v = v * 8 + (uint32_t)(*(*p)++ - '0');
    } else if (c == 'x' || c == 'u' || c == 'U') {
        int digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        if (!hex(*p, end, digits, &v))
            return false;
        *p += digits;
    } else {
        /* as in Python, an unknown escape stands for itself */
        *(*q)++ = '\\';
        *(*q)++ = c;
        return true;
    }
    if (v == 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return false;
    *q = put_utf8(*q, v);
    return true;
}

char *
text_decode_string(source *s, const token *t)
{
    const char *p = t->at, *end = t->at + t->n;
    bool raw = false;
    if (*p != '"' && *p != '\'') {
        raw = *p == 'r' || *p == 'R';
        p++;
    }
    size_t quotes = end - p >= 6 && p[1] == *p && p[2] == *p ? 3 : 1;
    p += quotes;
    if (end - p >= (ptrdiff_t)quotes)
        end -= quotes;
    char *out = tnb_alloc(s->arena, (size_t)(end - p) + 1), *q = out;
    while (p < end) {
        if (*p != '\\' || raw || p + 1 == end) {
            *q++ = *p++;
            continue;
        }
        p++;
        if (!decode_escape(&p, end, &q)) {
            text_syntax_error(s, t->line, t->column, "malformed escape sequence in this string");
            return NULL;
        }
    }
    *q = 0;
    return out;
}
