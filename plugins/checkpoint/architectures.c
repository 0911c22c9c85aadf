/* SPDX-License-Identifier: Apache-2.0 */
/* Which architectures there are, and what their checkpoints do not say of themselves. */
#include "checkpoint.h"

#include <inttypes.h>
#include <math.h>

enum {
    GEMMA = CHECKPOINT_GELU | CHECKPOINT_SCALED_EMBED,
    GEMMA_2 = GEMMA | CHECKPOINT_POST_NORMS,
    GEMMA_3 = GEMMA_2 | CHECKPOINT_QK_NORMS | CHECKPOINT_LOCAL_ROPE,
};

/* What transformers' configurations of Gemma have where the file says nothing: the text's part of a model that knows images lists only
 * what differs. */
#define GEMMA_DEFAULTS \
    "\"head_dim\": 256, \"rms_norm_eps\": 1e-6, \"bos_token_id\": 2, \"eos_token_id\": 1"
#define GEMMA_2_DEFAULTS                                                               \
    GEMMA_DEFAULTS                                                                     \
    ", \"hidden_size\": 2304, \"intermediate_size\": 9216, \"num_hidden_layers\": 26," \
    " \"num_attention_heads\": 8, \"num_key_value_heads\": 4,"                         \
    " \"query_pre_attn_scalar\": 256, \"sliding_window\": 4096"
#define GEMMA_3_DEFAULTS                                                      \
    "{" GEMMA_2_DEFAULTS ", \"vocab_size\": 262208, \"rope_theta\": 1000000," \
    " \"rope_local_base_freq\": 10000, \"max_position_embeddings\": 131072, " \
    "\"sliding_window_pattern\": 6}"
#define QWEN_DEFAULTS                                                                       \
    "\"rms_norm_eps\": 1e-6, \"max_position_embeddings\": 32768, \"sliding_window\": 4096," \
    " \"use_sliding_window\": false, \"max_window_layers\": 28"

/* GGUF has no name of its own for Mistral, and its Llama has rows of q and k so that RoPE turns neighbours. */
static const checkpoint_architecture architectures[] = {
    {.gguf = "llama",
     .huggingface = "llama",
     .gguf_flags = CHECKPOINT_INTERLEAVED,
     .defaults = "{\"rms_norm_eps\": 1e-6}"},
    {.huggingface = "mistral",
     .defaults = "{\"rms_norm_eps\": 1e-6, \"num_key_value_heads\": 8, \"sliding_window\": 4096,"
                 " \"max_position_embeddings\": 131072}"},
    {.gguf = "qwen2", .huggingface = "qwen2", .defaults = "{" QWEN_DEFAULTS "}"},
    {.gguf = "qwen3",
     .huggingface = "qwen3",
     .flags = CHECKPOINT_QK_NORMS,
     .defaults = "{" QWEN_DEFAULTS ", \"head_dim\": 128}"},
    {.gguf = "phi3",
     .huggingface = "phi3",
     .defaults = "{\"max_position_embeddings\": 4096, \"original_max_position_embeddings\": 4096}"},
    {.gguf = "gemma",
     .huggingface = "gemma",
     .flags = GEMMA,
     .huggingface_flags = CHECKPOINT_NORM_PLUS_ONE,
     .defaults = "{" GEMMA_DEFAULTS ", \"max_position_embeddings\": 8192}"},
    {.gguf = "gemma2",
     .huggingface = "gemma2",
     .flags = GEMMA_2,
     .huggingface_flags = CHECKPOINT_NORM_PLUS_ONE,
     .defaults = "{" GEMMA_2_DEFAULTS ", \"vocab_size\": 256000, \"max_position_embeddings\": 8192,"
                 " \"attn_logit_softcapping\": 50, \"final_logit_softcapping\": 30,"
                 " \"sliding_window_pattern\": 2}",
     .period = 2,
     .window = 4096,
     .score_cap = 50,
     .logit_cap = 30,
     .wide_layers = 46},
    {.gguf = "gemma3",
     .huggingface = "gemma3_text",
     .flags = GEMMA_3,
     .huggingface_flags = CHECKPOINT_NORM_PLUS_ONE,
     .defaults = GEMMA_3_DEFAULTS,
     .period = 6,
     .wide_layers = 62},
    {.huggingface = "gemma3",
     .flags = GEMMA_3 | CHECKPOINT_TEXT_PART,
     .huggingface_flags = CHECKPOINT_NORM_PLUS_ONE,
     .defaults = GEMMA_3_DEFAULTS},
    {.gguf = "gpt2",
     .huggingface = "gpt2",
     .flags = CHECKPOINT_LAYER_NORM | CHECKPOINT_GELU | CHECKPOINT_PLAIN_MLP | CHECKPOINT_POSITIONS,
     .huggingface_flags = CHECKPOINT_TURNED},
};
enum { N_ARCHITECTURES = sizeof architectures / sizeof *architectures };

const checkpoint_architecture *
checkpoint_find_architecture(checkpoint_model *m, const char *name, bool huggingface)
{
    const char *known[N_ARCHITECTURES], *list = "";
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_ARCHITECTURES; i++) {
        const checkpoint_architecture *a = &architectures[i];
        const char *own = huggingface ? a->huggingface : a->gguf;
        if (!own)
            continue;
        if (strcmp(own, name) == 0) {
            m->flags = a->flags | (huggingface ? a->huggingface_flags : a->gguf_flags);
            return a;
        }
        list = tn_strf(m->ctx, "%s%s%s", list, n ? ", " : "", own);
        known[n++] = own;
    }
    checkpoint_fail(m, NULL, TNB_UNSUPPORTED,
                    "models of the architecture '%.64s' are not supported", name);
    const char *near = tnb_nearest(name, known, n);
    tnb_diag_hint(tn_diags(m->ctx), "%s%s%sthere are %s", near ? "did you mean '" : "",
                  near ? near : "", near ? "'? " : "", list);
    return NULL;
}

bool
checkpoint_is_sliding(const checkpoint_model *m, int64_t layer)
{
    return m->window && !(m->full && m->full[layer]);
}

void
checkpoint_set_period(checkpoint_model *m, int64_t period)
{
    m->full = NULL;
    if (period < 1 || !m->window || m->layers < 1 || m->layers > CHECKPOINT_LAYERS)
        return;
    m->full = TNB_NEW_N(tn_arena(m->ctx), bool, m->layers);
    for (int64_t i = 0; i < m->layers; i++)
        m->full[i] = (i + 1) % period == 0;
}

static bool
in_range(checkpoint_model *m, const char *what, int64_t n, int64_t least, int64_t most)
{
    return (n >= least && n <= most) ||
           checkpoint_fail(m, NULL, TNB_FORMAT,
                           "the model's %s is %" PRId64 ", which is not between %" PRId64
                           " and %" PRId64,
                           what, n, least, most);
}

bool
checkpoint_check_numbers(checkpoint_model *m)
{
    if (!in_range(m, "number of layers", m->layers, 1, CHECKPOINT_LAYERS) ||
        !in_range(m, "hidden size", m->hidden, 1, CHECKPOINT_EXTENT) ||
        !in_range(m, "number of heads", m->heads, 1, CHECKPOINT_EXTENT) ||
        !in_range(m, "vocabulary", m->vocabulary, 1, CHECKPOINT_EXTENT) ||
        !in_range(m, "feed-forward size", m->intermediate, 1, CHECKPOINT_EXTENT) ||
        !in_range(m, "context length", m->context, 1, INT32_MAX) ||
        !in_range(m, "sliding window", m->window, 0, INT32_MAX))
        return false;
    m->kv_heads = m->kv_heads ? m->kv_heads : m->heads;
    if (!in_range(m, "number of key and value heads", m->kv_heads, 1, m->heads))
        return false;
    if (m->heads % m->kv_heads)
        return checkpoint_fail(m, NULL, TNB_FORMAT,
                               "the model's %" PRId64 " heads are no multiple of its %" PRId64
                               " key and value heads",
                               m->heads, m->kv_heads);
    if (!m->head_dim && m->hidden % m->heads)
        return checkpoint_fail(m, NULL, TNB_FORMAT,
                               "the model's hidden size, %" PRId64
                               ", is no multiple of its %" PRId64 " heads",
                               m->hidden, m->heads);
    m->head_dim = m->head_dim ? m->head_dim : m->hidden / m->heads;
    m->rotary_dim = m->rotary_dim ? m->rotary_dim : m->head_dim;
    if (!in_range(m, "size of a head", m->head_dim, 1, 1 << 16) ||
        !in_range(m, "heads together", m->heads * m->head_dim, 1, CHECKPOINT_EXTENT) ||
        !in_range(m, "number of elements that RoPE turns", m->rotary_dim, 1, m->head_dim))
        return false;
    if (!(m->flags & CHECKPOINT_POSITIONS) && m->rotary_dim % 2)
        return checkpoint_fail(m, NULL, TNB_FORMAT,
                               "RoPE turns pairs, but %" PRId64 " elements of a head are to turn",
                               m->rotary_dim);
    if (!(m->epsilon >= 0 && m->epsilon < 1) || !(m->rope_theta > 0) || !isfinite(m->rope_theta) ||
        !(m->rope_scale > 0) || !isfinite(m->rope_scale) || !(m->score_scale >= 0) ||
        !isfinite(m->score_scale) || !(m->score_cap >= 0) || !isfinite(m->score_cap) ||
        !(m->logit_cap >= 0) || !isfinite(m->logit_cap))
        return checkpoint_fail(
            m, NULL, TNB_FORMAT,
            "the model's epsilon, RoPE base, a scale or a limit is no sensible number");
    bool sliding = false, full = false;
    for (int64_t i = 0; i < m->layers && m->full; i++) {
        sliding |= !m->full[i];
        full |= m->full[i];
    }
    m->window = m->full && !sliding ? 0 : m->window;
    m->full = m->window && full ? m->full : NULL;
    m->score_scale = m->score_scale > 0 ? m->score_scale : 1 / sqrt((double)m->head_dim);
    return true;
}
