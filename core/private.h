/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the core share and nobody else sees: the context's insides, making nodes, field
 * access by the table of kinds.
 */
#ifndef TENON_CORE_PRIVATE_H
#define TENON_CORE_PRIVATE_H

#include "tenon/core/pass.h"
#include "tenon/core/builder.h"
#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

/* A set of things found by hash and compared by a function: interned texts, nodes, places. */
typedef struct tn_intern {
    const void **at;
    uint64_t *hash;
    uint32_t n, n_slots; /* slots: 0 or a power of two, at least twice n */
} tn_intern;
typedef bool (*tn_same_fn)(const void *stored, const void *key, size_t extra);
const void *
tn_intern_find(const tn_intern *t, uint64_t hash, tn_same_fn same, const void *key, size_t extra);
bool
tn_intern_add(tn_intern *t, uint64_t hash, const void *item); /* false without memory */
void
tn_intern_free(tn_intern *t);

typedef struct tn_owned {
    void *p;
    void (*release)(void *);
} tn_owned;

typedef struct tn_user {
    const void *key;
    void *value;
} tn_user;

/* One for a context and its children. */
typedef struct tn_limits {
    _Atomic uint64_t most[TN_N_LIMITS], taken[TN_N_LIMITS];
} tn_limits;

/* A list that tn_list_append made with room for more. Only who holds all that is in it so far may
 * add to it in place, so that what others hold never changes. */
struct grown {
    const tn_node **at;
    uint32_t n, cap;
    const tnb_arena *arena;
};

/* What the verifier has found right, until compaction frees nodes: the last module; calls, each with the tensor program that it fits, or
 * with itself. What is checked of such a call depends on nothing but the two. */
typedef struct tn_found_right {
    const tn_module *module;
    tnb_arena *arena; /* NULL: no call yet */
    tnb_ptrmap calls;
} tn_found_right;
void
tn_forget_right(tn_ctx *ctx);

struct tn_ctx {
    const tn_ctx *parent;      /* of a child context; its tables are read, never changed */
    tnb_arena *perm;           /* interned texts, nodes, places; constants' descriptions */
    tnb_arena *arena;          /* everything else that is IR */
    TNB_VEC(tnb_arena *) kept; /* what it was before; compaction leaves it alone */
    tnb_arena *scratch;
    tnb_diags *diags;
    uint64_t memory_failures; /* of the process, before */
    tn_registry *reg;
    bool own_reg;
    tn_intern strings, nodes, places;
    /* What is asked for most, found without the table: types of scalars by their dtype, small literals, references to operators */
    const tn_type *prims[32], *any;
    const tn_node *literals[256], *op_refs[128];
    tn_found_right right;
    TNB_VEC(tnb_place) locs; /* tn_loc - 1 - first_loc indexes it */
    uint32_t first_loc;
    tn_loc at;
    struct {
        const char *file, *text;
        size_t n;
    } * sources;
    uint32_t n_sources, cap_sources;
    TNB_VEC(tn_owned) owned;
    TNB_VEC(tn_user) users; /* few */
    TNB_VEC(const tn_data *) datas;
    /* In a round trip through text: "hash dtype extents" of the constants printed -> tn_data, which
     * the reader then has at hand; else NULL. */
    tnb_strmap *printed;
    tn_assumptions
        *recorder; /* of what inference takes for granted; NULL: nobody asked (assume.c) */
    tn_node error_node;
    struct grown grown[8];
    uint32_t next_grown;
    tn_limits own_limits, *limits; /* those of the context without a parent */
    tnb_arena *pool[4];            /* idle arenas */
    uint32_t n_pool;
};

void
tn_data_free_all(tn_ctx *ctx);

typedef TNB_VEC(const tn_node *) tn_node_vec;

/* An empty arena for one piece of work, and back again; taken from and returned to a small pool. */
tnb_arena *
tn_borrow_arena(tn_ctx *ctx); /* NULL without memory */
void
tn_return_arena(tn_ctx *ctx, tnb_arena *a);

/* tn_verify for a module made from `before` (NULL: none), which was found right. */
uint32_t
tn_verify_since(tn_ctx *ctx, const tn_module *before, const tn_module *m);

/* Makes everything of the context outlive compactions: it gets a new arena. Without memory nothing
 * happens and false is returned. */
bool
tn_keep(tn_ctx *ctx);
/* Copies what of `m` was made since tn_keep into a new arena and frees the rest of what was made
 * since then. The caller holds no such node that is not interned. */
const tn_module *
tn_compact(tn_ctx *ctx, const tn_module *m);

/* Variables that stand alone as an extent in a type, in order of first occurrence: what a parameter
 * or match_cast of this type defines. */
tn_list
tn_symbols_of_type(tn_ctx *ctx, const tn_type *t);

/* ---- hashing ---- */
static inline uint64_t
tn_mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 33);
}
static inline uint64_t
tn_mix_dtype(uint64_t h, tnb_dtype d)
{
    return tn_mix(h, (uint64_t)d.code | (uint64_t)d.bits << 8 | (uint64_t)d.lanes << 16);
}
uint64_t
tn_hash_bytes(const void *p, size_t n);

/* ---- fields by table ---- */
static inline const void *
tn_field_at(const tn_node *n, const tn_field *f)
{
    return (const char *)n + f->offset;
}
static inline const tn_node *
tn_field_node(const tn_node *n, const tn_field *f)
{
    return *(const tn_node *const *)tn_field_at(n, f);
}
static inline tn_list
tn_field_list(const tn_node *n, const tn_field *f)
{
    return *(const tn_list *)tn_field_at(n, f);
}
/* Room for a copy of any node. */
typedef union tn_any_node {
    tn_node base;
#define TN_K(kind, name)
#define TN_F(sname, ftype, field)
#define TN_STRUCT(name, fields) tn_##name as_##name;
#include "tenon/core/nodes.def"
#undef TN_STRUCT
#undef TN_F
#undef TN_K
} tn_any_node;

/* ---- making nodes ---- */
/* A node of `kind` with the given fields (base ignored but for the location, 0: the current one).
 * Sets flags, interns what is interned. With `copy_lists` the entries of lists are copied, else
 * they must already live in the context's arena. Depth is checked. `type` is stored as it is. */
const tn_node *
tn_make(tn_ctx *ctx, tn_kind kind, const void *fields, const tn_type *type, bool copy_lists);
/* The type that an expression with these fields has; NULL for kinds without one; the error node
 * after recording what is wrong. `n->kind` is set, `n->type` not read unless the kind keeps its
 * type (Var ...). */
const tn_type *
tn_infer(tn_ctx *ctx, const tn_node *n);
/* True if one of the operands is the error node; a missing operand is recorded as an error. */
bool
tn_bad(tn_ctx *ctx, const tn_node *n);
bool
tn_bad_list(tn_ctx *ctx, tn_list l); /* entries may be NULL */
/* Whether the known extents alone are more than a tensor can have; an error then says it of `what`. */
bool
tn_bad_extents(tn_ctx *ctx, tn_list dims, const char *what);
/* NULL for an empty Dict. */
const tn_node *
tn_norm_dict(const tn_node *d);
tn_list
tn_merge_blocks(tn_ctx *ctx, tn_list blocks);
bool
tn_is_dict_or_null(tn_ctx *ctx, const tn_node *d, const char *what);

/* `args` of a structural operator with those that were left out (device, scope) filled in. */
tn_list
tn_complete_args(tn_ctx *ctx, const tn_op *op, tn_list args);
/* The i-th of the legalizers that an operator's plugin and a target's have both, without a promise that would say which comes first
 * (core/registry.c): "op@target". False past the end. */
bool
tn_legalizers_clash(const tn_registry *r, uint32_t i, const char **name, const char *plugins[2]);
/* Reports that the registry has no such name, as `err` says; the error node. */
const tn_node *
tn_missing(tn_ctx *ctx, const char *kind, const char *name, const tnb_err *err);

#define TN_MAKE(ctx, kind, sname, type, ...) \
    tn_make((ctx), (kind), &(tn_##sname){.base = {0}, __VA_ARGS__}, (type), true)

/* Call types (core/infer_call.c). */
const tn_type *
tn_infer_call(tn_ctx *ctx, const tn_call *call);

/* Where elements that are made up for a parameter have to lie (core/argument_range.c): lo <= x < hi, and below `extent` (NULL: no such
 * bound). */
typedef struct tn_value_range {
    bool has_lo, has_hi;
    double lo, hi;
    const tn_expr *extent;
} tn_value_range;
tn_value_range
tn_param_range(tn_ctx *ctx, const tn_function *f, const tn_expr *param);

/* The unique-looking text of a node for a message. */
const char *
tn_brief(tn_ctx *ctx, const tn_node *n);

#endif
