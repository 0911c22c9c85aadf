# SPDX-License-Identifier: Apache-2.0
"""What the passes of MLC-LLM's pipeline make of a small model of its definitions, step by step.

    mlc_steps.py MODEL QUANTIZATION TARGET FOLDER

FOLDER gets NN-Pass.before.py and NN-Pass.after.py for each pass that Tenon has too, and steps.json with their names and options. The
module goes from step to step as in upstream's pipeline; what stands between the passes of interest is upstream's as well. Needs what
mlc_export.py needs.
"""
import json
import os
import sys

import mlc_export  # sets the package up
import tvm
from tvm import relax
from tvm.s_tir import dlight as dl

from mlc_llm.compiler_pass import pipeline as p

name, quantization, kind, folder = sys.argv[1:5]
_, module, metadata, _, _ = mlc_export.build(name, quantization)
target = tvm.target.Target({"llvm": "llvm", "cuda": {"kind": "cuda", "arch": "sm_80", "max_threads_per_block": 1024}}.get(kind, kind))
BOUNDS = {"batch_size": 4, "seq_len": 64, "total_seq_len": 128}
gpu = kind != "llvm"
rules = [dl.gpu.Matmul(), dl.gpu.GEMV(), dl.gpu.Reduction(), dl.gpu.GeneralReduction(), dl.gpu.Fallback()] if gpu else [dl.cpu.GEMV()]
t, r = tvm.transform, relax.transform

# Name in Tenon (None: upstream's alone), options there, the pass here. DispatchKVCacheCreation is left out: upstream cannot read what it
# prints.
STEPS = [
    (None, "", p.AttachSoftmaxWithTemperature(target, metadata)),
    (None, "", p.AttachLogitProcessFunc(target)),
    ("AttachAllocEmbeddingTensorFunc", "{prefill_chunk_size=%d}" % metadata["prefill_chunk_size"], p.AttachAllocEmbeddingTensorFunc(metadata)),
    (None, "{max_batch_size=4}", p.AttachGPUSamplingFunc(target, BOUNDS)),
    (None, "", p.AttachSpecDecodeAuxFuncs(1)),
    ("BindTarget", "", tvm.tirx.transform.BindTarget(target)),
    ("FuseDequantizeTranspose", ", DeadCodeElimination", t.Sequential([p.FuseDequantizeTranspose(), r.DeadCodeElimination()])),
    ("FuseAddRMSNorm", "", p.FuseAddRMSNorm(target) if gpu else t.Sequential([])),
    ("FuseTransposeMatmul", "{sums=result}", t.Sequential([p.FuseTransposeMatmul(), r.DeadCodeElimination()])),
    (None, "", t.Sequential([relax.backend.DispatchSampling(), relax.backend.DispatchSortScan(), r.LegalizeOps(), r.AnnotateTIROpPattern(),
                             r.FoldConstant(), r.FuseOps(), r.FuseTIR()])),
    ("FuseDequantizeMatmulEwise", "", p.FuseDequantizeMatmulEwise()),
    ("FuseDequantizeTake", "", p.FuseDequantizeTake()),
    (None, "", r.DeadCodeElimination()),
    ("CleanUpTIRAttrs", "{attrs=[\"op_pattern\"]}", p.CleanUpTIRAttrs(["op_pattern"])),
    (None, "", p.LowBatchGemvSpecialize()),
    (None, "", dl.ApplyDefaultSchedule(*rules)),
    ("LiftTIRGlobalBufferAlloc", "", p.LiftTIRGlobalBufferAlloc() if gpu else t.Sequential([])),
    ("ForceNarrowIndexToInt32" if kind != "cuda" else None, "", tvm.tirx.transform.ForceNarrowIndexToInt32() if kind != "cuda" else t.Sequential([])),
    ("ScatterTupleGetItem", "", p.ScatterTupleGetItem()),
    (None, "", t.Sequential([p.PipelineParallelRewrite(), r.RewriteDataflowReshape(), r.ToNonDataflow(), r.RemovePurityChecking(),
                             r.CallTIRRewrite(), r.StaticPlanBlockMemory()])),
    (None, "", p.AttachMetadataWithMemoryUsage(dict(metadata))),
]
os.makedirs(folder, exist_ok=True)
told = []
with target:
    for i, (ours, options, step) in enumerate(STEPS):
        before = module.script(show_meta=True)
        after = step(module)
        if ours:
            at = f"{i:02d}-{ours}"
            for when, text in (("before", before), ("after", after.script(show_meta=True))):
                with open(os.path.join(folder, f"{at}.{when}.py"), "w") as f:
                    f.write(text)
            told.append([at, ours, options])
        if not isinstance(step, p.AttachGPUSamplingFunc):  # with TVM 0.26 it calls `full` with its arguments in a wrong order
            module = after
with open(os.path.join(folder, "steps.json"), "w") as f:
    json.dump(told, f)
