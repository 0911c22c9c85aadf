/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs written as TVMScript. */
#include "program.h"

#include <math.h>

#include "tenon/base/num.h"

program
program_begin(tn_builder *b)
{
    return (program){.ctx = tn_builder_ctx(b), .b = b};
}

void
program_text(program *p, const char *name, const char *text)
{
    if (p->n == PROGRAM_MAX_WORDS) {
        tn_error(p->ctx, 0, TNB_INTERNAL, "a tensor program has too many words");
        return;
    }
    p->words[p->n].name = name;
    p->words[p->n++].text = text;
}

void
program_dtype(program *p, const char *name, tnb_dtype d)
{
    program_text(p, name, tn_str(p->ctx, tnb_dtype_print(d).s));
}

void
program_extent(program *p, const char *name, const tn_expr *extent)
{
    int64_t v;
    bool literal = tn_int_value(extent, &v);
    program_text(p, name,
                 literal ? tn_strf(p->ctx, "T.int64(%lld)", (long long)v)
                         : tn_strf(p->ctx, "extent_%s", name)); /* no parameter's name */
    if (p->n)
        p->words[p->n - 1].symbol = !literal;
}

void
program_int(program *p, const char *name, int64_t v)
{
    program_text(p, name, tn_strf(p->ctx, "T.int64(%lld)", (long long)v));
}

void
program_float(program *p, const char *name, tnb_dtype d, double v)
{
    tnb_dtype_text t = tnb_dtype_print(d);
    if (isfinite(v))
        program_text(p, name, tn_strf(p->ctx, "T.%s(%s)", t.s, tnb_print_f64(v).s));
    else
        program_text(p, name,
                     tn_strf(p->ctx, "T.%s(\"%s\")", t.s,
                             isnan(v) ? "nan"
                             : v < 0  ? "-inf"
                                      : "inf"));
}

const char program_merge_sort[] =
    "            state[0] = T.int64(1)\n" /* the length of sorted runs */
    "            state[1] = T.int64(0)\n"
    "            while state[0] < $COUNT$:\n"
    "                for run in range(($COUNT$ + state[0] * T.int64(2) - T.int64(1)) // (state[0] "
    "* "
    "T.int64(2))):\n"
    "                    low: T.let[T.int64] = run * state[0] * T.int64(2)\n"
    "                    middle: T.let[T.int64] = T.min(low + state[0], $COUNT$)\n"
    "                    high: T.let[T.int64] = T.min(low + state[0] * T.int64(2), $COUNT$)\n"
    "                    head[0] = low\n"
    "                    head[1] = middle\n"
    "                    for k in range(high - low):\n"
    "                        which[0] = T.int64(0)\n"
    "                        if head[0] >= middle:\n"
    "                            which[0] = T.int64(1)\n"
    "                        elif head[1] < high:\n"
    "$COMPARE$"
    "                        work[$SLOT$T.int64(1) - state[1], low + k] = work[$SLOT$state[1], "
    "head[which[0]]]\n"
    "                        head[which[0]] = head[which[0]] + T.int64(1)\n"
    "                state[0] = state[0] * T.int64(2)\n"
    "                state[1] = T.int64(1) - state[1]\n";

/* The lines that declare the symbols, ready to stand behind four spaces. */
static void
put_symbols(const program *p, tnb_buf *out)
{
    bool first = true;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->words[i].symbol) {
            tnb_buf_printf(out, "%s%s = T.int64()", first ? "" : "\n    ", p->words[i].text);
            first = false;
        }
    if (first)
        tnb_buf_puts(out, "pass");
}

/* Puts the text with its words replaced; what a word stands for may have words. */
static void
put_text(const program *p, const char *text, int depth, tnb_buf *out)
{
    for (const char *s = text, *end; *s; s = end) {
        end = s + strcspn(s, "$");
        tnb_buf_put(out, s, (size_t)(end - s));
        if (!*end)
            break;
        const char *name = end + 1;
        size_t n = strcspn(name, "$");
        end = name + n + (name[n] == '$');
        if (n == strlen("SYMBOLS") && memcmp(name, "SYMBOLS", n) == 0)
            put_symbols(p, out);
        for (uint32_t i = 0; i < p->n && depth < 4; i++)
            if (strlen(p->words[i].name) == n && memcmp(p->words[i].name, name, n) == 0)
                put_text(p, p->words[i].text, depth + 1, out);
    }
}

const tn_expr *
program_call(program *p, const char *name, const char *text, tn_list args, const tn_type *out)
{
    tnb_buf b = {0};
    put_text(p, text, 0, &b);
    tnb_buf_putc(&b, 0);
    const tn_node *f = b.failed ? NULL : tn_builder_read_function(p->b, name, b.s);
    tnb_buf_free(&b);
    if (!f)
        return tn_error(p->ctx, 0, TNB_INTERNAL, "the tensor program %s cannot be read", name);
    return tn_builder_call_tir(p->b, f, name, args, out);
}
