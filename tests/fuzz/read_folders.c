/* SPDX-License-Identifier: Apache-2.0 */
/* Folders as transformers and MLC-LLM write them. An input is three files with the byte 0x1e between. Of transformers: config.json,
 * model.safetensors.index.json (empty: there is none), and the weights, which lie in model.safetensors,
 * or, with an index, in a.safetensors beside b.safetensors, which has one tensor. Of MLC-LLM: mlc-chat-config.json, tensor-cache.json and
 * metadata.json, beside a module and a shard.
 */
#include "config.h"

#include "readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenon/base/file.h"

enum { SEPARATOR = 0x1e, HIDDEN = 8, INNER = 12, TOKENS = 5 };

static const struct {
    const char *name;
    unsigned rows, columns;
} tensors[] = {{"model.embed_tokens.weight", TOKENS, HIDDEN},
               {"model.layers.0.self_attn.q_proj.weight", HIDDEN, HIDDEN},
               {"model.layers.0.self_attn.k_proj.weight", HIDDEN, HIDDEN},
               {"model.layers.0.self_attn.v_proj.weight", HIDDEN, HIDDEN},
               {"model.layers.0.self_attn.o_proj.weight", HIDDEN, HIDDEN},
               {"model.layers.0.mlp.gate_proj.weight", INNER, HIDDEN},
               {"model.layers.0.mlp.up_proj.weight", INNER, HIDDEN},
               {"model.layers.0.mlp.down_proj.weight", HIDDEN, INNER},
               {"model.layers.0.input_layernorm.weight", 0, HIDDEN},
               {"model.layers.0.post_attention_layernorm.weight", 0, HIDDEN},
               {"model.norm.weight", 0, HIDDEN}};
enum { TENSORS = sizeof tensors / sizeof *tensors };

/* Of the tensors from `first` on, `n` many, with zeros as their data. */
static void
put_weights(tnb_buf *b, int first, int n)
{
    tnb_buf header = {0};
    uint64_t at = 0;
    for (int i = first; i < first + n; i++) {
        char shape[32];
        uint64_t bytes = 2ull * (tensors[i].rows ? tensors[i].rows : 1) * tensors[i].columns;
        if (tensors[i].rows)
            snprintf(shape, sizeof shape, "%u,%u", tensors[i].rows, tensors[i].columns);
        else
            snprintf(shape, sizeof shape, "%u", tensors[i].columns);
        tnb_buf_printf(&header,
                       "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
                       i > first ? "," : "{", tensors[i].name, shape, (unsigned long long)at,
                       (unsigned long long)(at + bytes));
        at += bytes;
    }
    tnb_buf_putc(&header, '}');
    const uint64_t size = header.n;
    tnb_buf_put(b, &size, sizeof size);
    tnb_buf_put(b, header.s, header.n);
    for (uint64_t i = 0; i < at; i++)
        tnb_buf_putc(b, 0);
    tnb_buf_free(&header);
}

void
folder_seeds(tnb_buf *out, uint32_t *n)
{
    static const char config[] =
        "{\"model_type\":\"%s\",\"hidden_size\":8,\"intermediate_size\":12,\"num_hidden_layers\":1,"
        "\"num_attention_heads\":2,\"num_key_value_heads\":2,\"vocab_size\":5,"
        "\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5,\"tie_word_embeddings\":true,"
        "\"hidden_act\":\"silu\",\"bos_token_id\":1,\"eos_token_id\":[2,3]%s}";
    static const struct {
        const char *kind, *more;
        bool index;
    } kinds[] = {
        {"llama",
         ",\"rope_theta\":500000,\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,"
         "\"low_freq_factor\":1,\"high_freq_factor\":4,"
         "\"original_max_position_embeddings\":32}",
         false},
        {"mistral", ",\"sliding_window\":16,\"layer_types\":[\"sliding_attention\"]", true},
        {"llama",
         ",\"rope_scaling\":{\"type\":\"longrope\",\"long_factor\":[1,2],"
         "\"short_factor\":[1,1]},\"partial_rotary_factor\":1.0",
         true},
        {"llama", ",\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4,\"rope_theta\":1e4}",
         false},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && *n < MOST_SEEDS; k++) {
        tnb_buf *b = &out[(*n)++];
        const int first = kinds[k].index ? 1 : 0;
        tnb_buf_printf(b, config, kinds[k].kind, kinds[k].more);
        tnb_buf_putc(b, SEPARATOR);
        for (int i = 0; kinds[k].index && i < TENSORS; i++)
            tnb_buf_printf(b, "%s\"%s\":\"%s.safetensors\"", i ? "," : "{\"weight_map\":{",
                           tensors[i].name, i ? "a" : "b");
        if (kinds[k].index)
            tnb_buf_puts(b, "}}");
        tnb_buf_putc(b, SEPARATOR);
        put_weights(b, first, TENSORS - first);
    }
}

static char folder[TNB_TEMPORARY_PATH];

static void
remove_folder(void)
{
    tnb_temporary_remove(folder);
}

bool
folder_begin(void)
{
    tnb_err err;
    tnb_buf b = {0};
    char path[TNB_TEMPORARY_PATH + 32];
    if (!models_begin() || tnb_temporary_dir(folder, &err) != TNB_OK)
        return false;
    put_weights(&b, 0, 1);
    snprintf(path, sizeof path, "%s/b.safetensors", folder);
    atexit(remove_folder); /* libFuzzer ends by exit */
    bool ok = !b.failed && tnb_write_file(path, b.s, b.n, &err) == TNB_OK;
    tnb_buf_free(&b);
    return ok;
}

/* Writes a file of the folder; false: it could not. */
static bool
put_file(const char *name, const char *s, size_t n)
{
    char path[TNB_TEMPORARY_PATH + 32];
    tnb_err err;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (tnb_write_file(path, s, n, &err) == TNB_OK)
        return true;
    fprintf(stderr, "%s\n", err.message);
    return false;
}

/* The three files of an input: part i from at[2 * i] to at[2 * i + 1]. */
static void
split(const char *s, size_t n, const char *at[6])
{
    const char *end = s + n;
    for (int i = 0; i < 3; i++) {
        const char *stop = i < 2 ? memchr(s, SEPARATOR, (size_t)(end - s)) : end;
        at[2 * i] = s;
        at[2 * i + 1] = stop ? stop : end;
        s = stop && stop < end ? stop + 1 : end;
    }
}

void
read_folder(const void *data, size_t n)
{
    static const char index_name[] = "model.safetensors.index.json";
    static const char *const weight_names[] = {"model.safetensors", "a.safetensors"};
    const char *at[6];
    char path[TNB_TEMPORARY_PATH + 32];
    split(data, n, at);
    const bool sharded = at[3] > at[2];
    const char *none[] = {weight_names[!sharded], sharded ? NULL : index_name};
    for (int i = 0; i < 2 && none[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, none[i]);
        (void)unlink(path);
    }
    if (put_file("config.json", at[0], (size_t)(at[1] - at[0])) &&
        put_file(weight_names[sharded], at[4], (size_t)(at[5] - at[4])) &&
        (!sharded || put_file(index_name, at[2], (size_t)(at[3] - at[2]))))
        import_checkpoint(folder);
}

void
mlc_seeds(tnb_buf *out, uint32_t *n)
{
    static const char config[] =
        "{\"model_type\":\"llama\",\"vocab_size\":5,\"context_window_size\":64,\"sliding_window_"
        "size\":16,"
        "\"attention_sink_size\":4,\"conv_template\":{\"stop_token_ids\":[3]},\"temperature\":0.7}",
                      index[] = "{\"metadata\":{},\"records\":[{\"dataPath\":\"params_shard_0."
                                "bin\",\"format\":\"raw-shard\","
                                "\"nbytes\":176,\"records\":[{\"name\":\"a\",\"shape\":[5,8],"
                                "\"dtype\":\"float32\",\"format\":"
                                "\"%s\",\"nbytes\":%d,\"byteOffset\":0},{\"name\":\"b\",\"shape\":["
                                "8],\"dtype\":\"float16\","
                                "\"format\":\"raw\",\"nbytes\":16,\"byteOffset\":160}]}]}",
                      metadata[] = "{\"params\":[{\"name\":\"a\",\"shape\":[\"v\",8],\"dtype\":"
                                   "\"float32\",\"preprocs\":[]},{\"name\":"
                                   "\"b\",\"shape\":[8],\"dtype\":\"float16\",\"preprocs\":[]}]}";
    for (int halved = 0; halved < 2; halved++) {
        tnb_buf *b = &out[(*n)++];
        tnb_buf_printf(b, "%s%c", config, SEPARATOR);
        tnb_buf_printf(b, index, halved ? "f32-to-bf16" : "raw", halved ? 80 : 160);
        tnb_buf_printf(b, "%c%s", SEPARATOR, metadata);
    }
}

bool
mlc_begin(void)
{
    static const char module[] =
        "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n    "
        "@R.function\n    def embed(ids: R.Tensor((4,), "
        "\"int32\"), packed_params: R.Tuple(R.Tensor((5, 8), \"float32\"), R.Tensor((8,), "
        "\"float16\"))) -> R.Tensor((4,), "
        "\"int32\"):\n        R.func_attr({\"num_input\": 1})\n        return ids\n";
    static const char shard[176];
    return folder_begin() && put_file("model.py", module, sizeof module - 1) &&
           put_file("params_shard_0.bin", shard, sizeof shard);
}

void
read_mlc(const void *data, size_t n)
{
    static const char *const names[] = {"mlc-chat-config.json", "tensor-cache.json",
                                        "metadata.json"};
    const char *at[6];
    bool ok = true;
    split(data, n, at);
    for (int i = 0; i < 3 && ok; i++)
        ok = put_file(names[i], at[2 * i], (size_t)(at[2 * i + 1] - at[2 * i]));
    if (ok)
        import_checkpoint(folder);
}

/* Version 0 has no magic number: the file's name says what it is. */
void
read_llama2c(const void *data, size_t n)
{
    char path[TNB_TEMPORARY_PATH + 32];
    snprintf(path, sizeof path, "%s/model.bin", folder);
    if (put_file("model.bin", data, n))
        import_checkpoint(path);
}
