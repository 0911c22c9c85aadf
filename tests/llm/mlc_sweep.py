# SPDX-License-Identifier: Apache-2.0
"""Every family of MLC-LLM's definitions, float32, float16 and q4f16_1, in two tensor shards and in two pipeline stages: the module is read, what is
printed of it is read as the same module, and it compiles for every target with the profile llm, the programs that part weights along with it.
The table at the end has one line a module.

Needs what mlc_modules.py needs; else the test is skipped. MLC_ONLY: names of models. MLC_KEEP: a folder in which exported models stay."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

PYTHON = os.environ.get("TENON_MLC_PYTHON")
if not PYTHON or not os.environ.get("TENON_MLC"):
    print("TENON_MLC and TENON_MLC_PYTHON are not set")
    sys.exit(77)
EXPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mlc_export.py")
FAMILIES = ("llama qwen qwen2 qwen3 gemma gemma2 gemma3 phi phi3 mistral gpt2 gpt_neox gptj stablelm baichuan internlm internlm2 chatglm starcoder2 minicpm "
            "olmo cohere bert mixtral qwen2_moe qwen3_moe deepseek_v2").split()
# Quantization, tensor shards, pipeline stages. Upstream loses the stages of weights that it quantizes.
FORMS = (("q0f32", 1, 1), ("q0f16", 1, 1), ("q4f16_1", 1, 1), ("q4f16_1", 2, 1), ("q0f16", 1, 2))
TARGETS = ("cpu", "opencl", "gpu_generic", "cuda")
# What upstream cannot export, and what its own code says of it.
UPSTREAM = {"the definition has no pipeline stages": "no stages", "The pipeline stage is undefined": "stages of quantized weights are lost",
            "Matmul requires the reduction length": "a product's extents do not fit"}
# Their programs for experts and attention are scheduled for one GPU, with blocks of 1,024 threads: one module for each target.
SCHEDULED = {"bert", "mixtral", "qwen2_moe", "qwen3_moe"}
KINDS = {"opencl": "opencl", "gpu_generic": "vulkan", "cuda": "cuda"}
LIMITS = write("gpus.ini", "".join(f"[target {k}-1024]\nkind = {k}\nmax_threads_per_block = 1024\nmax_num_threads = 1024\n"
                                  "max_shared_memory_per_block = 98304\n" for k in ("opencl", "gpu_generic")))
KEEP = os.environ.get("MLC_KEEP") or path("models")
ONLY = os.environ.get("MLC_ONLY", " ".join(FAMILIES)).split()


def exported(name, form, kind):
    """A folder with the module, or what upstream says instead."""
    folder = os.path.join(KEEP, "-".join(["sweep", name, *map(str, form), kind]))
    if not os.path.exists(os.path.join(folder, "model.py")):
        r = subprocess.run([PYTHON, EXPORT, name, form[0], folder, "module", kind, *map(str, form[1:])], capture_output=True, text=True)
        if r.returncode:
            lines = r.stderr.strip().splitlines()
            said = next((line for line in reversed(lines) if "Error: " in line), (lines or [f"exit status {r.returncode}"])[-1])
            return None, next((short for long, short in UPSTREAM.items() if long in said), said[:100])
    return folder, None


def once_more(what, module):
    r = tenon("opt", module, "-q", "-p", "CleanUpTIRAttrs{attrs=[]}", "-o", path("again.py"))
    check(r.returncode == 0, f"{what}: is read", r)
    if r.returncode:
        return "fails"
    r = tenon("diff", module, path("again.py"))
    check(r.returncode == 0, f"{what}: what is printed is the same module", r)
    return "fails" if r.returncode else "ok"


def compiles(what, folder, target):
    module, shards = (os.path.join(folder, f) for f in ("model.py", "shards.py"))
    more = ["--set", f'pass.AttachAdditionalPrimFuncs.functions=["{shards}"]'] if os.path.exists(shards) else []
    r = tenon("compile", module, "--profile", "llm", "--config", LIMITS, *more, "-t", target, "-q", "-o", path("model.tno"))
    if r.returncode and "NVRTC" in r.stderr:
        return "no NVRTC"
    check(r.returncode == 0, f"{what}: compiles for {target}", r)
    return "fails" if r.returncode else "ok"


table, count = [], 0
for name in ONLY:
    for form in FORMS:
        what = f"{name} {form[0]}" + (f" {form[1]} shards" if form[1] > 1 else "") + (f" {form[2]} stages" if form[2] > 1 else "")
        row, why = [], None
        for kind in KINDS if name in SCHEDULED else ("llvm",):
            folder, why = exported(name, form, "vulkan" if kind == "gpu_generic" else kind)
            if not folder:
                break
            count += 1
            row += ["read", once_more(f"{what} {kind}", os.path.join(folder, "model.py"))] if not row else []
            for target in TARGETS if kind == "llvm" else (kind,):
                row += [target, compiles(what, folder, target if kind in ("llvm", "cuda") else f"{kind}-1024")]
        table.append((what, f"upstream: {why}" if why else ", ".join(f"{a} {b}" for a, b in zip(row[::2], row[1::2]))))
        print(f"     {table[-1][0]:32} {table[-1][1]}", flush=True)
check(count > 0, f"{count} modules were exported")
print(*(f"{a:32} {b}" for a, b in table), sep="\n")
done()
