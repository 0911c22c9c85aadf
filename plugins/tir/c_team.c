/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that a team of threads shares: the body becomes a function of its own, which one thread
 * calls for all turns, or each thread of the team for some of them.
 *
 *     for i in T.parallel(n): ...   =>   static void tk_part0_f(float *restrict A, from, to,
 * thread) if (tk_threads > 1 && enough work) env->team(env, tk_call0_f, &(args){A}, 0, n); else tk_part0_f(A, 0,
 * n, 0);
 *
 * Below so much work a team does not pay (c_cost.c), and a loop of little work is not worth all threads of a large one. The annotation
 * tenon.parallel_from of the loop says from how many turns on a team pays.
 * So a kernel on one thread has nothing to do with others, and pointers are restricted as
 * parameters are, which compilers heed more than they do for variables.
 */
#include "c.h"

static void
write_parts(tnk_emitter *e, const char *text, const char *stem, const char *type,
            const bool *captured, bool checks)
{
    tnb_buf params = {0}, fields = {0}, given = {0}, *parts = &e->before;
    for (uint32_t i = 0; i < e->scope.n; i++) {
        const tnk_declared *d = &e->scope.at[i];
        if (!captured[i])
            continue;
        tnb_buf_printf(&params, "%s%s, ", d->type, d->name);
        tnb_buf_printf(&fields, "    %s%s;\n", d->type, d->name);
        tnb_buf_printf(&given, "a->%s, ", d->name);
    }
    if (!params.n) /* a structure is not empty */
        tnb_buf_puts(&fields, "    int unused;\n");
    tnb_buf_printf(parts,
                   "static __attribute__((noinline)) void\n"
                   "tk_part%s(%sconst %s tk_from, const %s tk_to, const int32_t tk_thread)\n"
                   "{\n    (void)tk_thread;\n",
                   stem, params.s ? params.s : "", type, type);
    if (checks)
        tnb_buf_puts(parts, "    tnb_kernel_refusal tk_bad = {0};\n");
    tnb_buf_puts(parts, text);
    if (checks)
        tnb_buf_puts(parts, "    if (tk_bad.state)\n        tk_refuse(env, &tk_bad);\n");
    tnb_buf_printf(parts, "}\nstruct tk_args%s {\n%s};\n", stem, fields.s);
    tnb_buf_printf(parts,
                   "static void\ntk_call%s(void *p, int64_t from, int64_t to, int32_t thread)\n"
                   "{\n    const struct tk_args%s *a = p;\n    (void)a;\n"
                   "    tk_part%s(%s(%s)from, (%s)to, thread);\n}\n\n",
                   stem, stem, stem, given.s ? given.s : "", type, type);
    tnb_buf_free(&params);
    tnb_buf_free(&fields);
    tnb_buf_free(&given);
}

/* What stands in the loop's place: the calls. */
static void
write_calls(tnk_emitter *e, const tn_for_loop *f, const char *stem, c_cost cost,
            const bool *captured)
{
    tnb_buf values = {0}, *out = e->out;
    for (uint32_t i = 0; i < e->scope.n; i++)
        if (captured[i])
            tnb_buf_printf(&values, "%s, ", e->scope.at[i].name);
    const char *v = values.s ? values.s : "";
    tnk_emit_line(e);
    if (cost.text) {
        tnb_buf_printf(out, "const double tk_cost%s = %s;\n", stem, cost.text);
        tnk_emit_line(e);
    }
    tnb_buf_puts(out, "if (tk_threads > 1");
    if (cost.text)
        tnb_buf_printf(out, " && tk_cost%s >= %d", stem, C_TEAM_NS);
    int64_t from = tn_dict_int(f->annotations, "tenon.parallel_from", 0);
    if (from > 0) {
        tnb_buf_puts(out, " && ");
        tnk_emit_expr(e, f->extent);
        tnb_buf_printf(out, " >= %lld", (long long)from);
    }
    tnb_buf_puts(out, ") {\n");
    e->indent++;
    tnk_emit_line(e);
    tnb_buf_printf(out, "struct tk_args%s tk_args = {%s};\n", stem, *v ? v : "0");
    tnk_emit_line(e);
    if (cost.text)
        tnb_buf_printf(out, "env->worth = tk_cost%s < 1e9 ? (int32_t)(tk_cost%s / %d) : 0;\n", stem,
                       stem, C_TEAM_NS / 2);
    else
        tnb_buf_printf(out, "env->worth = %d;\n", c_cost_threads(cost.ns));
    tnk_emit_line(e);
    tnb_buf_printf(out, "env->team(env, tk_call%s, &tk_args, ", stem);
    tnk_emit_expr(e, f->min);
    tnb_buf_puts(out, ", ");
    tnk_emit_expr(e, f->extent);
    tnb_buf_puts(out, ");\n");
    e->indent--;
    tnk_emit_line(e);
    tnb_buf_puts(out, "} else {\n");
    e->indent++;
    tnk_emit_line(e);
    tnb_buf_printf(out, "tk_part%s(%s", stem, v);
    tnk_emit_expr(e, f->min);
    tnb_buf_puts(out, ", ");
    tnk_emit_expr(e, tn_add(e->ctx, f->min, f->extent));
    tnb_buf_puts(out, ", 0);\n");
    e->indent--;
    tnk_emit_line(e);
    tnb_buf_puts(out, "}\n");
    tnb_buf_free(&values);
}

bool
c_parallel(tnk_emitter *e, const tn_for_loop *f)
{
    c_cost cost = c_cost_of(e, TN_NODE(f));
    c_kernel *k = c_kernel_of(e);
    uint32_t fetched = k->fetched.n;
    if (!cost.text && cost.ns < C_TEAM_NS) {
        c_turns(e, f, NULL, NULL);
        return true;
    }
    const char *type = tnk_c_type(e, tn_dtype_of(f->var));
    tnb_buf text = {0}, *out = e->out;
    int indent = e->indent;
    bool checks;
    e->out = &text;
    e->indent = 1;
    c_turns(e, f, "tk_from", "tk_to");
    k->fetched.n = fetched; /* by whoever runs the part */
    e->out = out;
    e->indent = indent;
    const char *stem = tn_strf(e->ctx, "%u_%s", k->n_parts++, e->kernel->name);
    const bool *captured = tnk_captured(e, f, &checks);
    write_parts(e, text.s ? text.s : "", stem, type, captured, checks);
    write_calls(e, f, stem, cost, captured);
    tnb_buf_free(&text);
    return true;
}
