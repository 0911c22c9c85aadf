# SPDX-License-Identifier: Apache-2.0
"""A decode step of a small quantized language model: its products with 4-bit matrices on the stand-in, results as elsewhere."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from clmltest import INI, PLUGINS, device_half, expected, layer, log_of, made, wrong  # noqa: E402
from clitest import check, done, npy_bytes, path, refused, tenon, write  # noqa: E402
import llm_step  # noqa: E402

CLOSE = ("--rtol", "2e-2", "--atol", "1e-2")
UNRECORDED = "cl_tenon_ml_ops_standin"  # the extension without recordable queues
STEP = write("step.py", llm_step.module())
ARTIFACT = path("step.tno")


def inputs(length):
    """-i arguments for a cache of that length."""
    return [a for name, data in llm_step.inputs(length, seed=length).items()
            for a in ("-i", f"{name}={write(f'in{length}/{name}.npy', data)}")]


def dispatch(target, name, model=STEP, *more):
    return tenon("compile", model, "-t", target, "-o", path(name), "--config", INI, "--plugin-path", PLUGINS, *more)


# What goes where.
r = dispatch("clml", "step.tno", STEP, "--log", "info")
check(r.returncode == 0, "the step compiles", r)
told = [l for l in r.stderr.splitlines() if "CLMLDispatch: " in l]
check(sum("a product with a 4-bit matrix" in l for l in told) == 4,
      "the log names a function for each of the four shapes of matrices", r)
check(any("left to kernels: add" in l for l in told), "and what is left to kernels", r)

# The same artifact for caches of different lengths, against the processor and plain OpenCL.
for length in (1, 9):
    given, out = inputs(length), path(f"out{length}")
    r = tenon("run", STEP, "-t", "cpu", *given, "-o", out)
    check(r.returncode == 0, f"length {length}: runs on the processor", r)
    r = tenon("run", ARTIFACT, *given, *expected(out), *CLOSE, "--plugin-path", PLUGINS, "--log", "info",
              env=layer(f"step{length}"))
    check(r.returncode == 0 and r.stderr.count(" equals ") == 5, f"length {length}: the extension's results are the processor's", r)
    check(r.stderr.count("version 5") == 4 and "fully_connected" in r.stderr, f"length {length}: the log tells of the functions", r)
    ran = [l for l in log_of(f"step{length}") if l.startswith("clEnqueue") and "Copy" not in l]
    check(ran.count("clEnqueueMLOpQCOM fully_connected_q4 (recorded)") == 4 and ran.count("clEnqueueRecordingMLOpQCOM") == 15 and
          len(ran) == 19, f"length {length}: recorded once a shape, replayed for 15 products, nothing else: {len(ran)}")
    check(r.stderr.count(", recorded,") == 4, f"length {length}: the log tells of recordings", r)
    check(made(f"step{length}") == ["FullyConnected"] * 4 and not wrong(f"step{length}"),
          f"length {length}: one operation a shape, none refused, nothing left: {wrong(f'step{length}')}")
r = tenon("run", ARTIFACT, *inputs(9), *expected(path("out9")), *CLOSE, "--plugin-path", PLUGINS, "--log", "info",
          env=layer("queues", NAMES=UNRECORDED))
ran = [l for l in log_of("queues") if l.startswith("clEnqueue") and "Copy" not in l]
check(r.returncode == 0 and ran == ["clEnqueueMLOpQCOM fully_connected_q4"] * 15 and "enqueued one by one" in r.stderr,
      "without recordable queues: 15 products one by one", r)
r = tenon("run", STEP, "-t", "opencl", *inputs(9), *expected(path("out9")), *CLOSE)
check(r.returncode == 0 and r.stderr.count(" equals ") == 5, "plain OpenCL gives the processor's results", r)

# Each pass means what the module meant before it, as the interpreter sees it.
r = tenon("opt", STEP, "-p", "CLMLDispatch", "-t", "clml", "-o", path("dispatched.py"), "--config", INI)
check(r.returncode == 0 and open(path("dispatched.py")).read().count("call_dps_packed(") == 15, "all 15 products are dispatched", r)
r = tenon("diff", STEP, path("dispatched.py"), "--exec")
check(r.returncode == 0, "the interpreter computes the same of both", r)

# Without the extension, with an older one, and where the configuration offers kernels as well.
r = tenon("run", ARTIFACT, *inputs(9), "--plugin-path", PLUGINS)
refused("a device without the extension", r, "clml")
r = tenon("run", ARTIFACT, *inputs(9))
refused("a Tenon that was built without it", r, "--with-clml")
r = tenon("run", ARTIFACT, *inputs(9), "--plugin-path", PLUGINS, env=layer("old", VERSION=4))
refused("version 4 of it", r, "version 5", "version 4", "CLMLDispatch{version=4}")
r = tenon("run", ARTIFACT, *inputs(9), "--plugin-path", device_half("opencl_clml4_rt"), env=layer("sdk"))
refused("a Tenon that was built with an SDK of version 4", r, "version 5", "version 4")
r = dispatch("clml,opencl", "both.tno")
check(r.returncode == 0, "an artifact with both variants", r)
for name, env, enqueued in (("none", {}, 0), ("four", layer("four", VERSION=4), 0), ("five", layer("five"), 15)):
    r = tenon("run", path("both.tno"), *inputs(9), *expected(path("out9")), *CLOSE, "--plugin-path", PLUGINS, env=env)
    check(r.returncode == 0 and r.stderr.count(" equals ") == 5 and
          sum(l.startswith("clEnqueueRecordingMLOp") for l in log_of(name)) == enqueued, f"both variants, extension {name}: {enqueued} products on it", r)
r = dispatch("clml", "four.tno", STEP, "--set", "pass.CLMLDispatch.version=4")
check(r.returncode == 0, "dispatched for version 4", r)
r = tenon("run", path("four.tno"), *inputs(9), *expected(path("out9")), *CLOSE, "--plugin-path", PLUGINS, env=layer("for4", VERSION=4))
check(r.returncode == 0 and not made("for4"), "runs there, as kernels", r)

# Failures of what only these products call.
for name in ("clCreateMLTensorWithUsageQCOM:3", "clCreateMLOpFullyConnectedQCOM", "clEnqueueMLOpQCOM:3",
             "clUpdateMLTensorMemoryDescriptorSetQCOM:2", "clNewRecordingQCOM:2", "clEndRecordingQCOM", "clEnqueueRecordingMLOpQCOM:3"):
    r = tenon("run", ARTIFACT, *inputs(9), "--plugin-path", PLUGINS, env=layer("fault", FAIL=name))
    refused(name + " fails", r, "CL_OUT_OF_RESOURCES")
    check(not any(l.startswith("leaked") for l in log_of("fault")), name + " fails: nothing is left")


# Any number of rows.
def rows_of(programs, weight, factor, body):
    return f"""
@I.ir_module
class Module:{programs}
    @R.function
    def main(x: R.Tensor((1, "n", 64), dtype="float16"), w: R.Tensor({weight}, dtype="uint32"), s: R.Tensor({factor}, dtype="float16")):
        n = T.int64()
        cls = Module
        with R.dataflow():
{chr(10).join("            " + l for l in body)}
            R.output(gv)
        return gv
"""


UNPACKED = ['d = R.call_tir(cls.weight_64_40, (w, s), out_ty=R.Tensor((64, 40), "float16"))']
ROWS = write("rows.py", rows_of(llm_step.program(64, 40), (8, 40), (2, 40), UNPACKED + ["gv = R.matmul(x, d)"]))
r = dispatch("clml", "rows.tno", ROWS)
check(r.returncode == 0, "rows of any number compile", r)


def halves(*shape):
    size = 1
    for n in shape:
        size *= n
    return npy_bytes("<f2", shape, [((7 * i + 3) % 33 - 16) / 16 for i in range(size)])


weights = npy_bytes("<u4", (8, 40), [i * 2654435761 % 2**32 for i in range(320)])
fixed = ["-i", f"w={write('w.npy', weights)}", "-i", f"s={write('s.npy', halves(2, 40))}"]
for rows in (1, 3, 0, 100):
    given = ["-i", f"x={write('x.npy', halves(1, rows, 64))}", *fixed]
    out = path(f"rows{rows}")
    r = tenon("run", ROWS, "-t", "cpu", *given, "-o", out)
    check(r.returncode == 0, f"{rows} rows: run on the processor", r)
    r = tenon("run", path("rows.tno"), *given, *expected(out), *CLOSE, "--plugin-path", PLUGINS, env=layer(f"rows{rows}"))
    check(r.returncode == 0 and " equals " in r.stderr and not wrong(f"rows{rows}"), f"{rows} rows: the same on the extension", r)
    check(sum(l.startswith("clEnqueueMLOpQCOM") for l in log_of(f"rows{rows}")) == (rows > 0) and
          any(l.startswith("clUpdateMLOp") for l in log_of(f"rows{rows}")) == (rows > 0), f"{rows} rows: told to the operation")
for name in ("clSetMLTensorDimensionsQCOM:2", "clUpdateMLOpQCOM"):
    r = tenon("run", path("rows.tno"), *given, "--plugin-path", PLUGINS, env=layer("fault", FAIL=name))
    refused(name + " fails", r, "CL_OUT_OF_RESOURCES", "100 rows")
    check(not any(l.startswith("leaked") for l in log_of("fault")), name + " fails: nothing is left")

# What only looks alike stays a kernel, the log says why, and results are the processor's.
FORM = llm_step.TWO_BLOCKS
TURNED = (FORM.replace("packed: T.Buffer(({w}, {n})", "packed: T.Buffer(({n}, {w})")
          .replace("factor: T.Buffer(({g}, {n})", "factor: T.Buffer(({n}, {g})")
          .replace("packed[vi // 8, vj]", "packed[vj, vi // 8]").replace("factor[vi // {per}, vj]", "factor[vj, vi // {per}]"))
LONG = (FORM.replace("packed: T.Buffer(({w}, {n})", "packed: T.Buffer(({k}, 8)").replace("factor: T.Buffer(({g}, {n})", "factor: T.Buffer(({k}, 2)")
        .replace("packed[vi // 8, vj]", "packed[vi, vj // 8]").replace("vi % 8 * 4", "vj % 8 * 4")
        .replace("factor[vi // {per}, vj]", "factor[vi, vj // {per}]"))
PRODUCT = UNPACKED + ["gv = R.matmul(x, d)"]
ALIKE = {
    "another zero": (llm_step.program(64, 40, zero=8), (8, 40), (2, 40), PRODUCT, "something else than (number - 7) * factor"),
    "groups of 64": (llm_step.program(64, 40, per=64), (8, 40), (1, 40), PRODUCT, "for 64 numbers, the extension's for 32"),
    "3 bits": (llm_step.program(64, 40).replace("T.uint32(15)", "T.uint32(7)"), (8, 40), (2, 40), PRODUCT, "something else than"),
    "the high numbers first": (llm_step.program(64, 40).replace("vi % 8 * 4", "(7 - vi % 8) * 4"), (8, 40), (2, 40), PRODUCT,
                               "something else than"),
    "a neighbour's factor": (llm_step.program(64, 40).replace("factor[vi // 32, vj]", "factor[1 - vi // 32, vj]"), (8, 40), (2, 40), PRODUCT,
                             "something else than"),
    "a matrix that is used again": (llm_step.program(64, 40), (8, 40), (2, 40), UNPACKED + ["y = R.matmul(x, d)", "gv = (y, R.sum(d))"],
                                    "used by something else"),
    "float32": (llm_step.program(64, 40), (8, 40), (2, 40), PRODUCT, "a matrix of float32, the extension's are of float16"),
    "words of a turned matrix": (llm_step.program(64, 40, TURNED), (40, 8), (40, 2), PRODUCT, "words lie as (N, K / 8)"),
    "a turned matrix": (llm_step.program(40, 64, LONG), (40, 8), (40, 2),
                        ['d = R.call_tir(cls.weight_40_64, (w, s), out_ty=R.Tensor((40, 64), "float16"))', "gv = R.matmul(x, R.permute_dims(d))"],
                        "words lie as (N, K / 8)"),
}
for name, (*module, why) in ALIKE.items():
    kind = "float32" if name == "float32" else "float16"
    model = write("alike.py", rows_of(*module).replace("float16", kind))
    r = tenon("opt", model, "-p", "CLMLDispatch", "-t", "clml", "--config", INI, "--log", "info")
    check(r.returncode == 0 and "call_dps_packed" not in r.stdout, name + " is left alone", r)
    told = [l for l in r.stderr.splitlines() if ": left to kernels: " in l and "weight_" in l]
    check(len(told) == 1 and why in told[0], f"{name}: the log says why: {told}")
    if "turned" not in name and name != "float32":
        continue
    values = [((7 * i + 3) % 33 - 16) / 16 for i in range(192)]
    sizes = {"x": (1, 3, 64), "s": module[2]}
    given = ["-i", f"w={write('alike-w.npy', npy_bytes('<u4', module[1], [i * 2654435761 % 2**32 for i in range(module[1][0] * module[1][1])]))}"]
    for n, shape in sizes.items():
        count = shape[0] * shape[1] * (shape[2] if len(shape) == 3 else 1)
        given += ["-i", f"{n}={write(f'alike-{n}.npy', npy_bytes('<f4' if kind == 'float32' else '<f2', shape, values[:count]))}"]
    out = path("alike-" + name.replace(" ", "-"))
    r = tenon("run", model, "-t", "cpu", *given, "-o", out)
    check(r.returncode == 0, name + ": runs on the processor", r)
    r = dispatch("clml", "alike.tno", model)
    check(r.returncode == 0, name + ": compiles", r)
    r = tenon("run", path("alike.tno"), *given, *expected(out), *CLOSE, "--plugin-path", PLUGINS, env=layer("alike"))
    check(r.returncode == 0 and " equals " in r.stderr and not made("alike"), name + ": kernels give the processor's results", r)
r = tenon("opt", ROWS, "-p", "CLMLDispatch{version=4}", "-t", "clml", "--config", INI, "--log", "info")
check(r.returncode == 0 and "call_dps_packed" not in r.stdout and "need version 5" in r.stderr, "the log names the option `version`", r)
r = tenon("opt", ROWS, "-p", "CLMLDispatch", "-t", "clml", "--config", INI)
check("call_dps_packed" in r.stdout, "what these are compared with goes", r)
done()
