#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the network of this example and writes digits.onnx and test images.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scikit-learn onnx
    /tmp/venv/bin/python train.py

The data are scikit-learn's bundled digits: 1797 pictures of 8x8 pixels, values 0 to 16. The network is
convolution 3x3 (16) - ReLU - convolution 3x3 (32) - ReLU - max-pool 2x2 - dense 10 - softmax, trained by plain
gradient descent with momentum, written out in NumPy. Everything is seeded: the same versions give the same bytes.
"""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

HERE = os.path.dirname(os.path.abspath(__file__))
CHANNELS = (16, 32)
EPOCHS, BATCH, RATE, MOMENTUM, DECAY = 30, 32, 0.05, 0.9, 1e-4
IMAGES = 8  # test images written beside the model


def patches(x):
    """All 3x3 neighbourhoods with zero padding: [n, c, h, w] -> [n, h, w, c * 9]."""
    n, c, h, w = x.shape
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    cols = [p[:, :, i:i + h, j:j + w] for i in range(3) for j in range(3)]
    return np.stack(cols, axis=2).transpose(0, 3, 4, 1, 2).reshape(n, h, w, c * 9)


def unpatch(d, shape):
    """The gradient of patches: adds every neighbourhood back to its place."""
    n, c, h, w = shape
    d = d.reshape(n, h, w, c, 9).transpose(0, 3, 4, 1, 2)
    out = np.zeros((n, c, h + 2, w + 2), d.dtype)
    for k in range(9):
        i, j = divmod(k, 3)
        out[:, :, i:i + h, j:j + w] += d[:, :, k]
    return out[:, :, 1:-1, 1:-1]


def forward(p, x):
    a1 = patches(x)
    z1 = (a1 @ p["w1"] + p["b1"]).transpose(0, 3, 1, 2)
    h1 = np.maximum(z1, 0)
    a2 = patches(h1)
    z2 = (a2 @ p["w2"] + p["b2"]).transpose(0, 3, 1, 2)
    h2 = np.maximum(z2, 0)
    n, c, h, w = h2.shape
    windows = h2.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
    best = windows.argmax(-1)
    pooled = np.take_along_axis(windows, best[..., None], -1)[..., 0]
    flat = pooled.reshape(n, -1)
    logits = flat @ p["w3"] + p["b3"]
    return logits, (x, a1, z1, h1, a2, z2, best, flat)


def gradients(p, cache, dlogits):
    x, a1, z1, h1, a2, z2, best, flat = cache
    g = {"w3": flat.T @ dlogits, "b3": dlogits.sum(0)}
    n, c, h, w = z2.shape
    dpool = (dlogits @ p["w3"].T).reshape(n, c, h // 2, w // 2)
    dwin = np.zeros((n, c, h // 2, w // 2, 4), dpool.dtype)
    np.put_along_axis(dwin, best[..., None], dpool[..., None], -1)
    dh2 = dwin.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h, w)
    dz2 = (dh2 * (z2 > 0)).transpose(0, 2, 3, 1)
    g["w2"] = np.tensordot(a2, dz2, ((0, 1, 2), (0, 1, 2)))
    g["b2"] = dz2.sum((0, 1, 2))
    dh1 = unpatch(dz2 @ p["w2"].T, h1.shape)
    dz1 = (dh1 * (z1 > 0)).transpose(0, 2, 3, 1)
    g["w1"] = np.tensordot(a1, dz1, ((0, 1, 2), (0, 1, 2)))
    g["b1"] = dz1.sum((0, 1, 2))
    return g


def train(x, y, rng):
    c1, c2 = CHANNELS
    p = {"w1": rng.normal(0, np.sqrt(2 / 9), (9, c1)), "b1": np.zeros(c1),
         "w2": rng.normal(0, np.sqrt(2 / (9 * c1)), (9 * c1, c2)), "b2": np.zeros(c2),
         "w3": rng.normal(0, np.sqrt(1 / (16 * c2)), (16 * c2, 10)), "b3": np.zeros(10)}
    p = {k: v.astype(np.float32) for k, v in p.items()}
    speed = {k: np.zeros_like(v) for k, v in p.items()}
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(x))
        for at in range(0, len(x), BATCH):
            pick = order[at:at + BATCH]
            logits, cache = forward(p, x[pick])
            e = np.exp(logits - logits.max(1, keepdims=True))
            d = e / e.sum(1, keepdims=True)
            d[np.arange(len(pick)), y[pick]] -= 1
            for k, grad in gradients(p, cache, d / len(pick)).items():
                speed[k] = MOMENTUM * speed[k] - rate * (grad + DECAY * p[k])
                p[k] = (p[k] + speed[k]).astype(np.float32)
    return p


def export(p, path):
    c1, c2 = CHANNELS
    weights = {
        "conv1.weight": p["w1"].reshape(1, 3, 3, c1).transpose(3, 0, 1, 2), "conv1.bias": p["b1"],
        "conv2.weight": p["w2"].reshape(c1, 3, 3, c2).transpose(3, 0, 1, 2), "conv2.bias": p["b2"],
        "dense.weight": p["w3"], "dense.bias": p["b3"]}
    conv = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"], "conv1", **conv),
        helper.make_node("Relu", ["conv1"], ["relu1"], "relu1"),
        helper.make_node("Conv", ["relu1", "conv2.weight", "conv2.bias"], ["conv2"], "conv2", **conv),
        helper.make_node("Relu", ["conv2"], ["relu2"], "relu2"),
        helper.make_node("MaxPool", ["relu2"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool"], ["flat"], "flat"),
        helper.make_node("Gemm", ["flat", "dense.weight", "dense.bias"], ["logits"], "dense"),
        helper.make_node("Softmax", ["logits"], ["probabilities"], "softmax", axis=1)]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(np.ascontiguousarray(v, np.float32), k) for k, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="tenon-digits")
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    rng = np.random.default_rng(7)
    data = load_digits()
    x = (data.images / 16.0).astype(np.float32)[:, None]
    y = data.target
    order = rng.permutation(len(x))
    split = len(x) * 4 // 5
    learn, test = order[:split], order[split:]
    p = train(x[learn], y[learn], rng)
    logits, _ = forward(p, x[test])
    right = logits.argmax(1) == y[test]
    print(f"{right.mean() * 100:.2f}% of {len(test)} test images are classified correctly")
    export(p, os.path.join(HERE, "digits.onnx"))
    for digit in range(IMAGES):
        pick = test[np.flatnonzero(y[test] == digit)[0]]
        np.save(os.path.join(HERE, f"digit{digit}.npy"), x[pick:pick + 1])


if __name__ == "__main__":
    main()
