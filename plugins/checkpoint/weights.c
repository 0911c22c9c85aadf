/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors a model uses: the list of its parameters, each with its shape checked, and what the artifact says of
 * them.
 *
 * The order is that of the tables below, layer by layer, so it does not depend on how a file is written.
 */
#include "checkpoint.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tenon/base/gguf.h"
#include "tenon/base/hash.h"

/* ---- tensors by name ---- */

void
checkpoint_add_tensor(checkpoint_model *m, const checkpoint_tensor *t)
{
    checkpoint_tensor *copy = tnb_dup(tn_arena(m->ctx), t, sizeof *t);
    copy->param = -1;
    TNB_PUSH(tn_arena(m->ctx), m->tensors, copy);
    tnb_strmap_set(&m->by_name, copy->name, copy);
}

checkpoint_tensor *
checkpoint_find(checkpoint_model *m, int64_t layer, const char *name, const char *suffix)
{
    char text[128];
    if (layer < 0)
        snprintf(text, sizeof text, "%s.%s", name, suffix);
    else
        snprintf(text, sizeof text, "blk.%" PRId64 ".%s.%s", layer, name, suffix);
    return tnb_strmap_get(&m->by_name, text);
}

bool
checkpoint_unknown(checkpoint_model *m, const char *own)
{
    checkpoint_fail(m, own, TNB_UNSUPPORTED, "no part of the model uses the tensor");
    tnb_diag_hint(
        tn_diags(m->ctx),
        "the model differs from those of its architecture that are supported: without the "
        "tensor its results would be wrong");
    return false;
}

/* ---- what there has to be ---- */

/* Extents by what they mean. */
enum extent { NONE, HIDDEN, HEADS, KV, QKV, HEAD, INNER, UP, VOCABULARY, CONTEXT };

/* When a tensor has to be there. */
enum need {
    OPTIONAL,
    ALWAYS,
    SPLIT,   /* where q, k and v are not one tensor */
    LEARNED, /* where positions are */
    NORMED,  /* where heads of q and k have norms; optional elsewhere */
    BEHIND   /* where norms follow the parts of a layer, too */
};

typedef struct slot {
    const char *name;
    enum extent rows, columns; /* columns NONE: a vector */
    enum need need;
} slot;

static const slot first_slots[] = {
    {"token_embd", VOCABULARY, HIDDEN, ALWAYS},
    {"position_embd", CONTEXT, HIDDEN, LEARNED},
};
static const slot layer_slots[] = {
    {"attn_norm", HIDDEN, NONE, ALWAYS},
    {"attn_qkv", QKV, HIDDEN, OPTIONAL},
    {"attn_q", HEADS, HIDDEN, SPLIT},
    {"attn_k", KV, HIDDEN, SPLIT},
    {"attn_v", KV, HIDDEN, SPLIT},
    {"attn_q_norm", HEAD, NONE, NORMED},
    {"attn_k_norm", HEAD, NONE, NORMED},
    {"attn_output", HIDDEN, HEADS, ALWAYS},
    {"post_attention_norm", HIDDEN, NONE, BEHIND},
    {"ffn_norm", HIDDEN, NONE, ALWAYS},
    {"ffn_gate", INNER, HIDDEN, OPTIONAL},
    {"ffn_up", UP, HIDDEN, ALWAYS},
    {"ffn_down", HIDDEN, INNER, ALWAYS},
    {"post_ffw_norm", HIDDEN, NONE, BEHIND},
};
static const slot last_slots[] = {
    {"output_norm", HIDDEN, NONE, ALWAYS},
    {"output", VOCABULARY, HIDDEN, OPTIONAL},
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static int64_t
extent_of(checkpoint_model *m, int64_t layer, enum extent e)
{
    const int64_t q = m->heads * m->head_dim, kv = m->kv_heads * m->head_dim;
    const bool gate_within =
        !(m->flags & CHECKPOINT_PLAIN_MLP) && !checkpoint_find(m, layer, "ffn_gate", "weight");
    switch (e) {
    case HIDDEN:
        return m->hidden;
    case HEADS:
        return q;
    case KV:
        return kv;
    case QKV:
        return q + 2 * kv;
    case HEAD:
        return m->head_dim;
    case INNER:
        return m->intermediate;
    case UP:
        return gate_within ? 2 * m->intermediate : m->intermediate;
    case VOCABULARY:
        return m->vocabulary;
    case CONTEXT:
        return m->context;
    case NONE:
        break;
    }
    return 0;
}

static const char *
shape_text(tn_ctx *ctx, int32_t ndim, const int64_t *shape)
{
    const char *s = "[";
    for (int32_t i = 0; i < ndim; i++)
        s = tn_strf(ctx, "%s%s%" PRId64, s, i ? ", " : "", shape[i]);
    return tn_strf(ctx, "%s]", s);
}

/* Makes it a parameter. */
static bool
take(checkpoint_model *m, checkpoint_tensor *t, int32_t ndim, int64_t rows, int64_t columns)
{
    const int64_t wanted[2] = {t->turned && ndim == 2 ? columns : rows,
                               t->turned && ndim == 2 ? rows : columns};
    bool fits =
        t->ndim == ndim && t->shape[0] == wanted[0] && (ndim < 2 || t->shape[1] == wanted[1]);
    if (!fits)
        return checkpoint_fail(m, t->own, TNB_SHAPE,
                               "the tensor has the shape %s, but the model's numbers make it %s",
                               shape_text(m->ctx, t->ndim, t->shape),
                               shape_text(m->ctx, ndim, wanted));
    if (ndim < 2 && !tnb_dtype_is_float(t->dtype))
        return checkpoint_fail(m, t->own, TNB_TYPE, "a vector of %s; floats are wanted",
                               t->blocks && !t->dtype.bits ? tnb_gguf_type_of(t->blocks).name
                                                           : tnb_dtype_print(t->dtype).s);
    if (!t->dtype.bits && !checkpoint_knows_blocks(t->blocks)) {
        checkpoint_fail(m, t->own, TNB_UNSUPPORTED, "weights of the type %s are not supported",
                        tnb_gguf_type_of(t->blocks).name);
        tnb_diag_hint(tn_diags(m->ctx),
                      "there are F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, "
                      "Q5_K and Q6_K");
        return false;
    }
    if (t->dtype.bits && !tnb_dtype_is_float(t->dtype))
        return checkpoint_fail(m, t->own, TNB_TYPE, "weights of %s; floats are wanted",
                               tnb_dtype_print(t->dtype).s);
    t->param = m->params.n;
    TNB_PUSH(tn_arena(m->ctx), m->params, t);
    return ndim < 2 || !m->quantization || checkpoint_quantize(m, t);
}

static bool
collect(checkpoint_model *m, int64_t layer, const slot *s)
{
    checkpoint_tensor *w = checkpoint_find(m, layer, s->name, "weight"),
                      *bias = checkpoint_find(m, layer, s->name, "bias");
    const bool joined = checkpoint_find(m, layer, "attn_qkv", "weight") != NULL,
               positions = m->flags & CHECKPOINT_POSITIONS;
    const bool needed = s->need == ALWAYS || (s->need == SPLIT && !joined) ||
                        (s->need == LEARNED && positions) ||
                        (s->need == NORMED && m->flags & CHECKPOINT_QK_NORMS) ||
                        (s->need == BEHIND && m->flags & CHECKPOINT_POST_NORMS);
    /* check_all_used finds what has no place */
    const bool has_place = needed || s->need == OPTIONAL || s->need == NORMED;
    if (!has_place || (!w && !needed))
        return true;
    if (s->columns == NONE && !(m->flags & CHECKPOINT_LAYER_NORM))
        bias = NULL; /* root mean square norms have none */
    if (!w) {
        const char *name =
            layer < 0 ? s->name : tn_strf(m->ctx, "blk.%" PRId64 ".%s", layer, s->name);
        return checkpoint_fail(
            m, NULL, TNB_NOT_FOUND,
            "the checkpoint lacks the tensor '%s.weight', which a model of %" PRId64
            " layers needs",
            name, m->layers);
    }
    int64_t rows = extent_of(m, layer, s->rows), columns = extent_of(m, layer, s->columns);
    return take(m, w, s->columns == NONE ? 1 : 2, rows, columns) &&
           (!bias || take(m, bias, 1, rows, 0));
}

/* What nothing here reads would be computed without: not the model that the file is. */
static bool
check_all_used(checkpoint_model *m)
{
    for (uint32_t i = 0; i < m->tensors.n; i++)
        if (m->tensors.at[i]->param < 0)
            return checkpoint_unknown(m, m->tensors.at[i]->own);
    return true;
}

/* The dtype and shape that a parameter has in the module: blocks are bytes, rows of them. */
static const tn_type *
param_type(checkpoint_model *m, const checkpoint_tensor *t)
{
    int64_t shape[CHECKPOINT_DIMS];
    const tn_node *dims[CHECKPOINT_DIMS];
    if (t->part != CHECKPOINT_WHOLE)
        return checkpoint_quantized_type(m, t);
    memcpy(shape, t->shape, sizeof shape);
    if (!t->dtype.bits) {
        tnb_gguf_type type = tnb_gguf_type_of(t->blocks);
        shape[t->ndim - 1] = shape[t->ndim - 1] / type.elems * type.bytes;
    }
    for (int32_t i = 0; i < t->ndim; i++)
        dims[i] = tn_i64(m->ctx, shape[i]);
    return tn_ty_tensor_dims(m->ctx, tn_list_of(m->ctx, dims, (uint32_t)t->ndim),
                             t->dtype.bits ? t->dtype : TNB_U8);
}

bool
checkpoint_collect(checkpoint_model *m)
{
    bool ok = true;
    for (size_t i = 0; i < COUNT(first_slots) && ok; i++)
        ok = collect(m, -1, &first_slots[i]);
    for (int64_t layer = 0; layer < m->layers && ok; layer++)
        for (size_t i = 0; i < COUNT(layer_slots) && ok; i++)
            ok = collect(m, layer, &layer_slots[i]);
    for (size_t i = 0; i < COUNT(last_slots) && ok; i++)
        ok = collect(m, -1, &last_slots[i]);
    ok = ok && check_all_used(m);
    const tn_node **types = TNB_NEW_N(tn_arena(m->ctx), const tn_node *, m->params.n);
    for (uint32_t i = 0; i < m->params.n && ok; i++)
        types[i] = param_type(m, m->params.at[i]);
    m->packed = ok ? tn_ty_tuple_of(m->ctx, (tn_list){.at = types, .n = m->params.n}) : NULL;
    return ok && !tn_is_error(m->packed);
}

/* ---- what the artifact says ---- */

/* The file is mapped already, and read where it is the same: see tnb_hash_sample_file. */
static tnb_hash128
sample_of(const checkpoint_file *f)
{
    tnb_hash128 h;
    struct stat st;
    const int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const bool done = fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size == f->bytes &&
                      tnb_hash_sample_file(fd, f->bytes, &h);
    if (fd >= 0)
        close(fd);
    return done ? h : tnb_hash_sample(f->data, f->bytes);
}

static const tn_node *
describe_file(checkpoint_model *m, const checkpoint_file *f)
{
    char hash[17], sample[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, tnb_hash_128(f->data, f->header).lo);
    snprintf(sample, sizeof sample, "%016" PRIx64, sample_of(f).lo);
    return tn_dictv(m->ctx, "path", tn_string(m->ctx, f->path), "bytes",
                    tn_i64(m->ctx, (int64_t)f->bytes), "header", tn_i64(m->ctx, (int64_t)f->header),
                    "hash", tn_string(m->ctx, hash), "sample", tn_string(m->ctx, sample), NULL);
}

static const tn_node *
describe_param(checkpoint_model *m, const checkpoint_tensor *t)
{
    tn_list dims = {0};
    const tn_type *type = param_type(m, t);
    const tn_node *transform = checkpoint_transform(m, t);
    int64_t bytes = (int64_t)t->bytes, extent;
    tn_type_dims(type, &dims);
    if (transform)
        bytes = tn_type_dtype(type).bits / 8;
    for (uint32_t i = 0; transform && i < dims.n && tn_int_value(dims.at[i], &extent); i++)
        bytes *= extent;
    const tn_node *d =
        tn_dictv(m->ctx, "name", tn_string(m->ctx, t->name), "dtype",
                 tn_string(m->ctx, tnb_dtype_print(tn_type_dtype(type)).s), "shape",
                 tn_array_of(m->ctx, dims), "file", tn_i64(m->ctx, t->file), "offset",
                 tn_i64(m->ctx, (int64_t)t->offset), "bytes", tn_i64(m->ctx, bytes), NULL);
    return transform ? tn_dict_set(m->ctx, d, "transform", transform) : d;
}

static const tn_node *
describe_params(checkpoint_model *m)
{
    tnb_arena *a = tn_arena(m->ctx);
    const tn_node **files = TNB_NEW_N(a, const tn_node *, m->files.n),
                  **list = TNB_NEW_N(a, const tn_node *, m->params.n);
    for (uint32_t i = 0; i < m->files.n; i++)
        files[i] = describe_file(m, &m->files.at[i]);
    for (uint32_t i = 0; i < m->params.n; i++)
        list[i] = describe_param(m, m->params.at[i]);
    return tn_dictv(m->ctx, "files", tn_array_of(m->ctx, tn_list_of(m->ctx, files, m->files.n)),
                    "list", tn_array_of(m->ctx, tn_list_of(m->ctx, list, m->params.n)), NULL);
}

static const tn_node *
describe_model(checkpoint_model *m)
{
    tn_ctx *ctx = m->ctx;
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"context_length", m->context},    {"vocab_size", m->vocabulary},
                   {"hidden_size", m->hidden},        {"num_hidden_layers", m->layers},
                   {"num_attention_heads", m->heads}, {"num_key_value_heads", m->kv_heads},
                   {"head_dim", m->head_dim},         {"sliding_window", m->full ? 0 : m->window},
                   {"bos_token_id", m->bos}};
    const tn_node *d =
        tn_dictv(ctx, "stop_token_ids", tn_int_array(ctx, m->stop.at, m->stop.n), "tokenizer",
                 tn_dictv(ctx, "format", tn_string(ctx, m->tokenizer_format), "path",
                          tn_string(ctx, m->tokenizer_path), NULL),
                 NULL);
    d = tn_dict_set(ctx, d, "architecture",
                    tn_string(ctx, m->architecture->gguf ? m->architecture->gguf
                                                         : m->architecture->huggingface));
    if (m->full) /* a sequence has no window then, some of its layers have */
        d = tn_dict_set(ctx, d, "layer_sliding_window", tn_i64(ctx, m->window));
    if (m->generation)
        d = tn_dict_set(ctx, d, "generation", m->generation);
    if (m->name)
        d = tn_dict_set(ctx, d, "name", tn_string(ctx, m->name));
    if (m->sinks)
        d = tn_dict_set(ctx, d, "attention_sinks", tn_i64(ctx, m->sinks));
    for (size_t i = 0; i < COUNT(numbers); i++)
        d = tn_dict_set(ctx, d, numbers[i].key, tn_i64(ctx, numbers[i].value));
    return d;
}

const tn_node *
checkpoint_attributes(checkpoint_model *m)
{
    return tn_dictv(m->ctx, "model", describe_model(m), "params", describe_params(m), NULL);
}
