# SPDX-License-Identifier: Apache-2.0
"""tenon show kernel --cost: bytes, operations, conflicts of banks and limits of a kernel whose numbers are known, of one whose extents
are not, and what has no cost. Threads that reduce side by side meet in no bank."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, refused, tenon, write

MODULE = '''from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def strides(A: T.Buffer((256,), "float32"), B: T.Buffer((2048,), "float32")):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("strides"):
                    vb, vt = T.axis.remap("SS", [b, t])
                    T.reads(A[vb * 64 + vt])
                    T.writes(B[(vb * 64 + vt) * 8:(vb * 64 + vt) * 8 + 8])
                    S = T.sblock_alloc_buffer((2048,), "float32", scope="shared")
                    S[vt * 32] = A[vb * 64 + vt]
                    T.evaluate(T.tvm_storage_sync("shared"))
                    for i in range(8):
                        B[(vb * 64 + vt) * 8 + i] = S[vt] * T.float32(2) + T.float32(1)
    @R.function
    def main(x: R.Tensor((256,), "float32"), y: R.Tensor(("n", 32), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.strides, (x,), out_sinfo=R.Tensor((2048,), "float32"))
            b = R.add(y, y)
            R.output(a, b)
        return (a, b)
'''
model = write("strides.py", MODULE)
if "no code generator" in tenon("show", "kernel", model, "-t", "gpu_generic").stderr:
    print("gpu_generic has no code generator here")
    sys.exit(77)
r = tenon("show", "kernel", model, "strides", "-t", "gpu_generic", "--cost")
lines = dict(re.findall(r"^  (\S+(?: \S+)*) {2,}(\S.*)$", r.stdout, re.M))
for what, number in (("blocks", "4"), ("threads of a block", "64 x 1 x 1 = 64 of at most 256"),
                     ("shared memory", f"{(63 * 32 + 1) * 4} bytes of at most 16384; 2 blocks fit there together"), ("global bytes read", "1024"),
                     ("global bytes written", "8192"), # 8 warps: 4 sectors read, and at each of 8 iterations one for each thread written
                     ("global bytes moved", f"{8 * (4 + 8 * 32) * 32} in sectors of 32"), ("shared bytes", f"{256 * 9 * 4} read and written"),
                     ("float operations", str(256 * 8 * 2)), ("turns of a thread", "9 of its loops, with their tests"),
                     ("bank conflicts", "1 accesses; at most 31 further turns (buffer 'S')")):
    check(lines.get(what) == number, f"{what}: {number}", r)
r = tenon("show", "kernel", model, "add", "-t", "gpu_generic", "--cost")
check(re.search(r"^  blocks .*\bn\b", r.stdout, re.M) and re.search(r"^  global bytes read .*\bn\b", r.stdout, re.M) and "strides" not in r.stdout,
      "numbers of extents that are not known are expressions of them", r)
r = tenon("show", "kernel", model, "-t", "gpu_generic", "--cost")
check(r.returncode == 0 and re.findall(r"^\w+$", r.stdout, re.M) == ["add", "strides"], "without a name each kernel's is shown", r)
thin = write("thin.py", MODULE[:MODULE.index("    @T.prim_func")] + '''    @R.function
    def main(x: R.Tensor((1, 256), "float32"), w: R.Tensor((256, 10), "float32")):
        with R.dataflow():
            b = R.matmul(x, w)
            R.output(b)
        return b
''')
r = tenon("show", "kernel", thin, "matmul", "-t", "gpu_generic", "--cost")
check(re.search(r"^  threads of a block     32 x 8 x 1 ", r.stdout, re.M) and re.search(r"^  bank conflicts +none$", r.stdout, re.M) and
      re.search(r"^  shared bytes +[1-9]", r.stdout, re.M), "threadIdx.y sums in shared memory without conflicts", r)
# 256 by 256 by 256 in tiles of 64 by 64 and steps of 32: 4 warps with 32 by 32 each
square = write("square.py", MODULE[:MODULE.index("    @T.prim_func")] + '''    @R.function
    def main(x: R.Tensor((256, 256), "float16"), w: R.Tensor((256, 256), "float16")):
        with R.dataflow():
            b = R.matmul(x, w, out_dtype="float32")
            R.output(b)
        return b
''')
units = ('{"kind": "vulkan", "supports_float16": true, "supports_16bit_buffer": true, "thread_warp_size": 32, "max_shared_memory_per_block": 32768, '
         '"cooperative_matrix": "16x16x16"}')
r = tenon("show", "kernel", square, "matmul", "-t", units, "--cost")
loads, stores = 16 * 8 * 4 * (32 + 32) * 32 * 2, 16 * 8 * 2 * 64 * 32 * 2  # of the products; of the tiles
check(re.search(rf"^  float operations +{2 * 256 ** 3}$", r.stdout, re.M), "matrix units: the threads of a warp share a product", r)
shared = re.search(r"^  shared bytes +(\d+) ", r.stdout, re.M)
check(shared and loads + stores <= int(shared.group(1)) < loads + stores + 16 * 64 * 64 * 4 * 3, "and load each element of its operands once", r)
if os.path.exists(os.path.join(os.environ["TENON_PLUGIN_PATH"], "cpu.so")):
    plain = write("plain.py", MODULE[:MODULE.index("    @T.prim_func")] + '''    @R.function
    def main(y: R.Tensor((4, 32), "float32")):
        with R.dataflow():
            b = R.add(y, y)
            R.output(b)
        return b
''')
    refused("kernels of the processor", tenon("show", "kernel", plain, "-t", "cpu", "--cost"), "not for threads of a GPU", status=(1,))
refused("a pass", tenon("show", "pass", "FuseOps", "--cost"), "option '--cost' has no effect on 'show pass'", status=(2,))
done()
