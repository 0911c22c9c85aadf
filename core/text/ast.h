/* SPDX-License-Identifier: Apache-2.0 */
/* The syntax tree of a text module: the subset of Python that TVMScript is written in. Private to
 * the reader. Nodes live in the reader's own arena, which is freed when reading ends.
 */
#ifndef TENON_TEXT_AST_H
#define TENON_TEXT_AST_H

#include "tenon/core/ctx.h"

/* Deepest expression or nest of blocks that is read. IR walkers recurse over what the reader
 * builds. */
#define AST_MAX_DEPTH 200
#define AST_MAX_INDENT 190
/* Long sums lean to the left; their depth is bounded separately. */
#define AST_MAX_CHAIN 1000

typedef enum ast_kind {
    AST_NAME,  /* text */
    AST_INT,   /* number */
    AST_FLOAT, /* real */
    AST_STR,   /* text */
    AST_BOOL,  /* number */
    AST_NONE,
    AST_TUPLE, /* list */
    AST_LIST,  /* list */
    AST_DICT,  /* list: keys; more: values */
    AST_UNARY, /* op, a */
    AST_BINARY,
    AST_COMPARE,
    AST_LOGIC,   /* op TOK_AND or TOK_OR: a, b */
    AST_IF_EXPR, /* a if b else c */
    AST_LAMBDA,  /* list: AST_NAMEs; a: body */
    AST_CALL,    /* a; list: arguments; more: AST_KEYWORDs */
    AST_KEYWORD, /* text, a */
    AST_ATTR,    /* a, text */
    AST_INDEX,   /* a, b */
    AST_SLICE,   /* a : b : c, each may be NULL */
    /* statements */
    AST_CLASS, /* text; list: body; more: decorators */
    AST_DEF,  /* text; list: AST_ARGs; more: body; a: result annotation; b: AST_TUPLE of decorators;
                 c: AST_TUPLE of type variables */
    AST_ARG,  /* text; a: annotation */
    AST_WITH, /* list: AST_WITH_ITEMs; more: body */
    AST_WITH_ITEM, /* a as b */
    AST_FOR,       /* a in b; list: body */
    AST_WHILE,     /* a; list: body */
    AST_IF,        /* a; list; more */
    AST_ASSIGN,    /* a = b; c: a second target (an error of graph functions) */
    AST_ANNOTATED, /* a: b = c (c may be NULL) */
    AST_AUGMENTED, /* a op= b */
    AST_EXPR,
    AST_RETURN, /* a may be NULL */
    AST_PASS,
    AST_BREAK,
    AST_CONTINUE,
    AST_ASSERT, /* a, b */
    AST_IMPORT  /* text: what was imported; a: AST_NAME it is known by */
} ast_kind;

typedef enum tok_kind {
    TOK_END,
    TOK_NEWLINE,
    TOK_INDENT,
    TOK_DEDENT,
    TOK_NAME,
    TOK_INT,
    TOK_FLOAT,
    TOK_STR,
    /* operators and punctuation */
    TOK_PLUS,
    TOK_MINUS,
    TOK_STAR,
    TOK_SLASH,
    TOK_FLOOR,
    TOK_PERCENT,
    TOK_POWER,
    TOK_AT,
    TOK_AMP,
    TOK_BAR,
    TOK_CARET,
    TOK_TILDE,
    TOK_SHL,
    TOK_SHR,
    TOK_LT,
    TOK_LE,
    TOK_GT,
    TOK_GE,
    TOK_EQ,
    TOK_NE,
    TOK_ASSIGN,
    TOK_AUG, /* op=, `op` holds the operator */
    TOK_LPAREN,
    TOK_RPAREN,
    TOK_LBRACKET,
    TOK_RBRACKET,
    TOK_LBRACE,
    TOK_RBRACE,
    TOK_COMMA,
    TOK_COLON,
    TOK_DOT,
    TOK_ARROW,
    TOK_SEMICOLON,
    /* keywords that are operators */
    TOK_AND,
    TOK_OR,
    TOK_NOT
} tok_kind;

typedef struct token {
    uint8_t kind, op;
    uint32_t line, column;
    const char *at;
    size_t n;
} token;

typedef struct ast ast;
typedef struct ast_list {
    ast **at;
    uint32_t n;
} ast_list;

struct ast {
    uint8_t kind, op;
    uint16_t depth;
    uint32_t line, column;
    const char *text; /* interned in the context */
    union {
        uint64_t number;
        double real;
    };
    ast *a, *b, *c;
    ast_list list, more;
};

typedef struct tokens {
    token *at;
    uint32_t n, cap;
} tokens;

/* What lexer and parser share. */
typedef struct source {
    tn_ctx *ctx;
    tnb_arena *arena; /* of tokens and syntax */
    const char *file, *text;
    size_t n;
    uint32_t errors; /* syntax errors so far */
} source;

/* Records a located syntax error. After 20 of them further ones are only counted. */
void
text_syntax_error(source *s, uint32_t line, uint32_t column, const char *fmt, ...) TNB_PRINTF(4, 5);

/* Splits the text; errors are recorded and skipped over. The result ends with TOK_END. */
tokens
text_lex(source *s);

/* The same for one expression that stands at line:column; line ends mean nothing in it. */
tokens
text_lex_part(source *s, const char *text, size_t n, uint32_t line, uint32_t column);

/* Parses a whole file into its statements. */
ast_list
text_parse(source *s);

/* Parses one expression (a string dimension such as "n + 1"), placed at line:column; NULL after an
 * error. */
ast *
text_parse_expr(source *s, const char *text, size_t n, uint32_t line, uint32_t column);

/* The decoded text of a string token, in the arena, terminated; NULL after an error. */
char *
text_decode_string(source *s, const token *t);

/* Length of the UTF-8 sequence at p, 0 if it is none. */
int
tn_utf8_length(const char *p, const char *end);

#endif
