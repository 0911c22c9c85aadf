/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* LibraryDispatch: gives matrix products of float32, with bias and relu, to the vendor's library.
 *
 *     lv = R.matmul(x, w)
 *     lv1 = R.add(lv, b)        =>   lv2 = R.call_dps_packed("fused_..._onelib", (x, w, b), out_ty=..)
 *     lv2 = R.nn.relu(lv1)
 *
 * FuseOpsByPattern puts each match into a function with the attribute Composite = the pattern's name; MergeCompositeFunctions puts
 * neighbours for one code generator into one function with Codegen = the part of the name before the dot; RunCodegen gives each of
 * those to the code generator (compile.c) and keeps it as the meaning of the call, which the interpreter runs and --verify compares
 * with.
 */
#include "onelib.h"

#include "tenon/core/pass.h"

/* What the notation cannot say: operands of float32, w of two known extents, the bias one row of it, and
 * nothing inside is needed outside. */
static bool
check(tn_ctx *ctx, const tnk_match *m, void *self)
{
    const tn_expr *x = tnk_match_get(m, "x"), *w = tnk_match_get(m, "w"),
                  *b = tnk_match_get(m, "b");
    tn_list dims;
    int64_t k, n, extent;
    (void)ctx, (void)self;
    if (tnk_match_leaks(m) || !tnb_dtype_eq(tn_type_dtype(x->type), TNB_F32) ||
        !tnb_dtype_eq(tn_type_dtype(w->type), TNB_F32) || !tn_type_dims(w->type, &dims) ||
        dims.n != 2 || !tn_int_value(dims.at[0], &k) || !tn_int_value(dims.at[1], &n))
        return false;
    return !b || (tn_type_dims(b->type, &dims) && dims.n == 1 &&
                  tn_int_value(dims.at[0], &extent) && extent == n);
}

/* The name's first part is the code generator's. The highest priority is tried first, so that a product is not taken without its bias. */
static const tnk_fusion_pattern dense_bias_relu = {
    .base = {sizeof(tnk_fusion_pattern), "onelib.dense_bias_relu", "a product with bias and relu"},
    .priority = 30,
    .pattern = "nn.relu(add(matmul(x, w){dtype=float32}, b))",
    .check = check,
};
static const tnk_fusion_pattern dense_bias = {
    .base = {sizeof(tnk_fusion_pattern), "onelib.dense_bias", "a product with bias"},
    .priority = 20,
    .pattern = "add(matmul(x, w){dtype=float32}, b)",
    .check = check,
};
static const tnk_fusion_pattern dense = {
    .base = {sizeof(tnk_fusion_pattern), "onelib.dense", "a product"},
    .priority = 10,
    .pattern = "matmul(x, w){dtype=float32}",
    .check = check,
};
const tnk_fusion_pattern *const onelib_patterns[ONELIB_N_PATTERNS] = {&dense_bias_relu, &dense_bias,
                                                                      &dense};

/* bind_constants=false: constants are arguments of the call, so that the runtime half gets them and may lay them out once. */
static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    static const char list[] = "FuseOpsByPattern{patterns=[\"onelib.*\"], bind_constants=false}, "
                               "MergeCompositeFunctions, RunCodegen";
    tn_pass_list passes = {0};
    if (!tn_pass_list_parse(pc->ctx, list, "LibraryDispatch", &passes))
        return NULL;
    tn_pass_run r = {.target = pc->target, .config = pc->config, .opt_level = pc->opt_level};
    return tn_run_passes(pc->ctx, m, &passes, &r);
}

static const tn_pass dispatch = {
    .base = {sizeof(tn_pass), "LibraryDispatch", "give matrix products to the library onelib"},
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op pattern external pass",
};
static const tn_pass *const passes[] = {&dispatch};
static const tnk_external *const externals[] = {&onelib_external};

TN_PLUGIN(onelib, "0.1.0", "Apache-2.0 OR MIT-0", "operators for a vendor's library",
          .passes = passes, .n_passes = 1, .patterns = onelib_patterns,
          .n_patterns = ONELIB_N_PATTERNS, .externals = externals, .n_externals = 1);
