/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer.json of Hugging Face's `tokenizers`, and tokenizer_config.json of transformers. */
#include "tokenizer.h"

#include <jansson.h>

#include "tenon/base/json.h"

static const char *
text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static bool
flag_of(const json_t *o, const char *key, bool otherwise)
{
    const json_t *v = json_object_get(o, key);
    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

static tnl_text
kept(tnl_tokenizer *t, const json_t *v)
{
    return json_is_string(v) ? tnl_keep(t, json_string_value(v), json_string_length(v))
                             : (tnl_text){"", 0};
}

static tnb_status
lacks(const char *what, const char *type, tnb_err *err)
{
    tnb_fail(err, TNB_UNSUPPORTED, "%s '%s' is not among those that Tenon has", what,
             type ? type : "without a type");
    tnb_hint(err, "a tokenizer.model or GGUF file of the same model may do");
    return TNB_UNSUPPORTED;
}

/* {"String": "..."} or {"Regex": "..."}, or a text */
static tnb_status
pattern_of(tnl_tokenizer *t, const json_t *o, tnl_text *text, struct pcre2_real_code_8 **regex,
           tnb_err *err)
{
    const json_t *p = json_object_get(o, "pattern"), *re = json_object_get(p, "Regex");
    if (json_is_string(re))
        return tnl_regex(t, json_string_value(re), json_string_length(re), regex, err);
    *text = kept(t, json_is_string(p) ? p : json_object_get(p, "String"));
    return text->n ? TNB_OK
                   : tnb_fail(err, TNB_FORMAT, "a step of type '%s' has no pattern",
                              text_of(o, "type"));
}

static size_t
base64(const char *s, size_t n, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t put = 0;
    uint32_t bits = 0, have = 0;
    for (size_t i = 0; i < n; i++) {
        const char *d = s[i] ? strchr(digits, s[i]) : NULL;
        if (!d)
            continue;
        bits = bits << 6 | (uint32_t)(d - digits);
        if ((have += 6) >= 8)
            out[put++] = (char)(bits >> (have -= 8));
    }
    return put;
}

/* The steps of a sequence. */
static tnb_status
read_each(tnl_tokenizer *t, const json_t *steps,
          tnb_status (*read)(tnl_tokenizer *t, const json_t *o, tnb_err *err), tnb_err *err)
{
    size_t i;
    const json_t *v;
    json_array_foreach(steps, i, v) TNB_TRY(read(t, v, err));
    return TNB_OK;
}

/* ---- normalizers ---- */
static tnb_status
read_normalizer(tnl_tokenizer *t, const json_t *o, tnb_err *err)
{
    static const struct {
        const char *type;
        tnl_normal kind;
    } simple[] = {{"NFC", TNL_NFC},
                  {"NFD", TNL_NFD},
                  {"NFKC", TNL_NFKC},
                  {"NFKD", TNL_NFKD},
                  {"Lowercase", TNL_LOWERCASE},
                  {"StripAccents", TNL_STRIP_ACCENTS},
                  {"ByteLevel", TNL_BYTE_LETTERS}};
    const char *type = text_of(o, "type");
    if (!o || json_is_null(o))
        return TNB_OK;
    for (size_t i = 0; type && i < sizeof simple / sizeof *simple; i++)
        if (strcmp(type, simple[i].type) == 0) {
            tnl_add_normalizer(t, simple[i].kind);
            return TNB_OK;
        }
    if (type && strcmp(type, "Sequence") == 0)
        return read_each(t, json_object_get(o, "normalizers"), read_normalizer, err);
    if (type && strcmp(type, "Prepend") == 0) {
        tnl_add_normalizer(t, TNL_PREPEND)->content = kept(t, json_object_get(o, "prepend"));
        return TNB_OK;
    }
    if (type && strcmp(type, "Strip") == 0) {
        tnl_normalizer *z = tnl_add_normalizer(t, TNL_STRIP);
        z->left = flag_of(o, "strip_left", true);
        z->right = flag_of(o, "strip_right", true);
        return TNB_OK;
    }
    if (type && strcmp(type, "Replace") == 0) {
        tnl_normalizer *z = tnl_add_normalizer(t, TNL_REPLACE);
        z->content = kept(t, json_object_get(o, "content"));
        return pattern_of(t, o, &z->pattern, &z->regex, err);
    }
    if (type && strcmp(type, "Precompiled") == 0) {
        const json_t *v = json_object_get(o, "precompiled_charsmap");
        char *bytes = tnb_try_alloc_n(t->arena, json_string_length(v) + 1, 1);
        if (!bytes)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a table of characters");
        size_t n =
            json_is_string(v) ? base64(json_string_value(v), json_string_length(v), bytes) : 0;
        if (n && !tnl_charsmap_open(bytes, n, t->arena, &tnl_add_normalizer(t, TNL_CHARSMAP)->map))
            return tnb_fail(err, TNB_FORMAT, "the normalizer's precompiled_charsmap is damaged");
        return TNB_OK;
    }
    return lacks("the normalizer", type, err);
}

/* ---- pre-tokenizers ---- */
static tnb_status
behavior_of(const json_t *o, tnl_behavior *out, tnb_err *err)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    const char *s = text_of(o, "behavior");
    for (int i = 0; s && i < 5; i++)
        if (strcmp(s, names[i]) == 0) {
            *out = (tnl_behavior)i;
            return TNB_OK;
        }
    return tnb_fail(err, TNB_FORMAT, "a pre-tokenizer's behavior is '%s'", s ? s : "");
}

static const char gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static tnb_status
read_splitter(tnl_tokenizer *t, const json_t *o, tnb_err *err)
{
    const char *type = text_of(o, "type");
    if (!o || json_is_null(o))
        return TNB_OK;
    if (type && strcmp(type, "Sequence") == 0)
        return read_each(t, json_object_get(o, "pretokenizers"), read_splitter, err);
    if (type && strcmp(type, "ByteLevel") == 0) {
        tnl_splitter *p = tnl_add_splitter(t, TNL_BYTE_LEVEL);
        p->prefix_space = flag_of(o, "add_prefix_space", true);
        return flag_of(o, "use_regex", true) ? tnl_regex(t, gpt2, sizeof gpt2 - 1, &p->regex, err)
                                             : TNB_OK;
    }
    if (type && strcmp(type, "Split") == 0) {
        tnl_splitter *p = tnl_add_splitter(t, TNL_SPLIT);
        p->invert = flag_of(o, "invert", false);
        TNB_TRY(behavior_of(o, &p->behavior, err));
        return pattern_of(t, o, &p->text, &p->regex, err);
    }
    if (type && strcmp(type, "Metaspace") == 0) {
        tnl_splitter *p = tnl_add_splitter(t, TNL_METASPACE);
        const char *scheme = text_of(o, "prepend_scheme");
        p->text = kept(t, json_object_get(o, "replacement"));
        if (!p->text.n)
            p->text = (tnl_text){TNL_LOW_LINE, 3};
        if (tnl_char_at(p->text.s, p->text.n).n != p->text.n)
            return tnb_fail(err, TNB_FORMAT, "Metaspace: 'replacement' is no single character");
        p->behavior = TNL_MERGED_WITH_NEXT;
        p->split = flag_of(o, "split", true);
        p->prepend = scheme ? (strcmp(scheme, "first") == 0   ? TNL_FIRST
                               : strcmp(scheme, "never") == 0 ? TNL_NEVER
                                                              : TNL_ALWAYS)
                            : (flag_of(o, "add_prefix_space", true) ? TNL_ALWAYS : TNL_NEVER);
        return TNB_OK;
    }
    if (type && strcmp(type, "Digits") == 0) {
        tnl_splitter *p = tnl_add_splitter(t, TNL_DIGITS);
        p->behavior = flag_of(o, "individual_digits", false) ? TNL_ISOLATED : TNL_CONTIGUOUS;
        return TNB_OK;
    }
    if (type && strcmp(type, "Punctuation") == 0) {
        tnl_splitter *p = tnl_add_splitter(t, TNL_PUNCTUATION);
        return json_object_get(o, "behavior") ? behavior_of(o, &p->behavior, err) : TNB_OK;
    }
    if (type && strcmp(type, "WhitespaceSplit") == 0) {
        tnl_add_splitter(t, TNL_SPACES)->behavior = TNL_REMOVED;
        return TNB_OK;
    }
    if (type && strcmp(type, "Whitespace") == 0) {
        static const char words[] = "\\w+|[^\\w\\s]+";
        tnl_splitter *p = tnl_add_splitter(t, TNL_SPLIT);
        p->behavior = TNL_REMOVED;
        p->invert = true;
        return tnl_regex(t, words, sizeof words - 1, &p->regex, err);
    }
    return lacks("the pre-tokenizer", type, err);
}

/* Numbers of added tokens may leave holes in the vocabulary. */
static bool
is_token(const tnl_tokenizer *t, json_int_t id)
{
    return id >= 0 && id <= INT32_MAX && tnl_token_text(t, (int32_t)id);
}

/* ---- what is put around a text ---- */
static tnb_status
add_around(tnl_tokenizer *t, bool behind, int32_t id, tnb_err *err)
{
    enum { MOST_AROUND = 64 };
    int32_t **ids = behind ? &t->after : &t->before;
    uint32_t *n = behind ? &t->n_after : &t->n_before;
    if (*n == MOST_AROUND)
        return tnb_fail(err, TNB_UNSUPPORTED, "the post-processor adds more than %d tokens",
                        MOST_AROUND);
    if (!*ids)
        *ids = TNB_NEW_N(t->arena, int32_t, MOST_AROUND);
    (*ids)[(*n)++] = id;
    return TNB_OK;
}

static tnb_status
read_template(tnl_tokenizer *t, const json_t *o, tnb_err *err)
{
    size_t i, k;
    const json_t *v, *id;
    bool behind = false;
    json_array_foreach(json_object_get(o, "single"), i, v)
    {
        const char *name = text_of(json_object_get(v, "SpecialToken"), "id");
        if (!name) {
            behind = true;
            continue;
        }
        json_array_foreach(
            json_object_get(json_object_get(json_object_get(o, "special_tokens"), name), "ids"), k,
            id)
        {
            json_int_t n = json_integer_value(id);
            if (!is_token(t, n))
                return tnb_fail(
                    err, TNB_FORMAT,
                    "the post-processor adds the token %lld, which is not in the vocabulary",
                    (long long)n);
            TNB_TRY(add_around(t, behind, (int32_t)n, err));
        }
    }
    return TNB_OK;
}

static tnb_status
read_around(tnl_tokenizer *t, const json_t *o, tnb_err *err)
{
    const char *type = text_of(o, "type");
    if (!o || json_is_null(o) || (type && strcmp(type, "ByteLevel") == 0))
        return TNB_OK;
    if (type && strcmp(type, "Sequence") == 0)
        return read_each(t, json_object_get(o, "processors"), read_around, err);
    if (type && strcmp(type, "TemplateProcessing") == 0)
        return read_template(t, o, err);
    if (type && (strcmp(type, "RobertaProcessing") == 0 || strcmp(type, "BertProcessing") == 0)) {
        for (int behind = 0; behind < 2; behind++) {
            json_int_t n =
                json_integer_value(json_array_get(json_object_get(o, behind ? "sep" : "cls"), 1));
            if (!is_token(t, n))
                return tnb_fail(
                    err, TNB_FORMAT,
                    "the post-processor adds the token %lld, which is not in the vocabulary",
                    (long long)n);
            TNB_TRY(add_around(t, behind, (int32_t)n, err));
        }
        return TNB_OK;
    }
    return lacks("the post-processor", type, err);
}

/* ---- decoders ---- */
static tnb_status
read_decoder(tnl_tokenizer *t, const json_t *o, tnb_err *err)
{
    const char *type = text_of(o, "type");
    if (!o || json_is_null(o))
        return TNB_OK;
    if (type && strcmp(type, "Sequence") == 0)
        return read_each(t, json_object_get(o, "decoders"), read_decoder, err);
    if (type && strcmp(type, "ByteLevel") == 0) {
        t->decoder = TNL_DECODE_BYTE_LETTERS;
        return TNB_OK;
    }
    if (type && strcmp(type, "Metaspace") == 0) {
        const char *scheme = text_of(o, "prepend_scheme");
        t->decoder = TNL_DECODE_PIECES;
        t->strip_pieces =
            scheme ? strcmp(scheme, "never") != 0 : flag_of(o, "add_prefix_space", true);
        return TNB_OK;
    }
    if (type && (strcmp(type, "ByteFallback") == 0 || strcmp(type, "Fuse") == 0)) {
        t->decoder = t->decoder == TNL_DECODE_SPACED ? TNL_DECODE_PLAIN : t->decoder;
        t->whole_runs |= type[0] == 'B';
        return TNB_OK;
    }
    const char *content = text_of(o, "content");
    if (type && strcmp(type, "Replace") == 0) {
        const char *from = text_of(json_object_get(o, "pattern"), "String");
        if (from && content && strcmp(from, TNL_LOW_LINE) == 0 && strcmp(content, " ") == 0) {
            t->decoder = TNL_DECODE_PIECES;
            return TNB_OK;
        }
    }
    if (type && strcmp(type, "Strip") == 0 && content && strcmp(content, " ") == 0 &&
        json_integer_value(json_object_get(o, "start")) == 1 &&
        json_integer_value(json_object_get(o, "stop")) == 0) {
        t->strip_first_space = true;
        return TNB_OK;
    }
    return lacks("the decoder", type, err);
}

/* ---- the model ---- */
static tnb_status
read_unigram(tnl_tokenizer *t, const json_t *m, tnb_err *err)
{
    size_t i;
    const json_t *v, *list = json_object_get(m, "vocab"), *unk = json_object_get(m, "unk_id");
    t->model = TNL_UNIGRAM_MODEL;
    t->fuse_unknown = true;
    TNB_TRY(tnl_set_count(t, json_array_size(list), err));
    json_array_foreach(list, i, v)
    {
        const json_t *s = json_array_get(v, 0), *score = json_array_get(v, 1);
        if (!json_is_string(s) || !json_is_number(score))
            return tnb_fail(err, TNB_FORMAT, "piece %zu of the vocabulary is no text with a score",
                            i);
        TNB_TRY(tnl_set_token(t, i, json_string_value(s), json_string_length(s),
                              json_number_value(score), TNL_NORMAL, err));
    }
    if (json_is_integer(unk)) {
        if (!is_token(t, json_integer_value(unk)))
            return tnb_fail(err, TNB_FORMAT, "unk_id is %lld, which is not in the vocabulary",
                            (long long)json_integer_value(unk));
        t->unknown = (int32_t)json_integer_value(unk);
    }
    return TNB_OK;
}

static tnb_status
read_merges(tnl_tokenizer *t, const json_t *m, tnb_err *err)
{
    size_t i;
    const json_t *v;
    json_array_foreach(json_object_get(m, "merges"), i, v)
    {
        tnl_text l, r;
        if (json_is_string(v)) {
            const char *s = json_string_value(v), *space = strchr(s, ' ');
            if (!space || strchr(space + 1, ' '))
                return tnb_fail(
                    err, TNB_FORMAT,
                    "merge %zu is '%.60s', which is not two tokens with a space between", i, s);
            l = (tnl_text){s, (size_t)(space - s)};
            r = (tnl_text){space + 1, strlen(space + 1)};
        } else {
            const json_t *a = json_array_get(v, 0), *b = json_array_get(v, 1);
            if (!json_is_string(a) || !json_is_string(b))
                return tnb_fail(err, TNB_FORMAT, "merge %zu is not two tokens", i);
            l = (tnl_text){json_string_value(a), json_string_length(a)};
            r = (tnl_text){json_string_value(b), json_string_length(b)};
        }
        TNB_TRY(tnl_add_merge(t, l, r, (uint32_t)i, err));
    }
    return TNB_OK;
}

static tnb_status
read_bpe(tnl_tokenizer *t, json_t *m, tnb_err *err)
{
    const char *key, *unk = text_of(m, "unk_token");
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    json_t *v, *list = json_object_get(m, "vocab");
    json_int_t most = -1;
    t->model = TNL_BPE_RANKED;
    t->fuse_unknown = flag_of(m, "fuse_unk", false);
    t->ignore_merges = flag_of(m, "ignore_merges", false);
    for (int i = 0; i < 2; i++)
        if (text_of(m, affixes[i]) && *text_of(m, affixes[i]))
            return lacks("the BPE setting", affixes[i], err);
    json_object_foreach(list, key, v)
    {
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return tnb_fail(err, TNB_FORMAT, "the id of the token '%.60s' is no number from 0 on",
                            key);
        most = json_integer_value(v) > most ? json_integer_value(v) : most;
    }
    TNB_TRY(tnl_set_count(t, (uint64_t)most + 1, err));
    json_object_foreach(list, key, v)
    {
        uint64_t id = (uint64_t)json_integer_value(v);
        TNB_TRY(tnl_set_token(t, id, key, strlen(key), 0, TNL_NORMAL, err));
        if (!tnl_table_add(t->arena, &t->pieces, t->tokens[id].s, t->tokens[id].n, (int32_t)id))
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a vocabulary");
    }
    if (unk) {
        t->unknown = tnl_table_find(&t->pieces, unk, strlen(unk));
        if (t->unknown < 0)
            return tnb_fail(err, TNB_FORMAT, "unk_token is '%.60s', which is not in the vocabulary",
                            unk);
    }
    return read_merges(t, m, err);
}

static tnb_status
read_added(tnl_tokenizer *t, const json_t *list, tnb_err *err)
{
    size_t i;
    const json_t *v;
    uint64_t most = 0;
    json_array_foreach(list, i, v)
    {
        json_int_t id = json_integer_value(json_object_get(v, "id"));
        if (!json_is_integer(json_object_get(v, "id")) || id < 0 || !text_of(v, "content"))
            return tnb_fail(err, TNB_FORMAT, "added token %zu has no id or no content", i);
        most = (uint64_t)id + 1 > most ? (uint64_t)id + 1 : most;
    }
    TNB_TRY(tnl_set_count(t, most, err));
    json_array_foreach(list, i, v)
    {
        json_int_t id = json_integer_value(json_object_get(v, "id"));
        tnl_added a = {.id = (int32_t)id, .text = kept(t, json_object_get(v, "content"))};
        a.single_word = flag_of(v, "single_word", false);
        a.lstrip = flag_of(v, "lstrip", false);
        a.rstrip = flag_of(v, "rstrip", false);
        a.special = flag_of(v, "special", false);
        a.normalized = flag_of(v, "normalized", !a.special);
        const tnl_token *k = &t->tokens[id];
        if (k->kind == TNL_HOLE) /* the model does not find what is added to its vocabulary */
            TNB_TRY(tnl_set_token(t, (uint64_t)id, a.text.s, a.text.n, 0, TNL_UNUSED, err));
        else if (k->n != a.text.n || memcmp(k->s, a.text.s, k->n) != 0)
            return tnb_fail(err, TNB_FORMAT,
                            "added token '%.60s' has the id %lld, which is that of '%.60s'",
                            a.text.s, (long long)id, k->s);
        if (id != t->unknown || a.special)
            TNB_TRY(tnl_add_added(t, a, err));
    }
    return TNB_OK;
}

static tnb_status
read_all(tnl_tokenizer *t, json_t *root, tnb_err *err)
{
    json_t *m = json_object_get(root, "model");
    const char *type = text_of(m, "type");
    if (!json_is_object(m))
        return tnb_fail(err, TNB_FORMAT, "there is no 'model': this is no tokenizer.json");
    bool bpe = type ? strcmp(type, "BPE") == 0 : json_object_get(m, "merges") != NULL;
    if (!bpe && (!type || strcmp(type, "Unigram") != 0))
        return lacks("the model", type, err);
    t->byte_fallback = flag_of(m, "byte_fallback", false);
    TNB_TRY(bpe ? read_bpe(t, m, err) : read_unigram(t, m, err));
    TNB_TRY(read_added(t, json_object_get(root, "added_tokens"), err));
    TNB_TRY(read_normalizer(t, json_object_get(root, "normalizer"), err));
    TNB_TRY(read_splitter(t, json_object_get(root, "pre_tokenizer"), err));
    TNB_TRY(read_around(t, json_object_get(root, "post_processor"), err));
    TNB_TRY(read_decoder(t, json_object_get(root, "decoder"), err));
    t->meaning[TNL_UNKNOWN] = t->unknown;
    if (t->n_before)
        t->meaning[TNL_BEGIN_OF_TEXT] = t->before[0];
    return tnl_finish(t, err);
}

tnb_status
tnl_read_json(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err)
{
    json_t *root;
    TNB_TRY(tnb_json_parse(bytes, n, 0, &root, err));
    tnb_status st = read_all(t, root, err);
    json_decref(root);
    return st;
}

/* ---- tokenizer_config.json ---- */
static tnb_status
read_settings(tnl_tokenizer *t, const json_t *root, tnb_err *err)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token",
                                       "pad_token"}; /* ORDER tnl_meaning */
    for (int i = 0; i <= TNL_PADDING; i++) {
        const json_t *v = json_object_get(root, keys[i]);
        const char *s = json_is_string(v) ? json_string_value(v) : text_of(v, "content");
        if (s)
            t->meaning[i] = tnl_find_token(t, s);
    }
    const json_t *c = json_object_get(root, "chat_template"), *v;
    size_t i;
    json_array_foreach(c, i, v) /* several, by name */
        if (text_of(v, "name") && strcmp(text_of(v, "name"), "default") == 0) c =
            json_object_get(v, "template");
    if (json_is_string(c) && !t->chat_template)
        t->chat_template = kept(t, c).s;
    if (t->decoder != TNL_DECODE_SENTENCEPIECE)
        return TNB_OK;
    /* what tokenizer.json says itself, tokenizer.model leaves to this file */
    for (int behind = 0; behind < 2; behind++) {
        json_t *add = json_object_get(root, behind ? "add_eos_token" : "add_bos_token");
        int32_t id = t->meaning[behind ? TNL_END_OF_TEXT : TNL_BEGIN_OF_TEXT];
        if (!json_is_boolean(add))
            continue;
        *(behind ? &t->n_after : &t->n_before) = 0;
        if (json_is_true(add) && id >= 0)
            TNB_TRY(add_around(t, behind, id, err));
    }
    return TNB_OK;
}

tnb_status
tnl_read_config(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err)
{
    json_t *root;
    TNB_TRY(tnb_json_parse(bytes, n, 0, &root, err));
    tnb_status st = read_settings(t, root, err);
    json_decref(root);
    if (st == TNB_OK && tnb_arena_failed(t->arena))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory for a tokenizer");
    return st;
}
