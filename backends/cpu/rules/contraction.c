/* SPDX-License-Identifier: Apache-2.0 */
/* Register tiles for contractions: sums of products such as matrix products and convolutions.
 *
 * The result's last dimension x is computed in vectors: the operand that runs along x is loaded (a step of 2 is shuffled), the other one
 * broadcast. A tile is ty rows of y (a dimension that only the broadcast operand has: output channels, rows of a matrix) times th
 * rows of the dimension before x times tw vectors; its accumulators stay in registers while the reduction runs:
 *
 *     for n, y0, h0: (parallel)
 *         for x0:
 *             acc[ty][th][tw * lanes] = 0
 *             for k...: acc[i][h][...] += B[y0 * ty + i, k] * A[k, ...]
 *             out[...] = epilogue(acc)
 *
 * In layouts with blocks of channels (NCHW8c) x is a block, y runs along an image's row, and h is
 * the blocks' number; where both operands run along x (a depthwise convolution), none is broadcast.
 *
 * Extents that the tile does not divide are covered by moving the last tile back, so that no iteration needs a test.
 *
 * Extents that are not known are assumed to be long: the function then chooses as it runs, between such tiles, tiles for short
 * extents, and what needs no tile.
 */
#include "rules.h"

typedef cpu_tile contraction;

/* acc + a * b: the two loads. */
static bool
product_of(const tn_block *b, const tn_buffer_load **l, const tn_buffer_load **r)
{
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    const tn_binary *sum = st && st->value->kind == TN_KIND_ADD ? tn_as_binary(st->value) : NULL;
    if (!sum || !b->init)
        return false;
    const tn_buffer_load *acc = tn_as_buffer_load(sum->a);
    const tn_expr *rest = sum->b;
    if (!acc || acc->buffer != st->buffer) {
        acc = tn_as_buffer_load(sum->b);
        rest = sum->a;
    }
    if (!acc || acc->buffer != st->buffer)
        return false;
    while (rest->kind == TN_KIND_CAST)
        rest = ((const tn_cast *)rest)->value;
    const tn_binary *mul = rest->kind == TN_KIND_MUL ? tn_as_binary(rest) : NULL;
    if (!mul)
        return false;
    const tn_expr *x = mul->a, *y = mul->b;
    while (x->kind == TN_KIND_CAST)
        x = ((const tn_cast *)x)->value;
    while (y->kind == TN_KIND_CAST)
        y = ((const tn_cast *)y)->value;
    *l = tn_as_buffer_load(x);
    *r = tn_as_buffer_load(y);
    return *l && *r;
}

bool
cpu_load_uses(const tn_buffer_load *l, const tn_expr *v)
{
    for (uint32_t i = 0; i < l->indices.n; i++)
        if (tn_uses(l->indices.at[i], v))
            return true;
    return false;
}

/* Elements between neighbours along v; 0: not the same everywhere. */
int64_t
cpu_step_along(tn_ctx *ctx, const tn_buffer_load *l, const tn_expr *v)
{
    tn_arith *a = tn_arith_new(ctx);
    const tn_list shape = tn_as_buffer(l->buffer)->shape;
    int64_t stride = 1, total = 0;
    for (uint32_t i = l->indices.n; i-- > 0;) {
        if (tn_uses(l->indices.at[i], v)) {
            const tn_expr *coeff, *rest;
            int64_t c;
            if (!tn_linear(a, l->indices.at[i], &v, 1, &coeff, &rest) || !tn_int_value(coeff, &c) ||
                stride < 0)
                return 0;
            total += c * stride;
        }
        int64_t e;
        stride = stride > 0 && tn_int_value(shape.at[i], &e) ? stride * e : -1;
    }
    return total;
}

static bool
describe_reduction(tn_ctx *ctx, tnk_sch *s, tnk_item *block, cpu_tile *c)
{
    *c = (cpu_tile){.s = s,
                    .ctx = ctx,
                    .block = block,
                    .y = UINT32_MAX,
                    .h = UINT32_MAX,
                    .reduce = 1,
                    .ty = 1,
                    .th = 1,
                    .tw = 1,
                    .lanes = 1};
    if (!tnk_block_output(block))
        return false;
    const tn_block *b = tnk_item_block(block);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    if (!st || !b->init || st->indices.n == 0 || st->indices.n > 8)
        return false;
    for (uint32_t k = 0; k < b->iters.n; k++) {
        const tn_iter_var *it = tn_as_iter_var(b->iters.at[k]);
        int64_t e;
        if (!tn_is_int_const(tn_as_range(it->dom)->min, 0))
            return false;
        if (it->iter_kind == TN_ITER_REDUCE)
            c->reduce *= tn_int_value(tn_as_range(it->dom)->extent, &e) ? (double)e : 64.0;
    }
    for (uint32_t i = 0; i < st->indices.n; i++) {
        if (!tn_is_var(st->indices.at[i]))
            return false;
        if (!tn_int_value(tn_as_buffer(st->buffer)->shape.at[i], &c->ext[i]))
            c->ext[i] = -1; /* not known: no dimension of a tile */
    }
    c->x = st->indices.n - 1;
    return true;
}

bool
cpu_find_reduction(tn_ctx *ctx, tnk_sch *s, cpu_tile *c)
{
    tnk_item *blocks[CPU_MAX_BLOCKS], *found = NULL;
    uint32_t n = tnk_sch_blocks(s, blocks, CPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < CPU_MAX_BLOCKS; i++)
        if (tnk_block_is_reduction(blocks[i])) {
            if (found)
                return false; /* several */
            found = blocks[i];
        }
    return found && n <= CPU_MAX_BLOCKS && describe_reduction(ctx, s, found, c);
}

static uint32_t
dims_of(const contraction *c, const tn_buffer_load *l, const tn_expr *const *iv)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i <= c->x; i++)
        n += cpu_load_uses(l, iv[i]);
    return n;
}

typedef struct groups {
    const tn_expr *v;
    int64_t size;
} groups;

static tn_walk_step
look_for_groups(void *user, const tn_node *n)
{
    groups *g = user;
    int64_t size;
    if (n->kind == TN_KIND_FLOOR_DIV && tn_as_binary(n)->a == g->v &&
        tn_int_value(tn_as_binary(n)->b, &size))
        g->size = size;
    return TN_WALK_ON;
}

/* The size that v is divided by where the load uses it; 0: by none. */
static int64_t
group_of(const tn_buffer_load *l, const tn_expr *v)
{
    groups g = {.v = v};
    for (uint32_t i = 0; i < l->indices.n; i++)
        tn_walk(l->indices.at[i], 0, look_for_groups, NULL, &g);
    return g.size;
}

/* y: a dimension that only the broadcast operand has, the one before x if it is long enough, else
 * the largest; h: one that only the other has, the one before x, or, where that is y, the largest. */
static void
choose_dims(contraction *c, const tn_expr *const *iv)
{
    c->y = c->h = UINT32_MAX;
    c->group = 0;
    for (uint32_t i = 0; i < c->x; i++) {
        bool ua = cpu_load_uses(c->a.load, iv[i]), ub = cpu_load_uses(c->b.load, iv[i]);
        bool before = i + 1 == c->x;
        if (ub && !ua && c->ext[i] > 1 &&
            (c->y == UINT32_MAX || c->ext[i] > c->ext[c->y] || (before && c->ext[i] >= 4)))
            c->y = i;
        if (ua && !ub && before && c->ext[i] > 1)
            c->h = i;
    }
    for (uint32_t i = 0; c->y != UINT32_MAX && c->y + 1 == c->x && i < c->y; i++)
        if (cpu_load_uses(c->a.load, iv[i]) && !cpu_load_uses(c->b.load, iv[i]) && c->ext[i] > 1 &&
            (c->h == UINT32_MAX || c->ext[i] > c->ext[c->h]))
            c->h = i;
    /* groups: the channel is in both operands, but only as channel // size in the data */
    for (uint32_t i = 0; i < c->x && c->y == UINT32_MAX && !c->paired; i++)
        if (cpu_load_uses(c->b.load, iv[i]) && cpu_load_uses(c->a.load, iv[i]) &&
            cpu_step_along(c->ctx, c->a.load, iv[i]) == 0 && c->ext[i] > 1) {
            c->y = i;
            c->group = group_of(c->a.load, iv[i]);
        }
}

bool
cpu_find_operands(cpu_tile *c)
{
    const tn_buffer_load *l, *r;
    if (!product_of(tnk_item_block(c->block), &l, &r))
        return false;
    const tn_buffer_store *st = tn_as_buffer_store(tnk_item_block(c->block)->body);
    const tn_expr *const *iv = st->indices.at;
    bool lx = cpu_load_uses(l, iv[c->x]), rx = cpu_load_uses(r, iv[c->x]);
    if (!lx && !rx)
        return false;
    c->paired = lx && rx;
    bool first = c->paired ? dims_of(c, l, iv) >= dims_of(c, r, iv) : lx;
    c->a.load = first ? l : r;
    c->b.load = first ? r : l;
    c->a.step = cpu_step_along(c->ctx, c->a.load, iv[c->x]);
    c->b.step = cpu_step_along(c->ctx, c->b.load, iv[c->x]);
    if (c->paired && (c->a.step != 1 || c->b.step != 1))
        return false;
    choose_dims(c, iv);
    return !c->paired || c->h != UINT32_MAX;
}

static int64_t
turns(int64_t extent, int64_t tile)
{
    return (extent + tile - 1) / tile;
}

/* What a cache line of the vectors' operand costs in each step of the reduction. Images whose size
 * is a multiple of 4096 bytes have the same pixel of all channels in one set of the first cache:
 * there every line comes from the second. */
static double
line_cost(const contraction *c)
{
    const tn_buffer *b = tn_as_buffer(c->a.load->buffer);
    int64_t bytes = (int64_t)tnb_dtype_bytes(b->dtype), e;
    if (c->paired || c->y + 1 == c->x)
        return 1;
    for (uint32_t i = 2; i < b->shape.n; i++)
        bytes = tn_int_value(b->shape.at[i], &e) ? bytes * e : 0;
    return b->shape.n > 2 && bytes > 0 && bytes % 4096 == 0 ? 2 : 1;
}

/* Elements of the result in a register. */
static int64_t
lanes_of(const contraction *c, int vector_bytes)
{
    const tn_node *out = tn_as_buffer_store(tnk_item_block(c->block)->body)->buffer;
    return cpu_lanes(vector_bytes, tn_as_buffer(out)->dtype);
}

/* The tile with the least estimated time. False when no vector fits. */
static bool
choose_tile(contraction *c, int vector_bytes)
{
    tnb_dtype d = tn_as_buffer(tn_as_buffer_store(tnk_item_block(c->block)->body)->buffer)->dtype;
    int64_t full = lanes_of(c, vector_bytes), X = c->ext[c->x];
    /* kernels of blocks of channels are read one after the other, each element of rows several times */
    bool blocks = !c->paired && c->y != UINT32_MAX && c->y + 1 == c->x;
    double line = line_cost(c), step = c->a.step > 1 ? (double)c->a.step : 1;
    int64_t Y = c->y == UINT32_MAX ? 1 : c->ext[c->y], H = c->h == UINT32_MAX ? 1 : c->ext[c->h];
    double best = 1e30;
    c->registers = cpu_registers(vector_bytes);
    for (int64_t lanes = full; lanes >= 4; lanes /= 2)
        for (int64_t tw = 1; tw <= (c->in_scan ? 8 : 4); tw++)
            for (int64_t th = 1; th <= 6; th++)
                for (int64_t ty = 1; ty <= CPU_MAX_TILE_ROWS; ty++) {
                    int64_t fmas = ty * th * tw;
                    if (!cpu_tile_fits(c, full, lanes, tw, th, ty))
                        continue;
                    double loads = (double)(c->paired ? tw : ty) +
                                   (double)(th * tw) * (c->a.step == 1   ? 1.0
                                                        : c->a.step == 2 ? 3.5
                                                                         : 10.0);
                    double cycles = (double)fmas / 2, by_load = loads / (blocks ? 1.8 : 2.2);
                    cycles = cycles < by_load ? by_load : cycles;
                    cycles = cycles < 4 ? 4 : cycles; /* latency of one multiply-add */
                    cycles += 0.6;                    /* the loop */
                    double row = (double)(tw * lanes) * step * (double)tnb_dtype_bytes(d) / 64;
                    cycles += line * (double)th * (blocks ? 0.7 : row + 0.5);
                    double tiles = (double)(turns(X, tw * lanes) * turns(H, th) * turns(Y, ty));
                    double time = tiles * cycles + tiles * (double)fmas * 3 / c->reduce;
                    if (time < best) {
                        best = time;
                        c->lanes = lanes;
                        c->tw = tw;
                        c->th = th;
                        c->ty = ty;
                    }
                }
    return best < 1e30;
}

static double
bytes_of(const tn_buffer_load *l, double batch)
{
    const tn_buffer *b = tn_as_buffer(l->buffer);
    double n = (double)tnb_dtype_bytes(b->dtype);
    for (uint32_t i = 0; i < b->shape.n; i++) {
        int64_t e;
        n *= tn_int_value(b->shape.at[i], &e) ? (double)e : 1;
    }
    return n / batch;
}

/* Relative time to read a byte again that belongs to a working set of this size. */
static double
reread(const cpu_caches *caches, double bytes)
{
    double l1 = (double)caches->l1, l2 = (double)caches->l2, l3 = (double)caches->l3;
    return bytes <= 0.75 * l1 ? 0.3 : bytes <= 0.5 * l2 ? 1 : bytes <= 0.2 * l3 ? 2.5 : 8;
}

/* Vectors of channels: tiles along the rows of images for several blocks of channels. Every row of an
 * image goes through all blocks; where the image stays in the second cache beside a block's kernel,
 * the blocks go outside, so that each part of the kernel is read from afar once. */
static void
choose_order_of_blocks(contraction *c, const cpu_caches *caches)
{
    const tn_expr *first = tn_as_buffer_store(tnk_item_block(c->block)->body)->indices.at[0];
    double nh = (double)turns(c->ext[c->h], c->th);
    double batch = c->ext[0] > 0 ? (double)c->ext[0] : 1;
    double kernel = bytes_of(c->a.load, cpu_load_uses(c->a.load, first) ? batch : 1);
    bool stays = kernel / nh + bytes_of(c->b.load, batch) <= 0.8 * (double)caches->l2;
    c->order = stays ? CPU_ORDER_YHX : CPU_ORDER_ROWS;
}

/* Which loop over tiles goes inside: what is read in every turn of the inner one should be in a
 * near cache. */
void
cpu_choose_order(cpu_tile *c, const cpu_caches *caches)
{
    if (c->h != UINT32_MAX && c->y != UINT32_MAX && c->h < c->y && c->y + 1 == c->x) {
        choose_order_of_blocks(c, caches);
        return;
    }
    double X = (double)c->ext[c->x], H = c->h == UINT32_MAX ? 1 : (double)c->ext[c->h];
    double nx = (double)turns(c->ext[c->x], c->tw * c->lanes),
           nh = c->h == UINT32_MAX ? 1 : (double)turns(c->ext[c->h], c->th);
    double ny = c->y == UINT32_MAX ? 1 : (double)turns(c->ext[c->y], c->ty);
    double batch = c->x >= 2 && c->ext[0] > 0 && c->y != 0 ? (double)c->ext[0] : 1;
    double a = bytes_of(c->a.load, batch), b = bytes_of(c->b.load, 1);
    double rows = nh > 1 ? a * ((double)c->th + 2) / H : a,
           panel = rows * ((double)(c->tw * c->lanes) + 2) / X;
    double again = reread(caches, b);
    double yhx = ny * a * reread(caches, a) + b * again;
    double hyx = ny * a * reread(caches, rows) + nh * b * again;
    double hxy = ny * a * reread(caches, panel) + nh * nx * b * again;
    c->order = yhx <= hyx && yhx <= hxy ? CPU_ORDER_YHX
               : hyx <= hxy             ? CPU_ORDER_HYX
                                        : CPU_ORDER_HXY;
}

/* Whether a block in a loop over steps, which may update a state, reads the result at its iterators. */
static bool
at_same_place(const contraction *c, const tnk_item *reader, const tn_node *out)
{
    const tn_block *b = tnk_item_block(reader);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    const tn_buffer_region *reg = NULL;
    for (uint32_t i = 0; i < b->reads.n; i++)
        if (tn_as_buffer_region(b->reads.at[i])->buffer == out)
            reg = tn_as_buffer_region(b->reads.at[i]);
    bool same = st && reg && st->indices.n == reg->ranges.n;
    for (uint32_t i = 0; same && i < st->indices.n; i++) {
        const tn_range *rg = tn_as_range(reg->ranges.at[i]);
        same = (rg->min == st->indices.at[i] || (c->ext[i] == 1 && tn_is_int_const(rg->min, 0))) &&
               tn_is_int_const(rg->extent, 1);
    }
    return same;
}

/* The block that the tile is made for: the one reader of the result if it is element-wise at the
 * same place, else a copy. */
static tnk_item *
tile_root(contraction *c)
{
    const tn_node *out = tnk_block_output(c->block);
    tnk_item *readers[4];
    uint32_t n = 0;
    if (!tnk_sch_is_param(c->s, out)) {
        tnk_item *r[8];
        uint32_t all = tnk_sch_readers(c->s, out, r, 8);
        for (uint32_t i = 0; i < all && i < 8; i++)
            if (r[i] != c->block && n < 4)
                readers[n++] = r[i];
    }
    if (n == 1 &&
        (c->in_scan ? at_same_place(c, readers[0], out) : tnk_block_follows(c->s, readers[0], out)))
        return readers[0];
    if (c->in_scan)
        return NULL;
    return tnk_cache_write(c->s, c->block, c->intrinsic ? "global" : "local");
}

static tnk_item *
loop_of_dim(contraction *c, tnk_item *root, tnk_item **l, uint32_t n, uint32_t dim)
{
    (void)c;
    const tn_block *b = tnk_item_block(root);
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    for (uint32_t k = 0; k < b->iters.n; k++)
        if (tn_as_iter_var(b->iters.at[k])->var == st->indices.at[dim])
            return k < n ? l[k] : NULL;
    return NULL;
}

/* Unrolls a loop of the tile; the last dimension becomes unrolled vectors. */
static bool
finish_tile(contraction *c, tnk_item *y, tnk_item *h, tnk_item *x)
{
    tnk_item *v[2];
    if (y && !tnk_set_kind(c->s, y, TN_FOR_UNROLLED))
        return false;
    if (h && !tnk_set_kind(c->s, h, TN_FOR_UNROLLED))
        return false;
    if (c->lanes == 1)
        return tnk_set_kind(c->s, x, TN_FOR_UNROLLED);
    return tnk_split(c->s, x, c->lanes, v) && tnk_set_kind(c->s, v[0], TN_FOR_UNROLLED) &&
           tnk_set_kind(c->s, v[1], TN_FOR_VECTORIZED);
}

/* Loops of the reduction that move both operands as one would become one: short loops cost more than
 * what they do. `red` stand next to each other, in the order of the block's iterators; their number then.
 */
static uint32_t
fuse_steps(cpu_tile *c, tnk_item **red, uint32_t n)
{
    const tn_block *b = tnk_item_block(c->block);
    const tn_expr *vars[CPU_MAX_LOOPS];
    uint32_t k = 0;
    for (uint32_t i = 0; i < b->iters.n && k < CPU_MAX_LOOPS; i++)
        if (tn_as_iter_var(b->iters.at[i])->iter_kind == TN_ITER_REDUCE)
            vars[k++] = tn_as_iter_var(b->iters.at[i])->var;
    while (n >= 2 && n <= k) {
        const cpu_operand *const ops[2] = {&c->a, &c->b};
        int64_t e;
        bool as_one = tnk_loop_extent(red[n - 1], &e);
        for (int i = 0; i < 2 && as_one; i++) {
            int64_t inner = cpu_step_along(c->ctx, ops[i]->load, vars[n - 1]);
            as_one = inner > 0 && cpu_step_along(c->ctx, ops[i]->load, vars[n - 2]) == e * inner;
        }
        tnk_item *one = as_one ? tnk_fuse(c->s, red[n - 2], red[n - 1]) : NULL;
        if (!one)
            break;
        red[--n - 1] = one;
        vars[n - 1] = vars[n];
    }
    return n;
}

/* The same for a tile of tensor intrinsics: `last` is the reduction's loop that they contain. */
static bool
finish_tile_of_intrinsics(cpu_tile *c, tnk_item *first, tnk_item *y, tnk_item *h, tnk_item *x,
                          tnk_item *last)
{
    tnk_item *v[2], *loops[CPU_MAX_LOOPS];
    if ((y && !tnk_set_kind(c->s, y, TN_FOR_UNROLLED)) ||
        (h && !tnk_set_kind(c->s, h, TN_FOR_UNROLLED)) || !tnk_split(c->s, x, c->lanes, v))
        return false;
    tnk_item *const inside[2] = {v[1], last};
    if (!tnk_set_kind(c->s, v[0], TN_FOR_UNROLLED) || !tnk_reorder(c->s, inside, 2))
        return false;
    tnk_item *init = tnk_decompose_reduction(c->s, c->block, first);
    uint32_t n = init ? tnk_sch_loops(c->s, init, loops, CPU_MAX_LOOPS) : 0;
    if (!n || n > CPU_MAX_LOOPS || !tnk_set_kind(c->s, loops[n - 1], TN_FOR_VECTORIZED))
        return false;
    tnk_item *whole = tnk_blockize(c->s, v[1]);
    return whole && tnk_tensorize(c->s, whole, c->intrinsic);
}

/* The same for an intrinsic of all rows and several turns of the reduction, `red`. */
static bool
finish_tile_of_tiles(cpu_tile *c, tnk_item *const *red, uint32_t n_red, tnk_item *y, tnk_item *x)
{
    tnk_item *k[2], *loops[CPU_MAX_LOOPS], *order[CPU_MAX_LOOPS];
    uint32_t n = 0;
    if (!y || n_red < 2 || !tnk_split(c->s, red[n_red - 2], c->steps, k))
        return false;
    for (uint32_t i = 0; i + 2 < n_red; i++)
        order[n++] = red[i];
    order[n++] = k[0];
    order[n++] = y;
    order[n++] = x;
    order[n++] = k[1];
    order[n++] = red[n_red - 1];
    if (!tnk_reorder(c->s, order, n))
        return false;
    tnk_item *init = tnk_decompose_reduction(c->s, c->block, order[0]);
    n = init ? tnk_sch_loops(c->s, init, loops, CPU_MAX_LOOPS) : 0;
    int64_t e = 0;
    while (n && n <= CPU_MAX_LOOPS && !(tnk_loop_extent(loops[n - 1], &e) && e == c->lanes))
        n--; /* a batch of one */
    if (!n || n > CPU_MAX_LOOPS || !tnk_set_kind(c->s, loops[n - 1], TN_FOR_VECTORIZED))
        return false;
    tnk_item *whole = tnk_blockize(c->s, y);
    return whole && tnk_tensorize(c->s, whole, c->intrinsic);
}

/* outer[i] is the loop over tiles of what was loop l[i]; moves y's behind h's or behind x's, or h's
 * to y's. */
static void
order_tiles(const contraction *c, tnk_item *const *l, tnk_item **outer, uint32_t n,
            const tnk_item *ly, const tnk_item *lx, const tnk_item *lh)
{
    uint32_t y = n, x = n, h = n;
    for (uint32_t i = 0; i < n; i++) {
        y = l[i] == ly ? i : y;
        x = l[i] == lx ? i : x;
        h = l[i] == lh ? i : h;
    }
    if (c->order == CPU_ORDER_YHX || y == n || x == n || y > x)
        return;
    uint32_t from = c->order == CPU_ORDER_ROWS ? h : y;
    uint32_t to = c->order == CPU_ORDER_ROWS ? y - 1 : c->order == CPU_ORDER_HXY ? x : x - 1;
    tnk_item *moved = outer[from];
    for (uint32_t i = from; i < to; i++)
        outer[i] = outer[i + 1];
    outer[to] = moved;
}

/* A loop over dimension `dim` whose extent has to be `t` or more. */
static bool
split_unknown(cpu_tile *c, tnk_item *loop, uint32_t dim, int64_t t, tnk_item **part)
{
    const tn_node *out = tn_as_buffer_store(tnk_item_block(c->block)->body)->buffer;
    const tn_expr *n = tn_as_buffer(out)->shape.at[dim];
    const tn_expr *enough = tn_ge_of(c->ctx, n, tn_int_imm_of(c->ctx, tn_dtype_of(n), t));
    c->need = c->need ? tn_and_of(c->ctx, c->need, enough) : enough;
    return tnk_split_overlap_unproved(c->s, loop, t, part);
}

bool
cpu_apply_tile(cpu_tile *c)
{
    tnk_sch *s = c->s;
    tnk_item *root = tile_root(c);
    if (!root)
        return false;
    tnk_item *l[CPU_MAX_LOOPS], *outer[CPU_MAX_LOOPS], *inner[CPU_MAX_LOOPS], *part[2];
    uint32_t n = tnk_sch_loops(s, root, l, CPU_MAX_LOOPS), n_outer = 0, n_inner = 0;
    if (n != tnk_item_block(root)->iters.n || n > CPU_MAX_LOOPS / 2)
        return false;
    tnk_item *lx = loop_of_dim(c, root, l, n, c->x),
             *ly = c->y == UINT32_MAX ? NULL : loop_of_dim(c, root, l, n, c->y);
    tnk_item *lh = c->h == UINT32_MAX ? NULL : loop_of_dim(c, root, l, n, c->h);
    tnk_item *ix = NULL, *iy = NULL, *ih = NULL;
    tnk_item *rows = NULL; /* of an image whose padding may be copied by groups of them */
    if (c->paired && c->h + 1 == c->x && c->h >= 2)
        rows = loop_of_dim(c, root, l, n, c->h - 1);
    else if (!c->paired && c->x == 3 && c->y == 1)
        rows = loop_of_dim(c, root, l, n, 2);
    if (!lx)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        int64_t t = l[i] == lx ? c->tw * c->lanes : l[i] == ly ? c->ty : l[i] == lh ? c->th : 1;
        if (t == 1) {
            outer[n_outer++] = l[i];
            continue;
        }
        int64_t known;
        uint32_t dim = l[i] == lx ? c->x : l[i] == ly ? c->y : c->h;
        if (tnk_loop_extent(l[i], &known) ? !tnk_split_overlap(s, l[i], t, part)
                                          : !split_unknown(c, l[i], dim, t, part))
            return false;
        outer[n_outer++] = part[0];
        inner[n_inner++] = part[1];
        if (l[i] == lx)
            ix = part[1];
        else if (l[i] == ly)
            iy = part[1];
        else
            ih = part[1];
    }
    order_tiles(c, l, outer, n_outer, ly, lx, lh);
    tnk_item *order[CPU_MAX_LOOPS];
    uint32_t k = 0;
    for (uint32_t i = c->shared; i < n_outer; i++)
        order[k++] = outer[i];
    for (uint32_t i = 0; i < n_inner; i++)
        order[k++] = inner[i];
    if (!tnk_reorder(s, order, k) || !tnk_compute_at(s, c->block, outer[n_outer - 1]))
        return false;
    /* the contraction's own loops: one a dimension of the result, then the reduction */
    tnk_item *m[CPU_MAX_LOOPS];
    n = tnk_sch_loops(s, c->block, m, CPU_MAX_LOOPS);
    const tn_block *b = tnk_item_block(c->block);
    uint32_t own = b->iters.n, first = n - own, spatial = 0;
    if (n > CPU_MAX_LOOPS || n < own)
        return false;
    for (uint32_t i = 0; i < own; i++)
        spatial += tn_as_iter_var(b->iters.at[i])->iter_kind == TN_ITER_SPATIAL;
    tnk_item **red = m + first + spatial, **sp = m + first;
    uint32_t n_red = own - spatial;
    if (n_red == 0)
        return false;
    /* spatial iterators stand in the order of the block's iterators; find those of the tile by the
     * store's indices */
    const tn_buffer_store *st = tn_as_buffer_store(b->body);
    tnk_item *tile_loop[3] = {NULL, NULL, NULL};
    const uint32_t dims[3] = {c->x, c->y, c->h};
    for (uint32_t t = 0; t < 3; t++) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < own && dims[t] != UINT32_MAX; i++) {
            const tn_iter_var *it = tn_as_iter_var(b->iters.at[i]);
            if (it->iter_kind != TN_ITER_SPATIAL)
                continue;
            if (it->var == st->indices.at[dims[t]])
                tile_loop[t] = sp[at];
            at++;
        }
    }
    if (!tile_loop[0])
        return false;
    /* the dimension whose elements are broadcast outside: one register for them all */
    k = 0;
    uint32_t outside = n_red - (c->intrinsic != NULL);
    for (uint32_t i = 0; i < outside; i++)
        order[k++] = red[i];
    if (tile_loop[1])
        order[k++] = tile_loop[1];
    for (uint32_t i = 0; i < spatial; i++)
        if (sp[i] != tile_loop[1] && sp[i] != tile_loop[0])
            order[k++] = sp[i];
    order[k++] = tile_loop[0];
    if (c->intrinsic)
        order[k++] = red[n_red - 1];
    if (!tnk_reorder(s, order, k))
        return false;
    if (c->intrinsic && !c->rows)
        (void)fuse_steps(c, red, outside);
    int64_t kw;
    /* indices of shapes that are not known are long: a block of channels would make eight times as
     * many */
    if (outside >= 2 && !c->intrinsic && tnk_loop_extent(red[outside - 1], &kw) && kw > 1 &&
        kw * c->ty * c->th * c->tw <= (c->need ? 36 : 64))
        (void)tnk_set_kind(s, red[outside - 1], TN_FOR_UNROLLED);
    tnk_item *ty = iy ? tile_loop[1] : NULL, *th = ih ? tile_loop[2] : NULL;
    bool done =
        c->rows ? finish_tile_of_tiles(c, red, n_red, ty, tile_loop[0])
        : c->intrinsic
            ? finish_tile_of_intrinsics(c, red[0], ty, th, tile_loop[0], red[n_red - 1])
            : finish_tile(c, ty, th, tile_loop[0]) && tnk_decompose_reduction(s, c->block, red[0]);
    if (!done || !finish_tile(c, iy, ih, ix))
        return false;
    /* parallel over everything but the tiles of one row */
    if (c->in_scan)
        memcpy(c->outer, outer, (c->n_outer = n_outer) * sizeof *outer);
    for (uint32_t i = 0; i < n_outer && rows && !c->in_scan; i++)
        if (outer[i] == rows && (c->paired || i == 1) && (rows = cpu_pad_by_rows(c, rows))) {
            outer[i] = rows;
            cpu_parallel_outer(s, outer, i + 1);
            return tnk_sch_ok(s);
        }
    if (!c->in_scan && tnk_sch_ok(s))
        cpu_parallel_outer(s, outer, n_outer > 1 ? n_outer - 1 : n_outer);
    return tnk_sch_ok(s);
}

/* Operands that the vectors cannot run along, and 16-bit ones that would be converted again and
 * again, are copied first. */
static bool
stage_operands(contraction *c, int vector_bytes)
{
    cpu_operand *ops[2] = {&c->a, &c->b};
    const tn_block *b = tnk_item_block(c->block);
    const tn_expr *x = tn_as_buffer_store(b->body)->indices.at[c->x];
    for (int i = 0; i < 2; i++) {
        const tn_node *buffer = ops[i]->load->buffer;
        const tn_buffer *buf = tn_as_buffer(buffer);
        bool small = tnb_dtype_is_float(buf->dtype) && buf->dtype.bits == 16 &&
                     tnk_sch_is_param(c->s, buffer);
        uint32_t perm[8], rank = buf->shape.n, along = rank;
        bool turn = i == 0 && !cpu_runs_along(ops[i]->step);
        if (!small && !turn)
            continue;
        for (uint32_t k = 0; k < rank && k < 8; k++) {
            perm[k] = k;
            if (ops[i]->load->indices.at[k] == x)
                along = k;
        }
        if (rank > 8 || (turn && along == rank))
            return false;
        if (turn) { /* that dimension last */
            for (uint32_t k = along; k + 1 < rank; k++)
                perm[k] = k + 1;
            perm[rank - 1] = along;
        }
        tnk_item *copy = tnk_cache_read(c->s, c->block, buffer, "global", turn ? perm : NULL);
        if (!copy)
            return false;
        cpu_schedule_block(c->s, copy, vector_bytes);
    }
    return tnk_sch_ok(c->s) && cpu_find_operands(c);
}

bool
cpu_is_noalias(const tn_node *prim_func)
{
    const tn_node *a = tn_func_attr(prim_func, "tirx.noalias");
    a = a ? a : tn_func_attr(prim_func, "tir.noalias");
    return a && !tn_is_int_const(a, 0);
}

static tn_walk_step
is_reduction(void *user, const tn_node *n)
{
    const tn_iter_var *i = tn_as_iter_var(n);
    *(bool *)user |= i && i->iter_kind == TN_ITER_REDUCE;
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

bool
cpu_may_reduce(const tn_node *prim_func)
{
    bool found = false;
    if (cpu_is_noalias(prim_func))
        tn_walk(tn_as_prim_func(prim_func)->body, 0, is_reduction, NULL, &found);
    return found;
}

const tn_node *
cpu_finish_rest(tnk_sch *s, int vector_bytes)
{
    tnk_item *blocks[CPU_MAX_BLOCKS];
    uint32_t n = tnk_sch_blocks(s, blocks, CPU_MAX_BLOCKS);
    for (uint32_t i = 0; i < n && i < CPU_MAX_BLOCKS; i++)
        if (cpu_is_alone(s, blocks[i]))
            cpu_schedule_block(s, blocks[i], vector_bytes);
    return tnk_sch_finish(s);
}

/* What is taken for extents that are not known; -1: nothing. */
typedef struct assumed {
    int64_t x, rows;
    bool tuned;  /* a tuner may choose another tile */
    bool pixels; /* images become one row each */
} assumed;

/* Makes images of the sum's result one row each, where vectors do not divide their rows. */
static bool
collapse_images(tnk_sch *s, cpu_tile *c, int vector_bytes)
{
    const tn_node *out = tnk_block_output(c->block);
    int64_t W = c->x < 3 ? 0 : c->ext[c->x];
    return W > 0 && c->ext[c->x - 1] > 1 &&
           W % cpu_lanes(vector_bytes, tn_as_buffer(out)->dtype) != 0 &&
           tnk_collapse_dims(s, c->block, c->x - 1);
}

/* The function with tiles that *c tells. */
static const tn_node *
with_tiles(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, uint32_t min_rank,
           uint32_t max_rank, assumed as, cpu_tile *c)
{
    tnk_sch *s = cpu_may_reduce(prim_func) ? tnk_sch_new(ctx, prim_func) : NULL;
    if (!s)
        return NULL;
    tnk_sch_quiet(s);
    int bytes = cpu_vector_bytes(ctx, target);
    if (as.pixels && !(cpu_find_reduction(ctx, s, c) && collapse_images(s, c, bytes)))
        return NULL;
    cpu_inline_cheap(s, CPU_KEEP_PADDING);
    if (!cpu_find_reduction(ctx, s, c) || c->x + 1 < min_rank || c->x + 1 > max_rank)
        return NULL;
    for (uint32_t i = 0; i <= c->x; i++)
        if (c->ext[i] < 0)
            c->ext[i] = i == c->x ? as.x : as.rows;
    if (!cpu_find_operands(c) || !choose_tile(c, bytes))
        return NULL;
    bool turn = !cpu_runs_along(c->a.step);
    if (turn && (c->y == UINT32_MAX || c->ext[c->y] < 4))
        return NULL; /* a copy would cost more than it gains */
    if (!stage_operands(c, bytes) || !choose_tile(c, bytes))
        return NULL;
    if (as.tuned)
        cpu_tune_tile(c, lanes_of(c, bytes));
    cpu_caches caches = cpu_caches_of(target);
    cpu_choose_order(c, &caches);
    if (as.tuned)
        cpu_tune_order(c);
    if (!cpu_apply_tile(c))
        return NULL;
    return cpu_finish_rest(s, bytes);
}

const tn_node *
cpu_either(tn_ctx *ctx, const tn_expr *condition, const tn_node *fast, const tn_node *rest)
{
    const tn_prim_func *f = tn_as_prim_func(fast);
    const tn_stmt *other = tn_fresh_copy(ctx, tn_as_prim_func(rest)->body, NULL);
    tn_block root = {.name = "root", .body = tn_if_stmt_of(ctx, condition, f->body, other)};
    const tn_stmt *body =
        tn_block_realize_of(ctx, (tn_list){0}, tn_bool(ctx, true), tn_block_of(ctx, &root));
    const tn_node *both = tn_prim_func_of(ctx, f->params, f->buffers, body, f->ret, f->attrs);
    return tn_is_error(both) ? NULL : both;
}

static bool
rows_known(const cpu_tile *c)
{
    const tn_node *out = tn_as_buffer_store(tnk_item_block(c->block)->body)->buffer;
    int64_t n;
    return c->y != UINT32_MAX && tn_int_value(tn_as_buffer(out)->shape.at[c->y], &n);
}

const tn_node *
cpu_schedule_single_rows(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target)
{
    cpu_tile c = {0};
    const tn_node *f = with_tiles(ctx, prim_func, target, 2, 4, (assumed){.x = -1, .rows = -1}, &c);
    if (f && !c.need)
        return f;
    f = cpu_rule_gemv.apply(ctx, prim_func, target, NULL);
    return f ? f : cpu_rule_fallback.apply(ctx, prim_func, target, NULL);
}

const tn_node *
cpu_schedule_contraction(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target,
                         uint32_t min_rank, uint32_t max_rank)
{
    /* many rows; short ones; one at a time */
    static const assumed steps[] = {{48, 4, true, false},
                                    {8, 4, false, false},
                                    {8, -1, false, false}};
    enum { N_STEPS = sizeof steps / sizeof steps[0] };
    const tn_node *found[N_STEPS], *f = NULL;
    cpu_tile tiles[N_STEPS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_STEPS; i++) {
        cpu_tile *c = &tiles[n], *last = n ? &tiles[n - 1] : NULL;
        if (i == 1 && last && rows_known(last))
            continue; /* as many rows as wanted, one image row at a time */
        found[n] = with_tiles(ctx, prim_func, target, min_rank, max_rank, steps[i], c);
        if (!found[n] || (last && c->ty == last->ty && c->th == last->th && c->tw == last->tw &&
                          c->lanes == last->lanes))
            continue;
        if (!c->need) { /* for all extents */
            f = found[n];
            break;
        }
        n++;
    }
    if (!f && n) {
        f = cpu_rule_gemv.apply(ctx, prim_func, target, NULL);
        f = f ? f : cpu_rule_fallback.apply(ctx, prim_func, target, NULL);
    }
    while (f && n-- > 0)
        f = cpu_either(ctx, tiles[n].need, found[n], f);
    return f;
}

const tn_node *
cpu_schedule_pixels(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target)
{
    cpu_tile c;
    const assumed as = {.x = -1, .rows = 4, .tuned = true, .pixels = true};
    const tn_node *f = with_tiles(ctx, prim_func, target, 4, 4, as, &c);
    return f && !c.need ? f : NULL;
}

bool
cpu_tile_in_scan(tn_ctx *ctx, tnk_sch *s, tnk_item *block, uint32_t shared, const tn_target *target,
                 cpu_tile *c)
{
    cpu_caches caches = cpu_caches_of(target);
    if (!describe_reduction(ctx, s, block, c) || !cpu_find_operands(c) || c->a.step != 1)
        return false;
    c->in_scan = true;
    c->shared = shared;
    c->h = UINT32_MAX;
    if (!choose_tile(c, cpu_vector_bytes(ctx, target)))
        return false;
    cpu_choose_order(c, &caches);
    return cpu_apply_tile(c);
}
