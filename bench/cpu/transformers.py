# SPDX-License-Identifier: Apache-2.0
"""Graphs with the shapes of BERT and GPT at their real widths, as exporters write them, with seeded weights: 12 layers of
768 with 12 heads over 128 tokens. Vocabularies are cut to 8192, so that files stay below half a gigabyte."""
import functools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

LAYERS, WIDTH, HEADS, LENGTH, WORDS = 12, 768, 12, 128, 8192


class Graph:
    """Nodes and weights as they are written down."""

    def __init__(self, name, decomposed):
        self.name, self.decomposed = name, decomposed
        self.nodes, self.weights, self.count = [], [], 0
        self.draw = np.random.default_rng(7)

    def op(self, kind, *inputs, n=1, **attributes):
        self.count += 1
        outs = [f"{kind.lower()}_{self.count}_{k}" for k in range(n)]
        self.nodes.append(helper.make_node(kind, list(inputs), outs, f"{kind}_{self.count}", **attributes))
        return outs[0] if n == 1 else outs

    def constant(self, value):
        self.count += 1
        name = f"c_{self.count}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def scalar(self, v):
        return self.constant(np.float32(v))

    def weight(self, *shape, size=0.02, around=0.0):
        return self.constant((around + size * self.draw.standard_normal(shape)).astype(np.float32))

    def dense(self, x, wide, out):
        return self.op("Add", self.op("MatMul", x, self.weight(wide, out)), self.weight(out))

    def norm(self, x):
        scale, bias = self.weight(WIDTH, around=1.0), self.weight(WIDTH)
        if not self.decomposed:
            return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)
        d = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1], keepdims=1))
        square = self.op("Pow", d, self.scalar(2))
        variance = self.op("ReduceMean", square, axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", variance, self.scalar(1e-5)))
        return self.op("Add", self.op("Mul", self.op("Div", d, root), scale), bias)

    def gelu_erf(self, x):
        e = self.op("Erf", self.op("Div", x, self.scalar(np.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", e, self.scalar(1))), self.scalar(0.5))

    def gelu_tanh(self, x):
        cube = self.op("Mul", self.op("Pow", x, self.scalar(3)), self.scalar(0.044715))
        inner = self.op("Mul", self.op("Add", x, cube), self.scalar(np.sqrt(2 / np.pi)))
        t = self.op("Add", self.op("Tanh", inner), self.scalar(1))
        return self.op("Mul", self.op("Mul", x, self.scalar(0.5)), t)

    def heads(self, x, order):
        shape = self.constant(np.int64([0, 0, HEADS, WIDTH // HEADS]))
        return self.op("Transpose", self.op("Reshape", x, shape), perm=order)

    def attend(self, q, k, v, mask):
        """`mask` makes of scores what may be seen."""
        scores = self.op("MatMul", self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1]))
        scores = self.op("Div", scores, self.scalar(np.sqrt(WIDTH // HEADS)))
        seen = self.op("Softmax", mask(scores), axis=-1)
        y = self.op("Transpose", self.op("MatMul", seen, self.heads(v, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        return self.op("Reshape", y, self.constant(np.int64([0, 0, WIDTH])))

    def model(self, inputs, outputs):
        def describe(name, shape, kind):
            return helper.make_tensor_value_info(name, kind, shape)
        g = helper.make_graph(self.nodes, self.name, [describe(n, s, TensorProto.INT64) for n, s in inputs],
                              [describe(n, s, TensorProto.FLOAT) for n, s in outputs], self.weights)
        return helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def bert(decomposed):
    """Encoder: normalization after each half, a mask from the input, GELU by Erf; and the pooler."""
    g = Graph("bert", decomposed)
    x = g.op("Gather", g.weight(WORDS, WIDTH), "input_ids")
    x = g.op("Add", x, g.op("Gather", g.weight(2, WIDTH), "token_type_ids"))
    x = g.norm(g.op("Add", x, g.weight(1, LENGTH, WIDTH)))
    seen = g.op("Cast", g.op("Unsqueeze", "attention_mask", g.constant(np.int64([1, 2]))), to=TensorProto.FLOAT)
    bias = g.op("Mul", g.op("Sub", g.scalar(1), seen), g.scalar(-10000))
    for _ in range(LAYERS):
        q, k, v = (g.dense(x, WIDTH, WIDTH) for _ in range(3))
        y = g.dense(g.attend(q, k, v, lambda s: g.op("Add", s, bias)), WIDTH, WIDTH)
        x = g.norm(g.op("Add", y, x))
        y = g.dense(g.gelu_erf(g.dense(x, WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH)
        x = g.norm(g.op("Add", y, x))
    first = g.op("Gather", x, g.constant(np.int64(0)), axis=1)
    pooled = g.op("Tanh", g.dense(first, WIDTH, WIDTH))
    names = ("input_ids", "attention_mask", "token_type_ids")
    model = g.model([(n, [1, LENGTH]) for n in names], [(x, [1, LENGTH, WIDTH]), (pooled, [1, WIDTH])])
    ids = np.random.default_rng(1).integers(0, WORDS, (1, LENGTH))
    mask = np.ones((1, LENGTH), np.int64)
    mask[0, -9:] = 0
    return model, dict(zip(names, (ids, mask, (np.arange(LENGTH) >= 60).astype(np.int64)[None])))


def gpt(decomposed):
    """Decoder over a prompt: normalization before each half, queries, keys and values from one matrix, a causal mask
    by Where, GELU by Tanh; and the logits."""
    g = Graph("gpt", decomposed)
    x = g.op("Add", g.op("Gather", g.weight(WORDS, WIDTH), "input_ids"), g.weight(1, LENGTH, WIDTH))
    past = g.constant(np.tril(np.ones((1, 1, LENGTH, LENGTH), bool)))
    never = g.scalar(-10000)
    for _ in range(LAYERS):
        qkv = g.dense(g.norm(x), WIDTH, 3 * WIDTH)
        q, k, v = g.op("Split", qkv, g.constant(np.int64([WIDTH] * 3)), n=3, axis=-1)
        y = g.attend(q, k, v, lambda s: g.op("Where", past, s, never))
        x = g.op("Add", x, g.dense(y, WIDTH, WIDTH))
        y = g.dense(g.gelu_tanh(g.dense(g.norm(x), WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH)
        x = g.op("Add", x, y)
    logits = g.op("MatMul", g.norm(x), g.weight(WIDTH, WORDS))
    model = g.model([("input_ids", [1, LENGTH])], [(logits, [1, LENGTH, WORDS])])
    return model, {"input_ids": np.random.default_rng(1).integers(0, WORDS, (1, LENGTH))}


GRAPHS = {
    "bert-128": functools.partial(bert, False),
    "bert-128-decomposed": functools.partial(bert, True),
    "gpt-128": functools.partial(gpt, False),
    "gpt-128-decomposed": functools.partial(gpt, True),
}
