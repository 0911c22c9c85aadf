/* SPDX-License-Identifier: Apache-2.0 */
/* The pass manager: runs a list, and around each pass verifies, times, dumps, prints, traces,
 * compares. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include "pass_private.h"
#include "tenon/base/file.h"
#include "tenon/base/log.h"

struct run {
    tn_ctx *ctx;
    const tn_pass_list *list;
    tn_pass_run *opt;
    uint32_t at; /* the item running */
    int level;
    bool kept;   /* what was there before the run is out of the way of compaction */
    size_t live; /* bytes after the last compaction */
    tnb_progress *bar;
    bool dumped; /* a file was written, so the folder exists */
};

static double
now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool
named_in(const char *const *names, const tn_pass *pass)
{
    for (; names && *names; names++)
        if (strcmp(*names, pass->base.name) == 0 ||
            (pass->alias && strcmp(*names, pass->alias) == 0))
            return true;
    return false;
}

/* ---- texts of modules ---- */
static bool
text_of(struct run *r, const tn_module *m, tnb_buf *out)
{
    tnb_status s = tn_print(r->ctx, &m->base, NULL, out);
    if (s == TNB_OK && !out->failed)
        return true;
    if (!tnb_diags_errors(tn_diags(r->ctx)))
        tn_error(r->ctx, 0, s == TNB_OK ? TNB_NO_MEMORY : s, "the module could not be printed");
    return false;
}

/* Records the error of a file; false. */
static bool
file_error(struct run *r, const tnb_err *err)
{
    tn_error(r->ctx, 0, err->status, "%s", err->message);
    if (*err->hint)
        tnb_diag_hint(tn_diags(r->ctx), "%s", err->hint);
    return false;
}

static bool
dump(struct run *r, const tn_module *m, uint32_t number, const char *name)
{
    if (!r->opt->dump_dir)
        return true;
    tnb_buf b = {0};
    tnb_err err = {0};
    bool ok = text_of(r, m, &b);
    const char *path =
        tn_strf(r->ctx, "%s/%03u-%s.py", r->opt->dump_dir, r->opt->dump_first + number, name);
    if (ok && !r->dumped && tnb_make_dirs(r->opt->dump_dir, 0777, &err) != TNB_OK)
        ok = file_error(r, &err);
    if (ok && tnb_write_file(path, b.s ? b.s : "", b.n, &err) != TNB_OK)
        ok = file_error(r, &err);
    r->dumped |= ok;
    tnb_buf_free(&b);
    return ok;
}

/* The input of the list; not where an earlier list has written it. */
static bool
dump_input(struct run *r, const tn_module *m)
{
    return r->opt->dump_first || r->opt->dump_only || dump(r, m, 0, "input");
}

/* With dump_only, both sides of the passes named; else the module after each pass. */
static bool
dump_before(struct run *r, const tn_pass *pass, const tn_module *m)
{
    return !named_in(r->opt->dump_only, pass) ||
           dump(r, m, r->at + 1, tn_strf(r->ctx, "%s-before", pass->base.name));
}

static bool
dump_after(struct run *r, const tn_pass *pass, const tn_module *m)
{
    return (r->opt->dump_only && !named_in(r->opt->dump_only, pass)) ||
           dump(r, m, r->at + 1, pass->base.name);
}

static bool
roundtrip(struct run *r, const tn_module *m, const char *name)
{
    tnb_buf first = {0}, second = {0}, where = {0};
    tnb_strmap printed;
    tnb_strmap_init(&printed, tn_scratch(r->ctx));
    r->ctx->printed = &printed;
    bool ok = text_of(r, m, &first);
    const tn_module *again = NULL;
    if (ok) {
        again = tn_read_module(r->ctx, tn_strf(r->ctx, "text-of-%s.py", name), first.s, first.n);
        ok = again != NULL;
    }
    if (ok && !tn_equal(r->ctx, &m->base, &again->base, false, &where)) {
        ok = false;
        tn_error(r->ctx, 0, TNB_DIFFERS, "printed and read again, the module is another one: %s",
                 where.s ? where.s : "");
    }
    if (ok && text_of(r, again, &second) &&
        (first.n != second.n || memcmp(first.s, second.s, first.n) != 0)) {
        ok = false;
        tn_error(r->ctx, 0, TNB_DIFFERS,
                 "printed, read and printed again, the text is another one");
    }
    r->ctx->printed = NULL;
    tnb_buf_free(&first);
    tnb_buf_free(&second);
    tnb_buf_free(&where);
    return ok;
}

/* The module that a failing pass was given, with the command that fails. */
static void
write_reproducer(struct run *r, const tn_module *m)
{
    if (!r->opt->reproducer)
        return;
    tnb_buf b = {0};
    tnb_err err = {0};
    tn_pass_list rest = {r->list->at + r->at, r->list->n - r->at};
    tnb_buf_puts(&b, "# tenon opt FILE -p '");
    tn_pass_list_print(&rest, &b);
    tnb_buf_puts(&b, "'\n");
    if (tn_print(r->ctx, &m->base, &(tn_print_options){.inline_constants = true}, &b) == TNB_OK &&
        tnb_write_file(r->opt->reproducer, b.s, b.n, &err) == TNB_OK)
        tnb_diag_note(tn_diags(r->ctx), "its input and the rest of the list are in %s",
                      r->opt->reproducer);
    else
        tnb_diag_note(tn_diags(r->ctx), "there is no reproducer: %s",
                      *err.message ? err.message : "its input cannot be printed");
    tnb_buf_free(&b);
}

/* ---- failing ---- */
static const tn_module *
fail(struct run *r, const tn_module *before, const char *what)
{
    const tn_pass_item *item = &r->list->at[r->at];
    tnb_diag_note(tn_diags(r->ctx), "%s pass %s (number %u of %u%s%s%s%s)", what, item->name,
                  r->at + 1, r->list->n, item->phase ? ", phase " : "",
                  item->phase ? item->phase : "", item->origin ? ", from " : "",
                  item->origin ? item->origin : "");
    write_reproducer(r, before);
    return NULL;
}

static const tn_pass *
find_pass(struct run *r, const tn_pass_item *item)
{
    tnb_err err = {0};
    const tn_pass *pass = tn_find_pass(r->ctx->reg, item->name, &err);
    if (!pass)
        tn_missing(r->ctx, "pass", item->name, &err);
    return pass;
}

/* Whether a legalizer, "OP@TARGET", is for the target of the run. */
static bool
is_for_target(const struct run *r, const char *name)
{
    const char *at = r->opt->target ? strrchr(name, '@') : NULL;
    return at && strcmp(at + 1, r->opt->target->kind) == 0;
}

/* Legalizers are looked for by operator, where none is nothing unusual: that two plugins have one, or one that is refused, is said
 * here. False: an error was recorded. */
static bool
one_provider_each(struct run *r)
{
    const tnb_plugins *p = tn_registry_plugins(r->ctx->reg);
    uint32_t n = 0;
    const tnb_provided *all =
        p ? tnb_plugins_provided(p, tn_scratch(r->ctx), "legalizer", &n) : NULL;
    for (uint32_t i = 1; i < n; i++) {
        tnb_err err = {0};
        if (strcmp(all[i].name, all[i - 1].name) != 0 || !is_for_target(r, all[i].name) ||
            tnb_plugins_find(p, "legalizer", all[i].name, &err))
            continue;
        tnb_report(tn_diags(r->ctx), TNB_ERROR, err.status, (tnb_place){0}, "%s", err.message);
        tnb_diag_hint(tn_diags(r->ctx), "%s", err.hint);
        return false;
    }
    const char *name, *of[2];
    for (uint32_t i = 0; tn_legalizers_clash(r->ctx->reg, i, &name, of); i++) {
        if (!is_for_target(r, name))
            continue;
        tnb_report(tn_diags(r->ctx), TNB_ERROR, TNB_INVALID, (tnb_place){0},
                   "legalizer '%s' is provided by plugin '%s' and by plugin '%s'", name, of[0],
                   of[1]);
        tnb_diag_hint(tn_diags(r->ctx), "leave one of the plugins out: plugins = *, -%s in [tenon]",
                      of[0]);
        return false;
    }
    return true;
}

static bool
was_said(const tn_ctx *ctx, const char *message)
{
    const tnb_diags *d = tn_diags((tn_ctx *)(uintptr_t)ctx);
    for (uint32_t i = 0; i < tnb_diags_count(d); i++)
        if (strcmp(tnb_diags_get(d, i)->message, message) == 0)
            return true;
    return false;
}

static void
tell_refused(struct run *r)
{
    const tnb_plugins *p = tn_registry_plugins(r->ctx->reg);
    for (uint32_t i = 0; p && i < tnb_plugins_count(p); i++) {
        const tnb_plugin *c = tnb_plugins_get(p, i);
        bool has = false;
        for (uint32_t k = 0; c->state == TNB_PLUGIN_REFUSED && k < c->n_provides && !has; k++)
            has = strncmp(c->provides[k], "legalizer:", 10) == 0 &&
                  is_for_target(r, c->provides[k] + 10);
        if (!has)
            continue;
        const char *text =
            tn_strf(r->ctx, "the legalizers of plugin '%s' are not used, as it is refused: %s",
                    c->name, c->why);
        if (was_said(r->ctx, text))
            continue;
        tnb_report(tn_diags(r->ctx), TNB_WARNING, TNB_UNSUPPORTED, (tnb_place){0}, "%s", text);
        if (*c->cure)
            tnb_diag_hint(tn_diags(r->ctx), "%s", c->cure);
    }
}

static bool
load_needs(struct run *r, const tn_pass *pass)
{
    for (const char *p = pass->needs; p && *p;) {
        size_t n = strcspn(p, " ");
        bool legalizers = n == 9 && strncmp(p, "legalizer", n) == 0;
        if (legalizers && !one_provider_each(r))
            return false;
        if (n)
            tn_registry_load_all(r->ctx->reg, tn_strn(r->ctx, p, n));
        if (legalizers)
            tell_refused(r);
        p += n + (p[n] == ' ');
    }
    return true;
}

/* ---- one pass ---- */
static void
step_bar(void *user, uint32_t done, uint32_t total)
{
    (void)done;
    (void)total;
    struct run *r = user;
    tnb_progress_step(r->bar, 0, r->list->at[r->at].name);
}

static void
take_note(void *user, const char *text)
{
    struct run *r = user;
    tnb_log(TNB_LOG_INFO, "pass %s: %s", r->list->at[r->at].name, text);
    const char **notes = r->opt->notes;
    if (notes)
        notes[r->at] = notes[r->at] ? tn_strf(r->ctx, "%s\n%s", notes[r->at], text) : text;
}

void
tn_pass_note(const tn_pass_ctx *pc, const char *fmt, ...)
{
    va_list ap;
    if (!pc->note)
        return;
    char text[256];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pc->note(pc->note_user, tn_str(pc->ctx, text));
}

/* Whether an error of the status was recorded since there were `from` diagnostics. */
static bool
recorded(struct run *r, uint32_t from, tnb_status status)
{
    const tnb_diags *d = tn_diags(r->ctx);
    for (uint32_t i = from; i < tnb_diags_count(d); i++) {
        const tnb_diag *at = tnb_diags_get(d, i);
        if (at->severity == TNB_ERROR && at->status == status)
            return true;
    }
    return false;
}

/* After a pass: everything that could show it wrong. */
static bool
check(struct run *r, const tn_pass *pass, const tn_module *before, const tn_module *after,
      const char **what)
{
    uint32_t errors = tnb_diags_errors(tn_diags(r->ctx)), n = tnb_diags_count(tn_diags(r->ctx));
    *what = "the module is not well-formed after";
    if (!r->opt->no_verify && after != before && tn_verify_since(r->ctx, before, after))
        return false;
    *what = "after";
    if (r->opt->roundtrip && after != before && !roundtrip(r, after, pass->base.name))
        return false;
    *what = "the results differ after";
    if (r->opt->check && r->opt->check->compare && after != before &&
        pass->keeps != TN_KEEPS_NOTHING &&
        !r->opt->check->compare(r->opt->check->user, r->ctx, &r->list->at[r->at], pass->keeps,
                                before, after)) {
        if (recorded(r, n, TNB_BOUNDS) && !recorded(r, n, TNB_DIFFERS))
            *what = "it does so already before";
        return false;
    }
    return tnb_diags_errors(tn_diags(r->ctx)) == errors;
}

static void
warn_of_name(struct run *r, const tn_pass *pass, const tn_attr_schema *a, const char *name)
{
    tnb_err err = {0};
    if (!r->ctx->reg || tn_find_entry(r->ctx->reg, a->allowed, name, &err))
        return;
    tn_warn(r->ctx, 0, "pass %s: option '%s': %s", pass->base.name, a->name, err.message);
    if (*err.hint)
        tnb_diag_hint(tn_diags(r->ctx), "%s", err.hint);
}

/* Names of operators and of external code generators in options that no plugin provides: they have no effect. */
static void
warn_of_names(struct run *r, const tn_pass *pass, const tn_node *options)
{
    for (const tn_attr_schema *a = pass->options; a && a->name; a++) {
        const tn_array *names = tn_as_array(tn_dict_get(options, a->name));
        const tn_dict *d = tn_as_dict(tn_dict_get(options, a->name));
        if (!a->allowed || (strcmp(a->allowed, "op") != 0 && strcmp(a->allowed, "external") != 0))
            continue;
        for (uint32_t i = 0; i < (names ? names->items.n : 0); i++)
            if (tn_as_string_imm(names->items.at[i]))
                warn_of_name(r, pass, a, tn_as_string_imm(names->items.at[i])->value);
        for (uint32_t i = 0; i < (d ? d->items.n : 0); i++)
            warn_of_name(r, pass, a, tn_as_pair(d->items.at[i])->key);
    }
}

static const tn_module *
run_one(struct run *r, const tn_pass *pass, const tn_module *m)
{
    tn_ctx *ctx = r->ctx;
    const tn_pass_item *item = &r->list->at[r->at];
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    const tn_node *options = tn_pass_options(ctx, pass, item, m);
    if (tn_is_error(options))
        return fail(r, m, "in the options of");
    const tn_node *settings = tn_pass_config(ctx, pass, r->opt->config, r->opt->config_origin);
    if (tn_is_error(settings))
        return fail(r, m, "in the configuration of");
    if (!dump_before(r, pass, m))
        return NULL;
    if (!load_needs(r, pass))
        return fail(r, m, "while loading what is needed by");
    warn_of_names(r, pass, options);
    tn_pass_ctx pc = {.ctx = ctx,
                      .target = r->opt->target,
                      .options = options,
                      .config = r->opt->config,
                      .opt_level = r->level,
                      .self = pass->self,
                      .progress = step_bar,
                      .progress_user = r,
                      .note = take_note,
                      .note_user = r,
                      .dir = item->dir,
                      .settings = settings};
    double start = now_s();
    tn_loc at = tn_at(ctx, 0);
    const tn_module *after = TN_WITHIN(ctx, "pass", pass, NULL, pass->run(&pc, m));
    tn_at(ctx, at);
    double took = now_s() - start;
    if (r->opt->seconds)
        r->opt->seconds[r->at] = took;
    if (r->opt->changed)
        r->opt->changed[r->at] = after != m;
    tn_trace_event(r->opt->trace, item->phase ? item->phase : "pass", pass->base.name, start, took,
                   0);
    tnb_log(TNB_LOG_DEBUG, "pass %s: %.3f ms%s", pass->base.name, took * 1e3,
            after == m ? ", nothing changed" : "");
    if (tnb_arena_failed(ctx->arena) || tnb_arena_failed(ctx->scratch) ||
        tnb_arena_failed(ctx->perm))
        tn_error(ctx, 0, TNB_NO_MEMORY, "memory ran out");
    if (!after)
        (void)tn_need_reason(ctx, errors, TNB_INTERNAL, "pass", pass->base.name, "run");
    if (!after || tnb_diags_errors(tn_diags(ctx)) != errors)
        return fail(r, m, "in");
    const char *what;
    if (!check(r, pass, m, after, &what))
        return fail(r, m, what);
    if (!dump_after(r, pass, after))
        return NULL;
    if (named_in(r->opt->print, pass)) {
        tnb_buf b = {0};
        if (text_of(r, after, &b))
            fprintf(stderr, "# after %s\n%s", pass->base.name, b.s ? b.s : "");
        tnb_buf_free(&b);
    }
    return after;
}

/* Between phases, when more than half of a sizeable arena is garbage. */
static const tn_module *
compact(struct run *r, const tn_module *m)
{
    enum { SMALL = 8 << 20 };
    const tn_pass_item *item = &r->list->at[r->at];
    bool phase_ends = r->at + 1 == r->list->n || item->phase != r->list->at[r->at + 1].phase;
    size_t used = tnb_arena_used(r->ctx->arena);
    if (!r->kept || (!r->opt->compact_always && !r->opt->compact))
        return m;
    if (!r->opt->compact_always && (!phase_ends || used < SMALL || used < 2 * r->live))
        return m;
    m = tn_compact(r->ctx, m);
    r->live = tnb_arena_used(r->ctx->arena);
    return m;
}

static const tn_module *
run_list(struct run *r, const tn_module *m)
{
    tn_ctx *ctx = r->ctx;
    if (!r->opt->no_verify && tn_verify(ctx, m)) {
        tnb_diag_note(tn_diags(ctx), "the module is not well-formed before the first pass");
        return NULL;
    }
    if (!dump_input(r, m) || (r->opt->roundtrip && !roundtrip(r, m, "input")))
        return NULL;
    for (r->at = 0; r->at < r->list->n; r->at++) {
        const tn_pass_item *item = &r->list->at[r->at];
        const tn_pass *pass = find_pass(r, item);
        if (!pass)
            return fail(r, m, "looking for");
        tnb_progress_step(r->bar, 1, pass->base.name);
        if (named_in(r->opt->skip, pass) || pass->opt_level > r->level) {
            tnb_log(TNB_LOG_DEBUG, "pass %s: left out", pass->base.name);
        } else {
            m = run_one(r, pass, m);
            if (!m)
                return NULL;
            m = compact(r, m);
        }
        tnb_arena_reset(ctx->scratch);
        if (r->opt->stop_after && (strcmp(r->opt->stop_after, pass->base.name) == 0 ||
                                   (pass->alias && strcmp(r->opt->stop_after, pass->alias) == 0)))
            break;
    }
    return m;
}

const tn_module *
tn_run_passes(tn_ctx *ctx, const tn_module *m, const tn_pass_list *l, tn_pass_run *run)
{
    tn_pass_run none = {0};
    struct run r = {.ctx = ctx, .list = l, .opt = run ? run : &none};
    /* comparing by execution keeps results of earlier states */
    if ((r.opt->compact || r.opt->compact_always) && !r.opt->check)
        r.kept = tn_keep(ctx);
    r.level = r.opt->opt_level == 0 ? 2 : r.opt->opt_level < 0 ? 0 : r.opt->opt_level;
    if (r.opt->progress)
        r.bar = tnb_progress_start("passes", l->n);
    m = run_list(&r, m);
    tnb_progress_end(r.bar);
    return m;
}
