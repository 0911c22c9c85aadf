/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the stand-in as OpenCL C: one work item an element of the result, every element
 * read and written through its tensor's layout. A tensor is its memory and eight numbers: dtype (0
 * float, 1 half, 2 packed), layout (0 NCHW, 1 NHWC, 2 opaque), n, c, h, w. The opaque layout starts
 * 64 bytes into its memory and has channels in fours; lanes beyond the last channel hold NaN, so that who
 * reads them is found out. Arithmetic is float.
 */
#ifndef TENON_TESTS_CLML_KERNELS_H
#define TENON_TESTS_CLML_KERNELS_H

/* clang-format off */
#define SC_TEXT(...) #__VA_ARGS__ "\n"

static const char sc_kernels[] = SC_TEXT(
typedef int8 T;
typedef __global uchar *M;

size_t at(T t, int n, int c, int h, int w)
{
    if (t.s1 == 0)
        return ((size_t)(n * t.s3 + c) * t.s4 + h) * t.s5 + w;
    if (t.s1 == 1)
        return ((size_t)(n * t.s4 + h) * t.s5 + w) * t.s3 + c;
    size_t fours = (t.s3 + 3) / 4;
    return (((n * fours + c / 4) * t.s4 + h) * t.s5 + w) * 4 + c % 4;
}

float load(M m, T t, int n, int c, int h, int w)
{
    size_t i = at(t, n, c, h, w);
    m += t.s1 == 2 ? 64 : 0;
    return t.s0 == 1 ? vload_half(i, (__global half *)m) : ((__global float *)m)[i];
}

void store(M m, T t, int n, int c, int h, int w, float v)
{
    size_t i = at(t, n, c, h, w);
    m += t.s1 == 2 ? 64 : 0;
    if (t.s0 == 1)
        vstore_half(v, i, (__global half *)m);
    else
        ((__global float *)m)[i] = v;
}

/* Element i in the order of NCHW. */
int4 split(T t, size_t i)
{
    int4 p;
    p.w = i % t.s5;
    i /= t.s5;
    p.z = i % t.s4;
    i /= t.s4;
    p.y = i % t.s3;
    p.x = i / t.s3;
    return p;
}

float load_at(M m, T t, size_t i)
{
    int4 p = split(t, i);
    return load(m, t, p.x, p.y, p.z, p.w);
}

float activate(float v, int function)
{
    if (function == 1 || function == 2)
        v = v < 0 ? 0 : v;
    return function == 2 && v > 6 ? 6 : v;
}
)
/* Where a work item is: the channel may be one of those that only fill up. */
"#define PLACE \\\n"
"    int w = get_global_id(0), h = get_global_id(1), n, c, lanes; \\\n"
"    lanes = ot.s1 == 2 ? (ot.s3 + 3) / 4 * 4 : ot.s3; \\\n"
"    n = (int)get_global_id(2) / lanes, c = (int)get_global_id(2) % lanes; \\\n"
"    if (c >= ot.s3) { store(o, ot, n, c, h, w, NAN); return; }\n"
SC_TEXT(
/* p: 0 mode (0 plain, 1 depthwise, 2 transposed), 1 groups, 2-5 pads before h, w, after h, w, 6-7 strides, 8-9
 * dilation, 10 bias, 11 batch normalization, 12 activation; q.s0: epsilon */
__kernel void convolution(M o, T ot, int16 p, float4 q, M x, T xt, M k, T kt, M b, T bt, M mean, T meant,
                          M var, T vart, M scale, T scalet, M shift, T shiftt)
{
    PLACE
    float sum = 0;
    int per = p.s0 == 1 ? 1 : kt.s3;
    if (p.s0 == 2) {
        for (int i = 0; i < kt.s2; i++)
            for (int r = 0; r < kt.s4; r++)
                for (int s = 0; s < kt.s5; s++) {
                    int y = h + p.s2 - r * p.s8, z = w + p.s3 - s * p.s9;
                    if (y < 0 || z < 0 || y % p.s6 || z % p.s7)
                        continue;
                    y /= p.s6, z /= p.s7;
                    if (y < xt.s4 && z < xt.s5)
                        sum += load(x, xt, n, i, y, z) * load(k, kt, i, c, r, s);
                }
    } else {
        int first = p.s0 == 1 ? c : c / (ot.s3 / p.s1) * per;
        for (int i = 0; i < per; i++)
            for (int r = 0; r < kt.s4; r++)
                for (int s = 0; s < kt.s5; s++) {
                    int y = h * p.s6 - p.s2 + r * p.s8, z = w * p.s7 - p.s3 + s * p.s9;
                    if (y >= 0 && z >= 0 && y < xt.s4 && z < xt.s5)
                        sum += load(x, xt, n, first + i, y, z) * load(k, kt, c, i, r, s);
                }
    }
    if (p.sA)
        sum += load_at(b, bt, c);
    if (p.sB)
        sum = (sum - load_at(mean, meant, c)) / sqrt(load_at(var, vart, c) + q.s0) * load_at(scale, scalet, c) +
              load_at(shift, shiftt, c);
    store(o, ot, n, c, h, w, activate(sum, p.sC));
}

__kernel void activation(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    store(o, ot, n, c, h, w, activate(load(x, xt, n, c, h, w), p.s0));
}

__kernel void clip(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    float v = load(x, xt, n, c, h, w);
    store(o, ot, n, c, h, w, v < q.s0 ? q.s0 : v > q.s1 ? q.s1 : v);
}

/* p: 0 maximum, 2-5 pads, 6-7 strides, 8-9 window */
__kernel void pooling(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    float sum = p.s0 ? -INFINITY : 0;
    int count = 0;
    for (int r = 0; r < p.s8; r++)
        for (int s = 0; s < p.s9; s++) {
            int y = h * p.s6 - p.s2 + r, z = w * p.s7 - p.s3 + s;
            if (y < 0 || z < 0 || y >= xt.s4 || z >= xt.s5)
                continue;
            float v = load(x, xt, n, c, y, z);
            sum = !p.s0 ? sum + v : isnan(v) || v > sum ? v : sum;
            count++;
        }
    store(o, ot, n, c, h, w, p.s0 ? sum : sum / count);
}

__kernel void batch_norm(M o, T ot, int16 p, float4 q, M x, T xt, M mean, T meant, M var, T vart, M scale,
                         T scalet, M shift, T shiftt)
{
    PLACE
    float v = load(x, xt, n, c, h, w);
    v = (v - load_at(mean, meant, c)) / sqrt(load_at(var, vart, c) + q.s0) * load_at(scale, scalet, c) +
        load_at(shift, shiftt, c);
    store(o, ot, n, c, h, w, v);
}

/* Over the channels of each place. */
__kernel void softmax(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    float top = -INFINITY, sum = 0;
    for (int i = 0; i < xt.s3; i++)
        top = fmax(top, load(x, xt, n, i, h, w));
    for (int i = 0; i < xt.s3; i++)
        sum += exp(load(x, xt, n, i, h, w) - top);
    store(o, ot, n, c, h, w, exp(load(x, xt, n, c, h, w) - top) / sum);
}

/* p: 0 mode (0 zeros, 1 symmetric, 2 reflected), 2-3 pads before h, w */
__kernel void pad(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    int y = h - p.s2, z = w - p.s3, edge = p.s0 == 1;
    if (p.s0) {
        y = y < 0 ? -y - edge : y >= xt.s4 ? 2 * xt.s4 - 2 + edge - y : y;
        z = z < 0 ? -z - edge : z >= xt.s5 ? 2 * xt.s5 - 2 + edge - z : z;
    }
    bool in = y >= 0 && z >= 0 && y < xt.s4 && z < xt.s5;
    store(o, ot, n, c, h, w, in ? load(x, xt, n, c, y, z) : 0);
}

__kernel void reshape(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    store(o, ot, n, c, h, w, load_at(x, xt, ((size_t)(n * ot.s3 + c) * ot.s4 + h) * ot.s5 + w));
}

/* p: 0 axis, 1 where this part begins; lanes that fill up are written with the last part */
__kernel void concat(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    int4 at = (int4)(n, c, h, w);
    int k = p.s0 == 0 ? n : p.s0 == 1 ? c : p.s0 == 2 ? h : w;
    int size = p.s0 == 0 ? xt.s2 : p.s0 == 1 ? xt.s3 : p.s0 == 2 ? xt.s4 : xt.s5;
    if (k < p.s1 || k >= p.s1 + size)
        return;
    at.x -= p.s0 == 0 ? p.s1 : 0;
    at.y -= p.s0 == 1 ? p.s1 : 0;
    at.z -= p.s0 == 2 ? p.s1 : 0;
    at.w -= p.s0 == 3 ? p.s1 : 0;
    store(o, ot, n, c, h, w, load(x, xt, at.x, at.y, at.z, at.w));
}

/* Element i of row r of a matrix with `n` columns, in the order of NCHW.
 * p: 0 transposed weight, 1 columns of x, 2 columns of the result, 10 bias */
__kernel void fully_connected(M o, T ot, int16 p, float4 q, M x, T xt, M k, T kt, M b, T bt)
{
    PLACE
    size_t i = ((size_t)(n * ot.s3 + c) * ot.s4 + h) * ot.s5 + w, row = i / p.s2, col = i % p.s2;
    float sum = 0;
    for (int j = 0; j < p.s1; j++)
        sum += load_at(x, xt, row * p.s1 + j) * load_at(k, kt, p.s0 ? col * p.s1 + j : (size_t)j * p.s2 + col);
    if (p.sA)
        sum += load_at(b, bt, col);
    store(o, ot, n, c, h, w, sum);
}

/* The weight is (K / 8, N) of packed numbers less 7, times scales (K / 32, N). */
__kernel void fully_connected_q4(M o, T ot, int16 p, float4 q, M x, T xt, M k, T kt, M b, T bt, M scale,
                                 T scalet)
{
    PLACE
    size_t i = ((size_t)(n * ot.s3 + c) * ot.s4 + h) * ot.s5 + w, row = i / p.s2, col = i % p.s2;
    float sum = 0;
    for (int j = 0; j < p.s1; j++) {
        uint word = ((__global uint *)k)[(size_t)(j / 8) * p.s2 + col];
        int v = (int)(word >> (j % 8 * 4) & 15) - 7;
        sum += load_at(x, xt, row * p.s1 + j) * (v * load_at(scale, scalet, (size_t)(j / 32) * p.s2 + col));
    }
    if (p.sA)
        sum += load_at(b, bt, col);
    store(o, ot, n, c, h, w, sum);
}

/* p: 0 m, 1 n, 2 k, 3 a transposed, 4 b transposed; q: alpha, beta */
__kernel void gemm(M o, T ot, int16 p, float4 q, M a, T at_, M b, T bt)
{
    PLACE
    size_t i = ((size_t)(n * ot.s3 + c) * ot.s4 + h) * ot.s5 + w, row = i / p.s1, col = i % p.s1;
    float sum = 0;
    for (int j = 0; j < p.s2; j++)
        sum += load_at(a, at_, p.s3 ? (size_t)j * p.s0 + row : row * p.s2 + j) *
               load_at(b, bt, p.s4 ? col * p.s2 + j : (size_t)j * p.s1 + col);
    store(o, ot, n, c, h, w, q.s0 * sum + (q.s1 != 0 ? q.s1 * load(o, ot, n, c, h, w) : 0));
}

/* p: 0 operation in the header's order; q: alpha, beta, gamma */
__kernel void binary(M o, T ot, int16 p, float4 q, M a, T at_, M b, T bt)
{
    PLACE
    float x = q.s0 * load(a, at_, n, c, h, w), y = q.s1 * load(b, bt, n, c, h, w), v;
    switch (p.s0) {
    case 0: v = x + y; break;
    case 1: v = x - y; break;
    case 2: v = x * y; break;
    case 3: v = x / y; break;
    case 4: v = isnan(x) || isnan(y) ? NAN : fmin(x, y); break;
    default: v = isnan(x) || isnan(y) ? NAN : fmax(x, y);
    }
    store(o, ot, n, c, h, w, v + (q.s2 != 0 ? q.s2 * load(o, ot, n, c, h, w) : 0));
}

/* As ONNX's mode DCR: p.s0 the block. */
__kernel void depth_to_space(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    int from = (h % p.s0 * p.s0 + w % p.s0) * ot.s3 + c;
    store(o, ot, n, c, h, w, load(x, xt, n, from, h / p.s0, w / p.s0));
}

float place(int i, int from, int to, int corners, int half_pixel)
{
    float v = corners ? (to > 1 ? (float)i * (from - 1) / (to - 1) : 0)
              : half_pixel ? (i + 0.5f) * from / to - 0.5f : (float)i * from / to;
    return clamp(v, 0.0f, (float)(from - 1));
}

__kernel void resize(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    float y = place(h, xt.s4, ot.s4, p.s0, p.s1), z = place(w, xt.s5, ot.s5, p.s0, p.s1);
    int y0 = (int)y, z0 = (int)z, y1 = min(y0 + 1, xt.s4 - 1), z1 = min(z0 + 1, xt.s5 - 1);
    float fy = y - y0, fz = z - z0;
    float top = load(x, xt, n, c, y0, z0) * (1 - fz) + load(x, xt, n, c, y0, z1) * fz;
    float low = load(x, xt, n, c, y1, z0) * (1 - fz) + load(x, xt, n, c, y1, z1) * fz;
    store(o, ot, n, c, h, w, top * (1 - fy) + low * fy);
}

__kernel void copy(M o, T ot, int16 p, float4 q, M x, T xt)
{
    PLACE
    store(o, ot, n, c, h, w, load(x, xt, n, c, h, w));
}
);

#endif
