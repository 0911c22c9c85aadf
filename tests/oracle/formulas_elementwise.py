# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators."""
from oracle import *

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


UNARY_FLOAT = {
    "acos": (np.arccos, -1, 1), "acosh": (np.arccosh, 1, 9), "asin": (np.arcsin, -1, 1), "asinh": (np.arcsinh, -9, 9),
    "atan": (np.arctan, -9, 9), "atanh": (np.arctanh, -1, 1), "cos": (np.cos, -9, 9), "cosh": (np.cosh, -5, 5),
    "erf": (erf, -3, 3), "exp": (np.exp, -9, 9), "log": (np.log, 0.01, 9), "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 9),
    "sigmoid": (sigmoid, -9, 9), "sin": (np.sin, -9, 9), "sinh": (np.sinh, -5, 5), "sqrt": (np.sqrt, 0, 9),
    "tan": (np.tan, -1.4, 1.4), "tanh": (np.tanh, -5, 5),
}


@oracle(*UNARY_FLOAT)
def unary_float(d, op):
    f, lo, hi = UNARY_FLOAT[op]
    x = d.floats(d.shape(), d.dtype(FLOATS), lo, hi)
    if x.dtype == "float16" and op == "atanh":  # steep at the ends
        x = Tensor(x.a * 0.9, x.dtype)
    return Case(op, [x], out(f(wide(x)), x.dtype))


UNARY = {"abs": np.abs, "ceil": np.ceil, "floor": np.floor, "negative": np.negative, "round": np.rint,
         "sign": np.sign, "square": np.square, "trunc": np.trunc}


@oracle(*UNARY)
def unary(d, op):
    x = d.numbers(d.shape(), d.dtype(NUMBERS + INTS))
    if is_float(x.dtype) and d.flag():  # halves
        x = Tensor(np.rint(x.a * 2) / 2, x.dtype)
    same = not is_float(x.dtype) and op in ("ceil", "floor", "round", "trunc")
    y = x.a if same else UNARY[op](wide(x))
    return Case(op, [x], out(y, x.dtype))


@oracle("bitwise_not")
def bitwise_not(d, op):
    x = d.numbers(d.shape(), d.dtype(INTS + ["bool"]))
    return Case(op, [x], out(np.invert(x.a), x.dtype))


@oracle("logical_not")
def logical_not(d, op):
    x = d.bools(d.shape())
    return Case(op, [x], out(~x.a, "bool"))


@oracle("isfinite", "isinf", "isnan")
def checks(d, op):
    x = d.numbers(d.shape(), d.dtype(FLOATS))
    return Case(op, [x], out(getattr(np, op)(x.a), "bool"))


@oracle("clip")
def clip(d, op):
    x = d.numbers(d.shape(), d.dtype(NUMBERS))
    if is_float(x.dtype):
        lo, hi = d.one_of([-1.5, -0.5, -math.inf]), d.one_of([0.5, 1.25, math.inf])
    else:
        lo, hi = d.int(0, 3), d.int(4, 9)
    return Case(op, [x], out(np.where(np.isnan(wide(x)), x.a, np.clip(wide(x), lo, hi)), x.dtype),
                args=["x0", prim(lo, x.dtype), prim(hi, x.dtype)])


def to_integer(a, dtype):
    """Towards zero, NaN to 0, in 64 bits the nearest; of those the low bits."""
    top = 2 ** 64 - 1 if dtype == "uint64" else 2 ** 63 - 1

    def one(v):
        v = 0 if math.isnan(v) else top if v >= top else -2 ** 63 if v <= -2 ** 63 else int(v)
        return v % 2 ** np.iinfo(dtype).bits
    bits = np.array([one(float(v)) for v in np.ravel(a)], np.uint64).reshape(np.shape(a))
    return bits.astype(dtype)


@oracle("astype")
def astype(d, op):
    a = d.dtype(ALL + INTS)
    b = d.one_of(ALL + INTS)
    x = d.numbers(d.shape(), a)
    if is_float(a) and d.kind == "special":  # what no integer type holds
        x = Tensor(np.where(d.rng.random(x.shape) < 0.3, x.a * d.one_of([100, 2.0 ** 13, 2.0 ** 33, 2.0 ** 64]), x.a), a)
    y = x.a != 0 if b == "bool" else to_integer(x.a, b) if is_float(a) and not is_float(b) else x.a
    return Case(op, [x], out(y, b), attrs={"dtype": b})


# ---- two operands ----

def pair(d, dtypes, ordinary=False):
    dtype = d.dtype(dtypes)
    s = d.shape()
    make = d.small if ordinary and not is_float(dtype) and dtype != "bool" else d.numbers
    a, b = make(d.broadcast(s, full=True), dtype), make(d.broadcast(s), dtype)
    return (a, b) if d.flag() else (b, a)


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "atan2": np.arctan2, "log_add_exp": np.logaddexp,
}
COMPARE = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


@oracle(*BINARY)
def binary(d, op):
    dtypes = (INTS + ["bool"] if op.startswith("bitwise") else ["bool"] if op.startswith("logical") else
              FLOATS if op in ("atan2", "log_add_exp") else NUMBERS + INTS)
    x, y = pair(d, dtypes)
    if op in COMPARE and d.flag():
        x = Tensor(np.rint(x.a), x.dtype)
        y = Tensor(np.rint(y.a), y.dtype)
    dtype = "bool" if op in COMPARE or op.startswith("logical") else x.dtype
    if d.i in (6, 7) and not op.startswith("logical") and x.dtype != "bool":  # a scalar takes the tensor's dtype
        v = d.int(1, 3)
        scalar = np.array(v, x.a.dtype)
        return Case(op, [x], out(BINARY[op](wide(x), scalar), dtype),
                    args=["x0", prim(float(v) if is_float(x.dtype) else v, x.dtype)])
    return Case(op, [x, y], out(BINARY[op](wide(x), wide(y)), dtype))


def truncated(x, y):
    return np.trunc(x / y) if x.dtype.kind == "f" else c_divide(x, y)


def c_divide(x, y):
    """Towards zero, wrapping where the quotient does not fit."""
    q = np.floor_divide(x, y)
    r = x - q * y
    q = np.where((r != 0) & ((x < 0) != (y < 0)), q + x.dtype.type(1), q)
    return np.where((y == -1), np.negative(x), q) if x.dtype.kind == "i" else q


def c_remainder(x, y):
    return x - c_divide(x, y) * y


DIVIDE = {
    "divide": lambda x, y: x / y if x.dtype.kind == "f" else c_divide(x, y),
    "floor_divide": lambda x, y: np.floor(x / y) if x.dtype.kind == "f" else np.where(
        y == (-1 if x.dtype.kind == "i" else 0), np.negative(x), np.floor_divide(x, y)),
    "mod": lambda x, y: np.fmod(x, y) if x.dtype.kind == "f" else c_remainder(x, y),
    "floor_mod": lambda x, y: np.mod(x, y) if x.dtype.kind == "f" else np.where(y == 1, x * 0, np.mod(x, y)),
}


@oracle(*DIVIDE)
def divide(d, op):
    x, y = pair(d, NUMBERS + INTS)
    if not is_float(x.dtype):  # the least number by -1 wraps; by 0 there is 0
        minus, zero = (np.array(v).astype(y.a.dtype) for v in (-1, 0))
        y = Tensor(np.where(d.rng.random(y.shape) < 0.2, minus, y.a), y.dtype)
        y = Tensor(np.where(d.rng.random(y.shape) < 0.1, zero, y.a), y.dtype)
    else:  # quotients and remainders that every type gives exactly
        x, y = d.exact(x.shape, x.dtype), Tensor(np.exp2(d.rng.integers(-1, 2, y.shape)) *
                                                 np.where(d.rng.random(y.shape) < 0.5, -1, 1), y.dtype)
        if d.kind == "special" and op == "divide":
            x, y = d.floats(x.shape, x.dtype), d.floats(y.shape, x.dtype)
    q = DIVIDE[op](wide(x), wide(y))
    return Case(op, [x, y], out(q if is_float(x.dtype) else np.where(y.a == 0, 0, q), x.dtype))


@oracle("power")
def power(d, op):
    dtype = d.dtype(FLOATS + ["int32", "int64"])
    s = d.shape()
    if is_float(dtype):
        x, y = d.floats(s, dtype, 0.1, 3), d.floats(d.broadcast(s), dtype, -2, 2)
        if d.flag():
            x, y = d.floats(s, dtype, -3, 3), Tensor(np.rint(y.a), dtype)
    else:
        x, y = d.small(s, dtype, -3, 3), d.small(d.broadcast(s), dtype, 0, 4)
    return Case(op, [x, y], out(np.power(wide(x), wide(y)), dtype))


@oracle("left_shift", "right_shift")
def shift(d, op):
    dtype = d.dtype(INTS)
    s = d.shape()
    x = d.ints(s, dtype)
    bits = 8 * x.a.dtype.itemsize
    y = Tensor(d.rng.integers(0, bits, d.broadcast(s)), dtype)
    if d.kind == "extreme":  # counts that no bit is left of
        y = d.ints(y.shape, dtype, -bits, 2 * bits)
    inside = (y.a >= 0) & (y.a < bits)
    y_ = np.where(inside, y.a, 0)
    # of x's own type: NumPy joins uint64 and int64 to float64, which has not all of their values
    gone = np.zeros_like(x.a) if op == "left_shift" else np.where(x.a < 0, -1, 0).astype(x.a.dtype)
    return Case(op, [x, y], out(np.where(inside, getattr(np, op)(x.a, y_.astype(x.a.dtype)), gone), dtype))


@oracle("ewise_fma")
def ewise_fma(d, op):
    s, dtype = d.shape(), d.dtype(NUMBERS)
    x, y, z = (d.numbers(s, dtype) for _ in range(3))
    return Case(op, [x, y, z], out(wide(x) * wide(y) + wide(z), dtype))


@oracle("where")
def where(d, op):
    s, dtype = d.shape(), d.dtype(ALL)
    c = d.bools(d.broadcast(s))
    x, y = d.numbers(d.broadcast(s, full=True), dtype), d.numbers(d.broadcast(s), dtype)
    return Case(op, [c, x, y], out(np.where(c.a, x.a, y.a), dtype))


# ---- activations ----

def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold + 1))) / beta)


ACTIVATIONS = {
    "nn.relu": (lambda x: np.maximum(x, 0), {}), "nn.relu6": (lambda x: np.minimum(np.maximum(x, 0), 6), {}),
    "nn.leakyrelu": (lambda x, alpha: np.where(x < 0, alpha * x, x), {"alpha": 0.01}),
    "nn.elu": (lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x), {"alpha": 1.0}),
    "nn.gelu": (gelu, {}),
    "nn.gelu_tanh": (lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))), {}),
    "nn.silu": (lambda x: x * sigmoid(x), {}),
    "nn.selu": (lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), {}),
    "nn.softplus": (softplus, {"beta": 1.0, "threshold": 20.0}),
    "nn.hardsigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), {"alpha": 1 / 6, "beta": 0.5}),
    "nn.hardswish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), {}),
    "nn.mish": (lambda x: x * np.tanh(np.logaddexp(0, x)), {}), "nn.softsign": (lambda x: x / (1 + np.abs(x)), {}),
}


@oracle(*ACTIVATIONS)
def activation(d, op):
    f, defaults = ACTIVATIONS[op]
    x = d.floats(d.shape(), d.dtype(FLOATS), -8, 8)
    given = {k: round(d.rng.uniform(0.2, 2), 3) * (10 if k == "threshold" else 1) for k in defaults if d.flag()}
    return Case(op, [x], out(f(wide(x), **{**defaults, **given}), x.dtype), attrs=given)


@oracle("nn.prelu")
def prelu(d, op):
    s, dtype = d.shape(1, 4), d.dtype(FLOATS)
    axis = d.axis(len(s))
    x, alpha = d.floats(s, dtype), Tensor(d.rng.uniform(-1, 1, s[axis]), dtype)
    wanted = [1] * len(s)
    wanted[axis] = s[axis]
    return Case(op, [x, alpha], out(np.where(wide(x) < 0, wide(x) * wide(alpha).reshape(wanted), wide(x)), dtype),
                attrs={"axis": axis})


@oracle("nn.softmax", "nn.log_softmax")
def softmax(d, op):
    s, dtype = d.shape(1, 4), d.dtype(FLOATS)
    axis = d.axis(len(s))
    x = d.floats(s, dtype, -9, 9)
    if not x.a.size:
        return Case(op, [x], out(x.a, dtype), attrs={"axis": axis})
    e = wide(x) - np.max(wide(x), axis, keepdims=True)
    total = np.sum(np.exp(e), axis, keepdims=True)
    return Case(op, [x], out(np.exp(e) / total if op == "nn.softmax" else e - np.log(total), dtype), attrs={"axis": axis})
