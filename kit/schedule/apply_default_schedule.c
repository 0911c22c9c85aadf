/* SPDX-License-Identifier: Apache-2.0 */
/* ApplyDefaultSchedule: gives each unscheduled PrimFunc the schedule of the first rule that takes it.
 *
 *     ApplyDefaultSchedule{rules=[Matmul, Fallback]}
 *
 * A name with a dot is a rule's own; one without is looked for as the target's (cpu.Matmul), then as that of each of its keys
 * (gpu.Matmul). Functions with tirx.is_scheduled are
 * left alone; scheduled ones get it. What callers promise of a function's symbols (symbol_bounds.c) its rules find in its attribute
 * tir_var_upper_bound, and later passes too. trace="FILE" writes the primitives that the rules applied. A function that no rule takes stays as it is; one that a
 * rule gives other parameters is an error.
 *
 * What was measured comes first: where a database of the pass configuration (tenon.tuning_db) has a record of the function for
 * the target (tenon/kit/tune.h), the record's rule is applied with the record's choices. The module's attribute tenon.tuned
 * says which functions got theirs so.
 */
#include "schedule_private.h"

#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/tune.h"

typedef struct apply_state {
    const tnk_rule **rules;
    uint32_t n;
    tnb_buf *trace;       /* NULL: not wanted */
    tnk_tuning *tuning;   /* NULL: nothing was measured */
    int64_t threads;      /* that the code is for; 0: not known */
    const tn_node *tuned; /* Dict: what came from the database, by the functions' names */
    const tnk_bounds *bounds;
} apply_state;

/* The function as the rules get it: with what its callers promise, and room for a trace, if one is wanted. */
static const tn_node *
prepare(tn_ctx *ctx, const apply_state *st, const tn_node *func)
{
    func = tnk_bounds_tell(st->bounds, func);
    return st->trace ? tn_func_with_attr(ctx, func, TNK_TRACE_ATTR, tn_string(ctx, "")) : func;
}

/* Takes the trace out of a scheduled function. */
static const tn_node *
without_trace(tn_ctx *ctx, const apply_state *st, const char *name, const tn_node *func)
{
    const tn_string_imm *t =
        st->trace ? tn_as_string_imm(tn_func_attr(func, TNK_TRACE_ATTR)) : NULL;
    if (t)
        tnb_buf_printf(st->trace, "function %s\n%s\n", name, t->value);
    return t ? tn_func_with_attr(ctx, func, TNK_TRACE_ATTR, NULL) : func;
}

/* What the pass says of a function that was scheduled as measured. */
static const tn_node *
describe(tn_ctx *ctx, const tnk_tuning_record *r)
{
    const tn_node *choices = tn_dict_of(ctx, NULL, NULL, 0);
    for (uint32_t i = 0; i < r->n_choices; i++)
        choices = tn_dict_set(ctx, choices, tn_str(ctx, r->choices[i].name),
                              tn_i64(ctx, r->choices[i].value));
    return tn_dictv(ctx, "rule", tn_string(ctx, r->rule), "choices", choices, NULL);
}

/* The function, `given` to its rules, with the fastest schedule that the database has for it. NULL: it has none, or its
 * rules have changed since, or an error was recorded. */
static const tn_node *
as_measured(const tn_pass_ctx *pc, apply_state *st, const char *name, const tn_node *func,
            const tn_node *given, const tn_target *target)
{
    tn_ctx *ctx = pc->ctx;
    const char *key = tnk_tuning_function(ctx, func);
    const tnk_tuning_record *r =
        key ? tnk_tuning_best(st->tuning, tnk_tuning_target(ctx, target), key, st->threads) : NULL;
    for (uint32_t i = 0; r && i < st->n; i++) {
        if (strcmp(st->rules[i]->base.name, r->rule) != 0)
            continue;
        tnk_trial t = {.choices = r->choices, .n_choices = r->n_choices};
        const tn_node *f = tnk_trial_run(ctx, st->rules[i], given, target, &t);
        if (!f || !tnk_trial_followed(&t))
            break;
        tn_pass_note(pc, "%s: %s as %s:%u says", name, r->key, r->file, r->line);
        st->tuned = tn_dict_set(ctx, st->tuned, tn_str(ctx, name), describe(ctx, r));
        return f;
    }
    if (r)
        tn_pass_note(pc, "%s: the schedule of %s:%u is not made any more: tune again", name,
                     r->file, r->line);
    return NULL;
}

static const tn_node *
signature(tn_ctx *ctx, const tn_prim_func *f)
{
    const tn_stmt *nothing = tn_evaluate_of(ctx, tn_i64(ctx, 0));
    return tn_prim_func_of(ctx, f->params, f->buffers, nothing, f->ret, NULL);
}

/* Whether `f`, which a rule gave for `func`, is a tensor program with the same parameters, which callers count on, and writes all
 * that `func` writes. Records an error if not. */
static bool
fits(tn_ctx *ctx, const tnk_rule *r, const char *name, const tn_node *func, const tn_node *f)
{
    const tn_prim_func *was = tn_as_prim_func(func), *is = tn_as_prim_func(f);
    tnb_buf where = {0};
    const char *missing;
    if (!is) {
        tn_error(ctx, func->loc, TNB_INVALID,
                 "the rule '%s' gave %s for '%s', and no tensor program", r->base.name,
                 tn_kinds[f->kind].name, name);
        tnb_diag_hint(
            tn_diags(ctx),
            "a rule gives what tnk_sch_finish made of the function, or NULL where it does "
            "not take it");
        return false;
    }
    if (was->params.n != is->params.n)
        tn_error(ctx, func->loc, TNB_INVALID,
                 "the rule '%s' gave a function of %u parameters for '%s', which has %u",
                 r->base.name, is->params.n, name, was->params.n);
    else if (!tn_equal(ctx, signature(ctx, was), signature(ctx, is), false, &where))
        tn_error(ctx, func->loc, TNB_INVALID, "the rule '%s' changed the parameters of '%s'%s%s",
                 r->base.name, name, where.n ? ": " : "", where.n ? where.s : "");
    else if (!(missing = tnk_not_written(ctx, func, f)))
        return true;
    else {
        tnb_buf_free(&where);
        tn_error(ctx, func->loc, TNB_INTERNAL,
                 "what the rule '%s' made of '%s' does not write all of its results", r->base.name,
                 name);
        tnb_diag_note(tn_diags(ctx), "%s", missing);
        tnb_diag_hint(tn_diags(ctx), "leave the rule out of ApplyDefaultSchedule{rules=...}, and "
                                     "report this with the function");
        return false;
    }
    tnb_buf_free(&where);
    tnb_diag_hint(tn_diags(ctx), "a rule changes the body alone: callers stay as they are");
    return false;
}

static const tn_node *
apply(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    (void)m;
    apply_state *st = user;
    tn_ctx *ctx = pc->ctx;
    if (tn_func_attr(func, "tirx.is_scheduled") || tn_func_attr(func, "tir.is_scheduled"))
        return func;
    const tn_node *own = tn_func_attr(func, "target");
    const tn_target *target = tn_is(own, TN_KIND_TARGET) ? tn_as_target(own) : pc->target;
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    const tn_node *given = st->n ? prepare(ctx, st, func) : func;
    const tn_node *measured =
        st->tuning && target ? as_measured(pc, st, name, func, given, target) : NULL;
    for (uint32_t i = 0; i < st->n; i++) {
        const tn_node *f = measured;
        if (!f && tnb_diags_errors(tn_diags(ctx)) == errors)
            f = TN_WITHIN(ctx, "rule", st->rules[i], NULL,
                          st->rules[i]->apply(ctx, given, target, st->rules[i]->self));
        if (tnb_diags_errors(tn_diags(ctx)) != errors || tn_is_error(f)) {
            tnb_diag_note(tn_diags(ctx), "while the rule '%s' scheduled '%s'",
                          st->rules[i]->base.name, name);
            return NULL;
        }
        if (f && !fits(ctx, st->rules[i], name, func, f))
            return NULL;
        if (f && !measured && !tnk_shared_memory_fits(pc, target, name, f))
            f = NULL;
        if (f) {
            f = without_trace(ctx, st, name, f);
            return tn_func_with_attr(ctx, f, "tirx.is_scheduled", tn_bool(ctx, true));
        }
    }
    return func;
}

/* The target's keys, those of its kind if it names none. */
static const tn_array *
keys_of(tn_ctx *ctx, const tn_target *target, const tn_target_kind *kind)
{
    const tn_node *own = tn_dict_get(target->attrs, "keys");
    tnb_err err = {0};
    for (const tn_attr_schema *a = kind ? kind->attrs : NULL; !own && a && a->name; a++)
        if (!strcmp(a->name, "keys") && a->fallback)
            own = tn_value_from_json(ctx, a->fallback, strlen(a->fallback), &err);
    return tn_as_array(own);
}

const tnk_rule *
tnk_find_rule(tn_ctx *ctx, const tn_target *target, const char *name)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    const tn_target_kind *kind = target ? tn_find_target(reg, target->kind, NULL) : NULL;
    const tn_array *keys = target ? keys_of(ctx, target, kind) : NULL;
    const tnk_rule *r = NULL;
    const char *tried = name;
    tnb_err err = {0};
    if (strchr(name, '.')) {
        r = tn_find_entry(reg, "rule", name, NULL);
    } else {
        tried = tn_strf(ctx, "%s.%s", kind ? kind->base.name : "TARGET", name);
        r = kind ? tn_find_entry(reg, "rule", tried, &err) : NULL;
        /* A rule of a less narrow name does not stand in for one that two plugins have. */
        for (uint32_t i = 0; !r && err.status != TNB_INVALID && keys && i < keys->items.n; i++) {
            const tn_string_imm *key = tn_as_string_imm(keys->items.at[i]);
            const char *full = key ? tn_strf(ctx, "%s.%s", key->value, name) : NULL;
            if (full && (r = tn_find_entry(reg, "rule", full, &err)) == NULL &&
                !strstr(tried, full))
                tried = tn_strf(ctx, "%s, %s", tried, full);
        }
    }
    if (!r) {
        tn_error(ctx, 0, TNB_NOT_FOUND, "no schedule rule '%s' for target '%s'", name,
                 kind ? kind->base.name : "none");
        tnb_diag_note(tn_diags(ctx), "there is none of these: %s", tried);
        bool said = false;
        for (const char *p = tried; *p && !said;) {
            size_t n = strcspn(p, ",");
            said = tn_note_unusable(ctx, "rule", tn_strn(ctx, p, n));
            p += n + (p[n] == ',');
            p += *p == ' ';
        }
        if (!said)
            tnb_diag_hint(tn_diags(ctx), "tenon list rules names them all");
    }
    return r;
}

/* The databases of the pass configuration. False after recording an error. */
static bool
read_tuning(const tn_pass_ctx *pc, apply_state *st)
{
    const tn_array *files = tn_as_array(tn_config_value(pc, "tenon.tuning_db"));
    tnb_err err = {0};
    if (!files || !files->items.n)
        return true;
    st->tuned = tn_dict_of(pc->ctx, NULL, NULL, 0);
    st->threads = tn_config_int(pc, "tenon.tuning_threads");
    if (!(st->tuning = tnk_tuning_new()))
        tnb_fail(&err, TNB_NO_MEMORY, "no memory for the tuning database");
    for (uint32_t i = 0; st->tuning && err.status == TNB_OK && i < files->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(files->items.at[i]);
        tnb_status status = s ? tnk_tuning_read(st->tuning, s->value, &err) : TNB_OK;
        if (status == TNB_OK)
            continue;
        tn_error(pc->ctx, 0, status, "%s", err.message);
        tnb_diag_hint(tn_diags(pc->ctx), "%s",
                      *err.hint ? err.hint
                                : "tenon tune writes one; `none` in place of the file reads no "
                                  "database");
        return false;
    }
    if (err.status != TNB_OK)
        tn_error(pc->ctx, 0, err.status, "%s", err.message);
    return err.status == TNB_OK;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_array *names = tn_as_array(tn_dict_get(pc->options, "rules"));
    apply_state st = {0};
    st.rules = TNB_NEW_N(tn_scratch(pc->ctx), const tnk_rule *, (names ? names->items.n : 0) + 1);
    for (uint32_t i = 0; names && i < names->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(names->items.at[i]);
        const tnk_rule *r = s ? tnk_find_rule(pc->ctx, pc->target, s->value) : NULL;
        if (!r)
            return NULL;
        st.rules[st.n++] = r;
    }
    st.bounds = tnk_bounds_of(pc->ctx, m);
    const char *path = tn_option_str(pc, "trace");
    tnb_buf trace = {0};
    if (path && *path)
        st.trace = &trace;
    const tn_module *out =
        read_tuning(pc, &st) ? tn_map_functions(pc, m, TN_PRIM_FUNCS, apply, &st) : NULL;
    tnk_tuning_free(st.tuning);
    if (out && st.tuned && tn_as_dict(st.tuned)->items.n)
        out = tn_module_with_attrs(pc->ctx, out,
                                   tn_dict_set(pc->ctx, out->attrs, "tenon.tuned", st.tuned));
    tnb_out *file = NULL;
    tnb_err err = {0};
    if (out && st.trace &&
        (tnb_out_open(tn_pass_path(pc, path), &file, &err) ||
         tnb_out_write(file, trace.s ? trace.s : "", trace.n, &err) ||
         tnb_out_commit(file, &err))) {
        tn_error(pc->ctx, 0, err.status, "%s", err.message);
        out = NULL;
    }
    tnb_buf_free(&trace);
    return out;
}

static const tn_attr_schema options[] = {
    {"rules", TN_ATTR_STRS, 0, "[]", "names of schedule rules, tried in this order", "rule"},
    {"trace", TN_ATTR_STR, 0, "\"\"",
     "file to write what the rules did to, as ApplyScheduleTrace reads it (\"-\": standard "
     "output)"},
    {0},
};

static const tn_attr_schema config[] = {
    {"tenon.tuning_db", TN_ATTR_STRS, 0, "[]", "tuning databases to read, in this order"},
    {"tenon.tuning_threads", TN_ATTR_INT, 0, "0",
     "take times measured with this number of threads; 0: with the number measured last", ">=0"},
    {.name = NULL}};

const tn_pass tnk_pass_apply_default_schedule = {
    .base.size = sizeof(tn_pass),
    .base.name = "ApplyDefaultSchedule",
    .base.doc = "Schedules each tensor program by the first rule that takes it.",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "rule tensor_intrin",
    .config = config,
};
