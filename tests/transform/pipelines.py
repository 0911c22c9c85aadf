# SPDX-License-Identifier: Apache-2.0
"""The pipelines of the GPU targets as data: their lists run and keep the meaning, and an INI file changes them: a BYOC
pass before library_dispatch, another legalize phase, an own library_dispatch, passes dropped."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, SRC, check, done, path, refused, tenon, write  # noqa: E402

VENDOR = path("vendor")
os.makedirs(VENDOR, mode=0o700)
shutil.copy(os.path.join(BUILD, "tests/transform/.libs/testext.so"), VENDOR)
abi = next(l for l in open(os.path.join(os.environ["TENON_PLUGIN_PATH"], "ops.plugin")) if l.startswith("abi"))
manifest = open(os.path.join(SRC, "tests/transform/external/testext.plugin")).read()
write("vendor/testext.plugin", manifest.replace("abi = @ABI@", abi.strip()))
os.chmod(path("vendor/testext.plugin"), 0o600)
PLUGINS = f"{VENDOR}:{os.environ['TENON_PLUGIN_PATH']}"

NET = write("net.py", """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32"), b: R.Tensor((8,), "float32")):
        n = T.int64()
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            lv3 = R.reshape(lv2, R.shape([n * 8]))
            lv4 = R.cumsum(lv3, axis=0)
            lv5 = R.nn.softmax(lv2, axis=-1)
            gv = R.sort(lv5, axis=1)
            R.output(gv, lv4)
        return (gv, lv4)
""")
GPUS = ("cuda", "gpu_generic", "opencl")
GENERATES = [t for t in GPUS if any(line.startswith(t + " ") and "generates no kernels" not in line
                                    for line in tenon("list", "targets").stdout.splitlines())]


def passes(target, *more):
    r = tenon("show", "pipeline", target, *more, "--plugin-path", PLUGINS)
    check(r.returncode == 0, f"pipeline of {target} is shown", r)
    phases, now = {}, None
    for line in r.stdout.splitlines():
        if re.match(r"^\w+:", line):
            now = phases.setdefault(line.split(":")[0], [])
        elif now is not None and line.strip():
            now.append(re.sub(r"\{.*", "", line.split()[0]))
    return phases


def run(what, target, *more):
    out = path(re.sub(r"\W", "_", what) + ".py")
    r = tenon("opt", NET, "-p", "@pipeline", "-t", target, "-o", out, "--plugin-path", PLUGINS, *more)
    check(r.returncode == 0, f"{what}: the pipeline runs", r)
    text = open(out).read() if r.returncode == 0 else ""
    r = tenon("diff", NET, out, "--exec", "--function", "main", "--plugin-path", PLUGINS)
    check(r.returncode == 0, f"{what}: computes the same", r)
    return text


for target in GPUS:
    p = passes(target)
    own = ["CLMLDispatch"] if target == "opencl" else []
    check(p["library_dispatch"] == ["InsertShapeChecks"] + own + ["DispatchSampling", "DispatchSortScan"], f"{target}: library_dispatch")
    check([x for x in p["legalize"] if x in ("LegalizeOps", "FuseOps", "FuseTIR")] == ["LegalizeOps", "FuseOps", "FuseTIR"],
          f"{target}: legalize")
    check(("DecomposeOpsForInference" in p["legalize"]) == (target == "opencl"), f"{target}: decomposition for Adreno")
    check(("RewriteCUDAGraph" in p["finalize"]) == (target == "cuda"), f"{target}: graphs are captured on cuda only")
    text = run(f"{target} as it is", target, "--verify")
    check(text.count("threadIdx.x") >= 4 and "tirx.is_host_func" in text, f"{target}: programs are on threads, launches split off")
    low = path(f"{target}_low.py")
    r = tenon("opt", NET, "-p", "@pipeline, @lower", "-t", target, "-o", low)
    check(r.returncode == 0 and "tvm_storage_sync" in open(low).read() and "T.sblock" not in open(low).read(),
          f"{target}: kernels are lowered, with barriers", r)
    check("gpu_cumsum" in text and "gpu_sort" in text, f"{target}: scans and sorts are dispatched")
    check("vm.builtin.match_shape" in text and "R.dataflow" not in text, f"{target}: the module is in VM form")
    if target in GENERATES:
        ini = write("unscheduled.ini", f"[pipeline {target}]\ndrop = ApplyDefaultSchedule\n")
        r = tenon("compile", NET, "-t", target, "-o", path("no.tno"), "--config", ini)
        refused(f"{target}: a program without a schedule", r, "bound to threads", "rules")
    else:
        r = tenon("compile", NET, "-t", target, "-o", path("no.tno"))
        refused(f"{target}: compiling where no kernels are generated", r, "generates no kernels", "--dump-ir")
    check(not os.path.exists(path("no.tno")), f"{target}: nothing is left behind")
text = run("cuda graphs", "cuda", "--pass-config", "relax.backend.use_cuda_graph=true")

# a vendor's pass before library_dispatch
BYOC = 'FuseOpsByPattern{patterns=["testext.*"], annotate_codegen=true}, RunCodegen'
ini = write("byoc.ini", f"[pipeline cuda]\ninsert.testext = before library_dispatch: {BYOC}\n")
p = passes("cuda", "--config", ini)
check(p["library_dispatch"][:4] == ["InsertShapeChecks", "FuseOpsByPattern", "RunCodegen", "DispatchSampling"], "BYOC: inserted before the phase", None)
text = run("BYOC before library_dispatch", "cuda", "--config", ini, "--verify")
check("_testext" in text and '"external": "testext"' in text and "gpu_sort" in text, "BYOC: the library is called, the rest dispatched")
p = passes("gpu_generic", "--config", ini)
check("RunCodegen" not in p["library_dispatch"], "BYOC: other targets are as they were")

# another legalize phase
ini = write("legalize.ini", "[pipeline gpu_generic]\nlegalize = LegalizeOps, FoldConstant\n")
p = passes("gpu_generic", "--config", ini)
check(p["legalize"] == ["LegalizeOps", "FoldConstant"], "another legalize phase")
text = run("another legalize phase", "gpu_generic", "--config", ini)
check("fused_" not in text and "def softmax(" in text, "another legalize phase: nothing is fused")

# an own library_dispatch
ini = write("dispatch.ini", "[pipeline opencl]\nlibrary_dispatch = DispatchSortScan,\n    " + BYOC + "\n")
p = passes("opencl", "--config", ini)
check(p["library_dispatch"] == ["InsertShapeChecks", "DispatchSortScan", "FuseOpsByPattern", "RunCodegen"], "an own library_dispatch")
text = run("an own library_dispatch", "opencl", "--config", ini)
check("_testext" in text, "an own library_dispatch: the library is called")

# dropped
ini = write("drop.ini", "[pipeline cuda]\ndrop = FuseOps, FuseTIR, DispatchSortScan\n")
p = passes("cuda", "--config", ini)
check("FuseOps" not in p["legalize"] and p["library_dispatch"] == ["InsertShapeChecks", "DispatchSampling"], "passes dropped")
text = run("passes dropped", "cuda", "--config", ini)
check("gpu_sort" not in text and "fused_" not in text, "passes dropped: neither fusion nor dispatch")

# a target of the site, and tags
ini = write("site.ini", "[target h200]\nkind = cuda\narch = sm_90a\n[pipeline h200]\ninsert.x = after FuseOps: FoldConstant\n")
p = passes("h200", "--config", ini)
check(p["legalize"].count("FoldConstant") == 2, "a site's target has its own changes")
check(passes("cuda", "--config", ini)["legalize"].count("FoldConstant") == 1, "and the kind none of them")
r = tenon("opt", NET, "-p", "@legalize", "-t", "nvidia/nvidia-h100")
check(r.returncode == 0 and "call_tir" in r.stdout, "one phase, for a tag", r)
r = tenon("opt", NET, "-p", "@legalise", "-t", "cuda")
refused("a list that does not exist", r, "no pass list '@legalise'", "@legalize", "@gpu_lower")
ini = write("nolist.ini", "[pipeline cuda]\nfinalize = @memori, @vm\n")
r = tenon("show", "pipeline", "cuda", "--config", ini)
refused("a list that does not exist, in an INI file", r, "nolist.ini:2", "no pass list '@memori'", "@memory")
r = tenon("opt", NET, "-p", "@legalize")
refused("a phase without a target", r, "no target")
r = tenon("opt", NET, "-p", "LegalizeOps", "-t", '{"kind": "cuda", "arhc": "sm_90"}')
refused("an attribute that does not exist", r, "arhc")
done()
