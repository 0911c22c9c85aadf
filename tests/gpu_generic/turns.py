# SPDX-License-Identifier: Apache-2.0
"""A driver that ends a thread's loops after some number of turns in silence (lavapipe: 65,535 of all together) gives no wrong result: a
launch of more is refused, by the kernel's loops and the scalars of the launch, and one of fewer is right. Elsewhere each is right."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, npy_bytes, path, read_npy, refused, tenon, write

MODULE = """\
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def adds_up(x: T.handle, y: T.handle):
        T.func_attr({{"tirx.is_scheduled": True}})
        n = T.int64()
        m = T.int64()
        X = T.match_buffer(x, (n, m), "int32")
        Y = T.match_buffer(y, (T.int64(8),), "int32")
        for i in T.thread_binding(T.int64(8), thread="threadIdx.x"):
            Y[i] = 0
{}

    @R.function
    def main(x: R.Tensor(("n", "m"), "int32")) -> R.Tensor((8,), "int32"):
        n = T.int64()
        m = T.int64()
        cls = Module
        y = R.call_tir(cls.adds_up, (x,), out_sinfo=R.Tensor((8,), "int32"))
        return y
"""
# what the loops are, how often they add 1 for n and m, and the turns that are counted with the tests of all loops but the last
LOOPS = {
    "one": ("""\
            for j in range(n * m):
                Y[i] = Y[i] + X[0, 0]""", lambda n, m: n * m, lambda n, m: n * m),
    "nested": ("""\
            for j in range(n):
                for k in range(m):
                    Y[i] = Y[i] + X[j, k]""", lambda n, m: n * m, lambda n, m: n * (m + 2)),
    "behind_each_other": ("""\
            for j in range(n):
                Y[i] = Y[i] + X[j, 0]
            for k in range(m):
                Y[i] = Y[i] + X[0, k]""", lambda n, m: n + m, lambda n, m: n + m + 1),
    "on_one_side": ("""\
            if n > m:
                for j in range(n):
                    Y[i] = Y[i] + X[j, 0]
            else:
                for k in range(m):
                    Y[i] = Y[i] + X[0, k]""", max, lambda n, m: n + m + 1),
    "quotient": ("""\
            for j in range((n + 3) // 4):
                for k in range(T.min(m, T.int64(100000))):
                    Y[i] = Y[i] + X[j, k]""", lambda n, m: (n + 3) // 4 * m, lambda n, m: (n + 3) // 4 * (m + 2)),
    "of_a_thread": ("""\
            for j in range(T.int64(65529) + i):
                Y[i] = Y[i] + X[0, 0]""", lambda n, m: 65529, lambda n, m: 65536),
}
SHAPES = {
    "one": ((1, 1), (1, 65535), (65536, 1), (3, 70000)),
    "nested": ((1, 65533), (65535, 1), (200, 320), (21845, 1), (21846, 1)),
    "behind_each_other": ((1, 65533), (1, 65535), (30000, 3), (65535, 2), (2, 65535)),
    "on_one_side": ((65533, 1), (1, 65533), (65534, 1), (1, 65534)),
    "quotient": ((4, 65533), (8, 65533), (81, 3000), (85, 3000)),
    "of_a_thread": ((1, 1),),
}

if not re.search(r"^gpu_generic .*\n    0: ", tenon("list", "devices").stdout, re.M):
    print("no Vulkan device")
    sys.exit(77)
limited = "llvmpipe" in tenon("list", "devices").stdout
for name, (loops, adds, turns) in LOOPS.items():
    module = write(f"{name}.py", MODULE.format(loops))
    artifact = path(f"{name}.tno")
    r = tenon("compile", module, "-t", "gpu_generic", "-o", artifact)
    check(r.returncode == 0, f"{name}: compiles", r)
    for n, m in SHAPES[name]:
        what = f"{name}, {n} and {m}"
        x = npy_bytes("<i4", (n, m), [1] * (n * m))
        r = tenon("run", artifact, "-i", f"x={write('x.npy', x)}", "-o", path("out"))
        if limited and turns(n, m) > 65535:
            refused(what, r, "kernel 'adds_up': the loops of a thread take up to", f"{turns(n, m)} turns", "ends them after 65535", "hint: ")
        elif r.returncode != 0:
            check(False, f"{what}: runs", r)
        else:
            found = read_npy(path("out/0-output0.npy"))[2]
            check(found == [adds(n, m) + (i if name == "of_a_thread" else 0) for i in range(8)], f"{what}: {found}", r)
done()
