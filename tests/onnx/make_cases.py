#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes cases.txt: ONNX nodes of opset 18 to 28 with inputs and the results that NumPy gives.

    python3 tests/onnx/make_cases.py > tests/onnx/cases.txt

tests/onnx/made.py compares, and with --keep writes all three files with the results that are there where those are near.

Expected values come from the formulas here, which are written from ONNX's operator specification.
"""
import math

import numpy as np

rng = np.random.default_rng(1826)
TYPES = {"float32": "float", "float64": "double"}


def rnd(*shape, lo=-2.0, hi=2.0):
    return np.round(rng.uniform(lo, hi, shape), 3).astype(np.float32)


def ints(*shape, lo=-9, hi=9, dtype=np.int64):
    return rng.integers(lo, hi, shape).astype(dtype)


def i64(*v):
    return np.array(v, np.int64)


def values(a):
    if a.dtype == np.bool_:
        return [str(int(x)) for x in a.ravel()]
    if a.dtype.kind in "iu":
        return [str(int(x)) for x in a.ravel()]
    return ["%.9g" % x if a.dtype != np.float64 else "%.17g" % x for x in a.ravel()]


def tensor(kind, name, a, dims=""):
    """dims: a letter for each extent, "_" for one that is fixed; the letters are dynamic."""
    a = np.asarray(a)
    t = TYPES.get(a.dtype.name, a.dtype.name)
    extents = [f"{d}={n}" if d != "_" else str(n) for n, d in zip(a.shape, dims.ljust(a.ndim, "_"))]
    print(kind, name, t, ",".join(extents) or "scalar", ":", *values(a))


def attribute(name, v):
    if isinstance(v, str):
        print("attr", name, "text", v)
    elif isinstance(v, float):
        print("attr", name, "float", v)
    elif isinstance(v, (list, tuple)):
        print("attr", name, "ints", *v)
    else:
        print("attr", name, "int", int(v))


def case(name, opset, op, inputs, outputs, const=(), dims=(), **attrs):
    """Inputs and outputs: lists of arrays (None: left out); const: which inputs are initializers;
    dims: dynamic dimensions of the inputs."""
    print("case", name)
    print("opset", opset)
    left = ["-" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    right = ["-" if a is None else f"y{i}" for i, a in enumerate(outputs)]
    print("node", op, *left, "->", *right)
    for k, v in attrs.items():
        attribute(k, v)
    for i, a in enumerate(inputs):
        if a is not None:
            tensor("const" if i in const else "in", f"x{i}", a, dims[i] if i < len(dims) else "")
    for i, a in enumerate(outputs):
        if a is not None:
            tensor("out", f"y{i}", a)
    print()


# ---- elementwise ----


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


x = rnd(2, 5)
case("gelu", 20, "Gelu", [x], [gelu(x).astype(np.float32)])
inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
case("gelu_tanh", 20, "Gelu", [x], [0.5 * x * (1 + np.tanh(inner))], approximate="tanh")
case("mish", 22, "Mish", [x], [x * np.tanh(np.log1p(np.exp(x)))])
case("swish_alpha", 24, "Swish", [x], [x / (1 + np.exp(-1.5 * x))], alpha=1.5)
a, b = ints(3, 4, lo=0, hi=200, dtype=np.uint8), ints(4, lo=0, hi=200, dtype=np.uint8)
case("bitwise_and_broadcast", 18, "BitwiseAnd", [a, b], [a & b])
a, b = ints(3, 4, lo=-30000, hi=30000, dtype=np.int16), ints(3, 1, lo=-9, hi=9, dtype=np.int16)
case("bitwise_or", 18, "BitwiseOr", [a, b], [a | b])
case("bitwise_xor", 18, "BitwiseXor", [a, b], [a ^ b])
case("bitwise_not", 18, "BitwiseNot", [a], [~a])
x = np.array([1.5, -0.0, np.inf, np.nan, -1e30], np.float32)
case("bitcast_float_int32", 26, "BitCast", [x], [x.view(np.int32)], to=6)
x = ints(2, 3, lo=0, hi=2**15, dtype=np.uint16)
case("bitcast_uint16_int16", 26, "BitCast", [x], [x.view(np.int16)], to=5)
x = ints(16, lo=0, hi=30000, dtype=np.uint16)
case("bitcast_uint16_float16", 26, "BitCast", [x], [x.view(np.float16)], to=10)
case("bitcast_float16_int16", 26, "BitCast", [x.view(np.float16)], [x.view(np.int16)], to=5)
x = ints(3, lo=1, hi=2**60)
case("bitcast_int64_double", 26, "BitCast", [x], [x.view(np.float64)], to=11)
x = np.array([np.inf, -np.inf, np.nan, 1], np.float16)
case("isinf_float16", 20, "IsInf", [x], [np.isinf(x)])
a, b = np.array([2**64 - 1, 2, 2**63], np.uint64), np.array([1, 2**63, 2**63 - 1], np.uint64)
case("less_of_uint64_constants", 21, "Less", [a, b], [a < b], const=[0, 1])
case("max_of_uint64_constants", 21, "Max", [a, b], [np.maximum(a, b)], const=[0, 1])
case("div_of_uint64_constants", 21, "Div", [a, np.array(7, np.uint64)], [a // np.uint64(7)], const=[0, 1])
case("mod_of_uint64_constants", 21, "Mod", [a, np.array(7, np.uint64)], [a % np.uint64(7)], const=[0, 1])
case("sub_of_uint64_constants", 21, "Sub", [b, a], [b - a], const=[0, 1])
case("mul_of_uint64_constants", 21, "Mul", [b, np.array(3, np.uint64)], [b * np.uint64(3)], const=[0, 1])
case("sign_of_uint64_constants", 21, "Sign", [a], [np.sign(a)], const=[0])
case("cast_of_uint64_constants", 21, "Cast", [a], [a.astype(np.float64)], const=[0], to=11)
a, b = np.array([2**63 - 1, -(2**63), 2], np.int64), np.array([-(2**63), 2**63 - 1, -(2**63)], np.int64)
case("greater_of_far_constants", 21, "Greater", [a, b], [a > b], const=[0, 1])
case("pad_with_the_largest_integer", 21, "Pad", [b, i64(1, 0), a[0]], [np.concatenate([a[:1], b])], const=[1, 2])

# ---- reductions and scans ----

# of integers: in float64, cut off
i = np.array([[7, -8, 3], [-5, 2, -1]], np.int32)
case("reduce_mean_of_integers", 18, "ReduceMean", [i, i64(1)], [i.mean(1).astype(np.int32)], const=[1], keepdims=0)
i = np.array([[8, 9, 4], [6, 3, 2]], np.int32)
for op, what, f in (("ReduceL2", "l2", lambda a: np.sqrt((a * a).sum(1))), ("ReduceLogSum", "log_sum", lambda a: np.log(a.sum(1))),
                    ("ReduceLogSumExp", "log_sum_exp", lambda a: np.log(np.exp(a).sum(1)))):
    case(f"reduce_{what}_of_integers", 18, op, [i, i64(1)], [f(i.astype(np.float64)).astype(np.int32)], const=[1], keepdims=0)
x = rnd(2, 3, 4)
case("reduce_mean_axes_input", 18, "ReduceMean", [x, i64(0, -1)], [x.mean((0, 2), keepdims=True)], const=[1])
case("reduce_max_no_keepdims", 20, "ReduceMax", [x, i64(1)], [x.max(1)], const=[1], keepdims=0)
case("reduce_l1_all", 18, "ReduceL1", [x], [np.abs(x).sum(keepdims=True)])
case("reduce_l2_noop", 18, "ReduceL2", [x, i64()], [np.sqrt(x * x)], const=[1], noop_with_empty_axes=1)
case("reduce_log_sum_exp", 18, "ReduceLogSumExp", [x, i64(-2)], [np.log(np.exp(x).sum(1, keepdims=True))], const=[1])
b = rng.integers(0, 2, (3, 4)).astype(bool)
case("reduce_max_bool", 20, "ReduceMax", [b, i64(1)], [b.any(1, keepdims=True)], const=[1])
case("reduce_min_bool", 20, "ReduceMin", [b, i64(0)], [b.all(0, keepdims=True)], const=[1])
e = np.zeros((2, 0, 3), np.float32)
case("reduce_sum_of_nothing", 18, "ReduceSum", [e, i64(1)], [np.zeros((2, 1, 3), np.float32)], const=[1])
case("reduce_prod_of_nothing", 18, "ReduceProd", [e, i64(1)], [np.ones((2, 1, 3), np.float32)], const=[1])
case("cumprod_exclusive_reverse", 26, "CumProd", [x, np.array(1, np.int64)],
     [np.concatenate([np.ones((2, 1, 4), np.float32), np.cumprod(x[:, ::-1], 1)[:, :-1]], 1)[:, ::-1]],
     exclusive=1, reverse=1)
case("cumsum_axis_at_run_time", 14, "CumSum", [x, np.array(-1, np.int32)], [np.cumsum(x, -1)])

# ---- normalization ----

x = rnd(2, 6, 3)
scale, bias = rnd(6), rnd(6)


def group_norm(x, groups, eps=1e-5):
    g = x.reshape(x.shape[0], groups, -1).astype(np.float64)
    g = (g - g.mean(-1, keepdims=True)) / np.sqrt(g.var(-1, keepdims=True) + eps)
    return g.reshape(x.shape)


case("group_norm_per_channel", 21, "GroupNormalization", [x, scale, bias],
     [(group_norm(x, 3) * scale[:, None] + bias[:, None]).astype(np.float32)], num_groups=3)
case("group_norm_per_group", 18, "GroupNormalization", [x, scale[:2], bias[:2]],
     [(group_norm(x, 2, 0.01) * np.repeat(scale[:2], 3)[:, None] + np.repeat(bias[:2], 3)[:, None]).astype(np.float32)],
     num_groups=2, epsilon=0.01)
x = rnd(2, 3, 4)
scale = rnd(3, 4)
case("rms_norm_two_axes", 23, "RMSNormalization", [x, scale],
     [(x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 1e-5) * scale).astype(np.float32)], axis=1)
case("rms_norm_broadcast_scale", 23, "RMSNormalization", [x, scale[0]],
     [(x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 1e-5) * scale[0]).astype(np.float32)], axis=-2)
z = x.copy()
z[0, 1] = 0
n1 = np.abs(z).sum(-1, keepdims=True)
case("lp_normalization_zero_line", 22, "LpNormalization", [z], [np.where(n1 == 0, 0, z / np.where(n1 == 0, 1, n1))], p=1)

# ---- moving elements ----

x = rnd(7, 2)
case("split_num_outputs_uneven", 18, "Split", [x], [x[:3], x[3:6], x[6:]], num_outputs=3)
x = rnd(2, 4, 3)
case("pad_axes", 18, "Pad", [x, i64(1, 0, 0, 2), np.array(0.5, np.float32), i64(-1, 0)],
     [np.pad(x, ((0, 2), (0, 0), (1, 0)), constant_values=0.5)], const=[1, 3])
case("pad_wrap", 19, "Pad", [x, i64(0, 1, 2, 0, 3, 1)], [np.pad(x, ((0, 0), (1, 3), (2, 1)), mode="wrap")], const=[1], mode="wrap")
case("pad_value_at_run_time", 21, "Pad", [x, i64(1, 0, 0, 0, -1, 2), np.array(7.25, np.float32)],
     [np.pad(x[:, :3], ((1, 0), (0, 0), (0, 2)), constant_values=7.25)], const=[1])
case("center_crop_pad_axes", 18, "CenterCropPad", [x, i64(2, 6)],
     [np.pad(x[:, 1:3], ((0, 0), (0, 0), (1, 2)))], const=[1], axes=[1, 2])
for k in (-1, 2):
    case(f"trilu_diagonal_at_run_time_{k + 1}", 14, "Trilu", [x, np.array(k, np.int64)], [np.tril(x, k)], upper=0)
data, idx, upd = rnd(3, 3), ints(2, 3, lo=-3, hi=3), rnd(2, 3)
for red, f in (("max", np.maximum), ("min", np.minimum), ("add", np.add), ("mul", np.multiply)):
    y = data.copy()
    for r in range(2):
        for c in range(3):
            y[idx[r, c], c] = f(y[idx[r, c], c], upd[r, c])
    case(f"scatter_elements_{red}", 18, "ScatterElements", [data, idx, upd], [y], axis=0, reduction=red)
past, upd, at = rnd(2, 2, 5, 3), rnd(2, 2, 2, 3), i64(1, 3)
y = past.copy()
for n in range(2):
    y[n, :, at[n] : at[n] + 2] = upd[n]
case("tensor_scatter_linear", 24, "TensorScatter", [past, upd, at], [y])
past, upd, at = rnd(2, 4, 3), rnd(2, 3, 3), i64(3, 6)
y = past.copy()
for n in range(2):
    for s in range(3):
        y[n, (at[n] + s) % 4] = upd[n, s]
case("tensor_scatter_circular", 24, "TensorScatter", [past, upd, at], [y], axis=1, mode="circular")
y = past.copy()
y[:, :3] = upd
case("tensor_scatter_from_the_start", 24, "TensorScatter", [past, upd], [y], axis=-2)

# ---- columns, deformed convolution ----


def col2im(x, image, block, strides, dilations, pads):
    n = len(image)
    count = [(image[i] + pads[i] + pads[n + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(n)]
    size = int(np.prod(block))
    out = np.zeros((x.shape[0], x.shape[1] // size, *image), x.dtype)
    for b in range(x.shape[0]):
        for c in range(out.shape[1]):
            for k, tap in enumerate(np.ndindex(*block)):
                for l, place in enumerate(np.ndindex(*count)):
                    at = tuple(place[i] * strides[i] + tap[i] * dilations[i] - pads[i] for i in range(n))
                    if all(0 <= at[i] < image[i] for i in range(n)):
                        out[b, c][at] += x[b, c * size + k, l]
    return out


def col2im_case(name, image, block, strides=None, dilations=None, pads=None, channels=2):
    n = len(image)
    s, d, p = strides or [1] * n, dilations or [1] * n, pads or [0] * 2 * n
    count = [(image[i] + p[i] + p[n + i] - d[i] * (block[i] - 1) - 1) // s[i] + 1 for i in range(n)]
    x = rnd(1, channels * int(np.prod(block)), int(np.prod(count)))
    attrs = {k: v for k, v in (("strides", strides), ("dilations", dilations), ("pads", pads)) if v}
    case(name, 18, "Col2Im", [x, i64(*image), i64(*block)], [col2im(x, image, block, s, d, p)], const=[1, 2], **attrs)


col2im_case("col2im_overlapping", [4, 5], [2, 3])
col2im_case("col2im_strides_pads_dilations", [5, 4], [2, 2], [2, 1], [1, 2], [1, 0, 0, 1])
col2im_case("col2im_three_axes", [2, 3, 3], [1, 2, 2], channels=1)


def linear(image, at):
    """N-linear interpolation, zeros outside."""
    low = np.floor(at).astype(int)
    total = 0.0
    for corner in np.ndindex(*[2] * len(at)):
        p = low + corner
        if all(0 <= p[i] < image.shape[i] for i in range(len(at))):
            w = np.prod([at[i] - low[i] if corner[i] else 1 - (at[i] - low[i]) for i in range(len(at))])
            total += w * image[tuple(p)]
    return total


def deform_conv(x, w, offset, bias, mask, strides, pads, dilations, group, og):
    n = x.ndim - 2
    out = np.zeros((x.shape[0], w.shape[0], *offset.shape[2:]))
    taps = list(np.ndindex(*w.shape[2:]))
    off = offset.reshape(x.shape[0], og, len(taps), n, *offset.shape[2:])
    m = np.ones((x.shape[0], og, len(taps), *offset.shape[2:])) if mask is None else mask.reshape(x.shape[0], og, len(taps), *offset.shape[2:])
    per, outs = w.shape[1], w.shape[0] // group
    for b, o in np.ndindex(*out.shape[:2]):
        for place in np.ndindex(*offset.shape[2:]):
            for c in range(per):
                channel = o // outs * per + c
                g = channel // (x.shape[1] // og)
                for t, tap in enumerate(taps):
                    at = np.array([place[i] * strides[i] - pads[i] + tap[i] * dilations[i] + off[(b, g, t, i) + place] for i in range(n)])
                    out[(b, o) + place] += linear(x[b, channel], at) * w[(o, c) + tap] * m[(b, g, t) + place]
    return (out + (0 if bias is None else bias.reshape(1, -1, *[1] * n))).astype(np.float32)


x, w, off, bias, mask = rnd(1, 4, 4, 4), rnd(2, 2, 2, 2), rnd(1, 16, 2, 2, lo=-1, hi=1), rnd(2), rnd(1, 8, 2, 2, lo=0, hi=1)
case("deform_conv_groups_mask_bias", 19, "DeformConv", [x, w, off, bias, mask],
     [deform_conv(x, w, off, bias, mask, [2, 2], [0, 1, 1, 0], [1, 2], 2, 2)],
     strides=[2, 2], pads=[0, 1, 1, 0], dilations=[1, 2], group=2, offset_group=2)
x, w, off = rnd(2, 1, 6), rnd(2, 1, 3), rnd(2, 3, 4, lo=-1, hi=1)
case("deform_conv_one_axis", 22, "DeformConv", [x, w, off], [deform_conv(x, w, off, None, None, [1], [0, 0], [1], 1, 1)])

# ---- images ----


def affine_grid(theta, extents, corners):
    axes = []
    for n in extents:
        i = np.arange(n, dtype=np.float64)
        axes.append(-1 + 2 * i / (n - 1) if corners else (2 * i + 1) / n - 1)
    mesh = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(extents)], -1)
    return np.einsum("nij,...j->n...i", theta, mesh).astype(np.float32)


theta = rnd(2, 2, 3)
case("affine_grid", 20, "AffineGrid", [theta, i64(2, 1, 3, 4)], [affine_grid(theta, (3, 4), False)], const=[1])
theta = rnd(1, 3, 4)
case("affine_grid_three_axes", 20, "AffineGrid", [theta, i64(1, 2, 2, 3, 2)], [affine_grid(theta, (2, 3, 2), True)], const=[1], align_corners=1)


def in_pixels(g, extents, corners):
    n = np.array(extents, np.float64)
    g = g[..., ::-1].astype(np.float64)
    return (g + 1) / 2 * (n - 1) if corners else ((g + 1) * n - 1) / 2


def grid_sample(x, grid, method, corners):
    out = np.zeros((x.shape[0], x.shape[1], *grid.shape[1:-1]))
    for b in range(x.shape[0]):
        for place in np.ndindex(*grid.shape[1:-1]):
            at = in_pixels(grid[(b,) + place], x.shape[2:], corners)
            for c in range(x.shape[1]):
                if method == "linear":
                    out[(b, c) + place] = linear(x[b, c], at)
                else:
                    p = np.rint(at).astype(int)
                    if all(0 <= p[i] < x.shape[2 + i] for i in range(len(p))):
                        out[(b, c) + place] = x[(b, c) + tuple(p)]
    return out.astype(np.float32)


x, grid = rnd(1, 2, 2, 3, 3), rnd(1, 2, 2, 2, 3, lo=-1.3, hi=1.3)
case("grid_sample_three_axes_linear", 20, "GridSample", [x, grid], [grid_sample(x, grid, "linear", True)], mode="linear", align_corners=1)
case("grid_sample_three_axes_nearest", 22, "GridSample", [x, grid], [grid_sample(x, grid, "nearest", False)], mode="nearest")


def cubic_weight(t, a=-0.75):
    t = abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


x, grid = rnd(1, 1, 4, 4), rnd(1, 2, 3, 2, lo=-0.6, hi=0.6)
y = np.zeros((1, 1, 2, 3))
for place in np.ndindex(2, 3):
    at = in_pixels(grid[(0,) + place], (4, 4), True)
    for r in range(-1, 6):
        for c in range(-1, 6):
            inside = 0 <= r < 4 and 0 <= c < 4
            y[(0, 0) + place] += cubic_weight(at[0] - r) * cubic_weight(at[1] - c) * (x[0, 0, r, c] if inside else 0)
case("grid_sample_cubic", 20, "GridSample", [x, grid], [y.astype(np.float32)], mode="cubic", align_corners=1)


def antialias(x, size, axis, exclude):
    """Linear filter widened by the shrinking factor, weights normalized; half_pixel. Places outside
    are those of the border, or have no weight."""
    n = x.shape[axis]
    scale = size / n
    reach = max(1.0, 1 / scale)
    m = np.zeros((size, n))
    for o in range(size):
        at = (o + 0.5) / scale - 0.5
        for i in range(-n, 2 * n):
            if not exclude or 0 <= i < n:
                m[o, min(max(i, 0), n - 1)] += max(0.0, 1 - abs(i - at) / reach)
        m[o] /= m[o].sum()
    return np.moveaxis(np.tensordot(m, x, (1, axis)), 0, axis)


x = rnd(1, 2, 6, 4)
for exclude, when, const in ((0, "", [3]), (1, "", [3]), (0, "_at_run_time", []), (1, "_at_run_time", [])):
    case(f"resize_antialias_axes_exclude_{exclude}{when}", 18, "Resize", [x, None, None, i64(3, 2)],
         [antialias(antialias(x, 3, 2, exclude), 2, 3, exclude).astype(np.float32)], const=const,
         mode="linear", antialias=1, axes=[2, 3], exclude_outside=exclude)
x = rnd(1, 1, 4, 4)
y = x[:, :, [0, 0, 1, 1, 2, 2, 3, 3]][..., [0, 0, 1, 1, 2, 2, 3, 3]]
case("resize_not_larger", 18, "Resize", [x, None, None, i64(9, 8)], [y], const=[3], mode="nearest",
     keep_aspect_ratio_policy="not_larger", axes=[2, 3], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
case("resize_not_larger_by_input", 18, "Resize", [x, None, None, i64(9, 8)], [y], mode="nearest",
     keep_aspect_ratio_policy="not_larger", axes=[2, 3], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
case("resize_not_smaller", 18, "Resize", [x, None, None, i64(7, 8)], [y], const=[3], mode="nearest",
     keep_aspect_ratio_policy="not_smaller", axes=[2, 3], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
# where ONNX Runtime does something else (docs/onnx.md): a place on the border of two entries is exact, not float32's 2.9999998; a
# product of extent and scale counts as it is, not rounded down. Integers are cut off
case("resize_floor_on_a_border", 18, "Resize", [x := np.arange(35, dtype=np.float32).reshape(1, 1, 5, 7), None, None, i64(1, 1, 1, 1)],
     [x[:, :, 2:3, 3:4]], const=[3], mode="nearest", nearest_mode="floor")
x = np.arange(5, dtype=np.float32).reshape(1, 1, 1, 5)
scales = np.array([1, 1, 1, 1.5], np.float32)
case("resize_align_corners_by_a_part", 18, "Resize", [x, None, scales], [(np.arange(7) * 4 / 6.5).astype(np.float32).reshape(1, 1, 1, 7)],
     const=[2], mode="linear", coordinate_transformation_mode="align_corners")
case("resize_crop_by_a_part", 18, "Resize", [x, np.array([0, 0, 0, .25, 1, 1, 1, .75], np.float32), scales],
     [(1 + np.arange(7) * 2 / 6.5).astype(np.float32).reshape(1, 1, 1, 7)], const=[1, 2], mode="linear",
     coordinate_transformation_mode="tf_crop_and_resize")
case("resize_integers", 18, "Resize", [np.array([[[[0, 3, -3, 7]]]], np.int32), None, None, i64(1, 1, 1, 8)],
     [np.array([[[[0, 0, 2, 1, -1, 0, 4, 7]]]], np.int32)], const=[3], mode="linear")

# ---- pooling ----


def pool(x, kernel, stride, dilation, pads, ceil, f, fill):
    """One axis; windows that begin after the data and the padding before them are left out."""
    span = (kernel - 1) * dilation + 1
    room = x.shape[-1] + sum(pads) - span
    count = -(-room // stride) + 1 if ceil else room // stride + 1
    if ceil and (count - 1) * stride >= x.shape[-1] + pads[0]:
        count -= 1
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[1] + stride + span)), constant_values=fill)
    parts = [padded[..., o * stride : o * stride + span : dilation] for o in range(count)]
    return np.stack([f(p) for p in parts], -1).astype(np.float32)


x = rnd(1, 2, 9)
lp = lambda p: (np.abs(p) ** 3).sum(-1) ** (1 / 3)
case("lp_pool_dilations_ceil", 18, "LpPool", [x], [pool(x, 2, 2, 3, (0, 1), True, lp, 0)],
     kernel_shape=[2], strides=[2], dilations=[3], pads=[0, 1], ceil_mode=1, p=3)
mean = lambda p: np.nanmean(p, -1)
case("average_pool_dilations", 19, "AveragePool", [x], [pool(x, 3, 2, 2, (1, 1), False, mean, np.nan)],
     kernel_shape=[3], strides=[2], dilations=[2], pads=[1, 1])
case("average_pool_no_window_in_padding", 22, "AveragePool", [x[..., :4]], [pool(x[..., :4], 1, 3, 1, (0, 1), True, mean, np.nan)],
     kernel_shape=[1], strides=[3], pads=[0, 1], ceil_mode=1)
case("max_pool_no_window_in_padding", 22, "MaxPool", [x[..., :5]], [pool(x[..., :5], 2, 3, 1, (1, 1), True, lambda p: p.max(-1), -np.inf)],
     kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1)

# ---- quantization ----

x = rnd(2, 5, lo=-9, hi=9)
s, z = rnd(2, 3, lo=0.05, hi=0.2), ints(2, 3, lo=-20, hi=20, dtype=np.int8)
S, Z = np.repeat(s, 2, 1)[:, :5], np.repeat(z, 2, 1)[:, :5]
q = np.clip(np.rint(x / S) + Z, -128, 127).astype(np.int8)
case("quantize_blocks", 21, "QuantizeLinear", [x, s, z], [q], axis=1, block_size=2)
case("quantize_blocks_output_dtype", 21, "QuantizeLinear", [x, s], [np.clip(np.rint(x / S), -32768, 32767).astype(np.int16)],
     axis=-1, block_size=2, output_dtype=5)
case("dequantize_blocks", 21, "DequantizeLinear", [q, s, z], [((q.astype(np.int32) - Z) * S).astype(np.float32)], axis=1, block_size=2)
x = rnd(3, 2, lo=-500, hi=500)
s, z = rnd(3, lo=0.01, hi=0.02), ints(3, lo=30000, hi=34000, dtype=np.uint16)
q = np.clip(np.rint(x / s[:, None]) + z[:, None], 0, 65535).astype(np.uint16)
case("quantize_uint16_per_axis", 23, "QuantizeLinear", [x, s, z], [q], axis=0)
case("dequantize_uint16_to_float16", 23, "DequantizeLinear", [q, s, z],
     [((q.astype(np.int32) - z[:, None].astype(np.int32)) * s[:, None]).astype(np.float16)], axis=0, output_dtype=10)

# ---- Fourier transforms ----


def parts(c):
    return np.stack([c.real, c.imag], -1).astype(np.float32)


x = rnd(2, 6, 1)
case("dft_length", 20, "DFT", [x, np.array(8, np.int64)], [parts(np.fft.fft(x[..., 0], 8, 1))], const=[1])
case("dft_onesided_axis_0", 20, "DFT", [rnd(1) * 0 + x[:, :2], None, np.array(0, np.int64)],
     [parts(np.fft.fft(x[:, :2, 0], axis=0)[:2])], const=[2], onesided=1)
x = rnd(2, 3, 2)
c = x[..., 0] + 1j * x[..., 1]
case("dft_inverse_axis_at_run_time", 20, "DFT", [x, None, np.array(0, np.int64)], [parts(np.fft.ifft(c, axis=0))], inverse=1)
case("dft_real_inverse_odd", 20, "DFT", [x, np.array(5, np.int64)],
     [np.fft.irfft(c, 5, 1)[..., None].astype(np.float32)], const=[1], inverse=1, onesided=1)

# ---- attention ----


def softmax(v):
    m = v.max(-1, keepdims=True)
    m[np.isneginf(m)] = 0
    e = np.exp(v - m)
    t = e.sum(-1, keepdims=True)
    return np.where(t == 0, 0, e / np.where(t == 0, 1, t))


def attention(q, k, v, bias=0.0, scale=None, cap=0.0):
    q, k, v = (t.astype(np.float64) for t in (q, k, v))
    k, v = (np.repeat(t, q.shape[1] // k.shape[1], 1) for t in (k, v))
    s = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if cap:
        s = cap * np.tanh(s / cap)
    w = s + bias
    p = softmax(w)
    return (p @ v).astype(np.float32), w.astype(np.float32), p.astype(np.float32)


def bias_of(allowed):
    return np.where(allowed, 0.0, -np.inf)


def heads(x, n):
    return x.reshape(x.shape[0], x.shape[1], n, -1).swapaxes(1, 2)


q, k, v = rnd(1, 2, 3, 4), rnd(1, 2, 5, 4), rnd(1, 2, 5, 3)
case("attention", 23, "Attention", [q, k, v], [attention(q, k, v)[0]])
case("attention_scale_softcap", 23, "Attention", [q, k, v], [attention(q, k, v, scale=0.7, cap=1.5)[0]], scale=0.7, softcap=1.5)
i, j = np.arange(3)[:, None], np.arange(5)
case("attention_causal", 23, "Attention", [q, k, v], [attention(q, k, v, bias_of(j <= i))[0]], is_causal=1)
m = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 0, 1]], bool)
y, _, p = attention(q, k, v, bias_of(m))
case("attention_a_query_that_sees_nothing", 23, "Attention", [q, k, v, m], [y, None, None, p], qk_matmul_output_mode=3)
m = rnd(1, 1, 3, 5)
y, w, _ = attention(q, k, v, m + bias_of(j <= i), cap=2.0)
case("attention_mask_and_causal", 24, "Attention", [q, k, v, m], [y, None, None, w], is_causal=1, softcap=2.0, qk_matmul_output_mode=2)
q3, k3, v3 = rnd(2, 3, 8), rnd(2, 2, 4), rnd(2, 2, 6)
y = attention(heads(q3, 4), heads(k3, 2), heads(v3, 2))[0]
case("attention_grouped_rank_3", 23, "Attention", [q3, k3, v3], [y.swapaxes(1, 2).reshape(2, 3, -1)], q_num_heads=4, kv_num_heads=2)
pk, pv = rnd(1, 2, 2, 4), rnd(1, 2, 2, 3)
K, V = np.concatenate([pk, k], 2), np.concatenate([pv, v], 2)
case("attention_past_causal", 24, "Attention", [q, k, v, None, pk, pv],
     [attention(q, K, V, bias_of(np.arange(7) <= i + 2))[0], K, V], is_causal=1)
q, k, v, valid = rnd(2, 4, 2, 4), rnd(2, 2, 5, 4), rnd(2, 2, 5, 3), i64(4, 1)
see = (j <= np.arange(2)[None, :, None] + (valid[:, None, None] - 2)) & (j < valid[:, None, None])
case("attention_padded_cache_causal", 24, "Attention", [q, k, v, None, None, None, valid],
     [attention(q, k, v, bias_of(see)[:, None])[0]], is_causal=1)
d = np.arange(2)[:, None] - j
case("attention_window", 25, "Attention", [q, k, v], [attention(q, k, v, bias_of((d <= 0) & (-d <= 1)))[0]], left_window_size=0, right_window_size=1)


def rotary(x, c, s, width, interleaved):
    """x [batch, positions, heads, size]; c, s [batch, positions, width / 2]."""
    x, c, s = x.copy(), c[:, :, None], s[:, :, None]
    first = slice(0, width, 2) if interleaved else slice(0, width // 2)
    second = slice(1, width, 2) if interleaved else slice(width // 2, width)
    a, b = x[..., first].copy(), x[..., second].copy()
    x[..., first], x[..., second] = a * c - b * s, a * s + b * c
    return x


x, angles = rnd(2, 3, 2, 6), rnd(2, 3, 3)
c, s = np.cos(angles), np.sin(angles)
case("rotary_embedding", 23, "RotaryEmbedding", [x.swapaxes(1, 2), c, s], [rotary(x, c, s, 6, False).swapaxes(1, 2)])
case("rotary_embedding_interleaved_rank_3", 23, "RotaryEmbedding", [x.reshape(2, 3, 12), c, s],
     [rotary(x, c, s, 6, True).reshape(2, 3, 12)], num_heads=2, interleaved=1)
table, at = rnd(5, 2), ints(2, 3, lo=0, hi=5)
c, s = np.cos(table), np.sin(table)
case("rotary_embedding_part_positions", 23, "RotaryEmbedding", [x.swapaxes(1, 2), c, s, at],
     [rotary(x, c[at], s[at], 4, False).swapaxes(1, 2)], rotary_embedding_dim=4)

# ---- dynamic dimensions ----

x, at = rnd(2, 3, 4, 8), ints(2, 4, lo=0, hi=6)
angles = rnd(6, 4)
c, s = np.cos(angles), np.sin(angles)
y = rotary(x.swapaxes(1, 2), c[at], s[at], 8, False).swapaxes(1, 2)
case("rotary_embedding_dynamic", 23, "RotaryEmbedding", [x, c, s, at], [y], dims=["b_s", "", "", "bs"])
q, k, v, pk, pv, m = rnd(2, 4, 3, 4), rnd(2, 2, 3, 4), rnd(2, 2, 3, 4), rnd(2, 2, 2, 4), rnd(2, 2, 2, 4), rnd(2, 1, 3, 5)
K, V = np.concatenate([pk, k], 2), np.concatenate([pv, v], 2)
i, j = np.arange(3)[:, None], np.arange(5)
case("attention_dynamic_past_mask_causal", 23, "Attention", [q, k, v, m, pk, pv], [attention(q, K, V, m + bias_of(j <= i + 2))[0], K, V],
     dims=["b_s", "b_s", "b_s", "b_st", "b_p", "b_p"], is_causal=1)
case("attention_dynamic_causal", 24, "Attention", [q, K, V], [attention(q, K, V, bias_of(j <= i))[0]], dims=["b_s", "b_t", "b_t"], is_causal=1)
past, upd, at = rnd(2, 2, 5, 3), rnd(2, 2, 2, 3), i64(1, 3)
y = past.copy()
for n in range(2):
    y[n, :, at[n] : at[n] + 2] = upd[n]
case("tensor_scatter_dynamic", 24, "TensorScatter", [past, upd, at], [y], dims=["b_m", "b_s", "b"])
x, grid = rnd(1, 2, 2, 3, 3), rnd(1, 2, 2, 2, 3, lo=-1.3, hi=1.3)
case("grid_sample_dynamic", 20, "GridSample", [x, grid], [grid_sample(x, grid, "linear", True)], dims=["n_dhw", "nabc"], mode="linear", align_corners=1)
x, scale, bias = rnd(2, 6, 3), rnd(6), rnd(6)
case("group_norm_dynamic", 21, "GroupNormalization", [x, scale, bias],
     [(group_norm(x, 3) * scale[:, None] + bias[:, None]).astype(np.float32)], dims=["n_w"], num_groups=3)
x = rnd(4, 5)
case("trilu_dynamic", 14, "Trilu", [x, np.array(1, np.int64)], [np.triu(x, 1)], dims=["nm"])
x, w, off = rnd(2, 1, 6), rnd(2, 1, 3), rnd(2, 3, 4, lo=-1, hi=1)
case("deform_conv_dynamic", 22, "DeformConv", [x, w, off], [deform_conv(x, w, off, None, None, [1], [0, 0], [1], 1, 1)], dims=["n_w", "", "n_o"])
q, k, v, m = rnd(2, 4, 3, 4), rnd(2, 2, 5, 4), rnd(2, 2, 5, 3), rnd(2, 4, 3, 5)
y, w, _ = attention(q, k, v, m)
case("attention_grouped_mask_of_each_head", 23, "Attention", [q, k, v, m], [y, None, None, w], qk_matmul_output_mode=2)
case("attention_grouped_mask_rank_3", 23, "Attention", [q, k, v, m[1]], [attention(q, k, v, m[1])[0]])

# ---- opset 27 and 28 ----


def silu(x, alpha=1.0):
    return x / (1 + np.exp(-alpha * x))


a, b = rnd(2, 5), rnd(2, 5)
case("swiglu", 28, "SwiGLU", [a, b], [(silu(a) * b).astype(np.float32)])
case("swiglu_alpha", 28, "SwiGLU", [a, b], [(silu(a, 1.7) * b).astype(np.float32)], alpha=1.7)
a = np.array([5, -5, 5, -5, 0, -0.0, 6, -6, 3, -3, 3, np.inf, 1, np.nan], np.float32)
b = np.array([3, 3, -3, -3, -2, 2, -3, 3, np.inf, np.inf, -np.inf, 2, 0, 1], np.float32)
with np.errstate(invalid="ignore"):
    case("mod_floats_with_the_sign_of_the_divisor", 28, "Mod", [a, b], [np.mod(a, b)])
    a, b = a.astype(np.float64), b.astype(np.float64)
    case("mod_doubles_with_the_sign_of_the_divisor", 28, "Mod", [a, b], [np.mod(a, b)])
x = rnd(2, 3, 4, 6)
y = x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 12, 2, 3)
case("space_to_depth_crd", 28, "SpaceToDepth", [x], [y], blocksize=2, mode="CRD")
a, b = np.array([1, -1, 100, -100, -128, 7], np.int8), np.array([3, 1, 9, 8, -2, 0], np.int8)
case("shift_left_signed", 28, "BitShift", [a, b], [np.array([8, -2, 0, 0, 0, 7], np.int8)], direction="LEFT")
case("shift_right_signed", 28, "BitShift", [a, b], [np.array([0, -1, 0, -1, -1, 7], np.int8)], direction="RIGHT")
x = rnd(3, 4).astype(np.float64)
case("celu_double", 28, "Celu", [x], [np.maximum(x, 0) + np.minimum(0, 1.5 * (np.exp(x / 1.5) - 1))], alpha=1.5)
case("range_float16", 27, "Range", [np.array(v, np.float16) for v in (1, 3, 0.25)], [np.arange(1, 3, 0.25).astype(np.float16)], const=[0, 1, 2])


def causal_conv(x, w, bias=None, past=None, act=False):
    k = w.shape[2]
    past = np.zeros(x.shape[:2] + (k - 1,), np.float32) if past is None else past
    full = np.concatenate([past, x], 2)
    y = sum(full[:, :, i : i + x.shape[2]] * w[:, 0, i, None] for i in range(k))
    y = y if bias is None else y + bias[:, None]
    return (silu(y) if act else y).astype(np.float32), full[:, :, full.shape[2] - (k - 1) :]


x, w, bias, past = rnd(2, 3, 5), rnd(3, 1, 4), rnd(3), rnd(2, 3, 3)
case("causal_conv", 27, "CausalConvWithState", [x, w], list(causal_conv(x, w)))
case("causal_conv_all", 27, "CausalConvWithState", [x, w, bias, past], list(causal_conv(x, w, bias, past, True)), activation="silu", dims=["b_l", "", "", "b"])
case("causal_conv_one_step", 27, "CausalConvWithState", [x[:, :, :1], w, None, past], list(causal_conv(x[:, :, :1], w, None, past)))
case("causal_conv_output_only", 27, "CausalConvWithState", [x, w, bias], [causal_conv(x, w, bias)[0], None])


def linear_attention(q, k, v, heads, past=None, decay=None, beta=None, scale=None):
    """q [B, T, Hq * K], k, v [B, T, heads * K or V]."""
    (n, steps, _), size = q.shape, k.shape[2] // heads
    k, v = k.reshape(n, steps, heads, size), v.reshape(n, steps, heads, -1)
    q = q.reshape(n, steps, -1, size)
    group = q.shape[2] // heads
    s = np.zeros((n, heads, size, v.shape[3])) if past is None else past.astype(np.float64)
    y = np.zeros((n, steps, q.shape[2], v.shape[3]))
    for t in range(steps):
        if decay is not None:
            s = s * np.exp(decay.reshape(n, steps, heads, -1)[:, t])[..., None]
        x = v[:, t]
        if beta is not None:
            x = beta[:, t, :, None] * (x - np.einsum("bhkv,bhk->bhv", s, k[:, t]))
        s = s + k[:, t, :, :, None] * x[:, :, None, :]
        y[:, t] = np.einsum("bhk,bhkv->bhv", q[:, t], np.repeat(s, group, 1))
    y *= 1 / math.sqrt(size) if scale is None else scale
    return [y.reshape(n, steps, -1).astype(np.float32), s.astype(np.float32)]


q, k, v, past = rnd(2, 5, 8), rnd(2, 5, 8), rnd(2, 5, 6), rnd(2, 2, 4, 3)
g, b = rnd(2, 5, 8, lo=-1, hi=0), rnd(2, 5, 2, lo=0, hi=1)
heads = {"q_num_heads": 2, "kv_num_heads": 2}
case("linear_attention_linear", 27, "LinearAttention", [q, k, v], linear_attention(q, k, v, 2), update_rule="linear", **heads)
case("linear_attention_gated", 27, "LinearAttention", [q, k, v, past, g], linear_attention(q, k, v, 2, past, g), update_rule="gated", **heads)
case("linear_attention_gated_by_head", 27, "LinearAttention", [q, k, v, None, g[:, :, :2]], linear_attention(q, k, v, 2, None, g[:, :, :2]), update_rule="gated", **heads)
case("linear_attention_delta", 27, "LinearAttention", [q, k, v, past, None, b], linear_attention(q, k, v, 2, past, None, b), update_rule="delta", **heads)
case("linear_attention_gated_delta", 27, "LinearAttention", [q, k, v, past, g, b[:, :, :1]], linear_attention(q, k, v, 2, past, g, b[:, :, :1]), **heads)
q2 = rnd(2, 5, 16)
case("linear_attention_shared_heads_any_length", 27, "LinearAttention", [q2, k, v, past, g, b], linear_attention(q2, k, v, 2, past, g, b, 0.3),
     dims=["bt", "bt", "bt", "b", "bt", "bt"], q_num_heads=4, kv_num_heads=2, scale=0.3)

# ---- what only the value of an input decides ----

print("""case if_of_two_ranks_whose_condition_is_an_input
opset 13
node If c -> z
graph then_branch -> t
node Squeeze x axes -> t
end
graph else_branch -> e
node Identity x -> e
end
node Neg z -> y
in c bool scalar : 1
in x float 1,4 : 1 2 3 4
const axes int64 1 : 0
out y float 4 : -1 -2 -3 -4
""")

# ---- quantized, without a zero point: every integer type, there and back ----

NAMES = {22: ("int4", -8, 7), 21: ("uint4", 0, 15), 25: ("uint2", 0, 3), 26: ("int2", -2, 1), 3: ("int8", -128, 127), 2: ("uint8", 0, 255),
         5: ("int16", -32768, 32767), 4: ("uint16", 0, 65535)}
x = np.array([-3.4, -0.6, 0.0, 0.4, 1.3, 3.9, 40.0], np.float32)
for code, (name, lo, hi) in sorted(NAMES.items()):
    y = (np.clip(np.rint(x / np.float32(0.5)), lo, hi) * np.float32(0.5)).astype(np.float32)
    print(f"""case quantize_{name}_and_back_without_a_zero_point
opset 25
node QuantizeLinear x s -> q
attr output_dtype int {code}
node DequantizeLinear q s -> y
in x float 7 : {" ".join(values(x))}
const s float scalar : 0.5
out y float 7 : {" ".join(values(y))}
""")
print("""case dequantize_to_float16_beyond_its_range
opset 21
node DequantizeLinear x s -> h
node Cast h -> y
attr to int 1
in x uint16 2 : 60000 3
const s float16 scalar : 2
out y float 2 : inf 6

case sums_of_many_float16_and_bfloat16
opset 13
node Expand x rows -> a
node Expand x columns -> b
node Expand x image -> c
node ReduceSum a axis -> y0
attr keepdims int 0
node MatMul a b -> y1
node Conv c c -> y2
node ReduceMean a -> y3
attr axes ints 1
attr keepdims int 0
node Cast x -> z
attr to int 16
node Expand z rows -> d
node Expand z columns -> e
node ReduceSum d axis -> f
attr keepdims int 0
node MatMul d e -> g
node Cast f -> y4
attr to int 1
node Cast g -> y5
attr to int 1
in x float16 1 : 1
const rows int64 2 : 4 4096
const columns int64 2 : 4096 2
const image int64 4 : 1 64 8 8
const axis int64 1 : 1
out y0 float16 4 : 4096 4096 4096 4096
out y1 float16 4,2 : 4096 4096 4096 4096 4096 4096 4096 4096
out y2 float16 1,1,1,1 : 4096
out y3 float16 4 : 1 1 1 1
out y4 float 4 : 4096 4096 4096 4096
out y5 float 4,2 : 4096 4096 4096 4096 4096 4096 4096 4096

case dynamic_quantize_of_zeros
opset 11
node DynamicQuantizeLinear x -> y s z
in x float 3 : 0 0 0
out y uint8 3 : 0 0 0
out s float scalar : 1
out z uint8 scalar : 0

case qlinear_matmul_at_a_tie
opset 10
node QLinearMatMul a as az b bs bz ys yz -> y
in a uint8 1,2 : 250 125
in b uint8 2,1 : 200 114
const as float scalar : 0.1
const az uint8 scalar : 0
const bs float scalar : 0.1
const bz uint8 scalar : 0
const ys float scalar : 5
const yz uint8 scalar : 0
out y uint8 1,1 : 128
""")

# ---- sums at places that come as data, large enough for several thread blocks ----

x, u = np.zeros((3, 100, 4), np.float32), np.ones((3, 100, 2), np.float32)
i = np.array([[[k % 4 - 4, (k * 3 + 1) % 4] for k in range(100)] for _ in range(3)], np.int64)
y = x.copy()
for p in np.ndindex(u.shape):
    y[p[0], p[1], i[p]] += u[p]
case("scatter_elements_added_by_many_rows", 18, "ScatterElements", [x, i, u], [y], axis=2, reduction="add")

# ---- dynamic extents of two inputs that are equal, or of which one is 1 ----

drawn = np.random.default_rng(17)  # one of its own, so that other cases keep their values


def whole(*shape):
    return drawn.integers(-4, 5, shape).astype(np.float32)


def chain(name, opset, lines, inputs, result):
    """Nodes as cases.txt has them; inputs: (kind, name, array, dims)."""
    print("case", name)
    print("opset", opset)
    for line in lines:
        print(line)
    for i in inputs:
        tensor(*i)
    tensor("out", "y0", result)
    print()


for name, left, right in (("equal", (2, 3), (2, 3)), ("left", (1, 3), (2, 3)), ("right", (2, 3), (1, 3)), ("both", (2, 1), (1, 3)), ("ones", (1, 1), (1, 1)),
                          ("none", (0, 3), (1, 3))):
    a, b = whole(*left), whole(*right)
    chain("symbols_that_meet_" + name, 17, ["node Add a b -> s", "node Mul s b -> p", "node Relu p -> q", "node Sub q a -> y0"],
          [("in", "a", a, "nk"), ("in", "b", b, "ml")], np.maximum((a + b) * b, 0) - a)
for name, left, right in (("equal", 2, 2), ("one", 1, 3), ("other_one", 3, 1)):
    a, b = whole(left, 2, 3), whole(right, 3, 2)
    chain("batches_that_meet_" + name, 13, ["node MatMul a b -> p", "node ReduceSum p axes -> q", "attr keepdims int 1", "node Add p q -> y0"],
          [("in", "a", a, "n"), ("in", "b", b, "m"), ("const", "axes", i64(1), "")], a @ b + (a @ b).sum(1, keepdims=True))

# rows that are shorter than a sub-group of a GPU, several of which share one
x, v = np.arange(1, 25, dtype=np.float32).reshape(1, 2, 4, 3), np.array([1, 2, 3], np.float32)
case("matmul_of_short_rows_and_a_vector", 13, "MatMul", [x, v], [x @ v])

# ---- extents that nobody knows, and where they are hardest ----

case("argmax_of_no_rows", 17, "ArgMax", [np.zeros((0, 0), np.float32)], [np.zeros(0, np.int64)], dims=["nc"], axis=0, keepdims=0)
x = np.array([[1, 5, 5], [7, 2, 6]], np.float32)
case("argmax_along_an_axis_of_any_extent", 17, "ArgMax", [x], [x.shape[1] - 1 - np.argmax(x[:, ::-1], 1)], dims=["nc"], axis=1, keepdims=0, select_last_index=1)
x, far = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 1, 4), np.array([3e9, -3e9, 1e30, -1e30, 0], np.float32)
# far outside the pixel at the border; in the middle the mean of the two there, with equal weights on both sides
case("grid_sample_cubic_far_outside", 20, "GridSample", [x, np.stack([far, np.zeros_like(far)], -1).reshape(1, 1, 5, 2)],
     [np.where(far > 0, x.max(), np.where(far < 0, x.min(), x.mean())).astype(np.float32).reshape(1, 1, 1, 5)], mode="cubic", padding_mode="border", align_corners=1)


def max_pool(x, kernel, strides, ceil):
    """Without padding: the largest elements and where they are; a window that would begin behind the data is none."""
    count = [min(-(-(n - k) // s) + 1, -(-n // s)) if ceil else (n - k) // s + 1 for n, k, s in zip(x.shape[2:], kernel, strides)]
    flat = np.arange(x.size).reshape(x.shape)
    y, at = np.zeros((*x.shape[:2], *count), x.dtype), np.zeros((*x.shape[:2], *count), np.int64)
    for p in np.ndindex(y.shape):
        window = (*p[:2], *(slice(o * s, o * s + k) for o, s, k in zip(p[2:], strides, kernel)))
        y[p], at[p] = x[window].max(), flat[window].ravel()[np.argmax(x[window])]
    return [y, at]


digits = np.array([1, 2, 0, 4, 5, 6, 7, 8, 9, 2, 1, 0, 3, 4, 5, 6, 2, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2], np.float32)
for name, shape, kernel, strides, ceil, dims in (("windows_that_begin_in_the_data", (1, 2, 5, 3), (1, 3), (3, 1), True, ["__h"]),
                                                 ("windows_that_begin_in_the_data_static", (1, 1, 2, 5), (1, 1), (1, 3), True, []),
                                                 ("a_window_in_the_padding", (1, 1, 5), (1,), (3,), False, []), ("a_window_behind_the_data", (1, 1, 2, 8), (1, 1), (1, 3), False, [])):
    x = digits[:math.prod(shape)].reshape(shape)
    case("max_pool_indices_of_" + name, 18, "MaxPool", [x], max_pool(x, kernel, strides, ceil), dims=dims, **({"ceil_mode": 1} if ceil else {}), kernel_shape=kernel, strides=strides)
one = np.ones((1, 1, 1), np.float32)
first, second = np.tanh(1), np.tanh(1 + 0.5 * np.tanh(1))
case("rnn_with_weights_of_any_extents", 14, "RNN", [np.ones((2, 1, 1), np.float32), one, one / 2],
     [np.array([first, second], np.float32).reshape(2, 1, 1, 1), np.array([second], np.float32).reshape(1, 1, 1)], dims=["tbi", "dhj", "egk"], hidden_size=1)
x, scale, zero = np.arange(1, 7, dtype=np.uint8).reshape(2, 3), np.array([[1, 2], [3, 4]], np.float32), np.arange(4, dtype=np.uint8).reshape(2, 2)
in_blocks = lambda a: np.repeat(a, 2, 1)[:, :3].astype(np.float32)  # noqa: E731
case("dequantize_blocks_of_data_of_any_extents", 21, "DequantizeLinear", [x, scale, zero], [(x - in_blocks(zero)) * in_blocks(scale)], const=[1], dims=["nm", "", "kl"], axis=1, block_size=2)
x = np.array([[1, 3]], np.float64)
case("layer_normalization_of_doubles_hands_out_floats", 17, "LayerNormalization", [x, np.ones(2)],
     [(x - x.mean()) / x.std(), np.array([[x.mean()]], np.float32), np.array([[1 / x.std()]], np.float32)], const=[1], epsilon=0.0)
x = np.array([[600, -600]], np.float16)
wide = x.astype(np.float32)
case("rms_normalization_of_halfs_whose_squares_overflow", 23, "RMSNormalization", [x, np.array([2], np.float16)],
     [(2 * wide / np.sqrt((wide**2).mean())).astype(np.float16)], const=[1])
x = np.array([[1 + 2j, 3 - 1j, 4j, -2 + 1j]])
case("dft_of_parts_of_any_extent", 20, "DFT", [parts(x).astype(np.float32), None, np.array(1)], [parts(np.fft.ifft(x)).astype(np.float32)], const=[2], dims=["__p"], inverse=1)
