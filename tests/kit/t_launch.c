/* SPDX-License-Identifier: Apache-2.0 */
/* What lowering says of a launch (TNK_LAUNCH_ATTR): the table of parameters, and the program that gives their values. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include "krun.h"
#include "tenon/core/build.h"
#include "tenon/core/text.h"
#include "tenon/kit/te.h"
#include "tenon/kit/vm.h"

static krun k;

static int
open_all(void **state)
{
    (void)state;
    return krun_open(&k) ? 0 : -1;
}

static int
close_all(void **state)
{
    (void)state;
    krun_close(&k);
    return 0;
}

/* y[i] = x[i] + a, x and y of n floats; `a` is no parameter of the tensor program. */
typedef struct example {
    const tn_node *func;
    const tn_expr *n, *a, *map;
} example;

static const tn_node *
items(const tn_node *const *at, uint32_t n)
{
    return tn_array_of(k.ctx, tn_list_of(k.ctx, at, n));
}

static example
example_program(void)
{
    tn_ctx *ctx = k.ctx;
    example x = {.n = tn_var_dtype(ctx, "n", TNB_I64),
                 .a = tn_var_dtype(ctx, "a", TNB_F32),
                 .map = tn_var_dtype(ctx, "map", TNB_DTYPE(TNB_HANDLE, 64))};
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in =
        tnk_te_input(te, "x", tn_ty_tensor_dims(ctx, tn_list_of(ctx, &x.n, 1), TNB_F32));
    tnk_stage *s = tnk_te_stage(te, "y", &x.n, 1, TNB_F32);
    const tn_node *y = tnk_te_define(s, tn_add(ctx, tnk_te_read(te, in, s->axes[0], NULL), x.a));
    x.func = tnk_te_finish(te, &y, 1);
    x.n = tn_as_buffer(tn_as_prim_func(x.func)->buffers.at[0])->shape.at[0]; /* its own */
    return x;
}

static const tnk_kernel *
lowered(const example *x, const tn_node *launch)
{
    const tn_node *f = tn_func_with_attr(k.ctx, x->func, TNK_LAUNCH_ATTR, launch);
    return tnk_lower_kernel(k.ctx, k.target, k.kind, "f", f);
}

/* a = float32(2 n + 1) */
static const tn_node *
values(const example *x, const tn_expr *of)
{
    const tn_node *pair[] = {x->a, tn_cast_to(k.ctx, TNB_F32,
                                              tn_add(k.ctx, tn_mul(k.ctx, of, tn_i64(k.ctx, 2)),
                                                     tn_i64(k.ctx, 1)))};
    const tn_node *all[] = {items(pair, 2)};
    return items(all, 1);
}

static const tn_node *
map(const example *x, int64_t box, int64_t swizzle)
{
    const tn_node *extent = tn_i64(k.ctx, box);
    return tn_dictv(k.ctx, "var", x->map, "argument", tn_i64(k.ctx, 1), "box", items(&extent, 1),
                    "swizzle", tn_i64(k.ctx, swizzle), "fill", tn_string(k.ctx, "nans"), NULL);
}

static void
refused(const tnk_kernel *kernel, const char *text)
{
    tnb_buf b = {0};
    assert_null(kernel);
    tnb_diags_print(tn_diags(k.ctx), &b);
    if (!b.s || !strstr(b.s, text))
        fail_msg("no '%s' in: %s", text, b.s ? b.s : "nothing");
    tnb_buf_free(&b);
    tnb_diags_clear(tn_diags(k.ctx));
}

static void
test_a_launch_is_described(void **state)
{
    (void)state;
    example x = example_program();
    const tn_node *m = map(&x, 16, 128), *extents[] = {tn_i64(k.ctx, 2)};
    const tnk_kernel *f =
        lowered(&x,
                tn_dictv(k.ctx, "values", values(&x, x.n), "tensor_maps", items(&m, 1), "cluster",
                         items(extents, 1), "shared_bytes", tn_mul(k.ctx, x.n, tn_i64(k.ctx, 4)),
                         "cooperative", tn_i64(k.ctx, 1), "programmatic", tn_i64(k.ctx, 1), NULL));
    if (!f)
        krun_print_errors(&k);
    assert_non_null(f);
    static const tnb_param_kind kinds[] = {TNB_PARAM_BUFFER, TNB_PARAM_BUFFER, TNB_PARAM_SCALAR,
                                           TNB_PARAM_SCALAR, TNB_PARAM_TENSOR_MAP};
    assert_int_equal(f->n_params, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(f->params[i].kind, kinds[i]);
    assert_true(!f->params[0].written && f->params[1].written);
    assert_true(f->params[0].argument == 0 && f->params[1].argument == 1);
    assert_true(f->params[2].var == x.n && f->params[2].value == x.n);
    assert_true(f->params[3].var == x.a);
    assert_string_equal(tn_text(k.ctx, f->params[3].value), "T.Cast(\"float32\", n * 2 + 1)");
    const tnk_param *p = &f->params[4];
    assert_true(p->var == x.map && p->argument == 1 && p->extents.n == 1 && p->strides.n == 0);
    assert_true(p->extents.at[0] == x.n);
    assert_true(p->map.rank == 1 && p->map.box[0] == 16 && p->map.swizzle == 128 &&
                p->map.fill == TNB_MAP_NANS && tnb_dtype_eq(p->map.dtype, TNB_F32));
    assert_true(f->cluster[0] == extents[0] && !f->cluster[1]);
    assert_true(f->cooperative && f->programmatic && f->dyn_shared_bytes);
}

static void
test_what_the_host_does_not_know_is_refused(void **state)
{
    (void)state;
    example x = example_program();
    const tn_expr *other = tn_var_dtype(k.ctx, "other", TNB_I64);
    refused(
        lowered(&x, tn_dictv(k.ctx, "values", values(&x, other), NULL)),
        "the scalar 'a', T.Cast(\"float32\", other * 2 + 1), is not known before the kernel runs");
    refused(lowered(&x, tn_dictv(k.ctx, "values", values(&x, x.n), "shared_bytes", other, NULL)),
            "the size of shared memory, other");
    refused(lowered(&x, tn_dictv(k.ctx, "values", items(&other, 1), NULL)), "values are pairs");
    const tn_node *odd = map(&x, 16, 48), *none = map(&x, 0, 0);
    refused(lowered(&x, tn_dictv(k.ctx, "tensor_maps", items(&odd, 1), NULL)),
            "tensor map 0: its swizzle is 0, 32, 64 or 128 bytes");
    refused(lowered(&x, tn_dictv(k.ctx, "tensor_maps", items(&none, 1), NULL)),
            "the extents of its box are positive");
    refused(lowered(&x, tn_dictv(k.ctx, "tensor_maps", items(&other, 1), NULL)), "it needs 'var'");
}

static void
test_a_dialect_without_tensor_maps_refuses_them(void **state)
{
    (void)state;
    example x = example_program();
    const tn_node *m = map(&x, 16, 0);
    const tnk_kernel *f =
        lowered(&x, tn_dictv(k.ctx, "values", values(&x, x.n), "tensor_maps", items(&m, 1), NULL));
    assert_non_null(f);
    tnk_kernel own = *f;
    tnk_build b = {.ctx = k.ctx, .target = k.target, .jobs = 1};
    tnk_code code;
    tnb_status st = k.kind->codegen->build(k.kind->codegen->self, &b, &own, 1, &code);
    refused(st == TNB_OK ? f : NULL,
            "kernel 'f' takes a tensor map, 'map', which dialect c does not have");
}

static bool
put(void *user, tn_ctx *ctx, const tn_data *d, uint64_t *offset)
{
    (void)user, (void)ctx, (void)d, (void)offset;
    return false;
}

/* The program of main(x, y): f(x, y). */
static tnb_tno_view
compiled(const example *x, const tnk_kernel *kernel)
{
    tn_ctx *ctx = k.ctx;
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), "f", x->func);
    const tn_type *t = tn_ty_tensor_dims(ctx, tn_list_of(ctx, &x->n, 1), TNB_F32);
    const tn_expr *args[] = {tn_var_new(ctx, "x", t), tn_var_new(ctx, "y", t)};
    const tn_expr *call =
        tn_call_of(ctx, tn_global_var_of(ctx, "f"), tn_list_of(ctx, args, 2), NULL,
                   tn_list_of(ctx, NULL, 0), tn_ty_tuple_of(ctx, tn_list_of(ctx, NULL, 0)));
    const tn_node *main_ = tn_function_of(ctx, tn_list_of(ctx, args, 2), call, NULL, true, NULL);
    m = tn_module_set(ctx, m, "main", main_);
    static const char *const names[] = {"f"}, *const publics[] = {"main"};
    tnk_vm_input in = {.module = m,
                       .device = "cpu",
                       .kernels = kernel,
                       .kernel_funcs = names,
                       .n_kernels = 1,
                       .publics = publics,
                       .n_publics = 1,
                       .constants = {put, NULL}};
    tnk_program *p = tnk_program_new(tn_arena(ctx));
    tnb_status st = tnk_vm_build(ctx, &in, p);
    if (st != TNB_OK)
        krun_print_errors(&k);
    assert_int_equal(st, TNB_OK);
    tnb_buf bytes = {0};
    tnb_err err;
    tnb_tno_view view;
    assert_int_equal(tnk_program_write(p, &bytes, &err), TNB_OK);
    st = tnb_tno_verify(tnb_dup(tn_arena(ctx), bytes.s, bytes.n), bytes.n, 0, &view, &err);
    if (st != TNB_OK)
        fail_msg("%s", err.message);
    tnb_buf_free(&bytes);
    return view;
}

static void
test_the_program_gives_every_value(void **state)
{
    (void)state;
    example x = example_program();
    const tn_node *m = map(&x, 16, 128), *extents[] = {tn_i64(k.ctx, 2)};
    const tnk_kernel *f =
        lowered(&x, tn_dictv(k.ctx, "values", values(&x, x.n), "tensor_maps", items(&m, 1),
                             "cluster", items(extents, 1), "shared_bytes",
                             tn_mul(k.ctx, x.n, tn_i64(k.ctx, 4)), NULL));
    assert_non_null(f);
    tnk_kernel own = *f;
    own.grid[0] = x.n;
    tnb_tno_view v = compiled(&x, &own);
    assert_int_equal(v.head.n_kernels, 1);
    assert_int_equal(v.kernels[0].flags, TNB_TNO_GRID | TNB_TNO_CLUSTER | TNB_TNO_SHARED);
    assert_int_equal(v.kernels[0].n_params, 5);
    assert_true(v.head.n_maps == 1 && v.maps[0].box[0] == 16 && v.maps[0].swizzle == 128);
    uint32_t launches = 0, multiplied = 0;
    for (uint32_t i = 0; i < v.head.n_insns; i++) {
        launches += v.insns[i].op == TNB_VM_LAUNCH;
        multiplied += v.insns[i].op == TNB_VM_MULFIT || v.insns[i].op == TNB_VM_MUL;
        if (v.insns[i].op == TNB_VM_LAUNCH) /* x, y, n, a, the map with an extent; sizes */
            assert_int_equal(v.insns[i].aux, 4 + 2 + 6 + 3 + 1);
    }
    assert_int_equal(launches, 1);
    assert_int_equal(multiplied, 2); /* 2 n, 4 n: computed by the program, not by the kernel */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_launch_is_described),
        cmocka_unit_test(test_what_the_host_does_not_know_is_refused),
        cmocka_unit_test(test_a_dialect_without_tensor_maps_refuses_them),
        cmocka_unit_test(test_the_program_gives_every_value),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
