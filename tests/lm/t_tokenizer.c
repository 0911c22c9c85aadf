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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_pre_tokenizers_cut_their_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
