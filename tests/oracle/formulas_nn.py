# SPDX-License-Identifier: Apache-2.0
"""Convolution, pooling, normalization, attention, losses, padding."""
import itertools

from oracle import *

SUMS = {"float16": (1e-2, 2e-2), "bfloat16": (6e-2, 1e-1), "float32": (1e-4, 1e-5)}
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def to_layout(a, axes, layout):
    """An array whose axes are `axes` with them in the order of `layout`."""
    return np.transpose(a, [axes.index(c) for c in layout])


def digits(op):
    """The number of spatial axes in an operator's name."""
    return int([c for c in op if c.isdigit()][0])


def window(d, n):
    """strides, dilation, padding (begins, then ends), in one of the forms that the attributes take."""
    if d.kind == "one":
        return [1] * n, [1] * n, [0] * 2 * n, [0] * n
    strides, dilation = [d.int(1, 2) for _ in range(n)], [1 if d.flag(0.6) else 2 for _ in range(n)]
    pad = [d.int(0, 1) if d.flag() else 0 for _ in range(2 * n)]
    form = d.int(0, 2)
    if form == 1:
        pad = pad[:n] * 2
    return strides, dilation, pad, pad[:n] if form == 1 else pad


def channels(d):
    if d.kind == "one":
        return 1, 1, 1
    groups = d.one_of([1, 1, 2, 3])
    return groups, groups * d.int(1, 3), groups * d.int(1, 3)


def convolve(x, w, strides, dilation, pad, groups):
    """N C spatial, O I spatial, by the definition."""
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(pad[i], pad[n + i]) for i in range(n)])
    size = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // strides[i] + 1 for i in range(n)]
    o, c = w.shape[0], w.shape[1]
    y = np.zeros((x.shape[0], o, *size), np.result_type(x, w))
    for g in range(groups):
        part, out_part = slice(g * c, (g + 1) * c), slice(g * o // groups, (g + 1) * o // groups)
        for k in itertools.product(*[range(m) for m in w.shape[2:]]):
            at = tuple(slice(k[i] * dilation[i], k[i] * dilation[i] + strides[i] * (size[i] - 1) + 1, strides[i])
                       for i in range(n))
            y[:, out_part] += np.einsum("nc...,oc->no...", x[(slice(None), part) + at], w[(out_part, slice(None)) + k])
    return y


def conv_symbols(x, w, layout, kernel, fixed="C"):
    return [tuple(n if c in fixed else f"{c.lower()}0" for c, n in zip(layout, x.shape)), w.shape]


def in_blocks(a, axis, size):
    """The axis as blocks, which become the last axis."""
    shape = a.shape[:axis] + (a.shape[axis] // size, size) + a.shape[axis + 1:]
    return np.ascontiguousarray(np.moveaxis(a.reshape(shape), axis + 1, -1))


def block(d, extent):
    """A divisor, or 0 for no blocks."""
    return d.one_of([0] + [f for f in range(1, extent + 1) if extent % f == 0])


@oracle("nn.conv1d", "nn.conv2d", "nn.conv3d")
def conv(d, op):
    n = digits(op)
    axes = "NC" + SPATIAL[n]
    dtype = d.dtype(["float32", "float64", "float16", "int8", "int32"])
    strides, dilation, pad, pad_attr = window(d, n)
    groups, c, o = channels(d)
    kernel = [d.extent(1, 3) for _ in range(n)]
    batch = d.extent(1, 2, zero=True)
    space = [max(dilation[i] * (kernel[i] - 1) + 1 - pad[i] - pad[n + i], 1) + d.extent(1, 5 if n < 3 else 3) - 1 for i in range(n)]
    x, w = d.exact((batch, c, *space), dtype, -3, 3), d.exact((o, c // groups, *kernel), dtype, -2, 2)
    to = "int32" if dtype == "int8" else "float32" if dtype == "float16" and d.flag() else dtype
    kind = np.float64 if is_float(to) else np.dtype(to)
    y = convolve(x.a.astype(kind), w.a.astype(kind), strides, dilation, pad, groups)
    attrs = {"strides": strides, "padding": pad_attr, "dilation": dilation, "groups": groups}
    if to != dtype:
        attrs["out_dtype"] = to
    layout = axes
    if d.flag(0.3):
        attrs["data_layout"], attrs["kernel_layout"], attrs["out_layout"] = axes, "OI" + SPATIAL[n], axes
        for key, axis, letter in (("data_layout", 1, "c"), ("out_layout", 1, "c"), ("kernel_layout", 1, "i"), ("kernel_layout", 0, "o")):
            a = y if key == "out_layout" else x.a if key == "data_layout" else w.a
            f = block(d, a.shape[axis])
            if not f:
                continue
            attrs[key] += f"{f}{letter}"
            a = in_blocks(a, axis, f)
            if key == "out_layout":
                y = a
            elif key == "data_layout":
                x, layout = Tensor(a, dtype), axes + "C"
            else:
                w = Tensor(a, dtype)
        return Case(op, [x, w], out(y, to), attrs=attrs, tol=SUMS.get(to), sym=conv_symbols(x, w, layout, None))
    if d.flag(0.3):
        layout = "N" + SPATIAL[n] + "C"
        attrs["data_layout"] = layout
        x = Tensor(to_layout(x.a, axes, layout), dtype)
        y = to_layout(y, axes, layout)
    if d.flag(0.3):
        kernel_layout = SPATIAL[n] + "IO"
        attrs["kernel_layout"] = kernel_layout
        w = Tensor(to_layout(w.a, "OI" + SPATIAL[n], kernel_layout), dtype)
    if d.flag(0.2):
        attrs["out_layout"] = axes
        y = to_layout(y, layout, axes)
    return Case(op, [x, w], out(y, to), attrs=attrs, tol=SUMS.get(to), sym=conv_symbols(x, w, layout, None))


@oracle("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def conv_transpose(d, op):
    n = digits(op)
    axes = "NC" + SPATIAL[n]
    dtype = d.dtype(["float32", "float64", "float16"])
    strides, dilation, pad, pad_attr = window(d, n)
    groups, c, o = channels(d)
    kernel = [d.extent(1, 3) for _ in range(n)]
    extra = [d.int(0, max(0, strides[i] - 1)) for i in range(n)]
    batch = d.extent(1, 2, zero=True)
    space = [d.extent(1, 5 if n < 3 else 3) if d.kind == "one" else d.int(2, 5 if n < 3 else 3) for _ in range(n)]
    # paddings that leave nothing are refused
    space = [max(space[i], -(-(pad[i] + pad[n + i] - dilation[i] * (kernel[i] - 1) - extra[i]) // strides[i]) + 1) for i in range(n)]
    x = d.exact((batch, c, *space), dtype, -3, 3)
    # the program has products with zeros put between the elements
    w = d.exact((c, o // groups, *kernel), dtype, -2, 2, nan=False, inf=False)
    full = [(space[i] - 1) * strides[i] + dilation[i] * (kernel[i] - 1) + 1 + extra[i] for i in range(n)]
    y = np.zeros((batch, o, *full))
    per, per_out = c // groups, o // groups
    for g in range(groups):
        for k in itertools.product(*[range(m) for m in kernel]):
            at = tuple(slice(k[i] * dilation[i], k[i] * dilation[i] + strides[i] * (space[i] - 1) + 1, strides[i])
                       for i in range(n))
            part = slice(g * per, (g + 1) * per)
            y[(slice(None), slice(g * per_out, (g + 1) * per_out)) + at] += np.einsum(
                "nc...,co->no...", wide(x)[:, part], wide(w)[(part, slice(None)) + k])
    y = y[(slice(None), slice(None)) + tuple(slice(pad[i], full[i] - pad[n + i]) for i in range(n))]
    attrs = {"strides": strides, "padding": pad_attr, "dilation": dilation, "groups": groups, "output_padding": extra}
    if d.flag(0.25):
        layout = "N" + SPATIAL[n] + "C"
        attrs["data_layout"] = layout
        x, y = Tensor(to_layout(x.a, axes, layout), dtype), to_layout(y, axes, layout)
    else:
        layout = axes
    return Case(op, [x, w], out(y, dtype), attrs=attrs, tol=SUMS.get(dtype), sym=conv_symbols(x, w, layout, None))


# ---- pooling ----

def pool_output(size, k, s, p0, p1, dil, ceil):
    room = size + p0 + p1 - dil * (k - 1) - 1
    return (-(-room // s) if ceil else room // s) + 1


def windows(x, size, pool, strides, dilation, pad):
    """For every place of the result: its index, and the places of the data that its window holds, with how many there
    are in the data and its padding."""
    n = len(size)
    for place in itertools.product(*[range(m) for m in size]):
        inside, padded = [], 0
        for k in itertools.product(*[range(m) for m in pool]):
            at = tuple(place[i] * strides[i] + k[i] * dilation[i] - pad[i] for i in range(n))
            padded += all(-pad[i] <= at[i] < x.shape[2 + i] + pad[n + i] for i in range(n))
            if all(0 <= at[i] < x.shape[2 + i] for i in range(n)):
                inside.append(at)
        yield place, inside, padded


def pool_draw(d, op, more=1):
    n = digits(op)
    strides, dilation, pad, pad_attr = window(d, n)
    pool = [d.extent(2 if pad[i] or pad[n + i] else 1, 3) for i in range(n)]
    ceil = d.flag(0.3)
    batch, c = d.extent(1, 2, zero=True), d.extent(1, 2)
    space = [dilation[i] * (pool[i] - 1) + d.extent(1, 5 if n < 3 else 2) for i in range(n)]
    size = [pool_output(space[i], pool[i], strides[i], pad[i], pad[n + i], dilation[i], ceil) for i in range(n)]
    attrs = {"pool_size": pool, "strides": strides, "dilation": dilation, "padding": pad_attr, "ceil_mode": ceil}
    return n, (batch, c, *space), size, pool, strides, dilation, pad, attrs


def windows_that_see_data(x, size, pool, strides, dilation, pad):
    return all(inside for _, inside, _ in windows(x, size, pool, strides, dilation, pad))


@oracle("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def pooling(d, op):
    n, s, size, pool, strides, dilation, pad, attrs = pool_draw(d, op)
    largest = "max" in op
    dtype = d.dtype(["float32", "float64", "float16"] + (["int32", "int8"] if largest else []))
    x = d.numbers(s, dtype)
    while not windows_that_see_data(x.a, size, pool, strides, dilation, pad):
        n, s, size, pool, strides, dilation, pad, attrs = pool_draw(d, op)
        x = d.numbers(s, dtype)
    counted = d.flag()
    if not largest:
        attrs["count_include_pad"] = counted
    y = np.zeros(s[:2] + tuple(size))
    for place, inside, padded in windows(x.a, size, pool, strides, dilation, pad):
        v = np.stack([wide(x)[(slice(None), slice(None)) + at] for at in inside])
        y[(slice(None), slice(None)) + place] = v.max(0) if largest else v.sum(0) / (padded if counted else len(inside))
    layout = axes = "NC" + SPATIAL[n]
    if d.flag(0.3):
        layout = "N" + SPATIAL[n] + "C"
        attrs["layout"] = layout
        x, y = Tensor(to_layout(x.a, axes, layout), dtype), to_layout(y, axes, layout)
    return Case(op, [x], out(y, dtype), attrs=attrs, sym=[tuple(f"{c.lower()}0" for c in layout)])


@oracle("nn.max_pool1d_with_indices", "nn.max_pool2d_with_indices", "nn.max_pool3d_with_indices")
def pool_with_indices(d, op):
    n, s, size, pool, strides, dilation, pad, attrs = pool_draw(d, op)
    x = d.different(s, d.dtype(["float32", "float64", "float16"]))
    while not windows_that_see_data(x.a, size, pool, strides, dilation, pad):
        n, s, size, pool, strides, dilation, pad, attrs = pool_draw(d, op)
        x = d.different(s, x.dtype)
    order = d.int(0, 1)
    attrs["storage_order"] = order
    y, where = np.zeros(s[:2] + tuple(size)), np.zeros(s[:2] + tuple(size), np.int64)
    space = s[2:]
    for place, inside, _ in windows(x.a, size, pool, strides, dilation, pad):
        for b, c in itertools.product(range(s[0]), range(s[1])):
            values = [wide(x)[(b, c) + at] for at in inside]
            at = inside[int(np.argmax(values))]
            y[(b, c) + place] = max(values)
            flat = np.ravel_multi_index(at, space) if order == 0 else np.ravel_multi_index(at[::-1], space[::-1])
            where[(b, c) + place] = (b * s[1] + c) * int(np.prod(space)) + flat
    return Case(op, [x], [out(y, x.dtype), out(where, "int64")], attrs=attrs,
                sym=[tuple(f"{c.lower()}0" for c in "NC" + SPATIAL[n])])


@oracle(*[f"nn.adaptive_{k}_pool{n}d" for k in ("avg", "max") for n in (1, 2, 3)])
def adaptive_pool(d, op):
    n = digits(op)
    dtype = d.dtype(["float32", "float64", "float16"])
    s = (d.extent(1, 2, zero=True), d.extent(1, 3)) + tuple(d.extent(1, 6 if n < 3 else 4) for _ in range(n))
    x = d.floats(s, dtype)
    size = [d.int(1, 5) for _ in range(n)] if d.flag(0.85) else None
    to = size or list(s[2:])
    y = np.zeros(s[:2] + tuple(to))
    for place in itertools.product(*[range(m) for m in to]):
        part = tuple(slice(p * k // m, -(-(p + 1) * k // m)) for p, k, m in zip(place, s[2:], to))
        v = wide(x)[(slice(None), slice(None)) + part].reshape(*s[:2], int(np.prod([k.stop - k.start for k in part])))
        y[(slice(None), slice(None)) + place] = v.mean(-1) if "avg" in op else v.max(-1) if v.size else 0
    attrs = {} if size is None else {"output_size": size}
    layout = axes = "NC" + SPATIAL[n]
    if d.flag(0.3):
        layout = "N" + SPATIAL[n] + "C"
        attrs["layout"] = layout
        x, y = Tensor(to_layout(x.a, axes, layout), dtype), to_layout(y, axes, layout)
    return Case(op, [x], out(y, dtype), attrs=attrs, sym=[tuple(f"{c.lower()}0" for c in layout)])


# ---- normalization ----

NORM = {"float16": (1e-2, 1e-2), "bfloat16": (5e-2, 6e-2), "float32": (2e-4, 2e-5)}


def lined(v, rank, axes):
    """v along `axes` of a tensor of this rank."""
    shape = [1] * rank
    order = np.argsort([a % rank for a in axes])
    v = np.transpose(v, order)
    for k, i in enumerate(order):
        shape[axes[i] % rank] = v.shape[k]
    return v.reshape(shape)


def affine(d, given):
    attrs = {}
    center, scale = True, True
    if d.flag(0.3):
        center = attrs["center"] = d.flag()
    if d.flag(0.3):
        scale = attrs["scale"] = d.flag()
    if d.flag():
        attrs["epsilon"] = d.one_of([1e-3, 1e-5, 0.1])
    return {**given, **attrs}, center, scale, attrs.get("epsilon", 1e-5)


@oracle("nn.batch_norm")
def batch_norm(d, op):
    s, dtype = d.shape(2, 4), d.dtype(SINGLE)
    axis = d.axis(len(s))
    c = s[axis]
    training = d.flag() and 0 not in s
    attrs, center, scale, eps = affine(d, {"axis": axis, "training": training})
    momentum = 0.1
    if d.flag():
        momentum = attrs["momentum"] = 0.3
    x = d.floats(s, dtype)
    gamma, beta, mean = (d.floats((c,), dtype, inf=False) for _ in range(3))
    var = Tensor(d.rng.uniform(0.1, 2, c), dtype)
    m, v, results = wide(mean), wide(var), [mean, var]
    if training:
        rest = tuple(i for i in range(len(s)) if i != axis % len(s))
        m, v = wide(x).mean(rest), wide(x).var(rest)
        results = [out((1 - momentum) * wide(mean) + momentum * m, dtype),
                   out((1 - momentum) * wide(var) + momentum * v, dtype)]
    y = (wide(x) - lined(m, len(s), [axis])) / np.sqrt(lined(v, len(s), [axis]) + eps)
    if scale:
        y = y * lined(wide(gamma), len(s), [axis])
    if center:
        y = y + lined(wide(beta), len(s), [axis])
    return Case(op, [x, gamma, beta, mean, var], [out(y, dtype)] + results, attrs=attrs, tol=NORM.get(dtype), sym=[
        tuple(f"n{i}" for i in range(len(s)))] + [(f"n{axis % len(s)}",)] * 4)


def normalised(x, axes, eps):
    m = x.mean(axes, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(axes, keepdims=True) + eps)


@oracle("nn.layer_norm", "nn.rms_norm")
def layer_norm(d, op):
    s, dtype = d.shape(1, 4), d.dtype(FLOATS)
    n = d.int(1, len(s))
    axes = [i - len(s) if d.flag() else i for i in range(len(s) - n, len(s))]
    if 0 in [s[a] for a in axes]:
        s = tuple(max(v, 1) for v in s)
    x = d.floats(s, dtype)
    shape = tuple(s[a] for a in axes)
    gamma, beta = (d.floats(shape, dtype) for _ in range(2))
    if op == "nn.rms_norm":
        attrs = {"axes": axes}
        eps = 1e-5
        if d.flag():
            eps = attrs["epsilon"] = 1e-3
        y = wide(x) / np.sqrt((wide(x) ** 2).mean(tuple(axes), keepdims=True) + eps) * lined(wide(gamma), len(s), axes)
        return Case(op, [x, gamma], out(y, dtype), attrs=attrs, tol=NORM.get(dtype))
    attrs, center, scale, eps = affine(d, {"axes": axes})
    y = normalised(wide(x), tuple(axes), eps)
    y = y * lined(wide(gamma), len(s), axes) if scale else y
    y = y + lined(wide(beta), len(s), axes) if center else y
    return Case(op, [x, gamma, beta], out(y, dtype), attrs=attrs, tol=NORM.get(dtype))


@oracle("nn.group_norm", "nn.instance_norm")
def group_norm(d, op):
    rank, dtype = d.int(2, 4), d.dtype(FLOATS)
    groups = d.int(1, 3) if op == "nn.group_norm" else 1
    channel = d.int(1, rank - 1) if rank > 2 else 1
    s = [d.extent() for _ in range(rank)]
    s[channel] = groups * d.int(1, 3)
    if d.kind == "zero":
        s[0] = 0
    axes = [i for i in range(1, rank) if i != channel]
    x = d.floats(tuple(s), dtype)
    c = s[channel]
    gamma, beta = (d.floats((c,), dtype) for _ in range(2))
    given = {"num_groups": groups} if op == "nn.group_norm" else {}
    given.update({"channel_axis": channel - rank if d.flag(0.3) else channel,
                  "axes": [a - rank if d.flag(0.3) else a for a in axes]})
    attrs, center, scale, eps = affine(d, given)
    moved = np.moveaxis(wide(x), channel, 1)
    if op == "nn.group_norm":
        split = moved.reshape(s[0], groups, int(np.prod(moved.shape[1:])) // groups)
        y = normalised(split, (2,), eps) if split.size else split
    else:
        split = moved.reshape(s[0], c, int(np.prod(moved.shape[2:])))
        y = normalised(split, (2,), eps) if split.size else split
    y = np.moveaxis(y.reshape(moved.shape), 1, channel)
    y = y * lined(wide(gamma), rank, [channel]) if scale else y
    y = y + lined(wide(beta), rank, [channel]) if center else y
    return Case(op, [x, gamma, beta], out(y, dtype), attrs=attrs, tol=NORM.get(dtype),
                sym=[tuple(n if i == channel else f"n{i}" for i, n in enumerate(s)), (c,), (c,)])


@oracle("nn.lrn")
def lrn(d, op):
    s, dtype = d.shape(2, 4), d.dtype(SINGLE)
    axis, size = d.axis(len(s)), d.int(1, 5)
    x = d.floats(s, dtype)
    attrs, p = {"size": size, "axis": axis}, {"bias": 1.0, "alpha": 1e-4, "beta": 0.75}
    for k in p:
        if d.flag():
            p[k] = attrs[k] = d.one_of([0.5, 1.0, 2.0])
    c = s[axis]
    a = np.moveaxis(wide(x), axis, 0)
    total = np.stack([np.sum(a[max(0, i - (size - 1) // 2):min(c, i + size // 2 + 1)] ** 2, 0) for i in range(c)]) if c else a
    y = np.moveaxis(a / (p["bias"] + p["alpha"] / size * total) ** p["beta"], 0, axis)
    return Case(op, [x], out(y, dtype), attrs=attrs, tol=NORM.get(dtype))


@oracle("nn.dropout")
def dropout(d, op):
    x = d.floats(d.shape(), d.dtype(FLOATS))
    return Case(op, [x], [out(x.a, x.dtype), out(np.ones(x.shape), x.dtype)], attrs={"rate": 0.3} if d.flag() else {})


# ---- the rest ----

@oracle("nn.pad")
def pad(d, op):
    mode = d.turn(["constant", "reflect", "replicate", "circular", "edge", "constant"])
    s, dtype = d.shape(1, 4, zero=mode == "constant"), d.dtype(["float32", "int32", "float64", "float16", "int8"])
    x = d.numbers(s, dtype)
    widths = []
    for n in s:
        most = n - 1 if mode == "reflect" else n if mode == "circular" else 3
        widths.append((d.int(0, min(most, 3)), d.int(0, min(most, 3))))
    attrs = {"pad_width": [v for w in widths for v in w], "pad_mode": mode}
    kw = {}
    if mode == "constant":
        v = d.one_of([0, 1, -2])
        if v:
            attrs["pad_value"] = float(v)
        kw = {"constant_values": v}
    name = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    if mode == "constant" and d.flag(0.3) and all(n > 1 for n in s):  # cuts
        attrs["pad_width"] = [-1, 0] + attrs["pad_width"][2:]
        y = np.pad(x.a[1:], [(0, 0)] + widths[1:], **kw)
    else:
        y = np.pad(x.a, widths, name, **kw)
    return Case(op, [x], out(y, dtype), attrs=attrs, sym=[tuple(f"n{i}" for i in range(len(s)))])


@oracle("nn.pixel_shuffle")
def pixel_shuffle(d, op):
    r, lead, dtype = d.extent(1, 3), d.shape(0, 2), d.dtype(["float32", "int32", "float16"])
    c, h, w = d.extent(1, 3), d.extent(), d.extent()
    x = d.numbers(lead + (c * r * r, h, w), dtype)
    k = len(lead)
    y = x.a.reshape(*lead, c, r, r, h, w)
    y = np.transpose(y, list(range(k)) + [k, k + 3, k + 1, k + 4, k + 2]).reshape(*lead, c, h * r, w * r)
    return Case(op, [x], out(y, dtype), attrs={"upscale_factor": r},
                sym=[tuple(f"n{i}" for i in range(k)) + (c * r * r, "h", "w")])


@oracle("nn.attention", "nn.attention_bias")
def attention(d, op):
    dtype = d.dtype(["float32", "float64", "float16"])
    batch, heads, sq, sk, size, size_v = (d.extent(1, 2, zero=True), d.extent(1, 3), d.extent(1, 5), d.extent(1, 5),
                                          d.extent(1, 4), d.extent(1, 4))
    heads_k = heads if d.flag(0.7) else 1
    q, k, v = (d.floats(s, dtype, -1, 1) for s in
               ((batch, sq, heads, size), (batch, sk, heads_k, size), (batch, sk, heads_k, size_v)))
    attrs, scale = {}, 1 / math.sqrt(size)
    if d.flag(0.4):
        scale = attrs["scale"] = 0.5
    mask = None
    if d.flag(0.5):
        mask = attrs["causal_mask"] = d.one_of(["TopLeft", "BottomRight"])
        if mask == "BottomRight" and sq > sk:  # rows that see nothing
            mask = attrs["causal_mask"] = "TopLeft"
    if mask and mask == "BottomRight" and d.flag(0.5):
        attrs["window_size"] = d.int(1, 3)
    kk, vv = (np.repeat(wide(t), heads // heads_k, 2) for t in (k, v))
    scores = np.einsum("bihd,bjhd->bhij", wide(q), kk) * scale
    inputs = [q, k, v]
    if d.flag(0.4) or op == "nn.attention_bias":
        inputs.append(d.floats((batch, heads if d.flag() else 1, sq, sk), dtype))
        scores = scores + wide(inputs[3])
    if mask:
        i, j = np.arange(sq)[:, None] + (sk - sq if mask == "BottomRight" else 0), np.arange(sk)[None]
        seen = (j <= i) & (i - j < attrs.get("window_size", 1 << 40))
        scores = np.where(seen, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True)) if scores.size else scores
    y = np.einsum("bhij,bjhd->bihd", e / e.sum(-1, keepdims=True), vv)
    sym = [("b", "i", heads, size), ("b", "j", heads_k, size), ("b", "j", heads_k, size_v)]
    if len(inputs) == 4:
        sym.append(("b", inputs[3].shape[1], "i", "j"))
    return Case(op, inputs, out(y, dtype), attrs=attrs, tol=NORM.get(dtype), sym=sym)


@oracle("nn.attention_var_len")
def attention_var_len(d, op):
    dtype, n, heads, size, size_v = d.dtype(SINGLE), d.extent(1, 3), d.extent(1, 2), d.extent(1, 4), d.extent(1, 4)
    nq, nk = (d.rng.integers(0 if d.kind == "zero" else 1, 4, n) for _ in range(2))
    starts = [np.concatenate([[0], np.cumsum(v)]) for v in (nq, nk)]
    # what a query does not see has the weight 0
    q, k, v = (d.floats(s, dtype, -1, 1, nan=False, inf=False) for s in (
        (1, int(nq.sum()), heads, size), (1, int(nk.sum()), heads, size), (1, int(nk.sum()), heads, size_v)))
    attrs = {}
    mask = d.one_of([None, None, "TopLeft", "BottomRight"])
    if mask:
        attrs["causal_mask"] = mask
    y = np.zeros((1, int(nq.sum()), heads, size_v))
    for b in range(n):
        rows, keys = slice(starts[0][b], starts[0][b + 1]), slice(starts[1][b], starts[1][b + 1])
        scores = np.einsum("ihd,jhd->hij", wide(q)[0, rows], wide(k)[0, keys]) / math.sqrt(size)
        i, j = np.arange(nq[b])[:, None], np.arange(nk[b])[None]
        seen = j <= i + (nk[b] - nq[b] if mask == "BottomRight" else 0) if mask else (j >= 0) & (i >= 0)
        e = np.where(seen, np.exp(scores), 0)
        total = e.sum(-1, keepdims=True)
        e = e / np.where(total == 0, 1, total)  # a query that sees no key gives 0
        y[0, rows] = np.einsum("hij,jhd->ihd", e, wide(v)[0, keys])
    most = [Tensor([int(c.max(initial=0))], "int32") for c in (nq, nk)]
    return Case(op, [q, k, v] + [Tensor(s, "int32") for s in starts] + most, out(y, dtype), attrs=attrs, tol=NORM.get(dtype),
                sym=[(1, "i", heads, size), (1, "j", heads, size), (1, "j", heads, size_v), ("s",), ("s",), (1,), (1,)])


def nll_parts(d):
    dtype, c = d.dtype(SINGLE), d.extent(1, 4)
    rest = d.shape(0, 3, most=4)
    shape = (c,) if not rest else (rest[0], c) + rest[1:]
    p = d.floats(shape, dtype, -3, 0)
    t = Tensor(d.rng.integers(0, c, rest), d.one_of(INDEX))
    ignore = d.int(0, c - 1) if d.flag(0.3) and t.a.size and (t.a != 0).any() else -100
    if ignore >= 0 and (t.a == ignore).all():
        ignore = -100
    w = Tensor(d.rng.uniform(0.5, 2, c), dtype) if d.flag() else None
    return dtype, p, t, w, ignore


@oracle("nn.nll_loss")
def nll_loss(d, op):
    dtype, p, t, w, ignore = nll_parts(d)
    how = d.turn(["mean", "sum", "none"]) if t.a.size else d.one_of(["sum", "none"])  # no mean of none
    weights = np.where(t.a == ignore, 0, wide(w)[t.a] if w else 1.0)
    k = 1 if len(p.shape) > 1 else 0
    taken = np.take_along_axis(wide(p), np.expand_dims(t.a, k), k).reshape(t.shape)
    loss = -np.where(t.a == ignore, 0, taken) * weights  # what is ignored adds nothing, infinite or NaN as it may be
    y = loss if how == "none" else loss.sum() / (weights.sum() if how == "mean" else 1)
    return Case(op, [p, t] + ([w] if w else []), out(y, dtype), attrs={"reduction": how, "ignore_index": ignore})


@oracle("grad.nll_loss_backward")
def nll_loss_backward(d, op):
    dtype, p, t, w, ignore = nll_parts(d)
    how = d.turn(["mean", "sum", "none"]) if t.a.size else d.one_of(["sum", "none"])  # no mean of none
    g = d.floats(t.shape if how == "none" else (), dtype)
    weights = np.where(t.a == ignore, 0, wide(w)[t.a] if w else 1.0)
    k = 1 if len(p.shape) > 1 else 0
    hot = np.expand_dims(t.a, k) == np.arange(p.shape[k]).reshape([-1 if i == k else 1 for i in range(len(p.shape))])
    share = weights * wide(g) / (weights.sum() if how == "mean" else 1)
    y = np.where(hot, -np.expand_dims(share, k), 0)
    return Case(op, [g, p, t] + ([w] if w else []), out(y, dtype),
                attrs={"reduction": how, "ignore_index": ignore})


@oracle("nn.cross_entropy_with_logits")
def cross_entropy(d, op):
    s, dtype = d.shape(1, 2), d.dtype(SINGLE)
    if len(s) > 1 and s[0] == 0:  # no mean
        s = (1,) + s[1:]
    p, t = d.floats(s, dtype), Tensor(d.rng.uniform(0, 1, s), dtype)
    y = -(wide(p) * wide(t)).sum() / (s[0] if len(s) > 1 else 1)
    return Case(op, [p, t], out(y, dtype), tol=NORM.get(dtype))


# ---- gradients ----

@oracle("grad.max_pool2d_backward", "grad.avg_pool2d_backward")
def pool_backward(d, op):
    n, s, size, pool, strides, dilation, pad, attrs = pool_draw(d, "nn.max_pool2d")
    x = d.different(s, d.dtype(SINGLE))
    while (not windows_that_see_data(x.a, size, pool, strides, dilation, pad) or attrs["ceil_mode"] or dilation != [1, 1]):
        n, s, size, pool, strides, dilation, pad, attrs = pool_draw(d, "nn.max_pool2d")
        x = d.different(s, x.dtype)
    g = d.exact(s[:2] + tuple(size), x.dtype)
    counted = d.flag()
    if "avg" in op:
        attrs["count_include_pad"] = counted
    y = np.zeros(s)
    for place, inside, padded in windows(x.a, size, pool, strides, dilation, pad):
        for b, c in itertools.product(range(s[0]), range(s[1])):
            v = wide(g)[(b, c) + place]
            if "max" in op:
                at = inside[int(np.argmax([x.a[(b, c) + i] for i in inside]))]
                y[(b, c) + at] += v
            else:
                for at in inside:
                    y[(b, c) + at] += v / (padded if counted else len(inside))
    return Case(op, [g, x], out(y, x.dtype), attrs=attrs, sym=[("b", "c", *g.shape[2:]), ("b", "c", *s[2:])])


@oracle("grad.take_backward")
def take_backward(d, op):
    s, dtype = d.shape(1, 3, zero=False), d.dtype(SINGLE)
    axis = d.axis(len(s)) if len(s) > 1 or d.flag() else None
    k = (axis or 0) % len(s)
    x, at = d.floats(s, dtype), Tensor(d.rng.integers(0, s[k], d.extent(1, 5, zero=True)), d.one_of(INDEX))
    g = d.exact(s[:k] + at.shape + s[k + 1:], dtype)
    y = np.zeros(s)
    np.add.at(np.moveaxis(y, k, 0), at.a, np.moveaxis(wide(g), k, 0))
    return Case(op, [g, x, at], out(y, dtype), attrs={} if axis is None else {"axis": axis})


@oracle("grad.no_grad", "grad.start_checkpoint", "grad.end_checkpoint")
def mark(d, op):
    x = d.numbers(d.shape(), d.dtype(ALL))
    return Case(op, [x], out(x.a, x.dtype))
