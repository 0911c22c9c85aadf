/* SPDX-License-Identifier: Apache-2.0 */
/* Operators as data: one schema serves parsing, printing, defaults, type inference, legalization,
 * documentation. Graph operators ("relax.add") and scalar intrinsics ("tirx.exp") share the
 * structure.
 */
#ifndef TENON_CORE_OP_H
#define TENON_CORE_OP_H

#include "tenon/base/plugin.h"
#include "tenon/core/build.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_builder tn_builder;

/* ORDER ATTR_TYPE */
typedef enum tn_attr_type {
    TN_ATTR_ANY,   /* any node, kept as parsed */
    TN_ATTR_INT,   /* IntImm int64 */
    TN_ATTR_FLOAT, /* FloatImm float64 */
    TN_ATTR_BOOL,
    TN_ATTR_STR,   /* StringImm */
    TN_ATTR_DTYPE, /* DTypeImm; written as a string; "" and "void" are void */
    TN_ATTR_INTS,  /* Array of IntImm; a lone integer is taken as a list of one */
    TN_ATTR_FLOATS,
    TN_ATTR_STRS,
    TN_ATTR_EXPRS, /* Array of scalar expressions */
    TN_ATTR_INDEX_MAP,
    TN_ATTR_VDEVICE
} tn_attr_type;

enum { TN_ATTR_OPTIONAL = 1 /* None is a value, and the default if no other is given */ };

/* fallback: the default as text ("[1, 1]", "\"NCHW\"", "True", "void"), NULL: required (or None if
 * optional). */
typedef struct tn_attr_schema {
    const char *name;
    tn_attr_type type;
    unsigned flags;
    const char *fallback;
    const char *doc;
    /* What values are allowed (of lists: each entry), NULL: all of the type. Checked where the
     * schema is applied:
     *     a|b|c     one of these texts or integers
     *     >=N N..M  numbers
     *     float|int dtypes of these kinds (bool, int, uint, float), or called so (float16)
     * "axis" and "axes", from -rank to rank - 1, are for the operator. For check-config: "program" and "file"; "rule", "pattern", "op",
     * "external" and "target", which are names of those (of a Dict: its keys). Attributes of targets that a section of an INI file sets
     * are warned of there and where the target is used:
     *     ~a|b|c    texts that are known; others are kept, as upstream's targets have them
     *     unused    nothing reads it */
    const char *allowed;
} tn_attr_schema;

typedef struct tn_arg_schema {
    const char *name;
    const char *doc;
    /* What the argument may be, for documentation and tests, NULL: anything. Words: [tuple of] [bool,
     * int, float, number, "int or bool"] tensor, scalar, "tensor or scalar", shape or anything; then
     * for tensors "of rank N", "of rank N or M", "of rank N or more"; then, for values that are made up to run a function, in
     * which range they make sense: "from A", "from A to B" (less than B), "below NAME.K" (indices: from 0 to the extent of
     * axis K of the argument NAME). */
    const char *accepts;
} tn_arg_schema;

enum {
    TN_OP_SCALAR = 1, /* a scalar intrinsic; else a graph operator */
    TN_OP_IMPURE = 2,
    TN_OP_ARG_SHAPES = 4,     /* legalization needs the argument shapes known */
    TN_OP_DATA_DEPENDENT = 8, /* the output shape depends on values */
    TN_OP_VARIADIC = 16,      /* the last argument repeats */
    TN_OP_ALLOCATES = 32,     /* results are never merged (EliminateCommonSubexpr) */
    TN_OP_READS_MEMORY = 64,  /* scalar: reads memory or is not a function of its arguments */
    TN_OP_LAZY = 128          /* scalar: evaluates not all its arguments (if_then_else) */
};

/* Scalar intrinsics of the core, TN_INTRIN_exp and so on; NONE: an operator of the graph, or a plugin's. */
typedef enum tn_intrin_id {
    TN_INTRIN_NONE,
#define TN_INTRIN(id, more, takes, fewest, rule, value, what) TN_INTRIN_##id,
#include "tenon/core/intrin.def"
#undef TN_INTRIN
    TN_INTRIN_COUNT
} tn_intrin_id;

/* Structural operators, TN_STRUCTURAL_call_tir and so on; NONE: any other. */
typedef enum tn_structural_id {
    TN_STRUCTURAL_NONE,
#define TN_STRUCTURAL(id, name, more, takes, fewest, keys, rule, what) TN_STRUCTURAL_##id,
#include "tenon/core/structural.def"
#undef TN_STRUCTURAL
    TN_STRUCTURAL_COUNT
} tn_structural_id;

/* What ConvertLayout asks an operator. A layout is a StringImm that names the axes of a tensor, as
 * it was written, in the order in which they lie (tenon/kit/layout.h: "ABCD" as written, "ACDB",
 * "ABCD4b"); for a tuple an Array of layouts; None for what is no tensor of known rank. */
typedef struct tn_layouts {
    tn_ctx *ctx;
    const tn_call *call;   /* as written */
    tn_list desired;       /* StringImms asked for this operator ("NHWC", "OHWI"); n 0: none */
    const tn_node **args;  /* what the arguments have; to be changed to what is wanted of them */
    const tn_node *result; /* to be set: what the result then has */
    const tn_node *attrs;  /* the call's; to be changed to what fits the layouts */
    tn_list call_args;     /* the call's; to be changed where arguments number axes */
} tn_layouts;

/* ToMixedPrecision's policies. ORDER MIXED */
typedef enum tn_mixed {
    TN_MIXED_NEVER,  /* keeps the dtypes it was written with */
    TN_MIXED_FOLLOW, /* in float16 when all its tensors are */
    TN_MIXED_ALWAYS  /* in float16, accumulating in the attribute out_dtype */
} tn_mixed;

struct tn_op {
    tnb_entry base; /* name: with its dialect, "relax.nn.relu", "tirx.exp" */
    uint32_t flags;
    /* TVMScript spelling where it differs from the name ("R.nn.relu" from "relax.nn.relu" is
     * implied); NULL: it does not. */
    const char *script_name;
    const tn_arg_schema *args;   /* ends with a NULL name; NULL: any arguments */
    int min_args;                /* -1: all of `args` */
    uint32_t mixed;              /* tn_mixed */
    const tn_attr_schema *attrs; /* ends with a NULL name; printing order; NULL: none */
    const char *result;          /* what the type of a call is, in words; may be NULL */
    /* The attributes in their canonical form (padding completed to all sides, out_layout from
     * data_layout), after defaults were filled in and types checked; NULL after an error. May be
     * NULL. */
    const tn_node *(*complete)(tn_ctx *ctx, const tn_op *op, const tn_node *attrs);
    /* The call's type; `call` has no type yet. After a mistake: record it (tn_error) and return the
     * error node. */
    const tn_type *(*infer)(tn_ctx *ctx, const tn_call *call);
    /* Layouts of arguments and result (ConvertLayout); false, or NULL: all as written. After
     * a mistake in `desired`: record it (tn_error), give false. */
    bool (*layout)(tn_layouts *q);
    /* Replaces the call by calls of tensor programs added to the builder's module; NULL: left as it
     * is. */
    const tn_expr *(*legalize)(tn_builder *b, const tn_call *call);
    /* Lowering of a structural operator to run-time calls (LowerRuntimeBuiltin); NULL: none. */
    const tn_expr *(*lower_builtin)(tn_ctx *ctx, const tn_call *call);
    void *self;                  /* the plugin's; NULL else */
    tn_structural_id structural; /* the core's own; a plugin's have NONE */
    /* ---- scalar intrinsics only ---- */
    tn_intrin_id intrin; /* the core's own; a plugin's have NONE */
    /* Of a plugin's: the function that source calls, by the dialect's name, in pairs:
     * {"c", "vendor_expf", "acme_c", "acme_exp", NULL}. NULL: no dialect has it. */
    const char *const *spellings;
    /* Evaluation on doubles for folding and interpreting floats; NULL: none. n is the argument
     * count. */
    double (*eval)(const double *args, int n);
};

/* In a legalization or inference: the attribute `key` of the call (defaults are always present);
 * NULL when None. */
TNB_EXPORT const tn_node *
tn_call_attr(const tn_call *c, const char *key);
TNB_EXPORT int64_t
tn_call_int(const tn_call *c, const char *key);
TNB_EXPORT double
tn_call_float(const tn_call *c, const char *key);
TNB_EXPORT const char *
tn_call_str(const tn_call *c, const char *key);
TNB_EXPORT tnb_dtype
tn_call_dtype(const tn_call *c, const char *key);
TNB_EXPORT int
tn_call_ints(const tn_call *c, const char *key, int64_t *out, int max);

/* The operator of a call, NULL when it calls no operator. */
static inline const tn_op *
tn_call_op_of(const tn_call *c)
{
    return tn_is(c->op, TN_KIND_OP_REF) ? ((const tn_op_ref *)c->op)->op : NULL;
}
/* Which intrinsic of the core is called; NONE: another operator, or no call. */
static inline tn_intrin_id
tn_intrin_of(const tn_node *n)
{
    const tn_op *op = tn_is(n, TN_KIND_CALL) ? tn_call_op_of((const tn_call *)n) : NULL;
    return op ? op->intrin : TN_INTRIN_NONE;
}
static inline bool
tn_is_intrin(const tn_node *n, tn_intrin_id id)
{
    return tn_intrin_of(n) == id;
}
/* Likewise which structural operator. */
static inline tn_structural_id
tn_structural_of(const tn_node *n)
{
    const tn_op *op = tn_is(n, TN_KIND_CALL) ? tn_call_op_of((const tn_call *)n) : NULL;
    return op ? op->structural : TN_STRUCTURAL_NONE;
}
/* A call of a tensor program: call_tir, call_tir_inplace or call_tir_with_grad. */
static inline bool
tn_is_call_tir(const tn_node *n)
{
    tn_structural_id id = tn_structural_of(n);
    return id == TN_STRUCTURAL_call_tir || id == TN_STRUCTURAL_call_tir_inplace ||
           id == TN_STRUCTURAL_call_tir_with_grad;
}
/* The call has no effects, so that it may go when its result is not used, and equal calls may be
 * merged (unless the operator allocates). False for GlobalVars, whose functions the call does not
 * know. */
TNB_EXPORT bool
tn_call_is_pure(const tn_call *c);
/* The same with the module at hand: a graph function as it says, a tensor program only if it writes
 * no memory. */
TNB_EXPORT bool
tn_call_is_pure_in(const tn_module *m, const tn_call *c);

/* ---- what calls take for granted ---- */
/* A fact about extents and scalar values that a call needs and that its operands' types do not prove: the
 * program has to check it before it is relied upon (pass InsertShapeChecks). */
typedef struct tn_assumption {
    const tn_expr *holds; /* a condition over symbolic variables */
    const char *text;     /* what is wrong where it does not hold; each "{}" stands for a value */
    tn_list values;       /* integer expressions */
} tn_assumption;
typedef TNB_VEC(tn_assumption) tn_assumptions;

/* The assumptions of an operator's call, in scratch: its inference is run again. Some may hold for all
 * extents, others never. False after recording an error. */
TNB_EXPORT TNB_MUST_CHECK bool
tn_call_assumptions(tn_ctx *ctx, const tn_call *call, tn_assumptions *out);
/* The same for one of many calls: what an operator assumes of operands of the same types is asked once. `before` is
 * an empty map at the first; it and the assumptions lie in scratch. */
TNB_EXPORT bool
tn_call_assumptions_again(tn_ctx *ctx, tnb_ptrmap *before, const tn_call *call,
                          tn_assumptions *out);
/* For type inference: `holds` has to be true where the call runs. False: it certainly is not, which
 * the caller reports; true: it is, or it is noted for whoever asked. The text is copied. */
TNB_EXPORT bool
tn_assume(tn_ctx *ctx, const tn_expr *holds, const char *text, tn_list values);
/* Likewise that two extents are equal; "{}" of the text stand for both. */
TNB_EXPORT bool
tn_assume_equal(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, const char *text);
/* Whether somebody asked: conditions that take work to build need not be built otherwise. */
TNB_EXPORT bool
tn_assuming(const tn_ctx *ctx);

/* Fills defaults and checks names, types and argument counts against the schema; the complete Dict,
 * or NULL after an error. */
TNB_EXPORT const tn_node *
tn_op_attrs(tn_ctx *ctx, const tn_op *op, const tn_node *given);

/* What `allowed` of a schema says, in words: "at least 1", "a, b or c"; "" when it says nothing. */
TNB_EXPORT const char *
tn_allowed_words(tn_ctx *ctx, const tn_attr_schema *s);
/* Whether a text is empty or among those that `allowed`, "~a|b|c", knows; *near: the nearest of these, NULL if none is near. */
TNB_EXPORT bool
tn_text_is_known(tn_ctx *ctx, const char *allowed, const char *text, const char **near);

#ifdef __cplusplus
}
#endif
#endif
