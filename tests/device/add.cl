// SPDX-License-Identifier: Apache-2.0
// The kernel that the conformance suite launches: two inputs, an output, their byte offsets, the element count.
__kernel void add_f32(__global const float *a, __global const float *b, __global float *c, ulong a_at, ulong b_at,
                      ulong c_at, long n)
{
    long i = (long)get_global_id(0);
    if (i < n)
        ((__global float *)((__global char *)c + c_at))[i] =
            ((__global const float *)((__global const char *)a + a_at))[i] +
            ((__global const float *)((__global const char *)b + b_at))[i];
}
