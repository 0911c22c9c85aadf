/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of the plugin `ops`: the operator set, made from the tables. */
#include "complete.h"
#include "infer.h"
#include "layout_rules.h"
#include "scatter.h"
#include "schema.h"

#include "tenon/core/registry.h"

#include <config.h>

#define MIN_ARGS(flags) ((int)((flags) >> 24) ? (int)((flags) >> 24) : -1)
#define SPATIAL_AXES(flags) ((int)((flags) >> 16 & 3))
#define FLAGS(flags) (((flags)&0xffffu) | ((flags)&ANY_SHAPES ? 0 : TN_OP_ARG_SHAPES))

#define RESULT(infer, words) static const char result_##infer[] = words;
#include "results.def"
#undef RESULT

static const tn_op *const ops[] = {
#define OP(id_, name_, args_, attrs_, flags_, infer_, legalize_, doc_, ...) \
    &(const op_row){.op = {.base.size = sizeof(tn_op),                      \
                           .flags = FLAGS((unsigned)(flags_)),              \
                           .base.name = "relax." name_,                     \
                           .base.doc = doc_,                                \
                           .args = args_,                                   \
                           .min_args = MIN_ARGS((unsigned)(flags_)),        \
                           .attrs = attrs_,                                 \
                           .infer = infer_,                                 \
                           .legalize = legalize_,                           \
                           .complete = complete_attrs,                      \
                           .result = result_##infer_,                       \
                           __VA_ARGS__},                                    \
                    .id = OP_##id_,                                         \
                    .spatial = SPATIAL_AXES((unsigned)(flags_))}            \
         .op,
#include "tables.def"
#undef OP
};

TN_PLUGIN(ops, PACKAGE_VERSION, "Apache-2.0", "the operator set", .ops = ops,
          .n_ops = sizeof ops / sizeof *ops, .legalizers = scatter_legalizers,
          .n_legalizers = N_SCATTER_LEGALIZERS);
