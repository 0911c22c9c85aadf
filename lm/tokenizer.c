/* SPDX-License-Identifier: Apache-2.0 */
/* Opening tokenizers, and what all formats share. */
#include "config.h"
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <utf8proc.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tenon/base/file.h"
#include "tenon/base/num.h"

enum { MOST_FILE = 256 << 20, MOST_CONFIG = 16 << 20, MOST_TOKENS = 1 << 24, MOST_TOKEN = 1 << 20 };

/* ---- for readers ---- */
static tnb_status
no_memory(tnb_err *err)
{
    return tnb_fail(err, TNB_NO_MEMORY, "no memory for a tokenizer");
}

tnl_text
tnl_keep(tnl_tokenizer *t, const char *s, size_t n)
{
    return (tnl_text){tnb_strndup(t->arena, s, n), n};
}

tnb_status
tnl_set_count(tnl_tokenizer *t, uint64_t n, tnb_err *err)
{
    if (n > MOST_TOKENS)
        return tnb_fail(err, TNB_FORMAT, "a vocabulary of %llu tokens is too large (limit: %d)",
                        (unsigned long long)n, MOST_TOKENS);
    if (n <= t->n_tokens)
        return TNB_OK;
    tnl_token *more = tnb_try_alloc_n(t->arena, (size_t)n, sizeof *more);
    if (!more)
        return no_memory(err);
    if (t->n_tokens)
        memcpy(more, t->tokens, t->n_tokens * sizeof *more);
    t->tokens = more;
    t->n_tokens = (uint32_t)n;
    return TNB_OK;
}

tnb_status
tnl_set_token(tnl_tokenizer *t, uint64_t id, const char *s, size_t n, double score,
              tnl_token_kind kind, tnb_err *err)
{
    if (id >= t->n_tokens)
        return tnb_fail(err, TNB_FORMAT, "token %llu is beyond the vocabulary of %u",
                        (unsigned long long)id, t->n_tokens);
    if (n > MOST_TOKEN || memchr(s, 0, n))
        return tnb_fail(err, TNB_FORMAT, "token %llu %s", (unsigned long long)id,
                        n > MOST_TOKEN ? "is longer than a mebibyte" : "holds a zero byte");
    tnl_token *k = &t->tokens[id];
    if (k->kind != TNL_HOLE)
        return tnb_fail(err, TNB_FORMAT, "token %llu is there twice: '%.60s' and '%.*s'",
                        (unsigned long long)id, k->s, n > 60 ? 60 : (int)n, s);
    *k = (tnl_token){.s = tnl_keep(t, s, n).s,
                     .n = (uint32_t)n,
                     .score = score,
                     .kind = (uint8_t)kind};
    k->special = kind == TNL_CONTROL || kind == TNL_UNKNOWN_TOKEN;
    return tnb_arena_failed(t->arena) ? no_memory(err) : TNB_OK;
}

tnb_status
tnl_add_added(tnl_tokenizer *t, tnl_added a, tnb_err *err)
{
    if (!a.text.n)
        return TNB_OK;
    if (t->n_added == t->cap_added) {
        t->cap_added = 2 * t->cap_added + 64;
        tnl_added *more = tnb_try_alloc_n(t->arena, t->cap_added, sizeof *more);
        if (!more)
            return no_memory(err);
        if (t->n_added)
            memcpy(more, t->added, t->n_added * sizeof *more);
        t->added = more;
    }
    t->added[t->n_added++] = a;
    t->tokens[a.id].added = true;
    t->tokens[a.id].special |= a.special;
    return TNB_OK;
}

enum { MOST_STEPS = 64 };

tnl_normalizer *
tnl_add_normalizer(tnl_tokenizer *t, tnl_normal kind)
{
    if (!t->normalizers)
        t->normalizers = TNB_NEW_N(t->arena, tnl_normalizer, MOST_STEPS + 1);
    uint32_t at =
        t->n_normalizers < MOST_STEPS ? t->n_normalizers++ : MOST_STEPS; /* counted by tnl_finish */
    t->normalizers[at] = (tnl_normalizer){.kind = kind};
    return &t->normalizers[at];
}

tnl_splitter *
tnl_add_splitter(tnl_tokenizer *t, tnl_split_kind kind)
{
    if (!t->splitters)
        t->splitters = TNB_NEW_N(t->arena, tnl_splitter, MOST_STEPS + 1);
    uint32_t at = t->n_splitters < MOST_STEPS ? t->n_splitters++ : MOST_STEPS;
    t->splitters[at] = (tnl_splitter){.kind = kind, .behavior = TNL_ISOLATED};
    return &t->splitters[at];
}

tnb_status
tnl_add_merge(tnl_tokenizer *t, tnl_text left, tnl_text right, uint32_t rank, tnb_err *err)
{
    int32_t l = tnl_table_find(&t->pieces, left.s, left.n),
            r = tnl_table_find(&t->pieces, right.s, right.n);
    char *both = malloc(left.n + right.n + 1);
    if (!both)
        return no_memory(err);
    memcpy(both, left.s, left.n);
    memcpy(both + left.n, right.s, right.n);
    int32_t id = tnl_table_find(&t->pieces, both, left.n + right.n);
    free(both);
    if (l < 0 || r < 0 || id < 0) {
        tnl_text s = l < 0 ? left : right;
        return l < 0 || r < 0
                   ? tnb_fail(err, TNB_FORMAT, "merge %u: '%.*s' is no token of the vocabulary",
                              rank, s.n > 60 ? 60 : (int)s.n, s.s)
                   : tnb_fail(err, TNB_FORMAT,
                              "merge %u: '%.*s' and '%.*s' together are no token of the vocabulary",
                              rank, left.n > 60 ? 60 : (int)left.n, left.s,
                              right.n > 60 ? 60 : (int)right.n, right.s);
    }
    return tnl_pairs_add(t->arena, &t->pairs, l, r, id, rank) ? TNB_OK : no_memory(err);
}

/* "<0x0A>" */
static int
byte_of(const tnl_token *k)
{
    int64_t v;
    return k->n == 6 && memcmp(k->s, "<0x", 3) == 0 && k->s[5] == '>' &&
                   tnb_read_i64(k->s + 1, 4, &v)
               ? (int)v
               : -1;
}

static tnb_status
add_tries(tnl_tokenizer *t, tnb_err *err)
{
    tnl_matcher m = {0};
    tnb_status st = tnl_matcher_new(&m, err);
    for (uint32_t i = 0; i < t->n_added && st == TNB_OK; i++) {
        const tnl_added *a = &t->added[i];
        tnb_buf b = {0};
        if (a->normalized)
            st = tnl_normalize(t, &m, a->text, &b, err);
        tnl_text s = a->normalized ? tnl_keep(t, b.s ? b.s : "", b.n) : a->text;
        tnb_buf_free(&b);
        if (st == TNB_OK && s.n &&
            !tnl_trie_add(t->arena, a->normalized ? &t->added_normalized : &t->added_raw, s.s, s.n,
                          (int32_t)i))
            st = no_memory(err);
        t->has_added_normalized |= a->normalized && s.n;
        t->has_added_raw |= !a->normalized;
    }
    tnl_matcher_free(&m);
    return st;
}

tnb_status
tnl_finish(tnl_tokenizer *t, tnb_err *err)
{
    double least = 0;
    bool any = false;
    if (t->n_normalizers >= MOST_STEPS || t->n_splitters >= MOST_STEPS)
        return tnb_fail(err, TNB_UNSUPPORTED, "more than %d steps before the model", MOST_STEPS);
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        tnl_token *k = &t->tokens[i];
        if (k->kind == TNL_HOLE)
            continue;
        if (!tnl_table_add(t->arena, &t->ids, k->s, k->n, (int32_t)i))
            return no_memory(err);
        int byte = byte_of(k);
        if (byte >= 0 && (k->kind == TNL_NORMAL || k->kind == TNL_BYTE) && t->of_byte[byte] < 0) {
            t->of_byte[byte] = (int32_t)i;
            k->byte = (uint8_t)byte;
            k->kind = t->byte_fallback ? TNL_BYTE : k->kind;
        }
        if (k->kind == TNL_NORMAL) {
            least = any && least < k->score ? least : k->score;
            any = true;
        }
        if (k->kind == TNL_USER_DEFINED && !k->added) {
            if (!tnl_trie_add(t->arena, &t->user, k->s, k->n, (int32_t)i))
                return no_memory(err);
            t->has_user = true;
        }
        if (t->model == TNL_BPE_SCORED &&
            (k->kind == TNL_NORMAL || k->kind == TNL_USER_DEFINED || k->kind == TNL_UNUSED) &&
            !tnl_table_add(t->arena, &t->pieces, k->s, k->n, (int32_t)i))
            return no_memory(err);
        if (t->model == TNL_UNIGRAM_MODEL && k->n &&
            (k->kind == TNL_NORMAL || k->kind == TNL_USER_DEFINED ||
             (k->kind == TNL_UNUSED && !k->added && !t->of_sentencepiece)) &&
            !tnl_trie_add(t->arena, &t->trie, k->s, k->n, (int32_t)i))
            return no_memory(err);
    }
    t->unknown_score = least - 10;
    TNB_TRY(add_tries(t, err));
    return tnb_arena_failed(t->arena) ? no_memory(err) : TNB_OK;
}

/* ---- opening ---- */
static tnl_tokenizer *
fresh(const char *name, tnb_err *err)
{
    tnl_tokenizer *t = calloc(1, sizeof *t);
    if (t) {
        t->arena = tnb_arena_new();
        t->name = strdup(name ? name : "tokenizer");
    }
    if (!t || !t->arena || !t->name) {
        tnl_tokenizer_free(t);
        no_memory(err);
        return NULL;
    }
    t->unknown = -1;
    for (int i = 0; i < 256; i++)
        t->of_byte[i] = -1;
    for (int i = 0; i <= TNL_PADDING; i++)
        t->meaning[i] = -1;
    return t;
}

static tnb_status
read_any(tnl_tokenizer *t, const char *s, size_t n, tnb_err *err)
{
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", s[at]))
        at++;
    if (n >= 4 && memcmp(s, "GGUF", 4) == 0)
        return tnl_read_gguf(t, s, n, err);
    if (at < n && s[at] == '{')
        return tnl_read_json(t, s, n, err);
    /* a SentencePiece model begins with its first piece: field 1, of some bytes */
    if (n >= 2 && s[0] == 0x0a)
        return tnl_read_model(t, s, n, err);
    return tnl_read_bin(t, s, n, err);
}

static tnb_status
read_named(const void *bytes, size_t n, const char *name, tnl_tokenizer **out, tnb_err *err)
{
    tnl_tokenizer *t = fresh(name, err);
    if (!t)
        return TNB_NO_MEMORY;
    tnb_status st = n ? read_any(t, bytes, n, err) : tnb_fail(err, TNB_FORMAT, "the file is empty");
    if (st != TNB_OK) {
        tnb_err_prefix(err, "%s", t->name);
        tnl_tokenizer_free(t);
        return st;
    }
    *out = t;
    return TNB_OK;
}

tnb_status
tnl_tokenizer_read(const void *bytes, size_t n, const char *name, tnl_tokenizer **out, tnb_err *err)
{
    if (!bytes || !out)
        return tnb_fail(err, TNB_INVALID, "tnl_tokenizer_read: %s is NULL",
                        !bytes ? "bytes" : "out");
    return read_named(bytes, n, name, out, err);
}

/* What tokenizer_config.json beside the file says, if it is there. */
static tnb_status
add_config(tnl_tokenizer *t, tnb_arena *a, const char *folder, tnb_err *err)
{
    struct stat info;
    char *text, *template = NULL;
    size_t n;
    const char *path = tnb_path_join(a, folder, "chat_template.jinja");
    if (stat(path, &info) == 0) {
        TNB_TRY(tnb_read_file(path, MOST_CONFIG, &template, &n, err));
        t->chat_template = tnl_keep(t, template, n).s;
        free(template);
    }
    path = tnb_path_join(a, folder, "tokenizer_config.json");
    if (stat(path, &info) != 0)
        return TNB_OK;
    TNB_TRY(tnb_read_file(path, MOST_CONFIG, &text, &n, err));
    tnb_status st = tnl_read_config(t, text, n, err);
    free(text);
    if (st != TNB_OK)
        tnb_err_prefix(err, "%s", path);
    return st;
}

static tnb_status
open_in(tnb_arena *a, const char *path, tnl_tokenizer **out, tnb_err *err)
{
    struct stat info;
    const char *folder = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        static const char *const names[] = {"tokenizer.json", "tokenizer.model"};
        const char *file = NULL;
        folder = path;
        for (int i = 0; i < 2 && !file; i++) {
            path = tnb_path_join(a, folder, names[i]);
            file = stat(path, &info) == 0 ? path : NULL;
        }
        if (!file) {
            tnb_fail(err, TNB_NOT_FOUND, "%s: there is neither tokenizer.json nor tokenizer.model",
                     folder);
            tnb_hint(err, "name the tokenizer's file with --tokenizer");
            return TNB_NOT_FOUND;
        }
    } else if (strcmp(tnb_path_name(path), "tokenizer.json") == 0 ||
               strcmp(tnb_path_name(path), "tokenizer.model") == 0) {
        folder = tnb_path_dir(a, path);
    }
    tnb_mapping m = {0};
    TNB_TRY(tnb_map_file(path, 0, &m, err));
    /* checkpoints hold their tokenizer beside weights of any size */
    bool gguf = m.size >= 4 && memcmp(m.data, "GGUF", 4) == 0;
    tnb_status st = m.size > MOST_FILE && !gguf
                        ? tnb_fail(err, TNB_BOUNDS,
                                   "%s: %llu bytes are too many for a tokenizer (limit: 256 MiB)",
                                   path, (unsigned long long)m.size)
                        : read_named(m.data, (size_t)m.size, path, out, err);
    tnb_unmap(&m);
    if (st == TNB_OK && folder && (st = add_config(*out, a, folder, err)) != TNB_OK) {
        tnl_tokenizer_free(*out);
        *out = NULL;
    }
    return st;
}

tnb_status
tnl_tokenizer_open(const char *path, tnl_tokenizer **out, tnb_err *err)
{
    if (!path || !out)
        return tnb_fail(err, TNB_INVALID, "tnl_tokenizer_open: %s is NULL",
                        !path ? "the path" : "out");
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return no_memory(err);
    tnl_tokenizer *t = NULL;
    tnb_status st = open_in(a, path, &t, err);
    tnb_arena_free(a);
    if (st == TNB_OK)
        *out = t;
    return st;
}

void
tnl_tokenizer_free(tnl_tokenizer *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->n_regexes; i++)
        pcre2_code_free(t->regexes[i]);
    tnb_arena_free(t->arena);
    free(t->name);
    free(t);
}

/* ---- what it holds ---- */
uint32_t
tnl_token_count(const tnl_tokenizer *t)
{
    return t ? t->n_tokens : 0;
}

static const tnl_token *
token_at(const tnl_tokenizer *t, int32_t id)
{
    return t && id >= 0 && (uint32_t)id < t->n_tokens && t->tokens[id].kind != TNL_HOLE
               ? &t->tokens[id]
               : NULL;
}

const char *
tnl_token_text(const tnl_tokenizer *t, int32_t id)
{
    const tnl_token *k = token_at(t, id);
    return k ? k->s : NULL;
}

int32_t
tnl_find_token(const tnl_tokenizer *t, const char *text)
{
    return t && text ? tnl_table_find(&t->ids, text, strlen(text)) : -1;
}

bool
tnl_token_is_special(const tnl_tokenizer *t, int32_t id)
{
    const tnl_token *k = token_at(t, id);
    return k && k->special;
}

int32_t
tnl_meaning_token(const tnl_tokenizer *t, tnl_meaning m)
{
    return t && (unsigned)m <= TNL_PADDING ? t->meaning[m] : -1;
}

const char *
tnl_chat_template(const tnl_tokenizer *t)
{
    return t ? t->chat_template : NULL;
}

const char *
tnl_unicode_versions(void)
{
    static __thread char text[96];
    char pcre2[32] = "?";
    if (pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, NULL) < (int)sizeof pcre2)
        pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, pcre2);
    snprintf(text, sizeof text, "Unicode %s (pcre2), %s (utf8proc)", pcre2,
             utf8proc_unicode_version());
    return text;
}
