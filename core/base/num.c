/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, the same in every locale: the C library's conversions under a C locale of our
 * own. */
#include "config.h"
#include "tenon/base/num.h"
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;

static void
make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The C locale; 0 without memory. Made once, kept until the program ends. */
static locale_t
plain_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    return c_locale;
}

static bool
read_digits(const char *s, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    if (n > 2 && s[0] == '0' && (s[1] | 32) == 'x') {
        if (n > 18)
            return false;
        for (size_t i = 2; i < n; i++) {
            int c = s[i] | 32;
            if (s[i] >= '0' && s[i] <= '9')
                v = v << 4 | (uint64_t)(s[i] - '0');
            else if (c >= 'a' && c <= 'f')
                v = v << 4 | (uint64_t)(c - 'a' + 10);
            else
                return false;
        }
        *out = v;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
            return false;
    }
    *out = v;
    return n > 0;
}

bool
tnb_read_u64(const char *s, size_t n, uint64_t *out)
{
    if (n && *s == '+')
        s++, n--;
    return read_digits(s, n, out);
}

bool
tnb_read_i64(const char *s, size_t n, int64_t *out)
{
    bool negative = n && *s == '-';
    uint64_t v;
    if (n && (*s == '-' || *s == '+'))
        s++, n--;
    if (!read_digits(s, n, &v) || v > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? -v : v);
    return true;
}

/* True for characters of a number: strtod takes more (blanks in front, "nan(...)"). */
static bool
looks_like_float(const char *s, size_t n)
{
    if (n == 0)
        return false;
    size_t i = *s == '-' || *s == '+';
    if (i == n)
        return false;
    if (s[i] == '.' || (s[i] >= '0' && s[i] <= '9')) {
        for (; i < n; i++)
            if (!isxdigit((unsigned char)s[i]) && !strchr(".xXpP+-", s[i]))
                return false;
        return memchr(s, 0, n) == NULL;
    }
    s += i;
    n -= i;
    return (n == 3 && (strncasecmp(s, "inf", 3) == 0 || strncasecmp(s, "nan", 3) == 0)) ||
           (n == 8 && strncasecmp(s, "infinity", 8) == 0);
}

/* strtod and strtof want a terminator; most texts are short. */
static bool
read_float(const char *s, size_t n, double *d, float *f)
{
    char small[128], *copy = small, *end;
    locale_t locale = plain_locale();
    if (!locale || !looks_like_float(s, n))
        return false;
    if (n >= sizeof small && !(copy = malloc(n + 1)))
        return false;
    memcpy(copy, s, n);
    copy[n] = 0;
    double dv = 0;
    float fv = 0;
    if (d)
        dv = strtod_l(copy, &end, locale);
    else
        fv = strtof_l(copy, &end, locale);
    bool whole = end == copy + n;
    if (copy != small)
        free(copy);
    if (!whole)
        return false;
    if (d)
        *d = dv;
    else
        *f = fv;
    return true;
}

bool
tnb_read_f64(const char *s, size_t n, double *out)
{
    return read_float(s, n, out, NULL);
}

bool
tnb_read_f32(const char *s, size_t n, float *out)
{
    return read_float(s, n, NULL, out);
}

/* The digits (no point, at most 17, `*exponent` that of the first) of |v| rounded to `precision`.
 */
static void
digits_of(double v, int precision, char digits[24], int *exponent)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", precision - 1, fabs(v));
    int n = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && n < 20)
            digits[n++] = *p; /* skips the locale's point */
    digits[n] = 0;
    int e = 0;
    bool negative = p[0] && p[1] == '-';
    for (p += *p ? 2 : 0; *p >= '0' && *p <= '9'; p++)
        e = e * 10 + (*p - '0');
    *exponent = negative ? -e : e;
}

static bool
reads_back(const char *digits, int exponent, double v, bool single)
{
    char text[48];
    snprintf(text, sizeof text, "%c.%se%d", digits[0], digits[1] ? digits + 1 : "0", exponent);
    double d;
    float f;
    if (single)
        return tnb_read_f32(text, strlen(text), &f) && f == (float)fabs(v);
    return tnb_read_f64(text, strlen(text), &d) && d == fabs(v);
}

/* ORDER: as Python's repr does it: plain from 1e-4 to below 1e16, else with an exponent of two or
 * more digits. */
static tnb_num_text
spell(const char *digits, int exponent, bool negative)
{
    tnb_num_text t = {{0}};
    char *p = t.s;
    int n = (int)strlen(digits);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (negative)
        *p++ = '-';
    if (exponent < -4 || exponent >= 16) {
        *p++ = digits[0];
        if (n > 1) {
            *p++ = '.';
            memcpy(p, digits + 1, (size_t)n - 1);
            p += n - 1;
        }
        snprintf(p, 8, "e%c%02u", exponent < 0 ? '-' : '+', (unsigned)abs(exponent) % 1000);
        return t;
    }
    if (exponent < 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = -1; i > exponent; i--)
            *p++ = '0';
        memcpy(p, digits, (size_t)n);
        p[n] = 0;
        return t;
    }
    for (int i = 0; i <= exponent; i++)
        *p++ = i < n ? digits[i] : '0';
    *p++ = '.';
    if (n <= exponent + 1)
        *p++ = '0';
    for (int i = exponent + 1; i < n; i++)
        *p++ = digits[i];
    *p = 0;
    return t;
}

static tnb_num_text
print_float(double v, bool single)
{
    tnb_num_text t = {{0}};
    if (isnan(v) || isinf(v)) {
        snprintf(t.s, sizeof t.s, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return t;
    }
    char digits[24];
    int exponent;
    /* Small whole numbers are the most frequent. */
    if (fabs(v) < 1e15 && v == (double)(int64_t)v) {
        snprintf(t.s, sizeof t.s, "%s%lld.0", signbit(v) && v == 0 ? "-" : "", (long long)v);
        return t;
    }
    /* A precision that reads back does so with more digits too: search by halving. */
    int low = 1, high = single ? 9 : 17;
    while (low < high) {
        int mid = (low + high) / 2;
        digits_of(v, mid, digits, &exponent);
        if (reads_back(digits, exponent, v, single))
            high = mid;
        else
            low = mid + 1;
    }
    digits_of(v, low, digits, &exponent);
    return spell(digits, exponent, signbit(v));
}

tnb_num_text
tnb_print_f64(double v)
{
    return print_float(v, false);
}

tnb_num_text
tnb_print_f32(float v)
{
    return print_float((double)v, true);
}
