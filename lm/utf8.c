/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of UTF-8, and the classes that tokenizers ask for. */
#include "tokenizer.h"

#include <utf8proc.h>

tnl_char
tnl_char_at(const char *s, size_t n)
{
    const uint8_t *p = (const uint8_t *)s;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t b = p[0], want = b < 0x80                ? 1
                             : b >= 0xc2 && b < 0xe0 ? 2
                             : b >= 0xe0 && b < 0xf0 ? 3
                             : b >= 0xf0 && b < 0xf5 ? 4
                                                     : 0;
    if (!want)
        return (tnl_char){.bad = 1};
    uint32_t code = want == 1 ? b : b & (0x7fu >> want);
    for (uint8_t i = 1; i < want; i++) {
        if (i == n)
            return (tnl_char){.bad = i, .cut = true};
        if ((p[i] & 0xc0) != 0x80)
            return (tnl_char){.bad = i};
        code = code << 6 | (p[i] & 0x3f);
        /* what the second byte says already: too long a form, a surrogate, beyond U+10FFFF */
        uint32_t low = code << 6 * (want - 1 - i), high = low | ((1u << 6 * (want - 1 - i)) - 1);
        if (high < least[want] || (low >= 0xd800 && high <= 0xdfff) || low > 0x10ffff)
            return (tnl_char){.bad = i};
    }
    return (tnl_char){.code = code, .n = want};
}

void
tnl_put_char(tnb_buf *b, uint32_t code)
{
    uint8_t s[4];
    utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)code, s);
    tnb_buf_put(b, s, (size_t)n);
}

bool
tnl_is_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= '\t' && c <= '\r');
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return c == 0x85 || k == UTF8PROC_CATEGORY_ZS || k == UTF8PROC_CATEGORY_ZL ||
           k == UTF8PROC_CATEGORY_ZP;
}

bool
tnl_is_numeric(uint32_t c)
{
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}

bool
tnl_is_word(uint32_t c)
{
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_ME) || k == UTF8PROC_CATEGORY_ND ||
           k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_PC || c == 0x200c || c == 0x200d ||
           (c >= 0x24b6 && c <= 0x24e9) ||
           (c >= 0x1f130 && c <= 0x1f189 && k == UTF8PROC_CATEGORY_SO &&
            (c <= 0x1f149 || (c >= 0x1f150 && c <= 0x1f169) || c >= 0x1f170));
}

bool
tnl_is_punctuation(uint32_t c)
{
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return (c < 0x80 && c > ' ' && c != 0x7f && k != UTF8PROC_CATEGORY_ND &&
            !(k <= UTF8PROC_CATEGORY_LO && k >= UTF8PROC_CATEGORY_LU)) ||
           (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO);
}
