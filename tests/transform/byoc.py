# SPDX-License-Identifier: Apache-2.0
"""A vendor's plugin from patterns to external calls, checked by execution: tests/transform/external."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, SRC, check, done, path, refused, tenon, write  # noqa: E402

VENDOR = path("vendor")
os.makedirs(VENDOR, mode=0o700)
abi = next(l for l in open(os.path.join(os.environ["TENON_PLUGIN_PATH"], "ops.plugin")) if l.startswith("abi"))
for name in ("testext", "testext_rt"):
    shutil.copy(os.path.join(BUILD, f"tests/transform/.libs/{name}.so"), VENDOR)
    manifest = open(os.path.join(SRC, f"tests/transform/external/{name}.plugin")).read()
    write(f"vendor/{name}.plugin", manifest.replace("abi = @ABI@", abi.strip()))
    os.chmod(path(f"vendor/{name}.plugin"), 0o600)
PLUGINS = f"{VENDOR}:{os.environ['TENON_PLUGIN_PATH']}"


def module(dtype="float32"):
    t = lambda s: f'R.Tensor({s}, dtype="{dtype}")'  # noqa: E731
    return write(f"net_{dtype}.py", f"""
@I.ir_module
class Module:
    @R.function
    def main(x: {t((4, 8))}, w: {t((8, 8))}, b: {t("(8,)")}) -> {t((4, 8))}:
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            lv3 = R.matmul(lv2, w)
            lv4 = R.exp(lv3)
            gv = R.matmul(lv4, w)
            R.output(gv)
        return gv
""")


PARTITION = 'FuseOpsByPattern{patterns=["testext.*"], annotate_codegen=true}'
MERGE = 'FuseOpsByPattern{patterns=["testext.*"]}, MergeCompositeFunctions'
REST = ("LegalizeOps, AnnotateTIROpPattern, FoldConstant, FuseOps, FuseTIR, RewriteDataflowReshape, ToNonDataflow, "
        "RemovePurityChecking, CallTIRRewrite, StaticPlanBlockMemory, LowerAllocTensor, KillAfterLastUse, "
        "LowerRuntimeBuiltin, ComputePrimValue, VMShapeLower, AttachGlobalSymbol")


def opt(name, passes, *more, model=None):
    out = path(name + ".py")
    r = tenon("opt", model or module(), "-p", passes, "-o", out, "--plugin-path", PLUGINS, *more)
    check(r.returncode == 0, f"{name}: passes run", r)
    return out, (open(out).read() if r.returncode == 0 else "")


def same(name, out, model=None):
    r = tenon("diff", model or module(), out, "--exec", "--function", "main", "--plugin-path", PLUGINS)
    check(r.returncode == 0, f"{name}: computes the same", r)


out, text = opt("partitioned", PARTITION)
check(text.count('"Composite": "testext.matmul_bias_relu"') == 1, "the pattern of higher priority is tried first")
check(text.count('"Composite": "testext.matmul"') == 1, "equal functions are shared")
check('"WorkspaceSize": 1024' in text, "attributes that a plugin adds to a match")
same("partitioned", out)

out, text = opt("merged", MERGE)
check(text.count('"Codegen": "testext"') == 2, "calls that follow each other are merged, others not")
same("merged", out)

for name, first in (("annotated", PARTITION), ("merged", MERGE)):
    out, text = opt(name + " external", first + ", RunCodegen{target_options={\"testext\": {\"level\": 3}}}")
    check("R.call_dps_packed(" in text and '"Codegen"' not in text, f"{name}: calls are external")
    check('"external": "testext"' in text, f"{name}: the function stays as the meaning")
    check('"level": 3' in text, f"{name}: options reach the generator, its payload the module")
    same(name + " external", out)
    out, text = opt(name + " finalized", first + ", RunCodegen, " + REST, "--verify")
    check("@R.function\n" in text, f"{name}: meanings survive the whole pipeline")
    same(name + " finalized", out)

half = module("float16")
r = tenon("opt", half, "-p", PARTITION + ", RunCodegen", "--plugin-path", PLUGINS)
refused("a generator that does not support a function", r, "testext", "fallback=true")
out, text = opt("fallback", PARTITION + ", RunCodegen{fallback=true}", model=half)
check("call_dps_packed" not in text and '"Codegen"' not in text, "with fallback the function is compiled here")
same("fallback", out, model=half)
out, text = opt("site's fallback", PARTITION + ", RunCodegen", "--set", "tenon.fallback=true", model=half)
check("call_dps_packed" not in text and '"Codegen"' not in text, "with the site's fallback as well")
r = tenon("opt", module("float64"), "-p", PARTITION + ", RunCodegen{fallback=true}", "-o", path("recorded.py"),
          "--plugin-path", PLUGINS)
check(r.returncode == 0 and "it is compiled here: testext has no float64" in r.stderr,
      "an error that the generator records is the warning's reason", r)

r = tenon("opt", module(), "-p", 'FuseOpsByPattern{patterns=["nobody.mm := matmul(x, w)"], annotate_codegen=true}, RunCodegen',
          "--plugin-path", PLUGINS)
refused("a codegen that no plugin offers", r, "no plugin offers the codegen 'nobody'")
# ---- and into an artifact that runs, with the loader of the vendor's runtime plugin ----
weights = ", ".join("[" + ", ".join(str((i * 5 + j * 3) % 7 - 3) + ".0" for j in range(8)) + "]" for i in range(8))
net = write("constant.py", f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), b: R.Tensor((8,), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            lv = R.matmul(x, R.const([{weights}], "float32"))
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            lv3 = R.exp(lv2 * R.const(0.001, "float32"))
            gv = R.matmul(lv3, R.const([{weights}], "float32"))
            R.output(gv)
        return gv
""")
ini = write("run.ini", f"[pipeline cpu]\ninsert.vendor = before library_dispatch: "
            'FuseOpsByPattern{patterns=["testext.*"], annotate_codegen=true, bind_constants=false}, RunCodegen\n')
tno, plain, log = path("vendor.tno"), path("plain.tno"), path("testext.log")
r = tenon("compile", net, "-t", "cpu", "-o", tno, "--config", ini, "--plugin-path", PLUGINS)
check(r.returncode == 0, "external calls: compiles", r)
r = tenon("compile", net, "-t", "cpu", "-o", plain)
check(r.returncode == 0, "the same without: compiles", r)
r = tenon("run", plain, "-o", path("results"))
result = [f for f in os.listdir(path("results")) if f.endswith(".npy")][0]
expect = ("--expect", f"#0={path('results')}/{result}")
r = tenon("run", tno, *expect, "--plugin-path", PLUGINS, env={"TESTEXT_LOG": log})
check(r.returncode == 0, "external calls: the loader's results are the compiler's", r)
lines = open(log).read().splitlines() if os.path.exists(log) else []
check(len([l for l in lines if l.startswith("open")]) == 2 and len([l for l in lines if l.startswith("call")]) == 2 and
      all(l.endswith("constants 1") for l in lines), "both functions went to the loader, which knows the constant arguments")
r = tenon("run", tno)
refused("an artifact whose loader is not there", r, "testext", "loader")
r = tenon("opt", module(), "-p", 'FuseOpsByPattern{patterns=["testext.matmull"]}', "--plugin-path", PLUGINS)
refused("a pattern that no plugin offers", r, "testext.matmull")
done()
