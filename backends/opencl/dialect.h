/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend: its dialect of C, and what the files share that write what is special in it. */
#ifndef TENON_BACKENDS_OPENCL_DIALECT_H
#define TENON_BACKENDS_OPENCL_DIALECT_H

#include "tenon/core/build.h"
#include "tenon/core/arith.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"

/* ---- dialect.c ---- */
extern const tnk_dialect opencl_dialect;

/* ---- emit_image.c: tnk_dialect.param; accesses to images, false: it is none ---- */
const char *
opencl_param(tnk_emitter *e, const tnk_param *p);
bool
opencl_image_load(tnk_emitter *e, const tn_buffer_load *l);
bool
opencl_image_store(tnk_emitter *e, const tn_buffer_store *s);

/* ---- sub_groups.c ---- */
/* tnk_dialect.begin: finds out whether the kernel at hand is written for warps of some size. */
void
opencl_warp_begin(tnk_emitter *e);
/* tnk_dialect.attribute, declare, thread */
const char *
opencl_warp_attribute(tnk_emitter *e);
void
opencl_warp_declare(tnk_emitter *e);
const char *
opencl_warp_thread(tnk_emitter *e, const char *tag);
/* A call of T.warp_size_is, T.warp_reduce or T.tvm_warp_shuffle*; false: it is none. */
bool
opencl_warp_call(tnk_emitter *e, const tn_call *c);

#endif
