/* SPDX-License-Identifier: Apache-2.0 */
/* Pass lists as text: `LegalizeOps, FuseOps{fuse_opt_level=2},
 * ApplyDefaultSchedule{rules=[Matmul,GEMV]}`.
 *
 * Items are separated by commas or line ends. Two values are looked up when the pass runs, and
 * stand in the options as a Pair until then: `@attr(NAME)`, an attribute of the module, and
 * `@FILE.npy`, a constant.
 */
#include "pass_private.h"
#include <ctype.h>

struct reader {
    tn_value_reader v;
    const char *text, *origin;
};

static bool
complain(struct reader *r, const char *at, const char *what)
{
    uint32_t line = 1, column = 1;
    const char *start = r->text;
    for (const char *p = r->text; p < at; p++) {
        column++;
        if (*p == '\n') {
            line++;
            column = 1;
            start = p + 1;
        }
    }
    tnb_place place = {r->origin ? r->origin : "pass list", line, column, NULL};
    tnb_report(tn_diags(r->v.ctx), TNB_ERROR, TNB_FORMAT, place, "%s", what);
    const char *end = start;
    while (end < r->v.end && *end != '\n')
        end++;
    tnb_diag_source(tn_diags(r->v.ctx), start, (size_t)(end - start));
    return false;
}

static bool
at_char(const struct reader *r, char c)
{
    return r->v.p < r->v.end && *r->v.p == c;
}

static const char *
read_name(struct reader *r)
{
    const char *s = r->v.p;
    if (at_char(r, '@'))
        r->v.p++;
    while (r->v.p < r->v.end &&
           (isalnum((unsigned char)*r->v.p) || *r->v.p == '_' || *r->v.p == '.' || *r->v.p == ':'))
        r->v.p++;
    return r->v.p > s ? tn_strn(r->v.ctx, s, (size_t)(r->v.p - s)) : NULL;
}

/* What follows '@'. */
static const tn_node *
read_reference(struct reader *r)
{
    tn_ctx *ctx = r->v.ctx;
    const char *s = ++r->v.p, *key = TN_PASS_FILE;
    if (r->v.end - s > 5 && memcmp(s, "attr(", 5) == 0) {
        key = TN_PASS_ATTR;
        s += 5;
        const char *close = memchr(s, ')', (size_t)(r->v.end - s));
        if (!close || close == s)
            return NULL;
        r->v.p = close + 1;
        return tn_pass_reference(ctx, key, tn_strn(ctx, s, (size_t)(close - s)));
    }
    if (at_char(r, '"')) {
        const tn_string_imm *quoted = tn_as_string_imm(tn_value_read(&r->v));
        return quoted && *quoted->value ? tn_pass_reference(ctx, key, quoted->value) : NULL;
    }
    while (r->v.p < r->v.end && tn_value_bareword_char(*r->v.p))
        r->v.p++;
    return r->v.p > s ? tn_pass_reference(ctx, key, tn_strn(ctx, s, (size_t)(r->v.p - s))) : NULL;
}

static bool
read_options(struct reader *r, tn_pass_item *item)
{
    tn_ctx *ctx = r->v.ctx;
    TNB_VEC(const char *) keys = {0};
    TNB_VEC(const tn_node *) values = {0};
    r->v.p++;
    tn_value_skip_blank(&r->v);
    while (!at_char(r, '}')) {
        const char *at = r->v.p, *key = read_name(r);
        if (!key)
            return complain(r, at, "the name of an option is missing");
        for (uint32_t i = 0; i < keys.n; i++)
            if (keys.at[i] == key)
                return complain(r, at, "an option is given twice");
        tn_value_skip_blank(&r->v);
        if (!at_char(r, '='))
            return complain(r, r->v.p, "'=' is missing behind the name of an option");
        r->v.p++;
        tn_value_skip_blank(&r->v);
        const char *value_at = r->v.p;
        const tn_node *value = at_char(r, '@') ? read_reference(r) : tn_value_read(&r->v);
        if (!value)
            return complain(r, r->v.error ? r->v.error_at : value_at,
                            r->v.error ? r->v.error : "'@' needs attr(NAME) or the name of a file");
        TNB_PUSH(tn_scratch(ctx), keys, key);
        TNB_PUSH(tn_scratch(ctx), values, value);
        tn_value_skip_blank(&r->v);
        if (at_char(r, ',')) {
            r->v.p++;
            tn_value_skip_blank(&r->v);
        } else if (!at_char(r, '}')) {
            return complain(r, r->v.p, "',' or '}' is missing behind an option");
        }
    }
    r->v.p++;
    item->options = keys.n ? tn_dict_of(ctx, keys.at, values.at, keys.n) : NULL;
    return !tn_is_error(item->options);
}

/* Behind an item: a comma, a line end or the end. */
static bool
read_separator(struct reader *r)
{
    const char *s = r->v.p;
    tn_value_skip_blank(&r->v);
    if (r->v.p == r->v.end)
        return true;
    if (at_char(r, ',')) {
        const char *comma = r->v.p++;
        tn_value_skip_blank(&r->v);
        return r->v.p < r->v.end || complain(r, comma, "a pass is missing behind ','");
    }
    if (memchr(s, '\n', (size_t)(r->v.p - s)))
        return true;
    return complain(r, r->v.p, "',' is missing between two passes");
}

bool
tn_pass_list_parse(tn_ctx *ctx, const char *text, const char *origin, tn_pass_list *out)
{
    struct reader r = {.v = {.ctx = ctx, .p = text, .end = text + strlen(text)},
                       .text = text,
                       .origin = origin};
    TNB_VEC(tn_pass_item) items = {0};
    *out = (tn_pass_list){0};
    tn_value_skip_blank(&r.v);
    while (r.v.p < r.v.end) {
        const char *at = r.v.p;
        tn_pass_item item = {.name = read_name(&r), .origin = origin};
        if (!item.name)
            return complain(&r, at, "the name of a pass is missing");
        tn_value_skip_blank(&r.v);
        if (at_char(&r, '{')) {
            if (!read_options(&r, &item))
                return false;
        } else {
            r.v.p = at + strlen(item.name); /* blanks may separate */
        }
        TNB_PUSH(ctx->perm, items, item);
        if (!read_separator(&r))
            return false;
    }
    out->at = items.at;
    out->n = items.n;
    return true;
}

const tn_node *
tn_pass_reference(tn_ctx *ctx, const char *key, const char *name)
{
    return TN_MAKE(ctx, TN_KIND_PAIR, pair, NULL, .key = tn_str(ctx, key),
                   .value = tn_string(ctx, name));
}

static void
print_value(const tn_node *v, tnb_buf *out)
{
    const tn_pair *p = tn_as_pair(v);
    if (!p) {
        tn_write_value(v, out);
    } else if (strcmp(p->key, TN_PASS_ATTR) == 0) {
        tnb_buf_printf(out, "@attr(%s)", ((const tn_string_imm *)p->value)->value);
    } else {
        tnb_buf_putc(out, '@');
        tn_write_value(p->value, out);
    }
}

void
tn_pass_item_print(const tn_pass_item *item, tnb_buf *out)
{
    tnb_buf_puts(out, item->name);
    const tn_dict *d = tn_as_dict(item->options);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = (const tn_pair *)d->items.at[i];
        tnb_buf_printf(out, "%s%s=", i ? "," : "{", p->key);
        print_value(p->value, out);
    }
    if (d && d->items.n)
        tnb_buf_putc(out, '}');
}

void
tn_pass_list_print(const tn_pass_list *l, tnb_buf *out)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (i)
            tnb_buf_puts(out, ", ");
        tn_pass_item_print(&l->at[i], out);
    }
}
