/* SPDX-License-Identifier: Apache-2.0 */
/* Folders as transformers writes them. An input is three files with the byte 0x1e between: config.json,
 * model.safetensors.index.json (empty: there is none), and the weights, which lie in model.safetensors,
 * or, with an index, in a.safetensors beside b.safetensors, which has one tensor.
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

void
read_folder(const void *data, size_t n)
{
    static const char index_name[] = "model.safetensors.index.json";
    static const char *const weight_names[] = {"model.safetensors", "a.safetensors"};
    const char *s = data, *end = s + n, *config_end = memchr(s, SEPARATOR, n),
               *index = config_end ? config_end + 1 : end,
               *index_end = memchr(index, SEPARATOR, (size_t)(end - index)),
               *weights = index_end ? index_end + 1 : end;
    char path[TNB_TEMPORARY_PATH + 32];
    config_end = config_end ? config_end : end;
    index_end = index_end ? index_end : end;
    const bool sharded = index_end > index;
    const char *none[] = {weight_names[!sharded], sharded ? NULL : index_name};
    for (int i = 0; i < 2 && none[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, none[i]);
        (void)unlink(path);
    }
    if (put_file("config.json", s, (size_t)(config_end - s)) &&
        put_file(weight_names[sharded], weights, (size_t)(end - weights)) &&
        (!sharded || put_file(index_name, index, (size_t)(index_end - index))))
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
