# SPDX-License-Identifier: Apache-2.0
"""Detection: suppression of boxes, regions of images, boxes from anchors."""
import itertools

from formulas_nn import NORM
from oracle import *


def random_boxes(d, shape, form="corners"):
    """(..., 4): x1, y1, x2, y2 in 0 .. 1, ordered; no two overlaps are near a threshold of a multiple of 0.1."""
    a, b = d.rng.integers(0, 12, shape + (2,)) / 16, d.rng.integers(1, 5, shape + (2,)) / 16
    return np.concatenate([a, a + b], -1).astype(np.float32)


def overlap(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    common = float(w) * float(h)
    return common / (float((a[2] - a[0]) * (a[3] - a[1])) + float((b[2] - b[0]) * (b[3] - b[1])) - common)


THRESHOLD = 0.37  # no quotient of the boxes' areas is near


def greedy(boxes, scores, most, threshold, floor):
    """Indices of the boxes kept, best first."""
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) >= most:
            break
        if scores[i] > floor and all(overlap(boxes[i], boxes[k]) <= threshold for k in kept):
            kept.append(int(i))
    return kept


@oracle("vision.all_class_non_max_suppression")
def all_class_nms(d, op):
    b, c, n = d.extent(1, 2), d.extent(1, 3), d.extent(1, 7)
    boxes = random_boxes(d, (b, n))
    scores = (d.rng.permutation(b * c * n).reshape(b, c, n) + 1).astype(np.float32) / (b * c * n + 1)
    most = d.int(0 if d.kind == "zero" else 1, 4)
    floor = np.float32(d.one_of([0.0, 0.3, 0.5]))  # as the operator gets it: a score that equals it does not pass
    rows = [(i, k, j) for i in range(b) for k in range(c) for j in greedy(boxes[i], scores[i, k], most, THRESHOLD, floor)]
    y = np.array(rows).reshape(len(rows), 3)
    given = [Tensor([most], "int64"), Tensor([THRESHOLD], "float32"), Tensor([floor], "float32")]
    return Case(op, [Tensor(boxes[..., [1, 0, 3, 2]], "float32"), Tensor(scores, "float32")] + given, out(y, "int64"),
                attrs={"output_format": "selected"}, sym=[("b", "n", 4), ("b", "c", "n"), (1,), (1,), (1,)])


def detections(d):
    """(batch, anchors, 6): class, score, corners."""
    b, n = d.extent(1, 2), d.extent(1, 8)
    a = np.zeros((b, n, 6), np.float32)
    a[..., 0] = d.rng.integers(-1 if d.flag(0.3) else 0, 2, (b, n))
    a[..., 1] = (d.rng.permutation(b * n).reshape(b, n) + 1) / (b * n + 1)
    a[..., 2:] = random_boxes(d, (b, n))
    return a


@oracle("vision.get_valid_counts")
def get_valid_counts(d, op):
    a, floor = detections(d), d.one_of([0.0, 0.31, 0.62])
    with_class = d.flag(0.7)
    valid = (a[..., 1] > np.float32(floor)) & ((a[..., 0] >= 0) | (not with_class))
    rows, places = np.full_like(a, -1), np.full(a.shape[:2], -1)
    for b in range(len(a)):
        at = np.flatnonzero(valid[b])
        rows[b, :len(at)], places[b, :len(at)] = a[b, at], at
    return Case(op, [Tensor(a, "float32")], [out(valid.sum(1), "int32"), out(rows, "float32"), out(places, "int32")],
                attrs={"score_threshold": floor, "id_index": 0 if with_class else -1, "score_index": 1},
                sym=[("b", "n", 6)])


@oracle("vision.non_max_suppression")
def non_max_suppression(d, op):
    a = np.abs(detections(d))
    b, n = a.shape[:2]
    count = d.rng.integers(0, n + 1, b)
    indices = np.stack([d.rng.permutation(n) for _ in range(b)])
    force, most, top = d.flag(), d.one_of([-1, -1, 1, 3]), d.one_of([-1, -1, 2, 4])
    want = d.flag()
    rows, places, kept_count = np.full_like(a, -1), np.full((b, n), -1), np.zeros((b, 1))
    for i in range(b):
        order = np.argsort(-a[i, :count[i], 1], kind="stable")
        kept = []
        for j in order[:top] if top > 0 else order:
            if most > 0 and len(kept) == most:
                break
            if all(overlap(a[i, j, 2:], a[i, k, 2:]) < THRESHOLD or not (force or a[i, j, 0] == a[i, k, 0]) for k in kept):
                kept.append(j)
        rows[i, :len(kept)] = a[i, kept]
        places[i, :len(kept)] = indices[i, kept]
        kept_count[i] = len(kept)
    results = [out(places, "int32"), out(kept_count, "int32")] if want else [out(rows, "float32")]
    return Case(op, [Tensor(a, "float32"), Tensor(count, "int32"), Tensor(indices, "int32")], results,
                attrs={"max_output_size": most, "iou_threshold": THRESHOLD, "force_suppress": force, "top_k": top,
                       "return_indices": want, "invalid_to_bottom": True, "id_index": 0},
                sym=[("b", "n", 6), ("b",), ("b", "n")])


def bilinear(plane, y, x):
    """The plane's value between pixels; 0 more than one pixel outside."""
    h, w = plane.shape
    if y < -1 or y > h or x < -1 or x > w:
        return 0.0
    y, x = max(y, 0.0), max(x, 0.0)
    i, j = min(int(y), h - 1), min(int(x), w - 1)
    p, q = min(i + 1, h - 1), min(j + 1, w - 1)
    fy, fx = (0.0 if i == h - 1 else y - i), (0.0 if j == w - 1 else x - j)
    return (plane[i, j] * (1 - fy) * (1 - fx) + plane[i, q] * (1 - fy) * fx + plane[p, j] * fy * (1 - fx)
            + plane[p, q] * fy * fx)


def regions(d, h, w, scale):
    n, r = d.extent(1, 2), d.extent(1, 3, zero=True)
    rois = np.zeros((r, 5), np.float32)
    rois[:, 0] = d.rng.integers(0, n, r)
    rois[:, 1:3] = d.rng.uniform(-1, [w / 2, h / 2], (r, 2)) / scale
    rois[:, 3:] = rois[:, 1:3] + d.rng.uniform(0.6, [w, h], (r, 2)) / scale
    return n, rois


@oracle("vision.roi_align")
def roi_align(d, op):
    c, h, w, scale = d.int(1, 2), d.int(2, 7), d.int(2, 7), d.one_of([1.0, 0.5, 0.25])
    n, rois = regions(d, h, w, scale)
    ph, pw, samples, aligned = d.int(1, 3), d.int(1, 3), d.one_of([-1, 1, 2]), d.flag()
    layout, mode = d.one_of(["NCHW", "NHWC"]), d.one_of(["avg", "max"])
    x = d.floats((n, c, h, w), "float32", nan=False, inf=False)  # a neighbour may have a weight near 0
    y = np.zeros((len(rois), c, ph, pw))
    for r, row in enumerate(rois.astype(np.float64)):
        x1, y1, x2, y2 = row[1:] * scale
        rw, rh = x2 - x1, y2 - y1
        if not aligned:
            rw, rh = max(rw, 1.0), max(rh, 1.0)
        sy, sx = (samples, samples) if samples > 0 else (math.ceil(rh / ph), math.ceil(rw / pw))
        for k, i, j in itertools.product(range(c), range(ph), range(pw)):
            v = [bilinear(wide(x)[int(row[0]), k], y1 + (i + (p + 0.5) / sy) * rh / ph, x1 + (j + (q + 0.5) / sx) * rw / pw)
                 for p in range(sy) for q in range(sx)]
            y[r, k, i, j] = (sum(v) / max(len(v), 1)) if mode == "avg" else max(v, default=0.0)
    if layout == "NHWC":
        x, y = Tensor(np.transpose(x.a, (0, 2, 3, 1)), "float32"), np.transpose(y, (0, 2, 3, 1))
    return Case(op, [x, Tensor(rois, "float32")], out(y, "float32"), tol=(1e-3, 1e-3), attrs={
        "pooled_size": [ph, pw], "spatial_scale": scale, "sample_ratio": samples, "aligned": aligned, "layout": layout,
        "mode": mode}, sym=[tuple(f"{v.lower()}0" for v in layout), ("r", 5)])


@oracle("vision.roi_pool")
def roi_pool(d, op):
    c, h, w, scale = d.int(1, 2), d.int(2, 7), d.int(2, 7), d.one_of([1.0, 0.5])
    n, rois = regions(d, h, w, scale)
    rois[:, 1:] = np.rint(rois[:, 1:]) + 0.25  # no halves
    ph, pw = d.int(1, 3), d.int(1, 3)
    x = d.floats((n, c, h, w), "float32")
    y = np.zeros((len(rois), c, ph, pw))
    for r, row in enumerate(rois.astype(np.float64)):
        x1, y1, x2, y2 = np.floor(row[1:] * scale + 0.5).astype(int)
        rw, rh = max(x2 - x1 + 1, 1), max(y2 - y1 + 1, 1)
        for i, j in itertools.product(range(ph), range(pw)):
            rows = slice(*(min(max(v, 0), h) for v in (y1 + i * rh // ph, y1 + -(-(i + 1) * rh // ph))))
            columns = slice(*(min(max(v, 0), w) for v in (x1 + j * rw // pw, x1 + -(-(j + 1) * rw // pw))))
            part = wide(x)[int(row[0]), :, rows, columns].reshape(c, -1) if rows.start < rows.stop and \
                columns.start < columns.stop else np.zeros((c, 1))
            y[r, :, i, j] = part.max(1)
    return Case(op, [x, Tensor(rois, "float32")], out(y, "float32"), attrs={"pooled_size": [ph, pw], "spatial_scale": scale},
                sym=[("n", "c", "h", "w"), ("r", 5)])


@oracle("vision.multibox_transform_loc")
def multibox(d, op):
    b, c, n = d.extent(1, 2), d.extent(1, 4), d.extent(1, 6)
    cls, loc = d.floats((b, c, n)), d.floats((b, 4 * n), "float32", -1, 1)
    anchor = random_boxes(d, (1, n))
    clip, floor, keep = d.flag(), d.one_of([0.0, 0.2]), d.flag()
    v = d.one_of([[1.0, 1.0, 1.0, 1.0], [0.1, 0.1, 0.2, 0.2]])
    e = wide(loc).reshape(b, n, 4)
    left, top, right, bottom = (anchor[..., i].astype(np.float64) for i in range(4))
    w, h = right - left, bottom - top
    cx, cy = e[..., 0] * v[0] * w + (left + right) / 2, e[..., 1] * v[1] * h + (top + bottom) / 2
    hw, hh = np.exp(e[..., 2] * v[2]) * w / 2, np.exp(e[..., 3] * v[3]) * h / 2
    boxes = np.stack([cy - hh, cx - hw, cy + hh, cx + hw], -1)
    p = np.exp(wide(cls) - wide(cls).max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p = np.where(p >= floor, p, 0)
    if not keep:
        p[:, 0] = 0
    return Case(op, [cls, loc, Tensor(anchor, "float32")],
                [out(np.clip(boxes, 0, 1) if clip else boxes, "float32"), out(p, "float32")], tol=NORM["float32"],
                attrs={"clip": clip, "threshold": floor, "variances": v, "keep_background": keep},
                sym=[("b", "c", n), ("b", 4 * n), (1, n, 4)])
