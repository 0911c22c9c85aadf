# SPDX-License-Identifier: Apache-2.0
"""Attributes of floats on tensors of integers: results are computed with the attribute as it stands, and cut off once.

    float_attributes.py [--keep DIR]

Shrink of every dtype of integers, unsigned ones with thresholds below zero too; Gemm with factors that are no whole numbers;
BatchNormalization of one axis, whose statistics are those of one channel.
"""
import shutil
import sys

sys.dont_write_bytecode = True
from wire import *  # noqa: E402

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
SHRINK = [(0.5, 0.0), (1.5, 1.5), (5.0, 2.25), (2.0, 1.0), (0.0, 0.75), (5.0, -4.5)]


def shrink(folder, dtype, lambd, bias):
    x = np.array(([-9, -6, -5, -2, -1] if dtype in SIGNED else []) + [0, 1, 2, 3, 5, 6, 9, 100], dtype)
    v = x.astype(np.float64)
    y = np.trunc(np.where(v < -lambd, v + bias, np.where(v > lambd, v - bias, 0))).astype(dtype)
    g = graph([node("Shrink", "x", "y", lambd=lambd, bias=bias)], [value("x", dtype, [len(x)])], [value("y", dtype, [len(x)])])
    return write(folder, f"shrink_{dtype}_{lambd}_{bias}", g, [([x], [y])], 9)


def gemm(folder, dtype, alpha, beta):
    a, b = np.arange(12).reshape(3, 4).astype(dtype), (np.arange(20).reshape(4, 5) % 7).astype(dtype)
    c = np.arange(5).astype(dtype)
    y = np.trunc(alpha * (a @ b).astype(np.float64) + beta * c).astype(dtype)
    g = graph([node("Gemm", "a b c", "y", alpha=alpha, beta=beta)],
              [value("a", dtype, [3, 4]), value("b", dtype, [4, 5]), value("c", dtype, [5])], [value("y", dtype, [3, 5])])
    return write(folder, f"gemm_{dtype}_{alpha}_{beta}", g, [([a, b, c], [y])], 13)


def batch_norm(folder, extent):
    x = f32([-2, -1, 0, 1, 2, 5])
    y = f32((x - f32(0.25)) / np.sqrt(f32(2) + f32(1e-5)) * f32(1.5) + f32(0.5))
    g = graph([node("BatchNormalization", "x s b m v", "y")], [value("x", "float32", [extent])], [value("y", "float32", [extent])],
              {"s": f32([1.5]), "b": f32([0.5]), "m": f32([0.25]), "v": f32([2])})
    return write(folder, f"batch_norm_{extent}", g, [([x], [y])], 9)


def main():
    TYPES.update(uint8=2, int8=3, uint16=4, int16=5, uint32=12, uint64=13)
    plugins_there()
    folder, kept, _ = chosen("tenon-float-attributes-")
    try:
        paths = [shrink(folder, d, *p) for d in SIGNED + UNSIGNED for p in SHRINK]
        paths += [gemm(folder, d, *p) for d in ("int32", "int64", "uint32", "uint64") for p in ((0.5, 1.5), (1.5, 0.25), (2.0, 3.0))]
        paths += [batch_norm(folder, extent) for extent in (6, "n")]
        failed = [how for how in targets(folder) if not run_cases(paths, how)]
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
