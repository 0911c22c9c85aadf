/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: If, Loop, Scan.
 *
 * A condition known at compile time picks its branch. Otherwise both branches are computed and the
 * result is selected, which is right because branches have no effects; their results must then have
 * one type. Loops whose count is known are written out.
 */
#include <inttypes.h>
#include "import.h"

enum { MAX_TURNS = 4096 };

static bool
select_branch(onnx_node *n, onnx_value *const *a, onnx_value *const *b)
{
    const tn_expr *cond = onnx_reshape(n, onnx_in(n, 0), NULL, 0);
    for (uint32_t i = 0; i < n->n_out; i++) {
        const tn_expr *x = onnx_value_expr(n, a[i]), *y = onnx_value_expr(n, b[i]);
        tn_list dx, dy;
        if (tn_is_error(x) || tn_is_error(y) || !onnx_dims(n, x, &dx) || !onnx_dims(n, y, &dy))
            return false;
        bool same = dx.n == dy.n && tnb_dtype_eq(onnx_dtype(x), onnx_dtype(y));
        for (uint32_t k = 0; k < dx.n && same; k++)
            same = tn_prove_equal(n->ctx, dx.at[k], dy.at[k]);
        if (!same) {
            onnx_fail(n, TNB_UNSUPPORTED, "the branches give output %u the types %s and %s", i,
                      onnx_type_text(n->imp, x->type), onnx_type_text(n->imp, y->type));
            onnx_hint(n, "make the condition known at compile time");
            return false;
        }
        if (!onnx_ret_at(n, i, onnx_where(n, cond, x, y)))
            return false;
    }
    return true;
}

static bool
import_if(onnx_node *n)
{
    const Onnx__GraphProto *g_then = onnx_attr_graph(n, "then_branch"),
                           *g_else = onnx_attr_graph(n, "else_branch");
    onnx_value **a = TNB_NEW_N(n->imp->arena, onnx_value *, n->n_out + 1),
               **b = TNB_NEW_N(n->imp->arena, onnx_value *, n->n_out + 1);
    int64_t cond;
    if (!g_then || !g_else)
        return false;
    if (!onnx_known(n, 0) || n->in[0]->n_elems != 1 || !tn_int_value(n->in[0]->elems[0], &cond))
        return onnx_inline_graph(n, g_then, NULL, 0, a, n->n_out) &&
               onnx_inline_graph(n, g_else, NULL, 0, b, n->n_out) && select_branch(n, a, b);
    if (!onnx_inline_graph(n, cond ? g_then : g_else, NULL, 0, a, n->n_out))
        return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        onnx_ret_value(n, i, a[i]);
    return true;
}

static onnx_value *
known_int(onnx_node *n, tnb_dtype d, int64_t v)
{
    onnx_value *r = onnx_value_new(n->imp, "");
    const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, 1);
    e[0] = tn_i64(n->ctx, v);
    r->elems = e;
    r->n_elems = 1;
    r->has_elems = true;
    r->dtype = d;
    return r;
}

static onnx_value *
tensor_value(onnx_node *n, const tn_expr *e)
{
    onnx_value *r = onnx_value_new(n->imp, "");
    r->expr = e;
    return r;
}

/* Results of all turns joined along a new axis, in reverse order if wanted. */
static const tn_expr *
stacked(onnx_node *n, const tn_expr **parts, uint32_t count, int64_t axis, bool reverse)
{
    const tn_expr **x = TNB_NEW_N(n->imp->arena, const tn_expr *, count + 1);
    if (!count) {
        onnx_fail(n, TNB_UNSUPPORTED,
                  "the loop makes no turn, so that the type of its collected results is not known");
        return tn_error_node(n->ctx);
    }
    int64_t rank = onnx_rank(n, parts[0]);
    if (rank < 0 || !onnx_axis(n, rank + 1, &axis))
        return tn_error_node(n->ctx);
    for (uint32_t i = 0; i < count; i++)
        x[i] = onnx_unsqueeze(n, parts[reverse ? count - 1 - i : i], &axis, 1);
    return onnx_concat(n, x, count, axis);
}

static bool
loop_count(onnx_node *n, int64_t *count, int64_t *cond)
{
    *count = MAX_TURNS + 1;
    *cond = 1;
    if (onnx_has(n, 0) && !onnx_in_int(n, 0, "the number of turns", count))
        return false;
    return !onnx_has(n, 1) || onnx_in_int(n, 1, "the condition", cond);
}

static bool
import_loop(onnx_node *n)
{
    const Onnx__GraphProto *body = onnx_attr_graph(n, "body");
    int64_t count, cond, turn = 0;
    if (!body || !loop_count(n, &count, &cond))
        return false;
    uint32_t carried = n->n_in > 2 ? n->n_in - 2 : 0, total = (uint32_t)body->n_output;
    if (body->n_input < 2 + (size_t)carried || total < 1 + carried || n->n_out > total - 1)
        return onnx_fail(
            n, TNB_INVALID,
            "the body has %zu inputs and %u outputs, which does not fit %u carried values",
            body->n_input, total, carried);
    uint32_t scans = total - 1 - carried;
    onnx_value **args = TNB_NEW_N(n->imp->arena, onnx_value *, carried + 2);
    const tn_expr ***parts = TNB_NEW_N(n->imp->arena, const tn_expr **, scans + 1);
    for (uint32_t i = 0; i < carried; i++) {
        args[2 + i] = n->in[2 + i];
        if (!args[2 + i])
            return onnx_fail(n, TNB_INVALID, "input %u is left out, but the body needs it", 2 + i);
    }
    for (uint32_t i = 0; i < scans; i++)
        parts[i] = TNB_NEW_N(n->imp->arena, const tn_expr *, MAX_TURNS);
    for (; turn < count && cond; turn++) {
        if (turn == MAX_TURNS)
            return onnx_fail(n, TNB_UNSUPPORTED, "the loop makes more than %d turns", MAX_TURNS);
        onnx_value **outs = TNB_NEW_N(n->imp->arena, onnx_value *, total + 1);
        args[0] = known_int(n, TNB_I64, turn);
        args[1] = known_int(n, TNB_B8, 1);
        if (!onnx_inline_graph(n, body, args, carried + 2, outs, total))
            return false;
        if (!onnx_value_known(n, outs[0]) || outs[0]->n_elems != 1 ||
            !tn_int_value(outs[0]->elems[0], &cond))
            return onnx_fail(n, TNB_UNSUPPORTED, "the loop's condition is known only at run time");
        for (uint32_t i = 0; i < carried; i++)
            args[2 + i] = outs[1 + i];
        for (uint32_t i = 0; i < scans; i++)
            parts[i][turn] = onnx_value_expr(n, outs[1 + carried + i]);
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (i < carried)
            onnx_ret_value(n, i, args[2 + i]);
        else if (n->out[i] &&
                 !onnx_ret_at(n, i, stacked(n, parts[i - carried], (uint32_t)turn, 0, false)))
            return false;
    }
    return true;
}

/* ---- Scan ---- */

typedef struct scan {
    const Onnx__GraphProto *body;
    uint32_t states, inputs, outputs;
    int64_t in_axes[64], in_dirs[64], out_axes[64], out_dirs[64], steps;
} scan;

/* All turns over x[0..inputs): states are updated in place, outs gets the collected results. */
static bool
run_scan(onnx_node *n, scan *s, onnx_value **state, const tn_expr *const *x, const tn_expr **outs)
{
    uint32_t total = s->states + s->outputs;
    const tn_expr ***parts = TNB_NEW_N(n->imp->arena, const tn_expr **, s->outputs + 1);
    onnx_value **args = TNB_NEW_N(n->imp->arena, onnx_value *, s->states + s->inputs + 1);
    for (uint32_t i = 0; i < s->outputs; i++)
        parts[i] = TNB_NEW_N(n->imp->arena, const tn_expr *, (size_t)s->steps + 1);
    for (int64_t t = 0; t < s->steps; t++) {
        onnx_value **got = TNB_NEW_N(n->imp->arena, onnx_value *, total + 1);
        for (uint32_t i = 0; i < s->states; i++)
            args[i] = state[i];
        for (uint32_t i = 0; i < s->inputs; i++) {
            int64_t at = s->in_dirs[i] ? s->steps - 1 - t : t, axis = s->in_axes[i];
            const tn_expr *slice = onnx_slice_ints(n, x[i], axis, at, at + 1);
            args[s->states + i] = tensor_value(n, onnx_squeeze(n, slice, &axis, 1));
        }
        if (n->failed || !onnx_inline_graph(n, s->body, args, s->states + s->inputs, got, total))
            return false;
        for (uint32_t i = 0; i < s->states; i++)
            state[i] = got[i];
        for (uint32_t i = 0; i < s->outputs; i++)
            parts[i][t] = onnx_value_expr(n, got[s->states + i]);
    }
    for (uint32_t i = 0; i < s->outputs; i++)
        outs[i] = stacked(n, parts[i], (uint32_t)s->steps, s->out_axes[i], s->out_dirs[i] != 0);
    return !n->failed;
}

static bool
scan_list(onnx_node *n, const char *name, int64_t *out, uint32_t want)
{
    int have = onnx_attr_ints(n, name, out, 64);
    if (have >= 0 && (uint32_t)have != want)
        return onnx_fail(n, TNB_INVALID, "attribute '%s' has %d entries, wanted %u", name, have,
                         want);
    return !n->failed;
}

static bool
read_scan(onnx_node *n, scan *s, uint32_t first)
{
    s->body = onnx_attr_graph(n, "body");
    int64_t inputs = onnx_attr_int(n, "num_scan_inputs", 0),
            available = (int64_t)n->n_in - (int64_t)first;
    if (!s->body)
        return false;
    if (inputs < 1 || inputs > 64 || inputs > available)
        return onnx_fail(n, TNB_INVALID,
                         "attribute 'num_scan_inputs' is %" PRId64 ", but the node has %" PRId64
                         " inputs",
                         inputs, available);
    s->inputs = (uint32_t)inputs;
    s->states = (uint32_t)available - s->inputs;
    if (s->body->n_output < s->states || s->body->n_output - s->states > 64 ||
        s->body->n_input != s->states + s->inputs)
        return onnx_fail(
            n, TNB_INVALID,
            "the body has %zu inputs and %zu outputs, wanted %u inputs and at least %u outputs",
            s->body->n_input, s->body->n_output, s->states + s->inputs, s->states);
    s->outputs = (uint32_t)s->body->n_output - s->states;
    return scan_list(n, n->version < 9 ? "directions" : "scan_input_directions", s->in_dirs,
                     s->inputs) &&
           scan_list(n, "scan_input_axes", s->in_axes, s->inputs) &&
           scan_list(n, "scan_output_axes", s->out_axes, s->outputs) &&
           scan_list(n, "scan_output_directions", s->out_dirs, s->outputs);
}

static bool
scan_steps(onnx_node *n, scan *s, const tn_expr *x, int64_t axis)
{
    s->steps = onnx_dim(x, axis);
    if (s->steps >= 0 && s->steps <= MAX_TURNS)
        return true;
    onnx_fail(n, TNB_UNSUPPORTED, "the number of steps is not a number up to %d", MAX_TURNS);
    onnx_hint(n, "fix the dynamic dimension: --dim NAME=VALUE");
    return false;
}

static bool
import_scan(onnx_node *n)
{
    scan s = {0};
    const tn_expr *x[64], *outs[64];
    if (!read_scan(n, &s, 0))
        return false;
    onnx_value **state = TNB_NEW_N(n->imp->arena, onnx_value *, s.states + 1);
    for (uint32_t i = 0; i < s.states; i++)
        if (!(state[i] = n->in[i]))
            return onnx_fail(n, TNB_INVALID, "input %u is left out, but the body needs it", i);
    for (uint32_t i = 0; i < s.inputs; i++) {
        x[i] = onnx_in(n, s.states + i);
        if (!onnx_axis(n, onnx_rank(n, x[i]), &s.in_axes[i]))
            return false;
    }
    if (!scan_steps(n, &s, x[0], s.in_axes[0]) || !run_scan(n, &s, state, x, outs))
        return false;
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (i < s.states)
            onnx_ret_value(n, i, state[i]);
        else if (i - s.states < s.outputs && n->out[i] && !onnx_ret_at(n, i, outs[i - s.states]))
            return false;
    }
    return true;
}

/* Opset 8: a batch axis in front of everything, and optional lengths. */
static bool
import_scan_8(onnx_node *n)
{
    scan s = {0};
    const tn_expr *x[64], *outs[64];
    int64_t zero = 0;
    if (!read_scan(n, &s, 1))
        return false;
    if (onnx_has(n, 0))
        return onnx_fail(n, TNB_UNSUPPORTED, "sequence lengths of Scan are not supported");
    int64_t batch = onnx_dim(onnx_in(n, 1), 0);
    if (n->failed || batch < 1 || batch > MAX_TURNS)
        return n->failed
                   ? false
                   : onnx_fail(n, TNB_UNSUPPORTED, "the batch is not a number up to %d", MAX_TURNS);
    const tn_expr ***all = TNB_NEW_N(n->imp->arena, const tn_expr **, s.states + s.outputs + 1);
    for (uint32_t i = 0; i < s.states + s.outputs; i++)
        all[i] = TNB_NEW_N(n->imp->arena, const tn_expr *, (size_t)batch);
    for (int64_t b = 0; b < batch; b++) {
        onnx_value **state = TNB_NEW_N(n->imp->arena, onnx_value *, s.states + 1);
        for (uint32_t i = 0; i < s.states + s.inputs; i++) {
            const tn_expr *one =
                onnx_squeeze(n, onnx_slice_ints(n, onnx_in(n, 1 + i), 0, b, b + 1), &zero, 1);
            if (i < s.states)
                state[i] = tensor_value(n, one);
            else
                x[i - s.states] = one;
        }
        if (n->failed || !scan_steps(n, &s, x[0], 0) || !run_scan(n, &s, state, x, outs))
            return false;
        for (uint32_t i = 0; i < s.states; i++)
            all[i][b] = onnx_value_expr(n, state[i]);
        for (uint32_t i = 0; i < s.outputs; i++)
            all[s.states + i][b] = outs[i];
    }
    for (uint32_t i = 0; i < n->n_out && i < s.states + s.outputs; i++)
        if (n->out[i] && !onnx_ret_at(n, i, stacked(n, all[i], (uint32_t)batch, 0, false)))
            return false;
    return true;
}

const onnx_op onnx_control_ops[] = {
    {"If", 1, 0, 1, 1, 1, -1, import_if, NULL, 0, NULL},
    {"Loop", 1, 0, 0, -1, 1, -1, import_loop, NULL, 0, NULL},
    {"Scan", 8, 8, 0, -1, 1, -1, import_scan_8, NULL, 0, NULL},
    {"Scan", 9, 0, 1, -1, 1, -1, import_scan, NULL, 0, NULL},
    {0},
};
