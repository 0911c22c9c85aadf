/* SPDX-License-Identifier: Apache-2.0 */
/* The context: arenas, interned texts, places, sources, errors. */
#include "private.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static void
release_owned(tn_ctx *ctx)
{
    for (uint32_t i = ctx->owned.n; i-- > 0;)
        ctx->owned.at[i].release(ctx->owned.at[i].p);
}

static tn_ctx *
make(const tn_ctx *parent, tn_registry *reg)
{
    uint64_t before = tnb_memory_failures();
    tnb_arena *perm = tnb_arena_new();
    tn_ctx *ctx = perm ? TNB_NEW(perm, tn_ctx) : NULL;
    if (!ctx)
        return NULL;
    ctx->perm = perm;
    ctx->parent = parent;
    ctx->memory_failures = parent ? parent->memory_failures : before;
    ctx->limits = parent ? parent->limits : &ctx->own_limits;
    for (int i = 0; i < TN_N_LIMITS; i++)
        ctx->own_limits.most[i] = TN_LIMIT_DEFAULT;
    ctx->arena = tnb_arena_new();
    ctx->scratch = tnb_arena_new();
    ctx->diags = tnb_diags_new();
    ctx->reg = reg;
    if (!reg && !parent) {
        ctx->reg = tn_registry_new(NULL);
        ctx->own_reg = true;
    }
    if (!ctx->arena || !ctx->scratch || !ctx->diags || !ctx->reg) {
        tn_ctx_free(ctx);
        return NULL;
    }
    ctx->error_node.kind = TN_KIND_ERROR;
    ctx->error_node.flags = TN_FLAG_CLOSED | 1u << TN_DEPTH_SHIFT;
    return ctx;
}

tn_ctx *
tn_ctx_new(tn_registry *reg)
{
    return make(NULL, reg);
}

tn_ctx *
tn_ctx_child(const tn_ctx *parent)
{
    tn_ctx *ctx = make(parent, parent->reg);
    if (ctx) {
        ctx->first_loc = parent->first_loc + parent->locs.n;
        ctx->at = parent->at;
    }
    return ctx;
}

bool
tn_ctx_check_memory(tn_ctx *ctx)
{
    if (tnb_memory_failures() == ctx->memory_failures)
        return true;
    tn_error(ctx, 0, TNB_NO_MEMORY, "memory ran out");
    tnb_diag_hint(ctx->diags, "give the process more, or run fewer at a time");
    return false;
}

void
tn_ctx_free(tn_ctx *ctx)
{
    if (!ctx)
        return;
    release_owned(ctx);
    tn_data_free_all(ctx);
    tn_forget_right(ctx);
    tn_intern_free(&ctx->strings);
    tn_intern_free(&ctx->nodes);
    tn_intern_free(&ctx->places);
    free(ctx->sources);
    tnb_diags_free(ctx->diags);
    while (ctx->n_pool)
        tnb_arena_free(ctx->pool[--ctx->n_pool]);
    tnb_arena_free(ctx->scratch);
    tnb_arena_free(ctx->arena);
    for (uint32_t i = 0; i < ctx->kept.n; i++)
        tnb_arena_free(ctx->kept.at[i]);
    if (ctx->own_reg)
        tn_registry_free(ctx->reg);
    tnb_arena_free(ctx->perm); /* the context is part of it */
}

tnb_arena *
tn_arena(tn_ctx *ctx)
{
    return ctx->arena;
}

tnb_arena *
tn_scratch(tn_ctx *ctx)
{
    return ctx->scratch;
}

tnb_arena *
tn_borrow_arena(tn_ctx *ctx)
{
    return ctx->n_pool ? ctx->pool[--ctx->n_pool] : tnb_arena_new();
}

void
tn_return_arena(tn_ctx *ctx, tnb_arena *a)
{
    if (!a)
        return;
    if (ctx->n_pool == sizeof ctx->pool / sizeof *ctx->pool || tnb_arena_failed(a)) {
        tnb_arena_free(a);
        return;
    }
    tnb_arena_reset(a);
    ctx->pool[ctx->n_pool++] = a;
}

tnb_diags *
tn_diags(tn_ctx *ctx)
{
    return ctx->diags;
}

tn_registry *
tn_ctx_registry(tn_ctx *ctx)
{
    return ctx->reg;
}

void *
tn_ctx_user(const tn_ctx *ctx, const void *key)
{
    for (const tn_ctx *c = ctx; c; c = c->parent)
        for (uint32_t i = 0; i < c->users.n; i++)
            if (c->users.at[i].key == key)
                return c->users.at[i].value;
    return NULL;
}

void *
tn_ctx_set_user(tn_ctx *ctx, const void *key, void *value)
{
    for (uint32_t i = 0; i < ctx->users.n; i++)
        if (ctx->users.at[i].key == key) {
            void *before = ctx->users.at[i].value;
            ctx->users.at[i].value = value;
            return before;
        }
    TNB_PUSH(ctx->perm, ctx->users, ((tn_user){key, value}));
    return NULL;
}

void
tn_ctx_own(tn_ctx *ctx, void *p, void (*release)(void *))
{
    TNB_PUSH(ctx->perm, ctx->owned, ((tn_owned){p, release}));
}

/* ---- limits ---- */

void
tn_limit_set(tn_ctx *ctx, tn_limit which, uint64_t bytes)
{
    ctx->limits->most[which] = bytes;
}

uint64_t
tn_limit_get(const tn_ctx *ctx, tn_limit which)
{
    return ctx->limits->most[which];
}

void
tn_limit_error(tn_ctx *ctx, tn_limit which, uint64_t bytes, tn_loc loc)
{
    static const char *const what[] = {"constants that the compiler makes",
                                       "programs that the compiler runs"};
    static const char *const key[] = {"constant_limit", "scratch_limit"};
    tn_error(ctx, loc, TNB_NO_MEMORY,
             "%llu more bytes for %s are above the limit of %llu MiB in all",
             (unsigned long long)bytes, what[which],
             (unsigned long long)(ctx->limits->most[which] >> 20));
    tnb_diag_hint(ctx->diags, "raise the limit: --set tenon.%s=MIB", key[which]);
}

bool
tn_limit_take(tn_ctx *ctx, tn_limit which, uint64_t bytes, tn_loc loc)
{
    tn_limits *l = ctx->limits;
    uint64_t before = l->taken[which];
    do {
        if (before > l->most[which] || bytes > l->most[which] - before) {
            tn_limit_error(ctx, which, bytes, loc);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&l->taken[which], &before, before + bytes));
    return true;
}

void
tn_limit_give(tn_ctx *ctx, tn_limit which, uint64_t bytes)
{
    ctx->limits->taken[which] -= bytes;
}

/* ---- texts ---- */
static bool
same_text(const void *stored, const void *key, size_t n)
{
    const char *s = stored;
    return strncmp(s, key, n) == 0 && s[n] == 0;
}

const char *
tn_strn(tn_ctx *ctx, const char *s, size_t n)
{
    n = strnlen(s, n); /* a text ends at its first zero byte */
    uint64_t h = tn_hash_bytes(s, n);
    for (const tn_ctx *c = ctx; c; c = c->parent) {
        const char *found = tn_intern_find(&c->strings, h, same_text, s, n);
        if (found)
            return found;
    }
    char *copy = tnb_strndup(ctx->perm, s, n);
    tn_intern_add(&ctx->strings, h, copy);
    return copy;
}

const char *
tn_str(tn_ctx *ctx, const char *s)
{
    return s ? tn_strn(ctx, s, strlen(s)) : NULL;
}

const char *
tn_strf(tn_ctx *ctx, const char *fmt, ...)
{
    char small[256];
    va_list ap;
    va_start(ap, fmt);
    int n = tnb_vformat(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0)
        return tn_str(ctx, "");
    if ((size_t)n < sizeof small)
        return tn_strn(ctx, small, (size_t)n);
    char *big = tnb_alloc(ctx->scratch, (size_t)n + 1);
    va_start(ap, fmt);
    tnb_vformat(big, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return tn_strn(ctx, big, (size_t)n);
}

/* ---- places ---- */
static bool
same_place(const void *stored, const void *key, size_t extra)
{
    (void)extra;
    const tnb_place *a = *(const tnb_place *const *)stored, *b = key;
    return a->file == b->file && a->node == b->node && a->line == b->line && a->column == b->column;
}

/* What the set of places holds: the place and its number. */
struct numbered_place {
    const tnb_place *place;
    tn_loc loc;
};

tn_loc
tn_loc_make(tn_ctx *ctx, tnb_place place)
{
    place.file = tn_str(ctx, place.file);
    place.node = tn_str(ctx, place.node);
    if (!place.file && !place.node && !place.line)
        return 0;
    uint64_t h = tn_mix(tn_mix((uintptr_t)place.file, (uintptr_t)place.node),
                        (uint64_t)place.line << 32 | place.column);
    for (const tn_ctx *c = ctx; c; c = c->parent) {
        const struct numbered_place *found = tn_intern_find(&c->places, h, same_place, &place, 0);
        if (found)
            return found->loc;
    }
    struct numbered_place *np = TNB_NEW(ctx->perm, struct numbered_place);
    np->place = tnb_dup(ctx->perm, &place, sizeof place);
    TNB_PUSH(ctx->perm, ctx->locs, place);
    np->loc = ctx->first_loc + ctx->locs.n;
    tn_intern_add(&ctx->places, h, np);
    return np->loc;
}

tnb_place
tn_loc_place(const tn_ctx *ctx, tn_loc loc)
{
    for (const tn_ctx *c = ctx; loc && c; c = c->parent)
        if (loc > c->first_loc && loc - c->first_loc <= c->locs.n)
            return c->locs.at[loc - c->first_loc - 1];
    return (tnb_place){0};
}

tn_loc
tn_at(tn_ctx *ctx, tn_loc loc)
{
    tn_loc old = ctx->at;
    ctx->at = loc;
    return old;
}

void
tn_ctx_source(tn_ctx *ctx, const char *file, const char *text, size_t n)
{
    file = tn_str(ctx, file);
    for (uint32_t i = 0; i < ctx->n_sources; i++)
        if (ctx->sources[i].file == file) {
            ctx->sources[i].text = text;
            ctx->sources[i].n = n;
            return;
        }
    if (!text)
        return;
    if (ctx->n_sources == ctx->cap_sources) {
        uint32_t cap = ctx->cap_sources ? 2 * ctx->cap_sources : 8;
        void *p = realloc(ctx->sources, cap * sizeof *ctx->sources);
        if (!p)
            return;
        ctx->sources = p;
        ctx->cap_sources = cap;
    }
    ctx->sources[ctx->n_sources].file = file;
    ctx->sources[ctx->n_sources].text = text;
    ctx->sources[ctx->n_sources++].n = n;
}

/* Adds the text line of the place to the diagnostic just recorded. */
static void
show_source(tn_ctx *ctx, tnb_place place)
{
    enum { ENOUGH = 100 }; /* finding a line costs a walk over the text */
    if (tnb_diags_errors(ctx->diags) >= ENOUGH || tnb_diags_count(ctx->diags) >= ENOUGH)
        return;
    for (const tn_ctx *c = ctx; place.file && place.line && c; c = c->parent)
        for (uint32_t i = 0; i < c->n_sources; i++) {
            if (c->sources[i].file != place.file || !c->sources[i].text)
                continue;
            const char *p = c->sources[i].text, *end = p + c->sources[i].n;
            for (uint32_t line = 1; p && line < place.line; line++) {
                p = memchr(p, '\n', (size_t)(end - p));
                p = p ? p + 1 : NULL;
            }
            if (p && p < end) {
                const char *e = memchr(p, '\n', (size_t)(end - p));
                tnb_diag_source(ctx->diags, p, (size_t)((e ? e : end) - p));
            }
            return;
        }
}

/* ---- errors ---- */
const tn_node *
tn_error(tn_ctx *ctx, tn_loc loc, tnb_status status, const char *fmt, ...)
{
    tnb_place place = tn_loc_place(ctx, loc ? loc : ctx->at);
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(ctx->diags, TNB_ERROR, status, place, fmt, ap);
    va_end(ap);
    show_source(ctx, place);
    return &ctx->error_node;
}

void
tn_warn(tn_ctx *ctx, tn_loc loc, const char *fmt, ...)
{
    tnb_place place = tn_loc_place(ctx, loc ? loc : ctx->at);
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(ctx->diags, TNB_WARNING, TNB_OK, place, fmt, ap);
    va_end(ap);
    show_source(ctx, place);
}

const tn_node *
tn_error_node(tn_ctx *ctx)
{
    return &ctx->error_node;
}

/* ---- lists ---- */
tn_list
tn_list_of(tn_ctx *ctx, const tn_node *const *at, uint32_t n)
{
    if (!n)
        return (tn_list){NULL, 0};
    return (tn_list){tnb_dup(ctx->arena, at, n * sizeof *at), n};
}

tn_list
tn_listv(tn_ctx *ctx, ...)
{
    uint32_t n = 0;
    va_list ap;
    va_start(ap, ctx);
    while (va_arg(ap, const tn_node *))
        n++;
    va_end(ap);
    if (!n)
        return (tn_list){NULL, 0};
    const tn_node **at = TNB_NEW_N(ctx->arena, const tn_node *, n);
    va_start(ap, ctx);
    for (uint32_t i = 0; i < n; i++)
        at[i] = va_arg(ap, const tn_node *);
    va_end(ap);
    return (tn_list){at, n};
}

tn_list
tn_list_with(tn_ctx *ctx, tn_list l, uint32_t i, const tn_node *n)
{
    if (i >= l.n)
        return i == l.n ? tn_list_append(ctx, l, n) : l;
    const tn_node **at = tnb_dup(ctx->arena, l.at, l.n * sizeof *l.at);
    at[i] = n;
    return (tn_list){at, l.n};
}

void
tn_list_change(tn_ctx *ctx, tn_list *now, tn_list was, uint32_t i, const tn_node *n)
{
    if (i >= was.n || now->at[i] == n)
        return;
    const tn_node **at = now->at == was.at ? tnb_dup(ctx->arena, was.at, was.n * sizeof *was.at)
                                           : (const tn_node **)(uintptr_t)now->at;
    at[i] = n;
    *now = (tn_list){at, was.n};
}

tn_list
tn_list_append(tn_ctx *ctx, tn_list l, const tn_node *n)
{
    enum { SHORT = 8 };
    for (uint32_t i = 0; l.n >= SHORT && i < sizeof ctx->grown / sizeof *ctx->grown; i++) {
        struct grown *g = &ctx->grown[i];
        if (g->at == l.at && g->n == l.n && g->n < g->cap && g->arena == ctx->arena) {
            g->at[g->n++] = n; /* the list that ends before it is as it was */
            return (tn_list){g->at, g->n};
        }
    }
    uint32_t cap = l.n < SHORT || l.n > UINT32_MAX / 4 ? l.n + 1 : 2 * l.n;
    const tn_node **at = TNB_NEW_N(ctx->arena, const tn_node *, cap);
    if (l.n)
        memcpy(at, l.at, l.n * sizeof *l.at);
    at[l.n] = n;
    if (cap > l.n + 1)
        ctx->grown[ctx->next_grown++ % (sizeof ctx->grown / sizeof *ctx->grown)] =
            (struct grown){at, l.n + 1, cap, ctx->arena};
    return (tn_list){at, l.n + 1};
}
