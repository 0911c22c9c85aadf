# SPDX-License-Identifier: Apache-2.0
"""A plugin's own schedule rules: they are found and listed, take their turn in the list, and wrong ones are named."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, SRC, check, done, path, refused, tenon, write  # noqa: E402

VENDOR = path("vendor")
os.makedirs(VENDOR, mode=0o700)
shutil.copy(os.path.join(BUILD, "tests/transform/.libs/testrule.so"), VENDOR)
abi = next(l for l in open(os.path.join(os.environ["TENON_PLUGIN_PATH"], "ops.plugin")) if l.startswith("abi"))
manifest = open(os.path.join(SRC, "tests/transform/external/testrule.plugin")).read()
write("vendor/testrule.plugin", manifest.replace("abi = @ABI@", abi.strip()))
os.chmod(path("vendor/testrule.plugin"), 0o600)
PLUGINS = f"{VENDOR}:{os.environ['TENON_PLUGIN_PATH']}"
MARK = '"testrule.one_loop": True'

# `one` has one block, which testrule.OneLoop takes; `two` has two, which it leaves
NET = write("net.py", """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def one(A: T.Buffer((T.int64(6), T.int64(5)), "float32"), B: T.Buffer((T.int64(6), T.int64(5)), "float32")):
        for i, j in T.grid(T.int64(6), T.int64(5)):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def two(A: T.Buffer((T.int64(6), T.int64(5)), "float32"), C: T.Buffer((T.int64(6),), "float32")):
        B = T.sblock_alloc_buffer((T.int64(6), T.int64(5)))
        for i, j in T.grid(T.int64(6), T.int64(5)):
            with T.sblock("square"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(T.int64(6), T.int64(5)):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + B[vi, vj]

    @R.function
    def main(x: R.Tensor((6, 5), "float32")) -> R.Tensor((6,), "float32"):
        cls = Module
        lv = R.call_tir(cls.one, (x,), out_sinfo=R.Tensor((6, 5), "float32"))
        gv = R.call_tir(cls.two, (lv,), out_sinfo=R.Tensor((6,), "float32"))
        return gv
""")


def opt(rules, *more, target="opencl"):
    return tenon("opt", NET, "-p", f"ApplyDefaultSchedule{{rules=[{rules}]}}", "-t", target, "--plugin-path", PLUGINS,
                 *more)


def funcs(text):
    """The text of each tensor program, by its name."""
    parts = re.split(r"^    @[TR]\.", text, flags=re.M)
    return {re.search(r"def (\w+)\(", p)[1]: p for p in parts[1:]}


def scheduled(what, rules, one, two, target="opencl"):
    """The rules leave each function marked by testrule, bound to threads by a rule for GPUs, or as it was."""
    out = path("out.py")
    r = opt(rules, "-o", out, target=target)
    check(r.returncode == 0, f"{what}: the pass runs", r)
    if r.returncode:
        return
    got = funcs(open(out).read())
    for name, want in (("one", one), ("two", two)):
        is_ = "testrule" if MARK in got[name] else "gpu" if "threadIdx.x" in got[name] else "nobody"
        check(is_ == want, f"{what}: '{name}' goes to {want}, went to {is_}")
        check(("tirx.is_scheduled" in got[name]) == (want != "nobody"), f"{what}: '{name}' says whether it is scheduled")
    r = tenon("diff", NET, out, "--exec", "--function", "main", "--plugin-path", PLUGINS)
    check(r.returncode == 0, f"{what}: computes the same", r)


# found, listed, shown; not there without the plugin
r = tenon("list", "rules", "--plugin-path", PLUGINS)
check(r.returncode == 0 and "testrule.OneLoop" in r.stdout and "gpu.Matmul" in r.stdout, "listed beside the others", r)
r = tenon("show", "rule", "testrule.OneLoop", "--plugin-path", PLUGINS)
check(r.returncode == 0 and "only block" in r.stdout and "testrule" in r.stdout, "shown with what it does", r)
r = tenon("list", "rules")
check(r.returncode == 0 and "testrule" not in r.stdout, "not listed without the plugin", r)
r = tenon("opt", NET, "-p", "ApplyDefaultSchedule{rules=[testrule.OneLoop]}", "-t", "opencl")
refused("without the plugin", r, "no schedule rule 'testrule.OneLoop'")

# the first that takes a function wins
scheduled("before the others", "testrule.OneLoop, Fallback", "testrule", "gpu")
scheduled("behind the others", "Fallback, testrule.OneLoop", "gpu", "gpu")
scheduled("alone", "testrule.OneLoop", "testrule", "nobody")
scheduled("behind one that takes nothing", "testrule.Nothing, testrule.OneLoop, Fallback", "testrule", "gpu")
scheduled("by its short name", "OneLoop", "testrule", "nobody", target="cpu")
refused("its short name for another target", opt("OneLoop"), "no schedule rule 'OneLoop'", "opencl")

# in a pipeline that an INI file changes
TAIL = "Matmul, LowBatchGEMV, GEMV, Reduction, Transpose, Fallback"
for what, rules, one in (("first", f"testrule.OneLoop, {TAIL}", True), ("last", f"{TAIL}, testrule.OneLoop", False)):
    ini = write(f"{what}.ini", "[pipeline opencl]\ndrop = ApplyDefaultSchedule, FuseOps, FuseTIR\n"
                f"insert.own = after LegalizeOps: ApplyDefaultSchedule{{rules=[{rules}]}}\n")
    r = tenon("opt", NET, "-p", "@pipeline", "-t", "opencl", "--config", ini, "--plugin-path", PLUGINS)
    check(r.returncode == 0, f"{what} in an INI file: the pipeline runs", r)
    check((MARK in r.stdout) == one, f"{what} in an INI file: it {'takes' if one else 'does not get'} the function", r)

# wrong ones
refused("a parameter less", opt("testrule.Fewer"), "'testrule.Fewer'", "1 parameters", "which has 2", "'one'")
refused("another shape", opt("testrule.Reshaped"), "'testrule.Reshaped'", "changed the parameters", "'one'")
refused("no tensor program", opt("testrule.Other"), "'testrule.Other'", "tensor program", "'one'")
refused("an error", opt("testrule.Failing"), "the device has no loops", "'testrule.Failing'", "'one'")
refused("an error, behind another", opt("testrule.OneLoop, testrule.Failing"), "the device has no loops", "'two'")
scheduled("a wrong one behind that is not asked", "Fallback, testrule.Fewer", "gpu", "gpu")
done()
