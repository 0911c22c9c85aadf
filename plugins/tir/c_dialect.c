/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect "c": GNU C for the system's compiler, on the host. Loops for a team of threads, what is fetched early and written past the
 * caches are its own; the rest is a table.
 */
#include "c.h"

static const char c_prologue[] =
    "#include <stddef.h>\n"
    "#include <stdint.h>\n"
    "#include <math.h>\n"
    "typedef union tnb_kernel_scalar {\n"
    "    int64_t i;\n"
    "    double f;\n"
    "} tnb_kernel_scalar;\n"
    "typedef void (*tnb_kernel_part)(void *, int64_t, int64_t, int32_t);\n"
    "typedef struct tnb_kernel_refusal {\n"
    "    int32_t state;\n"
    "    uint32_t tag, check, reserved;\n"
    "    int64_t index, extent;\n"
    "} tnb_kernel_refusal;\n"
    "typedef struct tnb_kernel_env {\n"
    "    int32_t threads, worth;\n"
    "    void *(*workspace)(struct tnb_kernel_env *env, size_t bytes);\n"
    "    void *user;\n"
    "    void (*team)(struct tnb_kernel_env *, tnb_kernel_part, void *, int64_t, int64_t);\n"
    "    tnb_kernel_refusal *refused;\n"
    "} tnb_kernel_env;\n"
    "#define TK_KERNEL __attribute__((visibility(\"default\")))\n";

c_kernel *
c_kernel_of(tnk_emitter *e)
{
    return e->state;
}

static void
begin(tnk_emitter *e)
{
    c_kernel *k = TNB_NEW(tn_scratch(e->ctx), c_kernel);
    tnb_ptrmap_init(&k->ahead, tn_scratch(e->ctx));
    e->state = k;
}

static bool
stmt(tnk_emitter *e, const tn_stmt *s)
{
    switch (s->kind) {
    case TN_KIND_FOR: {
        const tn_for_loop *f = (const tn_for_loop *)s;
        if (f->for_kind == TN_FOR_THREAD_BINDING ||
            (f->for_kind == TN_FOR_PARALLEL && !e->in_parallel))
            return false;
        c_turns(e, f, NULL, NULL);
        return true;
    }
    case TN_KIND_ATTR_STMT:
        return c_fetch_attr(e, (const tn_attr_stmt *)s);
    case TN_KIND_BUFFER_STORE:
        c_fetch_ahead(e, ((const tn_buffer_store *)s)->value);
        return c_stream_store(e, (const tn_buffer_store *)s);
    case TN_KIND_BIND:
        c_fetch_ahead(e, ((const tn_bind *)s)->value);
        return false;
    case TN_KIND_EVALUATE:
        return c_fetch_call(e, (const tn_evaluate *)s);
    default:
        return false;
    }
}

const tnk_dialect c_dialect = {
    .base.size = sizeof(tnk_dialect),
    .base.name = "c",
    .base.doc = "GNU C, called as tenon/base/kernel_abi.h says",
    .calling = TNK_CALL_HOST_TABLE,
    .kernel = "TK_KERNEL int32_t",
    .restrict_ = "restrict",
    .nan32 = "__builtin_nanf(\"\")",
    .nan64 = "__builtin_nan(\"\")",
    .inf32 = "__builtin_inff()",
    .inf64 = "__builtin_inf()",
    .float_suffix = "f",
    .classify = "__builtin_",
    .prologue = c_prologue,
    .gnu_vectors = true,
    .signed_wraps = true, /* -fwrapv */
    .declares = true,
    .begin = begin,
    .stmt = stmt,
    .parallel = c_parallel,
    .packed_store = c_packed_store,
    .body = c_x86_body,
};
