# SPDX-License-Identifier: Apache-2.0
"""No kernel of the models spills registers, says the assembler, for architectures of four generations: in `make check` of a small model and of
a language model, in check-long of all."""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import SRC, check, done, tenon

SHARED = os.path.join(SRC, "..", "shared", "models")
MODELS = os.environ.get("TENON_MODELS") or os.path.join(SHARED, "onnx")
LLM = os.environ.get("TENON_LLM_MODELS") or os.path.join(SHARED, "llm")
files = [os.path.join(LLM, "stories260K", "stories260K.gguf"), os.path.join(SRC, "examples", "digits", "digits.onnx")]
if os.environ.get("TENON_LONG"):
    files += sorted(glob.glob(os.path.join(MODELS, "*", "model.onnx")))
for file in filter(os.path.exists, files):
    for arch in "75", "80", "90a", "100a":
        r = tenon("show", "kernel", file, "-t", "cuda", "--set", "target.cuda.arch=sm_" + arch, "--cost")
        if "NVRTC" in r.stderr:
            print("no NVRTC")
            sys.exit(77)
        kernels = re.findall(r"^(\w+)\n(?:  .*\n)*?  spilled +(\d+) bytes", r.stdout, re.M)
        wrong = [f"{k}: {n} bytes" for k, n in kernels if n != "0"]
        check(r.returncode == 0 and kernels and not wrong, f"{os.path.basename(os.path.dirname(file))}, sm_{arch}: {len(kernels)} kernels, of which spill: {wrong}", r if not kernels else None)
done()
