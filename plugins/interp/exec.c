/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: direct-threaded execution of the internal form, and groups of threads.
 *
 * A thread that meets a barrier stops with its program counter and registers kept; when all threads
 * of the group stand at the same barrier they go on, one after the other. A group in which some
 * threads ended or stand elsewhere is in divergent control flow: an error, unless they wait for some of the
 * threads alone (mbarrier.c).
 */
#include "interp.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon/base/scalar.h"

typedef enum outcome { DONE, WAITING, FAILED } outcome;

static outcome
run(interp_frame *f, uint32_t pc);

/* ---- errors ---- */

static const char *
func_name(const interp_frame *f)
{
    return f->code->name ? f->code->name : "?";
}

/* Compiled code does not look at this access: whoever asked is told. */
static void
note_out_of_bounds(interp_frame *f)
{
    f->vm->opt->out_of_bounds = true;
}

static outcome
index_error(interp_frame *f, const interp_ins *in, const interp_buf *b, int dim, int64_t index)
{
    tn_error(f->vm->ctx, f->code->loc[in - f->code->at], TNB_BOUNDS,
             "%s: buffer '%s' has extent %lld in dimension %d, but the index is %lld", func_name(f),
             f->code->bufs[in->b].node->name, (long long)b->ext[dim], dim, (long long)index);
    note_out_of_bounds(f);
    return FAILED;
}

static outcome
unwritten_error(interp_frame *f, const interp_ins *in, const interp_buf *b, int64_t element)
{
    tn_ctx *ctx = f->vm->ctx;
    tnb_buf at = {0};
    int64_t rest = element;
    for (int i = 0; i < b->info->ndim; i++) {
        int64_t s = b->stride[i] ? b->stride[i] : 1;
        tnb_buf_printf(&at, "%s%lld", i ? ", " : "", (long long)(rest / s));
        rest %= s;
    }
    tn_error(ctx, f->code->loc[in - f->code->at], TNB_INVALID,
             "%s: element [%s] of buffer '%s' is read before it is written", func_name(f),
             at.s ? at.s : "", b->info->node->name);
    tnb_buf_free(&at);
    return FAILED;
}

static outcome
memory_error(interp_frame *f, const interp_ins *in, const interp_buf *b, const char *what)
{
    tn_error(f->vm->ctx, f->code->loc[in - f->code->at], TNB_BOUNDS, "%s: buffer '%s': %s",
             func_name(f), b->info ? b->info->node->name : "?", what);
    return FAILED;
}

static outcome
plain_error(interp_frame *f, const interp_ins *in, tnb_status s, const char *what)
{
    tn_error(f->vm->ctx, f->code->loc[in - f->code->at], s, "%s: %s", func_name(f), what);
    return FAILED;
}

/* ---- buffers ---- */

/* The text of an assertion, with its numbers. */
static void
assertion_failed(interp_frame *f, const interp_ins *in, const interp_reg *numbers)
{
    enum { MAX_NUMBERS = 16 };
    char digits[MAX_NUMBERS][24], text[1024];
    const char *values[MAX_NUMBERS], *format = in->x.ptr;
    uint32_t n = in->c < MAX_NUMBERS ? (uint32_t)in->c : MAX_NUMBERS;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(digits[i], sizeof digits[i], "%lld", (long long)numbers[i].i);
        values[i] = digits[i];
    }
    if (n)
        tnb_fill_braces(text, sizeof text, format, values, n);
    tn_error(f->vm->ctx, f->code->loc[in - f->code->at], TNB_INVALID, "%s: assertion failed: %s",
             func_name(f), n ? text : format);
}

static interp_frame *
owner_of(interp_frame *f, bool shared)
{
    return shared && f->group ? f->group : f;
}

static outcome
do_alloc(interp_frame *f, const interp_ins *in)
{
    const interp_bufinfo *info = &f->code->bufs[in->a];
    interp_frame *o = owner_of(f, info->is_shared);
    uint64_t n = info->lanes, bytes;
    tnb_err err;
    for (int i = 0; i < info->ndim; i++) {
        int64_t e = f->r[in->d + i].i;
        if (e < 0 || !tnb_mul_u64(n, (uint64_t)e, &n))
            return plain_error(f, in, TNB_SHAPE,
                               "an allocated buffer has a negative or too large extent");
    }
    if (info->has_strides) { /* rows may be padded */
        uint64_t reach = 0;
        for (int i = 0; i < info->ndim; i++) {
            int64_t e = f->r[in->d + i].i, s = f->r[in->d + info->ndim + i].i;
            if (s < 0 || (e && !tnb_add_u64(reach, (uint64_t)(e - 1) * (uint64_t)s, &reach)))
                return plain_error(f, in, TNB_SHAPE, "an allocated buffer has bad strides");
        }
        n = n ? (reach + 1) * info->lanes : 0;
    }
    if (tnb_dtype_storage(info->elem, n, &bytes, &err) != TNB_OK)
        return plain_error(f, in, TNB_SHAPE, err.message);
    interp_mem *m = o->slots[in->c];
    if (m && m->size == bytes && m->refs == 1) {
        if (o == f && m->shadow) { /* the same memory again, as if fresh */
            memset(m->shadow, 0, bytes / 8 + 3);
            memset(m->bytes, 0, bytes);
        }
    } else if (!(m && o != f)) {
        interp_mem_unref(f->vm, m);
        o->slots[in->c] = m = interp_mem_new(f->vm, bytes, f->code->loc[in - f->code->at]);
        if (!m)
            return FAILED;
    }
    f->r[in->b].i = interp_handle(m, 0);
    return DONE;
}

static outcome
do_buffer(interp_frame *f, const interp_ins *in)
{
    interp_buf *b = &f->b[in->a];
    const interp_bufinfo *info = &f->code->bufs[in->a];
    uint64_t offset = 0, base;
    b->info = info;
    b->mem = interp_handle_mem(f->vm, f->r[in->b].i, &offset);
    if (!b->mem)
        return memory_error(f, in, b, "its data pointer is null or does not point into memory");
    int64_t stride = 1, reach = 0, lowest = 0;
    bool empty = false;
    for (int i = info->ndim - 1; i >= 0; i--) {
        int64_t e = f->r[in->c + i].i;
        if (e < 0)
            return memory_error(f, in, b, "an extent is negative");
        b->ext[i] = (uint64_t)e;
        b->stride[i] = info->has_strides ? f->r[in->c + info->ndim + i].i : stride;
        if (!info->has_strides && !tnb_mul_i64(stride, e ? e : 1, &stride))
            return memory_error(f, in, b, "its size overflows");
        int64_t step;
        empty |= e == 0;
        if (e > 0 && (!tnb_mul_i64(e - 1, b->stride[i], &step) ||
                      !tnb_add_i64(step < 0 ? lowest : reach, step, step < 0 ? &lowest : &reach)))
            return memory_error(f, in, b, "its size overflows");
    }
    int64_t elem = in->d != INTERP_NO_REG ? f->r[in->d].i : 0;
    uint64_t lane_bits = info->elem.bits < 8 ? info->elem.bits : (uint64_t)info->bytes * 8;
    if (elem < 0 && lowest + elem < 0)
        return memory_error(f, in, b, "its element offset is negative");
    base = offset + (uint64_t)elem * info->lanes * lane_bits / 8;
    uint64_t last = ((uint64_t)reach + 1) * info->lanes;
    if (!empty && (lowest < 0 || base > b->mem->size || last > UINT64_MAX / 64 ||
                   (last * lane_bits + 7) / 8 > b->mem->size - base)) {
        tn_error(f->vm->ctx, f->code->loc[in - f->code->at], TNB_BOUNDS,
                 "%s: buffer '%s' needs %llu bytes from offset %llu, but its memory has %llu",
                 func_name(f), info->node->name, (unsigned long long)((last * lane_bits + 7) / 8),
                 (unsigned long long)base, (unsigned long long)b->mem->size);
        note_out_of_bounds(f);
        return FAILED;
    }
    b->base = base;
    b->bytes = b->mem->bytes;
    b->shadow = b->mem->shadow;
    return DONE;
}

/* A thread's own copy of a local buffer that was allocated outside of the threads' part. */
static outcome
do_private(interp_frame *f, const interp_ins *in)
{
    interp_buf *b = &f->b[in->a];
    if (!b->mem)
        return DONE; /* not yet allocated: nothing to copy */
    interp_mem *m = interp_mem_new(f->vm, b->mem->size, f->code->loc[in - f->code->at]);
    if (!m)
        return FAILED;
    memcpy(m->bytes, b->mem->bytes, m->size);
    if (!b->mem->shadow)
        interp_mem_written(m);
    else if (m->shadow)
        memcpy(m->shadow, b->mem->shadow, m->size / 8 + 1);
    interp_mem_unref(f->vm, f->slots[in->c]);
    f->slots[in->c] = m;
    b->mem = m;
    b->bytes = m->bytes;
    b->shadow = m->shadow;
    if (in->b != INTERP_NO_REG)
        f->r[in->b].i = interp_handle(m, 0);
    return DONE;
}

/* ---- rare operations ---- */

static tnb_dtype
unpack(int64_t v)
{
    return (tnb_dtype){(uint8_t)(v & 255), (uint8_t)(v >> 8 & 255), 1};
}

static float
round_float(float v, tnb_dtype d)
{
    uint8_t cell[8];
    double out = 0;
    switch (d.code) {
    case TNB_FLOAT:
        return d.bits == 16 ? tnb_half_to_float(tnb_float_to_half(v)) : v;
    case TNB_BFLOAT:
        return tnb_bfloat_to_float(tnb_float_to_bfloat(v));
    default:
        if (tnb_store_f64(cell, d, 0, (double)v) && tnb_load_f64(cell, d, 0, &out))
            return (float)out;
        return v;
    }
}

static float
round_double(double v, tnb_dtype d)
{
    uint8_t cell[8];
    double out = 0;
    if (d.code == TNB_FLOAT && d.bits == 16)
        return tnb_half_to_float(tnb_double_to_half(v));
    if (d.code == TNB_FLOAT)
        return (float)v;
    if (tnb_store_f64(cell, d, 0, v) && tnb_load_f64(cell, d, 0, &out))
        return (float)out;
    return (float)v;
}

/* ---- float16, of which most values are normal numbers ---- */

enum { HALF_REBIAS = 127 - 15 };
static const uint32_t half_least = 0x38800000, half_end = 0x477FF000; /* 2^-14; 65520 */

static inline float
interp_half_to_float(uint16_t h)
{
    uint32_t rest = h & 0x7FFF, u;
    float f;
    if (rest < 0x400 || rest >= 0x7C00)
        return tnb_half_to_float(h);
    u = (uint32_t)(h & 0x8000) << 16 | ((rest << 13) + ((uint32_t)HALF_REBIAS << 23));
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint16_t
interp_float_to_half(float f)
{
    uint32_t u, rest;
    memcpy(&u, &f, sizeof u);
    rest = u & 0x7FFFFFFF;
    if (rest < half_least || rest >= half_end)
        return tnb_float_to_half(f);
    rest += 0xFFF + (rest >> 13 & 1);
    return (uint16_t)((u >> 16 & 0x8000) | (rest - ((uint32_t)HALF_REBIAS << 23)) >> 13);
}

static inline float
interp_round_half(float f)
{
    uint32_t u, rest;
    memcpy(&u, &f, sizeof u);
    rest = u & 0x7FFFFFFF;
    if (rest < half_least || rest >= half_end)
        return tnb_half_to_float(tnb_float_to_half(f));
    u = (u & 0x80000000) | ((rest + 0xFFF + (rest >> 13 & 1)) & ~(uint32_t)0x1FFF);
    memcpy(&f, &u, sizeof f);
    return f;
}

/* The bits of a register as they lie in memory, and back. */
static interp_reg
reinterpret(interp_reg v, tnb_dtype from, tnb_dtype to)
{
    uint8_t cell[8] = {0};
    double d = 0;
    interp_reg r = {.i = 0};
    if (interp_class_of(from) == INTERP_INT || interp_class_of(from) == INTERP_PTR)
        tnb_store_i64(cell, from.code == TNB_HANDLE ? TNB_I64 : from, 0, v.i);
    else
        tnb_store_f64(cell, from, 0, interp_reg_to_double(from, v));
    /* NaN payloads of float32 and float64 survive */
    if (from.code == TNB_FLOAT && from.bits == 32)
        memcpy(cell, &v.f, 4);
    if (to.code == TNB_FLOAT && to.bits == 32) {
        memcpy(&r.f, cell, 4);
        return r;
    }
    if (to.code == TNB_FLOAT && to.bits == 64) {
        memcpy(&r.d, cell, 8);
        return r;
    }
    if (interp_class_of(to) == INTERP_INT || interp_class_of(to) == INTERP_PTR)
        tnb_load_i64(cell, to.code == TNB_HANDLE ? TNB_I64 : to, 0, &r.i);
    else if (tnb_load_f64(cell, to, 0, &d))
        r = interp_reg_of_double(to, d);
    return r;
}

static outcome
access_odd(interp_frame *f, const interp_ins *in, bool store)
{
    const interp_buf *b = &f->b[in->b];
    interp_reg *v = &f->r[in->a];
    if (!b->mem)
        return memory_error(f, in, b, "it has no memory here");
    uint64_t lin = (uint64_t)f->r[in->c].i,
             bits = b->info->elem.bits < 8 ? b->info->elem.bits : b->info->bytes * 8u;
    uint64_t at = b->base + lin * bits / 8;
    void *p = b->bytes + b->base;
    double d = 0;
    if (at >= b->mem->size) {
        note_out_of_bounds(f);
        return memory_error(f, in, b, "an access lies behind its memory");
    }
    bool is_int = interp_class_of(b->info->elem) == INTERP_INT;
    if (store) {
        if (b->mem->readonly)
            return memory_error(f, in, b, "it is a constant and cannot be written");
        bool ok =
            is_int ? tnb_store_i64(p, b->info->elem, lin, v->i)
                   : tnb_store_f64(p, b->info->elem, lin, interp_reg_to_double(b->info->elem, *v));
        if (b->shadow)
            b->shadow[at >> 3] |= (uint8_t)(1u << (at & 7));
        return ok ? DONE : memory_error(f, in, b, "its dtype cannot be stored");
    }
    if (b->shadow && !(b->shadow[at >> 3] >> (at & 7) & 1))
        return unwritten_error(f, in, b, (int64_t)lin);
    bool ok = is_int ? tnb_load_i64(p, b->info->elem, lin, &v->i)
                     : tnb_load_f64(p, b->info->elem, lin, &d);
    if (!is_int)
        *v = interp_reg_of_double(b->info->elem, d);
    return ok ? DONE : memory_error(f, in, b, "its dtype cannot be loaded");
}

static outcome
do_call(interp_frame *f, const interp_ins *in)
{
    const interp_callee *c = in->x.ptr;
    interp *vm = f->vm;
    const tn_prim_func *p = tn_as_prim_func(c->func);
    interp_code *code = interp_compile(vm, NULL, p);
    interp_frame g;
    if (!code)
        return FAILED;
    if (vm->depth >= INTERP_CALL_DEPTH)
        return plain_error(f, in, TNB_UNSUPPORTED,
                           "calls of tensor programs are nested too deeply");
    if (!interp_frame_open(vm, &g, code))
        return FAILED;
    for (uint32_t i = 0; i < c->n_args; i++)
        if (code->params[i] != INTERP_NO_REG)
            g.r[code->params[i]] = f->r[in->b + (int32_t)i];
    if (code->shape[0] >= 0) {
        interp_frame_close(vm, &g);
        return plain_error(
            f, in, TNB_UNSUPPORTED,
            "a called tensor program takes an extent from a buffer's shape; pass it as a scalar");
    }
    vm->depth++;
    bool ok = interp_exec(vm, &g);
    vm->depth--;
    if (ok && g.returned)
        f->r[in->a] = g.ret;
    interp_frame_close(vm, &g);
    return ok ? DONE : FAILED;
}

/* ---- groups of threads ---- */

static bool
same_group(interp_frame *x, interp_frame *y, const interp_exchange *e)
{
    for (uint32_t i = 0; i < e->n_tids; i++) {
        bool reduced = false;
        for (uint32_t j = 0; j < e->n_over; j++)
            reduced |= e->over[j] == e->tids[i];
        if (!reduced && x->r[e->tids[i]].i != y->r[e->tids[i]].i)
            return false;
    }
    return true;
}

static bool
reduce_threads(interp *vm, interp_frame *t, uint32_t n, const interp_exchange *e)
{
    interp_frame g;
    bool ok = interp_frame_open(vm, &g, e->combine);
    for (uint32_t i = 0; ok && i < n; i++) {
        bool first = true;
        for (uint32_t k = 0; first && k < i; k++)
            first = !same_group(&t[i], &t[k], e);
        if (!first)
            continue;
        interp_reg acc[16];
        bool any = false;
        for (uint32_t k = i; ok && k < n; k++) {
            if (!same_group(&t[i], &t[k], e) || !t[k].r[e->cond].i)
                continue;
            for (int32_t v = 0; v < e->n; v++) {
                if (any)
                    g.r[e->combine->params[v]] = acc[v];
                g.r[e->combine->params[e->n + v]] = t[k].r[e->src + v];
                if (!any)
                    acc[v] = t[k].r[e->src + v];
            }
            if (any) {
                ok = interp_exec(vm, &g);
                for (int32_t v = 0; v < e->n; v++)
                    acc[v] = g.r[e->combine->results + v];
            }
            any = true;
        }
        for (uint32_t k = i; any && k < n; k++)
            if (same_group(&t[i], &t[k], e))
                for (int32_t v = 0; v < e->n; v++)
                    t[k].r[e->dst + v] = acc[v];
    }
    interp_frame_close(vm, &g);
    return ok;
}

static void
shuffle_threads(interp_frame *t, uint32_t n, const interp_exchange *e, interp_reg *tmp)
{
    for (uint32_t i = 0; i < n; i++)
        tmp[i] = t[i].r[e->src];
    for (uint32_t i = 0; i < n; i++) {
        int64_t width = t[i].r[e->width].i, arg = t[i].r[e->cond].i;
        if (width < 1)
            width = 1;
        int64_t base = i / width * width, lane = i % width, from;
        switch (e->mode) {
        case 1:
            from = lane - arg;
            break;
        case 2:
            from = lane + arg;
            break;
        case 3:
            from = lane ^ arg;
            break;
        default:
            from = arg % width;
            break;
        }
        if (from < 0 || from >= width || base + from >= n)
            from = lane; /* outside of the group: the own value */
        t[i].r[e->dst] = tmp[base + from];
    }
}

static bool
waits_in_memory(const interp_frame *t, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (t[i].state == INTERP_WAITS && t[i].waits_at->op == INTERP_MWAIT)
            return true;
    return false;
}

/* Threads that wait at a barrier in shared memory look again as long as others move. */
static outcome
do_fork(interp_frame *f, const interp_ins *in)
{
    interp *vm = f->vm;
    const interp_code *code = f->code;
    uint64_t n = 1;
    for (int32_t i = 0; i < in->b; i++) {
        int64_t e = f->r[in->c + i].i;
        if (e < 1)
            return DONE;
        if (n > INTERP_MAX_THREADS || (n *= (uint64_t)e) > INTERP_MAX_THREADS)
            return plain_error(f, in, TNB_UNSUPPORTED, "a group has more than 4096 threads");
    }
    interp_frame *t = calloc(n, sizeof *t);
    size_t n_regs = (size_t)code->n_consts + (size_t)code->n_regs;
    interp_reg *r = malloc((n * n_regs + 1) * sizeof *r);
    interp_buf *b = malloc((n * (size_t)code->n_bufs + 1) * sizeof *b);
    interp_mem **slots = calloc(n * (size_t)code->n_slots + 1, sizeof *slots);
    interp_reg *tmp = malloc(n * sizeof *tmp);
    outcome all = t && r && b && slots && tmp
                      ? DONE
                      : plain_error(f, in, TNB_NO_MEMORY, "no memory for threads");
    uint32_t start = (uint32_t)(in - code->at) + 1, arrived[INTERP_NAMED_BARRIERS] = {0};
    for (uint64_t i = 0; all == DONE && i < n; i++) {
        t[i] = (interp_frame){.vm = vm,
                              .code = code,
                              .r = r + i * n_regs + code->n_consts,
                              .b = b + i * (uint64_t)code->n_bufs,
                              .slots = slots + i * (uint64_t)code->n_slots,
                              .group = f,
                              .pc = start,
                              .arrived = arrived};
        memcpy(r + i * n_regs, f->r - code->n_consts, n_regs * sizeof *r);
        memcpy(t[i].b, f->b, (size_t)code->n_bufs * sizeof *b);
        uint64_t rest = i;
        for (int32_t k = 0; k < in->b; k++) { /* the first index runs fastest */
            uint64_t e = (uint64_t)f->r[in->c + k].i;
            t[i].r[in->a + k].i = (int64_t)(rest % e);
            rest /= e;
        }
    }
    while (all == DONE) {
        bool moved = false, left = false;
        const interp_ins *at;
        for (uint64_t i = 0; all == DONE && i < n; i++) {
            bool runs = t[i].state == INTERP_RUNS;
            if (!runs && (t[i].state == INTERP_ENDED || t[i].waits_at->op != INTERP_MWAIT))
                continue;
            t[i].passed = false;
            all = run(&t[i], t[i].pc);
            t[i].state = all == DONE ? INTERP_ENDED : INTERP_WAITS;
            moved |= runs || all == DONE || t[i].passed;
            all = all == WAITING ? DONE : all;
        }
        for (uint64_t i = 0; i < n; i++)
            left |= t[i].state == INTERP_WAITS;
        if (all != DONE || !left)
            break;
        if (moved && waits_in_memory(t, n))
            continue;
        if (!interp_release(t, n, &at)) {
            all = FAILED;
        } else if (at && at->op == INTERP_EXCHANGE) {
            const interp_exchange *e = at->x.ptr;
            if (e->kind == INTERP_SHUFFLE)
                shuffle_threads(t, (uint32_t)n, e, tmp);
            else if (!reduce_threads(vm, t, (uint32_t)n, e))
                all = FAILED;
        }
    }
    for (uint64_t i = 0; t && i < n; i++)
        interp_late_free(&t[i]);
    for (uint64_t i = 0; slots && i < n * (uint64_t)code->n_slots; i++)
        interp_mem_unref(vm, slots[i]);
    free(t);
    free(r);
    free(b);
    free(slots);
    free(tmp);
    return all;
}

/* ---- the machine ---- */

#define FAIL_IF(o)     \
    if ((o) == FAILED) \
        return FAILED;

/* One load: `lin` in lanes from the buffer's start. */
#define LOAD(ctype, field, get)                                 \
    do {                                                        \
        uint64_t off = b->base + (uint64_t)lin * sizeof(ctype); \
        ctype v;                                                \
        if (b->shadow) {                                        \
            uint16_t s;                                         \
            memcpy(&s, b->shadow + (off >> 3), 2);              \
            const unsigned mask = (1u << sizeof(ctype)) - 1;    \
            if (((unsigned)s >> (off & 7) & mask) != mask)      \
                return unwritten_error(f, in, b, lin);          \
        }                                                       \
        memcpy(&v, b->bytes + off, sizeof v);                   \
        r[in->a].field = get(v);                                \
    } while (0)
#define STORE(ctype, field, put)                                                     \
    do {                                                                             \
        uint64_t off = b->base + (uint64_t)lin * sizeof(ctype);                      \
        ctype v = (ctype)put(r[in->a].field);                                        \
        if (b->shadow) {                                                             \
            uint16_t s;                                                              \
            memcpy(&s, b->shadow + (off >> 3), 2);                                   \
            s |= (uint16_t)(((1u << sizeof(ctype)) - 1) << (off & 7));               \
            memcpy(b->shadow + (off >> 3), &s, 2);                                   \
        } else if (b->mem->readonly) {                                               \
            return memory_error(f, in, b, "it is a constant and cannot be written"); \
        }                                                                            \
        memcpy(b->bytes + off, &v, sizeof v);                                        \
    } while (0)
#define INDEX1                                        \
    const interp_buf *b = &bufs[in->b];               \
    uint64_t i0 = (uint64_t)r[in->c].i;               \
    if (i0 >= b->ext[0])                              \
        return index_error(f, in, b, 0, (int64_t)i0); \
    int64_t lin = (int64_t)i0 * b->stride[0];
#define INDEX2                                                     \
    const interp_buf *b = &bufs[in->b];                            \
    uint64_t i0 = (uint64_t)r[in->c].i, i1 = (uint64_t)r[in->d].i; \
    if (i0 >= b->ext[0])                                           \
        return index_error(f, in, b, 0, (int64_t)i0);              \
    if (i1 >= b->ext[1])                                           \
        return index_error(f, in, b, 1, (int64_t)i1);              \
    int64_t lin = (int64_t)i0 * b->stride[0] + (int64_t)i1 * b->stride[1];
#define INDEXF                                                  \
    const interp_buf *b = &bufs[in->b];                         \
    if (!b->mem)                                                \
        return memory_error(f, in, b, "it has no memory here"); \
    int64_t lin = r[in->c].i;

#define NEXT           \
    do {               \
        in++;          \
        goto * in->go; \
    } while (0)
#define BINARY(name, field, expr)                                    \
    L_##name:                                                        \
    {                                                                \
        __typeof__(r->field) x = r[in->b].field, y = r[in->c].field; \
        r[in->a].field = (expr);                                     \
        NEXT;                                                        \
    }
#define COMPARE(name, field, expr)                                   \
    L_##name:                                                        \
    {                                                                \
        __typeof__(r->field) x = r[in->b].field, y = r[in->c].field; \
        r[in->a].i = (expr);                                         \
        NEXT;                                                        \
    }
#define DIVIDE(name, field, expr)                                       \
    L_##name:                                                           \
    {                                                                   \
        __typeof__(r->field) x = r[in->b].field, y = r[in->c].field;    \
        if (y == 0)                                                     \
            return plain_error(f, in, TNB_INVALID, "division by zero"); \
        r[in->a].field = (expr);                                        \
        NEXT;                                                           \
    }

static outcome
run(interp_frame *f, uint32_t pc)
{
    static const void *const labels[] = {
#define X(name) &&L_##name,
        INTERP_OPS(X)
#undef X
#define M(name, ctype, field, get, put) \
    &&L_LD1_##name, &&L_LD2_##name, &&L_LDF_##name, &&L_ST1_##name, &&L_ST2_##name, &&L_STF_##name,
            INTERP_MEMTYPES(M)
#undef M
    };
    interp *vm = f->vm;
    interp_reg *const r = f->r;
    interp_buf *const bufs = f->b;
    const interp_ins *const code = f->code->at;
    if (!f->code->linked) {
        interp_code *c = (interp_code *)(uintptr_t)f->code; /* made once, by this thread */
        for (uint32_t i = 0; i < c->n; i++)
            c->at[i].go = labels[c->at[i].op];
        c->linked = true;
    }
    const interp_ins *in = code + pc;
    goto * in->go;

L_END:
    f->pc = 0;
    return DONE;
L_RET:
    f->ret = r[in->a];
    f->returned = true;
    return DONE;
L_JMP:
    in = code + in->x.imm;
    goto * in->go;
L_JZ:
    if (r[in->a].i == 0) {
        in = code + in->x.imm;
        goto * in->go;
    }
    NEXT;
L_JNZ:
    if (r[in->a].i != 0) {
        in = code + in->x.imm;
        goto * in->go;
    }
    NEXT;
L_JGE:
    if (r[in->a].i >= r[in->b].i) {
        in = code + in->x.imm;
        goto * in->go;
    }
    NEXT;
L_LOOP:
    if (++r[in->a].i < r[in->b].i) {
        in = code + in->x.imm;
        goto * in->go;
    }
    NEXT;
L_COUNT:
    vm->spent += (uint64_t)in->x.imm;
    if (vm->spent > vm->budget) {
        vm->opt->out_of_budget = true;
        return plain_error(f, in, TNB_CANCELLED, "the budget of operations is used up");
    }
    NEXT;
L_ASSERT:
    if (r[in->a].i == 0) {
        assertion_failed(f, in, r + in->b);
        return FAILED;
    }
    NEXT;
L_INDEX : {
    int64_t i = r[in->b].i, n = r[in->c].i;
    int64_t at = in->d && i < 0 ? (int64_t)((uint64_t)i + (uint64_t)n) : i;
    if (at < 0 || at >= n) {
        tn_error(vm->ctx, f->code->loc[in - code], TNB_BOUNDS,
                 "%s: %s: index %lld is out of range, the extent is %lld", func_name(f),
                 (const char *)in->x.ptr, (long long)i, (long long)n);
        return FAILED;
    }
    r[in->a].i = at;
    NEXT;
}
L_FORK : {
    FAIL_IF(do_fork(f, in));
    in = code + in->x.imm;
    goto * in->go;
}
L_BARRIER:
    if (!f->group)
        NEXT;
    f->pc = (uint32_t)(in - code) + 1;
    f->waits_at = in;
    return WAITING;
L_NAMED:
    if (r[in->b].i < 0 || r[in->b].i >= INTERP_NAMED_BARRIERS || r[in->c].i < 1)
        return plain_error(f, in, TNB_INVALID,
                           "barriers have the numbers 0 to 15 and at least one thread");
    if (!f->group)
        NEXT;
    if (in->a) {
        f->arrived[r[in->b].i]++;
        NEXT;
    }
    f->pc = (uint32_t)(in - code) + 1;
    f->waits_at = in;
    return WAITING;
L_MBARRIER:
    if (!interp_mbarrier(f, f->code->loc[in - code], (interp_mbarrier_op)in->c, r[in->a].i,
                         r[in->b].i))
        return FAILED;
    NEXT;
L_MWAIT : {
    bool ok;
    while (!interp_mbarrier_passed(f, f->code->loc[in - code], r[in->a].i, r[in->b].i, &ok)) {
        if (!ok)
            return FAILED;
        if (!f->group && interp_late_step(f, &ok) && ok)
            continue; /* the only thread */
        if (!f->group)
            return ok ? plain_error(f, in, TNB_INVALID,
                                    "the only thread waits for ever at a barrier in shared memory")
                      : FAILED;
        f->pc = (uint32_t)(in - code);
        f->waits_at = in;
        return WAITING;
    }
    f->passed = true;
    NEXT;
}
L_EXCHANGE:
    if (!f->group) { /* a group of one thread */
        const interp_exchange *e = in->x.ptr;
        for (int32_t i = 0; i < e->n; i++)
            r[e->dst + i] = r[e->src + i];
        NEXT;
    }
    f->pc = (uint32_t)(in - code) + 1;
    f->waits_at = in;
    return WAITING;
L_LATE_OPEN:
    if (!interp_late_open(f, &bufs[in->b], r[in->c].i, bufs[in->b].info->bytes))
        return FAILED;
    NEXT;
L_LATE_CLOSE:
    if (!interp_late_close(f, &bufs[in->b], r[in->c].i, bufs[in->b].info->bytes, (uint32_t)in->a))
        return FAILED;
    NEXT;
L_LATE_COMMIT:
    if (!interp_late_commit(f, (uint32_t)in->a))
        return FAILED;
    NEXT;
L_LATE_WAIT:
    interp_late_wait(f, (uint32_t)in->a, r[in->b].i);
    NEXT;
L_ALLOC:
    FAIL_IF(do_alloc(f, in));
    NEXT;
L_BUFFER:
    FAIL_IF(do_buffer(f, in));
    NEXT;
L_PRIVATE:
    FAIL_IF(do_private(f, in));
    NEXT;
L_CALL:
    FAIL_IF(do_call(f, in));
    NEXT;
L_MATH : {
    double args[4] = {0}, v;
    for (int i = 0; i < in->c && i < 4; i++)
        args[i] = in->d ? r[in->b + i].d : (double)r[in->b + i].f;
    v = in->x.math(args, in->c);
    if (in->d)
        r[in->a].d = v;
    else
        r[in->a].f = (float)v;
    NEXT;
}
L_HELPER : {
    const char *wrong = in->x.helper(r, in->a, in->b, (int64_t)in->c | (int64_t)in->d << 32);
    if (wrong)
        return plain_error(f, in, TNB_INVALID, wrong);
    NEXT;
}
L_MOV:
    r[in->a] = r[in->b];
    NEXT;
    BINARY(ADD, u, x + y)
    BINARY(SUB, u, x - y)
    BINARY(MUL, u, x * y)
    BINARY(ADDI32, i, (int32_t)((uint32_t)x + (uint32_t)y))
    BINARY(SUBI32, i, (int32_t)((uint32_t)x - (uint32_t)y))
    BINARY(MULI32, i, (int32_t)((uint32_t)x * (uint32_t)y))
    DIVIDE(TDIV, i, tnb_div_i64(x, y))
    DIVIDE(TMOD, i, tnb_mod_i64(x, y))
    DIVIDE(FDIV, i, tnb_floor_div_i64(x, y))
    DIVIDE(FMOD, i, tnb_floor_mod_i64(x, y))
    DIVIDE(UDIV, u, x / y)
    DIVIDE(UMOD, u, x % y)
    BINARY(MIN, i, x < y ? x : y)
    BINARY(MAX, i, x > y ? x : y)
    BINARY(UMIN, u, x < y ? x : y)
    BINARY(UMAX, u, x > y ? x : y)
    COMPARE(EQ, i, x == y)
    COMPARE(NE, i, x != y)
    COMPARE(LT, i, x < y)
    COMPARE(LE, i, x <= y)
    COMPARE(ULT, u, x < y)
    COMPARE(ULE, u, x <= y)
    BINARY(AND, u, x & y)
    BINARY(OR, u, x | y)
    BINARY(XOR, u, x ^ y)
L_BNOT:
    r[in->a].u = ~r[in->b].u;
    NEXT;
L_NOT:
    r[in->a].i = r[in->b].i == 0;
    NEXT;
L_SHL:
    if (r[in->c].u >= (uint64_t)in->d)
        return plain_error(f, in, TNB_INVALID, "a shift by more than the bits of its dtype");
    r[in->a].u = r[in->b].u << r[in->c].u;
    NEXT;
L_SHR:
    if (r[in->c].u >= (uint64_t)in->d)
        return plain_error(f, in, TNB_INVALID, "a shift by more than the bits of its dtype");
    r[in->a].i = r[in->b].i >> r[in->c].u;
    NEXT;
L_USHR:
    if (r[in->c].u >= (uint64_t)in->d)
        return plain_error(f, in, TNB_INVALID, "a shift by more than the bits of its dtype");
    r[in->a].u = r[in->b].u >> r[in->c].u;
    NEXT;
L_ABS:
    r[in->a].u = r[in->b].i < 0 ? 0 - r[in->b].u : r[in->b].u;
    NEXT;
L_SELECT:
    r[in->a] = r[in->b].i ? r[in->c] : r[in->d];
    NEXT;
L_WRAPS:
    r[in->a].i = (int64_t)(r[in->b].u << (64 - in->d)) >> (64 - in->d);
    NEXT;
L_WRAPU:
    r[in->a].u = r[in->b].u << (64 - in->d) >> (64 - in->d);
    NEXT;
L_TOBOOL:
    r[in->a].i = r[in->b].i != 0;
    NEXT;
    BINARY(ADDF, f, x + y)
    BINARY(SUBF, f, x - y)
    BINARY(MULF, f, x * y)
    BINARY(DIVF, f, x / y)
    BINARY(FDIVF, f, floorf(x / y))
    BINARY(FMODF, f, x - floorf(x / y) * y)
    BINARY(MINF, f, x < y || isnan(x) ? x : y)
    BINARY(MAXF, f, x > y || isnan(x) ? x : y)
    COMPARE(EQF, f, x == y)
    COMPARE(NEF, f, x != y)
    COMPARE(LTF, f, x < y)
    COMPARE(LEF, f, x <= y)
    BINARY(ADDD, d, x + y)
    BINARY(SUBD, d, x - y)
    BINARY(MULD, d, x * y)
    BINARY(DIVD, d, x / y)
    BINARY(FDIVD, d, floor(x / y))
    BINARY(FMODD, d, x - floor(x / y) * y)
    BINARY(MIND, d, x < y || isnan(x) ? x : y)
    BINARY(MAXD, d, x > y || isnan(x) ? x : y)
    COMPARE(EQD, d, x == y)
    COMPARE(NED, d, x != y)
    COMPARE(LTD, d, x < y)
    COMPARE(LED, d, x <= y)
L_ABSF:
    r[in->a].f = fabsf(r[in->b].f);
    NEXT;
L_ABSD:
    r[in->a].d = fabs(r[in->b].d);
    NEXT;
L_I2F:
    r[in->a].f = (float)r[in->b].i;
    NEXT;
L_U2F:
    r[in->a].f = (float)r[in->b].u;
    NEXT;
L_I2D:
    r[in->a].d = (double)r[in->b].i;
    NEXT;
L_U2D:
    r[in->a].d = (double)r[in->b].u;
    NEXT;
L_F2D:
    r[in->a].d = (double)r[in->b].f;
    NEXT;
L_D2F:
    r[in->a].f = (float)r[in->b].d;
    NEXT;
L_D2I:
    r[in->a].i = tnb_f64_to_i64(r[in->b].d);
    NEXT;
L_D2U:
    r[in->a].u = tnb_f64_to_u64(r[in->b].d);
    NEXT;
L_ROUND:
    r[in->a].f = round_float(r[in->b].f, unpack(in->x.imm));
    NEXT;
L_ROUND16:
    r[in->a].f = interp_round_half(r[in->b].f);
    NEXT;
L_ROUNDD:
    r[in->a].f = round_double(r[in->b].d, unpack(in->x.imm));
    NEXT;
L_BITS:
    r[in->a] = reinterpret(r[in->b], unpack(in->c), unpack(in->d));
    NEXT;
L_LIN0 : {
    const interp_buf *b = &bufs[in->b];
    uint64_t i = (uint64_t)r[in->c].i;
    if (i >= b->ext[in->d])
        return index_error(f, in, b, in->d, (int64_t)i);
    r[in->a].i = (int64_t)i * b->stride[in->d];
    NEXT;
}
L_LIN : {
    const interp_buf *b = &bufs[in->b];
    uint64_t i = (uint64_t)r[in->c].i;
    if (i >= b->ext[in->d])
        return index_error(f, in, b, in->d, (int64_t)i);
    r[in->a].i += (int64_t)i * b->stride[in->d];
    NEXT;
}
L_LANE:
    r[in->a].i = r[in->b].i * in->x.imm + in->c;
    NEXT;
L_ADDR : {
    const interp_buf *b = &bufs[in->b];
    if (!b->mem)
        return memory_error(f, in, b, "it has no memory here");
    r[in->a].i = interp_handle(b->mem, b->base + (uint64_t)r[in->c].i * b->info->bytes);
    NEXT;
}
L_MOVEPTR:
    r[in->a].i = r[in->b].i + r[in->c].i * in->x.imm;
    NEXT;
L_LDX:
    FAIL_IF(access_odd(f, in, false));
    NEXT;
L_STX:
    FAIL_IF(access_odd(f, in, true));
    NEXT;
#define M(name, ctype, field, get, put)  \
    L_LD1_##name:                        \
    {                                    \
        INDEX1 LOAD(ctype, field, get);  \
        NEXT;                            \
    }                                    \
    L_LD2_##name:                        \
    {                                    \
        INDEX2 LOAD(ctype, field, get);  \
        NEXT;                            \
    }                                    \
    L_LDF_##name:                        \
    {                                    \
        INDEXF LOAD(ctype, field, get);  \
        NEXT;                            \
    }                                    \
    L_ST1_##name:                        \
    {                                    \
        INDEX1 STORE(ctype, field, put); \
        NEXT;                            \
    }                                    \
    L_ST2_##name:                        \
    {                                    \
        INDEX2 STORE(ctype, field, put); \
        NEXT;                            \
    }                                    \
    L_STF_##name:                        \
    {                                    \
        INDEXF STORE(ctype, field, put); \
        NEXT;                            \
    }
    INTERP_MEMTYPES(M)
#undef M
}

/* ---- frames ---- */

bool
interp_frame_open(interp *vm, interp_frame *f, const interp_code *code)
{
    *f = (interp_frame){.vm = vm, .code = code};
    f->store = calloc((size_t)code->n_consts + (size_t)code->n_regs + 1, sizeof *f->r);
    f->b = calloc((size_t)code->n_bufs + 1, sizeof *f->b);
    f->slots = calloc((size_t)code->n_slots + 1, sizeof *f->slots);
    if (!f->store || !f->b || !f->slots) {
        interp_frame_close(vm, f);
        tn_error(vm->ctx, 0, TNB_NO_MEMORY, "%s: no memory for its registers", code->name);
        return false;
    }
    if (code->n_consts)
        memcpy(f->store, code->consts, (size_t)code->n_consts * sizeof *f->r);
    f->r = f->store + code->n_consts;
    return true;
}

void
interp_frame_close(interp *vm, interp_frame *f)
{
    interp_late_free(f);
    for (int32_t i = 0; f->slots && i < f->code->n_slots; i++)
        interp_mem_unref(vm, f->slots[i]);
    free(f->store);
    free(f->b);
    free(f->slots);
    f->store = f->r = NULL;
    f->b = NULL;
    f->slots = NULL;
}

bool
interp_exec(interp *vm, interp_frame *f)
{
    (void)vm;
    return run(f, 0) == DONE;
}
