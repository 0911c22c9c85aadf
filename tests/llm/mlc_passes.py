# SPDX-License-Identifier: Apache-2.0
"""Passes of MLC-LLM's pipeline make of the same module what upstream's make of it, structurally equal; where not, the reason stands in DIFFERENT.

Needs what mlc_modules.py needs; else the test is skipped. MLC_ONLY: names of models. MLC_KEEP: a folder in which upstream's modules stay."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from clitest import check, done, path, tenon  # noqa: E402

PYTHON = os.environ.get("TENON_MLC_PYTHON")
if not PYTHON or not os.environ.get("TENON_MLC"):
    print("TENON_MLC and TENON_MLC_PYTHON are not set")
    sys.exit(77)
STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mlc_steps.py")
MODELS = [("llama", "q4f16_1"), ("llama", "q4f16_0"), ("qwen2", "q0f32"), ("phi3", "q4f32_1")]
ONLY = os.environ.get("MLC_ONLY", " ".join(m for m, _ in MODELS)).split()
# Not compared at all: AttachSoftmaxWithTemperature, AttachLogitProcessFunc, AttachGPUSamplingFunc and AttachSpecDecodeAuxFuncs add programs of
# the profile's files; LowBatchGemvSpecialize has one step where upstream has two; AttachMetadataWithMemoryUsage counts what each side plans;
# PipelineParallelRewrite differs as docs/llm.md says.
# what is made otherwise on purpose, and where equality is not asked for
DIFFERENT = {
    "BindTarget": "upstream completes the target's attributes and adds a host",
    "FuseAddRMSNorm": "upstream's programs are scheduled; here the target's rules do that",
    "FuseDequantizeTake": "upstream makes the extents and indices of the function int32; here they keep their dtype",
}
TARGETED = ("BindTarget", "FuseAddRMSNorm", "LiftTIRGlobalBufferAlloc")
KEEP = os.environ.get("MLC_KEEP") or path("steps")
compared = 0
for model, quantization in MODELS:
    for target in ("llvm", "vulkan") if model in ONLY else ():
        folder = os.path.join(KEEP, f"steps-{model}-{quantization}-{target}")
        if not os.path.exists(os.path.join(folder, "steps.json")):
            r = subprocess.run([PYTHON, STEPS, model, quantization, target, folder], capture_output=True, text=True)
            check(r.returncode == 0, f"{model} {quantization} {target}: upstream's steps", r)
        with open(os.path.join(folder, "steps.json")) as f:
            steps = json.load(f)
        for at, name, options in steps:
            what = f"{model} {quantization} {target}: {name}"
            before, after = (os.path.join(folder, f"{at}.{when}.py") for when in ("before", "after"))
            r = tenon("opt", before, "-q", "-p", name + options, *(["-t", target] if name in TARGETED else []), "-o", path("ours.py"))
            check(r.returncode == 0, f"{what}: runs", r)
            if r.returncode == 0 and name not in DIFFERENT:
                r = tenon("diff", path("ours.py"), after)
                check(r.returncode == 0, f"{what}: equal to upstream's", r)
                compared += 1
check(compared > 0, f"{compared} modules were compared")
done()
