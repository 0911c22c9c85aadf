/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of tensor programs: iteration variables, predicate, regions, annotations, init. */
#include "reader.h"

/* ---- iteration variables ---- */
static value
axis_item(reader *r, value *at, tn_iter_kind kind, const tn_node *dom, const tn_expr *binding,
          value dtype)
{
    (void)r;
    at[0] = (value){.kind = V_NODE, .n = (uint32_t)kind, .node = dom, .other = binding};
    at[1] = dtype;
    return at[0];
}

/* vi, vj = T.axis.remap("SR", [i, j]): each variable runs as its loop does. */
static value
remap(reader *r, const ast *e)
{
    call_args a = rd_args(e, "T.axis.remap");
    value kinds, loops;
    const ast *kinds_at = e, *loops_at = e;
    const value *items;
    uint32_t n;
    if (!rd_need(r, &a, "kinds", &kinds, &kinds_at) ||
        !rd_need(r, &a, "bindings", &loops, &loops_at) || !rd_args_end(r, &a))
        return rd_failed();
    const char *k = rd_text(r, kinds_at, kinds);
    if (!k || !rd_items(r, loops_at, loops, false, &items, &n))
        return rd_failed();
    if (strlen(k) != n)
        return rd_error(r, e, TNB_INVALID, "%zu kinds for %u loop variables", strlen(k), n);
    value *out = TNB_NEW_N(r->arena, value, (size_t)n * 2);
    for (uint32_t i = 0; i < n; i++) {
        const tn_node *dom =
            items[i].kind == V_NODE ? tnb_ptrmap_get(&r->tensor->loop_doms, items[i].node) : NULL;
        if (!dom)
            return items[i].kind == V_ERROR ? rd_failed()
                                            : rd_error(r, loops_at, TNB_INVALID,
                                                       "T.axis.remap takes loop variables, not %s",
                                                       rd_what(r, items[i]));
        if (k[i] != 'S' && k[i] != 'R')
            return rd_error(r, kinds_at, TNB_INVALID,
                            "kinds are 'S' (spatial) and 'R' (reduce), not '%c'", k[i]);
        axis_item(r, out + 2 * (size_t)i, k[i] == 'S' ? TN_ITER_SPATIAL : TN_ITER_REDUCE, dom,
                  items[i].node, (value){.kind = V_NONE});
    }
    return (value){.kind = V_AXES, .n = n, .items = out};
}

value
rd_axis(reader *r, const ast *e, const char *name)
{
    static const struct {
        const char *name;
        tn_iter_kind kind;
    } kinds[] = {{"spatial", TN_ITER_SPATIAL}, {"S", TN_ITER_SPATIAL}, {"reduce", TN_ITER_REDUCE},
                 {"R", TN_ITER_REDUCE},        {"scan", TN_ITER_SCAN}, {"opaque", TN_ITER_OPAQUE},
                 {"thread", TN_ITER_THREAD}};
    if (!r->tensor || !r->tensor->block->is_block)
        return rd_error(r, e, TNB_FORMAT, "T.axis.%s outside of a block", name);
    if (!strcmp(name, "remap"))
        return remap(r, e);
    size_t k = 0, all = sizeof kinds / sizeof *kinds;
    while (k < all && strcmp(kinds[k].name, name) != 0)
        k++;
    if (k == all)
        return rd_error(r, e, TNB_NOT_FOUND, "'T.axis.%s' is not known", name);
    call_args a = rd_args(e, tn_strf(r->ctx, "T.axis.%s", name));
    value dom, binding = {.kind = V_NONE}, dtype = {.kind = V_NONE};
    const ast *dom_at = e, *binding_at = e, *dtype_at = e;
    if (!rd_need(r, &a, "dom", &dom, &dom_at))
        return rd_failed();
    rd_arg(r, &a, "binding", &binding, &binding_at);
    tnb_dtype d;
    if (rd_arg(r, &a, "dtype", &dtype, &dtype_at)) {
        if (!rd_dtype(r, dtype_at, dtype, &d))
            return rd_failed();
        dtype = rd_node(tn_dtype_imm_of(r->ctx, d));
    }
    if (!rd_args_end(r, &a))
        return rd_failed();
    const tn_node *range = NULL;
    if (rd_is_node(dom, TN_KIND_RANGE))
        range = dom.node;
    else if ((dom.kind == V_TUPLE || dom.kind == V_LIST) && dom.n == 2)
        range = rd_range(r, dom_at, dom.items[0], dom.items[1]);
    else if (dom.kind != V_ERROR)
        range = rd_range(r, dom_at, (value){.kind = V_NONE}, dom);
    const tn_expr *x = NULL;
    if (range && binding.kind != V_NONE) {
        x = rd_scalar(r, binding_at, binding);
        if (!x)
            return rd_failed();
    }
    if (!range)
        return rd_failed();
    value *out = TNB_NEW_N(r->arena, value, 2);
    axis_item(r, out, kinds[k].kind, range, x, dtype);
    return (value){.kind = V_AXES, .n = 1, .items = out};
}

void
rd_bind_axes(reader *r, const ast *target, value axes)
{
    bool many = target->kind == AST_TUPLE || target->kind == AST_LIST;
    uint32_t names = many ? target->list.n : 1;
    tensor_block *b = r->tensor->block;
    bool packed = !many && axes.n != 1 && target->kind == AST_NAME;
    value *items = packed ? TNB_NEW_N(r->arena, value, axes.n) : NULL;
    if (names != axes.n && !packed) {
        rd_error(r, target, TNB_INVALID, "%u names for %u iteration variables", names, axes.n);
        return;
    }
    for (uint32_t i = 0; i < axes.n; i++) {
        const ast *t = many ? target->list.at[i] : target;
        value v = axes.items[2 * i], dtype = axes.items[2 * i + 1];
        if (t->kind != AST_NAME) {
            rd_error(r, t, TNB_FORMAT, "an iteration variable needs a name");
            continue;
        }
        rd_at(r, t);
        const tn_range *dom = tn_as_range(v.node);
        tnb_dtype d = dtype.kind == V_NONE ? tn_dtype_of(dom->extent)
                                           : ((const tn_dtype_imm *)dtype.node)->value;
        const tn_expr *var =
            tn_var_dtype(r->ctx, packed ? tn_strf(r->ctx, "%s_%u", t->text, i) : t->text, d);
        if (packed)
            items[i] = rd_node(var);
        else
            rd_bind(r, t->text, rd_node(var));
        TNB_PUSH(r->arena, b->iters, tn_iter_var_of(r->ctx, v.node, var, (tn_iter_kind)v.n, NULL));
        if (v.other)
            TNB_PUSH(r->arena, b->values, v.other);
    }
    if (packed)
        rd_bind(r, target->text, (value){.kind = V_TUPLE, .n = axes.n, .items = items});
}

/* ---- statements of a block's head ---- */
static void
regions(reader *r, const ast *e, node_vec *out)
{
    for (uint32_t i = 0; i < e->list.n; i++) {
        const ast *x = e->list.at[i];
        value v = rd_eval(r, x);
        const value *items;
        uint32_t n;
        if (!rd_items(r, x, v, true, &items, &n))
            continue;
        for (uint32_t k = 0; k < n; k++) {
            const tn_node *region = rd_region(r, x, items[k]);
            if (region)
                TNB_PUSH(r->arena, *out, region);
        }
    }
}

void
rd_set_block_attr(reader *r, const ast *e, value v)
{
    const tn_dict *d = tn_as_dict(rd_dict(r, e, v));
    tensor_block *b = r->tensor->block;
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        b->annotations = b->annotations ? tn_dict_set(r->ctx, b->annotations, p->key, p->value)
                                        : tn_dict_of(r->ctx, &p->key, &p->value, 1);
    }
}

bool
rd_block_statement(reader *r, const char *name, const ast *e)
{
    tensor_block *b = r->tensor->block;
    bool reads = !strcmp(name, "reads"), writes = !strcmp(name, "writes"),
         where = !strcmp(name, "where");
    bool attr = !strcmp(name, "sblock_attr") || !strcmp(name, "block_attr");
    if (!reads && !writes && !where && !attr)
        return false;
    if (!b->is_block) {
        rd_error(r, e, TNB_FORMAT, "T.%s outside of a block", name);
        return true;
    }
    if (reads || writes) {
        bool *has = reads ? &b->has_reads : &b->has_writes;
        if (*has)
            rd_error(r, e, TNB_FORMAT, "T.%s twice in one block", name);
        *has = true;
        if (e->more.n)
            rd_error(r, e->more.at[0], TNB_INVALID, "T.%s takes no keywords", name);
        regions(r, e, reads ? &b->reads : &b->writes);
        return true;
    }
    call_args a = rd_args(e, tn_strf(r->ctx, "T.%s", name));
    value v;
    const ast *v_at = e;
    if (!rd_need(r, &a, where ? "predicate" : "attrs", &v, &v_at) || !rd_args_end(r, &a))
        return true;
    if (attr) {
        rd_set_block_attr(r, v_at, v);
        return true;
    }
    const tn_expr *x = rd_scalar(r, v_at, v);
    if (x && b->predicate)
        rd_error(r, e, TNB_FORMAT, "T.where twice in one block");
    else if (x)
        b->predicate = x;
    return true;
}

/* ---- the block ---- */
const tn_stmt *
rd_sblock(reader *r, const ast *with, const ast *e)
{
    call_args a = rd_args(e, "T.sblock");
    value v;
    const ast *where = e;
    const char *name = "";
    bool no_realize = false;
    if (rd_arg(r, &a, "name", &v, &where) && !(name = rd_text(r, where, v)))
        return NULL;
    if (rd_keyword(r, &a, "no_realize", &v, &where) && !rd_bool(r, where, v, &no_realize))
        return NULL;
    if (!rd_args_end(r, &a) || !rd_enter(r, with))
        return NULL;
    tensor_scope *t = r->tensor;
    tensor_block b = {.is_block = true}, *outer = t->block;
    bool root = !outer->is_block;
    t->has_blocks = true;
    t->block = &b;
    uint32_t before = tnb_diags_errors(tn_diags(r->ctx));
    const tn_stmt *body = rd_body(r, with, with->more);
    t->block = outer;
    rd_leave(r);
    if (!body || tnb_diags_errors(tn_diags(r->ctx)) != before)
        return NULL;
    tn_block f = {.name = name,
                  .iters = {b.iters.at, b.iters.n},
                  .allocs = {b.allocs.at, b.allocs.n},
                  .match_buffers = {b.matches.at, b.matches.n},
                  .reads = {b.reads.at, b.reads.n},
                  .writes = {b.writes.at, b.writes.n},
                  .annotations = b.annotations,
                  .init = b.init,
                  .body = body};
    /* the root block's regions stay empty */
    root &= b.iters.n == 0 && (!*name || !strcmp(name, "root"));
    if (!root && (!b.has_reads || !b.has_writes)) {
        tn_list reads, writes;
        text_block_regions(r->ctx, &t->by_data, &f, &reads, &writes);
        if (!b.has_reads)
            f.reads = reads;
        if (!b.has_writes)
            f.writes = writes;
    }
    rd_at(r, with);
    const tn_node *block = tn_block_of(r->ctx, &f);
    if (tn_is_error(block))
        return NULL;
    if (no_realize)
        return block;
    if (b.values.n != b.iters.n) {
        rd_error(r, with, TNB_INVALID, "an iteration variable of block '%s' has no value", name);
        return NULL;
    }
    const tn_stmt *s =
        tn_block_realize_of(r->ctx, (tn_list){b.values.at, b.values.n}, b.predicate, block);
    return tn_is_error(s) ? NULL : s;
}
