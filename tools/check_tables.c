/* SPDX-License-Identifier: Apache-2.0 */
/* What a loaded compiler plugin's tables say, tried: patterns and texts are read, and names that they use are looked up. For tenon
 * check-plugin, in its child process. */
#include "tool.h"

#include <string.h>

#include "tenon/core/eval.h"
#include "tenon/core/text.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/tensor_intrin.h"

/* The first error that was recorded, as `err`. */
static bool
failed(tnt_session *s, const char *kind, const char *name, tnb_err *err)
{
    (void)tnb_diags_first(tn_diags(s->ctx), err);
    if (!err->status)
        (void)tnb_fail(err, TNB_INVALID, "it is not right");
    tnb_err_prefix(err, "the %s '%s'", kind, name);
    tnb_diags_clear(tn_diags(s->ctx));
    return false;
}

static bool
try_pattern(tnt_session *s, const tnk_fusion_pattern *p, tnb_err *err)
{
    return tnk_pattern_make(s->ctx, p) || failed(s, "pattern", p->base.name, err);
}

static bool
try_op(const tn_op *op, tnb_err *err)
{
    if (op->flags & TN_OP_SCALAR || strncmp(op->base.name, "relax.", 6) == 0)
        return true;
    (void)tnb_fail(err, TNB_INVALID, "the operator '%s' cannot be written in a module",
                   op->base.name);
    tnb_hint(
        err,
        "text has R.NAME for the operator relax.NAME: call it relax.%s, or set TN_OP_SCALAR if it "
        "is a scalar intrinsic",
        op->base.name);
    return false;
}

static bool
try_meaning(tnt_session *s, const tn_meaning *m, tnb_err *err)
{
    if (!m->text)
        return true;
    const tn_module *text = tn_read_module(s->ctx, m->base.name, m->text, strlen(m->text));
    if (!text)
        return failed(s, "meaning", m->base.name, err);
    if (tn_module_get(text, "meaning"))
        return true;
    (void)tnb_fail(err, TNB_INVALID, "the meaning of '%s' has no function `meaning`", m->base.name);
    tnb_hint(err, "call the function that computes it `meaning`");
    return false;
}

static bool
try_legalizer(tnt_session *s, const tn_legalizer *l, tnb_err *err)
{
    if (!tn_find_op(s->registry, l->base.name, err)) {
        tnb_err_prefix(err, "a legalizer for the target '%s'", l->target);
        return false;
    }
    if (tn_find_target(s->registry, l->target, err))
        return true;
    if (!err->status)
        (void)tnb_fail(err, TNB_NOT_FOUND, "no target '%s'", l->target);
    tnb_err_prefix(err, "the legalizer of '%s'", l->base.name);
    return false;
}

/* The kinds that a pass asks for. */
static bool
try_pass(tnt_session *s, const tn_pass *p, tnb_err *err)
{
    for (const char *at = p->needs ? p->needs : ""; *at;) {
        at += strspn(at, " ");
        size_t n = strcspn(at, " ");
        const char *kind = tn_strn(s->ctx, at, n);
        tnb_err no = {0};
        at += n;
        if (!n || tn_find_entry(s->registry, kind, "", &no) || no.status != TNB_INVALID)
            continue;
        (void)tnb_fail(err, TNB_INVALID, "the pass '%s' needs '%s', which plugins do not provide",
                       p->base.name, kind);
        tnb_hint(err,
                 "kinds of tables are named with blanks between them: op rule pattern external");
        return false;
    }
    return true;
}

bool
tnt_check_tables(tnt_session *s, const tn_plugin_desc *d, tnb_err *err)
{
    const tn_node *desc, *impl;
    for (uint32_t i = 0; i < d->n_passes; i++)
        if (!try_pass(s, d->passes[i], err))
            return false;
    for (uint32_t i = 0; i < d->n_ops; i++)
        if (!try_op(d->ops[i], err))
            return false;
    for (uint32_t i = 0; i < d->n_legalizers; i++)
        if (!try_legalizer(s, d->legalizers[i], err))
            return false;
    for (uint32_t i = 0; i < d->n_patterns; i++)
        if (!try_pattern(s, d->patterns[i], err))
            return false;
    for (uint32_t i = 0; i < d->n_tensor_intrins; i++)
        if (!tnk_tensor_intrin_get(s->ctx, d->tensor_intrins[i], &desc, &impl))
            return failed(s, "tensor intrinsic", d->tensor_intrins[i]->base.name, err);
    for (uint32_t i = 0; i < d->n_meanings; i++)
        if (!try_meaning(s, d->meanings[i], err))
            return false;
    return true;
}
