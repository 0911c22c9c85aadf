/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "library.h"

#include <stdlib.h>

/* Column by column. */
float *
onelib_pack(const float *w, int64_t k, int64_t n)
{
    float *out = calloc((size_t)(k * n) + 1, sizeof *out);
    for (int64_t i = 0; out && i < k; i++)
        for (int64_t j = 0; j < n; j++)
            out[j * k + i] = w[i * n + j];
    return out;
}

void
onelib_dense(const float *x, const float *packed, const float *bias, float *out, int64_t rows,
             int64_t k, int64_t n, int relu)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += x[r * k + i] * packed[j * k + i];
            sum += bias ? bias[j] : 0;
            out[r * n + j] = relu && !(sum > 0) ? 0 : sum;
        }
}
