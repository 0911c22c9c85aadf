# SPDX-License-Identifier: Apache-2.0
"""Random chains of integer operators, fused into few kernels: sums and products wrap around in every dtype, on every target.

    integers.py [--keep DIR]

Elements are extremes and small numbers; constants are literals of the kernels. The reference computes with Python's integers and
takes the low bits. TENON_LONG: two hundred models, else twelve.
"""
import os
import random
import shutil
import sys

sys.dont_write_bytecode = True
from wire import *  # noqa: E402

NAMES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
OPSET, N = 18, 7


def limits(dtype):
    i = np.iinfo(dtype)
    return int(i.min), int(i.max)


def wrapped(v, dtype):
    lo, hi = limits(dtype)
    return (v - lo) % (hi - lo + 1) + lo


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Min": min, "Max": max,
          "BitwiseAnd": lambda a, b: a & b, "BitwiseOr": lambda a, b: a | b, "BitwiseXor": lambda a, b: a ^ b}
UNARY = {"Neg": lambda a: -a, "Abs": abs, "Sign": lambda a: (a > 0) - (a < 0), "BitwiseNot": lambda a: ~a}
COMPARE = {"Less": lambda a, b: a < b, "Greater": lambda a, b: a > b, "Equal": lambda a, b: a == b}


class Model:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.nodes, self.inputs, self.consts, self.values = [], {}, {}, {}
        self.dim = self.rng.choice([N, "n"])

    def number(self, dtype):
        lo, hi = limits(dtype)
        near = [0, 1, 2, 3, 7, 100, hi, hi - 1, lo, lo + 1, hi // 2 + 1, 1 << self.rng.randrange(hi.bit_length())]
        return self.rng.choice(near + ([-1, -2, -7] if lo else []))

    def input(self, dtype):
        name = f"x_{dtype}"
        if name not in self.inputs:
            self.inputs[name] = dtype
            self.values[name] = [self.number(dtype) for _ in range(N)]
        return name

    def constant(self, dtype, v):
        name = f"k{len(self.consts)}"
        self.consts[name] = np.array(v, dtype)
        self.values[name] = [v] * N
        return name

    def add(self, op, inputs, values, **attrs):
        name = f"t{len(self.nodes)}"
        self.nodes.append(node(op, inputs, name, **attrs))
        self.values[name] = values
        return name

    def expression(self, dtype, depth):
        rng = self.rng
        if depth == 0:
            return self.input(dtype)
        kind, x = rng.random(), self.expression(dtype, depth - 1)
        a = self.values[x]
        if kind < 0.2:
            op = rng.choice([u for u in UNARY if limits(dtype)[0] or u == "BitwiseNot"])
            return self.add(op, x, [wrapped(UNARY[op](v), dtype) for v in a])
        if kind < 0.32:
            by = rng.choice([v for v in (2, 3, 7, 100, -1, -3) if v > limits(dtype)[0]])
            op = rng.choice(["Div", "Mod"])
            each = [quotient(v, by) if op == "Div" else v - v // by * by for v in a]
            return self.add(op, f"{x} {self.constant(dtype, by)}", [wrapped(v, dtype) for v in each])
        if kind < 0.44:
            other = rng.choice(NAMES)
            there = self.add("Cast", x, [wrapped(v, other) for v in a], to=TYPES[other])
            return self.add("Cast", there, [wrapped(v, dtype) for v in self.values[there]], to=TYPES[dtype])
        y = self.constant(dtype, self.number(dtype)) if rng.random() < 0.5 else self.expression(dtype, depth - 1)
        b = self.values[y]
        if kind < 0.62:
            op = rng.choice(list(COMPARE))
            c = [COMPARE[op](p, q) for p, q in zip(a, b)]
            literals = [self.constant(dtype, self.number(dtype)) for _ in range(2)]
            p, q = literals if rng.random() < 0.6 else (x, y)
            chosen = [self.values[p][i] if c[i] else self.values[q][i] for i in range(N)]
            return self.add("Where", f"{self.add(op, f'{x} {y}', c)} {p} {q}", chosen)
        op = rng.choice(list(BINARY))
        return self.add(op, f"{x} {y}", [wrapped(BINARY[op](p, q), dtype) for p, q in zip(a, b)])

    def write(self, folder, name):
        outputs = {}
        for i in range(10):
            dtype = self.rng.choice(NAMES)
            outputs[self.expression(dtype, 1 + i % 4)] = dtype
        outputs = {k: d for k, d in outputs.items() if k not in self.inputs}
        g = graph(self.nodes, [value(k, d, [self.dim]) for k, d in self.inputs.items()],
                  [value(k, d, [self.dim]) for k, d in outputs.items()], self.consts)
        draw = ([np.array(self.values[k], d) for k, d in self.inputs.items()],
                [np.array(self.values[k], d) for k, d in outputs.items()])
        return write(folder, name, g, [draw], OPSET)


def main():
    TYPES.update(uint8=2, int8=3, uint16=4, int16=5, uint32=12, uint64=13)
    plugins_there()
    count, seed = 200 if os.environ.get("TENON_LONG") else 12, int(os.environ.get("TESTS_SEED") or 1)
    folder, kept, _ = chosen("tenon-integers-")
    print(f"seed {seed}, {count} models")
    try:
        paths = [Model(f"{seed} {k}").write(folder, f"integers_{k}") for k in range(count)]
        failed = [how for how in targets(folder) if not run_cases(paths, how)]
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
