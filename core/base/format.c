/* SPDX-License-Identifier: Apache-2.0 */
/* vsnprintf for texts that the compiler makes by the thousand: names, integers, literals. Formats of plain %s, %c, %d, %u,
 * their l, ll and z forms, and %% are written here; any other format is vsnprintf's.
 */
#include "tenon/base/mem.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* What is written so far, `n` bytes, of which `room` at most are kept. */
typedef struct text {
    char *out;
    size_t room, n;
} text;

static void
put(text *t, const char *s, size_t n)
{
    if (t->n < t->room)
        memcpy(t->out + t->n, s, n < t->room - t->n ? n : t->room - t->n);
    t->n += n;
}

static void
put_integer(text *t, bool negative, unsigned long long magnitude)
{
    char digits[24], *p = digits + sizeof digits;
    do
        *--p = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (negative)
        *--p = '-';
    put(t, p, (size_t)(digits + sizeof digits - p));
}

/* An integer of the length that stands before its conversion: 0, 'l', 'L' for ll, 'z'. */
static void
put_argument(text *t, char length, bool is_signed, va_list *ap)
{
    if (is_signed) {
        long long v = length == 'l'   ? va_arg(*ap, long)
                      : length == 'L' ? va_arg(*ap, long long)
                      : length == 'z' ? (long long)va_arg(*ap, ptrdiff_t)
                                      : va_arg(*ap, int);
        put_integer(t, v < 0, v < 0 ? 0 - (unsigned long long)v : (unsigned long long)v);
    } else {
        put_integer(t, false,
                    length == 'l'   ? va_arg(*ap, unsigned long)
                    : length == 'L' ? va_arg(*ap, unsigned long long)
                    : length == 'z' ? va_arg(*ap, size_t)
                                    : va_arg(*ap, unsigned));
    }
}

/* False at a conversion that is not written here. */
static bool
write_plain(text *t, const char *fmt, va_list *ap)
{
    for (const char *p = fmt;;) {
        size_t n = strcspn(p, "%");
        put(t, p, n);
        p += n;
        if (!*p)
            return true;
        char length = 0;
        p++;
        if (*p == 'l' || *p == 'z')
            length = *p++;
        if (length == 'l' && *p == 'l') {
            length = 'L';
            p++;
        }
        char c = *p++;
        if (c == 'd' || c == 'u') {
            put_argument(t, length, c == 'd', ap);
        } else if (c == 's' && !length) {
            const char *s = va_arg(*ap, const char *);
            s = s ? s : "(null)";
            put(t, s, strlen(s));
        } else if (c == 'c' && !length) {
            c = (char)va_arg(*ap, int);
            put(t, &c, 1);
        } else if (c == '%' && !length) {
            put(t, "%", 1);
        } else {
            return false;
        }
    }
}

int
tnb_vformat(char *out, size_t room, const char *fmt, va_list ap)
{
    text t = {.out = out, .room = room ? room - 1 : 0};
    va_list mine;
    va_copy(mine, ap);
    bool plain = write_plain(&t, fmt, &mine);
    va_end(mine);
    if (!plain)
        return vsnprintf(out, room, fmt, ap);
    if (room)
        out[t.n < t.room ? t.n : t.room] = 0;
    return t.n > INT_MAX ? -1 : (int)t.n;
}
