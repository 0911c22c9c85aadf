/* SPDX-License-Identifier: Apache-2.0 */
/* Deep copies: from a child context into its parent, and of what is alive into a new arena
 * (compaction). Sharing and identities of variables are kept.
 */
#include "private.h"

struct copier {
    tn_ctx *to;
    const tn_ctx *from; /* NULL: compaction, texts and locations stay */
    tnb_ptrmap done;
};

static const tn_node *
copy(struct copier *c, const tn_node *n);

static tn_list
copy_list(struct copier *c, tn_list l)
{
    if (!l.n)
        return (tn_list){0};
    const tn_node **at = TNB_NEW_N(c->to->arena, const tn_node *, l.n);
    for (uint32_t i = 0; i < l.n; i++)
        at[i] = copy(c, l.at[i]);
    return (tn_list){at, l.n};
}

/* Constants of a child are owned by it: their bytes are copied, file ranges and splats described
 * anew. */
static const tn_data *
copy_data(struct copier *c, const tn_data *d)
{
    const tn_data *known = tnb_ptrmap_get(&c->done, d);
    if (known || !c->from)
        return known ? known : d;
    for (const tn_ctx *p = c->from->parent; p; p = p->parent)
        for (uint32_t i = 0; i < p->datas.n; i++)
            if (p->datas.at[i] == d)
                return d;
    const tn_data *now = NULL;
    if (d->kind == TN_DATA_BYTES) {
        void *bytes;
        now = tn_data_new(c->to, d->dtype, d->ndim, d->shape, &bytes);
        if (now && d->n_bytes)
            memcpy(bytes, d->bytes, (size_t)d->n_bytes);
    } else if (d->kind == TN_DATA_FILE) {
        now = tn_data_file(c->to, d->dtype, d->ndim, d->shape, d->bytes, d->file, d->offset);
    } else if (d->kind == TN_DATA_SPLAT) {
        now = tn_data_splat(c->to, d->dtype, d->ndim, d->shape, d->splat);
    } else {
        const tn_data **in = TNB_NEW_N(c->to->scratch, const tn_data *, d->n_inputs);
        for (uint32_t i = 0; i < d->n_inputs; i++)
            in[i] = copy_data(c, d->inputs[i]);
        now = tn_data_deferred(c->to, d->dtype, d->ndim, d->shape, copy(c, d->program), in,
                               d->n_inputs, d->result);
    }
    tnb_ptrmap_set(&c->done, d, now);
    return now;
}

/* Compaction: whether a node lies where nothing is moved. What it refers to then does so too. */
static bool
stays(const struct copier *c, const tn_node *n)
{
    if (n->flags & TN_FLAG_INTERNED)
        return true;
    for (uint32_t i = c->to->kept.n; i-- > 0;)
        if (tnb_arena_has(c->to->kept.at[i], n))
            return true;
    return false;
}

static const tn_node *
copy(struct copier *c, const tn_node *n)
{
    if (!n || (!c->from && (n->flags & TN_FLAG_INTERNED)))
        return n;
    if (n == &c->to->error_node || (c->from && n == &c->from->error_node))
        return &c->to->error_node;
    const tn_node *known = tnb_ptrmap_get(&c->done, n);
    if (known)
        return known;
    if (!c->from && stays(c, n)) {
        tnb_ptrmap_set(&c->done, n, n);
        return n;
    }
    tn_any_node now = {0};
    memcpy(&now, n, tn_kinds[n->kind].size);
    for (const tn_field *f = tn_kinds[n->kind].fields; f->name; f++) {
        char *at = (char *)&now + f->offset;
        const void *p = NULL;
        tn_list l;
        switch (f->type) {
        case TN_FIELD_NODE:
        case TN_FIELD_DEF:
            p = copy(c, tn_field_node(n, f));
            memcpy(at, &p, sizeof p);
            break;
        case TN_FIELD_LIST:
        case TN_FIELD_DEFS:
            l = copy_list(c, tn_field_list(n, f));
            memcpy(at, &l, sizeof l);
            break;
        case TN_FIELD_STR:
        case TN_FIELD_NAME:
            p = c->from ? tn_str(c->to, *(const char *const *)tn_field_at(n, f))
                        : *(const char *const *)tn_field_at(n, f);
            memcpy(at, &p, sizeof p);
            break;
        case TN_FIELD_DATA:
            p = copy_data(c, *(const tn_data *const *)tn_field_at(n, f));
            memcpy(at, &p, sizeof p);
            break;
        default:
            break;
        }
    }
    const tn_type *type = copy(c, n->type);
    if (c->from && n->loc)
        now.base.loc = tn_loc_make(c->to, tn_loc_place(c->from, n->loc));
    tn_loc old = tn_at(c->to, now.base.loc); /* an unknown place stays unknown */
    const tn_node *made = tn_make(c->to, n->kind, &now, type, false);
    tn_at(c->to, old);
    tnb_ptrmap_set(&c->done, n, made);
    return made;
}

const tn_node *
tn_ctx_splice(tn_ctx *ctx, const tn_ctx *child, const tn_node *n)
{
    tnb_arena *a = tn_borrow_arena(ctx);
    if (!a)
        return tn_error(ctx, 0, TNB_NO_MEMORY, "no memory for a copy");
    struct copier c = {.to = ctx, .from = child};
    tnb_ptrmap_init(&c.done, a);
    const tn_node *now = copy(&c, n);
    tn_return_arena(ctx, a);
    return now;
}

bool
tn_keep(tn_ctx *ctx)
{
    tnb_arena *fresh = tnb_arena_new();
    if (!fresh)
        return false;
    TNB_PUSH(ctx->perm, ctx->kept, ctx->arena);
    if (tnb_arena_failed(ctx->perm)) {
        ctx->kept.n--; /* the arena stays in use, and is freed once */
        tnb_arena_free(fresh);
        return false;
    }
    ctx->arena = fresh;
    memset(ctx->grown, 0, sizeof ctx->grown); /* they lie in the old one */
    return true;
}

const tn_module *
tn_compact(tn_ctx *ctx, const tn_module *m)
{
    tnb_arena *old = ctx->arena, *fresh = tnb_arena_new(), *a = tn_borrow_arena(ctx);
    if (!fresh || !a) {
        tnb_arena_free(fresh);
        tn_return_arena(ctx, a);
        return m; /* garbage stays */
    }
    ctx->arena = fresh;
    tn_forget_right(ctx);
    memset(ctx->grown, 0, sizeof ctx->grown); /* they lie in the old one */
    struct copier c = {.to = ctx};
    tnb_ptrmap_init(&c.done, a);
    const tn_node *now = copy(&c, &m->base);
    for (uint32_t i = 0; i < ctx->datas.n; i++) {
        tn_data *d = (tn_data *)(uintptr_t)ctx->datas.at[i];
        if (d->kind == TN_DATA_DEFERRED)
            d->program = copy(&c, d->program);
    }
    bool failed = tnb_arena_failed(fresh) || tnb_arena_failed(a);
    tn_return_arena(ctx, a);
    if (failed) {
        /* deferred programs may point into either arena: keep both */
        ctx->arena = old;
        tn_ctx_own(ctx, fresh, (void (*)(void *))tnb_arena_free);
        return m;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < ctx->owned.n; i++) {
        if (tnb_arena_has(old, ctx->owned.at[i].p))
            ctx->owned.at[i].release(ctx->owned.at[i].p);
        else
            ctx->owned.at[n++] = ctx->owned.at[i];
    }
    ctx->owned.n = n;
    tnb_arena_free(old);
    return tn_as_module(now);
}
