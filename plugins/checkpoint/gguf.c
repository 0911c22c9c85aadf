/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF checkpoints: the architecture's numbers stand in the metadata under its name, tensors have the names that this plugin
 * uses. */
#include "checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include "tenon/base/gguf.h"
#include "tenon/base/num.h"

typedef struct reading {
    checkpoint_model *m;
    const tnb_gguf *g;
    const char *prefix; /* "llama" */
    bool failed;
} reading;

static const tnb_gguf_value *
find(const reading *r, const char *key)
{
    return tnb_gguf_find(r->g, tn_strf(r->m->ctx, "%s.%s", r->prefix, key));
}

/* Where the file has no such entry: `otherwise`, or an error where that is below 0. */
static int64_t
number(reading *r, const char *key, int64_t otherwise)
{
    int64_t n = otherwise;
    const tnb_gguf_value *v = find(r, key);
    if (r->failed || (!v && otherwise >= 0))
        return n;
    if (!v) {
        r->failed = true;
        checkpoint_fail(r->m, NULL, TNB_FORMAT, "the metadata have no '%s.%s'", r->prefix, key);
    } else if (v->array) {
        r->failed = true;
        checkpoint_fail(r->m, NULL, TNB_UNSUPPORTED,
                        "metadata '%s' has a number for each layer, which is not supported",
                        v->key);
    } else if (!tnb_gguf_int(v, 0, &n) || n < 0) {
        r->failed = true;
        checkpoint_fail(r->m, NULL, TNB_FORMAT, "metadata '%s' is no count", v->key);
    }
    return n;
}

static double
real(reading *r, const char *key, double otherwise)
{
    double x = otherwise;
    const tnb_gguf_value *v = find(r, key);
    if (v && !r->failed && !tnb_gguf_float(v, 0, &x)) {
        r->failed = true;
        checkpoint_fail(r->m, NULL, TNB_FORMAT, "metadata '%s' is no number", v->key);
    }
    return x;
}

/* NULL: there is none. */
static const char *
text(const reading *r, const char *key)
{
    const char *s;
    size_t n;
    return tnb_gguf_text(tnb_gguf_find(r->g, key), 0, &s, &n) ? tn_strn(r->m->ctx, s, n) : NULL;
}

/* The file says which layers have a window, by a number or a list, or its architecture does. */
static void
read_window(reading *r)
{
    checkpoint_model *m = r->m;
    const tnb_gguf_value *list = find(r, "attention.sliding_window_pattern");
    m->window = number(r, "attention.sliding_window", m->architecture->window);
    if (m->window >= m->context)
        m->window = 0;
    if (!m->window || m->layers < 1 || m->layers > CHECKPOINT_LAYERS)
        return;
    if (!list || !list->array) {
        checkpoint_set_period(m, number(r, "attention.sliding_window_pattern",
                                        m->architecture->period));
        return;
    }
    m->full = TNB_NEW_N(tn_arena(m->ctx), bool, m->layers);
    for (int64_t i = 0, is = 0; i < m->layers; i++) {
        if (!tnb_gguf_int(list, (uint64_t)i, &is) && !r->failed) {
            r->failed = true;
            checkpoint_fail(m, NULL, TNB_FORMAT, "metadata '%s' does not say it for layer %" PRId64,
                            list->key, i);
        }
        m->full[i] = !is;
    }
}

static void
read_numbers(reading *r)
{
    checkpoint_model *m = r->m;
    const tnb_gguf_tensor *embed = tnb_gguf_find_tensor(r->g, "token_embd.weight");
    m->layers = number(r, "block_count", -1);
    m->hidden = number(r, "embedding_length", -1);
    m->heads = number(r, "attention.head_count", -1);
    m->kv_heads = number(r, "attention.head_count_kv", 0);
    m->head_dim = number(r, "attention.key_length", 0);
    m->intermediate = number(r, "feed_forward_length", -1);
    m->context = number(r, "context_length", -1);
    m->rotary_dim = number(r, "rope.dimension_count", 0);
    read_window(r);
    m->score_cap = real(r, "attn_logit_softcapping", m->architecture->score_cap);
    m->logit_cap = real(r, "final_logit_softcapping", m->architecture->logit_cap);
    m->score_scale = real(r, "attention.scale", 0);
    if (!(m->score_scale > 0) && m->layers == m->architecture->wide_layers && m->heads > 0)
        m->score_scale = 1 / sqrt((double)m->hidden / (double)m->heads);
    /* the table of embeddings may be padded beyond the tokenizer's texts */
    m->vocabulary = embed && embed->ndim > 0 ? embed->shape[0] : 0;
    if (!embed && !r->failed) {
        r->failed = true;
        checkpoint_fail(m, NULL, TNB_NOT_FOUND,
                        "the checkpoint lacks the tensor 'token_embd.weight'");
    }
    m->epsilon = real(r,
                      m->flags & CHECKPOINT_LAYER_NORM ? "attention.layer_norm_epsilon"
                                                       : "attention.layer_norm_rms_epsilon",
                      1e-5);
    m->rope_theta = real(r, "rope.freq_base", 10000);
    if (number(r, "attention.value_length", m->head_dim) != m->head_dim && !r->failed) {
        r->failed = true;
        checkpoint_fail(m, NULL, TNB_UNSUPPORTED,
                        "keys and values of different sizes are not supported");
    }
}

/* A vector of half of the elements that RoPE turns; NULL: there is none. */
static const float *
factors(reading *r, const char *name)
{
    checkpoint_model *m = r->m;
    const tnb_gguf_tensor *t = tnb_gguf_find_tensor(r->g, name);
    uint64_t n;
    const char *bytes = tnb_gguf_bytes(r->g, &n);
    if (!t || r->failed)
        return NULL;
    if (t->type == TNB_GGUF_F32 && t->ndim == 1 && t->shape[0] * 2 == m->rotary_dim)
        return tnb_dup(tn_arena(m->ctx), bytes + t->offset, t->bytes);
    r->failed = true;
    checkpoint_fail(m, t->name, TNB_UNSUPPORTED,
                    "RoPE's factors are no float32 vector of %" PRId64 " elements",
                    m->rotary_dim / 2);
    return NULL;
}

/* Factors of each frequency, of long texts and of short ones. */
static void
take_factors(reading *r, const float *for_long, const float *for_short, int64_t original)
{
    checkpoint_model *m = r->m;
    const size_t half = (size_t)m->rotary_dim / 2;
    float *all = TNB_NEW_N(tn_arena(m->ctx), float, 2 * half);
    memcpy(all, for_long, half * sizeof *all);
    memcpy(all + half, for_short, half * sizeof *all);
    m->rope_factors = all;
    double amplitude = real(r, "rope.scaling.attn_factor", 0);
    m->rope_scaling =
        tn_strf(m->ctx,
                "{\"rope_type\":\"longrope\",\"original_max_position_embeddings\":%" PRId64
                ",\"max_position_embeddings\":%" PRId64 "%s}",
                original, for_long == for_short ? original : m->context,
                amplitude > 0
                    ? tn_strf(m->ctx, ",\"attention_factor\":%s", tnb_print_f64(amplitude).s)
                    : "");
}

static void
read_scaling(reading *r)
{
    checkpoint_model *m = r->m;
    const char *kind = text(r, tn_strf(m->ctx, "%s.rope.scaling.type", r->prefix));
    const double factor = real(r, "rope.scaling.factor", 0);
    const int64_t original = number(r, "rope.scaling.original_context_length", m->context);
    const int64_t dim = m->head_dim ? m->head_dim : m->heads ? m->hidden / m->heads : 0;
    if (r->failed || dim <= 0 || dim > 1 << 16)
        return; /* found later */
    m->rotary_dim = m->rotary_dim ? m->rotary_dim : dim;
    const float *all = factors(r, "rope_freqs.weight"),
                *for_long = factors(r, "rope_factors_long.weight"),
                *for_short = factors(r, "rope_factors_short.weight");
    if (all)
        take_factors(r, all, all, m->context > 1 ? m->context : 2);
    else if (for_long && for_short)
        take_factors(r, for_long, for_short, original);
    else if ((!kind || strcmp(kind, "linear") == 0) && factor > 0)
        m->rope_scale = 1 / factor;
    else if (kind && strcmp(kind, "yarn") == 0 && factor > 0)
        m->rope_scaling = tn_strf(
            m->ctx,
            "{\"rope_type\":\"yarn\",\"factor\":%s,\"original_max_position_embeddings\":%" PRId64
            ",\"attention_factor\":%s}",
            tnb_print_f64(factor).s, original,
            tnb_print_f64(factor > 1 ? 0.1 * log(factor) + 1 : 1).s);
    else if (kind && strcmp(kind, "none") != 0 && strcmp(kind, "linear") != 0 && !r->failed) {
        r->failed = true;
        checkpoint_fail(m, NULL, TNB_UNSUPPORTED, "RoPE scaling of type '%.32s' is not supported",
                        kind);
    }
}

/* Layers with a window have a base of their own and no scaling. */
static void
read_local_rope(reading *r)
{
    checkpoint_model *m = r->m;
    const double local = real(r, "rope.freq_base_swa", 10000);
    if (m->rope_scaling && !r->failed) {
        r->failed = true;
        checkpoint_fail(m, NULL, TNB_UNSUPPORTED,
                        "RoPE scaling of another type than 'linear' is not supported beside layers "
                        "with a base of their own");
    }
    if (r->failed)
        return;
    m->rope_scaling =
        tn_strf(m->ctx,
                "{\"full_attention\":{\"rope_type\":\"linear\",\"factor\":%s,\"rope_theta\":%s},"
                "\"sliding_attention\":{\"rope_theta\":%s}}",
                tnb_print_f64(1 / m->rope_scale).s, tnb_print_f64(m->rope_theta).s,
                tnb_print_f64(local).s);
    m->rope_scale = 1;
}

static void
add_stop(checkpoint_model *m, const tnb_gguf *g, const char *key)
{
    int64_t id;
    if (!tnb_gguf_int(tnb_gguf_find(g, key), 0, &id) || id < 0 || id >= m->vocabulary)
        return;
    for (uint32_t i = 0; i < m->stop.n; i++)
        if (m->stop.at[i] == id)
            return;
    TNB_PUSH(tn_arena(m->ctx), m->stop, id);
}

static void
read_tokens(reading *r)
{
    static const char *const stops[] = {"tokenizer.ggml.eos_token_id",
                                        "tokenizer.ggml.eot_token_id",
                                        "tokenizer.ggml.eom_token_id"};
    checkpoint_model *m = r->m;
    if (!tnb_gguf_int(tnb_gguf_find(r->g, "tokenizer.ggml.bos_token_id"), 0, &m->bos) ||
        m->bos < 0 || m->bos >= m->vocabulary)
        m->bos = -1;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        add_stop(m, r->g, stops[i]);
    m->tokenizer_format = "gguf";
    m->tokenizer_path = m->files.at[0].path;
    m->name = text(r, "general.name");
}

static void
add_tensors(reading *r)
{
    const tnb_gguf_tensor *t;
    for (uint32_t i = 0; (t = tnb_gguf_tensor_at(r->g, i)); i++) {
        if (strncmp(t->name, "rope_", 5) == 0)
            continue; /* factors: read_scaling takes them */
        checkpoint_tensor own = {.name = tn_str(r->m->ctx, t->name),
                                 .dtype = tnb_gguf_type_of(t->type).dtype,
                                 .blocks = t->type,
                                 .ndim = t->ndim,
                                 .offset = t->offset,
                                 .bytes = t->bytes};
        own.own = own.name;
        memcpy(own.shape, t->shape, sizeof t->shape);
        checkpoint_add_tensor(r->m, &own);
    }
}

static bool
read_model(reading *r)
{
    checkpoint_model *m = r->m;
    checkpoint_file file = {.path = checkpoint_absolute(m->ctx, m->path),
                            .header = tnb_gguf_data_offset(r->g)};
    file.data = tnb_gguf_bytes(r->g, &file.bytes);
    file.header = file.header < file.bytes ? file.header : file.bytes;
    TNB_PUSH(tn_arena(m->ctx), m->files, file);
    r->prefix = text(r, "general.architecture");
    if (!r->prefix)
        return checkpoint_fail(m, NULL, TNB_FORMAT, "the metadata have no 'general.architecture'");
    m->architecture = checkpoint_find_architecture(m, r->prefix, false);
    if (!m->architecture)
        return false;
    read_numbers(r);
    read_scaling(r);
    if (m->flags & CHECKPOINT_LOCAL_ROPE)
        read_local_rope(r);
    if (r->failed)
        return false;
    read_tokens(r);
    add_tensors(r);
    return true;
}

tnb_status
checkpoint_import_gguf(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                       tnk_model *out)
{
    (void)self;
    tnb_err err;
    tnb_gguf *g;
    checkpoint_model m;
    checkpoint_start(&m, ctx, path);
    tnb_status st = tnb_gguf_open(path, &g, &err);
    if (st != TNB_OK) {
        /* the message begins with the file's name already */
        tnb_report(tn_diags(ctx), TNB_ERROR, st, (tnb_place){0}, "%s", err.message);
        if (err.hint[0])
            tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
        return st;
    }
    reading r = {.m = &m, .g = g};
    st = read_model(&r) ? checkpoint_finish(&m, opt, out) : TNB_INVALID;
    tnb_gguf_close(g);
    return st;
}
