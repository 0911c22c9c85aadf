/* SPDX-License-Identifier: Apache-2.0 */
/* A trace read back: each line is a primitive, applied to a schedule.
 *
 *     # a comment
 *     split(T_matmul, ax0, 32)
 *     bind(T_matmul, ax0_0, "blockIdx.x")
 *     transform_layout(B_reindex, B_reindex, lambda i, j: (j, i))
 *
 * What operands a primitive has stands in one table. Names are resolved as trace.c makes them.
 */
#include "schedule_private.h"

#include <stdio.h>
#include "tenon/core/text.h"

enum { MAX_BLOCKS = 512, MAX_LOOPS = 64, MAX_INTS = 64 };

typedef struct operands {
    tnk_item *block[2];
    tnk_item *loops[MAX_LOOPS];
    uint32_t n_blocks, n_loops, n_ints, n_strings;
    int64_t ints[MAX_INTS];
    bool list; /* the integers stood in a list */
    const char *strings[2];
    const tn_node *buffer, *value;
} operands;

typedef struct reader {
    tnk_sch *s;
    tn_ctx *ctx;
    const char *p, *line; /* where it reads, and the beginning of the line */
    const char *file;
    uint32_t number;
} reader;

static bool
complain(reader *r, const char *fmt, ...) TNB_PRINTF(2, 3);

static bool
complain(reader *r, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tnb_place at = {.file = r->file, .line = r->number, .column = (uint32_t)(r->p - r->line) + 1};
    if (!r->s->broken)
        tn_error(r->ctx, tn_loc_make(r->ctx, at), TNB_INVALID, "%s", text);
    r->s->broken = true;
    return false;
}

static void
blanks(reader *r)
{
    while (*r->p == ' ' || *r->p == '\t' || *r->p == '\r')
        r->p++;
}

static bool
punct(reader *r, char c)
{
    blanks(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* The text between quotes; NULL after complaining. */
static const char *
quoted(reader *r)
{
    tnb_buf out = {0};
    r->p++;
    while (*r->p && *r->p != '\n' && *r->p != '"') {
        if (*r->p == '\\' && r->p[1] && r->p[1] != '\n')
            r->p++;
        tnb_buf_putc(&out, *r->p++);
    }
    const char *text = tn_str(r->ctx, out.s ? out.s : "");
    tnb_buf_free(&out);
    if (*r->p != '"') {
        complain(r, "the text does not end");
        return NULL;
    }
    r->p++;
    return text;
}

static const char *
word(reader *r)
{
    const char *from = r->p;
    while (is_word(*r->p))
        r->p++;
    return r->p > from ? tn_strn(r->ctx, from, (size_t)(r->p - from)) : NULL;
}

/* "name", name or name#2: the name, and how many of that name come before. */
static const char *
reference(reader *r, uint32_t *before)
{
    blanks(r);
    const char *name = *r->p == '"' ? quoted(r) : word(r);
    *before = 0;
    if (!name) {
        complain(r, "a name is missing");
        return NULL;
    }
    if (*r->p == '#') {
        r->p++;
        uint64_t n = 0;
        if (*r->p < '0' || *r->p > '9') {
            complain(r, "'#' needs a number");
            return NULL;
        }
        while (*r->p >= '0' && *r->p <= '9' && n < UINT32_MAX / 10)
            n = n * 10 + (uint64_t)(*r->p++ - '0');
        *before = (uint32_t)n;
    }
    return name;
}

static bool
number(reader *r, int64_t *out)
{
    blanks(r);
    const char *p = r->p;
    bool minus = *p == '-';
    int64_t v = 0;
    p += minus;
    if (*p < '0' || *p > '9')
        return complain(r, "an integer is missing");
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
            return complain(r, "the integer is too large");
    r->p = p;
    *out = minus ? -v : v;
    return true;
}

static bool
read_block(reader *r, operands *o)
{
    uint32_t before;
    blanks(r);
    const char *at = r->p, *name = reference(r, &before);
    tnk_item *all[MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(r->s, all, MAX_BLOCKS), met = 0;
    if (!name)
        return false;
    for (uint32_t i = 0; i < n && i < MAX_BLOCKS; i++)
        if (!strcmp(tnk_item_name(all[i]), name) && met++ == before) {
            o->block[o->n_blocks++] = all[i];
            return true;
        }
    r->p = at;
    if (met)
        return complain(r, "there are %u blocks '%s' only", met, name);
    return complain(r, "there is no block '%s'", name);
}

static bool
read_loop(reader *r, operands *o)
{
    uint32_t before;
    blanks(r);
    const char *at = r->p, *name = reference(r, &before);
    const tnk_item *block = o->block[o->n_blocks - 1];
    tnk_item *all[MAX_LOOPS];
    uint32_t n = tnk_sch_loops(r->s, block, all, MAX_LOOPS), met = 0;
    if (!name)
        return false;
    if (o->n_loops == MAX_LOOPS)
        return complain(r, "there are too many loops");
    for (uint32_t i = 0; i < n && i < MAX_LOOPS; i++)
        if (!strcmp(tnk_item_name(all[i]), name) && met++ == before) {
            o->loops[o->n_loops++] = all[i];
            return true;
        }
    r->p = at;
    return complain(r, "block '%s' is in no loop '%s'%s", tnk_item_name(block), name,
                    met ? " of that number" : "");
}

static bool
read_buffer(reader *r, operands *o, bool allocated)
{
    uint32_t before, met = 0;
    blanks(r);
    const char *at = r->p, *name = reference(r, &before);
    const tn_node *own[64];
    const tn_node *const *all = allocated ? r->s->allocs.at : own;
    uint32_t n = allocated ? r->s->allocs.n : tnk_block_buffers(o->block[o->n_blocks - 1], own, 64);
    if (!name)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(tn_as_buffer(all[i])->name, name) && met++ == before) {
            o->buffer = all[i];
            return true;
        }
    r->p = at;
    return complain(r,
                    allocated ? "no buffer '%s' is allocated" : "the block accesses no buffer '%s'",
                    name);
}

/* A value as options have it; None: NULL. */
static bool
read_value(reader *r, const tn_node **out)
{
    size_t used;
    blanks(r);
    *out = tn_read_value(r->ctx, r->p, strcspn(r->p, "\n"), &used);
    r->p += used;
    if (!*out)
        return complain(r, "a number, text, True, False, None, a list or a dictionary of such is "
                           "missing or not well formed");
    if (tn_is(*out, TN_KIND_NONE))
        *out = NULL;
    return true;
}

/* lambda i, j: (j, i // 4), up to the end of the operand */
static bool
read_map(reader *r, operands *o)
{
    blanks(r);
    const char *from = r->p, *p = from + strcspn(from, ":\n");
    for (int depth = 0; *p && *p != '\n' && (depth || (*p != ',' && *p != ')')); p++)
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
    tnb_place at = {.file = r->file, .line = r->number, .column = (uint32_t)(from - r->line) + 1};
    o->value = r->s->broken ? NULL : tn_read_index_map(r->ctx, at, from, (size_t)(p - from));
    r->p = p;
    r->s->broken |= !o->value;
    return o->value != NULL;
}

/* ---- the primitives ---- */

static void
do_split(tnk_sch *s, operands *o)
{
    tnk_item *out[MAX_INTS];
    if (o->list)
        (void)tnk_split_n(s, o->loops[0], o->ints, o->n_ints, out);
    else
        (void)tnk_split(s, o->loops[0], o->ints[0], out);
}

static void
do_split_overlap(tnk_sch *s, operands *o)
{
    tnk_item *out[2];
    (void)tnk_split_overlap(s, o->loops[0], o->ints[0], out);
}

static void
do_split_overlap_unproved(tnk_sch *s, operands *o)
{
    tnk_item *out[2];
    (void)tnk_split_overlap_unproved(s, o->loops[0], o->ints[0], out);
}

static void
do_fuse(tnk_sch *s, operands *o)
{
    tnk_item *f = o->loops[0];
    for (uint32_t i = 1; i < o->n_loops && f; i++)
        f = tnk_fuse(s, f, o->loops[i]);
}

static void
do_reorder(tnk_sch *s, operands *o)
{
    (void)tnk_reorder(s, o->loops, o->n_loops);
}

static void
do_serial(tnk_sch *s, operands *o)
{
    (void)tnk_set_kind(s, o->loops[0], TN_FOR_SERIAL);
}

static void
do_parallel(tnk_sch *s, operands *o)
{
    (void)tnk_set_kind(s, o->loops[0], TN_FOR_PARALLEL);
}

static void
do_vectorize(tnk_sch *s, operands *o)
{
    (void)tnk_set_kind(s, o->loops[0], TN_FOR_VECTORIZED);
}

static void
do_unroll(tnk_sch *s, operands *o)
{
    (void)tnk_set_kind(s, o->loops[0], TN_FOR_UNROLLED);
}

static void
do_bind(tnk_sch *s, operands *o)
{
    (void)tnk_bind(s, o->loops[0], o->strings[0]);
}

static void
do_annotate(tnk_sch *s, operands *o)
{
    (void)tnk_annotate(s, o->loops[0], o->strings[0], o->value);
}

static void
do_add_unit_loop(tnk_sch *s, operands *o)
{
    (void)tnk_add_unit_loop(s, o->block[0]);
}

static void
do_compute_inline(tnk_sch *s, operands *o)
{
    (void)tnk_compute_inline(s, o->block[0]);
}

static void
do_simplify_indices(tnk_sch *s, operands *o)
{
    (void)tnk_simplify_indices(s, o->block[0]);
}

static void
do_reverse_compute_inline(tnk_sch *s, operands *o)
{
    (void)tnk_reverse_compute_inline(s, o->block[0]);
}

static void
do_cache_write(tnk_sch *s, operands *o)
{
    (void)tnk_cache_write(s, o->block[0], o->strings[0]);
}

static void
do_cache_read(tnk_sch *s, operands *o)
{
    uint32_t perm[MAX_INTS], rank = tn_as_buffer(o->buffer)->shape.n;
    bool seen[MAX_INTS] = {false};
    for (uint32_t i = 0; i < o->n_ints; i++) {
        bool fits =
            o->n_ints == rank && o->ints[i] >= 0 && o->ints[i] < (int64_t)rank && !seen[o->ints[i]];
        if (!fits) {
            tnk_sch_fail(s, o->block[0], "cache_read", "the list is no order of the %u dimensions",
                         rank);
            return;
        }
        seen[o->ints[i]] = true;
        perm[i] = (uint32_t)o->ints[i];
    }
    (void)tnk_cache_read(s, o->block[0], o->buffer, o->strings[0], o->n_ints ? perm : NULL);
}

static void
do_compute_at(tnk_sch *s, operands *o)
{
    (void)tnk_compute_at(s, o->block[0], o->loops[0]);
}

static void
do_reverse_compute_at(tnk_sch *s, operands *o)
{
    (void)tnk_reverse_compute_at(s, o->block[0], o->loops[0]);
}

static void
do_decompose_reduction(tnk_sch *s, operands *o)
{
    (void)tnk_decompose_reduction(s, o->block[0], o->loops[0]);
}

static void
do_rfactor(tnk_sch *s, operands *o)
{
    (void)tnk_rfactor(s, o->loops[0],
                      o->ints[0] > 1000 || o->ints[0] < -1000 ? 1000 : (int)o->ints[0]);
}

static void
do_reindex(tnk_sch *s, operands *o)
{
    (void)tnk_reindex(s, o->block[0], o->buffer);
}

static void
do_transform_layout(tnk_sch *s, operands *o)
{
    (void)tnk_transform_layout(s, o->block[0], o->buffer, o->value);
}

static void
do_transform_block_layout(tnk_sch *s, operands *o)
{
    (void)tnk_transform_block_layout(s, o->block[0], o->value);
}

static void
do_collapse_dims(tnk_sch *s, operands *o)
{
    (void)tnk_collapse_dims(s, o->block[0], (uint32_t)o->ints[0]);
}

static void
do_pad_einsum(tnk_sch *s, operands *o)
{
    (void)tnk_pad_einsum(s, o->block[0], o->ints, o->n_ints);
}

static void
do_blockize(tnk_sch *s, operands *o)
{
    (void)tnk_blockize(s, o->loops[0]);
}

static void
do_tensorize(tnk_sch *s, operands *o)
{
    (void)tnk_tensorize(s, o->block[0], o->strings[0]);
}

static void
do_annotate_block(tnk_sch *s, operands *o)
{
    (void)tnk_annotate_block(s, o->block[0], o->strings[0], o->value);
}

static void
do_storage_align(tnk_sch *s, operands *o)
{
    int axis = o->ints[0] > 1000 || o->ints[0] < -1000 ? 1000 : (int)o->ints[0];
    (void)tnk_storage_align(s, o->block[0], o->buffer, axis, o->ints[1], o->ints[2]);
}

static void
do_set_scope(tnk_sch *s, operands *o)
{
    (void)tnk_set_scope(s, o->buffer, o->strings[0]);
}

/* Operands: b block, l a loop around the last block, L one or more, n a buffer of the last block, a an
 * allocated buffer, s text, i integer, I integer or list of integers, v value, m index map; after '?'
 * they may be absent. */
static const struct {
    const char *name, *operands;
    void (*run)(tnk_sch *s, operands *o);
} primitives[] = {
    {"split", "blI", do_split},
    {"split_overlap", "bli", do_split_overlap},
    {"split_overlap_unproved", "bli", do_split_overlap_unproved},
    {"fuse", "bL", do_fuse},
    {"reorder", "bL", do_reorder},
    {"serial", "bl", do_serial},
    {"parallel", "bl", do_parallel},
    {"vectorize", "bl", do_vectorize},
    {"unroll", "bl", do_unroll},
    {"bind", "bls", do_bind},
    {"annotate", "blsv", do_annotate},
    {"add_unit_loop", "b", do_add_unit_loop},
    {"compute_inline", "b", do_compute_inline},
    {"reverse_compute_inline", "b", do_reverse_compute_inline},
    {"simplify_indices", "b", do_simplify_indices},
    {"cache_write", "bs", do_cache_write},
    {"cache_read", "bns?I", do_cache_read},
    {"compute_at", "bbl", do_compute_at},
    {"reverse_compute_at", "bbl", do_reverse_compute_at},
    {"decompose_reduction", "bbl", do_decompose_reduction},
    {"rfactor", "bli", do_rfactor},
    {"reindex", "bn", do_reindex},
    {"transform_layout", "bnm", do_transform_layout},
    {"transform_block_layout", "bm", do_transform_block_layout},
    {"pad_einsum", "bI", do_pad_einsum},
    {"collapse_dims", "bi", do_collapse_dims},
    {"blockize", "bl", do_blockize},
    {"tensorize", "bs", do_tensorize},
    {"annotate_block", "bsv", do_annotate_block},
    {"storage_align", "bniii", do_storage_align},
    {"set_scope", "as", do_set_scope},
};

static bool
read_ints(reader *r, operands *o, bool list_allowed)
{
    if (!list_allowed || !punct(r, '[')) {
        if (o->n_ints == MAX_INTS)
            return complain(r, "there are too many integers");
        return number(r, &o->ints[o->n_ints++]);
    }
    o->list = true;
    while (!punct(r, ']')) {
        if (o->n_ints == MAX_INTS || (o->n_ints && !punct(r, ',')))
            return complain(r, "the list of integers is not well formed");
        if (!number(r, &o->ints[o->n_ints++]))
            return false;
    }
    return true;
}

static bool
read_operand(reader *r, char what, operands *o)
{
    switch (what) {
    case 'b':
        return read_block(r, o);
    case 'l':
        return read_loop(r, o);
    case 'L':
        do {
            if (!read_loop(r, o))
                return false;
        } while (punct(r, ','));
        return true;
    case 'n':
    case 'a':
        return read_buffer(r, o, what == 'a');
    case 's':
        blanks(r);
        if (*r->p != '"')
            return complain(r, "a text in quotes is missing");
        return (o->strings[o->n_strings++] = quoted(r)) != NULL;
    case 'i':
    case 'I':
        return read_ints(r, o, what == 'I');
    case 'v':
        return read_value(r, &o->value);
    default:
        return read_map(r, o);
    }
}

/* One line that is not empty. */
static bool
apply_line(reader *r)
{
    const char *name = word(r);
    size_t at = 0, n = sizeof primitives / sizeof *primitives;
    while (at < n && (!name || strcmp(primitives[at].name, name)))
        at++;
    if (at == n) {
        r->p = r->line;
        return complain(r, "'%s' is no schedule primitive", name ? name : "");
    }
    if (!punct(r, '('))
        return complain(r, "'(' is missing");
    operands o = {0};
    bool optional = false;
    for (const char *c = primitives[at].operands; *c; c++) {
        if (*c == '?') {
            optional = true;
            continue;
        }
        bool first = c == primitives[at].operands;
        if (!first && !punct(r, ',')) {
            if (optional)
                break;
            return complain(r, "%s has more operands", name);
        }
        if (!read_operand(r, *c, &o))
            return false;
    }
    if (!punct(r, ')'))
        return complain(r, "')' is missing");
    blanks(r);
    if (*r->p && *r->p != '\n' && *r->p != '#')
        return complain(r, "something follows the primitive");
    primitives[at].run(r->s, &o);
    if (r->s->broken && !r->s->quiet)
        tnb_diag_note(tn_diags(r->ctx), "this is line %u of %s", r->number, r->file);
    return !r->s->broken;
}

bool
tnk_sch_apply(tnk_sch *s, const char *text, const char *file, uint32_t first_line)
{
    reader r = {.s = s, .ctx = s->ctx, .p = text, .file = file, .number = first_line};
    while (!s->broken) {
        r.line = r.p;
        blanks(&r);
        if (*r.p && *r.p != '\n' && *r.p != '#' && !apply_line(&r))
            return false;
        const char *end = strchr(r.p, '\n');
        if (!end)
            break;
        r.p = end + 1;
        r.number++;
    }
    return !s->broken;
}
