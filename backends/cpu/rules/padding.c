/* SPDX-License-Identifier: Apache-2.0 */
/* Padding of large images for convolutions of each channel by itself, and for those of few channels, whose images lie one after
 * another: a group of rows is copied before it is used, and stays in the cache.
 *
 *     for c, h, w: pad[c, h, w] = ...             for c, h0: (parallel)
 *     for c, h: for w0: tile of pad       =>          for h, w of the group: pad[h, w] = ...
 *                                                     for h of the group: for w0: tile of pad
 */
#include "rules.h"

enum {
    ROWS = 16,         /* of a group, at most: what neighbours copy twice is a small part */
    LEAST = 4,         /* at least */
    HALO = 2,          /* rows beside those of a group, about */
    NEAR = 384 * 1024, /* bytes of a group: half of a second cache or less */
    LARGE =
        192 *
        1024, /* bytes of an image's channels that do not stay in the second cache with others */
};

/* The largest divisor of n up to ROWS, of which the padded rows of all channels are at most NEAR bytes; 0: none that is large enough. */
static int64_t
rows_of_group(int64_t n, int64_t padded, int64_t bytes)
{
    for (int64_t r = ROWS; r >= LEAST; r--)
        if (n % r == 0 && n > r && bytes / padded * ((r * padded + n - 1) / n + HALO) <= NEAR)
            return r;
    return 0;
}

/* The block that only copies into the operand, with zeros around; NULL: none. */
static tnk_item *
padding_of(cpu_tile *c)
{
    const tn_node *buffer = c->a.load->buffer;
    tnk_item *block = tnk_sch_is_param(c->s, buffer) ? NULL : tnk_sch_writer(c->s, buffer), *r[2];
    return block && tnk_block_is_injective(block) && tnk_sch_readers(c->s, buffer, r, 2) == 1 &&
                   cpu_is_alone(c->s, block)
               ? block
               : NULL;
}

tnk_item *
cpu_pad_by_rows(cpu_tile *c, tnk_item *rows)
{
    const tn_list shape = tn_as_buffer(c->a.load->buffer)->shape;
    int64_t n, e, padded, bytes = (int64_t)tnb_dtype_bytes(tn_as_buffer(c->a.load->buffer)->dtype);
    for (uint32_t i = shape.n < 3 ? 0 : shape.n - 3; i < shape.n; i++)
        bytes *= tn_int_value(shape.at[i], &e) ? e : 0;
    tnk_item *pad = bytes >= LARGE ? padding_of(c) : NULL, *part[2], *l[CPU_MAX_LOOPS];
    bool known = pad && tnk_loop_extent(rows, &n) &&
                 tn_int_value(shape.at[shape.n - (c->paired ? 3 : 2)], &padded);
    int64_t group = known ? rows_of_group(n, padded, bytes) : 0;
    if (!group || !tnk_split(c->s, rows, group, part) || !tnk_compute_at(c->s, pad, part[0]))
        return NULL;
    uint32_t k = tnk_sch_loops(c->s, pad, l, CPU_MAX_LOOPS);
    if (k && k <= CPU_MAX_LOOPS && tnk_loop_extent(l[k - 1], &e) && e == c->lanes)
        (void)tnk_set_kind(c->s, l[k - 1], TN_FOR_VECTORIZED);
    return part[0];
}
