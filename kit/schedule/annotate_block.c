/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on blocks: annotate_block, and storage_align, whose mark says how a buffer is laid out.
 *
 *     storage_align(A_shared, A_shared, 0, 32, 1)      rows of a tile in shared memory begin in
 *                                                      different banks
 */
#include "schedule_private.h"

bool
tnk_annotate_block(tnk_sch *s, tnk_item *block, const char *key, const tn_node *value)
{
    if (s->broken)
        return false;
    if (block->kind != TNK_ITEM_BLOCK)
        return tnk_sch_fail(s, block, "annotate_block", "it is no block");
    tn_block b = *block->block;
    b.annotations = tn_dict_set(s->ctx, b.annotations, key, value);
    tnk_sch_note(s, "annotate_block(%s, %s, %s)", tnk_ref(s, block),
                 tnk_ref_value(s, tn_string(s->ctx, key)), tnk_ref_value(s, value));
    tnk_block_set(s, block, &b);
    return !s->broken;
}

bool
tnk_storage_align(tnk_sch *s, tnk_item *block, const tn_node *buffer, int axis, int64_t factor,
                  int64_t offset)
{
    static const char key[] = "buffer_dim_align";
    if (s->broken)
        return false;
    tn_ctx *ctx = s->ctx;
    const tn_block *b = block->block;
    uint32_t at = 0;
    while (at < b->writes.n && tn_as_buffer_region(b->writes.at[at])->buffer != buffer)
        at++;
    int rank = (int)tn_as_buffer(buffer)->shape.n, dim = axis < 0 ? axis + rank : axis;
    if (at == b->writes.n)
        return tnk_sch_fail(s, block, "storage_align", "it does not write '%s'",
                            tn_as_buffer(buffer)->name);
    if (tnk_sch_is_param(s, buffer))
        return tnk_sch_fail(s, block, "storage_align",
                            "'%s' is a parameter of the function: its layout is the caller's",
                            tn_as_buffer(buffer)->name);
    if (dim < 0 || dim >= rank)
        return tnk_sch_fail(s, block, "storage_align",
                            "'%s' has %d dimensions, there is no axis %d",
                            tn_as_buffer(buffer)->name, rank, axis);
    if (factor <= 0 || offset < 0)
        return tnk_sch_fail(s, block, "storage_align",
                            "a factor of %lld and an offset of %lld are no alignment",
                            (long long)factor, (long long)offset);
    const tn_array *old = tn_as_array(tn_dict_get(b->annotations, key));
    tn_list all = {0};
    const tn_node *mine = tn_int_array(ctx, (int64_t[]){at, dim, factor, offset}, 4);
    for (uint32_t i = 0; old && i < old->items.n; i++) {
        const tn_array *one = tn_as_array(old->items.at[i]);
        int64_t w = -1, d = -1;
        if (one && one->items.n == 4 && tn_int_value(one->items.at[0], &w) &&
            tn_int_value(one->items.at[1], &d) && w == at && d == dim)
            continue;
        all = tn_list_append(ctx, all, old->items.at[i]);
    }
    all = tn_list_append(ctx, all, mine);
    tnk_sch_note(s, "storage_align(%s, %s, %d, %lld, %lld)", tnk_ref(s, block),
                 tnk_ref_buffer(s, block, buffer), axis, (long long)factor, (long long)offset);
    tn_block fields = *b;
    fields.annotations = tn_dict_set(ctx, b->annotations, key, tn_array_of(ctx, all));
    tnk_block_set(s, block, &fields);
    return !s->broken;
}
