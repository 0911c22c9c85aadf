/* SPDX-License-Identifier: Apache-2.0 */
/* A lowered kernel in the order in which it runs, value by value: for generators that write no C, such as a binary format (SPIR-V) or
 * another syntax (WGSL). A visitor is a table of functions; each is given what its operands became, and gives what its result is called:
 *
 *     B[i] = A[i] + 1      i = thread(...); a = load(A, i); one = constant(1); s = binary(Add, a, one); store(B, i, s)
 *
 * Operands come before what uses them, and what is visited within a loop or a branch is not used behind it: names may be those of a
 * form with one assignment each. What is lazy (if_then_else, and conditions that must not read further) comes as a branch with a
 * result. The C family has no use for it: there an operand is written within the text of what uses it, in a form that the use asks
 * for (a vector of bools as wide as what it selects, a float16 as it lies in memory), which is known from above only.
 */
#ifndef TENON_KIT_VISIT_H
#define TENON_KIT_VISIT_H

#include "tenon/kit/codegen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the visitor calls a value or memory; its own numbers, but 0: after 0 the kernel is given up, and the visitor has recorded why
 * (tnk_visit_fail). Functions without a result do the same by `failed`. */
typedef uint32_t tnk_id;

typedef enum tnk_room {
    TNK_ROOM_PARAM,  /* the caller's */
    TNK_ROOM_SHARED, /* of the threads of a block */
    TNK_ROOM_LOCAL   /* of one thread */
} tnk_room;

/* Memory of a kernel; buffers that share their data are one. */
typedef struct tnk_place {
    const tn_node *buffer; /* flat, one dimension */
    tnk_room room;
    const tnk_param *param; /* TNK_ROOM_PARAM */
    int64_t elements;       /* of the other rooms: a constant */
    tnk_id id;
} tnk_place;

typedef struct tnk_visitor tnk_visitor;
/* Members may be NULL: a kernel that needs one is refused, with a message that says what has no form. */
typedef struct tnk_visits {
    uint32_t size;
    const char *what; /* is written, in messages: "SPIR-V" */
    /* ---- before the body: each memory, then each scalar parameter ---- */
    tnk_id (*memory)(tnk_visitor *v, const tnk_place *p);
    tnk_id (*scalar)(tnk_visitor *v, const tnk_param *p);
    /* ---- values; x is the expression, whose dtype tn_dtype_of gives ---- */
    tnk_id (*constant)(tnk_visitor *v, const tn_expr *x); /* IntImm, FloatImm */
    /* The index of a thread in its block, or of a block in the grid, as a value of the dtype. */
    tnk_id (*thread)(tnk_visitor *v, tnb_dtype d, bool is_block, int dim);
    tnk_id (*cast)(tnk_visitor *v, const tn_expr *x, tnk_id a);
    tnk_id (*not_)(tnk_visitor *v, const tn_expr *x, tnk_id a);
    tnk_id (*binary)(tnk_visitor *v, const tn_expr *x, tnk_id a, tnk_id b);
    tnk_id (*select)(tnk_visitor *v, const tn_expr *x, tnk_id cond, tnk_id a, tnk_id b);
    tnk_id (*broadcast)(tnk_visitor *v, const tn_expr *x, tnk_id a);
    tnk_id (*ramp)(tnk_visitor *v, const tn_expr *x, tnk_id start, tnk_id stride);
    /* x's indices, which are numbers, say which lanes of the vectors put together are taken; a vector of one lane is a scalar. */
    tnk_id (*shuffle)(tnk_visitor *v, const tn_expr *x, const tnk_id *vectors, uint32_t n);
    /* atomic_and, atomic_or on an element: what it was. */
    tnk_id (*atomic)(tnk_visitor *v, const tn_call *x, const tnk_place *p, tnk_id at,
                     tnk_id operand);
    /* One element, or as many neighbours from `at` on as x has lanes. */
    tnk_id (*load)(tnk_visitor *v, const tn_expr *x, const tnk_place *p, tnk_id at);
    /* An intrinsic (tn_intrin_of) or a plugin's; operands that are texts have the id 0. */
    tnk_id (*call)(tnk_visitor *v, const tn_call *x, const tnk_id *args, uint32_t n);
    /* x is one of two, of which only one is computed: begin, what the first needs, other(first), what the second needs,
     * end(second), which gives the result. */
    void (*choice_begin)(tnk_visitor *v, const tn_expr *x, tnk_id cond);
    void (*choice_other)(tnk_visitor *v, const tn_expr *x, tnk_id first);
    tnk_id (*choice_end)(tnk_visitor *v, const tn_expr *x, tnk_id second);
    /* ---- statements ---- */
    void (*store)(tnk_visitor *v, const tn_stmt *s, const tnk_place *p, tnk_id at, tnk_id value);
    void (*barrier)(tnk_visitor *v, const char *scope); /* "shared", ... */
    void (*if_begin)(tnk_visitor *v, const tn_stmt *s, tnk_id cond);
    void (*if_else)(tnk_visitor *v, const tn_stmt *s); /* not called where there is none */
    void (*if_end)(tnk_visitor *v, const tn_stmt *s);
    /* Gives the loop's variable. `end`: behind the last iteration. */
    tnk_id (*loop_begin)(tnk_visitor *v, const tn_for_loop *f, tnk_id from, tnk_id end);
    void (*loop_end)(tnk_visitor *v, const tn_for_loop *f);
    /* begin, what the condition needs, test(cond), the body, end */
    void (*while_begin)(tnk_visitor *v, const tn_stmt *s);
    void (*while_test)(tnk_visitor *v, const tn_stmt *s, tnk_id cond);
    void (*while_end)(tnk_visitor *v, const tn_stmt *s);
    void (*leave)(tnk_visitor *v, const tn_stmt *s); /* break or continue */
    /* A loop with annotations, as a whole: true, it was written, with tnk_visit_value and tnk_visit_place (or the visitor failed);
     * false: it is visited as all others are. */
    bool (*nest)(tnk_visitor *v, const tn_for_loop *f);
} tnk_visits;

struct tnk_visitor {
    tn_ctx *ctx;
    const tnk_kernel *kernel;
    const tnk_visits *visits;
    void *user;
    bool failed;
};

/* Visits the kernel. False after recording a located error that names it. */
TNB_EXPORT TNB_MUST_CHECK bool
tnk_visit_kernel(tn_ctx *ctx, const tnk_kernel *k, const tnk_visits *visits, void *user);
/* For `nest`: what a value became; 0 after an error. Variables are those that were visited. */
TNB_EXPORT tnk_id
tnk_visit_value(tnk_visitor *v, const tn_expr *x);
/* The same: the memory of a buffer; NULL after an error. */
TNB_EXPORT const tnk_place *
tnk_visit_place(tnk_visitor *v, const tn_node *buffer);
/* Records an error that names the kernel; nothing further is visited. Returns 0. */
TNB_EXPORT tnk_id
tnk_visit_fail(tnk_visitor *v, tn_loc loc, const char *fmt, ...) TNB_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
