/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin for twice.py, of which it makes several: with entries of every kind by the same names (TABLES), with an evaluator, with an
 * operator that has a legalizer for the target `board` (OPERATOR), or with that target and the same legalizer (BOARD). */
#include "tenon/core/eval.h"
#include "tenon/kit/importer.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/tensor_intrin.h"

#include <string.h>

#define TEXT(name) #name
#define TEXT_OF(name) TEXT(name)
#define NAMED(MACRO, ...) MACRO(__VA_ARGS__)
#define DESCRIBED NAME, "1.0", "MIT-0", "for tests"

#if defined EVALUATOR
static const tn_expr *
run(void *self, tn_ctx *ctx, const tn_module *m, const char *func, const tn_expr *const *args,
    uint32_t n, tn_eval_options *opt)
{
    (void)self, (void)ctx, (void)m, (void)func, (void)n, (void)opt;
    return args[0];
}
static const tn_evaluator evaluator = {.base = {sizeof evaluator, "twice", "for tests"},
                                       .run = run};
static const tn_evaluator *const evaluators[] = {&evaluator};
NAMED(TN_PLUGIN, DESCRIBED, .evaluators = evaluators, .n_evaluators = 1);

#else
static const tn_type *
infer(tn_ctx *ctx, const tn_call *call)
{
    (void)ctx;
    return call->args.at[0]->type;
}
static const tn_arg_schema args[] = {{.name = "x"}, {0}};
static const tn_op op = {.base = {sizeof op, "relax.twice.op", "for tests"},
                         .args = args,
                         .infer = infer};
static const tn_op *const ops[] = {&op};

static const tn_expr *
legalize(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)b, (void)target, (void)self;
    return call->args.at[0];
}
#ifdef TABLES
#define LEGALIZED "relax.nn.relu"
#define TARGET "cpu"
#else
#define LEGALIZED "relax.twice.op"
#define TARGET "board"
#endif
static const tn_legalizer legalizer = {.base = {sizeof legalizer, LEGALIZED, "for tests"},
                                       .target = TARGET,
                                       .legalize = legalize};
static const tn_legalizer *const legalizers[] = {&legalizer};

#if defined OPERATOR
NAMED(TN_PLUGIN, DESCRIBED, .ops = ops, .n_ops = 1, .legalizers = legalizers, .n_legalizers = 1);

#else
static const char *const none[] = {NULL};
#ifdef BOARD
static const char *const kinds[] = {"board", NULL};
static const tn_target_kind target = {.base = {sizeof target, "board", "for tests"},
                                      .kinds = kinds,
                                      .lower = none};
static const tn_target_kind *const targets[] = {&target};
NAMED(TN_PLUGIN, DESCRIBED, .targets = targets, .n_targets = 1, .legalizers = legalizers,
      .n_legalizers = 1);

#else
static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    (void)pc;
    return m;
}
static const tn_pass pass = {.base = {sizeof pass, "Twice", "for tests"},
                             .alias = "Double",
                             .run = run};
static const tn_pass *const passes[] = {&pass};

static const char *const kinds[] = {"twice", NULL};
static const tn_target_kind target = {.base = {sizeof target, TEXT_OF(NAME), "for tests"},
                                      .kinds = kinds,
                                      .lower = none};
static const tn_target_kind *const targets[] = {&target};

static const tn_node *
apply(tn_ctx *ctx, const tn_node *f, const tn_target *of, void *self)
{
    (void)ctx, (void)f, (void)of, (void)self;
    return NULL;
}
static const tnk_rule rule = {.base = {sizeof rule, "twice.Tile", "for tests"}, .apply = apply},
                      narrow = {.base = {sizeof rule, "gpu_generic.Fallback", "for tests"},
                                .apply = apply};
static const tnk_rule *const rules[] = {&rule, &narrow};

/* `same` in every plugin has one name, `own` another. */
static bool
same_recognizes(const char *file, const void *head, size_t n)
{
    return file && n >= 4 && memcmp(head, "same", 4) == 0;
}
static bool
own_recognizes(const char *file, const void *head, size_t n)
{
    return file && n >= 4 && memcmp(head, "each", 4) == 0;
}
static tnb_status
import(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt, tnk_model *out)
{
    (void)self, (void)ctx, (void)path, (void)opt, (void)out;
    return TNB_FORMAT;
}
static const tnk_importer same = {.base = {sizeof same, "twice", "for tests"},
                                  .recognize = same_recognizes,
                                  .import = import},
                          own = {.base = {sizeof own, TEXT_OF(NAME), "for tests"},
                                 .recognize = own_recognizes,
                                 .import = import};
static const tnk_importer *const importers[] = {&same, &own};

static const tnk_fusion_pattern pattern = {.base = {sizeof pattern, "twice.relu", "for tests"},
                                           .pattern = "relax.nn.relu(x)"};
static const tnk_fusion_pattern *const patterns[] = {&pattern};

static bool
make(tn_ctx *ctx, const tn_node **desc, const tn_node **impl, void *self)
{
    (void)ctx, (void)desc, (void)impl, (void)self;
    return false;
}
static const tnk_tensor_intrin intrin = {.base = {sizeof intrin, "twice.mma", "for tests"},
                                         .make = make};
static const tnk_tensor_intrin *const intrins[] = {&intrin};

static const tn_meaning meaning = {
    .base = {sizeof meaning, "twice.fn", "for tests"},
    .text = "@R.function\ndef meaning(x: R.Tensor((4,), \"float32\")):\n    return x\n"};
static const tn_meaning *const meanings[] = {&meaning};

NAMED(TN_PLUGIN, DESCRIBED, .passes = passes, .n_passes = 1, .ops = ops, .n_ops = 1,
      .targets = targets, .n_targets = 1, .legalizers = legalizers, .n_legalizers = 1,
      .rules = rules, .n_rules = 2, .importers = importers, .n_importers = 2, .patterns = patterns,
      .n_patterns = 1, .tensor_intrins = intrins, .n_tensor_intrins = 1, .meanings = meanings,
      .n_meanings = 1);
#endif
#endif
#endif
