/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as processors have it: what is fetched early, what is written past the caches, elements of less than a byte.
 *
 * The attribute tenon.ahead = D (WidenLoop) of a buffer that the host gives: elements are fetched D turns before they are read.
 * The annotation tenon.stream of a loop: whole registers of the kernel's results are written past the caches, and are there for all
 * when the loop ends.
 */
#include "c.h"

/* ---- fetching ---- */

static bool
fetches(const char *key)
{
    return !strcmp(key, "tenon.ahead");
}

bool
c_fetch_attr(tnk_emitter *e, const tn_attr_stmt *a)
{
    c_kernel *k = c_kernel_of(e);
    const tnk_memory *m = a->node && fetches(a->key) ? tnb_ptrmap_get(&e->memory, a->node) : NULL;
    if (!m || !m->given) /* the kernel's own memory is not far away */
        return false;
    void *was = tnb_ptrmap_get(&k->ahead, a->node);
    int64_t *n = TNB_NEW(tn_scratch(e->ctx), int64_t);
    (void)tn_int_value(a->value, n);
    tnb_ptrmap_set(&k->ahead, a->node, n);
    tnk_emit_stmt(e, a->body);
    tnb_ptrmap_set(&k->ahead, a->node, was);
    return true;
}

/* Whether this turn of the innermost loop has fetched it already, where it is not less likely to have come by. */
static bool
is_fetched(const c_kernel *k, const char *address, int indent)
{
    for (uint32_t i = k->turn; i < k->fetched.n; i++)
        if (k->fetched.at[i].indent >= indent && !strcmp(k->fetched.at[i].address, address))
            return true;
    return false;
}

static tn_walk_step
fetch(void *user, const tn_node *n)
{
    tnk_emitter *e = user;
    c_kernel *k = c_kernel_of(e);
    const tn_buffer_load *l = n->kind == TN_KIND_BUFFER_LOAD ? (const tn_buffer_load *)n : NULL;
    const int64_t *ahead = l ? tnb_ptrmap_get(&k->ahead, tn_as_buffer(l->buffer)->data) : NULL;
    const tn_ramp *r = l ? tn_as_ramp(l->indices.at[0]) : NULL;
    if (!ahead || !r || !tn_is_int_const(r->stride, 1))
        return TN_WALK_ON;
    tnb_buf one = {0}, *out = e->out;
    e->out = &one;
    tnk_emit_address(e, l->buffer, r->start);
    tnb_buf_printf(&one, " + %lld", (long long)*ahead);
    e->out = out;
    const char *address = tnb_strdup(tn_scratch(e->ctx), one.s ? one.s : "");
    tnb_buf_free(&one);
    if (!is_fetched(k, address, e->indent)) {
        c_fetch f = {address, e->indent};
        TNB_PUSH(tn_scratch(e->ctx), k->fetched, f);
        tnk_emit_line(e);
        tnb_buf_printf(out, "__builtin_prefetch(%s);\n", address);
    }
    return TN_WALK_ON;
}

void
c_fetch_ahead(tnk_emitter *e, const tn_expr *value)
{
    if (c_kernel_of(e)->ahead.n)
        tn_walk(value, 0, fetch, NULL, e);
}

bool
c_fetch_call(tnk_emitter *e, const tn_evaluate *v)
{
    if (!tn_is_intrin(v->value, TN_INTRIN_prefetch))
        return false;
    tnk_emit_line(e);
    tnb_buf_puts(e->out, "__builtin_prefetch(");
    tnk_emit_expr(e, ((const tn_call *)v->value)->args.at[0]);
    tnb_buf_puts(e->out, ");\n");
    return true;
}

/* ---- writing past the caches ---- */

void
c_turns(tnk_emitter *e, const tn_for_loop *f, const char *from, const char *to)
{
    c_kernel *k = c_kernel_of(e);
    bool streams = !k->streamed && tn_dict_int(f->annotations, "tenon.stream", 0) != 0;
    uint32_t turn = k->turn;
    if (streams)
        k->streamed = f;
    k->turn = k->fetched.n;
    tnk_emit_loop(e, f, from, to);
    k->turn = turn;
    if (streams) {
        k->streamed = NULL; /* who waits for the loop sees it all */
        tnb_buf_puts(e->out, "#if defined(__SSE__)\n    __builtin_ia32_sfence();\n#endif\n");
    }
}

/* A store past the caches: (address of the first element, vector). Where the address is not aligned, or the
 * instruction set has no such store, it is a plain one. */
static const char *
help_stream(tnk_emitter *e, tnb_dtype d)
{
    tnb_dtype one = d;
    one.lanes = 1;
    int bytes = d.bits / 8 * d.lanes;
    const char *v = tnk_c_type(e, d), *u = tnk_c_access_type(e, d), *s = tnk_c_type(e, one),
               *f = tn_strf(e->ctx, "tk_stream_%sx%d", tnk_short_name(one), d.lanes);
    if (!tnk_once(e, f))
        return f;
    const char *isa = bytes == 64   ? "__AVX512F__"
                      : bytes == 32 ? "__AVX__"
                                    : "__SSE__",
               *gcc = bytes == 64   ? "movntps512"
                      : bytes == 32 ? "movntps256"
                                    : "movntps";
    tnb_buf_printf(
        tnk_helpers(e),
        "%s void %s(%s *p, %s v)\n{\n#if defined(%s)\n"
        "    if (((uintptr_t)p & %d) == 0) {\n#if defined(__clang__)\n"
        "        __builtin_nontemporal_store(v, (%s *)p);\n#else\n"
        "        __builtin_ia32_%s((float *)p, (float __attribute__((vector_size(%d))))v);\n"
        "#endif\n        return;\n    }\n#endif\n    *(%s *)p = v;\n}\n",
        e->d->inline_, f, s, v, isa, bytes - 1, v, gcc, bytes, u);
    return f;
}

bool
c_stream_store(tnk_emitter *e, const tn_buffer_store *s)
{
    const tnk_memory *m = c_kernel_of(e)->streamed ? tnk_memory_of(e, s->buffer) : NULL;
    const tn_ramp *r = m && s->indices.n == 1 ? tn_as_ramp(s->indices.at[0]) : NULL;
    if (!r || !m->given || m->packed || !tn_is_int_const(r->stride, 1) ||
        tn_as_buffer(s->buffer)->dtype.lanes != 1)
        return false;
    tnb_dtype v = tnk_stored_dtype(e, s->buffer);
    v.lanes = tn_dtype_of(TN_NODE(r)).lanes;
    int bytes = v.bits / 8 * v.lanes;
    if (v.lanes == 1 || (bytes != 16 && bytes != 32 && bytes != 64))
        return false;
    tnk_emit_line(e);
    tnb_buf_printf(e->out, "%s(", help_stream(e, v));
    tnk_emit_address(e, s->buffer, r->start);
    tnb_buf_puts(e->out, ", ");
    tnk_emit_stored_value(e, s);
    tnb_buf_puts(e->out, ");\n");
    return true;
}

/* ---- elements of less than a byte ---- */

static int
log2_per_byte(uint8_t bits)
{
    return bits == 4 ? 1 : bits == 2 ? 2 : 3;
}

/* Threads may store to the parts of one byte: then in two steps that leave the others alone. (One
 * exchange of what changed would not do: overlapping tiles store an element twice.) */
static void
packed_store_of_several(tnk_emitter *e, const char *f, uint8_t bits, const char *space)
{
    int s = log2_per_byte(bits), mask = (1 << bits) - 1;
    tnb_buf *b = tnk_helpers(e);
    if (!tnk_once(e, f))
        return;
    tnb_buf_printf(b,
                   "static inline void %s(%suint8_t *p, int64_t i, uint8_t x)\n{\n"
                   "    const int s = (int)(i & %d) * %d;\n    p += i >> %d;\n",
                   f, space, (1 << s) - 1, bits, s);
    tnb_buf_printf(b,
                   "    (void)__atomic_fetch_and(p, (uint8_t)~(%d << s), __ATOMIC_RELAXED);\n"
                   "    (void)__atomic_fetch_or(p, (uint8_t)((x & %d) << s), "
                   "__ATOMIC_RELAXED);\n}\n",
                   mask, mask);
}

const char *
c_packed_store(tnk_emitter *e, uint8_t bits, const char *space)
{
    const char *f = tn_strf(e->ctx, "tk_stp%d%s", bits, e->in_parallel ? "_shared" : "");
    if (e->in_parallel)
        packed_store_of_several(e, f, bits, space);
    else
        tnk_help_packed_store_by_byte(e, f, bits, space);
    return f;
}
