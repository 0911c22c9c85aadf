/* SPDX-License-Identifier: Apache-2.0 */
/* Which architectures there are, and what their checkpoints do not say of themselves. */
#include "checkpoint.h"

#include <inttypes.h>
#include <math.h>

/* GGUF has no name of its own for Mistral, and its Llama has rows of q and k so that RoPE turns neighbours. */
static const checkpoint_architecture architectures[] = {
    {"llama", "llama", 0, CHECKPOINT_INTERLEAVED, 0},
    {NULL, "mistral", 0, 0, 0},
    {"qwen2", "qwen2", 0, 0, 0},
    {"qwen3", "qwen3", 0, 0, 0},
    {"phi3", "phi3", 0, 0, 0},
    {"gemma", "gemma", CHECKPOINT_GELU | CHECKPOINT_SCALED_EMBED, 0, CHECKPOINT_NORM_PLUS_ONE},
    {"gpt2", "gpt2",
     CHECKPOINT_LAYER_NORM | CHECKPOINT_GELU | CHECKPOINT_PLAIN_MLP | CHECKPOINT_POSITIONS, 0,
     CHECKPOINT_TURNED},
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
        !(m->rope_scale > 0) || !isfinite(m->rope_scale))
        return checkpoint_fail(m, NULL, TNB_FORMAT,
                               "the model's epsilon, RoPE base or a scale is no sensible number");
    return true;
}
