# SPDX-License-Identifier: Apache-2.0
"""Modules that MLC-LLM's own definitions export compute in float32, with random weights, what TVM computes with the same module, token by token, in
batches, and with what is forked and taken back: on cpu and opencl, or on LLM_TARGET. mlc_sweep.py compiles all of them for all targets.

TENON_MLC names a checkout of MLC-LLM, TENON_MLC_PYTHON a Python with apache-tvm 0.26; without them the test is skipped. MLC_ONLY: names of
models. MLC_KEEP: a folder in which exported models stay, and are taken from the next time."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from clitest import BUILD, check, done, path, tenon  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
PYTHON = os.environ.get("TENON_MLC_PYTHON")
if not PYTHON or not os.environ.get("TENON_MLC"):
    print("TENON_MLC and TENON_MLC_PYTHON are not set")
    sys.exit(77)
TARGETS = os.environ.get("LLM_TARGET", "cpu opencl").split()
EXPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mlc_export.py")
COMPARED, TOLERANCE = "q0f32", 1e-3  # of the logits' deviation
COMPARED_MODELS = ("llama mistral qwen qwen2 qwen3 gemma gemma2 gemma3 phi phi3 gpt2 gpt_neox gptj stablelm baichuan internlm internlm2 starcoder2 "
                   "minicpm olmo cohere chatglm deepseek_v2 rwkv5 rwkv6").split()
# Upstream's own batch_decode is wrong in two families: GPT-2's says that a step has one position, DeepSeek-V2's rotates all rows by the
# position of the first.
WAYS = {"gpt2": ("steps", "again"), "deepseek_v2": ("steps", "once", "chunks", "again"),
        "gemma3": ("steps", "batch"), "mistral": ("steps", "batch"),  # others go back behind what has left the window
        **{name: ("steps", "chunks", "batch", "again") for name in ("rwkv5", "rwkv6")}}  # their batch_prefill takes one sequence
ONLY = os.environ.get("MLC_ONLY", " ".join(COMPARED_MODELS)).split()
KEEP = os.environ.get("MLC_KEEP") or path("models")


def exported(name):
    folder = os.path.join(KEEP, f"{name}-{COMPARED}")
    if os.path.exists(os.path.join(folder, "logits.json")):
        return folder
    r = subprocess.run([PYTHON, EXPORT, name, COMPARED, folder], capture_output=True, text=True)
    if r.returncode:
        print(f"     {name}: upstream fails: {(r.stderr.strip().splitlines() or ['?'])[-1][:160]}")
    return folder if r.returncode == 0 else None


def compare(what, artifact, folder, ways):
    with open(os.path.join(folder, "logits.json")) as f:
        told = json.load(f)
    want = np.load(os.path.join(folder, "logits.npy"))
    with open(os.path.join(folder, "model.py")) as f:
        extends = {"EXTENDS": "1"} if "def batch_extend(" in f.read() else {}
    check(want.std() > 0.1, f"{what}: TVM's logits spread by {want.std():.2f}")
    for way in ways:
        out = path("logits.bin")
        r = subprocess.run([os.path.join(BUILD, "tests/llm/logits"), artifact, out, way, *map(str, told["ids"])], capture_output=True, text=True,
                           env={**os.environ, "VOCABULARY": str(told["vocabulary"]), "WINDOW": str(told.get("window", 0)), **extends})
        check(r.returncode == 0, f"{what}, {way}: runs", r)
        if r.returncode == 0:
            got = np.fromfile(out, np.float32).reshape(len(told["ids"]), -1)[told["prompt"] - 1:]
            told_rows = ~np.isnan(got[:, 0])  # of chunks the last row of each
            check(told_rows.any() and (way == "chunks" or told_rows.all()), f"{what}, {way}: {told_rows.sum()} rows")
            worst = np.abs(got - want)[told_rows].max() / want.std()
            check(worst < TOLERANCE, f"{what}, {way}: within {worst:.1e} of TVM's")


compared = 0
for name in ONLY:
    folder = exported(name)
    if not folder:
        continue
    with open(os.path.join(folder, "logits.json")) as f:
        windows = ["--set", "pass.DispatchKVCacheCreation.windows=true"] if json.load(f).get("window") else []
    for target in TARGETS:
        r = tenon("compile", folder, "-t", target, *windows, "-o", path("model.tno"))
        check(r.returncode == 0, f"{name} {target}: compiles with its weights", r)
        if r.returncode == 0:
            compare(f"{name} {target}", path("model.tno"), folder, WAYS.get(name, ("steps", "batch", "mixed", "again")))
            compared += 1
check(compared > 0, f"{compared} modules were compared")
done()
