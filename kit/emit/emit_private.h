/* SPDX-License-Identifier: Apache-2.0 */
/* State and parts of source emission. Not installed.
 *
 * Values: a float of 16 bits or less is computed as float32 and rounded where it is stored or cast (where an OpenCL device has
 * half, + - * and / of float16 are computed in that); an integer of less than 8 bits is computed with 8 and wrapped; a bool is an
 * int, a vector of bools a vector of integers that are 0 or -1. Memory: float16 and bfloat16 are uint16_t, bool and float8 are
 * uint8_t, smaller elements are packed in uint8_t; a temporary of the kernel itself is kept as values are, but for floats in
 * shared memory, and float16 that is computed as half.
 */
#ifndef TENON_KIT_EMIT_PRIVATE_H
#define TENON_KIT_EMIT_PRIVATE_H

#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit.h"

struct tnk_source {
    tn_ctx *ctx;
    const tnk_dialect *d;
    tnb_buf helpers, kernels, last;
    tnb_strmap have;            /* helpers emitted */
    tnb_strmap imported;        /* functions that imported source names */
    const char *const *allowed; /* NULL: everything */
    tnb_strmap used;            /* features */
    uint32_t n_shuffles;        /* helpers of them */
    bool failed;
};

/* Memory behind a data pointer. */
typedef struct tnk_memory {
    const char *name;
    const char *space; /* address-space qualifier with its blank; "" where there is none */
    tnb_dtype elem;    /* as stored, lanes 1 */
    uint8_t packed;    /* bits of an element where several share a byte, else 0 */
    bool given;        /* by the host: a parameter */
    bool promoted;     /* variables NAME_0, NAME_1 ... of `lanes` elements each */
    int64_t lanes, count;
    int image; /* 2 or 3: an image, or an array of them; 0: neither */
    bool image_written;
} tnk_memory;

/* A variable that the parts of a kernel may use: "const float *restrict ", "A". */
typedef struct tnk_declared {
    const char *type, *name;
} tnk_declared;

typedef struct tnk_emitter {
    tn_ctx *ctx;
    tnk_source *src;
    const tnk_dialect *d;
    const tnk_kernel *kernel;
    tnb_buf *out;
    tnb_ptrmap names;  /* Var -> C name */
    tnb_ptrmap memory; /* data Var -> tnk_memory */
    tnb_ptrmap data;   /* variables that hold loaded elements, and what is known of expressions */
    tnb_strmap used;   /* C names taken in this kernel */
    int indent;
    bool in_parallel, failed;
    bool stream;         /* vectors are stored past the caches */
    const char *barrier; /* statement of this kernel */
    int64_t warp;        /* threads of the warps that it is written for; 0: for any */
    int64_t block[3];    /* then: its threads */
    uint32_t asserts;
    TNB_VEC(tnk_declared) scope; /* variables in front of the statement at hand */
    tnb_buf parts;               /* functions that stand before the kernel */
    tnb_ptrmap ahead;            /* data Var -> int64_t: elements of it are fetched that early */
    size_t turn_from;            /* where in the output the innermost loop's body begins */
    uint32_t n_parts;
    const char *const *checks; /* texts of its indices that came as data */
    uint32_t n_checks;
} tnk_emitter;

/* ---- emit_types.c ---- */
/* "f32", "i64": the name of a scalar dtype in helper names. */
const char *
tnk_short_name(tnb_dtype d);
/* The dtype that values of `d` are computed in; that they are stored as. Lanes are kept. */
tnb_dtype
tnk_compute_dtype(tnb_dtype d);
tnb_dtype
tnk_storage_dtype(tnb_dtype d);
/* The C type of a dtype as it is (compute or storage), scalar or vector; a vector type is declared
 * at first use. */
const char *
tnk_c_type(tnk_emitter *e, tnb_dtype d);
/* The same for accesses at any address. */
const char *
tnk_c_access_type(tnk_emitter *e, tnb_dtype d);
tnb_dtype
tnk_mask_dtype(uint8_t bits, uint16_t lanes);
/* Whether arithmetic on `d` is the device's own on half. */
bool
tnk_native_half(const tnk_emitter *e, tnb_dtype d);
/* The kernel uses what not every device has; an error where the target does not. */
void
tnk_need(tnk_emitter *e, const char *feature);

/* ---- emit_vector.c: how the dialect writes what vectors are made of ---- */
/* In front of an operand and behind it: conversion of each lane to `to`, the same bits as `to`. */
const char *
tnk_convert_open(tnk_emitter *e, tnb_dtype to);
const char *
tnk_convert_close(tnk_emitter *e, tnb_dtype to);
const char *
tnk_bits_open(tnk_emitter *e, tnb_dtype to);
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
/* Behind a vector: its lane i, "[3]". */
const char *
tnk_lane(tnk_emitter *e, int i);

/* Helper functions for a shuffle, (a) or (a, b); NULL: it has no such form. For a vector's store past the
 * caches, (pointer, vector). */
const char *
tnk_help_shuffle(tnk_emitter *e, const tn_shuffle *x);
const char *
tnk_help_stream(tnk_emitter *e, tnb_dtype vec);

/* ---- emit_helpers.c: each gives the name of a helper function, emitted at first use ---- */
/* True at the first call with this key. */
bool
tnk_once(tnk_emitter *e, const char *key);
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
/* From and to the storage of a float of 16 bits or less, scalar or vector. */
const char *
tnk_help_widen(tnk_emitter *e, tnb_dtype small);
const char *
tnk_help_narrow(tnk_emitter *e, tnb_dtype small);
/* ---- emit_small.c ---- */
/* The same for floats of 8 bits or less; narrow takes float32 or float64. */
const char *
tnk_help_widen_small(tnk_emitter *e, tnb_dtype small);
const char *
tnk_help_narrow_small(tnk_emitter *e, tnb_dtype small, uint8_t from_bits);
/* From an integer of 32 or 64 bits to a float of 8 bits or less, in OpenCL C; rounded once. */
const char *
tnk_help_narrow_int(tnk_emitter *e, tnb_dtype small, tnb_dtype from);
/* To the range of an integer of less than 8 bits. */
const char *
tnk_help_wrap(tnk_emitter *e, tnb_dtype d);
/* Memory in which elements of `bits` are packed: (pointer, place), (pointer, place, value); places
 * are int64, values uint8. */
const char *
tnk_help_packed_load(tnk_emitter *e, uint8_t bits, uint16_t lanes, const char *space);
const char *
tnk_help_packed_store(tnk_emitter *e, uint8_t bits, uint16_t lanes, const char *space);
/* ---- emit_helpers.c ---- */
/* An elementwise helper over the scalar function `scalar_fn` with n arguments of type `arg`
 * (vector) and result `ret`. */
const char *
tnk_help_map(tnk_emitter *e, tnb_dtype ret, tnb_dtype arg, const char *scalar_fn, int n);

/* ---- emit_math.c ---- */
/* The function for the intrinsic `op` ("exp") on compute dtype d (scalar or vector); NULL if there
 * is none. */
const char *
tnk_math_function(tnk_emitter *e, const char *op, tnb_dtype d, int n_args);

/* ---- emit_expr.c ---- */
void
tnk_emit_expr(tnk_emitter *e, const tn_expr *x);
/* The same, of x's own type: literals are ints for the language. */
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
/* The address of an element of a buffer in memory. */
void
tnk_emit_address(tnk_emitter *e, const tn_node *buffer, const tn_expr *at);
/* The address of an element, or of what a pointer intrinsic says; false: x is neither, or in no memory that has one. */
bool
tnk_emit_pointer(tnk_emitter *e, const tn_expr *x);

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
void
tnk_emit_call(tnk_emitter *e, const tn_expr *x);

/* ---- source.c ---- */
const char *
tnk_name_of(tnk_emitter *e, const tn_expr *var);
const char *
tnk_new_name(tnk_emitter *e, const char *wanted);
/* Records an error naming the kernel; emission of it ends. */
void
tnk_emit_fail(tnk_emitter *e, tn_loc loc, const char *fmt, ...) TNB_PRINTF(3, 4);

/* ---- emit_image.c ---- */
/* 2 or 3 for a parameter that is an image; 0: it is none, or an error was recorded. */
int
tnk_image_rank(tnk_emitter *e, const tn_node *buffer);
/* Its type, with the access that the kernel has. */
const char *
tnk_image_type(const tnk_memory *m, bool written);
void
tnk_emit_image_load(tnk_emitter *e, const tnk_memory *m, const tn_buffer_load *l);
void
tnk_emit_image_store(tnk_emitter *e, const tnk_memory *m, const tn_buffer_store *s);

/* ---- emit_warp.c ---- */
/* Finds out whether the kernel at hand is written for warps of some size. */
void
tnk_warp_begin(tnk_emitter *e);
/* Text behind the kernel's return type, and at its start. */
const char *
tnk_warp_attribute(tnk_emitter *e);
void
tnk_warp_declare(tnk_emitter *e);
/* What stands for the thread index `tag` ("threadIdx.x"); NULL: what the dialect says. */
const char *
tnk_warp_thread(tnk_emitter *e, const char *tag);
/* A call of T.warp_size_is, T.warp_reduce or T.tvm_warp_shuffle*; false: it is none. */
bool
tnk_emit_warp_call(tnk_emitter *e, const tn_call *c);

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
/* ---- emit_cost.c ---- */
/* Nanoseconds that a statement takes, roughly. `text`: the same as C text over the kernel's scalars, which `ns` guesses; NULL:
 * they do not matter. */
typedef struct tnk_cost {
    double ns;
    const char *text;
} tnk_cost;
/* Of one thread, from which on a second pays: bench/threads measures it. */
enum { TNK_TEAM_NS = 2000 };
tnk_cost
tnk_cost_of(tnk_emitter *e, const tn_stmt *s);
/* For how many threads there is enough to do. */
int
tnk_cost_threads(double ns);
/* ---- emit_parallel.c: loops for a team of threads ---- */
/* `type` with its blank or star. */
void
tnk_declare(tnk_emitter *e, const char *type, const char *name);
typedef struct tnk_part {
    tnb_buf text, *out;
    int indent;
    uint32_t scope;
} tnk_part;
/* Between the two, what is emitted becomes the body of a function that runs turns tk_from to tk_to
 * of the loop; the end emits the calls. */
void
tnk_part_begin(tnk_emitter *e, tnk_part *p);
void
tnk_part_end(tnk_emitter *e, tnk_part *p, const tn_for_loop *f, tnk_cost cost);
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
