/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of MLC-LLM: the module that its definitions export, and weights as its convert_weight writes them.
 *
 *     model.py                the module, TVMScript; the only .py of the folder
 *     mlc-chat-config.json    context, tokens that end a text, how tokens are drawn
 *     tensor-cache.json       shards, and where each weight lies in them (ndarray-cache.json in older folders)
 *     params_shard_0.bin ...
 *     metadata.json           what the compiled library's _metadata gives: names, shapes and dtypes of packed_params, in order.
 *                             Not needed where the module itself has the function _metadata
 *     tokenizer.json
 *
 * The module is not changed; it gets the attributes `model` and `params` that other checkpoints' modules have.
 */
#include "checkpoint.h"

#include <dirent.h>
#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "md5.h"
#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

enum { MOST_SHARDS = 4096 };

static const char config_name[] = "mlc-chat-config.json", metadata_name[] = "metadata.json";

typedef struct reading {
    checkpoint_model *m;
    tn_ctx *ctx;
    const char *folder;
    const tn_module *module;
    const char *index;  /* tensor-cache.json, for messages */
    tnb_strmap weights; /* name -> checkpoint_tensor, of the index */
    tnb_strmap extents; /* symbolic extent of the metadata -> its value + 1 */
    bool checksums;
} reading;

/* ---- the module ---- */

static bool
find_module(reading *r, const char **out)
{
    DIR *d = opendir(r->folder);
    const struct dirent *e;
    const char *found = NULL, *other = NULL;
    while (d && (e = readdir(d))) {
        if (!tnb_ends_with(e->d_name, ".py") || e->d_name[0] == '.')
            continue;
        other = found;
        found = tn_str(r->ctx, e->d_name);
        if (other)
            break;
    }
    if (d)
        closedir(d);
    if (other) {
        checkpoint_fail(r->m, NULL, TNB_INVALID,
                        "the folder has several modules, among them %s and %s", other, found);
        tnb_diag_hint(tn_diags(r->ctx), "leave the one that is to run");
        return false;
    }
    if (!found) {
        checkpoint_fail(r->m, NULL, TNB_NOT_FOUND,
                        "the folder has weights of MLC-LLM, but no module");
        tnb_diag_hint(
            tn_diags(r->ctx),
            "put the module beside them as a .py file: debug-phase0.py of mlc_llm compile "
            "--debug-dump, or what mod.script() prints");
        return false;
    }
    *out = tnb_path_join(tn_arena(r->ctx), r->folder, found);
    return true;
}

static tn_walk_step
take_text(void *user, const tn_node *n)
{
    const tn_string_imm *s = tn_as_string_imm(n);
    if (!s)
        return TN_WALK_ON;
    *(const char **)user = s->value;
    return TN_WALK_STOP;
}

/* What _metadata of the module returns, else the file's; NULL after an error. */
static json_t *
find_metadata(reading *r)
{
    const tn_function *f = tn_as_function(tn_module_get(r->module, "_metadata"));
    const char *text = NULL;
    json_t *out = NULL;
    tnb_err err = {0};
    if (!f) {
        out = checkpoint_load(r->m, r->folder, metadata_name, false);
        if (!out && !tnb_diags_errors(tn_diags(r->ctx))) {
            checkpoint_fail(r->m, NULL, TNB_NOT_FOUND,
                            "neither has the module a function _metadata, nor the folder a %s",
                            metadata_name);
            tnb_diag_hint(tn_diags(r->ctx),
                          "it says which weight is which of packed_params: write what python -m "
                          "mlc_llm.cli.model_metadata prints of the compiled library to %s",
                          metadata_name);
        }
        return out;
    }
    (void)tn_walk(f->body, 0, take_text, NULL, &text);
    if (!text)
        checkpoint_fail(r->m, NULL, TNB_FORMAT, "the module's function _metadata returns no text");
    else if (tnb_json_parse(text, strlen(text), 0, &out, &err) != TNB_OK)
        checkpoint_fail(r->m, NULL, TNB_FORMAT, "the module's function _metadata: %s", err.message);
    return out;
}

/* ---- the index of weights ---- */

static bool
bad_index(reading *r, const char *tensor, const char *what)
{
    return checkpoint_fail(r->m, tensor, TNB_FORMAT, "%s: %s", r->index, what);
}

static bool
count_of(const json_t *o, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static bool
read_record(reading *r, const json_t *o, uint32_t file)
{
    const char *name = json_string_value(json_object_get(o, "name")),
               *dtype = json_string_value(json_object_get(o, "dtype")),
               *format = json_string_value(json_object_get(o, "format"));
    const json_t *shape = json_object_get(o, "shape");
    checkpoint_tensor t = {.file = file, .param = -1};
    uint64_t count, bytes, stored;
    tnb_err err = {0};
    if (!name || !dtype || !json_is_array(shape) || json_array_size(shape) > CHECKPOINT_DIMS)
        return bad_index(r, name, "a weight without name, dtype and a shape of up to 4 extents");
    if (!tnb_dtype_parse(dtype, strlen(dtype), &t.dtype) || !tnb_dtype_exists(t.dtype) ||
        t.dtype.bits % 8)
        return bad_index(r, name, tn_strf(r->ctx, "an unknown dtype '%.32s'", dtype));
    for (t.ndim = 0; t.ndim < (int32_t)json_array_size(shape); t.ndim++) {
        const json_t *d = json_array_get(shape, (size_t)t.ndim);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return bad_index(r, name, "an extent that is no count");
        t.shape[t.ndim] = json_integer_value(d);
    }
    if (tnb_shape_bytes(t.dtype, t.ndim, t.shape, &count, &bytes, &err) != TNB_OK)
        return bad_index(r, name, err.message);
    if (format && strcmp(format, "f32-to-bf16") == 0) {
        if (tnb_dtype_eq(t.dtype, TNB_F32)) { /* the file has the upper halves */
            t.from = TNB_BF16;
            bytes /= 2;
        }
    } else if (format && strcmp(format, "raw") != 0) {
        return bad_index(r, name, tn_strf(r->ctx, "an unknown format '%.32s'", format));
    }
    if (!count_of(o, "byteOffset", &t.offset) || !count_of(o, "nbytes", &stored))
        return bad_index(r, name, "a weight without byteOffset and nbytes");
    if (stored != bytes)
        return bad_index(r, name,
                         tn_strf(r->ctx,
                                 "it has %" PRIu64 " bytes, but %s of its shape takes %" PRIu64,
                                 stored, dtype, bytes));
    const uint64_t size = r->m->files.at[file].bytes;
    if (t.offset > size || stored > size - t.offset)
        return bad_index(r, name, "it lies outside of its shard");
    t.bytes = stored;
    t.name = t.own = tn_str(r->ctx, name);
    if (tnb_strmap_has(&r->weights, name))
        return bad_index(r, name, "it is there twice");
    checkpoint_tensor *kept = TNB_NEW(tn_arena(r->ctx), checkpoint_tensor);
    *kept = t;
    tnb_strmap_set(&r->weights, kept->name, kept);
    return true;
}

static bool
check_shard(reading *r, const json_t *o, const char *name, const checkpoint_file *f)
{
    const char *sum = json_string_value(json_object_get(o, "md5sum"));
    char found[33];
    uint64_t bytes;
    if (!count_of(o, "nbytes", &bytes))
        return bad_index(r, NULL, tn_strf(r->ctx, "shard %s has no nbytes", name));
    if (bytes != f->bytes)
        return checkpoint_fail(r->m, NULL, TNB_DIFFERS,
                               "%s has %" PRIu64 " bytes, %s says %" PRIu64
                               ": it is another one's, or was cut off",
                               f->path, f->bytes, r->index, bytes);
    if (!r->checksums || !sum)
        return true;
    checkpoint_md5(f->data, f->bytes, found);
    if (strcmp(found, sum) == 0)
        return true;
    checkpoint_fail(r->m, NULL, TNB_DIFFERS, "%s has the checksum %s, %s says %.32s", f->path,
                    found, r->index, sum);
    tnb_diag_hint(tn_diags(r->ctx), "the file is damaged: copy or download it again");
    return false;
}

static bool
read_shard(reading *r, const json_t *o)
{
    const char *name = json_string_value(json_object_get(o, "dataPath")),
               *format = json_string_value(json_object_get(o, "format"));
    const json_t *records = json_object_get(o, "records"), *record;
    tnb_mapping map = {0};
    tnb_err err = {0};
    size_t i;
    if (!name || !*name || strchr(name, '/') || !json_is_array(records))
        return bad_index(r, NULL, "a shard without records, or without a dataPath in the folder");
    if (format && strcmp(format, "raw-shard") != 0)
        return bad_index(r, NULL,
                         tn_strf(r->ctx, "shard %.200s has an unknown format '%.32s'", name,
                                 format));
    const char *path = tnb_path_join(tn_arena(r->ctx), r->folder, name);
    tnb_status st = tnb_map_file(path, 0, &map, &err);
    if (st != TNB_OK) {
        tnb_report(tn_diags(r->ctx), TNB_ERROR, st, (tnb_place){0}, "%s", err.message);
        tnb_diag_hint(tn_diags(r->ctx), "%s lists it", r->index);
        return false;
    }
    const checkpoint_file f = {.path = checkpoint_absolute(r->ctx, path),
                               .bytes = map.size,
                               .data = map.data,
                               .header = map.size < 4096 ? map.size : 4096};
    const uint32_t file = r->m->files.n;
    TNB_PUSH(tn_arena(r->ctx), r->m->files, f);
    if (!check_shard(r, o, name, &r->m->files.at[file]))
        return false;
    json_array_foreach(records, i, record) if (!read_record(r, record, file)) return false;
    return true;
}

static bool
read_index(reading *r)
{
    static const char *const names[] = {"tensor-cache.json", "ndarray-cache.json"};
    json_t *index = NULL;
    const json_t *shard;
    size_t i;
    const uint32_t errors = tnb_diags_errors(tn_diags(r->ctx));
    for (int k = 0; k < 2 && !index; k++) {
        r->index = tnb_path_join(tn_arena(r->ctx), r->folder, names[k]);
        index = checkpoint_load(r->m, r->folder, names[k], false);
        if (tnb_diags_errors(tn_diags(r->ctx)) > errors)
            return false;
    }
    if (!index)
        return checkpoint_fail(r->m, NULL, TNB_NOT_FOUND, "the folder has no %s, so no weights",
                               names[0]);
    const json_t *shards = json_object_get(index, "records");
    bool ok = json_array_size(shards) > 0 && json_array_size(shards) <= MOST_SHARDS;
    if (!ok)
        bad_index(r, NULL, tn_strf(r->ctx, "it lists no shards, or more than %d", MOST_SHARDS));
    json_array_foreach(shards, i, shard) ok = ok && read_shard(r, shard);
    json_decref(index);
    return ok;
}

/* ---- packed_params ---- */

/* An extent of the metadata: a number, or a name, which stands for one number. */
static bool
check_extent(reading *r, const char *name, const json_t *wanted, int64_t found)
{
    const char *symbol = json_string_value(wanted);
    if (json_is_integer(wanted))
        return json_integer_value(wanted) == found;
    if (!symbol)
        return false;
    const uintptr_t known = (uintptr_t)tnb_strmap_get(&r->extents, symbol);
    if (!known)
        tnb_strmap_set(&r->extents, tn_str(r->ctx, symbol), (void *)(uintptr_t)(found + 1));
    else if (known != (uintptr_t)(found + 1))
        return checkpoint_fail(r->m, name, TNB_SHAPE,
                               "its extent '%s' is %" PRId64 ", but %" PRId64 " in weights before",
                               symbol, found, (int64_t)known - 1);
    return true;
}

static const char *
shape_text(tn_ctx *ctx, const checkpoint_tensor *t)
{
    const char *s = tnb_dtype_print(t->dtype).s;
    s = tn_strf(ctx, "%s[", s);
    for (int32_t i = 0; i < t->ndim; i++)
        s = tn_strf(ctx, "%s%s%" PRId64, s, i ? ", " : "", t->shape[i]);
    return tn_strf(ctx, "%s]", s);
}

/* Adds the weight that the module takes as its next one. */
static bool
take_param(reading *r, const json_t *o)
{
    const char *name = json_string_value(json_object_get(o, "name")),
               *dtype = json_string_value(json_object_get(o, "dtype"));
    const json_t *shape = json_object_get(o, "shape"), *pre = json_object_get(o, "preprocs");
    if (!name || !dtype || !json_is_array(shape))
        return checkpoint_fail(r->m, name, TNB_FORMAT,
                               "the metadata have a weight without name, dtype and shape");
    checkpoint_tensor *t = tnb_strmap_get(&r->weights, name);
    if (!t) {
        checkpoint_fail(r->m, name, TNB_NOT_FOUND, "no shard has it, but the module needs it");
        tnb_diag_hint(tn_diags(r->ctx),
                      "the weights are another model's, or quantized otherwise; %s "
                      "lists what there is",
                      r->index);
        return false;
    }
    if (t->param >= 0)
        return checkpoint_fail(r->m, name, TNB_FORMAT, "the metadata have it twice");
    if (json_array_size(pre))
        return checkpoint_fail(
            r->m, name, TNB_UNSUPPORTED,
            "the module wants it cut into shards when it is loaded (preprocs): only "
            "modules for one worker (tensor_parallel_shards 1) run");
    bool fits = strcmp(dtype, tnb_dtype_print(t->dtype).s) == 0 &&
                json_array_size(shape) == (size_t)t->ndim;
    const uint32_t errors = tnb_diags_errors(tn_diags(r->ctx));
    for (int32_t i = 0; i < t->ndim && fits; i++)
        fits = check_extent(r, name, json_array_get(shape, (size_t)i), t->shape[i]);
    if (!fits && tnb_diags_errors(tn_diags(r->ctx)) == errors) {
        char *text = json_dumps(shape, JSON_COMPACT);
        checkpoint_fail(r->m, name, TNB_SHAPE,
                        "the weights have %s, but the module needs %.32s%.200s",
                        shape_text(r->ctx, t), dtype, text ? text : "");
        free(text);
    }
    if (!fits)
        return false;
    t->param = r->m->params.n;
    TNB_PUSH(tn_arena(r->ctx), r->m->params, t);
    return true;
}

static bool
take_params(reading *r, const json_t *metadata)
{
    const json_t *list = json_object_get(metadata, "params"), *o;
    size_t i;
    if (!json_array_size(list))
        return checkpoint_fail(r->m, NULL, TNB_FORMAT, "the metadata have no list 'params'");
    json_array_foreach(list, i, o) if (!take_param(r, o)) return false;
    return true;
}

/* The weights are those that the function's parameter says. */
static bool
check_function(reading *r, const char *name, const tn_function *f)
{
    int64_t inputs;
    if (!f || !tn_int_value(tn_dict_get(f->attrs, "num_input"), &inputs) ||
        f->params.n != (uint64_t)inputs + 1)
        return true;
    const tn_ty_tuple *packed = tn_as_ty_tuple(((const tn_expr *)f->params.at[inputs])->type);
    if (!packed)
        return true; /* R.Object: its use tells */
    if (packed->fields.n != r->m->params.n)
        return checkpoint_fail(r->m, NULL, TNB_SHAPE,
                               "'%s' takes %" PRIu32 " weights, the metadata name %" PRIu32, name,
                               packed->fields.n, r->m->params.n);
    for (uint32_t i = 0; i < packed->fields.n; i++) {
        const checkpoint_tensor *t = r->m->params.at[i];
        const tn_type *type = packed->fields.at[i];
        tn_list dims = {0};
        int64_t n;
        bool fits = tnb_dtype_eq(tn_type_dtype(type), t->dtype) && tn_type_dims(type, &dims) &&
                    dims.n == (uint32_t)t->ndim;
        for (uint32_t k = 0; k < dims.n && fits; k++)
            fits = !tn_int_value(dims.at[k], &n) || n == t->shape[k];
        if (!fits)
            return checkpoint_fail(r->m, t->name, TNB_SHAPE,
                                   "it is %s, but weight %" PRIu32 " of '%s' is %s",
                                   shape_text(r->ctx, t), i, name, tn_text(r->ctx, type));
    }
    return true;
}

static bool
check_functions(reading *r)
{
    for (uint32_t i = 0; i < r->module->names.n; i++)
        if (!check_function(r, tn_module_name(r->module, i),
                            tn_as_function(r->module->funcs.at[i])))
            return false;
    return true;
}

/* ---- mlc-chat-config.json ---- */

static int64_t
number(const json_t *config, const char *key)
{
    const json_t *v = json_object_get(config, key);
    if (!json_is_integer(v))
        v = json_object_get(json_object_get(config, "model_config"), key);
    return json_is_integer(v) && json_integer_value(v) > 0 ? json_integer_value(v) : 0;
}

static bool
read_generation(checkpoint_model *m, const json_t *config)
{
    static const struct {
        const char *key;
        double most, usual;
    } keys[] = {{"temperature", DBL_MAX, NAN}, {"top_p", 1, 1}, {"repetition_penalty", DBL_MAX, 1}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = json_object_get(config, keys[i].key);
        const double x = json_number_value(v);
        if (!json_is_number(v) || x == keys[i].usual)
            continue;
        if (!(x > 0 || (i == 0 && x == 0)) || x > keys[i].most)
            return checkpoint_fail(m, NULL, TNB_BOUNDS,
                                   "%s: '%s' is %g, expected is a number %s 0%s", config_name,
                                   keys[i].key, x, i ? "above" : "from",
                                   keys[i].most == 1 ? " to 1" : "");
        m->generation = tn_dict_set(m->ctx, m->generation ? m->generation : tn_dictv(m->ctx, NULL),
                                    keys[i].key, tn_float_imm_of(m->ctx, TNB_F64, x));
    }
    return true;
}

static bool
read_config(reading *r)
{
    static const checkpoint_architecture mlc = {.huggingface = "mlc"};
    checkpoint_model *m = r->m;
    json_t *config = checkpoint_load(m, r->folder, config_name, true);
    if (!config)
        return false;
    const char *type = json_string_value(json_object_get(config, "model_type"));
    checkpoint_architecture *named = TNB_NEW(tn_arena(r->ctx), checkpoint_architecture);
    *named = mlc;
    if (type)
        named->huggingface = tn_str(r->ctx, type);
    m->architecture = named;
    m->context = number(config, "context_window_size");
    m->window = number(config, "sliding_window_size");
    m->sinks = m->window ? number(config, "attention_sink_size") : 0;
    m->vocabulary = number(config, "vocab_size");
    m->layers = number(config, "num_hidden_layers");
    m->hidden = number(config, "hidden_size");
    m->heads = number(config, "num_attention_heads");
    m->kv_heads = number(config, "num_key_value_heads");
    m->head_dim = number(config, "head_dim");
    const uintptr_t given = (uintptr_t)tnb_strmap_get(&r->extents, "vocab_size");
    if (given)
        m->vocabulary = (int64_t)given - 1;
    checkpoint_add_stops(m, json_object_get(config, "eos_token_id"));
    checkpoint_add_stops(m, json_object_get(json_object_get(config, "conv_template"),
                                            "stop_token_ids"));
    const json_t *bos = json_object_get(config, "bos_token_id");
    m->bos = json_is_integer(bos) && json_integer_value(bos) < m->vocabulary
                 ? json_integer_value(bos)
                 : -1;
    const bool ok = read_generation(m, config);
    m->tokenizer_format = "huggingface";
    m->tokenizer_path = checkpoint_absolute(r->ctx, r->folder);
    json_decref(config);
    return ok;
}

/* ---- the whole ---- */

static bool
read_folder(reading *r)
{
    const char *module;
    struct stat st;
    if (stat(r->folder, &st) != 0 || !S_ISDIR(st.st_mode)) {
        checkpoint_fail(r->m, NULL, TNB_UNSUPPORTED, "it is neither %s nor a folder that has it",
                        config_name);
        tnb_diag_hint(tn_diags(r->ctx),
                      "models of MLC-LLM are named by that file, or by its folder");
        return false;
    }
    if (!find_module(r, &module) || !(r->module = tn_read_module_file(r->ctx, module)))
        return false;
    json_t *metadata = find_metadata(r);
    const bool ok = metadata && read_index(r) && take_params(r, metadata) && check_functions(r) &&
                    read_config(r);
    json_decref(metadata);
    return ok;
}

tnb_status
checkpoint_import_mlc(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                      tnk_model *out)
{
    (void)self;
    checkpoint_model m;
    checkpoint_start(&m, ctx, path);
    reading r = {.m = &m,
                 .ctx = ctx,
                 .folder = strcmp(tnb_path_name(path), config_name) == 0
                               ? tnb_path_dir(tn_arena(ctx), path)
                               : tn_str(ctx, path),
                 .checksums = opt && opt->checksums};
    tnb_strmap_init(&r.weights, tn_arena(ctx));
    tnb_strmap_init(&r.extents, tn_arena(ctx));
    bool ok = checkpoint_takes_options(&m, opt) && read_folder(&r);
    if (ok) {
        const tn_dict *added = tn_as_dict(checkpoint_attributes(&m));
        const tn_node *attrs = r.module->attrs ? r.module->attrs : tn_dictv(ctx, NULL);
        for (uint32_t i = 0; i < added->items.n; i++) {
            const tn_pair *p = (const tn_pair *)added->items.at[i];
            attrs = tn_dict_set(ctx, attrs, p->key, p->value);
        }
        out->module = tn_module_with_attrs(ctx, r.module, attrs);
        out->profile = "llm";
    }
    for (uint32_t i = 0; i < m.files.n; i++)
        tnb_unmap(&(tnb_mapping){m.files.at[i].data, m.files.at[i].bytes});
    return ok ? TNB_OK : TNB_INVALID;
}
