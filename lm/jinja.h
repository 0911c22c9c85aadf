/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of chat templates: jinja_parse.c makes a tree of a text, jinja_eval.c walks it, jinja_call.c has filters, tests,
 * methods and global functions, jinja_text.c writes values. */
#ifndef TENON_LM_PRIVATE_JINJA_H
#define TENON_LM_PRIVATE_JINJA_H

#include "tenon/lm/chat.h"

enum {
    JINJA_DEPTH = 200,
    JINJA_STEPS = 10000000,
    JINJA_MEMORY = 256 << 20,
    JINJA_TEXT = 1 << 20,
    JINJA_ARGS = 32
};

#define JINJA_LACKS "the %s '%s' is not among those that Tenon's templates have"

/* ---- values ---- */
typedef enum jinja_kind {
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_FLOAT,
    JINJA_STRING,
    JINJA_LIST,
    JINJA_DICT,
    JINJA_NAMESPACE, /* a dictionary whose items are set */
    JINJA_MACRO,
    JINJA_FUNCTION, /* a global one, by name */
    JINJA_METHOD    /* of a value, by name */
} jinja_kind;

typedef struct jinja_value {
    jinja_kind kind;
    bool tuple;  /* LIST: written with parentheses */
    bool markup; /* STRING: marked as safe; what is added to it is escaped */
    union {
        int64_t i; /* BOOL too */
        double f;
        struct {
            const char *s; /* STRING; UNDEFINED: its name, or NULL; FUNCTION */
            size_t n;
        };
        struct jinja_list *list; /* DICT and NAMESPACE too: keys and values by turns */
        struct jinja_macro *macro;
        struct jinja_method *method;
    };
} jinja_value;
typedef struct jinja_list {
    jinja_value *at;
    size_t n, cap;
} jinja_list;
typedef struct jinja_method {
    jinja_value self;
    const char *name;
} jinja_method;

/* ---- the tree ---- */
typedef enum jinja_node_kind {
    /* expressions */
    N_CONST,
    N_NAME,
    N_LIST,   /* items */
    N_TUPLE,  /* items */
    N_DICT,   /* items: keys and values by turns */
    N_ATTR,   /* a.name */
    N_ITEM,   /* a[b] */
    N_SLICE,  /* a[items 0:1:2], each may be NULL */
    N_CALL,   /* a(items, keywords) */
    N_FILTER, /* a|name(items, keywords) */
    N_TEST,   /* a is name(items); flag: is not */
    N_NOT,
    N_NEG,
    N_POS,
    N_BINARY,  /* name: the operator */
    N_COMPARE, /* items: operands; names: operators */
    N_IF_ELSE, /* b if a else c */
    /* statements */
    N_TEXT,
    N_PRINT,
    N_BODY,         /* items */
    N_FOR,          /* a: targets, b: of what, c: if; body, other */
    N_IF,           /* a, body, other */
    N_SET,          /* a: targets, b; without b: body, with filters in c */
    N_MACRO,        /* name, items: parameters, names; b: defaults; body */
    N_CALL_BLOCK,   /* a: the call; body; items: parameters */
    N_FILTER_BLOCK, /* a: filters over an empty hole; body */
    N_WITH,         /* items: targets and values by turns; body */
    N_BREAK,
    N_CONTINUE
} jinja_node_kind;

typedef struct jinja_node {
    jinja_node_kind kind;
    uint32_t line, n_items, n_names;
    const char *name;
    const struct jinja_node *a, *b, *c, *body, *other;
    const struct jinja_node **items;
    const char *
        *names; /* CALL, FILTER: keywords of the last n_names items; COMPARE; MACRO: parameters */
    jinja_value value; /* CONST, TEXT */
    bool flag;
} jinja_node;

typedef struct jinja_macro {
    const jinja_node *node; /* MACRO or CALL_BLOCK */
    struct jinja_scope *scope;
} jinja_macro;

struct tnl_template {
    tnb_arena *arena;
    const char *name;
    const jinja_node *root;
};
tnb_status
jinja_parse(tnl_template *t, const char *text, size_t n, tnb_err *err);

/* ---- a run ---- */
typedef struct jinja_scope {
    struct jinja_scope *up;
    struct jinja_binding {
        const char *name;
        jinja_value value;
        struct jinja_binding *next;
    } * first;
} jinja_scope;

typedef struct jinja_run {
    const tnl_template *t;
    tnb_arena *arena;
    jinja_scope *globals;
    uint32_t line, depth;
    uint64_t steps;
    int64_t now;
    tnb_status status; /* not TNB_OK: everything ends */
    tnb_err *err;
    tnb_buf *out;
    enum { JINJA_ON, JINJA_BREAK, JINJA_CONTINUE } flow;
} jinja_run;

/* Records the error with the present line, unless there is one; gives an undefined value. */
jinja_value
jinja_fail(jinja_run *r, tnb_status st, const char *fmt, ...) TNB_PRINTF(3, 4);
bool
jinja_step(jinja_run *r, size_t n); /* counts n steps; false: the run has ended */
void *
jinja_alloc(jinja_run *r, size_t n, size_t size);

jinja_value
jinja_bool(bool b);
jinja_value
jinja_int(int64_t i);
jinja_value
jinja_float(double f);
jinja_value
jinja_string(jinja_run *r, const char *s, size_t n); /* copied */
jinja_value
jinja_text(const char *s); /* borrowed, terminated */
jinja_value
jinja_new_list(jinja_run *r, jinja_kind kind);
void
jinja_append(jinja_run *r, jinja_value list, jinja_value v);
void
jinja_set(jinja_run *r, jinja_value dict, jinja_value key, jinja_value v);
bool
jinja_get(jinja_run *r, jinja_value dict, jinja_value key, jinja_value *out);
bool
jinja_equal(jinja_run *r, jinja_value a, jinja_value b);
int
jinja_order(jinja_run *r, jinja_value a,
            jinja_value b); /* below, equal, above: fails where they have no order */
bool
jinja_truth(jinja_value v);
bool
jinja_is_number(jinja_value v);
double
jinja_number(jinja_value v);
/* Its items as a list: of a text its characters, of a dictionary its keys. Fails for others. */
jinja_value
jinja_items(jinja_run *r, jinja_value v);
size_t
jinja_length(jinja_run *r, jinja_value v);
/* The text with entities for & < > ' ", unless it is markup already. */
jinja_value
jinja_escape(jinja_run *r, jinja_value s);
/* Character `i` counted in characters, and where it begins. */
size_t
jinja_char_offset(jinja_value s, size_t i);

jinja_value
jinja_attribute(jinja_run *r, jinja_value v, const char *name);
jinja_value
jinja_item(jinja_run *r, jinja_value v, jinja_value key);
jinja_value
jinja_eval(jinja_run *r, jinja_scope *s, const jinja_node *n);

/* Runs the whole template in the global scope. */
void
jinja_run_all(jinja_run *r);
void
jinja_bind(jinja_run *r, jinja_scope *s, const char *name, jinja_value v); /* name: borrowed */

/* ---- arguments ---- */
typedef struct jinja_args {
    jinja_value at[JINJA_ARGS];
    const char *keyword[JINJA_ARGS]; /* NULL: by place */
    uint32_t n;
} jinja_args;
/* The argument at a place or of a keyword (NULL: by place alone). */
bool
jinja_arg(const jinja_args *a, uint32_t place, const char *keyword, jinja_value *out);
jinja_value
jinja_call(jinja_run *r, jinja_value f, const jinja_args *a);
jinja_value
jinja_call_macro(jinja_run *r, jinja_value f, const jinja_args *a, const jinja_value *caller);
jinja_value
jinja_filter(jinja_run *r, const char *name, jinja_value v, const jinja_args *a);
bool
jinja_test(jinja_run *r, const char *name, jinja_value v, const jinja_args *a);
/* Whether there is such a filter, test, method, global function. */
bool
jinja_has_filter(const char *name);
bool
jinja_has_test(const char *name);
bool
jinja_has_method(jinja_kind kind, const char *name);
bool
jinja_has_function(const char *name);

/* ---- jinja_text.c ---- */
void
jinja_print(jinja_run *r, tnb_buf *b, jinja_value v); /* as str() */
jinja_value
jinja_str(jinja_run *r, jinja_value v);
jinja_value
jinja_tojson(jinja_run *r, jinja_value v, int indent, const char *item, const char *colon,
             bool sorted, bool ascii);

#endif
