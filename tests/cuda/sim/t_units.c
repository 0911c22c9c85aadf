/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix units, asynchronous copies, barriers in shared memory: kernels with the instructions that compilers of products use. Layouts of
 * fragments are written here as the PTX ISA has them. Copies complete at once and as late as allowed. */
#include "config.h"

#include "t_device.h"

#include <math.h>

enum { N_SEEDS = 3 };

/* fp16 products from shared memory, by ldmatrix: A by rows, B by rows (transposed when it is loaded) */
static const char half_product[] =
    "extern \"C\" __global__ void half_product(const uint4 *a, const uint4 *b, float *c, "
    "long long missing, long long hidden) {\n"
    "  __shared__ __align__(16) unsigned short s[16 * 16], t[16 * 8];\n"
    "  int l = threadIdx.x;\n"
    "  if (l != missing) ((uint4 *)s)[l] = a[l];\n"
    "  if (l < 16) ((uint4 *)t)[l] = b[l];\n"
    "  __syncwarp();\n"
    "  unsigned x[4], y[2]; float d[4] = {0.5f, 0.5f, 0.5f, 0.5f};\n"
    "  unsigned pa = (unsigned)__cvta_generic_to_shared(s + (l % 16) * 16 + l / 16 * 8);\n"
    "  unsigned pb = (unsigned)__cvta_generic_to_shared(t + (l % 16) * 8);\n"
    "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\" : "
    "\"=r\"(x[0]), \"=r\"(x[1]), \"=r\"(x[2]), \"=r\"(x[3]) : \"r\"(pa));\n"
    "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];\" : "
    "\"=r\"(y[0]), \"=r\"(y[1]) : \"r\"(pb));\n"
    "  asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
    "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"\n"
    "    : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(x[0]), \"r\"(x[1]), "
    "\"r\"(x[2]), \"r\"(x[3]), \"r\"(y[0]), \"r\"(y[1]));\n"
    "  for (int i = 0; i < 4; i++) if (l / 4 + 8 * (i / 2) != hidden) c[(l / 4 + 8 * (i / 2)) * 8 "
    "+ l % 4 * 2 + i % 2] = d[i];\n"
    "}\n";

/* float16 of a small integer */
static uint16_t
half(int v)
{
    uint16_t sign = v < 0 ? 0x8000 : 0;
    int a = abs(v), e = 0;
    if (a == 0)
        return 0;
    while (a >> (e + 1))
        e++;
    return (uint16_t)(sign | (e + 15) << 10 | ((a << (10 - e)) & 1023));
}

static void
halves_are_multiplied(void **state)
{
    (void)state;
    uint16_t a[16 * 16], b[16 * 8];
    int x[16 * 16], y[16 * 8];
    float c[16 * 8];
    for (int i = 0; i < 256; i++)
        a[i] = half(x[i] = i * 37 % 61 - 30);
    for (int i = 0; i < 128; i++)
        b[i] = half(y[i] = i * 23 % 41 - 20);
    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        device d = device_with(half_product, seed, false);
        uint64_t p[] = {upload(&d, a, sizeof a), upload(&d, b, sizeof b),
                        upload(&d, NULL, sizeof c), UINT64_MAX, UINT64_MAX};
        run(&d, "half_product", SIZE(1, 32), p);
        download(&d, p[2], c, sizeof c);
        for (int i = 0; i < 128; i++) {
            int sum = 0;
            for (int k = 0; k < 16; k++)
                sum += x[i / 8 * 16 + k] * y[k * 8 + i % 8];
            if (c[i] != (float)sum + 0.5f)
                fail_msg("%d: %g, not %g", i, (double)c[i], sum + 0.5);
        }
        /* half of row 5 is uninitialized: so are its sums, which matters where they are stored */
        tnb_err err = {0};
        p[3] = 11;
        assert_int_equal(launch(&d, "half_product", SIZE(1, 32), p, &err), TNB_DEVICE);
        assert_non_null(strstr(err.message, "what is stored is uninitialized"));
        assert_non_null(strstr(err.message, "thread (20, 0, 0)"));
        p[4] = 5;
        run(&d, "half_product", SIZE(1, 32), p);
        sim_free(d.m);
    }
}

static const char other_products[] =
    "extern \"C\" __global__ void bytes(const signed char *a, const unsigned char *b, int *c) "
    "{\n" /* b: by columns */
    "  int l = threadIdx.x, g = l >> 2, t = l % 4; signed char x[16]; unsigned char y[8]; int "
    "d[4];\n"
    "  for (int i = 0; i < 16; i++) x[i] = a[((i < 4) || (i >= 8 && i < 12) ? g : g + 8) * 32 "
    "+ t * 4 + (i & 3) + (i < 8 ? 0 : 16)];\n"
    "  for (int i = 0; i < 8; i++) y[i] = b[g * 32 + t * 4 + (i & 3) + (i < 4 ? 0 : 16)];\n"
    "  const int *u = (const int *)x, *v = (const int *)y;\n"
    "  asm volatile(\"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, "
    "{%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};\"\n"
    "    : \"=r\"(d[0]), \"=r\"(d[1]), \"=r\"(d[2]), \"=r\"(d[3]) : \"r\"(u[0]), \"r\"(u[1]), "
    "\"r\"(u[2]), \"r\"(u[3]), \"r\"(v[0]), \"r\"(v[1]), \"r\"(0x7fffff00));\n"
    "  for (int i = 0; i < 4; i++) c[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = d[i];\n"
    "}\n"
    "extern \"C\" __global__ void tf32(const float *a, const float *b, float *c) {\n"
    "  int l = threadIdx.x, g = l >> 2, t = l % 4; unsigned x[4], y[2]; float d[4];\n"
    "  for (int i = 0; i < 4; i++) asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(x[i]) : "
    "\"f\"(a[(i % 2 ? g + 8 : g) * 8 + (i < 2 ? t : t + 4)]));\n"
    "  for (int i = 0; i < 2; i++) y[i] = __float_as_uint(b[(i ? t + 4 : t) * 8 + g]);\n"
    "  asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
    "{%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};\"\n"
    "    : \"=f\"(d[0]), \"=f\"(d[1]), \"=f\"(d[2]), \"=f\"(d[3]) : \"r\"(x[0]), \"r\"(x[1]), "
    "\"r\"(x[2]), \"r\"(x[3]), \"r\"(y[0]), \"r\"(y[1]), \"f\"(0.f));\n"
    "  for (int i = 0; i < 4; i++) c[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = d[i];\n"
    "}\n"
    "extern \"C\" __global__ void doubles(const double *a, const double *b, double *c) {\n"
    "  int l = threadIdx.x, g = l >> 2, t = l % 4; double d[2];\n"
    "  asm volatile(\"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, "
    "{%4,%4};\" : \"=d\"(d[0]), \"=d\"(d[1]) : \"d\"(a[g * 4 + t]), \"d\"(b[t * 8 + g]), "
    "\"d\"(1.0));\n"
    "  for (int i = 0; i < 2; i++) c[g * 8 + t * 2 + i] = d[i];\n"
    "}\n";

static void
other_types_are_multiplied(void **state)
{
    (void)state;
    device d = device_with(other_products, 1, false);
    signed char a[16 * 32];
    unsigned char b[8 * 32];
    int c[128];
    for (int i = 0; i < 512; i++)
        a[i] = (signed char)(i * 73 % 256 - 128);
    for (int i = 0; i < 256; i++)
        b[i] = (unsigned char)(i * 91);
    uint64_t p[] = {upload(&d, a, sizeof a), upload(&d, b, sizeof b), upload(&d, NULL, sizeof c)};
    run(&d, "bytes", SIZE(1, 32), p);
    download(&d, p[2], c, sizeof c);
    for (int i = 0; i < 128; i++) {
        int64_t sum = 0x7fffff00;
        for (int k = 0; k < 32; k++)
            sum += a[i / 8 * 32 + k] * b[i % 8 * 32 + k];
        assert_int_equal(c[i], sum > INT32_MAX ? INT32_MAX : sum);
    }
    float x[128], y[64], z[128];
    for (int i = 0; i < 128; i++)
        x[i] = 1.0f + (float)i / 2048; /* 11 bits of fraction: one is rounded off */
    for (int i = 0; i < 64; i++)
        y[i] = (float)(i % 13 - 6);
    uint64_t q[] = {upload(&d, x, sizeof x), upload(&d, y, sizeof y), upload(&d, NULL, sizeof z)};
    run(&d, "tf32", SIZE(1, 32), q);
    download(&d, q[2], z, sizeof z);
    for (int i = 0; i < 128; i++) {
        double sum = 0;
        for (int k = 0; k < 8; k++)
            sum += round((double)x[i / 8 * 8 + k] * 1024) / 1024 * (double)y[k * 8 + i % 8];
        assert_true((double)z[i] == sum);
    }
    double u[32], v[32], w[64];
    for (int i = 0; i < 32; i++) {
        u[i] = i * 0.25;
        v[i] = 3 - i;
    }
    uint64_t r[] = {upload(&d, u, sizeof u), upload(&d, v, sizeof v), upload(&d, NULL, sizeof w)};
    run(&d, "doubles", SIZE(1, 32), r);
    download(&d, r[2], w, sizeof w);
    for (int i = 0; i < 64; i++) {
        double sum = 1;
        for (int k = 0; k < 4; k++)
            sum += u[i / 8 * 4 + k] * v[k * 8 + i % 8];
        assert_true(w[i] == sum);
    }
    sim_free(d.m);
}

/* Three stages: a tile is copied while the one before is used. WAIT and the stage that is refilled are replaced to plant faults. */
#define PIPELINE(name, wait, refill)                                                         \
    "extern \"C\" __global__ void " name "(const float *in, float *out) {\n"                 \
    "  __shared__ float s[3][64]; int t = threadIdx.x; float sum = 0;\n"                     \
    "  auto copy = [&](int stage, int tile) {\n"                                             \
    "    if (tile < 8) asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: "        \
    "\"r\"((unsigned)__cvta_generic_to_shared(&s[stage][t])), \"l\"(in + tile * 64 + t));\n" \
    "    asm volatile(\"cp.async.commit_group;\");\n"                                        \
    "  };\n"                                                                                 \
    "  copy(0, 0); copy(1, 1);\n"                                                            \
    "  for (int k = 0; k < 8; k++) {\n"                                                      \
    "    " wait "\n"                                                                         \
    "    __syncthreads();\n"                                                                 \
    "    copy((k + " refill ") % 3, k + 2);\n"                                               \
    "    sum += s[k % 3][t ^ 1] * (k + 1);\n"                                                \
    "  }\n"                                                                                  \
    "  out[t] = sum;\n"                                                                      \
    "}\n"
static const char copies[] = PIPELINE("pipeline", "asm volatile(\"cp.async.wait_group 1;\");", "2")
    PIPELINE("no_wait", "", "2") PIPELINE(
        "too_early", "asm volatile(\"cp.async.wait_group 1;\");",
        "3") "extern \"C\" __global__ void zeros(const float *in, float *out) {\n"
             "  __shared__ __align__(16) float s[32 * 4]; int t = threadIdx.x, n = t % 5 * 4 < 16 "
             "? t % 5 * 4 : 16;\n"
             "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" :: "
             "\"r\"((unsigned)__cvta_generic_to_shared(&s[t * 4])), \"l\"(in + t * 4), \"r\"(n));\n"
             "  asm volatile(\"cp.async.wait_all;\");\n"
             "  for (int i = 0; i < 4; i++) out[t * 4 + i] = s[t * 4 + i];\n"
             "}\n";

static void
copies_are_waited_for(void **state)
{
    (void)state;
    float in[8 * 64], out[128];
    for (int i = 0; i < 512; i++)
        in[i] = (float)(i * 31 % 97);
    for (int mode = 0; mode < 2 * N_SEEDS; mode++) {
        bool late = mode & 1;
        device d = device_with(copies, (uint64_t)mode / 2, late);
        tnb_err err = {0};
        uint64_t p[] = {upload(&d, in, sizeof in), upload(&d, NULL, sizeof out)};
        run(&d, "pipeline", SIZE(1, 64), p);
        download(&d, p[1], out, 64 * 4);
        for (int t = 0; t < 64; t++) {
            float sum = 0;
            for (int k = 0; k < 8; k++)
                sum += in[k * 64 + (t ^ 1)] * (float)(k + 1);
            assert_true(out[t] == sum);
        }
        run(&d, "zeros", SIZE(1, 32), p);
        download(&d, p[1], out, sizeof out);
        for (int i = 0; i < 128; i++)
            assert_true(out[i] == (i % 4 < i / 4 % 5 ? in[i] : 0));
        if (late) {
            assert_int_equal(launch(&d, "no_wait", SIZE(1, 64), p, &err), TNB_DEVICE);
            assert_non_null(strstr(err.message, "uninitialized"));
        }
        assert_int_equal(launch(&d, "too_early", SIZE(1, 64), p, &err), TNB_DEVICE);
        sim_free(d.m);
    }
}

/* A warp fills what the others wait for, by parity; copies arrive when they are complete. */
static const char barriers[] =
    "__device__ unsigned at(void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "__device__ void wait(void *b, int parity) { asm volatile(\"{ .reg .pred p; w: "
    "mbarrier.test_wait.parity.shared.b64 p, [%0], %1; @p bra d; bra w; d: }\" :: \"r\"(at(b)), "
    "\"r\"(parity)); }\n"
    "__device__ void arrive(void *b) { asm volatile(\"{ .reg .b64 s; mbarrier.arrive.shared.b64 s, "
    "[%0]; }\" :: \"r\"(at(b))); }\n"
    "extern \"C\" __global__ void produce(const float *in, float *out, long long wrong) {\n"
    "  __shared__ __align__(8) unsigned long long full, empty; __shared__ float s[32]; int t = "
    "threadIdx.x; float sum = 0;\n"
    "  if (t == 0) { asm volatile(\"mbarrier.init.shared.b64 [%0], 32;\" :: \"r\"(at(&full))); asm "
    "volatile(\"mbarrier.init.shared.b64 [%0], 64;\" :: \"r\"(at(&empty))); }\n"
    "  __syncthreads();\n"
    "  if (t < 32) for (int k = 0; k < 6; k++) {\n"
    "    wait(&empty, k + 1 & 1);\n"
    "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: \"r\"(at(&s[t])), \"l\"(in + "
    "k * 32 + t));\n"
    "    asm volatile(\"cp.async.mbarrier.arrive.noinc.shared.b64 [%0];\" :: \"r\"(at(&full)));\n"
    "  } else for (int k = 0; k < 6; k++) {\n"
    "    wait(&full, (k + (int)wrong) & 1);\n"
    "    sum += s[(t + k) & 31];\n"
    "    arrive(&empty);\n"
    "  }\n"
    "  if (t >= 32) out[t - 32] = sum;\n"
    "}\n";

static void
barriers_have_phases(void **state)
{
    (void)state;
    float in[6 * 32], out[64];
    for (int i = 0; i < 192; i++)
        in[i] = (float)(i * 7 % 53);
    for (int mode = 0; mode < 2 * N_SEEDS; mode++) {
        device d = device_with(barriers, (uint64_t)mode / 2, mode & 1);
        tnb_err err = {0};
        uint64_t p[] = {upload(&d, in, sizeof in), upload(&d, NULL, sizeof out), 0};
        run(&d, "produce", SIZE(1, 96), p);
        download(&d, p[1], out, sizeof out);
        for (int t = 0; t < 64; t++) {
            float sum = 0;
            for (int k = 0; k < 6; k++)
                sum += in[k * 32 + ((t + 32 + k) & 31)];
            if (out[t] != sum)
                fail_msg("%d: %g, not %g", t, (double)out[t], (double)sum);
        }
        p[2] = 1; /* the other parity */
        if (mode & 1)
            assert_int_equal(launch(&d, "produce", SIZE(1, 96), p, &err), TNB_DEVICE);
        sim_free(d.m);
    }
}

/* Two stages that bulk copies fill, each in some pieces; the barrier of a stage is told how many bytes to expect. */
static const char bulk[] =
    "// sm_90\n"
    "__device__ unsigned at(void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "__device__ void wait(void *b, int parity) { asm volatile(\"{ .reg .pred p; w: "
    "mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra d; bra w; d: }\" :: \"r\"(at(b)), "
    "\"r\"(parity)); }\n"
    "extern \"C\" __global__ void bulk(const float *in, float *out, long long expected, long long "
    "pieces) {\n"
    "  __shared__ __align__(16) float s[2][64]; __shared__ __align__(8) unsigned long long "
    "full[2]; int t = threadIdx.x;\n"
    "  if (t < 2) asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(at(&full[t])));\n"
    "  __syncthreads();\n"
    "  for (int k = 0; k < 6; k++) {\n"
    "    void *b = &full[k & 1];\n"
    "    if (t == 0) { asm volatile(\"{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], "
    "%1; }\" :: \"r\"(at(b)), \"r\"((int)expected));\n"
    "      for (int n = 0; n < (int)pieces; n++) asm volatile(\"cp.async.bulk.shared::cluster."
    "global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\" :: \"r\"(at(s[k & 1] + 64 / "
    "(int)pieces * n)), \"l\"(in + k * 64 + 64 / (int)pieces * n), \"r\"(256 / (int)pieces), "
    "\"r\"(at(b)) : \"memory\"); }\n"
    "    wait(b, k >> 1 & 1);\n"
    "    out[k * 64 + t] = s[k & 1][t ^ 3];\n"
    "    __syncthreads();\n"
    "  }\n"
    "}\n";

static void
barriers_count_bytes(void **state)
{
    (void)state;
    static const struct {
        uint64_t expected, pieces;
        const char *what; /* NULL: it is right */
    } cases[] = {{256, 1, NULL},
                 {256, 4, NULL},
                 {512, 1, "waits for 0 arrivals and 256 bytes"},
                 {240, 1, "waits for 0 arrivals and -16 bytes: more have come than were expected"},
                 {128, 2, "is uninitialized"},
                 {256, 32, "no multiple of 16"}};
    float in[6 * 64], out[6 * 64];
    for (int i = 0; i < 6 * 64; i++)
        in[i] = (float)(i * 7 % 53);
    for (int mode = 0; mode < 2 * N_SEEDS; mode++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            bool late = mode & 1;
            device d = device_with(bulk, (uint64_t)mode / 2, late);
            tnb_err err = {0};
            uint64_t p[] = {upload(&d, in, sizeof in), upload(&d, NULL, sizeof out),
                            cases[c].expected, cases[c].pieces};
            if (!cases[c].what) {
                run(&d, "bulk", SIZE(1, 64), p);
                download(&d, p[1], out, sizeof out);
                for (int i = 0; i < 6 * 64; i++)
                    assert_true(out[i] == in[i ^ 3]);
            } else if (late || cases[c].pieces != 2) {
                /* a phase that ends with the first of two pieces is found where the second is late */
                assert_int_equal(launch(&d, "bulk", SIZE(1, 64), p, &err), TNB_DEVICE);
                if (!strstr(err.message, cases[c].what))
                    fail_msg("%d bytes, mode %d: %s", (int)cases[c].expected, mode, err.message);
            }
            sim_free(d.m);
        }
}

/* Sums and products of 128 bits, with carries. */
static const char wide[] = "typedef unsigned long long u;\n"
                           "extern \"C\" __global__ void wide(const u *a, u *out) {\n"
                           "  int t = threadIdx.x; u x = a[2 * t], y = a[2 * t + 1], z = a[2 * t + "
                           "64], w = a[2 * t + 65], p, q;\n"
                           "  asm(\"add.cc.u64 %0, %2, %4; addc.u64 %1, %3, %5;\" : \"=&l\"(p), "
                           "\"=l\"(q) : \"l\"(x), \"l\"(y), \"l\"(z), \"l\"(w));\n"
                           "  out[2 * t] = p; out[2 * t + 1] = q;\n"
                           "  asm(\"mad.lo.cc.u64 %0, %2, %4, 5; madc.hi.u64 %1, %2, %4, 7;\" : "
                           "\"=&l\"(p), \"=l\"(q) : \"l\"(x), \"l\"(y), \"l\"(z), \"l\"(w));\n"
                           "  out[64 + 2 * t] = p; out[64 + 2 * t + 1] = q;\n"
                           "  asm(\"sub.cc.u64 %0, %2, %4; subc.u64 %1, %3, %5;\" : \"=&l\"(p), "
                           "\"=l\"(q) : \"l\"(x), \"l\"(y), \"l\"(z), \"l\"(w));\n"
                           "  out[128 + 2 * t] = p; out[128 + 2 * t + 1] = q;\n"
                           "}\n";

static void
carries_are_kept(void **state)
{
    (void)state;
    unsigned __int128 a[64], out[96];
    for (int i = 0; i < 64; i++)
        a[i] = (unsigned __int128)0xfedcba9876543210 * (unsigned)(i * i + 1) * 0x123456789abcdef1 +
               (unsigned)i;
    device d = device_with(wide, 0, false);
    uint64_t p[] = {upload(&d, a, sizeof a), upload(&d, NULL, sizeof out)};
    run(&d, "wide", SIZE(1, 32), p);
    download(&d, p[1], out, sizeof out);
    for (int t = 0; t < 32; t++)
        assert_true(out[t] == a[t] + a[t + 32] &&
                    out[t + 32] == (unsigned __int128)(uint64_t)a[t] * (uint64_t)a[t + 32] + 5 +
                                       ((unsigned __int128)7 << 64) &&
                    out[t + 64] == a[t] - a[t + 32]);
    sim_free(d.m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_are_multiplied), cmocka_unit_test(other_types_are_multiplied),
        cmocka_unit_test(copies_are_waited_for), cmocka_unit_test(barriers_have_phases),
        cmocka_unit_test(barriers_count_bytes),  cmocka_unit_test(carries_are_kept),
    };
    return run_on_device("units", tests, sizeof tests / sizeof *tests);
}
