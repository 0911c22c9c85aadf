/* SPDX-License-Identifier: Apache-2.0 */
/* DispatchKVCacheCreation: the cache that a model asks for becomes a call of the runtime's, with kernels for its sizes.
 *
 *     @R.function                                            @T.prim_func(private=True)
 *     def create_paged_kv_cache(...):                        def tir_attention_prefill(...): ...
 *         c = R.call_pure_packed(                            @R.function
 *             "mlc.create_paged_kv_cache_generic",           def create_paged_kv_cache(...):
 *             R.str("mha"), R.shape([...]), ...)                 c = R.call_pure_packed("vm.builtin.paged_attention_kv_cache_create",
 *                                                                    ..., cls.kv_cache_transpose_append, ...)
 *
 * The kernels are those of a TVMScript file, read with the model's numbers of heads, dimensions, dtypes and RoPE in place of the file's
 * own, and with the target's attribute attention_rows (1 where it has none); a function of the same name in the module is an error.
 * Where the target's attribute attention_threads is more than 0, attention and rotary embedding come from a file of their own, written
 * for the threads of a block. Functions on windows join when a layer has one, when the module's
 * attribute `model` has a `sliding_window`, or by the option; those on trees of tokens where the module
 * verifies them (`batch_verify`), or by the option. Of a model with latent attention
 * ("mla") all kernels come from a file of their own.
 * Frequencies of RoPE become a table (rope.c). The function keeps its name, where upstream has one for each kind of kernel.
 * Behind upstream's arguments there may be one more: the limit of attention's scores (soft cap, scores become cap * tanh(score / cap)).
 * A module without the call stays as it is. Cases: tests/pass/DispatchKVCacheCreation.
 */
#include "rope.h"

#include "tenon/core/walk.h"

enum {
    N_ARGS = 18,
    N_CREATE = 30,
    PAGE_TOKENS = 16,
    MHA = 0,
    MLA = 1,
    MHA_SLIDING = 3,
    ROPE_INLINE = 2
};

static const char generic[] = "mlc.create_paged_kv_cache_generic";

typedef struct creation {
    const tn_pass_ctx *pc;
    tn_ctx *ctx;
    const tn_call *call; /* of `generic` */
    const char *in;      /* the function that has it */
    const tn_expr *const *a;
    int64_t layers, q_heads, kv_heads, head_dim, v_dim, rope_mode, rotary_dim;
    double rope_scale, rope_theta, soft_cap; /* 0: none */
    tnb_dtype dtype, kv_dtype;
    int64_t threads; /* of a block, for attention; 0: it has none */
    bool sliding, windows, latent;
    int64_t own_qk_dim, own_v_dim; /* latent: of the heads of a step's own tokens */
    const tn_node *kinds;          /* ShapeExpr */
    llm_rope_table rope;
    TNB_VEC(const char *) names; /* kernels, under the module's names */
    TNB_VEC(const tn_node *) funcs;
    const tn_module *m;
    bool failed; /* a kernel is not there */
} creation;

static bool
wrong(creation *w, int i, const char *what)
{
    const tn_expr *e = w->a[i];
    tn_error(w->ctx, e->loc ? e->loc : w->call->base.loc, TNB_TYPE,
             "%s: argument %d is %s, expected %s", generic, i, tn_text(w->ctx, e), what);
    return false;
}

/* ---- arguments ---- */

static bool
take_int(creation *w, int i, int64_t least, int64_t most, int64_t *out)
{
    if (tn_int_value(w->a[i], out) && *out >= least && *out <= most)
        return true;
    return wrong(w, i,
                 tn_strf(w->ctx, "a number from %lld to %lld", (long long)least, (long long)most));
}

static bool
take_real(creation *w, int i, double *out)
{
    const tn_float_imm *f = tn_as_float_imm(w->a[i]);
    int64_t n;
    if (f)
        *out = f->value;
    else if (tn_int_value(w->a[i], &n))
        *out = (double)n;
    else
        return wrong(w, i, "a number");
    return *out > 0 || wrong(w, i, "a positive number");
}

/* Of RoPE; where nothing is rotated it says nothing, and modules have -1. */
static bool
take_rope_number(creation *w, int i, double *out)
{
    const tn_float_imm *f = tn_as_float_imm(w->a[i]);
    int64_t n = 1;
    if (w->rope_mode != 0)
        return take_real(w, i, out);
    (void)tn_int_value(w->a[i], &n);
    *out = f ? f->value : (double)n;
    *out = *out > 0 ? *out : 1;
    return true;
}

static bool
take_kind(creation *w, const tn_expr *e, const tn_expr **out)
{
    const tn_string_imm *s = tn_as_string_imm(e);
    bool sliding = s && !strcmp(s->value, "mha_sliding"), latent = s && !strcmp(s->value, "mla");
    if (!s || (!sliding && !latent && strcmp(s->value, "mha") != 0) || latent != w->latent)
        return wrong(w, 0,
                     "\"mha\", \"mla\", or a tuple of \"mha\" and \"mha_sliding\" for each layer");
    w->sliding |= sliding;
    *out = tn_i64(w->ctx, sliding ? MHA_SLIDING : latent ? MLA : MHA);
    return true;
}

static bool
take_kinds(creation *w)
{
    const tn_tuple *t = tn_as_tuple(w->a[0]);
    const tn_expr **kinds = TNB_NEW_N(tn_scratch(w->ctx), const tn_expr *, w->layers);
    if (t && t->fields.n != w->layers)
        return wrong(w, 0, tn_strf(w->ctx, "kinds of %lld layers", (long long)w->layers));
    for (int64_t i = 0; i < w->layers; i++)
        if (!take_kind(w, t ? t->fields.at[i] : w->a[0], &kinds[i]))
            return false;
    w->kinds = tn_shape_expr_of(w->ctx, (tn_list){kinds, (uint32_t)w->layers});
    return true;
}

/* The dtype of pages: as the option says, whose schema names those that there are. */
static bool
take_dtypes(creation *w)
{
    const tn_dtype_imm *d = tn_as_dtype_imm(w->a[17]);
    const char *option = tn_option_str(w->pc, "cache_dtype");
    if (!d || !tnb_dtype_is_float(d->value))
        return wrong(w, 17, "a dtype of floats");
    w->dtype = w->kv_dtype = d->value;
    if (!strcmp(option, "auto"))
        return true;
    return tnb_dtype_parse(option, strlen(option), &w->kv_dtype);
}

static bool
take_rope(creation *w)
{
    const tn_string_imm *json = tn_as_string_imm(w->a[13]);
    const tn_constant *factors = tn_as_constant(w->a[14]);
    llm_rope r = {.rotary_dim = w->rope_mode == 0 ? 0 : w->rotary_dim,
                  .scale = w->rope_scale,
                  .theta = w->rope_theta,
                  .at = w->call->base.loc};
    tnb_err err = {0};
    if (!json)
        return wrong(w, 13, "RoPE's scaling as JSON text");
    r.scaling = tn_value_from_json(w->ctx, json->value, strlen(json->value), &err);
    if (!tn_as_dict(r.scaling) && strcmp(json->value, "null") != 0)
        return wrong(w, 13, "a JSON object");
    r.scaling = tn_as_dict(r.scaling) ? r.scaling : NULL;
    if (factors) {
        const tn_data *d = factors->data;
        if (!tnb_dtype_eq(d->dtype, TNB_F32) || d->ndim != 1 || d->shape[0] != w->rotary_dim ||
            !d->bytes)
            return wrong(w, 14, "as many float32 factors as rotary_dim says");
        r.factors = d->bytes;
    }
    const char *type = r.scaling ? tn_dict_str(r.scaling, "rope_type", "default") : "default";
    if (w->rope_mode == ROPE_INLINE &&
        (factors || tn_dict_get(r.scaling, "full_attention") ||
         (strcmp(type, "default") != 0 && strcmp(type, "gptj") != 0))) {
        tn_error(w->ctx, w->call->base.loc, TNB_UNSUPPORTED,
                 "%s: RoPE inline, mode 2, goes with the frequencies of rope_type \"default\" and "
                 "\"gptj\", but rope_scaling is %s",
                 generic, factors ? "by factors" : tn_text(w->ctx, r.scaling));
        tnb_diag_hint(tn_diags(w->ctx), "let keys be rotated before they are cached: mode 1");
        return false;
    }
    return llm_rope_make(w->ctx, &r, &w->rope);
}

/* Heads: as many dimensions of values as of keys; of latent attention the value is a part of the key, which all heads share, and heads
 * of a step's own tokens have dimensions of their own. */
static bool
take_heads(creation *w)
{
    const tn_tuple *t = tn_as_tuple(w->a[0]);
    const tn_string_imm *kind = tn_as_string_imm(t && t->fields.n ? t->fields.at[0] : w->a[0]);
    w->latent = kind && !strcmp(kind->value, "mla");
    int64_t none, most = w->latent ? 1 << 16 : 0, least = w->latent;
    return take_int(w, 4, 1, 1 << 16, &w->q_heads) &&
           take_int(w, 5, 1, w->latent ? 1 : 1 << 16, &w->kv_heads) &&
           take_int(w, 6, 1, 1 << 16, &w->head_dim) &&
           take_int(w, 7, w->latent ? 1 : w->head_dim, w->head_dim, &w->v_dim) &&
           take_int(w, 8, least, most, &w->own_qk_dim) &&
           take_int(w, 9, least, most, &w->own_v_dim) &&
           take_int(w, 10, 0, w->latent ? 0 : 2, &w->rope_mode) && take_int(w, 16, 0, 0, &none);
}

/* Whether the importer says that the model's texts have one. */
static bool
has_window(const creation *w)
{
    return tn_dict_int(tn_dict_get(w->m->attrs, "model"), "sliding_window", 0) > 0;
}

static bool
take_args(creation *w)
{
    static const int shapes[2] = {1, 2};
    if (w->call->args.n != N_ARGS + 1 && w->call->args.n != N_ARGS + 2) {
        tn_error(w->ctx, w->call->base.loc, TNB_INVALID, "%s has %u arguments, expected %d or %d",
                 generic, w->call->args.n - 1, N_ARGS, N_ARGS + 1);
        return false;
    }
    w->a = w->call->args.at + 1;
    for (int i = 0; i < 2; i++) {
        const tn_shape_expr *s = tn_as_shape_expr(w->a[shapes[i]]);
        if (!s || (i ? s->values.n < 2 : s->values.n != 5 && s->values.n != 6))
            return wrong(w, shapes[i],
                         i ? "a shape, where the layers of each stage begin"
                           : "a shape of 5 or 6 sizes");
    }
    if (!take_int(w, 3, 1, 1 << 16, &w->layers) || !take_heads(w) ||
        !take_rope_number(w, 11, &w->rope_scale) || !take_rope_number(w, 12, &w->rope_theta) ||
        !take_int(w, 15, 0, w->head_dim, &w->rotary_dim) || !take_kinds(w) || !take_dtypes(w) ||
        (w->call->args.n > N_ARGS + 1 && !take_real(w, N_ARGS, &w->soft_cap)))
        return false;
    if (w->q_heads % w->kv_heads)
        return wrong(w, 4, "a multiple of the heads of keys");
    if (w->rotary_dim % 2)
        return wrong(w, 15, "an even number");
    w->windows = w->sliding || ((tn_option_bool(w->pc, "windows") || has_window(w)) && !w->latent);
    return take_rope(w);
}

/* ---- kernels ---- */

static int64_t
target_int(const creation *w, const char *name, int64_t otherwise)
{
    return w->pc->target ? tn_dict_int(w->pc->target->attrs, name, otherwise) : otherwise;
}

/* Threads of a block for attention: a power of two, as many as the target wants and has memory for; 0: attention knows of no threads. */
static int64_t
attention_threads(const creation *w)
{
    if (w->rope_mode == ROPE_INLINE) /* which that file does not know */
        return 0;
    int64_t wanted = *tn_option_str(w->pc, "attention") ? target_int(w, "attention_threads", 0) : 0,
            n = PAGE_TOKENS, most = target_int(w, "max_num_threads", wanted),
            bytes = target_int(w, "max_shared_memory_per_block", INT64_MAX),
            group = w->q_heads / w->kv_heads;
    wanted = wanted < most ? wanted : most;
    while (2 * n <= wanted && 4 * group * (4 * n + w->head_dim + 2) + 8 * n <= bytes)
        n *= 2;
    return wanted >= n && 4 * group * (2 * n + w->head_dim + 2) + 4 * n <= bytes ? n : 0;
}

/* A file named by an option, its names at the model's values. */
static const tn_module *
read_kernels(creation *w, const char *option, bool window)
{
    tn_ctx *c = w->ctx;
    const char *path = tn_pass_path(w->pc, tn_option_str(w->pc, option));
    const tn_node *given =
        tn_dictv(c, "q_heads", tn_i64(c, w->q_heads), "kv_heads", tn_i64(c, w->kv_heads),
                 "head_dim", tn_i64(c, w->head_dim), "page_tokens", tn_i64(c, PAGE_TOKENS), "dtype",
                 tn_string(c, tnb_dtype_print(w->dtype).s), "kv_dtype",
                 tn_string(c, tnb_dtype_print(w->kv_dtype).s), "window", tn_bool(c, window),
                 "soft_cap", tn_float_imm_of(c, TNB_F64, w->soft_cap), "rotary_dim",
                 tn_i64(c, w->rope_mode == 0 ? 0 : w->rotary_dim), "interleaved",
                 tn_bool(c, w->rope.interleaved), "amplitude",
                 tn_float_imm_of(c, TNB_F64, w->rope.amplitude), NULL);
    if (w->threads && !strcmp(option, "attention")) {
        given = tn_dict_set(c, given, "threads", tn_i64(c, w->threads));
    } else if (w->latent) {
        given = tn_dictv(c, "q_heads", tn_i64(c, w->q_heads), "head_dim", tn_i64(c, w->head_dim),
                         "latent", tn_i64(c, w->v_dim), "page_tokens", tn_i64(c, PAGE_TOKENS),
                         "dtype", tn_string(c, tnb_dtype_print(w->dtype).s), "kv_dtype",
                         tn_string(c, tnb_dtype_print(w->kv_dtype).s), "own_qk_dim",
                         tn_i64(c, w->own_qk_dim), "own_v_dim", tn_i64(c, w->own_v_dim), NULL);
    } else {
        given =
            tn_dict_set(c, given, "attention_rows", tn_i64(c, target_int(w, "attention_rows", 1)));
        if (w->rope_mode == ROPE_INLINE &&
            w->rotary_dim) /* kernels of sites need not know of it else */
            given = tn_dict_set(c, given, "inline", tn_bool(c, true));
    }
    const tn_module *m = tn_read_module_file_with(c, path, given);
    if (!m)
        tnb_diag_note(tn_diags(c), "DispatchKVCacheCreation reads this file");
    return m;
}

/* The function of the file, under a name of the module. */
static const tn_expr *
kernel(creation *w, const tn_module *file, const char *option, const char *from, const char *name)
{
    const tn_node *f = file ? tn_module_get(file, from) : NULL;
    w->failed |= !f || !tn_is(f, TN_KIND_PRIM_FUNC) || tn_module_get(w->m, name);
    if (!f || !tn_is(f, TN_KIND_PRIM_FUNC)) {
        if (file)
            tn_error(w->ctx, w->call->base.loc, TNB_NOT_FOUND,
                     "DispatchKVCacheCreation: '%s' has no tensor program '%s'",
                     tn_option_str(w->pc, option), from);
        return NULL;
    }
    if (tn_module_get(w->m, name)) {
        tn_error(w->ctx, w->call->base.loc, TNB_INVALID,
                 "DispatchKVCacheCreation: the module has a function '%s' already", name);
        return NULL;
    }
    TNB_PUSH(tn_scratch(w->ctx), w->names, tn_str(w->ctx, name));
    TNB_PUSH(tn_scratch(w->ctx), w->funcs, tn_func_with_attr(w->ctx, f, "global_symbol", NULL));
    return tn_global_var_of(w->ctx, name);
}

static const tn_expr *
tir(creation *w, const tn_expr *function)
{
    return function
               ? tn_tuple_of(w->ctx, tn_listv(w->ctx, tn_string(w->ctx, "tirx"), function, NULL))
               : NULL;
}

/* ---- the new call ---- */

/* What both kinds of caches are made with; what belongs to one kind stands in `args` already, the rest becomes nothing. */
static const tn_expr *
finish_call(creation *w, const tn_expr *args[N_CREATE + 1])
{
    tn_ctx *c = w->ctx;
    const tn_expr *common[] = {
        tn_extern_func_of(c, "vm.builtin.paged_attention_kv_cache_create"),
        w->a[1],
        w->a[2],
        tn_i64(c, w->q_heads),
        tn_i64(c, w->kv_heads),
        tn_i64(c, w->head_dim),
        tn_i64(c, w->v_dim),
        w->kinds,
        tn_i64(c, 0),
        tn_i64(c, w->rope_mode),
        tn_float_imm_of(c, TNB_F64, w->rope_scale),
        tn_float_imm_of(c, TNB_F64, w->rope_theta),
        w->rope.frequencies,
        tn_scalar_constant(c, w->kv_dtype, 0),
    };
    memcpy(args, common, sizeof common);
    args[N_CREATE - 1] = tn_dtype_imm_of(c, w->dtype);
    args[N_CREATE] = tn_i64(c, w->rope.long_from);
    for (int i = 0; i <= N_CREATE; i++) {
        if (w->failed || (args[i] && tn_is_error(args[i])))
            return NULL;
        args[i] = args[i] ? args[i] : tn_tuple_of(c, (tn_list){0});
    }
    return tn_call_of(c, w->call->op, (tn_list){args, N_CREATE + 1}, w->call->attrs,
                      w->call->ty_args, NULL);
}

/* The functions of the file for latent attention, at upstream's places. */
static const tn_expr *
create_latent_call(creation *w)
{
    tn_ctx *c = w->ctx;
    const tn_module *m = read_kernels(w, "latent", false);
    const tn_expr *args[N_CREATE + 1] = {0};
    static const char *const append = "kv_cache_transpose_append_mla",
                             *ragged = "tir_attention_prefill_ragged",
                             *pages = "tir_attention_prefill_mla",
                             *merge = "tir_attention_merge_state_mla",
                             *copy = "kv_cache_copy_single_page_mla",
                             *get = "kv_cache_debug_get_kv_mla";
    if (tnb_dtype_eq(w->kv_dtype, TNB_I8)) {
        tn_error(c, w->call->base.loc, TNB_UNSUPPORTED,
                 "DispatchKVCacheCreation: pages of int8 are for multi-head attention");
        tnb_diag_hint(tn_diags(c), "leave cache_dtype at auto for this model");
        return NULL;
    }
    args[15] = kernel(w, m, "latent", append, append);
    args[16] = tir(w, kernel(w, m, "latent", ragged, ragged));
    args[23] = tir(w, kernel(w, m, "latent", pages, pages));
    const tn_expr *merging = kernel(w, m, "latent", merge, merge);
    args[26] = kernel(w, m, "latent", copy, copy);
    args[27] = kernel(w, m, "latent", get, get);
    if (w->failed)
        return NULL;
    args[24] = tn_tuple_of(c, tn_listv(c, merging, merging, NULL));
    return finish_call(w, args);
}

/* Speculative decoding verifies tokens by a function of its own. What trees do not run with, the runtime refuses. */
static bool
wants_trees(const creation *w, bool there)
{
    const char *trees = tn_option_str(w->pc, "trees");
    if (strcmp(trees, "auto") != 0)
        return !strcmp(trees, "always");
    return there && !w->windows && w->rope_mode != ROPE_INLINE &&
           tn_module_get(w->m, "batch_verify");
}

static const tn_expr *
create_call(creation *w)
{
    if (w->latent)
        return create_latent_call(w);
    w->threads = attention_threads(w);
    const char *of = w->threads ? "attention" : "kernels", *tree = "tree_attn_paged_kv",
               *compact = "compact_kv_copy";
    const tn_module *plain = read_kernels(w, "kernels", false),
                    *attention = w->threads ? read_kernels(w, of, false) : plain,
                    *window = w->windows ? read_kernels(w, of, true) : NULL;
    const bool trees = attention && wants_trees(w, tn_module_get(attention, tree));
    const tn_expr *args[N_CREATE + 1] = {
        [14] =
            kernel(w, plain, "kernels", "kv_cache_transpose_append", "kv_cache_transpose_append"),
        [17] = tir(w, kernel(w, attention, of, "tir_attention_prefill", "tir_attention_prefill")),
        /* 18, decode: the same function */
        [19] = w->windows ? tir(w, kernel(w, window, of, "tir_attention_prefill",
                                          "tir_attention_prefill_sliding_window"))
                          : NULL,
        [21] = trees ? tir(w, kernel(w, attention, of, tree, tree)) : NULL,
        [25] = kernel(w, attention, of, "tir_split_rotary", "tir_split_rotary"),
        [26] =
            kernel(w, plain, "kernels", "kv_cache_copy_single_page", "kv_cache_copy_single_page"),
        [27] = kernel(w, plain, "kernels", "kv_cache_debug_get_kv", "kv_cache_debug_get_kv"),
        [28] = trees ? kernel(w, plain, "kernels", compact, compact) : NULL,
    };
    return finish_call(w, args);
}

static tn_walk_step
find_call(void *user, const tn_node *n)
{
    const tn_call *c = tn_is_call_to(n, "relax.call_pure_packed");
    const tn_extern_func *f = c && c->args.n ? tn_as_extern_func(c->args.at[0]) : NULL;
    if (!f || strcmp(f->name, generic) != 0)
        return TN_WALK_ON;
    *(const tn_call **)user = c;
    return TN_WALK_STOP;
}

/* The module's one call, or none. False after an error. */
static bool
find(creation *w)
{
    for (uint32_t i = 0; i < w->m->names.n; i++) {
        const tn_call *c = NULL;
        if (!tn_is(w->m->funcs.at[i], TN_KIND_FUNCTION))
            continue;
        tn_walk(w->m->funcs.at[i], TN_WALK_ONCE, find_call, NULL, &c);
        if (c && w->call) {
            tn_error(w->ctx, c->base.loc, TNB_UNSUPPORTED,
                     "'%s' makes a cache, and '%s' too: one function of a module may",
                     tn_module_name(w->m, i), w->in);
            return false;
        }
        if (c) {
            w->call = c;
            w->in = tn_module_name(w->m, i);
        }
    }
    return true;
}

static const tn_node *
put_call(tn_rewriter *r, const tn_node *n)
{
    const tn_expr *const *swap = r->user;
    return n == swap[0] ? swap[1] : NULL;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    creation w = {.pc = pc, .ctx = pc->ctx, .m = m};
    if (!find(&w))
        return NULL;
    if (!w.call)
        return m;
    const tn_expr *call = take_args(&w) ? create_call(&w) : NULL;
    if (!call || tn_is_error(call))
        return NULL;
    const tn_expr *swap[2] = {&w.call->base, call};
    tn_rewriter r = {.ctx = pc->ctx, .user = swap, .pre = put_call};
    const tn_node *f = tn_rewrite(&r, tn_module_get(m, w.in));
    if (!f || tn_is_error(f))
        return NULL;
    TNB_PUSH(tn_scratch(pc->ctx), w.names, w.in);
    TNB_PUSH(tn_scratch(pc->ctx), w.funcs, f);
    return tn_module_set_all(pc->ctx, m, w.names.at, w.funcs.at, w.names.n);
}

/* What calls a packed function cannot be run without the machine. */
static bool
adapt(const tn_pass_ctx *pc, tn_pass_side *before, tn_pass_side *after, const char **why)
{
    (void)pc, (void)before, (void)after;
    *why = "a cache is made by the runtime alone";
    return false;
}

static const tn_attr_schema options[] = {
    {"kernels", TN_ATTR_STR, 0, "paged_kv.py", "TVMScript file of the kernels", "file"},
    {"attention", TN_ATTR_STR, 0, "",
     "TVMScript file of attention and rotary embedding for targets whose attribute "
     "attention_threads is more than 0; empty: those of kernels",
     "file"},
    {"latent", TN_ATTR_STR, 0, "paged_kv_mla.py",
     "TVMScript file of the kernels for latent attention", "file"},
    {"cache_dtype", TN_ATTR_STR, 0, "auto",
     "dtype of keys and values in pages, int8: with a scale for each token and head; auto: the "
     "model's",
     "auto|float32|float16|bfloat16|int8"},
    {"windows", TN_ATTR_BOOL, 0, "False", "kernels for sequences with a sliding window, too"},
    {"trees", TN_ATTR_STR, 0, "auto",
     "kernels for tokens that stand in trees, too; auto: where the module has a function "
     "batch_verify, no windows and no RoPE of mode 2",
     "auto|always|never"},
    {0},
};

const tn_pass llm_dispatch_kv_cache_creation = {
    .base.size = sizeof(tn_pass),
    .base.name = "DispatchKVCacheCreation",
    .base.doc = "make the cache of keys and values by the runtime, with kernels for the model",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .adapt = adapt,
    .run = run,
};
