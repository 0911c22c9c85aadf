/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel in SPIR-V in the making: what the files that visit it (tenon/kit/visit.h) share.
 *
 * Values: an integer of up to 32 bits is one of 32 bits, kept within the range of its dtype; floats of 16 bits or less are float32,
 * but float16 where the device computes with it. Memory that the host gives has elements as wide as their dtype (bool: 8 bits), that of
 * a block or thread has values, narrow ones where the device computes with such.
 */
#ifndef GPU_GENERIC_SPIRV_KERNEL_H
#define GPU_GENERIC_SPIRV_KERNEL_H

#include "gpu_generic.h"
#include "payload.h"
#include "spirv.h"

#include "tenon/core/build.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"
#include "tenon/kit/visit.h"

typedef struct spirv_memory {
    const tnk_place *place;
    uint32_t pointer;   /* to a record of an array, or to an array (of a block, of a thread) */
    uint32_t offset[2]; /* element number of the first one, in 32 and 64 bits; 0: none */
    uint32_t elem;      /* type of an element in memory */
    uint32_t bytes;     /* of an element */
    SpvStorageClass room;
    const uint32_t *parts; /* memory that is bound: of each binding, a pointer as above */
    uint32_t n_parts;
} spirv_memory;

typedef struct spirv_construct {
    uint32_t label, other, merge, cond, var, next, first, from;
    bool loop;
} spirv_construct;

typedef struct spirv_kernel {
    spirv m;
    tn_ctx *ctx;
    tnk_visitor *v;
    const tnk_kernel *kernel;
    const gpu_generic_limits *limits;
    uint32_t used;  /* features */
    uint32_t flags; /* GPU_GENERIC_ADDRESSES ... */
    uint32_t block_bytes, shared_bytes, subgroup_size;
    uint32_t local_size[3];
    uint32_t *members; /* of each parameter: pointer to it in the block */
    uint32_t *member_types;
    TNB_VEC(spirv_memory) memories; /* by tnk_id - 1 */
    TNB_VEC(spirv_construct) open;
    uint32_t builtin[2];                /* LocalInvocationId, WorkgroupId: loaded */
    uint32_t threads[2][3], wide[2][3]; /* in 32, 64 bits; 0: not used yet */
    uint32_t full,
        warp; /* sub-groups are as the kernel was made for, and of this size; 0: it uses none */
    uint32_t thread_number;     /* then: of the thread in its block */
    TNB_VEC(uint32_t) products; /* of floats: result, operands */
    const char *const *checks;
    uint32_t n_checks, refused, tag; /* indices that came as data; where they are noted */
    bool global_barrier;
    bool
        matrices; /* sub-groups compute products of matrices; memory is ordered by Vulkan's model then */
    struct spirv_sums *sums; /* of the loop that keeps some; NULL: none does */
} spirv_kernel;

/* The kernel that the visitor is at. */
static inline spirv_kernel *
spirv_kernel_of(tnk_visitor *v)
{
    spirv_kernel *k = v->user;
    k->v = v; /* fails by it */
    return k;
}

/* Whether the target has it; where it has, the kernel uses it then. */
bool
spirv_has(spirv_kernel *k, gpu_generic_feature f);
/* The same, and an error where it has not. */
bool
spirv_need(spirv_kernel *k, gpu_generic_feature f);

/* ---- types of values (spirv_value.c) ---- */
tnb_dtype
spirv_value_dtype(spirv_kernel *k, tnb_dtype d); /* as above */
uint32_t
spirv_type(spirv_kernel *k, tnb_dtype d); /* 0 after an error */
uint32_t
spirv_number(spirv_kernel *k, tnb_dtype d, double v); /* v, which is small, in each lane */
tnk_id
spirv_cast(spirv_kernel *k, tnb_dtype from, tnb_dtype to, tnk_id a);
tnk_id
spirv_quotient(spirv_kernel *k, tnb_dtype d, tnk_id a, tnk_id b); /* of floats */
tnk_id
spirv_root(spirv_kernel *k, tnb_dtype d, tnk_id a);
tnk_id
spirv_bits(spirv_kernel *k, tnb_dtype from, tnb_dtype to, tnk_id a, tn_loc loc); /* reinterpret */
tnk_id
spirv_operation(spirv_kernel *k, const tn_expr *x, tn_kind kind, tnk_id a, tnk_id b);
/* A float of a cast that is known to be within 32 bits. */
tnk_id
spirv_bounded_cast(spirv_kernel *k, tnb_dtype from, tnb_dtype to, tnk_id a);
tnk_id
spirv_shift(spirv_kernel *k, tnb_dtype d, bool left, tnk_id a, tnk_id n);
/* A narrow integer brought into its range again. */
tnk_id
spirv_wrapped(spirv_kernel *k, tnb_dtype d, tnk_id a);
/* Conversions to and from what lies in memory as `bits` of a bfloat16, in 32 bits. */
tnk_id
spirv_bfloat_bits(spirv_kernel *k, uint32_t lanes, tnk_id a);
tnk_id
spirv_bfloat_value(spirv_kernel *k, uint32_t lanes, tnk_id bits);
tnk_id
spirv_select(spirv_kernel *k, tnb_dtype d, tnk_id cond, tnk_id a, tnk_id b);

/* Notes in the refusal of kernel_abi.h the index, of one lane, unless it is in its range; the index, or 0. `i` and `n` are 32 or 64
 * bits wide. */
tnk_id
spirv_index(spirv_kernel *k, uint32_t bits, bool wraps, uint32_t check, tnk_id i, tnk_id n);

/* ---- calls (spirv_call.c, spirv_subgroup.c) ---- */
tnk_id
spirv_call(tnk_visitor *v, const tn_call *x, const tnk_id *args, uint32_t n);
/* Looks for calls of warps, before the body; false after an error. */
bool
spirv_subgroup_begin(spirv_kernel *k);
/* The thread index in 32 bits, computed in `entry`, where the kernel is made for warps; 0: it is not. */
uint32_t
spirv_subgroup_thread(spirv_kernel *k, int dim);
tnk_id
spirv_subgroup_call(spirv_kernel *k, const tn_call *x, const tnk_id *args, uint32_t n);

/* ---- products of matrices (spirv_matrix.c) ---- */
/* Looks for loops that a sub-group may compute at once, before the body. */
void
spirv_matrix_begin(spirv_kernel *k);
/* Member of tnk_visits. */
bool
spirv_matrix_nest(tnk_visitor *v, const tn_for_loop *f);
/* In front of a loop, and behind it: sums of products within it that the loop keeps. */
void
spirv_matrix_loop(spirv_kernel *k, const tn_for_loop *f);
void
spirv_matrix_loop_end(spirv_kernel *k, const tn_for_loop *f);

/* ---- memory (spirv_memory.c) ---- */
bool
spirv_is_half(tnb_dtype d); /* of 16 bits */
/* A record of an array of elements of unknown number, in memory that the host gives. */
uint32_t
spirv_record(spirv_kernel *k, uint32_t elem, uint32_t bytes, bool written);
/* Of the parameter of this number. */
spirv_memory
spirv_given_memory(spirv_kernel *k, uint32_t param, uint32_t elem, uint32_t bytes, bool written);
/* What accesses by threads of a block to each other's memory say of themselves. */
uint32_t
spirv_access_mask(const spirv_kernel *k, const spirv_memory *p);
/* A pointer to an element of memory in one binding; `bits` of the index. */
tnk_id
spirv_element(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits);
void
spirv_store_element(spirv_kernel *k, spirv_memory *p, tnk_id at, uint32_t bits, tnk_id value);
/* Bindings of the parameter in a kernel that binds; `parts`: with GPU_GENERIC_PARTS. */
uint32_t
spirv_bindings(const tnk_param *p, bool parts);
/* A lane of a vector; a vector of as many values. */
tnk_id
spirv_lane(spirv_kernel *k, tnb_dtype d, tnk_id a, uint32_t i);
tnk_id
spirv_together(spirv_kernel *k, tnb_dtype d, const tnk_id *lanes);
/* Members of tnk_visits. */
tnk_id
spirv_memory_begin(tnk_visitor *v, const tnk_place *p);
tnk_id
spirv_load(tnk_visitor *v, const tn_expr *x, const tnk_place *p, tnk_id at);
void
spirv_store(tnk_visitor *v, const tn_stmt *s, const tnk_place *p, tnk_id at, tnk_id value);
tnk_id
spirv_atomic(tnk_visitor *v, const tn_call *x, const tnk_place *p, tnk_id at, tnk_id operand);

/* ---- the whole (spirv_kernel.c) ---- */
/* Into a branch of two, of which the second may be empty; into the second; behind both: labels `from` and `next` are where they end. */
void
spirv_part(spirv_kernel *k, tnk_id cond);
void
spirv_other(spirv_kernel *k);
spirv_construct
spirv_join(spirv_kernel *k);
/* The value of a parameter in the block. */
tnk_id
spirv_parameter(spirv_kernel *k, uint32_t i);
/* False after recording a located error. `parts`: with GPU_GENERIC_PARTS. */
bool
spirv_kernel_make(tn_ctx *ctx, const gpu_generic_limits *limits, const tnk_kernel *kernel,
                  bool parts, spirv_kernel *k, spirv_words *words);

/* How the payload describes the parameter. */
gpu_generic_param
spirv_kernel_param(const tnk_param *p);

#define RESULT(k, op, type, ...) SPIRV_RESULT(&(k)->m, op, type __VA_OPT__(, ) __VA_ARGS__)
#define AT_ENTRY(k, op, type, ...) \
    spirv_result(&(k)->m, &(k)->m.entry, Spv##op, type, SPIRV_ARGS(__VA_ARGS__))

#endif
