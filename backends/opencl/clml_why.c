/* SPDX-License-Identifier: Apache-2.0 */
/* What CLMLDispatch tells, for the level info, of matrices of 4-bit numbers that stay kernels:
 *
 *     CLMLDispatch: weight_64_40: left to kernels: its words lie as (N, K / 8), the extension's as (K / 8, N)
 *
 * Asked of what is left after the patterns: tensor programs with words of eight numbers among what
 * they read and one float for each number as their result. Whether a matrix goes is decided in
 * clml_quant.c; this file only says which of its conditions fails first.
 */
#include "clml.h"

#include "tenon/base/log.h"
#include "tenon/core/build.h"
#include "tenon/core/walk.h"

enum { PER_WORD = 8, PER_SCALE = 32 };

typedef struct look {
    tn_ctx *ctx;
    const tn_module *m;
    bool allowed; /* version 5 of the extension */
    tnb_strmap told;
} look;

/* The extents of a buffer of two dimensions. */
static bool
matrix(const tn_node *buffer, int64_t out[2])
{
    const tn_buffer *b = tn_as_buffer(buffer);
    return b && b->shape.n == 2 && tn_int_value(b->shape.at[0], &out[0]) &&
           tn_int_value(b->shape.at[1], &out[1]) && out[0] > 0 && out[1] > 0;
}

static tnb_dtype
dtype_at(const tn_prim_func *f, uint32_t i)
{
    const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
    return b ? b->dtype : TNB_VOID;
}

/* Whether the program gives a float for each number of 4 bits that it reads; *words: the parameter
 * that holds them. */
static bool
unpacks(const tn_prim_func *f, uint32_t *words)
{
    int64_t in[2], out[2];
    uint32_t n = f->buffers.n;
    if (n < 3 || !matrix(f->buffers.at[n - 1], out) || !tnb_dtype_is_float(dtype_at(f, n - 1)))
        return false;
    for (uint32_t i = 0; i + 1 < n; i++)
        if (tnb_dtype_eq(dtype_at(f, i), TNB_DTYPE(TNB_UINT, 32)) && matrix(f->buffers.at[i], in) &&
            in[0] <= INT32_MAX && in[1] <= INT32_MAX && out[0] <= INT32_MAX &&
            in[0] * in[1] * PER_WORD == out[0] * out[1]) {
            *words = i;
            return true;
        }
    return false;
}

static const char *
reason(const look *w, const tn_prim_func *f, uint32_t words)
{
    int64_t in[2], scale[2], out[2];
    tnb_dtype d = dtype_at(f, 2);
    (void)matrix(f->buffers.at[words], in);
    (void)matrix(f->buffers.at[f->buffers.n - 1], out);
    if (!w->allowed)
        return "these products need version 5 of the extension, which option `version` rules out";
    if (f->params.n != 3 || f->buffers.n != 3)
        return tn_strf(w->ctx, "it reads %u tensors, the extension takes words and factors",
                       f->params.n - 1);
    if (words == 0 && !tnb_dtype_eq(d, TNB_F16))
        return tn_strf(w->ctx, "it is a matrix of %s, the extension's are of float16",
                       tnb_dtype_print(d).s);
    bool usual = in[0] == out[0] / PER_WORD && in[1] == out[1];
    if (!usual && (in[1] == out[1] / PER_WORD || (in[0] == out[1] && in[1] == out[0] / PER_WORD)))
        return "its words lie as (N, K / 8), the extension's as (K / 8, N)";
    if (words != 0 || !matrix(f->buffers.at[1], scale) || scale[1] != out[1] ||
        !tnb_dtype_eq(dtype_at(f, 1), TNB_F16))
        return "its factors are no float16 (K / 32, N) behind words (K / 8, N)";
    if (out[0] != scale[0] * PER_SCALE)
        return tn_strf(w->ctx, "its factors are for %lld numbers, the extension's for %d",
                       (long long)(out[0] / scale[0]), PER_SCALE);
    if (!clml_is_quantized(w->ctx, f, out[0], out[1]))
        return "it computes something else than (number - 7) * factor";
    return "it is used by something else than a product with float16 (1, rows, K)";
}

static tn_walk_step
each_call(void *user, const tn_node *n)
{
    look *w = user;
    const tn_call *c = tn_is_call_to(n, "relax.call_tir");
    const tn_global_var *gv = c && c->args.n ? tn_as_global_var(c->args.at[0]) : NULL;
    const tn_prim_func *f = gv ? tn_as_prim_func(tn_module_get(w->m, gv->name)) : NULL;
    uint32_t words = 0;
    if (!f || tnb_strmap_has(&w->told, gv->name) || !unpacks(f, &words))
        return TN_WALK_ON;
    tnb_strmap_set(&w->told, gv->name, gv->name);
    tnb_log(TNB_LOG_INFO, "CLMLDispatch: %s: left to kernels: %s", gv->name, reason(w, f, words));
    return TN_WALK_ON;
}

void
clml_tell_left(tn_ctx *ctx, const tn_module *m, bool allowed)
{
    look w = {.ctx = ctx, .m = m, .allowed = allowed};
    if (!m || !tnb_log_on(TNB_LOG_INFO))
        return;
    tnb_strmap_init(&w.told, tn_scratch(ctx));
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        if (fn && !tn_dict_get(fn->attrs, "Composite") && !tn_dict_get(fn->attrs, "Codegen"))
            tn_walk(fn->body, 0, each_call, NULL, &w);
    }
}
