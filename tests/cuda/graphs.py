# SPDX-License-Identifier: Apache-2.0
"""Captured graphs of a language model on the simulated device: all launches of a decode step lie in them but the four that read what the
step is given or make what it gives, while the text grows; and the tokens are those of the run without, where work comes late and in any
order, too. The model is stories260K beside the checkout, or of the folder TENON_LLM_MODELS; it has five layers. Of one with eight, at least
95% of the launches lie in graphs."""
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
check(not any(launch["graph"] for launch in plain), "no graphs where none are wanted")
check(len(captured) == len(plain), f"as many launches with graphs as without: {len(captured)}, {len(plain)}")


def last_steps(launches, n):
    """Those of the last n steps, each as long as that between two embeddings of a token; how many lie in graphs."""
    starts = [k for k, launch in enumerate(launches) if launch["kernel"].startswith("take")]
    steps = launches[starts[-n]:]
    return len(steps), sum(launch["graph"] for launch in steps)


n, inside = last_steps(captured, COUNT // 2)
check(n - inside <= 4 * (COUNT // 2), f"{inside} of {n} launches of decode steps lie in graphs")

try:
    sys.path.insert(0, os.path.join(SRC, "tests", "llm"))
    from small_model import Model  # pylint: disable=wrong-import-position
except ImportError:
    print("no numpy here")
    clitest.done()
    sys.exit()
deep = clitest.write("deep.gguf", Model(hidden=64, inner=96, layers=8, vocab=512).gguf(extra={"llama.vocab_size": 512}))
r = tenon("compile", deep, "-t", "cuda", "--pass-config", "relax.backend.use_cuda_graph=true", "-o", path("deep.tno"))
check(r.returncode == 0, "a model of eight layers is compiled", r)
r = tenon("bench", path("deep.tno"), "--tokenizer", MODEL, "--prompt", "4", "--generate", "6", "--runs", "1",
          env={"LD_LIBRARY_PATH": SIM + ":" + os.environ.get("LD_LIBRARY_PATH", ""), "CUDASIM_RACES": "0", "CUDASIM_COSTS": path("deep")})
n, inside = last_steps(costs.read(path("deep")), 4) if r.returncode == 0 else (1, 0)
check(inside >= 0.95 * n, f"{inside} of {n} launches of its decode steps lie in graphs", r)
clitest.done()
