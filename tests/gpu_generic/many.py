# SPDX-License-Identifier: Apache-2.0
"""Kernels of many buffers, with device addresses: each part of a concatenation of 100 tensors is where it belongs, of known extents and of
others, though devices let conditions nest so deep only (lavapipe: 80, and it says nothing)."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, npy_bytes, path, read_npy, tenon, write

TARGET = '{"kind": "vulkan", "supports_buffer_device_address": true, "supports_int64": true}'
MODULE = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main({}):
        with R.dataflow():
            y = R.concat(({}), axis=0)
            R.output(y)
        return y
"""
N = 100

devices = tenon("list", "devices").stdout
if not re.search(r"^gpu_generic .*\n    0: .* addresses", devices, re.M):
    print("no Vulkan device with addresses")
    sys.exit(77)
sizes = [1 + i % 3 for i in range(N)]
want = [float(10 * i + j) for i in range(N) for j in range(sizes[i])]
inputs = []
for i in range(N):
    file = write(f"x{i}.npy", npy_bytes("<f4", (sizes[i],), [10 * i + j for j in range(sizes[i])]))
    inputs += ["-i", f"x{i}={file}"]
for what, extents in (("known", [str(n) for n in sizes]), ("symbolic", [f'"n{i}"' for i in range(N)])):
    params = ", ".join(f'x{i}: R.Tensor(({extents[i]},), "float32")' for i in range(N))
    module = write(f"{what}.py", MODULE.format(params, ", ".join(f"x{i}" for i in range(N))))
    r = tenon("run", module, "-t", TARGET, "-o", path(what), *inputs)
    check(r.returncode == 0 and read_npy(path(f"{what}/0-output0.npy"))[2] == want, f"{N} tensors of {what} extents", r)
done()
