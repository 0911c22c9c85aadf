/* SPDX-License-Identifier: Apache-2.0 */
/* How operators take part in ConvertLayout.
 *
 * A rule sees the layouts that its arguments have and says which it wants, which its result then
 * has, and what its attributes become. Convolutions (and resizing) bring the layouts asked for;
 * other operators follow their first argument. A rule that gives false has everything as written.
 */
#include "layout_rules.h"

#include <stdio.h>

#include "infer.h"

#include "tenon/kit/layout.h"

/* The layout of argument i; NULL if it is no tensor of known rank. */
static const char *
have(const tn_layouts *q, uint32_t i)
{
    const tn_string_imm *s = i < q->call->args.n ? tn_as_string_imm(q->args[i]) : NULL;
    return s ? s->value : NULL;
}

static void
want(tn_layouts *q, uint32_t i, const char *text)
{
    q->args[i] = tn_string(q->ctx, text);
}

static bool
give(tn_layouts *q, const char *text)
{
    if (text)
        q->result = tn_string(q->ctx, text);
    return text != NULL;
}

static const char *
initial(tn_layouts *q, int64_t ndim)
{
    return tnk_layout_initial(q->ctx, ndim);
}

static const char *
as_written(tn_layouts *q, uint32_t i)
{
    return initial(q, tn_type_ndim(q->call->args.at[i]->type));
}

/* The layout of argument i, as written where it has blocks; the argument is to have it so. */
static const char *
unblocked(tn_layouts *q, uint32_t i)
{
    const char *l = have(q, i);
    if (l && tnk_layout_blocked(l))
        l = as_written(q, i);
    if (l)
        want(q, i, l);
    return l;
}

static void
set(tn_layouts *q, const char *key, const tn_node *value)
{
    q->attrs = tn_dict_set(q->ctx, q->attrs, key, value);
}

/* Attribute `key`, an axis, as its place in a layout; false if it has none, or a part only. */
static bool
move_axis(tn_layouts *q, const char *key, const char *l)
{
    int place = tnk_layout_place(l, tn_call_int(q->call, key));
    if (place < 0)
        return false;
    set(q, key, tn_i64(q->ctx, place));
    return true;
}

/* The axis lies in one piece. */
static bool
is_whole(const char *l, int64_t axis)
{
    tnk_layout parsed;
    int place = tnk_layout_place(l, axis);
    return place >= 0 && tnk_layout_parse(l, &parsed) &&
           tnk_layout_find(&parsed, (char)(parsed.axis[place] - 'A' + 'a')) < 0;
}

/* ---- elementwise ---- */

bool
layout_same(tn_layouts *q)
{
    return give(q, have(q, 0));
}

bool
layout_dropout(tn_layouts *q)
{
    const char *l = have(q, 0);
    if (l)
        q->result =
            tn_array_of(q->ctx, tn_listv(q->ctx, tn_string(q->ctx, l), tn_string(q->ctx, l), NULL));
    return l != NULL;
}

/* A layout for `ndim` axes of which the last are laid out as `l`; NULL if not possible. */
static const char *
with_leading_axes(tn_layouts *q, const char *l, int64_t ndim)
{
    int64_t n = (int64_t)strlen(l), more = ndim - n;
    char text[32];
    if (tnk_layout_blocked(l) || more < 0 || ndim > 26)
        return NULL;
    for (int64_t i = 0; i < ndim; i++)
        text[i] = (char)(i < more ? 'A' + i : l[i - more] + more);
    return tn_strn(q->ctx, text, (size_t)ndim);
}

/* Argument i, as written, can take the layout l. */
static bool
can_take(tn_layouts *q, uint32_t i, const char *l)
{
    tn_list dims;
    const tn_type *t = q->call->args.at[i]->type;
    return tn_type_dims(t, &dims) && tnk_layout_fits(q->ctx, as_written(q, i), l, dims);
}

bool
layout_binary(tn_layouts *q)
{
    const char *l[2] = {have(q, 0), have(q, 1)};
    for (uint32_t i = 0; i < 2; i++)
        if (!l[i] && tn_is(q->call->args.at[i]->type, TN_KIND_TY_PRIM))
            return give(q, l[1 - i]);
    if (!l[0] || !l[1])
        return false;
    int64_t n[2] = {tn_type_ndim(q->call->args.at[0]->type),
                    tn_type_ndim(q->call->args.at[1]->type)};
    bool blocked[2] = {tnk_layout_blocked(l[0]), tnk_layout_blocked(l[1])};
    if ((blocked[0] || blocked[1]) && n[0] == n[1]) {
        uint32_t from = blocked[0] && (!blocked[1] || strlen(l[0]) >= strlen(l[1])) ? 0 : 1;
        if (can_take(q, 1 - from, l[from])) {
            want(q, 1 - from, l[from]);
            return give(q, l[from]);
        }
    }
    uint32_t low = n[0] <= n[1] ? 0 : 1; /* of lower rank: it decides */
    if (n[low] == 0)
        return give(q, l[1 - low]);
    const char *out = with_leading_axes(q, l[low], n[1 - low]);
    if (!out)
        return false;
    want(q, 1 - low, out);
    return give(q, out);
}

bool
layout_fma(tn_layouts *q)
{
    const char *l = have(q, 0);
    if (!l || !have(q, 1) || !have(q, 2))
        return false;
    if (q->args[1] == q->args[2] || !strcmp(have(q, 1), have(q, 2)))
        l = have(q, 1);
    for (uint32_t i = 0; i < 3; i++) {
        if (tnk_layout_blocked(l) && !can_take(q, i, l))
            return false;
        want(q, i, l);
    }
    return give(q, l);
}

/* ---- windows ---- */

static const char *
asked(const tn_layouts *q, uint32_t i)
{
    const tn_string_imm *s = tn_as_string_imm(q->desired.at[i]);
    return s ? s->value : "";
}

static const char *
attr(const tn_layouts *q, const char *key)
{
    return tn_dict_str(q->attrs, key, "");
}

/* The layout asked for as attribute `key`, in terms of the tensor's axes; NULL after an error. */
static const char *
relative(tn_layouts *q, const char *key, const char *text)
{
    tnk_layout parsed;
    const char *own = attr(q, key);
    const char *l = tnk_layout_parse(text, &parsed)
                        ? tnk_layout_rename(q->ctx, text, own, initial(q, (int64_t)strlen(own)))
                        : NULL;
    size_t axes = 0;
    for (const char *s = l; s && *s; s++)
        axes += *s >= 'A' && *s <= 'Z';
    if (l && axes == strlen(own))
        return l;
    tn_error(q->ctx, q->call->base.loc, TNB_INVALID,
             "the layout \"%s\" asked for %s is none of the axes %s", text, infer_op_name(q->call),
             own);
    return NULL;
}

/* Attribute `key` becomes what fits the layout l of its tensor (without blocks). */
static bool
follow(tn_layouts *q, const char *key, const char *l)
{
    const char *own = attr(q, key);
    const char *text = tnk_layout_rename(q->ctx, l, initial(q, (int64_t)strlen(l)), own);
    if (text)
        set(q, key, tn_string(q->ctx, text));
    return text != NULL;
}

/* What is asked of a convolution; 1: done, 0: it does not fit or nothing is asked, -1: an error. */
static int
asked_conv(tn_layouts *q)
{
    static const char *const keys[] = {"data_layout", "kernel_layout", "out_layout"};
    const char *text[3], *l[3];
    tn_list dims;
    if (q->desired.n < 2 || q->desired.n > 3) {
        if (q->desired.n)
            tn_error(q->ctx, q->call->base.loc, TNB_INVALID,
                     "%u layouts are asked for %s, expected those of data and kernel, and maybe of "
                     "the result",
                     q->desired.n, infer_op_name(q->call));
        return q->desired.n ? -1 : 0;
    }
    bool fits = true;
    for (uint32_t i = 0; i < 3; i++) {
        text[i] = asked(q, i < q->desired.n ? i : 0);
        if (tnk_layout_blocked(attr(q, keys[i])))
            return 0;
        l[i] = relative(q, keys[i], text[i]);
        if (!l[i])
            return -1;
        if (i < 2 && tnk_layout_blocked(l[i]))
            fits &= tn_type_dims(q->call->args.at[i]->type, &dims) &&
                    tnk_layout_fits(q->ctx, as_written(q, i), l[i], dims);
    }
    for (uint32_t i = 0; fits && i < 3; i++) {
        if (i < 2)
            want(q, i, l[i]);
        set(q, keys[i], tn_string(q->ctx, text[i]));
    }
    if (fits)
        return give(q, l[2]);
    want(q, 0, as_written(q, 0));
    want(q, 1, as_written(q, 1));
    return 0;
}

bool
layout_conv(tn_layouts *q)
{
    int done = asked_conv(q);
    if (done)
        return done > 0;
    const char *data = unblocked(q, 0), *kernel = unblocked(q, 1);
    return data && kernel && follow(q, "data_layout", data) && follow(q, "kernel_layout", kernel) &&
           follow(q, "out_layout", data) && give(q, data);
}

bool
layout_pool(tn_layouts *q)
{
    const char *l = have(q, 0), *own = attr(q, "layout");
    if (!l || tnk_layout_blocked(own))
        return false;
    if (tnk_layout_blocked(l)) {
        const char *text = tnk_layout_rename(q->ctx, l, initial(q, (int64_t)strlen(own)), own);
        if (text && can_take(q, 0, l)) {
            set(q, "layout", tn_string(q->ctx, text));
            set(q, "out_layout", tn_string(q->ctx, text));
            return give(q, l);
        }
        l = unblocked(q, 0);
    }
    return follow(q, "layout", l) && follow(q, "out_layout", l) && give(q, l);
}

bool
layout_resize(tn_layouts *q)
{
    if (q->desired.n) {
        const char *text = asked(q, 0);
        if (q->desired.n > 1 || tnk_layout_blocked(text)) {
            tn_error(q->ctx, q->call->base.loc, TNB_INVALID,
                     "one layout without blocks can be asked for %s", infer_op_name(q->call));
            return false;
        }
        const char *l = relative(q, "layout", text);
        if (!l)
            return false;
        want(q, 0, l);
        set(q, "layout", tn_string(q->ctx, text));
        return give(q, l);
    }
    const char *l = unblocked(q, 0);
    return l && follow(q, "layout", l) && give(q, l);
}

/* ---- axes as attributes ---- */

/* The layout without the axes of `gone` (by number), the rest lettered anew in their order. */
static const char *
without_axes(tn_layouts *q, const char *l, const bool *gone)
{
    tnk_layout p;
    char text[4 * TNK_LAYOUT_AXES];
    size_t n = 0;
    if (!tnk_layout_parse(l, &p))
        return NULL;
    for (int i = 0; i < p.n; i++) {
        bool block = p.factor[i] > 0;
        int axis = p.axis[i] - (block ? 'a' : 'A'), before = 0;
        if (gone[axis])
            continue;
        for (int k = 0; k < axis; k++)
            before += gone[k];
        if (block)
            n += (size_t)snprintf(text + n, sizeof text - n - 2, "%lld", (long long)p.factor[i]);
        text[n++] = (char)(p.axis[i] - before);
    }
    return tn_strn(q->ctx, text, n);
}

/* The places, in layout l, of the axes marked, blocks included. */
static const tn_node *
places(tn_layouts *q, const char *l, const bool *marked)
{
    tnk_layout p;
    int64_t at[TNK_LAYOUT_AXES];
    uint32_t n = 0;
    if (tnk_layout_parse(l, &p))
        for (int i = 0; i < p.n; i++)
            if (marked[p.axis[i] - (p.factor[i] > 0 ? 'a' : 'A')])
                at[n++] = i;
    return tn_int_array(q->ctx, at, n);
}

/* Marks the axes of attribute `key`; None: all, or with `ones` those of extent 1. */
static bool
mark_axes(tn_layouts *q, const char *key, int64_t ndim, bool ones, bool *marked)
{
    int64_t axes[26];
    tn_list dims;
    if (ndim < 0 || ndim > 26)
        return false;
    memset(marked, 0, 26 * sizeof *marked);
    if (!tn_call_attr(q->call, key)) {
        bool known = tn_type_dims(q->call->args.at[0]->type, &dims);
        for (int64_t i = 0; i < ndim; i++)
            marked[i] = !ones || (known && tn_is_int_const(dims.at[i], 1));
        return known || !ones;
    }
    int n = tn_call_ints(q->call, key, axes, 26);
    for (int i = 0; i < n; i++) {
        axes[i] += axes[i] < 0 ? ndim : 0;
        if (axes[i] < 0 || axes[i] >= ndim)
            return false;
        marked[axes[i]] = true;
    }
    return n >= 0;
}

bool
layout_reduce(tn_layouts *q)
{
    bool marked[26];
    const char *l = have(q, 0);
    if (!l || !mark_axes(q, "axis", tn_type_ndim(q->call->args.at[0]->type), false, marked))
        return false;
    set(q, "axis", places(q, l, marked));
    return give(q, tn_call_int(q->call, "keepdims") ? l : without_axes(q, l, marked));
}

bool
layout_along_axis(tn_layouts *q)
{
    const char *l = unblocked(q, 0);
    return l && move_axis(q, "axis", l) && give(q, l);
}

bool
layout_quantize(tn_layouts *q)
{
    if (tn_type_ndim(q->call->args.at[1]->type) == 0 &&
        tn_type_ndim(q->call->args.at[2]->type) == 0)
        return give(q, have(q, 0));
    return layout_along_axis(q);
}

/* Attribute `axes`, in the order in which it names them. */
static bool
move_axes(tn_layouts *q, const char *l)
{
    int64_t axes[26];
    int n = tn_call_ints(q->call, "axes", axes, 26);
    for (int i = 0; i < n; i++) {
        if (!is_whole(l, axes[i]))
            return false;
        axes[i] = tnk_layout_place(l, axes[i]);
    }
    if (n >= 0)
        set(q, "axes", tn_int_array(q->ctx, axes, (uint32_t)n));
    return n >= 0;
}

bool
layout_norm(tn_layouts *q)
{
    const char *l = have(q, 0);
    bool batch = tn_dict_get(q->attrs, "axis") != NULL;
    bool channel = tn_dict_get(q->attrs, "channel_axis") != NULL;
    if (!l)
        return false;
    if (tnk_layout_blocked(l) &&
        (batch || (channel && !is_whole(l, tn_call_int(q->call, "channel_axis")))))
        l = as_written(q, 0);
    const tn_node *before = q->attrs;
    if (!batch && !move_axes(q, l)) {
        q->attrs = before;
        l = as_written(q, 0);
        if (!move_axes(q, l))
            return false;
    }
    want(q, 0, l);
    for (uint32_t i = 1; i < q->call->args.n; i++)
        if (have(q, i))
            want(q, i, as_written(q, i));
    if ((batch && !move_axis(q, "axis", l)) || (channel && !move_axis(q, "channel_axis", l)))
        return false;
    if (!batch)
        return give(q, l);
    q->result =
        tn_array_of(q->ctx, tn_listv(q->ctx, tn_string(q->ctx, l), q->args[3], q->args[4], NULL));
    return true;
}

/* All arguments take layout l and attribute 'axis' moves. */
static bool
all_alike(tn_layouts *q, const char *l)
{
    if (tnk_layout_blocked(l))
        l = as_written(q, 0);
    for (uint32_t i = 0; i < q->call->args.n; i++)
        want(q, i, l);
    return move_axis(q, "axis", l) && give(q, l);
}

bool
layout_gather(tn_layouts *q)
{
    const char *l = have(q, 0), *m = q->call->args.n > 1 ? have(q, 1) : l;
    if (!l || !m)
        return false;
    return all_alike(q, strcmp(l, as_written(q, 0)) ? l : m);
}

bool
layout_scatter(tn_layouts *q)
{
    const char *l = have(q, 0), *m = have(q, 1), *u = have(q, 2);
    if (!l || !m || !u)
        return false;
    return all_alike(q, strcmp(m, u) ? l : m);
}

/* Index vectors address the first axes, which have to stay in front. */
bool
layout_scatter_nd(tn_layouts *q)
{
    const char *l = have(q, 0);
    tn_list dims;
    int64_t depth;
    int64_t n = tn_type_ndim(q->call->args.at[0]->type);
    if (!l || tnk_layout_blocked(l) || tn_type_ndim(q->call->args.at[2]->type) != n ||
        !tn_type_dims(q->call->args.at[1]->type, &dims) || dims.n != 2 ||
        !tn_int_value(dims.at[1], &depth) || depth < 0 || depth > n ||
        strncmp(l, as_written(q, 0), (size_t)depth))
        return false;
    want(q, 1, as_written(q, 1));
    want(q, 2, l);
    return give(q, l);
}

/* ---- joining and cutting ---- */

/* The one layout that the fields of a tuple argument take: the first with blocks if all can have
 * it, else the first without blocks. */
static const char *
joined(tn_layouts *q, const tn_array *fields)
{
    const tn_ty_tuple *t = tn_as_ty_tuple(q->call->args.at[0]->type);
    const char *whole = NULL, *block = NULL;
    for (uint32_t i = 0; i < fields->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(fields->items.at[i]);
        if (!s)
            return NULL;
        bool blocked = tnk_layout_blocked(s->value);
        if (!whole && !blocked)
            whole = s->value;
        if (!block && blocked)
            block = s->value;
    }
    for (uint32_t i = 0; block && i < fields->items.n; i++) {
        tn_list dims;
        if (!tn_type_dims(t->fields.at[i], &dims) ||
            !tnk_layout_fits(q->ctx, initial(q, (int64_t)dims.n), block, dims))
            block = NULL;
    }
    return block ? block : whole ? whole : initial(q, tn_type_ndim(t->fields.at[0]));
}

static void
want_fields(tn_layouts *q, const char *l, uint32_t n)
{
    tn_list fields = {0};
    for (uint32_t i = 0; i < n; i++)
        fields = tn_list_append(q->ctx, fields, tn_string(q->ctx, l));
    q->args[0] = tn_array_of(q->ctx, fields);
}

bool
layout_concat(tn_layouts *q)
{
    const tn_array *fields = tn_as_array(q->args[0]);
    const char *l = fields && fields->items.n ? joined(q, fields) : NULL;
    if (!l || !tn_call_attr(q->call, "axis"))
        return false;
    want_fields(q, l, fields->items.n);
    return move_axis(q, "axis", l) && give(q, l);
}

/* The new axis lies at its place among the others as they lie. */
bool
layout_stack(tn_layouts *q)
{
    const tn_array *fields = tn_as_array(q->args[0]);
    const tn_string_imm *first =
        fields && fields->items.n ? tn_as_string_imm(fields->items.at[0]) : NULL;
    if (!first || tnk_layout_blocked(first->value))
        return false;
    const char *l = first->value;
    int64_t n = (int64_t)strlen(l), axis = tn_call_int(q->call, "axis");
    char text[32];
    axis += axis < 0 ? n + 1 : 0;
    if (axis < 0 || axis > n || n >= 26)
        return false;
    for (int64_t i = 0, k = 0; i <= n; i++)
        text[i] = (char)(i == axis ? 'A' + axis : l[k] + (l[k] >= 'A' + axis)), k += i != axis;
    want_fields(q, l, fields->items.n);
    set(q, "axis", tn_i64(q->ctx, axis));
    return give(q, tn_strn(q->ctx, text, (size_t)n + 1));
}

bool
layout_split(tn_layouts *q)
{
    const tn_ty_tuple *out = tn_as_ty_tuple(q->call->base.type);
    const char *l = have(q, 0);
    tn_list dims;
    if (!l || !out)
        return false;
    for (uint32_t i = 0; tnk_layout_blocked(l) && i < out->fields.n; i++)
        if (!tn_type_dims(out->fields.at[i], &dims) ||
            !tnk_layout_fits(q->ctx, as_written(q, 0), l, dims))
            l = as_written(q, 0);
    /* the places to cut at would have to be counted in blocks */
    if (tnk_layout_blocked(l) && !is_whole(l, tn_call_int(q->call, "axis")) &&
        !tn_is(tn_call_attr(q->call, "indices_or_sections"), TN_KIND_INT_IMM))
        l = as_written(q, 0);
    want(q, 0, l);
    tn_list fields = {0};
    for (uint32_t i = 0; i < out->fields.n; i++)
        fields = tn_list_append(q->ctx, fields, tn_string(q->ctx, l));
    q->result = tn_array_of(q->ctx, fields);
    return move_axis(q, "axis", l);
}

/* ---- shapes ---- */

bool
layout_expand_dims(tn_layouts *q)
{
    int64_t axes[26];
    int more = tn_call_ints(q->call, "axis", axes, 26);
    const char *l = unblocked(q, 0);
    int64_t n = l ? (int64_t)strlen(l) : 0, total = n + more;
    bool fresh[26] = {false};
    char renamed[32], text[32];
    if (!l || more < 0 || total > 26)
        return false;
    for (int i = 0; i < more; i++)
        fresh[axes[i] < 0 ? axes[i] + total : axes[i]] = true;
    for (int64_t i = 0, k = 0; i < total; i++)
        if (!fresh[i])
            renamed[k++] = (char)('A' + i);
    for (int64_t i = 0, k = 0; i < total; i++)
        text[i] = (char)(fresh[i] ? 'A' + i : renamed[l[k++] - 'A']);
    return give(q, tn_strn(q->ctx, text, (size_t)total));
}

bool
layout_squeeze(tn_layouts *q)
{
    bool marked[26];
    const char *l = unblocked(q, 0);
    if (!l || !mark_axes(q, "axis", (int64_t)strlen(l), true, marked))
        return false;
    int64_t left = 0;
    for (size_t i = 0; l[i]; i++)
        left += !marked[i];
    if (tn_type_ndim(q->call->base.type) != left)
        return false; /* axes that are named but stay */
    set(q, "axis", places(q, l, marked));
    return give(q, without_axes(q, l, marked));
}

/* The order takes the layout in: what comes out lies as written. */
bool
layout_permute_dims(tn_layouts *q)
{
    int64_t axes[26], n;
    const char *l = unblocked(q, 0);
    if (!l)
        return false;
    n = (int64_t)strlen(l);
    bool given = tn_call_attr(q->call, "axes") != NULL;
    if (given && tn_call_ints(q->call, "axes", axes, 26) != n)
        return false;
    for (int64_t i = 0; i < n; i++)
        axes[i] = tnk_layout_place(l, given ? axes[i] : n - 1 - i);
    set(q, "axes", tn_int_array(q->ctx, axes, (uint32_t)n));
    return give(q, initial(q, n));
}

bool
layout_repeat(tn_layouts *q)
{
    if (!tn_call_attr(q->call, "axis"))
        return false; /* the flattened tensor: the order matters */
    return layout_along_axis(q);
}

bool
layout_tile(tn_layouts *q)
{
    int64_t given[26], moved[26];
    const char *l = unblocked(q, 0);
    int64_t n = l ? (int64_t)strlen(l) : 0;
    int count = tn_call_ints(q->call, "repeats", given, 26);
    if (!l || count < 0)
        return false;
    int64_t total = count > n ? count : n;
    for (int64_t i = 0; i < total; i++) {
        int64_t axis = i < total - n ? i : l[i - (total - n)] - 'A' + (total - n);
        int64_t from = axis - (total - count); /* repeats are aligned at the end */
        moved[i] = from < 0 ? 1 : given[from];
    }
    set(q, "repeats", tn_int_array(q->ctx, moved, (uint32_t)total));
    return give(q, with_leading_axes(q, l, total));
}

bool
layout_strided_slice(tn_layouts *q)
{
    const char *l = unblocked(q, 0);
    const tn_tuple *axes = q->call->args.n > 1 ? tn_as_tuple(q->call->args.at[1]) : NULL;
    tn_list moved = {0};
    if (!l || !axes)
        return false;
    for (uint32_t i = 0; i < axes->fields.n; i++) {
        int64_t axis;
        int place = tn_int_value(axes->fields.at[i], &axis) ? tnk_layout_place(l, axis) : -1;
        if (place < 0)
            return false;
        moved = tn_list_append(q->ctx, moved, tn_i64(q->ctx, place));
    }
    q->call_args = tn_list_with(q->ctx, q->call_args, 1, tn_tuple_of(q->ctx, moved));
    return give(q, l);
}
