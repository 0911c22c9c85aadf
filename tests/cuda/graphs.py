# SPDX-License-Identifier: Apache-2.0
"""Captured graphs of a language model on the simulated device: all launches of a decode step lie in them but the four that read what the
step is given or make what it gives (of a model of 8 layers those are 5%), while the text grows; and the tokens are those of the run without, where work comes late and in any order, too. The model is stories260K beside the
checkout, or of the folder TENON_LLM_MODELS."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "bench", "cuda"))
import clitest
import costs
from clitest import BUILD, SRC, check, path, tenon

SIM = os.path.join(BUILD, "tests", "cuda", "sim", ".libs")
MODEL = os.path.join(os.environ.get("TENON_LLM_MODELS") or os.path.join(SRC, "..", "shared", "models", "llm"), "stories260K", "stories260K.gguf")
COUNT = 16
if not os.path.exists(MODEL) or not os.path.exists(os.path.join(SIM, "libcuda.so.1")):
    print("no model stories260K (set TENON_LLM_MODELS), or no simulated device")
    sys.exit(77)


def generate(config, **env):
    env = dict({"LD_LIBRARY_PATH": SIM + ":" + os.environ.get("LD_LIBRARY_PATH", ""), "CUDASIM_RACES": "0"}, **env)
    return tenon("generate", path(config + ".tno"), "--prompt", "Once upon a time", "--max-tokens", str(COUNT), env=env)


for config in ("false", "true"):
    r = tenon("compile", MODEL, "-t", "cuda", "--pass-config", "relax.backend.use_cuda_graph=" + config, "-o", path(config + ".tno"))
    if r.returncode != 0 and "NVRTC" in r.stderr:
        print("no NVRTC")
        sys.exit(77)
    check(r.returncode == 0, f"use_cuda_graph={config} is compiled", r)
without = generate("false", CUDASIM_COSTS=path("without"))
graphs = generate("true", CUDASIM_COSTS=path("with"))
check(without.returncode == 0 and without.stdout and graphs.stdout == without.stdout, "graphs change no token", graphs)
mixed = generate("true", CUDASIM_SEED="1", CUDASIM_LATE="1")
check(mixed.stdout == without.stdout, "nor do they where work is late and in any order", mixed)
plain, captured = costs.read(path("without")), costs.read(path("with"))
# of the last steps, each as long as those between two embeddings of a token
starts = [k for k, launch in enumerate(captured) if launch["kernel"].startswith("take")]
steps = captured[starts[-COUNT // 2]:]
inside = sum(launch["graph"] for launch in steps)
check(not any(launch["graph"] for launch in plain), "no graphs where none are wanted")
check(len(captured) == len(plain), f"as many launches with graphs as without: {len(captured)}, {len(plain)}")
check(len(steps) - inside <= 4 * (COUNT // 2) and inside > 0.9 * len(steps), f"{inside} of {len(steps)} launches of decode steps lie in graphs")
clitest.done()
