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
};

struct tnk_sch {
    tn_ctx *ctx;
    const tn_prim_func *func;
    tnk_item *root;
    const tn_block *root_block; /* NULL: the function had none */
    TNB_VEC(const tn_node *) allocs;
    tn_list symbols;
    bool broken, quiet;
    tnb_buf trace;
};

/* Records an error and breaks the schedule; always false. */
bool
tnk_sch_fail(tnk_sch *s, const tnk_item *at, const char *primitive, const char *fmt, ...)
    TNB_PRINTF(4, 5);
void
tnk_sch_note(tnk_sch *s, const char *fmt, ...) TNB_PRINTF(2, 3);
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
/* An analyzer that knows the function's symbols, and the ranges of the loops around and below `i`.
 */
tn_arith *
tnk_sch_arith(tnk_sch *s, tnk_item *i);
/* Replaces the block of an item; reads and writes are found again. */
void
tnk_block_set(tnk_sch *s, tnk_item *i, const tn_block *fields);
/* The block's one store, NULL if its body is something else. */
const tn_buffer_store *
tnk_block_store(const tn_block *b);

extern const tn_pass tnk_pass_apply_default_schedule;

#endif
