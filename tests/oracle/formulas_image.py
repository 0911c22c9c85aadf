# SPDX-License-Identifier: Apache-2.0
"""Images: resizing and sampling."""
import itertools
from fractions import Fraction

from formulas_nn import NORM, SPATIAL, digits, to_layout
from oracle import *

PLACES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
          "half_pixel_symmetric", "tf_crop_and_resize"]


HALF = Fraction(1, 2)


def place(mode, i, n, m, scale, roi):
    """Where element i of the m new ones lies in the n old ones, exactly."""
    length = n * scale
    if mode == "align_corners":
        return i * (n - 1) / (length - 1) if length > 1 else 0
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_half_pixel_for_nn":
        return (i + HALF) / scale
    if mode == "tf_crop_and_resize":
        return roi[0] * (n - 1) + i * (roi[1] - roi[0]) * (n - 1) / (length - 1) if length > 1 else sum(roi) / 2 * (n - 1)
    if mode == "pytorch_half_pixel" and length <= 1:
        return 0
    if mode == "half_pixel_symmetric":
        return HALF * n * (1 - m / (scale * n)) + (i + HALF) / scale - HALF
    return (i + HALF) / scale - HALF


def cubic(x, a):
    x = abs(x)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return a * (((x - 5) * x + 8) * x - 4) if x < 2 else 0.0


ROUND = {"round": lambda x: math.floor(x + HALF), "round_prefer_ceil": lambda x: math.floor(x + HALF),
         "round_prefer_floor": lambda x: math.ceil(x - HALF), "floor": math.floor, "ceil": math.ceil}


def weights(method, x, n, rounding, alpha, exclude):
    """Pairs of place and weight."""
    if method == "nearest_neighbor":
        return [(min(max(ROUND[rounding](x), 0), n - 1), 1.0)]
    base = math.floor(x)
    x = float(x - base)
    taps = [(base + k, max(0.0, 1 - abs(x - k)) if method == "linear" else cubic(x - k, alpha))
            for k in ((0, 1) if method == "linear" else (-1, 0, 1, 2))]
    if exclude:
        taps = [(i, w if 0 <= i < n else 0.0) for i, w in taps]
        total = sum(w for _, w in taps)
        taps = [(i, w / total) for i, w in taps]
    return [(min(max(i, 0), n - 1), w) for i, w in taps]


@oracle("image.resize1d", "image.resize2d", "image.resize3d")
def resize(d, op):
    n = digits(op)
    dtype = d.dtype(["float32", "float64", "float16"])
    s = (d.extent(1, 2, zero=True), d.extent(1, 2)) + tuple(d.extent(1, 5 if n < 3 else 3) for _ in range(n))
    size = [d.int(1, 7 if n < 3 else 5) for _ in range(n)]
    x = d.floats(s, dtype)
    method, mode = d.turn(["linear", "nearest_neighbor", "cubic"]), d.turn(PLACES)
    rounding, alpha, exclude = d.one_of(list(ROUND)), d.one_of([-0.75, -0.5]), method == "cubic" and d.flag(0.3)
    if mode == "tf_crop_and_resize" and method == "cubic":
        mode = "half_pixel"
    roi = [round(v, 2) for v in list(d.rng.uniform(0, 0.4, n)) + list(d.rng.uniform(0.6, 1, n))]
    y = wide(x)
    for k in range(n):
        m, old, region = size[k], s[2 + k], [Fraction(str(roi[j])) for j in (k, n + k)]
        if m == old and mode != "tf_crop_and_resize":
            places = [[(i, 1.0)] for i in range(m)]
        else:
            places = [weights(method, place(mode, i, old, m, Fraction(m, old), region), old, rounding, alpha, exclude)
                      for i in range(m)]
        parts = []
        for i, taps in enumerate(places):
            outside = False
            if mode == "tf_crop_and_resize":
                p = place(mode, i, old, m, Fraction(m, old), region)
                outside = p < 0 or p > old - 1
            v = sum(np.take(y, t, 2 + k) * w for t, w in taps)
            parts.append(np.full_like(v, 0.0) if outside else v)
        y = np.stack(parts, 2 + k)
    attrs = {"method": method, "coordinate_transformation_mode": mode, "rounding_method": rounding}
    if mode == "tf_crop_and_resize":
        attrs["roi"] = roi
    if method == "cubic":
        attrs["cubic_alpha"] = alpha
        attrs["cubic_exclude"] = int(exclude)
    axes = layout = "NC" + SPATIAL[n]
    if d.flag(0.3):
        layout = "N" + SPATIAL[n] + "C"
        attrs["layout"] = layout
        x, y = Tensor(to_layout(x.a, axes, layout), dtype), to_layout(y, axes, layout)
    to = dtype
    if dtype == "float16" and d.flag():
        to = attrs["out_dtype"] = "float32"
    return Case(op, [x], out(y, to), args=["x0", shape_arg(size)], attrs=attrs, sym=[
        tuple(n_ if c not in "NC" else f"{c.lower()}0" for c, n_ in zip(layout, x.shape))],
        tol=NORM.get("float32" if dtype == "float32" else dtype))


def reflect(v, n, corners):
    low, span = (0, n - 1) if corners else (-0.5, n)
    if span <= 0:
        return 0.0
    v = abs(v - low) % (2 * span)
    return (v if v <= span else 2 * span - v) + low


@oracle("image.grid_sample")
def grid_sample(d, op):
    dtype = d.dtype(["float32", "float64"])
    method, mode = d.turn(["bilinear", "nearest", "bicubic"]), d.one_of(["zeros", "border", "reflection"])
    corners = d.flag()
    n, c, h, w, oh, ow = (d.extent(1, 2, zero=True), d.extent(1, 2), d.extent(1, 5), d.extent(1, 5),
                          d.extent(1, 4), d.extent(1, 4))
    x = d.floats((n, c, h, w), dtype)
    grid = d.floats((n, 2, oh, ow), dtype, -1.4, 1.4, nan=False, inf=False)
    # a place between two elements has no nearest one: keep away from there
    y = np.zeros((n, c, oh, ow))

    def tap(b, i, j):
        if mode == "zeros" and not (0 <= i < h and 0 <= j < w):
            return np.zeros(c)
        if mode == "reflection":
            i, j = round(reflect(i, h, corners)), round(reflect(j, w, corners))
        return wide(x)[b, :, min(max(i, 0), h - 1), min(max(j, 0), w - 1)]

    for b, i, j in itertools.product(range(n), range(oh), range(ow)):
        at = []
        for v, size in zip((wide(grid)[b, 1, i, j], wide(grid)[b, 0, i, j]), (h, w)):
            v = (v + 1) / 2 * (size - 1) if corners else ((v + 1) * size - 1) / 2
            if method != "bicubic":
                v = min(max(v, 0), size - 1) if mode == "border" else reflect(v, size, corners) if mode == "reflection" else v
            at.append(v)
        if method == "nearest":
            y[b, :, i, j] = tap(b, round(at[0]), round(at[1]))
            continue
        base = [math.floor(v) for v in at]
        taps = (-1, 0, 1, 2) if method == "bicubic" else (0, 1)
        for p, q in itertools.product(taps, taps):
            wp, wq = (cubic(v - f - k, -0.75) if method == "bicubic" else max(0, 1 - abs(v - f - k))
                      for v, f, k in zip(at, base, (p, q)))
            y[b, :, i, j] += wp * wq * tap(b, base[0] + p, base[1] + q)
    return Case(op, [x, grid], out(y, dtype), tol=(2e-4, 2e-4),
                attrs={"method": method, "padding_mode": mode, "align_corners": corners},
                sym=[("n", "c", "h", "w"), ("n", 2, "oh", "ow")])


@oracle("image.affine_grid")
def affine_grid(d, op):
    k, n, corners, dtype = d.int(2, 3), d.extent(1, 3, zero=True), d.flag(), d.dtype(SINGLE)
    theta = d.floats((n, k, k + 1), dtype)
    size = [d.extent(1, 4) for _ in range(k)]
    lines = [np.linspace(-1, 1, m) if corners and m > 1 else (2 * np.arange(m) + 1) / m - 1 for m in size]
    base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)])  # x, y, z, 1
    y = np.einsum("nij,j...->ni...", wide(theta), base)
    return Case(op, [theta], out(y, dtype), args=["x0", shape_arg(size)], attrs={"align_corners": corners},
                sym=[("n", k, k + 1)])
