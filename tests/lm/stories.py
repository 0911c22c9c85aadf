# SPDX-License-Identifier: Apache-2.0
"""The language model of examples/stories computes the logits that transformers computes with it, and writes the same text."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "llm"))
from clitest import BUILD, check, done, tenon  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
from compare import compare  # noqa: E402

FOLDER = os.path.join(os.environ["top_srcdir"], "examples", "stories")
PROMPT = ["--prompt", "It was", "--max-tokens", "60"]
kept = np.load(os.path.join(FOLDER, "reference.npz"))
with open(os.path.join(FOLDER, "written.txt"), newline="") as f:
    written = f.read()
size = os.path.getsize(os.path.join(FOLDER, "model.safetensors"))
check(size < 4 << 20, f"the weights take {size} bytes")
ids = [int(i) for i in kept["ids"]]
compare("float16", FOLDER, ids, kept["logits"], ways=("once", "mixed"))
compare("a cache of int8", FOLDER, ids, kept["logits"], ways=("once",), tolerance=0.05,
        options=("--set", "pass.DispatchKVCacheCreation.cache_dtype=int8"))
r = tenon("generate", FOLDER, *PROMPT)
check(r.returncode == 0 and r.stdout == written, "the likeliest text", r)
r = subprocess.run(["sh", os.path.join(FOLDER, "run.sh"), BUILD], capture_output=True, text=True)
words = r.stdout.partition("It was")[2].split()
check(r.returncode == 0 and len(words) > 20, "run.sh lets it write a paragraph", r)
done()
