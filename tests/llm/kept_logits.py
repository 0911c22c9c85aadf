# SPDX-License-Identifier: Apache-2.0
"""A model of every family against logits that PyTorch's transformers gave for it: kept_logits.json, written by `families.py --keep`, has
configurations, the names and shapes of tensors, and logits; the weights are drawn anew."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import done, path  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("no numpy here")
    sys.exit(77)
from compare import compare  # noqa: E402
from drawn_weights import draw, write_folder  # noqa: E402

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept_logits.json")) as f:
    kept = json.load(f)
IDS = [int(x) for x in np.random.RandomState(7).randint(0, 40, 21)]
for i, model in enumerate(kept):
    folder = path(f"family{i}")
    write_folder(folder, model["config"], draw(model["shapes"], model["config"]["model_type"], model["seed"]))
    compare(model["name"], folder, IDS, np.array(model["logits"]), ways=("once", "mixed"))
done()
