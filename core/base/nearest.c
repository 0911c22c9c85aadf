/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest name by edit distance. */
#include "tenon/base/conf.h"

enum { LONGEST = 63, SHORTEST_START = 5 };

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Insertions, removals, changes and swaps of neighbours that turn `a` into `b`; case costs nothing.
 */
static unsigned
distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = before[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            unsigned d = last[j - 1] + !same;
            if (last[j] + 1 < d)
                d = last[j] + 1;
            if (now[j - 1] + 1 < d)
                d = now[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]) && before[j - 2] + 1 < d)
                d = before[j - 2] + 1;
            now[j] = d;
        }
        unsigned *t = before;
        before = last;
        last = now;
        now = t;
    }
    return last[m];
}

const char *
tnb_nearest(const char *s, const char *const *names, uint32_t n)
{
    size_t k = strlen(s);
    const char *best = NULL;
    if (k == 0 || k > LONGEST)
        return NULL;
    unsigned least = k < 5 ? (unsigned)k / 3 + 1 : (unsigned)(k + 1) / 3;
    for (uint32_t i = 0; i < n; i++) {
        size_t m = names[i] ? strlen(names[i]) : 0;
        if (m == 0 || m > LONGEST)
            continue;
        unsigned d = (m > k ? m - k : k - m) > least ? least + 1 : distance(s, k, names[i], m);
        if (m > k && k > 1 && strchr("_-.", names[i][k]) && distance(s, k, names[i], k) == 0)
            d = 0;                          /* the first word of a longer name, as "gpu" */
        if (m > k && k >= SHORTEST_START) { /* the start of a longer name, as "legalise" */
            unsigned start = distance(s, k, names[i], k) + 1;
            d = start < d ? start : d;
        }
        const char *dot = strrchr(names[i], '.'), *own = strrchr(s, '.');
        if (dot && dot[1]) { /* the last word, as "Matmul" of "cpu.Matmul" */
            const char *word = own ? own + 1 : s;
            unsigned last = distance(word, strlen(word), dot + 1, strlen(dot + 1)) + 1;
            d = last < d && (last == 1 || !own) ? last : d;
        }
        if (d < least || (d == least && !best)) {
            least = d;
            best = names[i];
        }
    }
    return best;
}
