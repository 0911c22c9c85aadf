/* SPDX-License-Identifier: Apache-2.0 */
/* Tokenizers whose vocabularies are made here, against ids and words that `tokenizers` and SentencePiece give; streams. */
#include "config.h"
#include "tests/base/harness.h"
#include "tenon/base/gguf.h"
#include "tenon/base/wire.h"
#include "tenon/lm/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- GGUF ---- */
static void
put(tnb_buf *b, uint64_t v, size_t size)
{
    tnb_buf_put(b, &v, size);
}

static void
put_text(tnb_buf *b, const char *s, size_t n)
{
    put(b, n, 8);
    tnb_buf_put(b, s, n);
}

static void
put_key(tnb_buf *b, const char *key, uint32_t kind)
{
    put_text(b, key, strlen(key));
    put(b, kind, 4);
}

static void
put_string(tnb_buf *b, const char *key, const char *s)
{
    put_key(b, key, TNB_GGUF_STRING);
    put_text(b, s, strlen(s));
}

static void
put_array(tnb_buf *b, const char *key, uint32_t kind, uint64_t n)
{
    put_key(b, key, TNB_GGUF_ARRAY);
    put(b, kind, 4);
    put(b, n, 8);
}

static void
put_head(tnb_buf *b, uint64_t entries)
{
    tnb_buf_puts(b, "GGUF");
    put(b, 3, 4);
    put(b, 0, 8);
    put(b, entries, 8);
}

/* ---- words ---- */
enum { MOST_BYTES = 48, LETTERS = 2 * MOST_BYTES + 1 };

/* As byte-level tokenizers write bytes: printable ones stand for themselves, the others follow from U+0100 on. */
static size_t
put_letter(char *out, uint8_t byte)
{
    uint32_t code = byte, before = 0;
    if (!((byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad))) {
        for (uint32_t k = 0; k < byte; k++)
            before += !((k > 0x20 && k < 0x7f) || (k > 0xa0 && k != 0xad));
        code = 256 + before;
    }
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 63));
    return 2;
}

/* A tokenizer with a token for each part of the text, which all neighbours merge to: the tokens of the text are
 * its words. */
static void
word_tokenizer(const char *pre, const char *text, size_t n, tnb_buf *out)
{
    tnb_buf tokens = {0}, merges = {0};
    char letters[LETTERS];
    size_t at[MOST_BYTES + 1] = {0};
    uint64_t n_tokens = 0, n_merges = 0;
    for (size_t i = 0; i < n; i++)
        at[i + 1] = at[i] + put_letter(letters + at[i], (uint8_t)text[i]);
    for (size_t len = 1; len <= n; len++)
        for (size_t i = 0; i + len <= n; i++) {
            const char *s = letters + at[i];
            const size_t size = at[i + len] - at[i];
            if (memmem(letters, at[i + len] - 1, s, size)) /* it was there before */
                continue;
            put_text(&tokens, s, size);
            n_tokens++;
            for (size_t k = 1; k < len; k++, n_merges++) {
                put(&merges, size + 1, 8);
                tnb_buf_put(&merges, s, at[i + k] - at[i]);
                tnb_buf_putc(&merges, ' ');
                tnb_buf_put(&merges, letters + at[i + k], at[i + len] - at[i + k]);
            }
        }
    put_head(out, 5);
    put_string(out, "tokenizer.ggml.model", "gpt2");
    put_string(out, "tokenizer.ggml.pre", pre);
    put_array(out, "tokenizer.ggml.tokens", TNB_GGUF_STRING, n_tokens);
    tnb_buf_put(out, tokens.s, tokens.n);
    put_array(out, "tokenizer.ggml.merges", TNB_GGUF_STRING, n_merges);
    tnb_buf_put(out, merges.s ? merges.s : "", merges.n);
    put_key(out, "tokenizer.ggml.add_bos_token", TNB_GGUF_BOOL);
    put(out, 0, 1);
    tnb_buf_free(&tokens);
    tnb_buf_free(&merges);
}

/* Removes the escapes; the bars stay. */
static size_t
unescape(char *s)
{
    size_t n = 0;
    for (const char *p = s; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
            s[n++] = *p == 'n' ? '\n' : *p == 'r' ? '\r' : *p == 't' ? '\t' : *p;
        } else {
            s[n++] = *p;
        }
    }
    s[n] = 0;
    return n;
}

static void
check_words(const char *pre, char *words)
{
    char text[MOST_BYTES + 1] = {0};
    size_t n = 0, n_ids = 0, size = unescape(words);
    for (size_t i = 0; i < size; i++)
        if (words[i] != '|') {
            assert_true(n < MOST_BYTES);
            text[n++] = words[i];
        }
    tnb_buf file = {0}, got = {0};
    tnb_err err = {0};
    tnl_tokenizer *t;
    int32_t *ids;
    word_tokenizer(pre, text, n, &file);
    if (tnl_tokenizer_read(file.s, file.n, pre, &t, &err) != TNB_OK)
        fail_msg("%s", err.message);
    assert_int_equal(tnl_encode(t, text, n, TNL_ADD_SPECIAL, &ids, &n_ids, &err), TNB_OK);
    for (size_t i = 0; i < n_ids; i++) {
        if (i)
            tnb_buf_putc(&got, '|');
        assert_int_equal(tnl_decode(t, &ids[i], 1, 0, &got, &err), TNB_OK);
    }
    tnb_buf_putc(&got, 0);
    if (strcmp(got.s, words) != 0)
        print_error("%s: words are %s, not %s\n", pre, got.s, words);
    assert_string_equal(got.s, words);
    free(ids);
    tnl_tokenizer_free(t);
    tnb_buf_free(&file);
    tnb_buf_free(&got);
}

static void
names_of_pre_tokenizers_cut_their_words(void **state)
{
    char path[4096], line[512];
    int cases = 0;
    (void)state;
    snprintf(path, sizeof path, "%s/tests/lm/words.txt", getenv("top_srcdir"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *words = strchr(line, ' ');
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || !words)
            continue;
        *words = 0;
        check_words(line, words + 1);
        cases++;
    }
    fclose(f);
    assert_true(cases > 100);
}

/* ---- unigram ---- */
static const struct {
    const char *s;
    float score;
    uint8_t kind; /* as in files: 1 normal, 2 unknown, 4 user-defined, 5 unused */
} PIECES[] = {
    {"<unk>", 0, 2},    {"ab", 0, 4},      {"abc", 0, 4},      {"cd", -2, 1}, {"d", -2, 1},
    {"bb", -120000, 1}, {"a", -0.001f, 1}, {"aa", -0.003f, 1}, {"e", -1, 5},
};
enum { N_PIECES = sizeof PIECES / sizeof *PIECES };

static void
put_field(tnb_buf *b, uint8_t number, const void *s, size_t n)
{
    assert_true(n < 128);
    put(b, number << 3 | 2, 1);
    put(b, n, 1);
    tnb_buf_put(b, s, n);
}

/* As SentencePiece's ModelProto: pieces, the type of the model, and no change of texts. */
static void
unigram_model(tnb_buf *out)
{
    static const uint8_t trainer[] = {3 << 3, 1};
    static const uint8_t normalizer[] = {3 << 3, 0, 4 << 3, 0, 5 << 3, 0};
    for (size_t i = 0; i < N_PIECES; i++) {
        tnb_buf piece = {0};
        put_field(&piece, 1, PIECES[i].s, strlen(PIECES[i].s));
        put(&piece, 2 << 3 | 5, 1);
        tnb_buf_put(&piece, &PIECES[i].score, 4);
        put(&piece, 3 << 3, 1);
        put(&piece, PIECES[i].kind, 1);
        put_field(out, 1, piece.s, piece.n);
        tnb_buf_free(&piece);
    }
    put_field(out, 2, trainer, sizeof trainer);
    put_field(out, 3, normalizer, sizeof normalizer);
}

static void
unigram_gguf(tnb_buf *out)
{
    put_head(out, 7);
    put_string(out, "tokenizer.ggml.model", "t5");
    put_array(out, "tokenizer.ggml.tokens", TNB_GGUF_STRING, N_PIECES);
    for (size_t i = 0; i < N_PIECES; i++)
        put_text(out, PIECES[i].s, strlen(PIECES[i].s));
    put_array(out, "tokenizer.ggml.scores", TNB_GGUF_FLOAT32, N_PIECES);
    for (size_t i = 0; i < N_PIECES; i++)
        tnb_buf_put(out, &PIECES[i].score, 4);
    put_array(out, "tokenizer.ggml.token_type", TNB_GGUF_INT32, N_PIECES);
    for (size_t i = 0; i < N_PIECES; i++)
        put(out, PIECES[i].kind, 4);
    put_key(out, "tokenizer.ggml.unknown_token_id", TNB_GGUF_UINT32);
    put(out, 0, 4);
    put_key(out, "tokenizer.ggml.add_space_prefix", TNB_GGUF_BOOL);
    put(out, 0, 1);
    put_key(out, "tokenizer.ggml.add_eos_token", TNB_GGUF_BOOL);
    put(out, 0, 1);
}

static void
check_unigram(tnb_buf *file, const char *text, const char *want)
{
    tnb_buf got = {0};
    tnb_err err = {0};
    tnl_tokenizer *t;
    int32_t *ids;
    size_t n;
    if (tnl_tokenizer_read(file->s, file->n, "pieces", &t, &err) != TNB_OK)
        fail_msg("%s", err.message);
    assert_int_equal(tnl_encode(t, text, strlen(text), 0, &ids, &n, &err), TNB_OK);
    for (size_t i = 0; i < n; i++)
        tnb_buf_printf(&got, i ? " %d" : "%d", ids[i]);
    tnb_buf_putc(&got, 0);
    assert_string_equal(got.s, want);
    free(ids);
    tnl_tokenizer_free(t);
    tnb_buf_free(&got);
}

static void
unigram_sums_are_those_of_the_file_s_library(void **state)
{
    tnb_buf model = {0}, gguf = {0};
    (void)state;
    unigram_model(&model);
    unigram_gguf(&gguf);
    /* SentencePiece gives abc 0.2 and ab 0.1. llama.cpp cuts user-defined pieces out beforehand, longer ones first. */
    check_unigram(&model, "abcd", "2 4");
    check_unigram(&gguf, "abcd", "2 4");
    /* Beside -120000 a float32 has no thousandths: SentencePiece counts anew, llama.cpp has float64. */
    check_unigram(&model, "bbaa", "5 6 6");
    check_unigram(&gguf, "bbaa", "5 6 6");
    /* Unused pieces are not found by SentencePiece. */
    check_unigram(&model, "cde", "3 0");
    check_unigram(&gguf, "cde", "3 8");
    tnb_buf_free(&model);
    tnb_buf_free(&gguf);
}

/* As `tokenizers` gives them: a piece that was added is cut out where it is a word, and the model does not find it. */
static void
added_tokens_are_no_pieces_of_the_unigram_model(void **state)
{
    static const char text[] =
        "{\"added_tokens\": [{\"id\": 4, \"content\": \"ab\", \"single_word\": true, "
        "\"normalized\": false, \"special\": false}], \"model\": {\"type\": \"Unigram\", "
        "\"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"a\", -1], [\"b\", -1], [\"c\", -1]]}}";
    tnb_buf file = {0};
    (void)state;
    tnb_buf_puts(&file, text);
    check_unigram(&file, "ab", "4");
    check_unigram(&file, "cab", "3 1 2");
    tnb_buf_free(&file);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_pre_tokenizers_cut_their_words),
        cmocka_unit_test(unigram_sums_are_those_of_the_file_s_library),
        cmocka_unit_test(added_tokens_are_no_pieces_of_the_unigram_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
