/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering for devices that lack something: random programs are lowered for targets with narrow capabilities (SplitVectors and the
 * passes behind it in @gpu_lower), run by the interpreter with the threads of a block side by side, and compared with the same
 * programs as they were written. What is lowered holds nothing that the target lacks; where one of the passes is left out, it does.
 * Kernels for a device without pointers and numbers of 64 bits are source of such a language too, which runs (narrow_c.h). The seed is
 * printed; TENON_SEED sets it, TENON_ROUNDS the number of programs.
 */
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "draw.h"
#include "gpu_programs.h"
#include "krun.h"
#include "narrow_c.h"
#include "tenon/core/arith.h"
#include "tenon/core/pass.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/lists.h"
#include "tenon/kit/rule.h"

static krun k;
static const tn_target_kind *vulkan;

static int
open_all(void **state)
{
    (void)state;
    gpu_programs_seed();
    draw_seed(20261123);
    if (!krun_open(&k))
        return -1;
    vulkan = tn_find_target(k.reg, "vulkan", NULL);
    return vulkan ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* ---- targets ---- */

typedef struct device {
    int64_t max_vector_lanes;
    const char *uniform_barriers;
    bool no_pointers, no_8bit, no_16bit, no_int8, no_int16, no_float16, no_int64;
} device;

static device
draw_device(void)
{
    static const int64_t lanes[] = {4, 2, 1, 8, 0};
    return (device){.max_vector_lanes = lanes[between(0, 4)],
                    .uniform_barriers = between(0, 1) ? "yes" : "static",
                    .no_pointers = between(0, 3) > 0,
                    .no_8bit = between(0, 2) > 0,
                    .no_16bit = between(0, 2) > 0,
                    .no_int8 = between(0, 2) > 0,
                    .no_int16 = between(0, 2) > 0,
                    .no_float16 = between(0, 2) > 0,
                    .no_int64 = between(0, 2) > 0};
}

static const tn_target *
target_of(const device *d)
{
    const tn_node *keys = tn_array_of(k.ctx, tn_listv(k.ctx, tn_string(k.ctx, "vulkan"),
                                                      tn_string(k.ctx, "gpu"), NULL));
    const tn_node *attrs =
        tn_dictv(k.ctx, "keys", keys, "thread_warp_size", tn_i64(k.ctx, 1), "max_threads_per_block",
                 tn_i64(k.ctx, 64), "max_num_threads", tn_i64(k.ctx, 64),
                 "max_shared_memory_per_block", tn_i64(k.ctx, 65536), "max_vector_lanes",
                 tn_i64(k.ctx, d->max_vector_lanes), "uniform_barriers",
                 tn_string(k.ctx, d->uniform_barriers), NULL);
    const struct {
        const char *attr;
        bool lacks;
    } rows[] = {{"supports_pointers", d->no_pointers},  {"supports_8bit_buffer", d->no_8bit},
                {"supports_16bit_buffer", d->no_16bit}, {"supports_int8", d->no_int8},
                {"supports_int16", d->no_int16},        {"supports_float16", d->no_float16},
                {"supports_int64", d->no_int64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].lacks)
            attrs = tn_dict_set(k.ctx, attrs, rows[i].attr, tn_bool(k.ctx, false));
    return tn_as_target(tn_target_of(k.ctx, "vulkan", attrs));
}

/* ---- what a device lacks ---- */

typedef struct lack {
    const device *d;
    const char *what;
    const tn_expr *stored; /* a Cast to what is stored */
} lack;

static tn_walk_step
find_lack(void *user, const tn_node *n)
{
    lack *l = user;
    if (n->kind == TN_KIND_BUFFER || n->kind == TN_KIND_ALLOC_BUFFER)
        return TN_WALK_SKIP; /* extents are no work of a kernel's */
    tnb_dtype d = tn_is_scalar(n) ? tn_dtype_of(n) : TNB_I32;
    if (l->d->max_vector_lanes > 0 && d.lanes > l->d->max_vector_lanes)
        l->what = "a vector is too wide";
    tn_list idx;
    const tn_node *buffer = tn_as_buffer_load(n)    ? tn_as_buffer_load(n)->buffer
                            : tn_as_buffer_store(n) ? tn_as_buffer_store(n)->buffer
                                                    : NULL;
    if (buffer)
        idx = tn_as_buffer_load(n) ? tn_as_buffer_load(n)->indices : tn_as_buffer_store(n)->indices;
    if (l->d->no_pointers && buffer && tn_dtype_of(idx.at[0]).lanes > 1)
        l->what = "several elements are accessed at once";
    tnb_dtype in = buffer ? tn_as_buffer(buffer)->dtype : TNB_I32;
    if ((l->d->no_8bit && in.bits == 8) || (l->d->no_16bit && in.bits == 16))
        l->what = "an element is too narrow";
    if (tn_is_scalar(n) && !tn_as_buffer_load(n) && !(tn_as_cast(n) && l->stored == n)) {
        bool is_int = d.code == TNB_INT || d.code == TNB_UINT;
        if ((is_int && d.bits == 8 && l->d->no_int8) ||
            (is_int && d.bits == 16 && l->d->no_int16) ||
            (d.code == TNB_FLOAT && d.bits == 16 && l->d->no_float16))
            l->what = "a number is too narrow";
    }
    if (l->d->no_int64 && tn_is_scalar(n) && tnb_dtype_is_int(d) && d.bits == 64)
        l->what = "a number has 64 bits";
    if (tn_as_buffer_store(n))
        l->stored = tn_as_buffer_store(n)->value;
    bool pointer = n->kind == TN_KIND_DECL_BUFFER || (tn_as_call(n) && d.code == TNB_HANDLE);
    for (uint32_t i = 0; tn_as_call(n) && i < tn_as_call(n)->args.n; i++)
        pointer |= tn_dtype_of(tn_as_call(n)->args.at[i]).code == TNB_HANDLE;
    if (l->d->no_pointers && pointer)
        l->what = "there is a pointer";
    return l->what ? TN_WALK_STOP : TN_WALK_ON;
}

/* What the kernel has and the device has not; NULL: nothing. */
static const char *
lacking(const device *d, tnk_kernel *kernel)
{
    lack l = {d, NULL, NULL};
    tn_walk(tn_as_prim_func(kernel->func)->body, 0, find_lack, NULL, &l);
    return l.what;
}

/* ---- lowering and running ---- */

/* The kernel, lowered without one of the passes (NULL: with all of them). */
static tnk_kernel *
lowered(const device *d, const tn_node *f, const char *without)
{
    static char text[2048];
    static const char *const list[] = {text, NULL};
#define GPU_LOWER(name, passes, doc) \
    if (!strcmp(name, "gpu_lower"))  \
        snprintf(text, sizeof text, "%s", passes);
    TNK_PASS_LISTS(GPU_LOWER)
#undef GPU_LOWER
    for (char *at = without ? text : NULL; at && (at = strstr(at, without));) {
        size_t n = strlen(without) + strlen(", ");
        memmove(at, at + n, strlen(at + n) + 1);
    }
    tn_target_kind kind = *vulkan;
    kind.lower = list;
    return tnk_lower_kernel(k.ctx, target_of(d), &kind, "f", f);
}

/* What the host knows: the symbols of `f` by their names, its scalars by its arguments. */
typedef struct host {
    tnb_ptrmap values;
} host;

static void
host_init(host *h, const tn_node *func, const tn_node *dims, tn_list args)
{
    const tn_prim_func *f = tn_as_prim_func(func);
    tn_list symbols = tn_defined_symbols(k.ctx, func);
    tnb_ptrmap_init(&h->values, tn_scratch(k.ctx));
    for (uint32_t i = 0; i < symbols.n; i++)
        tnb_ptrmap_set(&h->values, symbols.at[i],
                       tn_i64(k.ctx, tn_dict_int(dims, tn_var_name(symbols.at[i]), 1)));
    for (uint32_t i = 0; i < f->params.n; i++)
        if (!f->buffers.at[i])
            tnb_ptrmap_set(&h->values, f->params.at[i], args.at[i]);
}

static const tn_expr *
host_value(host *h, const tn_expr *e)
{
    return tn_simplify_now(k.ctx, tn_subst(k.ctx, e, &h->values));
}

static bool compiles; /* kernels run as source of narrow_c.h */

static const tn_constant *
nth_tensor(tn_list args, uint32_t n)
{
    for (uint32_t i = 0; i < args.n; i++)
        if (tn_as_constant(args.at[i]) && n-- == 0)
            return tn_as_constant(args.at[i]);
    return NULL;
}

/* Runs the kernel as a launch does: its memory holds the bytes of the tensors, whatever the dtypes are called. */
static bool
launch(tnk_kernel *kernel, const tn_node *f, const tn_node *dims, tn_list args)
{
    host h;
    host_init(&h, f, dims, args);
    for (uint32_t i = 0; i < kernel->n_params; i++) /* a pass may have made scalars of its own */
        if (kernel->params[i].kind == TNB_PARAM_SCALAR)
            tnb_ptrmap_set(&h.values, kernel->params[i].var,
                           host_value(&h, kernel->params[i].value));
    for (uint32_t i = 0; i < kernel->n_checks; i++) {
        const tn_expr *cond = tn_as_assert_stmt(kernel->checks[i])->cond;
        int64_t holds = 0;
        assert_true(tn_int_value(host_value(&h, cond), &holds));
        if (!holds) {
            fprintf(stderr, "the host refuses: %s\n", tn_text(k.ctx, kernel->checks[i]));
            return false;
        }
    }
    tn_list given = {0};
    void *bytes[16];
    for (uint32_t i = 0; i < kernel->n_params; i++) {
        const tnk_param *p = &kernel->params[i];
        if (p->kind == TNB_PARAM_SCALAR) {
            given = tn_list_append(k.ctx, given, host_value(&h, p->value));
            continue;
        }
        if (p->kind != TNB_PARAM_BUFFER)
            continue;
        const tn_constant *c = nth_tensor(args, p->argument);
        const tn_buffer *b = tn_as_buffer(p->buffer);
        int64_t n = 0;
        assert_true(c && given.n < 16 && tn_int_value(host_value(&h, b->shape.at[0]), &n));
        const tn_data *d = tn_data_new(k.ctx, b->dtype, 1, &n, &bytes[given.n]);
        assert_non_null(d);
        if (d->n_bytes < c->data->n_bytes || d->n_bytes > c->data->n_bytes + 7) {
            fprintf(stderr, "argument %u: the kernel has %llu bytes of %llu\n", i,
                    (unsigned long long)d->n_bytes, (unsigned long long)c->data->n_bytes);
            return false;
        }
        if (c->data->n_bytes)
            memcpy(bytes[given.n], tn_data_get(k.ctx, c->data), c->data->n_bytes);
        given = tn_list_append(k.ctx, given, tn_constant_of(k.ctx, d));
    }
    if (compiles) {
        tn_list scalars = {0};
        int64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
        uint32_t n = 0;
        void *memory[16];
        for (uint32_t i = 0, at = 0; i < kernel->n_params; i++) {
            if (kernel->params[i].kind == TNB_PARAM_BUFFER)
                memory[n++] = bytes[at++];
            else if (kernel->params[i].kind == TNB_PARAM_SCALAR)
                scalars = tn_list_append(k.ctx, scalars, given.at[at++]);
        }
        for (int i = 0; i < 3; i++) {
            assert_true(!kernel->grid[i] ||
                        tn_int_value(host_value(&h, kernel->grid[i]), &grid[i]));
            assert_true(!kernel->block[i] ||
                        tn_int_value(host_value(&h, kernel->block[i]), &block[i]));
        }
        if (!narrow_c_run(k.ctx, kernel, memory, scalars, grid, block)) {
            krun_print_errors(&k);
            return false;
        }
    } else if (!krun_interpret(&k, kernel->func, given)) {
        return false;
    }
    for (uint32_t i = 0, at = 0; i < kernel->n_params; i++) {
        const tnk_param *p = &kernel->params[i];
        if (p->kind == TNB_PARAM_BUFFER) {
            const tn_constant *c = nth_tensor(args, p->argument);
            if (c->data->n_bytes)
                memcpy((void *)(uintptr_t)c->data->bytes, bytes[at], c->data->n_bytes);
        }
        at += p->kind == TNB_PARAM_BUFFER || p->kind == TNB_PARAM_SCALAR;
    }
    return true;
}

static void
show(const tn_node *f)
{
    tnb_buf text = {0};
    tn_print_options opt = {0};
    (void)tn_print(k.ctx, TN_NODE(tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f)), &opt, &text);
    fprintf(stderr, "%s\n", text.s ? text.s : "");
    tnb_buf_free(&text);
}

static int checked, lacked;
static bool extremes; /* arguments are the least, the greatest and what is no number */

static void
make_extreme(tn_list args);

/* Lowers `f`, one kernel that computes what `meaning` says, and compares. */
static void
check(const device *d, const tn_node *meaning, const tn_node *f, const tn_node *dims,
      double tolerance, const char *name)
{
    tnk_kernel *kernel = lowered(d, f, NULL);
    const char *why = NULL;
    tn_list a;
    if (!kernel) {
        krun_print_errors(&k);
        why = "is not lowered";
    } else if (tn_verify(k.ctx, tn_module_set(k.ctx, tn_module_new(k.ctx), "f", kernel->func))) {
        krun_print_errors(&k);
        why = "not well formed";
    } else {
        why = lacking(d, kernel);
    }
    if (!why) {
        assert_true(
            tn_random_args_within(k.ctx, meaning, (uint64_t)between(1, 1000), dims, 0, 5, &a));
        if (extremes)
            make_extreme(a);
        tn_list b = krun_copy(&k, a);
        assert_true(krun_interpret(&k, meaning, a));
        why = !launch(kernel, f, dims, b)                      ? "does not run"
              : !krun_close_to(&k, b, a, tolerance, tolerance) ? "computes something else"
                                                               : NULL;
    }
    checked++;
    if (!why)
        return;
    show(f);
    if (kernel)
        show(kernel->func);
    fail_msg("%s, at most %lld lanes: %s", name, (long long)d->max_vector_lanes, why);
}

/* ---- programs with vectors, as text ---- */

typedef struct text {
    char s[16384];
    size_t n;
    int64_t blocks, threads, lanes, inputs;
    bool halves;           /* float16 among the dtypes */
    const char *dtypes[5]; /* of the inputs as they are read, and of the result */
    bool view[4];          /* an input is read through a view */
} text;

static void
add(text *t, const char *fmt, ...) TNB_PRINTF(2, 3);
static void
add(text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
    t->n += (size_t)n;
    assert_true(t->n < sizeof t->s);
}

static bool
is_bool(const char *d)
{
    return d[0] == 'b';
}

static bool
is_float(const char *d)
{
    return d[0] == 'f';
}

static const char *
draw_dtype(bool ints)
{
    static const char *const all[] = {"int32", "int8",  "uint8",   "int16",   "uint16",  "uint32",
                                      "int64", "int64", "float32", "float16", "float16", "bool"};
    return all[between(0, ints ? 7 : 11)];
}

/* How a view of elements of the dtype may read them. */
static const char *
same_width(const char *d)
{
    static const char *const pairs[][2] = {{"float32", "int32"}, {"int32", "uint32"},
                                           {"uint32", "int32"},  {"int8", "uint8"},
                                           {"uint8", "int8"},    {"int16", "uint16"},
                                           {"uint16", "int16"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && between(0, 1); i++)
        if (!strcmp(pairs[i][0], d))
            return pairs[i][1];
    return d;
}

/* An element of an input, where the lane at hand is. */
static void
element(text *t, int64_t i)
{
    add(t, "%s%d[(b * %d + t) * %d + v]", t->view[i] ? "V" : "A", (int)i, (int)t->threads,
        (int)t->lanes);
}

static void
expression(text *t, const char *d, int depth);

static void
leaf(text *t, const char *d)
{
    int64_t i = between(0, t->inputs);
    if (i == t->inputs && is_bool(d))
        add(t, "(t < %d)", (int)between(0, t->threads));
    else if (i == t->inputs && !is_float(d))
        add(t, "T.Cast(\"%s\", t * 3 + %d)", d, (int)between(0, 9));
    else if (i == t->inputs)
        add(t, "T.%s(%d.5)", d, (int)between(-3, 3));
    else if (!strcmp(t->dtypes[i], d)) {
        element(t, i);
    } else if (!strcmp(d, "float16") && !is_float(t->dtypes[i]) && !is_bool(t->dtypes[i])) {
        add(t, "T.Cast(\"float16\", T.bitwise_and(");
        element(t, i);
        add(t, ", T.%s(7)))", t->dtypes[i]);
    } else {
        add(t, "T.Cast(\"%s\", ", d);
        element(t, i);
        add(t, ")");
    }
}

static void
pair_of(text *t, const char *form, const char *d, int depth)
{
    const char *comma = strchr(form, ',');
    add(t, "%.*s", (int)(comma - form), form);
    expression(t, d, depth - 1);
    add(t, "%s", comma + 1);
    expression(t, d, depth - 1);
    add(t, ")");
}

static void
expression(text *t, const char *d, int depth)
{
    if (depth == 0) {
        leaf(t, d);
        return;
    }
    if (is_bool(d)) {
        pair_of(t, between(0, 1) ? "(, < " : "(, != ", draw_dtype(true), depth);
        return;
    }
    switch (between(0, is_float(d) ? 6 : 9)) {
    case 0:
    case 1:
        pair_of(t, "(, + ", d, depth);
        return;
    case 2:
        pair_of(t, "(, - ", d, depth);
        return;
    case 3:
        /* what float16 cannot hold is another number in 32 bits */
        pair_of(t, strcmp(d, "float16") ? "(, * " : "T.min(,, ", d, depth);
        return;
    case 4:
        pair_of(t, "T.max(,, ", d, depth);
        return;
    case 5: {
        const char *of = draw_dtype(true);
        add(t, "T.Select(");
        expression(t, of, depth - 1);
        add(t, between(0, 1) ? " < " : " == ");
        expression(t, of, depth - 1);
        add(t, ", ");
        expression(t, d, depth - 1);
        add(t, ", ");
        expression(t, d, depth - 1);
        add(t, ")");
        return;
    }
    case 6:
        add(t, "T.if_then_else(t < %d, ", (int)between(0, t->threads));
        expression(t, d, depth - 1);
        add(t, ", ");
        expression(t, d, depth - 1);
        add(t, ")");
        return;
    case 7:
        pair_of(t, "T.bitwise_xor(,, ", d, depth);
        return;
    case 8: {
        const char *of = draw_dtype(true);
        add(t, "T.Cast(\"%s\", ", d);
        expression(t, of, depth - 1);
        add(t, ")");
        return;
    }
    default:
        if (!strcmp(d, "int64")) {
            leaf(t, d);
            return;
        }
        add(t, "T.%s(", between(0, 1) ? "shift_left" : "shift_right");
        expression(t, d, depth - 1);
        add(t, ", T.%s(%d))", d, (int)between(0, 7));
    }
}

static const tn_node *
read_text(const text *t)
{
    const tn_module *m = tn_read_module(k.ctx, "drawn", t->s, t->n);
    if (!m)
        krun_print_errors(&k);
    assert_non_null(m);
    return tn_module_get(m, "f");
}

/* A kernel of vectors over random inputs, through memory of the block or of a thread sometimes. */
static const tn_node *
draw_text(text *t)
{
    static const int64_t lanes[] = {1, 2, 3, 4, 5, 8, 16};
    static const char *const rooms[] = {"shared", "local"};
    *t = (text){.blocks = between(1, 3), .threads = between(1, 9), .lanes = lanes[between(0, 6)]};
    t->inputs = between(1, 4);
    int64_t n = t->blocks * t->threads * t->lanes, guard = between(0, 3) ? n : between(1, n);
    int room = (int)between(-1, 1);
    bool narrow = strcmp(t->dtypes[t->inputs] = draw_dtype(false), "float16") == 0;
    add(t, "@I.ir_module\nclass M:\n    @T.prim_func(s_tir=True)\n    def f(");
    for (int64_t i = 0; i < t->inputs; i++) {
        t->dtypes[i] = draw_dtype(false);
        narrow |= !strcmp(t->dtypes[i], "float16");
        t->view[i] = between(0, 3) == 0;
        add(t, "A%d: T.Buffer((%d,), \"%s\"), ", (int)i, (int)(n + 2 * i), t->dtypes[i]);
    }
    const char *d = t->dtypes[t->inputs];
    add(t, "B: T.Buffer((%d,), \"%s\")):\n", (int)n, d);
    for (int64_t i = 0; i < t->inputs; i++) {
        if (!t->view[i])
            continue;
        t->dtypes[i] = same_width(t->dtypes[i]);
        add(t, "        V%d = T.decl_buffer((%d,), \"%s\", data=A%d.data, elem_offset=%d)\n",
            (int)i, (int)n, t->dtypes[i], (int)i, (int)(2 * i));
    }
    if (room >= 0)
        add(t, "        S = T.alloc_buffer((%d,), \"%s\", scope=\"%s\")\n",
            (int)(room ? t->lanes : t->threads * t->lanes), d, rooms[room]);
    add(t,
        "        for b in T.thread_binding(%d, thread=\"blockIdx.x\"):\n"
        "            for t in T.thread_binding(%d, thread=\"threadIdx.x\"):\n",
        (int)t->blocks, (int)t->threads);
    char to[64] = "S[v]";
    if (room == 0)
        snprintf(to, sizeof to, "S[t * %d + v]", (int)t->lanes);
    add(t, "                for v in T.vectorized(%d):\n                    ", (int)t->lanes);
    char result[96];
    snprintf(result, sizeof result, "B[(b * %d + t) * %d + v]", (int)t->threads, (int)t->lanes);
    if (room < 0 && guard < n)
        add(t, "if (b * %d + t) * %d + v < %d:\n                        ", (int)t->threads,
            (int)t->lanes, (int)guard);
    add(t, "%s = ", room < 0 ? result : to);
    expression(t, d, (int)between(0, 3));
    add(t, "\n");
    if (room >= 0) {
        add(t, "                for v in T.vectorized(%d):\n                    ", (int)t->lanes);
        if (guard < n)
            add(t, "if (b * %d + t) * %d + v < %d:\n                        ", (int)t->threads,
                (int)t->lanes, (int)guard);
        if (room == 0)
            add(t, "%s = S[(%d - t) * %d + v]\n", result, (int)t->threads - 1, (int)t->lanes);
        else
            add(t, "%s = S[v]\n", result);
    }
    t->halves = narrow;
    return read_text(t);
}

/* The function as it was written, with the barriers that it needs. */
static const tn_node *
with_barriers(const tn_node *f)
{
    tn_pass_list list;
    assert_true(tn_pass_list_parse(k.ctx, "ThreadSync", "test", &list));
    tn_pass_run how = {0};
    const tn_module *m =
        tn_run_passes(k.ctx, tn_module_set(k.ctx, tn_module_new(k.ctx), "f", f), &list, &how);
    assert_non_null(m);
    return tn_module_get(m, "f");
}

static void
vectors(void **state)
{
    (void)state;
    text *t = malloc(sizeof *t);
    for (int round = 0; round < draw_rounds(150); round++) {
        device d = draw_device();
        const tn_node *f = draw_text(t);
        check(&d, with_barriers(f), f, tn_dictv(k.ctx, "unused", tn_i64(k.ctx, 1), NULL),
              t->halves ? 0.05 : 1e-3, "a text");
    }
    free(t);
}

/* ---- numbers of 64 bits, with the least and the greatest of them ---- */

static const double extreme_floats[] = {0.0,     -0.0,    1.5,           -0.75,
                                        0x1p31,  -0x1p31, 0x1p32,        0x1p52,
                                        0x1p62,  -0x1p62, 0x1.fffffep62, 0x1p63,
                                        -0x1p63, 0x1p64,  -0x1p64,       0x1.fffffep63,
                                        1e30,    -1e30,   INFINITY,      -INFINITY,
                                        NAN};

static int64_t
draw_extreme(void)
{
    static const int64_t some[] = {
        0,         1,         -1,         2,         -2,        7,  -7,
        INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, 63, INT64_C(1) << 32,
        32,        31};
    int64_t v = some[between(0, (int64_t)(sizeof some / sizeof *some) - 1)];
    switch (between(0, 5)) {
    case 0: /* of any length */
        v = (int64_t)((uint64_t)between(0, INT32_MAX) << 33 ^
                      (uint64_t)between(0, INT32_MAX) << 10 ^ (uint64_t)between(0, 1023)) >>
            between(0, 63);
        break;
    case 1: /* halfway between two floats, or beside it */
        v = (INT64_C(0x1000001) << between(0, 38)) + between(-1, 1);
        break;
    default:
        v = (int64_t)((uint64_t)v + (uint64_t)between(-1, 1));
    }
    return between(0, 1) ? v : (int64_t)(0 - (uint64_t)v);
}

/* Overwrites the elements of the arguments. */
static void
make_extreme(tn_list args)
{
    const tn_constant *c;
    for (uint32_t i = 0; (c = nth_tensor(args, i)); i++) {
        tnb_dtype d = c->data->dtype;
        char *at = (char *)(uintptr_t)c->data->bytes;
        size_t size = tnb_dtype_bytes(d);
        for (size_t b = 0; b + size <= c->data->n_bytes; b += size) {
            double f =
                extreme_floats[between(0, (int64_t)(sizeof extreme_floats / sizeof(double)) - 1)];
            int64_t v = draw_extreme();
            float single = (float)f;
            if (d.code == TNB_FLOAT && d.bits == 32)
                memcpy(at + b, &single, size);
            else if (tnb_dtype_is_int(d) && d.bits >= 32)
                memcpy(at + b, &v, size);
        }
    }
}

static void
wide_leaf(text *t, const char *d)
{
    static const char *const large[] = {"4294967295", "2147483648",          "-9223372036854775807",
                                        "1000000007", "9223372036854775807", "-3"};
    int64_t i = between(0, t->inputs);
    if (is_bool(d)) {
        add(t, "(t < %d)", (int)between(0, t->threads));
    } else if (i == t->inputs && !is_float(d)) {
        add(t, "T.Cast(\"%s\", t * 3 + %d)", d, (int)between(1, 9));
    } else if (i == t->inputs) {
        add(t, "T.%s(%d.5)", d, (int)between(-3, 3));
    } else if (!strcmp(t->dtypes[i], d)) {
        bool mix = !strcmp(d, "int64") && between(0, 4) == 0;
        add(t, mix ? "T.bitwise_xor(" : "");
        element(t, i);
        if (mix)
            add(t, ", T.int64(%s))", large[between(0, 5)]);
    } else {
        add(t, "T.Cast(\"%s\", ", d);
        element(t, i);
        add(t, ")");
    }
}

static const char *
draw_wide_dtype(void)
{
    static const char *const all[] = {"int64", "int64",  "int64",   "uint64", "uint64",
                                      "int32", "uint32", "float32", "float32"};
    return all[between(0, 8)];
}

static void
wide_expression(text *t, const char *d, int depth);

static void
two(text *t, const char *form, const char *d, int depth)
{
    const char *comma = strchr(form, ',');
    add(t, "%.*s", (int)(comma - form), form);
    wide_expression(t, d, depth - 1);
    add(t, "%s", comma + 1);
    wide_expression(t, d, depth - 1);
    add(t, ")");
}

static void
wide_condition(text *t, int depth)
{
    static const char *const forms[] = {"(, < ", "(, != ", "(, == ", "(, >= ", "(, > ", "(, <= "};
    int way = (int)between(0, 7);
    if (way >= 6 && depth > 1) {
        add(t, "(");
        wide_condition(t, depth - 1);
        add(t, way == 6 ? " and " : " or ");
        wide_condition(t, depth - 1);
        add(t, ")");
        return;
    }
    two(t, forms[between(0, 5)], draw_wide_dtype(), depth);
}

/* The reference refuses to divide by zero. */
static void
quotient(text *t, const char *d, int depth)
{
    static const char *const forms[] = {"floordiv", "floormod", "truncdiv", "truncmod"};
    char divisor[2048];
    add(t, "T.%s(", forms[between(0, 3)]);
    wide_expression(t, d, depth - 1);
    size_t at = t->n;
    wide_expression(t, d, depth > 2 ? 1 : 0);
    assert_true(t->n - at < sizeof divisor);
    memcpy(divisor, t->s + at, t->n - at);
    divisor[t->n - at] = 0;
    t->n = at;
    add(t, ", T.Select(%s == T.%s(0), T.%s(%d), %s))", divisor, d, d, (int)between(1, 9), divisor);
}

static void
wide_expression(text *t, const char *d, int depth)
{
    static const char *const ints[] = {"(, + ",
                                       "(, - ",
                                       "(, * ",
                                       "T.min(,, ",
                                       "T.max(,, ",
                                       "T.bitwise_and(,, ",
                                       "T.bitwise_or(,, ",
                                       "T.bitwise_xor(,, "};
    static const char *const floats[] = {"(, + ", "(, - ", "T.max(,, "};
    int64_t way = between(0, 9);
    if (depth == 0) {
        wide_leaf(t, d);
    } else if (way == 0) {
        add(t, "T.Select(");
        wide_condition(t, depth);
        add(t, ", ");
        wide_expression(t, d, depth - 1);
        add(t, ", ");
        wide_expression(t, d, depth - 1);
        add(t, ")");
    } else if (way == 1 || (way == 2 && t->lanes > 1)) {
        add(t, "T.if_then_else(t < %d, ", (int)between(0, t->threads));
        wide_expression(t, d, depth - 1);
        add(t, ", ");
        wide_expression(t, d, depth - 1);
        add(t, ")");
    } else if (way == 2) { /* elements that are not there where the condition does not hold */
        int64_t i = between(0, t->inputs - 1);
        if (t->view[i] || strcmp(t->dtypes[i], d)) {
            wide_leaf(t, d);
            return;
        }
        int past = (int)between(0, t->threads);
        add(t, "T.if_then_else(b * %d + t < %d - %d and A%d[b * %d + t + %d] != T.%s(5), ",
            (int)t->threads, (int)(t->blocks * t->threads), past, (int)i, (int)t->threads, past, d);
        add(t, "A%d[b * %d + t + %d] + ", (int)i, (int)t->threads, past);
        wide_expression(t, d, depth - 1);
        add(t, ", ");
        wide_expression(t, d, depth - 1);
        add(t, ")");
    } else if (way <= 4) {
        add(t, "T.Cast(\"%s\", ", d);
        wide_expression(t, draw_wide_dtype(), depth - 1);
        add(t, ")");
    } else if (is_float(d)) {
        two(t, floats[between(0, 2)], d, depth);
    } else if (way == 5 && d[0] == 'i') {
        add(t, "T.abs(");
        wide_expression(t, d, depth - 1);
        add(t, ")");
    } else if (way == 6) {
        bool ones = between(0, 1);
        add(t, ones ? "T.popcount(" : "T.Cast(\"%s\", T.clz(", d);
        wide_expression(t, d, depth - 1);
        add(t, ones ? ")" : "))");
    } else if (way == 7) {
        quotient(t, d, depth);
    } else if (way ==
               8) { /* by less than the bits there are, which is all that the reference does */
        add(t, "T.%s(", between(0, 1) ? "shift_left" : "shift_right");
        wide_expression(t, d, depth - 1);
        add(t, ", T.bitwise_and(");
        wide_expression(t, d, depth > 2 ? 1 : 0);
        add(t, ", T.%s(%d)))", d, strstr(d, "64") ? 63 : 31);
    } else {
        two(t, ints[between(0, 7)], d, depth);
    }
}

/* A kernel of numbers of 64 bits; NULL: it divides by a literal zero, or the like. */
static const tn_node *
draw_wide(text *t)
{
    static const int64_t lanes[] = {1, 1, 2, 4, 8};
    *t = (text){.blocks = between(1, 2), .threads = between(1, 9), .lanes = lanes[between(0, 4)]};
    t->inputs = between(1, 4);
    int64_t n = t->blocks * t->threads * t->lanes;
    const char *d = t->dtypes[t->inputs] = between(0, 5)   ? draw_wide_dtype()
                                           : between(0, 1) ? "bool"
                                                           : "float16";
    add(t, "@I.ir_module\nclass M:\n    @T.prim_func(s_tir=True)\n    def f(");
    for (int64_t i = 0; i < t->inputs; i++) {
        t->dtypes[i] = i ? draw_wide_dtype() : "int64";
        add(t, "A%d: T.Buffer((%d,), \"%s\"), ", (int)i, (int)(n + 2 * i), t->dtypes[i]);
    }
    add(t,
        "B: T.Buffer((%d,), \"%s\")):\n"
        "        for b in T.thread_binding(%d, thread=\"blockIdx.x\"):\n"
        "            for t in T.thread_binding(%d, thread=\"threadIdx.x\"):\n",
        (int)n, d, (int)t->blocks, (int)t->threads);
    bool turns = t->lanes == 1 && between(0, 3) == 0;
    const char *pad = "                ";
    if (turns) { /* data decides how often */
        t->lanes = 1;
        add(t,
            "%sx = T.alloc_buffer((1,), \"int64\", scope=\"local\")\n"
            "%sx[0] = A0[b * %d + t]\n%swhile x[0] // T.int64(3) != T.int64(0):\n"
            "%s    x[0] = x[0] // T.int64(-5)\n"
            "%sfor k in range(T.min(T.max(x[0], T.int64(0)), T.int64(3))):\n"
            "%s    B[b * %d + t] = ",
            pad, pad, (int)t->threads, pad, pad, pad, pad, (int)t->threads);
    } else {
        add(t, "%sfor v in T.vectorized(%d):\n%s    B[(b * %d + t) * %d + v] = ", pad,
            (int)t->lanes, pad, (int)t->threads, (int)t->lanes);
    }
    size_t at = t->n;
    if (is_bool(d))
        wide_condition(t, (int)between(1, 3));
    else if (!strcmp(d, "float16"))
        add(t, "T.Cast(\"float16\", "), wide_expression(t, "int64", (int)between(0, 3)),
            add(t, ")");
    else
        wide_expression(t, d, (int)between(0, 4));
    add(t, "\n");
    if (turns)
        for (char *c = t->s + at; (c = strstr(c, " * 1 + v]"));) { /* no v there */
            memcpy(c, " + 0 * k]", strlen(" + 0 * k]"));
        }
    const tn_module *m = tn_read_module(k.ctx, "drawn", t->s, t->n);
    if (!m)
        tnb_diags_clear(tn_diags(k.ctx));
    return m ? tn_module_get(m, "f") : NULL;
}

static void
wide_numbers(void **state)
{
    (void)state;
    text *t = malloc(sizeof *t);
    int unread = 0;
    for (int round = 0; round < draw_rounds(120); round++) {
        device d = draw_device();
        d.no_int64 = between(0, 7) > 0;
        const tn_node *f = draw_wide(t);
        unread += !f;
        extremes = true;
        if (f)
            check(&d, f, f, tn_dictv(k.ctx, "unused", tn_i64(k.ctx, 1), NULL), 0, "wide numbers");
        extremes = false;
    }
    printf("%d programs divide by zero in the text\n", unread);
    free(t);
}

/* ---- what the host checks before a launch ---- */

static const char counted[] =
    "@I.ir_module\nclass M:\n"
    "    @T.prim_func(s_tir=True)\n"
    "    def f(a: T.handle, c: T.handle, s: T.int64):\n"
    "        n, m = T.int64(), T.int64()\n"
    "        A = T.match_buffer(a, (n, m), \"int64\")\n"
    "        C = T.match_buffer(c, (n, m), \"int64\")\n"
    "        for b in T.thread_binding((n * m + T.int64(63)) // T.int64(64), "
    "thread=\"blockIdx.x\"):\n"
    "            for t in T.thread_binding(T.int64(64), thread=\"threadIdx.x\"):\n"
    "                if b * T.int64(64) + t < n * m:\n"
    "                    C[(b * T.int64(64) + t) // m, (b * T.int64(64) + t) % m] = "
    "A[(b * T.int64(64) + t) // m, (b * T.int64(64) + t) % m] // T.int64(3) + s\n";

/* The number of the kernel's checks that do not hold. */
static int
refusals(tnk_kernel *kernel, const tn_node *f, int64_t n, int64_t m, int64_t s)
{
    host h;
    int bad = 0;
    const tn_node *dims = tn_dictv(k.ctx, "n", tn_i64(k.ctx, n), "m", tn_i64(k.ctx, m), NULL);
    host_init(&h, f, dims, tn_listv(k.ctx, f, f, tn_i64(k.ctx, s), NULL));
    for (uint32_t i = 0; i < kernel->n_checks; i++) {
        int64_t holds = 1;
        const tn_expr *cond = tn_as_assert_stmt(kernel->checks[i])->cond;
        assert_true(tn_int_value(host_value(&h, cond), &holds));
        bad += !holds;
    }
    return bad;
}

/* Kernels as source for a device without pointers and numbers of 64 bits, with vectors of four, two or none. */
static void
sources(void **state)
{
    (void)state;
    text *t = malloc(sizeof *t);
    int ran = 0;
    compiles = true;
    for (int round = 0; round < draw_rounds(24); round++) {
        device d = draw_device();
        d.max_vector_lanes = INT64_C(1) << between(0, 2);
        d.no_pointers = d.no_int64 = true;
        extremes = between(0, 1);
        const tn_node *f = extremes ? draw_wide(t) : draw_text(t);
        tnk_kernel *kernel = f ? lowered(&d, f, NULL) : NULL;
        if (kernel && narrow_c_takes(kernel)) {
            check(&d, f, f, tn_dictv(k.ctx, "unused", tn_i64(k.ctx, 1), NULL),
                  t->halves  ? 0.05
                  : extremes ? 0
                             : 1e-3,
                  "a source");
            ran++;
        }
    }
    compiles = extremes = false;
    printf("%d sources\n", ran);
    assert_true(ran > 0);
    free(t);
}

/* A language with pointers has such memory too. */
static void
elements_that_are_vectors(void **state)
{
    (void)state;
    static const char of_four[] =
        "@I.ir_module\nclass M:\n"
        "    @T.prim_func(s_tir=True)\n"
        "    def f(A: T.Buffer((8,), \"float32x4\"), B: T.Buffer((8,), \"float32x4\"), C: "
        "T.Buffer((16,), \"int32x2\"), D: T.Buffer((16,), \"float16x2\")):\n"
        "        S = T.alloc_buffer((3,), \"float32x4\", scope=\"local\")\n"
        "        for i in range(8):\n"
        "            S[i % 3] = A[i] * T.Broadcast(T.float32(2), 4)\n"
        "            B[7 - i] = S[i % 3] + A[7 - i]\n"
        "            C[i] = C[i + 8] + T.Cast(\"int32x2\", D[i])\n"
        "            D[i + 8] = D[i]\n";
    const tn_module *m = tn_read_module(k.ctx, "four.py", of_four, sizeof of_four - 1);
    assert_non_null(m);
    const tn_node *f = tn_module_get(m, "f");
    tn_list a;
    assert_true(tn_random_args_within(k.ctx, f, 1,
                                      tn_dictv(k.ctx, "unused", tn_i64(k.ctx, 1), NULL), 0, 5, &a));
    tn_list b = krun_copy(&k, a);
    assert_true(krun_interpret(&k, f, a));
    assert_true(krun_run(&k, f, b));
    assert_true(krun_close_to(&k, b, a, 0, 0));
}

static void
counts_are_checked_by_the_host(void **state)
{
    (void)state;
    device d = {.uniform_barriers = "no", .no_int64 = true};
    const tn_module *m = tn_read_module(k.ctx, "counted.py", counted, sizeof counted - 1);
    assert_non_null(m);
    const tn_node *f = tn_module_get(m, "f");
    check(&d, f, f, tn_dictv(k.ctx, "n", tn_i64(k.ctx, 7), "m", tn_i64(k.ctx, 31), NULL), 0,
          "counted");
    tnk_kernel *kernel = lowered(&d, f, NULL);
    assert_non_null(kernel);
    assert_true(kernel->n_checks > 0);
    assert_int_equal(refusals(kernel, f, 7, 31, -5), 0);
    assert_int_equal(refusals(kernel, f, 32768, 32767, INT32_MAX), 0);
    assert_true(refusals(kernel, f, 32768, 32768, 0) > 0); /* words of the data */
    assert_true(refusals(kernel, f, 46341, 46341, 0) > 0);
    assert_true(refusals(kernel, f, INT64_C(1) << 31, 0, 0) > 0);
    assert_true(refusals(kernel, f, 1, INT64_C(1) << 40, 0) > 0);
    assert_true(refusals(kernel, f, 1, 1, INT64_C(1) << 31) > 0);
    assert_true(refusals(kernel, f, 1, 1, INT64_MIN) > 0);
    const char *said = tn_text(k.ctx, kernel->checks[0]);
    assert_non_null(strstr(said, "kernel 'f'"));
    assert_non_null(strstr(said, "counted.py:"));
    d.no_int64 = false;
    assert_int_equal(lowered(&d, f, NULL)->n_checks, 0);
}

/* ---- barriers that some threads come to ---- */

/* A kernel of phases with barriers between them under a condition of some threads, and in `serial` the same with the phases one
 * after another. */
static void
draw_phases(text *t, text *serial)
{
    int64_t threads = between(2, 9), most = between(1, threads), phases = between(2, 4),
            turns = between(0, 3);
    char cond[64], phase[5][160];
    bool own = between(0, 2) == 0, other = between(0, 1);
    if (own)
        snprintf(cond, sizeof cond, "A[b * %d + t] < T.float32(2)", (int)threads);
    else
        snprintf(cond, sizeof cond, "t < %d", (int)most);
    for (int64_t i = 0; i < phases; i++) {
        char from[32] = "t";
        if (!own)
            snprintf(from, sizeof from, "%d - t", (int)most - 1);
        if (i == 0)
            snprintf(phase[i], sizeof phase[i], "S0[t] = A[b * %d + t]", (int)threads);
        else
            snprintf(phase[i], sizeof phase[i], "S%d[t] = S%d[%s] + T.float32(%d)", (int)(i % 2),
                     (int)((i + 1) % 2), from, (int)i);
    }
    snprintf(phase[phases], sizeof phase[phases], "B[b * %d + t] = S%d[t]", (int)threads,
             (int)((phases - 1) % 2));
    for (int s = 0; s < 2; s++) {
        text *x = s ? serial : t;
        *x = (text){.n = 0};
        add(x,
            "@I.ir_module\nclass M:\n    @T.prim_func(s_tir=True)\n"
            "    def f(A: T.Buffer((%d,), \"float32\"), B: T.Buffer((%d,), \"float32\")):\n"
            "        S0 = T.alloc_buffer((%d,), scope=\"shared\")\n"
            "        S1 = T.alloc_buffer((%d,), scope=\"shared\")\n"
            "        for b in T.thread_binding(2, thread=\"blockIdx.x\"):\n",
            (int)threads * 2, (int)threads * 2, (int)threads, (int)threads);
        for (int64_t i = 0; i <= phases; i++) {
            if (s || i == 0)
                add(x,
                    "            for t in T.thread_binding(%d, thread=\"threadIdx.x\"):\n"
                    "                if %s:\n",
                    (int)threads, cond);
            add(x, "                    %s\n", phase[i]);
            if (!s && i < phases)
                add(x, "                    T.tvm_storage_sync(\"shared\")\n");
            if (turns && i == phases - 1) {
                add(x, "                    for k in range(t %% 2, t %% 2 + %d - t %% 3):\n",
                    (int)turns);
                add(x,
                    "                        S%d[t] = S%d[t] * T.float32(2) + T.Cast(\"float32\", "
                    "k)\n",
                    (int)(i % 2), (int)(i % 2));
                if (!s)
                    add(x, "                        T.tvm_storage_sync(\"shared\")\n");
            }
        }
        if (other)
            add(x, "                else:\n                    B[b * %d + t] = T.float32(7)\n%s",
                (int)threads, s ? "" : "                    T.tvm_storage_sync(\"shared\")\n");
    }
}

static void
barriers(void **state)
{
    (void)state;
    text *t = malloc(sizeof *t), *serial = malloc(sizeof *serial);
    const tn_node *dims = tn_dictv(k.ctx, "unused", tn_i64(k.ctx, 1), NULL);
    extremes = compiles = false;
    for (int round = 0; round < draw_rounds(60); round++) {
        device d = draw_device();
        draw_phases(t, serial);
        check(&d, read_text(serial), read_text(t), dims, 1e-5, "phases");
    }
    free(t);
    free(serial);
}

static tn_walk_step
count_kernels(void *user, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    bool starts = f && f->for_kind == TN_FOR_THREAD_BINDING;
    *(int *)user += starts;
    return starts ? TN_WALK_SKIP : TN_WALK_ON;
}

/* What the rules for GPUs make. */
static void
schedules(void **state)
{
    (void)state;
    for (int round = 0; round < draw_rounds(30); round++) {
        gpu_program p;
        gpu_program_draw(k.ctx, &p);
        assert_non_null(p.func);
        for (int i = 0; i < TNK_N_GPU_RULES && !p.empty; i++) {
            device d = draw_device();
            const tnk_rule *r = tnk_gpu_rules[i];
            const tn_node *g = r->apply(k.ctx, p.func, target_of(&d), r->self);
            int kernels = 0;
            if (g)
                tn_walk(tn_as_prim_func(g)->body, 0, count_kernels, NULL, &kernels);
            if (kernels == 1)
                check(&d, p.func, g, p.dims, p.coarse ? 0.05 : 1e-3, p.name);
        }
    }
    printf("%d kernels\n", checked);
}

/* Each pass is what the device needs: without it some kernels have what the device lacks. */
static void
nothing_is_there_for_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *pass;
        device d;
        bool phases;
    } rows[] = {
        {"SplitVectors", {.max_vector_lanes = 2, .uniform_barriers = "no"}, false},
        {"UniformBarriers", {.uniform_barriers = "yes"}, true},
        {"LowerViews", {.uniform_barriers = "no", .no_pointers = true}, false},
        {"WidenArithmetic", {.uniform_barriers = "no", .no_int8 = true, .no_float16 = true}, false},
        {"WidenStorage", {.uniform_barriers = "no", .no_8bit = true, .no_16bit = true}, false},
        {"LowerInt64", {.uniform_barriers = "no", .no_int64 = true}, false},
        {"LowerVectorAccess", {.uniform_barriers = "no", .no_pointers = true}, false}};
    text *t = malloc(sizeof *t), *serial = malloc(sizeof *serial);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lacked = 0;
        for (int round = 0; round < 20; round++) {
            if (rows[i].phases)
                draw_phases(t, serial);
            const tn_node *f = rows[i].phases ? read_text(t) : draw_text(t);
            tnk_kernel *kernel = lowered(&rows[i].d, f, rows[i].pass);
            lacked += !kernel || lacking(&rows[i].d, kernel);
            tnb_diags_clear(tn_diags(k.ctx));
        }
        printf("without %s: %d of 20\n", rows[i].pass, lacked);
        assert_true(lacked > 0);
    }
    free(t);
    free(serial);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(wide_numbers),
        cmocka_unit_test(counts_are_checked_by_the_host),
        cmocka_unit_test(sources),
        cmocka_unit_test(elements_that_are_vectors),
        cmocka_unit_test(barriers),
        cmocka_unit_test(schedules),
        cmocka_unit_test(nothing_is_there_for_nothing),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
