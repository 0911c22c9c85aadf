/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as words, numbers, strings and marks, of which some change: most stay readable. */
#include "config.h"

#include "readers.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_WORDS = 4096 };

typedef struct words {
    const char *at[MOST_WORDS + 1]; /* where each begins; the last: the end */
    uint32_t n;
} words;

static uint64_t state;

static uint32_t
draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % (below ? below : 1));
}

static bool
in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static void
split(const char *s, size_t n, words *w)
{
    const char *end = s + n;
    w->n = 0;
    while (s < end && w->n < MOST_WORDS) {
        const char *from = s++;
        if (in_word(*from))
            while (s < end && in_word(*s))
                s++;
        else if (*from == ' ')
            while (s < end && *s == ' ')
                s++;
        else if (*from == '"') {
            while (s < end && *s != '"' && *s != '\n')
                s++;
            s += s < end && *s == '"';
        }
        w->at[w->n++] = from;
    }
    w->at[w->n] = end;
}

/* 'a': word; '0': number; '"': string; '(': mark; ' ': blank. */
static char
class_of(const words *w, uint32_t i)
{
    char c = w->at[i][0];
    return isdigit((unsigned char)c) ? '0' : in_word(c) ? 'a' : c == '"' || c == ' ' ? c : '(';
}

static void
put(tnb_buf *out, const char *from, const char *to)
{
    tnb_buf_put(out, from, (size_t)(to - from));
}

/* What may stand where word i does. */
static void
put_other(tnb_buf *out, const words *w, uint32_t i)
{
    static const char *const numbers[] = {"0",    "1",     "2",          "3",   "4",  "5",
                                          "7",    "8",     "16",         "33",  "64", "127",
                                          "1000", "65536", "2147483648", "0.5", "-1", "-2"};
    static const char *const names[] = {"\"float32\"", "\"float16\"", "\"int64\"", "\"int32\"",
                                        "\"int8\"",    "\"bool\"",    "\"uint8\"", "\"float64\"",
                                        "\"n\"",       "\"m\"",       "\"NHWC\"",  "\"NCHW\""};
    static const char *const ops[] = {
        "R.add",         "R.multiply",   "R.subtract",      "R.divide",         "R.nn.relu",
        "R.exp",         "R.sqrt",       "R.reshape",       "R.permute_dims",   "R.concat",
        "R.split",       "R.sum",        "R.max",           "R.mean",           "R.argmax",
        "R.matmul",      "R.take",       "R.strided_slice", "R.broadcast_to",   "R.squeeze",
        "R.expand_dims", "R.astype",     "R.where",         "R.cumsum",         "R.tile",
        "R.repeat",      "R.flip",       "R.nn.softmax",    "R.nn.layer_norm",  "R.nn.conv2d",
        "R.nn.pad",      "R.zeros",      "R.full",          "R.arange",         "R.topk",
        "R.sort",        "R.scatter_nd", "R.gather_nd",     "R.image.resize2d", "R.nn.max_pool2d",
        "T.exp",         "T.max",        "T.min",           "T.floordiv",       "T.if_then_else",
        "T.serial",      "T.parallel",   "T.vectorized",    "T.unroll",         "T.Select"};
    char c = class_of(w, i);
    for (uint32_t tries = 0; tries < 40 && draw(3); tries++) {
        uint32_t k = draw(w->n);
        if (class_of(w, k) == c && c != ' ') {
            put(out, w->at[k], w->at[k + 1]);
            return;
        }
    }
    if (c == '0')
        tnb_buf_puts(out, numbers[draw(sizeof numbers / sizeof *numbers)]);
    else if (c == '"')
        tnb_buf_puts(out, names[draw(sizeof names / sizeof *names)]);
    else if (c == 'a' && (w->at[i][0] == 'R' || w->at[i][0] == 'T'))
        tnb_buf_puts(out, ops[draw(sizeof ops / sizeof *ops)]);
    else
        put(out, w->at[i], w->at[i + 1]);
}

/* The line that holds word i. */
static void
line_of(const char *data, size_t n, const char *at, const char **from, const char **to)
{
    const char *end = data + n;
    *from = *to = at;
    while (*from > data && (*from)[-1] != '\n')
        --*from;
    while (*to < end && **to != '\n')
        ++*to;
    *to += *to < end;
}

static void
change(const char *s, size_t n, tnb_buf *out)
{
    static words w;
    split(s, n, &w);
    if (!w.n)
        return;
    uint32_t i = draw(w.n), way = draw(16);
    for (uint32_t tries = 0; tries < 50 && (class_of(&w, i) == ' ' || class_of(&w, i) == '(');
         tries++)
        i = draw(w.n);
    const char *from, *to;
    line_of(s, n, w.at[i], &from, &to);
    if (way < 11) { /* another word */
        put(out, s, w.at[i]);
        put_other(out, &w, i);
        put(out, w.at[i + 1], s + n);
    } else if (way == 11) { /* without the line */
        put(out, s, from);
        put(out, to, s + n);
    } else if (way == 12) { /* the line again */
        put(out, s, to);
        put(out, from, s + n);
    } else if (way == 13) { /* without a word and what follows it */
        uint32_t k = i + 1 + draw(2) < w.n ? i + 1 + draw(2) : w.n;
        put(out, s, w.at[i]);
        put(out, w.at[k], s + n);
    } else if (way == 14) { /* another line in its place */
        const char *a, *b;
        line_of(s, n, w.at[draw(w.n)], &a, &b);
        put(out, s, from);
        put(out, a, b);
        put(out, to, s + n);
    } else { /* one more of a list */
        put(out, s, w.at[i]);
        put_other(out, &w, i);
        tnb_buf_puts(out, ", ");
        put(out, w.at[i], s + n);
    }
}

size_t
mutate_text(uint8_t *data, size_t n, size_t room, uint64_t seed)
{
    tnb_buf b = {0};
    state = seed * 2654435761u + 1;
    tnb_buf_put(&b, (const char *)data, n);
    for (uint32_t k = draw(3) + 1; k; k--) {
        tnb_buf next = {0};
        change(b.s ? b.s : "", b.n, &next);
        tnb_buf_free(&b);
        b = next;
    }
    size_t done = b.n && b.n <= room ? b.n : 0;
    if (done)
        memcpy(data, b.s, done);
    tnb_buf_free(&b);
    return done;
}
