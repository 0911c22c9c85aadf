# SPDX-License-Identifier: Apache-2.0
"""Shapes that values decide: each case runs with several values, also those that give nothing, and with some that are refused.

    dynamic.py [--keep DIR] [CASE...]

On the cpu target, in the interpreter and with every pass verified. Expected results come from NumPy.
"""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from wire import *  # noqa: E402

cases = {}


def case(opset=18):
    def keep(f):
        cases[f.__name__] = (f, opset)
        return f
    return keep


# ---- values from inputs ----


@case()
def reshape(rng):
    g = graph([node("Reshape", "x s", "y"), node("Relu", "y", "z")], [value("x", F, ["n", 4]), value("s", I, [2])], [value("z", F, ["a", "b"])])
    draws = []
    for n, s in ((3, (2, 6)), (3, (-1, 2)), (3, (0, -1)), (3, (12, 1)), (0, (0, 5)), (5, (0, 0)), (1, (-1, 4))):
        x = f32(rng.normal(size=(n, 4)))
        want = [x.shape[i] if d == 0 else d for i, d in enumerate(s)]
        draws.append(([x, i64(s)], [np.maximum(x.reshape(want), 0)]))
    x = f32(rng.normal(size=(3, 4)))
    draws.append(([f32(rng.normal(size=(0, 4))), i64([0, -1])], "(Reshape): 0 elements cannot take the shape [0, -1]"))
    for s in ((5, 2), (-1, 5), (-1, -1), (-2, 6)):
        draws.append(([x, i64(s)], f"(Reshape): 12 elements cannot take the shape [{s[0]}, {s[1]}]"))
    draws.append(([x, i64((2**40, 2**40))], "(Reshape): 12 elements cannot"))
    return g, draws


@case()
def broadcast_of_related_extents(rng):
    """2n entries against n, n - 20 against n: equal, or one is 1, which run time decides."""
    g = graph([node("Concat", "x x", "c", axis=0), node("Add", "c x", "y"), node("Max", "x c", "z")],
              [value("x", F, ["n"])], [value("y", F, ["a"]), value("z", F, ["b"])])
    draws = []
    for n in (1, 0):
        x = f32(rng.normal(size=n))
        draws.append(([x], [np.concatenate([x, x]) + x, np.maximum(x, np.concatenate([x, x]))]))
    return g, draws + [([f32(rng.normal(size=3))], "operands cannot be broadcast: extents 3 and 6")]


@case()
def broadcast_of_shortened_extents(rng):
    g = graph([node("Slice", "x from to", "s"), node("Mul", "s x", "y"), node("MaxPool", "w", "p", kernel_shape=[3]), node("Sub", "w p", "z")],
              [value("x", F, ["n"]), value("w", F, [1, 1, "m"])], [value("y", F, ["a"]), value("z", F, [1, 1, "b"])],
              {"from": i64([20]), "to": i64([2 ** 62])})
    x, w = f32(rng.normal(size=21)), f32(rng.normal(size=(1, 1, 3)))
    long = f32(rng.normal(size=25)), f32(rng.normal(size=(1, 1, 5)))
    return g, [([x, w], [x[20:] * x, w - w.max()]), ([long[0], w], "(Mul): operands cannot be broadcast: extents 25 and 5"),
               ([x, long[1]], "(Sub): operands cannot be broadcast: extents 5 and 3")]


@case()
def reshape_to_the_extents_of_another(rng):
    """An extent of 0 copies the input's, unless allowzero is given; it need not be written as a 0."""
    g = graph([node("Shape", "w", "s"), node("Reshape", "x s", "y"), node("Relu", "y", "z"), node("Reshape", "x s", "u")],
              [value("x", F, ["n", "m"]), value("w", F, ["k", "l"])], [value("z", F, ["a", "b"]), value("u", F, ["a", "b"])])
    x = f32(rng.normal(size=(4, 6)))
    draws = []
    for k, l in ((0, 6), (4, 0), (0, 0), (6, 4), (24, 1)):
        y = x.reshape([k or 4, l or 6])
        draws.append(([x, np.zeros((k, l), np.float32)], [np.maximum(y, 0), y]))
    draws.append(([x, np.zeros((0, 5), np.float32)], "(Reshape): 24 elements cannot take the shape [0, 5]"))
    return g, draws


@case()
def reshape_to_a_count(rng):
    """The number of nonzero elements, and a difference of extents."""
    g = graph([node("NonZero", "w", "at"), node("Shape", "at", "c", start=1, end=2), node("Concat", "c minus", "s", axis=0),
               node("Reshape", "x s", "y"), node("Shape", "x", "d", start=0, end=1), node("Sub", "d four", "e"),
               node("Concat", "e minus", "t", axis=0), node("Reshape", "x t", "z")],
              [value("x", F, ["n", "m"]), value("w", F, ["k"])], [value("y", F, ["a", "b"]), value("z", F, ["c", "d"])],
              {"minus": i64([-1]), "four": i64([4])})
    draws = []
    for n, w in ((4, (0, 0)), (4, (1, 0)), (5, (1, 1)), (8, (0,)), (6, ())):
        x, w = f32(rng.normal(size=(n, 6))), f32(w)
        draws.append(([x, w], [x.reshape([int(w.sum()) or n, -1]), x.reshape([n - 4 or n, -1])]))
    return g, draws


@case()
def reshape_partly_known(rng):
    """The length that is known stays known: the product of matrices needs it."""
    g = graph([node("Concat", "b minus four", "s", axis=0), node("Reshape", "x s", "y"), node("MatMul", "y w", "z")],
              [value("x", F, ["n"]), value("b", I, [1])], [value("z", F, ["a", "b", 2])],
              {"minus": i64([-1]), "four": i64([4]), "w": f32(rng.normal(size=(4, 2)))})
    w = f32(np.random.default_rng(1).normal(size=(4, 2)))
    draws = []
    for n, b in ((24, 2), (24, 6), (24, 1), (8, 2), (24, -1)):
        x = f32(rng.normal(size=n))
        if b == -1:
            draws.append(([x, i64([b])], "(Reshape): 24 elements cannot take the shape [-1, -1, 4]"))
        else:
            draws.append(([x, i64([b])], [x.reshape(b, -1, 4) @ w]))
    draws.append(([f32(rng.normal(size=24)), i64([5])], "(Reshape): 24 elements cannot take the shape [5, -1, 4]"))
    return g, draws


@case()
def reshape_allowzero(rng):
    g = graph([node("Reshape", "x s", "y", allowzero=1)], [value("x", F, ["n", "m"]), value("s", I, [3])], [value("y", F, ["a", "b", "c"])])
    draws = [([np.zeros((0, 5), np.float32), i64([3, 0, 7])], [np.zeros((3, 0, 7), np.float32)])]
    x = f32(rng.normal(size=(2, 3)))
    draws.append(([x, i64([1, 6, 1])], [x.reshape(1, 6, 1)]))
    draws.append(([x, i64([0, 3, 2])], "(Reshape): 6 elements cannot take the shape [0, 3, 2]"))
    return g, draws


@case()
def expand(rng):
    g = graph([node("Expand", "x s", "y"), node("Neg", "y", "z")], [value("x", F, ["n", 1]), value("s", I, [3])], [value("z", F, ["a", "b", "c"])])
    draws = []
    for n, s in ((3, (2, 3, 4)), (3, (1, 1, 1)), (1, (2, 5, 2)), (3, (0, 3, 4)), (3, (2, 1, 0)), (1, (1, 0, 1)), (0, (2, 0, 3))):
        x = f32(rng.normal(size=(n, 1)))
        draws.append(([x, i64(s)], [-(x * np.ones(s, np.float32))]))
    x = f32(rng.normal(size=(3, 1)))
    draws.append(([x, i64([2, 4, 2])], "(Expand): the shape [1, 3, 1] cannot be expanded to [2, 4, 2]"))
    draws.append(([x, i64([2, -3, 2])], "(Expand): the shape [1, 3, 1] cannot be expanded to [2, -3, 2]"))
    return g, draws


@case()
def slices(rng):
    g = graph([node("Slice", "x starts ends axes steps", "y"), node("Relu", "y", "z")],
              [value("x", F, ["n", "m"]), value("starts", I, [2]), value("ends", I, [2])], [value("z", F, ["a", "b"])],
              {"axes": i64([0, 1]), "steps": i64([1, -2])})
    draws = []
    big = 2**63 - 1
    for n, m, s, e in ((5, 7, (1, 6), (4, 0)), (5, 7, (-3, -1), (-1, -8)), (5, 7, (0, 100), (big, -100)), (5, 7, (4, 2), (2, 5)),
                       (5, 7, (-100, big), (100, -big)), (0, 3, (0, 2), (5, 0)), (1, 1, (0, 0), (1, -2)), (5, 7, (5, -7), (9, -9)),
                       (5, 7, (2, 6), (3, -7))):
        x = f32(rng.normal(size=(n, m)))
        draws.append(([x, i64(s), i64(e)], [np.maximum(x[s[0]:e[0]:1, s[1]:e[1]:-2], 0)]))
    return g, draws


@case()
def slices_backwards(rng):
    """A start before the axis is its first entry, the largest end means the beginning (as ONNX has it, not NumPy)."""
    g = graph([node("Slice", "x start end axis step", "y"), node("Slice", "x all most axis step", "z")],
              [value("x", F, ["n"]), value("start", I, [1]), value("end", I, [1])], [value("y", F, ["a"]), value("z", F, ["b"])],
              {"axis": i64([0]), "step": i64([-2]), "all": i64([-4]), "most": i64([2**63 - 1])})
    draws = []
    for n, start, end in ((5, -9, -9), (5, -5, 2**63 - 1), (5, 4, 2**63 - 1), (5, 2**31, 2**31 - 1), (0, -3, 3), (0, 5, -1), (1, -2, -5)):
        x = f32(rng.normal(size=n))
        rows = []
        for b, e in ((start, end), (-4, 2**63 - 1)):
            b = min(max(b + n, 0) if b < 0 else b, n - 1)
            e = -1 if e in (2**31 - 1, 2**63 - 1) else max(e + n, -1) if e < 0 else min(e, n - 1)
            rows.append(x[[i for i in range(b, e, -2) if i >= 0]])
        draws.append(([x, i64([start]), i64([end])], rows))
    return g, draws


@case()
def a_remainder_as_an_entry(rng):
    """n % 3 entries, which for 0 are as many as the input has."""
    g = graph([node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Mod", "n three", "r"), node("Concat", "r minus", "t", axis=0),
               node("Reshape", "x t", "y")], [value("x", F, ["n", 2])], [value("y", F, ["a", "b"])],
              {"zero": i64([0]), "three": i64([3]), "minus": i64([-1])})
    draws = []
    for n in (1, 3, 4, 2, 6, 8):
        x = f32(rng.normal(size=(n, 2)))
        draws.append(([x], [x.reshape(n % 3 or n, -1)]))
    return g, draws


@case()
def slices_along_axes_that_come_at_run_time(rng):
    g = graph([node("Slice", "x starts ends axes steps", "y")],
              [value("x", F, ["n", 6, 2]), value("starts", I, [2]), value("ends", I, [2]), value("axes", I, [2]), value("steps", I, [2])],
              [value("y", F, ["a", "b", "c"])])
    draws = []
    x = f32(rng.normal(size=(5, 6, 2)))
    for s, e, a, t in (((1, 0), (4, 9), (0, 1), (1, 2)), ((5, 1), (-9, 2), (1, -1), (-1, 1)), ((0, 0), (2, 2), (-1, -3), (3, 1)),
                       ((0, 3), (5, 3), (0, 1), (2**62, 1)), ((4, -1), (0, -7), (0, -2), (-2, -5))):
        at = [slice(None)] * 3
        for k in range(2):
            at[a[k]] = slice(s[k], e[k], t[k])
        draws.append(([x, i64(s), i64(e), i64(a), i64(t)], [x[tuple(at)]]))
    one = i64([0, 0]), i64([1, 1])
    draws.append(([x, *one, i64([0, 3]), i64([1, 1])], "(Slice): an input of rank 3 cannot be sliced along axis 0 with step 1, axis 3 with step 1"))
    draws.append(([x, *one, i64([0, 1]), i64([1, 0])], "(Slice): an input of rank 3 cannot be sliced along axis 0 with step 1, axis 1 with step 0"))
    draws.append(([x, *one, i64([1, -2]), i64([1, 1])], "(Slice): an input of rank 3 cannot be sliced along axis 1 with step 1, axis -2 with step 1"))
    return g, draws


@case()
def tile(rng):
    g = graph([node("Tile", "x r", "y")], [value("x", F, ["n", 2]), value("r", I, [2])], [value("y", F, ["a", "b"])])
    draws = []
    for n, r in ((3, (2, 3)), (3, (1, 1)), (3, (0, 2)), (0, (4, 2)), (1, (5, 1))):
        x = f32(rng.normal(size=(n, 2)))
        draws.append(([x, i64(r)], [np.tile(x, r)]))
    draws.append(([f32(rng.normal(size=(3, 2))), i64([2, -1])], "(Tile): the extents 2, -1 cannot be: wanted 0 or more"))
    return g, draws


@case()
def split(rng):
    g = graph([node("Split", "x s", "a b c", axis=1), node("Relu", "b", "d")], [value("x", F, [2, "n"]), value("s", I, [3])],
              [value("a", F, [2, "i"]), value("d", F, [2, "j"]), value("c", F, [2, "k"])])
    draws = []
    for s in ((1, 2, 3), (0, 6, 0), (2, 2, 2), (0, 0, 0)):
        x = f32(rng.normal(size=(2, sum(s))))
        parts = np.split(x, np.cumsum(s)[:2], 1)
        draws.append(([x, i64(s)], [parts[0], np.maximum(parts[1], 0), parts[2]]))
    x = f32(rng.normal(size=(2, 4)))
    draws.append(([x, i64([1, 2, 3])], "(Split): the axis of 4 entries cannot be split into 1, 2, 3"))
    draws.append(([x, i64([5, -3, 2])], "(Split): the axis of 4 entries cannot be split into 5, -3, 2"))
    return g, draws


@case()
def pad(rng):
    g = graph([node("Pad", "x p v", "y")], [value("x", F, ["n", 3]), value("p", I, [4]), value("v", F, [])], [value("y", F, ["a", "b"])])
    draws = []
    for n, p in ((4, (1, 2, 0, 1)), (4, (0, 0, 0, 0)), (4, (-1, 1, -2, -3)), (0, (2, 0, 1, 0)), (4, (-4, 0, 0, 0)), (4, (3, 0, -5, 0))):
        x, v = f32(rng.normal(size=(n, 3))), f32(rng.normal())
        wide = np.pad(x, [(max(p[0], 0), max(p[2], 0)), (max(p[1], 0), max(p[3], 0))], constant_values=v)
        y = wide[max(-p[0], 0):len(wide) - max(-p[2], 0), max(-p[1], 0):wide.shape[1] - max(-p[3], 0)]
        draws.append(([x, i64(p), v], [y]))
    draws.append(([f32(rng.normal(size=(4, 3))), i64([-3, 0, -2, 0]), f32(0)],
                  "(Pad): axis 0 of 4 entries cannot be padded by -3 and -2, axis 1 of 3 entries cannot be padded by 0 and 0"))
    return g, draws


def padded(x, p, mode):
    """Negative amounts cut first: what is cut is not repeated."""
    for axis in (0, 1):
        x = x.take(np.arange(max(-p[axis], 0), x.shape[axis] - max(-p[axis + 2], 0)), axis)
        if mode == "wrap":  # which np.pad gets wrong before NumPy 1.25
            x = x.take(np.arange(-max(p[axis], 0), x.shape[axis] + max(p[axis + 2], 0)) % x.shape[axis], axis)
    return x if mode == "wrap" else np.pad(x, [(max(p[0], 0), max(p[2], 0)), (max(p[1], 0), max(p[3], 0))], mode=mode)


def pad_mode(mode, numpy_mode):
    def make(rng):
        g = graph([node("Pad", "x p", "y", mode=mode)], [value("x", F, ["n", 5]), value("p", I, [4])], [value("y", F, ["a", "b"])])
        draws = []
        for n, p in ((4, (1, 2, 0, 1)), (4, (3, 0, 2, 4)), (4, (0, 0, 0, 0)), (2, (1, 1, 1, 1)), (2, (3, 0, 7, 11)), (1, (2, 0, 1, 0)),
                     (4, (-1, -2, 3, 4)), (4, (5, 0, -1, -3))):
            x = f32(rng.normal(size=(n, 5)))
            draws.append(([x, i64(p)], [padded(x, p, numpy_mode)]))
        draws.append(([np.zeros((0, 5), np.float32), i64([1, 0, 0, 0])], "(Pad): axis 0 of 0 entries cannot be padded by 1 and 0"))
        draws.append(([np.zeros((3, 5), np.float32), i64([-3, 0, 1, 0])], "(Pad): axis 0 of 3 entries cannot be padded by -3 and 1"))
        return g, draws
    make.__name__ = "pad_" + mode
    case(19)(make)


def pad_mode_by_known_amounts(mode, numpy_mode, p):
    def make(rng):
        g = graph([node("Pad", "x p", "y", mode=mode)], [value("x", F, ["n", 5])], [value("y", F, ["a", "b"])], {"p": i64(p)})
        x = [f32(rng.normal(size=(n, 5))) for n in (2, 4)]
        return g, [([v], [padded(v, p, numpy_mode)]) for v in x]
    make.__name__ = f"pad_{mode}_by_known_amounts_that_{'cut' if min(p) < 0 else 'repeat'}"
    case(19)(make)


for modes in (("reflect", "reflect"), ("edge", "edge"), ("wrap", "wrap")):
    pad_mode(*modes)
    pad_mode_by_known_amounts(*modes, (3, 0, 7, 11))
    pad_mode_by_known_amounts(*modes, (-1, -2, 3, 4))


@case()
def top_k(rng):
    g = graph([node("TopK", "x k", "v i", axis=0), node("Neg", "v", "w")], [value("x", F, ["n", 2]), value("k", I, [1])],
              [value("w", F, ["a", 2]), value("i", I, ["a", 2])])
    draws = []
    for n, k in ((6, 3), (6, 6), (6, 1), (6, 0), (0, 0)):
        x = f32(rng.permutation(2 * n).reshape(n, 2))
        at = np.argsort(-x, 0, kind="stable")[:k]
        draws.append(([x, i64([k])], [-np.take_along_axis(x, at, 0), i64(at)]))
    x = f32(rng.normal(size=(6, 2)))
    draws.append(([x, i64([7])], "(TopK): k is 7, but axis 0 has 6 entries"))
    draws.append(([x, i64([-1])], "(TopK): k is -1, but axis 0 has 6 entries"))
    return g, draws


@case()
def range_of_integers(rng):
    g = graph([node("Range", "a b c", "y"), node("Add", "y y", "z")], [value(n, I, []) for n in "abc"], [value("z", I, ["n"])])
    draws = [([i64(a), i64(b), i64(c)], [2 * np.arange(a, b, c)])
             for a, b, c in ((0, 5, 1), (3, 17, 4), (5, 0, -2), (5, 5, 1), (5, 0, 1), (-4, 3, 2), (0, -7, -7), (2, 3, 2**62))]
    draws.append(([i64(0), i64(5), i64(0)], "(Range): a range from 0 to 5 cannot have the step 0"))
    return g, draws


@case()
def least_integer(rng):
    """-2^63 has no positive counterpart. What is read as a term comes back as data; the results are small, since tests compare with a tolerance."""
    most, least = 2 ** 63 - 1, -2 ** 63
    g = graph([node("Slice", "x a most", "s"), node("Add", "a most", "y"), node("Mod", "a seven", "q"), node("Less", "a low", "l")],
              [value("x", F, [4]), value("a", I, [1])], [value("s", F, ["n"]), value("y", I, [1]), value("q", I, [1]), value("l", B, [1])],
              {"most": i64([most]), "seven": i64([7]), "low": i64([least + 1])})
    x, draws = f32(rng.normal(size=4)), []
    for a in (least, least + 1, least + 2, least // 2, -4, -3, -2, -1, 0):
        draws.append(([x, i64([a])], [x[a:], i64([a + most]), i64([a % 7]), np.array([a <= least])]))
    return g, draws


@case()
def least_integer_in_a_loop(rng):
    """The same as a value that iterations carry, read before and changed in each iteration."""
    least = -2 ** 63
    body = graph([node("Identity", "go", "on"), node("Add", "v one", "w"), node("Slice", "xs v most", "part"), node("ReduceSum", "part", "sum", keepdims=0)],
                 [value("i", I, []), value("go", B, []), value("v", I, [1])],
                 [value("on", B, []), value("w", I, [1]), value("sum", F, [])], {"one": i64([1]), "most": i64([2 ** 63 - 1])})
    g = graph([node("Slice", "xs a end", "s"), node("Loop", "m true a", "b sums", body=body), node("Add", "b end", "y")],
              [value("xs", F, [4]), value("m", I, []), value("a", I, [1])],
              [value("s", F, ["n"]), value("y", I, [1]), value("sums", F, ["k"])], {"end": i64([2 ** 63 - 1]), "true": np.array(True)})
    x, draws = f32(rng.integers(1, 9, size=4)), []
    for a, m in ((least, 0), (least, 1), (least, 3), (least + 1, 2), (-2, 2), (-3, 0)):
        sums = f32([x[a + i:].sum() for i in range(m)])
        draws.append(([x, i64(m), i64([a])], [x[a:], i64([a + m + 2 ** 63 - 1]), sums]))
    return g, draws


@case()
def range_of_floats(rng):
    g = graph([node("Range", "a b c", "y")], [value(n, F, []) for n in "abc"], [value("y", F, ["n"])])
    draws = []
    for a, b, c in ((0, 1, 0.25), (0, 0.3, 0.1), (5, -1, -0.5), (1, 1, 1), (2, 1, 0.5), (0, 10, 3)):
        a, b, c = f32(a), f32(b), f32(c)
        n = max(int(np.ceil((float(b) - float(a)) / float(c))), 0)
        draws.append(([a, b, c], [f32(a + np.arange(n, dtype=np.float32) * c)]))
    return g, draws


@case()
def one_hot(rng):
    g = graph([node("OneHot", "i d v", "y", axis=1)], [value("i", I, ["n"]), value("d", I, []), value("v", F, [2])], [value("y", F, ["n", "d"])])
    draws = []
    for idx, d in (([0, 2, 1], 3), ([0, -1, 4], 5), ([0], 1), ([], 4), ([3, 1], 2)):
        y = np.full((len(idx), d), 2, np.float32)
        for r, i in enumerate(idx):
            if -d <= i < d:
                y[r, i] = 7
        draws.append(([i64(idx).reshape(-1), i64(d), f32([2, 7])], [y]))
    draws.append(([i64([0]), i64(0), f32([2, 7])], "(OneHot): the depth is 0"))
    return g, draws


@case()
def constant_of_shape(rng):
    g = graph([node("ConstantOfShape", "s", "y", value=f32([2.5]))], [value("s", I, [2])], [value("y", F, ["a", "b"])])
    draws = [([i64(s)], [np.full(s, 2.5, np.float32)]) for s in ((2, 3), (0, 4), (1, 1))]
    draws.append(([i64([2, -3])], "(ConstantOfShape): the extents 2, -3 cannot be: wanted 0 or more"))
    return g, draws


@case()
def sequence_mask(rng):
    """Range(max(lengths)) < lengths."""
    g = graph([node("ReduceMax", "lengths", "most", keepdims=0), node("Range", "zero most one", "r"), node("Unsqueeze", "lengths last", "l"),
               node("Less", "r l", "mask"), node("Cast", "mask", "m", to=1), node("Shape", "m", "size")],
              [value("lengths", I, ["b"])], [value("m", F, ["b", "t"]), value("size", I, [2])],
              {"zero": i64(0), "one": i64(1), "last": i64([1])})
    draws = []
    for lengths in ([3, 1, 2], [5], [0, 0], [1, 1, 1, 9]):
        n = i64(lengths)
        m = f32(np.arange(n.max()) < n[:, None])
        draws.append(([n], [m, i64(m.shape)]))
    return g, draws


@case()
def counts_of_what_is_found(rng):
    """The extent of NonZero's result and a value of another tensor decide together."""
    g = graph([node("NonZero", "x", "nz"), node("Shape", "nz", "s"), node("Gather", "s one", "count"), node("Mul", "count k", "total"),
               node("Concat", "total two", "shape", axis=0), node("Expand", "x1 shape", "y"), node("Range", "zero c1 uno", "r"),
               node("Squeeze", "total", "c1")],
              [value("x", F, ["n"]), value("k", I, [1]), value("x1", F, [1, 1])], [value("y", F, ["m", 2]), value("r", I, ["m"])],
              {"one": i64([1]), "two": i64([2]), "zero": i64(0), "uno": i64(1)})
    draws = []
    for x, k in (([1, 0, 2, 0], 3), ([0, 0], 3), ([1, 1, 1], 0), ([5], 1)):
        m = np.count_nonzero(x) * k
        draws.append(([f32(x), i64([k]), f32([[9]])], [np.full((m, 2), 9, np.float32), np.arange(m)]))
    return g, draws


# ---- bounds in loops, branches and functions ----


def wrong_turns(name, nodes, text, consts):
    """No iteration of the loop can be made: the model runs while none is, as in ONNX Runtime."""
    def make(rng):
        b = graph(nodes + [node("Identity", "c", "d"), node("Neg", "v", "w")], [value("i", I, []), value("c", B, []), value("v", F, [3])],
                  [value("d", B, []), value("w", F, [3]), value("r", F, ["k", 2])], consts)
        g = graph([node("Loop", "m go v0", "v rows", body=b), node("Add", "v one", "y")],
                  [value("m", I, []), value("go", B, []), value("v0", F, [3]), value("x", F, [2, 3])], [value("y", F, [3]), value("rows", F, ["n", "k", 2])],
                  {"one": f32([1])})
        v, x = f32(rng.normal(size=3)), f32(rng.normal(size=(2, 3)))
        none = np.zeros((0, 0, 2), np.float32)
        return g, [([i64(0), np.array(True), v, x], [v + 1, none]), ([i64(5), np.array(False), v, x], [v + 1, none]),
                   ([i64(1), np.array(True), v, x], ("an iteration cannot be made", text))]
    make.__name__ = name
    case()(make)


wrong_turns("a_reshape_in_no_turn", [node("Reshape", "x to", "r")], "(Reshape)", {"to": i64([2, 2])})
wrong_turns("a_sum_in_no_turn", [node("Add", "x two", "s"), node("Slice", "s zero two_i one_i", "r")], "(Add)",
            {"two": f32([1, 2]), "zero": i64([0]), "two_i": i64([2]), "one_i": i64([1])})
wrong_turns("a_product_in_no_turn", [node("MatMul", "x x", "r")], "(MatMul)", {})
wrong_turns("a_split_in_no_turn", [node("Split", "x sizes", "r r2", axis=1)], "(Split)", {"sizes": i64([2, 2])})
wrong_turns("a_concatenation_in_no_turn", [node("Concat", "x two", "r", axis=0)], "(Concat)", {"two": np.zeros((1, 2), np.float32)})
wrong_turns("an_expansion_in_no_turn", [node("Expand", "x to", "r")], "(Expand)", {"to": i64([2, 2])})
wrong_turns("a_loop_in_no_turn", [node("Loop", "two_turns  x", "x2 r", body=graph(
    [node("Reshape", "x bad", "r"), node("Identity", "c", "d"), node("Identity", "u", "w")], [value("j", I, []), value("c", B, []), value("u", F, [2, 3])],
    [value("d", B, []), value("w", F, [2, 3]), value("r", F, [2])]))], "(Reshape)", {"two_turns": i64(2), "bad": i64([2])})


@case()
def a_reshape_in_no_turn_of_a_scan(rng):
    b = graph([node("Reshape", "x to", "r"), node("Add", "s x", "t")], [value("s", F, [3]), value("x", F, [3])],
              [value("t", F, [3]), value("r", F, [2])], {"to": i64([2])})
    g = graph([node("Scan", "s0 x", "s r", body=b, num_scan_inputs=1)], [value("s0", F, [3]), value("x", F, ["n", 3])], [value("s", F, [3]), value("r", F, ["n", 2])])
    s = f32(rng.normal(size=3))
    return g, [([s, np.zeros((0, 3), np.float32)], [s, np.zeros((0, 2), np.float32)]), ([s, np.ones((2, 3), np.float32)], "(Reshape)")]


@case()
def in_a_loop(rng):
    b = body([node("Gather", "sizes i1", "k"), node("Slice", "x zero k zero", "head"), node("ReduceSum", "head", "sum", keepdims=0),
              node("Add", "acc sum", "acc2"), node("Unsqueeze", "i zero", "i1"), node("Identity", "c", "d")],
             [("acc", F, [])], ["d", "acc2", "sum"])
    g = graph([node("Loop", "m  start", "total sums", body=b)], [value("x", F, ["n"]), value("sizes", I, ["k"]), value("m", I, [])],
              [value("total", F, []), value("sums", F, ["m"])], {"zero": i64([0]), "start": f32(0)})
    draws = []
    for sizes in ([3, 0, 7, -2], [1], []):
        x = f32(rng.normal(size=5))
        sums = [x[:k].sum() for k in sizes]
        draws.append(([x, i64(sizes).reshape(-1), i64(len(sizes))], [f32(sum(sums)), f32(sums).reshape(-1)]))
    return g, draws


@case()
def in_a_branch(rng):
    yes = branch([node("Tile", "x r", "t")], "t")
    no = branch([node("Slice", "x zero r zero", "t")], "t", consts={"zero": i64([0])})
    g = graph([node("If", "c", "y", then_branch=yes, else_branch=no), node("Neg", "y", "z")],
              [value("x", F, ["n"]), value("r", I, [1]), value("c", B, [])], [value("z", F, ["m"])])
    draws = []
    for c, r in ((True, 2), (False, 2), (True, 0), (False, -1), (False, 9)):
        x = f32(rng.normal(size=4))
        draws.append(([x, i64([r]), np.array(c)], [-(np.tile(x, r) if c else x[:r])]))
    return g, draws


@case()
def a_carried_number_that_falls(rng):
    """It becomes negative: a bound that counts from the end."""
    b = body([node("Slice", "x zero k zero", "head"), node("ReduceSum", "head", "s", keepdims=0), node("Sub", "k two", "k2"),
              node("Identity", "c", "d")], [("k", I, [1])], ["d", "k2", "s"])
    g = graph([node("Loop", "m  k0", "k sums", body=b)], [value("x", F, ["n"]), value("m", I, [])],
              [value("k", I, [1]), value("sums", F, ["m"])], {"zero": i64([0]), "two": i64([2]), "k0": i64([3])})
    draws = []
    for m in (20, 1, 0):
        x = f32(rng.normal(size=6))
        ks = [3 - 2 * i for i in range(m)]
        draws.append(([x, i64(m)], [i64([3 - 2 * m]), f32([x[:k].sum() for k in ks]).reshape(-1)]))
    return g, draws


# ---- what follows from shapes ----


@case()
def k_is_a_minimum_of_extents(rng):
    g = graph([node("Shape", "x", "s"), node("Min", "s five", "k"), node("TopK", "x k", "v i")], [value("x", F, ["n"])],
              [value("v", F, ["k"]), value("i", I, ["k"])], {"five": i64([5])})
    draws = []
    for n in (3, 5, 9, 0):
        x = f32(rng.permutation(n))
        at = np.argsort(-x, kind="stable")[:5]
        draws.append(([x], [x[at], i64(at)]))
    return g, draws


@case()
def padded_to_a_multiple(rng):
    """(32 - n % 32) % 32 zeros at the end, as exporters write it."""
    g = graph([node("Shape", "x", "s"), node("Mod", "s many", "r"), node("Sub", "many r", "t"), node("Mod", "t many", "more"),
               node("Concat", "zero more", "pads", axis=0), node("Pad", "x pads", "p"), node("Reshape", "p blocks", "y")],
              [value("x", F, ["n"])], [value("y", F, ["b", 32])], {"many": i64([32]), "zero": i64([0]), "blocks": i64([-1, 32])})
    draws = []
    for n in (1, 31, 32, 33, 70, 0):
        x = f32(rng.normal(size=n))
        draws.append(([x], [np.pad(x, (0, -n % 32)).reshape(-1, 32)]))
    return g, draws


@case()
def tiled_by_an_extent(rng):
    g = graph([node("Shape", "x", "s"), node("Concat", "s one", "r", axis=0), node("Tile", "y r", "z")],
              [value("x", F, ["n"]), value("y", F, [2, "m"])], [value("z", F, ["a", "m"])], {"one": i64([1])})
    draws = []
    for n, m in ((3, 2), (1, 4), (0, 2), (5, 0)):
        y = f32(rng.normal(size=(2, m)))
        draws.append(([np.zeros(n, np.float32), y], [np.tile(y, (n, 1))]))
    return g, draws


@case()
def split_by_extents(rng):
    """A third, rounded down, and the rest."""
    g = graph([node("Shape", "x", "s"), node("Div", "s three", "a"), node("Sub", "s a", "b"), node("Concat", "a b", "sizes", axis=0),
               node("Split", "x sizes", "y z", axis=0), node("Neg", "y", "w")],
              [value("x", F, ["n"])], [value("w", F, ["a"]), value("z", F, ["b"])], {"three": i64([3])})
    draws = []
    for n in (9, 10, 2, 0, 1):
        x = f32(rng.normal(size=n))
        draws.append(([x], [-x[:n // 3], x[n // 3:]]))
    return g, draws


@case()
def split_into_equal_parts(rng):
    g = graph([node("Split", "x", "a b c", axis=0, num_outputs=3)], [value("x", F, ["n"])],
              [value(n, F, [n]) for n in "abc"])
    draws = []
    for n in (9, 7, 8, 3, 5):
        x = f32(rng.normal(size=n))
        k = -(-n // 3)
        draws.append(([x], [x[:k], x[k:2 * k], x[2 * k:]]))
    draws.append(([f32(rng.normal(size=1))], "(Split): a slice reaches 2 along axis 0"))
    return g, draws


@case()
def floats_of_extents(rng):
    """Half, rounded down; a tenth in float32, whose rounding counts; one and a half, rounded up."""
    nodes = [node("Shape", "x", "s"), node("Cast", "s", "f", to=1)]
    for name, fn in (("half", "Floor"), ("tenth", "Floor"), ("more", "Ceil"), ("third", "Round")):
        nodes += [node("Mul", f"f {name}", name + "1"), node(fn, name + "1", name + "2"), node("Cast", name + "2", name + "3", to=7),
                  node("ConstantOfShape", name + "3", name + "4")]
    k = {"half": 0.5, "tenth": 0.1, "more": 1.5, "third": 1 / 3}
    g = graph(nodes, [value("x", F, ["n"])], [value(n + "4", F, [n]) for n in k], {n: f32([v]) for n, v in k.items()})
    draws = []
    for n in (1, 2, 3, 10, 30, 70, 90, 99, 0):
        x = f32(n)
        sizes = [np.floor(x * f32(0.5)), np.floor(x * f32(0.1)), np.ceil(x * f32(1.5)), np.rint(x * f32(1 / 3))]
        draws.append(([np.zeros(n, np.float32)], [np.zeros(int(v), np.float32) for v in sizes]))
    return g, draws


@case()
def a_shape_that_a_comparison_chooses(rng):
    g = graph([node("Shape", "x", "s"), node("Equal", "s four", "c"), node("Where", "c two s", "w"), node("ConstantOfShape", "w", "y"),
               node("Add", "y one", "z")],
              [value("x", F, ["n"])], [value("z", F, ["m"])], {"four": i64([4]), "two": i64([2]), "one": f32([1])})
    return g, [([np.zeros(n, np.float32)], [np.ones(2 if n == 4 else n, np.float32)]) for n in (4, 3, 0, 5)]


@case()
def a_difference_that_is_negative(rng):
    """Two negative extents have a positive product."""
    g = graph([node("Shape", "x", "s"), node("Sub", "s three", "d"), node("Concat", "d d", "t", axis=0), node("ConstantOfShape", "t", "y")],
              [value("x", F, ["n"])], [value("y", F, ["a", "b"])], {"three": i64([3])})
    draws = [([np.zeros(n, np.float32)], [np.zeros((n - 3, n - 3), np.float32)]) for n in (3, 4, 8)]
    return g, draws + [([np.zeros(1, np.float32)], "(ConstantOfShape): the extents -2, -2 cannot be: wanted 0 or more")]


def dft_of(x, n, inverse=False):
    c = np.fft.ifft(x, n) if inverse else np.fft.fft(x, n)
    return f32(np.stack([c.real, c.imag], -1))


@case()
def dft(rng):
    """Real to complex and back, over an axis whose extent is not known, and over a length that is given."""
    g = graph([node("DFT", "x", "y", axis=1), node("DFT", "y", "z", axis=1, inverse=1), node("DFT", "x l", "w", axis=1, onesided=1)],
              [value("x", F, [2, "n", 1]), value("l", I, [])], [value("y", F, [2, "n", 2]), value("z", F, [2, "n", 2]), value("w", F, [2, "m", 2])])
    draws = []
    for n, l in ((8, 8), (5, 9), (1, 1), (12, 4), (100, 31)):
        x = f32(rng.normal(size=(2, n)))
        draws.append(([x[..., None], i64(l)], [dft_of(x, n), np.stack([x, 0 * x], -1), dft_of(x, l)[:, :l // 2 + 1]]))
    x = f32(rng.normal(size=(2, 4, 1)))
    draws.append(([x, i64(0)], "(DFT): a transform of 0 samples is not supported"))
    draws.append(([x, i64(10000)], "(DFT): a transform of 10000 samples is not supported"))
    return g, draws


@case()
def stft(rng):
    g = graph([node("STFT", "x step w", "y", onesided=1)], [value("x", F, [1, "n", 1]), value("step", I, [])],
              [value("y", F, [1, "f", 5, 2])], {"w": f32(np.hanning(8))})
    draws = []
    for n, step in ((64, 4), (8, 1), (65, 16), (30, 7)):
        x = f32(rng.normal(size=n))
        frames = np.stack([x[i:i + 8] for i in range(0, n - 7, step)]) * f32(np.hanning(8))
        draws.append(([x[None, :, None], i64(step)], [dft_of(frames, 8)[None, :, :5]]))
    x = f32(rng.normal(size=(1, 7, 1)))
    draws.append(([x, i64(2)], "(STFT): frames of 8 samples with step 2 cannot be cut from 7 samples"))
    draws.append(([np.zeros((1, 9, 1), np.float32), i64(0)], "(STFT): frames of 8 samples with step 0 cannot be cut from 9 samples"))
    return g, draws


@case()
def resized_by_one_and_a_half(rng):
    """Asymmetric, nearest, rounded down: entry i comes from floor(i / 1.5)."""
    g = graph([node("Resize", "x  scales", "y", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")],
              [value("x", F, [1, 1, "h", "w"])], [value("y", F, [1, 1, "a", "b"])], {"scales": f32([1, 1, 1.5, 0.7])})
    draws = []
    for h, w in ((4, 10), (5, 7), (1, 3), (3, 20)):
        x = f32(rng.normal(size=(1, 1, h, w)))
        a, b = int(f32(h) * f32(1.5)), int(f32(w) * f32(0.7))
        rows, columns = np.int64(np.arange(a) / 1.5), np.int64(np.arange(b) / float(f32(0.7)))
        draws.append(([x], [x[:, :, rows][..., columns]]))
    return g, draws


@case()
def resized_to_sizes_that_come_at_run_time(rng):
    g = graph([node("Resize", "x   sizes", "y", mode="linear", coordinate_transformation_mode="align_corners")],
              [value("x", F, ["n", 2, "w"]), value("sizes", I, [3])], [value("y", F, ["n", 2, "a"])])
    draws = []
    for n, w, a in ((1, 4, 7), (3, 5, 5), (2, 9, 3), (2, 3, 1)):
        x = f32(rng.normal(size=(n, 2, w)))
        at = np.arange(a) * (w - 1) / max(a - 1, 1)
        low = np.minimum(np.int64(at), w - 1)
        high = np.minimum(low + 1, w - 1)
        draws.append(([x, i64([n, 2, a])], [f32(x[..., low] * (1 - (at - low)) + x[..., high] * (at - low))]))
    draws.append(([f32(rng.normal(size=(1, 2, 4))), i64([1, 2, 0])], "(Resize): size 2 is 0, expected 1 or more"))
    return g, draws


def strided_convolution(channels, taps, stride, fused):
    """Windows that lie apart, over a length that is not known: as signal processing has them."""
    def make(rng):
        w, b = f32(rng.normal(size=(channels, 1, taps))), f32(rng.normal(size=channels))
        nodes = [node("Conv", "x w b", "c", strides=[stride]), node("Relu", "c", "y")] if fused else [node("Conv", "x w", "y", strides=[stride])]
        g = graph(nodes, [value("x", F, ["batch", 1, "n"])], [value("y", F, ["batch", channels, "m"])], {"w": w, "b": b} if fused else {"w": w})
        draws = []
        for batch, m in ((1, 75), (1, 1), (2, 16), (1, 17), (3, 5)):
            n = taps + stride * (m - 1) + (m % stride if m else 0)
            x = f32(rng.normal(size=(batch, 1, n)) / taps)
            y = np.zeros((batch, channels, m), np.float32)
            for i in range(m):
                y[:, :, i] = x[:, 0, i * stride:i * stride + taps] @ w[:, 0].T
            draws.append(([x], [np.maximum(y + b[:, None], 0) if fused else y]))
        return g, draws
    return make


for channels, taps, stride, fused in ((257, 64, 20, False), (24, 40, 3, True), (9, 17, 16, False), (40, 100, 2, True), (64, 16, 4, False)):
    make = strided_convolution(channels, taps, stride, fused)
    make.__name__ = f"convolution_of_{channels}_channels_{taps}_taps_stride_{stride}"
    case()(make)


def has_vectors(at):
    """The kernel computes vectors of channels where those of places would be gathered."""
    model = os.path.join(at, "model.onnx")
    text = ""
    for kernel in ("conv1d", "matmul"):  # many taps are a product of matrices
        text += subprocess.run([os.environ["TENON"], "show", "kernel", model, kernel], capture_output=True, text=True).stdout
    if not re.search(r"acc_0 = \(acc_0 \+ \(.*tk_bc_f32x", text):
        print(f"FAIL {at}: no vectors in the kernel:\n{text}")
        return False
    return True


def same_padding(rng, upper, op):
    """As with extents that are known: outputs ceil(n / 2)."""
    w = f32(rng.normal(size=(3, 2, 3)))
    how = "SAME_UPPER" if upper else "SAME_LOWER"
    if op == "Conv":
        nodes, consts = [node("Conv", "x w", "y", auto_pad=how, strides=[2])], {"w": w}
    else:
        nodes, consts = [node(op, "x", "y", auto_pad=how, strides=[2], kernel_shape=[3])], {}
    g = graph(nodes, [value("x", F, [1, 2, "n"])], [value("y", F, [1, 3 if op == "Conv" else 2, "m"])], consts)
    draws = []
    for n in (8, 7, 1, 2, 33):
        x = f32(rng.normal(size=(1, 2, n)))
        m = -(-n // 2)
        total = max((m - 1) * 2 + 3 - n, 0)
        before = total // 2 if upper else total - total // 2
        windows = [x[..., max(2 * i - before, 0):2 * i - before + 3] for i in range(m)]
        if op == "Conv":
            p = np.pad(x, ((0, 0), (0, 0), (before, total - before)))
            y = np.stack([(p[:, None, :, 2 * i:2 * i + 3] * w).sum((2, 3)) for i in range(m)], -1)
        else:
            y = np.stack([v.max(-1) if op == "MaxPool" else v.mean(-1) for v in windows], -1)
        draws.append(([x], [f32(y)]))
    return g, draws


for upper in (True, False):
    for op in ("Conv", "MaxPool", "AveragePool"):
        def make(rng, upper=upper, op=op):
            return same_padding(rng, upper, op)
        make.__name__ = f"{'upper' if upper else 'lower'}_padding_{op}"
        case()(make)


def same_padding_of_bytes(op, how, stride):
    """Padded by the zero point."""
    def make(rng):
        w = rng.integers(0, 5, (2, 2, 3, 3)).astype(np.uint8)
        u8 = np.uint8
        consts = {"w": w, "xz": u8(3), "wz": u8(2), "s1": f32(1), "yz": u8(7), "s4": f32(4)}
        if op == "ConvInteger":
            nodes = [node(op, "x w xz wz", "y", auto_pad=how, strides=[stride, stride])]
        else:
            nodes = [node(op, "x s1 xz w s1 wz s4 yz", "y", auto_pad=how, strides=[stride, stride])]
        g = graph(nodes, [value("x", "uint8", [1, 2, "n", 6])], [value("y", I32 if op == "ConvInteger" else "uint8", [1, 2, "m", "k"])], consts)
        draws = []
        for n in (8, 7, 1, 2):
            x = rng.integers(0, 9, (1, 2, n, 6)).astype(np.uint8)
            pads, outs = [], []
            for extent in (n, 6):
                outs.append(-(-extent // stride))
                total = max((outs[-1] - 1) * stride + 3 - extent, 0)
                before = total // 2 if how == "SAME_UPPER" else total - total // 2
                pads.append((before, total - before))
            p = np.pad(x.astype(np.int32) - 3, ((0, 0), (0, 0), *pads))
            y = np.zeros((1, 2, *outs), np.int32)
            for i in range(outs[0]):
                for j in range(outs[1]):
                    at = p[0, :, i * stride:i * stride + 3, j * stride:j * stride + 3]
                    y[0, :, i, j] = (at * (w.astype(np.int32) - 2)).sum((1, 2, 3))
            draws.append(([x], [y if op == "ConvInteger" else np.clip(np.rint(y / 4) + 7, 0, 255).astype(np.uint8)]))
        return g, draws
    return make


for op in ("ConvInteger", "QLinearConv"):
    for how in ("SAME_UPPER", "SAME_LOWER"):
        for stride in (1, 2):
            make = same_padding_of_bytes(op, how, stride)
            make.__name__ = f"{how}_{op}_{stride}"
            case()(make)


def squeezed(count, dims):
    """torch.squeeze of so many tensors: each an If whose branches give other ranks."""
    nodes, inputs, total = [], [], None
    for i in range(count):
        inputs.append(value(f"x{i}", F, [dims[i % len(dims)], 3]))
        nodes += [node("Shape", f"x{i}", f"s{i}"), node("Gather", f"s{i} first", f"d{i}"), node("Equal", f"d{i} one", f"c{i}"),
                  node("If", f"c{i}", f"r{i}", then_branch=branch([node("Squeeze", f"x{i} axis", f"q{i}")], f"q{i}"),
                       else_branch=branch([node("Identity", f"x{i}", f"q{i}")], f"q{i}")),
                  node("ReduceSum", f"r{i} axis", f"t{i}", keepdims=0), node("ReduceMax", f"t{i}", f"m{i}", keepdims=0),
                  node("Add", f"{total} m{i}" if total else f"m{i} zero", f"a{i}")]
        total = f"a{i}"
    return graph(nodes, inputs, [value(total, F, [])], {"axis": i64([0]), "one": i64(1), "first": i64(0), "zero": f32(0)})


def sum_of_squeezed(xs):
    return f32(sum(x.squeeze(0).sum() if x.shape[0] == 1 else x.sum(0).max() for x in xs))


@case()
def squeezes_of_six_extents(rng):
    draws = []
    for sizes in ((1,) * 6, (2,) * 6, (1, 3, 1, 2, 2, 1)):
        xs = [f32(rng.normal(size=(n, 3))) for n in sizes]
        draws.append((xs, [sum_of_squeezed(xs)]))
    return squeezed(6, ["a", "b", "c", "d", "e", "f"]), draws


@case()
def squeezes_of_one_extent(rng):
    """Decided once."""
    draws = []
    for n in (1, 4):
        xs = [f32(rng.normal(size=(n, 3))) for _ in range(20)]
        draws.append((xs, [sum_of_squeezed(xs)]))
    return squeezed(20, ["n"]), draws


@case()
def squeezes_of_too_many_extents(rng):
    xs = [f32(rng.normal(size=(2, 3))) for _ in range(9)]
    return squeezed(9, list("abcdefghi")), [(xs, ("(If): the branches give values of other ranks", "there are more than 64",
                                                  "--dim NAME=VALUE"))]


@case()
def center_crop_pad(rng):
    g = graph([node("CenterCropPad", "x s", "y", axes=[0, -1])], [value("x", F, ["n", 2, "m"]), value("s", I, [2])],
              [value("y", F, ["a", 2, "b"])])
    draws = []
    for n, m, s in ((5, 4, (3, 7)), (4, 4, (4, 4)), (3, 8, (8, 3)), (1, 1, (0, 2)), (2, 3, (5, 0))):
        x = f32(rng.normal(size=(n, 2, m)))
        y = x
        for axis, want in ((0, s[0]), (2, s[1])):
            have = y.shape[axis]
            if want > have:
                y = np.pad(y, [((want - have) // 2, want - have - (want - have) // 2) if k == axis else (0, 0) for k in range(3)])
            else:
                y = y.take(np.arange((have - want) // 2, (have - want) // 2 + want), axis)
        draws.append(([x, i64(s)], [y]))
    draws.append(([f32(rng.normal(size=(2, 2, 2))), i64([2, -1])], "(CenterCropPad): the extent -1 cannot be"))
    return g, draws


def divided(op, a, b, fmod):
    """As docs/numbers.md says: by 0 it is 0."""
    if b == 0:
        return 0
    q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return q if op == "Div" else a - q * b if fmod else a % b


def division(op, fmod, signed):
    """Of extents and of numbers from inputs, used as extents and as data: the same, also where the divisor is 0."""
    def make(rng):
        attrs = {"fmod": 1} if fmod else {}
        nodes = [node("Shape", "x", "a0"), node("Shape", "w", "b0"), node("Neg" if signed else "Identity", "b0", "b1"),
                 node("Sub", "a0 four", "a1") if signed else node("Identity", "a0", "a1"), node(op, "a1 b1", "q", **attrs),
                 node(op, "a1 k", "r", **attrs), node(op, "k b1", "t", **attrs), node(op, "a1 zero", "u", **attrs),
                 node("Concat", "q r t u", "data", axis=0), node("Add", "data d", "out")]
        outs = ["q", "r", "t", "u"]
        for name in outs:
            nodes += [node("Abs", name, name + "1"), node("ConstantOfShape", name + "1", name + "2")]
        g = graph(nodes, [value("x", F, ["n"]), value("w", F, ["m"]), value("k", I, [1]), value("d", I, [4])],
                  [value("out", I, [4])] + [value(n + "2", F, [n]) for n in outs], {"zero": i64([0]), "four": i64([4])})
        draws = []
        for n, m, k in ((7, 2, 3), (7, 0, 3), (7, 2, 0), (0, 0, 0), (3, 0, -2), (1, 2, -2), (9, 4, 5)):
            if not signed and k < 0:
                continue
            a, b, d = n - 4 if signed else n, -m if signed else m, i64(rng.integers(0, 9, 4))
            all_ = i64([divided(op, a, b, fmod), divided(op, a, k, fmod), divided(op, k, b, fmod), 0])
            draws.append(([f32(np.zeros(n)), f32(np.zeros(m)), i64([k]), d], [all_ + d] + [f32(np.zeros(abs(v))) for v in all_]))
        return g, draws
    return make


for op, fmod, signed in (("Div", 0, 0), ("Div", 0, 1), ("Mod", 0, 0), ("Mod", 0, 1), ("Mod", 1, 1)):
    make = division(op, fmod, signed)
    make.__name__ = f"{'fmod' if fmod else op}{'_of_signed' if signed else ''}_by_what_may_be_0"
    case()(make)


@case()
def extents_that_cancel(rng):
    """(n * m) / m is n."""
    g = graph([node("Size", "x", "s"), node("Shape", "x", "d", start=1), node("Div", "s d", "n"), node("Concat", "d n", "to", axis=0),
               node("Reshape", "x to", "y")], [value("x", F, ["n", "m"])], [value("y", F, ["m", "n"])])
    x = f32(rng.normal(size=(3, 4)))
    return g, [([x], [x.reshape(4, 3)])]


def far_terms(name, nodes, consts, f, text, most):
    """A number beyond int64 ends the run; up to `most` there is none."""
    def make(rng):
        g = graph([node("Shape", "x", "s")] + nodes + [node("Add", "q none", "as_data"), node("ConstantOfShape", "q", "y")],
                  [value("x", F, ["n"]), value("none", I, [1])], [value("as_data", I, [1]), value("y", F, ["m"])], consts)
        draws = []
        for n in (0, 1, 2, 3, 4, 7):
            x = [np.zeros(n, np.float32), i64([0])]
            draws.append((x, [i64([f(n)]), np.zeros(f(n), np.float32)] if n <= most else text))
        return g, draws
    make.__name__ = name
    case()(make)


FAR = 2 ** 62 + 1
far_terms("a_product_beyond_int64", [node("Mul", "s far", "p"), node("Div", "p far", "q")], {"far": i64([FAR])}, lambda n: n,
          f" times {FAR} is beyond int64", 1)
far_terms("a_remainder_beyond_int64", [node("Mul", "s far", "p"), node("Mod", "p seven", "q")], {"far": i64([2 ** 61 + 1]), "seven": i64([7])},
          lambda n: n * (2 ** 61 + 1) % 7, f" times {2 ** 61 + 1} is beyond int64", 3)
far_terms("a_product_of_factors_beyond_int64", [node("Mul", "s half", "h"), node("Mul", "h half", "p"), node("Div", "p far", "q")],
          {"half": i64([2 ** 31]), "far": i64([2 ** 62])}, lambda n: n, f" times {2 ** 31} is beyond int64", 1)
far_terms("a_sum_beyond_int64", [node("Add", "s far", "p"), node("Less", "p s", "c"), node("Cast", "c", "q", to=7)], {"far": i64([2 ** 63 - 4])},
          lambda n: 0, f" and {2 ** 63 - 4} is beyond int64", 3)
far_terms("a_difference_beyond_int64", [node("Sub", "s far", "p"), node("Less", "p s", "c"), node("Cast", "c", "q", to=7)],
          {"far": i64([-(2 ** 63 - 4)])}, lambda n: 0, f" less -{2 ** 63 - 4} is beyond int64", 3)


def int32_terms(op):
    """n in int32, times a million, for an operator to which the number itself counts: 3000 millions are refused. A negative
    number where the product wraps, as ONNX has it, comes where only sums, differences and products follow."""
    def make(rng):
        nodes = [node("Shape", "x", "s"), node("Cast", "s", "i", to=6), node("Mul", "i million", "p")]
        consts = {"million": np.array([1000000], np.int32), "seven": np.array([7], np.int32), "zero": np.array(0, np.int32),
                  "one": np.array(1, np.int32), "back": np.array([-2999990], np.int32), "none": i64([])}
        of = {"Div": (lambda p: p // 7, I32), "Mod": (lambda p: p % 7, I32), "Min": (lambda p: np.minimum(p, 7), I32),
              "Less": (lambda p: p < 7, B), "Abs": (np.abs, I32), "Cast": (lambda p: p.astype(np.int64), I),
              "Sub": (lambda p: p - np.int32(7), I32), "Neg": (lambda p: -p, I32),
              "Range": (lambda p: np.arange(p[0] - 2999990, dtype=np.int32), I32)}
        f, dtype = of[op]
        if op == "Range":
            nodes += [node("Add", "p back", "q"), node("Reshape", "q none", "r"), node("Range", "zero r one", "y")]
        elif op == "Cast":
            nodes += [node("Cast", "p", "y", to=7)]
        else:
            nodes += [node(op, "p" if op in ("Abs", "Neg") else "p seven", "y")]
        draws = []
        for n in (3, 2147, 2148, 3000):
            p = (np.array([n], np.int64) * 1000000).astype(np.int32)
            x = np.zeros(n, np.float32)
            if n == 3 or op in ("Sub", "Neg") or (n == 2147 and op != "Range"):
                draws.append(([x], [f(p).astype({I32: np.int32, I: np.int64, B: bool}[dtype])]))
            elif n >= 2148 and op != "Range":
                draws.append(([x], f"({op}): 'p' would be {n}000000, which int32 cannot hold"))
        if op == "Range":
            draws.append(([np.zeros(5151, np.float32)], "'r' would be 5148000010, which int32 cannot hold"))
        return graph(nodes, [value("x", F, ["n"])], [value("y", dtype, ["a"])], consts), draws
    return make


for op in ("Div", "Mod", "Min", "Less", "Abs", "Cast", "Sub", "Neg", "Range"):
    make = int32_terms(op)
    make.__name__ = f"int32_terms_{op}"
    case()(make)


@case()
def cast_like_a_number_that_does_not_fit(rng):
    """Of the second input only the type counts."""
    nodes = [node("Shape", "x", "s"), node("Cast", "s", "i", to=6), node("Mul", "i million", "p"), node("Less", "i seven", "few"),
             node("CastLike", "few p", "y")]
    consts = {"million": np.array([1000000], np.int32), "seven": np.array([7], np.int32)}
    draws = [([np.zeros(n, np.float32)], [np.array([n < 7], np.int32)]) for n in (3, 2147, 3000)]
    return graph(nodes, [value("x", F, ["n"])], [value("y", I32, ["a"])], consts), draws


@case()
def axes_that_are_cast_like_another_value(rng):
    """What is known stays so."""
    nodes = [node("Shape", "x", "s"), node("CastLike", "one s", "axes"), node("ReduceSum", "x axes", "y", keepdims=0)]
    draws = []
    for n in (1, 5):
        x = f32(rng.normal(size=(n, 3)))
        draws.append(([x], [x.sum(1)]))
    return graph(nodes, [value("x", F, ["n", 3])], [value("y", F, ["n"])], {"one": np.array([1], np.int32)}), draws


# ---- running ----


def main():
    folder, kept, names = chosen("tenon-dynamic-")
    failed = False
    plugins_there()
    try:
        written = []
        for name, (f, opset) in cases.items():
            if not names or name in names:
                g, draws = f(np.random.default_rng(1))
                written.append((write(folder, name, g, draws, opset), draws))
        for how in (["-t", "cpu"], ["--interp"], ["-t", "cpu", "--verify", "--verify-budget", "20000000"]):
            failed |= not run_cases([at for at, draws in written if any(not isinstance(d[1], (str, tuple)) for d in draws)], how)
        for at, draws in written:
            failed |= not run_refused(at, draws, ["-t", "cpu"])
            failed |= at.endswith("_taps_stride_20") and not has_vectors(at)
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
