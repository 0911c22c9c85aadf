#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes select_cases.txt: ONNX models in which values decide extents, and what follows such nodes.

    python3 tests/onnx/make_select_cases.py > tests/onnx/select_cases.txt

tests/onnx/made.py compares, and with --keep writes all three files with the results that are there where those are near.

Expected values come from NumPy and from the formulas here, which are written from ONNX's operator
specification.
"""
import numpy as np

rng = np.random.default_rng(2611)
TYPES = {"float32": "float", "float64": "double"}


def tensor(kind, name, a):
    a = np.asarray(a)
    t = TYPES.get(a.dtype.name, a.dtype.name)
    v = ["%.9g" % x if a.dtype.kind == "f" else str(int(x)) for x in a.ravel()]
    print(kind, name, t, ",".join(map(str, a.shape)) or "scalar", ":", *v)


def case(name, opset, nodes, inputs, outputs, const=(), fixed=()):
    """nodes: (text, attributes); inputs in `const` are initializers, those in `fixed` have their
    extents in the model."""
    print("case", name)
    print("opset", opset)
    for node in nodes:
        text, attrs = node if isinstance(node, tuple) else (node, {})
        print("node", text)
        for k, v in attrs.items():
            kind = "text" if isinstance(v, str) else "float" if isinstance(v, float) else "ints" if isinstance(v, list) else "int"
            print("attr", k, kind, *(v if isinstance(v, list) else [v]))
    for k, a in inputs.items():
        tensor("const" if k in const else "in" if k in fixed else "any", k, a)
    for k, a in outputs.items():
        tensor("out", k, a)
    print()


def sparse(*shape, dtype=np.float32):
    return (rng.integers(-3, 4, shape) * (rng.random(shape) < 0.5)).astype(dtype)


# ---- NonZero ----

x = sparse(3, 4)
at = np.stack(np.nonzero(x))
case("nonzero_any_extents", 13, ["NonZero x -> y"], {"x": x}, {"y": at})
case("nonzero_of_nothing", 13, ["NonZero x -> y"], {"x": np.zeros((0, 4), np.float32)}, {"y": np.zeros((2, 0), np.int64)})
case("nonzero_finds_nothing", 13, ["NonZero x -> y"], {"x": np.zeros((3, 2, 2), np.int32)}, {"y": np.zeros((3, 0), np.int64)})
case("nonzero_nan", 13, ["NonZero x -> y"], {"x": np.array([np.nan, 0, -0.0, np.inf], np.float32)}, {"y": np.array([[0, 3]])})
case("nonzero_bool", 13, ["NonZero x -> y"], {"x": x > 0}, {"y": np.stack(np.nonzero(x > 0))})
for v in 0.0, 2.0:  # the indices of a scalar have no rows
    case(f"nonzero_scalar_{int(v)}", 13, ["NonZero x -> y"], {"x": np.array(v, np.float32)}, {"y": np.zeros((0, int(v != 0)), np.int64)})
case("nonzero_then_gather", 13, ["NonZero x -> i", "Transpose i -> t", "GatherND x t -> g", "Relu g -> y"], {"x": x}, {"y": np.maximum(x[x != 0], 0)})
case("nonzero_none_then_gather", 13, ["NonZero x -> i", "Transpose i -> t", "GatherND x t -> g", "ReduceSum g -> y"],
     {"x": np.zeros((3, 4), np.float32)}, {"y": np.zeros(1, np.float32)})
case("nonzero_count", 13, ["NonZero x -> i", "Shape i -> s", "Gather s one -> n", "Unsqueeze n zero -> n1", "ConstantOfShape n1 -> z", "Size i -> m"],
     {"x": x, "one": np.array(1), "zero": np.array([0])}, {"n": np.array(at.shape[1]), "z": np.zeros(at.shape[1], np.float32), "m": np.array(at.size)},
     const=["one", "zero"])
case("nonzero_of_nonzero", 13, ["NonZero x -> a", "NonZero a -> y"], {"x": x}, {"y": np.stack(np.nonzero(at))})
case("scatter_back", 18, ["NonZero x -> i", "Transpose i -> t", "GatherND x t -> g", "Mul g two -> u", "ScatterND x t u -> y"],
     {"x": x, "two": np.array(2, np.float32)}, {"y": x * 2}, const=["two"])

# ---- Compress ----

x, c = np.round(rng.uniform(-2, 2, (4, 3)), 3).astype(np.float32), np.array([1, 0, 1], bool)
case("compress_rows", 11, [("Compress x c -> y", {"axis": 0})], {"x": x, "c": c}, {"y": np.compress(c, x, 0)})
case("compress_flat", 11, ["Compress x c -> y"], {"x": x, "c": c}, {"y": np.compress(c, x)})
case("compress_to_nothing", 11, [("Compress x c -> y", {"axis": -1})], {"x": x, "c": np.zeros(3, bool)}, {"y": np.zeros((4, 0), np.float32)})
case("compress_long_condition", 11, [("Compress x c -> y", {"axis": 1})], {"x": x, "c": np.array([0, 1, 1, 0, 0], bool)}, {"y": x[:, 1:]}, fixed=["x", "c"])
case("compress_too_long_condition", 11, [("Compress x c -> y", {"axis": 1})], {"x": x, "c": np.array([0, 1, 1, 1, 0], bool)}, {"y": x[:, 1:]})
case("compress_short_condition", 11, [("Compress x c -> y", {"axis": 0})], {"x": x, "c": np.array([0, 1], bool)}, {"y": x[1:2]})
case("compress_known", 11, [("Compress x c -> y", {"axis": 1})], {"x": x, "c": c}, {"y": np.compress(c, x, 1)}, const=["c"])
case("compress_computed", 13, [("Compress x c -> p", {"axis": 0}), ("ReduceMax p -> y", {"axes": [1], "keepdims": 0})], {"x": x, "c": x[:, 0] > 0},
     {"y": x[x[:, 0] > 0].max(1)})

# ---- Unique ----


def unique(x, axis=None, sort=True):
    y, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sort:
        order = np.argsort(first)
        rank = np.argsort(order)
        y, first, inverse, counts = np.take(y, order, axis or 0), first[order], rank[inverse], counts[order]
    return {"y": y, "f": first, "i": inverse, "c": counts}


x = rng.integers(-2, 3, (3, 4)).astype(np.float32)
case("unique_flat", 11, ["Unique x -> y f i c"], {"x": x}, unique(x))
case("unique_flat_unsorted", 11, [("Unique x -> y f i c", {"sorted": 0})], {"x": x}, unique(x, sort=False))
z = rng.integers(0, 2, (6, 2, 2)).astype(np.int64)
case("unique_slices", 11, [("Unique x -> y f i c", {"axis": 0})], {"x": z}, unique(z, 0))
case("unique_slices_unsorted", 11, [("Unique x -> y f i c", {"axis": -2, "sorted": 0})], {"x": z}, unique(z, 1, False))
case("unique_scalar", 11, ["Unique x -> y f i c"], {"x": np.array(5, np.int64)}, unique(np.array(5)))
case("unique_of_nothing", 11, ["Unique x -> y f i c"], {"x": np.zeros((0,), np.float32)}, unique(np.zeros((0,), np.float32)))
case("unique_counts_only", 11, ["Unique x -> y - - c"], {"x": x}, {k: v for k, v in unique(x).items() if k in "yc"})
n = np.array([1, np.nan, 1, -np.inf, np.nan], np.float32)
case("unique_nan", 11, ["Unique x -> y f i c"], {"x": n}, unique(n))
case("unique_restored", 13, ["Unique x -> y f i c", "Gather y i -> r", "ReduceSum c -> s"], {"x": x},
     {"r": x.ravel(), "s": np.array([x.size])})

# ---- NonMaxSuppression ----


def iou(a, b):
    a, b = np.r_[np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])], np.r_[np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])]
    common = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common
    return common / union if union > 0 else 0


def nms(boxes, scores, most=0, overlap=0.0, least=-np.inf):
    rows = []
    for b in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            taken = []
            for i in sorted(range(scores.shape[2]), key=lambda i: (-np.nan_to_num(scores[b, c, i], nan=-np.inf), i)):
                if len(taken) < most and scores[b, c, i] > least and all(iou(boxes[b, i], boxes[b, j]) <= overlap for j in taken):
                    taken.append(i)
            rows += [[b, c, i] for i in taken]
    return np.array(rows, np.int64).reshape(-1, 3)


boxes = rng.integers(0, 12, (2, 9, 4)).astype(np.float32)
scores = np.round(rng.random((2, 3, 9)), 2).astype(np.float32)
limits = {"m": np.array([4]), "o": np.array([0.3], np.float32), "l": np.array([0.25], np.float32)}
case("nms", 11, ["NonMaxSuppression b s m o l -> y"], {"b": boxes, "s": scores, **limits}, {"y": nms(boxes, scores, 4, 0.3, 0.25)})
case("nms_constant_limits", 11, ["NonMaxSuppression b s m o l -> y"], {"b": boxes, "s": scores, **limits}, {"y": nms(boxes, scores, 4, 0.3, 0.25)},
     const=list("mol"))
case("nms_no_limit_of_score", 11, ["NonMaxSuppression b s m o -> y"], {"b": boxes, "s": scores - 1, "m": np.array(2**63 - 1), "o": limits["o"]},
     {"y": nms(boxes, scores - 1, 2**63 - 1, 0.3)})
case("nms_no_maximum", 11, ["NonMaxSuppression b s - o l -> y"], {"b": boxes, "s": scores, "o": limits["o"], "l": limits["l"]}, {"y": np.zeros((0, 3), np.int64)})
case("nms_selects_nothing", 11, ["NonMaxSuppression b s m o l -> y"], {"b": boxes, "s": scores, **limits, "l": np.array([2], np.float32)},
     {"y": np.zeros((0, 3), np.int64)})
case("nms_no_boxes", 11, ["NonMaxSuppression b s m o l -> y"], {"b": boxes[:, :0], "s": scores[:, :, :0], **limits}, {"y": np.zeros((0, 3), np.int64)})
bad = scores.copy()
bad[0, 0, ::2] = np.nan
case("nms_nan_scores", 11, ["NonMaxSuppression b s m o l -> y"], {"b": boxes, "s": bad, **limits}, {"y": nms(boxes, bad, 4, 0.3, 0.25)})
centre = np.concatenate([boxes[..., :2] + boxes[..., 2:] / 2, boxes[..., 2:]], -1)[..., [1, 0, 3, 2]]
full = np.concatenate([boxes[..., :2], boxes[..., :2] + boxes[..., 2:]], -1)
case("nms_centres", 11, [("NonMaxSuppression b s m o l -> y", {"center_point_box": 1})], {"b": centre, "s": scores, **limits}, {"y": nms(full, scores, 4, 0.3, 0.25)})
sel = nms(boxes[:1], scores[:1], 4, 0.3, 0.25)
pick = ["NonMaxSuppression b s m o l -> i", "Gather i two -> k", "Squeeze b zero -> b2", "Gather b2 k -> y", "Shape y -> n"]
for name, limit in ("nms_then_gather", 0.25), ("nms_nothing_then_gather", 2.0):
    sel = nms(boxes[:1], scores[:1], 4, 0.3, limit)
    case(name, 13, [pick[0], (pick[1], {"axis": 1}), *pick[2:]],
         {"b": boxes[:1], "s": scores[:1], **limits, "l": np.array([limit], np.float32), "two": np.array(2), "zero": np.array([0])},
         {"y": boxes[0][sel[:, 2]], "n": np.array([len(sel), 4])}, const=["two", "zero"])

# ---- RoiAlign, MaxRoiPool ----


def corners(x, y, z):
    """Shares of the four pixels around a place."""
    h, w = x.shape
    if not (-1 <= y <= h and -1 <= z <= w):
        return [0.0] * 4
    y, z = min(max(y, 0), h - 1), min(max(z, 0), w - 1)
    y0, z0 = int(y), int(z)
    y1, z1 = min(y0 + 1, h - 1), min(z0 + 1, w - 1)
    fy, fz = y - y0, z - z0
    return [(1 - fy) * (1 - fz) * x[y0, z0], (1 - fy) * fz * x[y0, z1], fy * (1 - fz) * x[y1, z0], fy * fz * x[y1, z1]]


def roi_align(x, rois, batch, size, scale=1.0, samples=0, half=True, largest=False):
    out = np.zeros((len(rois), x.shape[1], *size))
    for r, roi in enumerate(rois):
        z0, y0, z1, y1 = roi * scale - (0.5 if half else 0)
        h, w = y1 - y0, z1 - z0
        if not half:
            h, w = max(h, 1), max(w, 1)
        h, w = h / size[0], w / size[1]
        ny, nz = samples or min(int(np.ceil(h)), 1024), samples or min(int(np.ceil(w)), 1024)
        for c, p, q in np.ndindex(*out.shape[1:]):
            s = [corners(x[batch[r], c], y0 + p * h + (i + 0.5) * h / ny, z0 + q * w + (j + 0.5) * w / nz) for i in range(ny) for j in range(nz)]
            out[r, c, p, q] = 0 if not s else np.max(s) if largest else np.sum(s) / len(s)
    return out.astype(np.float32)


x = np.round(rng.uniform(-1, 1, (2, 2, 6, 7)), 3).astype(np.float32)
rois, batch = np.array([[0.3, 0.2, 5.1, 4.4], [1.7, -1.2, 9.3, 8.8], [3, 3, 3.4, 3.2]], np.float32), np.array([0, 1, 1])
ins = {"x": x, "r": rois, "b": batch}
case("roi_align", 16, [("RoiAlign x r b -> y", {"output_height": 2, "output_width": 3})], ins, {"y": roi_align(x, rois, batch, (2, 3))})
case("roi_align_10", 10, [("RoiAlign x r b -> y", {"output_height": 2, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 0.5})], ins,
     {"y": roi_align(x, rois, batch, (2, 2), 0.5, 2, False)})
case("roi_align_scaled", 16, [("RoiAlign x r b -> y", {"output_height": 1, "output_width": 2, "sampling_ratio": 3, "spatial_scale": 0.75})], ins,
     {"y": roi_align(x, rois, batch, (1, 2), 0.75, 3)})
case("roi_align_max", 16, [("RoiAlign x r b -> y", {"output_height": 2, "output_width": 2, "mode": "max"})], ins,
     {"y": roi_align(x, rois, batch, (2, 2), largest=True)})
case("roi_align_max_outside", 16, [("RoiAlign x r b -> y", {"mode": "max", "coordinate_transformation_mode": "output_half_pixel"})],
     {"x": x - 2, "r": rois + 40, "b": batch}, {"y": np.zeros((3, 2, 1, 1), np.float32)})
case("roi_align_no_regions", 16, ["RoiAlign x r b -> y"], {"x": x, "r": rois[:0], "b": batch[:0]}, {"y": np.zeros((0, 2, 1, 1), np.float32)})
long, image = np.array([[0.5, 0.5, 3000.5, 1.5], [0.5, 0.5, 1.5, 3000.5], [0.5, 0.5, 900000.5, 1.5]], np.float32), x[:1, :1, :2, :2] * 1000
case("roi_align_long_regions", 16, ["RoiAlign x r b -> y"], {"x": image, "r": long, "b": batch * 0}, {"y": roi_align(image, long, batch * 0, (1, 1))})
pooled = np.array([[[[x[0, c, a:b, d:e].max() for d, e in ((0, 2), (2, 4))] for a, b in ((1, 3), (2, 4))] for c in range(2)]], np.float32)
case("max_roi_pool", 1, [("MaxRoiPool x r -> y", {"pooled_shape": [2, 2]})], {"x": x, "r": np.array([[0, 0, 1, 3, 3]], np.float32)}, {"y": pooled})
