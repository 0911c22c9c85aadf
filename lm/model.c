/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled language model: functions, weights, cache. */
#include "config.h"
#include "tenon/lm/generate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/rt/kv.h"
#include "tenon/rt/params.h"

enum { CHUNK = 512, PAGE = 16, MOST_STOPS = 64, LARGEST_CACHE = 1 << 30 };

typedef struct sequence {
    int64_t id, length;
    struct sequence *next;
} sequence;

struct tnl_model {
    tnr_vm *vm;
    const tnr_artifact *artifact;
    tnl_tokenizer *tokenizer;
    tnr_value weights, cache;
    tnl_model_facts facts;
    int32_t stop[MOST_STOPS];
    int64_t chunk;
    int64_t sinks; /* first tokens that stay when a window moves on */
    sequence *sequences;
};

/* ---- what the artifact says ---- */
static int64_t
count_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) && json_integer_value(v) > 0 ? json_integer_value(v) : 0;
}

static void
add_stop(tnl_model *m, json_int_t id)
{
    if (id < 0 || id > INT32_MAX || m->facts.n_stop == MOST_STOPS ||
        tnl_model_stops(m, (int32_t)id))
        return;
    m->stop[m->facts.n_stop++] = (int32_t)id;
}

/* ---- the tokenizer ---- */
/* Of a folder the tokenizer's files, which may also lie in `dir` itself. NULL: not there, or no memory. */
static const char *
tokenizer_in(tnb_arena *a, const char *dir, const char *recorded, const char *format)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer.model"};
    for (int i = 0; i < 2 && strcmp(format, "huggingface") == 0; i++)
        if (access(tnb_path_join(a, dir, names[i]), F_OK) == 0)
            return dir;
    const char *path = tnb_path_join(a, dir, tnb_path_name(recorded));
    return access(path, F_OK) == 0 ? path : NULL;
}

/* The tokenizer among files of weights that are elsewhere; a GGUF file may have another name there. */
static const char *
tokenizer_with(tnb_arena *a, const char *weights, const char *recorded, const char *format)
{
    struct stat st;
    if (stat(weights, &st) != 0)
        return NULL;
    if (S_ISDIR(st.st_mode))
        return tokenizer_in(a, weights, recorded, format);
    return strcmp(format, "gguf") == 0
               ? weights
               : tokenizer_in(a, tnb_path_dir(a, weights), recorded, format);
}

/* Where it was when the model was compiled, else with the weights, else beside the artifact. */
static tnb_status
find_tokenizer(const tnl_model *m, tnb_arena *a, const json_t *tokenizer, const char *weights,
               const char **out, tnb_err *err)
{
    const char *recorded = json_string_value(json_object_get(tokenizer, "path")),
               *format = json_string_value(json_object_get(tokenizer, "format")),
               *beside = tnb_path_dir(a, tnr_artifact_name(m->artifact));
    if (!recorded || !format) {
        tnb_fail(err, TNB_UNSUPPORTED, "the artifact does not say where the model's tokenizer is");
        tnb_hint(err, "name its file with --tokenizer");
        return TNB_UNSUPPORTED;
    }
    *out = access(recorded, F_OK) == 0 ? recorded : NULL;
    if (!*out && weights)
        *out = tokenizer_with(a, weights, recorded, format);
    if (!*out)
        *out = tokenizer_in(a, beside, recorded, format);
    if (*out)
        return TNB_OK;
    tnb_fail(err, TNB_NOT_FOUND, "the tokenizer is neither at %s nor in the folder %s", recorded,
             beside);
    tnb_hint(err, "put its file there, or name it with --tokenizer");
    return TNB_NOT_FOUND;
}

static tnb_status
open_tokenizer(tnl_model *m, const json_t *model, const tnl_model_options *o, tnb_err *err)
{
    const char *path = o->tokenizer;
    if (m->tokenizer) /* which the caller has opened */
        return TNB_OK;
    tnb_arena *a = tnb_arena_new();
    tnb_status st = a ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for a tokenizer");
    if (st == TNB_OK && !path)
        st = find_tokenizer(m, a, json_object_get(model, "tokenizer"), o->weights, &path, err);
    if (st == TNB_OK)
        st = tnl_tokenizer_open(path, &m->tokenizer, err);
    tnb_arena_free(a);
    return st;
}

/* Whether the entry is another one's weight in another layout. */
static bool
is_interleaved(const json_t *weight)
{
    const char *kind =
        json_string_value(json_object_get(json_object_get(weight, "transform"), "kind"));
    return kind && strcmp(kind, "interleave_rows") == 0;
}

/* Numbers that nobody can draw with are found when the model is opened. */
static tnb_status
read_sampling(tnl_model *m, const json_t *g, tnb_err *err)
{
    tnl_sampling *s = &m->facts.sampling;
    const double k = json_number_value(json_object_get(g, "top_k"));
    *s = (tnl_sampling){.size = sizeof *s,
                        .top_k = k >= 0 && k <= INT32_MAX ? (int32_t)k : -1,
                        .temperature = json_number_value(json_object_get(g, "temperature")),
                        .top_p = json_number_value(json_object_get(g, "top_p")),
                        .min_p = json_number_value(json_object_get(g, "min_p")),
                        .repetition = json_number_value(json_object_get(g, "repetition_penalty"))};
    tnl_sampler *try;
    tnb_status st = tnl_sampler_new(s, 1, &try, err);
    if (st == TNB_OK)
        tnl_sampler_free(try);
    else
        tnb_err_prefix(err, "the artifact's 'generation'");
    return st;
}

static tnb_status
read_facts(tnl_model *m, const json_t *root, const tnl_model_options *o, tnb_err *err)
{
    const json_t *model = json_object_get(json_object_get(root, "attrs"), "model"), *v;
    size_t i;
    m->facts.stop = m->stop;
    m->facts.context = count_of(model, "context_length");
    m->facts.window = count_of(model, "sliding_window");
    m->sinks = count_of(model, "attention_sinks");
    m->facts.vocabulary = count_of(model, "vocab_size");
    json_array_foreach(json_object_get(model, "stop_token_ids"), i, v)
        add_stop(m, json_is_integer(v) ? json_integer_value(v) : -1);
    json_array_foreach(json_object_get(json_object_get(json_object_get(root, "attrs"), "params"),
                                       "list"),
                       i, v) if (!is_interleaved(v)) m->facts.weight_bytes +=
        (uint64_t)count_of(v, "bytes");
    TNB_TRY(read_sampling(m, json_object_get(model, "generation"), err));
    TNB_TRY(open_tokenizer(m, model, o, err));
    add_stop(m, tnl_meaning_token(m->tokenizer, TNL_END_OF_TEXT));
    return TNB_OK;
}

/* Vocabularies are filled up to multiples of some number, and texts may have marks that the model does not know: they need not be of one
 * size. A tokenizer of another model is of another order. */
static tnb_status
check_vocabulary(const tnl_model *m, const tnl_model_options *o, tnb_err *err)
{
    const int64_t model = m->facts.vocabulary, tokens = tnl_token_count(m->tokenizer),
                  allowed = model / 32 > 256 ? model / 32 : 256;
    if (tokens <= model + allowed && tokens >= model - allowed)
        return TNB_OK;
    tnb_fail(err, TNB_DIFFERS,
             "the tokenizer is another model's: it has %lld tokens, the model's vocabulary %lld",
             (long long)tokens, (long long)model);
    tnb_hint(err, o->tokenizer ? "leave --tokenizer out for the model's own"
                               : "name the model's own with --tokenizer");
    return TNB_DIFFERS;
}

static const char create_recurrent[] = "create_rnn_state";

static tnb_status
check_functions(const tnr_artifact *a, const char **create, tnb_err *err)
{
    static const char *const needed[] = {"embed", "prefill", "decode"};
    static const char *const creates[] = {"create_paged_kv_cache", "create_tir_paged_kv_cache",
                                          create_recurrent};
    for (int i = 0; i < 3 && !*create; i++)
        *create = tnr_artifact_function(a, creates[i]) ? creates[i] : NULL;
    const char *lacks = *create ? NULL : creates[0];
    for (int i = 0; i < 3 && !lacks; i++)
        lacks = tnr_artifact_function(a, needed[i]) ? NULL : needed[i];
    if (!lacks)
        return TNB_OK;
    tnb_fail(err, TNB_UNSUPPORTED, "this is no language model: it has no function '%s'", lacks);
    tnb_hint(err, "'tenon run' calls models of other kinds");
    return TNB_UNSUPPORTED;
}

/* ---- making ---- */
/* Memory that does not grow with the text. One state of before is kept, for a step that fails. */
static tnb_status
make_state(tnl_model *m, const tnl_model_options *o, tnb_err *err)
{
    const int64_t sizes[] = {o->sequences ? o->sequences : 1, 2};
    tnr_value args[2] = {{0}};
    tnb_status st = TNB_OK;
    for (int i = 0; i < 2 && st == TNB_OK; i++)
        st = tnr_shape_new(&sizes[i], 1, &args[i], err);
    if (st == TNB_OK)
        st = tnr_vm_call(m->vm, create_recurrent, args, 2, &m->cache, err);
    for (int i = 0; i < 2; i++)
        tnr_release(&args[i]);
    m->facts.window = 0;
    m->facts.cache_tokens = o->tokens ? o->tokens : LARGEST_CACHE;
    return st;
}

static tnb_status
make_cache(tnl_model *m, const char *create, const tnl_model_options *o, tnb_err *err)
{
    int64_t sequences = o->sequences ? o->sequences : 1;
    uint64_t tokens = o->tokens;
    uint64_t most = 0;
    if (!tnb_mul_u64((uint64_t)sequences, (uint64_t)m->facts.context, &most))
        most = UINT64_MAX;
    tokens = tokens ? tokens : most ? most : 2048;
    tokens = most && most < tokens ? most : tokens;
    if (tokens > LARGEST_CACHE)
        return tnb_fail(err, TNB_BOUNDS, "a cache of %llu tokens is too large (limit: %d)",
                        (unsigned long long)tokens, LARGEST_CACHE);
    /* each sequence may leave a page half full */
    const uint64_t room = (tokens + PAGE - 1) / PAGE * PAGE + (uint64_t)(sequences - 1) * PAGE;
    m->chunk = m->chunk < (int64_t)room ? m->chunk : (int64_t)room;
    const int64_t sizes[] = {sequences, (int64_t)room, m->chunk, PAGE,
                             m->facts.window > 0 && m->facts.window < (int64_t)tokens};
    tnr_value args[5] = {{0}};
    tnb_status st = TNB_OK;
    for (int i = 0; i < 5 && st == TNB_OK; i++)
        st = tnr_shape_new(&sizes[i], 1, &args[i], err);
    if (st == TNB_OK)
        st = tnr_vm_call(m->vm, create, args, 5, &m->cache, err);
    for (int i = 0; i < 5; i++)
        tnr_release(&args[i]);
    m->facts.cache_tokens = tokens;
    return st;
}

static tnb_status
fill(tnl_model *m, const tnl_model_options *o, tnb_err *err)
{
    const char *create = NULL, *metadata = tnr_artifact_metadata(m->artifact);
    json_t *root;
    TNB_TRY(check_functions(m->artifact, &create, err));
    TNB_TRY(tnb_json_parse(metadata, strlen(metadata), 0, &root, err));
    tnb_status st = read_facts(m, root, o, err);
    json_decref(root);
    if (st != TNB_OK)
        return st;
    const tnr_signature *decode = tnr_artifact_function(m->artifact, "decode");
    const tnr_io *logits = decode->n_results ? &decode->results[0] : NULL;
    if (!m->facts.vocabulary && logits && logits->ndim > 0 && logits->dims)
        m->facts.vocabulary = logits->dims[logits->ndim - 1];
    if (m->facts.vocabulary <= 0 || m->facts.vocabulary > INT32_MAX)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "the artifact does not say how many tokens the model knows");
    TNB_TRY(check_vocabulary(m, o, err));
    if (o->weights && !tnr_params_count(m->artifact))
        return tnb_fail(
            err, TNB_INVALID,
            "tnl_model_options: weights is '%s', but the artifact has its weights itself",
            o->weights);
    if (tnr_params_count(m->artifact)) {
        const tnr_params_options p = {.size = sizeof p,
                                      .path = o->weights,
                                      .no_cache = o->no_cache,
                                      .progress = o->progress,
                                      .user = o->user,
                                      .just_compiled = o->just_compiled};
        TNB_TRY(tnr_params_open(m->vm, &p, &m->weights, err));
    }
    TNB_TRY(create == create_recurrent ? make_state(m, o, err) : make_cache(m, create, o, err));
    tnr_kv_info info = {.size = sizeof info};
    TNB_TRY(tnr_kv_describe(m->cache, &info, err));
    m->facts.cache_bytes = info.bytes;
    return TNB_OK;
}

tnb_status
tnl_model_open(tnr_vm *vm, const tnr_artifact *a, const tnl_model_options *opt, tnl_model **out,
               tnb_err *err)
{
    tnl_model_options o = {0};
    if (opt && opt->size && opt->size != sizeof *opt)
        return tnb_fail(err, TNB_ABI, "tnl_model_options has %u bytes here, not %u",
                        (unsigned)sizeof o, opt->size);
    if (opt)
        o = *opt;
    tnl_model *m = NULL;
    tnb_status st = TNB_OK;
    if (!vm || !a || !out)
        st = tnb_fail(err, TNB_INVALID, "tnl_model_open: %s is NULL",
                      !vm  ? "the machine"
                      : !a ? "the artifact"
                           : "out");
    else if (o.sequences > 65536)
        st = tnb_fail(err, TNB_INVALID, "%u sequences are too many (limit: 65536)", o.sequences);
    else if (!(m = calloc(1, sizeof *m)))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory for a model");
    if (!m) {
        tnl_tokenizer_free(o.opened);
        return st;
    }
    m->vm = vm;
    m->artifact = a;
    m->tokenizer = o.opened;
    m->chunk = o.chunk ? o.chunk : CHUNK;
    st = fill(m, &o, err);
    if (st != TNB_OK) {
        tnl_model_free(m);
        return st;
    }
    *out = m;
    return TNB_OK;
}

void
tnl_model_free(tnl_model *m)
{
    if (!m)
        return;
    for (sequence *s = m->sequences, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    tnr_release(&m->cache);
    tnr_release(&m->weights);
    tnl_tokenizer_free(m->tokenizer);
    free(m);
}

const tnl_tokenizer *
tnl_model_tokenizer(const tnl_model *m)
{
    return m ? m->tokenizer : NULL;
}

const tnl_model_facts *
tnl_model_facts_of(const tnl_model *m)
{
    return m ? &m->facts : NULL;
}

bool
tnl_model_stops(const tnl_model *m, int32_t token)
{
    for (uint32_t i = 0; m && i < m->facts.n_stop; i++)
        if (m->stop[i] == token)
            return true;
    return false;
}

/* ---- sequences ---- */
static sequence *
find(const tnl_model *m, int64_t id)
{
    sequence *s = m->sequences;
    while (s && s->id != id)
        s = s->next;
    return s;
}

int64_t
tnl_model_length(const tnl_model *m, int64_t id)
{
    const sequence *s = m ? find(m, id) : NULL;
    return s ? s->length : 0;
}

static tnb_status
begin(tnl_model *m, int64_t id, sequence **out, tnb_err *err)
{
    if ((*out = find(m, id)))
        return TNB_OK;
    sequence *s = calloc(1, sizeof *s);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a sequence");
    tnb_status st = tnr_kv_add_sequence(m->vm, m->cache, id, err);
    if (st == TNB_OK && m->facts.window > 0 && m->facts.window < (int64_t)m->facts.cache_tokens)
        st = tnr_kv_set_window(m->vm, m->cache, id, m->facts.window, m->sinks, err);
    if (st != TNB_OK) {
        free(s);
        return st;
    }
    s->id = id;
    s->next = m->sequences;
    *out = m->sequences = s;
    return TNB_OK;
}

tnb_status
tnl_model_cut(tnl_model *m, int64_t id, int64_t length, tnb_err *err)
{
    sequence *s = m ? find(m, id) : NULL;
    if (!m || length < 0)
        return tnb_fail(err, TNB_INVALID, "tnl_model_cut: %s",
                        !m ? "the model is NULL" : "the length is negative");
    if (!s || length >= s->length)
        return TNB_OK;
    if (length) {
        TNB_TRY(tnr_kv_popn(m->vm, m->cache, id, s->length - length, err));
        s->length = length;
        return TNB_OK;
    }
    TNB_TRY(tnr_kv_remove_sequence(m->vm, m->cache, id, err));
    sequence **p = &m->sequences;
    while (*p != s)
        p = &(*p)->next;
    *p = s->next;
    free(s);
    return TNB_OK;
}

/* ---- steps ---- */
/* Calls a function with the weights behind its inputs. */
static tnb_status
call(tnl_model *m, const char *name, tnr_value a, tnr_value b, uint32_t n, tnr_value *ret,
     tnb_err *err)
{
    const tnr_signature *sig = tnr_artifact_function(m->artifact, name);
    tnr_value args[3] = {a, b};
    if (sig->n_params > sig->n_inputs && m->weights.tag != TNR_NULL)
        args[n++] = m->weights;
    return tnr_vm_call(m->vm, name, args, n, ret, err);
}

/* The function of the layers for n tokens behind others or not. Where a model has one of its own for those that follow others (latent
 * attention), `prefill` sees none of them. */
static const char *
function_for(const tnl_model *m, int64_t n, bool behind)
{
    if (n == 1)
        return "decode";
    return behind && tnr_artifact_function(m->artifact, "extend") ? "extend" : "prefill";
}

/* One chunk: its embeddings, then the layers. */
static tnb_status
step(tnl_model *m, const int32_t *ids, int64_t n, bool behind, tnr_value *ret, tnb_err *err)
{
    tnr_value tokens = tnr_null(), rows = tnr_null(), batch = tnr_null();
    tnb_status st = tnr_tensor_from(tnr_vm_device(m->vm), ids, &n, 1, TNB_I32, &tokens, err);
    if (st == TNB_OK)
        st = call(m, "embed", tokens, tnr_null(), 1, &rows, err);
    if (st == TNB_OK && (rows.tag != TNR_TENSOR || rows.u.tensor->dl.ndim != 2))
        st = tnb_fail(err, TNB_TYPE,
                      "the model's function 'embed' gives no tensor of two dimensions");
    if (st == TNB_OK) {
        const int64_t dims[] = {1, rows.u.tensor->dl.shape[0], rows.u.tensor->dl.shape[1]};
        st = tnr_tensor_reshape(rows.u.tensor, dims, 3, &batch, err);
    }
    if (st == TNB_OK)
        st = call(m, function_for(m, n, behind), batch, m->cache, 2, ret, err);
    tnr_release(&tokens);
    tnr_release(&rows);
    tnr_release(&batch);
    return st;
}

static tnb_status
take_logits(const tnl_model *m, const tnr_value *ret, float *logits, tnb_err *err)
{
    const tnr_tuple *t = ret->tag == TNR_TUPLE ? ret->u.tuple : NULL;
    if (!t || !t->n || t->items[0].tag != TNR_TENSOR)
        return tnb_fail(err, TNB_TYPE, "the model gives no tuple with logits");
    const tnr_tensor *x = t->items[0].u.tensor;
    if (x->n_elems != (uint64_t)m->facts.vocabulary || x->n_bytes != x->n_elems * sizeof *logits ||
        x->dl.dtype.code != TNB_FLOAT)
        return tnb_fail(err, TNB_SHAPE, "the model gives %llu logits of %s, not %lld of float32",
                        (unsigned long long)x->n_elems, tnb_dtype_print(x->dl.dtype).s,
                        (long long)m->facts.vocabulary);
    return tnr_tensor_read(x, logits, x->n_bytes, err);
}

static tnb_status
check_room(const tnl_model *m, int64_t id, const int32_t *ids, size_t n, tnb_err *err)
{
    uint64_t has = (uint64_t)tnl_model_length(m, id), most = m->facts.cache_tokens;
    bool model = m->facts.context && (uint64_t)m->facts.context <= most;
    most = model ? (uint64_t)m->facts.context : most;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= m->facts.vocabulary)
            return tnb_fail(err, TNB_BOUNDS,
                            "token %d (number %zu) is not in the model's vocabulary of %lld",
                            ids[i], i, (long long)m->facts.vocabulary);
    if (n <= most && has <= most - n)
        return TNB_OK;
    char behind[32] = "";
    if (has)
        snprintf(behind, sizeof behind, " behind %llu", (unsigned long long)has);
    tnb_fail(err, TNB_BOUNDS, "%zu tokens%s are more than the %s %llu", n, behind,
             model ? "model's context of" : "cache has room for:", (unsigned long long)most);
    tnb_hint(err, model ? "shorten the text: nothing is cut silently"
                        : "make the cache larger with --context");
    return TNB_BOUNDS;
}

tnb_status
tnl_model_append(tnl_model *m, int64_t id, const int32_t *ids, size_t n, float *logits,
                 tnb_err *err)
{
    sequence *s;
    if (!m || !ids || !n || id < 0)
        return tnb_fail(err, TNB_INVALID, "tnl_model_append: %s",
                        !m           ? "the model is NULL"
                        : !ids || !n ? "there are no tokens"
                                     : "the sequence's number is negative");
    TNB_TRY(check_room(m, id, ids, n, err));
    TNB_TRY(begin(m, id, &s, err));
    for (size_t at = 0; at < n;) {
        int64_t length = (int64_t)(n - at) < m->chunk ? (int64_t)(n - at) : m->chunk;
        tnr_value ret = tnr_null();
        TNB_TRY(tnr_kv_begin_forward(m->vm, m->cache, &id, &length, 1, err));
        tnb_status st = step(m, ids + at, length, s->length > 0, &ret, err);
        at += (size_t)length;
        if (st == TNB_OK && at == n && logits)
            st = take_logits(m, &ret, logits, err);
        tnr_release(&ret);
        if (st == TNB_OK)
            st = tnr_kv_end_forward(m->vm, m->cache, err);
        else if (tnr_kv_cancel_forward(m->vm, m->cache, NULL) != TNB_OK)
            tnb_err_prefix(err, "the cache is lost");
        if (st != TNB_OK)
            return st;
        s->length += length;
    }
    return TNB_OK;
}
