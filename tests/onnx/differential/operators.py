# SPDX-License-Identifier: Apache-2.0
"""One function an operator (or family of operators): adds nodes to a random graph. A function may fail to find operands
that fit; ONNX Runtime then refuses the node and nothing is added."""
import numpy as np
from graph import subgraph
from onnx import TensorProto, helper

OPERATORS = {}  # name -> function of the graph


def operator(*names):
    def add(f):
        for n in names:
            OPERATORS[n] = (lambda g, n=n: f(g, n))
        return f
    return add


def axis_of(g, v, first=None):
    r = max(v.rank, 1)
    return g.integer(-r if first is None else first, r - 1)


def axes_of(g, v):
    n = g.integer(1, max(v.rank, 1))
    a = [int(i) for i in g.rng.permutation(max(v.rank, 1))[:n]]
    return [i - v.rank if g.chance(0.2) else i for i in a]


def partner(g, v, exact=False):
    """A value that broadcasts with v."""
    def test(o):
        if o.dtype != v.dtype or (exact and not o.exact):
            return False
        try:
            return np.prod(np.broadcast_shapes(o.shape, v.shape), dtype=np.int64) <= 40000
        except ValueError:
            return False
    o = g.find(test) if g.chance(0.5) else None
    if o is not None:
        return o
    shape = [1 if g.chance(0.3) else d for d in v.shape][g.integer(0, v.rank):] if v.rank else list(g.shape(g.integer(0, 2), 64))
    return g.fresh(shape, v.dtype)


def weight(g, shape, dtype="float32", low=-4, high=4):
    """A parameter: a constant, or now and then an input."""
    a = g.data(shape, dtype, low, high)
    return g.input(a) if g.chance(0.15) else g.constant(a)


# ---- element-wise ----

@operator("Abs", "Neg", "Relu", "Identity")
def exact_unary(g, op):
    return g.add(op, [g.any("fi")])


@operator("Floor", "Ceil", "Round", "Sign")
def rounding(g, op):
    return g.add(op, [g.any("f", exact=True)])


@operator("Exp", "Sigmoid", "Tanh", "Sin", "Cos", "Erf", "Softplus", "Softsign", "HardSwish", "HardSigmoid", "Elu", "Selu", "Celu",
          "LeakyRelu", "ThresholdedRelu", "Atan", "Sinh", "Cosh", "Asinh", "Mish", "Tan")
def unary(g, op):
    attrs = {}
    if op in ("Elu", "LeakyRelu", "Celu", "HardSigmoid", "ThresholdedRelu") and g.chance(0.5):
        attrs["alpha"] = g.pick([0.125, 0.5, 1.5])
    return g.add(op, [g.any("f", exact=op in ("ThresholdedRelu", "Tan"))], exact=False, **attrs)  # beside its poles Tan jumps


@operator("Gelu")
def gelu(g, op):
    return g.add(op, [g.any("f")], exact=False, approximate=g.pick(["none", "tanh"]))


@operator("Log", "Sqrt", "Reciprocal", "Acosh")
def of_positive(g, op):
    a = g.add("Abs", [g.any("f")])
    b = a and g.add("Add", [a[0], np.asarray(1.25, a[0].dtype)])
    return b and g.add(op, [b[0]], exact=False)


@operator("Asin", "Acos", "Atanh")
def of_unit(g, op):
    a = g.add("Tanh", [g.any("f")], exact=False)
    b = a and g.add("Mul", [a[0], np.asarray(0.75, a[0].dtype)])
    return b and g.add(op, [b[0]], exact=False)


@operator("Add", "Sub", "Mul")
def binary(g, op):
    a = g.any("ffi")
    return g.add(op, [a, partner(g, a)])


@operator("Min", "Max", "Sum", "Mean")
def variadic(g, op):
    a = g.any("f" if op in ("Sum", "Mean") else "ffi")
    return g.add(op, [a] + [partner(g, a) for _ in range(g.integer(0, 3))], exact=op != "Mean")


@operator("Div")
def division(g, op):
    a = g.any("ffi")
    b = g.data(a.shape if g.chance(0.5) else (), a.dtype, 1, 7)
    if a.dtype.kind == "f":
        return g.add(op, [a, g.constant(b)], exact=False)
    positive = g.add("Abs", [a]) if a.dtype.kind == "i" else [a]
    return positive and g.add(op, [positive[0], np.maximum(b, 1)])


@operator("Mod")
def modulo(g, op):
    a = g.any("fi", exact=True)
    b = np.maximum(g.data((), a.dtype, 1, 7), 1).astype(a.dtype)
    return g.add(op, [a, b], fmod=1 if a.dtype.kind == "f" else g.integer(0, 1))


@operator("Pow")
def power(g, op):
    a = g.add("Abs", [g.any("f")])
    b = a and g.add("Add", [a[0], np.asarray(0.5, a[0].dtype)])
    return b and g.add(op, [b[0], np.asarray(g.pick([0, 1, 2, 3, 0.5, -1, 1.75]), b[0].dtype)], exact=False)


@operator("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
def comparison(g, op):
    a = g.any("fi", exact=True)
    return g.add(op, [a, partner(g, a, exact=True)])


@operator("And", "Or", "Xor")
def logical(g, op):
    a = g.any("b")
    return g.add(op, [a, partner(g, a)])


@operator("Not")
def negation(g, op):
    return g.add(op, [g.any("b")])


@operator("IsNaN", "IsInf")
def special(g, op):
    return g.add(op, [g.any("f")])


@operator("Where")
def where(g, op):
    a = g.any("fi")
    c = partner(g, a, exact=True)
    c = g.add("Greater", [a, c]) if a.exact else [g.fresh(a.shape, bool)]
    return c and g.add(op, [c[0], a, partner(g, a)])


@operator("Clip")
def clip(g, op):
    a = g.any("ffi")
    low = np.asarray(-1, a.dtype) if a.dtype.kind != "u" else np.asarray(1, a.dtype)
    high = np.asarray(g.pick([0, 2, 3]), a.dtype)
    return g.add(op, [a, low if g.chance(0.8) else None, high if g.chance(0.8) else None])


@operator("PRelu")
def prelu(g, op):
    a = g.any("f", low_rank=1)
    return g.add(op, [a, weight(g, [1] * (a.rank - 1) + [a.shape[-1]] if g.chance(0.5) else [1], a.dtype)])


@operator("Shrink")
def shrink(g, op):
    return g.add(op, [g.any("f", exact=True)], lambd=0.75, bias=g.pick([0.0, 0.25]))


@operator("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bits(g, op):
    a = g.any("u")
    b = g.data(a.shape, a.dtype, 0, 3)
    return g.add(op, [a, b], direction=g.pick(["LEFT", "RIGHT"]) if op == "BitShift" else None)


@operator("BitwiseNot")
def bitwise_not(g, op):
    return g.add(op, [g.any("iu")])


def far_integers(g, shape, dtype):
    """Integers next to the ends of the dtype, to where doubles are no longer exact, and to 0."""
    i = np.iinfo(dtype)
    near = [0, 1, 2, 3, i.max, i.max - 1, i.max // 2, i.max // 2 + 1, i.max // 3, i.min, i.min + 1, i.min // 2]
    near += [v for v in (2**53, 2**53 + 1, -2**53 - 1, 2**31, 2**32 + 1, -2**31 - 1) if i.min <= v <= i.max]
    n = int(np.prod(shape))
    return np.asarray([near[int(k)] for k in g.rng.integers(0, len(near), n)], dtype).reshape(shape)


def overflows(op, a, b=None):
    """Whether the result of signed integers is none: what follows may assume that there is no such thing."""
    if a.dtype.kind == "u":
        return False
    x, y = a.array.astype(object), 0 if b is None else b.array.astype(object)
    exact = {"Add": lambda: x + y, "Sub": lambda: x - y, "Mul": lambda: x * y, "Neg": lambda: -x, "Abs": lambda: abs(x),
             "CumSum": lambda: np.cumsum(x, axis=0) if a.rank else x}.get(op, lambda: x)
    i = np.iinfo(a.dtype)
    return any(not i.min <= int(r) <= i.max for r in np.ravel(exact()))


@operator("FarIntegers")
def far(g, _):
    """Arithmetic of integers that no double holds. Results are compared in their low bits too: tolerances are relative. Sums wrap in
    Tenon and saturate in ONNX Runtime; powers go through doubles in both."""
    dtype = np.dtype(g.pick(["int64", "uint64", "uint64", "int32", "uint32"]))
    shape = g.shape(g.integer(0, 2), 60)

    def operand():
        a = far_integers(g, shape if g.chance(0.7) else (), dtype)
        return g.constant(a) if g.chance(0.6) else g.input(a)
    v = operand()
    for _ in range(g.integer(1, 4)):
        op = g.pick(["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Where", "Concat", "Gather", "ReduceMax", "ReduceMin", "Sign",
                     "Abs", "Neg", "BitShift", "BitwiseAnd", "BitwiseXor", "BitwiseNot", "Cast", "Clip", "Equal", "Less", "Greater", "ArgMax",
                     "TopK", "CumSum", "Slice", "Identity", "Expand", "Unsqueeze", "Pad"])
        if op in ("Div", "Mod"):
            # -1 would overflow, and so may a number that stands for another one modulo 7
            by = [1, 2, 16] + [3, 7, np.iinfo(dtype).max] * (op == "Div" or dtype.kind == "u")
            out = g.add(op, [v, g.constant(np.asarray(g.pick(by), dtype))])
        elif op == "Where":
            o = operand()
            c = g.add("Less", [v, o])
            out = c and g.add(op, [c[0], o, v])
        elif op == "Concat":
            out = g.add(op, [v, v], axis=0)
        elif op == "Gather":
            out = g.add(op, [v, np.asarray(0)], axis=0)
        elif op == "Slice":
            out = g.add(op, [v, np.asarray([0]), np.asarray([2])])
        elif op in ("Equal", "Less", "Greater"):
            return g.add(op, [v, operand()])
        elif op == "ArgMax":
            return g.add(op, [v], axis=0)
        elif op == "TopK":
            out = g.add(op, [v, np.asarray([1])], 2, axis=0)
        elif op == "CumSum":
            out = not overflows(op, v) and g.add(op, [v, np.asarray(0)])
        elif op == "BitShift":
            out = g.add(op, [v, np.asarray(g.integer(0, dtype.itemsize * 8 - 1), dtype)], direction=g.pick(["LEFT", "RIGHT"]))
        elif op == "Cast":
            to = np.dtype(g.pick(["int64", "uint64", "int32", "uint32", "uint8", "int8", "float32", "float64", "bool"]))
            out = g.add(op, [v], to=helper.np_dtype_to_tensor_dtype(to))
            if out and to.kind not in "iu" or to.itemsize < 4:
                return out
            dtype = to if out else dtype
        elif op == "Expand":
            out = g.add(op, [v, np.asarray([2] + list(v.shape), np.int64)])
        elif op == "Unsqueeze":
            out = g.add(op, [v, np.asarray([0])])
        elif op == "Pad":
            out = g.add(op, [v, np.asarray([1, 0] * v.rank), far_integers(g, (), dtype)])
        elif op in ("ReduceMax", "ReduceMin", "Sign", "Abs", "Neg", "BitwiseNot", "Identity"):
            out = not overflows(op, v) and g.add(op, [v])
        else:
            o = operand()
            out = not overflows(op, v, o) and g.add(op, [v, o])
        v = out[0] if out else v
        shape = v.shape
    low = g.add("Mod", [v, np.asarray(256, dtype)])
    return low or v


@operator("Cast")
def cast(g, op):
    to = g.pick(["float32", "float32", "float16", "float64", "int64", "int32", "int8", "uint8", "bool"])
    a = g.any("fib", exact=np.dtype(to).kind != "f")
    if np.dtype(to).kind == "u":
        b = g.add("Abs", [a]) if a.dtype.kind in "fi" else [a]
        a = b[0] if b else a
    if np.dtype(to).itemsize == 1 and a.array.size and a.dtype.kind != "b" and np.abs(a.array.astype(np.float64)).max() > 100:
        to = "int64"
    return g.add(op, [a], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


@operator("CastLike")
def cast_like(g, op):
    return g.add(op, [g.any("fi", exact=True), np.zeros((1,), g.pick(["float32", "int64", "int32"]))])


# ---- reductions ----

@operator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
          "ReduceLogSumExp")
def reduction(g, op):
    a = g.any("ffi" if op in ("ReduceSum", "ReduceMax", "ReduceMin") else "f")
    if op == "ReduceLogSum":
        b = g.add("Abs", [a])
        b = b and g.add("Add", [b[0], np.asarray(0.5, a.dtype)])
        if not b:
            return None
        a = b[0]
    if op == "ReduceProd":
        b = g.add("Tanh", [a])
        a = b[0] if b else a
    axes = None if g.chance(0.2) else g.numbers(axes_of(g, a), 0)
    if op == "ReduceMean" and not a.array.size:
        return None  # the mean of nothing is undefined
    return g.add(op, [a, axes], exact=op in ("ReduceSum", "ReduceMax", "ReduceMin"), keepdims=g.integer(0, 1),
                 noop_with_empty_axes=g.integer(0, 1))


@operator("ArgMax", "ArgMin")
def arg(g, op):
    a = g.any("fi", low_rank=1, exact=True)
    return g.add(op, [a], axis=axis_of(g, a), keepdims=g.integer(0, 1), select_last_index=g.integer(0, 1))


@operator("CumSum")
def cumulative(g, op):
    a = g.any("ffi", low_rank=1)
    return g.add(op, [a, np.asarray(axis_of(g, a))], exclusive=g.integer(0, 1), reverse=g.integer(0, 1))


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(g, op):
    a = g.any("f", low_rank=1, exact=op == "Hardmax")
    return g.add(op, [a], exact=op == "Hardmax", axis=axis_of(g, a))


@operator("TopK")
def top_k(g, op):
    a = g.any("fi", low_rank=1, exact=True)
    axis = axis_of(g, a)
    n = a.shape[axis]
    k = g.integer(0 if g.chance(0.1) else 1, max(n, 1))
    out = g.add(op, [a, g.numbers([min(k, n)])], 2, axis=axis, largest=g.integer(0, 1), sorted=1)
    return out and out[:1]


# ---- shapes ----

@operator("Reshape")
def reshape(g, op):
    a = g.any("fib")
    left, dims = int(a.array.size), []
    while left > 1 and len(dims) < 4:
        factors = [f for f in (2, 3, 4, 5, 7, 8, 11, 13, 16, 24, left) if left % f == 0]
        f = g.pick(factors)
        dims.append(f)
        left //= f
    dims.append(left)
    if g.chance(0.2):
        dims.insert(g.integer(0, len(dims)), 1)
    kept = g.chance(0.3) and a.rank > 1 and a.array.size
    if kept:
        dims = [0, -1]
    elif dims and a.array.size and g.chance(0.5):
        dims[g.integer(0, len(dims) - 1)] = -1
    return g.add(op, [a, g.numbers(dims)])


@operator("Flatten")
def flatten(g, op):
    a = g.any("fi")
    return g.add(op, [a], axis=g.integer(-a.rank, a.rank))


@operator("Transpose")
def transpose(g, op):
    a = g.any("fib", low_rank=1)
    return g.add(op, [a], perm=[int(i) for i in g.rng.permutation(a.rank)] if g.chance(0.8) else None)


@operator("Squeeze")
def squeeze(g, op):
    a = g.any("fi", low_rank=1)
    ones = [i for i, d in enumerate(a.shape) if d == 1]
    return g.add(op, [a, g.numbers(ones[:g.integer(1, len(ones))], 0)]) if ones else g.add(op, [a])


@operator("Unsqueeze")
def unsqueeze(g, op):
    a = g.any("fi")
    if a.rank > 4:
        return None
    n = g.integer(1, 2)
    axes = sorted(int(i) for i in g.rng.permutation(a.rank + n)[:n])
    return g.add(op, [a, g.numbers(axes, 0)])


@operator("Expand")
def expand(g, op):
    a = g.any("fi")
    dims = [g.pick([1, 2, 3, 8]) if d == 1 and g.chance(0.7) else g.pick([1, d]) for d in a.shape]
    if g.chance(0.3) and len(dims) < 5:
        dims = [g.integer(1, 3)] + dims
    return g.add(op, [a, g.numbers(dims)])


@operator("Tile")
def tile(g, op):
    a = g.any("fi")
    return g.add(op, [a, g.numbers([g.pick([1, 1, 2, 3]) for _ in a.shape])])


@operator("Concat")
def concat(g, op):
    a = g.any("fi", low_rank=1)
    axis = axis_of(g, a)
    rest = [i for i in range(a.rank) if i != axis % a.rank]
    parts = [a]
    for _ in range(g.integer(0, 3)):
        o = g.find(lambda v: v.dtype == a.dtype and v.rank == a.rank and all(v.shape[i] == a.shape[i] for i in rest))
        shape = [g.pick([1, 2, 3, 8]) if i == axis % a.rank else d for i, d in enumerate(a.shape)]
        parts.append(o if o is not None and g.chance(0.6) else g.fresh(shape, a.dtype))
    return g.add(op, [parts[i] for i in g.rng.permutation(len(parts))], axis=axis)


@operator("Split")
def split(g, op):
    a = g.any("fi", low_rank=1)
    axis = axis_of(g, a)
    n = a.shape[axis]
    if n < 2:
        return None
    parts = g.integer(2, min(n, 4))
    if g.chance(0.4):
        return g.add(op, [a], parts, axis=axis, num_outputs=parts)
    cuts = sorted(int(c) for c in g.rng.permutation(n - 1)[:parts - 1] + 1)
    sizes = np.diff([0] + cuts + [n])
    return g.add(op, [a, g.numbers(sizes)], parts, axis=axis)


@operator("Slice")
def slice_(g, op):
    a = g.any("fi", low_rank=1)
    axes = sorted({x % a.rank for x in axes_of(g, a)})
    starts, ends, steps = [], [], []
    for x in axes:
        n = a.shape[x]
        step = g.pick([1, 1, 1, 2, 3, -1, -2])
        far = [2**31 - 1, 2**62] if step > 0 else [-2**31, -2**62]
        s, e = g.integer(-n - 1, n + 1), g.pick([g.integer(-n - 1, n + 1), n, *far])
        starts.append(s)
        ends.append(e)
        steps.append(step)
    with_steps = any(s != 1 for s in steps) or g.chance(0.3)
    return g.add(op, [a, g.numbers(starts), g.numbers(ends), g.numbers(axes, 0.02)] + ([g.numbers(steps, 0.02)] if with_steps else []))


@operator("Pad")
def pad(g, op):
    a = g.any("fi", low_rank=1)
    mode = g.pick(["constant", "constant", "reflect", "edge", "wrap"])
    most = [3 if mode in ("constant", "edge") else max(0, min(3, d - 1)) for d in a.shape]
    pads = [g.integer(0, m) if g.chance(0.6) else 0 for m in most * 2]
    if mode == "constant" and g.chance(0.2):
        pads = [p if g.chance(0.7) else -min(1, max(d - 1, 0)) for p, d in zip(pads, a.shape * 2)]
    value = g.data((), a.dtype) if mode == "constant" and g.chance(0.5) else None
    return g.add(op, [a, g.numbers(pads)] + ([value] if value is not None else []), mode=mode)


@operator("Shape")
def shape(g, op):
    a = g.any("fib")
    s = g.add(op, [a], start=g.integer(-a.rank, a.rank) if g.chance(0.3) else None)
    if s and s[0].array.size and g.chance(0.6):  # arithmetic on a dimension, and a tensor of that size
        d = g.add("Gather", [s[0], np.asarray(g.integer(0, s[0].array.size - 1))], axis=0)
        d = d and g.add(g.pick(["Add", "Mul"]), [d[0], np.asarray(g.integer(1, 2))])
        d = d and g.add("Unsqueeze", [d[0], np.asarray([0])])
        if d and 0 < d[0].array[0] < 200:
            return g.add("ConstantOfShape", [d[0]], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.5]))
    return s


@operator("Size")
def size(g, op):
    return g.add(op, [g.any("fib")])


@operator("ConstantOfShape")
def constant_of_shape(g, op):
    return g.add(op, [g.numbers(g.shape(g.integer(0, 3), 2000), 0.3)], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.5]))


@operator("Range")
def range_(g, op):
    t = np.dtype(g.pick(["int64", "int64", "int32", "float32"]))
    start, step = g.integer(-5, 5), g.pick([1, 2, 3, -1, -2])
    limit = start + step * g.integer(-1, 30) + g.integer(-1, 1)
    if t == np.int64:
        return g.add(op, [g.numbers(v, 0.3) for v in (start, limit, step)])
    return g.add(op, [np.asarray(v, t) for v in (start, limit, step)])


@operator("EyeLike")
def eye(g, op):
    return g.add(op, [g.any("f", rank=2)], k=g.integer(-2, 2))


@operator("Trilu")
def trilu(g, op):
    a = g.any("fi", low_rank=2)
    return g.add(op, [a, np.asarray(g.integer(-3, 3))] if g.chance(0.6) else [a], upper=g.integer(0, 1))


@operator("DepthToSpace")
def depth_to_space(g, op):
    b = g.pick([2, 3])
    a = g.any("f", rank=4)
    if a.shape[1] % (b * b):
        a = g.fresh((g.integer(1, 2), b * b * g.integer(1, 4), g.integer(1, 8), g.integer(1, 8)), "float32")
    return g.add(op, [a], blocksize=b, mode=g.pick(["DCR", "CRD"]))


@operator("SpaceToDepth")
def space_to_depth(g, op):
    b = g.pick([2, 3])
    return g.add(op, [g.fresh((g.integer(1, 2), g.integer(1, 8), b * g.integer(1, 6), b * g.integer(1, 6)), "float32")], blocksize=b)


@operator("ReverseSequence")
def reverse_sequence(g, op):
    a = g.any("f", low_rank=2)
    batch = g.integer(0, 1)
    n, time = a.shape[batch], a.shape[1 - batch]
    return time and g.add(op, [a, g.numbers([g.integer(1, time) for _ in range(n)])], batch_axis=batch, time_axis=1 - batch)


# ---- indices ----

def indices(g, n, shape):
    a = g.rng.integers(-n, n, shape).astype(g.pick(["int64", "int64", "int32"]))
    return g.constant(a) if g.chance(0.4) else g.input(a)


@operator("Gather")
def gather(g, op):
    a = g.any("fib", low_rank=1)
    axis = axis_of(g, a)
    return a.shape[axis] and g.add(op, [a, indices(g, a.shape[axis], g.shape(g.integer(0, 2), 60))], axis=axis)


@operator("GatherElements")
def gather_elements(g, op):
    a = g.any("fi", low_rank=1)
    axis = axis_of(g, a)
    dims = [g.integer(1, 9) if i == axis % a.rank else g.integer(min(1, d), d) for i, d in enumerate(a.shape)]
    return a.shape[axis] and g.add(op, [a, indices(g, a.shape[axis], dims)], axis=axis)


@operator("GatherND")
def gather_nd(g, op):
    a = g.any("fi", low_rank=1)
    k = g.integer(1, a.rank)
    if 0 in a.shape[:k]:
        return None
    return g.add(op, [a, g.constant(np.stack([g.rng.integers(-d, d, (5,)) for d in a.shape[:k]], -1).astype(np.int64))])


@operator("ScatterElements")
def scatter_elements(g, op):
    a = g.any("f", low_rank=1)
    axis = axis_of(g, a)
    n = a.shape[axis]
    reduction = g.pick(["none", "add", "mul", "max", "min"])
    dims = [g.integer(min(1, d), d) for d in a.shape]
    if not n or 0 in dims:
        return None
    ids = np.argsort(g.rng.random([n if i == axis % a.rank else d for i, d in enumerate(dims)]), axis=axis)
    ids = np.take(ids, range(dims[axis]), axis).astype(np.int64)
    v = g.input(ids) if g.chance(0.5) else g.constant(ids)
    return g.add(op, [a, v, g.fresh(ids.shape, a.dtype)], axis=axis, reduction=reduction)


@operator("ScatterND")
def scatter_nd(g, op):
    a = g.any("f", low_rank=1)
    if 0 in a.shape:
        return None
    k = g.integer(1, a.rank)
    places = np.stack(np.unravel_index(g.rng.permutation(int(np.prod(a.shape[:k])))[:6], a.shape[:k]), -1).astype(np.int64)
    v = g.input(places) if g.chance(0.5) else g.constant(places)
    return g.add(op, [a, v, g.fresh((len(places),) + a.shape[k:], a.dtype)], reduction=g.pick(["none", "add", "mul", "max", "min"]))


@operator("OneHot")
def one_hot(g, op):
    depth = g.integer(1, 9)
    ids = g.rng.integers(-depth, depth, g.shape(g.integer(0, 2), 60)).astype(np.int64)
    i = g.input(ids) if g.chance(0.5) else g.constant(ids)
    return g.add(op, [i, g.numbers(depth), np.asarray([0.5, 3], np.float32)], axis=g.integer(-i.rank - 1, i.rank))


@operator("Compress")
def compress(g, op):
    a = g.any("f", low_rank=1)
    axis = axis_of(g, a)
    return g.add(op, [a, g.fresh((g.integer(1, max(a.shape[axis], 1)),), bool)], axis=axis)


@operator("NonZero")
def non_zero(g, op):
    return g.add(op, [g.any("fib", low_rank=1, exact=True)])


@operator("Unique")
def unique(g, op):
    a = g.any("fi", low_rank=1, exact=True)
    return g.add(op, [a], g.integer(1, 4), axis=g.integer(0, a.rank - 1) if g.chance(0.3) else None, sorted=g.integer(0, 1))


# ---- networks ----

def image(g, spatial, channels=None):
    def test(v):
        return v.dtype == np.float32 and v.rank == spatial + 2 and min(v.shape) > 0 and (channels is None or v.shape[1] == channels)
    v = g.find(test) if g.chance(0.6) else None
    if v is not None:
        return v
    c = channels or g.pick([1, 2, 3, 4, 8, 12, 16, 24, 32, 33, 40])
    extents = {1: [5, 9, 16, 30, 64], 2: [1, 4, 7, 8, 13, 16], 3: [2, 3, 5]}[spatial]
    return g.fresh((g.pick([1, 1, 1, 2, 3]), c) + tuple(g.pick(extents) for _ in range(spatial)), "float32", -2, 2)


def distinct_image(g, shape):
    """All elements differ by 1/8 at least: where it matters which one is the largest, of equal ones either may be meant, and of what other
    nodes compute rounding decides."""
    x = g.input((g.rng.permutation(int(np.prod(shape))) / 8).astype(np.float32).reshape(shape))
    x.fixed = True
    return x


def window(g, v, spatial, pooling=False):
    k = [g.pick([1, 1, 2, 3, 3, 5]) for _ in range(spatial)]
    if pooling:
        k = [min(n, d) for n, d in zip(k, v.shape[2:])]
    attrs = {"strides": [g.pick([1, 1, 2, 3]) for _ in k] if g.chance(0.6) else None,
             "dilations": [g.pick([1, 1, 2]) for _ in k] if g.chance(0.3) else None}
    if g.chance(0.25):
        attrs["auto_pad"] = g.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
        attrs["dilations"] = None
        if attrs["strides"]:  # of windows with gaps ONNX Runtime pads less than nothing, which moves them
            attrs["strides"] = [min(s, n) for s, n in zip(attrs["strides"], k)]
    else:
        attrs["pads"] = [g.integer(0, max(0, n - 1) if pooling else n) for n in k * 2] if g.chance(0.7) else None
    return k, attrs


@operator("Conv")
def conv(g, op):
    spatial = g.pick([1, 2, 2, 2, 2, 3])
    x = image(g, spatial)
    c = x.shape[1]
    groups = g.pick([1, 1, 1, c] + [d for d in (2, 3, 4) if c % d == 0])
    out = groups * g.pick([1, 1, 2, 3]) if groups > 1 else g.pick([1, 3, 8, 16, 17, 24, 32])
    k, attrs = window(g, x, spatial)
    w = g.data((out, c // groups) + tuple(k), "float32", -1, 1)
    w = g.constant(w) if g.chance(0.85) else g.input(w)
    return g.add(op, [x, w] + ([weight(g, (out,))] if g.chance(0.6) else []), group=groups, **attrs)


@operator("ConvTranspose")
def conv_transpose(g, op):
    spatial = g.pick([1, 2, 2, 2, 3])
    x = image(g, spatial)
    c = x.shape[1]
    groups = g.pick([1, 1] + [d for d in (2, 4) if c % d == 0])
    k, attrs = window(g, x, spatial)
    attrs.pop("auto_pad", None)
    w = weight(g, (c, g.integer(1, 6)) + tuple(k), low=-1, high=1)
    if attrs.get("strides") and g.chance(0.4):
        attrs["output_padding"] = [g.integer(0, s - 1) for s in attrs["strides"]]
    return g.add(op, [x, w] + ([weight(g, (w.shape[1] * groups,))] if g.chance(0.5) else []), group=groups, **attrs)


@operator("MaxPool", "AveragePool", "LpPool")
def pool(g, op):
    spatial = g.pick([1, 2, 2, 2, 3])
    x = image(g, spatial)
    k, attrs = window(g, x, spatial, True)
    if op == "LpPool":
        attrs["p"] = g.pick([1, 2, 3])
    if op == "AveragePool":
        attrs["count_include_pad"] = g.integer(0, 1)
    return g.add(op, [x], exact=op == "MaxPool", kernel_shape=k, ceil_mode=g.integer(0, 1), **attrs)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g, op):
    return g.add(op, [image(g, g.pick([1, 2, 2, 3]))], exact=op == "GlobalMaxPool")


@operator("BatchNormalization")
def batch_norm(g, op):
    x = image(g, g.pick([1, 2, 2]))
    c = (x.shape[1],)
    return g.add(op, [x, weight(g, c), weight(g, c), weight(g, c), weight(g, c, low=1, high=3)], exact=False)


@operator("InstanceNormalization")
def instance_norm(g, op):
    x = image(g, g.pick([1, 2, 2]))
    c = (x.shape[1],)
    return g.add(op, [x, weight(g, c), weight(g, c)], exact=False, epsilon=0.01)


@operator("GroupNormalization")
def group_norm(g, op):
    x = image(g, 2)
    c = x.shape[1]
    groups = g.pick([d for d in (1, 2, 3, 4, 8) if c % d == 0])
    return g.add(op, [x, weight(g, (c,)), weight(g, (c,))], exact=False, num_groups=groups, epsilon=0.01)


@operator("LayerNormalization", "RMSNormalization")
def layer_norm(g, op):
    x = g.any("f", low_rank=1)
    axis = g.integer(0, x.rank - 1)
    scale = [weight(g, x.shape[axis:], x.dtype)]
    if op == "LayerNormalization" and g.chance(0.5):
        scale.append(weight(g, x.shape[axis:], x.dtype))
    return g.add(op, [x] + scale, exact=False, axis=axis - x.rank if g.chance(0.5) else axis, epsilon=0.01)


@operator("LRN")
def lrn(g, op):
    return g.add(op, [image(g, 2)], exact=False, size=g.pick([1, 3, 5]), alpha=0.01)


@operator("LpNormalization")
def lp_norm(g, op):
    a = g.any("f", low_rank=1, exact=True)  # of values next to zero the sign remains
    return g.add(op, [a], exact=False, p=g.integer(1, 2), axis=axis_of(g, a))


@operator("MeanVarianceNormalization")
def mvn(g, op):
    return g.add(op, [image(g, 2)], exact=False)


@operator("MatMul")
def matmul(g, op):
    a = g.any("f", low_rank=1)
    k = a.shape[-1]
    b = g.find(lambda v: v.dtype == a.dtype and v.rank > 1 and v.shape[-2] == k) if g.chance(0.3) else None
    if b is None:
        batch = [1 if g.chance(0.4) else d for d in a.shape[:-2]][g.integer(0, max(a.rank - 2, 0)):]
        b = g.fresh(tuple(batch) + (k, g.pick([1, 2, 8, 16, 17, 33])), a.dtype, -1, 1)
    return g.add(op, [a, b])


@operator("Gemm")
def gemm(g, op):
    a = g.any("f", rank=2)
    ta, tb = g.integer(0, 1), g.integer(0, 1)
    k, m = (a.shape[0], a.shape[1]) if ta else (a.shape[1], a.shape[0])
    n = g.pick([1, 3, 8, 16, 20])
    b = g.fresh((n, k) if tb else (k, n), a.dtype, -1, 1)
    c = [weight(g, g.pick([(n,), (1, n), (m, 1), (m, n), ()]), a.dtype)] if g.chance(0.7) else []
    return g.add(op, [a, b] + c, transA=ta, transB=tb, alpha=g.pick([1.0, 0.5]), beta=g.pick([1.0, 2.0]))


@operator("Einsum")
def einsum(g, op):
    b, i, j, k = (g.integer(1, 8) for _ in range(4))
    text, x, y = g.pick([("bij,bjk->bik", (b, i, j), (b, j, k)), ("ij,jk", (i, j), (j, k)), ("bij,bkj->bik", (b, i, j), (b, k, j)),
                         ("ij,j->i", (i, j), (j,)), ("...ij,...jk->...ik", (b, i, j), (j, k)), ("bhd,bd->bh", (b, i, j), (b, j))])
    a, b = g.fresh(x, "float32"), g.fresh(y, "float32")
    a.fixed = b.fixed = True  # a label with extents 1 and n is taken
    return g.add(op, [a, b], equation=text)


@operator("LSTM", "GRU", "RNN")
def recurrent(g, op):
    t, b, i, h = g.integer(1, 6), g.integer(1, 3), g.integer(1, 8), g.pick([1, 3, 8, 16])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    direction = g.pick(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    x = g.fresh((t, b, i), "float32", -1, 1)
    ins = [x, g.data((d, gates * h, i), "float32", -1, 1), g.data((d, gates * h, h), "float32", -1, 1)]
    ins.append(weight(g, (d, 2 * gates * h), low=-1, high=1) if g.chance(0.5) else None)
    lengths = np.sort(g.rng.integers(1, t + 1, b))[::-1].astype(np.int32)
    ins.append(g.input(lengths) if g.chance(0.3) else None)
    ins.append(weight(g, (d, b, h), low=-1, high=1) if g.chance(0.3) else None)
    return g.add(op, ins, 3 if op == "LSTM" else 2, exact=False, hidden_size=h, direction=direction,
                 linear_before_reset=g.integer(0, 1) if op == "GRU" else None)


@operator("Resize")
def resize(g, op):
    x = image(g, g.pick([1, 2, 2]))
    mode = g.pick(["nearest", "linear", "cubic"])
    by_size = g.chance(0.5)
    how = g.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    attrs = {"mode": mode, "coordinate_transformation_mode": how}
    if mode == "nearest":
        attrs["nearest_mode"] = g.pick(["floor", "round_prefer_floor"])
        attrs["coordinate_transformation_mode"] = how = g.pick(["asymmetric", "half_pixel"])
    if mode == "cubic" and x.rank != 4:
        attrs["mode"] = "linear"
    if by_size:
        return g.add(op, [x, None, None, g.numbers(list(x.shape[:2]) + [g.pick([n, 2 * n, 2 * n, n + 3]) for n in x.shape[2:]])],
                     exact=mode == "nearest", **attrs)
    # with corners aligned, ONNX counts in the length before it is rounded down, ONNX Runtime after
    scales = [1, 2] if how == "align_corners" else [1, 2, 2, 1.5, 0.5]
    return g.add(op, [x, None, np.asarray([1, 1] + [g.pick(scales) for _ in x.shape[2:]], np.float32)],
                 exact=mode == "nearest", **attrs)


@operator("GridSample")
def grid_sample(g, op):
    x = image(g, 2)
    grid = g.fresh((x.shape[0], g.integer(1, 6), g.integer(1, 6), 2), "float32", -1, 1)
    return g.add(op, [x, grid], exact=False, mode=g.pick(["linear", "linear", "cubic"]), padding_mode=g.pick(["zeros", "border", "reflection"]),
                 align_corners=g.integer(0, 1))


@operator("RoiAlign")
def roi_align(g, op):
    x = image(g, 2)
    n = g.integer(1, 3)
    corner = g.data((n, 2), "float32", 0, 3)
    rois = np.concatenate([corner, corner + g.data((n, 2), "float32", 1, 4)], 1)
    return g.add(op, [x, g.input(rois), g.constant(g.rng.integers(0, x.shape[0], (n,)).astype(np.int64))], exact=False,
                 output_height=g.integer(1, 4), output_width=g.integer(1, 4), sampling_ratio=g.integer(0, 2), spatial_scale=1.0)


@operator("NonMaxSuppression")
def nms(g, op):
    n = g.integer(1, 12)
    corner = g.data((1, n, 2), "float32", 0, 6)
    boxes = np.concatenate([corner, corner + g.data((1, n, 2), "float32", 1, 4)], 2)
    scores = (g.rng.permutation(2 * n).reshape(1, 2, n) / 64).astype(np.float32)
    return g.add(op, [g.input(boxes), g.input(scores), np.asarray([g.integer(1, 5)]), np.asarray([0.4], np.float32)])


@operator("Col2Im")
def col2im(g, op):
    k = (g.integer(1, 3), g.integer(1, 3))
    h, w = g.integer(3, 8), g.integer(3, 8)
    c, blocks = g.integer(1, 3), (h - k[0] + 1) * (w - k[1] + 1)
    return g.add(op, [g.fresh((1, c * k[0] * k[1], blocks), "float32"), np.asarray([h, w]), np.asarray(k)])


@operator("CenterCropPad")
def center_crop_pad(g, op):
    a = g.any("f", low_rank=1)
    return g.add(op, [a, g.numbers([max(1, d + g.integer(-3, 3)) for d in a.shape])])


@operator("DFT")
def dft(g, op):
    x = g.fresh((1, g.pick([4, 5, 8, 16]), 1), "float32")
    return g.add(op, [x, None, np.asarray(1)], exact=False, onesided=g.integer(0, 1))


@operator("Det")
def det(g, op):
    n = g.integer(1, 5)
    return g.add(op, [g.fresh((g.integer(1, 4), n, n), "float32", -1, 1)], exact=False)


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(g, op):
    n, c = g.integer(1, 6), g.integer(2, 8)
    ins = [g.fresh((n, c), "float32"), g.input(g.rng.integers(0, c, (n,)).astype(np.int64))]
    for v in ins:
        v.fixed = True  # targets and weights are not counted
    return g.add(op, ins + ([g.data((c,), "float32", 1, 3)] if g.chance(0.4) else []), exact=False, reduction=g.pick(["none", "mean", "sum"]))


@operator("STFT")
def stft(g, op):
    n, length = g.pick([16, 24, 33]), g.pick([4, 8, 9])
    window = g.data((length,), "float32", 0, 1) if g.chance(0.5) else None
    return g.add(op, [g.fresh((g.integer(1, 2), n, 1), "float32"), g.numbers(g.integer(1, 5), 0.2), window, g.numbers(length, 0.1)], exact=False,
                 onesided=g.integer(0, 1))


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window_function(g, op):
    return g.add(op, [np.asarray(g.integer(2, 20))], exact=False, periodic=g.integer(0, 1))


@operator("MelWeightMatrix")
def mel(g, op):
    return g.add(op, [np.asarray(v, np.int64) for v in (g.integer(2, 8), g.pick([16, 32]), 8000)] +
                 [np.asarray(v, np.float32) for v in (0, g.pick([2000, 4000]))], exact=False)


@operator("MaxUnpool")
def max_unpool(g, op):
    x = distinct_image(g, (g.integer(1, 3), g.pick([1, 2, 3, 8])) + tuple(g.pick([1, 4, 7, 8, 13]) for _ in range(2)))
    k = [min(2, d) for d in x.shape[2:]]
    y = g.add("MaxPool", [x], 2, kernel_shape=k, strides=k)
    for v in y or []:
        v.fixed = True
    return y and g.add(op, y, kernel_shape=k, strides=k)


@operator("MaxRoiPool")
def max_roi_pool(g, op):
    x = image(g, 2)
    n = g.integer(1, 3)
    corner = g.data((n, 2), "float32", 0, 3)
    places = np.concatenate([np.zeros((n, 1), np.float32), np.floor(corner), np.floor(corner) + 2], 1).astype(np.float32)
    return g.add(op, [x, g.input(places)], pooled_shape=[g.integer(1, 3), g.integer(1, 3)], spatial_scale=1.0)


@operator("DeformConv")
def deform_conv(g, op):
    n, c, h, w, out, k = 1, g.pick([1, 2, 4]), g.integer(3, 7), g.integer(3, 7), g.integer(1, 4), g.pick([1, 2, 3])
    oh, ow = h - k + 1, w - k + 1
    ins = [g.fresh((n, c, h, w), "float32", -2, 2), g.data((out, c, k, k), "float32", -1, 1), g.fresh((n, 2 * k * k, oh, ow), "float32", -1, 1)]
    ins += [g.data((out,), "float32") if g.chance(0.5) else None, g.fresh((n, k * k, oh, ow), "float32", 0, 1) if g.chance(0.5) else None]
    return g.add(op, ins, exact=False)


@operator("AffineGrid")
def affine_grid(g, op):
    n, d, corners = g.integer(1, 3), g.pick([2, 2, 3]), g.integer(0, 1)
    # with corners aligned, one place is 0 for PyTorch, -1 for ONNX's reference, and 1 for ONNX Runtime
    size = [n, g.integer(1, 3)] + [g.integer(1 + corners, 7) for _ in range(d)]
    return g.add(op, [g.fresh((n, d, d + 1), "float32", -1, 1), g.numbers(size, 0 if corners else 0.15)], exact=False, align_corners=corners)


@operator("Swish")
def swish(g, op):
    return g.add(op, [g.any("f")], exact=False, alpha=g.pick([None, 0.5, 1.5]))


@operator("CumProd")
def cumulative_product(g, op):
    a = g.add("Tanh", [g.any("f", low_rank=1)], exact=False)
    return a and g.add(op, [a[0], np.asarray(axis_of(g, a[0]))], exact=False, exclusive=g.integer(0, 1), reverse=g.integer(0, 1))


@operator("Attention")
def attention(g, op):
    b, kv, d, dv, s, t = g.integer(1, 2), g.integer(1, 3), g.pick([4, 8, 16]), g.pick([4, 8]), g.integer(1, 9), g.integer(1, 17)
    h = kv * g.integer(1, 2)
    q, k, v = ((b, h, s, d), (b, kv, t, d), (b, kv, t, dv))
    heads = {}
    if g.chance(0.3):
        q, k, v = (b, s, h * d), (b, t, kv * d), (b, t, kv * dv)
        heads = {"q_num_heads": h, "kv_num_heads": kv}
    ins = [g.fresh(x, "float32", -1, 1) for x in (q, k, v)]
    if g.chance(0.4):
        ins.append(g.fresh((s, t), g.pick(["float32", "bool"]), -1, 1))
    return g.add(op, ins, exact=False, is_causal=g.integer(0, 1) if len(ins) < 4 else None, scale=g.pick([None, 0.5]),
                 softcap=g.pick([None, None, 2.0]), **heads)


@operator("RotaryEmbedding")
def rotary(g, op):
    b, h, s, d = g.integer(1, 2), g.integer(1, 3), g.integer(1, 6), g.pick([4, 8])
    half = g.data((9, d // 2), "float32", -1, 1)
    return g.add(op, [g.fresh((b, h, s, d), "float32"), half, g.data((9, d // 2), "float32", -1, 1), g.input(g.rng.integers(0, 9, (b, s)))],
                 interleaved=g.integer(0, 1))


@operator("TensorScatter")
def tensor_scatter(g, op):
    b, h, t, d = g.integer(1, 2), g.integer(1, 3), g.integer(3, 9), g.integer(1, 5)
    n = g.integer(1, 3)
    at = g.input(g.rng.integers(0, t - n + 1, (b,)).astype(np.int64))
    return g.add(op, [g.fresh((b, h, t, d), "float32"), g.fresh((b, h, n, d), "float32"), at], mode=g.pick(["linear", "circular"]))


@operator("BitCast")
def bit_cast(g, op):
    return g.add(op, [g.fresh(g.shape(), "int32")], to=TensorProto.UINT32)


@operator("LinearAttention")
def linear_attention(g, op):
    b, h, s, d, dv = g.integer(1, 2), g.integer(1, 3), g.integer(1, 6), g.pick([4, 8]), g.pick([4, 8])
    ins = [g.fresh((b, s, h * x), "float32", -1, 1) for x in (d, d, dv)]
    return g.add(op, ins, 2, exact=False, q_num_heads=h, kv_num_heads=h, update_rule="linear")


@operator("CausalConvWithState")
def causal_conv(g, op):
    b, c, s, k = g.integer(1, 2), g.integer(1, 8), g.integer(1, 9), g.integer(1, 4)
    ins = [g.fresh((b, c, s), "float32"), g.data((c, 1, k), "float32", -1, 1), g.data((c,), "float32") if g.chance(0.5) else None]
    return g.add(op, ins, 2, exact=False, activation=g.pick(["none", "silu"]))


@operator("Dropout")
def dropout(g, op):
    return g.add(op, [g.any("f"), np.asarray(0.5, np.float32), np.asarray(False)])


@operator("Constant")
def constant(g, op):
    return g.add(op, [], value_ints=[g.integer(-5, 5) for _ in range(g.integer(1, 4))])


@operator("OptionalHasElement")
def has_element(g, op):
    return g.add(op, [g.any("f")])


@operator("TfIdfVectorizer")
def tf_idf(g, op):
    ids = g.input(g.rng.integers(0, 6, g.pick([(6,), (2, 5)])).astype(np.int64))
    return g.add(op, [ids], exact=False, mode=g.pick(["TF", "IDF", "TFIDF"]), min_gram_length=1, max_gram_length=2, max_skip_count=g.integer(0, 2),
                 ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4], pool_int64s=[1, 2, 4, 1, 2, 3, 4], weights=[1.0, 0.5, 2.0, 1.0, 0.25])


# ---- quantized ----

@operator("QuantizeLinear")
def quantize(g, op):
    a = g.any("f", exact=True)
    if a.dtype != np.float32:
        return None
    zero = np.asarray(g.integer(0, 5), g.pick(["uint8", "int8"]))
    q = g.add(op, [a, np.asarray(g.pick([0.25, 0.5, 1]), np.float32), zero])
    return q and g.add("DequantizeLinear", [q[0], np.asarray(0.5, np.float32), zero])


@operator("DequantizeLinear")
def dequantize(g, op):
    return g.add(op, [g.fresh(g.shape(), g.pick(["uint8", "int8"])), np.asarray(0.25, np.float32)])


@operator("DynamicQuantizeLinear")
def dynamic_quantize(g, op):
    q = g.add(op, [g.fresh(g.shape(g.integer(1, 3)), "float32")], 3, exact=False)
    return q and g.add("DequantizeLinear", [q[0], q[1], q[2]], exact=False)


@operator("MatMulInteger")
def matmul_integer(g, op):
    m, k, n = (g.integer(1, 20) for _ in range(3))
    return g.add(op, [g.fresh((m, k), "uint8"), g.fresh((k, n), g.pick(["uint8", "int8"])), np.asarray(2, np.uint8)])


@operator("ConvInteger")
def conv_integer(g, op):
    c = g.integer(1, 8)
    return g.add(op, [g.fresh((1, c, 7, 7), "uint8"), g.data((g.integer(1, 8), c, 3, 3), "uint8"), np.asarray(3, np.uint8)], pads=[1, 1, 1, 1])


@operator("QLinearConv")
def qlinear_conv(g, op):
    c, out = g.integer(1, 8), g.integer(1, 8)
    s = [np.asarray(v, np.float32) for v in (0.5, 0.25, 2.0)]
    z = [np.asarray(v, np.uint8) for v in (3, 2, 100)]
    return g.add(op, [g.fresh((1, c, 7, 7), "uint8"), s[0], z[0], g.data((out, c, 3, 3), "uint8"), s[1], z[1], s[2], z[2]], pads=[1, 1, 1, 1])


@operator("QLinearMatMul")
def qlinear_matmul(g, op):
    m, k, n = (g.integer(1, 20) for _ in range(3))
    s = [np.asarray(v, np.float32) for v in (0.5, 0.25, 2.0)]
    z = [np.asarray(v, np.uint8) for v in (3, 2, 100)]
    return g.add(op, [g.fresh((m, k), "uint8"), s[0], z[0], g.fresh((k, n), "uint8"), s[1], z[1], s[2], z[2]])


# ---- control flow ----

@operator("If")
def if_(g, op):
    a = g.any("f", low_rank=1)
    c = g.input(g.data((), bool)) if g.chance(0.7) else g.constant(g.data((), bool))
    branches = {}
    for name, inner in (("then_branch", "Exp"), ("else_branch", "Neg")):
        nodes = [helper.make_node("Tanh", [a.name], [f"{name}_t"]), helper.make_node(inner, [f"{name}_t"], [f"{name}_y"])]
        branches[name] = subgraph(name, nodes, [], [(f"{name}_y", a.dtype, a.rank)])
    return add_with_captured(g, op, [c], [a], 1, **branches)


@operator("Loop")
def loop(g, op):
    a = g.any("f", low_rank=1)
    nodes = [helper.make_node("Tanh", ["s"], ["t"]), helper.make_node("Add", ["t", a.name], ["s2"]),
             helper.make_node("Identity", ["go"], ["go2"]), helper.make_node("Identity", ["t"], ["row"])]
    body = subgraph("body", nodes, [("i", np.int64, 0), ("go", bool, 0), ("s", a.dtype, a.rank)],
                    [("go2", bool, 0), ("s2", a.dtype, a.rank), ("row", a.dtype, a.rank)])
    count = g.numbers(g.integer(2, 5), 0.5, near=True)  # other inputs may take 1 off; ONNX Runtime forgets the extents of what no iteration makes
    return add_with_captured(g, op, [count, g.constant(np.asarray(True)), a], [a], 2, body=body)


@operator("Scan")
def scan(g, op):
    a = g.any("f", low_rank=2)
    nodes = [helper.make_node("Add", ["s", "x"], ["u"]), helper.make_node("Tanh", ["u"], ["s2"]), helper.make_node("Neg", ["s2"], ["y"])]
    body = subgraph("body", nodes, [("s", a.dtype, a.rank - 1), ("x", a.dtype, a.rank - 1)],
                    [("s2", a.dtype, a.rank - 1), ("y", a.dtype, a.rank - 1)])
    state = g.fresh(a.shape[1:], a.dtype)
    state.fixed = True  # a state may not change its shape; ONNX Runtime lets one of extent 1 grow
    return add_with_captured(g, op, [state, a], [], 2, body=body, num_scan_inputs=1)


def add_with_captured(g, op, inputs, captured, outputs, **attrs):
    """A node whose bodies use outer values: ONNX Runtime runs it alone with these as inputs of the graph."""
    real, g.run_alone = g.run_alone, lambda node, operands: Graph_run(g, real, node, operands, captured)
    try:
        out = g.add(op, inputs, outputs, exact=False, **attrs)
    finally:
        del g.run_alone
    if out:
        g.used.update(v.name for v in captured)
    return out


def Graph_run(g, real, node, operands, captured):
    return real(node, list(operands) + [v for v in captured if all(v is not o for o in operands)])
