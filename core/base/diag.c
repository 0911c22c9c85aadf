/* SPDX-License-Identifier: Apache-2.0 */
/* The sink of diagnostics and its text form. */
#include "mem_private.h"
#include "tenon/base/diag.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ERRORS = 100, MAX_OTHERS = 100, MAX_NOTES = 16, MAX_SOURCE = 400 };

struct tnb_diags {
    tnb_arena *arena;
    tnb_diag *last; /* NULL when the last one was not kept */
    uint32_t errors, others, n;
    tnb_diag at[MAX_ERRORS + MAX_OTHERS];
};

tnb_diags *
tnb_diags_new(void)
{
    tnb_diags *d = malloc(sizeof *d);
    if (!d) {
        tnb_count_memory_failure();
        return NULL;
    }
    memset(d, 0, offsetof(tnb_diags, at)); /* `at` is written as it fills */
    d->arena = tnb_arena_new();
    if (!d->arena) {
        free(d);
        return NULL;
    }
    return d;
}

void
tnb_diags_free(tnb_diags *d)
{
    if (!d)
        return;
    tnb_arena_free(d->arena);
    free(d);
}

void
tnb_diags_clear(tnb_diags *d)
{
    tnb_arena_reset(d->arena);
    d->errors = d->others = d->n = 0;
    d->last = NULL;
}

void
tnb_diags_cut(tnb_diags *d, uint32_t n)
{
    if (n >= d->n)
        return;
    d->errors = d->others = 0;
    for (uint32_t i = 0; i < n; i++)
        *(d->at[i].severity == TNB_ERROR ? &d->errors : &d->others) += 1;
    d->n = n;
    d->last = n ? &d->at[n - 1] : NULL;
}

uint32_t
tnb_diags_errors(const tnb_diags *d)
{
    return d->errors;
}

uint32_t
tnb_diags_count(const tnb_diags *d)
{
    return d->n;
}

const tnb_diag *
tnb_diags_get(const tnb_diags *d, uint32_t i)
{
    return i < d->n ? &d->at[i] : NULL;
}

static const char *
keepv(tnb_diags *d, const char *fmt, va_list ap) TNB_PRINTF(2, 0);
static const char *
keepv(tnb_diags *d, const char *fmt, va_list ap)
{
    char text[512];
    va_list again;
    va_copy(again, ap);
    const char *out = "out of memory";
    int n = vsnprintf(text, sizeof text, fmt, ap);
    if (n >= 0 && (size_t)n < sizeof text) {
        out = tnb_strndup(d->arena, text, (size_t)n);
    } else if (n >= 0) {
        char *s = malloc((size_t)n + 1);
        if (s) {
            vsnprintf(s, (size_t)n + 1, fmt, again);
            out = tnb_strndup(d->arena, s, (size_t)n);
            free(s);
        }
    }
    va_end(again);
    return out;
}

void
tnb_reportv(tnb_diags *d, tnb_severity sev, tnb_status status, tnb_place place, const char *fmt,
            va_list ap)
{
    d->last = NULL;
    if (sev == TNB_ERROR ? d->errors++ >= MAX_ERRORS : d->others++ >= MAX_OTHERS)
        return;
    tnb_diag *g = &d->at[d->n++];
    *g = (tnb_diag){.severity = sev, .status = status, .place = place};
    if (place.file)
        g->place.file = tnb_strdup(d->arena, place.file);
    if (place.node)
        g->place.node = tnb_strdup(d->arena, place.node);
    g->message = keepv(d, fmt, ap);
    d->last = g;
}

void
tnb_report(tnb_diags *d, tnb_severity sev, tnb_status status, tnb_place place, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(d, sev, status, place, fmt, ap);
    va_end(ap);
}

void
tnb_diag_note(tnb_diags *d, const char *fmt, ...)
{
    if (!d->last || d->last->n_notes == MAX_NOTES)
        return;
    if (!d->last->notes)
        d->last->notes = TNB_NEW_N(d->arena, const char *, MAX_NOTES);
    va_list ap;
    va_start(ap, fmt);
    d->last->notes[d->last->n_notes++] = keepv(d, fmt, ap);
    va_end(ap);
}

void
tnb_diag_hint(tnb_diags *d, const char *fmt, ...)
{
    if (!d->last)
        return;
    va_list ap;
    va_start(ap, fmt);
    d->last->hint = keepv(d, fmt, ap);
    va_end(ap);
}

void
tnb_diag_source(tnb_diags *d, const char *line, size_t n)
{
    if (d->last)
        d->last->source_line = tnb_strndup(d->arena, line, n);
}

static bool
continues(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* The source line and a caret below `column`. Of a long line, the part around the column. */
static void
print_source(const char *line, uint32_t column, tnb_buf *out)
{
    size_t n = strcspn(line, "\r\n"), at = column ? column - 1 : 0, from = 0;
    if (at > n)
        at = n;
    if (n > MAX_SOURCE) {
        from = at > MAX_SOURCE / 2 ? at - MAX_SOURCE / 2 : 0;
        while (from && continues(line[from]))
            from--;
        if (n - from > MAX_SOURCE)
            n = from + MAX_SOURCE;
        while (n > from && n < strlen(line) && continues(line[n]))
            n--;
    }
    tnb_buf_puts(out, "    ");
    for (size_t i = from; i < n; i++)
        tnb_buf_putc(out, ((unsigned char)line[i] < 32 && line[i] != '\t') || line[i] == 127
                              ? '?'
                              : line[i]);
    tnb_buf_putc(out, '\n');
    if (!column)
        return;
    tnb_buf_puts(out, "    ");
    for (size_t i = from; i < at && i < n; i++)
        if (!continues(line[i]))
            tnb_buf_putc(out, line[i] == '\t' ? '\t' : ' ');
    tnb_buf_puts(out, "^\n");
}

/* "FILE:LINE:COLUMN: node: ", as far as known. */
static void
print_place(const tnb_place *p, tnb_buf *out)
{
    if (p->file) {
        tnb_buf_puts(out, p->file);
        if (p->line)
            tnb_buf_printf(out, ":%u", p->line);
        if (p->line && p->column)
            tnb_buf_printf(out, ":%u", p->column);
        tnb_buf_puts(out, ": ");
    } else if (p->line) {
        tnb_buf_printf(out, "line %u", p->line);
        if (p->column)
            tnb_buf_printf(out, ", column %u", p->column);
        tnb_buf_puts(out, ": ");
    }
    if (p->node)
        tnb_buf_printf(out, "%s: ", p->node);
}

void
tnb_diags_print(const tnb_diags *d, tnb_buf *out)
{
    static const char *const severity[] = {"", "warning: ", "info: "};
    for (uint32_t i = 0; i < d->n; i++) {
        const tnb_diag *g = &d->at[i];
        print_place(&g->place, out);
        tnb_buf_printf(out, "%s%s\n", severity[g->severity], g->message);
        if (g->source_line)
            print_source(g->source_line, g->place.column, out);
        for (uint32_t k = 0; k < g->n_notes; k++)
            tnb_buf_printf(out, "  note: %s\n", g->notes[k]);
        if (g->hint)
            tnb_buf_printf(out, "  hint: %s\n", g->hint);
    }
    if (d->errors > MAX_ERRORS)
        tnb_buf_printf(out, "and %u more errors\n", d->errors - MAX_ERRORS);
    if (d->others > MAX_OTHERS)
        tnb_buf_printf(out, "and %u more warnings\n", d->others - MAX_OTHERS);
}

tnb_status
tnb_diags_first(const tnb_diags *d, tnb_err *err)
{
    for (uint32_t i = 0; i < d->n; i++) {
        const tnb_diag *g = &d->at[i];
        if (g->severity != TNB_ERROR)
            continue;
        tnb_status s = g->status ? g->status : TNB_INTERNAL;
        tnb_buf place = {0};
        print_place(&g->place, &place);
        tnb_fail(err, s, "%s%s", place.s ? place.s : "", g->message);
        if (g->hint)
            tnb_hint(err, "%s", g->hint);
        tnb_buf_free(&place);
        return s;
    }
    return TNB_OK;
}
