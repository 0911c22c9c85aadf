/* SPDX-License-Identifier: Apache-2.0 */
/* Folders as transformers writes them: config.json, safetensors, sharded or not. Tensors get GGUF's names by the tables below. */
#include "checkpoint.h"

#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/base/safetensors.h"

/* ---- names ---- */

/* A tensor's name without the suffix; '#' stands for the layer. */
struct name {
    const char *own, *gguf;
    uint32_t flags; /* that the architecture has; the first row that fits counts */
};

static const struct name names[] = {
    {"embed_tokens", "token_embd", 0},
    {"norm", "output_norm", 0},
    {"lm_head", "output", 0},
    {"layers.#.input_layernorm", "attn_norm", 0},
    {"layers.#.self_attn.q_proj", "attn_q", 0},
    {"layers.#.self_attn.k_proj", "attn_k", 0},
    {"layers.#.self_attn.v_proj", "attn_v", 0},
    {"layers.#.self_attn.qkv_proj", "attn_qkv", 0},
    {"layers.#.self_attn.q_norm", "attn_q_norm", 0},
    {"layers.#.self_attn.k_norm", "attn_k_norm", 0},
    {"layers.#.self_attn.o_proj", "attn_output", 0},
    {"layers.#.post_attention_layernorm", "post_attention_norm", CHECKPOINT_POST_NORMS},
    {"layers.#.pre_feedforward_layernorm", "ffn_norm", CHECKPOINT_POST_NORMS},
    {"layers.#.post_feedforward_layernorm", "post_ffw_norm", CHECKPOINT_POST_NORMS},
    {"layers.#.post_attention_layernorm", "ffn_norm", 0},
    {"layers.#.mlp.gate_proj", "ffn_gate", 0},
    {"layers.#.mlp.up_proj", "ffn_up", 0},
    {"layers.#.mlp.gate_up_proj", "ffn_up", 0},
    {"layers.#.mlp.down_proj", "ffn_down", 0},
    /* GPT-2's, whose matrices are turned */
    {"wte", "token_embd", 0},
    {"wpe", "position_embd", 0},
    {"ln_f", "output_norm", 0},
    {"h.#.ln_1", "attn_norm", 0},
    {"h.#.attn.c_attn", "attn_qkv", 0},
    {"h.#.attn.c_proj", "attn_output", 0},
    {"h.#.ln_2", "ffn_norm", 0},
    {"h.#.mlp.c_fc", "ffn_up", 0},
    {"h.#.mlp.c_proj", "ffn_down", 0},
};

/* Whether `name` is the pattern and a suffix behind a point; *layer stays where the pattern has none. */
static bool
matches(const char *pattern, const char *name, int64_t *layer, const char **suffix)
{
    for (; *pattern; pattern++) {
        if (*pattern != '#') {
            if (*name++ != *pattern)
                return false;
            continue;
        }
        int64_t n = 0;
        const char *start = name;
        for (; *name >= '0' && *name <= '9' && n < CHECKPOINT_LAYERS; name++)
            n = n * 10 + (*name - '0');
        if (name == start)
            return false;
        *layer = n;
    }
    *suffix = name + 1;
    return *name == '.' && (strcmp(*suffix, "weight") == 0 || strcmp(*suffix, "bias") == 0);
}

static const char *
skip_prefix(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : name;
}

/* GGUF's name of a tensor; NULL: it is none that models here use. */
static const char *
gguf_name(tn_ctx *ctx, const char *name, uint32_t flags)
{
    const char *suffix;
    name = skip_prefix(name, "transformer.");
    if (flags &
        CHECKPOINT_TEXT_PART) /* language_model.model. before transformers 4.52, model.language_model. since */
        name = skip_prefix(skip_prefix(name, "model.language_model."), "language_model.");
    name = skip_prefix(name, "model.");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t layer = -1;
        if ((flags & names[i].flags) != names[i].flags ||
            !matches(names[i].own, name, &layer, &suffix))
            continue;
        return layer < 0 ? tn_strf(ctx, "%s.%s", names[i].gguf, suffix)
                         : tn_strf(ctx, "blk.%" PRId64 ".%s.%s", layer, names[i].gguf, suffix);
    }
    return NULL;
}

/* Masks and frequencies that older checkpoints keep beside their weights; they follow from the model's numbers. */
static bool
is_table(const char *name)
{
    return tnb_ends_with(name, ".attn.bias") || tnb_ends_with(name, ".attn.masked_bias") ||
           tnb_ends_with(name, "rotary_emb.inv_freq");
}

/* Of the part of a model that knows images. */
static bool
is_of_images(const char *name)
{
    name = skip_prefix(name, "model.");
    return strncmp(name, "vision_tower.", 13) == 0 ||
           strncmp(name, "multi_modal_projector.", 22) == 0;
}

static bool
add_tensors(checkpoint_model *m, const tnb_safetensors *s)
{
    const tnb_safetensor *t;
    checkpoint_file f = {0};
    for (uint32_t i = 0; (f.path = tnb_safetensors_file(s, i, &f.data, &f.bytes, &f.header)); i++) {
        f.path = checkpoint_absolute(m->ctx, f.path);
        TNB_PUSH(tn_arena(m->ctx), m->files, f);
    }
    for (uint32_t i = 0; (t = tnb_safetensors_at(s, i)); i++) {
        const char *name = gguf_name(m->ctx, t->name, m->flags);
        if (is_table(t->name) || (m->flags & CHECKPOINT_TEXT_PART && is_of_images(t->name)))
            continue;
        if (!name || t->ndim > CHECKPOINT_DIMS)
            return checkpoint_unknown(m, t->name);
        checkpoint_tensor own = {
            .name = name,
            .own = tn_str(m->ctx, t->name),
            .dtype = t->dtype,
            .ndim = t->ndim,
            .turned = m->flags & CHECKPOINT_TURNED && strstr(t->name, ".c_") != NULL,
            .file = t->file,
            .offset = t->offset,
            .bytes = t->bytes,
        };
        memcpy(own.shape, t->shape, (size_t)t->ndim * sizeof *t->shape);
        if (tnb_strmap_has(&m->by_name, name))
            return checkpoint_fail(m, t->name, TNB_FORMAT, "the tensor stands there twice");
        checkpoint_add_tensor(m, &own);
    }
    return true;
}

/* ---- numbers ---- */

typedef struct reading {
    checkpoint_model *m;
    const json_t *config, *whole; /* of the text's part, of the file */
    json_t *defaults;             /* of the architecture */
    bool tied;                    /* embeddings are the last matrix, too */
    bool failed;
} reading;

/* The first of two keys that is there and not null, else what the architecture has; `other` may be NULL. A null is an answer, too. */
static const json_t *
find(const reading *r, const char *key, const char *other)
{
    const json_t *v = json_object_get(r->config, key),
                 *w = other ? json_object_get(r->config, other) : NULL;
    if (w && (!v || json_is_null(v)))
        v = w;
    if (!v)
        v = json_object_get(r->defaults, key);
    return v && !json_is_null(v) ? v : NULL;
}

/* `otherwise` below 0: it has to be there. */
static int64_t
number(reading *r, const char *key, const char *other, int64_t otherwise)
{
    const json_t *v = find(r, key, other);
    if (r->failed || (!v && otherwise >= 0))
        return otherwise;
    if (!v || !json_is_integer(v) || json_integer_value(v) < 0) {
        r->failed = true;
        checkpoint_fail(r->m, NULL, TNB_FORMAT,
                        v ? "config.json: '%s' is no count" : "config.json has no '%s'", key);
        return 0;
    }
    return json_integer_value(v);
}

static double
real(reading *r, const char *key, const char *other, double otherwise)
{
    const json_t *v = find(r, key, other);
    if (v && !json_is_number(v) && !r->failed) {
        r->failed = true;
        checkpoint_fail(r->m, NULL, TNB_FORMAT, "config.json: '%s' is no number", key);
    }
    return json_is_number(v) ? json_number_value(v) : otherwise;
}

static bool
is_true(const reading *r, const char *key, bool otherwise)
{
    const json_t *v = find(r, key, NULL);
    return v ? json_is_true(v) : otherwise;
}

static void
unsupported(reading *r, const char *what)
{
    if (!r->failed)
        checkpoint_fail(r->m, NULL, TNB_UNSUPPORTED, "config.json: %s is not supported", what);
    r->failed = true;
}

/* Factors of longrope, those of long texts first, as upstream has them. */
static void
read_factors(reading *r, const json_t *scaling)
{
    static const char *const keys[] = {"long_factor", "short_factor"};
    const size_t half = (size_t)r->m->rotary_dim / 2;
    float *all = TNB_NEW_N(tn_arena(r->m->ctx), float, 2 * half);
    for (int k = 0; k < 2; k++) {
        const json_t *list = json_object_get(scaling, keys[k]);
        if (json_array_size(list) != half) {
            unsupported(r, "a list of RoPE's factors of another length than half of a head");
            return;
        }
        for (size_t i = 0; i < half; i++)
            all[(size_t)k * half + i] = (float)json_number_value(json_array_get(list, i));
    }
    r->m->rope_factors = all;
}

/* The number that yarn multiplies cosines and sines by. */
static double
yarn_amplitude(const json_t *s)
{
    const double factor = json_number_value(json_object_get(s, "factor")),
                 m = json_number_value(json_object_get(s, "mscale")),
                 all = json_number_value(json_object_get(s, "mscale_all_dim"));
    const double step = factor > 1 ? 0.1 * log(factor) : 0;
    return m != 0 && all != 0 ? (m * step + 1) / (all * step + 1) : step + 1;
}

/* Sets numbers that longrope takes from the whole configuration. */
static void
read_longrope(reading *r, json_t *s)
{
    const double context = (double)r->m->context;
    double original =
        real(r, "original_max_position_embeddings", NULL,
             json_number_value(json_object_get(s, "original_max_position_embeddings")));
    double factor = json_number_value(json_object_get(s, "factor"));
    if (!(factor > 0) && original > 0)
        factor = context / original;
    const char *of = original > 0 ? "original_max_position_embeddings" : "max_position_embeddings";
    original = original > 0 ? original : context;
    if (original > INT32_MAX) {
        if (!r->failed)
            checkpoint_fail(r->m, NULL, TNB_BOUNDS,
                            "config.json: '%s' is %g, expected is at most %d", of, original,
                            INT32_MAX);
        r->failed = true;
        return;
    }
    json_object_set_new(s, "rope_type", json_string("longrope"));
    json_object_set_new(s, "original_max_position_embeddings", json_integer((json_int_t)original));
    json_object_set_new(s, "max_position_embeddings", json_integer(r->m->context));
    if (!json_object_get(s, "attention_factor"))
        json_object_set_new(s, "attention_factor",
                            json_real(factor > 1 && original > 1
                                          ? sqrt(1 + log(factor) / log(original))
                                          : 1));
    read_factors(r, s);
    json_object_del(s, "long_factor");
    json_object_del(s, "short_factor");
}

/* One scaling in upstream's form, which is that of config.json with what is implied written down; NULL: none. The caller's. */
static json_t *
one_scaling(reading *r, const json_t *given)
{
    static const char *const known[] = {"linear", "llama3", "yarn", "longrope", "su"};
    const char *kind = json_string_value(json_object_get(given, "rope_type"));
    kind = kind ? kind : json_string_value(json_object_get(given, "type"));
    if (!kind || strcmp(kind, "default") == 0)
        return NULL;
    if (strcmp(kind, "dynamic") == 0) {
        /* frequencies change only beyond the length that the model was trained on; keys in the cache could not follow */
        const double original =
            json_number_value(json_object_get(given, "original_max_position_embeddings"));
        if (original >= 1 && original < (double)r->m->context)
            r->m->context = (int64_t)original;
        return NULL;
    }
    size_t k = 0;
    while (k < sizeof known / sizeof *known && strcmp(known[k], kind) != 0)
        k++;
    if (k == sizeof known / sizeof *known) {
        unsupported(r, tn_strf(r->m->ctx, "rope_scaling of type '%.32s'", kind));
        return NULL;
    }
    json_t *s = json_deep_copy(given);
    const char *key;
    json_t *v;
    void *next;
    json_object_foreach_safe(s, next, key, v) if (json_is_null(v)) json_object_del(s, key);
    json_object_set_new(s, "rope_type", json_string(kind));
    if (k >= 3) {
        read_longrope(r, s);
        return s;
    }
    if (!(json_number_value(json_object_get(s, "factor")) > 0))
        unsupported(r, "rope_scaling without a positive factor");
    if (k && !json_object_get(s, "original_max_position_embeddings"))
        json_object_set_new(s, "original_max_position_embeddings", json_integer(r->m->context));
    if (k == 2 && !json_object_get(s, "attention_factor"))
        json_object_set_new(s, "attention_factor", json_real(yarn_amplitude(s)));
    return s;
}

/* Scalings of layers without and with a window. */
static json_t *
scaling_of_kinds(reading *r, json_t *full, const json_t *local)
{
    static const char key[] = "rope_theta";
    json_t *sliding = json_is_object(local) ? one_scaling(r, local) : NULL, *both = json_object();
    double theta = json_number_value(json_object_get(local, key));
    theta = theta > 0 ? theta : real(r, "rope_local_base_freq", NULL, r->m->rope_theta);
    full = full ? full : json_object();
    sliding = sliding ? sliding : json_object();
    json_object_set_new(full, key, json_real(r->m->rope_theta));
    json_object_set_new(sliding, key, json_real(theta));
    json_object_set_new(both, "full_attention", full);
    json_object_set_new(both, "sliding_attention", sliding);
    return both;
}

static void
read_scaling(reading *r)
{
    checkpoint_model *m = r->m;
    const json_t *given = find(r, "rope_scaling", "rope_parameters"), *local = NULL;
    const bool kinds = json_is_object(json_object_get(given, "full_attention"));
    if (kinds) {
        local = json_object_get(given, "sliding_attention");
        given = json_object_get(given, "full_attention");
    }
    if (json_is_number(json_object_get(given, "rope_theta")))
        m->rope_theta = json_number_value(json_object_get(given, "rope_theta"));
    json_t *s = json_is_object(given) ? one_scaling(r, given) : NULL;
    if (kinds || m->flags & CHECKPOINT_LOCAL_ROPE)
        s = scaling_of_kinds(r, s, local);
    char *text = s ? json_dumps(s, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    m->rope_scaling = text ? tn_str(m->ctx, text) : NULL;
    free(text);
    json_decref(s);
}

/* Layers say whether they have a window; else each so many-th has none (Gemma), or those before max_window_layers (Qwen). */
static void
read_window(reading *r)
{
    checkpoint_model *m = r->m;
    const json_t *kinds = find(r, "layer_types", NULL);
    const bool qwen = find(r, "use_sliding_window", NULL) != NULL;
    m->window = number(r, "sliding_window", NULL, 0);
    if (m->layers < 1 || m->layers > CHECKPOINT_LAYERS)
        return; /* found later */
    if ((qwen && !is_true(r, "use_sliding_window", false)) || m->window >= m->context)
        m->window = 0;
    checkpoint_set_period(m, number(r, "sliding_window_pattern", "_sliding_window_pattern", 0));
    if (!m->window || (!kinds && !qwen))
        return;
    m->full = TNB_NEW_N(tn_arena(m->ctx), bool, m->layers);
    if (kinds && json_array_size(kinds) != (size_t)m->layers)
        unsupported(r, "a list 'layer_types' of another length than 'num_hidden_layers'");
    const int64_t first = kinds ? 0 : number(r, "max_window_layers", NULL, 28);
    for (int64_t i = 0; i < m->layers && !r->failed; i++) {
        const char *kind = json_string_value(json_array_get(kinds, (size_t)i));
        m->full[i] = kinds ? kind && strcmp(kind, "full_attention") == 0 : i < first;
        if (kinds && !m->full[i] && (!kind || strcmp(kind, "sliding_attention") != 0))
            unsupported(r, tn_strf(m->ctx, "a layer of the type '%.32s'", kind ? kind : "?"));
    }
}

static void
read_activation(reading *r)
{
    const json_t *v = find(r, "hidden_activation", "hidden_act");
    const char *name = json_string_value(v ? v : find(r, "activation_function", NULL));
    if (!name)
        return;
    r->m->flags &= ~(uint32_t)CHECKPOINT_GELU;
    if (strcmp(name, "gelu_new") == 0 || strcmp(name, "gelu_pytorch_tanh") == 0 ||
        /* Gemma's older files say gelu and mean this */
        (strcmp(name, "gelu") == 0 && r->m->flags & CHECKPOINT_SCALED_EMBED))
        r->m->flags |= CHECKPOINT_GELU;
    else if (strcmp(name, "silu") != 0 && strcmp(name, "swish") != 0)
        unsupported(r, tn_strf(r->m->ctx, "the activation '%.32s'", name));
}

static void
read_numbers(reading *r)
{
    checkpoint_model *m = r->m;
    m->layers = number(r, "num_hidden_layers", "n_layer", -1);
    m->hidden = number(r, "hidden_size", "n_embd", -1);
    m->heads = number(r, "num_attention_heads", "n_head", -1);
    m->kv_heads = number(r, "num_key_value_heads", NULL, 0);
    m->head_dim = number(r, "head_dim", NULL, 0);
    m->vocabulary = number(r, "vocab_size", NULL, -1);
    m->intermediate =
        number(r, "intermediate_size", "n_inner",
               m->flags & CHECKPOINT_TURNED && m->hidden <= CHECKPOINT_EXTENT ? 4 * m->hidden : -1);
    m->context = number(r, "max_position_embeddings", "n_positions", 2048);
    m->epsilon = real(r, "rms_norm_eps", "layer_norm_epsilon", 1e-5);
    m->rope_theta = real(r, "rope_theta", NULL, 10000);
    m->score_cap = real(r, "attn_logit_softcapping", NULL, 0);
    m->logit_cap = real(r, "final_logit_softcapping", NULL, 0);
    const double scalar = real(r, "query_pre_attn_scalar", NULL, 0);
    if (scalar < 0 || (find(r, "query_pre_attn_scalar", NULL) && !(scalar > 0)))
        unsupported(r, "a query_pre_attn_scalar that is not positive");
    m->score_scale = scalar > 0 ? 1 / sqrt(scalar) : 0;
    if (is_true(r, "use_bidirectional_attention", false))
        unsupported(r, "attention that sees what follows");
    if (is_true(r, "scale_attn_by_inverse_layer_idx", false) ||
        !is_true(r, "scale_attn_weights", true))
        unsupported(r, "another scale of scores in each layer, or none");
    r->tied = is_true(r, "tie_word_embeddings",
                      m->flags & (CHECKPOINT_SCALED_EMBED | CHECKPOINT_POSITIONS));
    const json_t *rope = find(r, "rope_parameters", NULL);
    double part = real(r, "partial_rotary_factor", NULL, 1);
    if (json_is_number(json_object_get(rope, "partial_rotary_factor")))
        part = json_number_value(json_object_get(rope, "partial_rotary_factor"));
    int64_t dim = m->head_dim ? m->head_dim : m->heads ? m->hidden / m->heads : 0;
    m->rotary_dim = part > 0 && part < 1 ? (int64_t)((double)dim * part) : dim;
    read_window(r);
    read_activation(r);
    if (!r->failed && dim > 0 && dim <= 1 << 16)
        read_scaling(r);
}

/* Embeddings take the place of the last matrix only where config.json says so. */
static bool
check_last_matrix(const reading *r)
{
    checkpoint_model *m = r->m;
    if (r->tied || checkpoint_find(m, -1, "output", "weight"))
        return true;
    checkpoint_fail(m, NULL, TNB_NOT_FOUND, "the checkpoint lacks the tensor 'lm_head.weight'");
    tnb_diag_hint(tn_diags(m->ctx), "where the embeddings are meant to serve for it, set "
                                    "\"tie_word_embeddings\": true in config.json");
    return false;
}

/* ---- the folder ---- */

/* generation_config.json: more ids that end a text, and how tokens are drawn. As transformers has it: nothing is drawn without
 * "do_sample", and where it is set, what is left out is its own default. */
static bool
read_generation(checkpoint_model *m, const char *folder)
{
    static const struct {
        const char *key;
        double least, most;
        bool above; /* the least itself is not meant */
        double usual;
    } keys[] = {{"temperature", 0, DBL_MAX, false, 1},
                {"top_k", 0, INT32_MAX, false, 50},
                {"top_p", 0, 1, true, 1},
                {"min_p", 0, 1, false, 0},
                {"repetition_penalty", 0, DBL_MAX, true, 1}};
    enum { PENALTY = 4 }; /* counts where nothing is drawn, too */
    json_t *c = checkpoint_load(m, folder, "generation_config.json", false);
    tn_ctx *ctx = m->ctx;
    checkpoint_add_stops(m, json_object_get(c, "eos_token_id"));
    const bool draws = json_is_true(json_object_get(c, "do_sample"));
    const tn_node *d = tn_dictv(ctx, NULL);
    bool ok = true, set = false;
    for (size_t i = draws ? 0 : PENALTY; c && ok && i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = json_object_get(c, keys[i].key);
        const double x = json_is_number(v) ? json_number_value(v) : keys[i].usual;
        ok = x <= keys[i].most && (keys[i].above ? x > keys[i].least : x >= keys[i].least);
        if (!ok)
            checkpoint_fail(m, NULL, TNB_BOUNDS,
                            "generation_config.json: '%s' is %g, expected is a number %s %g%s",
                            keys[i].key, x, keys[i].above ? "above" : "from", keys[i].least,
                            keys[i].most == 1 ? " to 1" : "");
        else if (x != keys[i].usual || i < 2) {
            d = tn_dict_set(ctx, d, keys[i].key, tn_float_imm_of(ctx, TNB_F64, x));
            set = true;
        }
    }
    m->generation = set ? d : NULL;
    json_decref(c);
    return ok;
}

static bool
read_config(reading *r, const char *folder)
{
    checkpoint_model *m = r->m;
    r->config = r->whole;
    const char *kind = json_string_value(json_object_get(r->config, "model_type"));
    if (!kind)
        return checkpoint_fail(m, NULL, TNB_FORMAT, "config.json has no 'model_type'");
    m->architecture = checkpoint_find_architecture(m, kind, true);
    if (!m->architecture)
        return false;
    if (m->flags & CHECKPOINT_TEXT_PART) {
        r->config = json_object_get(r->whole, "text_config");
        if (!json_is_object(r->config))
            return checkpoint_fail(m, NULL, TNB_FORMAT, "config.json has no 'text_config'");
    }
    const char *defaults = m->architecture->defaults;
    r->defaults = defaults ? json_loads(defaults, 0, NULL) : NULL;
    read_numbers(r);
    if (r->failed)
        return false;
    m->bos = number(r, "bos_token_id", NULL, 0);
    m->bos = find(r, "bos_token_id", NULL) && m->bos < m->vocabulary ? m->bos : -1;
    checkpoint_add_stops(m, find(r, "eos_token_id", NULL));
    checkpoint_add_stops(m, json_object_get(r->whole, "eos_token_id"));
    if (!read_generation(m, folder))
        return false;
    m->tokenizer_format = "huggingface";
    m->tokenizer_path = checkpoint_absolute(m->ctx, folder);
    return !r->failed;
}

tnb_status
checkpoint_import_huggingface(void *self, tn_ctx *ctx, const char *path,
                              const tnk_import_options *opt, tnk_model *out)
{
    (void)self;
    checkpoint_model m;
    tnb_err err = {0};
    tnb_safetensors *s = NULL;
    struct stat info;
    checkpoint_start(&m, ctx, path);
    /* a file of the folder stands for it */
    const char *folder =
        stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? path : tnb_path_dir(tn_arena(ctx), path);
    json_t *config = checkpoint_load(&m, folder, "config.json", true);
    if (!config)
        return TNB_INVALID;
    reading r = {.m = &m, .whole = config};
    tnb_status st = read_config(&r, folder) ? TNB_OK : TNB_INVALID;
    json_decref(config);
    json_decref(r.defaults);
    if (st == TNB_OK && (st = tnb_safetensors_open(folder, &s, &err)) != TNB_OK) {
        tnb_report(tn_diags(ctx), TNB_ERROR, st, (tnb_place){0}, "%s", err.message);
        if (err.hint[0])
            tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
    }
    if (st == TNB_OK)
        st = add_tensors(&m, s) && check_last_matrix(&r) ? checkpoint_finish(&m, opt, out)
                                                         : TNB_INVALID;
    tnb_safetensors_close(s);
    return st;
}
