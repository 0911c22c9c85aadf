/* SPDX-License-Identifier: Apache-2.0 */
/* A tokenizer in a GGUF file's metadata, `tokenizer.ggml.*`, as llama.cpp reads it. */
#include "config.h"
#include "tokenizer.h"

#include "tenon/base/gguf.h"

#define GPT2_WORDS \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define SHORT_FORMS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE_WORD "[^\\r\\n\\p{L}\\p{N}]?"
#define SPACES_LAST "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES_LAST
#define REST_SLASH " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES_LAST
#define CASED(digits)                                                                            \
    BEFORE_WORD UPPER "*" LOWER "+" SHORT_FORMS "?|" BEFORE_WORD UPPER "+" LOWER "*" SHORT_FORMS \
                      "?|" digits "|" REST_SLASH
#define ASCII_MARK "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"
#define MARKS_AND_WORDS ASCII_MARK "[A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
#define HAN_KANA "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+"
#define NOT_HAN(of) "(?:(?!\\p{Han})" of ")"
#define HAN_WORDS                                                                           \
    BEFORE_WORD NOT_HAN(UPPER) "*" NOT_HAN(LOWER) "+" SHORT_FORMS "?|" BEFORE_WORD NOT_HAN( \
        UPPER) "+" NOT_HAN(LOWER) "*" SHORT_FORMS "?"
#define BLOOM_WORDS " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+"

/* `tokenizer.ggml.pre` -> the regular expressions that cut words, one after another: those of the
 * models' own tokenizer.json, as llama.cpp's table has them. */
enum { IGNORE_MERGES = 1, ADD_BEGIN = 2, MOST_PATTERNS = 6 };
typedef struct pre {
    const char *names; /* with blanks around */
    const char *patterns[MOST_PATTERNS];
    int flags;
} pre;
static const pre pres[] = {
    {" gpt-2 phi-2 mpt olmo jais trillion granite-docling gpt2 gigachat jina-es jina-de jina-v2-es "
     "jina-v2-de jina-v1-en jina-v2-code roberta-bpe modern-bert a.x-4.0 mellum exaone4 ",
     {GPT2_WORDS},
     0},
    {" llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano ",
     {SHORT_FORMS "|" BEFORE_WORD "\\p{L}+|\\p{N}{1,3}|" REST},
     IGNORE_MERGES | ADD_BEGIN},
    {" glm4 chatglm-bpe dbrx smaug-bpe ",
     {SHORT_FORMS "|" BEFORE_WORD "\\p{L}+|\\p{N}{1,3}|" REST},
     0},
    {" jais-2 ",
     {SHORT_FORMS "|" BEFORE_WORD
                  "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
                  "\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|"
                  "\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"},
     0},
    {" qwen2 deepseek-r1-qwen stablelm2 hunyuan megrez kormo grok-2 solar-open f2llmv2 ",
     {SHORT_FORMS "|" BEFORE_WORD "\\p{L}+|\\p{N}|" REST},
     0},
    {" ufakzeka ", {BEFORE_WORD "\\p{L}+|\\p{N}|" REST}, 0},
    {" laguna ", {"[^\\n]+|[\\n]+", SHORT_FORMS "|" BEFORE_WORD "\\p{L}+|\\p{N}|" REST}, 0},
    {" minicpm5 ",
     {"\\p{N}{1,3}", SHORT_FORMS "|" BEFORE_WORD "\\p{L}+|\\p{N}+|" REST},
     IGNORE_MERGES},
    {" seed-coder ",
     {SHORT_FORMS "|" BEFORE_WORD "\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES_LAST},
     0},
    {" bailingmoe bailingmoe2 llada-moe ",
     {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|"
      "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"},
     0},
    {" exaone-moe ",
     {SHORT_FORMS "|" BEFORE_WORD "(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| "
                  "?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"},
     0},
    {" qwen35 ",
     {SHORT_FORMS "|" BEFORE_WORD
                  "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES_LAST},
     0},
    {" starcoder refact command-r smollm codeshell exaone minerva-7b mellum2 ",
     {"\\p{N}", GPT2_WORDS},
     0},
    {" falcon ", {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2_WORDS, "[0-9][0-9][0-9]"}, 0},
    {" deepseek-llm ",
     {"[\\r\\n]", "\\s?[\\p{Lu}\\p{Ll}\\p{Lt}]+",
      "\\s?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+",
      "\\s+$", "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+", "\\p{N}+"},
     0},
    {" deepseek-coder ",
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+",
      "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+", "\\p{N}"},
     0},
    {" deepseek-v3 hunyuan-dense joyai-llm hy_v4 ",
     {"\\p{N}{1,3}", HAN_KANA, MARKS_AND_WORDS " ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES_LAST},
     0},
    {" spark2_5 ",
     {"\\p{N}{1,3}", HAN_KANA, MARKS_AND_WORDS " ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+",
      "\\p{N}"},
     0},
    {" youtu ",
     {"[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+|[\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}"
      "\\x{2019}\\x{2014}\\x{ff1a}\\x{ff1b}\\x{ff0c}\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}]+|"
      "[\\x{3105}-\\x{312f}]+|" HAN_KANA,
      CASED("\\p{N}")},
     IGNORE_MERGES},
    {" tekken ",
     {BEFORE_WORD UPPER "*" LOWER "+|" BEFORE_WORD UPPER "+" LOWER "*|\\p{N}|" REST_SLASH},
     IGNORE_MERGES | ADD_BEGIN},
    {" gpt-4o llama4 kanana2 minimax-m2 talkie ", {CASED("\\p{N}{1,3}")}, 0},
    {" granite-embed-multi-97m ", {CASED("\\p{N}{1,3}")}, IGNORE_MERGES},
    {" tiny_aya cohere2moe ", {"\\d{1,3}(?=(?:\\d{3})*\\b)", CASED("\\p{N}{1,3}")}, 0},
    {" kimi-k2 ", {"\\p{Han}+|" HAN_WORDS "|\\p{N}{1,3}|" REST}, 0},
    {" superbpe ", {"\\p{N}+", "\\d{1,3}(?=(?:\\d{3})*(?!\\d))"}, 0},
    {" poro-chat bloom gpt3-finnish ", {BLOOM_WORDS}, 0},
    {" viking ", {BLOOM_WORDS, "\\p{N}"}, 0},
    {" chameleon ",
     {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}",
      "[\\p{P}!-/:-@\\[-`{-~]", GPT2_WORDS},
     ADD_BEGIN},
    {" default ", {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2_WORDS, "\\p{N}+", "[0-9][0-9][0-9]"}, 0},
};

static const pre *
find_pre(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof pres / sizeof *pres; i++)
        for (const char *p = pres[i].names; (p = memmem(p, strlen(p), name, n)); p++)
            if (n && p[-1] == ' ' && p[n] == ' ')
                return &pres[i];
    return NULL;
}

static bool
flag(const tnb_gguf *g, const char *key, bool otherwise)
{
    int64_t v;
    return tnb_gguf_int(tnb_gguf_find(g, key), 0, &v) ? v != 0 : otherwise;
}

static tnb_status
read_words(tnl_tokenizer *t, const tnb_gguf *g, bool *begin, tnb_err *err)
{
    const char *name = "default";
    size_t n = 7;
    tnb_gguf_text(tnb_gguf_find(g, "tokenizer.ggml.pre"), 0, &name, &n);
    const pre *p = find_pre(name, n);
    if (!p)
        return tnb_fail(
            err, TNB_UNSUPPORTED,
            "tokenizer.ggml.pre is '%.*s', which is not among the pre-tokenizers that Tenon has",
            n > 60 ? 60 : (int)n, name);
    for (int i = 0; i < MOST_PATTERNS && p->patterns[i]; i++)
        TNB_TRY(tnl_regex(t, p->patterns[i], strlen(p->patterns[i]),
                          &tnl_add_splitter(t, TNL_SPLIT)->regex, err));
    tnl_add_splitter(t, TNL_BYTE_LEVEL)->prefix_space =
        flag(g, "tokenizer.ggml.add_space_prefix", false);
    t->ignore_merges = p->flags & IGNORE_MERGES;
    *begin = p->flags & ADD_BEGIN;
    return TNB_OK;
}

static tnb_status
read_merges(tnl_tokenizer *t, const tnb_gguf *g, tnb_err *err)
{
    const tnb_gguf_value *m = tnb_gguf_find(g, "tokenizer.ggml.merges");
    const char *s;
    size_t n;
    if (!m)
        return tnb_fail(err, TNB_FORMAT, "there is no tokenizer.ggml.merges");
    for (uint64_t i = 0; i < m->n; i++) {
        /* the space between is not the first byte: a token may begin with one */
        const char *space = tnb_gguf_text(m, i, &s, &n) && n > 1 ? memchr(s + 1, ' ', n - 1) : NULL;
        if (!space)
            return tnb_fail(
                err, TNB_FORMAT,
                "tokenizer.ggml.merges: entry %llu is not two tokens with a space between",
                (unsigned long long)i);
        TNB_TRY(tnl_add_merge(t, (tnl_text){s, (size_t)(space - s)},
                              (tnl_text){space + 1, n - 1 - (size_t)(space - s)}, (uint32_t)i,
                              err));
    }
    return TNB_OK;
}

static tnb_status
read_tokens(tnl_tokenizer *t, const tnb_gguf *g, bool scores_needed, tnb_err *err)
{
    const tnb_gguf_value *tokens = tnb_gguf_find(g, "tokenizer.ggml.tokens"),
                         *scores = tnb_gguf_find(g, "tokenizer.ggml.scores"),
                         *kinds = tnb_gguf_find(g, "tokenizer.ggml.token_type");
    if (!tokens || !tokens->array || tokens->kind != TNB_GGUF_STRING)
        return tnb_fail(err, TNB_FORMAT, "tokenizer.ggml.tokens is no array of strings");
    if (scores_needed && (!scores || scores->n != tokens->n))
        return tnb_fail(err, TNB_FORMAT, "tokenizer.ggml.scores has not one number a token");
    TNB_TRY(tnl_set_count(t, tokens->n, err));
    for (uint64_t i = 0; i < tokens->n; i++) {
        const char *s = "";
        size_t n = 0;
        double score = 0;
        int64_t kind = TNL_NORMAL;
        tnb_gguf_text(tokens, i, &s, &n);
        tnb_gguf_float(scores, i, &score);
        tnb_gguf_int(kinds, i, &kind);
        kind = kind < TNL_NORMAL || kind > TNL_BYTE ? TNL_NORMAL : kind;
        TNB_TRY(tnl_set_token(t, i, s, n, (float)score, (tnl_token_kind)kind, err));
        tnl_token *k = &t->tokens[i];
        if (t->model == TNL_BPE_RANKED &&
            !tnl_table_add(t->arena, &t->pieces, k->s, k->n, (int32_t)i))
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a vocabulary");
        if ((kind == TNL_CONTROL || kind == TNL_USER_DEFINED || kind == TNL_UNKNOWN_TOKEN) && n) {
            tnl_added a = {.id = (int32_t)i,
                           .text = {k->s, n},
                           .special = kind != TNL_USER_DEFINED};
            TNB_TRY(tnl_add_added(t, a, err));
        }
    }
    return TNB_OK;
}

static tnb_status
read_meanings(tnl_tokenizer *t, const tnb_gguf *g, bool begin, bool end, tnb_err *err)
{
    static const char *const keys[] = {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                                       "tokenizer.ggml.unknown_token_id",
                                       "tokenizer.ggml.padding_token_id"};
    for (int i = 0; i <= TNL_PADDING; i++) {
        int64_t id;
        if (!tnb_gguf_int(tnb_gguf_find(g, keys[i]), 0, &id))
            continue;
        if (id == UINT32_MAX) /* -1, written as the unsigned number that these are: none */
            continue;
        if (id < 0 || id >= (int64_t)t->n_tokens)
            return tnb_fail(err, TNB_FORMAT, "%s is %lld, which is not in the vocabulary of %u",
                            keys[i], (long long)id, t->n_tokens);
        t->meaning[i] = (int32_t)id;
    }
    t->before = TNB_NEW_N(t->arena, int32_t, 64);
    t->after = TNB_NEW_N(t->arena, int32_t, 64);
    if (flag(g, "tokenizer.ggml.add_bos_token", begin) && t->meaning[TNL_BEGIN_OF_TEXT] >= 0)
        t->before[t->n_before++] = t->meaning[TNL_BEGIN_OF_TEXT];
    if (flag(g, "tokenizer.ggml.add_eos_token", end) && t->meaning[TNL_END_OF_TEXT] >= 0)
        t->after[t->n_after++] = t->meaning[TNL_END_OF_TEXT];
    const char *s;
    size_t n;
    if (tnb_gguf_text(tnb_gguf_find(g, "tokenizer.chat_template"), 0, &s, &n) && !memchr(s, 0, n))
        t->chat_template = tnl_keep(t, s, n).s;
    return TNB_OK;
}

/* SentencePiece's models as GGUF has them: no normal forms but those of a table. */
static tnb_status
read_pieces(tnl_tokenizer *t, const tnb_gguf *g, tnb_err *err)
{
    bool prefix = flag(g, "tokenizer.ggml.add_space_prefix", true);
    const tnb_gguf_value *map = tnb_gguf_find(g, "tokenizer.ggml.precompiled_charsmap");
    t->byte_fallback = true;
    t->fuse_unknown = t->one_error_a_byte = true;
    t->decoder = TNL_DECODE_PIECES;
    t->strip_first_space = prefix;
    if (t->model == TNL_UNIGRAM_MODEL) {
        tnl_normalizer *z = tnl_add_normalizer(t, TNL_SENTENCEPIECE);
        z->dummy_prefix = prefix;
        z->remove_extra = flag(g, "tokenizer.ggml.remove_extra_whitespaces", false);
        z->escape = true;
        if (map && map->array && map->n &&
            !tnl_charsmap_open(map->data, (size_t)map->n, t->arena, &z->map))
            return tnb_fail(err, TNB_FORMAT, "tokenizer.ggml.precompiled_charsmap is damaged");
        return TNB_OK;
    }
    if (prefix)
        tnl_add_normalizer(t, TNL_PREPEND)->content = (tnl_text){" ", 1};
    tnl_normalizer *z = tnl_add_normalizer(t, TNL_REPLACE);
    z->pattern = (tnl_text){" ", 1};
    z->content = (tnl_text){TNL_LOW_LINE, 3};
    return TNB_OK;
}

static tnb_status
read_open(tnl_tokenizer *t, const tnb_gguf *g, tnb_err *err)
{
    const char *kind = NULL;
    size_t n = 0;
    if (!tnb_gguf_text(tnb_gguf_find(g, "tokenizer.ggml.model"), 0, &kind, &n)) {
        tnb_fail(err, TNB_FORMAT, "the file has no tokenizer: there is no tokenizer.ggml.model");
        tnb_hint(err, "name a tokenizer's file with --tokenizer");
        return TNB_FORMAT;
    }
    bool bytes = n == 4 && memcmp(kind, "gpt2", 4) == 0,
         unigram = n == 2 && memcmp(kind, "t5", 2) == 0;
    if (!bytes && !unigram && !(n == 5 && memcmp(kind, "llama", 5) == 0))
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "tokenizer.ggml.model is '%.*s'; Tenon has gpt2, llama and t5",
                        n > 60 ? 60 : (int)n, kind);
    bool begin = !bytes && !unigram; /* a file without add_bos_token */
    t->model = bytes ? TNL_BPE_RANKED : unigram ? TNL_UNIGRAM_MODEL : TNL_BPE_SCORED;
    if (bytes) {
        t->decoder = TNL_DECODE_BYTE_LETTERS;
        TNB_TRY(read_words(t, g, &begin, err));
    } else {
        TNB_TRY(read_pieces(t, g, err));
    }
    TNB_TRY(read_tokens(t, g, !bytes, err));
    if (bytes)
        TNB_TRY(read_merges(t, g, err));
    TNB_TRY(read_meanings(t, g, begin, unigram, err));
    if (!bytes)
        t->unknown = t->meaning[TNL_UNKNOWN];
    return tnl_finish(t, err);
}

tnb_status
tnl_read_gguf(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err)
{
    tnb_gguf *g;
    TNB_TRY(tnb_gguf_open_memory(bytes, n, t->name, &g, err));
    tnb_status st = read_open(t, g, err);
    tnb_gguf_close(g);
    return st;
}
