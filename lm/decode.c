/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding, at once and as tokens come: a token gives bytes, bytes give characters. */
#include "tokenizer.h"

#include <stdlib.h>

struct tnl_stream {
    const tnl_tokenizer *t;
    uint32_t flags;
    bool whole_runs; /* a run of byte tokens is text only if all of it is */
    bool begun;      /* a token was there */
    bool wrote;      /* a piece that counts as the beginning was put out */
    bool run;        /* the bytes that wait are of byte tokens */
    tnb_buf wait;
};

/* Whether the bytes are characters, all of them. */
static bool
is_text(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        tnl_char c = tnl_char_at(s + i, n - i);
        if (!c.n)
            return false;
        i += c.n;
    }
    return true;
}

/* Puts out what waits: whole characters, U+FFFD for what is none; at the end also for the beginning of one. */
static void
flush(tnl_stream *s, bool end, tnb_buf *out)
{
    size_t i = 0;
    bool single = s->run || s->t->one_error_a_byte;
    if (s->run && s->whole_runs && !is_text(s->wait.s, s->wait.n)) {
        for (; i < s->wait.n; i++)
            tnb_buf_puts(out, TNL_REPLACEMENT);
    }
    while (i < s->wait.n) {
        tnl_char c = tnl_char_at(s->wait.s + i, s->wait.n - i);
        if (!c.n && c.cut && !end)
            break;
        if (c.n)
            tnb_buf_put(out, s->wait.s + i, c.n);
        else
            tnb_buf_puts(out, TNL_REPLACEMENT);
        i += c.n ? c.n : single ? 1 : c.bad;
    }
    memmove(s->wait.s, s->wait.s + i, s->wait.n - i);
    s->wait.n -= i;
}

static void
put_bytes(tnl_stream *s, const char *bytes, size_t n, bool run, tnb_buf *out)
{
    if (s->wait.n && run != s->run)
        flush(s, true, out);
    s->run = run;
    tnb_buf_put(&s->wait, bytes, n);
    if (!s->wait.failed && s->wait.n && !(run && s->whole_runs))
        flush(s, false, out);
}

/* Letters for bytes; a token that has others too stands for itself. */
static void
put_letters(tnl_stream *s, const tnl_token *k, tnb_buf *out)
{
    tnb_buf b = {0};
    bool all = true;
    for (size_t i = 0; i < k->n && all;) {
        tnl_char c = tnl_char_at(k->s + i, k->n - i);
        int byte = c.n ? tnl_letter_byte(c.code) : -1;
        all = byte >= 0;
        tnb_buf_putc(&b, (char)byte);
        i += c.n ? c.n : 1;
    }
    s->wait.failed |= b.failed;
    put_bytes(s, all && b.s ? b.s : k->s, all ? b.n : k->n, false, out);
    tnb_buf_free(&b);
}

/* Pieces with U+2581 for a space. `first`: this token may lose spaces at its beginning. */
static void
put_piece(tnl_stream *s, const tnl_token *k, bool first, tnb_buf *out)
{
    const size_t mark = sizeof TNL_LOW_LINE - 1;
    tnb_buf b = {0};
    for (size_t i = 0; i < k->n;) {
        bool space = k->n - i >= mark && memcmp(k->s + i, TNL_LOW_LINE, mark) == 0;
        if (!(space && first && s->t->strip_pieces))
            tnb_buf_put(&b, space ? " " : k->s + i, 1);
        i += space ? mark : 1;
    }
    bool drop = first && s->t->strip_first_space && b.n && b.s[0] == ' ';
    s->wait.failed |= b.failed;
    put_bytes(s, b.n ? b.s + drop : "", b.n - (b.n ? drop : 0), false, out);
    tnb_buf_free(&b);
}

static void
put_token(tnl_stream *s, int32_t id, tnb_buf *out)
{
    const tnl_tokenizer *t = s->t;
    if (id < 0 || (uint32_t)id >= t->n_tokens || t->tokens[id].kind == TNL_HOLE)
        return;
    const tnl_token *k = &t->tokens[id];
    if ((s->flags & TNL_SKIP_SPECIAL) && k->special)
        return;
    if (k->kind == TNL_BYTE && t->decoder != TNL_DECODE_BYTE_LETTERS &&
        t->decoder != TNL_DECODE_SPACED) {
        char b = (char)k->byte;
        bool first =
            !s->begun && b == ' ' && t->strip_first_space && t->decoder == TNL_DECODE_PIECES;
        put_bytes(s, &b, !first, true, out);
        s->begun = s->wrote = true;
        return;
    }
    switch (t->decoder) {
    case TNL_DECODE_BYTE_LETTERS:
        put_letters(s, k, out);
        break;
    case TNL_DECODE_SPACED:
        put_bytes(s, " ", s->begun, false, out);
        put_bytes(s, k->s, k->n, false, out);
        break;
    case TNL_DECODE_PIECES:
        put_piece(s, k, !s->begun, out);
        break;
    case TNL_DECODE_PLAIN: {
        bool drop = !s->begun && k->n && k->s[0] == ' ';
        if (k->kind != TNL_CONTROL && k->kind != TNL_UNKNOWN_TOKEN)
            put_bytes(s, k->s + drop, k->n - drop, false, out);
        break;
    }
    case TNL_DECODE_SENTENCEPIECE:
        if (k->kind == TNL_CONTROL)
            return; /* what comes next is still the beginning */
        if (k->kind == TNL_UNKNOWN_TOKEN)
            put_bytes(s, " \xe2\x81\x87 ", 5, false, out);
        else
            put_piece(s, k, !s->wrote, out);
        /* where all spaces at the beginning go, a piece of nothing else is none */
        s->wrote |= !(t->strip_leading && k->n == sizeof TNL_LOW_LINE - 1 &&
                      memcmp(k->s, TNL_LOW_LINE, k->n) == 0);
        break;
    }
    s->begun = true;
}

tnb_status
tnl_stream_new(const tnl_tokenizer *t, uint32_t flags, tnl_stream **out, tnb_err *err)
{
    if (!t || !out)
        return tnb_fail(err, TNB_INVALID, "tnl_stream_new: %s is NULL",
                        !t ? "the tokenizer" : "out");
    if (flags & ~(uint32_t)TNL_SKIP_SPECIAL)
        return tnb_fail(err, TNB_INVALID, "tnl_stream_new: unknown flags %#x", flags);
    tnl_stream *s = calloc(1, sizeof *s);
    if (!s)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to decode");
    s->t = t;
    s->flags = flags;
    *out = s;
    return TNB_OK;
}

static tnb_status
checked(tnl_stream *s, const tnb_buf *out, tnb_err *err)
{
    bool failed = out->failed || s->wait.failed;
    s->wait.failed = false;
    return failed ? tnb_fail(err, TNB_NO_MEMORY, "no memory for text") : TNB_OK;
}

tnb_status
tnl_stream_put(tnl_stream *s, int32_t id, tnb_buf *out, tnb_err *err)
{
    if (!s || !out)
        return tnb_fail(err, TNB_INVALID, "tnl_stream_put: %s is NULL", !s ? "the stream" : "out");
    put_token(s, id, out);
    return checked(s, out, err);
}

tnb_status
tnl_stream_end(tnl_stream *s, tnb_buf *out, tnb_err *err)
{
    if (!s || !out)
        return tnb_fail(err, TNB_INVALID, "tnl_stream_end: %s is NULL", !s ? "the stream" : "out");
    if (s->wait.n)
        flush(s, true, out);
    s->begun = s->wrote = s->run = false;
    return checked(s, out, err);
}

void
tnl_stream_free(tnl_stream *s)
{
    if (!s)
        return;
    tnb_buf_free(&s->wait);
    free(s);
}

tnb_status
tnl_decode(const tnl_tokenizer *t, const int32_t *ids, size_t n, uint32_t flags, tnb_buf *out,
           tnb_err *err)
{
    if (!t || (n && !ids) || !out)
        return tnb_fail(err, TNB_INVALID, "tnl_decode: %s is NULL",
                        !t     ? "the tokenizer"
                        : !out ? "out"
                               : "ids");
    tnl_stream *s;
    TNB_TRY(tnl_stream_new(t, flags, &s, err));
    s->whole_runs = t->whole_runs;
    for (size_t i = 0; i < n; i++)
        put_token(s, ids[i], out);
    tnb_status st = tnl_stream_end(s, out, err);
    tnl_stream_free(s);
    return st;
}
