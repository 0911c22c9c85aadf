/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* VendDispatch: gives matrix products, with bias and relu, to the library vend.
 *
 *     lv = R.matmul(x, w)
 *     lv1 = R.add(lv, b)        =>   lv2 = R.call_dps_packed("fused_..._vend", (x, w, b), out_ty=..)
 *     lv2 = R.nn.relu(lv1)
 *
 * Neighbours become one function, whose jobs are in the library's queue together. float32; w of two dimensions, the bias of
 * one. Where the library is missing, the module stays as it is if [tenon] fallback allows that.
 */
#include "vend.h"

#include "api.h"
#include "tenon/core/pass.h"

/* ---- patterns ---- */

static bool
is_f32(const tn_expr *e, uint32_t least, uint32_t most, tn_list *dims)
{
    return tn_type_dims(e->type, dims) && dims->n >= least && dims->n <= most &&
           tnb_dtype_eq(tn_type_dtype(e->type), TNB_F32);
}

static bool
check(tn_ctx *ctx, const tnk_match *m, void *self)
{
    const tn_expr *bias = tnk_match_get(m, "b");
    tn_list x, w, b;
    int64_t k, n, extent;
    (void)ctx, (void)self;
    if (tnk_match_leaks(m) || !is_f32(tnk_match_get(m, "x"), 2, 6, &x) ||
        !is_f32(tnk_match_get(m, "w"), 2, 2, &w) || !tn_int_value(w.at[0], &k) ||
        !tn_int_value(w.at[1], &n) || k < 1) /* the library has no empty sums */
        return false;
    return !bias || (is_f32(bias, 1, 1, &b) && tn_int_value(b.at[0], &extent) && extent == n);
}

#define DENSE(name_, priority_, pattern_, doc_)  \
    static const tnk_fusion_pattern name_ = {    \
        .base.size = sizeof(tnk_fusion_pattern), \
        .priority = priority_,                   \
        .base.name = "vend." #name_,             \
        .base.doc = doc_,                        \
        .pattern = pattern_,                     \
        .check = check,                          \
    };
DENSE(dense_bias_relu, 40, "nn.relu(add(matmul(x, w){dtype=float32}, b))",
      "a product with bias and relu")
DENSE(dense_bias, 30, "add(matmul(x, w){dtype=float32}, b)", "a product with bias")
DENSE(dense_relu, 20, "nn.relu(matmul(x, w){dtype=float32})", "a product with relu")
DENSE(dense, 10, "matmul(x, w){dtype=float32}", "a product")

const tnk_fusion_pattern *const vend_patterns[VEND_N_PATTERNS] = {&dense_bias_relu, &dense_bias,
                                                                  &dense_relu, &dense};

/* ---- the pass ---- */

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    static const char list[] = "FuseOpsByPattern{patterns=[\"vend.*\"], bind_constants=false}, "
                               "MergeCompositeFunctions, RunCodegen";
    vend_api api;
    tnb_err err = {0};
    tn_pass_list passes = {0};
    if (vend_api_load(&api, &err) != TNB_OK) {
        if (tn_config_bool(pc, "tenon.fallback")) {
            tn_warn(pc->ctx, 0, "nothing is given to vend: %s", err.message);
            return m;
        }
        tn_error(pc->ctx, 0, err.status, "%s", err.message);
        tnb_diag_hint(tn_diags(pc->ctx),
                      "%s; or leave its work to the target: [tenon] fallback = true", err.hint);
        return NULL;
    }
    if (!tn_pass_list_parse(pc->ctx, list, "VendDispatch", &passes))
        return NULL;
    tn_pass_run r = {.target = pc->target, .config = pc->config, .opt_level = pc->opt_level};
    return tn_run_passes(pc->ctx, m, &passes, &r);
}

static const tn_attr_schema config[] = {
    {"tenon.fallback", TN_ATTR_BOOL, 0, "False",
     "without the library its work is the target's, with a warning"},
    {.name = NULL}};

static const tn_pass vend_dispatch = {
    .base.size = sizeof(tn_pass),
    .base.name = "VendDispatch",
    .base.doc = "give matrix products to the library vend",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .config = config,
    .needs = "op pattern external pass",
};

static const tn_pass *const passes[] = {&vend_dispatch};
static const tnk_external *const externals[] = {&vend_external};

TN_PLUGIN(vend, "0.1.0", "Apache-2.0 OR MIT-0", "matrix products for libvend", .passes = passes,
          .n_passes = 1, .patterns = vend_patterns, .n_patterns = VEND_N_PATTERNS,
          .externals = externals, .n_externals = 1);
