/* SPDX-License-Identifier: Apache-2.0 */
/* Status names and the caller-owned error record. Nothing here allocates. */
#include "tenon/base/status.h"
#include <stdio.h>
#include <string.h>

/* ORDER STATUS */
static const char *const names[] = {
    "ok",           "invalid argument", "out of memory", "input/output error", "bad format",
    "wrong type",   "wrong shape",      "not supported", "not found",          "out of bounds",
    "device error", "build failed",     "not trusted",   "wrong ABI",          "differs",
    "cancelled",    "internal error",
};
_Static_assert(sizeof names / sizeof *names == TNB_INTERNAL + 1, "one name for each status");

const char *
tnb_status_name(tnb_status s)
{
    size_t i = (size_t)s;
    return i < sizeof names / sizeof *names ? names[i] : "unknown status";
}

/* Marks text that did not fit; `n` is what vsnprintf returned. Never cuts a UTF-8 sequence in two.
 */
static void
mark_cut(char *s, size_t size, int n)
{
    if (n < 0) {
        snprintf(s, size, "(message could not be formatted)");
        return;
    }
    if ((size_t)n < size)
        return;
    size_t at = size - 4;
    while (at > 0 && ((unsigned char)s[at] & 0xC0) == 0x80)
        at--;
    memcpy(s + at, "...", 4);
}

tnb_status
tnb_failv(tnb_err *err, tnb_status s, const char *fmt, va_list ap)
{
    if (err) {
        err->status = s;
        err->hint[0] = 0;
        mark_cut(err->message, sizeof err->message,
                 vsnprintf(err->message, sizeof err->message, fmt, ap));
    }
    return s;
}

tnb_status
tnb_fail(tnb_err *err, tnb_status s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_failv(err, s, fmt, ap);
    va_end(ap);
    return s;
}

void
tnb_hint(tnb_err *err, const char *fmt, ...)
{
    if (!err)
        return;
    va_list ap;
    va_start(ap, fmt);
    mark_cut(err->hint, sizeof err->hint, vsnprintf(err->hint, sizeof err->hint, fmt, ap));
    va_end(ap);
}

void
tnb_err_prefix(tnb_err *err, const char *fmt, ...)
{
    if (!err)
        return;
    char text[sizeof err->message];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mark_cut(text, sizeof text, n);
    size_t p = strlen(text), m = strlen(err->message);
    if (p + 2 > sizeof text - 1)
        p = sizeof text - 3;
    text[p++] = ':';
    text[p++] = ' ';
    size_t room = sizeof text - 1 - p, take = m < room ? m : room;
    memcpy(text + p, err->message, take);
    text[p + take] = 0;
    if (take < m)
        mark_cut(text, sizeof text, (int)sizeof text);
    memcpy(err->message, text, sizeof text);
}

void
tnb_fill_braces(char *out, size_t size, const char *format, const char *const *values, uint32_t n)
{
    size_t at = 0;
    uint32_t next = 0;
    for (const char *c = format; *c && at + 1 < size; c++) {
        const char *put = c;
        size_t length = 1;
        if (c[0] == '{' && c[1] == '}' && next < n) {
            put = values[next++];
            length = strlen(put);
            c++;
        } else if ((*c == '{' || *c == '}') && c[1] == *c) {
            c++;
        }
        if (length > size - 1 - at)
            length = size - 1 - at;
        memcpy(out + at, put, length);
        at += length;
    }
    if (size)
        out[at] = 0;
}
