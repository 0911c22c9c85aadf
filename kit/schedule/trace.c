/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the trace of a schedule: short while they are unambiguous, with a number where not.
 *
 *     split(T_matmul, ax0, 32)         the loop ax0 around the block T_matmul
 *     split(T_matmul#1, ax0, 32)       around the second block of that name
 *     split(T_matmul, ax0#1, 32)       the second loop of that name around it
 */
#include "schedule_private.h"

#include <stdio.h>

#include "tenon/core/text.h"

void
tnk_sch_note(tnk_sch *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = tnb_vformat(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = tnb_alloc(tn_scratch(s->ctx), (size_t)n + 1);
    va_start(ap, fmt);
    tnb_vformat(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    tnb_buf_printf(&s->trace, "%s\n", text);
}

typedef struct name_count {
    const tnk_item *is;
    const char *name;
    uint32_t before, n;
    const tnk_item *first; /* of all blocks */
    bool met;
} name_count;

static void
count(tnk_item *b, void *user)
{
    name_count *c = user;
    c->first = c->first ? c->first : b;
    if (!c->name || strcmp(b->block->name, c->name))
        return;
    c->met |= b == c->is;
    c->before += !c->met;
    c->n++;
}

static const char *
numbered(tnk_sch *s, const char *name, uint32_t before)
{
    bool plain = *name;
    for (const char *c = name; *c; c++)
        plain &= (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                 *c == '_' || *c == '.';
    if (!plain)
        name = tnk_ref_value(s, tn_string(s->ctx, name));
    return before ? tn_strf(s->ctx, "%s#%u", name, before) : name;
}

/* A loop's name among the loops around it. */
static const char *
loop_name(tnk_sch *s, const tnk_item *i)
{
    uint32_t before = 0;
    for (const tnk_item *p = i->parent; p && p->kind == TNK_ITEM_LOOP; p = p->parent)
        before += !strcmp(tn_var_name(p->var), tn_var_name(i->var));
    return numbered(s, tn_var_name(i->var), before);
}

const char *
tnk_ref(tnk_sch *s, const tnk_item *i)
{
    const tnk_item *b = i;
    if (i->kind == TNK_ITEM_LOOP) {
        name_count in = {0};
        tnk_each_block((tnk_item *)(uintptr_t)i, count, &in);
        b = in.first;
    }
    if (!b || b->kind != TNK_ITEM_BLOCK)
        return "root";
    name_count c = {.is = b, .name = b->block->name};
    tnk_each_block(s->root, count, &c);
    const char *block = numbered(s, c.name, c.before);
    if (b == i)
        return block;
    return tn_strf(s->ctx, "%s, %s", block, loop_name(s, i));
}
/* The buffers that a block reads and writes, each once. */
uint32_t
tnk_block_buffers(const tnk_item *block, const tn_node **out, uint32_t max)
{
    uint32_t n = 0;
    const tn_block *b = block->block;
    for (uint32_t i = 0; i < b->reads.n + b->writes.n; i++) {
        const tn_node *r = i < b->reads.n ? b->reads.at[i] : b->writes.at[i - b->reads.n];
        const tn_node *buffer = tn_as_buffer_region(r)->buffer;
        bool there = false;
        for (uint32_t k = 0; k < n && k < max; k++)
            there |= out[k] == buffer;
        if (!there && n < max)
            out[n++] = buffer;
    }
    return n;
}

const char *
tnk_ref_buffer(tnk_sch *s, const tnk_item *block, const tn_node *buffer)
{
    const tn_node *all[64];
    uint32_t n = block ? tnk_block_buffers(block, all, 64) : s->allocs.n, before = 0;
    const tn_node *const *list = block ? all : s->allocs.at;
    const char *name = tn_as_buffer(buffer)->name;
    for (uint32_t i = 0; i < n && list[i] != buffer; i++)
        before += !strcmp(tn_as_buffer(list[i])->name, name);
    return numbered(s, name, before);
}

const char *
tnk_ref_loops(tnk_sch *s, tnk_item *const *loops, uint32_t n)
{
    const char *all = tnk_ref(s, loops[0]);
    for (uint32_t i = 1; i < n; i++)
        all = tn_strf(s->ctx, "%s, %s", all, loop_name(s, loops[i]));
    return all;
}

static void
put_value(tnb_buf *out, const tn_node *v)
{
    const tn_array *a = tn_as_array(v);
    const tn_int_imm *i = tn_as_int_imm(v);
    const tn_string_imm *str = tn_as_string_imm(v);
    if (a) {
        for (uint32_t k = 0; k < a->items.n; k++) {
            tnb_buf_puts(out, k ? ", " : "[");
            put_value(out, a->items.at[k]);
        }
        tnb_buf_puts(out, a->items.n ? "]" : "[]");
    } else if (i) {
        if (tn_dtype_of(v).code == TNB_BOOL)
            tnb_buf_puts(out, i->value ? "True" : "False");
        else
            tnb_buf_printf(out, "%lld", (long long)i->value);
    } else if (str) {
        tnb_buf_putc(out, '"');
        for (const char *c = str->value; *c; c++) {
            if ((unsigned char)*c < 32) {
                tnb_buf_printf(out, "\\u%04x", (unsigned)*c);
                continue;
            }
            if (*c == '"' || *c == '\\')
                tnb_buf_putc(out, '\\');
            tnb_buf_putc(out, *c);
        }
        tnb_buf_putc(out, '"');
    } else if (!v || tn_is(v, TN_KIND_NONE)) {
        tnb_buf_puts(out, "None");
    } else {
        tn_write_value(v, out);
    }
}

const char *
tnk_ref_value(tnk_sch *s, const tn_node *value)
{
    tnb_buf out = {0};
    put_value(&out, value);
    const char *text = tn_str(s->ctx, out.s ? out.s : "");
    tnb_buf_free(&out);
    return text;
}

static void
put_index(tnb_buf *out, const tn_expr *e)
{
    const char *op = tn_is(e, TN_KIND_ADD)         ? "+"
                     : tn_is(e, TN_KIND_SUB)       ? "-"
                     : tn_is(e, TN_KIND_MUL)       ? "*"
                     : tn_is(e, TN_KIND_FLOOR_DIV) ? "//"
                     : tn_is(e, TN_KIND_FLOOR_MOD) ? "%"
                                                   : NULL;
    if (op) {
        tnb_buf_putc(out, '(');
        put_index(out, tn_as_binary(e)->a);
        tnb_buf_printf(out, " %s ", op);
        put_index(out, tn_as_binary(e)->b);
        tnb_buf_putc(out, ')');
    } else if (tn_is(e, TN_KIND_CAST)) {
        put_index(out, ((const tn_cast *)e)->value);
    } else if (tn_is_var(e)) {
        tnb_buf_puts(out, tn_var_name(e));
    } else {
        put_value(out, e);
    }
}

const char *
tnk_ref_index(tnk_sch *s, const tn_expr *e)
{
    tnb_buf out = {0};
    put_index(&out, e);
    const char *text = tn_str(s->ctx, out.s ? out.s : "");
    tnb_buf_free(&out);
    return text;
}
