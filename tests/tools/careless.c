/* SPDX-License-Identifier: Apache-2.0 */
/* A backend for careless.py, compiler half (CARELESS_RT: device half). The environment's variable CARELESS says which of its functions
 * does what: "rule crash", "open fail" (without a reason), "launch exit". */
#include "tenon/core/registry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
does(const char *function, const char *what)
{
    const char *said = getenv("CARELESS");
    size_t n = strlen(function);
    return said && strncmp(said, function, n) == 0 && said[n] == ' ' &&
           strcmp(said + n + 1, what) == 0;
}

/* Whether the function fails; or it crashes, or ends the program. */
static bool
fails(const char *function)
{
    if (does(function, "exit"))
        exit(0);
    if (does(function, "quick exit"))
        quick_exit(0);
    if (does(function, "crash"))
        *(volatile int *)0 = 1;
    return does(function, "fail");
}
#define STATUS(function) (fails(function) ? TNB_DEVICE : TNB_OK)

#ifndef NAME
#define NAME careless
#endif
#define NAMED(MACRO, ...) MACRO(__VA_ARGS__)

#ifdef CARELESS_RT
#include "tenon/rt/plugin.h"

static tnb_status
init(const tnb_plugin_start *start, tnb_err *err)
{
    (void)start, (void)err;
    return STATUS("init");
}

static tnb_status
count(void *self, int *n, tnb_err *err)
{
    (void)self, (void)err;
    *n = 1;
    return STATUS("count");
}

static tnb_status
open_device(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    (void)self, (void)id, (void)opt, (void)err;
    *dev = NULL;
    return STATUS("open");
}

static void
describe(void *dev, char *out, size_t n)
{
    (void)dev;
    strncpy(out, "a careless device", n);
}

static tnb_status
wait_for(void *dev, void *stream, tnb_err *err)
{
    if (does("sync", "slow"))
        usleep(300000);
    if (does("sync", "late"))
        return tnb_fail(err, TNB_DEVICE, "unit 7 has met an error");
    return fails("sync") ? TNB_DEVICE : tnr_host_sync(dev, stream, err);
}

static tnb_status
copy(void *dev, void *stream, const tnr_copy *c, tnb_err *err)
{
    return fails("copy") ? TNB_DEVICE : tnr_host_copy(dev, stream, c, err);
}

static tnb_status
module_load(void *dev, const char *format, const void *code, size_t n, void **module, tnb_err *err)
{
    (void)dev, (void)format, (void)code, (void)n, (void)err;
    *module = &fails;
    return STATUS("module_load");
}

static void
module_free(void *dev, void *module)
{
    (void)dev, (void)module;
}

static tnb_status
module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    (void)dev, (void)name, (void)err;
    *kernel = module;
    return STATUS("module_kernel");
}

static tnb_status
launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    (void)dev, (void)stream, (void)kernel, (void)l, (void)err;
    return STATUS("launch");
}

static tnb_status
packed(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)vm, (void)args, (void)n, (void)ret, (void)err;
    return STATUS("packed");
}

static tnb_status
open_external(void *self, const tnr_external *desc, tnr_device *dev, void **module, tnb_err *err)
{
    (void)self, (void)dev, (void)err;
    *module = strcmp(desc->payload, "{}") == 0 ? &fails : NULL;
    return *module ? STATUS("loader") : TNB_INVALID;
}

static tnb_status
call_external(void *module, const tnr_value *args, int n, tnb_err *err)
{
    (void)module, (void)args, (void)n, (void)err;
    return STATUS("call");
}

static void
close_external(void *module)
{
    (void)module;
}

static const char *const formats[] = {"careless", NULL};
static const tnr_driver driver = {.base = {sizeof driver, "careless", "for tests"},
                                  .type = 12,
                                  .alignment = TNR_HOST_ALIGNMENT,
                                  .count = count,
                                  .open = open_device,
                                  .close = tnr_host_close,
                                  .describe = describe,
                                  .check_features = tnr_host_check_features,
                                  .alloc = tnr_host_alloc,
                                  .free = tnr_host_free,
                                  .copy = copy,
                                  .zero = tnr_host_zero,
                                  .sync = wait_for,
                                  .formats = formats,
                                  .module_load = module_load,
                                  .module_free = module_free,
                                  .module_kernel = module_kernel,
                                  .launch = launch};
static const tnr_driver *const drivers[] = {&driver};
static const tnr_packed function = {.base = {sizeof function, "careless.fn", "for tests"},
                                    .call = packed,
                                    .min_args = 1,
                                    .max_args = 2};
static const tnr_packed *const functions[] = {&function};
static const tnr_loader loader = {.base = {sizeof loader, "careless", "for tests"},
                                  .open = open_external,
                                  .call = call_external,
                                  .close = close_external};
static const tnr_loader *const loaders[] = {&loader};

NAMED(TNR_PLUGIN, NAME, "1.0", "MIT-0", "for tests", .drivers = drivers, .n_drivers = 1,
      .packed = functions, .n_packed = 1, .loaders = loaders, .n_loaders = 1, .init = init);

#else
#include "tenon/kit/codegen.h"
#include "tenon/kit/emit.h"
#include "tenon/kit/emit_hooks.h"
#include "tenon/kit/importer.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/rule.h"

static tnb_status
init(tn_registry *r, const tnb_plugin_start *start, tnb_err *err)
{
    (void)r, (void)start, (void)err;
    return STATUS("init");
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    (void)pc;
    return fails("pass") ? NULL : m;
}

static const tn_node *
apply(tn_ctx *ctx, const tn_node *f, const tn_target *target, void *self)
{
    (void)ctx, (void)f, (void)target, (void)self;
    (void)fails("rule");
    return NULL;
}

static const tn_node *
probe(tn_ctx *ctx, const tn_node *attrs, void *self)
{
    (void)ctx, (void)self;
    return fails("probe") ? NULL : attrs;
}

static bool
stmt(tnk_emitter *e, const tn_stmt *s)
{
    (void)e;
    (void)fails("stmt");
    return s->kind == TN_KIND_BUFFER_STORE && does("stmt", "drop");
}

static const tnk_dialect dialect = {.base = {sizeof dialect, "careless", "for tests"},
                                    .calling = TNK_CALL_DIRECT,
                                    .kernel = "void",
                                    .restrict_ = "restrict",
                                    .stmt = stmt};
static const tnk_dialect *const dialects[] = {&dialect};

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self;
    if (fails("codegen"))
        return TNB_BUILD;
    tnk_source *s = tnk_source_new(b->ctx, tnk_dialect_find(b->ctx, "careless"));
    for (uint32_t i = 0; i < n; i++)
        if (!s || !tnk_source_add(s, &kernels[i]))
            return TNB_UNSUPPORTED;
    *out = (tnk_code){.format = "careless", .bytes = "code", .n_bytes = 4};
    return TNB_OK;
}

static tnb_status
external(void *self, tn_ctx *ctx, const char *symbol, const tn_function *func,
         const tn_target *target, const tn_node *options, const tn_node **payload)
{
    (void)self, (void)ctx, (void)symbol, (void)func, (void)target, (void)options, (void)payload;
    return fails("external") ? TNB_INVALID : TNB_OK;
}

static bool
recognize(const char *file, const void *head, size_t n)
{
    return n >= 8 && memcmp(head, "careless", 8) == 0 && file != NULL;
}

static tnb_status
import(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt, tnk_model *out)
{
    (void)self, (void)ctx, (void)path, (void)opt, (void)out;
    (void)fails("import");
    return TNB_FORMAT;
}

static const tn_pass pass = {.base = {sizeof pass, "CarelessPass", "for tests"}, .run = run};
static const tn_pass *const passes[] = {&pass};
static const tnk_rule rule = {.base = {sizeof rule, "careless.Tile", "for tests"}, .apply = apply};
static const tnk_rule *const rules[] = {&rule};
static const tnk_codegen codegen = {.size = sizeof codegen, .name = "careless", .build = build};
static const char *const kinds[] = {"careless", NULL}, *const none[] = {NULL},
                         *const legalize[] = {"@tensor_programs",
                                              "ApplyDefaultSchedule{rules=[Tile]}", NULL},
                         *const finalize[] = {"@generic", NULL},
                         *const lower[] = {"LowerInitBlock",
                                           "ConvertBlocksToOpaque",
                                           "LowerIndexChecks",
                                           "PlanAndUpdateBufferAllocationLocation",
                                           "CompactBufferAllocation",
                                           "FlattenBuffer",
                                           "Simplify",
                                           NULL};
static const tn_attr_schema attrs[] = {TNK_ATTR_CHECK_INDICES, {0}};
static const tn_target_kind target = {.base = {sizeof target, "careless", "for tests"},
                                      .kinds = kinds,
                                      .attrs = attrs,
                                      .library_dispatch = none,
                                      .legalize = legalize,
                                      .finalize = finalize,
                                      .lower = lower,
                                      .codegen = &codegen,
                                      .probe = probe};
static const tn_target_kind *const targets[] = {&target};
static const tnk_importer importer = {.base = {sizeof importer, "careless", "for tests"},
                                      .recognize = recognize,
                                      .import = import};
static const tnk_importer *const importers[] = {&importer};
static const tnk_external generator = {.base = {sizeof generator, "careless", "for tests"},
                                       .compile = external};
static const tnk_external *const externals[] = {&generator};

NAMED(TN_PLUGIN, NAME, "1.0", "MIT-0", "for tests", .passes = passes, .n_passes = 1,
      .targets = targets, .n_targets = 1, .rules = rules, .n_rules = 1, .importers = importers,
      .n_importers = 1, .externals = externals, .n_externals = 1, .dialects = dialects,
      .n_dialects = 1, .init = init);
#endif
