/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: the notation, what matches and what does not, and what a match gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tenon/core/registry.h"
#include "tenon/core/text.h"
#include "tenon/kit/pattern.h"

static tnb_diags *diags;
static tnb_conf *conf;
static tnb_plugins *plugins;
static tn_registry *reg;
static tn_ctx *ctx;
static const tn_module *module;
static const tn_function *fn;
static tnk_graph *graph;
static tnk_match found;

static const char text[] =
    "@I.ir_module\n"
    "class Module:\n"
    "    @R.function\n"
    "    def main(x: R.Tensor((4, 8), 'float32'), w: R.Tensor((8, 8), 'float32'),\n"
    "             h: R.Tensor((4, 8), 'float16'), n: R.Tensor(('n', 8), 'float32')):\n"
    "        cls = Module\n"
    "        with R.dataflow():\n"
    "            mm = R.matmul(x, w)\n"
    "            again = mm\n"
    "            sum = R.add(again, R.const(1.0, 'float32'))\n"
    "            act = R.nn.relu(sum)\n"
    "            parts = R.split(act, indices_or_sections=2, axis=1)\n"
    "            left = parts[0]\n"
    "            pair = (left, left)\n"
    "            cat = R.concat((left, left), axis=1)\n"
    "            square = R.multiply(act, act)\n"
    "            half = R.nn.relu(h)\n"
    "            sym = R.nn.relu(n)\n"
    "            tir = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4, 8), 'float32'))\n"
    "            dps = R.call_dps_packed('lib.f', (x, w), out_ty=R.Tensor((4, 8), 'float32'))\n"
    "            soft = R.nn.softmax(x, axis=-1)\n"
    "            perm = R.permute_dims(w, axes=[1, 0])\n"
    "            out = R.add(square, cat)\n"
    "            R.output(out, sum)\n"
    "        return out\n"
    "    @T.prim_func(private=True)\n"
    "    def twice(a: T.Buffer((4, 8), 'float32'), b: T.Buffer((4, 8), 'float32')):\n"
    "        for i, j in T.grid(4, 8):\n"
    "            with T.sblock('b'):\n"
    "                vi, vj = T.axis.remap('SS', [i, j])\n"
    "                b[vi, vj] = a[vi, vj] * T.float32(2)\n";

static void
print_errors(void)
{
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(ctx), &b);
    fprintf(stderr, "%s", b.s ? b.s : "");
    tnb_buf_free(&b);
}

static int
open_all(void **state)
{
    (void)state;
    tnb_err err = {0};
    tnb_conf_options o = {.only_these = true};
    diags = tnb_diags_new();
    conf = tnb_conf_load(&o, diags);
    if (!conf || tnb_plugins_open(conf, NULL, &plugins, &err) != TNB_OK)
        return -1;
    reg = tn_registry_new(plugins);
    ctx = tn_ctx_new(reg);
    tn_registry_load_all(reg, "op");
    module = tn_read_module(ctx, "text", text, strlen(text));
    if (!module) {
        print_errors();
        return -1;
    }
    fn = tn_as_function(tn_module_get(module, "main"));
    graph = tnk_graph_new(ctx, TN_NODE(fn));
    return 0;
}

static int
close_all(void **state)
{
    (void)state;
    tn_ctx_free(ctx);
    tn_registry_free(reg);
    tnb_plugins_close(plugins);
    tnb_conf_free(conf);
    tnb_diags_free(diags);
    return 0;
}

static const tn_expr *
var(const char *name)
{
    tn_list at = tn_as_bindings_block(tn_as_seq_expr(fn->body)->blocks.at[0])->bindings;
    for (uint32_t i = 0; i < at.n; i++)
        if (strcmp(tn_var_name(tn_as_var_binding(at.at[i])->var), name) == 0)
            return tn_as_var_binding(at.at[i])->var;
    fail_msg("no variable %s", name);
    return NULL;
}

static bool
matches(const char *pattern, const char *name)
{
    const tnk_pat *p = tnk_pat_parse(ctx, pattern);
    if (!p)
        print_errors();
    assert_non_null(p);
    return tnk_pat_match(p, graph, var(name), &found);
}

static void
variables_are_followed(void **state)
{
    (void)state;
    assert_true(matches("nn.relu(add(matmul(x, w), c:const))", "act"));
    assert_ptr_equal(tnk_match_get(&found, "x"), fn->params.at[0]);
    assert_ptr_equal(tnk_match_get(&found, "w"), fn->params.at[1]);
    assert_true(tn_is(tnk_match_value(&found, "c"), TN_KIND_CONSTANT));
    assert_null(tnk_match_get(&found, "nothing"));
    assert_true(matches("nn.relu(s:add(*, *))", "act"));
    assert_ptr_equal(tnk_match_get(&found, "s"), var("sum"));
    assert_non_null(tn_is_call_to(tnk_match_value(&found, "s"), "relax.add"));
    assert_false(matches("nn.relu(add(matmul(x, w), matmul(y, z)))", "act"));
    assert_false(matches("nn.relu(x)", "sum"));
}

static void
arguments_are_counted(void **state)
{
    (void)state;
    assert_false(matches("add(x)", "sum"));
    assert_true(matches("add(x, ...)", "sum"));
    assert_true(matches("add(...)", "sum"));
    assert_false(matches("add(x, y, z)", "sum"));
}

static void
alternatives_are_all_tried(void **state)
{
    (void)state;
    assert_true(matches("add(c:const, x) | add(x2, c2:const)", "sum"));
    assert_null(tnk_match_get(&found, "c"));
    assert_non_null(tnk_match_get(&found, "c2"));
    /* the first choice of the inner alternative fits by itself, but not what stands beside it */
    assert_true(matches("multiply(a:nn.relu(*) | b:*, exp(*) | c:*)", "square"));
    assert_true(matches("nn.relu((x | add(x, y)){uses=1})", "act"));
    assert_false(matches("nn.relu(add(*, *) | matmul(*, *)) | nn.gelu(*)", "left"));
}

static void
one_name_one_value(void **state)
{
    (void)state;
    assert_true(matches("multiply(v, v)", "square"));
    assert_false(matches("add(v, v)", "out"));
}

static void
tuples_and_items(void **state)
{
    (void)state;
    assert_true(matches("(a, b)", "pair"));
    assert_false(matches("(a, b, c)", "pair"));
    assert_false(matches("(a,)", "pair"));
    assert_true(matches("split(a, ...)[0]", "left"));
    assert_false(matches("split(a, ...)[1]", "left"));
    assert_true(matches("split(a, ...)[*]", "left"));
    assert_true(matches("concat((a, a))", "cat"));
}

static void
constraints(void **state)
{
    (void)state;
    assert_true(matches("nn.relu(x{dtype=float16})", "half"));
    assert_false(matches("nn.relu(x{dtype=float16})", "act"));
    assert_true(matches("nn.relu(x){ndim=2}", "act"));
    assert_false(matches("nn.relu(x){ndim=3}", "act"));
    assert_true(matches("nn.relu(x){shape=[4, _]}", "act"));
    assert_false(matches("nn.relu(x){shape=[5, _]}", "act"));
    assert_true(matches("nn.relu(x){shape=[_, 8]}", "sym"));
    assert_false(matches("nn.relu(x){shape=[4, 8]}", "sym"));
    assert_true(matches("nn.softmax(x){axis=-1}", "soft"));
    assert_false(matches("nn.softmax(x){axis=0}", "soft"));
    assert_true(matches("permute_dims(x){axes=[1, 0]}", "perm"));
    assert_false(matches("permute_dims(x){axes=[0, 1]}", "perm"));
    assert_true(matches("split(x, ...){axis=1, uses=1}", "parts"));
    assert_false(matches("split(x, ...){axis=1, uses=2}", "parts"));
}

static void
programs_and_packed_functions(void **state)
{
    (void)state;
    assert_true(matches("call_tir(\"twice\", x)", "tir"));
    assert_true(matches("call_tir(\"tw*\", ...)", "tir"));
    assert_false(matches("call_tir(\"once\", x)", "tir"));
    assert_true(matches("t:call_tir(\"twice\", x)", "tir"));
    assert_null(tnk_match_program(&found, tnk_match_value(&found, "t"))); /* no module told */
    tnk_graph *inside = tnk_graph_in(ctx, module, TN_NODE(fn));
    assert_ptr_equal(tnk_graph_module(inside), module);
    assert_true(
        tnk_pat_match(tnk_pat_parse(ctx, "t:call_tir(\"*\", x)"), inside, var("tir"), &found));
    assert_ptr_equal(tnk_match_program(&found, tnk_match_value(&found, "t")),
                     tn_module_get(module, "twice"));
    assert_null(tnk_match_program(&found, tnk_match_value(&found, "x")));
    assert_true(matches("extern(\"lib.f\", x, w)", "dps"));
    assert_false(matches("extern(\"lib.g\", x, w)", "dps"));
    assert_false(matches("extern(\"twice\", x)", "tir"));
}

static void
inner_values_that_leak(void **state)
{
    (void)state;
    assert_true(matches("nn.relu(add(*, *))", "act")); /* sum outlives the block */
    assert_true(tnk_match_leaks(&found));
    assert_true(matches("split(nn.relu(*), ...)", "parts")); /* act is used by square too */
    assert_true(tnk_match_leaks(&found));
    assert_true(matches("split(nn.relu(*), ...)[0]", "left"));
    assert_true(tnk_match_leaks(&found));
    assert_true(matches("split(act, ...)[0]", "left"));
    assert_false(tnk_match_leaks(&found));
    assert_int_equal(tnk_graph_uses(graph, var("act")), 3);
    assert_ptr_equal(tnk_graph_user(graph, var("mm"), 0), var("again"));
}

static bool
is_wide(const tnk_match *m, const tnk_match_item *item, void *user)
{
    (void)m;
    tn_list dims;
    int64_t n;
    return tn_type_dims(item->leaf->type, &dims) && tn_int_value(dims.at[dims.n - 1], &n) &&
           n >= *(int64_t *)user;
}

static void
predicates(void **state)
{
    (void)state;
    int64_t width = 8;
    const tnk_pat *x = tnk_pat_where(tnk_pat_any(ctx), is_wide, &width);
    const tnk_pat *p = tnk_pat_op(ctx, "nn.relu", &x, 1, false);
    assert_true(tnk_pat_match(p, graph, var("act"), &found));
    width = 9;
    assert_false(tnk_pat_match(p, graph, var("act"), &found));
}

/* text, what the message holds */
static const char *const mistakes[][2] = {
    {"nn.relu(x", "column 10: ',' or ')' expected, found the end"},
    {"nn.rleu(x)", "an operator (such as"},
    {"", "a pattern expected, found the end"},
    {"nn.relu(x) y", "column 12: the end expected"},
    {"a:nn.relu(a:*)", "a name other than a"},
    {"x{dtype=float17}", "a data type"},
    {"x{axis=1}", "an operator call before the attribute"},
    {"nn.relu(x){axis=}", "a value"},
    {"nn.relu(x){axis=[1}", "column 19: a value expected"},
    {"call_tir(f)", "a name in quotes"},
    {"x{shape=[1,2}", "expected"},
    {"(x, ...)", "a tuple without '...'"},
    {"x[a]", "a number"},
    {"(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((x,", "at most 64 levels"},
};

static void
mistakes_are_located(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        tnb_diags_clear(tn_diags(ctx));
        if (tnk_pat_parse(ctx, mistakes[i][0]))
            fail_msg("'%s' was taken", mistakes[i][0]);
        assert_int_equal(tnb_diags_errors(tn_diags(ctx)), 1);
        const char *said = tnb_diags_get(tn_diags(ctx), 0)->message;
        if (!strstr(said, mistakes[i][1]))
            fail_msg("'%s': %s", mistakes[i][0], said);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_followed),
        cmocka_unit_test(arguments_are_counted),
        cmocka_unit_test(alternatives_are_all_tried),
        cmocka_unit_test(one_name_one_value),
        cmocka_unit_test(tuples_and_items),
        cmocka_unit_test(constraints),
        cmocka_unit_test(programs_and_packed_functions),
        cmocka_unit_test(inner_values_that_leak),
        cmocka_unit_test(predicates),
        cmocka_unit_test(mistakes_are_located),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
