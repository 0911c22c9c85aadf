# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan against the same loops in Python: written as models here, run by `tenon onnx-test`.

    loops.py [--keep DIR] [CASE...]

Counts and conditions come at run time, so that loops are loops of the virtual machine; on the cpu target, on the
interpreter, and with every pass verified. Ends with 77 where no Python with NumPy is found.
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from wire import *  # noqa: E402

# ---- cases: the graph, and a function that gives (inputs, outputs) for a draw ----

cases = {}


def case(f):
    cases[f.__name__] = f
    return f


@case
def condition_in_the_body(rng):
    """No count: the sum decides; results of an unknown number of iterations are collected."""
    b = body([node("Mul", "v k", "w"), node("ReduceSum", "w", "s", keepdims=0), node("Less", "s limit", "go")],
             [("v", F, [4])], ["go", "w", "s"])
    g = graph([node("Loop", " start x", "y sums", body=b)],
              [value("x", F, [4]), value("start", B, [])], [value("y", F, [4]), value("sums", F, ["t"])],
              {"k": f32(1.5), "limit": f32(100)})
    draws = []
    for start, lo in ((True, 1), (False, 1), (True, 1e-9), (True, 200)):
        x = f32(rng.uniform(lo, 2 * lo, 4))
        v, sums, go = x, [], start
        while go:
            v = f32(v * f32(1.5))
            sums.append(v.sum())
            go = sums[-1] < 100
        draws.append(([x, np.array(start)], [v, stacked(sums, ())]))
    return g, draws


@case
def a_carried_value_grows(rng):
    b = body([node("Concat", "v more", "w", axis=0), node("Identity", "c", "d")], [("v", F, ["n"])], ["d", "w"])
    g = graph([node("Loop", "m  x", "y", body=b)], [value("x", F, ["a"]), value("more", F, ["b"]), value("m", I, [])],
              [value("y", F, ["q"])])
    draws = []
    for n, k, m in ((3, 2, 5), (3, 2, 0), (0, 1, 100), (2, 0, 7), (1, 1, -4)):
        x, more = f32(rng.random(n)), f32(rng.random(k))
        draws.append(([x, more, i64(m)], [np.concatenate([x] + [more] * max(m, 0))]))
    return g, draws


@case
def loops_in_loops(rng):
    """The inner one uses both counters and a value from two graphs further out; its results are collected twice."""
    inner = graph([node("Cast", "j", "jf", to=1), node("Cast", "i", "jg", to=1), node("Mul", "jf jg", "p"),
                   node("Add", "acc p", "a"), node("Add", "a w", "b"), node("Identity", "cj", "ck")],
                  [value("j", I, []), value("cj", B, []), value("acc", F, [2])],
                  [value("ck", B, []), value("b", F, [2]), value("a", F, [2])])
    outer = body([node("Loop", "n2  o", "o2 rows", body=inner), node("Identity", "c", "d")], [("o", F, [2])],
                 ["d", "o2", "rows"])
    g = graph([node("Loop", "n1  x", "y rows", body=outer)],
              [value("x", F, [2]), value("w", F, [2]), value("n1", I, []), value("n2", I, [])],
              [value("y", F, [2]), value("rows", F, ["p", "q", 2])])
    draws = []
    for n1, n2 in ((3, 4), (20, 1), (1, 33), (4, 0)):
        x, w = f32(rng.random(2)), f32(rng.random(2))
        v, rows = x, np.zeros((n1, n2, 2), np.float32)
        for i in range(n1):
            for j in range(n2):
                rows[i, j] = v + f32(j * i)
                v = rows[i, j] + w
        draws.append(([x, w, i64(n1), i64(n2)], [v, rows]))
    return g, draws


@case
def scan_both_ways(rng):
    b = graph([node("Add", "s x", "s2"), node("Mul", "x y", "p"), node("Sub", "s2 y", "q")],
              [value("s", F, [3]), value("x", F, [3]), value("y", F, [3])],
              [value("s2", F, [3]), value("p", F, [3]), value("q", F, [3])])
    g = graph([node("Scan", "s0 x y", "last ps qs", body=b, num_scan_inputs=2, scan_input_axes=[0, 1],
                    scan_input_directions=[0, 1], scan_output_axes=[0, 1], scan_output_directions=[1, 0])],
              [value("s0", F, [3]), value("x", F, ["t", 3]), value("y", F, [3, "t"])],
              [value("last", F, [3]), value("ps", F, ["t", 3]), value("qs", F, [3, "t"])])
    draws = []
    for t in (7, 1, 0, 300):
        s, x, y = f32(rng.random(3)), f32(rng.random((t, 3))), f32(rng.random((3, t)))
        ps, qs, v = np.zeros((t, 3), np.float32), np.zeros((3, t), np.float32), s
        for i in range(t):
            back = y[:, t - 1 - i]
            v = v + x[i]
            ps[t - 1 - i], qs[:, i] = x[i] * back, v - back
        draws.append(([s, x, y], [v, ps, qs]))
    return g, draws


@case
def branches_of_different_shapes(rng):
    yes = branch([node("If", "c2", "q", then_branch=branch([node("Add", "x x", "r")], "r"),
                       else_branch=branch([node("Mul", "x w", "r")], "r")), node("Neg", "q", "qq")], "qq")
    no = branch([node("Concat", "x x", "cc", axis=0)], "cc")
    g = graph([node("If", "c1", "y", then_branch=yes, else_branch=no), node("Relu", "y", "z"), node("Shape", "y", "size")],
              [value("x", F, ["n"]), value("w", F, ["n"]), value("c1", B, []), value("c2", B, [])],
              [value("z", F, ["m"]), value("size", I, [1])])
    draws = []
    for c1 in (True, False):
        for c2 in (True, False):
            n = int(rng.integers(1, 6))
            x, w = f32(rng.normal(size=n)), f32(rng.normal(size=n))
            y = -(x + x if c2 else x * w) if c1 else np.concatenate([x, x])
            draws.append(([x, w, np.array(c1), np.array(c2)], [np.maximum(y, 0), i64(y.shape)]))
    return g, draws


@case
def integers_are_carried_as_scalars(rng):
    """Fibonacci; the count is an extent."""
    b = body([node("Add", "a b", "s"), node("Identity", "b", "b2"), node("Identity", "c", "d")],
             [("a", I, []), ("b", I, [])], ["d", "b2", "s", "a"])
    g = graph([node("Shape", "x", "size"), node("Squeeze", "size", "n"), node("Loop", "n  zero one", "u v all", body=b)],
              [value("x", F, ["k"])], [value("u", I, []), value("v", I, []), value("all", I, ["k"])],
              {"zero": i64(0), "one": i64(1)})
    draws = []
    for k in (1, 2, 0, 50):
        u, v, all_ = 0, 1, []
        for _ in range(k):
            all_.append(u)
            u, v = v, u + v
        draws.append(([np.zeros(k, np.float32)], [i64(u), i64(v), i64(all_).reshape(k)]))
    return g, draws


@case
def an_early_exit(rng):
    """Stops behind the first element that is not positive, or after m iterations."""
    b = body([node("Gather", "x i", "e", axis=0), node("Greater", "e zero", "go"), node("Add", "s e", "s2")],
             [("s", F, [])], ["go", "s2", "e"])
    g = graph([node("Loop", "m  s0", "sum seen", body=b)], [value("x", F, ["n"]), value("m", I, []), value("s0", F, [])],
              [value("sum", F, []), value("seen", F, ["t"])], {"zero": f32(0)})
    draws = []
    for x, m in (([1, 2, 3, -4, 5], 5), (list(range(1, 41)), 40), ([1, -2], -3), ([1, 2, 3, 4, 5], 2), ([-1], 1)):
        s, seen = f32(0), []
        for i in range(m):
            seen.append(x[i])
            s = s + f32(x[i])
            if x[i] <= 0:
                break
        draws.append(([f32(x), i64(m), f32(0)], [s, stacked(seen, ())]))
    return g, draws


@case
def an_if_in_a_loop_in_an_if(rng):
    pick = node("If", "small", "w", then_branch=branch([node("Add", "v one", "r")], "r"),
                else_branch=branch([node("Mul", "v half", "r")], "r"))
    b = body([node("ReduceMax", "v", "top", keepdims=0), node("Less", "top limit", "small"), pick,
              node("Identity", "c", "d")], [("v", F, ["n"])], ["d", "w", "top"])
    yes = branch([node("Loop", "m  x", "xl tops", body=b)], "xl", "tops")
    no = branch([node("Neg", "x", "xn")], "xn", "empty", consts={"empty": np.zeros(2, np.float32)})
    g = graph([node("If", "go", "y tops", then_branch=yes, else_branch=no)],
              [value("x", F, ["n"]), value("m", I, []), value("go", B, [])], [value("y", F, ["n"]), value("tops", F, ["t"])],
              {"one": f32(1), "half": f32(0.5), "limit": f32(6)})
    draws = []
    for go, m in ((True, 30), (False, 3), (True, 0)):
        x = f32(rng.integers(0, 5, 3))
        v, tops = x, []
        for _ in range(m if go else 0):
            tops.append(v.max())
            v = v + 1 if tops[-1] < 6 else v * f32(0.5)
        draws.append(([x, i64(m), np.array(go)], [v if go else -x, stacked(tops, ()) if go else np.zeros(2, np.float32)]))
    return g, draws


@case
def a_cell_in_a_scan(rng):
    r = f32(rng.uniform(-0.5, 0.5, (8, 8)))
    b = graph([node("MatMul", "h r", "hr"), node("Add", "x hr", "p"), node("Tanh", "p", "h2"), node("Identity", "h2", "y")],
              [value("h", F, ["b", 8]), value("x", F, ["b", 8])], [value("h2", F, ["b", 8]), value("y", F, ["b", 8])])
    g = graph([node("Scan", "h0 x", "last ys", body=b, num_scan_inputs=1)],
              [value("h0", F, ["b", 8]), value("x", F, ["t", "b", 8])],
              [value("last", F, ["b", 8]), value("ys", F, ["t", "b", 8])], {"r": r})
    draws = []
    for t, n in ((50, 3), (2, 1)):
        h, x = f32(rng.random((n, 8))), f32(rng.random((t, n, 8)))
        v, ys = h, []
        for i in range(t):
            v = np.tanh(x[i] + v @ r)
            ys.append(v)
        draws.append(([h, x], [v, f32(ys)]))
    return g, draws


@case
def extents_found_in_each_turn(rng):
    """Zeros leave until nothing is left."""
    b = body([node("Sub", "v one", "w"), node("NonZero", "w", "nz"), node("Squeeze", "nz axis", "at"),
              node("Gather", "w at", "left", axis=0), node("Size", "left", "n"), node("Greater", "n zero", "go")],
             [("v", F, ["n"])], ["go", "left", "n"])
    g = graph([node("Loop", "  x", "y sizes", body=b)], [value("x", F, ["n"])], [value("y", F, ["m"]), value("sizes", I, ["t"])],
              {"one": f32(1), "zero": i64(0), "axis": i64([0])})
    draws = []
    for n in (7, 1):
        x = f32(rng.integers(1, 6, n))
        v, sizes = x, []
        while not sizes or sizes[-1]:
            v = v - 1
            v = v[v != 0]
            sizes.append(len(v))
        draws.append(([x], [v, i64(sizes)]))
    return g, draws


@case
def many_turns_of_a_known_number(rng):
    b = body([node("Mul", "v k", "m"), node("Add", "m k", "w"), node("Identity", "c", "d")], [("v", F, [4])],
             ["d", "w", "m"])
    g = graph([node("Loop", "n  x", "y ms", body=b)], [value("x", F, [4])], [value("y", F, [4]), value("ms", F, [1000, 4])],
              {"k": f32(0.5), "n": i64(1000)})
    x = f32(rng.random(4))
    v, ms = x, []
    for _ in range(1000):
        ms.append(v * f32(0.5))
        v = ms[-1] + f32(0.5)
    return g, [([x], [v, f32(ms)])]


def loops_of_known_counts(levels, turns):
    """x + 1, so many times in so many loops, and the sums of the innermost."""
    def nested(level):
        nodes = [node("Add", "v one", "w") if level == 0 else node("Loop", "n  v", "w", body=nested(level - 1)), node("Identity", "c", "d")]
        return body(nodes, [("v", F, [4])], ["d", "w"])
    return graph([node("Loop", "n  x", "y", body=nested(levels - 1))], [value("x", F, [4])], [value("y", F, [4])],
                 {"one": f32(1), "n": i64(turns)})


@case
def few_turns_in_few_turns(rng):
    """Each loop is short, all of them together are not."""
    x = f32(rng.integers(0, 9, 4))
    return loops_of_known_counts(4, 16), [([x], [f32(x + 16 ** 4)])]


@case
def loops_written_out_in_loops(rng):
    x = f32(rng.integers(0, 9, 4))
    return loops_of_known_counts(3, 3), [([x], [f32(x + 27)])]


def grows_a_rank(count, start, rows):
    """A scalar that becomes a matrix in the first iteration, by an If over the counter, and gets a row in each of the next."""
    pick = node("If", "first", "w", then_branch=branch([node("Identity", "row", "r")], "r"),
                else_branch=branch([node("Concat", "v row", "r", axis=0)], "r"))
    nodes = [node("Cast", "i", "f", to=1), node("Add", "x f", "row0"), node("Unsqueeze", "row0 axis", "row"), node("Equal", "i zero", "first"), pick,
             node("Less", "i limit", "d")]
    b = body(nodes, [("v", F, [])], ["d", "w"] + (["row0"] if rows else []))

    def make(rng):
        inputs = [value("x", F, [3]), value("limit", I, [])] + ([value("m", I, [])] if count else []) + ([value("go", B, [])] if start else [])
        g = graph([node("Loop", f"{'m' if count else ''} {'go' if start else ''} v0", "y" + (" all" if rows else ""), body=b)], inputs,
                  [value("y", F, ["a", 3])] + ([value("all", F, ["a", 3])] if rows else []),
                  {"v0": f32(0), "zero": i64(0), "axis": i64([0])})
        draws = []
        for m, limit in ((30, 100), (1, 100), (2, 100), (30, 4), (30, -1)):
            x = f32(rng.normal(size=3))
            turns = min(m if count else 1000, max(limit, 0) + 1)
            y = np.stack([x + f32(i) for i in range(turns)])
            draws.append(([x, i64(limit)] + ([i64(m)] if count else []) + ([np.array(True)] if start else []), [y] * (2 if rows else 1)))
        none = "(Loop): the loop has no iteration, and the program was compiled for what an iteration makes"
        if count:
            draws.append(([x, i64(9), i64(0)] + ([np.array(True)] if start else []), none))
        if start:
            draws.append(([x, i64(9)] + ([i64(7)] if count else []) + [np.array(False)], none))
        return g, draws
    return make


for count, start, rows in ((1, 0, 1), (0, 1, 0), (1, 1, 1), (0, 0, 1)):
    make = grows_a_rank(count, start, rows)
    make.__name__ = f"a_scalar_becomes_a_matrix_{count}{start}{rows}"
    case(make)


def loops_that_grow(level):
    nodes = [node("Sub", "a b", "a2"), node("Concat", "v more", "w", axis=0)] if level == 0 else \
        [node("Loop", "n  a v", "a2 w", body=loops_that_grow(level - 1))]
    return body(nodes + [node("Identity", "c", "d")], [("a", I, []), ("v", F, ["k"])], ["d", "a2", "w"])


@case
def types_settle_in_deep_loops(rng):
    """Fourteen loops, each of which is imported until the types of what it carries are known. Attempts do not multiply."""
    g = graph([node("Loop", "n  a0 x", "a y", body=loops_that_grow(13))], [value("x", F, [4]), value("more", F, [1]), value("n", I, []), value("b", I, [])],
              [value("a", I, []), value("y", F, ["z"])], {"a0": i64(3)})
    x, more = f32(rng.normal(size=4)), f32(rng.normal(size=1))
    return g, [([x, more, i64(n), i64(5)], [i64(3 - 5 * n), np.concatenate([x] + [more] * n)]) for n in (0, 1)]


def loops_of_one_turn(level):
    nodes = [node("Add", "v v", "w")] if level == 0 else [node("Loop", "one  v", "w", body=loops_of_one_turn(level - 1))]
    return body(nodes + [node("ReduceMax", "w", "top", keepdims=0), node("Less", "top limit", "d")], [("v", F, [4])], ["d", "w"])


@case
def deep_loops_that_are_not_written_out(rng):
    """Sixteen loops, each of which turns out not to be written out, as its condition is not known: found once."""
    g = graph([node("Loop", "one  x", "y", body=loops_of_one_turn(15))], [value("x", F, [4]), value("limit", F, [])], [value("y", F, [4])], {"one": i64(1)})
    x = f32(rng.normal(size=4))
    return g, [([x, f32(100)], [2 * x])]


@case
def the_largest_count(rng):
    b = body([node("Add", "n one", "m"), node("Less", "m limit", "go"), node("Not", "f", "f2")],
             [("n", "int32", []), ("f", B, [1])], ["go", "m", "f2"])
    g = graph([node("Loop", "most yes n0 f0", "n f", body=b)],
              [value("n0", "int32", []), value("f0", B, [1]), value("limit", "int32", [])],
              [value("n", "int32", []), value("f", B, [1])],
              {"most": i64(2**63 - 1), "yes": np.array(True), "one": np.array(1, np.int32)})
    return g, [([np.array(0, np.int32), np.array([True]), np.array(n, np.int32)], [np.array(n, np.int32), np.array([n % 2 == 0])])
               for n in (1001, 1)]


@case
def shapes_that_follow_the_counter(rng):
    b = body([node("Unsqueeze", "i zero", "e"), node("Add", "e one", "end"), node("Slice", "x zero end", "head"),
              node("ReduceSum", "head", "r", keepdims=0), node("Add", "s r", "s2"), node("Identity", "c", "d")],
             [("s", F, [])], ["d", "s2", "r"])
    g = graph([node("Loop", "m  s0", "sum rs", body=b)], [value("x", F, ["n"]), value("m", I, []), value("s0", F, [])],
              [value("sum", F, []), value("rs", F, ["t"])], {"zero": i64([0]), "one": i64([1])})
    draws = []
    for m in (5, 9, 1):
        x = f32(rng.random(5))
        rs = [x[:i + 1].sum() for i in range(m)]
        draws.append(([x, i64(m), f32(0)], [f32(sum(rs)), f32(rs)]))
    return g, draws


# ---- a recurrent layer: one loop in one program ----


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer(steps, rng):
    """An LSTM over a known number of steps."""
    n = 16
    w, r, b = (f32(rng.uniform(-0.4, 0.4, s)) for s in ((1, 4 * n, 3), (1, 4 * n, n), (1, 8 * n)))
    g = graph([node("LSTM", "x w r b", "y last", hidden_size=n)], [value("x", F, [steps, 1, 3])],
              [value("y", F, [steps, 1, 1, n]), value("last", F, [1, 1, n])], {"w": w, "r": r, "b": b})
    x = f32(rng.uniform(-1, 1, (steps, 1, 3)))
    h, c, y = np.zeros((1, n)), np.zeros((1, n)), []
    for t in range(steps):
        i, o, f, u = np.split(x[t] @ w[0].T + h @ r[0].T + b[0, :4 * n] + b[0, 4 * n:], 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(u)
        h = sigmoid(o) * np.tanh(c)
        y.append(h)
    return g, [([x], [f32(y).reshape(steps, 1, 1, n), f32(h).reshape(1, 1, n)])]


@case
def few_steps(rng):
    return layer(10, rng)


@case
def ten_thousand_steps(rng):
    return layer(10000, rng)


def same_code(paths):
    """The kernel's source does not depend on the number of steps, but for the number."""
    text = [subprocess.run([os.environ["TENON"], "show", "kernel", os.path.join(p, "model.onnx"), "lstm"],
                           capture_output=True, text=True).stdout for p in paths]
    lines = [t.count("\n") for t in text]
    if lines[0] < 10 or lines[0] != lines[1]:
        print(f"FAIL 10 steps have a kernel of {lines[0]} lines, 10000 one of {lines[1]}")
        return False
    return True


def few_nodes(path):
    """Loops are written out as long as all of them together are few nodes."""
    r = subprocess.run([os.environ["TENON"], "compile", os.path.join(path, "model.onnx"), "--debug", "print=InsertShapeChecks",
                        "-o", os.path.join(path, "model.tno")], capture_output=True, text=True)
    text = r.stdout + r.stderr
    if not 10 < text.count("\n") < 2000:
        print(f"FAIL {path}: a module of {text.count(chr(10))} lines")
        return False
    return True


# ---- running ----


def main():
    folder, kept, names = chosen("tenon-loops-")
    failed = False
    plugins_there()
    try:
        made = {n: f(np.random.default_rng(1)) for n, f in cases.items() if not names or n in names}
        paths = [write(folder, n, *m) for n, m in made.items()]
        for how in (["-t", "cpu"], ["--interp"], ["-t", "cpu", "--verify", "--verify-budget", "20000000"]):
            some = paths if how == ["-t", "cpu"] else [p for p in paths if not p.endswith("thousand_steps")]
            if some:
                failed |= not run_cases(some, how)
        failed |= not all([run_refused(p, m[1], ["-t", "cpu"]) for p, m in zip(paths, made.values())])
        failed |= not all([few_nodes(p) for p in paths if p.endswith("few_turns")])
        layers = [p for p in paths if p.endswith("_steps")]
        failed |= len(layers) == 2 and not same_code(layers)
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
