/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The simulated accelerator, compiler half: which tensor programs it takes, and C source of their kernels, which the
 * device compiles. In front of the source stands a line with its length, so that what is cut off is noticed.
 *
 *     // simacc-c 1234
 */
#include "protocol.h"
#include "simacc.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit.h"

/* ---- what it takes ---- */

enum { OPAQUE = 8 }; /* of op_pattern */

struct asked {
    tn_ctx *ctx;
    const char *why;
};

static bool
dtype_ok(tnb_dtype d)
{
    bool float32 = tnb_dtype_is_float(d) && d.bits == 32 && d.code == TNB_F32.code;
    bool integer = d.code == TNB_INT && (d.bits == 32 || d.bits == 64);
    return d.code == TNB_HANDLE || float32 || integer || tnb_dtype_is_bool(d) ||
           tnb_dtype_is_void(d);
}

static tn_walk_step
look(void *user, const tn_node *n)
{
    struct asked *a = user;
    tnb_dtype d = TNB_VOID;
    if (tn_is(n, TN_KIND_BUFFER))
        d = tn_as_buffer(n)->dtype;
    else if (n->type)
        d = tn_dtype_of(n);
    if (!dtype_ok(d))
        a->why = tnb_printf(tn_arena(a->ctx),
                            "it computes with %s; the device has float32, int32, int64 and bool",
                            tnb_dtype_print(d).s);
    else if (tn_is(n, TN_KIND_WHILE))
        a->why = "the device has no loops of unknown length";
    return a->why ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
takes(void *self, tn_ctx *ctx, const tn_target *target, const tn_node *prim_func, const char **why)
{
    struct asked a = {.ctx = ctx};
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    (void)self, (void)target;
    if (tn_dict_int(f->attrs, "op_pattern", 0) == OPAQUE)
        a.why = "it is more than loops over blocks";
    for (uint32_t i = 0; i < f->params.n && !a.why; i++) {
        look(&a, f->buffers.at[i] ? f->buffers.at[i] : f->params.at[i]);
    }
    if (!a.why)
        tn_walk(f->body, TN_WALK_ONCE, look, NULL, &a);
    *why = a.why;
    return !a.why;
}

/* ---- kernels ---- */

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    tnk_source *src = tnk_source_new(b->ctx, tnk_dialect_find(b->ctx, "c"));
    tnb_buf text = {0}, file = {0};
    (void)self;
    if (!src)
        return TNB_NOT_FOUND;
    for (uint32_t i = 0; i < n; i++) {
        if (!tnk_source_add(src, &kernels[i]))
            return TNB_UNSUPPORTED;
        if (b->keep_source)
            kernels[i].source = tnb_strdup(tn_arena(b->ctx), tnk_source_last(src));
    }
    tnk_source_text(src, &text);
    tnb_buf_printf(&file, "// " SIMACC_FORMAT " %zu\n", text.n);
    tnb_buf_put(&file, text.s, text.n);
    bool ok = !text.failed && !file.failed;
    if (ok)
        *out = (tnk_code){.format = SIMACC_FORMAT,
                          .bytes = tnb_dup(tn_arena(b->ctx), file.s, file.n),
                          .n_bytes = file.n};
    tnb_buf_free(&text);
    tnb_buf_free(&file);
    return ok ? TNB_OK : TNB_NO_MEMORY;
}

const tnk_codegen simacc_codegen = {
    .size = sizeof(tnk_codegen),
    .name = "simacc",
    .build = build,
    .takes = takes,
};
