/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and decodes texts for tests in other languages:
 *
 *     tokenize FILE FLAGS DECODE_FLAGS
 *
 * reads texts from standard input, each as its length in decimal, a line feed and so many bytes. For each it writes three lines:
 * the ids, the text that they give in hexadecimal, and that which they give one by one. */
#include <stdio.h>
#include <stdlib.h>
#include "tenon/lm/tokenizer.h"

static int
complain(const tnb_err *err)
{
    fprintf(stderr, "tokenize: %s\n", err->message);
    return 1;
}

static void
print_hex(const tnb_buf *b)
{
    for (size_t i = 0; i < b->n; i++)
        printf("%02x", (unsigned char)b->s[i]);
    putchar('\n');
}

static tnb_status
text_back(const tnl_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags, tnb_err *err)
{
    tnb_buf whole = {0}, parts = {0};
    tnl_stream *s;
    TNB_TRY(tnl_decode(t, ids, n, flags, &whole, err));
    print_hex(&whole);
    TNB_TRY(tnl_stream_new(t, flags, &s, err));
    for (size_t i = 0; i < n; i++)
        TNB_TRY(tnl_stream_put(s, ids[i], &parts, err));
    TNB_TRY(tnl_stream_end(s, &parts, err));
    print_hex(&parts);
    tnl_stream_free(s);
    tnb_buf_free(&whole);
    tnb_buf_free(&parts);
    return TNB_OK;
}

int
main(int argc, char **argv)
{
    tnb_err err = {0};
    tnl_tokenizer *t;
    if (argc != 4)
        return 2;
    if (tnl_tokenizer_open(argv[1], &t, &err) != TNB_OK)
        return complain(&err);
    for (size_t n; scanf("%zu", &n) == 1;) {
        char *text = malloc(n + 1);
        int32_t *ids;
        size_t n_ids;
        if (!text || getchar() != '\n' || fread(text, 1, n, stdin) != n)
            return 2;
        if (tnl_encode(t, text, n, (uint32_t)atoi(argv[2]), &ids, &n_ids, &err) != TNB_OK)
            return complain(&err);
        for (size_t i = 0; i < n_ids; i++)
            printf("%s%d", i ? " " : "", ids[i]);
        putchar('\n');
        if (text_back(t, ids, n_ids, (uint32_t)atoi(argv[3]), &err) != TNB_OK)
            return complain(&err);
        free(ids);
        free(text);
    }
    tnl_tokenizer_free(t);
    return 0;
}
