/* SPDX-License-Identifier: Apache-2.0 */
/* tenon diff: whether two modules are structurally equal, or compute the same. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>

#include "tenon/base/file.h"
#include "tenon/base/num.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/workers.h"

static const tnt_option options[] = {
    {"function", 0, TNT_VALUE, "NAME", "compare only this function"},
    {"exec", 0, TNT_FLAG, NULL, "run both on the same random inputs and compare the outputs"},
    {"target", 't', TNT_VALUE, "NAME",
     "with --exec: compile the second module (default: the first) for this target", "exec"},
    {"pass-config", 0, TNT_LIST, "KEY=JSON",
     "with --target: pass configuration under upstream's keys", "target"},
    {"seed", 0, TNT_VALUE, "N", "seed of the random inputs of --exec", "exec"},
    {"budget", 0, TNT_VALUE, "N", "limit on scalar operations per function (default 1e9)", "exec"},
    {"rtol", 0, TNT_VALUE, "X",
     "relative tolerance of --exec (default 1e-3; where floats of 16 bits are computed: 0.03)",
     "exec"},
    {"atol", 0, TNT_VALUE, "X",
     "absolute tolerance of --exec (default 1e-5; where floats of 16 bits are computed: 0.03)",
     "exec"},
    {0}};

static void
count_elements(tnt_session *s, const tn_expr *v, uint64_t *elems, uint64_t *nans)
{
    const tn_tuple *t = tn_as_tuple(v);
    for (uint32_t i = 0; t && i < t->fields.n; i++)
        count_elements(s, t->fields.at[i], elems, nans);
    const tn_constant *c = tn_as_constant(v);
    const void *bytes = c ? tn_data_get(s->ctx, c->data) : NULL;
    double x;
    for (uint64_t i = 0; bytes && i < c->data->n_elems; i++)
        *nans += tnb_dtype_is_float(c->data->dtype) && tnb_load_f64(bytes, c->data->dtype, i, &x) &&
                 isnan(x);
    *elems += c ? c->data->n_elems : !t;
}

static const tn_expr *
run_one(tnt_session *s, const tn_evaluator *ev, const tn_module *m, const char *name, tn_list args,
        tn_eval_options *opt)
{
    return tnk_needs_workers(m)
               ? tnk_run_workers(s->ctx, ev, m, name, args.at, args.n, opt, NULL)
               : TN_WITHIN(s->ctx, "evaluator", ev, NULL,
                           ev->run(ev->self, s->ctx, m, name, args.at, args.n, opt));
}

/* A result of the runtime as the interpreter would give it. */
static const tn_expr *
given_back(tnt_session *s, tnt_items *items, tnr_value v)
{
    if (v.tag != TNR_TUPLE)
        return tnt_from_runtime(s, v);
    tn_list fields = {0};
    if (!tnt_enter_tuple(items, v.u.tuple))
        return NULL;
    for (uint32_t i = 0; i < v.u.tuple->n; i++) {
        const tn_expr *f = given_back(s, items, v.u.tuple->items[i]);
        if (!f)
            return NULL;
        fields = tn_list_append(s->ctx, fields, f);
    }
    items->depth--;
    return tn_tuple_of(s->ctx, fields);
}

/* Runs a function of a compiled program on constants. */
static const tn_expr *
run_compiled(tnt_session *s, const tnt_program *p, const char *name, tn_list args)
{
    tnb_err err = {0};
    tnr_value ret = tnr_null(), *values = calloc(args.n + 1u, sizeof *values);
    const tn_expr *result = NULL;
    tnb_status st =
        values ? TNB_OK : tnb_fail(&err, TNB_NO_MEMORY, "out of memory for the arguments");
    for (uint32_t i = 0; st == TNB_OK && i < args.n; i++)
        st = tnt_to_runtime(tnr_vm_device(p->vm), args.at[i], s->ctx, &values[i], &err);
    if (st == TNB_OK)
        st = tnr_vm_call(p->vm, name, values, args.n, &ret, &err);
    if (st == TNB_OK)
        result = given_back(s, &(tnt_items){0}, ret);
    else
        tnt_complain(&err);
    for (uint32_t i = 0; values && i < args.n; i++)
        tnr_release(&values[i]);
    free(values);
    tnr_release(&ret);
    return result;
}

/* Arguments of a tensor program, which it changes in place. */
static tn_list
copied(tnt_session *s, tn_list args)
{
    const tn_list was = args;
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_constant *c = tn_as_constant(args.at[i]);
        if (!c)
            continue;
        void *bytes;
        const tn_data *d =
            tn_data_new(s->ctx, c->data->dtype, c->data->ndim, c->data->shape, &bytes);
        memcpy(bytes, tn_data_get(s->ctx, c->data), c->data->n_bytes);
        tn_list_change(s->ctx, &args, was, i, tn_constant_of(s->ctx, d));
    }
    return args;
}

/* A tensor program gives what its arguments are afterwards. */
static const tn_expr *
run_on(tnt_session *s, const tn_evaluator *ev, const tn_module *m, const char *name, tn_list args,
       tn_eval_options *opt)
{
    if (!tn_is(tn_module_get(m, name), TN_KIND_PRIM_FUNC))
        return run_one(s, ev, m, name, args, opt);
    args = copied(s, args);
    return run_one(s, ev, m, name, args, opt) ? tn_tuple_of(s->ctx, args) : NULL;
}

static tn_walk_step
find_narrow(void *user, const tn_node *n)
{
    const tn_buffer *b = tn_as_buffer(n);
    bool type = tn_is(n, TN_KIND_TY_TENSOR) || tn_is(n, TN_KIND_TY_PRIM);
    tnb_dtype d = b ? b->dtype : type ? tn_type_dtype(n) : TNB_F32;
    *(bool *)user |= tnb_dtype_is_float(d) && d.bits == 16;
    return *(bool *)user ? TN_WALK_STOP : TN_WALK_ON;
}

/* The largest difference that roundings to floats of 16 bits make of values around 1; 0: the function, with what it may call,
 * has none. */
static double
narrow(const tn_module *m, const tn_node *f)
{
    bool found = false;
    if (tn_is(f, TN_KIND_PRIM_FUNC))
        tn_walk(f, TN_WALK_TYPES | TN_WALK_ONCE, find_narrow, NULL, &found);
    for (uint32_t i = 0; !tn_is(f, TN_KIND_PRIM_FUNC) && !found && i < m->funcs.n; i++)
        tn_walk(m->funcs.at[i], TN_WALK_TYPES | TN_WALK_ONCE, find_narrow, NULL, &found);
    return found ? 0.03 : 0;
}

/* Runs function `name` of both modules (of the second as program `p` if there is one) on the same made-up arguments. Not every program accepts
 * every argument (indices out of range, strides of 0, extents that have to divide): when the first
 * module fails, others are tried. The errors that stay are those of the first attempt. */
static bool
run_both(tnt_session *s, const tn_evaluator *ev, const tn_module *x, const tn_module *y,
         const tnt_program *p, const char *name, uint64_t seed, uint64_t budget, const tn_expr **r,
         bool *spent)
{
    static const struct {
        int64_t least, most, extent; /* of integer elements; of symbols, 0: various */
    } tries[] = {{0, 3, 0}, {0, 1, 0}, {1, 1, 0}, {0, 3, 8}, {0, 1, 1}, {1, 1, 8}};
    enum { N = sizeof tries / sizeof *tries };
    const tn_node *f = tn_module_get(x, name);
    for (int i = 0; i <= N; i++) {
        int k = i < N ? i : 0; /* after the last, the first again for its errors */
        const tn_node *dims =
            tries[k].extent ? tn_dictv(s->ctx, "", tn_i64(s->ctx, tries[k].extent), NULL) : NULL;
        tn_list args;
        tn_eval_options o1 = {.budget = budget}, o2 = o1;
        tnb_diags_clear(tn_diags(s->ctx));
        if (!tn_random_args_within(s->ctx, f, seed, dims, tries[k].least, tries[k].most, &args))
            continue;
        r[0] = run_on(s, ev, x, name, args, &o1);
        r[1] = !r[0] ? NULL
               : p   ? run_compiled(s, p, name, args)
                     : run_on(s, ev, y, name, args, &o2);
        *spent = o1.out_of_budget || o2.out_of_budget;
        if (r[0] || o1.out_of_budget)
            return r[1] != NULL;
    }
    return false;
}

static int
exec_diff(tnt_session *s, const tnt_args *a, const tn_module *x, const tn_module *y,
          const tnt_program *p, const char *only)
{
    double rtol, atol;
    int64_t seed, budget;
    if (!tnt_float(a, "rtol", 1e-3, 0, TNT_FINITE, &rtol) ||
        !tnt_float(a, "atol", 1e-5, 0, TNT_FINITE, &atol) ||
        !tnt_int(a, "seed", 0, 0, INT64_MAX, &seed) ||
        !tnt_int(a, "budget", 1000000000, 1, INT64_MAX, &budget))
        return TNT_USAGE;
    tnb_err err = {0};
    const tn_evaluator *ev = tn_find_evaluator(s->registry, "interp", &err);
    if (!ev) {
        tnt_complain(&err);
        return TNT_FAILED;
    }
    uint32_t ran = 0, differ = 0;
    uint64_t elems = 0, nans = 0;
    /* tensor programs are run through the functions that call them, or alone where there are none */
    bool graph = false;
    for (uint32_t i = 0; i < x->names.n; i++)
        graph |= tn_is(x->funcs.at[i], TN_KIND_FUNCTION);
    for (uint32_t i = 0; i < x->names.n; i++) {
        const char *name = tn_module_name(x, i);
        const tn_node *f = x->funcs.at[i], *g = tn_module_get(y, name);
        bool prim = tn_is(f, TN_KIND_PRIM_FUNC);
        if (p && prim)
            continue;
        if ((only && strcmp(only, name)) || (!prim && !tn_is(f, TN_KIND_FUNCTION)) ||
            (!only && (prim ? graph : !tn_func_attr(f, "global_symbol"))))
            continue;
        if (!g || g->kind != f->kind) {
            printf("%s: only in the first module\n", name);
            continue;
        }
        const tn_expr *r[2];
        bool spent = false;
        if (!run_both(s, ev, x, y, p, name, (uint64_t)seed, (uint64_t)budget, r, &spent)) {
            tnt_report(s);
            if (spent)
                fputs("  hint: --budget N raises the limit on operations; smaller inputs need "
                      "fewer\n",
                      stderr);
            return TNT_FAILED;
        }
        tnt_report(s);
        ran++;
        count_elements(s, r[0], &elems, &nans);
        tnb_buf why = {0};
        double most = tnt_has(a, "rtol") || tnt_has(a, "atol") ? 0 : narrow(x, f);
        if (!tn_values_close(s->ctx, r[0], r[1], rtol > most ? rtol : most,
                             atol > most ? atol : most, &why)) {
            printf("%s: %s\n", name, why.n ? why.s : "results differ");
            differ++;
        }
        tnb_buf_free(&why);
    }
    double percent = elems ? 100.0 * (double)nans / (double)elems : 0;
    printf("%u functions run, %llu elements compared, %s%% NaN; %u differ\n", ran,
           (unsigned long long)elems, tnb_print_f64(floor(percent * 10 + 0.5) / 10).s, differ);
    return ran && !differ ? TNT_OK : TNT_FAILED;
}

/* ---- where the first difference stands ---- */

enum { CONTEXT = 2 };

/* Lines around the place of a node, its own marked. */
static void
show_lines(const char *path, uint32_t line)
{
    char *text;
    size_t n;
    tnb_err err = {0};
    if (tnb_read_file(path, 0, &text, &n, &err) != TNB_OK)
        return;
    uint32_t at = 1;
    for (const char *s = text, *end = text + n; s < end; at++) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        stop = stop ? stop : end;
        if (at + CONTEXT >= line && at <= line + CONTEXT)
            printf("%c %5u  %.*s\n", at == line ? '>' : ' ', at, (int)(stop - s), s);
        s = stop + 1;
    }
    free(text);
}

static void
show_side(tnt_session *s, const char *path, const tn_node *node, const tn_node *around)
{
    tnb_place inner = tn_loc_place(s->ctx, node ? node->loc : 0);
    tnb_place outer = tn_loc_place(s->ctx, around ? around->loc : 0);
    tnb_place place =
        outer.line ? outer : inner; /* what is interned stands where it was first met */
    bool one_line = node && !tn_is_stmt(node) && !tn_is(node, TN_KIND_FUNCTION) &&
                    !tn_is(node, TN_KIND_PRIM_FUNC) && !tn_is(node, TN_KIND_SEQ_EXPR);
    printf("%s", path);
    if (place.line)
        printf(":%u:%u", place.line, place.column);
    printf(": %s%s\n", node ? "has " : "no counterpart",
           !node      ? ""
           : one_line ? tn_text(s->ctx, node)
                      : "this");
    if (place.line)
        show_lines(path, place.line);
}

static void
show_difference(tnt_session *s, const tnt_args *a, const tn_difference *d)
{
    if (!d->a && !d->b)
        return;
    show_side(s, a->operands[0], d->a, d->around_a);
    show_side(s, a->operands[a->n_operands - 1], d->b, d->around_b);
}

static int
compare(tnt_session *s, const tnt_args *a, const tnt_program *p)
{
    const char *second = a->operands[a->n_operands - 1];
    const tn_module *x = tnt_read(s, a->operands[0]);
    const tn_module *y = a->n_operands > 1 ? tnt_read(s, second) : x;
    const char *only = tnt_value(a, "function", NULL);
    if (!x || !y)
        return TNT_FAILED;
    const tn_node *n1 = TN_NODE(x), *n2 = TN_NODE(y);
    if (only) {
        n1 = tn_module_get(x, only);
        n2 = tn_module_get(y, only);
        if (!n1 || !n2) {
            fprintf(stderr, "tenon: %s has no function '%s'\n", n1 ? second : a->operands[0], only);
            return TNT_FAILED;
        }
    }
    if (tnt_has(a, "exec"))
        return exec_diff(s, a, x, y, p, only);
    tnb_buf where = {0};
    tn_difference d;
    bool equal = tn_equal_or(s->ctx, n1, n2, false, &where, &d);
    if (equal) {
        puts("structurally equal");
    } else {
        printf("different: %s\n", where.n ? where.s : "");
        show_difference(s, a, &d);
    }
    tnb_buf_free(&where);
    tnt_report(s);
    return equal ? TNT_OK : TNT_FAILED;
}

static int
run(tnt_session *s, const tnt_args *a)
{
    static const char *const compiling[] = {"debug", "tuning-db"};
    tnt_program p;
    for (int i = 0; i < 2 && !tnt_has(a, "target"); i++)
        if (tnt_has(a, compiling[i]))
            return tnt_usage(a->command, "option '--%s' has no effect without '--target'",
                             compiling[i]);
    if (!tnt_has(a, "target"))
        return a->n_operands == 2 ? compare(s, a, NULL)
                                  : tnt_usage(a->command, "a second module is missing");
    if (!tnt_program_open(s, a, a->operands[a->n_operands - 1], &p))
        return tnt_failure();
    int status = compare(s, a, &p);
    tnt_program_close(&p);
    return status;
}

const tnt_command tnt_command_diff = {
    .name = "diff",
    .operands = "A.py [B.py]",
    .summary = "compare two modules, by structure or by execution",
    .details = "Structural equality ignores the names of bound variables; the first difference is "
               "shown with the lines around it in both modules. --exec runs the public functions "
               "of both (or the one of --function) on the reference interpreter and prints "
               "functions run, elements compared and the fraction of NaN. With -t the second "
               "module, or the only one, is compiled for a target and runs on its device.",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .examples = (const char *const[]){"tenon diff a.py b.py",
                                      "compares two modules, ignoring the names of variables",
                                      "tenon diff model.py --exec -t opencl",
                                      "compares a target with the reference interpreter", NULL},
    .run = run,
};
