/* SPDX-License-Identifier: Apache-2.0 */
/* Graph functions in the interpreter: operators, symbolic shapes, calls of every sort, loops as
 * recursion, and modules in virtual-machine form.
 */
#include "tinterp.h"

static int
setup(void **state)
{
    *state = tester_new();
    return 0;
}

static int
teardown(void **state)
{
    tester_free(*state);
    return 0;
}

#define ADD_ONE                                          \
    "    @T.prim_func(private=True)\n"                   \
    "    def add_one(a: T.handle, b: T.handle):\n"       \
    "        n = T.int64()\n"                            \
    "        A = T.match_buffer(a, (n,), \"float32\")\n" \
    "        B = T.match_buffer(b, (n,), \"float32\")\n" \
    "        for i in range(n):\n"                       \
    "            B[i] = A[i] + T.float32(1)\n"

static void
expect(tester *t, const tn_expr *v, uint64_t n, const double *want)
{
    assert_non_null(tn_as_constant(v));
    assert_int_equal(tn_as_constant(v)->data->n_elems, n);
    for (uint64_t i = 0; i < n; i++)
        if (tester_at(t, v, i) != want[i])
            fail_msg("element %llu is %g, not %g", (unsigned long long)i, tester_at(t, v, i),
                     want[i]);
}

static void
tensor_programs_with_symbols(void **state)
{
    tester *t = *state;
    tester_load(
        t, ADD_ONE
        "    @R.function\n"
        "    def main(x: R.Tensor((\"n\",), \"float32\")) -> R.Tensor((\"n\",), \"float32\"):\n"
        "        n = T.int64()\n"
        "        cls = Module\n"
        "        with R.dataflow():\n"
        "            y = R.call_tir(cls.add_one, (x,), out_ty=R.Tensor((n,), dtype=\"float32\"))\n"
        "            z = R.call_tir(cls.add_one, (y,), out_ty=R.Tensor((n,), dtype=\"float32\"))\n"
        "            R.output(z)\n"
        "        return z\n");
    expect(t, RUN(t, "main", VEC(t, TNB_F32, 3, 1, 2, 5)), 3, (const double[]){3, 4, 7});
    FAILS(t, "main", PARTS("main", "'x'", "rank 1"),
          tester_tensor(t, TNB_F32, (int64_t[]){1, 3}, 2, NULL, 0));
    FAILS(t, "main", PARTS("main", "'x'", "float32"), VEC(t, TNB_I32, 3, 1));
}

static void
extents_must_agree(void **state)
{
    tester *t = *state;
    tester_load(t, "    @R.function\n"
                   "    def main(x: R.Tensor((\"n\",), \"float32\"), y: R.Tensor((\"n + 1\",), "
                   "\"float32\")) -> R.Shape([\"n * 2\"]):\n"
                   "        n = T.int64()\n"
                   "        s = R.shape([n * 2])\n"
                   "        return s\n");
    const tn_expr *r = RUN(t, "main", VEC(t, TNB_F32, 3, 0), VEC(t, TNB_F32, 4, 0));
    assert_true(tn_is_int_const(tn_as_shape_expr(r)->values.at[0], 6));
    FAILS(t, "main", PARTS("'y'", "extent 3", "expected 4"), VEC(t, TNB_F32, 3, 0),
          VEC(t, TNB_F32, 3, 0));
}

static void
operators_through_their_legalization(void **state)
{
    tester *t = *state;
    tester_load(t, "    @R.function\n"
                   "    def main(x: R.Tensor((\"n\", 2), \"float32\"), w: R.Tensor((2, 3), "
                   "\"float32\")) -> R.Tensor((\"n\", 3), \"float32\"):\n"
                   "        with R.dataflow():\n"
                   "            y = R.matmul(x, w)\n"
                   "            z = R.nn.relu(R.add(y, R.const(-10, \"float32\")))\n"
                   "            R.output(z)\n"
                   "        return z\n");
    const tn_expr *x =
        tester_tensor(t, TNB_F32, (int64_t[]){2, 2}, 2, (const double[]){1, 2, 3, 4}, 4);
    const tn_expr *w =
        tester_tensor(t, TNB_F32, (int64_t[]){2, 3}, 2, (const double[]){1, 2, 3, 4, 5, 6}, 6);
    /* [9 12 15; 19 26 33] - 10, cut off at 0 */
    expect(t, RUN(t, "main", x, w), 6, (const double[]){0, 2, 5, 9, 16, 23});
}

static void
branches_and_tuples(void **state)
{
    tester *t = *state;
    tester_load(
        t, ADD_ONE
        "    @R.function\n"
        "    def main(c: R.Tensor((), \"bool\"), x: R.Tensor((2,), \"float32\")) -> "
        "R.Tuple(R.Tensor((2,), \"float32\"), R.Tensor((2,), \"float32\")):\n"
        "        cls = Module\n"
        "        if c:\n"
        "            y = R.call_tir(cls.add_one, (x,), out_ty=R.Tensor((2,), dtype=\"float32\"))\n"
        "            r = y\n"
        "        else:\n"
        "            r = x\n"
        "        p = (r, x)\n"
        "        q = p[0]\n"
        "        s = (x, q)\n"
        "        return s\n");
    const tn_expr *x = VEC(t, TNB_F32, 2, 4, 5);
    const tn_expr *yes = tester_tensor(t, TNB_B8, NULL, 0, (const double[]){1}, 1);
    const tn_expr *no = tester_tensor(t, TNB_B8, NULL, 0, (const double[]){0}, 1);
    const tn_tuple *r = tn_as_tuple(RUN(t, "main", yes, x));
    expect(t, r->fields.at[0], 2, (const double[]){4, 5});
    expect(t, r->fields.at[1], 2, (const double[]){5, 6});
    r = tn_as_tuple(RUN(t, "main", no, x));
    expect(t, r->fields.at[1], 2, (const double[]){4, 5});
}

/* Ten thousand turns: the stack does not grow, nor are the turns' values kept. */
static void
loops_are_tail_calls(void **state)
{
    tester *t = *state;
    tester_load(
        t, "    @T.prim_func(private=True)\n"
           "    def step(i: T.Buffer((), \"int64\"), o: T.Buffer((), \"int64\")):\n"
           "        o[()] = i[()] - T.int64(1)\n"
           "    @T.prim_func(private=True)\n"
           "    def more(i: T.Buffer((), \"int64\"), o: T.Buffer((), \"bool\")):\n"
           "        o[()] = i[()] > T.int64(0)\n"
           "    @T.prim_func(private=True)\n"
           "    def grow(x: T.Buffer((2,), \"float32\"), o: T.Buffer((2,), \"float32\")):\n"
           "        for k in range(2):\n"
           "            o[k] = x[k] + T.float32(1)\n"
           "    @R.function(private=True)\n"
           "    def loop(i: R.Tensor((), \"int64\"), x: R.Tensor((2,), \"float32\")) -> "
           "R.Tensor((2,), \"float32\"):\n"
           "        cls = Module\n"
           "        c = R.call_tir(cls.more, (i,), out_ty=R.Tensor((), dtype=\"bool\"))\n"
           "        if c:\n"
           "            j = R.call_tir(cls.step, (i,), out_ty=R.Tensor((), dtype=\"int64\"))\n"
           "            y = R.call_tir(cls.grow, (x,), out_ty=R.Tensor((2,), dtype=\"float32\"))\n"
           "            r: R.Tensor((2,), dtype=\"float32\") = cls.loop(j, y)\n"
           "        else:\n"
           "            r = x\n"
           "        return r\n"
           "    @R.function\n"
           "    def main(n: R.Tensor((), \"int64\"), x: R.Tensor((2,), \"float32\")) -> "
           "R.Tensor((2,), \"float32\"):\n"
           "        cls = Module\n"
           "        r: R.Tensor((2,), dtype=\"float32\") = cls.loop(n, x)\n"
           "        return r\n");
    const tn_expr *n = tester_tensor(t, TNB_I64, NULL, 0, (const double[]){10000}, 1);
    expect(t, RUN(t, "main", n, VEC(t, TNB_F32, 2, 0, 0.5)), 2, (const double[]){10000, 10000.5});
}

static void
in_place_calls(void **state)
{
    tester *t = *state;
    tester_load(t,
                "    @T.prim_func(private=True)\n"
                "    def both(A: T.Buffer((2,), \"float32\"), B: T.Buffer((2,), \"float32\")):\n"
                "        for i in range(2):\n"
                "            B[i] = A[i] * T.float32(2)\n"
                "            A[i] = A[i] + T.float32(1)\n"
                "    @R.function(pure=False)\n"
                "    def main(x: R.Tensor((2,), \"float32\")) -> R.Tuple(R.Tensor((2,), "
                "\"float32\"), R.Tensor((2,), \"float32\")):\n"
                "        cls = Module\n"
                "        r = R.call_tir_inplace(cls.both, (x,), out_ty=[R.Tensor((2,), "
                "dtype=\"float32\"), R.Tensor((2,), dtype=\"float32\")], inplace_indices=[0, -1])\n"
                "        return r\n");
    const tn_expr *x = VEC(t, TNB_F32, 2, 3, 4);
    const tn_tuple *r = tn_as_tuple(RUN(t, "main", x));
    expect(t, r->fields.at[0], 2, (const double[]){4, 5});
    expect(t, r->fields.at[1], 2, (const double[]){6, 8});
    expect(t, x, 2, (const double[]){3, 4}); /* a caller's constant stays */
}

static void
closures(void **state)
{
    tester *t = *state;
    tester_load(
        t, ADD_ONE
        "    @R.function(private=True)\n"
        "    def pick(a: R.Tensor((2,), \"float32\"), b: R.Tensor((2,), \"float32\")) -> "
        "R.Tensor((2,), \"float32\"):\n"
        "        cls = Module\n"
        "        y = R.call_tir(cls.add_one, (b,), out_ty=R.Tensor((2,), dtype=\"float32\"))\n"
        "        return y\n"
        "    @R.function(pure=False)\n"
        "    def main(x: R.Tensor((2,), \"float32\"), z: R.Tensor((2,), \"float32\")) -> "
        "R.Tensor((2,), \"float32\"):\n"
        "        cls = Module\n"
        "        f = R.make_closure(cls.pick, (x,))\n"
        "        r = R.invoke_closure(f, (z,), ty_args=R.Tensor((2,), dtype=\"float32\"))\n"
        "        return r\n");
    expect(t, RUN(t, "main", VEC(t, TNB_F32, 2, 1, 2), VEC(t, TNB_F32, 2, 7, 8)), 2,
           (const double[]){8, 9});
}

/* What finalized modules look like: explicit memory, a heap of symbols, packed calls. */
static void
virtual_machine_form(void **state)
{
    tester *t = *state;
    tester_load(
        t,
        "    @T.prim_func\n"
        "    def add_one(a: T.handle, b: T.handle):\n"
        "        n = T.int64()\n"
        "        A = T.match_buffer(a, (n,), \"float32\")\n"
        "        B = T.match_buffer(b, (n,), \"float32\")\n"
        "        for i in range(n):\n"
        "            B[i] = A[i] + T.float32(1)\n"
        "    @T.prim_func\n"
        "    def shape_func(H: T.Buffer((T.int64(2),), \"int64\")):\n"
        "        T.func_attr({\"tirx.is_host_func\": True})\n"
        "        H[T.int64(1)] = H[T.int64(0)] * T.int64(4)\n"
        "    @R.function(pure=False)\n"
        "    def main(x: R.Tensor(dtype=\"float32\", ndim=1)) -> R.Tensor(dtype=\"float32\", "
        "ndim=1):\n"
        "        cls = Module\n"
        "        heap: R.Tensor(dtype=\"int64\", ndim=1) = "
        "R.call_builtin_with_ctx(\"vm.builtin.alloc_shape_heap\", (R.prim_value(2),), "
        "ty_args=(R.Tensor(dtype=\"int64\", ndim=1),))\n"
        "        _: R.Tuple = R.call_packed(\"vm.builtin.check_tensor_info\", x, R.prim_value(1), "
        "R.dtype(\"float32\"), R.str(\"main x\"), ty_args=(R.Tuple,))\n"
        "        _1: R.Tuple = R.call_packed(\"vm.builtin.match_shape\", x, heap, R.prim_value(1), "
        "R.prim_value(1), R.prim_value(0), R.str(\"main x\"), ty_args=(R.Tuple,))\n"
        "        _2: R.Tuple = cls.shape_func(heap)\n"
        "        size: R.Shape(ndim=1) = R.call_packed(\"vm.builtin.make_shape\", heap, "
        "R.prim_value(1), R.prim_value(1), R.prim_value(1), ty_args=(R.Shape(ndim=1),))\n"
        "        storage: R.Any = R.vm.alloc_storage(size, R.prim_value(0), R.dtype(\"uint8\"), "
        "R.str(\"global\"))\n"
        "        shape: R.Shape(ndim=1) = R.call_packed(\"vm.builtin.make_shape\", heap, "
        "R.prim_value(1), R.prim_value(1), R.prim_value(0), ty_args=(R.Shape(ndim=1),))\n"
        "        y: R.Tensor(dtype=\"float32\", ndim=1) = R.vm.alloc_tensor(storage, "
        "R.prim_value(0), shape, R.dtype(\"float32\"))\n"
        "        _3: R.Tuple = cls.add_one(x, y)\n"
        "        _4: R.Tuple = R.vm.kill_object(storage)\n"
        "        two: R.Tensor(dtype=\"float32\", ndim=2) = R.call_packed(\"vm.builtin.reshape\", "
        "y, R.shape([1, 3]), ty_args=(R.Tensor(dtype=\"float32\", ndim=2),))\n"
        "        back: R.Tensor(dtype=\"float32\", ndim=1) = R.call_packed(\"vm.builtin.reshape\", "
        "two, shape, ty_args=(R.Tensor(dtype=\"float32\", ndim=1),))\n"
        "        return back\n");
    expect(t, RUN(t, "main", VEC(t, TNB_F32, 3, 1, 2, 3)), 3, (const double[]){2, 3, 4});
}

/* A library call means the function of its name. */
static void
library_calls_have_a_meaning(void **state)
{
    tester *t = *state;
    tester_load(
        t, ADD_ONE
        "    @R.function\n"
        "    def fancy(x: R.Tensor((2,), \"float32\")) -> R.Tensor((2,), \"float32\"):\n"
        "        cls = Module\n"
        "        y = R.call_tir(cls.add_one, (x,), out_ty=R.Tensor((2,), dtype=\"float32\"))\n"
        "        return y\n"
        "    @R.function\n"
        "    def main(x: R.Tensor((2,), \"float32\")) -> R.Tensor((2,), \"float32\"):\n"
        "        y = R.call_dps_packed(\"fancy\", (x,), out_ty=R.Tensor((2,), dtype=\"float32\"))\n"
        "        return y\n"
        "    @R.function\n"
        "    def lost(x: R.Tensor((2,), \"float32\")) -> R.Tensor((2,), \"float32\"):\n"
        "        y = R.call_dps_packed(\"no_such\", (x,), out_ty=R.Tensor((2,), "
        "dtype=\"float32\"))\n"
        "        return y\n");
    expect(t, RUN(t, "main", VEC(t, TNB_F32, 2, 1, 2)), 2, (const double[]){2, 3});
    FAILS(t, "lost", PARTS("lost", "no packed function 'no_such'"), VEC(t, TNB_F32, 2, 1, 2));
}

static void
match_cast_binds_and_checks(void **state)
{
    tester *t = *state;
    tester_load(t, "    @R.function\n"
                   "    def main(x: R.Tensor(ndim=2, dtype=\"float32\")) -> R.Shape(ndim=1):\n"
                   "        n, m = T.int64(), T.int64()\n"
                   "        y = R.match_cast(x, R.Tensor((n, m), \"float32\"))\n"
                   "        z = R.match_cast(y, R.Tensor((m, n), \"float32\"))\n"
                   "        s = R.shape([n * m + 1])\n"
                   "        return s\n");
    const tn_expr *r = RUN(t, "main", tester_tensor(t, TNB_F32, (int64_t[]){3, 3}, 2, NULL, 0));
    assert_true(tn_is_int_const(tn_as_shape_expr(r)->values.at[0], 10));
    FAILS(t, "main", PARTS("main", "extent 2", "expected 3"),
          tester_tensor(t, TNB_F32, (int64_t[]){2, 3}, 2, NULL, 0));
}

/* The service behind constants that are results of programs. */
static void
deferred_constants(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((3,), \"float32\"), B: T.Buffer((3,), \"float32\")):\n"
                   "        for i in range(3):\n"
                   "            B[i] = A[2 - i] * T.float32(2)\n");
    const tn_expr *a = VEC(t, TNB_F32, 3, 1, 2, 3);
    const tn_data *in = tn_as_constant(a)->data;
    int64_t n = 3;
    const tn_data *d =
        tn_data_deferred(t->ctx, TNB_F32, 1, &n, tn_module_get(t->m, "f"), &in, 1, 0);
    expect(t, tn_constant_of(t->ctx, d), 3, (const double[]){6, 4, 2});
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(tensor_programs_with_symbols),
        TEST(extents_must_agree),
        TEST(operators_through_their_legalization),
        TEST(branches_and_tuples),
        TEST(loops_are_tail_calls),
        TEST(in_place_calls),
        TEST(closures),
        TEST(virtual_machine_form),
        TEST(library_calls_have_a_meaning),
        TEST(match_cast_binds_and_checks),
        TEST(deferred_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
