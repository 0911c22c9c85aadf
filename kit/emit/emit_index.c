/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that came as data (T.index_in). One that is out of its range becomes 0, so that no address is out of bounds, and is noted:
 * in a variable of the function at hand, which is looked at once at its end (C: nothing is called within loops, and what a loop
 * does not change stays outside of it), or in the memory that the host gives (devices). tenon/base/kernel_abi.h has its form.
 */
#include "emit_private.h"

/* A refusal as the dialects write it; behind it what notes one, and the index of one lane. */
static const char c_index[] =
    "static __attribute__((noinline, cold)) void\n"
    "tk_refuse(tnb_kernel_env *env, const tnb_kernel_refusal *r)\n{\n"
    "    int32_t none = 0;\n"
    "    tnb_kernel_refusal *to = env->refused;\n"
    "    if (!__atomic_compare_exchange_n(&to->state, &none, 1, 0, __ATOMIC_ACQ_REL,\n"
    "                                     __ATOMIC_ACQUIRE))\n"
    "        return;\n"
    "    to->check = r->check, to->index = r->index, to->extent = r->extent;\n}\n"
    /* of a host that wants only the kernel's status: the kernel's own place does not stay behind it */
    "struct tk_given {\n    tnb_kernel_env *env;\n    tnb_kernel_refusal *refused;\n};\n"
    "static inline void\ntk_give_back(const struct tk_given *g)\n{\n"
    "    g->env->refused = g->refused;\n}\n"
    "static inline __attribute__((always_inline)) int64_t\n"
    "tk_index(int64_t i, int64_t n, int wraps, uint32_t check, tnb_kernel_refusal *r)\n{\n"
    "    int64_t at = wraps ? i + (n & -(int64_t)(i < 0)) : i;\n" /* signs are not predictable */
    "    if (__builtin_expect((uint64_t)at >= (uint64_t)n, 0)) {\n"
    "        r->state = 1, r->check = check, r->index = i, r->extent = n;\n"
    "        at = 0;\n"
    "    }\n"
    "    return at;\n}\n";

/* $G: the address space, $C: compares and exchanges, $F: in front of functions, $I: the bits of an index; $M, $R: members and writes
 * of index and extent, which have a word each for the higher half where the language has no integers of 64 bits */
static const char device_index[] =
    "typedef struct tk_refusal {\n"
    "    int32_t state;\n"
    "    uint32_t tag, check, reserved;\n"
    "    $M\n"
    "} tk_refusal;\n"
    "$F int$I_t\n"
    "tk_index(int$I_t i, int$I_t n, int wraps, uint32_t check, uint32_t tag, $Gtk_refusal *r)\n{\n"
    "    int$I_t at = wraps && i < 0 ? (int$I_t)((uint$I_t)i + (uint$I_t)n) : i;\n"
    "    if ((uint$I_t)at >= (uint$I_t)n) {\n"
    "        if ($C == 0) {\n"
    "            r->tag = tag;\n"
    "            r->check = check;\n"
    "            $R\n"
    "        }\n"
    "        at = 0;\n"
    "    }\n"
    "    return at;\n}\n";

static const char *
device_word(const tnk_emitter *e, char c)
{
    bool words = e->d->no_int64;
    switch (c) {
    case 'F':
        return e->d->inline_;
    case 'G':
        return tnk_or_none(e->d->global_ptr);
    case 'C':
        return e->d->compare_exchange;
    case 'I':
        return words ? "32" : "64";
    case 'M':
        return words ? "int32_t index, index_high, extent, extent_high;" : "int64_t index, extent;";
    default:
        return words ? "r->index = i, r->index_high = i < 0 ? -1 : 0;\n"
                       "            r->extent = n, r->extent_high = 0;"
                     : "r->index = i;\n            r->extent = n;";
    }
}

static void
write_device_index(tnk_emitter *e)
{
    tnb_buf *out = &e->src->helpers;
    for (const char *p = device_index; *p; p++) {
        if (*p == '$')
            tnb_buf_puts(out, device_word(e, *++p));
        else
            tnb_buf_put(out, p, 1);
    }
}

bool
tnk_index_begin(tnk_emitter *e)
{
    e->n_checks = tnk_kernel_checks(e->ctx, e->kernel, &e->checks);
    if (e->n_checks && e->d->calling == TNK_CALL_DIRECT && !e->d->compare_exchange) {
        tnk_emit_fail(
            e, 0,
            "an index that comes as data is checked (target attribute check_indices), which "
            "%s source has no form for",
            e->d->base.name);
        return false;
    }
    if (e->n_checks && tnk_once(e, "tk_index")) {
        if (e->d->calling == TNK_CALL_HOST_TABLE)
            tnb_buf_puts(&e->src->helpers, c_index);
        else
            write_device_index(e);
    }
    return e->n_checks > 0;
}

/* (indices, extents, wraps, check, refusal): lane by lane, as the elements are loaded; only of programs that
 * were written with vectors: VectorizeLoop makes none of these. */
static const char *
help_indices(tnk_emitter *e, tnb_dtype d)
{
    const char *v = tnk_c_type(e, d), *f = tn_strf(e->ctx, "tk_index_%s", v);
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b,
                   "static inline __attribute__((always_inline)) %s\n"
                   "%s(%s i, %s n, int wraps, uint32_t check, tnb_kernel_refusal *r)\n{\n"
                   "    return (%s){",
                   v, f, v, v, v);
    for (int k = 0; k < d.lanes; k++)
        tnb_buf_printf(b, "%stk_index(i[%d], n[%d], wraps, check, r)", k ? ", " : "", k, k);
    tnb_buf_puts(b, "};\n}\n");
    return f;
}

static const char *
help_device_indices(tnk_emitter *e, tnb_dtype d)
{
    const char *v = tnk_c_type(e, d), *f = tn_strf(e->ctx, "tk_index_%s", v);
    if (!tnk_once(e, f))
        return f;
    tnb_buf *b = &e->src->helpers;
    tnb_buf_printf(b,
                   "%s %s\n%s(%s i, %s n, int wraps, uint32_t check, uint32_t tag, %s"
                   "tk_refusal *r)\n{\n    return %s",
                   e->d->inline_, v, f, v, v, tnk_or_none(e->d->global_ptr), tnk_make_open(e, d));
    for (int k = 0; k < d.lanes; k++)
        tnb_buf_printf(b, "%stk_index(i%s, n%s, wraps, check, tag, r)", k ? ", " : "",
                       tnk_lane(e, d.lanes, k), tnk_lane(e, d.lanes, k));
    tnb_buf_printf(b, "%s;\n}\n", tnk_make_close(e));
    return f;
}

void
tnk_emit_index(tnk_emitter *e, const tn_call *c)
{
    tnb_dtype d = tn_dtype_of(TN_NODE(c)), own = tn_dtype_of(c->args.at[1]);
    const tn_string_imm *site = tn_as_string_imm(c->args.at[3]);
    uint32_t check = 0;
    bool host = e->d->calling == TNK_CALL_HOST_TABLE;
    while (site && check < e->n_checks && strcmp(e->checks[check], site->value))
        check++;
    if (d.code != TNB_INT || (d.bits != 32 && d.bits != 64) || check == e->n_checks) {
        tnk_emit_fail(e, c->base.loc, "an index of %s has no form in source", tnb_dtype_print(d).s);
        return;
    }
    if (d.lanes == 1) /* of 32 bits too: the sum of an index and an extent fits */
        tnb_buf_printf(e->out, "((%s)tk_index(", tnk_c_type(e, d));
    else
        tnb_buf_printf(e->out, "(%s(", host ? help_indices(e, d) : help_device_indices(e, d));
    ex(e, c->args.at[0]);
    put(e, ", ");
    if (d.lanes > 1 && own.lanes == 1)
        tnb_buf_printf(e->out, "%s(", tnk_help_broadcast(e, d));
    ex(e, c->args.at[1]);
    if (d.lanes > 1 && own.lanes == 1)
        put(e, ")");
    tnb_buf_printf(e->out, ", %d, %u, %s))", !tn_is_int_const(c->args.at[2], 0), check,
                   host ? "&tk_bad" : "tk_tag, tk_refused");
}
