# SPDX-License-Identifier: Apache-2.0
"""A Llama-shaped model cut into two, three and four stages computes what it computes in one, when the interpreter runs the
stages as workers that exchange messages: right behind the cut, and at every step down to the virtual machine's form."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402
from llama import Llama  # noqa: E402

LEGALIZE = "LegalizeOps, AnnotateTIROpPattern, FoldConstant, FuseOps, FuseTIR"
FINALIZE = ("RewriteDataflowReshape, ToNonDataflow, RemovePurityChecking, CallTIRRewrite, StaticPlanBlockMemory{mode=%s}, "
            "LowerAllocTensor, KillAfterLastUse, LowerRuntimeBuiltin, ComputePrimValue, VMShapeLower, AttachGlobalSymbol")
ENTRIES = ("prefill", "decode", "batch_prefill", "batch_decode")

one = {skip: write(f"one{skip}.py", Llama(layers=4, skip=skip).module()) for skip in (False, True)}
for stages in (2, 3, 4):
    for skip in (False, True):
        what = f"{stages} stages" + (", a value used by the last one too" if skip else "")
        cut = write(f"cut{stages}{skip}.py", Llama(layers=4, stages=stages, skip=skip).module())
        attach = "AttachPipelineParallelStages{pipeline_parallel_shards=%d}" % stages
        out = path(f"staged{stages}{skip}.py")
        r = tenon("opt", cut, "-p", f"{attach}, PipelineParallelRewrite", "--verify", "-o", out)
        text = open(out).read() if r.returncode == 0 else ""
        check(r.returncode == 0 and "not verified" not in r.stderr and "8 functions verified" in r.stderr,
              what + ": the cut is verified by execution", r)
        check(all(f"def {e}_stage{k}(" in text for e in ENTRIES for k in range(stages)), what + ": every entry point is cut")
        for seed in (1, 2, 3):
            r = tenon("diff", "--exec", "--seed", seed, "--rtol", 0, "--atol", 0, one[skip], out)
            check(r.returncode == 0 and r.stdout.startswith("6 functions run"),
                  what + f": the same as one stage, bit for bit (inputs {seed})", r)

for mode in ("upstream", "arena"):
    r = tenon("opt", path("cut3True.py"), "-p", "AttachPipelineParallelStages{pipeline_parallel_shards=3}, AttachMemoryPlanAttr, "
              "AttachVariableBounds{variable_bounds={\"seq_len\": 8, \"batch_size\": 8, \"vocab_size\": 8}}, "
              f"{LEGALIZE}, PipelineParallelRewrite, {FINALIZE % mode}", "--verify", "-o", path(f"final_{mode}.py"))
    n = re.search(r"(\d+) functions verified", r.stderr)
    check(r.returncode == 0 and n and int(n.group(1)) > 30 and "not verified" not in r.stderr,
          f"every pass from the cut to the virtual machine's form is verified by execution (memory plan: {mode})", r)
    r = tenon("diff", "--exec", "--seed", 5, one[True], path(f"final_{mode}.py"))
    check(r.returncode == 0, f"the finalized stages compute what one stage does (memory plan: {mode})", r)

finalize = (FINALIZE % "upstream").replace("LowerAllocTensor", "RewriteCUDAGraph, LowerAllocTensor")
r = tenon("opt", path("cut2True.py"), "-p", "AttachPipelineParallelStages{pipeline_parallel_shards=2}, "
          "AttachVariableBounds{variable_bounds={\"seq_len\": 8, \"batch_size\": 8, \"vocab_size\": 8}}, "
          "AttachCUDAGraphSymbolicCaptureHints{hints={\"batch_decode\": [\"batch_size\"]}}, "
          f"{LEGALIZE}, PipelineParallelRewrite, {finalize}", "--pass-config", "relax.backend.use_cuda_graph=true", "--verify",
          "-o", path("graphs.py"))
text = open(path("graphs.py")).read() if r.returncode == 0 else ""
check(r.returncode == 0 and "not verified" not in r.stderr and "def batch_decode_stage1_cuda_graph_capture" in text,
      "stages whose kernels are captured for each batch size are verified by execution", r)
r = tenon("diff", "--exec", "--seed", 5, one[True], path("graphs.py"))
check(r.returncode == 0, "and compute what one stage does", r)

lines = open(path("staged2False.py")).read().split("\n")
at = next(i for i, l in enumerate(lines) if "send_to_next_group" in l)
lines.insert(at, lines[at].replace("_:", "twice:", 1))
receive = next(i for i, l in enumerate(lines) if "recv_from_prev_group" in l)
broken = write("broken.py", "\n".join(lines))
r = tenon("opt", broken, "-p", "PipelineParallelRewrite")
check(r.returncode == 1 and f"broken.py:{at + 2}:" in r.stderr and
      "the stages of 'batch_decode' do not match: 'batch_decode_stage0' sends 2 messages, but 'batch_decode_stage1' receives 1"
      in r.stderr and re.search(rf"'batch_decode_stage1' receives its last message at \S*broken.py:{receive + 1}:", r.stderr),
      "stages that do not match are refused, with both places", r)
done()
