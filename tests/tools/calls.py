# SPDX-License-Identifier: Apache-2.0
"""What a module says of the values of its calls is checked before a kernel relies on it: arguments of tensor programs
whose extents are not known, results of packed functions, outputs in place of an argument."""
from clitest import check, done, npy_bytes, path, refused, tenon, write

HEADER = """from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(%s):
%s    @R.function
    def main(x: %s):
        n = T.int64()
        cls = Module
        with R.dataflow():
            y = %s
            z = R.add(y, y)
            R.output(z)
        return z
"""
STATIC = ('A: T.Buffer((1000000,), "float32"), B: T.Buffer((1000000,), "float32")',
          "        for i in range(1000000):\n", "B[v] = A[v]")
NAMED = ('A: T.Buffer(("m",), "float32"), B: T.Buffer((m,), "float32")',
         "        m = T.int64()\n        for i in range(m):\n", "B[v] = A[v]")
ONE = ('A: T.Buffer(("m",), "float32")', "        m = T.int64()\n        for i in range(m):\n", "A[v] = A[v] + T.float32(1)")
X = write("x.npy", npy_bytes("<f4", [5000], [1.0] * 5000))


def wrong(name, program, x, call, *texts):
    params, loops, store = program
    body = loops + '            with T.sblock("b"):\n                v = T.axis.remap("S", [i])\n                %s\n' % store
    file = write(name + ".py", HEADER % (params, body, x, call))
    refused(name, tenon("run", "-t", "cpu", file, "-i", "#0=" + X), *texts, status=(1,))


MILLION = 'R.call_tir(cls.f, (x,), out_ty=R.Tensor((1000000,), "float32"))'
SAYS = "argument 0 of 'f' has extent 5000 in axis 0, but the program wants 1000000"
wrong("no-extents", STATIC, 'R.Tensor(ndim=1, dtype="float32")', MILLION, SAYS)
wrong("no-rank", STATIC, "R.Tensor", MILLION, SAYS)
wrong("any-object", STATIC, "R.Object", MILLION, SAYS)
wrong("one-name", NAMED, 'R.Tensor(ndim=1, dtype="float32")',
      'R.call_tir(cls.f, (x,), out_ty=R.Tensor((3,), "float32"))', "has extent 3 in axis 0, but the program wants 5000")
wrong("packed", ONE, 'R.Tensor(("n",), "float32")',
      'R.call_pure_packed("vm.builtin.copy", x, ty_args=R.Tensor((n * 1000,), "float32"))',
      "the result of vm.builtin.copy", "is 5000, expected 5000000")
wrong("packed-rank", ONE, 'R.Tensor(("n",), "float32")',
      'R.call_pure_packed("vm.builtin.copy", x, ty_args=R.Tensor((n, n), "float32"))',
      "the result of vm.builtin.copy", "has 1 dimensions, expected 2")
wrong("in-place", ONE, 'R.Tensor(("n",), "float32")',
      'R.call_tir_inplace(cls.f, (x,), inplace_indices=[0], out_ty=R.Tensor((n * 1000,), "float32"))',
      "argument 0 of 'f' has extent 5000 in axis 0, but the output in its place 5000000")

# a program's own index is not checked in a kernel; what --verify executes is, and then no kernel runs
far = write("far.py", HEADER % (NAMED[0], NAMED[1] + '            with T.sblock("b"):\n                v = T.axis.remap("S", [i])\n'
                                '                B[v + 100000] = A[v]\n', 'R.Tensor(("n",), "float32")',
                                'R.call_tir(cls.f, (x,), out_ty=R.Tensor((n,), "float32"))'))
r = tenon("run", "-t", "cpu", far, "-i", "#0=" + X, "--verify")
refused("beyond", r, "goes beyond a buffer", "but the index is 100000", "it does so already before pass ", status=(1,))
check("the results differ" not in r.stderr, "and no pass is blamed", r)
check("output0" not in r.stdout, "and no kernel ran", r)

# ---- a program that writes what it only should read ----
OUTER = """from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
%s
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.%s
            z = R.add(x, y)
            R.output(z)
        return z
"""
STORE = """        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                T.reads(A[v])
                T.writes(A[v], B[v])
                B[v] = A[v] + T.float32(1)
                A[v] = A[v] * T.float32(2)
"""
PART = """        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                T.reads(A[v])
                T.writes(A[v], B[v])
                C = T.match_buffer(A[v:v + 1], (1,), "float32", offset_factor=1)
                B[v] = C[0] + T.float32(1)
                C[0] = T.float32(2)
"""
IN_PLACE_OF_ONE = """from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
%s
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            a = R.add(x, x)
            y = R.call_tir_inplace(cls.f, (a, c), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            z = y
            R.output(z)
        return z
"""
NEW, IN_PLACE = 'call_tir(cls.f, (x,), out_ty=R.Tensor((4,), "float32"))', 'call_tir_inplace(cls.f, (x,), 0, out_ty=R.Tensor((4,), "float32"))'
for name, text in (("writes-an-argument", STORE), ("writes-a-part-of-an-argument", PART)):
    file = write(name + ".py", OUTER % (text, NEW))
    for command in (["check"], ["run"], ["compile", "--verify", "-o", path("out.tno")], ["opt", "--verify", "-p", "LegalizeOps"]):
        refused(f"{name}: {' '.join(command)}", tenon(*command, file), ":%d:" % (text.count("\n") + 11), "'f' writes its argument 0 ('A')", "R.call_tir_inplace", status=(1,))
beside = IN_PLACE_OF_ONE % (STORE.replace("A[", "C["),)
file = write("writes-beside.py", beside)
refused("writes an argument that is not in place", tenon("check", file), ":%d:" % (STORE.count("\n") + 12), "'f' writes its argument 1 ('C')",
        "inplace_indices does not have it", "add a result", status=(1,))
good = write("writes-both.py", beside.replace("[0], out_ty=R.Tensor((4,), \"float32\")", "[0, 1], out_ty=[R.Tensor((4,), \"float32\"), R.Tensor((4,), \"float32\")]")
             .replace("z = y", "z = y[0]"))
check(tenon("check", good).returncode == 0, "a program whose written arguments are in place is right")
good = write("writes-its-output.py", OUTER % (STORE.replace("A[v] = A[v] *", "B[v] = A[v] *"), NEW))
check(tenon("check", good).returncode == 0, "a program that writes its output is right")

done()
