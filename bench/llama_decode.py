#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a Llama-shaped decode function as TVMScript: one step of a batch of sequences whose number and length are symbolic.

    llama_decode.py [LAYERS]
"""
import sys

HIDDEN, HEADS, KV_HEADS, DIM, FFN, VOCAB = 4096, 32, 8, 128, 14336, 32000
LAYERS = int(sys.argv[1]) if len(sys.argv) > 1 else 32


def tensor(*dims, dtype="float16"):
    return f'R.Tensor(({", ".join(str(d) for d in dims)}{"," if len(dims) == 1 else ""}), dtype="{dtype}")'


def sym(*dims, dtype="float16"):
    return f'R.Tensor(({", ".join(repr(d) if isinstance(d, str) else str(d) for d in dims)}), dtype="{dtype}")'


params = [("token", sym("batch", 1, dtype="int32")), ("cos", sym("batch", 1, 1, DIM)), ("sin", sym("batch", 1, 1, DIM))]
params += [(f"cache_{kv}{i}", sym("batch", "length", KV_HEADS, DIM)) for i in range(LAYERS) for kv in "kv"]
n_inputs = len(params)
params.append(("embedding", tensor(VOCAB, HIDDEN)))
for i in range(LAYERS):
    params += [(f"norm1_{i}", tensor(HIDDEN)), (f"wq{i}", tensor(HEADS * DIM, HIDDEN)), (f"wk{i}", tensor(KV_HEADS * DIM, HIDDEN)),
               (f"wv{i}", tensor(KV_HEADS * DIM, HIDDEN)), (f"wo{i}", tensor(HIDDEN, HEADS * DIM)), (f"norm2_{i}", tensor(HIDDEN)),
               (f"gate{i}", tensor(FFN, HIDDEN)), (f"up{i}", tensor(FFN, HIDDEN)), (f"down{i}", tensor(HIDDEN, FFN))]
params += [("norm", tensor(HIDDEN)), ("head", tensor(VOCAB, HIDDEN))]

lines = []
count = 0


def emit(value):
    global count
    count += 1
    lines.append(f"            lv{count} = {value}")
    return f"lv{count}"


def linear(x, w):
    t = emit(f"R.permute_dims({w})")
    return emit(f"R.matmul({x}, {t})")


def rotary(x):
    halves = emit(f"R.split({x}, indices_or_sections=2, axis=3)")
    a, b = emit(f"{halves}[0]"), emit(f"{halves}[1]")
    b = emit(f"R.negative({b})")
    turned = emit(f"R.concat(({b}, {a}), axis=3)")
    x, turned = emit(f"R.multiply({x}, cos)"), emit(f"R.multiply({turned}, sin)")
    return emit(f"R.add({x}, {turned})")


def heads(x, n):
    return emit(f"R.reshape({x}, R.shape([batch, 1, {n}, {DIM}]))")


row = emit("R.reshape(token, R.shape([batch]))")
row = emit(f"R.take(embedding, {row}, axis=0)")
x = emit(f"R.reshape({row}, R.shape([batch, 1, {HIDDEN}]))")
outputs = []
for i in range(LAYERS):
    h = emit(f"R.nn.rms_norm({x}, norm1_{i}, axes=[-1], epsilon=1e-5)")
    q = rotary(heads(linear(h, f"wq{i}"), HEADS))
    k = rotary(heads(linear(h, f"wk{i}"), KV_HEADS))
    v = heads(linear(h, f"wv{i}"), KV_HEADS)
    k, v = emit(f"R.concat((cache_k{i}, {k}), axis=1)"), emit(f"R.concat((cache_v{i}, {v}), axis=1)")
    outputs += [k, v]
    k, v = emit(f"R.repeat({k}, {HEADS // KV_HEADS}, axis=2)"), emit(f"R.repeat({v}, {HEADS // KV_HEADS}, axis=2)")
    q, v = emit(f"R.permute_dims({q}, axes=[0, 2, 1, 3])"), emit(f"R.permute_dims({v}, axes=[0, 2, 1, 3])")
    k = emit(f"R.permute_dims({k}, axes=[0, 2, 3, 1])")
    scores = emit(f"R.matmul({q}, {k})")
    scores = emit(f'R.multiply({scores}, R.const({DIM ** -0.5}, "float16"))')
    scores = emit(f"R.nn.softmax({scores}, axis=-1)")
    mixed = emit(f"R.matmul({scores}, {v})")
    mixed = emit(f"R.permute_dims({mixed}, axes=[0, 2, 1, 3])")
    mixed = emit(f"R.reshape({mixed}, R.shape([batch, 1, {HEADS * DIM}]))")
    x = emit(f"R.add({x}, {linear(mixed, f'wo{i}')})")
    h = emit(f"R.nn.rms_norm({x}, norm2_{i}, axes=[-1], epsilon=1e-5)")
    g = emit(f"R.nn.silu({linear(h, f'gate{i}')})")
    u = linear(h, f"up{i}")
    x = emit(f"R.add({x}, {linear(emit(f'R.multiply({g}, {u})'), f'down{i}')})")
x = emit(f"R.nn.rms_norm({x}, norm, axes=[-1], epsilon=1e-5)")
logits = emit(f'R.astype({linear(x, "head")}, "float32")')
logits = emit(f"R.reshape({logits}, R.shape([batch, {VOCAB}]))")
probability = emit(f"R.nn.softmax({logits}, axis=-1)")
sums = emit(f"R.cumsum({probability}, axis=1)")

print("@I.ir_module\nclass Module:\n    @R.function")
print("    def decode(" + ",\n               ".join(f"{n}: {t}" for n, t in params) + "):")
print("        batch, length = T.int64(), T.int64()")
print(f'        R.func_attr({{"num_input": {n_inputs}, "tir_var_upper_bound": {{"batch": 16, "length": 4096}}}})')
print("        with R.dataflow():")
print("\n".join(lines))
names = [sums] + outputs
outs = [f"out{i}" for i in range(len(names))]
for n, o in zip(names, outs):
    print(f"            {o} = {n}")
print(f"            R.output({', '.join(outs)})")
print(f"        return ({', '.join(outs)})")
