/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin for check_fields.py, compiler half or, with DEVICE, device half: entries of all tables, of which the environment variable
 * BAD names a member that gets a bad value before the plugin is looked at.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef DEVICE
#include "tenon/rt/plugin.h"
#else
#include "tenon/core/build.h"
#include "tenon/core/eval.h"
#include "tenon/core/registry.h"
#include "tenon/kit/emit_hooks.h"
#include "tenon/kit/importer.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/tensor_intrin.h"
#endif

struct bad {
    const char *name;
    void *at;
    const void *value;
    size_t n;
};
/* clang-format off */
#define BAD(what, where, ...) {what, &(where), &(__typeof__(where)){__VA_ARGS__}, sizeof(where)}
#define BASE(what, e) BAD(what ".base.size", e.base.size, 0), BAD(what ".base.name", e.base.name, NULL)
/* clang-format on */
static const char *const empty[] = {"", NULL};

#ifndef DEVICE

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
static double
eval(const double *args, int n)
{
    (void)n;
    return args[0];
}
static const tn_expr *
legalize(tn_builder *b, const tn_call *call, const tn_target *target, void *self)
{
    (void)b, (void)target, (void)self;
    return (const tn_expr *)call;
}
static const tn_node *
apply(tn_ctx *ctx, const tn_node *f, const tn_target *target, void *self)
{
    (void)ctx, (void)f, (void)target, (void)self;
    return NULL;
}
static bool
recognize(const char *path, const void *head, size_t n)
{
    (void)path, (void)head, (void)n;
    return false;
}
static tnb_status
import(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt, tnk_model *out)
{
    (void)self, (void)ctx, (void)path, (void)opt, (void)out;
    return TNB_UNSUPPORTED;
}
static tnb_status
compile(void *self, tn_ctx *ctx, const char *symbol, const tn_function *f, const tn_target *target,
        const tn_node *options, const tn_node **payload)
{
    (void)self, (void)ctx, (void)symbol, (void)f, (void)target, (void)options, (void)payload;
    return TNB_UNSUPPORTED;
}
static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self, (void)b, (void)kernels, (void)n, (void)out;
    return TNB_UNSUPPORTED;
}
static const tn_expr *
evaluate(void *self, tn_ctx *ctx, const tn_module *m, const char *func, const tn_expr *const *args,
         uint32_t n, tn_eval_options *opt)
{
    (void)self, (void)ctx, (void)m, (void)func, (void)args, (void)n, (void)opt;
    return NULL;
}
static bool
warp(const tn_node *attrs, tn_warp *out, void *self)
{
    (void)attrs, (void)self;
    *out = (tn_warp){.size = 32, .ops = TN_WARP_SHUFFLE, .bits = 32};
    return true;
}
static bool
odd_warp(const tn_node *attrs, tn_warp *out, void *self)
{
    (void)attrs, (void)self;
    *out = (tn_warp){.size = 33, .ops = TN_WARP_SHUFFLE, .bits = 32};
    return true;
}
static const tn_node *
no_probe(tn_ctx *ctx, const tn_node *attrs, void *self)
{
    (void)attrs, (void)self;
    tn_error(ctx, 0, TNB_DEVICE, "the machine cannot be asked");
    return NULL;
}
static const tnk_pat *
no_pattern(tn_ctx *ctx, void *self)
{
    (void)self;
    tn_error(ctx, 0, TNB_INVALID, "the pattern cannot be built");
    return NULL;
}
static bool
no_intrin(tn_ctx *ctx, const tn_node **desc, const tn_node **impl, void *self)
{
    (void)desc, (void)impl, (void)self;
    tn_error(ctx, 0, TNB_INVALID, "the intrinsic cannot be made");
    return false;
}
static void *
prepare(void *self, tn_ctx *ctx, const tn_node *const *programs, uint32_t n, tn_native_options *opt)
{
    (void)self, (void)ctx, (void)programs, (void)n, (void)opt;
    return NULL;
}
static const char *
vector_type(tnk_emitter *e, tnb_dtype d)
{
    (void)e, (void)d;
    return NULL;
}
static const char *
vector_lane(uint16_t lanes, int i)
{
    (void)lanes, (void)i;
    return "x";
}
static uint32_t
vector_align(tnb_dtype d)
{
    (void)d;
    return 4;
}

static tn_attr_schema attrs[] = {{"size", TN_ATTR_INT, 0, "3", "for tests", "1..9"}, {0}};
static const tn_attr_schema odd_default[] = {{"size", TN_ATTR_INT, 0, "many", "", NULL}, {0}};
static const tn_attr_schema odd_capability[] = {{"supports_int64", TN_ATTR_STR, 0, "\"no\"", "",
                                                 NULL},
                                                {0}};
static tn_arg_schema args[] = {{"x", "for tests", "float tensor"}, {0}};
static tn_pass pass = {.base = {sizeof pass, "FieldsPass", "for tests"},
                       .options = attrs,
                       .run = run};
static tn_op op = {.base = {sizeof op, "relax.fields.op", "for tests"},
                   .args = args,
                   .min_args = -1,
                   .attrs = attrs,
                   .infer = infer};
static const char *const spellings[] = {"c", "half", NULL}, *const half_a_pair[] = {"c", NULL};
static tn_op scalar = {.base = {sizeof scalar, "fields.scalar", "for tests"},
                       .flags = TN_OP_SCALAR,
                       .args = args,
                       .min_args = -1,
                       .infer = infer,
                       .spellings = spellings,
                       .eval = eval};
static tnk_codegen codegen = {.size = sizeof codegen, .name = "fields", .build = build};
static const char *const kinds[] = {"fields", NULL}, *const list[] = {"Simplify", NULL},
                         *const nowhere[] = {"NoSuchPass", NULL};
static tn_target_kind target = {.base = {sizeof target, "fields", "for tests"},
                                .kinds = kinds,
                                .attrs = attrs,
                                .library_dispatch = list,
                                .legalize = list,
                                .finalize = list,
                                .lower = list,
                                .codegen = &codegen,
                                .warp = warp,
                                .device = "cpu"};
static tn_legalizer legalizer = {.base = {sizeof legalizer, "relax.nn.relu", "for tests"},
                                 .target = "null",
                                 .legalize = legalize};
static tnk_rule rule = {.base = {sizeof rule, "fields.Rule", "for tests"}, .apply = apply};
static const char *const extensions[] = {".fields", NULL}, *const no_dot[] = {"fields", NULL};
static tnk_importer importer = {.base = {sizeof importer, "fields", "for tests"},
                                .extensions = extensions,
                                .recognize = recognize,
                                .import = import};
static tn_evaluator evaluator = {.base = {sizeof evaluator, "fields", "for tests"},
                                 .run = evaluate};
static tnk_fusion_pattern pattern = {.base = {sizeof pattern, "fields.p", "for tests"},
                                     .pattern = "nn.relu(x)"};
static tnk_external external = {.base = {sizeof external, "fields", "for tests"},
                                .compile = compile};
static tnk_tensor_intrin intrin = {.base = {sizeof intrin, "fields.mma", "for tests"},
                                   .text = INTRIN};
static const char *const threads[] = {"threadIdx.x", "here(0)", NULL}, *const odd_threads[] = {
                                                                           "threadIdx.q", "here(0)",
                                                                           NULL};
static const tnk_function_name no_name[] = {{TN_INTRIN_exp, NULL}, {TN_INTRIN_NONE, NULL}};
static tnk_vector_structs structs = {vector_type, vector_type, vector_lane, vector_align};
static tnk_dialect dialect = {.base = {sizeof dialect, "fields_c", "for tests"},
                              .calling = TNK_CALL_DIRECT,
                              .kernel = "kernel void",
                              .barrier = "meet();",
                              .threads = threads,
                              .prologue = "#include <stdint.h>\n",
                              .structs = &structs};
static tn_meaning meaning = {.base = {sizeof meaning, "fields.fn", "for tests"}, .text = MEANING};

static const tn_pass *const passes[] = {&pass};
static const tn_op *const ops[] = {&op, &scalar};
static const tn_target_kind *const targets[] = {&target};
static const tn_legalizer *const legalizers[] = {&legalizer};
static const tnk_rule *const rules[] = {&rule};
static const tnk_importer *const importers[] = {&importer};
static const tn_evaluator *const evaluators[] = {&evaluator};
static const tnk_fusion_pattern *const patterns[] = {&pattern};
static const tnk_external *const externals[] = {&external};
static const tnk_tensor_intrin *const intrins[] = {&intrin};
static const tnk_dialect *const dialects[] = {&dialect};
static const tn_meaning *const meanings[] = {&meaning};

static const struct bad bads[] = {
    BASE("pass", pass),
    BAD("pass.alias", pass.alias, ""),
    BAD("pass.opt_level", pass.opt_level, -4),
    BAD("pass.options", pass.options, odd_default),
    BAD("pass.config", pass.config, odd_default),
    BAD("pass.keeps", pass.keeps, 9),
    BAD("pass.flags", pass.flags, 64),
    BAD("pass.run", pass.run, NULL),
    BAD("pass.needs", pass.needs, "op patern"),
    BASE("op", op),
    BAD("op.flags", op.flags, 1 << 20),
    BAD("op.script_name", op.script_name, ""),
    BAD("op.args", args[0].name, ""),
    BAD("op.min_args", op.min_args, 5),
    BAD("op.mixed", op.mixed, 7),
    BAD("op.attrs", op.attrs, odd_default),
    BAD("op.infer", op.infer, NULL),
    BAD("op.structural", op.structural, TN_STRUCTURAL_call_tir),
    BAD("op.intrin", op.intrin, TN_INTRIN_exp),
    BAD("op.spellings", scalar.spellings, half_a_pair),
    BAD("op.eval", op.eval, eval),
    BAD("attr.name", attrs[0].name, ""),
    BAD("attr.type", attrs[0].type, 99),
    BAD("attr.flags", attrs[0].flags, 8),
    BAD("attr.fallback", attrs[0].fallback, "many"),
    BAD("attr.allowed", attrs[0].allowed, "1..many"),
    BAD("arg.name", args[0].name, ""),
    BAD("arg.accepts", args[0].accepts, "floating tensr"),
    BASE("target", target),
    BAD("target.kinds", target.kinds, empty),
    BAD("target.attrs", target.attrs, odd_capability),
    BAD("target.library_dispatch", target.library_dispatch, nowhere),
    BAD("target.legalize", target.legalize, nowhere),
    BAD("target.finalize", target.finalize, nowhere),
    BAD("target.lower", target.lower, nowhere),
    BAD("target.codegen", codegen.build, NULL),
    BAD("target.probe", target.probe, no_probe),
    BAD("target.warp", target.warp, odd_warp),
    BAD("target.device", target.device, "nowhere"),
    BAD("codegen.size", codegen.size, 0),
    BAD("codegen.name", codegen.name, NULL),
    BAD("codegen.build", codegen.build, NULL),
    BASE("legalizer", legalizer),
    BAD("legalizer.legalize", legalizer.legalize, NULL),
    BASE("rule", rule),
    BAD("rule.apply", rule.apply, NULL),
    BAD("rule.attrs", rule.attrs, empty),
    BASE("importer", importer),
    BAD("importer.extensions", importer.extensions, no_dot),
    BAD("importer.recognize", importer.recognize, NULL),
    BAD("importer.import", importer.import, NULL),
    BAD("importer.quantizations", importer.quantizations, empty),
    BASE("evaluator", evaluator),
    BAD("evaluator.run", evaluator.run, NULL),
    BAD("evaluator.prepare", evaluator.prepare, prepare),
    BASE("pattern", pattern),
    BAD("pattern.pattern", pattern.pattern, "nn.relu(x"),
    BAD("pattern.build", pattern.build, no_pattern),
    BASE("external", external),
    BAD("external.flags", external.flags, 2),
    BAD("external.compile", external.compile, NULL),
    BAD("external.feature", external.feature, ""),
    BASE("intrin", intrin),
    BAD("intrin.text", intrin.text, "nothing"),
    BAD("intrin.make", intrin.make, no_intrin),
    BASE("dialect", dialect),
    BAD("dialect.language", dialect.language, ""),
    BAD("dialect.calling", dialect.calling, 5),
    BAD("dialect.kernel", dialect.kernel, NULL),
    BAD("dialect.global_ptr", dialect.global_ptr, "far"),
    BAD("dialect.shared", dialect.shared, "near"),
    BAD("dialect.local", dialect.local, ""),
    BAD("dialect.barrier", dialect.barrier, NULL),
    BAD("dialect.global_barrier", dialect.global_barrier, ""),
    BAD("dialect.warp_barrier", dialect.warp_barrier, ""),
    BAD("dialect.inline_", dialect.inline_, ""),
    BAD("dialect.dynamic_shared", dialect.dynamic_shared, "char other[];"),
    BAD("dialect.threads", dialect.threads, odd_threads),
    BAD("dialect.functions", dialect.functions, no_name),
    BAD("dialect.reserved", dialect.reserved, empty),
    BAD("dialect.prologue", dialect.prologue, NULL),
    BAD("dialect.structs", dialect.gnu_vectors, true),
    BAD("structs.type", structs.type, NULL),
    BAD("structs.make", structs.make, NULL),
    BAD("structs.lane", structs.lane, NULL),
    BAD("structs.align", structs.align, NULL),
    BASE("meaning", meaning),
    BAD("meaning.text", meaning.text, "nothing"),
    {0},
};
#define DESC TNB_PLUGIN_SYMBOL(fields, tn_plugin)
TN_PLUGIN(fields, "1.0", "MIT-0", "for tests", TABLES);

#else

typedef struct tnr_device_options options;
static tnb_status
count(void *self, int *n, tnb_err *err)
{
    (void)self, (void)err;
    *n = 1;
    return TNB_OK;
}
static tnb_status
odd_count(void *self, int *n, tnb_err *err)
{
    (void)self, (void)err;
    *n = -3;
    return TNB_OK;
}
static tnb_status
no_open(void *self, int id, const options *opt, void **dev, tnb_err *err)
{
    (void)self, (void)id, (void)opt, (void)dev;
    return tnb_fail(err, TNB_DEVICE, "the dongle is not plugged in");
}
static tnb_status
late_open(void *self, int id, const options *opt, void **dev, tnb_err *err)
{
    (void)self, (void)id, (void)opt, (void)dev, (void)err;
    for (;;)
        pause();
}
static void
describe(void *dev, char *out, size_t n)
{
    (void)dev;
    strncpy(out, "for tests", n);
}
static void
no_description(void *dev, char *out, size_t n)
{
    (void)dev, (void)n;
    *out = 0;
}
static tnb_status
no_features(void *dev, const char *const *features, uint32_t n, tnb_err *err)
{
    (void)dev, (void)features, (void)n;
    return tnb_fail(err, TNB_UNSUPPORTED, "no features");
}
static tnb_status
load(void *dev, const char *format, const void *code, size_t n, void **module, tnb_err *err)
{
    (void)dev, (void)format, (void)code, (void)n, (void)module;
    return tnb_fail(err, TNB_FORMAT, "no code");
}
static void
unload(void *dev, void *module)
{
    (void)dev, (void)module;
}
static tnb_status
find(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    (void)dev, (void)module, (void)name, (void)kernel;
    return tnb_fail(err, TNB_NOT_FOUND, "no kernel");
}
static tnb_status
launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    (void)dev, (void)stream, (void)kernel, (void)l;
    return tnb_fail(err, TNB_UNSUPPORTED, "no launches");
}
static tnb_status
no_setting(void *self, const char *key, const char *value, tnb_err *err)
{
    (void)self, (void)key, (void)value;
    return tnb_fail(err, TNB_INVALID, "it may be nothing");
}
static const tnr_property *
odd_properties(void *dev, uint32_t *n)
{
    static const tnr_property p[] = {{"warp", 9, {.i = 1}, NULL}};
    (void)dev;
    *n = 1;
    return p;
}
static tnb_status
odd_target(void *dev, char *out, size_t n, tnb_err *err)
{
    (void)dev, (void)err;
    strncpy(out, "warp = 3", n);
    return TNB_OK;
}
static tnb_status
packed_call(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)vm, (void)args, (void)n, (void)ret, (void)err;
    return TNB_OK;
}
static tnb_status
open_module(void *self, const tnr_external *desc, tnr_device *dev, void **module, tnb_err *err)
{
    (void)self, (void)desc, (void)dev, (void)module;
    return tnb_fail(err, TNB_UNSUPPORTED, "no module");
}
static tnb_status
call_module(void *module, const tnr_value *args, int n, tnb_err *err)
{
    (void)module, (void)args, (void)n;
    return tnb_fail(err, TNB_UNSUPPORTED, "no module");
}
static void
close_module(void *module)
{
    (void)module;
}

static const char *const formats[] = {"elf", NULL};
static tnr_setting settings[] = {{"size", "3", "for tests"}, {0}};
static const tnr_setting twice[] = {{"size", "3", "for tests"}, {"size", "4", "for tests"}, {0}};
static tnr_driver driver = {.base = {sizeof driver, "fields", "for tests"},
                            .flags = TNR_DRIVER_HOST_MEMORY,
                            .type = 12,
                            .alignment = 64,
                            .settings = settings,
                            .count = count,
                            .open = tnr_host_open,
                            .close = tnr_host_close,
                            .describe = describe,
                            .check_features = tnr_host_check_features,
                            .alloc = tnr_host_alloc,
                            .free = tnr_host_free,
                            .copy = tnr_host_copy,
                            .zero = tnr_host_zero,
                            .sync = tnr_host_sync,
                            .formats = formats,
                            .module_load = load,
                            .module_free = unload,
                            .module_kernel = find,
                            .launch = launch};
static tnr_packed packed = {.base = {sizeof packed, "fields.fn", "for tests"},
                            .call = packed_call,
                            .min_args = 1,
                            .max_args = 2};
static tnr_loader loader = {.base = {sizeof loader, "fields", "for tests"},
                            .open = open_module,
                            .call = call_module,
                            .close = close_module};
static const tnr_driver *const drivers[] = {&driver};
static const tnr_packed *const packeds[] = {&packed};
static const tnr_loader *const loaders[] = {&loader};
#define SOME(f) (__typeof__(driver.f))(void *)unload

static const struct bad bads[] = {
    BASE("driver", driver),
    BAD("driver.flags", driver.flags, 1 << 9),
    BAD("driver.takes", driver.takes, 1 << 9),
    BAD("driver.type", driver.type, 0),
    BAD("driver.alignment", driver.alignment, 0),
    BAD("driver.settings", driver.settings, twice),
    BAD("driver.count", driver.count, odd_count),
    BAD("driver.open", driver.open, no_open),
    BAD("driver.open!", driver.open, late_open),
    BAD("driver.close", driver.close, NULL),
    BAD("driver.describe", driver.describe, no_description),
    BAD("driver.check_features", driver.check_features, no_features),
    BAD("driver.alloc", driver.alloc, NULL),
    BAD("driver.free", driver.free, NULL),
    BAD("driver.copy", driver.copy, NULL),
    BAD("driver.zero", driver.zero, NULL),
    BAD("driver.sync", driver.sync, NULL),
    BAD("driver.stream_free", driver.stream_new, SOME(stream_new)),
    BAD("driver.stream_new", driver.stream_free, SOME(stream_free)),
    BAD("driver.event_new", driver.event_free, SOME(event_free)),
    BAD("driver.event_free", driver.event_new, SOME(event_new)),
    BAD("driver.event_record", driver.event_new, SOME(event_new)),
    BAD("driver.event_wait", driver.event_new, SOME(event_new)),
    BAD("driver.event_seconds", driver.event_new, SOME(event_new)),
    BAD("driver.event_done", driver.event_sync, SOME(event_sync)),
    BAD("driver.event_sync", driver.event_done, SOME(event_done)),
    BAD("driver.copy_start", driver.copy_start, SOME(copy_start)),
    BAD("driver.pinned_alloc", driver.pinned_free, SOME(pinned_free)),
    BAD("driver.pinned_free", driver.pinned_alloc, SOME(pinned_alloc)),
    BAD("driver.alloc_ordered", driver.free_ordered, SOME(free_ordered)),
    BAD("driver.free_ordered", driver.alloc_ordered, SOME(alloc_ordered)),
    BAD("driver.peer", driver.peer_copy, SOME(peer_copy)),
    BAD("driver.peer_copy", driver.peer, SOME(peer)),
    BAD("driver.formats", driver.formats, empty),
    BAD("driver.module_load", driver.module_load, NULL),
    BAD("driver.module_free", driver.module_free, NULL),
    BAD("driver.module_kernel", driver.module_kernel, NULL),
    BAD("driver.launch", driver.launch, NULL),
    BAD("driver.graph_begin", driver.graph_free, SOME(graph_free)),
    BAD("driver.graph_end", driver.graph_begin, SOME(graph_begin)),
    BAD("driver.graph_update", driver.graph_begin, SOME(graph_begin)),
    BAD("driver.graph_launch", driver.graph_begin, SOME(graph_begin)),
    BAD("driver.graph_free", driver.graph_begin, SOME(graph_begin)),
    BAD("driver.properties", driver.properties, odd_properties),
    BAD("driver.target", driver.target, odd_target),
    BAD("driver.check_setting", driver.check_setting, no_setting),
    BAD("setting.name", settings[0].name, ""),
    BAD("setting.doc", settings[0].doc, NULL),
    BASE("packed", packed),
    BAD("packed.flags", packed.flags, 1 << 9),
    BAD("packed.call", packed.call, NULL),
    BAD("packed.min_args", packed.min_args, -1),
    BAD("packed.max_args", packed.max_args, 0),
    BASE("loader", loader),
    BAD("loader.flags", loader.flags, 4),
    BAD("loader.open", loader.open, NULL),
    BAD("loader.call", loader.call, NULL),
    BAD("loader.close", loader.close, NULL),
    {0},
};
TNR_PLUGIN(fields, "1.0", "MIT-0", "for tests", TABLES);

#endif

__attribute__((constructor)) static void
spoil(void)
{
    const char *name = getenv("BAD");
    for (const struct bad *b = bads; name && b->name; b++)
        if (strcmp(b->name, name) == 0)
            memcpy(b->at, b->value, b->n);
    if (name && !strcmp(name, "constructor"))
        _exit(0);
}
