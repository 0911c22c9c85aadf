/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of checkpoints: GGUF and safetensors. */
#include "config.h"

#include "readers.h"

#include "tenon/base/gguf.h"
#include "tenon/base/safetensors.h"

static void
put(tnb_buf *b, uint64_t v, size_t size)
{
    tnb_buf_put(b, &v, size);
}

static void
put_text(tnb_buf *b, const char *s)
{
    put(b, strlen(s), 8);
    tnb_buf_puts(b, s);
}

/* An entry of each kind, an array of each, two tensors. */
void
gguf_seeds(tnb_buf *out, uint32_t *n)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    tnb_buf *b = &out[(*n)++];
    tnb_buf_puts(b, "GGUF");
    put(b, 3, 4);
    put(b, 2, 8);
    put(b, 25, 8);
    put_text(b, "general.alignment");
    put(b, TNB_GGUF_UINT32, 4);
    put(b, 32, 4);
    for (uint32_t kind = 0; kind <= TNB_GGUF_FLOAT64; kind++) {
        if (kind == TNB_GGUF_ARRAY)
            continue;
        for (int array = 0; array < 2; array++) {
            char key[] = {(char)('a' + kind), (char)('0' + array), 0};
            put_text(b, key);
            if (array) {
                put(b, TNB_GGUF_ARRAY, 4);
                put(b, kind, 4);
                put(b, 2, 8);
            } else {
                put(b, kind, 4);
            }
            for (int i = 0; i <= array; i++)
                if (kind == TNB_GGUF_STRING)
                    put_text(b, "text");
                else
                    put(b, 1, bytes[kind]);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        put_text(b, i ? "w" : "v");
        put(b, 2, 4);
        put(b, 32, 8);
        put(b, 1, 8);
        put(b, i ? TNB_GGUF_Q8_0 : TNB_GGUF_F32, 4);
        put(b, i * 128, 8);
    }
    while (b->n % 32)
        put(b, 0, 1);
    for (int i = 0; i < 128 + 34; i++)
        put(b, (uint64_t)i, 1);
}

enum { HIDDEN = 8, INNER = 12, TOKENS = 5, HEADS = 2 };

/* A Llama of one layer. */
void
llama_gguf_seeds(tnb_buf *out, uint32_t *n)
{
    enum { NUMBERS = 5 };
    static const char *const keys[NUMBERS] = {"llama.block_count", "llama.embedding_length",
                                              "llama.feed_forward_length",
                                              "llama.attention.head_count", "llama.context_length"};
    static const uint32_t numbers[NUMBERS] = {1, HIDDEN, INNER, HEADS, 16};
    static const struct {
        const char *name;
        uint64_t rows, columns;
    } tensors[] = {{"token_embd.weight", TOKENS, HIDDEN},
                   {"blk.0.attn_q.weight", HIDDEN, HIDDEN},
                   {"blk.0.attn_k.weight", HIDDEN, HIDDEN},
                   {"blk.0.attn_v.weight", HIDDEN, HIDDEN},
                   {"blk.0.attn_output.weight", HIDDEN, HIDDEN},
                   {"blk.0.ffn_gate.weight", INNER, HIDDEN},
                   {"blk.0.ffn_up.weight", INNER, HIDDEN},
                   {"blk.0.ffn_down.weight", HIDDEN, INNER},
                   {"blk.0.attn_norm.weight", 0, HIDDEN},
                   {"blk.0.ffn_norm.weight", 0, HIDDEN},
                   {"output_norm.weight", 0, HIDDEN}};
    const uint64_t count = sizeof tensors / sizeof *tensors;
    tnb_buf *b = &out[(*n)++];
    uint64_t at = 0;
    tnb_buf_puts(b, "GGUF");
    put(b, 3, 4);
    put(b, count, 8);
    put(b, NUMBERS + 1, 8);
    put_text(b, "general.architecture");
    put(b, TNB_GGUF_STRING, 4);
    put_text(b, "llama");
    for (int i = 0; i < NUMBERS; i++) {
        put_text(b, keys[i]);
        put(b, TNB_GGUF_UINT32, 4);
        put(b, numbers[i], 4);
    }
    for (uint64_t i = 0; i < count; i++) {
        put_text(b, tensors[i].name);
        put(b, tensors[i].rows ? 2 : 1, 4);
        put(b, tensors[i].columns, 8);
        if (tensors[i].rows)
            put(b, tensors[i].rows, 8);
        put(b, TNB_GGUF_F32, 4);
        put(b, at, 8);
        at += (tensors[i].rows ? tensors[i].rows : 1) * tensors[i].columns * 4;
        at = (at + 31) / 32 * 32;
    }
    while (b->n % 32)
        put(b, 0, 1);
    for (uint64_t i = 0; i < at; i++)
        put(b, 0, 1);
}

/* One of llama2.c's version 1, one of version 0. */
void
llama2c_seeds(tnb_buf *out, uint32_t *n)
{
    for (int version = 1; version >= 0; version--) {
        tnb_buf *b = &out[(*n)++];
        if (version) {
            put(b, 0x616b3432, 4);
            put(b, 1, 4);
        }
        static const uint32_t header[] = {HIDDEN, INNER, 1, HEADS, HEADS, TOKENS, 16, 1};
        tnb_buf_put(b, header, sizeof header - (version ? 0 : 4));
        for (int i = 0; i < 256 + 4 * 8 * 100; i++)
            put(b, 0, 1);
    }
}

static void
put_tag(tnb_buf *b, const char *key, uint32_t kind)
{
    put_text(b, key);
    put(b, kind, 4);
}

static void
put_array(tnb_buf *b, const char *key, uint32_t kind, uint64_t n)
{
    put_tag(b, key, TNB_GGUF_ARRAY);
    put(b, kind, 4);
    put(b, n, 8);
}

/* Tokenizers of each kind in files without tensors. */
void
tokenizer_gguf_seeds(tnb_buf *out, uint32_t *n)
{
    static const char *const kinds[] = {"gpt2", "llama", "t5"}, *const merges[] = {"a b", "ab a"};
    static const char *const tokens[][8] = {{"<s>", "</s>", "a", "b", "ab", "aba", "\xc4\xa0",
                                             "\xc3\xa9"},
                                            {"<unk>", "<s>", "<0x41>", "a", "ab", "\xe2\x96\x81",
                                             "\xe2\x96\x81"
                                             "ab",
                                             "<x>"},
                                            {"<unk>", "<s>", "<0x41>", "a", "ab", "\xe2\x96\x81",
                                             "\xe2\x96\x81"
                                             "ab",
                                             "<x>"}};
    static const char map[] = {8, 0, 0, 0, 0, 4, 0, 0, 'a', 1, 0, 0, 'x', 0};
    for (int k = 0; k < 3 && *n < MOST_SEEDS; k++) {
        tnb_buf *b = &out[(*n)++];
        tnb_buf_puts(b, "GGUF");
        put(b, 3, 4);
        put(b, 0, 8);
        put(b, 9, 8);
        put_tag(b, "tokenizer.ggml.model", TNB_GGUF_STRING);
        put_text(b, kinds[k]);
        put_array(b, "tokenizer.ggml.tokens", TNB_GGUF_STRING, 8);
        for (int i = 0; i < 8; i++)
            put_text(b, tokens[k][i]);
        put_array(b, "tokenizer.ggml.scores", TNB_GGUF_FLOAT32, 8);
        for (uint64_t i = 0; i < 8; i++)
            put(b, 0xc0000000 + (i << 20), 4);
        put_array(b, "tokenizer.ggml.token_type", TNB_GGUF_INT32, 8);
        for (int i = 0; i < 8; i++)
            put(b, i < 2 ? 3 : k && i == 2 ? 6 : i == 7 ? 4 : 1, 4);
        put_array(b, "tokenizer.ggml.merges", TNB_GGUF_STRING, 2);
        for (int i = 0; i < 2; i++)
            put_text(b, merges[i]);
        put_tag(b, "tokenizer.ggml.pre", TNB_GGUF_STRING);
        put_text(b, "llama-bpe");
        put_tag(b, "tokenizer.ggml.bos_token_id", TNB_GGUF_UINT32);
        put(b, 1, 4);
        put_tag(b, "tokenizer.ggml.add_space_prefix", TNB_GGUF_BOOL);
        put(b, 1, 1);
        put_array(b, "tokenizer.ggml.precompiled_charsmap", TNB_GGUF_UINT8, sizeof map);
        tnb_buf_put(b, map, sizeof map);
    }
}

static volatile uint64_t sum;

static void
add_bytes(const void *data, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        sum += ((const uint8_t *)data)[i];
}

void
read_gguf(const void *data, size_t n)
{
    tnb_gguf *g;
    tnb_err err;
    const tnb_gguf_value *v;
    const tnb_gguf_tensor *t;
    if (tnb_gguf_open_memory(data, n, "fuzz", &g, &err) != TNB_OK)
        return;
    reader_taken++;
    for (uint32_t k = 0; (v = tnb_gguf_value_at(g, k)); k++)
        for (uint64_t i = 0; i <= v->n; i++) {
            int64_t number = 0;
            double real = 0;
            const char *s;
            size_t length;
            sum += tnb_gguf_int(v, i, &number) + tnb_gguf_float(v, i, &real) + (uint64_t)number;
            if (tnb_gguf_text(v, i, &s, &length))
                add_bytes(s, length);
        }
    for (uint32_t k = 0; (t = tnb_gguf_tensor_at(g, k)); k++)
        add_bytes((const char *)data + t->offset, t->bytes);
    tnb_gguf_close(g);
}

void
safetensors_seeds(tnb_buf *out, uint32_t *n)
{
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[16,24]},\"__metadata__\":{\"a\":"
        "\"b\"}}",
        "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[],\"data_offsets\":[0,1]},"
        "\"b\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[8,8]}}",
    };
    for (int k = 0; k < 2; k++) {
        tnb_buf *b = &out[(*n)++];
        put_text(b, headers[k]);
        for (int i = 0; i < 24; i++)
            put(b, (uint64_t)i, 1);
    }
}

void
read_safetensors(const void *data, size_t n)
{
    tnb_safetensors *s;
    tnb_err err;
    const tnb_safetensor *t;
    if (tnb_safetensors_open_memory(data, n, "fuzz", &s, &err) != TNB_OK)
        return;
    reader_taken++;
    for (uint32_t k = 0; (t = tnb_safetensors_at(s, k)); k++)
        add_bytes((const char *)data + t->offset, t->bytes);
    tnb_safetensors_close(s);
}
