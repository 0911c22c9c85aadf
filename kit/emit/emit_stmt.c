/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and whole kernels of emitted source. */
#include "../lower/lower.h"
#include "emit_private.h"

static void
stmt(tnk_emitter *e, const tn_stmt *s)
{
    tnk_emit_stmt(e, s);
}

static void
line(tnk_emitter *e)
{
    tnk_emit_line(e);
}

static void
text(tnk_emitter *e, const char *s)
{
    line(e);
    tnb_buf_puts(e->out, s);
}

/* "(CONDITION)": the parentheses of the expression itself serve. */
static void
condition(tnk_emitter *e, const tn_expr *x)
{
    size_t from = e->out->n;
    tnk_emit_expr(e, x);
    const char *t = e->out->s ? e->out->s + from : "";
    size_t n = e->out->n - from;
    int depth = 0;
    bool own = n > 1 && t[0] == '(';
    for (size_t i = 0; i + 1 < n && own; i++) {
        depth += t[i] == '(' ? 1 : t[i] == ')' ? -1 : 0;
        own = depth > 0;
    }
    if (own)
        return;
    char *copy = tnb_strndup(tn_scratch(e->ctx), t, n);
    e->out->n = from;
    tnb_buf_printf(e->out, "(%s)", copy);
}

static void
block(tnk_emitter *e, const tn_stmt *s)
{
    e->indent++;
    stmt(e, s);
    e->indent--;
}

static tn_walk_step
find_barrier(void *user, const tn_node *n)
{
    *(bool *)user |= n->kind == TN_KIND_CALL &&
                     (tn_is_intrin(n, TN_INTRIN_tvm_storage_sync) || tnk_is_warp_call(n));
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

/* Behind a loop in which threads meet, one more time. Compilers that run the threads of a block as loops (PoCL's does) lose
 * threads of
 *
 *     for (...) { barrier; ...; if (t < 5) A; }   if (t < 5) B;
 *
 * once A and B are joined in one branch, which then leaves the loop in two ways. */
static void
meet_behind(tnk_emitter *e, const tn_stmt *body)
{
    bool meet = false;
    if (e->d->meet_behind_loops && e->barrier)
        tn_walk(body, 0, find_barrier, NULL, &meet);
    if (!meet)
        return;
    line(e);
    tnb_buf_printf(e->out, "%s\n", e->barrier);
}

/* A loop that is bound to a thread index: its variable is that index. */
static void
bound_loop(tnk_emitter *e, const tn_for_loop *f)
{
    const char *tag =
        e->d->thread ? TNK_HOOK(e->src, "thread", e->d->thread(e, f->thread_tag)) : NULL;
    for (const char *const *t = e->d->threads; t && *t; t += 2)
        if (!tag && !strcmp(t[0], f->thread_tag))
            tag = t[1];
    if (!tag) {
        tnk_emit_fail(e, f->base.loc, "a loop is bound to '%s', which %s source does not have",
                      f->thread_tag, e->d->base.name);
        tnb_diag_hint(tn_diags(e->ctx),
                      "the pair {\"%s\", TEXT} in tnk_dialect.threads, or the hook `thread`, says "
                      "what it is called",
                      f->thread_tag);
        return;
    }
    line(e);
    tnb_buf_printf(e->out, "{\n");
    e->indent++;
    line(e);
    tnb_buf_printf(e->out, "const %s %s = %s", tnk_c_type(e, tn_dtype_of(f->var)),
                   tnk_name_of(e, f->var), tag);
    if (!tn_is_int_const(f->min, 0)) {
        tnb_buf_puts(e->out, " + ");
        tnk_emit_expr(e, f->min);
    }
    tnb_buf_puts(e->out, ";\n");
    stmt(e, f->body);
    e->indent--;
    text(e, "}\n");
}

void
tnk_emit_loop(tnk_emitter *e, const tn_for_loop *f, const char *from, const char *to)
{
    const char *v = tnk_name_of(e, f->var), *t = tnk_c_type(e, tn_dtype_of(f->var));
    uint32_t scope = e->scope.n;
    line(e);
    tnb_buf_printf(e->out, "for (%s %s = ", t, v);
    if (from)
        tnb_buf_puts(e->out, from);
    else
        tnk_emit_expr(e, f->min);
    tnb_buf_printf(e->out, "; %s < ", v);
    if (to)
        tnb_buf_puts(e->out, to);
    else
        tnk_emit_expr(e, tn_add(e->ctx, f->min, f->extent));
    tnb_buf_printf(e->out, "; %s++) {\n", v);
    tnk_emit_declare(e, tn_strf(e->ctx, "const %s ", t), v, f->var);
    block(e, f->body);
    text(e, "}\n");
    e->scope.n = scope;
    meet_behind(e, f->body);
}

static void
for_stmt(tnk_emitter *e, const tn_for_loop *f)
{
    if (f->for_kind == TN_FOR_THREAD_BINDING) {
        bound_loop(e, f);
        return;
    }
    bool parallel = f->for_kind == TN_FOR_PARALLEL && e->d->parallel && !e->in_parallel;
    e->in_parallel |= parallel;
    if (!parallel || !TNK_HOOK(e->src, "parallel", e->d->parallel(e, f)))
        tnk_emit_loop(e, f, NULL, NULL);
    if (parallel)
        e->in_parallel = false;
}

static void
if_stmt(tnk_emitter *e, const tn_if_stmt *i)
{
    text(e, "if ");
    condition(e, i->cond);
    tnb_buf_puts(e->out, " {\n");
    block(e, i->then_case);
    if (i->else_case) {
        text(e, "} else {\n");
        block(e, i->else_case);
    }
    text(e, "}\n");
}

/* Declares a temporary at the place of its allocation. */
static void
alloc(tnk_emitter *e, const tn_node *buffer)
{
    const tnk_memory *m = tnb_ptrmap_get(&e->memory, tn_as_buffer(buffer)->data);
    if (!m)
        return;
    if (m->promoted) {
        tnb_dtype v = m->elem;
        v.lanes = (uint16_t)m->lanes;
        line(e);
        tnb_buf_printf(e->out, "%s ", tnk_c_type(e, v));
        int64_t n = (m->count + m->lanes - 1) / m->lanes;
        for (int64_t i = 0; i < n; i++) {
            const char *name = tn_strf(e->ctx, "%s_%lld", m->name, (long long)i);
            tnb_buf_printf(e->out, "%s%s", i ? ", " : "", name);
            tnk_emit_declare(e, tn_strf(e->ctx, "const %s ", tnk_c_type(e, v)), name,
                             tn_as_buffer(buffer)->data);
        }
        tnb_buf_puts(e->out, ";\n");
        return;
    }
    if (m->count == -3)
        return; /* declared with the workspace */
    if (tnk_is_shared(buffer))
        return; /* declared in front of the kernel's statements */
    line(e);
    if (m->count >= 0) /* on the stack */
        tnb_buf_printf(e->out, "%s%s %s[%lld]%s;\n", tnk_or_none(e->d->local),
                       tnk_c_type(e, m->elem), m->name, (long long)(m->count ? m->count : 1),
                       e->d->gnu_vectors ? " __attribute__((aligned(64)))" : "");
    else /* one share a thread */
        tnb_buf_printf(e->out, "%s *%s %s = tk_ws_%s + tk_size_%s * (size_t)tk_thread;\n",
                       tnk_c_type(e, m->elem), tnk_or_none(e->d->restrict_), m->name, m->name,
                       m->name);
    tnk_emit_declare(e,
                     tn_strf(e->ctx, "%s *%s ", tnk_c_type(e, m->elem),
                             tnk_or_none(e->d->restrict_)),
                     m->name, tn_as_buffer(buffer)->data);
}

static void
evaluate(tnk_emitter *e, const tn_evaluate *v)
{
    if (tn_is(v->value, TN_KIND_INT_IMM) || tn_is_intrin(v->value, TN_INTRIN_assume))
        return;
    if (tn_is_intrin(v->value, TN_INTRIN_tvm_storage_sync) && e->barrier) {
        const tn_call *c = tn_as_call(v->value);
        const tn_string_imm *scope = c->args.n ? tn_as_string_imm(c->args.at[0]) : NULL;
        bool warp = scope && !strcmp(scope->value, "warp") && e->d->warp_barrier;
        line(e);
        tnb_buf_printf(e->out, "%s\n", warp ? e->d->warp_barrier : e->barrier);
        return;
    }
    if (tn_is_intrin(v->value, TN_INTRIN_prefetch)) /* advice, which hooks may follow */
        return;
    if (tn_is_intrin(v->value, TN_INTRIN_tvm_storage_sync)) {
        tnk_emit_fail(e, v->base.loc, "threads meet at a barrier, which %s source does not have",
                      e->d->base.name);
        tnb_diag_hint(tn_diags(e->ctx),
                      "tnk_dialect.barrier is the statement that it is written as");
        return;
    }
    text(e, "(void)");
    tnk_emit_expr(e, v->value);
    tnb_buf_puts(e->out, ";\n");
}

/* The names in imported source that '(' follows: functions that it defines, declares or calls, so that
 * all of them are declared. What stands in comments and texts counts too: a call without its
 * declaration is an error of the compiler. */
static void
collect_functions(tnk_emitter *e, const char *c)
{
    while (*c) {
        size_t n = strspn(c, "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        const char *after = c + n + strspn(c + n, " \t\r\n");
        if (n && *after == '(')
            tnb_strmap_set(&e->src->imported, tn_strf(e->ctx, "%.*s", (int)n, c),
                           (void *)(uintptr_t)1);
        c += n ? n : 1;
    }
}

/* Source that the statement's calls need, in the dialect's language: the attribute pragma_import_LANGUAGE
 * with its text. It stands in front of the kernels, once. */
static void
import_source(tnk_emitter *e, const tn_attr_stmt *a)
{
    const tn_string_imm *text = tn_as_string_imm(a->value);
    const char *language = e->d->language ? e->d->language : e->d->base.name;
    if (!text || strncmp(a->key, "pragma_import_", 14) || strcmp(a->key + 14, language))
        return;
    if (!tnk_once(e, text->value))
        return;
    tnb_buf_printf(&e->src->helpers, "%s\n", text->value);
    collect_functions(e, text->value);
}

static tn_walk_step
find_store(void *user, const tn_node *n)
{
    *(bool *)user |= n->kind == TN_KIND_BUFFER_STORE;
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

/* The hook says that it wrote the statement, and nothing is there: an error where the kernel then lacks a store. */
static void
wrote_nothing(tnk_emitter *e, const tn_stmt *s)
{
    bool stores = false;
    tn_walk(s, TN_WALK_ONCE, find_store, NULL, &stores);
    if (!stores)
        return;
    tnk_emit_fail(
        e, s->loc,
        "the hook `stmt` of dialect '%s' says that it wrote a statement, but wrote nothing "
        "(%s)",
        e->d->base.name, tn_kinds[s->kind].name);
    tnb_diag_hint(tn_diags(e->ctx), "it returns false where the usual form is to be written");
}

void
tnk_emit_stmt(tnk_emitter *e, const tn_stmt *s)
{
    if (!s || e->failed)
        return;
    size_t before = e->out->n, helpers = e->src->helpers.n;
    if (!e->d->stmt || !TNK_HOOK(e->src, "stmt", e->d->stmt(e, s)))
        tnk_emit_plain_stmt(e, s);
    else if (e->out->n == before && e->src->helpers.n == helpers)
        wrote_nothing(e, s);
}

void
tnk_emit_plain_stmt(tnk_emitter *e, const tn_stmt *s)
{
    switch (s->kind) {
    case TN_KIND_SEQ: {
        const tn_seq *q = (const tn_seq *)s;
        for (uint32_t i = 0; i < q->stmts.n; i++)
            stmt(e, q->stmts.at[i]);
        return;
    }
    case TN_KIND_FOR:
        for_stmt(e, (const tn_for_loop *)s);
        return;
    case TN_KIND_IF_STMT:
        if_stmt(e, (const tn_if_stmt *)s);
        return;
    case TN_KIND_BUFFER_STORE:
        line(e);
        tnk_emit_store(e, (const tn_buffer_store *)s);
        return;
    case TN_KIND_BIND: {
        const tn_bind *b = (const tn_bind *)s;
        tnb_dtype d = tnk_compute_dtype(tn_dtype_of(b->var));
        tnk_note_data(e, b->var, b->value);
        line(e);
        tnb_buf_printf(e->out, "const %s %s = ", tnk_c_type(e, d), tnk_name_of(e, b->var));
        tnk_emit_expr(e, b->value);
        tnb_buf_puts(e->out, ";\n");
        tnk_emit_declare(e, tn_strf(e->ctx, "const %s ", tnk_c_type(e, d)), tnk_name_of(e, b->var),
                         b->var);
        return;
    }
    case TN_KIND_ALLOC_BUFFER:
        alloc(e, ((const tn_alloc_buffer *)s)->buffer);
        return;
    case TN_KIND_DECL_BUFFER:
        return;
    case TN_KIND_ATTR_STMT:
        import_source(e, (const tn_attr_stmt *)s);
        stmt(e, ((const tn_attr_stmt *)s)->body);
        return;
    case TN_KIND_ASSERT:
        e->asserts++;
        if (e->in_parallel || e->d->calling != TNK_CALL_HOST_TABLE)
            return; /* a parallel loop cannot be left */
        text(e, "if (!");
        tnb_buf_puts(e->out, "(");
        tnk_emit_expr(e, ((const tn_assert_stmt *)s)->cond);
        tnb_buf_printf(e->out, "))\n");
        e->indent++;
        line(e);
        tnb_buf_printf(e->out, "return %u;\n", e->asserts);
        e->indent--;
        return;
    case TN_KIND_EVALUATE:
        evaluate(e, (const tn_evaluate *)s);
        return;
    case TN_KIND_WHILE:
        text(e, "while ");
        condition(e, ((const tn_while_loop *)s)->cond);
        tnb_buf_puts(e->out, " {\n");
        block(e, ((const tn_while_loop *)s)->body);
        text(e, "}\n");
        meet_behind(e, ((const tn_while_loop *)s)->body);
        return;
    case TN_KIND_BREAK:
        text(e, "break;\n");
        return;
    case TN_KIND_CONTINUE:
        text(e, "continue;\n");
        return;
    default:
        tnk_emit_fail(e, s->loc, "a statement of kind %s has no form in source",
                      tn_kinds[s->kind].name);
    }
}

/* ---- kernels ---- */

/* Memory that the host provides, asked for once, before any parallel region. */
static void
workspaces(tnk_emitter *e, tnk_temporaries *t)
{
    for (uint32_t i = 0; i < t->v.n; i++) {
        tnk_temporary *x = &t->v.at[i];
        if (!x->workspace)
            continue;
        const char *n = x->memory->name, *c = tnk_c_type(e, x->memory->elem);
        e->src->workspaces++;
        if (e->d->calling != TNK_CALL_HOST_TABLE) {
            tnk_emit_fail(e, 0, "the temporary '%s' is too large for %s source", n,
                          e->d->base.name);
            return;
        }
        line(e);
        tnb_buf_printf(e->out, "const size_t tk_size_%s = ((size_t)(", n);
        tnk_emit_expr(e, x->size);
        tnb_buf_printf(e->out, ") + 15) / 16 * 16;\n");
        const tn_node *data = tn_as_buffer(x->buffer)->data;
        tnk_emit_declare(e, "const size_t ", tn_strf(e->ctx, "tk_size_%s", n),
                         x->per_thread ? data : NULL);
        line(e);
        if (x->per_thread) {
            tnk_emit_declare(e, tn_strf(e->ctx, "%s *", c), tn_strf(e->ctx, "tk_ws_%s", n), data);
            x->memory->count = -2;
            tnb_buf_printf(e->out,
                           "%s *tk_ws_%s = env->workspace(env, tk_size_%s * sizeof(%s) * "
                           "(size_t)tk_threads);\n",
                           c, n, n, c);
        } else {
            x->memory->count = -3;
            tnk_emit_declare(e, tn_strf(e->ctx, "%s *%s ", c, tnk_or_none(e->d->restrict_)), n,
                             data);
            tnb_buf_printf(e->out, "%s *%s %s = env->workspace(env, tk_size_%s * sizeof(%s));\n", c,
                           tnk_or_none(e->d->restrict_), n, n, c);
        }
        line(e);
        tnb_buf_printf(e->out, "if (!%s%s)\n", x->per_thread ? "tk_ws_" : "", n);
        e->indent++;
        text(e, "return -1;\n");
        e->indent--;
    }
}

static const tnk_memory *
memory_of(const tnk_emitter *e, const tnk_param *p)
{
    return tnb_ptrmap_get(&e->memory, tn_as_buffer(p->buffer)->data);
}

static void
refuse_map(tnk_emitter *e, const tnk_param *p)
{
    tnk_emit_fail(e, p->var->loc,
                  "kernel '%s' takes a tensor map, '%s', which dialect %s does not have",
                  e->kernel->name, tn_var_name(p->var), e->d->base.name);
}

static void
host_table(tnk_emitter *e, bool noalias)
{
    const tnk_kernel *k = e->kernel;
    tnb_buf_printf(
        e->out,
        "%s\n%s(void *const *buffers, const tnb_kernel_scalar *scalars, tnb_kernel_env *env)\n{\n",
        e->d->kernel, k->name);
    e->indent = 1;
    text(e, "const int tk_threads = env->team ? env->threads : 1, tk_thread = 0;\n");
    text(e, "(void)buffers, (void)scalars, (void)tk_threads, (void)tk_thread;\n");
    if (e->n_checks) {
        text(e, "tnb_kernel_refusal tk_bad = {0}, tk_own = {0};\n");
        text(e, "__attribute__((cleanup(tk_give_back))) const struct tk_given tk_given = "
                "{env, env->refused};\n");
        text(e, "(void)tk_given;\n");
        text(e, "if (!env->refused)\n");
        text(e, "    env->refused = &tk_own;\n");
        tnk_emit_declare(e, "tnb_kernel_env *", "env", k->func);
    }
    const tnk_param *p;
    for (uint32_t at = 0, i = 0; (p = tnk_next_memory(k, &at)); i++) {
        const tnk_memory *m = memory_of(e, p);
        line(e);
        const char *type =
            tn_strf(e->ctx, "%s%s *%s ", p->written ? "" : "const ", tnk_c_type(e, m->elem),
                    noalias ? tnk_or_none(e->d->restrict_) : "");
        tnb_buf_printf(e->out, "%s%s = buffers[%u];\n", type, m->name, i);
        tnk_emit_declare(e, type, m->name, tn_as_buffer(p->buffer)->data);
        line(e);
        tnb_buf_printf(e->out, "(void)%s;\n", m->name);
    }
    for (uint32_t at = 0, i = 0; (p = tnk_next_param(k, TNB_PARAM_SCALAR, &at)); i++) {
        tnb_dtype d = tnk_compute_dtype(p->dtype);
        line(e);
        tnb_buf_printf(e->out, "const %s %s = (%s)scalars[%u].%s;\n", tnk_c_type(e, d),
                       tnk_name_of(e, p->var), tnk_c_type(e, d), i,
                       tnb_dtype_is_float(d) ? "f" : "i");
        tnk_emit_declare(e, tn_strf(e->ctx, "const %s ", tnk_c_type(e, d)), tnk_name_of(e, p->var),
                         p->var);
    }
    for (uint32_t at = 0; (p = tnk_next_param(k, TNB_PARAM_TENSOR_MAP, &at));)
        refuse_map(e, p);
}

/* Shared memory is declared at the outermost level of a kernel: OpenCL C demands it. What the launch gives is divided in the order of
 * the buffers, as tnk_dynamic_shared_bytes counts it. */
static void
shared_memory(tnk_emitter *e, const tnk_temporaries *t)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < t->v.n; i++) {
        const tnk_temporary *x = &t->v.at[i];
        if (!tnk_is_shared(x->buffer))
            continue;
        const char *type = tnk_c_type(e, x->memory->elem);
        line(e);
        if (!e->d->dynamic_shared || !tnk_is_dynamic_shared(x->buffer)) {
            tnb_buf_printf(e->out, "%s%s %s[%lld];\n", tnk_or_none(e->d->shared), type,
                           x->memory->name, (long long)(x->fixed > 0 ? x->fixed : 1));
            continue;
        }
        if (!at) {
            tnb_buf_printf(e->out, "%s\n", e->d->dynamic_shared);
            line(e);
        }
        tnb_buf_printf(e->out, "%s *%s = (%s *)(tk_dynamic_shared + %lld);\n", type,
                       x->memory->name, type, (long long)at);
        at += tnk_dynamic_shared_bytes(x->buffer);
    }
}

/* A scalar as a parameter has it: a bool is no type that a host can pass. */
static const char *
scalar_param_type(tnk_emitter *e, tnb_dtype d)
{
    return tnk_c_type(e, tnb_dtype_is_bool(d) ? tnk_storage_dtype(d) : tnk_compute_dtype(d));
}

/* A parameter that is not the caller's memory. */
static void
other_param(tnk_emitter *e, const tnk_param *p, const char *comma)
{
    bool at_offsets = e->d->byte_offsets;
    if (p->kind == TNB_PARAM_SCALAR)
        tnb_buf_printf(e->out, "%s%s%s %s", comma, at_offsets ? "const " : "",
                       at_offsets ? scalar_param_type(e, p->dtype)
                                  : tnk_c_type(e, tnk_compute_dtype(p->dtype)),
                       tnk_name_of(e, p->var));
    else if (p->kind == TNB_PARAM_REFUSED)
        tnb_buf_printf(e->out, "%s%stk_refusal *tk_refused", comma, tnk_or_none(e->d->global_ptr));
    else if (p->kind == TNB_PARAM_TAG)
        tnb_buf_printf(e->out, "%sconst %s tk_tag", comma, e->d->uint32);
    else if (e->d->param && e->d->param(e, p))
        tnb_buf_printf(e->out, "%s%s %s", comma, e->d->param(e, p), tnk_name_of(e, p->var));
    else
        refuse_map(e, p);
}

/* Pointers to bytes, offsets, then the others; then the pointers to elements. */
static void
direct_at_offsets(tnk_emitter *e, bool noalias)
{
    const tnk_kernel *k = e->kernel;
    const char *comma = "";
    tnb_buf_printf(e->out, "%s%s\n%s(", e->d->kernel,
                   e->d->attribute ? TNK_HOOK(e->src, "attribute", e->d->attribute(e)) : "",
                   k->name);
    const tnk_param *p;
    for (uint32_t at = 0, i = 0; (p = tnk_next_memory(k, &at)); i++, comma = ", ") {
        const tnk_memory *m = memory_of(e, p);
        if (m->type)
            tnb_buf_printf(e->out, "%s%s %s", comma, m->type, m->name);
        else
            tnb_buf_printf(e->out, "%s%s%s%s *tk_mem%u", comma, tnk_or_none(e->d->global_ptr),
                           p->written ? "" : "const ", e->d->uint8, i);
    }
    for (uint32_t at = 0, i = 0; tnk_next_memory(k, &at); i++)
        tnb_buf_printf(e->out, ", const %s tk_at%u", e->d->uint64, i);
    for (uint32_t i = 0; i < k->n_params; i++)
        if (!tnb_param_is_memory(k->params[i].kind)) {
            other_param(e, &k->params[i], comma);
            comma = ", ";
        }
    tnb_buf_puts(e->out, ")\n{\n");
    e->indent = 1;
    for (uint32_t at = 0, i = 0; (p = tnk_next_memory(k, &at)); i++) {
        const tnk_memory *m = memory_of(e, p);
        if (m->type)
            continue;
        const char *type = tn_strf(e->ctx, "%s%s%s *", tnk_or_none(e->d->global_ptr),
                                   p->written ? "" : "const ", tnk_c_type(e, m->elem));
        line(e);
        tnb_buf_printf(e->out, "%s%s%s = (%s)(tk_mem%u + tk_at%u);\n", type,
                       noalias ? tn_strf(e->ctx, "%s ", tnk_or_none(e->d->restrict_)) : "", m->name,
                       type, i, i);
    }
}

static void
direct(tnk_emitter *e, bool noalias)
{
    const tnk_kernel *k = e->kernel;
    if (e->d->byte_offsets) {
        direct_at_offsets(e, noalias);
        return;
    }
    tnb_buf_printf(e->out, "%s%s\n%s(", e->d->kernel,
                   e->d->attribute ? TNK_HOOK(e->src, "attribute", e->d->attribute(e)) : "",
                   k->name);
    for (uint32_t i = 0; i < k->n_params; i++) {
        const tnk_param *p = &k->params[i];
        const tnk_memory *m = tnb_param_is_memory(p->kind) ? memory_of(e, p) : NULL;
        if (m && m->type)
            tnb_buf_printf(e->out, "%s%s %s", i ? ", " : "", m->type, m->name);
        else if (m)
            tnb_buf_printf(e->out, "%s%s%s%s *%s %s", i ? ", " : "", tnk_or_none(e->d->global_ptr),
                           p->written ? "" : "const ", tnk_c_type(e, m->elem),
                           noalias ? tnk_or_none(e->d->restrict_) : "", m->name);
        else
            other_param(e, p, i ? ", " : "");
    }
    tnb_buf_puts(e->out, ")\n{\n");
    e->indent = 1;
}

static tn_walk_step
find_own_read(void *user, const tn_node *n)
{
    tnk_emitter *e = user;
    const tn_buffer_load *l = n->kind == TN_KIND_BUFFER_LOAD ? (const tn_buffer_load *)n : NULL;
    const tnk_param *p;
    for (uint32_t i = 0; l && (p = tnk_next_memory(e->kernel, &i));)
        if (p->written && tn_as_buffer(p->buffer)->data == tn_as_buffer(l->buffer)->data)
            e->barrier = e->d->global_barrier;
    return e->barrier == e->d->global_barrier ? TN_WALK_STOP : TN_WALK_ON;
}

void
tnk_emit_kernel(tnk_emitter *e)
{
    const tnk_kernel *k = e->kernel;
    const tn_prim_func *f = tn_as_prim_func(k->func);
    e->barrier = e->d->barrier;
    if (e->d->global_barrier)
        tn_walk(f->body, 0, find_own_read, NULL, e);
    const tnk_param *p;
    for (uint32_t i = 0; (p = tnk_next_memory(k, &i));) {
        const tn_buffer *b = tn_as_buffer(p->buffer);
        tnk_memory *m = TNB_NEW(tn_scratch(e->ctx), tnk_memory);
        tnb_dtype d = b->dtype;
        d.lanes = 1;
        m->name = tnk_new_name(e, b->name);
        m->space = tnk_or_none(e->d->global_ptr);
        m->elem = tnk_storage_dtype(d);
        if (e->d->element)
            m->elem.lanes = b->dtype.lanes;
        m->packed = d.bits < 8 ? d.bits : 0;
        m->lanes = 1;
        m->count = -3;
        m->given = true;
        m->written = p->written;
        m->type = e->d->param ? TNK_HOOK(e->src, "param", e->d->param(e, p)) : NULL;
        tnb_ptrmap_set(&e->memory, b->data, m);
    }
    tnk_temporaries t = {0};
    if (e->d->begin)
        (void)TNK_HOOK(e->src, "begin", (e->d->begin(e), 0));
    (void)tnk_index_begin(e);
    if (e->failed || !tnk_plan_temporaries(e, &t))
        return;
    bool noalias =
        tn_dict_int(f->attrs, "tirx.noalias", tn_dict_int(f->attrs, "tir.noalias", 0)) != 0;
    bool table = e->d->calling == TNK_CALL_HOST_TABLE;
    tnb_buf all = {0}, *out = e->out;
    e->out = &all;
    if (table)
        host_table(e, noalias);
    else
        direct(e, noalias);
    shared_memory(e, &t);
    if (e->d->declare)
        (void)TNK_HOOK(e->src, "declare", (e->d->declare(e), 0));
    workspaces(e, &t);
    stmt(e, f->body);
    if (table && e->n_checks) {
        text(e, "if (tk_bad.state)\n");
        text(e, "    tk_refuse(env, &tk_bad);\n");
        text(e, "return env->refused->state ? -2 : 0;\n");
    } else if (table) {
        text(e, "return 0;\n");
    }
    tnb_buf_puts(e->out, "}\n");
    e->out = out;
    tnb_buf_put(out, e->before.s, e->before.n);
    tnb_buf_put(out, all.s, all.n);
    tnb_buf_free(&e->before);
    tnb_buf_free(&all);
}
