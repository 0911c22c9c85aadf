/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-written kernels in place of operators: what DispatchSampling and DispatchSortScan share. */
#include "dispatch_kernels.h"

#include <stdarg.h>

#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/codegen.h"

const tn_expr *
dispatch_emit(dispatch *d, const tn_expr *value)
{
    const tn_expr *v = d->dataflow ? tn_dataflow_var_new(d->ctx, "lv", value->type)
                                   : tn_var_new(d->ctx, "gv", value->type);
    TNB_PUSH(tn_scratch(d->ctx), d->before, tn_var_binding_of(d->ctx, v, value));
    return v;
}

const tn_expr *
dispatch_reshape(dispatch *d, const tn_expr *x, tn_list dims)
{
    tn_ctx *ctx = d->ctx;
    const tn_type *t = tn_ty_tensor_of(ctx, tn_shape_expr_of(ctx, dims), tn_type_dtype(x->type),
                                       (int64_t)dims.n, tn_as_ty_tensor(x->type)->vdevice);
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_pure_packed", NULL);
    tn_list args = tn_listv(ctx, tn_extern_func_of(ctx, "vm.builtin.reshape"), x,
                            tn_shape_expr_of(ctx, dims), NULL);
    return dispatch_emit(d, tn_call_of(ctx, tn_op_ref_of(ctx, op), args, NULL,
                                       tn_listv(ctx, t, NULL), t));
}

static const tn_node *
device_of(const tn_type *t)
{
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    if (tn_is(t, TN_KIND_TY_TENSOR))
        return tn_as_ty_tensor(t)->vdevice;
    return u && u->fields.n ? device_of(u->fields.at[0]) : NULL;
}

const tn_target *
dispatch_target(const dispatch *d, const tn_call *call)
{
    const tn_vdevice *v = tn_as_vdevice(device_of(call->base.type));
    const tn_target *t = v ? tn_as_target(v->target) : NULL;
    return t ? t : d->pc->target;
}

bool
dispatch_is_gpu(const tn_target *t)
{
    static const char *const kinds[] = {"cuda", "rocm", "metal", "vulkan", "opencl", "webgpu"};
    if (!t)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(t->kind, kinds[i]) == 0)
            return true;
    const tn_array *keys = tn_as_array(tn_dict_get(t->attrs, "keys"));
    for (uint32_t i = 0; keys && i < keys->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(keys->items.at[i]);
        if (s && strcmp(s->value, "gpu") == 0)
            return true;
    }
    return false;
}

const char *
dispatch_dtype_text(dispatch *d, tnb_dtype t)
{
    return tn_str(d->ctx, tnb_dtype_print(t).s);
}

/* The text that stands for the n characters at `name`; NULL: none given. */
static const char *
find_text(const char *const (*texts)[2], uint32_t n_texts, const char *name, size_t n)
{
    for (uint32_t i = 0; i < n_texts; i++)
        if (strlen(texts[i][0]) == n && memcmp(texts[i][0], name, n) == 0)
            return texts[i][1];
    return NULL;
}

enum { MAX_THREADS = 256, MAX_TEXTS = 20 };

/* The logarithm of the threads of a block. */
static int
steps_of(const tn_target *t)
{
    int64_t most = t ? tn_dict_int(t->attrs, "max_threads_per_block", MAX_THREADS) : MAX_THREADS,
            use = t ? tn_dict_int(t->attrs, "max_num_threads", MAX_THREADS) : MAX_THREADS;
    int64_t limit = most < use ? most : use;
    int steps = 0;
    while (2 << steps <= MAX_THREADS && 2 << steps <= limit)
        steps++;
    return steps;
}

static bool
is_taken(const dispatch *d, const tn_target *t, const tn_node *func)
{
    const char *why;
    tn_registry *reg = tn_ctx_registry(d->ctx);
    const tn_target_kind *k = t && reg ? tn_find_target(reg, t->kind, NULL) : NULL;
    const tnk_codegen *g = k ? k->codegen : NULL;
    return !g || !g->takes ||
           TN_WITHIN(d->ctx, "target", k, "takes", g->takes(g->self, d->ctx, t, func, &why));
}

const tn_expr *
dispatch_kernel(dispatch *d, const tn_target *target, const char *name, const char *text, ...)
{
    int steps = steps_of(target), threads = 1 << steps;
    const char *texts[MAX_TEXTS][2] = {{"THREADS", tn_strf(d->ctx, "%d", threads)},
                                       {"LAST", tn_strf(d->ctx, "%d", threads - 1)},
                                       {"TILE", tn_strf(d->ctx, "%d", 4 * threads)},
                                       {"STEPS", tn_strf(d->ctx, "%d", steps)}};
    uint32_t n = 4;
    va_list ap;
    va_start(ap, text);
    for (const char *key; n < MAX_TEXTS && (key = va_arg(ap, const char *)); n++) {
        texts[n][0] = key;
        texts[n][1] = va_arg(ap, const char *);
    }
    va_end(ap);
    tnb_buf b = {0};
    for (const char *s = text, *end; *s; s = end) {
        end = s + strcspn(s, "$");
        tnb_buf_put(&b, s, (size_t)(end - s));
        if (!*end)
            break;
        size_t length = strcspn(end + 1, "$");
        const char *value = find_text(texts, n, end + 1, length);
        tnb_buf_puts(&b, value ? value : "");
        end += length + 2;
    }
    tnb_buf_putc(&b, 0);
    const tn_node *f = b.failed ? NULL : tn_builder_read_function(d->b, name, b.s);
    tnb_buf_free(&b);
    if (!f)
        return tn_error(d->ctx, 0, TNB_INTERNAL, "the kernel %s cannot be read", name);
    return is_taken(d, target, f) ? tn_builder_add_function(d->b, f, name) : NULL;
}

/* ---- all calls ---- */

typedef struct walk {
    const tn_pass_ctx *pc;
    tn_builder *b;
    dispatch_fn fn;
    bool failed;
} walk;

static const tn_node *
each_block(tn_rewriter *r, const tn_node *n)
{
    walk *w = r->user;
    const tn_bindings_block *block = tn_as_bindings_block(n);
    if (!block)
        return NULL;
    dispatch d = {.ctx = r->ctx,
                  .pc = w->pc,
                  .b = w->b,
                  .dataflow = tn_is(n, TN_KIND_DATAFLOW_BLOCK)};
    bool changed = false;
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_node *binding = block->bindings.at[i];
        const tn_var_binding *vb = tn_as_var_binding(binding);
        const tn_call *c = vb ? tn_as_call(vb->value) : NULL;
        tn_loc before = tn_at(r->ctx, binding->loc);
        uint32_t mark = d.before.n;
        const tn_expr *value = c ? w->fn(&d, c) : NULL;
        tn_at(r->ctx, before);
        if (tn_is_error(value)) {
            w->failed = true;
            return n;
        }
        if (!value)
            d.before.n = mark;
        if (value)
            binding = tn_var_binding_of(r->ctx, vb->var, value);
        else if (!c)
            binding = tn_rewrite_children(r, binding); /* branches, nested functions */
        changed |= binding != block->bindings.at[i];
        TNB_PUSH(tn_scratch(r->ctx), d.before, binding);
    }
    return changed ? tn_binding_block_of(r->ctx, tn_list_of(r->ctx, d.before.at, d.before.n),
                                         d.dataflow)
                   : n;
}

const tn_module *
dispatch_calls(const tn_pass_ctx *pc, const tn_module *m, dispatch_fn fn)
{
    walk w = {.pc = pc, .b = tn_builder_new(pc->ctx, m), .fn = fn};
    TNB_VEC(const char *) names = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    for (uint32_t i = 0; i < m->names.n && !w.failed; i++) {
        if (!tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            continue;
        tn_rewriter r = {.ctx = pc->ctx, .user = &w, .pre = each_block};
        const tn_node *f = tn_rewrite(&r, m->funcs.at[i]);
        w.failed |= tn_is_error(f);
        if (f != m->funcs.at[i]) {
            TNB_PUSH(tn_scratch(pc->ctx), names, tn_module_name(m, i));
            TNB_PUSH(tn_scratch(pc->ctx), funcs, f);
        }
    }
    if (w.failed)
        return NULL;
    return names.n ? tn_module_set_all(pc->ctx, tn_builder_module(w.b), names.at, funcs.at, names.n)
                   : m;
}
