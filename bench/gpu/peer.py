#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of the bundle's cases with PyTorch, a line "case milliseconds" each: peer.py CASES. The median of events around calls, behind
some that warm up; --quick calls each once."""
import argparse
import json
import os

import torch
import torch.nn.functional as F


def milliseconds(call, quick):
    for _ in range(1 if quick else 5):
        call()
    times = []
    for _ in range(1 if quick else 30):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--quick", action="store_true")
    p.add_argument("cases")
    a = p.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    for name in sorted(os.listdir(a.cases)):
        with open(os.path.join(a.cases, name, "peer.json"), encoding="utf-8") as f:
            case = json.load(f)
        tensors = [torch.rand(s, dtype=getattr(torch, case["dtype"]), device="cuda") for s in case["shapes"]]
        values = dict(zip("abc", tensors), torch=torch, F=F)
        code = compile(case["expression"], name, "eval")
        print(f"{name} {milliseconds(lambda: eval(code, values), a.quick):.4f}", flush=True)  # pylint: disable=eval-used


main()
