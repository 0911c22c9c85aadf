/* SPDX-License-Identifier: Apache-2.0 */
/* MergeCompositeFunctions: neighbouring calls of Composite functions of one codegen become one
 * function marked Codegen, in which the composites are local functions.
 *
 *     lv = cls.conv2d(x, w)    # Composite "dnnl.conv2d"
 *     gv = cls.relu(lv)        # Composite "dnnl.relu"
 *
 *     gv = cls.fused_conv2d_relu_dnnl(x, w)
 *
 * A call joins the groups of its arguments unless another argument depends on them, which would
 * close a circle. Tuples of, and items of, values of one group join it when nothing else uses the
 * tuple. Works on dataflow blocks; functions that nothing reaches any more go. Cases:
 * tests/pass/MergeCompositeFunctions.
 */
#include "transform.h"
#include "group_functions.h"

#include "tenon/core/walk.h"
#include "tenon/kit/pattern.h"

/* ---- what belongs together ---- */

enum { NONE = UINT32_MAX };

typedef struct region {
    uint32_t parent;     /* union-find */
    const char *codegen; /* NULL: not for one */
    uint64_t *needs;     /* bits: root regions that this one depends on, directly or not */
} region;

typedef struct merger {
    tn_ctx *ctx;
    tnb_arena *arena;
    const tn_module *m;
    const tnk_graph *graph;
    region *at;
    uint32_t n, words;
    tnb_ptrmap of; /* variable -> region number + 1; while inlining: composite -> local variable */
    bool failed;
} merger;

static uint32_t
root_of(merger *s, uint32_t i)
{
    while (s->at[i].parent != i)
        i = s->at[i].parent = s->at[s->at[i].parent].parent;
    return i;
}

static bool
has_bit(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static void
set_bit(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static uint32_t
region_of(merger *s, const tn_node *e)
{
    uintptr_t i = tn_is_var(e) ? (uintptr_t)tnb_ptrmap_get(&s->of, e) : 0;
    return i ? root_of(s, (uint32_t)i - 1) : NONE;
}

static uint32_t
new_region(merger *s, const char *codegen)
{
    s->at[s->n] = (region){.parent = s->n,
                           .codegen = codegen,
                           .needs = TNB_NEW_N(s->arena, uint64_t, s->words)};
    return s->n++;
}

/* `i` depends on `on` and all that needs; so does everything that depends on `i`. */
static void
depend(merger *s, uint32_t i, uint32_t on)
{
    if (i == on)
        return;
    for (uint32_t k = 0; k < s->n; k++) {
        if (k != i && (s->at[k].parent != k || !has_bit(s->at[k].needs, i)))
            continue;
        for (uint32_t w = 0; w < s->words; w++)
            s->at[k].needs[w] |= s->at[on].needs[w];
        set_bit(s->at[k].needs, on);
    }
}

static void
join(merger *s, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    s->at[from].parent = to;
    for (uint32_t w = 0; w < s->words; w++)
        s->at[to].needs[w] |= s->at[from].needs[w];
    for (uint32_t k = 0; k < s->n; k++) {
        if (s->at[k].parent != k || !has_bit(s->at[k].needs, from))
            continue;
        s->at[k].needs[from / 64] &= ~(UINT64_C(1) << (from % 64));
        if (k != to) {
            set_bit(s->at[k].needs, to);
            for (uint32_t w = 0; w < s->words; w++)
                s->at[k].needs[w] |= s->at[to].needs[w];
        }
    }
}

static const char *
codegen_of_call(merger *s, const tn_call *c)
{
    const tn_global_var *gv = c ? tn_as_global_var(c->op) : NULL;
    const tn_node *f = gv ? tn_module_get(s->m, gv->name) : NULL;
    const tn_string_imm *name =
        tn_is(f, TN_KIND_FUNCTION) ? tn_as_string_imm(tn_func_attr(f, "Composite")) : NULL;
    if (!name)
        return NULL;
    const char *codegen = group_codegen_name(s->ctx, name->value);
    s->failed |= !codegen;
    return codegen;
}

static bool
is_tensor_tuple(const tn_type *t)
{
    const tn_ty_tuple *u = tn_as_ty_tuple(t);
    for (uint32_t i = 0; u && i < u->fields.n; i++)
        if (!tn_is(u->fields.at[i], TN_KIND_TY_TENSOR))
            return false;
    return u && u->fields.n;
}

/* Every use of the tuple takes an item of it. */
static bool
only_items_used(const merger *s, const tn_node *var)
{
    uint32_t n = tnk_graph_uses(s->graph, var);
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *user = tnk_graph_user(s->graph, var, i);
        if (!user || !tn_is(tnk_graph_value(s->graph, user), TN_KIND_TUPLE_GET))
            return false;
    }
    return n > 0;
}

/* The region that a call joins or makes. */
static uint32_t
place_call(merger *s, const tn_call *c)
{
    const char *codegen = codegen_of_call(s, c);
    uint32_t mine = NONE;
    uint64_t *needs = TNB_NEW_N(s->arena, uint64_t, s->words);
    for (uint32_t i = 0; codegen && i < c->args.n; i++) {
        uint32_t r = region_of(s, c->args.at[i]);
        for (uint32_t w = 0; r != NONE && w < s->words; w++)
            needs[w] |= s->at[r].needs[w];
    }
    for (uint32_t i = 0; codegen && i < c->args.n; i++) {
        uint32_t r = region_of(s, c->args.at[i]);
        if (r == NONE || r == mine || !s->at[r].codegen || strcmp(s->at[r].codegen, codegen) != 0 ||
            has_bit(needs, r))
            continue;
        if (mine == NONE)
            mine = r;
        else
            join(s, r, mine);
    }
    return mine == NONE ? new_region(s, codegen) : mine;
}

/* The one region of all fields of a tuple that only items are taken of. */
static uint32_t
place_tuple(merger *s, const tn_node *var, const tn_tuple *t)
{
    uint32_t all = NONE;
    for (uint32_t i = 0; i < t->fields.n; i++) {
        uint32_t r = region_of(s, t->fields.at[i]);
        if (r == NONE || (i && r != all))
            return NONE;
        all = r;
    }
    bool joins =
        all != NONE && s->at[all].codegen && is_tensor_tuple(var->type) && only_items_used(s, var);
    return joins ? all : NONE;
}

static void
place_binding(merger *s, const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    const tn_match_cast *mc = tn_as_match_cast(binding);
    const tn_expr *value = vb ? vb->value : mc->value, *var = vb ? vb->var : mc->var;
    const tn_tuple_get *get = tn_as_tuple_get(value);
    uint32_t mine = NONE;
    if (vb && tn_is_var(value))
        mine = region_of(s, value); /* another name for a value goes where that is */
    else if (tn_is(value, TN_KIND_CALL))
        mine = place_call(s, tn_as_call(value));
    else if (tn_is(value, TN_KIND_TUPLE))
        mine = place_tuple(s, var, tn_as_tuple(value));
    else if (get && (mine = region_of(s, get->tuple)) != NONE &&
             (!s->at[mine].codegen || !is_tensor_tuple(get->tuple->type) ||
              !only_items_used(s, get->tuple)))
        mine = NONE;
    if (mine == NONE)
        mine = new_region(s, NULL);
    tn_list used = tn_free_vars(s->ctx, value, false);
    for (uint32_t i = 0; i < used.n; i++) {
        uint32_t r = region_of(s, used.at[i]);
        if (r != NONE)
            depend(s, mine, r);
    }
    tnb_ptrmap_set(&s->of, var, (void *)(uintptr_t)(mine + 1));
}

/* ---- composites go into the functions that call them ---- */

static const tn_node *
inline_composite(tn_rewriter *r, const tn_node *n)
{
    merger *s = r->user;
    const tn_bindings_block *block = tn_as_bindings_block(n);
    if (!block)
        return NULL;
    TNB_VEC(const tn_node *) out = {0};
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
        const tn_call *c = vb ? tn_as_call(vb->value) : NULL;
        const tn_global_var *gv = c ? tn_as_global_var(c->op) : NULL;
        const tn_node *f = gv ? tn_module_get(s->m, gv->name) : NULL;
        if (!tn_is(f, TN_KIND_FUNCTION) || !tn_func_attr(f, "Composite")) {
            TNB_PUSH(s->arena, out, block->bindings.at[i]);
            continue;
        }
        const tn_expr *local = tnb_ptrmap_get(&s->of, f);
        if (!local) {
            const tn_node *inner =
                tn_fresh_copy(s->ctx, group_without_attr(s->ctx, f, "Primitive"), NULL);
            local = tn_var_new(s->ctx, "local_func", inner->type);
            tnb_ptrmap_set(&s->of, f, local);
            TNB_PUSH(s->arena, out, tn_var_binding_of(s->ctx, local, inner));
        }
        const tn_expr *call =
            tn_call_of(s->ctx, local, c->args, NULL, (tn_list){0}, vb->value->type);
        TNB_PUSH(s->arena, out, tn_var_binding_of(s->ctx, vb->var, call));
    }
    return tn_binding_block_of(s->ctx, tn_list_of(s->ctx, out.at, out.n), false);
}

/* Dataflow variables of the function's own block become ordinary ones. */
static const tn_node *
without_dataflow(merger *s, const tn_function *fn)
{
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, s->arena);
    tn_list blocks = tn_as_seq_expr(fn->body)->blocks;
    for (uint32_t b = 0; b < blocks.n; b++) {
        tn_list at = tn_as_bindings_block(blocks.at[b])->bindings;
        for (uint32_t i = 0; i < at.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(at.at[i]);
            if (vb && tn_is(vb->var, TN_KIND_DATAFLOW_VAR))
                tnb_ptrmap_set(&map, vb->var,
                               tn_var_new(s->ctx, tn_var_name(vb->var), vb->var->type));
        }
    }
    tn_rewriter r = {.ctx = s->ctx, .map = &map};
    return tn_rewrite(&r, TN_NODE(fn));
}

typedef struct renamer {
    tn_ctx *ctx;
    const tnb_strmap *names;
} renamer;

static const tn_node *
rename_global(tn_rewriter *r, const tn_node *n)
{
    const renamer *names = r->user;
    const tn_global_var *gv = tn_as_global_var(n);
    const char *name = gv ? tnb_strmap_get(names->names, gv->name) : NULL;
    return name ? tn_global_var_of(names->ctx, name) : NULL;
}

static const tn_module *
finish_functions(merger *s, const tn_module *m, const tn_module *before)
{
    tnb_strmap renamed;
    tnb_strmap_init(&renamed, s->arena);
    for (uint32_t i = 0; i < m->names.n; i++) {
        const char *name = tn_module_name(m, i);
        const tn_string_imm *codegen =
            tn_is(m->funcs.at[i], TN_KIND_FUNCTION)
                ? tn_as_string_imm(tn_func_attr(m->funcs.at[i], "Codegen"))
                : NULL;
        if (!codegen || tn_module_get(before, name))
            continue;
        const char *symbol = tn_strf(s->ctx, "%s_%s", name, codegen->value);
        for (int k = 1; tn_module_get(m, symbol); k++)
            symbol = tn_strf(s->ctx, "%s_%s%d", name, codegen->value, k);
        tnb_strmap_set(&renamed, name, symbol);
    }
    tn_module_edit *out = tn_module_edit_new(s->ctx, m);
    for (uint32_t i = 0; i < renamed.n; i++) {
        const char *name = renamed.at[i].key, *symbol = renamed.at[i].value;
        const tn_node *f = tn_module_get(m, name);
        f = without_dataflow(s, tn_as_function(group_without_attr(s->ctx, f, "Primitive")));
        tnb_ptrmap_init(&s->of, s->arena);
        tn_rewriter r = {.ctx = s->ctx, .user = s, .pre = inline_composite};
        f = tn_rewrite(&r, f);
        f = tn_func_with_attr(s->ctx, f, "global_symbol", tn_string(s->ctx, symbol));
        tn_module_edit_set(out, name, NULL);
        tn_module_edit_set(out, symbol, f);
    }
    renamer names = {s->ctx, &renamed};
    tn_rewriter r = {.ctx = s->ctx, .user = &names, .pre = rename_global};
    for (uint32_t i = 0; i < m->names.n; i++) {
        const char *name = tn_module_name(m, i);
        const tn_node *f = tn_module_edit_get(out, name);
        if (f && f != tn_module_get(before, name))
            tn_module_edit_set(out, name, tn_rewrite(&r, f));
    }
    return tn_module_edit_end(out);
}

/* ---- functions ---- */

static tn_walk_step
count_bindings(void *user, const tn_node *n)
{
    if (tn_as_var_binding(n) || tn_as_match_cast(n))
        ++*(uint32_t *)user;
    return TN_WALK_ON;
}

static const tn_node *
merge_function(tn_ctx *ctx, const tn_module *m, tn_builder *b, const tn_function *fn, bool *failed)
{
    merger s = {.ctx = ctx, .arena = tn_scratch(ctx), .m = m};
    const tn_seq_expr *seq = tn_as_seq_expr(fn->body);
    uint32_t n = fn->params.n;
    tn_walk(fn->body, 0, count_bindings, NULL, &n);
    s.words = n / 64 + 1;
    s.at = TNB_NEW_N(s.arena, region, n + 1);
    s.graph = tnk_graph_new(ctx, TN_NODE(fn));
    tnb_ptrmap_init(&s.of, s.arena);
    for (uint32_t i = 0; i < fn->params.n; i++)
        tnb_ptrmap_set(&s.of, fn->params.at[i], (void *)(uintptr_t)(new_region(&s, NULL) + 1));

    grouping g;
    grouping_init(&g, ctx, m, b, false);
    group *groups = TNB_NEW_N(s.arena, group, n + 1);
    for (uint32_t k = 0; seq && k < seq->blocks.n; k++) {
        tn_list at = tn_as_bindings_block(seq->blocks.at[k])->bindings;
        bool dataflow = tn_is(seq->blocks.at[k], TN_KIND_DATAFLOW_BLOCK);
        uint32_t first = s.n;
        for (uint32_t i = 0; i < at.n; i++)
            place_binding(&s, at.at[i]);
        for (uint32_t i = 0; i < at.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(at.at[i]);
            uint32_t r = vb && dataflow ? region_of(&s, vb->var) : NONE;
            if (r == NONE || !s.at[r].codegen)
                continue;
            groups[r].attrs = tn_dictv(ctx, "Codegen", tn_string(ctx, s.at[r].codegen), NULL);
            grouping_add(&g, &groups[r], vb);
        }
        for (uint32_t i = first; i < s.n; i++)
            s.at[i].codegen = NULL; /* a group does not go beyond its block */
    }
    *failed |= s.failed;
    return grouping_rewrite(&g, fn);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    tn_builder *b = tn_builder_new(ctx, m);
    TNB_VEC(const char *) names = {0};
    TNB_VEC(const tn_node *) funcs = {0};
    bool failed = false;
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        if (!fn || tn_dict_get(fn->attrs, "Primitive") || tn_dict_get(fn->attrs, "Composite") ||
            tn_dict_get(fn->attrs, "Codegen"))
            continue;
        const tn_node *nf = merge_function(ctx, m, b, fn, &failed);
        if (failed || tn_is_error(nf))
            return NULL;
        if (nf != TN_NODE(fn)) {
            TNB_PUSH(tn_scratch(ctx), names, tn_module_name(m, i));
            TNB_PUSH(tn_scratch(ctx), funcs, nf);
        }
    }
    if (!names.n)
        return m;
    const tn_module *out =
        tn_module_set_all(ctx, tn_builder_module(b), names.at, funcs.at, names.n);
    merger s = {.ctx = ctx, .arena = tn_scratch(ctx), .m = m};
    return transform_drop_unreachable(ctx, finish_functions(&s, out, m));
}

const tn_pass transform_merge_composite_functions = {
    .base.size = sizeof(tn_pass),
    .base.name = "MergeCompositeFunctions",
    .base.doc = "merge calls of Composite functions of one codegen into Codegen functions",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
