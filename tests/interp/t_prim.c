/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor programs in the interpreter: every kind of statement and expression by formulas, and every
 * check by a program that breaks it. */
#include "tinterp.h"

#include <math.h>

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

static void
blocks_with_reduction(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func(s_tir=True)\n"
                   "    def mm(A: T.Buffer((3, 4), \"float32\"), B: T.Buffer((4, 5), \"float32\"), "
                   "C: T.Buffer((3, 5), \"float32\")):\n"
                   "        for i, j, k in T.grid(3, 5, 4):\n"
                   "            with T.sblock(\"mm\"):\n"
                   "                vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                   "                with T.init():\n"
                   "                    C[vi, vj] = T.float32(0)\n"
                   "                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n");
    double a[12], b[20];
    for (int i = 0; i < 12; i++)
        a[i] = i - 5;
    for (int i = 0; i < 20; i++)
        b[i] = 0.5 * i - 3;
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){3, 4}, 2, a, 12);
    const tn_expr *B = tester_tensor(t, TNB_F32, (int64_t[]){4, 5}, 2, b, 20);
    const tn_expr *C = tester_tensor(t, TNB_F32, (int64_t[]){3, 5}, 2, NULL, 0);
    RUN(t, "mm", A, B, C);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 5; j++) {
            float want = 0;
            for (int k = 0; k < 4; k++)
                want += (float)a[i * 4 + k] * (float)b[k * 5 + j];
            assert_true(tester_at(t, C, (uint64_t)(i * 5 + j)) == (double)want);
        }
    }
    /* 60 turns of: three loads, a store, two operations; 15 initial stores */
    assert_in_range(t->opt.spent, 60 * 6 + 15, 60 * 10 + 60);
}

/* Over nothing the result is the initial value, but only where there is a result. */
static void
reductions_over_nothing(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func(s_tir=True)\n"
                   "    def sum(a: T.handle, C: T.Buffer((5,), \"float32\")):\n"
                   "        n = T.int64()\n"
                   "        A = T.match_buffer(a, (5, n), \"float32\")\n"
                   "        for i, j, k in T.grid(2, 3, n):\n"
                   "            with T.sblock(\"sum\"):\n"
                   "                vi = T.axis.spatial(5, i * 3 + j)\n"
                   "                vk = T.axis.reduce(n, k)\n"
                   "                T.where(i * 3 + j < 5)\n"
                   "                with T.init():\n"
                   "                    C[vi] = T.float32(7)\n"
                   "                C[vi] = C[vi] + A[vi, vk]\n");
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){5, 0}, 2, NULL, 0);
    const tn_expr *C = VEC(t, TNB_F32, 5, 1, 2, 3, 4, 5);
    RUN(t, "sum", A, C);
    for (uint64_t i = 0; i < 5; i++)
        assert_true(tester_at(t, C, i) == 7);
}

static void
symbolic_shapes_and_allocation(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func(s_tir=True)\n"
                   "    def f(a: T.handle, b: T.handle):\n"
                   "        n = T.int64()\n"
                   "        A = T.match_buffer(a, (n,), \"float32\")\n"
                   "        B = T.match_buffer(b, (n * 2,), \"float32\")\n"
                   "        tmp = T.sblock_alloc_buffer((n,), \"float32\")\n"
                   "        for i in range(n):\n"
                   "            with T.sblock(\"t\"):\n"
                   "                vi = T.axis.spatial(n, i)\n"
                   "                tmp[vi] = A[vi] * T.float32(3)\n"
                   "        for i in range(n * 2):\n"
                   "            with T.sblock(\"b\"):\n"
                   "                vi = T.axis.spatial(n * 2, i)\n"
                   "                B[vi] = tmp[vi // 2] + T.Cast(\"float32\", vi)\n");
    const tn_expr *A = VEC(t, TNB_F32, 3, 1, 2, 4), *B = VEC(t, TNB_F32, 6, 0);
    RUN(t, "f", A, B);
    static const double want[] = {3, 4, 8, 9, 16, 17};
    for (uint64_t i = 0; i < 6; i++)
        assert_true(tester_at(t, B, i) == want[i]);
    const tn_expr *wrong = VEC(t, TNB_F32, 5, 0);
    FAILS(t, "f", PARTS("'B'"), A, wrong);
}

static void
integers_wrap(void **state)
{
    tester *t = *state;
    static const struct {
        const char *dtype;
        tnb_dtype d;
        double a, b;
        double sum, product, fdiv, fmod;
    } cases[] = {
        {"int8", {TNB_INT, 8, 1}, 100, 100, -56, 16, 1, 0},
        {"uint8", {TNB_UINT, 8, 1}, 200, 100, 44, 32, 2, 0},
        {"int16", {TNB_INT, 16, 1}, -32768, -1, 32767, -32768, -32768, 0},
        {"uint16", {TNB_UINT, 16, 1}, 65535, 2, 1, 65534, 32767, 1},
        {"int32", {TNB_INT, 32, 1}, 2147483647, 2, -2147483647, -2, 1073741823, 1},
        {"uint32", {TNB_UINT, 32, 1}, 4294967295.0, 2, 1, 4294967294.0, 2147483647, 1},
        {"int64", {TNB_INT, 64, 1}, -7, 2, -5, -14, -4, 1},
        {"int32", {TNB_INT, 32, 1}, 7, -2, 5, -14, -4, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "    @T.prim_func\n"
                 "    def f(A: T.Buffer((2,), \"%s\"), B: T.Buffer((4,), \"%s\")):\n"
                 "        B[0] = A[0] + A[1]\n        B[1] = A[0] * A[1]\n"
                 "        B[2] = A[0] // A[1]\n        B[3] = A[0] %% A[1]\n",
                 cases[i].dtype, cases[i].dtype);
        tester_load(t, text);
        const tn_expr *A = VEC(t, cases[i].d, 2, cases[i].a, cases[i].b),
                      *B = VEC(t, cases[i].d, 4, 0);
        RUN(t, "f", A, B);
        assert_true(tester_at(t, B, 0) == cases[i].sum);
        assert_true(tester_at(t, B, 1) == cases[i].product);
        assert_true(tester_at(t, B, 2) == cases[i].fdiv);
        assert_true(tester_at(t, B, 3) == cases[i].fmod);
    }
}

static void
floats_round_after_each_operation(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((2,), \"float32\"), B: T.Buffer((3,), \"float32\"), H: "
                   "T.Buffer((2,), \"float16\"), G: T.Buffer((1,), \"bfloat16\")):\n"
                   "        B[0] = A[0] * A[0] - A[1]\n"
                   "        B[1] = T.exp(A[0])\n"
                   "        B[2] = T.sqrt(A[0])\n"
                   "        H[0] = T.Cast(\"float16\", A[0]) * T.Cast(\"float16\", A[0])\n"
                   "        H[1] = T.exp(T.Cast(\"float16\", A[0]))\n"
                   "        G[0] = T.Cast(\"bfloat16\", A[0]) + T.Cast(\"bfloat16\", A[1])\n");
    float x = 1.1f, y = 1.21f;
    const tn_expr *A = VEC(t, TNB_F32, 2, (double)x, (double)y), *B = VEC(t, TNB_F32, 3, 0);
    const tn_expr *H = VEC(t, TNB_F16, 2, 0), *G = VEC(t, TNB_BF16, 1, 0);
    RUN(t, "f", A, B, H, G);
    volatile float square = x * x; /* not fused */
    assert_true(tester_at(t, B, 0) == (double)(square - y));
    assert_true(tester_at(t, B, 1) == (double)(float)exp((double)x));
    assert_true(tester_at(t, B, 2) == (double)sqrtf(x));
    float h = tnb_half_to_float(tnb_float_to_half(x));
    assert_true(tester_at(t, H, 0) == (double)tnb_half_to_float(tnb_float_to_half(h * h)));
    assert_true(tester_at(t, H, 1) ==
                (double)tnb_half_to_float(tnb_float_to_half((float)exp((double)h))));
    float b =
        tnb_bfloat_to_float(tnb_float_to_bfloat(x)) + tnb_bfloat_to_float(tnb_float_to_bfloat(y));
    assert_true(tester_at(t, G, 0) == (double)tnb_bfloat_to_float(tnb_float_to_bfloat(b)));
}

static void
casts(void **state)
{
    tester *t = *state;
    tester_load(
        t,
        "    @T.prim_func\n"
        "    def f(A: T.Buffer((4,), \"float32\"), I: T.Buffer((4,), \"int32\"), U: T.Buffer((4,), "
        "\"uint8\"), P: T.Buffer((4,), \"bool\"), D: T.Buffer((4,), \"float64\")):\n"
        "        for i in range(4):\n"
        "            I[i] = T.Cast(\"int32\", A[i])\n"
        "            U[i] = T.Cast(\"uint8\", I[i])\n"
        "            P[i] = T.Cast(\"bool\", A[i])\n"
        "            D[i] = T.Cast(\"float64\", A[i]) / T.float64(3)\n");
    const tn_expr *A = VEC(t, TNB_F32, 4, -1.75, 0, 300.5, 7), *I = VEC(t, TNB_I32, 4, 0),
                  *U = VEC(t, TNB_U8, 4, 0);
    const tn_expr *P = VEC(t, TNB_B8, 4, 0), *D = VEC(t, TNB_F64, 4, 0);
    RUN(t, "f", A, I, U, P, D);
    static const double ints[] = {-1, 0, 300, 7}, bytes[] = {255, 0, 44, 7}, bools[] = {1, 0, 1, 1};
    static const double in[] = {-1.75, 0, 300.5, 7};
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(tester_at(t, I, i) == ints[i]);
        assert_true(tester_at(t, U, i) == bytes[i]);
        assert_true(tester_at(t, P, i) == bools[i]);
        assert_true(tester_at(t, D, i) == in[i] / 3);
    }
}

static void
control_flow(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((8,), \"int32\"), n: T.int32):\n"
                   "        count: T.int32 = 0\n"
                   "        while count < n:\n"
                   "            if count == 5:\n"
                   "                break\n"
                   "            if count % 2 == 0:\n"
                   "                A[count] = count * 10\n"
                   "            else:\n"
                   "                A[count] = 0 - count\n"
                   "            count = count + 1\n"
                   "        for i in range(8):\n"
                   "            if i < 6:\n"
                   "                continue\n"
                   "            A[i] = T.if_then_else(i < 7, 100, T.Select(i == 7, 200, 300))\n");
    const tn_expr *A = VEC(t, TNB_I32, 8, 7);
    RUN(t, "f", A, tn_i32(t->ctx, 7));
    static const double want[] = {0, -1, 20, -3, 40, 7, 100, 200};
    for (uint64_t i = 0; i < 8; i++)
        assert_true(tester_at(t, A, i) == want[i]);
}

static void
vectors(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n"
                   "        for i in range(4):\n"
                   "            B[i * 4:i * 4 + 4] = A[T.Ramp(i * 4, 1, 4)] * "
                   "T.Broadcast(T.float32(2), 4) + T.Cast(\"float32x4\", T.Ramp(i, 1, 4))\n");
    double a[16];
    for (int i = 0; i < 16; i++)
        a[i] = i * 0.25;
    const tn_expr *A = tester_vector(t, TNB_F32, 16, a, 16), *B = VEC(t, TNB_F32, 16, 0);
    RUN(t, "f", A, B);
    for (uint64_t i = 0; i < 16; i++)
        assert_true(tester_at(t, B, i) == a[i] * 2 + (double)(i / 4 + i % 4));
}

static void
views_share_memory(void **state)
{
    tester *t = *state;
    tester_load(
        t,
        "    @T.prim_func\n"
        "    def f(A: T.Buffer((4, 4), \"float32\"), B: T.Buffer((4,), \"float32\")):\n"
        "        F = T.decl_buffer((16,), \"float32\", data=A.data)\n"
        "        C = T.decl_buffer((4,), \"float32\", data=A.data, strides=(4,), elem_offset=1)\n"
        "        F[5] = T.float32(9)\n"
        "        for i in range(4):\n"
        "            B[i] = C[i]\n");
    double a[16];
    for (int i = 0; i < 16; i++)
        a[i] = i;
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){4, 4}, 2, a, 16),
                  *B = VEC(t, TNB_F32, 4, 0);
    RUN(t, "f", A, B);
    static const double want[] = {1, 9, 9, 13};
    for (uint64_t i = 0; i < 4; i++)
        assert_true(tester_at(t, B, i) == want[i]);
}

static void
matched_regions(void **state)
{
    tester *t = *state;
    tester_load(t,
                "    @T.prim_func(s_tir=True)\n"
                "    def f(A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8, 8), \"float32\")):\n"
                "        for i, j in T.grid(2, 2):\n"
                "            with T.sblock(\"tile\"):\n"
                "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                "                T.reads(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])\n"
                "                T.writes(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])\n"
                "                X = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, "
                "4), \"float32\", strides=[8, 1], offset_factor=4)\n"
                "                Y = T.match_buffer(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, "
                "4), \"float32\", strides=[8, 1], offset_factor=4)\n"
                "                for k, l in T.grid(4, 4):\n"
                "                    Y[l, k] = X[k, l]\n");
    double a[64];
    for (int i = 0; i < 64; i++)
        a[i] = i;
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){8, 8}, 2, a, 64);
    const tn_expr *B = tester_tensor(t, TNB_F32, (int64_t[]){8, 8}, 2, NULL, 0);
    RUN(t, "f", A, B);
    for (uint64_t i = 0; i < 8; i++)
        for (uint64_t j = 0; j < 8; j++) {
            uint64_t ti = i / 4 * 4, tj = j / 4 * 4;
            assert_true(tester_at(t, B, i * 8 + j) == a[(ti + j % 4) * 8 + tj + i % 4]);
        }
}

static void
threads_meet_at_barriers(void **state)
{
    tester *t = *state;
    tester_load(t,
                "    @T.prim_func\n"
                "    def f(A: T.Buffer((2, 32), \"float32\"), B: T.Buffer((2, 32), \"float32\")):\n"
                "        for bx in T.thread_binding(2, thread=\"blockIdx.x\"):\n"
                "            S = T.alloc_buffer((32,), \"float32\", scope=\"shared\")\n"
                "            for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
                "                L = T.alloc_buffer((1,), \"float32\", scope=\"local\")\n"
                "                S[tx] = A[bx, tx]\n"
                "                L[0] = A[bx, tx]\n"
                "                T.evaluate(T.tvm_storage_sync(\"shared\"))\n"
                "                for step in range(5):\n"
                "                    if tx + T.shift_left(1, step) < 32:\n"
                "                        L[0] = L[0] + S[tx + T.shift_left(1, step)]\n"
                "                    T.evaluate(T.tvm_storage_sync(\"shared\"))\n"
                "                    S[tx] = L[0]\n"
                "                    T.evaluate(T.tvm_storage_sync(\"shared\"))\n"
                "                B[bx, tx] = L[0]\n");
    double a[64];
    for (int i = 0; i < 64; i++)
        a[i] = i % 7 - 2;
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){2, 32}, 2, a, 64);
    const tn_expr *B = tester_tensor(t, TNB_F32, (int64_t[]){2, 32}, 2, NULL, 0);
    RUN(t, "f", A, B);
    for (int b = 0; b < 2; b++) {
        double sum = 0; /* suffix sums */
        for (int i = 31; i >= 0; i--) {
            sum += a[b * 32 + i];
            assert_true(tester_at(t, B, (uint64_t)(b * 32 + i)) == sum);
        }
    }
}

/* A copy is there when a wait says so, and not before. */
static void
asynchronous_copies_are_waited_for(void **state)
{
    tester *t = *state;
    static const char
        scopes[] = "    @T.prim_func\n"
                   "    def %s(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
                   "        S = T.alloc_buffer((8,), \"float32\", scope=\"shared\")\n"
                   "        for i in range(8):\n"
                   "            with T.attr(0, \"async_commit_queue_scope\", 0):\n"
                   "                with T.attr(0, \"async_scope\", 1):\n"
                   "                    S[i] = A[i]\n"
                   "            if i >= 2:\n"
                   "                with T.attr(0, \"async_wait_queue_scope\", 0):\n"
                   "                    with T.attr(0, \"async_wait_inflight_count\", %d):\n"
                   "                        B[i - 2] = S[i - 2]\n",
        instructions[] =
            "    @T.prim_func\n"
            "    def %s(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
            "        S = T.alloc_buffer((8,), \"float32\", scope=\"shared\")\n"
            "        for i in range(2):\n"
            "            T.evaluate(T.ptx_cp_async(\"float32\", T.address_of(S[i * 4]), 0, "
            "T.address_of(A[i * 4]), 0, 16))\n"
            "            T.evaluate(T.ptx_commit_group(dtype=\"\"))\n"
            "        T.evaluate(T.ptx_wait_group(%d, dtype=\"\"))\n"
            "        for i in range(6):\n"
            "            B[i] = S[i]\n";
    char text[4096];
    for (int form = 0; form < 2; form++) {
        int n = snprintf(text, sizeof text, form ? instructions : scopes, "enough", form ? 0 : 2);
        (void)snprintf(text + n, sizeof text - (size_t)n, form ? instructions : scopes, "few",
                       form ? 1 : 3);
        tester_load(t, text);
        const tn_expr *A = VEC(t, TNB_F32, 8, 3, 1, 4, 1, 5, 9, 2, 6), *B = VEC(t, TNB_F32, 8, 0);
        RUN(t, "enough", A, B);
        for (uint64_t i = 0; i < 6; i++)
            assert_true(tester_at(t, B, i) == tester_at(t, A, i));
        FAILS(t, "few", PARTS("few:", "'S'", "read before it is written"), A, B);
    }
}

/* Threads wait for a phase of a barrier in shared memory, which bulk copies complete as late as allowed: a wrong parity reads what is not
 * there, wrong bytes or arrivals are told of. */
static void
barriers_in_shared_memory_order_copies(void **state)
{
    tester *t = *state;
    static const char form[] =
        "    @T.prim_func\n"
        "    def %s(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
        "        S = T.alloc_buffer((64,), \"float32\", scope=\"shared\")\n"
        "        bar = T.alloc_buffer((1,), \"uint64\", scope=\"shared.barrier\")\n"
        "        for tx in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
        "            if tx == 0:\n"
        "                T.evaluate(T.ptx_mbarrier_init(T.address_of(bar[0]), %d))\n"
        "            T.evaluate(T.tvm_storage_sync(\"shared\"))\n"
        "            if tx == 63:\n"
        "                T.evaluate(T.ptx_mbarrier_arrive_expect_tx(T.address_of(bar[0]), %d))\n"
        "                T.evaluate(T.ptx_cp_async_bulk(T.address_of(S[0]), T.address_of(A[0]), "
        "256, T.address_of(bar[0])))\n"
        "            T.evaluate(T.ptx_mbarrier_try_wait(T.address_of(bar[0]), %d))\n"
        "            B[tx] = S[63 - tx]\n";
    static const struct {
        const char *name;
        int arrivals, bytes, parity;
        const char *says;
    } wrong[] = {{"early", 1, 256, 1, "read before it is written"},
                 {"few", 1, 128, 0, "more bytes come"},
                 {"many", 1, 512, 0, "still takes 0 arrivals and 256 bytes"},
                 {"alone", 2, 256, 0, "still takes 1 arrivals and 0 bytes"}};
    char text[8192];
    int n = snprintf(text, sizeof text, form, "right", 1, 256, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, form, wrong[i].name, wrong[i].arrivals,
                      wrong[i].bytes, wrong[i].parity);
    tester_load(t, text);
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){64}, 1, NULL, 0),
                  *B = tester_tensor(t, TNB_F32, (int64_t[]){64}, 1, NULL, 0);
    RUN(t, "right", A, B);
    for (uint64_t i = 0; i < 64; i++)
        assert_true(tester_at(t, B, i) == tester_at(t, A, 63 - i));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(t, wrong[i].name, PARTS(wrong[i].says), A, B);
}

/* Some warps wait for each other while others do not; others come without waiting. */
static void
barriers_with_a_number_are_for_some_threads(void **state)
{
    tester *t = *state;
    static const char form[] =
        "    @T.prim_func\n"
        "    def %s(A: T.Buffer((64,), \"float32\"), B: T.Buffer((32,), \"float32\")):\n"
        "        S = T.alloc_buffer((64,), \"float32\", scope=\"shared\")\n"
        "        for tx in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
        "            if tx < 32:\n"
        "                S[tx] = A[tx]\n"
        "                T.evaluate(T.ptx_bar_sync(1, 32))\n"
        "                T.evaluate(T.ptx_bar_sync(2, %d))\n"
        "                B[tx] = S[31 - tx] + S[63 - tx]\n"
        "            else:\n"
        "                S[tx] = A[tx]\n"
        "                T.evaluate(T.ptx_bar_arrive(2, %d))\n";
    char text[4096];
    int n = snprintf(text, sizeof text, form, "right", 64, 64);
    (void)snprintf(text + n, sizeof text - (size_t)n, form, "many", 96, 96);
    tester_load(t, text);
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){64}, 1, NULL, 0),
                  *B = tester_tensor(t, TNB_F32, (int64_t[]){32}, 1, NULL, 0);
    RUN(t, "right", A, B);
    for (uint64_t i = 0; i < 32; i++)
        assert_true(tester_at(t, B, i) ==
                    (float)(tester_at(t, A, 31 - i) + tester_at(t, A, 63 - i)));
    FAILS(t, "many", PARTS("barrier 2", "it is for 96"), A, B);
}

static void
divergent_barriers_are_errors(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((32,), \"float32\")):\n"
                   "        for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
                   "            if tx < 16:\n"
                   "                T.evaluate(T.tvm_storage_sync(\"shared\"))\n"
                   "            A[tx] = T.float32(1)\n");
    const tn_expr *A = VEC(t, TNB_F32, 32, 0);
    FAILS(t, "f", PARTS("f:", "divergent"), A);
}

static void
bounds_are_checked(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((4, 5), \"float32\"), n: T.int32):\n"
                   "        for i in range(n):\n"
                   "            A[i, 2] = T.float32(1)\n"
                   "    @T.prim_func\n"
                   "    def g(A: T.Buffer((4, 5), \"float32\"), n: T.int32):\n"
                   "        A[0, 0] = A[1, n]\n"
                   "    @T.prim_func\n"
                   "    def h(A: T.Buffer((4, 5), \"float32\")):\n"
                   "        B = T.decl_buffer((21,), \"float32\", data=A.data)\n"
                   "        B[0] = T.float32(0)\n");
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){4, 5}, 2, NULL, 0);
    RUN(t, "f", A, tn_i32(t->ctx, 4));
    FAILS(t, "f", PARTS("f:", "'A'", "extent 4", "dimension 0", "index is 4"), A,
          tn_i32(t->ctx, 5));
    FAILS(t, "g", PARTS("g:", "'A'", "extent 5", "dimension 1", "index is -1"), A,
          tn_i32(t->ctx, -1));
    FAILS(t, "h", PARTS("'B'", "84 bytes", "80"), A);
}

static void
unwritten_memory_is_not_read(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((4,), \"float32\"), n: T.int32):\n"
                   "        L = T.alloc_buffer((2, 4), \"float32\", scope=\"local\")\n"
                   "        for i in range(n):\n"
                   "            L[1, i] = T.float32(2)\n"
                   "        for i in range(4):\n"
                   "            A[i] = L[1, i]\n");
    const tn_expr *A = VEC(t, TNB_F32, 4, 0);
    RUN(t, "f", A, tn_i32(t->ctx, 4));
    FAILS(t, "f", PARTS("f:", "[1, 3]", "'L'", "before it is written"), A, tn_i32(t->ctx, 3));
}

static void
faults_are_located(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((4,), \"int32\"), n: T.int32):\n"
                   "        A[0] = A[1] // n\n"
                   "    @T.prim_func\n"
                   "    def g(n: T.int32):\n"
                   "        assert n > 3, \"n is too small\"\n"
                   "        T.evaluate(0)\n"
                   "    @T.prim_func\n"
                   "    def h(A: T.Buffer((1,), \"int32\")):\n"
                   "        while A[0] < 1:\n"
                   "            A[0] = A[0] * 0\n"
                   "    @T.prim_func\n"
                   "    def s(A: T.Buffer((1,), \"int32\"), n: T.int32):\n"
                   "        A[0] = T.shift_left(A[0], n)\n");
    const tn_expr *A = VEC(t, TNB_I32, 4, 8), *one = VEC(t, TNB_I32, 1, 0);
    RUN(t, "f", A, tn_i32(t->ctx, 2));
    assert_true(tester_at(t, A, 0) == 4);
    FAILS(t, "f", PARTS("f:", "division by zero"), A, tn_i32(t->ctx, 0));
    RUN(t, "g", tn_i32(t->ctx, 4));
    FAILS(t, "g", PARTS("g:", "n is too small"), tn_i32(t->ctx, 3));
    FAILS(t, "s", PARTS("shift"), one, tn_i32(t->ctx, 32));
    t->opt.budget = 10000;
    FAILS(t, "h", PARTS("budget"), one);
    assert_true(t->opt.out_of_budget);
    assert_in_range(t->opt.spent, 10000, 10100);
}

static void
guards_protect_what_they_guard(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((4,), \"int32\"), B: T.Buffer((8,), \"int32\")):\n"
                   "        for i in range(8):\n"
                   "            B[i] = T.if_then_else(i < 4 and A[i] > 1, A[i], 0 - 1)\n");
    const tn_expr *A = VEC(t, TNB_I32, 4, 1, 2, 3, 0), *B = VEC(t, TNB_I32, 8, 0);
    RUN(t, "f", A, B);
    static const double want[] = {-1, 2, 3, -1, -1, -1, -1, -1};
    for (uint64_t i = 0; i < 8; i++)
        assert_true(tester_at(t, B, i) == want[i]);
}

static void
bits_and_math(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((2,), \"int32\"), B: T.Buffer((8,), \"int32\"), F: "
                   "T.Buffer((6,), \"float32\")):\n"
                   "        B[0] = T.bitwise_and(A[0], A[1])\n"
                   "        B[1] = T.bitwise_or(A[0], A[1])\n"
                   "        B[2] = T.bitwise_xor(A[0], A[1])\n"
                   "        B[3] = T.bitwise_not(A[0])\n"
                   "        B[4] = T.shift_right(A[1], 1)\n"
                   "        B[5] = T.popcount(A[1])\n"
                   "        B[6] = T.reinterpret(\"int32\", T.float32(1))\n"
                   "        B[7] = T.truncdiv(A[1], 4)\n"
                   "        F[0] = T.pow(T.float32(2), T.float32(10))\n"
                   "        F[1] = T.tanh(T.float32(0.5))\n"
                   "        F[2] = T.call_extern(\"float32\", \"floorf\", T.float32(-1.5))\n"
                   "        F[3] = T.max(T.float32(1), T.float32(2))\n"
                   "        F[4] = T.Cast(\"float32\", T.isnan(T.float32(\"nan\")))\n"
                   "        F[5] = T.fabs(T.float32(-4))\n");
    const tn_expr *A = VEC(t, TNB_I32, 2, 12, -10), *B = VEC(t, TNB_I32, 8, 0),
                  *F = VEC(t, TNB_F32, 6, 0);
    RUN(t, "f", A, B, F);
    double want[] = {12 & -10, 12 | -10, 12 ^ -10, ~12, -5, 30, 1065353216, -2};
    double floats[] = {1024, (double)(float)tanh(0.5), -2, 2, 1, 4};
    for (uint64_t i = 0; i < 8; i++)
        assert_true(tester_at(t, B, i) == want[i]);
    for (uint64_t i = 0; i < 6; i++)
        assert_true(tester_at(t, F, i) == floats[i]);
}

static void
threads_reduce_together(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def f(A: T.Buffer((2, 8), \"float32\"), B: T.Buffer((2,), \"float32\")):\n"
                   "        for ty in T.thread_binding(2, thread=\"threadIdx.y\"):\n"
                   "            for tx in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
                   "                R = T.alloc_buffer((1,), \"float32\", scope=\"local\")\n"
                   "                with T.attr(T.comm_reducer(lambda x, y: x + y, "
                   "[T.float32(0)]), \"reduce_scope\", T.reinterpret(\"handle\", T.uint64(0))):\n"
                   "                    T.tvm_thread_allreduce(T.uint32(1), A[ty, tx], "
                   "T.bool(True), R[0], tx)\n"
                   "                if tx == 0:\n"
                   "                    B[ty] = R[0]\n");
    double a[16], want[2] = {0, 0};
    for (int i = 0; i < 16; i++) {
        a[i] = i * i;
        want[i / 8] += a[i];
    }
    const tn_expr *A = tester_tensor(t, TNB_F32, (int64_t[]){2, 8}, 2, a, 16),
                  *B = VEC(t, TNB_F32, 2, 0);
    RUN(t, "f", A, B);
    assert_true(tester_at(t, B, 0) == want[0]);
    assert_true(tester_at(t, B, 1) == want[1]);
}

static void
programs_call_programs(void **state)
{
    tester *t = *state;
    tester_load(t, "    @T.prim_func\n"
                   "    def inner(A: T.Buffer((4,), \"int32\"), k: T.int32):\n"
                   "        for i in range(4):\n"
                   "            A[i] = A[i] * k\n"
                   "    @T.prim_func\n"
                   "    def outer(A: T.Buffer((4,), \"int32\")):\n"
                   "        Module.inner(A.data, 3)\n"
                   "        Module.inner(A.data, 5)\n"
                   "    @T.prim_func(private=True)\n"
                   "    def sum(n: T.int64, m: T.int64) -> T.int64:\n"
                   "        return n * 2 + m\n");
    const tn_expr *A = VEC(t, TNB_I32, 4, 1, 2, 3, 4);
    RUN(t, "outer", A);
    for (uint64_t i = 0; i < 4; i++)
        assert_true(tester_at(t, A, i) == 15.0 * (double)(i + 1));
    const tn_expr *r = RUN(t, "sum", tn_i64(t->ctx, 20), tn_i64(t->ctx, 2));
    assert_true(tn_is_int_const(r, 42));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(blocks_with_reduction),
        TEST(reductions_over_nothing),
        TEST(symbolic_shapes_and_allocation),
        TEST(integers_wrap),
        TEST(floats_round_after_each_operation),
        TEST(casts),
        TEST(control_flow),
        TEST(vectors),
        TEST(views_share_memory),
        TEST(matched_regions),
        TEST(threads_meet_at_barriers),
        TEST(asynchronous_copies_are_waited_for),
        TEST(barriers_in_shared_memory_order_copies),
        TEST(barriers_with_a_number_are_for_some_threads),
        TEST(divergent_barriers_are_errors),
        TEST(bounds_are_checked),
        TEST(unwritten_memory_is_not_read),
        TEST(faults_are_located),
        TEST(guards_protect_what_they_guard),
        TEST(bits_and_math),
        TEST(threads_reduce_together),
        TEST(programs_call_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
