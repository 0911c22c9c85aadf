/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizers: what is done to a text before it is cut into words. */
#include "config.h"
#include "tokenizer.h"

#include <endian.h>
#include <stdlib.h>
#include <utf8proc.h>

/* ---- letters that stand for bytes ---- */
/* Bytes that are printable in Latin-1 stand for themselves, the others for U+0100 and so on, in their order. */
static bool
is_printable(uint32_t b)
{
    return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
}

uint32_t
tnl_byte_letter(uint8_t byte)
{
    uint32_t n = 0;
    if (is_printable(byte))
        return byte;
    for (uint32_t b = 0; b < byte; b++)
        n += !is_printable(b);
    return 0x100 + n;
}

int
tnl_letter_byte(uint32_t code)
{
    if (code < 0x100)
        return is_printable(code) ? (int)code : -1;
    uint32_t n = 0x100;
    for (uint32_t b = 0; b < 0x100 && n <= code; b++)
        if (!is_printable(b) && n++ == code)
            return (int)b;
    return -1;
}

/* ---- SentencePiece's table ---- */
bool
tnl_charsmap_open(const char *s, size_t n, tnb_arena *a, tnl_charsmap *out)
{
    uint32_t bytes;
    *out = (tnl_charsmap){0};
    if (n < 4)
        return false;
    memcpy(&bytes, s, 4);
    bytes = le32toh(bytes);
    if (bytes % 4 || bytes > n - 4 || n - 4 - bytes > UINT32_MAX)
        return false;
    uint32_t *units = tnb_try_alloc_n(a, bytes / 4 + 1, 4);
    char *text = tnb_try_alloc_n(a, n - 4 - bytes + 1, 1);
    if (!units || !text)
        return false;
    for (uint32_t i = 0; i < bytes / 4; i++) {
        memcpy(&units[i], s + 4 + 4 * (size_t)i, 4);
        units[i] = le32toh(units[i]);
    }
    memcpy(text, s + 4 + bytes, n - 4 - bytes);
    *out = (tnl_charsmap){.units = units,
                          .n_units = bytes / 4,
                          .text = text,
                          .n_text = (uint32_t)(n - 4 - bytes)};
    return true;
}

/* What the longest (or shortest) beginning of s in the table becomes; NULL: none is there. */
static const char *
map_prefix(const tnl_charsmap *m, const char *s, size_t n, bool longest, size_t *length)
{
    const char *found = NULL;
    if (!m->n_units)
        return NULL;
    uint32_t unit = m->units[0], node = (unit >> 10) << ((unit & (1u << 9)) >> 6);
    for (size_t i = 0; i < n; i++) {
        node ^= (uint8_t)s[i];
        if (node >= m->n_units)
            break;
        unit = m->units[node];
        if ((unit & 0x800000ffu) != (uint8_t)s[i])
            break;
        node ^= (unit >> 10) << ((unit & (1u << 9)) >> 6);
        if (!(unit >> 8 & 1))
            continue;
        if (node >= m->n_units)
            break;
        uint32_t at = m->units[node] & 0x7fffffffu;
        if (at >= m->n_text)
            break;
        found = m->text + at; /* terminated: a zero stands behind all texts */
        *length = i + 1;
        if (!longest)
            break;
    }
    return found;
}

/* One step of SentencePiece's normalizer: what the next `*length` bytes become. */
static tnl_text
next_prefix(const tnl_tokenizer *t, const tnl_charsmap *m, const char *s, size_t n, size_t *length)
{
    if (t->has_user && tnl_trie_longest(&t->user, s, n, length) >= 0)
        return (tnl_text){s, *length};
    const char *to = map_prefix(m, s, n, true, length);
    if (to)
        return (tnl_text){to, strlen(to)};
    tnl_char c = tnl_char_at(s, n);
    *length = c.n ? c.n : 1;
    return c.n ? (tnl_text){s, c.n} : (tnl_text){TNL_REPLACEMENT, 3};
}

static void
sentencepiece(const tnl_tokenizer *t, const tnl_normalizer *z, tnl_text s, size_t most,
              tnb_buf *out)
{
    const char *space = z->escape ? TNL_LOW_LINE : " ";
    size_t n_space = strlen(space), at = 0, length, begin = out->n;
    while (z->remove_extra && at < s.n) {
        tnl_text p = next_prefix(t, &z->map, s.s + at, s.n - at, &length);
        if (p.n != 1 || p.s[0] != ' ')
            break;
        at += length;
    }
    if (at == s.n)
        return;
    if (z->dummy_prefix && !z->suffix)
        tnb_buf_put(out, space, n_space);
    for (bool after_space = z->remove_extra; at < s.n && out->n <= most; at += length) {
        tnl_text p = next_prefix(t, &z->map, s.s + at, s.n - at, &length);
        for (; after_space && p.n && p.s[0] == ' '; p.s++)
            p.n--;
        for (size_t i = 0; i < p.n; i++)
            tnb_buf_put(out, p.s[i] == ' ' ? space : p.s + i, p.s[i] == ' ' ? n_space : 1);
        if (p.n)
            after_space = p.s[p.n - 1] == ' ';
        after_space = after_space && z->remove_extra;
    }
    while (z->remove_extra && !out->failed && out->n - begin >= n_space &&
           memcmp(out->s + out->n - n_space, space, n_space) == 0)
        out->n -= n_space;
    if (z->dummy_prefix && z->suffix)
        tnb_buf_put(out, space, n_space);
}

size_t
tnl_most_text(size_t n)
{
    enum { GROWTH = 64, LEAST = 1 << 20 };
    return n * GROWTH + LEAST; /* n is at most 1 GiB */
}

/* The table as `tokenizers` applies it: to graphemes of less than six bytes, and where that gives nothing to
 * characters; of what the table holds the shortest beginning counts, for all of it. */
static void
charsmap(const tnl_charsmap *m, tnl_text s, size_t most, tnb_buf *out)
{
    size_t length;
    for (size_t at = 0; at < s.n && out->n <= most;) {
        size_t end = at;
        utf8proc_int32_t state = 0;
        for (uint32_t last = 0; end < s.n;) {
            tnl_char c = tnl_char_at(s.s + end, s.n - end);
            if (end > at && utf8proc_grapheme_break_stateful((utf8proc_int32_t)last,
                                                             (utf8proc_int32_t)c.code, &state))
                break;
            last = c.code;
            end += c.n ? c.n : 1;
        }
        const char *to = end - at < 6 ? map_prefix(m, s.s + at, end - at, false, &length) : NULL;
        if (to)
            tnb_buf_puts(out, to);
        for (size_t i = at; !to && i < end;) {
            tnl_char c = tnl_char_at(s.s + i, end - i);
            size_t n = c.n ? c.n : 1;
            const char *one = map_prefix(m, s.s + i, n, false, &length);
            tnb_buf_put(out, one ? one : s.s + i, one ? strlen(one) : n);
            i += n;
        }
        at = end;
    }
}

/* ---- the others ---- */
static tnb_status
normal_form(tnl_normal kind, tnl_text s, tnb_buf *out, tnb_err *err)
{
    utf8proc_option_t options = UTF8PROC_STABLE;
    options |= kind == TNL_NFC || kind == TNL_NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    options |= kind == TNL_NFKC || kind == TNL_NFKD ? UTF8PROC_COMPAT : 0;
    utf8proc_uint8_t *to = NULL;
    utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)s.s, (utf8proc_ssize_t)s.n, &to, options);
    if (n < 0)
        return tnb_fail(err, n == UTF8PROC_ERROR_NOMEM ? TNB_NO_MEMORY : TNB_INVALID,
                        "normal form of a text: %s", utf8proc_errmsg(n));
    tnb_buf_put(out, to, (size_t)n);
    free(to);
    return TNB_OK;
}

/* Of any kind: spacing and enclosing ones go with the accents too. */
static bool
is_mark(uint32_t code)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

static void
each_char(tnl_normal kind, tnl_text s, tnb_buf *out)
{
    for (size_t i = 0; i < s.n;) {
        tnl_char c = tnl_char_at(s.s + i, s.n - i);
        size_t n = c.n ? c.n : 1;
        if (kind == TNL_BYTE_LETTERS)
            for (size_t k = 0; k < n; k++)
                tnl_put_char(out, tnl_byte_letter((uint8_t)s.s[i + k]));
        else if (kind == TNL_STRIP_ACCENTS && is_mark(c.code))
            ;
        else if (kind == TNL_LOWERCASE && c.code == 0x130)
            tnb_buf_puts(out, "i\xcc\x87"); /* the one whose lower case is two characters */
        else if (kind == TNL_LOWERCASE)
            tnl_put_char(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c.code));
        else
            tnb_buf_put(out, s.s + i, n);
        i += n;
    }
}

static tnb_status
replace(const tnl_normalizer *z, tnl_matcher *m, tnl_text s, size_t most, tnb_buf *out,
        tnb_err *err)
{
    size_t at = 0, from = 0, to = 0;
    while (at < s.n && out->n <= most) {
        bool found;
        if (z->regex) {
            TNB_TRY(tnl_match(m, z->regex, s, at, &found, &from, &to, err));
        } else {
            const char *p =
                z->pattern.n ? memmem(s.s + at, s.n - at, z->pattern.s, z->pattern.n) : NULL;
            found = p;
            from = p ? (size_t)(p - s.s) : 0;
            to = from + z->pattern.n;
        }
        if (!found)
            break;
        tnb_buf_put(out, s.s + at, from - at);
        tnb_buf_put(out, z->content.s, z->content.n);
        at = to;
    }
    tnb_buf_put(out, s.s + at, s.n - at);
    return TNB_OK;
}

static tnl_text
strip(const tnl_normalizer *z, tnl_text s)
{
    size_t end = 0, begin = s.n;
    for (size_t i = 0; i < s.n;) {
        tnl_char c = tnl_char_at(s.s + i, s.n - i);
        size_t n = c.n ? c.n : 1;
        if (!c.n || !tnl_is_space(c.code)) {
            begin = begin < i ? begin : i;
            end = i + n;
        }
        i += n;
    }
    size_t from = z->left ? begin : 0, to = z->right ? end : s.n;
    return to > from ? (tnl_text){s.s + from, to - from} : (tnl_text){"", 0};
}

/* May stop when there are more than `most` bytes. */
static tnb_status
step(const tnl_tokenizer *t, const tnl_normalizer *z, tnl_matcher *m, tnl_text s, size_t most,
     tnb_buf *out, tnb_err *err)
{
    switch (z->kind) {
    case TNL_NFC:
    case TNL_NFD:
    case TNL_NFKC:
    case TNL_NFKD:
        return normal_form(z->kind, s, out, err);
    case TNL_LOWERCASE:
    case TNL_STRIP_ACCENTS:
    case TNL_BYTE_LETTERS:
        each_char(z->kind, s, out);
        return TNB_OK;
    case TNL_STRIP:
        s = strip(z, s);
        tnb_buf_put(out, s.s, s.n);
        return TNB_OK;
    case TNL_REPLACE:
        return replace(z, m, s, most, out, err);
    case TNL_PREPEND:
        if (s.n)
            tnb_buf_put(out, z->content.s, z->content.n);
        tnb_buf_put(out, s.s, s.n);
        return TNB_OK;
    case TNL_CHARSMAP:
        charsmap(&z->map, s, most, out);
        return TNB_OK;
    case TNL_SENTENCEPIECE:
        sentencepiece(t, z, s, most, out);
        return TNB_OK;
    }
    return tnb_fail(err, TNB_INTERNAL, "unknown normalizer");
}

tnb_status
tnl_normalize(const tnl_tokenizer *t, tnl_matcher *m, tnl_text s, tnb_buf *out, tnb_err *err)
{
    const size_t most = tnl_most_text(s.n);
    tnb_buf now = {0}, next = {0};
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < t->n_normalizers && st == TNB_OK; i++) {
        next.n = 0;
        st = step(t, &t->normalizers[i], m, i ? (tnl_text){now.s ? now.s : "", now.n} : s, most,
                  &next, err);
        if (st == TNB_OK && next.n > most)
            st = tnb_fail(err, TNB_BOUNDS,
                          "the tokenizer's normalizers make more than %zu bytes of a text of %zu",
                          most, s.n);
        tnb_buf b = now;
        now = next;
        next = b;
    }
    if (st == TNB_OK)
        tnb_buf_put(out, t->n_normalizers ? now.s : s.s, t->n_normalizers ? now.n : s.n);
    if (st == TNB_OK && (out->failed || now.failed || next.failed))
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory to normalize a text of %zu bytes", s.n);
    tnb_buf_free(&now);
    tnb_buf_free(&next);
    return st;
}
