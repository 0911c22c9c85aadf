/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of tokenizers by pcre2. They are written for Oniguruma, whose \s is White_Space and whose
 * \w has marks; pcre2's have U+180E and all numbers, so both are written out. */
#include "tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* The most steps of one match: beyond, the pattern explodes on this text. */
enum { MATCH_LIMIT = 10000000, DEPTH_LIMIT = 100000, STACK_FIRST = 32 << 10, STACK_MOST = 8 << 20 };

#define SPACES "\\p{Z}\\x09-\\x0d\\x{85}"
#define WORD "\\p{L}\\p{M}\\p{Nd}\\p{Pc}"

static void
translate(const char *s, size_t n, tnb_buf *out)
{
    int classes = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && i + 1 < n) {
            i++;
            if (s[i] == 's' && classes)
                tnb_buf_puts(out, SPACES);
            else if (s[i] == 'w' && classes)
                tnb_buf_puts(out, WORD);
            else if (strchr("sSwW", s[i]) && !classes)
                tnb_buf_printf(out, "[%s%s]", s[i] < 'a' ? "^" : "",
                               s[i] == 's' || s[i] == 'S' ? SPACES : WORD);
            else
                tnb_buf_put(out, s + i - 1, 2);
            continue;
        }
        classes += !classes && s[i] == '[';
        bool first = i > 0 && (s[i - 1] == '[' || (s[i - 1] == '^' && i > 1 && s[i - 2] == '['));
        classes -= classes && s[i] == ']' && !first;
        tnb_buf_putc(out, s[i]);
    }
}

tnb_status
tnl_regex(tnl_tokenizer *t, const char *s, size_t n, pcre2_code **out, tnb_err *err)
{
    int code;
    size_t at;
    tnb_buf b = {0};
    translate(s, n, &b);
    if (b.failed) {
        tnb_buf_free(&b);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for a regular expression");
    }
    pcre2_code *re =
        pcre2_compile((PCRE2_SPTR)(b.s ? b.s : ""), b.n, PCRE2_UTF | PCRE2_UCP, &code, &at, NULL);
    tnb_buf_free(&b);
    if (!re) {
        PCRE2_UCHAR why[128];
        pcre2_get_error_message(code, why, sizeof why);
        return tnb_fail(err, TNB_UNSUPPORTED, "the regular expression '%.*s': %s",
                        n > 200 ? 200 : (int)n, s, (const char *)why);
    }
    pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* where it cannot, pcre2_match interprets */
    if (t->n_regexes == t->cap_regexes) {
        uint32_t cap = t->cap_regexes ? 2 * t->cap_regexes : 8;
        pcre2_code **more = tnb_try_alloc_n(t->arena, cap, sizeof *more);
        if (!more) {
            pcre2_code_free(re);
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a regular expression");
        }
        if (t->n_regexes)
            memcpy(more, t->regexes, t->n_regexes * sizeof *more);
        t->regexes = more;
        t->cap_regexes = cap;
    }
    *out = t->regexes[t->n_regexes++] = re;
    return TNB_OK;
}

tnb_status
tnl_matcher_new(tnl_matcher *m, tnb_err *err)
{
    *m = (tnl_matcher){.data = pcre2_match_data_create(1, NULL),
                       .context = pcre2_match_context_create(NULL)};
    if (!m->data || !m->context)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to match regular expressions");
    pcre2_set_match_limit(m->context, MATCH_LIMIT);
    pcre2_set_depth_limit(m->context, DEPTH_LIMIT);
    m->stack = pcre2_jit_stack_create(STACK_FIRST, STACK_MOST, NULL);
    if (m->stack)
        pcre2_jit_stack_assign(m->context, NULL, m->stack);
    return TNB_OK;
}

void
tnl_matcher_free(tnl_matcher *m)
{
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
    pcre2_jit_stack_free(m->stack);
}

tnb_status
tnl_match(tnl_matcher *m, const pcre2_code *re, tnl_text s, size_t at, bool *found, size_t *from,
          size_t *to, tnb_err *err)
{
    int n = pcre2_match(re, (PCRE2_SPTR)s.s, s.n, at, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, m->data,
                        m->context);
    *found = n >= 0;
    if (n == PCRE2_ERROR_NOMATCH)
        return TNB_OK;
    if (n < 0) {
        PCRE2_UCHAR why[128];
        pcre2_get_error_message(n, why, sizeof why);
        return tnb_fail(err, n == PCRE2_ERROR_NOMEMORY ? TNB_NO_MEMORY : TNB_BOUNDS,
                        "the tokenizer's regular expression fails at byte %zu of a text of %zu: %s",
                        at, s.n, (const char *)why);
    }
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(m->data);
    *from = v[0];
    *to = v[1];
    return TNB_OK;
}
