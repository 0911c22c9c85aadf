#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside each other for every model: the bytes that StaticPlanBlockMemory{mode=arena} plans, and the lower bound, which is
the largest sum of tensors alive at one time.

    memory_plan.py [NAME=BOUND...] MODEL...            ONNX files or TVMScript modules; largest values of dynamic extents

Environment: TENON (default: tenon), TARGET (default: gpu_generic, for which nothing is compiled). Exit status 1 when a plan is
more than 10% above its bound, beside what the alignment of its tensors to 64 bytes takes."""
import json
import os
import re
import subprocess
import sys
import tempfile

TENON, TARGET = os.environ.get("TENON", "tenon"), os.environ.get("TARGET", "gpu_generic")
NOTE = re.compile(r"pass StaticPlanBlockMemory: (.*): (\d+) tensors in (\d+) bytes; at least (\d+) are alive")
failed = False
bounds = {n: int(v) for n, v in (a.split("=") for a in sys.argv[1:] if re.fullmatch(r"\w+=\d+", a))}
models = [a for a in sys.argv[1:] if not re.fullmatch(r"\w+=\d+", a)]
print(f'{"model: function":<48} {"tensors":>8} {"planned":>14} {"lower bound":>14} {"above":>8}')
with tempfile.TemporaryDirectory() as work:
    config = os.path.join(work, "bounds.ini")
    with open(config, "w") as f:
        f.write(f"[pipeline {TARGET}]\ninsert.bounds = before library_dispatch:\n  AttachVariableBounds{{variable_bounds=\n")
        f.write("  " + json.dumps(bounds).replace(", ", ",\n  ") + "}\n")
    for model in models:
        name = os.path.basename(os.path.dirname(model)) if os.path.basename(model) == "model.onnx" else os.path.basename(model)
        r = subprocess.run([TENON, "compile", model, "-t", TARGET, "--log", "info", "--config", config, "-o", os.path.join(work, "out.tno")],
                           capture_output=True, text=True, errors="replace")
        notes = NOTE.findall(r.stderr)
        for f, n, planned, bound in notes:
            above = 100 * (int(planned) / max(int(bound), 1) - 1)
            over = int(planned) - 64 * int(n) > 1.1 * int(bound)
            failed |= over
            print(f'{name + ": " + f:<48} {n:>8} {planned:>14} {bound:>14} {above:7.2f}%{"  above 10%" if over else ""}', flush=True)
        if not notes:
            said = next((l for l in r.stderr.splitlines() if "generates no kernels" not in l and not l.startswith((" ", "tenon:"))), "nothing to plan")
            failed |= said != "nothing to plan"
            print(f"{name:<48} {said[:100]}", flush=True)
sys.exit(1 if failed else 0)
