/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL layer for tests: sub-groups over local memory and barriers, for devices that have none; and half where the device's
 * compiler is clang and computes with its own type of 16 bits.
 *
 * It adds the extensions to the device's list, puts definitions of the functions in front of programs that call them, and local
 * memory for the exchange into their kernels. All work items of a group have to come to each call, which is more than OpenCL
 * asks. Neighbours by local id are in different sub-groups, as far as that goes: which work item is which lane is up to an
 * implementation.
 *
 * TENON_TEST_SUB_GROUPS=N        work items of a sub-group (default 32)
 * TENON_TEST_SUB_GROUPS_NAMES=LIST  extensions to add to the device's
 * TENON_TEST_SUB_GROUPS_WRONG=1  exchanged values are wrong: shows that results depend on them
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static cl_icd_dispatch ours, below;

static const char definitions[] =
    "uint emu_threads(void) { return get_local_size(0) * get_local_size(1) * get_local_size(2); }\n"
    "uint emu_number(void)\n"
    "{\n"
    "    uint at = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * "
    "get_local_id(2));\n"
    "    uint n = emu_threads(), groups = n / EMU_SIZE;\n"
    "    return n % EMU_SIZE ? at : at % groups * EMU_SIZE + at / groups;\n"
    "}\n"
    "#define get_max_sub_group_size() ((uint)EMU_SIZE)\n"
    "#define get_num_sub_groups() ((emu_threads() + EMU_SIZE - 1) / EMU_SIZE)\n"
    "#define get_sub_group_id() (emu_number() / EMU_SIZE)\n"
    "#define get_sub_group_local_id() (emu_number() % EMU_SIZE)\n"
    "#define EMU_FUNCTIONS(T)                                                          \\\n"
    "    T __attribute__((overloadable)) emu_lane(__local ulong *m, T v, uint lane)    \\\n"
    "    {                                                                             \\\n"
    "        __local T *at = (__local T *)m;                                           \\\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);                                             \\\n"
    "        at[emu_number()] = v;                                                     \\\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);                                             \\\n"
    "        return at[emu_number() / EMU_SIZE * EMU_SIZE + lane % EMU_SIZE] + EMU_WRONG; \\\n"
    "    }                                                                             \\\n"
    "    EMU_REDUCE(T, add, v + at[i])                                                 \\\n"
    "    EMU_REDUCE(T, min, at[i] < v ? at[i] : v)                                     \\\n"
    "    EMU_REDUCE(T, max, at[i] > v ? at[i] : v)\n"
    "#define EMU_REDUCE(T, name, join)                                                 \\\n"
    "    T __attribute__((overloadable)) emu_##name(__local ulong *m, T v, uint width) \\\n"
    "    {                                                                             \\\n"
    "        __local T *at = (__local T *)m;                                           \\\n"
    "        uint from = emu_number() / width * width;                                 \\\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);                                             \\\n"
    "        at[emu_number()] = v;                                                     \\\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);                                             \\\n"
    "        v = at[from];                                                             \\\n"
    "        for (uint i = from + 1; i < from + width; i++)                            \\\n"
    "            v = join;                                                             \\\n"
    "        return v + EMU_WRONG;                                                     \\\n"
    "    }\n"
    "EMU_FUNCTIONS(int)\n"
    "EMU_FUNCTIONS(uint)\n"
    "EMU_FUNCTIONS(long)\n"
    "EMU_FUNCTIONS(ulong)\n"
    "EMU_FUNCTIONS(float)\n"
    "#ifdef cl_khr_fp64\n"
    "EMU_FUNCTIONS(double)\n"
    "#endif\n"
    "#define sub_group_shuffle(v, lane) emu_lane(emu_memory, v, lane)\n"
    "#define sub_group_shuffle_xor(v, flip) emu_lane(emu_memory, v, get_sub_group_local_id() ^ "
    "(flip))\n"
    "#define intel_sub_group_shuffle sub_group_shuffle\n"
    "#define intel_sub_group_shuffle_xor sub_group_shuffle_xor\n"
    "#define CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM 1\n"
    "#define qcom_sub_group_shuffle_xor(v, flip, width, outside) sub_group_shuffle_xor(v, flip)\n"
    "#define sub_group_reduce_add(v) emu_add(emu_memory, v, EMU_SIZE)\n"
    "#define sub_group_reduce_min(v) emu_min(emu_memory, v, EMU_SIZE)\n"
    "#define sub_group_reduce_max(v) emu_max(emu_memory, v, EMU_SIZE)\n"
    "#define sub_group_clustered_reduce_add(v, n) emu_add(emu_memory, v, n)\n"
    "#define sub_group_clustered_reduce_min(v, n) emu_min(emu_memory, v, n)\n"
    "#define sub_group_clustered_reduce_max(v, n) emu_max(emu_memory, v, n)\n";
static const char halves[] =
    "#define half _Float16\n"
    "#define EMU_HALVES(n)                                               \\\n"
    "    typedef _Float16 emu_half##n __attribute__((ext_vector_type(n)));\n"
    "EMU_HALVES(2) EMU_HALVES(3) EMU_HALVES(4) EMU_HALVES(8) EMU_HALVES(16)\n"
    "#define half2 emu_half2\n#define half3 emu_half3\n#define half4 emu_half4\n"
    "#define half8 emu_half8\n#define half16 emu_half16\n"
    "#define as_half(x) __builtin_astype((ushort)(x), _Float16)\n"
    "#define as_half2(x) __builtin_astype(x, emu_half2)\n"
    "#define as_half3(x) __builtin_astype(x, emu_half3)\n"
    "#define as_half4(x) __builtin_astype(x, emu_half4)\n"
    "#define as_half8(x) __builtin_astype(x, emu_half8)\n"
    "#define as_half16(x) __builtin_astype(x, emu_half16)\n"
    "#define as_ushort(x) __builtin_astype(x, ushort)\n"
    "#define convert_half_rte(x) ((_Float16)(x))\n"
    "#define convert_half2_rte(x) __builtin_convertvector(x, emu_half2)\n"
    "#define convert_half3_rte(x) __builtin_convertvector(x, emu_half3)\n"
    "#define convert_half4_rte(x) __builtin_convertvector(x, emu_half4)\n"
    "#define convert_half8_rte(x) __builtin_convertvector(x, emu_half8)\n"
    "#define convert_half16_rte(x) __builtin_convertvector(x, emu_half16)\n"
    "#define convert_float(x) ((float)(x))\n"
    "#define convert_float2(x) __builtin_convertvector(x, float2)\n"
    "#define convert_float3(x) __builtin_convertvector(x, float3)\n"
    "#define convert_float4(x) __builtin_convertvector(x, float4)\n"
    "#define convert_float8(x) __builtin_convertvector(x, float8)\n"
    "#define convert_float16(x) __builtin_convertvector(x, float16)\n";
static const char memory[] = "    __local ulong emu_memory[4096];\n";

static long
number(const char *name, long otherwise)
{
    const char *v = getenv(name);
    return v && *v ? atol(v) : otherwise;
}

/* The text with the definitions, and memory at the start of each kernel; from malloc. */
static char *
emulated(const char *text, size_t n)
{
    char head[128];
    size_t kernels = 0, at = 0;
    for (const char *s = text; (s = memmem(s, n - (size_t)(s - text), "__kernel", 8)); s += 8)
        kernels++;
    bool groups = memmem(text, n, "sub_group", 9), half = memmem(text, n, "cl_khr_fp16", 11);
    char *out =
        malloc(n + sizeof head + sizeof definitions + sizeof halves + kernels * sizeof memory);
    if (!out)
        return NULL;
    at = (size_t)snprintf(out, sizeof head, "#define EMU_SIZE %ld\n#define EMU_WRONG %ld\n",
                          number("TENON_TEST_SUB_GROUPS", 32),
                          number("TENON_TEST_SUB_GROUPS_WRONG", 0));
    memcpy(out + at, definitions, sizeof definitions - 1);
    at += sizeof definitions - 1;
    if (half) {
        memcpy(out + at, halves, sizeof halves - 1);
        at += sizeof halves - 1;
    }
    const char *s = text, *end = text + n, *kernel;
    while (groups && (kernel = memmem(s, (size_t)(end - s), "__kernel", 8))) {
        const char *body = memmem(kernel, (size_t)(end - kernel), "\n{\n", 3);
        if (!body)
            break;
        memcpy(out + at, s, (size_t)(body + 3 - s));
        at += (size_t)(body + 3 - s);
        memcpy(out + at, memory, sizeof memory - 1);
        at += sizeof memory - 1;
        s = body + 3;
    }
    memcpy(out + at, s, (size_t)(end - s));
    out[at + (size_t)(end - s)] = '\0';
    return out;
}

static CL_API_ENTRY cl_program CL_API_CALL
own_clCreateProgramWithSource(cl_context c, cl_uint n, const char **texts, const size_t *sizes,
                              cl_int *e)
{
    size_t size = n == 1 ? sizes && sizes[0] ? sizes[0] : strlen(texts[0]) : 0;
    if (n != 1 ||
        (!memmem(texts[0], size, "sub_group", 9) && !memmem(texts[0], size, "cl_khr_fp16", 11)))
        return below.clCreateProgramWithSource(c, n, texts, sizes, e);
    char *text = emulated(texts[0], size);
    if (!text) {
        if (e)
            *e = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    const char *all = text;
    cl_program p = below.clCreateProgramWithSource(c, 1, &all, NULL, e);
    free(text);
    return p;
}

/* The version that the program asks for is that of what is emulated. */
static CL_API_ENTRY cl_int CL_API_CALL
own_clBuildProgram(cl_program p, cl_uint n, const cl_device_id *d, const char *options,
                   void(CL_CALLBACK *f)(cl_program, void *), void *user)
{
    char rest[1024];
    snprintf(rest, sizeof rest, "%s", options ? options : "");
    char *at = strstr(rest, "-cl-std=CL3.0");
    if (at)
        memset(at, ' ', strlen("-cl-std=CL3.0"));
    return below.clBuildProgram(p, n, d, rest, f, user);
}

static CL_API_ENTRY cl_int CL_API_CALL
own_clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t n, void *value, size_t *size)
{
    const char *more = getenv("TENON_TEST_SUB_GROUPS_NAMES");
    char have[4096] = "";
    if (what != CL_DEVICE_EXTENSIONS || !more)
        return below.clGetDeviceInfo(d, what, n, value, size);
    cl_int e = below.clGetDeviceInfo(d, what, sizeof have / 2, have, NULL);
    if (e != CL_SUCCESS)
        return e;
    size_t at = strlen(have);
    snprintf(have + at, sizeof have - at, " %s", more);
    at = strlen(have) + 1;
    if (size)
        *size = at;
    if (value && n < at)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, have, at);
    return CL_SUCCESS;
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info what, size_t n, void *value, size_t *size)
{
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && n < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (size)
        *size = sizeof version;
    return CL_SUCCESS;
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL
clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_out, const cl_icd_dispatch **out)
{
    if (n < sizeof ours / sizeof(void *))
        return CL_INVALID_VALUE;
    below = ours = *target;
    ours.clGetDeviceInfo = own_clGetDeviceInfo;
    ours.clCreateProgramWithSource = own_clCreateProgramWithSource;
    ours.clBuildProgram = own_clBuildProgram;
    *n_out = sizeof ours / sizeof(void *);
    *out = &ours;
    return CL_SUCCESS;
}
