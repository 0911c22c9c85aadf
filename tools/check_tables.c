/* SPDX-License-Identifier: Apache-2.0 */
/* What a loaded compiler plugin's tables say, tried: numbers are in their ranges, patterns and texts can be read, names that they use
 * are there, pass lists can be made. For tenon check-plugin, in its child process. What an entry must have at all is checked where
 * tables are added (core/registry.c, kit/tables.c).
 */
#include "tool.h"

#include <string.h>

#include "tenon/base/num.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"
#include "tenon/kit/emit_hooks.h"
#include "tenon/kit/importer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/tensor_intrin.h"

enum { MOST_ENTRIES = 100000 };

static const char said[] = "the header of the entry's type says what the member may be";

/* ---- telling ---- */

void
tnt_found(tnt_finder *f, const char *field, const char *hint, const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    f->tell('E', "the %s '%s': .%s %s\t%s", f->kind, f->name, field, text, hint);
    f->found++;
}

void
tnt_in_range(tnt_finder *f, const char *field, int64_t v, int64_t lo, int64_t hi)
{
    if (v < lo || v > hi)
        tnt_found(f, field, said, "is %lld, not from %lld to %lld", (long long)v, (long long)lo,
                  (long long)hi);
}

void
tnt_known_flags(tnt_finder *f, const char *field, uint64_t v, uint64_t known)
{
    if (v & ~known)
        tnt_found(f, field, said, "is %#llx, of which %#llx mean nothing", (unsigned long long)v,
                  (unsigned long long)(v & ~known));
}

void
tnt_no_empty_text(tnt_finder *f, const char *field, const char *const *list)
{
    for (uint32_t i = 0; list && list[i]; i++)
        if (!*list[i])
            tnt_found(f, field, "NULL ends the list", "has an empty text, number %u", i);
}

static void
no_empty(tnt_finder *f, const char *field, const char *text)
{
    if (text && !*text)
        tnt_found(f, field, "set it to NULL where there is none", "is an empty text");
}

/* What was recorded, as an error of the member. */
static void
recorded(tnt_session *s, tnt_finder *f, const char *field)
{
    tnb_err err = {0};
    (void)tnb_diags_first(tn_diags(s->ctx), &err);
    tnt_found(f, field, *err.hint ? err.hint : said, "is not right: %s",
              *err.message ? err.message : "no reason is given");
    tnb_diags_clear(tn_diags(s->ctx));
}

static tnt_finder
of(tnt_finder *all, const char *kind, const tnb_entry *e)
{
    tnt_finder f = *all;
    f.kind = kind;
    f.name = e->name;
    f.found = 0;
    return f;
}

/* ---- the tables themselves ---- */

struct span {
    const char *name;
    const void *at;
    uint32_t n;
};

bool
tnt_check_spans(const tnb_plugin_head *head, bool runtime, tnt_tell tell)
{
    const tn_plugin_desc *d = (const tn_plugin_desc *)(const void *)head;
    const tnr_plugin_desc *r = (const tnr_plugin_desc *)(const void *)head;
#define SPAN(of, t)              \
    {                            \
#t, (of)->t, (of)->n_##t \
    }
    const struct span compiler[] = {SPAN(d, passes),
                                    SPAN(d, ops),
                                    SPAN(d, targets),
                                    SPAN(d, legalizers),
                                    SPAN(d, rules),
                                    SPAN(d, importers),
                                    SPAN(d, evaluators),
                                    SPAN(d, patterns),
                                    SPAN(d, externals),
                                    SPAN(d, tensor_intrins),
                                    SPAN(d, dialects),
                                    SPAN(d, meanings),
                                    {0}},
                      device[] = {SPAN(r, drivers), SPAN(r, packed), SPAN(r, loaders), {0}};
#undef SPAN
    tnt_finder f = {.tell = tell, .kind = "plugin", .name = head->name};
    if (runtime && head->size != sizeof *r)
        return true; /* loading says so */
    if (!runtime && head->size != sizeof *d)
        return true;
    for (const struct span *s = runtime ? device : compiler; s->name; s++) {
        char field[64];
        snprintf(field, sizeof field, "n_%s", s->name);
        if (s->n && !s->at)
            tnt_found(&f, s->name, "set both, or neither", "is NULL, and .%s is %u", field, s->n);
        else if (s->n > MOST_ENTRIES)
            tnt_found(&f, field, "it counts the entries of the table", "is %u", s->n);
        else if (s->at && !s->n)
            tnt_found(&f, field, "it counts the entries of the table", "is 0, and .%s is set",
                      s->name);
    }
    return !f.found;
}

/* ---- attributes ---- */

static bool
readable_range(const char *allowed)
{
    double v;
    const char *dots = strstr(allowed, "..");
    if (!strncmp(allowed, ">=", 2))
        return tnb_read_f64(allowed + 2, strlen(allowed + 2), &v);
    return !dots || (tnb_read_f64(allowed, (size_t)(dots - allowed), &v) &&
                     tnb_read_f64(dots + 2, strlen(dots + 2), &v));
}

static void
schema(tnt_session *s, tnt_finder *f, const char *field, const tn_attr_schema *attrs)
{
    for (const tn_attr_schema *a = attrs; a && a->name; a++) {
        tn_attr_schema one[2] = {*a, {0}};
        const tn_pass probe = {.base = {sizeof probe, f->name, NULL}, .options = one};
        const tn_pass_item item = {.name = f->name};
        const tn_attr_schema *same = attrs;
        while (strcmp(same->name, a->name) != 0)
            same++;
        if (!*a->name || same != a)
            tnt_found(f, field, "names are unique", "has '%s' twice, or an empty name", a->name);
        else if ((unsigned)a->type > TN_ATTR_VDEVICE)
            tnt_found(f, field, "see tn_attr_type",
                      "has '%s' with the type %d, which there is none of", a->name, (int)a->type);
        else if (a->flags & ~(unsigned)TN_ATTR_OPTIONAL)
            tnt_found(f, field, "TN_ATTR_OPTIONAL, or 0", "has '%s' with the flags %#x", a->name,
                      a->flags);
        else if (a->allowed && (!*a->allowed || !readable_range(a->allowed)))
            tnt_found(f, field, "see tn_attr_schema.allowed",
                      "has '%s', of which '%s' is allowed, which is no range", a->name, a->allowed);
        else if (a->fallback && (tn_is_error(tn_pass_options(s->ctx, &probe, &item, NULL)) ||
                                 tnb_diags_errors(tn_diags(s->ctx)))) {
            tnt_found(f, field, said,
                      "has '%s', whose default (fallback) '%s' is of another type, or not allowed",
                      a->name, a->fallback);
            tnb_diags_clear(tn_diags(s->ctx));
        }
    }
}

/* ---- entries ---- */

/* The kinds that a pass asks for. */
static void
needs(tnt_session *s, tnt_finder *f, const char *at)
{
    while (*at) {
        at += strspn(at, " ");
        size_t n = strcspn(at, " ");
        const char *kind = tn_strn(s->ctx, at, n);
        tnb_err no = {0};
        at += n;
        if (n && !tn_find_entry(s->registry, kind, "", &no) && no.status == TNB_INVALID)
            tnt_found(
                f, "needs",
                "kinds of tables are named with blanks between them: op rule pattern external",
                "has '%s', which plugins do not provide", kind);
    }
}

static void
try_pass(tnt_session *s, tnt_finder *f, const tn_pass *p)
{
    no_empty(f, "alias", p->alias);
    tnt_in_range(f, "opt_level", p->opt_level, 0, 9);
    schema(s, f, "options", p->options);
    schema(s, f, "config", p->config);
    tnt_in_range(f, "keeps", (int64_t)p->keeps, TN_KEEPS_BITS, TN_KEEPS_INT8);
    tnt_known_flags(f, "flags", p->flags, TN_PASS_PARALLEL);
    needs(s, f, p->needs ? p->needs : "");
}

/* The first words of tn_arg_schema.accepts. */
static bool
accepts_something(const char *t)
{
    static const char *const kinds[] = {"int or bool ", "bool ", "int ", "float ", "number "},
                             *const whats[] = {"tensor or scalar", "tensor", "scalar", "shape",
                                               "anything"};
    t += strncmp(t, "tuple of ", 9) ? 0 : 9;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(t, kinds[i], strlen(kinds[i]))) {
            t += strlen(kinds[i]);
            break;
        }
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++)
        if (!strncmp(t, whats[i], strlen(whats[i])))
            return true;
    return false;
}

static void
try_spellings(tnt_session *s, tnt_finder *f, const tn_op *op)
{
    const char *const *at = op->spellings;
    tnt_no_empty_text(f, "spellings", at);
    for (; at && at[0]; at += 2) {
        tnb_err no = {0};
        if (!at[1]) {
            tnt_found(f, "spellings", "pairs of a dialect's name and a function's, up to NULL",
                      "has the dialect '%s' without a function", at[0]);
            return;
        }
        if (*at[0] && !tn_find_entry(s->registry, "dialect", at[0], &no))
            f->tell('W', "the operator '%s': .spellings has '%s', a dialect that is not here",
                    f->name, at[0]);
    }
}

static void
try_op(tnt_session *s, tnt_finder *f, const tn_op *op)
{
    bool scalar = op->flags & TN_OP_SCALAR;
    int n = 0;
    if (!scalar && strncmp(op->base.name, "relax.", 6) != 0)
        tnt_found(f, "base.name",
                  tn_strf(s->ctx,
                          "text has R.NAME for the operator relax.NAME: call it relax.%s, or set "
                          "TN_OP_SCALAR if it is a scalar intrinsic",
                          op->base.name),
                  "cannot be written in a module");
    tnt_known_flags(f, "flags", op->flags, 2 * TN_OP_LAZY - 1);
    no_empty(f, "script_name", op->script_name);
    for (const tn_arg_schema *a = op->args; a && a->name; a++, n++) {
        if (!*a->name)
            tnt_found(f, "args", "arguments have names", "has an empty name");
        if (a->accepts && !accepts_something(a->accepts))
            tnt_found(f, "args", "see tn_arg_schema.accepts", "has '%s', which accepts '%s'",
                      a->name, a->accepts);
    }
    tnt_in_range(f, "min_args", op->min_args, -1, op->args ? n : 64);
    tnt_in_range(f, "mixed", op->mixed, TN_MIXED_NEVER, TN_MIXED_ALWAYS);
    schema(s, f, "attrs", op->attrs);
    tnt_in_range(f, "structural", (int64_t)op->structural, TN_STRUCTURAL_NONE, TN_STRUCTURAL_NONE);
    tnt_in_range(f, "intrin", (int64_t)op->intrin, TN_INTRIN_NONE, TN_INTRIN_NONE);
    if (!scalar && op->spellings)
        tnt_found(f, "spellings", "only scalar intrinsics have some",
                  "is set, and TN_OP_SCALAR is not");
    if (!scalar && op->eval)
        tnt_found(f, "eval", "only scalar intrinsics have one", "is set, and TN_OP_SCALAR is not");
    try_spellings(s, f, op);
}

static void
try_capabilities(tnt_finder *f, const tn_target_kind *k)
{
    for (const tn_attr_schema *a = k->attrs; a && a->name; a++) {
        const tn_attr_schema *like = tnk_capability_like(a->name);
        if (!like || (!strcmp(like->name, a->name) && like->type == a->type))
            continue;
        if (strcmp(like->name, a->name))
            f->tell('W',
                    "target '%s' has an attribute '%s', which no shared pass looks at; did you "
                    "mean '%s' (%s)?",
                    f->name, a->name, like->name, like->doc);
        else
            tnt_found(f, "attrs", "see tnk_capabilities in tenon/kit/lower.h",
                      "has '%s', which has another type than the passes that look at it expect",
                      a->name);
    }
}

/* The lists of passes as a compilation with default attributes makes them. */
static void
try_lists(tnt_session *s, tnt_finder *f, const tn_target_kind *k)
{
    tnk_target t;
    tnk_pipeline p;
    if (!tnk_target_find(s->ctx, s->conf, k->base.name, &t)) {
        recorded(s, f, k->probe ? "probe" : "attrs");
        return;
    }
    if (!tnk_pipeline_make(s->ctx, s->conf, &t, NULL, &p)) {
        recorded(s, f, "legalize (or another list)");
        return;
    }
    for (int ph = 0; ph < TNK_N_PHASES; ph++)
        for (uint32_t i = 0; i < p.phases[ph].n; i++) {
            const tn_pass_item *item = &p.phases[ph].at[i];
            tnb_err err = {0};
            const tn_pass *pass = tn_find_pass(s->registry, item->name, &err);
            if (!pass)
                tnt_found(f, tnk_phase_name((tnk_phase)ph), err.hint, "has the pass '%s': %s",
                          item->name, err.message);
            else if (tn_is_error(tn_pass_options(s->ctx, pass, item, NULL)))
                recorded(s, f, tnk_phase_name((tnk_phase)ph));
        }
    tn_warp w = {0};
    if (k->warp && k->warp(t.target->attrs, &w, k->self)) {
        if (w.size == 0 || w.size & (w.size - 1) || w.ops & ~7u || (w.bits != 32 && w.bits != 64))
            tnt_found(f, "warp", "see tn_warp in tenon/core/registry.h",
                      "says %u threads, operations %#x, %u bits", w.size, w.ops, w.bits);
    }
}

static void
try_target(tnt_session *s, tnt_finder *f, const tn_target_kind *k)
{
    const char *device = k->device ? k->device : k->base.name;
    uint32_t before = f->found;
    tnt_no_empty_text(f, "kinds", k->kinds);
    no_empty(f, "device", k->device);
    schema(s, f, "attrs", k->attrs);
    try_capabilities(f, k);
    if (f->found == before)
        try_lists(s, f, k);
    if (!tnb_plugins_find(s->plugins, "device", device, NULL))
        f->tell('W',
                "target '%s': .device is '%s', of which no plugin has the driver: nothing here "
                "runs what it makes",
                f->name, device);
}

static void
try_legalizer(tnt_session *s, tnt_finder *f, const tn_legalizer *l)
{
    tnb_err err = {0};
    if (!tn_find_op(s->registry, l->base.name, &err))
        tnt_found(f, "base.name", err.hint, "is no operator: %s", err.message);
    err = (tnb_err){0};
    if (!tn_find_target(s->registry, l->target, &err))
        tnt_found(f, "target", err.hint, "is '%s': %s", l->target,
                  *err.message ? err.message : "there is no such target");
}

static void
try_importer(tnt_session *s, tnt_finder *f, const tnk_importer *i)
{
    (void)s;
    tnt_no_empty_text(f, "quantizations", i->quantizations);
    if (!i->extensions || !i->extensions[0])
        tnt_found(f, "extensions", "by them users see which importer a file is for", "has none");
    for (uint32_t k = 0; i->extensions && i->extensions[k]; k++)
        if (i->extensions[k][0] != '.' || !i->extensions[k][1])
            tnt_found(f, "extensions", "a dot and letters: \".onnx\"", "has '%s'",
                      i->extensions[k]);
}

static void
try_meaning(tnt_session *s, tnt_finder *f, const tn_meaning *m)
{
    const tn_module *text =
        m->text ? tn_read_module(s->ctx, m->base.name, m->text, strlen(m->text)) : NULL;
    if (m->text && !text)
        recorded(s, f, "text");
    else if (text && !tn_module_get(text, "meaning"))
        tnt_found(f, "text", "call the function that computes it `meaning`",
                  "has no function `meaning`");
}

static void
with_blank(tnt_finder *f, const char *field, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    if (text && (n == 0 || text[n - 1] != ' '))
        tnt_found(f, field, "a blank follows a qualifier; NULL: there is none", "is '%s'", text);
}

static void
try_threads(tnt_finder *f, const tnk_dialect *d)
{
    bool is_block;
    int dim;
    for (const char *const *t = d->threads; t && t[0]; t += 2)
        if (!t[1] || !*t[1] || !tnk_thread_tag(t[0], &is_block, &dim)) {
            tnt_found(f, "threads",
                      "pairs, up to NULL: {\"threadIdx.x\", \"get_local_id(0)\", ...}",
                      "has '%s' for '%s'", t[1] ? t[1] : "nothing", t[0]);
            return;
        }
    if (d->calling == TNK_CALL_DIRECT && !d->thread && (!d->threads || !d->threads[0]))
        tnt_found(f, "threads",
                  "set it, or the hook .thread: a kernel that is launched on a grid has to know "
                  "its place",
                  "is not set");
    if ((d->thread || d->threads) && !d->barrier)
        tnt_found(f, "barrier", "a statement at which the threads of a block meet",
                  "is not set, though it has threads");
}

static void
try_dialect(tnt_session *s, tnt_finder *f, const tnk_dialect *d)
{
    static const char names[] =
        "the prologue, or the names .int64, .uint64 and so on, say what integers are called";
    (void)s;
    tnt_in_range(f, "calling", (int64_t)d->calling, TNK_CALL_HOST_TABLE, TNK_CALL_DIRECT);
    no_empty(f, "language", d->language);
    no_empty(f, "kernel", d->kernel);
    with_blank(f, "global_ptr", d->global_ptr);
    with_blank(f, "shared", d->shared);
    with_blank(f, "local", d->local);
    try_threads(f, d);
    no_empty(f, "global_barrier", d->global_barrier);
    no_empty(f, "warp_barrier", d->warp_barrier);
    no_empty(f, "inline_", d->inline_);
    if (d->dynamic_shared && !strstr(d->dynamic_shared, "tk_dynamic_shared"))
        tnt_found(f, "dynamic_shared", "the declaration of an array of bytes, tk_dynamic_shared",
                  "declares no tk_dynamic_shared: '%s'", d->dynamic_shared);
    tnt_no_empty_text(f, "reserved", d->reserved);
    for (const tnk_function_name *n = d->functions; n && n->intrin; n++)
        if ((unsigned)n->intrin >= TN_INTRIN_COUNT || !n->name || !*n->name)
            tnt_found(f, "functions", "pairs of an intrinsic and a name, up to TN_INTRIN_NONE",
                      "has the intrinsic %d without a name, or none of the core's", (int)n->intrin);
    if (!d->prologue && !(d->int32 && d->uint32 && d->int16 && d->uint16 && d->int8 && d->uint8 &&
                          (d->no_int64 || (d->int64 && d->uint64))))
        tnt_found(f, "prologue", names, "is not set: nothing says what int64_t and the like are");
    if (d->gnu_vectors && d->structs)
        tnt_found(f, "structs", "vectors are of one kind", "is set, and .gnu_vectors is too");
}

/* ---- all ---- */

#define EACH(table, kind, try_)                            \
    for (uint32_t i = 0; i < d->n_##table; i++) {          \
        tnt_finder f = of(&all, kind, &d->table[i]->base); \
        try_(s, &f, d->table[i]);                          \
        all.found += f.found;                              \
    }

static void
try_rule(tnt_session *s, tnt_finder *f, const tnk_rule *r)
{
    (void)s;
    tnt_no_empty_text(f, "attrs", r->attrs);
}

/* Of two members that say the same in two ways. */
static void
one_of(tnt_finder *f, const char *field, bool set, const char *other, bool other_set)
{
    if (set && other_set)
        tnt_found(f, field, "set the one that is meant", "is set, and .%s too, which is taken",
                  other);
}

static void
try_pattern(tnt_session *s, tnt_finder *f, const tnk_fusion_pattern *p)
{
    one_of(f, "build", p->build, "pattern", p->pattern);
    if (!tnk_pattern_make(s->ctx, p))
        recorded(s, f, p->pattern ? "pattern" : "build");
}

static void
try_external(tnt_session *s, tnt_finder *f, const tnk_external *e)
{
    (void)s;
    tnt_known_flags(f, "flags", e->flags, 0);
    no_empty(f, "feature", e->feature);
}

static void
try_intrin(tnt_session *s, tnt_finder *f, const tnk_tensor_intrin *t)
{
    const tn_node *desc, *impl;
    one_of(f, "make", t->make, "text", t->text);
    if (!tnk_tensor_intrin_get(s->ctx, t, &desc, &impl))
        recorded(s, f, t->text ? "text" : "make");
}

bool
tnt_check_tables(tnt_session *s, const tn_plugin_desc *d, tnt_tell tell)
{
    tnt_finder all = {.tell = tell};
    EACH(passes, "pass", try_pass)
    EACH(ops, "operator", try_op)
    EACH(dialects, "dialect", try_dialect)
    EACH(targets, "target", try_target)
    EACH(legalizers, "legalizer", try_legalizer)
    EACH(rules, "rule", try_rule)
    EACH(importers, "importer", try_importer)
    EACH(patterns, "pattern", try_pattern)
    EACH(externals, "external", try_external)
    EACH(tensor_intrins, "tensor intrinsic", try_intrin)
    EACH(meanings, "meaning", try_meaning)
    return !all.found;
}
