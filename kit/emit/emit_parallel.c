/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that a team of threads shares: the body becomes a function of its own, which one thread
 * calls for all turns, or each thread of the team for some of them.
 *
 *     for i in T.parallel(n): ...   =>   static void tk_part0_f(float *restrict A, from, to,
 * thread) if (tk_threads > 1 && enough work) env->team(env, tk_call0_f, &(args){A}, 0, n); else tk_part0_f(A, 0,
 * n, 0);
 *
 * Below so much work a team does not pay (emit_cost.c), and a loop of little work is not worth all threads of a large one. The annotation tenon.parallel_from of the loop says from how many turns on a team pays.
 * So a kernel on one thread has nothing to do with others, and pointers are restricted as
 * parameters are, which compilers heed more than they do for variables.
 */
#include "emit_private.h"

void
tnk_declare(tnk_emitter *e, const char *type, const char *name)
{
    tnk_declared d = {type, name};
    TNB_PUSH(tn_scratch(e->ctx), e->scope, d);
}

static bool
in_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool
mentions(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = strstr(text, name); p; p = strstr(p + 1, name))
        if ((p == text || !in_identifier(p[-1])) && !in_identifier(p[n]))
            return true;
    return false;
}

void
tnk_part_begin(tnk_emitter *e, tnk_part *p)
{
    *p = (tnk_part){.out = e->out, .indent = e->indent, .scope = e->scope.n};
    e->out = &p->text;
    e->indent = 1;
}

static void
begin_line(tnk_emitter *e)
{
    for (int i = 0; i < e->indent; i++)
        tnb_buf_puts(e->out, "    ");
}

void
tnk_part_end(tnk_emitter *e, tnk_part *p, const tn_for_loop *f, tnk_cost cost)
{
    const char *type = tnk_c_type(e, tn_dtype_of(f->var));
    const char *stem = tn_strf(e->ctx, "%u_%s", e->n_parts++, e->kernel->name);
    bool checks = e->n_checks && p->text.s && mentions(p->text.s, "tk_bad");
    if (checks)
        tnb_buf_puts(&p->text, "    if (tk_bad.state)\n        tk_refuse(env, &tk_bad);\n");
    const char *text = p->text.s ? p->text.s : "";
    tnb_buf params = {0}, fields = {0}, values = {0}, given = {0}, *out = p->out;
    e->out = out;
    e->indent = p->indent;
    e->scope.n = p->scope;
    for (uint32_t i = 0; i < e->scope.n; i++) {
        const tnk_declared *d = &e->scope.at[i];
        if (!mentions(text, d->name))
            continue;
        tnb_buf_printf(&params, "%s%s, ", d->type, d->name);
        tnb_buf_printf(&fields, "    %s%s;\n", d->type, d->name);
        tnb_buf_printf(&values, "%s, ", d->name);
        tnb_buf_printf(&given, "a->%s, ", d->name);
    }
    if (!params.n) /* a structure is not empty */
        tnb_buf_puts(&fields, "    int unused;\n");
    tnb_buf_printf(&e->parts,
                   "static __attribute__((noinline)) void\n"
                   "tk_part%s(%sconst %s tk_from, const %s tk_to, const int32_t tk_thread)\n"
                   "{\n    (void)tk_thread;\n",
                   stem, params.s ? params.s : "", type, type);
    if (checks)
        tnb_buf_puts(&e->parts, "    tnb_kernel_refusal tk_bad = {0};\n");
    tnb_buf_puts(&e->parts, text);
    tnb_buf_printf(&e->parts, "}\nstruct tk_args%s {\n%s};\n", stem, fields.s);
    tnb_buf_printf(&e->parts,
                   "static void\ntk_call%s(void *p, int64_t from, int64_t to, int32_t thread)\n"
                   "{\n    const struct tk_args%s *a = p;\n    (void)a;\n"
                   "    tk_part%s(%s(%s)from, (%s)to, thread);\n}\n\n",
                   stem, stem, stem, given.s ? given.s : "", type, type);
    const char *v = values.s ? values.s : "";
    begin_line(e);
    if (cost.text) {
        tnb_buf_printf(out, "const double tk_cost%s = %s;\n", stem, cost.text);
        begin_line(e);
    }
    tnb_buf_puts(out, "if (tk_threads > 1");
    if (cost.text)
        tnb_buf_printf(out, " && tk_cost%s >= %d", stem, TNK_TEAM_NS);
    int64_t from = tn_dict_int(f->annotations, "tenon.parallel_from", 0);
    if (from > 0) {
        tnb_buf_puts(out, " && ");
        tnk_emit_expr(e, f->extent);
        tnb_buf_printf(out, " >= %lld", (long long)from);
    }
    tnb_buf_puts(out, ") {\n");
    e->indent++;
    begin_line(e);
    tnb_buf_printf(out, "struct tk_args%s tk_args = {%s};\n", stem, *v ? v : "0");
    begin_line(e);
    if (cost.text)
        tnb_buf_printf(out, "env->worth = tk_cost%s < 1e9 ? (int32_t)(tk_cost%s / %d) : 0;\n", stem,
                       stem, TNK_TEAM_NS / 2);
    else
        tnb_buf_printf(out, "env->worth = %d;\n", tnk_cost_threads(cost.ns));
    begin_line(e);
    tnb_buf_printf(out, "env->team(env, tk_call%s, &tk_args, ", stem);
    tnk_emit_expr(e, f->min);
    tnb_buf_puts(out, ", ");
    tnk_emit_expr(e, f->extent);
    tnb_buf_puts(out, ");\n");
    e->indent--;
    begin_line(e);
    tnb_buf_puts(out, "} else {\n");
    e->indent++;
    begin_line(e);
    tnb_buf_printf(out, "tk_part%s(%s", stem, v);
    tnk_emit_expr(e, f->min);
    tnb_buf_puts(out, ", ");
    tnk_emit_expr(e, tn_add(e->ctx, f->min, f->extent));
    tnb_buf_puts(out, ", 0);\n");
    e->indent--;
    begin_line(e);
    tnb_buf_puts(out, "}\n");
    tnb_buf_free(&params);
    tnb_buf_free(&fields);
    tnb_buf_free(&values);
    tnb_buf_free(&given);
    tnb_buf_free(&p->text);
}
