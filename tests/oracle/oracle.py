# SPDX-License-Identifier: Apache-2.0
"""Random cases of operators, with results computed by NumPy: what the files of formulas (formulas_*.py) share.

A formula is a function that makes one case of an operator from a draw:

    @oracle("nn.relu")
    def relu(d, op):
        x = d.numbers(d.shape(0, 4), d.dtype(FLOATS))
        return Case(op, [x], out(np.maximum(wide(x), 0), x.dtype))

The draw's number decides what is asked of it (Draw.kind): ordinary tensors, an extent of zero, one element, NaN and
infinities, the extremes of integers. All randomness comes from the seed, the operator's name and the draw's number.
"""
import math
import zlib

import numpy as np

FLOATS = ["float32", "float64", "float16", "bfloat16", "float32"]
SINGLE = ["float32", "float64"]
INTS = ["int32", "int64", "int8", "uint8", "int16", "uint32", "uint16", "uint64"]
SIGNED = ["int32", "int64", "int8", "int16"]
NUMBERS = ["float32", "int32", "float64", "int64", "float16", "int8", "uint8", "bfloat16"]
ALL = NUMBERS + ["bool"]
INDEX = ["int64", "int32"]

# rtol, atol by the result's element type, where a formula says nothing else
TOLERANCE = {"float64": (1e-11, 1e-12), "float32": (3e-5, 3e-6), "float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2)}

formulas = {}


def oracle(*names):
    def add(f):
        for name in names:
            assert name not in formulas, name
            formulas[name] = f
        return f
    return add


def is_float(dtype):
    return "float" in dtype


def numpy_dtype(dtype):
    """What NumPy computes and stores this type in."""
    return np.dtype("float32" if dtype == "bfloat16" else dtype)


def round_to_bfloat(a):
    a = np.asarray(a)
    if a.dtype == np.float64:  # once only: to odd on the way
        f = a.astype(np.float32)
        bits = np.atleast_1d(f).view(np.uint32).reshape(f.shape).copy()
        inexact = np.isfinite(a) & np.isfinite(f) & (f.astype(np.float64) != a)
        away = np.abs(f.astype(np.float64)) > np.abs(a)
        bits = np.where(inexact & away, bits - 1, bits)
        bits = np.where(inexact, bits | 1, bits).astype(np.uint32)
        a = np.atleast_1d(bits).view(np.float32).reshape(f.shape)
    bits = np.atleast_1d(a.astype(np.float32)).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(a), np.float32("nan"), rounded.reshape(a.shape)).astype(np.float32)


class Tensor:
    """Elements and the name of their type; the values of a bfloat16 tensor lie in float32."""

    def __init__(self, a, dtype):
        a = np.asarray(a)
        with np.errstate(all="ignore"):
            self.a = round_to_bfloat(a) if dtype == "bfloat16" else a.astype(numpy_dtype(dtype))
        self.dtype = dtype
        self.shape = self.a.shape

    def bytes(self):
        a = np.ascontiguousarray(self.a)
        if self.dtype == "bfloat16":
            bits = np.atleast_1d(a).view(np.uint32)
            return np.where(np.isnan(np.atleast_1d(a)), 0x7FC0, bits >> 16).astype(np.uint16).tobytes()
        return a.tobytes()


def out(a, dtype):
    return Tensor(a, dtype)


def wide(t):
    """The values to compute with: floats as float64, others as they are."""
    return t.a.astype(np.float64) if is_float(t.dtype) else t.a


class Case:
    """A call of an operator: tensors, or arguments as text that name the tensors x0, x1, ...

    sym: how the extents become symbols in the second function made from the case: True: every extent but 1, equal ones
    the same symbol; a list with a tuple of names or numbers for each input; False: there is none. sym_args: arguments of that
    function, where they name symbols.
    """

    def __init__(self, op, inputs, outputs, args=None, attrs=None, tol=None, sym=True, sym_args=None):
        self.op = op
        self.inputs = inputs
        self.outputs = outputs if isinstance(outputs, list) else [outputs]
        self.args = args if args is not None else [f"x{i}" for i in range(len(inputs))]
        self.attrs = attrs or {}
        self.sym = sym
        self.sym_args = sym_args
        first = self.outputs[0].dtype
        self.tol = tol or TOLERANCE.get(first, (0, 0))

    def call(self, attrs=None, symbolic=False):
        given = self.attrs if attrs is None else attrs
        args = self.sym_args if symbolic and self.sym_args else self.args
        return f"R.{self.op}({', '.join(args + [f'{k}={value_text(v)}' for k, v in given.items()])})"

    def dims(self, symbolic):
        if not symbolic:
            return [t.shape for t in self.inputs]
        if self.sym is True:
            return [tuple(1 if n == 1 else f"n{n}" for n in t.shape) for t in self.inputs]
        return self.sym

    def function(self, name, symbolic=False, call=None):
        params = ", ".join(f"x{i}: {type_text(d, t.dtype)}"
                           for i, (t, d) in enumerate(zip(self.inputs, self.dims(symbolic))))
        symbols = sorted({n for d in self.dims(symbolic) for n in d if isinstance(n, str)})
        lines = ["    @R.function", f"    def {name}({params}):"]
        lines += [f"        {s} = T.int64()" for s in symbols]
        lines += [f"        y = {call or self.call(symbolic=symbolic)}", "        return y", ""]
        return "\n".join(lines)


def type_text(dims, dtype):
    return f"R.Tensor(({', '.join(repr(d) for d in dims)}{',' if len(dims) == 1 else ''}), \"{dtype}\")"


def value_text(v):
    if isinstance(v, str):
        return '"' + v + '"'
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(map(value_text, v)) + "]"
    if isinstance(v, np.generic):  # NumPy 2 prints the type as well
        v = v.item()
    return v.text if isinstance(v, Raw) else repr(v)


class Raw:
    """Text that stands in a call as it is."""

    def __init__(self, text):
        self.text = text


def prim(v, dtype=None):
    if isinstance(v, (bool, np.bool_)):
        return f"R.prim_value({bool(v)})"
    text = repr(float(v)) if isinstance(v, (float, np.floating)) else str(int(v))
    if text in ("inf", "-inf", "nan"):
        return f'R.prim_value(T.{dtype or "float32"}("{text}"))'
    return f'R.prim_value(T.{dtype}({text}))' if dtype else f"R.prim_value({text})"


def shape_arg(dims):
    return "R.shape([" + ", ".join(d if isinstance(d, str) else str(int(d)) for d in dims) + "])"


def symbols_of(dims, shape):
    """The extents of a shape, as the symbols that dims() makes of another (sym=True) where that has them."""
    return [f"n{n}" if n != 1 and n in shape else n for n in dims]


class Draw:
    KINDS = ["plain", "zero", "one", "special", "extreme", "plain", "plain", "plain", "special", "plain"]

    def __init__(self, op, i, seed):
        self.i = i
        self.kind = self.KINDS[i % len(self.KINDS)]
        self.rng = np.random.default_rng([seed, zlib.crc32(op.encode()), i])

    # choices
    def int(self, lo, hi):
        """lo <= result <= hi"""
        return int(self.rng.integers(lo, hi + 1))

    def flag(self, p=0.5):
        return bool(self.rng.random() < p)

    def one_of(self, list_):
        return list_[self.int(0, len(list_) - 1)]

    def turn(self, list_):
        """The draws go through the list in turn."""
        return list_[self.i % len(list_)]

    def dtype(self, list_):
        """In turn; draws of special floats and of extreme integers take such a type where there is one."""
        fit = list_
        if self.kind == "special":
            fit = [d for d in list_ if is_float(d)] or list_
        if self.kind == "extreme":
            fit = [d for d in list_ if "int" in d] or list_
        return fit[0] if self.i == 0 else self.one_of(fit)

    # shapes
    def shape(self, lo=0, hi=4, most=5, zero=True):
        """A rank from lo to hi; an axis of zero, or only ones, where the draw asks for it."""
        rank = self.int(lo, hi)
        if self.kind == "one":
            return (1,) * (rank if self.flag() else lo)
        s = [self.int(1, most) for _ in range(rank if self.kind != "zero" or not zero else max(rank, 1))]
        if self.kind == "zero" and zero and len(s):
            s[self.int(0, len(s) - 1)] = 0
        return tuple(s)

    def extent(self, lo=1, hi=6, zero=False):
        if zero and self.kind == "zero":
            return 0
        return 1 if self.kind == "one" and lo <= 1 else self.int(lo, hi)

    def axis(self, rank, negative=True):
        a = self.int(0, rank - 1)
        return a - rank if negative and self.flag(0.4) else a

    def axes(self, rank, least=0):
        """Some axes in any order, some of them negative."""
        n = self.int(min(least, rank), rank)
        return [int(a) - rank if self.flag(0.4) else int(a) for a in self.rng.permutation(rank)[:n]]

    def broadcast(self, shape, full=False):
        """A shape that broadcasts to this one."""
        if full:
            return tuple(shape)
        s = [1 if self.flag(0.3) else n for n in shape]
        return tuple(s[self.int(0, len(s)) if self.flag(0.3) else 0:])

    # elements
    def floats(self, shape, dtype="float32", lo=-3.0, hi=3.0, nan=True, inf=True):
        a = self.rng.uniform(lo, hi, shape)
        if self.kind == "special":
            values = [0.0, -0.0, lo, hi] + ([math.nan] if nan else []) + ([math.inf, -math.inf] if inf else [])
            a = self.with_one(np.where(self.rng.random(shape) < 0.5, self.rng.choice(values, shape), a), nan, inf)
        return Tensor(a, dtype)

    def with_one(self, a, nan, inf):
        """Every other draw of special floats has a NaN for sure, the others an infinity."""
        first = self.i % len(self.KINDS) == self.KINDS.index("special")
        v = math.nan if nan and (first or not inf) else math.inf if inf else None
        if a.size and v is not None:
            a = np.array(a)
            a.flat[self.int(0, a.size - 1)] = v
        return a

    def ints(self, shape, dtype="int32", lo=-9, hi=9):
        info = np.iinfo(dtype)
        lo, hi = max(lo, info.min), min(hi, info.max)
        a = self.rng.integers(lo, hi + 1, shape, dtype=np.int64).astype(dtype)
        if self.kind == "extreme":
            values = np.array([info.min, info.max, 0, info.max - 1, info.min + 1], dtype)
            a = np.array(np.where(self.rng.random(shape) < 0.6, self.rng.choice(values, shape), a))
            if a.size:
                a.flat[self.int(0, a.size - 1)] = self.rng.choice(values[:2])
        return Tensor(a, dtype)

    def small(self, shape, dtype, lo=-9, hi=9):
        """Integers without the extremes."""
        lo = max(lo, 0) if dtype.startswith("u") or dtype == "bool" else lo
        return Tensor(self.rng.integers(lo, hi + 1, shape), dtype)

    def bools(self, shape):
        return Tensor(self.rng.random(shape) < 0.5, "bool")

    def numbers(self, shape, dtype, lo=-9, hi=9, **kw):
        if dtype == "bool":
            return self.bools(shape)
        return self.floats(shape, dtype, lo / 3, hi / 3, **kw) if is_float(dtype) else self.ints(shape, dtype, lo, hi)

    def exact(self, shape, dtype, lo=-8, hi=8, nan=True, inf=True):
        """Numbers of which sums and products are exact in any float type; some NaN or infinities, where the draw asks for
        them."""
        if not is_float(dtype):  # integers wrap
            return self.numbers(shape, dtype, lo, hi)
        a = self.rng.integers(2 * lo, 2 * hi + 1, shape) / 2
        if self.kind == "special":
            values = ([math.nan] if nan else []) + ([math.inf, -math.inf] if inf else [])
            if values:
                a = self.with_one(np.where(self.rng.random(shape) < 0.1, self.rng.choice(values, shape), a), nan, inf)
        return Tensor(a, dtype)

    def different(self, shape, dtype):
        """Numbers of which no two are equal."""
        n = int(np.prod(shape))
        a = self.rng.permutation(n).reshape(shape) - (0 if dtype.startswith("u") else n // 2)
        return Tensor(a * (0.5 if is_float(dtype) else 1), dtype)


def draw_cases(op, draws, seed):
    """(number, case) of every draw."""
    with np.errstate(all="ignore"):
        return [(i, formulas[op](Draw(op, i, seed), op)) for i in range(draws)]


def identifier(op):
    return op.replace(".", "_")


HEADER = "from tvm.script import ir as I\nfrom tvm.script import tirx as T\nfrom tvm.script import relax as R\n\n\n" \
         "@I.ir_module\nclass Module:\n"


def write_cases(stem, cases, symbolic=True):
    """Writes STEM.py, STEM.cases and STEM.bin as cases.h says."""
    text, index, data = [HEADER], [], bytearray()

    def tensor(word, t):
        b = t.bytes()
        index.append(f"{word} {t.dtype} {len(t.shape)} {' '.join(map(str, t.shape))} {len(data)}")
        data.extend(b)
        data.extend(b"\0" * (-len(data) % 16))

    for i, c in cases:
        for sym in ([False, True] if symbolic and c.sym and any(len(t.shape) for t in c.inputs) else [False]):
            name = f"{identifier(c.op)}_{i}" + ("s" if sym else "")
            text.append(c.function(name, sym))
            index.append(f"case {name} {c.op} {i} {c.tol[0]!r} {c.tol[1]!r}")
            for t in c.inputs:
                tensor("in", t)
            for t in c.outputs:
                tensor("out", t)
    for suffix, content in ((".py", "\n".join(text).encode()), (".cases", ("\n".join(index) + "\n").encode()),
                            (".bin", bytes(data))):
        with open(stem + suffix, "wb") as f:
            f.write(content)
