/* SPDX-License-Identifier: Apache-2.0 */
/* From an ONNX graph to a Relax function: what the handlers of operators share.
 *
 * A value is a tensor expression, or a list of known elements, or both. Elements are scalar
 * expressions (int64 for integers and bool, float64 for floats): literals, or terms over the
 * symbolic dimensions. Small integer tensors that describe shapes are carried as elements through
 * the graph, so that computed shapes become shape expressions; they become tensors only where an
 * operator wants one.
 *
 * A handler reads its inputs with onnx_in, attributes with onnx_attr_*, and ends with onnx_ret.
 * Expressions are emitted at once. After an error every function here goes on silently with the
 * error node.
 */
#ifndef ONNX_IMPORT_H
#define ONNX_IMPORT_H

#include "model.h"
#include "tenon/core/arith.h"
#include "tenon/core/builder.h"
#include "tenon/kit/importer.h"

enum {
    ONNX_MAX_RANK = 8,       /* of tensors carried as elements */
    ONNX_MAX_ELEMS = 1024,   /* carried as elements when computed */
    ONNX_MAX_LITERALS = 256, /* of a constant that is read as elements */
    ONNX_MAX_DIMS = TNB_TENSOR_PB_MAX_DIMS
};

typedef struct onnx_value onnx_value;
typedef struct onnx_scope onnx_scope;
typedef struct onnx_node onnx_node;
typedef struct onnx_import onnx_import;

struct onnx_value {
    const char *name;    /* interned */
    const tn_expr *expr; /* NULL: not yet a tensor */
    const tn_expr *const *elems;
    uint32_t n_elems;
    bool has_elems, tried_elems;
    int32_t ndim; /* of the elements */
    int64_t dims[ONNX_MAX_RANK];
    tnb_dtype dtype;               /* of the elements */
    const Onnx__TensorProto *init; /* an initializer that was not read yet */
    const char *run_time_input;    /* the graph input's name, if it is one */
    uint32_t place;                /* and its place */
    onnx_value *const *deps;       /* inputs of the node that makes it */
    uint32_t n_deps;
    bool shape_only;        /* that node looks at shapes only */
    const onnx_node *maker; /* the node that makes it, seen from the same graph; NULL: none */
    onnx_value *same_as;    /* it is another value under another name; NULL: none */
    const Onnx__NodeProto *producer;
    const char *producer_text;
    uint32_t mark;
};

/* Names of one graph. Inner graphs see the names of outer ones. */
struct onnx_scope {
    tnb_strmap values;
    onnx_scope *outer;
    struct onnx_region *region; /* names of outer graphs are seen through it; NULL: as they are */
    /* a function's body: what ref_attr_name means */
    onnx_node *call;
    const Onnx__FunctionProto *function;
};

/* A condition over extents, and the branch for which the rest of the model is made: 0 then, 1 else. */
typedef struct onnx_decision {
    const tn_expr *cond;
    int taken;
} onnx_decision;
enum { ONNX_MAX_DECIDED = 64 };

struct onnx_import {
    tn_ctx *ctx;
    tn_builder *b;
    tnb_arena *arena; /* lives as long as the import */
    onnx_model *model;
    const tnk_import_options *opt;
    onnx_scope *scope;
    tnb_strmap dims;       /* name of a dynamic dimension -> scalar expression */
    const char *dim_names; /* the keys of `dims` for a message, NULL before the first */
    const char
        *shapeless; /* an input of whose extents the model says nothing, NULL: there is none */
    tnb_strmap functions; /* see onnx_function_key -> FunctionProto */
    onnx_value absent;    /* stands for an input that a call of a function leaves out */
    int64_t opset;        /* of the default domain */
    const Onnx__FunctionProto *function; /* whose body is being imported; NULL: the model's graph */
    int function_depth, graph_depth;
    uint32_t mark, n_nodes, n_functions;
    uint32_t loops;     /* that the graph at hand is the body of, one in the other (loop.c) */
    tnb_ptrmap settled; /* of the outermost of them: what is known of the carried values of loops */
    tnb_ptrmap rolled;  /* loops of a known count that cannot be written out (control.c) */
    uint32_t copies;    /* of the graph at hand, by loops that are written out; 0: not in one */
    /* extents of run time (dynamic.c) */
    uint32_t region, n_regions; /* the function that nodes are emitted into */
    TNB_VEC(struct onnx_name *) names;
    TNB_VEC(struct onnx_fit *) fits; /* terms that are known to fit their dtype */
    tnb_ptrmap signed_vars;          /* parts of terms that may be negative */
    bool has_signed;
    const tn_node
        *must_bind; /* Dict: run-time inputs whose value decides a shape -> place; NULL: none */
    /* Branches that give other ranks or element types: which one the rest of the model is made for,
     * 't' or 'e' in the order of the Ifs (see fork.c), and the first If without a choice. */
    const char *choices;
    uint32_t n_choices; /* used so far */
    onnx_decision decided[ONNX_MAX_DECIDED];
    uint32_t n_decided;
    bool at_fork;
    const tn_expr *fork_cond; /* NULL: it is not known before run time */
    const char *fork_text;
    const tn_node *fork_inputs; /* as must_bind: what the condition is computed from */
};

typedef struct onnx_op {
    const char *name;
    int16_t since, until;                     /* opset versions [since, until]; until 0: no end */
    int16_t min_in, max_in, min_out, max_out; /* max -1: any number */
    bool (*import)(onnx_node *n);
    /* Computes outputs as elements when all inputs have some; false: not possible (nothing
     * recorded). NULL: never. */
    bool (*fold)(onnx_node *n);
    unsigned flags;     /* ONNX_OP_* */
    const char *domain; /* NULL: the default */
} onnx_op;
enum {
    ONNX_OP_SHAPE_ONLY = 1, /* looks at its inputs' shapes only */
    ONNX_OP_FOLD_SHAPE = 2, /* `fold` wants no elements of its inputs */
    ONNX_OP_FOLD_FIRST = 4, /* those of input 0 only */
    /* from this bit on an onnx_arith: what onnx_fold_binary, onnx_fold_unary and onnx_fold_reduce compute */
    ONNX_OP_ARITH_SHIFT = 8
};
#define ONNX_OP_ARITH(id) ((unsigned)(id) << ONNX_OP_ARITH_SHIFT)

struct onnx_node {
    onnx_import *imp;
    tn_ctx *ctx;
    const Onnx__NodeProto *proto;
    const char *op;
    const onnx_op *row;
    int64_t version;
    const char *text; /* "node 'fire2/conv' (Conv)" */
    onnx_value **in;  /* NULL entries: left out */
    uint32_t n_in;
    onnx_value **out; /* likewise */
    uint32_t n_out;
    onnx_scope *scope; /* of the graph that it stands in */
    uint64_t attrs_read;
    bool failed;
};

/* ---- errors (import.c) ---- */
/* Records an error at the node and returns false. */
bool
onnx_fail(onnx_node *n, tnb_status status, const char *fmt, ...) TNB_PRINTF(3, 4);
void
onnx_note(onnx_node *n, const char *fmt, ...) TNB_PRINTF(2, 3);
/* Tells what of the inputs' extents can be fixed, if anything. */
void
onnx_hint_dims(onnx_node *n);
/* Fails with "WHAT to be known when the model is compiled" and that hint. Returns false. */
bool
onnx_unknown(onnx_node *n, const char *what);
void
onnx_hint(onnx_node *n, const char *fmt, ...) TNB_PRINTF(2, 3);

/* The first error that was recorded after `before` diagnostics, as a text, and its status (may be NULL); NULL: there is none.
 * (message.c) */
const char *
onnx_first_error(const onnx_import *imp, uint32_t before, tnb_status *status);
/* A type as "float32[1, n, 3]", an extent as "n * 2": for messages. (message.c) */
const char *
onnx_type_text(onnx_import *imp, const tn_type *t);
/* A type as the model declares it, in the same form. */
const char *
onnx_declared_text(onnx_import *imp, const Onnx__TypeProto__Tensor *t);
const char *
onnx_dim_text(onnx_import *imp, const tn_expr *e);

/* Whether the node stands where run time may not come: in a branch, or in the body of a loop. (subgraph.c) */
bool
onnx_may_not_run(const onnx_node *n);

/* ---- values (value.c) ---- */
/* Terms with this variable may be negative. (dynamic.c) */
void
onnx_note_signed(onnx_import *imp, const tn_expr *var);
onnx_value *
onnx_value_new(onnx_import *imp, const char *name);
bool
onnx_has(const onnx_node *n, uint32_t i);
/* Input i as a tensor; the error node after recording an error. */
const tn_expr *
onnx_in(onnx_node *n, uint32_t i);
/* A value as a tensor. */
const tn_expr *
onnx_value_expr(onnx_node *n, onnx_value *v);
/* Dtype of an input, without making it a tensor. */
tnb_dtype
onnx_in_dtype(onnx_node *n, uint32_t i);
/* Whether the elements of input i are known: then v->elems. */
bool
onnx_known(onnx_node *n, uint32_t i);
bool
onnx_value_known(onnx_node *n, onnx_value *v);
/* Elements of input i as int64 expressions; false after an error that says which input to bind.
 * `what`: "the target shape". */
TNB_MUST_CHECK bool
onnx_elems(onnx_node *n, uint32_t i, const char *what, const tn_expr *const **e, uint32_t *count);
/* The run-time inputs that `v` is computed from (not those whose shape alone is used): Dict name ->
 * place, or NULL. */
const tn_node *
onnx_run_time_inputs(onnx_import *imp, onnx_value *v);
/* After an error: says on which run-time inputs input i depends, which then are to be bound; whether
 * there are any. */
bool
onnx_blame_inputs(onnx_node *n, uint32_t i);
/* The same as plain numbers. */
bool
onnx_ints(onnx_node *n, uint32_t i, const char *what, int64_t *out, uint32_t max, uint32_t *count);
bool
onnx_floats(onnx_node *n, uint32_t i, const char *what, double *out, uint32_t max, uint32_t *count);
/* One number. */
bool
onnx_in_int(onnx_node *n, uint32_t i, const char *what, int64_t *out);
bool
onnx_in_float(onnx_node *n, uint32_t i, const char *what, double *out);
/* Ends a handler: output 0 (a Tuple: all outputs). False if `e` is an error. */
bool
onnx_ret(onnx_node *n, const tn_expr *e);
bool
onnx_ret_at(onnx_node *n, uint32_t i, const tn_expr *e);
/* Output i as elements; false when these are too many to be carried so. */
bool
onnx_ret_elems(onnx_node *n, uint32_t i, tnb_dtype d, int32_t ndim, const int64_t *dims,
               const tn_expr *const *elems);
/* A constant node from a TensorProto of the model. */
const tn_expr *
onnx_tensor(onnx_node *n, const Onnx__TensorProto *t, const char *what);

/* ---- attributes (attr.c): defaults where absent; a wrong type records an error ---- */
const Onnx__AttributeProto *
onnx_attr(onnx_node *n, const char *name); /* NULL: absent */
int64_t
onnx_attr_int(onnx_node *n, const char *name, int64_t otherwise);
double
onnx_attr_float(onnx_node *n, const char *name, double otherwise);
const char *
onnx_attr_str(onnx_node *n, const char *name, const char *otherwise);
/* The count; -1 absent (or wrong: n->failed). */
int
onnx_attr_ints(onnx_node *n, const char *name, int64_t *out, int max);
int
onnx_attr_floats(onnx_node *n, const char *name, double *out, int max);
int
onnx_attr_strs(onnx_node *n, const char *name, const char **out, int max);
/* Names one of a NULL-terminated list; its index, or -1 after an error. */
int
onnx_attr_choice(onnx_node *n, const char *name, const char *otherwise, const char *const *choices);
const Onnx__GraphProto *
onnx_attr_graph(onnx_node *n, const char *name);
/* An axis attribute or number in [-rank, rank), made non-negative. False after an error. */
TNB_MUST_CHECK bool
onnx_axis(onnx_node *n, int64_t rank, int64_t *axis);
bool
onnx_axes(onnx_node *n, int64_t rank, int64_t *axes, int count);
/* Axes as an attribute (old) or as input `i` (new): the count, -1 absent; n->failed after an error.
 */
int
onnx_axes_in(onnx_node *n, uint32_t i, int64_t *out, int max);
void
onnx_attrs_check(onnx_node *n);

/* ---- emitting (emit.c) ---- */
const tn_expr *
onnx_emit(onnx_node *n, const char *op, const tn_node *attrs, ...) __attribute__((sentinel));
const tn_expr *
onnx_emit_call(onnx_node *n, const tn_expr *call);
int64_t
onnx_rank(onnx_node *n, const tn_expr *x); /* -1 after an error */
tnb_dtype
onnx_dtype(const tn_expr *x);
/* Extents; false after an error when unknown. */
TNB_MUST_CHECK bool
onnx_dims(onnx_node *n, const tn_expr *x, tn_list *dims);
/* Extent i as a number, else -1. */
int64_t
onnx_dim(const tn_expr *x, int64_t i);
/* All extents as numbers; the rank, or -1 after an error. */
int
onnx_static_dims(onnx_node *n, const tn_expr *x, int64_t *out, const char *what);
const tn_expr *
onnx_scalar(onnx_node *n, tnb_dtype d, double v); /* a 0-d constant */
const tn_expr *
onnx_scalar_int(onnx_node *n, tnb_dtype d, int64_t v);
const tn_expr *
onnx_const_ints(onnx_node *n, tnb_dtype d, const int64_t *v, uint32_t count);
const tn_expr *
onnx_astype(onnx_node *n, const tn_expr *x, tnb_dtype d);
/* Integers as floats, for attributes that need not be whole numbers: float32 where it holds the dtype, else float64. */
const tn_expr *
onnx_as_scaled(onnx_node *n, const tn_expr *x);
/* The same; to float8 what is too large becomes the largest number, unless attribute `saturate` is 0;
 * NaN stays. */
const tn_expr *
onnx_cast_saturated(onnx_node *n, const tn_expr *x, tnb_dtype d);
const tn_expr *
onnx_reshape(onnx_node *n, const tn_expr *x, const tn_expr *const *dims, uint32_t n_dims);
const tn_expr *
onnx_reshape_ints(onnx_node *n, const tn_expr *x, const int64_t *dims, uint32_t n_dims);
const tn_expr *
onnx_permute(onnx_node *n, const tn_expr *x, const int64_t *perm, uint32_t rank);
const tn_expr *
onnx_unsqueeze(onnx_node *n, const tn_expr *x, const int64_t *axes, uint32_t count);
const tn_expr *
onnx_squeeze(onnx_node *n, const tn_expr *x, const int64_t *axes, uint32_t count);
const tn_expr *
onnx_concat(onnx_node *n, const tn_expr *const *x, uint32_t count, int64_t axis);
/* stride NULL: 1. Begins and ends within the extent and in the meaning of Python slices. */
const tn_expr *
onnx_slice(onnx_node *n, const tn_expr *x, const int64_t *axes, const tn_expr *const *begin,
           const tn_expr *const *end, const int64_t *stride, uint32_t count);
const tn_expr *
onnx_slice_ints(onnx_node *n, const tn_expr *x, int64_t axis, int64_t begin, int64_t end);
const tn_expr *
onnx_broadcast(onnx_node *n, const tn_expr *x, const tn_expr *const *dims, uint32_t n_dims);
/* x as an operand beside y that must not make the result larger than y: checked at run time where it might. */
const tn_expr *
onnx_one_way(onnx_node *n, const tn_expr *x, const tn_expr *y);
const tn_expr *
onnx_take(onnx_node *n, const tn_expr *x, const tn_expr *indices, int64_t axis);
/* Whether so large a tensor of one value is to be made by the program (TN_LARGE_SPLAT). One above the limit on
 * constants stays a constant, which is refused where it would be stored. */
bool
onnx_is_large(onnx_node *n, tnb_dtype d, const int64_t *shape, uint32_t n_dims);
const tn_expr *
onnx_full(onnx_node *n, const tn_expr *const *dims, uint32_t n_dims, tnb_dtype d, double v);
const tn_expr *
onnx_arange(onnx_node *n, const tn_expr *start, const tn_expr *end, const tn_expr *step,
            tnb_dtype d);
/* "sum", "mean", "max", "min", "prod"; count 0 with axes NULL: all. */
const tn_expr *
onnx_reduce(onnx_node *n, const char *op, const tn_expr *x, const int64_t *axes, uint32_t count,
            bool keep);
/* begin and end amounts, constant mode. */
const tn_expr *
onnx_pad(onnx_node *n, const tn_expr *x, const int64_t *begin, const int64_t *end, uint32_t rank,
         double value);
const tn_expr *
onnx_where(onnx_node *n, const tn_expr *c, const tn_expr *a, const tn_expr *b);
const tn_expr *
onnx_clip(onnx_node *n, const tn_expr *x, double lo, double hi);
const tn_expr *
onnx_bin(onnx_node *n, const char *op, const tn_expr *a, const tn_expr *b);
const tn_expr *
onnx_un(onnx_node *n, const char *op, const tn_expr *a);
/* x OP number, in the dtype of x */
const tn_expr *
onnx_bin_num(onnx_node *n, const char *op, const tn_expr *x, double v);
const tn_expr *
onnx_tuple_get(onnx_node *n, const tn_expr *t, uint32_t i);
/* What `make` gives for the axis that input i names at run time, one of the first `axes` of `rank`:
 * every axis is computed, one is selected; run time checks that it is one of them. All must give one
 * type. */
const tn_expr *
onnx_along_axis(onnx_node *n, uint32_t i, int64_t axes, int64_t rank, const char *op,
                const tn_expr *(*make)(onnx_node *n, const char *op, int64_t axis));
/* Elements as a tensor (import of known shapes); NULL if they cannot be (float terms). */
const tn_expr *
onnx_elems_expr(onnx_node *n, const tn_expr *const *elems, uint32_t count, tnb_dtype d,
                int32_t ndim, const int64_t *dims);
const tn_expr *
onnx_simplify(onnx_node *n, const tn_expr *e);
/* x with these extents, which run time checks; an error where they can never be. `what`: "the bias". (select.c) */
const tn_expr *
onnx_match_extents(onnx_node *n, const tn_expr *x, tn_list dims, const char *what,
                   const char *hint);
/* x with its extents, which are found at run time: `dims`, a new name for each that is NULL.
 * (select.c) */
const tn_expr *
onnx_name_extents(onnx_node *n, const tn_expr *x, tn_list dims);
/* x with the extents `dims`, which run time checks where they are not known to be these. `what`: "the bias". */
const tn_expr *
onnx_fix_extents(onnx_node *n, const tn_expr *x, tn_list dims, const char *what);
/* The same for one axis. */
const tn_expr *
onnx_fix_extent(onnx_node *n, const tn_expr *x, int64_t axis, const tn_expr *want,
                const char *what);
/* Integers x, each as one of 0 to extent - 1: what becomes of others says the target (check_indices). `what`: "position_ids". */
const tn_expr *
onnx_in_range(onnx_node *n, const tn_expr *x, const tn_expr *extent, const char *what);

/* ---- convolution (conv_pool.c) ---- */
/* x convolved with w as the node's attributes say; weight: w's name in the model. out: of the result, void: as x. */
const tn_expr *
onnx_convolve(onnx_node *n, const tn_expr *x, const tn_expr *w, const char *weight, tnb_dtype out);

/* ---- the model's function (import.c, fork.c) ---- */
/* What the model's inputs and outputs are called. */
typedef struct onnx_names {
    tn_list inputs, outputs;
} onnx_names;
/* The parameters; the initializers and inputs are in the current scope. False after an error. */
TNB_MUST_CHECK bool
onnx_import_parameters(onnx_import *imp, tn_list *params, onnx_names *names);
/* The graph as function `name`, with the choices that are set. */
bool
onnx_import_graph(onnx_import *imp, const char *name, onnx_names *names);
/* The graph as function "main", with functions for the branches that the model is made for. NULL
 * after an error. */
const tn_module *
onnx_import_choosing(onnx_import *imp, onnx_names *names);

/* ---- graphs (graph.c) ---- */
enum { ONNX_MAX_FUNCTION_DEPTH = 32 }; /* of calls within calls */
/* What names a function of the model: domain, name and overload. */
const char *
onnx_function_key(onnx_import *imp, const char *domain, const char *name, const char *overload);
/* The function that a node calls; NULL: it is an operator. */
const Onnx__FunctionProto *
onnx_find_function(onnx_import *imp, const Onnx__NodeProto *p);
/* The version of the default domain in a function's body. */
int64_t
onnx_function_opset(const onnx_import *imp, const Onnx__FunctionProto *f);
/* NULL: there is none; &imp->absent: an input that the caller left out. */
onnx_value *
onnx_find_value(const onnx_import *imp, const char *name);
/* Nodes of a graph or a function in the current scope, those that the outputs need. */
bool
onnx_import_nodes(onnx_import *imp, Onnx__NodeProto *const *nodes, size_t n,
                  const char *const *outputs, size_t n_outputs);
bool
onnx_import_nodes_of(onnx_import *imp, const Onnx__GraphProto *g);
bool
onnx_import_initializers(onnx_import *imp, const Onnx__GraphProto *g);
void
onnx_scope_push(onnx_import *imp, onnx_scope *s);
void
onnx_scope_pop(onnx_import *imp);
/* Imports a sub-graph with the given values for its inputs; outs[0..n) get its results. */
bool
onnx_inline_graph(onnx_node *n, const Onnx__GraphProto *g, onnx_value *const *args, uint32_t n_args,
                  onnx_value **outs, uint32_t n_outs);
/* Sets an output of the node to what another value is. */
void
onnx_ret_value(onnx_node *n, uint32_t i, onnx_value *v);

/* ---- operators (table.c) ---- */
const onnx_op *
onnx_find_op(const char *domain, const char *name, int64_t version, bool *other_version);
/* Of how many of a node's inputs, from the first on, `fold` wants the elements. */
uint32_t
onnx_folded_inputs(const onnx_op *row, uint32_t n_in);
bool
onnx_is_default_domain(const char *domain);

extern const onnx_op onnx_elementwise_ops[], onnx_conv_pool_ops[], onnx_manipulate_ops[],
    onnx_shape_ops[], onnx_reduce_ops[], onnx_normalize_ops[], onnx_linear_ops[], onnx_resize_ops[],
    onnx_index_ops[], onnx_rnn_ops[], onnx_quant_ops[], onnx_control_ops[], onnx_signal_ops[],
    onnx_loss_ops[], onnx_text_ops[], onnx_select_ops[], onnx_detect_ops[], onnx_attention_ops[],
    onnx_program_ops[], onnx_recurrence_ops[];

#endif
