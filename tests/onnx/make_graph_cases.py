#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes graph_cases.txt: ONNX models with functions, branches and shapes that are computed from shapes.

    python3 tests/onnx/make_graph_cases.py > tests/onnx/graph_cases.txt

tests/onnx/made.py compares, and with --keep writes all three files with the results that are there where those are near.

Expected values come from NumPy and from the formulas here, which are written from ONNX's operator
specification.
"""
import numpy as np

rng = np.random.default_rng(1711)
TYPES = {"float32": "float", "float64": "double"}


def tensor(kind, name, a, dims=""):
    """dims: a letter for each extent, "_" for one that is fixed; the letters are dynamic."""
    a = np.asarray(a)
    t = TYPES.get(a.dtype.name, a.dtype.name)
    v = ["%.9g" % x if a.dtype.kind == "f" else str(int(x)) for x in a.ravel()]
    extents = [f"{d}={n}" if d != "_" else str(n) for n, d in zip(a.shape, dims.ljust(a.ndim, "_"))]
    print(kind, name, t, ",".join(extents) or "scalar", ":", *v)


def case(name, opset, body, inputs, outputs, const=(), dims=None):
    """body: lines of the model, as write_cases reads them; dims: dynamic dimensions of inputs; outputs:
    (name, value) in their order."""
    print("case", name)
    print("opset", opset)
    for line in body.strip().split("\n"):
        print(line.strip())
    for k, a in inputs.items():
        tensor("const" if k in const else "in", k, a, (dims or {}).get(k, ""))
    for k, a in outputs:
        tensor("out", k, a)
    print()


def rnd(*shape):
    return np.round(rng.uniform(-2, 2, shape), 3).astype(np.float32)


def i64(*v):
    return np.array(v, np.int64)


# ---- functions of the model ----

x, y = rnd(2, 3), rnd(2, 3)


def leaky(x, a):
    return np.where(x < 0, x * np.float32(a), x)


LEAKY = """
function local.Leak x -> y
{default}
node LeakyRelu x -> y
attr alpha ref float slope
end
"""
for name, default, given, alpha in ("default", "attr slope float 0.5", "", 0.5), ("given", "attr slope float 0.5", "attr slope float 0.25", 0.25), \
        ("absent", "", "", 0.01):
    case(f"function_attribute_{name}", 16, LEAKY.format(default=default) + "node local.Leak x -> y\n" + given, {"x": x}, [("y", leaky(x, alpha))])
case("function_attribute_default_through_a_function", 16, LEAKY.format(default="attr slope float 0.5") + """
    function local.Outer x -> y
    attr gentle float 0.125
    node local.Leak x -> a
    node local.Leak a -> y
    attr slope ref float gentle
    end
    node local.Outer x -> y""", {"x": x}, [("y", leaky(leaky(x, 0.5), 0.125))])
case("function_attribute_default_list", 13, """
    function local.Turn x -> y
    attr order ints 1 0
    node Transpose x -> y
    attr perm ref ints order
    end
    node local.Turn x -> y
    node local.Turn x -> z
    attr order ints 0 1""", {"x": x}, [("y", x.T), ("z", x)])
case("function_overloads", 14, """
    function local.F x -> y
    node Neg x -> y
    end
    function local.F.twice x -> y
    node Add x x -> y
    end
    function local.F.rows x -> y s
    node ReduceSum x -> s
    attr keepdims int 0
    node local.F.twice x -> y
    end
    node local.F x -> a
    node local.F.twice x -> b
    node local.F.rows x -> c s""", {"x": x}, [("a", -x), ("b", x + x), ("c", x + x), ("s", x.sum())])
CLIP = """
function local.Limit x lo hi -> y
node Clip x lo hi -> y
end
"""
lo, hi = np.array(-0.5, np.float32), np.array(0.75, np.float32)
for name, args, want in ("both", "x lo hi", np.clip(x, lo, hi)), ("last_left_out", "x lo", np.maximum(x, lo)), ("middle_left_out", "x - hi", np.minimum(x, hi)), \
        ("all_left_out", "x", x):
    used = {k: v for k, v in {"x": x, "lo": lo, "hi": hi}.items() if k in args.split()}
    case(f"function_inputs_{name}", 13, CLIP + f"node local.Limit {args} -> y", used, [("y", want)])
case("function_input_left_out_in_a_branch", 13, """
    function local.Limit c x lo hi -> y
    node If c -> y
    graph then_branch -> t
    node Clip x lo hi -> t
    end
    graph else_branch -> e
    node Neg x -> e
    end
    end
    node local.Limit c x - hi -> y
    node local.Limit d x lo -> z""", {"c": np.array(True), "d": np.array(False), "x": x, "lo": lo, "hi": hi},
     [("y", np.minimum(x, hi)), ("z", -x)])
case("function_asks_whether_an_input_is_there", 18, """
    function local.Bias x b -> y
    node OptionalHasElement b -> c
    node If c -> y
    graph then_branch -> t
    node OptionalGetElement b -> v
    node Add x v -> t
    end
    graph else_branch -> e
    node Identity x -> e
    end
    end
    node local.Bias x b -> y
    node local.Bias x -> z""", {"x": x, "b": y[0]}, [("y", x + y[0]), ("z", x)])
case("function_that_is_never_called", 13, """
    function local.Strange x -> y
    node NoSuchOperator x -> y
    end
    node Neg x -> y""", {"x": x}, [("y", -x)])

# ---- outputs ----

case("output_twice", 13, "node Neg x -> y", {"x": x}, [("y", -x), ("y", -x)])
case("input_as_output", 13, "node Neg x -> y", {"x": x}, [("x", x), ("y", -x), ("x", x)])
case("initializer_as_output", 13, "node Add x w -> y", {"x": x, "w": y}, [("w", y), ("y", x + y), ("w", y)], const=["w"])
case("shape_as_output", 13, "node Shape x -> s", {"x": x}, [("s", i64(2, 3)), ("x", x), ("s", i64(2, 3))], dims={"x": "ab"})

# ---- data sets in another order than the model's inputs: their names decide ----

z = rnd(4)
case("data_set_in_another_order", 13, """
    files z y x
    node Sub x y -> d
    node Neg z -> n""", {"x": x, "y": y, "z": z}, [("d", x - y), ("n", -z)])

# ---- branches that are never taken ----

ODD = """
node If c -> y
graph then_branch -> t
{then}
end
graph else_branch -> e
{other}
end
"""
STRANGE = "node NoSuchOperator x -> {0}"
case("branch_never_taken_else", 13, ODD.format(then="node Neg x -> t", other=STRANGE.format("e")), {"c": np.array(True), "x": x}, [("y", -x)], const=["c"])
case("branch_never_taken_then", 13, ODD.format(then=STRANGE.format("t"), other="node Neg x -> e"), {"c": np.array(False), "x": x}, [("y", -x)], const=["c"])
case("branch_never_taken_wrong_shapes", 13, ODD.format(then="node Neg x -> t", other="node MatMul x x -> e"), {"c": np.array(True), "x": x}, [("y", -x)], const=["c"])
case("branch_never_taken_by_a_shape", 13, "node Shape x -> s\nnode Size s -> r\nnode Equal r two -> c" +
     ODD.format(then="node Neg x -> t", other=STRANGE.format("e")), {"x": x, "two": np.array(2)}, [("y", -x)], const=["two"], dims={"x": "ab"})

# ---- ranges whose limits are extents ----

RANGE = """
node Shape x -> s
node Gather s zero -> a
node Gather s one -> b
node Range a b step -> y
node Range b a step -> z
node Neg step -> back
node Range b a back -> v
node Range a b back -> w
"""
for n, m, step in (5, 2, 1), (2, 5, 1), (7, 2, 3), (2, 7, 2), (3, 3, 2), (1, 9, 8):
    case(f"range_of_extents_{n}_{m}_by_{step}", 13, RANGE, {"x": rnd(n, m), "zero": np.array(0), "one": np.array(1), "step": np.array(step)},
         [(k, np.arange(*v)) for k, v in (("y", (n, m, step)), ("z", (m, n, step)), ("v", (m, n, -step)), ("w", (n, m, -step)))],
         const=["zero", "one", "step"], dims={"x": "ab"})
    case(f"range_step_is_an_extent_{n}_{m}_{step}", 13, RANGE.replace("s one -> b", "s one -> b\nnode Gather s two -> step"),
         {"x": rnd(n, m, step), "zero": np.array(0), "one": np.array(1), "two": np.array(2)},
         [(k, np.arange(*v)) for k, v in (("y", (n, m, step)), ("z", (m, n, step)), ("v", (m, n, -step)), ("w", (n, m, -step)))],
         const=["zero", "one", "two"], dims={"x": "abc"})

# ---- FlexAttention: attention with sub-graphs ----

q, k, v = rnd(2, 4, 3, 4), rnd(2, 2, 5, 4), rnd(2, 2, 5, 3)
scores = np.einsum("bhqe,bhke->bhqk", q, np.repeat(k, 2, 1)) / 2


def attend(scores, change=lambda p: p):
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p = change(p / p.sum(-1, keepdims=True))
    return (p @ np.repeat(v, 2, 1)).astype(np.float32)


FLEX = """
node ai.onnx.preview/FlexAttention q k v -> y
{0}
"""
case("flex_attention", 26, FLEX.format(""), {"q": q, "k": k, "v": v}, [("y", attend(scores))], dims={"q": "b_s", "k": "b_t", "v": "b_t"})
case("flex_attention_scores_and_probabilities", 26, FLEX.format("""
    graph score_mod s -> t
    node Div s limit -> a
    node Tanh a -> b
    node Mul b limit -> t
    end
    graph prob_mod p -> r
    node Mul p half -> r
    end"""), {"q": q, "k": k, "v": v, "limit": np.array(1.5, np.float32), "half": np.array(0.5, np.float32)},
     [("y", attend(np.tanh(scores / 1.5) * 1.5, lambda p: p * 0.5))], const=["limit", "half"])

# ---- normalization of a dynamic number of channels ----

x, scale, bias = rnd(2, 4, 3, 2), rnd(4), rnd(4)
g = x.reshape(2, 2, -1).astype(np.float64)
g = ((g - g.mean(-1, keepdims=True)) / np.sqrt(g.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)
case("group_norm_dynamic_channels", 21, "node GroupNormalization x scale bias -> y\nattr num_groups int 2", {"x": x, "scale": scale, "bias": bias},
     [("y", (g * scale[:, None, None] + bias[:, None, None]).astype(np.float32))], const=("scale", "bias"), dims={"x": "nchw"})

# ---- pooling that rounds up ----


def lp_pool(x, k, stride, before, after):
    """Sums of |x| over windows of k along the last axis; those that begin behind the data and the padding before them are left out."""
    n = x.shape[-1] + before
    starts = [s for s in range(0, n + after - k + stride, stride) if s < n]
    data = np.pad(np.abs(x), ((0, 0),) * 2 + ((before, after + k),))
    return np.stack([data[..., s:s + k].sum(-1) for s in starts], -1)


for name, k, stride, pads, size in (("last_window_is_cut", 3, 3, (0, 0), 8), ("last_window_is_padding", 1, 3, (1, 1), 5)):
    x = rnd(1, 2, size)
    for dims in ("", "_cn"):
        case(f"lp_pool_{name}{'_dynamic' * bool(dims)}", 18, f"""node LpPool x -> y
    attr p int 1
    attr ceil_mode int 1
    attr kernel_shape ints {k}
    attr strides ints {stride}
    attr pads ints {pads[0]} {pads[1]}""", {"x": x}, [("y", lp_pool(x, k, stride, *pads))], dims={"x": dims})

x = rnd(3, 1, 2)
case("squeeze_dynamic_without_axes", 13, "node Squeeze x -> y", {"x": x}, [("y", x[:, 0])], dims={"x": "n_m"})


# ---- branches that give other ranks: what torch.squeeze becomes ----

SQUEEZE = """
node Shape x -> s
node Gather s axis -> d
node Equal d one -> c
node If c -> z
graph then_branch -> t
node Squeeze x axes -> t
end
graph else_branch -> e
node Identity x -> e
end
"""
at = {"axis": np.array(0), "one": np.array(1), "axes": i64(0)}
for n in 1, 3:
    x = rnd(n, 4)
    sq = x[0] if n == 1 else x
    case(f"squeeze_of_{n}", 13, SQUEEZE + "node Neg z -> y", {"x": x, **at}, [("y", -sq)], const=list(at), dims={"x": "ab"})
    case(f"squeeze_of_{n}_in_a_function", 13, """
        function local.Squeeze x -> z
        node Constant -> axis
        attr value_int int 0
        node Constant -> one
        attr value_int int 1
        node Constant -> axes
        attr value_ints ints 0
        """ + SQUEEZE + """
        end
        node local.Squeeze x -> z
        node Add z z -> y""", {"x": x}, [("y", sq + sq)], dims={"x": "ab"})
x = rnd(3, 4)
case("squeeze_then_what_fits_the_whole", 13, SQUEEZE + "node Transpose z -> y\nattr perm ints 1 0", {"x": x, **at}, [("y", x.T)], const=list(at), dims={"x": "ab"})
x = rnd(1, 4)
case("squeeze_then_what_fits_the_squeezed", 13, SQUEEZE + "node Unsqueeze z axes -> u\nnode Concat u u -> y\nattr axis int 0\nnode Reshape z four -> v",
     {"x": x, "four": i64(4), **at}, [("v", x[0]), ("y", np.concatenate([x, x]))], const=["four", *at], dims={"x": "a_"})
x = rnd(1, 1, 4)
TWICE = SQUEEZE.replace("-> z", "-> z0") + SQUEEZE.replace("x -> s", "z0 -> s1").replace("Gather s ", "Gather s1 ") \
    .replace("-> d", "-> d1").replace("Equal d", "Equal d1").replace("-> c", "-> c1").replace("If c", "If c1").replace("Squeeze x", "Squeeze z0") \
    .replace("Identity x", "Identity z0").replace("-> t", "-> t1").replace("-> e", "-> e1")
for a, b in (1, 1), (1, 2), (2, 1), (2, 2):
    x = rnd(a, b, 4)
    y = x[0] if a == 1 else x
    y = y[0] if y.shape[0] == 1 else y
    case(f"squeeze_twice_of_{a}_{b}", 13, TWICE + "node Neg z -> y", {"x": x, **at}, [("y", -y)], const=list(at), dims={"x": "ab_"})

# a choice within a branch: only one of the two fits what follows there
INSIDE = "node If p -> y\ngraph then_branch -> r\n" + SQUEEZE + """
node Transpose z -> r
attr perm ints 1 0
end
graph else_branch -> q
node Neg w -> q
end
"""
x, w = rnd(3, 4), rnd(2, 3)
for p in True, False:
    case(f"squeeze_within_a_branch_{int(p)}", 13, INSIDE, {"p": np.array(p), "x": x, "w": w, **at}, [("y", x.T if p else -w)], const=list(at),
         dims={"x": "ab", "w": "cd"})

# ---- a branch that cannot be compiled, and is not taken at run time ----

x = rnd(2, 3)
for c, then, other in (True, "node Neg x -> t", STRANGE.format("e")), (False, STRANGE.format("t"), "node Neg x -> e"):
    case(f"branch_that_cannot_be_compiled_is_not_taken_{int(c)}", 13, ODD.format(then=then, other=other), {"c": np.array(c), "x": x}, [("y", -x)], dims={"x": "ab"})

# ---- extents of which the model says nothing but "?" ----

x = rnd(2, 5)
case("extents_called_by_question_marks", 13, "node Neg x -> y", {"x": x}, [("y", -x)], dims={"x": "??"})
# steps of a range of which a multiple is beyond int64, although each number of it fits
least, most, step = -2**63, 2**63 - 1, 2**62
for name, start, end, by in ("up", least, most, step), ("down", most, least, -step):
    x = i64(1, 2, 3, 4) * np.sign(by)
    y = i64(*(start + k * by + int(x[k]) for k in range(4)))
    case(f"range_{name}_by_steps_whose_multiples_exceed_int64", 13, "node Range a b step -> r\nnode Add r x -> y",
         {"x": x, "a": np.array(start, np.int64), "b": np.array(end, np.int64), "step": np.array(by, np.int64)}, [("y", y)], const=("a", "b", "step"))


# ---- extents that run time tells ----

def scan_sums(s, x):
    out = []
    for row in x:
        s = s + row
        out.append(s)
    return s, np.stack(out)


for parts in (1, 2):
    x = rnd(2, 4, parts)
    z = np.fft.fft(x[..., 0] + 1j * (x[..., 1] if parts == 2 else 0), axis=1)
    case(f"dft_of_{parts}_parts", 17, "node DFT x -> y\nattr axis int 1", {"x": x}, [("y", np.stack([z.real, z.imag], -1).astype(np.float32))],
         dims={"x": "nmp"})
x, u = rnd(3, 2), rnd(1, 2)
case("scatter_nd_of_dynamic_depth", 17, "node ScatterND x at u -> y", {"x": x, "at": i64(1).reshape(1, 1), "u": u}, [("y", np.stack([x[0], u[0], x[2]]))],
     dims={"x": "nm", "at": "ck", "u": "cm"})
x, w, bias = rnd(1, 1, 3, 4), rnd(2, 1, 2, 1), rnd(2)
case("conv_of_dynamic_weight", 17, "node Conv x w b -> y", {"x": x, "w": w, "b": bias},
     [("y", np.stack([x[:, 0, :-1] * w[o, 0, 0, 0] + x[:, 0, 1:] * w[o, 0, 1, 0] + bias[o] for o in range(2)], 1))], dims={"x": "nchw", "w": "oikl", "b": "m"})
s, x = rnd(3), rnd(4, 3)
last, rows = scan_sums(s, x)
case("scan_whose_state_keeps_its_extents", 17, """
node Scan s x -> last rows
attr num_scan_inputs int 1
graph body s1 x1 -> s2 r1
node Add s1 x1 -> s2
node Identity s2 -> r1
end
""", {"s": s, "x": x}, [("last", last), ("rows", rows)], dims={"s": "a", "x": "tb"})
x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2) + 1
y = np.zeros((1, 1, 4, 4), np.float32)
y[0, 0, [1, 1, 3, 3], [1, 3, 1, 3]] = x.ravel()
case("max_unpool_of_dynamic_extents", 17, "node MaxUnpool x at -> y\nattr kernel_shape ints 2 2\nattr strides ints 2 2",
     {"x": x, "at": i64(5, 7, 13, 15).reshape(1, 1, 2, 2)}, [("y", y)], dims={"x": "nchw", "at": "nchw"})
x, w, bias = rnd(2, 3), rnd(1), rnd(1)
case("layer_norm_of_one_bias", 17, "node LayerNormalization x w b -> y\nattr epsilon float 0.01", {"x": x, "w": w, "b": bias},
     [("y", (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 0.01) * w + bias)], dims={"x": "nc", "w": "v", "b": "u"})
x = rnd(2, 2)
case("compress_longer_condition", 17, "node Compress x c -> y\nattr axis int 0", {"x": x, "c": np.array([False, True, True])}, [("y", x[1:])], const=["c"],
     dims={"x": "n"})
# lengths of ranges whose limits are far apart, and paddings that follow a cut
for name, a, b, by, want in (("far", 0, 2**63 - 1, 2**60, [k * 2**60 for k in range(8)]), ("all", least, most, most, [least, -1, most - 1])):
    case(f"range_{name}_at_run_time", 13, "node Range a b step -> y",
         {"a": np.array(a, np.int64), "b": np.array(b, np.int64), "step": np.array(by, np.int64)}, [("y", i64(*want))])
x = rnd(2, 3)
case("pad_wraps_what_a_cut_leaves", 19, "node Pad x p -> y\nattr mode text wrap", {"x": x, "p": i64(0, -2, 0, 2)},
     [("y", np.repeat(x[:, 2:], 3, 1))], dims={"x": "nm"})
# axes computed from constants of other ranks: the first operand is broadcast as the second is
for name, a, b in ("scalar_first", np.array(3, np.int64), i64(3, 1)), ("scalar_last", i64(2, 4), np.array(2, np.int64)), ("row_first", i64(2), i64(2, 0, 1, -1).reshape(2, 2)):
    case(f"axes_of_constants_of_other_ranks_{name}", 18, """
        node Sub a b -> m
        node Reshape m one -> axes
        node Unsqueeze x axes -> y""", {"x": x, "a": a, "b": b, "one": i64(-1)}, [("y", np.expand_dims(x, tuple((a - b).ravel())))],
         const=["a", "b", "one"])
# windows that reach beyond all channels, to one side or both
x = rnd(1, 5, 2)
for size, dims in ((6, "_____"), (8, "_c_"), (2**31 - 1, "ncw"), (2**63 - 1, "___"), (2**63 - 1, "ncw")):
    near = [[k for k in range(5) if c - (size - 1) // 2 <= k <= c + size // 2] for c in range(5)]
    total = np.stack([(x[:, k] ** 2).sum(1) for k in near], 1)
    case(f"lrn_of_{size}_channels{'_dynamic' * ('c' in dims)}", 13, f"""
        node LRN x -> y
        attr size int {size}
        attr alpha float 5
        attr beta float 0.5""", {"x": x}, [("y", x / np.sqrt(1 + 5 / size * total))], dims={"x": dims})
# ai.onnx.ml: indices of any rank are one list, and data of one axis give a row; known and at run time, of known and dynamic extents
for rank in 1, 2, 3:
    x = rnd(*(2, 3, 5)[3 - rank:])
    for at in np.array(3), i64(4), i64(0, 3, 3), i64(1, -1, 2, 0).reshape(2, 2), i64(2, 1).reshape(2, 1, 1):
        want = x[..., at.ravel()].reshape(*(x.shape[:-1] or (1,)), at.size)
        for const, dims in (["i"], {}), ([], {}), (["i"], {"x": "abc"[:rank]}), ([], {"x": "abc"[:rank], "i": "nmk"[:at.ndim]}):
            case(f"array_feature_extractor_{rank}_{'_'.join(map(str, at.shape)) or 'scalar'}_{'known' if const else 'run'}_{'dynamic' if dims else 'fixed'}", 17,
                 "node ai.onnx.ml/ArrayFeatureExtractor x i -> y", {"x": x, "i": at}, [("y", want)], const=const, dims=dims)
