/* SPDX-License-Identifier: Apache-2.0 */
/* State and parts of source emission. Not installed. How values and memory are represented: tenon/kit/emit_hooks.h. */
#ifndef TENON_KIT_EMIT_PRIVATE_H
#define TENON_KIT_EMIT_PRIVATE_H

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"

struct tnk_source {
    tn_ctx *ctx;
    const tnk_dialect *d;
    const char *plugin; /* that the dialect came with; NULL: none */
    tnb_buf helpers, kernels, last;
    tnb_strmap have;            /* helpers emitted */
    tnb_strmap imported;        /* functions that imported source names */
    const char *const *allowed; /* NULL: everything */
    tnb_strmap used;            /* features */
    uint32_t n_shuffles;        /* helpers of them */
    uint32_t workspaces;        /* of the last kernel */
    bool failed;
};

/* The value of a call of a hook, which a crash is then told with. */
#define TNK_HOOK(source, hook, call) \
    TNB_WITHIN("dialect", (source)->d->base.name, hook, (source)->plugin, call)

/* A text of the dialect's table, none where it has none. */
static inline const char *
tnk_or_none(const char *s)
{
    return s ? s : "";
}

/* ---- emit_types.c ---- */
/* Of indices that helpers take. */
static inline uint8_t
tnk_index_bits(const tnk_emitter *e)
{
    return e->d->no_int64 ? 32 : 64;
}
tnb_dtype
tnk_mask_dtype(uint8_t bits, uint16_t lanes);
/* Whether arithmetic on `d` is the device's own on half. */
bool
tnk_native_half(const tnk_emitter *e, tnb_dtype d);

/* ---- emit_vector.c: how the dialect writes what vectors are made of ---- */
/* In front of an operand and behind it: the same bits as `to`, a vector of as many. */
const char *
tnk_bits_open(tnk_emitter *e, tnb_dtype from, tnb_dtype to);
const char *
tnk_bits_close(tnk_emitter *e, tnb_dtype to);
/* A vector of zeros. */
const char *
tnk_zeros(tnk_emitter *e, tnb_dtype d);
/* "(T){" and "}", around one value for each lane. */
const char *
tnk_make_open(tnk_emitter *e, tnb_dtype d);
const char *
tnk_make_close(tnk_emitter *e);
/* Behind a vector of so many lanes: its lane i, "[3]". */
const char *
tnk_lane(tnk_emitter *e, uint16_t lanes, int i);
/* In front of the two operands of an operation on vectors of `d`, and written between them: "(" and " + "; a parenthesis
 * closes. */
const char *
tnk_op_open(tnk_emitter *e, const char *op, tnb_dtype d);
void
tnk_put_op(tnk_emitter *e, const char *op, tnb_dtype d);
/* In front of a vector of integers: its complement; a parenthesis closes. */
const char *
tnk_not_open(tnk_emitter *e, tnb_dtype d);
/* Whether an access to the vector `d` from element `start` of a buffer's memory on is one of the whole vector. */
bool
tnk_is_whole_access(tnk_emitter *e, const tn_node *buffer, tnb_dtype d, const tn_expr *start);

/* A helper function for a shuffle, (a) or (a, b); NULL: it has no such form. */
const char *
tnk_help_shuffle(tnk_emitter *e, const tn_shuffle *x);

/* The element of vectors side by side at a literal index, a bool as 0 or 1; false: it has no such form. (emit_expr.c) */
bool
tnk_emit_lane(tnk_emitter *e, tn_list vectors, const tn_expr *index);

/* ---- emit_helpers.c: each gives the name of a helper function, emitted at first use ---- */
const char *
tnk_help_broadcast(tnk_emitter *e, tnb_dtype vec);
const char *
tnk_help_ramp(tnk_emitter *e, tnb_dtype vec);
const char *
tnk_help_select(tnk_emitter *e, tnb_dtype vec);
const char *
tnk_help_minmax(tnk_emitter *e, tnb_dtype d, bool max);
const char *
tnk_help_nan_minmax(tnk_emitter *e, tnb_dtype d, bool max);
const char *
tnk_help_int_div(tnk_emitter *e, tnb_dtype scalar, tn_kind kind);
const char *
tnk_help_shift(tnk_emitter *e, tnb_dtype scalar, bool left);
const char *
tnk_help_from_float(tnk_emitter *e, tnb_dtype from, tnb_dtype to);
const char *
tnk_help_strided_load(tnk_emitter *e, tnb_dtype vec, const char *space);
const char *
tnk_help_pair_load(tnk_emitter *e, tnb_dtype vec);
const char *
tnk_help_gather(tnk_emitter *e, tnb_dtype vec, const char *space);
const char *
tnk_help_strided_store(tnk_emitter *e, tnb_dtype vec, const char *space);
const char *
tnk_help_scatter(tnk_emitter *e, tnb_dtype vec, const char *space);
/* To the storage of a float of 16 bits or less, scalar or vector. */
const char *
tnk_help_narrow(tnk_emitter *e, tnb_dtype small);
/* ---- emit_small.c ---- */
/* From the storage of a float of 8 bits or less. */
const char *
tnk_help_widen_small(tnk_emitter *e, tnb_dtype small);
/* To the range of an integer of less than 8 bits. */
const char *
tnk_help_wrap(tnk_emitter *e, tnb_dtype d);
/* Memory in which elements of `bits` are packed: (pointer, place), (pointer, place, value); places
 * are int64, values uint8. */
const char *
tnk_help_packed_load(tnk_emitter *e, uint8_t bits, uint16_t lanes, const char *space);
const char *
tnk_help_packed_store(tnk_emitter *e, uint8_t bits, uint16_t lanes, const char *space);

/* ---- emit_math.c ---- */
/* What the dialect calls a function; NULL: nothing of its own. */
const char *
tnk_own_name(const tnk_emitter *e, tn_intrin_id op);
/* The function for an intrinsic on compute dtype d (scalar or vector); NULL if there is none. */
const char *
tnk_math_function(tnk_emitter *e, tn_intrin_id op, tnb_dtype d, int n_args);

/* ---- emit_expr.c ---- */
/* As tnk_emit_expr, of x's own type: literals are ints for the language. */
void
tnk_emit_whole(tnk_emitter *e, const tn_expr *x);
/* From here on the variable has this value. */
void
tnk_note_data(tnk_emitter *e, const tn_expr *var, const tn_expr *value);

void
tnk_float_literal(tnk_emitter *e, tnb_dtype d, double v);

static inline void
put(tnk_emitter *e, const char *s)
{
    tnb_buf_puts(e->out, s);
}

static inline void
ex(tnk_emitter *e, const tn_expr *x)
{
    tnk_emit_expr(e, x);
}

/* "f(a, b)" */
static inline void
call2(tnk_emitter *e, const char *f, const tn_expr *a, const tn_expr *b)
{
    tnb_buf_printf(e->out, "%s(", f);
    ex(e, a);
    put(e, ", ");
    ex(e, b);
    put(e, ")");
}

static inline tnb_dtype
with_lanes(tnb_dtype d, uint16_t lanes)
{
    d.lanes = lanes;
    return d;
}

static inline bool
is_bool_vector(const tn_expr *x)
{
    tnb_dtype d = tn_dtype_of(x);
    return d.code == TNB_BOOL && d.lanes > 1;
}

/* ---- emit_access.c ---- */
void
tnk_emit_load(tnk_emitter *e, const tn_buffer_load *l);
void
tnk_emit_store(tnk_emitter *e, const tn_buffer_store *s);
/* The elements as stored, of dtype s. */
void
tnk_emit_raw_load(tnk_emitter *e, const tn_buffer_load *l, tnb_dtype s);
/* Whether the value of a small float can be had as it lies in memory: moved, not computed. */
bool
tnk_is_moved(tnk_emitter *e, const tn_expr *x);
void
tnk_emit_moved(tnk_emitter *e, const tn_expr *x);
/* Behind `front` the place of an element in memory, or the address of it; false, with nothing written: it has none. */
bool
tnk_emit_place(tnk_emitter *e, const tn_buffer_load *l, const char *front);
/* The address of an element, or of what a pointer intrinsic says; false: x is neither, or in no memory that has one. */
bool
tnk_emit_pointer(tnk_emitter *e, const tn_expr *x);

/* ---- emit_dot.c ---- */
/* T.dp4a */
void
tnk_emit_dot(tnk_emitter *e, const tn_call *c);

/* ---- emit_half.c ---- */
/* "+" for an addition that the device does on half; NULL for what it does not. */
const char *
tnk_half_operator(const tnk_emitter *e, const tn_expr *x);
/* A float16 as a half, where others are floats. */
void
tnk_emit_half(tnk_emitter *e, const tn_expr *x);

/* ---- emit_mask.c ---- */
/* A vector of bools as integers of `bits`, 0 or -1. */
void
tnk_emit_mask(tnk_emitter *e, const tn_expr *x, uint8_t bits);
/* "<" of TN_KIND_LT. */
const char *
tnk_compare_op(unsigned kind);
/* What masks are combined with to leave their lowest bits. */
const char *
tnk_one_mask(tnk_emitter *e, tnb_dtype mask);

/* ---- emit_cast.c ---- */
void
tnk_emit_cast(tnk_emitter *e, const tn_expr *x);
void
tnk_emit_reinterpret(tnk_emitter *e, const tn_call *c);

/* ---- emit_call.c ---- */
/* "isnan", "isinf", "isfinite" */
const char *
tnk_class_test(tn_intrin_id id);
void
tnk_emit_call(tnk_emitter *e, const tn_expr *x);

/* ---- emit_index.c ---- */
/* Finds the checks of the kernel at hand; false: it has none. */
bool
tnk_index_begin(tnk_emitter *e);
/* A call of T.index_in. */
void
tnk_emit_index(tnk_emitter *e, const tn_call *c);

/* ---- emit_stmt.c ---- */
void
tnk_emit_kernel(tnk_emitter *e);
/* ---- emit_memory.c: which temporaries are registers, on the stack, in the workspace ---- */
typedef struct tnk_temporary {
    const tn_node *buffer;
    tnk_memory *memory;
    const tn_expr *size; /* elements, in terms of the kernel's scalars */
    int64_t fixed;       /* the same as a number; -1: not constant */
    bool workspace;      /* else registers or stack */
    bool per_thread;     /* allocated inside of a parallel loop */
} tnk_temporary;
typedef struct tnk_temporaries {
    TNB_VEC(tnk_temporary) v;
} tnk_temporaries;
/* Memory that the threads of a block share. */
bool
tnk_is_shared(const tn_node *buffer);
bool
tnk_plan_temporaries(tnk_emitter *e, tnk_temporaries *t);

#endif
