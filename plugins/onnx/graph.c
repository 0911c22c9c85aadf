/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: scopes of names, the order of nodes, one node after the other, sub-graphs and functions
 * in place. */
#include <inttypes.h>
#include "subgraph.h"

enum { MAX_NODES = 1 << 20 };

/* ---- scopes ---- */

void
onnx_scope_push(onnx_import *imp, onnx_scope *s)
{
    tnb_strmap_init(&s->values, imp->arena);
    s->outer = imp->scope;
    imp->scope = s;
}

void
onnx_scope_pop(onnx_import *imp)
{
    imp->scope = imp->scope->outer;
}

onnx_value *
onnx_find_value(const onnx_import *imp, const char *name)
{
    TNB_VEC(struct onnx_region *) crossed = {0};
    for (const onnx_scope *s = imp->scope; s; s = s->outer) {
        onnx_value *v = tnb_strmap_get(&s->values, name);
        if (v) {
            while (crossed.n && v != &imp->absent) /* from the outermost inwards */
                v = onnx_value_inside(crossed.at[--crossed.n], v);
            return v;
        }
        if (s->function) /* a function sees nothing of its caller */
            return NULL;
        if (s->region)
            TNB_PUSH(imp->arena, crossed, s->region);
    }
    return NULL;
}

static const char *
node_text(onnx_import *imp, const Onnx__NodeProto *p)
{
    const char *op = p->op_type ? p->op_type : "no operator";
    if (p->name && p->name[0])
        return tn_strf(imp->ctx, "node '%s' (%s)", p->name, op);
    const char *y = p->n_output ? p->output[0] : "";
    return tn_strf(imp->ctx, "node that makes '%s' (%s)", y, op);
}

static void
report_at(onnx_import *imp, const char *node, tnb_status status, const char *fmt, ...)
    TNB_PRINTF(4, 5);

static void
report_at(onnx_import *imp, const char *node, tnb_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(tn_diags(imp->ctx), TNB_ERROR, status,
                (tnb_place){.file = imp->model->file, .node = node}, fmt, ap);
    va_end(ap);
}

/* ---- the order of nodes ---- */

typedef struct sorter {
    onnx_import *imp;
    Onnx__NodeProto *const *nodes;
    tnb_strmap makers; /* value name -> node index + 1 */
    bool *wanted;      /* what an output of the graph needs: other nodes are left out */
    uint8_t *state;    /* 0 new, 1 on the way, 2 placed */
    uint32_t *order, placed;
} sorter;

typedef TNB_VEC(uint32_t) index_list;

static void
add_dep(sorter *s, index_list *deps, const char *name)
{
    uintptr_t maker = (uintptr_t)tnb_strmap_get(&s->makers, name);
    if (maker)
        TNB_PUSH(s->imp->arena, *deps, (uint32_t)(maker - 1));
}

/* The names that a sub-graph and those around it define: no business of the graph that is sorted. */
typedef struct hidden {
    const struct hidden *outer;
    tnb_strmap names;
} hidden;

static bool
is_hidden(const hidden *h, const char *name)
{
    for (; h; h = h->outer)
        if (tnb_strmap_has(&h->names, name))
            return true;
    return false;
}

static void
hide(hidden *h, const char *name)
{
    if (name && name[0])
        tnb_strmap_set(&h->names, name, h);
}

static void
add_node_deps(sorter *s, index_list *deps, const Onnx__NodeProto *p, const hidden *h);

/* Names that a sub-graph uses. The file's nesting is bounded, so is this recursion. */
static void
add_graph_deps(sorter *s, index_list *deps, const Onnx__GraphProto *g, const hidden *outer)
{
    hidden h = {.outer = outer};
    tnb_strmap_init(&h.names, s->imp->arena);
    for (size_t i = 0; i < g->n_input; i++)
        hide(&h, g->input[i]->name);
    for (size_t i = 0; i < g->n_initializer; i++)
        hide(&h, g->initializer[i]->name);
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            hide(&h, g->node[i]->output[k]);
    for (size_t i = 0; i < g->n_node; i++)
        add_node_deps(s, deps, g->node[i], &h);
    for (size_t i = 0; i < g->n_output; i++)
        if (g->output[i]->name && !is_hidden(&h, g->output[i]->name))
            add_dep(s, deps, g->output[i]->name);
}

static void
add_node_deps(sorter *s, index_list *deps, const Onnx__NodeProto *p, const hidden *h)
{
    for (size_t i = 0; i < p->n_input; i++)
        if (p->input[i] && p->input[i][0] && !is_hidden(h, p->input[i]))
            add_dep(s, deps, p->input[i]);
    for (size_t i = 0; i < p->n_attribute; i++)
        if (p->attribute[i]->g)
            add_graph_deps(s, deps, p->attribute[i]->g, h);
}

static bool
find_makers(sorter *s, size_t n)
{
    onnx_import *imp = s->imp;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s->nodes[i]->n_output; k++) {
            const char *y = s->nodes[i]->output[k];
            if (!y || !y[0])
                continue;
            uintptr_t other = (uintptr_t)tnb_strmap_get(&s->makers, y);
            const onnx_value *old = tnb_strmap_get(&imp->scope->values, y);
            if (other || old) {
                report_at(imp, node_text(imp, s->nodes[i]), TNB_FORMAT,
                          "output '%s' exists already", y);
                if (other)
                    tnb_diag_note(tn_diags(imp->ctx), "%s makes it too",
                                  node_text(imp, s->nodes[other - 1]));
                else
                    tnb_diag_note(tn_diags(imp->ctx),
                                  "an input or initializer of the graph has this name");
                return false;
            }
            tnb_strmap_set(&s->makers, y, (void *)(uintptr_t)(i + 1));
        }
    return true;
}

static void
find_wanted(sorter *s, const char *const *outputs, size_t n)
{
    index_list todo = {0};
    for (size_t i = 0; i < n; i++)
        if (outputs[i])
            add_dep(s, &todo, outputs[i]);
    while (todo.n) {
        uint32_t at = todo.at[--todo.n];
        if (!s->wanted[at])
            add_node_deps(s, &todo, s->nodes[at], NULL);
        s->wanted[at] = true;
    }
}

static bool
report_cycle(sorter *s, const index_list *way, uint32_t back)
{
    onnx_import *imp = s->imp;
    uint32_t first = way->n;
    while (first > 0 && way->at[first - 1] != back)
        first--;
    report_at(imp, node_text(imp, s->nodes[back]), TNB_FORMAT,
              "the graph has a cycle: this node needs its own result");
    for (uint32_t i = first; i < way->n && i < first + 8; i++)
        tnb_diag_note(tn_diags(imp->ctx), "it is needed by %s",
                      node_text(imp, s->nodes[way->at[i]]));
    return false;
}

/* Depth first, with a stack of its own, in the file's order: a sorted file stays as it is. */
static bool
place_from(sorter *s, uint32_t start)
{
    tnb_arena *a = s->imp->arena;
    index_list way = {0}, deps = {0}, marks = {0}; /* marks: where each node's dependencies begin */
    if (s->state[start])
        return true;
    TNB_PUSH(a, way, start);
    TNB_PUSH(a, marks, 0);
    s->state[start] = 1;
    add_node_deps(s, &deps, s->nodes[start], NULL);
    while (way.n) {
        if (deps.n == marks.at[marks.n - 1]) {
            uint32_t done = way.at[--way.n];
            marks.n--;
            s->state[done] = 2;
            s->order[s->placed++] = done;
            continue;
        }
        uint32_t next = deps.at[--deps.n];
        if (s->state[next] == 1)
            return report_cycle(s, &way, next);
        if (s->state[next] == 2)
            continue;
        s->state[next] = 1;
        TNB_PUSH(a, way, next);
        TNB_PUSH(a, marks, deps.n);
        add_node_deps(s, &deps, s->nodes[next], NULL);
    }
    return true;
}

/* ---- one node ---- */

static bool
find_inputs(onnx_node *n)
{
    const Onnx__NodeProto *p = n->proto;
    n->in = TNB_NEW_N(n->imp->arena, onnx_value *, p->n_input + 1);
    for (size_t i = 0; i < p->n_input; i++) {
        if (!p->input[i] || !p->input[i][0])
            continue;
        n->in[i] = onnx_find_value(n->imp, p->input[i]);
        if (!n->in[i])
            return onnx_fail(n, TNB_NOT_FOUND,
                             "input %zu, '%s', is made by no node, input or initializer", i,
                             p->input[i]);
        if (n->in[i] == &n->imp->absent)
            n->in[i] = NULL;
    }
    n->n_in = (uint32_t)p->n_input;
    while (n->n_in && !n->in[n->n_in - 1])
        n->n_in--;
    return true;
}

static void
make_outputs(onnx_node *n)
{
    const Onnx__NodeProto *p = n->proto;
    n->out = TNB_NEW_N(n->imp->arena, onnx_value *, p->n_output + 1);
    n->n_out = (uint32_t)p->n_output;
    for (size_t i = 0; i < p->n_output; i++) {
        if (!p->output[i] || !p->output[i][0])
            continue;
        onnx_value *v = n->out[i] = onnx_value_new(n->imp, p->output[i]);
        v->deps = n->in;
        v->n_deps = n->n_in;
        v->producer = p;
        v->maker = n;
        v->shape_only = n->row && n->row->flags & ONNX_OP_SHAPE_ONLY;
    }
    while (n->n_out && !n->out[n->n_out - 1])
        n->n_out--;
}

static bool
counts_ok(onnx_node *n)
{
    const onnx_op *r = n->row;
    if ((int)n->n_in < r->min_in || (r->max_in >= 0 && (int)n->n_in > r->max_in))
        return onnx_fail(n, TNB_INVALID, "the node has %u inputs, expected %d%s", n->n_in,
                         (int)n->n_in < r->min_in ? r->min_in : r->max_in,
                         (int)n->n_in < r->min_in ? " or more" : " or fewer");
    for (int i = 0; i < r->min_in; i++)
        if (!n->in[i])
            return onnx_fail(n, TNB_INVALID, "input %d is left out, but the operator needs it", i);
    if ((int)n->n_out < r->min_out || (r->max_out >= 0 && (int)n->n_out > r->max_out))
        return onnx_fail(n, TNB_INVALID, "the node has %u outputs, expected %d%s", n->n_out,
                         (int)n->n_out < r->min_out ? r->min_out : r->max_out,
                         (int)n->n_out < r->min_out ? " or more" : " or fewer");
    return true;
}

static bool
try_fold(onnx_node *n)
{
    if (!n->row->fold)
        return false;
    for (uint32_t i = 0; i < onnx_folded_inputs(n->row, n->n_in); i++)
        if (n->in[i] && !onnx_known(n, i))
            return false;
    return !n->failed && n->row->fold(n) && !n->failed;
}

static bool
outputs_made(onnx_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        onnx_value *v = n->out[i];
        if (v && !v->expr && !v->has_elems && !v->init)
            return onnx_fail(n, TNB_UNSUPPORTED, "output %u ('%s') is not supported", i, v->name);
        if (v)
            tnb_strmap_set(&n->imp->scope->values, v->name, v);
    }
    return true;
}

/* ---- functions of the model ---- */

const char *
onnx_function_key(onnx_import *imp, const char *domain, const char *name, const char *overload)
{
    return tn_strf(imp->ctx, "%s:%s:%s", onnx_is_default_domain(domain) ? "" : domain,
                   name ? name : "", overload ? overload : "");
}

const Onnx__FunctionProto *
onnx_find_function(onnx_import *imp, const Onnx__NodeProto *p)
{
    return imp->functions.n
               ? tnb_strmap_get(&imp->functions,
                                onnx_function_key(imp, p->domain, p->op_type, p->overload))
               : NULL;
}

int64_t
onnx_function_opset(const onnx_import *imp, const Onnx__FunctionProto *f)
{
    for (size_t i = 0; i < f->n_opset_import; i++)
        if (onnx_is_default_domain(f->opset_import[i]->domain) && f->opset_import[i]->has_version)
            return f->opset_import[i]->version;
    return imp->opset;
}

static bool
call_function(onnx_node *n, const Onnx__FunctionProto *f)
{
    onnx_import *imp = n->imp;
    onnx_scope scope = {.call = n, .function = f};
    if (imp->function_depth == ONNX_MAX_FUNCTION_DEPTH)
        return onnx_fail(n, TNB_BOUNDS, "functions call each other more than %d deep",
                         ONNX_MAX_FUNCTION_DEPTH);
    if (n->n_in > f->n_input || n->n_out > f->n_output)
        return onnx_fail(n, TNB_INVALID,
                         "the node has %u inputs and %u outputs, the function '%s' %zu and %zu",
                         n->n_in, n->n_out, f->name, f->n_input, f->n_output);
    int64_t opset = imp->opset;
    onnx_scope_push(imp, &scope);
    for (uint32_t i = 0; i < f->n_input; i++)
        tnb_strmap_set(&scope.values, f->input[i], onnx_has(n, i) ? n->in[i] : &imp->absent);
    imp->function_depth++;
    imp->opset = onnx_function_opset(imp, f);
    bool ok =
        onnx_import_nodes(imp, f->node, f->n_node, (const char *const *)f->output, f->n_output);
    for (uint32_t i = 0; i < n->n_out && ok; i++) {
        onnx_value *v = tnb_strmap_get(&scope.values, f->output[i]);
        if (v && v != &imp->absent)
            onnx_ret_value(n, i, v);
        else
            ok = onnx_fail(n, TNB_FORMAT, "the function '%s' does not make its output '%s'",
                           f->name, f->output[i]);
    }
    imp->function_depth--;
    imp->opset = opset;
    onnx_scope_pop(imp);
    return ok;
}

static bool
import_node(onnx_import *imp, const Onnx__NodeProto *p)
{
    onnx_node *n = TNB_NEW(imp->arena, onnx_node);
    const Onnx__FunctionProto *f = onnx_find_function(imp, p);
    *n = (onnx_node){.imp = imp,
                     .ctx = imp->ctx,
                     .scope = imp->scope,
                     .proto = p,
                     .op = p->op_type ? p->op_type : "",
                     .version = imp->opset};
    n->text = node_text(imp, p);
    tn_loc outer =
        tn_at(imp->ctx,
              tn_loc_make(imp->ctx, (tnb_place){.file = imp->model->file, .node = n->text}));
    bool other = false;
    n->row = f ? NULL : onnx_find_op(p->domain, n->op, imp->opset, &other);
    uint32_t errors = tnb_diags_errors(tn_diags(imp->ctx));
    bool ok = true;
    if (++imp->n_nodes > MAX_NODES)
        ok = onnx_fail(n, TNB_BOUNDS,
                       "the model has more than %d nodes with functions and loops written out",
                       MAX_NODES);
    else if (!f && !n->row)
        ok = onnx_fail(n, TNB_UNSUPPORTED,
                       "operator '%s' of domain '%s' is not supported in opset %" PRId64, n->op,
                       p->domain && p->domain[0] ? p->domain : "ai.onnx", imp->opset);
    ok = ok && find_inputs(n);
    if (ok)
        make_outputs(n);
    if (ok && f)
        ok = call_function(n, f);
    else if (ok)
        ok = counts_ok(n) && (try_fold(n) || (!n->failed && n->row->import(n) && !n->failed));
    ok = ok && outputs_made(n);
    if (ok && !f)
        onnx_attrs_check(n);
    if (!ok && tnb_diags_errors(tn_diags(imp->ctx)) == errors)
        onnx_fail(n, TNB_INTERNAL, "the node could not be imported");
    tn_at(imp->ctx, outer);
    return ok;
}

bool
onnx_import_nodes(onnx_import *imp, Onnx__NodeProto *const *nodes, size_t n,
                  const char *const *outputs, size_t n_outputs)
{
    sorter s = {.imp = imp, .nodes = nodes};
    tnb_strmap_init(&s.makers, imp->arena);
    s.wanted = TNB_NEW_N(imp->arena, bool, n + 1);
    s.state = TNB_NEW_N(imp->arena, uint8_t, n + 1);
    s.order = TNB_NEW_N(imp->arena, uint32_t, n + 1);
    if (tnb_arena_failed(imp->arena) || !find_makers(&s, n))
        return false;
    find_wanted(&s, outputs, n_outputs);
    for (size_t i = 0; i < n; i++)
        if (s.wanted[i] && !place_from(&s, (uint32_t)i))
            return false;
    for (uint32_t i = 0; i < s.placed; i++)
        if (!import_node(imp, nodes[s.order[i]]) || tnb_arena_failed(imp->arena))
            return false;
    return true;
}

/* ---- graphs ---- */

bool
onnx_import_nodes_of(onnx_import *imp, const Onnx__GraphProto *g)
{
    const char **outputs = TNB_NEW_N(imp->arena, const char *, g->n_output + 1);
    for (size_t i = 0; i < g->n_output; i++)
        outputs[i] = g->output[i]->name;
    return onnx_import_nodes(imp, g->node, g->n_node, outputs, g->n_output);
}

bool
onnx_import_initializers(onnx_import *imp, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__TensorProto *t = g->initializer[i];
        const char *name = t->name ? t->name : "";
        if (!name[0] || tnb_strmap_get(&imp->scope->values, name)) {
            report_at(imp, NULL, TNB_FORMAT,
                      name[0] ? "initializer %zu has the name '%s', which exists already"
                              : "initializer %zu has no name%s",
                      i, name);
            return false;
        }
        onnx_value *v = onnx_value_new(imp, name);
        v->init = t;
        tnb_strmap_set(&imp->scope->values, name, v);
    }
    if (g->n_sparse_initializer) {
        report_at(imp, NULL, TNB_UNSUPPORTED, "sparse initializers are not supported");
        return false;
    }
    return true;
}

bool
onnx_inline_graph(onnx_node *n, const Onnx__GraphProto *g, onnx_value *const *args, uint32_t n_args,
                  onnx_value **outs, uint32_t n_outs)
{
    onnx_import *imp = n->imp;
    onnx_scope *scope = TNB_NEW(imp->arena, onnx_scope);
    if (n_outs > g->n_output || n_args > g->n_input)
        return onnx_fail(n, TNB_INVALID,
                         "the sub-graph '%s' has %zu inputs and %zu outputs, expected %u and %u",
                         g->name ? g->name : "", g->n_input, g->n_output, n_args, n_outs);
    onnx_scope_push(imp, scope);
    for (uint32_t i = 0; i < n_args; i++)
        if (g->input[i]->name)
            tnb_strmap_set(&scope->values, g->input[i]->name, args[i]);
    bool ok = onnx_import_initializers(imp, g) && onnx_import_nodes_of(imp, g);
    for (uint32_t i = 0; i < n_outs && ok; i++) {
        const char *name = g->output[i]->name ? g->output[i]->name : "";
        outs[i] = onnx_find_value(imp, name);
        if (!outs[i] || outs[i] == &imp->absent)
            ok = onnx_fail(n, TNB_FORMAT, "the sub-graph '%s' does not make its output '%s'",
                           g->name ? g->name : "", name);
    }
    onnx_scope_pop(imp);
    n->failed |= !ok;
    return ok;
}
