# SPDX-License-Identifier: Apache-2.0
"""ONNX models whose indices come as data: good ones give NumPy's result, those out of range are refused with the node's name.

    indices.py [--keep DIR] [CASE...]

In the interpreter, on the cpu, and on an OpenCL device where there is one. ONNX Runtime refuses the same inputs.
"""
import shutil
import sys

sys.dont_write_bytecode = True
from wire import *  # noqa: E402

cases = {}
N, FAR, OPSET = 5, 10 ** 9, 18
LATER = {"tensor_scatter_circular": 24}


def case(f):
    cases[f.__name__] = f
    return f


def named(op, inputs, outputs, **attrs):
    return part(3, "the node") + node(op, inputs, outputs, **attrs)


def refused(op, v, n=N):
    return f"node 'the node' ({op}), ", f"index {v} is out of range, the extent is {n}"


def bad(shape, v, at):
    i = np.zeros(shape, np.int64)
    i[at] = v
    return i


def wrong(op, x, shape, at, *rest, n=N):
    return [([x, bad(shape, v, at), *rest], refused(op, v, n)) for v in (FAR, -n - 1, n)]


@case
def gather(rng):
    x, i = f32(rng.normal(size=(N, 4))), rng.integers(-N, N, (2, 3))
    g = graph([named("Gather", "x i", "y", axis=0)], [value("x", F, [N, 4]), value("i", I, [2, 3])], [value("y", F, [2, 3, 4])])
    return g, [([x, i], [x[i]])] + wrong("Gather", x, (2, 3), (1, 2))


@case
def gather_of_any_extent(rng):
    x, i = f32(rng.normal(size=(N, 4))), rng.integers(-N, N, (2, 3))
    g = graph([named("Gather", "x i", "y", axis=0)], [value("x", F, ["n", 4]), value("i", I, ["a", 3])], [value("y", F, ["a", 3, 4])])
    none = np.zeros((0, 4), np.float32)
    return g, [([x, i], [x[i]]), ([none, i64(np.zeros((0, 3)))], [np.zeros((0, 3, 4), np.float32)]),
               ([none, i64(np.zeros((1, 3)))], refused("Gather", 0, 0))] + wrong("Gather", x, (2, 3), (1, 2))


def of_constants(op, x, out):
    """A constant index that is out of range."""
    if op == "Shape":  # of what is known while importing
        return [node("Shape", x, "sh"), named("Gather", "sh k", "g"), node("Cast", "g", out, to=1)]
    if op == "Add":  # found only when constants are folded
        return [node("Expand", "k two", "ks"), node("Add", "ks ks", "kk"), named("Gather", "table kk", "g", axis=0), node("Add", "g " + x, out)]
    inputs = {"Gather": "k", "GatherElements": "k", "GatherND": "kk", "ScatterND": "kk one", "ScatterElements": "k one"}[op]
    return [named(op, f"{x} {inputs}", out, **({} if op.endswith("ND") else {"axis": 0}))]


def not_run(op, where, extent):
    """In a branch, a loop or for a result that nothing uses: an error only where it is computed."""
    def build(rng):
        consts = {"k": i64([7]), "kk": i64([[7]]), "one": f32([1]), "two": i64([1]), "table": f32([1, 2, 3])}
        if op == "Add":
            del consts["kk"]
        x = f32(rng.normal(size=3))
        why = f"node 'the node' ({'Gather' if op in ('Shape', 'Add') else op})", f"index {14 if op == 'Add' else 7} is out of range"
        if where == "branch":
            g = graph([node("If", "c", "y", then_branch=branch(of_constants(op, "x", "r") + [node("ReduceSum", "r", "s", keepdims=0)], "s"),
                            else_branch=branch([node("ReduceSum", "x", "s", keepdims=0)], "s"))],
                      [value("x", F, [extent]), value("c", B, [])], [value("y", F, [])], consts)
            return g, [([x, np.array(False)], [x.sum()]), ([x, np.array(True)], why)]
        if where == "loop":
            turn = of_constants(op, "x", "r") + [node("ReduceSum", "r", "q", keepdims=0), node("Add", "s q", "s2"), node("Identity", "c", "d")]
            g = graph([node("Loop", "m  s0", "y all", body=body(turn, [("s", F, [])], ["d", "s2", "q"]))],
                      [value("x", F, [extent]), value("m", I, []), value("s0", F, [])], [value("y", F, []), value("all", F, ["t"])], consts)
            return g, [([x, i64(0), f32(5)], [f32(5), np.zeros(0, np.float32)]), ([x, i64(2), f32(5)], why)]
        g = graph(of_constants(op, "x", "r") + [node("Neg", "x", "y")], [value("x", F, [extent])], [value("y", F, [extent])], consts)
        return g, [([x], [-x])]
    build.__name__ = f"constant_{op}_in_a_{where}_of_{extent}"
    return case(build)


for op in ("Gather", "GatherElements", "GatherND", "ScatterND", "ScatterElements", "Shape", "Add"):
    for where in ("branch", "loop", "dead_result"):
        for extent in (3, "n") if op == "Gather" else (3,):
            not_run(op, where, extent)


def alone(name, op, x, index, *rest, **attrs):
    """An axis of one element has one index, 0 or -1, and others are refused even so."""
    def build(rng):
        given = dict(zip("xiu", (x, index, *rest)))
        g = graph([named(op, " ".join(given), "y", **attrs)],
                  [value(k, I if k == "i" else F, list(v.shape)) for k, v in given.items()], [value("y", F, list(y.shape))])
        last = tuple(n - 1 for n in index.shape)
        return g, [([x, i, *rest], [y]) for i in (index, index - 1)] + wrong(op, x, index.shape, last, *rest, n=1)
    y = rest[0] if rest else x[(0,) * x.ndim] + np.zeros(index.shape[:-1] if op == "GatherND" else index.shape, np.float32)
    cases[name] = build


ONE, NONE = f32([7]), i64([0])
alone("gather_one", "Gather", ONE, i64([[0, 0, 0]]), axis=0)
alone("gather_elements_one", "GatherElements", ONE, i64([0, 0, 0]), axis=0)
alone("gather_nd_one", "GatherND", ONE, i64([[0], [0]]))
alone("scatter_elements_one", "ScatterElements", ONE, NONE, f32([3]), axis=0)
alone("scatter_nd_one", "ScatterND", ONE, i64([[0]]), f32([3]))


@case
def gather_from_the_end(rng):
    """A constant index counts from the end of an extent that comes at run time, once."""
    g = graph([named("Gather", "x i", "y", axis=0)], [value("x", F, ["n", 4])], [value("y", F, [3, 4])], {"i": i64([-1, 0, -2])})
    draws = [([x], [x[[-1, 0, -2]]]) for x in (f32(rng.normal(size=(k, 4))) for k in (5, 2, 3))]
    return g, draws + [([f32(rng.normal(size=(1, 4)))], ("node 'the node' (Gather)", "index -2 is out of range")),
                       ([np.zeros((0, 4), np.float32)], ("node 'the node' (Gather)", "is out of range"))]


@case
def gather_elements(rng):
    x, i = f32(rng.normal(size=(4, N))), rng.integers(-N, N, (4, 3))
    g = graph([named("GatherElements", "x i", "y", axis=1)], [value("x", F, [4, N]), value("i", I, [4, 3])], [value("y", F, [4, 3])])
    return g, [([x, i], [np.take_along_axis(x, i, 1)])] + wrong("GatherElements", x, (4, 3), (3, 0))


@case
def gather_nd(rng):
    x, i = f32(rng.normal(size=(7, N))), np.stack([rng.integers(-7, 7, 6), rng.integers(-N, N, 6)], 1)
    g = graph([named("GatherND", "x i", "y")], [value("x", F, [7, N]), value("i", I, [6, 2])], [value("y", F, [6])])
    return g, [([x, i], [x[i[:, 0], i[:, 1]]])] + wrong("GatherND", x, (6, 2), (2, 1)) + wrong("GatherND", x, (6, 2), (5, 0), n=7)


@case
def scatter_elements(rng):
    x, i, u = f32(rng.normal(size=(4, N))), np.stack([rng.permutation(N)[:3] for _ in range(4)]) - 2, f32(rng.normal(size=(4, 3)))
    g = graph([named("ScatterElements", "x i u", "y", axis=1)], [value("x", F, [4, N]), value("i", I, [4, 3]), value("u", F, [4, 3])],
              [value("y", F, [4, N])])
    want = x.copy()
    np.put_along_axis(want, i, u, 1)
    return g, [([x, i, u], [want])] + wrong("ScatterElements", x, (4, 3), (0, 1), u)


@case
def scatter_nd(rng):
    x, i, u = f32(rng.normal(size=(N, 4))), (rng.permutation(N)[:3] - 2)[:, None], f32(rng.normal(size=(3, 4)))
    g = graph([named("ScatterND", "x i u", "y")], [value("x", F, [N, 4]), value("i", I, [3, 1]), value("u", F, [3, 4])], [value("y", F, [N, 4])])
    want = x.copy()
    want[i[:, 0]] = u
    return g, [([x, i, u], [want])] + wrong("ScatterND", x, (3, 1), (2, 0), u)


@case
def reverse_sequence(rng):
    """A sequence is at most as long as the axis, and not of a negative length."""
    x, n = f32(rng.normal(size=(N, 3))), i64([0, 2, N])
    g = graph([named("ReverseSequence", "x n", "y", time_axis=0, batch_axis=1)], [value("x", F, [N, 3]), value("n", I, [3])],
              [value("y", F, [N, 3])])
    want = x.copy()
    for b, k in enumerate(n):
        want[:k, b] = x[:k, b][::-1]
    return g, [([x, n], [want])] + [([x, i64([1, v, 2])], refused("ReverseSequence", v, N + 1)) for v in (FAR, -1, N + 1)]


def recurrent(rng, op, gates):
    """A sequence ends within the steps; behind its end the outputs are 0."""
    steps, size = 4, 3
    w, r = f32(rng.normal(size=(1, gates * size, 2))), f32(rng.normal(size=(1, gates * size, size)))
    g = graph([named(op, "x w r  n", "y", hidden_size=size)], [value("x", F, ["t", 2, 2]), value("n", "int32", [2])],
              [value("y", F, ["t", 1, 2, size])], {"w": w, "r": r})
    x = f32(rng.normal(size=(steps, 2, 2)))
    wrong = [([x, np.array(v, np.int32)], refused(op, b, steps + 1)) for v, b in (((2, 5), 5), ((-1, 4), -1), ((2 ** 31 - 1, 0), 2 ** 31 - 1))]
    return g, x, w, r, steps, wrong


@case
def rnn(rng):
    g, x, w, r, steps, wrong = recurrent(rng, "RNN", 1)
    draws = []
    for n in ((steps, steps), (2, 4), (0, 1)):
        y = np.zeros((steps, 1, 2, 3), np.float32)
        for b in range(2):
            h = np.zeros(3)
            for t in range(n[b]):
                y[t, 0, b] = h = np.tanh(w[0] @ x[t, b] + r[0] @ h)
        draws.append(([x, np.array(n, np.int32)], [y]))
    return g, draws + wrong


@case
def gru(rng):
    g, *_, wrong = recurrent(rng, "GRU", 3)
    return g, wrong


@case
def lstm(rng):
    g, *_, wrong = recurrent(rng, "LSTM", 4)
    return g, wrong


@case
def roi_align(rng):
    """Images of one value each."""
    x = np.ones((2, 1, 8, 8), np.float32) * f32([3, 5]).reshape(2, 1, 1, 1)
    boxes = f32([[1, 1, 5, 5], [2, 2, 6, 6]])
    g = graph([named("RoiAlign", "x r b", "y")], [value("x", F, ["n", 1, 8, 8]), value("r", F, [2, 4]), value("b", I, [2])],
              [value("y", F, [2, 1, 1, 1])])
    return g, [([x, boxes, i64([1, 0])], [f32([5, 3]).reshape(2, 1, 1, 1)])] + \
        [([x, boxes, i64([0, v])], refused("RoiAlign", v, 2)) for v in (2, -1, FAR, -2 ** 63)]


@case
def col2im(rng):
    """Columns of an extent that is not known: as many as blocks fit into the image."""
    x = f32(rng.normal(size=(1, 4, 4)))
    g = graph([named("Col2Im", "x s b", "y")], [value("x", F, [1, 4, "columns"])], [value("y", F, [1, 1, 3, 3])],
              {"s": i64([3, 3]), "b": i64([2, 2])})
    want = np.zeros((1, 1, 3, 3), np.float32)
    for k, (i, j) in enumerate(np.ndindex(2, 2)):
        want[0, 0, i:i + 2, j:j + 2] += x[0, :, k].reshape(2, 2)
    return g, [([x], [want])] + [([f32(rng.normal(size=(1, 4, n)))], ("node 'the node' (Col2Im)",)) for n in (0, 3, 5)]


@case
def max_roi_pool(rng):
    x = np.ones((2, 1, 8, 8), np.float32) * f32([3, 5]).reshape(2, 1, 1, 1)
    g = graph([named("MaxRoiPool", "x r", "y", pooled_shape=[1, 1])], [value("x", F, [2, 1, 8, 8]), value("r", F, [2, 5])],
              [value("y", F, [2, 1, 1, 1])])

    def regions(a, b):
        return f32([[a, 1, 1, 5, 5], [b, 2, 2, 6, 6]])
    return g, [([x, regions(1, 0)], [f32([5, 3]).reshape(2, 1, 1, 1)])] + \
        [([x, regions(0, v)], refused("MaxRoiPool", v, 2)) for v in (2, -1, 4096)]


@case
def nll_loss(rng):
    """A class has no negative number."""
    x, c = f32(rng.normal(size=(4, N))), rng.integers(0, N, 4)
    g = graph([named("NegativeLogLikelihoodLoss", "x c", "y", reduction="none")], [value("x", F, [4, N]), value("c", I, [4])],
              [value("y", F, [4])])
    return g, [([x, c], [-x[np.arange(4), c]])] + [([x, bad(4, v, 2)], refused("NegativeLogLikelihoodLoss", v)) for v in (FAR, -1, N)]


@case
def slices(rng):
    """Bounds of slices are brought into the range, as NumPy does."""
    x = f32(rng.normal(size=(N, 4)))
    g = graph([named("Slice", "x b e", "y")], [value("x", F, [N, 4]), value("b", I, [1]), value("e", I, [1])], [value("y", F, ["m", 4])])
    some = [-2 ** 63, -FAR, -N - 1, -N, -1, 0, 2, N, N + 1, FAR, 2 ** 63 - 1]
    return g, [([x, i64([b]), i64([e])], [x[b:e]]) for b in some for e in some]


@case
def cumsum_of_a_vector(rng):
    """Its axis is 0 or -1."""
    x = f32(rng.normal(size=N))
    g = graph([named("CumSum", "x a", "y")], [value("x", F, ["n"]), value("a", I, [])], [value("y", F, ["n"])])
    return g, [([x, i64(a)], [np.cumsum(x)]) for a in (0, -1)] + \
        [([x, i64(a)], ("node 'the node' (CumSum)", "the axis: index")) for a in (1, -2)]


@case
def tensor_scatter_circular(rng):
    """Behind the end of a circular cache its beginning comes, in front of its beginning nothing."""
    x, u = f32(rng.normal(size=(2, N, 3))), f32(rng.normal(size=(2, 2, 3)))
    g = graph([named("TensorScatter", "x u w", "y", axis=1, mode="circular")], [value("x", F, [2, N, 3]), value("u", F, [2, 2, 3]), value("w", I, [2])],
              [value("y", F, [2, N, 3])])

    def want(w):
        y = x.copy()
        for b in range(2):
            y[b, (w[b] + np.arange(2)) % N] = u[b]
        return y
    return g, [([x, u, i64(w)], [want(w)]) for w in ((0, 4), (7, 2))] + [([x, u, i64((0, -1))], refused("TensorScatter", -1, 2 ** 63 - 1))]


# ---- running ----


def opset(name):
    return LATER.get(name, OPSET)


def interpreter_refuses(name, g, draws):
    """One case a draw, with a result that nobody gets to see; whether all are refused with their texts."""
    ok = True
    for k, (inputs, texts) in enumerate(d for d in draws if isinstance(d[1], tuple)):
        at = write(path_of(f"refused_{k}"), name, g, [(inputs, [f32([])])], opset(name))
        r = subprocess.run([os.environ["TENON"], "onnx-test", "--interp", at], capture_output=True, text=True)
        if r.returncode == 0 or any(t not in r.stdout + r.stderr for t in texts):
            print(f"FAIL {name} --interp: status {r.returncode}, expected {texts}:\n{r.stdout}{r.stderr}")
            ok = False
    return ok


def path_of(name):
    return os.path.join(folder, name)


def main():
    failed = False
    plugins_there()
    try:
        written = []
        for name, f in cases.items():
            if not names or name in names:
                g, draws = f(np.random.default_rng(1))
                written.append((write(folder, name, g, draws, opset(name)), draws))
                failed |= not interpreter_refuses(name, g, draws)
        for how in targets(folder):
            failed |= not run_cases([at for at, draws in written if not isinstance(draws[0][1], tuple)], how)
            for at, draws in written if how[0] == "-t" else []:
                failed |= not run_refused(at, draws, how)
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


folder, kept, names = chosen("tenon-indices-")
main()
