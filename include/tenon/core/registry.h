/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: operators, passes, targets, importers and the rest that plugins provide; and the
 * descriptor by which a compiler plugin offers them.
 *
 * A plugin exports one constant symbol `tn_plugin` of type tn_plugin_desc through TN_PLUGIN(...).
 * Tables are declarative; `init` and `fini` are optional. Every entry begins with a tnb_entry: its
 * size, by which a plugin that was compiled with other headers is refused, its name, its text.
 */
#ifndef TENON_CORE_REGISTRY_H
#define TENON_CORE_REGISTRY_H

#include "tenon/base/call.h"
#include "tenon/base/entry.h"
#include "tenon/core/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of higher layers that tables may hold. */
struct tnk_rule;     /* tenon/kit/rule.h: schedule rules */
struct tnk_codegen;  /* tenon/kit/codegen.h: target code generators */
struct tnk_importer; /* tenon/kit/importer.h */
struct tn_evaluator; /* tenon/core/eval.h */
struct tn_meaning;
struct tnk_fusion_pattern; /* tenon/kit/pattern.h */
struct tnk_external;
struct tnk_tensor_intrin; /* tenon/kit/tensor_intrin.h */
struct tnk_dialect;       /* tenon/kit/emit.h */

/* What the threads of a warp (a sub-group) do together without memory. Kernels written for it ask
 * T.warp_size_is first, unless the size is certain. */
enum {
    TN_WARP_SHUFFLE = 1,    /* T.tvm_warp_shuffle_xor */
    TN_WARP_REDUCE = 2,     /* T.warp_reduce over the whole warp */
    TN_WARP_REDUCE_PART = 4 /* T.warp_reduce over parts of it, powers of two */
};
typedef struct tn_warp {
    uint32_t size; /* threads: a power of two */
    uint32_t ops;  /* TN_WARP_... */
    uint32_t bits; /* of the widest value they take: 32, 64 */
    bool certain;  /* every block of full warps runs in warps of that size */
} tn_warp;

/* A target kind that a backend serves. */
typedef struct tn_target_kind {
    tnb_entry base; /* name: "cpu" */
    /* Kinds of the IR it serves, NULL-terminated: "llvm", "c"; NULL, or none: its name. The manifest promises each that is not its
     * name as `target_alias:KIND`. */
    const char *const *kinds;
    const tn_attr_schema *attrs; /* attribute schema of [target NAME]; NULL: none */
    /* the four lists, NULL-terminated arrays of pass items; NULL: empty */
    const char *const *library_dispatch;
    const char *const *legalize;
    const char *const *finalize; /* "@generic": see tenon/kit/lists.h */
    const char *const *lower;
    const struct tnk_codegen
        *codegen; /* NULL: its passes can be looked at, and no kernels are made */
    /* Fills attributes from the machine ("native") and checks what the schema cannot; returns the Dict, NULL after
     * recording an error. May be NULL. */
    const tn_node *(*probe)(tn_ctx *ctx, const tn_node *attrs, void *self);
    /* False: threads of a block meet in shared memory only. NULL: they do. */
    bool (*warp)(const tn_node *attrs, tn_warp *out, void *self);
    const char *device; /* the driver that runs its artifacts: "cpu"; NULL: that of the same name */
    void *self;
} tn_target_kind;

/* A target-specific legalization: overrides the operator's own. The manifest promises it as
 * `legalizer:OP@TARGET` where neither the operator nor the target is of the same plugin; it then comes before
 * one that the target's plugin has. */
typedef struct tn_legalizer {
    tnb_entry base;     /* name: the operator's */
    const char *target; /* target kind */
    const tn_expr *(*legalize)(tn_builder *b, const tn_call *call, const tn_target *target,
                               void *self);
    void *self;
} tn_legalizer;

/* The tables: arrays of n pointers to entries, so that entries may stand in a file each. */
typedef struct tn_plugin_desc {
    tnb_plugin_head head; /* magic, ABI, name, version: filled by the macro */
    const tn_pass *const *passes;
    uint32_t n_passes;
    const tn_op *const *ops;
    uint32_t n_ops;
    const tn_target_kind *const *targets;
    uint32_t n_targets;
    const tn_legalizer *const *legalizers;
    uint32_t n_legalizers;
    const struct tnk_rule *const *rules;
    uint32_t n_rules;
    const struct tnk_importer *const *importers;
    uint32_t n_importers;
    const struct tn_evaluator *const *evaluators;
    uint32_t n_evaluators;
    const struct tnk_fusion_pattern *const *patterns;
    uint32_t n_patterns;
    const struct tnk_external *const *externals;
    uint32_t n_externals;
    const struct tnk_tensor_intrin *const *tensor_intrins;
    uint32_t n_tensor_intrins;
    const struct tnk_dialect *const *dialects;
    uint32_t n_dialects;
    /* Before the tables are added to `reg`, which may hold other plugins: the place to read the plugin's own section
     * (start->setting), and to refuse to serve. NULL: none. fini is called, when the registry is freed, if init succeeded. */
    tnb_status (*init)(tn_registry *reg, const tnb_plugin_start *start, tnb_err *err);
    void (*fini)(void);
    const struct tn_meaning *const *meanings;
    uint32_t n_meanings;
} tn_plugin_desc;

/* The one symbol of a compiler plugin:
 *
 *     TN_PLUGIN(opencl, "1.0", "Apache-2.0", "OpenCL code generation", .targets = targets, .n_targets = 1);
 *
 * In C++ (20, or the GNU dialect of an earlier one) designators stand in the order of the members, here and in entries, and a
 * nested one is written with braces:
 *
 *     static const tn_pass tidy = {.base = {sizeof(tn_pass), "AcmeTidy", "removes what does nothing"}, .run = run};
 *
 * A callback is `static` or `extern "C"`. The order of this descriptor: passes, ops, targets, legalizers, rules, importers, evaluators,
 * patterns, externals, tensor_intrins, dialects, init, fini, meanings, each table with its n_.
 */
#define TN_PLUGIN(name_, version_, licence_, summary_, ...)                                      \
    TNB_PLUGIN_NOTE(TNB_PLUGIN_COMPILER);                                                        \
    TNB_EXPORT extern const tn_plugin_desc TNB_PLUGIN_SYMBOL(name_, tn_plugin);                  \
    const tn_plugin_desc TNB_PLUGIN_SYMBOL(name_, tn_plugin) = {                                 \
        .head = TNB_PLUGIN_HEAD(tn_plugin_desc, TNB_PLUGIN_COMPILER, #name_, version_, licence_, \
                                summary_),                                                       \
        __VA_ARGS__}

/* plugins: the index made from the configuration; NULL: no plugins (tests add tables by hand). Both
 * are borrowed and must outlive the registry. */
TNB_EXPORT tn_registry *
tn_registry_new(tnb_plugins *plugins);
TNB_EXPORT void
tn_registry_free(tn_registry *r);
/* Adds the tables of a descriptor (a loaded plugin, or one linked in). */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tn_registry_add(tn_registry *r, const tn_plugin_desc *d, tnb_err *err);

/* Finding loads the plugin that provides the name when needed; NULL if nobody does or loading
 * failed (err tells, may be NULL). */
TNB_EXPORT const tn_op *
tn_find_op(tn_registry *r, const char *name, tnb_err *err);
TNB_EXPORT const tn_pass *
tn_find_pass(tn_registry *r, const char *name, tnb_err *err);
TNB_EXPORT const tn_target_kind *
tn_find_target(tn_registry *r, const char *name, tnb_err *err); /* by name or served kind */
TNB_EXPORT const tn_legalizer *
tn_find_legalizer(tn_registry *r, const char *op, const char *target);
TNB_EXPORT const struct tn_evaluator *
tn_find_evaluator(tn_registry *r, const char *name,
                  tnb_err *err); /* NULL name: the first that runs modules */
/* The first evaluator that makes machine code; NULL if there is none. */
TNB_EXPORT const struct tn_evaluator *
tn_find_native_evaluator(tn_registry *r);
/* Generic lookup for kit's tables, whose entries begin with a tnb_entry too: kind "rule", "importer", "pattern",
 * "external", "tensor_intrin", "dialect" or "meaning". */
TNB_EXPORT const void *
tn_find_entry(tn_registry *r, const char *kind, const char *name, tnb_err *err);
/* Loads this plugin, after those that it requires; fine when it is loaded already. On failure it counts as refused. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tn_registry_load(tn_registry *r, const tnb_plugin *p, tnb_err *err);
/* Loads every plugin that provides something of this kind ("op", "pass", ...). Failures are kept
 * for `why`. */
TNB_EXPORT void
tn_registry_load_all(tn_registry *r, const char *kind);
/* Iteration over what is loaded, in registration order; NULL past the end. */
TNB_EXPORT const void *
tn_registry_entry(tn_registry *r, const char *kind, uint32_t i);
/* The index that the registry was made with; NULL: none. */
TNB_EXPORT const tnb_plugins *
tn_registry_plugins(const tn_registry *r);
/* The name of the plugin that a registered entry came with; NULL: it came with none, or r is NULL. */
TNB_EXPORT const char *
tn_registry_plugin_of(const tn_registry *r, const tnb_entry *e);
/* The value of `call`, a call of a function of an entry of the context's registry (not NULL), which a crash is then told with. */
#define TN_WITHIN(ctx, kind, entry, function, call) \
    TNB_WITHIN(kind, (entry)->base.name, function,  \
               tn_registry_plugin_of(tn_ctx_registry(ctx), &(entry)->base), call)
/* After such a function failed: where it recorded no error since there were `errors` (tnb_diags_errors), one that says that it gave
 * no reason, of status `s`. Returns `s`. */
TNB_EXPORT tnb_status
tn_need_reason(struct tn_ctx *ctx, uint32_t errors, tnb_status s, const char *kind,
               const char *name, const char *function);
/* The nearest registered name, for hints; NULL if none is near. */
TNB_EXPORT const char *
tn_nearest_name(tn_registry *r, const char *kind, const char *name);
/* After an error that there is no such name: notes why a plugin that promises it cannot be used, with the cure as the hint. False:
 * no plugin does, and nothing is added. `name` as in tnb_plugins_unusable. */
TNB_EXPORT bool
tn_note_unusable(struct tn_ctx *ctx, const char *kind, const char *name);

/* What the entries of a higher layer's tables look like, and what is to be asked further of the core's own; ends with a NULL kind,
 * and stays. The kit says it when it is loaded. */
TNB_EXPORT void
tn_registry_describe(const tnb_entry_kind *described);

/* Core's own tables: the structural operators and scalar intrinsics. */
TNB_EXPORT extern const tn_op tn_structural_ops[];
TNB_EXPORT extern const uint32_t tn_n_structural_ops;
TNB_EXPORT extern const tn_op tn_scalar_intrinsics[];
TNB_EXPORT extern const uint32_t tn_n_scalar_intrinsics;

#ifdef __cplusplus
}
#endif
#endif
