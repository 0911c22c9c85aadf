/* SPDX-License-Identifier: Apache-2.0 */
/* What a source of CUDA C++ needs of the toolkit's headers, so that clang compiles it for a device without them; and, for a host's
 * compiler, what makes C++ of it: one thread at a time.
 */
#ifdef __CUDA__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ __attribute__((always_inline)) inline
#define WORD extern "C" __device__
#define MATH1(name)            \
    WORD float name##f(float); \
    WORD double name(double)
#define MATH2(name)                   \
    WORD float name##f(float, float); \
    WORD double name(double, double)
MATH1(exp);
MATH1(sqrt);
MATH1(tanh);
MATH1(floor);
MATH1(fabs);
MATH1(exp2);
MATH1(erf);
MATH1(log);
MATH1(ceil);
MATH1(rsqrt);
MATH2(pow);
MATH2(fmod);
__device__ bool
isnan(float);
__device__ bool
isnan(double);
WORD float
__int_as_float(int);
WORD double
__longlong_as_double(long long);
WORD int
__popcll(unsigned long long);
WORD int
__clzll(long long);
WORD int
__isLocal(const void *);
WORD unsigned
atomicAnd(unsigned *, unsigned);
WORD unsigned
atomicOr(unsigned *, unsigned);
WORD void
__syncthreads();
#define SHUFFLES(T)                                          \
    __device__ T __shfl_sync(unsigned, T, int, int);         \
    __device__ T __shfl_xor_sync(unsigned, T, int, int);     \
    __device__ T __shfl_up_sync(unsigned, T, unsigned, int); \
    __device__ T __shfl_down_sync(unsigned, T, unsigned, int)
SHUFFLES(int);
SHUFFLES(unsigned);
SHUFFLES(long long);
SHUFFLES(unsigned long long);
SHUFFLES(float);
SHUFFLES(double);
#else
#include <math.h>
#include <string.h>
#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define WORD static inline
WORD float
__int_as_float(int i)
{
    float f;
    memcpy(&f, &i, 4);
    return f;
}
WORD double
__longlong_as_double(long long i)
{
    double f;
    memcpy(&f, &i, 8);
    return f;
}
WORD int
__popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
WORD int
__clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
WORD int
__isLocal(const void *)
{
    return 0;
}
WORD unsigned
atomicAnd(unsigned *p, unsigned x)
{
    return __atomic_fetch_and(p, x, __ATOMIC_RELAXED);
}
WORD unsigned
atomicOr(unsigned *p, unsigned x)
{
    return __atomic_fetch_or(p, x, __ATOMIC_RELAXED);
}
WORD void
__syncthreads()
{
}
using std::isnan;
#endif
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))

struct indices {
    unsigned x, y, z;
};
#ifdef __CUDA__
extern const __device__ indices threadIdx, blockIdx;
#else
extern "C" {
indices threadIdx, blockIdx;
}
#endif

#define VECTORS(T, name, a2, a4)                                        \
    struct __align__(a2) name##2                                        \
    {                                                                   \
        T x, y;                                                         \
    };                                                                  \
    struct name##3                                                      \
    {                                                                   \
        T x, y, z;                                                      \
    };                                                                  \
    struct __align__(a4) name##4                                        \
    {                                                                   \
        T x, y, z, w;                                                   \
    };                                                                  \
    static inline __device__ name##2 make_##name##2(T x, T y)           \
    {                                                                   \
        name##2 v = {x, y};                                             \
        return v;                                                       \
    }                                                                   \
    static inline __device__ name##3 make_##name##3(T x, T y, T z)      \
    {                                                                   \
        name##3 v = {x, y, z};                                          \
        return v;                                                       \
    }                                                                   \
    static inline __device__ name##4 make_##name##4(T x, T y, T z, T w) \
    {                                                                   \
        name##4 v = {x, y, z, w};                                       \
        return v;                                                       \
    }                                                                   \
    struct name##4
VECTORS(signed char, char, 2, 4);
VECTORS(unsigned char, uchar, 2, 4);
VECTORS(short, short, 4, 8);
VECTORS(unsigned short, ushort, 4, 8);
VECTORS(int, int, 8, 16);
VECTORS(unsigned, uint, 8, 16);
VECTORS(long long, longlong, 16, 16);
VECTORS(unsigned long long, ulonglong, 16, 16);
VECTORS(float, float, 8, 16);
VECTORS(double, double, 16, 16);
