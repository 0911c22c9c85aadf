/* SPDX-License-Identifier: Apache-2.0 */
/* The mutable tree behind a schedule, and what the primitives share. Not installed. */
#ifndef TENON_KIT_SCHEDULE_PRIVATE_H
#define TENON_KIT_SCHEDULE_PRIVATE_H

#include "tenon/core/arith.h"
#include "tenon/core/pass.h"
#include "tenon/core/walk.h"
#include "tenon/kit/schedule.h"

typedef enum tnk_item_kind { TNK_ITEM_ROOT, TNK_ITEM_LOOP, TNK_ITEM_BLOCK } tnk_item_kind;

typedef TNB_VEC(tnk_item *) tnk_items;

struct tnk_item {
    tnk_item_kind kind;
    tnk_item *parent;
    tnk_items children;
    tn_loc loc;
    /* loops */
    const tn_expr *var, *min, *extent;
    tn_for_kind for_kind;
    const char *thread_tag;
    const tn_node *annotations;
    /* blocks */
    const tn_block *block;
    const tn_expr **values; /* of the iterators */
    const tn_expr *predicate;
    /* what `known` does with buffers and pointers; of the block as long as it is `known` */
    const tn_block *known;
    tnb_ptrmap *access;
};

struct tnk_sch {
    tn_ctx *ctx;
    const tn_prim_func *func;
    const tn_prim_func *collapsed; /* what func was before tnk_collapse_dims; NULL: the same */
    uint32_t collapsed_at;         /* and the dimension that it was about */
    tnk_item *root;
    const tn_block *root_block; /* NULL: the function had none */
    TNB_VEC(const tn_node *) allocs;
    TNB_VEC(const tn_module *) intrinsics; /* of tnk_sch_intrinsics */
    tn_list sizes;                         /* tnk_sizes_of */
    bool broken, quiet;
    tnb_buf trace;
};

/* Records an error and breaks the schedule; always false. */
bool
tnk_sch_fail(tnk_sch *s, const tnk_item *at, const char *primitive, const char *fmt, ...)
    TNB_PRINTF(4, 5);
/* Adds a line to the trace. */
void
tnk_sch_note(tnk_sch *s, const char *fmt, ...) TNB_PRINTF(2, 3);
/* How a trace names a block ("T_matmul", or "T_matmul#1" for the second one of that name), a loop
 * ("T_matmul, ax0": the loop ax0 around that block) and a buffer (of a block, or allocated in the
 * function). The tree has to be as it was before the primitive. */
const char *
tnk_ref(tnk_sch *s, const tnk_item *i);
/* Several loops of one chain: "T_matmul, ax0, ax1". */
const char *
tnk_ref_loops(tnk_sch *s, tnk_item *const *loops, uint32_t n);
/* A number, text or list; None for NULL. */
const char *
tnk_ref_value(tnk_sch *s, const tn_node *value);
/* An index expression as a trace writes it: names, integers, + - * // %. */
const char *
tnk_ref_index(tnk_sch *s, const tn_expr *e);
/* The buffers that a block reads and writes, each once; the count. */
uint32_t
tnk_block_buffers(const tnk_item *block, const tn_node **out, uint32_t max);
const char *
tnk_ref_buffer(tnk_sch *s, const tnk_item *block, const tn_node *buffer);
/* Makes the tree of a function, in place of the one before. */
bool
tnk_sch_read(tnk_sch *s, const tn_prim_func *func);
/* The scheduled function with the parameters that it had before tnk_collapse_dims. */
const tn_node *
tnk_expand_dims(tnk_sch *s, const tn_node *func);
tnk_item *
tnk_item_new(tnk_sch *s, tnk_item_kind kind, tnk_item *parent);
uint32_t
tnk_item_index(const tnk_item *i); /* among the children of its parent */
void
tnk_item_insert(tnk_sch *s, tnk_item *parent, uint32_t at, tnk_item *child);
/* Takes it out of the tree, and loops that become empty. */
void
tnk_item_remove(tnk_item *i);
void
tnk_item_replace(tnk_item *old, tnk_item *by);
bool
tnk_item_contains(const tnk_item *ancestor, const tnk_item *i);
/* Calls fn for each block below. */
void
tnk_each_block(tnk_item *i, void (*fn)(tnk_item *block, void *user), void *user);
/* Replaces a loop variable in everything below `i`. */
void
tnk_item_subst(tnk_sch *s, tnk_item *i, const tn_expr *var, const tn_expr *value);
/* Adds a condition to the predicates of all blocks in `i`. */
void
tnk_item_guard(tnk_sch *s, tnk_item *i, const tn_expr *cond);
/* An analyzer that knows which variables are never negative, and the ranges of the loops around `i`, but not of
 * `i` itself: that a loop runs at all is known within it alone. */
tn_arith *
tnk_sch_arith(tnk_sch *s, const tnk_item *i);
/* ... and of the loop `i`. */
tn_arith *
tnk_sch_arith_in(tnk_sch *s, const tnk_item *i);
/* Replaces the block of an item; reads and writes are found again. */
void
tnk_block_set(tnk_sch *s, tnk_item *i, const tn_block *fields);
/* Whether memory of this scope is one for all turns of a loop bound to `tag` (NULL: not bound, so
 * false): "shared" is for threadIdx.x, "local" for none. */
bool
tnk_scope_spans(const char *scope, const char *tag);

/* What blocks touch of a buffer in one turn of `loop`, joined: inclusive bounds in each dimension. */
typedef struct tnk_touched {
    const tn_node *buffer;
    const tnk_item *loop;
    bool by_all_threads; /* of memory that threads share, what all of them touch */
    bool any;
    uint32_t rank;
    const tn_expr **lo, **hi;
} tnk_touched;
/* Adds what a block in the loop loads (or stores). `arith` knows the loop. False: not known. */
bool
tnk_touch(tnk_sch *s, tn_arith *arith, tnk_touched *t, const tnk_item *block, bool stores);

/* A block on its way into another loop; see move.c. */
typedef struct tnk_move {
    tnk_sch *s;
    tn_arith *arith; /* knows the new place; learns the ranges of the new loops */
    tnk_item *block, *top, *innermost;
    const tn_expr **values, *predicate;
    bool hide_units; /* values do not use loops of one turn */
} tnk_move;
void
tnk_move_begin(tnk_move *m, tnk_sch *s, tn_arith *arith, tnk_item *block, bool hide_units);
/* The next loop inwards: iterator k runs over start .. start + extent - 1, of which the part in its
 * domain counts. */
tnk_item *
tnk_move_iter(tnk_move *m, uint32_t k, const tn_expr *start, const tn_expr *extent);
/* Puts the block with its loops at that place among what `loop` holds. */
void
tnk_move_end(tnk_move *m, tnk_item *loop, uint32_t at);

/* Whether the block stores every element of `buffer`: at iterators that run over all of it. */
bool
tnk_block_fills(tnk_sch *s, const tnk_item *block, const tn_node *buffer);

/* From idx[i] = outs[i], over 0 <= vars[k] < extents[k], the variables: true if the indices tell
 * them. plain: the indices are the variables in some order, besides constants and variables of one
 * value. */
bool
tnk_index_inverse(tnk_sch *s, const tn_expr *const *idx, uint32_t m, const tn_expr *const *vars,
                  const tn_expr *const *extents, uint32_t n, const tn_expr *const *outs,
                  const tn_expr **inverse, bool *plain);
/* The outermost loop of a block that has a serial loop of its own for each iterator, in any order,
 * no predicate and nothing else around or beside it; NULL: it is not so. */
tnk_item *
tnk_block_own_nest(tnk_sch *s, const tnk_item *block);
/* Whether a block holds other blocks. */
bool
tnk_block_is_nest(const tn_block *b);

/* Whether it, or a block in it, matches a part of the buffer; whether it writes the buffer. */
bool
tnk_block_matches(const tn_block *b, const tn_node *buffer);
bool
tnk_block_writes(const tn_block *b, const tn_node *buffer);

/* C[idx] = identity; C[idx] = C[idx] op value, with an op whose order does not matter. */
typedef struct tnk_reducer {
    tn_kind op; /* TN_KIND_ADD, MUL, MIN, MAX */
    const tn_expr *identity, *value;
    const tn_buffer_store *store;
} tnk_reducer;
/* False: the block is no such reduction. out may be NULL. */
bool
tnk_block_reducer(tnk_sch *s, const tnk_item *block, tnk_reducer *out);

/* One store in loops of constant extents that begin at 0: what a nest computes, where that is so. */
enum { TNK_FORM_LOOPS = 16, TNK_FORM_PARTS = 16 };
typedef struct tnk_nest_form {
    const tn_expr *vars[TNK_FORM_LOOPS]; /* outermost first; none of extent 1 */
    int64_t extents[TNK_FORM_LOOPS];
    uint32_t n;
    bool ordered; /* no block says that the order of the turns is free */
    const tn_buffer_store *store;
} tnk_nest_form;
/* NULL, or why the nest is none such. */
const char *
tnk_nest_form_of(tn_ctx *ctx, const tn_stmt *body, tnk_nest_form *out);

/* Buffer `of` of a meaning is the part of `is` that begins at base; it lacks the first `lead`
 * dimensions. */
typedef struct tnk_part {
    const tn_node *of, *is;
    const tn_expr **base;
    uint32_t lead;
} tnk_part;
/* Whether a nest computes what another one means; see tensor_match.c. */
typedef struct tnk_match {
    tn_ctx *ctx;
    tn_arith *arith; /* knows what the nest stands in */
    tnk_nest_form mine, meant;
    /* results */
    uint32_t is[TNK_FORM_LOOPS]; /* loop j of the meaning is loop is[j] of the nest */
    tnk_part parts[TNK_FORM_PARTS];
    struct {
        const tn_expr *of, *is;
    } scalars[TNK_FORM_PARTS];
    uint32_t n, n_scalars;
    /* how far an attempt came, and why the one that came furthest failed */
    uint32_t steps, best;
    const char *why;
} tnk_match;
/* NULL, or where they differ. */
const char *
tnk_match_nests(tnk_match *m);
/* Annotation of a block whose body implements the tensor intrinsic of this name. */
#define TNK_INTRIN_KEY "tensor_intrin"

/* The block's one store, NULL if its body is something else. */
const tn_buffer_store *
tnk_block_store(const tn_block *b);

/* An attribute of PrimFuncs: the trace of the schedules made of it, where it is kept. tnk_sch_finish
 * adds to it if the function has it. */
#define TNK_TRACE_ATTR "tirx.schedule_trace"

extern const tn_pass tnk_pass_apply_default_schedule, tnk_pass_apply_schedule_trace;

/* What a function certainly wrote to its parameters before it was scheduled and certainly does not after; NULL: nothing. See
 * coverage.c. */
const char *
tnk_not_written(tn_ctx *ctx, const tn_node *before, const tn_node *after);

/* ---- shared_memory.c ---- */
/* Whether the shared memory of a scheduled function fits the target, where extents are known at run time alone. */
bool
tnk_shared_memory_fits(const tn_pass_ctx *pc, const tn_target *target, const char *name,
                       const tn_node *func);

/* ---- symbol_bounds.c ---- */
typedef struct tnk_bounds tnk_bounds;
/* What graph functions promise of the symbols of the module's tensor programs; in scratch. */
tnk_bounds *
tnk_bounds_of(tn_ctx *ctx, const tn_module *m);
/* The PrimFunc, one of that module's, with the bounds in its attribute tir_var_upper_bound. */
const tn_node *
tnk_bounds_tell(const tnk_bounds *b, const tn_node *func);

#endif
