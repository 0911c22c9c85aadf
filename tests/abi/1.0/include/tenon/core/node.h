/* SPDX-License-Identifier: Apache-2.0 */
/* IR nodes: structures, kinds, field descriptions, checked down-casts.
 *
 * A node is immutable once built and lives in the arena of its context. One base structure serves
 * all kinds; the aliases tn_expr, tn_stmt, tn_type only say what is meant. tn_as_call(n) gives the
 * node as its structure, or NULL if it is of another one.
 */
#ifndef TENON_CORE_NODE_H
#define TENON_CORE_NODE_H

#include "tenon/base/dtype.h"
#include "tenon/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_ctx tn_ctx;
typedef struct tn_op tn_op;
typedef struct tn_data tn_data;
typedef struct tn_node tn_node;
typedef tn_node tn_expr; /* a graph or scalar expression; `type` is set */
typedef tn_node tn_type;
typedef tn_node tn_stmt;

typedef uint32_t tn_loc; /* an interned location of the context; 0: unknown */

struct tn_node {
    uint16_t kind;  /* tn_kind */
    uint16_t flags; /* TN_FLAG_* */
    tn_loc loc;
    const tn_type *type; /* of expressions; NULL for types, statements and the rest */
};

/* Set by constructors. CLOSED: no variable occurs in the node (so substitution may skip it).
 * INTERNED: identity is equality (only together with CLOSED). */
enum { TN_FLAG_CLOSED = 1, TN_FLAG_INTERNED = 2, TN_DEPTH_SHIFT = 4, TN_MAX_DEPTH = 2000 };

/* Levels of nodes below `n`, itself included. Constructors refuse what is deeper than TN_MAX_DEPTH,
 * so that traversals may recurse. */
#define TN_DEPTH(n) ((uint32_t)((n)->flags >> TN_DEPTH_SHIFT))

typedef struct tn_list {
    const tn_node *const *at;
    uint32_t n;
} tn_list;

typedef enum tn_kind {
#define TN_STRUCT(name, fields)
#define TN_F(name, type, field)
#define TN_K(kind, name) TN_KIND_##kind,
#include "tenon/core/nodes.def"
#undef TN_K
#undef TN_STRUCT
#undef TN_F
    TN_KIND_COUNT,
    TN_KIND_FIRST_TYPE = TN_KIND_TY_ANY,
    TN_KIND_LAST_TYPE = TN_KIND_TY_FUNC,
    TN_KIND_FIRST_EXPR = TN_KIND_VAR,
    TN_KIND_LAST_EXPR = TN_KIND_FUNCTION,
    TN_KIND_FIRST_SCALAR = TN_KIND_CAST, /* kinds that are scalar whatever their type */
    TN_KIND_LAST_SCALAR = TN_KIND_BUFFER_LOAD,
    TN_KIND_FIRST_BINARY = TN_KIND_ADD,
    TN_KIND_LAST_BINARY = TN_KIND_OR,
    TN_KIND_FIRST_STMT = TN_KIND_BUFFER_STORE,
    TN_KIND_LAST_STMT = TN_KIND_BLOCK_REALIZE
} tn_kind;

/* structures */
#define TN_FT_NODE const tn_node *
#define TN_FT_DEF const tn_node *
#define TN_FT_LIST tn_list
#define TN_FT_DEFS tn_list
#define TN_FT_STR const char *
#define TN_FT_NAME const char *
#define TN_FT_INT int64_t
#define TN_FT_FLT double
#define TN_FT_DTYPE tnb_dtype
#define TN_FT_OP const tn_op *
#define TN_FT_DATA const tn_data *
#define TN_F(sname, ftype, field) TN_FT_##ftype field;
#define TN_K(kind, name)
#define TN_STRUCT(name, fields) \
    typedef struct tn_##name {  \
        tn_node base;           \
        fields                  \
    } tn_##name;
#include "tenon/core/nodes.def"
#undef TN_STRUCT
#undef TN_F
#undef TN_K

/* which structure a kind has */
typedef enum tn_struct_id {
#define TN_STRUCT(name, fields) TN_STRUCT_##name,
#define TN_F(sname, ftype, field)
#define TN_K(kind, name)
#include "tenon/core/nodes.def"
#undef TN_STRUCT
#undef TN_F
#undef TN_K
    TN_STRUCT_COUNT
} tn_struct_id;

typedef enum tn_field_type {
    TN_FIELD_NODE,
    TN_FIELD_DEF,
    TN_FIELD_LIST,
    TN_FIELD_DEFS,
    TN_FIELD_STR,
    TN_FIELD_NAME,
    TN_FIELD_INT,
    TN_FIELD_FLT,
    TN_FIELD_DTYPE,
    TN_FIELD_OP,
    TN_FIELD_DATA
} tn_field_type;

typedef struct tn_field {
    const char *name;
    uint16_t offset; /* in the structure */
    uint16_t type;   /* tn_field_type */
} tn_field;

typedef struct tn_kind_info {
    const char *name; /* "FLOOR_DIV" */
    uint16_t struct_id, size, n_fields;
    const tn_field *fields;
} tn_kind_info;

TNB_EXPORT extern const tn_kind_info tn_kinds[TN_KIND_COUNT];

/* checked down-casts: tn_as_call(n) etc.; NULL in, NULL out */
#define TN_F(sname, ftype, field)
#define TN_K(kind, name)
#define TN_STRUCT(name, fields)                                                                    \
    static inline const tn_##name *tn_as_##name(const tn_node *n)                                  \
    {                                                                                              \
        return n && tn_kinds[n->kind].struct_id == TN_STRUCT_##name ? (const tn_##name *)n : NULL; \
    }
#include "tenon/core/nodes.def"
#undef TN_STRUCT
#undef TN_F
#undef TN_K

#define TN_NODE(p) (&(p)->base)

static inline bool
tn_is(const tn_node *n, tn_kind k)
{
    return n && n->kind == (uint16_t)k;
}
static inline bool
tn_is_type(const tn_node *n)
{
    return n && n->kind >= TN_KIND_FIRST_TYPE && n->kind <= TN_KIND_LAST_TYPE;
}
static inline bool
tn_is_stmt(const tn_node *n)
{
    return n && n->kind >= TN_KIND_FIRST_STMT && n->kind <= TN_KIND_LAST_STMT;
}
static inline bool
tn_is_binary(const tn_node *n)
{
    return n && n->kind >= TN_KIND_FIRST_BINARY && n->kind <= TN_KIND_LAST_BINARY;
}
static inline bool
tn_is_var(const tn_node *n) /* Var or DataflowVar */
{
    return n && (n->kind == TN_KIND_VAR || n->kind == TN_KIND_DATAFLOW_VAR);
}
static inline bool
tn_is_error(const tn_node *n)
{
    return n && n->kind == TN_KIND_ERROR;
}
/* A scalar expression: its type is Prim or Ptr. A Prim-typed Var is a graph and a scalar
 * expression. */
static inline bool
tn_is_scalar(const tn_node *n)
{
    return n && n->type && (n->type->kind == TN_KIND_TY_PRIM || n->type->kind == TN_KIND_TY_PTR);
}
/* The dtype of a scalar expression; handle for pointers; void for anything else. */
static inline tnb_dtype
tn_dtype_of(const tn_node *n)
{
    if (!n || !n->type)
        return TNB_VOID;
    if (n->type->kind == TN_KIND_TY_PRIM)
        return ((const tn_ty_prim *)n->type)->dtype;
    return n->type->kind == TN_KIND_TY_PTR ? TNB_DTYPE(TNB_HANDLE, 64) : TNB_VOID;
}
/* True and the value for an integer (or bool) literal. */
static inline bool
tn_int_value(const tn_node *n, int64_t *v)
{
    if (!tn_is(n, TN_KIND_INT_IMM))
        return false;
    *v = ((const tn_int_imm *)n)->value;
    return true;
}
static inline bool
tn_is_int_const(const tn_node *n, int64_t v)
{
    return tn_is(n, TN_KIND_INT_IMM) && ((const tn_int_imm *)n)->value == v;
}

/* ORDER FOR_KIND, ORDER ITER_KIND: the printer's tables follow. */
typedef enum tn_for_kind {
    TN_FOR_SERIAL,
    TN_FOR_PARALLEL,
    TN_FOR_VECTORIZED,
    TN_FOR_UNROLLED,
    TN_FOR_THREAD_BINDING
} tn_for_kind;
typedef enum tn_iter_kind {
    TN_ITER_SPATIAL,
    TN_ITER_REDUCE,
    TN_ITER_SCAN,
    TN_ITER_OPAQUE,
    TN_ITER_THREAD
} tn_iter_kind;

#ifdef __cplusplus
}
#endif
#endif
