/* SPDX-License-Identifier: Apache-2.0 */
/* Pre-tokenizers: a text is cut into words, which the model never merges across. */
#include "config.h"
#include "tokenizer.h"

#include <stdlib.h>

void
tnl_pieces_free(tnl_pieces *p)
{
    tnb_buf_free(&p->text);
    free(p->end);
    *p = (tnl_pieces){0};
}

/* Ends the piece that the bytes since the last end make; none, if there are none. */
static void
end_piece(tnl_pieces *p)
{
    if (p->text.n == (p->n ? p->end[p->n - 1] : 0))
        return;
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        size_t *more = realloc(p->end, cap * sizeof *more);
        if (!more) {
            p->text.failed = true;
            return;
        }
        p->end = more;
        p->cap = cap;
    }
    p->end[p->n++] = p->text.n;
}

/* ---- cutting by matches ---- */
/* How the parts between and within matches become pieces; fed with the parts in order. */
typedef struct cutter {
    tnl_pieces *out;
    const tnl_splitter *how;
    bool letters; /* bytes are put as letters */
    bool last_match;
    bool any;
} cutter;

static void
put(cutter *c, const char *s, size_t n)
{
    if (!c->letters)
        tnb_buf_put(&c->out->text, s, n);
    for (size_t i = 0; c->letters && i < n; i++)
        tnl_put_char(&c->out->text, tnl_byte_letter((uint8_t)s[i]));
}

static void
feed(cutter *c, const char *s, size_t n, bool match)
{
    if (!n)
        return;
    match = match != c->how->invert;
    bool joins = false; /* the piece before goes on */
    switch (c->how->behavior) {
    case TNL_REMOVED:
        if (match) {
            end_piece(c->out);
            return;
        }
        break;
    case TNL_ISOLATED:
        break;
    case TNL_MERGED_WITH_PREVIOUS:
        joins = match && c->any && !c->last_match;
        break;
    case TNL_MERGED_WITH_NEXT:
        joins = !match && c->any && c->last_match;
        break;
    case TNL_CONTIGUOUS:
        joins = c->any && match == c->last_match;
        break;
    }
    if (!joins)
        end_piece(c->out);
    put(c, s, n);
    c->last_match = match;
    c->any = true;
}

static bool
matches_char(const tnl_splitter *p, uint32_t code)
{
    return p->kind == TNL_DIGITS        ? tnl_is_numeric(code)
           : p->kind == TNL_PUNCTUATION ? tnl_is_punctuation(code)
                                        : tnl_is_space(code);
}

/* Cuts one piece. A pattern that is a text, a regular expression, or a class of characters. */
static tnb_status
cut(const tnl_splitter *p, tnl_matcher *m, tnl_text s, cutter *c, tnb_err *err)
{
    size_t at = 0, from = 0, to = 0;
    while (at < s.n) {
        bool found = false;
        if (p->regex) {
            TNB_TRY(tnl_match(m, p->regex, s, at, &found, &from, &to, err));
        } else if (p->kind == TNL_SPLIT || p->kind == TNL_METASPACE) {
            const char *q = p->text.n ? memmem(s.s + at, s.n - at, p->text.s, p->text.n) : NULL;
            found = q;
            from = q ? (size_t)(q - s.s) : 0;
            to = from + p->text.n;
        } else {
            for (from = at; from < s.n && !found; from = to) {
                tnl_char ch = tnl_char_at(s.s + from, s.n - from);
                to = from + (ch.n ? ch.n : 1);
                if ((found = ch.n && matches_char(p, ch.code)))
                    break;
            }
        }
        if (!found)
            break;
        feed(c, s.s + at, from - at, false);
        feed(c, s.s + from, to - from, true);
        at = to;
    }
    feed(c, s.s + at, s.n - at, false);
    end_piece(c->out);
    return TNB_OK;
}

/* ---- the splitters ---- */
static tnb_status
one_piece(const tnl_splitter *p, tnl_matcher *m, tnl_text s, bool first, tnl_pieces *out,
          tnb_err *err)
{
    tnb_buf own = {0};
    tnb_status st = TNB_OK;
    cutter c = {.out = out, .how = p, .letters = p->kind == TNL_BYTE_LEVEL};
    if (p->kind == TNL_BYTE_LEVEL && p->prefix_space && s.s[0] != ' ') {
        tnb_buf_putc(&own, ' ');
        tnb_buf_put(&own, s.s, s.n);
    }
    if (p->kind == TNL_METASPACE) {
        tnb_buf with = {0};
        for (size_t i = 0; i < s.n; i++)
            tnb_buf_put(&with, s.s[i] == ' ' ? p->text.s : s.s + i, s.s[i] == ' ' ? p->text.n : 1);
        bool begins = with.n >= p->text.n && memcmp(with.s, p->text.s, p->text.n) == 0;
        if (!begins && (p->prepend == TNL_ALWAYS || (p->prepend == TNL_FIRST && first)))
            tnb_buf_put(&own, p->text.s, p->text.n);
        tnb_buf_put(&own, with.s, with.n);
        own.failed |= with.failed;
        tnb_buf_free(&with);
    }
    if (own.failed)
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory for a word of %zu bytes", s.n);
    if (own.s)
        s = (tnl_text){own.s, own.n};
    if (st == TNB_OK &&
        ((p->kind == TNL_BYTE_LEVEL && !p->regex) || (p->kind == TNL_METASPACE && !p->split))) {
        put(&c, s.s, s.n);
        end_piece(out);
    } else if (st == TNB_OK) {
        st = cut(p, m, s, &c, err);
    }
    tnb_buf_free(&own);
    return st;
}

tnb_status
tnl_split(const tnl_tokenizer *t, tnl_matcher *m, tnl_pieces *p, tnb_err *err)
{
    const size_t n = p->text.n, most = tnl_most_text(n);
    tnl_pieces next = {0};
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < t->n_splitters && st == TNB_OK; i++) {
        next.n = next.text.n = 0;
        for (size_t k = 0, from = 0; k < p->n && st == TNB_OK; from = p->end[k++])
            st = one_piece(&t->splitters[i], m, (tnl_text){p->text.s + from, p->end[k] - from},
                           p->first && k == 0, &next, err);
        if (st == TNB_OK && next.text.n > most) /* a step makes four bytes of one at most */
            st =
                tnb_fail(err, TNB_BOUNDS,
                         "the tokenizer's pre-tokenizers make more than %zu bytes of a text of %zu",
                         most, n);
        next.first = p->first;
        tnl_pieces b = *p;
        *p = next;
        next = b;
    }
    if (st == TNB_OK && (p->text.failed || next.text.failed))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory to cut a text into words");
    tnl_pieces_free(&next);
    return st;
}
