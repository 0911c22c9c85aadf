# SPDX-License-Identifier: Apache-2.0
"""Products and lookups with weights in codes, as MLC-LLM's modules have them: with the profile `llm` one program computes each, as numpy
does, for any number of rows and columns."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
K = 64
TARGET = os.environ.get("LLM_TARGET", "cpu")

MODULE = '''
from tvm.script import ir as I, tirx as T, relax as R
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def weights(q_: T.handle, s_: T.handle, w_: T.handle):
        T.func_attr({{"tirx.noalias": True}})
        n = T.int64()
        q = T.match_buffer(q_, (n, T.int64({words})), "uint32")
        s = T.match_buffer(s_, (n, T.int64({groups})), "float16")
        w = T.match_buffer(w_, (n, T.int64({k})), "float16")
        codes = T.sblock_alloc_buffer((n, T.int64({k})), "float16")
        for i, j in T.grid(n, T.int64({k})):
            with T.sblock("codes"):
                vi, vj = T.axis.remap("SS", [i, j])
                codes[vi, vj] = T.Cast("float16", T.bitwise_and(T.shift_right(q[vi, vj // T.int64({per})],
                                                                              T.Cast("uint32", vj % T.int64({per}) * T.int64({bits}))), T.uint32({mask})))
        for i, j in T.grid(n, T.int64({k})):
            with T.sblock("w"):
                vi, vj = T.axis.remap("SS", [i, j])
                w[vi, vj] = (codes[vi, vj] - T.float16({zero})) * s[vi, vj // T.int64(32)]

    @R.function
    def main(x: R.Tensor(({m}, {k}), "float16"), q: R.Tensor(({n}, {words}), "uint32"), s: R.Tensor(({n}, {groups}), "float16"),
             ids: R.Tensor(("l",), "int32")):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.weights, (q, s), out_ty=R.Tensor(({n}, {k}), "float16"))
            lv1 = R.permute_dims(lv)
            y = R.matmul(x, lv1)
            lv2 = R.call_tir(cls.weights, (q, s), out_ty=R.Tensor(({n}, {k}), "float16"))
            rows = R.take(lv2, ids, axis=0)
            gv = (y, rows)
            R.output(gv)
        return gv
'''


def module(bits, m, n):
    per = 32 // bits
    return MODULE.format(bits=bits, per=per, mask=(1 << bits) - 1, zero=(1 << (bits - 1)) - 1, k=K, words=K // per, groups=K // 32, m=m, n=n)


def drawn(rng, bits, m, n):
    per = 32 // bits
    q = rng.integers(0, 1 << 32, (n, K // per), dtype=np.uint32)
    s = (0.01 + rng.random((n, K // 32)) * 0.02).astype(np.float16)
    x = rng.standard_normal((m, K)).astype(np.float16)
    ids = rng.integers(0, n, 5).astype(np.int32)
    codes = (q[:, :, None] >> (np.arange(per, dtype=np.uint32) * bits) & ((1 << bits) - 1)).reshape(n, K).astype(np.float32)
    w = (codes - ((1 << (bits - 1)) - 1)) * np.repeat(s, 32, axis=1).astype(np.float32)
    return {"x": x, "q": q, "s": s, "ids": ids}, x.astype(np.float32) @ w.T, w[ids]


rng = np.random.default_rng(5)
for bits in (4, 8):
    for symbolic in (False, True):
        for m, n in ((1, 40), (3, 40), (20, 40), (2, 4), (33, 136)) if symbolic else ((1, 40), (3, 136), (20, 40)):
            what = f"{bits} bits, {'symbolic ' if symbolic else ''}{m} rows, {n} columns"
            file = write(f"codes-{bits}.py", module(bits, '"m"' if symbolic else m, '"n"' if symbolic else n))
            inputs, want, taken = drawn(rng, bits, m, n)
            args = []
            for name, value in inputs.items():
                np.save(path(f"{name}.npy"), value)
                args += ["-i", f"{name}={path(name + '.npy')}"]
            r = tenon("run", file, "-t", TARGET, "--profile", "llm", *args, "-o", path("out"))
            check(r.returncode == 0, f"{what}: runs", r)
            if r.returncode != 0:
                continue
            files = sorted(os.listdir(path("out")))
            got = [np.load(os.path.join(path("out"), f)).astype(np.float32) for f in files]
            for value, right in zip(got, (want, taken)):
                off = np.abs(value - right).max() / np.abs(right).max()
                check(off < 2e-3, f"{what}: within {off:.1e}")
    r = tenon("opt", path(f"codes-{bits}.py"), "-t", TARGET, "--set", f"pipeline.{TARGET}.insert.a=before LegalizeOps: FuseTransposeMatmul", "--set",
              f"pipeline.{TARGET}.insert.b=after FuseTIR: FuseDequantizeMatmulEwise, FuseDequantizeTake, DeadCodeElimination", "-p", "@legalize")
    graph = r.stdout[r.stdout.find("@R.function"):]
    check(r.returncode == 0 and graph.count("R.call_tir(") == 2, f"{bits} bits: two programs are left", r)
done()
