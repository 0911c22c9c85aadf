# SPDX-License-Identifier: Apache-2.0
"""The profile `llm` inserts its passes around a target's pipeline without changing it, shows where they come from, and a
Llama-shaped module goes through all of it to the virtual machine's code."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, refused, tenon, write  # noqa: E402
from llama import Llama  # noqa: E402

FIRST = ["DispatchKVCacheCreation", "AttachSoftmaxWithTemperature", "AttachVariableBounds", "AttachCUDAGraphSymbolicCaptureHints",
         "AttachPipelineParallelStages", "AttachLogitProcessFunc", "AttachAdditionalPrimFuncs", "AttachAllocEmbeddingTensorFunc",
         "AttachGPUSamplingFunc", "AttachSpecDecodeAuxFuncs", "AttachMemoryPlanAttr", "AttachSequenceLengthPaddingFactor",
         "BindTarget", "DispatchTritonKernel", "FuseDequantizeTranspose"]
LAST = ["LiftTIRGlobalBufferAlloc", "ScatterTupleGetItem", "PipelineParallelRewrite"]

CHECKS = ("InsertShapeChecks", "every target")


def lists(*args, target="cpu"):
    """phase -> [(pass, origin)]"""
    r = tenon("show", "pipeline", target, *args)
    out, phase = {}, None
    for line in r.stdout.splitlines():
        if not line.startswith(" "):
            phase = out.setdefault(line.split(":")[0], [])
        else:
            name, origin = line.strip().split(" ", 1)
            phase.append((name.split("{")[0], origin.strip()))
    return r, out


for target in ("cpu", "cuda", "gpu_generic", "opencl"):
    r, plain = lists(target=target)
    r2, llm = lists("--profile", "llm", target=target)
    check(r.returncode == 0 and r2.returncode == 0, f"{target}: the profile is known", r2)
    # what operators assume of extents is checked before anything else, whatever a profile inserts
    check(llm["library_dispatch"][0] == CHECKS and plain["library_dispatch"][0] == CHECKS, f"{target}: the checks come first", r2)
    del llm["library_dispatch"][0], plain["library_dispatch"][0]
    check([n for n, _ in llm["library_dispatch"]][:len(FIRST)] == FIRST, f"{target}: attaching passes come next", r2)
    check([n for n, _ in llm["finalize"]][:len(LAST)] == LAST, f"{target}: the cut comes before the finalize list", r2)
    check(all(re.search(r"profiles/llm\.ini:\d+$", o) for n, o in llm["library_dispatch"][:len(FIRST)] + llm["finalize"][:len(LAST)]),
          f"{target}: each inserted pass shows file and line", r2)
    llm["library_dispatch"], llm["finalize"] = llm["library_dispatch"][len(FIRST):], llm["finalize"][len(LAST):]
    names = [n for n, _ in llm["legalize"]]
    check(names[:names.index("LegalizeOps")][-3:] == ["FuseAddRMSNorm", "FuseTransposeMatmul", "BlockPanels"], f"{target}: products are fused before operators become programs", r2)
    at = names.index("FuseTIR") + 1
    check(names[at:at + 4] == ["FuseDequantizeMatmulEwise", "FuseDequantizeTake", "DeadCodeElimination", "CleanUpTIRAttrs"], f"{target}: programs behind FuseTIR", r2)
    check("AttachMetadataWithMemoryUsage" in [n for n, _ in llm["finalize"]], f"{target}: metadata behind the memory plan", r2)
    llm["finalize"] = [p for p in llm["finalize"] if p[0] != "AttachMetadataWithMemoryUsage"]
    llm["legalize"] = [p for p in llm["legalize"] if not re.search(r"profiles/llm\.ini:\d+$", p[1])]
    check(llm == plain, f"{target}: what the target brings stays as it is", r2)

# the cpu makes products of float32 read a transposed operand by a rule of its own, for which the operators stay
products = write("products.py", """from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 16), "float32"), w: R.Tensor((8, 16), "float32"), h: R.Tensor((4, 16), "float16"), v: R.Tensor((8, 16), "float16")):
        with R.dataflow():
            turned = R.permute_dims(w)
            single = R.matmul(x, turned)
            turned_halves = R.permute_dims(v)
            halves = R.matmul(h, turned_halves)
            gv = (single, halves)
            R.output(gv)
        return gv
""")
for target, left in (("cpu", 1), ("opencl", 0)):
    r = tenon("opt", products, "-t", target, "-p", "FuseTransposeMatmul")
    check(r.returncode == 0 and r.stdout.count("R.matmul(") == left, f"{target}: {left} products are left to its own rules", r)
refused("an unknown profile", tenon("show", "pipeline", "cpu", "--profile", "lm"), "lm")

ini = write("model.ini", """[pass AttachVariableBounds]
variable_bounds = {"batch_size": 4, "seq_len": 16, "vocab_size": 32}
[pass AttachPipelineParallelStages]
pipeline_parallel_shards = 2
[pass AttachCUDAGraphSymbolicCaptureHints]
hints = {"batch_decode": ["batch_size"]}
[pass AttachAdditionalPrimFuncs]
functions = ["kernels/copy.py"]
""")
shutil.copy(os.path.join(os.environ["top_srcdir"], "tests/llm/functions/copy.py"), write("kernels/copy.py", ""))
r, llm = lists("--profile", "llm", "--config", ini)
check("pipeline_parallel_shards=2" in r.stdout and f"options {ini}:4" in r.stdout, "options of a model's file are shown with their place", r)

for stages in (1, 2):
    model = write(f"llama{stages}.py", Llama(layers=2, stages=stages, kernels=False).module())
    args = ["compile", model, "-t", "cpu", "--profile", "llm", "-o", path(f"llama{stages}.tno"), "--dump-ir", path(f"ir{stages}")]
    r = tenon(*args, *(["--config", ini] if stages == 2 else []))
    check(r.returncode == 0 and os.path.getsize(path(f"llama{stages}.tno")) > 0 if r.returncode == 0 else False,
          f"a Llama-shaped module of {stages} stages compiles to code of the virtual machine", r)
    files = sorted(os.listdir(path(f"ir{stages}"))) if r.returncode == 0 else []
    last = open(os.path.join(path(f"ir{stages}"), files[-1])).read() if files else ""
    check(("def decode_stage1(" in last) == (stages == 2), f"{stages} stages are what the finalized module has")
    if stages == 2:
        check("def copy_single(" in last and "capture_symbolic_vars" in last, "functions and hints of the model's file are there")
done()
