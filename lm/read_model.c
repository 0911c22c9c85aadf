/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer.model: SentencePiece's ModelProto (sentencepiece_model.proto), and tokenizer.bin of llama2.c. */
#include "tokenizer.h"

#include "tenon/base/wire.h"

static tnb_status
damaged(const char *why, tnb_err *err)
{
    return tnb_fail(err, TNB_FORMAT, "this is no SentencePiece model, or a damaged one: %s", why);
}

static float
float_of(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

/* Calls `take` for each field of a message. */
static tnb_status
fields(tnl_tokenizer *t, const uint8_t *p, uint64_t n,
       tnb_status (*take)(tnl_tokenizer *, const tnb_wire_field *, void *, tnb_err *), void *user,
       tnb_err *err)
{
    const uint8_t *end = p + n;
    while (p < end) {
        tnb_wire_field f;
        const char *why = tnb_wire_next(&p, end, &f);
        if (why)
            return damaged(why, err);
        TNB_TRY(take(t, &f, user, err));
    }
    return TNB_OK;
}

/* ---- SentencePiece ---- */
typedef struct piece {
    const char *s;
    uint64_t n;
    float score;
    uint64_t kind;
} piece;

typedef struct model {
    uint64_t n_pieces;
    uint64_t kind; /* 1 unigram, 2 BPE, 3 word, 4 char */

    int64_t meaning[TNL_PADDING + 1];
    tnl_normalizer *normal;
} model;

static tnb_status
take_piece(tnl_tokenizer *t, const tnb_wire_field *f, void *user, tnb_err *err)
{
    piece *p = user;
    (void)t;
    (void)err;
    if (f->number == 1 && f->type == TNB_WIRE_BYTES) {
        p->s = (const char *)f->data;
        p->n = f->n;
    } else if (f->number == 2 && f->type == TNB_WIRE_FIXED32) {
        p->score = float_of(f->value);
    } else if (f->number == 3 && f->type == TNB_WIRE_VARINT) {
        p->kind = f->value;
    }
    return TNB_OK;
}

static tnb_status
take_trainer(tnl_tokenizer *t, const tnb_wire_field *f, void *user, tnb_err *err)
{
    model *m = user;
    (void)err;
    if (f->type != TNB_WIRE_VARINT)
        return TNB_OK;
    switch (f->number) {
    case 3:
        m->kind = f->value;
        break;
    case 24:
        m->normal->suffix = f->value;
        break;
    case 35:
        t->byte_fallback = f->value;
        break;
    case 40:
        m->meaning[TNL_UNKNOWN] = (int64_t)f->value;
        break;
    case 41:
        m->meaning[TNL_BEGIN_OF_TEXT] = (int64_t)f->value;
        break;
    case 42:
        m->meaning[TNL_END_OF_TEXT] = (int64_t)f->value;
        break;
    case 43:
        m->meaning[TNL_PADDING] = (int64_t)f->value;
        break;
    default:
        break;
    }
    return TNB_OK;
}

static tnb_status
take_normalizer(tnl_tokenizer *t, const tnb_wire_field *f, void *user, tnb_err *err)
{
    tnl_normalizer *z = ((model *)user)->normal;
    if (f->number == 2 && f->type == TNB_WIRE_BYTES && f->n &&
        !tnl_charsmap_open((const char *)f->data, f->n, t->arena, &z->map))
        return damaged("its table of characters is cut off", err);
    if (f->type == TNB_WIRE_VARINT) {
        z->dummy_prefix = f->number == 3 ? f->value != 0 : z->dummy_prefix;
        z->remove_extra = f->number == 4 ? f->value != 0 : z->remove_extra;
        z->escape = f->number == 5 ? f->value != 0 : z->escape;
    }
    return TNB_OK;
}

static tnb_status
count_piece(tnl_tokenizer *t, const tnb_wire_field *f, void *user, tnb_err *err)
{
    model *m = user;
    if (f->number == 1 && f->type == TNB_WIRE_BYTES)
        m->n_pieces++;
    else if (f->number == 2 && f->type == TNB_WIRE_BYTES)
        return fields(t, f->data, f->n, take_trainer, m, err);
    else if (f->number == 3 && f->type == TNB_WIRE_BYTES)
        return fields(t, f->data, f->n, take_normalizer, m, err);
    return TNB_OK;
}

static tnb_status
add_piece(tnl_tokenizer *t, const tnb_wire_field *f, void *user, tnb_err *err)
{
    uint64_t *at = user;
    if (f->number != 1 || f->type != TNB_WIRE_BYTES)
        return TNB_OK;
    piece p = {.s = "", .kind = TNL_NORMAL};
    TNB_TRY(fields(t, f->data, f->n, take_piece, &p, err));
    if (p.kind < TNL_NORMAL || p.kind > TNL_BYTE || !p.n)
        return tnb_fail(err, TNB_FORMAT, "piece %llu is empty or of the unknown type %llu",
                        (unsigned long long)*at, (unsigned long long)p.kind);
    TNB_TRY(tnl_set_token(t, *at, p.s, p.n, p.score, (tnl_token_kind)p.kind, err));
    if (p.kind == TNL_UNKNOWN_TOKEN)
        t->unknown = (int32_t)*at;
    if (p.kind == TNL_CONTROL) {
        tnl_added a = {.id = (int32_t)*at, .text = {t->tokens[*at].s, p.n}, .special = true};
        TNB_TRY(tnl_add_added(t, a, err));
    }
    ++*at;
    return TNB_OK;
}

tnb_status
tnl_read_model(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err)
{
    model m = {.kind = 1, .meaning = {1, 2, 0, -1}};
    uint64_t at = 0;
    m.normal = tnl_add_normalizer(t, TNL_SENTENCEPIECE);
    m.normal->dummy_prefix = m.normal->remove_extra = m.normal->escape = true;
    TNB_TRY(fields(t, (const uint8_t *)bytes, n, count_piece, &m, err));
    if (!m.n_pieces)
        return damaged("it has no pieces", err);
    if (m.kind != 1 && m.kind != 2)
        return tnb_fail(
            err, TNB_UNSUPPORTED,
            "a SentencePiece model of %s is not among those that Tenon has (unigram, BPE)",
            m.kind == 3   ? "words"
            : m.kind == 4 ? "characters"
                          : "an unknown type");
    t->model = m.kind == 1 ? TNL_UNIGRAM_MODEL : TNL_BPE_SCORED;
    t->decoder = TNL_DECODE_SENTENCEPIECE;
    t->fuse_unknown = t->of_sentencepiece = t->one_error_a_byte = true;
    t->strip_first_space = m.normal->dummy_prefix || m.normal->remove_extra;
    t->strip_leading = m.normal->remove_extra;
    TNB_TRY(tnl_set_count(t, m.n_pieces, err));
    TNB_TRY(fields(t, (const uint8_t *)bytes, n, add_piece, &at, err));
    for (int i = 0; i <= TNL_PADDING; i++)
        t->meaning[i] =
            m.meaning[i] >= 0 && m.meaning[i] < (int64_t)t->n_tokens ? (int32_t)m.meaning[i] : -1;
    if (t->meaning[TNL_BEGIN_OF_TEXT] >= 0) {
        t->before = TNB_NEW_N(t->arena, int32_t, 64);
        t->before[t->n_before++] = t->meaning[TNL_BEGIN_OF_TEXT];
    }
    return tnl_finish(t, err);
}

/* ---- llama2.c ---- */
/* The longest token, then for each a score, a length and as many bytes, to the end of the file. Spaces are spaces. The first three are
 * unknown, begin and end, whatever is written there; bytes stand as <0x0A> behind them. */
static uint32_t
load32(const char *s)
{
    const uint8_t *p = (const uint8_t *)s;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

tnb_status
tnl_read_bin(tnl_tokenizer *t, const char *bytes, size_t n, tnb_err *err)
{
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    uint64_t count = 0, longest = n >= 4 ? load32(bytes) : 0;
    for (size_t at = 4; at < n; count++) {
        uint64_t length = n - at >= 8 ? load32(bytes + at + 4) : UINT64_MAX;
        if (length > longest || length > n - at - 8) {
            tnb_fail(err, TNB_FORMAT,
                     "this is no tokenizer (a tokenizer.json, tokenizer.model, GGUF file, or "
                     "tokenizer.bin of llama2.c), or a damaged one: at byte %zu no token of at "
                     "most %llu bytes",
                     at, (unsigned long long)longest);
            return TNB_FORMAT;
        }
        at += 8 + length;
    }
    if (count < 259)
        return tnb_fail(err, TNB_FORMAT,
                        "this is no tokenizer: %llu tokens, where unknown, begin, end and 256 "
                        "bytes are the fewest",
                        (unsigned long long)count);
    t->model = TNL_BPE_SCORED;
    t->decoder = TNL_DECODE_PLAIN;
    t->byte_fallback = t->one_error_a_byte = true;
    t->unknown = 0;
    TNB_TRY(tnl_set_count(t, count, err));
    for (size_t at = 4, i = 0; at < n; i++) {
        uint32_t length = load32(bytes + at + 4);
        if (i < 3)
            TNB_TRY(tnl_set_token(t, i, first[i], strlen(first[i]), 0,
                                  i ? TNL_CONTROL : TNL_UNKNOWN_TOKEN, err));
        else
            TNB_TRY(tnl_set_token(t, i, bytes + at + 8, length, float_of(load32(bytes + at)),
                                  i < 259 ? TNL_BYTE : TNL_NORMAL, err));
        at += 8 + length;
    }
    tnl_add_normalizer(t, TNL_PREPEND)->content = (tnl_text){" ", 1};
    t->meaning[TNL_UNKNOWN] = 0;
    t->meaning[TNL_BEGIN_OF_TEXT] = 1;
    t->meaning[TNL_END_OF_TEXT] = 2;
    t->before = TNB_NEW_N(t->arena, int32_t, 64);
    t->before[t->n_before++] = 1;
    for (int i = 1; i < 3; i++) {
        tnl_added a = {.id = i, .text = {t->tokens[i].s, t->tokens[i].n}, .special = true};
        TNB_TRY(tnl_add_added(t, a, err));
    }
    return tnl_finish(t, err);
}
