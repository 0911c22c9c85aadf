/* SPDX-License-Identifier: Apache-2.0 */
/* What a tokenizer is inside. Readers (read_*.c) fill one; encode.c runs it:
 *
 *   text -> added tokens cut out -> normalizers -> added tokens of normalized text cut out -> pre-tokenizers -> model -> ids
 *
 * as Hugging Face's `tokenizers` does. The other formats are expressed in the same steps. */
#ifndef TENON_LM_PRIVATE_TOKENIZER_H
#define TENON_LM_PRIVATE_TOKENIZER_H

#include "tenon/lm/tokenizer.h"

/* ---- texts that are not terminated ---- */
typedef struct tnl_text {
    const char *s;
    size_t n;
} tnl_text;

/* ---- UTF-8 (utf8.c) ---- */
/* The length of the character at s, n >= 1 bytes: 1 to 4 with its code in `c`; for bytes that are none 0, and
 * `bad` is the length of the longest beginning of a character there, at least 1. `cut`: the n bytes
 * end within a character that is right so far. */
typedef struct tnl_char {
    uint32_t code;
    uint8_t n, bad;
    bool cut;
} tnl_char;
tnl_char
tnl_char_at(const char *s, size_t n);
void
tnl_put_char(tnb_buf *b, uint32_t code);
/* White_Space, as \s of the regular expressions that tokenizers use. */
bool
tnl_is_space(uint32_t code);
/* A letter, mark, digit or connector, as \w. */
bool
tnl_is_word(uint32_t code);
bool
tnl_is_numeric(uint32_t code);
bool
tnl_is_punctuation(uint32_t code);
#define TNL_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define TNL_LOW_LINE "\xe2\x96\x81"    /* U+2581, SentencePiece's space */

/* ---- tables (table.c) ---- */
/* From texts to numbers; the texts are borrowed. */
typedef struct tnl_table {
    struct tnl_entry {
        const char *s;
        uint32_t n;
        int32_t id;
    } * at;
    uint32_t cap, n;
} tnl_table;
bool
tnl_table_add(tnb_arena *a, tnl_table *t, const char *s, size_t n,
              int32_t id); /* keeps the first */
int32_t
tnl_table_find(const tnl_table *t, const char *s, size_t n); /* -1: none */

/* From pairs of ids to what they merge to. */
typedef struct tnl_pairs {
    struct tnl_pair {
        int32_t left, right, id; /* left -1: empty */
        uint32_t rank;
    } * at;
    uint32_t cap, n;
} tnl_pairs;
bool
tnl_pairs_add(tnb_arena *a, tnl_pairs *t, int32_t left, int32_t right, int32_t id, uint32_t rank);
const struct tnl_pair *
tnl_pairs_find(const tnl_pairs *t, int32_t left, int32_t right);

/* A trie of texts by bytes. */
typedef struct tnl_trie {
    struct tnl_edge {
        uint32_t from; /* node + 1; 0: empty */
        uint32_t to;
        uint8_t byte;
    } * edges;
    int32_t *value; /* by node; -1: none */
    uint32_t cap, n_edges, n_nodes, cap_nodes;
} tnl_trie;
bool
tnl_trie_add(tnb_arena *a, tnl_trie *t, const char *s, size_t n, int32_t value);
/* The node behind `node` (0: the root) by a byte; 0: none. */
uint32_t
tnl_trie_step(const tnl_trie *t, uint32_t node, uint8_t byte);
/* The longest text of the trie that s begins with: its value, -1 if none. */
int32_t
tnl_trie_longest(const tnl_trie *t, const char *s, size_t n, size_t *length);

/* ---- steps ---- */
struct pcre2_real_code_8;
typedef enum tnl_normal {
    TNL_NFC,
    TNL_NFD,
    TNL_NFKC,
    TNL_NFKD,
    TNL_LOWERCASE,
    TNL_STRIP_ACCENTS,
    TNL_STRIP,
    TNL_REPLACE,
    TNL_PREPEND,
    TNL_CHARSMAP,      /* SentencePiece's table of replacements, as `tokenizers` applies it */
    TNL_SENTENCEPIECE, /* SentencePiece's own normalizer */
    TNL_BYTE_LETTERS
} tnl_normal;
/* SentencePiece's table: a double array (darts-clone) and the replacements, each terminated. */
typedef struct tnl_charsmap {
    const uint32_t *units;
    uint32_t n_units, n_text;
    const char *text;
} tnl_charsmap;
typedef struct tnl_normalizer {
    tnl_normal kind;
    bool left, right;                                /* STRIP */
    struct pcre2_real_code_8 *regex;                 /* REPLACE: NULL: of `pattern` */
    tnl_text pattern, content;                       /* REPLACE; PREPEND: content */
    tnl_charsmap map;                                /* CHARSMAP, SENTENCEPIECE */
    bool dummy_prefix, remove_extra, escape, suffix; /* SENTENCEPIECE */
} tnl_normalizer;

typedef enum tnl_split_kind {
    TNL_SPLIT,      /* by a pattern */
    TNL_BYTE_LEVEL, /* [prefix space, pattern,] letters for bytes */
    TNL_METASPACE,
    TNL_DIGITS,
    TNL_PUNCTUATION,
    TNL_SPACES
} tnl_split_kind;
typedef enum tnl_behavior {
    TNL_REMOVED,
    TNL_ISOLATED,
    TNL_MERGED_WITH_PREVIOUS,
    TNL_MERGED_WITH_NEXT,
    TNL_CONTIGUOUS
} tnl_behavior;
typedef enum tnl_prepend { TNL_ALWAYS, TNL_FIRST, TNL_NEVER } tnl_prepend;
typedef struct tnl_splitter {
    tnl_split_kind kind;
    tnl_behavior behavior;
    bool invert;
    bool prefix_space;   /* BYTE_LEVEL */
    bool individual;     /* DIGITS */
    bool split;          /* METASPACE */
    tnl_prepend prepend; /* METASPACE */
    tnl_text text;       /* SPLIT: a pattern that is a text; METASPACE: what stands for a space */
    struct pcre2_real_code_8 *regex; /* SPLIT, BYTE_LEVEL; NULL: none */
} tnl_splitter;

/* ---- tokens ---- */
typedef enum tnl_token_kind {
    TNL_HOLE = 0,
    TNL_NORMAL = 1, /* as SentencePiece numbers them */
    TNL_UNKNOWN_TOKEN = 2,
    TNL_CONTROL = 3,
    TNL_USER_DEFINED = 4,
    TNL_UNUSED = 5,
    TNL_BYTE = 6
} tnl_token_kind;
typedef struct tnl_token {
    const char *s; /* terminated */
    uint32_t n;
    double score;
    uint8_t kind;
    uint8_t byte; /* of TNL_BYTE */
    bool special; /* skipped by TNL_SKIP_SPECIAL */
    bool added;   /* cut out of texts before the model sees them */
} tnl_token;
typedef struct tnl_added {
    int32_t id;
    tnl_text text;
    bool single_word, lstrip, rstrip, normalized, special;
} tnl_added;

typedef enum tnl_model {
    TNL_BPE_RANKED, /* merges by rank, a pair of tokens each */
    TNL_BPE_SCORED, /* two pieces merge where the vocabulary has both together, the highest score first */
    TNL_UNIGRAM_MODEL
} tnl_model;

/* How the text of a token comes about. */
typedef enum tnl_decoder {
    TNL_DECODE_SPACED,        /* tokens with a space between them */
    TNL_DECODE_BYTE_LETTERS,  /* letters for bytes */
    TNL_DECODE_PIECES,        /* U+2581 is a space, <0xHH> a byte; the first space may go */
    TNL_DECODE_SENTENCEPIECE, /* the same with SentencePiece's rules */
    TNL_DECODE_PLAIN          /* tokens as they stand, <0xHH> a byte; of llama2.c */
} tnl_decoder;

struct tnl_tokenizer {
    tnb_arena *arena;
    char *name;
    tnl_token *tokens;
    uint32_t n_tokens;
    tnl_table ids;        /* all tokens */
    tnl_table pieces;     /* those that the model may find */
    int32_t of_byte[256]; /* -1: none */

    tnl_model model;
    tnl_pairs pairs;
    tnl_trie trie; /* of the unigram model */
    tnl_trie user; /* user-defined pieces, which are never merged or normalized */
    bool has_user;
    bool of_sentencepiece; /* the unigram model sums scores as SentencePiece does */
    bool byte_fallback, fuse_unknown, ignore_merges;
    int32_t unknown;
    double unknown_score;

    tnl_normalizer *normalizers;
    uint32_t n_normalizers;
    tnl_splitter *splitters;
    uint32_t n_splitters;
    tnl_added *added;
    uint32_t n_added, cap_added;
    tnl_trie added_raw, added_normalized;
    bool has_added_raw, has_added_normalized;
    int32_t *before, *after; /* what TNL_ADD_SPECIAL puts around a text */
    uint32_t n_before, n_after;

    tnl_decoder decoder;
    bool strip_first_space, whole_runs, one_error_a_byte;
    bool strip_pieces; /* of the first token every space goes */
    bool
        strip_leading; /* of SentencePiece: of pieces that are spaces, all before the first other one */

    int32_t meaning[TNL_PADDING + 1];
    const char *chat_template;
    struct pcre2_real_code_8 **regexes; /* all, to be freed */
    uint32_t n_regexes, cap_regexes;
};

/* ---- tokenizer.c, for readers ---- */
/* Room for n tokens, all holes. */
tnb_status
tnl_set_count(tnl_tokenizer *t, uint64_t n, tnb_err *err);
/* The text is copied. TNB_FORMAT: the id is taken, or the text holds a zero byte. */
tnb_status
tnl_set_token(tnl_tokenizer *t, uint64_t id, const char *s, size_t n, double score,
              tnl_token_kind kind, tnb_err *err);
tnb_status
tnl_add_added(tnl_tokenizer *t, tnl_added a, tnb_err *err);
tnl_normalizer *
tnl_add_normalizer(tnl_tokenizer *t, tnl_normal kind);
tnl_splitter *
tnl_add_splitter(tnl_tokenizer *t, tnl_split_kind kind);
tnl_text
tnl_keep(tnl_tokenizer *t, const char *s, size_t n);
/* What readers of all formats do at the end: bytes' tokens, tables, scores. */
tnb_status
tnl_finish(tnl_tokenizer *t, tnb_err *err);
/* A merge of two tokens' texts; rank: below the others first. */
tnb_status
tnl_add_merge(tnl_tokenizer *t, tnl_text left, tnl_text right, uint32_t rank, tnb_err *err);

/* The formats; `t` is fresh. */
tnb_status
tnl_read_json(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err);
tnb_status
tnl_read_config(tnl_tokenizer *t, const char *bytes, size_t n,
                tnb_err *err); /* tokenizer_config.json */
tnb_status
tnl_read_gguf(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err);
tnb_status
tnl_read_model(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err);
tnb_status
tnl_read_bin(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err);

/* ---- regex.c ---- */
/* Compiles a pattern of the tokenizers' kind (Oniguruma, of Python's rules for \s); it belongs to the tokenizer. */
tnb_status
tnl_regex(tnl_tokenizer *t, const char *s, size_t n, struct pcre2_real_code_8 **out, tnb_err *err);
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
/* What matching needs, one a call of tnl_encode. */
typedef struct tnl_matcher {
    struct pcre2_real_match_data_8 *data;
    struct pcre2_real_match_context_8 *context;
    struct pcre2_real_jit_stack_8 *stack;
} tnl_matcher;
tnb_status
tnl_matcher_new(tnl_matcher *m, tnb_err *err);
void
tnl_matcher_free(tnl_matcher *m);
/* The next match that is not empty in s from `at` on. *found false: none. */
tnb_status
tnl_match(tnl_matcher *m, const struct pcre2_real_code_8 *re, tnl_text s, size_t at, bool *found,
          size_t *from, size_t *to, tnb_err *err);

/* ---- normalize.c, split.c ---- */
/* What normalizers, and pre-tokenizers, may make of n bytes. */
size_t
tnl_most_text(size_t n);
/* Appends the text after all normalizers to `out`. TNB_BOUNDS: more than tnl_most_text. */
tnb_status
tnl_normalize(const tnl_tokenizer *t, tnl_matcher *m, tnl_text s, tnb_buf *out, tnb_err *err);
/* The letter that stands for a byte in byte-level vocabularies, and back; -1: none. */
uint32_t
tnl_byte_letter(uint8_t byte);
int
tnl_letter_byte(uint32_t code);
/* False, leaving `out` empty, unless the table is one. */
bool
tnl_charsmap_open(const char *s, size_t n, tnb_arena *a, tnl_charsmap *out);

/* Pieces of a text, one after another in `text`. */
typedef struct tnl_pieces {
    tnb_buf text;
    size_t *end; /* of each piece */
    size_t n, cap;
    bool first; /* the first piece begins the whole text */
} tnl_pieces;
void
tnl_pieces_free(tnl_pieces *p);
/* Where `p` holds one piece, all splitters are applied to it. */
tnb_status
tnl_split(const tnl_tokenizer *t, tnl_matcher *m, tnl_pieces *p, tnb_err *err);

/* ---- merge.c, unigram.c ---- */
typedef struct tnl_ids {
    int32_t *at;
    size_t n, cap;
} tnl_ids;
tnb_status
tnl_push(tnl_ids *ids, int32_t id, tnb_err *err);
/* Appends the bytes' tokens, or the unknown one. `joined`: the unknown token follows on an unknown one. */
tnb_status
tnl_push_unknown(const tnl_tokenizer *t, tnl_text s, bool *joined, tnl_ids *ids, tnb_err *err);
/* Memory that words share. */
typedef struct tnl_scratch {
    struct tnl_symbol *symbols;
    struct tnl_candidate *heap;
    size_t cap, heap_cap;
} tnl_scratch;
tnb_status
tnl_merge(const tnl_tokenizer *t, tnl_text s, tnl_scratch *scratch, tnl_ids *ids, tnb_err *err);
tnb_status
tnl_unigram(const tnl_tokenizer *t, tnl_text s, tnl_ids *ids, tnb_err *err);

#endif
