/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins for check_tables.py: one entry of each table, its text given by a macro. */
#include "tenon/core/build.h"
#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/tensor_intrin.h"

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    (void)pc;
    return m;
}

static const tn_type *
infer(tn_ctx *ctx, const tn_call *call)
{
    (void)ctx;
    return call->args.n ? ((const tn_expr *)call->args.at[0])->type : NULL;
}

static const tn_expr *
legalize(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)b, (void)target, (void)self;
    return (const tn_expr *)call;
}

static const tn_pass pass = {.base = {sizeof pass, "TablesPass", "for tests"},
                             .needs = NEEDS,
                             .run = run};
static const tn_op op = {.base = {sizeof op, OP, "for tests"}, .infer = infer};
static const tn_legalizer legalizer = {.base = {sizeof legalizer, LEGALIZED, "for tests"},
                                       .target = TARGET,
                                       .legalize = legalize};
static const tnk_fusion_pattern pattern = {.base = {sizeof pattern, "tables.p", "for tests"},
                                           .pattern = PATTERN};
static const tn_meaning meaning = {.base = {sizeof meaning, "tables.fn", "for tests"},
                                   .text = MEANING};
static const tnk_tensor_intrin intrin = {.base = {sizeof intrin, "tables.mma", "for tests"},
                                         .text = INTRIN};

static const tn_pass *const passes[] = {&pass};
static const tn_op *const ops[] = {&op};
static const tn_legalizer *const legalizers[] = {&legalizer};
static const tnk_fusion_pattern *const patterns[] = {&pattern};
static const tn_meaning *const meanings[] = {&meaning};
static const tnk_tensor_intrin *const intrins[] = {&intrin};

TN_PLUGIN(tables, "1.0", "MIT-0", "for tests", .passes = passes, .n_passes = 1, .ops = ops,
          .n_ops = 1, .legalizers = legalizers, .n_legalizers = 1, .patterns = patterns,
          .n_patterns = 1, .meanings = meanings, .n_meanings = 1, .tensor_intrins = intrins,
          .n_tensor_intrins = 1);
