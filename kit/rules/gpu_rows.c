/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: what a thread block reduces and uses together.
 *
 *     for i, k: m[i] = max(m[i], A[i, k])         for b in blockIdx.x:
 *     for i, k: s[i] += exp(A[i, k] - m[i])   =>      for k over threads: m_shared = max(m_shared, A[b, k])
 *     for i, j: B[i, j] = exp(...) / s[i]             for k over threads: s_shared += exp(A[b, k] - m_shared)
 *                                                     for j over threads: B[b, j] = exp(...) / s_shared
 *
 * A thread block may have several rows that lie next to each other (`group`): a second thread index runs over them.
 */
#include "../schedule/schedule_private.h"
#include "gpu.h"

typedef struct row_search {
    gpu_rows *r;
    tn_arith *arith;
    const tn_block *root;
    const tn_node *buffer;
    bool used[GPU_MAX_LOOPS], bad;
    int64_t per[GPU_MAX_LOOPS]; /* what an iterator is divided by */
} row_search;

/* i or i // c for an iterator i of the root. */
static bool
find_iter(row_search *q, const tn_expr *e, uint32_t *k, int64_t *per)
{
    *per = 1;
    e = tn_simplify(q->arith, e);
    if (tn_is(e, TN_KIND_CAST))
        e = ((const tn_cast *)e)->value;
    if (tn_is(e, TN_KIND_FLOOR_DIV)) {
        if (!tn_int_value(tn_as_binary(e)->b, per) || *per < 1)
            return false;
        e = tn_as_binary(e)->a;
    }
    for (*k = 0; *k < q->root->iters.n; (*k)++)
        if (tn_as_iter_var(q->root->iters.at[*k])->var == e)
            return true;
    return false;
}

static tn_walk_step
note_load(void *user, const tn_node *n)
{
    row_search *q = user;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (!l || l->buffer != q->buffer)
        return TN_WALK_ON;
    for (uint32_t i = 0; i < l->indices.n; i++) {
        uint32_t k;
        int64_t per, c;
        if (tn_int_value(tn_simplify(q->arith, l->indices.at[i]), &c))
            continue;
        if (!find_iter(q, l->indices.at[i], &k, &per) || k >= GPU_MAX_LOOPS ||
            (q->per[k] && q->per[k] != per)) {
            q->bad = true;
            return TN_WALK_STOP;
        }
        q->used[k] = true;
        q->per[k] = per;
    }
    return TN_WALK_ON;
}

bool
gpu_find_rows(gpu_rows *r)
{
    tnk_sch *s = r->s;
    tnk_item *all[GPU_MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS), reductions = 0;
    row_search q = {.r = r, .arith = tn_arith_new(s->ctx), .root = r->root->block};
    bool common[GPU_MAX_LOOPS], any = false, some = false;
    if (n > GPU_MAX_BLOCKS || q.root->iters.n > GPU_MAX_LOOPS || gpu_has_order(r->root) ||
        gpu_is_bound(s, r->root))
        return false;
    for (uint32_t k = 0; k < q.root->iters.n; k++) {
        const tn_iter_var *iv = tn_as_iter_var(q.root->iters.at[k]);
        tn_arith_range(q.arith, iv->var, tn_as_range(iv->dom)->min, tn_as_range(iv->dom)->extent);
        common[k] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (all[i] == r->root)
            continue;
        const tn_node *out = tnk_block_output(all[i]);
        if (!tnk_block_is_reduction(all[i]) || gpu_has_order(all[i]) || !out ||
            !all[i]->block->init || tnk_sch_is_param(s, out))
            return false;
        reductions++;
        if (!tn_uses(q.root->body, out))
            continue;
        memset(q.used, 0, sizeof q.used);
        q.buffer = out;
        tn_walk(q.root->body, 0, note_load, NULL, &q);
        if (q.bad)
            return false;
        for (uint32_t k = 0; k < q.root->iters.n; k++) {
            common[k] &= q.used[k];
            some |= q.used[k];
        }
    }
    for (uint32_t k = 0; k < q.root->iters.n; k++) {
        r->row[k] = common[k] ? q.per[k] : 0;
        any |= common[k];
    }
    return reductions && (any || !some);
}

/* A thread loads its neighbours of an operand at once. */
static bool
stage(gpu_rows *r, tnk_item *block, tnk_item *lane)
{
    tnk_item *l[GPU_MAX_LOOPS];
    for (int i = 0; i < 2; i++) {
        tnk_item *copy = r->wide[i] ? tnk_cache_read(r->s, block, r->wide[i], "local", NULL) : NULL;
        uint32_t n = copy && gpu_into(r->s, copy, "local", lane) ? gpu_own_loops(r->s, copy, l) : 0;
        if (r->wide[i] && (!n || !tnk_set_kind(r->s, l[n - 1], TN_FOR_VECTORIZED)))
            return false;
    }
    return true;
}

static bool
bind_part(gpu_rows *r, tnk_item *block)
{
    tnk_sch *s = r->s;
    tnk_item *l[GPU_MAX_LOOPS];
    uint32_t n = gpu_own_loops(s, block, l), spatial = gpu_spatial_first(block, l, n);
    int64_t e = 1;
    if (n == spatial || (spatial && n > 1 && !tnk_reorder(s, l, n)))
        return false;
    tnk_item *rows = spatial ? gpu_fuse(s, l, spatial) : NULL,
             *turns = gpu_fuse(s, l + spatial, n - spatial);
    tnk_item *part[2];
    if (turns && r->vector > 1) {
        if (!tnk_split(s, turns, r->vector, part) || !tnk_set_kind(s, part[1], TN_FOR_UNROLLED))
            return false;
        turns = part[0];
    }
    if (!turns || (spatial && !rows) || (rows && !tnk_loop_extent(rows, &e)))
        return false;
    /* a part of the row's own: as many sums as threads */
    int64_t bytes = (int64_t)tnb_dtype_bytes(tn_as_buffer(tnk_block_output(block))->dtype);
    if (e * bytes > r->shared_left)
        return false;
    r->shared_left -= e * bytes;
    if (r->group > 1) {
        if (!rows)
            return gpu_bind_threads(s, turns, r->lane_tag, r->lanes) &&
                   gpu_first_thread(s, block, r->group_tag, r->group);
        tnk_item *lane = gpu_bind_threads(s, rows, r->group_tag, r->group)
                             ? gpu_bind_threads(s, turns, r->lane_tag, r->lanes)
                             : NULL;
        return lane && stage(r, block, lane);
    }
    if (rows && e >= r->lanes)
        return gpu_bind_threads(s, rows, r->lane_tag, r->lanes) &&
               tnk_decompose_reduction(s, block, turns);
    return gpu_bind_threads(s, turns, r->lane_tag, r->lanes) != NULL;
}

/* The loops of the root: those over rows fused and bound, the row's own in `inner`. */
static tnk_item *
split_root(gpu_rows *r, tnk_item **inner, uint32_t *n_inner, tnk_item **group)
{
    tnk_sch *s = r->s;
    tnk_item *rows[GPU_MAX_LOOPS], *own[GPU_MAX_LOOPS], *order[GPU_MAX_LOOPS], *part[2];
    uint32_t n = 0, m = 0, k = 0, iters = r->root->block->iters.n, last = UINT32_MAX, fixed = 0;
    int64_t e;
    *group = NULL;
    for (uint32_t i = 0; i < iters; i++) /* a result of rank 0 has no loop */
        fixed += !gpu_loop_of_iter(s, r->root, i) && gpu_iter_extent(r->root, i) == 1;
    if (gpu_own_loops(s, r->root, own) != iters - fixed || iters > GPU_MAX_LOOPS / 2)
        return NULL;
    for (uint32_t i = 0; i < iters; i++) {
        tnk_item *l = gpu_loop_of_iter(s, r->root, i);
        if (!l && gpu_iter_extent(r->root, i) == 1)
            continue;
        if (!l)
            return NULL;
        if (r->row[i] == 1 && (last == UINT32_MAX || !tnk_loop_extent(l, &e) || e > 1))
            last = n; /* the last one of several turns */
        if (r->row[i] > 1 && !tnk_split(s, l, r->row[i], part))
            return NULL;
        if (r->row[i])
            rows[n++] = r->row[i] > 1 ? part[0] : l;
        if (r->row[i] != 1)
            inner[m++] = r->row[i] > 1 ? part[1] : l;
    }
    if (r->group > 1) {
        if (last == UINT32_MAX || !tnk_split(s, rows[last], r->group, part))
            return NULL;
        rows[last] = part[0];
        *group = part[1];
    }
    if (n == 0 && !(rows[n++] = tnk_add_unit_loop(s, r->root)))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        order[k++] = rows[i];
    if (*group)
        order[k++] = *group;
    for (uint32_t i = 0; i < m; i++)
        order[k++] = inner[i];
    *n_inner = m;
    tnk_item *grid = tnk_reorder(s, order, k) ? gpu_fuse(s, rows, n) : NULL;
    return grid && tnk_bind(s, grid, "blockIdx.x") ? grid : NULL;
}

bool
gpu_schedule_rows(gpu_rows *r)
{
    tnk_sch *s = r->s;
    tnk_item *all[GPU_MAX_BLOCKS], *inner[GPU_MAX_LOOPS], *group;
    uint32_t n = tnk_sch_blocks(s, all, GPU_MAX_BLOCKS), n_inner;
    if (r->group * r->lanes > r->t->threads)
        return false;
    tnk_item *grid = split_root(r, inner, &n_inner, &group);
    if (!grid || (group && !tnk_bind(s, group, r->group_tag)))
        return false;
    for (uint32_t i = n; i-- > 0;)
        if (all[i] != r->root && !gpu_into(s, all[i], "shared", grid))
            return false;
    /* the reduction across threads wants a place for each as well */
    r->shared_left = r->t->shared_bytes - r->group * r->lanes * 8;
    for (uint32_t i = 0; i < n; i++)
        if (all[i] != r->root && !bind_part(r, all[i]))
            return false;
    if (n_inner == 0)
        return gpu_first_thread(s, r->root, r->lane_tag, r->lanes);
    tnk_item *f = gpu_fuse(s, inner, n_inner);
    return f && gpu_bind_threads(s, f, r->lane_tag, r->lanes);
}
