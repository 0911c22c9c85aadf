/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that NVRTC makes give on the simulated device what C gives; what they do wrong is reported with its place. Each runs as it
 * comes, and with several seeds, in which warps part and take turns at random. */
#include "config.h"

#include "t_device.h"

#include <math.h>

enum { N_SEEDS = 4 };

static const char arithmetic[] =
    "extern \"C\" __global__ void mix(const float *a, const int *b, double *f, long long *n, "
    "unsigned long long size) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  if (i >= size) return;\n"
    "  float x = a[i]; int y = b[i];\n"
    "  f[i] = (double)x * y + floor((double)x) - sqrt(fabs((double)x)) / 3.0 + fminf(x, 1.5f) + "
    "truncf(x);\n"
    "  long long v = y;\n"
    "  for (int k = 0; k < (y & 7); k++) v = v * 31 + (v % 13) / 3 - (k ^ y);\n"
    "  if (y < 0) v = -v; else if (y & 1) v <<= 3; else v >>= 2;\n"
    "  n[i] = v + __popc(y) + __clz(y) + (int)x + (long long)(unsigned char)y + (short)y;\n"
    "}\n";

static void
arithmetic_is_that_of_c(void **state)
{
    (void)state;
    enum { N = 1000 };
    float a[N];
    int b[N];
    double f[N];
    long long n[N];
    for (uint64_t seed = 0; seed < 2; seed++) {
        device d = device_with(arithmetic, seed, false);
        for (int i = 0; i < N; i++) {
            a[i] = (float)(i * 7919 % 1999 - 999) / 8;
            b[i] = i * 104729 % 3001 - 1500;
        }
        uint64_t p[] = {upload(&d, a, sizeof a), upload(&d, b, sizeof b),
                        upload(&d, NULL, sizeof f), upload(&d, NULL, sizeof n), N};
        run(&d, "mix", SIZE(4, 256), p);
        download(&d, p[2], f, sizeof f);
        download(&d, p[3], n, sizeof n);
        for (int i = 0; i < N; i++) {
            float x = a[i];
            int y = b[i];
            double want = fma((double)x, y, floor((double)x)) - sqrt(fabs((double)x)) / 3.0 +
                          (double)fminf(x, 1.5f) + (double)truncf(x);
            long long v = y;
            for (int k = 0; k < (y & 7); k++)
                v = v * 31 + (v % 13) / 3 - (k ^ y);
            if (y < 0)
                v = -v;
            else if (y & 1)
                v = (long long)((unsigned long long)v << 3);
            else
                v >>= 2;
            v += __builtin_popcount((unsigned)y) + (y ? __builtin_clz((unsigned)y) : 32) + (int)x +
                 (long long)(unsigned char)y + (short)y;
            if (n[i] != v || fabs(f[i] - want) > 1e-9 * fabs(want))
                fail_msg("%d: %lld, not %lld; %.17g, not %.17g", i, n[i], v, f[i], want);
        }
        sim_free(d.m);
    }
}

static const char product[] =
    "extern \"C\" __global__ void gemm(const float *a, const float *b, float *c) {\n"
    "  __shared__ float s[16][16], t[16][17];\n"
    "  int x = threadIdx.x & 15, y = threadIdx.x >> 4, col = blockIdx.x * 16 + x, row = blockIdx.y "
    "* 16 + y;\n"
    "  float sum = 0;\n"
    "  for (int k = 0; k < 64; k += 16) {\n"
    "    s[y][x] = a[row * 64 + k + x]; t[y][x] = b[(k + y) * 48 + col];\n"
    "    __syncthreads();\n"
    "    for (int j = 0; j < 16; j++) sum = fmaf(s[y][j], t[j][x], sum);\n"
    "    __syncthreads();\n"
    "  }\n"
    "  c[row * 48 + col] = sum;\n"
    "}\n";

static void
shared_memory_and_barriers(void **state)
{
    (void)state;
    enum { M = 32, N = 48, K = 64 };
    static float a[M * K], b[K * N], c[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i * 31 % 101) - 50;
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i * 17 % 67) - 33;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        device d = device_with(product, seed, false);
        uint64_t p[] = {upload(&d, a, sizeof a), upload(&d, b, sizeof b),
                        upload(&d, NULL, sizeof c)};
        run(&d, "gemm", (sim_launch_size){{3, 2, 1}, {256, 1, 1}, 0}, p);
        download(&d, p[2], c, sizeof c);
        for (int i = 0; i < M * N; i++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[i / N * K + k] * b[k * N + i % N];
            if (sum != c[i])
                fail_msg("%d: %g, not %g", i, (double)c[i], (double)sum);
        }
        sim_free(d.m);
    }
}

static const char lanes[] =
    "extern \"C\" __global__ void exchange(int *out) {\n"
    "  int t = threadIdx.x, v = t * t, s = v;\n"
    "  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);\n"
    "  unsigned odd = __ballot_sync(~0u, v & 1);\n"
    "  int up = __shfl_up_sync(~0u, v, 3, 8), at = __shfl_sync(~0u, v, 5, 16), down = "
    "__shfl_down_sync(~0u, v, 2);\n"
    "  int part;\n"
    "  if (t & 1) { part = __reduce_add_sync(0xaaaaaaaau, t); } else { part = "
    "__shfl_sync(0x55555555u, t, 4) + __any_sync(0x55555555u, t == 30); }\n"
    "  __syncwarp();\n"
    "  unsigned same = __match_any_sync(~0u, t % 5);\n"
    "  out[t] = s; out[32 + t] = odd; out[64 + t] = up; out[96 + t] = at; out[128 + t] = down; "
    "out[160 + t] = part; out[192 + t] = same;\n"
    "}\n"
    "extern \"C\" __global__ void merged(int *out) {\n" /* lanes meet from both sides of a branch */
    "  int t = threadIdx.x, v;\n"
    "  if (t < 7) { v = __shfl_xor_sync(~0u, t, 31); v += 100; } else { v = __shfl_xor_sync(~0u, 2 "
    "* t, 31); v += 200; }\n"
    "  out[t] = v;\n"
    "}\n";

static void
lanes_exchange_values(void **state)
{
    (void)state;
    int out[224];
    for (uint64_t seed = 0; seed < 2 * N_SEEDS; seed++) {
        device d = device_with(lanes, seed, false);
        uint64_t p[] = {upload(&d, NULL, sizeof out)};
        run(&d, "exchange", SIZE(1, 32), p);
        download(&d, p[0], out, sizeof out);
        for (int t = 0; t < 32; t++) {
            int same = 0, up = (t & 7) >= 3 ? t - 3 : t, down = t < 30 ? t + 2 : t;
            for (int k = t % 5; k < 32; k += 5)
                same |= (int)(1u << k);
            assert_int_equal(out[t], 31 * 32 * 63 / 6);
            assert_int_equal(out[32 + t], (int)0xaaaaaaaau);
            assert_int_equal(out[64 + t], up * up);
            assert_int_equal(out[96 + t], ((t & 16) + 5) * ((t & 16) + 5));
            assert_int_equal(out[128 + t], down * down);
            assert_int_equal(out[160 + t], t & 1 ? 256 : 5);
            assert_int_equal(out[192 + t], same);
        }
        run(&d, "merged", SIZE(1, 32), p);
        download(&d, p[0], out, 32 * sizeof *out);
        for (int t = 0; t < 32; t++)
            assert_int_equal(out[t], (t ^ 31) * ((t ^ 31) < 7 ? 1 : 2) + (t < 7 ? 100 : 200));
        sim_free(d.m);
    }
}

static const char waiting[] =
    "__device__ int lock, count[64];\n"
    "__device__ __noinline__ int twice(int x, long long *y) { *y += x; return x > 3 ? 2 * x : "
    "(int)*y; }\n"
    /* lanes of a warp that take a lock in turn: needs independent threads */
    "extern \"C\" __global__ void locked(int *sum) {\n"
    "  while (atomicCAS(&lock, 0, 1) != 0) ;\n"
    "  *(volatile int *)sum = *(volatile int *)sum + 1;\n"
    "  __threadfence(); atomicExch(&lock, 0);\n"
    "}\n"
    /* a block waits for the one behind it */
    "extern \"C\" __global__ void chained(int *flag) {\n"
    "  if (threadIdx.x == 0) {\n"
    "    if (blockIdx.x + 1 < gridDim.x) while (*(volatile int *)(flag + blockIdx.x + 1) == 0) ;\n"
    "    atomicAdd(flag + blockIdx.x, 1 + (int)blockIdx.x);\n"
    "  }\n"
    "}\n"
    "extern \"C\" __global__ void counted(const int *v, double *sum) {\n"
    "  int t = blockIdx.x * blockDim.x + threadIdx.x; long long y = t;\n"
    "  atomicAdd(&count[v[t] & 63], 1); atomicAdd(sum, 0.5 * v[t]); atomicMax((int *)(sum + 1), "
    "twice(v[t], &y) + (int)y);\n"
    "}\n"
    "extern \"C\" __global__ void table(const int *v, int *out) {\n"
    "  int t = threadIdx.x; int local[9];\n"
    "  for (int k = 0; k < 9; k++) local[k] = v[t] * k + t;\n"
    "  int r = local[v[t] % 9];\n"
    "  switch (v[t] & 15) { case 0: r += 5; break; case 1: r *= 3; break; case 2: r -= t; break; "
    "case 3: r ^= 77; break;\n"
    "  case 4: r = r / 3; break; case 5: r = -r; break; case 7: r = r << 2; break; case 9: r = t; "
    "break; default: r++; }\n"
    "  out[t] = r;\n"
    "}\n";

static void
threads_are_independent(void **state)
{
    (void)state;
    enum { N = 256 };
    int v[N], out[N];
    for (int i = 0; i < N; i++)
        v[i] = i * 37 % 211;
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        device d = device_with(waiting, seed, false);
        int zeros[8] = {0};
        uint64_t p[] = {upload(&d, zeros, 4)};
        run(&d, "locked", SIZE(3, 40), p);
        download(&d, p[0], out, 4);
        assert_int_equal(out[0], 120);
        uint64_t flags[] = {upload(&d, zeros, sizeof zeros)};
        run(&d, "chained", SIZE(8, 33), flags);
        download(&d, flags[0], out, sizeof zeros);
        for (int b = 0; b < 8; b++)
            assert_int_equal(out[b], b + 1);

        double sum[2] = {0}, want = 0;
        int most = 0, seen[64] = {0}, got;
        uint64_t q[] = {upload(&d, v, sizeof v), upload(&d, sum, sizeof sum)}, at;
        size_t bytes;
        run(&d, "counted", SIZE(4, 64), q);
        download(&d, q[1], sum, sizeof sum);
        for (int i = 0; i < N; i++) {
            int y = i + v[i], r = (v[i] > 3 ? 2 * v[i] : y) + y;
            want += 0.5 * v[i];
            most = r > most ? r : most;
            seen[v[i] & 63]++;
        }
        memcpy(&got, &sum[1], sizeof got);
        assert_true(sum[0] == want);
        assert_int_equal(got, most);
        assert_true(sim_find_variable(d.module, "count", &at, &bytes) && bytes == sizeof seen);
        download(&d, at, out, sizeof seen);
        assert_memory_equal(out, seen, sizeof seen);

        uint64_t r[] = {q[0], upload(&d, NULL, sizeof out)};
        run(&d, "table", SIZE(1, N), r);
        download(&d, r[1], out, sizeof out);
        for (int t = 0; t < N; t++) {
            int x = v[t] * (v[t] % 9) + t;
            int w[16] = {x + 5, x * 3, x - t, x ^ 77, x / 3, -x,    x + 1, x * 4,
                         x + 1, t,     x + 1, x + 1,  x + 1, x + 1, x + 1, x + 1};
            assert_int_equal(out[t], w[v[t] & 15]);
        }
        sim_free(d.m);
    }
}

/* ---- what is wrong ---- */

static const char faults[] =
    "extern \"C\" __global__ void bounds(int *p, long long n) { p[n + threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void unset(int *p) { p[threadIdx.x] += 1; }\n"
    "extern \"C\" __global__ void unset_branch(int *p) { if (p[threadIdx.x] > 3) p[0] = 1; }\n"
    "extern \"C\" __global__ void unset_address(int *p) { p[p[0]] = 1; }\n"
    "extern \"C\" __global__ void unset_lane(int *p) { if (threadIdx.x < 16) p[threadIdx.x] = 1; "
    "p[threadIdx.x % 16] = __shfl_down_sync(~0u, p[threadIdx.x], 16); }\n"
    "extern \"C\" __global__ void not_wanted(int *p) { for (int k = 0; k < 3; k++) { if (k == 0) "
    "*p = 0; *p += k; } p[1] = (int)threadIdx.x > 99 ? p[2] : 5; asm volatile(\"{ .reg .pred a, b; "
    ".reg .u32 x, y; ld.global.u32 x, [%0]; setp.eq.s32 a, %1, 77; setp.eq.and.s32 b, x, 3, a; "
    "and.pred b, a, b; selp.u32 y, x, 6, b; st.global.u32 [%0], y; }\" :: \"l\"(p + 3), "
    "\"r\"((int)threadIdx.x)); }\n"
    "extern \"C\" __global__ void gap(int *p) { __shared__ __align__(16) int s[4]; int a, b, c, d; "
    "s[0] = 1; s[1] = 2; s[2] = 4; asm volatile(\"ld.shared.v4.u32 {%0,%1,%2,%3}, [%4+32];\" : "
    "\"=r\"(a), \"=r\"(b), \"=r\"(c), \"=r\"(d) : \"r\"((unsigned)__cvta_generic_to_shared(s) - "
    "32) : \"memory\"); p[0] = a + b + c; }\n"
    "extern \"C\" __global__ void part(int *p) { atomicAnd(p, ~0xf0); atomicOr(p, 0x50); p[1] = "
    "*(unsigned char *)p & 0xf0; }\n"
    "extern \"C\" __global__ void unset_part(int *p) { atomicAnd(p, ~0xf0); atomicOr(p, "
    "0x50); p[1] = ((unsigned char *)p)[1]; }\n"
    "extern \"C\" __global__ void unset_old(int *p) { p[1] = atomicAnd(p, ~0xf0); }\n"
    "extern \"C\" __global__ void unset_shared(int *p) { __shared__ int s[32]; if (threadIdx.x != "
    "9) s[threadIdx.x] = 1; __syncthreads(); p[threadIdx.x] = s[threadIdx.x]; }\n"
    "extern \"C\" __global__ void shared_bounds(int *p) { __shared__ volatile int s[32]; "
    "s[threadIdx.x + 1] = 1; p[0] = s[0]; }\n"
    "extern \"C\" __global__ void misaligned(char *p) { *(int2 *)(p + 4) = make_int2(1, 2); }\n"
    "extern \"C\" __global__ void divergent(int *p) { if (threadIdx.x < 8) { p[0] = 1; "
    "__syncthreads(); p[1] = 1; } else { p[2] = 2; __syncthreads(); } }\n"
    "extern \"C\" __global__ void stuck(int *p) { if (threadIdx.x < 8) __syncwarp(0xffff); else "
    "while (*(volatile int *)p == 0) ; }\n"
    "extern \"C\" __global__ void missing(int *p) { if (threadIdx.x < 8) __syncwarp(0xffff); else "
    "__syncthreads(); }\n"
    "extern \"C\" __global__ void spin(int *p) { while (*(volatile int *)p == 0) ; }\n"
    "extern \"C\" __global__ void trap(int *p) { if (threadIdx.x == 3 && blockIdx.x == 1) "
    "__trap(); }\n"
    "extern \"C\" __global__ void null(int *p) { *p = 1; }\n";

static void
faults_are_located(void **state)
{
    (void)state;
    static const struct {
        const char *kernel;
        sim_fault_kind kind;
        const char *what, *where;
    } cases[] = {
        {"bounds", SIM_ADDRESS, "store of 4 bytes", "thread (31, 0, 0) of block (0, 0, 0)"},
        {"bounds", SIM_ADDRESS, "0 bytes behind the end of an allocation of 128", "(st.global"},
        {"unset", SIM_ADDRESS, "what is stored is uninitialized", "(ld.global.u32)"},
        {"unset_branch", SIM_ADDRESS, "the condition is uninitialized", "(ld.global.u32)"},
        {"unset_address", SIM_ADDRESS, "the address is uninitialized", "(ld.global.u32)"},
        {"unset_lane", SIM_ADDRESS, "what is stored is uninitialized", "(shfl.sync.down.b32)"},
        {"unset_part", SIM_ADDRESS, "what is stored is uninitialized", "(ld.global.u8)"},
        {"unset_old", SIM_ADDRESS, "what is stored is uninitialized", "(atom.global.and.b32)"},
        {"unset_shared", SIM_ADDRESS, "uninitialized", "thread (9, 0, 0)"},
        {"shared_bounds", SIM_ADDRESS, "of shared memory, which has 128 bytes",
         "thread (31, 0, 0)"},
        {"misaligned", SIM_MISALIGNED, "8 bytes", "thread (0, 0, 0)"},
        {"divergent", SIM_ILLEGAL, "divergent barrier 0", "thread (8, 0, 0)"},
        {"stuck", SIM_HUNG, "no progress", "kernel 'stuck'"},
        {"missing", SIM_HUNG, "deadlock", "kernel 'missing'"},
        {"spin", SIM_HUNG, "no progress", "PTX line"},
        {"trap", SIM_ILLEGAL, "a trap", "thread (3, 0, 0) of block (1, 0, 0)"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        device d = device_with(faults, 0, false);
        tnb_err err = {0};
        int zeros[32] = {0};
        bool unset = strncmp(cases[c].kernel, "unset", 5) == 0;
        uint64_t p[] = {upload(&d, unset ? NULL : zeros, sizeof zeros), 1};
        tnb_status st = launch(&d, cases[c].kernel, SIZE(2, 32), p, &err);
        if (st != TNB_DEVICE || sim_last_fault(d.m) != cases[c].kind ||
            !strstr(err.message, cases[c].what) || !strstr(err.message, cases[c].where))
            fail_msg("%s: %d %s", cases[c].kernel, st, err.message);
        sim_free(d.m);
    }
}

/* Compilers load before they know whether the value is wanted. */
static void
values_that_are_not_wanted_may_be_uninitialized(void **state)
{
    (void)state;
    device d = device_with(faults, 0, false);
    int out[4] = {0};
    uint64_t p[] = {upload(&d, NULL, sizeof out)};
    run(&d, "not_wanted", SIZE(1, 1), p);
    download(&d, p[0], out, sizeof out);
    assert_true(out[0] == 3 && out[1] == 5 && out[3] == 6);
    run(&d, "gap", SIZE(1, 1), p); /* one of a vector's four; the address wraps */
    download(&d, p[0], out, sizeof out);
    assert_int_equal(out[0], 7);
    p[0] = upload(&d, NULL, sizeof out);
    run(&d, "part", SIZE(1, 32), p); /* of a byte some bits */
    download(&d, p[0], out, sizeof out);
    assert_int_equal(out[1], 0x50);
    sim_free(d.m);
}

static void
memory_is_not_used_after_it_is_freed(void **state)
{
    (void)state;
    device d = device_with(faults, 0, false);
    tnb_err err = {0};
    uint64_t p[] = {upload(&d, NULL, 64)}, host[4] = {0};
    assert_int_equal(sim_release(d.m, p[0], &err), TNB_OK);
    assert_int_equal(launch(&d, "null", SIZE(1, 1), p, &err), TNB_DEVICE);
    assert_non_null(strstr(err.message, "byte 0 of an allocation of 64 that is freed"));
    assert_int_equal(sim_release(d.m, p[0], &err), TNB_INVALID);
    assert_non_null(strstr(err.message, "freed before"));
    assert_int_equal(sim_write(d.m, p[0], host, 8, &err), TNB_BOUNDS);
    p[0] = 0;
    assert_int_equal(launch(&d, "null", SIZE(1, 1), p, &err), TNB_DEVICE);
    assert_non_null(strstr(err.message, "where there is no memory"));
    uint64_t a = sim_alloc(d.m, 100);
    assert_int_equal(sim_write(d.m, a + 96, host, 5, &err), TNB_BOUNDS);
    assert_true(sim_register(d.m, host, sizeof host));
    p[0] = (uint64_t)(uintptr_t)(host + 1);
    run(&d, "null", SIZE(1, 1), p);
    assert_int_equal(host[1], 1);
    assert_int_equal(sim_release(d.m, (uint64_t)(uintptr_t)host, &err), TNB_OK);
    sim_free(d.m);
}

static void
launches_have_limits(void **state)
{
    (void)state;
    device d = device_with(faults, 0, false);
    tnb_err err = {0};
    uint64_t p[] = {0};
    assert_int_equal(launch(&d, "null", SIZE(1, 2000), p, &err), TNB_INVALID);
    assert_int_equal(launch(&d, "null", SIZE(0, 1), p, &err), TNB_INVALID);
    assert_int_equal(launch(&d, "null", ((sim_launch_size){{1, 1, 1}, {1, 1, 1}, 1 << 20}), p,
                            &err),
                     TNB_INVALID);
    assert_non_null(strstr(err.message, "shared memory"));
    sim_free(d.m);
}

static const char sized[] =
    "extern \"C\" __global__ void __launch_bounds__(32) fill(int *p) { p[blockIdx.x * 32 + "
    "threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void twice(int *p, int *q) { int i = blockIdx.x * 32 + threadIdx.x; "
    "q[i] = 2 * p[i]; }\n";

static void
launches_of_a_wrong_size_are_found(void **state)
{
    (void)state;
    static const struct {
        uint32_t blocks, threads;
        const char *what; /* NULL: it is right */
    } cases[] = {{2, 32, NULL},
                 {3, 32, "0 bytes behind the end of an allocation of 256"},
                 {2, 64, "64 x 1 x 1 threads; it may have 32"},
                 {1, 32, "what is stored is uninitialized"},
                 {2, 31, "what is stored is uninitialized"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        device d = device_with(sized, 0, false);
        tnb_err err = {0};
        uint64_t p[] = {upload(&d, NULL, 256), upload(&d, NULL, 256)};
        tnb_status st = launch(&d, "fill", SIZE(cases[c].blocks, cases[c].threads), p, &err);
        if (st == TNB_OK)
            st = launch(&d, "twice", SIZE(2, 32), p, &err);
        if (cases[c].what ? st == TNB_OK || !strstr(err.message, cases[c].what) : st != TNB_OK)
            fail_msg("%u blocks of %u: %d %s", cases[c].blocks, cases[c].threads, st, err.message);
        sim_free(d.m);
    }
}

static const char orders[] =
    "#define K(name) extern \"C\" __global__ void name(int *p)\n"
    "#define T (int)threadIdx.x\n"
    "K(bar) { __shared__ int s[64]; s[T] = T; __syncthreads(); p[T] = s[63 - T]; }\n"
    "K(no_bar) { __shared__ int s[64]; s[T] = 1; __syncthreads(); s[T] = T; p[T] = s[63 - T]; }\n"
    "K(reused) { __shared__ int s[64]; for (int k = 0; k < 3; k++) { s[T] = k; __syncthreads(); "
    "p[T] = s[63 - T]; } }\n"
    "K(warp) { __shared__ int s[64]; s[T] = T; __syncwarp(); p[T] = s[T ^ 31]; }\n"
    "K(no_warp) { __shared__ int s[64]; s[T] = 1; __syncthreads(); s[T] = T; p[T] = s[T ^ 31]; }\n"
    "K(half_warp) { __shared__ int s[64]; s[T] = T; if (T & 16) __syncwarp(0xffff0000u); else "
    "__syncwarp(0xffffu); p[T] = s[T ^ 15]; }\n"
    "K(other_half) { __shared__ int s[64]; s[T] = 1; __syncthreads(); s[T] = T; if (T & 16) "
    "__syncwarp(0xffff0000u); else "
    "__syncwarp(0xffffu); p[T] = s[T ^ 31]; }\n"
    "K(named) { __shared__ int s[64]; s[T] = T; if (T < 32) { asm volatile(\"bar.sync 1, 64;\" ::: "
    "\"memory\"); p[T] = s[T + 32]; } else asm volatile(\"bar.arrive 1, 64;\" ::: \"memory\"); }\n"
    "K(backwards) { __shared__ int s[64]; s[T] = 1; __syncthreads(); s[T] = T; if (T < 32) { asm "
    "volatile(\"bar.sync 1, 64;\" "
    "::: \"memory\"); s[T] = 5; } else { asm volatile(\"bar.arrive 1, 64;\" ::: \"memory\"); p[T] "
    "= s[T - 32]; } }\n"
    "K(same) { p[0] = 7; }\n"
    "K(differs) { p[0] = T; }\n"
    "K(atomics) { atomicAdd(p, T); }\n"
    "K(half_atomic) { if (T == 40) p[0] = 3; else atomicAdd(p, 1); }\n"
    "K(bytes) { ((char *)p)[T] = T; }\n"
    "K(blocks) { if (T == 0) p[blockIdx.x] = p[0] + 1; }\n"
    "K(flags) { if (T) return; if (blockIdx.x == 0) { p[0] = 5; __threadfence(); atomicExch(p + 1, "
    "1); } else if (blockIdx.x == 1) { while (atomicAdd(p + 1, 0) == 0) ; p[2] = p[0]; } }\n"
    "K(two) { __shared__ volatile int f; __shared__ int v; if (T == 0) { f = 0; v = 0; } "
    "__syncthreads(); if (T == 0) { v = 9; __threadfence_block(); f = 1; } if (T == 40) { while (f "
    "== 0) ; p[0] = v; } }\n";

static void
races_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *what; /* NULL: it is right */
        uint32_t blocks, threads;
    } cases[] = {
        {"bar", NULL, 1, 64},
        {"no_bar", "race at", 1, 64},
        {"reused", "race at", 1, 64},
        {"warp", NULL, 1, 64},
        {"no_warp", "race at", 1, 64},
        {"half_warp", NULL, 1, 32},
        {"other_half", "race", 1, 32},
        {"named", NULL, 1, 64},
        {"backwards", "race", 1, 64},
        {"same", NULL, 2, 64},
        {"differs", "stores there, by thread (0, 0, 0)", 1, 2},
        {"atomics", NULL, 3, 64},
        {"half_atomic", "race", 1, 64},
        {"bytes", NULL, 1, 64},
        {"blocks", "race", 2, 32},
        {"flags", NULL, 3, 32},
        {"two", NULL, 1, 64},
    };
    for (uint64_t seed = 0; seed < 3; seed++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            if (seed && strcmp(cases[c].kernel, "half_atomic") == 0)
                continue; /* an atomic operation of the same warp may order it */
            device d = device_with(orders, seed, false);
            tnb_err err = {0};
            int zeros[64] = {0};
            uint64_t p[] = {upload(&d, zeros, sizeof zeros)};
            tnb_status st =
                launch(&d, cases[c].kernel, SIZE(cases[c].blocks, cases[c].threads), p, &err);
            bool race = st == TNB_DEVICE && sim_last_fault(d.m) == SIM_RACE;
            if (cases[c].what ? !race || (seed == 0 && !strstr(err.message, cases[c].what))
                              : st != TNB_OK)
                fail_msg("%s with seed %d: %d %s", cases[c].kernel, (int)seed, st, err.message);
            sim_free(d.m);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_that_of_c),
        cmocka_unit_test(shared_memory_and_barriers),
        cmocka_unit_test(lanes_exchange_values),
        cmocka_unit_test(threads_are_independent),
        cmocka_unit_test(faults_are_located),
        cmocka_unit_test(values_that_are_not_wanted_may_be_uninitialized),
        cmocka_unit_test(races_are_found),
        cmocka_unit_test(memory_is_not_used_after_it_is_freed),
        cmocka_unit_test(launches_have_limits),
        cmocka_unit_test(launches_of_a_wrong_size_are_found),
    };
    return run_on_device("run", tests, sizeof tests / sizeof *tests);
}
