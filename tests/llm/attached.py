# SPDX-License-Identifier: Apache-2.0
"""Functions that passes add for an engine compute what numpy does: probabilities with temperatures, changes of logits, gathered and scattered rows.
They are added to modules with `batch_verify`, once."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, refused, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
TARGET = os.environ.get("LLM_TARGET", "cpu")
DATA = os.path.join(os.environ["top_srcdir"], "conf", "data", "llm")
HEAD = "from tvm.script import ir as I, tirx as T, relax as R\n@I.ir_module\nclass Module:\n"
MODEL = HEAD + '''    @R.function
    def NAME(x: R.Tensor((1, 4), "float32")):
        return x

    @R.function
    def prefill_to_last_hidden_states(x: R.Tensor((1, 4), "float32")) -> R.Tuple(R.Tensor((1, 4), "float32"), R.Any):
        return (x, x)
'''


def given(name, file, more=""):
    return f'{name}{{kernels="{DATA}/{file}"{more}}}'


PASSES = (given("AttachSoftmaxWithTemperature", "softmax_with_temperature.py", ", active_vocab_size=4900") + ", " +
          given("AttachLogitProcessFunc", "logit_process.py") + ", " + given("AttachSpecDecodeAuxFuncs", "spec_decode.py"))
ADDED = ["softmax_with_temperature", "apply_logit_bias_inplace", "apply_penalty_inplace", "apply_bitmask_inplace", "scatter_probs", "gather_probs",
         "scatter_hidden_states", "gather_hidden_states"]
r = tenon("opt", write("served.py", MODEL.replace("NAME", "batch_verify")), "-p", PASSES, "-o", path("attached.py"))
check(r.returncode == 0, "functions are attached", r)
with open(path("attached.py")) as f:
    attached = f.read()
check(all(f"def {name}(" in attached for name in ADDED), f"all of {len(ADDED)} are there", r)
SAMPLING = given("AttachGPUSamplingFunc", "sampling.py")
r = tenon("opt", path("attached.py"), "-p", SAMPLING, "-t", "cpu")
check(r.returncode == 0 and "top_p" not in r.stdout, "nothing is drawn on a processor", r)
r = tenon("opt", path("attached.py"), "-p", SAMPLING, "-t", '{"kind": "vulkan"}', "-o", path("sampling.py"))
check(r.returncode == 0, "functions that draw are attached", r)
with open(path("sampling.py")) as f:
    verifying = f.read()
sampling = re.sub(r"    @[^@]*\n    def (verify_nodes|sampler_verify_draft_tokens)\([^@]*(?=    @)", "", verifying)  # which is for threads alone
check(len(sampling) < len(verifying) - 2000 and "def multinomial_from_uniform" in sampling, "verifying is attached, too")
r = tenon("opt", path("attached.py"), "-p", PASSES, "-o", path("again.py"))
check(r.returncode == 0 and tenon("diff", path("attached.py"), path("again.py")).returncode == 0, "a second time changes nothing", r)
r = tenon("opt", write("alone.py", MODEL.replace("NAME", "main")), "-p", PASSES)
check(r.returncode == 0 and "softmax" not in r.stdout and "probs" not in r.stdout and "logit" not in r.stdout, "nothing without batch_verify", r)
r = tenon("opt", path("alone.py"), "-p", PASSES.replace('"}', '", always=True}'))
check(r.returncode == 0 and all(f"def {name}(" in r.stdout for name in ADDED[1:]), "always", r)
refused("a file that is not there", tenon("opt", path("served.py"), "-p", 'AttachLogitProcessFunc{kernels="no.py"}'), "no.py")
taken = MODEL.replace("NAME", "batch_verify") + '\n    @R.function\n    def gather_rows(x: R.Tensor((1, 4), "float32")):\n        return x\n'
refused("a name that is taken", tenon("opt", write("taken.py", taken), "-p", given("AttachSpecDecodeAuxFuncs", "spec_decode.py")), "gather_rows")

CALL = '''
    @R.function
    def main({params}):
        cls = Module
        with R.dataflow():
            gv = R.call_tir_inplace(cls.{callee}, ({args},), out_ty={out}, inplace_indices=[{index}])
            R.output(gv)
        return gv
'''


def text(value):
    return f'R.Tensor({tuple(value.shape)!r}, "{value.dtype}")'


def compute(what, function, values, want, index=None, tolerance=1e-5, module=None, target=TARGET):
    """Runs an attached function; `index`: a program, called on argument number `index` in place. `want`: a tuple of results, or the one."""
    module = module or attached
    if index is not None:
        names = [f"a{i}" for i in range(len(values))]
        module += CALL.format(params=", ".join(f"{n}: {text(v)}" for n, v in zip(names, values)), callee=function, args=", ".join(names),
                              out=text(values[index]), index=index)
    args = []
    for i, v in enumerate(values):
        np.save(path(f"{i}.npy"), v)
        args += ["-i", f"#{i}={path(str(i) + '.npy')}"]
    r = tenon("run", write("run.py", module), "-t", target, "-f", "main" if index is not None else function, *args, "-o", path("out"))
    check(r.returncode == 0, f"{what}: runs", r)
    if r.returncode == 0:
        for file, right in zip(sorted(os.listdir(path("out"))), want if isinstance(want, tuple) else (want,)):
            got = np.load(os.path.join(path("out"), file))
            check(got.shape == right.shape and np.allclose(got, right, tolerance, 1e-7), f"{what}: within {np.abs(got - right).max():.1e}", r)


rng = np.random.default_rng(3)
ROWS, COLUMNS, ACTIVE = 3, 5000, 4900
logits = (rng.standard_normal((ROWS, 1, COLUMNS)) * 4).astype(np.float32)
logits[1, 0, [7, 4500]] = logits[1].max() + 1
logits[:, 0, ACTIVE + 3] = 50
temperature = np.array([0.7, 0, 2], np.float32)
x = logits[:, 0, :ACTIVE].astype(np.float64)
want = np.zeros(logits.shape)
for row in range(ROWS):
    t = temperature[row]
    p = np.exp((x[row] - x[row].max()) / t) if t > 0 else (x[row] == x[row].max()).astype(np.float64)
    want[row, 0, :ACTIVE] = p / p.sum()
compute("probabilities", "softmax_with_temperature", [logits, temperature], want, tolerance=1e-4)

plain = rng.standard_normal((ROWS, 70)).astype(np.float32)
sequence, token = np.array([0, 2, 2], np.int32), np.array([5, 0, 69], np.int32)
bias = np.array([1, -2, 3], np.float32)
want = plain.copy()
want[sequence, token] += bias
compute("biases", "apply_logit_bias_inplace", [plain, sequence, token, bias], want, 0)

row, of = np.array([2, 0], np.int32), np.array([0, 1, 1], np.int32)
count = np.array([2, 1, 4], np.int32)
penalties = np.array([[0.5, 0.25, 1.5], [0.1, 0.2, 2]], np.float32)
want = plain.copy()
for i in range(3):
    v = want[row[of[i]], token[i]] - (penalties[of[i], 0] + count[i] * penalties[of[i], 1])
    want[row[of[i]], token[i]] = v * penalties[of[i], 2] if v < 0 else v / penalties[of[i], 2]
compute("penalties", "apply_penalty_inplace", [plain, row, of, token, count, penalties], want, 0)

bits = rng.integers(-2**31, 2**31, (ROWS, 3), dtype=np.int32)
want = plain.copy()
for s in row:
    allowed = (bits[s, np.arange(70) // 32] >> (np.arange(70) % 32)) & 1
    want[s, allowed == 0] = np.finfo(np.float32).min
compute("masks", "apply_bitmask_inplace", [plain, row, bits], want, 0)

source, places = rng.standard_normal((2, 70)).astype(np.float32), np.array([2, 0], np.int32)
want = plain.copy()
want[places] = source
compute("scattered", "scatter_probs", [source, places, plain], want, 2)
compute("scattered states", "scatter_hidden_states", [source, places, plain], want)
compute("gathered", "gather_probs", [plain, places, source], plain[places], 2)
compute("gathered states", "gather_hidden_states", [plain, places, source], plain[places])

probs = rng.random((2, 300)).astype(np.float32) ** 4
probs /= probs.sum(axis=1, keepdims=True)
top_p, number, row = np.array([0.8, 0.3], np.float32), np.array([0.05, 0.5, 0.97, 0.4], np.float32), np.array([0, 0, 1, 1], np.int32)
order = np.argsort(-probs, axis=1, kind="stable").astype(np.int32)
ordered = np.take_along_axis(probs, order, axis=1)
compute("sorted", "argsort_probs", [probs], (ordered, order), module=sampling)
sums = np.cumsum(ordered.astype(np.float64), axis=1)
cut = (sums < top_p[:, None]).sum(axis=1)
mass = sums[np.arange(2), cut]
drawn = np.array([order[r, (sums[r] <= u * mass[r]).sum()] for u, r in zip(number, row)], np.int32)
compute("drawn of the nucleus", "sample_with_top_p", [ordered, order, number, row, top_p], drawn, module=sampling)
plainly = np.array([(np.cumsum(probs[r].astype(np.float64)) <= u).sum() for u, r in zip(number, row)], np.int32)
compute("drawn of all", "multinomial_from_uniform", [probs, number, row], plainly, module=sampling)
nucleus = np.where(probs >= ordered[np.arange(2), cut][:, None], probs / mass[:, None], 0)
compute("the nucleus", "renormalize_by_top_p", [probs, top_p, np.zeros((2, 3), np.float32)], nucleus, module=sampling, tolerance=1e-4)
places = np.array([0, 1, 300, 305], np.int32)
compute("of samples", "sampler_take_probs", [probs, order, row, drawn, places],
        (probs[row, drawn], ordered.reshape(-1)[places], order.reshape(-1)[places]), module=sampling)

# Verifying drafts: what upstream's kernel (mlc_llm.op.batch_spec_verify) does, node by node, of trees with whole shares of 1/64.
def verified(draft, token, model, child, sibling, number, last):
    model, last = model.copy(), last.copy()
    for b in range(len(last)):
        at = child[last[b]]
        while at >= 0:
            if model[last[b], token[at]] >= number[at] * draft[at, token[at]]:
                last[b], at = at, child[at]
                continue
            more = np.maximum(model[last[b]] - draft[at], 0)
            if more.sum() < 1e-7:
                last[b], at = at, child[at]
            else:
                model[last[b]], at = more / more.sum(), sibling[at]
    return model, last


DEVICES = tenon("list", "devices").stdout
ends = set()
for target in ("opencl", "gpu_generic"):
    if not re.search(rf"^{target} .*\n    0: (?!not usable)", DEVICES, re.M):
        continue
    for seed in range(6):
        draws = np.random.default_rng(seed)
        nodes, columns, batch = 21, 150, 3
        child, sibling = np.full(nodes, -1, np.int32), np.full(nodes, -1, np.int32)
        for node in range(batch, nodes):  # the first ones are roots
            parent = draws.integers(max(0, node - 8), node)
            sibling[node], child[parent] = child[parent], node
        shares = draws.dirichlet(np.full(6, 0.5))
        draft, model = (np.zeros((nodes, columns), np.float32) for _ in range(2))
        for rows in (draft, model):
            rows[:, draws.choice(columns, 6, replace=False) if rows is model and seed == 5 else np.arange(6) * 25] = draws.multinomial(64, shares, nodes) / 64
        model[0] = draft[child[0]] = draft[3]
        token = draft.argmax(axis=1).astype(np.int32)
        number = draws.random(nodes).astype(np.float32)
        last = np.arange(batch, dtype=np.int32)
        given_ = [draft, token, model, child, sibling, number, last]
        want = verified(*given_)
        ends |= {int(w) - b for b, w in enumerate(want[1])}
        compute(f"verified on {target}", "sampler_verify_draft_tokens", given_, want, module=verifying, target=target, tolerance=1e-6)
check(not ends or len(ends) > 3, f"drafts were taken and refused: {ends}")
done()
