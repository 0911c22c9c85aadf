/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin `checkpoint`: importers of language models, and what their readers share. */
#include "checkpoint.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tenon/base/file.h"
#include "tenon/base/json.h"

bool
checkpoint_fail(checkpoint_model *m, const char *tensor, tnb_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(tn_diags(m->ctx), TNB_ERROR, status,
                (tnb_place){.file = m->path,
                            .node = tensor ? tn_strf(m->ctx, "tensor '%.200s'", tensor) : NULL},
                fmt, ap);
    va_end(ap);
    return false;
}

void
checkpoint_start(checkpoint_model *m, tn_ctx *ctx, const char *path)
{
    *m = (checkpoint_model){.ctx = ctx, .path = tn_str(ctx, path), .bos = -1, .rope_scale = 1};
    tnb_strmap_init(&m->by_name, tn_arena(ctx));
}

const char *
checkpoint_absolute(tn_ctx *ctx, const char *path)
{
    char here[4096];
    if (path[0] == '/' || !getcwd(here, sizeof here))
        return tn_str(ctx, path);
    return tn_str(ctx, tnb_path_join(tn_arena(ctx), here, path));
}

/* Extents and values that the user gives are for models with inputs of their own choice. */
bool
checkpoint_takes_options(checkpoint_model *m, const tnk_import_options *opt)
{
    const tn_dict *dims = tn_as_dict(opt ? opt->dims : NULL),
                  *inputs = tn_as_dict(opt ? opt->inputs : NULL);
    if ((dims && dims->items.n) || (inputs && inputs->items.n)) {
        checkpoint_fail(m, NULL, TNB_INVALID,
                        "a checkpoint takes neither --dim nor inputs bound at compile time");
        tnb_diag_hint(tn_diags(m->ctx),
                      "leave --dim and --bind out: batch and lengths are chosen at each call");
        return false;
    }
    return true;
}

tnb_status
checkpoint_finish(checkpoint_model *m, const tnk_import_options *opt, tnk_model *out)
{
    m->quantization = checkpoint_find_quantization(opt ? opt->quantize : NULL);
    if (!checkpoint_takes_options(m, opt) || !checkpoint_check_numbers(m) || !checkpoint_collect(m))
        return TNB_INVALID;
    out->module = checkpoint_build(m);
    out->profile = "llm";
    return out->module ? TNB_OK : TNB_INVALID;
}

json_t *
checkpoint_load(checkpoint_model *m, const char *folder, const char *name, bool needed)
{
    tnb_err err = {0};
    tnb_mapping map = {0};
    json_t *out = NULL;
    const char *path = tnb_path_join(tn_arena(m->ctx), folder, name);
    struct stat st;
    if (!needed && stat(path, &st) != 0)
        return NULL;
    tnb_status s = tnb_map_file(path, 64 << 20, &map, &err);
    if (s == TNB_OK && (s = tnb_json_parse(map.data, map.size, 0, &out, &err)) != TNB_OK)
        tnb_err_prefix(&err, "%s", path);
    tnb_unmap(&map);
    if (s != TNB_OK)
        tnb_report(tn_diags(m->ctx), TNB_ERROR, s, (tnb_place){0}, "%s", err.message);
    if (s == TNB_NOT_FOUND || s == TNB_IO)
        tnb_diag_hint(tn_diags(m->ctx),
                      "a checkpoint of transformers has config.json beside its weights");
    return out;
}

void
checkpoint_add_stops(checkpoint_model *m, const json_t *v)
{
    const size_t n = json_is_array(v) ? json_array_size(v) : 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_is_array(v) ? json_array_get(v, i) : v;
        bool known = !json_is_integer(id) || json_integer_value(id) < 0 ||
                     json_integer_value(id) >= m->vocabulary;
        for (uint32_t k = 0; k < m->stop.n && !known; k++)
            known = m->stop.at[k] == json_integer_value(id);
        if (!known)
            TNB_PUSH(tn_arena(m->ctx), m->stop, json_integer_value(id));
    }
}

/* ---- the table ---- */

static const char *const gguf_extensions[] = {".gguf", NULL};

static bool
recognize_gguf(const char *path, const void *head, size_t n)
{
    (void)path;
    return n >= 4 && memcmp(head, "GGUF", 4) == 0;
}

static const tnk_importer gguf = {
    .base.size = sizeof gguf,
    .base.name = "gguf",
    .base.doc = "language models in GGUF files",
    .extensions = gguf_extensions,
    .recognize = recognize_gguf,
    .import = checkpoint_import_gguf,
    .quantizations = checkpoint_quantizations,
};

static const char *const huggingface_extensions[] = {".safetensors", NULL};

/* A folder with config.json, that file, or safetensors beside it. */
static bool
recognize_huggingface(const char *path, const void *head, size_t n)
{
    struct stat st;
    char config[4352];
    (void)head, (void)n;
    const char *name = tnb_path_name(path);
    if (strcmp(name, "config.json") == 0 || tnb_ends_with(path, ".safetensors"))
        return true;
    int k = snprintf(config, sizeof config, "%s/config.json", path);
    return k > 0 && k < (int)sizeof config && stat(config, &st) == 0;
}

static const tnk_importer huggingface = {
    .base.size = sizeof huggingface,
    .base.name = "huggingface",
    .base.doc =
        "language models as transformers saves them: a folder with config.json and safetensors",
    .extensions = huggingface_extensions,
    .recognize = recognize_huggingface,
    .import = checkpoint_import_huggingface,
    .quantizations = checkpoint_quantizations,
};

/* A folder with mlc-chat-config.json, or that file. */
static bool
recognize_mlc(const char *path, const void *head, size_t n)
{
    struct stat st;
    char config[4352];
    (void)head, (void)n;
    if (strcmp(tnb_path_name(path), "mlc-chat-config.json") == 0)
        return true;
    int k = snprintf(config, sizeof config, "%s/mlc-chat-config.json", path);
    return k > 0 && k < (int)sizeof config && stat(config, &st) == 0;
}

static const char *const mlc_extensions[] = {".json", NULL};
static const tnk_importer mlc = {
    .base.size = sizeof mlc,
    .base.name = "mlc",
    .base.doc = "folders of MLC-LLM: mlc-chat-config.json, weights in shards, and the module",
    .extensions = mlc_extensions,
    .recognize = recognize_mlc,
    .import = checkpoint_import_mlc,
};

static const char *const llama2c_extensions[] = {".bin", NULL};
static const tnk_importer llama2c = {
    .base.size = sizeof llama2c,
    .base.name = "llama2c",
    .base.doc = "models of llama2.c",
    .extensions = llama2c_extensions,
    .recognize = checkpoint_is_llama2c,
    .import = checkpoint_import_llama2c,
    .quantizations = checkpoint_quantizations,
};
static const tnk_importer *const importers[] = {&gguf, &mlc, &huggingface, &llama2c};
static const tn_op *const ops[] = {&checkpoint_gguf_matmul, &checkpoint_quantized_matmul};
static const tn_pass *const passes[] = {&checkpoint_block_panels};

TN_PLUGIN(checkpoint, "0.1.0", "Apache-2.0", "importers of language models' checkpoints",
          .ops = ops, .n_ops = sizeof ops / sizeof *ops, .importers = importers,
          .n_importers = sizeof importers / sizeof *importers, .passes = passes,
          .n_passes = sizeof passes / sizeof *passes);
