/* SPDX-License-Identifier: Apache-2.0 */
/* Images: parameters in a scope "global.texture...", whose elements kernels of OpenCL C read and write
 * four at a time, a whole turn of the last dimension. The scope says which dimensions lie where:
 *
 *                            layer     row    column            of (a, b, c, d, 4)
 *     global.texture         a, b      c      d
 *     global.texture-nhwc    a         b      c, d
 *     global.texture-weight            a      b, c, d
 *
 *     B[n, h, w, c, 0:4] = max(A[n, h, w, c, 0:4], 0)      (A texture-nhwc, B texture-weight)
 *     write_imagef(B, (int2)((h*W + w)*C + c, n), max(read_imagef(A, tk_sampler, (int4)(w*C + c, h, n, 0)), 0))
 *
 * The part behind a colon, if any, is the device's: how large the image is.
 */
#include "texture.h"

#include "dialect.h"

enum { CHANNELS = 4 };

bool
texture_split(const char *scope, uint32_t ndim, uint32_t split[2])
{
    static const char prefix[] = "global.texture";
    size_t n = sizeof prefix - 1;
    if (!scope || strncmp(scope, prefix, n) != 0 || ndim < 3)
        return false;
    const char *kind = scope + n, *end = strchr(kind, ':');
    size_t len = end ? (size_t)(end - kind) : strlen(kind);
    if (len == 0) {
        split[0] = ndim - 3;
        split[1] = ndim - 2;
    } else if (len == 7 && memcmp(kind, "-weight", 7) == 0) {
        split[0] = 0;
        split[1] = 1;
    } else if (len == 5 && memcmp(kind, "-nhwc", 5) == 0 && ndim > 3) {
        split[0] = 1;
        split[1] = 2;
    } else {
        return false;
    }
    return true;
}

static bool
is_image(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && strncmp(scope, "global.texture", 14) == 0;
}

const char *
opencl_param(tnk_emitter *e, const tnk_param *p)
{
    uint32_t split[2];
    if (!tnb_param_is_memory(p->kind) || !is_image(p->buffer))
        return NULL;
    const tn_buffer *b = tn_as_buffer(p->buffer);
    bool known = texture_split(b->scope, b->shape.n, split);
    bool four = known && tn_is_int_const(b->shape.at[b->shape.n - 1], CHANNELS);
    tnb_dtype d = b->dtype;
    bool type = d.lanes == 1 &&
                ((d.code == TNB_FLOAT && (d.bits == 16 || d.bits == 32)) ||
                 ((d.code == TNB_INT || d.code == TNB_UINT) && d.bits >= 8 && d.bits <= 32));
    if (!four || !type || b->strides.n || b->elem_offset) {
        tnk_emit_fail(e, p->buffer->loc,
                      "buffer '%s' of %s cannot be an image of scope '%s': it needs a last "
                      "dimension of 4 and elements of 8 to 32 bits (floats: 16 or 32)",
                      b->name, tnb_dtype_print(d).s, b->scope);
        return NULL;
    }
    tnk_need(e, "images");
    if (split[0])
        return p->written ? "__write_only image2d_array_t" : "__read_only image2d_array_t";
    return p->written ? "__write_only image2d_t" : "__read_only image2d_t";
}

/* ---- where an element is ---- */

/* Dimensions [from, to) as one number. */
static const tn_expr *
flat(tnk_emitter *e, const tn_buffer *b, tn_list at, uint32_t from, uint32_t to)
{
    tn_ctx *ctx = e->ctx;
    const tn_expr *x = NULL;
    for (uint32_t i = from; i < to; i++) {
        const tn_expr *one = tn_cast_to(ctx, TNB_I32, at.at[i]);
        x = x ? tn_add(ctx, tn_mul(ctx, x, tn_cast_to(ctx, TNB_I32, b->shape.at[i])), one) : one;
    }
    return tn_simplify_now(ctx, x);
}

static bool
place(tnk_emitter *e, const tn_buffer *b, tn_list at, tn_loc loc)
{
    uint32_t split[2], n = b->shape.n;
    if (!texture_split(b->scope, n, split) || at.n != n)
        return false;
    for (uint32_t i = 0; i + 1 < n; i++)
        if (tn_dtype_of(at.at[i]).lanes != 1) {
            tnk_emit_fail(e, loc, "a vector along dimension %u of the image '%s', not the last one",
                          i, b->name);
            return false;
        }
    tnb_buf_puts(e->out, split[0] ? "(int4)(" : "(int2)(");
    tnk_emit_expr(e, flat(e, b, at, split[1], n - 1));
    tnb_buf_puts(e->out, ", ");
    tnk_emit_expr(e, flat(e, b, at, split[0], split[1]));
    if (split[0]) {
        tnb_buf_puts(e->out, ", ");
        tnk_emit_expr(e, flat(e, b, at, 0, split[0]));
        tnb_buf_puts(e->out, ", 0");
    }
    tnb_buf_puts(e->out, ")");
    return true;
}

/* The first channel and the number of channels of an index; false: not constant. */
static bool
channels(const tn_expr *index, int64_t *first, int64_t *n)
{
    const tn_ramp *r = tn_as_ramp(index);
    *n = tn_dtype_of(index).lanes;
    if (r && !tn_is_int_const(r->stride, 1))
        return false;
    return tn_int_value(r ? r->start : index, first) && *first >= 0 && *first + *n <= CHANNELS;
}

/* ---- accesses ---- */

/* "f", "i", "ui": what the functions of images are called for elements of this dtype; *as: the
 * dtype of their values. */
static const char *
family(tnb_dtype d, tnb_dtype *as)
{
    *as = d.code == TNB_FLOAT ? TNB_F32 : d.code == TNB_INT ? TNB_I32 : TNB_DTYPE(TNB_UINT, 32);
    return d.code == TNB_FLOAT ? "f" : d.code == TNB_INT ? "i" : "ui";
}

static const char *
sampler(tnk_emitter *e)
{
    static const char name[] = "tk_sampler";
    if (tnk_once(e, name))
        tnb_buf_printf(tnk_helpers(e),
                       "__constant sampler_t %s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP "
                       "| CLK_FILTER_NEAREST;\n",
                       name);
    return name;
}

/* One of four, which is not known before the kernel runs. */
static const char *
pick(tnk_emitter *e, tnb_dtype vec)
{
    tnb_dtype one = vec;
    one.lanes = 1;
    const char *f = tn_strf(e->ctx, "tk_pick_%s", tnk_short_name(one));
    if (tnk_once(e, f))
        tnb_buf_printf(tnk_helpers(e),
                       "%s %s %s(%s v, long c)\n{\n    return c < 2 ? (c < 1 ? v.s0 : v.s1) : (c < "
                       "3 ? v.s2 : v.s3);\n}\n",
                       e->d->inline_, tnk_c_type(e, one), f, tnk_c_type(e, vec));
    return f;
}

bool
opencl_image_load(tnk_emitter *e, const tn_buffer_load *l)
{
    const tnk_memory *m = tnk_memory_of(e, l->buffer);
    if (!m || !m->type)
        return false;
    const tn_buffer *b = tn_as_buffer(l->buffer);
    const tn_expr *last = l->indices.at[l->indices.n - 1];
    tnb_dtype as, to = tnk_compute_dtype(b->dtype);
    const char *kind = family(b->dtype, &as);
    int64_t first = 0, n;
    bool fixed = channels(last, &first, &n);
    if (m->written || (!fixed && n != 1)) {
        tnk_emit_fail(e, l->base.loc,
                      m->written ? "the image '%s' is read and written by the same kernel"
                                 : "a load of '%s' takes neither one element nor neighbours",
                      b->name);
        return true;
    }
    bool convert = !tnb_dtype_eq(as, to);
    to.lanes = (uint16_t)n;
    if (convert)
        tnb_buf_puts(e->out, n > 1 ? tnk_convert_open(e, as, to)
                                   : tn_strf(e->ctx, "((%s)", tnk_c_type(e, to)));
    as.lanes = CHANNELS;
    (void)tnk_c_type(e, as);
    if (!fixed)
        tnb_buf_printf(e->out, "%s(", pick(e, as));
    tnb_buf_printf(e->out, "read_image%s(%s, %s, ", kind, m->name, sampler(e));
    (void)place(e, b, l->indices, l->base.loc);
    tnb_buf_puts(e->out, ")");
    if (!fixed) {
        tnb_buf_puts(e->out, ", ");
        tnk_emit_expr(e, last);
        tnb_buf_puts(e->out, ")");
    } else if (n < CHANNELS) {
        tnb_buf_printf(e->out, ".s%.*s", (int)n, &"0123"[first]);
    }
    if (convert)
        tnb_buf_puts(e->out, n > 1 ? tnk_convert_close(e, to) : ")");
    return true;
}

bool
opencl_image_store(tnk_emitter *e, const tn_buffer_store *s)
{
    const tnk_memory *m = tnk_memory_of(e, s->buffer);
    if (!m || !m->type)
        return false;
    const tn_buffer *b = tn_as_buffer(s->buffer);
    const tn_expr *last = s->indices.at[s->indices.n - 1];
    tnb_dtype as, from = tnk_compute_dtype(tn_dtype_of(s->value));
    const char *kind = family(b->dtype, &as);
    int64_t first = 0, n;
    as.lanes = CHANNELS;
    if (!channels(last, &first, &n) || n != CHANNELS) {
        tnk_emit_fail(e, s->base.loc, "a store to the image '%s' is of %lld elements, not of all 4",
                      b->name, (long long)n);
        return true;
    }
    tnk_emit_line(e);
    tnb_buf_printf(e->out, "write_image%s(%s, ", kind, m->name);
    (void)place(e, b, s->indices, s->base.loc);
    tnb_buf_puts(e->out, ", ");
    bool convert = !tnb_dtype_eq(as, from);
    if (convert)
        tnb_buf_puts(e->out, tnk_convert_open(e, from, as));
    tnk_emit_expr(e, s->value);
    if (convert)
        tnb_buf_puts(e->out, tnk_convert_close(e, as));
    tnb_buf_puts(e->out, ");\n");
    return true;
}
