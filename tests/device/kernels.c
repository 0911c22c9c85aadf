/* SPDX-License-Identifier: Apache-2.0 */
/* A module of kernels for the conformance suite on the cpu device; uses temporary memory as kernels
 * may. */
#include <string.h>
#include "tenon/base/kernel_abi.h"
#include "tenon/base/status.h"

TNB_EXPORT int32_t
add_f32(void *const *buffers, const tnb_kernel_scalar *scalars, tnb_kernel_env *env);

int32_t
add_f32(void *const *buffers, const tnb_kernel_scalar *scalars, tnb_kernel_env *env)
{
    int64_t n = scalars[0].i;
    const float *x = __builtin_assume_aligned(buffers[0], 64),
                *y = __builtin_assume_aligned(buffers[1], 64);
    for (int i = 0; i < 3; i++)
        if ((uintptr_t)buffers[i] % 64)
            return 1;
    float *t = env->workspace(env, (size_t)n * sizeof *t), *u = env->workspace(env, 16);
    if (!t || !u || (uintptr_t)t % 64 || (uintptr_t)u % 64)
        return TNB_KERNEL_NO_MEMORY;
    for (int64_t i = 0; i < n; i++)
        t[i] = x[i] + y[i];
    memcpy(buffers[2], t, (size_t)n * sizeof *t);
    return TNB_KERNEL_OK;
}
