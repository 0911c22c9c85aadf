# SPDX-License-Identifier: Apache-2.0
"""Tokens a second of the wheel xllamacpp, llama.cpp as it is built for everybody: wheel.py MODEL THREADS PROMPT GENERATE. One JSON object,
with the times that its server tells of a completion; the first, of other tokens, is not counted. Needs the package xllamacpp."""
import json
import os
import sys

import xllamacpp

path, threads, prompt, generate = sys.argv[1], *map(int, sys.argv[2:])
out = os.dup(1)
os.dup2(2, 1)  # what the library prints
p = xllamacpp.CommonParams()
p.model.path = path
p.n_ctx = prompt + generate + 64
p.n_batch = 2048
p.n_parallel = 1
p.warmup = False
for which in (p.cpuparams, p.cpuparams_batch):
    which.n_threads = threads
server = xllamacpp.Server(p)


def complete(first, tokens, written):
    ids = [300 + (first + 7919 * i) % 30000 for i in range(tokens)]
    r = server.handle_completions({"prompt": ids, "n_predict": written, "ignore_eos": True, "cache_prompt": False, "temperature": 0})
    return r["timings"]


complete(1, 8, 4)
t = complete(12345, max(prompt, 1), max(generate, 1))
os.write(out, json.dumps({"prompt": t["prompt_per_second"], "generate": t["predicted_per_second"], "timings": t}).encode() + b"\n")
os._exit(0)  # the server's thread waits for more
