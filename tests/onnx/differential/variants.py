# SPDX-License-Identifier: Apache-2.0
"""Operators with the attributes and optional operands that the functions of operators.py leave out. Each is a name of its own, so
that --only finds it."""
import numpy as np
from graph import subgraph
from onnx import TensorProto, helper
from operators import add_with_captured, axes_of, axis_of, distinct_image, image, operator, weight


@operator("MaxPool:indices")
def pool_indices(g, _):
    shape = (g.integer(1, 2), g.integer(1, 3)) + tuple(g.integer(3, 8) for _ in range(g.pick([1, 2, 2, 3])))
    x = distinct_image(g, shape)
    k = [g.integer(1, min(3, d)) for d in shape[2:]]
    return g.add("MaxPool", [x], 2, kernel_shape=k, strides=[g.integer(1, 3) for _ in k] if g.chance(0.6) else None,
                 pads=[g.integer(0, n - 1) for n in k * 2] if g.chance(0.4) else None, storage_order=g.integer(0, 1), ceil_mode=g.integer(0, 1))


@operator("LSTM:all", "GRU:all", "RNN:all")
def recurrent(g, name):
    op = name.split(":")[0]
    t, b, i, h = g.integer(1, 6), g.integer(1, 3), g.integer(1, 5), g.pick([1, 3, 8])
    gates, per = {"LSTM": (4, ["Sigmoid", "Tanh", "Tanh"]), "GRU": (3, ["Sigmoid", "Tanh"]), "RNN": (1, ["Tanh"])}[op]
    direction = g.pick(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    layout = g.pick([0, 0, 0, 1])
    ins = [g.fresh((b, t, i) if layout else (t, b, i), "float32", -1, 1), weight(g, (d, gates * h, i), low=-1, high=1),
           weight(g, (d, gates * h, h), low=-1, high=1), weight(g, (d, 2 * gates * h), low=-1, high=1) if g.chance(0.5) else None]
    ins.append(g.input(g.rng.integers(1, t + 1, b).astype(np.int32)) if g.chance(0.4) else None)
    state = (b, d, h) if layout else (d, b, h)
    ins.append(weight(g, state, low=-1, high=1) if g.chance(0.6) else None)
    if op == "LSTM":
        ins.append(weight(g, state, low=-1, high=1) if g.chance(0.6) else None)
        ins.append(weight(g, (d, 3 * h), low=-1, high=1) if g.chance(0.4) else None)
    attrs = {"hidden_size": h, "direction": direction, "layout": layout or None}
    if g.chance(0.4):
        attrs["activations"] = [g.pick(["Sigmoid", "Tanh", "Relu", "HardSigmoid"] if f == "Sigmoid" else ["Tanh", "Relu", "Softsign"]) for f in per] * d
    if g.chance(0.2):
        attrs["clip"] = 0.75
    if op == "GRU":
        attrs["linear_before_reset"] = g.integer(0, 1)
    return g.add(op, ins, 3 if op == "LSTM" else 2, exact=False, **attrs)


@operator("Attention:cache")
def attention(g, _):
    b, kv, d, dv, s, t, p = g.integer(1, 2), g.integer(1, 2), g.pick([4, 8]), g.pick([4, 8]), g.integer(1, 5), g.integer(1, 6), g.integer(1, 7)
    h = kv * g.integer(1, 2)
    ins = [g.fresh(x, "float32", -1, 1) for x in ((b, h, s, d), (b, kv, t, d), (b, kv, t, dv))]
    mask = [(s, t + p), (1, t + p), (b, 1, s, t + p), (b, h, s, t + p)]
    ins.append(g.fresh(g.pick(mask), g.pick(["float32", "bool"]), -1, 1) if g.chance(0.5) else None)
    ins += [g.fresh((b, kv, p, d), "float32", -1, 1), g.fresh((b, kv, p, dv), "float32", -1, 1)]
    for v in ins[:3]:
        v.fixed = True  # extents that do not fit are for each to refuse in its own way
    causal = g.integer(0, 1) if s > 1 or t == 1 else 0  # ONNX Runtime's kernel lets a single query see all keys
    return g.add("Attention", ins, 3, exact=False, is_causal=causal, scale=g.pick([None, 0.5]), softcap=g.pick([None, None, 2.0]))


@operator("Resize:all")
def resize(g, _):
    x = image(g, 2)
    mode = g.pick(["nearest", "linear", "linear", "cubic"])
    how = g.pick(["half_pixel", "asymmetric", "half_pixel_symmetric", "pytorch_half_pixel", "tf_crop_and_resize"])
    attrs = {"mode": mode, "coordinate_transformation_mode": how}
    if mode == "nearest":
        attrs["nearest_mode"] = g.pick(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
        attrs["coordinate_transformation_mode"] = how = g.pick(["half_pixel", "asymmetric"])
    if mode == "cubic":
        attrs["cubic_coeff_a"] = g.pick([-0.5, -0.75])
        attrs["exclude_outside"] = g.integer(0, 1)
    if mode != "nearest" and how != "tf_crop_and_resize" and g.chance(0.3):
        attrs["antialias"] = 1
    roi = None
    if how == "tf_crop_and_resize":
        attrs["extrapolation_value"] = 0.5
        roi = np.asarray([0, 0, 0.125, 0.25, 1, 1, 0.875, 0.75], np.float32)
    if how != "tf_crop_and_resize" and g.chance(0.4):
        attrs["axes"] = [2, 3] if g.chance(0.7) else [-1, -2]
        size = [g.pick([n, 2 * n, n + 3, max(1, n - 2)]) for n in x.shape[2:]]
        if attrs["axes"][0] == -1:
            size = size[::-1]
        if attrs["axes"][0] == 2 and g.chance(0.3):  # ONNX Runtime keeps the extents of axes counted from the end
            attrs["keep_aspect_ratio_policy"] = g.pick(["not_larger", "not_smaller"])
        return g.add("Resize", [x, None, None, np.asarray(size)], exact=False, **attrs)
    if roi is not None:
        # by scales, or of an axis that keeps its extent, ONNX Runtime's crop is not that of ONNX's reference
        return g.add("Resize", [x, roi, None, np.asarray(list(x.shape[:2]) + [g.pick([2 * n, n + 3]) for n in x.shape[2:]])], exact=False, **attrs)
    if g.chance(0.5):
        return g.add("Resize", [x, roi, None, np.asarray(list(x.shape[:2]) + [g.pick([n, 2 * n, n + 3]) for n in x.shape[2:]])], exact=False, **attrs)
    return g.add("Resize", [x, roi, np.asarray([1, 1] + [g.pick([1, 2, 3, 0.5]) for _ in x.shape[2:]], np.float32)], exact=False, **attrs)


@operator("QuantizeLinear:axis")
def quantize(g, _):
    x = g.any("f", low_rank=1, exact=True)
    if x.dtype != np.float32 or not x.array.size:
        return None
    axis = axis_of(g, x)
    n = x.shape[axis]
    to = np.dtype(g.pick(["uint8", "int8", "int16", "uint16"]))
    scale = (g.rng.integers(1, 5, n) / 4).astype(np.float32)
    zero = g.rng.integers(0, 5, n).astype(to) if g.chance(0.7) else np.zeros(n, to)
    q = g.add("QuantizeLinear", [x, scale, zero], axis=axis)
    return q and g.add("DequantizeLinear", [q[0], scale, zero], axis=axis)


@operator("DequantizeLinear:blocks")
def dequantize(g, _):
    block, blocks, n = g.integer(1, 4), g.integer(1, 4), g.integer(1, 6)
    by_row = g.chance(0.5)
    shape, scales = ((n, block * blocks), (n, blocks)) if by_row else ((block * blocks, n), (blocks, n))
    dtype = g.pick(["uint8", "int8", "int16"])
    q = g.fresh(shape, dtype)
    q.fixed = True
    scale = (g.rng.integers(1, 9, scales) / 8).astype(np.float32)
    zero = g.rng.integers(0, 5, scales).astype(dtype) if g.chance(0.6) else None
    return g.add("DequantizeLinear", [q, scale, zero], axis=1 if by_row else 0, block_size=block)


@operator("QLinearConv:channels")
def qlinear_conv(g, _):
    groups = g.pick([1, 1, 2, 4])
    c, out, k = groups * g.integer(1, 4), groups * g.integer(1, 4), g.integer(1, 3)
    dtype = g.pick(["uint8", "int8"])
    x = g.fresh((g.integer(1, 2), c, g.integer(3, 8), g.integer(3, 8)), "uint8")
    w = g.data((out, c // groups, k, k), dtype)
    per = out if g.chance(0.5) else None
    w_scale = (g.rng.integers(1, 5, per or 1) / 4).astype(np.float32)
    w_zero = np.zeros(per or 1, dtype)
    bias = g.rng.integers(-50, 50, out).astype(np.int32) if g.chance(0.5) else None
    if not per:
        w_scale, w_zero = w_scale.reshape(()), w_zero.reshape(())
    f, u = (lambda v: np.asarray(v, np.float32)), (lambda v: np.asarray(v, np.uint8))
    return g.add("QLinearConv", [x, f(0.5), u(3), w, w_scale, w_zero, f(2), u(100), bias], group=groups,
                 strides=[g.integer(1, 2)] * 2, pads=[g.integer(0, 1) for _ in range(4)])


@operator("LayerNormalization:all")
def layer_norm(g, _):
    x = g.any("f", low_rank=1)
    axis = g.integer(-x.rank, x.rank - 1)
    scale = weight(g, x.shape[axis % x.rank:], x.dtype)
    return g.add("LayerNormalization", [x, scale], 3, exact=False, axis=axis, epsilon=0.01)


@operator("BatchNormalization:any")
def batch_norm(g, _):
    x = g.any("f", low_rank=2)
    c = (x.shape[1],)
    return g.add("BatchNormalization", [x] + [weight(g, c, x.dtype) for _ in range(3)] + [weight(g, c, x.dtype, 1, 3)], exact=False)


@operator("GatherND:batch")
def gather_nd(g, _):
    a = g.any("fi", low_rank=2)
    batch = g.integer(1, a.rank - 1)
    k = g.integer(1, a.rank - batch)
    if 0 in a.shape:
        return None
    ids = np.stack([g.rng.integers(-d, d, a.shape[:batch] + (g.integer(1, 3),)) for d in a.shape[batch:batch + 1]], -1)
    ids = np.concatenate([ids] + [g.rng.integers(-d, d, ids.shape[:-1] + (1,)) for d in a.shape[batch + 1:batch + k]], -1)
    return g.add("GatherND", [a, g.constant(ids.astype(np.int64))], batch_dims=batch)


@operator("Pad:axes")
def pad(g, _):
    a = g.any("fi", low_rank=1)
    axes = [int(i) for i in g.rng.permutation(a.rank)[:g.integer(1, a.rank)]]
    mode = g.pick(["constant", "reflect", "edge", "wrap"])
    most = [3 if mode in ("constant", "edge") else max(0, min(3, a.shape[i] - 1)) for i in axes]
    pads = [g.integer(0, m) for m in most * 2]
    axes = [i - a.rank if g.chance(0.3) else i for i in axes]
    return g.add("Pad", [a, g.numbers(pads), None, np.asarray(axes)], mode=mode)


@operator("Einsum:all")
def einsum(g, _):
    n, m, k = (g.integer(1, 6) for _ in range(3))
    text, shapes = g.pick([("ii->i", [(n, n)]), ("ii", [(n, n)]), ("ij->", [(n, m)]), ("ijk->kji", [(n, m, k)]), ("ij->j", [(n, m)]),
                           ("i,j->ij", [(n,), (m,)]), ("ij,ij->ij", [(n, m), (n, m)]), ("ij,jk,kl->il", [(n, m), (m, k), (k, n)]),
                           ("...i->...", [(n, m, k)]), ("b...d,b...d->b...", [(n, m, k), (n, m, k)]), ("bhqd,bhkd->bhqk", [(2, n, m, k), (2, n, 3, k)]),
                           ("abc,cd->abd", [(n, m, k), (k, n)]), ("iij->j", [(n, n, m)])])
    ins = [g.fresh(s, "float32", -2, 2) for s in shapes]
    for v in ins:
        v.fixed = True
    return g.add("Einsum", ins, equation=text)


@operator("ConvTranspose:shape")
def conv_transpose(g, _):
    x = image(g, 2)
    c = x.shape[1]
    k = [g.integer(1, 4), g.integer(1, 4)]
    s = [g.integer(1, n) for n in k]
    w = weight(g, (c, g.integer(1, 4)) + tuple(k), low=-1, high=1)
    x.fixed = True
    attrs = {"strides": s, "kernel_shape": k}
    if g.chance(0.5):
        attrs["auto_pad"] = g.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        attrs["output_shape"] = [(d - 1) * t + n - g.integer(0, n - 1) for d, t, n in zip(x.shape[2:], s, k)]
        attrs["auto_pad"] = g.pick(["NOTSET", "SAME_UPPER", "SAME_LOWER"])
    return g.add("ConvTranspose", [x, w], exact=False, **attrs)


@operator("NonMaxSuppression:all")
def nms(g, _):
    b, c, n = g.integer(1, 2), g.integer(1, 3), g.integer(1, 9)
    corner = g.data((b, n, 2), "float32", 0, 6)
    boxes = np.concatenate([corner, corner + g.data((b, n, 2), "float32", 1, 4)], 2)
    if g.chance(0.3):
        boxes = boxes[:, :, [2, 3, 0, 1]]  # the corners the other way round
    scores = (g.rng.permutation(b * c * n).reshape(b, c, n) / 64).astype(np.float32)
    return g.add("NonMaxSuppression", [g.input(boxes), g.input(scores), g.numbers([g.integer(0, 5)], 0.3), np.asarray([g.pick([0, 0.3, 0.7])], np.float32),
                                       np.asarray([g.pick([0.0625, 0.2])], np.float32) if g.chance(0.6) else None], center_point_box=g.integer(0, 1))


@operator("RoiAlign:all")
def roi_align(g, _):
    x = image(g, 2)
    n = g.integer(1, 3)
    corner = g.data((n, 2), "float32", -1, 6)
    rois = np.concatenate([corner, corner + g.data((n, 2), "float32", 0, 8)], 1)
    return g.add("RoiAlign", [x, g.input(rois), g.constant(g.rng.integers(0, x.shape[0], (n,)).astype(np.int64))], exact=False,
                 output_height=g.integer(1, 4), output_width=g.integer(1, 4), sampling_ratio=g.integer(0, 3), spatial_scale=g.pick([1.0, 0.5]),
                 coordinate_transformation_mode=g.pick(["half_pixel", "output_half_pixel"]))


@operator("Col2Im:all")
def col2im(g, _):
    k, s, d = [g.integer(1, 3), g.integer(1, 2)], [g.integer(1, 2), g.integer(1, 3)], [g.integer(1, 2), 1]
    size, pads = [g.integer(4, 8), g.integer(4, 8)], [g.integer(0, 1) for _ in range(4)]
    blocks = [(size[i] + pads[i] + pads[i + 2] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]
    if min(blocks) < 1:
        return None
    return g.add("Col2Im", [g.fresh((g.integer(1, 2), g.integer(1, 3) * k[0] * k[1], blocks[0] * blocks[1]), "float32"), np.asarray(size), np.asarray(k)],
                 strides=s, dilations=d, pads=pads)


@operator("DFT:all")
def dft(g, _):
    inverse = g.integer(0, 1)
    shape = [g.integer(1, 3), g.pick([4, 5, 8]), g.pick([3, 6, 16]), g.pick([1, 2])]
    length = g.pick([None, 4, 7])
    return g.add("DFT", [g.fresh(shape, "float32"), None if length is None else np.asarray(length), np.asarray(g.pick([1, 2, -2]))], exact=False,
                 inverse=inverse, onesided=0 if inverse else g.integer(0, 1))


@operator("TopK:indices")
def top_k(g, _):
    shape = g.shape(g.integer(1, 3), 500)
    a = g.input((g.rng.permutation(int(np.prod(shape))) / 8).astype(g.pick(["float32", "float64"])).reshape(shape))
    axis = axis_of(g, a)
    return a.shape[axis] and g.add("TopK", [a, g.numbers([g.integer(1, a.shape[axis])])], 2, axis=axis, largest=g.integer(0, 1), sorted=1)


@operator("Scan:all")
def scan(g, _):
    """Two scanned inputs along axes of their own, in directions of their own."""
    t, n = g.integer(1, 5), g.integer(1, 6)
    axes, back = [g.integer(0, 1), g.pick([0, 1, -1])], [g.integer(0, 1), g.integer(0, 1)]
    xs = [g.fresh((t, n) if a == 0 else (n, t), "float32", -1, 1) for a in axes]
    nodes = [helper.make_node("Add", ["s", "x"], ["u"]), helper.make_node("Mul", ["u", "y"], ["v"]), helper.make_node("Tanh", ["v"], ["s2"]),
             helper.make_node("Neg", ["u"], ["z"])]
    body = subgraph("body", nodes, [(i, np.float32, 1) for i in "sxy"], [(o, np.float32, 1) for o in ("s2", "z")])
    state = g.fresh((n,), "float32", -1, 1)
    for v in [state, *xs]:
        v.fixed = True  # a state may not change its shape; ONNX Runtime lets one of extent 1 grow
    return add_with_captured(g, "Scan", [state, *xs], [], 2, body=body, num_scan_inputs=2, scan_input_axes=axes,
                             scan_input_directions=back, scan_output_axes=[g.pick([0, 1, -1])], scan_output_directions=[g.integer(0, 1)])


@operator("Loop:until")
def loop(g, _):
    """Ends by a condition on what is carried, or by the count."""
    a = g.fresh((g.integer(1, 5),), "float32", 0, 2)
    half = g.constant(np.asarray(g.pick([0.5, 1.0]), np.float32))
    limit = g.constant(np.asarray(g.integer(3, 30), np.float32))
    nodes = [helper.make_node("Add", ["s", half.name], ["s2"]), helper.make_node("ReduceSum", ["s2"], ["sum"], keepdims=0),
             helper.make_node("Less", ["sum", limit.name], ["go2"]), helper.make_node("Cast", ["i"], ["row"], to=TensorProto.FLOAT)]
    body = subgraph("body", nodes, [("i", np.int64, 0), ("go", bool, 0), ("s", np.float32, 1)],
                    [("go2", bool, 0), ("s2", np.float32, 1), ("row", np.float32, 0)])
    count = g.numbers(g.integer(0, 40), 0.3, near=True) if g.chance(0.7) else None
    return add_with_captured(g, "Loop", [count, g.constant(np.asarray(g.chance(0.9))), a], [half, limit], 2, body=body)


@operator("If:ranks")
def if_(g, _):
    a = g.any("f", low_rank=1)
    c = g.input(g.data((), bool)) if g.chance(0.7) else g.constant(g.data((), bool))
    axes = g.constant(np.asarray([0]))
    branches = {"then_branch": subgraph("then", [helper.make_node("Unsqueeze", [a.name, axes.name], ["t"])], [], [("t", a.dtype, a.rank + 1)]),
                "else_branch": subgraph("else", [helper.make_node("Neg", [a.name], ["e"])], [], [("e", a.dtype, a.rank)])}
    return add_with_captured(g, "If", [c], [a, axes], 1, **branches)


@operator("Reduce:axes")
def reduction(g, _):
    """Axes that come at run time, and none."""
    a = g.any("f")
    op = g.pick(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp"])
    axes = [] if g.chance(0.3) else axes_of(g, a)
    return g.add(op, [a, g.numbers(axes, 0)], exact=False, keepdims=1, noop_with_empty_axes=g.integer(0, 1))


@operator("Where:three")
def where(g, _):
    shape = g.shape(g.integer(1, 4), 400)
    parts = [tuple(1 if g.chance(0.4) else d for d in shape)[g.integer(0, len(shape)):] for _ in range(3)]
    dtype = g.pick(["float32", "int64", "uint8", "bool"])
    return g.add("Where", [g.fresh(parts[0], bool), g.fresh(parts[1], dtype), g.fresh(parts[2], dtype)])


@operator("Split:uneven")
def split(g, _):
    a = g.any("fi", low_rank=1)
    axis = axis_of(g, a)
    n = g.integer(1, 4)
    return g.add("Split", [a], n, axis=axis, num_outputs=n)


@operator("ScatterElements:repeated")
def scatter_elements(g, _):
    """Places that are met more than once: sums, products and extremes of small numbers come out the same in any order."""
    a = g.fresh(g.shape(g.integer(1, 3), 300), g.pick(["float32", "int32", "int64"]))
    axis = axis_of(g, a)
    if 0 in a.shape:
        return None
    ids = g.rng.integers(-a.shape[axis], a.shape[axis], [min(d, 4) if i != axis % a.rank else g.integer(1, 6) for i, d in enumerate(a.shape)])
    v = g.input(ids.astype(np.int64))
    return g.add("ScatterElements", [a, v, g.fresh(ids.shape, a.dtype)], axis=axis, reduction=g.pick(["add", "max", "min"]))
