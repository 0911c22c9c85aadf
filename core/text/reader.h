/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's insides: a small evaluator of the Python subset whose values are IR nodes, Python's
 * own numbers, texts and containers, and names of the dialects (R.add, T.int64, ...). Private to
 * core/text.
 *
 * What went wrong is recorded once, where it happened, and gives V_ERROR, which everything passes
 * on silently; a name bound to it stays bound, so that one mistake is one message.
 */
#ifndef TENON_TEXT_READER_H
#define TENON_TEXT_READER_H

#include "ast.h"
#include "tenon/base/num.h"
#include "tenon/core/arith.h"
#include "tenon/core/op.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

typedef enum value_kind {
    V_ERROR,
    V_NODE, /* any IR node: expression, type, buffer, region, range, ... */
    V_INT,  /* i; `big`: an uint64 above INT64_MAX, as its bits */
    V_FLOAT,
    V_BOOL, /* i */
    V_STR,
    V_NONE,
    V_TUPLE, /* items, n */
    V_LIST,
    V_DICT,      /* items: keys (V_STR or any) and values alternating; n pairs */
    V_SLICE,     /* items[3]: start, stop, step (V_NONE: absent) */
    V_PATH,      /* s: a dialect's name, "R.nn.relu" */
    V_METHOD,    /* node, s: a method of a node: x.astype */
    V_MODULE,    /* the module class itself */
    V_LAMBDA,    /* ast */
    V_TYPE_VAR,  /* s: TypeVar("n"), made a variable by each function that uses it */
    V_CAST,      /* node, other: R.match_cast(node, other) before it is bound */
    V_META,      /* wraps items[0]: I.meta_var(e) */
    V_AXES,      /* T.axis.*: items are the iteration variables' values; bound by name */
    V_DECLARED,  /* node: T.int64() before it gets its name */
    V_SCALAR,    /* node: a buffer of one element, T.local_scalar() */
    V_FRAME,     /* ast: T.attr(...), T.launch_thread(...): opens a scope */
    V_ANNOTATION /* s: T.let or T.int32[...]; node: type; items: extents */
} value_kind;

typedef struct value value;
struct value {
    uint8_t kind;
    bool big;
    uint32_t n;
    union {
        const tn_node *node;
        int64_t i;
        double f;
        const char *s;
        const ast *ast;
        value *items;
    };
    union {
        const tn_node *other;
        const char *name;
        value *more;
    };
};

typedef TNB_VEC(const tn_node *) node_vec;
typedef TNB_VEC(value) value_vec;

/* A function of the module as its signature says. */
typedef struct global {
    const char *name; /* in the module */
    const ast *def;
    const tn_expr *var;  /* its GlobalVar */
    const tn_type *type; /* of a graph function: TyFunc; NULL until known */
    tn_list params;      /* the parameters that `type` speaks of */
    bool failed;         /* its signature had errors */
    bool started;        /* its body is read or being read */
    bool believed;       /* `type` was used before the body was read */
    const tn_node *func; /* once read */
    bool tensor, external;
    const tn_type *ret; /* of a tensor program: Prim, or NULL */
} global;

/* Blocks under construction of a graph function's body or branch. */
typedef struct graph_scope {
    node_vec blocks, bindings;
    const tn_type *written; /* the annotation of the last binding; NULL: none */
    bool dataflow;
    bool in_branch;
    tnb_ptrmap
        *outputs; /* in a dataflow block: name -> the statement (ast) whose binding is the output */
    const ast *statement; /* the one at hand */
    bool closed;          /* R.output or return was seen */
    const tn_expr *result;
    struct graph_function *func;
    struct graph_scope *outer;
} graph_scope;

/* Attributes of a function under construction: a later value of a key replaces an earlier one. */
typedef struct attr_list {
    tnb_strmap at; /* key -> number + 1 */
    TNB_VEC(const char *) keys;
    node_vec values;
} attr_list;

typedef struct graph_function {
    attr_list attrs;
    bool is_private, explicit_private;
    const tn_expr *var; /* of a local function */
} graph_function;

/* A block (or function) of a tensor program under construction. */
typedef struct tensor_block {
    bool is_block;
    node_vec iters, values, allocs, matches, reads, writes;
    bool has_reads, has_writes;
    const tn_expr *predicate;
    const tn_node *annotations;
    const tn_stmt *init;
} tensor_block;

typedef struct loop_var {
    const tn_expr *var;
    const tn_node *dom;
} loop_var;

typedef struct tensor_scope {
    tensor_block *block; /* innermost */
    node_vec *stmts;     /* where statements go */
    TNB_VEC(loop_var) loops;
    tnb_ptrmap loop_doms; /* loop Var -> Range */
    tnb_ptrmap params;    /* handle Var -> index + 1 */
    tnb_ptrmap by_data;   /* data Var -> Buffer */
    tnb_ptrmap symbols;   /* variables that the shapes of parameters define */
    tnb_ptrmap declared;  /* name -> the type that the body declares it with, as n = T.int64() */
    const tn_node **param_buffers;
    uint32_t n_params;
    attr_list attrs;
    bool old_dialect; /* T.block, T.alloc_buffer as a block's allocation, plain assignment as let */
    bool has_blocks;
    uint32_t loops_deep; /* nest of statements made by one text line */
    const char *func_name;
    bool is_private;
} tensor_scope;

typedef enum level { LEVEL_MODULE, LEVEL_GRAPH, LEVEL_TENSOR } level;

typedef struct bound {
    const char *name;
    value v;
    struct bound *older; /* of the same name */
    uint32_t frame;
} bound;

typedef struct reader {
    tn_ctx *ctx;
    source src;
    tnb_arena *arena;
    level level;
    tnb_ptrmap names; /* interned name -> innermost bound */
    TNB_VEC(bound *) log;
    uint32_t frame;
    tnb_ptrmap gone;      /* names of dataflow variables and branch variables that ended: why */
    tnb_strmap globals;   /* name in the text -> global */
    const tn_dict *given; /* values for names that the file assigns; NULL: none */
    tnb_ptrmap taken;     /* of those the ones that it did assign: text */
    tnb_ptrmap by_var;    /* GlobalVar -> global */
    const char *hint;     /* the name that what is being read will get; NULL: none */
    const char *module_name;
    graph_scope *graph;
    tensor_scope *tensor;
    bool defining; /* string dimensions may define variables (a signature) */
    const tn_node *infos, *module_attrs;
    struct constant_table *constants;
    uint32_t nest;
    uint32_t fresh;
    uint32_t errors_at_start; /* of the diagnostics */
} reader;

/* ---- scope.c: names, places, conversions ---- */
void
rd_at(reader *r, const ast *e); /* new nodes and errors are placed here */
value
rd_error(reader *r, const ast *e, tnb_status s, const char *fmt, ...) TNB_PRINTF(4, 5);
void
rd_hint(reader *r, const char *fmt, ...) TNB_PRINTF(2, 3);
uint32_t
rd_push(reader *r); /* opens a frame of names */
void
rd_pop(reader *r);
void
rd_bind(reader *r, const char *name, value v);
const value *
rd_find(reader *r, const char *name);
value
rd_lookup(reader *r, const ast *e); /* an AST_NAME; an error with the nearest name if unknown */
TNB_MUST_CHECK bool
rd_enter(reader *r, const ast *e); /* one level deeper in nested IR; false after an error */
void
rd_leave(reader *r);
static inline value
rd_failed(void)
{
    value v = {.kind = V_ERROR};
    return v;
}
static inline value
rd_node(const tn_node *n)
{
    value v = {.kind = V_ERROR};
    if (n && n->kind != TN_KIND_ERROR) {
        v.kind = V_NODE;
        v.node = n;
    }
    return v;
}
static inline bool
rd_is_node(value v, tn_kind k)
{
    return v.kind == V_NODE && v.node->kind == (uint16_t)k;
}
value
rd_str(const char *s);
value
rd_list(reader *r, value_kind k, const value *items, uint32_t n);
/* A short description of a value for messages: "a tuple", "the type R.Tensor", ... */
const char *
rd_what(reader *r, value v);

/* Conversions. NULL after an error (silently for V_ERROR). */
const tn_expr *
rd_scalar(reader *r, const ast *e,
          value v); /* bare ints: int32 in tensor programs, int64 elsewhere */
const tn_expr *
rd_scalar_of(reader *r, const ast *e, value v, tnb_dtype d); /* bare numbers take dtype d */
const tn_expr *
rd_expr(reader *r, const ast *e,
        value v); /* a graph expression, normalised to a leaf where need be */
const tn_expr *
rd_leaf(reader *r, const ast *e, value v);
const tn_node *
rd_attr(reader *r, const ast *e, value v); /* an attribute value */
const tn_type *
rd_type(reader *r, const ast *e, value v);
bool
rd_int(reader *r, const ast *e, value v, int64_t *out);
bool
rd_bool(reader *r, const ast *e, value v, bool *out);
const char *
rd_text(reader *r, const ast *e, value v);
bool
rd_dtype(reader *r, const ast *e, value v,
         tnb_dtype *out); /* "float32", T.float32, R.Prim's dtype */
/* Items of a tuple or list; a lone value counts as one item if `lone`. False after an error. */
TNB_MUST_CHECK bool
rd_items(reader *r, const ast *e, value v, bool lone, const value **items, uint32_t *n);
const tn_node *
rd_dict(reader *r, const ast *e, value v); /* a Dict of attribute values */
void
rd_attr_set(reader *r, attr_list *l, const char *key, const tn_node *v);
const tn_node *
rd_attr_dict(reader *r, const attr_list *l); /* NULL: none */
/* So many mistakes already that looking for hints is not worth the time. */
bool
rd_many_errors(const reader *r);

/* ---- arguments of one call ---- */
typedef struct call_args {
    const ast *call;
    const char *name; /* for messages */
    uint32_t used;    /* positional arguments consumed */
    uint64_t seen;    /* keywords consumed, by index */
} call_args;
call_args
rd_args(const ast *call, const char *name);
/* The next positional argument, or keyword `key`; false if absent. `where` receives its syntax. */
bool
rd_arg(reader *r, call_args *a, const char *key, value *out, const ast **where);
bool
rd_keyword(reader *r, call_args *a, const char *key, value *out, const ast **where);
const ast *
rd_arg_ast(call_args *a, const char *key);
/* As rd_arg, recording an error when absent. */
bool
rd_need(reader *r, call_args *a, const char *key, value *out, const ast **where);
/* An error for what was not consumed; false then. */
bool
rd_args_end(reader *r, call_args *a);

/* All positional arguments from the next one on, as scalars. False after an error. */
TNB_MUST_CHECK bool
rd_scalars(reader *r, call_args *a, node_vec *out);

/* ---- eval.c ---- */
value
rd_eval(reader *r, const ast *e);
/* The path of a call's function, "T.serial"; NULL if it is something else. */
const char *
rd_called(reader *r, const ast *e);
value
rd_binary(reader *r, const ast *e, int op, value a, value b);
value
rd_index_buffer(reader *r, const ast *e, const tn_node *buffer, value index, bool store);
const tn_node *
rd_region(reader *r, const ast *e, value v); /* a BufferRegion from a region, load or buffer */
bool
rd_buffer_indices(reader *r, const ast *e, const tn_node *buffer, value index, bool vector,
                  node_vec *out);
const tn_node *
rd_range(reader *r, const ast *e, value begin, value end); /* [begin, end) */

/* ---- read_type.c ---- */
value
rd_type_call(reader *r, const ast *e, const char *name, bool *known);
const tn_type *
rd_bare_type(reader *r, const char *path); /* R.Tensor without parentheses; NULL if it is none */
/* What is known of a value together with what is written, which does not contradict it. */
const tn_type *
rd_stronger(reader *r, const tn_type *written, const tn_type *known);
const tn_expr *
rd_dim(reader *r, const ast *e, value v);
bool
rd_dims(reader *r, const ast *e, value v, node_vec *out);
void
rd_collect_symbols(reader *r, const ast *annotation);
const tn_node *
rd_vdevice(reader *r, const ast *e, value v);

/* ---- read_call.c ---- */
value
rd_graph_call(reader *r, const ast *e, const char *name); /* name without "R." */
value
rd_call_node(reader *r, const ast *e, const tn_node *callee);
value
rd_op_call(reader *r, const ast *e, const char *op); /* operator by its full name */
value
rd_graph_op(reader *r, const ast *e, const char *op, const tn_expr *a, const tn_expr *b);

/* ---- read_scalar.c ---- */
value
rd_tensor_call(reader *r, const ast *e, const char *name); /* name without "T." */
value
rd_module_call(reader *r, const ast *e, const char *name); /* name without "I." */
value
rd_literal(reader *r, const ast *e, tnb_dtype d, value v); /* T.int64(v) */
const tn_node *
rd_index_map(reader *r, const ast *e, value v);

/* ---- read_graph.c ---- */
const tn_expr *
rd_emit(reader *r, const ast *e, const tn_expr *value, const char *name, const tn_type *type);
bool
rd_declare_graph(reader *r, global *g); /* signature */
const tn_expr *
rd_graph_function(reader *r, const ast *def, const char *global_name, const global *self);
bool
rd_is_leaf(const tn_expr *e);

/* ---- read_tensor.c, read_block.c, read_buffer.c ---- */
bool
rd_declare_tensor(reader *r, global *g);
const tn_node *
rd_prim_func(reader *r, const ast *def, const char *global_name);
const tn_stmt *
rd_body(reader *r, const ast *where, ast_list body);
void
rd_statements(reader *r, ast_list body);
const tn_stmt *
rd_sblock(reader *r, const ast *with, const ast *call);
bool
rd_block_statement(reader *r, const char *name, const ast *call); /* T.reads(...) and so on */
value
rd_axis(reader *r, const ast *e, const char *name);
void
rd_bind_axes(reader *r, const ast *target, value axes);
value
rd_buffer_call(reader *r, const ast *e, const char *what, const char *hint);
void
rd_push_stmt(reader *r, const tn_stmt *s);
void
rd_set_block_attr(reader *r, const ast *e, value v);

/* ---- regions.c ---- */
/* Reads and writes of a block, computed from its body (and init): hulls of the accesses of each
 * buffer that the block does not allocate itself. by_data: data Var -> Buffer, for opaque accesses.
 */
void
text_block_regions(tn_ctx *ctx, const tnb_ptrmap *by_data, const tn_block *b, tn_list *reads,
                   tn_list *writes);

/* ---- constants.c ---- */
typedef struct constant_table constant_table;
/* The table of metadata["relax.expr.Constant"], from `metadata = ...` or from the sidecar beside
 * the file. */
constant_table *
rd_constants(reader *r, const ast *e, const char *json);
value
rd_constant_at(reader *r, const ast *e, const char *key, int64_t i);
value
rd_const_call(reader *r, const ast *e);

#endif
