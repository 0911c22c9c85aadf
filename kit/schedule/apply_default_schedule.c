/* SPDX-License-Identifier: Apache-2.0 */
/* ApplyDefaultSchedule: gives each unscheduled PrimFunc the schedule of the first rule that takes it.
 *
 *     ApplyDefaultSchedule{rules=[Matmul, Fallback]}
 *
 * A rule is looked for under "TARGET.NAME" (cpu.Matmul), then under "KEY.NAME" for each of the target's keys (gpu.Matmul), and
 * then under its name as written. Functions with tirx.is_scheduled are
 * left alone; scheduled ones get it. trace="FILE" writes the primitives that the rules applied. A function that no rule takes stays as it is.
 */
#include "schedule_private.h"

#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/rule.h"

typedef struct apply_state {
    const tnk_rule **rules;
    uint32_t n;
    tnb_buf *trace; /* NULL: not wanted */
} apply_state;

/* The function as the rules get it: with room for a trace, if one is wanted. */
static const tn_node *
with_trace(tn_ctx *ctx, const apply_state *st, const tn_node *func)
{
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

static const tn_node *
apply(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    (void)m;
    const apply_state *st = user;
    tn_ctx *ctx = pc->ctx;
    if (tn_func_attr(func, "tirx.is_scheduled") || tn_func_attr(func, "tir.is_scheduled"))
        return func;
    const tn_node *own = tn_func_attr(func, "target");
    const tn_target *target = tn_is(own, TN_KIND_TARGET) ? tn_as_target(own) : pc->target;
    for (uint32_t i = 0; i < st->n; i++) {
        uint32_t errors = tnb_diags_errors(tn_diags(ctx));
        const tn_node *f =
            st->rules[i]->apply(ctx, with_trace(ctx, st, func), target, st->rules[i]->self);
        if (tnb_diags_errors(tn_diags(ctx)) != errors || tn_is_error(f)) {
            tnb_diag_note(tn_diags(ctx), "while the rule '%s' scheduled '%s'", st->rules[i]->name,
                          name);
            return NULL;
        }
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

static const tnk_rule *
find(const tn_pass_ctx *pc, const char *name)
{
    tn_registry *reg = tn_ctx_registry(pc->ctx);
    const tn_target_kind *kind = pc->target ? tn_find_target(reg, pc->target->kind, NULL) : NULL;
    const tnk_rule *r = NULL;
    tnb_err err = {0};
    if (kind && !strchr(name, '.'))
        r = tn_find_entry(reg, "rule", tn_strf(pc->ctx, "%s.%s", kind->name, name), &err);
    const tn_array *keys = pc->target ? keys_of(pc->ctx, pc->target, kind) : NULL;
    for (uint32_t i = 0; !r && keys && i < keys->items.n && !strchr(name, '.'); i++) {
        const tn_string_imm *key = tn_as_string_imm(keys->items.at[i]);
        if (key)
            r = tn_find_entry(reg, "rule", tn_strf(pc->ctx, "%s.%s", key->value, name), &err);
    }
    if (!r)
        r = tn_find_entry(reg, "rule", name, &err);
    if (!r) {
        tn_error(pc->ctx, 0, TNB_NOT_FOUND, "no schedule rule '%s' for target '%s'", name,
                 kind ? kind->name : "none");
        tnb_diag_note(tn_diags(pc->ctx), "%s", err.message);
    }
    return r;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_array *names = tn_as_array(tn_dict_get(pc->options, "rules"));
    apply_state st = {0};
    st.rules = TNB_NEW_N(tn_scratch(pc->ctx), const tnk_rule *, (names ? names->items.n : 0) + 1);
    for (uint32_t i = 0; names && i < names->items.n; i++) {
        const tn_string_imm *s = tn_as_string_imm(names->items.at[i]);
        const tnk_rule *r = s ? find(pc, s->value) : NULL;
        if (!r)
            return NULL;
        st.rules[st.n++] = r;
    }
    const char *path = tn_option_str(pc, "trace");
    tnb_buf trace = {0};
    if (path && *path)
        st.trace = &trace;
    const tn_module *out = tn_map_functions(pc, m, TN_PRIM_FUNCS, apply, &st);
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
    {"rules", TN_ATTR_STRS, 0, "[]", "names of schedule rules, tried in this order"},
    {"trace", TN_ATTR_STR, 0, "\"\"",
     "file to write what the rules did to, as ApplyScheduleTrace reads it (\"-\": standard "
     "output)"},
    {0},
};

const tn_pass tnk_pass_apply_default_schedule = {
    .size = sizeof(tn_pass),
    .name = "ApplyDefaultSchedule",
    .doc = "Schedules each tensor program by the first rule that takes it.",
    .options = options,
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "rule tensor_intrin",
};
