#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random chains of convolutions (conv_chains.py) through the whole cpu pipeline, against NumPy; for vectors of 32 and 16
bytes and this machine's."""
import os
import sys

try:
    import numpy as np
except ImportError:  # another Python of this machine may have it
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("no Python with NumPy (Debian: python3-numpy): skipped")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "models"))
from clitest import check, done, path, tenon, write  # noqa: E402
from conv_chains import chain  # noqa: E402

TARGETS = ["cpu", '{"kind": "cpu", "mcpu": "x86-64-v2"}', '{"kind": "cpu", "mcpu": "native"}']


def main():
    first, count = 1, 300 if os.environ.get("TENON_LONG") else 16
    if len(sys.argv) > 1:
        first, count = int(sys.argv[1]), 1
    blocked = 0
    for seed in range(first, first + count):
        text, x, y = chain(seed)
        module = write(f"{seed}.py", text)
        np.save(path(f"{seed}.x.npy"), x)
        np.save(path(f"{seed}.y.npy"), y)
        target = TARGETS[seed % 3]
        r = tenon("run", module, "-t", target, "-i", f"x={path(f'{seed}.x.npy')}", "--expect",
                  f"output0={path(f'{seed}.y.npy')}", "--rtol", "1e-4", "--atol", "2e-5")
        check(r.returncode == 0, f"chain {seed} of {text.count('R.nn.conv')} convolutions, {target}", r)
        laid_out = tenon("opt", module, "-t", "cpu", "-p", "BlockLayouts").stdout
        blocked += "NCHW8c" in laid_out or "NCW8c" in laid_out
    if count > 1:
        check(blocked > count // 3, f"{blocked} of {count} have blocks of channels")
    done()


main()
