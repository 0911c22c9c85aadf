/* SPDX-License-Identifier: Apache-2.0 */
/* Folders as transformers and MLC-LLM write them. An input is three files with the byte 0x1e between. Of transformers: config.json,
 * model.safetensors.index.json (empty: there is none), and the weights, which lie in model.safetensors,
 * or, with an index, in a.safetensors beside b.safetensors, which has one tensor; a fourth part is generation_config.json. Of
 * MLC-LLM: mlc-chat-config.json, tensor-cache.json and metadata.json, beside a module and a shard. Of a tokenizer: tokenizer.json,
 * tokenizer_config.json and chat_template.jinja (read_language.c).
 */
#include "config.h"

#include "readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenon/base/file.h"

enum { SEPARATOR = READER_SEPARATOR, HIDDEN = 8, INNER = 12, TOKENS = 5 };

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
        if (k % 2)
            tnb_buf_printf(b, "%c%s", SEPARATOR,
                           "{\"do_sample\":true,\"temperature\":0.6,\"top_k\":20,\"top_p\":0.9,"
                           "\"min_p\":0.1,\"repetition_penalty\":1.1,\"eos_token_id\":[4]}");
    }
}

static char folder[TNB_TEMPORARY_PATH];

static void
remove_folder(void)
{
    tnb_temporary_remove(folder);
}

const char *
reader_folder(void)
{
    tnb_err err;
    if (folder[0])
        return folder;
    if (tnb_temporary_dir(folder, &err) != TNB_OK)
        return NULL;
    atexit(remove_folder); /* libFuzzer ends by exit */
    return folder;
}

/* What lies in the folder: most inputs change one of their files only. */
static struct {
    const char *name; /* NULL: there is no more */
    tnb_buf bytes;
    bool there;
} files[16];

static int
file_named(const char *name)
{
    int i = 0;
    while (files[i].name && strcmp(files[i].name, name) != 0)
        i++;
    files[i].name = name;
    return i;
}

bool
reader_put(const char *name, const char *s, size_t n)
{
    char path[TNB_TEMPORARY_PATH + 32];
    tnb_err err;
    const int i = file_named(name);
    tnb_buf *old = &files[i].bytes;
    if (files[i].there && old->n == n && (!n || memcmp(old->s, s, n) == 0))
        return true;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (tnb_write_file(path, s, n, &err) != TNB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    old->n = 0;
    tnb_buf_put(old, s, n);
    files[i].there = !old->failed;
    return true;
}

bool
folder_begin(void)
{
    tnb_buf b = {0};
    if (!models_begin() || !reader_folder())
        return false;
    put_weights(&b, 0, 1);
    bool ok = !b.failed && reader_put("b.safetensors", b.s, b.n);
    tnb_buf_free(&b);
    return ok;
}

void
reader_split(const char *s, size_t n, reader_part *parts, int n_parts)
{
    const char *end = s + n;
    for (int i = 0; i < n_parts; i++) {
        const char *stop = i < n_parts - 1 ? memchr(s, SEPARATOR, (size_t)(end - s)) : end;
        parts[i] = (reader_part){s, (size_t)((stop ? stop : end) - s)};
        s = stop && stop < end ? stop + 1 : end;
    }
}

static void
remove_file(const char *name)
{
    char path[TNB_TEMPORARY_PATH + 32];
    files[file_named(name)].there = false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
}

/* Weights are binary: the fourth part begins behind the last separator with a brace behind it. */
static size_t
generation_from(const char *s, size_t n)
{
    for (size_t i = n; i-- > 0 && n - i < 1024;)
        if (s[i] == SEPARATOR && i + 1 < n && s[i + 1] == '{')
            return i;
    return n;
}

void
read_folder(const void *data, size_t n)
{
    static const char index_name[] = "model.safetensors.index.json",
                      generation_name[] = "generation_config.json";
    static const char *const weight_names[] = {"model.safetensors", "a.safetensors"};
    reader_part part[3];
    reader_split(data, n, part, 3);
    const bool sharded = part[1].n > 0;
    const size_t weights = generation_from(part[2].s, part[2].n);
    remove_file(weight_names[!sharded]);
    if (!sharded)
        remove_file(index_name);
    if (weights == part[2].n)
        remove_file(generation_name);
    else if (!reader_put(generation_name, part[2].s + weights + 1, part[2].n - weights - 1))
        return;
    if (reader_put("config.json", part[0].s, part[0].n) &&
        reader_put(weight_names[sharded], part[2].s, weights) &&
        (!sharded || reader_put(index_name, part[1].s, part[1].n)))
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
    return folder_begin() && reader_put("model.py", module, sizeof module - 1) &&
           reader_put("params_shard_0.bin", shard, sizeof shard);
}

void
read_mlc(const void *data, size_t n)
{
    static const char *const names[] = {"mlc-chat-config.json", "tensor-cache.json",
                                        "metadata.json"};
    reader_part part[3];
    bool ok = true;
    reader_split(data, n, part, 3);
    for (int i = 0; i < 3 && ok; i++)
        ok = reader_put(names[i], part[i].s, part[i].n);
    if (ok)
        import_checkpoint(folder);
}

/* Version 0 has no magic number: the file's name says what it is. */
void
read_llama2c(const void *data, size_t n)
{
    char path[TNB_TEMPORARY_PATH + 32];
    snprintf(path, sizeof path, "%s/model.bin", folder);
    if (reader_put("model.bin", data, n))
        import_checkpoint(path);
}
