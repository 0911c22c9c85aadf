/* SPDX-License-Identifier: Apache-2.0 */
/* Tokenizers: text to token ids and back.
 *
 *     tnl_tokenizer *t;                    tnl_tokenizer_open("model/tokenizer.json", &t, &err)
 *     int32_t *ids; size_t n;              tnl_encode(t, text, strlen(text), 0, &ids, &n, &err)
 *     tnl_stream *s;                       tnl_stream_new(t, 0, &s, &err); tnl_stream_put(s, id, &out)
 *
 * Byte-level BPE and SentencePiece (BPE and unigram), read from Hugging Face's tokenizer.json,
 * SentencePiece's tokenizer.model, a GGUF file's metadata, or a tokenizer.bin of llama2.c. The ids are those that
 * Hugging Face's `tokenizers`, SentencePiece, llama.cpp and llama2.c give for the same file. What a file asks for and this
 * library lacks is refused when it is opened (TNB_UNSUPPORTED).
 *
 * A tokenizer does not change once opened: threads may share it. Texts are UTF-8; bytes that are none are read as U+FFFD. Classes of
 * characters in regular expressions are those of pcre2's version of Unicode, normal forms those of utf8proc's
 * (tnl_unicode_versions). Wrong arguments are TNB_INVALID, as in tenon/rt/vm.h. */
#ifndef TENON_LM_TOKENIZER_H
#define TENON_LM_TOKENIZER_H

#include <stdbool.h>
#include "tenon/base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnl_tokenizer tnl_tokenizer;

/* Of a file, by its content: JSON, GGUF, protobuf or llama2.c's; or of a folder, which has tokenizer.json or tokenizer.model,
 * with what tokenizer_config.json beside either says of the beginning and the end of text. The caller's, to be given to
 * tnl_tokenizer_free. TNB_FORMAT: damaged; TNB_UNSUPPORTED: it asks for something that is not
 * here; TNB_BOUNDS: larger than 256 MiB; TNB_NOT_FOUND: a folder without a tokenizer. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_tokenizer_open(const char *path, tnl_tokenizer **out, tnb_err *err);
/* Of n bytes, which are copied as far as they are needed; `name` is for messages. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_tokenizer_read(const void *bytes, size_t n, const char *name, tnl_tokenizer **out,
                   tnb_err *err);
TNB_EXPORT void
tnl_tokenizer_free(tnl_tokenizer *t); /* NULL is fine */

/* One above the highest id. */
TNB_EXPORT uint32_t
tnl_token_count(const tnl_tokenizer *t);
/* The token's text as the file has it (with the letters that stand for bytes), NULL: no token has the id. Borrowed. */
TNB_EXPORT const char *
tnl_token_text(const tnl_tokenizer *t, int32_t id);
/* -1: no token has this text. */
TNB_EXPORT int32_t
tnl_find_token(const tnl_tokenizer *t, const char *text);
/* Whether the token is a mark for the model, such as the end of text, that is no text itself. */
TNB_EXPORT bool
tnl_token_is_special(const tnl_tokenizer *t, int32_t id);

/* Tokens with a meaning, as the file or tokenizer_config.json beside it says; -1: none. */
typedef enum tnl_meaning {
    TNL_BEGIN_OF_TEXT,
    TNL_END_OF_TEXT,
    TNL_UNKNOWN,
    TNL_PADDING
} tnl_meaning;
TNB_EXPORT int32_t
tnl_meaning_token(const tnl_tokenizer *t, tnl_meaning m);
/* The chat template that the file or tokenizer_config.json beside it has; NULL: none. Borrowed. */
TNB_EXPORT const char *
tnl_chat_template(const tnl_tokenizer *t);
/* "Unicode 14.0.0 (pcre2), 15.0.0 (utf8proc)". */
TNB_EXPORT const char *
tnl_unicode_versions(void);

/* ---- encoding ---- */
enum {
    TNL_ADD_SPECIAL =
        1, /* with the tokens that the file puts around a text, as the beginning of text */
    TNL_PLAIN_SPECIAL =
        2 /* marks that stand in the text are text like any other, not special tokens */
};

/* The ids of n bytes: *ids is the caller's, to be given to free(), also when there are none. Takes time near
 * linear in n. TNB_BOUNDS: more than 1 GiB, or a regular expression went beyond its limits; TNB_INVALID: an
 * unknown flag. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_encode(const tnl_tokenizer *t, const char *text, size_t n, uint32_t flags, int32_t **ids,
           size_t *n_ids, tnb_err *err);

/* How many of n bytes there are in front of the first that is no UTF-8; n: all are text. tnl_encode takes others as U+FFFD. */
TNB_EXPORT size_t
tnl_valid_bytes(const char *text, size_t n);

/* ---- decoding ---- */
enum {
    TNL_SKIP_SPECIAL = 4 /* special tokens give no text */
};

/* Appends the text of the ids; an id that no token has gives none. TNB_NO_MEMORY, also when `out` had failed before. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_decode(const tnl_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags, tnb_buf *out,
           tnb_err *err);

/* Text as tokens come. What is put out is whole characters: bytes of one that is not complete wait for the
 * next token. Put together it is the text that tnl_decode gives, but that in runs of tokens of single bytes each
 * byte that belongs to no character becomes U+FFFD, whatever comes behind it. */
typedef struct tnl_stream tnl_stream;
/* The caller's, to be given to tnl_stream_free; borrows the tokenizer. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_stream_new(const tnl_tokenizer *t, uint32_t flags, tnl_stream **out, tnb_err *err);
/* Appends what the token adds. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_stream_put(tnl_stream *s, int32_t id, tnb_buf *out, tnb_err *err);
/* The end of the text: appends what still waits, as U+FFFD. The stream then begins anew. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnl_stream_end(tnl_stream *s, tnb_buf *out, tnb_err *err);
TNB_EXPORT void
tnl_stream_free(tnl_stream *s); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
