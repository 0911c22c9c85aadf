# SPDX-License-Identifier: Apache-2.0
"""DispatchSampling and DispatchSortScan: what the GPU kernels compute equals what the operators' generic programs do,
on the interpreter, whose thread groups run in step between barriers."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, refused, tenon, write  # noqa: E402


def function(name, params, value, dataflow=True):
    body = f"        with R.dataflow():\n            a = {value}\n            R.output(a)\n" if dataflow else f"        a = {value}\n"
    return f"    @R.function\n    def {name}({params}):\n{body}        return a\n"


def module(name, *functions, infos=""):
    return write(name + ".py", "@I.ir_module\nclass Module:\n" + infos + "\n".join(functions))


F = 'x: R.Tensor({}, "{}")'.format
CASES = [
    ("rows", F("(3, 5)", "float32"), "R.cumsum(x, axis=1)", "gpu_cumsum"),
    ("first_axis", F("(7, 4)", "float32"), "R.cumsum(x, axis=0)", "gpu_cumsum"),
    ("middle_axis", F("(2, 6, 3)", "float32"), "R.cumsum(x, axis=1)", "gpu_cumsum"),
    ("negative_axis", F("(2, 3, 9)", "int32"), "R.cumsum(x, axis=-1)", "gpu_cumsum"),
    ("exclusive", F("(2, 9)", "float32"), "R.cumsum(x, axis=1, exclusive=True)", "gpu_exclusive_cumsum"),
    ("flat", F("(4, 5)", "float32"), "R.cumsum(x)", "gpu_cumsum"),
    ("several_tiles", F("(2, 2500)", "float32"), "R.cumsum(x, axis=1)", "gpu_cumsum"),
    ("tile_exact", F("(1, 1024)", "int32"), "R.cumsum(x, axis=1, exclusive=True)", "gpu_exclusive_cumsum"),
    ("other_dtype", F("(2, 5)", "int8"), 'R.cumsum(x, axis=1, dtype="int64")', "gpu_cumsum"),
    ("symbolic", F('("m", "n")', "float32"), "R.cumsum(x, axis=1)", "gpu_cumsum"),
    ("product", F("(3, 7)", "float32"), "R.cumprod(x, axis=1)", "gpu_cumprod"),
    ("product_exclusive", F("(3, 7)", "float64"), "R.cumprod(x, axis=0, exclusive=True)", "gpu_exclusive_cumprod"),
    ("sort", F("(3, 17)", "float32"), "R.sort(x, axis=1)", "gpu_sort"),
    ("sort_descending", F("(3, 17)", "int32"), "R.sort(x, axis=0, descending=True)", "gpu_sort_descending"),
    ("sort_one", F("(3, 1)", "float32"), "R.sort(x, axis=1)", "gpu_sort"),
    ("sort_long", F("(2, 700)", "float32"), "R.sort(x, axis=1)", "gpu_sort"),
    ("sort_float16", F("(2, 40)", "float16"), "R.sort(x, axis=1)", "gpu_sort"),
    ("argsort_ties", F("(2, 300)", "int8"), "R.argsort(x, axis=1)", "gpu_sort"),
    ("argsort_descending_ties", F("(2, 300)", "int8"), 'R.argsort(x, axis=1, descending=True, dtype="int64")', "gpu_sort_descending"),
    ("topk", F("(4, 33)", "float32"), "R.topk(x, k=5, axis=1)", "gpu_sort_descending"),
    ("topk_smallest", F("(4, 33, 2)", "float32"), "R.topk(x, k=3, axis=1, largest=False)", "gpu_sort"),
    ("topk_values", F("(4, 33)", "float32"), 'R.topk(x, k=2, axis=0, ret_type="values")', "gpu_sort_descending"),
    ("topk_indices", F('("n", 12)', "float32"), 'R.topk(x, k=2, axis=1, ret_type="indices", dtype="int64")', "gpu_sort_descending"),
    ("topk_all", F("(4, 6)", "float32"), "R.topk(x, k=-1, axis=1)", "gpu_sort_descending"),
]
for dataflow in (True, False):
    src = module(f"all_{dataflow}", *(function(n, p, v, dataflow) for n, p, v, k in CASES))
    out = path(f"gpu_{dataflow}.py")
    r = tenon("opt", src, "-p", "DispatchSortScan", "-t", "cuda", "-o", out)
    text = open(out).read() if r.returncode == 0 else ""
    check(r.returncode == 0 and "R.cumsum" not in text and "R.sort" not in text and "R.topk" not in text,
          f"every call is dispatched, dataflow={dataflow}", r)
    check(text.count("def gpu_") <= 20, "one kernel serves all shapes of an element type")
    for seed in (1, 2):
        r = tenon("diff", src, out, "--exec", "--seed", seed)
        check(r.returncode == 0 and f"{len(CASES)} functions run" in r.stdout, f"the kernels compute the same, seed {seed}", r)
for name, params, value, kernel in CASES:
    r = tenon("opt", module(name, function("main", params, value)), "-p", "DispatchSortScan", "-t", "gpu_generic",
              "--set", "target.gpu_generic.supports_float64=yes")
    check(r.returncode == 0 and f"def {kernel}(" in r.stdout, f"{name}: {kernel}", r)
    r = tenon("opt", path(name + ".py"), "-p", "DispatchSortScan", "-t", "cpu")
    check(r.returncode == 0 and "call_tir" not in r.stdout, f"{name}: not on the cpu", r)
r = tenon("opt", module("bucketize", function("main", 'x: R.Tensor((4,), "float32"), y: R.Tensor((3,), "float32")', "R.bucketize(x, y)")),
          "-p", "DispatchSortScan, LegalizeOps", "-t", "cuda")
check(r.returncode == 0 and "def bucketize(" in r.stdout, "bucketize keeps its generic program", r)

# the device of the call decides, then the current target
both = module("devices", function("on_gpu", 'x: R.Tensor((2, 8), "float32", "cuda")', "R.cumsum(x, axis=1)"),
              function("elsewhere", F("(2, 8)", "float32"), "R.cumsum(x, axis=1)"),
              infos='    I.module_global_infos({"vdevice": [I.vdevice("cuda")]})\n')
r = tenon("opt", both, "-p", "DispatchSortScan", "-t", "cpu")
check(r.returncode == 0 and r.stdout.count("cls.gpu_cumsum") == 1 and r.stdout.count("R.cumsum") == 1,
      "the virtual device decides before the current target", r)
r = tenon("opt", both, "-p", "DispatchSortScan")
check(r.returncode == 0 and r.stdout.count("R.cumsum") == 1, "without a target only calls on devices are dispatched", r)

# sampling
def sampling(name, rows, size, samples, dtype="float32", out="int64"):
    return function(name, f'prob: R.Tensor(({rows}, {size}), "{dtype}"), u: R.Tensor(({samples}, 1), "float32")',
                    f'R.multinomial_from_uniform(R.nn.softmax(prob, axis=-1), R.clip(u, 0.01, 0.98), R.full(R.shape([{samples}, 1]), R.const(1, "int64"), dtype="int64"), dtype="{out}")')


src = module("sampling", sampling("small", 3, 5, 6), sampling("long", 2, 3000, 4), sampling("narrow", 2, 64, 3, out="int32"),
             sampling("half", 2, 40, 3, dtype="float16"))
outs = {}
for target in ("cpu", "cuda", "gpu_generic"):
    outs[target] = path(f"sampling_{target}.py")
    r = tenon("opt", src, "-p", "Normalize, DispatchSampling", "-t", target, "-o", outs[target])
    if r.returncode:
        r = tenon("opt", src, "-p", "DispatchSampling", "-t", target, "-o", outs[target])
    text = open(outs[target]).read() if r.returncode == 0 else ""
    want = "def get_sample_index" if target == "cpu" else "def parallel_sampling_from_prob"
    check(want in text and "multinomial" not in text, f"sampling on {target}", r)
for seed in range(3):
    r = tenon("diff", outs["cpu"], outs["cuda"], "--exec", "--seed", seed)
    check(r.returncode == 0, f"both kernels draw the same, seed {seed}", r)
for target in ("cpu", "cuda"):
    r = tenon("opt", module("ranks", function("main", 'p: R.Tensor((3, 5), "float32"), u: R.Tensor((6, 1), "float32"), i: R.Tensor((6, 1), "int64")',
                                              'R.multinomial_from_uniform(p, u, i, dtype="int64")')), "-p", "DispatchSampling", "-t", target)
    check(r.returncode == 0, f"plain ranks on {target}", r)
done()
