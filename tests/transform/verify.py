# SPDX-License-Identifier: Apache-2.0
"""--verify of passes that change signatures, or what operators compute, on purpose: every function is compared."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402


def npy(name, shape, values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    return write(name, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}f", *values))


def verified(what, text, passes, count, *more):
    """The passes run, `count` functions are compared and none is left out."""
    r = tenon("opt", write("case.py", text), "-p", passes, "--verify", "-o", path("out.py"), *more)
    check(r.returncode == 0 and f"{count} functions verified" in r.stderr and "not verified" not in r.stderr, what, r)


MAIN = """@I.ir_module
class Module:
    @R.function
    def main({params}) -> R.Tensor({out}, "float32"):
        R.func_attr({{"num_input": 1}})
        with R.dataflow():
{body}
            R.output(gv)
        return gv
"""


def main(params, out, *body):
    return MAIN.format(params=params, out=out, body="\n".join("            " + b for b in body))


w = npy("w.npy", "(4, 3)", [0.25 * i - 1 for i in range(12)])
MATMUL = main('x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, "m"), "float32")', '("n", "m")', "gv = R.matmul(x, w)")
verified("BindParams: an array, and the symbolic variables that it determines", MATMUL,
         f'BindParams{{func_name=main, params={{"w": "@{w}"}}}}', 1)
verified("BindParams: by the place of the parameter", MATMUL,
         f"""BindParams{{func_name=main, params={{"Module['main'].params[1]": "@{w}"}}}}""", 1)
verified("BindSymbolicVars: a number", MATMUL, 'BindSymbolicVars{binding_map={"n": 5}}', 1)
verified("BindSymbolicVars: an expression", MATMUL, 'BindSymbolicVars{binding_map={"n": "m * 2 + 1"}}', 1)
verified("ToMixedPrecision: parameters become float16", MATMUL, 'ToMixedPrecision{fp16_input_names=["w", "x"]}', 1)

LIFTED = main('x: R.Tensor((2, 4), "float32"), w: R.Tensor((3, 4), "float32"), b: R.Tensor((3,), "float32")', "(2, 3)",
              "lv = R.permute_dims(w)", "lv1 = R.matmul(x, lv)", "lv2 = R.exp(b)", "gv = R.add(lv1, lv2)")
verified("LiftTransformParams", LIFTED, "LiftTransformParams", 1)
verified("LiftTransformParams: weights are released", LIFTED, "LiftTransformParams", 1, "--pass-config",
         "relax.lift_transform_params.consume_params=true")
verified("LiftTransformParams: a second time", LIFTED, "LiftTransformParams, LiftTransformParams", 2)
verified("LiftTransformParams: and what follows", LIFTED, "LiftTransformParams, LegalizeOps", 3)
verified("LiftTransformParams: a scalar among the weights",
         main('x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32"), s: R.Prim(value="s")', '("s",)',
              "lv = R.exp(w)", "lv1 = R.add(x, lv)", 'gv = R.full(R.shape([s]), R.const(2.0, "float32"))'),
         "LiftTransformParams", 1)
SHARED = LIFTED + "\n".join(LIFTED.replace("def main", "def other").replace("R.exp(b)", "R.negative(b)").splitlines()[2:]) + "\n"
verified("LiftTransformParams: shared by two functions", SHARED, "LiftTransformParams{shared_transform=true}", 2)

TAKE = """@I.ir_module
class Module:
    @R.function
    def main(i: R.Tensor((6,), "int64"), t: R.Tensor((ROWS, 3), "float32")) -> R.Tensor((6, 3), "float32"):
        with R.dataflow():
            gv: R.Tensor((6, 3), "float32") = R.take(t, i, axis=0)
            R.output(gv)
        return gv
"""
for rows in 1, 2, 4:
    verified(f"made-up integers are indices of a table of {rows}", TAKE.replace("ROWS", str(rows)), "LegalizeOps", 1)

NORM = main(", ".join(["x: R.Tensor((2, 3, 4), \"float32\")"] + [f'{p}: R.Tensor((3,), "float32")' for p in "gbmv"]), "(2, 3, 4)",
            "bn = R.nn.batch_norm(x, g, b, m, v, axis=1, training=TRAINING)", "gv = bn[0]")
for name in "DecomposeOpsForTraining", "DecomposeOpsForInference":
    for training in True, False:
        # marked for the other use it stays, or is not verified: it computes something else then
        text, only = NORM.replace("TRAINING", str(training)), f"{name}{{only_marked=True}}"
        if training == (name == "DecomposeOpsForTraining"):
            verified(f"{name}: batch_norm with training={training}", text, name, 1)
            verified(f"{only}: batch_norm with training={training}", text, only, 1)
        else:
            r = tenon("opt", write("case.py", text), "-p", name, "--verify", "-o", path("out.py"))
            check(r.returncode == 1 and "not verified" in r.stderr, f"{name}: batch_norm with training={training} is not verified", r)
            verified(f"{only}: batch_norm with training={training} stays", text, f"{only}, LegalizeOps", 1)
verified("Tensors and shapes whose extents the types do not tell", """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32"), y: R.Tensor(dtype="float32"), s: R.Shape(ndim=2)) -> R.Tensor(dtype="float32"):
        z = R.add(x, x)
        z1 = R.add(x, x)
        w = R.broadcast_to(R.add(y, z), s)
        v = R.add(w, z1)
        return v
""", "CanonicalizeBindings, EliminateCommonSubexpr", 1)
done()
