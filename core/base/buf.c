/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text. */
#include "mem_private.h"
#include "tenon/base/mem.h"
#include <stdio.h>
#include <stdlib.h>

static bool
fail(tnb_buf *b)
{
    tnb_count_memory_failure();
    b->failed = true;
    return false;
}

/* Room for `more` bytes and the terminator. */
static bool
reserve(tnb_buf *b, size_t more)
{
    if (b->failed)
        return false;
    if (more < b->cap - b->n)
        return true;
    size_t want;
    if (__builtin_add_overflow(b->n, more, &want) || want > SIZE_MAX / 2 - 1)
        return fail(b);
    size_t cap = b->cap ? b->cap : 64;
    while (cap <= want)
        cap *= 2;
    char *s = realloc(b->s, cap);
    if (!s)
        return fail(b);
    b->s = s;
    b->cap = cap;
    return true;
}

void
tnb_buf_put(tnb_buf *b, const void *p, size_t n)
{
    if (!reserve(b, n))
        return;
    if (n)
        memcpy(b->s + b->n, p, n);
    b->n += n;
    b->s[b->n] = 0;
}

void
tnb_buf_puts(tnb_buf *b, const char *s)
{
    tnb_buf_put(b, s, strlen(s));
}

void
tnb_buf_putc(tnb_buf *b, char c)
{
    tnb_buf_put(b, &c, 1);
}

void
tnb_buf_printf(tnb_buf *b, const char *fmt, ...)
{
    va_list ap;
    if (!reserve(b, 64))
        return;
    va_start(ap, fmt);
    int n = tnb_vformat(b->s + b->n, b->cap - b->n, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->s[b->n] = 0;
        b->failed = true;
        return;
    }
    if ((size_t)n >= b->cap - b->n) {
        b->s[b->n] = 0;
        if (!reserve(b, (size_t)n))
            return;
        va_start(ap, fmt);
        tnb_vformat(b->s + b->n, b->cap - b->n, fmt, ap);
        va_end(ap);
    }
    b->n += (size_t)n;
}

void
tnb_buf_free(tnb_buf *b)
{
    if (!b)
        return;
    free(b->s);
    *b = (tnb_buf){0};
}
