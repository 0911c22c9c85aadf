/* SPDX-License-Identifier: Apache-2.0 */
/* From tokens to a syntax tree. Recursive descent over the subset of Python that TVMScript uses;
 * what lies outside it (comprehensions, star arguments, formatted strings) is reported where it
 * stands. After a syntax error the parser goes on with the next statement.
 */
#include "ast.h"
#include "tenon/base/num.h"

typedef struct parser {
    source *s;
    tokens toks;
    uint32_t i;
    uint32_t depth; /* of recursion */
    bool failed;    /* the statement at hand has an error */
} parser;

typedef TNB_VEC(ast *) ast_vec;

static const token *
peek(const parser *p)
{
    return &p->toks.at[p->i];
}

static const token *
next(parser *p)
{
    const token *t = peek(p);
    if (t->kind != TOK_END)
        p->i++;
    return t;
}

static bool
at(const parser *p, tok_kind k)
{
    return peek(p)->kind == k;
}

static bool
at_word(const parser *p, const char *word)
{
    const token *t = peek(p);
    size_t n = strlen(word);
    return t->kind == TOK_NAME && t->n == n && !memcmp(t->at, word, n);
}

static bool
take(parser *p, tok_kind k)
{
    if (!at(p, k))
        return false;
    next(p);
    return true;
}

static bool
take_word(parser *p, const char *word)
{
    if (!at_word(p, word))
        return false;
    next(p);
    return true;
}

/* One error a statement: the first is the one that helps. */
static void
fail(parser *p, const char *wanted)
{
    if (p->failed)
        return;
    p->failed = true;
    const token *t = peek(p);
    switch (t->kind) {
    case TOK_END:
        text_syntax_error(p->s, t->line, t->column, "expected %s, found the end of the file",
                          wanted);
        break;
    case TOK_NEWLINE:
        text_syntax_error(p->s, t->line, t->column, "expected %s, found the end of the line",
                          wanted);
        break;
    case TOK_INDENT:
        text_syntax_error(p->s, t->line, t->column, "expected %s, found a deeper indentation",
                          wanted);
        break;
    case TOK_DEDENT:
        text_syntax_error(p->s, t->line, t->column, "expected %s, found the end of the block",
                          wanted);
        break;
    default:
        text_syntax_error(p->s, t->line, t->column, "expected %s, found '%.*s'", wanted,
                          (int)(t->n < 40 ? t->n : 40), t->at);
    }
}

static bool
expect(parser *p, tok_kind k, const char *wanted)
{
    if (take(p, k))
        return true;
    fail(p, wanted);
    return false;
}

static ast *
new_ast(parser *p, ast_kind kind, const token *t)
{
    ast *n = TNB_NEW(p->s->arena, ast);
    n->kind = (uint8_t)kind;
    n->line = t->line;
    n->column = t->column;
    return n;
}

static ast_list
finish(const ast_vec *v)
{
    return (ast_list){v->at, v->n};
}

static bool
deeper(parser *p)
{
    if (p->failed)
        return false;
    if (++p->depth <= AST_MAX_DEPTH)
        return true;
    p->depth--;
    const token *t = peek(p);
    text_syntax_error(p->s, t->line, t->column, "nested too deeply (at most %d levels)",
                      AST_MAX_DEPTH);
    p->failed = true;
    return false;
}

/* Left-leaning chains (sums, attribute paths, calls of calls) grow without recursion here, but
 * others recurse over them. */
static ast *
chained(parser *p, ast *n, const ast *first, const ast *second)
{
    uint32_t d = first ? first->depth : 0;
    if (second && second->depth > d)
        d = second->depth;
    n->depth = (uint16_t)(d + 1);
    if (n->depth > AST_MAX_CHAIN && !p->failed) {
        p->failed = true;
        text_syntax_error(p->s, n->line, n->column, "the expression is too long (depth above %d)",
                          AST_MAX_CHAIN);
    }
    return n;
}

/* The depth of a bracketed construct: one more than its deepest part. */
static void
set_depth(parser *p, ast *n)
{
    const ast_list lists[2] = {n->list, n->more};
    const ast *d = NULL;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < lists[k].n; i++)
            if (lists[k].at[i] && (!d || lists[k].at[i]->depth > d->depth))
                d = lists[k].at[i];
    if (n->a && (!d || n->a->depth > d->depth))
        d = n->a;
    if (n->b && (!d || n->b->depth > d->depth))
        d = n->b;
    chained(p, n, d, n->c);
}

static ast *
parse_test(parser *p);
static ast *
parse_lambda(parser *p);

static const char *const reserved[] = {
    "and",    "as",   "assert", "async",  "await",  "break",  "class",    "continue",
    "def",    "del",  "elif",   "else",   "except", "for",    "finally",  "from",
    "global", "if",   "import", "in",     "is",     "lambda", "nonlocal", "not",
    "or",     "pass", "raise",  "return", "try",    "while",  "with",     "yield",
};

static bool
is_reserved(const token *t)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strlen(reserved[i]) == t->n && !memcmp(reserved[i], t->at, t->n))
            return true;
    return false;
}

static const char *
parse_name(parser *p, const char *wanted)
{
    if (!at(p, TOK_NAME) || is_reserved(peek(p))) {
        fail(p, wanted);
        return "?";
    }
    const token *t = next(p);
    return tn_strn(p->s->ctx, t->at, t->n);
}

static ast *
parse_int(parser *p, const token *t)
{
    ast *n = new_ast(p, AST_INT, t);
    uint64_t v = 0;
    unsigned base = 10;
    size_t i = 0;
    if (t->n > 2 && t->at[0] == '0' && strchr("xXoObB", t->at[1])) {
        base = t->at[1] == 'x' || t->at[1] == 'X' ? 16 : t->at[1] == 'o' || t->at[1] == 'O' ? 8 : 2;
        i = 2;
    }
    bool bad = i == t->n, big = false;
    for (; i < t->n; i++) {
        char c = t->at[i];
        if (c == '_')
            continue;
        unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                            : 99;
        if (d >= base)
            bad = true;
        else if (!tnb_mul_u64(v, base, &v) || !tnb_add_u64(v, d, &v))
            big = true;
    }
    if ((bad || big) && !p->failed) {
        p->failed = true;
        text_syntax_error(p->s, t->line, t->column,
                          bad ? "malformed number" : "this integer does not fit 64 bits");
    }
    n->number = v;
    return n;
}

static ast *
parse_float(parser *p, const token *t)
{
    ast *n = new_ast(p, AST_FLOAT, t);
    char *digits = tnb_alloc(p->s->arena, t->n + 1);
    size_t k = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i] != '_')
            digits[k++] = t->at[i];
    if (!tnb_read_f64(digits, k, &n->real) && !p->failed) {
        p->failed = true;
        text_syntax_error(p->s, t->line, t->column, "malformed number");
    }
    return n;
}

/* Adjacent string literals are one string. */
static ast *
parse_string(parser *p)
{
    const token *t = peek(p);
    ast *n = new_ast(p, AST_STR, t);
    char *s = text_decode_string(p->s, next(p));
    if (at(p, TOK_STR)) {
        tnb_buf all = {0};
        tnb_buf_puts(&all, s ? s : "");
        while (at(p, TOK_STR)) {
            s = text_decode_string(p->s, next(p));
            tnb_buf_puts(&all, s ? s : "");
        }
        s = tnb_strndup(p->s->arena, all.s ? all.s : "", all.n);
        tnb_buf_free(&all);
    }
    if (!s)
        p->failed = true;
    n->text = tn_str(p->s->ctx, s ? s : "");
    return n;
}

/* Items up to `close`, each by parse_test. `comma` tells whether one was seen. */
static ast_list
parse_items(parser *p, tok_kind close, const char *wanted, bool *comma)
{
    ast_vec v = {0};
    *comma = false;
    while (!at(p, close) && !p->failed) {
        if (at(p, TOK_STAR) || at(p, TOK_POWER)) {
            fail(p, "an expression (star arguments are not supported)");
            break;
        }
        ast *item = parse_test(p);
        TNB_PUSH(p->s->arena, v, item);
        if (at_word(p, "for")) {
            fail(p, "',' or the closing bracket (comprehensions are not supported)");
            break;
        }
        if (!take(p, TOK_COMMA))
            break;
        *comma = true;
    }
    expect(p, close, wanted);
    return finish(&v);
}

static ast *
parse_paren(parser *p)
{
    const token *t = next(p);
    bool comma;
    ast_list items = parse_items(p, TOK_RPAREN, "')' or ','", &comma);
    if (items.n == 1 && !comma)
        return items.at[0];
    ast *n = new_ast(p, AST_TUPLE, t);
    n->list = items;
    set_depth(p, n);
    return n;
}

static ast *
parse_dict(parser *p)
{
    ast *n = new_ast(p, AST_DICT, next(p));
    ast_vec keys = {0}, values = {0};
    while (!at(p, TOK_RBRACE) && !p->failed) {
        ast *key = parse_test(p);
        TNB_PUSH(p->s->arena, keys, key);
        expect(p, TOK_COLON, "':' and the value");
        ast *value = parse_test(p);
        TNB_PUSH(p->s->arena, values, value);
        if (!take(p, TOK_COMMA))
            break;
    }
    expect(p, TOK_RBRACE, "'}' or ','");
    n->list = finish(&keys);
    n->more = finish(&values);
    set_depth(p, n);
    return n;
}

static ast *
parse_atom(parser *p)
{
    const token *t = peek(p);
    ast *n;
    bool comma;
    switch (t->kind) {
    case TOK_INT:
        return parse_int(p, next(p));
    case TOK_FLOAT:
        return parse_float(p, next(p));
    case TOK_STR:
        return parse_string(p);
    case TOK_LPAREN:
        return parse_paren(p);
    case TOK_LBRACKET:
        n = new_ast(p, AST_LIST, next(p));
        n->list = parse_items(p, TOK_RBRACKET, "']' or ','", &comma);
        set_depth(p, n);
        return n;
    case TOK_LBRACE:
        return parse_dict(p);
    case TOK_NAME:
        if (at_word(p, "lambda"))
            return parse_lambda(p);
        if (is_reserved(t))
            break;
        next(p);
        if (t->n == 4 && !memcmp(t->at, "None", 4))
            return new_ast(p, AST_NONE, t);
        if ((t->n == 4 && !memcmp(t->at, "True", 4)) || (t->n == 5 && !memcmp(t->at, "False", 5))) {
            n = new_ast(p, AST_BOOL, t);
            n->number = t->n == 4;
            return n;
        }
        n = new_ast(p, AST_NAME, t);
        n->text = tn_strn(p->s->ctx, t->at, t->n);
        return n;
    default:
        break;
    }
    fail(p, "an expression");
    return new_ast(p, AST_NONE, t);
}

static ast *
parse_call(parser *p, ast *callee)
{
    ast *n = new_ast(p, AST_CALL, next(p));
    n->line = callee->line;
    n->column = callee->column;
    n->a = callee;
    ast_vec args = {0}, keywords = {0};
    while (!at(p, TOK_RPAREN) && !p->failed) {
        if (at(p, TOK_STAR) || at(p, TOK_POWER)) {
            fail(p, "an argument (star arguments are not supported)");
            break;
        }
        const token *t = peek(p);
        if (t->kind == TOK_NAME && p->toks.at[p->i + 1].kind == TOK_ASSIGN) {
            ast *k = new_ast(p, AST_KEYWORD, t);
            k->text = parse_name(p, "a keyword");
            next(p);
            k->a = parse_test(p);
            chained(p, k, k->a, NULL);
            TNB_PUSH(p->s->arena, keywords, k);
        } else {
            ast *arg = parse_test(p);
            if (keywords.n && !p->failed) {
                p->failed = true;
                text_syntax_error(p->s, t->line, t->column,
                                  "positional argument after a keyword argument");
            }
            TNB_PUSH(p->s->arena, args, arg);
        }
        if (at_word(p, "for")) {
            fail(p, "',' or ')' (comprehensions are not supported)");
            break;
        }
        if (!take(p, TOK_COMMA))
            break;
    }
    expect(p, TOK_RPAREN, "')' or ','");
    n->list = finish(&args);
    n->more = finish(&keywords);
    set_depth(p, n);
    return n;
}

/* Inside [ ]: an expression or a slice. */
static ast *
parse_slice(parser *p)
{
    const token *t = peek(p);
    ast *first = at(p, TOK_COLON) ? NULL : parse_test(p);
    if (!at(p, TOK_COLON))
        return first;
    ast *n = new_ast(p, AST_SLICE, t);
    n->a = first;
    next(p);
    if (!at(p, TOK_COLON) && !at(p, TOK_COMMA) && !at(p, TOK_RBRACKET))
        n->b = parse_test(p);
    if (take(p, TOK_COLON) && !at(p, TOK_COMMA) && !at(p, TOK_RBRACKET))
        n->c = parse_test(p);
    set_depth(p, n);
    return n;
}

static ast *
parse_index(parser *p, ast *base)
{
    const token *t = next(p);
    ast *n = new_ast(p, AST_INDEX, t);
    n->line = base->line;
    n->column = base->column;
    n->a = base;
    ast_vec v = {0};
    bool comma = false;
    while (!at(p, TOK_RBRACKET) && !p->failed) {
        ast *item = parse_slice(p);
        TNB_PUSH(p->s->arena, v, item);
        if (!take(p, TOK_COMMA))
            break;
        comma = true;
    }
    if (v.n == 0)
        fail(p, "an index");
    expect(p, TOK_RBRACKET, "']' or ','");
    if (v.n == 1 && !comma) {
        n->b = v.at[0];
    } else {
        n->b = new_ast(p, AST_TUPLE, t);
        n->b->list = finish(&v);
        set_depth(p, n->b);
    }
    return chained(p, n, n->a, n->b);
}

static ast *
parse_primary(parser *p)
{
    ast *n = parse_atom(p);
    while (!p->failed) {
        const token *t = peek(p);
        if (t->kind == TOK_DOT) {
            next(p);
            ast *m = new_ast(p, AST_ATTR, t);
            m->line = n->line;
            m->column = n->column;
            m->a = n;
            /* names after a dot may be words that Python reserves, as in old printed text */
            if (!at(p, TOK_NAME) && !at(p, TOK_AND) && !at(p, TOK_OR) && !at(p, TOK_NOT)) {
                fail(p, "a name after '.'");
                return m;
            }
            const token *name = next(p);
            m->text = tn_strn(p->s->ctx, name->at, name->n);
            n = chained(p, m, n, NULL);
        } else if (t->kind == TOK_LPAREN) {
            n = parse_call(p, n);
        } else if (t->kind == TOK_LBRACKET) {
            n = parse_index(p, n);
        } else {
            break;
        }
    }
    return n;
}

static ast *
parse_unary(parser *p)
{
    const token *t = peek(p);
    if (t->kind != TOK_MINUS && t->kind != TOK_PLUS && t->kind != TOK_TILDE) {
        ast *base = parse_primary(p);
        if (!at(p, TOK_POWER))
            return base;
        ast *n = new_ast(p, AST_BINARY, next(p));
        n->op = TOK_POWER;
        n->a = base;
        if (!deeper(p))
            return base;
        n->b = parse_unary(p);
        p->depth--;
        return chained(p, n, n->a, n->b);
    }
    ast *n = new_ast(p, AST_UNARY, next(p));
    n->op = t->kind;
    if (!deeper(p))
        return new_ast(p, AST_NONE, t);
    n->a = parse_unary(p);
    p->depth--;
    return chained(p, n, n->a, NULL);
}

static int
binary_level(tok_kind k)
{
    switch (k) {
    case TOK_BAR:
        return 1;
    case TOK_CARET:
        return 2;
    case TOK_AMP:
        return 3;
    case TOK_SHL:
    case TOK_SHR:
        return 4;
    case TOK_PLUS:
    case TOK_MINUS:
        return 5;
    case TOK_STAR:
    case TOK_SLASH:
    case TOK_FLOOR:
    case TOK_PERCENT:
    case TOK_AT:
        return 6;
    default:
        return 0;
    }
}

static ast *
parse_binary(parser *p, int min_level)
{
    ast *left = parse_unary(p);
    for (;;) {
        const token *t = peek(p);
        int level = binary_level(t->kind);
        if (level < min_level || level == 0 || p->failed)
            return left;
        if (t->kind == TOK_AT) {
            fail(p, "another operator (matrix multiplication is R.matmul)");
            return left;
        }
        ast *n = new_ast(p, AST_BINARY, next(p));
        n->op = t->kind;
        n->a = left;
        n->b = parse_binary(p, level + 1);
        left = chained(p, n, n->a, n->b);
    }
}

static bool
is_comparison(const parser *p)
{
    const token *t = peek(p);
    return t->kind >= TOK_LT && t->kind <= TOK_NE;
}

static ast *
parse_comparison(parser *p)
{
    ast *left = parse_binary(p, 1), *all = NULL;
    while (is_comparison(p) && !p->failed) {
        const token *t = next(p);
        ast *n = new_ast(p, AST_COMPARE, t);
        n->op = t->kind;
        n->a = left;
        n->b = left = parse_binary(p, 1);
        chained(p, n, n->a, n->b);
        if (all) {
            ast *both = new_ast(p, AST_LOGIC, t);
            both->op = TOK_AND;
            both->a = all;
            both->b = n;
            n = chained(p, both, all, n);
        }
        all = n;
    }
    if (at_word(p, "in") || at_word(p, "is"))
        return all ? all : left; /* `for x in`, or an error of the caller */
    return all ? all : left;
}

static ast *
parse_not(parser *p)
{
    if (!at(p, TOK_NOT))
        return parse_comparison(p);
    ast *n = new_ast(p, AST_UNARY, next(p));
    n->op = TOK_NOT;
    if (!deeper(p))
        return n;
    n->a = parse_not(p);
    p->depth--;
    return chained(p, n, n->a, NULL);
}

static ast *
parse_logic(parser *p, tok_kind op)
{
    ast *left = op == TOK_OR ? parse_logic(p, TOK_AND) : parse_not(p);
    while (at(p, op) && !p->failed) {
        ast *n = new_ast(p, AST_LOGIC, next(p));
        n->op = (uint8_t)op;
        n->a = left;
        n->b = op == TOK_OR ? parse_logic(p, TOK_AND) : parse_not(p);
        left = chained(p, n, n->a, n->b);
    }
    return left;
}

static ast *
parse_lambda(parser *p)
{
    ast *n = new_ast(p, AST_LAMBDA, next(p));
    ast_vec names = {0};
    while (!at(p, TOK_COLON) && !p->failed) {
        ast *name = new_ast(p, AST_NAME, peek(p));
        name->text = parse_name(p, "a parameter of the lambda");
        TNB_PUSH(p->s->arena, names, name);
        if (!take(p, TOK_COMMA))
            break;
    }
    expect(p, TOK_COLON, "':'");
    n->list = finish(&names);
    n->a = parse_test(p);
    set_depth(p, n);
    return n;
}

static ast *
parse_test(parser *p)
{
    if (!deeper(p))
        return new_ast(p, AST_NONE, peek(p));
    ast *n = parse_logic(p, TOK_OR);
    if (at_word(p, "if")) {
        ast *c = new_ast(p, AST_IF_EXPR, next(p));
        c->a = n;
        c->b = parse_logic(p, TOK_OR);
        if (!take_word(p, "else"))
            fail(p, "'else'");
        c->c = parse_test(p);
        set_depth(p, c);
        n = c;
    }
    p->depth--;
    return n;
}

/* Expressions separated by commas: a tuple without parentheses. */
static ast *
parse_test_list(parser *p)
{
    const token *t = peek(p);
    ast *first = parse_test(p);
    if (!at(p, TOK_COMMA) || p->failed)
        return first;
    ast_vec v = {0};
    TNB_PUSH(p->s->arena, v, first);
    while (take(p, TOK_COMMA) && !p->failed) {
        if (at(p, TOK_ASSIGN) || at(p, TOK_NEWLINE) || at_word(p, "in"))
            break;
        ast *item = parse_test(p);
        TNB_PUSH(p->s->arena, v, item);
    }
    ast *n = new_ast(p, AST_TUPLE, t);
    n->list = finish(&v);
    set_depth(p, n);
    return n;
}

/* ---- statements ---- */
static ast_list
parse_statements(parser *p, bool top);

/* Skips to the next statement of this block, over blocks nested deeper. */
static void
recover(parser *p)
{
    uint32_t nested = 0;
    p->depth = 0;
    while (!at(p, TOK_END)) {
        if (at(p, TOK_DEDENT) && nested == 0)
            break;
        const token *t = next(p);
        if (t->kind == TOK_INDENT)
            nested++;
        else if (t->kind == TOK_DEDENT)
            nested--;
        if (nested == 0 && (t->kind == TOK_NEWLINE || t->kind == TOK_DEDENT) && !at(p, TOK_INDENT))
            break;
    }
    p->failed = false;
}

static ast *
parse_simple(parser *p);

/* ":" and an indented block, or statements on the same line. */
static ast_list
parse_block(parser *p)
{
    ast_vec v = {0};
    if (!expect(p, TOK_COLON, "':'"))
        return finish(&v);
    if (!take(p, TOK_NEWLINE)) {
        ast *one = parse_simple(p);
        if (one)
            TNB_PUSH(p->s->arena, v, one);
        return finish(&v);
    }
    if (!expect(p, TOK_INDENT, "an indented block"))
        return finish(&v);
    uint32_t depth = p->depth; /* recovery inside starts from nothing */
    ast_list body = {0};
    if (deeper(p)) {
        body = parse_statements(p, false);
        p->failed = false;
    }
    p->depth = depth;
    if (!p->failed)
        take(p, TOK_DEDENT);
    return body;
}

static ast *
parse_import(parser *p)
{
    const token *t = next(p);
    ast *first = NULL;
    bool from = t->n == 4;
    while (at(p, TOK_NAME) || at(p, TOK_DOT)) {
        if (at_word(p, "import"))
            break;
        if (!from && at_word(p, "as"))
            break;
        next(p);
    }
    if (from && !take_word(p, "import"))
        fail(p, "'import'");
    while (!at(p, TOK_NEWLINE) && !at(p, TOK_END) && !p->failed) {
        if (take(p, TOK_LPAREN) || take(p, TOK_RPAREN) || take(p, TOK_COMMA) || take(p, TOK_STAR))
            continue;
        ast *n = new_ast(p, AST_IMPORT, peek(p));
        if (from)
            n->text = parse_name(p, "a name");
        else
            n->text = "";
        n->a = new_ast(p, AST_NAME, peek(p));
        n->a->text = n->text;
        if (take_word(p, "as"))
            n->a->text = parse_name(p, "a name");
        else if (!from)
            break;
        n->b = first;
        first = n;
    }
    return first;
}

static ast *
parse_assignment(parser *p)
{
    const token *t = peek(p);
    ast *target = parse_test_list(p);
    if (p->failed)
        return NULL;
    ast *n;
    switch (peek(p)->kind) {
    case TOK_ASSIGN:
        n = new_ast(p, AST_ASSIGN, t);
        next(p);
        n->a = target;
        n->b = parse_test_list(p);
        while (take(p, TOK_ASSIGN) && !p->failed) {
            n->c = n->b;
            n->b = parse_test_list(p);
        }
        return n;
    case TOK_COLON:
        n = new_ast(p, AST_ANNOTATED, t);
        next(p);
        n->a = target;
        n->b = parse_test(p);
        if (take(p, TOK_ASSIGN))
            n->c = parse_test_list(p);
        return n;
    case TOK_AUG:
        n = new_ast(p, AST_AUGMENTED, t);
        n->op = next(p)->op;
        n->a = target;
        n->b = parse_test_list(p);
        return n;
    default:
        n = new_ast(p, AST_EXPR, t);
        n->a = target;
        return n;
    }
}

/* A statement on one line, with its line end; NULL for an import or after an error. */
static ast *
parse_simple(parser *p)
{
    const token *t = peek(p);
    ast *n;
    if (take_word(p, "return")) {
        n = new_ast(p, AST_RETURN, t);
        if (!at(p, TOK_NEWLINE) && !at(p, TOK_END))
            n->a = parse_test_list(p);
    } else if (take_word(p, "pass")) {
        n = new_ast(p, AST_PASS, t);
    } else if (take_word(p, "break")) {
        n = new_ast(p, AST_BREAK, t);
    } else if (take_word(p, "continue")) {
        n = new_ast(p, AST_CONTINUE, t);
    } else if (take_word(p, "assert")) {
        n = new_ast(p, AST_ASSERT, t);
        n->a = parse_test(p);
        if (take(p, TOK_COMMA))
            n->b = parse_test(p);
    } else if (at_word(p, "import") || at_word(p, "from")) {
        n = parse_import(p);
    } else {
        n = parse_assignment(p);
    }
    if (take(p, TOK_SEMICOLON))
        return p->failed ? NULL : n;
    if (!at(p, TOK_END))
        expect(p, TOK_NEWLINE, "the end of the line");
    return p->failed ? NULL : n;
}

static ast *
parse_decorated(parser *p)
{
    ast_vec decorators = {0};
    const token *t = peek(p);
    while (take(p, TOK_AT) && !p->failed) {
        ast *d = parse_test(p);
        TNB_PUSH(p->s->arena, decorators, d);
        expect(p, TOK_NEWLINE, "the end of the line");
    }
    if (p->failed)
        return NULL;
    if (take_word(p, "class")) {
        ast *n = new_ast(p, AST_CLASS, t);
        n->more = finish(&decorators);
        n->text = parse_name(p, "the name of the class");
        bool comma;
        if (take(p, TOK_LPAREN))
            parse_items(p, TOK_RPAREN, "')'", &comma);
        n->list = parse_block(p);
        return n;
    }
    const token *def = peek(p);
    if (!take_word(p, "def")) {
        fail(p, "'def' or 'class'");
        return NULL;
    }
    ast *n = new_ast(p, AST_DEF, def);
    n->b = new_ast(p, AST_TUPLE, t);
    n->b->list = finish(&decorators);
    n->text = parse_name(p, "the name of the function");
    if (take(p, TOK_LBRACKET)) {
        bool comma;
        n->c = new_ast(p, AST_TUPLE, def);
        n->c->list = parse_items(p, TOK_RBRACKET, "']'", &comma);
    }
    expect(p, TOK_LPAREN, "'('");
    ast_vec args = {0};
    while (!at(p, TOK_RPAREN) && !p->failed) {
        ast *arg = new_ast(p, AST_ARG, peek(p));
        arg->text = parse_name(p, "a parameter");
        if (take(p, TOK_COLON))
            arg->a = parse_test(p);
        TNB_PUSH(p->s->arena, args, arg);
        if (!take(p, TOK_COMMA))
            break;
    }
    expect(p, TOK_RPAREN, "')' or ','");
    n->list = finish(&args);
    if (take(p, TOK_ARROW))
        n->a = parse_test(p);
    n->more = parse_block(p);
    return n;
}

static ast *
parse_if(parser *p)
{
    ast *n = new_ast(p, AST_IF, next(p));
    n->a = parse_test(p);
    n->list = parse_block(p);
    if (p->failed)
        return n;
    if (at_word(p, "elif")) {
        ast_vec v = {0};
        if (!deeper(p))
            return n;
        ast *other = parse_if(p);
        if (p->depth)
            p->depth--;
        TNB_PUSH(p->s->arena, v, other);
        n->more = finish(&v);
    } else if (take_word(p, "else")) {
        n->more = parse_block(p);
        if (n->more.n == 0)
            fail(p, "a statement");
    }
    return n;
}

static ast *
parse_with(parser *p)
{
    ast *n = new_ast(p, AST_WITH, next(p));
    ast_vec items = {0};
    do {
        ast *item = new_ast(p, AST_WITH_ITEM, peek(p));
        item->a = parse_test(p);
        if (take_word(p, "as"))
            item->b = parse_primary(p);
        TNB_PUSH(p->s->arena, items, item);
    } while (take(p, TOK_COMMA) && !p->failed);
    n->list = finish(&items);
    n->more = parse_block(p);
    return n;
}

static ast *
parse_for(parser *p)
{
    ast *n = new_ast(p, AST_FOR, next(p));
    n->a = parse_test_list(p);
    if (!take_word(p, "in"))
        fail(p, "'in'");
    n->b = parse_test_list(p);
    n->list = parse_block(p);
    return n;
}

static ast *
parse_statement(parser *p)
{
    const token *t = peek(p);
    ast *n;
    if (t->kind == TOK_AT || at_word(p, "def") || at_word(p, "class"))
        return parse_decorated(p);
    if (at_word(p, "if"))
        return parse_if(p);
    if (at_word(p, "for"))
        return parse_for(p);
    if (at_word(p, "with"))
        return parse_with(p);
    if (take_word(p, "while")) {
        n = new_ast(p, AST_WHILE, t);
        n->a = parse_test(p);
        n->list = parse_block(p);
        return n;
    }
    return parse_simple(p);
}

/* Statements up to the end of the block (or file). */
static ast_list
parse_statements(parser *p, bool top)
{
    ast_vec v = {0};
    uint32_t depth = p->depth;
    while (!at(p, TOK_END)) {
        if (at(p, TOK_DEDENT)) {
            if (!top)
                break;
            next(p);
            continue;
        }
        if (take(p, TOK_NEWLINE) || take(p, TOK_SEMICOLON))
            continue;
        if (at(p, TOK_INDENT)) {
            fail(p, "a statement");
            next(p);
        } else {
            ast *n = parse_statement(p);
            if (n && !p->failed)
                TNB_PUSH(p->s->arena, v, n);
        }
        if (p->failed)
            recover(p);
        p->depth = depth;
        if (p->s->errors >= 20)
            p->i = p->toks.n - 1;
    }
    return finish(&v);
}

ast_list
text_parse(source *s)
{
    parser p = {.s = s, .toks = text_lex(s)};
    return parse_statements(&p, true);
}

ast *
text_parse_expr(source *s, const char *text, size_t n, uint32_t line, uint32_t column)
{
    parser p = {.s = s, .toks = text_lex_part(s, text, n, line, column)};
    uint32_t before = s->errors;
    ast *e = parse_test(&p);
    if (!p.failed && !at(&p, TOK_END))
        fail(&p, "the end of the expression");
    return p.failed || s->errors != before ? NULL : e;
}
