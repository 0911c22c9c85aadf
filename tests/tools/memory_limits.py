# SPDX-License-Identifier: Apache-2.0
"""Whatever limit on memory a process has, compiling and running end with a result or with a message, never by a signal.

Ten models at fifty limits with TENON_LONG, else three at ten; the limits lie closer where programs begin to fit.
"""
import os
import resource
import shutil
import subprocess

from clitest import BUILD, DIGITS, SRC, check, done, path

LONG = bool(os.environ.get("TENON_LONG"))
PROGRAM = os.path.join(BUILD, "tools", ".libs", "tenon")
if not os.path.exists(PROGRAM):
    PROGRAM = os.path.join(BUILD, "tools", "tenon")
NAMES = ("digits", "attention_causal", "resize_antialias_axes_exclude_0", "lp_pool_dilations_ceil", "reduce_l2_noop",
         "quantize_blocks", "grid_sample_three_axes_linear", "cumprod_exclusive_reverse", "bitcast_float_int32", "grid_sample_dynamic")


def models():
    writer = os.path.join(BUILD, "tests", "onnx", "write_cases")
    found = [os.path.join(DIGITS, "digits.onnx")]
    if os.path.exists(writer):
        os.mkdir(path("cases"))
        subprocess.run([writer, os.path.join(SRC, "tests", "onnx", "cases.txt"), path("cases")], check=True,
                       stdout=subprocess.DEVNULL)
        for name in NAMES[1:]:
            p = os.path.join(path("cases"), name, "model.onnx")
            if os.path.exists(p):
                found.append(p)
    return found if LONG else found[:3]


def limited(mib, words):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, errors="replace", timeout=300, preexec_fn=limit)


n = 60 if LONG else 10
limits = sorted({int(3 * (900 / 3) ** (i / (n - 1))) for i in range(n)} | ({6, 8, 10, 11} if LONG else set()))
for model in models():
    name = os.path.basename(model if model.endswith("digits.onnx") else os.path.dirname(model))
    for what, words in (("compile", ["compile", model, "-t", "cpu", "--no-cache", "-o", path("out.tno")]),
                        ("run", ["run", model, "-t", "null"])):
        bad, fine = [], 0
        for mib in limits:
            r = limited(mib, words)
            fine += r.returncode == 0
            # 127: the loader itself had no memory for the libraries
            if r.returncode not in (0, 1, 127) or (r.returncode and not r.stderr.strip()):
                bad.append((mib, r.returncode, r.stderr[-200:]))
        check(not bad, f"{what} {name} at {len(limits)} limits, {fine} of them enough" + (f": {bad[:3]}" if bad else ""))
shutil.rmtree(path("cases"), ignore_errors=True)
done()
