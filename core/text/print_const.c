/* SPDX-License-Identifier: Apache-2.0 */
/* Constants: inline up to 64 elements, else a reference into the table of metadata (see constants.c
 * for the forms). What decimals would not give back bit by bit is printed as bytes.
 */
#include <stdio.h>

#include "printer.h"
#include "../private.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"

#define MAX_INLINE 64

/* ---- elements ---- */
/* The element as text that reads back to the same bytes; false if there is none. */
static bool
element_text(const void *bytes, tnb_dtype d, uint64_t i, char *out, size_t room)
{
    uint8_t again[16] = {0};
    size_t size = tnb_dtype_bytes(d);
    const char *raw = (const char *)bytes + i * size;
    if (size > 8 || d.lanes != 1 || (d.bits != 8 * size && !tnb_dtype_is_bool(d)))
        return false;
    if (tnb_dtype_is_float(d)) {
        double v;
        if (!tnb_load_f64(bytes, d, i, &v))
            return false;
        tnb_num_text t = size < 8 ? tnb_print_f32((float)v) : tnb_print_f64(v);
        double back;
        if (!tnb_read_f64(t.s, strlen(t.s), &back) || !tnb_store_f64(again, d, 0, back) ||
            memcmp(again, raw, size) != 0)
            return false;
        bool plain = t.s[0] != 'i' && t.s[0] != 'n' && t.s[1] != 'i' && t.s[1] != 'n';
        snprintf(out, room, plain ? "%s" : "float(\"%s\")", t.s);
        return true;
    }
    int64_t v;
    if (!tnb_load_i64(bytes, d, i, &v) || !tnb_store_i64(again, d, 0, v) ||
        memcmp(again, raw, size) != 0)
        return false;
    if (tnb_dtype_is_bool(d)) {
        if (v != 0 && v != 1)
            return false;
        snprintf(out, room, "%s", v ? "True" : "False");
    } else if (d.code == TNB_UINT) {
        snprintf(out, room, "%llu", (unsigned long long)v);
    } else {
        snprintf(out, room, "%lld", (long long)v);
    }
    return true;
}

static bool
all_printable(const void *bytes, tnb_dtype d, uint64_t n)
{
    char text[48];
    for (uint64_t i = 0; i < n; i++)
        if (!element_text(bytes, d, i, text, sizeof text))
            return false;
    return true;
}

static void
elements(printer *p, const void *bytes, tnb_dtype d, const int64_t *shape, int32_t ndim,
         uint64_t *i)
{
    char text[48] = "";
    if (ndim == 0) {
        element_text(bytes, d, (*i)++, text, sizeof text);
        pr_puts(p, text);
        return;
    }
    pr_puts(p, "[");
    for (int64_t k = 0; k < shape[0]; k++) {
        if (k)
            pr_puts(p, ", ");
        elements(p, bytes, d, shape + 1, ndim - 1, i);
    }
    pr_puts(p, "]");
}

/* ---- forms ---- */
static void
dtype_and_shape(printer *p, const tn_data *d, bool keyword, bool shape)
{
    pr_printf(p, keyword ? ", dtype=\"%s\"" : ", \"%s\"", tnb_dtype_print(d->dtype).s);
    if (shape) {
        pr_puts(p, ", shape=[");
        for (int32_t i = 0; i < d->ndim; i++)
            pr_printf(p, "%s%lld", i ? ", " : "", (long long)d->shape[i]);
        pr_puts(p, "]");
    }
    pr_puts(p, ")");
}

static void
hex_bytes(printer *p, const tn_data *d, const void *bytes, uint64_t n)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *b = bytes;
    pr_puts(p, "R.const(bytes=\"");
    for (uint64_t i = 0; i < n; i++) {
        char two[3] = {digits[b[i] >> 4], digits[b[i] & 15], 0};
        pr_puts(p, two);
    }
    pr_puts(p, "\"");
    dtype_and_shape(p, d, true, d->ndim > 0);
}

static void
inline_constant(printer *p, const tn_data *d, const void *bytes)
{
    uint64_t i = 0;
    if (d->n_elems > MAX_INLINE || !all_printable(bytes, d->dtype, d->n_elems)) {
        hex_bytes(p, d, bytes, d->n_bytes);
        return;
    }
    pr_puts(p, "R.const(");
    if (!d->n_elems) {
        pr_puts(p, "[]");
        dtype_and_shape(p, d, false, true);
        return;
    }
    elements(p, bytes, d->dtype, d->shape, d->ndim, &i);
    dtype_and_shape(p, d, false, false);
}

static void
splat(printer *p, const tn_data *d)
{
    char text[48];
    if (!element_text(d->splat, d->dtype, 0, text, sizeof text)) {
        hex_bytes(p, d, d->splat, tnb_dtype_bytes(d->dtype));
        return;
    }
    pr_printf(p, "R.const(%s", text);
    dtype_and_shape(p, d, false, d->ndim > 0);
}

void
pr_constant(printer *p, const tn_data *d)
{
    bool whole = d->dtype.bits % 8 == 0 || tnb_dtype_is_bool(d->dtype);
    if (d->kind == TN_DATA_SPLAT && whole && d->n_elems) {
        splat(p, d);
        return;
    }
    if (p->one_line && d->n_elems > 16) {
        pr_printf(p, "R.const(..., \"%s\")", tnb_dtype_print(d->dtype).s);
        return;
    }
    const void *bytes = tn_data_get(p->ctx, d);
    if (!bytes && d->n_bytes) {
        p->status = TNB_INVALID; /* the context tells why */
        pr_puts(p, "None");
        return;
    }
    if (d->n_elems <= MAX_INLINE || (p->opt && p->opt->inline_constants)) {
        inline_constant(p, d, bytes);
    } else {
        tnb_hash_text hash = tnb_hash_print(tnb_hash_128(bytes, d->n_bytes));
        const char *key = tnb_printf(p->arena, "%s %s", hash.s, tnb_dtype_print(d->dtype).s);
        for (int32_t i = 0; i < d->ndim; i++)
            key = tnb_printf(p->arena, "%s %lld", key, (long long)d->shape[i]);
        uintptr_t index = (uintptr_t)tnb_strmap_get(&p->constant_index, key);
        if (!index) {
            printed_constant c = {.data = d};
            snprintf(c.hash, sizeof c.hash, "%s", hash.s);
            TNB_PUSH(p->arena, p->constants, c);
            index = p->constants.n;
            tnb_strmap_set(&p->constant_index, key, (void *)index);
            if (p->ctx->printed)
                tnb_strmap_set(p->ctx->printed, tn_str(p->ctx, key), d);
        }
        pr_printf(p, "metadata[\"relax.expr.Constant\"][%u]", (unsigned)(index - 1));
    }
    if (d->kind == TN_DATA_DEFERRED || d->kind == TN_DATA_SPLAT)
        tn_data_release(p->ctx, d);
}

/* ---- the table ---- */
static tnb_status
write_sidecar(printer *p, const char *path, tnb_err *err)
{
    tnb_out *o;
    TNB_TRY(tnb_out_open(path, &o, err));
    for (uint32_t i = 0; i < p->constants.n; i++) {
        printed_constant *c = &p->constants.at[i];
        const void *bytes = tn_data_get(p->ctx, c->data);
        tnb_status s = bytes ? tnb_out_align(o, 64, err)
                             : tnb_fail(err, TNB_INVALID, "a constant has no value");
        c->offset = tnb_out_pos(o);
        if (s == TNB_OK)
            s = tnb_out_write(o, bytes, c->data->n_bytes, err);
        if (c->data->kind == TN_DATA_DEFERRED || c->data->kind == TN_DATA_SPLAT)
            tn_data_release(p->ctx, c->data);
        if (s != TNB_OK) {
            tnb_out_abandon(o);
            return s;
        }
    }
    return tnb_out_commit(o, err);
}

void
pr_metadata(printer *p, tnb_buf *out)
{
    const char *sidecar = p->opt ? p->opt->sidecar : NULL;
    tnb_err err = {0};
    if (!p->constants.n)
        return;
    if (sidecar && write_sidecar(p, sidecar, &err) != TNB_OK) {
        tn_error(p->ctx, 0, err.status, "%s", err.message);
        p->status = err.status;
        sidecar = NULL;
    }
    tnb_buf_puts(out, "metadata = tvm.ir.load_json(\"\"\"{\"relax.expr.Constant\": [");
    for (uint32_t i = 0; i < p->constants.n; i++) {
        const printed_constant *c = &p->constants.at[i];
        tnb_buf_printf(out, "%s\n    {\"dtype\": \"%s\", \"hash\": \"%s\", ", i ? "," : "",
                       tnb_dtype_print(c->data->dtype).s, c->hash);
        if (sidecar)
            tnb_buf_printf(out, "\"offset\": %llu, ", (unsigned long long)c->offset);
        tnb_buf_puts(out, "\"shape\": [");
        for (int32_t k = 0; k < c->data->ndim; k++)
            tnb_buf_printf(out, "%s%lld", k ? ", " : "", (long long)c->data->shape[k]);
        tnb_buf_puts(out, "]}");
    }
    tnb_buf_puts(out, "]");
    if (sidecar) {
        /* the name goes through JSON inside of a Python string */
        const char *name = tnb_path_name(sidecar);
        tnb_buf_puts(out, ", \"file\": \"");
        for (; *name; name++)
            if (*name == '"' || *name == '\\')
                tnb_buf_printf(out, "\\\\u%04x", (unsigned)(unsigned char)*name);
            else
                tnb_buf_putc(out, *name);
        tnb_buf_puts(out, "\"");
    }
    tnb_buf_puts(out, "}\"\"\")\n\n");
}
