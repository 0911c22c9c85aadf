# SPDX-License-Identifier: Apache-2.0
"""Reductions, scans, sorting, elements chosen by value."""
from oracle import *


def axis_choice(d, shape, nonempty):
    """None or some axes, not an empty one where that has no result; and NumPy's axis argument."""
    axes = d.axes(len(shape)) if d.flag(0.75) else None
    if nonempty and axes is not None:
        axes = [a for a in axes if shape[a] > 0]
    if axes is None:
        return {}, tuple(range(len(shape)))
    return {"axis": axes}, tuple(a % len(shape) for a in axes)


REDUCE = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all, "mean": np.mean,
    "variance": np.var, "std": np.std,
}


@oracle(*REDUCE)
def reduce(d, op):
    extremum = op in ("max", "min")
    s = d.shape(1 if d.kind == "zero" else 0, 4)
    dtype = d.dtype(["bool"] if op in ("any", "all") else FLOATS if op in ("mean", "variance", "std") else NUMBERS)
    given, axes = axis_choice(d, s, extremum or op in ("mean", "variance", "std"))
    if (extremum or is_float(dtype)) and not given and 0 in s:
        given, axes = {"axis": [i for i, n in enumerate(s) if n]}, tuple(i for i, n in enumerate(s) if n)
    if op == "prod":
        x = d.floats(s, dtype, 0.7, 1.4) if is_float(dtype) else d.ints(s, dtype, -3, 3)
    elif extremum or dtype == "bool":
        x = d.numbers(s, dtype)
    elif is_float(dtype) and op == "sum":
        x = d.exact(s, dtype, -4, 4, nan=d.flag())
    else:
        x = d.numbers(s, dtype)
    keep = {"keepdims": d.flag()} if d.flag() else {}
    tol = (1e-2, 1e-2) if dtype == "float16" else (6e-2, 1e-1) if dtype == "bfloat16" else None
    kw = {"dtype": x.a.dtype} if op in ("sum", "prod") and not is_float(dtype) else {}
    y = REDUCE[op](wide(x), axis=axes, keepdims=keep.get("keepdims", False), **kw)
    return Case(op, [x], out(y, "bool" if op in ("any", "all") else dtype), attrs={**given, **keep}, tol=tol)


@oracle("argmax", "argmin")
def arg_reduce(d, op):
    s, dtype = d.shape(1, 4, zero=False), d.dtype(NUMBERS)
    x = d.numbers(s, dtype)
    if d.flag():  # equal ones
        x = Tensor(np.sign(x.a) if is_float(dtype) else x.a // 3 if d.kind != "extreme" else x.a, dtype)
    axis = d.axis(len(s)) if d.flag(0.8) else None
    if d.kind == "zero" and axis is not None and len(s) > 1:  # another axis may be empty
        s = tuple(n if i == axis % len(s) else 0 for i, n in enumerate(s))
        x = d.numbers(s, dtype)
    keep = d.flag()
    y = getattr(np, op)(x.a, axis=axis)
    y = np.asarray(y).reshape([1 if axis is None or i == axis % len(s) else n for i, n in enumerate(s)]) if keep else y
    return Case(op, [x], out(y, "int64"), attrs={**({} if axis is None else {"axis": axis}), "keepdims": keep})


@oracle("cumsum", "cumprod")
def scan(d, op):
    s, dtype = d.shape(1, 4), d.dtype(NUMBERS)
    axis = d.axis(len(s)) if d.flag(0.8) else None
    x = d.exact(s, dtype, -3, 3) if op == "cumsum" or not is_float(dtype) else d.floats(s, dtype, 0.7, 1.4)
    attrs = {} if axis is None else {"axis": axis}
    to = dtype
    if d.flag(0.4):
        to = d.one_of(["float64", "float32"] if is_float(dtype) else ["int64", "int32"])
        attrs["dtype"] = to
    exclusive = d.flag(0.4)
    if exclusive:
        attrs["exclusive"] = True
    a = x.a.reshape(-1) if axis is None else x.a
    k = 0 if axis is None else axis
    f, start = (np.cumsum, 0) if op == "cumsum" else (np.cumprod, 1)
    kind = np.float64 if is_float(to) else to
    if exclusive:
        first = np.full_like(np.take(a, [0], k) if a.shape[k] else a, start)
        a = np.concatenate([first, np.delete(a, -1, k)], k) if a.shape[k] else a
    tol = (2e-2, 2e-2) if to == "float16" else (1e-1, 1e-1) if to == "bfloat16" else None
    return Case(op, [x], out(f(a, axis=k, dtype=kind), to), attrs=attrs, tol=tol)


@oracle("sort", "argsort")
def sort(d, op):
    s, dtype = d.shape(1, 4, most=9), d.dtype(NUMBERS)
    x = d.numbers(s, dtype)
    if d.flag():
        x = Tensor(np.rint(x.a / 2) if is_float(dtype) else x.a // 3, dtype)
    axis, down = d.axis(len(s)), d.flag()
    # stable in both directions: sort the reversed sequence and reverse the result
    a = np.flip(x.a, axis) if down else x.a
    order = np.argsort(a, axis=axis, kind="stable")
    if down:
        order = x.a.shape[axis] - 1 - np.flip(order, axis)
    attrs = {"axis": axis, "descending": down}
    if op == "sort":
        return Case(op, [x], out(np.take_along_axis(x.a, order, axis), dtype), attrs=attrs)
    to = d.one_of(["int32", "int64"])
    return Case(op, [x], out(order, to), attrs={**attrs, "dtype": to})


@oracle("topk")
def topk(d, op):
    s, dtype = d.shape(1, 4, most=7), d.dtype(NUMBERS)
    x = d.numbers(s, dtype)
    axis, largest = d.axis(len(s)), d.flag()
    k = d.int(0, s[axis])
    a = np.flip(x.a, axis) if largest else x.a
    order = np.argsort(a, axis=axis, kind="stable")
    if largest:
        order = s[axis] - 1 - np.flip(order, axis)
    order = np.take(order, np.arange(k if k > 0 else s[axis]), axis)
    what, to = d.one_of(["both", "values", "indices"]), d.one_of(["int32", "int64"])
    values, places = out(np.take_along_axis(x.a, order, axis), dtype), out(order, to)
    sym = [tuple(n if i == axis % len(s) else f"n{i}" for i, n in enumerate(s))]
    return Case(op, [x], {"both": [values, places], "values": [values], "indices": [places]}[what], sym=sym,
                attrs={"k": k, "axis": axis, "ret_type": what, "largest": largest, "dtype": to})


@oracle("bucketize")
def bucketize(d, op):
    s, dtype = d.shape(), d.dtype(["float32", "int32", "float64", "int64"])
    x = d.numbers(s, dtype)
    edges = Tensor(np.sort(d.numbers((d.extent(zero=True),), dtype, nan=False).a), dtype)
    if edges.a.size and x.a.size and d.kind != "special" and d.flag():  # values on the edges
        x = Tensor(d.rng.choice(edges.a, s), dtype)
    right, narrow = d.flag(), d.flag()
    y = np.searchsorted(edges.a, x.a, side="right" if right else "left")
    return Case(op, [x, edges], out(y, "int32" if narrow else "int64"), attrs={"out_int32": narrow, "right": right},
                sym=[tuple(f"n{i}" for i in range(len(s))), ("m",)])


@oracle("median")
def median(d, op):
    s, dtype = d.shape(1, 4, zero=False), d.dtype(["float32", "int32", "float64", "int64"])
    x = d.numbers(s, dtype)
    axes = d.axes(len(s), least=1) if d.flag(0.75) else None
    keep = d.flag()
    whole = list(range(len(s))) if axes is None else sorted(a % len(s) for a in axes)
    rest = [i for i in range(len(s)) if i not in whole]
    flat = np.transpose(x.a, rest + whole).reshape([s[i] for i in rest] + [-1])
    order = np.argsort(flat, axis=-1, kind="stable")
    place = order[..., (flat.shape[-1] - 1) // 2]
    shape = [1 if i in whole else n for i, n in enumerate(s)] if keep else [s[i] for i in rest]
    value = np.take_along_axis(flat, place[..., None], -1).reshape(shape)
    results = [out(value, dtype)]
    if axes is not None and len(axes) == 1:
        results.append(out(place.reshape(shape), "int64"))
    return Case(op, [x], results, attrs={**({} if axes is None else {"axis": axes}), "keepdims": keep})


# ---- results whose extents depend on values ----

@oracle("nonzero")
def nonzero(d, op):
    s, dtype = d.shape(0, 4), d.dtype(["float32", "int32", "bool", "int64", "float16", "int8"])
    x = d.numbers(s, dtype)
    if dtype != "bool":
        x = Tensor(np.where(d.rng.random(s) < 0.4, 0, x.a), dtype)
    y = np.argwhere(np.atleast_1d(x.a)).T  # a number counts as a vector of one
    return Case(op, [x], out(y, "int64"))


@oracle("unique")
def unique(d, op):
    axis = None
    s, dtype = d.shape(1, 3, zero=False), d.dtype(["float32", "int32", "int64", "int8"])
    x = Tensor(d.rng.integers(0, 4, s), dtype)
    if is_float(dtype) and d.kind == "special":
        x = Tensor(np.where(x.a == 3, d.one_of([math.nan, math.inf]), x.a), dtype)
    if d.kind == "extreme" and not is_float(dtype):
        info = np.iinfo(dtype)
        x = Tensor(np.array([info.min, info.max, 0, -1], dtype)[x.a], dtype)
    if d.flag(0.4) and not np.isnan(x.a.astype(float)).any():  # of slices with NaN NumPy keeps every one
        axis = d.axis(len(s))
    wanted = [d.flag() for _ in range(3)]
    y = np.unique(x.a, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    results = [out(y[0], dtype)] + [out(np.asarray(v).reshape(-1), "int64") for v, w in zip(y[1:], wanted) if w]
    args = ["x0", prim(True)] + [prim(w) for w in wanted] + ([] if axis is None else [prim(axis)])
    return Case(op, [x], results, args=args)
